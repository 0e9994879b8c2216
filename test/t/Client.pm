# Whether the client can run here.
package Client;
use strict;
use warnings;
use IPC::Run;

sub installed { return IPC::Run::run([ '/usr/bin/python3', '-c', 'import psycopg' ], '>', \my $out, '2>', \my $err) }

1;

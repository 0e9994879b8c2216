# The client: tests in Python (test/client), with their own server.
use strict;
use warnings;
use Client;
use File::Spec;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs python3-psycopg' if !Client::installed();

my $node = PostgreSQL::Test::Cluster->new('client');
# Rollouts are UTF-8, in any locale of the tester.
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "jit = off\nfsync = off\nmax_locks_per_transaction = 256\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION stepadv');

local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => 'postgres', PYTHONDONTWRITEBYTECODE => 1);
delete $ENV{PGOPTIONS};
my $told = '';
IPC::Run::run([ '/usr/bin/python3', File::Spec->rel2abs('test/client/run.py'), split ' ', $ENV{CLIENT_TESTS} // '' ], '>', \$told, '2>&1');
my $status = $?;
my $n = 0;
foreach my $line (split /\n/, $told)
{
	if ($line =~ /^(not )?ok \d+ - (.*)/) { $n++; ok(!$1, $2); }
	elsif ($line !~ /^1\.\.\d+$/) { diag($line); }
}
is($status, 0, 'all of them ran');
cmp_ok($n, '>', 30, 'which are many') if !$ENV{CLIENT_TESTS};
$node->stop;
done_testing();

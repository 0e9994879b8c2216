# Users' rows of tool_vocabulary survive a dump and a restore; the extension's own rows come from it.  A user who is no superuser can add rows.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('vocabulary');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; CREATE ROLE reader LOGIN; CREATE DATABASE one OWNER owner; CREATE DATABASE two OWNER owner');
$node->safe_psql('one', 'CREATE EXTENSION stepadv; ', extra_params => [ '-U', 'owner' ]);
$node->safe_psql('one', "GRANT USAGE ON SCHEMA stepadv TO reader", extra_params => [ '-U', 'owner' ]);
$node->safe_psql(
	'one',
	"INSERT INTO stepadv.tool_vocabulary (scaffold, tool, meaning, arguments) VALUES ('mine', 'peek', 'view', '{\"path\": \"uri\"}')",
	extra_params => [ '-U', 'owner' ]);

my $call = q{SELECT stepadv.action_signature('peek', '{"uri": "a"}', vocabulary => (SELECT stepadv.user_vocabulary()))};
is($node->safe_psql('one', $call, extra_params => [ '-U', 'reader' ]), 'view:full@a', 'a row of the database owner, read by anyone');
my ($status) = $node->psql('one', 'DELETE FROM stepadv.tool_vocabulary', extra_params => [ '-U', 'reader' ]);
isnt($status, 0, 'but not changed by anyone');

my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-p', $node->port, '-h', $node->host, '-f', $dump, 'one' ], 'dump');
unlike(slurp_file($dump), qr/str_replace_editor/, 'built-in rows are not dumped');
$node->command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-p', $node->port, '-h', $node->host, '-f', $dump, 'two' ], 'restore');
is($node->safe_psql('two', $call), 'view:full@a', 'the row works after a restore');
is($node->safe_psql('two', 'SELECT count(*) FROM stepadv.tool_vocabulary WHERE builtin'),
	$node->safe_psql('one', 'SELECT count(*) FROM stepadv.builtin_vocabulary()'), 'built-in rows are there once');

$node->stop;
done_testing();

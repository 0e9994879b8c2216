# Groups of tables that Citus distributes are not kept: maintain raises an error, triggers of tables distributed later allow no
# change, and values stored beside the rows are folded on the shards.
# Run where the library citus is in the server that PG_CONFIG names, and STEPADV_COPY_SERVER=1; nothing here builds it.
use strict;
use warnings;
use CitusCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => CitusCluster::lacking() if defined CitusCluster::lacking();

my ($coordinator, @workers) = CitusCluster::start("fsync = off\nclient_min_messages = error", qw(coordinator worker_1 worker_2));
sub ask { return $coordinator->safe_psql('postgres', $_[0]); }
sub refused { my (undef, undef, $err) = $coordinator->psql('postgres', $_[0]); return $err; }
ask('CREATE EXTENSION stepadv');
my $steps = q(CREATE TABLE %1$s (id bigint, task text, r integer, n integer, reward float8, at timestamptz DEFAULT now(), PRIMARY KEY (task, id)); INSERT INTO %1$s SELECT i, 'task ' || i / 10, i / 2, i % 2, i % 3 FROM generate_series(0, 59) i;);
my $attach = q(SELECT stepadv.attach('%1$s', '{task}', 'r', 'n', reward => 'reward', views => '{all}'););
my %how = ('triggers' => "mode => 'triggers'", 'refresh' => "mode => 'refresh'", 'watermark' => "mode => 'refresh', watermark => 'at'");

# ---- Refused before anything is created

my %kind = ("create_distributed_table('other', 'task')" => 'distributed table', "create_reference_table('other')" => 'reference table',
	"create_distributed_table('other', NULL)" => 'distributed table', "citus_add_local_table_to_metadata('other')" => 'table that Citus manages');
foreach my $distribute (sort keys %kind)
{
	ask(($steps =~ s/%1\$s/other/gr) . "SELECT $distribute;" . ($attach =~ s/%1\$s/other/r));
	foreach my $settings ('', 'SET citus.enable_ddl_propagation = off;', 'SET citus.enable_unsafe_triggers = on;')
	{
		like(refused("$settings SELECT stepadv.maintain('other', $how{$_})"), qr/ERROR:  cannot maintain groups of public\.other: it is a $kind{$distribute}\nHINT:  Views over it fold on the nodes/, "$settings $distribute: $_") foreach sort keys %how;
	}
	is(ask("SELECT to_regclass('other_fresh') IS NULL, mode IS NULL FROM stepadv.attachments(); SELECT stepadv.detach('other') > 5; DROP TABLE other"), "t|t\nt", 'and nothing is left behind');
}

# ---- Stored by users, beside the rows

ask(($steps =~ s/%1\$s/own/gr) . "SELECT create_distributed_table('own', 'task', shard_count => 4);" . ($attach =~ s/%1\$s/own/r));
ask(q(CREATE TABLE stored (task text PRIMARY KEY, rollouts stepadv.rollout_group); SELECT create_distributed_table('stored', 'task', colocate_with => 'own')));
my $store = 'INSERT INTO stored SELECT task, rollouts FROM own_values%s ON CONFLICT (task) DO UPDATE SET rollouts = excluded.rollouts';
like(ask('EXPLAIN (COSTS OFF) ' . sprintf($store, '')), qr/^Custom Scan \(Citus Adaptive\)\n +Task Count: 4\b(?!.*Distributed Subplan).*->  Task\n.*Insert on stored_\d+/s, 'they are folded on the shards');
ask(sprintf($store, ''));
ask("UPDATE own SET reward = 7 WHERE task = 'task 3'");
is(ask('SELECT task FROM stored JOIN own_values USING (task) WHERE stored.rollouts::text <> own_values.rollouts::text'), 'task 3', 'one is another');
ask(sprintf($store, " WHERE task = 'task 3'"));
is(ask('SELECT count(*), count(*) FILTER (WHERE stored.rollouts::text <> own_values.rollouts::text) FROM stored JOIN own_values USING (task)'), '6|0', 'and folded again');
ask("DROP TABLE stored; SELECT stepadv.detach('own'); DROP TABLE own");

# ---- No silent staleness

foreach my $distribute ("create_distributed_table('later', 'task')", "create_distributed_table('later', NULL)", "create_reference_table('later')", "citus_add_local_table_to_metadata('later')")
{
	foreach my $settings ('', 'SET citus.enable_unsafe_triggers = on;', 'SET citus.enable_ddl_propagation = off; SET citus.enable_unsafe_triggers = on;')
	{
		ask(($steps =~ s/%1\$s/later/gr) . ($attach =~ s/%1\$s/later/r) . "SELECT stepadv.maintain('later')");
		like(refused("$settings SELECT $distribute"), qr/ERROR/, "$settings $distribute of a maintained table is refused");
		ask("INSERT INTO later VALUES (100, 'new', 1, 1, 1)");
		is(ask("SELECT count(*) FROM later_groups; SELECT count(*) FROM stepadv.check_maintained('later'); SELECT stepadv.detach('later') > 5"), "7\n0\nt", 'and its groups go on being kept');
		ask('DROP TABLE later');
	}
}
# On a coordinator with shards, triggers of shards find the attachment: they allow no change.
foreach my $how (qw(triggers refresh))
{
	CitusCluster::create_database('alone', $coordinator);
	my $there = sub { return $coordinator->safe_psql('alone', $_[0]); };
	$there->('CREATE EXTENSION stepadv');
	$there->("SELECT citus_set_node_property('" . $coordinator->host . "', " . $coordinator->port . ", 'shouldhaveshards', true)");
	$there->(($steps =~ s/%1\$s/later/gr) . ($attach =~ s/%1\$s/later/r) . "SELECT stepadv.maintain('later', mode => '$how')");
	$coordinator->psql('alone', "SET citus.enable_unsafe_triggers = on; SELECT create_distributed_table('later', 'task', shard_count => 2)");
	foreach my $write ("INSERT INTO later VALUES (100, 'new', 1, 1, 1)", 'UPDATE later SET reward = reward + 1', "DELETE FROM later WHERE task = 'task 1'", 'TRUNCATE later')
	{
		my (undef, undef, $err) = $coordinator->psql('alone', $write);
		like($err, qr/ERROR:  groups of a distributed table cannot be kept by triggers\n.*HINT:  Call unmaintain/s, "$how, shards on the coordinator: $write");
	}
	like($there->("SELECT problem FROM stepadv.check_maintained('later') WHERE group_key IS NULL; SELECT problem FROM stepadv.maintained()"), qr/^(changes of public\.later are not seen: it is a distributed table\n?){2}$/, 'check_maintained and maintained say it');
	is($there->("SELECT stepadv.unmaintain('later'); INSERT INTO later VALUES (100, 'new', 1, 1, 1); SELECT count(*) FROM later_groups"), "1\n7", 'unmaintain ends it');
	CitusCluster::drop_database('alone', $coordinator);
}
# Kept without triggers, and distributed then.
ask(($steps =~ s/%1\$s/later/gr) . ($attach =~ s/%1\$s/later/r) . "SELECT stepadv.maintain('later', mode => 'refresh', watermark => 'at'); SELECT create_distributed_table('later', 'task', shard_count => 4)");
like(refused("SELECT stepadv.refresh('later')"), qr/cannot maintain groups of public\.later: it is a distributed table\nHINT:/, 'distributed since');
like(ask("SELECT problem FROM stepadv.check_maintained('later') WHERE group_key IS NULL; SELECT problem FROM stepadv.maintained() WHERE prefix = 'later'"), qr/^(groups of public\.later can no longer be refreshed: it is a distributed table\n?){2}$/, 'check_maintained and maintained say it');
is(ask("SELECT stepadv.unmaintain('later'); INSERT INTO later VALUES (100, 'new', 1, 1, 1); SELECT count(*) FROM later_groups"), "1\n7", 'unmaintain ends it');

$_->stop foreach reverse $coordinator, @workers;
done_testing();

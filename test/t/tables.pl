# The canonical tables: identities by all ways into them, replicas, views through a restart, pg_dump and restore.
use strict;
use warnings;
use File::Spec;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('tables');
# Rollouts are UTF-8, in any locale of the tester.
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ], allows_streaming => 'logical');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION stepadv');
my $dir = $node->basedir;

$node->safe_psql('postgres', q(
	SELECT count(*) FROM stepadv.create_tables('plain');
	CREATE TABLE lines AS SELECT i AS n, jsonb_build_object('task_id', 't' || i / 32, 'rollout_id', 'r' || i / 8, 'step_no', i % 8, 'observation', 'saw ' || i % 5, 'action', 'did ' || i % 3, 'outcome', i / 8 % 2)::text AS line
	FROM generate_series(0, 127::bigint) i));
is($node->safe_psql('postgres', q(SELECT n_rollouts_added, n_steps_added FROM stepadv.load_rollouts('plain', 'lines'))), '16|128', 'lines are loaded');

# Identities that were computed, by all ways into the table.
$node->safe_psql('postgres', q(
	SELECT stepadv.create_tables('filled', partitions => 3, views => '{all}');
	INSERT INTO filled.rollouts (task_id, rollout_id, outcome) SELECT 't' || i % 5, 'r' || i, i % 2 FROM generate_series(1, 40) i;
	CREATE TABLE given AS SELECT task_id, rollout_id, s AS step_no, 'saw ' || s % 4 AS observation, 'did ' || s AS action, CASE s % 3 WHEN 1 THEN 'bash' WHEN 2 THEN 'unknown' END AS tool,
		CASE WHEN s % 3 > 0 THEN jsonb_build_object('command', 'cat ' || s || '.py') END AS args FROM filled.rollouts, generate_series(1, 6) s;
));
my $columns = 'task_id, rollout_id, step_no, observation, action, tool, args';
my $right = q(SELECT count(*), count(*) FILTER (WHERE state IS DISTINCT FROM stepadv.signature_hash(observation) OR action_hash IS DISTINCT FROM CASE tool WHEN 'bash' THEN stepadv.signature_hash(stepadv.action_signature(tool, args, ok))
	WHEN 'unknown' THEN stepadv.signature_hash(jsonb_build_array(tool, args)) ELSE stepadv.signature_hash(action) END) FROM filled.steps);
foreach my $format ('text', 'csv', 'binary')
{
	my $copy = File::Spec->rel2abs("$dir/given.$format");
	$node->safe_psql('postgres', "TRUNCATE filled.steps; COPY given TO '$copy' (FORMAT $format); COPY filled.steps ($columns) FROM '$copy' (FORMAT $format)");
	is($node->safe_psql('postgres', $right), '240|0', "COPY in format $format");
}
# A given state, a unique one; and one that another version may have computed.
$node->safe_psql('postgres', q(UPDATE filled.steps SET state = 5 WHERE step_no = 1; UPDATE filled.steps SET state = stepadv.unique_state() WHERE step_no = 2; UPDATE filled.steps SET action_hash = 6 WHERE step_no = 3));
my $stored = q(SELECT md5(string_agg(s::text, E'\\n' ORDER BY s.step_id)) FROM filled.steps s);

# A replica takes rows as they are, and computes no identities.
$node->safe_psql('postgres', q(CREATE PUBLICATION filled FOR TABLE filled.rollouts, filled.steps WITH (publish_via_partition_root = true)));
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$replica->start;
my $publisher = $node->connstr . ' dbname=postgres';
$replica->safe_psql('postgres', qq(CREATE EXTENSION stepadv; SELECT stepadv.create_tables('filled', partitions => 2, views => '{all}'); CREATE SUBSCRIPTION filled CONNECTION '$publisher' PUBLICATION filled));
ok($replica->poll_query_until('postgres', q(SELECT (SELECT count(*) FROM filled.steps) = 240 AND (SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel))), 'a logical replica has the rows');
$node->safe_psql('postgres', q(INSERT INTO filled.steps (task_id, rollout_id, step_no, observation) VALUES ('t1', 'r1', 7, 'new'); UPDATE filled.steps SET observation = 'changed' WHERE step_no = 4));
ok($replica->poll_query_until('postgres', q(SELECT EXISTS (SELECT FROM filled.steps WHERE step_no = 7) AND NOT EXISTS (SELECT FROM filled.steps WHERE step_no = 4 AND observation <> 'changed'))), 'and what was written since');
is($replica->safe_psql('postgres', $stored), $node->safe_psql('postgres', $stored), 'the same rows, with the same identities');
$replica->safe_psql('postgres', 'DROP SUBSCRIPTION filled');
$replica->stop;
$node->safe_psql('postgres', 'DROP PUBLICATION filled');

# Attached views: restart, dump, restore.
$node->safe_psql('postgres', q(
	CREATE TABLE "Rl steps" (id bigint PRIMARY KEY, "grp" text, traj uuid, n integer, st jsonb, act text, rew numeric);
	INSERT INTO "Rl steps" SELECT i, 'g' || i / 40, md5((i / 8)::text)::uuid, i % 8, jsonb_build_object('s', i % 5), 'a' || i % 3, (i * 7 % 11) / 10.0 FROM generate_series(0, 399) i;
	SELECT stepadv.attach('"Rl steps"', '{grp}', 'traj', 'n', 'st', 'act', 'rew', views => '{all}', options => '{"rtmc": {"gamma": 0.9, "prior": 1}}');
	CREATE TABLE kept AS SELECT * FROM "Rl steps_values";
));
my $everything = q(
	SELECT md5(string_agg(r::text, '' ORDER BY r.step_id)) FROM "Rl steps_rtmc" r
	UNION ALL SELECT md5(string_agg(r::text, '' ORDER BY r::text)) FROM "Rl steps_rtmc_tree" r
	UNION ALL SELECT md5(string_agg(r::text, '' ORDER BY r::text)) FROM "Rl steps_rollouts" r
	UNION ALL SELECT md5(string_agg(r::text, '' ORDER BY r::text)) FROM plain.steps_rtmc r
	UNION ALL SELECT md5(string_agg(s::text, E'\\n' ORDER BY s.step_id)) FROM filled.steps s
	UNION ALL SELECT md5(string_agg(a::text, '' ORDER BY a.step_id)) FROM kept k, stepadv.rtmc(k.rollouts, gamma => 0.9, prior => 1) a);
my $before = $node->safe_psql('postgres', $everything);
is(scalar(grep { length == 32 } split /\n/, $before), 6, 'views answer');
$node->restart;
is($node->safe_psql('postgres', $everything), $before, 'the same after a restart');
my $dump = "$dir/dump.sql";
$node->command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ], 'restore');
is($node->safe_psql('restored', $everything), $before, 'the same after a restore');
is($node->safe_psql('restored', q(INSERT INTO filled.steps (task_id, rollout_id, step_no, observation) VALUES ('t1', 'r1', 8, 'new') RETURNING state = stepadv.signature_hash(observation))), 't', 'what is restored goes on filling');
cmp_ok($node->safe_psql('restored', q(SELECT stepadv.detach('"Rl steps"'))), '>', 5, 'detach knows restored views');
is($node->safe_psql('restored', q(SELECT count(*) FROM pg_class WHERE relkind = 'v' AND relname LIKE 'Rl steps%')), 0, 'and drops them all');
cmp_ok($node->safe_psql('restored', q(SELECT stepadv.detach('plain.rollout_rows'))), '>', 5, 'those of create_tables too');

$node->stop;
done_testing();

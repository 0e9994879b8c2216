# Hypertables of TimescaleDB: every view of attach gives what it gives over a plain table, over chunks of time, chunks of time and group,
# and compressed ones; continuous aggregates of rollout_agg; groups kept without triggers; retention.
# Run where the library timescaledb is in the server that PG_CONFIG names, and STEPADV_COPY_SERVER=1; nothing here builds it.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($pkglibdir) = run_command([ 'pg_config', '--pkglibdir' ]);
plan skip_all => 'the library timescaledb is not installed in this server' if !-e "$pkglibdir/timescaledb.so";
# It looks for its versioned library in the server's own folder.
plan skip_all => 'TimescaleDB wants a whole copy of the server: STEPADV_COPY_SERVER=1' if -e "stage$pkglibdir/timescaledb.so" && slurp_file($ENV{TEMP_CONFIG}) =~ /extension_destdir/;

my $node = PostgreSQL::Test::Cluster->new('timescaledb');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'timescaledb'\ntimescaledb.telemetry_level = off\ntimescaledb.max_background_workers = 0\njit = off\nfsync = off\nmax_worker_processes = 16\n");
$node->start;
sub ask { my ($database, $sql) = @_; return $node->safe_psql($database, $sql); }
sub refused { my ($database, $sql) = @_; my (undef, undef, $err) = $node->psql($database, $sql); return $err; }

# The time of a step is random within forty days, so that every group is in every chunk of ten.
my $tables = q(
	CREATE TABLE step (step_id bigint NOT NULL, at timestamptz NOT NULL, task integer NOT NULL, r bigint NOT NULL, n integer NOT NULL, state bigint, action bigint, reward float8, value float8, next_state bigint,
		turn_reward float8, cost float8, logp_new float8[], logp_old float8[], mask boolean[], x real[], tool text, args jsonb, ok boolean, turn integer, note text, prompt integer[], response integer[],
		PRIMARY KEY (task, r, n, at));
	CREATE TABLE run (task integer, r bigint, run text, version text, policy_step bigint, began timestamptz NOT NULL, ended timestamptz, model text, PRIMARY KEY (task, r, began));
);
my $rows = q(
	INSERT INTO step SELECT i, '2026-01-01Z'::timestamptz + i * 7919 % 1600 * interval '36 minutes', i / 40, i / 5, i % 5, i * 7 % 11, i % 3, CASE WHEN i % 5 = 4 THEN i / 5 * i / 7 % 2 END, i % 7 / 8.0, CASE WHEN i % 5 = 4 THEN 99 END, i % 3 / 2.0, 1 + i % 2,
		ARRAY[-0.125 * (i % 4), -0.25], ARRAY[-0.25, -0.125 * (i % 3)], ARRAY[true, i % 2 = 0], ARRAY[i % 3, i % 5, 1], (ARRAY['bash', 'edit', 'search'])[1 + i % 3],
		jsonb_build_object('cmd', 'ls ' || i % 4), i % 4 > 0, i % 5 / 2, 'n' || i, ARRAY[1, 2, 3, i % 5], ARRAY[i % 5, 7] FROM generate_series(0, 799) i;
	INSERT INTO run SELECT r / 8, r, 'run ' || r / 8 % 2, 'v' || r % 2, r % 2, '2026-01-01Z'::timestamptz + r % 3 * interval '1 day', '2026-01-01Z'::timestamptz + r % 3 * interval '1 day' + interval '1 hour', 'm' || r % 2
		FROM generate_series(0, 159) r;
	INSERT INTO stepadv.progress_models SELECT 'ridge', stepadv.progress_fit(r, x, reward, 0.01) FROM (SELECT r, x, max(reward) OVER (PARTITION BY task, r) AS reward FROM step) s;
	ANALYZE step; ANALYZE run;
);
my $attach = q(
	SELECT * FROM stepadv.attach('step', '{task}', 'r', 'n', 'state', 'action', 'reward', views => '{all}', prefix => 'plain');
	SELECT * FROM stepadv.attach('step', '{task}', 'r', 'n', 'state', 'action', 'reward', columns => '{"step_id": "step_id", "value": "value", "next_state": "next_state", "turn_reward": "turn_reward", "cost": "cost", "logp_new": "logp_new", "logp_old": "logp_old", "token_mask": "mask", "tool": "tool", "args": "args", "ok": "ok", "policy_version": "version", "policy_step": "policy_step", "run_id": "run", "started_at": "began", "ended_at": "ended", "features": "x", "turn": "turn", "prompt_token_ids": "prompt", "response_token_ids": "response", "category": "tool", "dimensions": ["model"]}', views => '{all}', prefix => 'whole', options => '{"show_rollouts": "run", "spa": {"model": "ridge"}}');
);
my %layout = (
	plain => '',
	by_time => q(SELECT create_hypertable('step', by_range('at', interval '10 days')); SELECT create_hypertable('run', by_range('began', interval '1 day'))),
	by_time_and_group => q(SELECT create_hypertable('step', by_range('at', interval '10 days')); SELECT add_dimension('step', by_hash('task', 2)); SELECT create_hypertable('run', by_range('began', interval '1 day'))));
my %compressed = (by_time_and_group => q(
	SET client_min_messages = error;
	ALTER TABLE step SET (timescaledb.compress, timescaledb.compress_segmentby = 'task', timescaledb.compress_orderby = 'r, n');
	ALTER TABLE run SET (timescaledb.compress, timescaledb.compress_segmentby = 'task');
	SELECT count(compress_chunk(c)) FROM show_chunks('step', older_than => '2026-01-20Z'::timestamptz) c;
	SELECT count(compress_chunk(c)) FROM show_chunks('run') c;
	VACUUM ANALYZE step;
));
my %made;
foreach my $database (sort keys %layout)
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	ask($database, 'CREATE EXTENSION timescaledb') if $layout{$database};
	ask($database, "CREATE EXTENSION stepadv; $tables; $layout{$database}; $rows");
	$made{$database} = ask($database, $attach);
}
is($made{$_}, $made{plain}, "attach makes the same views: $_") foreach qw(by_time by_time_and_group);
is(ask('by_time', "SELECT count(*) FROM show_chunks('step')"), '5', 'chunks of ten days');
is(ask('by_time_and_group', "SELECT count(*) FROM show_chunks('step')"), '10', 'and of two halves of the groups');
is(ask('by_time', 'SELECT min(n), max(n) FROM (SELECT count(DISTINCT tableoid) AS n FROM step GROUP BY task) g'), '5|5', 'every group is in every chunk');

# To 9 digits: sums over groups have no order.
sub rounded
{
	my @lines = map { s/(-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+)/my $x = sprintf('%.9g', $1); abs($x) < 1e-12 ? 0 : $x/ger } split /\n/, $_[0];
	return join "\n", sort @lines;
}
sub plan_of { my ($database, $query, $settings) = @_; return ask($database, ($settings // '') . " EXPLAIN (COSTS OFF) $query"); }
# All in one session, each answer after the name of its query.
my @queries = split /\n/, ask('plain', q(
	SELECT q FROM pg_class c CROSS JOIN LATERAL (
		SELECT format('SELECT * FROM %I', c.relname) UNION ALL
		SELECT format('SELECT * FROM %I WHERE task = 7', c.relname) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'task') v (q)
	WHERE c.relkind = 'v' AND c.relname ~ '^(plain|whole)_' ORDER BY c.oid, q));
cmp_ok(scalar @queries, '>', 130, 'there are many views');
sub answers
{
	my ($database) = @_;
	my @parts = split /^== (.*)\n/m, ask($database, join("\n", map { "\\echo == $_\n$_;" } @queries));
	shift @parts;
	return { @parts };
}
my $right = answers('plain');
$_ = rounded($_) foreach values %$right;
is(scalar keys %$right, scalar @queries, 'every query is asked');
cmp_ok(scalar(grep { length > 1 } values %$right), '>', 0.8 * @queries, 'and most have rows');
sub same_views
{
	my ($database, $name) = @_;
	my $given = answers($database);
	is(rounded($given->{$_} // 'nothing'), $right->{$_}, "$name: $_") foreach @queries;
	return;
}
same_views('by_time', 'by time');
same_views('by_time_and_group', 'by time and group');
is(ask('by_time_and_group', $compressed{by_time_and_group}), "4\n3", 'the older half is compressed, and all rollouts');
same_views('by_time_and_group', 'compressed');

# The fold is over the chunks, below everything else; for one group over the chunks that may have it.  If it estimates this as cheaper,
# TimescaleDB folds each chunk and combines the states.
my $at_once = 'SET timescaledb.enable_chunkwise_aggregation = off;';
my $fold = 'SELECT task, stepadv.rollout_agg(step_id, r, n, state, action, reward) FROM step GROUP BY task';
like(plan_of('by_time', $fold, $at_once), qr/Custom Scan \(GroupFold\)\n.*?->  (?:Parallel )?Append\n(?: +->  (?:Parallel )?Seq Scan on _hyper_\w+_chunk\n?){4}/s, 'GroupFold reads chunks');
like(plan_of('by_time_and_group', $fold, $at_once), qr/Custom Scan \(GroupFold\)\n.*DecompressChunk.*Seq Scan on _hyper_\w+_chunk/s, 'compressed ones, too');
like(plan_of('by_time_and_group', 'SELECT count(advantage) FROM plain_rtmc', $at_once), qr/Custom Scan \(StepScan\)\n.*(?:Custom Scan \(GroupFold\)|HashAggregate)\n.*DecompressChunk/s, 'and StepScan the values of them, whoever folds so few rows');
is(rounded(ask($_, "$at_once SELECT * FROM plain_rtmc")), rounded(ask($_, 'SELECT * FROM plain_rtmc')), "$_: either way the same") foreach qw(by_time by_time_and_group);
my $plan = plan_of('by_time_and_group', 'SELECT * FROM plain_values WHERE task = 7', $at_once);
my $chunks = () = $plan =~ /(?:DecompressChunk\)|Scan) (?:on|using \w+ on) _hyper_\w+/g;
is($chunks, 5, 'one group: the chunks of its half alone') or diag($plan);
like($plan, qr/DecompressChunk\)[^\n]*\n[^\n]*compress_hyper[^\n]*\n +(?:Filter|Index Cond): \(task = 7\)/, 'of compressed ones the segments of the group');
$plan = plan_of('by_time', "SELECT * FROM stepadv.rtmc((SELECT stepadv.rollout_agg(step_id, r, n, state, action, reward) FROM step WHERE task = 7 AND at < '2026-01-06Z'))");
$chunks = () = $plan =~ /Scan (?:on|using \w+ on) _hyper_\w+/g;
is($chunks, 1, 'and of one time one chunk') or diag($plan);
foreach my $database ('by_time', 'by_time_and_group')
{
	my $forced = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET enable_partitionwise_aggregate = on;';
	like(ask($database, "$forced EXPLAIN (COSTS OFF) SELECT count(advantage) FROM plain_rtmc"), qr/Gather/, "$database: in workers");
	is(rounded(ask($database, "$forced SELECT * FROM plain_rtmc")), rounded(ask('plain', 'SELECT * FROM plain_rtmc')), 'the same');
}

# A continuous aggregate of values, and everything over it.
my $aggregate = q(
	CREATE MATERIALIZED VIEW folded WITH (timescaledb.continuous) AS
		SELECT time_bucket('10 days', at) AS bucket, task, stepadv.rollout_agg(step_id, r, n, state, action, reward) AS rollouts FROM step GROUP BY 1, 2 WITH NO DATA;
	ALTER MATERIALIZED VIEW folded SET (timescaledb.materialized_only = true);
);
my $refresh = "CALL refresh_continuous_aggregate('folded', NULL, NULL)";
my $rolled_up = 'SELECT f.task, a.* FROM (SELECT task, stepadv.rollup(rollouts) AS rollouts FROM folded GROUP BY task) f, stepadv.rtmc(f.rollouts) a';
my $direct = 'SELECT f.task, a.* FROM (SELECT task, stepadv.rollout_agg(step_id, r, n, state, action, reward) AS rollouts FROM step GROUP BY task) f, stepadv.rtmc(f.rollouts) a';
foreach my $database ('by_time', 'by_time_and_group')
{
	ask($database, $aggregate);
	ask($database, $refresh);
	is(ask($database, 'SELECT count(DISTINCT bucket) > 3, count(*) = 100 FROM folded'), 't|t', "$database: values by bucket and group");
	is(rounded(ask($database, $rolled_up)), rounded(ask('plain', $direct)), 'rolled up they are those of the groups');
	like(plan_of($database, $rolled_up), qr/StepScan/, 'StepScan reads them');
	ask($database, "UPDATE step SET reward = 1 - reward WHERE task = 3 AND reward IS NOT NULL; DELETE FROM step WHERE task = 4 AND r = 32;
		INSERT INTO step (step_id, at, task, r, n, state, action, reward) VALUES (5000, '2026-01-05Z', 50, 1, 1, 1, 1, 1), (5001, '2026-02-05Z', 50, 1, 2, 1, 1, 1)");
	isnt(rounded(ask($database, $rolled_up)), rounded(ask($database, $direct)), 'what changed is not in them');
	ask($database, 'ALTER MATERIALIZED VIEW folded SET (timescaledb.materialized_only = false)');
	ask($database, $refresh);
	is(rounded(ask($database, $rolled_up)), rounded(ask($database, $direct)), 'until they are refreshed: an update, a delete, a new group in two buckets');
	ask($database, "INSERT INTO step (step_id, at, task, r, n, state, action, reward) VALUES (5002, '2026-06-05Z', 50, 1, 3, 1, 1, 1)");
	is(rounded(ask($database, $rolled_up)), rounded(ask($database, $direct)), 'in a view that is not only materialized what comes behind is there at once');
}

# Groups are kept without triggers.
foreach my $database ('by_time', 'by_time_and_group')
{
	like(refused($database, "SELECT stepadv.maintain('step', 'plain')"), qr/ERROR:  cannot maintain groups of public\.step: it is a hypertable\nHINT:  mode => 'refresh' with a watermark does without triggers\./, "$database: triggers are refused");
	is(ask($database, "SELECT mode IS NULL FROM stepadv.attachments() WHERE prefix = 'plain'"), 't', 'and leave nothing');
	ask($database, "SELECT stepadv.maintain('step', 'plain', mode => 'refresh', watermark => 'at', overlap => interval '0')");
	is(ask($database, "SELECT count(*) FROM stepadv.check_maintained('step', 'plain')"), '0', 'all is kept');
	like(plan_of($database, 'SELECT * FROM plain_rtmc'), qr/on plain_folded/, 'views read what is kept');
	ask($database, "UPDATE step SET reward = 5 WHERE task = 6 AND reward IS NOT NULL; INSERT INTO step (step_id, at, task, r, n, state, action, reward) VALUES (6000, '2026-01-03Z', 51, 1, 1, 1, 1, 1)");
	is(ask($database, "SELECT stepadv.refresh('step', 'plain', full => true)"), ask($database, 'SELECT count(*) FROM plain_groups'), 'all are folded, of compressed chunks, too');
	is(ask($database, "SELECT count(*) FROM stepadv.check_maintained('step', 'plain')"), '0', 'exactly');
	my $gone = ask($database, q(SELECT count(DISTINCT task) FROM step WHERE at < '2026-01-07Z'));
	ask($database, "SELECT drop_chunks('step', older_than => '2026-01-11Z'::timestamptz)");
	my $changed = ask($database, "SELECT stepadv.refresh('step', 'plain')");
	is($changed, $gone, 'groups of which a chunk was dropped are folded anew');
	is(ask($database, "SELECT count(*) FROM stepadv.check_maintained('step', 'plain')"), '0', 'and are what is left');
	is(ask($database, "SELECT count(*) FROM plain_groups WHERE task = 51"), '0', 'a group that had no other chunk is gone');
	is(ask($database, 'SELECT count(*) FROM plain_groups'), ask($database, 'SELECT count(DISTINCT task) FROM step'), 'no other is');
	ask($database, "SELECT stepadv.unmaintain('step', 'plain')");
	ask($database, "SELECT stepadv.maintain('step', 'plain', mode => 'refresh', watermark => 'at', overlap => interval '0')");
	ask($database, "INSERT INTO step (step_id, at, task, r, n, state, action, reward) VALUES (7000, now(), 52, 1, 1, 1, 1, 1)");
	is(ask($database, "SELECT stepadv.refresh('step', 'plain')"), '1', 'by a watermark: a new group');
	is(ask($database, 'SELECT count(*) FROM plain_groups WHERE task = 52'), '1', 'is there');
	ask($database, "SELECT stepadv.unmaintain('step', 'plain')");
}

# The canonical tables are partitioned already.
ask('by_time', "SELECT count(*) FROM stepadv.create_tables('rl', views => '{all}')");
like(refused('by_time', "SELECT create_hypertable('rl.rollouts', by_range('started_at'))"), qr/ERROR:  cannot create a unique index without the column "started_at"/, 'tables of create_tables become no hypertables');

# Made a hypertable while its groups are kept by triggers: they are not reported as fresh.
ask('by_time', q(
	CREATE TABLE later (id bigint, at timestamptz NOT NULL, task integer, r bigint, n integer, reward float8);
	INSERT INTO later SELECT i, '2026-01-01Z'::timestamptz + i * interval '1 hour', i / 40, i / 5, i % 5, CASE WHEN i % 5 = 4 THEN i % 2 END FROM generate_series(0, 399) i;
	CREATE TABLE empty (LIKE later);
	SELECT stepadv.attach(t, '{task}', 'r', 'n', reward => 'reward', columns => '{"step_id": "id"}', views => '{all}', prefix => t::text) FROM unnest('{later,empty}'::regclass[]) t;
	SELECT stepadv.maintain(t, t::text) FROM unnest('{later,empty}'::regclass[]) t;));
is(ask('by_time', 'SELECT count(*), count(as_of), count(problem) FROM stepadv.maintained()'), '2|2|0', 'tables of which groups are kept by triggers');
ask('by_time', "SELECT create_hypertable('later', by_range('at', interval '5 days'), migrate_data => true); SELECT create_hypertable('empty', by_range('at', interval '5 days')); INSERT INTO empty SELECT * FROM later");
foreach my $table ('later', 'empty')
{
	like(ask('by_time', "SELECT as_of IS NULL, problem FROM stepadv.maintained() WHERE prefix = '$table'"), qr/^t\|.*changes of public\.$table are not seen: it is a hypertable/, "$table became a hypertable: as of when its groups are is not known");
	like(ask('by_time', "SELECT problem FROM stepadv.check_maintained('$table')"), qr/^changes of public\.$table are not seen: it is a hypertable$/m, 'check_maintained says it');
	ask('by_time', "SELECT drop_chunks('$table', older_than => '2026-01-08Z'::timestamptz)");
	like(ask('by_time', "SELECT problem FROM stepadv.check_maintained('$table')"), qr/^(?:differs from a fresh fold|has no rows)$/m, 'and what differs since chunks were dropped');
	ask('by_time', "SELECT stepadv.unmaintain('$table'); SELECT stepadv.maintain('$table', mode => 'refresh', watermark => 'at')");
	is(ask('by_time', "SELECT mode, as_of IS NOT NULL, problem IS NULL FROM stepadv.maintained() WHERE prefix = '$table'"), 'refresh|t|t', 'kept by a watermark it is known');
	is(ask('by_time', "SELECT count(*) FROM stepadv.check_maintained('$table')"), '0', 'and exact');
}

$node->stop;
done_testing();

# All plans of the aggregates give the same result. Plan shapes are checked by regular expression, since EXPLAIN's text changes.
# (PostgreSQL::Test::Cluster: 15, and 14 from its minor release 3 on.)
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\nsearch_path = 'public, stepadv'\nmax_parallel_workers_per_gather = 2");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION stepadv;
	CREATE TABLE steps (step_id bigint, group_id integer, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8);
	INSERT INTO steps SELECT i, i * 7919 % 100, i / 100, i / 100 % 10, i % 11, i % 3, CASE WHEN i % 5 = 0 THEN i % 97 END
		FROM generate_series(0, 29999) i;
	CREATE INDEX ON steps (group_id);
	CREATE TABLE parts AS SELECT group_id, i % 10 AS part, rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS rollouts
		FROM (SELECT *, step_id / 100 AS i FROM steps) s GROUP BY group_id, part;
	CREATE TABLE parted (LIKE steps) PARTITION BY HASH (group_id);
	CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	INSERT INTO parted SELECT * FROM steps;
	CREATE INDEX ON parted (group_id);
	CREATE TABLE empty (LIKE steps);
	CREATE VIEW advantages AS SELECT g.group_id, a.* FROM (
			SELECT group_id, rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS rollouts FROM steps GROUP BY group_id) g,
		rtmc(g.rollouts) a;
	CREATE VIEW parted_advantages AS SELECT g.group_id, a.* FROM (
			SELECT group_id, rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS rollouts FROM parted GROUP BY group_id) g,
		rtmc(g.rollouts) a;
});
$node->safe_psql('postgres', "VACUUM ANALYZE $_") for qw(steps parts parted empty);

# Costs at which workers are free, and at which sending rows is expensive.
my $eager = 'SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0; SET min_parallel_index_scan_size = 0;'
  . 'SET parallel_tuple_cost = 1; SET cpu_tuple_cost = 1; SET cpu_operator_cost = 0.0001;';
my $forced = $eager . 'SET ' . ($node->safe_psql('postgres', 'SHOW server_version_num') >= 160000
	? 'debug_parallel_query' : 'force_parallel_mode') . ' = on;';
my $serial = 'SET max_parallel_workers_per_gather = 0;';
sub plan_of { return $node->safe_psql('postgres', "$_[0] EXPLAIN (COSTS OFF) $_[1]"); }
sub result { return $node->safe_psql('postgres', "$_[0] $_[1]"); }

my $agg = 'rollout_agg(step_id, rollout_id, step_no, state, action, reward)';
my %queries = (
	'rollout_agg by group' => "SELECT group_id, md5($agg\::text) FROM steps GROUP BY group_id ORDER BY group_id",
	'rollout_agg of all' => "SELECT md5($agg\::text) FROM (SELECT step_id, group_id * 100000 + rollout_id AS rollout_id, step_no, state, action, reward FROM steps) s",
	'rollout_agg in the full form' => "SELECT group_id, md5(rollout_agg(step_id, rollout_id, step_no, state, action, reward, state > 5, action, reward, reward * 2, 1)::text) FROM steps GROUP BY group_id ORDER BY group_id",
	'rollup by group' => 'SELECT group_id, md5(rollup(rollouts)::text) FROM parts GROUP BY group_id ORDER BY group_id',
	'with other aggregates' => "SELECT group_id, md5($agg\::text), count(*), avg(reward) FROM steps GROUP BY group_id ORDER BY group_id",
	'with FILTER' => "SELECT group_id, md5(($agg FILTER (WHERE state < 7))::text) FROM steps GROUP BY group_id ORDER BY group_id");
my $partial = qr/Finalize .*Gather.*Partial .*Parallel (?:Index(?: Only)? |Seq )Scan/s;
my $unfolded = "${eager}SET stepadv.enable_group_fold = off;";
for my $what (sort keys %queries)
{
	like(plan_of($unfolded, $queries{$what}), $partial, "$what: partial aggregation in workers");
	like(plan_of($eager, $queries{$what}), $what =~ /of all|rollup|other/ ? $partial : qr/Gather.*Parallel Custom Scan \(GroupFold\).*Parallel (?:Index(?: Only)? |Seq )Scan/s,
		"$what: or they share the rows");
	unlike(plan_of($serial, $queries{$what}), qr/Gather/, "$what: a plan without");
	is(result($eager, $queries{$what}), result($serial, $queries{$what}), "$what: the same");
	is(result($unfolded, $queries{$what}), result($serial, $queries{$what}), "$what: the same of partial aggregation");
}
unlike(plan_of($eager, "SELECT group_id, rollout_agg(step_id, rollout_id, step_no, state, action, reward ORDER BY step_id) FROM steps GROUP BY group_id"),
	qr/Partial/, 'ORDER BY inside forbids it');

# A connection's first query uses GroupFold: the aggregate loads the library.
my $fold = "SELECT group_id, $agg FROM steps GROUP BY group_id";
like(plan_of('', $fold), qr/Custom Scan \(GroupFold\)/, 'the first query of a connection is planned with GroupFold');
like(plan_of('', "SELECT * FROM (SELECT group_id, rollout_agg(step_id, rollout_id, step_no, state, action, reward, NULL) FROM steps GROUP BY group_id) s"),
	qr/Custom Scan \(GroupFold\)/, 'the other forms likewise');
like(plan_of('SET stepadv.enable_group_fold = off;', $fold), qr/^(?!.*GroupFold).*Aggregate/s, 'and can be told not to');

# An estimator over it.
my $total = q{SELECT round(sum(advantage::numeric), 9), sum(n_state), count(*) FROM advantages};
like(plan_of($eager, $total), qr/Custom Scan \(StepScan\)\s+Functions: rtmc/, 'an estimator above the aggregate');
is(result($eager, $total), result($serial, $total), 'gives the same');
like(result($serial, $total), qr/\|30000$/, 'for every step');
# The functions themselves in workers.
my $stored = 'SELECT count(*), sum(n_steps), round(sum(mean_return::numeric), 9) FROM parts, group_summary(rollouts)';
like(plan_of($eager, $stored), qr/Gather.*(?:Parallel Seq Scan on parts.*StepScan|StepScan.*Parallel Seq Scan on parts)/s, 'estimators run in workers');
is(result($eager, $stored), result($serial, $stored), 'and give the same');

# Partition-wise: each partition is aggregated whole, in a worker.
my $wise = "SET enable_partitionwise_aggregate = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;";
my $by_group = "SELECT group_id, md5($agg\::text) FROM parted GROUP BY group_id";
my $shape = plan_of($wise, $by_group);
like($shape, qr/Gather.*Append(?:.*(?:Aggregate|GroupFold).*Scan (?:using \w+ )?on parted_[01]\b){2}/s, 'aggregated by partition, in workers');
unlike($shape, qr/Finalize/, 'whole');
is(result($wise, "SELECT * FROM ($by_group) x ORDER BY 1"), result($serial, $queries{'rollout_agg by group'}), 'the same');

# Nothing to do.
for my $set ($serial, $forced)
{
	my $how = $set eq $serial ? 'serial' : 'in parallel';
	like(plan_of($set, "SELECT $agg FROM empty"), $set eq $serial ? qr/^Aggregate/ : qr/Gather/, "$how plan");
	is(result($set, "SELECT $agg IS NULL FROM empty"), 't', "NULL over no rows, $how");
	is(result($set, "SELECT group_id, $agg FROM empty GROUP BY group_id"), '', "no group, $how");
	is(result($set, "SELECT $agg IS NULL FROM steps WHERE reward < -1"), 't', "NULL where nothing matches, $how");
	is(result($set, "SELECT count(*), count(g) FROM (SELECT $agg FILTER (WHERE reward < -1) AS g FROM steps GROUP BY group_id) x"),
		'100|0', "FILTER that removes everything, $how");
	is(result($set, "SELECT ($agg FILTER (WHERE false)) IS NULL, count(*) FROM steps"), 't|30000', "FILTER that removes all, $how");
	is(result($set, 'SELECT rollup(rollouts) IS NULL FROM parts WHERE part < 0'), 't', "rollup of nothing, $how");
	is(result($set, 'SELECT rollup(NULL::rollout_group) IS NULL FROM parts'), 't', "rollup of NULLs, $how");
	is(result($set, "SELECT count(*) FROM (SELECT $agg AS g FROM empty) x, rtmc(x.g)"), '0', "no rows from no group, $how");
	is(result($set, "SELECT count(*) FROM empty e, LATERAL returns((SELECT $agg FROM empty))"), '0', "nor from an empty table, $how");
	# Errors are raised in workers as in the leader.
	my ($status, $out, $err) = $node->psql('postgres', "$set SELECT $agg FROM (SELECT * FROM steps UNION ALL SELECT * FROM steps) s");
	like($err, qr/ERROR:  rollout \d+ has two rows for step \d+/, "duplicates are found, $how");
}

# One group out of many: its condition goes below the aggregate to an index.
my $few = 'SET enable_seqscan = off; SET enable_bitmapscan = off;';
like(plan_of('', 'SELECT * FROM advantages WHERE group_id = 42'), qr/GroupFold.*(?:Index Cond: |Recheck Cond: )\(\(?group_id = 42/s, 'WHERE group = reaches the index');
like(plan_of($few, 'SELECT * FROM advantages WHERE group_id = ANY (ARRAY[1, 2, 3])'), qr/Index Cond: \(group_id = ANY/, 'so does = ANY');
like(plan_of($few, 'SELECT * FROM (VALUES (1), (2)) v(g), LATERAL (SELECT * FROM advantages WHERE group_id = v.g OFFSET 0) a'), qr/Index Cond: \(group_id = "\*VALUES\*".column1\)/, "so does LATERAL that is not merged into the query (OFFSET 0)");
like(plan_of("$few SET plan_cache_mode = force_generic_plan; PREPARE one(integer) AS SELECT * FROM advantages WHERE group_id = \$1;", 'EXECUTE one(3)'),
	qr/Index Cond: \(group_id = \$1\)/, 'so does a parameter');
my $one = plan_of('', 'SELECT * FROM parted_advantages WHERE group_id = 42');
like($one, qr/(?:Index Cond: |Recheck Cond: )\(\(?group_id = 42/, 'and in a partitioned table');
is(() = ($one =~ /Scan.* on parted_\d /g), 1, 'the other partitions are pruned');
unlike(plan_of('', 'SELECT * FROM advantages WHERE advantage > 0'), qr/Index Cond/, 'a condition on the advantage does not');
is(result('', 'SELECT count(*), count(DISTINCT rollout_id) FROM advantages WHERE group_id = 42'),
	result('', 'SELECT count(*), count(DISTINCT rollout_id) FROM steps WHERE group_id = 42'), 'the steps of the group');

$node->stop;
done_testing();

# Shards behind postgres_fdw: with the server option extensions 'stepadv' the aggregate runs where the rows are, and only values
# are sent; no planner setting is needed, in queries and in views of attach.
# (PostgreSQL::Test::Cluster: 15, and 14 from its minor release 3 on.)
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\nsearch_path = 'public, stepadv'");
$node->start;
plan skip_all => 'postgres_fdw is not installed'
  unless $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");

$node->safe_psql('postgres', 'CREATE DATABASE shard' . $_) for 0, 1;
my ($host, $port) = ($node->host, $node->port);
$node->safe_psql('postgres', q{
	CREATE EXTENSION stepadv;
	CREATE EXTENSION postgres_fdw;
	CREATE TABLE steps (step_id bigint, group_id integer, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8);
	INSERT INTO steps SELECT i, i * 7919 % 100, i / 100, i / 100 % 10, i % 11, i % 3, CASE WHEN i % 5 = 0 THEN i % 97 / 7.0 END
		FROM generate_series(0, 9999) i;
	CREATE TABLE sharded (LIKE steps) PARTITION BY HASH (group_id);
});
for my $shard (0, 1)
{
	$node->safe_psql("shard$shard", q{
		CREATE EXTENSION stepadv;
		CREATE TABLE steps (step_id bigint, group_id integer, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8);
	});
	$node->safe_psql('postgres', qq{
		CREATE SERVER shard$shard FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '$host', port '$port', dbname 'shard$shard', extensions 'stepadv');
		CREATE USER MAPPING FOR CURRENT_USER SERVER shard$shard;
		CREATE FOREIGN TABLE sharded_$shard PARTITION OF sharded FOR VALUES WITH (MODULUS 2, REMAINDER $shard)
			SERVER shard$shard OPTIONS (table_name 'steps');
	});
}
$node->safe_psql('postgres', 'INSERT INTO sharded SELECT * FROM steps; ANALYZE steps; ANALYZE sharded');
is($node->safe_psql('postgres', 'SELECT bool_and(n > 1000), sum(n) FROM (SELECT count(*) AS n FROM sharded GROUP BY tableoid) x'),
	't|10000', 'both shards hold rows');

my $agg = 'rollout_agg(step_id, rollout_id, step_no, state, action, reward)';
sub plan_of { return $node->safe_psql('postgres', "EXPLAIN (VERBOSE, COSTS OFF) $_[0]"); }
sub same
{
	my ($what, $query) = @_;
	(my $local = $query) =~ s/\bsharded(?:_\d)?\b/steps/g;
	is($node->safe_psql('postgres', $query), $node->safe_psql('postgres', $local), $what);
	return;
}

# One shard.
my $by_group = "SELECT group_id, $agg\::text AS said FROM sharded_0 GROUP BY group_id ORDER BY group_id";
like(plan_of($by_group), qr/Remote SQL: SELECT .*stepadv\.rollout_agg\(.* GROUP BY/, 'the aggregate is shipped to a shard');
is($node->safe_psql('postgres', $by_group),
	$node->safe_psql('postgres', "SELECT group_id, $agg\::text AS said FROM steps WHERE group_id IN (SELECT DISTINCT group_id FROM sharded_0) GROUP BY group_id ORDER BY group_id"),
	'and the values come back as they are');

# All shards, each for itself.
my $all = "SELECT group_id, $agg\::text AS said FROM sharded GROUP BY group_id ORDER BY group_id";
my $shipped = () = (plan_of($all) =~ /Remote SQL: SELECT .*stepadv\.rollout_agg\(.* GROUP BY/g);
is($shipped, 2, 'the aggregate is shipped to every shard');
same('the groups are the same', $all);
same('so are the estimates',
	"SELECT g.group_id, a.* FROM (SELECT group_id, $agg AS rollouts FROM sharded GROUP BY group_id) g, rtmc(g.rollouts) a ORDER BY step_id");
my $one = "SELECT a.* FROM (SELECT group_id, $agg AS rollouts FROM sharded GROUP BY group_id) g, rtmc(g.rollouts) a WHERE group_id = 7 ORDER BY step_id";
like(plan_of($one), qr/Remote SQL: [^\n]*WHERE \(\(group_id = 7\)\)/, 'one group is asked for');
is(() = (plan_of($one) =~ /Remote SQL/g), 1, 'of one shard');
same('and is the same', $one);

# With the setting that PostgreSQL has for it the plan is the same; without groups in one shard there is none.
is($node->safe_psql('postgres', "SET enable_partitionwise_aggregate = on; EXPLAIN (VERBOSE, COSTS OFF) $all"), plan_of($all), 'the same plan with enable_partitionwise_aggregate');
my $across = 'SELECT step_no, rollout_agg(step_id, step_id, step_no, state, action, reward)::text AS said FROM sharded GROUP BY step_no ORDER BY step_no';
unlike(plan_of($across), qr/Remote SQL:.*rollout_agg/, 'groups that lie in several shards are folded here');
same('and right', $across);
$shipped = () = (plan_of("SELECT group_id, rollout_id % 2, $agg FROM sharded GROUP BY 1, 2") =~ /Remote SQL: SELECT .*stepadv\.rollout_agg\(.* GROUP BY/g);
is($shipped, 2, 'groups that are parts of those of the shards are shipped');
same('and right', "SELECT group_id, rollout_id % 2 AS half, $agg\::text AS said FROM sharded GROUP BY 1, 2 ORDER BY 1, 2");
# Some partitions are local: these are folded here, each other one remotely.
$node->safe_psql('postgres', q{CREATE TABLE mixed (LIKE steps) PARTITION BY HASH (group_id);
	CREATE TABLE mixed_0 PARTITION OF mixed FOR VALUES WITH (MODULUS 3, REMAINDER 0);
	CREATE FOREIGN TABLE mixed_1 PARTITION OF mixed FOR VALUES WITH (MODULUS 3, REMAINDER 1) SERVER shard0 OPTIONS (table_name 'mixed');
	CREATE TABLE mixed_2 PARTITION OF mixed FOR VALUES WITH (MODULUS 3, REMAINDER 2) PARTITION BY LIST (group_id);
	CREATE TABLE mixed_2_here PARTITION OF mixed_2 DEFAULT;});
$node->safe_psql('shard0', 'CREATE TABLE mixed (LIKE steps)');
$node->safe_psql('postgres', 'INSERT INTO mixed SELECT * FROM steps; ANALYZE mixed');
my $of_mixed = "SELECT group_id, $agg\::text AS said FROM mixed GROUP BY group_id ORDER BY group_id";
my $mixed_plan = plan_of($of_mixed);
is(() = ($mixed_plan =~ /Remote SQL: SELECT .*stepadv\.rollout_agg\(.* GROUP BY/g), 1, 'of a table with partitions here and there the aggregate is shipped there');
is(() = ($mixed_plan =~ /Custom Scan \(GroupFold\)/g), 2, 'and the others are folded here') or diag($mixed_plan);
sub same_mixed { my ($what, $query) = @_; is($node->safe_psql('postgres', $query), $node->safe_psql('postgres', $query =~ s/\bmixed\b/steps/gr), $what); return; }
same_mixed('all is right', $of_mixed);
same_mixed('and in what is made of it', "SELECT g.group_id, a.* FROM (SELECT group_id, $agg AS rollouts FROM mixed GROUP BY group_id) g, rtmc(g.rollouts) a ORDER BY step_id");
same_mixed('one group', $of_mixed =~ s/GROUP BY/WHERE group_id = $_ GROUP BY/r) foreach 3, 7, 8;
same_mixed('with a filter', $of_mixed =~ s/::text/ FILTER (WHERE step_no < 5)::text/r);
$node->safe_psql('postgres', "ALTER SERVER shard0 OPTIONS (DROP extensions)");
unlike(plan_of($of_mixed), qr/Remote SQL:.*rollout_agg/, 'without the option none is');
$node->safe_psql('postgres', "ALTER SERVER shard0 OPTIONS (ADD extensions 'stepadv')");

# Views: the same shipped aggregate, and nothing else unless the user's columns are read.
foreach my $table ('sharded', 'steps', 'sharded_0')
{
	$node->safe_psql('postgres', qq(SELECT count(*) FROM attach('$table', '{group_id}', 'rollout_id', 'step_no', 'state', 'action', 'reward', columns => '{"step_id": "step_id"}', views => '{all}')));
}
my $estimates = 'SELECT group_id, step_id, advantage FROM sharded_rtmc';
is(() = (plan_of($estimates) =~ /Remote SQL: SELECT [^\n]*lenient_rollout_agg\([^\n]* GROUP BY/g), 2, 'a view ships the aggregate to every shard');
is(() = (plan_of($estimates) =~ /Remote SQL/g), 2, 'and reads nothing else');
is(() = (plan_of('SELECT group_id, step_id, advantage FROM sharded_0_rtmc') =~ /Remote SQL/g), 1, 'over one foreign table, too');
is(() = (plan_of("$estimates WHERE group_id = 7") =~ /Remote SQL: [^\n]*group_id = 7/g), 1, 'one group is asked of one shard')
	or diag(plan_of("$estimates WHERE group_id = 7"));
is(() = (plan_of('SELECT * FROM sharded_rtmc') =~ /Remote SQL/g), 4, 'with columns of the user the rows travel beside the values');
foreach my $view (qw(rtmc compare groups rollouts batch_td quadrants disagreement_by_group))
{
	my $rows = "SELECT count(*), md5(string_agg(x::text, '|' ORDER BY x::text COLLATE \"C\")) FROM %s_$view x";
	is($node->safe_psql('postgres', sprintf $rows, 'sharded'), $node->safe_psql('postgres', sprintf $rows, 'steps'), "_$view is the same over shards");
}
like(($node->psql('postgres', "SELECT maintain('sharded')"))[2], qr/ERROR:  cannot maintain groups of (public\.)?sharded_0.*: it is a foreign table\nHINT:  /, 'triggers cannot keep groups of foreign tables');

# Without the option rows are sent, with the same result.
$node->safe_psql('postgres', "ALTER SERVER shard$_ OPTIONS (DROP extensions)") for 0, 1;
unlike(plan_of($all), qr/Remote SQL:.*rollout_agg/, 'without the option nothing is shipped');
same('the groups are the same', $all);
$node->safe_psql('postgres', "ALTER SERVER shard$_ OPTIONS (ADD extensions 'stepadv')") for 0, 1;

# Stored values on a shard: rollup, and an estimator in a condition.
$node->safe_psql("shard$_", "CREATE TABLE groups AS SELECT group_id, rollout_id % 3 AS part, $agg AS rollouts FROM steps GROUP BY 1, 2") for 0, 1;
$node->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA public LIMIT TO (groups) FROM SERVER shard1 INTO public');
my $merged = 'SELECT group_id, rollup(rollouts)::text AS said FROM groups GROUP BY group_id ORDER BY group_id';
like(plan_of($merged), qr/Remote SQL: SELECT .*stepadv\.rollup\(rollouts\)/, 'rollup is shipped');
is($node->safe_psql('postgres', $merged), $node->safe_psql('shard1', $merged), 'and gives the same');

# Both sides see an error of the remote one.
my ($status, $out, $err) = $node->psql('postgres', "SELECT rollout_agg(step_id, group_id, 1, state, action, reward) FROM sharded_0 GROUP BY state");
like($err, qr/ERROR:  rollout \d+ has two rows for step 1/, 'an error there is an error here');

# Every function over columns of a foreign table: shipped, if sending data is expensive, or computed here.
$node->safe_psql('postgres', q{
	ALTER SERVER shard0 OPTIONS (ADD fdw_tuple_cost '1000');
	CREATE TABLE kinds AS SELECT t.oid::regtype AS type FROM pg_type t WHERE t.typtype <> 'p'
		AND t.oid IN (SELECT unnest(proargtypes::oid[]) FROM pg_proc WHERE pronamespace = 'stepadv'::regnamespace);
	DO $$ BEGIN EXECUTE (SELECT format('CREATE FOREIGN TABLE anything (%s, by_group integer) SERVER shard0', string_agg(format('c%s %s', type::oid, type), ', ')) FROM kinds); END $$;
	CREATE FUNCTION called(f pg_proc) RETURNS text LANGUAGE sql AS $$
		SELECT format('stepadv.%I(%s)', f.proname, (SELECT string_agg(CASE WHEN f.provariadic <> 0 AND o = f.pronargs THEN 'VARIADIC c' ELSE 'c' END
			|| CASE t WHEN 'anycompatiblearray'::regtype THEN 'float8[]'::regtype WHEN 'anyarray'::regtype THEN 'text[]'::regtype WHEN 'anyelement'::regtype THEN 'text'::regtype ELSE t END::oid, ', ' ORDER BY o)
			FROM unnest(f.proargtypes::oid[]) WITH ORDINALITY u (t, o)))
	$$;
	CREATE FUNCTION place(f pg_proc) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		line text;
	BEGIN
		FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || format(CASE WHEN f.prokind = 'a' THEN 'SELECT by_group, %s FROM anything GROUP BY by_group' WHEN f.prokind = 'w' THEN 'SELECT %s OVER (PARTITION BY by_group) FROM anything'
			WHEN f.proretset THEN 'SELECT count(*) FROM anything, LATERAL %s' || CASE WHEN f.prorettype = 'record'::regtype AND f.proallargtypes IS NULL THEN ' AS (c text)' ELSE '' END ELSE 'SELECT by_group FROM anything WHERE %s IS NOT NULL' END, called(f))
		LOOP
			IF line ~ 'Remote SQL' AND position(format('stepadv.%I(', f.proname) IN line) > 0 THEN
				RETURN 'there';
			END IF;
		END LOOP;
		RETURN 'here';
	END
	$$;
	CREATE VIEW places AS
		SELECT CASE WHEN p.prokind = 'a' THEN 'aggregate' WHEN p.prokind = 'w' THEN 'window' WHEN p.proretset THEN 'rows' WHEN p.provolatile = 'i' THEN 'number' ELSE 'volatile or stable' END AS kind, p.proname::text AS name, place(p) AS place
		FROM pg_proc p WHERE p.pronamespace = 'stepadv'::regnamespace;});
is($node->safe_psql('postgres', q{SELECT kind, place, CASE WHEN kind = 'aggregate' AND place = 'here' THEN string_agg(DISTINCT name, ' ' ORDER BY name) END FROM places GROUP BY 1, 2 ORDER BY 1, 2}),
	"aggregate|there|\nnumber|there|\nrows|here|\nvolatile or stable|here|\nwindow|here|",
	'aggregates and functions of a row are shipped; functions that give rows, windows and what reads or writes tables are not');

$node->stop;
done_testing();

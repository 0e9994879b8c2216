# Progress messages of long work: texts, with times masked, at an interval of 0; none at the default one and when switched off.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('long_work');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "jit = off\nfsync = off\n");
$node->start;
my $at_once = 'SET stepadv.progress_interval = 0;';

# The notices of a session, and 'failed' if it ends with an error; those of PREPARATION are ignored.
sub told
{
	my ($sql, $preparation) = @_;
	my ($status, undef, $err) = $node->psql('postgres', 'SET client_min_messages = warning; ' . ($preparation // '') . '; RESET client_min_messages; ' . $sql, on_error_stop => 1);
	my @told = $err =~ /NOTICE:  (.*)/g;
	s/(about|at most) [\d.]+ (s|min|h) left/$1 T left/ for @told;
	return join "\n", @told, $status ? 'failed' : ();
}

sub lines { return join "\n", @_; }

# Digests of all groups, with a message for each.
sub summed_up
{
	my ($source, $n) = @_;

	return lines((map { "summed up $_ of about $n groups of $source, about T left" } 1 .. $n - 1), "summed up $n of about $n groups of $source");
}

# Eight groups of four rollouts of 64 steps: 2048 rows.
$node->safe_psql('postgres', q(
	CREATE EXTENSION stepadv;
	CREATE TABLE steps AS SELECT i AS id, i / 256 AS g, i / 64 AS r, i % 64 AS n, i % 5 AS st, i % 3 AS act, (i % 7)::float8 AS score,
		'v' || i / 1024 AS version FROM generate_series(0, 2047) i;
	ALTER TABLE steps ADD PRIMARY KEY (id);
	CREATE INDEX ON steps (g, r, n);
	ANALYZE steps;
	SELECT stepadv.attach('steps', '{g}', 'r', 'n', 'st', 'act', 'score', views => '{all}');
	SELECT stepadv.attach('steps', '{g}', 'r', 'n', 'st', 'act', 'score', columns => '{"policy_version": "version"}', views => '{all}', prefix => 'versions');
));

# ---------- maintain
my $source = '"public.steps"';
is(told("$at_once SELECT stepadv.maintain('steps', 'steps', mode => 'refresh')"),
	lines("read 1024 of about 2048 rows of $source, about T left", "read 2048 of about 2048 rows of $source", summed_up($source, 8)), 'maintain');
is(told("SELECT stepadv.refresh('steps', 'steps', full => true)"), '', 'short work says nothing at the usual interval');
like(told("$at_once SELECT stepadv.maintain('steps', 'versions')"),
	qr/^read 1024 of about 2048 rows of $source, about T left\nread 2048 .*\n\Q${\ summed_up($source, 8)}\E$/,
	'maintain, of the views over time too');
is(told("INSERT INTO steps SELECT id + 10000, g, r + 1000, n, st, act, score, version FROM steps WHERE g = 7", $at_once), '', 'whoever writes is told nothing');

# ---------- refresh
is(told("SELECT stepadv.refresh('steps', 'steps')", "$at_once UPDATE steps SET score = score + 1 WHERE g IN (1, 3, 6)"),
	lines("folded 1 of 4 groups of $source, about T left", "folded 2 of 4 groups of $source, about T left", "folded 3 of 4 groups of $source, about T left", "folded 4 of 4 groups of $source"),
	'refresh of some groups');
is(told("SELECT stepadv.refresh('steps', 'steps', full => true)", "$at_once ANALYZE steps"),
	lines("read 1024 of about 2304 rows of $source, about T left", "read 2048 of about 2304 rows of $source, about T left", summed_up($source, 8)), 'refresh of everything');
is(told("SET stepadv.progress = off; SELECT stepadv.refresh('steps', 'steps', full => true)", $at_once), '', 'silenced');

# Many groups are folded together, in one pass; fewer one by one.
$node->safe_psql('postgres', q(
	CREATE TABLE skewed AS SELECT g, n FROM generate_series(1, 400) g, generate_series(1, CASE WHEN g <= 110 THEN 30 ELSE 1 END) n;
	CREATE INDEX ON skewed (g);
	ANALYZE skewed;
	SELECT stepadv.attach('skewed', '{g}', 'g', 'n', 'n', reward => 'n', views => '{all}');
	SELECT stepadv.maintain('skewed', mode => 'refresh');
));
like(told("SELECT stepadv.refresh('skewed')", "$at_once UPDATE skewed SET n = -n WHERE g <= 200"), qr/^(read \d+ of about \d+ rows of "public.skewed".*\n)+\Q${\ summed_up('"public.skewed"', 400)}\E$/, 'half of the groups');
like(told("SELECT stepadv.refresh('skewed')", "$at_once UPDATE skewed SET n = -n WHERE g > 290"), qr/^(folded \d+ of 110 groups of "public.skewed".*(\n|$)){110}$/, 'fewer');
is($node->safe_psql('postgres', "SELECT count(*) FROM stepadv.check_maintained('skewed')"), '0', 'either way all is right');

# Digests of many groups are made in eight parts by several processes, with an index alone and if all functions are parallel safe.  The result
# is that of one process.
$node->safe_psql('postgres', q(
	CREATE TABLE many AS SELECT g, r, n, g % 7 + n AS st, r % 2 AS act, (g * r * n % 5)::float8 AS score FROM generate_series(1, 600) g, generate_series(1, 3) r, generate_series(1, 4) n;
	CREATE FUNCTION as_is(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
	CREATE VIEW called AS SELECT g, r, n, st, act, score, 'v' || as_is(r % 2) AS version FROM many;
	SELECT stepadv.attach(t, '{g}', 'r', 'n', 'st', 'act', 'score', columns => c, views => '{all}') FROM (VALUES ('many'::regclass, '{}'::jsonb), ('called', '{"policy_version": "version"}')) s(t, c);
));
# The number of times each part was made, and the digests.
sub parts
{
	my ($source) = @_;
	my $before = parts_made();
	$node->safe_psql('postgres', "SET track_functions = 'pl'; SET client_min_messages = warning; SELECT stepadv.maintain('$source')");
	my $digests = $node->safe_psql('postgres', "SELECT md5(string_agg(d::text, ' ' ORDER BY g)), count(digest), count(*) FROM ${source}_digests d");
	is($node->safe_psql('postgres', "SELECT count(*) FROM stepadv.check_maintained('$source')"), '0', "$source is right");
	$node->safe_psql('postgres', "SELECT stepadv.unmaintain('$source')");
	return (parts_made() - $before, $digests);
}
sub parts_made { return $node->safe_psql('postgres', q(SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = 'digests_of_part')); }
my ($n, $alone) = parts('many');
is($n, 0, 'no index');
$node->safe_psql('postgres', 'CREATE INDEX ON many (g)');
my ($n_shared, $shared) = parts('many');
is($n_shared, 8, 'parts by processes');
is($shared, $alone, 'the same digests');
like($shared, qr/\|600\|600$/, 'of all groups');
is((parts('called'))[0], 0, 'a function that is not declared to be parallel safe');
# A method that fails in one of the processes.
$node->safe_psql('postgres', q(
	CREATE FUNCTION picky(rollouts stepadv.rollout_group) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
	BEGIN
		IF (SELECT count(*) FROM stepadv.steps(rollouts)) = 13 THEN
			RAISE EXCEPTION 'picky does not like 13 steps' USING ERRCODE = 'data_exception';
		END IF;
		RETURN QUERY SELECT s.step_id, s.rollout_id, s.step_no, 0::float8 FROM stepadv.steps(rollouts) s;
	END $$;
	SELECT stepadv.register_method('picky(stepadv.rollout_group)');
	CREATE TABLE picked AS TABLE many;
	INSERT INTO picked VALUES (77, 4, 1, 0, 0, 1);
	CREATE INDEX ON picked (g);
	SELECT stepadv.attach('picked', '{g}', 'r', 'n', 'st', 'act', 'score', views => '{all}');
));
my ($n_picked, $picked) = parts('picked');
ok($n_picked > 0 && $picked =~ /\|599\|600$/, 'all but the group that it fails at') or diag($n_picked, $picked);

# An error leaves nothing behind.
is(told("$at_once SET statement_timeout = '1ms'; SELECT stepadv.refresh('steps', 'steps', full => true), pg_sleep(1)") =~ /failed/, 1, 'cancelled');
is(told("SELECT count(*) FROM steps_groups; SELECT count(*) FROM versions_progress_over_time",
		"$at_once DO \$\$ BEGIN PERFORM stepadv.refresh('steps', 'steps', full => true), 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END \$\$"),
	'', 'and after it, or an error, nobody is told of other folds');
is($node->safe_psql('postgres', "SELECT count(*) FROM stepadv.check_maintained('steps')"), '0', 'all is right');


done_testing();

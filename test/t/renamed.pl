# A maintained table, its columns, schema and owner are renamed.  Writes continue, views are exact, and maintenance can be ended.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('renamed');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\nfsync = off\n");
$node->start;
$node->safe_psql('postgres', q(
	CREATE EXTENSION stepadv;
	CREATE ROLE alice LOGIN;
	CREATE ROLE bob LOGIN;
	GRANT CREATE ON DATABASE postgres TO alice, bob;
));

# The writer's session began before the renames; the reader's after.
my %sessions;
sub run_as
{
	my ($role, $sql) = @_;
	return ($sessions{$role} //= Session->new($node, 'postgres', $role))->psql($sql);
}
sub run_anew
{
	my ($role, $sql) = @_;
	return $node->psql('postgres', $sql, on_error_stop => 1, extra_params => [ '-U', $role ]);
}

sub works
{
	my ($role, $sql, $expected, $name) = @_;
	my ($status, $out, $err) = run_as($role, "SET client_min_messages = warning;\n$sql");
	if ($status != 0)
	{
		fail($name);
		diag(substr($err, 0, 600));
		return;
	}
	return defined $expected ? is($out, $expected, $name) : pass($name);
}

my $admin = $node->safe_psql('postgres', 'SELECT current_user');

# The change, and the names of the schema (s), table (t), columns and owner afterwards.  A source that is a view keeps its names.
my @changes = (
	{ name => 'nothing', sql => 'SELECT 1' },
	{ name => 'a column comes and goes', sql => 'ALTER TABLE s.t ADD extra text DEFAULT $$x$$, DROP other' },
	{ name => 'the key has another name', sql => 'ALTER TABLE s.t RENAME g TO "G 2"', g => '"G 2"' },
	{ name => 'the second key has another name', sql => 'ALTER TABLE s.t RENAME h TO hh', h => 'hh' },
	{ name => 'the keys change names', sql => 'ALTER TABLE s.t RENAME g TO x; ALTER TABLE s.t RENAME h TO g; ALTER TABLE s.t RENAME x TO h', g => 'h', h => 'g' },
	{ name => 'the reward has another name', sql => 'ALTER TABLE s.t RENAME score TO points', score => 'points' },
	{ name => 'the rollout has another name', sql => 'ALTER TABLE s.t RENAME r TO trajectory', r => 'trajectory' },
	{ name => 'the version has another name', sql => 'ALTER TABLE s.t RENAME v TO policy', v => 'policy' },
	{ name => 'the run and the policy step have other names', sql => 'ALTER TABLE s.t RENAME run TO experiment; ALTER TABLE s.t RENAME p TO train_step', run => 'experiment', p => 'train_step' },
	{ name => 'a dimension has another name', sql => 'ALTER TABLE s.t RENAME cat TO kind', cat => 'kind' },
	{ name => 'dimensions change names', sql => 'ALTER TABLE s.t RENAME cat TO c; ALTER TABLE s.t RENAME seed TO cat; ALTER TABLE s.t RENAME c TO seed', cat => 'seed', seed => 'cat' },
	{ name => 'the table has another name', sql => 'ALTER TABLE s.t RENAME TO "t 2"', t => '"t 2"' },
	{ name => 'the schema has another name', sql => 'ALTER SCHEMA s RENAME TO "s 2"', s => '"s 2"' },
	{ name => 'the table moves', sql => 'CREATE SCHEMA away; ALTER TABLE s.t SET SCHEMA away', t_schema => 'away' },
	{ name => 'what is kept has another name', sql => 'ALTER TABLE s.t_folded RENAME TO kept; ALTER VIEW s.t_groups RENAME TO summary', groups => 'summary' },
	{ name => 'the column of the view', sql => 'ALTER VIEW s.t_groups RENAME COLUMN g TO task' },
	{ name => 'the rollouts\' table', sql => 'ALTER TABLE s.runs RENAME TO trajectories; ALTER TABLE s.trajectories RENAME began TO started' },
	{ name => 'all have another owner', by => $admin, sql => 'REASSIGN OWNED BY alice TO bob', owner => 'bob' },
	{ name => 'the table has another owner', by => $admin, sql => 'ALTER TABLE s.t OWNER TO bob; GRANT USAGE ON SCHEMA s TO bob', writer => 'bob', owner => $admin, may_say_so => 1 },
);

# A copy with the former names, which is not maintained.
$node->safe_psql('postgres', q(CREATE SCHEMA copy;
	CREATE TABLE copy.t (id integer, g text, h text, r text, n integer, st text, score float8, v text, run text, p integer, cat text, seed integer);
	SELECT count(*) FROM stepadv.attach('copy.t'::regclass, '{g,h}'::text[], 'r', 'n', 'st', reward => 'score', columns => '{"step_id": "id", "policy_version": "v", "run_id": "run", "policy_step": "p", "dimensions": ["cat", "seed"]}', views => '{all}', options => '{"show_columns": []}');));

# The contents of views over the current rows: those in the copy.
sub expected
{
	my (%c) = @_;
	my $rows = "SELECT id, $c{g} AS g, $c{h} AS h, $c{r} AS r, n, st, $c{score} AS score, $c{v} AS v, $c{run} AS run, $c{p} AS p, $c{cat} AS cat, $c{seed} AS seed FROM $c{table}";
	my ($status, $out, $err) = run_as($admin, "TRUNCATE copy.t; INSERT INTO copy.t $rows; " . shown('copy.t_groups', 'copy.t'));
	die $err if $status;
	return $out;
}

# Without names: views may show columns by old or new names.
sub shown
{
	my ($groups, $prefix) = @_;
	return qq(SELECT x FROM (SELECT 'groups ' || g::text FROM $groups g UNION ALL SELECT 'steps ' || a::text FROM ${prefix}_gigpo a
		UNION ALL SELECT concat_ws(' ', 'over time', p.policy_version, p.run_id, p.policy_step, p.cat, p.seed, n_groups, n_rollouts, n_steps, round(mean_return::numeric, 6)) FROM ${prefix}_progress_over_time p) u(x) ORDER BY x);
}

sub lives
{
	my ($change, $how) = @_;
	my %c = (s => 's', t => 't', g => 'g', h => 'h', r => 'r', score => 'score', v => 'v', run => 'run', p => 'p', cat => 'cat', seed => 'seed', owner => 'alice', groups => 't_groups', by => 'alice', %$change);
	$c{table} = ($c{t_schema} // $c{s}) . ".$c{t}";
	$c{writer} //= $c{owner};
	my $name = "$change->{name}, $how";
	my $refresh = $how eq 'refresh' ? "SELECT stepadv.refresh('$c{table}'::regclass) > 0;" : 'SELECT true;';

	works($admin, q(DROP SCHEMA IF EXISTS s, "s 2", away CASCADE), '', "$name: from the beginning");
	works('alice', qq(CREATE SCHEMA s;
		CREATE TABLE s.t (id integer PRIMARY KEY, g text NOT NULL, h text, r text, n integer, st text, score float8, v text, other text, run text, p integer, cat text, seed integer);
		CREATE INDEX ON s.t (g, h);
		CREATE TABLE s.runs (g text, h text, r text, began date);
		INSERT INTO s.t SELECT i, 'g' || i % 3, 'h' || i % 2, 'r' || i / 12, i / 6 % 2, 's' || i % 2, i % 5, 'v' || i % 3, 'o', 'x' || i / 12 % 2, i / 12, 'c' || i / 6 % 2, i / 12 % 3 FROM generate_series(0, 59) i;
		SELECT count(*) > 5 FROM stepadv.attach('s.t'::regclass, '{g,h}'::text[], 'r', 'n', 'st', reward => 'score', columns => '{"step_id": "id", "policy_version": "v", "run_id": "run", "policy_step": "p", "dimensions": ["cat", "seed"]}', views => '{all}',
			options => '{"show_columns": []@{[ $name =~ /rollouts' table/ ? ', "show_rollouts": "runs"' : '' ]}}');
		SELECT stepadv.maintain('s.t'::regclass, mode => '$how') IS NOT NULL;
		INSERT INTO s.t VALUES (100, 'g0', 'h0', 'r100', 1, 's', 3, 'v0')), "t\nt", "$name: is kept");
	works('alice', "SELECT stepadv.refresh('s.t'::regclass)", undef, "$name: is refreshed") if $how eq 'refresh';
	works($c{by}, $c{sql}, undef, "$name: it happens");

	# Before anything is written the old rows are shown.
	my $see = shown("$c{s}.$c{groups}", "$c{s}.t");
	my $seen = sub {
		my ($what, $may_say_so) = @_;
		my $is = expected(%c);
		my ($status, $out, $err) = run_anew($c{owner}, $see);
		return is($status ? $err : $out, $is, "$name: $what") unless $may_say_so;
		my ($checked, $said) = run_as($c{owner}, "SELECT * FROM stepadv.check_maintained('$c{table}'::regclass)");
		return ok($out eq $is || $said ne '', "$name: $what, or it is said");
	};
	$seen->('all is as it was', $c{may_say_so}) unless $c{name} =~ /column of the view|rollouts' table/;
	my @columns = "id, $c{g}, $c{h}, $c{r}, n, st, $c{score}, $c{v}";
	works($c{writer}, "INSERT INTO $c{table} (@columns) VALUES (200, 'g1', 'h1', 'r200', 1, 's1', 9, 'v1'), (201, 'new', 'h', 'r1', 1, 's', 1, 'v1')", undef, "$name: INSERT");
	works($c{writer}, "UPDATE $c{table} SET $c{score} = $c{score} + 1 WHERE id % 7 = 0", undef, "$name: UPDATE of the reward");
	works($c{writer}, "UPDATE $c{table} SET $c{g} = 'moved' WHERE id IN (3, 9)", undef, "$name: UPDATE of the key");
	works($c{writer}, "UPDATE $c{table} SET $c{v} = 'v9' WHERE id = 15", undef, "$name: UPDATE of the version");
	works($c{writer}, "UPDATE $c{table} SET $c{cat} = 'c9' WHERE id % 12 < 6 AND id % 5 = 0; UPDATE $c{table} SET $c{run} = 'x9', $c{p} = 70 WHERE id BETWEEN 24 AND 35", undef, "$name: UPDATE of a dimension, the run and its step");
	works($c{writer}, "DELETE FROM $c{table} WHERE id % 10 = 4 OR id = 200", undef, "$name: DELETE");
	works($c{owner}, $refresh, 't', "$name: refresh") unless $c{may_say_so};
	$seen->('what is written is shown', $c{may_say_so}) unless $c{name} =~ /column of the view|rollouts' table/;
	works($c{owner}, "SELECT * FROM stepadv.check_maintained('$c{table}'::regclass)", $c{may_say_so} ? undef : '', "$name: all is right");
	works($c{owner}, "SELECT stepadv.refresh('$c{table}'::regclass, full => true) > 3", 't', "$name: everything is folded") unless $c{may_say_so};
	# The groups are alice's, who may not read the table: no other user folds them through her views with their own privileges.
	like((run_as($c{owner}, "SELECT stepadv.refresh('$c{table}'::regclass, full => true)"))[2], qr/has another owner than the source/, "$name: it is said why not") if $c{may_say_so};

	# Two ways to end: detach, and unmaintain.
	works($c{owner}, "BEGIN; SELECT stepadv.detach('$c{table}'::regclass) > 5; SELECT count(*) FROM pg_trigger WHERE tgrelid = '$c{table}'::regclass;
		SELECT count(*) FROM pg_class WHERE relnamespace = '$c{s}'::regnamespace AND (relkind = 'v' OR relname ~ '^(t_|kept)' AND relkind = 'r'); INSERT INTO $c{table} (@columns) VALUES (300, 'g1', 'h1', 'r200', 1, 's1', 9, 'v1'); ROLLBACK", "t\n0\n0", "$name: detach");
	works($c{owner}, "SELECT stepadv.unmaintain('$c{table}'::regclass)", 1, "$name: unmaintain");
	works($c{owner}, "SELECT count(*) FROM pg_trigger WHERE tgrelid = '$c{table}'::regclass; SELECT count(*) FROM pg_class WHERE relnamespace = '$c{s}'::regnamespace AND relname IN ('t_folded', 't_digests', 't_changed', 'kept')", "0\n0", "$name: without a trace");
	works($c{writer}, "INSERT INTO $c{table} (@columns) VALUES (400, 'g4', 'h1', 'r200', 1, 's1', 9, 'v1')", undef, "$name: INSERT after it");
	# Up to 14 a view reads with its owner's rights, whoever asks.
	works($c{writer}, "GRANT SELECT ON $c{table} TO alice", '', "$name: alice may read it") if $c{may_say_so};
	$seen->('folded when asked') unless $c{name} =~ /column of the view|rollouts' table/;
	unless ($c{may_say_so})
	{
		works($c{owner}, "SELECT stepadv.maintain('$c{table}'::regclass, mode => '$how') IS NOT NULL; INSERT INTO $c{table} (@columns) VALUES (401, 'g4', 'h1', 'r200', 2, 's1', 9, 'v1'); $refresh SELECT * FROM stepadv.check_maintained('$c{table}'::regclass)", "t\nt", "$name: and kept again");
	}
	# The triggers are gone: the views are alice's alone.
	works($c{may_say_so} ? 'alice' : $c{owner}, "SELECT stepadv.detach('$c{table}'::regclass) > 5", 't', "$name: and detached");
}

foreach my $how ('triggers', 'refresh')
{
	lives($_, $how) foreach @changes;
}

$_->end foreach values %sessions;
$node->stop;
done_testing();

# Maintained groups under a random workload of several sessions equal a fresh fold at the end, whatever was committed, rolled back,
# refused or deadlocked.  And through pg_dump, restore, a crash and DROP EXTENSION.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('upkeep');
# Rollouts are UTF-8, in any locale of the tester.
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "deadlock_timeout = '20ms'\njit = off\nfsync = off\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION stepadv');

# A table per mode of maintenance, one with a foreign key (states from tool calls, several keys), and the canonical tables.
$node->safe_psql('postgres', q(
	CREATE TABLE at_once (id bigserial, g integer, h text, r text NOT NULL, n integer, st integer, act integer, score float8, v float8, note text, version text, PRIMARY KEY (id));
	CREATE INDEX ON at_once (g, h);
	CREATE TABLE at_least (LIKE at_once INCLUDING ALL);
	-- A refresh cannot refuse the writer: the table must.
	CREATE TABLE at_refresh (LIKE at_once INCLUDING ALL, UNIQUE (g, h, r, n));
	-- The version is in a separate table, in the steps' rows, in the group.
	CREATE TABLE runs (g integer, h text, r text, version text, began date, PRIMARY KEY (g, h, r));
	SELECT stepadv.attach('at_once', '{g,h}', 'r', 'n', 'st', 'act', 'score', columns => '{"value": "v", "policy_version": "version", "started_at": "began"}', views => '{all}', options => '{"show_rollouts": "runs"}');
	SELECT stepadv.attach('at_least', '{g,h}', 'r', 'n', action => 'act', reward => 'score', columns => '{"policy_version": "version"}', views => '{all}', options => '{"states": "history"}');
	SELECT stepadv.attach('at_refresh', '{g,h}', 'r', 'n', 'st', 'act', 'score', columns => '{"value": "v", "policy_version": "h"}', views => '{all}');
	SELECT stepadv.maintain('at_once');
	SELECT stepadv.maintain('at_least');
	SELECT stepadv.maintain('at_refresh', mode => 'refresh');
	SELECT stepadv.create_tables('rl', reward => 'sum', partitions => 3, states => 'signature', group_by => '{group_id}', views => '{all}');
	SELECT stepadv.maintain('rl.rollout_rows');
));
my %source = (at_once => 'at_once', at_least => 'at_least', at_refresh => 'at_refresh', canonical => 'rl.rollout_rows');

# Up to 14 create_tables has a trigger that refuses updates that would lose steps.
my $meant = qr/could not serialize|deadlock detected|current transaction is aborted|requires the isolation level READ COMMITTED|duplicate key|violates foreign key|already moved to another partition|savepoint "s" does not exist/;
$meant = qr/$meant|cannot be moved to group/ if $node->safe_psql('postgres', 'SHOW server_version_num') < 150000;

# A generator of our own: the same statements for the same seed everywhere.
my $state;
my $truncate;
sub seed { $state = shift; }
sub any
{
	my ($n) = @_;
	$state = ($state * 1103515245 + 12345) % 2147483648;
	return int($state / 65536) % $n;
}

sub own_statement
{
	my ($table) = @_;
	my $g = any(4);
	my $h = "'" . (qw(x y))[ any(2) ] . "'";
	my $r = "'r" . any(200) . "'";
	my $kind = any(24);

	# Only some steps of a rollout have a value: gae gives NULL for it.
	return "UPDATE $table SET v = nullif(" . any(3) . ", 0) WHERE g = $g AND n <= " . (1 + any(5)) if $kind == 20;
	return "UPDATE $table SET version = 'v" . any(3) . "' WHERE g = $g AND r LIKE '%" . any(10) . "'" if $kind == 21 && $table ne 'at_once';
	return "INSERT INTO runs VALUES ($g, $h, $r, 'v" . any(3) . "', '2026-01-0" . (1 + any(9)) . "') ON CONFLICT (g, h, r) DO UPDATE SET version = excluded.version" if $kind == 21;
	return "UPDATE runs SET began = began + 1, g = CASE WHEN h = $h THEN $g ELSE g END WHERE version = 'v" . any(3) . "' AND r LIKE '%" . any(10) . "'" if $kind == 22;
	return "DELETE FROM runs WHERE g = $g AND h = $h" if $kind == 23;
	# The same rollout from two sessions has duplicate steps, a defect.
	return "INSERT INTO $table (g, h, r, n, st, act, score) SELECT $g, $h, $r, n, n % 3, n % 2, n / 4.0 FROM generate_series(1, " . (1 + any(5)) . ") n" if $kind < 6;
	return "INSERT INTO $table (g, h, r, n, st, act, score) SELECT i % 4, 'y', 'b' || i || '_" . any(100000) . "', 1, 1, 1, 0.5 FROM generate_series(1, " . any(9) . ") i" if $kind < 8;
	if ($kind < 9)
	{
		# Not with the rows in the script: if COPY itself fails, older psqls would read them as SQL.
		my $new = 'c' . any(100000);
		my $file = $node->basedir . "/$g$new";
		unlink $file;
		append_to_file($file, "$g\tx\t$new\t1\t1\t1\t1\n\\N\tx\tnone\t1\t1\t1\t1\n");
		return "\\copy $table (g, h, r, n, st, act, score) FROM '$file'";
	}
	return "UPDATE $table SET score = score + 1 WHERE g = $g AND r LIKE 'r1%'" if $kind < 11;
	return "UPDATE $table SET g = CASE WHEN g = $g THEN " . any(4) . " ELSE g END, r = r || '_' || id WHERE h = $h AND r LIKE 'r" . any(10) . "%'" if $kind < 12;
	return "UPDATE $table SET g = nullif(g, $g), r = r || id WHERE id % 17 = " . any(17) if $kind < 13;
	return "UPDATE $table SET note = 'x' WHERE g = $g" if $kind < 14;
	return "DELETE FROM $table WHERE g = $g AND r LIKE '%" . any(10) . "'" if $kind < 16;
	return "DELETE FROM $table WHERE g = $g AND h = $h" if $kind < 17;
	return "TRUNCATE $table" if $kind < 18 && $truncate && any(6) == 0;
	return "SELECT stepadv.refresh('$table')" if $kind < 19 && $table eq 'at_refresh';
	return "SAVEPOINT s; DELETE FROM $table WHERE h = $h; ROLLBACK TO s";
}

sub canonical_statement
{
	my $g = "'g" . any(4) . "'";
	my $r = "'r" . any(30) . "'";
	my $kind = any(14);

	return "INSERT INTO rl.rollouts (group_id, rollout_id, outcome) VALUES ($g, $r, " . any(2) . ") ON CONFLICT DO NOTHING" if $kind < 3;
	return "INSERT INTO rl.steps (group_id, rollout_id, step_no, tool, args, ok, reward) SELECT r.group_id, r.rollout_id, n, 'bash', jsonb_build_object('command', (ARRAY['ls', 'cat a.py', 'pytest'])[n % 3 + 1]), n % 2 = 0, 0.5"
		. " FROM rl.rollouts r, generate_series(1, " . (1 + any(6)) . ") n WHERE r.group_id = $g AND r.rollout_id = $r ON CONFLICT DO NOTHING" if $kind < 6;
	return "UPDATE rl.rollouts SET success = NOT coalesce(success, false) WHERE group_id = $g" if $kind < 7;
	return "UPDATE rl.rollouts SET policy_version = 'v" . any(3) . "', started_at = '2026-01-01'::timestamptz + " . any(9) . " * interval '9 hours' WHERE group_id = $g AND rollout_id LIKE '%" . any(5) . "'" if $kind < 8;
	return "UPDATE rl.rollouts SET group_id = 'g" . any(4) . "', rollout_id = rollout_id || 'm' || " . any(1000) . " WHERE group_id = $g AND rollout_id = $r" if $kind < 9;
	return "DELETE FROM rl.rollouts WHERE group_id = $g AND rollout_id LIKE '%" . any(10) . "%'" if $kind < 10;
	return "DELETE FROM rl.steps WHERE group_id = $g AND step_no > " . (2 + any(3)) if $kind < 11;
	return "UPDATE rl.steps SET args = jsonb_build_object('command', 'ls ' || step_no) WHERE group_id = $g AND step_no = " . any(4) if $kind < 12;
	return "TRUNCATE rl.steps_p" . any(3) if $kind < 13 && $truncate && any(4) == 0;
	return "TRUNCATE rl.rollouts CASCADE" if $kind < 13 && $truncate && any(6) == 0;
	return "SELECT sum(advantage) FROM rl.steps_rtmc WHERE group_id = $g";
}

# Transactions of one to four statements, of every isolation level.  psql continues after errors, as a client that retries would.
sub script
{
	my ($table, $transactions) = @_;
	my $script = "\\set ON_ERROR_STOP 0\n";

	foreach (1 .. $transactions)
	{
		$script .= 'BEGIN ISOLATION LEVEL ' . ('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')[ any(4) ] . ";\n";
		$script .= ($table eq 'canonical' ? canonical_statement() : own_statement($table)) . ";\n" foreach 1 .. 1 + any(4);
		$script .= any(6) == 0 ? "ROLLBACK;\n" : "COMMIT;\n";
	}
	return $script;
}

my $clients = 4;
my %errors;

# All at once, each from a file: IPC::Run would feed one session after another.
sub run_scripts
{
	my (@scripts) = @_;
	my (@sessions, @out, @err);

	foreach my $i (0 .. $#scripts)
	{
		my $file = $node->basedir . "/session$i.sql";
		unlink $file;
		append_to_file($file, $scripts[$i]);
		push @sessions, IPC::Run::start([ 'psql', '-X', '-q', '-At', '-d', $node->connstr('postgres'), '-f', $file ], '>', \$out[$i], '2>', \$err[$i]);
	}
	$_->finish foreach @sessions;
	return (\@out, \@err);
}

foreach my $table (sort keys %source)
{
	# Wrong groups become right when another session changes them, so one session checks all the time, in one snapshot.  TRUNCATE is not
	# MVCC-safe: it comes afterwards, and at the end everything is checked.
	seed(length $table);
	$truncate = 0;
	my ($out, $err) = run_scripts((map { script($table, 120) } 1 .. $clients), "SELECT * FROM stepadv.check_maintained('$source{$table}');\n" x 60);
	is($out->[$clients], '', "$table: kept groups are those of a fresh fold all the time");
	is($err->[$clients], '', "$table: and can be looked at");
	my $all = join "\n", @$err;
	$truncate = 1;
	($out, $err) = run_scripts(map { script($table, 40) } 1 .. $clients);
	$all .= join "\n", @$err;
	$errors{$table} = $all;
	# Some errors are expected, but only these.
	my @unexpected = grep { /ERROR|error:/ && !/$meant/ } split /\n/, $all;
	is(join("\n", @unexpected), '', "$table: no errors but those that are meant to be");
	# After the last TRUNCATE, some groups must remain.
	$node->safe_psql('postgres', $table eq 'canonical'
		? q(INSERT INTO rl.rollouts (group_id, rollout_id, outcome) VALUES ('last 1', 'r', 1), ('last 2', 'r', 0);
			-- Without steps they would be marked only in views over time.
			INSERT INTO rl.steps (group_id, rollout_id, step_no, state, action_hash) VALUES ('last 1', 'r', 1, 1, 1), ('last 2', 'r', 1, 1, 1))
		: qq(INSERT INTO $table (g, h, r, n, st, act, score) VALUES (11, 'x', 'last', 1, 1, 1, 1), (12, 'x', 'last', 1, 1, 1, 1), (13, 'x', 'bad', 1, 1, 1, 'NaN')));
	$node->safe_psql('postgres', q(SELECT stepadv.refresh('at_refresh'))) if $table eq 'at_refresh';
	is($node->safe_psql('postgres', "SELECT * FROM stepadv.check_maintained('$source{$table}')"), '', "$table: kept groups are those of a fresh fold");
	my $views = $table eq 'canonical' ? 'rl.steps' : $table;
	cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM ${views}_folded"), '>', 1, "$table: there are some");
	is($node->safe_psql('postgres', "SELECT md5(string_agg(f::text, ',' ORDER BY f::text)) FROM ${views}_fresh f"),
		$node->safe_psql('postgres', "SELECT md5(string_agg(v::text, ',' ORDER BY v::text)) FROM ${views}_values v"), "$table: by their texts, too");
	is($node->safe_psql('postgres', "SELECT count(*) FROM ${views}_folded WHERE g = 13 AND get_byte(stepadv_internal.rollout_group_send(rollouts), 1) >= 128"), 1, "$table: what is kept has the defects of its rows")
		if $table ne 'canonical';
	# And so are their digests; a refresh makes those of groups whose steps came later.
	$node->safe_psql('postgres', "SELECT stepadv.refresh('$source{$table}')");
	cmp_ok($node->safe_psql('postgres', "SELECT count(digest) FROM ${views}_digests"), '>', 1, "$table: there are digests");
	my $digests = "SELECT md5(string_agg(v::text, E'\\n' ORDER BY v::text)) FROM ${views}_%s v";
	is($node->safe_psql('postgres', sprintf($digests, 'digests')), $node->safe_psql('postgres', sprintf($digests, 'fresh_digests')), "$table: by their texts, too");
}
# The workload was concurrent: in all tables, sessions waited or conflicted.
like(join('', values %errors), qr/could not serialize|deadlock detected/, 'sessions met');
unlike(join('', values %errors), qr/has two rows for step/, 'no row was refused for another');

# Through a dump, which has all that maintain made.
my $dir = $node->basedir;
my $everything = q(
	SELECT md5(string_agg(r::text, '' ORDER BY r::text)) FROM at_once_rtmc r
	UNION ALL SELECT md5(string_agg(r::text, '' ORDER BY r::text)) FROM at_least_rtmc r
	UNION ALL SELECT md5(string_agg(r::text, '' ORDER BY r::text)) FROM rl.steps_rtmc r
	UNION ALL SELECT md5(string_agg(r::text, '' ORDER BY r::text)) FROM rl.steps_digests r
	UNION ALL SELECT md5(string_agg(r::text, '' ORDER BY r::text)) FROM at_once_digests r);
$node->safe_psql('postgres', q(INSERT INTO at_refresh (g, h, r, n, st, act, score) VALUES (1, 'x', 'waits', 1, 1, 1, 1)));
my $before = $node->safe_psql('postgres', $everything);
# Comments have no meaning to the extension.
foreach my $with ([ 'plain' ], [ 'custom' ], [ 'plain', '--no-comments' ], [ 'custom', '--no-comments' ])
{
	my ($format, @options) = @$with;
	my $database = "restored_$format" . scalar @options;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->command_ok([ 'pg_dump', "--format=$format", @options, '-d', $node->connstr('postgres'), '-f', "$dir/dump.$format" ], "pg_dump, @$with");
	$node->command_ok($format eq 'plain'
		? [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), '-f', "$dir/dump.$format" ]
		: [ 'pg_restore', '--exit-on-error', '-d', $node->connstr($database), "$dir/dump.$format" ], 'restore');
	my (undef, undef, $refused) = $node->psql($database, $everything);
	like($refused, qr/may be stale: .*after a restore/, 'refused until refresh has compared names');
	is($node->safe_psql($database, "SELECT stepadv.refresh('$source{$_}')"), 0, "$_: which folds nothing") foreach qw(at_once at_least canonical);
	is($node->safe_psql($database, $everything), $before, 'the same after a restore');
	$node->safe_psql($database, q(
		INSERT INTO at_once (g, h, r, n, st, act, score) VALUES (77, 'x', 'new', 1, 1, 1, 1);
		INSERT INTO at_least (g, h, r, n, st, act, score) VALUES (77, 'x', 'new', 1, 1, 1, 1);
		INSERT INTO runs VALUES (77, 'x', 'new', 'v77');
		INSERT INTO rl.rollouts (group_id, rollout_id, outcome) VALUES ('g77', 'new', 1)));
	is($node->safe_psql($database, q(SELECT n_rollouts FROM at_once_progress_over_time WHERE policy_version = 'v77')), 1, 'over time as well');
	is($node->safe_psql($database, q(SELECT count(*) FROM at_once_folded JOIN at_least_folded USING (g, h) WHERE g = 77)), 1, 'restored triggers fold');
	is($node->safe_psql($database, "SELECT * FROM stepadv.check_maintained('$source{$_}')"), '', "$_: all is right") foreach sort keys %source;
	is($node->safe_psql($database, q(SELECT stepadv.refresh('at_refresh'))), 1, 'what waited is refreshed');
	is($node->safe_psql($database, q(SELECT stepadv.unmaintain('at_once'))), 1, 'and unmaintain knows it');
	is($node->safe_psql($database, q(SELECT count(*) FROM pg_trigger WHERE tgrelid = 'at_once'::regclass)), 0, 'without a trace');
	is($node->safe_psql($database, q(SELECT count(*) FROM at_once_values v FULL JOIN (SELECT g, h FROM at_once WHERE g IS NOT NULL AND h IS NOT NULL GROUP BY g, h) s USING (g, h) WHERE v.g IS NULL OR s.g IS NULL)),
		0, 'its views fold again');
	is($node->safe_psql($database, q(SELECT count(*) FROM pg_policies WHERE tablename IN ('at_least_folded', 'at_least_digests'))), 2, 'who may read is restored');
	is($node->safe_psql($database, q(SELECT stepadv.detach('at_least') > 20)), 't', 'and detach knows what is there');
	is($node->safe_psql($database, q(SELECT count(*) FROM pg_class WHERE relname LIKE 'at\_commit\_%' AND relkind IN ('r', 'v'))), 0, 'all of it');
}

# Through a crash, after which unlogged tables are empty.
$node->safe_psql('postgres', q(CREATE UNLOGGED TABLE unsafe (id serial PRIMARY KEY, g integer NOT NULL, r integer, n integer, score float8);
	CREATE INDEX ON unsafe (g);
	SELECT stepadv.attach('unsafe', '{g}', 'r', 'n', reward => 'score', views => '{all}');
	SELECT stepadv.maintain('unsafe');
	INSERT INTO unsafe (g, r, n, score) VALUES (1, 1, 1, 1)));
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $everything), $before, 'the same after a crash');
is($node->safe_psql('postgres', "SELECT * FROM stepadv.check_maintained('$source{$_}')"), '', "$_: right after a crash") foreach sort keys %source;
is($node->safe_psql('postgres', q(SELECT (SELECT count(*) FROM unsafe) || ' ' || (SELECT count(*) FROM unsafe_folded))), '0 0', 'unlogged tables are empty together');

# Prepared transactions.
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 2');
$node->restart;
$node->safe_psql('postgres', q(BEGIN; INSERT INTO at_least (g, h, r, n, st, act, score) VALUES (88, 'x', 'two', 1, 1, 1, 1); PREPARE TRANSACTION 'p'));
is($node->safe_psql('postgres', q(SELECT count(*) FROM at_least_folded WHERE g = 88)), 0, 'prepared, not committed');
$node->safe_psql('postgres', q(COMMIT PREPARED 'p'));
is($node->safe_psql('postgres', q(SELECT count(*) FROM at_least_folded WHERE g = 88)), 1, 'prepared and committed');
is($node->safe_psql('postgres', q(SELECT * FROM stepadv.check_maintained('at_least'))), '', 'and right');

# Sessions of a replica fire them, too.
$node->safe_psql('postgres', q(SET session_replication_role = replica; INSERT INTO at_once (g, h, r, n, st, act, score) VALUES (99, 'x', 'two', 1, 1, 1, 1)));
is($node->safe_psql('postgres', q(SELECT * FROM stepadv.check_maintained('at_once'))), '', 'a write of a replica is kept');
# If a user disabled them, check_maintained reports it, and refresh repairs it.
$node->safe_psql('postgres', q(ALTER TABLE at_once DISABLE TRIGGER USER; INSERT INTO at_once (g, h, r, n, st, act, score) VALUES (98, 'x', 'two', 1, 1, 1, 1)));
is($node->safe_psql('postgres', q(SELECT * FROM stepadv.check_maintained('at_once') WHERE problem = 'is missing')), '{"g": 98, "h": "x"}|is missing', 'a write without triggers is found');
is($node->safe_psql('postgres', q(SELECT as_of IS NULL FROM stepadv.maintained() WHERE source = 'at_once'::regclass)), 't', 'and nobody says how old it is');
$node->safe_psql('postgres', q(ALTER TABLE at_once ENABLE TRIGGER USER; SELECT stepadv.refresh('at_once', full => true)));
is($node->safe_psql('postgres', q(SELECT * FROM stepadv.check_maintained('at_once'))), '', 'and mended');

# A refresh of one group with twice the policy steps reads twice the rows, not four times: rows of all plan nodes, and rows filtered out.
SKIP: {
	skip 'there is no auto_explain', 2 if ($node->psql('postgres', "LOAD 'auto_explain'"))[0] != 0;
	my %did;
	for my $steps (100, 200)
	{
		my (undef, undef, $plans) = $node->psql('postgres', qq(SET client_min_messages = error; DROP TABLE IF EXISTS long CASCADE;
			CREATE TABLE long (id bigint PRIMARY KEY, task integer NOT NULL, r integer, n integer, score float8, step bigint);
			CREATE INDEX ON long (task);
			INSERT INTO long SELECT i, i % 2, i / 4, 1, i % 3, i / 8 FROM generate_series(0, 8 * $steps - 1) i;
			SELECT count(*) FROM stepadv.attach('long', '{task}', 'r', 'n', reward => 'score', columns => '{"policy_step": "step"}', views => '{all}', prefix => 'long$steps');
			SELECT stepadv.maintain('long', mode => 'refresh');
			ANALYZE; UPDATE long SET score = 5 WHERE id = 9;
			LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on; SET auto_explain.log_timing = off;
			SET auto_explain.log_nested_statements = on; SET client_min_messages = log; SELECT stepadv.refresh('long')));
		my $loops = 0;
		foreach (split /\n/, $plans)
		{
			($loops, $did{$steps}) = ($2, ($did{$steps} // 0) + $1 * $2) if /actual rows=([\d.]+) loops=(\d+)/;
			$did{$steps} += $1 * $loops if /Rows Removed by (?:Join )?Filter: (\d+)/;
		}
	}
	cmp_ok($did{100}, '>', 1000, 'rows are counted');
	cmp_ok($did{200}, '<', 2.5 * $did{100}, 'and twice as many for twice the policy steps');
}

# Without the extension the tables remain.
$node->safe_psql('postgres', 'DROP EXTENSION stepadv CASCADE');
$node->safe_psql('postgres', q(INSERT INTO at_once (g, h, r, n, st, act, score) VALUES (99, 'x', 'three', 1, 1, 1, 1);
	INSERT INTO runs VALUES (99, 'x', 'three', 'v'); INSERT INTO at_least (g, h, r, n) VALUES (99, 'x', 'three', 1); INSERT INTO at_refresh (g, h, r, n) VALUES (99, 'x', 'three', 1)));
is($node->safe_psql('postgres', q(SELECT count(*) FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid WHERE p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'plpgsql'))), 0, 'no trigger survives the extension');

$node->stop;
done_testing();

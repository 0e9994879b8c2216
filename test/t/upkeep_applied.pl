# Maintained groups where statement triggers do not fire, or once did not: in the apply worker of logical replication, in its initial copy,
# under session_replication_role = replica; and sources without triggers: foreign tables, and (by their catalogs) distributed tables and
# hypertables.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @initdb = (extra => [ '--encoding=UTF8', '--locale=C' ]);
my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(@initdb, allows_streaming => 'logical');
$publisher->append_conf('postgresql.conf', "jit = off\nfsync = off\n");
$publisher->start;
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(@initdb, allows_streaming => 'logical');
$subscriber->append_conf('postgresql.conf', "jit = off\nfsync = off\nmax_prepared_transactions = 2\n");
$subscriber->start;

my $tables = q(
	CREATE TABLE steps (id bigint PRIMARY KEY, task text NOT NULL, run integer, step integer, st integer, act integer, reward float8, note text, updated_at timestamptz NOT NULL DEFAULT clock_timestamp());
	CREATE INDEX ON steps (task);
	CREATE TABLE parted (LIKE steps INCLUDING DEFAULTS, PRIMARY KEY (id, task)) PARTITION BY HASH (task);
	CREATE INDEX ON parted (task);
	CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
);
# A row reaches the subscriber later than its time, so the watermark overlaps.
# Sources on the subscriber by mode; the groups of each must equal the publisher's rows.
my %how = (by_statement => 'triggers', by_refresh => 'refresh', by_watermark => 'refresh');
my $rows = q(SELECT i * 10 + j, 'task ' || i / 4, i, j, j % 3, (i + j) % 2, (j = 4 AND i % 2 = 0)::integer, 'as it was' FROM generate_series(0, 19) i, generate_series(0, 4) j);
my $columns = '(id, task, run, step, st, act, reward, note)';
$publisher->safe_psql('postgres', $tables);
$publisher->safe_psql('postgres', "INSERT INTO $_ $columns $rows") foreach qw(steps parted);
$publisher->safe_psql('postgres', 'CREATE PUBLICATION of_steps FOR TABLE steps, parted');

# The subscriber keeps groups before it subscribes: the initial copy is detected, too.  Several attachments of one table have their own triggers.
$subscriber->safe_psql('postgres', "CREATE EXTENSION stepadv; $tables");
foreach my $prefix (sort keys %how)
{
	my $more = $prefix eq 'by_watermark' ? ", watermark => 'updated_at', overlap => '1 hour'" : '';
	foreach my $table (qw(steps parted))
	{
		$subscriber->safe_psql('postgres', qq(SELECT stepadv.attach('$table', '{task}', 'run', 'step', 'st', 'act', 'reward', columns => '{"step_id": "id"}', views => '{all}', prefix => '${table}_$prefix', options => '{"show_columns": []}');)
			. " SELECT stepadv.maintain('$table', '${table}_$prefix', mode => '$how{$prefix}'$more)");
	}
}
$subscriber->safe_psql('postgres', q(CREATE SUBSCRIPTION to_steps CONNECTION ') . $publisher->connstr . q( dbname=postgres' PUBLICATION of_steps));
$subscriber->poll_query_until('postgres', q(SELECT count(*) = 0 FROM pg_subscription_rel WHERE srsubstate NOT IN ('r', 's'))) or die 'the first copy did not end';

# The contents of each table's groups, in plain SQL over the publisher's rows.
my $expected = q(SELECT string_agg(concat_ws(' ', task, rollouts, steps, won), ',' ORDER BY task) FROM (
	SELECT task, count(DISTINCT run) AS rollouts, count(*) AS steps, (SELECT count(*) FROM (SELECT run FROM %1$s o WHERE o.task = t.task GROUP BY run HAVING sum(reward) > 0) w) AS won FROM %1$s t GROUP BY task) q);
my $seen = q(SELECT string_agg(concat_ws(' ', task, n_rollouts, n_steps, round(success_rate * n_rollouts)), ',' ORDER BY task) FROM %s_groups);

sub agree
{
	my ($name) = @_;
	$publisher->wait_for_catchup('to_steps');
	foreach my $table (qw(steps parted))
	{
		my $truth = $publisher->safe_psql('postgres', $expected =~ s/%1\$s/$table/gr);
		foreach my $prefix (sort keys %how)
		{
			$subscriber->safe_psql('postgres', "SELECT stepadv.refresh('$table', '${table}_$prefix')") if $prefix =~ /refresh|watermark/;
			is($subscriber->safe_psql('postgres', $seen =~ s/%s/${table}_$prefix/r), $truth, "$name: $table, $how{$prefix}");
			is($subscriber->safe_psql('postgres', "SELECT * FROM stepadv.check_maintained('$table', '${table}_$prefix')"), '', "$name: $table, $how{$prefix}: as fresh");
		}
	}
}

agree('first copy');
foreach my $table (qw(steps parted))
{
	$publisher->safe_psql('postgres', "INSERT INTO $table $columns SELECT 1000 + i, 'task ' || i % 7, 100 + i / 14, i % 14 / 7, i % 3, i % 2, i % 2, NULL FROM generate_series(0, 41) i");
}
agree('inserted');
foreach my $table (qw(steps parted))
{
	$publisher->safe_psql('postgres', "UPDATE $table SET reward = 1 - reward, updated_at = clock_timestamp() WHERE step = 4 AND run % 3 = 0; UPDATE $table SET note = 'another', updated_at = clock_timestamp() WHERE task = 'task 1'");
}
agree('updated');
# From one group and partition to another; a deleted group.  A watermark detects changes to existing rows, their number other ones.
foreach my $table (qw(steps parted))
{
	$publisher->safe_psql('postgres', "UPDATE $table SET task = 'task 30', run = run + 500, updated_at = clock_timestamp() WHERE task = 'task 2' AND run % 2 = 0; DELETE FROM $table WHERE task = 'task 3'");
}
agree('moved and deleted');
$publisher->safe_psql('postgres', 'TRUNCATE steps, parted');
$publisher->wait_for_catchup('to_steps');
$subscriber->safe_psql('postgres', "SELECT stepadv.refresh('$_', '${_}_by_watermark', full => true)") foreach qw(steps parted);
agree('truncated');
$publisher->safe_psql('postgres', "INSERT INTO $_ $columns $rows") foreach qw(steps parted);
agree('and filled again');

# Disabling the replacement of the triggers is reported.
$subscriber->safe_psql('postgres', 'ALTER TABLE steps DISABLE TRIGGER steps_by_statement_maintain_applied');
my $said = qr/changes that logical replication brings to (public\.)?steps are not seen: its row trigger is missing or disabled/;
like($subscriber->safe_psql('postgres', "SELECT problem FROM stepadv.check_maintained('steps', 'steps_by_statement')"), $said, 'a disabled row trigger: check_maintained');
like($subscriber->safe_psql('postgres', "SELECT problem FROM stepadv.maintained() WHERE prefix = 'steps_by_statement' AND as_of IS NULL"), $said, 'a disabled row trigger: maintained');
$subscriber->safe_psql('postgres', 'ALTER TABLE steps ENABLE REPLICA TRIGGER steps_by_statement_maintain_applied');
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION to_steps');

# ---- Replica sessions, and partitions added later

$subscriber->safe_psql('postgres', q(SET session_replication_role = replica;
	DELETE FROM steps WHERE task = 'task 0'; UPDATE parted SET reward = 0; INSERT INTO parted (id, task, run, step, reward) VALUES (5000, 'task 9', 1, 1, 1)));
foreach my $prefix (qw(by_statement))
{
	is($subscriber->safe_psql('postgres', "SELECT * FROM stepadv.check_maintained('$_', '${_}_$prefix')"), '', "session_replication_role = replica: $_, $prefix") foreach qw(steps parted);
}
# Earlier minor versions of 14 to 16 take statement triggers for row triggers.
my $again = 'ALTER TABLE parted ATTACH PARTITION parted_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1)';
my $refusal = ($subscriber->psql('postgres', "ALTER TABLE parted DETACH PARTITION parted_1; $again"))[2];
if ($refusal =~ /trigger "parted_by_\w+_maintain_\w+" prevents table "parted_1" from becoming a partition/)
{
	$subscriber->safe_psql('postgres', qq(DO \$\$ DECLARE name text; BEGIN
		FOR name IN SELECT tgname FROM pg_trigger WHERE tgrelid = 'parted_1'::regclass AND tgname LIKE '%\\_maintain\\_%' LOOP
			EXECUTE format('DROP TRIGGER %I ON parted_1', name);
		END LOOP;
	END \$\$; $again; SELECT stepadv.refresh(m.source, m.prefix, full => true) FROM stepadv.maintained() m WHERE m.source = 'parted'::regclass));
}
else
{
	is($refusal, '', 'a partition comes back');
}
$subscriber->safe_psql('postgres', q(
	CREATE TABLE ranged (LIKE steps INCLUDING DEFAULTS) PARTITION BY LIST (task);
	CREATE INDEX ON ranged (task);
	CREATE TABLE ranged_a PARTITION OF ranged FOR VALUES IN ('a');
	INSERT INTO ranged SELECT 1, 'a', 1, 1, 1, 1, 1;
	SELECT stepadv.attach('ranged', '{task}', 'run', 'step', 'st', 'act', 'reward', columns => '{"step_id": "id"}', views => '{all}', options => '{"show_columns": []}');
	SELECT stepadv.maintain('ranged');
	CREATE TABLE ranged_b (LIKE ranged INCLUDING ALL);
	INSERT INTO ranged_b SELECT 2, 'b', 1, 1, 1, 1, 1;
	ALTER TABLE ranged ATTACH PARTITION ranged_b FOR VALUES IN ('b')));
like($subscriber->safe_psql('postgres', q(SELECT as_of IS NULL, problem FROM stepadv.maintained() WHERE prefix = 'ranged')), qr/^t\|changes of (public\.)?ranged_b are not seen: it lacks triggers; groups of \S+ are stale: partition or child (public\.)?ranged_b was attached/, 'a partition attached later: maintained says so');
$subscriber->safe_psql('postgres', q(SELECT stepadv.refresh('ranged', full => true); INSERT INTO ranged_b SELECT 3, 'b', 2, 1, 1, 1, 1));
is($subscriber->safe_psql('postgres', q(SELECT problem FROM stepadv.maintained() WHERE prefix = 'ranged' AND as_of IS NOT NULL; SELECT * FROM stepadv.check_maintained('ranged'))), '', 'and refresh of everything sees it from then on');

# ---- Transactions that commit late

# The row's time is before that of a refresh, its commit after it.
my $late = $subscriber->background_psql('postgres') if $subscriber->can('background_psql');
SKIP:
{
	skip 'no background_psql', 2 unless $late && $late->can('query_safe');
	$subscriber->safe_psql('postgres', q(SELECT stepadv.unmaintain('steps', 'steps_by_watermark'); SELECT stepadv.maintain('steps', 'steps_by_watermark', mode => 'refresh', watermark => 'updated_at', overlap => '0')));
	$late->query_safe(q(BEGIN; INSERT INTO steps VALUES (7000, 'late', 1, 1, 1, 1, 1, NULL, now())));
	$subscriber->safe_psql('postgres', q(INSERT INTO steps VALUES (7001, 'early', 1, 1, 1, 1, 1, NULL, now()); SELECT stepadv.refresh('steps', 'steps_by_watermark')));
	is($subscriber->safe_psql('postgres', q(SELECT string_agg(task, ',') FROM steps_by_watermark_groups WHERE task LIKE '%l%')), 'early', 'a transaction that has yet to commit');
	$late->query_safe('COMMIT');
	$subscriber->safe_psql('postgres', q(SELECT stepadv.refresh('steps', 'steps_by_watermark')));
	is($subscriber->safe_psql('postgres', q(SELECT string_agg(task, ',' ORDER BY task) FROM steps_by_watermark_groups WHERE task LIKE '%l%')), 'early,late', 'is not missed by the refresh after its commit');
	$late->quit;
}

# ---- Through a dump

my $state = q(SELECT string_agg(concat_ws(' ', tgrelid::regclass, tgname, tgenabled), ',' ORDER BY tgrelid::regclass::text, tgname) FROM pg_trigger WHERE tgname LIKE '%maintain%' OR tgname LIKE '%at_commit');
my @to = ('-h', $subscriber->host, '-p', $subscriber->port);
my $file = $subscriber->basedir . '/dump';
$subscriber->safe_psql('postgres', "SELECT stepadv.refresh('$_') FROM generate_series(1, 1)") foreach qw(steps parted);
command_ok([ 'pg_dump', @to, '-Fc', '-f', $file, 'postgres' ], 'pg_dump');
$subscriber->safe_psql('postgres', 'CREATE DATABASE restored');
command_ok([ 'pg_restore', @to, '-e', '-d', 'restored', $file ], 'pg_restore');
is($subscriber->safe_psql('restored', $state), $subscriber->safe_psql('postgres', $state), 'the triggers are enabled as they were');
foreach my $prefix (sort keys %how)
{
	my ($refresh, $n) = $prefix eq 'by_watermark' ? ('', '') : ("SELECT stepadv.refresh('%1', '%1_$prefix')", '0');
	is($subscriber->safe_psql('restored', "SELECT * FROM stepadv.check_maintained('$_', '${_}_$prefix'); " . ($refresh =~ s/%1/$_/gr)), $n, "restored: $_, $how{$prefix}: as it was") foreach qw(steps parted);
}

# ---- Sources without triggers

my $refused = qr/cannot maintain groups of (public\.)?steps: it is a/;
# A look-alike is not trusted: only members of the extension.
my ($status, $out, $err) = (0, '', '');
sub as_member
{
	my ($extension, $catalog, $later) = @_;
	($status, $out, $err) = $subscriber->psql('postgres', qq(SET allow_system_table_mods = on; BEGIN;
		CREATE EXTENSION pg_trgm;
		$catalog
		SELECT stepadv.detach('steps', 'steps_by_statement') > 0;
		SELECT stepadv.attach('steps', '{task}', 'run', 'step', 'st', 'act', 'reward', columns => '{"step_id": "id"}', views => '{all}', prefix => 'd', options => '{"show_columns": []}');
		SELECT stepadv.maintain('steps', 'd');
		SELECT stepadv.unmaintain('steps', 'd');
		ALTER EXTENSION pg_trgm ADD TABLE $later;
		UPDATE pg_extension SET extname = '$extension' WHERE extname = 'pg_trgm';
		SELECT problem FROM stepadv.check_maintained('steps', 'steps_by_refresh');
		SELECT stepadv.maintain('steps', 'd')), on_error_stop => 1);
}
SKIP:
{
	skip 'pg_trgm is not installed', 6 unless $subscriber->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'");
	as_member('citus', q(CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char", partkey text, colocationid integer, repmodel "char");
		INSERT INTO pg_catalog.pg_dist_partition VALUES ('steps', 'h', 'task', 1, 's');
		CREATE FUNCTION pg_catalog.column_to_column_name(regclass, text) RETURNS text LANGUAGE sql AS 'SELECT $2';), 'pg_catalog.pg_dist_partition');
	like($out, qr/d_folded/, 'a table that only looks like the catalog of distributed tables');
	like($err, qr/$refused distributed table/, 'a distributed table');
	like($out, qr/changes of (public\.)?steps are not seen: it is a distributed table/, 'a table that was distributed later');
	as_member('timescaledb', q(CREATE SCHEMA _timescaledb_catalog;
		CREATE TABLE _timescaledb_catalog.hypertable (schema_name name, table_name name);
		INSERT INTO _timescaledb_catalog.hypertable VALUES ('public', 'steps');), '_timescaledb_catalog.hypertable');
	like($out, qr/d_folded/, 'a table that only looks like the catalog of hypertables');
	like($err, qr/$refused hypertable/, 'a hypertable');
	like($out, qr/changes of (public\.)?steps are not seen: it is a hypertable/, 'a table that was made a hypertable later');
}

SKIP:
{
	skip 'postgres_fdw is not installed', 5 unless $subscriber->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
	my ($host, $port) = ($publisher->host, $publisher->port);
	$subscriber->safe_psql('postgres', qq(CREATE EXTENSION postgres_fdw;
		CREATE SERVER there FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER there;
		CREATE FOREIGN TABLE there (id bigint, task text, run integer, step integer, st integer, act integer, reward float8, note text, updated_at timestamptz NOT NULL) SERVER there OPTIONS (table_name 'steps');
		SELECT stepadv.attach('there', '{task}', 'run', 'step', 'st', 'act', 'reward', columns => '{"step_id": "id"}', views => '{all}')));
	($status, $out, $err) = $subscriber->psql('postgres', q(SELECT stepadv.maintain('there')));
	like($err, qr/cannot maintain groups of (public\.)?there: it is a foreign table\nHINT: .*mode => 'refresh' with a watermark does without triggers/, 'a foreign table by triggers');
	$subscriber->safe_psql('postgres', q(SELECT stepadv.unmaintain('there'); SELECT stepadv.maintain('there', mode => 'refresh', watermark => 'updated_at')));
	$publisher->safe_psql('postgres', "UPDATE steps SET reward = reward + 1, updated_at = clock_timestamp() WHERE task = 'task 2'; INSERT INTO steps $columns VALUES (8001, 'far', 1, 1, 1, 1, 1, NULL)");
	is($subscriber->safe_psql('postgres', q(SELECT stepadv.refresh('there'); SELECT * FROM stepadv.check_maintained('there'))) =~ s/^\d+\n?//r, '', 'a foreign table by watermark: as fresh');
	is($subscriber->safe_psql('postgres', $seen =~ s/%s/there/r), $publisher->safe_psql('postgres', $expected =~ s/%1\$s/steps/gr), 'a foreign table by watermark: its rows there');
}

done_testing();

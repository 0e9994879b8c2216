# Partitions are attached and detached at random under writers, which no trigger sees: kept groups equal a fresh fold, or maintained()
# reports that they are or may be stale, and refresh repairs them.  Readers of views over groups kept by triggers, in a persistent session,
# get an error in that case.  SEED=7 makes other changes, ALL=1 (make check-all) a hundred of them.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $seed = ($ENV{SEED} || time) % 2147483648;
my $n_changes = $ENV{ALL} ? 100 : 20;
note("seed $seed");

my $node = PostgreSQL::Test::Cluster->new('partitions');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "deadlock_timeout = '20ms'\njit = off\nfsync = off\nlock_timeout = '10s'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION stepadv');

# A table for each mode; the groups span several partitions.
my @ways = qw(triggers refresh watermark);
my (%attached, %detached);
my $made = 0;
foreach my $way (@ways)
{
	$node->safe_psql('postgres', qq(
		CREATE TABLE by_$way (id bigserial, g text NOT NULL, r text NOT NULL, n integer, score float8, version text, day integer NOT NULL, changed timestamptz NOT NULL DEFAULT clock_timestamp()) PARTITION BY LIST (day);
		CREATE INDEX ON by_$way (g);));
	foreach my $day (1 .. 6)
	{
		make_partition($way, $day);
		$node->safe_psql('postgres', "ALTER TABLE by_$way ATTACH PARTITION $attached{$way}{$day} FOR VALUES IN ($day)");
	}
	my $more = $way eq 'watermark' ? ", watermark => 'changed', overlap => '0'" : '';
	$node->safe_psql('postgres', qq(SELECT count(*) FROM stepadv.attach('by_$way', '{g}', 'r', 'n', reward => 'score', columns => '{"step_id": "id", "policy_version": "version"}', views => '{all}');
		SELECT stepadv.maintain('by_$way', mode => '@{[ $more ? 'refresh' : $way ]}'$more)));
}

# What a reader of the views over groups and digests gets: the same as a fresh fold, other values, or an error.
$node->safe_psql('postgres', q[CREATE FUNCTION read_kept(way text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	kept text;
	fresh text;
BEGIN
	EXECUTE format('SELECT md5(string_agg(g || rollouts::text, '','' ORDER BY g)) FROM by_%s_values', way) INTO kept;
	EXECUTE format('SELECT md5(string_agg(g || rollouts::text, '','' ORDER BY g)) FROM by_%s_fresh', way) INTO fresh;
	EXECUTE format('SELECT count(*) FROM by_%s_groups_over_time', way);
	RETURN CASE WHEN kept IS NOT DISTINCT FROM fresh THEN 'same' ELSE 'other' END;
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	RETURN 'refused';
END $$]);
my $reader = Session->new($node, 'postgres', 'postgres');

# The same changes for the same seed.
my $state;
sub any
{
	my ($n) = @_;
	$state = ($state * 1103515245 + 12345) % 2147483648;
	return int($state / 65536) % $n;
}

# A table with rows that may become the partition of a day.
sub make_partition
{
	my ($way, $day) = @_;
	my $name = "by_${way}_" . ++$made;
	$node->safe_psql('postgres', "CREATE TABLE $name (LIKE by_$way INCLUDING ALL); INSERT INTO $name (g, r, n, score, version, day)
		SELECT 'g' || i % 5, '${name}_' || i / 10, i / 5 % 2, i % 3, 'v' || i % 2, $day FROM generate_series(0, 29) i");
	$attached{$way}{$day} = $name;
	return $name;
}

sub writer
{
	my ($own) = @_;
	$state = $own;
	my @statements = map {
		my ($way, $g, $day, $kind) = ($ways[ any(2) ], any(7), 1 + any(8), any(5));
		my $row = "'g$g', 'w${own}_$_', 1, " . any(3) . ", 'v" . any(2) . "'";
		$kind < 2 ? "INSERT INTO by_$way (g, r, n, score, version, day) VALUES ($row, $day)"
			: $kind == 2 ? "UPDATE by_$way SET score = score + 1, changed = clock_timestamp() WHERE g = 'g$g' AND day = $day"
			: $kind == 3 ? "UPDATE by_$way SET g = 'g" . any(7) . "', changed = clock_timestamp() WHERE g = 'g$g' AND r LIKE '%" . any(5) . "'"
			: "DELETE FROM by_$way WHERE g = 'g$g' AND day = $day AND r LIKE 'w%'"
	} 1 .. 30 * $n_changes;
	my $script = $node->basedir . "/writer$own";
	append_to_file($script, join('', map { "$_;\nSELECT pg_sleep(0.02);\n" } @statements));
	return IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $script ], '>', "$script.out", '2>', "$script.err");
}

# One change; it is retried if the writers blocked it.
sub change
{
	my ($way) = @_;
	my @days = sort keys %{ $attached{$way} };
	my $day = @days ? $days[ any(scalar @days) ] : undef;
	my $kind = any(6);
	my $sql;
	if ($kind >= 4 || @days < 3)
	{
		($day) = grep { !$attached{$way}{$_} } 1 .. 8;
		return if !defined $day;
		my $name = $detached{$way}{$day};
		# No trigger reports what is written into it meanwhile.
		$sql = "UPDATE $name SET score = score + 1; " if $name;
		$attached{$way}{$day} = $name // make_partition($way, $day);
		delete $detached{$way}{$day};
		$sql .= "ALTER TABLE by_$way ATTACH PARTITION $attached{$way}{$day} FOR VALUES IN ($day)";
	}
	elsif ($kind == 3)
	{
		$sql = "TRUNCATE $attached{$way}{$day}";
	}
	else
	{
		my $name = delete $attached{$way}{$day};
		$detached{$way}{$day} = $name if $kind > 0;
		$sql = ("DROP TABLE $name", "ALTER TABLE by_$way DETACH PARTITION $name", "ALTER TABLE by_$way DETACH PARTITION $name CONCURRENTLY")[$kind];
	}
	my $err;
	foreach my $try (1 .. 20)
	{
		(my $status, undef, $err) = $node->psql('postgres', $sql, on_error_stop => 1);
		return $sql if $status == 0;
		last if $err !~ /deadlock|lock timeout/;
	}
	die "$sql: $err";
}

# In one snapshot: the reported state of a mode, the real one, and what a reader gets.
sub said_and_true
{
	my ($way) = @_;
	my ($status, $answer, $err) = $reader->psql(qq(BEGIN ISOLATION LEVEL REPEATABLE READ;
		SELECT 'read ' || read_kept('$way');
		SELECT concat_ws(' ', 'said', as_of IS NOT NULL, problem) FROM stepadv.maintained() WHERE prefix = 'by_$way';
		SELECT 'true ' || group_key::text || ' ' || problem FROM stepadv.check_maintained('by_$way') WHERE group_key IS NOT NULL;
		COMMIT));
	die $err if $status;
	my ($known, $problem) = $answer =~ /^said ([tf]) ?(.*)$/m;
	my ($read) = $answer =~ /^read (.*)$/m;
	return ($known eq 't' && $problem eq '', $problem, join('; ', $answer =~ /^true (.*)$/mg), $read);
}

my @writers = map { writer($seed + $_) } 1 .. 2;
$state = $seed;
my (@wrong, @not_mended, %count);
foreach my $i (1 .. $n_changes)
{
	my $way = $ways[ any(3) ];
	my $sql = change($way) // next;
	my ($fresh, $problem, $differences, $read) = said_and_true($way);
	$count{$read}++;
	push @wrong, "after $sql: a reader gets $read, maintained says: $problem"
		if $way eq 'triggers' ? $read ne ($fresh ? 'same' : 'refused') : $read eq 'refused';
	$count{ $fresh ? 'fresh' : 'stale' }++;
	$count{different}++ if $differences;
	# The next refresh finds what no trigger saw.
	push @wrong, "after $sql: $differences" if $fresh && $differences && !($way eq 'watermark' && $sql =~ /^TRUNCATE/);
	push @wrong, "after $sql: $problem" if !$fresh && $problem !~ /stale|not seen/;
	next if any(3) == 0;
	$node->safe_psql('postgres', "SELECT stepadv.refresh('by_$way')");
	($fresh, $problem, $differences, $read) = said_and_true($way);
	$count{$read}++;
	push @not_mended, "after $sql: $problem $differences" if !$fresh || $differences;
	push @wrong, "after $sql and refresh: a reader gets $read" if $fresh && $read ne 'same' && $way eq 'triggers';
}
$_->kill_kill foreach @writers;
my @refused = grep { /ERROR/ && !/no partition of relation|deadlock detected|lock timeout/ } map { split /\n/, slurp_file($node->basedir . '/writer' . ($seed + $_) . '.err') } 1 .. 2;
is(join("\n", @refused), '', "writers are not refused (seed $seed)");
cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM by_triggers WHERE r LIKE 'w%'") + $node->safe_psql('postgres', "SELECT count(*) FROM by_refresh WHERE r LIKE 'w%'"), '>', 0, 'they wrote');
is(join("\n", @wrong), '', "what is called fresh is fresh (seed $seed)");
is(join("\n", @not_mended), '', "refresh mends what is stale (seed $seed)");
cmp_ok($count{stale} // 0, '>', $n_changes / 4, 'much became stale');
cmp_ok($count{refused} // 0, '>', 0, 'readers were refused');
cmp_ok($count{same} // 0, '>', 0, 'and were answered');
cmp_ok($count{different} // 0, '>', $n_changes / 5, 'and was wrong, indeed');
foreach my $way (@ways)
{
	$node->safe_psql('postgres', "SELECT stepadv.refresh('by_$way')");
	my ($fresh, $problem, $differences) = said_and_true($way);
	is(($fresh ? 'fresh' : $problem) . $differences, 'fresh', "by $way: fresh in the end (seed $seed)");
	is($node->safe_psql('postgres', "SELECT count(*) FROM ((SELECT g, rollouts::text FROM by_${way}_folded EXCEPT SELECT g, rollouts::text FROM by_${way}_fresh) UNION ALL (SELECT g, rollouts::text FROM by_${way}_fresh EXCEPT SELECT g, rollouts::text FROM by_${way}_folded)) d"),
		0, "by $way: the groups are those of a fresh fold");
}
$reader->end;
$node->stop;
done_testing();

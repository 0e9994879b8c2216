# Long calls can be cancelled, too large or malformed input is an error, and the backend survives and frees its memory.
# (PostgreSQL::Test::Cluster: 15, and 14 from its minor release 3 on.)
use strict;
use warnings;

use Cwd qw(abs_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\nmax_parallel_workers_per_gather = 0\nsearch_path = 'public, stepadv'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION stepadv');

# A statement, its SQLSTATE ('' on success) and its duration.
sub attempt
{
	my ($sql, %settings) = @_;
	my $set = join('', map { "SET $_ = '$settings{$_}';\n" } sort keys %settings);
	my $start = time;
	my ($status, $out, $err) =
	  $node->psql('postgres', "\\set VERBOSITY sqlstate\n$set$sql");
	my ($code) = $err =~ /(?:ERROR|FATAL):\s+(\w{5})/;
	return ($code // ($err ne '' ? $err : ''), time - $start, $out);
}

# ---- cancel

# Four million steps: one long rollout, and many short ones of it.
my $fold = q{SELECT rollout_agg(a * 2000 + b, %s, b, a * b %% 1000, b %% 7, 1)
	FROM generate_series(1, 2000) a, generate_series(1, 2000) b};
$node->safe_psql('postgres',
	"CREATE TABLE big AS "
	  . "SELECT rollout_agg(a * 700 + b, 1, a * 700 + b, a * b % 1000, b % 7, 1) AS rollouts "
	  . "FROM generate_series(1, 700) a, generate_series(0, 699) b");
# A cycle of a hundred thousand states, each with ten successors, more or less at random.
$node->safe_psql('postgres',
	"CREATE TABLE dense AS SELECT rollout_agg(i, i % 40, i / 40, i::bigint * i % 999983 * 7919 % 99991, i % 3, (i / 40 = 24999 AND i % 2 = 0)::integer) AS rollouts "
	  . "FROM generate_series(0, 999999) i");
# Features of steps, so many that solving takes a while.
$node->safe_psql('postgres', q{
	CREATE TABLE features AS SELECT r AS rollout_id, hash_features(ARRAY[(r * 7 % 1000)::text, t::text], 400) AS x, (r % 2)::float8 AS outcome, r / 8 AS group_id
		FROM generate_series(1, 2000) r, generate_series(1, 8) t;
	CREATE TABLE wide AS SELECT r, ARRAY(SELECT sin(r * 1500 + i) FROM generate_series(1, 1400) i)::real[] AS x, r % 3 AS outcome FROM generate_series(1, 64) r;
});
my %long = (
	'progress_fit' => 'SELECT pg_column_size(progress_fit(n * 10000 + rollout_id, x, outcome, 0.1)) FROM features, generate_series(1, 40) n',
	'progress_fit of many features' => 'SELECT pg_column_size(progress_fit(r, x, outcome, 1.0 / n)) FROM wide, generate_series(1, 40) n GROUP BY n',
	'progress_fit by gradients' => q{SELECT pg_column_size(progress_fit(n * 10000 + rollout_id, ARRAY[1 + (n * 10000 + rollout_id) % 5000, 6000], ARRAY[1, 2]::real[], outcome, 1e-9, 'logistic')) FROM features, generate_series(1, 40) n},
	'hash_features' => q{SELECT sum(x[1]) FROM (SELECT hash_features(array_fill('an atom'::text, ARRAY[500000]), 100, n % 16 + 1) AS x FROM generate_series(1, 100) n) t},
	'a fold' => sprintf("SELECT pg_column_size(x) FROM ($fold) y(x)", 'a'),
	'a fold of shuffled rows' => sprintf("SELECT pg_column_size(x) FROM ($fold) y(x)", '(a * 7919 + b * 104729) % 2000'),
	'text output' => 'SELECT sum(length(rollouts::text)) FROM big, generate_series(1, 20)',
	'batch_td' => 'SELECT sum(advantage) FROM big, generate_series(1, 20) n, batch_td(rollouts, gamma => 1.0 / n)',
	'batch_td of one dense cycle' => 'SELECT sum(advantage) FROM dense, generate_series(0, 9) n, batch_td(rollouts, gamma => 1, lambda => n / 10.0)',
	'rtmc' => 'SELECT sum(advantage) FROM big, generate_series(1, 20) n, rtmc(rollouts, gamma => 1.0 / n)',
	'grpo' => 'SELECT sum(advantage) FROM big, generate_series(1, 20) n, grpo(rollouts, step_rewards => true, gamma => 1.0 / n)',
	'rtmc_tree' => 'SELECT sum(n_visits) FROM big, generate_series(1, 20) n, rtmc_tree(rollouts, gamma => 1.0 / n)',
	'history_states' => 'SELECT sum(n_states) FROM big, generate_series(1, 20) n, group_summary(history_states(rollouts), n)',
	'rollup' => 'SELECT pg_column_size(rollup(rollouts)) FROM big, generate_series(1, 100)');
for my $what (sort keys %long)
{
	my ($code, $seconds) = attempt($long{$what}, statement_timeout => '150ms');
	is($code, '57014', "$what is cancelled");
	cmp_ok($seconds, '<', 3, "$what is cancelled soon");
}

# One call, cancelled before its end.
my (undef, $full) = attempt('SELECT count(*) FROM big, rtmc_tree(history_states(rollouts))');
my $tenth = int($full * 100) + 1;
my ($code, $seconds) = ('', $full);
for (1 .. 3)
{
	my ($c, $s) = attempt('SELECT count(*) FROM big, rtmc_tree(history_states(rollouts))', statement_timeout => "${tenth}ms");
	($code, $seconds) = ($c, $s) if $s < $seconds;
}
is($code, '57014', 'a single call is cancelled');
cmp_ok($seconds, '<', 0.7 * $full, 'in the middle');

# The values of one cycle of 100,000 states, where no elimination stays sparse: cancelled in the middle too.
(undef, $full, my $values) = attempt('SELECT count(*), count(*) FILTER (WHERE v BETWEEN 0 AND 1) FROM dense, batch_td(rollouts, gamma => 1)');
is($values, '1000000|1000000', 'values of a dense cycle');
$tenth = int($full * 100) + 1;
($code, $seconds) = ('', $full);
for (1 .. 3)
{
	my ($c, $s) = attempt('SELECT count(*) FROM dense, batch_td(rollouts, gamma => 1)', statement_timeout => "${tenth}ms");
	($code, $seconds) = ($c, $s) if $s < $seconds;
}
is($code, '57014', 'a single batch_td is cancelled');
cmp_ok($seconds, '<', 0.7 * $full, 'in the middle');

# The same for a single solution.
(undef, $full) = attempt('SELECT pg_column_size(progress_fit(r, x, outcome, 1)) FROM wide');
$tenth = int($full * 100) + 1;
($code, $seconds) = ('', $full);
for (1 .. 3)
{
	my ($c, $s) = attempt('SELECT pg_column_size(progress_fit(r, x, outcome, 1)) FROM wide', statement_timeout => "${tenth}ms");
	($code, $seconds) = ($c, $s) if $s < $seconds;
}
is($code, '57014', 'a single progress_fit is cancelled');
cmp_ok($seconds, '<', 0.7 * $full, 'in the middle');

# The cancelled backend works on and has freed its memory.
my $memory = q{SELECT sum(total_bytes) AS bytes FROM pg_backend_memory_contexts};
my (undef, $out) = $node->psql('postgres', qq{
	SELECT count(*) FROM (SELECT FROM pg_backend_memory_contexts) x;
	$long{'a fold'} LIMIT 0;
	$memory \\gset before_
	SET statement_timeout = '300ms';
	$long{'a fold'};
	$long{'rtmc'};
	$long{'rollup'};
	$long{'progress_fit'};
	$long{'progress_fit of many features'};
	SET statement_timeout = 0;
	$memory \\gset after_
	SELECT :after_bytes - :before_bytes < 1000000;
	SELECT advantage FROM grpo((SELECT rollout_agg(i, i, 1, 1, 1, i) FROM generate_series(1, 2) i), 'mean');
}, on_error_stop => 0);
like($out, qr/\bt\n-0\.5\n0\.5$/, 'the backend has its memory back and works on');

# ---- too large

($code, $seconds) = attempt(q{SELECT rollout_agg(a, a, b, a, b, NULL) FROM generate_series(1, 5700) a, generate_series(1, 5700) b});
is($code, '54000', 'a group beyond 1 GB is refused');
note(sprintf('after %.1f s', $seconds));

# ---- malformed: binary

my $dir = abs_path(PostgreSQL::Test::Utils::tempdir());
$node->safe_psql('postgres', q{
	CREATE TABLE value AS
	-- every optional column, NULLs, a rollout without steps, one not judged
	SELECT rollout_agg(i, i / 4, i % 4, CASE WHEN i % 5 > 0 THEN i % 3 END, CASE WHEN i % 7 > 0 THEN i % 2 END,
		CASE WHEN i / 4 <> 1 THEN i END, CASE WHEN i % 4 = 3 THEN i / 4 % 2 = 0 END, NULLIF(i % 3, 0), i * 0.5, -i, NULLIF(i % 4, 0)) AS rollouts
	FROM generate_series(0, 11) i
	UNION ALL
	SELECT rollout_agg(NULL, i, NULL, NULL, NULL, 0.25) FROM generate_series(1, 2) i
	UNION ALL
	SELECT rollout_agg(1, 1, 1, 1, 1, 1);
	CREATE TABLE whole AS SELECT rollup(rollouts) AS rollouts
	FROM (SELECT rollouts FROM value LIMIT 1) v;
	-- and for version 2: turns, components, another unit
	CREATE TABLE whole_2 AS SELECT by_turn(rollup(g)) AS rollouts
	FROM (SELECT rollout_agg(i, i / 4, CASE WHEN i < 12 THEN i % 4 END, CASE WHEN i % 5 > 0 THEN i % 3 END, i % 2, i, NULL, i, i, NULL, 1,
			CASE WHEN i % 4 < 3 THEN i % 4 / 2 END, CASE WHEN i % 4 > 0 THEN ARRAY[i, NULL, i * 0.5] END, NULL, NULL) AS g
		FROM generate_series(0, 11) i
		UNION ALL SELECT rollout_agg(NULL, 1, NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, '{1,NULL,2}', NULL, NULL)) x;
	CREATE TABLE got (rollouts rollout_group);
	CREATE TABLE seen (kind text, n integer, code text);
	-- What a value contains.  Bytes under a null bit, which may differ in another form, are not read.
	CREATE FUNCTION content(g rollout_group) RETURNS text STRICT LANGUAGE sql AS $$
		SELECT (SELECT string_agg(s::text, ' ') FROM steps(g) s) || (SELECT string_agg(r::text, ' ') FROM rollouts(g) r)
			|| (SELECT string_agg(a::text, ' ') FROM rtmc(g) a) || (SELECT string_agg(a::text, ' ') FROM mt_grpo(g) a)
	$$;
	-- Whether a value works: every function accepts it, its text reads back to the same, and made again of its rows it is the same.
	CREATE FUNCTION use(g rollout_group) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		n bigint;
		made_again rollout_group;
	BEGIN
		SELECT count(*) INTO n FROM steps(g);
		SELECT count(*) INTO n FROM rollouts(g);
		SELECT count(*) INTO n FROM group_summary(history_states(g, 'set'));
		SELECT count(*) INTO n FROM returns(g);
		SELECT count(*) INTO n FROM rloo(g);
		SELECT count(*) INTO n FROM grpo(g);
		SELECT count(*) INTO n FROM grpo(g, weighting => 'step');
		SELECT count(*) INTO n FROM grpo(g, step_rewards => true, pool => 'step');
		SELECT count(*) INTO n FROM rtmc(g, visit => 'every', normalise => true);
		SELECT count(*) INTO n FROM rtmc_tree(history_states(g));
		SELECT count(*) INTO n FROM rtmc(by_turn(g));
		SELECT count(*) INTO n FROM steps(history_states(by_turn(g, 'set'), 'observation_last', 2));
		SELECT count(*) INTO n FROM reward_components(by_turn(g));
		SELECT rollup(x) INTO made_again FROM (VALUES (g)) v(x);
		IF g::text::rollout_group::text <> g::text OR content(made_again) <> content(g) THEN
			RETURN 'changed';
		END IF;
		RETURN 'fine';
	EXCEPTION WHEN numeric_value_out_of_range THEN
		RETURN 'fine';	-- a flipped bit makes huge rewards
	END $$;
});

# The bytes of the field, from COPY's own file: signature, flags, extension; field count, length, value; trailer.
sub copy_out
{
	my ($table) = @_;
	$node->safe_psql('postgres', "COPY $table TO '$dir/out' (FORMAT binary)");
	my $bytes = slurp_file("$dir/out");
	return substr($bytes, 19 + 2 + 4, length($bytes) - 19 - 2 - 4 - 2);
}

sub copy_file
{
	my ($name, $value) = @_;
	open my $file, '>:raw', "$dir/$name" or die $!;
	print $file "PGCOPY\n\xff\r\n\0", pack('NN', 0, 0), pack('nN', 1, length($value)), $value, pack('n', 0xffff);
	close $file;
	return;
}

# Load each file and use what loads; the outcome goes to `seen`.
sub load
{
	my ($kind, @values) = @_;
	copy_file("$kind$_", $values[$_]) for 0 .. $#values;
	$node->safe_psql('postgres', sprintf(q{
			DO $$
		BEGIN
			FOR i IN 0 .. %d LOOP
				BEGIN
					EXECUTE format('COPY got FROM %%L (FORMAT binary)', '%s/%s' || i);
					INSERT INTO seen SELECT '%s', i, use(rollouts) FROM got;
					DELETE FROM got;
				EXCEPTION WHEN OTHERS THEN
					INSERT INTO seen VALUES ('%s', i, SQLSTATE);
				END;
			END LOOP;
		END $$}, $#values, $dir, $kind, $kind, $kind));
	unlink "$dir/$kind$_" for 0 .. $#values;
	return $node->safe_psql('postgres',
		"SELECT string_agg(DISTINCT code, ' ' ORDER BY code) FROM seen WHERE kind = '$kind'");
}

my $seed = 20261121;
sub dice { $seed = ($seed * 1103515245 + 12345) % 2147483648; return int($seed / 65536) % $_[0]; }

# Flipped flags in the header mean something else, and 1 and 3 are both valid versions.
for my $table ('whole', 'whole_2')
{
	my $value = copy_out($table);
	cmp_ok(length($value), '>', 800, "a value with every column: $table");
	$node->safe_psql('postgres', 'TRUNCATE seen');
	is(load('whole', $value), 'fine', 'loads from binary');
	is($node->safe_psql('postgres', "COPY $table TO STDOUT"),
		do { copy_file('again', $value); $node->safe_psql('postgres', "COPY got FROM '$dir/again' (FORMAT binary); COPY got TO STDOUT; TRUNCATE got") },
		'and is the same');
	is(load('truncated', map { substr($value, 0, $_) } 0 .. length($value) - 1), '22P03', 'every truncation is refused');
	is(load('longer', map { $value . "\0" x $_ } 1 .. 16), '22P03', 'so are bytes too many');

	# Flip every bit of the header and of the first bytes, then random ones, a few at a time.
	my @flipped;
	for my $byte (0 .. 11)
	{
		for my $bit (0 .. 7)
		{
			my $copy = $value;
			substr($copy, $byte, 1) = chr(ord(substr($copy, $byte, 1)) ^ (1 << $bit));
			push @flipped, $copy;
		}
	}
	is(load('header', @flipped), '0A000 22P03 fine', 'another version is not supported, any other change of counts and columns refused');
	@flipped = ();
	for (1 .. 1500)
	{
		my $copy = $value;
		for (0 .. dice(3))
		{
			my $at = 12 + dice(length($value) - 12);
			substr($copy, $at, 1) = chr(dice(4) == 0 ? (0, 255, 127, 128)[ dice(4) ] : ord(substr($copy, $at, 1)) ^ (1 << dice(8)));
		}
		push @flipped, $copy;
	}
	is(load('flipped', @flipped), '22P03 fine', 'flipped bits are refused or make another value');
	my ($ok, $refused) = split /\|/, $node->safe_psql('postgres',
		q{SELECT count(*) FILTER (WHERE code = 'fine'), count(*) FILTER (WHERE code = '22P03') FROM seen WHERE kind = 'flipped'});
	cmp_ok($ok, '>', 300, 'many of one');
	cmp_ok($refused, '>', 100, 'many of the other');
}

is($node->safe_psql('postgres', "SELECT count(*) FROM seen WHERE code = 'changed'"), '0', 'every value that was taken reads back');
unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC|TRAP:/, 'no backend died');

$node->stop;
done_testing();

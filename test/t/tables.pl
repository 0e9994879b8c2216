# Files into the canonical tables by stepadv-load.psql, byte for byte; attached
# views through a restart, pg_dump and restore.
use strict;
use warnings;
use File::Find;
use File::Spec;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Installed with the extension: in the stage here, or where the server has it.
my $script;
my ($sharedir) = run_command([ 'pg_config', '--sharedir' ]);
find(
	{   wanted => sub { $script //= $File::Find::name if $_ eq 'stepadv-load.psql' },
		no_chdir => 0
	},
	grep { -d } 'stage', "$sharedir/extension");
BAIL_OUT('stepadv-load.psql is not installed') if !$script;
$script = "$ENV{PWD}/$script" if $script && $script !~ m{^/} && -e "$ENV{PWD}/$script";

my $node = PostgreSQL::Test::Cluster->new('tables');
# Rollouts are UTF-8, whatever the tester's locale.
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ], allows_streaming => 'logical');
$node->start;
# Asked in this way since pg_available_extensions does not look into a stage.
plan skip_all => 'the importers are not installed'
	if ($node->psql('postgres', 'BEGIN; CREATE EXTENSION stepadv_import CASCADE; ROLLBACK'))[2] =~ /control file|is not available/i;
$node->safe_psql('postgres', 'CREATE EXTENSION stepadv');
my $dir = $node->basedir;

sub write_file
{
	my ($name, $content) = @_;
	open my $fh, '>:raw', "$dir/$name" or die "$name: $!";
	print $fh $content;
	close $fh;
	return "$dir/$name";
}

sub load_file
{
	my ($file, $schema, @more) = @_;
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run(
		[ 'psql', '-X', '-d', $node->connstr('postgres'), '-v', "file=$file", '-v', "schema=$schema", @more, '-f', $script ],
		'>', \$out, '2>', \$err);
	return ($ok, $out, $err);
}

sub count_of
{
	my ($out, $name) = @_;
	return $out =~ /^$name\s*\|\s*(.*)$/m ? $1 : undef;
}

# Every kind of line that a text COPY, a CSV COPY or a text type would spoil.
my $good = sub {
	my ($rollout, $step, $action) = @_;
	return qq({"group_id": "g", "rollout_id": "$rollout", "step_no": $step, "action": "$action", "outcome": 1});
};
my $long = 'x' x 1_500_000;
my @lines = (
	"\xEF\xBB\xBF" . $good->('r', 0, 'plain'),
	$good->('r', 1, 'a\\ttab, a \\"quote\\", a back\\\\slash, \\u00e4'),
	$good->('r', 2, "\xC3\xA4\xE2\x86\x92\xF0\x9F\x99\x82") . "\r",
	'\.',                                       # 4: ends a COPY
	'',
	$good->('r', 3, "NUL \x00 here"),           # 6
	$good->('r', 4, "quote \x01 of the copy"),  # 7
	$good->('r', 5, "delimiter \x02"),          # 8
	$good->('r', 6, "not UTF-8: \xC3("),        # 9
	'\N',                                       # 10
	"  \t ",
	$good->('r', 7, $long),
	$good->('r', 8, 'NUL \\u0000 escaped'),
	'garbage',                                  # 14
	$good->('s', 0, 'last line, without an end'));
my $content = join("\n", @lines);
my $file = write_file("it's \$(touch owned) \"a\" file;.jsonl", $content);

my ($ok, $out, $err) = load_file($file, 'plain', '-v', 'on_error=skip');
ok(!$ok && $err =~ /CREATE EXTENSION stepadv_import CASCADE/, 'without the extension, a message that helps') or diag($err);
$node->safe_psql('postgres', 'CREATE EXTENSION stepadv_import');
($ok, $out, $err) = load_file($file, 'plain', '-v', 'on_error=skip');
ok($ok, 'hostile file is loaded') or diag($err);
is(count_of($out, 'lines_read'), 15, 'every line arrives');
is(count_of($out, 'empty_lines'), 2, 'empty lines');
is(count_of($out, 'bad_lines'), 7, 'bad lines');
is(count_of($out, 'steps_added'), 6, 'good lines');
is(count_of($out, 'nul_replaced'), 1, 'escaped NUL');
is(join(' ', $out =~ /"line": (\d+)/g), '4 6 7 8 9 10 14', 'bad lines are known by number');
like($err, qr/WARNING:  line 4: /, 'and warned of');
ok(!-e 'owned' && !-e "$dir/owned", 'a file name is only a name');
is($node->safe_psql('postgres', q(SELECT step_no, length(action), md5(convert_to(action, 'UTF8')) FROM plain.steps ORDER BY rollout_id, step_no)),
	$node->safe_psql('postgres', qq(SELECT n, length(a), md5(convert_to(a, 'UTF8')) FROM (VALUES
		(0, 'plain'), (1, E'a\\ttab, a "quote", a back\\\\slash, \\u00e4'), (2, U&'\\00E4\\2192\\+01F642'),
		(7, repeat('x', 1500000)), (8, U&'NUL \\FFFD escaped'), (0, 'last line, without an end')) v(n, a))),
	'texts are those of the file');

# gzip, and once more on top of what is there.
my $gz = write_file('again.jsonl', $content);
system_or_bail('gzip', '-k', $gz);
($ok, $out, $err) = load_file("$gz.gz", 'packed', '-v', 'on_error=skip');
ok($ok && count_of($out, 'steps_added') == 6, 'gzip') or diag($err);
($ok, $out, $err) = load_file("$gz.gz", 'packed', '-v', 'on_error=skip');
ok($ok && count_of($out, 'steps_added') == 0 && count_of($out, 'steps_repeated') == 6 && count_of($out, 'contradictions') == 0, 'a second load adds nothing') or diag($out . $err);

# Of which run, version and step of the training, for the whole file.
($ok, $out, $err) = load_file("$gz.gz", 'runs', '-v', 'on_error=skip', '-v', "run_id=seed '1'", '-v', 'policy_version=v1', '-v', 'policy_step=70');
is($node->safe_psql('postgres', 'SELECT DISTINCT run_id, policy_version, policy_step, task_id FROM runs.rollouts'), "seed '1'|v1|70|g", 'a file of a run') or diag($err);

# Stop is the default, and leaves nothing behind.
($ok, $out, $err) = load_file($gz, 'stopped');
ok(!$ok, 'a bad line stops the load');
like($err, qr/line 4: invalid input syntax for type json/, 'saying where and why');
is($node->safe_psql('postgres', q(SELECT count(*) FROM pg_namespace WHERE nspname = 'stopped')), 0, 'and nothing is left of it');

# A file that ends too early must not count as loaded.
my $half = write_file('half.jsonl.gz', substr(slurp_file("$gz.gz"), 0, 1000));
($ok, $out, $err) = load_file($half, 'half', '-v', 'on_error=skip');
ok(!$ok, 'a truncated gzip file is an error');
is($node->safe_psql('postgres', q(SELECT count(*) FROM pg_namespace WHERE nspname = 'half')), 0, 'of which nothing is left');
($ok, $out, $err) = load_file("$dir/no such file", 'missing');
ok(!$ok && $err =~ /cannot read/, 'a missing file is an error');
($ok, $out, $err) = load_file($dir, 'missing');
ok(!$ok && $err =~ /cannot read/, 'so is a directory');

# Identities that were filled, by all ways into the table.
$node->safe_psql('postgres', q(
	SELECT stepadv.create_tables('filled', partitions => 3);
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
# A state of one's own, one like no other; and one that was filled by another version, say.
$node->safe_psql('postgres', q(UPDATE filled.steps SET state = 5 WHERE step_no = 1; UPDATE filled.steps SET state = stepadv.unique_state() WHERE step_no = 2; UPDATE filled.steps SET action_hash = 6 WHERE step_no = 3));
my $stored = q(SELECT md5(string_agg(s::text, E'\\n' ORDER BY s.step_id)) FROM filled.steps s);

# A replica takes rows as they are, whoever made their identities, and makes none.
$node->safe_psql('postgres', q(CREATE PUBLICATION filled FOR TABLE filled.rollouts, filled.steps WITH (publish_via_partition_root = true)));
my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$replica->start;
my $publisher = $node->connstr . ' dbname=postgres';
$replica->safe_psql('postgres', qq(CREATE EXTENSION stepadv; SELECT stepadv.create_tables('filled', partitions => 2); CREATE SUBSCRIPTION filled CONNECTION '$publisher' PUBLICATION filled));
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
	SELECT stepadv.attach('"Rl steps"', '{grp}', 'traj', 'n', 'st', 'act', 'rew', options => '{"rtmc": {"gamma": 0.9, "prior": 1}}');
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

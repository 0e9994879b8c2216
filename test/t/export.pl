# stepadv-export: each shape is JSON Lines that are the rows of training_rows, and a
# file that cannot be written whole is not written.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Find;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $program;
my ($bindir) = run_command([ 'pg_config', '--bindir' ]);
find(
	{   wanted => sub { $program //= $File::Find::name if $_ eq 'stepadv-export' },
		no_chdir => 0
	},
	grep { -d } 'stage', $bindir);
ok($program, 'stepadv-export is installed') or BAIL_OUT('no program to test');

my $node = PostgreSQL::Test::Cluster->new('export');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;
$node->safe_psql('postgres', q(
	CREATE EXTENSION stepadv;
	SELECT count(*) FROM stepadv.create_tables('rl', group_by => '{task_id}', views => '{all}');
	INSERT INTO rl.rollouts (task_id, rollout_id, outcome) SELECT 't' || t, 'r' || r, r % 2 FROM generate_series(1, 5) t, generate_series(1, 4) r;
	INSERT INTO rl.steps (task_id, rollout_id, step_no, observation, action, prompt_token_ids, response_token_ids)
	SELECT 't' || t, 'r' || r, n, E'back\\\\slash "quoted" \t' || n, chr(233) || r % 2 || n, '{1}', '{2,3}' FROM generate_series(1, 5) t, generate_series(1, 4) r, generate_series(0, 2) n;));
my $dir = abs_path($node->basedir);

sub export
{
	my ($file, @options) = @_;
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([ 'sh', $program, '-d', $node->connstr('postgres'), '-o', $file, @options ], '>', \$out, '2>', \$err);
	return ($ok, $out, $err);
}

# 5 tasks of 4 rollouts of 3 steps; in each of the 3 states of a task two actions, taken by two rollouts each.
my %lines = (steps => 60, messages => 60, prompt_completion => 60, verl => 60, dpo => 15, prm => 20);
foreach my $shape (sort keys %lines)
{
	my ($ok, $out, $err) = export("$dir/$shape.jsonl", '-s', $shape, 'rl.steps_rtmc');
	ok($ok, "$shape: written") or diag($err);
	my @lines = split /\n/, slurp_file("$dir/$shape.jsonl");
	is(scalar @lines, $lines{$shape}, "$shape: so many lines");
	is(scalar(grep { ref eq 'HASH' } map { decode_json($_) } @lines), $lines{$shape}, "$shape: each is an object");
	is(join("\n", @lines), $node->safe_psql('postgres', "SELECT * FROM stepadv.training_rows('rl.steps_rtmc', shape => '$shape')"), "$shape: as training_rows has them");
}
my ($ok, $out, $err) = export('-', '-s', 'messages', '-c', '{step_no}', '-y', q(It's "here".), 'rl.steps_grpo');
is_deeply([ map { $_->{messages}[0] } decode_json((split /\n/, $out)[0]) ], [ { role => 'system', content => q(It's "here".) } ], 'on standard output, with words of the system');

# One step of many lacks its tokens: nothing of the file is there, what was there stays.
$node->safe_psql('postgres', q(UPDATE rl.steps SET prompt_token_ids = NULL WHERE (task_id, rollout_id, step_no) = ('t5', 'r4', 2)));
my $before = slurp_file("$dir/verl.jsonl");
foreach my $file ('verl', 'verl_anew')
{
	($ok, $out, $err) = export("$dir/$file.jsonl", '-s', 'verl', 'rl.steps_rtmc');
	ok(!$ok, 'an error is one of the program');
	like($err, qr/rows for verl need tokens: step 2 of rollout r4 has none/, 'and says which step');
}
is(slurp_file("$dir/verl.jsonl"), $before, 'the file of before is whole');
is_deeply([ glob("$dir/verl_anew*"), glob("$dir/verl.jsonl.*") ], [], 'nothing half-written');
($ok, $out, $err) = export('-', '-s', 'messages', 'rl.nothing');
ok(!$ok && $err =~ /relation "rl.nothing" does not exist/, 'a relation that is not there');
done_testing();

# stepadv import into tables that Citus distributes: the same rows, numbers and messages as on one server.
# Run where the library citus is in the server that PG_CONFIG names, and STEPADV_COPY_SERVER=1; nothing here builds it.
use strict;
use warnings;
use File::Spec;
use CitusCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $lacking = CitusCluster::lacking();
plan skip_all => $lacking if $lacking;
# The client of the checkout.
our @program = ('/usr/bin/python3', File::Spec->rel2abs('client/bin/stepadv'), 'import');

my ($coordinator, @workers) = CitusCluster::start("fsync = off\n", qw(coordinator worker_1 worker_2));
my $alone = PostgreSQL::Test::Cluster->new('alone');
$alone->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$alone->start;
sub ask { return $coordinator->safe_psql('postgres', $_[0]); }
sub refused { my (undef, undef, $err) = $coordinator->psql('postgres', $_[0]); return $err; }
$_->safe_psql('postgres', 'CREATE EXTENSION stepadv') foreach $coordinator, $alone;
ask("SELECT count(*) FROM stepadv.create_tables('rl', distribute => true, shards => 4, views => '{all}')");
$alone->safe_psql('postgres', "SELECT count(*) FROM stepadv.create_tables('rl', partitions => 2, views => '{all}')");

# Returns exit status, output, errors.
my $dir = PostgreSQL::Test::Utils::tempdir();
sub import_files
{
	my ($node, @arguments) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ @program, '-d', $node->connstr('postgres'), '-s', 'rl', @arguments ], '>', \$out, '2>', \$err);
	$err =~ s/\Q$dir\E//g;
	$out =~ s/\Q$dir\E//g;
	return ($? >> 8) . "\n$out\n$err";
}
sub write_file
{
	my ($name, @lines) = @_;
	append_to_file("$dir/$name", join("\n", @lines) . "\n");
	return "$dir/$name";
}

# Lines of rollouts from the first to the last, five steps each, a word instead of one outcome, and texts that are toasted.
sub lines
{
	my ($from, $to, %other) = @_;
	return map {
		my $r = $_;
		map {
			my $observation = 'saw ' . $r * $_ % 7 . ($r % 10 == 0 ? ' page' x 1000 : '');
			my $outcome = $_ == 4 ? ', "outcome": ' . ($other{outcome} // $r % 3) : '';
			qq({"run_id": "r", "policy_version": "v) . $r % 2 . qq(", "task_id": "t) . int($r / 8) . qq(", "rollout_id": "o$r", "step_no": $_, "observation": "$observation", "action": ")
				. ($other{action} // 'do ' . $r * $_ % 3) . qq(", "tool": "bash", "args": {"cmd": "ls"}, "ok": true, "next_observation": "saw ) . $r * ($_ + 1) % 7 . qq("$outcome})
		} 0 .. 4
	} $from .. $to;
}
my $rows = q(SELECT r.run_id, r.policy_version, r.task_id, r.rollout_id, r.outcome, r.success, s.step_no, md5(s.observation), s.action, s.tool, s.args, s.state, s.action_hash, s.next_state, md5(s.next_observation), s.metadata
	FROM rl.rollouts r JOIN rl.steps s USING (run_id, policy_version, task_id, rollout_id) ORDER BY r.rollout_id COLLATE "C", s.step_no);
sub same
{
	my ($what, @arguments) = @_;
	my $said = import_files($coordinator, @arguments);
	is($said =~ s/_\d{6}//gr, import_files($alone, @arguments), "$what: said as on one server");
	is(ask($rows), $alone->safe_psql('postgres', $rows), "$what: the same rows");
	return $said;
}
my $first = write_file('first.jsonl', lines(0, 79));
like(same('a file', $first), qr/^0\n1 file, 0 left out\nadded: 80 rollouts, 400 steps\n/, 'a file is loaded');
is(ask('SELECT count(DISTINCT step_id) FROM rl.steps'), '400', 'steps have numbers');
is(ask("SELECT count(*) FROM rl.steps WHERE length(observation) > 4000"), '40', 'long texts arrive');
like(same('the same again', $first), qr/^0\n.*\nadded: 0 rollouts, 0 steps\nknown already: .*, 400 steps\n/, 'what is there is not loaded again');
like(same('a file with some of it', write_file('more.jsonl', lines(70, 99))), qr/^0\n.*\nadded: 20 rollouts, 100 steps\nknown already: .*, 50 steps\n/, 'what is new is');
# A rollout in pieces, the first step last.
my @piece = lines(100, 100);
like(same('the end of a rollout', write_file('end.jsonl', @piece[3, 4])), qr/, 2 steps?\n/, 'a rollout comes in pieces');
like(same('its beginning', write_file('begin.jsonl', @piece[0 .. 3])), qr/, 3 steps?\n.*, 1 steps?\n/, 'in any order');
like(same('pieces apart', write_file('apart.jsonl', @piece[0, 1], lines(101, 101), @piece[2 .. 4])), qr/added: 1 rollouts?/, 'and with others between them');
like(same('new ones apart', write_file('apart_new.jsonl', (lines(102, 102))[0, 1], lines(103, 103), (lines(102, 102))[2 .. 4])), qr/added: 2 rollouts?, 10 steps?\n/s, 'new ones too');
# Contradictions.
my $contradiction = write_file('contradiction.jsonl', lines(104, 104), lines(5, 5, action => 'something else'));
like(same('a contradiction', $contradiction), qr/^1\n1 file, 1 left out\n.*contradiction\.jsonl: line 10: step 0 of rollout o5 of group r, v1, t0 differs from what was loaded before.*--update/s, 'a contradiction is told');
is(ask("SELECT count(*) FROM rl.rollouts WHERE rollout_id = 'o104'"), '0', 'and nothing of its file is loaded');
like(same('with -k', '-k', $contradiction), qr/^1\n1 file, 0 left out\nadded: 1 rollout, 5 steps\n/, 'or all but it');
like(same('another outcome', '--update', write_file('outcome.jsonl', lines(6, 6, outcome => 0.125))), qr/^0\n.*\nadded: 0 rollouts, 0 steps\nchanged: 1 rollout, 0 steps\n/, 'an outcome is changed');
is(ask("SELECT outcome FROM rl.rollouts WHERE rollout_id = 'o6'"), '0.125', 'in its shard');
like(same('no JSON', write_file('broken.jsonl', lines(200, 200), '{"no')), qr/^1\n.*line 6/s, 'a broken file is left out');
# Documents.
my $chat = write_file('chat.json', '[' . join(', ', map { qq({"task_id": $_, "trial": 0, "reward": 1, "traj": [{"role": "user", "content": "hello $_"}, {"role": "assistant", "content": "hi $_"}, {"role": "user", "content": "bye"}, {"role": "assistant", "content": "so long"}]}) } 1 .. 10) . ']');
like(same('conversations', '-v', 'v9', $chat), qr/^0\n.*\nadded: 10 rollouts, 20 steps\n/, 'documents are loaded');
like(same('conversations again', '-v', 'v9', $chat), qr/^0\n.*\nadded: 0 rollouts, 0 steps\nknown already: 10 rollouts, 20 steps\n/, 'and known again');

# Any node accepts a file, and several at once; rollouts that two of them load exist once.
my @several = map { write_file("several_$_.jsonl", lines(300 + 40 * $_, 339 + 40 * $_)) } 0 .. 3;
my ($out, $err) = ('', '');
my @loads = map { my $from = $_; IPC::Run::start([ @program, '-J', '2', '-d', $from->connstr('postgres'), '-s', 'rl', $from == $workers[0] ? reverse @several : @several ], '>', \$out, '2>', \$err) } @workers;
IPC::Run::finish($_) foreach @loads;
unlike($err, qr/ERROR:  (?!canceling the transaction since it was involved in a distributed deadlock)/, 'of two that load the same at once one may be told so, and no more') or diag($err);
like(import_files($workers[1], @several), qr/^0\n4 files, 0 left out\n/, 'again, then');
import_files($alone, @several);
is(ask($rows), $alone->safe_psql('postgres', $rows), 'and everything is there once');
is(ask('SELECT count(*) - count(DISTINCT step_id) FROM rl.steps'), '0', 'numbers from several nodes are different');

# A trainer's loop.
my $loop = <<'END';
import sys
import psycopg
import stepadv
connection = psycopg.connect(sys.argv[1], autocommit=True)
for k in range(3):
    rollouts = [{"run_id": "loop", "task_id": f"t{k}", "rollout_id": str(i), "outcome": i % 2} for i in range(8)]
    steps = [[{"state": n, "action": str((i + n) % 3)} for n in range(5)] for i in range(8)]
    batch = stepadv.insert(connection, rollouts, steps)
    print({method: list(map(list, found)) for method, found in stepadv.advantages(connection, batch, ["rtmc", "grpo"]).items()})
END
my %trained;
foreach my $node ($coordinator, $alone)
{
	local $ENV{PYTHONPATH} = 'client';
	IPC::Run::run([ '/usr/bin/python3', '-c', $loop, $node->connstr('postgres') ], '>', \($out = ''), '2>', \($err = ''));
	$trained{ $node->name } = $out . $err;
}
like($trained{ $alone->name }, qr/'rtmc': \[\[-?0\.\d/, 'a trainer gets advantages');
is($trained{ $coordinator->name }, $trained{ $alone->name }, 'and the same from shards');

$alone->stop;
$_->stop foreach reverse $coordinator, @workers;
done_testing();

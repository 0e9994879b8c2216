# A trainer's loop with the client's module and a pool: inserts, claims, reads and consumes; four trainers at once, one of which is
# killed; and several that insert into the same maintained groups.
use strict;
use warnings;
use Client;
use Cwd qw(abs_path);
use File::Temp;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs python3-psycopg' if !Client::installed();
my $client = abs_path('test/client');

my $node = PostgreSQL::Test::Cluster->new('trainer');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "jit = off\ndeadlock_timeout = 100ms\n");
$node->start;
my $folder = File::Temp->newdir;

# The loop with a test's additions; returns the process handle.
sub start_python
{
	my ($database, $code, @arguments) = @_;
	my $file = "$folder/" . int(rand(1e9)) . '.py';
	append_to_file($file, "import sys, time, json\nsys.path.insert(0, '$client')\nfrom loop import *\nconnection = connect()\n$code");
	my %run = (out => '', err => '');
	local $ENV{PYTHONDONTWRITEBYTECODE} = 1;
	$run{handle} = IPC::Run::start([ '/usr/bin/python3', $file, $node->connstr($database), @arguments ], '>', \$run{out}, '2>', \$run{err});
	return \%run;
}

sub ended
{
	my ($run) = @_;
	IPC::Run::finish($run->{handle});
	return $run;
}

sub database
{
	my ($name, $sql) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, "SET client_min_messages = error; CREATE EXTENSION stepadv; DO \$\$ BEGIN PERFORM stepadv.create_tables('train', views => '{all}'); END \$\$;
		SELECT stepadv.create_pool('train.rollout_rows'); $sql");
	return;
}

{
	database('loop', q(SELECT stepadv.maintain('train.rollout_rows')));
	my $run = ended(start_python('loop', <<'PY'));
insert(connection, *batch(1, range(6)))
insert(connection, *batch(1, [6], outcome=lambda r: 1))
insert(connection, *batch(1, [7], outcome=lambda r: None))
held, groups = claim(connection, 4)
rows = steps(connection, held, groups)
print(json.dumps([groups, [r[:5] for r in rows[:3]], len(rows), [r[5] for r in rows]]))
print(consume(connection, held, 1), len(train(connection, lambda rows: print(len(rows)), 2)), train(connection, None, 3))
PY
	is($run->{err}, '', "the loop runs");
	my @lines = split /\n/, $run->{out} =~ s/\b0\.0(?=[],])/0/gr;
	my $groups = join ', ', map { qq(["r", "v1", "t\\u00e4sk $_"]) } 0 .. 3;
	my $tokens = '[["t\u00e4sk 0", "0", 0, [], []], ["t\u00e4sk 0", "0", 1, [0], [-0.5]], ["t\u00e4sk 0", "0", 2, [0, 1], null]]';
	my $advantages = $node->safe_psql('loop', q(SELECT json_agg(advantage ORDER BY task_id, rollout_id, step_no) FROM train.steps_rtmc WHERE task_id < 'täsk 4'));
	s/\s*,\s*/, /g, s/\s*$//s foreach $advantages;
	like($advantages, qr/0\.\d+/, 'there are advantages');
	is($lines[0], "[[$groups], $tokens, 48, $advantages]", "four groups, their tokens and advantages");
	is("$lines[1] $lines[2]", '24 4 2 []', "four consumed, two more trained on, and no other is ready");
	is($node->safe_psql('loop', q(SELECT string_agg(status || ' ' || coalesce(consumed_step::text, '-'), ', ' ORDER BY task_id) FROM train.steps_ready)),
		'consumed 1, consumed 1, consumed 1, consumed 1, consumed 2, consumed 2, uniform -, incomplete -', "what became of each group");
}

# Four trainers, 60 groups, a lease of four seconds.  The killed one has printed its claims.
database('four', q(SELECT stepadv.maintain('train.rollout_rows')));
is(ended(start_python('four', "insert(connection, *batch(1, range(60)))\n"))->{err}, '', 'sixty groups');
my $trainer = <<'PY';
while query(connection, "SELECT count(*) FROM train.steps_ready WHERE status <> 'consumed'")[0][0]:
    held, groups = claim(connection, 3, lease="4 seconds")
    if not groups:
        time.sleep(0.1)
        continue
    rows = steps(connection, held, groups)
    assert len(rows) == 12 * len(groups), rows
    if sys.argv[2] == "killed":
        print(json.dumps([g[2] for g in groups]), flush=True)
        time.sleep(60)
    time.sleep(0.02)
    assert consume(connection, held, 5) == len(groups)
    for g in groups:
        print(json.dumps(g[2]), flush=True)
PY
my $killed = start_python('four', $trainer, 'killed');
IPC::Run::pump($killed->{handle}) until $killed->{out} =~ /\n/;
my @trainers = map { start_python('four', $trainer, "trainer $_") } 1 .. 3;
IPC::Run::signal($killed->{handle}, 'KILL');
IPC::Run::finish($killed->{handle});
my %trained;
foreach my $run (map { ended($_) } @trainers)
{
	is($run->{err}, '', 'a trainer had no error');
	$trained{ (split /"/, $_)[1] }++ foreach split /\n/, $run->{out};
}
is(scalar(keys %trained), 60, 'all sixty groups were trained on');
is(join(' ', grep { $trained{$_} != 1 } keys %trained), '', 'each once');
my @held = $killed->{out} =~ /"([^"]*)"/g;
is(scalar(@held), 3, 'the one that was killed held three');
is(scalar(grep { $trained{$_} } @held), 3, 'which others trained on');
is($node->safe_psql('four', q(SELECT count(*), count(consumed_at) FROM train.steps_pool)), '60|60', 'and the pool says so');

# Several insert rollouts of the same groups at once, tasks in different orders, while one claims: no two sessions wait for each other.
database('writers', q(SELECT stepadv.maintain('train.rollout_rows')));
my $writer = <<'PY';
me = int(sys.argv[2])
tasks = list(range(8))
for i in range(12):
    tasks = tasks[me + 1:] + tasks[:me + 1]
    insert(connection, *batch(1, tasks if me % 2 else tasks[::-1], rollouts=[1000 * me + i]))
    train(connection, lambda rows: None, i, n=2)
PY
my @writers = map { start_python('writers', $writer, $_) } 0 .. 3;
is(join('', map { ended($_)->{err} } @writers), '', 'four write to the same groups without a deadlock');
is($node->safe_psql('writers', q(SELECT count(*), min(n_rollouts), max(n_rollouts) FROM train.steps_groups)), '8|48|48', 'and all they wrote is kept');
is($node->safe_psql('writers', q(SELECT count(*) FROM stepadv.check_maintained('train.rollout_rows'))), '0', 'exactly');

$node->stop;
done_testing();

# A Citus worker dies during a fold, a load and the compression of a version: the error says so, nothing is lost, duplicated or
# incomplete, and everything works once the worker is back.
# Run where the library citus is in the server that PG_CONFIG names, and STEPADV_COPY_SERVER=1; nothing here builds it.
use strict;
use warnings;
use File::Spec;
use CitusCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $lacking = CitusCluster::lacking();
plan skip_all => $lacking if $lacking;
# The client of the checkout.
our @program = ('/usr/bin/python3', File::Spec->rel2abs('client/bin/stepadv'), 'import');

# Committed data must be on disk when a worker dies.
my ($coordinator, $worker, $other) = CitusCluster::start("citus.recover_2pc_interval = '1s'\n", qw(coordinator worker_1 worker_2));
sub ask { return $coordinator->safe_psql('postgres', $_[0]); }
sub refused { my (undef, undef, $err) = $coordinator->psql('postgres', $_[0]); return $err; }
ask('CREATE EXTENSION stepadv');
# The client's errors while a worker stops, and when it is down.
my $gone = qr/(?:ERROR|\.jsonl): +.*(?:connection to the remote node|server closed the connection|terminating connection|lost connection|connection refused|could not connect|connection not open|failed to execute task)/i;

# In the background: the statement, until a session of the worker executes it.
sub meanwhile
{
	my ($start, $is_busy, $then) = @_;
	my $handle = $start->();
	foreach (1 .. 600)
	{
		last if $is_busy->();
		sleep 0.05;
	}
	$then->();
	IPC::Run::finish($handle);
	return $handle;
}
sub in_psql
{
	my ($sql, $out, $err) = @_;
	return sub { IPC::Run::start([ 'psql', '-X', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', $coordinator->connstr('postgres'), '-c', $sql ], '>', $out, '2>', $err); };
}
sub busy_with
{
	my ($pattern) = @_;
	return sub { return $worker->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query ~ '$pattern' AND pid <> pg_backend_pid()") > 0; };
}
sub settled
{
	# Transactions prepared on the worker are committed or rolled back by the coordinator.
	$coordinator->poll_query_until('postgres', 'SELECT recover_prepared_transactions() = 0') or return 0;
	return $worker->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_prepared_xacts');
}

# ---- A fold.  A function of the user's on the shards makes it last.
ask('CREATE TABLE step (step_id bigint, task integer, r bigint, n integer, state bigint, action bigint, reward float8);
	SELECT create_distributed_table(\'step\', \'task\', shard_count => 4);
	INSERT INTO step SELECT i, i / 400, i / 5, i % 5, i * 7 % 11, i % 3, CASE WHEN i % 5 = 4 THEN i / 5 * i / 7 % 2 END FROM generate_series(0, 7999) i;
	CREATE FUNCTION slowly(float8) RETURNS float8 LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.01); RETURN $1; END $$;
	SELECT stepadv.attach(\'step\', \'{task}\', \'r\', \'n\', \'state\', \'action\', \'reward\', views => \'{all}\')');
my $all = q(SELECT count(*), sum(round(advantage::numeric, 9)) FROM step_rtmc);
my $before = ask($all);
my $slow = 'SELECT count(*) FROM (SELECT task, stepadv.rollout_agg(step_id, r, n, state, action, slowly(reward)) FROM step GROUP BY task) g';
my ($out, $err) = ('', '');
meanwhile(in_psql($slow, \$out, \$err), busy_with('rollout_agg'), sub { $worker->stop('immediate'); });
like($err, $gone, 'a worker that dies in a fold ends it with an error');
is($out, '', 'and nothing comes of it');
like(refused($all), $gone, 'while it is away, what needs it is an error');
my $there = ask("SELECT t FROM generate_series(0, 19) t WHERE (SELECT nodeport FROM citus_shards WHERE table_name = 'step'::regclass AND shardid = get_shard_id_for_distribution_column('step', t)) = " . $other->port . ' LIMIT 1');
is(ask("SELECT count(*) FROM step_rtmc WHERE task = $there"), '400', 'groups of the other worker are there');
$worker->start;
is(ask($all), $before, 'when it is back, all are');

# ---- A load of many files.
{
	ask("SELECT count(*) FROM stepadv.create_tables('rl', distribute => true, shards => 4, views => '{all}')");
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my @files;
	foreach my $f (1 .. 24)
	{
		my $name = sprintf('%s/file_%02d.jsonl', $dir, $f);
		foreach my $r (1 .. 100)
		{
			append_to_file($name, join('', map { sprintf(qq({"run_id": "r", "policy_version": "v1", "task_id": "t%d", "rollout_id": "%d.%d", "step_no": %d, "observation": "saw %d", "action": "did", "outcome": 1}\n), $f, $f, $r, $_, $_) } 0 .. 9));
		}
		push @files, $name;
	}
	my $load = sub { IPC::Run::start([ @program, '-d', $coordinator->connstr('postgres'), '-s', 'rl', @files ], '>', \$out, '2>', \$err); };
	my $whole = 'SELECT count(*), count(*) FILTER (WHERE n = 1000), coalesce(sum(n), 0) FROM (SELECT split_part(rollout_id, \'.\', 1), count(*) AS n FROM rl.steps GROUP BY 1) f';
	# Between the writing and the commit of a file: its transaction is prepared, or is writing.
	foreach my $busy ('COPY', 'PREPARE|COMMIT|COPY')
	{
		($out, $err) = ('', '');
		my $handle = meanwhile($load, sub { ask('SELECT count(*) FROM rl.rollouts') >= 300 && busy_with($busy)->() }, sub { $worker->stop('immediate'); });
		like($err, $gone, "a worker that dies in a load ($busy): files tell it");
		like($out, qr/^24 files, ([1-9]\d*) left out\n/, 'and are left out');
		my ($left_out) = $out =~ /, (\d+) left out/;
		my $n_named = () = $out =~ /^left out: /mg;
		is($n_named, $left_out, 'each by its name');
		$worker->start;
		ok(settled(), 'what was prepared is settled');
		my ($n_files, $n_whole, $n_steps) = split /\|/, ask($whole);
		is($n_files, $n_whole, 'no file is there in part');
		cmp_ok($n_files, '>=', 24 - $left_out, 'and all that were said to be');
		is(ask('SELECT count(*) FROM rl.rollouts r WHERE NOT EXISTS (SELECT FROM rl.steps s WHERE (s.run_id, s.policy_version, s.task_id, s.rollout_id) = (r.run_id, r.policy_version, r.task_id, r.rollout_id))'), '0', 'no rollout is without its steps');
		my $n_missing = 2400 - $n_steps / 10;
		($out, $err) = ('', '');
		IPC::Run::finish($load->());
		like($out, qr/^24 files, 0 left out\nadded: $n_missing rollouts?/s, 'the same again loads the rest') or diag($err);
		is(ask($whole), '24|24|24000', 'then everything is there, once');
		is(ask('SELECT count(DISTINCT (rollout_id, step_no)) FROM rl.steps'), '24000', 'each step once');
		ask('DELETE FROM rl.rollouts');
		is(ask('SELECT count(*) FROM rl.steps'), '0', 'and goes with its rollout');
	}
}
$_->stop foreach $coordinator, $worker, $other;
done_testing();

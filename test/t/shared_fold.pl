# Processes that fold one query together (GroupFold) leave nothing behind when stopped at any moment, by cancel or by exit.
# (PostgreSQL::Test::Cluster: 15, and 14 from its minor release 3 on.)
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\nwork_mem = '1MB'\nmax_parallel_workers_per_gather = 2\nsearch_path = 'public, stepadv'\n"
	  . "parallel_setup_cost = 0\nparallel_tuple_cost = 0\nrestart_after_crash = on\nlog_temp_files = 0");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION stepadv;
	CREATE TABLE steps AS SELECT i AS step_id, i % 3000 AS group_id, i % 24000 AS rollout_id, (i / 24000)::int AS step_no, i % 11 AS state, i % 3 AS action, (i % 7)::float8 AS reward
		FROM generate_series(0::bigint, 599999) i;
	VACUUM ANALYZE steps;
});
my $fold = 'SELECT count(*), sum(n_steps), sum(length(rollouts::text)) FROM (SELECT group_id, '
  . 'rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS rollouts FROM steps GROUP BY group_id) x, group_summary(rollouts)';
like($node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $fold"), qr/Gather.*Parallel Custom Scan \(GroupFold\).*Parallel Seq Scan/s, 'the rows are shared');
my $alone = $node->safe_psql('postgres', "SET max_parallel_workers_per_gather = 0; $fold");
my $start = time;
is($node->safe_psql('postgres', $fold), $alone, 'one process or three: the same');
my $full = time - $start;

# Temporary files and workers, after the last had time to exit.
sub left_behind
{
	my $left = '';

	for (1 .. 50)
	{
		$left = $node->safe_psql('postgres', q{SELECT (SELECT count(*) FROM pg_ls_tmpdir()) || ' files, '
			|| (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker') || ' workers'});
		last if $left eq '0 files, 0 workers';
		usleep(100_000);
	}
	return $left;
}
is(left_behind(), '0 files, 0 workers', 'nothing is left of what went well');

# Cancelled after various times, in one connection, which then continues.
my $script = "\\set VERBOSITY sqlstate\n";
my @parts = map { $_ / 12 } 1 .. 10;
$script .= sprintf("SET statement_timeout = '%dms';\n%s;\nRESET statement_timeout;\n", 1 + 1000 * $full * $_, $fold) for @parts;
my ($status, $out, $err) = $node->psql('postgres', "$script$fold;", on_error_stop => 0);
my @cancelled = $err =~ /57014/g;
my @failed = $err =~ /ERROR:/g;
cmp_ok(scalar @cancelled, '>=', 5, 'cancelled in the middle');
is(scalar @failed, scalar @cancelled, 'and nothing else is said');
is((split /\n/, $out)[-1], $alone, 'the connection goes on as if nothing had been');
is(left_behind(), '0 files, 0 workers', 'nothing is left of what was cancelled');

# A statement in the background, and a worker of it.
sub run_and_end_worker
{
	my ($how) = @_;
	my ($said, $complained) = ('', '');
	my $run = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "$fold, generate_series(1, 20)" ], '>', \$said, '2>', \$complained);
	my $worker = '';

	for (1 .. 200)
	{
		$worker = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND state IS NOT NULL LIMIT 1});
		last if $worker ne '';
		usleep(10_000);
	}
	usleep(1_000_000 * $full / 3);
	$how->($worker) if $worker ne '';
	$run->finish;
	return $complained;
}
like(run_and_end_worker(sub { $node->safe_psql('postgres', "SELECT pg_terminate_backend($_[0])") }),
	qr/terminating (?:connection|parallel worker|background worker)|lost connection to parallel worker/, 'a worker that is ended ends the query');
is(left_behind(), '0 files, 0 workers', 'and leaves nothing');
is($node->safe_psql('postgres', $fold), $alone, 'the next query is whole');

# A worker that crashes resets the server, as any process does; its files are removed.
like(run_and_end_worker(sub { kill 'KILL', $_[0] }), qr/server closed the connection|terminating connection|crash of another server process/, 'a worker that dies');
# (A psql that finds no server does not read its input, of which some modules of the server's tests die.)
for (1 .. 600)
{
	last if eval { $node->psql('postgres', 'SELECT true') == 0 };
	usleep(100_000);
}
is(left_behind(), '0 files, 0 workers', 'leaves nothing, once the server is up again');
is($node->safe_psql('postgres', $fold), $alone, 'and the next query is whole');

$node->stop;
done_testing();

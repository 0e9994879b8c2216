# A hot standby: every query gives what it gives on the primary; functions that write raise an error there.
use strict;
use warnings;
use Client;
use Cwd qw(abs_path);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $program = abs_path('client') . '/bin/stepadv';

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
$primary->append_conf('postgresql.conf', "jit = off\nautovacuum = off");
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION stepadv;' . slurp_file('test/sim/simulator.sql') . q(
	SELECT count(*) FROM stepadv.create_tables('rl', group_by => '{group_id}', views => '{all}');
	CREATE TABLE s AS
	SELECT 'rooms ' || group_id AS g, 'rollout ' || rollout_id AS r, s.* FROM sim.simulate(4, 6, 7, max_steps => 20) s;
	INSERT INTO rl.rollouts (group_id, rollout_id, outcome, success, truncated)
	SELECT g, r, max(reward), bool_or(success), bool_or(truncated) FROM s GROUP BY g, r;
	INSERT INTO rl.steps (group_id, rollout_id, step_no, observation, action, state, action_hash, next_state, reward)
	SELECT g, r, step_no, state, action, state_hash, action_hash, next_state_hash, reward FROM s;
	SELECT stepadv.create_pool('rl.rollout_rows');
	SELECT stepadv.create_selection('rl.steps_rtmc', 'chosen', min_advantage => 0.01);
));
$primary->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->start;
sub follow { $primary->wait_for_catchup($standby); return; }
sub both
{
	my ($query, $what) = @_;
	my ($status, $out, $err) = $standby->psql('postgres', $query);
	is($status, 0, "$what: on the standby") or diag($err);
	is($out, ($primary->psql('postgres', $query))[1], "$what: as on the primary");
	return $out;
}
follow();

# Views, all of them, folded and kept.
my @views = split /\n/, $primary->safe_psql('postgres', q(SELECT oid::regclass FROM pg_class WHERE relnamespace = 'rl'::regnamespace AND relkind = 'v' ORDER BY 1));
ok(@views > 30, 'there are views to read');
sub all_views
{
	my ($when) = @_;
	my $query = join ' UNION ALL ', map { "SELECT '$_', count(*), md5(string_agg(x::text, '|' ORDER BY x::text COLLATE \"C\")) FROM $_ x" } @views;
	my $rows = both($query, "all views, $when");
	like($rows, qr/^rl\.steps_rtmc\|[1-9]/m, "with rows, $when");
	return $rows;
}
my $folded = all_views('folded');

# Functions that read.
both("SELECT * FROM stepadv.explain_selection('rl.steps_rtmc')", 'explain_selection');
both("SELECT * FROM stepadv.select_steps('rl.steps_rtmc', min_advantage => 0.01) ORDER BY 1", 'select_steps');
both("SELECT a::text FROM stepadv.attachments() a ORDER BY 1", 'attachments');
both("SELECT c.* FROM (SELECT array_agg(stepadv.credit_sums(ARRAY[v.rollouts], 'rtmc')) AS sums FROM rl.steps_values v) s, stepadv.credit_check(s.sums) c", 'credit_check');
both('SELECT count(*) FROM rl.chosen', 'a selection');

# Functions that write.
my $stay = qr/ERROR:  25006: cannot execute .* (during recovery|in a read-only transaction)/;
sub refuses
{
	my ($call, $expected, $what) = @_;
	my ($status, $out, $err) = $standby->psql('postgres', "\\set VERBOSITY verbose\n$call");
	ok($status != 0, "$what: not on the standby");
	like($err, $expected, "$what: for the right reason");
	return;
}
$primary->safe_psql('postgres', "SELECT stepadv.maintain('rl.rollout_rows', mode => 'refresh')");
follow();
all_views('kept');
my $on_primary = qr/HINT:  This server is a standby\. Call the function on the primary/;
refuses("SELECT stepadv.refresh('rl.rollout_rows')", qr/ERROR:  25006: cannot execute refresh during recovery\n$on_primary/, 'refresh');
refuses("SELECT stepadv.maintain('rl.rollout_rows')", qr/ERROR:  25006: cannot execute maintain during recovery\n$on_primary/, 'maintain');
refuses("SELECT stepadv.unmaintain('rl.rollout_rows')", qr/ERROR:  25006: cannot execute unmaintain during recovery\n$on_primary/, 'unmaintain');
refuses('SELECT * FROM stepadv.claim_groups(NULL::rl.steps_ready, 2)', qr/ERROR:  25006: cannot execute claim_groups during recovery\n$on_primary/, 'claim_groups');
refuses("SELECT stepadv.attach('s', '{g}', 'r', 'step_no', reward => 'reward', views => '{all}')", $stay, 'attach');
refuses("SELECT stepadv.detach('rl.rollout_rows')", $stay, 'detach');
refuses("SELECT * FROM stepadv.create_tables('other', views => '{all}')", $stay, 'create_tables');
refuses("SELECT stepadv.create_pool('rl.rollout_rows', 'more')", qr/ERROR: /, 'create_pool');
refuses("SELECT stepadv.create_selection('rl.steps_rtmc', 'more', min_advantage => 0.5)", $stay, 'create_selection');
like(($primary->psql('postgres', "BEGIN READ ONLY; SELECT stepadv.refresh('rl.rollout_rows')"))[2],
	qr/ERROR:  cannot execute refresh in a read-only transaction(?!\nHINT)/, 'on the primary a transaction that is READ ONLY is named');
both("SELECT * FROM stepadv.check_maintained('rl.rollout_rows')", 'check_maintained');

# Kept groups are as fresh as on the primary: changes are pending on both, and folded on both.
my $returns = "SELECT mean_return FROM rl.steps_groups WHERE group_id = 'rooms 1'";
my $before = both($returns, 'a group');
$primary->safe_psql('postgres', "UPDATE rl.rollouts SET outcome = outcome + 3 WHERE group_id = 'rooms 1'");
follow();
is(both($returns, 'a group whose change waits'), $before, 'as it was');
$primary->safe_psql('postgres', "SELECT stepadv.refresh('rl.rollout_rows')");
follow();
isnt(both($returns, 'a group refreshed on the primary'), $before, 'as it is now');

# The client.
SKIP:
{
	skip 'needs python3-psycopg', 9 if !Client::installed();
	my $lines = sub {
		my ($node, $shape) = @_;
		my ($out, $err) = ('', '');
		ok(IPC::Run::run([ '/usr/bin/python3', $program, 'export', '-d', $node->connstr('postgres'), '--shape', $shape, '--keep-negative', 'rl.steps_rtmc' ], '>', \$out, '2>', \$err),
			"stepadv export, $shape, on the " . $node->name) or diag($err);
		return $out;
	};
	is($lines->($standby, $_), $lines->($primary, $_), 'the same lines') foreach qw(steps messages dpo);
}

# After promotion it works like a primary.
$standby->promote;
is($standby->safe_psql('postgres', q(UPDATE rl.rollouts SET outcome = outcome - 3 WHERE group_id = 'rooms 1'; SELECT stepadv.refresh('rl.rollout_rows'); ) . $returns), "1\n$before", 'a standby that was promoted refreshes');
$standby->stop;
$primary->stop;
done_testing();

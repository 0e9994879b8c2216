# Files into tables that Citus distributes, by stepadv-import: the same rows, numbers and
# messages as on one server; and steps of old versions as columnar tables.
# Run where the library citus is in the server that PG_CONFIG names, and STEPADV_COPY_SERVER=1; nothing here builds it.
use strict;
use warnings;
use File::Find;
use FindBin;
use lib $FindBin::Bin;
use CitusCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $lacking = CitusCluster::lacking();
plan skip_all => $lacking if $lacking;
our $script;
my ($bindir) = run_command([ 'pg_config', '--bindir' ]);
find({ wanted => sub { $script //= $File::Find::name if $_ eq 'stepadv-import' && -f $_ } }, grep { -d } 'stage', $bindir);
BAIL_OUT('stepadv-import is not installed') if !$script;
$script = "$ENV{PWD}/$script" if $script !~ m{^/} && -e "$ENV{PWD}/$script";

my ($coordinator, @workers) = CitusCluster::start("fsync = off\n", qw(coordinator worker_1 worker_2));
my $alone = PostgreSQL::Test::Cluster->new('alone');
$alone->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$alone->start;
plan skip_all => 'the importers are not installed'
	if ($alone->psql('postgres', 'BEGIN; CREATE EXTENSION stepadv_import CASCADE; ROLLBACK'))[2] =~ /control file|is not available/i;
sub ask { return $coordinator->safe_psql('postgres', $_[0]); }
sub refused { my (undef, undef, $err) = $coordinator->psql('postgres', $_[0]); return $err; }
$_->safe_psql('postgres', 'CREATE EXTENSION stepadv_import CASCADE') foreach $coordinator, $alone;
ask("SELECT count(*) FROM stepadv.create_tables('rl', distribute => true, shards => 4)");
$alone->safe_psql('postgres', "SELECT count(*) FROM stepadv.create_tables('rl', partitions => 2)");

# Returns exit status, output, errors.
my $dir = PostgreSQL::Test::Utils::tempdir();
sub import_files
{
	my ($node, @arguments) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ $script, '-d', $node->connstr('postgres'), '-s', 'rl', @arguments ], '>', \$out, '2>', \$err);
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

# Lines of rollouts from the first to the last, five steps each, a word instead of an
# outcome's, and of text enough for a table beside the table.
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
like(same('a file', $first), qr/^0\n.*rollouts_added +80\n.*steps_added +400\n/s, 'a file is loaded');
is(ask('SELECT count(DISTINCT step_id) FROM rl.steps'), '400', 'steps have numbers');
is(ask("SELECT count(*) FROM rl.steps WHERE length(observation) > 4000"), '40', 'long texts arrive');
like(same('the same again', $first), qr/^0\n.*rollouts_added +0\n.*steps_added +0\nsteps_repeated +400\n/s, 'what is there is not loaded again');
like(same('a file with some of it', write_file('more.jsonl', lines(70, 99))), qr/^0\n.*rollouts_added +20\n.*steps_added +100\nsteps_repeated +50\n/s, 'what is new is');
# A rollout in pieces, the first step last.
my @piece = lines(100, 100);
like(same('the end of a rollout', write_file('end.jsonl', @piece[3, 4])), qr/steps_added +2\n/, 'a rollout comes in pieces');
like(same('its beginning', write_file('begin.jsonl', @piece[0 .. 3])), qr/steps_added +3\nsteps_repeated +1\n/, 'in any order');
like(same('pieces apart', write_file('apart.jsonl', @piece[0, 1], lines(101, 101), @piece[2 .. 4])), qr/rollouts_added +1\n/, 'and with others between them');
like(same('new ones apart', write_file('apart_new.jsonl', (lines(102, 102))[0, 1], lines(103, 103), (lines(102, 102))[2 .. 4])), qr/rollouts_added +2\n.*steps_added +10\n/s, 'new ones too');
# What contradicts.
my $contradiction = write_file('contradiction.jsonl', lines(104, 104), lines(5, 5, action => 'something else'));
like(same('a contradiction', $contradiction), qr/^1\n1 file, 1 left out\n.*contradiction\.jsonl: line 6: step 0 of rollout o5 of group r, v1, t0 is not what the table has.*--update replaces/s, 'a contradiction is told');
is(ask("SELECT count(*) FROM rl.rollouts WHERE rollout_id = 'o104'"), '0', 'and nothing of its file is loaded');
like(same('with -k', '-k', $contradiction), qr/^1\n.*rollouts_added +1\n/s, 'or all but it');
like(same('another outcome', '-k', write_file('outcome.jsonl', lines(6, 6, outcome => 0.125))), qr/^1\n.*rollouts_updated +1\n.*more than one outcome/s, 'an outcome is changed');
is(ask("SELECT outcome FROM rl.rollouts WHERE rollout_id = 'o6'"), '0.125', 'in its shard');
like(same('no JSON', write_file('broken.jsonl', lines(200, 200), '{"no')), qr/^1\n.*line 6/s, 'a broken file is left out');
# Documents.
my $chat = write_file('chat.json', '[' . join(', ', map { qq({"task_id": $_, "trial": 0, "reward": 1, "traj": [{"role": "user", "content": "hello $_"}, {"role": "assistant", "content": "hi $_"}, {"role": "user", "content": "bye"}, {"role": "assistant", "content": "so long"}]}) } 1 .. 10) . ']');
like(same('conversations', '-v', 'v9', $chat), qr/^0\n.*rollouts_added +10\n.*steps_added +20\n/s, 'documents are loaded');
like(same('conversations again', '-v', 'v9', $chat), qr/^0\n.*rollouts_repeated +10\n.*steps_repeated +20\n/s, 'and known again');

# Any node takes a file, and several at once; what two of them want to load is there once.
my @several = map { write_file("several_$_.jsonl", lines(300 + 40 * $_, 339 + 40 * $_)) } 0 .. 3;
my ($out, $err) = ('', '');
my @loads = map { my $from = $_; IPC::Run::start([ $script, '-J', '2', '-d', $from->connstr('postgres'), '-s', 'rl', $from == $workers[0] ? reverse @several : @several ], '>', \$out, '2>', \$err) } @workers;
IPC::Run::finish($_) foreach @loads;
unlike($err, qr/ERROR:  (?!canceling the transaction since it was involved in a distributed deadlock)/, 'of two that load the same at once one may be told so, and no more') or diag($err);
like(import_files($workers[1], @several), qr/^0\n.*steps_(?:added|repeated)/s, 'again, then');
import_files($alone, @several);
is(ask($rows), $alone->safe_psql('postgres', $rows), 'and everything is there once');
is(ask('SELECT count(*) - count(DISTINCT step_id) FROM rl.steps'), '0', 'numbers from several nodes are different');

# ---- Columnar
like(refused("SELECT stepadv.compress_versions('rl', '{v0}')"), qr/ERROR:  steps of schema "rl" are not partitioned by policy_version\nHINT:  Tables made by create_tables\('rl', distribute => true, columnar => true\) are\./,
	'steps that are not partitioned stay');
like(refused("SELECT stepadv.create_tables('old', columnar => true)"), qr/ERROR:  columnar is given without distribute/, 'columnar needs distribute');
like(refused("SELECT stepadv.create_tables('old', distribute => true, columnar => true, group_by => '{task_id}')"), qr/ERROR:  steps cannot be partitioned by policy_version, which is not a column of the group/, 'and versions');
ask("ALTER SCHEMA rl RENAME TO whole; SELECT count(*) FROM stepadv.create_tables('rl', distribute => true, shards => 4, columnar => true)");
import_files($coordinator, $first, @several);
is(ask("SELECT count(*), count(DISTINCT rollout_id) FROM rl.steps_rest"), '1200|240', 'steps are loaded into partitioned tables');
like(refused("INSERT INTO rl.steps (step_id, run_id, policy_version, task_id, rollout_id, step_no) VALUES (100000, 'r', 'v0', 't0', 'nobody', 1)"), qr/violates foreign key constraint/, 'a step needs its rollout');
SKIP:
{
	my ($pkglibdir) = run_command([ 'pg_config', '--pkglibdir' ]);
	skip 'citus_columnar is not installed', 1 if !-e "$pkglibdir/citus_columnar.so";
	if (ask("SELECT count(*) FROM pg_am WHERE amname = 'columnar'") eq '0')
	{
		like(refused("SELECT stepadv.compress_versions('rl', '{v0}')"), qr/ERROR:  steps cannot be compressed: there are no columnar tables in this database\nHINT:  Create the extension citus_columnar\./, 'without columnar tables it says so');
		ask('CREATE EXTENSION citus_columnar');
	}
	my @views = split /\n/, ask("SELECT c.oid::regclass FROM pg_class c WHERE c.relkind = 'v' AND c.relnamespace = 'rl'::regnamespace AND c.relname !~ '_credit_' ORDER BY 1");
	cmp_ok(scalar @views, '>', 40, 'there are views');
	# To 9 digits: sums over groups have no order.
	my $shown = sub { return join("\n", sort map { s/(-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+)/my $x = sprintf('%.9g', $1); abs($x) < 1e-12 ? 0 : $x/ger } split /\n/, ask("SELECT * FROM $_[0]")); };
	my %before = map { $_ => $shown->($_) } @views;
	# What every build of it can.
	is(ask("SET columnar.compression = 'pglz'; SELECT * FROM stepadv.compress_versions('rl', '{v0,v0,other''s}')"), "other's|rl.steps_columnar_1|0\nv0|rl.steps_columnar_2|600", 'the steps of a version become columnar');
	is(ask("SELECT * FROM stepadv.compress_versions('rl', '{v0}')"), '', 'once');
	is(ask("SELECT access_method FROM citus_tables WHERE table_name::text = 'rl.steps_columnar_2'"), 'columnar', 'on the workers');
	is(ask('SELECT count(*), count(DISTINCT policy_version) FROM rl.steps_rest'), '600|1', 'the others stay');
	is($shown->($_), $before{$_}, "$_ gives the same") foreach @views;
	like(ask("EXPLAIN SELECT * FROM rl.steps_rtmc WHERE policy_version = 'v0'"), qr/ColumnarScan.*StepScan|StepScan.*ColumnarScan/s, 'from columnar tables');
	like(refused("UPDATE rl.steps SET reward = 1 WHERE policy_version = 'v0'"), qr/UPDATE and CTID scans not supported for ColumnarScan/, 'UPDATE is refused');
	like(refused("DELETE FROM rl.steps WHERE policy_version = 'v0'"), qr/not supported for ColumnarScan/, 'DELETE is');
	ask("DELETE FROM rl.rollouts WHERE rollout_id IN ('o0', 'o1')");
	is(ask("SELECT count(*) FILTER (WHERE rollout_id = 'o0'), count(*) FILTER (WHERE rollout_id = 'o1') FROM rl.steps"), '5|0', 'a rollout that is deleted leaves columnar steps');
	is(ask("SELECT count(*) FROM rl.steps_rtmc WHERE rollout_id IN ('o0', 'o1')"), '0', 'which no view shows');
	like(import_files($coordinator, write_file('late.jsonl', map { s/"t1"/"t500"/r } lines(8, 15))), qr/^0\n.*rollouts_added +8\n.*steps_added +40\n/s, 'rollouts of an old version that come late');
	is(ask("SELECT count(*), count(state), count(action_hash) FROM rl.$_ WHERE task_id = 't500'"), '20|20|20', "go where they belong: $_") foreach qw(steps_rest steps_columnar_2);
	is(ask("SELECT * FROM stepadv.uncompress_versions('rl', '{v0,unknown}')"), 'v0|615', 'and back');
	is(ask("SELECT count(*), count(*) FILTER (WHERE rollout_id = 'o0') FROM rl.steps"), '1230|0', 'without those of rollouts that are gone');
	is(ask("UPDATE rl.steps SET reward = 1 WHERE policy_version = 'v0' AND rollout_id = 'o2' RETURNING step_no"), "0\n1\n2\n3\n4", 'then they can be changed');
	like(refused("CREATE ROLE stranger; GRANT USAGE ON SCHEMA rl TO stranger; SET ROLE stranger; SELECT stepadv.compress_versions('rl', '{v1}')"), qr/ERROR:  must be owner of/, 'by their owner');
}
$alone->stop;
$_->stop foreach reverse $coordinator, @workers;
done_testing();

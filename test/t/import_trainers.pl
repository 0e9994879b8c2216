# What trainers and benchmarks write: step records, dumps with tokens, saved rollouts.
# Every value is counted by hand in the example files of test/data/import.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Importer;
use PostgreSQL::Test::Utils;
use Test::More;

my $importer = Importer->new('import_trainers');
plan skip_all => 'the importers are not installed' if !$importer;
my $data = $importer->{data};

sub value { return $importer->value($_[0]); }

# Loads, and says how many rollouts and steps there are then; again: nothing new.
sub loads
{
	my ($schema, $counts, $name, @arguments) = @_;
	my ($status, $out, $err) = $importer->import_files($schema, @arguments);
	is($status, 0, "$name is loaded") or diag($out . $err);
	is(value(qq(SELECT (SELECT count(*) FROM "$schema".rollouts) || ' ' || (SELECT count(*) FROM "$schema".steps))), $counts, "$name: rollouts and steps");
	my ($again, $repeated) = $importer->import_files($schema, @arguments);
	like($repeated, qr/^rollouts_added +0\n.*^rollouts_updated +0\n.*^steps_added +0\n/ms, "$name again: nothing new");
	return;
}

sub is_format
{
	my ($format, @files) = @_;
	like(($importer->import_files('none', '--explain', $_))[1], qr/^  $format: fits\n(?!.*: fits\n).*it is loaded as $format$/sm, s{.*/}{}r . " is $format and nothing else") foreach @files;
	return;
}

# ---- Claw-R1: a record for each step, in two files, out of order

is_format('claw_r1', "$data/claw_r1/steps_1.jsonl", "$data/claw_r1/steps_2.json");
loads('claw', '3 5', 'Claw-R1', "$data/claw_r1");
my $claw = "p1 t-a 1 t 3 3\np1 t-b 0 f 3 3\np2 t-c 0.5 f 5 5";
is(value(q(SELECT string_agg(concat_ws(' ', task_id, rollout_id, outcome, success, policy_version, policy_step), E'\n' ORDER BY rollout_id) FROM claw.rollouts)),
	$claw, 'the outcome is the last step\'s reward, the version the first step\'s');
is(value(q(SELECT string_agg(concat_ws('|', rollout_id, step_no, turn, prompt_token_ids, response_token_ids, rollout_logprobs, coalesce(reward::text, '-'), metadata ->> 'policy_version'), E'\n' ORDER BY rollout_id, step_no) FROM claw.steps)),
	"t-a|0|0|{1,2,3}|{11,12}|{-0.5,-1.5}|-\nt-a|1|1|{1,2,3,11,12,5}|{13}|{-0.25}|1|4\nt-b|0|0|{1,2,3}|{14}|{-2}|0.25\nt-b|1|1|{1,2,3,14,6}|{15,16,17}|{-1,-0.125,-3}|0|5\nt-c|0|0|{7}|{8,9}|0.5",
	'steps of one rollout from two files, in their order');
# The second file first: what follows finds the rollout, whatever its version is.
loads('claw_back', '3 5', 'Claw-R1, the other way round', "$data/claw_r1/steps_2.json", "$data/claw_r1/steps_1.jsonl");
is(value(q(SELECT string_agg(rollout_id || ' ' || policy_version, ',' ORDER BY rollout_id) FROM claw_back.rollouts)), 't-a 3,t-b 5,t-c 5', 'is one rollout too, of the version that came first');
is(value(q(SELECT string_agg(concat_ws(' ', rollout_id, step_no), ',' ORDER BY rollout_id, step_no) FROM claw_back.steps)), 't-a 0,t-a 1,t-b 0,t-b 1,t-c 0', 'with all of its steps');
is(value('SELECT count(*) FROM (SELECT jsonb_array_elements(r -> $$steps$$) FROM stepadv.parse_claw_r1($$' . slurp_file("$data/claw_r1/steps_2.json") . '$$::jsonb) r) s'), 2, 'parse_claw_r1 gives what is in a document');
my $bad = $importer->directory('claw_bad');
my %record = (prompt_uid => 'p', trajectory_uid => 't', prompt_ids => [1], response_ids => [ 2, 3 ], policy_version => 1);
$importer->file("$bad/steps.jsonl", { %record, step_index => 0, rollout_log_probs => [-1] }, '{"prompt_uid": oops}', { %record, step_index => 1, response_mask => [ 1, 0 ] }, { prompt_uid => 'p', step_index => 2 }, 7);
my ($status, $out, $err) = $importer->import_files('bad', '-k', '--verbose', $bad);
is($status, 1, 'records that cannot be used');
like($err, qr/steps\.jsonl: left out of it: document 1: response_mask and rollout_logprobs must be as long as response_token_ids \(and 3 more\).*document 2: invalid input syntax for type json.*document 4: rollout_id must be given.*document 5: a line must be a JSON object, not number/s,
	'are told of, one by one') or diag($err);
is(value(q(SELECT string_agg(step_no || ' ' || response_mask::text, ',') FROM bad.steps)), '1 {t,f}', 'the others are loaded');

# ---- Agent-R1: a line for each trajectory, with its steps

is_format('agent_r1', "$data/agent_r1/20.jsonl", "$data/agent_r1/21.json");
loads('agent', '3 5', 'Agent-R1', "$data/agent_r1");
is(value(q(SELECT string_agg(concat_ws(' ', rollout_id, outcome, success, policy_version, policy_step, metadata ->> 'gts'), E'\n' ORDER BY rollout_id) FROM agent.rollouts)),
	"u1 1 t 20 20 mat\nu2 0 f 20 20 mat\nu3 1 t 21 21 mat", 'scores, steps of the training');
is(value(q(SELECT count(DISTINCT task_id) FROM agent.rollouts)), 1, 'one prompt is one task');
is(value(q(SELECT string_agg(concat_ws('|', rollout_id, step_no, reward, left(action, 11), metadata ->> 'acc'), E'\n' ORDER BY rollout_id, step_no) FROM agent.steps WHERE policy_version = '20')),
	"u1|0|0|<tool_call>|false\nu1|1|1|It is under|true\nu2|0|0|No idea.|false", 'their steps');

done_testing();

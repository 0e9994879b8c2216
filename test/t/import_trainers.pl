# What trainers and benchmarks write: step records, dumps with tokens, saved rollouts.
# Every value is counted by hand in the example files of test/data/import.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Importing;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

begin_importing('import_trainers');
my $data = "$FindBin::Bin/../data/import";

sub lines { return join '', map { (ref $_ ? JSON::PP->new->utf8->canonical->encode($_) : $_) . "\n" } @_; }

# Loads, and says how many rollouts and steps there are then; again: nothing new.
sub loads
{
	my ($schema, $counts, $name, @arguments) = @_;
	my ($status, $out, $err) = import_files($schema, @arguments);
	is($status, 0, "$name is loaded") or diag($out . $err);
	is(value(qq(SELECT (SELECT count(*) FROM "$schema".rollouts) || ' ' || (SELECT count(*) FROM "$schema".steps))), $counts, "$name: rollouts and steps");
	my ($again, $repeated) = import_files($schema, @arguments);
	like($repeated, qr/^rollouts_added +0\n.*^rollouts_updated +0\n.*^steps_added +0\n/ms, "$name again: nothing new");
	return $out;
}

sub is_format
{
	my ($format, @files) = @_;
	like((import_files('none', '--explain', $_))[1], qr/^  $format: fits\n(?!.*: fits\n).*it is loaded as $format$/sm, s{.*/}{}r . " is $format and nothing else") foreach @files;
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
# A trajectory of another task, or of another run, may be called the same: its version is its own.
my @parts = map { { prompt_uid => $_->[0], trajectory_uid => 't', step_index => 1, policy_version => $_->[1], prompt_ids => [1], response_ids => [2] } } [ 'p', 4 ], [ 'q', 3 ];
my $twins = write_file('twins/steps.jsonl', lines(@parts));
loads('claw_twins', '2 2', 'Claw-R1, one name in two tasks', $twins);
loads('claw_twins', '4 4', 'Claw-R1, one name in two runs', '-r', 'later', write_file('twins/later.jsonl', lines(map { { %$_, policy_version => $_->{policy_version} + 5 } } @parts)));
is(value(q(SELECT string_agg(concat_ws(' ', run_id, task_id, policy_version), ',' ORDER BY policy_version::int) FROM claw_twins.rollouts)), ' q 3, p 4,later q 8,later p 9', 'each has its own version');
is(value('SELECT count(*) FROM (SELECT jsonb_array_elements(r -> $$steps$$) FROM stepadv.parse_claw_r1($$' . slurp_file("$data/claw_r1/steps_2.json") . '$$::jsonb) r) s'), 2, 'parse_claw_r1 gives what is in a document');
my %record = (prompt_uid => 'p', trajectory_uid => 't', prompt_ids => [1], response_ids => [ 2, 3 ], policy_version => 1);
my $bad = write_file('bad/steps.jsonl', lines({ %record, step_index => 0, rollout_log_probs => [-1] }, '{"prompt_uid": oops}', { %record, step_index => 1, response_mask => [ 1, 0 ] }, { prompt_uid => 'p', step_index => 2 }, 7));
my ($status, $out, $err) = import_files('bad', '-k', '--verbose', $bad);
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

# ---- verl: tokens, and calls inside the output

is_format('verl', "$data/verl/3.jsonl");
loads('verl', '3 6', 'verl', "$data/verl");
is(value(q(SELECT string_agg(concat_ws('|', right(rollout_id, 1), turn, tool, args, ok, reward, coalesce(next_observation, (SELECT n.observation FROM verl.steps n WHERE n.rollout_id = s.rollout_id AND n.step_no = s.step_no + 1))), E'\n' ORDER BY rollout_id, step_no) FROM verl.steps s)),
	qq(1|0|add|{"a": 2, "b": 2}|t|4\n1|0|say|{}|f|Error: no voice\n1|1|1\n2|0|0\n3|0|look|{"at": "door"}|t|a red door\n3|1|0.5), 'calls and their results, with the marks of the template and without');
is(value(q(SELECT string_agg(concat_ws('|', right(rollout_id, 1), step_no, prompt_token_ids, response_token_ids, response_mask, rollout_logprobs), E'\n' ORDER BY rollout_id, step_no) FROM verl.steps WHERE response_token_ids IS NOT NULL)),
	"1|0|{1,2}|{10,11,12}|{t,t,t}|{-0.5,-0.25,-1}\n1|2|{1,2,10,11,12,20,21}|{30}|{t}|{-2}\n2|0|{1,3}|{13}|{t}|{-0.125}", 'tokens of each turn by the mask; none where it does not tell turns apart');

# What models write: calls that have no end, are no JSON, say nothing of arguments or have
# U+0000 in them; nothing behind what came back; a word that only ends like the model's.
sub verl_steps
{
	my ($output, %more) = @_;
	my $line = JSON::PP->new->utf8->canonical->encode({ input => 'q', output => $output, score => 1, step => 1, %more });
	return value("SELECT string_agg(concat_ws('|', s.v ->> 'turn', s.v ->> 'observation', coalesce(s.v ->> 'tool', '-'), coalesce(s.v ->> 'args', '-'), s.v ->> 'action', s.v ->> 'next_observation', s.v #>> '{meta,text}', s.v ->> 'reward', s.v ->> 'response_token_ids'), E'\\n' ORDER BY s.i)
			|| E'\\n' || string_agg(DISTINCT concat_ws(' ', r -> 'dropped', r -> 'repaired'), '') FROM stepadv.parse_verl(\$json\$$line\$json\$) r, jsonb_array_elements(r -> 'steps') WITH ORDINALITY s(v, i)");
}
is(verl_steps("A <tool_call>{\"name\": \"a\", \"arguments\": {}}"), "0|q|-|-|A <tool_call>{\"name\": \"a\", \"arguments\": {}}|1\n{} {}", 'a call without an end is what was said');
is(verl_steps(qq(<|im_start|>assistant\nA\n<tool_call>{"name": "a"}</tool_call> B<tool_call>{oops</tool_call>)),
	qq(0|q|a|{"name": "a"}|{"name": "a", "arguments": {"name": "a"}}|A\n B\n0|q|-|-|{"name": null, "arguments": "{oops"}|1\n{} {"calls without a name": 1, "calls without a result": 2, "arguments that are no JSON": 1}), 'what a call is without arguments, and what is no JSON');
is(verl_steps(qq(<tool_call>{"name": "a", "arguments": {"x": "1\\u0000"}}</tool_call>\nuser\nmy_assistant\n 2)),
	qq(0|q|a|{"x": "1\xef\xbf\xbd"}|{"name": "a", "arguments": {"x": "1\xef\xbf\xbd"}}|my_assistant\n 2|1\n{} {}), 'all that came back is the result; U+0000 in arguments');
is(verl_steps(qq(<tool_call>{"name": "a", "arguments": {}}</tool_call><|im_end|>\n<|im_start|>tool\nr1 <|im_end|> \n<|im_start|>assistant\n<tool_call>{"name": "b", "arguments": {}}</tool_call>\ntool\n<tool_response> r2\n</tool_response>\nassistant\nend <|im_end|>), response_ids => [ 1 .. 7 ], response_mask => [ 1, 0, 1, 1, 0, 0, 1 ]),
	qq(0|q|a|{}|{"name": "a", "arguments": {}}|r1|[1]\n1|r1|b|{}|{"name": "b", "arguments": {}}|r2|[3, 4]\n2|r2|-|-|end|1|[7]\n{} {}), 'three turns, the tokens of each, the score at the last');

# ---- tau2: results, and a simulation alone

is_format('tau2', glob "$data/tau2/*");
my $tau2 = loads('tau2', '4 13', 'tau2', "$data/tau2");
is(value(q(SELECT string_agg(concat_ws(' ', task_id, rollout_id, outcome, success, truncated, model, ended_at - started_at), E'\n' ORDER BY rollout_id) FROM tau2.rollouts)),
	"parcels/7 sim-1 1 t f lab/m2 00:01:30\nparcels/7 sim-2 0 f t lab/m2 00:03:00\n7 sim-3 0.5 f f 00:03:00\n7 sim-4 0 f f 00:00:10", 'domain and task, rewards, times, and what was cut short');
is(value(q(SELECT string_agg(concat_ws('|', turn, tool, args, ok, coalesce(next_observation, (SELECT n.observation FROM tau2.steps n WHERE n.rollout_id = s.rollout_id AND n.step_no = s.step_no + 1))), E'\n' ORDER BY step_no) FROM tau2.steps s WHERE rollout_id = 'sim-1')),
	qq(0|Where is parcel 12?\n1|find_parcel|{"number": 12}|t|{"at": "depot"}\n1|find_owner|{"number": 12}|f|Error: no such owner\n2|Thanks. ###STOP###), 'calls of the agent and their results, not those of the user');

# Both speak at once: the user twice while the agent does, who calls in the middle.
is(value(q(SELECT string_agg(concat_ws('|', turn, observation, tool, args, ok, CASE WHEN tool IS NULL THEN action END, next_observation), E'\n' ORDER BY step_no) FROM tau2.steps WHERE rollout_id = 'sim-4')),
	qq(0|Hello, how can I help?\n1|Where is parcel 12? please|find_parcel|{"number": 12}|f\n2|Error: no such parcel|There is no parcel 12.|Hm. Goodbye.), 'ticks: what one says without a pause is one message, a call ends it');
like($tau2, qr/^dropped: calls of the user 2\ndropped: results of the user's calls 2\n/m, 'the user\'s calls are left out');

# ---- verifiers: results.jsonl

is_format('verifiers', glob "$data/verifiers/*");
loads('verifiers', '4 5', 'verifiers', glob "$data/verifiers/{one.json,results.jsonl}");
is(value(q(SELECT string_agg(concat_ws(' ', task_id, rollout_id, outcome, success, truncated, extract(epoch FROM started_at)::bigint, metadata ->> 'stop_condition'), E'\n' ORDER BY rollout_id COLLATE "C") FROM verifiers.rollouts)),
	"sums/2 verifiers--one:1 0.75 f f\nsums/0 verifiers--results:1 1 t f 1767225600 no_tools_called\nsums/0 verifiers--results:2 0 f t 1767225603 max_turns\nsums/1 verifiers--results:3 0.75 f f", 'examples, rewards, times');
is(value(q(SELECT string_agg(concat_ws('|', rollout_id, turn, observation, tool, args, ok, action), E'\n' ORDER BY rollout_id, step_no) FROM verifiers.steps WHERE rollout_id ~ 'results:[13]')),
	qq(verifiers--results:1|0|1 + 1?\n2 + 2?|add|{"a": 2, "b": 2}|t|{"name": "add", "arguments": {"a": 2, "b": 2}}\nverifiers--results:1|1|4|4\nverifiers--results:3|0|3 + 3 =| 6), 'prompts and completions, as messages or as texts; answers in the prompt are none');

# traces.jsonl: an episode a line; an older trace alone.  t2 was begun anew after its
# second turn, with what it had been told.
my $traces = loads('traces', '4 7', 'traces of verifiers', glob "$data/verifiers/trace*");
is(value(q(SELECT string_agg(concat_ws(' ', task_id, rollout_id, coalesce(nullif(run_id, ''), '-'), coalesce(nullif(policy_version, ''), '-'), policy_step, outcome, success, truncated, model, extract(epoch FROM started_at)::bigint, ended_at - started_at), E'\n' ORDER BY rollout_id) FROM traces.rollouts)),
	"SumTask/4 t0 - - 1 t f 1767225600\nsums/sum-4 t1 run-1 10 12 0.75 f f lab/m4 1767225600 00:00:04\nsums/sum-4/solver t2 - - 0 f t lab/m4 1767225600 00:00:04\nsums/sum-4/judge t3 - - f lab/m5 1767225600 00:00:04",
	'environment and task, an agent of several; weighted rewards, none; version, times, limits');
is(value(q(SELECT string_agg(concat_ws('|', rollout_id, turn, observation, tool, args, ok, CASE WHEN tool IS NULL THEN action END, metadata ->> 'thought'), E'\n' ORDER BY rollout_id, step_no) FROM traces.steps)),
	qq(t0|0|2 + 2?|4\nt1|0|2 + 2?|add|{"a": 2, "b": 2}|t|I add.\nt1|1|4|4\nt2|0|2 + 2?|add|{"a": 2, "b": 2}|t\nt2|1|4|Let me think.\nt2|2|Answer.|5\nt3|0|Is 5 right?|No.), 'what was sampled are turns, what was told again is not');
is(value(q(SELECT string_agg(concat_ws('|', rollout_id, turn, prompt_token_ids, response_token_ids, rollout_logprobs), E'\n' ORDER BY rollout_id, step_no) FROM traces.steps WHERE response_token_ids IS NOT NULL)),
	"t1|0|{1,2,3,4}|{10,11}|{-0.5,-0.25}\nt1|1|{1,2,3,4,10,11,5,20,4}|{30}|{-2}", 'tokens of each turn, and all before them');
like($traces, qr/^dropped: system messages 1\n(?=.*^dropped: messages told again 1$)(?=.*^dropped: answers in the prompt 1$)(?=.*^dropped: episodes without a trace 1$)/ms, 'what was left out is counted');
# Two times where one belongs: the earlier.
(my $started_twice = slurp_file("$data/verifiers/trace.json")) =~ s/"start": 1767225600\.0/"start": [1767225609, 1767225605]/ or die;
loads('twice', '1 1', 'a trace that began twice', write_file('twice/trace.json', $started_twice));
is(value('SELECT extract(epoch FROM started_at)::bigint FROM twice.rollouts'), 1767225605, 'began when it did first');

# ---- TRL

is_format('trl', glob "$data/trl/*");
loads('trl', '4 4', 'TRL', "$data/trl");
is(value(q(SELECT string_agg(concat_ws(' ', rollout_id, outcome, success, policy_version, policy_step, metadata ->> 'advantage'), E'\n' ORDER BY rollout_id) FROM trl.rollouts)),
	"trl--completions_00010:1 1.5 t 10 10 0.7071\ntrl--completions_00010:2 0 f 10 10 -0.7071\ntrl--completions_00010:3 1 t 10 10 0.0\ntrl--completions_00011:1 1.5 t 11 11 0.7071", 'sums of rewards, steps of the training');
is(value(q(SELECT count(DISTINCT task_id) || ' ' || count(DISTINCT (policy_version, task_id)) FROM trl.rollouts)), '2 3', 'prompts are tasks');
is(value(q(SELECT string_agg(concat_ws('|', observation, action, response_token_ids, response_mask), E'\n' ORDER BY rollout_id) FROM trl.steps WHERE policy_version = '10')),
	"Name a colour.|Red.\nName a colour.|Seven.|{5,6}|{t,f}\nName a fruit.|Plum.", 'one step each, with its tokens');

# ---- Ids: many directories, the same names

sub episode { return lines({ input => 'q', output => $_[0], score => 1, step => 1 }); }
sub ids { return value(qq(SELECT string_agg(rollout_id, ' ' ORDER BY rollout_id COLLATE "C") FROM $_[0].rollouts)); }
write_file("many/$_/log.jsonl", episode($_)) foreach qw(one/a two/a two/b three/a/log);
my $many = directory() . '/many';
loads('many', '4 4', 'directories with the same names', $many);
is(ids('many'), 'b--log:1 one/a--log:1 three/a--log:1 two/a--log:1', 'as many directories as tell them apart');
($status, $out, $err) = import_files('many', "$many/one", "$many/three/a/log/log.jsonl");
like($out, qr/^rollouts_added +0$/m, 'named otherwise, alone: the same rollouts') or diag($out . $err);
($status, $out, $err) = import_files('grown', "$many/one");
is(ids('grown'), 'a--log:1', 'one alone has the short name');
($status, $out, $err) = import_files('grown', $many);
is($status, 0, 'others come') or diag($out . $err);
is(ids('grown'), 'a--log:1 b--log:1 three/a--log:1 two/a--log:1', 'and it keeps its name');
($status, $out, $err) = import_files('clash', "$many/one");
($status, $out, $err) = import_files('clash', "$many/two/a");
is($status, 1, 'another file of one name, in another call');
like($err, qr/the tables have it from another file of that name: in one call with that file it has an id of its own, and -r RUN tells them apart/, 'is told of, and how to go on') or diag($err);
unlike($err, qr/--update/, 'not that --update helps');
($status, $out, $err) = import_files('clash', "$many/one", "$many/two/a");
is("$status " . ids('clash'), '0 a--log:1 two/a--log:1', 'it does');
is(value(q(SELECT string_agg(concat_ws(' ', source, f.base, f.rollout), E'\n') FROM unnest('{/x/y/f.json,/x/./y/f.json,/x/./y/z/f.json,/x/./f.json,./f.json,/x/./y/f/f.traj,/x/.y/f.json}'::text[]) source, stepadv_internal.import_names(source) f)),
	"/x/y/f.json f y--f\n/x/./y/f.json f y--f\n/x/./y/z/f.json f y/z--f\n/x/./f.json f f\n./f.json f f\n/x/./y/f/f.traj f y--f\n/x/.y/f.json f .y--f", 'what is behind a part "."');

# ---- What is none of them

my $pair = write_file('pair/a.json', lines({ input => 'a', output => 'b' }));
($status, $out, $err) = import_files('pair', $pair);
is($status, 1, 'input and output alone');
like($err, qr/a\.json: document 1: the document has no known format; at the top: input, output; --explain/, 'are no format') or diag($err);
my $prompts = write_file('prompts/a.json', lines([ { role => 'user', content => 'You are in a room.' }, { role => 'user', content => 'Go.' } ]));
($status, $out, $err) = import_files('prompts', $prompts);
like($out, qr/^stepless_rollouts +1\n.*^missing: rollouts have no step: is the format the right one\?$/ms, 'prompts without an answer: said that there is no step') or diag($out . $err);

done_testing();

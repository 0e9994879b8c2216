# Spans, observations and items as tracing tools and agent libraries write them: the
# example files of test/data/import, loaded, with counts by an independent look at the
# files and values by hand.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Importing;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $data = "$FindBin::Bin/../data/import";

my $node = begin_importing('import_spans');

# All steps of a schema's rollouts, in one line each.
sub steps
{
	my ($schema) = @_;
	return value(qq(SELECT string_agg(concat_ws('|', rollout_id, turn, coalesce(tool, '-'), coalesce(CASE WHEN tool IS NULL THEN action ELSE args::text END, '-'), coalesce(ok::text, '-'), coalesce(observation, '-'), coalesce(reward::text, '-')), E'\\n' ORDER BY rollout_id, step_no) FROM "$schema".steps));
}

# Loaded, recognised as nothing else, and the second time nothing new.
sub loads
{
	my ($schema, $format, $file, $counts) = @_;
	my ($status, $out, $err) = import_files($schema, "$data/$file");
	is($status, 0, "$file is loaded") or diag($out . $err);
	is(value(qq(SELECT (SELECT count(*) FROM "$schema".rollouts) || ' ' || (SELECT count(*) FROM "$schema".steps) || ' ' || (SELECT count(tool) FROM "$schema".steps))), $counts, "$file: rollouts, steps, calls");
	like((import_files($schema, '--explain', "$data/$file"))[1], qr/^  $format: fits\n(?!.*: fits\n).*it is loaded as $format$/sm, "$file is $format and nothing else");
	like((import_files($schema, "$data/$file"))[1], qr/^rollouts_added +0\n.*^steps_added +0\n/ms, "$file again: nothing new");
	like((import_files($schema, '--preview', "$data/$file"))[1], qr/^task_id .*^action /ms, "$file is shown beforehand");
	return $out;
}

# ---- OpenTelemetry: GenAI
# Two traces.  The first: a call of the model with two calls of tools, one of them failed,
# and an answer; a model within a tool is no step.  The second has no contents.
my $steps = join "\n",
	'0af7651916cd43dd8448eb211c80319a|0|get_weather|{"city": "Oslo"}|true|What is the weather in Oslo and in Rome?|-',
	'0af7651916cd43dd8448eb211c80319a|0|get_weather|{"city": "Rome"}|false|What is the weather in Oslo and in Rome?|-',
	"0af7651916cd43dd8448eb211c80319a|1|-|Oslo has snow; of Rome I know nothing.|-|snow, -3\ntimed out|-",
	'0af7651916cd43dd8448eb211c80319b|0|get_weather|{"city": "Oslo"}|true|-|-',
	'0af7651916cd43dd8448eb211c80319b|1|-|-|-|-|-';
my $rollouts = "weather-1 0af7651916cd43dd8448eb211c80319a v7 0.5 f m-1 2026-02-01 10:00:00 00:00:09\nweather-1 0af7651916cd43dd8448eb211c80319b v7 1 t m-1 2026-02-01 10:00:20 00:00:09";
foreach my $file ('genai.json', 'genai_lines.jsonl')
{
	my $out = loads($file, 'otel', "otel/$file", '2 5 3');
	is(steps($file), $steps, "$file: turns by time, results by the call's id, a failed span is not ok");
	is(value(qq(SELECT string_agg(concat_ws(' ', task_id, rollout_id, policy_version, outcome, success, model, started_at AT TIME ZONE 'UTC', ended_at - started_at), E'\\n' ORDER BY rollout_id) FROM "$file".rollouts)), $rollouts,
		"$file: the task by its attribute, the version by the resource's, outcome by evaluations (a number, a word), times");
	is(value(qq(SELECT string_agg(concat_ws(' ', metadata -> 'input_tokens', metadata -> 'output_tokens', metadata ->> 'system_prompt', metadata ->> 'session', metadata -> 'scores'), E'\\n' ORDER BY rollout_id) FROM "$file".rollouts)),
		qq(130 42 You tell the weather. conv-1 {"reward": 0.5}\n93 16 conv-2 {"correctness": "pass"}), "$file: tokens are summed, scores kept");
	is(value(qq(SELECT string_agg(concat_ws(' ', turn, metadata ->> 'span_id', metadata -> 'input_tokens', metadata -> 'output_tokens', metadata ->> 'started_at', metadata ->> 'thought'), E'\\n' ORDER BY rollout_id, step_no) FROM "$file".steps WHERE rollout_id LIKE '%a')),
		"0 a000000000000002 40 30 2026-02-01T10:00:01.000000Z Two cities, two calls.\n0 a000000000000002 40 30 2026-02-01T10:00:01.000000Z\n1 a000000000000005 90 12 2026-02-01T10:00:06.000000Z", "$file: each step has its span, tokens and time");
	like($out, qr/^dropped: calls of the model that failed 1\n/m, "$file: a call of the model that failed is counted");
	like($out, qr/^dropped: spans within a call of a tool 1\n/m, "$file: what happens within a tool is counted");
}

# In three files, each with spans of both: none of them says all of a trace.
my @parts = split /^/m, slurp_file("$data/otel/genai_lines.jsonl");
write_file("parts/$_.jsonl", $parts[$_]) foreach 0 .. $#parts;
my ($apart, $told, $why) = import_files('apart', $node->basedir . '/parts');
is($apart, 1, 'parts of traces are not loaded');
like($why, qr/0\.jsonl: document 1: no span of trace 0af7651916cd43dd8448eb211c80319a says its task, its session or what was asked, and its first span is not here: cat FILES \| stepadv-import - takes files that share traces for one;/,
	'it is said why, and what helps');
like((import_files('apart', '-k', $node->basedir . '/parts/1.jsonl'))[1], qr/^repaired: traces without their first span 1$/m, 'one that says enough is loaded, and counted');
# They are, as standard input, packed or not.
my $together = join '', @parts;
my ($joined) = import_files('together', \$together, '-');
is($joined, 0, 'standard input is loaded');
is(steps('together'), $steps, 'with all steps');
is(value(q(SELECT string_agg(DISTINCT metadata ->> 'source', ',') FROM together.rollouts)), 'stdin', 'and has a name');
IPC::Run::run([ 'gzip', '-c' ], '<', \$together, '>', \my $packed) or die;
like((import_files('together', \$packed, '-'))[1], qr/^1 file, 0 left out\n.*^rollouts_added +0\n.*^steps_added +0\n/ms, 'packed it is the same');
like((import_files('together', \$together, '-', '-'))[1], qr/^1 file, 0 left out\n/m, 'there is one of it');
my $cut = substr $together, 0, 100;
like((import_files('together', \$cut, '-'))[2], qr/^standard input: document 1: /, 'and what is wrong is said of it');

# ---- OpenInference
$steps = join "\n",
	'c1|0|look|{"at": "table"}|true|Find the red key.|0.25',
	'c1|1|-|I have it.|-|a red key on the table|-',
	'c2|0|open|{}|false|Find the red key.|-';
foreach my $file ('phoenix.json', 'phoenix_frame.jsonl')
{
	my $out = loads($file, 'otel', "otel/$file", '2 3 2');
	is(steps($file), $steps, "$file: numbered messages, contents, a message in output.value, a reward of a span");
	is(value(qq(SELECT string_agg(concat_ws(' ', task_id, rollout_id, outcome, success, model, started_at AT TIME ZONE 'UTC', ended_at - started_at, metadata ->> 'error'), E'\\n' ORDER BY rollout_id) FROM "$file".rollouts)),
		"key c1 1 t m-2 2026-02-01 10:00:00 00:00:10\nkey c2 0 f m-2 2026-02-01 10:00:20 00:00:10 gave up", "$file: task and reward of the metadata");
	like($out, qr/^dropped: spans of judges 2\n/m, "$file: judges and what they ask are no steps");
}

# Whoever calls a task something else says where it is.
my ($status, $out, $err) = import_files('by_session', '-f', 'otel', '-j', '{"task_id": "$.meta.attributes.\"gen_ai.conversation.id\"", "success": "$.meta.scores ? (exists(@.correctness)).correctness == \"pass\""}', "$data/otel/genai.json");
is($status, 0, 'paths beside a format') or diag($out . $err);
is(value(q(SELECT string_agg(concat_ws(' ', task_id, outcome, success), E'\n' ORDER BY rollout_id) FROM by_session.rollouts)), "conv-1 0.5 f\nconv-2 1 t", 'replace what it says of rollouts');
($status, $out, $err) = import_files('by_step', '-f', 'otel', '-j', '{"action": "$.x"}', "$data/otel/genai.json");
like($err, qr/paths has the key action, which says nothing of a rollout/, 'but nothing of steps');
# Without a task it is the session, without a session what was asked.
my $plain = slurp_file("$data/otel/phoenix.json");
$plain =~ s/\\"task_id\\": \\"key\\", //g;
append_to_file($node->basedir . '/sessions.json', $plain);
$plain =~ s/"session.id": "s-[12]",?//g;
append_to_file($node->basedir . '/asked.json', $plain);
is((import_files($_, $node->basedir . "/$_.json"))[0], 0, "$_: loaded") foreach 'sessions', 'asked';
is(value(q(SELECT string_agg(task_id, ' ' ORDER BY rollout_id) FROM sessions.rollouts)), 's-1 s-2', 'the session');
is(value(q(SELECT count(DISTINCT task_id) || ' ' || count(*) FROM asked.rollouts)), '1 2', 'the same was asked');
# A line that is none.
append_to_file($node->basedir . '/broken.jsonl', slurp_file("$data/otel/genai_lines.jsonl") . qq({"resourceSpans": [\n));
($status, $out, $err) = import_files('broken', $node->basedir . '/broken.jsonl');
is($status, 1, 'a line that is no JSON: the file is left out');
like($err, qr/broken\.jsonl: document 4: invalid input syntax for type json.*-k loads the other 2/, 'and why is said') or diag($err);
is((import_files('broken', '-k', $node->basedir . '/broken.jsonl'))[0], 1, '-k loads the others');
is(value(q(SELECT count(*) FROM broken.steps)), 5, 'all of them');

# What reads a document is many small queries, whose costs the planner does not know: to
# compile them would take hundreds of times as long as to run them.
is(value(q(SELECT string_agg(p.proname, ' ' ORDER BY p.proname) FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid
	WHERE e.extname = 'stepadv_import' AND (p.proname ~ '^parse_(?!rollout_line)' OR p.proname IN ('import_rollouts', 'import_one', 'import_explain', 'import_preview')) AND NOT 'jit=off' = ANY (p.proconfig))), '', 'nothing is compiled');
cmp_ok(value(q(SELECT count(*) FROM pg_proc WHERE proname ~ '^parse_' AND 'jit=off' = ANY (proconfig))), '>', 15, 'by whichever function a document is read');

# ---- Langfuse
# lf-1: two calls of one answer, of which run failed, and an answer; observations lie in
# any order.  lf-2: an answer, and a call of the model that failed.
$steps = join "\n",
	'lf-1|0|read_file|{"path": "a.py"}|true|The test fails.|-',
	'lf-1|0|run|{"cmd": "pytest"}|false|The test fails.|-0.25',
	"lf-1|1|-|x must be 2.|-|x = 1\n1 failed|-",
	'lf-2|0|-|I give up.|-|The test fails.|-';
foreach my $file ('traces.json', 'traces.jsonl', 'export.jsonl')
{
	my $out = loads("lf $file", 'langfuse', "langfuse/$file", '2 4 2');
	is(steps("lf $file"), $steps, "$file: by startTime, a span that is called like a tool, level ERROR, a score of an observation");
	is(value(qq(SELECT string_agg(concat_ws(' ', task_id, rollout_id, policy_version, outcome, success, model, started_at AT TIME ZONE 'UTC', ended_at - started_at), E'\\n' ORDER BY rollout_id) FROM "lf $file".rollouts)),
		"fix-a lf-1 v3 0.75 t m-3 2026-02-01 10:00:00 00:00:09\nfix-a lf-2 v3 0 f m-3 2026-02-01 10:00:20 00:00:05", "$file: outcome by the score reward, success by resolved; the only score, a word, of the other");
	is(value(qq(SELECT string_agg(concat_ws(' ', metadata -> 'input_tokens', metadata -> 'output_tokens', metadata -> 'tags', metadata ->> 'session', metadata ->> 'system_prompt', metadata -> 'scores'), E'\\n' ORDER BY rollout_id) FROM "lf $file".rollouts)),
		qq(130 28 ["nightly"] s1 You fix code. {"reward": 0.75, "resolved": 1}\n50 4 s2 You fix code. {"quality": "fail"}), "$file: tokens, scores");
	like($out, qr/^dropped: calls of the model that failed 1\n/m, "$file: a GENERATION that failed");
}
# Scores alone are no rollouts.
append_to_file($node->basedir . '/scores.jsonl', join '', grep { /"data_type"/ } slurp_file("$data/langfuse/export.jsonl") =~ /(.*\n)/g);
like((import_files('scores', $node->basedir . '/scores.jsonl'))[1], qr/^dropped: scores of traces that are elsewhere 4\n/m, 'scores without their traces are counted');
is(value('SELECT count(*) FROM scores.rollouts'), 0, 'and are no rollouts');

# ---- Anthropic's messages
# Results by their ids, in any order, one an error; what the user says beside them is seen;
# a tool that the provider runs is called and answered in one message.
loads('anthropic', 'openai_chat', 'anthropic/messages.json', '1 4 4');
my $anthropic = join "\n", '0|read|{"path": "notes.txt"}|f|locked|Add a line to notes.txt.', '0|ls|{}|t|notes.txt|Add a line to notes.txt.',
	"1|write|{\"path\": \"notes.txt\", \"text\": \"a line\"}|t||notes.txt\nlocked\nHurry up.", '2|web_search|{"query": "notes"}|t|';
is(value(q(SELECT string_agg(concat_ws('|', turn, tool, args, ok, told, CASE WHEN turn < 2 THEN observation END), E'\n' ORDER BY step_no) FROM (SELECT *, coalesce(next_observation, lead(observation) OVER (ORDER BY step_no)) AS told FROM anthropic.steps) s)), $anthropic, 'blocks: calls, results, errors');
is(value(q(SELECT string_agg(concat_ws('|', turn, metadata ->> 'text', metadata ->> 'thought'), E'\n' ORDER BY step_no) FROM anthropic.steps WHERE metadata IS NOT NULL)), "0|I read and list.|I should read it first.\n2|It is done.", 'words and thoughts');
is(value(q(SELECT concat_ws(' ', task_id, outcome, model, metadata ->> 'system', jsonb_array_length(metadata -> 'messages')) FROM anthropic.rollouts)), 'notes 1 claude-x You edit files. 6', 'what it says of the rollout, and the conversation as it was');
loads('anthropic lists', 'openai_chat', 'anthropic/lists.jsonl', '2 5 4');
is(value(q(SELECT observation || '|' || action FROM "anthropic lists".steps WHERE tool IS NULL)), "Say\nhello.|hello", 'texts alone');

# ---- OpenAI's items
my $items = join "\n", '0|find_bag|{"color": "red"}|true|Which bag is mine?', '0|find_owner|{"bag": 5}|false|Which bag is mine?', "1|ask|{\"q\": \"bag 5\"}|true|Error: no such bag\nbag 5", '2|web_search|{"type": "search", "query": "bags"}|-|yours';
loads('session', 'responses', 'agents/session.json', '1 4 4');
is(value(q(SELECT string_agg(concat_ws('|', turn, tool, args, coalesce(ok::text, '-'), observation), E'\n' ORDER BY step_no) FROM session.steps)), $items, 'a list of items: results by call_id, hosted tools');
is(value(q(SELECT string_agg(concat_ws('|', step_no, metadata ->> 'text', metadata ->> 'thought'), E'\n' ORDER BY step_no) FROM session.steps WHERE metadata IS NOT NULL)), "0|Look both up.\n3|Bag 5.", 'reasoning, and what was said with the last call');
loads('runs', 'responses', 'agents/run_results.jsonl', '2 6 5');
is(value(q(SELECT string_agg(concat_ws('|', turn, tool), E'\n' ORDER BY step_no) FROM runs.steps WHERE rollout_id LIKE '%-0')), "0|transfer_to_desk\n1|find_bag\n1|find_owner\n2|ask\n3|web_search", 'run items: handoffs are calls, outputs of the item itself');
is(value(q(SELECT string_agg(concat_ws(' ', task_id, rollout_id, outcome, success), E'\n' ORDER BY rollout_id) FROM runs.rollouts)), "bag bag-0 1 t\nbag bag-1 0 f", 'and what stands beside them');
is(value(q(SELECT observation FROM runs.steps WHERE rollout_id = 'bag-0' AND step_no = 1)), '{"assistant": "desk"}', 'the result of a handoff');

done_testing();

# Any other JSON by paths: what they can say, and what is said of them.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Importing;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = begin_importing('import_paths');
my $dir = directory();

# A rollout whose steps stand in no order, whose results are other elements, and whose
# calls and words have to be read.
my $odd = write_file('odd/1.json', <<'JSON');
{"job": {"name": "door", "verdict": "pass", "grade": "B"}, "t0": 1767225600500, "log": [
	{"id": "s3", "at": "2026-01-01T01:00:09+01:00", "call": "{\"tool\": \"enter\", \"with\": {\"room\": 2}}", "ids": [4, 5], "mask": [1, 0], "lp": [{"p": -0.5}, {"p": -1}]},
	{"id": "s1", "at": "2026-01-01T00:00:05Z", "call": "{\"tool\": \"knock\", \"with\": {}}", "ids": [1], "lp": [{"p": -2}]},
	{"id": "s2", "at": "2026-01-01T00:00:07Z", "call": "{knock", "ids": []}],
	"results": [{"of": "s1", "text": "come in"}, {"of": "s3", "text": ["a", "room"]}, {"of": "s3", "text": "no"}, {"text": "nobody's"}]}
JSON
my $paths = <<'PATHS';
{"task_id": "$.job.name", "rollout_id": "$.job.name", "success": {"path": "$.job.verdict", "map": {"pass": true, "fail": false}},
	"outcome": {"path": "$.job.grade", "map": {"A": 1, "B": 0.5}}, "started_at": "$.t0", "ended_at": "$.log[*].at",
	"steps": "$.log[*]", "order": "$.at", "tool": {"path": "$.call", "fromjson": "$.tool"}, "args": {"path": "$.call", "fromjson": "$.with"},
	"next_observation": {"path": "$.id", "in": "$.results[*]", "key": "$.of", "take": "$.text"},
	"response_token_ids": "$.ids", "response_mask": "$.mask", "rollout_logprobs": "$.lp[*].p"}
PATHS
my ($status, $out, $err) = import_files('odd', '-j', $paths, "$dir/odd");
is($status . ' ' . count_of($out, 'rollouts_added') . ' ' . count_of($out, 'steps_added'), '0 1 3', 'a document of its own kind') or diag($out . $err);
is($err, '', 'nothing to say');
like($out, qr{^repaired: strings that are no JSON 2$}m, 'but that a call is no JSON (as tool and as args)') or diag($out);
is(value(q(SET timezone = 'UTC'; SELECT concat_ws(' ', success, outcome, to_char(started_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS'), to_char(ended_at, 'YYYY-MM-DD"T"HH24:MI:SS')) FROM odd.rollouts)),
	't 0.5 2026-01-01T00:00:00.500 2026-01-01T00:00:09', 'words by a map, milliseconds, the latest of several times');
is(value(q(SELECT string_agg(concat_ws('|', step_no, metadata, coalesce(tool, '-'), args, coalesce(next_observation, '-'), response_token_ids, response_mask, rollout_logprobs), E'\n' ORDER BY step_no) FROM odd.steps)),
	"0|knock|{}|come in|{1}|{-2}\n1|-|-\n2|enter|{\"room\": 2}|a\nroom|{4,5}|{t,f}|{-0.5,-1}", 'steps by their time, results of other elements, JSON in strings, tokens');
is(value(q(SELECT count(*) FROM odd.steps WHERE state IS NULL AND step_no > 0)), 2, 'without an observation there is no state');

# The same by hand where the source says it in another way.
foreach my $case (
	[ 'numbers', '{"k": 3, "a": "c"}, {"k": 1.5, "a": "a"}, {"k": 2, "a": "b"}', '$.k' ],
	[ 'numbers in strings', '{"k": "10", "a": "c"}, {"k": "8", "a": "a"}, {"k": "9", "a": "b"}', '$.k' ],
	[ 'nanoseconds', '{"k": "1767225600000000003", "a": "c"}, {"k": "1767225600000000001", "a": "a"}, {"k": "1767225600000000002", "a": "b"}', '$.k' ],
	[ 'times and milliseconds', '{"k": "2026-01-01T00:00:03Z", "a": "c"}, {"k": 1767225601000, "a": "a"}, {"k": "2026-01-01T00:00:02Z", "a": "b"}', '$.k' ],
	[ 'one place', '{"k": 1, "a": "a"}, {"k": 1, "a": "b"}, {"k": 1, "a": "c"}', '$.k' ])
{
	my ($name, $steps, $order) = @$case;
	($status, $out, $err) = import_files("order $name", '-j', qq({"task_id": "\$.t", "steps": "\$.s[*]", "order": "$order", "action": "\$.a"}), write_file("order/$name.json", qq({"t": 1, "s": [$steps]})));
	is($status . value(qq(SELECT string_agg(action, '' ORDER BY step_no) FROM "order $name".steps)), '0abc', "order: $name") or diag($err);
}
# Rollouts and steps in strings.
write_file('strings/1.jsonl', join '', map { my $n = $_; qq({"body": "{\\"task\\": \\"t\\", \\"no\\": $n, \\"log\\": \\"[{\\\\\\"a\\\\\\": \\\\\\"x$n\\\\\\"}, {\\\\\\"a\\\\\\": \\\\\\"y\\\\\\"}]\\"}"}\n) } 1 .. 2);
($status, $out, $err) = import_files('strings', '-j', '{"rollouts": {"path": "$.body", "fromjson": true}, "task_id": "$.task", "rollout_id": "$.no", "steps": {"path": "$.log", "fromjson": "$[*]"}, "action": "$.a"}', "$dir/strings");
is($status . ' ' . value(q(SELECT string_agg(rollout_id || action, ' ' ORDER BY rollout_id, step_no) FROM strings.steps)), '0 1x1 1y 2x2 2y', 'JSON inside strings, twice') or diag($out . $err);
write_file('paths.json', '{"task_id": "$.t", "steps": "$.s[*]", "action": "$.a"}');
is((import_files('file', '-j', "\@$dir/paths.json", "$dir/order/one place.json"))[0], 0, 'paths from a file');
like((import_files('file', '-j', "\@$dir/nowhere.json", "$dir/order/one place.json"))[2], qr{^stepadv-import: cannot read the paths of -j$}, 'that is there');

# One rollout in several files: what is not in them is in their names.
foreach my $episode (1, 2)
{
	write_file("parts/win/ep$episode/step_$_.json", qq({"saw": "o$_", "did": "a$_"@{[ $_ == 11 ? ', "won": true' : '' ]}})) foreach 2, 9, 11;
}
my $parts = '{"task_id": {"path": "$source", "match": "parts/([^/]+)/"}, "rollout_id": {"path": "$source", "match": "([^/]+)/step_"}, "steps": "$", "step_no": {"path": "$source", "match": "step_([0-9]+)\\\\.json$"},
	"observation": "$.saw", "action": "$.did", "success": "$.won"}';
foreach my $jobs (1, 2)
{
	($status, $out, $err) = import_files("parts$jobs", '-J', $jobs, '-j', $parts, "$dir/parts");
	is($status . $err, '0', "files of which each has a step, $jobs at once") or diag($out . $err);
	is(value(qq(SELECT string_agg(concat_ws(' ', task_id, rollout_id, success, step_no, action), ',' ORDER BY rollout_id, step_no) FROM parts$jobs.rollouts JOIN parts$jobs.steps USING (run_id, policy_version, task_id, rollout_id))),
		'win ep1 t 2 a2,win ep1 t 9 a9,win ep1 t 11 a11,win ep2 t 2 a2,win ep2 t 9 a9,win ep2 t 11 a11', 'task, rollout and number by the name of the file');
}
($status, $out, $err) = import_files('parts1', '-j', $parts, "$dir/parts", "$dir/parts/win/ep1");
like($out, qr{^judged, with states 2 of 2 rollouts, 6 of 6 steps$}m, 'a rollout counts once, in however many files it is') or diag($out);
is(count_of($out, 'rollouts_added') . ' ' . count_of($out, 'steps_added') . ' ' . count_of($out, 'steps_repeated'), '0 0 9', 'and again changes nothing');
$parts =~ s/step_"/stop_"/;
like((import_files('parts', '-j', $parts, "$dir/parts"))[2], qr{\A\S*step_11\.json and 5 more: match of the path of rollout_id, \(\[\^/\]\+\)/stop_, finds nothing in "\S*/parts/win/ep1/step_11\.json"\n\z}, 'a name in which nothing matches');
is((import_files('parts', '-j', '{"task_id": {"path": "$source", "match": "(x"}}', "$dir/parts"))[2], 'stepadv-import: -j: match of the path of task_id, (x, is no regular expression: invalid regular expression: parentheses () not balanced; '
	. 'What its first group in parentheses matches is taken, else all that it matches; in JSON a backslash stands twice, as in "step_([0-9]+)\\\\.json$".' . "\n", 'what is no regular expression');
like((import_files('parts', '-j', '{"task_id": {"path": "$source", "match": 1}}', "$dir/parts"))[2], qr{match of the path of task_id must be a regular expression, not number}, 'or no text');

# What finds nothing in any file is a mistake, and no file is loaded.
write_file("run/$_.json", qq({"task": "t", "id": $_, "turns": [{"obs": "o", "act": "a"}@{[ $_ == 2 ? ', {"obs": "p", "act": "b", "r": 1}' : '' ]}]})) foreach 1 .. 3;
my $run = '{"task_id": "$.task", "rollout_id": "$.id", "steps": "$.turns[*]", "observation": "$.obs", "action": "$.act", "reward": "$.r"}';
foreach my $case (
	[ 'of a step', $run =~ s/obs"/obz"/r, qr{^\S*run/1\.json and 2 more: the path of observation, \$\.obz, finds nothing; there are: (act, obs|obs, act)\n\z} ],
	[ 'of two', $run =~ s/obs"/obz"/r =~ s/act"/turns.act"/r, qr{^\S*run/1\.json and 2 more: the path of observation, [^\n]*\n\S*run/1\.json and 2 more: the path of action, \$\.turns\.act, finds nothing; there are: [^\n]*\n\z} ],
	[ 'of steps, and of nothing in them', $run =~ s/turns/turnz/r, qr{^\S*run/1\.json and 2 more: the path of steps, \$\.turnz\[\*\], finds nothing; there are: id, task, turns\n\z} ],
	[ 'of a rollout', $run =~ s/\}/, "started_at": "\$.turns[0].at"}/r, qr{1\.json and 2 more: the path of started_at, \$\.turns\[0\]\.at, finds nothing; at \$\.turns\[0\] there are: act, obs\n\z} ])
{
	my ($name, $wrong, $expected) = @$case;
	foreach my $jobs (1, 3)
	{
		($status, $out, $err) = import_files('typo', '-J', $jobs, '-j', $wrong, "$dir/run");
		is($status, 1, "a path that finds nothing, $name, -J $jobs");
		like($err, $expected, 'is said once, with the keys that are there');
		like($out, qr{^3 files, 3 left out\n(left out: \S*run/\d\.json\n){3}}m, 'and all files are left out') or diag($out);
	}
}
is(value(q(SELECT (SELECT count(*) FROM typo.rollouts) || ' ' || (SELECT count(*) FROM typo.steps))), '0 0', 'nothing is loaded');
# In one file it may.
foreach my $jobs (1, 3)
{
	($status, $out, $err) = import_files("some$jobs", '-J', $jobs, '--progress', '-j', $run, "$dir/run");
	is($status . ' ' . count_of($out, 'rollouts_added') . ' ' . count_of($out, 'steps_added'), '0 3 4', "a path that finds something in one of the files, -J $jobs") or diag($out . $err);
	like($err, qr{3/3 files, [^\r]*4 steps[^\r]*\s*\z}, 'all of which are done in the end') or diag($err);
}
($status, $out, $err) = import_files('some1', '-j', $run =~ s/act"/act2"/r, "$dir/run");
like($err, qr{\A\S*1\.json and 2 more: the path of action, \$\.act2, finds nothing; there are: [^\n]*\n\z}, 'not what would come of the mistake');
# What each rollout needs is asked of each.
write_file('need/1.jsonl', qq({"task": {"id": 1}, "turns": []}\n{"task": {"name": 2}, "turns": []}\n{"tusk": 3}\n));
($status, $out, $err) = import_files('need', '-j', '{"task_id": "$.task.id", "steps": "$.turns[*]"}', "$dir/need");
like($err, qr{need/1\.jsonl: document 2: the path of task_id, \$\.task\.id, finds nothing; at \$\.task there are: name \(and 1 more\); at the top: task, turns; -k loads the other 1\n\z}, 'a task') or diag($err);
like((import_files('need', '-j', '{"rollouts": "$.runs[*]", "task_id": "$.task"}', "$dir/need"))[2], qr{document 1: the path of rollouts, \$\.runs\[\*\], finds nothing; there are: task, turns \(and 2 more\)}, 'rollouts');
like((import_files('need', '-j', '{"task_id": "$.job.name", "steps": "$.log[*]", "order": "$.when"}', $odd))[2], qr{the path of order, \$\.when, finds nothing; there are: [^\n]*at}, 'an order');
like((import_files('need', '-j', '{"task_id": "$.job.name", "steps": "$.log[*]", "order": "$.mask[0]"}', $odd))[2], qr{document 1: order must be given for every step; }, 'of every step');
like((import_files('need', '-j', '{"task_id": "$.job.name", "steps": "$.log[*]", "order": "$.id"}', $odd))[2], qr{document 1: invalid input syntax for type timestamp with time zone: "s3"}, 'that is number or time');
like((import_files('need', '-j', '{"task_id": "$.job.name", "success": "$.job.verdict"}', $odd))[2], qr{document 1: success must be a boolean, not string; .*; a map of -j says what words mean, as \{"path"}, 'a word that is no truth');
like((import_files('need', '-j', '{"task_id": "$.job.name", "started_at": "$.job.name"}', $odd))[2], qr{document 1: invalid input syntax for type timestamp with time zone: "door"}, 'a time that is none');
like((import_files('need', '-j', '{"task_id": "$.job.name", "steps": "$.log[*]", "action": {"path": "$.call", "fromjson": "$.tol"}}', $odd))[2], qr{the path of action, \$\.tol, finds nothing; there are: tool, with\n}, 'a key inside of a string');
like((import_files('need', '-j', '{"task_id": "$.job.name", "steps": "$.log[*]", "action": {"path": "$.id", "in": "$.results[*]", "key": "$.off"}}', $odd))[2], qr{the path of action, \$\.id, finds nothing that stands in \$\.results\[\*\] under \$\.off\n}, 'an element that is not there');
foreach my $case (
	[ '"response_token_ids": "$.id"', qr{step 1: response_token_ids must be an array of numbers} ],
	[ '"response_token_ids": "$.lp[*].p"', qr{step 1: response_token_ids must be an array of whole numbers} ],
	[ '"response_token_ids": "$.ids", "response_mask": "$.ids"', qr{step 1: response_mask must be an array of booleans} ],
	[ '"response_token_ids": "$.ids", "rollout_logprobs": "$.log"', qr{step 1: rollout_logprobs must be as long as response_token_ids} ])
{
	my ($tokens, $expected) = @$case;
	my $file = write_file('tokens.json', '{"t": 1, "s": [{"id": "x", "ids": [3, 4], "log": [-1], "lp": [{"p": -0.5}, {"p": -1}]}]}');
	like((import_files('tokens', '-j', qq({"task_id": "\$.t", "steps": "\$.s[*]", $tokens}), $file))[2], qr{document 1: $expected}, $tokens);
}

# Paths that are none are said before anything is read.
foreach my $case (
	[ '{"task_id": "$.task["}', qr{-j: the path of task_id, \$\.task\[, is no path: syntax error at end of jsonpath input; } ],
	[ '{"task_id": "$.task ? (@ == $f)"}', qr{-j: the path of task_id, \$\.task \? \(@ == \$f\), is no path: there is no variable \$f, only \$document, \$source and \$n; } ],
	[ '{"task_id": "$.task", "reward": {"path": "$.r", "fromjson": "$.a b"}}', qr{-j: the path of reward, \$\.a b, is no path: syntax error} ],
	[ '{"task_id"', qr{-j: invalid input syntax for type json} ],
	[ '{"task": "$.x", "task_id": "$"}', qr{-j: paths has the unknown key task; There are: rollouts, steps, group_id, } ],
	[ '[]', qr{-j: paths must be an object with at least the key task_id or group_id} ],
	[ '{"task_id": 1}', qr{-j: the path of task_id must be a string, or an object with a string path, not number} ],
	[ '{"task_id": {"map": {}}}', qr{-j: the path of task_id must be a string, or an object with a string path, not an object without it} ],
	[ '{"task_id": "$", "success": {"path": "$.x", "map": "$.y"}}', qr{-j: map of the path of success must be an object, not string} ],
	[ '{"task_id": "$", "success": {"path": "$.x", "mapp": {}}}', qr{-j: the path of success has the unknown key mapp; There are: path, fromjson, match, map, in, key, take\.} ],
	[ '{"task_id": "$", "steps": {"path": "$.x", "map": {}}}', qr{-j: the path of steps has the unknown key map; There are: path, fromjson\.} ],
	[ '{"task_id": "$", "action": {"path": "$.x", "in": "$.y[*]"}}', qr{-j: the path of action must have in and key together} ],
	[ '{"task_id": "$", "order": "$.a", "step_no": "$.b"}', qr{-j: paths must have order or step_no, not both} ])
{
	my ($wrong, $expected) = @$case;
	($status, $out, $err) = import_files('none', '-j', $wrong, $odd);
	is($status, 2, "nothing is tried: $wrong");
	like($err, qr{\Astepadv-import: $expected[^\n]*\n\z}, 'with what is wrong') or diag($err);
}
is((import_files('none', '-f', 'paths', $odd))[0], 2, 'paths without paths');
is((import_files('none', '-f', 'verl', '-j', $run, $odd))[0], 2, 'paths of another format');
is(value(q(SELECT count(*) FROM pg_namespace WHERE nspname = 'none')), 0, 'and nothing is made');

# In SQL it is the statement that must find it, or warn of it.
value(q(CREATE TABLE docs (n bigint GENERATED ALWAYS AS IDENTITY, document jsonb); INSERT INTO docs (document) VALUES ('{"t": 1, "s": [{"a": "x"}]}'), ('{"t": 2, "s": [{"a": "x", "o": "y"}]}'); SELECT count(*) FROM stepadv.create_tables('sql')));
like(($node->psql('postgres', q(SELECT stepadv.import_rollouts('sql', 'docs', paths => '{"task_id": "$.t", "steps": "$.s[*]", "action": "$.b"}'))))[2], qr{ERROR:  the path of action, \$\.b, finds nothing; there are: a\n}, 'an error');
is(value(q(SET client_min_messages = error; SELECT steps_added || ' ' || problems FROM stepadv.import_rollouts('sql', 'docs', on_error => 'skip', paths => '{"task_id": "$.t", "steps": "$.s[*]", "action": "$.b", "observation": "$.o"}'))),
	'2 [{"path": "action", "problem": "the path of action, $.b, finds nothing; there are: a"}]', 'or a warning; what is there once is there');
is(value(q(SELECT string_agg(r ->> 'repaired', ' ') FROM docs, stepadv.parse_by_paths(document, '{"task_id": "$.t", "steps": "$.s[*]", "action": "$.a", "observation": "$.o"}') r)), '{"without observation": 1} {}', 'each rollout says it for itself');
# The quick way and that of triggers make the same rows.
value(q(SELECT count(*) FROM stepadv.create_tables('slow'); CREATE FUNCTION slow.look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$; CREATE TRIGGER look BEFORE INSERT ON slow.steps FOR EACH ROW EXECUTE FUNCTION slow.look()));
is((import_files('slow', '-q', '-j', $paths, "$dir/odd"))[0], 0, 'row by row');
is(value(q(SELECT count(*) FROM (SELECT to_jsonb(s) - 'id' FROM odd.steps s EXCEPT SELECT to_jsonb(s) - 'id' FROM slow.steps s) x)), 0, 'the same rows');
is(value(q(SELECT count(*) FROM (SELECT to_jsonb(s) - 'metadata' FROM odd.rollouts s EXCEPT SELECT to_jsonb(s) - 'metadata' FROM slow.rollouts s) x)), 0, 'of the same rollouts');

done_testing();

-- import_rollouts: documents of every format it knows.  What is expected is
-- counted by hand in the comments.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION stepadv_import;
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('imp', partitions => 2, group_by => '{group_id}');
CREATE TABLE docs (n bigint GENERATED ALWAYS AS IDENTITY, document text, source text);
CREATE VIEW shown AS
SELECT s.group_id, s.rollout_id, s.step_no, s.turn, left(replace(s.observation, E'\n', '|'), 30) AS observation,
	left(replace(coalesce(s.next_observation, '(next)'), E'\n', '|'), 24) AS next, left(replace(s.action, E'\n', '|'), 50) AS action, s.tool, s.args, s.ok, s.reward
FROM imp.steps s ORDER BY 1, 2, 3;
CREATE FUNCTION fresh() RETURNS void LANGUAGE sql AS $$ TRUNCATE docs RESTART IDENTITY; TRUNCATE imp.rollouts CASCADE $$;

-- ---------- chat
-- Two trials of task 7.  The first: a greeting answered in words (1 step), two
-- calls in one turn, of which one has arguments that are no JSON, with a text
-- before them (2 steps), one last word (1 step).  The second took no step.
INSERT INTO docs (document, source) VALUES ('[
	{"task_id": 7, "trial": 0, "reward": 1.0, "info": {"k": 1}, "traj": [
		{"role": "system", "content": "Be nice."},
		{"role": "user", "content": "Hello"},
		{"role": "assistant", "content": "What can I do?", "reasoning_content": "polite"},
		{"role": "user", "content": [{"type": "text", "text": "Find my"}, {"type": "text", "text": "bag"}]},
		{"role": "assistant", "content": "I look.", "tool_calls": [
			{"id": "c1", "type": "function", "function": {"name": "find_bag", "arguments": "{\"color\":\"red\", \"n\": [1, 2]}"}},
			{"id": "c2", "type": "function", "function": {"name": "find_owner", "arguments": "{color: red"}}]},
		{"role": "tool", "tool_call_id": "c2", "content": "Error: bad arguments"},
		{"role": "tool", "tool_call_id": "c1", "content": "{\"bag\": 5}"},
		{"role": "assistant", "content": "It is bag 5.", "tool_calls": null},
		{"role": "user", "content": "###STOP###"}]},
	{"task_id": 7, "trial": 1, "reward": 0.0, "traj": [{"role": "user", "content": "Hello"}]}]', 'tau/gpt-9-trains.json');
SELECT * FROM stepadv.import_rollouts('imp', 'docs', 'openai_chat', group_prefix => 'trains-') \gx
SELECT * FROM shown;
SELECT group_id, rollout_id, outcome, success, truncated, metadata FROM imp.rollouts ORDER BY 1, 2;
SELECT step_no, metadata FROM imp.steps WHERE metadata IS NOT NULL ORDER BY 1;
-- The two steps of one turn were taken in one state; each has its own next one.
SELECT count(DISTINCT state) AS states, count(DISTINCT next_state) AS next_states FROM imp.steps WHERE turn = 1;
-- Once more, with the format guessed: nothing new.
SELECT rollouts_added, rollouts_updated, rollouts_repeated, steps_added, steps_repeated, contradictions FROM stepadv.import_rollouts('imp', 'docs', group_prefix => 'trains-');
-- Messages without any id: the prompt is the task, so two answers to one prompt are a group.
SELECT fresh();
INSERT INTO docs (document) VALUES
	('[{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]'),
	('{"messages": [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "5"}], "success": false, "model": "m"}'),
	('{"messages": [{"role": "user", "content": "2 + 3?"}, {"role": "assistant", "content": "5", "function_call": {"name": "add", "arguments": {"a": 2}}}, {"role": "function", "name": "add", "content": "5"}]}');
SELECT groups, rollouts_added, unjudged_rollouts, steps_added, repaired FROM stepadv.import_rollouts('imp', 'docs');
SELECT tool, args, action, next_observation FROM imp.steps WHERE tool IS NOT NULL;
SELECT model, success, count(*) FROM imp.rollouts GROUP BY 1, 2 ORDER BY 1, 2;

-- ---------- SWE-agent: with and without calls, one directory each or a long name
SELECT fresh();
INSERT INTO docs (document, source) VALUES
	('{"environment": "swe_main", "history": [{"role": "system", "content": "s"}, {"role": "user", "content": "demo", "is_demo": true}, {"role": "user", "content": "Fix it"},
		{"role": "assistant", "content": "x", "thought": "look", "action": "ls\n"}], "info": {"exit_status": "submitted", "submission": "diff"},
	  "trajectory": [{"action": "ls\n", "observation": "a.py\n", "thought": "look", "response": "r", "state": "{\"open_file\": \"n/a\"}"},
		{"action": "edit 1:1\nx\nend_of_edit\n", "observation": "Your proposed edit has introduced new syntax error(s).", "thought": "", "state": "{}"},
		{"action": "", "observation": "", "thought": "nothing"}]}',
	 '/runs/gpt__data__default__t-0.20__p-0.95__c-2.00__install-1___from_source__own__proj-12.traj'),
	('{"environment": "main", "replay_config": {"problem_statement": {"id": "own__proj-12"}, "agent": {"model": {"name": "m4"}}}, "info": {"exit_status": "exit_cost"},
	  "history": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "Fix it"}]},
		{"role": "assistant", "content": "x", "thought": "look", "action": "open a.py", "tool_calls": [{"function": {"name": "open", "arguments": "{\"path\":\"a.py\"}"}}]},
		{"role": "tool", "content": "text"}],
	  "trajectory": [{"action": "open a.py", "observation": "text", "thought": "look", "execution_time": 0.5, "state": {"open_file": "a.py"}}]}', '/runs/two/own__proj-12/own__proj-12.traj');
SELECT groups, rollouts_added, unjudged_rollouts, steps_added, dropped, repaired FROM stepadv.import_rollouts('imp', 'docs');
SELECT * FROM shown;
SELECT rollout_id, model, outcome, success, truncated, metadata FROM imp.rollouts ORDER BY 1;
SELECT rollouts_added, steps_added, steps_repeated FROM stepadv.import_rollouts('imp', 'docs', 'swe_agent');

-- ---------- mini-swe-agent: one command in a fence, none, two; and its later versions
SELECT fresh();
INSERT INTO docs (document, source) VALUES
	('{"trajectory_format": "mini-swe-agent-1", "instance_id": "own__proj-1", "info": {"exit_status": "Submitted", "config": {"model": {"model_name": "g3"}}}, "messages": [
		{"role": "system", "content": "s"}, {"role": "user", "content": "Fix it"},
		{"role": "assistant", "content": "THOUGHT: look\n\n```bash\nls -la \\\n  /tmp\n```"}, {"role": "user", "content": "<returncode>2</returncode>\n<output>\nno\n</output>"},
		{"role": "assistant", "content": "no command"}, {"role": "user", "content": "EXACTLY ONE action"},
		{"role": "assistant", "content": "```bash\na\n```\nand\n```bash\nb\n```"}, {"role": "user", "content": "found 2 actions"},
		{"role": "assistant", "content": "```mswea_bash_command\npwd\n```"}, {"role": "user", "content": "<returncode>0</returncode>\n<output>\n/\n</output>"}]}', '/runs/r1/own__proj-1/own__proj-1.traj.json'),
	('{"trajectory_format": "mini-swe-agent-1.1", "instance_id": "own__proj-1", "info": {"exit_status": "LimitsExceeded"}, "messages": [
		{"role": "user", "content": "Fix it"},
		{"role": "assistant", "content": "t", "tool_calls": [{"id": "1", "function": {"name": "bash", "arguments": "{\"command\": \"ls\"}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "<returncode>0</returncode>"}]}',
	 '/runs/r2/own__proj-1/own__proj-1.traj.json');
SELECT groups, rollouts_added, unjudged_rollouts, steps_added, dropped, repaired FROM stepadv.import_rollouts('imp', 'docs');
SELECT * FROM shown;
SELECT rollout_id, model, truncated FROM imp.rollouts ORDER BY 1;

-- ---------- Responses items: a turn is what the model does until something comes
-- back; what stands in the input before is not its doing (2 items), but the
-- last result there is what it sees first.
SELECT fresh();
INSERT INTO docs (document, source) VALUES
	('{"_ng_task_index": 3, "_ng_rollout_index": 1, "agent_ref": {"name": "shop"}, "reward": 0.5, "responses_create_params": {"input": [
		{"role": "system", "content": "s"}, {"role": "user", "content": "hi"},
		{"type": "function_call", "call_id": "0", "name": "f", "arguments": "{}"}, {"type": "function_call_output", "call_id": "0", "output": "seen"}]},
	  "response": {"id": "resp_1", "model": "m5", "output": [
		{"type": "reasoning", "summary": [{"type": "summary_text", "text": "why"}]},
		{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "two things"}]},
		{"type": "function_call", "call_id": "1", "name": "a", "arguments": "{\"x\":1}"},
		{"type": "function_call", "call_id": "2", "name": "b", "arguments": ""},
		{"type": "function_call_output", "call_id": "1", "output": "one"},
		{"type": "web_search_call", "id": "w"},
		{"type": "reasoning", "summary": []},
		{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}]}}', NULL),
	('{"responses_create_params": {"input": "a question"}, "reward": 1.0, "response": {"id": "resp_2", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "an answer"}]}]}}', '/g/quiz.jsonl');
SELECT groups, rollouts_added, steps_added, dropped, repaired FROM stepadv.import_rollouts('imp', 'docs');
SELECT * FROM shown;
SELECT rollout_id, model, outcome, success, metadata FROM imp.rollouts ORDER BY 1;

-- ---------- verl: one step each; the prompt is the task, the training step the policy
SELECT fresh();
INSERT INTO docs (document, source) VALUES
	('{"input": "q1", "output": "a", "score": 1.0, "step": 20, "gts": "a"}', '/dump/20.jsonl'), ('{"input": "q1", "output": "a", "score": 1.0, "step": 20, "gts": "a"}', '/dump/20.jsonl'),
	('{"input": "q1", "output": "b", "score": 0.0, "step": 20, "acc": false}', '/dump/20.jsonl'), ('{"input": "q1", "output": "b", "score": 0.0, "step": 21}', '/dump/21.jsonl');
SELECT groups, rollouts_added, steps_added FROM stepadv.import_rollouts('imp', 'docs');
SELECT rollout_id, policy_version, outcome, success, r.metadata, observation, action, reward FROM imp.rollouts r JOIN imp.steps s USING (group_id, rollout_id) ORDER BY 1;

-- ---------- InterCode: the outcome is the best score; one observation too few
SELECT fresh();
INSERT INTO docs (document, source) VALUES
	('{"0": {"environment": "ic_bash", "task_id": 0, "query": "list", "turn_history": {"actions": ["ls", "ls -l"], "observations": ["a"], "rewards": [0.5, 0.9999999999999998], "valid_action": [true, false]}, "summary": {"max_reward": 0.9999999999999998, "turns_taken": 2, "turns_max": 10}},
	  "8": {"environment": "ic_bash", "task_id": 8, "query": "fail", "turn_history": {"actions": [], "observations": [], "rewards": [], "valid_action": []}, "summary": {"max_reward": 0}}}', 'ic_run.json');
SELECT groups, rollouts_added, stepless_rollouts, steps_added, repaired FROM stepadv.import_rollouts('imp', 'docs');
SELECT * FROM shown;
SELECT rollout_id, outcome, success, truncated FROM imp.rollouts ORDER BY 1;

-- ---------- ReAct logs.  Trial 1: one solved, one not, one twice in the list;
-- trial 2: the solved one is a copy, the other comes with what it learnt.
SELECT fresh();
INSERT INTO docs (document, source) VALUES (E'####################\nBEGIN TRIAL 1\nTrial summary: Correct: 1\n####################\n------------- BEGIN CORRECT AGENTS -------------\n\nQuestion: Who?\nThought 1: I search.\nAction 1: Search[Who]\nObservation 1: A man.\nWith a hat.\nThought 2: Clear.\nAction 2: Finish[he]\nObservation 2: Answer is CORRECT\nCorrect answer: he\n\n------------- BEGIN INCORRECT AGENTS -----------\n\nQuestion: When?\nThought 1: Hm.\nAction 1: Finish[now]\nObservation 1: Answer is INCORRECT\nCorrect answer: then\n\n------------- BEGIN HALTED AGENTS --------------\n\nQuestion: When?\nThought 1: Hm.\nAction 1: Finish[now]\nObservation 1: Answer is INCORRECT\nCorrect answer: then\n\nBEGIN TRIAL 2\n------------- BEGIN CORRECT AGENTS -------------\n\nQuestion: Who?\nAction 1: Finish[he]\nObservation 1: Answer is CORRECT\n------------- BEGIN HALTED AGENTS --------------\n\nQuestion: When?You have attempted to answer following question before and failed.\nReflections:\n- now is wrong\nThought 1: Hm.\nAction 1: Search[x]\nObservation 1: Could not find [x].\nThought 2: I give up\nAction 2: nothing to do\n', '/logs/hotpot.txt'),
	(E'-----------------\n1\nAction: reset\nObservation: \nShop \n[Search] \n\nAction: search[mic]\nObservation: \n[Mic] \n\nAction: think[Nice.]\nObservation: OK.\n\nAction: click[Buy Now]\nObservation: Your score (min 0.0, max 1.0): 0.75\n\n1 0.75 0.0 0.0\n-------------\n-----------------\n2\nAction: reset\nObservation: \nShop \n[Search] \n\nAction: click[Next]\nObservation: Invalid action!\n\n2 0.3 0.0 0.5\n-------------\n', '/logs/shop.txt');
SELECT groups, rollouts_read, rollouts_added, steps_added, dropped, repaired FROM stepadv.import_rollouts('imp', 'docs');
SELECT * FROM shown;
SELECT rollout_id, outcome, success, truncated, metadata FROM imp.rollouts ORDER BY 1;

-- ---------- anything else, by paths
SELECT fresh();
INSERT INTO docs (document) VALUES ('{"run": "v3", "episodes": [
	{"task": "t1", "no": 1, "score": 2, "turns": [{"k": 10, "saw": "door", "did": "open", "with": "{\"key\": 1}", "r": 0.5}, {"k": 20, "saw": ["hall", "dark"], "did": {"go": "north"}, "with": "{key", "p": "x"}]},
	{"task": "t1", "no": 2, "score": null, "turns": []}, {"no": 3, "turns": []}]}');
\set paths '{"rollouts": "$.episodes[*]", "group_id": "$.task", "rollout_id": "$.no", "outcome": "$.score", "policy_version": "$document.run", "steps": "$.turns[*]", "step_no": "$.k", "observation": "$.saw", "action": "$.did", "args": "$.with", "reward": "$.r", "step_meta": "$.p"}'
\set VERBOSITY terse
CREATE FUNCTION stepadv.parse_by_paths(text, jsonb) RETURNS SETOF jsonb LANGUAGE plpgsql AS $$ BEGIN RAISE 'a stranger''s function'; END $$;
SELECT rollouts_read, bad_rollouts, rollouts_added, stepless_rollouts, unjudged_rollouts, steps_added, repaired, problems FROM stepadv.import_rollouts('imp', 'docs', on_error => 'skip', paths => :'paths', success_at => 2);
SELECT * FROM shown;
SELECT rollout_id, outcome, success, policy_version FROM imp.rollouts ORDER BY 1;
SELECT stepadv.import_rollouts('imp', 'docs', paths => '{"group_id": "$.a", "what": "$.b"}');
SELECT stepadv.import_rollouts('imp', 'docs', paths => '{"group_id": "$.a["}');
SELECT stepadv.import_rollouts('imp', 'docs', paths => '{"group_id": 1}');
SELECT stepadv.import_rollouts('imp', 'docs', paths => '[]');
SELECT stepadv.import_rollouts('imp', 'docs', 'verl', paths => '{"observation": "$"}');
SELECT stepadv.import_rollouts('imp', 'docs', 'paths');

-- Values of the wrong type, numbers twice, numbers missing: each rollout is left out with the reason.
TRUNCATE docs RESTART IDENTITY;
INSERT INTO docs (document) VALUES ('[{"r": "1"}, {"r": "2", "o": true}, {"r": "3", "s": 1}, {"r": "4", "c": "test"}, {"r": "5", "at": "tomorrow-ish"}, {"r": "6", "steps": [{"w": "1"}]},
	{"r": "7", "steps": [{}, {"k": 1.5}]}, {"r": "8", "steps": [{"k": 1}, {"k": 1}]}, {"r": "9", "steps": [{"k": 0.5}]}, {"r": "10", "steps": [{"cost": 0}]}, {"r": "11", "steps": [{"w": 1e301}]}, {"r": "12", "steps": [{"k": 3000000000}]},
	{"r": [1]}, {"r": "13", "o": -1e301}]');
SET client_min_messages = error;
SELECT p ->> 'problem' AS problem FROM stepadv.import_rollouts('imp', 'docs', on_error => 'skip', paths => '{"rollouts": "$[*]", "group_id": "$document.type()", "rollout_id": "$.r", "outcome": "$.o", "success": "$.s", "channel": "$.c", "started_at": "$.at", "step_no": "$.k", "reward": "$.w", "cost": "$.cost"}') i, jsonb_array_elements(i.problems) p ORDER BY 1;
SET client_min_messages = warning;
SELECT rollout_id FROM imp.rollouts ORDER BY 1;

-- ---------- what cannot be used: each with its document and why
SELECT fresh();
INSERT INTO docs (document) VALUES
	('{"task_id": 1, "trial": 0, "reward": 1, "traj": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "ok"}]}'),	-- 1: good
	('{"task_id": 1, "trial": 1, "traj": [{"role": "us'),			-- 2: truncated
	('{"task_id": 1, "trial": 2, "reward": 1}'),					-- 3: no trajectory
	('{"task_id": 1, "trial": 3, "reward": "1", "messages": []}'),	-- 4: a score that is no number
	('{"task_id": 1, "trial": 4, "reward": 1e400, "messages": []}'),	-- 5: nor this
	('[]'), ('null'), ('"text"'), ('nonsense'),						-- 6 to 9
	(''), (E' \n\t '),												-- empty: passed over
	('{"trajectory": 5}'),											-- 12
	('{"task_id": 1, "trial": 0, "reward": 1, "traj": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "else"}]}'),	-- 13: the id of 1
	('{"task_id": 1, "trial": 0, "reward": 1, "traj": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "ok"}]}'),	-- 14: 1 once more
	('{"group_id": "g", "rollout_id": "r", "step_no": 0}'),			-- 15: for load_rollouts
	('{"task_id": 1, "trial": 5, "traj": ' || repeat('[', 100000)),	-- 16: too deep
	('{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": {"a": 1}, "arguments": 7}}, 5, null, "x"]}, 3, null, {"role": "tool"}, {"role": "robot", "content": "?"}], "task_id": [1]}'),	-- 17: odd, but usable
	('{"5": {"turn_history": {"actions": "ls"}}}'),					-- 18
	('{"input": "q", "output": 5}'),								-- 19
	('{"messages": [], "task_id": 2, "resolved": true, "channel": 3, "reward": 1}');	-- 20: a key that means nothing here
SELECT rollouts_added FROM stepadv.import_rollouts('imp', 'docs');
SELECT count(*) FROM imp.rollouts;
SET client_min_messages = error;
CREATE TEMP TABLE skipped AS SELECT * FROM stepadv.import_rollouts('imp', 'docs', on_error => 'skip');
SET client_min_messages = warning;
SELECT documents_read, bad_documents, rollouts_read, bad_rollouts, rollouts_added, rollouts_repeated, steps_added, steps_repeated, dropped, repaired FROM skipped;
SELECT p ->> 'document' AS document, left(regexp_replace(p ->> 'problem', ' \(.*', ''), 90) AS problem FROM skipped, jsonb_array_elements(problems) p WHERE p ->> 'document' <> '16' ORDER BY (p ->> 'document')::integer;
SELECT * FROM shown;
-- The same when the format is said.
SET client_min_messages = error;
SELECT p ->> 'problem' AS problem, count(*) FROM stepadv.import_rollouts('imp', 'docs', 'mini_swe_agent', on_error => 'skip') i, jsonb_array_elements(i.problems) p WHERE p ->> 'problem' ~ 'there is' GROUP BY 1;
SET client_min_messages = warning;
SELECT r ->> 'problem' FROM stepadv.parse_openai_chat('[{"task_id": 1}]') r UNION ALL SELECT r ->> 'problem' FROM stepadv.parse_swe_agent('{}') r UNION ALL SELECT r ->> 'problem' FROM stepadv.parse_responses('{}') r
UNION ALL SELECT r ->> 'problem' FROM stepadv.parse_verl('{}') r UNION ALL SELECT r ->> 'problem' FROM stepadv.parse_react('nothing') r UNION ALL SELECT r ->> 'problem' FROM stepadv.parse_intercode('{"a": 1}') r;
-- Against the tables: another rollout of the same name is left out whole, its outcome too; a longer one goes on.
TRUNCATE docs RESTART IDENTITY;
INSERT INTO docs (document) VALUES
	('{"task_id": 1, "trial": 0, "reward": 0, "traj": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "else"}, {"role": "user", "content": "on"}, {"role": "assistant", "content": "more"}]}');
SELECT stepadv.import_rollouts('imp', 'docs');
SELECT contradictions, rollouts_added, rollouts_updated, steps_added, steps_repeated, problems FROM stepadv.import_rollouts('imp', 'docs', on_error => 'skip');
SELECT outcome FROM imp.rollouts WHERE rollout_id = '1-t0';
TRUNCATE docs RESTART IDENTITY;
INSERT INTO docs (document) VALUES
	('{"task_id": 1, "trial": 0, "reward": 1, "traj": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "on"}, {"role": "assistant", "content": "more"}]}');
SELECT contradictions, rollouts_added, rollouts_updated, rollouts_repeated, steps_added, steps_repeated FROM stepadv.import_rollouts('imp', 'docs');
\set VERBOSITY default

-- U+0000, in the document and in arguments that are JSON within JSON; 1 MB.
SELECT fresh();
INSERT INTO docs (document) VALUES ('{"task_id": "n", "trial": 0, "reward": 0, "messages": [{"role": "user", "content": "a\u0000b"}, {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\"x\": \"\\u0000\"}"}}]}]}'),
	('{"task_id": "n", "trial": 1, "reward": 0, "messages": [{"role": "user", "content": "' || repeat('x', 1000000) || '"}, {"role": "assistant", "content": "' || repeat('y', 1000000) || '"}]}'),
	(E'Question: Q\x1a?\nAction 1: Finish[a]\n');
SELECT rollouts_added, nul_replaced, repaired FROM stepadv.import_rollouts('imp', 'docs');
SELECT length(observation), length(action), observation LIKE U&'%\FFFD%' AS nul_in_observation, args = jsonb_build_object('x', U&'\FFFD') AS nul_in_args FROM imp.steps ORDER BY 1;

-- Bytes that came in as LATIN1; a file that is not UTF-8.
SELECT fresh();
INSERT INTO docs (document, source) SELECT convert_from(b, 'LATIN1'), 'Ä/ß.json' FROM (VALUES
	(convert_to('{"task_id": "Ä→🙂", "trial": 0, "reward": 0, "messages": []}', 'UTF8')), (convert_to('{"task_id": "', 'UTF8') || '\xff'::bytea || convert_to('", "messages": []}', 'UTF8'))) v(b);
SET client_min_messages = error;
SELECT bad_documents, rollouts_added, problems FROM stepadv.import_rollouts('imp', 'docs', on_error => 'skip', is_latin1 => true);
SET client_min_messages = warning;
SELECT group_id = 'Ä→🙂' AS group_id, metadata ->> 'source' = 'Ä/ß.json' AS source FROM imp.rollouts;

-- jsonb instead of text; hostile names; what is refused.
CREATE SCHEMA "s'""; %s";
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('s''"; %s', partitions => 1, group_by => '{group_id}');
CREATE TEMP TABLE "d'""; DROP TABLE docs; --" (n bigint, document jsonb);
INSERT INTO "d'""; DROP TABLE docs; --" VALUES (1, '{"task_id": "''; DROP TABLE docs; --", "trial": "%s %I", "success": true, "messages": [{"role": "assistant", "content": "$q$"}]}'), (2, NULL);
SELECT documents_read, rollouts_added, steps_added FROM stepadv.import_rollouts('s''"; %s', '"d''""; DROP TABLE docs; --"', group_prefix => '$q$''"');
SELECT r.group_id, r.rollout_id, action FROM "s'""; %s".rollouts r JOIN "s'""; %s".steps s USING (group_id, rollout_id);
SELECT stepadv.import_rollouts('imp', 'docs', 'csv');
SELECT stepadv.import_rollouts('imp', 'docs', 'openai-chat');
SELECT stepadv.import_rollouts('imp', 'docs', on_error => 'ignore');
SELECT stepadv.import_rollouts('nowhere', 'docs');
SELECT stepadv.import_rollouts('imp', 'imp.steps');
TRUNCATE docs;
SELECT documents_read, rollouts_read, dropped, repaired, problems FROM stepadv.import_rollouts('imp', 'docs');

-- Lines of a file: one document each, one document together, or steps.
CREATE TABLE lines (n bigint GENERATED ALWAYS AS IDENTITY, line text);
INSERT INTO lines (line) VALUES (U&'\FEFF{"input": "q", "output": "a", "score": 1, "step": 1}'), (''), ('{"input": "q", "output": "b", "score": 0, "step": 1}');
SELECT f ->> 'format' AS format, f ->> 'documents_read' AS documents, f ->> 'rollouts_added' AS added FROM stepadv_internal.import_file('imp', 'lines', '1.jsonl') f;
SELECT rollout_id FROM imp.rollouts WHERE rollout_id ~ '^1:' ORDER BY 1;
TRUNCATE lines;
INSERT INTO lines (line) VALUES ('{'), ('  "task_id": "p", "trial": 0,'), ('  "messages": []'), ('}');
SELECT f ->> 'format' AS format, f ->> 'documents_read' AS documents, f ->> 'rollouts_added' AS added FROM stepadv_internal.import_file('imp', 'lines', 'a/p.json', 'openai_chat') f;
TRUNCATE lines;
INSERT INTO lines (line) VALUES ('{"group_id": "s", "rollout_id": "r", "step_no": 0, "action": "x", "outcome": 1}'), ('{"group_id": "s", "rollout_id": "r", "step_no": 1, "action": "y"}');
SELECT f ->> 'format' AS format, f ->> 'documents_read' AS documents, f ->> 'steps_added' AS steps FROM stepadv_internal.import_file('imp', 'lines') f;
-- Each shape is known by its own marks.
SELECT stepadv.rollout_format(d) FROM unnest(ARRAY['[{"traj": []}]', '{"trajectory": []}', '{"messages": [], "info": {"mini_version": "2"}}', '{"messages": []}', '[{"role": "user"}]', '{"response": {"output": []}}',
	'{"input": "", "output": ""}', '{"0": {"turn_history": {}}}', '{"group_id": 1, "rollout_id": 2}', '{"simulations": []}', '{}', '[]', '5', 'null']::jsonb[]) WITH ORDINALITY d(d, i) ORDER BY i;
-- What each format wants; and two that fit: none is taken, and both are said.
SELECT * FROM stepadv.rollout_formats('{"input": "q", "output": "a", "score": 1}');
SELECT format FROM stepadv.rollout_formats('{"traj": [], "turn_history": {}}') WHERE fits;
SELECT stepadv.rollout_format('{"traj": [], "turn_history": {}}') IS NULL AS none, stepadv_internal.import_unknown('{"traj": [], "turn_history": {}}');
SELECT d, stepadv_internal.import_keys(d) FROM unnest(ARRAY['{"a": 1, "b\n": 2}', '[{"a": 1}]', '[]', '[5]', '"x"', 'null']::jsonb[]) d;
SELECT stepadv_internal.import_likely_paths('{"runs": [{"task": "t", "won": true, "turns": [{"obs": "o", "act": "a", "r": 1}]}]}'), stepadv_internal.import_likely_paths('[]');
-- What says something else takes the place of what is there, and only that: b is left alone.
TRUNCATE docs RESTART IDENTITY;
INSERT INTO docs (document) VALUES ('[{"task_id": "u", "trial": 0, "reward": 0, "traj": [{"role": "assistant", "content": "one"}, {"role": "user", "content": "hm"}, {"role": "assistant", "content": "two"}]},
	{"task_id": "u", "trial": 1, "reward": 1, "traj": [{"role": "assistant", "content": "same"}]}, {"task_id": "u", "trial": 2, "reward": 0, "traj": [{"role": "assistant", "content": "late"}]}]');
SELECT rollouts_added, steps_added FROM stepadv.import_rollouts('imp', 'docs', replace => true);
CREATE TEMP TABLE before AS SELECT rollout_id, step_id FROM imp.steps WHERE group_id = 'u';
UPDATE docs SET document = '[{"task_id": "u", "trial": 0, "reward": 0, "traj": [{"role": "assistant", "content": "one"}]},
	{"task_id": "u", "trial": 1, "reward": 1, "traj": [{"role": "assistant", "content": "same"}]}, {"task_id": "u", "trial": 2, "reward": 1, "traj": [{"role": "assistant", "content": "late"}]}]';
SELECT rollouts_added, rollouts_updated, rollouts_repeated, contradictions FROM stepadv.import_rollouts('imp', 'docs', replace => true);
SELECT r.rollout_id, r.outcome, s.step_no, s.action, b.step_id IS NOT NULL AS untouched FROM imp.rollouts r JOIN imp.steps s USING (group_id, rollout_id) LEFT JOIN before b USING (step_id) WHERE group_id = 'u' ORDER BY 1, 3;
-- Lines: a step at a time.
TRUNCATE lines;
INSERT INTO lines (line) VALUES ('{"group_id": "s", "rollout_id": "r", "step_no": 1, "action": "other", "outcome": 0}');
SELECT steps_added, rollouts_updated, contradictions FROM stepadv.load_rollouts('imp', 'lines', replace => true);
SELECT r.outcome, s.step_no, s.action FROM imp.rollouts r JOIN imp.steps s USING (group_id, rollout_id) WHERE group_id = 's' ORDER BY 2;

-- Into tables grouped by default: the task, the version and the run as the source says, else as the call says of all.
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('imp_run', partitions => 1);
TRUNCATE docs RESTART IDENTITY;
INSERT INTO docs (document, source) VALUES
	('{"input": "Fix it", "output": "done", "score": 1, "step": 7, "uid": "u1"}', 'dump/7.jsonl'), ('{"input": "Fix it", "output": "no", "score": 0, "step": 8, "uid": "u2"}', 'dump/8.jsonl'),
	('{"task_id": "t", "trial": 0, "reward": 1, "run_id": "own", "policy_step": 12, "traj": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "ok"}]}', 'chat.json'),
	('{"task_id": "t", "trial": 0, "reward": 0, "policy_version": "v2", "traj": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "no"}]}', 'chat.json');
SELECT groups, rollouts_added, steps_added, rollouts_repeated FROM stepadv.import_rollouts('imp_run', 'docs', group_prefix => 'x-', run_id => 'seed 1', policy_version => 'v1', policy_step => 3);
SELECT run_id, policy_version, policy_step, regexp_replace(task_id, '[0-9a-f]{10,}', '(hash)') AS task, dense_rank() OVER (ORDER BY task_id) AS task_no, regexp_replace(rollout_id, '[0-9a-f]{10,}', '(hash)') AS rollout, outcome
FROM imp_run.rollouts ORDER BY 1, 2;
-- One prompt under two policies is one task; its group is still that of the training step where tables are grouped by group_id.
SELECT r ->> 'task_id' = lag(r ->> 'task_id') OVER (ORDER BY n) AS same_task, regexp_replace(r ->> 'group_id', '/.*', '') AS "group" FROM docs, stepadv.parse_verl(document::jsonb, source, n) r WHERE n <= 2;
-- Again: known; as another run: new.
SELECT rollouts_added, rollouts_repeated FROM stepadv.import_rollouts('imp_run', 'docs', group_prefix => 'x-', run_id => 'seed 1', policy_version => 'v1');
SELECT rollouts_added, rollouts_repeated FROM stepadv.import_rollouts('imp_run', 'docs', group_prefix => 'x-', run_id => 'seed 2', policy_version => 'v1');
-- By paths; what is of the wrong type; what tables of other columns lack.
TRUNCATE docs RESTART IDENTITY;
INSERT INTO docs (document) VALUES ('{"run": 5, "at": 30, "e": [{"t": "door", "m": {"k": 1}, "s": [{"a": "x"}]}, {"t": "hall", "at": "late"}, {"t": ["x"]}]}');
SET client_min_messages = error;
SELECT rollouts_added, problems FROM stepadv.import_rollouts('imp_run', 'docs', on_error => 'skip', paths => '{"rollouts": "$.e[*]", "task_id": "$.t", "run_id": "$document.run", "policy_step": "$.at", "tags": "$.m", "steps": "$.s[*]", "action": "$.a"}');
SELECT run_id, policy_version, task_id, policy_step, tags FROM imp_run.rollouts WHERE task_id = 'door';
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('imp_by', partitions => 1, group_by => '{kind}');
SELECT rollouts_added, problems FROM stepadv.import_rollouts('imp_by', 'docs', on_error => 'skip', paths => '{"rollouts": "$.e[0]", "group_id": "$.t"}');
SELECT rollouts_added, problems FROM stepadv.import_rollouts('imp_by', 'docs', on_error => 'skip', paths => '{"rollouts": "$.e[0]", "group_id": "$.t", "meta": "$document.kinds"}');
UPDATE docs SET document = replace(document, '"run": 5', '"kinds": {"kind": "easy"}');
SELECT rollouts_added, problems FROM stepadv.import_rollouts('imp_by', 'docs', on_error => 'skip', paths => '{"rollouts": "$.e[0]", "group_id": "$.t", "meta": "$document.kinds"}');
SET client_min_messages = warning;
SELECT kind, task_id FROM imp_by.rollouts;
DROP SCHEMA imp_run, imp_by CASCADE;

-- Steps go to the table many at a time, or by an INSERT where somebody's trigger is to see them: the same rows.
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('imp_many');
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('imp_each');
CREATE FUNCTION imp_each.look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER look BEFORE INSERT ON imp_each.steps FOR EACH ROW EXECUTE FUNCTION imp_each.look();
TRUNCATE docs RESTART IDENTITY;
INSERT INTO docs (document, source) VALUES
	('[{"task_id": 7, "trial": 0, "reward": 1, "traj": [{"role": "assistant", "content": "Hello"}, {"role": "user", "content": "My bag?"},
		{"role": "assistant", "content": "Let me see", "reasoning": "two calls", "tool_calls": [{"id": "c1", "function": {"name": "find", "arguments": "{\"color\": \"red\"}"}}, {"id": "c2", "function": {"name": "ask", "arguments": "{oops"}}]},
		{"role": "tool", "tool_call_id": "c2", "content": "Error: bad"}, {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "5"}]}, {"role": "assistant", "content": "Bag 5"}]}]', 'a.json'),
	('{"0": {"environment": "ic_sql", "query": "how many", "turn_history": {"actions": ["a", "b"], "observations": ["x", "x"], "rewards": [0, 0.5], "valid_action": [true, false]}, "summary": {"max_reward": 0.5}}}', 'ic.json'),
	('{"input": "Fix it", "output": "done", "score": 1, "step": 7}', 'dump/7.jsonl');
SELECT m.steps_added, e = m AS same FROM stepadv.import_rollouts('imp_many', 'docs') m, stepadv.import_rollouts('imp_each', 'docs') e;
-- In any order, with metadata that the tables have no column for, and a list of steps that is longer by one later.
TRUNCATE docs RESTART IDENTITY;
INSERT INTO docs (document) VALUES ('{"t": "door", "g": "easy", "r": 1, "s": [{"no": 5, "a": "enter", "o": "open", "n": "in", "m": {"k": 1}}, {"no": 2, "a": "knock", "n": "open", "m": "odd", "c": 2.5, "u": 0.5}]}');
SELECT m.steps_added, e = m AS same FROM (VALUES ('{"task_id": "$.t", "group_id": "$.g", "rollout_id": "$.r", "steps": "$.s[*]", "step_no": "$.no", "observation": "$.o", "next_observation": "$.n", "action": "$.a", "cost": "$.c", "turn_reward": "$.u", "step_meta": "$.m"}'::jsonb)) p(paths),
	stepadv.import_rollouts('imp_many', 'docs', paths => paths) m, stepadv.import_rollouts('imp_each', 'docs', paths => paths) e;
UPDATE docs SET document = replace(document, '"s": [', '"s": [{"no": 9, "a": "leave", "o": "in"}, ');
SELECT m.steps_added, m.steps_repeated, e = m AS same FROM (VALUES ('{"task_id": "$.t", "group_id": "$.g", "rollout_id": "$.r", "steps": "$.s[*]", "step_no": "$.no", "observation": "$.o", "next_observation": "$.n", "action": "$.a", "cost": "$.c", "turn_reward": "$.u", "step_meta": "$.m"}'::jsonb)) p(paths),
	stepadv.import_rollouts('imp_many', 'docs', paths => paths) m, stepadv.import_rollouts('imp_each', 'docs', paths => paths) e;
TRUNCATE lines;
INSERT INTO lines (n, line) OVERRIDING SYSTEM VALUE VALUES
	(1, '{"task_id": "l", "rollout_id": 1, "step_no": 0, "action": "x", "tool": "bash", "args": ["ls"], "ok": true, "reward": 1, "outcome": 1, "success": true, "started_at": "2026-01-01T00:00:00Z", "extra": [1], "meta": {"model": "m"}}'),
	(2, '{"task_id": "l", "rollout_id": 1, "step_no": 1.0, "observation": "not plain", "action": {"do": "y"}, "meta": 5, "more": true}'),
	(3, '{"task_id": "l", "rollout_id": 1, "step_no": 2, "tool": "f", "turn": 1, "response_token_ids": [1, 2], "response_mask": [true, false], "rollout_logprobs": [-0.5, -1], "prompt_token_ids": [], "policy_step": 12345678901, "terminal": true, "value": 0.25, "cost": 2}'),
	(4, '{"group_id": 5, "rollout_id": "stepless", "truncated": true, "channel": "validation", "curation": "kept", "tags": {"a": 1}, "meta": {"why": "cut"}}');
SELECT m.steps_added, e = m AS same FROM stepadv.load_rollouts('imp_many', 'lines') m, stepadv.load_rollouts('imp_each', 'lines') e;
-- The ids come in the order of the plan, which differs between servers.
SELECT count(*) AS steps, count(*) FILTER (WHERE m = e) AS same FROM (SELECT task_id, rollout_id, step_no, to_jsonb(s) - 'step_id' AS m FROM imp_many.steps s) m FULL JOIN (SELECT task_id, rollout_id, step_no, to_jsonb(s) - 'step_id' AS e FROM imp_each.steps s) e USING (task_id, rollout_id, step_no);
SELECT count(*) AS rollouts, count(*) FILTER (WHERE m = e) AS same FROM (SELECT task_id, rollout_id, to_jsonb(r) AS m FROM imp_many.rollouts r) m FULL JOIN (SELECT task_id, rollout_id, to_jsonb(r) AS e FROM imp_each.rollouts r) e USING (task_id, rollout_id);
-- Which lines are plain, and that they say the same read alone.
SELECT l.n, r.rollout_id IS NOT NULL AS plain, to_jsonb(r) - 'n' = to_jsonb(p) AS same
FROM (SELECT array_agg(l.n ORDER BY l.n) AS numbers, array_agg(l.line ORDER BY l.n) AS lines FROM lines l) a,
	LATERAL ROWS FROM (unnest(a.numbers), stepadv_internal.read_lines(a.lines, false)) r(n) JOIN lines l ON l.n = r.n, LATERAL stepadv.parse_rollout_line(l.line) p ORDER BY l.n;
-- A rollout that somebody's trigger refuses, and a foreign key of somebody's: the server's own words.
CREATE FUNCTION imp_many.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER refuse BEFORE INSERT ON imp_many.rollouts FOR EACH ROW WHEN (NEW.task_id = 'refused') EXECUTE FUNCTION imp_many.refuse();
CREATE TABLE imp_many.tools (name text PRIMARY KEY);
CREATE FUNCTION imp_many.try() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	words text;
BEGIN
	RETURN (SELECT l.steps_added FROM stepadv.load_rollouts('imp_many', 'lines') l);
EXCEPTION WHEN foreign_key_violation THEN
	GET STACKED DIAGNOSTICS words = PG_EXCEPTION_DETAIL;
	RETURN words;
END
$$;
TRUNCATE lines;
INSERT INTO lines OVERRIDING SYSTEM VALUE VALUES (1, '{"task_id": "refused", "rollout_id": "a", "step_no": 0, "action": "x"}');
SELECT imp_many.try();
UPDATE lines SET line = replace(line, 'refused', 'taken');
SELECT imp_many.try();
DELETE FROM imp_many.rollouts;
ALTER TABLE imp_many.steps ADD FOREIGN KEY (tool) REFERENCES imp_many.tools;
UPDATE lines SET line = replace(line, '"action"', '"tool": "unknown", "action"');
SELECT imp_many.try();
SELECT count(*) AS steps FROM imp_many.steps;
DROP SCHEMA imp_many, imp_each CASCADE;

DROP VIEW shown;
DROP TABLE docs, lines;
DROP FUNCTION fresh();
DROP SCHEMA imp CASCADE;
DROP SCHEMA "s'""; %s" CASCADE;
-- What people call is in one schema, its inner parts are in another; every
-- function that is not bound at its creation has its own search_path.
SELECT n.nspname AS schema, count(*) > 10 AS several, count(*) FILTER (WHERE p.prosqlbody IS NULL AND p.prolang <> (SELECT l.oid FROM pg_language l WHERE l.lanname = 'c') AND p.proconfig[1] IS DISTINCT FROM 'search_path=pg_catalog, pg_temp') AS open,
	string_agg(DISTINCT p.proname, ' ' ORDER BY p.proname) FILTER (WHERE n.nspname <> 'stepadv_internal') AS public
FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE d.deptype = 'e' AND d.classid = 'pg_proc'::regclass AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'stepadv_import')
GROUP BY n.nspname ORDER BY 1;
DROP EXTENSION stepadv_import;
DROP FUNCTION stepadv.parse_by_paths(text, jsonb);

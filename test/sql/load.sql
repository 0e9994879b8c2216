-- load_rollouts: from lines of JSON to the canonical tables.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
-- A user who may create objects in the schemas: nothing they create is ever called.
CREATE FUNCTION stepadv.array_ndims(integer[]) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'a stranger''s function'; END $$;
SELECT count(*) > 0 AS attached FROM stepadv.create_tables('load_t', group_by => '{group_id}', views => '{values,rtmc,groups}');
CREATE TABLE load_lines (n bigint GENERATED ALWAYS AS IDENTITY, line text);

-- Two rollouts of one task, one that never took a step, one not judged.
INSERT INTO load_lines (line) VALUES
	('{"group_id": "g", "rollout_id": "a", "step_no": 0, "observation": null, "next_observation": "seen", "action": "look", "tool": "ls", "args": {"p": "/", "l": 1}, "ok": true, "reward": 0.5, "outcome": 1, "success": true, "terminal": false, "truncated": false, "meta": {"model": "m1", "k": [1, 2]}}'),
	('{"group_id": "g", "rollout_id": "a", "step_no": 1, "observation": "seen", "next_observation": "the end", "action": "go", "tool": null, "args": null, "ok": null, "reward": 0.5, "outcome": 1.0, "success": true, "terminal": true, "truncated": false, "meta": null}'),
	(''),
	('{"group_id": "g", "rollout_id": "b", "step_no": 0, "observation": null, "action": "look again", "tool": "ls", "args": {"l": 1.0, "p": "/"}, "outcome": 0, "success": false, "truncated": true, "policy_version": 7, "seen_by": "us"}'),
	('   	'),
	('{"group_id": "g", "rollout_id": "c", "step_no": null, "outcome": 0.25, "model": "m2", "meta": {"why": "crashed"}}'),
	('{"group_id": 5, "rollout_id": "d", "step_no": 3, "observation": "seen", "action": "go", "tool": "ls", "outcome": null, "success": null, "value": -0.5, "turn": 2, "prompt_token_ids": [1, 2], "response_token_ids": [3, 4], "response_mask": [true, false], "rollout_logprobs": [-0.5, -1e-3]}'),
	('{"group_id": 5, "rollout_id": "d", "step_no": 4, "observation": null, "action": null, "meta": {"of": "a step"}}'),
	('{"group_id": "g", "rollout_id": "c", "success": false}');
SELECT * FROM stepadv.load_rollouts('load_t', 'load_lines') \gx
SELECT group_id, rollout_id, policy_version, model, outcome, success, truncated, channel, metadata FROM load_t.rollouts ORDER BY 1, 2;
SELECT group_id, rollout_id, step_no, turn, observation, next_observation, action, tool, args, ok, reward, value, metadata FROM load_t.steps ORDER BY 1, 2, 3;
SELECT prompt_token_ids, response_token_ids, response_mask, rollout_logprobs FROM load_t.steps WHERE turn = 2;
-- Equal identities: rollouts that begin without an observation begin in one state; equal tool and arguments are one action, with any text.
SELECT a0.state = b0.state AS one_start, a0.state = stepadv.signature_hash('\x00'::bytea) AS is_the_hash_of_nul,
	a0.next_state = a1.state AS states_chain, a1.state = stepadv.signature_hash('seen'::text) AS observation_hashed,
	a0.action_hash = b0.action_hash AS same_call, a0.action_hash = stepadv.signature_hash(stepadv.action_signature(a0.tool, a0.args, a0.ok)) AS call_hashed,
	a1.action_hash = stepadv.signature_hash('go'::text) AS words_hashed, d3.action_hash = stepadv.signature_hash(stepadv.action_signature(d3.tool, d3.args, d3.ok)) AS whatever_the_words
FROM load_t.steps a0, load_t.steps a1, load_t.steps b0, load_t.steps d3
WHERE (a0.rollout_id, a0.step_no) = ('a', 0) AND (a1.rollout_id, a1.step_no) = ('a', 1) AND (b0.rollout_id, b0.step_no) = ('b', 0) AND (d3.rollout_id, d3.step_no) = ('d', 3);
SELECT state, action_hash, next_state FROM load_t.steps WHERE rollout_id = 'd' AND step_no = 4;
SELECT rollout_id, step_no, return, observation FROM load_t.steps_rtmc WHERE group_id = 'g' ORDER BY 1, 2;
SELECT group_id, n_rollouts, n_judged, n_steps FROM load_t.steps_groups ORDER BY 1;

-- Loading it again changes nothing.
CREATE TEMP TABLE before AS SELECT * FROM load_t.steps;
SELECT n_groups, n_rollouts_added, n_rollouts_updated, n_steps_added, n_steps_repeated, n_contradictions, problems FROM stepadv.load_rollouts('load_t', 'load_lines');
SELECT count(*) AS changed FROM (SELECT * FROM load_t.steps EXCEPT ALL SELECT * FROM before) x;
-- A score that arrives later; a step that was missing.
TRUNCATE load_lines RESTART IDENTITY;
INSERT INTO load_lines (line) VALUES ('{"group_id": "5", "rollout_id": "d", "step_no": null, "outcome": 0.75, "success": true}'),
	('{"group_id": "g", "rollout_id": "b", "step_no": 1, "observation": null, "action": "go"}');
SELECT n_rollouts_added, n_rollouts_updated, n_steps_added, n_steps_repeated, n_contradictions FROM stepadv.load_rollouts('load_t', 'load_lines');
SELECT outcome, success FROM load_t.rollouts WHERE rollout_id = 'd';
-- (Only a rollout's first step is at the start.)
SELECT step_no, state IS NULL AS unknown FROM load_t.steps WHERE rollout_id = 'b' ORDER BY 1;

-- U+0000: an odd number of backslashes before u0000 is one, an even number none.
TRUNCATE load_lines RESTART IDENTITY;
INSERT INTO load_lines (line) VALUES
	('{"group_id": "nul", "rollout_id": "r", "step_no": 0, "observation": "a\u0000b\\u0000c\\\u0000d\\\\u0000", "action": "\u0000\u0000", "args": {"k\u0000": "\u00000"}, "outcome": 1}');
SELECT n_steps_added, n_nul_replaced FROM stepadv.load_rollouts('load_t', 'load_lines');
SELECT observation = U&'a\FFFDb\005Cu0000c\005C\FFFDd\005C\005Cu0000' AS observation, action = U&'\FFFD\FFFD' AS action, args = jsonb_build_object(U&'k\FFFD', U&'\FFFD0') AS args
FROM load_t.steps WHERE group_id = 'nul';

-- Lines that cannot be used: each with its number and the reason.
TRUNCATE load_lines RESTART IDENTITY;
INSERT INTO load_lines (line) VALUES
	('{"group_id": "bad", "rollout_id": "ok", "step_no": 0, "action": "x", "outcome": 1}'),
	('{"group_id": "bad", "rollout_id": "r", "step_no": 0'),
	('[1, 2]'), ('"text"'), ('null'), ('nonsense'),
	('{"rollout_id": "r", "step_no": 0}'), ('{"group_id": null, "rollout_id": "r"}'), ('{"group_id": "bad", "rollout_id": ["r"], "step_no": 0}'),
	('{"group_id": "bad", "rollout_id": "r", "step_no": "0"}'), ('{"group_id": "bad", "rollout_id": "r", "step_no": 0.5}'), ('{"group_id": "bad", "rollout_id": "r", "step_no": 3000000000}'),
	('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "reward": "much"}'), ('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "reward": 1e400}'), ('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "reward": NaN}'),
	('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "success": 1}'), ('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "outcome": true}'),
	('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "channel": "test"}'), ('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "cost": 0}'),
	('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "observation": "\ud800"}'), ('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "started_at": "tomorrow-ish"}'),
	('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "response_token_ids": [1, 2], "response_mask": [true]}'), ('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "response_token_ids": [1.5]}'),
	('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "response_token_ids": [[1, 2]]}'), ('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "policy_version": [7]}'),
	('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "args": ' || repeat('[', 100000) || '}'),
	('{"group_id": "bad", "rollout_id": "r", "step_no": 0, "action": "a"} trailing');
-- Stop: the first one, and nothing is loaded.
\set VERBOSITY terse
SELECT n_steps_added FROM stepadv.load_rollouts('load_t', 'load_lines');
SELECT count(*) FROM load_t.rollouts WHERE group_id = 'bad';
-- Skip: warned of, counted, listed.
SET client_min_messages = error;
CREATE TEMP TABLE skipped AS SELECT * FROM stepadv.load_rollouts('load_t', 'load_lines', 'skip');
SET client_min_messages = warning;
\set VERBOSITY default
SELECT n_lines, n_empty_lines, n_bad_lines, n_rollouts_added, n_steps_added, n_contradictions, jsonb_array_length(problems) AS listed FROM skipped;
SELECT p ->> 'line' AS line, left(regexp_replace(p ->> 'problem', ' \(.*', ''), 72) AS problem FROM skipped, jsonb_array_elements(problems) p WHERE (p ->> 'line')::integer <> 26 ORDER BY (p ->> 'line')::integer;
-- (The nesting limit is the server's.)
SELECT p ->> 'problem' ~ 'nested too deeply' AS too_deep FROM skipped, jsonb_array_elements(problems) p WHERE (p ->> 'line')::integer = 26;

-- Contradictions: two versions of a step, outcomes that differ.
TRUNCATE load_lines RESTART IDENTITY;
INSERT INTO load_lines (line) VALUES
	('{"group_id": "con", "rollout_id": "r", "step_no": 0, "action": "x", "outcome": 1, "success": true}'),
	('{"group_id": "con", "rollout_id": "r", "step_no": 0, "outcome": 1.0, "success": true, "action": "x"}'),
	('{"group_id": "con", "rollout_id": "r", "step_no": 0, "action": "y", "outcome": 1, "success": true}'),
	('{"group_id": "con", "rollout_id": "s", "step_no": 0, "action": "x", "outcome": 1, "success": true}'),
	('{"group_id": "con", "rollout_id": "s", "step_no": 1, "action": "x", "outcome": 0, "success": false}'),
	('{"group_id": "g", "rollout_id": "a", "step_no": 1, "action": "something else", "outcome": 1, "success": true}'),
	('{"group_id": "g", "rollout_id": "c", "step_no": null, "outcome": 0.5}');
SELECT n_contradictions FROM stepadv.load_rollouts('load_t', 'load_lines');
\set VERBOSITY terse
SELECT n_lines, n_bad_lines, n_rollouts_added, n_rollouts_updated, n_steps_added, n_steps_repeated, n_contradictions FROM stepadv.load_rollouts('load_t', 'load_lines', 'skip');
\set VERBOSITY default
SELECT rollout_id, outcome, success FROM load_t.rollouts WHERE group_id = 'con' OR rollout_id = 'c' ORDER BY 1;
SELECT rollout_id, step_no, action FROM load_t.steps WHERE group_id = 'con' OR (rollout_id, step_no) = ('a', 1) ORDER BY 1, 2;

-- Many lines, more than are parsed at once: the first, some in the middle and the last are bad, one has U+0000, one is empty and one is not a line at all.
TRUNCATE load_lines RESTART IDENTITY;
INSERT INTO load_lines (line)
SELECT CASE i WHEN 1 THEN 'nonsense' WHEN 999 THEN replace(good, 'more', '\u0000') WHEN 1000 THEN replace(good, '0.25', '"0.25"') WHEN 1001 THEN left(good, 12)
	WHEN 1500 THEN replace(good, '"reward": 0.25', '"cost": 0') WHEN 1501 THEN '' WHEN 1502 THEN NULL WHEN 2000 THEN 'null' ELSE good END
FROM (SELECT i, jsonb_build_object('group_id', 'many', 'rollout_id', i / 10, 'step_no', i % 10, 'reward', 0.25, 'response_token_ids', jsonb_build_array(i, 1),
	'observation', repeat('more ', 100), 'action', i)::text AS good FROM generate_series(1, 2000) i) x;
\set VERBOSITY terse
SELECT n_steps_added FROM stepadv.load_rollouts('load_t', 'load_lines');
SELECT count(*) FROM load_t.rollouts WHERE group_id = 'many';
SELECT n_lines, n_empty_lines, n_bad_lines, n_rollouts_added, n_steps_added, n_contradictions, n_nul_replaced, p.* FROM stepadv.load_rollouts('load_t', 'load_lines', 'skip'), LATERAL (SELECT jsonb_path_query_array(problems, '$[*].line') AS lines) p;
-- One in the middle alone, in what was loaded otherwise: nothing more is loaded.
UPDATE load_lines SET line = '{"group_id": "many", "rollout_id": "late", "step_no": 0}' WHERE n = 1 OR n > 1499;
DELETE FROM load_lines WHERE n BETWEEN 1502 AND 2000 OR n = 1001;
SELECT n_steps_added FROM stepadv.load_rollouts('load_t', 'load_lines');
SELECT count(*) FROM load_t.rollouts WHERE rollout_id = 'late';
SELECT n_bad_lines, n_rollouts_added, n_steps_added, n_steps_repeated FROM stepadv.load_rollouts('load_t', 'load_lines', 'skip');
\set VERBOSITY default
-- Every step comes from its own line, also after bad lines.
SELECT count(*), sum(action::integer), count(*) FILTER (WHERE action::integer = rollout_id::integer * 10 + step_no AND response_token_ids = ARRAY[action::integer, 1] AND reward = 0.25) AS own,
	count(*) FILTER (WHERE observation = repeat('more ', 100)) AS with_text, count(*) FILTER (WHERE observation LIKE U&'%\FFFD%') AS with_nul
FROM load_t.steps WHERE group_id = 'many' AND rollout_id <> 'late';

-- No lines, and errors.
TRUNCATE load_lines RESTART IDENTITY;
SELECT * FROM stepadv.load_rollouts('load_t', 'load_lines') \gx
SELECT stepadv.load_rollouts('load_t', 'load_lines', 'ignore');
SELECT stepadv.load_rollouts('load_t', 'load_lines', NULL);
SELECT stepadv.load_rollouts('nowhere', 'load_lines');
SELECT stepadv.load_rollouts('load_t', 'load_t.steps');

-- Temporary tables, and a source with a hostile name.
CREATE TEMP TABLE "lines""; DROP TABLE load_lines; --" (n bigint, line text);
INSERT INTO "lines""; DROP TABLE load_lines; --" VALUES (1, '{"group_id": "''; DROP TABLE load_lines; --", "rollout_id": "%s %I", "step_no": 0, "action": "$q$", "outcome": 1}');
SELECT n_rollouts_added, n_steps_added FROM stepadv.load_rollouts('load_t', '"lines""; DROP TABLE load_lines; --"');
SELECT count(*) FROM load_lines;

-- Into tables with the default group: a task within a version within a run. The group is the task if no task is given; a line's missing values are those of the call, else the column's default.
SELECT count(*) > 0 AS attached FROM stepadv.create_tables('load_run', views => '{values}');
TRUNCATE load_lines RESTART IDENTITY;
INSERT INTO load_lines (line) VALUES
	('{"group_id": "g", "rollout_id": "a", "step_no": 0, "action": "x", "outcome": 1}'),
	('{"task_id": 7, "group_id": "v1/g", "rollout_id": "a", "step_no": 0, "action": "x", "run_id": 3, "policy_version": "v1", "policy_step": 100, "tags": {"level": 2}, "outcome": 0}'),
	('{"task_id": 7, "rollout_id": "a", "step_no": 0, "action": "y", "run_id": 3, "policy_version": "v2", "policy_step": 200, "tags": ["t"]}'),
	('{"task_id": 7, "rollout_id": "a", "step_no": 1, "action": "z", "run_id": 3, "policy_version": "v2"}'),
	('{"rollout_id": "a", "step_no": 0}'), ('{"task_id": ["x"], "rollout_id": "a"}'), ('{"task_id": "x", "rollout_id": "a", "policy_step": 1.5}'), ('{"task_id": "x", "rollout_id": "a", "policy_step": "1"}'), ('{"task_id": "x", "rollout_id": "a", "run_id": true}');
SET client_min_messages = error;
SELECT n_groups, n_rollouts_added, n_steps_added, n_bad_lines, n_contradictions, problems FROM stepadv.load_rollouts('load_run', 'load_lines', 'skip', run_id => 'all', policy_step => 50);
SET client_min_messages = warning;
SELECT run_id, policy_version, task_id, rollout_id, policy_step, outcome, tags FROM load_run.rollouts ORDER BY 1, 2, 3;
SELECT run_id, policy_version, task_id, rollout_id, step_no, action, metadata FROM load_run.steps ORDER BY 1, 2, 3, 5;
-- The same rollout again is known; under another run it is another one; contradictions name the group as written.
DELETE FROM load_lines WHERE n > 4;
SELECT n_rollouts_added, n_steps_added, n_steps_repeated, n_contradictions FROM stepadv.load_rollouts('load_run', 'load_lines', run_id => 'all');
SELECT n_rollouts_added, n_steps_added, n_steps_repeated FROM stepadv.load_rollouts('load_run', 'load_lines', run_id => 'another', policy_version => 'v9');
SELECT run_id, policy_version, task_id FROM load_run.rollouts WHERE policy_version = 'v9';
UPDATE load_lines SET line = replace(line, '"y"', '"other"');
SELECT stepadv.load_rollouts('load_run', 'load_lines', run_id => 'all');
-- Into tables grouped by group_id the task is the group if none is given; a run is a column of the rollout.
TRUNCATE load_lines RESTART IDENTITY;
INSERT INTO load_lines (line) VALUES
	('{"task_id": "t", "rollout_id": "of task", "step_no": 0, "run_id": "s", "policy_step": 1, "tags": 5}'),
	('{"task_id": "t", "group_id": "own", "rollout_id": "of both", "step_no": 0}'), ('{"rollout_id": "of none"}');
SET client_min_messages = error;
SELECT n_rollouts_added, problems FROM stepadv.load_rollouts('load_t', 'load_lines', 'skip', policy_version => 'v3');
SET client_min_messages = warning;
SELECT group_id, rollout_id, task_id, run_id, policy_version, policy_step, tags FROM load_t.rollouts WHERE rollout_id ~ '^of' ORDER BY 1;
-- Into tables of other columns: by any key of the line.
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('load_by', group_by => ARRAY['"Kind''s" {i} %s', 'task_id'], views => '{all}');
TRUNCATE load_lines RESTART IDENTITY;
INSERT INTO load_lines (line) VALUES ('{"task_id": "t", "rollout_id": "a", "step_no": 0, "\"Kind''s\" {i} %s": "easy", "run_id": "s"}'), ('{"task_id": "t", "rollout_id": "a", "step_no": 0, "\"Kind''s\" {i} %s": 2}'), ('{"task_id": "t", "rollout_id": "a"}');
SET client_min_messages = error;
SELECT n_rollouts_added, n_steps_added, problems FROM stepadv.load_rollouts('load_by', 'load_lines', 'skip');
SET client_min_messages = warning;
SELECT """Kind's"" {i} %s" AS kind, task_id, rollout_id, run_id FROM load_by.rollouts ORDER BY 1;
DROP SCHEMA load_run, load_by CASCADE;

DROP TABLE load_lines;
DROP SCHEMA load_t CASCADE;
DROP FUNCTION stepadv.array_ndims(integer[]);

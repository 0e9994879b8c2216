-- training_rows in the shapes of trainers, with the conversation; preference_pairs;
-- the rules success_only and min_action_visits.  What is expected is worked out by
-- hand in the comments, or computed anew in plain SQL.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
\pset format unaligned
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('tr', partitions => 2, group_by => '{task_id}', views => '{all}');

-- ---------- a group by hand
-- In state "door": push (a, b, d; 1, 1 and 0: q = 2/3) and pull (c, e; 0: q = 0);
-- in "hall": a goes left and succeeds, b goes right and succeeds, d goes right and fails.
INSERT INTO tr.rollouts (task_id, rollout_id, outcome, success, metadata) VALUES
	('T', 'a', 1, true, '{"system_prompt": "Find the exit.", "ground_truth": "left", "tools": [{"type": "function", "function": {"name": "push"}}]}'),
	('T', 'b', 1, true, NULL), ('T', 'c', 0, false, NULL), ('T', 'd', 0, false, NULL), ('T', 'e', 0, NULL, NULL), ('U', 'f', NULL, NULL, NULL);
INSERT INTO tr.steps (step_id, task_id, rollout_id, step_no, turn, observation, action, tool, args, next_observation, metadata, prompt_token_ids, response_token_ids, response_mask, rollout_logprobs) VALUES
	(1, 'T', 'a', 0, 0, 'door', '{"name": "push", "arguments": {"how": "hard"}}', 'push', '{"how": "hard"}', 'it gives', '{"text": "I push."}', '{1,2}', '{5,6,7}', '{t,f,t}', '{-0.5,-1,-2}'),
	(2, 'T', 'a', 2, 1, 'hall', 'go left', NULL, NULL, NULL, NULL, '{1,2,5,6,7,8}', '{9}', NULL, NULL),
	(3, 'T', 'b', 0, 0, 'door', '{"name": "push", "arguments": {"how": "hard"}}', 'push', '{"how": "hard"}', NULL, NULL, NULL, NULL, NULL, NULL),
	(4, 'T', 'b', 1, 1, 'hall', 'go right', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(5, 'T', 'c', 0, 0, 'door', 'pull', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(6, 'T', 'd', 0, 0, 'door', '{"name": "push", "arguments": {"how": "hard"}}', 'push', '{"how": "hard"}', 'it gives', NULL, NULL, NULL, NULL, NULL),
	(7, 'T', 'd', 1, 1, E'it gives\nhall', 'go right', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(8, 'T', 'e', 0, NULL, 'door', 'pull', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(9, 'U', 'f', 0, NULL, 'door', 'pull', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

-- Two calls were pushed, so their results are the tool's; the result of a's is what
-- it saw next, d saw its result and then the hall.  Only the last word has weight 1.
SELECT r FROM stepadv.training_rows('tr.steps_rtmc', columns => '{}', shape => 'messages') r;
-- The first of a's with all that is beside it: the advantage on tokens 1 and 3.
-- q = 0.99 * 2 / 3 = 0.66, V'(door) = (3 * 0.66 + 2 * 0.4) / (5 + 2) = 0.39714: 0.26286.
SELECT r FROM stepadv.training_rows('tr.steps_rtmc', shape => 'prompt_completion', system => 'Be quick.') r WHERE r ->> 'rollout_id' IN ('a', 'c');
CREATE VIEW tr.with_tokens AS SELECT * FROM tr.steps_rtmc WHERE response_token_ids IS NOT NULL;
SELECT jsonb_pretty(r) FROM stepadv.training_rows('tr.with_tokens', group_by => '{task_id}', shape => 'verl', data_source => 'doors', ability => 'exits') r;
-- Push over pull in the state "door": 2/3 over 0.  In "hall" left and right are as
-- good, of one rollout each (d saw something else): no pair.
SELECT r FROM stepadv.training_rows('tr.steps_rtmc', shape => 'dpo') r;
SELECT r -> 'chosen' AS chosen, r -> 'rejected' AS rejected FROM stepadv.training_rows('tr.steps_batch_td', columns => '{}', shape => 'dpo', min_gap => 0.5, min_visits => 1) r;
SELECT count(*) FROM stepadv.training_rows('tr.steps_rtmc', shape => 'dpo', min_gap => 0.7) r;
-- Of a selection: pairs of the states that it has a step in. That of e pulls in "door", where c is
-- the pair's example of it; a goes left in "hall", where no pair is.
CREATE VIEW tr.pulls AS SELECT * FROM tr.steps_rtmc WHERE action = 'pull' AND rollout_id = 'e';
SELECT r -> 'chosen_step_id' AS chosen, r -> 'rejected_step_id' AS rejected, r -> 'gap' AS gap FROM stepadv.training_rows('tr.pulls', group_by => '{task_id}', shape => 'dpo') r;
CREATE VIEW tr.lefts AS SELECT * FROM tr.steps_rtmc WHERE action = 'go left';
SELECT (SELECT count(*) FROM tr.lefts) AS steps, count(r) AS pairs FROM stepadv.training_rows('tr.lefts', group_by => '{task_id}', shape => 'dpo') r;
-- selected from again
SELECT stepadv.create_selection('tr.steps_batch_td', 'doors', per_state => 1);
SELECT stepadv.create_selection('tr.doors', 'doors_again');
SELECT name, r -> 'gap' AS gap FROM unnest('{tr.steps_batch_td,tr.doors,tr.doors_again}'::regclass[]) name, stepadv.training_rows(name, shape => 'dpo') r;
-- A turn is a step: the second of two calls stands for it, as the first does; turn 1 has no pair.
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('tt', partitions => 1, group_by => '{task_id}', unit => 'turn', views => '{all}');
INSERT INTO tt.rollouts (task_id, rollout_id, outcome) SELECT 'T', r, r % 2 FROM generate_series(1, 4) r;
INSERT INTO tt.steps (step_id, task_id, rollout_id, step_no, turn, observation, action) SELECT r * 10 + n, 'T', r, n, n / 3, 'place ' || n / 3, CASE n WHEN 2 THEN 'do ' || r % 2 WHEN 3 THEN 'end ' || r ELSE 'see' END FROM generate_series(1, 4) r, generate_series(1, 3) n;
CREATE VIEW tt.second AS SELECT * FROM tt.steps_rtmc WHERE step_id = 32;
CREATE VIEW tt.last AS SELECT * FROM tt.steps_rtmc WHERE step_no = 3;
SELECT name, count(r) AS pairs, min(r ->> 'chosen_step_id') AS chosen, min(r ->> 'rejected_step_id') AS rejected
FROM unnest('{tt.steps_rtmc,tt.second,tt.last}'::regclass[]) name LEFT JOIN LATERAL stepadv.training_rows(name, group_by => '{task_id}', shape => 'dpo') r ON true GROUP BY 1 ORDER BY 1;
-- q of each step: 0.66 and 1 (a), 0.66 and 1 (b), 0, 0.66 and 0 (d), 0.
SELECT r FROM stepadv.training_rows('tr.steps_rtmc', shape => 'prm') r;
SELECT r -> 'labels' AS labels FROM stepadv.training_rows('tr.steps_rtmc', columns => '{}', shape => 'prm', label_above => 0.7) r;

-- ---------- the rules
SELECT rollout_id, step_no, reason FROM stepadv.select_steps('tr.steps_rtmc', success_only => true) ORDER BY 1, 2;
SELECT rollout_id, step_no, reason FROM stepadv.select_steps('tr.steps_rtmc', min_action_visits => 2, success_only => true) ORDER BY 1, 2;
SELECT count(*) = (SELECT count(*) FROM tr.steps_rtmc WHERE n_action >= 2 AND advantage IS NOT NULL) AS as_in_view, count(*) FROM stepadv.select_steps('tr.steps_rtmc', min_action_visits => 2);
SELECT count(*) FROM stepadv.select_steps('tr.steps_rtmc', success_only => true, outcome => 'outcome');
SELECT rule_no, rule, setting, kept FROM stepadv.explain_selection('tr.steps_rtmc', 'rtmc', success_only => true, min_action_visits => 2);
SELECT stepadv.create_selection('tr.steps_rtmc', 'picked', success_only => true, min_action_visits => 2);
SELECT obj_description('tr.picked'::regclass);
SELECT r ->> 'rollout_id' AS rollout, r -> 'completion' AS completion, r ->> 'reason' AS reason FROM stepadv.training_rows('tr.picked', shape => 'prompt_completion') r;
SELECT stepadv.select_steps('tr.steps_rtmc', min_action_visits => 0);
SELECT stepadv.select_steps('tr.steps_grpo', min_action_visits => 1);
CREATE VIEW tr.plain AS SELECT task_id, rollout_id, step_no, step_id, advantage FROM tr.steps_rtmc;
SELECT stepadv.select_steps('tr.plain', success_only => true, group_by => '{task_id}');

-- ---------- a cursor over the query
SELECT stepadv.training_query('tr.steps_rtmc', columns => '{}', shape => 'prompt_completion') AS query \gset
BEGIN;
SET LOCAL search_path = pg_catalog, pg_temp;
DECLARE rows CURSOR FOR :query;
FETCH 1 FROM rows;
MOVE 5 FROM rows;
FETCH ALL FROM rows;
COMMIT;

-- ---------- bad input
SELECT stepadv.training_rows('tr.steps_rtmc', shape => 'sft');
SELECT stepadv.training_rows('tr.steps_rtmc', shape => 'verl');
SELECT stepadv.training_rows('tr.plain', group_by => '{task_id}', shape => 'verl');
SELECT stepadv.training_rows('tr.plain', group_by => '{task_id}', shape => 'messages');
SELECT stepadv.training_rows('tr.plain', group_by => '{task_id}', shape => 'messages', steps => 'tr.rollouts');
SELECT count(*) FROM stepadv.training_rows('tr.plain', group_by => '{task_id}', shape => 'messages', steps => 'tr.steps');
CREATE TABLE tr.copied AS TABLE tr.steps_rtmc;
SELECT stepadv.training_rows('tr.copied', group_by => '{task_id}', shape => 'dpo');
CREATE VIEW tr.nameless AS SELECT rollout_id, step_no, step_id, task_id AS task, advantage, observation FROM tr.steps_rtmc;
SELECT stepadv.training_rows('tr.nameless', group_by => '{task}', shape => 'dpo');
SELECT stepadv.training_rows('tr.steps_rtmc', columns => '{step_no}', shape => 'dpo');
SELECT stepadv.training_rows('tr.steps_grpo', shape => 'prm');
SELECT stepadv.training_rows('tr.steps_rtmc', columns => '{nothing}', shape => 'messages');
CREATE VIEW tr.lacking AS SELECT * FROM tr.steps_rtmc WHERE step_id <> 1;
SELECT stepadv.training_rows('tr.lacking', group_by => '{task_id}', shape => 'prm');
-- A turn is missing: its step is gone, nothing was seen, nothing was done, no result came.
BEGIN;
DELETE FROM tr.steps WHERE step_id = 3;
UPDATE tr.steps SET turn = 2 WHERE step_id = 4;
SELECT stepadv.training_rows('tr.steps_rtmc', shape => 'messages');
ROLLBACK;
BEGIN;
UPDATE tr.steps SET turn = 3 WHERE step_id = 4;
SELECT stepadv.training_rows('tr.steps_rtmc', shape => 'messages');
ROLLBACK;
BEGIN;
UPDATE tr.steps SET observation = NULL WHERE step_id = 5;
SELECT stepadv.training_rows('tr.steps_rtmc', shape => 'messages');
ROLLBACK;
BEGIN;
UPDATE tr.steps SET action = NULL WHERE step_id = 5;
SELECT stepadv.training_rows('tr.steps_rtmc', shape => 'messages');
ROLLBACK;
BEGIN;
UPDATE tr.steps SET observation = NULL WHERE step_id = 4;
SELECT stepadv.training_rows('tr.steps_rtmc', shape => 'messages');
ROLLBACK;

-- ---------- chats as they were
-- Texts of 64 characters and more are left to the steps; two in a row, parts, calls
-- and the system are kept in full.
CREATE TABLE docs (n bigint GENERATED ALWAYS AS IDENTITY, document text, source text);
INSERT INTO docs (document) SELECT jsonb_build_array(
	jsonb_build_object('task_id', 'chat', 'trial', 0, 'reward', 1, 'messages', jsonb_build_array(
		jsonb_build_object('role', 'system', 'content', 'Be nice.'),
		jsonb_build_object('role', 'user', 'content', repeat('Where is my bag? ', 8), 'name', 'eve'),
		jsonb_build_object('role', 'assistant', 'content', repeat('I think. ', 9), 'reasoning_content', 'hm', 'refusal', NULL),
		jsonb_build_object('role', 'user', 'content', 'short'),
		jsonb_build_object('role', 'user', 'content', repeat('twice ', 20)),
		jsonb_build_object('role', 'assistant', 'content', NULL, 'tool_calls', jsonb_build_array(
			jsonb_build_object('id', 'x1', 'type', 'function', 'function', jsonb_build_object('name', 'find', 'arguments', '{"b":1,  "a":[2]}')),
			jsonb_build_object('id', 'x2', 'type', 'function', 'function', jsonb_build_object('name', 'find', 'arguments', '{broken')))),
		jsonb_build_object('role', 'tool', 'tool_call_id', 'x2', 'content', repeat('error ', 30)),
		jsonb_build_object('role', 'tool', 'tool_call_id', 'x1', 'content', repeat('found ', 30)),
		jsonb_build_object('role', 'assistant', 'content', '', 'tool_calls', jsonb_build_array(
			jsonb_build_object('id', 'x3', 'type', 'function', 'function', jsonb_build_object('name', 'take', 'arguments', '{}')))),
		jsonb_build_object('role', 'tool', 'tool_call_id', 'x3', 'name', 'take', 'content', repeat('taken ', 30)),
		jsonb_build_object('role', 'assistant', 'content', jsonb_build_array(jsonb_build_object('type', 'text', 'text', repeat('It is there. ', 9)))),
		jsonb_build_object('role', 'user', 'content', repeat('Thank you. ', 9)))),
	jsonb_build_object('task_id', 'chat', 'trial', 1, 'reward', 0, 'messages', jsonb_build_array(
		jsonb_build_object('role', 'developer', 'content', 'Be nice.'),
		jsonb_build_object('role', 'user', 'content', repeat('Where is my bag? ', 8)),
		jsonb_build_object('role', 'assistant', 'content', 'No idea.'))),
	-- Nothing to do for a model, and a content that looks like a mark: not kept.
	jsonb_build_object('task_id', 'chat', 'trial', 2, 'reward', 0, 'messages', jsonb_build_array(jsonb_build_object('role', 'user', 'content', 'Hello'))),
	jsonb_build_object('task_id', 'chat', 'trial', 3, 'reward', 0, 'messages', jsonb_build_array(
		jsonb_build_object('role', 'user', 'content', jsonb_build_object('observation', 0)), jsonb_build_object('role', 'assistant', 'content', 'What?'))));
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('chats', partitions => 2, group_by => '{group_id}', views => '{all}');
-- What the client makes of them.
INSERT INTO chats.rollouts (group_id, rollout_id, outcome, success, metadata) VALUES ('chat', 'chat-t0', 1, true, E'{"trial": 0, "task_id": "chat", "messages": [{"role": "system", "content": "Be nice."}, {"name": "eve", "role": "user", "content": {"observation": 0}}, {"role": "assistant", "content": {"action": 0}, "refusal": null, "reasoning_content": "hm"}, {"role": "user", "content": "short"}, {"role": "user", "content": "twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice "}, {"role": "assistant", "content": null, "tool_calls": [{"id": "x1", "type": "function", "function": {"name": "find", "arguments": "{\\"b\\":1,  \\"a\\":[2]}"}}, {"id": "x2", "type": "function", "function": {"name": "find", "arguments": "{broken"}}]}, {"role": "tool", "content": "error error error error error error error error error error error error error error error error error error error error error error error error error error error error error error ", "tool_call_id": "x2"}, {"role": "tool", "content": "found found found found found found found found found found found found found found found found found found found found found found found found found found found found found found ", "tool_call_id": "x1"}, {"role": "assistant", "content": "", "tool_calls": [{"id": "x3", "type": "function", "function": {"name": "take", "arguments": "{}"}}]}, {"name": "take", "role": "tool", "content": {"observation": 3}, "tool_call_id": "x3"}, {"role": "assistant", "content": [{"text": "It is there. It is there. It is there. It is there. It is there. It is there. It is there. It is there. It is there. ", "type": "text"}]}, {"role": "user", "content": "Thank you. Thank you. Thank you. Thank you. Thank you. Thank you. Thank you. Thank you. Thank you. "}]}');
INSERT INTO chats.rollouts (group_id, rollout_id, outcome, success, metadata) VALUES ('chat', 'chat-t1', 0, false, '{"trial": 1, "task_id": "chat", "messages": [{"role": "developer", "content": "Be nice."}, {"role": "user", "content": {"observation": 0}}, {"role": "assistant", "content": "No idea."}]}');
INSERT INTO chats.rollouts (group_id, rollout_id, outcome, success, metadata) VALUES ('chat', 'chat-t2', 0, false, '{"trial": 2, "task_id": "chat"}');
INSERT INTO chats.rollouts (group_id, rollout_id, outcome, success, metadata) VALUES ('chat', 'chat-t3', 0, false, '{"trial": 3, "task_id": "chat"}');
INSERT INTO chats.steps (group_id, rollout_id, step_no, turn, observation, action, tool, args, ok, next_observation, metadata) VALUES ('chat', 'chat-t0', 0, 0, repeat('Where is my bag? ', 8), repeat('I think. ', 9), NULL, NULL, NULL, NULL, '{"thought": "hm"}');
INSERT INTO chats.steps (group_id, rollout_id, step_no, turn, observation, action, tool, args, ok, next_observation, metadata) VALUES ('chat', 'chat-t0', 1, 1, 'short
twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice ', '{"name": "find", "arguments": {"b":1,  "a":[2]}}', 'find', '{"a": [2], "b": 1}', 't', repeat('found ', 30), NULL);
INSERT INTO chats.steps (group_id, rollout_id, step_no, turn, observation, action, tool, args, ok, next_observation, metadata) VALUES ('chat', 'chat-t0', 2, 1, 'short
twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice twice ', '{"name": "find", "arguments": "{broken"}', 'find', NULL, 'f', repeat('error ', 30), NULL);
INSERT INTO chats.steps (group_id, rollout_id, step_no, turn, observation, action, tool, args, ok, next_observation, metadata) VALUES ('chat', 'chat-t0', 3, 2, 'error error error error error error error error error error error error error error error error error error error error error error error error error error error error error error 
found found found found found found found found found found found found found found found found found found found found found found found found found found found found found found ', '{"name": "take", "arguments": {}}', 'take', '{}', 't', NULL, NULL);
INSERT INTO chats.steps (group_id, rollout_id, step_no, turn, observation, action, tool, args, ok, next_observation, metadata) VALUES ('chat', 'chat-t0', 4, 3, repeat('taken ', 30), repeat('It is there. ', 9), NULL, NULL, NULL, repeat('Thank you. ', 9), NULL);
INSERT INTO chats.steps (group_id, rollout_id, step_no, turn, observation, action, tool, args, ok, next_observation, metadata) VALUES ('chat', 'chat-t1', 0, 0, repeat('Where is my bag? ', 8), 'No idea.', NULL, NULL, NULL, NULL, NULL);
INSERT INTO chats.steps (group_id, rollout_id, step_no, turn, observation, action, tool, args, ok, next_observation, metadata) VALUES ('chat', 'chat-t3', 0, 0, '{"observation": 0}', 'What?', NULL, NULL, NULL, NULL, NULL);
SELECT rollout_id, jsonb_path_query_array(metadata, '$.messages[*].content') AS contents FROM chats.rollouts ORDER BY 1;
-- For every step: the messages up to that turn's, of the document itself.
WITH original AS (
	SELECT format('chat-t%s', d.r ->> 'trial') AS rollout_id, d.r -> 'messages' AS messages FROM docs, jsonb_array_elements(document::jsonb) d(r)
), told AS (
	SELECT r ->> 'rollout_id' AS rollout_id, (r ->> 'step_no')::integer AS step_no, (r -> 'prompt') || (r -> 'completion') AS messages FROM stepadv.training_rows('chats.steps_grpo', shape => 'prompt_completion') r
)
SELECT t.rollout_id, t.step_no, jsonb_array_length(t.messages) AS n, t.messages = (SELECT jsonb_agg(m ORDER BY i) FROM jsonb_array_elements(o.messages) WITH ORDINALITY m(m, i) WHERE i <= jsonb_array_length(t.messages)) AS exact,
	(SELECT count(*) FROM jsonb_array_elements(t.messages) m WHERE m ->> 'role' = 'assistant') - 1 = s.turn AS of_its_turn
FROM told t JOIN original o USING (rollout_id) JOIN chats.steps s USING (rollout_id, step_no) ORDER BY 1, 2;
-- A step that an exact conversation needs is gone; one that came later is none of it.
BEGIN;
DELETE FROM chats.steps WHERE (rollout_id, turn) = ('chat-t0', 0);
SELECT stepadv.training_rows('chats.steps_grpo', shape => 'messages');
ROLLBACK;
BEGIN;
INSERT INTO chats.steps (group_id, rollout_id, step_no, turn, observation, action) VALUES ('chat', 'chat-t1', 1, 1, 'Think!', 'I do.');
SELECT stepadv.training_rows('chats.steps_grpo', shape => 'messages');
ROLLBACK;

-- Two prompts that differ in a word are not the same; those that differ in the ids of calls are.
INSERT INTO chats.rollouts (group_id, rollout_id, outcome, metadata)
SELECT 'pair', r, o, jsonb_build_object('messages', jsonb_build_array(jsonb_build_object('role', 'user', 'content', u), jsonb_build_object('role', 'assistant', 'content', NULL, 'tool_calls', jsonb_build_array(
		jsonb_build_object('id', 'id of ' || r, 'type', 'function', 'function', jsonb_build_object('name', 'look', 'arguments', '{}')))),
	jsonb_build_object('role', 'tool', 'tool_call_id', 'id of ' || r, 'content', 'a wall'), jsonb_build_object('role', 'assistant', 'content', a)))
FROM (VALUES ('p1', 1, 'Go!', 'around'), ('p2', 0, 'Go!', 'ahead'), ('p3', 0, 'Run!', 'back')) v(r, o, u, a);
INSERT INTO chats.steps (group_id, rollout_id, step_no, turn, observation, action, tool, args)
SELECT 'pair', r, n, n, CASE n WHEN 0 THEN u ELSE 'a wall' END, CASE n WHEN 0 THEN 'look' ELSE a END, CASE n WHEN 0 THEN 'look' END, CASE n WHEN 0 THEN '{}'::jsonb END
FROM (VALUES ('p1', 'Go!', 'around'), ('p2', 'Go!', 'ahead'), ('p3', 'Run!', 'back')) v(r, u, a), generate_series(0, 1) n;
SELECT r -> 'chosen' AS chosen, r -> 'rejected' AS rejected, r -> 'same_prompt' AS same FROM stepadv.training_rows('chats.steps_rtmc', shape => 'dpo', min_visits => 1) r WHERE r ->> 'group_id' = 'pair';
DELETE FROM chats.rollouts WHERE rollout_id = 'p3';
SELECT r -> 'rejected' AS rejected, r -> 'same_prompt' AS same FROM stepadv.training_rows('chats.steps_rtmc', shape => 'dpo', min_visits => 1) r WHERE r ->> 'group_id' = 'pair';
DELETE FROM chats.rollouts WHERE group_id = 'pair';

-- ---------- all lines are what their readers take
CREATE FUNCTION is_messages(m jsonb) RETURNS boolean LANGUAGE sql AS $$
	SELECT jsonb_typeof(m) = 'array' AND jsonb_array_length(m) > 0 AND bool_and(
		e ->> 'role' IN ('system', 'developer', 'user', 'assistant', 'tool')
		AND coalesce(jsonb_typeof(e -> 'content'), 'null') = ANY (CASE WHEN e ->> 'role' = 'assistant' AND e ? 'tool_calls' THEN '{string,null}' ELSE '{string,array}' END::text[])
		AND (e ->> 'role' <> 'tool' OR e ? 'tool_call_id')
		AND (e -> 'weight' IS NULL OR e -> 'weight' IN ('0', '1') AND e ->> 'role' = 'assistant')
		AND coalesce((SELECT bool_and(c ->> 'type' = 'function' AND jsonb_typeof(c -> 'id') = 'string' AND jsonb_typeof(c #> '{function,name}') = 'string' AND jsonb_typeof(c #> '{function,arguments}') = 'string')
			FROM jsonb_array_elements(e -> 'tool_calls') c), true))
		-- Every result is of a call that was made.
		AND NOT EXISTS (SELECT FROM jsonb_array_elements(m) t WHERE t ->> 'role' = 'tool'
			AND NOT jsonb_path_exists(m, '$[*].tool_calls[*] ? (@.id == $id)', jsonb_build_object('id', t -> 'tool_call_id')))
	FROM jsonb_array_elements(m) e
$$;
SELECT s.name, count(*),
	bool_and(is_messages(r -> 'messages') AND (SELECT count(*) FROM jsonb_array_elements(r -> 'messages') m WHERE m -> 'weight' = '1') = 1 AND r #> '{messages,-1,weight}' = '1') AS messages
FROM unnest('{tr.steps_rtmc,chats.steps_rtmc}'::regclass[]) s(name), stepadv.training_rows(s.name, shape => 'messages') r GROUP BY 1 ORDER BY 1;
SELECT s.name, count(*), bool_and(is_messages(r -> 'prompt') AND is_messages((r -> 'prompt') || (r -> 'completion')) AND jsonb_array_length(r -> 'completion') = 1 AND r #>> '{completion,0,role}' = 'assistant') AS prompt_completion
FROM unnest('{tr.steps_rtmc,chats.steps_rtmc}'::regclass[]) s(name), stepadv.training_rows(s.name, shape => 'prompt_completion') r GROUP BY 1 ORDER BY 1;
SELECT s.name, count(*), bool_and(is_messages(r -> 'prompt') AND is_messages((r -> 'prompt') || (r -> 'chosen')) AND is_messages(r -> 'rejected')
	AND r -> 'chosen' <> r -> 'rejected' AND (r ->> 'chosen_q')::float8 > (r ->> 'rejected_q')::float8) AS dpo
FROM unnest('{tr.steps_rtmc,chats.steps_rtmc}'::regclass[]) s(name), stepadv.training_rows(s.name, shape => 'dpo', min_visits => 1) r GROUP BY 1 ORDER BY 1;
SELECT s.name, count(*), bool_and(jsonb_typeof(r -> 'prompt') = 'string' AND jsonb_array_length(r -> 'completions') = jsonb_array_length(r -> 'labels') AND jsonb_array_length(r -> 'labels') = jsonb_array_length(r -> 'targets')
	AND NOT jsonb_path_exists(r, '$.labels[*] ? (@.type() != "boolean")') AND NOT jsonb_path_exists(r, '$.completions[*] ? (@.type() != "string")')) AS prm
FROM unnest('{tr.steps_rtmc,chats.steps_rtmc}'::regclass[]) s(name), stepadv.training_rows(s.name, shape => 'prm') r GROUP BY 1 ORDER BY 1;
SELECT count(*), bool_and(r ?& '{data_source,prompt,ability,reward_model,extra_info}' AND is_messages(r -> 'prompt') AND r -> 'reward_model' ?& '{style,ground_truth}' AND r -> 'extra_info' ?& '{index,split}'
	AND jsonb_array_length(r -> 'response_ids') = jsonb_array_length(r -> 'response_mask') AND jsonb_array_length(r -> 'response_ids') = jsonb_array_length(r -> 'advantages')) AS verl
FROM stepadv.training_rows('tr.with_tokens', group_by => '{task_id}', shape => 'verl') r;

-- ---------- preference_pairs, against plain SQL
-- 30 groups of 2 to 12 rollouts of 4 steps, few states and actions, graded rewards.
CREATE TEMP TABLE random_steps AS
SELECT row_number() OVER () AS step_id, g, r AS rollout_id, n AS step_no, (g * 7 + r * n * 3) % 4 AS state, (g * 5 + r * 11 + n * n * 7) % 3 AS action,
	CASE WHEN n = 3 THEN ((g * 13 + r * 29) % 7) / 6.0 END::float8 AS reward
FROM generate_series(1, 30) g, generate_series(1, 12) r, generate_series(0, 3) n WHERE r <= 2 + g % 11;
CREATE TEMP TABLE random_groups AS SELECT g, stepadv.rollout_agg(step_id, rollout_id::bigint, step_no, state::bigint, action::bigint, reward) AS rollouts FROM random_steps GROUP BY g;
CREATE FUNCTION pg_temp.wrong(method text, min_gap float8, min_visits integer) RETURNS TABLE (method_of text, n bigint, differ bigint) LANGUAGE sql AS $$
	WITH estimates AS (
		SELECT x.g, e.step_id, e.q, e.q_error FROM random_groups x, stepadv.rtmc(x.rollouts, gamma => 1) e WHERE method = 'rtmc'
		UNION ALL SELECT x.g, e.step_id, e.q, e.q_error FROM random_groups x, stepadv.batch_td(x.rollouts, gamma => 1, prior => 0) e WHERE method = 'batch_td'
	), actions AS (
		SELECT s.g, s.state, s.action, min(e.q) AS q, min(e.q_error) AS q_error, count(DISTINCT s.rollout_id) AS visits, (array_agg(s.step_id ORDER BY s.rollout_id, s.step_no))[1] AS step_id
		FROM random_steps s JOIN estimates e USING (g, step_id) GROUP BY 1, 2, 3 HAVING count(DISTINCT s.rollout_id) >= min_visits
	), expected AS (
		SELECT b.g, b.state::bigint, b.q, w.q AS worst_q, b.visits, w.visits AS worst_visits, sqrt(b.q_error ^ 2 + w.q_error ^ 2) AS gap_error, (SELECT count(*) FROM actions a WHERE (a.g, a.state) = (b.g, b.state)) AS actions
		FROM actions b JOIN actions w USING (g, state)
		WHERE b.q = (SELECT max(a.q) FROM actions a WHERE (a.g, a.state) = (b.g, b.state)) AND w.q = (SELECT min(a.q) FROM actions a WHERE (a.g, a.state) = (b.g, b.state))
			AND b.q > w.q AND b.q - w.q >= min_gap
	), given AS (
		SELECT x.g, p.* FROM random_groups x, stepadv.preference_pairs(x.rollouts, min_gap, min_visits, method => method) p
	)
	-- Equally good actions: any of them is the best.
	SELECT method, (SELECT count(*) FROM given), (SELECT count(*) FROM (SELECT DISTINCT g, state FROM expected) e FULL JOIN given p USING (g, state)
		WHERE p.gap IS NULL OR NOT EXISTS (SELECT FROM expected x WHERE (x.g, x.state) = (p.g, p.state) AND abs(x.q - p.chosen_q) < 1e-12 AND abs(x.worst_q - p.rejected_q) < 1e-12
			AND x.visits = p.chosen_visits AND x.worst_visits = p.rejected_visits AND abs(x.gap_error - p.gap_error) < 1e-12 AND x.actions = p.actions
			AND p.gap = p.chosen_q - p.rejected_q
			AND p.chosen_step_id = (SELECT a.step_id FROM actions a JOIN random_steps c ON c.step_id = p.chosen_step_id AND (a.g, a.state, a.action) = (c.g, c.state, c.action))
			AND p.rejected_step_id = (SELECT a.step_id FROM actions a JOIN random_steps c ON c.step_id = p.rejected_step_id AND (a.g, a.state, a.action) = (c.g, c.state, c.action)))) 
$$;
SELECT m, w.n > 5 AS some, w.differ FROM unnest('{rtmc,batch_td}'::text[]) m, LATERAL (VALUES (0, 1), (0, 2), (0.25, 1), (0.3, 3)) v(gap, visits), pg_temp.wrong(m, v.gap, v.visits) w;
-- The normal distribution function is 0.5, 0.84134 and 0.97725 at 0, 1 and 2.
SELECT bool_and(CASE WHEN gap / gap_error < 1 THEN confidence > 0.5 AND confidence < 0.8413447461 WHEN gap / gap_error < 2 THEN confidence >= 0.8413447460 AND confidence < 0.9772498681 ELSE confidence >= 0.9772498680 END) AS as_in_tables,
	count(*) FILTER (WHERE gap / gap_error >= 1) > 5 AS some FROM random_groups x, stepadv.preference_pairs(x.rollouts, min_visits => 1);
SELECT count(*) = (SELECT count(*) FROM random_groups x, stepadv.preference_pairs(x.rollouts) WHERE confidence >= 0.8) AS as_filtered FROM random_groups x, stepadv.preference_pairs(x.rollouts, min_confidence => 0.8);
SELECT reason FROM random_groups x, stepadv.preference_pairs(x.rollouts) ORDER BY gap DESC, g, state LIMIT 1;
SELECT count(*) FROM stepadv.preference_pairs(NULL::stepadv.rollout_group);
-- Not judged; a NULL state is like no other, a NULL action an action of its own.
SELECT count(*) FROM (SELECT stepadv.rollout_agg(step_id, r, 0, s, a, NULL::float8) AS g FROM (VALUES (1::bigint, 1::bigint, 1::bigint, 1::bigint), (2, 2, 1, 2)) v(step_id, r, s, a)) x, stepadv.preference_pairs(x.g, min_visits => 1);
SELECT chosen_step_id, rejected_step_id, gap FROM (SELECT stepadv.rollout_agg(step_id, r, 0, s, a, w) AS g
	FROM (VALUES (1::bigint, 1::bigint, NULL::bigint, 1::bigint, 1::float8), (2, 2, NULL, 2, 0), (3, 3, 1, NULL, 1), (4, 4, 1, 2, 0), (5, 5, 1, NULL, 0.5)) v(step_id, r, s, a, w)) x, stepadv.preference_pairs(x.g, min_visits => 1);
SELECT stepadv.preference_pairs(rollouts, min_gap => -1) FROM random_groups LIMIT 1;
SELECT stepadv.preference_pairs(rollouts, min_visits => 0) FROM random_groups LIMIT 1;
SELECT stepadv.preference_pairs(rollouts, min_confidence => 2) FROM random_groups LIMIT 1;
SELECT stepadv.preference_pairs(rollouts, method => 'grpo') FROM random_groups LIMIT 1;
DROP SCHEMA tr, chats CASCADE;
DROP TABLE docs;
DROP FUNCTION is_messages;

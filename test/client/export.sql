-- Tables for test_export.py.
SELECT count(*) FROM stepadv.create_tables('tr', partitions => 2, group_by => '{task_id}', views => '{all}');
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

CREATE VIEW tr.with_tokens AS SELECT * FROM tr.steps_rtmc WHERE response_token_ids IS NOT NULL;
CREATE VIEW tr.pulls AS SELECT * FROM tr.steps_rtmc WHERE action = 'pull' AND rollout_id = 'e';
CREATE VIEW tr.lefts AS SELECT * FROM tr.steps_rtmc WHERE action = 'go left';
SELECT stepadv.create_selection('tr.steps_batch_td', 'doors', per_state => 1);
SELECT stepadv.create_selection('tr.doors', 'doors_again');
SELECT stepadv.create_selection('tr.steps_rtmc', 'best', sign => 'positive');
SELECT stepadv.create_selection('tr.steps_rtmc', 'none', min_advantage => 99);
CREATE VIEW tr.rounded AS SELECT task_id, rollout_id, step_no, step_id, -1e-17 AS advantage FROM tr.steps_rtmc;
CREATE VIEW tr.plain AS SELECT task_id, rollout_id, step_no, step_id, advantage FROM tr.steps_rtmc;
CREATE TABLE tr.copied AS TABLE tr.steps_rtmc;
CREATE VIEW tr.nameless AS SELECT rollout_id, step_no, step_id, task_id AS task, advantage, observation FROM tr.steps_rtmc;
CREATE VIEW tr.lacking AS SELECT * FROM tr.steps_rtmc WHERE step_id <> 1;

-- A turn is a step: either of its two calls stands for it; turn 1 has no pair.
SELECT count(*) FROM stepadv.create_tables('tt', partitions => 1, group_by => '{task_id}', unit => 'turn', views => '{all}');
INSERT INTO tt.rollouts (task_id, rollout_id, outcome) SELECT 'T', r, r % 2 FROM generate_series(1, 4) r;
INSERT INTO tt.steps (step_id, task_id, rollout_id, step_no, turn, observation, action) SELECT r * 10 + n, 'T', r, n, n / 3, 'place ' || n / 3, CASE n WHEN 2 THEN 'do ' || r % 2 WHEN 3 THEN 'end ' || r ELSE 'see' END FROM generate_series(1, 4) r, generate_series(1, 3) n;
CREATE VIEW tt.second AS SELECT * FROM tt.steps_rtmc WHERE step_id = 32;
CREATE VIEW tt.last AS SELECT * FROM tt.steps_rtmc WHERE step_no = 3;

-- ---------- chats as they were imported
-- Only the steps have texts of 64 characters and more; two messages in a row, parts, calls
-- and the system prompt are kept in full.
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
	-- No answer of a model, and a content that looks like a mark: messages are not kept.
	jsonb_build_object('task_id', 'chat', 'trial', 2, 'reward', 0, 'messages', jsonb_build_array(jsonb_build_object('role', 'user', 'content', 'Hello'))),
	jsonb_build_object('task_id', 'chat', 'trial', 3, 'reward', 0, 'messages', jsonb_build_array(
		jsonb_build_object('role', 'user', 'content', jsonb_build_object('observation', 0)), jsonb_build_object('role', 'assistant', 'content', 'What?'))));
SELECT count(*) FROM stepadv.create_tables('chats', partitions => 2, group_by => '{group_id}', views => '{all}');
-- The rows that the client makes of them.
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

-- Tokens by mask, by their number, or none; texts that would break a line.
SELECT count(*) FROM stepadv.create_tables('texts', partitions => 2, group_by => '{group_id}', views => '{all}');
INSERT INTO texts.rollouts (group_id, rollout_id, outcome) VALUES ('g', 'a', 1), ('g', 'b', 0), ('g', 'c', NULL);
INSERT INTO texts.steps (group_id, rollout_id, step_no, observation, action, args, state, action_hash, prompt_token_ids, response_token_ids, response_mask, rollout_logprobs) VALUES
	('g', 'a', 0, E'two\nlines\r\n\ttab', 'a "quote", a back\slash, \n no line', '{"path": "C:\\new"}', 1, 1, '{1,2}', '{5,6,7}', '{t,f,t}', '{-0.5,-1,-2}'),
	('g', 'a', 1, E'ä→🙂\u2028\u0001\u0002', '\.', NULL, 2, 2, '{1}', '{8,9}', NULL, NULL),
	('g', 'b', 0, '', NULL, 'null', 1, 2, NULL, NULL, NULL, NULL),
	('g', 'b', 1, '\N', '\\', '[]', 3, 2, '{}', '{}', '{}', '{}'),
	('g', 'c', 0, 'not judged', 'no row', NULL, 1, 1, NULL, '{1}', '{t}', NULL);
CREATE TABLE tr.tokens (task text, rollout_id integer, step_no integer, step_id integer, advantage real, "select ""%s" text, response_token_ids integer[], response_mask integer[]);
INSERT INTO tr.tokens VALUES ('t', 2, 1, 1, 0.5, 'b', '{7,8,9}', '{0,1,1}'), ('t', 10, 0, 2, -0.5, 'c', '{7,8}', NULL), ('t', 2, 0, 3, 0.25, 'a', NULL, NULL), ('s', 1, 0, 4, 0, 'd', '{}', '{}');

-- Hostile names.
CREATE SCHEMA "my schema; --";
CREATE TABLE "my schema; --"."Adv""; %s" AS
SELECT task AS "g'; %s --", rollout_id, step_no, step_id, advantage, 'x' AS "$$a$$", 'seen' AS observation, 'done' AS action FROM tr.tokens;
CREATE VIEW tr.worded AS SELECT task_id, rollout_id, step_no, step_id, 'much' AS advantage FROM tr.steps_rtmc;
CREATE VIEW tr.named AS SELECT *, 1 AS advantages, 2 AS prompt FROM tr.steps_rtmc;
CREATE VIEW tr.infinite AS SELECT task_id, rollout_id, step_no, step_id, 'Infinity'::float8 AS advantage FROM tr.steps_rtmc;
CREATE VIEW tr.unjudged AS SELECT * FROM tr.steps_rtmc WHERE advantage IS NULL;

-- The objects of ann, an ordinary role.
CREATE SCHEMA own;

-- User-defined methods in SQL and PL/pgSQL, and a table with many columns.
CREATE FUNCTION own.fair(rollouts stepadv.rollout_group, scale float8 DEFAULT 2) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8)
LANGUAGE sql IMMUTABLE AS 'SELECT a.step_id, a.rollout_id, a.step_no, a.advantage * scale FROM stepadv.grpo(rollouts) a';
CREATE FUNCTION own.plain(rollouts stepadv.rollout_group) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8)
LANGUAGE plpgsql IMMUTABLE AS 'BEGIN
	IF (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user) THEN
		RAISE EXCEPTION ''called with the rights of an administrator'';
	END IF;
	RETURN QUERY SELECT a.step_id, a.rollout_id, a.step_no, 1::float8 FROM stepadv.returns(rollouts) a; END';
SELECT stepadv.register_method('own.fair(stepadv.rollout_group, float8)');
SELECT stepadv.register_method('own.plain(stepadv.rollout_group)', method => 'simple');
CREATE TABLE own.steps (id bigint PRIMARY KEY, g integer, h text, r text, n integer, st integer, act integer, score float8, worth float8, of_turn float8,
	x real[], version text, began timestamptz, note text);
CREATE INDEX ON own.steps (g, h);
INSERT INTO own.steps SELECT i, i / 40, 'h' || i / 20 % 2, 'r' || i / 5, i % 5, i % 7, i % 3, CASE WHEN i % 5 = 4 THEN (i * 7 % 11) / 10.0 END, i % 4, i % 2,
	ARRAY[sin(i), cos(i), i % 5]::real[], 'v' || i / 5 % 3, '2026-01-01'::timestamptz + i / 5 * interval '5 hours', 'note ' || i FROM generate_series(0, 199) i;
SELECT count(*) > 10 FROM stepadv.attach('own.steps', '{g,h}', 'r', 'n', 'st', 'act', 'score', columns => '{"value": "worth", "turn_reward": "of_turn", "features": "x", "policy_version": "version", "started_at": "began"}', views => '{all}', options => '{"rtmc": {"gamma": 0.9}, "fair": {"scale": 3}, "spa": {"model": "of old"}}');

-- States derived from tool calls.
CREATE TABLE own.calls (id bigint PRIMARY KEY, g integer, r integer, n integer, tool text, args jsonb, ok boolean, score float8);
INSERT INTO own.calls SELECT i, i / 30, i / 5, i % 5, (ARRAY['bash', 'str_replace_editor'])[i % 2 + 1],
	CASE i % 2 WHEN 0 THEN jsonb_build_object('command', (ARRAY['ls', 'cat a.py', 'pytest'])[i % 3 + 1]) ELSE '{"command": "view", "path": "/a.py"}' END, i % 4 > 0,
	CASE WHEN i % 5 = 4 THEN i / 5 % 2 END FROM generate_series(0, 119) i;
SELECT count(*) > 10 FROM stepadv.attach('own.calls', '{g}', 'r', 'n', reward => 'score', columns => '{"tool": "tool", "args": "args", "ok": "ok"}', views => '{all}', prefix => 'a"b c', options => '{"states": "signature"}');

-- The canonical tables.
SELECT count(*) > 10 FROM stepadv.create_tables('rl', group_by => '{task_id}', reward => 'sum', partitions => 2, views => '{all}');
INSERT INTO rl.rollouts (task_id, rollout_id, outcome, success, policy_version, started_at)
SELECT 'g' || i / 4, 'r' || i, i % 3 / 2.0, i % 3 = 2, 'v' || i % 2, '2026-01-01'::timestamptz + i * interval '1 day' FROM generate_series(0, 15) i;
INSERT INTO rl.steps (task_id, rollout_id, step_no, observation, tool, args, ok, state, action_hash, reward, value, turn_reward)
SELECT 'g' || i / 4, 'r' || i, n, 'saw ' || n, 'bash', '{"command": "ls"}', true, (i + n) % 4, n % 2, n / 10.0, n / 5.0, i % 2 FROM generate_series(0, 15) i, generate_series(1, 4) n;

-- Kept groups.
SELECT stepadv.maintain('own.steps');
SELECT stepadv.maintain('own.calls', mode => 'refresh');
SELECT stepadv.maintain('rl.rollout_rows');

-- Values in tables, a selection, and views over them.
CREATE TABLE own.groups AS SELECT g, h, rollouts FROM own.steps_values;
CREATE TABLE own.models AS SELECT 1 AS k, stepadv.progress_fit(id, x, score, 0.1) AS model FROM own.steps WHERE score IS NOT NULL;
SELECT stepadv.create_selection('own.steps_rtmc', 'chosen', per_state => 2, balance => 'group');
CREATE VIEW own.mine AS SELECT k.g, k.h, a.* FROM own.groups k, stepadv.rtmc(k.rollouts, gamma => 0.5) a;
CREATE VIEW own.picked AS SELECT s.* FROM stepadv.select_steps('own.steps_grpo', min_advantage => 0.1, per_rollout => 2) s;
CREATE VIEW own.explained AS SELECT s.* FROM stepadv.explain_selection('own.steps_grpo', min_advantage => 0.1, per_rollout => 2) s;
CREATE MATERIALIZED VIEW own.merged AS SELECT g, stepadv.rollup(rollouts) AS rollouts FROM own.groups GROUP BY g;

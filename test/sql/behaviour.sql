-- Measures of rollouts; the views _behaviour, _behaviour_advantage, _measures_over_time, _success_by_horizon.
SET client_min_messages = warning;
SET jit = off;
SET timezone = 'UTC';
\set SHOW_CONTEXT never
CREATE SCHEMA behaviour_tests;
SET search_path = behaviour_tests, public;

-- By hand.  Rollout 1: 10 -a-> 11 -b-> goal.  2: 10 -a-> 10 -a-> 11 -c-> 10 -a-> 11 -b-> goal: two repeats, 3 beyond the shortest way.
-- 3: 12 -a-> 10 fails, 3 steps from the goal.  4: no state, no action, nothing is done again.  5 is not judged, and repeats.  6 has no steps.
CREATE TABLE moves (step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8, cost float8);
INSERT INTO moves VALUES (1, 1, 1, 10, 1, NULL, 1), (2, 1, 2, 11, 2, 1, 1),
	(3, 2, 1, 10, 1, NULL, NULL), (4, 2, 2, 10, 1, NULL, NULL), (5, 2, 3, 11, 3, NULL, NULL), (6, 2, 4, 10, 1, NULL, NULL), (7, 2, 5, 11, 2, 1, 1),
	(8, 3, 1, 12, 1, NULL, 1), (9, 3, 2, 10, 4, 0, 1), (10, 4, 1, NULL, NULL, NULL, 1), (11, 4, 2, NULL, NULL, 0, 1),
	(12, 5, 1, 10, 1, NULL, 1), (13, 5, 2, 10, 1, NULL, 1), (NULL, 6, NULL, NULL, NULL, 1, NULL);
CREATE FUNCTION digest(g stepadv.rollout_group, success_above float8 DEFAULT 0) RETURNS stepadv.group_digest LANGUAGE sql AS
$$ SELECT stepadv.group_digest(g, '{}', NULL, measures => '{steps,repeats,cost}', success_above => digest.success_above, horizon_width => 1) $$;
SELECT m.measure, m.n_rollouts, m.mean, m.p50, m.per_success FROM (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS g FROM moves) x, stepadv.digest_measures(digest(g)) m;
SELECT h.* FROM (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS g FROM moves) x, stepadv.digest_horizons(digest(g)) h;
-- A higher threshold that no rollout reaches; costs: a step without one costs 1.
SELECT h.* FROM (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS g FROM moves) x, stepadv.digest_horizons(digest(g, 1)) h;
CREATE FUNCTION costly(factor float8, less float8) RETURNS stepadv.rollout_group LANGUAGE sql AS
$$ SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward, NULL::boolean, NULL::bigint, NULL::float8, NULL::float8, cost * factor - less) FROM moves $$;
SELECT m.* FROM stepadv.digest_measures(digest(costly(2, 0))) m WHERE measure = 'cost';
SELECT h.* FROM stepadv.digest_horizons(digest(costly(2, 0))) h;
SELECT h.* FROM stepadv.digest_horizons(digest(costly(1, 1))) h;

-- Canonical tables with all that the views read.
\i test/sim/simulator.sql
SELECT v.view_name, v.description FROM stepadv.create_tables('rl', reward => 'outcome', views => '{all}') v WHERE v.view_name::text ~ 'behaviour|measures|horizon';
CREATE TABLE sim_steps AS SELECT row_number() OVER (ORDER BY rollout_id, step_no) AS step_id, 1 + (group_id - 1) / 8 AS policy_step, w.* FROM sim.simulate(24, 6, 5) w;
INSERT INTO rl.rollouts (run_id, policy_version, policy_step, task_id, rollout_id, success, started_at, ended_at)
SELECT 'run', 'v' || policy_step, policy_step, 'task ' || task, 'r' || rollout_id, CASE WHEN rollout_id % 17 > 0 THEN bool_or(success) END, timestamptz '2026-03-01' + (rollout_id % 3) * interval '1 day',
	CASE WHEN rollout_id % 5 > 0 THEN timestamptz '2026-03-01' + (rollout_id % 3) * interval '1 day' + count(*) * interval '1.5 s' END
FROM sim_steps GROUP BY policy_step, task, rollout_id;
INSERT INTO rl.steps (run_id, policy_version, task_id, rollout_id, step_no, step_id, turn, tool, args, ok, state, action_hash, next_state, cost, response_token_ids)
SELECT 'run', 'v' || policy_step, 'task ' || task, 'r' || rollout_id, step_no, step_id, (step_no + 1) / 2, CASE WHEN action <> 'give up' THEN (ARRAY['bash', 'look'])[1 + length(action) % 2] END,
	jsonb_build_object('command', (ARRAY['pytest', 'ls -l', 'cat a.py'])[1 + step_no % 3]), CASE WHEN step_no % 7 > 0 THEN step_no % 4 <> 1 END, state_hash, action_hash, next_state_hash, NULL,
	ARRAY(SELECT i FROM generate_series(1, 1 + step_no % 3) i)
FROM sim_steps;

-- In plain SQL: attributes of rollouts, their calls, and what they repeat.
CREATE VIEW calls AS
	SELECT s.step_id, r.policy_version, r.policy_step, date_trunc('day', r.started_at) AS bucket, s.task_id, s.rollout_id, s.tool, s.args, s.ok,
		row_number() OVER (PARTITION BY s.policy_version, s.task_id, s.rollout_id, s.state, s.action_hash ORDER BY s.step_no) > 1 AS repeat
	FROM rl.steps s JOIN rl.rollouts r USING (run_id, policy_version, task_id, rollout_id);
SELECT category, sum(n_calls) AS n_calls, sum(n_errors) AS n_errors, sum(n_repeats) AS n_repeats FROM rl.steps_behaviour GROUP BY 1 ORDER BY 1;
CREATE VIEW behaviour_differs AS
	SELECT count(*) AS n, count(*) FILTER (WHERE (b.n_calls, b.n_errors, b.n_repeats) IS DISTINCT FROM (c.n_calls, c.n_errors, c.n_repeats) OR abs(b.error_share - c.error_share) > 1e-12 OR b.error_share IS NULL <> (c.error_share IS NULL)
		OR abs(b.repeat_share - c.n_repeats::float8 / c.n_calls) > 1e-12) AS differs
	FROM rl.steps_behaviour b FULL JOIN (
		SELECT 'run' AS run_id, policy_version, policy_step, bucket, tool, count(*) AS n_calls, count(*) FILTER (WHERE NOT ok) AS n_errors, avg((NOT ok)::integer)::float8 AS error_share, count(*) FILTER (WHERE repeat) AS n_repeats
		FROM calls GROUP BY 1, 2, 3, 4, 5) c
	ON b.run_id = c.run_id AND b.policy_version = c.policy_version AND b.policy_step = c.policy_step AND b.bucket = c.bucket AND b.category IS NOT DISTINCT FROM c.tool;
SELECT * FROM behaviour_differs;
-- Advantages: those of the view _advantages, by the tool that _advantages shows.
CREATE VIEW advantages_differ AS
	SELECT count(*) / count(DISTINCT b.method) AS of_a_method, count(DISTINCT b.method) > 10 AS methods, count(*) FILTER (WHERE (b.n_steps, b.n_positive, b.n_negative) IS DISTINCT FROM (c.n, c.n_positive, c.n_negative)
		OR abs(b.mean_advantage - c.mean) > 1e-9 OR abs(b.mean_abs_advantage - c.mean_abs) > 1e-9 OR b.mean_advantage IS NULL <> (c.mean IS NULL)) AS differs
	FROM rl.steps_behaviour_advantage b FULL JOIN (
		SELECT policy_version, bucket, tool, method, count(advantage) AS n, avg(advantage) AS mean, avg(abs(advantage)) AS mean_abs, count(*) FILTER (WHERE advantage > 0) AS n_positive, count(*) FILTER (WHERE advantage < 0) AS n_negative
		FROM rl.steps_advantages GROUP BY 1, 2, 3, 4 HAVING count(advantage) > 0) c
	ON b.policy_version = c.policy_version AND b.bucket = c.bucket AND b.category IS NOT DISTINCT FROM c.tool AND b.method = c.method;
SELECT * FROM advantages_differ;
-- Rollouts: five measures of each, and of those that took a known time the seconds.
CREATE VIEW shapes AS
	SELECT r.policy_version, r.bucket, m.measure, r.success, m.value
	FROM (
		SELECT r.policy_version, date_trunc('day', r.started_at) AS bucket, r.success, extract(epoch FROM r.ended_at - r.started_at)::float8 AS seconds, count(*) AS n_steps, count(DISTINCT s.turn) AS n_turns,
			sum(coalesce(s.cost, 1)) AS cost, sum(cardinality(s.response_token_ids)) AS n_tokens, (SELECT count(*) FROM calls c WHERE c.rollout_id = r.rollout_id AND c.repeat) AS n_repeats
		FROM rl.rollouts r JOIN rl.steps s USING (run_id, policy_version, task_id, rollout_id) GROUP BY r.policy_version, r.started_at, r.success, r.ended_at, r.rollout_id) r,
		LATERAL (VALUES ('steps', r.n_steps::float8), ('turns', r.n_turns), ('cost', r.cost), ('repeats', r.n_repeats), ('response_tokens', r.n_tokens), ('seconds', r.seconds)) m(measure, value);
CREATE VIEW shape_differs AS
	SELECT count(*) AS n, count(DISTINCT b.measure) AS measures, count(*) FILTER (WHERE b.n_rollouts IS DISTINCT FROM c.n OR abs(b.mean - c.mean) > 1e-9 OR abs(b.p50 - c.p50) > 1e-9 OR abs(b.p95 - c.p95) > 1e-9
		OR abs(b.per_success - c.per_success) > 1e-9 OR b.per_success IS NULL <> (c.per_success IS NULL)) AS differs
	FROM rl.steps_measures_over_time b FULL JOIN (
		SELECT policy_version, bucket, measure, count(value) AS n, avg(value) AS mean, percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS p50, percentile_cont(0.95) WITHIN GROUP (ORDER BY value) AS p95,
			sum(value) FILTER (WHERE success IS NOT NULL) / nullif(count(value) FILTER (WHERE success), 0) AS per_success
		FROM shapes GROUP BY 1, 2, 3) c USING (policy_version, bucket, measure);
SELECT * FROM shape_differs;
SELECT measure, sum(n_rollouts) AS n_rollouts, round(sum(mean * n_rollouts)::numeric, 3) AS total FROM rl.steps_measures_over_time GROUP BY 1 ORDER BY 1;
-- Horizons: the distances of groups divided as those of the view are, by a walk from the goal in plain SQL.
CREATE VIEW edges AS
	SELECT c.policy_version, c.bucket, c.task_id, c.rollout_id, r.success, s.step_no, s.state, lead(s.state) OVER w AS next_state, lead(s.state) OVER w IS NULL AS is_last, s.next_state AS end_state
	FROM calls c JOIN rl.steps s USING (step_id) JOIN rl.rollouts r ON r.rollout_id = c.rollout_id WHERE r.success IS NOT NULL WINDOW w AS (PARTITION BY c.rollout_id ORDER BY s.step_no);
CREATE TABLE distances AS
	WITH RECURSIVE away(policy_version, bucket, task_id, state, distance) AS (
		SELECT policy_version, bucket, task_id, state, 1 FROM edges WHERE is_last AND success
		UNION SELECT e.policy_version, e.bucket, e.task_id, e.state, a.distance + 1 FROM away a JOIN edges e USING (policy_version, bucket, task_id) WHERE e.next_state = a.state AND a.distance < 20)
	SELECT policy_version, bucket, task_id, state, min(distance) AS distance FROM away GROUP BY 1, 2, 3, 4;
CREATE VIEW horizon_differs AS
	SELECT count(*) AS n, count(b.horizon) AS known, count(*) FILTER (WHERE (b.n_rollouts, b.n_successes) IS DISTINCT FROM (c.n, c.n_successes) OR abs(b.success_rate - c.n_successes::float8 / c.n) > 1e-12
		OR abs(b.mean_steps - c.mean_steps) > 1e-9 OR abs(b.mean_excess - c.mean_excess) > 1e-9 OR abs(b.p50_excess - c.p50) > 1e-9 OR b.mean_excess IS NULL <> (c.mean_excess IS NULL)) AS differs
	FROM rl.steps_success_by_horizon b FULL JOIN (
		SELECT policy_version, bucket, distance AS horizon, count(*) AS n, count(*) FILTER (WHERE success) AS n_successes, avg(n_steps) AS mean_steps, avg(n_steps - distance) FILTER (WHERE success) AS mean_excess,
			percentile_cont(0.5) WITHIN GROUP (ORDER BY n_steps - distance) FILTER (WHERE success) AS p50
		FROM (SELECT e.policy_version, e.bucket, e.rollout_id, e.success, count(*) AS n_steps, (SELECT d.distance FROM distances d JOIN edges f USING (policy_version, bucket, task_id, state)
			WHERE f.rollout_id = e.rollout_id AND f.step_no = min(e.step_no)) AS distance FROM edges e GROUP BY 1, 2, 3, 4) x GROUP BY 1, 2, 3) c
	ON b.policy_version = c.policy_version AND b.bucket = c.bucket AND b.horizon IS NOT DISTINCT FROM c.horizon;
SELECT * FROM horizon_differs;

-- Maintained, also after changes, they say the same.
SELECT count(*) > 0 AS maintained FROM stepadv.maintain('rl.rollout_rows');
SELECT b.differs AS behaviour, a.differs AS advantages, s.differs AS shape, h.differs AS horizon FROM behaviour_differs b, advantages_differ a, shape_differs s, horizon_differs h;
UPDATE rl.steps SET ok = false, tool = 'other' WHERE step_id % 10 = 0;
UPDATE rl.rollouts SET success = true WHERE rollout_id IN ('r3', 'r17') OR policy_step = 3 AND success IS NOT NULL;
SELECT b.differs AS behaviour, a.differs AS advantages, s.differs AS shape FROM behaviour_differs b, advantages_differ a, shape_differs s;
-- Kept and not kept groups under random changes of everything that is read; and after check_maintained.
CREATE FUNCTION kept_differs(OUT rows bigint, OUT differ bigint, OUT wrong bigint) LANGUAGE plpgsql AS $$
DECLARE
	view text;
BEGIN
	rows := 0;
	differ := 0;
	-- The same views of the same rows, with nothing kept.
	FOREACH view IN ARRAY '{behaviour,behaviour_advantage,measures_over_time,success_by_horizon}'::text[] LOOP
		EXECUTE format('CREATE TEMP TABLE one AS SELECT row_number() OVER (ORDER BY %2$s) AS i, to_jsonb(v) AS said FROM rl.steps_%1$s v; CREATE TEMP TABLE other AS SELECT row_number() OVER (ORDER BY %2$s) AS i, to_jsonb(v) AS said FROM plain_%1$s v', view,
			'run_id, policy_version, policy_step, bucket, ' || CASE view WHEN 'behaviour' THEN 'category' WHEN 'behaviour_advantage' THEN 'category, method' WHEN 'measures_over_time' THEN 'measure' ELSE 'horizon' END);
		rows := rows + (SELECT count(*) FROM one);
		-- Sums to their last digits, all else as it is.
		differ := differ + (SELECT count(*) FROM one FULL JOIN other USING (i)
			WHERE one.said - '{mean_advantage,mean_abs_advantage,mean,per_success,mean_steps,mean_excess}'::text[] IS DISTINCT FROM other.said - '{mean_advantage,mean_abs_advantage,mean,per_success,mean_steps,mean_excess}'::text[]
				OR EXISTS (SELECT FROM unnest('{mean_advantage,mean_abs_advantage,mean,per_success,mean_steps,mean_excess}'::text[]) n WHERE one.said -> n <> other.said -> n AND (abs((one.said ->> n)::float8 - (other.said ->> n)::float8) <= 1e-12) IS NOT TRUE));
		DROP TABLE one, other;
	END LOOP;
	wrong := (SELECT count(*) FROM stepadv.check_maintained('rl.rollout_rows', 'steps'));
END
$$;
SELECT count(*) > 20 AS attached FROM stepadv.attach('rl.rollout_rows', '{run_id,policy_version,task_id}', 'rollout_id', 'step_no', 'state', 'action_hash', 'reward', columns => '{"step_id": "step_id", "success": "success", "next_state": "next_state", "value": "value", "turn_reward": "turn_reward", "cost": "cost", "tool": "tool", "args": "args", "ok": "ok", "policy_version": "policy_version", "started_at": "started_at", "turn": "turn", "task_id": "task_id", "run_id": "run_id", "policy_step": "policy_step", "truncated": "truncated", "response_token_ids": "response_token_ids", "ended_at": "ended_at", "category": "tool"}', views => '{all}', prefix => 'plain', schema => 'behaviour_tests', options => '{"show_steps": "rl.steps", "show_rollouts": "rl.rollouts"}');
SELECT setseed(0.5);
SELECT rows > 400 AS enough, differ, wrong FROM kept_differs();
UPDATE rl.steps SET tool = CASE WHEN random() < 0.5 THEN 'third' END, ok = random() < 0.5, response_token_ids = response_token_ids[1:1] WHERE random() < 0.02;
UPDATE rl.rollouts SET success = NULLIF(random() < 0.5, rollout_id ~ '7'), started_at = started_at + interval '1 day', ended_at = ended_at + interval '25 hours' WHERE random() < 0.1;
DELETE FROM rl.steps WHERE random() < 0.01;
SELECT rows > 400 AS enough, differ, wrong FROM kept_differs();
UPDATE rl.steps SET tool = 'bash' WHERE tool = 'third' AND random() < 0.3;
DELETE FROM rl.rollouts r WHERE r.task_id = 'task 2' AND policy_step = 1;
SELECT rows > 400 AS enough, differ, wrong FROM kept_differs();
-- Wrong digests are found and corrected.
DELETE FROM rl.steps_digests WHERE task_id = 'task 3' AND policy_version = 'v3';
SELECT DISTINCT c.problem, c.group_key IS NOT NULL AS of_group FROM stepadv.check_maintained('rl.rollout_rows') c ORDER BY 1, 2;
SELECT stepadv.refresh('rl.rollout_rows', full => true) > 0 AS refreshed;
SELECT rows > 400 AS enough, differ, wrong FROM kept_differs();
SELECT count(*) > 0 AS detached FROM stepadv.unmaintain('rl.rollout_rows');

-- By action, of turns, with another width; without policy steps, by time; what is grounded.
CREATE TABLE own AS SELECT s.*, 'v' || policy_step AS version, timestamptz '2026-03-01' + policy_step * interval '1 day' AS began, (ARRAY['bash', 'str_replace_editor', NULL])[1 + step_no % 3] AS tool,
	CASE step_no % 3 WHEN 0 THEN '{"command": "pytest -q"}' ELSE '{"command": "view", "path": "a.py"}' END AS args, step_no % 5 <> 0 AS ok, 0.5 AS c, step_no / 2 AS turn FROM sim_steps s;
SELECT count(*) AS views FROM stepadv.attach('own', '{task,version}', 'rollout_id', 'step_no', 'state_hash', 'action_hash', 'reward', columns => '{"step_id": "step_id", "success": "success", "next_state": "next_state_hash", "tool": "tool", "args": "args", "ok": "ok", "category": "tool", "contribution": "c", "turn": "turn", "policy_version": "version", "started_at": "began"}', views => '{all}', options => '{"unit": "turn", "behaviour": {"category": "action"}, "success_by_horizon": {"width": 4}, "progress_over_time": {"bucket": "1 month"}}') v WHERE v.view_name::text ~ 'behaviour|measures|horizon';
SELECT category, sum(n_calls) AS n_calls, sum(n_errors) AS n_errors, sum(grounded_share * n_calls) AS grounded FROM own_behaviour GROUP BY 1 ORDER BY 1;
SELECT category, n FROM (SELECT stepadv.action_category(tool, args::jsonb) AS category, count(*) AS n FROM own GROUP BY 1) x ORDER BY 1;
SELECT measure, sum(n_rollouts) AS n_rollouts, round(sum(n_rollouts * mean)) AS total FROM own_measures_over_time GROUP BY 1 ORDER BY 1;
SELECT count(*) AS steps, count(DISTINCT (rollout_id, turn)) AS turns FROM own;
SELECT horizon, sum(n_rollouts) AS n_rollouts, sum(n_successes) AS n_successes FROM own_success_by_horizon GROUP BY 1 ORDER BY 1;
SELECT count(*) > 0 AS detached FROM stepadv.detach('own');
-- What is kept is read, and gives the same; also for groups kept by turn.
CREATE FUNCTION said() RETURNS SETOF jsonb LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT to_jsonb(x) - '{error_share,repeat_share}'::text[] FROM own_behaviour x UNION ALL SELECT to_jsonb(x) - '{mean_advantage,mean_abs_advantage}'::text[] FROM own_behaviour_advantage x
		UNION ALL SELECT to_jsonb(x) - '{mean,per_success}'::text[] FROM own_measures_over_time x UNION ALL SELECT to_jsonb(x) - '{mean_steps,mean_excess}'::text[] FROM own_success_by_horizon x;
END
$$;
CREATE INDEX ON own (task, version);
SELECT count(*) > 0 AS attached FROM stepadv.attach('own', '{task,version}', 'rollout_id', 'step_no', 'state_hash', 'action_hash', 'reward', columns => '{"step_id": "step_id", "success": "success", "tool": "tool", "ok": "ok", "category": "tool", "turn": "turn", "policy_version": "version"}', views => '{all}');
CREATE TABLE said_before AS SELECT * FROM said();
SELECT count(*) > 0 AS maintained FROM stepadv.maintain('own');
SELECT count(*) > 100 AS said, (SELECT count(*) FROM (SELECT * FROM said_before EXCEPT ALL SELECT * FROM said()) x) AS differs, pg_get_viewdef('own_measures_over_time') ~ 'own_digests' AS from_kept FROM said_before;
DELETE FROM own WHERE rollout_id % 7 = 0;
CREATE TABLE said_after AS SELECT * FROM said();
SELECT count(*) > 0 AS detached FROM stepadv.detach('own');
SELECT count(*) > 0 AS attached FROM stepadv.attach('own', '{task,version}', 'rollout_id', 'step_no', 'state_hash', 'action_hash', 'reward', columns => '{"step_id": "step_id", "success": "success", "tool": "tool", "ok": "ok", "category": "tool", "turn": "turn", "policy_version": "version"}', views => '{all}', options => '{"unit": "turn"}');
CREATE TABLE said_by_turn AS SELECT * FROM said();
SELECT count(*) AS differs FROM (SELECT * FROM said_after a(said) WHERE a.said ? 'n_calls' OR a.said ? 'measure' EXCEPT ALL SELECT * FROM said_by_turn) x(said);
SELECT count(*) > 0 AS maintained FROM stepadv.maintain('own');
SELECT (SELECT count(*) FROM (SELECT * FROM said_by_turn EXCEPT ALL SELECT * FROM said()) x) AS differs, pg_get_viewdef('own_measures_over_time') ~ 'own_digests' AS shape_from_kept, pg_get_viewdef('own_success_by_horizon') ~ 'own_digests' AS horizon_from_kept;
SELECT count(*) > 0 AS detached FROM stepadv.detach('own');
-- A category whose changes cannot be seen is read from the rows, although the rest is kept; without ok there are no columns of errors.
CREATE MATERIALIZED VIEW kinds AS SELECT DISTINCT tool, left(tool, 1) AS kind FROM own;
CREATE VIEW named AS SELECT o.*, (SELECT k.kind FROM kinds k WHERE k.tool = o.tool) AS kind FROM own o;
SELECT count(*) > 0 AS attached FROM stepadv.attach('named', '{task,version}', 'rollout_id', 'step_no', 'state_hash', 'action_hash', 'reward', columns => '{"category": "kind", "policy_version": "version"}', views => '{all}');
SELECT stepadv.maintain('named');
SELECT pg_get_viewdef('named_success_by_horizon') ~ 'named_digests' AS horizon_from_kept, sum(n_calls) = (SELECT count(*) FROM own) AS all_calls, array_agg(DISTINCT category),
	(SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'named_behaviour'::regclass AND attnum > 3) AS columns FROM named_behaviour;
-- Without categories, states or runs there are no such views; wrong options.
SELECT count(*) AS views FROM stepadv.attach('own', '{task}', 'rollout_id', 'step_no', NULL, 'action_hash', 'reward', columns => '{"policy_version": "version"}', views => '{all}') v WHERE v.view_name::text ~ 'behaviour|measures|horizon';
SELECT measure, sum(n_rollouts) AS n_rollouts FROM own_measures_over_time GROUP BY 1;
SELECT count(*) > 0 AS detached FROM stepadv.detach('own');
SELECT count(*) AS views FROM stepadv.attach('own', '{task}', 'rollout_id', 'step_no', 'state_hash', 'action_hash', 'reward', columns => '{"category": "tool"}', views => '{all}') v WHERE v.view_name::text ~ 'behaviour|measures|horizon';
SELECT count(*) > 0 AS detached FROM stepadv.detach('own');
SELECT stepadv.attach('own', '{task}', 'rollout_id', 'step_no', 'state_hash', 'action_hash', 'reward', columns => '{"category": "tool", "policy_version": "version"}', views => '{all}', options => '{"behaviour": {"category": "colour"}}');
SELECT stepadv.attach('own', '{task}', 'rollout_id', 'step_no', 'state_hash', 'action_hash', 'reward', columns => '{"category": "tool", "policy_version": "version"}', views => '{all}', options => '{"behaviour": {"category": "action"}}');
SELECT stepadv.attach('own', '{task}', 'rollout_id', 'step_no', 'state_hash', 'action_hash', 'reward', columns => '{"category": "ok", "policy_version": "version"}', views => '{all}');
SELECT stepadv.attach('own', '{task}', 'rollout_id', 'step_no', 'state_hash', 'action_hash', 'reward', columns => '{"tool": "tool", "policy_version": "version"}', views => '{all}', options => '{"success_by_horizon": {"width": 0}}');
SELECT stepadv.attach('own', '{task}', 'rollout_id', 'step_no', 'state_hash', 'action_hash', 'reward', columns => '{"tool": "tool", "policy_version": "version"}', views => '{all}', options => '{"measures_over_time": {"width": 1}}');
-- Digests from kept groups equal those from rows: several or unknown versions, categories, methods that need a critic, measures of rollouts; all groups or changed ones; by turn.
CREATE SCHEMA parts;
CREATE TABLE parts.calls (id bigint PRIMARY KEY, task int, run int, at int, turn int, seen int, did int, tool text, good boolean, answer int[], worth float8, price float8, gain float8, version text, since timestamptz, until timestamptz);
INSERT INTO parts.calls
SELECT t * 1000 + r * 100 + i, t, r, i, (i + 1) / 2, (t + r * i) % 4, i * r % 3, (ARRAY['read', 'edit', NULL, 'test'])[1 + (t + i * r) % 4], (ARRAY[true, false, NULL])[1 + (i + r) % 3],
	CASE WHEN r < 5 THEN array_fill(i, ARRAY[1 + i % 3]) END, sin(t + r * i), (i % 3) / 2.0, CASE WHEN i = 4 + r % 3 THEN (r + t) % 2 ELSE 0 END,
	CASE WHEN t < 3 THEN 'one' WHEN r < 3 THEN 'two' WHEN r < 5 THEN 'three' END, CASE WHEN t <> 4 THEN '2026-01-01'::timestamptz + t * interval '7 hours' END, '2026-01-03'::timestamptz + r * interval '1 minute'
FROM generate_series(1, 6) t, generate_series(1, 5) r, generate_series(1, 6) i WHERE i <= 4 + r % 3;
CREATE INDEX ON parts.calls (task, run, at);
CREATE FUNCTION parts.same(prefix text) RETURNS TABLE (kept bigint, left_to_readers bigint, differ bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('WITH f AS MATERIALIZED (SELECT task, policy_version, bucket, digest::text FROM parts.%1$s_fresh_digests), k AS MATERIALIZED (SELECT task, policy_version, bucket, digest::text FROM parts.%1$s_digests),
		d AS ((TABLE f EXCEPT ALL TABLE k) UNION ALL (TABLE k EXCEPT ALL TABLE f))
		SELECT count(*), count(*) FILTER (WHERE k.digest IS NULL), (SELECT count(*) FROM d) FROM k', prefix);
END
$$;
SELECT count(*) > 0 AS attached FROM stepadv.attach('parts.calls', '{task}', 'run', 'at', 'seen', 'did', 'gain', columns => '{"value": "worth", "cost": "price", "turn": "turn", "tool": "tool", "ok": "good", "category": "tool", "response_token_ids": "answer", "policy_version": "version", "started_at": "since", "ended_at": "until"}', views => '{all}', prefix => 'plain');
SELECT stepadv.maintain('parts.calls', mode => 'refresh');
SELECT * FROM parts.same('plain');
UPDATE parts.calls SET version = 'four' WHERE task = 5 AND run = 1;
UPDATE parts.calls SET tool = 'read', good = false WHERE task = 1 AND at = 1;
DELETE FROM parts.calls WHERE task = 2 AND run = 2;
SELECT stepadv.refresh('parts.calls');
SELECT * FROM parts.same('plain');
SELECT * FROM stepadv.check_maintained('parts.calls');
SELECT count(*) > 0 AS detached FROM stepadv.detach('parts.calls');
SELECT count(*) > 0 AS attached FROM stepadv.attach('parts.calls', '{task}', 'run', 'at', 'seen', 'did', 'gain', columns => '{"turn": "turn", "tool": "tool", "ok": "good", "category": "tool", "policy_version": "version", "started_at": "since"}', views => '{all}', prefix => 'turns', options => '{"unit": "turn"}');
SELECT stepadv.maintain('parts.calls', mode => 'refresh');
SELECT * FROM parts.same('turns');
DELETE FROM parts.calls WHERE task = 3 AND run = 2;
SELECT stepadv.refresh('parts.calls');
SELECT * FROM parts.same('turns');
SELECT * FROM stepadv.check_maintained('parts.calls');

SET client_min_messages = warning;
DROP SCHEMA sim, rl, behaviour_tests, parts CASCADE;

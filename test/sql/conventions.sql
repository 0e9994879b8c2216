-- The papers' conventions as options: through attach each gives what the function gives; and which of them public code uses by default.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
SET jit = off;
CREATE SCHEMA conventions;
SET search_path = conventions, stepadv, public;

-- Tasks with shared states, partly missing turn rewards, tool calls; the rollout of task 4 is alone, and rollout 3 of each task is not judged.
CREATE TABLE s AS
SELECT (t * 100 + r * 10 + n)::bigint AS id, t AS task, t * 10 + r AS rollout, n AS no, (n + r % 2) % 3 AS state, 'a' || (r * n) % 3 AS action,
	CASE WHEN r <> 3 THEN CASE n WHEN 4 THEN ((r * t) % 4) / 2.0 ELSE 0.25 * (n % 2) END END::float8 AS reward,
	CASE WHEN (r + t) % 3 > 0 THEN n / 8.0 END::float8 AS turn_reward,
	(ARRAY['Read', 'Edit', 'bash', NULL, 'execute_bash'])[1 + (r + n * t) % 5] AS tool,
	(ARRAY['{"file_path": "a.py"}', '{"file_path": "a.py", "old_string": "x", "new_string": "y"}', '{"command": "pytest"}', NULL, '{"command": "python b.py"}'])[1 + (r + n * t) % 5]::jsonb AS args,
	(r * n) % 3 > 0 AS ok
FROM generate_series(1, 4) t, generate_series(0, 5) r, generate_series(0, 4) n WHERE t < 4 OR r = 1;

SELECT count(*) > 10 AS attached FROM attach('s', '{task}', 'rollout', 'no', state => 'state', action => 'action', reward => 'reward', columns => '{"step_id": "id", "turn_reward": "turn_reward"}', views => '{all}', options => '{"rtmc": {"prior_mean": "start_value", "gamma": 0.9}, "graphgpo": {"normalise": "mean", "epsilon_scale": "state"}, "mt_grpo": {"without_turn_reward": "merge"}, "mt_rloo": {"without_turn_reward": "merge"}, "rloo": {"step_rewards": true, "pool": "step"}, "gigpo": {"singleton": "raw"}}');
-- Every step of the view against the function, and against the function without the option: some differ
CREATE TABLE g AS SELECT task, rollout_agg(id, rollout, no, state, signature_hash(action), reward, NULL, NULL, NULL, turn_reward, NULL) AS g FROM s GROUP BY task;
SELECT method, count(*) AS steps, count(*) FILTER (WHERE viewed IS DISTINCT FROM called) AS off, count(*) FILTER (WHERE called <> plain) > 0 AS matters
FROM (
	SELECT 'rtmc' AS method, v.advantage AS viewed, a.advantage AS called, p.advantage AS plain
		FROM g, rtmc(g, gamma => 0.9, prior_mean => 'start_value') a JOIN rtmc(g, gamma => 0.9) p USING (step_id) LEFT JOIN s_rtmc v USING (step_id)
	UNION ALL SELECT 'graphgpo', v.advantage, a.advantage, p.advantage
		FROM g, graphgpo(g, normalise => 'mean', epsilon_scale => 'state') a JOIN graphgpo(g) p USING (step_id) LEFT JOIN s_graphgpo v USING (step_id)
	UNION ALL SELECT 'mt_grpo', v.advantage, a.advantage, p.advantage
		FROM g, mt_grpo(g, without_turn_reward => 'merge') a JOIN mt_grpo(g) p USING (step_id) LEFT JOIN s_mt_grpo v USING (step_id)
	UNION ALL SELECT 'mt_rloo', v.advantage, a.advantage, p.advantage
		FROM g, mt_rloo(g, without_turn_reward => 'merge') a JOIN mt_rloo(g) p USING (step_id) LEFT JOIN s_mt_rloo v USING (step_id)
	UNION ALL SELECT 'rloo', v.advantage, a.advantage, p.advantage
		FROM g, rloo(g, step_rewards => true, pool => 'step') a JOIN rloo(g) p USING (step_id) LEFT JOIN s_rloo v USING (step_id)
	UNION ALL SELECT 'gigpo', v.advantage, a.advantage, p.advantage
		FROM g, gigpo(g, singleton => 'raw') a JOIN gigpo(g) p USING (step_id) LEFT JOIN s_gigpo v USING (step_id)) m
GROUP BY method ORDER BY method;
-- What borrows the options of another method: the tree and the edges
SELECT count(*) > 10 AS edges, count(*) FILTER (WHERE t.v IS DISTINCT FROM a.v OR t.advantage IS DISTINCT FROM a.advantage) AS off
FROM s_rtmc_tree t JOIN g USING (task), rtmc(g, gamma => 0.9, prior_mean => 'start_value') a WHERE a.step_id = t.step_id;
SELECT count(*) FILTER (WHERE e.n_visits = 1) > 3 AS edges, count(*) FILTER (WHERE e.n_visits = 1 AND e.graph_advantage IS DISTINCT FROM a.graph_advantage) AS off
FROM s_graph_edges e JOIN g USING (task), graphgpo(g, normalise => 'mean', epsilon_scale => 'state') a WHERE a.step_id = e.step_id;
-- An unknown value is an error of attach
SELECT count(*) FROM attach('s', '{task}', 'rollout', 'no', state => 'state', action => 'action', reward => 'reward', views => '{all}', prefix => 'bad', options => '{"rtmc": {"prior_mean": "mean"}}');
SELECT count(*) FROM attach('s', '{task}', 'rollout', 'no', state => 'state', reward => 'reward', views => '{all}', prefix => 'bad', options => '{"graphgpo": {"epsilon_scale": "batch"}}');

-- States of signatures with the flags of the paper: which steps share one, and that others do not
SELECT count(*) > 5 AS attached FROM attach('s', '{task}', 'rollout', 'no', reward => 'reward', columns => '{"step_id": "id", "tool": "tool", "args": "args", "ok": "ok"}', views => '{all}', prefix => 'p', options => '{"states": "signature", "signature": {"flags": "paper"}}');
SELECT count(DISTINCT v.state) = count(DISTINCT w.paper) AND count(DISTINCT v.state) = count(DISTINCT (v.state, w.paper)) AS as_paper, count(DISTINCT w.paper) < count(DISTINCT w.count) AS coarser,
	bool_and(w.paper !~ '\|\|.*(exec|install|fileop|finish|search|other|test=)') AS nothing_else
FROM p_values, steps(rollouts) v JOIN (
	SELECT id AS step_id, state_signature(action_signature(tool, args, ok), 'paper', 'range') OVER w AS paper, state_signature(action_signature(tool, args, ok)) OVER w AS count
	FROM s WINDOW w AS (PARTITION BY rollout ORDER BY no ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) w USING (step_id);

DROP SCHEMA conventions CASCADE;

-- The simulator (test/sim): its dynamic programming satisfies its equations, and its rollouts have the stated probabilities.
-- (Compiling these queries would take longer than running them.)
SET jit = off;
\i test/sim/simulator.sql

-- Probabilities of a policy and of a transition sum to 1.
SELECT bool_and(abs(total - 1) < 1e-15 * 8) AS policy_sums_to_1
FROM (SELECT sum(p.probability) AS total FROM generate_series(0, 20) t, sim.policy(t) p GROUP BY t, p.state) x;
SELECT bool_and(abs(total - 1) < 1e-15 * 8) AS transitions_sum_to_1
FROM (SELECT sum(p.probability) AS total FROM generate_series(0, 20) t, sim.transitions(t) p GROUP BY t, p.state, p.action) x;

-- Bellman's equations: Q = sum P (r + gamma V'), V = sum pi Q; also for the success probability (gamma 1) and the number of steps (reward 1 a step).
CREATE TEMP TABLE moves AS SELECT t AS task, p.* FROM generate_series(0, 2) t, sim.transitions(t) p;
CREATE TEMP TABLE solution AS SELECT t AS task, gamma, v.*
FROM generate_series(0, 2) t, (VALUES (0.5::float8), (0.99), (1)) g(gamma), sim.values(t, gamma) v;
CREATE TEMP TABLE checked AS
SELECT s.*, b.*
FROM solution s, LATERAL (
	SELECT sum(p.probability * (p.reward + s.gamma * coalesce(n.v, 0))) AS backup,
		sum(p.probability * (p.reward + coalesce(n.success_v, 0))) AS success_backup,
		1 + sum(p.probability * coalesce(n.expected_steps, 0)) AS steps_backup
	FROM moves p
	LEFT JOIN (SELECT DISTINCT w.state, w.v, w.success_v, w.expected_steps
		FROM solution w WHERE w.task = s.task AND w.gamma = s.gamma) n ON n.state = p.next_state
	WHERE p.task = s.task AND p.state = s.state AND p.action = s.action) b;
SELECT max(abs(q - backup)) < 1e-14 AS q_solved,
	max(abs(success_q - success_backup)) < 1e-14 AS success_solved,
	bool_and(abs(advantage - (q - v)) = 0) AS advantage_is_q_minus_v,
	max(abs(q - success_q)) FILTER (WHERE gamma = 1) < 1e-14 AS q_is_success_without_discount,
	count(*) > 300 AS enough_rows
FROM checked;
SELECT max(abs(v - sum_q)) < 1e-14 AS v_solved, max(abs(expected_steps - sum_steps) / expected_steps) < 1e-13 AS steps_solved
FROM (SELECT v, expected_steps, sum(probability * q) AS sum_q, sum(probability * steps_backup) AS sum_steps
	FROM checked GROUP BY task, gamma, state, v, expected_steps) x;
-- The advantage of the policy's own choice is 0 on average, and not all 0.
SELECT max(abs(mean)) < 1e-14 AS centred, max(spread) > 0.05 AS spread
FROM (SELECT sum(probability * advantage) AS mean, max(advantage) AS spread FROM checked GROUP BY task, gamma, state) x;

-- Rollouts: one start, unbroken chains, one end.
CREATE TEMP TABLE rollouts AS SELECT * FROM sim.simulate(600, 8, 42);
SELECT count(DISTINCT group_id) AS groups, count(DISTINCT rollout_id) AS rollouts, count(DISTINCT task) AS tasks FROM rollouts;
SELECT bool_and(state = before OR before IS NULL) AS unbroken,
	bool_and((success IS NOT NULL) = (after IS NULL)) AS judged_at_the_end,
	bool_and(reward = CASE WHEN success THEN 1 ELSE 0 END) AS reward_is_success,
	bool_and(step_no > 0 OR state = sim.state_text(sim.start_state(task))) AS starts,
	bool_and(step_no = rank) AS numbered,
	bool_and(state_hash = stepadv.signature_hash(state) AND action_hash = stepadv.signature_hash(action)
		AND next_state_hash = stepadv.signature_hash(next_state)) AS hashed,
	bool_and(NOT truncated) AS ended
FROM (SELECT r.*, lag(next_state) OVER w AS before, lead(state) OVER w AS after, row_number() OVER w - 1 AS rank
	FROM rollouts r WINDOW w AS (PARTITION BY rollout_id ORDER BY step_no)) x;

-- Within four standard errors of the exact values, by instance: share of successes and (with its own standard error) mean number of steps.
SELECT bool_and(abs(p - success_v) < 4 * sqrt(success_v * (1 - success_v) / n)) AS success_agrees,
	bool_and(abs(steps - expected_steps) < 4 * sd / sqrt(n)) AS length_agrees,
	max(abs(p - success_v)) > 0 AS not_by_construction, count(*) AS instances
FROM (SELECT task, count(*) AS n, avg(success::integer) AS p, avg(step_no + 1) AS steps, stddev(step_no + 1) AS sd
	FROM rollouts WHERE success IS NOT NULL GROUP BY task) r
JOIN LATERAL (SELECT DISTINCT v.success_v, v.expected_steps FROM sim.values(r.task) v WHERE v.state = sim.start_state(r.task)) v ON true;
-- Mean discounted return after the first visit of each (state, action): Q.
WITH returns AS (
	SELECT task, rollout_id, state, action, step_no,
		sum(reward * 0.9 ^ step_no) OVER (PARTITION BY rollout_id ORDER BY step_no DESC) / 0.9 ^ step_no AS return
	FROM rollouts
), first AS (
	SELECT DISTINCT ON (rollout_id, state, action) * FROM returns ORDER BY rollout_id, state, action, step_no
), seen AS (
	SELECT task, state, action, count(*) AS n, avg(return) AS mean, stddev(return) AS sd
	FROM first GROUP BY task, state, action HAVING count(*) >= 100
)
SELECT bool_and(abs(s.mean - v.q) <= 4.5 * s.sd / sqrt(s.n) + 1e-12) AS q_agrees, count(*) > 150 AS enough_pairs,
	avg(abs(s.mean - v.q) / nullif(s.sd / sqrt(s.n), 0)) BETWEEN 0.6 AND 1.0 AS as_far_as_chance_has_it
FROM seen s JOIN LATERAL sim.values(s.task, 0.9) v ON sim.state_text(v.state) = s.state AND v.action = s.action;

-- The same arguments give the same rollouts; more groups do not change the first ones; another seed does.
SELECT (SELECT count(*) FROM (SELECT * FROM sim.simulate(40, 8, 7) EXCEPT SELECT * FROM sim.simulate(80, 8, 7)) x) AS changed,
	(SELECT count(*) FROM (SELECT * FROM sim.simulate(40, 8, 8) EXCEPT SELECT * FROM sim.simulate(40, 8, 7)) x) > 3000 AS other_seed_differs;

-- Fixed length: rewarded at the end when the goal was reached in time.
CREATE TEMP TABLE fixed AS SELECT * FROM sim.simulate(200, 8, 42, horizon => 12);
SELECT count(*) = 200 * 8 * 12 AS size, bool_and(reward = 0 OR step_no = 11) AS terminal_reward,
	bool_and((success IS NOT NULL) = (step_no = 11)) AS judged_at_the_end,
	count(*) FILTER (WHERE action = 'wait') > 1000 AS some_wait,
	count(*) FILTER (WHERE truncated) > 100 AS some_are_cut_off
FROM fixed;
SELECT bool_and(f.reward = CASE WHEN r.success THEN 1 ELSE 0 END) AS reward_agrees, count(*) = 1600 AS all_rollouts
FROM fixed f JOIN (SELECT rollout_id, bool_or(success AND step_no < 12) AS success FROM rollouts GROUP BY rollout_id) r USING (rollout_id)
WHERE f.step_no = 11;

-- Truncated: the same rollouts, without the later steps.
SELECT count(*) AS differences FROM (
	(SELECT rollout_id, step_no, state, action, reward FROM sim.simulate(200, 8, 42, max_steps => 12)
	 EXCEPT SELECT rollout_id, step_no, state, action, reward FROM rollouts WHERE step_no < 12)
	UNION ALL
	(SELECT rollout_id, step_no, state, action, reward FROM rollouts WHERE step_no < 12 AND group_id <= 200
	 EXCEPT SELECT rollout_id, step_no, state, action, reward FROM sim.simulate(200, 8, 42, max_steps => 12))) x;
SELECT bool_and(truncated = (step_no = 11 AND success IS NOT NULL AND next_state NOT IN ('goal', 'gave up'))) AS truncated_at_12,
	bool_or(truncated) AS some, bool_and(NOT (truncated AND success)) AS no_success
FROM sim.simulate(200, 8, 42, max_steps => 12);

SELECT sim.steps_table('sim.steps', 20, 8, 42) = (SELECT count(*) FROM rollouts WHERE group_id <= 20) AS table_filled;
SELECT count(DISTINCT step_id) = count(*) AS step_ids_differ,
	bool_and(s.state = r.state_hash AND s.action = r.action_hash AND s.reward = r.reward AND s.group_id = r.group_id) AS same_steps
FROM sim.steps s JOIN rollouts r USING (rollout_id, step_no);
SET client_min_messages = warning;
DROP SCHEMA sim CASCADE;

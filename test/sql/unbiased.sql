-- On the simulator, whose exact values are known: rtmc is unbiased on average over many independent groups. (The first visits of a state and action are independent of
-- each other given their number, so the mean of Q over groups that have any is the action's value.)
SET jit = off;
\i test/sim/simulator.sql
SET search_path = stepadv, public;

-- Two instances, 2500 groups of 8 rollouts of each.
CREATE TEMP TABLE groups AS
SELECT group_id, task, rollout_agg(step_no, rollout_id, step_no, state_hash, action_hash, reward, success) AS rollouts
FROM sim.simulate(5000, 8, 2024, tasks => 2) GROUP BY group_id, task;
CREATE TEMP TABLE exact AS
SELECT t AS task, gamma, signature_hash(sim.state_text(x.state)) AS state, signature_hash(x.action) AS action, x.q
FROM generate_series(0, 1) t, (VALUES (0.9::float8), (0.8)) g(gamma), sim.values(t, gamma) x;
-- One row per group and pair; the steps repeat the estimate.
CREATE TEMP TABLE estimate AS
SELECT DISTINCT g.group_id, g.task, s.state, s.action, r.q, r.n_action, r.stderr
FROM groups g, rtmc(g.rollouts, gamma => 0.9) r, steps(g.rollouts) s
WHERE s.rollout_id = r.rollout_id AND s.step_no = r.step_no;

CREATE TEMP TABLE mean AS
SELECT e.gamma, task, state, action, m.n, (m.q - e.q) / (m.sd / sqrt(m.n)) AS z
FROM exact e JOIN (
	SELECT task, state, action, count(*) AS n, avg(q) AS q, stddev(q) AS sd
	FROM estimate GROUP BY task, state, action HAVING count(*) >= 100 AND stddev(q) > 0) m USING (task, state, action);
-- Every pair within 4.5 standard errors, and together as far off as chance predicts (0.8 on average).
SELECT count(*) > 60 AS pairs, max(abs(z)) < 4.5 AS none_is_off, avg(abs(z)) BETWEEN 0.6 AND 1.0 AS as_chance_has_it,
	sum(n) > 50000 AS estimates
FROM mean WHERE gamma = 0.9;
-- Values for another discount are not.
SELECT max(abs(z)) > 20 AS off FROM mean WHERE gamma = 0.8;

-- The square of the standard error is on average the true variance of Q, at each number of visits.
SELECT n_action, sum(mean_square) / sum(variance) BETWEEN 0.95 AND 1.05 AS right_on_average, count(*) > 10 AS pairs
FROM (
	SELECT task, state, action, n_action, avg(stderr ^ 2) AS mean_square, variance(q) AS variance
	FROM estimate WHERE n_action BETWEEN 2 AND 4
	GROUP BY task, state, action, n_action HAVING count(*) >= 300) x
GROUP BY n_action ORDER BY n_action;

-- The success rate, which is the prior mean, and the mean return without discount.
CREATE TEMP TABLE start AS
SELECT DISTINCT t AS task, x.success_v AS p FROM generate_series(0, 1) t, sim.values(t) x WHERE x.state = sim.start_state(t);
SELECT task, count(*) = 2500 AS every_group, p BETWEEN 0.1 AND 0.9 AS possible,
	abs(avg(success_rate) - p) < 4 * sqrt(p * (1 - p) / 20000) AS success_rate,
	abs(avg(mean_return) - p) < 4 * sqrt(p * (1 - p) / 20000) AS mean_return
FROM groups g JOIN start USING (task) CROSS JOIN LATERAL group_summary(g.rollouts) s
GROUP BY task, p ORDER BY task;

SET client_min_messages = warning;
DROP SCHEMA sim CASCADE;

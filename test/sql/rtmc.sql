-- rtmc, rtmc_tree: options by hand, rollouts not judged, errors.
CREATE SCHEMA rtmc;
SET search_path = rtmc, stepadv, public;
\set VERBOSITY terse

-- State 1: rollout 1 takes action 1 twice, then 2; rollouts 2 and 3 take 1, then 3. Rollout 4 is not judged.
CREATE TABLE x AS SELECT rollout_agg(id, rollout, no, state, action, reward) AS g FROM (VALUES
	(10, 1, 0, 1, 1, 0::float8), (11, 1, 1, 1, 1, 0), (12, 1, 2, 2, 2, 1),
	(20, 2, 0, 1, 1, 0), (21, 2, 1, 3, 3, 0),
	(30, 3, 0, 1, 1, 0), (31, 3, 1, 3, 3, 1),
	(40, 4, 0, 1, 1, NULL), (41, 4, 1, 3, 3, NULL)) v(id, rollout, no, state, action, reward);

-- gamma 0.5. Q(1,1) = (0.25 + 0 + 0.5) / 3 = 0.25, its squared deviations 0, 0.0625, 0.0625: stderr = sqrt(0.0625 / 3).
-- p = 2/3: V'(1) = (3 * 0.25 + 2 * 2/3) / 5; Q(3,3) = 0.5, V'(3) = (1 + 4/3) / 4; Q(2,2) = 1, V'(2) = (1 + 4/3) / 3
SELECT step_id, rollout_id, step_no, return, n_state, n_action, q, v, stderr, advantage, q_error, round(confidence::numeric, 12) AS confidence FROM x, rtmc(g, gamma => 0.5) a;
SELECT bool_and(abs(a.v - CASE state WHEN 1 THEN (0.75 + 4.0 / 3) / 5 WHEN 2 THEN (1 + 4.0 / 3) / 3 ELSE (1 + 4.0 / 3) / 4 END) < 1e-15) AS v,
	bool_and(stderr IS NULL OR abs(stderr - CASE state WHEN 1 THEN sqrt(0.0625 / 3) ELSE 0.5 END) < 1e-15) AS stderr
FROM x, rtmc(g, gamma => 0.5) a JOIN steps(g) s USING (step_id) WHERE a.advantage IS NOT NULL;
-- every visit: Q(1,1) = (0.25 + 0.5 + 0 + 0.5) / 4, n 4
SELECT a.step_id, n_state, n_action, q FROM x, rtmc(g, gamma => 0.5, visit => 'every') a WHERE rollout_id = 1;
-- no prior; a given baseline; a success that needs more than 1
SELECT a.step_id, v, advantage FROM x, rtmc(g, gamma => 0.5, prior => 0) a WHERE rollout_id = 1;
SELECT a.step_id, v, advantage FROM x, rtmc(g, gamma => 0.5, prior => 1, baseline => 5) a WHERE step_id = 12;
SELECT a.step_id, v, advantage FROM x, rtmc(g, gamma => 0.5, success_above => 1) a WHERE step_id = 12;
-- prior_mean: returns of the first steps 0.25, 0 and 0.5, their mean 0.25: V'(1) = (0.75 + 0.5) / 5, V'(2) = 1.5 / 3, V'(3) = 1.5 / 4; a baseline takes precedence
SELECT a.step_id, v FROM x, rtmc(g, gamma => 0.5, prior_mean => 'start_value') a WHERE step_id IN (10, 12, 21);
SELECT bool_and(a = b) AS baseline FROM x, rtmc(g, baseline => 5, prior_mean => 'start_value') a JOIN rtmc(g, baseline => 5) b USING (step_id);
-- without discount, where rewards are 0 or 1 at the end, both are equal
SELECT bool_and(a = b) AS same FROM x, rtmc(g, gamma => 1, prior_mean => 'start_value') a JOIN rtmc(g, gamma => 1) b USING (step_id);
-- a judged rollout without steps has no first step; a lone one is its own
SELECT a.v, a.advantage FROM (SELECT rollout_agg(s, r, s, s, s, w) g FROM (VALUES (1, 1, 0.5::float8), (NULL, 2, 1)) v(s, r, w)) y, rtmc(g, prior_mean => 'start_value') a;
-- the table of the tree agrees
SELECT bool_and(t.v = a.v AND t.advantage = a.advantage) AS tree FROM x, rtmc_tree(g, prior_mean => 'start_value') t JOIN rtmc(g, prior_mean => 'start_value') a USING (step_id);
-- normalise: the sd (ddof 0) of the result is 1, its mean is not moved to 0
SELECT round(stddev_pop(advantage)::numeric, 12) AS sd, round(avg(advantage)::numeric, 6) <> 0 AS not_centred FROM x, rtmc(g, normalise => true) a;
-- equal advantages: no division
SELECT a.advantage FROM (SELECT rollout_agg(i, i, 0, 1, 1, 1) g FROM generate_series(1, 2) i) y, rtmc(g, normalise => true) a;
-- a given success takes precedence over returns
SELECT a.rollout_id, v FROM (SELECT rollout_agg(i, i, 0, i, 1, 0, i <= 3) g FROM generate_series(1, 4) i) y, rtmc(g) a;
-- NULL states and actions are never shared
SELECT n_state, n_action, count(*) FROM (SELECT rollout_agg(i, i, 0, NULLIF(i % 2, 1), NULLIF(i % 3, 0), i) g FROM generate_series(1, 12) i) y, rtmc(g) a
GROUP BY 1, 2 ORDER BY 1, 2;
-- no rollout judged
SELECT a.* FROM (SELECT rollout_agg(i, i, 0, 1, 1, NULL) g FROM generate_series(1, 2) i) y, rtmc(g) a;
SELECT a.* FROM (SELECT rollout_agg(i, i, 0, 1, 1, NULL) g FROM generate_series(1, 2) i) y, group_summary(g) a;
SELECT count(*) FROM (SELECT rollout_agg(i, i, 0, 1, 1, NULL) g FROM generate_series(1, 2) i) y, rtmc_tree(g) a;

-- the tree: visits are rollouts, the loop 1 -> 1 is an edge
SELECT state, action, next_state, n_visits, n_successes, q, step_id FROM x, rtmc_tree(g, gamma => 0.5);
SELECT bool_and(t.q = a.q AND t.v = a.v AND t.advantage = a.advantage) AS same_as_rtmc FROM x, rtmc_tree(g) t, rtmc(g) a WHERE a.step_id = t.step_id;
SELECT s.* FROM x, group_summary(g) s;

-- Errors
SELECT a.* FROM x, rtmc(g, gamma => 2) a;
SELECT a.* FROM x, rtmc(g, prior => -1) a;
SELECT a.* FROM x, rtmc(g, prior => 'Infinity') a;
SELECT a.* FROM x, rtmc(g, baseline => 'NaN') a;
SELECT a.* FROM x, rtmc(g, gamma => NULL) a;
SELECT a.* FROM x, rtmc(g, visit => 'last') a;
SELECT a.* FROM x, rtmc(g, success_above => 'Infinity') a;
SELECT a.* FROM x, rtmc(g, prior_mean => 'median') a;

SET client_min_messages = warning;
DROP SCHEMA rtmc CASCADE;

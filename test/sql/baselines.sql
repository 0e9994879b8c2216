-- returns, reinforce, rloo, grpo: small groups worked by hand, options, refusals.
CREATE SCHEMA baselines;
SET search_path = baselines, stepadv, public;
\set VERBOSITY terse

-- Rollout 1: rewards 1, none, 2. Rollout 2: one step, 0, and 4 from its own row.
-- Rollout 3 took no step and got 6. Rollout 4 is not judged.
CREATE TABLE x AS SELECT rollout_agg(id, rollout, no, 1, id, reward) AS g FROM (VALUES
	(1, 1, 0, 1::float8), (2, 1, 1, NULL), (3, 1, 2, 2), (4, 2, 0, 0), (NULL, 2, NULL, 4), (NULL, 3, NULL, 6),
	(5, 4, 0, NULL), (6, 4, 1, NULL)) v(id, rollout, no, reward);

-- gamma 0.5: 1 + 0.5 (0 + 0.5 * 2) = 1.5; 1; 2; and 0 + 4
SELECT a.* FROM x, returns(g, gamma => 0.5) a;
-- cancellation leaves the small term: 1e16 + 1 - 1e16
SELECT a.step_no, a.return FROM (SELECT rollout_agg(i, 1, i::integer, 1, 1, r) AS g FROM unnest('{1e16,1,-1e16}'::float8[]) WITH ORDINALITY v(r, i)) y, returns(g) a ORDER BY 1;
-- discounted, too: 2^54 + 1/2 + 1/4 - 2^57/8
SELECT a.step_no, a.return FROM (SELECT rollout_agg(i, 1, i::integer, 1, 1, r) AS g
	FROM unnest(ARRAY[2 ^ 54, 1, 1, - 2 ^ 57]::float8[]) WITH ORDINALITY v(r, i)) y, returns(g, gamma => 0.5) a WHERE a.step_no = 1;
-- R = 3, 4
SELECT a.* FROM x, reinforce(g) a;
SELECT a.* FROM x, reinforce(g, gamma => 0.5, to_go => true) a;
-- the others' means: (4 + 6) / 2 and (3 + 6) / 2
SELECT a.* FROM x, rloo(g) a;
-- mean 13/3, sd of (3, 4, 6) = sqrt(7/3)
SELECT a.*, abs(a.advantage - (a.return - 13.0 / 3) / (sqrt(7.0 / 3) + 1e-6)) < 1e-12 AS by_hand FROM x, grpo(g) a;
SELECT a.* FROM x, grpo(g, normalise => 'mean', epsilon => 0) a;
SELECT a.* FROM x, grpo(g, normalise => 'none') a;
-- weighted by steps: (3 * 3 + 1 * 4) / 4 = 3.25; rollout 3, without steps, weighs nothing
SELECT a.*, abs(a.advantage - (a.return - 3.25) / 0.5) < 1e-12 AS by_hand FROM x, grpo(g, weighting => 'step', epsilon => 0) a;
-- rloo by steps: the three other steps have (3 + 3 + 4) / 3 and (3 + 3 + 3) / 3
SELECT a.* FROM x, rloo(g, weighting => 'step') a;
-- as verl-agent's trainer has it: (R - mean) n / (n - 1) over all n steps, each with its rollout's R
SELECT count(*) > 300 AS many, bool_and(abs(a.advantage - (w.return - w.mean) * w.n / (w.n - 1)) < 1e-12) AS as_there,
	count(*) FILTER (WHERE abs(a.advantage - b.advantage) > 1e-9) > 200 AS unlike_by_rollout
FROM (SELECT g, rollout_agg(g * 1000 + r * 10 + n, r, n, 1, 1, (g * r * 7 + n) % 5) AS rollouts
	FROM generate_series(1, 20) g, generate_series(1, 5) r, generate_series(0, 8) n WHERE n <= (g + r * r) % 9 GROUP BY g) y,
	LATERAL rloo(y.rollouts, weighting => 'step') a
	JOIN LATERAL rloo(y.rollouts) b USING (step_id)
	JOIN LATERAL (SELECT step_id, return, avg(return) OVER () AS mean, count(*) OVER () AS n
		FROM (SELECT step_id, advantage AS return FROM reinforce(y.rollouts)) i) w USING (step_id);
-- returns with gamma 1: 3, 2, 2 and 4; mean 2.75; by rank: (3 + 4) / 2, the others alone
SELECT a.* FROM x, grpo(g, step_rewards => true, gamma => 1, normalise => 'mean') a;
SELECT a.* FROM x, grpo(g, step_rewards => true, gamma => 1, normalise => 'mean', pool => 'step') a;
SELECT a.* FROM x, grpo(g, step_rewards => true, gamma => 1, normalise => 'mean', pool => 'step', singleton => 'raw') a;

-- rloo over the same: less the mean of the other three, or of the others of the rank
SELECT a.* FROM x, rloo(g, step_rewards => true, gamma => 1) a;
SELECT a.* FROM x, rloo(g, step_rewards => true, gamma => 1, pool => 'step') a;
SELECT a.* FROM x, rloo(g, 'raw', step_rewards => true, gamma => 1, pool => 'step') a;
-- without step_rewards the others change nothing
SELECT bool_and(a = b) AS same FROM x, rloo(g) a JOIN rloo(g, gamma => 0.5, pool => 'step') b USING (step_id);

-- A lone rollout, and one among rollouts not judged
\set n 1
SELECT f, a.advantage FROM (SELECT rollout_agg(i, i, 0, 1, 1, CASE i WHEN 1 THEN 3 END) g FROM generate_series(1, :n) i) y,
	LATERAL (SELECT 'rloo zero' f, advantage FROM rloo(g) UNION ALL SELECT 'rloo raw', advantage FROM rloo(g, 'raw')
		UNION ALL SELECT 'grpo zero', advantage FROM grpo(g) UNION ALL SELECT 'grpo raw', advantage FROM grpo(g, singleton => 'raw', epsilon => 0.5)
		UNION ALL SELECT 'grpo mean raw', advantage FROM grpo(g, normalise => 'mean', singleton => 'raw')) a ORDER BY f;
\set n 3
SELECT f, a.advantage FROM (SELECT rollout_agg(i, i, 0, 1, 1, CASE i WHEN 1 THEN 3 END) g FROM generate_series(1, :n) i) y,
	LATERAL (SELECT 'rloo zero' f, advantage FROM rloo(g) UNION ALL SELECT 'rloo raw', advantage FROM rloo(g, 'raw')
		UNION ALL SELECT 'grpo zero', advantage FROM grpo(g) UNION ALL SELECT 'grpo raw', advantage FROM grpo(g, singleton => 'raw', epsilon => 0.5)
		UNION ALL SELECT 'grpo mean raw', advantage FROM grpo(g, normalise => 'mean', singleton => 'raw')) a ORDER BY f, advantage;
-- Uniform outcomes: exactly 0, also where the mean of equal numbers is not equal to them
SELECT count(*), count(*) FILTER (WHERE a.advantage = 0) AS zero FROM (SELECT rollout_agg(i, i, 0, 1, 1, 0.1) g FROM generate_series(1, 10) i) y, grpo(g, epsilon => 0) a;
SELECT count(*), count(*) FILTER (WHERE a.advantage = 0) AS zero FROM (SELECT rollout_agg(i, i, 0, 1, 1, 0.1) g FROM generate_series(1, 10) i) y, rloo(g) a;

-- A sum that plain addition loses: 1e16 + 1 - 1e16
SELECT a.advantage FROM (SELECT rollout_agg(i, 1, i, 1, 1, r) g FROM (VALUES (1, 1e16::float8), (2, 1), (3, -1e16)) v(i, r)) y, reinforce(g) a WHERE step_no = 1;

-- Refusals
SELECT a.* FROM x, returns(g, gamma => 1.5) a;
SELECT a.* FROM x, returns(g, gamma => -0.1) a;
SELECT a.* FROM x, returns(g, gamma => 'NaN') a;
SELECT a.* FROM x, grpo(g, epsilon => -1) a;
SELECT a.* FROM x, grpo(g, epsilon => 'Infinity') a;
\set VERBOSITY default
SELECT a.* FROM x, grpo(g, normalise => 'sd') a;
\set VERBOSITY terse
SELECT a.* FROM x, grpo(g, singleton => 'one') a;
SELECT a.* FROM x, grpo(g, weighting => 'token') a;
SELECT a.* FROM x, grpo(g, pool => 'batch') a;
SELECT a.* FROM x, rloo(g, 'Zero') a;
SELECT a.* FROM x, rloo(g, pool => 'batch') a;
SELECT a.* FROM x, rloo(g, gamma => 2) a;
-- a NULL parameter of a STRICT function: no rows, as for any NULL argument
SELECT count(*) FROM x, grpo(g, epsilon => NULL) a;
-- finite rewards, infinite result
SELECT a.* FROM (SELECT rollout_agg(i, 7, i, 1, 1, 1.7e308) g FROM generate_series(1, 2) i) y, returns(g) a;
SELECT a.* FROM (SELECT rollout_agg(i, i, 0, 1, 1, CASE i WHEN 1 THEN 1.7e308 ELSE -1.7e308 END) g FROM generate_series(1, 2) i) y, grpo(g) a;
SELECT a.* FROM (SELECT rollout_agg(i, i, 0, 1, 1, CASE i WHEN 1 THEN 1.7e308 ELSE -1.7e308 END) g FROM generate_series(1, 2) i) y, group_summary(g) a;
SELECT round(a.advantage::numeric, 12) AS advantage FROM (SELECT rollout_agg(i, i, 0, 1, 1, i * 1e200) g FROM generate_series(1, 2) i) y, grpo(g) a;
-- a place where no set can be returned
SELECT a.* FROM x LEFT JOIN x y ON returns(x.g) IS NULL;

SET client_min_messages = warning;
DROP SCHEMA baselines CASCADE;

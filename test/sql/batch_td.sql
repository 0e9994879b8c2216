-- batch_td by hand: options, loops, NULLs, unjudged rollouts, ties, errors; on the simulator against exact values. (Against plain SQL: equivalence.)
CREATE SCHEMA batch_td;
SET search_path = batch_td, stepadv, public;
SET jit = off;
\set VERBOSITY terse

-- State 1 by action 1 to state 2 (rollout 1) and back to itself (rollout 2, which then fails by action 2);
-- rollout 3 begins in state 2 and succeeds there by another action; rollout 4 is not judged.
CREATE TABLE x AS SELECT rollout_agg(id, rollout, no, state, action, reward) AS g FROM (VALUES
	(10, 1, 0, 1, 1, 0::float8), (11, 1, 1, 2, 1, 0),
	(20, 2, 0, 1, 1, 0), (21, 2, 1, 1, 2, 0),
	(30, 3, 0, 2, 2, 1),
	(40, 4, 0, 1, 1, NULL), (41, 4, 1, 2, 3, NULL)) v(id, rollout, no, state, action, reward);

-- gamma 0.5. V(2) = (0 + 1) / 2. V(1) = (0.5 V(2) + 0.5 V(1) + 0) / 3 = 0.25 / 2.5 = 0.1.
-- Q(1,1) = (0.25 + 0.05) / 2 = 0.15, its stderr 0.2 / sqrt(2) / sqrt(2) = 0.1; Q(1,2) = 0; Q(2,1) = 0, Q(2,2) = 1
SELECT step_id, return, n_state, n_action, round(q::numeric, 12) AS q, round(v::numeric, 12) AS v, round(stderr::numeric, 12) AS stderr,
	round(advantage::numeric, 12) AS advantage FROM x, batch_td(g, gamma => 0.5, prior => 0);
-- gamma 1: V(1) = (0.5 + V(1)) / 3 = 0.25, Q(1,1) = (0.5 + 0.25) / 2
SELECT step_id, q, v, advantage FROM x, batch_td(g, gamma => 1, prior => 0) WHERE step_id IN (10, 21);
-- gamma 0: the mean reward
SELECT step_id, q, v, advantage FROM x, batch_td(g, gamma => 0, prior => 0) WHERE step_id IN (10, 11, 30);
-- prior 2, the success rate is 1/3: V(2) = (1 + 2/3) / 4 = 5/12, V(1) = (0.5 V(2) + 0.5 V(1) + 2/3) / 5 = (7/8) / 4.5 = 7/36
SELECT step_id, round((v * 36)::numeric, 9) AS v_36, round(((q - v - advantage) * 1e12)::numeric) AS zero FROM x, batch_td(g, gamma => 0.5, prior => 2, prior_mean => 'success_rate') WHERE step_id IN (10, 11);
-- the same by a baseline; and by what first steps return: (0 + 0 + 1) / 3; no rollout has more than 1: 0
SELECT prior_mean, baseline, success_above, round((v * 36)::numeric, 9) AS v_36
FROM x, (VALUES ('success_rate', 1.0 / 3, 0), ('start_value', NULL, 7), ('success_rate', NULL, 1)) o(prior_mean, baseline, success_above),
	batch_td(g, gamma => 0.5, prior => 2, baseline => o.baseline, prior_mean => o.prior_mean, success_above => o.success_above) WHERE step_id = 11;
-- lambda 0.5, gamma 0.5: G(10) = 0.25 V(2) + 0.25 * 0, G(20) = 0.25 V(1) + 0.25 * 0, G(21) = 0:
-- V(2) = 0.5, V(1) = (0.125 + 0.25 V(1)) / 3 = 0.125 / 2.75 = 1/22
SELECT step_id, round((v * 22)::numeric, 9) AS v_22, round((q * 44)::numeric, 9) AS q_44 FROM x, batch_td(g, gamma => 0.5, lambda => 0.5, prior => 0) WHERE step_id IN (10, 11);
-- lambda 1: exactly what the mean over every visit is
SELECT bool_and(a.q = b.q AND a.v = b.v AND a.stderr IS NOT DISTINCT FROM b.stderr AND a.n_state = b.n_state AND a.n_action = b.n_action) AS monte_carlo
FROM x, batch_td(g, lambda => 1, gamma => 0.9, prior => 0) a JOIN rtmc(g, gamma => 0.9, prior => 0, visit => 'every') b USING (step_id) WHERE b.q IS NOT NULL;

-- A rollout's own row is rewarded at its last step; success counts for the prior only.
SELECT a.step_id, q, v FROM (SELECT rollout_agg(id, 1, no, no, 1, reward, s) AS g FROM (VALUES (1, 1, NULL::float8, NULL::boolean), (2, 2, 0.5, NULL), (NULL, NULL, 2, true)) v(id, no, reward, s)) y,
	batch_td(g, gamma => 0.5, prior => 0) a;
-- One step; a loop to itself alone: V = 0.9 V / 2 + 1 / 2 has V = 1 / 1.1
SELECT a.step_id, q, v, advantage FROM (SELECT rollout_agg(1, 1, 0, 1, 1, 3) AS g) y, batch_td(g, gamma => 0.9, prior => 0) a;
SELECT a.step_id, round(q::numeric, 12) AS q, round(v::numeric, 12) AS v, advantage FROM (SELECT rollout_agg(i, 1, i, 1, 1, i - 1) AS g FROM generate_series(1, 2) i) y, batch_td(g, gamma => 0.9, prior => 0) a;
-- NULL states and actions are never shared
SELECT n_state, n_action, count(*) FROM (SELECT rollout_agg(i, i, 0, NULLIF(i % 2, 1), NULLIF(i % 3, 0), i) g FROM generate_series(1, 12) i) y, batch_td(g, gamma => 0.9, prior => 0) a
GROUP BY 1, 2 ORDER BY 1, 2;
-- A path through NULL states is still a path: 0.9 ^ 2
SELECT a.step_id, round(v::numeric, 12) AS v FROM (SELECT rollout_agg(i, 1, i, CASE i WHEN 1 THEN 1 END, 1, (i = 3)::integer) g FROM generate_series(1, 3) i) y, batch_td(g, gamma => 0.9, prior => 0) a;
-- By turns of two calls here: the numbers of the first example, on every call; the second call's state is in no graph.
SELECT a.step_id, a.n_state, a.n_action, round(a.q::numeric, 12) AS q, round(a.v::numeric, 12) AS v
FROM (SELECT rollout_agg(id, r, no, s, a, rew, NULL, NULL, NULL, NULL, NULL, turn, NULL, NULL, NULL) AS g FROM (VALUES
	(1, 1, 0, 1, 1, 0::float8, 1), (2, 1, 1, 9, 5, 0, 1), (3, 1, 2, 2, 1, 0, 2), (4, 2, 0, 1, 1, 0, 1), (5, 2, 1, 9, 5, 0, 1), (6, 2, 2, 1, 2, 0, 2),
	(7, 3, 0, 2, 2, 1, 1)) v(id, r, no, s, a, rew, turn)) y, batch_td(by_turn(g), gamma => 0.5, prior => 0) a;
-- No rollout judged; no group
SELECT a.* FROM (SELECT rollout_agg(i, i, 0, 1, 1, NULL) g FROM generate_series(1, 2) i) y, batch_td(g, gamma => 0.9, prior => 0) a;
SELECT a.* FROM batch_td(NULL) a;

-- Ties: 500 groups of random walks whose rewards round. Where a state has only one action the advantage is exactly 0, and rounding makes none elsewhere.
CREATE TABLE walk AS
SELECT n, rollout_agg(n * 1000 + r * 50 + t, r, t, h[1] % 5, CASE WHEN h[1] % 5 < 3 THEN h[2] % 3 ELSE 0 END, h[3] % 7 / 10.0 + 1e6) AS g
FROM generate_series(1, 500) n, generate_series(1, 6) r, generate_series(1, 20) t,
	LATERAL (SELECT ARRAY(SELECT get_byte(decode(md5(n || ' ' || r || ' ' || t), 'hex'), i) FROM generate_series(0, 2) i) AS h OFFSET 0) d
WHERE t <= 5 + (n * r) % 15 GROUP BY n;
SELECT lambda, count(*) FILTER (WHERE n_state = n_action) AS only_actions, count(*) FILTER (WHERE n_state = n_action AND advantage <> 0) AS not_zero,
	count(*) FILTER (WHERE advantage <> 0 AND abs(advantage) < 1e-8) AS noise
FROM walk, (VALUES (0), (0.5), (1)) l(lambda), batch_td(g, gamma => 1, lambda => l.lambda, prior => 0) GROUP BY lambda ORDER BY lambda;
-- The mean of the targets of a state's visits is its value, for any parts.
SELECT max(abs(sum)) < 1e-3 AS advantages_cancel FROM (
	SELECT sum(a.advantage) FROM walk, batch_td(g, gamma => 0.95, lambda => 0.4, prior => 0) a JOIN steps(g) s USING (step_id) GROUP BY n, s.state) y;

-- Rollouts under other numbers, rows in any order.
CREATE TABLE turned AS
SELECT n, rollout_agg(s.step_id, 1000 - s.rollout_id * 7 % 13, s.step_no * 3, s.state, s.action, s.reward ORDER BY md5(s.step_id::text)) AS g
FROM walk, steps(g) s GROUP BY n;
SELECT gamma, lambda, count(*), count(*) FILTER (WHERE abs(a.q - b.q) > 1e-9 * abs(a.q) OR abs(a.v - b.v) > 1e-9 * abs(a.v)
	OR abs(a.advantage - b.advantage) > 1e-9 * greatest(1e6, abs(a.advantage))) AS off
FROM walk JOIN turned t USING (n), (VALUES (0.9, 0), (1, 0), (0.9, 0.7)) o(gamma, lambda),
	batch_td(walk.g, gamma => o.gamma, lambda => o.lambda, prior => 0) a JOIN batch_td(t.g, gamma => o.gamma, lambda => o.lambda, prior => 0) b USING (step_id)
GROUP BY gamma, lambda ORDER BY gamma, lambda;

-- Large: a ring of 20000 states; two rollouts go around one and a half times, one is rewarded at its end. Undiscounted, every state is worth 1/2.
SELECT count(*), min(v), max(v), count(*) FILTER (WHERE advantage <> 0) AS with_advantage
FROM (SELECT rollout_agg(r * 50000 + t, r, t, t % 20000, 1, (r = 1 AND t = 29999)::integer) AS g FROM generate_series(1, 2) r, generate_series(0, 29999) t) y,
	batch_td(g, gamma => 1, prior => 0);
-- A walk on a line, to and fro, that ends in the rewarded state: 1 everywhere, by elimination.
SELECT count(DISTINCT v), min(v), max(v) FROM (
	SELECT rollout_agg(t, 1, t, abs(t % 997 - 498) + t / 60, 1, (t = 40000)::integer) AS g FROM generate_series(1, 40000) t) y, batch_td(g, gamma => 1, prior => 0);
-- 20000 states in random order, solved by iteration: the values satisfy their equations.
CREATE TABLE dense AS
SELECT rollout_agg(i, i % 40, i / 40, i::bigint * i % 99991 * 7919 % 19997, i % 3, (i / 40 = 4999 AND i % 2 = 0)::integer) AS g FROM generate_series(0, 199999) i;
CREATE TABLE dense_values AS
SELECT gamma, s.rollout_id, s.step_no, s.state, coalesce(s.reward, 0) AS r, a.v, a.q
FROM dense, (VALUES (0.9::float8), (1)) o(gamma), batch_td(g, gamma => o.gamma, prior => 0) a JOIN steps(g) s USING (step_id);
SELECT gamma, count(*) AS states, max(abs(v - mean)) < 1e-12 AS bellman, min(v) >= 0 AND max(v) <= 1 AS bounded,
	abs(sum(v * starts) - sum(rewards) / max(power(gamma, 4999))) < 1e-9 OR gamma < 1 AS what_started_is_what_came
FROM (SELECT gamma, state, min(v) AS v, avg(r + gamma * coalesce(next_v, 0)) AS mean, count(*) FILTER (WHERE step_no = 0) AS starts, sum(r) AS rewards
	FROM (SELECT *, lead(v) OVER (PARTITION BY gamma, rollout_id ORDER BY step_no) AS next_v FROM dense_values) x GROUP BY gamma, state) y
GROUP BY gamma ORDER BY gamma;

-- On the simulator: closer to the exact advantage than Monte Carlo on the same rollouts, by rank correlation within groups and by sign, at two group sizes.
\i test/sim/simulator.sql
CREATE TABLE exact AS
SELECT t AS task, signature_hash(sim.state_text(v.state)) AS state, signature_hash(v.action) AS action, v.q - v.v AS advantage
FROM generate_series(0, 7) t, sim.values(t) v;
CREATE TABLE sims AS
SELECT size, group_id, task, rollout_agg((rollout_id << 20) + step_no, rollout_id, step_no, state_hash, action_hash, reward, success) AS g
FROM (VALUES (8), (32)) z(size), sim.simulate(80, z.size, 5) GROUP BY size, group_id, task;
SET enable_nestloop = off;
CREATE TABLE judged AS
SELECT m.size, m.group_id, m.method, m.advantage, e.advantage AS truth
FROM (SELECT size, group_id, 'batch_td' AS method, a.step_id, a.advantage FROM sims, batch_td(g, gamma => 0.9, prior => 0) a
	UNION ALL SELECT size, group_id, 'rtmc', a.step_id, a.advantage FROM sims, rtmc(g) a
	UNION ALL SELECT size, group_id, 'every visit', a.step_id, a.advantage FROM sims, batch_td(g, lambda => 1, gamma => 0.9, prior => 0) a) m
JOIN (SELECT size, group_id, task, s.step_id, s.state, s.action FROM sims, steps(g) s) s USING (size, group_id, step_id)
JOIN exact e USING (task, state, action);
RESET enable_nestloop;
CREATE TABLE quality AS
SELECT size, method, avg(rank) AS rank, avg(sign) AS sign FROM (
	SELECT size, group_id, method, corr(a, t) AS rank, avg((sign(advantage) = sign(truth))::integer) FILTER (WHERE abs(truth) > 0.03) AS sign
	FROM (SELECT *, rank() OVER (w ORDER BY advantage) + (count(*) OVER (w ORDER BY advantage RANGE CURRENT ROW) - 1) / 2.0 AS a,
			rank() OVER (w ORDER BY truth) + (count(*) OVER (w ORDER BY truth RANGE CURRENT ROW) - 1) / 2.0 AS t
		FROM judged WINDOW w AS (PARTITION BY size, group_id, method)) x
	GROUP BY size, group_id, method) y
GROUP BY size, method;
SELECT b.size, b.rank > r.rank + 0.1 AS ranks_better, b.sign > r.sign AS signs_better, b.rank > l.rank + 0.05 AS than_every_visit
FROM quality b JOIN quality r ON r.size = b.size AND r.method = 'rtmc' JOIN quality l ON l.size = b.size AND l.method = 'every visit'
WHERE b.method = 'batch_td' ORDER BY b.size;

-- By default: gamma 0.99 and half a visit of what first steps return. normalise: over all steps of the group.
SELECT count(*), bool_and(a = b) AS said FROM walk, batch_td(g) a JOIN batch_td(g, gamma => 0.99, prior => 0.5, prior_mean => 'start_value', normalise => 'none') b USING (step_id);
SELECT normalise, count(*) FILTER (WHERE abs(n.advantage - CASE normalise WHEN 'std' THEN (a.advantage - mean) / (sd + 1e-6) ELSE a.advantage - mean END) > 1e-9 * greatest(1, mean + 1e6)) AS off,
	max(abs(n.advantage)) > 1 AS large
FROM walk, unnest('{std,mean}'::text[]) normalise, LATERAL (SELECT a.step_id, a.advantage, avg(a.advantage) OVER () AS mean, stddev_samp(a.advantage) OVER () AS sd FROM batch_td(g) a) a
	JOIN LATERAL batch_td(g, normalise => normalise) n USING (step_id) WHERE walk.n <= 30 GROUP BY 1 ORDER BY 1;

-- Refusals
SELECT a.* FROM x, batch_td(g, gamma => 1.5, prior => 0) a;
SELECT a.* FROM x, batch_td(g, gamma => NULL, prior => 0) a;
SELECT a.* FROM x, batch_td(g, lambda => -0.1, gamma => 0.9, prior => 0) a;
SELECT a.* FROM x, batch_td(g, lambda => 'NaN', gamma => 0.9, prior => 0) a;
SELECT a.* FROM x, batch_td(g, prior => -1, gamma => 0.9, prior_mean => 'success_rate') a;
SELECT a.* FROM x, batch_td(g, prior => 'Infinity', gamma => 0.9, prior_mean => 'success_rate') a;
SELECT a.* FROM x, batch_td(g, baseline => 'NaN', gamma => 0.9, prior => 0) a;
SELECT a.* FROM x, batch_td(g, prior_mean => 'mean', gamma => 0.9, prior => 0) a;
SELECT a.* FROM x, batch_td(g, success_above => 'Infinity', gamma => 0.9, prior => 0) a;
-- Sums that are out of range
SELECT a.* FROM (SELECT rollout_agg(i, 1, i, 1, 1, 1e308) g FROM generate_series(1, 3) i) y, batch_td(g, gamma => 0.9, prior => 0) a;
SELECT a.* FROM (SELECT rollout_agg(i, i, 1, 1, 1, 1.7e308) g FROM generate_series(1, 3) i) y, batch_td(g, gamma => 0.9, prior => 0) a;
SELECT advantage FROM (SELECT rollout_agg(i, i, 1, 1, i, CASE i WHEN 1 THEN 1e200 ELSE -1e200 END) g FROM generate_series(1, 2) i) y, batch_td(g, gamma => 0.9, prior => 0) a;

SET client_min_messages = warning;
DROP SCHEMA sim, batch_td CASCADE;

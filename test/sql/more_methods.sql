-- opo, grpo_passk, remax, igpo, pure, bi_level_gae, g2po, salt: worked by hand, against plain SQL, refusals.
CREATE SCHEMA more_methods;
SET search_path = more_methods, stepadv, public;
\set VERBOSITY terse
SET jit = off;

-- Rollout 1: three steps, R = 3, costs 1, 4, NULL; 2: one step and a row of its own, R = 4, cost 2; 3 took
-- no step and got 6; 4 is not judged.
CREATE TABLE x AS SELECT rollout_agg(id, rollout, no, 1, id, reward, NULL, NULL, value, turn_reward, cost, turn, NULL, NULL, NULL) AS g FROM (VALUES
	(1, 1, 0, 1::float8, 0.5::float8, 0.2::float8, 1::float8, 1), (2, 1, 1, NULL, 1, NULL, 4, 1), (3, 1, 2, 2, 2, 0.9, NULL, 2),
	(4, 2, 0, 0, 1, 0.7, 2, 1), (NULL, 2, NULL, 4, NULL, NULL, NULL, NULL), (NULL, 3, NULL, 6, NULL, NULL, NULL, NULL),
	(5, 4, 0, NULL, 1, 1, 1, 1), (6, 4, 1, NULL, NULL, 5, 1, 2)) v(id, rollout, no, reward, value, turn_reward, cost, turn);

-- (3 * 3 + 1 * 4) / 4 = 3.25; by costs 6 and 2 (6 * 3 + 2 * 4) / 8 = 3.25 too; grpo weighted by step agrees
SELECT a.* FROM x, opo(g) a;
SELECT a.* FROM x, opo(g, length => 'cost') a;
SELECT bool_and(a.advantage IS NOT DISTINCT FROM b.advantage) AS as_grpo FROM x, opo(g) a JOIN grpo(g, normalise => 'mean', weighting => 'step') b USING (step_id);
-- the best is rollout 3's, which has no step: 2 and 1 have others that are better
SELECT a.* FROM x, grpo_passk(g) a;
-- without it rollout 2 is, by 1 of sd sqrt(1/2)
SELECT a.*, n, abs(coalesce(a.advantage, 0) - CASE a.rollout_id WHEN 2 THEN 1 / CASE n WHEN 'std' THEN sqrt(0.5) + 0.5 ELSE 1 END ELSE 0 END) < 1e-15 AS by_hand
FROM x, unnest('{std,mean}'::text[]) n, grpo_passk(without_rollout(g, 3), n, 0.5) a WHERE a.rollout_id < 4;
-- two share the best, and one is alone
SELECT a.advantage FROM (SELECT rollout_agg(i, i, 0, 1, 1, least(i, 2)) AS g FROM generate_series(1, 3) i) y, grpo_passk(g) a;
SELECT f, a.* FROM (SELECT rollout_agg(1, 1, 0, 1, 1, 3) AS g) y, LATERAL (SELECT 'passk' AS f, * FROM grpo_passk(g) UNION ALL
	SELECT 'opo zero', * FROM opo(g) UNION ALL SELECT 'opo raw', * FROM opo(g, singleton => 'raw')) a ORDER BY f;
-- equal returns have exactly 0, though their weighted mean may not equal them
SELECT count(*), count(*) FILTER (WHERE a.advantage = 0) AS zero FROM (SELECT rollout_agg(i, i % 7, i, 1, 1, CASE WHEN i < 7 THEN 0.1 END) AS g FROM generate_series(0, 30) i) y, opo(g) a;

-- The greedy ones earn 2 and 3, one of them is not judged: 2.5
CREATE TABLE greedy AS SELECT rollout_agg(NULL, i, NULL, NULL, NULL, r) AS h FROM (VALUES (10, 2), (11, 3), (12, NULL)) v(i, r);
SELECT a.* FROM x, greedy, remax(g, h) a;
SELECT a.* FROM x, greedy, remax(g, h, gamma => 0.5) a;
SELECT a.* FROM x, greedy, remax(g, h, to_go => false) a;
-- rollouts 1 (3) and 2 (4) are greedy ones of the group itself: no samples of it; 4 is not judged there either
SELECT rollout_id, step_no, return, baseline, advantage FROM x, remax(g, g, within => true) WHERE step_no = 0;
SELECT a.rollout_id, step_no, return, baseline, advantage FROM x, remax(g, (SELECT rollout_agg(NULL, o.rollout_id, NULL, NULL, NULL, CASE WHEN o.rollout_id IN (2, 4) THEN o.return END) FROM rollouts(g) o), within => true) a;
-- none judged yet: nothing is known; no group: no rows; turns are as good as steps
SELECT count(*), count(a.advantage) FROM x, (SELECT rollout_agg(1, 1, 1, 1, 1, NULL) AS h) h, remax(g, h) a;
SELECT count(*) FROM x, remax(g) a;
SELECT a.step_id, a.advantage FROM x, greedy, remax(by_turn(g), h) a WHERE rollout_id = 1;

-- igpo, jointly: 0.2 (the last steps' 0.9 and 0.7 are not used), and 3, 4, 6: mean 3.3, without dividing
SELECT a.* FROM x, igpo(g, normalise => 'mean', gamma => 0.5) a;
SELECT a.* FROM x, igpo(g, normalise => 'none', gamma => 0.5) a;
-- separately: one turn reward is 0, returns have the mean 13/3 and the variance (16 + 1 + 25) / 9 / 3
SELECT a.*, abs(a.advantage - (3 - 13 / 3.0) / (sqrt(42 / 27.0 + 1e-8) + 0.25)) < 1e-15 AS by_hand FROM x, igpo(g, pool => 'separate', epsilon => 0.25) a WHERE rollout_id = 1;

-- pure: rollout 1 has 0.2 and 0.9, weights 1 and e^-7 over their sum; rollout 2 0.7 alone; rollout 3 is not scored.
-- Outcomes less the mean of the others': 3 - 5, 4 - 4.5.
SELECT a.*, abs(a.return - CASE step_id WHEN 4 THEN 0.7 WHEN 3 THEN 0.9 * e / (1 + e) WHEN 2 THEN 0.9 * e / (1 + e) ELSE (0.2 + 0.9 * e) / (1 + e) END) < 1e-15
	AND abs(baseline - CASE rollout_id WHEN 1 THEN 0.7 ELSE (0.2 + 0.9 * e) / (1 + e) / 2 END) < 1e-15
	AND abs(advantage - (return - CASE step_id WHEN 1 THEN 2 ELSE 1 END * baseline + CASE rollout_id WHEN 1 THEN -2 ELSE -0.5 END)) < 1e-15 AS by_hand
FROM x, exp(-7::float8) e, pure(g) a;
SELECT a.* FROM x, pure(g, temperature => 0, outcome_coef => 0) a;
-- the least share the weight; scored alone, or alone
SELECT a.* FROM (SELECT rollout_agg(i, i / 4, i, 1, 1, i / 4, NULL, NULL, NULL, CASE WHEN i < 4 THEN i % 2 END, NULL) AS g FROM generate_series(0, 4) i) y, pure(g, temperature => 0) a;
SELECT a.advantage FROM (SELECT rollout_agg(1, 1, 1, 1, 1, 1, NULL, NULL, NULL, 0.5, NULL) AS g) y, pure(g) a;

-- bi_level_gae of rollout 1: turns {1, 2} and {3}. Turn 2: A = 2 - 2 = 0; turn 1: 1 + 0.5 * 2 - 1 = 1, with lambda nothing
-- from turn 2; step 1: 0.25 * 1 - 0.5 + 0.25 * 1 = 0. Rollout 2: 4 - 1.
SELECT a.* FROM x, bi_level_gae(without_rollout(g, 4), gamma => 0.25, turn_gamma => 0.5) a;
SELECT bool_and(a.advantage = b.advantage AND a.return = b.return AND a.td_error = b.td_error) AS as_gae
FROM x, bi_level_gae(by_turn(without_rollout(g, 4)), turn_gamma => 0.5, lambda => 0.75) a JOIN gae(by_turn(without_rollout(g, 4)), gamma => 0.5, lambda => 0.75) b USING (step_id);
-- an observation in the second turn, without an action or a value: its reward goes to step 2
SELECT a.* FROM (SELECT rollout_agg(i, 1, i, 1, CASE WHEN i <> 3 THEN 1 END, CASE i WHEN 3 THEN 8 WHEN 4 THEN 1 END, NULL, NULL, CASE WHEN i <> 3 THEN i END, NULL, NULL, CASE WHEN i < 3 THEN 1 ELSE 2 END, NULL, NULL, NULL) AS g
	FROM generate_series(1, 4) i) y, bi_level_gae(g, gamma => 0.5, lambda => 0.5, turn_gamma => 0.5, masked => true) a;
-- (4: 1 - 4 = -3; 2: 8 + 0.5 * 4 - 2 + 0.25 * -3 = 7.25; 1: 0.5 * 2 - 1 + 0.25 * 7.25 = 1.8125; 3 has 4's)
SELECT a.* FROM x, bi_level_gae(g) a;	-- of rollout 4, not judged, a missing value does not matter
SELECT a.* FROM (SELECT rollout_agg(1, 1, 7, 1, 1, 1) AS g) y, bi_level_gae(g) a;
-- in a view of attach, where no row has a value: NULL, in turns of several steps too
SELECT a.step_id, a.value, a.td_error, a.advantage FROM (SELECT stepadv_internal.forgiving_rollout_agg(i, 1, i, i, 1, 1, true, NULL, NULL, NULL, NULL, 1 + i / 3, NULL, NULL, NULL) AS g FROM generate_series(1, 3) i) y, bi_level_gae(g) a;

-- g2po: rollout 1 in states 1, 2, 1 succeeds with 4, rollout 2 in state 1 fails with 0; gamma 0.5.
-- v(1) = (0.5 + 2 + 0) / 3 = 5/6, v(2) = 1; next_v 1, 5/6, 4 and 0; in state 1 of 1, 4, 0 the mean is 5/3;
-- gains 1/6, -1/6, 19/6, -5/6 of mean 7/12; returns 4 and 0 of mean 2.
SELECT a.*, abs(step_advantage - CASE step_id WHEN 1 THEN 1 - 5 / 3.0 + 1 / 6.0 WHEN 2 THEN -1 / 6.0 WHEN 3 THEN 4 - 5 / 3.0 + 19 / 6.0 ELSE -5 / 3.0 - 5 / 6.0 END + 7 / 12.0) < 1e-14
	AND abs(advantage - (episode_advantage + 2 * step_advantage)) < 1e-14 AS by_hand
FROM (SELECT rollout_agg(i, i / 4 + 1, i, CASE i WHEN 2 THEN 2 ELSE 1 END, i, CASE i WHEN 3 THEN 4 WHEN 4 THEN 0 END) AS g FROM generate_series(1, 4) i) y, g2po(g, gamma => 0.5, step_weight => 2, normalise => 'mean') a;
SELECT a.step_id, a.next_v FROM (SELECT rollout_agg(i, i / 4 + 1, i, CASE i WHEN 2 THEN 2 ELSE 1 END, i, CASE i WHEN 3 THEN 4 WHEN 4 THEN 0 END) AS g FROM generate_series(1, 4) i) y, unnest(ARRAY[-1, 5]) above, g2po(g, success_reward => 10, success_above => above) a
WHERE step_id IN (3, 4) ORDER BY above, 1;
SELECT a.* FROM (SELECT rollout_agg(1, 1, 1, NULL, NULL, 1) AS g) y, g2po(g) a;
SELECT count(*) AS none FROM g2po(NULL) a;

-- salt: returns 1, 0, 0 of mean 1/3. Rollouts 1 and 2 share their first step, into state 2, where they take one action, of which one
-- ends in the goal and one does not; rollout 3 goes from state 1 to 3 by the same action. So 1/6 for what 1 and 2 share.
CREATE TABLE salted AS SELECT rollout_agg(r * 2 + n, r, n, CASE WHEN n = 1 THEN 1 WHEN r = 3 THEN 3 ELSE 2 END, 1, CASE WHEN n = 2 THEN (r = 1)::int END) AS g FROM generate_series(1, 3) r, generate_series(1, 2) n;
SELECT a.* FROM salted, salt(g, normalise => 'mean') a;
-- by action all three share their first step, 1 and 2 their last
SELECT step_id, n_edge, round(advantage::numeric, 9) AS advantage FROM salted, salt(g, 'mean', merge => 'action') a;
-- all succeed: one goal; none does: places of their own
SELECT a.step_id, a.n_edge FROM salted, unnest(ARRAY[-1, 5]) above, salt(g, success_above => above) a WHERE step_id IN (4, 6) ORDER BY above, 1;
-- a rollout that failed ends in its next_state, 7, as the other does; a third one's is not known. Rollout 4 takes 1 -> 1 twice: 4, 0, 0, 0 of mean 1
CREATE TABLE looped AS SELECT rollout_agg(i, least(i, 4), i, 1, 1, CASE i WHEN 6 THEN 4 WHEN 1 THEN 0 WHEN 2 THEN 0 WHEN 3 THEN 0 END, NULL, CASE WHEN i < 3 THEN 7 END, NULL, NULL, NULL) AS g FROM generate_series(1, 6) i;
SELECT visit, a.step_id, a.episode_advantage, a.n_edge, a.advantage FROM looped, unnest('{first,every}'::text[]) visit, salt(g, normalise => 'mean', visit => visit) a ORDER BY visit, 2;
SELECT visit, a.step_id, a.n_edge, a.advantage FROM looped, unnest('{first,every}'::text[]) visit, salt(g, normalise => 'mean', visit => visit, merge => 'action') a WHERE step_id = 1 ORDER BY visit;
SELECT a.* FROM (SELECT rollout_agg(1, 1, 1, NULL, NULL, 1) AS g) y, salt(g) a;

-- Random groups, some rollouts not judged, NULL states, turn rewards and costs, against plain SQL.
CREATE TABLE s AS
SELECT i AS id, i / 80 AS grp, i / 80 * 100 + (hashint4(i / 5) & 15) AS r, i AS n, nullif(hashint4(i * 3) & 7, 0) AS state,
	CASE WHEN hashint4(i / 5) & 15 = 3 THEN NULL WHEN i % 5 = 4 THEN (hashint4(i * 7) & 3) / 2.0::float8 ELSE sin(i) / 4 END AS reward,
	cos(i * 3) AS value, CASE WHEN hashint4(i * 11) & 3 > 0 THEN sin(i * 5) END AS turn_reward, CASE WHEN hashint4(i * 13) & 3 > 0 THEN 1 + (hashint4(i) & 15) END::float8 AS cost, i / 3 AS turn
FROM generate_series(0, 1599) i;
CREATE TABLE g AS SELECT grp, rollout_agg(id, r, n, state, id, reward, NULL, NULL, value, turn_reward, cost, turn, NULL, NULL, NULL) AS g FROM s GROUP BY grp;
CREATE TABLE q AS SELECT s.*, coalesce(state, -id) AS known, t, lead(id) OVER w AS next_id, row_number() OVER w AS k, count(*) OVER (PARTITION BY r) AS steps,
	sum(coalesce(cost, 1)) OVER (PARTITION BY r) AS costs
FROM s JOIN (SELECT r, sum(reward) AS t FROM s GROUP BY r HAVING count(reward) > 0) t USING (r) WINDOW w AS (PARTITION BY r ORDER BY n);
CREATE VIEW rolls AS SELECT grp, r, min(t) AS t, min(costs) AS costs, min(steps) AS steps FROM q GROUP BY grp, r;
-- How many answers, of how many steps that are judged, and how many differ.
CREATE FUNCTION differ(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT abs(a - b) > 1e-9 * greatest(abs(a), abs(b), 1e-2) OR (a IS NULL) <> (b IS NULL) $$;
SELECT (SELECT count(*) FROM q) AS judged, (SELECT count(*) FROM s) AS steps, (SELECT count(*) FROM rolls) AS rollouts;

SELECT l, count(a.advantage), count(*) FILTER (WHERE differ(a.advantage, q.t - m.mean)) AS wrong
FROM unnest('{steps,cost}'::text[]) l, g, opo(g, length => l) a JOIN q ON q.id = a.step_id,
	LATERAL (SELECT sum(t * CASE l WHEN 'cost' THEN costs ELSE steps END) / sum(CASE l WHEN 'cost' THEN costs ELSE steps END) AS mean FROM rolls WHERE rolls.grp = g.grp) m GROUP BY l ORDER BY l;

SELECT norm, count(a.advantage), count(DISTINCT a.advantage) > 10 AS some, count(*) FILTER (WHERE differ(a.advantage, (m.best - o.best) / CASE norm WHEN 'std' THEN m.sd + 1e-6 ELSE 1 END) OR differ(a.baseline, o.best)) AS wrong
FROM unnest('{std,mean}'::text[]) norm, g, grpo_passk(g, norm) a JOIN q ON q.id = a.step_id,
	LATERAL (SELECT max(t) AS best, stddev(t) AS sd FROM rolls WHERE rolls.grp = g.grp) m,
	LATERAL (SELECT max(t) AS best FROM rolls WHERE rolls.grp = g.grp AND rolls.r <> q.r) o GROUP BY norm ORDER BY 1;

SELECT pool, norm, gamma, count(a.advantage), count(*) FILTER (WHERE differ(a.advantage, e.a)) AS wrong
FROM unnest('{joint,separate}'::text[]) pool, unnest('{std,mean}'::text[]) norm, unnest('{1,0.9}'::float8[]) gamma, LATERAL (
	WITH x AS (SELECT grp, r, k, CASE WHEN k = steps THEN t ELSE turn_reward END AS x, CASE WHEN pool = 'separate' AND k = steps THEN 1 ELSE 0 END AS kind, id FROM q),
	m AS (SELECT grp, kind, avg(x) AS mean, sqrt(var_pop(x) + 1e-8) + 1e-6 AS sd FROM x GROUP BY 1, 2),
	y AS (SELECT x.*, (x - mean) / CASE norm WHEN 'std' THEN sd ELSE 1 END AS y, count(x.x) OVER (PARTITION BY r ORDER BY k) AS c FROM x JOIN m USING (grp, kind))
	SELECT f.id, sum(y.y * power(gamma, y.c - first.c)) AS a FROM y f, LATERAL (SELECT min(c) AS c FROM y o WHERE o.r = f.r AND o.k >= f.k AND o.x IS NOT NULL) first, LATERAL (SELECT * FROM y o WHERE o.r = f.r AND o.k >= f.k AND o.x IS NOT NULL) y GROUP BY f.id) e
	JOIN (g CROSS JOIN LATERAL igpo(g, 1) b) ON b.step_id = e.id, LATERAL (SELECT advantage FROM igpo(g.g, gamma, pool, norm) z WHERE z.step_id = e.id) a WHERE g.grp % 4 = 0
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

WITH w AS (SELECT *, exp(-turn_reward / 0.1) / sum(exp(-turn_reward / 0.1)) OVER (PARTITION BY r) AS w FROM q),
	v AS (SELECT *, sum(w * turn_reward) OVER k AS ret, count(turn_reward) OVER k AS scored, sum(w * turn_reward) OVER (PARTITION BY r) / nullif(count(turn_reward) OVER (PARTITION BY r), 0) AS per_turn
		FROM w WINDOW k AS (PARTITION BY r ORDER BY k DESC)),
	b AS (SELECT a.r, avg(o.per_turn) AS base, avg(o.t) AS others FROM (SELECT DISTINCT grp, r, per_turn FROM v) a JOIN (SELECT DISTINCT grp, r, per_turn, t FROM v) o ON o.grp = a.grp AND o.r <> a.r GROUP BY a.r)
SELECT count(a.advantage), count(*) FILTER (WHERE differ(a.weight, v.w) OR differ(a.return, coalesce(v.ret, 0)) OR a.weight IS NULL AND turn_reward IS NOT NULL
	OR differ(a.advantage, coalesce(v.ret, 0) - scored * base + 0.7 * (t - others))) AS wrong
FROM v JOIN b USING (r) JOIN (g CROSS JOIN LATERAL pure(g, outcome_coef => 0.7) a) ON a.step_id = v.id;

-- By recursion over turns, then over the steps of each; a turn is three rows of the table that may be of several rollouts.
WITH RECURSIVE e AS (SELECT grp, r, turn, sum(reward) AS reward, (array_agg(value ORDER BY n DESC))[1] AS v, dense_rank() OVER (PARTITION BY r ORDER BY turn DESC) AS d FROM q GROUP BY 1, 2, 3),
	up AS (SELECT r, turn, d, v, coalesce(reward, 0) - v AS a FROM e WHERE d = 1
		UNION ALL SELECT e.r, e.turn, e.d, e.v, coalesce(e.reward, 0) + 0.95 * up.v - e.v + 0.95 * 0.8 * up.a FROM e JOIN up ON up.r = e.r AND e.d = up.d + 1),
	f AS (SELECT r, turn, n, value, row_number() OVER (PARTITION BY r, turn ORDER BY n DESC) AS d, id FROM q),
	down AS (SELECT f.*, up.a FROM f JOIN up USING (r, turn) WHERE f.d = 1
		UNION ALL SELECT f.r, f.turn, f.n, f.value, f.d, f.id, 0.9 * down.value - f.value + 0.9 * 0.8 * down.a FROM f JOIN down ON down.r = f.r AND down.turn = f.turn AND f.d = down.d + 1)
SELECT count(a.advantage), count(*) FILTER (WHERE differ(a.advantage, down.a) OR differ(a.return, down.a + down.value)) AS wrong
FROM down JOIN (g CROSS JOIN LATERAL bi_level_gae(g, 0.9, 0.8) a) ON a.step_id = down.id;

WITH v AS (SELECT grp, known, avg(t * power(0.95, steps - k + 1)) AS v, count(*) AS n FROM q GROUP BY 1, 2),
	nv AS (SELECT q.*, v.v, v.n AS visits, CASE WHEN q.next_id IS NOT NULL THEN o.v WHEN q.t > 0 THEN q.t ELSE 0 END AS nv FROM q JOIN v USING (grp, known) LEFT JOIN q f ON f.id = q.next_id LEFT JOIN v o ON o.grp = f.grp AND o.known = f.known),
	m AS (SELECT grp, known, avg(nv) AS mean, stddev(nv) AS sd FROM nv GROUP BY 1, 2), n AS (SELECT grp, avg(nv - v) AS mean, stddev(nv - v) AS sd FROM nv GROUP BY 1),
	e AS (SELECT grp, avg(t) AS mean, stddev(t) AS sd FROM rolls GROUP BY 1)
SELECT count(a.advantage), count(*) FILTER (WHERE visits = 1) AS alone, count(*) FILTER (WHERE differ(a.v, nv.v) OR differ(a.next_v, nv.nv) OR differ(a.step_advantage,
	CASE WHEN visits = 1 THEN 0 ELSE (nv.nv - m.mean) / (m.sd + 1e-6) END + (nv.nv - nv.v - n.mean) / (n.sd + 1e-6)) OR differ(a.advantage, a.step_advantage + (nv.t - e.mean) / (e.sd + 1e-6))) AS wrong
FROM nv JOIN m USING (grp, known) JOIN n USING (grp) JOIN e USING (grp) JOIN (g CROSS JOIN LATERAL g2po(g) a) ON a.step_id = nv.id;

-- Few states and actions, some NULL, next states known or not: by merge and by visit.
CREATE TABLE few AS SELECT s.id, grp, r, n, nullif(hashint4(id * 3) & 3, 0) AS state, nullif(hashint4(id * 17) & 3, 0) AS action, reward, CASE WHEN hashint4(id * 23) & 3 > 0 THEN hashint4(id * 19) & 3 END AS next_state FROM s;
CREATE TABLE few_g AS SELECT grp, rollout_agg(id, r, n, state, action, reward, NULL, next_state, NULL, NULL, NULL) AS g FROM few GROUP BY grp;
WITH k AS (SELECT f.*, q.t, coalesce(f.state, -f.id) AS s, coalesce(f.action, -f.id) AS a FROM few f JOIN q USING (id)),
	e AS (SELECT k.*, coalesce(lead(s) OVER w, CASE WHEN t > 0 THEN 1000 ELSE coalesce(next_state, -10000 - r) END) AS s2, (k.t - m.mean) / (m.sd + 1e-6) AS e
		FROM k JOIN (SELECT grp, avg(t) AS mean, stddev(t) AS sd FROM rolls GROUP BY grp) m USING (grp) WINDOW w AS (PARTITION BY r ORDER BY n)),
	x AS (SELECT e.*, merge, visit, row_number() OVER (PARTITION BY merge, visit, grp, s, a, key, r ORDER BY n) AS nth, key FROM e, unnest('{transition,action}'::text[]) merge, unnest('{first,every}'::text[]) visit,
		LATERAL (SELECT CASE merge WHEN 'transition' THEN s2 ELSE 0 END AS key) l),
	y AS (SELECT *, avg(e) FILTER (WHERE nth = 1 OR visit = 'every') OVER edge AS mean, count(*) FILTER (WHERE nth = 1 OR visit = 'every') OVER edge AS c FROM x WINDOW edge AS (PARTITION BY merge, visit, grp, s, a, key))
SELECT merge, visit, count(z.advantage), max(z.n_edge) AS most, count(*) FILTER (WHERE z.n_edge = 1) AS alone, count(*) FILTER (WHERE c IS DISTINCT FROM z.n_edge OR differ(z.advantage, y.mean) OR differ(z.episode_advantage, y.e)) AS wrong
FROM y, few_g, LATERAL (SELECT * FROM salt(few_g.g, merge => y.merge, visit => y.visit) z WHERE z.step_id = y.id) z WHERE few_g.grp = y.grp AND y.grp % 4 = 0 GROUP BY 1, 2 ORDER BY 1, 2;

-- NULL where a rollout is not judged, and nowhere else.
SELECT f, count(*) FILTER (WHERE (a IS NULL) <> (q.id IS NULL)) AS wrong, count(a) FROM s LEFT JOIN q USING (id) JOIN (
	SELECT 'opo' AS f, step_id, advantage AS a FROM g, opo(g) UNION ALL SELECT 'grpo_passk', step_id, advantage FROM g, grpo_passk(g) UNION ALL SELECT 'remax', step_id, advantage FROM g, remax(g, g)
	UNION ALL SELECT 'igpo', step_id, advantage FROM g, igpo(g) UNION ALL SELECT 'pure', step_id, advantage FROM g, pure(g) UNION ALL SELECT 'bi_level_gae', step_id, advantage FROM g, bi_level_gae(g)
	UNION ALL SELECT 'g2po', step_id, advantage FROM g, g2po(g)
	UNION ALL SELECT 'salt', step_id, advantage FROM g, salt(g)) a ON a.step_id = s.id GROUP BY f ORDER BY f;

-- Refusals
SELECT a.* FROM x, salt(g, merge => 'state') a;
SELECT a.* FROM x, opo(g, length => 'tokens') a;
SELECT a.* FROM (SELECT rollout_agg(i, i, 0, 1, 1, 1, NULL, NULL, NULL, NULL, -i) AS g FROM generate_series(1, 3) i) y, opo(g, length => 'cost') a;
SELECT a.* FROM x, igpo(g, gamma => 1.5) a;
SELECT a.* FROM x, pure(g, temperature => -1) a;
SELECT a.* FROM x, g2po(g, success_reward => 'Infinity') a;
SELECT a.* FROM (SELECT rollout_agg(i, i, 0, 1, 1, i * 0.5e308, NULL, NULL, NULL, NULL, 10) AS g FROM generate_series(1, 3) i) y, opo(g, length => 'cost') a;

-- Views: of each whose columns there are; they are none of the methods side by side, but instances of them are.
CREATE TABLE rl (LIKE s INCLUDING ALL);
ALTER TABLE rl ADD PRIMARY KEY (id);
INSERT INTO rl TABLE s;
SET search_path = more_methods;
SET client_min_messages = warning;
SELECT view_name, shows FROM stepadv.attach('rl', '{grp}', 'r', 'n', 'state', NULL, 'reward', columns => '{"step_id": "id", "value": "value", "turn_reward": "turn_reward", "cost": "cost", "turn": "turn"}', views => '{all}', options => '{"g2po": {"normalise": "mean"}, "methods": {"opo_tokens": {"method": "opo", "length": "cost"}}}') WHERE view_name::text ~ '_(opo|opo_tokens|grpo_passk|igpo|pure|bi_level_gae|g2po)$' ORDER BY 1;
SELECT count(*), count(*) FILTER (WHERE v.advantage IS DISTINCT FROM a.advantage) AS wrong FROM rl_g2po v JOIN (g CROSS JOIN LATERAL stepadv.g2po(g.g, normalise => 'mean') a) USING (step_id);
SELECT count(*), count(*) FILTER (WHERE v.advantage IS DISTINCT FROM a.advantage) AS wrong FROM rl_bi_level_gae v JOIN (g CROSS JOIN LATERAL stepadv.bi_level_gae(g.g) a) USING (step_id);
SELECT count(*), count(*) FILTER (WHERE v.opo_tokens IS DISTINCT FROM a.advantage) AS wrong FROM rl_compare v JOIN (g CROSS JOIN LATERAL stepadv.opo(g.g, 'cost') a) USING (step_id);
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'rl_compare'::regclass AND attnum > 0;
-- Who names them has them side by side, kept or not; what shows all methods stays without.
SELECT count(*) > 20 AS attached FROM stepadv.attach('rl', '{grp}', 'r', 'n', 'state', 'turn', 'reward', columns => '{"step_id": "id", "policy_version": "turn"}', views => '{all}', prefix => 'named', options => '{"compare": {"methods": "grpo, opo, g2po"}, "credit_check": {"methods": "opo"}}');
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'named_compare'::regclass AND attnum > 0 AND attname ~ 'po$';
SELECT count(*), count(*) FILTER (WHERE v.opo IS DISTINCT FROM a.advantage OR v.g2po IS DISTINCT FROM b.advantage) AS wrong
FROM named_compare v JOIN (g CROSS JOIN LATERAL stepadv.opo(g.g) a) USING (step_id) JOIN named_g2po b ON b.step_id = v.step_id;
CREATE TABLE quadrants AS TABLE named_quadrants;
SELECT method_a, method_b, sum(n_steps) FROM quadrants GROUP BY 1, 2 ORDER BY 1, 2;
SELECT DISTINCT method FROM named_advantages WHERE method ~ 'po$' ORDER BY 1;
SELECT method, groups > 0 AS checked FROM named_credit_check;
CREATE INDEX ON rl (grp);
CREATE TABLE signs AS TABLE named_disagreement_by_group;
SELECT stepadv.maintain('rl', prefix => 'named');
SELECT count(*) > 0 AS some, (SELECT count(*) FROM (TABLE signs EXCEPT ALL TABLE named_disagreement_by_group) d) AS differ FROM signs WHERE 'g2po' IN (method_a, method_b);
SELECT count(*) AS differ FROM ((TABLE quadrants EXCEPT ALL TABLE named_quadrants) UNION ALL (TABLE named_quadrants EXCEPT ALL TABLE quadrants)) d;
UPDATE rl SET reward = 2 WHERE id = 4;
SELECT count(*) > 0 AS changed FROM (TABLE quadrants EXCEPT ALL TABLE named_quadrants) d;
SELECT stepadv.attach('rl', '{grp}', 'r', 'n', NULL, NULL, 'reward', columns => '{"step_id": "id"}', views => '{all}', prefix => 'other', options => '{"compare": {"methods": "grpo, g2po"}}');

-- remax by a mark: any row of a rollout may have it. Half of the groups have one or several, some of them not judged; by steps and by turns, kept or not.
CREATE TABLE marked AS SELECT s.*, CASE WHEN n % 5 = 4 THEN grp % 2 = 0 AND r % 100 IN (1, 2, 3) END AS is_greedy FROM s;
ALTER TABLE marked ADD PRIMARY KEY (id);
CREATE INDEX ON marked (grp);
SELECT view_name, shows FROM stepadv.attach('marked', '{grp}', 'r', 'n', 'state', NULL, 'reward', columns => '{"step_id": "id", "turn": "turn", "greedy": "is_greedy"}', views => '{all}', options => '{"remax": {"gamma": 0.9}, "methods": {"of_all": {"method": "remax", "to_go": false}, "of_turns": {"method": "remax", "unit": "turn"}}}') WHERE view_name::text ~ '_(remax|of_all)$' ORDER BY 1;
CREATE VIEW by_hand AS SELECT q.id, CASE WHEN NOT m.is_greedy THEN (SELECT sum(p.reward * power(0.9, p.k - q.k)) FROM q p WHERE p.r = q.r AND p.k >= q.k) END - b.base AS to_go, CASE WHEN NOT m.is_greedy THEN q.t END - b.base AS whole
FROM q JOIN (SELECT r, coalesce(bool_or(is_greedy), false) AS is_greedy FROM marked GROUP BY r) m USING (r)
LEFT JOIN (SELECT rolls.grp, avg(rolls.t) AS base FROM rolls JOIN (SELECT r FROM marked WHERE is_greedy GROUP BY r) g USING (r) GROUP BY 1) b ON b.grp = q.grp;
CREATE VIEW found AS SELECT count(*) AS steps, count(v.advantage) AS advantages, count(*) FILTER (WHERE more_methods.differ(v.advantage, h.to_go)) AS wrong,
	count(*) FILTER (WHERE more_methods.differ(c.of_all, h.whole)) AS wrong_of_all FROM marked_remax v JOIN marked_compare c USING (step_id) LEFT JOIN by_hand h ON h.id = v.step_id;
TABLE found;
-- by turns a step gets what its turn gets: the return from the turn's first step of the rollout on
SELECT count(c.of_turns) > 100 AS some, count(*) FILTER (WHERE (c.of_turns IS NULL) <> (h.whole IS NULL)) AS wrong FROM marked_compare c LEFT JOIN by_hand h ON h.id = c.step_id;
SELECT grp, problem, n_rows, methods, effect FROM marked_problems WHERE problem = 'no greedy rollout' ORDER BY 1 LIMIT 2;
SELECT count(*), count(*) FILTER (WHERE grp % 2 = 1), sum(n_rows) FROM marked_problems WHERE problem = 'no greedy rollout';
SELECT count(*) FROM marked WHERE grp % 2 = 1;
SELECT stepadv.maintain('marked');
TABLE found;
SELECT count(*), sum(n_rows) FROM marked_problems WHERE problem = 'no greedy rollout';
-- where nobody marks any, nobody misses them
UPDATE marked SET is_greedy = NULL;
SELECT count(*), count(advantage), (SELECT count(*) FROM marked_problems WHERE problem = 'no greedy rollout') AS problems FROM marked_remax;
-- Canonical tables: of the rollouts. Two greedy ones earn 0.5 and 0.
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('greedy_tables', group_by => '{task_id}', views => '{all}');
INSERT INTO greedy_tables.rollouts (task_id, rollout_id, outcome, greedy) VALUES ('A', '1', 1, false), ('A', '2', 0, false), ('A', 'g', 0.5, true), ('A', 'h', 0, true), ('B', '3', 1, false), ('C', '4', 1, false), ('C', 'k', NULL, true);
INSERT INTO greedy_tables.steps (task_id, rollout_id, step_no, observation, action) SELECT task_id, rollout_id, 1, 'x', 'y' FROM greedy_tables.rollouts;
SELECT task_id, rollout_id, step_no, return, baseline, advantage FROM greedy_tables.steps_remax ORDER BY 1, 2;
SELECT task_id, rollout_id, problem, n_rows, effect FROM greedy_tables.steps_problems ORDER BY 1, 2;
SELECT stepadv.attach('marked', '{grp}', 'r', 'n', reward => 'reward', columns => '{"greedy": "reward"}', views => '{all}', prefix => 'other');
SELECT stepadv.attach('marked', '{grp}', 'r', 'n', reward => 'reward', columns => '{"greedy": "is_greedy"}', views => '{all}', prefix => 'other', options => '{"remax": {"gamma": 2}}');
SELECT stepadv.attach('marked', '{grp}', 'r', 'n', reward => 'reward', columns => '{"greedy": "is_greedy"}', views => '{all}', prefix => 'other', options => '{"remax": {"greedy": "x"}}');
SELECT stepadv.attach('marked', '{grp}', 'r', 'n', reward => 'reward', columns => '{"greedy": "is_greedy"}', views => '{all}', prefix => 'other', options => '{"remax": {"within": false}}');

SET client_min_messages = error;
DROP SCHEMA greedy_tables CASCADE;
DROP SCHEMA more_methods CASCADE;

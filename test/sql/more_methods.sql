-- igpo, pure, bi_level_gae: worked by hand, against plain SQL, refusals.
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
SELECT a.step_id, a.value, a.td_error, a.advantage FROM (SELECT stepadv_internal.forgiving_rollout_agg(i, 1, i, i, 1, 1, true, NULL, NULL, NULL, NULL, 1 + i / 3, NULL, NULL, NULL, NULL, NULL) AS g FROM generate_series(1, 3) i) y, bi_level_gae(g) a;

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

-- NULL where a rollout is not judged, and nowhere else.
SELECT f, count(*) FILTER (WHERE (a IS NULL) <> (q.id IS NULL)) AS wrong, count(a) FROM s LEFT JOIN q USING (id) JOIN (
	SELECT 'igpo' AS f, step_id, advantage AS a FROM g, igpo(g) UNION ALL SELECT 'pure', step_id, advantage FROM g, pure(g)
	UNION ALL SELECT 'bi_level_gae', step_id, advantage FROM g, bi_level_gae(g)) a ON a.step_id = s.id GROUP BY f ORDER BY f;

-- Refusals
SELECT a.* FROM x, igpo(g, gamma => 1.5) a;
SELECT a.* FROM x, pure(g, temperature => -1) a;

-- Views: of each whose columns there are; they are none of the methods side by side, but instances of them are.
CREATE TABLE rl (LIKE s INCLUDING ALL);
ALTER TABLE rl ADD PRIMARY KEY (id);
INSERT INTO rl TABLE s;
SET search_path = more_methods;
SET client_min_messages = warning;
SELECT view_name, shows FROM stepadv.attach('rl', '{grp}', 'r', 'n', 'state', NULL, 'reward', columns => '{"step_id": "id", "value": "value", "turn_reward": "turn_reward", "cost": "cost", "turn": "turn"}', views => '{all}', options => '{"pure": {"temperature": 0.5}, "methods": {"igpo_apart": {"method": "igpo", "pool": "separate"}}}') WHERE view_name::text ~ '_(igpo|igpo_apart|pure|bi_level_gae)$' ORDER BY 1;
SELECT count(*), count(*) FILTER (WHERE v.advantage IS DISTINCT FROM a.advantage) AS wrong FROM rl_pure v JOIN (g CROSS JOIN LATERAL stepadv.pure(g.g, temperature => 0.5) a) USING (step_id);
SELECT count(*), count(*) FILTER (WHERE v.advantage IS DISTINCT FROM a.advantage) AS wrong FROM rl_bi_level_gae v JOIN (g CROSS JOIN LATERAL stepadv.bi_level_gae(g.g) a) USING (step_id);
SELECT count(*), count(*) FILTER (WHERE v.igpo_apart IS DISTINCT FROM a.advantage) AS wrong FROM rl_compare v JOIN (g CROSS JOIN LATERAL stepadv.igpo(g.g, pool => 'separate') a) USING (step_id);
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'rl_compare'::regclass AND attnum > 0;
-- Who names them has them side by side, kept or not; what shows all methods stays without.
SELECT count(*) > 20 AS attached FROM stepadv.attach('rl', '{grp}', 'r', 'n', 'state', 'turn', 'reward', columns => '{"step_id": "id", "policy_version": "turn", "turn_reward": "turn_reward"}', views => '{all}', prefix => 'named', options => '{"compare": {"methods": "grpo, igpo, pure"}, "credit_check": {"methods": "igpo"}}');
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'named_compare'::regclass AND attnum > 0 AND attname ~ 'po$|^pure$';
SELECT count(*), count(*) FILTER (WHERE v.igpo IS DISTINCT FROM a.advantage OR v.pure IS DISTINCT FROM b.advantage) AS wrong
FROM named_compare v JOIN (g CROSS JOIN LATERAL stepadv.igpo(g.g) a) USING (step_id) JOIN named_pure b ON b.step_id = v.step_id;
CREATE TABLE quadrants AS TABLE named_quadrants;
SELECT method_a, method_b, sum(n_steps) FROM quadrants GROUP BY 1, 2 ORDER BY 1, 2;
SELECT DISTINCT method FROM named_advantages WHERE method ~ 'po$|^pure$' ORDER BY 1;
SELECT method, groups > 0 AS checked FROM named_credit_check;
CREATE INDEX ON rl (grp);
CREATE TABLE signs AS TABLE named_disagreement_by_group;
SELECT stepadv.maintain('rl', prefix => 'named');
SELECT count(*) > 0 AS some, (SELECT count(*) FROM (TABLE signs EXCEPT ALL TABLE named_disagreement_by_group) d) AS differ FROM signs WHERE 'igpo' IN (method_a, method_b);
SELECT count(*) AS differ FROM ((TABLE quadrants EXCEPT ALL TABLE named_quadrants) UNION ALL (TABLE named_quadrants EXCEPT ALL TABLE quadrants)) d;
UPDATE rl SET reward = 2 WHERE id = 4;
SELECT count(*) > 0 AS changed FROM (TABLE quadrants EXCEPT ALL TABLE named_quadrants) d;
SELECT stepadv.attach('rl', '{grp}', 'r', 'n', NULL, NULL, 'reward', columns => '{"step_id": "id"}', views => '{all}', prefix => 'other', options => '{"compare": {"methods": "grpo, pure"}}');

SET client_min_messages = error;
DROP SCHEMA more_methods CASCADE;

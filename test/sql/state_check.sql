-- state_check: what states do not say about earlier actions. Its numbers against plain SQL; the rate of false alarms where states are complete, and of detections where they are not.
SET search_path = stepadv, public;
SET jit = off;
SET client_min_messages = warning;
\i test/sim/simulator.sql
\i test/credit/credit.sql
\i test/credit/problems.sql

-- Made-up rollouts: the same ids in every group, groups of equal returns, a rollout that is not judged.
CREATE TEMP TABLE made AS
SELECT g, r AS rollout_id, n AS step_no, (g * 100 + r) * 100 + n AS step_id, (r * 7 + n * 3 + g * g) % 4 AS state, (r + n * n + g) % 3 AS action,
       CASE WHEN g = 3 AND r = 2 THEN NULL WHEN n = 2 AND g <> 5 AND (r + g) % 3 = 0 THEN 3 WHEN n < 4 + r % 3 THEN 0 WHEN g = 5 THEN 1 ELSE ((r * 5 + g * 3 + r * g) % 7)::float8 / 4 END AS reward
FROM generate_series(1::bigint, 9) g, generate_series(1::bigint, 8) r, generate_series(0, 6) n
WHERE n <= 4 + r % 3;
CREATE TEMP TABLE checked AS
SELECT c.*
FROM (SELECT array_agg(x.rollouts ORDER BY g) || NULL::rollout_group AS groups
      FROM (SELECT g, rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS rollouts FROM made GROUP BY g) x) y,
     LATERAL state_check(y.groups, 0.9, 4) c;
-- The same in SQL; values of states by batch_td over all that takes part.
CREATE TEMP TABLE centred AS
WITH returned AS (
	SELECT g, rollout_id, sum(reward) AS total FROM made GROUP BY 1, 2
), judged AS MATERIALIZED (
	SELECT m.*, m.g * 100 + m.rollout_id AS rollout
	FROM made m JOIN returned USING (g, rollout_id) JOIN (SELECT g FROM returned GROUP BY g HAVING min(total) < max(total)) x USING (g)
	WHERE total IS NOT NULL
), valued AS (
	SELECT b.step_id, b.v FROM (SELECT rollout_agg(step_id, rollout, step_no, state, action, reward) AS rollouts FROM judged) x,
		LATERAL batch_td(x.rollouts, gamma => 0.9, prior => 0) b
), surprises AS MATERIALIZED (
	SELECT j.rollout, j.step_no, j.state, j.action,
		j.reward + 0.9 * coalesce(lead(v.v) OVER (PARTITION BY j.rollout ORDER BY j.step_no), 0) - v.v AS d
	FROM judged j JOIN valued v USING (step_id)
), taken AS (
	SELECT rollout, state, action, min(step_no) AS since FROM surprises GROUP BY 1, 2, 3
), asked AS (
	SELECT state, action, count(*) AS n_rollouts FROM taken GROUP BY 1, 2 HAVING count(*) >= 4
), marked AS (
	SELECT a.state AS s, a.action AS a, a.n_rollouts, x.rollout, x.state, x.d, coalesce(x.step_no > t.since, false)::integer AS h
	FROM asked a CROSS JOIN surprises x LEFT JOIN taken t ON t.rollout = x.rollout AND t.state = a.state AND t.action = a.action
)
SELECT m.*, avg(h) OVER (PARTITION BY s, a, state) AS mean FROM marked m;
CREATE TEMP TABLE scored AS
WITH scores AS (
	SELECT s, a, sum(score) / sqrt(sum(score * score)) AS z
	FROM (SELECT s, a, rollout, sum((h - mean) * d) AS score FROM centred GROUP BY 1, 2, 3) r GROUP BY 1, 2
), differences AS (
	SELECT s, a, sum(n * (after - before)) / min(n_rollouts) AS difference, min(n_rollouts) AS n_rollouts
	FROM (SELECT s, a, state, n_rollouts, sum(h) AS n, avg(d) FILTER (WHERE h = 1) AS after, avg(d) FILTER (WHERE h = 0) AS before
	      FROM centred GROUP BY 1, 2, 3, 4) x GROUP BY 1, 2
)
SELECT s, a, n_rollouts, z, difference FROM scores JOIN differences USING (s, a);
SELECT count(*) AS pairs, bool_and(c.n_rollouts = s.n_rollouts) AS n_rollouts, max(abs(c.z - s.z)) < 1e-9 AS z, max(abs(c.difference - s.difference)) < 1e-9 AS difference,
       count(*) = (SELECT count(*) FROM checked) AS all_of_them
FROM checked c JOIN scored s ON s.s = c.state AND s.a = c.action;
-- In each state h and d are paired at random: three moments of the sum of h d, which add up over states.
CREATE TEMP TABLE chance AS
SELECT s, a, state, n_after >= 4 AND n_before >= 4 AS told, total, x2 * d2 / (n - 1) AS variance, n * x3 * d3 / ((n - 1) * (n - 2)) AS third
FROM (SELECT s, a, state, count(*) AS n, count(DISTINCT rollout) FILTER (WHERE h = 1) AS n_after, count(DISTINCT rollout) FILTER (WHERE h = 0) AS n_before,
             sum((h - mean) * d) AS total, sum((h - mean) ^ 2) AS x2, sum((h - mean) ^ 3) AS x3, sum(d ^ 2) AS d2, sum(d ^ 3) AS d3 FROM centred GROUP BY 1, 2, 3) x;
-- Two-sided: twice the tail of a normal distribution (midpoint rule), or on the side of the longer tail that of a gamma distribution by the root of its deviance.
CREATE FUNCTION pg_temp.two_sided(total float8, variance float8, third float8) RETURNS float8 LANGUAGE sql AS $$
	SELECT 1 - sqrt(2 / pi()) * sum(exp((w * (k + 0.5) / 2000) ^ 2 / -2)) * w / 2000
	FROM (SELECT CASE WHEN x > 0 THEN sqrt(8 / skewness ^ 2 * (x - ln(1 + x))) ELSE abs(z) END AS w
		FROM (SELECT z, skewness, z * skewness / 2 AS x FROM (SELECT total / sqrt(variance) AS z, third / variance ^ 1.5 AS skewness) m) y) v, generate_series(0, 1999) k GROUP BY w
$$;
-- All states, or the least p of one times their number; times the number of pairs.
CREATE TEMP TABLE probable AS
SELECT s, a, count(t.p) * min(t.p) AS by_state, pg_temp.two_sided(sum(c.total), sum(c.variance), sum(c.third)) AS by_all
FROM chance c, LATERAL (SELECT CASE WHEN told THEN pg_temp.two_sided(c.total, c.variance, c.third) END AS p) t GROUP BY 1, 2;
SELECT max(abs(c.p_value - least(1, n.n * least(y.by_state, y.by_all)))) < 1e-6 AS p, count(*) FILTER (WHERE y.by_state < y.by_all AND c.p_value < 1) > 0 AS some_by_state, count(*) FILTER (WHERE y.by_all < y.by_state AND c.p_value < 1) > 0 AS some_by_all
FROM checked c JOIN probable y ON y.s = c.state AND y.a = c.action, (SELECT count(*) AS n FROM checked) n;
-- The null distribution by simulation: d permuted among the visits of a state. For the most skewed sums the share at least as extreme on that side is half of p.
SELECT setseed(0.5) IS NOT NULL AS dealt;
WITH skewed AS (
	SELECT *, pg_temp.two_sided(total, variance, third) / 2 AS p FROM chance WHERE told AND total * third > 0 ORDER BY abs(third) / variance ^ 1.5 DESC LIMIT 5
), visits AS (
	SELECT k.*, array_agg(m.d) AS d, array_agg(m.h - m.mean) AS x FROM skewed k JOIN centred m USING (s, a, state) GROUP BY k.s, k.a, k.state, k.told, k.total, k.variance, k.third, k.p
), deals AS (
	SELECT v.s, v.a, v.state, deal, sum(x.x * e.d) / v.total AS share FROM visits v, generate_series(1, 2000) deal,
		LATERAL (SELECT e.d, row_number() OVER (ORDER BY random(), deal) AS i FROM unnest(v.d) e(d)) e JOIN LATERAL unnest(v.x) WITH ORDINALITY x(x, i) USING (i) GROUP BY v.s, v.a, v.state, v.total, deal
)
SELECT count(*) AS sums, max(abs(p - far)) < 0.03 AS p FROM (SELECT v.p, avg((d.share >= 1 - 1e-9)::integer) AS far FROM deals d JOIN visits v USING (s, a, state) GROUP BY v.s, v.a, v.state, v.p) x;
SELECT bool_and(p >= last) AS surest_first FROM (SELECT p, lag(p, 1, 0) OVER (ORDER BY i) AS last FROM (SELECT p_value AS p, row_number() OVER () AS i FROM checked) x) y;

-- No result: no groups, none that differ, no rollout judged.
SELECT count(*) AS none FROM state_check('{}');
SELECT count(*) AS none FROM state_check(ARRAY[NULL]::rollout_group[]);
SELECT count(*) AS uniform FROM (SELECT array_agg(x.r) AS groups FROM (SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS r FROM made WHERE g = 5) x) y, state_check(y.groups, min_rollouts => 1);
SELECT count(*) AS unjudged FROM (SELECT array_agg(x.r) AS groups FROM (SELECT rollout_agg(step_id, rollout_id, step_no, state, action, NULL::float8) AS r FROM made WHERE g = 1) x) y, state_check(y.groups, min_rollouts => 1);
SELECT * FROM state_check('{}', gamma => 2);
SELECT * FROM state_check('{}', min_rollouts => 0);

-- Sixteen groups of eight of each problem, and other draws, with p below .05 as an alarm: at most 5 in 100 where states are complete; at least 75 in 100 where they hide something.
SELECT credit.prepare();
CREATE FUNCTION least_p(problem text, states text, seed bigint) RETURNS float8 LANGUAGE sql AS $$
	SELECT coalesce(min(c.p_value), 1)
	FROM (SELECT array_agg(x.rollouts ORDER BY g) AS groups
	      FROM (SELECT (s.rollout_id - 1) / 8 AS g, stepadv.rollout_agg((s.rollout_id << 20) + s.step_no, s.rollout_id, s.step_no,
	              CASE states WHEN 'exact' THEN s.state_hash ELSE s.look_hash END, s.action_hash, s.reward) AS rollouts
	            FROM credit.simulate(problem, 128, seed) s GROUP BY 1) x) y,
	     LATERAL stepadv.state_check(y.groups) c
$$;

SELECT count(*) AS draws, count(*) FILTER (WHERE p < 0.05) <= 0.05 * count(*) AS few_false_alarms
FROM (SELECT least_p(p.problem, 'exact', seed) AS p FROM credit.problems p, generate_series(1, 8) seed) x;
-- What is hidden there was done by the rollout itself: a key taken, a backup made, a fact learned.
SELECT count(*) AS draws, count(*) FILTER (WHERE p < 0.05) >= 0.75 * count(*) AS found
FROM (SELECT least_p(problem, 'hidden', seed) AS p FROM unnest('{key and door,two keys,more rooms,migration,find the fault,rooms,shop}'::text[]) problem,
	generate_series(1, 4) seed) x;
-- What it names: leaving the place of the key, the only sign of having it.
SELECT c.look, c.taken, c.p_value < 0.001 AS sure, c.difference > 0 AS better
FROM (SELECT array_agg(x.rollouts ORDER BY g) AS groups
      FROM (SELECT (s.rollout_id - 1) / 8 AS g, rollout_agg((s.rollout_id << 20) + s.step_no, s.rollout_id, s.step_no, s.look_hash, s.action_hash, s.reward) AS rollouts
            FROM credit.simulate('key and door', 128, 1) s GROUP BY 1) x) y,
     LATERAL (SELECT n.look, n.taken, k.* FROM state_check(y.groups) k
              JOIN (SELECT DISTINCT l.look, t.action AS taken, credit.name_key(l.look) AS s, credit.name_key(t.action) AS a
                    FROM credit.truth t JOIN credit.looks l USING (problem, state) WHERE t.problem = 'key and door') n ON n.s = k.state AND n.a = k.action
              ORDER BY abs(k.z) DESC LIMIT 1) c;
DROP FUNCTION least_p(text, text, bigint);

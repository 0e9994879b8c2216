-- hgpo: the worked case, both public weightings and every option against plain SQL, errors.
CREATE SCHEMA hgpo;
SET search_path = hgpo, stepadv, public;
\set VERBOSITY terse

CREATE FUNCTION off(got float8, expected float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS
$$ SELECT got IS NULL OR expected IS NULL OR abs(got - expected) > 1e-9 * greatest(1, abs(expected)) $$;

-- s0 s1 s2 with 10, s0 s1 with nothing, s0 s3 s1 with 10
CREATE TABLE x AS SELECT rollout_agg(id, rollout, no, state, NULL, reward) AS g FROM (VALUES
	(1, 1, 0, 0, 0::float8), (2, 1, 1, 1, 0), (3, 1, 2, 2, 10), (4, 2, 0, 0, 0), (5, 2, 1, 1, 0),
	(6, 3, 0, 0, 0), (7, 3, 1, 3, 0), (8, 3, 2, 1, 10)) v(id, rollout, no, state, reward);
-- hgpo_recipe
SELECT count(*) FILTER (WHERE off(a.advantage, v.expected)) AS off, count(*) AS steps
FROM x, hgpo(g) a JOIN unnest('{0.7071062614284697,0.8608281249865097,0,-1.4142125228569393,-1.1651278915057701,0.7071062614284697,0,0.7607491880734405}'::float8[])
	WITH ORDINALITY v(expected, id) ON id = step_id;
-- In s1: 9.5, 0, 10 and, after s0, 9.5, 0.  By hand without epsilon: a_1 = (9.5 - 6.5) / sqrt((9 + 42.25 + 12.25) / 3), a_2 = 1.
-- Step 2 is (2 a_1 + 3) / 5 by the recipe and (a_1 + 2) / 3 by the original; at alpha 0 the mean of both; at length 0 a_1.
SELECT bool_and(NOT off(a.advantage, v.expected)) AS by_hand, count(*)
FROM x, LATERAL (SELECT 3 / sqrt(63.5 / 3) AS a_1) w, LATERAL (VALUES ('recipe', 1, 2, (2 * a_1 + 3) / 5), ('original', 1, 2, (a_1 + 2) / 3),
	('original', 0, 5, (a_1 + 1) / 2), ('recipe', -2, 2, (a_1 / 4 + 1.0 / 9) / (1.0 / 4 + 1.0 / 9)), ('recipe', 1, 0, a_1)) v(convention, alpha, length, expected),
	hgpo(g, convention => v.convention, alpha => v.alpha, history_length => length, epsilon => 0) a WHERE a.step_id = 2;

-- Random groups; few states, so that histories meet; rewards with ties, so that levels are exactly 0.
CREATE TABLE s AS
SELECT k AS grp, r AS rollout, t AS no, (k * 1000 + r * 20 + t)::bigint AS id, CASE WHEN h % 17 > 0 THEN h % 2 END AS state,
	CASE WHEN r < 9 THEN CASE WHEN t = 3 THEN (h / 5) % 3 ELSE 0 END END::float8 AS reward
FROM generate_series(1, 10) k, generate_series(1, 9) r, generate_series(0, 3 + (k * r) % 5) t,
	LATERAL (SELECT abs(signature_hash(format('%s-%s-%s', k, r, t)) % 1000003) AS h) h;
CREATE TABLE groups AS SELECT grp, rollout_agg(id, rollout, no, state, no, reward) AS g FROM s GROUP BY grp;
CREATE TABLE level AS
WITH steps AS (
	SELECT grp, rollout, no, id, coalesce(state, id) AS state,
		sum(reward * 0.5 ^ no) OVER (PARTITION BY grp, rollout ORDER BY no ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) / 0.5 ^ no AS ret
	FROM s WHERE reward IS NOT NULL),
history AS (
	SELECT t.*, k, (SELECT array_agg(o.state ORDER BY o.no) FROM steps o WHERE (o.grp, o.rollout) = (t.grp, t.rollout) AND o.no BETWEEN t.no - k + 1 AND t.no) AS states
	FROM steps t, generate_series(1, 5) k WHERE t.no >= k - 1)
SELECT grp, id, k, CASE WHEN max(ret) OVER w > min(ret) OVER w THEN ret - avg(ret) OVER w ELSE 0 END AS centred, stddev_pop(ret) OVER w AS sd
FROM history WINDOW w AS (PARTITION BY grp, k, states);
CREATE TABLE episode AS
SELECT grp, rollout, (total - avg(total) OVER w) / (stddev_samp(total) OVER w + 0.1) AS by_rollout,
	(total - sum(total * n) OVER w / sum(n) OVER w) /
		(sqrt((sum(n * total * total) OVER w - (sum(n * total) OVER w) ^ 2 / sum(n) OVER w) / (sum(n) OVER w - 1)) + 0.1) AS by_step
FROM (SELECT grp, rollout, sum(reward) AS total, count(*) AS n FROM s GROUP BY 1, 2 HAVING count(reward) > 0) t WINDOW w AS (PARTITION BY grp);

SELECT max(history_length) AS length, v.convention, v.normalise, v.weighting, count(*) AS steps, count(*) FILTER (WHERE a.advantage <> 0) > 100 AS many, max(a.n_levels) AS levels,
	count(*) FILTER (WHERE a.n_levels <> coalesce(e.n, 0)) AS off_n, count(*) FILTER (WHERE off(a.advantage, coalesce(e.expected, 0))) AS off
FROM groups, (VALUES (1, 2, 'recipe', 'std', 'no'), (2, 4, 'recipe', 'mean', 'no'), (3, 4, 'original', 'std', 'no'), (4, 1, 'recipe', 'std', 'rollout'), (5, 2, 'recipe', 'std', 'step'))
		v(case_no, history_length, convention, normalise, weighting),
	hgpo(g, gamma => 0.5, history_length => v.history_length, alpha => 1.5, normalise => v.normalise, epsilon => 0.1, convention => v.convention,
		base_group => v.weighting <> 'no', weighting => CASE v.weighting WHEN 'step' THEN 'step' ELSE 'rollout' END) a
LEFT JOIN LATERAL (
	SELECT count(*) AS n, sum(w * l) / (sum(w) + CASE v.convention WHEN 'recipe' THEN 0.1 ELSE 0 END) AS expected
	FROM (SELECT (k + (v.convention = 'recipe')::integer) ^ 1.5::float8 AS w, CASE v.normalise WHEN 'std' THEN centred / (sd + 0.1) ELSE centred END AS l
		FROM level WHERE (level.grp, level.id) = (groups.grp, a.step_id) AND k <= v.history_length + 1
		UNION ALL SELECT 1, CASE v.weighting WHEN 'step' THEN by_step ELSE by_rollout END FROM episode p
		WHERE (p.grp, p.rollout) = (groups.grp, a.rollout_id) AND v.weighting <> 'no') u WHERE abs(l) > 1e-12) e ON true
WHERE a.rollout_id < 9 GROUP BY case_no, v.convention, v.normalise, v.weighting ORDER BY case_no;
SELECT count(*) > 0 AS there, count(a.n_state) + count(a.n_levels) + count(a.advantage) AS known FROM groups, hgpo(g) a WHERE rollout_id = 9;
-- length 0 is gigpo's step advantage but for the degree of freedom
SELECT count(*) FILTER (WHERE off(h.advantage, p.step_advantage * sqrt(p.n_state / (p.n_state - 1.0)))) AS off, count(*) > 200 AS some
FROM groups, hgpo(g, history_length => 0, epsilon => 0, convention => 'original') h, gigpo(g, epsilon => 0) p WHERE p.step_id = h.step_id AND p.n_state > 1;
-- a long walk twice: every history is shared
SELECT min(n_levels), max(n_levels), min(abs(a.advantage)), max(abs(a.advantage)) FROM (SELECT rollout_agg(i, i % 2, i / 2, i / 2, 0, i % 2) AS g FROM generate_series(0, 3999) i) y, hgpo(g, gamma => 0, history_length => 1000, epsilon => 0) a;

SELECT a.* FROM x, hgpo(g, history_length => -1) a;
SELECT a.* FROM x, hgpo(g, history_length => 1001) a;
SELECT a.* FROM x, hgpo(g, normalise => 'none') a;
SELECT a.* FROM x, hgpo(g, convention => 'paper') a;
SELECT a.* FROM x, hgpo(g, convention => 'original', base_group => true) a;
SELECT a.* FROM x, hgpo(g, alpha => 'Infinity') a;
SELECT a.* FROM x, hgpo(g, alpha => -2000, epsilon => 0) a;

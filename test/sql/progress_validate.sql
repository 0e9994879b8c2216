-- progress_calibration, progress_cross_validate: against plain SQL
\set ECHO none
\i test/sim/simulator.sql
\set ECHO all
SET jit = off;
CREATE SCHEMA progress_validate_test;
SET search_path = progress_validate_test, stepadv;

CREATE FUNCTION near(a float8, b float8, tolerance float8 DEFAULT 1e-9) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN a IS NOT DISTINCT FROM b OR abs(a - b) <= tolerance * greatest(1, abs(b));
CREATE TABLE step AS
SELECT r AS rollout_id, r % 40 AS group_id, t AS step_no, (r * 13 % 7 > 2)::int::float8 AS outcome,
	ARRAY(SELECT (sim.uniform(i, sim.stream(t, r)) * 2 - 1 + CASE WHEN i = 1 THEN (r * 13 % 7) / 9.0 ELSE 0 END)::real FROM generate_series(1, 6) i) AS x
FROM generate_series(1, 400) r, LATERAL generate_series(1, 1 + r % 4) t;
-- Rollouts that are not judged yet: 10 of one group, and all of another
UPDATE step SET outcome = NULL WHERE group_id = 7 OR group_id = 8 AND rollout_id < 200;

-- Calibration by decile
WITH r AS (SELECT rollout_id, sum(x[1]::float8) AS p, max(outcome) AS y FROM step GROUP BY 1 HAVING max(outcome) IS NOT NULL),
expected AS (SELECT bin, count(*) AS rollouts, avg(p) AS predicted, avg(y) AS outcome FROM (SELECT *, ntile(10) OVER (ORDER BY p, rollout_id) AS bin FROM r) b GROUP BY bin),
got AS (SELECT c.* FROM (SELECT progress_calibration(rollout_id, x[1], outcome) AS a FROM step) t, unnest(a) c)
SELECT count(*), sum(g.rollouts), bool_and(g.rollouts = e.rollouts AND near(g.predicted, e.predicted) AND near(g.outcome, e.outcome)) AS equal
FROM got g FULL JOIN expected e USING (bin);
SELECT near((progress_quality(rollout_id, x[1], outcome)).calibration_error,
	(SELECT sum(abs(c.predicted - c.outcome) * c.rollouts) / sum(c.rollouts) FROM unnest(progress_calibration(rollout_id, x[1], outcome)) c)) AS same_as_error FROM step;
-- A perfect estimator; fewer rollouts than bins; nothing to judge by
SELECT c.* FROM (SELECT progress_calibration(r, 0.1 * r, 0.1 * r) AS a FROM generate_series(1, 20) r) t, unnest(a) c;
SELECT progress_calibration(r, r, r % 2) FROM generate_series(1, 3) r;
SELECT progress_calibration(r, r, NULL) FROM generate_series(1, 3) r;
SELECT progress_calibration(7, 'NaN', 1);
SELECT progress_calibration(7, NULL, 1);

-- Each fold and lambda: the fit on the other folds, and its scores on them and on the fold
CREATE FUNCTION score_near(a progress_score, b progress_score) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN a.rollouts = b.rollouts AND a.steps = b.steps AND near(a.mse, b.mse) AND near(a.r2, b.r2, 1e-8)
	AND near(a.rank_correlation, b.rank_correlation) AND near(a.calibration_error, b.calibration_error);
CREATE TABLE validated AS
SELECT v.* FROM (SELECT progress_cross_validate(rollout_id, x, outcome, group_id, '{0, 0.01, 10}', 5, 0, 'step') AS a FROM step) t, unnest(a) v;
CREATE FUNCTION expected(lambdas float8[], folds integer, seed integer, intercept text) RETURNS SETOF progress_validation LANGUAGE sql AS $$
	SELECT l, f, q.train, q.held_out
	FROM unnest(lambdas) l, generate_series(0, folds - 1) f, LATERAL (
		SELECT progress_fit(rollout_id, x, outcome, l, intercept) FILTER (WHERE progress_fold(group_id, folds, seed) <> f) AS m FROM step) m, LATERAL (
		SELECT progress_quality(rollout_id, progress_predict(m, x), outcome) FILTER (WHERE progress_fold(group_id, folds, seed) <> f) AS train,
			progress_quality(rollout_id, progress_predict(m, x), outcome) FILTER (WHERE progress_fold(group_id, folds, seed) = f) AS held_out FROM step) q
	WHERE (q.held_out).rollouts > 0
$$;
SELECT count(*), bool_and(score_near(v.train, e.train) AND score_near(v.held_out, e.held_out)) AS equal, count(DISTINCT v.lambda) AS lambdas, count(DISTINCT v.fold) AS folds
FROM validated v FULL JOIN expected('{0, 0.01, 10}', 5, 0, 'step') e USING (lambda, fold);
SELECT sum((held_out).rollouts) AS each_once, min((train).rollouts + (held_out).rollouts) AS all_used, max((train).rollouts + (held_out).rollouts) AS in_every_fold
FROM validated WHERE lambda = 10;
SELECT count(*), bool_and(score_near(v.train, e.train) AND score_near(v.held_out, e.held_out)) AS equal
FROM (SELECT v.* FROM (SELECT progress_cross_validate(rollout_id, x, outcome, group_id, '{0.1}', 3, -9, 'none') AS a FROM step) t, unnest(a) v) v
FULL JOIN expected('{0.1}', 3, -9, 'none') e USING (lambda, fold);
-- Many folds: those without a judged rollout are left out; leaving out a group at a time
SELECT count(*) = (SELECT count(DISTINCT progress_fold(group_id, 1000)) FROM step WHERE outcome IS NOT NULL) AS folds, sum((v.held_out).rollouts) AS rollouts
FROM (SELECT progress_cross_validate(rollout_id, x, outcome, group_id, '{1}', 1000, 0, 'step') AS a FROM step) t, unnest(a) v;
-- Lambda by lambda, in the order given, and fold by fold
SELECT array_agg(lambda) = '{10,10,10,0.01,0.01,0.01}' AND array_agg(fold) = '{0,1,2,0,1,2}' AS in_order
FROM (SELECT progress_cross_validate(rollout_id, x, outcome, group_id, '{10, 0.01}', 3, 0, 'step') AS a FROM step) t, unnest(a) v;
-- No order of rows changes a bit, nor does an outcome on one row only; neither do workers
SELECT progress_cross_validate(rollout_id, x, outcome, group_id, '{0.1, 1}') = progress_cross_validate(rollout_id, x, outcome, group_id, '{0.1, 1}' ORDER BY sim.uniform(step_no, rollout_id))
	AND progress_cross_validate(rollout_id, x, outcome, group_id, '{0.1, 1}') = progress_cross_validate(rollout_id, x, CASE WHEN step_no = 1 THEN outcome END, group_id, '{0.1, 1}') AS same_bits FROM step;
CREATE TABLE serial AS SELECT progress_cross_validate(rollout_id, x, outcome, group_id, '{0.1, 1}') AS a, progress_calibration(rollout_id, x[1], outcome) AS c FROM step;
ALTER TABLE step SET (parallel_workers = 2);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE FUNCTION plan_is_partial(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text; partial boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP partial := partial OR line LIKE '%Partial Aggregate%'; END LOOP;
	RETURN partial;
END $$;
SELECT plan_is_partial($$SELECT progress_cross_validate(rollout_id, x, outcome, group_id, '{0.1, 1}'), progress_calibration(rollout_id, x[1], outcome) FROM step$$) AS partial;
SELECT p.a = serial.a AS same_bits, p.c = serial.c AS calibration
FROM (SELECT progress_cross_validate(rollout_id, x, outcome, group_id, '{0.1, 1}') AS a, progress_calibration(rollout_id, x[1], outcome) AS c FROM step) p, serial;
SELECT progress_cross_validate(rollout_id, x, outcome, group_id, '{1}') IS NULL AS none FROM step WHERE rollout_id < 0;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SELECT progress_cross_validate(rollout_id, x, NULL, group_id, '{1}') IS NULL AS unjudged FROM step;
-- Constant outcomes: R2 and rank correlation are NULL, the intercept is all (each rollout has a step here)
SELECT bool_and((held_out).r2 IS NULL AND (held_out).rank_correlation IS NULL AND (held_out).mse < 1e-12) AS constant
FROM (SELECT progress_cross_validate(rollout_id, x, 1, group_id, '{100}') AS a FROM step WHERE step_no = 1) t, unnest(a);

-- Bad input
SELECT progress_cross_validate(rollout_id, x, outcome, 1, '{1}') FROM step;
SELECT progress_cross_validate(1, x, outcome, group_id, '{1}') FROM step WHERE group_id IN (1, 2) AND step_no = 1;
SELECT progress_cross_validate(7, '{1}', 1, NULL, '{1}');
SELECT progress_cross_validate(NULL, '{1}', 1, 1, '{1}');
SELECT progress_cross_validate(7, NULL::real[], 1, 1, '{1}');
SELECT progress_cross_validate(7, '{NaN}', 1, 1, '{1}');
SELECT progress_cross_validate(7, '{1}', 'Infinity', 1, '{1}');
SELECT progress_cross_validate(r, f::real[], 1, r, '{1}') FROM (VALUES (1, '{1,2}'), (2, '{1}')) v(r, f);
SELECT progress_cross_validate(7, '{1}', 1, 1, NULL);
SELECT progress_cross_validate(7, '{1}', 1, 1, '{}');
SELECT progress_cross_validate(7, '{1}', 1, 1, '{1,NULL}');
SELECT progress_cross_validate(7, '{1}', 1, 1, '{1,-1}');
SELECT progress_cross_validate(7, '{1}', 1, 1, '{NaN}');
SELECT progress_cross_validate(7, '{1}', 1, 1, array_fill(1::float8, ARRAY[101]));
SELECT progress_cross_validate(7, '{1}', 1, 1, '{1}', 1, 0, 'step');
SELECT progress_cross_validate(7, '{1}', 1, 1, '{1}', 2000, 0, 'step');
SELECT progress_cross_validate(7, '{1}', 1, 1, '{1}', NULL, 0, 'step');
SELECT progress_cross_validate(7, '{1}', 1, 1, '{1}', 5, NULL, 'step');
SELECT progress_cross_validate(7, '{1}', 1, 1, '{1}', 5, 0, NULL);
SELECT progress_cross_validate(r, '{1}', 1, r, ARRAY[r]) FROM generate_series(1, 2) r;
SELECT progress_cross_validate(rollout_id, x || x, outcome, group_id, '{1,0}', 5, 0, 'step') FROM step;

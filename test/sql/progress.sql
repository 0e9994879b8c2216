-- SPA: features, linear fit, prediction, rewards
\i test/sim/simulator.sql
SET jit = off;
CREATE SCHEMA progress_test;
SET search_path = progress_test, stepadv;
SET extra_float_digits = 1;

CREATE FUNCTION near(a float8, b float8, tolerance float8 DEFAULT 1e-9) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN a IS NOT NULL AND abs(a - b) <= tolerance * greatest(1, abs(b));
CREATE FUNCTION all_near(a float8[], b float8[], tolerance float8 DEFAULT 1e-9) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN cardinality(a) = cardinality(b) AND (SELECT bool_and(near(x, y, tolerance)) FROM unnest(a, b) AS t(x, y));

-- Feature hashing: unigrams against signature_hash, runs by their count
SELECT hash_features(ARRAY[]::text[], 4), hash_features(NULL, 4), hash_features('{a}', 1) IN ('{1}', '{-1}') AS one;
CREATE VIEW atom AS SELECT i, 'read:src/file' || i || '.py' AS atom FROM generate_series(1, 300) i;
SELECT hash_features(array_agg(atom), 37) = (
	SELECT array_agg(coalesce(s, 0) ORDER BY p) FROM generate_series(0, 36) p LEFT JOIN (
		SELECT (((signature_hash(atom) >> 32) & 4294967295) * 37) >> 32 AS p,
			   sum(1 - 2 * (signature_hash(atom) & 1))::real AS s
		FROM atom GROUP BY 1) h USING (p)) AS as_documented
FROM atom;
-- Signs are balanced and all indices are used
SELECT abs(sum(f)) < 200 AS fair, count(*) FILTER (WHERE f <> 0) > 700 AS spread
FROM unnest(hash_features((SELECT array_agg(i::text) FROM generate_series(1, 10000) i), 997)) f;
-- n + (n - 1) + (n - 2) runs; the order counts from two on
SELECT sum(abs(f)) FROM unnest(hash_features('{a,b,c,d,e}', 999983, 3)) f;
SELECT sum(abs(f)) FROM unnest(hash_features('{a,b}', 999983, 16)) f;
SELECT hash_features('{a,b,c}', 64) = hash_features('{c,b,a}', 64) AS bag,
	   hash_features('{a,b,c}', 64, 2) <> hash_features('{c,b,a}', 64, 2) AS ordered,
	   hash_features('{a,b}', 999983, 2) <> hash_features('{ab,ab,ab}', 999983) AS not_joined;
SELECT hash_features('{a,NULL}', 8);
SELECT hash_features('{a}', 0);
SELECT hash_features('{a}', 2000000);
SELECT hash_features('{a}', 8, 0);

-- By hand: sums of the one feature 1, 2, 3 with outcomes 1, 2, 4, in rollouts of 1, 2 and 1 steps. Means 2 and 7/3;
-- w = (sum of (z - 2)(R - 7/3)) / (sum of (z - 2)^2 + 3 lambda) = 3 / (2 + 3 lambda), b = 7/3 - 2 w.
CREATE TABLE hand (r int, x real, outcome float8);
INSERT INTO hand VALUES (1, 1, 1), (2, 0.5, 2), (2, 1.5, 2), (3, 3, 4);
SELECT lambda, near(((m).weights)[1], 3 / (2 + 3 * lambda), 1e-14) AS w, near((m).intercept, 7 / 3.0 - 2 * 3 / (2 + 3 * lambda), 1e-14) AS b
FROM (VALUES (0::float8), (1 / 3.0)) l(lambda), LATERAL (SELECT progress_fit(r, ARRAY[x], outcome, lambda) AS m FROM hand) f ORDER BY 1;
-- With lambda 1/3, w = 1 and b = 1/3: outcomes 4/3, 7/3, 10/3, so errors 1/9 + 1/9 + 4/9 over 3; total 14/3
CREATE TABLE hand_model AS SELECT progress_fit(r, ARRAY[x], outcome, 1 / 3.0) AS m FROM hand;
SELECT r, round(progress_predict(m, ARRAY[x])::numeric, 9) AS contribution, round(progress_outcome(m, sum(progress_predict(m, ARRAY[x])) OVER (PARTITION BY r))::numeric, 9) AS outcome
FROM hand, hand_model ORDER BY r, x;
SELECT near(avg((p - outcome) ^ 2), 2 / 9.0) AS mse, near(1 - avg((p - outcome) ^ 2) / var_pop(outcome), 1 - (6 / 9.0) / (14 / 3.0)) AS r2 FROM (
	SELECT r, progress_outcome((SELECT m FROM hand_model), sum(progress_predict(m, ARRAY[x]))) AS p, max(outcome) AS outcome FROM hand, hand_model GROUP BY r) h;

-- Exact recovery of a planted linear progress function from outcomes alone
CREATE TABLE step AS
SELECT r AS rollout_id, r % 40 AS group_id, t AS step_no,
	ARRAY(SELECT (sim.uniform(i, sim.stream(t, r)) * 2 - 1)::real FROM generate_series(1, 4) i) AS x
FROM generate_series(1, 400) r, LATERAL generate_series(1, 1 + r % 7) t;
ALTER TABLE step ADD outcome float8;
UPDATE step s SET outcome = o.outcome FROM (
	SELECT rollout_id, 0.125 + sum(0.5 * x[1] - 0.25 * x[2] + 2 * x[4]) AS outcome FROM step GROUP BY rollout_id) o
WHERE o.rollout_id = s.rollout_id;
SELECT all_near((m).weights, '{0.5,-0.25,0,2}') AS weights, near((m).intercept, 0.125) AS intercept,
	   (m).n_rollouts = 400 AS rollouts, (m).n_steps = (SELECT count(*) FROM step) AS steps
FROM (SELECT progress_fit(rollout_id, x, outcome, 0) AS m FROM step) f;

-- Any lambda, with noise, against the normal equations in plain SQL
UPDATE step SET outcome = outcome + sim.uniform(0, sim.stream(rollout_id, 5)) - 0.5;
CREATE VIEW rollout_sum AS
SELECT rollout_id, max(outcome) AS r, array[sum(x[1]::float8), sum(x[2]::float8), sum(x[3]::float8), sum(x[4]::float8), 1] AS z
FROM step GROUP BY rollout_id;
CREATE FUNCTION normal_equations(lambda float8) RETURNS float8[] LANGUAGE sql AS $$
	SELECT sim.solve(
		(SELECT array_agg(avg ORDER BY i, j) FROM (
			SELECT i, j, avg(z[i] * z[j]) + CASE WHEN i = j AND i < 5 THEN lambda ELSE 0 END AS avg
			FROM rollout_sum, generate_series(1, 5) i, generate_series(1, 5) j GROUP BY i, j) a),
		(SELECT array_agg(avg ORDER BY i) FROM (SELECT i, avg(z[i] * r) FROM rollout_sum, generate_series(1, 5) i GROUP BY i) a))
$$;
SELECT lambda, all_near((m).weights || (m).intercept, normal_equations(lambda), 1e-8) AS equal, (m).lambda = lambda AS lambda_kept
FROM (VALUES (0::float8), (0.001), (1), (1000)) l(lambda), LATERAL (SELECT progress_fit(rollout_id, x, outcome, lambda) AS m FROM step) p ORDER BY 1;
SELECT (SELECT progress_fit(rollout_id, x, outcome, 0.3) FROM step)::text = (SELECT progress_fit(rollout_id, x, outcome, 0.3, 'squared') FROM step)::text AS default_is_squared;

-- The order of rows does not change a bit, nor does an outcome on one row only
SELECT (SELECT progress_fit(rollout_id, x, outcome, 0.1 ORDER BY sim.uniform(step_no, rollout_id)) FROM step)::text
	 = (SELECT progress_fit(rollout_id, x, CASE WHEN step_no = 1 THEN outcome END, 0.1) FROM step)::text AS same_bits;
-- Rollouts that are not judged are left out
SELECT (SELECT progress_fit(rollout_id, x, CASE WHEN rollout_id > 100 THEN outcome END, 0.1) FROM step)::text
	 = (SELECT progress_fit(rollout_id, x, outcome, 0.1) FROM step WHERE rollout_id > 100)::text AS judged_only;
SELECT progress_fit(rollout_id, x, NULL, 0.1) IS NULL AS unjudged FROM step;
SELECT progress_fit(rollout_id, x, outcome, 0.1) IS NULL AS none FROM step WHERE false;

CREATE TABLE many AS
SELECT r AS rollout_id, ARRAY(SELECT (sim.uniform(i, sim.stream(t, r)) * 2 - 1)::real FROM generate_series(1, 12) i) AS x,
	(r % 5 < 2)::int::float8 AS outcome
FROM generate_series(1, 6) t, generate_series(1, 8) r;

-- More features than rollouts: only with ridge.  Features without rollouts, constant outcomes
SELECT progress_fit(rollout_id, x, outcome, 0) FROM step WHERE rollout_id IN (6, 13, 20);
SELECT (progress_fit(rollout_id, x, outcome, 0.01)).n_rollouts FROM step WHERE rollout_id IN (6, 13, 20);
SELECT progress_fit(rollout_id, x || 0::real, outcome, 0) FROM step;
SELECT all_near((progress_fit(rollout_id, x || 0::real, outcome, 0.01)).weights, (progress_fit(rollout_id, x, outcome, 0.01)).weights || 0::float8) AS unused FROM step;
SELECT progress_fit(rollout_id, ARRAY[x[1], x[2], -2 * x[1]]::real[], outcome, 0) FROM step;
SELECT progress_fit(rollout_id, '{1}'::real[], outcome, 0) FROM step WHERE step_no = 1;
SELECT all_near((m).weights, '{0,0,0,0}'), near((m).intercept, 3) FROM (SELECT progress_fit(rollout_id, x, 3, 0) AS m FROM step) f;
-- Too little ridge for features so large, and the one that is named
CREATE FUNCTION told(factor float8, lambda float8, OUT detail text, OUT lambda_named float8) LANGUAGE plpgsql AS $$
DECLARE hint text;
BEGIN
	PERFORM progress_fit(rollout_id, ARRAY[factor * x[1], factor * x[1]]::real[], outcome, lambda) FROM step;
EXCEPTION WHEN numeric_value_out_of_range THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	lambda_named := substring(hint FROM 'such as ([^ ,]+)')::float8;
END $$;
SELECT detail, lambda_named, (SELECT progress_fit(rollout_id, ARRAY[1e6 * x[1], 1e6 * x[1]]::real[], outcome, lambda_named) IS NOT NULL FROM step) AS answered FROM told(1e6, 1e-9);
SELECT progress_fit(r, '{1}'::real[], r, 1.7e308, 'logistic') FROM generate_series(0, 1) r;

-- Ill-conditioned: powers of 1 to 12, up to the sixth, lambda 0 and the ridge, against the solution to 80 digits by elimination with row pivoting
CREATE FUNCTION exactly(matrix numeric[], rhs numeric[]) RETURNS numeric[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	n integer := cardinality(rhs);
	a numeric[] := ARRAY(SELECT round(m, 80) FROM unnest(matrix) WITH ORDINALITY AS t(m, i) ORDER BY i);
	b numeric[] := ARRAY(SELECT round(m, 80) FROM unnest(rhs) WITH ORDINALITY AS t(m, i) ORDER BY i);
	p integer;
	f numeric;
BEGIN
	FOR k IN 1 .. n LOOP
		SELECT i INTO p FROM generate_series(k, n) i ORDER BY abs(a[(i - 1) * n + k]) DESC, i LIMIT 1;
		FOR j IN 1 .. n LOOP
			f := a[(k - 1) * n + j]; a[(k - 1) * n + j] := a[(p - 1) * n + j]; a[(p - 1) * n + j] := f;
		END LOOP;
		f := b[k]; b[k] := b[p]; b[p] := f;
		FOR i IN 1 .. n LOOP
			CONTINUE WHEN i = k;
			f := a[(i - 1) * n + k] / a[(k - 1) * n + k];
			FOR j IN k .. n LOOP
				a[(i - 1) * n + j] := a[(i - 1) * n + j] - f * a[(k - 1) * n + j];
			END LOOP;
			b[i] := b[i] - f * b[k];
		END LOOP;
	END LOOP;
	RETURN ARRAY(SELECT b[k] / a[(k - 1) * n + k] FROM generate_series(1, n) k ORDER BY k);
END $$;
CREATE FUNCTION powers(n integer, ridge numeric) RETURNS numeric[] LANGUAGE sql IMMUTABLE
RETURN exactly(
	(SELECT array_agg(m ORDER BY i, j) FROM (SELECT i, j, sum((r::numeric ^ i) * (r::numeric ^ j)) / 12 + CASE WHEN i = j AND i > 0 THEN ridge ELSE 0 END AS m
		FROM generate_series(0, n) i, generate_series(0, n) j, generate_series(1, 12) r GROUP BY i, j) a),
	(SELECT array_agg(m ORDER BY i) FROM (SELECT i, sum((r::numeric ^ i) * (r * 7 % 5)) / 12 AS m FROM generate_series(0, n) i, generate_series(1, 12) r GROUP BY i) a));
SELECT n, ridge, max(abs(w::numeric - e)) / max(abs(e)) < 1e-15 * 30::numeric ^ (2 * n - 1) AS near_exact
FROM generate_series(1, 5) n, (VALUES (0), (1)) l(ridge),
	LATERAL (SELECT progress_fit(r, ARRAY(SELECT (r ^ i)::real FROM generate_series(1, n) i ORDER BY i), r * 7 % 5, ridge) AS m FROM generate_series(1, 12) r) f,
	LATERAL unnest((m).intercept || (m).weights, powers(n, ridge)) AS t(w, e) GROUP BY n, ridge ORDER BY n, ridge;
-- Features on scales from 2^-60 to 2^60: the same answer, bit for bit
SELECT bool_and(p = q * 2::float8 ^ (15 * i - 60)) AS same_bits FROM (
	SELECT (progress_fit(rollout_id, x || x[1] * x[2], outcome, 0)).weights AS a,
		(progress_fit(rollout_id, ARRAY(SELECT (f * 2::float8 ^ (15 * i - 60))::real FROM unnest(x || x[1] * x[2]) WITH ORDINALITY AS t(f, i) ORDER BY i), outcome, 0)).weights AS b
	FROM step) f, unnest(a, b) WITH ORDINALITY AS t(p, q, i);
-- Features in another order: the same weights, in that order
SELECT max(abs(w - v)) < 1e-10 * max(abs(w)) AS same
FROM (SELECT (progress_fit(rollout_id, x, outcome, 0)).weights AS a, (progress_fit(rollout_id, x[3:4] || x[1:2], outcome, 0)).weights AS b FROM step) f, unnest(a, b[3:4] || b[1:2]) AS t(w, v);
-- Fewer rollouts than features: with ridge Z'(Z Z' + n lambda I)^-1 R of what is centered, the solution in the space of the rollouts
WITH z AS (SELECT rollout_id AS r, i, sum(f) - avg(sum(f)) OVER (PARTITION BY i) AS z, max(outcome) - avg(max(outcome)) OVER (PARTITION BY i) AS y
	FROM many, unnest(x::float8[]) WITH ORDINALITY AS t(f, i) GROUP BY 1, 2),
kernel AS (SELECT a.r AS a, b.r AS b, sum(a.z * b.z) + CASE WHEN a.r = b.r THEN 8 * 0.1 ELSE 0 END AS k FROM z a JOIN z b USING (i) GROUP BY 1, 2),
dual AS (SELECT sim.solve((SELECT array_agg(k ORDER BY a, b) FROM kernel), (SELECT array_agg(y ORDER BY r) FROM z WHERE i = 1)) AS alpha),
primal AS (SELECT array_agg(w ORDER BY i) AS w FROM (SELECT i, sum(z * alpha[r]) AS w FROM z, dual GROUP BY i) p)
SELECT max(abs(a - b)) < 1e-12 AS equal
FROM primal, unnest(w, (SELECT (progress_fit(rollout_id, x, outcome, 0.1)).weights FROM many)) AS t(a, b);

-- 1 of 4 succeed
CREATE TABLE rare AS SELECT rollout_id, x, (rollout_id % 4 = 0)::int::float8 AS outcome FROM step WHERE rollout_id <= 200;
-- Logistic against Newton's method in plain SQL: gradient and Hessian of the mean cross-entropy + lambda |w|^2
CREATE VIEW rare_rollout AS SELECT rollout_id, max(outcome) AS y, array[sum(x[1]::float8), sum(x[2]::float8), sum(x[3]::float8), sum(x[4]::float8), 1] AS z FROM rare GROUP BY 1;
CREATE FUNCTION newton(lambda float8) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE
	w float8[] := '{0,0,0,0,0}';
	step float8[];
BEGIN
	FOR k IN 1 .. 30 LOOP
		WITH p AS (SELECT z, y, 1 / (1 + exp(-(SELECT sum(z[i] * w[i]) FROM generate_series(1, 5) i))) AS p FROM rare_rollout),
		h AS (SELECT i, j, avg(p * (1 - p) * z[i] * z[j]) + CASE WHEN i = j AND i < 5 THEN 2 * lambda ELSE 0 END AS h FROM p, generate_series(1, 5) i, generate_series(1, 5) j GROUP BY i, j),
		g AS (SELECT i, avg((y - p) * z[i]) - CASE WHEN i < 5 THEN 2 * lambda * w[i] ELSE 0 END AS g FROM p, generate_series(1, 5) i GROUP BY i)
		SELECT sim.solve((SELECT array_agg(h ORDER BY i, j) FROM h), (SELECT array_agg(g ORDER BY i) FROM g)) INTO step;
		w := ARRAY(SELECT w[i] + step[i] FROM generate_series(1, 5) i);
	END LOOP;
	RETURN w;
END $$;
SELECT lambda, all_near((m).weights || (m).intercept, newton(lambda)) AS equal
FROM (VALUES (0::float8), (0.01), (1)) l(lambda), LATERAL (SELECT progress_fit(rollout_id, x, outcome, lambda, 'logistic') AS m FROM rare) f ORDER BY 1;
-- What it makes of a rollout is a probability; its contributions are log-odds
CREATE TABLE odds AS SELECT progress_fit(rollout_id, x, outcome, 0.01, 'logistic') AS m FROM rare;
SELECT bool_and(near(progress_outcome(m, total), 1 / (1 + exp(-(m).intercept - total)))) AS probability, progress_outcome(m, 800) AS sure, progress_outcome(m, -800) < 1e-300 AS never
FROM odds, (SELECT sum(progress_predict(m, x)) AS total FROM rare, odds GROUP BY rollout_id) t GROUP BY progress_outcome(m, 800), progress_outcome(m, -800);
-- Probabilities as outcomes; all one half: nothing to explain
SELECT bool_and(abs(w) < 1e-12) AS nothing FROM (SELECT progress_fit(rollout_id, x, 0.5, 0.01, 'logistic') AS m FROM rare) f, unnest((m).weights) w;
SELECT progress_fit(rollout_id, x, 1, 0.01, 'logistic') FROM rare;
SELECT progress_fit(rollout_id, x, 1.5, 0.01, 'logistic') FROM rare;
\set VERBOSITY terse
SELECT progress_fit(r, ARRAY[r - 5.5]::real[], (r > 5)::int, 0, 'logistic') FROM generate_series(1, 10) r;
\set VERBOSITY default
SELECT progress_fit(rollout_id, x, outcome, 0.1, 'absolute') FROM rare;
SELECT progress_fit(rollout_id, x, outcome, 0.1, NULL) FROM rare;

-- Bad input
SELECT progress_fit(rollout_id, x, 1, 1) FROM (VALUES (1, '{1,2}'::real[]), (2, '{1,2,3}')) v(rollout_id, x);
SELECT progress_fit(7, NULL::real[], 1, 1);
SELECT progress_fit(NULL, '{1}'::real[], 1, 1);
SELECT progress_fit(7, '{1,NULL}'::real[], 1, 1);
SELECT progress_fit(7, '{1,NaN}'::real[], 1, 1);
SELECT progress_fit(7, '{1,2,3,-Infinity}'::real[], 1, 1);
SELECT progress_fit(7, '{}'::real[], 1, 1);
SELECT progress_fit(7, '{{1,2},{3,4}}'::real[], 1, 1);
SELECT progress_fit(7, '{1}'::real[], 'NaN', 1);
SELECT progress_fit(7, '{1}'::real[], 'Infinity', 1);
SELECT progress_fit(7, '{1}'::real[], o, 1) FROM (VALUES (0), (0), (1)) v(o);
SELECT progress_fit(r, '{1e30}'::real[], 1e300, 1) FROM generate_series(1, 2) r;
SELECT progress_fit(r, ARRAY[r * 1e-37]::real[], r * 1e300, 0) FROM generate_series(0, 1) r;
SELECT progress_fit(7, '{1}'::real[], 1, -1);
SELECT progress_fit(7, '{1}'::real[], 1, 'NaN');
SELECT progress_fit(7, '{1}'::real[], 1, NULL);
SELECT progress_fit(i, '{1}'::real[], 1, i) FROM generate_series(1, 2) i;

-- Models as rows: by their columns, and as text, which loses nothing
CREATE TABLE model AS SELECT progress_fit(rollout_id, x, outcome, 0.3) AS m FROM step;
SELECT m::text::progress_model = m AS same, (m).loss, (m).lambda, (m).indices FROM model;
SELECT progress_fit(1, '{1,2}'::real[], 0, 1);
SELECT (m).loss, (m).indices, (m).weights[1] < 0 AS first FROM (SELECT progress_fit(r, ARRAY[3, 7], ARRAY[r, -1]::real[], r % 2, 1, 'logistic') AS m FROM generate_series(1, 2) r) f;
-- An invalid model is an error, whoever made it
SELECT progress_predict(ROW('cubic', 0, 0, '{1}', '{}', 1, 1), '{1}'::real[]);
SELECT progress_predict(ROW(NULL, 0, 0, '{1}', '{}', 1, 1), '{1}'::real[]);
SELECT progress_predict(ROW('squared', 0, NULL, '{1}', '{}', 1, 1), '{1}'::real[]);
SELECT progress_predict(ROW('squared', 0, 0, NULL, '{}', 1, 1), '{1}'::real[]);
SELECT progress_predict(ROW('squared', 0, 0, '{}', '{}', 1, 1), '{1}'::real[]);
SELECT progress_predict(ROW('squared', 0, 0, '{1,NULL}', '{}', 1, 1), '{1,1}'::real[]);
SELECT progress_predict(ROW('squared', 0, 0, '{{1},{2}}', '{}', 1, 1), '{1,1}'::real[]);
SELECT progress_predict(ROW('squared', 0, 0, '{1,2}', '{1}', 1, 1), '{1}', '{1}');
SELECT progress_predict(ROW('squared', 0, 0, '{1}', NULL, 1, 1), '{1}'::real[]);
SELECT progress_outcome(ROW('logistic', 0, 0, '{1,2}', '{1,NULL}', 1, 1), 1);
-- Weights by hand: entries that are not read can be NULL
SELECT progress_predict(ROW('squared', NULL, 0, '{1,2}', '{5,9}', NULL, NULL), '{5,8,9}', '{10,10,10}') AS "30", progress_outcome(ROW('squared', NULL, 0.5, '{1}', '{}', NULL, NULL), 1) AS "1.5";

-- Prediction
SELECT bool_and(near(progress_predict(m, x), w[1] * x[1] + w[2] * x[2] + w[3] * x[3] + w[4] * x[4])) AS predicted FROM step, model, LATERAL (SELECT (m).weights AS w) p;
SELECT progress_predict(NULL, '{1}') IS NULL AND progress_predict(m, NULL) IS NULL AND progress_outcome(m, NULL) IS NULL AND progress_outcome(NULL, 1) IS NULL AS nulls FROM model;
SELECT progress_predict(m, '{1,2,3}') FROM model;
SELECT progress_predict(m, '{1,2,NULL,4}') FROM model;
SELECT progress_predict(m, '{1,2,NaN,4}') FROM model;
SELECT progress_predict(ROW('squared', 0, 0, '{0}', '{}', 1, 1), '{Infinity}');
SELECT progress_predict(ROW('squared', 0, 0, '{1e308}', '{}', 1, 1), '{1e3}');
-- Models out of line, one after the other
CREATE TABLE big_model AS
SELECT k, ROW('squared', 0, k, ARRAY(SELECT sim.uniform(i, k) FROM generate_series(1, 3000) i ORDER BY i), '{}', 1, 1)::progress_model AS m
FROM generate_series(1, 3) k;
SELECT bool_and(near(progress_outcome(m, progress_predict(m, array_fill(t::real, ARRAY[3000]))), k + t * (SELECT sum(sim.uniform(i, k)) FROM generate_series(1, 3000) i)))
FROM generate_series(1, 4) t, big_model;

-- Folds are of groups, of about equal size, and differ by seed
SELECT min(n) > 1800 AND max(n) < 2200 AS even, count(*) FROM (SELECT count(*) AS n FROM generate_series(1, 10000) g GROUP BY progress_fold(g)) f;
SELECT count(*) BETWEEN 1800 AND 2200 AS independent FROM generate_series(1, 10000) g WHERE progress_fold(g) = progress_fold(g, seed => 2);
SELECT progress_fold(1, 1), progress_fold(NULL) IS NULL;
SELECT progress_fold(1, 0);
-- A model of the other folds, judged on this one
SELECT f, 1 - avg((p - outcome) ^ 2) / var_pop(outcome) > 0.9 AND count(*) BETWEEN 20 AND 160 AS held_out FROM generate_series(0, 4) f, LATERAL (
	SELECT rollout_id, max(outcome) AS outcome, sum(progress_predict(m, x)) AS p
	FROM step, (SELECT progress_fit(rollout_id, x, outcome, 0.001) FILTER (WHERE progress_fold(group_id) <> f) AS m FROM step) t WHERE progress_fold(group_id) = f GROUP BY rollout_id) p GROUP BY f ORDER BY f;

-- Rewards: spa_fused, the released script's constant (spa_release_loo) and placement (spa_code_position_weight)
SELECT array_agg(near(fused_reward(c, g), fused)), array_agg(near(fused_reward(c, g) * (2 - i), code)) FROM (VALUES
	(0, 0.1, true, 0.6, 1.2), (1, 0.3, false, 0.3, 0.3), (2, 0.2, true, 0.7, 0)) v(i, c, g, fused, code);
SELECT fused_reward(2, true, alpha => 3, beta => -1), fused_reward(2, false, 3, -1), fused_reward(NULL, true), fused_reward(1, NULL);
SELECT fused_reward('NaN', true);
SELECT fused_reward(1, true, 'Infinity');
SELECT a.rollout_id, a.advantage FROM (SELECT rollout_agg(r, r, 0, NULL, NULL, reward) AS g FROM (VALUES (1, 1.0), (2, 0.0), (3, 0.5)) v(r, reward)) t, rloo(g) a ORDER BY 1;

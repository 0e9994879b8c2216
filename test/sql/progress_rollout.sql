-- The intercept of a rollout: what no step explains, outside of the contributions; losses
\set ECHO none
\i test/sim/simulator.sql
\set ECHO all
SET jit = off;
CREATE SCHEMA progress_rollout_test;
SET search_path = progress_rollout_test, stepadv;
SET extra_float_digits = 1;

CREATE FUNCTION near(a float8, b float8, tolerance float8 DEFAULT 1e-9) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN a IS NOT NULL AND abs(a - b) <= tolerance * greatest(1, abs(b));
CREATE FUNCTION weights(model progress_model) RETURNS float8[] LANGUAGE sql IMMUTABLE
RETURN (SELECT array_agg(w::float8 ORDER BY i) FROM jsonb_array_elements_text(model::text::jsonb -> 'weights') WITH ORDINALITY AS t(w, i));
CREATE FUNCTION intercept(model progress_model) RETURNS float8 LANGUAGE sql IMMUTABLE RETURN (model::text::jsonb ->> 'intercept')::float8;
CREATE FUNCTION all_near(a float8[], b float8[], tolerance float8 DEFAULT 1e-9) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN cardinality(a) = cardinality(b) AND (SELECT bool_and(near(x, y, tolerance)) FROM unnest(a, b) AS t(x, y));

-- By hand: sums of the one feature 1, 2, 3 with outcomes 1, 2, 4, in rollouts of 1, 2 and 1 steps.
-- Means 2 and 7/3; w = (sum of (z - 2)(R - 7/3)) / (sum of (z - 2)^2 + 3 lambda) = 3 / (2 + 3 lambda), b = 7/3 - 2 w.
CREATE TABLE hand (r int, x real, outcome float8);
INSERT INTO hand VALUES (1, 1, 1), (2, 0.5, 2), (2, 1.5, 2), (3, 3, 4);
SELECT lambda, near((weights(m))[1], 3 / (2 + 3 * lambda), 1e-14) AS w, near(intercept(m), 7 / 3.0 - 2 * 3 / (2 + 3 * lambda), 1e-14) AS b
FROM (VALUES (0::float8), (1 / 3.0)) l(lambda), LATERAL (SELECT progress_fit(r, ARRAY[x], outcome, lambda) AS m FROM hand) f ORDER BY 1;
-- Out of the contributions, in what a rollout is judged by, in the residual; redistributed shares add up to all of the outcome
CREATE TABLE hand_model AS SELECT progress_fit(r, ARRAY[x], outcome, 1 / 3.0) AS m FROM hand;
SELECT r, round(progress_predict(m, ARRAY[x])::numeric, 9) AS contribution, round(progress_attribution(m, ARRAY[x], outcome) OVER w::numeric, 9) AS attribution,
	round(progress_residual(m, ARRAY[x], outcome) OVER w::numeric, 9) AS residual, round(progress_attribution(m, ARRAY[x], outcome, true) OVER w::numeric, 9) AS redistributed
FROM hand, hand_model WINDOW w AS (PARTITION BY r ORDER BY x) ORDER BY r, x;
-- Errors by hand: b + w z = 4/3, 7/3, 10/3, so 1/9 + 1/9 + 4/9 over 3; total 14/3
SELECT near((q).mse, 2 / 9.0) AS mse, near((q).r2, 1 - (6 / 9.0) / (14 / 3.0)) AS r2 FROM (SELECT progress_quality(m, r, ARRAY[x], outcome) AS q FROM hand, hand_model) t;

-- Any lambda against the normal equations in plain SQL
CREATE TABLE step AS
SELECT r AS rollout_id, r % 40 AS group_id, t AS step_no, ARRAY(SELECT (sim.uniform(i, sim.stream(t, r)) * 2 - 1)::real FROM generate_series(1, 4) i) AS x
FROM generate_series(1, 300) r, LATERAL generate_series(1, 1 + r % 7) t;
ALTER TABLE step ADD outcome float8;
UPDATE step s SET outcome = o.outcome FROM (
	SELECT rollout_id, 0.3 + sum(0.5 * x[1] - 0.25 * x[2] + 2 * x[4]) + sim.uniform(0, sim.stream(rollout_id, 5)) - 0.5 AS outcome FROM step GROUP BY rollout_id) o
WHERE o.rollout_id = s.rollout_id;
CREATE VIEW rollout AS
SELECT rollout_id, max(outcome) AS r, array[sum(x[1]::float8), sum(x[2]::float8), sum(x[3]::float8), sum(x[4]::float8), 1] AS z FROM step GROUP BY rollout_id;
CREATE FUNCTION normal_equations(lambda float8) RETURNS float8[] LANGUAGE sql AS $$
	SELECT sim.solve(
		(SELECT array_agg(avg ORDER BY i, j) FROM (SELECT i, j, avg(z[i] * z[j]) + CASE WHEN i = j AND i < 5 THEN lambda ELSE 0 END AS avg
			FROM rollout, generate_series(1, 5) i, generate_series(1, 5) j GROUP BY i, j) a),
		(SELECT array_agg(avg ORDER BY i) FROM (SELECT i, avg(z[i] * r) FROM rollout, generate_series(1, 5) i GROUP BY i) a))
$$;
CREATE TABLE fitted AS SELECT progress_statistics(rollout_id, x, outcome) AS s FROM step;
SELECT lambda, all_near(weights(m) || intercept(m), normal_equations(lambda), 1e-9) AS equal, m = progress_solve(s, lambda, 'rollout') AS default_is_rollout,
	m = (SELECT progress_fit(rollout_id, x, outcome, lambda) FROM step) AS fit, m = (SELECT progress_fit(rollout_id, x, outcome, lambda, 'rollout', 'squared') FROM step) AS in_full, m::text::progress_model = m AS text
FROM fitted, (VALUES (0::float8), (0.001), (1), (1000)) l(lambda), LATERAL (SELECT progress_solve(s, lambda) AS m) p ORDER BY 1;
-- The other intercepts are said in version 1
SELECT progress_solve(s, 0.1, 'step')::text ~ '"version": 1' AS of_version_1 FROM fitted;
-- Statistics merge; those of version 1 know no such intercept, nor do sums with them
SELECT all_near(weights(m) || intercept(m), normal_equations(0.1)) AS merged FROM (SELECT progress_solve(rollup(s), 0.1) AS m FROM (SELECT progress_statistics(rollout_id, x, outcome) AS s FROM step GROUP BY group_id) g) t;
CREATE VIEW old AS SELECT jsonb_set(s::text::jsonb - 'sums', '{version}', '1')::text::progress_statistics AS s FROM fitted;
SELECT progress_solve(s, 0.1) FROM old;
SELECT weights(progress_solve(o.s, 0.1, 'step')) = weights(progress_solve(f.s, 0.1, 'step')) AS step FROM old o, fitted f;
SELECT progress_solve(rollup(s), 0.1) FROM (SELECT s FROM old UNION ALL SELECT s FROM fitted) t;
SELECT near(intercept(progress_solve(rollup(t.s), 0.1, 'step')), intercept(progress_solve((SELECT s FROM fitted), 0.1, 'step'))) AS step FROM (SELECT s FROM old UNION ALL SELECT s FROM fitted) t;
-- Cross-validation against fits fold by fold
SELECT count(*), bool_and(near((v.held_out).mse, (q.q).mse) AND near((v.held_out).r2, (q.q).r2)) AS equal
FROM (SELECT v.* FROM (SELECT progress_cross_validate(rollout_id, x, outcome, group_id, '{0.01, 10}') AS a FROM step) t, unnest(a) v) v,
	LATERAL (SELECT progress_fit(rollout_id, x, outcome, v.lambda) AS m FROM step WHERE progress_fold(group_id) <> v.fold) m,
	LATERAL (SELECT progress_quality(m, rollout_id, x, outcome) AS q FROM step WHERE progress_fold(group_id) = v.fold) q;

-- 1 of 4 succeed
CREATE TABLE rare AS SELECT rollout_id, x, (rollout_id % 4 = 0)::int::float8 AS outcome FROM step WHERE rollout_id <= 200;
-- Logistic against Newton's method in plain SQL: gradient and Hessian of the mean cross-entropy + lambda |w|^2
CREATE VIEW rare_rollout AS SELECT rollout_id, max(outcome) AS y, array[sum(x[1]::float8), sum(x[2]::float8), sum(x[3]::float8), sum(x[4]::float8), 1] AS z, count(*) AS t FROM rare GROUP BY 1;
CREATE FUNCTION newton(lambda float8, kind text) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE
	w float8[] := '{0,0,0,0,0}';
	d int := CASE kind WHEN 'none' THEN 4 ELSE 5 END;
	step float8[];
BEGIN
	FOR k IN 1 .. 30 LOOP
		WITH row AS (SELECT CASE kind WHEN 'step' THEN z[1:4] || t::float8 ELSE z END AS z, y FROM rare_rollout),
		p AS (SELECT z, y, 1 / (1 + exp(-(SELECT sum(z[i] * w[i]) FROM generate_series(1, d) i))) AS p FROM row),
		h AS (SELECT i, j, avg(p * (1 - p) * z[i] * z[j]) + CASE WHEN i = j AND i < 5 THEN 2 * lambda ELSE 0 END AS h FROM p, generate_series(1, d) i, generate_series(1, d) j GROUP BY i, j),
		g AS (SELECT i, avg((y - p) * z[i]) - CASE WHEN i < 5 THEN 2 * lambda * w[i] ELSE 0 END AS g FROM p, generate_series(1, d) i GROUP BY i)
		SELECT sim.solve((SELECT array_agg(h ORDER BY i, j) FROM h), (SELECT array_agg(g ORDER BY i) FROM g)) INTO step;
		w := ARRAY(SELECT w[i] + coalesce(step[i], 0) FROM generate_series(1, 5) i);
	END LOOP;
	RETURN w[1:d];
END $$;
SELECT kind, lambda, all_near(weights(m) || intercept(m), newton(lambda, kind)) OR kind = 'none' AND all_near(weights(m), newton(lambda, kind)) AS equal
FROM (VALUES ('rollout'), ('step'), ('none')) k(kind), (VALUES (0::float8), (0.01), (1)) l(lambda),
	LATERAL (SELECT progress_fit(rollout_id, x, outcome, lambda, kind, 'logistic') AS m FROM rare) f ORDER BY 1, 2;
-- What it makes of a rollout is a probability; its contributions are log-odds
CREATE TABLE odds AS SELECT progress_fit(rollout_id, x, outcome, 0.01, 'rollout', 'logistic') AS m FROM rare;
SELECT near((q).mse, (SELECT avg((1 / (1 + exp(-p)) - y) ^ 2) FROM (SELECT intercept(m) + sum(progress_predict(m, x)) AS p, max(outcome) AS y FROM rare, odds GROUP BY rollout_id, intercept(m)) r)) AS mse
FROM (SELECT progress_quality(m, rollout_id, x, outcome) AS q FROM rare, odds) t;
SELECT bool_and(near(residual, outcome - 1 / (1 + exp(-intercept - total)))) AS residual FROM (
	SELECT outcome, intercept(m) AS intercept, progress_residual(m, x, outcome) OVER w AS residual, sum(progress_predict(m, x)) OVER w AS total FROM rare, odds WINDOW w AS (PARTITION BY rollout_id)) t;
SELECT progress_attribution(m, x, outcome, true) OVER (PARTITION BY rollout_id) FROM rare, odds;
-- Probabilities as outcomes; all one half: nothing to explain
SELECT bool_and(abs(w) < 1e-12) AS nothing FROM (SELECT progress_fit(rollout_id, x, 0.5, 0.01, 'rollout', 'logistic') AS m FROM rare) f, unnest(weights(m)) w;
SELECT progress_fit(rollout_id, x, 1, 0.01, 'rollout', 'logistic') FROM rare;
SELECT progress_fit(rollout_id, x, 1.5, 0.01, 'rollout', 'logistic') FROM rare;
\set VERBOSITY terse
SELECT progress_fit(r, ARRAY[r - 5.5]::real[], (r > 5)::int, 0, 'rollout', 'logistic') FROM generate_series(1, 10) r;
\set VERBOSITY default
SELECT progress_fit(rollout_id, x, outcome, 0.1, 'both') FROM rare;
SELECT progress_fit(rollout_id, x, outcome, 0.1, 'step', 'absolute') FROM rare;
SELECT progress_fit(rollout_id, x, outcome, 0.1, NULL, 'squared') FROM rare;
SELECT progress_solve(s, 0.1, 'both') FROM fitted;

-- Forms: what version 2 says, and what is no such model
SELECT m::text::progress_model = m AS text FROM odds;
CREATE TABLE copied (m progress_model);
SELECT '{"version": 2, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 1, "intercept_of": "step", "loss": "squared", "weights": [1]}'::progress_model;
SELECT '{"version": 2, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": null, "intercept_of": "rollout", "loss": "squared", "weights": [1]}'::progress_model;
SELECT '{"version": 2, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 1, "intercept_of": "group", "loss": "squared", "weights": [1]}'::progress_model;
SELECT '{"version": 2, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 1, "intercept_of": "rollout", "loss": "absolute", "weights": [1]}'::progress_model;
SELECT '{"version": 3, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 1, "weights": [1]}'::progress_model;
SELECT '{"version": 2, "kind": "sparse", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": null, "intercept_of": null, "loss": "squared", "weights": [1, 2], "places": [2, 1]}'::progress_model;
SELECT '{"version": 1, "kind": "sparse", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": null, "weights": [1], "places": [1]}'::progress_model;
CREATE FUNCTION received(bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('COPY (SELECT %L::bytea) TO %L (FORMAT binary)', bytes, current_setting('data_directory') || '/progress_rollout.bin');
	EXECUTE format('COPY copied (m) FROM %L (FORMAT binary)', current_setting('data_directory') || '/progress_rollout.bin');
	RETURN 'read';
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE;
END $$;
SELECT n, array_agg(received(set_byte(stepadv_internal.progress_model_send(m), n, byte)) ORDER BY byte) AS bytes
FROM odds, generate_series(0, 3) n, unnest('{0, 1, 2, 3, 4, 5, 7, 8, 13, 15, 16}'::int[]) byte GROUP BY n ORDER BY n;

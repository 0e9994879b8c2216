-- progress_fit_mlp: one hidden layer, trained by Adam
\set ECHO none
\i test/sim/simulator.sql
\set ECHO all
SET jit = off;
SET client_min_messages = warning;
CREATE SCHEMA progress_mlp_test;
SET search_path = progress_mlp_test, stepadv;

CREATE FUNCTION near(a float8, b float8, tolerance float8 DEFAULT 1e-9) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN a IS NOT NULL AND abs(a - b) <= tolerance * greatest(1, abs(b));
-- All parameters: hidden weights, hidden bias, weights, intercept
CREATE FUNCTION theta(model progress_model) RETURNS float8[] LANGUAGE sql IMMUTABLE
RETURN (SELECT array_agg(w::float8 ORDER BY k, i) FROM
	(VALUES (1, 'hidden_weights'), (2, 'hidden_bias'), (3, 'weights')) n(k, name),
	jsonb_array_elements_text(model::text::jsonb -> name) WITH ORDINALITY AS t(w, i)) || (model::text::jsonb ->> 'intercept')::float8;
CREATE FUNCTION all_near(a float8[], b float8[], tolerance float8) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN cardinality(a) = cardinality(b) AND (SELECT bool_and(near(x, y, tolerance)) FROM unnest(a, b) AS t(x, y));

CREATE TABLE step AS
SELECT r AS rollout_id, t AS step_no, (r * 7 % 5)::float8 / 4 AS outcome,
	ARRAY(SELECT (sim.uniform(i, sim.stream(t, r)) * 2 - 1)::real FROM generate_series(1, 3) i) AS x
FROM generate_series(1, 12) r, LATERAL generate_series(1, 1 + r % 4) t;

-- The model in plain SQL: 3 features, 2 units
CREATE FUNCTION contribution(theta float8[], x real[]) RETURNS float8 LANGUAGE sql IMMUTABLE
RETURN theta[11] + theta[9] * greatest(0, theta[1] * x[1] + theta[2] * x[2] + theta[3] * x[3] + theta[7])
	+ theta[10] * greatest(0, theta[4] * x[1] + theta[5] * x[2] + theta[6] * x[3] + theta[8]);
CREATE FUNCTION loss(theta float8[], lambda float8) RETURNS float8 LANGUAGE sql AS $$
	SELECT avg((c - outcome) ^ 2) + lambda * (SELECT sum(w ^ 2) FROM unnest(theta[1:6] || theta[9:10]) w)
	FROM (SELECT sum(contribution(theta, x)) AS c, max(outcome) AS outcome FROM step GROUP BY rollout_id) r
$$;
-- Adam from the untrained model, its gradients finite differences of that loss
CREATE FUNCTION adam(theta float8[], lambda float8, rate float8, epochs integer) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE
	m float8[] := array_fill(0::float8, ARRAY[11]);
	v float8[] := m;
	g float8[];
	up float8[];
	down float8[];
	h float8 := 1e-6;
BEGIN
	FOR t IN 1 .. epochs LOOP
		g := m;
		FOR i IN 1 .. 11 LOOP
			up := theta; up[i] := up[i] + h;
			down := theta; down[i] := down[i] - h;
			g[i] := (loss(up, lambda) - loss(down, lambda)) / (2 * h);
		END LOOP;
		FOR i IN 1 .. 11 LOOP
			m[i] := 0.9 * m[i] + 0.1 * g[i];
			v[i] := 0.999 * v[i] + 0.001 * g[i] ^ 2;
			theta[i] := theta[i] - rate * (m[i] / (1 - 0.9 ^ t)) / (sqrt(v[i] / (1 - 0.999 ^ t)) + 1e-8);
		END LOOP;
	END LOOP;
	RETURN theta;
END $$;
CREATE TABLE untrained AS SELECT progress_fit_mlp(rollout_id, x, outcome, 2, 0, 0.02, 12, 0.1, 7) AS m FROM step;
SELECT epochs, all_near(theta(f.m), adam(theta(u.m), 0.1, 0.02, epochs), 1e-6) AS equal, theta(f.m) <> theta(u.m) AS moved
FROM untrained u, (VALUES (1), (2), (10)) e(epochs),
	LATERAL (SELECT progress_fit_mlp(rollout_id, x, outcome, 2, epochs, 0.02, 12, 0.1, 7) AS m FROM step) f ORDER BY 1;
SELECT bool_and(near(progress_predict(m, x), contribution(theta(m), x))) AS predicted, count(DISTINCT progress_predict(m, x)) > 10 AS varied FROM step, untrained;
-- Where the weights start: as wide as sqrt(6 / inputs), bias 0
SELECT max(abs(w)) FILTER (WHERE i <= 6) <= sqrt(2) AS hidden, max(abs(w)) FILTER (WHERE i IN (9, 10)) <= sqrt(3) AS output,
	   bool_and(w = 0) FILTER (WHERE i IN (7, 8, 11)) AS bias
FROM untrained, unnest(theta(m)) WITH ORDINALITY AS t(w, i);

-- The same seed gives the same bytes, in whatever order the rows come; another seed others
CREATE TABLE trained AS SELECT progress_fit_mlp(rollout_id, x, outcome, 4, 20, 0.01, 5, 0.001, 1) AS m FROM step;
SELECT m = (SELECT progress_fit_mlp(rollout_id, x, outcome, 4, 20, 0.01, 5, 0.001, 1 ORDER BY sim.uniform(step_no, rollout_id)) FROM step) AS order_free,
	   m = (SELECT progress_fit_mlp(rollout_id, x, CASE WHEN step_no = 1 THEN outcome END, 4, 20, 0.01, 5, 0.001, 1) FROM step) AS outcome_once,
	   m <> (SELECT progress_fit_mlp(rollout_id, x, outcome, 4, 20, 0.01, 5, 0.001, 2) FROM step) AS seeded,
	   m::text::progress_model = m AS text FROM trained;
-- Rollouts that are not judged are left out
SELECT (SELECT progress_fit_mlp(rollout_id, x, CASE WHEN rollout_id > 4 THEN outcome END, 4, 5, 0.01, 5, 0.001, 1) FROM step)
	 = (SELECT progress_fit_mlp(rollout_id, x, outcome, 4, 5, 0.01, 5, 0.001, 1) FROM step WHERE rollout_id > 4) AS judged_only;
SELECT progress_fit_mlp(rollout_id, x, NULL) IS NULL AS unjudged FROM step;
SELECT progress_fit_mlp(rollout_id, x, outcome) IS NULL AS none FROM step WHERE false;

-- Progress that is not linear: two features that matter only together
CREATE TABLE curved AS
SELECT r AS rollout_id, ARRAY[a, b]::real[] AS x, CASE WHEN a * b > 0 THEN 1 ELSE 0 END AS c
FROM generate_series(1, 600) r, generate_series(1, 3) t,
	LATERAL (SELECT sign(sim.uniform(1, sim.stream(t, r)) - 0.5) AS a, sign(sim.uniform(2, sim.stream(t, r)) - 0.5) AS b) s;
ALTER TABLE curved ADD outcome float8;
UPDATE curved c SET outcome = s.outcome FROM (SELECT rollout_id, sum(c) AS outcome FROM curved GROUP BY rollout_id) s WHERE s.rollout_id = c.rollout_id;
CREATE TABLE curved_model AS
SELECT progress_fit_mlp(rollout_id, x, outcome, 8, 60, 0.02, 32, 0, 3) AS mlp, progress_fit(rollout_id, x, outcome, 0.0001) AS linear FROM curved;
SELECT (progress_quality(rollout_id, progress_predict(mlp, x), outcome)).r2 > 0.99 AS mlp,
	   (progress_quality(rollout_id, progress_predict(linear, x), outcome)).r2 < 0.1 AS linear,
	   max(abs(progress_predict(mlp, x) - c)) < 0.05 AS recovered FROM curved, curved_model;
SELECT bool_and(shared = outcome) AS redistributed FROM (
	SELECT outcome, sum(a ORDER BY n) AS shared FROM (
		SELECT rollout_id, outcome, row_number() OVER w AS n, progress_attribution(mlp, x, outcome, true) OVER w AS a
		FROM curved, curved_model WINDOW w AS (PARTITION BY rollout_id ORDER BY x)) t GROUP BY rollout_id, outcome) s;

-- Without parameters: on top of the linear fit, where that is better on groups held out
CREATE TABLE on_top AS SELECT progress_fit_mlp(rollout_id, x, outcome) AS m FROM curved;
SELECT (progress_quality(m, rollout_id, x, outcome)).r2 > 0.99 AS better, max(abs(progress_predict(m, x) - progress_predict(m, ARRAY[x[2], x[1]]))) < 0.1 AS symmetric FROM curved, on_top;
SELECT m::text::progress_model = m AS text, m::text::jsonb - '{hidden_weights,hidden_bias,weights,linear_weights,intercept}'::text[] AS said,
	m = (SELECT progress_fit_mlp(rollout_id, x, outcome ORDER BY sim.uniform(1, rollout_id)) FROM curved) AS order_free,
	m = (SELECT progress_fit_mlp(rollout_id, x, outcome, rollout_id) FROM curved) AS own_groups FROM on_top;
-- The contribution by hand: linear, and rectifiers on top; the intercept is the rollout's
SELECT progress_predict('{"version": 2, "kind": "mlp", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0.5, "intercept_of": "rollout", "loss": "squared", "hidden_weights": [1, 2, -1, -2], "hidden_bias": [0, 1], "weights": [3, 5], "linear_weights": [10, 100]}', '{1,1}') AS c,
	(progress_quality('{"version": 2, "kind": "mlp", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0.5, "intercept_of": "rollout", "loss": "squared", "hidden_weights": [1, 2, -1, -2], "hidden_bias": [0, 1], "weights": [3, 5], "linear_weights": [10, 100]}', 1, '{1,1}', 120)).mse AS squared;
SELECT '{"version": 2, "kind": "mlp", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0.5, "intercept_of": "step", "loss": "squared", "hidden_weights": [1], "hidden_bias": [0], "weights": [3], "linear_weights": [10]}'::progress_model;
-- With few groups, and where all is noise, it is the linear fit, to the byte
SELECT kind, bool_and(m = l) AS linear, count(*) FROM (
	SELECT kind, seed, progress_fit_mlp(r, x, outcome, g) AS m, progress_fit(r, x, outcome, 0.01) AS l FROM (
		SELECT kind, seed, r, g, x, sum(CASE kind WHEN 'noise' THEN (t = 1)::int * sim.uniform(9, sim.stream(r, seed)) ELSE x[1] - x[2] * x[3] END) OVER (PARTITION BY kind, seed, r) AS outcome
		FROM (VALUES ('few', 3, 8), ('noise', 30, 8)) k(kind, groups, size), generate_series(1, 5) seed, LATERAL generate_series(1, groups) g, LATERAL generate_series(g * 100, g * 100 + size - 1) r,
			generate_series(1, 3) t, LATERAL (SELECT ARRAY(SELECT (sim.uniform(i, sim.stream(t, sim.stream(r, seed))) * 2 - 1)::real FROM generate_series(1, 3) i) AS x) f) s
	GROUP BY kind, seed) f GROUP BY kind ORDER BY kind;
-- On groups that neither saw it is never worse than the linear fit
SELECT count(*), bool_and(mlp <= linear * (1 + 1e-9)) AS never_worse, count(*) FILTER (WHERE mlp < linear) AS better FROM (
	SELECT seed, curve, (progress_quality(m, r, x, outcome)).mse AS mlp, (progress_quality(l, r, x, outcome)).mse AS linear FROM (
		SELECT seed, curve, progress_fit_mlp(r, x, outcome, g) FILTER (WHERE g <= 30) OVER w AS m, progress_fit(r, x, outcome, 0.01) FILTER (WHERE g <= 30) OVER w AS l, r, g, x, outcome FROM (
			SELECT seed, curve, r, g, x, sum(x[1] + curve * x[2] * x[3]) OVER (PARTITION BY seed, curve, r) + sim.uniform(5, sim.stream(r, seed)) * 0.3 AS outcome
			FROM generate_series(1, 4) seed, unnest('{0, 2}'::float8[]) curve, generate_series(1, 45) g, LATERAL generate_series(g * 100, g * 100 + 7) r, generate_series(1, 3) t,
				LATERAL (SELECT ARRAY(SELECT (sim.uniform(i, sim.stream(t, sim.stream(r, seed))) * 2 - 1)::real FROM generate_series(1, 3) i) AS x) f) s
		WINDOW w AS (PARTITION BY seed, curve)) f
	WHERE g > 30 GROUP BY seed, curve) q;
SELECT progress_fit_mlp(7, '{1}', 1, NULL::bigint);
SELECT progress_fit_mlp(7, '{1}', 1, g) FROM generate_series(1, 2) g;
SET client_min_messages = notice;
SELECT progress_fit_mlp(rollout_id, x, outcome) IS NOT NULL AS told FROM step;
SET client_min_messages = warning;

-- It says how far it is
SET client_min_messages = notice;
SELECT progress_fit_mlp(r, '{0}', 2, 1, 3, 0, 1, 0, 0) IS NOT NULL AS rate_0 FROM generate_series(1, 2) r;
SET client_min_messages = warning;

-- Bad input
\set VERBOSITY terse
SELECT progress_fit_mlp(rollout_id, x, outcome, 4, 50, 1000, 1, 0, 1) FROM step;
SELECT progress_fit_mlp(rollout_id, x, outcome * 1e200) FROM step;
\set VERBOSITY default
SELECT progress_fit_mlp(7, NULL::real[], 1);
SELECT progress_fit_mlp(NULL, '{1}', 1);
SELECT progress_fit_mlp(7, '{1,NaN}', 1);
SELECT progress_fit_mlp(7, '{1}', 'Infinity');
SELECT progress_fit_mlp(7, '{1}', o) FROM (VALUES (0), (1)) v(o);
SELECT progress_fit_mlp(r, f::real[], 1) FROM (VALUES (1, '{1,2}'), (2, '{1}')) v(r, f);
SELECT progress_fit_mlp(7, '{1}', 1, 0, 1, 0.1, 1, 0, 0);
SELECT progress_fit_mlp(7, '{1}', 1, 1, -1, 0.1, 1, 0, 0);
SELECT progress_fit_mlp(7, '{1}', 1, 1, 1, 'NaN', 1, 0, 0);
SELECT progress_fit_mlp(7, '{1}', 1, 1, 1, 0.1, 0, 0, 0);
SELECT progress_fit_mlp(7, '{1}', 1, 1, 1, 0.1, 1, -1, 0);
SELECT progress_fit_mlp(7, '{1}', 1, 1, 1, 0.1, 1, 0, NULL);
SELECT progress_fit_mlp(i, '{1}', 1, 1, 1, 0.1, 1, 0, i) FROM generate_series(1, 2) i;
SELECT progress_fit_mlp(7, array_fill(1::real, ARRAY[4000]), 1, 65536, 1, 0.1, 1, 0, 0);
SELECT progress_predict(m, '{1}') FROM trained;
SELECT progress_predict(m, '{1,2,NaN}') FROM trained;
SELECT '{"version": 1, "kind": "mlp", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": null, "hidden_weights": [1, 2], "hidden_bias": [0], "weights": [1]}'::progress_model;
SELECT '{"version": 1, "kind": "mlp", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0, "hidden_weights": [1, 2, 3], "hidden_bias": [0, 0], "weights": [1, 1]}'::progress_model;
SELECT '{"version": 1, "kind": "mlp", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0, "hidden_weights": [1, 2], "hidden_bias": [0], "weights": []}'::progress_model;
SELECT '{"version": 1, "kind": "mlp", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0, "weights": [1]}'::progress_model;
SELECT progress_predict('{"version": 1, "kind": "mlp", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0.5, "hidden_weights": [1, 2, -1, -2], "hidden_bias": [0, 1], "weights": [3, 5]}', '{1,1}');

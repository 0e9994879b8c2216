-- Sparse features: indices and weights, the same as dense ones
\i test/sim/simulator.sql
SET jit = off;
CREATE SCHEMA progress_sparse_test;
SET search_path = progress_sparse_test, stepadv;
SET extra_float_digits = 1;

CREATE FUNCTION near(a float8, b float8, tolerance float8 DEFAULT 1e-9) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN a IS NOT DISTINCT FROM b OR abs(a - b) <= tolerance * greatest(1, abs(b));
-- Weights by place, and the intercept as place 0
CREATE FUNCTION by_place(model progress_model) RETURNS TABLE (place int, w float8) LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
	SELECT coalesce((model).indices[i], i::int), w FROM unnest((model).weights) WITH ORDINALITY AS t(w, i)
	UNION ALL SELECT 0, (model).intercept;
END;
CREATE FUNCTION same_model(a progress_model, b progress_model, tolerance float8 DEFAULT 1e-9) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN (SELECT bool_and(near(coalesce(x.w, 0), coalesce(y.w, 0), tolerance)) AND count(x.w) > 1 FROM by_place(a) x FULL JOIN by_place(b) y USING (place));
CREATE FUNCTION indices(x real[]) RETURNS int[] LANGUAGE sql IMMUTABLE RETURN ARRAY(SELECT i::int FROM unnest(x) WITH ORDINALITY AS t(f, i) WHERE f <> 0 ORDER BY i);
CREATE FUNCTION weights(x real[]) RETURNS real[] LANGUAGE sql IMMUTABLE RETURN ARRAY(SELECT f FROM unnest(x) WITH ORDINALITY AS t(f, i) WHERE f <> 0 ORDER BY i);

-- Hashing: what is not 0 of the same vector
SELECT bool_and(h.indices = indices(d) AND h.weights = weights(d)) AS same, count(*), max(cardinality(h.indices)) AS most
FROM (SELECT ARRAY(SELECT 'a' || (i * r) % 40 FROM generate_series(1, r % 9) i) AS atoms, dim, n FROM generate_series(1, 60) r, (VALUES (7), (64), (1000)) d(dim), generate_series(1, 3) n) a,
	hash_features(atoms, dim, n) d, hash_features_sparse(atoms, dim, n) h;
SELECT * FROM hash_features_sparse('{}');
SELECT * FROM hash_features_sparse('{a,b,a}');
SELECT hash_features_sparse(NULL) IS NULL;
SELECT * FROM hash_features_sparse('{a,NULL}');
SELECT * FROM hash_features_sparse('{a}', 0);

CREATE TABLE step AS
SELECT r AS rollout_id, r % 40 AS group_id, t AS step_no, hash_features(ARRAY['k' || (r * t) % 23, 'm' || (r + t * t) % 31, 'n' || t], 90, 2) AS x,
	(sim.uniform(0, r) < 0.3 + 0.4 * ((r % 23) % 2))::int::float8 AS outcome
FROM generate_series(1, 400) r, LATERAL generate_series(1, 1 + r % 5) t;
ALTER TABLE step ADD indices int[], ADD weights real[];
UPDATE step SET indices = indices(x), weights = weights(x);
-- The same fit, for any lambda and loss
SELECT loss, bool_and(same_model(s, d)) AS equal
FROM (VALUES ('squared'), ('logistic')) l(loss), (VALUES (0.001::float8), (0.1), (10)) v(lambda),
	LATERAL (SELECT progress_fit(rollout_id, indices, weights, outcome, lambda, loss) AS s, progress_fit(rollout_id, x, outcome, lambda, loss) AS d FROM step) f GROUP BY 1 ORDER BY 1;
CREATE TABLE model AS SELECT progress_fit(rollout_id, indices, weights, outcome, 0.01) AS s, progress_fit(rollout_id, x, outcome, 0.01) AS d FROM step;
SELECT s::text = (SELECT progress_fit(rollout_id, indices, weights, outcome, 0.01, 'squared') FROM step)::text AS default_is_squared, s::text::progress_model::text = s::text AS text,
	(s).n_rollouts = 400 AND (s).n_steps = (SELECT count(*) FROM step) AS counted FROM model;
-- Each model of either form of features
SELECT bool_and(near(progress_predict(s, indices, weights), progress_predict(d, x)) AND near(progress_predict(d, indices, weights), progress_predict(d, x), 1e-14)) AS predicted FROM step, model;
SELECT progress_predict(s, x) FROM step, model LIMIT 1;
-- An index that no rollout of the fit had weighs nothing; beyond those of a dense model it is an error
SELECT progress_predict(s, '{16777216}', '{5}') AS unseen, progress_predict(s, '{}', '{}') AS none, progress_predict(s, NULL, '{}') IS NULL AND progress_predict(NULL, '{}', '{}') IS NULL AS nulls FROM model;
SELECT progress_predict(d, '{91}', '{1}') FROM model;
-- No order of rows changes a bit, nor an outcome on one row only; unjudged rollouts are left out, with their indices
SELECT s::text = (SELECT progress_fit(rollout_id, indices, weights, outcome, 0.01 ORDER BY sim.uniform(step_no, rollout_id)) FROM step)::text AS order_free,
	s::text = (SELECT progress_fit(rollout_id, indices, weights, CASE WHEN step_no = 1 THEN outcome END, 0.01) FROM step)::text AS outcome_once FROM model;
SELECT (SELECT progress_fit(rollout_id, indices, weights, CASE WHEN rollout_id > 100 THEN outcome END, 0.1) FROM (SELECT * FROM step UNION ALL SELECT 7, 7, 9, NULL, NULL, '{99999}', '{1}') s)::text
	 = (SELECT progress_fit(rollout_id, indices, weights, outcome, 0.1) FROM step WHERE rollout_id > 100)::text AS judged_only;
SELECT progress_fit(rollout_id, indices, weights, NULL, 0.1) IS NULL AS unjudged, (SELECT progress_fit(rollout_id, indices, weights, outcome, 0.1) IS NULL FROM step WHERE false) AS none FROM step;

-- Too many indices for products: conjugate gradients.  Long rollouts, whose sums are compacted on the way
CREATE TABLE wide AS
SELECT r AS rollout_id, t AS step_no, h.indices, h.weights, sim.uniform(0, r) AS outcome
FROM generate_series(1, 250) r, LATERAL generate_series(1, 1 + r % 40) t,
	hash_features_sparse(ARRAY(SELECT 'w' || floor(sim.uniform(i, sim.stream(t, r)) * 6000) FROM generate_series(1, 12) i), 1600) h;
SELECT count(DISTINCT p) > 1500 AS by_gradients FROM wide, unnest(indices) p;
CREATE TABLE z AS SELECT rollout_id, place, sum(w) AS z FROM wide, unnest(indices, weights) AS t(place, w) GROUP BY 1, 2;
CREATE TABLE y AS SELECT rollout_id, count(*) AS steps, max(outcome) AS y FROM wide GROUP BY 1;
-- The minimum is unique: the derivatives by all weights and by the intercept are 0
SELECT loss, max(abs(d)) < 1e-8 AS at_the_minimum, count(*) > 1500 AS weights
FROM (VALUES ('squared'), ('logistic')) k(loss),
	LATERAL (SELECT progress_fit(rollout_id, indices, weights, outcome, 0.05, loss) AS m FROM wide) f, LATERAL (
	WITH w AS MATERIALIZED (SELECT * FROM by_place(m)),
	p AS (SELECT rollout_id, y, sum(z * w) + (SELECT w FROM w WHERE place = 0) AS p FROM y JOIN z USING (rollout_id) JOIN w USING (place) GROUP BY rollout_id, y),
	e AS MATERIALIZED (SELECT rollout_id, CASE loss WHEN 'squared' THEN p - y ELSE 1 / (1 + exp(-p)) - y END AS e FROM p)
	SELECT sum(e * z) / 250 + min(w) * 0.05 * CASE loss WHEN 'squared' THEN 1 ELSE 2 END AS d FROM e JOIN z USING (rollout_id) JOIN w USING (place) GROUP BY place
	UNION ALL SELECT avg(e) FROM e) d GROUP BY loss ORDER BY 1;
SELECT progress_fit(rollout_id, indices, weights, outcome, 0) FROM wide;

-- More entries than are buffered before they are added up, twice; adjacent indices, and distant ones.  The same weights as of sums in SQL, which are exact
CREATE TABLE long AS
SELECT r AS rollout_id, p.indices, p.scattered, array_fill((1 + t % 3)::real, '{12}') AS weights, sim.uniform(1, r) AS outcome
FROM (SELECT k, array_agg(1 + k + 25 * i ORDER BY i) AS indices, array_agg((1 + k + 25 * i) * 50000 ORDER BY i) AS scattered FROM generate_series(0, 24) k, generate_series(0, 11) i GROUP BY k) p,
	(SELECT t, r, floor(sim.uniform(t, r) * 25)::int AS k FROM generate_series(1, 1000) t, generate_series(1, 60) r OFFSET 0) s WHERE s.k = p.k;
CREATE TABLE long_sum AS SELECT rollout_id, outcome, array_agg(place ORDER BY place) AS indices, array_agg(50000 * place ORDER BY place) AS scattered, array_agg(w ORDER BY place) AS weights
FROM (SELECT rollout_id, outcome, place, sum(w)::real AS w FROM long, unnest(indices, weights) AS t(place, w) GROUP BY 1, 2, 3) s GROUP BY 1, 2;
SELECT (SELECT sum(cardinality(indices)) > 700000 FROM long) AS long, same_model(l, s, 0) AS same, same_model(l_scattered, s_scattered, 0) AS same_scattered,
	(SELECT bool_and(x.w = y.w) AND count(x.w) = 301 FROM by_place(l) x FULL JOIN by_place(l_scattered) y ON y.place = x.place * 50000) AS both
FROM (SELECT progress_fit(rollout_id, indices, weights, outcome, 0.1) AS l, progress_fit(rollout_id, scattered, weights, outcome, 0.1) AS l_scattered FROM long) l,
	(SELECT progress_fit(rollout_id, indices, weights, outcome, 0.1) AS s, progress_fit(rollout_id, scattered, weights, outcome, 0.1) AS s_scattered FROM long_sum) s;

-- Bad input
SELECT progress_fit(7, '{1,2}', '{1}', 1, 0.1);
SELECT progress_fit(7, '{-3}', '{1}', 1, 0.1);
SELECT progress_fit(7, '{0,1}', '{1,1}', 1, 0.1);
SELECT progress_fit(7, '{16777217}', '{1}', 1, 0.1);
SELECT progress_fit(7, '{5,3}', '{1,1}', 1, 0.1);
SELECT progress_fit(7, '{5,5}', '{1,1}', 1, 0.1);
SELECT progress_fit(7, '{5}', '{NaN}', 1, 0.1);
SELECT progress_fit(7, '{5,6}', '{1,-Infinity}', 1, 0.1);
SELECT progress_fit(7, '{5,NULL}', '{1,1}', 1, 0.1);
SELECT progress_fit(7, '{{5},{6}}', '{1,1}', 1, 0.1);
SELECT progress_fit(7, NULL::int[], '{1}', 1, 0.1);
SELECT progress_fit(7, '{1}', NULL, 1, 0.1);
SELECT progress_fit(7, '{1}'::int[], '{1}', 'NaN', 0.1);
SELECT progress_fit(NULL, '{1}'::int[], '{1}', 1, 0.1);
SELECT progress_fit(7, '{}'::int[], '{}', 1, 0.1);
SELECT progress_fit(7, '{1}'::int[], '{1}', o, 0.1) FROM (VALUES (0), (1)) v(o);
SELECT progress_fit(7, '{3}'::int[], '{1}', 1, 0, 'squared');
SELECT progress_predict(s, '{2,1}', '{1,1}') FROM model;
SELECT progress_fit(i, '{1}'::int[], '{1}', 1, i) FROM generate_series(1, 2) i;

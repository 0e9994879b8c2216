-- SPA: features, linear fit, prediction, attribution, quality, rewards
\set ECHO none
\i test/sim/simulator.sql
\set ECHO all
SET jit = off;
CREATE SCHEMA progress_test;
SET search_path = progress_test, stepadv;
SET extra_float_digits = 1;

CREATE FUNCTION near(a float8, b float8, tolerance float8 DEFAULT 1e-9) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN a IS NOT NULL AND abs(a - b) <= tolerance * greatest(1, abs(b));
CREATE FUNCTION weights(model progress_model) RETURNS float8[] LANGUAGE sql IMMUTABLE
RETURN (SELECT array_agg(w::float8 ORDER BY i) FROM jsonb_array_elements_text(model::text::jsonb -> 'weights') WITH ORDINALITY AS t(w, i));
CREATE FUNCTION member(model progress_model, name text) RETURNS float8 LANGUAGE sql IMMUTABLE
RETURN (model::text::jsonb ->> name)::float8;
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
-- Signs are fair and places are all used
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

-- Exact recovery of a planted linear progress function from outcomes alone
CREATE TABLE step AS
SELECT r AS rollout_id, r % 40 AS group_id, t AS step_no,
	ARRAY(SELECT (sim.uniform(i, sim.stream(t, r)) * 2 - 1)::real FROM generate_series(1, 4) i) AS x
FROM generate_series(1, 400) r, LATERAL generate_series(1, 1 + r % 7) t;
ALTER TABLE step ADD outcome float8;
UPDATE step s SET outcome = o.outcome FROM (
	SELECT rollout_id, sum(0.5 * x[1] - 0.25 * x[2] + 2 * x[4] + 0.125) AS outcome FROM step GROUP BY rollout_id) o
WHERE o.rollout_id = s.rollout_id;
SELECT all_near(weights(m), '{0.5,-0.25,0,2}') AS weights, near(member(m, 'intercept'), 0.125) AS intercept,
	   member(m, 'rollouts') = 400 AS rollouts, member(m, 'steps') = (SELECT count(*) FROM step) AS steps
FROM (SELECT progress_fit(rollout_id, x, outcome, 0, 'step') AS m FROM step) f;

-- Any lambda, with noise, against the normal equations in plain SQL
UPDATE step SET outcome = outcome + sim.uniform(0, sim.stream(rollout_id, 5)) - 0.5;
CREATE VIEW rollout_sum AS
SELECT rollout_id, max(outcome) AS r, count(*)::float8 AS t, array[sum(x[1]::float8), sum(x[2]::float8), sum(x[3]::float8), sum(x[4]::float8), count(*)] AS z
FROM step GROUP BY rollout_id;
CREATE FUNCTION normal_equations(lambda float8, d integer) RETURNS float8[] LANGUAGE sql AS $$
	SELECT sim.solve(
		(SELECT array_agg(avg ORDER BY i, j) FROM (
			SELECT i, j, avg(z[i] * z[j]) + CASE WHEN i = j AND i < 5 THEN lambda ELSE 0 END AS avg
			FROM rollout_sum, generate_series(1, d) i, generate_series(1, d) j GROUP BY i, j) a),
		(SELECT array_agg(avg ORDER BY i) FROM (SELECT i, avg(z[i] * r) FROM rollout_sum, generate_series(1, d) i GROUP BY i) a))
$$;
CREATE TABLE fitted AS SELECT progress_statistics(rollout_id, x, outcome) AS s FROM step;
SELECT lambda, all_near(weights(m) || member(m, 'intercept'), normal_equations(lambda, 5), 1e-8) AS equal,
	   all_near(weights(progress_solve(s, lambda, intercept => 'none')), normal_equations(lambda, 4), 1e-8) AS equal_without,
	   member(m, 'lambda') = lambda AS lambda_kept
FROM fitted, (VALUES (0::float8), (0.001), (1), (1000)) l(lambda), LATERAL (SELECT progress_solve(s, lambda, 'step') AS m) p;
SELECT progress_solve(s, 0.3) = (SELECT progress_fit(rollout_id, x, outcome, 0.3) FROM step) AS fit,
	   progress_solve(s, 0.3, 'none') = (SELECT progress_fit(rollout_id, x, outcome, 0.3, 'none') FROM step) AS without,
	   progress_solve(s, 0.3) <> progress_solve(s, 0.4) AS differs,
	   progress_solve(s, 0.3, 'none')::text LIKE '%"intercept": null%' AS none
FROM fitted;

-- The order of rows does not change a bit, nor does an outcome on one row only
SELECT (SELECT progress_fit(rollout_id, x, outcome, 0.1 ORDER BY sim.uniform(step_no, rollout_id)) FROM step)
	 = (SELECT progress_fit(rollout_id, x, CASE WHEN step_no = 1 THEN outcome END, 0.1) FROM step) AS same_bits;
-- Rollouts that are not judged are left out
SELECT (SELECT progress_fit(rollout_id, x, CASE WHEN rollout_id > 100 THEN outcome END, 0.1) FROM step)
	 = (SELECT progress_fit(rollout_id, x, outcome, 0.1) FROM step WHERE rollout_id > 100) AS judged_only;
SELECT progress_fit(rollout_id, x, NULL, 0.1) IS NULL AS unjudged, progress_statistics(rollout_id, x, NULL) IS NULL AS s FROM step;
SELECT progress_fit(rollout_id, x, outcome, 0.1) IS NULL AS none FROM step WHERE false;
-- Statistics add up
SELECT all_near(weights(progress_solve(rollup(s), 0.1)), (SELECT weights(progress_solve(s, 0.1)) FROM fitted), 1e-12)
	   AND member(progress_solve(rollup(s), 0.1), 'rollouts') = 400 AS merged
FROM (SELECT progress_statistics(rollout_id, x, outcome) AS s FROM step GROUP BY group_id) g;
SELECT rollup(s) IS NULL FROM (VALUES (NULL::progress_statistics)) n(s);
-- Merging changes no stored value
SELECT (SELECT count(*) FROM fitted, (SELECT rollup(f.s) AS r FROM fitted f, generate_series(1, 3)) m
		WHERE (m.r::text::jsonb ->> 'rollouts')::int = 1200 AND (s::text::jsonb ->> 'rollouts')::int = 400) AS kept,
	   stepadv_internal.progress_statistics_merge(s, s)::text <> s::text AND (s::text::jsonb ->> 'rollouts')::int = 400 AS not_in_place FROM fitted;

-- In parallel, steps of a rollout in several workers
CREATE TABLE many AS
SELECT r AS rollout_id, ARRAY(SELECT (sim.uniform(i, sim.stream(t, r)) * 2 - 1)::real FROM generate_series(1, 12) i) AS x,
	(r % 5 < 2)::int::float8 AS outcome
FROM generate_series(1, 6) t, generate_series(1, 3000) r;
ALTER TABLE many SET (parallel_workers = 2);
ANALYZE many;
CREATE FUNCTION plan_is_partial(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text; partial boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP partial := partial OR line LIKE '%Partial Aggregate%'; END LOOP;
	RETURN partial;
END $$;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE serial AS SELECT progress_fit(rollout_id, x, outcome, 0.01) AS m, progress_quality(rollout_id, x[1], outcome) AS q FROM many;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT plan_is_partial('SELECT progress_fit(rollout_id, x, outcome, 0.01) FROM many') AS partial;
SELECT all_near(weights(m), (SELECT weights(m) FROM serial)) AS equal, m = (SELECT m FROM serial) AS same_bits
FROM (SELECT progress_fit(rollout_id, x, outcome, 0.01) AS m FROM many) p;
SELECT near((q).mse, (SELECT (q).mse FROM serial)) AND near((q).rank_correlation, (SELECT (q).rank_correlation FROM serial), 1e-6) AS equal
FROM (SELECT progress_quality(rollout_id, x[1], outcome) AS q FROM many) p;
SELECT progress_fit(rollout_id, x, outcome, 0.01) IS NULL AS none FROM many WHERE rollout_id < 0;
SELECT plan_is_partial('SELECT rollup(s) FROM (SELECT progress_statistics(rollout_id, x, outcome) AS s FROM many) t') AS fits_below;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- More features than rollouts: only with ridge.  Features nobody has, constant outcomes
SELECT progress_solve(progress_statistics(rollout_id, x, outcome), 0, 'step') FROM step WHERE rollout_id IN (6, 13, 20);
SELECT bool_and(near(z[3], 1.269 * z[1] - 0.2801 * z[2] + 0.1181 * z[5], 1e-3)) AS depends FROM rollout_sum WHERE rollout_id IN (6, 13, 20);
SELECT member(progress_fit(rollout_id, x, outcome, 0.01), 'rollouts') FROM step WHERE rollout_id IN (6, 13, 20);
SELECT progress_fit(rollout_id, x || 0::real, outcome, 0, 'step') FROM step;
SELECT all_near(weights(progress_fit(rollout_id, x || 0::real, outcome, 0.01)), weights(progress_fit(rollout_id, x, outcome, 0.01)) || 0::float8) AS unused FROM step;
SELECT progress_fit(rollout_id, ARRAY[x[1], x[2], -2 * x[1]]::real[], outcome, 0, 'step') FROM step;
SELECT progress_fit(rollout_id, '{1}'::real[], outcome, 0, 'step') FROM step;
SELECT all_near(weights(m), '{0,0,0,0}'), near(member(m, 'intercept'), 1.5) FROM (
	SELECT progress_fit(rollout_id, x, 3, 0, 'step') AS m FROM step s WHERE step_no < 3 AND rollout_id % 7 > 0) f;
SELECT bool_and(abs(w) < 1e-12), near(member(m, 'intercept'), 0) FROM (SELECT progress_fit(rollout_id, x, 0, 0) AS m FROM step) f, unnest(weights(m)) w GROUP BY member(m, 'intercept');

-- Bad input
SELECT progress_statistics(rollout_id, x, 1) FROM (VALUES (1, '{1,2}'::real[]), (2, '{1,2,3}')) v(rollout_id, x);
SELECT progress_statistics(7, NULL::real[], 1);
SELECT progress_statistics(NULL, '{1}', 1);
SELECT progress_statistics(7, '{1,NULL}', 1);
SELECT progress_statistics(7, '{1,NaN}', 1);
SELECT progress_statistics(7, '{1,2,3,-Infinity}', 1);
SELECT progress_statistics(7, '{}', 1);
SELECT progress_statistics(7, '{{1,2},{3,4}}', 1);
SELECT progress_statistics(7, '{1}', 'NaN');
SELECT progress_statistics(7, '{1}', 'Infinity');
SELECT progress_statistics(7, '{1}', o) FROM (VALUES (0), (0), (1)) v(o);
SELECT progress_statistics(r, '{1}', 1e200) FROM generate_series(1, 2) r;
SELECT progress_fit(7, '{1}', 1, -1);
SELECT progress_fit(7, '{1}', 1, 'NaN');
SELECT progress_fit(7, '{1}', 1, NULL);
SELECT progress_fit(7, '{1}', 1, 1, NULL);
SELECT progress_fit(i, '{1}', 1, i) FROM generate_series(1, 2) i;
SELECT progress_solve(s, -1) FROM fitted;
SELECT progress_solve(s, NULL) FROM fitted;
SELECT progress_solve(NULL, 1) IS NULL;
SELECT rollup(s) FROM (SELECT progress_statistics(1, f, 1) AS s FROM (VALUES ('{1}'::real[]), ('{1,2}')) v(f) GROUP BY f) t;
SELECT progress_statistics(1, array_fill(1::real, ARRAY[20000]), 1);

-- Text and binary forms
CREATE TABLE model AS SELECT progress_solve(s, 0.3, 'step') AS m, s FROM fitted;
SELECT m::text::progress_model = m AS text, s::text::progress_statistics::text = s::text AS statistics FROM model;
SELECT progress_fit(1, '{1,2}', 0, 1, 'none');
SELECT progress_statistics(r, ARRAY[r, -1], r) FROM generate_series(1, 2) r;
CREATE TABLE copied (m progress_model, s progress_statistics);
SELECT '{"version": 1, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 1e-300, "weights": [-5e-324, 1.7976931348623157e308]}'::progress_model;
CREATE FUNCTION parsed(form text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN form::progress_model::text;
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE;
END $$;
CREATE FUNCTION read_as(form text, type text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE again text;
BEGIN
	EXECUTE format('SELECT %L::%I::text', form, type) INTO again;
	RETURN CASE WHEN again::jsonb = form::jsonb THEN 'read' ELSE 'another: ' || again END;
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE;
END $$;
SELECT parsed(''), parsed('{'), parsed('{"version"}'), parsed(repeat('[', 100000)), parsed('{"kind": ' || repeat('{"kind": ', 100000));
SELECT '[]'::progress_model;
SELECT '{}'::progress_model;
SELECT '{"version": 2, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0, "weights": [1]}'::progress_model;
SELECT '{"version": 1, "kind": "linear", "rollouts": 0, "steps": 1, "lambda": 0, "intercept": 0, "weights": [1]}'::progress_model;
SELECT '{"version": 1, "kind": "linear", "rollouts": 1.5, "steps": 2, "lambda": 0, "intercept": 0, "weights": [1]}'::progress_model;
SELECT '{"version": 1, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": -1, "intercept": 0, "weights": [1]}'::progress_model;
SELECT '{"version": 1, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0, "weights": []}'::progress_model;
SELECT '{"version": 1, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0, "weights": [1, "a"]}'::progress_model;
SELECT '{"version": 1, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0, "weights": [[1]]}'::progress_model;
SELECT '{"version": 1, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0, "weights": 1}'::progress_model;
SELECT '{"version": 1, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0, "weights": [1], "bias": 1}'::progress_model;
SELECT '{"version": 1, "version": 1, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0, "weights": [1]}'::progress_model;
SELECT '{"version": 1, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0, "weights": [1], "w\u0065ights": [2]}'::progress_model;
SELECT '{"version": 1, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0, "weights": {"a": 1, "a": 2}}'::progress_model;
SELECT '{"version": 1, "kind": "statistics", "rollouts": 1, "steps": 1, "outcome_sum": 0, "outcome_square_sum": 0, "products": [1, 1], "gram": [1, 1, 1], "gram": [1, 1, 1]}'::progress_statistics;
-- Each member left out, given twice, renamed, or with something else for a value
SELECT type, what, array_agg(DISTINCT code ORDER BY code) AS codes, count(*) FROM (
	SELECT type, what, read_as(form, type) AS code
	FROM (VALUES ('progress_model', '{"version": 1, "kind": "linear", "rollouts": 3, "steps": 4, "lambda": 0.5, "intercept": -1, "weights": [0.5, 2]}'),
			('progress_statistics', '{"version": 1, "kind": "statistics", "rollouts": 1, "steps": 1, "outcome_sum": 0, "outcome_square_sum": 0, "products": [1, 1], "gram": [1, 1, 1]}')) v(type, whole),
		json_each_text(whole::json) m(key, value), LATERAL (
			SELECT CASE WHEN value ~ '^[a-z]' THEN to_json(value)::text ELSE value END AS written, (whole::jsonb - key)::text AS others) w, LATERAL (
			SELECT 'left out' AS what, others AS form
			UNION ALL SELECT 'twice', format('{%s: %s, %s', to_json(key), written, substr(whole, 2))
			UNION ALL SELECT 'renamed', format('{%s: %s, %s', to_json(key || 's'), written, substr(others, 2))
			UNION ALL SELECT 'renamed', format('{%s: %s, %s', to_json(upper(key)), written, substr(others, 2))
			UNION ALL SELECT 'another value', format('{%s: %s, %s', to_json(key), other, substr(others, 2))
				FROM unnest(ARRAY['true', '"1"', '[]', '[null]', '[[1]]', '[1, "a"]', '{}', '{"x": 1}', '-1e307', '0.3', '1e400', '-1e-400', '1e99999', '1e20']) other
			UNION ALL SELECT 'the value', format('{%s: %s, %s', to_json(key), written, substr(others, 2))) f) t
GROUP BY 1, 2 ORDER BY 1, 2;
SELECT '{"version": 1, "kind": "statistics", "rollouts": 1, "steps": 1, "outcome_sum": 0, "outcome_square_sum": 0, "products": [1, 1], "gram": [1, 1]}'::progress_statistics;
SELECT '{"version": 1, "kind": "statistics", "rollouts": 1, "steps": 1, "outcome_sum": 0, "outcome_square_sum": 0, "products": [1, 1], "gram": [1, 1, -1]}'::progress_statistics;
SELECT '{"version": 1, "kind": "statistics", "rollouts": 1, "steps": 1, "outcome_sum": 0, "outcome_square_sum": 0, "products": [1], "gram": [1]}'::progress_statistics;
-- Every prefix, and every byte of the header changed: an error or a value, never a crash
CREATE FUNCTION received(bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('COPY (SELECT %L::bytea) TO %L (FORMAT binary)', bytes, current_setting('data_directory') || '/progress.bin');
	EXECUTE format('COPY copied (m) FROM %L (FORMAT binary)', current_setting('data_directory') || '/progress.bin');
	RETURN 'read';
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE;
END $$;
SELECT received(stepadv_internal.progress_model_send(m)) AS whole, array_agg(DISTINCT received(substr(stepadv_internal.progress_model_send(m), 1, n))) AS prefixes
FROM model, generate_series(0, octet_length(stepadv_internal.progress_model_send(m)) - 1) n GROUP BY 1;
SELECT bool_and(copied.m = model.m) AS lossless FROM copied, model;
SELECT n, array_agg(DISTINCT received(set_byte(stepadv_internal.progress_model_send(m), n, (get_byte(stepadv_internal.progress_model_send(m), n) + 1) % 256)))
FROM model, generate_series(0, 11) n GROUP BY n ORDER BY n;
SELECT received(set_byte(set_byte(stepadv_internal.progress_model_send(m), 34, 240), 35, 127)) AS infinite, received(stepadv_internal.progress_statistics_send(s)) AS other FROM model;

-- Prediction
SELECT bool_and(near(progress_predict(m, x), w[1] * x[1] + w[2] * x[2] + w[3] * x[3] + w[4] * x[4] + member(m, 'intercept'))) AS predicted
FROM step, model, LATERAL (SELECT weights(m) AS w) p;
SELECT progress_predict(NULL, '{1}') IS NULL AND progress_predict(m, NULL) IS NULL AS nulls FROM model;
SELECT progress_predict(m, '{1,2,3}') FROM model;
SELECT progress_predict(m, '{1,2,NULL,4}') FROM model;
SELECT progress_predict(m, '{1,2,NaN,4}') FROM model;
SELECT progress_predict('{"version": 1, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0, "weights": [0]}', '{Infinity}');
SELECT progress_predict('{"version": 1, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": 0, "weights": [1e308]}', '{1e3}');
-- Models out of line, one after the other
CREATE TABLE big_model AS
SELECT k, format('{"version": 1, "kind": "linear", "rollouts": 1, "steps": 1, "lambda": 0, "intercept": %s, "weights": [%s]}',
	k, (SELECT string_agg(sim.uniform(i, k)::text, ',') FROM generate_series(1, 3000) i))::progress_model AS m
FROM generate_series(1, 3) k;
SELECT bool_and(near(progress_predict(m, array_fill(t::real, ARRAY[3000])), k + t * (SELECT sum(sim.uniform(i, k)) FROM generate_series(1, 3000) i)))
FROM generate_series(1, 4) t, big_model;
SELECT bool_and(near(c, k + t * (SELECT sum(sim.uniform(i, k)) FROM generate_series(1, 3000) i)))
FROM (SELECT *, progress_attribution(m, array_fill(t::real, ARRAY[3000]), 1) OVER (PARTITION BY k) AS c FROM generate_series(1, 100) t, big_model) a;

-- Attribution: contributions, residual, and shares of it that make the sum exact
CREATE TABLE attributed AS
SELECT s.*, progress_predict(m, x) AS predicted, progress_attribution(m, x, outcome) OVER w AS contribution,
	   progress_residual(m, x, outcome) OVER w AS residual,
	   progress_attribution(m, x, outcome, redistribute => true) OVER w AS shared
FROM step s, model WINDOW w AS (PARTITION BY rollout_id ORDER BY step_no);
SELECT count(*), bool_and(contribution = predicted) AS contribution FROM attributed;
SELECT count(*), bool_and(near(residual, outcome - total, 1e-12)) AS residual, bool_and(near(shared_total, outcome, 1e-14)) AS added_up, max(abs(residual)) > 0.1 AS something
FROM (SELECT rollout_id, max(residual) AS residual, max(outcome) AS outcome, sum(contribution ORDER BY step_no) AS total, sum(shared ORDER BY step_no) AS shared_total
	  FROM attributed GROUP BY rollout_id) r;
SELECT bool_and(near(shared, contribution + residual / n, 1e-12)) AS equal_shares FROM (SELECT *, count(*) OVER (PARTITION BY rollout_id) AS n FROM attributed) a;
-- To the last bit where outcomes are judgements, also where contributions cancel
SELECT k, bool_and(total = outcome) AS exact, count(DISTINCT outcome), bool_and(m) AS about FROM (
	SELECT k, rollout_id, outcome, sum(shared ORDER BY step_no) AS total, bool_and(near(shared, contribution + residual / n, 1e-12)) AS m
	FROM (SELECT k, rollout_id, step_no, rollout_id % 2 AS outcome, count(*) OVER (PARTITION BY k, rollout_id) AS n,
			progress_attribution(m, ARRAY[x[1] * 10 ^ k, x[2], x[3], x[4]]::real[], rollout_id % 2, true) OVER w AS shared,
			progress_attribution(m, ARRAY[x[1] * 10 ^ k, x[2], x[3], x[4]]::real[], rollout_id % 2) OVER w AS contribution,
			progress_residual(m, ARRAY[x[1] * 10 ^ k, x[2], x[3], x[4]]::real[], rollout_id % 2) OVER w AS residual
		  FROM step, model, generate_series(-2, 3) k WINDOW w AS (PARTITION BY k, rollout_id ORDER BY step_no)) a
	GROUP BY k, rollout_id, outcome) t GROUP BY k ORDER BY k;
-- No outcome; no model; the frame does not matter
SELECT count(progress_attribution) AS c, count(progress_residual) AS r, count(shared) AS s, count(none) AS n FROM (
	SELECT progress_attribution(m, x, NULL) OVER w, progress_residual(m, x, NULL) OVER w, progress_attribution(m, x, NULL, true) OVER w AS shared,
		   progress_attribution(NULL, x, outcome) OVER w AS none
	FROM step, model WHERE rollout_id = 6 WINDOW w AS (PARTITION BY rollout_id)) t;
SELECT bool_and(a = b) FROM (
	SELECT progress_attribution(m, x, outcome, true) OVER (PARTITION BY rollout_id ORDER BY step_no) AS a,
		   progress_attribution(m, x, outcome, true) OVER (PARTITION BY rollout_id ORDER BY step_no ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS b
	FROM step, model) f;
SELECT progress_attribution(m, x, outcome) OVER () FROM step, model WHERE rollout_id < 3;
SELECT progress_attribution(m, CASE WHEN step_no < 3 THEN x END, outcome) OVER () FROM step, model WHERE rollout_id = 6;
SELECT progress_attribution(m, '{1,2}', outcome) OVER () FROM step, model WHERE rollout_id = 6;
SELECT progress_attribution(m, x, 'NaN') OVER () FROM step, model WHERE rollout_id = 6;
SELECT progress_attribution(m, x, outcome, NULL) OVER () FROM step, model WHERE rollout_id = 6;

-- Quality against plain SQL; the vectors' loss (spa_loss)
SELECT (q).rollouts, (q).steps, near((q).mse, 0.085) AS mse FROM (
	SELECT progress_quality(r, c, outcome) AS q FROM (VALUES (1, 0.1, 1.0), (1, 0.3, 1), (1, 0.2, 1), (2, 0.0, 0), (2, 0.1, 0)) v(r, c, outcome)) t;
WITH r AS (SELECT rollout_id, sum(contribution) AS p, max(outcome) AS y FROM attributed GROUP BY rollout_id),
ranked AS (SELECT *, rank() OVER (ORDER BY p) + (count(*) OVER (PARTITION BY p) - 1) / 2.0 AS rp,
	rank() OVER (ORDER BY y) + (count(*) OVER (PARTITION BY y) - 1) / 2.0 AS ry, ntile(10) OVER (ORDER BY p, rollout_id) AS bin FROM r),
bins AS (SELECT abs(avg(p) - avg(y)) * count(*) AS e FROM ranked GROUP BY bin)
SELECT (q).rollouts = 400 AND near((q).mse, (SELECT avg((p - y) ^ 2) FROM r)) AS mse,
	   near((q).r2, (SELECT 1 - avg((p - y) ^ 2) / var_pop(y) FROM r)) AS r2,
	   near((q).rank_correlation, (SELECT corr(rp, ry) FROM ranked)) AS rank_correlation,
	   near((q).calibration_error, (SELECT sum(e) / 400 FROM bins)) AS calibration
FROM (SELECT progress_quality(rollout_id, contribution, outcome) AS q FROM attributed) t;
-- Ties: 0 and 1 as outcomes
WITH r AS (SELECT rollout_id, sum(round(contribution)) AS p, (max(outcome) > 0)::int AS y FROM attributed GROUP BY rollout_id),
ranked AS (SELECT *, rank() OVER (ORDER BY p) + (count(*) OVER (PARTITION BY p) - 1) / 2.0 AS rp,
	rank() OVER (ORDER BY y) + (count(*) OVER (PARTITION BY y) - 1) / 2.0 AS ry FROM r)
SELECT near((q).rank_correlation, (SELECT corr(rp, ry) FROM ranked)) AS ties
FROM (SELECT progress_quality(rollout_id, round(contribution), (outcome > 0)::int) AS q FROM attributed) t;
SELECT progress_quality(r, 0, 1) FROM generate_series(1, 3) r;
SELECT progress_quality(1, 0.5, NULL), progress_quality(1, 0.5, 0.25);
-- Of a model: of what it predicts, step by step.
SELECT (a.q).rollouts = (b.q).rollouts AND abs((a.q).mse - (b.q).mse) < 1e-9 AND abs((a.q).r2 - (b.q).r2) < 1e-9 AND (a.q).r2 > 0 AS same
FROM (SELECT progress_fit(rollout_id, x, outcome, 0.01, 'step') AS m FROM many) f,
	LATERAL (SELECT progress_quality(m, rollout_id, x, outcome) AS q FROM many) a,
	LATERAL (SELECT progress_quality(rollout_id, progress_predict(m, x), outcome) AS q FROM many) b;
SELECT progress_quality(NULL, 1, '{1}', 1);
SELECT progress_quality(m, 1, '{1}', 1) FROM serial;
SELECT progress_quality(m, 1, NULL, 1) FROM serial;
SELECT progress_quality(m, NULL, '{1}', 1) FROM serial;
SELECT progress_quality(m, 3, array_fill('NaN'::real, ARRAY[(SELECT cardinality(x) FROM many LIMIT 1)]), 1) FROM serial;
SELECT progress_quality(7, NULL, 1);
SELECT progress_quality(7, 'NaN', 1);
SELECT progress_quality(7, 1, o) FROM (VALUES (1), (2)) v(o);

-- Folds are of groups, of about equal size, and differ by seed
SELECT min(n) > 1800 AND max(n) < 2200 AS even, count(*) FROM (SELECT count(*) AS n FROM generate_series(1, 10000) g GROUP BY progress_fold(g)) f;
SELECT count(*) BETWEEN 1800 AND 2200 AS independent FROM generate_series(1, 10000) g WHERE progress_fold(g) = progress_fold(g, seed => 1);
SELECT progress_fold(1, 1), progress_fold(NULL) IS NULL;
SELECT progress_fold(1, 0);
-- A model of the other folds, judged on this one
SELECT f, (q).r2 > 0.9 AND (q).rollouts BETWEEN 20 AND 160 AS held_out FROM generate_series(0, 4) f, LATERAL (
	SELECT progress_quality(rollout_id, progress_predict(m, x), outcome) FILTER (WHERE progress_fold(group_id) = f) AS q
	FROM step, (SELECT progress_fit(rollout_id, x, outcome, 0.001) FILTER (WHERE progress_fold(group_id) <> f) AS m FROM step) t) p;

-- Rewards: spa_fused, spa_mean_baseline, the released script's constant (spa_release_loo) and placement (spa_code_position_weight)
SELECT array_agg(near(fused_reward(c, g), fused)), array_agg(near(fused_reward(c, g) * (2 - i), code)) FROM (VALUES
	(0, 0.1, true, 0.6, 1.2), (1, 0.3, false, 0.3, 0.3), (2, 0.2, true, 0.7, 0)) v(i, c, g, fused, code);
SELECT fused_reward(2, true, alpha => 3, beta => -1), fused_reward(2, false, 3, -1), fused_reward(NULL, true), fused_reward(1, NULL);
SELECT fused_reward('NaN', true);
SELECT fused_reward(1, true, 'Infinity');
SELECT progress_mean(1, 4), progress_mean(NULL, 4), progress_mean(0, 3);
SELECT progress_mean(1, 0);
SELECT a.rollout_id, a.advantage FROM (SELECT rollout_agg(r, r, 0, NULL, NULL, reward) AS g FROM (VALUES (1, 1.0), (2, 0.0), (3, 0.5)) v(r, reward)) t, rloo(g) a ORDER BY 1;
SELECT min(u) BETWEEN 0 AND 0.001 AND max(u) BETWEEN 0.999 AND 1 AS range, near(avg(u), 0.5, 0.01) AND near(var_pop(u), 1 / 12.0, 0.005) AS uniform,
	   progress_random(5) = progress_random(5) AND progress_random(5) <> progress_random(5, 1) AS seeded
FROM (SELECT progress_random(i) AS u FROM generate_series(1, 10000) i) t;
SELECT abs(corr(progress_random(i), progress_random(i, 1))) < 0.05 AND abs(corr(progress_random(i), progress_random(i + 1))) < 0.05 AS independent FROM generate_series(1, 10000) i;

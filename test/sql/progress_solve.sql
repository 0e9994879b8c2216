-- progress_solve: accuracy, pivoting, and what it says where there is no answer
\set ECHO none
\i test/sim/simulator.sql
\set ECHO all
SET jit = off;
CREATE SCHEMA progress_solve_test;
SET search_path = progress_solve_test, stepadv;
SET extra_float_digits = 1;

-- Statistics of one rollout whose sums of products are the matrix; the intercept's row is of no interest
CREATE FUNCTION statistics_of(matrix numeric[], products numeric[]) RETURNS progress_statistics LANGUAGE sql IMMUTABLE
RETURN (SELECT json_build_object('version', 1, 'kind', 'statistics', 'rollouts', 1, 'steps', 1, 'outcome_sum', 0, 'outcome_square_sum', 0,
		'products', (SELECT json_agg(p ORDER BY i) FROM unnest(products || 0::numeric) WITH ORDINALITY AS t(p, i)),
		'gram', (SELECT json_agg(CASE WHEN i <= n THEN matrix[(i - 1) * n + j] WHEN i = j THEN 1 ELSE 0 END ORDER BY i, j)
			FROM generate_series(1, n + 1) i, generate_series(1, i) j))::text::progress_statistics
	FROM (SELECT cardinality(products) AS n) s);
-- The solution to 80 digits, by elimination with row pivoting
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
CREATE FUNCTION weights(model progress_model) RETURNS float8[] LANGUAGE sql IMMUTABLE
RETURN (SELECT array_agg(w::float8 ORDER BY i) FROM jsonb_array_elements_text(model::text::jsonb -> 'weights') WITH ORDINALITY AS t(w, i));
CREATE FUNCTION hilbert(n integer) RETURNS numeric[] LANGUAGE sql IMMUTABLE
RETURN (SELECT array_agg(div(5342931457063200, i + j - 1) ORDER BY i, j) FROM generate_series(1, n) i, generate_series(1, n) j);

-- Hilbert's matrices in integers, which doubles hold: the condition grows from 19 to 2e10.  The error
-- against the exact solution may be the condition's times 1e-16; the residual must always be small.
WITH matrix AS (
	SELECT n, hilbert(n) AS a, ARRAY(SELECT (i * 7 % 5 - 2)::numeric FROM generate_series(1, n) i) AS b,
		(ARRAY[19, 524, 15514, 476607, 14951058, 475367356, 15257575538])[n - 1] AS condition
	FROM generate_series(2, 8) n),
solved AS MATERIALIZED (SELECT *, exactly(a, b) AS exact, weights(progress_solve(statistics_of(a, b), 0, intercept => 'none')) AS w FROM matrix)
SELECT n, (SELECT max(abs(w.w::numeric - e.e)) / max(abs(e.e)) FROM unnest(w) WITH ORDINALITY AS w(w, i) JOIN unnest(exact) WITH ORDINALITY AS e(e, i) USING (i))
		< 10 * condition * 1.2e-16 AS near_exact,
	(SELECT max(abs(r)) FROM (SELECT sum(a[(i - 1) * n + j] * w[j]::text::numeric) - b[i] AS r FROM generate_series(1, n) i, generate_series(1, n) j GROUP BY i) r)
		< 1e-14 * a[1] * (SELECT max(abs(w::numeric)) FROM unnest(w) w) AS small_residual
FROM solved ORDER BY n;
-- As far as doubles go, and no further: a ridge of the size that is named answers
CREATE FUNCTION told(statistics progress_statistics, lambda float8, intercept text, OUT detail text, OUT lambda_named float8) LANGUAGE plpgsql AS $$
DECLARE hint text;
BEGIN
	PERFORM progress_solve(statistics, lambda, intercept);
EXCEPTION WHEN numeric_value_out_of_range THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	lambda_named := substring(hint FROM 'such as ([^ ,]+)')::float8;
END $$;
SELECT n, detail IS NOT NULL AS refused, weights(progress_solve(s, lambda_named, 'none')) IS NOT NULL AS answered
FROM generate_series(12, 14) n, LATERAL (SELECT statistics_of(hilbert(n), array_fill(1::numeric, ARRAY[n])) AS s) h, told(s, 0, 'none') ORDER BY n;
-- With ridge it is well-posed again: against the exact solution
SELECT n, max(abs(w::numeric - e)) < 1e-9 * max(abs(e)) AS near_exact
FROM generate_series(10, 14, 2) n, LATERAL (SELECT hilbert(n) AS a, array_fill(1e10, ARRAY[n]) AS b) h,
	LATERAL unnest(weights(progress_solve(statistics_of(a, b), 1e10, 'none')), exactly(
		ARRAY(SELECT a[(i - 1) * n + j] + CASE WHEN i = j THEN 1e10 ELSE 0 END FROM generate_series(1, n) i, generate_series(1, n) j ORDER BY i, j), b)) AS t(w, e)
GROUP BY n ORDER BY n;

-- Features on scales from 2^-60 to 2^60: the same answer, bit for bit
CREATE FUNCTION scaled(n integer, power integer) RETURNS progress_statistics LANGUAGE sql IMMUTABLE
RETURN (SELECT json_build_object('version', 1, 'kind', 'statistics', 'rollouts', 1, 'steps', 1, 'outcome_sum', 0, 'outcome_square_sum', 0,
	'products', (SELECT json_agg(CASE WHEN i <= n THEN (i % 3 + 1) * 2::float8 ^ (power * (i - n / 2)) ELSE 0 END ORDER BY i) FROM generate_series(1, n + 1) i),
	'gram', (SELECT json_agg(CASE WHEN i <= n THEN (1 / (i + j - 1)::float8 + (i = j)::int) * 2::float8 ^ (power * (i + j - 2 * (n / 2))) WHEN i = j THEN 1 ELSE 0 END ORDER BY i, j)
		FROM generate_series(1, n + 1) i, generate_series(1, i) j))::text::progress_statistics);
SELECT bool_and(a = b * 2::float8 ^ (15 * (i - 4))) AS same_bits
FROM unnest(weights(progress_solve(scaled(8, 0), 0, 'none')), weights(progress_solve(scaled(8, 15), 0, 'none'))) WITH ORDINALITY AS t(a, b, i);

-- Features in another order: the same weights, in that order.  Features are 1024ths, so that sums of them are exact
CREATE TABLE step AS
SELECT r AS rollout_id, ARRAY(SELECT (floor(sim.uniform(i, sim.stream(t, r)) * 2048) / 1024 - 1)::real FROM generate_series(1, 40) i) AS x, sim.uniform(0, r) AS outcome
FROM generate_series(1, 120) r, generate_series(1, 3) t;
SELECT max(abs(w - v)) < 1e-10 * max(abs(w)) AS same
FROM (SELECT weights(progress_fit(rollout_id, x, outcome, 0)) AS a, weights(progress_fit(rollout_id, x[21:40] || x[1:20], outcome, 0)) AS b FROM step) f,
	unnest(a, b[21:40] || b[1:20]) AS t(w, v);

-- Fewer rollouts than features: without ridge refused, with ridge Z'(Z Z' + n lambda I)^-1 R, the solution in the space of the rollouts
SELECT detail, lambda_named < 1e-8 AS small, weights(progress_solve(s, lambda_named, 'none')) IS NOT NULL AS answered
FROM (SELECT progress_statistics(rollout_id, x, outcome) AS s FROM step WHERE rollout_id <= 8) f, told(s, 0, 'none');
WITH z AS (SELECT rollout_id AS r, i, sum(f) AS z, max(outcome) AS y FROM step, unnest(x::float8[]) WITH ORDINALITY AS t(f, i) WHERE rollout_id <= 8 GROUP BY 1, 2),
kernel AS (SELECT a.r AS a, b.r AS b, sum(a.z * b.z) + CASE WHEN a.r = b.r THEN 8 * 0.1 ELSE 0 END AS k FROM z a JOIN z b USING (i) GROUP BY 1, 2),
dual AS (SELECT sim.solve((SELECT array_agg(k ORDER BY a, b) FROM kernel), (SELECT array_agg(y ORDER BY r) FROM z WHERE i = 1)) AS alpha),
primal AS (SELECT array_agg(w ORDER BY i) AS w FROM (SELECT i, sum(z * alpha[r]) AS w FROM z, dual GROUP BY i) p)
SELECT max(abs(a - b)) < 1e-12 AS equal
FROM primal, unnest(w, (SELECT weights(progress_fit(rollout_id, x, outcome, 0.1, 'none')) FROM step WHERE rollout_id <= 8)) AS t(a, b);

-- What depends on what
SELECT detail FROM (SELECT progress_statistics(rollout_id, x[1:3] || (3 * x[2] - x[1])::real || x[5:6], outcome) AS s FROM step) f, told(s, 0, 'step');
SELECT detail FROM (SELECT progress_statistics(rollout_id, x[1:6] || (x[1] + x[2] + x[3] + x[4] + x[5] + x[6])::real, outcome) AS s FROM step) f, told(s, 0, 'step');
SELECT detail FROM (SELECT progress_statistics(rollout_id, x[1:2] || 0::real, outcome) AS s FROM step) f, told(s, 0, 'step');
SELECT detail FROM (SELECT progress_statistics(rollout_id, x[1:2] || 1::real, outcome) AS s FROM step) f, told(s, 0, 'step');
SELECT detail IS NULL AS fine FROM (SELECT progress_statistics(rollout_id, x[1:2] || 1::real, outcome) AS s FROM step) f, told(s, 0, 'none');
-- Too little ridge for features so large, and the one that is named
SELECT detail IS NOT NULL AS refused, lambda_named, weights(progress_solve(s, lambda_named)) IS NOT NULL AS answered
FROM (SELECT progress_statistics(rollout_id, ARRAY[1e6 * x[1], 1e6 * x[1]]::real[], outcome) AS s FROM step) f, told(s, 1e-9, 'step');
SELECT progress_solve(s, 1.7e308, 'step') FROM (SELECT progress_statistics(1, '{1e18}', 1) AS s) f;
SELECT progress_solve(statistics_of('{1.7e308}', '{1}'), 1e308, 'step');

-- whiten: a window function over the whole partition; REINFORCE++ from its parts
CREATE SCHEMA whiten_test;
SET search_path = whiten_test, stepadv;

CREATE FUNCTION near(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN a IS NOT NULL AND abs(a - b) <= 1e-9 * greatest(1, abs(b));
CREATE FUNCTION pseudorandom(VARIADIC seed text[]) RETURNS float8 LANGUAGE sql IMMUTABLE
RETURN ('x' || substr(md5(array_to_string(seed, ' ')), 1, 8))::bit(32)::bigint / 4294967296.0;

-- REINFORCE++: returns of tokens, whitened over the batch's tokens (rfpp_singleturn)
CREATE TABLE token(rollout_id int, position int, mask boolean, reward float8, ret float8, adv float8);
INSERT INTO token VALUES
(1, 1, true, 0, 1, 0.730296701226447), (1, 2, true, 0, 1, 0.730296701226447), (1, 3, true, 1, 1, 0.730296701226447), (1, 4, false, 0, 0, 0),
(2, 1, true, 0, 0.5, -1.0954450372337368), (2, 2, true, 0.5, 0.5, -1.0954450372337368), (2, 3, false, 0, 0, 0), (2, 4, false, 0, 0, 0);
WITH g AS (SELECT rollout_agg(rollout_id * 10 + position, rollout_id, position, NULL, CASE WHEN mask THEN position END, reward) AS g FROM token),
r AS (SELECT t.*, r.return FROM g, returns(g, masked => true) r JOIN token t ON t.rollout_id = r.rollout_id AND t.position = r.step_no)
SELECT count(*), bool_and(near(return, ret)) AS returns, bool_and(near(advantage, adv)) AS advantage
FROM (SELECT r.*, CASE WHEN mask THEN whiten(return, mask, convention => 'verl') OVER () ELSE 0 END AS advantage FROM r) a;

-- REINFORCE++-baseline: return less the group's mean on every token, then the same (rfpp_baseline)
CREATE TABLE scored(rollout_id int, task text, score float8, mask boolean[], adv float8[]);
INSERT INTO scored VALUES
(1, 'a', 1, '{t,t,f}', '{-0.14256648349724113,-0.14256648349724113,0}'),
(2, 'a', 0, '{t,f,f}', '{-1.8533643054234439,0,0}'),
(3, 'b', 1, '{t,t,t}', '{0.7128324274658602,0.7128324274658602,0.7128324274658602}');
WITH g AS (SELECT task, rollout_agg(rollout_id, rollout_id, 1, NULL, NULL, score) AS g FROM scored GROUP BY task),
a AS (SELECT step_id AS rollout_id, advantage FROM g, grpo(g, normalise => 'mean', singleton => 'raw'))
SELECT count(*), bool_and(near(CASE WHEN mask[i] THEN whitened ELSE 0 END, adv[i]))
FROM (SELECT s.*, i, whiten(advantage, mask[i], convention => 'verl') OVER () AS whitened
	  FROM scored s JOIN a USING (rollout_id), generate_series(1, 3) i) t;

-- Against avg and stddev_samp, partition by partition, with NULLs and a mask
CREATE TABLE x AS
SELECT i, i % 17 AS p, CASE WHEN i % 11 <> 0 THEN 100 + pseudorandom('x', i::text) END AS x,
	   CASE WHEN i % 13 <> 0 THEN i % 5 < 3 END AS mask
FROM generate_series(1, 5000) i;
SELECT count(*), bool_and((whitened IS NULL) = (x IS NULL) AND near(coalesce(whitened, 0), coalesce(expected, 0))) AS std,
	   bool_and((masked IS NULL) = (x IS NULL) AND near(coalesce(masked, 0), coalesce(expected_masked, 0))) AS masked,
	   bool_and(near(coalesce(verl, 0), coalesce(expected_verl, 0))) AS verl
FROM (SELECT x, whiten(x) OVER w AS whitened, (x - avg(x) OVER w) / (stddev_samp(x) OVER w + 1e-8) AS expected,
			 whiten(x, mask, epsilon => 0.1) OVER w AS masked,
			 (x - avg(x) FILTER (WHERE mask) OVER w) / (stddev_samp(x) FILTER (WHERE mask) OVER w + 0.1) AS expected_masked,
			 whiten(x, epsilon => 0.5, convention => 'verl') OVER w AS verl,
			 (x - sum(x) OVER w / (count(x) OVER w + 1e-8)) / sqrt(var_samp(x) OVER w * (count(x) OVER w / (count(x) OVER w + 1e-8)) + 0.5) AS expected_verl
	  FROM x WINDOW w AS (PARTITION BY p)) w;
-- The frame and the order change nothing
SELECT bool_and(a = b AND a = c AND a = d) FROM (
	SELECT whiten(x) OVER (PARTITION BY p) AS a, whiten(x) OVER (PARTITION BY p ORDER BY i DESC) AS b,
		   whiten(x) OVER (PARTITION BY p ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS c,
		   whiten(x, true) OVER (PARTITION BY p ORDER BY mask) AS d
	FROM x WHERE x IS NOT NULL) f;
-- An argument whose evaluation allocates
SELECT bool_and(near(a, b)) FROM (
	SELECT whiten(x::numeric::text::float8) OVER (PARTITION BY p) AS a, whiten(x) OVER (PARTITION BY p) AS b FROM x WHERE x IS NOT NULL) f;
-- Whitening is cancelled out of large numbers without loss
SELECT max(abs(w - (i - 500.5) / sqrt(1001 * 1000 / 12.0)::float8)) < 1e-6 AS precise
FROM (SELECT i, whiten(1e9 + i, epsilon => 0) OVER () AS w FROM generate_series(1, 1000) i) l;

-- None, one, equal ones, none that counts
SELECT count(*) FROM (SELECT whiten(x) OVER () FROM x WHERE false) w;
SELECT whiten(x) OVER (), whiten(x, convention => 'verl') OVER (), whiten(x, false) OVER () FROM (VALUES (5.0)) v(x);
SELECT DISTINCT whiten(9.025) OVER (), whiten(9.025, convention => 'verl') OVER () FROM generate_series(1, 8);
SELECT x, whiten(x, mask) OVER () FROM (VALUES (1.0, false), (2.0, NULL), (NULL, true)) v(x, mask) ORDER BY x;
SELECT x, whiten(x) OVER () FROM (VALUES (NULL::float8), (NULL)) v(x);

-- Bad input; what the mask leaves out may be anything
SELECT whiten(x) OVER () FROM (VALUES (1.0::float8), ('NaN')) v(x);
SELECT whiten(x) OVER () FROM (VALUES (1.0::float8), ('-Infinity')) v(x);
SELECT x, whiten(x, mask, epsilon => 0) OVER () FROM (VALUES (1.0::float8, true), ('NaN', false), ('Infinity', NULL), (3, true), (5, false)) v(x, mask);
SELECT whiten(x, epsilon => -1) OVER () FROM (VALUES (1.0)) v(x);
SELECT whiten(x, epsilon => NULL) OVER () FROM (VALUES (1.0)) v(x);
SELECT whiten(x, convention => 'trl') OVER () FROM (VALUES (1.0)) v(x);
SELECT whiten(1.0);

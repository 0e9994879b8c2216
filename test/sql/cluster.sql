-- text_similarity and state_cluster. The ratios are what Python's
-- difflib.SequenceMatcher(None, a, b).ratio() returns.
SET search_path = stepadv, public;

SELECT name, abs(text_similarity(a, b) - ratio) < 1e-15 AS ok
FROM (VALUES
	('shifted', 'abcd', 'bcde', 0.75::float8),
	('empty', '', '', 1.0),
	('one empty', '', 'a', 0.0),
	('a word more', 'private Thread currentThread;', 'private volatile Thread currentThread;', 0.8656716417910447),
	('scattered', 'qabxcd', 'abycdf', 0.6666666666666666),
	('long', repeat('abc', 100), repeat('abc', 99) || 'abd', 0.9966666666666667),
	('frequent characters', repeat('x', 250), repeat('x', 200) || repeat('y', 50), 0.8),
	('one way', 'tide', 'diet', 0.25),
	('the other way', 'diet', 'tide', 0.5),
	('characters, not bytes', U&'na\00EFve \2603', U&'naive \2603', 0.8571428571428571)) v(name, a, b, ratio);
SELECT text_similarity(NULL, 'a') IS NULL AS null_for_null;

-- Texts: leader clustering in the window's order, as a greedy loop in Python gives it.
CREATE TEMP TABLE texts AS SELECT * FROM (VALUES
	(1, 'You are in the kitchen. You see a red apple on the table.'), (2, 'You are in the kitchen. You see a red apple on the table!'),
	(3, 'You are in the bedroom. You see a lamp.'), (4, 'You are in the kitchen. You see a red apple on the tables!'), (5, ''),
	(6, 'You are in the bedroom. You see a lamp'), (7, ''), (8, NULL)) v(i, t);
SELECT array_agg(c ORDER BY i) = '{1,1,2,1,3,2,3,NULL}' AS at_95, array_agg(half ORDER BY i) = '{1,1,1,1,2,1,2,NULL}' AS at_50,
       array_agg(same ORDER BY i) = '{1,2,3,4,5,6,5,NULL}' AS at_100, array_agg(any_ ORDER BY i) = '{1,1,1,1,1,1,1,NULL}' AS at_0
FROM (SELECT i, state_cluster(t) OVER w AS c, state_cluster(t, 0.5) OVER w AS half, state_cluster(t, 1) OVER w AS same, state_cluster(t, 0) OVER w AS any_
	FROM texts WINDOW w AS (ORDER BY i)) x;

-- Partitions are apart; the frame makes no difference.
SELECT array_agg(c ORDER BY p, i) = '{1,1,2,1,2,2}' AS partitions
FROM (SELECT p, i, state_cluster(t) OVER (PARTITION BY p ORDER BY i ROWS BETWEEN CURRENT ROW AND CURRENT ROW) AS c
	FROM (VALUES (1, 1, 'aaaa'), (1, 2, 'aaaa'), (1, 3, 'bbbb'), (2, 1, 'bbbb'), (2, 2, 'cccc'), (2, 3, 'cccc')) v(p, i, t)) x;

-- Embeddings: by the cosine, so lengths make no difference; 0 is like 0 only.
SELECT array_agg(c ORDER BY i) = '{1,1,2,1,3,3,4,NULL}' AS clusters
FROM (SELECT i, state_cluster(e, 0.9) OVER (ORDER BY i) AS c
	FROM (VALUES (1, '{1,0,0}'::real[]), (2, '{5,0,0}'), (3, '{0,1,0}'), (4, '{1,0.3,0}'), (5, '{0,0,0}'), (6, '{0,0,0}'), (7, '{-1,0,0}'), (8, NULL)) v(i, e)) x;
-- cos of (1,0) and (0.6,0.8) is 0.6: at the threshold itself it belongs
SELECT array_agg(a ORDER BY i) = '{1,1}' AS at_threshold, array_agg(b ORDER BY i) = '{1,2}' AS above
FROM (SELECT i, state_cluster(e, 0.6 - 1e-7) OVER w AS a, state_cluster(e, 0.6 + 1e-7) OVER w AS b
	FROM (VALUES (1, '{1,0}'::real[]), (2, '{0.6,0.8}')) v(i, e) WINDOW w AS (ORDER BY i)) x;

-- 400 random embeddings of 300 dimensions in 5 directions, against the definition in SQL.
CREATE TEMP TABLE embeddings AS
SELECT i, array_agg((((hashint4extended(i % 5 * 1000 + d, 1) % 1000) + (hashint4extended(i * 1000 + d, 2) % 1000) * CASE WHEN i % 3 = 0 THEN 0.5 ELSE 0.2 END) / 1000.0)::real ORDER BY d) AS e
FROM generate_series(1, 400) i, generate_series(1, 300) d GROUP BY i;
CREATE TEMP TABLE clusters AS SELECT i, e, state_cluster(e, 0.9) OVER (ORDER BY i) AS c FROM embeddings;
CREATE TEMP TABLE leaders AS SELECT DISTINCT ON (c) c, i, e FROM clusters ORDER BY c, i;
CREATE FUNCTION cosine(a real[], b real[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT sum(x::float8 * y) / sqrt(sum(x::float8 * x) * sum(y::float8 * y)) FROM unnest(a, b) v(x, y) $$;
SELECT count(DISTINCT c) > 5 AND count(DISTINCT c) < 200 AS some, max(c) = count(DISTINCT c) AS numbered FROM clusters;
SELECT count(*) FILTER (WHERE c.c <> coalesce(first.c, -1)) AS differ
FROM clusters c, LATERAL (SELECT min(l.c) AS c FROM leaders l WHERE l.i <= c.i AND (l.i = c.i OR cosine(c.e, l.e) >= 0.9)) first;
DROP FUNCTION cosine(real[], real[]);

-- Bad input.
SELECT state_cluster('a'::text, 1.5) OVER ();
SELECT state_cluster('a'::text, -0.1) OVER ();
SELECT state_cluster('a'::text, 'NaN') OVER ();
SELECT state_cluster('a'::text, NULL) OVER ();
SELECT state_cluster('{1}'::real[], -2) OVER ();
SELECT state_cluster(e) OVER () FROM (VALUES ('{1,2}'::real[]), ('{1}')) v(e);
SELECT state_cluster('{{1,2}}'::real[]) OVER ();
SELECT state_cluster('{}'::real[]) OVER ();
SELECT state_cluster('{1,NULL}'::real[]) OVER ();
SELECT state_cluster('{1,NaN}'::real[]) OVER ();

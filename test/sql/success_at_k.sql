-- pass_at_k, pass_hat_k, maj_at_k, best_at_k: src/analysis/.
\set SHOW_CONTEXT never
SET extra_float_digits = 0;

-- By hand. Three of ten: 1 - C(7,5)/C(10,5) = 1 - 21/252 = 11/12; C(7,3)/C(10,3) = 35/120 = 7/24.
SELECT stepadv.pass_at_k(10, 3, 5) AS "11/12", stepadv.pass_hat_k(10, 7, 3) AS "7/24", stepadv.pass_at_k(3, 2, 4) AS more_than_there_are, stepadv.pass_at_k(4, 0, 2) AS none, stepadv.pass_at_k(4, 3, 2) AS sure,
	stepadv.pass_hat_k(4, 1, 2) AS never, stepadv.pass_at_k(NULL, 1, 1) AS unknown;
-- Two of four succeeded, one is not judged: pairs, one of six has none, one of six has both.
SELECT stepadv.pass_at_k(count(s), count(*) FILTER (WHERE s), 2) AS "5/6", stepadv.pass_hat_k(count(s), count(*) FILTER (WHERE s), 2) AS "1/6", stepadv.best_at_k(array_agg(s::integer::float8), 2) AS "5/6", stepadv.pass_at_k(count(s), count(*) FILTER (WHERE s), 5) AS more, stepadv.best_at_k(array_agg(s::integer::float8), 5) AS more
FROM unnest('{t,f,NULL,f,t}'::boolean[]) s;
-- The best two of 1, 2, 4: (2 + 4 + 4) / 3; all three: 4.
SELECT stepadv.best_at_k(array_agg(x), 2) AS "10/3", stepadv.best_at_k(array_agg(x), 3) AS "4", stepadv.best_at_k(array_agg(x), 1) AS "7/3", stepadv.best_at_k(array_agg(-x), 2) AS "-4/3" FROM unnest('{4,1,2}'::float8[]) x;
-- Two of three say x, which is right: of the three pairs one is x, x, two are ties.
SELECT stepadv.maj_at_k(array_agg(a), array_agg(a = 'x'), 1) AS "2/3", stepadv.maj_at_k(array_agg(a), array_agg(a = 'x'), 2) AS "2/3", stepadv.maj_at_k(array_agg(a), array_agg(a = 'x'), 3) AS "1", stepadv.maj_at_k(array_agg(a), array_agg(a = 'x'), 4) AS more FROM unnest('{x,y,x}'::text[]) a;
-- A rollout without an answer is drawn and does not win: of x and two without, one draw in three has x, two pairs in three have it, and alone it wins. No answers: wrong. An unjudged rollout is not drawn.
SELECT stepadv.maj_at_k(array_agg(a), array_agg(c), 1) AS "1/3", stepadv.maj_at_k(array_agg(a), array_agg(c), 2) AS "2/3", stepadv.maj_at_k(array_agg(a), array_agg(c), 3) AS "1", stepadv.maj_at_k(array_agg(NULL::text) FILTER (WHERE a IS NULL), array_agg(c) FILTER (WHERE a IS NULL), 1) AS "0", stepadv.maj_at_k(array_agg(a), array_agg(c), 4) AS more
FROM (VALUES ('x', true), (NULL, false), (NULL, false), ('y', NULL)) v(a, c);
-- An answer that is right for one of its two rollouts is half right.
SELECT stepadv.maj_at_k(array_agg('x'::text), array_agg(c), 2) AS "1/2" FROM unnest('{t,f}'::boolean[]) c;
-- Nothing exceeds 1, and certainty is 1: two answers, right and wrong, and rollouts without one, against a count of all subsets.
CREATE FUNCTION choose(n integer, k integer) RETURNS numeric LANGUAGE sql AS
'SELECT CASE WHEN k BETWEEN 0 AND n THEN factorial(n) / factorial(k) / factorial(n - k) ELSE 0 END';
SELECT count(*) AS cases, count(*) FILTER (WHERE majority > 1) AS above, count(*) FILTER (WHERE abs(majority - expected) > 1e-12) AS off,
	count(*) FILTER (WHERE expected = 1 AND majority <> 1) AS not_sure
FROM (SELECT r, w, s, k, stepadv.maj_at_k(array_agg(CASE WHEN i <= r THEN 'r' WHEN i <= r + w THEN 'w' END), array_agg(i <= r), k) AS majority,
		(SELECT sum(choose(r, x) * choose(w, y) * choose(s, k - x - y) * CASE WHEN x > y THEN 1 WHEN x = y AND x > 0 THEN 0.5 ELSE 0 END)
			FROM generate_series(0, k) x, generate_series(0, k - x) y) / choose(r + w + s, k) AS expected
	FROM generate_series(0, 6) r, generate_series(0, 6) w, generate_series(0, 3) s, generate_series(1, r + w + s) k, generate_series(1, r + w + s) i
	GROUP BY r, w, s, k) c;
DROP FUNCTION choose;

-- No rollouts, none judged.
SELECT stepadv.pass_at_k(count(s), count(*) FILTER (WHERE s), 1), stepadv.pass_hat_k(count(s), count(*) FILTER (WHERE s), 1), stepadv.best_at_k(array_agg(s::integer::float8), 1), stepadv.maj_at_k(array_agg('x'::text), array_agg(s), 1) FROM unnest('{}'::boolean[]) s;
SELECT stepadv.pass_at_k(count(s), count(*) FILTER (WHERE s), 1), stepadv.pass_hat_k(count(s), count(*) FILTER (WHERE s), 1), stepadv.best_at_k(array_agg(s::integer::float8), 1), stepadv.maj_at_k(array_agg('x'::text), array_agg(s), 1) FROM unnest('{NULL,NULL}'::boolean[]) s;

-- Against every subset, in plain SQL: tasks of one to eight rollouts, some not judged, some without an answer, equal answers judged apart.
CREATE TABLE at_k AS
	SELECT task, i, CASE WHEN h.h1 % 9 > 0 THEN h.h1 % 2 = 0 END AS success, CASE WHEN h.h2 % 7 > 0 THEN 'answer ' || h.h2 % 3 END AS answer,
		CASE WHEN h.h1 % 9 > 0 THEN (h.h2 % 3 = 0) <> (h.h1 % 11 = 0) END AS correct, CASE WHEN h.h1 % 9 > 0 THEN (h.h3 % 5) / 4.0 - 0.3 END::float8 AS score
	FROM generate_series(1, 60) task, generate_series(1, 1 + task % 8) i,
		LATERAL (SELECT abs(hashint4(task * 100 + i)::bigint) AS h1, abs(hashint4(task * 100 + i + 1000000)::bigint) AS h2, abs(hashint4(task * 100 + i + 2000000)::bigint) AS h3) h;
WITH judged AS MATERIALIZED (
	SELECT *, row_number() OVER (PARTITION BY task ORDER BY i) - 1 AS bit, count(*) OVER (PARTITION BY task) AS n, avg(correct::integer) OVER (PARTITION BY task, answer) AS rightness
	FROM at_k WHERE success IS NOT NULL
), subset AS (
	SELECT task, mask, count(*) AS k, bool_or(success) AS one, bool_and(success) AS all_of_them, max(score) AS best
	FROM judged, generate_series(1, (1 << n::integer) - 1) mask WHERE mask >> bit::integer & 1 = 1 GROUP BY task, mask
), votes AS (
	SELECT task, mask, answer, max(rightness) AS rightness, rank() OVER (PARTITION BY task, mask ORDER BY count(*) DESC) AS place
	FROM judged, generate_series(1, (1 << n::integer) - 1) mask WHERE mask >> bit::integer & 1 = 1 AND answer IS NOT NULL GROUP BY task, mask, answer
), winner AS (
	SELECT task, mask, avg(rightness) AS rightness FROM votes WHERE place = 1 GROUP BY task, mask
), enumerated AS (
	SELECT task, k, avg(one::integer) AS one, avg(all_of_them::integer) AS all_of_them, avg(best) AS best, avg(coalesce(w.rightness, 0)) AS majority
	FROM subset LEFT JOIN winner w USING (task, mask) GROUP BY task, k
), computed AS (
	SELECT task, k, stepadv.pass_at_k(count(success), count(*) FILTER (WHERE success), k) AS one, stepadv.pass_hat_k(count(success), count(*) FILTER (WHERE success), k) AS all_of_them, stepadv.best_at_k(array_agg(score), k) AS best, stepadv.maj_at_k(array_agg(answer), array_agg(correct), k) AS majority
	FROM at_k, generate_series(1, 9) k GROUP BY task, k
)
SELECT count(*) AS compared, count(e.k) AS enumerated, bool_and((e.k IS NULL) = (c.one IS NULL) AND (e.k IS NULL) = (c.all_of_them IS NULL) AND (e.k IS NULL) = (c.best IS NULL) AND (e.k IS NULL) = (c.majority IS NULL)) AS null_alike,
	max(abs(c.one - e.one)) < 1e-12 AS one, max(abs(c.all_of_them - e.all_of_them)) < 1e-12 AS all_of_them, max(abs(c.best - e.best)) < 1e-12 AS best, max(abs(c.majority - e.majority)) < 1e-12 AS majority,
	count(DISTINCT e.majority) > 50 AS of_many_kinds
FROM computed c LEFT JOIN enumerated e USING (task, k);

-- Many rollouts. One success of n is among k with probability k/n; the rest against logarithms with 30 digits.
SELECT abs(stepadv.pass_at_k(100000, 1, 12345) - 0.12345) < 1e-12 AS one, abs(stepadv.pass_hat_k(100000, 99999, 12345) - 0.87655) < 1e-12 AS all_but_one, stepadv.pass_hat_k(100000, 50000, 50000) AS underflow,
	abs(stepadv.pass_at_k(100000, 100, 1000) / (1 - exp(sum(ln((98900 + i)::numeric(40, 30) / (99900 + i))))) - 1) < 1e-9 AS a_hundred
FROM generate_series(1, 100) i;
SELECT abs(stepadv.best_at_k(array_agg(i), 1000) - (1000::numeric * 100001 / 1001)) < 1e-6 AS best FROM generate_series(1, 100000) i;
WITH h AS (
	SELECT x, (SELECT coalesce(exp(sum(ln((600 - j + 1)::numeric(40, 30) / j))), 1) FROM generate_series(1, x) j) * (SELECT coalesce(exp(sum(ln((400 - j + 1)::numeric(40, 30) / j))), 1) FROM generate_series(1, 12 - x) j)
		/ (SELECT exp(sum(ln((1000 - j + 1)::numeric(40, 30) / j))) FROM generate_series(1, 12) j) AS p
	FROM generate_series(0, 12) x)
SELECT abs(stepadv.maj_at_k(array_agg((i <= 600)::text), array_agg(i <= 600), 12) - (SELECT sum(CASE x WHEN 6 THEN p / 2 ELSE p END) FROM h WHERE x >= 6)) < 1e-12 AS majority FROM generate_series(1, 1000) i;
SELECT abs(stepadv.maj_at_k(array_agg((i % 2)::text), array_agg(i % 2 = 1), 101) - 0.5) < 1e-12 AS even, abs(stepadv.maj_at_k(array_agg((i % 50)::text), array_agg(i % 50 = 1), 60) - 0.02) < 1e-12 AS of_fifty FROM generate_series(1, 100000) i;

-- Against every way to draw 120 of 400, of three answers and some without one, by logarithms of factorials; and the answers of which one or the other wins.
WITH ln_factorial AS MATERIALIZED (
	SELECT array_agg(x ORDER BY i) AS f FROM (SELECT i, sum(CASE WHEN i = 0 THEN 0 ELSE ln(i::numeric(40, 30)) END) OVER (ORDER BY i)::float8 AS x FROM generate_series(0, 400) i) s
), choice AS MATERIALIZED (
	SELECT m, x, f[m + 1] - f[x + 1] - f[m - x + 1] AS l FROM ln_factorial, unnest('{60,90,100,150,400}'::integer[]) m, generate_series(0, least(m, 120)) x
), drawn AS (
	SELECT a.x = w.x AS a, b.x = w.x AS b, w.n, exp(a.l + b.l + c.l + s.l - n.l) AS p
	FROM choice n, choice a, choice b, choice c JOIN choice s ON s.m = 60 CROSS JOIN LATERAL (SELECT greatest(a.x, b.x, c.x) AS x) g
	CROSS JOIN LATERAL (SELECT g.x, (a.x = g.x)::integer + (b.x = g.x)::integer + (c.x = g.x)::integer AS n) w
	WHERE n.m = 400 AND n.x = 120 AND a.m = 150 AND b.m = 100 AND c.m = 90 AND s.x = 120 - a.x - b.x - c.x
), enumerated AS (
	SELECT sum(p) AS all_of_them, sum(p / n) FILTER (WHERE a) AS first, sum(p / n) FILTER (WHERE b) AS second FROM drawn
), computed AS (
	SELECT stepadv.maj_at_k(array_agg(answer), array_agg(coalesce(answer = 'first', false)), 120) AS first, stepadv.maj_at_k(array_agg(answer), array_agg(coalesce(answer = 'second', true)), 120) AS second
	FROM (SELECT CASE WHEN i <= 150 THEN 'first' WHEN i <= 250 THEN 'second' WHEN i <= 340 THEN 'third' END AS answer FROM generate_series(1, 400) i) r
)
SELECT abs(e.all_of_them - 1) < 1e-10 AS everything, abs(c.first / e.first - 1) < 1e-9 AS first, abs(c.second / e.second - 1) < 1e-9 AS second, c.second BETWEEN 0.0001 AND 0.1 AS is_rare FROM enumerated e, computed c;
-- One of them wins in every draw: 20 answers of 1, 1, 4, 4, 9, … votes, two and two alike; one is right after the other.
SELECT abs(sum(m.majority) - 1) < 1e-12 AS one_wins, count(DISTINCT round(m.majority::numeric, 12)) AS kinds, bool_and(m.majority >= 0) AS none_below, max(m.majority) > 0.2 AS most
FROM generate_series(1, 20) j, LATERAL (SELECT stepadv.maj_at_k(array_agg(a::text), array_agg(a = j), 40) AS majority FROM generate_series(1, 20) a, generate_series(1, ((a + 1) / 2) * ((a + 1) / 2))) m;
-- None, all, and all equal.
SELECT stepadv.maj_at_k(array_agg((i % 9)::text), array_agg(false), 100) AS "0", stepadv.maj_at_k(array_agg((i % 9)::text), array_agg(true), 100) AS "1", round(stepadv.maj_at_k(array_agg('x'::text), array_agg(i > 250), 500)::numeric, 12) AS "3/4",
	round(stepadv.maj_at_k(array_agg((i % 2)::text), array_agg(i % 2 = 1), 1000)::numeric, 12) AS "1/2, a tie", round(stepadv.maj_at_k(array_agg((i % 3)::text), array_agg(i % 3 = 1), 1000)::numeric, 12) AS "1, who has one more"
FROM generate_series(1, 1000) i;
-- More rollouts than a table of some hundred megabytes can count.
SELECT stepadv.maj_at_k(array_agg(i::text), array_agg(i = 1), 10000) FROM generate_series(1, 20000) i;

-- In any order.
CREATE TABLE at_k_many AS SELECT i % 7 AS task, (i % 11)::text AS answer, sin(i) AS score FROM generate_series(1, 20000) i;
SELECT count(*) AS compared, bool_and(best = best_sorted) AS best, bool_and(majority = majority_sorted) AS majority
FROM (SELECT task, k, stepadv.best_at_k(array_agg(score), k) AS best, stepadv.best_at_k(array_agg(score ORDER BY score), k) AS best_sorted,
		stepadv.maj_at_k(array_agg(answer), array_agg(answer < '3'), k) AS majority, stepadv.maj_at_k(array_agg(answer ORDER BY score), array_agg(answer < '3' ORDER BY score), k) AS majority_sorted
	FROM at_k_many, (VALUES (1), (8)) k(k) GROUP BY task, k) t;

-- Over windows.
SELECT i, stepadv.pass_at_k(count(i = 2) OVER w, count(*) FILTER (WHERE i = 2) OVER w, 2) AS one, stepadv.best_at_k(array_agg(i) OVER w, 2) AS best, stepadv.maj_at_k(array_agg((i % 2)::text) OVER w, array_agg(i % 2 = 1) OVER w, 2) AS majority FROM generate_series(1, 4) i WINDOW w AS (ORDER BY i) ORDER BY i;

-- Errors.
SELECT stepadv.pass_at_k(4, 2, NULL);
SELECT stepadv.pass_at_k(4, 2, 0);
SELECT stepadv.pass_hat_k(4, 2, 0);
SELECT stepadv.best_at_k('{1}', -1);
SELECT stepadv.maj_at_k('{x}', '{t}', 0);
SELECT stepadv.pass_at_k(4, 5, 1);
SELECT stepadv.pass_hat_k(4, -1, 1);
SELECT stepadv.best_at_k('{1,NaN}', 1);
SELECT stepadv.maj_at_k('{x,y}', '{t}', 1);

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

-- As states in attach: clusters within the group, in the order of rollouts as they
-- are hashed, and steps, whatever the order of the rows.  Rows that stand for a
-- rollout are no steps; what has no cosine has no state; another length is another space.
\set SHOW_CONTEXT never
CREATE TABLE emb_steps AS
SELECT row_number() OVER (ORDER BY task, run, n) AS id, task, 'run ' || run AS run, nullif(n, 9) AS n, e, e::float8[] AS e8, e::numeric[] AS en, (n + run) % 3 AS act, CASE WHEN n = 9 THEN (task + run) % 2 END::float8 AS score
FROM generate_series(1, 4) task, generate_series(1, 6) run, generate_series(0, 9) n, LATERAL (
	SELECT array_agg(((hashint4extended(n / 3 * 8 + d + task * 100, 1) % 1000 + hashint4extended(((task * 10 + run) * 10 + n) * 8 + d, 2) % 1000 * 0.35) / 1000.0)::real ORDER BY d) AS e FROM generate_series(1, 8) d) x;
UPDATE emb_steps SET e = NULL, e8 = NULL, en = NULL WHERE id % 29 = 3;
ALTER TABLE emb_steps ADD PRIMARY KEY (id);
CREATE INDEX ON emb_steps (task);
CREATE FUNCTION public.cosine(a real[], b real[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT sum(x::float8 * y) / sqrt(sum(x::float8 * x) * sum(y::float8 * y)) FROM unnest(a, b) v(x, y) $$;
-- By the definition: the step whose embedding began the cluster.
CREATE FUNCTION pg_temp.leaders(threshold float8) RETURNS TABLE (step_id bigint, leader bigint) LANGUAGE plpgsql AS $$
DECLARE
	s record;
	leaders bigint[];
	last integer;
BEGIN
	FOR s IN SELECT * FROM emb_steps WHERE n IS NOT NULL AND e IS NOT NULL ORDER BY task, signature_hash(run), n LOOP
		IF last IS DISTINCT FROM s.task THEN
			leaders := '{}';
			last := s.task;
		END IF;
		step_id := s.id;
		SELECT l.l INTO leader FROM unnest(leaders) WITH ORDINALITY l(l, i) JOIN emb_steps o ON o.id = l.l WHERE public.cosine(s.e, o.e) >= threshold ORDER BY l.i LIMIT 1;
		IF leader IS NULL THEN
			leader := s.id;
			leaders := leaders || s.id;
		END IF;
		RETURN NEXT;
	END LOOP;
END
$$;
CREATE FUNCTION pg_temp.attached(prefix text, embedding text, options jsonb, source text DEFAULT 'emb_steps') RETURNS boolean LANGUAGE sql AS
$$ SELECT count(*) > 10 FROM attach(source::regclass, '{task}', 'run', 'n', embedding, 'act', 'score', columns => '{"step_id": "id"}', views => '{all}', prefix => prefix, options => options - 'states' || jsonb_build_object('states', coalesce(options -> 'states', '{}') || '{"kind": "embedding"}')) $$;
-- States that are one where leaders are one, and apart where they are apart; none where there is none.
CREATE FUNCTION pg_temp.states_of(prefix text, threshold float8, OUT steps bigint, OUT no_state bigint, OUT clusters bigint, OUT states bigint, OUT pairs bigint, OUT rtmc_differs bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($q$
		SELECT count(*), count(*) FILTER (WHERE s.state IS NULL), count(DISTINCT (v.task, l.leader)) FILTER (WHERE l.leader IS NOT NULL), count(DISTINCT (v.task, s.state)) FILTER (WHERE s.state IS NOT NULL),
			count(DISTINCT (v.task, s.state, l.leader)) FILTER (WHERE num_nonnulls(s.state, l.leader) > 0)
		FROM %I v CROSS JOIN LATERAL stepadv.steps(v.rollouts) s LEFT JOIN pg_temp.leaders($1) l ON l.step_id = s.step_id$q$, prefix || '_values') INTO steps, no_state, clusters, states, pairs USING threshold;
	EXECUTE format($q$
		SELECT count(*) FILTER (WHERE a.advantage IS DISTINCT FROM x.advantage) FROM (SELECT s.task, rollout_agg(s.id, signature_hash(s.run), s.n, l.leader, s.act::bigint, s.score) AS g
			FROM emb_steps s LEFT JOIN pg_temp.leaders($1) l ON l.step_id = s.id GROUP BY s.task) w CROSS JOIN LATERAL stepadv.rtmc(w.g) a LEFT JOIN %I x ON x.step_id = a.step_id$q$, prefix || '_rtmc') INTO rtmc_differs USING threshold;
END
$$;
SELECT pg_temp.attached('emb', 'e', '{}'), pg_temp.attached('emb8', 'e8', '{"states": {"threshold": 0.8}}'), pg_temp.attached('embn', 'en', '{"states": {"threshold": 0.99}}');
SELECT 0.95 AS threshold, x.* FROM pg_temp.states_of('emb', 0.95) x UNION ALL SELECT 0.8, x.* FROM pg_temp.states_of('emb8', 0.8) x UNION ALL SELECT 0.99, x.* FROM pg_temp.states_of('embn', 0.99) x;
SELECT states FROM attachments() WHERE prefix = 'emb';
-- The same rows, stored in another order.
CREATE TABLE emb_other AS SELECT * FROM emb_steps ORDER BY md5(id::text);
SELECT pg_temp.attached('other', 'e', '{}', 'emb_other');
SELECT bool_and(a.rollouts::text = b.rollouts::text) AS same FROM emb_values a JOIN other_values b USING (task);
-- One group is read by its index, and kept groups know whose a row is.
SELECT maintain('emb_steps', prefix => 'emb');
UPDATE emb_steps SET e = (SELECT e FROM emb_steps WHERE id = 11) WHERE id = 25;
INSERT INTO emb_steps VALUES (1000, 2, 'another', 0, (SELECT e FROM emb_steps WHERE id = 71), NULL, NULL, 1, 1);
DELETE FROM emb_steps WHERE id = 31;
SELECT * FROM check_maintained('emb_steps');
SELECT 0.95 AS threshold, x.* FROM pg_temp.states_of('emb', 0.95) x;
SELECT unmaintain('emb_steps');
-- None of these is an error, nor is it like others; the others are as they were.
UPDATE emb_steps SET e = NULL WHERE id IN (5, 6, 7, 8, 9);
CREATE TABLE emb_bad AS SELECT * FROM emb_steps;
UPDATE emb_bad SET e = CASE id WHEN 5 THEN '{1,NULL,1,1,1,1,1,1}' WHEN 6 THEN '{1,NaN,1,1,1,1,1,1}' WHEN 7 THEN '{}' WHEN 8 THEN '{{1,1,1,1},{1,1,1,1}}' WHEN 9 THEN '{1,2}' END::real[] WHERE id IN (5, 6, 7, 8, 9);
SELECT pg_temp.attached('bad', 'e', '{}', 'emb_bad');
SELECT count(*) AS n, count(*) FILTER (WHERE s.state IS DISTINCT FROM b.state) AS differ, array_agg(s.step_id) FILTER (WHERE s.state IS DISTINCT FROM b.state) AS which,
	count(*) FILTER (WHERE b.state = (SELECT o.state FROM bad_values x, steps(x.rollouts) o WHERE o.step_id = 9)) AS like_it
FROM emb_values v JOIN bad_values w USING (task), steps(v.rollouts) s JOIN LATERAL steps(w.rollouts) b USING (step_id);
-- What is refused.
SELECT attach('emb_steps', '{task}', 'run', 'n', 'run', 'act', 'score', views => '{all}', prefix => 'x', options => '{"states": "embedding"}');
SELECT attach('emb_steps', '{task}', 'run', 'n', NULL, 'act', 'score', views => '{all}', prefix => 'x', options => '{"states": "embedding"}');
SELECT attach('emb_steps', '{task}', 'run', 'n', 'e', 'act', 'score', columns => '{"next_state": "e"}', views => '{all}', prefix => 'x', options => '{"states": "embedding"}');
SELECT attach('emb_steps', '{task}', 'run', 'n', 'embedding', 'act', 'score', views => '{all}', prefix => 'x');
SELECT attach('emb_steps', '{task}', 'run', 'n', 'e', 'act', 'score', views => '{all}', prefix => 'x', options => '{"states": {"kind": "embedding", "threshold": 1.5}}');
SELECT attach('emb_steps', '{task}', 'run', 'n', 'e', 'act', 'score', views => '{all}', prefix => 'x', options => '{"states": {"kind": "embedding", "threshold": "much"}}');
SELECT attach('emb_steps', '{task}', 'run', 'n', 'e', 'act', 'score', views => '{all}', prefix => 'x', options => '{"states": {"kind": "embedding", "k": 2}}');
\set VERBOSITY terse
SELECT attach('emb_steps', '{task}', 'run', 'n', 'e', 'act', 'score', views => '{all}', prefix => 'x', options => '{"states": 0.9}');
SELECT attach('emb_steps', '{task}', 'run', 'n', 'act', 'act', 'score', views => '{all}', prefix => 'x', options => '{"states": {"threshold": 0.9}}');
\set VERBOSITY default
SELECT attach('emb_steps', '{task}', 'run', 'n', 'act', 'act', 'score', views => '{all}', prefix => 'x', options => '{"states": {"kind": "history_last", "k": 0}}');
SELECT attach('emb_steps', '{task}', 'run', 'n', 'act', 'act', 'score', views => '{all}', prefix => 'x', options => '{"states": {"kind": "history_last", "k": 1.5}}');
SELECT attach('emb_steps', '{task}', 'run', 'n', 'act', 'act', 'score', views => '{all}', prefix => 'x', options => '{"states": {"kind": "observation_last", "threshold": 0.9}}');
SET client_min_messages = error;
SELECT detach('emb_steps') > 30 AS detached, detach('emb_other') > 10, detach('emb_bad') > 10;
DROP TABLE emb_steps, emb_other, emb_bad;
DROP FUNCTION public.cosine(real[], real[]);

-- igpo: by hand, against plain SQL, errors, as a view and among all methods.
CREATE SCHEMA igpo;
SET search_path = igpo, stepadv, public;
\set VERBOSITY terse
SET jit = off;

-- Rollout 1: three steps, R = 3; 2: one step and a row of its own, R = 4; 3 took no step and got 6; 4 is not judged.
CREATE TABLE x AS SELECT rollout_agg(id, rollout, no, 1, id, reward, NULL, NULL, NULL, turn_reward, NULL) AS g FROM (VALUES
	(1, 1, 0, 1::float8, 0.2::float8), (2, 1, 1, NULL, NULL), (3, 1, 2, 2, 0.9), (4, 2, 0, 0, 0.7), (NULL, 2, NULL, 4, NULL), (NULL, 3, NULL, 6, NULL),
	(5, 4, 0, NULL, 1), (6, 4, 1, NULL, 5)) v(id, rollout, no, reward, turn_reward);

-- igpo, jointly: 0.2 (the last steps' 0.9 and 0.7 are not used), and 3, 4, 6: mean 3.3, without dividing
SELECT a.* FROM x, igpo(g, normalise => 'mean', gamma => 0.5) a;
SELECT a.* FROM x, igpo(g, normalise => 'none', gamma => 0.5) a;
-- separately: one turn reward is 0, returns have the mean 13/3 and the variance (16 + 1 + 25) / 9 / 3
SELECT a.*, abs(a.advantage - (3 - 13 / 3.0) / (sqrt(42 / 27.0 + 1e-8) + 0.25)) < 1e-15 AS by_hand FROM x, igpo(g, pool => 'separate', epsilon => 0.25) a WHERE rollout_id = 1;

-- Random groups, some rollouts not judged, NULL turn rewards, against plain SQL.
CREATE TABLE s AS
SELECT i AS id, i / 80 AS grp, i / 80 * 100 + (hashint4(i / 5) & 15) AS r, i AS n, nullif(hashint4(i * 3) & 7, 0) AS state,
	CASE WHEN hashint4(i / 5) & 15 = 3 THEN NULL WHEN i % 5 = 4 THEN (hashint4(i * 7) & 3) / 2.0::float8 ELSE sin(i) / 4 END AS reward,
	CASE WHEN hashint4(i * 11) & 3 > 0 THEN sin(i * 5) END AS turn_reward
FROM generate_series(0, 1599) i;
CREATE TABLE g AS SELECT grp, rollout_agg(id, r, n, state, id, reward, NULL, NULL, NULL, turn_reward, NULL) AS g FROM s GROUP BY grp;
CREATE TABLE q AS SELECT s.*, t, row_number() OVER w AS k, count(*) OVER (PARTITION BY r) AS steps
FROM s JOIN (SELECT r, sum(reward) AS t FROM s GROUP BY r HAVING count(reward) > 0) t USING (r) WINDOW w AS (PARTITION BY r ORDER BY n);
-- Numbers of results, of judged steps, and of differences.
CREATE FUNCTION differ(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT abs(a - b) > 1e-9 * greatest(abs(a), abs(b), 1e-2) OR (a IS NULL) <> (b IS NULL) $$;
SELECT (SELECT count(*) FROM q) AS judged, (SELECT count(*) FROM s) AS steps;

SELECT pool, norm, gamma, count(a.advantage), count(*) FILTER (WHERE differ(a.advantage, e.a)) AS wrong
FROM unnest('{joint,separate}'::text[]) pool, unnest('{std,mean}'::text[]) norm, unnest('{1,0.9}'::float8[]) gamma, LATERAL (
	WITH x AS (SELECT grp, r, k, CASE WHEN k = steps THEN t ELSE turn_reward END AS x, CASE WHEN pool = 'separate' AND k = steps THEN 1 ELSE 0 END AS kind, id FROM q WHERE grp % 4 = 0),
	m AS (SELECT grp, kind, avg(x) AS mean, sqrt(var_pop(x) + 1e-8) + 1e-6 AS sd FROM x GROUP BY 1, 2),
	y AS (SELECT x.*, (x - mean) / CASE norm WHEN 'std' THEN sd ELSE 1 END AS y, count(x.x) OVER (PARTITION BY r ORDER BY k) AS c FROM x JOIN m USING (grp, kind))
	SELECT f.id, sum(y.y * power(gamma, y.c - first.c)) AS a FROM y f, LATERAL (SELECT min(c) AS c FROM y o WHERE o.r = f.r AND o.k >= f.k AND o.x IS NOT NULL) first, LATERAL (SELECT * FROM y o WHERE o.r = f.r AND o.k >= f.k AND o.x IS NOT NULL) y GROUP BY f.id) e
	JOIN LATERAL (SELECT a.* FROM g, igpo(g, gamma, pool, norm) a WHERE grp % 4 = 0) a ON a.step_id = e.id
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- NULL where a rollout is not judged, and nowhere else.
SELECT count(*) FILTER (WHERE (a.advantage IS NULL) <> (q.id IS NULL)) AS wrong, count(a.advantage) FROM (g CROSS JOIN LATERAL igpo(g) a) LEFT JOIN q ON q.id = a.step_id;
SELECT a.* FROM x, igpo(g, gamma => 1.5) a;

-- As a view, as an instance and beside the other methods, kept or not.
CREATE TABLE rl (LIKE s INCLUDING ALL);
ALTER TABLE rl ADD PRIMARY KEY (id);
INSERT INTO rl TABLE s;
CREATE INDEX ON rl (grp);
SET search_path = igpo;
SET client_min_messages = warning;
SELECT view_name, description FROM stepadv.attach('rl', '{grp}', 'r', 'n', 'state', NULL, 'reward', columns => '{"step_id": "id", "turn_reward": "turn_reward"}', views => '{all}', options => '{"methods": {"igpo_apart": {"method": "igpo", "pool": "separate"}}}') WHERE view_name::text ~ '_igpo' ORDER BY 1;
SELECT count(*), count(*) FILTER (WHERE v.igpo IS DISTINCT FROM a.advantage OR v.igpo_apart IS DISTINCT FROM b.advantage OR w.advantage IS DISTINCT FROM a.advantage) AS wrong
FROM rl_compare v JOIN (g CROSS JOIN LATERAL stepadv.igpo(g.g) a) USING (step_id) JOIN (g o CROSS JOIN LATERAL stepadv.igpo(o.g, pool => 'separate') b) USING (step_id) JOIN rl_igpo w USING (step_id);
CREATE TABLE quadrants AS TABLE rl_quadrants;
SELECT stepadv.maintain('rl');
SELECT count(*) AS differ, (SELECT count(*) > 0 FROM quadrants WHERE 'igpo' IN (method_a, method_b)) AS some FROM ((TABLE quadrants EXCEPT ALL TABLE rl_quadrants) UNION ALL (TABLE rl_quadrants EXCEPT ALL TABLE quadrants)) d;
UPDATE rl SET reward = 2 WHERE id = 4;
SELECT count(*) > 0 AS changed FROM (TABLE quadrants EXCEPT ALL TABLE rl_quadrants) d;

SET client_min_messages = error;
DROP SCHEMA igpo CASCADE;

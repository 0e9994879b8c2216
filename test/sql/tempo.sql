-- tempo: the worked case, and random prefix trees against plain SQL and against history_states.
CREATE SCHEMA tempo;
SET search_path = tempo, stepadv, public;
\set VERBOSITY terse

CREATE FUNCTION off(got float8, expected float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS
$$ SELECT got IS NULL OR expected IS NULL OR abs(got - expected) > 1e-9 * greatest(1, abs(expected)) $$;

-- a b c with 1, a b d and a e with nothing; states play no part
CREATE TABLE x AS SELECT rollout_agg(id, rollout, no, id % 2, ascii(action), reward) AS g FROM (VALUES
	(1, 1, 0, 'a', 0::float8), (2, 1, 1, 'b', 0), (3, 1, 2, 'c', 1), (4, 2, 0, 'a', 0), (5, 2, 1, 'b', 0), (6, 2, 2, 'd', 0),
	(7, 3, 0, 'a', 0), (8, 3, 1, 'e', 0)) v(id, rollout, no, action, reward);
SELECT count(*) FILTER (WHERE off(a.advantage, v.expected)) AS off, count(*) AS steps
FROM x, tempo(g) a JOIN unnest('{1.1546985383827155,1.4433731729783945,2.020722442169752,-0.5773492691913577,-0.28867463459567877,-1.443373172978394,-0.5773492691913577,-1.1546985383827153}'::float8[])
	WITH ORDINALITY v(expected, id) ON id = step_id;
-- without branches, GRPO's advantage to the last bit
SELECT bool_and(a.advantage = b.advantage) AS same, count(*) FROM x, tempo(g) a JOIN x y ON true, grpo(y.g) b WHERE b.step_id = a.step_id AND a.value = a.next_value;
-- one rollout; equal returns whose mean is not exact
SELECT DISTINCT a.advantage FROM (SELECT rollout_agg(i, 1, i, 1, i, i) g FROM generate_series(1, 3) i) y, tempo(g) a;
SELECT DISTINCT a.value = a.next_value AS flat, a.advantage FROM (SELECT rollout_agg(i, i, 0, 1, 1, 0.1) g FROM generate_series(1, 7) i) y, tempo(g) a;

-- Random trees: rollouts that end inside others, steps without an action, outcomes apart, rollouts without a step, not judged.
CREATE TABLE s AS
SELECT k AS grp, r AS rollout, t AS no, (k * 1000 + r * 20 + t)::bigint AS id, CASE WHEN h % 19 > 0 THEN h % 2 END AS action,
	CASE WHEN r < 9 THEN CASE WHEN t = 0 THEN (r * 5 + k) % 7 / 4.0 ELSE 0.25 END END::float8 AS reward
FROM generate_series(1, 20) k, generate_series(1, 9) r, generate_series(0, (k * r) % 6) t,
	LATERAL (SELECT abs(signature_hash(format('%s:%s:%s', k, r, t)) % 1000003) AS h) h;
INSERT INTO s SELECT k, r, NULL, NULL, NULL, r - 9.5 FROM generate_series(1, 20) k, generate_series(8, 10) r WHERE r <> 9;
CREATE TABLE groups AS SELECT grp, rollout_agg(id, rollout, no, NULL, action, reward, NULL, 1, NULL, NULL, NULL) AS g FROM s GROUP BY grp;
CREATE TABLE judged AS SELECT grp, rollout, sum(reward) AS total FROM s GROUP BY 1, 2 HAVING count(reward) > 0;
CREATE TABLE prefix AS
SELECT grp, rollout, id, p, (SELECT array_agg(coalesce(o.action, -o.id) ORDER BY o.no) FROM s o WHERE (o.grp, o.rollout) = (s.grp, s.rollout) AND o.no < s.no + p) AS actions
FROM s, generate_series(0, 1) p WHERE no IS NOT NULL AND reward IS NOT NULL;
CREATE TABLE value AS
WITH each AS (SELECT DISTINCT grp, rollout, actions FROM prefix UNION SELECT grp, rollout, NULL FROM judged)
SELECT grp, actions, avg(total) AS v FROM each JOIN judged USING (grp, rollout) GROUP BY grp, actions;
CREATE TABLE statistics AS SELECT grp, avg(total) AS mean, stddev_samp(total) AS sd FROM judged GROUP BY grp;
SELECT v.normalise, count(*) AS steps, count(*) FILTER (WHERE a.value <> a.next_value) > 100 AS many_branch,
	count(*) FILTER (WHERE off(a.return, j.total)) AS off_return, count(*) FILTER (WHERE off(a.value, b.v) OR off(a.next_value, n.v)) AS off_value,
	count(*) FILTER (WHERE off(a.advantage, CASE v.normalise WHEN 'std' THEN (j.total - mean + n.v - b.v) / (sd + 0.25)
		WHEN 'mean' THEN j.total - mean + n.v - b.v ELSE j.total + n.v - b.v END)) AS off
FROM groups g, (VALUES ('std'), ('mean'), ('none')) v(normalise), tempo(g.g, normalise => v.normalise, epsilon => 0.25) a, judged j, statistics t,
	prefix p, prefix q, value b, value n
WHERE j.grp = g.grp AND j.rollout = a.rollout_id AND t.grp = g.grp AND (p.id, p.p) = (a.step_id, 0) AND (q.id, q.p) = (a.step_id, 1)
	AND b.grp = g.grp AND b.actions IS NOT DISTINCT FROM p.actions AND n.grp = g.grp AND n.actions = q.actions
GROUP BY v.normalise ORDER BY v.normalise DESC;
-- the tree is that of history_states: mean returns by its states and next states are the values
SELECT count(*) AS steps, count(*) FILTER (WHERE off(a.next_value, w.v)) AS off
FROM groups g, tempo(g.g) a, steps(history_states(g.g)) h, LATERAL (
	SELECT avg(j.total) AS v FROM judged j WHERE j.grp = g.grp AND EXISTS (
		SELECT FROM steps(history_states(g.g)) o WHERE o.rollout_id = j.rollout AND o.next_state = h.next_state)) w
WHERE h.step_id = a.step_id AND a.rollout_id < 9 AND g.grp <= 5;
SELECT count(*) > 0 AS there, count(a.value) + count(a.next_value) + count(a.advantage) AS known FROM groups, tempo(g) a WHERE rollout_id = 9;

SELECT a.* FROM x, tempo(g, epsilon => -1) a;
SELECT a.* FROM x, tempo(g, normalise => 'dr') a;
SELECT count(*) FROM tempo(NULL);

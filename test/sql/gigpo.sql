-- gigpo: worked cases, every option against a plain SQL computation, refusals.
CREATE SCHEMA gigpo;
SET search_path = gigpo, stepadv, public;
\set VERBOSITY terse

CREATE FUNCTION off(got float8, expected float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS
$$ SELECT got IS NULL OR expected IS NULL OR abs(got - expected) > 1e-9 * greatest(1, abs(expected)) $$;

-- Two rollouts: s0 s1 s2 with 10 at the end, s0 s1 with nothing. One row per case: the expected advantages.
CREATE TABLE x AS SELECT rollout_agg(id, rollout, no, state, NULL, reward) AS g FROM (VALUES
	(1, 1, 0, 0, 0::float8), (2, 1, 1, 1, 0), (3, 1, 2, 2, 10), (4, 2, 0, 0, 0), (5, 2, 1, 1, 0)) v(id, rollout, no, state, reward);
CREATE TABLE expected (case_id text, normalise text, weighting text, episode float8[], step float8[], total float8[]);
INSERT INTO expected VALUES
	('gigpo_mean_cross_steps', 'mean', 'step', '{4,4,4,-6,-6}', '{4.5125,4.75,0,-4.5125,-4.75}', '{8.5125,8.75,4,-10.5125,-10.75}'),
	('gigpo_mean_traj_once', 'mean', 'rollout', '{5,5,5,-5,-5}', '{4.5125,4.75,0,-4.5125,-4.75}', '{9.5125,9.75,5,-9.5125,-9.75}'),
	('gigpo_std_cross_steps', 'std', 'step',
		'{0.7302966100069125,0.7302966100069125,0.7302966100069125,-1.0954449150103687,-1.0954449150103687}',
		'{0.7071066703832408,0.7071066759234053,0,-0.7071066703832408,-0.7071066759234053}',
		'{1.4374032803901533,1.4374032859303179,0.7302966100069125,-1.8025515853936094,-1.802551590933774}'),
	('gigpo_std_traj_once', 'std', 'rollout',
		'{0.7071066811865616,0.7071066811865616,0.7071066811865616,-0.7071066811865616,-0.7071066811865616}',
		'{0.7071066703832408,0.7071066759234053,0,-0.7071066703832408,-0.7071066759234053}',
		'{1.4142133515698023,1.4142133571099669,0.7071066811865616,-1.4142133515698023,-1.4142133571099669}');
SELECT case_id, count(*) FILTER (WHERE off(a.episode_advantage, episode[step_id]) OR off(a.step_advantage, step[step_id])
	OR off(a.advantage, total[step_id])) AS off, count(*) AS steps
FROM x, expected e, gigpo(g, normalise => e.normalise, weighting => e.weighting) a GROUP BY case_id ORDER BY case_id;

-- verl's noise: 8 equal returns in one state have advantage 0, not -0.47
SELECT DISTINCT n_state, a.episode_advantage, a.step_advantage, a.advantage
FROM (SELECT rollout_agg(i, i, 0, 1, 1, 9.025) g FROM generate_series(1, 8) i) y, gigpo(g) a;

-- Random groups: few states (some NULL), uneven rollouts, rewards on the way, outcomes in rows of their own, rollouts not judged.
CREATE TABLE s AS
SELECT k AS grp, r AS rollout, t AS no, (k * 1000 + r * 20 + t)::bigint AS id,
	CASE WHEN h % 11 > 0 THEN h % 4 END AS state, h % 3 AS action,
	CASE WHEN r % 5 > 0 AND (h / 7) % 3 > 0 THEN ((h / 3) % 9 - 4) / 4.0::float8 END AS reward
FROM generate_series(1, 12) k, generate_series(1, 9) r, generate_series(0, 2 + (k * r) % 11) t,
	LATERAL (SELECT abs(signature_hash(format('%s %s %s', k, r, t)) % 1000003) AS h) h;
INSERT INTO s SELECT k, r, NULL, NULL, NULL, NULL, r / 8.0 FROM generate_series(1, 12, 2) k, generate_series(1, 9, 2) r WHERE r <> 5;
CREATE TABLE groups AS SELECT grp, rollout_agg(id, rollout, no, state, action, reward) AS g FROM s GROUP BY grp;

-- gamma 0.5: its powers are exact.  A window from the step on gives the return.
CREATE VIEW reference AS
WITH judged AS (
	SELECT grp, rollout, sum(reward) AS total, count(no) AS n, coalesce(sum(reward) FILTER (WHERE no IS NULL), 0) AS outcome
	FROM s GROUP BY grp, rollout HAVING count(reward) > 0),
steps AS (
	SELECT s.*, j.total, j.n,
		sum((coalesce(reward, 0) + CASE WHEN no = j.n - 1 THEN outcome ELSE 0 END) * 0.5 ^ no) OVER from_on / 0.5 ^ no AS ret,
		row_number() OVER (PARTITION BY s.grp, s.state, s.rollout ORDER BY no) = 1 OR state IS NULL AS first_visit,
		coalesce(state, id + 1000) AS node
	FROM s JOIN judged j USING (grp, rollout) WHERE no IS NOT NULL
	WINDOW from_on AS (PARTITION BY s.grp, s.rollout ORDER BY no ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)),
episode AS (
	SELECT grp, avg(total) AS once_mean, stddev_samp(total) AS once_sd,
		sum(total * n) / sum(n) AS step_mean,
		sqrt((sum(n * total * total) - sum(n * total) ^ 2 / sum(n)) / (sum(n) - 1)) AS step_sd
	FROM judged GROUP BY grp)
SELECT t.grp, t.id, t.ret, (t.total - once_mean) AS once_centred, once_sd, (t.total - step_mean) AS step_centred, step_sd,
	count(*) OVER w AS n_every, t.ret - avg(t.ret) OVER w AS every_centred, stddev_samp(t.ret) OVER w AS every_sd,
	count(*) FILTER (WHERE first_visit) OVER w AS n_first,
	t.ret - avg(t.ret) FILTER (WHERE first_visit) OVER w AS first_centred,
	stddev_samp(t.ret) FILTER (WHERE first_visit) OVER w AS first_sd
FROM steps t JOIN episode USING (grp) WINDOW w AS (PARTITION BY t.grp, t.node);

SELECT count(*) AS steps, count(*) FILTER (WHERE n_every > 1) AS shared,
	count(*) FILTER (WHERE off(a.return, r.ret)) AS off_return,
	count(*) FILTER (WHERE a.n_state <> r.n_every) AS off_n,
	count(*) FILTER (WHERE off(a.episode_advantage, once_centred / (once_sd + 1e-6))) AS off_episode,
	count(*) FILTER (WHERE off(a.step_advantage, CASE WHEN n_every = 1 OR every_sd < 1e-12 THEN 0 ELSE every_centred / (every_sd + 1e-6) END)) AS off_step,
	count(*) FILTER (WHERE off(a.advantage, a.episode_advantage + a.step_advantage)) AS off_total
FROM groups, gigpo(g, gamma => 0.5) a JOIN reference r ON r.id = a.step_id;
SELECT count(*) FILTER (WHERE off(a.episode_advantage, step_centred / (step_sd + 0.25))) AS off_episode,
	count(*) FILTER (WHERE a.n_state <> r.n_first) AS off_n,
	count(*) FILTER (WHERE n_first > 1 AND first_sd > 1e-12 AND off(a.step_advantage, first_centred / (first_sd + 0.25))) AS off_step,
	count(*) FILTER (WHERE n_first = 1 AND a.step_advantage <> 0) AS off_single,
	count(*) FILTER (WHERE off(a.advantage, a.episode_advantage - 2 * a.step_advantage)) AS off_total
FROM groups, gigpo(g, gamma => 0.5, epsilon => 0.25, weighting => 'step', visit => 'first', step_weight => -2) a
JOIN reference r ON r.id = a.step_id;
SELECT count(*) FILTER (WHERE off(a.episode_advantage, once_centred)) AS off_episode,
	count(*) FILTER (WHERE off(a.step_advantage, CASE WHEN n_every = 1 THEN 0 ELSE every_centred END)) AS off_step
FROM groups, gigpo(g, gamma => 0.5, normalise => 'mean') a JOIN reference r ON r.id = a.step_id;
SELECT count(*) FILTER (WHERE off(a.step_advantage, CASE WHEN n_every = 1 THEN 0 ELSE r.ret END)) AS off_step
FROM groups, gigpo(g, gamma => 0.5, normalise => 'none') a JOIN reference r ON r.id = a.step_id;
-- the steps of rollouts that are not judged are there, and NULL
SELECT count(*) > 0 AS there, count(a.return) + count(a.n_state) + count(a.advantage) AS known
FROM groups, gigpo(g) a WHERE a.rollout_id = 5;
SELECT count(*) FROM groups, gigpo(g) a WHERE a.advantage IS NULL AND a.rollout_id <> 5;

-- A lone rollout of return 3: verl's code keeps it, divided by 1 + epsilon; the step part is 0 where a state was seen once. Alone also among unjudged
-- rollouts; counted by step it is not alone, and all steps are alike.
SELECT n, normalise, weighting, a.episode_advantage, a.step_advantage, a.advantage
FROM (VALUES (1), (3)) c(n), (VALUES ('std', 'rollout'), ('mean', 'rollout'), ('none', 'rollout'), ('std', 'step')) o(normalise, weighting),
	LATERAL (SELECT rollout_agg(i * 2 + k, i, k, k, 1, CASE i * 2 + k WHEN 3 THEN 3 END) g FROM generate_series(1, n) i, generate_series(0, 1) k) y,
	gigpo(g, normalise => normalise, weighting => weighting, epsilon => 0.5, singleton => 'raw') a
WHERE a.step_id = 2 ORDER BY n, normalise DESC, weighting;
-- and is 0 by default; several rollouts are never alone
SELECT a.advantage FROM (SELECT rollout_agg(1, 1, 0, 1, 1, 3) g) y, gigpo(g) a;
SELECT count(*) AS differ FROM (SELECT a.* FROM groups, gigpo(g, singleton => 'raw') a EXCEPT ALL SELECT a.* FROM groups, gigpo(g) a) d;

SELECT a.* FROM x, gigpo(g, gamma => 1.5) a;
SELECT a.* FROM x, gigpo(g, step_weight => 'NaN') a;
SELECT a.* FROM x, gigpo(g, visit => 'last') a;
SELECT a.* FROM x, gigpo(g, normalise => 'sd') a;
SELECT a.* FROM x, gigpo(g, singleton => 'one') a;
SELECT count(*) FROM gigpo(NULL) a;
SELECT a.* FROM (SELECT rollout_agg(i, i, 0, 1, 1, i * 1e308) g FROM generate_series(-1, 1) i) y, gigpo(g) a;
SELECT a.* FROM (SELECT rollout_agg(i, 1, i, 1, 1, 1.5e308) g FROM generate_series(0, 1) i) y, gigpo(g) a;

-- graphgpo: worked cases, conventions against plain SQL, proposition 4.1, the trainer's penalty on single rows, edge cases.
CREATE SCHEMA graphgpo;
SET search_path = graphgpo, stepadv, public;
\set VERBOSITY terse

CREATE FUNCTION off(got float8, expected float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS
$$ SELECT got IS NULL OR expected IS NULL OR abs(got - expected) > 1e-9 * greatest(1, abs(expected)) $$;

-- T1 s0 s1 s2 s1 SUCCESS and T2 s0 s2 s3; T3 down from n8 to success and T4 a loop on n8; two failures.
CREATE TABLE walk (name text, id bigint, rollout bigint, no integer, state bigint, success boolean, next_state bigint);
INSERT INTO walk VALUES
	('short', 1, 1, 0, 0, true, NULL), ('short', 2, 1, 1, 1, NULL, NULL), ('short', 3, 1, 2, 2, NULL, NULL), ('short', 4, 1, 3, 1, NULL, NULL),
	('short', 5, 2, 0, 0, false, NULL), ('short', 6, 2, 1, 2, NULL, 3),
	('failed', 1, 1, 0, 0, false, NULL), ('failed', 2, 1, 1, 1, NULL, 0), ('failed', 3, 2, 0, 0, false, 2);
INSERT INTO walk SELECT 'deep', n, 3, n, 9 - n, true, NULL FROM generate_series(1, 8) n;
INSERT INTO walk VALUES ('deep', 9, 4, 0, 8, false, 8);
CREATE VIEW groups AS
SELECT name, rollout_agg(id, rollout, no, state, id, 0, success, next_state, NULL, NULL, NULL) AS g FROM walk GROUP BY name;

CREATE TABLE expected (case_id text, name text, convention text, reward float8[], advantage float8[]);
INSERT INTO expected VALUES
	('graphgpo_reference', 'short', 'recipe', '{1,0.1,1,10,0.1,0.01}',
		'{0.7071056700771823,-0.7071066801764609,0.7071057710869803,0.7071066801764609,-0.7071056700771824,-0.7071057710869803}'),
	('graphgpo_paper', 'short', 'paper', '{0.1,0.01,0.1,1,0.01,0.001}',
		'{0.707095670250028,-0.7071057710869803,0.7070966803207372,0.7071057710869803,-0.7070956702500278,-0.7070966803207372}'),
	('graphgpo_no_success', 'failed', 'recipe', '{1,1,1}', '{0,0,0}'),
	('graphgpo_deep_reference', 'deep', 'recipe', '{1e-6,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1e-7}',
		'{0.2749945438982324,0,0,0,0,0,0,0,-0.27499454389823247}'),
	('graphgpo_deep_paper', 'deep', 'paper', '{1e-7,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1e-8}',
		'{0.04230756316702094,0,0,0,0,0,0,0,-0.042307563167020945}');
SELECT case_id, count(*) FILTER (WHERE off(a.graph_advantage, e.advantage[step_id]) OR e.reward[step_id] IS NOT NULL
	AND abs(a.step_reward - e.reward[step_id]) > 1e-15 * greatest(1, e.reward[step_id])) AS off, count(*) AS steps
FROM expected e JOIN groups USING (name), graphgpo(g, convention => e.convention) a GROUP BY case_id ORDER BY case_id;
SELECT step_id, distance, next_distance FROM groups, graphgpo(g) WHERE name = 'short';
SELECT min(a.distance), max(a.next_distance), sum(abs(a.advantage)) FROM groups, graphgpo(g) a WHERE name = 'failed';

-- Random graphs with costs: conventions, weights and options against plain SQL over graph_nodes().
CREATE TABLE s AS
SELECT k AS grp, r AS rollout, t AS no, (k * 1000 + r * 20 + t)::bigint AS id, CASE WHEN h % 13 > 0 THEN h % (3 + k % 5) END AS state,
	CASE WHEN k % 2 = 0 AND h % 3 > 0 THEN (1 + h / 7 % 8) / 4.0 END AS cost,
	CASE WHEN r < 7 THEN CASE WHEN t = 0 THEN (r <= k % 4)::integer * 2 - r * 0.25 + 0.5 ELSE 0.125 END END::float8 AS reward,
	t = 2 + (k * r) % 9 AS last
FROM generate_series(1, 24) k, generate_series(1, 7) r, generate_series(0, 2 + (k * r) % 9) t,
	LATERAL (SELECT abs(signature_hash(format('%s/%s/%s', k, r, t)) % 1000003) AS h) h;
CREATE TABLE folded AS
SELECT grp, rollout_agg(id, rollout, no, state, no, reward, NULL, CASE WHEN last AND rollout % 2 = 0 THEN 1 END, NULL, NULL, cost) AS g FROM s GROUP BY grp;
CREATE TABLE judged AS
SELECT grp, rollout, sum(reward) AS total, sum(reward) > 0.75 AS success, count(*) AS n FROM s GROUP BY 1, 2 HAVING count(reward) > 0;
CREATE TABLE known AS SELECT grp, d.state, d.distance FROM folded, graph_nodes(g, success_above => 0.75) d WHERE state IS NOT NULL;
CREATE TABLE edge AS
SELECT s.grp, s.id, coalesce(s.state, s.id + 100000) AS node, coalesce(s.cost, 1) AS c, j.total, j.n,
	CASE WHEN s.last THEN CASE WHEN j.success THEN 0 ELSE e.distance END ELSE n.distance END AS next_distance
FROM s JOIN judged j USING (grp, rollout)
LEFT JOIN known n ON n.grp = s.grp AND NOT s.last AND n.state = (SELECT o.state FROM s o WHERE o.id = s.id + 1)
LEFT JOIN known e ON e.grp = s.grp AND s.last AND s.rollout % 2 = 0 AND e.state = 1;
-- the distance of a NULL state belongs to its own step only
UPDATE edge SET next_distance = n.c + n.next_distance FROM s, edge n
WHERE s.id = edge.id AND NOT s.last AND n.id = edge.id + 1 AND n.node > 100000 AND n.next_distance IS NOT NULL;
UPDATE edge SET next_distance = n.c + n.next_distance FROM s, edge n
WHERE s.id = edge.id AND NOT s.last AND n.id = edge.id + 1 AND n.node > 100000 AND n.next_distance IS NOT NULL;
CREATE VIEW reference AS
WITH d AS (
	SELECT e.*, min(c + next_distance) OVER (PARTITION BY grp, node) AS distance FROM edge e),
f AS (SELECT d.*, 1 + coalesce(max(distance) OVER (PARTITION BY grp), 0) AS beyond, coalesce(bool_or(next_distance = 0) OVER (PARTITION BY grp), false) AS goal FROM d),
x AS (
	SELECT f.*, v.*, p.* FROM f, (VALUES ('paper'), ('recipe'), ('progress')) v(convention), LATERAL (SELECT coalesce(next_distance, beyond) +
		CASE convention WHEN 'paper' THEN c WHEN 'recipe' THEN 0 ELSE 1 - coalesce(distance, beyond) END AS exponent) p)
SELECT grp, id, convention, distance, next_distance, goal, 3 * 0.5 ^ exponent AS reward, count(*) OVER w AS n_state,
	CASE WHEN NOT goal OR min(exponent) OVER w = max(exponent) OVER w THEN 0
		ELSE (3 * 0.5 ^ exponent - avg(3 * 0.5 ^ exponent) OVER w) / (stddev_samp(3 * 0.5 ^ exponent) OVER w + 0.01) END AS advantage
FROM x WINDOW w AS (PARTITION BY grp, convention, node);
CREATE VIEW episode AS
SELECT grp, rollout, (total - avg(total) OVER w) / (stddev_samp(total) OVER w + 0.01) AS by_rollout,
	(total - sum(total * n) OVER w / sum(n) OVER w) /
		(sqrt((sum(n * total * total) OVER w - (sum(n * total) OVER w) ^ 2 / sum(n) OVER w) / (sum(n) OVER w - 1)) + 0.01) AS by_step
FROM judged WINDOW w AS (PARTITION BY grp);
SELECT r.convention, count(*) AS steps, count(*) FILTER (WHERE a.distance IS NULL) > 0 AS some_without_way, count(*) FILTER (WHERE NOT goal) > 0 AS some_without_goal,
	count(*) FILTER (WHERE a.distance IS DISTINCT FROM r.distance OR a.next_distance IS DISTINCT FROM r.next_distance) AS off_distance,
	count(*) FILTER (WHERE off(a.step_reward, r.reward)) AS off_reward,
	count(*) FILTER (WHERE a.n_state <> r.n_state) AS off_n,
	count(*) FILTER (WHERE off(a.graph_advantage, r.advantage)) AS off_graph,
	count(*) FILTER (WHERE off(a.episode_advantage, CASE r.convention WHEN 'paper' THEN e.by_rollout ELSE e.by_step END)) AS off_episode,
	count(*) FILTER (WHERE off(a.advantage, 2 * a.graph_advantage - 0.5 * a.episode_advantage)) AS off_total
FROM folded JOIN reference r USING (grp),
	graphgpo(g, discount => 0.5, success_reward => 3, graph_weight => 2, episode_weight => -0.5, epsilon => 0.01, convention => r.convention,
		weighting => CASE r.convention WHEN 'paper' THEN 'rollout' ELSE 'step' END, success_above => 0.75) a
JOIN episode e ON e.rollout = a.rollout_id
WHERE a.step_id = r.id AND e.grp = folded.grp GROUP BY r.convention ORDER BY r.convention;
SELECT count(*) > 0 AS there, count(a.distance) + count(a.step_reward) + count(a.n_state) + count(a.advantage) AS known
FROM folded, graphgpo(g) a WHERE rollout_id = 7;

-- Other normalisers and other epsilons, of the same rewards, against plain SQL
SELECT o.normalise, o.epsilon_scale, count(*) AS steps,
	count(*) FILTER (WHERE off(a.graph_advantage, CASE WHEN NOT x.goal OR x.n_state = 1 THEN 0 WHEN o.normalise = 'none' THEN x.reward WHEN low = high THEN 0
		WHEN o.normalise = 'mean' THEN x.reward - mean
		ELSE (x.reward - mean) / (sd + 0.01 * CASE o.epsilon_scale WHEN 'group' THEN spread WHEN 'state' THEN high ELSE 1 END) END)) AS off_graph,
	count(*) FILTER (WHERE off(a.episode_advantage, CASE o.normalise WHEN 'std' THEN e.by_rollout WHEN 'mean' THEN e.centred ELSE e.total END)) AS off_episode,
	count(*) FILTER (WHERE off(a.advantage, a.graph_advantage + a.episode_advantage)) AS off_total
FROM (VALUES ('mean', 'none'), ('none', 'none'), ('std', 'none'), ('std', 'group'), ('std', 'state')) o(normalise, epsilon_scale), folded
JOIN (SELECT r.*, stddev_samp(reward) OVER g AS spread, avg(reward) OVER w AS mean, stddev_samp(reward) OVER w AS sd, min(reward) OVER w AS low, max(reward) OVER w AS high
	FROM reference r JOIN edge USING (grp, id) WHERE convention = 'paper' WINDOW g AS (PARTITION BY grp), w AS (PARTITION BY grp, node)) x USING (grp),
	graphgpo(g, discount => 0.5, success_reward => 3, epsilon => 0.01, success_above => 0.75, normalise => o.normalise, epsilon_scale => o.epsilon_scale) a
JOIN (SELECT grp, rollout, by_rollout, total, total - avg(total) OVER (PARTITION BY grp) AS centred FROM episode JOIN judged USING (grp, rollout)) e ON e.rollout = a.rollout_id
WHERE a.step_id = x.id AND e.grp = folded.grp GROUP BY 1, 2 ORDER BY 1, 2;
-- graph_edges shows the same
SELECT count(*) > 300 AS edges, count(*) FILTER (WHERE off(e.graph_advantage, a.graph_advantage)) AS off
FROM folded, (VALUES ('mean', 'none'), ('std', 'state')) o(normalise, epsilon_scale),
	graph_edges(g, success_above => 0.75, normalise => o.normalise, epsilon_scale => o.epsilon_scale) e
	JOIN graphgpo(g, success_above => 0.75, normalise => o.normalise, epsilon_scale => o.epsilon_scale) a USING (step_id) WHERE e.n_visits = 1;
-- Seven and eight steps from the goal with discount 0.1: rewards of 1e-6 and 1e-7 (the paper: a tenth). An epsilon of 1e-6, absolute or relative to the group's spread,
-- hides their difference; relative to their own size it remains: 0.45 / (0.9 / sqrt(2) + 1e-6).
SELECT o.epsilon_scale, convention, a.step_id, round(a.graph_advantage::numeric, 6) AS graph_advantage
FROM groups, (VALUES (1, 'none'), (2, 'group'), (3, 'state')) o(i, epsilon_scale), (VALUES ('recipe'), ('paper')) c(convention),
	graphgpo(g, convention => convention, epsilon_scale => o.epsilon_scale) a
WHERE name = 'deep' AND step_id IN (1, 9) ORDER BY o.i, convention DESC, step_id;
SELECT count(*) FILTER (WHERE off(a.graph_advantage, 0.45 / (0.9 / sqrt(2.0) + 1e-6))) AS off FROM groups, graphgpo(g, epsilon_scale => 'state') a WHERE name = 'deep' AND step_id = 1;
-- Rewards that differ only by rounding of sums of costs count as equal; epsilon => 0 would divide by that difference
SELECT o.epsilon, o.epsilon_scale, round(max(abs(a.graph_advantage))::numeric, 3) AS most
FROM (SELECT rollout_agg(r * 10 + k, r, k, CASE k WHEN 1 THEN 0 ELSE r * 10 + k END, r * 10 + k, NULL, k = 4 OR NULL, NULL, NULL, NULL, c[k]) g
	FROM (VALUES (1, ARRAY[1, 0.1, 0.2, 0.3]::float8[]), (2, ARRAY[1, 0.3, 0.2, 0.1])) v(r, c), generate_series(1, 4) k) y,
	(VALUES (0::float8, 'none'), (1e-6, 'state')) o(epsilon, epsilon_scale), graphgpo(g, convention => 'recipe', epsilon => o.epsilon, epsilon_scale => o.epsilon_scale) a
WHERE a.n_state = 2 GROUP BY 1, 2 ORDER BY 1;

-- Proposition 4.1: of two steps from one state, the one that ends closer to the goal, its cost included, has the higher advantage; as close, the same.
SELECT count(*) > 1000 AS pairs, count(*) FILTER (WHERE sign(x.advantage - y.advantage) <> sign(b.total - a.total)) AS against
FROM (SELECT f.grp, e.node, e.id, coalesce(e.next_distance, beyond) + e.c AS total FROM edge e JOIN folded f USING (grp),
	LATERAL (SELECT 1 + max(distance) AS beyond FROM reference r WHERE r.grp = f.grp) m) a
JOIN (SELECT f.grp, e.node, e.id, coalesce(e.next_distance, beyond) + e.c AS total FROM edge e JOIN folded f USING (grp),
	LATERAL (SELECT 1 + max(distance) AS beyond FROM reference r WHERE r.grp = f.grp) m) b USING (grp, node)
JOIN LATERAL (SELECT graph_advantage AS advantage FROM folded, graphgpo(g, discount => 0.5, success_above => 0.75) q WHERE folded.grp = a.grp AND q.step_id = a.id) x ON true
JOIN LATERAL (SELECT graph_advantage AS advantage FROM folded, graphgpo(g, discount => 0.5, success_above => 0.75) q WHERE folded.grp = b.grp AND q.step_id = b.id) y ON true
WHERE a.id < b.id AND a.grp <= 8;

-- The recipe's trainer subtracts a penalty from single rows after the graph, so rows of a rollout differ. That is a second fold: each row is a rollout of its own, in gigpo.
-- A: s0 s1 s2 success, its second step invalid; B: s0 and into s1.
CREATE TABLE penal AS
SELECT a.step_id, w.state, w.score - penalty AS score, a.step_reward - penalty AS step_reward
FROM (VALUES (1, 1, 0, 0, true, 10::float8, 0::float8), (2, 1, 1, 1, NULL, 10, 0.1), (3, 1, 2, 2, NULL, 10, 0), (4, 2, 0, 0, false, 0, 0)) w(id, rollout, no, state, success, score, penalty),
	(SELECT rollout_agg(id, rollout, no, state, no, 0, success, CASE id WHEN 4 THEN 1 END, NULL, NULL, NULL) AS g
		FROM (VALUES (1, 1, 0, 0, true), (2, 1, 1, 1, NULL), (3, 1, 2, 2, NULL), (4, 2, 0, 0, false)) v(id, rollout, no, state, success)) x,
	graphgpo(g, convention => 'recipe') a WHERE a.step_id = w.id;
SELECT step_id, score::numeric, round(step_reward::numeric, 12) AS step_reward FROM penal ORDER BY step_id;
-- graphgpo_recipe_row_penalty
SELECT bool_and(NOT off(e.episode_advantage, expected) AND s.step_advantage = 0 AND NOT off(e.episode_advantage + s.step_advantage, expected)) AS as_expected, count(*)
FROM (SELECT rollout_agg(step_id, step_id, 0, state, 1, score) AS scores, rollout_agg(step_id, step_id, 0, state, 1, step_reward) AS rewards FROM penal) x,
	gigpo(scores) e, gigpo(rewards) s,
	unnest('{0.5066661926709383,0.4866002048423863,0.5066661926709383,-1.4999325901842624}'::float8[]) WITH ORDINALITY v(expected, id)
WHERE e.step_id = v.id AND s.step_id = v.id;

-- A success without a step is no path to the goal: equal rewards, so 0.  A goal reached in one step.
SELECT a.* FROM (SELECT rollout_agg(i, i, CASE WHEN i > 1 THEN 0 END, i % 2, i, 0, i = 1) g FROM generate_series(1, 4) i) x, graphgpo(g) a;
SELECT a.* FROM (SELECT rollout_agg(i, i, 0, 1, i, 0, i <= 2) g FROM generate_series(1, 4) i) x, graphgpo(g, episode_weight => 0, epsilon => 0) a;
-- discount at its ends
SELECT discount, a.step_id, step_reward, graph_advantage FROM groups, (VALUES (0), (1)) d(discount), graphgpo(g, discount => discount, convention => 'recipe', epsilon => 0) a
WHERE name = 'short' AND step_id IN (1, 4, 5) ORDER BY 1, 2;

SELECT a.* FROM groups, graphgpo(g, discount => -0.1) a;
SELECT a.* FROM groups, graphgpo(g, success_reward => 'Infinity') a;
SELECT a.* FROM groups, graphgpo(g, convention => 'reference') a;
SELECT a.* FROM groups, graphgpo(g, normalise => 'sd') a;
SELECT a.* FROM groups, graphgpo(g, epsilon_scale => 'batch') a;
SELECT count(*) FROM groups, graphgpo(g, epsilon => NULL) a;
-- progress: a step back from far away at such a cost that its reward is not a finite number
SELECT a.* FROM (SELECT rollout_agg(i, 1, i, i, i, 0, true, NULL, NULL, NULL, CASE i WHEN 1 THEN 1e6 END) g FROM generate_series(1, 2) i) x, graphgpo(g, convention => 'progress') a;
SELECT a.* FROM (SELECT rollout_agg(i, i, 0, 1, i, 0, i = 1) g FROM generate_series(1, 10) i) x, graphgpo(g, graph_weight => 1e308) a;

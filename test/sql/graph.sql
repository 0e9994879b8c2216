-- The state graph: nodes, edges, distances, contribution, by hand, against plain SQL, on the simulator, and errors.
CREATE SCHEMA graph;
SET search_path = graph, stepadv, public;
\set VERBOSITY terse

-- Rollout 1 succeeds by 1 2 2 3 1 4, 2 fails by 1 5 and ends in 6, 3 fails by 1 5 somewhere, 4 succeeds from
-- a state that is NULL and then 7, cheaply; 5 has no step, 6 is not judged (it would lead from 5 to 4).
CREATE TABLE step (id bigint, rollout bigint, no integer, state bigint, action bigint, reward float8, success boolean, next_state bigint, cost float8);
INSERT INTO step VALUES
	(10, 1, 0, 1, 1, 0, true, 2, NULL), (11, 1, 1, 2, 1, 0, NULL, 2, NULL), (12, 1, 2, 2, 2, 0, NULL, 3, NULL),
	(13, 1, 3, 3, 1, 0, NULL, 1, 4), (14, 1, 4, 1, 2, 0, NULL, 4, 3), (15, 1, 5, 4, 1, 0, NULL, 99, NULL),
	(20, 2, 0, 1, 3, 0, false, 5, NULL), (21, 2, 1, 5, 1, 0, NULL, 6, NULL),
	(30, 3, 0, 1, 3, 0, false, NULL, 2), (31, 3, 1, 5, 1, 0, NULL, NULL, NULL),
	(40, 4, 0, NULL, 4, 0, true, 7, NULL), (41, 4, 1, 7, NULL, 1, NULL, 98, 0.5),
	(50, 5, NULL, NULL, NULL, 0, NULL, NULL, NULL),
	(60, 6, 0, 5, 1, NULL, NULL, 4, NULL), (61, 6, 1, 4, 1, NULL, NULL, NULL, NULL);
CREATE VIEW hand AS SELECT rollout_agg(id, rollout, no, state, action, reward, success, next_state, NULL, NULL, cost) AS g FROM step;

-- To the goal: 4 costs 1, 1 by 4: 3 + 1, 3 by 1: 4 + 4, 2 by 3: 1 + 8; 7 costs 0.5, the NULL state 1 more.
SELECT n.* FROM hand, graph_nodes(g) n;
-- Reading only some columns gives the same.
SELECT visits IS NOT DISTINCT FROM n_visits AS n_visits, rollouts IS NOT DISTINCT FROM n_rollouts AS n_rollouts, distance IS NOT DISTINCT FROM n_distance AS distance, is_start IS NOT DISTINCT FROM n_is_start AS is_start, dead_end IS NOT DISTINCT FROM n_dead_end AS is_dead_end, on_cycle IS NOT DISTINCT FROM n_on_cycle AS on_cycle
FROM hand, LATERAL (SELECT array_agg(n.n_visits) AS n_visits, array_agg(n.n_rollouts) AS n_rollouts, array_agg(n.distance) AS n_distance, array_agg(n.is_start) AS n_is_start, array_agg(n.is_dead_end) AS n_dead_end, array_agg(n.on_cycle) AS n_on_cycle FROM graph_nodes(g) n) n
	CROSS JOIN LATERAL (SELECT array_agg(n.n_visits) AS visits FROM graph_nodes(g) n) visits
	CROSS JOIN LATERAL (SELECT array_agg(n.n_rollouts) AS rollouts FROM graph_nodes(g) n) rollouts
	CROSS JOIN LATERAL (SELECT array_agg(n.distance) AS distance FROM graph_nodes(g) n) distance
	CROSS JOIN LATERAL (SELECT array_agg(n.is_start) AS is_start FROM graph_nodes(g) n) is_start
	CROSS JOIN LATERAL (SELECT array_agg(n.is_dead_end) AS dead_end FROM graph_nodes(g) n) dead_end
	CROSS JOIN LATERAL (SELECT array_agg(n.on_cycle) AS on_cycle FROM graph_nodes(g) n) on_cycle;
-- One edge 1 -3-> 5, of least cost 1; 5 -1-> 6 and 5 -1-> somewhere are two.
SELECT state, action, next_state, n_visits, n_rollouts, cost, distance, next_distance, step_id FROM hand, graph_edges(g);
-- Unreachable counts as 9 + 1: 10 * 0.1^(d + c), and on 1 -3-> 5 the mean of those of costs 1 and 2.
SELECT state, action, step_reward::numeric FROM hand, graph_edges(g) WHERE state IN (1, 4, 5, 7);
SELECT bool_and(abs(e.step_reward - a.step_reward) < 1e-15 AND abs(e.graph_advantage - a.graph_advantage) < 1e-12) AS means_of_graphgpo, count(*)
FROM hand, graph_edges(g, discount => 0.5, convention => 'recipe', epsilon => 0.1) e, LATERAL (
	SELECT avg(a.step_reward) AS step_reward, avg(a.graph_advantage) AS graph_advantage
	FROM graphgpo(g, discount => 0.5, convention => 'recipe', epsilon => 0.1) a JOIN step s ON s.id = a.step_id
	WHERE s.state IS NOT DISTINCT FROM e.state AND s.action IS NOT DISTINCT FROM e.action
	AND (e.next_state IS NOT DISTINCT FROM (SELECT CASE WHEN a.next_distance = 0 THEN NULL WHEN n.id IS NULL THEN s.next_state ELSE n.state END
		FROM (SELECT 1) one LEFT JOIN step n ON n.rollout = s.rollout AND n.no = s.no + 1))) a;
-- 1 leaves 1 for 2 (farther), stays in 2, nears by 3, 1, 4, goal: 4 of 6
SELECT c.* FROM hand, contribution(g) c;
-- A given success takes precedence over returns: 1 and 4
SELECT count(*) FROM hand, contribution(g, success_above => 5) c WHERE success;

-- Edge cases, as walks: 'ab!, ba' is a rollout through a and b to the goal, and one through b and a.
CREATE FUNCTION shape(walks text, costs float8[] DEFAULT NULL) RETURNS rollout_group LANGUAGE sql AS
$$ SELECT rollout_agg(r * 100 + t, r, t::integer, ascii(c), t, 0, w LIKE '%!', NULL, NULL, NULL, costs[t])
	FROM regexp_split_to_table(walks, ', ') WITH ORDINALITY w(w, r), regexp_split_to_table(rtrim(w, '!'), '') WITH ORDINALITY c(c, t) $$;
CREATE FUNCTION nodes(g rollout_group) RETURNS text LANGUAGE sql AS
$$ SELECT string_agg(CASE WHEN is_goal THEN 'GOAL' ELSE chr(state::integer) END || ' ' || coalesce(distance::text, '-')
	|| CASE WHEN is_start THEN ' start' ELSE '' END || CASE WHEN is_dead_end THEN ' dead' ELSE '' END || CASE WHEN on_cycle THEN ' cycle' ELSE '' END, ', ') FROM graph_nodes(g) $$;
SELECT w, nodes(shape(w)) FROM unnest(ARRAY['a!', 'a', 'aa!', 'aa', 'ab, ba', 'ab!, ba', 'ab!, cd!', 'abcabd!', 'abcd, dbe!, ef']) w;
-- the least of many ways: a to the goal costs 5, or 1 + 1 by b
SELECT nodes(shape('a!', '{5}')), nodes(rollup(g)) FROM (SELECT shape('a!', '{5}') UNION ALL
	SELECT rollout_agg(i, 9, i, 96 + i, 1, 0, true, NULL, NULL, NULL, 1) FROM generate_series(1, 2) i) x(g);
SELECT count(*) FROM graph_nodes(NULL);
SELECT c.* FROM (SELECT rollout_agg(i, i, i, 1, 1, NULL) g FROM generate_series(1, 2) i) x, contribution(g) c;
SELECT count(*) FROM (SELECT rollout_agg(i, i, i, 1, 1, NULL) g FROM generate_series(1, 2) i) x, graph_nodes(g) c;

-- Random graphs: unit, equal and unequal costs; few states, so that there are many ways.
CREATE TABLE walk AS
SELECT k AS grp, r AS rollout, t AS no, (r * 100 + t)::bigint AS id, (h % (2 + k % 6))::bigint AS state,
	CASE k % 3 WHEN 0 THEN NULL WHEN 1 THEN 0.75 ELSE (1 + h / 7 % 12) / 4.0 END AS cost,
	t = 4 + (k + r) % 3 AS last, r <= k % 4 AS success
FROM generate_series(1, 60) k, generate_series(1, 4) r, generate_series(0, 4 + (k + r) % 3) t,
	LATERAL (SELECT abs(signature_hash(format('walk %s %s %s', k, r, t)) % 1000003) AS h) h;
CREATE TABLE walks AS SELECT grp, rollout_agg(id, rollout, no, state, no, 0, success, NULL, NULL, NULL, cost) AS g FROM walk GROUP BY grp;
CREATE TABLE edge AS
SELECT DISTINCT w.grp, w.state, coalesce(n.state, -1) AS next, coalesce(w.cost, 1)::float8 AS cost
FROM walk w LEFT JOIN walk n ON (n.grp, n.rollout, n.no) = (w.grp, w.rollout, w.no + 1)
WHERE n.id IS NOT NULL OR w.success;
-- every simple path there is
CREATE TABLE path AS
WITH RECURSIVE p(grp, state, cost, seen) AS (
	SELECT grp, state, cost, ARRAY[state] FROM edge WHERE next = -1
	UNION ALL
	SELECT e.grp, e.state, e.cost + p.cost, p.seen || e.state
	FROM p JOIN edge e ON e.grp = p.grp AND e.next = p.state WHERE e.state <> ALL (p.seen))
SELECT grp, state, min(cost) AS distance, count(*) AS paths FROM p GROUP BY grp, state;
SELECT count(*) AS states, count(p.distance) AS reached, max(p.paths) > 50 AS many_paths,
	count(*) FILTER (WHERE d.distance IS DISTINCT FROM p.distance) AS off
FROM walks w, graph_nodes(g) d LEFT JOIN LATERAL (SELECT * FROM path p WHERE (p.grp, p.state) = (w.grp, d.state)) p ON true
WHERE d.state IS NOT NULL;
-- on a cycle: in one's own transitive closure
WITH RECURSIVE reach(grp, state, other) AS (
	SELECT grp, state, next FROM edge UNION SELECT r.grp, r.state, e.next FROM reach r JOIN edge e ON e.grp = r.grp AND e.state = r.other)
SELECT count(*) FILTER (WHERE n.on_cycle) > 0 AS some, count(*) FILTER (WHERE NOT n.on_cycle) > 0 AS others,
	count(*) FILTER (WHERE n.on_cycle <> EXISTS (SELECT FROM reach r WHERE (r.grp, r.state, r.other) = (w.grp, n.state, n.state))) AS off
FROM walks w, graph_nodes(g) n WHERE NOT n.is_goal;
-- contribution follows from the distances
SELECT count(*) FILTER (WHERE c.n_contributing IS DISTINCT FROM x.n OR c.share IS DISTINCT FROM x.n / c.n_steps::float8) AS off,
	count(*) FILTER (WHERE c.n_contributing > 0 AND NOT c.success) > 0 AS failures_contribute, count(*) FILTER (WHERE c.n_contributing IS NULL) AS unknown
FROM walks w, contribution(g) c, LATERAL (
	SELECT CASE WHEN w.grp % 4 > 0 THEN count(*) FILTER (WHERE a.next_distance < a.distance) END AS n
	FROM graphgpo(w.g) a WHERE a.rollout_id = c.rollout_id) x;
-- figure 1 of the paper is a query over it: contributing steps of failed rollouts, and steps of successful ones that do not contribute
SELECT success, abs(CASE WHEN success THEN 1 - share ELSE share END - expected) < 1e-12 AS as_counted
FROM (SELECT success, sum(n_contributing)::float8 / sum(n_steps) AS share FROM walks, contribution(g) WHERE n_contributing IS NOT NULL GROUP BY success) c
JOIN (SELECT r <= grp % 4 AS success, avg((CASE WHEN r <= grp % 4 THEN a.next_distance < a.distance IS NOT TRUE ELSE a.next_distance < a.distance IS TRUE END)::integer) AS expected
	FROM walks, graphgpo(g) a, LATERAL (SELECT a.rollout_id) r(r) WHERE grp % 4 > 0 GROUP BY 1) e USING (success) ORDER BY 1;

-- Across batches: policy version 1 never got from b to the goal, version 2 did, without ever being in a.
CREATE TABLE stored (version integer, g rollout_group);
INSERT INTO stored VALUES (1, shape('ab, ac!')), (2, (SELECT rollout_agg(900 + t, 9, t, ascii(c), 1, 0, true) FROM (VALUES (1, 'b'), (2, 'd')) v(t, c)));
SELECT version, nodes(g) FROM stored ORDER BY version;
SELECT nodes(rollup(g)) FROM stored;
SELECT version, a.step_id, a.distance, a.next_distance, round(a.graph_advantage::numeric, 3) AS graph_advantage
FROM (SELECT version::text, g FROM stored UNION ALL SELECT 'all', rollup(g) FROM stored) x, graphgpo(g) a WHERE a.step_id IN (101, 102, 201) ORDER BY 1, 2;

-- Simulator: the observed distance is never below the true one, and converges to it.
SET jit = off;
\i test/sim/simulator.sql
CREATE TABLE truth AS
WITH RECURSIVE d(task, state, distance) AS (
	SELECT task, state, 1 FROM generate_series(0, 3) task, sim.transitions(task) WHERE next_state IS NULL AND reward = 1
	UNION
	SELECT t.task, t.state, d.distance + 1 FROM d, LATERAL (SELECT d.task, m.* FROM sim.transitions(d.task) m) t
	WHERE t.next_state = d.state AND d.distance < 30)
SELECT task, signature_hash(sim.state_text(state)) AS state, min(distance) AS distance FROM d GROUP BY 1, 2;
CREATE TABLE sampled AS SELECT * FROM sim.simulate(4, 400, seed => 5, tasks => 4);
SELECT n, count(*) FILTER (WHERE d.distance < t.distance) AS below, count(*) > 5 AS some,
	CASE n WHEN 400 THEN (bool_and(d.distance = t.distance) AND count(*) = (SELECT count(*) FROM truth))::text
		ELSE (count(*) FILTER (WHERE d.distance > t.distance OR d.distance IS NULL) > 0)::text END AS as_expected
FROM (SELECT n, task, rollout_agg((rollout_id << 20) + step_no, rollout_id, step_no, state_hash, action_hash, reward, success) AS g
	FROM sampled, (VALUES (1), (400)) n(n) WHERE (rollout_id - 1) % 400 < n GROUP BY n, task) x, graph_nodes(g) d JOIN truth t USING (state)
WHERE t.task = x.task GROUP BY n ORDER BY n;

-- Long: a walk through 300,000 states to the goal, and one back through half of them: no recursion, no quadratic time.
SET statement_timeout = '60s';
SELECT unequal, n.* FROM (SELECT unequal, rollout_agg(t, 1, t, t, 1, 0, true, NULL, NULL, NULL, CASE WHEN unequal THEN 1 + t % 2 END) AS g
	FROM generate_series(1, 300000) t, (VALUES (true), (false)) u(unequal) GROUP BY unequal) x,
	LATERAL (SELECT count(*), max(distance), bool_or(on_cycle) AS on_cycle FROM graph_nodes(g)) n ORDER BY 1;
SELECT count(*), max(distance), count(*) FILTER (WHERE on_cycle) AS on_cycle
FROM (SELECT rollout_agg(r * 1000000 + t, r, t, CASE r WHEN 1 THEN t ELSE 150001 - t END, 1, 0, r = 1) AS g
	FROM (VALUES (1, 300000), (2, 150000)) r(r, n), generate_series(1, n) t) x, graph_nodes(g);
RESET statement_timeout;

-- Errors: costs
SELECT d.state, d.distance FROM graph_nodes(shape('abc!', '{1,0,1}')) d;
SELECT d.* FROM graphgpo(shape('ab!, cd', '{1,-2}')) d;
SELECT d.* FROM graph_edges(shape('ab', '{-1e-300}')) d;
SELECT shape('ab!', '{1,NaN}') IS NULL;
SELECT shape('ab!', '{1,Infinity}') IS NULL;
-- each cost is a number, the sum is not; unless there is another way; equal costs too
SELECT d.state, d.distance FROM graph_nodes(shape('ab!', '{1.5e308,1e308}')) d;
SELECT d.state, d.distance FROM graph_nodes(shape('ab!', '{1e308,1e308}')) d;
SELECT nodes(shape('ab!, a!', '{1e308,1e308}'));
-- those of rollouts that are not judged do not matter
SELECT d.state, d.distance FROM (SELECT rollout_agg(i, i, 1, i, 1, CASE i WHEN 1 THEN 1 END, NULL, NULL, NULL, NULL, CASE i WHEN 2 THEN -1 END) g FROM generate_series(1, 2) i) x, graph_nodes(g) d;
SELECT d.* FROM hand, graph_edges(g, discount => 1.1) d;
SELECT d.* FROM hand, graph_edges(g, convention => 'papers') d;
SELECT d.* FROM hand, graph_nodes(g, 'NaN') d;

-- batch_td(truncated => 'bootstrap'): truncated rollouts lead to their last state; by hand, against plain SQL on random groups, and on the simulator against exact values.
CREATE SCHEMA truncated;
SET search_path = truncated, stepadv, public;
SET jit = off;
\set VERBOSITY terse
-- Rows: what happened, one after the other; next_state and truncated as the last row of a rollout has them.
CREATE FUNCTION folded(steps text) RETURNS rollout_group LANGUAGE sql AS $$
	SELECT rollout_agg(v.id, v.rollout, v.no, v.state, v.action, v.reward, v.success, v.next_state, NULL, NULL, NULL, NULL, NULL, v.truncated, NULL)
	FROM jsonb_to_recordset((SELECT jsonb_agg(jsonb_build_object('id', i, 'rollout', w[1], 'no', i, 'state', w[2], 'action', w[3], 'reward', w[4], 'next_state', w[5], 'truncated', w[6], 'success', w[7]))
		FROM (SELECT i, array_replace(string_to_array(trim(s), ' '), '-', NULL) AS w FROM regexp_split_to_table(steps, ',') WITH ORDINALITY x(s, i)) y))
		v(id bigint, rollout bigint, no integer, state bigint, action bigint, reward float8, next_state bigint, truncated boolean, success boolean)
$$;

-- A chain 1, 2, 3, 4, whose end is rewarded. Rollout 1 was cut off before state 3, where rollout 2 went on.
-- gamma 0.9: V(4) = 1, V(3) = 0.9, then, cut off, 0; or 0.9 of V(3): V(2) = 0.81, V(1) = 0.729, for any lambda.
CREATE TABLE chain AS SELECT folded('1 1 1 0, 1 2 1 0 3 true, 2 3 1 0, 2 4 1 1') AS g;
SELECT lambda, truncated, array_agg(round(v::numeric, 12) ORDER BY step_id) AS v, array_agg(DISTINCT advantage) AS advantage, array_agg(round(return::numeric, 12) ORDER BY step_id) AS returns
FROM chain, unnest('{0,0.5,1}'::float8[]) lambda, unnest('{fail,bootstrap}'::text[]) truncated, batch_td(g, lambda => lambda, truncated => truncated, gamma => 0.9, prior => 0)
GROUP BY lambda, truncated ORDER BY truncated DESC, lambda;
-- gamma 0.5, 1, and 0, with which later rewards do not count
SELECT gamma, lambda, array_agg(v ORDER BY step_id) AS v FROM chain, unnest('{0,0.5,1}'::float8[]) gamma, unnest('{0,0.5,1}'::float8[]) lambda, batch_td(g, gamma => gamma, lambda => lambda, truncated => 'bootstrap', prior => 0)
GROUP BY gamma, lambda ORDER BY gamma, lambda;
-- prior 1 of the success rate 1/2, gamma 0.5: V(4) = (1 + 1/2) / 2, V(3) = (V(4) / 2 + 1/2) / 2 = 7/16, V(2) = (7/32 + 1/2) / 2 = 23/64
SELECT array_agg(v * 64 ORDER BY step_id) AS v_64 FROM chain, batch_td(g, gamma => 0.5, prior => 1, truncated => 'bootstrap', prior_mean => 'success_rate');
-- rewards on the way are kept: 0.5 + 0.9 * 0.9
SELECT step_id, round(q::numeric, 12) AS q FROM batch_td(folded('1 2 1 0.5 3 true, 2 3 1 0, 2 4 1 1'), truncated => 'bootstrap', gamma => 0.9, prior => 0);

-- Cut off in a state that is on the rollout's own way: V(1) = 0.9 V(2), V(2) = (0.9 V(1) + 1) / 2 for the cut and the
-- end after it: V(2) = 0.5 / (1 - 0.405), V(1) = 0.9 of that. Advantage of the action that goes back: 0.9 V(1) - V(2).
SELECT step_id, round((v * 1.19)::numeric, 12) AS v_119, round((advantage * 1.19)::numeric, 12) AS advantage_119
FROM batch_td(folded('1 1 1 0, 1 2 2 0 1 true, 2 2 3 1'), truncated => 'bootstrap', gamma => 0.9, prior => 0);
-- lambda 1: G(1) = 0.81 V(1), G(2) = 0.9 V(1), V(1) = G(1): 0. Lambda 0.5: G(2) = 0.9 V(1) in full, V(2) = (0.9 V(1) + 1) / 2,
-- V(1) = 0.45 V(2) + 0.45 G(2) = 0.225 + 0.2025 V(1) + 0.405 V(1) = 0.225 / 0.3925
SELECT lambda, step_id, round((v * 0.785)::numeric, 12) AS v_785 FROM unnest('{0.5,1}'::float8[]) lambda, batch_td(folded('1 1 1 0, 1 2 2 0 1 true, 2 2 3 1'), lambda => lambda, truncated => 'bootstrap', gamma => 0.9, prior => 0) ORDER BY 1, 2;

-- As 'fail': not marked (2), marked as false (3), next_state not known (4), a state without a step (5), or only
-- rollouts that are not judged (6, 7 itself), or that is NULL (8); a row says that it succeeded (9). Beside them
-- one that leads on (1), and one that does so by its return, though that is above 0 (10).
CREATE TABLE rules AS SELECT folded('1 1 1 0 50 true, 2 2 1 0 50, 3 3 1 0 50 false, 4 4 1 0 - true, 5 5 1 0 51 true, 6 6 1 0 52 true, 7 52 1 - 50 true, 8 8 1 0 - true, 8 - 1 0 - true,
	9 9 1 0 50 true true, 10 10 1 0.25 50 true, 11 50 1 1') AS g;
SELECT rollout_id, step_id, f.v AS fail, b.v AS bootstrap FROM rules, batch_td(g, gamma => 0.5, prior => 0) f JOIN batch_td(g, gamma => 0.5, truncated => 'bootstrap', prior => 0) b USING (rollout_id, step_id) ORDER BY step_id;
-- An unjudged truncated rollout takes no part; a reward of 0 makes it judged: then it leads on.
SELECT reward, array_agg(v) AS v FROM (VALUES ('-'), ('0')) r(reward), batch_td(folded(format('1 1 1 %s 2 true, 2 2 1 1', reward)), gamma => 0.5, truncated => 'bootstrap', prior => 0) GROUP BY reward;
-- no value of it at all: the same, to the bit as without
SELECT bool_and(f = b) FROM (SELECT folded('1 1 1 0, 1 2 1 0 3, 2 3 1 0, 2 4 1 1') AS g) y, batch_td(g, gamma => 0.9, prior => 0) f JOIN batch_td(g, truncated => 'bootstrap', gamma => 0.9, prior => 0) b USING (step_id);

-- Without an end: 1 and 2 lead to each other and are cut off there, 0 leads to them by its second rollout. Discounted there is a
-- value, with a reward of 1 by step 1 / (1 - 0.5) = 2. Undiscounted there would be any: these cuts are ends. V(0) = (1 + 0 + V(3) ) / 3,
-- V(3) = 2, V(1): visits (1 + V(2)) and, as its second rollout begins there and was cut off, 1; V(2) = 1.
CREATE TABLE endless AS SELECT folded('1 1 1 1, 1 2 1 1 1 true, 2 1 2 1 2 true, 3 0 1 1, 4 0 2 0 1 true, 5 0 3 0 3 true, 6 3 1 2') AS g;
SELECT gamma, step_id, v, q FROM endless, unnest('{0.5,1}'::float8[]) gamma, batch_td(g, gamma => gamma, truncated => 'bootstrap', prior => 0) ORDER BY 1, 2;
-- a prior is an end of its own: of worth 0, V(2) = (1 + V(1)) / 2, V(1) = (1 + V(2) + 1 + V(2)) / 3: V(2) = 5/4 and V(1) = 3/2
SELECT step_id, v FROM endless, batch_td(g, gamma => 1, prior => 1, baseline => 0, truncated => 'bootstrap') WHERE step_id < 4 ORDER BY 1;
-- lambda 1 follows no rollout but the step's own. 1 goes to 2 and was cut off in 1: it leads to itself alone, though from 2 another ended.
-- By state, V(2) = (V(1) + 4) / 2 and V(1) = V(2) = 4; by return V(1) = 0 and V(2) = (0 + 4) / 2; between, 4 again.
SELECT lambda, step_id, round(v::numeric, 9) AS v FROM unnest('{0,0.5,0.99,1}'::float8[]) lambda, batch_td(folded('1 1 1 0, 1 2 1 0 1 true, 2 2 2 4'), gamma => 1, lambda => lambda, truncated => 'bootstrap', prior => 0) ORDER BY 1, 2;

-- By turn: the next_state of a turn's last call, and the state of its first: as the chain above.
SELECT a.step_id, round(a.v::numeric, 12) AS v
FROM (SELECT rollout_agg(id, r, no, s, a, rew, NULL, nx, NULL, NULL, NULL, turn, NULL, tr, NULL) AS g FROM (VALUES
	(1, 1, 0, 1, 1, 0::float8, 1, 9, NULL), (2, 1, 1, 9, 5, 0, 1, NULL, NULL), (3, 1, 2, 2, 1, 0, 2, 9, true), (4, 1, 3, 9, 7, 0, 2, 3, NULL),
	(5, 2, 0, 3, 1, 0, 1, NULL, NULL), (6, 2, 1, 4, 1, 1, 2, NULL, NULL)) v(id, r, no, s, a, rew, turn, nx, tr)) y, batch_td(by_turn(g), truncated => 'bootstrap', gamma => 0.9, prior => 0) a;
-- Merged of two parts of each rollout, of which the second has the mark that it was cut off: the chain again.
SELECT array_agg(round(v::numeric, 12) ORDER BY step_id) AS v FROM batch_td((SELECT rollup(g) FROM (
	SELECT rollout_agg(id, r, id, s, 1, rew, NULL, nx, NULL, NULL, NULL, NULL, NULL, tr, NULL) AS g FROM (VALUES
		(1, 1, 1, 1, 0::float8, 9, NULL), (2, 1, 2, 2, 0, 3, true), (1, 2, 3, 3, 0, NULL, NULL), (2, 2, 4, 4, 1, NULL, false)) v(part, r, id, s, rew, nx, tr) GROUP BY part) x), truncated => 'bootstrap', gamma => 0.9, prior => 0);

-- ---- Random groups against plain SQL: six states and two without steps, many cut off, few or no ends.
CREATE TABLE step AS
SELECT n, r, t, n * 1000 + r * 50 + t AS id, CASE WHEN h[1] % 17 > 0 THEN h[1] % (3 + n % 4) END AS s, CASE WHEN h[2] % 13 > 0 THEN h[2] % 3 END AS a,
	CASE WHEN (n * 7 + r) % 11 > 0 THEN h[3] % 5 / 4.0::float8 END AS reward,
	CASE WHEN (n + r) % 9 = 0 THEN true END AS success, t = len AS is_last,
	CASE WHEN h[4] % 6 > 0 THEN h[4] % 8 END AS next_state, CASE WHEN n % 5 = 0 OR (n * r) % 5 > 0 THEN t = len END AS truncated
FROM generate_series(1, 200) n, generate_series(1, 1 + n % 6) r, LATERAL (SELECT 1 + get_byte(decode(md5(n || '/' || r), 'hex'), 0) % 8 AS len) l, generate_series(1, len) t,
	LATERAL (SELECT ARRAY(SELECT get_byte(decode(md5(n || ' ' || r || ' ' || t), 'hex'), i) FROM generate_series(0, 3) i) AS h OFFSET 0) d;
CREATE TABLE random AS SELECT n, rollout_agg(id, r, t, s, a, reward, success, next_state, NULL, NULL, NULL, NULL, NULL, truncated, NULL) AS g FROM step GROUP BY n;
-- Judged steps, states by name, NULL ones by their own; where each leads.
CREATE TABLE judged AS
SELECT x.*, coalesce(s::text, 'of ' || id) AS state, coalesce(a::text, 'of ' || id) AS action,
	lead(coalesce(s::text, 'of ' || id)) OVER (PARTITION BY n, r ORDER BY t) AS following,
	CASE WHEN is_cut THEN next_state::text END AS cut
FROM (SELECT *, bool_or(reward IS NOT NULL OR success) OVER w AS is_judged, coalesce(bool_or(truncated) OVER w, false) AND NOT coalesce(bool_or(success) OVER w, false) AND is_last AS is_cut
	FROM step WINDOW w AS (PARTITION BY n, r)) x WHERE is_judged;
UPDATE judged j SET cut = NULL WHERE NOT EXISTS (SELECT FROM judged k WHERE k.n = j.n AND k.state = j.cut);
-- From which states an end is reached; by_return: along a rollout to where it was cut off.
CREATE TABLE ending AS
WITH RECURSIVE edge AS (
	SELECT n, state, coalesce(following, cut) AS next, false AS by_return FROM judged
	UNION ALL SELECT j.n, j.state, k.cut, true FROM judged j JOIN judged k USING (n, r) WHERE k.is_last
), ends AS (
	SELECT n, state, by_return FROM edge WHERE next IS NULL
	UNION SELECT e.n, e.state, e.by_return FROM ends x JOIN edge e ON (e.n, e.next, e.by_return) = (x.n, x.state, x.by_return)
) SELECT * FROM ends;
SELECT count(*) AS judged, count(cut) AS cut_off, count(*) FILTER (WHERE cut IS NOT NULL AND NOT EXISTS (SELECT FROM ending e WHERE (e.n, e.state) = (j.n, j.cut) AND NOT by_return)) AS endless,
	count(*) FILTER (WHERE cut IS NOT NULL AND NOT EXISTS (SELECT FROM ending e WHERE (e.n, e.state) = (j.n, j.cut) AND by_return)) AS endless_by_return FROM judged j;
-- V <- c + M V, squared repeatedly, as in equivalence.sql; the value of the state after the last step in full.
CREATE FUNCTION reference(gamma float8, lambda float8, prior float8, baseline float8)
RETURNS TABLE (id integer, q float8, v float8) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
	CREATE TEMP TABLE s ON COMMIT DROP AS
		SELECT j.*, coalesce(following, CASE WHEN reference.gamma < 1 OR reference.prior > 0
			OR EXISTS (SELECT FROM ending e WHERE (e.n, e.state) = (j.n, j.cut) AND by_return = (reference.lambda = 1)) THEN cut END) AS next, count(*) OVER (PARTITION BY n, state) AS visits
		FROM judged j;
	CREATE TEMP TABLE spread ON COMMIT DROP AS
		SELECT a.n, a.id, a.state, a.visits, b.next, power(reference.gamma * reference.lambda, b.t - a.t) * coalesce(b.reward, 0) AS c,
			power(reference.gamma * reference.lambda, b.t - a.t) * reference.gamma * CASE WHEN b.is_last THEN 1 ELSE 1 - reference.lambda END AS w
		FROM s a JOIN s b USING (n, r) WHERE b.t >= a.t;
	CREATE TEMP TABLE m0 ON COMMIT DROP AS SELECT n, state AS i, next AS j, sum(w / (visits + reference.prior)) AS w FROM spread WHERE next IS NOT NULL AND w > 0 GROUP BY 1, 2, 3;
	CREATE TEMP TABLE c0 ON COMMIT DROP AS SELECT n, state AS i, (sum(c) + reference.prior * coalesce(reference.baseline, 0)) / (min(visits) + reference.prior) AS c FROM spread GROUP BY 1, 2;
	FOR round IN 1 .. 20 LOOP
		CREATE TEMP TABLE c1 ON COMMIT DROP AS SELECT n, i, c0.c + coalesce(d.c, 0) AS c
			FROM c0 LEFT JOIN (SELECT m.n, m.i, sum(m.w * c.c) AS c FROM m0 m JOIN c0 c ON (c.n, c.i) = (m.n, m.j) GROUP BY 1, 2) d USING (n, i);
		CREATE TEMP TABLE m1 ON COMMIT DROP AS SELECT a.n, a.i, b.j, sum(a.w * b.w) AS w FROM m0 a JOIN m0 b ON (b.n, b.i) = (a.n, a.j) WHERE a.w * b.w > 1e-30 GROUP BY 1, 2, 3;
		DROP TABLE c0, m0;
		ALTER TABLE c1 RENAME TO c0;
		ALTER TABLE m1 RENAME TO m0;
	END LOOP;
	RETURN QUERY SELECT s.id, avg(t.target) OVER (PARTITION BY s.n, s.state, s.action), c0.c
		FROM s JOIN c0 ON (c0.n, c0.i) = (s.n, s.state)
		JOIN (SELECT p.id, sum(p.c + coalesce(p.w * c0.c, 0)) AS target FROM spread p LEFT JOIN c0 ON (c0.n, c0.i) = (p.n, p.next) GROUP BY p.id) t USING (id);
	DROP TABLE s, spread, c0, m0;
END $$;
SELECT o.*, d.* FROM (VALUES (0.9, 0, 0, NULL), (1, 0, 0, NULL), (0.8, 0.5, 0, NULL), (1, 0.7, 0, NULL), (0.9, 1, 0, NULL), (1, 1, 0, NULL), (1, 0, 1.5, 0.5), (1, 1, 2, -1)) o(gamma, lambda, prior, baseline),
	LATERAL (SELECT count(*) FILTER (WHERE a.step_id = e.id) AS compared, count(*) - count(*) FILTER (WHERE a.step_id = e.id) AS missing,
		count(*) FILTER (WHERE abs(a.v - e.v) > 1e-9 * greatest(1, abs(e.v)) OR abs(a.q - e.q) > 1e-9 * greatest(1, abs(e.q)) OR abs(a.advantage - (e.q - e.v)) > 1e-9 * greatest(1, abs(e.v))) AS off
	 FROM (SELECT a.* FROM random, batch_td(g, gamma => o.gamma, lambda => o.lambda, prior => o.prior, baseline => o.baseline, truncated => 'bootstrap') a WHERE a.advantage IS NOT NULL) a
	 FULL JOIN reference(o.gamma, o.lambda, o.prior, o.baseline) e ON e.id = a.step_id) d;
-- differs from a group without truncation
SELECT count(*) FILTER (WHERE abs(f.v - b.v) > 0.01) > 1000 AS others FROM random, batch_td(g, gamma => 0.9, prior => 0) f JOIN batch_td(g, truncated => 'bootstrap', gamma => 0.9, prior => 0) b USING (step_id);
-- in any order of rollouts and rows
SELECT gamma, count(*), count(*) FILTER (WHERE abs(a.v - b.v) > 1e-9 * greatest(1, abs(a.v)) OR abs(a.advantage - b.advantage) > 1e-9 * greatest(1, abs(a.v))) AS off
FROM random JOIN (SELECT n, rollout_agg(id, 1000 - r * 7 % 13, t * 3, s, a, reward, success, next_state, NULL, NULL, NULL, NULL, NULL, truncated, NULL ORDER BY md5(id::text)) AS turned FROM step GROUP BY n) t USING (n),
	unnest('{0.9,1}'::float8[]) gamma, batch_td(g, gamma => gamma, truncated => 'bootstrap', prior => 0) a JOIN batch_td(turned, gamma => gamma, truncated => 'bootstrap', prior => 0) b USING (step_id) GROUP BY gamma ORDER BY gamma;

-- with a history: as over both, for the group's own rollouts, also in a group without truncation
SELECT gamma, count(*) AS compared, count(*) FILTER (WHERE abs(a.v - b.v) > 1e-9 * greatest(1, abs(b.v)) OR abs(a.advantage - b.advantage) > 1e-9 * greatest(1, abs(b.v))) AS off, count(*) FILTER (WHERE abs(a.v - c.v) > 0.01) > 100 AS learned
FROM (SELECT n, rollout_agg(id, r, t, s, a, reward, success, next_state, NULL, NULL, NULL, NULL, NULL, CASE WHEN n % 3 > 0 THEN truncated END, NULL) FILTER (WHERE r % 2 = 0) AS own,
		rollout_agg(id, r, t, s, a, reward, success, next_state, NULL, NULL, NULL, NULL, NULL, truncated, NULL) FILTER (WHERE r % 2 = 1) AS before FROM step GROUP BY n HAVING count(*) FILTER (WHERE r % 2 = 0) > 0) h,
	unnest('{0.9,1}'::float8[]) gamma, LATERAL (SELECT rollup(x) AS pooled FROM unnest(ARRAY[own, before]) x) p,
	batch_td(own, gamma => gamma, truncated => 'bootstrap', history => before, prior => 0) a JOIN batch_td(pooled, gamma => gamma, truncated => 'bootstrap', prior => 0) b USING (step_id) JOIN batch_td(own, gamma => gamma, truncated => 'bootstrap', prior => 0) c USING (step_id)
GROUP BY gamma ORDER BY gamma;

-- Large: a ring of 20000 states, each rollout once around and truncated in its first state, except one that ends and is rewarded: 1 everywhere.
-- Without it nothing ends: 0 everywhere, and discounted, with a reward of 1 by step, 10.
SELECT rewarded, gamma, count(*), round(min(v)::numeric, 6) AS least, round(max(v)::numeric, 6) AS most
FROM (SELECT rewarded, rollout_agg(r * 50000 + t, r, t, t, 1, CASE WHEN rewarded < 2 THEN (r = rewarded AND t = 19999)::integer ELSE 1 END, NULL, CASE WHEN r <> rewarded THEN (t + 1) % 20000 END, NULL, NULL, NULL, NULL, NULL, r <> rewarded, NULL) AS g
	FROM generate_series(1, 3) r, generate_series(0, 19999) t, generate_series(0, 2) rewarded WHERE rewarded < 2 OR r <> 2 GROUP BY rewarded) y, unnest('{0.9,1}'::float8[]) gamma,
	batch_td(g, gamma => gamma, truncated => 'bootstrap', prior => 0) WHERE (rewarded < 2) = (gamma = 1) GROUP BY 1, 2 ORDER BY 1, 2;

-- ---- The simulator: two fifths of its rollouts are truncated after 16 steps; exact values are without truncation. Taken for failures they
-- lower every state's value, and hide that states far from the goal are worse.
\i test/sim/simulator.sql
CREATE TABLE exact AS
SELECT gamma, t AS task, signature_hash(sim.state_text(v.state)) AS state, signature_hash(v.action) AS action, v.v, v.q - v.v AS advantage
FROM unnest('{0.9,1}'::float8[]) gamma, generate_series(0, 7) t, sim.values(t, gamma) v;
CREATE TABLE cut AS
SELECT group_id, task, rollout_agg((rollout_id << 20) + step_no, rollout_id, step_no, state_hash, action_hash, reward, success, next_state_hash, NULL, NULL, NULL, NULL, NULL, truncated, NULL) AS g
FROM sim.simulate(80, 16, 7, max_steps => 16) GROUP BY group_id, task;
SELECT count(*) AS rollouts, round(avg(truncated::integer), 1) AS cut_off, count(*) FILTER (WHERE success AND truncated) AS both FROM cut, rollouts(g);
SET enable_nestloop = off;
CREATE TABLE measured AS
SELECT gamma, m.truncated, m.v - e.v AS off, m.advantage, e.advantage AS truth
FROM (SELECT gamma, task, truncated, a.step_id, group_id, a.v, a.advantage FROM cut, unnest('{0.9,1}'::float8[]) gamma, unnest('{fail,bootstrap}'::text[]) truncated, batch_td(g, gamma => gamma, truncated => truncated, prior => 0) a) m
JOIN (SELECT group_id, s.step_id, s.state, s.action FROM cut, steps(g) s) s USING (group_id, step_id) JOIN exact e USING (gamma, task, state, action);
RESET enable_nestloop;
SELECT gamma, round(avg(off) FILTER (WHERE truncated = 'fail')::numeric, 2) AS off_by_fail, round(avg(off) FILTER (WHERE truncated = 'bootstrap')::numeric, 2) AS off_by_bootstrap,
	avg(abs(advantage - truth)) FILTER (WHERE truncated = 'bootstrap') < 0.9 * avg(abs(advantage - truth)) FILTER (WHERE truncated = 'fail') AS advantages_nearer,
	corr(advantage, truth) FILTER (WHERE truncated = 'bootstrap') > corr(advantage, truth) FILTER (WHERE truncated = 'fail') + 0.05 AS correlate_better
FROM measured GROUP BY gamma ORDER BY gamma;

-- ---- attach: rollouts that a column marks as truncated. Without the option it is not used.
CREATE TABLE runs (task text, run integer, n integer, seen text, did text, score float8, led_to text, stopped boolean, policy bigint, PRIMARY KEY (task, run, n));
INSERT INTO runs VALUES ('a', 1, 1, 's1', 'x', 0, NULL, NULL, 7), ('a', 1, 2, 's2', 'x', 0, 's3', true, NULL), ('a', 2, 1, 's3', 'x', 0, NULL, NULL, 7), ('a', 2, 2, 's4', 'x', 1, NULL, false, 8),
	('b', 1, 1, 's1', 'x', 0, 's1', true, 1), ('b', 2, 1, 's1', 'y', 1, NULL, NULL, 1);
SELECT count(*) > 0 AS attached FROM attach('runs', '{task}', 'run', 'n', 'seen', 'did', 'score', columns => '{"next_state": "led_to", "truncated": "stopped", "policy_step": "policy"}', views => '{all}', prefix => 'plain');
SELECT count(*) > 0 AS attached FROM attach('runs', '{task}', 'run', 'n', 'seen', 'did', 'score', columns => '{"next_state": "led_to", "truncated": "stopped", "policy_step": "policy"}', views => '{all}', options => '{"batch_td": {"gamma": 0.9, "prior": 0}, "methods": {"cut_off": {"method": "batch_td", "truncated": "bootstrap", "gamma": 0.9, "prior": 0}}}');
SELECT attname, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'runs_rows'::regclass AND attnum > 8 ORDER BY attnum;
SELECT substring(pg_get_viewdef(v) from 'lenient_rollout_agg(\(.*\)) AS rollouts\n') AS fed FROM unnest('{plain_batch_td,runs_batch_td,runs_cut_off,runs_values}'::regclass[]) v;
-- the chain again, and V = (0.9 V + 1) / 2
SELECT task, run, n, round(b.v::numeric, 12) AS fail, round(c.v::numeric, 12) AS bootstrap FROM runs_batch_td b JOIN runs_cut_off c USING (task, run, n) ORDER BY 1, 2, 3;
SELECT task, r.rollout_id, r.truncated, r.policy_step FROM runs_values, rollouts(rollouts) r ORDER BY 1, 2;
-- the views of several methods call it with the option, too
SELECT count(*), count(*) FILTER (WHERE c.cut_off = o.advantage) AS as_cut_off, count(*) FILTER (WHERE c.batch_td = f.advantage) AS as_batch_td, count(*) FILTER (WHERE c.cut_off <> c.batch_td) AS apart
FROM runs_compare c JOIN runs_cut_off o USING (task, run, n) JOIN runs_batch_td f USING (task, run, n);
SELECT sum(t.n_steps) AS steps, round((sum(t.mean_abs_advantage * t.n_steps) / sum(t.n_steps))::numeric, 12) AS over_time, round((SELECT avg(abs(o.advantage)) FROM runs_cut_off o)::numeric, 12) AS by_step
FROM runs_advantage_over_time t WHERE t.method = 'cut_off';
-- what _rollouts and _problems showed before: the first policy of the rollout, and no problem where nothing folds it
SELECT task, rollout_id, judged, policy_step FROM runs_rollouts ORDER BY 1, 2;
SELECT problem FROM runs_problems WHERE rollout_id IS NOT NULL;
-- Kept, and kept up to date: with the mark of truncation, and the next state.
SELECT maintain('runs', prefix => 'runs') IS NOT NULL AS maintained;
SELECT task, run, n, round(v::numeric, 12) AS v FROM runs_cut_off ORDER BY 1, 2, 3;
UPDATE runs SET stopped = false WHERE task = 'b';
UPDATE runs SET led_to = 's4' WHERE (task, run, n) = ('a', 1, 2);
SELECT task, run, n, round(v::numeric, 12) AS v FROM runs_cut_off ORDER BY 1, 2, 3;
SELECT count(*) FROM check_maintained('runs', prefix => 'runs');
-- A user's method that reads the policies: then they are folded, and two of them cost the rollout its estimates there alone.
CREATE FUNCTION by_policy(rollouts rollout_group) RETURNS TABLE (rollout_id bigint, policy_step bigint) LANGUAGE sql IMMUTABLE AS 'SELECT r.rollout_id, r.policy_step FROM stepadv.rollouts(rollouts) r';
SELECT register_method('by_policy(rollout_group)', uses => '{policy_step}', description => 'a row per rollout');
SELECT count(*) > 0 AS attached FROM attach('runs', '{task}', 'run', 'n', 'seen', 'did', 'score', columns => '{"policy_step": "policy"}', views => '{all}', prefix => 'own');
SELECT task, rollout_id, policy_step FROM own_by_policy ORDER BY 1, 2;
SELECT rollout_id, step_no, problem, n_rows, methods, effect FROM own_problems WHERE rollout_id IS NOT NULL;
SELECT task, rollout_id, judged FROM own_rollouts ORDER BY 1, 2;
SELECT task, r.rollout_id, r.judged, r.policy_step FROM own_values, rollouts(rollouts) r ORDER BY 1, 2;
-- of the group's columns
SELECT count(*) > 0 AS attached FROM attach('runs', '{task,policy}', 'run', 'n', 'seen', 'did', 'score', columns => '{"policy_step": "policy"}', views => '{all}', prefix => 'divided');
SELECT task, policy, rollout_id, policy_step FROM divided_by_policy ORDER BY 1, 2, 3;
-- The tables of create_tables say it by themselves; the rollout's policy step too.
SELECT count(*) > 0 AS made FROM create_tables('rl', views => '{all}');
INSERT INTO rl.rollouts (task_id, run_id, policy_version, rollout_id, outcome, truncated, policy_step) VALUES ('t', 'r', '1', 'one', 0, true, 12), ('t', 'r', '1', 'two', 1, false, 12);
INSERT INTO rl.steps (task_id, run_id, policy_version, rollout_id, step_no, state, action_hash, next_state) VALUES ('t', 'r', '1', 'one', 0, 1, 1, NULL), ('t', 'r', '1', 'one', 1, 2, 1, 3), ('t', 'r', '1', 'two', 0, 3, 1, NULL);
SELECT r.truncated, b.step_no, round(b.v::numeric, 12) AS v, g.truncated AS of_the_table FROM rl.steps_values v, rollouts(v.rollouts) r, batch_td(v.rollouts, truncated => 'bootstrap', gamma => 0.9, prior => 0) b, rl.steps_rollouts g
WHERE b.rollout_id = r.rollout_id AND g.n_steps = r.n_steps ORDER BY r.n_steps DESC, 2;
-- Errors of attach: no column with the mark or the next state; not boolean.
SELECT count(*) FROM attach('runs', '{task}', 'run', 'n', 'seen', 'did', 'score', columns => '{"truncated": "stopped"}', views => '{all}', prefix => 'no', options => '{"batch_td": {"truncated": "bootstrap"}}');
SELECT count(*) FROM attach('runs', '{task}', 'run', 'n', 'seen', 'did', 'score', columns => '{"next_state": "led_to"}', views => '{all}', prefix => 'no', options => '{"truncated": "bootstrap"}');
SELECT count(*) FROM attach('runs', '{task}', 'run', 'n', 'seen', 'did', 'score', columns => '{"truncated": "score"}', views => '{all}', prefix => 'no');
SELECT count(*) FROM attach('runs', '{task}', 'run', 'n', 'seen', 'did', 'score', columns => '{"truncated": "stoped"}', views => '{all}', prefix => 'no');
SELECT count(*) FROM attach('runs', '{task}', 'run', 'n', 'seen', 'did', 'score', columns => '{"truncated": "stopped"}', views => '{all}', prefix => 'no', options => '{"batch_td": {"truncated": "continue"}}');

-- Errors
SELECT count(*) FROM chain, batch_td(g, truncated => 'continue', gamma => 0.9, prior => 0);
SELECT count(*) FROM chain, batch_td(g, truncated => NULL, gamma => 0.9, prior => 0);

SET client_min_messages = warning;
DROP SCHEMA sim, rl, truncated CASCADE;

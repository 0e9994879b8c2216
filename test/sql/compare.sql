-- Methods side by side: _compare, _quadrants, _disagreements.
SET client_min_messages = warning;
\set SHOW_CONTEXT never

-- By hand.  Task 1: a succeeds, b and c do not; a and b look and see a key, which a takes and b drops; c gives up.  Task 2: d is not judged.
CREATE TABLE cmp_hand (id int PRIMARY KEY, task int, run text, n int, obs text, act text, score float8);
INSERT INTO cmp_hand VALUES
	(1, 1, 'a', 0, 'door', 'look', 0), (2, 1, 'a', 1, 'key', 'take', 1),
	(3, 1, 'b', 0, 'door', 'look', 0), (4, 1, 'b', 1, 'key', 'drop', 0),
	(5, 1, 'c', 0, 'door', 'give up', 0), (6, 2, 'd', 0, 'door', 'look', NULL);
SELECT count(*) > 5 AS attached FROM stepadv.attach('cmp_hand', '{task}', 'run', 'n', 'obs', 'act', 'score', views => '{all}', options => '{"compare": {"methods": "rtmc, grpo"}}');
-- grpo: returns 1, 0, 0 have mean 1/3 and sd sqrt(1/3).  rtmc, p = 1/3, prior 2:
-- door: v = (2/3 + 0.99) / 5, q(look) = 0.99 / 2, q(give up) = 0; key: v = (2/3 + 1) / 4, q(take) = 1, q(drop) = 0.
SELECT task, rollout_id, step_no, step_id, success, round(grpo::numeric, 4) AS grpo, round(rtmc::numeric, 4) AS rtmc, act FROM cmp_hand_compare ORDER BY step_id;
SELECT * FROM (VALUES (sqrt(4.0 / 3), -sqrt(1.0 / 3), 0.495 - 5.0 / 15 + 0.002, 5.0 / 15 - 0.002, 7.0 / 12, 5.0 / 12)) v(grpo_a, grpo_b, look, give_up, take, drop);
SELECT task, method_a, method_b, success, quadrant, n_steps, round(share::numeric, 3) AS share FROM cmp_hand_quadrants ORDER BY 1, 4, 5;
-- Mean squares are (2 * 4/3 + 3 * 1/3) / 5 = 11/15 for grpo, 0.135449 for rtmc.
SELECT step_id, round(scaled_a::numeric, 3) AS scaled_a, round((advantage_a / sqrt(11.0 / 15))::numeric, 3) AS grpo,
	round(scaled_b::numeric, 3) AS scaled_b, round((advantage_b / sqrt((2 * 0.1636667 ^ 2 + 0.3313333 ^ 2 + (7.0 / 12) ^ 2 + (5.0 / 12) ^ 2) / 5))::numeric, 3) AS rtmc,
	round(difference::numeric, 3) AS difference, opposite_sign, success, act
FROM cmp_hand_disagreements ORDER BY abs(difference) DESC;
-- A threshold of 0.2 makes rtmc neutral on looking.
SELECT count(*) > 5 AS attached FROM stepadv.attach('cmp_hand', '{task}', 'run', 'n', 'obs', 'act', 'score', views => '{all}', prefix => 'cmp_near', options => '{"compare": {"methods": "grpo,rtmc", "success_above": 1}, "quadrants": {"threshold": 0.2}}');
-- And no rollout has a return above 1.
SELECT success, quadrant, n_steps FROM cmp_near_quadrants WHERE task = 1 ORDER BY 1, 2;
SELECT stepadv.detach('cmp_hand') > 10 AS dropped;

-- Random: 12 groups of 6 rollouts of 1 to 8 steps. NULL states and actions; group 3 is uniform, group 5 not judged, nor one rollout in seven; some have success set.
CREATE FUNCTION pg_temp.r(seed text, n int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT (('x' || substr(md5(seed), 1, 7))::bit(28)::int) % n $$;
CREATE TABLE cmp_steps AS
SELECT grp || '/' || run AS grp, 'r' || traj AS traj, n, nullif(pg_temp.r('s' || k, 5), 4) AS st, nullif(pg_temp.r('a' || k, 4), 3) AS act,
	CASE WHEN unjudged THEN NULL WHEN grp = 3 THEN 0.5 WHEN n = len THEN pg_temp.r('w' || r, 3) ELSE pg_temp.r('d' || k, 5) / 10.0 END::float8 AS rew,
	CASE WHEN unjudged OR n < len THEN NULL WHEN pg_temp.r('o' || r, 3) = 0 THEN pg_temp.r('w' || r, 2) = 0 END AS won,
	nullif(pg_temp.r('t' || k, 6), 5) AS nxt, pg_temp.r('v' || k, 100) / 50.0 AS val, pg_temp.r('u' || k, 3) / 2.0 AS tr, 1 + pg_temp.r('c' || k, 3) AS cst,
	-- Names that the views want for themselves.
	r AS success, 'base ' || k AS rtmc, k AS quadrant, n AS method_a, 'x' AS difference
FROM generate_series(1, 6) grp, generate_series(1, 2) run, generate_series(1, 6) traj,
	LATERAL (SELECT concat_ws('-', grp, run, traj) AS r) x,
	LATERAL (SELECT CASE WHEN grp = 3 THEN 2 ELSE pg_temp.r('l' || r, 8) END AS len, grp = 5 OR grp <> 3 AND pg_temp.r('j' || r, 7) = 0 AS unjudged) l,
	generate_series(0, len) n, LATERAL (SELECT r || '-' || n AS k) y;
SELECT count(*) > 200 AS steps, count(DISTINCT grp) AS groups, count(*) FILTER (WHERE st IS NULL) > 20 AS unknown_states, count(DISTINCT won) AS verdicts FROM cmp_steps;
SELECT count(*) > 5 AS attached FROM stepadv.attach('cmp_steps', '{grp}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won", "next_state": "nxt", "value": "val", "turn_reward": "tr", "cost": "cst"}', views => '{all}', options => '{"gamma": 0.9, "success_above": 0.7, "rtmc": {"prior": 1}, "rloo": {"singleton": "raw"}, "mt_grpo": {"unequal": "zero_pad"}, "compare": {"methods": "grpo,rloo,mt_grpo,mt_rloo,gae,gigpo,graphgpo,hgpo,tempo,rtmc"}}');
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'cmp_steps_compare'::regclass AND attnum > 0 ORDER BY attnum;
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'cmp_steps_disagreements'::regclass AND attnum > 0;

-- Each column is the single view's advantage, step by step.
CREATE TABLE cmp_single (method text, place int, grp text, rollout_id text, step_no int, advantage float8);
CREATE FUNCTION pg_temp.single_views(prefix text, methods text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE m text; place int := 0;
BEGIN
	TRUNCATE cmp_single;
	FOREACH m IN ARRAY methods LOOP
		place := place + 1;
		EXECUTE format('INSERT INTO cmp_single SELECT %L, %s, grp, rollout_id, step_no, advantage FROM %I', m, place, prefix || '_' || m);
	END LOOP;
END $$;
SELECT pg_temp.single_views('cmp_steps', '{grpo,rloo,mt_grpo,mt_rloo,gae,gigpo,graphgpo,hgpo,tempo,rtmc}');
SELECT s.method, count(*) = (SELECT count(*) FROM cmp_steps) AS all_steps, bool_and((to_jsonb(c) ->> s.method)::float8 IS NOT DISTINCT FROM s.advantage) AS equal,
	count(DISTINCT s.advantage) > 5 AS various, bool_and((s.advantage IS NULL) = (c.success IS NULL)) AS null_if_not_judged
FROM cmp_single s JOIN cmp_steps_compare c USING (grp, rollout_id, step_no) GROUP BY s.method, s.place ORDER BY s.place;
-- Success is the rollout's, beside the base's own columns.
SELECT bool_and(c.success IS NOT DISTINCT FROM r.success) AS equal, count(*) FILTER (WHERE c.success) > 20 AS successes, count(*) FILTER (WHERE NOT c.success) > 20 AS failures,
	count(*) FILTER (WHERE c.success IS NULL) > 20 AS not_judged, bool_and(c.base_rtmc = 'base ' || c.base_success || '-' || c.step_no) AS own_columns
FROM cmp_steps_compare c JOIN cmp_steps_rollouts r USING (grp, rollout_id);
-- The columns rely on this: every function returns a row per step, in one order, whatever the order of the steps and parts.
SELECT count(*) AS steps, count(*) FILTER (WHERE NOT (c.n = 11 AND c.same)) AS out_of_step
FROM (SELECT stepadv.rollup(g ORDER BY part DESC) AS g FROM (
		SELECT part, stepadv.rollout_agg(pg_temp.r(i::text, 1000000), traj, i, i % 3, i % 2, i % 5, i % 7 = 0, i % 4, i, i, 1 ORDER BY md5(i::text)) AS g
		FROM generate_series(1, 60) i, LATERAL (SELECT i % 3 AS part, -(i % 7) AS traj) t GROUP BY part) p) x,
	ROWS FROM (stepadv.outcomes(g), stepadv.grpo(g), stepadv.rloo(g), stepadv.mt_grpo(g), stepadv.mt_rloo(g), stepadv.gae(g),
		stepadv.gigpo(g), stepadv.graphgpo(g), stepadv.hgpo(g), stepadv.tempo(g), stepadv.rtmc(g))
	AS f(s0, r0, n0, a0, b0, s1, r1, n1, a1, b1, c1, s2, r2, n2, a2, b2, c2, s3, r3, n3, a3, b3, c3, s4, r4, n4, a4, b4, c4, s5, r5, n5, a5, b5, c5, d5,
		s6, r6, n6, a6, b6, c6, d6, e6, s7, r7, n7, a7, b7, c7, d7, e7, f7, g7, s8, r8, n8, a8, b8, c8, d8, s9, r9, n9, a9, b9, c9, d9, s10, r10, n10, a10, b10, c10, d10, e10, f10, g10),
	LATERAL (SELECT count(*) AS n, count(DISTINCT (s, r, k)) = 1 AS same FROM (VALUES (s0, r0, n0), (s1, r1, n1), (s2, r2, n2), (s3, r3, n3), (s4, r4, n4), (s5, r5, n5),
		(s6, r6, n6), (s7, r7, n7), (s8, r8, n8), (s9, r9, n9), (s10, r10, n10)) v(s, r, k) WHERE s IS NOT NULL) c;

-- Quadrants and disagreements in plain SQL, from the single views.
CREATE FUNCTION pg_temp.quadrants(threshold float8) RETURNS TABLE (grp text, method_a text, method_b text, success boolean, quadrant text, n_steps bigint, share float8) LANGUAGE sql AS $$
	SELECT q.*, CASE WHEN success IS NOT NULL THEN n / sum(n) OVER (PARTITION BY grp, method_a, method_b, success) END::float8
	FROM (SELECT grp, a.method AS method_a, b.method AS method_b, r.success,
			(CASE WHEN a.advantage > threshold THEN '+' WHEN a.advantage < - threshold THEN '-' WHEN r.success IS NOT NULL THEN '0' END)
			|| (CASE WHEN b.advantage > threshold THEN '+' WHEN b.advantage < - threshold THEN '-' WHEN r.success IS NOT NULL THEN '0' END) AS quadrant, count(*) AS n
		FROM cmp_single a JOIN cmp_single b USING (grp, rollout_id, step_no) JOIN cmp_steps_rollouts r USING (grp, rollout_id)
		WHERE a.place < b.place GROUP BY 1, 2, 3, 4, 5) q
$$;
SELECT count(*) > 1000 AS rows, count(*) FILTER (WHERE w.n_steps IS DISTINCT FROM v.n_steps OR abs(w.share - v.share) > 1e-12 OR (w.share IS NULL) <> (v.share IS NULL)) AS different,
	count(DISTINCT v.quadrant) AS quadrants, count(DISTINCT (v.method_a, v.method_b)) AS pairs, sum(v.n_steps) FILTER (WHERE v.quadrant IS NULL) = 45 * (SELECT count(*) FROM cmp_steps_compare WHERE success IS NULL) AS not_judged
FROM pg_temp.quadrants(0) w FULL JOIN cmp_steps_quadrants v ON (w.grp, w.method_a, w.method_b, coalesce(w.success::text, '-'), coalesce(w.quadrant, '?')) = (v.grp, v.method_a, v.method_b, coalesce(v.success::text, '-'), coalesce(v.quadrant, '?'));
-- A uniform group: its rollouts do not differ, wherever the steps do.
SELECT DISTINCT grp, quadrant, share FROM cmp_steps_quadrants WHERE grp LIKE '3/%' AND method_a = 'grpo' AND method_b = 'rloo' AND success ORDER BY 1, 2;

CREATE TABLE cmp_want AS
SELECT grp, rollout_id, step_no, method_a, method_b, advantage_a, advantage_b, coalesce(advantage_a / scale_a, 0) - coalesce(advantage_b / scale_b, 0) AS difference,
	scale_a > 0 AND scale_b > 0 AND advantage_a * advantage_b < 0 AS opposite
FROM (SELECT grp, rollout_id, step_no, a.method AS method_a, b.method AS method_b, a.advantage AS advantage_a, b.advantage AS advantage_b, sa.scale AS scale_a, sb.scale AS scale_b
	FROM cmp_single a JOIN cmp_single b USING (grp, rollout_id, step_no)
	JOIN (SELECT grp, method, CASE WHEN max(abs(advantage)) > 1e-8 THEN sqrt(avg(advantage ^ 2)) END AS scale FROM cmp_single GROUP BY 1, 2) sa USING (grp)
	JOIN (SELECT grp, method, CASE WHEN max(abs(advantage)) > 1e-8 THEN sqrt(avg(advantage ^ 2)) END AS scale FROM cmp_single GROUP BY 1, 2) sb USING (grp)
	WHERE a.place < b.place AND sa.method = a.method AND sb.method = b.method AND a.advantage IS NOT NULL) x;
SELECT count(*) = 45 * (SELECT count(*) FROM cmp_steps_compare WHERE success IS NOT NULL) AS rows,
	count(*) FILTER (WHERE w.advantage_a = v.advantage_a AND w.advantage_b = v.advantage_b AND abs(w.difference - v.difference) < 1e-9 AND w.opposite = v.opposite_sign
		AND v.rtmc = 'base ' || v.base_success || '-' || v.step_no AND v.base_method_a = v.step_no) = count(*) AS equal,
	count(*) FILTER (WHERE v.opposite_sign) > 100 AS opposite
FROM cmp_want w FULL JOIN cmp_steps_disagreements v USING (grp, rollout_id, step_no, method_a, method_b);

-- The source is read once, and a condition on the methods leaves only its pair.
CREATE FUNCTION pg_temp.plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; lines text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP lines := lines || line || E'\n'; END LOOP;
	RETURN lines;
END $$;
CREATE TABLE cmp_plan AS SELECT grp, right(traj, 1)::int AS traj, n, st, act, rew FROM cmp_steps;
SELECT count(*) > 5 AS attached FROM stepadv.attach('cmp_plan', '{grp}', 'traj', 'n', 'st', 'act', 'rew', views => '{all}', options => '{"show_columns": []}');
SELECT name, (SELECT count(*) FROM regexp_matches(plan, 'Scan on cmp_plan', 'g')) AS scans, plan ~ 'Filter: .*(column1|method_a) = ''grpo''' AS filter_of_pairs
FROM (VALUES
	('compare', pg_temp.plan('SELECT * FROM cmp_plan_compare')),
	('quadrants', pg_temp.plan('SELECT * FROM cmp_plan_quadrants')),
	('quadrants of a pair', pg_temp.plan('SELECT * FROM cmp_plan_quadrants WHERE method_a = ''grpo'' AND method_b = ''rtmc''')),
	('disagreements', pg_temp.plan('SELECT * FROM cmp_plan_disagreements')),
	('disagreements of a pair', pg_temp.plan('SELECT * FROM cmp_plan_disagreements WHERE method_a = ''grpo'' AND method_b = ''rtmc'''))) p(name, plan);
CREATE INDEX ON cmp_steps (grp);
SET enable_seqscan = off;
SELECT name, plan ~ 'Index Cond: .*grp' AND plan !~ 'Seq Scan' AS by_index
FROM (VALUES
	('compare', pg_temp.plan('SELECT grpo FROM cmp_steps_compare WHERE grp = ''1/1''')),
	('quadrants', pg_temp.plan('SELECT * FROM cmp_steps_quadrants WHERE grp = ''1/1''')),
	('disagreements', pg_temp.plan('SELECT difference FROM cmp_steps_disagreements WHERE grp = ''1/1'''))) p(name, plan);
-- The plan has no Memoize node: no two steps have the same advantages.
SELECT pg_temp.plan('SELECT * FROM cmp_steps_disagreements') LIKE '%Memoize%' AS remembers;
RESET enable_seqscan;

-- A threshold, other options, ids that are found by an index.
SELECT count(*) > 5 AS attached FROM stepadv.attach('cmp_steps', '{grp}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won", "next_state": "nxt"}', views => '{all}', prefix => 'cmp_thr', options => '{"show_columns": ["val"], "grpo": {"normalise": "mean"}, "success_above": 0.7, "quadrants": {"threshold": "0.25"}, "disagreements": {"threshold": 0.3}, "compare": {"methods": "grpo,rloo,gigpo,graphgpo,hgpo,tempo,rtmc"}}');
SELECT pg_temp.single_views('cmp_thr', '{grpo,rloo,gigpo,graphgpo,hgpo,tempo,rtmc}');
SELECT count(*) > 500 AS rows, count(*) FILTER (WHERE w.n_steps IS DISTINCT FROM v.n_steps) AS different, count(DISTINCT v.quadrant) AS quadrants
FROM pg_temp.quadrants(0.25) w FULL JOIN cmp_thr_quadrants v ON (w.grp, w.method_a, w.method_b, coalesce(w.success::text, '-'), coalesce(w.quadrant, '?')) = (v.grp, v.method_a, v.method_b, coalesce(v.success::text, '-'), coalesce(v.quadrant, '?'));
-- Where a method's root mean square is at most the threshold it says nothing.
SELECT method, bool_and(silent = (scale <= 0.3)) AS as_it_should, count(DISTINCT silent) AS kinds
FROM (SELECT s.method, s.grp, sqrt(avg(s.advantage ^ 2)) AS scale, bool_and(d.scaled_b = 0) AS silent
	FROM cmp_single s JOIN cmp_thr_disagreements d ON (d.grp, d.rollout_id, d.step_no, d.method_a, d.method_b) = (s.grp, s.rollout_id, s.step_no, 'grpo', s.method) GROUP BY 1, 2) x
GROUP BY 1 ORDER BY 1;

-- The policy version divides counts, not advantages. By hand, of cmp_hand, where a and c are of v1, b and d of v2: v1 has the two ++ of a and the -- of c.
CREATE TABLE cmp_hand_runs (task int, run text, version text);
INSERT INTO cmp_hand_runs VALUES (1, 'a', 'v1'), (1, 'b', 'v2'), (1, 'c', 'v1'), (2, 'd', 'v2');
SELECT count(*) > 5 AS attached FROM stepadv.attach('cmp_hand', '{task}', 'run', 'n', 'obs', 'act', 'score', columns => '{"policy_version": "version"}', views => '{all}', options => '{"show_rollouts": "cmp_hand_runs", "compare": {"methods": "rtmc, grpo"}}');
SELECT task, policy_version, success, quadrant, n_steps, share FROM cmp_hand_quadrants ORDER BY 1, 2, 3, 4;
SELECT step_id, policy_version, version, round(difference::numeric, 3) AS difference FROM cmp_hand_disagreements ORDER BY 1;
-- An unknown version is a version of its own.
DELETE FROM cmp_hand_runs WHERE run = 'b';
SELECT task, policy_version, success, quadrant, n_steps, share FROM cmp_hand_quadrants WHERE task = 1 ORDER BY 1, 2, 3, 4;
SELECT stepadv.detach('cmp_hand') > 10 AS dropped;

-- Wherever the version is, against a plain count over _compare. In the steps it is that of the first step that has one.
CREATE TABLE cmp_versions AS SELECT s.*, CASE WHEN pg_temp.r('none' || success, 5) = 0 THEN NULL WHEN n > 1 THEN 'later' WHEN n = 1 OR pg_temp.r('first' || success, 3) > 0 THEN 'v' || pg_temp.r('version' || success, 3) END AS policy_version FROM cmp_steps s;
CREATE TABLE cmp_versions_flat AS TABLE cmp_versions;
CREATE INDEX ON cmp_versions (grp);
CREATE TABLE cmp_runs AS SELECT grp, traj, coalesce(max(policy_version) FILTER (WHERE n = 0), max(policy_version) FILTER (WHERE n = 1)) AS policy_version FROM cmp_versions GROUP BY 1, 2;
SELECT policy_version, count(*) > 1 AS rollouts, count(DISTINCT grp) > 1 AS groups FROM cmp_runs GROUP BY 1 ORDER BY 1;
CREATE TABLE cmp_runs_flat AS SELECT grp, traj, policy_version AS version FROM cmp_runs WHERE policy_version IS NOT NULL;
ALTER TABLE cmp_runs ADD PRIMARY KEY (grp, traj);
CREATE FUNCTION pg_temp.attach_versions(prefix text, source regclass, version text, rollouts regclass, group_by text[] DEFAULT '{grp}') RETURNS boolean LANGUAGE sql AS $$
	SELECT count(*) > 5 FROM stepadv.attach(source, group_by, 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won"}'::jsonb || jsonb_build_object('policy_version', version), views => '{all}', prefix => prefix, options => '{"compare": {"methods": "grpo,gigpo,rtmc"}, "quadrants": {"threshold": 0.1}}'::jsonb || jsonb_build_object('show_rollouts', rollouts)) $$;
SELECT pg_temp.attach_versions('cmp_v_rollouts', 'cmp_steps', 'policy_version', 'cmp_runs') AND pg_temp.attach_versions('cmp_v_rollouts_flat', 'cmp_steps', 'version', 'cmp_runs_flat')
	AND pg_temp.attach_versions('cmp_v_source', 'cmp_versions', 'policy_version', NULL) AND pg_temp.attach_versions('cmp_v_source_flat', 'cmp_versions_flat', 'policy_version', NULL)
	AND pg_temp.attach_versions('cmp_v_none', 'cmp_versions', NULL, 'cmp_runs') AS attached;
CREATE FUNCTION pg_temp.columns(view text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = view::regclass AND attnum > 0 $$;
-- Shown once if it is the same, and not at all if attach has no such column.
SELECT name, pg_temp.columns('cmp_v_' || name || '_quadrants') AS of_quadrants, substring(pg_temp.columns('cmp_v_' || name || '_disagreements') FROM '^(.*) success ') AS first,
	(SELECT string_agg(c[1], ' ') FROM regexp_matches(pg_temp.columns('cmp_v_' || name || '_disagreements'), '\S*version', 'g') c) AS versions
FROM unnest('{rollouts,rollouts_flat,source,source_flat,none}'::text[]) name;
CREATE TABLE cmp_by_hand AS
WITH sign AS (
	SELECT c.grp, c.rollout_id, c.success, m.i, m.method, CASE WHEN abs(m.advantage) <= 0.1 THEN '0' WHEN m.advantage > 0 THEN '+' WHEN m.advantage < 0 THEN '-' END AS sign, c.step_no
	FROM cmp_v_none_compare c, LATERAL (VALUES (1, 'grpo', grpo), (2, 'gigpo', gigpo), (3, 'rtmc', rtmc)) m(i, method, advantage)
), counted AS (
	SELECT a.grp, r.policy_version, a.method AS method_a, b.method AS method_b, a.success, a.sign || b.sign AS quadrant, count(*) AS n_steps
	FROM sign a JOIN sign b ON (b.grp, b.rollout_id, b.step_no) = (a.grp, a.rollout_id, a.step_no) JOIN cmp_runs r ON (r.grp, r.traj) = (a.grp, a.rollout_id) WHERE a.i < b.i GROUP BY 1, 2, 3, 4, 5, 6
)
SELECT c.*, (SELECT c.n_steps / sum(o.n_steps) FROM counted o WHERE o.quadrant IS NOT NULL AND (o.grp, o.method_a, o.method_b, o.success) = (c.grp, c.method_a, c.method_b, c.success)
	AND o.policy_version IS NOT DISTINCT FROM c.policy_version)::float8 AS share FROM counted c;
CREATE FUNCTION pg_temp.differences(name text, OUT quadrants bigint, OUT shares bigint, OUT disagreements bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*) FILTER (WHERE h.n_steps IS DISTINCT FROM v.n_steps), count(*) FILTER (WHERE coalesce(abs(h.share - v.share) > 1e-12, (h.share IS NULL) <> (v.share IS NULL)))
		FROM cmp_by_hand h FULL JOIN cmp_v_%s_quadrants v ON (h.grp, coalesce(h.policy_version, ''-''), h.method_a, h.method_b, coalesce(h.success::text, ''-''), coalesce(h.quadrant, ''?''))
			= (v.grp, coalesce(v.policy_version, ''-''), v.method_a, v.method_b, coalesce(v.success::text, ''-''), coalesce(v.quadrant, ''?''))', name) INTO quadrants, shares;
	-- The numbers are those of the view without versions, step by step.
	EXECUTE format('SELECT count(*) FROM (SELECT d.grp, d.rollout_id, d.step_no, r.policy_version, d.method_a, d.method_b, d.advantage_a, d.difference
			FROM cmp_v_none_disagreements d JOIN cmp_runs r ON (r.grp, r.traj) = (d.grp, d.rollout_id)) h
		FULL JOIN cmp_v_%s_disagreements v USING (grp, rollout_id, step_no, method_a, method_b)
		WHERE (h.policy_version, h.advantage_a, h.difference) IS DISTINCT FROM (v.policy_version, v.advantage_a, v.difference)', name) INTO disagreements;
END $$;
SELECT name, d.* FROM unnest('{rollouts,rollouts_flat,source,source_flat}'::text[]) name, pg_temp.differences(name) d;
SELECT count(*) > 300 AS rows, count(DISTINCT policy_version) AS versions, count(*) FILTER (WHERE policy_version IS NULL) > 5 AS unknown, sum(n_steps) = 3 * (SELECT count(*) FROM cmp_steps) AS every_step FROM cmp_by_hand;
-- A condition on the version is one on the rows shown.
SELECT bool_and(h.difference = v.difference) AS equal, count(*) > 50 AS rows FROM cmp_v_rollouts_disagreements v JOIN cmp_v_none_disagreements h USING (grp, rollout_id, step_no, method_a, method_b) WHERE v.policy_version = 'v1';
SELECT count(*) AS different FROM (SELECT grp, method_a, method_b, success, quadrant, n_steps FROM cmp_v_source_quadrants WHERE policy_version = 'v1'
	EXCEPT SELECT grp, method_a, method_b, success, quadrant, n_steps FROM cmp_by_hand WHERE policy_version = 'v1') x;
-- In the key of the group: by its own name, and once if that is this one.
CREATE VIEW cmp_keyed AS SELECT s.*, coalesce(r.policy_version, 'none') AS version FROM cmp_steps s JOIN cmp_runs r USING (grp, traj);
CREATE VIEW cmp_keyed_same AS SELECT s.*, coalesce(r.policy_version, 'none') AS policy_version FROM cmp_steps s JOIN cmp_runs r USING (grp, traj);
SELECT pg_temp.attach_versions('cmp_v_key', 'cmp_keyed', 'version', NULL, '{grp,version}') AND pg_temp.attach_versions('cmp_v_same', 'cmp_keyed_same', 'policy_version', NULL, '{policy_version,grp}') AS attached;
SELECT pg_temp.columns('cmp_v_key_quadrants') AS key, pg_temp.columns('cmp_v_same_quadrants') AS same, substring(pg_temp.columns('cmp_v_same_disagreements') FROM '^(.*) success ') AS same_disagreements;
SELECT count(*) > 100 AS rows, bool_and(k.policy_version = k.version AND k.n_steps = s.n_steps) AS equal
FROM cmp_v_key_quadrants k FULL JOIN cmp_v_same_quadrants s ON (k.grp, k.version, k.method_a, k.method_b, coalesce(k.success::text, '-'), coalesce(k.quadrant, '?')) = (s.grp, s.policy_version, s.method_a, s.method_b, coalesce(s.success::text, '-'), coalesce(s.quadrant, '?'));
SELECT bool_and(policy_version = version) AS equal FROM cmp_v_key_disagreements;
-- A condition on the group goes to its index, in both relations; the version of disagreements is looked up only if the query needs it.
SET enable_seqscan = off;
SELECT name, (SELECT count(*) FROM regexp_matches(plan, 'Index Cond: [^\n]*grp', 'g')) AS by_index, plan ~ 'Seq Scan' AS otherwise
FROM (VALUES
	('quadrants, rollouts', pg_temp.plan('SELECT * FROM cmp_v_rollouts_quadrants WHERE grp = ''1/1''')),
	('quadrants, source', pg_temp.plan('SELECT * FROM cmp_v_source_quadrants WHERE grp = ''1/1'' AND policy_version = ''v1''')),
	('disagreements, rollouts', pg_temp.plan('SELECT difference FROM cmp_v_rollouts_disagreements WHERE grp = ''1/1'' AND policy_version = ''v1''')),
	('disagreements, source', pg_temp.plan('SELECT difference FROM cmp_v_source_disagreements WHERE grp = ''1/1'' AND policy_version = ''v1''')),
	('without version, rollouts', pg_temp.plan('SELECT difference FROM cmp_v_rollouts_disagreements WHERE grp = ''1/1''')),
	('without version, source', pg_temp.plan('SELECT difference FROM cmp_v_source_disagreements WHERE grp = ''1/1'''))) p(name, plan);
RESET enable_seqscan;
-- Groups that are kept: the version is that of now.
SELECT stepadv.maintain('cmp_versions', prefix => 'cmp_v_source');
SELECT pg_get_viewdef('cmp_v_source_quadrants'::regclass) ~ 'cmp_v_source_folded' AS kept, d.* FROM pg_temp.differences('source') d;
UPDATE cmp_versions SET policy_version = 'v9' WHERE traj = 'r2' AND n = 0;
SELECT policy_version, sum(n_steps) = 3 * (SELECT count(*) FROM cmp_versions WHERE traj = 'r2') AS all_of_r2 FROM cmp_v_source_quadrants WHERE policy_version = 'v9' GROUP BY 1;
SELECT count(DISTINCT rollout_id) AS rollouts, min(rollout_id) FROM cmp_v_source_disagreements WHERE policy_version = 'v9';
SELECT stepadv.unmaintain('cmp_versions', 'cmp_v_source');
SELECT stepadv.detach('cmp_steps', p) > 5 AS dropped FROM unnest('{cmp_v_rollouts,cmp_v_rollouts_flat}'::text[]) p;
SELECT stepadv.detach(s) > 5 AS dropped FROM unnest('{cmp_versions,cmp_versions_flat,cmp_keyed,cmp_keyed_same}'::regclass[]) s;
DROP VIEW cmp_keyed, cmp_keyed_same;
DROP TABLE cmp_hand_runs, cmp_versions, cmp_versions_flat, cmp_runs, cmp_runs_flat, cmp_by_hand;

-- Tables with little to compare.
SELECT view_name FROM stepadv.attach('cmp_steps', '{grp}', 'traj', 'n', reward => 'rew', views => '{all}', prefix => 'cmp_two', options => '{"show_columns": [], "compare": {"methods": "grpo,rloo"}}') WHERE view_name::text ~ '(compare|quadrants|disagreements)$';
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'cmp_two_compare'::regclass AND attnum > 0;
SELECT view_name FROM stepadv.attach('cmp_steps', '{grp}', 'traj', 'n', reward => 'rew', views => '{all}', prefix => 'cmp_one', options => '{"compare": {"methods": "rloo"}}') WHERE view_name::text ~ '(compare|quadrants|disagreements)$';
SELECT count(*) FROM stepadv.attach('cmp_steps', '{grp}', 'traj', 'n', columns => '{"success": "won"}', views => '{all}', prefix => 'cmp_none') WHERE view_name::text ~ '(compare|quadrants|disagreements)$';
SELECT count(*) = (SELECT count(*) FROM cmp_steps) AS all_steps, count(rloo) = (SELECT count(advantage) FROM cmp_one_rloo) AS judged FROM cmp_one_compare;
-- An empty table.
CREATE TABLE cmp_empty (LIKE cmp_steps);
SELECT count(*) > 5 AS attached FROM stepadv.attach('cmp_empty', '{grp}', 'traj', 'n', 'st', 'act', 'rew', views => '{all}');
SELECT (SELECT count(*) FROM cmp_empty_compare) + (SELECT count(*) FROM cmp_empty_quadrants) + (SELECT count(*) FROM cmp_empty_disagreements) AS rows;
-- Nothing but unjudged rollouts, and a row that is no step.
INSERT INTO cmp_empty (grp, traj, n, st, act) VALUES ('g', 'a', 0, 1, 1), ('g', 'b', 0, 1, 2), ('g', 'c', NULL, NULL, NULL);
SELECT grp, success, quadrant, n_steps, share FROM cmp_empty_quadrants WHERE method_a = 'grpo' AND method_b = 'rtmc';
SELECT count(*) FROM cmp_empty_disagreements;
SELECT rollout_id, success, grpo, rtmc FROM cmp_empty_compare ORDER BY 1;

-- A group without any critic value has no GAE; where some values are missing it is an error, as in _gae.
CREATE TABLE cmp_values AS SELECT g AS grp, t AS traj, n, t % 2 AS rew, CASE WHEN g > 1 THEN n / 4.0 END AS val FROM generate_series(1, 2) g, generate_series(1, 3) t, generate_series(0, 2) n;
SELECT count(*) > 5 AS attached FROM stepadv.attach('cmp_values', '{grp}', 'traj', 'n', reward => 'rew', columns => '{"value": "val"}', views => '{all}', options => '{"compare": {"methods": "grpo,rloo,gae"}}');
SELECT grp, count(*), count(gae) AS gae, count(grpo) AS grpo FROM cmp_values_compare GROUP BY grp ORDER BY grp;
SELECT grp, method_b, success, quadrant, sum(n_steps) AS n_steps, round(sum(share)::numeric, 3) AS share FROM cmp_values_quadrants WHERE method_a = 'grpo' AND success GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 4;
SELECT grp, method_b, count(*), count(difference) AS differences FROM cmp_values_disagreements WHERE method_a = 'grpo' GROUP BY 1, 2 ORDER BY 1, 2;
UPDATE cmp_values SET val = NULL WHERE grp = 2 AND traj = 1 AND n = 1;
SELECT count(gae) FROM cmp_values_compare;

-- Advantages whose squares are too small for a number are no error, and have no weight at any threshold.
CREATE TABLE cmp_tiny AS SELECT 1 AS grp, t AS traj, 0 AS n, t * 1e-200::float8 AS rew FROM generate_series(1, 3) t;
SELECT count(*) > 5 AS attached FROM stepadv.attach('cmp_tiny', '{grp}', 'traj', 'n', reward => 'rew', views => '{all}', options => '{"disagreements": {"threshold": 0}, "compare": {"methods": "grpo,rloo"}}');
SELECT rollout_id, advantage_b, scaled_a, scaled_b, difference, opposite_sign FROM cmp_tiny_disagreements ORDER BY 1;

-- Names that would break out of quoting, and those that the views' own text uses.
CREATE TABLE "cmp 'x"";%s $1" AS SELECT grp AS rollouts, 1 AS "f", grp AS "g.'signs", traj AS "a", n AS "s.n", st AS "c ""st", act AS "%I", rew AS "p", won AS "success" FROM cmp_steps;
SELECT count(*) > 5 AS attached FROM stepadv.attach('"cmp ''x"";%s $1"', ARRAY['rollouts', 'f', 'g.''signs'], 'a', 's.n', 'c "st', '%I', 'p', columns => '{"success": "success"}', views => '{all}', prefix => 'cmp ''x";', options => '{"success_above": 0.7, "compare": {"methods": "grpo,rloo,gigpo,graphgpo,hgpo,tempo,rtmc"}}');
SELECT count(*) = (SELECT count(*) FROM cmp_thr_compare) AS all_steps, bool_and(x.rtmc IS NOT DISTINCT FROM t.rtmc AND x.tempo IS NOT DISTINCT FROM t.tempo AND x.success IS NOT DISTINCT FROM t.success) AS equal
FROM "cmp 'x"";_compare" x JOIN cmp_thr_compare t ON (x.rollouts, x.rollout_id, x.step_no) = (t.grp, t.rollout_id, t.step_no);
SELECT (SELECT sum(n_steps) FROM "cmp 'x"";_quadrants") = 21 * (SELECT count(*) FROM cmp_steps) AS counted, (SELECT count(*) FROM "cmp 'x"";_disagreements") = (SELECT count(*) FROM cmp_thr_disagreements) AS differ;
-- The views survive being written out and read again, as by pg_dump.
DO $$
DECLARE v text;
BEGIN
	FOREACH v IN ARRAY ARRAY['compare', 'quadrants', 'disagreements'] LOOP
		EXECUTE format('CREATE VIEW %I AS %s', 'cmp_again_' || v, pg_get_viewdef(format('%I', 'cmp ''x";_' || v)::regclass));
	END LOOP;
END $$;
SELECT count(*) AS different FROM (TABLE "cmp 'x"";_quadrants" EXCEPT TABLE cmp_again_quadrants) x;

-- The canonical tables: with the rollout's columns. grpo: 1 and 0 have sd sqrt(1/2). rtmc, p = 1/2: v = (2/2 + 0.99) / 4 in the first state, (2/2 + 1) / 4 in the second.
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('cmp_rl', group_by => '{group_id}', views => '{all}');
INSERT INTO cmp_rl.rollouts (group_id, rollout_id, outcome, success) VALUES ('g', 'a', 1, true), ('g', 'b', 0, NULL), ('g', 'c', NULL, NULL);
INSERT INTO cmp_rl.steps (group_id, rollout_id, step_no, action, state, action_hash) SELECT 'g', r, n, 'act ' || n, n, n + (r = 'a')::int FROM unnest('{a,b,c}'::text[]) r, generate_series(0, 1) n;
SELECT rollout_id, step_no, success, rollout_success, outcome, action, round(grpo::numeric, 3) AS grpo, round(rtmc::numeric, 3) AS rtmc, gae FROM cmp_rl.steps_compare ORDER BY 1, 2;
SELECT success, quadrant, n_steps FROM cmp_rl.steps_quadrants WHERE group_id = 'g' AND method_a = 'grpo' AND method_b = 'rtmc' ORDER BY 1, 2;
DROP SCHEMA cmp_rl CASCADE;

-- A masked GAE needs the actions, also derived ones: here every step has one, so nothing is masked.
CREATE TABLE cmp_masked AS SELECT 1 AS grp, t AS traj, n, 'bash' AS tool, (t + n) % 3 AS rew, n / 4.0 AS val FROM generate_series(1, 3) t, generate_series(0, 3) n;
SELECT count(*) > 5 AS attached FROM stepadv.attach('cmp_masked', '{grp}', 'traj', 'n', reward => 'rew', columns => '{"value": "val", "tool": "tool"}', views => '{all}', options => '{"gae": {"masked": true}}');
SELECT count(*) AS steps, bool_and(g.advantage = u.advantage AND c.gae = u.advantage) AS equal
FROM cmp_masked_gae g JOIN cmp_masked_compare c USING (rollout_id, step_no) JOIN (SELECT u.* FROM cmp_masked_values v, stepadv.gae(v.rollouts) u) u USING (rollout_id, step_no);

-- Errors.
\set VERBOSITY terse
CREATE FUNCTION pg_temp.try(options jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE hint text;
BEGIN
	PERFORM stepadv.attach('cmp_steps', '{grp}', 'traj', 'n', 'st', 'act', 'rew', views => '{all}', prefix => 'cmp_try', options => options);
	RETURN 'attached';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN SQLSTATE || ' ' || SQLERRM || coalesce(' | ' || regexp_replace(nullif(hint, ''), '^(Functions|Methods that the given columns allow): .*', '\1: …'), '');
END $$;
SELECT o, pg_temp.try(o) FROM unnest(ARRAY[
	'{"compare": {"methods": "grpo,gae"}}', '{"compare": {"methods": ""}}', '{"compare": {"methods": "grpo,\"; DROP TABLE cmp_steps"}}', '{"compare": {"methods": ["grpo"]}}',
	'{"compare": {"method": "grpo"}}', '{"compare": {"success_above": "NaN"}}', '{"compare": {"success_above": "much"}}', '{"compare": "grpo"}', '{"quadrants": {"methods": "grpo"}}',
	'{"quadrants": {"threshold": -1}}', '{"quadrants": {"threshold": "NaN"}}', '{"quadrants": {"threshold": "inf"}}', '{"quadrants": {"threshold": "''"}}', '{"disagreements": {"threshold": -0.5}}',
	'{"disagreements": {"scale": 1}}', '{"threshold": 1}']::jsonb[]) WITH ORDINALITY u(o, i) ORDER BY i;
SELECT count(*) FROM pg_class WHERE relname LIKE 'cmp\_try%';
CREATE TABLE cmp_taken_compare ();
SELECT stepadv.attach('cmp_steps', '{grp}', 'traj', 'n', reward => 'rew', views => '{all}', prefix => 'cmp_taken');
SELECT * FROM stepadv.outcomes((SELECT rollouts FROM cmp_two_values LIMIT 1), 'inf');
\set VERBOSITY default

-- detach drops them with the rest.
SELECT stepadv.detach('cmp_steps') > 30 AS dropped, count(*) FILTER (WHERE relkind = 'v') > 30 AS there_were FROM pg_class WHERE relname LIKE 'cmp\_%';
SELECT count(*) FROM pg_class WHERE relname LIKE 'cmp\_steps\_%' AND relkind = 'v';
SELECT stepadv.detach('cmp_masked') > 5 AND stepadv.detach('cmp_empty') > 5 AS dropped;
DROP TABLE cmp_hand, cmp_steps, cmp_single, cmp_want, cmp_empty, cmp_masked, cmp_taken_compare, cmp_plan, cmp_values, cmp_tiny, "cmp 'x"";%s $1" CASCADE;

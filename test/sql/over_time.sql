-- Views over time: _progress_over_time, _advantage_over_time, _advantages; divided by version, time, run, policy step and dimensions; reward components; staleness and effective_sample_size.
SET client_min_messages = warning;
SET jit = off;
SET timezone = 'UTC';
\set SHOW_CONTEXT never

-- effective_sample_size.  Equal weights are worth their number, one that outweighs all the others 1;
-- (1+1+3)^2 / (1+1+9) = 25/11 = 2.272727, in any unit; weights of 0 add nothing.
SELECT stepadv.effective_sample_size(w) FROM unnest('{0.5,0.5,0.5,0.5}'::float8[]) w;
SELECT stepadv.effective_sample_size(w) FROM unnest('{1e-300,1e300,1}'::float8[]) w;
SELECT round(stepadv.effective_sample_size(w * unit)::numeric, 9) AS ess
FROM unnest('{1,0,1,3,NULL}'::float8[]) w, unnest('{1,1e-320,1e-200,1e200,5e307}'::float8[]) unit GROUP BY unit ORDER BY unit;
-- The order of weights does not matter, nor which process adds which of them.
SELECT count(DISTINCT ess) AS different, round(min(ess)::numeric, 9) AS ess FROM (
	SELECT stepadv.effective_sample_size(w ORDER BY w) FROM unnest('{1e-5,7,1e200,3e200,2e199,0}'::float8[]) w
	UNION ALL SELECT stepadv.effective_sample_size(w ORDER BY w DESC) FROM unnest('{1e-5,7,1e200,3e200,2e199,0}'::float8[]) w
	UNION ALL SELECT stepadv_internal.effective_sample_size_final(stepadv_internal.effective_sample_size_combine(l.s, r.s))
	FROM (SELECT stepadv_internal.effective_sample_size_trans(stepadv_internal.effective_sample_size_trans('{0,0,0,0,0,0}', 1e-5), 7) AS s) l,
		(SELECT stepadv_internal.effective_sample_size_trans(stepadv_internal.effective_sample_size_trans(stepadv_internal.effective_sample_size_trans(stepadv_internal.effective_sample_size_trans(
			'{0,0,0,0,0,0}', 3e200), 0), 1e200), 2e199) AS s) r
	UNION ALL SELECT stepadv_internal.effective_sample_size_final(stepadv_internal.effective_sample_size_combine(r.s, l.s))
	FROM (SELECT stepadv_internal.effective_sample_size_trans(stepadv_internal.effective_sample_size_trans('{0,0,0,0,0,0}', 1e-5), 7) AS s) l,
		(SELECT stepadv_internal.effective_sample_size_trans(stepadv_internal.effective_sample_size_trans(stepadv_internal.effective_sample_size_trans(stepadv_internal.effective_sample_size_trans(
			'{0,0,0,0,0,0}', 3e200), 0), 1e200), 2e199) AS s) r) x(ess);
-- Against the plain formula, over random weights; in parallel too.
CREATE TABLE weights AS SELECT exp(10 * sin(i)) AS w FROM generate_series(1, 100000) i;
ALTER TABLE weights SET (parallel_workers = 2);
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT abs(stepadv.effective_sample_size(w) / (sum(w) ^ 2 / sum(w * w)) - 1) < 1e-9 AS as_the_formula FROM weights;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
DROP TABLE weights;
-- No weights, only NULLs, only zeros, overflow.
SELECT stepadv.effective_sample_size(NULL::float8) AS of_null, (SELECT stepadv.effective_sample_size(1) WHERE false) AS of_none,
	(SELECT stepadv.effective_sample_size(w) FROM unnest('{0,0}'::float8[]) w) AS of_zeros,
	(SELECT stepadv.effective_sample_size(w) FROM unnest('{1,Infinity,2}'::float8[]) w) AS of_infinity;
SELECT stepadv.effective_sample_size(-0.5);
SELECT stepadv.effective_sample_size('NaN');

-- Task t1 mixes two versions, the end of a day and a rollout without attributes; in t2 both judged rollouts fail and the third is not judged yet, as in all of t3.
CREATE SCHEMA ot;
CREATE TABLE ot.rollouts (task text, run text, version text, started timestamptz, success boolean, PRIMARY KEY (task, run));
INSERT INTO ot.rollouts VALUES
	('t1', 'a', 'v1', '2026-03-01 10:00+00', true), ('t1', 'b', 'v1', '2026-03-01 23:59:59.999999+00', false), ('t1', 'c', 'v1', '2026-03-02 00:00+00', true),
	('t1', 'd', 'v2', '2026-03-02 08:00+00', true), ('t1', 'e', 'v2', '2026-03-02 09:00+00', false), ('t1', 'f', NULL, NULL, true),
	('t2', 'a', 'v1', '2026-03-01 11:00+00', false), ('t2', 'b', 'v1', '2026-03-01 11:00+00', false), ('t2', 'c', 'v1', '2026-03-01 11:00+00', NULL),
	('t3', 'a', 'v2', '2026-03-02 11:00+00', NULL);
CREATE TABLE ot.steps (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, task text, run text, step integer, state text, action text, reward float8, success boolean,
	new real[], old real[], counts boolean[], UNIQUE (task, run, step));
INSERT INTO ot.steps (task, run, step, state, action, reward, success, new, old, counts) VALUES
	('t1', 'a', 0, 's0', 'x', 0, NULL, '{-1,-1}', '{-1,-1}', NULL), ('t1', 'a', 1, 's1', 'y', 1, true, '{-1}', '{-2}', NULL),
	('t1', 'b', 0, 's0', 'z', 0, NULL, '{-3,-1}', '{-1,-1}', '{t,f}'), ('t1', 'b', 1, 's2', 'y', 0, NULL, NULL, '{-1}', NULL), ('t1', 'b', 2, 's2', 'y', 0, false, '{-1}', '{-1}', NULL),
	('t1', 'c', 0, 's0', 'x', 0.5, true, '{-0.5}', '{-1}', NULL),
	('t1', 'd', 0, 's0', 'x', 0, NULL, '{-1}', '{-1}', NULL), ('t1', 'd', 1, 's1', 'y', 1, true, '{-1,-1}', '{-1,-3}', NULL),
	('t1', 'e', 0, 's0', 'x', 0, NULL, '{-1}', '{-1}', NULL), ('t1', 'e', 1, 's1', 'z', 0, false, '{-4}', '{-1}', NULL),
	('t1', 'f', 0, 's0', 'x', 1, true, '{-1}', '{-1}', NULL),
	('t2', 'a', 0, 's0', 'x', 0, false, NULL, NULL, NULL), ('t2', 'b', 0, 's0', 'x', 0, false, NULL, NULL, NULL), ('t2', 'c', 0, 's0', 'x', NULL, NULL, NULL, NULL, NULL),
	('t3', 'a', 0, 's9', 'x', NULL, NULL, NULL, NULL, NULL);
SELECT view_name, description FROM stepadv.attach('ot.steps', '{task}', 'run', 'step', 'state', 'action', 'reward', columns => '{"success": "success", "logp_new": "new", "logp_old": "old", "token_mask": "counts", "policy_version": "version", "started_at": "started"}', views => '{all}', options => '{"show_rollouts": "ot.rollouts"}')
WHERE view_name::text ~ 'over_time|advantages';
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'ot.steps_progress_over_time'::regclass ORDER BY attnum;
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'ot.steps_advantage_over_time'::regclass ORDER BY attnum;
-- A row per version and day, of which each has its own rollouts: v1 on March 1 are a and b of t1 and the three of t2.
-- Judged are 4 of the 5, 1 succeeded. t1 there is mixed, t2 is not, t3 is not judged. Steps in shared states: s0 of a and b
-- in t1 (s2 has only b), s0 twice in t2 (c is not judged): 4 of 7 judged steps.
SELECT policy_version, bucket, n_groups, n_judged_groups, n_informative_groups, n_rollouts, n_judged, n_successes, n_steps, n_judged_steps, n_shared_steps
FROM ot.steps_progress_over_time ORDER BY 1, 2;
SELECT policy_version, bucket, success_rate, mean_return, informative_share, round(shared_step_share::numeric, 6) AS shared_step_share, n_ratios
FROM ot.steps_progress_over_time ORDER BY 1, 2;
-- RLOO by hand, v1 on March 1: t1 1 - 0 for the 2 steps of a, 0 - 1 for the 3 of b; t2 0 for its 2 judged steps: 5/7.
CREATE FUNCTION ot.mean_abs(relation regclass, version text, day timestamptz, method text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	found float8;
BEGIN
	EXECUTE format('SELECT mean_abs_advantage FROM %s v WHERE v.policy_version IS NOT DISTINCT FROM $1 AND v.bucket IS NOT DISTINCT FROM $2 AND v.method = $3', relation) INTO STRICT found USING version, day, method;
	RETURN found;
END $$;
SELECT policy_version, bucket, round(max(mean_abs_advantage) FILTER (WHERE method = 'rloo')::numeric, 6) AS rloo, round(max(mean_abs_advantage) FILTER (WHERE method = 'grpo')::numeric, 6) AS grpo,
	round(max(mean_abs_advantage) FILTER (WHERE method = 'rtmc')::numeric, 6) AS rtmc
FROM ot.steps_advantage_over_time GROUP BY 1, 2 ORDER BY 1, 2;

-- All of it against plain SQL over the tables.
CREATE VIEW ot.by_hand AS
WITH rollout AS (
	SELECT r.task, r.run, r.version, date_trunc('day', r.started) AS day, count(*) AS steps, sum(s.reward) AS return, bool_or(r.success) AS success
	FROM ot.rollouts r JOIN ot.steps s USING (task, run) GROUP BY 1, 2, 3, 4
), part AS (
	SELECT task, version, day, count(return) AS judged, count(DISTINCT return) > 1 AS informative, sum(return) AS total, avg(return) AS mean, stddev_samp(return) AS sd
	FROM rollout GROUP BY 1, 2, 3
), step AS (
	SELECT s.task, s.run, r.version, r.day, s.state, r.return,
		CASE WHEN p.judged > 1 THEN r.return - (p.total - r.return) / (p.judged - 1) ELSE 0 END AS rloo,
		CASE WHEN p.sd > 0 THEN (r.return - p.mean) / (p.sd + 1e-6) ELSE 0 END AS grpo,
		(SELECT count(DISTINCT o.run) FROM ot.steps o JOIN rollout q USING (task, run) WHERE q.return IS NOT NULL AND o.task = s.task AND o.state = s.state
			AND q.version IS NOT DISTINCT FROM r.version AND q.day IS NOT DISTINCT FROM r.day) > 1 AS shared
	FROM ot.steps s JOIN rollout r USING (task, run)
	JOIN part p ON p.task = r.task AND p.version IS NOT DISTINCT FROM r.version AND p.day IS NOT DISTINCT FROM r.day
	WHERE r.return IS NOT NULL
), ratio AS (
	SELECT r.version, r.day, exp(x.mean) AS w, exp(x.total) AS sequence_w
	FROM ot.steps s JOIN rollout r USING (task, run), LATERAL (
		SELECT avg(n - o) AS mean, sum(n - o) AS total FROM unnest(s.new::float8[], s.old::float8[], s.counts) t(n, o, c) WHERE c IS NOT false) x
	WHERE s.new IS NOT NULL AND s.old IS NOT NULL
)
SELECT k.version, k.day, p.groups, p.judged_groups, p.informative, r.rollouts, r.judged, r.successes, r.steps, s.steps AS judged_steps, s.shared,
	r.successes::float8 / nullif(r.judged, 0) AS success_rate, r.mean_return, s.rloo, s.grpo, w.n_ratios, w.ess_share, w.sequence_ess_share
FROM (SELECT DISTINCT version, day FROM rollout) k
JOIN LATERAL (SELECT count(*) AS groups, count(*) FILTER (WHERE judged > 0) AS judged_groups, count(*) FILTER (WHERE informative) AS informative
	FROM part x WHERE (x.version, x.day) IS NOT DISTINCT FROM (k.version, k.day)) p ON true
JOIN LATERAL (SELECT count(*) AS rollouts, count(return) AS judged, count(*) FILTER (WHERE success AND return IS NOT NULL) AS successes, sum(steps) AS steps, avg(return) AS mean_return
	FROM rollout x WHERE (x.version, x.day) IS NOT DISTINCT FROM (k.version, k.day)) r ON true
JOIN LATERAL (SELECT count(*) AS steps, count(*) FILTER (WHERE shared) AS shared, avg(abs(rloo)) AS rloo, avg(abs(grpo)) AS grpo
	FROM step x WHERE (x.version, x.day) IS NOT DISTINCT FROM (k.version, k.day)) s ON true
LEFT JOIN LATERAL (SELECT count(*) AS n_ratios, sum(w) ^ 2 / sum(w * w) / count(*) AS ess_share, sum(sequence_w) ^ 2 / sum(sequence_w * sequence_w) / count(*) AS sequence_ess_share
	FROM ratio x WHERE (x.version, x.day) IS NOT DISTINCT FROM (k.version, k.day) HAVING count(*) > 0) w ON true;
CREATE FUNCTION ot.same(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT a IS NOT DISTINCT FROM b OR abs(a - b) <= 1e-9 * greatest(abs(a), abs(b), 1e-3) $$;
SELECT v.policy_version, v.bucket,
	(n_groups, n_judged_groups, n_informative_groups, n_rollouts, n_judged, n_successes, n_steps, n_judged_steps, n_shared_steps)
		= (h.groups, h.judged_groups, h.informative, h.rollouts, h.judged, h.successes, h.steps, h.judged_steps, h.shared) AS counts,
	ot.same(v.success_rate, h.success_rate) AND ot.same(v.mean_return, h.mean_return) AS outcomes,
	ot.same(informative_share, h.informative::float8 / nullif(h.judged_groups, 0)) AND ot.same(shared_step_share, h.shared::float8 / nullif(h.judged_steps, 0)) AS shares,
	ot.same(ot.mean_abs('ot.steps_advantage_over_time', v.policy_version, v.bucket, 'rloo'), h.rloo) AND ot.same(ot.mean_abs('ot.steps_advantage_over_time', v.policy_version, v.bucket, 'grpo'), h.grpo) AS methods,
	v.n_ratios = coalesce(h.n_ratios, 0) AND ot.same(v.ess_share, h.ess_share) AND ot.same(v.sequence_ess_share, h.sequence_ess_share) AS ratios,
	round(v.ess_share::numeric, 6) AS ess_share, round(v.sequence_ess_share::numeric, 6) AS sequence_ess_share
FROM ot.steps_progress_over_time v FULL JOIN ot.by_hand h ON coalesce(v.policy_version, '?') = coalesce(h.version, '?') AND coalesce(v.bucket, '-infinity') = coalesce(h.day, '-infinity') ORDER BY 1, 2;

-- The steps themselves give the same.
SELECT bool_and((l.n_steps, l.n_positive, l.n_negative) = (s.n, s.positive, s.negative) AND ot.same(l.mean_abs_advantage, s.mean_abs) AND ot.same(l.mean_advantage, s.mean)
	AND ot.same(l.sd_advantage, s.sd) AND ot.same(l.min_advantage, s.least) AND ot.same(l.max_advantage, s.greatest)) AS same, count(*)
FROM ot.steps_advantage_over_time l FULL JOIN (
	SELECT policy_version, bucket, method, count(advantage) AS n, avg(abs(advantage)) AS mean_abs, avg(advantage) AS mean, stddev_samp(advantage) AS sd, min(advantage) AS least,
		max(advantage) AS greatest, count(*) FILTER (WHERE advantage > 0) AS positive, count(*) FILTER (WHERE advantage < 0) AS negative
	FROM ot.steps_advantages GROUP BY 1, 2, 3) s
ON l.policy_version IS NOT DISTINCT FROM s.policy_version AND l.bucket IS NOT DISTINCT FROM s.bucket AND l.method = s.method
WHERE l.method IN ('grpo', 'rloo', 'gigpo', 'graphgpo', 'hgpo', 'tempo', 'rtmc') OR l.method IS NULL;
-- The same for each group.
SELECT count(*) > 40 AS many, count(*) FILTER (WHERE ((l.n_steps, l.n_positive, l.n_negative, l.min_advantage, l.max_advantage) = (s.n, s.positive, s.negative, s.least, s.greatest)
	AND ot.same(l.mean_abs_advantage, s.mean_abs) AND ot.same(l.mean_advantage, s.mean)) IS NOT TRUE) AS wrong
FROM ot.steps_advantage_by_group l FULL JOIN (
	SELECT task, policy_version, bucket, method, count(advantage) AS n, avg(abs(advantage)) AS mean_abs, avg(advantage) AS mean, min(advantage) AS least, max(advantage) AS greatest,
		count(*) FILTER (WHERE advantage > 0) AS positive, count(*) FILTER (WHERE advantage < 0) AS negative
	FROM ot.steps_advantages GROUP BY 1, 2, 3, 4 HAVING count(advantage) > 0) s
ON (l.task, l.method, coalesce(l.policy_version, '?'), coalesce(l.bucket, '-infinity')) = (s.task, s.method, coalesce(s.policy_version, '?'), coalesce(s.bucket, '-infinity'));
-- Each step of t1 beside its own columns. The estimates of a part use that part alone.
SELECT task, rollout_id, step_no, step_id = (SELECT s.id FROM ot.steps s WHERE (s.task, s.run, s.step) = (v.task, v.rollout_id, v.step_no)) AS its_id,
	policy_version, bucket, method, round(advantage::numeric, 6) AS advantage, state, version
FROM ot.steps_advantages v WHERE task = 't1' AND method = 'rloo' ORDER BY 2, 3;
SELECT v.method, count(*), bool_and(ot.same(v.advantage, a.advantage)) AS same
FROM (SELECT r.task, stepadv.rollout_agg(s.id, ascii(s.run), s.step, stepadv.signature_hash(s.state), stepadv.signature_hash(s.action), s.reward, s.success) AS g
	FROM ot.steps s JOIN ot.rollouts r USING (task, run) GROUP BY r.task, r.version, r.started::date) p
CROSS JOIN LATERAL (SELECT 'rtmc' AS method, step_id, advantage FROM stepadv.rtmc(p.g) UNION ALL SELECT 'gigpo', step_id, advantage FROM stepadv.gigpo(p.g)
	UNION ALL SELECT 'tempo', step_id, advantage FROM stepadv.tempo(p.g)) a
JOIN ot.steps_advantages v ON v.method = a.method AND v.step_id = a.step_id GROUP BY 1 ORDER BY 1;

-- Only what the query reads is computed: the functions in a plan.
CREATE FUNCTION ot.functions(query text) RETURNS text LANGUAGE plpgsql SET stepadv.enable_step_scan = off AS $$
DECLARE
	line text;
	found text[] := '{}';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS off) ' || query LOOP
		found := found || ARRAY(SELECT m[1] FROM regexp_matches(line, 'stepadv(?:_internal)?\.(grpo|rloo|gigpo|graphgpo|hgpo|tempo|rtmc|group_summary|rollouts|ratios_or_null)\(', 'g') m);
	END LOOP;
	RETURN (SELECT string_agg(DISTINCT f, ' ' ORDER BY f) FROM unnest(found) f);
END $$;
SELECT ot.functions('SELECT DISTINCT policy_version FROM ot.steps_progress_over_time') AS nothing;
SELECT ot.functions('SELECT bucket, n_rollouts FROM ot.steps_progress_over_time') AS no_method;
SELECT ot.functions('SELECT bucket, ess_share FROM ot.steps_progress_over_time') AS ratios;

-- Wherever the two columns are, the views give the same: in the source (if rows of a rollout differ, its first policy and earliest time count), in the columns of the group.
CREATE TABLE ot.flat AS
SELECT s.id, s.task, s.run, s.step, s.state, s.action, s.reward, s.success,
	CASE WHEN s.step = 0 THEN r.version WHEN s.run <> 'b' THEN 'v9' END AS version, r.started + s.step * interval '3 days' AS started
FROM ot.steps s JOIN ot.rollouts r USING (task, run) ORDER BY s.step DESC, md5(s.id::text);
CREATE TABLE ot.grouped AS SELECT s.task, r.version, r.started::date AS day, s.run, s.step, s.state, s.action, s.reward, s.success FROM ot.steps s JOIN ot.rollouts r USING (task, run);
CREATE TABLE ot.versions AS SELECT task, run, version FROM ot.rollouts;
SELECT count(*) > 5 AS flat FROM stepadv.attach('ot.flat', '{task}', 'run', 'step', 'state', 'action', 'reward', columns => '{"success": "success", "policy_version": "version", "started_at": "started"}', views => '{all}');
SELECT count(*) > 5 AS mixed FROM stepadv.attach('ot.flat', '{task}', 'run', 'step', 'state', 'action', 'reward', columns => '{"success": "success", "policy_version": "version", "started_at": "started"}', views => '{all}', prefix => 'mixed', options => '{"show_rollouts": "ot.versions"}');
SELECT count(*) > 5 AS grouped FROM stepadv.attach('ot.grouped', '{task,version}', 'run', 'step', 'state', 'action', 'reward', columns => '{"success": "success", "policy_version": "version", "started_at": "day"}', views => '{all}');
CREATE VIEW ot.narrow AS SELECT * FROM (SELECT to_jsonb(v) - '{n_ratios,ess_share,sequence_ess_share}'::text[] AS row FROM ot.steps_progress_over_time v) x;
SELECT count(*) AS rows, count(*) FILTER (WHERE row IN (SELECT to_jsonb(v) - '{n_ratios,ess_share,sequence_ess_share}'::text[] FROM ot.flat_progress_over_time v)) AS flat,
	count(*) FILTER (WHERE row IN (SELECT to_jsonb(v) - '{n_ratios,ess_share,sequence_ess_share}'::text[] FROM ot.mixed_progress_over_time v)) AS mixed,
	-- Rows of no group are left out there: f has no version.
	count(*) FILTER (WHERE row IN (SELECT to_jsonb(v) - '{n_ratios,ess_share,sequence_ess_share}'::text[] FROM ot.grouped_progress_over_time v)) AS grouped
FROM ot.narrow;
SELECT n_ratios, ess_share, sequence_ess_share FROM ot.flat_progress_over_time LIMIT 1;
SELECT task, version, policy_version, bucket, count(*) FROM ot.grouped_advantages WHERE method = 'grpo' GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 4;

-- Buckets. Thursday 2026-01-01 belongs to the week of Monday 2025-12-29; the bucket does not depend on the session's time zone.
CREATE TABLE ot.times (g integer, r integer, s integer, reward float8, at timestamp);
INSERT INTO ot.times SELECT 1, n, 1, n, at FROM unnest('{1999-12-31 23:59:59, 2026-01-01 00:00, 2026-02-28 05:59:59, 2026-04-01 06:00, infinity}'::timestamp[]) WITH ORDINALITY t(at, n);
CREATE FUNCTION ot.buckets(width text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM stepadv.attach('ot.times', '{g}', 'r', 's', reward => 'reward', columns => '{"started_at": "at"}', views => '{all}', options => jsonb_build_object('progress_over_time', jsonb_build_object('bucket', width)));
	SELECT string_agg(bucket AT TIME ZONE 'UTC' || ': ' || mean_return, ', ' ORDER BY bucket) INTO result FROM ot.times_progress_over_time;
	PERFORM stepadv.detach('ot.times');
	RETURN result;
END $$;
SET timezone = 'Asia/Kathmandu';
SELECT b, ot.buckets(b) FROM unnest('{1 day,6 hours,1 week,1 month,3 months,1 year,12 months,45 minutes,NULL}'::text[]) b;
RESET timezone;
SET timezone = 'UTC';
SELECT count(*) > 5 AS views, count(*) = stepadv.detach('ot.times') AS all_dropped FROM stepadv.attach('ot.times', '{g}', 'r', 's', reward => 'reward', columns => '{"policy_version": "r"}', views => '{all}');
SELECT to_regclass('ot.times_progress_over_time') AS gone;
-- Without either column there are no such views.
SELECT view_name FROM stepadv.attach('ot.times', '{g}', 'r', 's', reward => 'reward', views => '{all}') WHERE view_name::text ~ 'over_time|advantages';
SELECT stepadv.detach('ot.times') > 0 AS dropped;

-- Canonical tables: states of every kind use the same fold. Without critic values there is no gae, and no error either.
CREATE FUNCTION ot.canonical(states text) RETURNS TABLE (version text, groups bigint, steps bigint, gae float8, rtmc numeric, by_hand numeric) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM stepadv.create_tables('ot_canonical', states => canonical.states, group_by => '{group_id}', views => '{all}');
	INSERT INTO ot_canonical.rollouts (group_id, rollout_id, policy_version, outcome, started_at)
	SELECT 'g' || g, 'r' || r, 'v' || r % 2, (r = 1)::integer, '2026-03-01 00:00+00' FROM generate_series(1, 2) g, generate_series(1, 4) r;
	INSERT INTO ot_canonical.steps (group_id, rollout_id, step_no, state, action_hash, tool, args, ok)
	SELECT 'g' || g, 'r' || r, s, s % 2, r % 3, 'bash', jsonb_build_object('command', 'cat ' || r % 3 || '.py'), true FROM generate_series(1, 2) g, generate_series(1, 4) r, generate_series(1, 3) s;
	-- The groups by versions, as tables of their own.
	PERFORM stepadv.create_tables('ot_divided', states => canonical.states, group_by => '{group_id}', views => '{all}');
	INSERT INTO ot_divided.rollouts SELECT group_id || policy_version, rollout_id, policy_version, model, outcome FROM ot_canonical.rollouts;
	INSERT INTO ot_divided.steps (group_id, rollout_id, step_no, state, action_hash, tool, args, ok)
	SELECT s.group_id || policy_version, rollout_id, step_no, state, action_hash, tool, args, ok FROM ot_canonical.steps s JOIN ot_canonical.rollouts r USING (group_id, rollout_id);
	RETURN QUERY EXECUTE 'SELECT v.policy_version, v.n_groups, v.n_steps, g.mean_abs_advantage, round(a.mean_abs_advantage::numeric, 6), round(h.mean::numeric, 6)
		FROM ot_canonical.steps_progress_over_time v JOIN ot_canonical.steps_advantage_over_time a ON a.policy_version = v.policy_version AND a.method = ''rtmc''
		LEFT JOIN ot_canonical.steps_advantage_over_time g ON g.policy_version = v.policy_version AND g.method = ''gae'' JOIN (SELECT right(group_id, 2) AS its_version, avg(abs(advantage)) AS mean FROM ot_divided.steps_rtmc GROUP BY 1) h ON h.its_version = v.policy_version ORDER BY v.policy_version';
	DROP SCHEMA ot_canonical, ot_divided CASCADE;
END $$;
SELECT s, c.* FROM unnest('{observation,history,history_set,root,signature}'::text[]) s, ot.canonical(s) c;

-- Names that need quoting, and those that the views use themselves.
CREATE TABLE ot."St'e""p%s" ("bucket" text, "policy_version" integer, "r' %1$s" uuid, "rollouts" integer, "re""ward" numeric, "v %s; DROP" text, "t'" date, "100% %s" text);
INSERT INTO ot."St'e""p%s" SELECT 'b', r % 2, md5(r::text)::uuid, s, (r = 1)::integer, 'version''"', '2026-01-01', 'p' FROM generate_series(1, 4) r, generate_series(1, 2) s;
SELECT count(*) > 5 AS attached FROM stepadv.attach('ot."St''e""p%s"', '{bucket,policy_version,100% %s}', 'r'' %1$s', 'rollouts', reward => 're"ward', columns => '{"policy_version": "v %s; DROP", "started_at": "t''"}', views => '{all}');
SELECT policy_version, bucket, n_groups, n_rollouts, (SELECT round(mean_abs_advantage::numeric, 6) FROM ot."St'e""p%s_advantage_over_time" WHERE method = 'rloo') AS rloo FROM ot."St'e""p%s_progress_over_time";
-- The same from a table of rollouts.
CREATE TABLE ot."Roll'%s" AS SELECT DISTINCT "bucket", "policy_version", "100% %s", "r' %1$s", "v %s; DROP", "t'" FROM ot."St'e""p%s";
SELECT count(*) > 5 AS attached FROM stepadv.attach('ot."St''e""p%s"', '{bucket,policy_version,100% %s}', 'r'' %1$s', 'rollouts', reward => 're"ward', columns => '{"policy_version": "v %s; DROP", "started_at": "t''"}', views => '{all}', prefix => '%I $1', options => '{"show_rollouts": "ot.\"Roll''%s\""}');
SELECT policy_version, bucket, n_groups, n_rollouts, (SELECT round(mean_abs_advantage::numeric, 6) FROM ot."%I $1_advantage_over_time" WHERE method = 'rloo') AS rloo FROM ot."%I $1_progress_over_time";
SELECT base_bucket, base_policy_version, policy_version, bucket, method, count(*), sum(advantage) FROM ot."St'e""p%s_advantages" WHERE method = 'rloo' GROUP BY 1, 2, 3, 4, 5 ORDER BY 2;

-- Runs, policy steps, dimensions and reward components. Some trials have an unknown run, policy step or category, and one of each task has none of these; one in seven is
-- not judged. The seed is in the source, the task in the group.
CREATE TABLE ot.trials (task text, trial integer, experiment text, version text, train_step integer, began timestamptz, category text, "en'v %s" uuid, PRIMARY KEY (task, trial));
INSERT INTO ot.trials SELECT 't' || t, r, CASE WHEN r % 11 > 0 THEN 'run ' || r % 2 END, 'v' || r % 4 / 2, CASE WHEN r % 9 > 0 THEN r % 4 * 5 + t % 2 END, '2026-05-01 00:00+00'::timestamptz + r % 3 * interval '20 hours',
	CASE WHEN r % 8 > 0 THEN 'c' || t % 3 END, md5((r % 2)::text)::uuid FROM generate_series(1, 6) t, generate_series(1, 31) r;
CREATE TABLE ot.moves (id integer PRIMARY KEY, task text, trial integer, n integer, state integer, action integer, tool float8, answer float8, "for'm %s" numeric, ok boolean, seed integer, new real[], old real[]);
INSERT INTO ot.moves SELECT t * 1000 + r * 10 + n, 't' || t, r, n, (n + r) % 3, r % 2, CASE WHEN (t + r + n) % 4 > 0 THEN (r + n) % 5 / 4.0 END, CASE WHEN n = 3 AND r % 7 > 0 THEN (r + t) % 2 END, r % 3,
	CASE WHEN n = 3 AND r % 7 > 0 THEN (r + t) % 2 = 1 END, CASE WHEN n > 1 THEN r % 2 END, ARRAY[-1 - r % 3]::real[], '{-1}' FROM generate_series(1, 6) t, generate_series(1, 32) r, generate_series(1, 3) n;
CREATE INDEX ON ot.moves (task);
SELECT view_name FROM stepadv.attach('ot.moves', '{task}', 'trial', 'n', 'state', 'action', 'answer', columns => '{"success": "ok", "logp_new": "new", "logp_old": "old", "policy_version": "version", "started_at": "began", "run_id": "experiment", "policy_step": "train_step", "rewards": ["tool", "answer", "for''m %s"], "dimensions": ["category", "seed", "task", "en''v %s"]}', views => '{all}', options => '{"show_rollouts": "ot.trials", "show_columns": []}')
WHERE view_name::text ~ 'over_time|advantages|runs';
-- Except for methods, which may be added.
CREATE FUNCTION ot.columns(view text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(a.attname, ', ' ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = view::regclass AND a.attnum > 0
		AND a.attname !~ ('^(mean_abs_)?(' || (SELECT string_agg(m.method, '|') FROM stepadv_internal.methods m) || ')(_(n|sum|abs_sum|square_sum|least|greatest|n_positive|n_negative))?$') $$;
SELECT v, ot.columns('ot.moves_' || v) FROM unnest('{groups_over_time,progress_over_time,advantage_over_time,advantages,groups,rollouts,compare,quadrants,disagreements,rtmc}'::text[]) v;

-- All of it by plain SQL. A rollout's seed is that of its first step that has one.
CREATE VIEW ot.trials_by_hand AS
WITH rollout AS (
	SELECT m.task, m.trial, t.version, date_trunc('day', t.began AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AS day, t.experiment, t.train_step, t.category, (array_agg(m.seed ORDER BY m.n) FILTER (WHERE m.seed IS NOT NULL))[1] AS seed, t."en'v %s" AS env,
		count(*) AS steps, sum(m.answer) AS return, bool_or(m.ok) AS success, sum(m.tool) AS tool, sum(m.answer) AS answer, sum(m."for'm %s") AS form
	FROM ot.moves m LEFT JOIN ot.trials t USING (task, trial) GROUP BY m.task, m.trial, t.version, t.began, t.experiment, t.train_step, t.category, t."en'v %s"
), advantage AS (
	SELECT r.*, CASE WHEN return IS NOT NULL THEN CASE WHEN count(return) OVER w > 1 THEN return - (sum(return) OVER w - return) / (count(return) OVER w - 1) ELSE 0 END END AS rloo
	FROM rollout r WINDOW w AS (PARTITION BY task, version, day, experiment, train_step, category, seed, env)
)
SELECT jsonb_build_array(version, day, experiment, train_step, category, seed, task, env) AS key, task, count(*) AS rollouts, count(return) AS judged, count(*) FILTER (WHERE success) AS successes, sum(steps) AS steps, avg(return) AS mean_return,
	coalesce(sum(tool) FILTER (WHERE return IS NOT NULL), CASE WHEN count(return) > 0 THEN 0 END) / nullif(count(return), 0) AS tool, sum(answer) / nullif(count(return), 0) AS answer, sum(form) FILTER (WHERE return IS NOT NULL) / nullif(count(return), 0) AS form,
	count(rloo) * 3 AS rloo_steps, avg(abs(rloo)) AS rloo, sum(rloo) * 3 AS rloo_sum
FROM advantage GROUP BY version, day, experiment, train_step, category, seed, task, env;
CREATE VIEW ot.trials_wrong AS
SELECT (SELECT count(*) FROM ot.trials_by_hand) AS by_hand, count(*) FILTER (WHERE ((v.n_groups, v.n_rollouts, v.n_judged, v.n_successes, v.n_steps) = (1, h.rollouts, h.judged, h.successes, h.steps)
		AND ot.same(v.mean_return, h.mean_return) AND ot.same(v.mean_reward_tool, h.tool) AND ot.same(v.mean_reward_answer, h.answer) AND ot.same(v."mean_reward_for'm %s", h.form::float8)
		AND v.n_ratios = h.steps) IS NOT TRUE) AS progress,
	(SELECT count(*) FILTER (WHERE (g.task = h.task AND (g.n_rollouts, g.n_judged, g.n_successes, g.n_steps) = (h.rollouts, h.judged, h.successes, h.steps) AND ot.same(g.return_sum, h.mean_return * h.judged)
			AND ot.same(g.reward_tool_sum, h.tool * h.judged) AND ot.same(g."reward_for'm %s_sum", h.form::float8 * h.judged)) IS NOT TRUE)
		FROM ot.moves_groups_over_time g FULL JOIN ot.trials_by_hand h ON h.key = jsonb_build_array(policy_version, bucket, run_id, policy_step, category, seed, g.task, "en'v %s")) AS groups,
	(SELECT count(*) FILTER (WHERE (a.n_steps = h.rloo_steps AND ot.same(a.mean_abs_advantage, h.rloo)) IS NOT TRUE)
		FROM (SELECT * FROM ot.moves_advantage_over_time WHERE method = 'rloo') a FULL JOIN (SELECT * FROM ot.trials_by_hand WHERE rloo_steps > 0) h
			ON h.key = jsonb_build_array(policy_version, bucket, run_id, policy_step, category, seed, a.task, "en'v %s")) AS advantage,
	(SELECT count(*) FILTER (WHERE (s.n = h.rloo_steps AND ot.same(s.rloo, h.rloo)) IS NOT TRUE)
		FROM (SELECT jsonb_build_array(policy_version, bucket, run_id, policy_step, category, seed, task, "en'v %s") AS key, count(advantage) AS n, avg(abs(advantage)) AS rloo FROM ot.moves_advantages WHERE method = 'rloo' GROUP BY 1) s
		FULL JOIN ot.trials_by_hand h USING (key)) AS advantages
FROM ot.moves_progress_over_time v FULL JOIN ot.trials_by_hand h ON h.key = jsonb_build_array(policy_version, bucket, run_id, policy_step, category, seed, v.task, "en'v %s");
SELECT * FROM ot.trials_wrong;

-- The newest policy step of a rollout's run, or of all if the run is unknown; an unknown policy step has no staleness.
CREATE VIEW ot.ages AS SELECT t.task, t.trial, t.experiment, t.version, t.train_step,
	CASE WHEN experiment IS NULL THEN (SELECT max(train_step) FROM ot.trials) ELSE max(train_step) OVER (PARTITION BY experiment) END - train_step AS age FROM ot.trials t;
CREATE FUNCTION ot.ages_wrong(OUT ages bigint, OUT known bigint, OUT rollouts bigint, OUT compared bigint, OUT rtmc bigint, OUT advantages bigint) LANGUAGE sql AS $$
	SELECT count(DISTINCT age), count(*) FILTER (WHERE age IS NOT NULL),
		(SELECT count(*) FROM ot.moves_rollouts v LEFT JOIN ot.ages a ON a.task = v.task AND a.trial = v.rollout_id WHERE (v.run_id, v.policy_version, v.policy_step, v.staleness) IS DISTINCT FROM (a.experiment, a.version, a.train_step, a.age)),
		(SELECT count(*) FROM ot.moves_compare v LEFT JOIN ot.ages a ON a.task = v.task AND a.trial = v.rollout_id WHERE (v.run_id, v.policy_version, v.policy_step, v.staleness) IS DISTINCT FROM (a.experiment, a.version, a.train_step, a.age)),
		(SELECT count(*) FROM ot.moves_rtmc v LEFT JOIN ot.ages a ON a.task = v.task AND a.trial = v.rollout_id WHERE v.staleness IS DISTINCT FROM a.age),
		(SELECT count(*) FROM ot.moves_advantages v LEFT JOIN ot.ages a ON a.task = v.task AND a.trial = v.rollout_id WHERE v.staleness IS DISTINCT FROM a.age)
	FROM ot.ages $$;
SELECT * FROM ot.ages_wrong();
-- The quadrants count what _compare shows, by run, version and step.
SELECT count(*) > 60 AS many, count(*) FILTER (WHERE q.n_steps IS DISTINCT FROM c.n_steps) AS wrong
FROM (SELECT * FROM ot.moves_quadrants WHERE method_a = 'rloo' AND method_b = 'rtmc') q FULL JOIN (
	SELECT task, run_id, policy_version, policy_step, success, CASE sign(rloo) WHEN 1 THEN '+' WHEN -1 THEN '-' WHEN 0 THEN '0' END || CASE sign(rtmc) WHEN 1 THEN '+' WHEN -1 THEN '-' WHEN 0 THEN '0' END AS quadrant, count(*) AS n_steps
	FROM ot.moves_compare GROUP BY 1, 2, 3, 4, 5, 6) c
ON (q.task, coalesce(q.run_id, '?'), coalesce(q.policy_version, '?'), coalesce(q.policy_step, -1), coalesce(q.success::text, '?'), coalesce(q.quadrant, '?')) = (c.task, coalesce(c.run_id, '?'), coalesce(c.policy_version, '?'), coalesce(c.policy_step, -1), coalesce(c.success::text, '?'), coalesce(c.quadrant, '?'));
SELECT count(*) > 500 AS many, count(*) FILTER (WHERE (d.run_id, d.policy_version, d.policy_step) IS DISTINCT FROM (c.run_id, c.policy_version, c.policy_step)) AS wrong
FROM ot.moves_disagreements d JOIN ot.moves_compare c USING (step_id);

-- Kept in all ways, while the tables change: attributes, rewards, and which rollouts exist.
CREATE TABLE ot.was (i integer GENERATED ALWAYS AS IDENTITY, how text, what text, folded boolean, by_hand bigint, progress bigint, groups bigint, advantage bigint, advantages bigint, problems bigint);
CREATE PROCEDURE ot.keep(how text, round integer) LANGUAGE plpgsql AS $$
DECLARE
	change text;
BEGIN
	PERFORM stepadv.maintain('ot.moves', mode => keep.how);
	FOREACH change IN ARRAY ARRAY['SELECT 1', 'UPDATE ot.trials SET category = ''c9%s'' WHERE trial = 5', 'UPDATE ot.trials SET train_step = 4%s, experiment = ''run 2'' WHERE trial IN (3, 9)',
		'UPDATE ot.moves SET tool = 3 + %s WHERE trial = 4', 'UPDATE ot.moves SET seed = 7 + %s WHERE trial = 6', 'DELETE FROM ot.trials WHERE trial = 8', 'DELETE FROM ot.moves WHERE trial = 10 + %s',
		'INSERT INTO ot.trials SELECT task, 8, ''run 0'', ''v1'', 5, began, ''c1'', "en''v %%s" FROM ot.trials WHERE trial = 1']
	LOOP
		EXECUTE format(change, round);
		COMMIT;
		IF keep.how = 'refresh' THEN
			PERFORM stepadv.refresh('ot.moves');
		END IF;
		INSERT INTO ot.was (how, what, folded, by_hand, progress, groups, advantage, advantages, problems)
		SELECT keep.how, left(change, 26), (SELECT count(*) = count(digest) AND count(*) > 50 FROM ot.moves_digests), w.*, (SELECT count(*) FROM stepadv.check_maintained('ot.moves')) FROM ot.trials_wrong w;
	END LOOP;
	PERFORM stepadv.unmaintain('ot.moves');
END $$;
CALL ot.keep('triggers', 1);
CALL ot.keep('refresh', 3);
SELECT how, what, folded, by_hand, progress, groups, advantage, advantages, problems FROM ot.was ORDER BY i;
SELECT * FROM ot.trials_wrong;
SELECT * FROM ot.ages_wrong();

-- A value that all rollouts of a group have is shown for the group: by tables with an index on the group, and without. t1 has one run, version and step;
-- t2 one version, but two runs; one rollout of t3 has no known run.
CREATE TABLE ot.few (task text, trial text, run text, version text, at bigint);
INSERT INTO ot.few VALUES ('t1', 'a', 'x', 'v1', 3), ('t1', 'b', 'x', 'v1', 3), ('t2', 'a', 'x', 'v1', 5), ('t2', 'b', 'y', 'v1', 5), ('t3', 'a', 'x', 'v2', 8), ('t3', 'b', NULL, 'v2', 8), ('t4', 'a', 'y', 'v2', 6), ('t4', 'b', 'y', 'v2', 7);
CREATE TABLE ot.few_steps AS SELECT task, trial, 1 AS n, ascii(trial) % 2 AS reward, run, version, at FROM ot.few;
CREATE TABLE ot.few_indexed AS TABLE ot.few;
CREATE UNIQUE INDEX ON ot.few_indexed (task, trial);
SELECT p, (SELECT count(*) > 5 FROM stepadv.attach('ot.few_steps', '{task}', 'trial', 'n', reward => 'reward', columns => '{"task_id": "task", "run_id": "run", "policy_version": "version", "policy_step": "at"}', views => '{all}', prefix => p, options => '{"show_columns": []}'::jsonb || jsonb_build_object('show_rollouts', CASE p WHEN 'few_source' THEN NULL ELSE 'ot.' || p END::regclass))) FROM unnest('{few,few_indexed,few_source}'::text[]) p;
SELECT g.task, task_id, run_id, policy_version, policy_step, staleness, uniform FROM ot.few_groups g ORDER BY 1;
SELECT count(*) AS same FROM (SELECT * FROM ot.few_groups INTERSECT SELECT * FROM ot.few_indexed_groups INTERSECT SELECT * FROM ot.few_source_groups) x;
-- Newest of x is 8, of y 7; without a known run, 8.
SELECT g.task, rollout_id, run_id, policy_step, staleness FROM ot.few_rollouts g ORDER BY 1, 2;
SELECT count(*) AS same FROM (SELECT * FROM ot.few_rollouts INTERSECT SELECT * FROM ot.few_indexed_rollouts INTERSECT SELECT * FROM ot.few_source_rollouts) x;
-- Without a run, the newest of all.
SELECT count(*) > 5 AS attached FROM stepadv.attach('ot.few_steps', '{task}', 'trial', 'n', reward => 'reward', columns => '{"policy_step": "at"}', views => '{all}', prefix => 'no_run', options => '{"show_columns": []}');
SELECT task, rollout_id, policy_step, staleness FROM ot.no_run_rollouts ORDER BY 1, 2;
-- In the columns of the group, under the name of the role, under another, and with another type: a view that has the group's columns shows each once.
ALTER TABLE ot.few_steps ADD run_id text, ADD policy_step smallint, ADD logp real[] DEFAULT '{-1}';
UPDATE ot.few_steps SET run_id = coalesce(run, ''), policy_step = at;
SELECT count(*) > 5 AS attached FROM stepadv.attach('ot.few_steps', '{version,run_id,policy_step,task}', 'trial', 'n', reward => 'reward', columns => '{"logp_new": "logp", "logp_old": "logp", "policy_version": "version", "run_id": "run_id", "policy_step": "policy_step", "dimensions": ["task"]}', views => '{all}', prefix => 'keyed', options => '{"show_columns": []}');
SELECT v, ot.columns('ot.keyed_' || v) FROM unnest('{groups_over_time,progress_over_time,advantage_over_time,advantages,groups,rollouts,compare,quadrants,disagreements}'::text[]) v;
CREATE FUNCTION ot.keyed() RETURNS TABLE (key text, n_groups bigint, n_rollouts numeric, mean_return float8, n_steps numeric, n_ratios bigint) LANGUAGE sql AS $$
	SELECT concat_ws(' ', p.policy_version, p.run_id, p.policy_step, p.task), p.n_groups, p.n_rollouts, p.mean_return, a.n_steps, p.n_ratios FROM ot.keyed_progress_over_time p JOIN ot.keyed_advantage_over_time a
	USING (policy_version, run_id, policy_step, task) WHERE method = 'rloo' ORDER BY 1 $$;
SELECT * FROM ot.keyed();
SELECT version, run_id, policy_step, task, rollout_id, staleness FROM ot.keyed_advantages WHERE method = 'rloo' ORDER BY 4, 5;
SELECT stepadv.maintain('ot.few_steps', 'keyed');
UPDATE ot.few_steps SET reward = 5 WHERE trial = 'b' AND task = 't4';
SELECT * FROM ot.keyed();
SELECT * FROM stepadv.check_maintained('ot.few_steps', 'keyed');
SELECT stepadv.detach('ot.few_steps') > 50 AS detached;

-- A joined run, a policy step and a newest one are read only by queries that use them; so are components.
CREATE FUNCTION ot.reads(query text) RETURNS text LANGUAGE plpgsql SET stepadv.enable_step_scan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json, VERBOSE, COSTS off) ' || query INTO plan;
	RETURN concat_ws(', ', CASE WHEN plan::text ~ '"Relation Name": "trials"' THEN 'trials' END, CASE WHEN plan::text ~ 'max\(\w+\.train_step' THEN 'newest' END, CASE WHEN plan::text ~ 'with_rewards' THEN 'components' END, 'steps');
END $$;
SELECT ot.reads('SELECT advantage FROM ot.moves_rtmc') AS advantage, ot.reads('SELECT rollout_id, advantage, staleness FROM ot.moves_rtmc') AS staleness, ot.reads('SELECT uniform FROM ot.moves_groups') AS groups,
	ot.reads('SELECT policy_version FROM ot.moves_groups') AS version, ot.reads('SELECT rtmc, success FROM ot.moves_compare') AS compared, ot.reads('SELECT run_id, rtmc FROM ot.moves_compare') AS run;
SELECT ot.reads('SELECT mean_return FROM ot.moves_progress_over_time') AS progress, ot.reads('SELECT mean_reward_tool FROM ot.moves_progress_over_time') AS component, ot.reads('SELECT advantage FROM ot.moves_advantages') AS advantages;

-- Names that the views have themselves, or that name another column of theirs; a name twice; a task alone makes no views.
CREATE TABLE ot.named AS SELECT 1 AS g, i AS r, 1 AS n, i % 2 AS reward, 'x' AS bucket, 'y' AS n_steps, 'w' AS run_id, 'v' AS tag, 't' AS staleness, 5 AS policy_step FROM generate_series(1, 4) i;
SELECT count(*) > 5 AS attached FROM stepadv.attach('ot.named', '{g,tag}', 'r', 'n', reward => 'reward', columns => '{"dimensions": ["bucket", "n_steps", "run_id"], "run_id": "tag", "task_id": "bucket", "policy_step": "policy_step"}', views => '{all}');
SELECT v, ot.columns('ot.named_' || v) FROM unnest('{groups_over_time,progress_over_time,advantage_over_time,advantages,groups,rollouts,compare}'::text[]) v;
SELECT run_id, base_run_id, bucket, base_bucket, base_n_steps, n_steps FROM ot.named_progress_over_time;
SELECT run_id, bucket, staleness, run_staleness FROM ot.named_compare LIMIT 1;
SELECT stepadv.maintain('ot.named') IS NOT NULL AS kept, (SELECT n_rollouts FROM ot.named_progress_over_time) AS rollouts, stepadv.detach('ot.named') > 5 AS detached;
SELECT count(*) > 5 AS attached FROM stepadv.attach('ot.named', '{g,run_id}', 'r', 'n', reward => 'reward', columns => '{"run_id": "tag"}', views => '{all}');
SELECT stepadv.maintain('ot.named') IS NOT NULL AS kept, (SELECT format('%s %s', run_id, run_run_id) FROM ot.named_groups) AS run, stepadv.detach('ot.named') > 5 AS detached;
SELECT view_name FROM stepadv.attach('ot.named', '{g}', 'r', 'n', reward => 'reward', columns => '{"task_id": "tag"}', views => '{all}') WHERE view_name::text ~ 'over_time|advantages|runs';
SELECT stepadv.detach('ot.named') > 5 AS detached;
ALTER TABLE ot.times ADD j json, ADD xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx integer;

-- Errors, with nothing made.
CREATE FUNCTION ot.refused(VARIADIC arguments text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE format('SELECT count(*) FROM stepadv.attach(''ot.times'', ''{g}'', ''r'', ''s'', %s, reward => ''reward'', views => ''{all}'')', array_to_string(arguments, ', '));
	RETURN 'nothing';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' | ', sqlstate, sqlerrm, nullif(hint, ''));
END $$;
SELECT ot.refused($$columns => '{"policy_version": "nowhere"}'$$);
SELECT ot.refused($$columns => '{"started_at": "nowhere"}'$$);
SELECT ot.refused($$columns => '{"started_at": "reward"}'$$);
ALTER TABLE ot.times ADD COLUMN versions text[];
SELECT ot.refused($$columns => '{"policy_version": "versions"}'$$);
SELECT ot.refused(a) FROM unnest(ARRAY[$$columns => '{"run_id": "nowhere"}'$$, $$columns => '{"task_id": "nowhere"}'$$, $$columns => '{"policy_step": "nowhere"}'$$, $$columns => '{"dimensions": ["at", "nowhere"]}'$$, $$columns => '{"dimensions": ["at", "at"]}'$$, $$columns => '{"dimensions": ["at", null]}'$$,
	$$columns => '{"policy_step": "at"}'$$, $$columns => '{"dimensions": ["versions"]}'$$, $$columns => '{"run_id": "versions"}'$$, $$columns => '{"dimensions": ["j"]}'$$, format('columns => ''{"rewards": ["%s"], "policy_version": "r"}''', repeat('x', 60))]) a;
SELECT ot.refused($$columns => '{"started_at": "at"}'$$, format('options => %L', jsonb_build_object('progress_over_time', jsonb_build_object('bucket', b))))
FROM unnest('{0,-1 day,2 months,1 month 1 day,1 day -24 hours,soon,1 day) OR (true,999999999999999999 years}'::text[]) b;
SELECT ot.refused($$columns => '{"started_at": "at"}'$$, $$options => '{"progress_over_time": {"width": "1 day"}}'$$);
SELECT ot.refused($$options => '{"progress_over_time": {"width": "1 day"}}'$$);
SELECT ot.refused($$columns => '{"started_at": "at"}'$$, $$options => '{"progress_over_time": {"bucket": ["1 day"]}}'$$);
SELECT count(*) FROM pg_class WHERE relname LIKE 'times\_%';
DROP SCHEMA ot CASCADE;

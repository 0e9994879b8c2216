-- attach and detach: views over existing tables, with any types and names.
SET client_min_messages = warning;
\set SHOW_CONTEXT never

-- 6 groups (run, task) of 5 rollouts of 1 to 7 steps; the last task of run 2 is not judged.
CREATE TABLE att_steps AS
SELECT row_number() OVER (ORDER BY run, task, traj, n) AS id, run, task, 100 * run + 10 * task + traj AS traj, n,
	(n * 5 + traj) % 4 AS st, (n * 3 + traj * 7 + task) % 3 AS act,
	CASE WHEN run = 2 AND task = 3 THEN NULL WHEN n = len AND (run + task + traj) % 3 = 0 THEN 1 ELSE ((n + traj) % 5) / 8.0 END::float8 AS rew,
	CASE WHEN run = 2 AND task = 3 THEN NULL WHEN n = len THEN (run + task + traj) % 3 = 0 END AS won
FROM generate_series(1, 2) run, generate_series(1, 3) task, generate_series(1, 5) traj,
	LATERAL (SELECT (traj * task + run) % 7 AS len) l, generate_series(0, len) n;
ALTER TABLE att_steps ADD PRIMARY KEY (id);

-- The expected numbers, by calling the functions directly.
CREATE TABLE att_want AS
SELECT g.run, g.task, t.step_id AS id, t.q, t.v, t.n_state, t.advantage AS rtmc, r.advantage AS grpo, l.advantage AS rloo, d.return
FROM (SELECT run, task, stepadv.rollout_agg(id, traj, n, st, act, rew, won) AS rollouts FROM att_steps GROUP BY run, task) g,
	stepadv.rtmc(g.rollouts) t, stepadv.grpo(g.rollouts) r, stepadv.rloo(g.rollouts) l, stepadv.returns(g.rollouts) d
WHERE r.step_id = t.step_id AND l.step_id = t.step_id AND d.step_id = t.step_id;
SELECT count(*) AS steps, count(rtmc) AS judged, count(DISTINCT rtmc) > 20 AS various FROM att_want;

-- The views of a prefix give the same numbers, beside the row of the same step (each table below keeps its number in orig_id).
CREATE FUNCTION pg_temp.agrees(schema text, prefix text, OUT rtmc boolean, OUT grpo boolean, OUT rloo boolean, OUT returns boolean, OUT rollouts boolean, OUT groups boolean, OUT tree boolean)
LANGUAGE plpgsql AS $$
DECLARE
	kind text;
	agreed boolean[] := '{}';
	one boolean;
BEGIN
	FOREACH kind IN ARRAY ARRAY['rtmc', 'grpo', 'rloo'] LOOP
		EXECUTE format('SELECT count(*) = (SELECT count(*) FROM att_want) AND count(DISTINCT orig_id) = count(*)
			AND bool_and(a.advantage IS NOT DISTINCT FROM w.%I) FROM %I.%I a LEFT JOIN att_want w ON w.id = a.orig_id',
			kind, schema, prefix || '_' || kind) INTO one;
		agreed := agreed || one;
	END LOOP;
	rtmc := agreed[1]; grpo := agreed[2]; rloo := agreed[3];
	EXECUTE format('SELECT count(*) = (SELECT count(*) FROM att_want) AND bool_and(a.return IS NOT DISTINCT FROM w.return)
		FROM %I.%I a LEFT JOIN att_want w ON w.id = a.orig_id', schema, prefix || '_returns') INTO returns;
	-- 30 rollouts, each with its own id.
	EXECUTE format('SELECT count(*) = 30 AND count(DISTINCT rollout_id::text) = 30 AND sum(n_steps) = (SELECT count(*) FROM att_want) FROM %I.%I', schema, prefix || '_rollouts') INTO rollouts;
	EXECUTE format('SELECT count(*) = 6 AND sum(n_rollouts) = 30 AND sum(n_judged) = 25 FROM %I.%I', schema, prefix || '_groups') INTO groups;
	-- Edges: their example is a step with the edge''s q; visits of judged steps only.
	EXECUTE format('SELECT bool_and(coalesce(t.q = w.q AND t.v = w.v, false)) AND count(*) > 30 FROM %I.%I t LEFT JOIN att_want w ON w.id = t.orig_id', schema, prefix || '_rtmc_tree') INTO tree;
END $$;

-- Integers of every width; a primary key that is found by itself.
CREATE TABLE att_int AS SELECT id::integer AS id, id AS orig_id, run::smallint, task, traj, n::smallint, st::smallint, act::bigint, rew::real, won FROM att_steps;
ALTER TABLE att_int ADD PRIMARY KEY (id);
SELECT view_name, description FROM stepadv.attach('att_int', ARRAY['run', 'task'], 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won"}', views => '{all}')
WHERE view_name::text ~ '_(rows|shown_steps|values|groups|rollouts|returns|grpo|rloo|gigpo|graphgpo|graph_nodes|graph_edges|contribution|hgpo|tempo|rtmc|rtmc_tree|compare|quadrants|disagreements)$';
SELECT * FROM pg_temp.agrees('public', 'att_int');
-- The columns: ids as in the table, then the estimator's columns, then the user's.
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'att_int_rtmc'::regclass AND attnum > 0 ORDER BY attnum;
SELECT obj_description('att_int_rtmc'::regclass);
SELECT reloptions @> '{security_invoker=true}' OR current_setting('server_version_num')::integer < 150000 AS runs_as_the_reader
FROM pg_class WHERE oid = 'att_int_rtmc'::regclass;

-- Texts, with a primary key of text.
CREATE TABLE att_text AS SELECT 'step ' || id AS id, id AS orig_id, 'run ' || run AS run, task::varchar(10), ('t' || traj)::char(8) AS traj, n, 'state ' || st AS st, ('a' || act)::varchar AS act, rew::numeric AS rew, won FROM att_steps;
ALTER TABLE att_text ADD PRIMARY KEY (id);
-- (Where an index leads to the groups, the base is joined group by group.)
CREATE INDEX ON att_text (task, run, n);
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_text', '{run,task}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won"}', views => '{all}');
SELECT * FROM pg_temp.agrees('public', 'att_text');
SELECT run, task, rollout_id, step_no, step_id, n_state FROM att_text_rtmc WHERE run = 'run 1' AND task = '2' ORDER BY rollout_id, step_no LIMIT 3;
SELECT id, run, task, traj, n FROM att_steps WHERE run = 1 AND task = 2 ORDER BY traj, n LIMIT 3;

-- uuid, jsonb, bytea, numerics of differing scale; no key at all.
CREATE TABLE att_mixed AS SELECT id AS orig_id, md5('run' || run)::uuid AS run, jsonb_build_object('task', task) AS task, md5(traj::text)::uuid AS traj, n::bigint,
	CASE id % 2 WHEN 0 THEN jsonb_build_object('a', st, 'b', 1.0) ELSE format('{"b": 1, "a": %s.00}', st)::jsonb END AS st,
	CASE id % 3 WHEN 0 THEN act + 0.5 ELSE act + 0.500 END AS act, rew::numeric(10, 4), won FROM att_steps;
CREATE INDEX ON att_mixed (run, task);
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_mixed', '{run,task}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won"}', views => '{all}');
SELECT * FROM pg_temp.agrees('public', 'att_mixed');

-- Domains, enums, arrays, dates; a bigint key that is not declared.
CREATE DOMAIN att_key AS bigint CHECK (VALUE > 0);
CREATE DOMAIN att_name AS text;
CREATE TYPE att_verb AS ENUM ('look', 'go', 'take');
CREATE TABLE att_domain AS SELECT id AS orig_id, (id * 10)::att_key AS key, ('r' || run)::att_name AS run, date '2026-01-01' + task AS task, decode(lpad(traj::text, 6, '0'), 'hex') AS traj, n::att_key::integer + 5 AS n,
	ARRAY[st, 1] AS st, (enum_range(NULL::att_verb))[act + 1] AS act, rew, won FROM att_steps WHERE n > 0
UNION ALL SELECT id, (id * 10)::att_key, ('r' || run)::att_name, date '2026-01-01' + task, decode(lpad(traj::text, 6, '0'), 'hex'), n + 5,
	ARRAY[st, 1], (enum_range(NULL::att_verb))[act + 1], rew, won FROM att_steps WHERE n = 0;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_domain', '{run,task}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"step_id": "key", "success": "won"}', views => '{all}');
SELECT * FROM pg_temp.agrees('public', 'att_domain');

-- One column as the group, partitioned table, materialised view, view.
CREATE TABLE att_part (orig_id bigint, grp text NOT NULL, traj integer, n integer, st integer, act integer, rew float8, won boolean) PARTITION BY LIST (grp);
CREATE TABLE att_part_a PARTITION OF att_part FOR VALUES IN ('11', '12', '13');
CREATE TABLE att_part_b PARTITION OF att_part DEFAULT;
CREATE INDEX ON att_part (grp);
INSERT INTO att_part SELECT id, run::text || task, traj, n, st, act, rew, won FROM att_steps;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_part', '{grp}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won"}', views => '{all}');
SELECT * FROM pg_temp.agrees('public', 'att_part');
CREATE MATERIALIZED VIEW att_mat AS SELECT * FROM att_part;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_mat', '{grp}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won"}', views => '{all}');
SELECT * FROM pg_temp.agrees('public', 'att_mat');
CREATE VIEW att_view AS SELECT * FROM att_part;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_view', '{grp}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won"}', views => '{all}', prefix => 'over_view', schema => 'pg_temp');
CREATE SCHEMA att_other;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_view', '{grp}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won"}', views => '{all}', prefix => 'over_view', schema => 'att_other');
SELECT * FROM pg_temp.agrees('att_other', 'over_view');
CREATE TEMP TABLE att_temp AS SELECT * FROM att_part;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_temp', '{grp}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won"}', views => '{all}');
SELECT * FROM pg_temp.agrees('pg_temp', 'att_temp');

-- Names that would break out of quoting.
CREATE SCHEMA "my schema; --";
CREATE TABLE "my schema; --"."Steps""; DROP TABLE att_want; --" AS
SELECT id AS orig_id, run AS "select", task AS "g.""task", ('x' || traj) AS "s.traj %1$s", n AS "Schritt №", st AS "b.'st", act AS "$attach$", rew AS "%s %%L", won AS "won?" FROM att_steps;
SELECT count(*) > 5 AS attached FROM stepadv.attach('"my schema; --"."Steps""; DROP TABLE att_want; --"', ARRAY['select', 'g."task'], 's.traj %1$s', 'Schritt №', 'b.''st', '$attach$', '%s %%L', columns => '{"success": "won?"}', views => '{all}');
SELECT count(*) > 5 AS attached FROM stepadv.attach('"my schema; --"."Steps""; DROP TABLE att_want; --"', ARRAY['select', 'g."task'], 's.traj %1$s', 'Schritt №', 'b.''st', '$attach$', '%s %%L', columns => '{"success": "won?"}', views => '{all}', prefix => 'Wörter''"; --');
SELECT * FROM pg_temp.agrees('my schema; --', 'Steps"; DROP TABLE att_want; --');
SELECT * FROM pg_temp.agrees('my schema; --', 'Wörter''"; --');
SELECT attname FROM pg_attribute WHERE attrelid = '"my schema; --"."Wörter''""; --_rtmc"'::regclass AND attnum > 0 ORDER BY attnum;
SELECT count(*) FROM att_want;

-- Columns with the name of one of the estimator's: the estimator's keeps the name.
CREATE TABLE att_clash AS SELECT id AS step_id, run AS q, task AS base_q, traj AS rollout_id, n AS step_no, st AS state, act AS action,
	rew AS return, won AS success, 'v' || id AS v, id AS advantage, id AS orig_id FROM att_steps;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_clash', '{q,base_q}', 'rollout_id', 'step_no', 'state', 'action', 'return', columns => '{"success": "success", "step_id": "step_id"}', views => '{all}');
SELECT * FROM pg_temp.agrees('public', 'att_clash');
SELECT attname FROM pg_attribute WHERE attrelid = 'att_clash_rtmc'::regclass AND attnum > 0 ORDER BY attnum;
SELECT bool_and(base_q = w.run AND base_base_q = w.task AND base_v = 'v' || w.id AND base_advantage = w.id) AS base_columns_are_the_users
FROM att_clash_rtmc a JOIN att_want w ON w.id = a.orig_id;
-- A group column with the name of the value.
CREATE TABLE att_rollouts AS SELECT run || '/' || task AS rollouts, traj, n, st, act, rew, won, id AS orig_id FROM att_steps;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_rollouts', '{rollouts}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won"}', views => '{all}');
SELECT * FROM pg_temp.agrees('public', 'att_rollouts');
SELECT base_rollouts, (stepadv.group_summary(rollouts)).n_rollouts FROM att_rollouts_values ORDER BY 1 LIMIT 1;

-- Columns to show: chosen, or none, in which case the base table need not be joined.
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_int', '{run,task}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won"}', views => '{all}', prefix => 'att_few', options => '{"show_columns": ["orig_id"]}');
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'att_few_rtmc'::regclass AND attnum > 0;
SELECT * FROM pg_temp.agrees('public', 'att_few');
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_int', '{run,task}', 'traj', 'n', 'st', 'act', 'rew', views => '{all}', prefix => 'att_none', options => '{"show_columns": []}');
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'att_none_rtmc'::regclass AND attnum > 0;
SELECT pg_get_viewdef('att_none_rtmc'::regclass) LIKE '%JOIN%att_none_shown_steps%' AS joins_base, pg_get_viewdef('att_few_rtmc'::regclass) LIKE '%JOIN%att_few_shown_steps%' AS joins_base;

-- Only some columns: no state, no action, no RTMC.
SELECT view_name FROM stepadv.attach('att_int', '{run,task}', 'traj', 'n', reward => 'rew', views => '{all}', prefix => 'att_plain')
WHERE view_name::text ~ '_(rows|shown_steps|values|groups|rollouts|returns|grpo|rloo|gigpo|rtmc|compare|quadrants|disagreements)$';
SELECT view_name FROM stepadv.attach('att_int', '{run,task}', 'traj', 'n', columns => '{"success": "won"}', views => '{all}', prefix => 'att_won');

-- The columns of the full form reach the functions that read them, and only those.
CREATE TABLE att_full AS SELECT s.*, id % 7 / 8.0::real AS val, id % 5 AS bonus, 'next ' || (id % 4) AS nxt, 1 + id % 3 AS price FROM att_steps s;
SELECT count(*) > 10 AS attached FROM stepadv.attach('att_full', '{run,task}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won", "step_id": "id", "next_state": "nxt", "value": "val", "turn_reward": "bonus", "cost": "price"}', views => '{all}', options => '{"gae": {"gamma": 0.5}, "graphgpo": {"graph_weight": 2, "discount": 0.5, "success_above": 0.75}, "graph_edges": {"discount": 0.25}}');
CREATE TEMP TABLE full_groups AS SELECT stepadv.rollout_agg(id, traj, n, st, act, rew, won, stepadv.signature_hash(nxt), val, bonus, price) AS rollouts
FROM att_full GROUP BY run, task;
SELECT bool_and(v.advantage IS NOT DISTINCT FROM w.advantage) AS gae, count(DISTINCT w.advantage) > 20 AS various
FROM full_groups g, stepadv.gae(g.rollouts, gamma => 0.5) w LEFT JOIN att_full_gae v USING (step_id);
SELECT bool_and(v.advantage IS NOT DISTINCT FROM w.advantage) AS mt_grpo, count(DISTINCT w.advantage) > 20 AS various
FROM full_groups g, stepadv.mt_grpo(g.rollouts) w LEFT JOIN att_full_mt_grpo v USING (step_id);
SELECT bool_and(v.advantage IS NOT DISTINCT FROM w.advantage) AS graphgpo, count(DISTINCT w.advantage) > 10 AS various
FROM full_groups g, stepadv.graphgpo(g.rollouts, graph_weight => 2, discount => 0.5, success_above => 0.75) w LEFT JOIN att_full_graphgpo v USING (step_id);
SELECT bool_and(v.advantage IS NOT DISTINCT FROM w.advantage) AS hgpo, count(DISTINCT w.advantage) > 20 AS various
FROM full_groups g, stepadv.hgpo(g.rollouts) w LEFT JOIN att_full_hgpo v USING (step_id);
SELECT bool_and(v.advantage IS NOT DISTINCT FROM w.advantage) AS tempo, count(DISTINCT w.advantage) > 20 AS various
FROM full_groups g, stepadv.tempo(g.rollouts) w LEFT JOIN att_full_tempo v USING (step_id);
-- The graph: nodes and edges beside an example of a step there; the goal has none.
-- graphgpo's options are borrowed where the function has them; its own options come first.
WITH want AS (SELECT run, task, n.* FROM (SELECT run, task, stepadv.rollout_agg(id, traj, n, st, act, rew, won, stepadv.signature_hash(nxt), val, bonus, price) AS g
		FROM att_full GROUP BY run, task) x, stepadv.graph_nodes(x.g, success_above => 0.75) n)
SELECT count(*) = (SELECT count(*) FROM att_full_graph_nodes) AND count(*) > 20 AS all_nodes,
	bool_and((v.n_visits, v.n_rollouts, v.distance, v.is_start, v.is_dead_end, v.on_cycle) IS NOT DISTINCT FROM (w.n_visits, w.n_rollouts, w.distance, w.is_start, w.is_dead_end, w.on_cycle)) AS as_computed,
	bool_and(w.is_goal OR (v.id = w.step_id AND (v.run, v.task) = (w.run, w.task))) AS examples,
	count(*) FILTER (WHERE w.is_goal) AS goals, bool_and(v.id IS NULL AND v.step_id IS NULL) FILTER (WHERE w.is_goal) AS goals_have_no_example
FROM want w LEFT JOIN att_full_graph_nodes v ON (v.run, v.task, v.is_goal) = (w.run, w.task, w.is_goal) AND v.state IS NOT DISTINCT FROM w.state;
SELECT count(DISTINCT (run, task)) AS groups_that_succeeded FROM att_full WHERE won;
-- A state seen only after a last step has no example either.
SELECT bool_and(st = state) AS examples_are_in_the_state, bool_and((id IS NULL) = NOT EXISTS (SELECT FROM att_full f WHERE (f.run, f.task, f.st) = (n.run, n.task, n.state))) AS where_steps_were_taken,
	count(*) > count(id) + 5 AS some_have_none FROM att_full_graph_nodes n;
SELECT count(*) = (SELECT count(*) FROM att_full_graph_edges) AND count(*) > 50 AS all_edges, bool_and(v.graph_advantage IS NOT DISTINCT FROM w.graph_advantage AND v.step_reward = w.step_reward) AS as_computed,
	bool_and((v.st, v.act) = (w.state, w.action)) AS examples_took_the_action, count(DISTINCT w.step_reward) > 3 AS various
FROM full_groups g, stepadv.graph_edges(g.rollouts, discount => 0.25) w LEFT JOIN att_full_graph_edges v USING (step_id);
SELECT bool_and((v.n_steps, v.n_contributing, v.success) IS NOT DISTINCT FROM (w.n_steps, w.n_contributing, w.success)), count(v.rollout_id), count(DISTINCT v.n_contributing) > 3 AS various
FROM full_groups g, stepadv.contribution(g.rollouts, success_above => 0.75) w LEFT JOIN att_full_contribution v USING (rollout_id);
SELECT count(*) = (SELECT count(*) FROM att_full_values g, stepadv.contribution_summary(g.rollouts, success_above => 0.75)) AND count(*) BETWEEN 7 AND 12 AS all_rows,
	bool_and((s.n_rollouts, s.n_steps, s.n_contributing, s.share) IS NOT DISTINCT FROM (c.n_rollouts, c.n_steps, c.n_contributing, c.share)) AS sums_of_contribution
FROM (SELECT run, task, success, count(*) AS n_rollouts, sum(n_steps) AS n_steps, sum(n_contributing) AS n_contributing, sum(n_contributing) / sum(n_steps)::float8 AS share
	FROM att_full_contribution GROUP BY run, task, success) c LEFT JOIN (SELECT g.run, g.task, s.* FROM att_full_values g, stepadv.contribution_summary(g.rollouts, success_above => 0.75) s) s ON (s.run, s.task) = (c.run, c.task) AND s.success IS NOT DISTINCT FROM c.success;
SELECT bool_and(v.advantage IS NOT DISTINCT FROM w.advantage) AS gigpo, count(DISTINCT w.advantage) > 20 AS various
FROM full_groups g, stepadv.gigpo(g.rollouts) w LEFT JOIN att_full_gigpo v USING (step_id);
SELECT bool_and((s.next_state, s.value, s.turn_reward, s.cost) = (stepadv.signature_hash(f.nxt), f.val, f.bonus, f.price)) AS in_the_value
FROM att_full_values v, stepadv.steps(v.rollouts) s JOIN att_full f ON f.id = s.step_id;
SELECT pg_get_viewdef('att_full_rtmc'::regclass) ~ 'x\.(next_state|value|turn_reward|cost)\M.*AS rollouts' AS rtmc_reads_them,
	pg_get_viewdef('att_full_gae'::regclass) ~ 'x\.value\M.*AS rollouts' AS gae_reads_value, pg_get_viewdef('att_full_gae'::regclass) ~ 'x\.turn_reward\M.*AS rollouts' AS gae_reads_bonus;
SELECT stepadv.detach('att_full') > 10 AS dropped;
DROP TABLE att_full;

-- Ratios: a row per step, straight from the table, under the step_id of the other views.
CREATE TABLE att_logp AS SELECT s.*, 'traj ' || traj AS name, ARRAY[-0.5, -1 - id % 3, -0.25]::real[] AS old, ARRAY[-0.25, -1, -0.25 - id % 2]::float8[] AS new,
	CASE id % 4 WHEN 0 THEN NULL ELSE ARRAY[1, id % 2, 0]::smallint[] END AS mask, id % 5 / 2.0 AS ratio FROM att_steps s
UNION ALL SELECT -traj - 10 * task - 100 * run, run, task, 100 * run + 10 * task + traj, NULL, NULL, NULL, 0, NULL, 'traj ' || 100 * run + 10 * task + traj, NULL, NULL, NULL, NULL
FROM generate_series(1, 2) run, generate_series(1, 3) task, generate_series(1, 5) traj
UNION ALL SELECT -1, NULL, 1, 1, 1, 1, 1, 1, NULL, 'x', '{-1}', '{-1}', NULL, NULL;
UPDATE att_logp SET new = NULL WHERE id = 7;
UPDATE att_logp SET new = '{}', old = '{}', mask = NULL WHERE id = 9;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_logp', '{run,task}', 'name', 'n', reward => 'rew', columns => '{"logp_new": "new", "logp_old": "old", "token_mask": "mask"}', views => '{all}');
-- The definition, over the tokens that count: exp of the mean, exp of the sum, mean of exp(d) - 1 - d.
SELECT count(*) = (SELECT count(*) FROM att_steps) AS all_steps, bool_and(r.n_tokens = w.k) AS n_tokens,
	bool_and(abs(r.ratio - exp(w.mean)) < 1e-9) AS ratio, bool_and(abs(r.sequence_ratio / exp(w.total) - 1) < 1e-9) AS sequence_ratio, bool_and(abs(r.approximate_kl - w.kl) < 1e-9) AS approximate_kl,
	count(DISTINCT round(r.ratio::numeric, 6)) AS ratios, string_agg(r.id::text, ' ') FILTER (WHERE r.ratio IS NULL) AS unknown, bool_and(r.base_ratio = r.id % 5 / 2.0 AND r.rollout_id = 'traj ' || r.traj AND r.step_no = r.n) AS base_columns
FROM att_logp_ratios r, LATERAL (SELECT count(*) AS k, coalesce(avg(d), 0) AS mean, coalesce(sum(d), 0) AS total, coalesce(avg(exp(d) - 1 - d), 0) AS kl
	FROM (SELECT r.new[i] - r.old[i] AS d FROM generate_subscripts(r.old, 1) i WHERE r.mask IS NULL OR r.mask[i] = 1) t) w;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'att_logp_ratios'::regclass AND attnum BETWEEN 1 AND 9 ORDER BY attnum;
-- With an advantage: the objective of each step, here by the definition of clipping.
SELECT count(*) = (SELECT count(*) - 1 FROM att_steps) AS all_but_the_unknown, bool_and(o.objective IS NOT DISTINCT FROM least(r.ratio * a.advantage, greatest(least(r.ratio, 1.2), 0.8) * a.advantage)) AS objective, count(DISTINCT o.objective) > 10 AS various
FROM att_logp_grpo a JOIN att_logp_ratios r USING (run, task, step_id), LATERAL (SELECT stepadv.clipped_objective(r.ratio, a.advantage) AS objective) o WHERE r.ratio IS NOT NULL;
-- No mask; the key of the table; columns of rollouts from elsewhere.
CREATE TABLE att_who AS SELECT DISTINCT run, task, name, 'who ' || traj AS who FROM att_logp WHERE run IS NOT NULL;
DELETE FROM att_logp WHERE run IS NULL;
ALTER TABLE att_logp ADD PRIMARY KEY (id);
SELECT view_name FROM stepadv.attach('att_logp', '{run,task}', 'name', 'n', reward => 'rew', columns => '{"logp_new": "new", "logp_old": "old"}', views => '{all}', prefix => 'att_lp', options => '{"show_columns": ["who", "new", "old"], "show_rollouts": "att_who"}') WHERE description ~ 'ratio';
SELECT count(*) = (SELECT count(*) FROM att_steps) AS all_steps, bool_and(r.step_id = s.id AND who = 'who ' || traj) AS joined, bool_and(n_tokens = 3 OR s.id = 9) AS n_tokens,
	bool_and(s.id IN (7, 9) OR abs(r.ratio ^ 3 / r.sequence_ratio - 1) < 1e-9) AS ratios FROM att_lp_ratios r LEFT JOIN att_steps s ON s.id = r.step_id;
SELECT stepadv.detach('att_who') AS wrong_one, stepadv.detach('att_logp', 'att_lp') > 10 AS one, stepadv.detach('att_logp') > 10 AS other, to_regclass('att_logp_ratios');
\set VERBOSITY terse
SELECT stepadv.attach('att_logp', '{run}', 'name', 'n', reward => 'rew', columns => '{"logp_new": "new"}', views => '{all}');
SELECT stepadv.attach('att_logp', '{run}', 'name', 'n', reward => 'rew', columns => '{"logp_old": "old"}', views => '{all}');
SELECT stepadv.attach('att_logp', '{run}', 'name', 'n', reward => 'rew', columns => '{"token_mask": "mask"}', views => '{all}');
SELECT stepadv.attach('att_logp', '{run}', 'name', 'n', reward => 'rew', columns => '{"logp_new": "newer", "logp_old": "old"}', views => '{all}');
\set VERBOSITY default
SELECT stepadv.attach('att_logp', '{run}', 'name', 'n', reward => 'rew', columns => '{"logp_new": "new", "logp_old": "mask"}', views => '{all}');
SELECT stepadv.attach('att_logp', '{run}', 'name', 'n', reward => 'rew', columns => '{"logp_new": "new", "logp_old": "old", "token_mask": "name"}', views => '{all}');
DROP TABLE att_logp, att_who;

-- States by name. Expected values are computed from the table without windows and without history_states, from which steps share a state.
CREATE TABLE att_calls AS SELECT s.id, s.run, s.task, s.traj, s.n, s.st, 'a' || s.act AS act, s.rew, s.won, 'next ' || (s.id % 4) AS nxt,
	(ARRAY['Read', 'Edit', 'bash', NULL])[1 + (s.act + s.n) % 4]::varchar AS tool,
	CASE (s.act + s.n) % 4 WHEN 0 THEN '{"file_path": "a.py"}' WHEN 1 THEN format('{"file_path": "a.py", "old_string": "x", "new_string": "%s"}', s.traj % 2) WHEN 2 THEN '{"command": "pytest"}' END::json AS args, s.traj % 3 > 0 AS ok
FROM att_steps s
UNION ALL SELECT 1000 + traj + 10 * task + 100 * run, run, task, 100 * run + 10 * task + traj, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM generate_series(1, 2) run, generate_series(1, 3) task, generate_series(1, 5) traj;
CREATE INDEX ON att_calls (run, task);
CREATE TABLE att_made AS SELECT s.*, stepadv.action_signature(s.tool, s.args::jsonb, s.ok) AS signature,
	(SELECT string_agg(p.act, ' ' ORDER BY p.n) FROM att_calls p WHERE p.traj = s.traj AND p.n < s.n) AS history,
	(SELECT string_agg(DISTINCT p.act, ' ' ORDER BY p.act) FROM att_calls p WHERE p.traj = s.traj AND p.n < s.n) AS history_set,
	string_agg(s.act, ' ') OVER (w ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) AS last_1, string_agg(s.act, ' ') OVER (w ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) AS last_2,
	string_agg(s.act, ' ') OVER (w ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS last_3, string_agg(s.st::text, ' ') OVER (w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS last_observed,
	(SELECT stepadv.state_signature(stepadv.action_signature(p.tool, p.args::jsonb, p.ok)) FROM att_calls p WHERE p.traj = s.traj AND p.n < s.n) AS state_signature,
	(SELECT stepadv.state_signature(stepadv.action_signature(p.tool, p.args::jsonb, p.ok), 'set', 'range') FROM att_calls p WHERE p.traj = s.traj AND p.n < s.n) AS state_set,
	(SELECT stepadv.state_signature(stepadv.action_signature(p.tool, p.args::jsonb, p.ok)) FROM att_calls p WHERE p.traj = s.traj AND p.n <= s.n) AS next_signature,
	(SELECT string_agg(stepadv.action_signature(p.tool, p.args::jsonb, p.ok), ' ' ORDER BY p.n) FROM att_calls p WHERE p.traj = s.traj AND p.n < s.n) AS signatures
FROM att_calls s WHERE s.n IS NOT NULL WINDOW w AS (PARTITION BY s.traj ORDER BY s.n);
CREATE FUNCTION pg_temp.made(prefix text, state text, action text, OUT rtmc boolean, OUT graphgpo boolean, OUT hgpo boolean, OUT shared boolean, OUT advantages integer, OUT sharings integer)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TEMP TABLE w AS SELECT run, task, stepadv.rollout_agg(id, traj, n, stepadv.signature_hash(coalesce(%s, '''')), stepadv.signature_hash(%s), rew, won) AS g
		FROM att_made GROUP BY run, task', state, action);
	EXECUTE format('SELECT bool_and(v.advantage IS NOT DISTINCT FROM a.advantage AND v.n_state IS NOT DISTINCT FROM a.n_state), count(DISTINCT round(a.advantage::numeric, 9)), count(DISTINCT a.n_state)
		FROM w, stepadv.rtmc(w.g) a LEFT JOIN %I v ON v.step_id = a.step_id', prefix || '_rtmc') INTO rtmc, advantages, sharings;
	EXECUTE format('SELECT bool_and(v.advantage IS NOT DISTINCT FROM a.advantage) FROM w, stepadv.graphgpo(w.g) a LEFT JOIN %I v ON v.step_id = a.step_id', prefix || '_graphgpo') INTO graphgpo;
	EXECUTE format('SELECT bool_and(v.advantage IS NOT DISTINCT FROM a.advantage) FROM w, stepadv.hgpo(w.g) a LEFT JOIN %I v ON v.step_id = a.step_id', prefix || '_hgpo') INTO hgpo;
	EXECUTE format('SELECT bool_and(v.shared_step_share IS NOT DISTINCT FROM a.shared_step_share AND v.n_states = a.n_states) FROM w, stepadv.group_summary(w.g) a, %I v WHERE (v.run, v.task) = (w.run, w.task)', prefix || '_groups') INTO shared;
	DROP TABLE w;
END $$;
CREATE FUNCTION pg_temp.call(states text, prefix text, action text DEFAULT 'act', tool text DEFAULT NULL, args text DEFAULT NULL, ok text DEFAULT NULL, options jsonb DEFAULT '{}', state text DEFAULT NULL, next_state text DEFAULT NULL)
RETURNS boolean LANGUAGE sql AS $$
	SELECT count(*) > 10 FROM stepadv.attach('att_calls', '{run,task}', 'traj', 'n', state, action, 'rew', columns => '{"step_id": "id", "success": "won"}'::jsonb || jsonb_build_object('next_state', next_state, 'tool', tool, 'args', args, 'ok', ok), views => '{all}', prefix => prefix, options => options || CASE WHEN options ? 'states' THEN jsonb_build_object('states', (options -> 'states') || jsonb_build_object('kind', states)) ELSE jsonb_build_object('states', states) END)
$$;
SELECT pg_temp.call('observation', 'ab_obs', state => 'st'), pg_temp.call('history', 'ab_his', state => 'st'), pg_temp.call('history_set', 'ab_set'), pg_temp.call('root', 'ab_root'),
	pg_temp.call('signature', 'ab_sig', NULL, 'tool', 'args', 'ok'), pg_temp.call('signature', 'ab_both', 'act', 'tool', 'args', 'ok', state => 'st'),
	pg_temp.call('history', 'ab_hsig', NULL, 'tool', 'args', 'ok'), pg_temp.call(NULL, 'ab_act', NULL, 'tool', 'args', 'ok', state => 'st'),
	pg_temp.call('signature', 'ab_opt', NULL, 'tool', 'args', 'ok', '{"signature": {"flags": "set", "content_hash": "none"}}'),
	pg_temp.call('history_last', 'ab_last'), pg_temp.call('history_last', 'ab_last1', options => '{"states": {"history_length": 1}}'), pg_temp.call('history_last', 'ab_last3', options => '{"states": {"history_length": 3}}'),
	pg_temp.call('observation_last', 'ab_seen', state => 'st');
SELECT 'observation' AS states, * FROM pg_temp.made('ab_obs', 'st::text', 'act')
UNION ALL SELECT 'history', * FROM pg_temp.made('ab_his', 'history', 'act')
UNION ALL SELECT 'history_set', * FROM pg_temp.made('ab_set', 'history_set', 'act')
UNION ALL SELECT 'history_last', * FROM pg_temp.made('ab_last', 'last_2', 'act')
UNION ALL SELECT 'history_last, 1', * FROM pg_temp.made('ab_last1', 'last_1', 'act')
UNION ALL SELECT 'history_last, 3', * FROM pg_temp.made('ab_last3', 'last_3', 'act')
UNION ALL SELECT 'observation_last', * FROM pg_temp.made('ab_seen', 'last_observed', 'act')
UNION ALL SELECT 'signature', * FROM pg_temp.made('ab_sig', 'state_signature', 'signature')
UNION ALL SELECT 'signature, own actions', * FROM pg_temp.made('ab_both', 'state_signature', 'act')
UNION ALL SELECT 'history of signatures', * FROM pg_temp.made('ab_hsig', 'signatures', 'signature')
UNION ALL SELECT 'signatures as actions', * FROM pg_temp.made('ab_act', 'st::text', 'signature')
UNION ALL SELECT 'set of signatures', * FROM pg_temp.made('ab_opt', $$regexp_replace(state_set, ':\w{4}', '', 'g')$$, $$regexp_replace(signature, ':\w{4}@', '@')$$);
-- One state: RTMC without a prior has nothing but the group's mean of returns there.
SELECT * FROM pg_temp.made('ab_root', '''''', 'act');
SELECT bool_and(n_states = 1 OR n_judged = 0), bool_and(shared_step_share = 1) FROM ab_root_groups;
-- Methods that need no state give the same for all; the values have the states.
SELECT count(*) = (SELECT count(*) FROM att_steps) AS all, bool_and(a.advantage IS NOT DISTINCT FROM b.advantage AND b.advantage IS NOT DISTINCT FROM c.advantage) AS same
FROM ab_obs_grpo a JOIN ab_his_grpo b USING (step_id) JOIN ab_sig_grpo c USING (step_id);
SELECT count(DISTINCT s.state) = count(DISTINCT m.state_signature) AND count(DISTINCT s.state) = count(DISTINCT (s.state, m.state_signature)) AS states, bool_and(s.action = stepadv.signature_hash(m.signature)) AS actions, count(*) = (SELECT count(*) FROM att_steps) AS all
FROM ab_sig_values v, stepadv.steps(v.rollouts) s JOIN att_made m ON m.id = s.step_id;
SELECT bool_and(a.q IS NOT DISTINCT FROM b.q) AS same FROM ab_hsig_values v, stepadv.rtmc(v.rollouts) a JOIN ab_hsig_rtmc b USING (step_id);
SELECT bool_and(a.advantage IS NOT DISTINCT FROM w.advantage) AS tempo, count(DISTINCT w.advantage) > 10 AS various FROM (SELECT stepadv.rollout_agg(id, traj, n, NULL, stepadv.signature_hash(signature), rew, won) AS g FROM att_made GROUP BY run, task) x,
	stepadv.tempo(x.g) w LEFT JOIN ab_sig_tempo a USING (step_id);
-- Where next_state is known, it is the state after the step.
SELECT pg_temp.call('signature', 'ab_next', NULL, 'tool', 'args', 'ok', next_state => 'nxt');
SELECT bool_and(v.advantage IS NOT DISTINCT FROM a.advantage AND v.next_distance IS NOT DISTINCT FROM a.next_distance) AS graphgpo, count(DISTINCT a.next_distance) > 2 AS various
FROM (SELECT stepadv.rollout_agg(id, traj, n, stepadv.signature_hash(coalesce(state_signature, '||')), stepadv.signature_hash(signature), rew, won, stepadv.signature_hash(next_signature), NULL, NULL, NULL) AS g FROM att_made GROUP BY run, task) w,
	stepadv.graphgpo(w.g) a LEFT JOIN ab_next_graphgpo v USING (step_id);
-- The view says where its states come from.
SELECT pg_get_viewdef('ab_his_rtmc'::regclass) ~ 'history_states\(.*''sequence''' AS history, pg_get_viewdef('ab_set_rtmc'::regclass) ~ 'history_states\(.*''set''' AS set, pg_get_viewdef('ab_root_rtmc'::regclass) ~ 'history_states\(.*''root''' AS root,
	pg_get_viewdef('ab_sig_rtmc'::regclass) ~ 'ab_sig_rows_with_states' AND pg_get_viewdef('ab_sig_rows_with_states'::regclass) ~ 'state_hash\(.*action_signature' AND pg_get_viewdef('ab_sig_rows'::regclass) ~ 'action_signature\(' AS signature,
	pg_get_viewdef('ab_opt_rows_with_states'::regclass) ~ 'state_hash\([^)]*''set''' AND pg_get_viewdef('ab_opt_rows'::regclass) ~ 'content_hash => ''none''' AS options,
	pg_get_viewdef('ab_sig_grpo'::regclass) ~ 'signature|states' AS grpo;
SELECT states FROM ab_his_attachment;
-- Tools of one's own, as they were when attached.
INSERT INTO stepadv.tool_vocabulary (scaffold, tool, meaning) VALUES ('att', 'Edit', 'finish');
SELECT pg_temp.call('signature', 'ab_own', NULL, 'tool', 'args', 'ok'), pg_temp.call('signature', 'ab_named', NULL, 'tool', 'args', 'ok', '{"signature": {"vocabulary": "att"}}');
DELETE FROM stepadv.tool_vocabulary WHERE scaffold = 'att';
SELECT bool_and((s.action = stepadv.signature_hash('finish'::text)) = (m.tool IS NOT DISTINCT FROM 'Edit')) AS own_tools, bool_and(s.state = t.state AND s.action = t.action) AS the_same
FROM ab_own_values v JOIN ab_named_values x USING (run, task), stepadv.steps(v.rollouts) s JOIN stepadv.steps(x.rollouts) t USING (step_id) JOIN att_made m ON m.id = s.step_id;
DROP TABLE att_made;

-- Rows without a group are left out; rows without step_no describe their rollout.
CREATE TABLE att_null AS SELECT 'g' AS grp, 'a' AS traj, 0 AS n, 1 AS st, 1 AS act, 0.0::float8 AS rew
UNION ALL VALUES ('g', 'a', 1, 2, 1, NULL), ('g', 'a', NULL, NULL, NULL, 1), ('g', 'b', 0, 1, 2, 0), ('g', 'empty', NULL, NULL, NULL, 0.5), (NULL, 'a', 0, 1, 1, 1), (NULL, 'c', 0, 1, 1, 7);
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_null', '{grp}', 'traj', 'n', 'st', 'act', 'rew', views => '{all}', options => '{"rtmc": {"gamma": 0.5, "prior": 0}}');
-- a: 1 at its end, so 0.5 and 1; state 1 has a's 0.5 and b's 0: v 0.25.
SELECT grp, rollout_id, step_no, return, q, v, advantage FROM att_null_rtmc ORDER BY 1, 2, 3;
SELECT grp, rollout_id, n_steps, outcome, return FROM att_null_rollouts ORDER BY 2;

-- Options are literals in the view; a scalar is for all that know it, the tree follows rtmc.
SELECT view_name, description FROM stepadv.attach('att_int', '{run,task}', 'traj', 'n', 'st', 'act', 'rew', views => '{all}', prefix => 'att_opt', options => '{"gamma": 0.9, "success_above": 0.25, "rtmc": {"prior": 1, "baseline": null, "visit": "every"}, "grpo": {"normalise": "none", "step_rewards": true}}')
WHERE view_name::text ~ '_(rows|shown_steps|values|groups|rollouts|returns|grpo|rloo|gigpo|graphgpo|graph_nodes|graph_edges|contribution|hgpo|tempo|rtmc|rtmc_tree|compare|quadrants|disagreements)$';
SELECT pg_get_viewdef('att_opt_rtmc_tree'::regclass) ~ 'prior => ''?1''?::double precision' AS literal;
SELECT bool_and(a.advantage = w.advantage) AS rtmc_as_asked, count(a.advantage) = (SELECT count(*) FROM att_want WHERE rtmc IS NOT NULL) AS all
FROM att_opt_rtmc a JOIN (SELECT t.* FROM (SELECT run, task, stepadv.rollout_agg(id, traj, n, st, act, rew::float8) AS rollouts FROM att_int GROUP BY run, task) g,
	stepadv.rtmc(g.rollouts, gamma => 0.9, prior => 1, visit => 'every', success_above => 0.25) t) w USING (step_id);

-- A filter on the group reaches the index, below the aggregate and for the base columns; a query without these does not join them.
CREATE TABLE att_plan AS SELECT i AS id, i / 50 AS grp, i / 10 AS traj, i % 10 AS n, i % 4 AS st, i % 3 AS act, (i % 2)::float8 AS rew, 'text ' || i AS words FROM generate_series(0, 49999) i;
ALTER TABLE att_plan ADD PRIMARY KEY (id);
CREATE INDEX ON att_plan (grp);
ANALYZE att_plan;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_plan', '{grp}', 'traj', 'n', 'st', 'act', 'rew', views => '{all}');
CREATE FUNCTION pg_temp.plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; lines text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP lines := lines || line || E'\n'; END LOOP;
	RETURN lines;
END $$;
-- For a view it is not known that a step or a rollout has only one row.
CREATE VIEW att_plan_view AS SELECT id, grp, 't' || traj AS traj, n, st, act, rew, words FROM att_plan;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_plan_view', '{grp}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"step_id": "id"}');
SELECT name, plan ~ 'Seq Scan on att_plan' AS reads_everything, plan ~ 'Index Cond: .*grp' AS by_index, (SELECT count(*) FROM regexp_matches(plan, 'Scan (using \w+ )?on att_plan', 'g')) AS scans
FROM (VALUES
	('one group', pg_temp.plan('SELECT * FROM att_plan_rtmc WHERE grp = 77')),
	('some groups', pg_temp.plan('SELECT * FROM att_plan_rtmc WHERE grp = ANY (''{77,78,79}'')')),
	('subquery', pg_temp.plan('SELECT * FROM att_plan_rtmc WHERE grp = (SELECT max(grp) FROM att_int, LATERAL (SELECT 77 AS grp) x)')),
	('no base column', pg_temp.plan('SELECT grp, rollout_id, step_no, step_id, advantage FROM att_plan_rtmc WHERE grp = 77')),
	('all of a view, no base column', pg_temp.plan('SELECT sum(advantage) FROM att_plan_view_rtmc')),
	('its rollouts, no id', pg_temp.plan('SELECT sum("return") FROM att_plan_view_rollouts'))) p(name, plan);
SELECT stepadv.detach('att_plan_view') > 5 AS detached;
DROP VIEW att_plan_view;
-- Windows let it through, too.
CREATE FUNCTION pg_temp.indexed(query text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL enable_seqscan = off;
	RETURN pg_temp.plan(query) ~ 'Index Cond: .*run.*task' AND pg_temp.plan(query) !~ 'Seq Scan on att_calls';
END $$;
SELECT pg_temp.indexed('SELECT * FROM ab_sig_rtmc WHERE run = 1 AND task = 2'), pg_temp.indexed('SELECT advantage FROM ab_next_graphgpo WHERE run = 1 AND task = ANY (''{1,2}'')'), pg_temp.indexed('SELECT * FROM ab_his_rtmc WHERE run = 1 AND task = 2');
SELECT count(*) = (SELECT count(*) FROM att_steps WHERE run = 1 AND task = 2) AS all_steps, bool_and(a.advantage IS NOT DISTINCT FROM b.advantage) AS same
FROM ab_sig_rtmc a JOIN (SELECT * FROM ab_sig_rtmc OFFSET 0) b USING (step_id) WHERE a.run = 1 AND a.task = 2;
SELECT stepadv.detach('att_calls') = count(*) AS all_dropped FROM pg_class WHERE relname LIKE 'ab\_%' AND relkind = 'v';
-- Errors.
SELECT pg_temp.call('histories', 'ab');
SELECT pg_temp.call('observation', 'ab');
SELECT pg_temp.call('signature', 'ab', state => 'st');
SELECT pg_temp.call('history', 'ab', NULL);
SELECT pg_temp.call('history_set', 'ab', NULL);
SELECT pg_temp.call(NULL, 'ab', state => 'history');
SELECT pg_temp.call(NULL, 'ab', args => 'args');
SELECT pg_temp.call('signature', 'ab', ok => 'ok');
SELECT pg_temp.call('signature', 'ab', tool => 'tools');
SELECT pg_temp.call('signature', 'ab', tool => 'st');
SELECT pg_temp.call('signature', 'ab', tool => 'tool', args => 'n');
SELECT pg_temp.call('signature', 'ab', tool => 'tool', ok => 'n');
SELECT pg_temp.call('signature', 'ab', tool => 'tool', options => '{"signature": {"flag": "set"}}');
SELECT pg_temp.call('signature', 'ab', tool => 'tool', options => '{"signature": {"flags": "many"}}');
SELECT pg_temp.call('signature', 'ab', tool => 'tool', options => '{"signature": {"path": "x''); DROP TABLE att_calls; --"}}');
SELECT pg_temp.call('signature', 'ab', tool => 'tool', options => '{"signature": {"vocabulary": "nobody"}}');
\set VERBOSITY terse
SELECT pg_temp.call('history', 'ab', options => '{"signature": {"flags": "set"}}');
\set VERBOSITY default
SELECT count(*) AS views FROM pg_class WHERE relname LIKE 'ab\_%' AND relkind = 'v';
DROP TABLE att_calls;
SELECT count(*), min(words), bool_and(words = 'text ' || step_id) AS right_rows FROM att_plan_rtmc WHERE grp = 77;

-- detach: what attach made over this source with this prefix, no more.
CREATE VIEW att_int_mine AS SELECT * FROM att_int;
COMMENT ON VIEW att_int_mine IS E'made by stepadv.attach: not really\n{"prefix": "att_int"}';
CREATE VIEW att_int_copy AS SELECT * FROM att_few_rtmc;
SELECT stepadv.detach('att_int', 'no such prefix') AS none;
SELECT stepadv.detach('att_int', 'att_int') > 5 AS one_prefix;
SELECT relname FROM pg_class WHERE relname LIKE 'att\_int\_%' AND relkind = 'v' ORDER BY 1;
\set VERBOSITY terse
SELECT stepadv.detach('att_int') AS something_depends_on_it;
\set VERBOSITY default
DROP VIEW att_int_copy;
-- A view over an attached view is a source like any other, and keeps its views.
CREATE VIEW att_second AS SELECT run, task, rollout_id, step_no, advantage FROM att_plain_grpo;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_second', '{run,task}', 'rollout_id', 'step_no', reward => 'advantage', views => '{all}');
-- The source may have been renamed.
ALTER TABLE att_int RENAME TO att_renamed;
SELECT stepadv.detach('att_renamed', 'att_few') > 5 AS few, stepadv.detach('att_renamed', 'att_none') > 5 AS none, stepadv.detach('att_renamed', 'att_won') > 2 AS won;
SELECT stepadv.detach('att_second') > 5 AS dropped;
DROP VIEW att_second;
SELECT stepadv.detach('att_renamed') > 10 AS dropped;
SELECT relname FROM pg_class WHERE (relname LIKE 'att\_int\_%' OR relname LIKE 'att\_few%' OR relname LIKE 'att\_opt%' OR relname LIKE 'att\_second%') AND relkind = 'v' ORDER BY 1;
ALTER TABLE att_renamed RENAME TO att_int;
-- With show_steps the views read two relations; only the source belongs to them.
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_view', '{grp}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won"}', views => '{all}', prefix => 'two', options => '{"show_steps": "att_part"}');
SELECT * FROM pg_temp.agrees('public', 'two');
SELECT stepadv.detach('att_part', 'two') AS wrong_one, stepadv.detach('att_view', 'two') > 5 AS right_one;

-- Rollouts with columns of their own, over relations without an index.
CREATE VIEW att_notes AS SELECT DISTINCT grp, 't' || traj AS traj, 'note ' || traj AS note, -traj AS n FROM att_part;
CREATE VIEW att_texts AS SELECT grp, 't' || traj AS traj, n, st, act, rew, won, orig_id FROM att_part;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_texts', '{grp}', 'traj', 'n', 'st', 'act', 'rew', columns => '{"success": "won"}', views => '{all}', prefix => 'noted', options => '{"show_rollouts": "att_notes"}');
SELECT * FROM pg_temp.agrees('public', 'noted');
SELECT bool_and(note = 'note ' || substr(rollout_id, 2) AND rollout_n = -substr(rollout_id, 2)::integer AND n = step_no) AS notes_are_right FROM noted_rtmc;
SELECT rollout_id, n_steps, note, n FROM noted_rollouts WHERE grp = '11' ORDER BY 1 LIMIT 2;
SELECT stepadv.detach('att_texts') > 5 AS dropped;
DROP VIEW att_notes, att_texts;

-- Errors, which leave nothing behind.
CREATE TEMP TABLE views_before AS SELECT oid FROM pg_class WHERE relkind = 'v';
SELECT stepadv.attach('att_int', '{}', 'traj', 'n', reward => 'rew', views => '{all}');
SELECT stepadv.attach('att_int', NULL, 'traj', 'n', reward => 'rew', views => '{all}');
SELECT stepadv.attach('att_int', '{run,run}', 'traj', 'n', reward => 'rew', views => '{all}');
SELECT stepadv.attach('att_int', '{run,NULL}', 'traj', 'n', reward => 'rew', views => '{all}');
SELECT stepadv.attach('att_int', '{run}', NULL, 'n', reward => 'rew', views => '{all}');
SELECT stepadv.attach('att_int', '{run}', 'traj', NULL, reward => 'rew', views => '{all}');
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', views => '{all}');
SELECT stepadv.attach('att_int', '{nobody}', 'traj', 'n', reward => 'rew', views => '{all}');
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', 'no such; DROP TABLE att_want', reward => 'rew', views => '{all}');
SELECT stepadv.attach('att_int', '{run}', 'ctid', 'n', reward => 'rew', views => '{all}');
SELECT stepadv.attach('att_text', '{run}', 'traj', 'st', reward => 'rew', views => '{all}');
SELECT stepadv.attach('att_text', '{run}', 'traj', 'rew', reward => 'rew', views => '{all}');
SELECT stepadv.attach('att_text', '{run}', 'traj', 'n', reward => 'st', views => '{all}');
SELECT stepadv.attach('att_text', '{run}', 'traj', 'n', columns => '{"success": "n"}', views => '{all}');
SELECT stepadv.attach('att_text', '{run}', 'traj', 'n', reward => 'rew', views => '{all}', options => '{"show_columns": ["nothing"]}');
SELECT stepadv.attach('att_text', '{run}', 'traj', 'n', reward => 'rew', views => '{all}', options => '{"show_rollouts": "att_null"}');
SELECT stepadv.attach('att_text', '{run}', 'traj', 'n', reward => 'rew', views => '{all}', options => '{"show_steps": "att_part"}');
SELECT stepadv.attach('att_text', '{run}', 'traj', 'n', reward => 'rew', views => '{all}', schema => 'nowhere');
SELECT stepadv.attach('att_steps_pkey', '{run}', 'traj', 'n', reward => 'rew', views => '{all}');
SELECT stepadv.attach('no_such_table', '{run}', 'traj', 'n', reward => 'rew', views => '{all}');
SELECT stepadv.attach(NULL, '{run}', 'traj', 'n', reward => 'rew', views => '{all}');
SELECT stepadv.attach('att_text', '{run,task}', 'traj', 'n', reward => 'rew', views => '{all}');
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', reward => 'rew', views => '{all}', prefix => repeat('x', 60));
CREATE TABLE fresh_rloo (x integer);
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', reward => 'rew', views => '{all}', prefix => 'fresh');
\set VERBOSITY terse
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', reward => 'rew', views => '{all}', prefix => 'fresh2', options => '{"rtmcc": {"gamma": 1}}');
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', reward => 'rew', views => '{all}', prefix => 'fresh2', options => '{"lamda": 1}');
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', reward => 'rew', views => '{all}', prefix => 'fresh2', options => '{"grpo": {"lambda": 1}}');
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', reward => 'rew', views => '{all}', prefix => 'fresh2', options => '{"grpo": {"rollouts": 1}}');
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', reward => 'rew', views => '{all}', prefix => 'fresh2', options => '{"rloo": {"singleton": ["zero"]}}');
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', reward => 'rew', views => '{all}', prefix => 'fresh2', options => '{"rloo": {"singleton": "''); DROP TABLE att_want; --"}}');
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', 'st', 'act', 'rew', views => '{all}', prefix => 'fresh2', options => '{"rtmc": {"gamma": 2}}');
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', 'st', 'act', 'rew', views => '{all}', prefix => 'fresh2', options => '{"rtmc": {"gamma": "much"}}');
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', 'st', 'act', 'rew', views => '{all}', prefix => 'fresh2', options => '["rtmc"]');
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', 'st', 'act', 'rew', views => '{all}', prefix => 'fresh2', options => '{"graph_edges": {"graph_weight": 1}}');
-- Also for a method that the columns do not allow.
\set VERBOSITY default
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', reward => 'rew', prefix => 'fresh2', options => '{"rtmc": {"gama": 1}}');
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', reward => 'rew', prefix => 'fresh2', options => '{"batch_td": {"history": 3, "lambda": 2}}');
SELECT count(*) AS views_left FROM pg_class WHERE relkind = 'v' AND oid NOT IN (SELECT oid FROM views_before);

-- Every type can be an identity.  No two rollouts share a state: what counts is the coarse one, of all three.
CREATE TYPE att_pair AS (a integer, b text);
CREATE DOMAIN att_pairs AS att_pair;
CREATE TABLE att_odd AS SELECT 1 AS g, ARRAY[r] AS r, n, ROW(r, 'x')::att_pair::att_pairs AS st, xml '<a/>' AS act, point(r, n) AS next, int4range(0, n) AS id, json '[1]' AS coarse, (r = 1)::integer AS rew
FROM generate_series(1, 3) r, generate_series(0, 1) n;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_odd', '{g}', 'r', 'n', 'st', 'act', 'rew', columns => '{"next_state": "next", "step_id": "id", "coarse_state": "coarse"}');
SELECT rollout_id, step_no, step_id, n_state, return FROM att_odd_rtmc ORDER BY 1, 2;

-- A defect in the data costs the advantages of its rollout, and is listed.
CREATE TABLE att_bad AS SELECT 1 AS grp, 9 AS traj, i::bigint AS n, 1 AS st, 1 AS act, 1.0 AS rew FROM generate_series(1, 2) i;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_bad', '{grp}', 'traj', 'n', 'st', 'act', 'rew', views => '{all}');
INSERT INTO att_bad VALUES (1, 9, 2, 1, 1, 1);
SELECT count(q) FROM att_bad_rtmc;
UPDATE att_bad SET n = 3000000000 WHERE n = 1;
SELECT count(q) FROM att_bad_rtmc;

-- A user without special privileges can attach their own tables.
CREATE ROLE regress_stepadv_user;
GRANT USAGE ON SCHEMA stepadv TO regress_stepadv_user;
CREATE SCHEMA att_user AUTHORIZATION regress_stepadv_user;
SET ROLE regress_stepadv_user;
CREATE TABLE att_user.steps AS SELECT 1 AS grp, i % 4 AS traj, i / 4 AS n, i % 3 AS st, i % 2 AS act, (i % 5)::float8 AS rew FROM generate_series(0, 19) i;
SELECT count(*) > 5 AS attached FROM stepadv.attach('att_user.steps', '{grp}', 'traj', 'n', 'st', 'act', 'rew', views => '{all}');
SELECT count(*), count(advantage) FROM att_user.steps_rtmc;
SELECT stepadv.attach('att_int', '{run}', 'traj', 'n', reward => 'rew', views => '{all}', prefix => 'theirs', schema => 'att_user');
SELECT stepadv.detach('att_user.steps') > 5 AS dropped;
RESET ROLE;

DROP SCHEMA "my schema; --", att_user, att_other CASCADE;
DROP OWNED BY regress_stepadv_user;
DROP ROLE regress_stepadv_user;
SELECT bool_and(stepadv.detach(t::regclass) > 5) AS dropped FROM unnest('{att_mat,att_part,att_mixed,att_text,att_domain,att_clash,att_rollouts,att_null,att_plan,att_bad,att_odd}'::text[]) t;
DROP VIEW att_int_mine, att_view;
DROP MATERIALIZED VIEW att_mat;
DROP TABLE att_steps, att_want, att_int, att_text, att_mixed, att_domain, att_part, att_clash, att_rollouts, att_null, att_plan, att_bad, att_odd, fresh_rloo;
DROP DOMAIN att_key, att_name, att_pairs;
DROP TYPE att_pair;
DROP TYPE att_verb;

-- create_tables: the canonical tables, and the view that selects what counts as reward.
SET client_min_messages = warning;
\set SHOW_CONTEXT never

-- One small group by hand, under each of the three kinds of reward.
SELECT view_name, description FROM stepadv.create_tables('tab_outcome', partitions => 3, group_by => '{group_id}', views => '{all}')
WHERE regexp_replace(view_name::text, '.*steps_', '') NOT IN (SELECT method FROM stepadv_internal.methods WHERE method NOT IN ('groups', 'rollouts', 'grpo', 'rtmc', 'rtmc_tree'));
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('tab_steps', 'steps', group_by => '{group_id}', views => '{all}');
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('tab_sum', reward => 'sum', group_by => '{group_id}', views => '{all}');
CREATE FUNCTION pg_temp.fill(schema text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SET LOCAL search_path = %I', schema);
	INSERT INTO rollouts (group_id, rollout_id, outcome, success, model, metadata) VALUES
		('g', 'r1', 1, true, 'm', '{"of": "rollout"}'), ('g', 'r2', 0, false, 'm', NULL),
		('g', 'not judged', NULL, NULL, 'm', NULL), ('g', 'no step', 0.5, NULL, 'm', NULL),
		('h', 'judged by success', NULL, true, 'm', NULL);
	INSERT INTO steps (group_id, rollout_id, step_no, reward, state, action_hash, observation, metadata) VALUES
		('g', 'r1', 0, 0.25, 1, 1, 'r1 s0', '{"of": "step"}'), ('g', 'r1', 5, 0.5, 2, 1, 'r1 s5', NULL),
		('g', 'r2', 0, 0.125, 1, 2, 'r2 s0', NULL), ('g', 'not judged', 0, NULL, 1, 1, 'n s0', NULL),
		('h', 'judged by success', 0, NULL, 1, 1, 'h s0', NULL);
END $$;
SELECT pg_temp.fill('tab_outcome'), pg_temp.fill('tab_steps'), pg_temp.fill('tab_sum');
-- outcome: returns 1, 1 | 0 | NULL | 1 (success where there is no outcome). Over R = 1, 0, 0.5: mean 0.5, sd 0.5, so GRPO gives 0.5 / 0.500001 = 0.999998 and its negative.
SELECT group_id, rollout_id, step_no, return, observation FROM tab_outcome.steps_returns ORDER BY 1, 2, 3;
SELECT group_id, rollout_id, step_no, round(advantage::numeric, 6) AS grpo FROM tab_outcome.steps_grpo ORDER BY 1, 2, 3;
-- steps: returns to go 0.75, 0.5 | 0.125; 'no step' and 'not judged' have neither reward nor success; h has success but no reward: return 0.
SELECT group_id, rollout_id, step_no, return FROM tab_steps.steps_returns ORDER BY 1, 2, 3;
SELECT rollout_id, n_steps, outcome, return, success, judged FROM tab_steps.steps_rollouts WHERE group_id = 'g' ORDER BY 1;
-- sum: 1.75, 1.5 | 0.125 | NULL | 1.
SELECT group_id, rollout_id, step_no, return FROM tab_sum.steps_returns ORDER BY 1, 2, 3;
SELECT rollout_id, n_steps, outcome, return, success, judged, base_success, model, metadata
FROM tab_sum.steps_rollouts WHERE group_id = 'g' ORDER BY 1;
SELECT group_id, n_rollouts, n_judged, n_steps, mean_return, uniform FROM tab_outcome.steps_groups ORDER BY 1;
-- Ids sort byte by byte, whatever the collation of the database.
SELECT string_agg(DISTINCT attcollation::regcollation::text, ', ') AS collations FROM pg_attribute WHERE attname IN ('group_id', 'rollout_id') AND attrelid IN ('tab_sum.steps'::regclass, 'tab_sum.rollouts'::regclass);
-- Columns of the step and of its rollout stand beside the advantage.
SELECT step_id = (SELECT s.step_id FROM tab_outcome.steps s WHERE s.observation = 'r1 s0') AS step_id_is_the_tables, model, outcome, metadata, rollout_metadata
FROM tab_outcome.steps_rtmc WHERE rollout_id = 'r1' AND step_no = 0;
-- Steps with numbers in two rows: each is shown beside its own columns; observations are 'r1 s5' or 'n s0'.
UPDATE tab_sum.steps SET step_id = 1;
SELECT count(*), count(*) FILTER (WHERE observation ~ format('^%s.* s%s$', left(rollout_id, 1), step_no)) AS own FROM tab_sum.steps_rtmc WHERE group_id = 'g';
-- The tree: r1 takes action 1 in state 1, a step before the last (0.99), and in state 2 (1); r2 action 2 in state 1 (0).
SELECT state, action, n_visits, n_successes, q, observation, base_state FROM tab_outcome.steps_rtmc_tree WHERE group_id = 'g' ORDER BY 1, 2;
-- The value is an argument of any function of the group. Success is given for r1 (yes) and r2 (no); 'no step' has 0.5 > 0: 2 of 3.
SELECT v.group_id, s.n_rollouts, s.success_rate FROM tab_outcome.steps_values v, stepadv.group_summary(v.rollouts) s ORDER BY 1;

-- The view's comments.
SELECT schema, obj_description(format('%I.rollout_rows', schema)::regclass) FROM (VALUES ('tab_outcome'), ('tab_steps'), ('tab_sum')) s(schema);
-- Values that do not compress are stored plain, in any partition
SELECT a.attname, a.attstorage, count(*) FROM pg_attribute a JOIN pg_partition_tree('tab_outcome.steps') t ON t.relid = a.attrelid
WHERE a.attname IN ('rollout_logprobs', 'policy_logprobs', 'response_token_ids') GROUP BY 1, 2 ORDER BY 1;

-- Partitions: by hash of the group.
SELECT c.relname, pg_get_partkeydef(c.oid), (SELECT count(*) FROM pg_inherits i WHERE i.inhparent = c.oid)
FROM pg_class c WHERE c.relnamespace = 'tab_outcome'::regnamespace AND c.relkind = 'p' ORDER BY 1;
-- Rows that violate keys and checks (23503: foreign key, 23505: unique, 23514: check).
\set VERBOSITY sqlstate
INSERT INTO tab_outcome.steps (group_id, rollout_id, step_no) VALUES ('g', 'nobody', 0);
INSERT INTO tab_outcome.steps (group_id, rollout_id, step_no) VALUES ('g', 'r1', 5);
INSERT INTO tab_outcome.rollouts (group_id, rollout_id) VALUES ('g', 'r1');
INSERT INTO tab_outcome.rollouts (group_id, rollout_id, outcome) VALUES ('g', 'r9', 'NaN');
INSERT INTO tab_outcome.rollouts (group_id, rollout_id, outcome) VALUES ('g', 'r9', '-Infinity');
INSERT INTO tab_outcome.rollouts (group_id, rollout_id, channel) VALUES ('g', 'r9', 'test');
INSERT INTO tab_outcome.steps (group_id, rollout_id, step_no, reward) VALUES ('g', 'r1', 6, 'Infinity');
INSERT INTO tab_outcome.steps (group_id, rollout_id, step_no, cost) VALUES ('g', 'r1', 6, 0);
INSERT INTO tab_outcome.steps (group_id, rollout_id, step_no, response_token_ids, response_mask) VALUES ('g', 'r1', 6, '{1,2}', '{t}');
INSERT INTO tab_outcome.steps (group_id, rollout_id, step_no, response_token_ids, response_mask, rollout_logprobs)
VALUES ('g', 'r1', 6, '{1,2}', '{t,f}', '{-0.5,-1}');
INSERT INTO tab_outcome.steps (group_id, rollout_id, step_no, response_token_ids, policy_logprobs) VALUES ('g', 'r1', 6, '{1,2}', '{-1}');
\set VERBOSITY default
-- Ratios from the table itself: step 6 has one trained token, with -0.5 and -0.25: exp(0.25) = 1.284025; the k3 estimate is exp(0.25) - 1 - 0.25.
UPDATE tab_outcome.steps SET policy_logprobs = '{-0.25,-7}' WHERE rollout_id = 'r1' AND step_no = 6;
SELECT rollout_id, step_no, n_tokens, round(ratio::numeric, 6) AS ratio, round(sequence_ratio::numeric, 6) AS sequence_ratio, round(approximate_kl::numeric, 6) AS kl, model, outcome
FROM tab_outcome.steps_ratios WHERE group_id = 'g' AND rollout_id = 'r1' ORDER BY step_no;
SELECT count(*) = (SELECT count(*) FROM tab_outcome.steps) AS all_steps, bool_and(a.step_no = r.step_no AND a.rollout_id = r.rollout_id) AS the_same_steps
FROM tab_outcome.steps_ratios r JOIN tab_outcome.steps_grpo a USING (group_id, step_id);
SELECT stepadv.detach('tab_outcome.steps') AS not_the_source, to_regclass('tab_outcome.steps_ratios');
-- Deleting a rollout deletes its steps.
DELETE FROM tab_sum.rollouts WHERE rollout_id = 'r1';
SELECT count(*) FROM tab_sum.steps WHERE rollout_id = 'r1';

-- Moved to another group, steps follow, across any partitions; up to 14, which would lose them, the update is refused.
INSERT INTO tab_outcome.rollouts (group_id, rollout_id, outcome) SELECT 'from', 'r' || i, 1 FROM generate_series(1, 20) i;
INSERT INTO tab_outcome.steps (group_id, rollout_id, step_no) SELECT 'from', 'r' || i, s FROM generate_series(1, 20) i, generate_series(1, 3) s;
CREATE TEMP TABLE refusal (message text, detail text, hint text);
DO $$
DECLARE
	r refusal;
BEGIN
	FOR i IN 1 .. 20 LOOP
		UPDATE tab_outcome.rollouts SET group_id = group_id, rollout_id = 's' || i WHERE group_id = 'from' AND rollout_id = 'r' || i;
		BEGIN
			UPDATE tab_outcome.rollouts SET group_id = 'to ' || i WHERE group_id = 'from' AND rollout_id = 's' || i;
		EXCEPTION WHEN feature_not_supported THEN
			GET STACKED DIAGNOSTICS r.message = MESSAGE_TEXT, r.detail = PG_EXCEPTION_DETAIL, r.hint = PG_EXCEPTION_HINT;
			INSERT INTO refusal VALUES (r.*);
		END;
	END LOOP;
END $$;
SELECT count(*) AS steps, count(DISTINCT (group_id, rollout_id)) AS rollouts, bool_and(rollout_id ~ '^s') AS renamed,
	count(DISTINCT rollout_id) FILTER (WHERE group_id ~ '^to') BETWEEN 1 AND 20 AS moved,
	count(DISTINCT rollout_id) FILTER (WHERE group_id = 'from') = (SELECT count(*) FROM refusal) AS rest_refused,
	((SELECT count(*) FROM refusal) > 0) = (current_setting('server_version_num')::integer < 150000) AS only_where_needed,
	coalesce((SELECT bool_and(message ~ '^rollout "s\d+" of group "from" cannot be moved to group "to \d+" by an UPDATE$' AND detail ~ 'would be deleted' AND hint ~ '^Insert') FROM refusal), true) AS says_why
FROM tab_outcome.steps WHERE group_id = 'from' OR group_id LIKE 'to %';
DELETE FROM tab_outcome.rollouts WHERE group_id = 'from' OR group_id LIKE 'to %';

-- A filter on the group reaches both arms below the aggregate: only the group's partitions, only by index.
INSERT INTO tab_outcome.rollouts (group_id, rollout_id, outcome) SELECT 'group ' || i % 100, 'r' || i, i % 2 FROM generate_series(1, 800) i;
INSERT INTO tab_outcome.steps (group_id, rollout_id, step_no, state, action_hash)
SELECT group_id, rollout_id, s, s, s FROM tab_outcome.rollouts, generate_series(0, 4) s WHERE group_id LIKE 'group %';
ANALYZE tab_outcome.rollouts, tab_outcome.steps;
CREATE FUNCTION pg_temp.scans(query text, OUT sequential bigint, OUT relations bigint) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	scanned text[] := '{}';
BEGIN
	sequential := 0;
	SET LOCAL enable_seqscan = off;
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
		sequential := sequential + (line ~ 'Seq Scan')::integer;
		scanned := scanned || substring(line FROM 'Scan.* on ((?:rollouts|steps)_p\d+) ');
	END LOOP;
	SELECT count(DISTINCT s) INTO relations FROM unnest(scanned) s;
END $$;
SELECT * FROM pg_temp.scans($$SELECT step_no, advantage FROM tab_outcome.steps_rtmc WHERE group_id = 'group 7'$$);
SELECT sequential FROM pg_temp.scans($$SELECT step_no, advantage FROM tab_outcome.steps_rtmc WHERE group_id = ANY ('{group 7,group 8}')$$);
SELECT count(*), count(DISTINCT group_id), count(advantage) FROM tab_outcome.steps_rtmc WHERE group_id = ANY ('{group 7,group 8}');

-- States by name.
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('tab_obs', group_by => '{group_id}', views => '{all}');
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('tab_his', states => 'history', group_by => '{group_id}', views => '{all}');
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('tab_sig', partitions => 2, states => 'signature', group_by => '{group_id}', views => '{all}');
CREATE FUNCTION pg_temp.fill_calls(schema text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SET LOCAL search_path = %I', schema);
	INSERT INTO rollouts (group_id, rollout_id, outcome) VALUES ('g', 'x', 1), ('g', 'y', 0);
	INSERT INTO steps (group_id, rollout_id, step_no, state, action_hash, tool, args, ok) VALUES
		('g', 'x', 1, 1, 1, 'bash', '{"command": "cat a.py"}', true), ('g', 'x', 2, 2, 2, 'Edit', '{"file_path": "a.py", "old_string": "1", "new_string": "2"}', true), ('g', 'x', 3, 3, 3, 'finish', NULL, NULL),
		('g', 'y', 1, 1, 4, 'Read', '{"file_path": "a.py"}', true), ('g', 'y', 2, 4, 2, 'Edit', '{"file_path": "a.py", "old_string": "1", "new_string": "2"}', false), ('g', 'y', 3, 5, 3, 'finish', NULL, NULL);
END $$;
SELECT pg_temp.fill_calls('tab_obs'), pg_temp.fill_calls('tab_his'), pg_temp.fill_calls('tab_sig');
-- Shared by observation and history: the first steps, since x began with action 1 and y with 4. As signatures both view all of a.py, so the second steps share a state, and
-- the third of y, as its edit failed: 3. Edges then: view of both, edit, failed edit, finish of y (all from the viewed file), finish of x: 5.
SELECT o.rollout_id, o.step_no, o.n_state AS observation, h.n_state AS history, s.n_state AS signature
FROM tab_obs.steps_rtmc o JOIN tab_his.steps_rtmc h USING (rollout_id, step_no) JOIN tab_sig.steps_rtmc s USING (rollout_id, step_no) ORDER BY 1, 2;
SELECT state IS NOT NULL AS has_state, count(*), sum(n_visits) AS n_visits FROM tab_sig.steps_rtmc_tree GROUP BY 1;
SELECT * FROM pg_temp.scans($$SELECT step_no, advantage FROM tab_sig.steps_rtmc WHERE group_id = 'g'$$);
DROP SCHEMA tab_obs, tab_his, tab_sig CASCADE;

-- Errors.
SELECT stepadv.create_tables('tab_new', states => 'state', views => '{all}');
SELECT stepadv.create_tables('tab_outcome', views => '{all}');
SELECT stepadv.create_tables('tab_new', 'return', views => '{all}');
SELECT stepadv.create_tables('tab_new', NULL, views => '{all}');
SELECT stepadv.create_tables('tab_new', partitions => -1, views => '{all}');
SELECT stepadv.create_tables('tab_new', partitions => 1001, views => '{all}');
SELECT stepadv.create_tables(NULL, views => '{all}');
SELECT stepadv.create_tables('', views => '{all}');
CREATE SCHEMA tab_taken CREATE TABLE steps_rtmc_tree (x integer);
SELECT stepadv.create_tables('tab_taken', views => '{all}');
-- Nothing of them is left.
SELECT count(*) AS schemas FROM pg_namespace WHERE nspname = 'tab_new';
SELECT string_agg(relname, ' ') AS relations FROM pg_class WHERE relnamespace = 'tab_taken'::regnamespace;
-- A schema can have any name.
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('Tab "x"; DROP SCHEMA tab_sum CASCADE; --', group_by => '{group_id}', views => '{all}');
INSERT INTO "Tab ""x""; DROP SCHEMA tab_sum CASCADE; --".rollouts (group_id, rollout_id, outcome) VALUES ('g', 'r', 1);
SELECT group_id, n_rollouts FROM "Tab ""x""; DROP SCHEMA tab_sum CASCADE; --".steps_groups;

SELECT stepadv.detach('tab_outcome.rollout_rows') > 5 AS dropped, to_regclass('tab_outcome.steps_ratios') AS ratios;
DROP SCHEMA tab_outcome, tab_steps, tab_sum, tab_taken, "Tab ""x""; DROP SCHEMA tab_sum CASCADE; --" CASCADE;

-- The default group: the task within the policy version within the run.
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('tab_run', views => '{all}');
SELECT c.relname, a.attname, a.attnotnull, pg_get_expr(d.adbin, d.adrelid) AS default_value
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.oid IN ('tab_run.rollouts'::regclass, 'tab_run.steps'::regclass) AND a.attname IN ('run_id', 'policy_version', 'task_id', 'policy_step', 'tags', 'rollout_id', 'group_id') ORDER BY 1, a.attnum;
SELECT conrelid::regclass, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN ('tab_run.rollouts'::regclass, 'tab_run.steps'::regclass) AND contype IN ('p', 'u', 'f') AND conparentid = 0 ORDER BY 1::text, contype::text;
SELECT count(*) AS partitioned FROM pg_class c WHERE c.relnamespace = 'tab_run'::regnamespace AND c.relkind = 'p';
SELECT regexp_replace(indexdef, ' ON .*USING', '') AS index FROM pg_indexes WHERE schemaname = 'tab_run' AND tablename IN ('rollouts', 'steps') ORDER BY indexname COLLATE "C";
-- One task in two runs and two versions: four groups, each compared within itself. Returns 1 and 0 in each but the last, where both are 1;
-- GRPO: (1 - 1/2) / (sqrt(1/2) + 1e-6) = 0.707106, and 0 where all are alike.
INSERT INTO tab_run.rollouts (run_id, policy_version, policy_step, task_id, rollout_id, outcome, tags, started_at)
SELECT 'seed ' || s, 'v' || v, v * 100, 'door', 'r' || r, CASE WHEN s = 2 AND v = 2 THEN 1 ELSE r END, '{"level": 1}', '2026-03-01'::timestamptz + v * interval '1 day' FROM generate_series(1, 2) s, generate_series(1, 2) v, generate_series(0, 1) r;
INSERT INTO tab_run.steps (run_id, policy_version, task_id, rollout_id, step_no, observation, action)
SELECT run_id, policy_version, task_id, rollout_id, s, 'o' || s, 'a' || s FROM tab_run.rollouts, generate_series(1, 2) s;
-- Without a run or a version.
INSERT INTO tab_run.rollouts (task_id, rollout_id, outcome) VALUES ('lone', 'r', 1);
INSERT INTO tab_run.steps (task_id, rollout_id, step_no) VALUES ('lone', 'r', 1);
SELECT run_id, policy_version, task_id, n_rollouts, n_judged, n_steps, success_rate, uniform FROM tab_run.steps_groups ORDER BY 1, 2, 3;
SELECT run_id, policy_version, task_id, rollout_id, count(*) AS steps, round(min(advantage)::numeric, 6) AS least, round(max(advantage)::numeric, 6) AS most FROM tab_run.steps_grpo GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;
SELECT run_id, policy_step, policy_version, bucket AT TIME ZONE 'UTC' AS bucket, n_groups, n_rollouts, success_rate FROM tab_run.steps_progress_over_time ORDER BY 1, 2;
SELECT run_id, policy_version, task_id, rollout_id, policy_step, tags FROM tab_run.steps_rollouts WHERE task_id = 'door' AND run_id = 'seed 1' ORDER BY 1, 2, 4;
SELECT stepadv.maintain('tab_run.rollout_rows');
INSERT INTO tab_run.rollouts (task_id, rollout_id, outcome) VALUES ('lone', 's', 0);
SELECT run_id = '' AS no_run, n_rollouts FROM tab_run.steps_groups WHERE task_id = 'lone';
SELECT count(*) AS off FROM stepadv.check_maintained('tab_run.rollout_rows');
SELECT stepadv.unmaintain('tab_run.rollout_rows');
-- All of the group's columns can use an index, and each of them alone.
SELECT c.condition, s.sequential FROM unnest(ARRAY['run_id = ''seed 1'' AND policy_version = ''v1'' AND task_id = ''door''', 'task_id = ''door''', 'run_id = ''seed 1''', 'policy_version = ''v1''']) c(condition),
	pg_temp.scans('SELECT step_no, advantage FROM tab_run.steps_rtmc WHERE ' || c.condition) s;
SELECT sequential FROM pg_temp.scans('SELECT * FROM tab_run.steps WHERE step_id = 3');
-- Deleted with its steps, renamed with them, in any column of the group; in partitions up to 14 only within one.
DELETE FROM tab_run.rollouts WHERE task_id = 'lone';
SELECT count(*) AS left_over FROM tab_run.steps WHERE task_id = 'lone';
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('tab_parts', partitions => 3);
INSERT INTO tab_parts.rollouts (run_id, policy_version, task_id, rollout_id) SELECT run_id, policy_version, task_id, rollout_id FROM tab_run.rollouts;
INSERT INTO tab_parts.steps (run_id, policy_version, task_id, rollout_id, step_no) SELECT run_id, policy_version, task_id, rollout_id, step_no FROM tab_run.steps;
TRUNCATE refusal;
DO $$
DECLARE
	r refusal;
	setting text;
BEGIN
	FOREACH setting IN ARRAY ARRAY['run_id = ''other''', 'policy_version = ''w'' || policy_version', 'task_id = ''gate''', 'rollout_id = ''q'' || rollout_id'] LOOP
		EXECUTE 'UPDATE tab_run.rollouts SET ' || setting || ' WHERE run_id = ''seed 2''';
		BEGIN
			EXECUTE 'UPDATE tab_parts.rollouts SET ' || setting || ' WHERE run_id = ''seed 2''';
		EXCEPTION WHEN feature_not_supported THEN
			GET STACKED DIAGNOSTICS r.message = MESSAGE_TEXT, r.detail = PG_EXCEPTION_DETAIL, r.hint = PG_EXCEPTION_HINT;
			INSERT INTO refusal VALUES (r.*);
		END;
	END LOOP;
END $$;
SELECT DISTINCT run_id, policy_version, task_id, rollout_id FROM tab_run.steps ORDER BY 1, 2, 3, 4;
SELECT count(*) AS steps, count(DISTINCT s.*) FILTER (WHERE r.rollout_id IS NULL) AS without_rollout FROM tab_run.steps s LEFT JOIN tab_run.rollouts r USING (run_id, policy_version, task_id, rollout_id);
SELECT count(*) AS steps, count(DISTINCT s.*) FILTER (WHERE r.rollout_id IS NULL) AS without_rollout FROM tab_parts.steps s LEFT JOIN tab_parts.rollouts r USING (run_id, policy_version, task_id, rollout_id);
SELECT ((SELECT count(*) FROM refusal) > 0) = (current_setting('server_version_num')::integer < 150000) AS only_where_needed,
	coalesce((SELECT bool_and(message ~ '^rollout "r\d" of group "seed 2, w?v\d, door" cannot be moved to group "[^"]+, [^"]+, [^"]+" by an UPDATE$' AND hint ~ 'update run_id, policy_version, task_id of its steps') FROM refusal), true) AS says_why;
-- The check on 14: whether the row belongs to its partition, by all columns of the group. It belongs to its own, and to no other.
INSERT INTO tab_parts.rollouts (run_id, policy_version, task_id, rollout_id) SELECT 'seed ' || i % 3, 'v' || i % 4, 'task ' || i, 'r' FROM generate_series(1, 60) i;
CREATE FUNCTION pg_temp.belongs(rollout anyelement, partition regclass) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	stays boolean;
BEGIN
	EXECUTE format('SELECT %s FROM (SELECT ($1).*) moved', pg_get_partition_constraintdef(partition)) INTO stays USING rollout;
	RETURN stays;
END $$;
SELECT right(r.tableoid::regclass::text, 2) AS lies_in, right(p.inhrelid::regclass::text, 2) AS of, bool_and(pg_temp.belongs(r, p.inhrelid)) AS "all", bool_or(pg_temp.belongs(r, p.inhrelid)) AS any
FROM tab_parts.rollouts r, pg_inherits p WHERE p.inhparent = 'tab_parts.rollouts'::regclass GROUP BY 1, 2 ORDER BY 1, 2;

-- Other columns: required texts; those of the tables' own that are no keys stay columns of rollouts.
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('tab_by', group_by => ARRAY['Category "x"', 'policy_version'], views => '{all}');
INSERT INTO tab_by.rollouts ("Category ""x""", policy_version, rollout_id, task_id, run_id, outcome) VALUES ('c', 'v', 'r', 't', 's', 1);
INSERT INTO tab_by.steps ("Category ""x""", policy_version, rollout_id, step_no) VALUES ('c', 'v', 'r', 1);
SELECT "Category ""x""", policy_version, rollout_id, task_id, run_id, advantage FROM tab_by.steps_grpo;
\set VERBOSITY sqlstate
INSERT INTO tab_by.rollouts (policy_version, rollout_id) VALUES ('v', 'r');
INSERT INTO tab_run.rollouts (run_id, task_id, rollout_id) VALUES (NULL, 't', 'r');
INSERT INTO tab_run.rollouts (run_id, rollout_id) VALUES ('s', 'r');
\set VERBOSITY default
-- Columns that cannot be the group's.
SELECT stepadv.create_tables('tab_new', group_by => '{}', views => '{all}');
SELECT stepadv.create_tables('tab_new', group_by => NULL, views => '{all}');
SELECT stepadv.create_tables('tab_new', group_by => '{task_id,NULL}', views => '{all}');
SELECT stepadv.create_tables('tab_new', group_by => '{task_id,""}', views => '{all}');
SELECT stepadv.create_tables('tab_new', group_by => '{{task_id},{run_id}}', views => '{all}');
SELECT stepadv.create_tables('tab_new', group_by => '{task_id,run_id,task_id}', views => '{all}');
SELECT stepadv.create_tables('tab_new', group_by => '{task_id,rollout_id}', views => '{all}');
SELECT stepadv.create_tables('tab_new', group_by => '{policy_step}', views => '{all}');
SELECT stepadv.create_tables('tab_new', group_by => '{state}', views => '{all}');
SELECT stepadv.create_tables('tab_new', group_by => '{ctid}', views => '{all}');
SELECT stepadv.create_tables('tab_new', group_by => ARRAY[repeat('x', 64)], views => '{all}');
SELECT stepadv.create_tables('tab_new', group_by => ARRAY(SELECT 'c' || i FROM generate_series(1, 31) i), views => '{all}');
SELECT stepadv.create_tables('tab_new', unit => 'episode', views => '{all}');
SELECT count(*) AS schemas FROM pg_namespace WHERE nspname = 'tab_new';
-- The list of columns matches the tables.
SELECT array_agg(a.attname ORDER BY 1) AS unknown FROM pg_attribute a
WHERE a.attrelid IN ('tab_run.rollouts'::regclass, 'tab_run.steps'::regclass) AND a.attname NOT IN (SELECT c.name FROM stepadv_internal.table_columns() c);
DROP SCHEMA tab_run, tab_parts, tab_by CASCADE;

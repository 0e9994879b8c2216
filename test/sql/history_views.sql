-- Methods with a history in attached views: the groups of the same task, run and dimensions up to a number of policy steps before, over rows and over kept groups.
-- Rebuilds the views of all attachments; a row each.
CREATE FUNCTION pg_temp.anew(asked text[] DEFAULT '{}') RETURNS TABLE (attachment regclass, n_views bigint, problem text) LANGUAGE plpgsql AS $$
DECLARE
	a record;
BEGIN
	FOR a IN SELECT k.source, k.schema, k.prefix FROM stepadv.attachments() k ORDER BY k.schema, k.prefix LOOP
		attachment := to_regclass(format('%I.%I', a.schema, a.prefix || '_attachment'));
		problem := NULL;
		BEGIN
			PERFORM stepadv.add_views(a.source, asked, a.prefix);
			SELECT count(*) INTO n_views FROM stepadv.attachments() k CROSS JOIN LATERAL jsonb_object_keys(k.views) WHERE k.source = a.source AND k.prefix = a.prefix;
		EXCEPTION WHEN OTHERS THEN
			problem := SQLERRM;
			n_views := NULL;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
CREATE SCHEMA history_views;
SET search_path = history_views, stepadv, public;
SET client_min_messages = warning;
SET jit = off;

-- Twelve policy steps of three tasks, four rollouts each, with the same ids in every group. One task has two runs. Few states and actions, so that groups share them.
CREATE FUNCTION dice(key text, n integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT ('x' || substr(md5(key), 1, 7))::bit(28)::integer % n $$;
CREATE TABLE s (id integer PRIMARY KEY, task text, policy smallint, run text, r integer, no integer, state text, action text, reward float8);
INSERT INTO s
SELECT row_number() OVER (ORDER BY task, policy, run, r, no), task, policy, run, r, no, 's' || dice(concat_ws(' ', t, 's'), 5), 'a' || dice(concat_ws(' ', t, 'a'), 2),
	CASE WHEN no = len THEN dice(concat_ws(' ', task, policy, r, 'won'), 2) END
FROM (SELECT task, policy, run, r, no, 2 + (r + policy) % 5 AS len
	FROM unnest('{a,b,c}'::text[]) task, generate_series(1, 12) policy, unnest('{x,y}'::text[]) run, generate_series(1, 4) r, generate_series(1, 6) no
	WHERE (run = 'x' OR task = 'c') AND (task, policy) <> ('b', 4)) t(task, policy, run, r, no, len) WHERE no <= len;
CREATE INDEX ON s (task, policy, run);

SELECT view_name, description FROM attach('s', '{task,policy,run}', 'r', 'no', 'state', 'action', 'reward', columns => '{"step_id": "id", "task_id": "task", "policy_step": "policy", "run_id": "run"}', views => '{all}', options => '{"methods": {"td_history": {"method": "batch_td", "history": 3, "decay": 0.8, "gamma": 0.95}, "rtmc_all": {"method": "rtmc", "history": true}}, "batch_td": {"history": 2}}')
WHERE view_name::text ~ '_(td_history|rtmc_all|batch_td|compare)$';

-- By hand: each group once more, its history built from the rows, under other ids.
CREATE FUNCTION expected(steps bigint, decay float8, gamma float8) RETURNS TABLE (step_id bigint, n_state integer, q float8, v float8, advantage float8) LANGUAGE sql AS $$
	WITH g AS (
		SELECT task, policy, run, rollout_agg(id, r, no, signature_hash(state), signature_hash(action), reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, policy) AS g FROM s GROUP BY 1, 2, 3
	), h AS (
		SELECT g.task, g.policy, g.run, rollout_agg(id, 1000 * e.policy + r, no, signature_hash(state), signature_hash(action), reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, e.policy) AS h
		FROM g JOIN s e ON e.task = g.task AND e.run = g.run AND e.policy < g.policy AND e.policy >= g.policy - expected.steps GROUP BY 1, 2, 3
	)
	SELECT a.step_id, a.n_state, a.q, a.v, a.advantage FROM g LEFT JOIN h USING (task, policy, run), batch_td(g, gamma => expected.gamma, history => h, decay => expected.decay) a
$$;
CREATE FUNCTION compare(view regclass, steps bigint, decay float8, gamma float8, OUT n bigint, OUT off bigint, OUT with_history bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*), count(*) FILTER (WHERE e.step_id IS NULL OR a.step_id IS NULL OR a.n_state <> e.n_state OR abs(a.q - e.q) > 1e-9 OR abs(a.v - e.v) > 1e-9 OR abs(a.advantage - e.advantage) > 1e-9),
		count(*) FILTER (WHERE e.v IS DISTINCT FROM o.v)
		FROM %s a FULL JOIN expected($1, $2, $3) e USING (step_id) LEFT JOIN expected(0, 1, $3) o USING (step_id)', view) INTO n, off, with_history USING steps, decay, gamma;
END $$;
SELECT * FROM compare('s_td_history', 3, 0.8, 0.95);
SELECT * FROM compare('s_batch_td', 2, 1, 0.99);
-- All earlier groups
SELECT count(*), count(*) FILTER (WHERE a.n_state <> e.n_state OR abs(a.advantage - e.advantage) > 1e-9) AS off
FROM s_rtmc_all a JOIN (
	SELECT r.step_id, r.n_state, r.advantage FROM (
		SELECT g.task, g.policy, g.run, rollout_agg(id, r, no, signature_hash(state), signature_hash(action), reward) FILTER (WHERE s.policy = g.policy) AS g,
			rollout_agg(id, 1000 * s.policy + r, no, signature_hash(state), signature_hash(action), reward) FILTER (WHERE s.policy < g.policy) AS h
		FROM (SELECT DISTINCT task, policy, run FROM s) g JOIN s ON s.task = g.task AND s.run = g.run AND s.policy <= g.policy GROUP BY 1, 2, 3) x, rtmc(g, history => h) r) e USING (step_id);
-- The same in _compare; views over time use only the group itself
SELECT count(*), count(*) FILTER (WHERE c.td_history IS DISTINCT FROM h.advantage OR c.batch_td IS DISTINCT FROM b.advantage OR c.rtmc_all IS DISTINCT FROM r.advantage OR c.rtmc IS DISTINCT FROM m.advantage) AS off
FROM s_compare c JOIN s_td_history h USING (step_id) JOIN s_batch_td b USING (step_id) JOIN s_rtmc_all r USING (step_id) JOIN s_rtmc m USING (step_id);
SELECT string_agg(DISTINCT method, ' ' ORDER BY method) FROM s_advantage_over_time WHERE method ~ 'td|rtmc';
SELECT count(DISTINCT method_a) > 8 AS methods, bool_or('td_history' IN (method_a, method_b)) AS has_history FROM s_disagreements;
SELECT count(*), count(*) FILTER (WHERE a.advantage IS DISTINCT FROM h.advantage) AS off FROM s_advantages a JOIN s_td_history h USING (step_id) WHERE method = 'td_history';

-- One group reads the rows of its task's groups within reach, by the index: 4 groups of at most 20 steps, of 37.
CREATE FUNCTION rows_read(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (SELECT sum(((n ->> 'Actual Rows')::numeric + coalesce((n ->> 'Rows Removed by Filter')::numeric, 0)) * (n ->> 'Actual Loops')::numeric)
		FROM jsonb_path_query(plan, 'strict $.**') n WHERE jsonb_typeof(n) = 'object' AND n ? 'Relation Name');
END $$;
ANALYZE s;
SET enable_seqscan = off;
SELECT rows_read('SELECT advantage FROM s_td_history WHERE task = ''a'' AND policy = 9') AS rows_read,
	(SELECT 2 * count(*) + (SELECT count(*) FROM s WHERE task = 'a' AND policy = 9) FROM s WHERE task = 'a' AND policy BETWEEN 6 AND 8) AS expected;
RESET enable_seqscan;

-- Kept groups give the same after any change of any group, and older groups never change.
CREATE TABLE before AS SELECT step_id, policy, task, run, q, v FROM s_td_history;
SELECT count(*) FROM maintain('s');
SELECT * FROM compare('s_td_history', 3, 0.8, 0.95);
SELECT count(*), count(*) FILTER (WHERE a.q IS DISTINCT FROM b.q OR a.v IS DISTINCT FROM b.v) AS off FROM s_td_history a JOIN before b USING (step_id);
ANALYZE s_folded;
SET enable_seqscan = off;
SELECT rows_read('SELECT advantage FROM s_td_history WHERE task = ''a'' AND policy = 9') AS groups_read;
RESET enable_seqscan;
INSERT INTO s SELECT 100000 + id, task, 5, run, r + 50, no, state, action, reward FROM s WHERE task = 'a' AND policy = 2;
UPDATE s SET reward = 1 - reward WHERE task = 'b' AND policy = 7;
DELETE FROM s WHERE task = 'c' AND policy = 6 AND run = 'y';
DELETE FROM s WHERE task = 'c' AND policy = 9 AND r = 2;
SELECT * FROM compare('s_td_history', 3, 0.8, 0.95);
SELECT * FROM compare('s_batch_td', 2, 1, 0.99);
SELECT string_agg(DISTINCT concat_ws(' ', task, policy, run), ', ') AS changed FROM s_td_history a JOIN before b USING (step_id, task, policy, run) WHERE a.q IS DISTINCT FROM b.q OR a.v IS DISTINCT FROM b.v;
SELECT count(*) FROM s_compare c JOIN s_td_history h USING (step_id) WHERE c.td_history IS DISTINCT FROM h.advantage;
SELECT count(*) > 0 AS made_anew FROM pg_temp.anew() WHERE problem IS NULL;
SELECT unmaintain('s') IS NOT NULL AS given_up;
SELECT * FROM compare('s_td_history', 3, 0.8, 0.95);
SELECT detach('s') > 20 AS detached;

-- Groups known by a table of rollouts, by number; one has rollouts of a newer policy, which counts. Also by the rows themselves, the run by these and the rest by the table;
-- and with a dimension.
CREATE TABLE numbered AS SELECT *, (dense_rank() OVER (ORDER BY run, task, policy))::integer AS g, dense_rank() OVER (ORDER BY run, task, policy) * 100 + r AS rollout FROM s;
CREATE INDEX ON numbered (g);
CREATE TABLE rollouts AS SELECT DISTINCT g, rollout, task, CASE WHEN task = 'a' AND policy = 5 AND r % 2 = 0 THEN 4 ELSE policy END AS policy, run FROM numbered;
CREATE INDEX ON rollouts (g);
CREATE INDEX ON rollouts (task);
CREATE FUNCTION same_as_expected(view regclass, OUT n bigint, OUT off bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*), count(*) FILTER (WHERE e.step_id IS NULL OR a.step_id IS NULL OR a.n_state <> e.n_state OR abs(a.advantage - e.advantage) > 1e-9) FROM %s a FULL JOIN expected(3, 0.8, 0.99) e USING (step_id)', view) INTO n, off;
END $$;
SELECT count(*) > 10 AS made FROM attach('numbered', '{g}', 'rollout', 'no', 'state', 'action', 'reward', columns => '{"step_id": "id", "task_id": "task", "policy_step": "policy", "run_id": "run"}', views => '{all}', prefix => 'by_table', options => '{"show_rollouts": "rollouts", "show_columns": [], "batch_td": {"history": 3, "decay": 0.8}}');
SELECT * FROM same_as_expected('by_table_batch_td');
CREATE INDEX ON numbered (task, g);
SELECT count(*) > 10 AS made FROM attach('numbered', '{task,g}', 'rollout', 'no', 'state', 'action', 'reward', columns => '{"step_id": "id", "task_id": "task", "policy_step": "policy", "run_id": "run"}', views => '{all}', prefix => 'by_rows', options => '{"show_columns": [], "batch_td": {"history": 3, "decay": 0.8}}');
SELECT * FROM same_as_expected('by_rows_batch_td');
SELECT count(*) FROM maintain('numbered', prefix => 'by_rows');
SELECT * FROM same_as_expected('by_rows_batch_td');
CREATE TABLE less AS SELECT g, rollout, task, policy, r % 2 AS kind FROM rollouts JOIN (SELECT DISTINCT rollout, r FROM numbered) n USING (rollout);
CREATE INDEX ON less (g);
CREATE INDEX ON less (task);
-- Turns of one call each; a dimension for which no group has a single value, so it divides nothing.
SELECT count(*) > 10 AS made FROM attach('numbered', '{g}', 'rollout', 'no', 'state', 'action', 'reward', columns => '{"step_id": "id", "task_id": "task", "policy_step": "policy", "run_id": "run", "turn": "no", "dimensions": ["kind"]}', views => '{all}', prefix => 'by_both', options => '{"show_rollouts": "less", "show_columns": [], "batch_td": {"history": 3, "decay": 0.8}, "methods": {"by_turns": {"method": "batch_td", "history": 3, "decay": 0.8, "unit": "turn"}}}');
SELECT * FROM same_as_expected('by_both_batch_td');
SELECT * FROM same_as_expected('by_both_by_turns');
-- A dimension that divides the groups: by the parity of the policy, half of the history is left. (Group a 5 has both, and is in that of none.)
UPDATE less SET kind = policy % 2;
SELECT count(*), count(*) FILTER (WHERE a.n_state > own.n_state) > 100 AS has_history, count(*) FILTER (WHERE a.n_state <> e.n_state) AS off
FROM by_both_batch_td a JOIN expected(0, 1, 0.99) own USING (step_id) JOIN (
	SELECT a.id AS step_id, count(*) AS n_state FROM s a JOIN (SELECT DISTINCT task, policy, run, r FROM s WHERE reward IS NOT NULL) j USING (task, policy, run, r)
	JOIN (SELECT s.* FROM s JOIN (SELECT DISTINCT task, policy, run, r FROM s WHERE reward IS NOT NULL) j USING (task, policy, run, r)) b ON b.task = a.task AND b.run = a.run AND b.state = a.state AND b.policy IN (a.policy, a.policy - 2) WHERE NOT (a.task = 'a' AND a.policy IN (5, 7)) GROUP BY 1) e USING (step_id);
SELECT sum(detach('numbered', p)) > 50 AS detached FROM unnest('{by_table,by_rows,by_both}'::text[]) p;

-- Histories of states are computed from each group's rollouts before these are joined. A group without a task, or a policy step, has no history.
DELETE FROM numbered WHERE task = 'c';
SET client_min_messages = notice;
\set VERBOSITY default
SELECT count(*) > 10 AS made FROM attach('numbered', '{g}', 'rollout', 'no', NULL, 'action', 'reward', columns => '{"step_id": "id", "task_id": "task", "policy_step": "policy", "run_id": "run"}', views => '{all}', options => '{"show_columns": [], "states": "history", "batch_td": {"history": true}, "rtmc": {"history": false}}');
SET client_min_messages = warning;
SELECT count(*), count(*) FILTER (WHERE a.n_state <> e.n_state OR abs(a.q - e.q) > 1e-9) AS off FROM numbered_batch_td a JOIN (
	SELECT r.step_id, r.n_state, r.q FROM (
		SELECT g.g, rollout_agg(id, rollout, no, 0, signature_hash(action), reward) FILTER (WHERE s.policy = g.policy) AS own,
			rollout_agg(id, rollout, no, 0, signature_hash(action), reward) FILTER (WHERE s.policy < g.policy) AS h
		FROM (SELECT DISTINCT g, task, policy, run FROM numbered) g JOIN numbered s ON s.task = g.task AND s.run = g.run AND s.policy <= g.policy GROUP BY 1) x, batch_td(history_states(own), history => history_states(h)) r) e USING (step_id);
UPDATE numbered SET task = NULL WHERE task = 'a' AND policy IN (3, 8);
UPDATE numbered SET policy = NULL WHERE task = 'b' AND policy IN (3, 8);
SELECT count(*), count(*) FILTER (WHERE a.n_state > own.n_state) AS more FROM numbered_batch_td a JOIN (
	SELECT r.step_id, r.n_state FROM (SELECT g, rollout_agg(id, rollout, no, 0, signature_hash(action), reward) AS own FROM numbered WHERE task IS NULL OR policy IS NULL GROUP BY 1) x, rtmc(history_states(own), visit => 'every') r) own USING (step_id);
SELECT detach('numbered') > 10 AS detached;

-- Errors
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(*) FROM attach('s', '{task,policy,run}', 'r', 'no', 'state', 'action', 'reward', columns => '{"policy_step": "policy"}', views => '{all}', options => '{"batch_td": {"history": 3}}');
SELECT count(*) FROM attach('s', '{task,policy,run}', 'r', 'no', 'state', 'action', 'reward', columns => '{"task_id": "task"}', views => '{all}', options => '{"methods": {"x": {"method": "rtmc", "history": true}}}');
SELECT count(*) FROM attach('s', '{task,policy,run}', 'r', 'no', 'state', 'action', 'reward', columns => '{"task_id": "task", "policy_step": "policy"}', views => '{all}', options => '{"batch_td": {"history": 0}}');
\set VERBOSITY terse
SELECT count(*) FROM attach('s', '{task,policy,run}', 'r', 'no', 'state', 'action', 'reward', columns => '{"task_id": "task", "policy_step": "policy"}', views => '{all}', options => '{"batch_td": {"history": 1.5}}');
SELECT count(*) FROM attach('s', '{task,policy,run}', 'r', 'no', 'state', 'action', 'reward', columns => '{"task_id": "task", "policy_step": "policy"}', views => '{all}', options => '{"batch_td": {"history": "all"}}');
SELECT count(*) FROM attach('s', '{task,policy,run}', 'r', 'no', 'state', 'action', 'reward', columns => '{"task_id": "task", "policy_step": "policy"}', views => '{all}', options => '{"batch_td": {"history": 2, "decay": 0}}');
SELECT count(*) FROM attach('s', '{task,policy,run}', 'r', 'no', 'state', 'action', 'reward', columns => '{"task_id": "task", "policy_step": "policy"}', views => '{all}', options => '{"grpo": {"history": 2}}');
SELECT count(*) FROM attach('s', '{task,policy,run}', 'r', 'no', 'state', 'action', 'reward', columns => '{"task_id": "task", "policy_step": "policy"}', views => '{all}', options => '{"history": 2}');
-- Without an index each group's history is searched in all rows: this works, and a notice says what it costs.
SET client_min_messages = notice;
\set VERBOSITY default
DROP INDEX s_task_policy_run_idx;
SELECT count(*) > 10 AS made FROM attach('s', '{task,policy,run}', 'r', 'no', 'state', 'action', 'reward', columns => '{"task_id": "task", "policy_step": "policy", "run_id": "run", "step_id": "id"}', views => '{all}', options => '{"batch_td": {"history": 2}}');
SELECT * FROM compare('s_batch_td', 2, 1, 0.99);
SET client_min_messages = warning;
DROP SCHEMA history_views CASCADE;

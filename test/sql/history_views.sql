-- Methods with a history in attached views: the groups of the same task, run and dimensions up to so many
-- policy steps before, over rows and over what is kept.
CREATE SCHEMA history_views;
SET search_path = history_views, stepadv, public;
SET client_min_messages = warning;
SET jit = off;

-- Twelve policy steps of three tasks, four rollouts each, whose ids are the same in every group. One
-- task has two runs. States and actions so few that groups meet.
CREATE FUNCTION dice(key text, n integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT ('x' || substr(md5(key), 1, 7))::bit(28)::integer % n $$;
CREATE TABLE s (id integer PRIMARY KEY, task text, policy smallint, run text, r integer, no integer, state text, action text, reward float8);
INSERT INTO s
SELECT row_number() OVER (ORDER BY task, policy, run, r, no), task, policy, run, r, no, 's' || dice(concat_ws(' ', t, 's'), 5), 'a' || dice(concat_ws(' ', t, 'a'), 2),
	CASE WHEN no = len THEN dice(concat_ws(' ', task, policy, r, 'won'), 2) END
FROM (SELECT task, policy, run, r, no, 2 + (r + policy) % 5 AS len
	FROM unnest('{a,b,c}'::text[]) task, generate_series(1, 12) policy, unnest('{x,y}'::text[]) run, generate_series(1, 4) r, generate_series(1, 6) no
	WHERE (run = 'x' OR task = 'c') AND (task, policy) <> ('b', 4)) t(task, policy, run, r, no, len) WHERE no <= len;
CREATE INDEX ON s (task, policy, run);

SELECT view_name, shows FROM attach('s', '{task,policy,run}', 'r', 'no', 'state', 'action', 'reward', step_id => 'id', task_id => 'task', policy_step => 'policy', run_id => 'run',
	options => '{"methods": {"td_history": {"method": "batch_td", "history": 3, "decay": 0.8, "gamma": 0.95}, "rtmc_all": {"method": "rtmc", "history": true}}, "batch_td": {"history": 2}}')
WHERE view_name::text ~ '_(td_history|rtmc_all|batch_td|compare)$';

-- By hand: each group once more, its history put together of the rows, under other ids.
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
SELECT * FROM compare('s_batch_td', 2, 1, 0.9);
-- All that came before
SELECT count(*), count(*) FILTER (WHERE a.n_state <> e.n_state OR abs(a.advantage - e.advantage) > 1e-9) AS off
FROM s_rtmc_all a JOIN (
	SELECT r.step_id, r.n_state, r.advantage FROM (
		SELECT g.task, g.policy, g.run, rollout_agg(id, r, no, signature_hash(state), signature_hash(action), reward) FILTER (WHERE s.policy = g.policy) AS g,
			rollout_agg(id, 1000 * s.policy + r, no, signature_hash(state), signature_hash(action), reward) FILTER (WHERE s.policy < g.policy) AS h
		FROM (SELECT DISTINCT task, policy, run FROM s) g JOIN s ON s.task = g.task AND s.run = g.run AND s.policy <= g.policy GROUP BY 1, 2, 3) x, rtmc(g, history => h) r) e USING (step_id);
-- The same in _compare, beside others; over time only what is of a group alone
SELECT count(*), count(*) FILTER (WHERE c.td_history IS DISTINCT FROM h.advantage OR c.batch_td IS DISTINCT FROM b.advantage OR c.rtmc_all IS DISTINCT FROM r.advantage OR c.rtmc IS DISTINCT FROM m.advantage) AS off
FROM s_compare c JOIN s_td_history h USING (step_id) JOIN s_batch_td b USING (step_id) JOIN s_rtmc_all r USING (step_id) JOIN s_rtmc m USING (step_id);
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 's_progress_over_time'::regclass AND attname ~ 'td|rtmc';
SELECT method, count(*) FROM s_disagreements WHERE false GROUP BY 1;

-- select_steps, explain_selection, create_selection
SET jit = off;
\pset null '(null)'
\set SHOW_CONTEXT never

-- A relation worked by hand. Group A has a success, two failures and an unjudged rollout; B two successes; C one rollout; D two successes that earned 1 and 2. t is |advantage| / stderr.
CREATE TABLE cur (g text, rollout_id integer, step_no integer, step_id integer PRIMARY KEY, advantage float8, stderr float8, s text, a text, outcome float8);
INSERT INTO cur VALUES
	('A', 1, 0,  1,  0.75,   0.25,     's0', 'go',   1),		-- t 3
	('A', 1, 1,  2,  0.5,    0.5,      's1', 'go',   1),		-- t 1
	('A', 1, 2,  3,  0.0625, 0.015625, 's2', 'end',  1),		-- t 4
	('A', 1, 3, 17, -0.25,   0.0625,   's1', 'back', 1),		-- t 4
	('A', 2, 0,  4,  0.75,   0.25,     's0', 'go',   0),		-- t 3, does what 1 does
	('A', 2, 1,  5, -0.625,  0.125,    's1', 'stop', 0),		-- t 5
	('A', 2, 2,  6, -0.25,   NULL,     NULL, 'wait', 0),		-- no t, a state like no other
	('A', 3, 0,  7, -0.375,  0,        's0', 'stop', 0),		-- t infinite
	('A', 3, 1,  8, -0.375,  0.125,    's1', NULL,   0),		-- t 3, an action like no other
	('A', 3, 2,  9,  0,      0,        's3', 'end',  0),		-- no t
	('A', 4, 0, 10,  NULL,   NULL,     's0', 'go',   NULL),	-- not judged
	('B', 1, 0, 11,  0.25,   0.125,    's0', 'go',   1),		-- t 2
	('B', 2, 0, 12, -0.25,   0.125,    's0', 'stop', 1),		-- t 2
	('C', 1, 0, 13, -0.5,    0.25,     's0', 'go',   0),		-- t 2
	('D', 1, 0, 14,  0.875,  0.4375,   's0', 'go',   1),		-- t 2
	('D', 2, 0, 15, -0.875,  0.4375,   's0', 'stop', 2),		-- t 2
	('D', 2, 1, 16, -0.125,  0.125,    's0', 'stop', 2);		-- t 1, does what 15 does

-- Each rule alone.  Every judged step but 10:
SELECT array_agg(step_id::integer ORDER BY step_id::integer) FROM stepadv.select_steps('cur', group_by => '{g}');
-- dapo: not B.  verl_agent: nor the lone rollout of C.  rtmc: nor D, all successes.
SELECT r AS informative, array_agg(step_id::integer ORDER BY step_id::integer)
FROM unnest('{dapo,verl_agent,rtmc}'::text[]) r, stepadv.select_steps('cur', r, group_by => '{g}', outcome => 'outcome') GROUP BY r ORDER BY r;
-- At least 0.5: 1, 2, 4, 5, 13, 14, 15.
SELECT array_agg(step_id::integer ORDER BY step_id::integer) FROM stepadv.select_steps('cur', min_advantage => 0.5, group_by => '{g}');
-- t at least 3: 1, 3, 4, 5, 7, 8, 17; at least 0: all that have a t, so not 6 and 9.
SELECT t AS min_t, array_agg(step_id::integer ORDER BY step_id::integer)
FROM unnest('{0,3}'::float8[]) t, stepadv.select_steps('cur', min_t => t, group_by => '{g}') GROUP BY t ORDER BY t;
-- 4 does what 1 does, no better, in a later rollout; 16 what 15 does, with less.  6 and 8 are like no other.
SELECT array_agg(step_id::integer ORDER BY step_id::integer) FROM stepadv.select_steps('cur', deduplicate => true, group_by => '{g}', state => 's', action => 'a');
-- One for each state: A s0: 1 (before 4, as large), s1: 5, s2: 3, s3: 9, and 6; B: 11 before 12; C: 13; D: 14 before 15.
SELECT array_agg(step_id::integer ORDER BY step_id::integer) FROM stepadv.select_steps('cur', per_state => 1, group_by => '{g}', state => 's');
-- One for each rollout: 1, 4, 7 (before 8, as large), 11, 12, 13, 14, 15.
SELECT array_agg(step_id::integer ORDER BY step_id::integer) FROM stepadv.select_steps('cur', per_rollout => 1, group_by => '{g}');
-- Three for each group: 1, 4, 5; 11, 12; 13; 14, 15, 16.  As many as can be: all.
SELECT k AS per_group, array_agg(step_id::integer ORDER BY step_id::integer)
FROM unnest('{3,2147483647}'::integer[]) k, stepadv.select_steps('cur', per_group => k, group_by => '{g}') GROUP BY k ORDER BY k;
-- By group: A has 1, 2, 3, 4 above zero, and of 5, 7, 8 and the two of -0.25 that of the earlier rollout, 17; B 11 and 12; C nothing; D 14 and the larger, 15.
-- Of all: above zero 1, 2, 3, 4, 11, 14; below the six 15, 5, 13, 7, 8 and of the three of -0.25 that of the first group and rollout, 17.
SELECT b AS balance, array_agg(step_id::integer ORDER BY step_id::integer)
FROM unnest('{group,all}'::text[]) b, stepadv.select_steps('cur', balance => b, group_by => '{g}') GROUP BY b ORDER BY b;
-- With balanced groups half of the four are positive: 1, 4 and 5, 7; 11 and 12; 14 and 15.
SELECT array_agg(step_id::integer ORDER BY step_id::integer) FROM stepadv.select_steps('cur', per_group => 4, balance => 'group', group_by => '{g}');

-- All rules in sequence, and what each removes: 10 | 11, 12 | 3, 9 | 2, 6, 16 | 4 | 17 (after 5 and 8 in s1) | 8 | 7 (after 1 and 5) | 13 (1 and 14 against 15 and 5).
SELECT * FROM stepadv.explain_selection('cur', 'dapo', 0.1, 1.5, NULL, true, 2, 1, 2, 'all', '{g}', outcome => 'outcome', state => 's', action => 'a');
SELECT * FROM stepadv.select_steps('cur', 'dapo', 0.1, 1.5, NULL, true, 2, 1, 2, 'all', '{g}', outcome => 'outcome', state => 's', action => 'a') ORDER BY step_id::integer;
-- The order matters: if the limit per rollout came before the rest, 4 would represent its rollout and 5 be removed.
SELECT array_agg(step_id::integer ORDER BY step_id::integer) FROM stepadv.select_steps('cur', 'dapo', per_rollout => 1, per_group => 2, group_by => '{g}', outcome => 'outcome');
-- The other reasons.
SELECT step_id, reason FROM stepadv.select_steps('cur', 'rtmc', min_t => 0, deduplicate => true, per_state => 9, group_by => '{g}', outcome => 'outcome', state => 's', action => 'a')
WHERE step_id IN ('7', '8', '17') ORDER BY step_id::integer;
SELECT step_id, reason FROM stepadv.select_steps('cur', min_advantage => 0, per_state => 1, per_group => 4, balance => 'group', group_by => '{g}', state => 's')
ORDER BY step_id::integer;
-- Nothing is left, nothing was there.
SELECT * FROM stepadv.explain_selection('cur', min_advantage => 100, per_group => 1, group_by => '{g}');
SELECT count(*) FROM stepadv.select_steps('cur', min_advantage => 100, per_group => 1, balance => 'all', group_by => '{g}');
CREATE VIEW cur_none AS SELECT * FROM cur WHERE false;
SELECT count(*) FROM stepadv.select_steps('cur_none', 'dapo', 0, 0, NULL, true, 1, 1, 2, 'group', '{g}', outcome => 'outcome', state => 's', action => 'a');
SELECT * FROM stepadv.explain_selection('cur_none', 'dapo', balance => 'all', group_by => '{g}', outcome => 'outcome');
-- Every group uniform.
CREATE VIEW cur_uniform AS SELECT * FROM cur WHERE g = 'B';
SELECT * FROM stepadv.explain_selection('cur_uniform', 'rtmc', per_group => 2, group_by => '{g}', outcome => 'outcome');
-- Unknown outcomes make no group mixed.
CREATE VIEW cur_unknown AS SELECT g, rollout_id, step_no, step_id, advantage, CASE WHEN g IN ('A', 'D') THEN outcome END AS outcome FROM cur;
SELECT r AS informative, array_agg(DISTINCT group_key ->> 'g') AS groups
FROM unnest('{dapo,verl_agent,rtmc}'::text[]) r, stepadv.select_steps('cur_unknown', r, group_by => '{g}', outcome => 'outcome') GROUP BY r ORDER BY r;
-- Another column of advantages; a group of several columns, one of them NULL.
SELECT array_agg(step_id::integer ORDER BY step_id::integer) FROM stepadv.select_steps('cur', min_advantage => 0.25, advantage_column => 'stderr', group_by => '{g}');
CREATE VIEW cur_two AS SELECT nullif(g, 'D') AS g, rollout_id % 2 AS odd, rollout_id, step_no, step_id, advantage FROM cur;
SELECT group_key, step_id, reason FROM stepadv.select_steps('cur_two', per_group => 1, group_by => '{g,odd}') ORDER BY step_id::integer;

-- Views of attach know groups, states, actions and outcomes. M: mixed, one unjudged; U: two successes; S: one rollout; E: returns 1 and 2; W: a success, a failure without steps; N: unjudged.
CREATE TABLE cur_steps (task text, traj text, n integer, obs text, act text, rew float8);
INSERT INTO cur_steps VALUES
	('M', 'a', 0, 'x', 'go', 0), ('M', 'a', 1, 'y', 'go', 1), ('M', 'b', 0, 'x', 'go', 0), ('M', 'b', 1, 'y', 'stop', 0),
	('M', 'c', 0, 'x', 'stop', 0), ('M', 'd', 0, 'x', 'go', NULL), ('M', 'd', 1, 'y', 'go', NULL),
	('U', 'a', 0, 'x', 'go', 1), ('U', 'b', 0, 'x', 'stop', 1), ('S', 'a', 0, 'x', 'go', 1),
	('E', 'a', 0, 'x', 'go', 1), ('E', 'b', 0, 'x', 'stop', 2),
	('W', 'a', 0, 'x', 'go', 1), ('W', 'b', NULL, NULL, NULL, 0), ('N', 'a', 0, 'x', 'go', NULL);
SELECT count(*) > 5 AS attached FROM stepadv.attach('cur_steps', '{task}', 'traj', 'n', 'obs', 'act', 'rew', views => '{all}', options => '{"rtmc": {"prior": 0, "gamma": 1}}');
SELECT r AS informative, array_agg(DISTINCT group_key ->> 'task' ORDER BY group_key ->> 'task') AS groups, count(*) AS steps
FROM unnest('{dapo,verl_agent,rtmc}'::text[]) r, stepadv.select_steps('cur_steps_rtmc', r) GROUP BY r ORDER BY r;
SELECT rule, setting, n_before, n_removed, n_kept, n_rollouts, n_groups FROM stepadv.explain_selection('cur_steps_grpo', 'verl_agent');
-- M by RTMC: x: go 1/2 of two visits, stop 0, v = 1/3 over the visits: 1/6 and -1/3; y: go 1, stop 0, v = 1/2: ±1/2.
-- (x, go) was done twice: once is enough.  Best of each state: x: that of rollout c.
SELECT rollout_id, step_no, advantage, reason FROM stepadv.select_steps('cur_steps_rtmc', 'rtmc', deduplicate => true) WHERE group_key = '{"task": "M"}' ORDER BY 1, 2;
SELECT rollout_id, step_no, advantage, reason FROM stepadv.select_steps('cur_steps_rtmc', 'rtmc', per_state => 1) WHERE group_key = '{"task": "M"}' ORDER BY 1, 2;
-- stderr is NULL where there was one visit, so only (x, go) of a and b is left: returns 1 and 0, stderr 1/2, t = 1/3.
SELECT rollout_id, step_no, reason FROM stepadv.select_steps('cur_steps_rtmc', min_t => 0.25, stderr => 'stderr') WHERE group_key = '{"task": "M"}' ORDER BY 1, 2;
-- By default the error is q_error, which one visit has too: the columns of the view divided by one another.
SELECT s.rollout_id, s.step_no, s.reason, s.reason = format('t = %s >= 0.25', round((abs(v.advantage) / v.q_error)::numeric, 2)) AS as_in_view
FROM stepadv.select_steps('cur_steps_rtmc', min_t => 0.25) s JOIN cur_steps_rtmc v ON v.task = s.group_key ->> 'task' AND v.rollout_id = s.rollout_id AND v.step_no = s.step_no
WHERE v.task = 'M' ORDER BY 1, 2;
SELECT count(*) = (SELECT count(*) FROM cur_steps_rtmc WHERE abs(advantage) >= 0.4 * q_error) AS as_in_view, count(*) > 1 AS several FROM stepadv.select_steps('cur_steps_rtmc', min_t => 0.4);
-- Confidence of the sign: 0.5 where the advantage is 0; such steps stay unless more is required.
SELECT s.rollout_id, s.step_no, s.advantage, s.reason, v.confidence >= 0.8 AS sure
FROM stepadv.select_steps('cur_steps_rtmc', min_confidence => 0.8, min_visits => 2) s JOIN cur_steps_rtmc v ON v.task = s.group_key ->> 'task' AND v.rollout_id = s.rollout_id AND v.step_no = s.step_no
WHERE v.task = 'M' ORDER BY 1, 2;
SELECT p, count(s) = (SELECT count(*) FROM cur_steps_rtmc WHERE confidence >= p) AS as_in_view, count(s) FILTER (WHERE advantage = 0) > 0 AS zeros
FROM unnest('{0,0.5,0.51,0.9,1}'::float8[]) p LEFT JOIN LATERAL stepadv.select_steps('cur_steps_rtmc', min_confidence => p) s ON true GROUP BY p ORDER BY p;
SELECT * FROM stepadv.explain_selection('cur_steps_rtmc', min_advantage => 0.2, min_confidence => 0.8, min_visits => 2, per_state => 1);
SELECT stepadv.create_selection('cur_steps_rtmc', 'cur_sure', min_confidence => 0.8);
SELECT count(*) > 0 AS some, count(*) FILTER (WHERE confidence < 0.8) AS unsure FROM cur_sure;
SELECT obj_description('cur_sure'::regclass);
-- A table of one's own, with any numeric type; NULL: unknown, so the step is removed.
CREATE TABLE cur_own_sure AS SELECT g, rollout_id, step_no, step_id, advantage, CASE WHEN step_id % 3 > 0 THEN step_id % 3 / 3.0 END AS confidence FROM cur;
SELECT count(*) = (SELECT count(*) FROM cur_own_sure WHERE confidence >= 0.5 AND advantage IS NOT NULL) AS same FROM stepadv.select_steps('cur_own_sure', min_confidence => 0.5, group_by => '{g}');
SELECT * FROM stepadv.select_steps('cur_steps_grpo', min_confidence => 0.9);
SELECT * FROM stepadv.select_steps('cur_steps_rtmc', min_confidence => 1.5);
SELECT * FROM stepadv.select_steps('cur_steps_rtmc', min_confidence => 'NaN');
-- Two judged visits to y, three to x, one to each state elsewhere but in U and E.
SELECT group_key ->> 'task' AS task, rollout_id, step_no, reason FROM stepadv.select_steps('cur_steps_rtmc', min_visits => 2) ORDER BY 1, 2, 3;
SELECT count(*) FROM stepadv.select_steps('cur_steps_rtmc', min_visits => 3);
SELECT * FROM stepadv.select_steps('cur_steps_grpo', min_visits => 2);
SELECT * FROM stepadv.select_steps('cur_steps_rtmc', min_visits => 0);
-- A user's column whose name the estimator took is found by the column that feeds it: also beside one with its name.
CREATE TABLE cur_clash AS SELECT task, traj, n, obs AS v, act AS q, rew FROM cur_steps;
SELECT count(*) > 5 AS attached FROM stepadv.attach('cur_clash', '{task}', 'traj', 'n', 'v', 'q', 'rew', views => '{all}', options => '{"rtmc": {"prior": 0, "gamma": 1}}');
SELECT rollout_id, step_no FROM stepadv.select_steps('cur_clash_rtmc', 'rtmc', deduplicate => true) WHERE group_key = '{"task": "M"}' ORDER BY 1, 2;
ALTER TABLE cur_clash ADD base_v text;
SELECT stepadv.detach('cur_clash') > 5 AS detached, (SELECT count(*) > 5 FROM stepadv.attach('cur_clash', '{task}', 'traj', 'n', 'v', 'q', 'rew', views => '{all}', prefix => 'cur_clash2')) AS attached;
SELECT count(*) AS chosen, count(*) = (SELECT count(*) FROM stepadv.select_steps('cur_clash2_rtmc', per_state => 1, state => 'base_v') x JOIN stepadv.select_steps('cur_clash2_rtmc', per_state => 1) y USING (group_key, rollout_id, step_no)) AS by_the_state
FROM stepadv.select_steps('cur_clash2_rtmc', per_state => 1);
-- States derived by attach are not a column of the source.
SELECT count(*) > 5 AS attached FROM stepadv.attach('cur_steps', '{task}', 'traj', 'n', 'obs', 'act', 'rew', views => '{all}', prefix => 'cur_history', options => '{"states": "history"}');
SELECT * FROM stepadv.select_steps('cur_history_rtmc', deduplicate => true);
SELECT count(*) FROM stepadv.select_steps('cur_history_rtmc', deduplicate => true, state => 'obs');
-- Without the view of the groups, outcomes must be given.
DROP VIEW cur_history_groups;
SELECT * FROM stepadv.select_steps('cur_history_rtmc', 'dapo');

-- A selection is an ordinary view, with the columns of the other and why.
SELECT stepadv.create_selection('cur_steps_rtmc', 'cur_chosen', 'rtmc', 0.2, per_rollout => 1);
-- (erfc's last digit is the C library's)
SET extra_float_digits = -2;
SELECT * FROM cur_chosen ORDER BY task, rollout_id;
RESET extra_float_digits;
SELECT obj_description('cur_chosen'::regclass);
SELECT attname, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'cur_chosen'::regclass AND attnum > 0 ORDER BY attnum;
SELECT reloptions @> '{security_invoker=true}' OR current_setting('server_version_num')::integer < 150000 AS runs_as_the_reader
FROM pg_class WHERE oid = 'cur_chosen'::regclass;
-- It can be selected from again; its groups, states and actions are known.
SELECT stepadv.create_selection('cur_chosen', 'cur chosen again', per_state => 1, balance => 'group', schema => 'public');
SELECT task, rollout_id, step_no, advantage, reason, reason_too FROM "cur chosen again" ORDER BY task, rollout_id;
SELECT obj_description('"cur chosen again"'::regclass);
SELECT stepadv.create_selection('cur', 'cur_chosen_own', per_state => 1, group_by => '{g}', state => 's');
SELECT array_agg(step_id::integer ORDER BY step_id::integer) FROM stepadv.select_steps('cur_chosen_own', per_state => 1);
-- Random data: the same in plain SQL that counts, for each step, the steps before it.
\i test/sim/simulator.sql
SELECT sim.steps_table('public.cur_sim', 24, 6) > 1500 AS many;
ALTER TABLE cur_sim ADD PRIMARY KEY (step_id);
CREATE INDEX ON cur_sim (group_id);
UPDATE cur_sim SET reward = NULL, success = NULL WHERE rollout_id % 17 = 0;
UPDATE cur_sim SET state = NULL WHERE step_id % 11 = 0;
ANALYZE cur_sim;
SELECT count(*) > 5 AS attached FROM stepadv.attach('cur_sim', '{group_id}', 'rollout_id', 'step_no', 'state', 'action', 'reward', columns => '{"success": "success", "step_id": "step_id"}', views => '{all}');
CREATE TEMP TABLE want AS
WITH judged AS (SELECT * FROM cur_sim_rtmc WHERE advantage IS NOT NULL),
mixed AS (
	SELECT j.* FROM judged j JOIN (
		SELECT r.group_id FROM cur_sim_rollouts r WHERE r.judged GROUP BY r.group_id HAVING min(r.return) < max(r.return) OR count(*) = 1) m USING (group_id)),
large AS (SELECT * FROM mixed WHERE abs(advantage) >= 0.02),
sure AS (SELECT * FROM large WHERE abs(advantage) / q_error >= 0.25),
distinct_ones AS (
	SELECT * FROM sure x WHERE NOT EXISTS (SELECT FROM sure y
		WHERE y.group_id = x.group_id AND y.state = x.state AND y.action = x.action
			AND (-abs(y.advantage), y.rollout_id, y.step_no) < (-abs(x.advantage), x.rollout_id, x.step_no))),
of_states AS (
	SELECT * FROM distinct_ones x WHERE (SELECT count(*) FROM distinct_ones y
		WHERE y.group_id = x.group_id AND y.state = x.state
			AND (-abs(y.advantage), y.rollout_id, y.step_no) < (-abs(x.advantage), x.rollout_id, x.step_no)) < 2),
of_rollouts AS (
	SELECT * FROM of_states x WHERE (SELECT count(*) FROM of_states y
		WHERE y.group_id = x.group_id AND y.rollout_id = x.rollout_id
			AND (-abs(y.advantage), y.step_no) < (-abs(x.advantage), x.step_no)) < 5),
of_groups AS (
	SELECT * FROM of_rollouts x WHERE (SELECT count(*) FROM of_rollouts y
		WHERE y.group_id = x.group_id AND sign(y.advantage) = sign(x.advantage)
			AND (-abs(y.advantage), y.rollout_id, y.step_no) < (-abs(x.advantage), x.rollout_id, x.step_no)) < 4),
balanced AS (
	SELECT * FROM of_groups x WHERE advantage <> 0 AND (SELECT count(*) FROM of_groups y
		WHERE y.group_id = x.group_id AND sign(y.advantage) = sign(x.advantage)
			AND (-abs(y.advantage), y.rollout_id, y.step_no) < (-abs(x.advantage), x.rollout_id, x.step_no))
		< (SELECT least(count(*) FILTER (WHERE advantage > 0), count(*) FILTER (WHERE advantage < 0)) FROM of_groups y WHERE y.group_id = x.group_id))
SELECT r.i AS rule_no, r.steps AS kept, (SELECT array_agg(step_id ORDER BY step_id) FROM balanced) AS chosen
FROM (VALUES (0, (SELECT count(*) FROM cur_sim_rtmc)), (1, (SELECT count(*) FROM judged)), (2, (SELECT count(*) FROM mixed)), (3, (SELECT count(*) FROM large)),
	(4, (SELECT count(*) FROM sure)), (5, (SELECT count(*) FROM distinct_ones)), (6, (SELECT count(*) FROM of_states)), (7, (SELECT count(*) FROM of_rollouts)),
	(8, (SELECT count(*) FROM of_groups)), (9, (SELECT count(*) FROM balanced))) r(i, steps);
SELECT count(*) AS rules, bool_and(e.n_kept = w.kept) AS counts_agree, bool_and(e.n_removed = e.n_before - e.n_kept) AS removed_agrees,
	bool_and(rule_no = 0 OR e.n_removed > 0) AS every_rule_works, sum(e.n_removed) + min(e.n_kept) = max(e.n_before) AS sum_is_all
FROM stepadv.explain_selection('cur_sim_rtmc', 'dapo', 0.02, 0.25, NULL, true, 2, 5, 8, 'group') e JOIN want w USING (rule_no);
SELECT array_agg(s.step_id::bigint ORDER BY s.step_id::bigint) = max(w.chosen) AS steps_agree, count(*) > 40 AS many
FROM stepadv.select_steps('cur_sim_rtmc', 'dapo', 0.02, 0.25, NULL, true, 2, 5, 8, 'group') s, want w WHERE w.rule_no = 9;
-- What is balanced is balanced, overall and by group.
SELECT bool_and(positive = negative) FROM (SELECT count(*) FILTER (WHERE advantage > 0) AS positive, count(*) FILTER (WHERE advantage < 0) AS negative
	FROM stepadv.select_steps('cur_sim_rtmc', per_group => 8, balance => 'group') GROUP BY group_key) x;
SELECT positive = negative AND negative > 500 AS balanced FROM (SELECT count(*) FILTER (WHERE advantage > 0) AS positive, count(*) FILTER (WHERE advantage < 0) AS negative
	FROM stepadv.select_steps('cur_sim_rtmc', balance => 'all')) x;
-- explain_selection counts what select_steps returns, for any rules.
SELECT count(*) AS selections, bool_and(e.n_kept = s.n) AS agree
FROM unnest('{NULL,rtmc}'::text[]) u, unnest('{NULL,0.1}'::float8[]) m, unnest('{false,true}'::boolean[]) d,
	unnest('{NULL,2}'::integer[]) k, unnest('{NULL,group,all}'::text[]) b,
	LATERAL (SELECT n_kept FROM stepadv.explain_selection('cur_sim_grpo', u, m, NULL, NULL, d, k, NULL, k, b, state => 'state', action => 'action') ORDER BY rule_no DESC LIMIT 1) e,
	LATERAL (SELECT count(*) AS n FROM stepadv.select_steps('cur_sim_grpo', u, m, NULL, NULL, d, k, NULL, k, b, state => 'state', action => 'action')) s;
-- With any plan.
CREATE FUNCTION pg_temp.chosen(settings jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	digest text;
BEGIN
	PERFORM set_config(s.key, s.value, true) FROM jsonb_each_text(settings) s;
	SELECT md5(string_agg(x::text, E'\n' ORDER BY x.step_id)) INTO digest
	FROM stepadv.select_steps('cur_sim_gigpo', 'rtmc', 0.02, NULL, NULL, true, 2, 5, 8, 'all') x;
	PERFORM set_config(s.key, r.reset_val, true) FROM jsonb_each_text(settings) s JOIN pg_settings r ON r.name = s.key;
	RETURN digest;
END
$$;
SELECT count(DISTINCT pg_temp.chosen(s)) AS digests, count(*) AS plans
FROM (VALUES ('{}'::jsonb), ('{"enable_hashagg": "off"}'), ('{"enable_hashjoin": "off"}'), ('{"enable_mergejoin": "off", "enable_nestloop": "off"}'),
	('{"enable_sort": "off", "enable_incremental_sort": "off"}'), ('{"work_mem": "64kB"}'), ('{"enable_mergejoin": "off", "enable_hashjoin": "off"}'),
	('{"max_parallel_workers_per_gather": "2", "parallel_setup_cost": "0", "parallel_tuple_cost": "0", "min_parallel_table_scan_size": "0"}')) v(s);
-- Nor the order of the rows.
CREATE TABLE cur_shuffled AS SELECT * FROM cur_sim_rtmc ORDER BY stepadv.signature_hash(int8send(step_id));
SELECT count(*) = 0 AS same FROM (
	(SELECT * FROM stepadv.select_steps('cur_shuffled', NULL, 0.02, 0.25, NULL, true, 2, 5, 8, 'all', '{group_id}', state => 'state', action => 'action')
	EXCEPT SELECT * FROM stepadv.select_steps('cur_sim_rtmc', NULL, 0.02, 0.25, NULL, true, 2, 5, 8, 'all'))
	UNION ALL
	(SELECT * FROM stepadv.select_steps('cur_sim_rtmc', NULL, 0.02, 0.25, NULL, true, 2, 5, 8, 'all')
	EXCEPT SELECT * FROM stepadv.select_steps('cur_shuffled', NULL, 0.02, 0.25, NULL, true, 2, 5, 8, 'all', '{group_id}', state => 'state', action => 'action'))) x;

-- A condition on the group is pushed down to the table, with any windows; not where all are balanced.
SELECT stepadv.create_selection('cur_sim_gigpo', 'cur_pushed', 'rtmc', 0, per_rollout => 3, per_group => 4, balance => 'group');
SELECT stepadv.create_selection('cur_sim_gigpo', 'cur_not_pushed', per_group => 4, balance => 'all');
SELECT stepadv.create_selection('cur_sim_gigpo', 'cur_once', min_advantage => 0.1, per_rollout => 3, per_group => 4, balance => 'group');
CREATE FUNCTION pg_temp.reads(query text, OUT scans bigint, OUT with_condition bigint) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	SET LOCAL enable_seqscan = off;
	EXECUTE 'EXPLAIN (FORMAT json, COSTS off) ' || query INTO plan;
	SELECT count(*), count(*) FILTER (WHERE n::text ~ '(Index|Recheck) Cond": "[^"]*group_id = ') INTO scans, with_condition
	FROM jsonb_path_query(plan, 'strict $.**{0 to last} ? (exists (@."Relation Name"))') n;
END
$$;
-- The table is read once, and once more where the view of the groups is asked.
SELECT * FROM pg_temp.reads('SELECT step_id, advantage FROM cur_once');
SELECT * FROM pg_temp.reads('SELECT step_id, advantage FROM cur_once WHERE group_id = ANY (ARRAY[1, 2, 3])');
SELECT * FROM pg_temp.reads('SELECT step_id, advantage FROM cur_pushed WHERE group_id = 7');
SELECT * FROM pg_temp.reads('SELECT step_id, advantage FROM cur_not_pushed WHERE group_id = 7');

-- Errors.
SELECT * FROM stepadv.select_steps(NULL);
SELECT * FROM stepadv.select_steps('no_such_view');
SELECT * FROM stepadv.select_steps(4294967295::oid::regclass);
SELECT * FROM stepadv.select_steps('cur_pkey');
SELECT * FROM stepadv.select_steps('cur');
SELECT * FROM stepadv.select_steps('cur', group_by => '{}');
SELECT * FROM stepadv.select_steps('cur', group_by => '{g,g}');
SELECT * FROM stepadv.select_steps('cur', group_by => '{NULL}');
SELECT * FROM stepadv.select_steps('cur', group_by => '{nix}');
SELECT * FROM stepadv.select_steps('cur_steps', group_by => '{task}');
SELECT * FROM stepadv.select_steps('cur_steps_returns');
SELECT * FROM stepadv.select_steps('cur_steps_groups');
SELECT * FROM stepadv.select_steps('cur', group_by => '{g}', advantage_column => NULL);
SELECT * FROM stepadv.select_steps('cur', group_by => '{g}', advantage_column => 's');
SELECT * FROM stepadv.select_steps('cur', group_by => '{g}', advantage_column => 'nix');
SELECT * FROM stepadv.select_steps('cur', 'DAPO', group_by => '{g}', outcome => 'outcome');
SELECT * FROM stepadv.select_steps('cur', '', group_by => '{g}');
SELECT * FROM stepadv.select_steps('cur', 'dapo', group_by => '{g}');
SELECT * FROM stepadv.select_steps('cur', 'dapo', group_by => '{g}', outcome => 's');
SELECT * FROM stepadv.select_steps('cur', 'dapo', group_by => '{g}', outcome => 'nix');
SELECT * FROM stepadv.select_steps('cur', 'dapo', group_by => '{g}', outcome => 'advantage');
SELECT * FROM stepadv.select_steps('cur', min_advantage => -1, group_by => '{g}');
SELECT * FROM stepadv.select_steps('cur', min_advantage => 'NaN', group_by => '{g}');
SELECT * FROM stepadv.select_steps('cur', min_t => 'Infinity', group_by => '{g}');
SELECT * FROM stepadv.select_steps('cur_steps_grpo', min_t => 1);
SELECT count(*) FROM stepadv.select_steps('cur', min_t => 1, stderr => NULL, group_by => '{g}');
SELECT * FROM stepadv.select_steps('cur', per_state => 1, group_by => '{g}');
SELECT * FROM stepadv.select_steps('cur', deduplicate => true, group_by => '{g}', state => 's');
SELECT * FROM stepadv.select_steps('cur', deduplicate => true, group_by => '{g}', state => 's', action => 'nix');
SELECT * FROM stepadv.select_steps('cur', per_state => 0, group_by => '{g}', state => 's');
SELECT * FROM stepadv.select_steps('cur', per_rollout => -1, group_by => '{g}');
SELECT * FROM stepadv.select_steps('cur', per_group => 0, group_by => '{g}');
SELECT * FROM stepadv.select_steps('cur', per_group => 3, balance => 'group', group_by => '{g}');
CREATE VIEW cur_bad AS SELECT g, rollout_id, step_no::numeric AS step_no, step_id, advantage FROM cur;
SELECT * FROM stepadv.select_steps('cur_bad', group_by => '{g}');
CREATE VIEW cur_nan AS SELECT g, rollout_id, step_no, step_id, CASE step_id WHEN 5 THEN 'NaN' ELSE advantage END AS advantage, CASE step_id WHEN 2 THEN -1 ELSE 1 END AS stderr FROM cur;
SELECT * FROM stepadv.select_steps('cur_nan', group_by => '{g}');
SELECT * FROM stepadv.select_steps('cur_nan', advantage_column => 'stderr', min_t => 1, group_by => '{g}');
CREATE TABLE cur_score AS SELECT *, 'NaN'::float8 AS score FROM cur_steps WHERE task = 'U';
SELECT count(*) > 5 AS attached FROM stepadv.attach('cur_score', '{task}', 'traj', 'n', reward => 'rew', views => '{all}');
SELECT * FROM stepadv.select_steps('cur_score_grpo', advantage_column => 'score');
CREATE VIEW cur_infinite AS SELECT g, rollout_id, step_no, step_id, 'Infinity'::numeric AS advantage FROM cur;
SELECT * FROM stepadv.select_steps('cur_infinite', group_by => '{g}');
-- The same errors without their context.
\set SHOW_CONTEXT errors
SELECT * FROM stepadv.select_steps('cur', balance => 'none', group_by => '{g}');
SELECT * FROM stepadv.explain_selection('cur_nan', per_group => 1, group_by => '{g}');
SELECT stepadv.create_selection('cur', 'x', group_by => '{g}', sign => 'both');
SELECT stepadv.create_selection('cur', NULL, group_by => '{g}');
SELECT stepadv.create_selection('cur', 'cur_steps', group_by => '{g}');
SELECT stepadv.create_selection('cur', 'x', group_by => '{g}', schema => 'no_such');
SELECT stepadv.create_selection('cur', repeat('x', 64), group_by => '{g}');
\set SHOW_CONTEXT never

-- Names that would break out of quoting.
CREATE SCHEMA "my schema; --";
CREATE TABLE "my schema; --"."Adv""; DROP TABLE cur; --" AS
SELECT g AS "g'; DROP TABLE cur; --", rollout_id, step_no, step_id, advantage AS "%s %1$s %%", stderr AS "std""err", s AS "s.%L", a AS "$$a$$", outcome AS "out %I" FROM cur;
SELECT count(*) AS selected FROM stepadv.select_steps('"my schema; --"."Adv""; DROP TABLE cur; --"', 'dapo', 0.1, 1.5, NULL, true, 2, 1, 2, 'all',
	ARRAY['g''; DROP TABLE cur; --'], '%s %1$s %%', 'std"err', 'out %I', 's.%L', '$$a$$');
SELECT n_removed FROM stepadv.explain_selection('"my schema; --"."Adv""; DROP TABLE cur; --"', 'dapo', 0.1, 1.5, NULL, true, 2, 1, 2, 'all',
	ARRAY['g''; DROP TABLE cur; --'], '%s %1$s %%', 'std"err', 'out %I', 's.%L', '$$a$$');
SELECT stepadv.create_selection('"my schema; --"."Adv""; DROP TABLE cur; --"', 'Sel''"; %s', 'dapo', 0.1, 1.5, NULL, true, 2, 1, 2, 'all',
	ARRAY['g''; DROP TABLE cur; --'], '%s %1$s %%', 'std"err', 'out %I', 's.%L', '$$a$$');
SELECT * FROM stepadv.select_steps('cur', 'dapo', group_by => '{g}', outcome => 'outcome) FROM cur; DROP TABLE cur; --');
SELECT * FROM stepadv.select_steps('cur', 'dapo''; DROP TABLE cur; --', group_by => '{g}');
SELECT * FROM stepadv.select_steps('cur', balance => 'all''; DROP TABLE cur; --', group_by => '{g}');
SELECT count(*) FROM cur;

-- A user without the privilege to read the view gets an error.
CREATE ROLE regress_curation;
SET ROLE regress_curation;
SELECT * FROM stepadv.select_steps('cur', group_by => '{g}');
SELECT * FROM stepadv.explain_selection('cur_steps_rtmc');
SELECT stepadv.create_selection('cur_steps_rtmc', 'mine', schema => 'pg_temp');
RESET ROLE;
GRANT SELECT (g, rollout_id, step_no, step_id, advantage) ON cur TO regress_curation;
SET ROLE regress_curation;
SELECT count(*) FROM stepadv.select_steps('cur', per_group => 1, group_by => '{g}');
SELECT * FROM stepadv.select_steps('cur', min_t => 1, group_by => '{g}');
RESET ROLE;
REVOKE ALL ON cur FROM regress_curation;
-- A view that another user claims was made with the advantages is not trusted.
CREATE SCHEMA cur_shared;
SELECT count(*) > 5 AS attached FROM stepadv.attach('cur_steps', '{task}', 'traj', 'n', 'obs', 'act', 'rew', views => '{all}', schema => 'cur_shared');
SELECT obj_description('cur_shared.cur_steps_groups'::regclass) AS said \gset
GRANT USAGE, CREATE ON SCHEMA cur_shared TO regress_curation;
SET ROLE regress_curation;
CREATE VIEW cur_shared.forged AS SELECT 'M'::text AS task, false AS uniform, 2 AS n_judged, 0.5::float8 AS success_rate;
COMMENT ON VIEW cur_shared.forged IS :'said';
RESET ROLE;
DROP VIEW cur_shared.cur_steps_groups;
SELECT * FROM stepadv.select_steps('cur_shared.cur_steps_rtmc', 'dapo');
DROP VIEW cur_shared.forged;
REVOKE ALL ON SCHEMA cur_shared FROM regress_curation;
DROP ROLE regress_curation;

-- max_staleness: policy steps behind the newest of the run. By hand: the newest of x is 8, of y 7; an unknown run is measured by the newest of all, 8; an unknown step is too old for any limit.
CREATE TABLE cur_rollouts (task text, traj text, run text, at integer, PRIMARY KEY (task, traj));
INSERT INTO cur_rollouts VALUES ('A', 'a', 'x', 8), ('A', 'b', 'x', 6), ('A', 'c', 'y', 7), ('A', 'd', 'y', 3), ('B', 'a', NULL, 7), ('B', 'b', 'x', NULL), ('B', 'c', 'y', 6), ('B', 'd', 'x', 5), ('C', 'a', 'x', 8), ('C', 'b', 'x', 7);
CREATE TABLE cur_moves (id integer PRIMARY KEY, task text, traj text, n integer, rew float8);
INSERT INTO cur_moves SELECT row_number() OVER (ORDER BY task, traj, n), task, traj, n, CASE WHEN traj <> 'c' OR task <> 'B' THEN ascii(traj) % 2 END FROM cur_rollouts, generate_series(1, 2) n;
SELECT count(*) > 5 AS attached FROM stepadv.attach('cur_moves', '{task}', 'traj', 'n', reward => 'rew', columns => '{"step_id": "id", "run_id": "run", "policy_step": "at"}', views => '{all}', options => '{"show_rollouts": "cur_rollouts", "show_columns": []}');
SELECT task, rollout_id, staleness FROM cur_moves_rloo WHERE step_no = 1 ORDER BY 1, 2;
SELECT k AS max_staleness, string_agg((group_key ->> 'task') || rollout_id, ' ' ORDER BY group_key ->> 'task', rollout_id) AS kept, array_agg(DISTINCT reason ORDER BY reason) AS why
FROM unnest('{0,1,2,5,NULL}'::integer[]) k, stepadv.select_steps('cur_moves_rloo', max_staleness => k) WHERE step_no = 1 GROUP BY k ORDER BY k;
-- This rule comes first: steps that are too old are removed before the other rules choose, and are counted once.
SELECT * FROM stepadv.explain_selection('cur_moves_rloo', max_staleness => 2, min_advantage => 0.1, per_group => 2);
SELECT group_key ->> 'task' AS task, rollout_id, step_no, reason FROM stepadv.select_steps('cur_moves_rloo', max_staleness => 2, min_advantage => 0.1, per_group => 2) ORDER BY 1, 2, 3;
-- The same of random data, by plain SQL over the tables.
CREATE TABLE cur_many_runs AS SELECT g, r, 'run ' || r % 3 AS run, (r * 7 + g) % 13 AS at FROM generate_series(1, 20) g, generate_series(1, 24) r;
CREATE TABLE cur_many AS SELECT g, r, 1 AS n, (r * g) % 5 AS rew FROM cur_many_runs;
SELECT count(*) > 5 AS attached FROM stepadv.attach('cur_many', '{g}', 'r', 'n', reward => 'rew', columns => '{"run_id": "run", "policy_step": "at"}', views => '{all}', options => '{"show_rollouts": "cur_many_runs"}');
SELECT k AS max_staleness, count(*) > 20 AS many, count(*) FILTER (WHERE x.chosen IS NULL OR x.wanted IS NULL) AS wrong
FROM generate_series(0, 9, 3) k CROSS JOIN LATERAL (
	SELECT s.g AS chosen, w.g AS wanted
	FROM (SELECT (group_key ->> 'g')::integer AS g, rollout_id::integer AS r FROM stepadv.select_steps('cur_many_grpo', max_staleness => k)) s
	FULL JOIN (SELECT c.g, c.r FROM cur_many_runs c JOIN (SELECT run, max(at) AS newest FROM cur_many_runs GROUP BY run) m USING (run) WHERE newest - at <= k) w ON (s.g, s.r) = (w.g, w.r)) x
GROUP BY k ORDER BY k;
-- A selection shows the staleness of its steps, recomputed when a newer step arrives; one can select by it again.
SELECT stepadv.create_selection('cur_moves_rloo', 'cur_fresh', max_staleness => 1);
SELECT obj_description('cur_fresh'::regclass);
SELECT task, rollout_id, staleness, reason FROM cur_fresh WHERE step_no = 1 ORDER BY 1, 2;
INSERT INTO cur_rollouts VALUES ('C', 'c', 'x', 9);
SELECT task, rollout_id, staleness, reason FROM cur_fresh WHERE step_no = 1 ORDER BY 1, 2;
SELECT string_agg(rollout_id, ' ') FROM stepadv.select_steps('cur_fresh', max_staleness => 0);
-- So can any relation with such a column.
CREATE VIEW cur_anyone AS SELECT g, rollout_id, step_no, step_id, advantage, step_id % 5 AS staleness, 'old' AS s FROM cur;
SELECT count(*) AS n, (SELECT count(*) FROM cur_anyone WHERE staleness <= 3 AND advantage IS NOT NULL) AS wanted FROM stepadv.select_steps('cur_anyone', max_staleness => 3, group_by => '{g}');
-- If there are two such columns, that of attach counts; it has another name where the table has a column of this name.
ALTER TABLE cur_moves ADD staleness integer DEFAULT 0;
SELECT count(*) > 5 AS attached FROM stepadv.attach('cur_moves', '{task}', 'traj', 'n', reward => 'rew', columns => '{"step_id": "id", "run_id": "run", "policy_step": "at"}', views => '{all}', prefix => 'cur_own', options => '{"show_rollouts": "cur_rollouts"}');
SELECT stepadv.create_selection('cur_own_rloo', 'cur_own_fresh', max_staleness => 1);
SELECT task, rollout_id, staleness, run_staleness FROM cur_own_fresh WHERE step_no = 1 ORDER BY 1, 2;
SELECT count(*) FROM stepadv.select_steps('cur_own_fresh', max_staleness => 0);
CREATE VIEW cur_no_number AS SELECT g, rollout_id, step_no, step_id, advantage, 'old' AS staleness FROM cur;
SELECT * FROM stepadv.select_steps('cur_no_number', max_staleness => 3, group_by => '{g}');
SELECT * FROM stepadv.select_steps('cur_moves_rloo', max_staleness => -1);
SELECT * FROM stepadv.select_steps('cur_steps_rtmc', max_staleness => 3);
SELECT * FROM stepadv.explain_selection('cur_steps_rtmc', max_staleness => 3);
SELECT stepadv.create_selection('cur_steps_rtmc', 'cur_never', max_staleness => 3);

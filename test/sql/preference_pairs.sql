-- preference_pairs; the rules success_only and min_action_visits. Expected values are worked out in the comments, or computed in plain SQL.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
\pset format unaligned
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('tr', partitions => 2, group_by => '{task_id}', views => '{all}');

-- ---------- a group by hand
-- In state "door": push (a, b, d; 1, 1 and 0: q = 2/3) and pull (c, e; 0: q = 0);
-- in "hall": a goes left and succeeds, b goes right and succeeds, d goes right and fails.
INSERT INTO tr.rollouts (task_id, rollout_id, outcome, success, metadata) VALUES
	('T', 'a', 1, true, '{"system_prompt": "Find the exit.", "ground_truth": "left", "tools": [{"type": "function", "function": {"name": "push"}}]}'),
	('T', 'b', 1, true, NULL), ('T', 'c', 0, false, NULL), ('T', 'd', 0, false, NULL), ('T', 'e', 0, NULL, NULL), ('U', 'f', NULL, NULL, NULL);
INSERT INTO tr.steps (step_id, task_id, rollout_id, step_no, turn, observation, action, tool, args, next_observation, metadata, prompt_token_ids, response_token_ids, response_mask, rollout_logprobs) VALUES
	(1, 'T', 'a', 0, 0, 'door', '{"name": "push", "arguments": {"how": "hard"}}', 'push', '{"how": "hard"}', 'it gives', '{"text": "I push."}', '{1,2}', '{5,6,7}', '{t,f,t}', '{-0.5,-1,-2}'),
	(2, 'T', 'a', 2, 1, 'hall', 'go left', NULL, NULL, NULL, NULL, '{1,2,5,6,7,8}', '{9}', NULL, NULL),
	(3, 'T', 'b', 0, 0, 'door', '{"name": "push", "arguments": {"how": "hard"}}', 'push', '{"how": "hard"}', NULL, NULL, NULL, NULL, NULL, NULL),
	(4, 'T', 'b', 1, 1, 'hall', 'go right', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(5, 'T', 'c', 0, 0, 'door', 'pull', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(6, 'T', 'd', 0, 0, 'door', '{"name": "push", "arguments": {"how": "hard"}}', 'push', '{"how": "hard"}', 'it gives', NULL, NULL, NULL, NULL, NULL),
	(7, 'T', 'd', 1, 1, E'it gives\nhall', 'go right', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(8, 'T', 'e', 0, NULL, 'door', 'pull', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(9, 'U', 'f', 0, NULL, 'door', 'pull', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

-- ---------- the rules
SELECT rollout_id, step_no, reason FROM stepadv.select_steps('tr.steps_rtmc', success_only => true) ORDER BY 1, 2;
SELECT rollout_id, step_no, reason FROM stepadv.select_steps('tr.steps_rtmc', min_action_visits => 2, success_only => true) ORDER BY 1, 2;
SELECT count(*) = (SELECT count(*) FROM tr.steps_rtmc WHERE n_action >= 2 AND advantage IS NOT NULL) AS as_in_view, count(*) FROM stepadv.select_steps('tr.steps_rtmc', min_action_visits => 2);
SELECT count(*) FROM stepadv.select_steps('tr.steps_rtmc', success_only => true, outcome => 'outcome');
SELECT rule_no, rule, setting, n_kept FROM stepadv.explain_selection('tr.steps_rtmc', 'rtmc', success_only => true, min_action_visits => 2);
SELECT stepadv.create_selection('tr.steps_rtmc', 'picked', success_only => true, min_action_visits => 2);
SELECT obj_description('tr.picked'::regclass);
SELECT stepadv.select_steps('tr.steps_rtmc', min_action_visits => 0);
SELECT stepadv.select_steps('tr.steps_grpo', min_action_visits => 1);
CREATE VIEW tr.plain AS SELECT task_id, rollout_id, step_no, step_id, advantage FROM tr.steps_rtmc;
SELECT stepadv.select_steps('tr.plain', success_only => true, group_by => '{task_id}');

-- By sign: what the view says, before the rules that choose among the steps left.
SELECT n.sign, count(*), count(*) = (SELECT count(*) FROM tr.steps_rtmc v WHERE CASE n.sign WHEN 'positive' THEN v.advantage > 0
	WHEN 'negative' THEN v.advantage < 0 ELSE v.advantage IS NOT NULL END) AS as_in_view, min(s.reason) AS reason
FROM unnest('{positive,negative,any}'::text[]) n(sign), stepadv.select_steps('tr.steps_rtmc', sign => n.sign) s GROUP BY n.sign ORDER BY n.sign;
SELECT rule, setting, n_before, n_removed, n_kept, n_positive, n_negative FROM stepadv.explain_selection('tr.steps_rtmc', sign => 'negative', per_rollout => 1);
SELECT stepadv.create_selection('tr.steps_rtmc', 'worse', sign => 'negative', per_group => 2);
SELECT obj_description('tr.worse'::regclass), (SELECT max(advantage) < 0 FROM tr.worse) AS negative;
SELECT stepadv.select_steps('tr.steps_rtmc', sign => 'plus');
SELECT stepadv.select_steps('tr.steps_rtmc', sign => NULL);
SELECT stepadv.select_steps('tr.steps_rtmc', sign => 'positive', balance => 'group');

-- ---------- preference_pairs, against plain SQL
-- 30 groups of 2 to 12 rollouts of 4 steps, few states and actions, graded rewards.
CREATE TEMP TABLE random_steps AS
SELECT row_number() OVER () AS step_id, g, r AS rollout_id, n AS step_no, (g * 7 + r * n * 3) % 4 AS state, (g * 5 + r * 11 + n * n * 7) % 3 AS action,
	CASE WHEN n = 3 THEN ((g * 13 + r * 29) % 7) / 6.0 END::float8 AS reward
FROM generate_series(1, 30) g, generate_series(1, 12) r, generate_series(0, 3) n WHERE r <= 2 + g % 11;
CREATE TEMP TABLE random_groups AS SELECT g, stepadv.rollout_agg(step_id, rollout_id::bigint, step_no, state::bigint, action::bigint, reward) AS rollouts FROM random_steps GROUP BY g;
CREATE FUNCTION pg_temp.wrong(method text, min_gap float8, min_visits integer) RETURNS TABLE (method_of text, n bigint, differ bigint) LANGUAGE sql AS $$
	WITH estimates AS (
		SELECT x.g, e.step_id, e.q, e.q_error FROM random_groups x, stepadv.rtmc(x.rollouts, gamma => 1) e WHERE method = 'rtmc'
		UNION ALL SELECT x.g, e.step_id, e.q, e.q_error FROM random_groups x, stepadv.batch_td(x.rollouts, gamma => 1, prior => 0) e WHERE method = 'batch_td'
	), actions AS (
		SELECT s.g, s.state, s.action, min(e.q) AS q, min(e.q_error) AS q_error, count(DISTINCT s.rollout_id) AS visits, (array_agg(s.step_id ORDER BY s.rollout_id, s.step_no))[1] AS step_id
		FROM random_steps s JOIN estimates e USING (g, step_id) GROUP BY 1, 2, 3 HAVING count(DISTINCT s.rollout_id) >= min_visits
	), expected AS (
		SELECT b.g, b.state::bigint, b.q, w.q AS worst_q, b.visits, w.visits AS worst_visits, sqrt(b.q_error ^ 2 + w.q_error ^ 2) AS gap_error, (SELECT count(*) FROM actions a WHERE (a.g, a.state) = (b.g, b.state)) AS actions
		FROM actions b JOIN actions w USING (g, state)
		WHERE b.q = (SELECT max(a.q) FROM actions a WHERE (a.g, a.state) = (b.g, b.state)) AND w.q = (SELECT min(a.q) FROM actions a WHERE (a.g, a.state) = (b.g, b.state))
			AND b.q > w.q AND b.q - w.q >= min_gap
	), given AS (
		SELECT x.g, p.* FROM random_groups x, stepadv.preference_pairs(x.rollouts, min_gap, min_visits, method => method) p
	)
	-- Equally good actions: any of them is the best.
	SELECT method, (SELECT count(*) FROM given), (SELECT count(*) FROM (SELECT DISTINCT g, state FROM expected) e FULL JOIN given p USING (g, state)
		WHERE p.gap IS NULL OR NOT EXISTS (SELECT FROM expected x WHERE (x.g, x.state) = (p.g, p.state) AND abs(x.q - p.chosen_q) < 1e-12 AND abs(x.worst_q - p.rejected_q) < 1e-12
			AND x.visits = p.n_chosen_visits AND x.worst_visits = p.n_rejected_visits AND abs(x.gap_error - p.gap_error) < 1e-12 AND x.actions = p.n_actions
			AND p.gap = p.chosen_q - p.rejected_q
			AND p.chosen_step_id = (SELECT a.step_id FROM actions a JOIN random_steps c ON c.step_id = p.chosen_step_id AND (a.g, a.state, a.action) = (c.g, c.state, c.action))
			AND p.rejected_step_id = (SELECT a.step_id FROM actions a JOIN random_steps c ON c.step_id = p.rejected_step_id AND (a.g, a.state, a.action) = (c.g, c.state, c.action)))) 
$$;
SELECT m, w.n > 5 AS some, w.differ FROM unnest('{rtmc,batch_td}'::text[]) m, LATERAL (VALUES (0, 1), (0, 2), (0.25, 1), (0.3, 3)) v(gap, visits), pg_temp.wrong(m, v.gap, v.visits) w;
-- The normal distribution function is 0.5, 0.84134 and 0.97725 at 0, 1 and 2.
SELECT bool_and(CASE WHEN gap / gap_error < 1 THEN confidence > 0.5 AND confidence < 0.8413447461 WHEN gap / gap_error < 2 THEN confidence >= 0.8413447460 AND confidence < 0.9772498681 ELSE confidence >= 0.9772498680 END) AS as_in_tables,
	count(*) FILTER (WHERE gap / gap_error >= 1) > 5 AS some FROM random_groups x, stepadv.preference_pairs(x.rollouts, min_visits => 1);
SELECT count(*) = (SELECT count(*) FROM random_groups x, stepadv.preference_pairs(x.rollouts) WHERE confidence >= 0.8) AS as_filtered FROM random_groups x, stepadv.preference_pairs(x.rollouts, min_confidence => 0.8);
SELECT reason FROM random_groups x, stepadv.preference_pairs(x.rollouts) ORDER BY gap DESC, g, state LIMIT 1;
SELECT count(*) FROM stepadv.preference_pairs(NULL::stepadv.rollout_group);
-- Not judged; a NULL state is not shared, a NULL action is an action of its own.
SELECT count(*) FROM (SELECT stepadv.rollout_agg(step_id, r, 0, s, a, NULL::float8) AS g FROM (VALUES (1::bigint, 1::bigint, 1::bigint, 1::bigint), (2, 2, 1, 2)) v(step_id, r, s, a)) x, stepadv.preference_pairs(x.g, min_visits => 1);
SELECT chosen_step_id, rejected_step_id, gap FROM (SELECT stepadv.rollout_agg(step_id, r, 0, s, a, w) AS g
	FROM (VALUES (1::bigint, 1::bigint, NULL::bigint, 1::bigint, 1::float8), (2, 2, NULL, 2, 0), (3, 3, 1, NULL, 1), (4, 4, 1, 2, 0), (5, 5, 1, NULL, 0.5)) v(step_id, r, s, a, w)) x, stepadv.preference_pairs(x.g, min_visits => 1);
SELECT stepadv.preference_pairs(rollouts, min_gap => -1) FROM random_groups LIMIT 1;
SELECT stepadv.preference_pairs(rollouts, min_visits => 0) FROM random_groups LIMIT 1;
SELECT stepadv.preference_pairs(rollouts, min_confidence => 2) FROM random_groups LIMIT 1;
SELECT stepadv.preference_pairs(rollouts, method => 'grpo') FROM random_groups LIMIT 1;
DROP SCHEMA tr CASCADE;

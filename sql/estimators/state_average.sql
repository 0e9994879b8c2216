-- Advantages by several states of the same group, averaged.

CREATE FUNCTION stepadv.state_average(rollouts stepadv.rollout_group, attached boolean DEFAULT true,
	last_actions boolean DEFAULT true, action_set boolean DEFAULT true, gamma float8 DEFAULT 0.99,
	normalise text DEFAULT 'none')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8)
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 7500 ROWS 100
BEGIN ATOMIC
	SELECT a.step_id, a.rollout_id, a.step_no, avg(a.advantage * a.n_action / (a.n_action + 1.0::float8))
	FROM (VALUES (CASE WHEN state_average.attached THEN state_average.rollouts END),
			(CASE WHEN state_average.last_actions
				THEN stepadv.history_states(state_average.rollouts, 'last'::text, 2) END),
			(CASE WHEN state_average.action_set
				THEN stepadv.history_states(state_average.rollouts, 'set'::text, 2) END)) s(g),
		LATERAL stepadv.batch_td(s.g, state_average.gamma, 0, 0.5, NULL::float8, 'start_value'::text, 'fail'::text, 0,
			3, 'visits'::text, state_average.normalise, NULL::stepadv.rollout_group, 1) a
	GROUP BY a.step_id, a.rollout_id, a.step_no
	ORDER BY a.rollout_id, a.step_no;
END;
COMMENT ON FUNCTION stepadv.state_average(stepadv.rollout_group, boolean, boolean, boolean, float8, text) IS
'the mean of batch_td''s advantages with several states: the attached one, the last two actions, and the set of '
'earlier actions, each times n / (n + 1), with n visits of the action. For states among the best of choose_state. '
'NULL: the rollout is not judged';

-- Certainty-equivalent values: src/estimators/batch_td.c, values/
-- baseline may be NULL (its default), so this is not STRICT: a NULL group gives no rows.

CREATE FUNCTION stepadv.batch_td(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.99, lambda float8 DEFAULT 0,
	prior float8 DEFAULT 0.5, baseline float8 DEFAULT NULL, prior_mean text DEFAULT 'start_value',
	truncated text DEFAULT 'fail', success_above float8 DEFAULT 0, k float8 DEFAULT 3,
	weights text DEFAULT 'visits', normalise text DEFAULT 'none',
	history stepadv.rollout_group DEFAULT NULL, decay float8 DEFAULT 1)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, n_state integer, n_action integer,
			   q float8, v float8, stderr float8, advantage float8, q_error float8, confidence float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_batch_td';
COMMENT ON FUNCTION stepadv.batch_td(stepadv.rollout_group, float8, float8, float8, float8, text, text, float8, float8,
	text, text, stepadv.rollout_group, float8) IS
'batch TD(lambda): values that satisfy Bellman''s equation on the rollouts of the group. Only if states hide '
'nothing: an action that the next state does not show seems worthless (use history_td). k: visits that a coarse '
'state adds to its states; weights: by visits or by the policy''s logp';

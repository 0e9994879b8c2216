-- Batch TD on the state and the earlier steps: src/estimators/history_td.c, levels.c, values/backed.c
-- history may be NULL (its default), so this is not STRICT: a NULL group gives no rows.

CREATE FUNCTION stepadv.history_td(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.98, k float8 DEFAULT NULL,
	prior float8 DEFAULT 0.5, normalise text DEFAULT 'none', history stepadv.rollout_group DEFAULT NULL,
	decay float8 DEFAULT 1)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, n_state integer, n_action integer,
			   q float8, v float8, stderr float8, advantage float8, q_error float8, confidence float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_history_td';
COMMENT ON FUNCTION stepadv.history_td(stepadv.rollout_group, float8, float8, float8, text,
	stepadv.rollout_group, float8) IS
'batch TD on the state and the set of earlier (state, action), if states hide something; k: visits of the '
'state alone to fall back on; NULL: .15 in values, a fifth of the unexpected return 5 steps later, .4 of '
'the mean advantage by batch_td; history as rtmc, normalise as grpo; confidence too high';

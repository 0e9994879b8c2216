-- Rollout-tree Monte Carlo: src/estimators/rtmc.c, src/analysis/tree.c
-- baseline may be NULL (its default), so these are not STRICT: a NULL group gives no rows.

CREATE FUNCTION stepadv.rtmc(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.99, prior float8 DEFAULT 2,
	baseline float8 DEFAULT NULL, normalise boolean DEFAULT false, visit text DEFAULT 'first',
	success_above float8 DEFAULT 0, prior_mean text DEFAULT 'success_rate', k float8 DEFAULT 3,
	history stepadv.rollout_group DEFAULT NULL, decay float8 DEFAULT 1)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, n_state integer, n_action integer,
			   q float8, v float8, stderr float8, advantage float8, q_error float8, confidence float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rtmc';
COMMENT ON FUNCTION stepadv.rtmc(stepadv.rollout_group, float8, float8, float8, boolean, text, float8, text, float8,
	stepadv.rollout_group, float8) IS
'RTMC (section 4, eq. 11): q is the mean return of first (or all) visits to state and action, v that of the state, '
'mixed with prior visits worth prior_mean or baseline; advantage = q - v; k: visits that a coarse state adds to its '
'states; stderr, q_error, confidence: uncertainty of q and the sign';

CREATE FUNCTION stepadv.rtmc_tree(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.99, prior float8 DEFAULT 2,
	baseline float8 DEFAULT NULL, normalise boolean DEFAULT false, visit text DEFAULT 'first',
	success_above float8 DEFAULT 0, prior_mean text DEFAULT 'success_rate')
RETURNS TABLE (state bigint, action bigint, next_state bigint, n_visits integer, n_successes integer,
			   q float8, v float8, advantage float8, step_id bigint)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2000 ROWS 50 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rtmc_tree';
COMMENT ON FUNCTION stepadv.rtmc_tree(stepadv.rollout_group, float8, float8, float8, boolean, text, float8, text) IS
'the rollout tree of rtmc with the same parameters, a row per edge: action taken in state, next_state (NULL: '
'rollouts end here), n_visits and n_successes in rollouts, q, v, advantage, and the step_id of one step on the edge; '
'only judged rollouts';

-- Returns and trajectory-level baselines: src/estimators/returns.c, baselines.c

CREATE FUNCTION stepadv.returns(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1.0, masked boolean DEFAULT false)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_returns';
COMMENT ON FUNCTION stepadv.returns(stepadv.rollout_group, float8, boolean) IS
'discounted return of every step, G_t = r_t + gamma G_{t+1}; masked: steps whose action is NULL are observations: G '
'passes them undiscounted, and their rewards belong to the previous action; NULL for rollouts that are not judged; '
'error if gamma is outside [0, 1]';

CREATE FUNCTION stepadv.reinforce(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1.0, to_go boolean DEFAULT false)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_reinforce';
COMMENT ON FUNCTION stepadv.reinforce(stepadv.rollout_group, float8, boolean) IS
'REINFORCE: advantage is the undiscounted return of the rollout, or with to_go the discounted return from the step '
'on; NULL for rollouts that are not judged';

CREATE FUNCTION stepadv.rloo(rollouts stepadv.rollout_group, singleton text DEFAULT 'zero',
	step_rewards boolean DEFAULT false, gamma float8 DEFAULT 0.95, pool text DEFAULT 'group',
	weighting text DEFAULT 'rollout')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, baseline float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rloo';
COMMENT ON FUNCTION stepadv.rloo(stepadv.rollout_group, text, boolean, float8, text, text) IS
'RLOO: R minus the mean of the other judged rollouts (baseline), with weighting ''step'' of all other steps; a lone '
'rollout has 0 (singleton ''zero'') or R (''raw''); step_rewards: uses discounted returns of steps, over the group '
'or (pool ''step'') of equal rank; NULL if not judged';

CREATE FUNCTION stepadv.grpo(rollouts stepadv.rollout_group, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6,
	singleton text DEFAULT 'zero', weighting text DEFAULT 'rollout',
	step_rewards boolean DEFAULT false, gamma float8 DEFAULT 0.95, pool text DEFAULT 'group')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, baseline float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 600 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_grpo';
COMMENT ON FUNCTION stepadv.grpo(stepadv.rollout_group, text, float8, text, text, boolean, float8, text) IS
'GRPO: (R - mean) / (sd + epsilon) over the judged rollouts, sd with ddof 1; exactly 0 if all R are equal; normalise '
'''mean'' omits the division, ''none'' also the mean; weighting ''step'' counts a rollout once per step; '
'step_rewards, pool: as for rloo; NULL if not judged';


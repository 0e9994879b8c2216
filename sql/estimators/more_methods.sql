-- Methods known from public code, beside those of the papers: src/estimators/igpo.c, pure.c, gae.c

CREATE FUNCTION stepadv.igpo(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1.0, pool text DEFAULT 'joint',
	normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, normalised_reward float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_igpo';
COMMENT ON FUNCTION stepadv.igpo(stepadv.rollout_group, float8, text, text, float8) IS
'IGPO (Wang et al. 2025, arXiv 2510.14967): turn_reward of all steps but the last, and the return for the last step, '
'normalized over the group together (pool ''joint'') or separately (''separate''), then summed with discount gamma; '
'NULL for rollouts that are not judged';

CREATE FUNCTION stepadv.pure(rollouts stepadv.rollout_group, temperature float8 DEFAULT 0.1,
	outcome_coef float8 DEFAULT 1.0)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, weight float8, return float8, baseline float8,
	advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_pure';
COMMENT ON FUNCTION stepadv.pure(stepadv.rollout_group, float8, float8) IS
'PURE (Cheng et al. 2025, arXiv 2504.15275), min-form credit: turn_reward, from a process reward model, is weighted '
'by the share of exp(-turn_reward / temperature) in the rollout, so the worst turn dominates; minus a leave-one-out '
'baseline, plus outcome_coef times the outcome''s; NULL if not judged';

CREATE FUNCTION stepadv.bi_level_gae(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1.0,
	lambda float8 DEFAULT 1.0, turn_gamma float8 DEFAULT 0.95, masked boolean DEFAULT false)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, value float8, td_error float8, return float8,
	advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_bi_level_gae';
COMMENT ON FUNCTION stepadv.bi_level_gae(stepadv.rollout_group, float8, float8, float8, boolean) IS
'bi-level GAE (RAGEN''s code): first over turns with turn_gamma, with the rewards of all steps of the turn and the '
'value of its last step; then within each turn with gamma; masked: as for gae; NULL for rollouts that are not '
'judged; error on a NULL value';

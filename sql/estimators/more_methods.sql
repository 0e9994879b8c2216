-- Methods known from public code, beside those of the papers: src/estimators/igpo.c, pure.c, gae.c

CREATE FUNCTION stepadv.igpo(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1.0, pool text DEFAULT 'joint',
	normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, normalised_reward float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_igpo';
COMMENT ON FUNCTION stepadv.igpo(stepadv.rollout_group, float8, text, text, float8) IS
'IGPO (Wang et al. 2025, arXiv 2510.14967): turn_reward of every step but a rollout''s last, and for that one '
'the rollout''s return, normalised together (pool ''joint'') or each kind for itself (''separate'') over the '
'group, then summed, discounted by gamma; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.pure(rollouts stepadv.rollout_group, temperature float8 DEFAULT 0.1,
	outcome_coef float8 DEFAULT 1.0)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, weight float8, return float8, baseline float8,
	advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_pure';
COMMENT ON FUNCTION stepadv.pure(stepadv.rollout_group, float8, float8) IS
'PURE (Cheng et al. 2025, arXiv 2504.15275), min-form credit: turn_reward, of a process reward model, is weighed '
'by the share of exp(-turn_reward / temperature) in the rollout, so that the worst decides; less a leave-one-out '
'baseline, plus outcome_coef times the outcome''s; NULL where not judged yet';

CREATE FUNCTION stepadv.bi_level_gae(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1.0,
	lambda float8 DEFAULT 1.0, turn_gamma float8 DEFAULT 0.95, masked boolean DEFAULT false)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, value float8, td_error float8, return float8,
	advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_bi_level_gae';
COMMENT ON FUNCTION stepadv.bi_level_gae(stepadv.rollout_group, float8, float8, float8, boolean) IS
'bi-level GAE (RAGEN''s code): first over turns with turn_gamma, with the rewards of all steps of the turn and '
'the value of its last step; then within the turn from there back with gamma; masked: as for gae; NULL for '
'rollouts not judged yet; error on a NULL value';

-- Methods known from public code (salt from texts alone), beside those of the papers:
-- src/estimators/outcome_baselines.c, igpo.c, pure.c, gae.c, g2po.c, salt.c
-- success_reward of g2po may be NULL (its default), so that is not STRICT: a NULL group gives no rows.

CREATE FUNCTION stepadv.opo(rollouts stepadv.rollout_group, length text DEFAULT 'steps', singleton text DEFAULT 'zero')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, baseline float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_opo';
COMMENT ON FUNCTION stepadv.opo(stepadv.rollout_group, text, text) IS
'OPO (Hao et al. 2025, arXiv 2505.23585): the rollout''s return less the group''s mean return in which each '
'rollout counts by its length (baseline); length ''steps'', or ''cost'': the sum of its steps'' costs, such as '
'tokens; exactly 0 when all returns are equal; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.grpo_passk(rollouts stepadv.rollout_group, normalise text DEFAULT 'std',
	epsilon float8 DEFAULT 1e-6)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, baseline float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_grpo_passk';
COMMENT ON FUNCTION stepadv.grpo_passk(stepadv.rollout_group, text, float8) IS
'GRPO for pass@k (Tang et al. 2025, arXiv 2503.19595), k being the group''s judged rollouts: (best return - best '
'return of the others) / (sd + epsilon), so that only a single best rollout has an advantage; normalise ''mean'' '
'and ''none'' omit the division; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.remax(rollouts stepadv.rollout_group, greedy stepadv.rollout_group DEFAULT NULL,
	gamma float8 DEFAULT 1.0, to_go boolean DEFAULT true, within boolean DEFAULT false)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, baseline float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_remax';
COMMENT ON FUNCTION stepadv.remax(stepadv.rollout_group, stepadv.rollout_group, float8, boolean, boolean) IS
'ReMax (Li et al. 2023, arXiv 2310.10505): the discounted return from the step on, or with to_go false the '
'rollout''s return, less the mean return of rollouts decoded greedily: of the group greedy, or, within, those of '
'the group itself that greedy names; no rows where greedy is NULL';

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

CREATE FUNCTION stepadv.g2po(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.95,
	step_weight float8 DEFAULT 1.0, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6,
	weighting text DEFAULT 'rollout', singleton text DEFAULT 'zero', success_reward float8 DEFAULT NULL,
	success_above float8 DEFAULT 0)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, v float8, next_v float8, episode_advantage float8,
	step_advantage float8, advantage float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_g2po';
COMMENT ON FUNCTION stepadv.g2po(stepadv.rollout_group, float8, float8, text, float8, text, text, float8, float8) IS
'G2PO (its code): v of a state is the mean over its visits of gamma^(steps to the end) times the rollout''s '
'return; step_advantage: next_v normalised over the steps out of the same state, plus next_v - v normalised over '
'the group; advantage: as of gigpo; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.salt(rollouts stepadv.rollout_group, normalise text DEFAULT 'std',
	epsilon float8 DEFAULT 1e-6, weighting text DEFAULT 'rollout', singleton text DEFAULT 'zero',
	merge text DEFAULT 'transition', visit text DEFAULT 'first', success_above float8 DEFAULT 0)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, episode_advantage float8, n_edge integer,
	advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_salt';
COMMENT ON FUNCTION stepadv.salt(stepadv.rollout_group, text, float8, text, text, text, text, float8) IS
'SALT (Li et al. 2025, arXiv 2510.20022; formula by GRAFT, 2026, A.3): the mean of the episode advantages of the '
'judged rollouts that took the same step, n_edge of them; the same step: state, action and the state that it led '
'to, or, merge ''action'', without the last; NULL for rollouts not judged yet';

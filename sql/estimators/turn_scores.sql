-- Methods that read what a model said of each turn, stored as its turn_reward: a log-probability in
-- hindsight, an entropy, a judge's call: src/estimators/hcapo.c, empg.c, adca_grpo.c

CREATE FUNCTION stepadv.hcapo(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.95, temperature float8 DEFAULT 5,
	clip float8 DEFAULT 0.2, weight float8 DEFAULT 1, smoothing float8 DEFAULT 1, keep_successes boolean DEFAULT true,
	normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6, success_above float8 DEFAULT 0)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, hindsight_ratio float8, q float8,
	hindsight_advantage float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_hcapo';
COMMENT ON FUNCTION stepadv.hcapo(stepadv.rollout_group, float8, float8, float8, float8, float8, boolean, text, float8,
	float8) IS
'HCAPO (Tan et al. 2026, arXiv 2603.08754): grpo plus weight times the normalized q, the discounted return times the '
'clipped hindsight_ratio; turn_reward is the mean log-probability of the action''s tokens with the outcome in the '
'prompt (NULL: ratio 1); NULL if not judged';

CREATE FUNCTION stepadv.empg(rollouts stepadv.rollout_group, k float8 DEFAULT 1, k_bonus float8 DEFAULT 1,
	bonus_weight float8 DEFAULT 0.1, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, scale float8, bonus float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_empg';
COMMENT ON FUNCTION stepadv.empg(stepadv.rollout_group, float8, float8, float8, text, float8) IS
'EMPG (Wang et al. 2025, arXiv 2509.09265): grpo times scale, which is larger if the policy is certain, plus '
'bonus_weight times bonus for a certain next step, minus the mean over the group; turn_reward is the mean entropy of '
'the tokens of the step (NULL: scale 1, no bonus); NULL if not judged';

CREATE FUNCTION stepadv.adca_grpo(rollouts stepadv.rollout_group, attribution_weight float8 DEFAULT 0.1,
	outcome_on text DEFAULT 'last', weighting text DEFAULT 'rollout')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, attribution float8, reward float8,
	advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_adca_grpo';
COMMENT ON FUNCTION stepadv.adca_grpo(stepadv.rollout_group, float8, text, text) IS
'ADCA-GRPO (AgentEvolver 2025, arXiv 2511.10395): a judge rates steps good (turn_reward above 0) or bad (below 0); '
'ratings and returns are normalized separately, added as reward (the return on the last step, or outcome_on '
'''all''), and summed from the step on; NULL if not judged';

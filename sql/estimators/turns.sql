-- Turns and values: src/estimators/turns.c, gae.c, igpo.c

CREATE FUNCTION stepadv.mt_grpo(rollouts stepadv.rollout_group, lambda float8 DEFAULT 1.0, turn_coef float8 DEFAULT 1.0,
	discount float8 DEFAULT 1.0, epsilon float8 DEFAULT 1e-4, unequal text DEFAULT 'zero_pad',
	without_turn_reward text DEFAULT 'zero')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer,
			   turn_advantage float8, outcome_advantage float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_mt_grpo';
COMMENT ON FUNCTION stepadv.mt_grpo(stepadv.rollout_group, float8, float8, float8, float8, text, text) IS
'MT-GRPO (eq. 9 and 10): turn_advantage is the discounted sum of later turn_rewards, normalized over the group per '
'turn; outcome_advantage is the normalized return; advantage: their sum by turn_coef, lambda and discount; unequal, '
'without_turn_reward: handling of missing turns; NULL if not judged';

CREATE FUNCTION stepadv.mt_rloo(rollouts stepadv.rollout_group, lambda float8 DEFAULT 1.0, turn_coef float8 DEFAULT 1.0,
	discount float8 DEFAULT 1.0, epsilon float8 DEFAULT 1e-4, unequal text DEFAULT 'zero_pad',
	without_turn_reward text DEFAULT 'zero')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer,
			   turn_advantage float8, outcome_advantage float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_mt_rloo';
COMMENT ON FUNCTION stepadv.mt_rloo(stepadv.rollout_group, float8, float8, float8, float8, text, text) IS
'the leave-one-out form of MT-GRPO (appendix C): as mt_grpo, with x minus the mean of the others instead of (x - '
'mean) / (sd + epsilon), so epsilon has no effect; alone in its turn or group: 0; NULL for rollouts that are not '
'judged';

CREATE FUNCTION stepadv.gae(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.99, lambda float8 DEFAULT 1.0,
	masked boolean DEFAULT false)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer,
			   value float8, td_error float8, return float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_gae';
COMMENT ON FUNCTION stepadv.gae(stepadv.rollout_group, float8, float8, boolean) IS
'GAE over the steps of each rollout (StepPO, PPO): td_error = r + gamma V'' - V with V'' = 0 after the last step, '
'advantage = td_error + gamma lambda advantage'', return = advantage + value; masked: steps whose action is NULL are '
'observations, skipped without discount; error on a NULL value';

CREATE FUNCTION stepadv.igpo(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1.0, pool text DEFAULT 'joint',
	normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, normalised_reward float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_igpo';
COMMENT ON FUNCTION stepadv.igpo(stepadv.rollout_group, float8, text, text, float8) IS
'IGPO (Wang et al. 2025, arXiv 2510.14967): turn_reward of all steps but the last, and the return for the last step, '
'normalized over the group together (pool ''joint'') or separately (''separate''), then summed with discount gamma; '
'NULL for rollouts that are not judged';

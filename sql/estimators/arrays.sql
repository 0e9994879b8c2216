-- Every method with an advantage once more, with a row per rollout and its steps in arrays: what a
-- trainer fetches, in a tenth of the rows.  src/estimator.c, src/rollout_arrays.c

CREATE FUNCTION stepadv.reinforce_arrays(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1.0, to_go boolean DEFAULT false)
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], return float8[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_reinforce_arrays';
COMMENT ON FUNCTION stepadv.reinforce_arrays(stepadv.rollout_group, float8, boolean) IS
'reinforce with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of reinforce; elements are NULL where reinforce has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.rloo_arrays(rollouts stepadv.rollout_group, singleton text DEFAULT 'zero',
	step_rewards boolean DEFAULT false, gamma float8 DEFAULT 0.95, pool text DEFAULT 'group')
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], return float8[], baseline float8[],
	advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rloo_arrays';
COMMENT ON FUNCTION stepadv.rloo_arrays(stepadv.rollout_group, text, boolean, float8, text) IS
'rloo with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of rloo; elements are NULL where rloo has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.grpo_arrays(rollouts stepadv.rollout_group, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6,
	singleton text DEFAULT 'zero', weighting text DEFAULT 'rollout',
	step_rewards boolean DEFAULT false, gamma float8 DEFAULT 0.95, pool text DEFAULT 'group')
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], return float8[], baseline float8[],
	advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 600 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_grpo_arrays';
COMMENT ON FUNCTION stepadv.grpo_arrays(stepadv.rollout_group, text, float8, text, text, boolean, float8, text) IS
'grpo with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of grpo; elements are NULL where grpo has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.mt_grpo_arrays(rollouts stepadv.rollout_group, lambda float8 DEFAULT 1.0, turn_coef float8 DEFAULT 1.0,
	discount float8 DEFAULT 1.0, epsilon float8 DEFAULT 1e-4, unequal text DEFAULT 'zero_pad',
	without_turn_reward text DEFAULT 'zero')
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], turn_advantage float8[],
	outcome_advantage float8[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_mt_grpo_arrays';
COMMENT ON FUNCTION stepadv.mt_grpo_arrays(stepadv.rollout_group, float8, float8, float8, float8, text, text) IS
'mt_grpo with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of mt_grpo; elements are NULL where mt_grpo has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.mt_rloo_arrays(rollouts stepadv.rollout_group, lambda float8 DEFAULT 1.0, turn_coef float8 DEFAULT 1.0,
	discount float8 DEFAULT 1.0, epsilon float8 DEFAULT 1e-4, unequal text DEFAULT 'zero_pad',
	without_turn_reward text DEFAULT 'zero')
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], turn_advantage float8[],
	outcome_advantage float8[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_mt_rloo_arrays';
COMMENT ON FUNCTION stepadv.mt_rloo_arrays(stepadv.rollout_group, float8, float8, float8, float8, text, text) IS
'mt_rloo with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of mt_rloo; elements are NULL where mt_rloo has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.gae_arrays(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.99, lambda float8 DEFAULT 1.0,
	masked boolean DEFAULT false)
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], value float8[], td_error float8[],
	return float8[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_gae_arrays';
COMMENT ON FUNCTION stepadv.gae_arrays(stepadv.rollout_group, float8, float8, boolean) IS
'gae with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of gae; elements are NULL where gae has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.gigpo_arrays(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.95, step_weight float8 DEFAULT 1.0,
	normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6, weighting text DEFAULT 'rollout',
	visit text DEFAULT 'every', singleton text DEFAULT 'zero')
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], return float8[], n_state integer[],
	episode_advantage float8[], step_advantage float8[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1200 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_gigpo_arrays';
COMMENT ON FUNCTION stepadv.gigpo_arrays(stepadv.rollout_group, float8, float8, text, float8, text, text, text) IS
'gigpo with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of gigpo; elements are NULL where gigpo has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.graphgpo_arrays(rollouts stepadv.rollout_group, discount float8 DEFAULT 0.1, success_reward float8 DEFAULT 10,
	graph_weight float8 DEFAULT 1, episode_weight float8 DEFAULT 1, epsilon float8 DEFAULT 1e-6,
	convention text DEFAULT 'paper', weighting text DEFAULT 'rollout', success_above float8 DEFAULT 0,
	normalise text DEFAULT 'std', epsilon_of text DEFAULT 'absolute')
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], distance float8[], next_distance float8[],
	step_reward float8[], n_state integer[], episode_advantage float8[], graph_advantage float8[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_graphgpo_arrays';
COMMENT ON FUNCTION stepadv.graphgpo_arrays(stepadv.rollout_group, float8, float8, float8, float8, float8, text, text, float8, text, text) IS
'graphgpo with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of graphgpo; elements are NULL where graphgpo has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.hgpo_arrays(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.95, history_length integer DEFAULT 2,
	alpha float8 DEFAULT 1.0, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6,
	base_group boolean DEFAULT false, weighting text DEFAULT 'rollout', convention text DEFAULT 'recipe')
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], return float8[], n_state integer[],
	n_levels integer[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_hgpo_arrays';
COMMENT ON FUNCTION stepadv.hgpo_arrays(stepadv.rollout_group, float8, integer, float8, text, float8, boolean, text, text) IS
'hgpo with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of hgpo; elements are NULL where hgpo has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.tempo_arrays(rollouts stepadv.rollout_group, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6)
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], return float8[], value float8[],
	next_value float8[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_tempo_arrays';
COMMENT ON FUNCTION stepadv.tempo_arrays(stepadv.rollout_group, text, float8) IS
'tempo with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of tempo; elements are NULL where tempo has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.rtmc_arrays(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.99, prior float8 DEFAULT 2,
	baseline float8 DEFAULT NULL, normalise boolean DEFAULT false, visit text DEFAULT 'first',
	success_above float8 DEFAULT 0, prior_mean text DEFAULT 'success_rate', history stepadv.rollout_group DEFAULT NULL, decay float8 DEFAULT 1,
	shrink text DEFAULT 'none')
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], return float8[], n_state integer[],
	n_action integer[], q float8[], v float8[], stderr float8[], advantage float8[], q_error float8[],
	confidence float8[])
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rtmc_arrays';
COMMENT ON FUNCTION stepadv.rtmc_arrays(stepadv.rollout_group, float8, float8, float8, boolean, text, float8, text, stepadv.rollout_group, float8, text) IS
'rtmc with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of rtmc; elements are NULL where rtmc has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.batch_td_arrays(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.9, lambda float8 DEFAULT 0,
	prior float8 DEFAULT 0, baseline float8 DEFAULT NULL, prior_mean text DEFAULT 'success_rate',
	truncated text DEFAULT 'fail', success_above float8 DEFAULT 0,
	history stepadv.rollout_group DEFAULT NULL, decay float8 DEFAULT 1, shrink text DEFAULT 'none')
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], return float8[], n_state integer[],
	n_action integer[], q float8[], v float8[], stderr float8[], advantage float8[], q_error float8[],
	confidence float8[])
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_batch_td_arrays';
COMMENT ON FUNCTION stepadv.batch_td_arrays(stepadv.rollout_group, float8, float8, float8, float8, text, text, float8, stepadv.rollout_group, float8, text) IS
'batch_td with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of batch_td; elements are NULL where batch_td has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.opo_arrays(rollouts stepadv.rollout_group, length text DEFAULT 'steps', singleton text DEFAULT 'zero')
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], return float8[], baseline float8[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_opo_arrays';
COMMENT ON FUNCTION stepadv.opo_arrays(stepadv.rollout_group, text, text) IS
'opo with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of opo; elements are NULL where opo has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.grpo_passk_arrays(rollouts stepadv.rollout_group, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6)
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], return float8[], baseline float8[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_grpo_passk_arrays';
COMMENT ON FUNCTION stepadv.grpo_passk_arrays(stepadv.rollout_group, text, float8) IS
'grpo_passk with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of grpo_passk; elements are NULL where grpo_passk has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.remax_arrays(rollouts stepadv.rollout_group, greedy stepadv.rollout_group DEFAULT NULL, gamma float8 DEFAULT 1.0, to_go boolean DEFAULT true, within boolean DEFAULT false)
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], return float8[], baseline float8[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_remax_arrays';
COMMENT ON FUNCTION stepadv.remax_arrays(stepadv.rollout_group, stepadv.rollout_group, float8, boolean, boolean) IS
'remax with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of remax; elements are NULL where remax has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.igpo_arrays(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1.0, pool text DEFAULT 'joint', normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6)
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], normalised_reward float8[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_igpo_arrays';
COMMENT ON FUNCTION stepadv.igpo_arrays(stepadv.rollout_group, float8, text, text, float8) IS
'igpo with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of igpo; elements are NULL where igpo has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.pure_arrays(rollouts stepadv.rollout_group, temperature float8 DEFAULT 0.1, outcome_coef float8 DEFAULT 1.0)
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], weight float8[], return float8[], baseline float8[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_pure_arrays';
COMMENT ON FUNCTION stepadv.pure_arrays(stepadv.rollout_group, float8, float8) IS
'pure with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of pure; elements are NULL where pure has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.bi_level_gae_arrays(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1.0, lambda float8 DEFAULT 1.0, turn_gamma float8 DEFAULT 0.95, masked boolean DEFAULT false)
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], value float8[], td_error float8[], return float8[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_bi_level_gae_arrays';
COMMENT ON FUNCTION stepadv.bi_level_gae_arrays(stepadv.rollout_group, float8, float8, float8, boolean) IS
'bi_level_gae with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of bi_level_gae; elements are NULL where bi_level_gae has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.g2po_arrays(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.95, step_weight float8 DEFAULT 1.0, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6,
	weighting text DEFAULT 'rollout', singleton text DEFAULT 'zero', success_reward float8 DEFAULT NULL, success_above float8 DEFAULT 0)
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], v float8[], next_v float8[], episode_advantage float8[], step_advantage float8[], advantage float8[])
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_g2po_arrays';
COMMENT ON FUNCTION stepadv.g2po_arrays(stepadv.rollout_group, float8, float8, text, float8, text, text, float8, float8) IS
'g2po with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of g2po; elements are NULL where g2po has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

CREATE FUNCTION stepadv.salt_arrays(rollouts stepadv.rollout_group, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6, weighting text DEFAULT 'rollout', singleton text DEFAULT 'zero',
	merge text DEFAULT 'transition', visit text DEFAULT 'first', success_above float8 DEFAULT 0)
RETURNS TABLE (rollout_id bigint, step_id bigint[], step_no integer[], episode_advantage float8[], n_edge integer[], advantage float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_salt_arrays';
COMMENT ON FUNCTION stepadv.salt_arrays(stepadv.rollout_group, text, float8, text, text, text, text, float8) IS
'salt with a row per rollout: its other columns under their names as arrays of the rollout''s steps, in their order; parameters, numbers, errors and source are those of salt; elements are NULL where salt has NULL, so all of its own in a rollout not judged yet; a rollout without steps has empty arrays';

-- How rollouts went about their task: src/analysis/.

CREATE FUNCTION stepadv.rollout_measures(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (rollout_id bigint, n_steps integer, success boolean, cost float8, n_repeats integer, distance float8,
	excess float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_measures';
COMMENT ON FUNCTION stepadv.rollout_measures(stepadv.rollout_group, float8) IS
'one row per rollout of a group: n_steps, success, cost (the sum over its steps, 1 per step by default), n_repeats '
'(same action in the same state), distance (the least cost from its first state to the goal), excess = cost - '
'distance; NULL if unknown';

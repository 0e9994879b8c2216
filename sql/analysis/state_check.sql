-- Whether states hide information: src/analysis/state_check.c, joined_groups.c.

CREATE FUNCTION stepadv.state_check(groups stepadv.rollout_group[], gamma float8 DEFAULT 0.99,
	min_rollouts integer DEFAULT 8)
RETURNS TABLE (state bigint, action bigint, n_rollouts bigint, difference float8, z float8, p_value float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100000 ROWS 100
AS 'MODULE_PATHNAME', 'stepadv_state_check';
COMMENT ON FUNCTION stepadv.state_check(stepadv.rollout_group[], float8, integer) IS
'does the state hide something? From 16 groups or more of a task, a row per state and action of min_rollouts '
'rollouts, surest first: how much better they end than states predict; z; p_value over all later states or in '
'one, corrected for all rows. Below .05, avoid batch_td and graphgpo';

-- Does the state hide something: src/analysis/state_check.c, joined_groups.c.

CREATE FUNCTION stepadv.state_check(groups stepadv.rollout_group[], gamma float8 DEFAULT 0.99,
	min_rollouts integer DEFAULT 5)
RETURNS TABLE (state bigint, action bigint, n_rollouts bigint, difference float8, z float8, p float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100000 ROWS 100
AS 'MODULE_PATHNAME', 'stepadv_state_check';
COMMENT ON FUNCTION stepadv.state_check(stepadv.rollout_group[], float8, integer) IS
'does the state hide something? From groups of one task (16 or more), a row per state and action that min_rollouts '
'took, largest |z| first: how much better rollouts end after it than their states predict, z, p corrected for all '
'rows. If p < .05 (64 groups: .01), avoid batch_td and graphgpo';

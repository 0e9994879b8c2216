-- Loops: src/analysis/loops.c

CREATE FUNCTION stepadv.loops(rollouts stepadv.rollout_group, same text DEFAULT 'state_action',
	max_cycle integer DEFAULT 8)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, n_before integer, since integer,
	cycle_length integer,
			   same_result boolean, in_loop boolean)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_loops';
COMMENT ON FUNCTION stepadv.loops(stepadv.rollout_group, text, integer) IS
'a row per step: n_before, the number of equal earlier steps of the rollout (by ''state_action'', ''state'' or '
'''action''); since, how many steps ago the last one was; cycle_length, the shortest repeated cycle; same_result: it '
'led to the same state as the last one; in_loop: either; NULLs are never equal';

-- Loops, and a reward against them: src/analysis/loops.c, src/rewards/repeat_penalty.c

CREATE FUNCTION stepadv.loops(rollouts stepadv.rollout_group, same text DEFAULT 'state_action',
	max_cycle integer DEFAULT 8)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, n_before integer, since integer,
	cycle_length integer,
			   same_result boolean, in_loop boolean)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_loops';
COMMENT ON FUNCTION stepadv.loops(stepadv.rollout_group, text, integer) IS
'a row per step: n_before, how many earlier steps of the rollout were the same (''state_action'', ''state'' or '
'''action''), since, how many steps ago; cycle_length, the least round that it repeats; same_result: it led to '
'the same state as the last of them; in_loop: either; NULLs are never the same';

CREATE FUNCTION stepadv_internal.loop_counts(rollouts stepadv.rollout_group, same text, max_cycle integer)
RETURNS TABLE (rollout_id bigint, n_steps integer, n_repeats integer, n_same_results integer, n_in_cycles integer,
	n_in_loops integer)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_loop_counts';
COMMENT ON FUNCTION stepadv_internal.loop_counts(stepadv.rollout_group, text, integer) IS
'what loops says, added up by rollout, in the order of the value: its steps, and how many are repeats, have the '
'same result, are in a cycle, in a loop';

CREATE FUNCTION stepadv.repeat_penalty(action bigint, penalty float8, within integer DEFAULT NULL)
RETURNS float8
LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_repeat_penalty';
COMMENT ON FUNCTION stepadv.repeat_penalty(bigint, float8, integer) IS
'window function over a rollout''s steps in order, a reward to add (StepPO, appendix B): -penalty if the same '
'action was taken in the last within steps (NULL: in any before), else 0; a NULL action repeats nothing; NULL '
'for a NULL penalty; error on within below 1';

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

CREATE FUNCTION stepadv.repeat_penalty(action bigint, penalty float8, within integer DEFAULT NULL)
RETURNS float8
LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_repeat_penalty';
COMMENT ON FUNCTION stepadv.repeat_penalty(bigint, float8, integer) IS
'window function over a rollout''s steps in order, a reward to add (StepPO, appendix B): -penalty if the same '
'action was taken in the last within steps (NULL: in any before), else 0; a NULL action repeats nothing; NULL '
'for a NULL penalty; error on within below 1';

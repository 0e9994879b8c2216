-- How rollouts went about their task: src/behaviour/.

CREATE FUNCTION stepadv.rollout_shape(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (rollout_id bigint, n_steps integer, success boolean, cost float8, n_repeats integer, distance float8, excess float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_shape';
COMMENT ON FUNCTION stepadv.rollout_shape(stepadv.rollout_group, float8) IS
'how each rollout of a group went about the task, one row each: n_steps; success (given, else return > success_above; NULL if not judged); cost, the sum of the costs of its steps, a step without one costing 1; n_repeats, the steps that take an action in a state in which the rollout took it before (a NULL state or action is no other''s); distance, the least cost from the state of its first step to the goal over the steps of all judged rollouts of the group, as graphgpo has it (the horizon; NULL where no way leads there, for rollouts not judged yet and those without steps); excess = cost - distance, what it went beyond the shortest way that is known; error on a cost that is not positive';

CREATE FUNCTION stepadv_internal.step_repeats(rollouts stepadv.rollout_group)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, repeat boolean)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 800 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_step_repeats';
COMMENT ON FUNCTION stepadv_internal.step_repeats(stepadv.rollout_group) IS
'the steps of a group, by rollout_id and step_no, and whether the rollout took the same action in the same state before; a NULL state or action is no other''s';

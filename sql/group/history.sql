-- What a group has in common with its history: src/analysis/overlap.c

CREATE FUNCTION stepadv.history_overlap(rollouts stepadv.rollout_group, history stepadv.rollout_group)
RETURNS TABLE (n_rollouts integer, n_steps integer, n_states integer, n_known_states integer,
			   known_step_share float8, known_action_share float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 1 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_history_overlap';
COMMENT ON FUNCTION stepadv.history_overlap(stepadv.rollout_group, stepadv.rollout_group) IS
'one row about what rtmc(rollouts, history => …) and batch_td learn from a history: rollouts and steps that it '
'adds; the group''s states, and those in which the history was; the shares of the group''s judged steps in such '
'states, and with such an action; no row if either group is NULL';

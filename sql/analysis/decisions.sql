-- Decisions and failures: src/analysis/decisions.c, failures.c, action_values.c
-- prior and baseline may be NULL (their default), so two of these are not STRICT: a NULL group gives no rows.

CREATE FUNCTION stepadv.decision_points(rollouts stepadv.rollout_group, method text DEFAULT 'batch_td',
	gamma float8 DEFAULT 1,
	prior float8 DEFAULT NULL, baseline float8 DEFAULT NULL, prior_mean text DEFAULT 'success_rate',
	success_above float8 DEFAULT 0)
RETURNS TABLE (state bigint, n_visits integer, n_rollouts integer, n_actions integer, entropy float8, best_q float8,
	worst_q float8,
			   gap float8, gap_error float8, n_best_visits integer, n_worst_visits integer, step_id bigint,
			best_step_id bigint, worst_step_id bigint)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2500 ROWS 50 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_decision_points';
COMMENT ON FUNCTION stepadv.decision_points(stepadv.rollout_group, text, float8, float8, float8, text, float8) IS
'a row per state in which a judged rollout took a step: n_visits, n_rollouts, n_actions, entropy of the choice, '
'best_q and worst_q (by method, ''batch_td'' or ''rtmc''), gap and gap_error, and a step_id of the state and of both '
'actions; if many actions were tried once, the gap is too large';

CREATE FUNCTION stepadv.failure_points(rollouts stepadv.rollout_group, method text DEFAULT 'batch_td',
	gamma float8 DEFAULT 1,
	prior float8 DEFAULT NULL, baseline float8 DEFAULT NULL, prior_mean text DEFAULT 'success_rate',
	success_above float8 DEFAULT 0)
RETURNS TABLE (rollout_id bigint, n_steps integer, distance float8, last_chance_step_no integer,
	last_chance_step_id bigint,
			   dead_end_step_no integer, dead_end_step_id bigint, drop_step_no integer, drop_step_id bigint,
			value_drop float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 4000 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_failure_points';
COMMENT ON FUNCTION stepadv.failure_points(stepadv.rollout_group, text, float8, float8, float8, text, float8) IS
'a row per judged rollout that failed: distance from its start to the goal; last_chance, the last step from a state '
'that a success visited; dead_end, the first step after which no path leads to the goal; drop, the step with the '
'largest value_drop, by V of method (''batch_td'', ''rtmc''); NULL: none';

-- Certainty-equivalent values: src/estimators/batch_td.c, bellman.c
-- baseline may be NULL (its default), so this is not STRICT: a NULL group gives no rows.

CREATE FUNCTION stepadv.batch_td(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.9, lambda float8 DEFAULT 0,
	prior float8 DEFAULT 0, baseline float8 DEFAULT NULL, prior_mean text DEFAULT 'success_rate',
	truncated text DEFAULT 'fail', success_above float8 DEFAULT 0,
	history stepadv.rollout_group DEFAULT NULL, decay float8 DEFAULT 1)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, n_state integer, n_action integer,
			   q float8, v float8, stderr float8, advantage float8, q_error float8, confidence float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_batch_td';
COMMENT ON FUNCTION stepadv.batch_td(stepadv.rollout_group, float8, float8, float8, float8, text, text, float8, stepadv.rollout_group, float8) IS
'batch TD (Sutton 1988; Sutton and Barto, 2nd ed., section 6.3; lambda above 0: LSTD(lambda), Boyan 1999): values that satisfy Bellman''s equation on the group''s own record, so that what one rollout went through says what a step of another was worth. v, of the state: the mean over all its visits of the target r + gamma v(next state), the last step''s being r, with prior more visits worth prior_mean (''success_rate'', ''start_value'': the mean discounted return of first steps) or baseline; lambda mixes later rewards into the target, with 1 it is the return (every-visit Monte Carlo). truncated says what becomes of a judged rollout that was cut off: ''fail'', it ended there, or ''bootstrap'', its last step leads on to its next_state, whose v stands for all that would have come, whatever lambda is; as with ''fail'' where next_state is NULL or a state in which no judged rollout took a step, where a row says that the rollout succeeded, and, with gamma 1 and no prior, where no rollout followed from there ever ends. q: the mean target of the state and action, stderr: of q, the sample standard error of its targets, NULL below two visits; n_state, n_action: visits; advantage = q - v, exactly 0 where that is below 1e-12 of the largest return; NULL for rollouts not judged yet, which a rollout cut off without reward or success is too: give it a reward of 0; history, decay: as for rtmc: the equations are those of both groups'' visits, each as often as it weighs; error where values of more than 1000 states in one cycle do not converge';

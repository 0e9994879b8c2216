-- Certainty-equivalent values: src/estimators/batch_td.c, bellman.c
-- baseline may be NULL (its default), so this is not STRICT: a NULL group gives no rows.

CREATE FUNCTION stepadv.batch_td(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.9, lambda float8 DEFAULT 0,
	prior float8 DEFAULT 0, baseline float8 DEFAULT NULL, prior_mean text DEFAULT 'success_rate',
	success_above float8 DEFAULT 0, shrink text DEFAULT 'none')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, n_state integer, n_action integer,
			   q float8, v float8, stderr float8, advantage float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_batch_td';
COMMENT ON FUNCTION stepadv.batch_td(stepadv.rollout_group, float8, float8, float8, float8, text, float8, text) IS
'batch TD (Sutton 1988; Sutton and Barto, 2nd ed., section 6.3; lambda above 0: LSTD(lambda), Boyan 1999): values that satisfy Bellman''s equation on the group''s own record, so that what one rollout went through says what a step of another was worth. v, of the state: the mean over all its visits of the target r + gamma v(next state), the last step''s being r, with prior more visits worth prior_mean (''success_rate'', ''start_value'': the mean discounted return of first steps) or baseline; lambda mixes later rewards into the target, with 1 it is the return (every-visit Monte Carlo). q: the mean target of the state and action, stderr: of q, the sample standard error of its targets, NULL below two visits; n_state, n_action: visits; advantage = q - v, exactly 0 where that is below 1e-12 of the largest return; shrink ''check'' multiplies the advantages by the group''s own slope of what happens on what is said, between 0 and 1, as credit_check finds it by leaving out up to 16 of its rollouts, with a prior of 16 more of slope 0.3; NULL for rollouts not judged yet; error where values of more than 1000 states in one cycle do not converge';

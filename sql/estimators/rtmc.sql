-- Rollout-tree Monte Carlo: src/estimators/rtmc.c, tree.c, src/render/tree_dot.c
-- baseline may be NULL (its default), so these are not STRICT: a NULL group gives no rows.

CREATE FUNCTION stepadv.rtmc(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.99, prior float8 DEFAULT 2,
	baseline float8 DEFAULT NULL, normalise boolean DEFAULT false, visit text DEFAULT 'first',
	success_above float8 DEFAULT 0, prior_mean text DEFAULT 'success_rate', history stepadv.rollout_group DEFAULT NULL, decay float8 DEFAULT 1,
	shrink text DEFAULT 'none')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, n_state integer, n_action integer,
			   q float8, v float8, stderr float8, advantage float8, q_error float8, confidence float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rtmc';
COMMENT ON FUNCTION stepadv.rtmc(stepadv.rollout_group, float8, float8, float8, boolean, text, float8, text, stepadv.rollout_group, float8, text) IS
'RTMC (section 4, eq. 11): Q(s,a) is the mean return of the rollouts'' first (or every) visits, V(s) its mean over actions, v = (N V + prior p) / (N + prior) with p the success rate (prior_mean ''success_rate'', as the paper), the mean discounted return of the judged rollouts'' first steps (''start_value'', on the scale of what it is mixed with: better with gamma below 1 or step rewards) or baseline where given, advantage = q - v; n_state, n_action: visits; stderr: of q, NULL below two visits; q_error: an error of q that holds for one visit too, so that q ± 1.96 q_error is meant to hold the true Q of gamma in 95 of 100 cases: t sqrt(s / (n + 1) + d^2), s the variance of the action''s returns as a multiple of what returns between bounds vary by at its mean, drawn to its state''s, and that to the group''s, in which half a rollout at the least and half at the most return are counted (Jeffreys'' Beta(1/2, 1/2) for returns of 0 and 1), d what 9 visits of the state''s mean would move q by, t = 1 + 2 / rollouts; confidence: the probability that the advantage has the right sign, T(|advantage| / its error), T of Student with as many degrees of freedom as rollouts, 0.5 where it is 0, whatever normalise is; normalise divides by the sd (ddof 0) of the group''s advantages; shrink ''check'' multiplies the advantages by the group''s own slope of what happens on what is said, between 0 and 1, as credit_check finds it by leaving out up to 16 of its rollouts, with a prior of 16 more of slope 0.3; NULL for rollouts not judged yet; history: a group of earlier rollouts of the same task, of the same unit: counts, q, v and what prior_mean says are those of both, a rollout that is in both as the first has it, rows only those of the first; decay: a visit by a rollout of the history counts decay^age in all means (n_state, n_action say how many there are), its age in policy steps before the newest of the first group; with weights w the stderr is that of (sum w)^2 / sum w^2 visits; error where decay below 1 meets a judged rollout without policy_step (of a forgiving group: left out of the history, NULL where the group itself has none)';

CREATE FUNCTION stepadv.rtmc_tree(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.99, prior float8 DEFAULT 2,
	baseline float8 DEFAULT NULL, normalise boolean DEFAULT false, visit text DEFAULT 'first',
	success_above float8 DEFAULT 0, prior_mean text DEFAULT 'success_rate')
RETURNS TABLE (state bigint, action bigint, next_state bigint, visits integer, successes integer,
			   q float8, v float8, advantage float8, step_id bigint)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2000 ROWS 50 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rtmc_tree';
COMMENT ON FUNCTION stepadv.rtmc_tree(stepadv.rollout_group, float8, float8, float8, boolean, text, float8, text) IS
'the rollout tree of rtmc with the same parameters, a row per edge: action taken in state, next_state (NULL: rollouts end here), visits and successes in rollouts, q, v, advantage, and the step_id of one step on the edge; judged rollouts only';

CREATE FUNCTION stepadv.rtmc_tree_dot(rollouts stepadv.rollout_group, labels jsonb DEFAULT NULL, cut_off bigint[] DEFAULT NULL,
	min_visits integer DEFAULT 1, max_edges integer DEFAULT 100, label_length integer DEFAULT 40,
	gamma float8 DEFAULT 0.99, prior float8 DEFAULT 2,
	baseline float8 DEFAULT NULL, normalise boolean DEFAULT false, visit text DEFAULT 'first',
	success_above float8 DEFAULT 0, prior_mean text DEFAULT 'success_rate', estimates jsonb DEFAULT NULL, fold_chains boolean DEFAULT false)
RETURNS text
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5000
AS 'MODULE_PATHNAME', 'stepadv_rtmc_tree_dot';
COMMENT ON FUNCTION stepadv.rtmc_tree_dot(stepadv.rollout_group, jsonb, bigint[], integer, integer, integer, float8, float8, float8, boolean, text, float8, text, jsonb, boolean) IS
'the rollout tree as Graphviz text: circles are states (V, visits), edges actions (label, visits, advantage), green where rollouts end in success, red in failure, grey for those truncated or in cut_off; labels: an object of texts by step_id, as jsonb_object_agg(step_id, text) makes it; estimates: what any method says in the place of rtmc, an object by step_id of advantages or of objects with advantage and maybe v, as jsonb_object_agg(step_id, to_jsonb(e)) makes it of batch_td(g) e (an edge, a state: the mean of its steps''; NULL: not shown; error on what is no number); only edges with min_visits, at most max_edges of them; fold_chains: edges that one rollout takes alone, one after the other, are one, which says how many it stands for and of which only the first has a label';


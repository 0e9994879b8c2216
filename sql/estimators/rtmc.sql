-- Rollout-tree Monte Carlo: src/estimators/rtmc.c, tree.c, src/render/tree_dot.c
-- baseline may be NULL (its default), so these are not STRICT: a NULL group gives no rows.

CREATE FUNCTION stepadv.rtmc(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.99, prior float8 DEFAULT 2,
	baseline float8 DEFAULT NULL, normalise boolean DEFAULT false, visit text DEFAULT 'first',
	success_above float8 DEFAULT 0, prior_mean text DEFAULT 'success_rate',
	history stepadv.rollout_group DEFAULT NULL, decay float8 DEFAULT 1,
	shrink text DEFAULT 'none')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, n_state integer, n_action integer,
			   q float8, v float8, stderr float8, advantage float8, q_error float8, confidence float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rtmc';
COMMENT ON FUNCTION stepadv.rtmc(stepadv.rollout_group, float8, float8, float8, boolean, text, float8, text,
	stepadv.rollout_group, float8, text) IS
'RTMC (section 4, eq. 11): q is the mean return of first (or every) visits to state and action, v the state''s, '
'mixed with prior visits worth prior_mean or baseline, advantage = q - v; n_state, n_action: visits; stderr, '
'q_error, confidence: how sure q and the sign are; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.rtmc_tree(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.99, prior float8 DEFAULT 2,
	baseline float8 DEFAULT NULL, normalise boolean DEFAULT false, visit text DEFAULT 'first',
	success_above float8 DEFAULT 0, prior_mean text DEFAULT 'success_rate')
RETURNS TABLE (state bigint, action bigint, next_state bigint, visits integer, successes integer,
			   q float8, v float8, advantage float8, step_id bigint)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2000 ROWS 50 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rtmc_tree';
COMMENT ON FUNCTION stepadv.rtmc_tree(stepadv.rollout_group, float8, float8, float8, boolean, text, float8, text) IS
'the rollout tree of rtmc with the same parameters, a row per edge: action taken in state, next_state (NULL: '
'rollouts end here), visits and successes in rollouts, q, v, advantage, and the step_id of one step on the edge; '
'judged rollouts only';

CREATE FUNCTION stepadv.rtmc_tree_dot(rollouts stepadv.rollout_group, labels jsonb DEFAULT NULL,
	cut_off bigint[] DEFAULT NULL,
	min_visits integer DEFAULT 1, max_edges integer DEFAULT 100, label_length integer DEFAULT 40,
	gamma float8 DEFAULT 0.99, prior float8 DEFAULT 2,
	baseline float8 DEFAULT NULL, normalise boolean DEFAULT false, visit text DEFAULT 'first',
	success_above float8 DEFAULT 0, prior_mean text DEFAULT 'success_rate', estimates jsonb DEFAULT NULL,
	fold_chains boolean DEFAULT false)
RETURNS text
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5000
AS 'MODULE_PATHNAME', 'stepadv_rtmc_tree_dot';
COMMENT ON FUNCTION stepadv.rtmc_tree_dot(stepadv.rollout_group, jsonb, bigint[], integer, integer, integer, float8,
	float8, float8, boolean, text, float8, text, jsonb, boolean) IS
'the rollout tree as Graphviz text: circles are states (V, visits), edges actions (label, visits, advantage), '
'green where rollouts end in success, red in failure, grey for truncated ones or those in cut_off; labels: texts '
'by step_id; estimates: what any method says; fold_chains: chains as one edge';


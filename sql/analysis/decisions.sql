-- Where it is decided, and the graph in one row: src/analysis/decisions.c, failures.c,
-- action_values.c, graph_summary.c
-- prior and baseline may be NULL (their default), so two of these are not STRICT: a NULL group gives no rows.

CREATE FUNCTION stepadv.decision_points(rollouts stepadv.rollout_group, method text DEFAULT 'batch_td', gamma float8 DEFAULT 1,
	prior float8 DEFAULT NULL, baseline float8 DEFAULT NULL, prior_mean text DEFAULT 'success_rate', success_above float8 DEFAULT 0)
RETURNS TABLE (state bigint, visits integer, rollouts integer, actions integer, entropy float8, best_q float8, worst_q float8,
			   gap float8, gap_error float8, best_visits integer, worst_visits integer, step_id bigint, best_step_id bigint, worst_step_id bigint)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2500 ROWS 50 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_decision_points';
COMMENT ON FUNCTION stepadv.decision_points(stepadv.rollout_group, text, float8, float8, float8, text, float8) IS
'a row per state in which a judged rollout took a step: visits (steps there), rollouts that were there, actions tried, entropy of the choice (nats, over how often each action was taken), best_q and worst_q of the actions tried (the first of equals; of one action both are its), gap (best_q - worst_q) and gap_error (the root of the sum of the squares of both actions'' q_error), NULL where one action was tried; best_visits, worst_visits: steps that took these; step_id, best_step_id, worst_step_id: one step in the state, one that took the best and one that took the worst action. Q is that of method, ''batch_td'' or ''rtmc'' (first visits), with gamma (1: it matters whether, not how soon), prior (NULL: that method''s default), baseline, prior_mean and success_above as that method has them. As best and worst are picked after the fact, the gap of many actions tried once is too large. A NULL state is a state of its own, a NULL action an action of its own. No rows for a NULL group and where nothing is judged; error on Q out of range (NULL of a forgiving group)';

CREATE FUNCTION stepadv.failure_points(rollouts stepadv.rollout_group, method text DEFAULT 'batch_td', gamma float8 DEFAULT 1,
	prior float8 DEFAULT NULL, baseline float8 DEFAULT NULL, prior_mean text DEFAULT 'success_rate', success_above float8 DEFAULT 0)
RETURNS TABLE (rollout_id bigint, n_steps integer, distance float8, last_chance_step_no integer, last_chance_step_id bigint,
			   dead_end_step_no integer, dead_end_step_id bigint, drop_step_no integer, drop_step_id bigint, value_drop float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 4000 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_failure_points';
COMMENT ON FUNCTION stepadv.failure_points(stepadv.rollout_group, text, float8, float8, float8, text, float8) IS
'a row per judged rollout that failed: n_steps; distance, the least cost to the goal from where it began (NULL: it began in a dead end, as all do where no rollout succeeded); last_chance: its last step from a state that a rollout which succeeded was in, too (NULL: it never was in one); dead_end: its first step after which no way of the state graph leads to the goal (graphgpo''s next_distance is NULL; the last step of a rollout leads to next_state, or without it to a dead end unless the rollout was cut off; NULL: it began in one, or never came to one); drop: its step with the largest value_drop, V(s) - (r + gamma V(s'')), for the last step V(s) - the rest of its return (NULL: V never dropped). V is that of method, ''batch_td'' or ''rtmc'', with gamma (1: it matters whether, not how soon), prior (NULL: that method''s default), baseline, prior_mean and success_above as that method has them. All of a rollout without steps are NULL. No rows for a NULL group; error on a cost that is not positive and on values out of range (of a forgiving group: left out, NULL)';

CREATE FUNCTION stepadv.graph_summary(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0, max_bins integer DEFAULT 50)
RETURNS TABLE (n_rollouts integer, n_successes integer, n_steps integer, n_states integer, singleton_share float8, one_rollout_share float8,
			   dead_end_share float8, unreached_share float8, nonzero_share float8, farthest float8,
			   distance_histogram integer[], rollouts_by_depth integer[], visits_by_depth float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2500 ROWS 1 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_graph_summary';
COMMENT ON FUNCTION stepadv.graph_summary(stepadv.rollout_group, float8, integer) IS
'the state graph of a group''s judged rollouts in one row: n_rollouts, n_successes (with steps), n_steps, n_states (the rows of graph_nodes but for the goal) and of these the share visited once (singleton_share), by one rollout however often (one_rollout_share), from which no way leads to the goal (dead_end_share; GraphGPO''s unreachable nodes) and in which no rollout was that succeeded (unreached_share); nonzero_share: of the steps, those whose graph_advantage (graphgpo) is not 0; farthest: the largest distance to the goal; distance_histogram: entry d counts the states farther from the goal than d - 1, up to d (with costs of 1: d steps from it), the last of max_bins entries all that are farther; rollouts_by_depth and visits_by_depth: entry k counts the rollouts with a k-th step, and has the mean number of visits to the states that they were in then, up to max_bins; shares of nothing are NULL, arrays of nothing empty; error on a cost that is not positive';

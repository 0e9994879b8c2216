-- Step-level groups and the state graph: src/estimators/{gigpo,graph,graphgpo,hgpo,tempo}.c,
-- src/analysis/graph_table.c

CREATE FUNCTION stepadv.gigpo(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.95, step_weight float8 DEFAULT 1.0,
	normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6, weighting text DEFAULT 'rollout',
	visit text DEFAULT 'every', singleton text DEFAULT 'zero')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, n_state integer,
			   episode_advantage float8, step_advantage float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1200 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_gigpo';
COMMENT ON FUNCTION stepadv.gigpo(stepadv.rollout_group, float8, float8, text, float8, text, text, text) IS
'GiGPO: episode_advantage is the normalized return of the rollout, step_advantage the discounted return normalized '
'over the n_state steps in the same state (0 if alone); advantage = episode_advantage + step_weight step_advantage; '
'visit ''first'': only first steps; NULL if not judged';

CREATE FUNCTION stepadv.graphgpo(rollouts stepadv.rollout_group, discount float8 DEFAULT 0.1,
	success_reward float8 DEFAULT 10,
	graph_weight float8 DEFAULT 1, episode_weight float8 DEFAULT 1, epsilon float8 DEFAULT 1e-6,
	convention text DEFAULT 'paper', weighting text DEFAULT 'rollout', success_above float8 DEFAULT 0,
	normalise text DEFAULT 'std', epsilon_scale text DEFAULT 'none')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, distance float8, next_distance float8,
			   step_reward float8, n_state integer, episode_advantage float8, graph_advantage float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_graphgpo';
COMMENT ON FUNCTION stepadv.graphgpo(stepadv.rollout_group, float8, float8, float8, float8, float8, text, text,
	float8, text, text) IS
'GraphGPO (eq. 4), if states hide nothing: distance is the least cost from state to goal over the steps of all judged '
'rollouts; graph_advantage is the step_reward, computed by convention, normalized over the steps from the same state; '
'episode_weight adds the episode advantage; NULL if not judged';

CREATE FUNCTION stepadv.hgpo(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.95,
	history_length integer DEFAULT 2,
	alpha float8 DEFAULT 1.0, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6,
	base_group boolean DEFAULT false, weighting text DEFAULT 'rollout', convention text DEFAULT 'recipe')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, n_state integer,
			   n_levels integer, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_hgpo';
COMMENT ON FUNCTION stepadv.hgpo(stepadv.rollout_group, float8, integer, float8, text, float8, boolean, text, text) IS
'HGPO: the discounted return normalized (ddof 0) over the steps with the same last k states, for k = 1 to '
'history_length + 1, averaged with weights (k + 1) ^ alpha (convention ''recipe'') or k ^ alpha (''original''); '
'levels without another step are left out; NULL for rollouts that are not judged';

CREATE FUNCTION stepadv.tempo(rollouts stepadv.rollout_group, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, value float8, next_value float8,
			   advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_tempo';
COMMENT ON FUNCTION stepadv.tempo(stepadv.rollout_group, text, float8) IS
'TEMPO over steps: value and next_value are the mean undiscounted returns of the rollouts that begin with the same '
'actions before and after the step; advantage = (return - mean + next_value - value) / (sd + epsilon); normalise '
'''mean'' omits the division; NULL for rollouts that are not judged';

CREATE FUNCTION stepadv.graph_nodes(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (state bigint, n_visits integer, n_rollouts integer, distance float8, is_goal boolean, is_start boolean,
			   is_dead_end boolean, on_cycle boolean, step_id bigint)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000 ROWS 50 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_graph_nodes';
COMMENT ON FUNCTION stepadv.graph_nodes(stepadv.rollout_group, float8) IS
'the states of the judged rollouts of a group, and a row for the goal (is_goal, state NULL): n_visits, n_rollouts, '
'distance (least cost to the goal), is_start, is_dead_end (no path to the goal), on_cycle, step_id of one step taken '
'there; each NULL state is a separate node';

CREATE FUNCTION stepadv.graph_edges(rollouts stepadv.rollout_group, discount float8 DEFAULT 0.1,
	success_reward float8 DEFAULT 10,
	epsilon float8 DEFAULT 1e-6, convention text DEFAULT 'paper', success_above float8 DEFAULT 0,
	normalise text DEFAULT 'std', epsilon_scale text DEFAULT 'none')
RETURNS TABLE (state bigint, action bigint, next_state bigint, n_visits integer, n_rollouts integer, cost float8,
			   distance float8, next_distance float8, step_reward float8, graph_advantage float8, step_id bigint)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_graph_edges';
COMMENT ON FUNCTION stepadv.graph_edges(stepadv.rollout_group, float8, float8, float8, text, float8, text, text) IS
'the edges of the state graph of a group, one per state, action and next state (next_state NULL: the goal, or an '
'unknown end): n_visits, n_rollouts, cost (the least), distances to the goal before and after, step_reward and '
'graph_advantage of graphgpo (means over the steps), step_id of one step';

CREATE FUNCTION stepadv.contribution(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (rollout_id bigint, n_steps integer, n_contributing integer, share float8, success boolean)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_contribution';
COMMENT ON FUNCTION stepadv.contribution(stepadv.rollout_group, float8) IS
'per rollout, the number of steps that reduce the distance to the goal (n_contributing) and their share (GraphGPO, '
'figure 1); both NULL if no rollout of the group reached the goal, or the rollout is not judged; share is NULL for a '
'rollout without steps';

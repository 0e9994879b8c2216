-- Step-level groups and the state graph: src/estimators/gigpo.c, graph.c, graphgpo.c, graph_table.c,
-- hgpo.c, tempo.c

CREATE FUNCTION stepadv.gigpo(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.95, step_weight float8 DEFAULT 1.0,
	normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6, weighting text DEFAULT 'rollout',
	visit text DEFAULT 'every', singleton text DEFAULT 'zero')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, n_state integer,
			   episode_advantage float8, step_advantage float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1200 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_gigpo';
COMMENT ON FUNCTION stepadv.gigpo(stepadv.rollout_group, float8, float8, text, float8, text, text, text) IS
'GiGPO: episode_advantage is the rollout''s return normalised over the group, step_advantage the discounted return G_t normalised over the n_state steps of the group in the same state (0 where there is one), advantage = episode_advantage + step_weight * step_advantage; normalise ''std'' (ddof 1), ''mean'', ''none''; weighting ''step'' counts a rollout once per step in the episode part; visit ''first'': only a rollout''s first step in a state enters that state''s statistics; singleton: a lone rollout has episode_advantage 0 (''zero'') or its return, with ''std'' / (1 + epsilon) (''raw'', as verl''s code); NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.graphgpo(rollouts stepadv.rollout_group, discount float8 DEFAULT 0.1, success_reward float8 DEFAULT 10,
	graph_weight float8 DEFAULT 1, episode_weight float8 DEFAULT 1, epsilon float8 DEFAULT 1e-6,
	convention text DEFAULT 'paper', weighting text DEFAULT 'rollout', success_above float8 DEFAULT 0,
	normalise text DEFAULT 'std', epsilon_of text DEFAULT 'absolute')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, distance float8, next_distance float8,
			   step_reward float8, n_state integer, episode_advantage float8, graph_advantage float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_graphgpo';
COMMENT ON FUNCTION stepadv.graphgpo(stepadv.rollout_group, float8, float8, float8, float8, float8, text, text, float8, text, text) IS
'GraphGPO (eq. 4): distance is the least cost from the step''s state to the goal over the steps of all judged rollouts, next_distance that after the step (NULL: no way; a last step leads to the goal if the rollout succeeded, else to next_state); step_reward = success_reward * discount ^ x with x = next_distance + cost (convention ''paper''), next_distance (''recipe'', the authors'' code), next_distance - distance + 1 (''progress''), no way counting as the largest distance + 1; graph_advantage is step_reward normalised over the n_state steps from the same state, 0 for the only one and in a group without success; advantage = graph_weight * graph_advantage + episode_weight * episode_advantage; normalise, for both: ''std'' (ddof 1), ''mean'' (the recipe''s mean_norm), ''none''; epsilon_of: of the graph part epsilon is a number (''absolute'', as in the paper and the recipe), a share of the sd of all step rewards of the group (''spread''), or a share of the largest step reward from the same state (''state'': steps far from the goal, whose rewards differ by less than 1e-6, stand out of each other as those near it do); error on a cost that is not positive; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.hgpo(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.95, history_length integer DEFAULT 2,
	alpha float8 DEFAULT 1.0, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6,
	base_group boolean DEFAULT false, weighting text DEFAULT 'rollout', convention text DEFAULT 'recipe')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, n_state integer,
			   n_levels integer, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_hgpo';
COMMENT ON FUNCTION stepadv.hgpo(stepadv.rollout_group, float8, integer, float8, text, float8, boolean, text, text) IS
'HGPO: the discounted return normalised (ddof 0) over the steps of the group with the same last k states, for k = 1 to history_length + 1, and averaged with weights (k + 1) ^ alpha (convention ''recipe'', verl-agent''s) or k ^ alpha (''original'', the authors''); levels where no other step shares the history, or whose value is exactly 0, are left out; n_levels were not; base_group adds the episode''s advantage as level 0 (recipe only); in rational arithmetic these are exactly the numbers of the public code, whose rounding noise can keep a level that is exactly 0; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.tempo(rollouts stepadv.rollout_group, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, value float8, next_value float8,
			   advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_tempo';
COMMENT ON FUNCTION stepadv.tempo(stepadv.rollout_group, text, float8) IS
'TEMPO at the granularity of steps: value and next_value are the mean undiscounted returns of the rollouts that begin with the same actions before and after the step, advantage = (return - mean + next_value - value) / (sd + epsilon), sd with ddof 1; normalise ''mean'' omits the division; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.graph_nodes(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (state bigint, visits integer, rollouts integer, distance float8, is_goal boolean, is_start boolean,
			   dead_end boolean, on_cycle boolean, step_id bigint)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000 ROWS 50 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_graph_nodes';
COMMENT ON FUNCTION stepadv.graph_nodes(stepadv.rollout_group, float8) IS
'the states of a group''s judged rollouts, and one row for the goal (is_goal, state NULL) if a rollout reached it: visits, rollouts that were there, distance (least cost to the goal), is_start (a rollout began there), dead_end (no way from it to the goal: distance is NULL), on_cycle (a walk leads back to it), step_id of one step taken there; a NULL state is a node of its own';

CREATE FUNCTION stepadv.graph_edges(rollouts stepadv.rollout_group, discount float8 DEFAULT 0.1, success_reward float8 DEFAULT 10,
	epsilon float8 DEFAULT 1e-6, convention text DEFAULT 'paper', success_above float8 DEFAULT 0,
	normalise text DEFAULT 'std', epsilon_of text DEFAULT 'absolute')
RETURNS TABLE (state bigint, action bigint, next_state bigint, visits integer, rollouts integer, cost float8,
			   distance float8, next_distance float8, step_reward float8, graph_advantage float8, step_id bigint)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_graph_edges';
COMMENT ON FUNCTION stepadv.graph_edges(stepadv.rollout_group, float8, float8, float8, text, float8, text, text) IS
'the edges of a group''s state graph, one per state, action and state it led to (next_state NULL: the goal if next_distance is 0, else an end that nothing is known of): visits (steps), rollouts, cost (the least), distances to the goal before and after (NULL: no way), step_reward and graph_advantage of graphgpo (means over the steps), step_id of one step';

CREATE FUNCTION stepadv.distances(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (state bigint, distance float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 50 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_distances';
COMMENT ON FUNCTION stepadv.distances(stepadv.rollout_group, float8) IS
'least cost from every state of a group''s judged rollouts to the goal (NULL: no way); the goal itself is the row with state NULL and distance 0';

CREATE FUNCTION stepadv.contribution(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (rollout_id bigint, n_steps integer, n_contributing integer, share float8, success boolean)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_contribution';
COMMENT ON FUNCTION stepadv.contribution(stepadv.rollout_group, float8) IS
'per rollout, the steps that reduce the distance to the goal (n_contributing) and their share (GraphGPO, figure 1); both NULL where no rollout of the group reached the goal and for rollouts not judged yet; share is NULL for a rollout without steps';

-- labels may be NULL (their default), so this is not STRICT: NULL of a NULL group.

CREATE FUNCTION stepadv.graph_dot(rollouts stepadv.rollout_group, labels jsonb DEFAULT NULL, state_labels jsonb DEFAULT NULL,
	min_visits integer DEFAULT 1, max_edges integer DEFAULT 100, label_length integer DEFAULT 40,
	discount float8 DEFAULT 0.1, success_reward float8 DEFAULT 10, epsilon float8 DEFAULT 1e-6,
	convention text DEFAULT 'paper', success_above float8 DEFAULT 0,
	normalise text DEFAULT 'std', epsilon_of text DEFAULT 'absolute', estimates jsonb DEFAULT NULL)
RETURNS text
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5000
AS 'MODULE_PATHNAME', 'stepadv_graph_dot';
COMMENT ON FUNCTION stepadv.graph_dot(stepadv.rollout_group, jsonb, jsonb, integer, integer, integer, float8, float8, float8, text, float8, text, text, jsonb) IS
'the state graph as Graphviz text: boxes are states (distance to the goal, visits), green near the goal to orange far from it, dead ends red, where rollouts began with a thick rim; edges are actions (label, visits, graph advantage), as wide as they are travelled, green if they come nearer to the goal, red if they lead to a dead end; labels, state_labels: objects of texts by step_id, as jsonb_object_agg(step_id, text) makes them, for actions and for the states they were taken in; estimates: what any method says in the place of graphgpo, an object by step_id of advantages or of objects with advantage and maybe v, as jsonb_object_agg(step_id, to_jsonb(e)) makes it of stepadv.batch_td(g) e (an edge, a state: the mean of its steps''; NULL: not shown; error on what is no number); only edges with min_visits, at most max_edges of them';


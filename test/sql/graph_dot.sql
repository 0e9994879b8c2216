-- graph_dot: the picture as text, its colours, labels and pruning.
CREATE SCHEMA graph_dot;
SET search_path = graph_dot, stepadv, public;
\set VERBOSITY terse
\pset format unaligned
\t on

-- Rollout 1: 1 2 3 goal, with a loop on 2; rollout 2: 1 2, another loop, and into 4; rollout 3: 1 and off to somewhere. 3 is 1 from the goal, 2 is 2.
CREATE TABLE x AS SELECT rollout_agg(id, rollout, no, state, action, 0, rollout = 1, next_state, NULL, NULL, NULL) AS g FROM (VALUES
	(1, 1, 0, 1, 1, NULL), (2, 1, 1, 2, 2, NULL), (3, 1, 2, 2, 3, NULL), (4, 1, 3, 3, 4, NULL),
	(5, 2, 0, 1, 1, NULL), (6, 2, 1, 2, 6, NULL), (7, 2, 2, 2, 5, 4), (8, 3, 0, 1, NULL, NULL)) v(id, rollout, no, state, action, next_state);
SELECT graph_dot(g) FROM x;
-- labels of actions and states, hostile ones too, clipped
SELECT graph_dot(g, labels => jsonb_build_object('1', E'say "hi"\\ \n more than fits', '4', 4), state_labels => '{"1": "start", "2": "<b>é</b>"}', label_length => 12, min_visits => 2) FROM x;
-- the most travelled edges, of equal ones the first; by another convention
SELECT graph_dot(g, max_edges => 2, convention => 'recipe', discount => 0.5, epsilon => 0) FROM x;
-- of another method, with the values of states; graphgpo's own make the same picture; of an edge's steps the mean, of those that have one
SELECT graph_dot(g, estimates => '{"1": 1, "5": 2.5, "2": {"v": 7}, "3": {"advantage": -1, "v": 8}, "4": null, "6": {"advantage": null, "v": null}, "99": 1}') FROM x;
SELECT graph_dot(g, estimates => (SELECT jsonb_object_agg(step_id, graph_advantage) FROM graphgpo(g))) = graph_dot(g) FROM x;
-- no goal; nobody judged; NULL
SELECT graph_dot(rollout_agg(i, i, 0, 1, i, 0)) FROM generate_series(1, 1) i;
SELECT graph_dot(rollout_agg(i, i, 0, 1, i, NULL)) FROM generate_series(1, 1) i;
SELECT graph_dot(NULL) IS NULL;

SELECT graph_dot(g, min_visits => 0) FROM x;
SELECT graph_dot(g, max_edges => NULL) FROM x;
SELECT graph_dot(g, label_length => 0) FROM x;
SELECT graph_dot(g, estimates => '1') FROM x;
SELECT graph_dot(g, estimates => '{"8": {"advantage": "1"}}') FROM x;
SELECT graph_dot(g, discount => 7) FROM x;

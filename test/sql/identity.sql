-- Missing identities are computed by a row trigger: state, next_state and action_hash of the canonical tables. Given values stay.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('idn', views => '{all}');
INSERT INTO idn.rollouts (task_id, rollout_id, outcome) VALUES ('t', 'a', 1), ('t', 'b', 0), ('u', 'a', 1);

-- Against plain SQL: what is computed from each row, and given values.
INSERT INTO idn.steps (task_id, rollout_id, step_no, observation, next_observation, action, tool, args, ok, state, next_state, action_hash) VALUES
	('t', 'a', 0, 'a door', 'a key', 'open it', NULL, NULL, NULL, NULL, NULL, NULL),
	('t', 'a', 1, 'a key', NULL, 'words', 'bash', '{"command": "pytest tests/test_a.py"}', true, NULL, NULL, NULL),
	('t', 'a', 2, 'a key', '', NULL, 'bash', '{"command": "pytest tests/test_a.py"}', false, NULL, NULL, NULL),
	('t', 'b', 0, 'a door', NULL, NULL, 'find_bag', '{"color": "red"}', true, NULL, NULL, NULL),
	('t', 'b', 1, NULL, NULL, NULL, 'find_bag', '{"color": "blue"}', NULL, NULL, NULL, NULL),
	('t', 'b', 2, NULL, NULL, NULL, 'find_bag', NULL, NULL, NULL, NULL, NULL),
	('t', 'b', 3, NULL, NULL, NULL, 'find_bag', '7', NULL, NULL, NULL, NULL),
	('t', 'b', 4, NULL, NULL, NULL, 'find_bag', '["red", {"a": null}]', NULL, NULL, NULL, NULL),
	('t', 'b', 5, '', NULL, NULL, 'think', NULL, NULL, NULL, NULL, NULL),
	('u', 'a', 0, 'a door', 'a key', 'open it', 'bash', '"ls"', true, 1, 2, 3),
	('u', 'a', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('u', 'a', 2, repeat(E'\u00e4 long text ', 100000), NULL, NULL, 'bash', jsonb_build_object('command', 'echo ' || repeat('x', 100000)), NULL, NULL, NULL, NULL);
CREATE VIEW identities AS
SELECT task_id, rollout_id, step_no, observation, next_observation, action, tool, args, ok, state, next_state, action_hash,
	stepadv.signature_hash(observation) AS of_observation, stepadv.signature_hash(next_observation) AS of_next,
	CASE WHEN tool IS NULL THEN stepadv.signature_hash(action)
		WHEN stepadv.action_signature(tool, args, ok) LIKE 'other:%' THEN stepadv.signature_hash(jsonb_build_array(tool, args))
		ELSE stepadv.signature_hash(stepadv.action_signature(tool, args, ok)) END AS of_action
FROM idn.steps;
SELECT count(*) FILTER (WHERE state IS DISTINCT FROM of_observation OR next_state IS DISTINCT FROM of_next OR action_hash IS DISTINCT FROM of_action) AS off, count(state) AS states, count(next_state) AS next_states, count(action_hash) AS actions
FROM identities WHERE (task_id, step_no) <> ('u', 0);
SELECT state, next_state, action_hash FROM idn.steps WHERE task_id = 'u' AND step_no < 2 ORDER BY step_no;
-- With a tool, its calls are distinguished by signature (a failed call is another action than one that passed), else by arguments.
SELECT x.step_no AS x, y.step_no AS y, x.action_hash = y.action_hash AS one_action FROM idn.steps x, idn.steps y
WHERE (x.rollout_id, y.rollout_id) IN (('a', 'a'), ('b', 'b')) AND x.task_id = 't' AND y.task_id = 't' AND (x.step_no, y.step_no) IN ((1, 2), (0, 1), (1, 3)) AND x.tool = y.tool ORDER BY x.rollout_id, 1, 2;
-- The purpose: the door is one state in both rollouts.
SELECT rollout_id, step_no, n_state, n_action FROM idn.steps_rtmc WHERE task_id = 't' AND step_no = 0 ORDER BY 1;

-- An UPDATE: a computed value follows its text; a given one stays; one set to NULL is computed.
BEGIN;
UPDATE idn.steps SET observation = 'a window', next_observation = NULL, action = 'look' WHERE task_id = 't' AND rollout_id = 'a' AND step_no = 0;
UPDATE idn.steps SET ok = false WHERE task_id = 't' AND rollout_id = 'a' AND step_no = 1;
UPDATE idn.steps SET tool = NULL, action = 'just words' WHERE task_id = 't' AND rollout_id = 'b' AND step_no = 0;
UPDATE idn.steps SET observation = 'now seen' WHERE task_id = 't' AND rollout_id = 'b' AND step_no = 1;
SELECT count(*) FILTER (WHERE state IS DISTINCT FROM of_observation OR next_state IS DISTINCT FROM of_next OR action_hash IS DISTINCT FROM of_action) AS stale FROM identities WHERE task_id = 't';
SELECT rollout_id, step_no, next_state, state = stepadv.signature_hash('a window'::text) AS window, action_hash = stepadv.signature_hash('look'::text) AS look FROM idn.steps WHERE observation = 'a window';
UPDATE idn.steps SET observation = 'another', next_observation = 'another', args = '{"command": "rm x"}' WHERE task_id = 'u' AND step_no = 0;
SELECT state, next_state, action_hash FROM idn.steps WHERE task_id = 'u' AND step_no = 0;
UPDATE idn.steps SET state = NULL, next_state = NULL, action_hash = NULL WHERE task_id = 'u' AND step_no = 0;
SELECT state = of_observation AS state, next_state = of_next AS next_state, action_hash = of_action AS action FROM identities WHERE task_id = 'u' AND step_no = 0;
-- A state given together with the text stays.
UPDATE idn.steps SET observation = 'yet another', state = 77 WHERE task_id = 'u' AND step_no = 0;
SELECT state, next_state = of_next AS next_state FROM identities WHERE task_id = 'u' AND step_no = 0;
-- Updates of other columns change nothing; nor does a move to another partition.
CREATE TEMP TABLE before AS SELECT step_id, state, next_state, action_hash FROM idn.steps;
UPDATE idn.steps SET metadata = '{}', turn = step_no, reward = 1;
-- Up to 14 the move is done by hand, as the error's hint says.
DO $$
BEGIN
	UPDATE idn.rollouts SET policy_version = 'v' || rollout_id;
EXCEPTION WHEN feature_not_supported THEN
	INSERT INTO idn.rollouts (policy_version, task_id, rollout_id, outcome) SELECT 'v' || rollout_id, task_id, rollout_id, outcome FROM idn.rollouts;
	UPDATE idn.steps SET policy_version = 'v' || rollout_id;
	DELETE FROM idn.rollouts WHERE policy_version = '';
END $$;
SELECT count(*) AS changed FROM idn.steps s JOIN before b USING (step_id) WHERE (s.state, s.next_state, s.action_hash) IS DISTINCT FROM (b.state, b.next_state, b.action_hash);
SELECT count(*) AS moved FROM idn.steps WHERE policy_version <> '';
ROLLBACK;

-- A state that no other step shares, where there is an observation.
INSERT INTO idn.steps (task_id, rollout_id, step_no, observation, state) SELECT 't', 'a', 10 + i, 'a door', stepadv.unique_state() FROM generate_series(1, 3) i;
SELECT count(DISTINCT state) AS different, bool_or(state = stepadv.signature_hash('a door'::text)) AS is_the_door FROM idn.steps WHERE step_no > 10;
SELECT count(DISTINCT stepadv.unique_state()) AS different FROM generate_series(1, 10000);
SELECT provolatile, proparallel FROM pg_proc WHERE oid = 'stepadv.unique_state()'::regprocedure;
DELETE FROM idn.steps WHERE step_no > 10;

-- However rows come: COPY, text and binary; with ON CONFLICT; by another's trigger before.
\copy idn.steps (task_id, rollout_id, step_no, observation, tool, args) from stdin
t	a	20	a door	bash	{"command": "ls"}
t	a	21	\N	\N	\N
\.
SELECT step_no, state = of_observation AS state, action_hash = of_action AS action FROM identities WHERE step_no BETWEEN 20 AND 29 ORDER BY 1;
INSERT INTO idn.steps (task_id, rollout_id, step_no, observation) VALUES ('t', 'a', 20, 'a hall') ON CONFLICT (run_id, policy_version, task_id, rollout_id, step_no) DO UPDATE SET observation = excluded.observation;
SELECT observation, state = of_observation AS state FROM identities WHERE step_no = 20;
CREATE FUNCTION clean() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.observation := btrim(NEW.observation); RETURN NEW; END $$;
CREATE TRIGGER clean BEFORE INSERT ON idn.steps FOR EACH ROW EXECUTE FUNCTION clean();
INSERT INTO idn.steps (task_id, rollout_id, step_no, observation) VALUES ('t', 'a', 22, '  a hall ');
SELECT state = stepadv.signature_hash('a hall'::text) AS cleaned_before FROM idn.steps WHERE step_no = 22;
DROP TRIGGER clean ON idn.steps;
DROP FUNCTION clean();

-- Columns can be renamed; what cannot be computed is an error with the reason.
BEGIN;
ALTER TABLE idn.steps RENAME observation TO seen;
ALTER TABLE idn.steps RENAME state TO place;
INSERT INTO idn.steps (task_id, rollout_id, step_no, seen) VALUES ('t', 'a', 30, 'a hall');
UPDATE idn.steps SET seen = 'a garden' WHERE step_no = 30;
SELECT place = stepadv.signature_hash('a garden'::text) AS follows FROM idn.steps WHERE step_no = 30;
ROLLBACK;
CREATE TABLE plain (o text, n integer, s bigint, h bigint, a text);
CREATE TRIGGER t BEFORE INSERT ON plain FOR EACH ROW EXECUTE FUNCTION stepadv_internal.fill_identities('observation', 'state');
INSERT INTO plain VALUES ('x');
DROP TRIGGER t ON plain;
CREATE TRIGGER t BEFORE INSERT OR UPDATE OF o, s ON plain FOR EACH ROW EXECUTE FUNCTION stepadv_internal.fill_identities('observation', 'states');
INSERT INTO plain VALUES ('x');
DROP TRIGGER t ON plain;
CREATE TRIGGER t BEFORE INSERT OR UPDATE OF o, n ON plain FOR EACH ROW EXECUTE FUNCTION stepadv_internal.fill_identities('observation', 'state');
INSERT INTO plain VALUES ('x');
DROP TRIGGER t ON plain;
CREATE TRIGGER t AFTER INSERT ON plain FOR EACH ROW EXECUTE FUNCTION stepadv_internal.fill_identities();
INSERT INTO plain VALUES ('x');
DROP TRIGGER t ON plain;
CREATE TRIGGER t BEFORE INSERT ON plain FOR EACH STATEMENT EXECUTE FUNCTION stepadv_internal.fill_identities();
INSERT INTO plain VALUES ('x');
DROP TRIGGER t ON plain;
SELECT stepadv_internal.fill_identities();
-- In a user's own table: a state without an observation is never filled, an action without a tool is that of its text.
CREATE TRIGGER t BEFORE INSERT OR UPDATE OF s, a, h ON plain FOR EACH ROW EXECUTE FUNCTION stepadv_internal.fill_identities('state', 'action', 'action_hash');
INSERT INTO plain VALUES ('x', 1, NULL, NULL, 'go');
SELECT s, h = stepadv.signature_hash('go'::text) AS action FROM plain;
-- A column dropped before it: by number, too.
ALTER TABLE plain DROP o;
INSERT INTO plain VALUES (1, NULL, NULL, 'stay');
SELECT count(*) AS filled FROM plain WHERE h = stepadv.signature_hash(a);

-- As create_tables(states => …) says: states that attach makes are not filled, actions are.
SELECT count(*) FILTER (WHERE view_name IS NOT NULL) > 30 AS attached FROM unnest('{observation,observation_last,history,root,signature}'::text[]) s, stepadv.create_tables('idn_' || s, states => s, views => '{all}');
CREATE FUNCTION pg_temp.fill(states text) RETURNS TABLE (state boolean, next_state boolean, action boolean) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %1$I.rollouts (task_id, rollout_id) VALUES (''t'', ''a''); INSERT INTO %1$I.steps (task_id, rollout_id, step_no, observation, next_observation, action) VALUES (''t'', ''a'', 1, ''o'', ''n'', ''a'')', 'idn_' || states);
	RETURN QUERY EXECUTE format('SELECT s.state IS NOT NULL, s.next_state = stepadv.signature_hash(s.next_observation), s.action_hash = stepadv.signature_hash(s.action) FROM %I.steps s', 'idn_' || states);
END $$;
SELECT s, f.* FROM unnest('{observation,observation_last,history,root,signature}'::text[]) s, pg_temp.fill(s) f;

-- Before any rollout is judged: which states are shared, in the whole group and among judged rollouts; against plain SQL.
INSERT INTO idn.rollouts (task_id, rollout_id, outcome) SELECT 'task ' || t, 'r' || r, CASE WHEN t % 3 = 0 OR r > t % 5 THEN NULL ELSE r % 2 END FROM generate_series(1, 30) t, generate_series(1, 5) r;
INSERT INTO idn.rollouts (task_id, rollout_id) VALUES ('no steps', 'a'), ('no steps', 'b'), ('alone', 'a'), ('one walks', 'a'), ('one walks', 'b');
INSERT INTO idn.steps (task_id, rollout_id, step_no, observation)
SELECT 'task ' || t, 'r' || r, s, CASE WHEN (t + s) % 7 > 0 THEN 'place ' || (t * 31 + r * s * 17) % (4 + 5 * t) END FROM generate_series(1, 30) t, generate_series(1, 5) r, generate_series(1, 1 + (t + r) % 4) s;
INSERT INTO idn.steps (task_id, rollout_id, step_no, observation) VALUES ('alone', 'a', 1, 'here'), ('alone', 'a', 2, 'here'), ('one walks', 'a', 1, 'here');
WITH visited AS (
	SELECT s.task_id, s.rollout_id, s.state, count(*) OVER (PARTITION BY s.task_id) AS steps
	FROM idn.steps s
), shared AS (
	SELECT v.task_id, v.state FROM visited v WHERE v.state IS NOT NULL GROUP BY 1, 2 HAVING count(DISTINCT v.rollout_id) > 1
), by_hand AS (
	SELECT r.task_id, count(h.state)::float8 / nullif(count(v.task_id), 0) AS share, count(DISTINCT v.rollout_id) >= 2 AND count(h.state) = 0 AS none
	FROM (SELECT DISTINCT task_id FROM idn.rollouts) r LEFT JOIN visited v USING (task_id) LEFT JOIN shared h ON h.task_id = v.task_id AND h.state = v.state GROUP BY 1)
SELECT count(*) AS groups, count(*) FILTER (WHERE g.all_shared_step_share IS DISTINCT FROM h.share OR g.no_shared_state IS DISTINCT FROM h.none) AS off,
	count(*) FILTER (WHERE g.no_shared_state) > 0 AS some_share_none, count(*) FILTER (WHERE g.n_judged = 0 AND g.all_shared_step_share > 0) > 0 AS before_anything_is_judged,
	count(*) FILTER (WHERE g.all_shared_step_share <> g.shared_step_share) > 0 AS differ_from_the_judged
FROM idn.steps_groups g FULL JOIN by_hand h USING (task_id);
SELECT task_id, n_rollouts, n_steps, all_shared_step_share, no_shared_state FROM idn.steps_groups WHERE task_id !~ '^task|^.$' ORDER BY 1;

DROP TABLE plain;
DROP VIEW identities;
DROP SCHEMA idn, idn_observation, idn_observation_last, idn_history, idn_root, idn_signature CASCADE;

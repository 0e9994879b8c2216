-- The problems.  The policy should succeed with a probability near .45 (which
-- test/sql/credit.sql checks), or the problem says little about credit.

-- ---------- the simulator's own rooms: a key, a locked door, moves that fail
INSERT INTO credit.problems
SELECT n.problem, 'rooms', sim.state_text(sim.start_state(n.task)), 0, 0, n.about
FROM (VALUES ('rooms', 0, 'the simulator''s rooms in a row: fetch the key, unlock the door'),
	('more rooms', 16, 'another instance')) n(problem, task, about);
INSERT INTO credit.choices
SELECT n.problem, sim.state_text(p.state), p.action, p.probability, o.outcomes, 0
FROM (VALUES ('rooms', 0), ('more rooms', 16)) n(problem, task), sim.policy(n.task) p,
	LATERAL (SELECT jsonb_object_agg(CASE WHEN t.next_state IS NULL THEN '!' || t.reward ELSE sim.state_text(t.next_state) END, t.probability) AS outcomes
		FROM sim.transitions(n.task) t WHERE t.state = p.state AND t.action = p.action) o;
INSERT INTO credit.looks
SELECT c.problem, c.state, regexp_replace(c.state, ', (no|with) key', '')
FROM (SELECT DISTINCT problem, state FROM credit.choices WHERE problem LIKE '%rooms') c;

-- ---------- maps
SELECT credit.add_map('open grid', 'grid', 'five by five, nothing in the way, moves slip', ARRAY[
	'S....',
	'.....',
	'.....',
	'.....',
	'....G'], slip => 0.1, skill => 2.5, hazard => 0.03);
SELECT credit.add_map('walls', 'grid', 'two ways round walls', ARRAY[
	'S.#..',
	'.....',
	'##.#.',
	'.....',
	'.#..G'], slip => 0.1, skill => 2.5, hazard => 0.03);
SELECT credit.add_map('key and door', 'grid', 'the key is off the way to the door', ARRAY[
	'..k',
	'.#.',
	'S..',
	'##K',
	'G..'], slip => 0.05, skill => 3, hazard => 0.03);
SELECT credit.add_map('two keys', 'grid', 'two doors one behind the other, each with its key', ARRAY[
	'k..#l',
	'..S.K',
	'.#.##',
	'..L.G'], slip => 0, skill => 4, hazard => 0.02);
SELECT credit.add_map('ice', 'traps', 'a short way between holes in the ice, a longer one around them', ARRAY[
	'S...',
	'.X..',
	'...X',
	'X..G'], slip => 0.06, skill => 7, hazard => 0.01);

-- ---------- edit, test, submit: a repair by a coding agent
INSERT INTO credit.problems (problem, kind, start, hazard, about) VALUES
	('edit, test, submit', 'agent', 'broken, not read', 0.02, 'read, edit, test, submit; edits may break what was right; the test tells');
INSERT INTO credit.choices (problem, state, action, weight, outcomes)
SELECT 'edit, test, submit', s, a, w, o::jsonb FROM (VALUES
	('broken, not read', 'read', 3, '{"broken, read": 1}'),
	('broken, not read', 'search', 2, '{"broken, read": 0.3, "broken, not read": 0.7}'),
	('broken, not read', 'edit', 1.5, '{"fixed, not tested": 0.15, "broken, not read": 0.85}'),
	('broken, not read', 'test', 1, '{"broken, not read": 1}'),
	('broken, not read', 'submit', 0.4, '{"!0": 1}'),
	('broken, read', 'read', 1, '{"broken, read": 1}'),
	('broken, read', 'edit', 3, '{"fixed, not tested": 0.4, "broken, edited": 0.6}'),
	('broken, read', 'rewrite', 1, '{"fixed, not tested": 0.2, "broken, edited": 0.4, "broken, a mess": 0.4}'),
	('broken, read', 'submit', 0.4, '{"!0": 1}'),
	('broken, edited', 'test', 2, '{"broken, test failed": 1}'),
	('broken, edited', 'edit', 2, '{"fixed, not tested": 0.25, "broken, edited": 0.65, "broken, a mess": 0.1}'),
	('broken, edited', 'submit', 2, '{"!0": 1}'),
	('broken, test failed', 'edit', 3, '{"fixed, not tested": 0.5, "broken, edited": 0.5}'),
	('broken, test failed', 'undo', 1, '{"broken, read": 1}'),
	('broken, test failed', 'submit', 0.5, '{"!0": 1}'),
	('broken, a mess', 'undo', 2, '{"broken, read": 1}'),
	('broken, a mess', 'edit', 2, '{"broken, a mess": 0.9, "fixed, not tested": 0.1}'),
	('broken, a mess', 'submit', 1.5, '{"!0": 1}'),
	('fixed, not tested', 'test', 3, '{"fixed, test passed": 0.9, "fixed, not tested": 0.1}'),
	('fixed, not tested', 'edit', 1, '{"fixed, not tested": 0.4, "broken, edited": 0.6}'),
	('fixed, not tested', 'submit', 2, '{"!1": 0.9, "!0": 0.1}'),
	('fixed, test passed', 'submit', 4, '{"!1": 1}'),
	('fixed, test passed', 'edit', 0.7, '{"fixed, not tested": 0.6, "broken, edited": 0.4}'),
	('fixed, test passed', 'read', 0.5, '{"fixed, test passed": 1}')) x(s, a, w, o);
INSERT INTO credit.looks
SELECT DISTINCT problem, state, CASE WHEN state IN ('broken, edited', 'fixed, not tested') THEN 'edited, not tested' ELSE state END
FROM credit.choices WHERE problem = 'edit, test, submit';

-- ---------- irreversible actions
INSERT INTO credit.problems (problem, kind, start, hazard, about) VALUES
	('migration', 'irreversible', 'old schema', 0.01, 'a backup can only be made before; what was dropped is lost, and it shows late');
INSERT INTO credit.choices (problem, state, action, weight, outcomes)
SELECT 'migration', s, a, w, o::jsonb FROM (VALUES
	('old schema', 'look', 2, '{"old schema": 1}'),
	('old schema', 'back up', 1.5, '{"old schema, backup": 0.9, "old schema": 0.1}'),
	('old schema', 'migrate', 2, '{"new schema": 0.7, "half migrated": 0.3}'),
	('old schema', 'drop old tables', 1.2, '{"data lost": 1}'),
	('old schema, backup', 'look', 1, '{"old schema, backup": 1}'),
	('old schema, backup', 'migrate', 3, '{"new schema, backup": 0.7, "half migrated, backup": 0.3}'),
	('old schema, backup', 'drop old tables', 0.7, '{"data lost, backup": 1}'),
	('new schema', 'verify', 2, '{"new schema, verified": 0.8, "half migrated": 0.2}'),
	('new schema', 'drop old tables', 2, '{"finishing": 0.7, "finishing, broken": 0.3}'),
	('new schema', 'look', 1, '{"new schema": 1}'),
	('new schema, backup', 'verify', 2, '{"new schema, verified": 0.8, "half migrated, backup": 0.2}'),
	('new schema, backup', 'drop old tables', 1.5, '{"finishing": 0.7, "data lost, backup": 0.3}'),
	('new schema, backup', 'look', 1, '{"new schema, backup": 1}'),
	('new schema, verified', 'drop old tables', 2, '{"finishing": 1}'),
	('new schema, verified', 'look', 1, '{"new schema, verified": 1}'),
	('new schema, verified', 'migrate', 0.7, '{"half migrated": 0.8, "new schema": 0.2}'),
	('half migrated', 'roll back', 1.5, '{"old schema": 0.5, "data lost": 0.5}'),
	('half migrated', 'migrate', 2, '{"new schema": 0.4, "half migrated": 0.3, "data lost": 0.3}'),
	('half migrated', 'look', 1, '{"half migrated": 1}'),
	('half migrated, backup', 'restore', 1.5, '{"old schema, backup": 1}'),
	('half migrated, backup', 'migrate', 2, '{"new schema, backup": 0.4, "half migrated, backup": 0.3, "data lost, backup": 0.3}'),
	('half migrated, backup', 'look', 1, '{"half migrated, backup": 1}'),
	('data lost, backup', 'restore', 1.5, '{"old schema, backup": 1}'),
	('data lost, backup', 'go on', 1.5, '{"finishing, broken": 1}'),
	('data lost', 'look', 2, '{"data lost": 1}'),
	('data lost', 'repair', 2, '{"data lost": 0.9, "half migrated": 0.1}'),
	('data lost', 'go on', 1.5, '{"finishing, broken": 1}'),
	('finishing', 'update docs', 2, '{"finishing": 0.5, "finishing, docs": 0.5}'),
	('finishing', 'submit', 2, '{"!1": 0.9, "!0": 0.1}'),
	('finishing, docs', 'submit', 3, '{"!1": 1}'),
	('finishing, docs', 'update docs', 1, '{"finishing, docs": 1}'),
	('finishing, broken', 'update docs', 2, '{"finishing, broken": 1}'),
	('finishing, broken', 'verify', 1, '{"data lost": 1}'),
	('finishing, broken', 'submit', 2, '{"!0": 1}')) x(s, a, w, o);
-- Hidden: whether there is a backup, and whether anything is wrong.
INSERT INTO credit.looks
SELECT DISTINCT problem, state, regexp_replace(regexp_replace(state, ', (backup|broken)', ''), '^data lost', 'half migrated')
FROM credit.choices WHERE problem = 'migration';

-- ---------- information: a state is what the agent knows; where the fault is
-- (a: .5, b: .3, c: .2) is not part of it
INSERT INTO credit.problems (problem, kind, start, hazard, about) VALUES
	('find the fault', 'information', 'knows nothing', 0.02, 'reading costs steps and tells where the fault is; fixing the wrong place costs more');
INSERT INTO credit.choices (problem, state, action, weight, outcomes)
SELECT 'find the fault', s, a, w, o::jsonb FROM (VALUES
	('knows nothing', 'read a', 1.5, '{"knows it is a": 0.5, "not a": 0.5}'),
	('knows nothing', 'read b', 1.5, '{"knows it is b": 0.3, "not b": 0.7}'),
	('knows nothing', 'read c', 1.5, '{"knows it is c": 0.2, "not c": 0.8}'),
	('knows nothing', 'run the tests', 1.5, '{"not a": 0.25, "knows nothing": 0.5, "not c": 0.25}'),
	('knows nothing', 'fix a', 1, '{"fixed": 0.5, "made worse": 0.5}'),
	('knows nothing', 'fix b', 1, '{"fixed": 0.3, "made worse": 0.7}'),
	('knows nothing', 'fix c', 1, '{"fixed": 0.2, "made worse": 0.8}'),
	('not a', 'read b', 1.5, '{"knows it is b": 0.6, "knows it is c": 0.4}'),
	('not a', 'read a', 1, '{"not a": 1}'),
	('not a', 'fix a', 0.5, '{"made worse": 1}'),
	('not a', 'fix b', 1.5, '{"fixed": 0.6, "made worse": 0.4}'),
	('not a', 'fix c', 1.5, '{"fixed": 0.4, "made worse": 0.6}'),
	('not b', 'read a', 1.5, '{"knows it is a": 0.714, "knows it is c": 0.286}'),
	('not b', 'fix a', 1.5, '{"fixed": 0.714, "made worse": 0.286}'),
	('not b', 'fix b', 0.5, '{"made worse": 1}'),
	('not b', 'fix c', 1.5, '{"fixed": 0.286, "made worse": 0.714}'),
	('not c', 'read a', 1.5, '{"knows it is a": 0.625, "knows it is b": 0.375}'),
	('not c', 'fix a', 1.5, '{"fixed": 0.625, "made worse": 0.375}'),
	('not c', 'fix b', 1.5, '{"fixed": 0.375, "made worse": 0.625}'),
	('not c', 'fix c', 0.5, '{"made worse": 1}'),
	('knows it is a', 'fix a', 2, '{"fixed": 0.9, "made worse": 0.1}'),
	('knows it is a', 'read a', 1, '{"knows it is a": 1}'),
	('knows it is a', 'fix b', 1, '{"made worse": 1}'),
	('knows it is b', 'fix b', 2, '{"fixed": 0.9, "made worse": 0.1}'),
	('knows it is b', 'read b', 1, '{"knows it is b": 1}'),
	('knows it is b', 'fix c', 1, '{"made worse": 1}'),
	('knows it is c', 'fix c', 2, '{"fixed": 0.9, "made worse": 0.1}'),
	('knows it is c', 'read c', 1, '{"knows it is c": 1}'),
	('knows it is c', 'fix a', 1, '{"made worse": 1}'),
	('fixed', 'submit', 3, '{"!1": 1}'),
	('fixed', 'run the tests', 1.5, '{"fixed": 0.9, "made worse": 0.1}'),
	('made worse', 'undo', 1, '{"knows nothing": 0.8, "made worse": 0.2}'),
	('made worse', 'run the tests', 1.5, '{"made worse": 1}'),
	('made worse', 'submit', 1.2, '{"!0": 1}')) x(s, a, w, o);
-- Hidden: what was read.
INSERT INTO credit.looks
SELECT DISTINCT problem, state, CASE WHEN state LIKE 'not _' OR state LIKE 'knows%' THEN 'at work' ELSE state END
FROM credit.choices WHERE problem = 'find the fault';

-- ---------- luck: the outcome of an action is mostly chance
INSERT INTO credit.problems (problem, kind, start, hazard, about) VALUES
	('flaky tools', 'stochastic', 'stage 1', 0, 'five stages, tools that fail at random: a safe one, a fast one, a gamble');
INSERT INTO credit.choices (problem, state, action, weight, outcomes)
SELECT 'flaky tools', 'stage ' || i, a, w, jsonb_build_object(o1, p1) || jsonb_build_object(o2, p2) || jsonb_build_object(o3, 1 - p1 - p2)
FROM generate_series(1, 5) i, LATERAL (VALUES
	('safe tool', 2, CASE i WHEN 5 THEN '!1' ELSE 'stage ' || i + 1 END, 0.5, 'stage ' || i, 0.48, '!0'),
	('fast tool', 2, CASE WHEN i >= 4 THEN '!1' ELSE 'stage ' || i + 2 END, 0.5, CASE i WHEN 1 THEN 'stage 1' ELSE 'stage ' || i - 1 END, 0.42, '!0'),
	('gamble', 0.4, CASE WHEN i >= 2 THEN '!1' ELSE 'stage ' || i + 4 END, 0.3, 'stage ' || i, 0.2, '!0'),
	('wait', 1, 'stage ' || i, 0.9, '!1', 0, '!0')) c(a, w, o1, p1, o2, p2, o3);
INSERT INTO credit.looks
SELECT DISTINCT problem, state, CASE WHEN state IN ('stage 1', 'stage 2') THEN 'early' WHEN state IN ('stage 3', 'stage 4') THEN 'half-way' ELSE 'late' END
FROM credit.choices WHERE problem = 'flaky tools';

-- ---------- outcomes that are scores, and steps that cost
INSERT INTO credit.problems (problem, kind, start, hazard, about) VALUES
	('shop', 'scores', 'front page', 0.02, 'find an article, choose its options, buy: scores from 0 to 1, .01 off for every search');
INSERT INTO credit.choices (problem, state, action, weight, outcomes, reward)
SELECT 'shop', s, a, w, o::jsonb, r FROM (VALUES
	('front page', 'search name', 2, '{"results, right": 0.5, "results, near": 0.3, "results, wrong": 0.2}', -0.01),
	('front page', 'search words', 2, '{"results, right": 0.2, "results, near": 0.4, "results, wrong": 0.4}', -0.01),
	('front page', 'browse', 1, '{"results, near": 0.3, "results, wrong": 0.4, "front page": 0.3}', 0),
	('results, right', 'open first', 2, '{"article, right": 0.7, "article, near": 0.3}', 0),
	('results, right', 'open another', 1, '{"article, right": 0.3, "article, near": 0.5, "article, wrong": 0.2}', 0),
	('results, right', 'back', 1, '{"front page": 1}', 0),
	('results, near', 'open first', 2, '{"article, near": 0.8, "article, right": 0.2}', 0),
	('results, near', 'next page', 1, '{"results, right": 0.3, "results, wrong": 0.4, "results, near": 0.3}', 0),
	('results, near', 'back', 1, '{"front page": 1}', 0),
	('results, wrong', 'open first', 2, '{"article, wrong": 0.8, "article, near": 0.2}', 0),
	('results, wrong', 'next page', 1, '{"results, near": 0.3, "results, wrong": 0.7}', 0),
	('results, wrong', 'back', 1.5, '{"front page": 1}', 0),
	('article, right', 'choose options', 2, '{"chosen, right": 0.85, "chosen, near": 0.15}', 0),
	('article, right', 'buy', 1, '{"!0.7": 1}', 0),
	('article, right', 'back', 0.7, '{"results, right": 1}', 0),
	('article, near', 'choose options', 2, '{"chosen, near": 1}', 0),
	('article, near', 'buy', 1, '{"!0.4": 1}', 0),
	('article, near', 'back', 1, '{"results, near": 1}', 0),
	('article, wrong', 'choose options', 1, '{"article, wrong": 1}', 0),
	('article, wrong', 'buy', 1, '{"!0": 1}', 0),
	('article, wrong', 'back', 1.5, '{"results, wrong": 1}', 0),
	('chosen, right', 'buy', 3, '{"!1": 1}', 0),
	('chosen, right', 'choose options', 1, '{"chosen, right": 0.6, "chosen, near": 0.4}', 0),
	('chosen, near', 'buy', 3, '{"!0.6": 1}', 0),
	('chosen, near', 'back', 1, '{"results, near": 1}', 0)) x(s, a, w, o, r);
INSERT INTO credit.looks
SELECT DISTINCT problem, state, regexp_replace(state, ', near|, wrong', ', not right')
FROM credit.choices WHERE problem = 'shop';

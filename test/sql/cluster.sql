-- text_similarity and state_cluster. Expected ratios are those of Python's difflib.SequenceMatcher(None, a, b).ratio().
SET search_path = stepadv, public;

SELECT name, abs(text_similarity(a, b) - ratio) < 1e-15 AS ok
FROM (VALUES
	('shifted', 'abcd', 'bcde', 0.75::float8),
	('empty', '', '', 1.0),
	('one empty', '', 'a', 0.0),
	('a word more', 'private Thread currentThread;', 'private volatile Thread currentThread;', 0.8656716417910447),
	('scattered', 'qabxcd', 'abycdf', 0.6666666666666666),
	('long', repeat('abc', 100), repeat('abc', 99) || 'abd', 0.9966666666666667),
	('frequent characters', repeat('x', 250), repeat('x', 200) || repeat('y', 50), 0.8),
	('one way', 'tide', 'diet', 0.25),
	('the other way', 'diet', 'tide', 0.5),
	('characters, not bytes', U&'na\00EFve \2603', U&'naive \2603', 0.8571428571428571)) v(name, a, b, ratio);
SELECT text_similarity(NULL, 'a') IS NULL AS null_for_null;

-- Texts: leader clustering in the window's order, as a greedy loop in Python gives it.
CREATE TEMP TABLE texts AS SELECT * FROM (VALUES
	(1, 'You are in the kitchen. You see a red apple on the table.'), (2, 'You are in the kitchen. You see a red apple on the table!'),
	(3, 'You are in the bedroom. You see a lamp.'), (4, 'You are in the kitchen. You see a red apple on the tables!'), (5, ''),
	(6, 'You are in the bedroom. You see a lamp'), (7, ''), (8, NULL)) v(i, t);
SELECT array_agg(c ORDER BY i) = '{1,1,2,1,3,2,3,NULL}' AS at_95, array_agg(half ORDER BY i) = '{1,1,1,1,2,1,2,NULL}' AS at_50,
       array_agg(same ORDER BY i) = '{1,2,3,4,5,6,5,NULL}' AS at_100, array_agg(any_ ORDER BY i) = '{1,1,1,1,1,1,1,NULL}' AS at_0
FROM (SELECT i, state_cluster(t) OVER w AS c, state_cluster(t, 0.5) OVER w AS half, state_cluster(t, 1) OVER w AS same, state_cluster(t, 0) OVER w AS any_
	FROM texts WINDOW w AS (ORDER BY i)) x;

-- Partitions are apart; the frame makes no difference.
SELECT array_agg(c ORDER BY p, i) = '{1,1,2,1,2,2}' AS partitions
FROM (SELECT p, i, state_cluster(t) OVER (PARTITION BY p ORDER BY i ROWS BETWEEN CURRENT ROW AND CURRENT ROW) AS c
	FROM (VALUES (1, 1, 'aaaa'), (1, 2, 'aaaa'), (1, 3, 'bbbb'), (2, 1, 'bbbb'), (2, 2, 'cccc'), (2, 3, 'cccc')) v(p, i, t)) x;

-- Bad input.
SELECT state_cluster('a'::text, 1.5) OVER ();
SELECT state_cluster('a'::text, -0.1) OVER ();
SELECT state_cluster('a'::text, 'NaN') OVER ();
SELECT state_cluster('a'::text, NULL) OVER ();

-- Parameters of states in attach.
\set SHOW_CONTEXT never
CREATE TABLE clu_steps (id bigint PRIMARY KEY, task integer, run text, n integer, act integer, score float8);
SELECT attach('clu_steps', '{task}', 'run', 'n', 'act', 'act', 'score', views => '{all}', prefix => 'x', options => '{"states": {"kind": "history_last", "history_length": 0}}');
SELECT attach('clu_steps', '{task}', 'run', 'n', 'act', 'act', 'score', views => '{all}', prefix => 'x', options => '{"states": {"kind": "history_last", "history_length": 1.5}}');
SELECT attach('clu_steps', '{task}', 'run', 'n', 'act', 'act', 'score', views => '{all}', prefix => 'x', options => '{"states": {"kind": "observation_last", "threshold": 0.9}}');
DROP TABLE clu_steps;

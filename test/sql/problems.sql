-- Defects stay local. For a table with every kind of defect, all views of attach answer; groups without a defect have the numbers of clean data; a rollout with one has no
-- advantages, and the others have those of a group without it, by every method; <prefix>_problems lists each defect with the user's ids, counted in plain SQL. The same for
-- kept groups, in any order of rows and by workers. Direct calls are strict.
\set SHOW_CONTEXT never
CREATE SCHEMA bad;

-- Nine groups of four rollouts with five steps, in states that others share.
CREATE TABLE bad.clean (
	id bigint PRIMARY KEY, task text, run text, n bigint, st text, act text, rew numeric, v float8, tr float8, c float8,
	logp real[], logp_old real[], mask boolean[], pv text, started timestamptz, share numeric
);
INSERT INTO bad.clean
SELECT row_number() OVER (), 'task ' || t, 'run ' || r, n, 's' || CASE WHEN n = 1 THEN 0 ELSE (n + r) % 3 END, 'a' || (n * r + t) % 3,
	CASE WHEN n = 5 THEN (r * t) % 3 ELSE (n * r) % 2 / 8.0 END, (n + r + t) % 7 / 7.0, (n * r + t) % 4 / 4.0, 1 + (n + r) % 2,
	ARRAY[-1, -2, -0.5]::real[], ARRAY[-1.25, -2, -0.25]::real[], ARRAY[true, false, true], 'v' || t % 2, '2026-01-01Z'::timestamptz + t * interval '1 day', n / 8.0
FROM generate_series(1, 9) t, generate_series(1, 4) r, generate_series(1, 5) n;
CREATE INDEX ON bad.clean (task);
CREATE TABLE bad.steps (LIKE bad.clean INCLUDING ALL);
INSERT INTO bad.steps SELECT * FROM bad.clean;
-- The same without the rollouts that will get defects.
CREATE TABLE bad.rest (LIKE bad.clean INCLUDING ALL);

CREATE FUNCTION bad.attach(source regclass, more jsonb DEFAULT '{}') RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM stepadv.attach(source, '{task}', 'run', 'n', state => 'st', action => 'act', reward => 'rew', columns => '{"step_id": "id", "value": "v", "turn_reward": "tr", "cost": "c", "logp_new": "logp", "logp_old": "logp_old", "token_mask": "mask", "policy_version": "pv", "started_at": "started", "contribution": "share"}', views => '{all}', options => more)
$$;
SELECT bad.attach('bad.clean') > 30 AS clean, bad.attach('bad.steps') > 30 AS steps, bad.attach('bad.rest') > 30 AS rest;
-- Clean data have no problems.
SELECT count(*) FROM bad.steps_problems;

-- The defects, one in one rollout each.
-- (1, 2) a step twice, and with another action
INSERT INTO bad.steps SELECT 1001, task, run, n, st, 'other', rew, v, tr, c, logp, logp_old, mask, pv, started, share FROM bad.steps WHERE task = 'task 1' AND run = 'run 2' AND n = 3;
-- (1, 3) a reward that is not finite
UPDATE bad.steps SET rew = 'NaN' WHERE task = 'task 1' AND run = 'run 3' AND n = 2;
-- (2, 1) a value is missing, (2, 2) one is not finite, (2, 3) all are missing
UPDATE bad.steps SET v = NULL WHERE task = 'task 2' AND run = 'run 1' AND n IN (2, 4);
UPDATE bad.steps SET v = 'Infinity' WHERE task = 'task 2' AND run = 'run 2' AND n = 1;
UPDATE bad.steps SET v = NULL WHERE task = 'task 2' AND run = 'run 3';
-- (3, 1) a turn reward that is not finite; (9, 1) such a cost, (9, 2) one that is not above 0
UPDATE bad.steps SET tr = '-Infinity' WHERE task = 'task 3' AND run = 'run 1' AND n = 5;
UPDATE bad.steps SET c = 'NaN' WHERE task = 'task 9' AND run = 'run 1' AND n = 4;
UPDATE bad.steps SET c = 0 WHERE task = 'task 9' AND run = 'run 2' AND n IN (1, 2);
-- (4, 1) two outcomes, (4, 2) too large for a number, (4, 3) not judged, (4, 9) no steps
INSERT INTO bad.steps (id, task, run, rew, pv, started) SELECT 1010 + i, 'task 4', 'run 1', i, 'v0', '2026-01-05Z' FROM generate_series(1, 2) i;
UPDATE bad.steps SET rew = 1e400 WHERE task = 'task 4' AND run = 'run 2' AND n = 1;
UPDATE bad.steps SET rew = NULL WHERE task = 'task 4' AND run = 'run 3';
INSERT INTO bad.steps (id, task, run, rew, pv, started) VALUES (1015, 'task 4', 'run 9', 1, 'v0', '2026-01-05Z');
-- (5, 1) gaps; (5, 2) a number beyond integer; (5, 3) two of them
UPDATE bad.steps SET n = n * 10 WHERE task = 'task 5' AND run = 'run 1';
UPDATE bad.steps SET n = 5000000000 WHERE task = 'task 5' AND run = 'run 2' AND n = 5;
UPDATE bad.steps SET n = -5000000000 - n WHERE task = 'task 5' AND run = 'run 3' AND n <= 2;
-- (6, 1) log-probabilities of different length, missing, not finite; (6, 2) a contribution
UPDATE bad.steps SET logp = logp[1:2] WHERE task = 'task 6' AND run = 'run 1' AND n = 1;
UPDATE bad.steps SET mask = mask[1:2] WHERE task = 'task 6' AND run = 'run 1' AND n = 2;
UPDATE bad.steps SET logp[1] = NULL WHERE task = 'task 6' AND run = 'run 1' AND n = 3;
UPDATE bad.steps SET logp[3] = 'Infinity' WHERE task = 'task 6' AND run = 'run 1' AND n = 4;
UPDATE bad.steps SET mask[1] = NULL WHERE task = 'task 6' AND run = 'run 1' AND n = 5;
UPDATE bad.steps SET share = 'NaN' WHERE task = 'task 6' AND run = 'run 2' AND n = 3;
-- (7) rows of no rollout, of a rollout without a name, of no group
INSERT INTO bad.steps (id, task, run, n, rew) SELECT 1020 + i, 'task 7', NULL, i, 1 FROM generate_series(1, 3) i;
INSERT INTO bad.steps (id, task, run, n, st, act, rew, v, tr, c, logp, logp_old, mask, pv, started, share)
SELECT 1030 + n, task, '', n, st, act, rew, v, tr, c, logp, logp_old, mask, pv, started, share FROM bad.clean WHERE task = 'task 7' AND run = 'run 1';
INSERT INTO bad.steps (id, task, run, n, rew) VALUES (1040, NULL, 'run 1', 1, 1);
-- A group with only such rows.
INSERT INTO bad.steps (id, task, run, n, rew) VALUES (1050, 'task 10', NULL, 1, 1);
-- (8) no state is shared; in (7) two steps have one of their own
UPDATE bad.steps SET st = id::text WHERE task = 'task 8';
UPDATE bad.steps SET st = 'own ' || n WHERE task = 'task 7' AND run = 'run 2' AND n IN (2, 3);

-- Listed, with the user's own ids.
SELECT task, rollout_id, step_no, problem, n_rows, methods[1:3] AS methods, cardinality(methods) > 5 AS many,
	regexp_replace(effect, '^(\w+, \w+, \w+), [^:]*:', '\1, …:') AS effect FROM bad.steps_problems ORDER BY length(task), task, rollout_id, problem;
-- Defects that affect every method are named by methods; columns have the expected types.
SELECT DISTINCT methods = ARRAY(SELECT m.method FROM stepadv_internal.methods m WHERE m.method <> 'state_average' ORDER BY m.place) AS of_all FROM bad.steps_problems WHERE effect = 'no advantages for the rollout';
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'bad.steps_problems'::regclass AND attnum > 0 ORDER BY attnum;
-- Counted in plain SQL.
WITH counted(task, run, problem, n) AS (
	SELECT task, run, 'duplicate step', sum(k - 1) FROM (SELECT task, run, greatest(least(n, 2147483647), -2147483648) AS n, count(*) AS k FROM bad.steps WHERE n IS NOT NULL AND run IS NOT NULL GROUP BY 1, 2, 3) s WHERE task IS NOT NULL GROUP BY 1, 2 HAVING sum(k - 1) > 0
	UNION ALL SELECT task, run, 'reward is not a finite number', count(*) FROM bad.steps WHERE rew = 'NaN' OR rew > 1e308 GROUP BY 1, 2
	UNION ALL SELECT task, run, 'two outcomes', count(*) FROM bad.steps WHERE n IS NULL GROUP BY 1, 2 HAVING count(*) > 1
	UNION ALL SELECT task, run, 'value is not a finite number', count(*) FROM bad.steps WHERE v = 'Infinity' GROUP BY 1, 2
	UNION ALL SELECT task, run, 'turn_reward is not a finite number', count(*) FROM bad.steps WHERE tr = '-Infinity' GROUP BY 1, 2
	UNION ALL SELECT task, run, 'cost is not a finite number', count(*) FROM bad.steps WHERE c = 'NaN' GROUP BY 1, 2
	UNION ALL SELECT task, run, 'cost is not above 0', count(*) FROM bad.steps WHERE c <= 0 GROUP BY 1, 2
	UNION ALL SELECT task, run, CASE WHEN count(v) = 0 THEN 'rollout without any value' ELSE 'missing value beside others' END, count(*) - count(v) FROM bad.steps WHERE n IS NOT NULL AND task IS NOT NULL AND run IS NOT NULL GROUP BY 1, 2 HAVING count(v) < count(*)
	UNION ALL SELECT task, run, 'not judged', count(*) FROM bad.steps WHERE task IS NOT NULL AND run IS NOT NULL GROUP BY 1, 2 HAVING count(rew) = 0
	UNION ALL SELECT task, run, 'rollout without steps', count(*) FROM bad.steps WHERE task IS NOT NULL AND run IS NOT NULL GROUP BY 1, 2 HAVING count(n) = 0
	UNION ALL SELECT task, run, 'gap in step_no', count(*) FROM (SELECT task, run, n - lag(n) OVER (PARTITION BY task, run ORDER BY n) AS ahead FROM (SELECT task, run, greatest(least(n, 2147483647), -2147483648) AS n FROM bad.steps WHERE n IS NOT NULL AND task IS NOT NULL AND run IS NOT NULL) s) s WHERE ahead > 1 GROUP BY 1, 2
	UNION ALL SELECT task, run, 'step_no beyond integer', count(*) FROM bad.steps WHERE abs(n) > 2147483648 GROUP BY 1, 2
	UNION ALL SELECT task, run, 'empty rollout_id', count(*) FROM bad.steps WHERE run = '' GROUP BY 1, 2
	UNION ALL SELECT task, NULL, 'row without rollout_id', count(*) FROM bad.steps WHERE run IS NULL AND task IS NOT NULL GROUP BY 1
	UNION ALL SELECT NULL, NULL, 'row without a group', count(*) FROM bad.steps WHERE task IS NULL HAVING count(*) > 0
	UNION ALL SELECT task, run, 'log-probabilities or mask of different length', count(*) FROM bad.steps WHERE cardinality(logp) <> cardinality(logp_old) OR cardinality(mask) <> cardinality(logp) GROUP BY 1, 2
	UNION ALL SELECT task, run, 'log-probability missing or not finite', count(*) FROM bad.steps WHERE logp[1] IS NULL AND logp_old[1] IS NOT NULL OR logp[3] = 'Infinity' OR mask[1] IS NULL AND logp_old[1] IS NOT NULL GROUP BY 1, 2
	UNION ALL SELECT task, run, 'contribution is not a finite number', count(*) FROM bad.steps WHERE share = 'NaN' GROUP BY 1, 2
	UNION ALL SELECT task, NULL, CASE WHEN bool_and(k < 2) THEN 'no state is shared' ELSE 'state that never meets another' END, count(*) FILTER (WHERE k < 2)
		FROM (SELECT s.task, CASE WHEN s.st IS NULL THEN 1 ELSE (SELECT count(DISTINCT o.run) FROM bad.steps o WHERE o.task = s.task AND o.st = s.st) END AS k FROM bad.steps s WHERE s.run IS NOT NULL AND s.n IS NOT NULL AND s.task IS NOT NULL
			-- Of two rows of a step that with the lesser id is there.
			AND NOT EXISTS (SELECT FROM bad.steps o WHERE o.task = s.task AND o.run = s.run AND greatest(least(o.n, 2147483647), -2147483648) = greatest(least(s.n, 2147483647), -2147483648) AND o.id < s.id)) s GROUP BY 1 HAVING bool_or(k < 2)
)
SELECT coalesce(c.task, p.task) AS task, coalesce(c.run, p.rollout_id) AS run, coalesce(c.problem, p.problem) AS problem, c.n AS counted, p.n_rows
FROM counted c FULL JOIN bad.steps_problems p ON c.task IS NOT DISTINCT FROM p.task AND c.run IS NOT DISTINCT FROM p.rollout_id AND c.problem = p.problem WHERE c.n IS DISTINCT FROM p.n_rows;
SELECT step_no FROM bad.steps_problems WHERE problem = 'missing value beside others';

-- Every view answers, with all of its columns.
CREATE FUNCTION bad.read_all(prefix text) RETURNS TABLE (n_views bigint, n_failed bigint, first_error text) LANGUAGE plpgsql AS $$
DECLARE v regclass; n bigint;
BEGIN
	n_views := 0; n_failed := 0;
	FOR v IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'bad'::regnamespace AND c.relkind = 'v' AND c.relname LIKE prefix || '\_%' ORDER BY c.relname LOOP
		n_views := n_views + 1;
		BEGIN
			EXECUTE format('SELECT sum(length(x::text)) FROM %s x', v) INTO n;
		EXCEPTION WHEN OTHERS THEN
			n_failed := n_failed + 1;
			first_error := coalesce(first_error, v || ': ' || SQLERRM);
		END;
	END LOOP;
	RETURN NEXT;
END $$;
SELECT n_views > 30 AS all_views, n_failed, first_error FROM bad.read_all('steps');

-- Rollouts with a defect that affects all methods, or those that read a column; by hand.
CREATE TABLE bad.broken (task text, run text, methods text[]);
INSERT INTO bad.broken SELECT 'task ' || t, 'run ' || r, '{grpo,rloo,mt_grpo,mt_rloo,igpo,gae,gigpo,graphgpo,hgpo,tempo,rtmc,batch_td,history_td}' FROM (VALUES (1, 2), (1, 3), (4, 1), (4, 2), (4, 3), (5, 3)) b(t, r);
INSERT INTO bad.broken VALUES ('task 2', 'run 1', '{gae}'), ('task 2', 'run 2', '{gae}'), ('task 2', 'run 3', '{gae}'),
	('task 3', 'run 1', '{mt_grpo,mt_rloo,igpo}'), ('task 9', 'run 1', '{graphgpo}'), ('task 9', 'run 2', '{graphgpo}');
CREATE FUNCTION bad.methods(prefix text) RETURNS TABLE (task text, run text, n bigint, method text, advantage float8) LANGUAGE plpgsql AS $$
DECLARE m text;
BEGIN
	FOREACH m IN ARRAY '{grpo,rloo,mt_grpo,mt_rloo,igpo,gae,gigpo,graphgpo,hgpo,tempo,rtmc,batch_td,history_td}'::text[] LOOP
		RETURN QUERY EXECUTE format('SELECT a.task, a.rollout_id, row_number() OVER (PARTITION BY a.task, a.rollout_id ORDER BY a.step_no), %L::text, a.advantage FROM bad.%I a', m, prefix || '_' || m);
	END LOOP;
END $$;
-- The views over bad.steps; over the rows without any defect; and the strict functions over the rows without the rollouts that have one.
CREATE TEMP TABLE said AS SELECT *, EXISTS (SELECT FROM bad.broken b WHERE (b.task, b.run) = (m.task, m.run) AND m.method = ANY (b.methods)) AS is_broken FROM bad.methods('steps') m;
CREATE TEMP TABLE said_of_clean AS SELECT * FROM bad.methods('clean');
INSERT INTO bad.rest SELECT * FROM bad.steps s WHERE run IS NOT NULL AND task IS NOT NULL AND NOT EXISTS (SELECT FROM bad.broken b WHERE (b.task, b.run) = (s.task, s.run));
CREATE TEMP TABLE said_of_rest AS
WITH g AS (SELECT task, stepadv.rollout_agg(id, stepadv.signature_hash(run), CASE WHEN n > 2147483647 THEN 2147483647 ELSE n END::integer, stepadv.signature_hash(st), stepadv.signature_hash(act), rew::float8, NULL::boolean, NULL::bigint, v, tr, c) AS rollouts FROM bad.rest GROUP BY task)
SELECT g.task, r.run, row_number() OVER (PARTITION BY g.task, r.run, a.method ORDER BY a.step_no) AS n, a.method, a.advantage
FROM g CROSS JOIN LATERAL (
	SELECT 'grpo', rollout_id, step_no, advantage FROM stepadv.grpo(g.rollouts) UNION ALL SELECT 'rloo', rollout_id, step_no, advantage FROM stepadv.rloo(g.rollouts)
	UNION ALL SELECT 'mt_grpo', rollout_id, step_no, advantage FROM stepadv.mt_grpo(g.rollouts) UNION ALL SELECT 'mt_rloo', rollout_id, step_no, advantage FROM stepadv.mt_rloo(g.rollouts) UNION ALL SELECT 'igpo', rollout_id, step_no, advantage FROM stepadv.igpo(g.rollouts)
	UNION ALL SELECT 'gae', rollout_id, step_no, advantage FROM stepadv.gae(g.rollouts) UNION ALL SELECT 'gigpo', rollout_id, step_no, advantage FROM stepadv.gigpo(g.rollouts)
	UNION ALL SELECT 'graphgpo', rollout_id, step_no, advantage FROM stepadv.graphgpo(g.rollouts) UNION ALL SELECT 'hgpo', rollout_id, step_no, advantage FROM stepadv.hgpo(g.rollouts)
	UNION ALL SELECT 'tempo', rollout_id, step_no, advantage FROM stepadv.tempo(g.rollouts) UNION ALL SELECT 'rtmc', rollout_id, step_no, advantage FROM stepadv.rtmc(g.rollouts)
	UNION ALL SELECT 'batch_td', rollout_id, step_no, advantage FROM stepadv.batch_td(g.rollouts)
	UNION ALL SELECT 'history_td', rollout_id, step_no, advantage FROM stepadv.history_td(g.rollouts)) a(method, rollout_id, step_no, advantage)
JOIN (SELECT DISTINCT run FROM bad.rest) r ON stepadv.signature_hash(r.run) = a.rollout_id;

-- Advantages of broken rollouts are NULL, and no others'.
SELECT is_broken, count(*) AS steps, count(advantage) AS advantages FROM said GROUP BY 1 ORDER BY 1;
-- Methods affected by a group's defects give its other rollouts the numbers of the group without the bad ones; so do groups with rows that are in no rollout.
CREATE TEMP TABLE touched AS SELECT DISTINCT task, m AS method FROM bad.broken, unnest(methods) m UNION SELECT t, m FROM unnest('{task 7,task 8}'::text[]) t, (SELECT DISTINCT method FROM said) m(m);
CREATE TEMP TABLE touched_said AS SELECT s.task, s.run, s.n, s.method, s.advantage FROM said s JOIN touched USING (task, method) WHERE NOT s.is_broken;
CREATE TEMP TABLE touched_rest AS SELECT r.* FROM said_of_rest r JOIN touched USING (task, method);
(TABLE touched_said EXCEPT ALL TABLE touched_rest) UNION ALL (TABLE touched_rest EXCEPT ALL TABLE touched_said);
SELECT task, count(*) FROM touched_said GROUP BY 1 ORDER BY 1;
-- All other methods give all groups the numbers without any defect.
CREATE TEMP TABLE other_said AS SELECT s.task, s.run, s.n, s.method, s.advantage FROM said s WHERE NOT EXISTS (SELECT FROM touched t WHERE (t.task, t.method) = (s.task, s.method));
CREATE TEMP TABLE other_clean AS SELECT s.* FROM said_of_clean s WHERE NOT EXISTS (SELECT FROM touched t WHERE (t.task, t.method) = (s.task, s.method));
(TABLE other_said EXCEPT ALL TABLE other_clean) UNION ALL (TABLE other_clean EXCEPT ALL TABLE other_said);
SELECT task, count(*) FROM other_said GROUP BY 1 ORDER BY 1;
-- _compare and _advantages give what the methods' own views give, whichever columns they read together.
CREATE TEMP TABLE compared AS SELECT c.task, c.rollout_id AS run, row_number() OVER (PARTITION BY c.task, c.rollout_id, m.method ORDER BY c.step_no) AS n, m.method, m.advantage
FROM bad.steps_compare c CROSS JOIN LATERAL (VALUES ('grpo', c.grpo), ('rloo', rloo), ('mt_grpo', mt_grpo), ('mt_rloo', mt_rloo), ('igpo', igpo), ('gae', gae), ('gigpo', gigpo), ('graphgpo', graphgpo), ('hgpo', hgpo), ('tempo', tempo), ('rtmc', rtmc), ('batch_td', batch_td), ('history_td', history_td)) m(method, advantage);
(SELECT task, run, n, method, advantage FROM said EXCEPT ALL TABLE compared) UNION ALL (TABLE compared EXCEPT ALL SELECT task, run, n, method, advantage FROM said);
SELECT count(*), count(a.advantage), count(*) FILTER (WHERE a.advantage IS DISTINCT FROM s.advantage) AS otherwise
FROM (SELECT *, row_number() OVER (PARTITION BY task, rollout_id, method ORDER BY step_no) AS no FROM bad.steps_advantages) a FULL JOIN said s ON (s.task, s.run, s.n, s.method) = (a.task, a.rollout_id, a.no, a.method)
WHERE a.method IS NULL OR a.method IN (SELECT method FROM said);
-- Which rollouts are judged, by which rows.
SELECT g.task, g.n_rollouts, g.n_judged, count(r.judged) FILTER (WHERE r.judged) AS judged, count(r.return) AS returns FROM bad.steps_groups g LEFT JOIN bad.steps_rollouts r USING (task) GROUP BY 1, 2, 3 HAVING g.n_judged < 4 OR g.n_rollouts > 4 ORDER BY 1;
SELECT sum(n_judged_steps) = (SELECT count(*) FROM said WHERE method = 'grpo' AND advantage IS NOT NULL) AS judged_steps, sum(n_ratios) AS n_ratios FROM bad.steps_progress_over_time;
-- Ratios and contributions: only of bad steps and bad rollouts.
SELECT rollout_id, step_no, ratio IS NULL AS r, sequence_ratio IS NULL AS s, approximate_kl IS NULL AS k FROM bad.steps_ratios WHERE ratio IS NULL AND logp IS NOT NULL ORDER BY 1, 2;
SELECT count(*) FILTER (WHERE abs(ratio - exp((0.25 - 0.25) / 2)) < 1e-12) AS right, count(*) FROM bad.steps_ratios WHERE task <> 'task 6' AND logp IS NOT NULL;
SELECT count(*) AS steps, count(*) FILTER (WHERE s.advantage IS DISTINCT FROM c.advantage) AS otherwise, count(*) FILTER (WHERE s.advantage IS NULL) AS nulls, count(*) - count(s.contribution) AS no_contribution
FROM bad.steps_spa s JOIN bad.clean_spa c USING (task, rollout_id, step_no) WHERE task IN ('task 6', 'task 8');

-- ---- Any order, by workers, without our plan nodes, in parts: the very same value.
CREATE TEMP TABLE folds AS SELECT task, rollouts::text AS value FROM bad.steps_values;
SELECT count(*) AS groups, count(value) AS not_empty, count(*) FILTER (WHERE get_byte(bytes, 1) >= 128) AS with_defects, bool_and(get_byte(bytes, 2) & 4 > 0) AS lenient
FROM folds, stepadv_internal.rollout_group_send(value::stepadv.rollout_group) bytes;
CREATE TABLE bad.other_order AS SELECT * FROM bad.steps ORDER BY md5(id::text);
INSERT INTO bad.other_order SELECT * FROM bad.other_order;	-- every row twice: all are duplicates
CREATE FUNCTION bad.fold(source text) RETURNS TABLE (task text, value text) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT s.task, stepadv_internal.lenient_rollout_agg(s.id, stepadv.signature_hash(s.run), CASE WHEN s.n > 2147483647 THEN 2147483647 WHEN s.n < -2147483648 THEN -2147483648 ELSE s.n END::integer,
		stepadv.signature_hash(s.st), stepadv.signature_hash(s.act), CASE WHEN s.rew > 1e200 THEN ''Infinity''::float8 ELSE s.rew::float8 END, NULL::boolean, NULL::bigint, s.v, s.tr, s.c, NULL, NULL, NULL, NULL, NULL, NULL)::text FROM %s s WHERE s.task IS NOT NULL GROUP BY s.task', source);
END $$;
SELECT count(*) AS groups, count(*) FILTER (WHERE f.value IS DISTINCT FROM a.value) AS otherwise FROM folds f FULL JOIN bad.fold('bad.steps') a USING (task);
SELECT count(*) AS groups, count(*) FILTER (WHERE f.value IS DISTINCT FROM a.value) AS otherwise FROM folds f FULL JOIN bad.fold('(SELECT * FROM bad.steps ORDER BY md5(id::text || 7))') a USING (task);
SET stepadv.enable_group_fold = off;
SELECT count(*) AS groups, count(*) FILTER (WHERE f.value IS DISTINCT FROM a.value) AS otherwise FROM folds f FULL JOIN bad.fold('(SELECT * FROM bad.steps ORDER BY md5(id::text || 8))') a USING (task);
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET enable_indexscan = off; SET enable_bitmapscan = off;
ALTER TABLE bad.steps SET (parallel_workers = 2);
EXPLAIN (COSTS off) SELECT task, stepadv_internal.lenient_rollout_agg(id, 1, n::integer, 1, 1, 1, NULL) FROM bad.steps GROUP BY task;
SELECT count(*) AS groups, count(*) FILTER (WHERE f.value IS DISTINCT FROM a.value) AS otherwise FROM folds f FULL JOIN bad.fold('bad.steps') a USING (task);
CREATE TEMP TABLE twice AS SELECT * FROM bad.fold('bad.other_order');
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET enable_indexscan; RESET enable_bitmapscan; RESET stepadv.enable_group_fold;
SELECT count(*) AS groups, count(*) FILTER (WHERE f.value IS DISTINCT FROM a.value) AS otherwise FROM twice f FULL JOIN bad.fold('bad.other_order') a USING (task);
-- Of duplicate rows the one with the least id stays, and no rollout is judged.
SELECT count(*) AS steps, bool_and(s.step_id < 1000 OR s.step_id BETWEEN 1031 AND 1035) AS least, (SELECT count(*) FROM twice t, stepadv.rollouts(t.value::stepadv.rollout_group) r WHERE r.judged) AS judged
FROM twice t, stepadv.steps(t.value::stepadv.rollout_group) s;
-- Merged values keep defects, and find new ones.
SELECT count(*) AS groups, count(*) FILTER (WHERE f.value IS DISTINCT FROM m.value) AS otherwise FROM folds f FULL JOIN (
	SELECT a.task, stepadv.rollup(a.value::stepadv.rollout_group)::text AS value FROM (
		SELECT * FROM bad.fold('(SELECT * FROM bad.steps WHERE id % 3 = 0)') UNION ALL SELECT * FROM bad.fold('(SELECT * FROM bad.steps WHERE id % 3 > 0)')) a GROUP BY 1) m USING (task);

-- ---- Groups that are kept: the same in each mode, and no writer gets an error.
CREATE FUNCTION bad.kept(how text) RETURNS TABLE (way text, n_groups bigint, wrong bigint, other_values bigint, other_advantages bigint, problems_kept bigint, other_problems bigint, answered boolean) LANGUAGE plpgsql AS $$
BEGIN
	way := how;
	PERFORM stepadv.maintain('bad.kept', mode => how);
	INSERT INTO bad.kept SELECT * FROM bad.steps ORDER BY id;
	IF how = 'refresh' THEN
		PERFORM stepadv.refresh('bad.kept');
	END IF;
	SELECT count(*) INTO wrong FROM stepadv.check_maintained('bad.kept');
	SELECT count(*), count(*) FILTER (WHERE k.rollouts::text IS DISTINCT FROM f.value) INTO n_groups, other_values FROM bad.kept_folded k FULL JOIN folds f USING (task) WHERE f.value IS NOT NULL;
	SELECT count(*) FILTER (WHERE k.advantage IS DISTINCT FROM s.advantage) INTO other_advantages FROM bad.methods('kept') k FULL JOIN said s USING (task, run, n, method);
	SELECT n_failed = 0 INTO answered FROM bad.read_all('kept');
	SELECT count(k), count(*) FILTER (WHERE k IS DISTINCT FROM s) INTO problems_kept, other_problems FROM (SELECT p::text AS k FROM bad.kept_problems p) k FULL JOIN (SELECT p::text AS s FROM bad.steps_problems p) s ON s = k;
	PERFORM stepadv.refresh('bad.kept');
	SELECT other_problems + count(*) FILTER (WHERE k IS DISTINCT FROM s) INTO other_problems FROM (SELECT p::text AS k FROM bad.kept_problems p) k FULL JOIN (SELECT p::text AS s FROM bad.steps_problems p) s ON s = k;
	SELECT wrong + count(*) INTO wrong FROM stepadv.check_maintained('bad.kept');
	RETURN NEXT;
	PERFORM stepadv.unmaintain('bad.kept');
	TRUNCATE bad.kept;
END $$;
CREATE TABLE bad.kept (LIKE bad.clean INCLUDING ALL);
SELECT bad.attach('bad.kept') > 20 AS attached;
SELECT * FROM bad.kept('triggers');
SELECT * FROM bad.kept('refresh');
-- A user's method that raises an error raises it to its readers, not to writers, and not to readers of other methods.
CREATE FUNCTION bad.touchy(rollouts stepadv.rollout_group) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF EXISTS (SELECT FROM stepadv.steps(rollouts) s WHERE s.value IS NULL) THEN
		RAISE EXCEPTION 'a value is missing' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	RETURN QUERY SELECT s.step_id, s.rollout_id, s.step_no, s.value FROM stepadv.steps(rollouts) s;
END $$;
SELECT stepadv.register_method('bad.touchy(stepadv.rollout_group)', requires => '{reward,value}', uses => '{value}');
CREATE TABLE bad.own (LIKE bad.clean INCLUDING ALL);
SELECT bad.attach('bad.own') > 20 AS attached, stepadv.maintain('bad.own', mode => 'refresh');
INSERT INTO bad.own SELECT * FROM bad.clean;
UPDATE bad.own SET v = NULL WHERE task = 'task 2' AND id % 5 = 0;
SELECT stepadv.refresh('bad.own');
SELECT task FROM bad.own_digests WHERE digest IS NULL;
SELECT * FROM stepadv.check_maintained('bad.own');
SELECT count(*) AS groups, sum(n_steps) AS steps FROM bad.own_groups_over_time;
\set VERBOSITY sqlstate
SELECT sum(n_steps) FROM bad.own_advantage_by_group WHERE method = 'touchy';
\set VERBOSITY default
SELECT sum(n_steps) FROM bad.own_advantage_by_group WHERE method = 'touchy' AND task <> 'task 2';
SELECT stepadv.refresh('bad.own', full => true) AS groups, (SELECT count(*) FROM stepadv.check_maintained('bad.own')) AS wrong;
ALTER TABLE bad.own DISABLE TRIGGER own_maintain_update;
UPDATE bad.own SET v = NULL WHERE task = 'task 3';
SELECT group_key, problem FROM stepadv.check_maintained('bad.own') ORDER BY problem;
SELECT stepadv.detach('bad.own') > 30 AS detached;

-- ---- Other roles, other tables.
-- Ids of other types, components, turns, a table of rollouts, states derived from histories.
CREATE TABLE bad.calls (g integer, sub text, r uuid, n integer, turn integer, act text, tool numeric, answer float8, id text, ok boolean);
INSERT INTO bad.calls SELECT i % 2, 'x', ('00000000-0000-0000-0000-00000000000' || i / 2 % 3)::uuid, i, i / 8, 'a' || i % 4, i % 3, i % 2, 'call ' || i, i % 5 = 0 FROM generate_series(0, 35) i;
SELECT count(*) > 20 AS attached FROM stepadv.attach('bad.calls', '{g,sub}', 'r', 'n', action => 'act', columns => '{"step_id": "id", "rewards": ["tool", "answer"], "turn": "turn", "success": "ok"}', views => '{all}', options => '{"unit": "turn", "states": "history_last"}');
UPDATE bad.calls SET turn = NULL WHERE n IN (4, 6);
UPDATE bad.calls SET id = NULL WHERE n = 2;
UPDATE bad.calls SET answer = '-Infinity' WHERE n = 3;
UPDATE bad.calls SET sub = NULL WHERE n = 35;
SELECT g, sub, rollout_id, step_no, problem, n_rows, effect FROM bad.calls_problems ORDER BY g, rollout_id, problem;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'bad.calls_problems'::regclass AND attnum BETWEEN 1 AND 3 ORDER BY attnum;
SELECT n_views > 20 AS all_views, n_failed, first_error FROM bad.read_all('calls');
-- By turns and with states derived from histories the defects stay: the rollout with the step without an id, and that with the reward.
SELECT g, rollout_id, count(*) AS steps, count(grpo) AS grpo, count(gigpo) AS gigpo FROM bad.calls_compare GROUP BY 1, 2 ORDER BY 1, 2;
-- An instance of a method that reads the components; others are not affected.
SELECT stepadv.detach('bad.calls') > 20 AS detached;
SELECT count(*) > 15 AS attached FROM stepadv.attach('bad.calls', '{g,sub}', 'r', 'n', action => 'act', reward => 'tool', columns => '{"step_id": "id", "rewards": ["tool", "answer"]}', views => '{all}', options => '{"methods": {"merged": {"method": "grpo", "rewards": {"tool": 1, "answer": 1}}}}');
SELECT rollout_id, problem, methods, effect FROM bad.calls_problems WHERE problem ~ 'component';
SELECT bool_and(grpo IS NOT NULL) AS grpo, count(merged) AS merged, count(*) AS steps FROM bad.calls_compare WHERE g = 1 AND rollout_id::text ~ '1$';
-- Without advantages: the rollout with the step without an id.
SELECT g, rollout_id, count(*) AS steps, count(advantage) AS advantages FROM bad.calls_grpo GROUP BY 1, 2 ORDER BY 1, 2;
-- gae of masked tokens needs no values at observations.
DROP TABLE bad.stepadv_methods;
CREATE TABLE bad.tokens AS SELECT 1 AS grp, 1 + i / 4 AS r, i % 4 AS n, CASE WHEN i % 4 <> 1 THEN 'a' END AS act, CASE WHEN i <> 1 THEN 0.5 END AS v, i % 2 AS rew, 'x' AS problem FROM generate_series(0, 11) i;
SELECT count(*) > 5 AS attached FROM stepadv.attach('bad.tokens', '{grp,problem}', 'r', 'n', action => 'act', reward => 'rew', columns => '{"value": "v"}', views => '{all}', options => '{"gae": {"masked": true}}');
SELECT * FROM bad.tokens_problems;
SELECT count(*) AS steps, count(advantage) AS advantages FROM bad.tokens_gae;
SELECT stepadv.detach('bad.tokens') > 5 AS detached;
SELECT count(*) > 5 AS attached FROM stepadv.attach('bad.tokens', '{grp,problem}', 'r', 'n', action => 'act', reward => 'rew', columns => '{"value": "v"}', views => '{all}');
SELECT * FROM bad.tokens_problems;
SELECT r, count(*) AS steps, count(advantage) AS advantages FROM bad.tokens_gae GROUP BY r ORDER BY r;
SELECT stepadv.attach('bad.tokens', '{grp}', 'r', 'n', reward => 'rew', views => '{all}', prefix => 'wrong', options => '{"problems": {"kinds": "all"}}');
-- Turns of unequal numbers with unequal => 'error': NULL for that group.
CREATE TABLE bad.unequal AS SELECT g, r, n, r % 2 AS rew, n AS tr FROM generate_series(1, 2) g, generate_series(1, 3) r, generate_series(1, 3) n WHERE g = 2 OR r > 1 OR n < 3;
SELECT count(*) > 5 AS attached FROM stepadv.attach('bad.unequal', '{g}', 'r', 'n', reward => 'rew', columns => '{"turn_reward": "tr"}', views => '{all}', options => '{"mt_grpo": {"unequal": "error"}, "mt_rloo": {"unequal": "error", "without_turn_reward": "merge"}}');
SELECT a.g, count(*) AS steps, count(a.advantage) AS mt_grpo, count(b.advantage) AS mt_rloo FROM bad.unequal_mt_grpo a JOIN bad.unequal_mt_rloo b USING (g, rollout_id, step_no) GROUP BY 1 ORDER BY 1;
-- A step reward that overflows: NULL for the group.
CREATE TABLE bad.dear AS SELECT g, r, n, r % 2 AS rew, 's' || n AS st, CASE WHEN g = 1 AND n = 2 THEN 1000 ELSE 1 END AS c FROM generate_series(1, 2) g, generate_series(1, 3) r, generate_series(1, 3) n;
SELECT count(*) > 5 AS attached FROM stepadv.attach('bad.dear', '{g}', 'r', 'n', state => 'st', action => 'r', reward => 'rew', columns => '{"cost": "c"}', views => '{all}', options => '{"graphgpo": {"convention": "progress"}}');
SELECT a.g, count(*) AS steps, count(a.advantage) AS graphgpo, (SELECT count(e.step_reward) FROM bad.dear_graph_edges e WHERE e.g = a.g) AS edges FROM bad.dear_graphgpo a GROUP BY 1 ORDER BY 1;

-- A tool call with characters that jsonb refuses still gets a signature; one that is text is as before.
CREATE TABLE bad.signed (g integer, r integer, n integer, tool text, args json, rew float8);
INSERT INTO bad.signed SELECT 1, r, n, 'bash', json_build_object('command', 'cat f' || n), r FROM generate_series(1, 2) r, generate_series(1, 5) n;
SELECT count(*) > 5 AS attached FROM stepadv.attach('bad.signed', '{g}', 'r', 'n', reward => 'rew', columns => '{"tool": "tool", "args": "args"}', views => '{all}', options => '{"states": "signature"}');
CREATE TEMP TABLE signed AS SELECT rollout_id, step_no, action_signature FROM bad.signed_rows;
UPDATE bad.signed SET args = ('{"command": "cat ' || (ARRAY['\u0000', '\ud83d', '\ude00', '\ud83d\ude00', '\ude00\ud83d'])[n] || ' f"}')::json WHERE r = 2;
SELECT n_failed, first_error FROM bad.read_all('signed');
SELECT count(*) AS signed, count(action_signature) AS with_one FROM bad.signed_rows;
SELECT count(*) FROM bad.signed_rows JOIN signed USING (rollout_id, step_no, action_signature) WHERE rollout_id = 1;
-- Tiny rewards, whose squares underflow, are no error over time.
CREATE TABLE bad.tiny AS SELECT g, r, 1 AS n, r * 1e-200::float8 AS rew, 'v' AS pv FROM generate_series(1, 2) g, generate_series(1, 3) r;
SELECT count(*) > 5 AS attached FROM stepadv.attach('bad.tiny', '{g}', 'r', 'n', reward => 'rew', columns => '{"policy_version": "pv"}', views => '{all}');
SELECT n_failed, first_error FROM bad.read_all('tiny');

-- ---- Direct calls are strict.
CREATE FUNCTION bad.error_of(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN regexp_replace(SQLERRM, '-?\d{7,}', '…', 'g');
END $$;
SELECT what, bad.error_of(format('SELECT stepadv.rollout_agg(id, stepadv.signature_hash(run), n::integer, 1, 1, rew::float8, NULL, NULL, v, tr, c) FROM bad.steps WHERE %s', rows))
FROM (VALUES ('duplicate step', $$task = 'task 1' AND run = 'run 2'$$), ('NaN', $$task = 'task 1' AND run = 'run 3'$$), ('infinite value', $$task = 'task 2'$$), ('turn_reward', $$task = 'task 3'$$),
	('two outcomes', $$task = 'task 4' AND run = 'run 1'$$), ('no rollout_id', $$task = 'task 7' AND run IS NULL$$)) q(what, rows);
SELECT bad.error_of('SELECT stepadv.rollout_agg(NULL::bigint, 1, 1, 1, 1, 1)') AS step_id,
	bad.error_of($$SELECT count(*) FROM stepadv.gae((SELECT stepadv.rollout_agg(id, 1, n::integer, 1, 1, 1, NULL, NULL, v, 0, 1) FROM bad.steps WHERE task = 'task 2' AND run = 'run 1'))$$) AS gae,
	bad.error_of($$SELECT count(*) FROM stepadv.graphgpo((SELECT stepadv.rollout_agg(id, 1, n::integer, 1, 1, 1, NULL, NULL, v, 0, c) FROM bad.steps WHERE task = 'task 9' AND run = 'run 2'))$$) AS graphgpo,
	bad.error_of($$SELECT stepadv.step_ratio('{1,2}'::real[], '{1}'::real[])$$) AS ratio, bad.error_of($$SELECT stepadv.fused_reward('NaN', true)$$) AS fused,
	bad.error_of($$SELECT count(*) FROM stepadv.mt_grpo((SELECT stepadv.rollout_agg(1, r, n, 1, 1, rew, NULL, NULL, 0, tr, 1) FROM bad.unequal WHERE g = 1), unequal => 'error')$$) AS mt_grpo;
-- If no step has a critic value, none is missing: only in group 2 a rollout lacks what another has.
CREATE TABLE bad.critic (g integer, r integer, n integer, rew float8, v float8);
INSERT INTO bad.critic SELECT g, r, n, r - 1, CASE WHEN g = 2 AND r = 1 THEN 0.5 END FROM generate_series(1, 2) g, generate_series(1, 2) r, generate_series(1, 3) n;
SELECT count(*) > 5 AS attached FROM stepadv.attach('bad.critic', '{g}', 'r', 'n', reward => 'rew', columns => '{"value": "v"}', views => '{all}');
SELECT g, rollout_id, problem, n_rows FROM bad.critic_problems;
SELECT count(*) AS of_group_1 FROM bad.critic_problems WHERE g = 1;
SET client_min_messages = warning;
DROP SCHEMA bad CASCADE;

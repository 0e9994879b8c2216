-- The node that folds steps into groups (src/plan/fold/group_fold.c), against PostgreSQL's own Agg (stepadv.enable_group_fold = off).
\set VERBOSITY terse
SET jit = on;
SET search_path = stepadv, public;

-- 40 groups keyed by a number, a text and a numeric of several spellings; rollouts interleaved; NULL keys, states, actions, rewards.
CREATE TABLE fold_steps AS
SELECT g AS num, CASE WHEN g % 7 > 0 THEN 'task ' || repeat('long name ', g % 4) || g END AS task,
	CASE WHEN i % 2 = 0 THEN (g % 5)::numeric ELSE ((g % 5)::text || '.000')::numeric END AS level,
	r * 100::bigint + i AS step_id, r::bigint AS rollout, CASE WHEN NOT (r % 3 = 0 AND i = 0) THEN i END AS step_no,
	CASE WHEN h % 11 > 0 THEN h % 5 END AS state, CASE WHEN h % 13 > 0 THEN h % 3 END AS action,
	CASE WHEN h % 4 > 0 THEN (h % 4)::float8 END AS reward, h % 2 = 0 AS success, h % 17 AS kind
FROM (SELECT g, g * 1000 + r AS r, i, abs(signature_hash(format('%s %s %s', g, r, i)) % 1000) AS h
	FROM generate_series(1, 40) g, generate_series(1, 1 + g % 6) r, generate_series(0, (g * r) % 12) i) x
ORDER BY i, h;
ALTER TABLE fold_steps ALTER task TYPE text COLLATE "C";
ANALYZE fold_steps;

-- A query's rows by both nodes, in any order, and how the first was planned.
CREATE FUNCTION pg_temp.plan_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (costs off) ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	RETURN plan;
END
$$;
CREATE FUNCTION pg_temp.by_both(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	folded text[];
	aggregated text[];
	plan text;
BEGIN
	SET LOCAL stepadv.enable_group_fold = on;
	plan := pg_temp.plan_of(query);
	EXECUTE format('SELECT array_agg(q::text ORDER BY q::text COLLATE "C") FROM (%s) q', query) INTO folded;
	SET LOCAL stepadv.enable_group_fold = off;
	IF pg_temp.plan_of(query) LIKE '%GroupFold%' THEN
		RETURN 'there is no judge';
	END IF;
	EXECUTE format('SELECT array_agg(q::text ORDER BY q::text COLLATE "C") FROM (%s) q', query) INTO aggregated;
	SET LOCAL stepadv.enable_group_fold = on;
	RETURN format('%s rows%s, %s', coalesce(cardinality(folded), 0), CASE WHEN folded IS NOT DISTINCT FROM aggregated THEN '' ELSE ' THAT DIFFER' END,
		coalesce(lower(substring(plan from 'Strategy: (\w+)')), 'aggregated'));
END
$$;
-- $ is replaced by the arguments of the short form, ' $ + ' for the long one, ' $ % ' for those with turn and rewards.
CREATE FUNCTION pg_temp.both(query text) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.by_both(replace(replace(replace(query,
		'$%', 'rollout_agg(step_id, rollout, step_no, state, action, reward, success, state + 1, reward, NULL, NULL, step_no / 2, CASE WHEN kind % 3 > 0 THEN ARRAY[reward, NULL, kind] END, NULL, NULL)'),
		'$+', 'rollout_agg(step_id, rollout, step_no, state, action, reward, success, state + 1, reward, reward * 2, 1 + abs(reward))'),
		'$', 'rollout_agg(step_id, rollout, step_no, state, action, reward)'))
$$;

SET enable_sort = off;
SELECT pg_temp.both('SELECT num, $ FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT num, $+ FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT num, $% FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward, success, NULL, NULL, NULL, NULL, step_no / 2, NULL, NULL, NULL) FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT $ FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT task, $ FROM fold_steps GROUP BY task');
SELECT pg_temp.both('SELECT task, num, $, num + 1 FROM fold_steps GROUP BY num, task');
-- keys that are equal but not identical: 1 and 1.000
SELECT pg_temp.both('SELECT level::int, $ FROM fold_steps GROUP BY level');
-- arrays as they are stored: with a short header, compressed, out of line
CREATE TABLE fold_arrays AS SELECT num, step_id, rollout, step_no, state, action, reward, success, step_no AS turn,
	array_fill(reward, ARRAY[CASE WHEN num % 2 = 0 THEN 3 ELSE 64 END]) AS rewards FROM fold_steps;
ALTER TABLE fold_arrays ALTER rewards SET STORAGE external;
INSERT INTO fold_arrays SELECT num + 40, step_id, rollout, step_no, state, action, reward, success, turn, rewards FROM fold_arrays;
ANALYZE fold_arrays;
SELECT pg_temp.both('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward, success, NULL::bigint, reward, reward, reward, turn, rewards, NULL, NULL) FROM fold_arrays GROUP BY num');
-- expressions as keys, as arguments, around the aggregate
SELECT pg_temp.both('SELECT num % 7, $+ FROM fold_steps GROUP BY num % 7');
SELECT pg_temp.both('SELECT upper(task), length($::text) FROM fold_steps GROUP BY upper(task)');
SELECT pg_temp.both('SELECT num, rollout_agg(step_id + 1, signature_hash(rollout::text), step_no * 2, -state, coalesce(action, 7), reward / 2, success) FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT num, $, (SELECT count(*) FROM steps($)) FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT num, rollout_agg(step_no, step_no, step_no, num, num, num) FROM fold_steps WHERE step_no IS NOT NULL GROUP BY num, rollout');
-- FILTER: a group is returned even if none of its rows pass
SELECT pg_temp.both('SELECT num, $ FILTER (WHERE kind < 3) FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT num, $ FILTER (WHERE NULL) FROM fold_steps GROUP BY num');
-- arguments are not computed for rows that are filtered out; a column may have a wider type
SELECT pg_temp.both('SELECT num, rollout_agg(step_id, rollout, step_no, 1 / state, action, reward) FILTER (WHERE state <> 0) FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT num, rollout_agg(step_id, rollout, step_no, num, num, num) FILTER (WHERE kind < 3) FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT num, $ FROM fold_steps WHERE false GROUP BY num');
SELECT pg_temp.both('SELECT num, $ FROM fold_steps WHERE num = 3 GROUP BY num');
-- joins, subqueries, VALUES, UNION ALL, a view
SELECT pg_temp.both('SELECT s.num, n.n, $ FROM fold_steps s JOIN (SELECT num, count(*) AS n FROM fold_steps GROUP BY num) n USING (num) GROUP BY s.num, n.n');
SELECT pg_temp.both('SELECT num, $ FROM (SELECT * FROM fold_steps OFFSET 0) s GROUP BY num');
SELECT pg_temp.both('SELECT num, $ FROM (SELECT * FROM fold_steps WHERE num < 9 UNION ALL SELECT * FROM fold_steps WHERE num > 20) s GROUP BY num');
SELECT pg_temp.both('SELECT g, rollout_agg(i, r, i, r, i, 0.5) FROM (VALUES (1, 1, 1), (2, 1, 1), (1, 2, 2), (NULL, 3, 3), (NULL, 3, 4)) v(g, r, i) GROUP BY g');
-- a subquery that has no scan of its own in the plan: keys are named as an Agg would
EXPLAIN (costs off) SELECT level, w, rollout_agg(step_id, rollout, step_no, state, action, reward)
FROM (SELECT level + 1 AS level, num % 5 AS w, step_id, rollout, step_no, state, action, reward FROM fold_steps OFFSET 0) s GROUP BY level, w;
-- estimators above
SELECT pg_temp.both('SELECT num, a.* FROM (SELECT num, $ AS g FROM fold_steps GROUP BY num) x, rtmc(x.g) a');
-- again and again for outer rows: with another condition each time, or the same
SELECT pg_temp.both('SELECT v, x.* FROM generate_series(1, 9) v, LATERAL (SELECT num, $ AS g FROM fold_steps WHERE num % 9 = v GROUP BY num) x');
SELECT pg_temp.both('SELECT v, (SELECT sum(length(g::text)) FROM (SELECT $ AS g FROM fold_steps WHERE num > v GROUP BY num) x) FROM generate_series(1, 9) v');
SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_memoize = off;
SELECT pg_temp.both('SELECT v, x.num, x.g FROM generate_series(1, 3) v LEFT JOIN (SELECT num, $ AS g FROM fold_steps GROUP BY num) x ON x.num > v * 10');
RESET enable_material; RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_memoize;
RESET enable_sort;

-- In order, by a sort or an index.
SET enable_hashagg = off;
SELECT pg_temp.both('SELECT num, $ FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT level::int, $+ FROM fold_steps GROUP BY level');
SELECT pg_temp.both('SELECT level::int, $% FROM fold_steps GROUP BY level');
SELECT pg_temp.both('SELECT task, level::int, $ FROM fold_steps GROUP BY level, task');
SELECT pg_temp.both('SELECT task, $ FILTER (WHERE kind > 14) FROM fold_steps GROUP BY task');
SELECT pg_temp.both('SELECT (random() * 0)::int, $ FROM fold_steps GROUP BY 1');
SELECT pg_temp.both('SELECT num, $ FROM fold_steps WHERE false GROUP BY num');
SELECT pg_temp.both('SELECT v, x.* FROM generate_series(1, 9) v, LATERAL (SELECT num, $ AS g FROM fold_steps WHERE num % 9 = v GROUP BY num) x');
CREATE INDEX ON fold_steps (num, rollout, step_no);
SET enable_seqscan = off; SET enable_bitmapscan = off;
SELECT pg_temp.both('SELECT num, $ FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT num, $ FROM fold_steps WHERE num BETWEEN 3 AND 5 GROUP BY num ORDER BY num DESC');
EXPLAIN (costs off) SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) FROM fold_steps GROUP BY num ORDER BY num;
RESET enable_seqscan; RESET enable_bitmapscan; RESET enable_hashagg;

-- A few rows of a cursor, and all of it again; the groups left are forgotten.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT num, n_steps FROM (SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) AS g
	FROM fold_steps WHERE num < 4 GROUP BY num) x, group_summary(g) ORDER BY num;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH ALL FROM c;
CLOSE c;
COMMIT;
SELECT count(*) FROM (SELECT rollout_agg(step_id, rollout, step_no, state, action, reward) AS g FROM fold_steps GROUP BY num LIMIT 3) x;

-- More groups than a cache or memory holds, and interleaved groups.
CREATE TABLE fold_many AS
SELECT (g * 7919) % 20011 AS num, 'group ' || (g * 7919) % 20011 AS task, g * 8::bigint + r * 4 + i AS step_id, r::bigint AS rollout, i AS step_no, (g + i) % 3::bigint AS state, (g * r) % 2::bigint AS action,
	CASE WHEN i = 3 THEN (g % 2)::float8 END AS reward, g % 2 = 0 AS success
FROM generate_series(1, 20000) g, generate_series(1, 2) r, generate_series(0, 3) i ORDER BY i, r, g;
ALTER TABLE fold_many ALTER task TYPE text COLLATE "C";
ANALYZE fold_many;
-- (scattered rows, for which the planner would prefer an Agg; several processes: parallel_fold.sql)
SET enable_sort = off; SET random_page_cost = 1000; SET max_parallel_workers_per_gather = 0; SET hash_mem_multiplier = 1;
-- how rows were stored: all but the first few in parts, those on disk; groups as values
CREATE FUNCTION pg_temp.way(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	counts jsonb := '{}';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (analyze, costs off, timing off, summary off) ' || query LOOP
		IF line ~ '(Scattered Rows|Spilled Groups|Parts|Parts on Disk|Disk Usage): ' THEN
			counts := counts || jsonb_build_object(substring(line from '(\w+): '), substring(line from ': (\d+)')::int);
		END IF;
	END LOOP;
	RETURN format('%s of 100 rows scattered, %s groups spilled, %s, disk: %s', coalesce((counts ->> 'Rows')::int, 0) / 1600,
		CASE WHEN (counts ->> 'Groups')::int > 10000 THEN 'most' WHEN (counts ->> 'Groups')::int > 0 THEN 'some' ELSE 'no' END,
		CASE WHEN (counts ->> 'Parts')::int > 1 THEN 'in parts' ELSE 'whole' END,
		CASE WHEN counts ? 'Usage' THEN 'used' WHEN counts ? 'Disk' THEN 'unclear' ELSE 'none' END);
END
$$;
SET work_mem = '32MB';
SELECT pg_temp.way('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) FROM fold_many GROUP BY num');
SELECT pg_temp.both('SELECT num, $ FROM fold_many GROUP BY num');
SELECT pg_temp.both('SELECT task, num, $ FILTER (WHERE success) FROM fold_many GROUP BY task, num');
SET work_mem = '2MB';
SELECT pg_temp.way('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) FROM fold_many GROUP BY num');
-- stored together: groups go out as values, once
SELECT pg_temp.way('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) FROM (SELECT * FROM fold_many ORDER BY hashint4(num), rollout, step_no OFFSET 0) x GROUP BY num');
SELECT pg_temp.both('SELECT num, $ FROM (SELECT * FROM fold_many ORDER BY hashint4(num), rollout, step_no OFFSET 0) x GROUP BY num');
-- rollout after rollout: every group is written twice
SELECT pg_temp.both('SELECT num, $ FROM (SELECT * FROM fold_many ORDER BY rollout, hashint4(num), step_no OFFSET 0) x GROUP BY num');
-- together first, then not
SELECT pg_temp.way('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) FROM (SELECT * FROM fold_many ORDER BY rollout, CASE WHEN rollout = 1 THEN hashint4(num) END, step_no, num OFFSET 0) x GROUP BY num');
SELECT pg_temp.both('SELECT num, $ FROM (SELECT * FROM fold_many ORDER BY rollout, CASE WHEN rollout = 1 THEN hashint4(num) END, step_no, num OFFSET 0) x GROUP BY num');
SELECT pg_temp.both('SELECT num, $ FROM fold_many GROUP BY num');
SELECT pg_temp.both('SELECT task, $ FROM fold_many GROUP BY task');
SELECT pg_temp.both('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward, success, NULL, NULL, NULL, NULL, step_no / 2, CASE WHEN num % 3 > 0 THEN ARRAY[reward, NULL] END, NULL, NULL) FROM fold_many GROUP BY num');
SELECT pg_temp.both('SELECT num, $ FILTER (WHERE success) FROM fold_many GROUP BY num');
SELECT pg_temp.both('SELECT v, count(*), sum(length(g::text)) FROM generate_series(1, 2) v, LATERAL (SELECT num, $ AS g FROM fold_many WHERE num % 2 < v GROUP BY num) x GROUP BY v');
-- almost no memory: parts whose groups do not fit are divided, which writes hardly more than a sort does, and once for each time
SET work_mem = '64kB';
CREATE FUNCTION pg_temp.on_disk(query text, OUT kb integer, OUT parts integer) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (analyze, costs off, timing off, summary off) ' || query LOOP
		kb := coalesce(substring(line FROM 'Disk(?: Usage)?: (\d+) ?kB')::integer, kb);
		parts := coalesce(substring(line FROM 'Parts on Disk: (\d+)')::integer, parts);
	END LOOP;
END
$$;
SELECT f.kb BETWEEN 1000 AND 2 * s.kb AS hardly_more, f.parts BETWEEN 16 AND 1200 AS not_again_and_again
FROM pg_temp.on_disk('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) FROM fold_many GROUP BY num') f,
	pg_temp.on_disk('SELECT num, step_id, rollout, step_no, state, action, reward FROM fold_many ORDER BY num') s;
SELECT pg_temp.both('SELECT num, $ FROM fold_many GROUP BY num');
SELECT pg_temp.both('SELECT task, num, $ FROM fold_many GROUP BY task, num');
SELECT pg_temp.both('SELECT num, $ FROM (SELECT * FROM fold_many ORDER BY rollout, hashint4(num), step_no OFFSET 0) x GROUP BY num');
-- keys of every kind, of which some are NULL or written in several ways
CREATE TABLE fold_keys AS SELECT *, NULLIF(num % 7 = 0, num % 11 = 1) AS k_bool, NULLIF(num % 5, 3)::int2 AS k_int2, CASE WHEN i % 2 = 0 THEN num % 4 ELSE -(num % 4) * 0 END::float8 * -1 AS k_float,
	CASE WHEN i % 3 = 0 THEN (num % 9)::numeric ELSE ((num % 9) || '.00')::numeric END AS k_numeric, md5((num % 100)::text)::uuid AS k_uuid, NULLIF('n' || num % 30, 'n3')::name AS k_name,
	ARRAY[num % 2, NULL] AS k_array, chr(65 + num % 3)::"char" AS k_char, timestamptz '2024-01-01 UTC' + num * interval '1 day' AS k_time
	FROM (SELECT *, step_no AS i FROM fold_many WHERE num % 13 < 4) x;
ALTER TABLE fold_keys ALTER k_array SET STORAGE external;
UPDATE fold_keys SET rollout = step_id, task = repeat(task, 300) WHERE num % 26 = 0;
UPDATE fold_keys SET rollout = step_id;
ANALYZE fold_keys;
SELECT pg_temp.both(format('SELECT %s, $ FROM fold_keys GROUP BY %s', shown, key))
FROM (VALUES ('k_bool', 'k_bool'), ('k_int2, k_bool', 'k_bool, k_int2'), ('k_float + 0', 'k_float'), ('k_numeric::int', 'k_numeric'), ('k_uuid', 'k_uuid'), ('k_name, k_char', 'k_name, k_char'),
	('k_array', 'k_array'), ('k_time', 'k_time'), ('task', 'task'), ('task, k_numeric::int, k_int2', 'k_int2, k_numeric, task'), ('k_array || num', 'k_array || num'), ('task::bpchar(8)', 'task::bpchar(8)'),
	('k_uuid, k_name, num, k_array', 'k_uuid, k_name, num, k_array')) v(shown, key);
RESET enable_sort; RESET work_mem; RESET random_page_cost; RESET max_parallel_workers_per_gather; RESET hash_mem_multiplier;
-- an index over scattered rows, a page of the table for each of them: with default settings it is not walked
CREATE INDEX ON fold_many (num, rollout, step_no);
VACUUM ANALYZE fold_many;
SELECT pg_temp.plan_of('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) FROM fold_many GROUP BY num') ~ 'Index Scan' AS walks_index;
SET max_parallel_workers_per_gather = 0;
SELECT pg_temp.plan_of('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) FROM fold_many GROUP BY num') ~ 'Index Scan' AS walks_index;
-- nor if random_page_cost is close to seq_page_cost; Agg is charged for it, too
SET random_page_cost = 1; SET work_mem = '1MB';
SELECT pg_temp.plan_of('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) FROM fold_many GROUP BY num') ~ 'Hashed.*Seq Scan' AS scans;
SET stepadv.enable_group_fold = off;
SELECT pg_temp.plan_of('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) FROM fold_many GROUP BY num') ~ 'Index Scan' AS agg_alone_walks;
RESET stepadv.enable_group_fold;
-- the same index over the same rows, stored in its order, is
CREATE TABLE fold_ordered AS SELECT * FROM fold_many ORDER BY num, rollout, step_no;
CREATE INDEX ON fold_ordered (num, rollout, step_no);
VACUUM ANALYZE fold_ordered;
SELECT pg_temp.plan_of('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) FROM fold_ordered GROUP BY num') ~ 'Index Scan' AS walks_index;
-- as is that of a few groups
SELECT pg_temp.plan_of('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) FROM fold_many WHERE num = 77 GROUP BY num') ~ 'Index Scan' AS walks_index;
RESET random_page_cost; RESET work_mem;
-- an error of a group that is folded in a part
\set VERBOSITY default
SET enable_sort = off; SET enable_hashagg = on; SET work_mem = '1MB'; SET max_parallel_workers_per_gather = 0;
SELECT count(g) FROM (SELECT task, rollout_agg(step_id, rollout, step_no, state, action, reward, success, NULL, NULL, NULL, NULL, NULL, CASE WHEN num = 7777 THEN array_fill(reward, ARRAY[65]) END, NULL, NULL) AS g FROM fold_many GROUP BY task) x;
\set VERBOSITY terse
SELECT count(g) FROM (SELECT num, rollout_agg(step_id, rollout, CASE WHEN num = 7777 THEN 1 ELSE step_no END, state, action, reward) AS g FROM fold_many GROUP BY num) x;
RESET enable_sort; RESET enable_hashagg; RESET work_mem; RESET max_parallel_workers_per_gather;

-- Each partition by itself.
CREATE TABLE fold_parts (LIKE fold_steps) PARTITION BY HASH (num);
CREATE TABLE fold_part_0 PARTITION OF fold_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
-- with its columns in another order, and one that is gone
CREATE TABLE fold_part_1 (gone int, kind bigint, reward float8, action bigint, success boolean, state bigint, step_no int, rollout bigint, step_id bigint, level numeric, task text COLLATE "C", num int);
ALTER TABLE fold_part_1 DROP gone;
ALTER TABLE fold_parts ATTACH PARTITION fold_part_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO fold_parts SELECT * FROM fold_steps;
ANALYZE fold_parts;
SET enable_partitionwise_aggregate = on; SET enable_sort = off;
SELECT pg_temp.both('SELECT num, $ FROM fold_parts GROUP BY num');
SELECT pg_temp.both('SELECT num, task, $ FILTER (WHERE kind > 3) FROM fold_parts GROUP BY num, task');
SELECT pg_temp.both('SELECT num, task, $+ FROM fold_parts GROUP BY num, task');
EXPLAIN (costs off) SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) FROM fold_parts GROUP BY num;
-- groups that span several partitions are not folded by partition
SELECT pg_temp.both('SELECT level::int, $ FROM fold_parts GROUP BY level');
RESET enable_partitionwise_aggregate; RESET enable_sort;

-- Left to Agg.
SELECT pg_temp.both('SELECT num, $ FROM fold_steps GROUP BY num HAVING count(*) > 9');
SELECT pg_temp.both('SELECT num, $ FROM fold_steps GROUP BY num HAVING $ IS NOT NULL');
SELECT pg_temp.both('SELECT num, $, count(*) FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT num, $, $+ FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT num, task, $ FROM fold_steps GROUP BY GROUPING SETS ((num), (num, task))');
SELECT pg_temp.both('SELECT num, rollout_agg(DISTINCT step_id, rollout, step_no, state, action, reward) FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward ORDER BY step_id) FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT $ FROM fold_steps');
SELECT pg_temp.both('SELECT generate_series(1, 2), num, $ FROM fold_steps GROUP BY num');
SELECT pg_temp.both('SELECT GROUPING(num), num, $ FROM fold_steps GROUP BY num');

-- an aggregate with another final function
CREATE AGGREGATE public.fold_bytes(bigint, bigint, int, bigint, bigint, float8) (SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, FINALFUNC = stepadv_internal.rollout_agg_serial);
SELECT pg_temp.both('SELECT num, fold_bytes(step_id, rollout, step_no, state, action, reward) FROM fold_steps GROUP BY num');
DROP AGGREGATE public.fold_bytes(bigint, bigint, int, bigint, bigint, float8);

-- Windows and order above it.
SELECT pg_temp.both('SELECT num, row_number() OVER (ORDER BY length($::text), num) FROM fold_steps GROUP BY num');

-- UPDATE and INSERT read from it.
CREATE TEMP TABLE fold_sizes AS SELECT num, length(rollout_agg(step_id, rollout, step_no, state, action, reward)::text) AS size FROM fold_steps GROUP BY num;
UPDATE fold_sizes s SET size = size - length(x.g::text)
FROM (SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) AS g FROM fold_steps GROUP BY num) x WHERE x.num = s.num;
SELECT count(*), count(*) FILTER (WHERE size = 0) AS same FROM fold_sizes;

-- Errors are those of the aggregate.
SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward / nullif(state, 2) * float8 'NaN') FROM fold_steps WHERE reward IS NOT NULL GROUP BY num;
SELECT num, rollout_agg(step_id, NULL, step_no, state, action, reward) FROM fold_steps GROUP BY num;
SELECT count(g) FROM (SELECT num, rollout_agg(step_id, rollout, 1, state, action, reward) AS g FROM fold_steps GROUP BY num) x;

-- A user without EXECUTE on the aggregate cannot have it computed.
REVOKE EXECUTE ON FUNCTION rollout_agg(bigint, bigint, integer, bigint, bigint, float8) FROM PUBLIC;
CREATE ROLE regress_fold_nobody;
GRANT SELECT ON fold_steps TO regress_fold_nobody;
SET ROLE regress_fold_nobody;
SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) FROM fold_steps GROUP BY num;
RESET ROLE;
GRANT EXECUTE ON FUNCTION rollout_agg(bigint, bigint, integer, bigint, bigint, float8) TO PUBLIC;
REVOKE SELECT ON fold_steps FROM regress_fold_nobody;
DROP ROLE regress_fold_nobody;

-- A prepared plan is invalidated when the aggregate is dropped.
CREATE AGGREGATE public.my_agg(bigint, bigint, int, bigint, bigint, float8) (SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, FINALFUNC = stepadv_internal.rollout_agg_final);
PREPARE fold_them AS SELECT count(g) FROM (SELECT num, public.my_agg(step_id, rollout, step_no, state, action, reward) AS g FROM fold_steps GROUP BY num) x;
EXECUTE fold_them;
DROP AGGREGATE public.my_agg(bigint, bigint, int, bigint, bigint, float8);
EXECUTE fold_them;

-- Interleaved rollouts whose steps are unordered, or in two sequences: the same as in order. A duplicate step is detected all the same.
CREATE TEMP TABLE fold_turns AS
SELECT i AS step_id, i % 3 AS group_id, i % 5 AS rollout_id, ((i * 7919) % 10007)::int - 5000 AS no, ((i * 7919) % 10007 + i % 2 * 10007)::int AS two, i % 11 AS s, i % 2 AS a, (i % 7)::float8 AS r
FROM generate_series(0::bigint, 10006) i;
SELECT count(*), bool_and(x.g::text = y.g::text) AS as_in_order, bool_and(x.h::text = y.h::text) AS as_in_order_too
FROM (SELECT group_id, stepadv.rollout_agg(step_id, rollout_id, no, s, a, r) AS g, stepadv.rollout_agg(step_id, rollout_id, two, s, a, r) FILTER (WHERE step_id < 400) AS h FROM fold_turns GROUP BY group_id) x
JOIN (SELECT group_id, stepadv.rollout_agg(step_id, rollout_id, no, s, a, r ORDER BY rollout_id, no) AS g,
		stepadv.rollout_agg(step_id, rollout_id, two, s, a, r ORDER BY rollout_id, two) FILTER (WHERE step_id < 400) AS h FROM fold_turns GROUP BY group_id) y USING (group_id);
INSERT INTO fold_turns SELECT 10007, group_id, rollout_id, no, two, s, a, r FROM fold_turns WHERE step_id = 4000;
SELECT count(g) FROM (SELECT stepadv.rollout_agg(step_id, rollout_id, no, s, a, r) AS g FROM fold_turns WHERE group_id = 1 GROUP BY group_id) x;
DROP TABLE fold_turns;

DROP TABLE fold_steps, fold_many, fold_keys, fold_parts;

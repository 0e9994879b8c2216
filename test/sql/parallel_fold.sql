-- GroupFold with several processes (src/plan/fold/exchange.c): the same groups as one process with PostgreSQL's own Agg, whatever is shared, spilled, missing, stopped or rescanned.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE SCHEMA pf;
SET search_path = pf, stepadv, public;

-- 300 groups, most of some steps, a few of many, one with a NULL key; stored together, or not.
CREATE TABLE together AS
SELECT nullif(g, 300) AS num, 'task ' || g AS task, CASE WHEN i % 2 = 0 THEN (g % 50)::numeric ELSE ((g % 50)::text || '.00')::numeric END AS level,
	g * 10000::bigint + r * 500 + i AS step_id, g * 100::bigint + r AS rollout, CASE WHEN i >= 0 THEN i END AS step_no,
	h % 7 AS state, CASE WHEN h % 13 > 0 THEN h % 3 END AS action, CASE WHEN i < 0 THEN (h % 2)::float8 END AS reward, h % 5 = 0 AS success, h % 3 AS kind
FROM (SELECT g, r, i, abs(signature_hash(format('%s %s %s', g, r, i)) % 1000) AS h
	FROM generate_series(1, 300) g, generate_series(1, 1 + g % 4) r, generate_series(-1, CASE WHEN g % 60 = 0 THEN 400 ELSE (g * r) % 23 END) i) x
ORDER BY g, r, i;
CREATE TABLE scattered AS SELECT * FROM together ORDER BY hashint8(step_id);
CREATE TABLE parted (LIKE together) PARTITION BY HASH (num);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT * FROM scattered;
CREATE TABLE nothing (LIKE together);
ALTER TABLE together SET (parallel_workers = 3);
ALTER TABLE scattered SET (parallel_workers = 3);
ANALYZE together; ANALYZE scattered; ANALYZE parted; ANALYZE nothing;

-- Processes cost nothing in these plans.
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 3;
SET jit = off;

CREATE FUNCTION plan_of(query text, options text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
		plan := plan || line || E'\n';
	END LOOP;
	RETURN plan;
END
$$;
-- to the last bit, as they would be sent
CREATE FUNCTION rows_of(query text) RETURNS bytea[] LANGUAGE plpgsql AS $$
DECLARE
	rows bytea[];
BEGIN
	EXECUTE format('SELECT array_agg(r ORDER BY r) FROM (SELECT record_send(one_row) AS r FROM (%s) one_row OFFSET 0) x', query) INTO rows;
	RETURN rows;
END
$$;
-- $ is replaced by the arguments of the short form, $+ by those of the long one, $% by all.
CREATE FUNCTION spelled(query text) RETURNS text LANGUAGE sql AS $$
	SELECT replace(replace(replace(query,
		'$%', 'rollout_agg(step_id, rollout, step_no, state, action, reward, success, state + 1, reward, NULL, NULL, step_no / 2, CASE WHEN kind > 0 THEN ARRAY[reward, NULL, kind] END, NULL, NULL)'),
		'$+', 'rollout_agg(step_id, rollout, step_no, state, action, reward, success, state + 1, reward, reward * 2, 1 + abs(reward))'),
		'$', 'rollout_agg(step_id, rollout, step_no, state, action, reward)')
$$;
CREATE FUNCTION shared(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	shared bytea[];
	alone bytea[];
	plan text;
BEGIN
	query := spelled(query);
	plan := plan_of(query, 'costs off');
	shared := rows_of(query);
	PERFORM set_config('stepadv.enable_group_fold', 'off', true), set_config('max_parallel_workers_per_gather', '0', true);
	alone := rows_of(query);
	PERFORM set_config('stepadv.enable_group_fold', 'on', true), set_config('max_parallel_workers_per_gather', '3', true);
	RETURN format('%s rows%s, %s', coalesce(cardinality(shared), 0), CASE WHEN shared IS DISTINCT FROM alone THEN ' THAT DIFFER' END,
		CASE WHEN plan ~ 'Parallel Custom Scan \(GroupFold\)' THEN 'shared' ELSE 'not shared' END);
END
$$;

SELECT shared('SELECT num, $ FROM together GROUP BY num');
SELECT shared('SELECT num, $ FROM scattered GROUP BY num');
SELECT shared('SELECT task, $+ FROM scattered GROUP BY task');
SELECT shared('SELECT task, num, $% FROM scattered GROUP BY num, task');
SELECT shared('SELECT num, $ FILTER (WHERE kind = 0) FROM scattered GROUP BY num');
SELECT shared('SELECT num, $ FROM nothing GROUP BY num');
-- many groups of a few rows, of which a process has more than its share: others receive complete values
CREATE TABLE many (LIKE together);
INSERT INTO many (num, task, step_id, rollout, step_no, state, action, reward, kind)
SELECT i / 30, 'task ' || i / 30, i, i / 10, i % 10, i * 7 % 11, i % 3, (i / 10 % 2)::float8, i % 3 FROM generate_series(0, 29999) i;
ALTER TABLE many SET (parallel_workers = 3);
ANALYZE many;
SELECT shared('SELECT num, $ FROM many GROUP BY num');
SELECT shared('SELECT num, $ FROM together WHERE num BETWEEN 7 AND 7 GROUP BY num');
-- keys that are equal but not identical, 1 and 1.00: either can be shown
SELECT shared('SELECT level::int, $ FROM scattered GROUP BY level');
SELECT shared('SELECT num % 20, $ FROM scattered GROUP BY num % 20');
-- nodes above are executed by all processes, too
SELECT shared('SELECT num, a.* FROM (SELECT num, $ AS g FROM scattered GROUP BY num) x, rtmc(x.g) a');
SELECT shared('SELECT count(*), sum(n_state) FROM (SELECT num, $ AS g FROM together GROUP BY num) x, rtmc(x.g) a');
SELECT plan_of(spelled('SELECT count(*), sum(n_state) FROM (SELECT num, $ AS g FROM together GROUP BY num) x, rtmc(x.g) a'), 'costs off');
-- joins, partitions, UNION ALL
SELECT shared('SELECT t.num, $ FROM scattered t JOIN (SELECT DISTINCT num FROM together WHERE kind = 1) n USING (num) GROUP BY t.num');
SELECT shared('SELECT num, $ FROM parted GROUP BY num');
SET enable_partitionwise_aggregate = on;
SELECT shared('SELECT num, $ FROM parted GROUP BY num');
SELECT shared('SELECT count(*), sum(n_state) FROM (SELECT num, $ AS g FROM parted GROUP BY num) x, rtmc(x.g) a');
-- few groups: one fold of all partitions is faster than one of each with a gather
SELECT shared('SELECT num, $ FILTER (WHERE kind <> 1) FROM parted WHERE num % 3 = 1 GROUP BY num');
SELECT plan_of(spelled('SELECT array_agg(q::text) FROM (SELECT num, $ AS g FROM parted WHERE num % 3 = 1 GROUP BY num) q'), 'costs off') ~ 'Gather.*Gather' AS gathered_twice;
RESET enable_partitionwise_aggregate;
-- steps and outcomes apart: the process that reads an outcome sends it to the one that has most steps of the group
SELECT shared('SELECT num, $ FROM (SELECT * FROM together WHERE step_no IS NOT NULL UNION ALL SELECT * FROM together WHERE step_no IS NULL) u GROUP BY num');
SELECT shared('SELECT task, num % 40, $% FROM (SELECT * FROM together WHERE step_no IS NOT NULL UNION ALL SELECT * FROM together WHERE step_no IS NULL) u GROUP BY task, num % 40');
SELECT shared('SELECT num, g FROM (SELECT num, $ AS g FROM together GROUP BY num UNION ALL SELECT num, $ FROM scattered GROUP BY num) x');

-- Almost no memory: nearly everything is written out.
SET work_mem = '64kB'; SET hash_mem_multiplier = 1;
SELECT shared('SELECT num, $ FROM together GROUP BY num');
SELECT shared('SELECT num, $ FROM scattered GROUP BY num');
SELECT shared('SELECT task, num, $% FROM scattered GROUP BY num, task');
-- large values that meet in a full table leave free space, which none of the other groups can use
SELECT shared('SELECT v, x.* FROM generate_series(3, 3) v, LATERAL (SELECT num, $% FROM (SELECT * FROM together WHERE step_no >= 0 UNION ALL SELECT * FROM together WHERE step_no IS NULL) u WHERE num % 3 < v GROUP BY num) x');
RESET work_mem; RESET hash_mem_multiplier;

-- The leader is busy; no worker is available; one of three is.
SET parallel_leader_participation = off;
SELECT shared('SELECT num, $ FROM scattered GROUP BY num');
RESET parallel_leader_participation;
SET max_parallel_workers = 0;
SELECT shared('SELECT num, $ FROM scattered GROUP BY num');
SET max_parallel_workers = 1;
SELECT shared('SELECT num, $ FROM scattered GROUP BY num');
SET parallel_leader_participation = off;
SELECT shared('SELECT num, $ FROM scattered GROUP BY num');
RESET parallel_leader_participation; RESET max_parallel_workers;

-- Rescans, with another condition each time or the same; a few rows only.
SET enable_material = off; SET enable_memoize = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
SELECT shared('SELECT v, x.num, x.g FROM generate_series(1, 4) v LEFT JOIN (SELECT num, $ AS g FROM scattered GROUP BY num) x ON x.num > v * 60');
SELECT shared('SELECT v, x.size FROM generate_series(1, 4) v LEFT JOIN (SELECT sum(length(g::text)) AS size FROM (SELECT num, $ AS g FROM scattered GROUP BY num) y) x ON x.size > v');
SELECT shared('SELECT v, x.n, x.size FROM generate_series(1, 4) v, LATERAL (SELECT count(*) AS n, sum(length(g::text)) AS size FROM (SELECT num, $ AS g FROM scattered WHERE num % 5 = v GROUP BY num) y) x');
SELECT shared('SELECT v, (SELECT sum(length(g::text)) FROM (SELECT $ AS g FROM scattered WHERE num > v * 10 GROUP BY num) x) FROM generate_series(1, 5) v');
RESET enable_material; RESET enable_memoize; RESET enable_hashjoin; RESET enable_mergejoin;
SELECT count(*) FROM (SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) AS g FROM scattered GROUP BY num LIMIT 3) x;
SELECT v, x.n FROM generate_series(1, 3) v, LATERAL (SELECT count(*) AS n FROM (SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward + v) AS g FROM scattered GROUP BY num LIMIT v) y) x;
BEGIN;
DECLARE c CURSOR FOR SELECT num, rollout_agg(step_id, rollout, step_no, state, action, reward) IS NOT NULL FROM scattered GROUP BY num;
MOVE 5 FROM c;
CLOSE c;
COMMIT;

-- Errors of the aggregate, in whichever process: at a row, and where pieces meet.
\set VERBOSITY sqlstate
SELECT count(g) FROM (SELECT num, rollout_agg(step_id, rollout, step_no, state, action, CASE WHEN num = 250 THEN float8 'NaN' ELSE reward END) AS g FROM together GROUP BY num) x;
SELECT count(g) FROM (SELECT num, rollout_agg(step_id, rollout, CASE WHEN num = 240 THEN 1 ELSE step_no END, state, action, reward) AS g FROM scattered GROUP BY num) x;
\set VERBOSITY terse
SELECT shared('SELECT num, $ FROM scattered GROUP BY num');

-- A timeout.
SET statement_timeout = '100ms';
\set VERBOSITY sqlstate
SELECT sum(length(g::text)) FROM (SELECT num, rollout_agg(step_id + (pg_sleep(0.001) IS NULL)::int, rollout, step_no, state, action, reward) AS g FROM scattered GROUP BY num) x;
\set VERBOSITY terse
RESET statement_timeout;
SELECT shared('SELECT num, $ FROM scattered GROUP BY num');

-- EXPLAIN shows every process.
SELECT regexp_replace(regexp_replace(regexp_replace(ltrim(line), '^(Leader|Worker \d)', 'Process'), '  Scattered Rows: \d+', ''), '\d+', 'N', 'g') AS line
FROM regexp_split_to_table(plan_of(spelled('SELECT num, $ FROM scattered GROUP BY num'), 'analyze, costs off, timing off, summary off'), E'\n') line
WHERE line ~ 'Memory Usage' LIMIT 1;
SELECT count(*) BETWEEN 1 AND 4 AS processes, bool_and(p -> 'Exchanged Groups' IS NOT NULL) AND max((p ->> 'Memory Usage')::int) > 0 AS told
FROM (SELECT plan_of(spelled('SELECT num, $ FROM scattered GROUP BY num'), 'analyze, costs off, timing off, summary off, format json')::jsonb AS plan) e,
	jsonb_path_query(e.plan, 'strict $.**.Processes[*]') p;

-- Rows of interleaved groups go to the parts of the exchange as they are, also if memory is less than a cache.
CREATE FUNCTION scattered_rows(query text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN sum(coalesce((p ->> 'Scattered Rows')::int, 0)) > 0 THEN 'scattered' ELSE 'not scattered' END
	FROM (SELECT plan_of(spelled(query), 'analyze, costs off, timing off, summary off, format json')::jsonb AS plan) e,
		jsonb_path_query(e.plan, 'strict $.**.Processes[*]') p
$$;
SET work_mem = '64kB';
SELECT scattered_rows('SELECT num, $ FROM scattered GROUP BY num');
SELECT scattered_rows('SELECT task, num, $% FROM scattered GROUP BY num, task');
SELECT scattered_rows('SELECT num, $ FROM together GROUP BY num');
-- one process has interleaved rows, others do not
SELECT scattered_rows('SELECT num, $ FROM (SELECT num, step_id, rollout, step_no, state, action, reward FROM together UNION ALL SELECT num, step_id, rollout + 1000000, step_no, state, action, reward FROM scattered) u GROUP BY num');
SELECT shared('SELECT num, $ FROM (SELECT num, step_id, rollout, step_no, state, action, reward FROM together UNION ALL SELECT num, step_id, rollout + 1000000, step_no, state, action, reward FROM scattered) u GROUP BY num');
SET work_mem = '1MB';
SELECT scattered_rows('SELECT num, $ FROM scattered GROUP BY num');
RESET work_mem;

-- Random queries: columns, source, number of processes, memory.
CREATE FUNCTION any_of(VARIADIC words text[]) RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT words[1 + floor(random() * cardinality(words))::int] $$;
CREATE FUNCTION random_query() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	keys text := any_of('num', 'num', 'task', 'num, task', 'num % 11', 'upper(task)', 'kind, num');
	groups text := format('SELECT %s AS key, %s AS g FROM %s WHERE %s GROUP BY %s',
		CASE WHEN keys LIKE '%,%' THEN format('ROW(%s)', keys) ELSE keys END,
		any_of('$', '$', '$+', '$%', '$ FILTER (WHERE kind <> 1)'), any_of('together', 'scattered', 'parted', 'many', '(TABLE together UNION ALL TABLE nothing) u', '(SELECT * FROM together WHERE step_no >= 0 UNION ALL SELECT * FROM together WHERE step_no IS NULL) u'),
		any_of('true', 'true', 'kind < 2', 'num BETWEEN 20 AND 90', 'num % 3 = 1', 'false', 'step_no IS NOT NULL'), keys);
BEGIN
	RETURN any_of(groups, groups,
		format('SELECT key::text, a.* FROM (%s) x, %s(x.g) a', groups, any_of('rtmc', 'grpo', 'batch_td', 'rollouts', 'gigpo')),
		format('SELECT count(*), sum(length(g::text)) FROM (%s) x', groups),
		format('SELECT v, count(*), sum(length(g::text)) FROM generate_series(1, 3) v, LATERAL (%s) x GROUP BY v', replace(groups, 'WHERE', 'WHERE num % 3 < v AND')),
		format('SELECT x.key::text, y.key::text, x.g = y.g FROM (SELECT key, g::text FROM (%1$s) a) x JOIN (SELECT key, g::text FROM (%1$s) b) y ON x.key::text = y.key::text', groups));
END
$$;
CREATE FUNCTION random_check(n integer) RETURNS TABLE (queries bigint, mostly_shared boolean, different bigint, example text) LANGUAGE plpgsql AS $$
DECLARE
	query text;
	outcome text;
	alone text;
	said text[] := '{}';
BEGIN
	FOR i IN 1..n LOOP
		PERFORM set_config('work_mem', any_of('64kB', '256kB', '1MB', '4MB'), true), set_config('parallel_leader_participation', any_of('on', 'on', 'off'), true),
			set_config('max_parallel_workers', any_of('8', '8', '2', '1', '0'), true),
			set_config('max_parallel_workers_per_gather', any_of('3', '3', '3', '0'), true), set_config('enable_partitionwise_aggregate', any_of('on', 'off'), true);
		query := random_query();
		alone := CASE current_setting('max_parallel_workers_per_gather') WHEN '0' THEN 'alone: ' ELSE '' END;
		outcome := shared(query);
		said := said || (alone || outcome || '; ' || query);
	END LOOP;
	-- no rows are asked of several where none can be, nor below a row of another table
	RETURN QUERY SELECT count(*), avg((s LIKE '%, shared;%')::int) FILTER (WHERE s NOT LIKE 'alone: %' AND s !~ 'WHERE false|AND false|LATERAL') > 0.9, count(*) FILTER (WHERE s LIKE '%DIFFER%'), min(s) FILTER (WHERE s LIKE '%DIFFER%') FROM unnest(said) s;
END
$$;
-- More of them: psql -v random_queries=20000 -v random_seed=0.1 -f test/sql/parallel_fold.sql (at once, with
-- other seeds, in other databases of the server)
\if :{?random_queries}
\else
\set random_queries 60
\endif
\if :{?random_seed}
\else
\set random_seed 0.5
\endif
SELECT setseed(:random_seed);
SELECT (random_check(:random_queries)).*;

DROP SCHEMA pf CASCADE;

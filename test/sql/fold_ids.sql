-- GroupFold over ids and keys of any type (src/plan/fold/input.c), of one table or several below an Append, against PostgreSQL's own Agg (stepadv.enable_group_fold = off).
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE SCHEMA fi;
SET search_path = fi, stepadv, public;

-- Every id in every type, under its type's name; some NULL, some out of line.
CREATE DOMAIN words AS text;
CREATE DOMAIN whole AS numeric(20, 0);
CREATE TYPE kinds AS ENUM ('k0', 'k1', 'k2', 'k3', 'k4', 'k5', 'k6');
CREATE TABLE ids AS SELECT x::bigint AS of_bigint, x::integer AS of_integer, x::smallint AS of_smallint, 'id ' || x AS of_text, ('v' || x)::varchar(20) AS of_varchar,
	md5(x::text)::uuid AS of_uuid, decode(md5(x::text), 'hex') AS of_bytea, x::numeric AS of_numeric, x::whole AS of_whole, ('w' || x)::words AS of_words, ('k' || x % 7)::kinds AS of_kinds, x
	FROM generate_series(0, 200) x;
UPDATE ids SET of_text = 'id ' || x || repeat('long', 2000), of_bytea = decode(repeat(md5(x::text), 300), 'hex') WHERE x % 50 = 7;
CREATE TABLE types AS SELECT attname::text AS name FROM pg_attribute WHERE attrelid = 'ids'::regclass AND attname LIKE 'of_%';

-- A table with each of them for task, run, rollout, state and action, stored in order and in pieces.
DO $$
BEGIN
	EXECUTE (SELECT format('CREATE TABLE steps AS SELECT n AS step_id, n::integer AS step_integer, i AS step_no, i::smallint AS no_smallint, reward, success, kind, %s FROM (
			SELECT n, n / 9 %% 40 AS task, n / 9 %% 3 AS run, n / 9 AS rollout, CASE WHEN n %% 9 > 0 THEN n %% 9 END::integer AS i, n * 7919 %% 31 AS state, CASE WHEN n %% 17 > 0 THEN n * 104729 %% 7 END AS action,
				CASE WHEN n %% 9 = 8 THEN (n %% 5)::float8 END AS reward, n %% 9 = 8 AND n %% 2 = 0 AS success, n %% 4 AS kind FROM generate_series(0::bigint, 1799) n) s
		JOIN ids t ON t.x = task LEFT JOIN ids u ON u.x = nullif(run, 2) JOIN ids r ON r.x = rollout JOIN ids o ON o.x = state LEFT JOIN ids a ON a.x = action ORDER BY n',
		string_agg(format('%s.%s AS %s', alias, name, what || substr(name, 3)), ', ' ORDER BY alias, name))
	FROM types, (VALUES ('t', 'task'), ('u', 'run'), ('r', 'rollout'), ('o', 'state'), ('a', 'action')) v(alias, what));
END $$;
ALTER TABLE steps ADD later integer;
UPDATE steps SET later = 5 WHERE step_id % 7 <> 0;
VACUUM FULL steps;
-- with a column that is gone, and one that came later
CREATE TABLE grown AS SELECT * FROM steps;
ALTER TABLE grown DROP later, DROP no_smallint, DROP success;
ALTER TABLE grown ADD later integer DEFAULT 5, ADD no_smallint smallint, ADD success boolean DEFAULT true;
UPDATE grown SET later = NULL WHERE step_id % 7 = 0;
CREATE TABLE parted (LIKE steps) PARTITION BY HASH (task_integer);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT * FROM steps;
CREATE TABLE elder (LIKE steps);
CREATE TABLE younger (more text, no text) INHERITS (elder);
ALTER TABLE younger DROP more;
INSERT INTO elder SELECT * FROM steps WHERE rollout_integer % 2 = 0;
INSERT INTO younger SELECT * FROM steps WHERE rollout_integer % 2 = 1;
CREATE TABLE outcomes AS SELECT DISTINCT ON (rollout_integer) * FROM steps ORDER BY rollout_integer, step_id;
-- steps and outcomes in one adapter, as create_tables has them
DO $$
BEGIN
	EXECUTE (SELECT format('CREATE VIEW both_kinds AS SELECT %s FROM steps UNION ALL SELECT %s FROM outcomes', string_agg(quote_ident(attname), ', ' ORDER BY attnum),
		string_agg(CASE attname WHEN 'step_no' THEN 'NULL::integer' WHEN 'no_smallint' THEN 'NULL::smallint' WHEN 'step_id' THEN 'NULL::bigint' WHEN 'reward' THEN 'coalesce(NULL::float8, success::integer::float8)'
			ELSE quote_ident(attname) END, ', ' ORDER BY attnum)) FROM pg_attribute WHERE attrelid = 'steps'::regclass AND attnum > 0 AND NOT attisdropped);
END $$;
ANALYZE steps; ANALYZE grown; ANALYZE parted; ANALYZE elder; ANALYZE outcomes;

-- An id in the spelling of adapters.
CREATE FUNCTION spelled(what text, type text) RETURNS text LANGUAGE sql AS $$
	SELECT format(CASE WHEN type IN ('bigint') THEN '%s' WHEN type IN ('integer', 'smallint') THEN '%s::bigint' WHEN type IN ('numeric', 'whole') THEN 'signature_hash(trim_scale(%s)::text)'
		WHEN type IN ('kinds', 'words', 'varchar') THEN 'signature_hash(%s::text)' ELSE 'signature_hash(%s)' END, what || '_' || type)
$$;
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
CREATE FUNCTION by_both(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	workers text := current_setting('max_parallel_workers_per_gather');
	folded bytea[] := rows_of(query);
	plan text := plan_of(query, 'costs off, verbose');
	aggregated bytea[];
BEGIN
	PERFORM set_config('stepadv.enable_group_fold', 'off', true), set_config('max_parallel_workers_per_gather', '0', true);
	aggregated := rows_of(query);
	PERFORM set_config('stepadv.enable_group_fold', 'on', true), set_config('max_parallel_workers_per_gather', workers, true);
	RETURN format('%s rows%s, %s%s', coalesce(cardinality(folded), 0), CASE WHEN folded IS DISTINCT FROM aggregated THEN ' THAT DIFFER' END,
		CASE WHEN plan LIKE '%GroupFold%' THEN 'folded' ELSE 'aggregated' END,
		CASE WHEN plan ~ 'GroupFold[^>]*->[^>]*(Scan|Append)[^>]*Output: [^>]*signature_hash' THEN ', ids computed below' END);
END
$$;
CREATE FUNCTION fold(keys text, relation text, condition text, rollout text, state text, action text, more text DEFAULT '') RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT %1$s, rollout_agg(step_id, %2$s, step_no, %3$s, %4$s, reward%5$s) FROM %6$s WHERE %7$s GROUP BY %1$s',
		keys, spelled('rollout', rollout), spelled('state', state), spelled('action', action), more, relation, condition)
$$;
-- steps without an id of their own, as adapters identify them
CREATE FUNCTION without_step_id(query text) RETURNS text LANGUAGE sql AS $$
	SELECT regexp_replace(query, 'rollout_agg\(step_id, (.*?), step_no', 'rollout_agg(signature_hash(\1, step_no::bigint), \1, step_no')
$$;

SET max_parallel_workers_per_gather = 0; SET enable_sort = off;
-- one type for all ids, then one for the keys; none is computed below
SELECT t.name, by_both(fold('task_integer', 'steps', 'task_integer IS NOT NULL', substr(name, 4), substr(name, 4), substr(name, 4))) FROM types t WHERE name NOT IN ('of_kinds') ORDER BY name COLLATE "C";
SELECT t.name, by_both(fold('task' || substr(name, 3), 'steps', 'true', 'bigint', 'kinds', 'bigint')) FROM types t ORDER BY name COLLATE "C";
SELECT t.name, by_both(without_step_id(fold('task_integer', 'both_kinds', 'true', substr(name, 4), 'text', 'uuid', ', success'))) FROM types t WHERE name NOT IN ('of_kinds') ORDER BY name COLLATE "C";
SELECT by_both('SELECT task_text, rollout_agg(signature_hash(rollout_integer, no_smallint), rollout_integer, no_smallint::integer, state_bigint, action_bigint, reward) FROM steps GROUP BY task_text');
SELECT DISTINCT by_both(format('SELECT task_text, rollout_agg(signature_hash(%s), rollout_bigint, step_no, state_bigint, action_bigint, reward) FROM steps GROUP BY task_text', other)) AS otherwise
FROM unnest('{"state_bigint, step_no","rollout_bigint, no_smallint","step_no, rollout_bigint"}'::text[]) other;
-- several keys, NULL ones too
SELECT by_both(fold('task_text, run_uuid, run_varchar, task_smallint', 'steps', 'true', 'text', 'uuid', 'bytea'));
SELECT by_both(fold('run_text, run_integer', 'steps', 'run_text IS NOT NULL AND rollout_text IS NOT NULL', 'text', 'bigint', 'bigint'));
-- conditions: a column added later, one that is NULL in some rows, others
SELECT by_both(fold('task_integer', 'steps', 'later IS NOT NULL AND action_text IS NOT NULL', 'integer', 'integer', 'integer'));
SELECT by_both(fold('task_text', 'steps', 'action_uuid IS NOT NULL AND kind <> 2', 'uuid', 'uuid', 'uuid'));
SELECT by_both(fold('task_text, later', 'steps', 'later IS NOT NULL', 'uuid', 'uuid', 'uuid', ', success'));
SELECT by_both(fold('task_text', 'steps', 'steps IS NOT NULL', 'uuid', 'uuid', 'uuid'));
SELECT by_both(fold('task_text', 'grown', 'later IS NOT NULL', 'uuid', 'text', 'integer', ', success'));
-- steps of other types, more arguments, a filter
SELECT by_both('SELECT task_uuid, rollout_agg(step_integer::bigint, signature_hash(rollout_uuid), no_smallint::integer, signature_hash(state_uuid), action_smallint::bigint, reward) FROM steps GROUP BY task_uuid');
SELECT by_both('SELECT task_text, rollout_agg(step_integer::bigint, rollout_integer::bigint, no_smallint::integer, state_smallint::bigint, signature_hash(action_text), reward, success, NULL, NULL, NULL, NULL, no_smallint::integer, NULL, success, later::bigint) FROM steps WHERE later IS NOT NULL GROUP BY task_text');
SELECT by_both('SELECT task_integer, rollout_agg(step_id, rollout_integer::bigint, step_no, NULL, signature_hash(action_uuid), NULL, success) FILTER (WHERE success) FROM steps GROUP BY task_integer');
SELECT by_both('SELECT task_integer, rollout_agg(step_id, NULL, step_no, state_bigint, action_bigint, reward) FROM steps WHERE false GROUP BY task_integer');
-- below an Append
SELECT relation, by_both(fold('task_text, run_integer', relation, 'run_integer IS NOT NULL', 'text', 'integer', 'uuid', ', success')), by_both(fold('task_integer', relation, 'true', 'bigint', 'bigint', 'bigint'))
FROM (VALUES ('parted'), ('elder'), ('both_kinds'), ('(TABLE steps UNION ALL SELECT * FROM outcomes WHERE false) u'), ('(SELECT * FROM steps WHERE kind = 1 UNION ALL SELECT * FROM steps WHERE kind <> 1 AND action_text IS NOT NULL) u')) v(relation);
SELECT regexp_replace(plan_of(fold('task_text', 'both_kinds', 'true', 'text', 'integer', 'uuid'), 'costs off'), '\s+Group Key[^\n]*', '') AS plan;
-- again and again, a few rows, a count of what the executor sees
SELECT by_both('SELECT v, x.* FROM generate_series(1, 3) v, LATERAL (' || fold('task_text', 'both_kinds', 'task_integer % 3 = v', 'text', 'uuid', 'bytea') || ') x');
SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_memoize = off;
SELECT by_both('SELECT v, x.* FROM generate_series(1, 3) v LEFT JOIN (' || fold('task_integer', 'parted', 'true', 'text', 'uuid', 'bytea') || ') x ON x.task_integer > v * 10');
RESET enable_material; RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_memoize;
SELECT count(*) FROM (SELECT task_text, rollout_agg(step_id, signature_hash(rollout_text), step_no, state_bigint, action_bigint, reward) FROM both_kinds GROUP BY task_text LIMIT 3) x;
SELECT substring(plan_of(fold('task_text', 'both_kinds', 'action_text IS NOT NULL', 'text', 'integer', 'uuid'), 'analyze, costs off, timing off, summary off') FROM 'GroupFold\) \(actual rows=\d+') AS instrumented;

-- Random queries, by one process and by several.
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
CREATE FUNCTION any_of(VARIADIC words text[]) RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT words[1 + floor(random() * cardinality(words))::int] $$;
CREATE FUNCTION any_type() RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT any_of('bigint', 'bigint', 'integer', 'smallint', 'text', 'varchar', 'uuid', 'bytea', 'numeric', 'whole', 'words') $$;
CREATE FUNCTION random_fold() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	-- numbers of other scales and keys out of line are equal and yet not the same
	keys text := any_of('task_', 'run_') || any_of('bigint', 'integer', 'smallint', 'text', 'varchar', 'uuid', 'numeric', 'whole', 'words', 'kinds', 'bytea');
BEGIN
	IF random() < 0.5 THEN
		keys := keys || ', ' || 'task_' || any_type() || any_of('', ', kind', ', run_text, run_uuid');
	END IF;
	RETURN fold((SELECT string_agg(DISTINCT k, ', ') FROM regexp_split_to_table(keys, ', ') k), any_of('steps', 'grown', 'parted', 'elder', 'both_kinds', 'both_kinds', '(TABLE steps UNION ALL TABLE younger_rows) u'),
		any_of('true', 'task_text IS NOT NULL', 'run_uuid IS NOT NULL AND rollout_text IS NOT NULL', 'later IS NOT NULL', 'kind < 3', 'task_smallint = 7', 'action_varchar IS NOT NULL', 'false'),
		any_type(), any_of(any_type(), any_type(), 'kinds'), any_of(any_type(), any_type(), 'kinds'), any_of('', '', ', success', ', success, state_bigint, reward, NULL, NULL, step_no, NULL, NULL, NULL', ', NULL'));
END
$$;
CREATE VIEW younger_rows AS SELECT * FROM steps WHERE kind = 9;
CREATE FUNCTION random_check(n integer) RETURNS TABLE (queries bigint, mostly_folded boolean, different bigint, example text) LANGUAGE plpgsql AS $$
DECLARE
	query text;
	said text[] := '{}';
BEGIN
	FOR i IN 1..n LOOP
		PERFORM set_config('work_mem', any_of('64kB', '256kB', '4MB'), true), set_config('max_parallel_workers_per_gather', any_of('0', '0', '2'), true),
			set_config('enable_sort', any_of('on', 'off'), true), set_config('enable_hashagg', any_of('on', 'on', 'off'), true),
			set_config('parallel_leader_participation', any_of('on', 'off'), true), set_config('enable_partitionwise_aggregate', any_of('on', 'off'), true);
		query := random_fold();
		query := any_of(query, query, without_step_id(query));
		said := said || (by_both(query) || '; ' || query);
	END LOOP;
	RETURN QUERY SELECT count(*), avg((s LIKE '%, folded%')::int) FILTER (WHERE s NOT LIKE '%WHERE false%') > 0.5, count(*) FILTER (WHERE s LIKE '%DIFFER%'), min(s) FILTER (WHERE s LIKE '%DIFFER%') FROM unnest(said) s;
END
$$;
-- More of them: psql -v random_queries=10000 -v random_seed=0.1 -f test/sql/fold_ids.sql
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

-- Groups on disk end at every eighth byte of the buffers they are written from and read into; records of about the size of a block.
CREATE TABLE spilled AS SELECT repeat('x', (g * 37) % 700)::text || g AS task, g, r * 20000 + g AS step_id, r AS rollout_id, 1 AS step_no,
	g % 7::bigint AS state, r::bigint AS action, (g + r) % 5 / 4.0::float8 AS reward
FROM generate_series(1, 2) r, generate_series(1, 9000) g;
ANALYZE spilled;
SET work_mem = '64kB'; SET enable_sort = off; SET max_parallel_workers_per_gather = 0;
SELECT together, by_both(format('SELECT task, rollout_agg(step_id, rollout_id, step_no, state, action, reward) FROM (SELECT * FROM spilled ORDER BY %s OFFSET 0) x GROUP BY task', together))
FROM (VALUES ('g, rollout_id'), ('rollout_id, g'), ('g / 3000, rollout_id, g')) v(together);
SELECT by_both('SELECT g, rollout_agg(step_id, rollout_id, step_no, state, action, reward, NULL, NULL, NULL, NULL, NULL, NULL, array_fill(reward, ARRAY[1 + g % 30]), NULL, NULL) FROM (SELECT * FROM spilled ORDER BY g, rollout_id OFFSET 0) x GROUP BY g');
RESET work_mem; RESET enable_sort; RESET max_parallel_workers_per_gather;

DROP SCHEMA fi CASCADE;

-- Rows that GroupFold reads from a table as they are stored (src/plan/fold/input.c), against an Agg; and results that stay in the server.

SET jit = off;
SET max_parallel_workers_per_gather = 0;

-- NULL in any column and in none, columns before, between and behind, of several lengths.
CREATE TABLE sr_steps (note "char", run uuid, step_id bigint, flag boolean, rollout_id bigint, small smallint, step_no integer, state bigint, action bigint,
	reward float8, success boolean, words text);
INSERT INTO sr_steps SELECT CASE WHEN i % 3 = 0 THEN 'x' END::"char", CASE WHEN i % 11 > 0 THEN ('00000000-0000-0000-0000-00000000000' || i % 4)::uuid END, i, nullif(i % 5 = 0, true),
	i % 40, nullif(i % 9, 0), i / 40, nullif(i % 7, 3), nullif(i % 6, 5), nullif(i % 13, 1)::float8 / 4, CASE i % 17 WHEN 1 THEN true WHEN 2 THEN false END,
	CASE WHEN i % 2 = 0 THEN repeat('w', i % 50) END
FROM generate_series(1, 2000) i;
-- Rows without NULLs: every 20th.
INSERT INTO sr_steps SELECT 'y', ('00000000-0000-0000-0000-00000000000' || i % 4)::uuid, 10000 + i, true, 100 + i % 5, 1, i, i % 7, i % 6, i, true, 'w' FROM generate_series(1, 100) i;
ANALYZE sr_steps;

CREATE FUNCTION sr_compare(query text, OUT groups bigint, OUT folded boolean, OUT differences bigint) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	SET LOCAL stepadv.enable_group_fold = on;
	folded := false;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		folded := folded OR line ~ 'GroupFold';
	END LOOP;
	EXECUTE format('CREATE TEMPORARY TABLE sr_folded AS SELECT q::text FROM (%s) q', query);
	SET LOCAL stepadv.enable_group_fold = off;
	EXECUTE format('CREATE TEMPORARY TABLE sr_aggregated AS SELECT q::text FROM (%s) q', query);
	SELECT count(*) INTO groups FROM sr_folded;
	SELECT count(*) INTO differences FROM ((TABLE sr_folded EXCEPT ALL TABLE sr_aggregated) UNION ALL (TABLE sr_aggregated EXCEPT ALL TABLE sr_folded)) d;
	DROP TABLE sr_folded, sr_aggregated;
END $$;
-- A key passed by reference, short columns that are not read, NULLs before columns that are.
SELECT * FROM sr_compare('SELECT run, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) FROM sr_steps GROUP BY run');
SELECT * FROM sr_compare('SELECT run, flag, small, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward, success) FROM sr_steps GROUP BY run, flag, small');
SELECT * FROM sr_compare('SELECT note, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) FILTER (WHERE success) FROM sr_steps GROUP BY note');
SELECT * FROM sr_compare('SELECT rollout_id, stepadv.rollout_agg(step_id, rollout_id, step_no, state, rollout_id, reward) FROM sr_steps WHERE state > 2 GROUP BY rollout_id');
-- The text comes before columns that are read: they have no fixed offset.
SELECT * FROM sr_compare('SELECT words, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) FROM sr_steps GROUP BY words');
-- Values with a one-byte header, and longer ones, aligned, compressed or out of line; extra arguments that are mostly NULL.
CREATE TABLE sr_words (step_id bigint, task text, flag boolean, rollout text, note text, coarse bigint, step_no smallint, state text);
ALTER TABLE sr_words ALTER note SET STORAGE EXTERNAL;
INSERT INTO sr_words SELECT i, repeat(chr(97 + i / 300 % 3), (ARRAY[1, 126, 127, 2])[1 + i / 300 % 4]), i % 3 = 0,
	repeat(md5((i / 20)::text), 1 + i / 20 % 7 * (i / 200 % 3)), CASE i / 10 % 5 WHEN 0 THEN repeat('n', 3000) WHEN 1 THEN repeat('n', i % 200) END,
	CASE WHEN i / 40 % 4 = 0 THEN i % 5 END, i % 20, CASE WHEN i % 7 > 0 THEN repeat('s', i % 7 * 30) END
FROM generate_series(1, 2400) i;
SELECT * FROM sr_compare('SELECT task, stepadv.rollout_agg(step_id, stepadv.signature_hash(rollout), step_no::integer, stepadv.signature_hash(state), NULL, NULL) FROM sr_words GROUP BY task');
SELECT * FROM sr_compare('SELECT note, task, stepadv.rollout_agg(step_id, stepadv.signature_hash(rollout), step_no::integer, step_id, stepadv.signature_hash(state), NULL) FROM sr_words GROUP BY note, task');
SELECT * FROM sr_compare('SELECT flag, stepadv.rollout_agg(step_id, stepadv.signature_hash(rollout), step_no::integer, stepadv.signature_hash(state), step_id, NULL, NULL, NULL, NULL, NULL, NULL,
	NULL, NULL, NULL, NULL, coarse, NULL) FROM sr_words GROUP BY flag');
DROP TABLE sr_words;
-- Numerics whose digits are read as stored, and others; labels of an enum, also of a domain over it.
CREATE TYPE sr_kind AS ENUM ('small', 'große', 'a longer label');
CREATE DOMAIN sr_kinds AS sr_kind;
CREATE TABLE sr_numbers AS SELECT i AS step_id, n.n AS rollout, i AS step_no, (i % 7 * 2500)::numeric(9, 2) AS state, (enum_range(NULL::sr_kind))[i % 4] AS kind,
	(enum_range(NULL::sr_kind))[i % 3 + 1]::sr_kinds AS kinds
FROM generate_series(1, 400) i JOIN unnest('{0,5.00,-7,9999,10000,-10001000,1.5,-0.0025,100000.00,123456789012345678901234567890,1e39,-1e40,1e60,NaN,Infinity}'::numeric[])
	WITH ORDINALITY n(n, o) ON n.o = i % 16;
SELECT * FROM sr_compare('SELECT kinds, stepadv.rollout_agg(step_id, stepadv.signature_hash(trim_scale(rollout)::text), step_no, stepadv.signature_hash(trim_scale(state)::text), stepadv.signature_hash(kind::text), NULL)
	FROM sr_numbers GROUP BY kinds');
SELECT * FROM sr_compare('SELECT kind, stepadv.rollout_agg(step_id, stepadv.signature_hash(trim_scale(rollout)::text), step_no, stepadv.signature_hash(kinds::sr_kind::text), step_id, NULL) FROM sr_numbers GROUP BY kind');
ALTER TYPE sr_kind RENAME VALUE 'small' TO 'least';
SELECT * FROM sr_compare('SELECT state, stepadv.rollout_agg(step_id, stepadv.signature_hash(trim_scale(rollout)::text), step_no, stepadv.signature_hash(kinds::sr_kind::text), step_id, NULL) FROM sr_numbers GROUP BY state');
DROP TABLE sr_numbers;
DROP DOMAIN sr_kinds;
DROP TYPE sr_kind;
-- Rows older than a column, with a default and without, and a dropped column.
ALTER TABLE sr_steps DROP COLUMN words;
SELECT * FROM sr_compare('SELECT run, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) FROM sr_steps GROUP BY run');
CREATE TABLE sr_later (g bigint, rollout_id bigint, step_no integer);
INSERT INTO sr_later SELECT i % 3, i % 6, i FROM generate_series(1, 60) i;
ALTER TABLE sr_later ADD state bigint, ADD reward float8 DEFAULT 0.5, ADD step_id bigint DEFAULT 7;
INSERT INTO sr_later SELECT i % 3, i % 6, i, i % 4, i, i FROM generate_series(61, 120) i;
SELECT * FROM sr_compare('SELECT g, stepadv.rollout_agg(step_id, rollout_id, step_no, state, state, reward) FROM sr_later GROUP BY g');
-- Sorted, by an index too; rescans; counted, and so read from the scan row by row.
CREATE INDEX ON sr_later (g);
SET enable_hashagg = off;
SELECT * FROM sr_compare('SELECT g, stepadv.rollout_agg(step_id, rollout_id, step_no, state, state, reward) FROM sr_later GROUP BY g');
SET enable_seqscan = off;
SELECT * FROM sr_compare('SELECT g, stepadv.rollout_agg(step_id, rollout_id, step_no, state, state, reward) FROM sr_later GROUP BY g');
RESET enable_seqscan;
RESET enable_hashagg;
SELECT * FROM sr_compare('SELECT x, (SELECT count(s) FROM (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, state, state, reward + x) AS r FROM sr_later GROUP BY g) f, stepadv.steps(f.r) s) FROM generate_series(1, 3) x');
CREATE FUNCTION sr_counted(query text, pattern text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		found := found OR line ~ pattern;
	END LOOP;
	RETURN found;
END $$;
SELECT sr_counted('SELECT count(f.r) FROM (SELECT g, stepadv.rollout_agg(step_id, rollout_id, step_no, state, state, reward) AS r FROM sr_later GROUP BY g) f', p) AS counted
FROM unnest(ARRAY['GroupFold.*rows=3', 'Seq Scan on sr_later .*rows=120']) p;
-- The table changes under a cursor that has read a part of it in order.
BEGIN;
DECLARE sr_cursor CURSOR FOR SELECT g, count(*) FROM (SELECT g, stepadv.rollout_agg(step_id, rollout_id, step_no, state, state, reward) AS r FROM sr_later GROUP BY g ORDER BY g) f, stepadv.steps(f.r) s GROUP BY g ORDER BY g;
FETCH 1 FROM sr_cursor;
DELETE FROM sr_later;
FETCH ALL FROM sr_cursor;
ROLLBACK;

-- Consecutive steps whose keys or rollouts change in the middle of a page, with dead rows, newer row versions elsewhere, repeated or decreasing step numbers, NULLs and NaN between.
CREATE TABLE sr_runs (version integer, run uuid, task bigint, rollout_id bigint, step_no integer, step_id bigint, state bigint, action bigint, reward float8) WITH (fillfactor = 90);
INSERT INTO sr_runs SELECT r / 4 % 2, ('00000000-0000-0000-0000-00000000000' || r / 8 % 3)::uuid, r / 12, r, s, r * 100 + s, s % 5, nullif((r + s) % 4, r % 9), CASE WHEN s = 20 THEN 1.0 / (r + 1) ELSE 0 END
FROM generate_series(0, 119) r, generate_series(1, 20) s ORDER BY r, s;
DELETE FROM sr_runs WHERE step_id % 31 = 0;
UPDATE sr_runs SET reward = 0.25 WHERE step_id % 37 = 0;
UPDATE sr_runs SET reward = NULL WHERE step_id % 41 = 0;
UPDATE sr_runs SET step_no = -step_no WHERE step_id % 43 = 0;
SELECT * FROM sr_compare('SELECT task, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) FROM sr_runs GROUP BY task');
SELECT * FROM sr_compare('SELECT version, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) FROM sr_runs GROUP BY version');
SELECT * FROM sr_compare('SELECT run, version, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) FROM sr_runs GROUP BY run, version');
SELECT * FROM sr_compare('SELECT run, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) FILTER (WHERE version = 1) FROM sr_runs GROUP BY run');
SET work_mem = '64kB';
SELECT * FROM sr_compare('SELECT task, version, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) FROM sr_runs GROUP BY task, version');
RESET work_mem;
UPDATE sr_runs SET reward = 'NaN' WHERE step_id = 1010;
SELECT task, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) FROM sr_runs GROUP BY task;
SELECT * FROM sr_compare('SELECT task, stepadv_internal.lenient_rollout_agg(step_id, rollout_id, step_no, state, action, reward, NULL) FROM sr_runs GROUP BY task');
UPDATE sr_runs SET reward = 0 WHERE step_id = 1010;
-- Rows read are counted, as by any scan.
SELECT count(*) FROM sr_runs;
BEGIN;
SELECT seq_tup_read AS read_before FROM pg_stat_xact_user_tables WHERE relname = 'sr_runs' \gset
SELECT count(*) FROM (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS r FROM sr_runs GROUP BY task) f WHERE r IS NOT NULL;
SELECT seq_tup_read - :read_before AS read FROM pg_stat_xact_user_tables WHERE relname = 'sr_runs';
ROLLBACK;

-- INSERT ... SELECT and COPY TO: processes share the rows, as for a query.
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
CREATE TABLE sr_many AS SELECT i AS step_id, i / 100 AS g, i / 10 AS rollout_id, i % 10 AS step_no, i % 7 AS state, i % 3 AS action, (i % 5)::float8 AS reward
FROM generate_series(0::bigint, 19999) i;
ANALYZE sr_many;
-- The place of Gather differs between versions of the server.
CREATE FUNCTION pg_temp.sharing(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Workers|GroupFold' THEN RETURN NEXT ltrim(line, ' ->'); END IF;
	END LOOP;
END
$$;
SELECT pg_temp.sharing($$CREATE TABLE sr_rows AS
SELECT f.g, a.step_id, a.advantage FROM (SELECT g, stepadv.rollout_agg(step_id, rollout_id, step_no::integer, state, action, reward) AS r FROM sr_many GROUP BY g) f, stepadv.rtmc(f.r) a$$);
CREATE TABLE sr_rows AS
SELECT f.g, a.step_id, a.advantage FROM (SELECT g, stepadv.rollout_agg(step_id, rollout_id, step_no::integer, state, action, reward) AS r FROM sr_many GROUP BY g) f, stepadv.rtmc(f.r) a;
COPY (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no::integer, state, action, reward) IS NOT NULL FROM sr_many GROUP BY g LIMIT 2) TO STDOUT;
-- The same as one process gives.
SET max_parallel_workers_per_gather = 0;
SELECT count(*) AS steps, count(a.advantage) AS estimates, count(*) FILTER (WHERE r.advantage IS DISTINCT FROM a.advantage) AS differences
FROM sr_rows r
FULL JOIN (SELECT a.step_id, a.advantage FROM (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no::integer, state, action, reward) AS r FROM sr_many GROUP BY g) f, stepadv.rtmc(f.r) a) a USING (step_id);

DROP TABLE sr_steps, sr_later, sr_many, sr_rows;
DROP FUNCTION sr_compare, sr_counted;

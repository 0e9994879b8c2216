-- rollout_group, version 2: turns, reward components, defects, unit. Its bytes do not change; version 1 is written if nothing needs version 2; text and binary form
-- are lossless and validate; merging and parallel folding agree; a defect costs only its rollout.
CREATE SCHEMA group_version;
SET search_path = group_version, stepadv;
SET extra_float_digits = 0;
\set VERBOSITY terse

-- The bytes of both versions, which must stay readable. Version 1, as stepadv 0.2.0 wrote it: header (version, columns, 0, rollouts, steps); rollout_id;
-- step_id; state; action; reward; n_steps; step_no; success.
CREATE TABLE old AS SELECT rollout_agg(1, 7, 0, 2, 3, 0.5) AS g;
SELECT stepadv_internal.rollout_group_send(g) FROM old;
-- Version 2: flags and number of components in the header, where 0 was; components after cost, turn after step_no, defects at the end.
CREATE TABLE new AS SELECT rollout_agg(1, 7, 0, 2, 3, 0.5, NULL, NULL, NULL, NULL, NULL, 258, '{0.25,NULL}', NULL, NULL) AS g;
SELECT stepadv_internal.rollout_group_send(g) FROM new;

-- Nothing needs a later version: byte for byte version 1, in every form.
SELECT count(DISTINCT stepadv_internal.rollout_group_send(g)) AS different, min(get_byte(stepadv_internal.rollout_group_send(g), 0)) AS version FROM (
	SELECT rollout_agg(i, 1, i, i, i, i) AS g FROM generate_series(1, 3) i UNION ALL
	SELECT rollout_agg(i, 1, i, i, i, i, NULL) FROM generate_series(1, 3) i UNION ALL
	SELECT rollout_agg(i, 1, i, i, i, i, NULL, NULL, NULL, NULL, NULL) FROM generate_series(1, 3) i UNION ALL
	SELECT rollout_agg(i, 1, i, i, i, i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) FROM generate_series(1, 3) i UNION ALL
	SELECT rollout_agg(i, 1, i, i, i, i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) FROM generate_series(1, 3) i UNION ALL
	SELECT rollout_agg(i, 1, i, i, i, i, NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL, NULL) FROM generate_series(1, 3) i) x;
SELECT count(DISTINCT stepadv_internal.rollout_group_send(g)) AS different, min(get_byte(stepadv_internal.rollout_group_send(g), 0)) AS version FROM (
	SELECT rollout_agg(i, 1, i, i, i, i, true, NULLIF(i, 2), NULLIF(i, 1), i, NULLIF(i, 3)) AS g FROM generate_series(1, 3) i UNION ALL
	SELECT rollout_agg(i, 1, i, i, i, i, true, NULLIF(i, 2), NULLIF(i, 1), i, NULLIF(i, 3), NULL, NULL, NULL, NULL) FROM generate_series(1, 3) i) x;

-- Rows with all columns, some, or none; the output equals the input.
CREATE TABLE given AS
SELECT g, g * 10000 + r * 100 + i AS step_id, r AS rollout_id, CASE WHEN i > 0 THEN i * 3 END AS step_no, i % 3 AS state,
	   NULLIF(i % 4, 0) AS action, NULLIF(h % 5, 0) / 4.0::float8 AS reward, CASE WHEN i = 9 THEN h % 2 = 0 END AS success,
	   CASE WHEN g % 2 = 0 THEN NULLIF(h % 7, 0) END AS next_state, NULLIF(h % 6, 0)::float8 AS value,
	   CASE WHEN g % 3 > 0 THEN CASE h % 11 WHEN 0 THEN -2147483648 WHEN 1 THEN NULL WHEN 2 THEN 2147483647 ELSE i / 3 END END AS turn,
	   CASE WHEN g % 4 > 0 AND h % 3 > 0 THEN ARRAY[NULLIF(h % 8, 0) * 0.1, NULL, CASE WHEN h % 13 > 3 THEN 1e-300 END, h]::float8[] END AS rewards
FROM (SELECT g, r, i, get_byte(decode(md5(g || ' ' || r || ' ' || i), 'hex'), 0) AS h
	  FROM generate_series(1, 30) g, generate_series(1, g % 6) r, generate_series(0, r * 4) i) x;
CREATE TABLE folded AS
SELECT g, rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, NULL, NULL, turn, rewards, NULL, NULL) AS rollouts FROM given GROUP BY g;
SELECT count(*) AS values, count(*) FILTER (WHERE get_byte(stepadv_internal.rollout_group_send(rollouts), 0) = 2) AS version_2 FROM folded;
SELECT count(*) FROM (
	(SELECT step_id, rollout_id, step_no, state, action, reward, next_state, value, turn FROM given WHERE step_no IS NOT NULL EXCEPT ALL
	 SELECT step_id, rollout_id, step_no, state, action, reward, next_state, value, turn FROM folded, steps(rollouts))
	UNION ALL
	(SELECT step_id, rollout_id, step_no, state, action, reward, next_state, value, turn FROM folded, steps(rollouts) EXCEPT ALL
	 SELECT step_id, rollout_id, step_no, state, action, reward, next_state, value, turn FROM given WHERE step_no IS NOT NULL)) d;
SELECT count(*) FROM (
	(SELECT g, CASE WHEN step_no > 0 THEN step_id END, rollout_id, step_no, i::int, r FROM given, unnest(rewards) WITH ORDINALITY u(r, i) WHERE r IS NOT NULL EXCEPT ALL
	 SELECT g, r.* FROM folded, reward_components(rollouts) r)
	UNION ALL
	(SELECT g, r.* FROM folded, reward_components(rollouts) r EXCEPT ALL
	 SELECT g, CASE WHEN step_no > 0 THEN step_id END, rollout_id, step_no, i::int, r FROM given, unnest(rewards) WITH ORDINALITY u(r, i) WHERE r IS NOT NULL)) d;
-- in every order, through text, binary and rollup: the same bytes
CREATE FUNCTION bytes(rollout_group) RETURNS bytea LANGUAGE sql RETURN stepadv_internal.rollout_group_send($1);
CREATE TABLE again (g int, rollouts rollout_group);
SELECT current_setting('data_directory') || '/group_version.bin' AS file \gset
COPY folded TO :'file' (FORMAT binary);
COPY again FROM :'file' (FORMAT binary);
SELECT bool_and(bytes(f.rollouts) = bytes(f.rollouts::text::rollout_group)) AS text_form, bool_and(bytes(f.rollouts) = bytes(a.rollouts)) AS binary_form,
	   bool_and(bytes(f.rollouts) = bytes(o.rollouts)) AS any_order, bool_and(bytes(f.rollouts) = bytes(m.rollouts)) AS merged
FROM folded f JOIN again a USING (g) JOIN (
	SELECT g, rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, NULL, NULL, turn, rewards, NULL, NULL ORDER BY md5(step_id::text)) AS rollouts
	FROM given GROUP BY g) o USING (g) JOIN (
	SELECT g, rollup(part) AS rollouts FROM (
		SELECT g, rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, NULL, NULL, turn, rewards, NULL, NULL) AS part
		FROM given GROUP BY g, step_id % 3) p GROUP BY g) m USING (g);
-- in parallel
ANALYZE given;
SET stepadv.enable_group_fold = off; SET enable_sort = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 1; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
ALTER TABLE given SET (parallel_workers = 2);
SET cpu_tuple_cost = 1; SET cpu_operator_cost = 0.0001;
CREATE VIEW in_parallel AS SELECT g, rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, NULL, NULL, turn, rewards, NULL, NULL) AS rollouts FROM given GROUP BY g;
CREATE FUNCTION plan_has(query text, what text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (costs off) ' || query LOOP
		plan := plan || ' ' || line;
	END LOOP;
	RETURN plan ~ what;
END $$;
SELECT plan_has('SELECT * FROM in_parallel', 'Finalize.*Gather.*Partial');
SELECT count(*), bool_and(bytes(p.rollouts) = bytes(f.rollouts)) FROM in_parallel p JOIN folded f USING (g);
RESET stepadv.enable_group_fold; RESET enable_sort; RESET cpu_tuple_cost; RESET cpu_operator_cost;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;

-- Invalid arrays: other lengths, not finite, two dimensions, too long; two outcomes of one component in a rollout.
SELECT rollout_agg(i, 1, i, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, 1, array_fill(0::float8, ARRAY[1 + i / 2]), NULL, NULL) FROM generate_series(0, 2) i;
SELECT rollout_agg(NULL, i, NULL, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, 1, array_fill(0::float8, ARRAY[i]), NULL, NULL) FROM generate_series(1, 2) i;
SELECT rollout_agg(1, 1, 4, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, 1, '{1,NaN}', NULL, NULL);
SELECT rollout_agg(1, 1, NULL, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, 1, '{NULL,-Infinity}', NULL, NULL);
SELECT rollout_agg(1, 1, 4, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, 1, '{{1,2}}', NULL, NULL);
SELECT rollout_agg(1, 1, 4, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, 1, array_fill(1::float8, ARRAY[65]), NULL, NULL);
SELECT rollout_agg(NULL, 1, NULL, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, r, NULL, NULL) FROM (VALUES ('{1,NULL}'::float8[]), ('{2,NULL}')) v(r);
SELECT reward_components(rollout_agg(NULL, 1, NULL, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, r, NULL, NULL)) FROM (VALUES ('{1,NULL}'::float8[]), ('{NULL,2}'), (NULL)) v(r);
SELECT count(*) FROM reward_components((SELECT rollout_agg(1, 1, 1, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, 1, array_fill(1::float8, ARRAY[64]), NULL, NULL)));
-- a lower bound does not count; an array that another row does not have
SELECT c.* FROM reward_components((SELECT rollout_agg(i, 1, i, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL, CASE i WHEN 1 THEN '[5:6]={1,2}' WHEN 2 THEN '{3,4}' END::float8[], NULL, NULL) FROM generate_series(0, 2) i)) c;

-- Merging: with and without components, different numbers; flags and defects are combined.
CREATE TABLE part AS SELECT i, rollout_agg(i, i, 1, 1, 1, i, NULL, NULL, NULL, NULL, NULL, NULL, array_fill(i::float8, ARRAY[i - 1]), NULL, NULL) AS g FROM generate_series(1, 3) i GROUP BY i;
SELECT c.* FROM reward_components((SELECT rollup(g) FROM part WHERE i < 3)) c;
SELECT rollup(g ORDER BY i DESC)::text = rollup(g)::text FROM part WHERE i < 3;
SELECT rollup(g ORDER BY i) FROM part;
CREATE TABLE other_part AS
SELECT 1 AS i, stepadv_internal.lenient_rollout_agg(1, r, CASE WHEN r = 1 THEN 1 END, NULL, NULL, CASE WHEN r = 1 THEN 'NaN'::float8 END, NULL) AS g FROM generate_series(1, 2) r
UNION ALL SELECT 2, stepadv_internal.lenient_rollout_agg(2, r, CASE WHEN r = 2 THEN 1 END, NULL, NULL, CASE WHEN r = 2 THEN 1 END, NULL, NULL, 'Infinity', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) FROM generate_series(1, 2) r
UNION ALL SELECT 3, rollout_agg(3, 3, 1, NULL, NULL, 2);
SELECT r.* FROM rollouts((SELECT rollup(g) FROM other_part WHERE i < 4)) r;
SELECT rollup(g ORDER BY i DESC)::text = rollup(g)::text FROM other_part WHERE i < 4;
SELECT rollup(CASE i WHEN 3 THEN by_turn(g) ELSE g END ORDER BY i) FROM other_part WHERE i < 4;

-- A rollout with a defect is not judged, regardless of its rewards.
CREATE TABLE defect AS SELECT rollup(g) AS g FROM other_part WHERE i < 4;
SELECT r.* FROM defect, rollouts(g) r;
SELECT e.* FROM defect, grpo(g, normalise => 'mean') e;
SELECT n_rollouts, n_judged, mean_return FROM defect, group_summary(g);
-- Out of range: an error, or, in a value that is lenient, NULL for the rollout.
CREATE TABLE huge AS SELECT rollout_agg(i, i / 2, i % 2, 1, 1, CASE WHEN i < 2 THEN 1e308 ELSE i END) AS g FROM generate_series(0, 5) i;
SELECT count(*) FROM huge, rloo(g);
CREATE TABLE forgiven AS SELECT stepadv_internal.lenient_rollout_agg(i, i / 2, i % 2, 1, 1, CASE WHEN i < 2 THEN 1e308 ELSE i END, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL) AS g FROM generate_series(0, 5) i;
SELECT rollout_id, step_no, advantage FROM forgiven, rloo(g);
SELECT rollout_id, n_steps, judged FROM forgiven, rollouts(g);
SELECT rollout_id, step_no, advantage FROM forgiven, rloo(by_turn(g));
SELECT rollout_id, outcome, judged FROM rollouts(with_rewards((SELECT stepadv_internal.lenient_rollout_agg(NULL, r, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE r WHEN 1 THEN '{1,1}' ELSE '{1e308,1e308}' END::float8[], NULL, NULL, NULL, NULL) FROM generate_series(1, 2) r), '{1,1}'));
-- the advantage of a step alone (the discounted return is finite where the return is; the baseline is not)
SELECT count(*) FROM gae((SELECT rollout_agg(1, 1, 1, NULL, NULL, -1e308, NULL, NULL, 1.7e308, NULL, NULL)));
SELECT rollout_id, advantage FROM gae((SELECT stepadv_internal.lenient_rollout_agg(i, i, 1, NULL, NULL, CASE i WHEN 1 THEN -1e308 ELSE 1 END, NULL, NULL, CASE i WHEN 1 THEN 1.7e308 ELSE 0 END, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) FROM generate_series(1, 2) i));

-- Bad bytes: a changed byte is an error, or makes another value whose text and binary form agree.
CREATE TABLE came (g rollout_group);
CREATE FUNCTION comes(bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	-- To write over a file waits for the disk.
	file CONSTANT text := current_setting('data_directory') || '/group_version.' || md5(bytes);
	came rollout_group;
BEGIN
	DELETE FROM came;
	BEGIN
		EXECUTE format('COPY (SELECT %L::bytea) TO %L (FORMAT binary)', bytes, file);
		EXECUTE format('COPY came FROM %L (FORMAT binary)', file);
	EXCEPTION WHEN invalid_binary_representation THEN
		RETURN 'refused';
	WHEN feature_not_supported THEN
		RETURN 'another version';
	END;
	SELECT g INTO came FROM came;
	RETURN CASE WHEN came::text::rollout_group::text = came::text THEN 'read' ELSE 'read, but not as text: ' || came::text END;
EXCEPTION WHEN others THEN
	RETURN 'read, but ' || SQLERRM;
END $$;
CREATE TABLE attempt AS SELECT n, v, comes(set_byte(bytes(g), n, v)) AS outcome
FROM new, generate_series(0, octet_length(bytes(g)) - 1) n, unnest('{0,1,2,3,4,8,16,64,127,128,255}'::integer[]) v;
SELECT outcome, count(*) > 10 AS several FROM attempt GROUP BY 1 ORDER BY 1;
-- flags and components: of the header, what makes the length another, or no sense, is refused
SELECT n, string_agg(v || ' ' || outcome, ', ' ORDER BY v) FROM attempt WHERE n < 4 GROUP BY n ORDER BY n;
-- version 1 with what only version 2 has
SELECT comes(set_byte(bytes(g), 0, 1)) FROM new;
SELECT n, string_agg(DISTINCT comes(set_byte(bytes(g), n, v)), ', ') FROM old, generate_series(1, 3) n, unnest('{1,2,4,8,16,64,128,255}'::integer[]) v GROUP BY n ORDER BY n;
SELECT comes(set_byte(bytes(g), 0, 2)) FROM old;

-- A value with gaps (a number under a null bit, a bit of a missing column, a column without entries) is read as one without, and its text is the same value to the bit.
CREATE TABLE gaps AS
SELECT rollout_agg(i, 7, i, nullif(i, 1), nullif(i, 2), nullif(i, 1), NULL, nullif(i, 1), NULL, NULL, nullif(i, 2), nullif(i, 2), NULL, NULL, NULL) AS g FROM generate_series(1, 3) i
UNION ALL SELECT rollout_agg(i, 7, i, NULL, 5, NULL) FROM generate_series(1, 2) i
UNION ALL SELECT rollout_agg(1, 7, NULL, NULL, NULL, 1);
CREATE FUNCTION same(bytes bytea) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RETURN CASE WHEN comes(bytes) LIKE 'read%' THEN (SELECT group_version.bytes(g::text::rollout_group) = group_version.bytes(g) FROM came) END;
END $$;
SELECT same, count(*) > 100 AS several FROM (
	SELECT same(set_byte(bytes(g), n, v)) FROM gaps, generate_series(0, octet_length(bytes(g)) - 1) n, unnest('{0,1,5,128,255}'::integer[]) v) x GROUP BY same ORDER BY same;

SET client_min_messages = warning;
DROP SCHEMA group_version CASCADE;

-- Attributes of a rollout: truncated, whether it was cut off, and policy_step, the policy's step. Any row can give them; they are stored only where given; every form
-- of the value, merging, folding by either node, spilled or in parallel, and functions from group to group keep them.
CREATE SCHEMA rollout_marks;
SET search_path = rollout_marks, stepadv;
SET extra_float_digits = 0;
\set VERBOSITY terse
CREATE FUNCTION bytes(rollout_group) RETURNS bytea LANGUAGE sql RETURN stepadv_internal.rollout_group_send($1);

-- The bytes, by hand: version 2, no column of the first eight, flags 0x10 and 0x20, no components, 1 rollout, 1 step; rollout_id 7; policy_step 258; step_id 1;
-- state 2; action 3; reward 0.5; n_steps 1; step_no 0; success unknown; truncated 2 (true).
CREATE TABLE one AS SELECT rollout_agg(1, 7, 0, 2, 3, 0.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, true, 258) AS g;
SELECT bytes(g) = '\x02003000 01000000 01000000 0700000000000000 0201000000000000 0100000000000000 0200000000000000 0300000000000000 000000000000e03f 01000000 00000000 00 02' AS as_written FROM one;
SELECT g::text::rollout_group::text = g::text AS read_again FROM one;

-- Not given, or NULL (stored as the least bigint): version 1, byte for byte.
SELECT count(DISTINCT bytes(g)) AS different, min(get_byte(bytes(g), 0)) AS version FROM (
	SELECT rollout_agg(i, 1, i, i, i, i) AS g FROM generate_series(1, 3) i UNION ALL
	SELECT rollout_agg(i, 1, i, i, i, i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) FROM generate_series(1, 3) i UNION ALL
	SELECT rollout_agg(i, 1, i, i, i, i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, -9223372036854775808) FROM generate_series(1, 3) i) x;

-- From any row: for truncated, true wins over false, and false over NULL; policy_step may be given once.
CREATE TABLE said (rollout_id int, step_no int, truncated boolean, policy_step bigint);
INSERT INTO said VALUES
	(1, 0, NULL, NULL), (1, 1, true, NULL), (1, 2, false, 5),		-- true, 5
	(2, 0, false, -5), (2, 1, NULL, -5),							-- false, -5
	(3, 0, NULL, NULL), (3, NULL, NULL, NULL),						-- nothing
	(4, 0, NULL, NULL), (4, NULL, true, 0),							-- its own row says it
	(5, NULL, false, 9223372036854775807),							-- it has no step
	(6, NULL, NULL, NULL);
SELECT rollout_id, n_steps, judged, truncated, policy_step
FROM rollouts((SELECT rollout_agg(step_no, rollout_id, step_no, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, truncated, policy_step) FROM said));
-- one of the two alone: only its column
SELECT get_byte(bytes(rollout_agg(step_no, rollout_id, step_no, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, truncated, NULL)), 2) = 16 AS truncated FROM said WHERE rollout_id < 4;
SELECT get_byte(bytes(rollout_agg(step_no, rollout_id, step_no, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, policy_step)), 2) = 32 AS policy_step FROM said WHERE rollout_id < 4;

-- Two policy steps of one rollout: an error; in a lenient value, a defect of this rollout for methods that read it, and the lesser one stays, in any order.
SELECT rollout_agg(i, 4, i, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 8 - i) FROM generate_series(1, 2) i;
SELECT rollup(g) FROM (SELECT rollout_agg(i, 4, i, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, i) AS g FROM generate_series(1, 2) i GROUP BY i) x;
SELECT r.* FROM rollouts((SELECT stepadv_internal.lenient_rollout_agg(i, r, i, 1, 1, i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN r = 1 THEN 7 WHEN i = 1 THEN 9 WHEN i = 3 THEN 4 END, NULL, NULL ORDER BY i DESC, r)
FROM generate_series(1, 3) i, generate_series(1, 2) r)) r;
SELECT count(DISTINCT bytes(g)) AS different, min((SELECT string_agg(concat_ws(' ', rollout_id, judged, policy_step), ', ') FROM rollouts(g))) AS rollouts FROM (
	SELECT stepadv_internal.lenient_rollout_agg(i, r, i, 1, 1, i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN r = 1 THEN 7 WHEN i = 1 THEN 9 WHEN i = 3 THEN 4 END, NULL, NULL ORDER BY i * f, r * f) AS g
	FROM generate_series(1, 3) i, generate_series(1, 2) r, unnest('{-1,1}'::int[]) f GROUP BY f UNION ALL
	SELECT stepadv_internal.lenient_rollout_agg(i, r, i, 1, 1, i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN r = 1 THEN 7 WHEN i = 1 THEN 9 WHEN i = 3 THEN 4 END, NULL, NULL ORDER BY r, i)
	FROM generate_series(1, 3) i, generate_series(1, 2) r UNION ALL
	SELECT rollup(part ORDER BY i DESC) FROM (
		SELECT i, stepadv_internal.lenient_rollout_agg(i, r, i, 1, 1, i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN r = 1 THEN 7 WHEN i = 1 THEN 9 WHEN i = 3 THEN 4 END, NULL, NULL) AS part
		FROM generate_series(1, 3) i, generate_series(1, 2) r GROUP BY i) x) y;

-- Rows with all, some or none of it, beside turns and components, against plain SQL.
CREATE TABLE given AS
SELECT g, g * 10000 + r * 100 + i AS step_id, r AS rollout_id, CASE WHEN i > 0 THEN i * 3 END AS step_no, i % 3 AS state, i % 4 AS action, 1.0::float8 AS reward,
	   CASE WHEN g % 3 = 0 THEN i / 3 END AS turn, CASE WHEN g % 4 = 0 THEN ARRAY[h, NULL]::float8[] END AS rewards,
	   CASE WHEN g % 5 > 0 AND h % 3 > 0 THEN h % 3 = 1 AND r % 2 = 0 END AS truncated,
	   CASE WHEN g % 7 > 0 AND h % 4 > 0 THEN CASE g % 3 WHEN 0 THEN r WHEN 1 THEN g * 1000000007::bigint * (r % 2) ELSE -3 END END AS policy_step
FROM (SELECT g, r, i, get_byte(decode(md5(g || ' ' || r || ' ' || i), 'hex'), 0) AS h
	  FROM generate_series(1, 60) g, generate_series(1, g % 6) r, generate_series(0, r * 4) i) x;
CREATE VIEW folded_now AS
SELECT g, rollout_agg(step_id, rollout_id, step_no, state, action, reward, NULL, NULL, NULL, NULL, NULL, turn, rewards, truncated, policy_step) AS rollouts FROM given GROUP BY g;
CREATE TABLE folded AS SELECT * FROM folded_now;
SELECT count(*) AS rollouts, count(truncated) AS known, count(*) FILTER (WHERE truncated) AS cut_off, count(policy_step) AS of_a_policy, count(*) FILTER (WHERE is_same) AS as_given
FROM (SELECT r.truncated, r.policy_step, (r.truncated, r.policy_step) IS NOT DISTINCT FROM (e.truncated, e.policy_step) AS is_same
	FROM folded f CROSS JOIN LATERAL rollouts(f.rollouts) r
	JOIN (SELECT g, rollout_id, bool_or(truncated) AS truncated, max(policy_step) AS policy_step FROM given GROUP BY g, rollout_id) e USING (g, rollout_id)) x;
-- the same without the node for rows
SET stepadv.enable_step_scan = off;
SELECT count(*) AS rollouts, count(r.truncated) AS known, count(*) FILTER (WHERE r.truncated) AS cut_off, count(r.policy_step) AS of_a_policy FROM folded, rollouts(rollouts) r;
RESET stepadv.enable_step_scan;
-- a group without such values has no column for them
SELECT bool_and((get_byte(bytes(rollouts), 2) & 16 > 0) = is_truncated_given) AS truncated, bool_and((get_byte(bytes(rollouts), 2) & 32 > 0) = is_policy_step_given) AS policy_step
FROM folded JOIN (SELECT g, count(truncated) > 0 AS is_truncated_given, count(policy_step) > 0 AS is_policy_step_given FROM given GROUP BY g) x USING (g);

-- Every order, text, binary, rollup of parts: the same bytes.
CREATE TABLE again (g int, rollouts rollout_group);
SELECT current_setting('data_directory') || '/rollout_marks.bin' AS file \gset
COPY folded TO :'file' (FORMAT binary);
COPY again FROM :'file' (FORMAT binary);
SELECT bool_and(bytes(f.rollouts) = bytes(f.rollouts::text::rollout_group)) AS text_form, bool_and(bytes(f.rollouts) = bytes(a.rollouts)) AS binary_form,
	   bool_and(bytes(f.rollouts) = bytes(o.rollouts)) AS any_order, bool_and(bytes(f.rollouts) = bytes(m.rollouts)) AS merged
FROM folded f JOIN again a USING (g) JOIN (
	SELECT g, rollout_agg(step_id, rollout_id, step_no, state, action, reward, NULL, NULL, NULL, NULL, NULL, turn, rewards, truncated, policy_step ORDER BY md5(step_id::text)) AS rollouts
	FROM given GROUP BY g) o USING (g) JOIN (
	SELECT g, rollup(part) AS rollouts FROM (
		SELECT g, rollout_agg(step_id, rollout_id, step_no, state, action, reward, NULL, NULL, NULL, NULL, NULL, turn, rewards, truncated, policy_step) AS part
		FROM given GROUP BY g, step_id % 3) p GROUP BY g) m USING (g);
-- Folded by PostgreSQL's own node, sorted, spilled, in parallel.
CREATE FUNCTION plan_has(query text, what text, options text DEFAULT 'costs off') RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
		plan := plan || ' ' || line;
	END LOOP;
	RETURN plan ~ what;
END $$;
ANALYZE given;
SET enable_sort = off;
SELECT plan_has('SELECT * FROM folded_now', 'GroupFold.*Hashed'), count(*), bool_and(bytes(n.rollouts) = bytes(f.rollouts)) FROM folded_now n JOIN folded f USING (g);
SET work_mem = '64kB'; SET hash_mem_multiplier = 1;
SELECT plan_has('SELECT * FROM folded_now', 'Spilled Groups: [1-9]', 'analyze, costs off, timing off, summary off'), count(*), bool_and(bytes(n.rollouts) = bytes(f.rollouts)) FROM folded_now n JOIN folded f USING (g);
RESET work_mem; RESET hash_mem_multiplier; RESET enable_sort;
SET enable_hashagg = off;
SELECT plan_has('SELECT * FROM folded_now', 'GroupFold.*Sorted'), count(*), bool_and(bytes(n.rollouts) = bytes(f.rollouts)) FROM folded_now n JOIN folded f USING (g);
RESET enable_hashagg;
SET stepadv.enable_group_fold = off;
SELECT plan_has('SELECT * FROM folded_now', 'GroupFold'), count(*), bool_and(bytes(n.rollouts) = bytes(f.rollouts)) FROM folded_now n JOIN folded f USING (g);
SET enable_sort = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 1; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
ALTER TABLE given SET (parallel_workers = 2);
SET cpu_tuple_cost = 1; SET cpu_operator_cost = 0.0001;
SELECT plan_has('SELECT * FROM folded_now', 'Finalize.*Gather.*Partial'), count(*), bool_and(bytes(n.rollouts) = bytes(f.rollouts)) FROM folded_now n JOIN folded f USING (g);
RESET stepadv.enable_group_fold; RESET enable_sort; RESET cpu_tuple_cost; RESET cpu_operator_cost;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;

-- From group to group: nothing is lost.
SELECT count(*) AS rollouts, bool_and((o.truncated, o.policy_step) IS NOT DISTINCT FROM (t.truncated, t.policy_step)) AS by_turn,
	   bool_and((o.truncated, o.policy_step) IS NOT DISTINCT FROM (w.truncated, w.policy_step)) AS with_rewards,
	   bool_and((o.truncated, o.policy_step) IS NOT DISTINCT FROM (h.truncated, h.policy_step)) AS history_states
FROM folded CROSS JOIN LATERAL rollouts(rollouts) o JOIN LATERAL rollouts(by_turn(rollouts)) t USING (rollout_id)
JOIN LATERAL rollouts(with_rewards(rollouts, '{1,1}')) w USING (rollout_id) JOIN LATERAL rollouts(history_states(rollouts, 'set')) h USING (rollout_id);
SELECT r.* FROM rollouts((SELECT rollup(by_turn(g)) FROM one)) r;

-- Estimates that use neither do not change.
SELECT count(*), bool_and(a.advantage IS NOT DISTINCT FROM b.advantage)
FROM folded JOIN (SELECT g, rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS plain FROM given GROUP BY g) p USING (g)
CROSS JOIN LATERAL rtmc(rollouts) a JOIN LATERAL rtmc(plain) b USING (step_id);

-- Bad bytes: each changed byte is an error, or makes another value with a matching text form.
CREATE TABLE came (g rollout_group);
CREATE FUNCTION comes(bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	file CONSTANT text := current_setting('data_directory') || '/rollout_marks.bin';
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
FROM one, generate_series(0, octet_length(bytes(g)) - 1) n, unnest('{0,1,2,3,4,16,32,48,64,112,128,255}'::integer[]) v;
SELECT outcome, count(*) > 10 AS several FROM attempt GROUP BY 1 ORDER BY 1;
-- the flags: no columns without them; the last byte: one of three values (a column of NULLs, which no aggregate makes, is left out of its text)
SELECT n, string_agg(v || ' ' || outcome, ', ' ORDER BY v) FROM attempt WHERE n IN (2, (SELECT max(n) FROM attempt)) GROUP BY n ORDER BY n;
-- A step takes 36 bytes: those of 2^30 are 0 where bytes are counted in 32 bits.
SELECT comes('\x01000000 01000000 00000040 0700000000000000 00000040 00');

-- No group, no attributes.
SELECT stepadv_internal.rows_are_sound(NULL, false) AS sound;
-- An outcome makes a rollout judged, as a success or a reward does.
SELECT string_agg(stepadv_internal.rows_are_sound(g, false)::text, ' ' ORDER BY i) AS sound
FROM (SELECT i, stepadv.rollout_agg(n, 1::bigint, n::integer, 0::bigint, 0::bigint, CASE i WHEN 1 THEN 1 END, CASE WHEN i = 2 THEN true END) AS g
	FROM generate_series(0, 2) i, generate_series(0, 1) n GROUP BY i
	UNION ALL SELECT 3, stepadv.rollout_agg(n, 1::bigint, n::integer, 0::bigint, 0::bigint, CASE WHEN n IS NULL THEN 1 END, NULL) FROM unnest('{0,1,NULL}'::bigint[]) n) x;

SET client_min_messages = warning;
DROP SCHEMA rollout_marks CASCADE;

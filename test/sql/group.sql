-- rollout_group: aggregate, rollup, unpacking, text form, bad input.
CREATE SCHEMA groups;
SET search_path = groups, stepadv, public;
\set VERBOSITY terse

-- Two rollouts, given out of order, with gaps in step_no.
CREATE TABLE s (step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8);
INSERT INTO s VALUES
	(12, 7, 30, 103, 3, 1), (10, 7, 10, 101, 1, NULL), (11, 7, 20, NULL, 2, 0.1),
	(20, -5, 0, 101, NULL, -0.5), (21, -5, 2147483647, 104, 9223372036854775807, 0);
SELECT x.* FROM steps((SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward) FROM s)) x;
-- the order of input makes no difference, bit for bit
SELECT count(DISTINCT stepadv_internal.rollout_group_send(g)) FROM (
	SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward ORDER BY step_id) FROM s UNION ALL
	SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward ORDER BY step_id DESC) FROM s UNION ALL
	SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward ORDER BY hashint8(step_id)) FROM s) x(g);
-- Rollouts that arrive complete, in any order: 200 sets of rollouts of 1 to 40 steps, some cut in two parts in any order, some with a step out of place, against sorted rows.
CREATE TABLE whole AS
SELECT k, r * 50 + i AS step_id, (r * 7919) % 1013 - 500 AS rollout_id, i * 2 AS step_no, h % 5 AS state, (h >> 8) % 3 AS action,
	CASE WHEN (h >> 16) % 3 > 0 THEN (h >> 16) % 4 END::float8 AS reward, CASE WHEN (h >> 24) % 20 = 0 THEN (h >> 24) % 40 = 0 END AS success,
	-- where the row comes: by rollout, some in two pieces, and where k says so one row anywhere
	hashint8(r + k * 1000) AS piece, CASE WHEN k % 4 = 1 AND r % 3 = 0 AND i > 5 THEN hashint8(r) % 2 ELSE 0 END AS half,
	CASE WHEN k % 4 = 2 AND r = 2 AND i = 3 THEN 100 ELSE i END AS place
FROM generate_series(1, 200) k, generate_series(1, 1 + k % 12) r, generate_series(0, (r * k) % 40) i, abs(hashint8(k * 100000 + r * 100 + i)::bigint) h;
SELECT count(*) AS sets, sum((whole IS DISTINCT FROM ordered)::int) AS different, sum((array_length(came, 1) > 1 AND came IS DISTINCT FROM in_order)::int) > 100 AS out_of_order FROM (
	SELECT k, stepadv_internal.rollout_group_send(rollout_agg(step_id, rollout_id, step_no, state, action, reward, success ORDER BY half, piece, place)) AS whole,
		stepadv_internal.rollout_group_send(rollout_agg(step_id, rollout_id, step_no, state, action, reward, success ORDER BY rollout_id, step_no)) AS ordered,
		array_agg(rollout_id ORDER BY half, piece, place) AS came, array_agg(rollout_id ORDER BY rollout_id, step_no) AS in_order
	FROM whole GROUP BY k) x;
-- two rows of a step in one run, and in runs with others between them
SELECT rollout_agg(id, rollout, no, 1, 1, NULL ORDER BY id) FROM (SELECT id, 9 - id / 10 AS rollout, CASE WHEN id = 15 THEN 4 ELSE id % 10 END AS no FROM generate_series(0, 39) id) x;
SELECT rollout_agg(id, rollout, no, 1, 1, NULL ORDER BY id) FROM (SELECT id, CASE WHEN id >= 30 THEN 9 ELSE 9 - id / 10 END AS rollout, id % 10 AS no FROM generate_series(0, 39) id) x;
-- steps gives back what came in
SELECT * FROM s EXCEPT SELECT step_id, rollout_id, step_no, state, action, reward
	FROM (SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward) g FROM s) x, steps(g);
SELECT (r).* FROM (SELECT rollouts(rollout_agg(step_id, rollout_id, step_no, state, action, reward)) r FROM s) x;

-- A row without a step_no describes its rollout: outcome and success, no step.
SELECT r.* FROM (SELECT rollout_agg(id, rollout, no, 1, 1, reward, success) g FROM (VALUES
	(1, 1, 0, NULL::float8, NULL::boolean), (2, 1, 1, 0.25, NULL), (NULL, 1, NULL, 2, true),	-- judged apart
	(3, 2, 0, NULL, NULL),																		-- not judged
	(NULL, 3, NULL, NULL, NULL),																-- no step, not judged
	(NULL, 4, NULL, 0, NULL),																	-- no step, outcome 0
	(4, 5, 0, NULL, false), (5, 5, 1, NULL, true),												-- one row says success
	(6, 6, 0, 3, false), (NULL, 6, NULL, NULL, NULL), (NULL, 6, NULL, NULL, false)) v(id, rollout, no, reward, success)) x,
	rollouts(g) r;
SELECT r.* FROM (SELECT rollout_agg(id, rollout, 0, 1, 1, reward) g FROM (VALUES
	(1, 1, 0.5), (2, 2, 1.5), (3, 3, NULL)) v(id, rollout, reward)) x, rollouts(g, success_above => 1) r;

-- The full form, and what of it survives the text and the binary form.
CREATE TABLE f AS SELECT rollout_agg(id, 1, no, 10 + no, 20 + no, reward, true, next, value, turn, cost) g FROM (VALUES
	(1, 0, 0.1::float8, 99::bigint, 0.5::float8, NULL::float8, 2::float8),
	(2, 1, NULL, NULL, NULL, 0.2, NULL), (3, 2, 1e-300, 98, -1.5, NULL, 1e300)) v(id, no, reward, next, value, turn, cost);
SELECT x.* FROM f, steps(g) x;
SELECT g::text::rollout_group::text = g::text AS text_round_trip FROM f;
-- floats keep every bit, integers their range
SELECT count(*), count(*) FILTER (WHERE s.reward IS DISTINCT FROM x.reward OR s.state <> x.state) AS changed
FROM (SELECT i, ((hashint8extended(i, 1) >> 11) / 1e6)::float8 AS reward, hashint8extended(i, 2) AS state
	  FROM generate_series(1, 1000) i UNION ALL VALUES (1001, 1.7976931348623157e308, (-9223372036854775808)::bigint), (1002, 5e-324, 9223372036854775807)) x
	JOIN (SELECT rollout_agg(i, 1, i::integer, hashint8extended(i, 2), 0, ((hashint8extended(i, 1) >> 11) / 1e6)::float8)::text::rollout_group g FROM generate_series(1, 1000) i) y ON true
	JOIN steps(y.g) s ON s.step_id = x.i;
SELECT s.state, s.reward FROM (SELECT rollout_agg(i, 1, i, st, 0, r)::text::rollout_group g FROM (VALUES
	(1, (-9223372036854775808)::bigint, 1.7976931348623157e308::float8), (2, 9223372036854775807, 5e-324)) v(i, st, r)) x, steps(g) s;

-- rollup: the union; a rollout's parts may lie in several groups
SELECT (SELECT rollup(g) FROM (SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward) g FROM s GROUP BY step_id % 3) p)::text =
	   (SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward) FROM s)::text AS rollup_is_union;
SELECT rollup(g)::text = (SELECT g::text FROM f) AS nulls_ignored FROM (SELECT g FROM f UNION ALL SELECT NULL) x;
SELECT rollup(g) IS NULL AS none FROM f WHERE false;
SELECT rollup(NULL::rollout_group) IS NULL AS only_null;
-- as a window aggregate: the group grows row by row
SELECT step_id, (SELECT count(*) FROM steps(g)) AS n FROM (
	SELECT step_id, rollup(x) OVER (ORDER BY step_id) AS g FROM (
		SELECT step_id, rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS x FROM s GROUP BY step_id) p) q ORDER BY 1;
SELECT step_id, (SELECT count(*) FROM steps(g)) AS n FROM (
	SELECT step_id, rollout_agg(step_id, rollout_id, step_no, state, action, reward) OVER (ORDER BY step_id) AS g FROM s) q ORDER BY 1;
SELECT rollup(g) FROM (SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward) g FROM s UNION ALL
	SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward) FROM s) x;

-- group_union: rollup of two, as an expression
CREATE TEMP TABLE pieces AS
	SELECT step_id % 2 AS i, rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS g FROM s GROUP BY 1;
CREATE TEMP TABLE whole AS SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS g FROM s;
SELECT group_union(a.g, b.g)::text = f.g::text AS union_of_two, group_union(b.g, a.g)::text = f.g::text AS either_way,
	   group_union(a.g, NULL)::text = a.g::text AS with_null, group_union(NULL, b.g)::text = b.g::text AS null_with,
	   group_union(NULL, NULL) IS NULL AS nulls
FROM pieces a, pieces b, whole f WHERE a.i = 0 AND b.i = 1;
SELECT group_union(g, g) FROM f;
SELECT group_union(rollout_agg(1, 8, NULL, NULL, NULL, 1), rollout_agg(2, 8, NULL, NULL, NULL, 1));
SELECT group_union(g, by_turn(g)) FROM pieces WHERE i = 0;
-- a rollout without steps gets them later, and a judged one stays judged
SELECT r.* FROM (SELECT group_union(rollout_agg(1, 8, NULL, NULL, NULL, 2), rollout_agg(3, 8, 1, 5, 6, NULL)) AS g) x, rollouts(x.g) r;
-- values that grow: a row's value and what is added to it
CREATE TEMP TABLE stored (task integer PRIMARY KEY, rollouts rollout_group);
INSERT INTO stored AS t SELECT 0, g FROM pieces WHERE i = 0 ON CONFLICT (task) DO UPDATE SET rollouts = group_union(t.rollouts, EXCLUDED.rollouts);
INSERT INTO stored AS t SELECT 0, g FROM pieces WHERE i = 1 UNION ALL SELECT 1, g FROM pieces WHERE i = 1
	ON CONFLICT (task) DO UPDATE SET rollouts = group_union(t.rollouts, EXCLUDED.rollouts);
SELECT task, rollouts::text = (SELECT CASE task WHEN 0 THEN w.g ELSE (SELECT g FROM pieces WHERE i = 1) END FROM whole w)::text AS grown FROM stored ORDER BY task;
INSERT INTO stored AS t SELECT 2, g FROM pieces WHERE i = 1 UNION ALL SELECT 1, g FROM pieces WHERE i = 1
	ON CONFLICT (task) DO UPDATE SET rollouts = group_union(t.rollouts, EXCLUDED.rollouts);
SELECT count(*) AS nothing_lost, bool_and((SELECT count(*) FROM steps(rollouts)) > 0) FROM stored;

-- Nothing to fold
SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward) IS NULL AS no_rows FROM s WHERE false;
SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward) FILTER (WHERE false) IS NULL AS all_filtered FROM s;
SELECT * FROM steps(NULL);
SELECT * FROM rtmc(NULL);
SELECT * FROM grpo(NULL);
SELECT * FROM group_summary(NULL);
-- a group of one rollout without steps
SELECT (group_summary(g)).* FROM (SELECT rollout_agg(NULL, 1, NULL, NULL, NULL, 1) g) x;
SELECT count(*) FROM (SELECT rollout_agg(NULL, 1, NULL, NULL, NULL, 1) g) x, rtmc(g);

-- Bad rows: which rollout, which step
SELECT rollout_agg(1, NULL, 0, 1, 1, 0);
SELECT rollout_agg(NULL, NULL, NULL, 1, 1, 0);
SELECT rollout_agg(NULL, 5, 3, 1, 1, 0);
SELECT rollout_agg(1, 5, 3, 1, 1, 'NaN');
SELECT rollout_agg(1, 5, 3, 1, 1, 'Infinity');
SELECT rollout_agg(1, 5, NULL, 1, 1, '-Infinity');
SELECT rollout_agg(1, 5, 3, 1, 1, 0, true, 1, 'NaN', 0, 0);
SELECT rollout_agg(1, 5, 3, 1, 1, 0, true, 1, 0, 'Infinity', 0);
SELECT rollout_agg(1, 5, 3, 1, 1, 0, true, 1, 0, 0, '-Infinity');
SELECT rollout_agg(i, 5, 3, 1, 1, 0) FROM generate_series(1, 2) i;
SELECT rollout_agg(i, 5, NULL, 1, 1, i) FROM generate_series(1, 2) i;

-- Bad text: no digits, or not those of a value. One made by hand of rollouts, their numbers of steps, and step_no: header, rollout_id, step_id, state, action, reward, n_steps, step_no, success.
CREATE FUNCTION little_endian(n bigint, width int) RETURNS text LANGUAGE sql IMMUTABLE
RETURN (SELECT string_agg(lpad(to_hex(n >> 8 * i & 255), 2, '0'), '' ORDER BY i) FROM generate_series(0, width - 1) i);
CREATE FUNCTION by_hand(rollouts bigint[], n_steps bigint[], step_no int[]) RETURNS text LANGUAGE sql IMMUTABLE
RETURN '\x01000000' || little_endian(cardinality(rollouts), 4) || little_endian(cardinality(step_no), 4)
	|| coalesce((SELECT string_agg(little_endian(r, 8), '' ORDER BY i) FROM unnest(rollouts) WITH ORDINALITY u(r, i)), '') || repeat('00', 32 * cardinality(step_no))
	|| coalesce((SELECT string_agg(little_endian(n, 4), '' ORDER BY i) FROM unnest(n_steps) WITH ORDINALITY u(n, i)), '')
	|| coalesce((SELECT string_agg(little_endian(n, 4), '' ORDER BY i) FROM unnest(step_no) WITH ORDINALITY u(n, i)), '') || repeat('00', cardinality(rollouts));
CREATE FUNCTION refusal(t text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state text; message text;
BEGIN
	RETURN 'accepted: ' || (SELECT n_rollouts || ' rollouts, ' || n_steps || ' steps' FROM group_summary(t::rollout_group));
EXCEPTION WHEN others THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
	RETURN state || ' ' || message;
END $$;
\t on
\pset format unaligned
SELECT refusal(t) FROM unnest(ARRAY['', 'x', '\', '\x', '\x0', '\x0g', '\x01', '{}', ' \x01', repeat('[', 100000)]) t;
SELECT refusal(by_hand(r, n, s)) FROM (VALUES (1, '{}'::bigint[], '{}'::bigint[], '{}'::int[]), (2, '{1}', '{1}', '{0}'), (3, '{1,2}', '{0,1}', '{5}'), (4, '{1}', '{2}', '{0}'), (5, '{2,1}', '{0,1}', '{0}'), (6, '{1,1}', '{0,1}', '{0}'),
	(7, '{1}', '{2}', '{0,0}'), (8, '{1}', '{2}', '{1,0}'), (9, '{1,2}', '{2,1}', '{0,1,0}'), (10, '{1}', '{4294967295}', '{0}'),
	-- counts that add up only modulo 2^32
	(11, '{1,2,3}', '{2147483647,2147483647,3}', '{0}')) v(i, r, n, s) ORDER BY i;
SELECT refusal(overlay(by_hand('{1}', '{1}', '{0}') PLACING v FROM 3 FOR 2)) FROM unnest('{00,02,03,ff}'::text[]) v;
SELECT refusal(upper(by_hand('{10}', '{1}', '{171}'))), refusal('\x' || upper(substr(by_hand('{10}', '{1}', '{171}'), 3)));
\pset format aligned
\t off

-- histories
SELECT step_no, mode, dense_rank() OVER (PARTITION BY mode ORDER BY state) AS state_rank
FROM (SELECT rollout_agg(i, i / 10, i % 10, NULL, a, 0) g FROM (VALUES
	(10, 1), (11, 2), (12, 1), (13, 3), (20, 2), (21, 1), (22, 3), (23, 3)) v(i, a)) x,
	(VALUES ('root')) m(mode), steps(history_states(g, mode)) ORDER BY 2, 1, rollout_id;
-- after {1, 2} in either order: one state by set, two by sequence; a repeated action changes only the sequence
SELECT mode, count(DISTINCT state) FILTER (WHERE step_no = 2) AS after_two,
	   count(DISTINCT state) FILTER (WHERE rollout_id = 1 AND step_no IN (2, 3)) AS repeat_changes,
	   count(DISTINCT state) FILTER (WHERE step_no = 0) AS roots
FROM (SELECT rollout_agg(i, i / 10, i % 10, NULL, a, 0) g FROM (VALUES
	(10, 1), (11, 2), (12, 1), (13, 3), (20, 2), (21, 1), (22, 3), (23, 3)) v(i, a)) x,
	(VALUES ('sequence'), ('set')) m(mode), steps(history_states(g, mode)) GROUP BY mode ORDER BY mode;
-- a NULL action equals no other, so histories with one are never shared
SELECT mode, count(DISTINCT state) FROM (SELECT rollout_agg(i, i, no, NULL, NULL, 0) g FROM generate_series(1, 3) i, generate_series(0, 1) no) x,
	(VALUES ('sequence'), ('set'), ('root')) m(mode), steps(history_states(g, mode)) GROUP BY mode ORDER BY mode;
SELECT next_state = lead(state) OVER (ORDER BY step_no) AS chained
FROM (SELECT rollout_agg(i, 1, i, i, i, 0, NULL, i + 1, NULL, NULL, NULL) g FROM generate_series(1, 3) i) x, steps(history_states(g));
SELECT history_states(g, 'bag') FROM f;

SET client_min_messages = warning;
DROP SCHEMA groups CASCADE;

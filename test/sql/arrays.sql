-- A method's answers with a row per rollout: rtmc_arrays and its like (src/rollout_arrays.c).

SET jit = off;

-- By hand: reinforce gives every step its rollout's return.  Rollout 1 got 0 and 1, rollout 2 is not
-- judged, rollout 3 has a row of its own and no step, rollout 4 got -2 in a step that came first.
SELECT a.* FROM (
	SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, NULL, NULL, reward) AS g
	FROM (VALUES (11, 1, 2, 1.0), (10, 1, 1, 0), (20, 2, 1, NULL), (NULL, 3, NULL, 1), (41, 4, 9, NULL), (40, 4, 7, -2)) s(step_id, rollout_id, step_no, reward)
) g, stepadv.reinforce_arrays(g.g) a;
SELECT a.* FROM (SELECT stepadv.rollout_agg(NULL, 5, NULL, NULL, NULL, 1) AS g) g, stepadv.reinforce_arrays(g.g) a;
SELECT count(*) AS none FROM stepadv.reinforce_arrays(NULL) a;
SELECT count(*) AS none FROM stepadv.rtmc_arrays(NULL) a;

-- NULL inside a rollout that is judged: a pair visited once has no standard error.  (a, b) twice with returns 1 and 0: sd of
-- them over sqrt(2) is 0.5.
SELECT rollout_id, step_id, stderr, advantage, cardinality(stderr), array_ndims(advantage) AS dimensions FROM (
	SELECT stepadv.rollout_agg(i, i / 10, i % 10, i % 10, CASE WHEN i = 12 THEN 2 ELSE 1 END, (i = 12)::integer) AS g
	FROM unnest(ARRAY[11, 12, 21, 22]) i
) g, stepadv.rtmc_arrays(g.g, gamma => 1, prior => 0) a;

-- Every one of them has the parameters of its method, defaults too, and its columns as arrays.
CREATE TEMPORARY VIEW arr_methods AS
SELECT a.oid AS arrays, r.oid AS rows, r.proname AS method, r.proargnames, r.proallargtypes, r.proargmodes
FROM pg_proc a JOIN pg_proc r ON r.pronamespace = a.pronamespace AND a.proname = r.proname || '_arrays'
WHERE a.pronamespace = 'stepadv'::regnamespace AND r.proargtypes[0] = 'stepadv.rollout_group'::regtype;
SELECT string_agg(method, ' ' ORDER BY method) AS methods FROM arr_methods;
SELECT method AS other_parameters FROM arr_methods WHERE pg_get_function_arguments(arrays) <> pg_get_function_arguments(rows);
SELECT p.proname AS without_arrays FROM pg_proc p
WHERE p.pronamespace = 'stepadv'::regnamespace AND p.proargnames @> '{step_no,advantage}' AND p.proargtypes[0] = 'stepadv.rollout_group'::regtype
	AND p.prorettype = 'record'::regtype AND p.proname !~ '_arrays$' AND p.proname NOT IN (SELECT method FROM arr_methods);

-- Groups of all sorts: judged or not, with NULL identities, by turn, forgiving, with rewards of rollouts.
CREATE TABLE arr_groups AS
SELECT 'judged' AS name, stepadv.rollout_agg(i, i % 7, (i / 7)::integer, i % 5, i % 3, (i % 4)::float8, NULL::boolean,
	(i + 1) % 5, (i % 7)::float8 / 10, (i % 3)::float8, 1 + (i % 2)::float8, i / 14) AS g FROM generate_series(1, 60) i
UNION ALL
SELECT 'some', stepadv.rollout_agg(i, i % 7, (i / 7)::integer, nullif(i % 5, 0), nullif(i % 3, 1), CASE WHEN i % 7 < 4 THEN (i % 4)::float8 END, NULL::boolean,
	NULL, (i % 7)::float8 / 10, (i % 3)::float8, NULL, i / 14) FROM generate_series(1, 60) i
UNION ALL
SELECT 'one step', stepadv.rollout_agg(1, 1, 1, 1, 1, 1, NULL::boolean, NULL, 1.5, NULL, NULL)
UNION ALL
SELECT 'forgiving', stepadv_internal.forgiving_rollout_agg(i, i % 7, (i / 7)::integer, i % 5, i % 3, CASE i WHEN 8 THEN 'NaN' ELSE (i % 4)::float8 END, NULL::boolean,
	NULL, 0.5, NULL, NULL, NULL, NULL, NULL, NULL) FROM generate_series(1, 60) i;
INSERT INTO arr_groups SELECT name || ' by turn', stepadv.by_turn(g) FROM arr_groups WHERE name IN ('judged', 'some');

-- The arrays against array_agg of the rows: how many rollouts, and how many of them differ in anything.
CREATE FUNCTION arr_compare(method text, columns text, OUT rollouts bigint, OUT differences bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('WITH r AS (SELECT g.name, a.rollout_id, %2$s FROM arr_groups g, stepadv.%1$I(g.g) a GROUP BY g.name, a.rollout_id),
						 a AS (SELECT g.name, a.* FROM arr_groups g, stepadv.%3$I(g.g) a)
		SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM (TABLE r EXCEPT ALL TABLE a) d) + (SELECT count(*) FROM (TABLE a EXCEPT ALL TABLE r) d)',
		method, columns, method || '_arrays') INTO rollouts, differences;
END $$;
CREATE TEMPORARY VIEW arr_differences AS
SELECT m.method, d.* FROM (
	SELECT method, string_agg(format('array_agg(a.%I ORDER BY a.step_no)', c.name), ', ' ORDER BY c.name <> 'step_id', c.i) AS columns
	FROM arr_methods, unnest(proargnames, proargmodes) WITH ORDINALITY c(name, mode, i) WHERE c.mode = 't' AND c.name <> 'rollout_id' GROUP BY method
) m, arr_compare(m.method, m.columns) d ORDER BY m.method;
TABLE arr_differences;
SET stepadv.enable_step_scan = off;
SELECT * FROM arr_differences WHERE differences <> 0;
RESET stepadv.enable_step_scan;
-- The comparison can see something.
SELECT arr_compare('reinforce', 'array_agg(a.step_id ORDER BY a.step_no), array_agg(a.step_no ORDER BY a.step_no), array_agg(a.return ORDER BY a.step_no), array_agg(a.advantage + 1 ORDER BY a.step_no)');

-- Errors are the method's own.
SELECT * FROM arr_groups g, stepadv.rtmc_arrays(g.g, gamma => 2) a;
SELECT a.* FROM (SELECT stepadv.rollout_agg(i, 1, i, 1, 1, 1e308) AS g FROM generate_series(1, 2) i) g, stepadv.rtmc_arrays(g.g) a;

-- Nothing is computed that nobody asks for, and arrays are told apart that are stored: a table of them, read again.
CREATE TABLE arr_stored AS SELECT g.name, a.rollout_id, a.step_id, a.advantage FROM arr_groups g, stepadv.rtmc_arrays(g.g) a;
SELECT count(*) AS steps, count(s.advantage) AS estimates, count(*) FILTER (WHERE s.advantage IS DISTINCT FROM r.advantage) AS others
FROM arr_stored a CROSS JOIN LATERAL unnest(a.step_id, a.advantage) s(step_id, advantage)
FULL JOIN (SELECT g.name, r.* FROM arr_groups g, stepadv.rtmc(g.g) r) r ON r.name = a.name AND r.step_id = s.step_id;
EXPLAIN (COSTS OFF) SELECT a.advantage FROM arr_groups g, stepadv.rtmc_arrays(g.g) a;

DROP VIEW arr_differences;
DROP FUNCTION arr_compare;
DROP TABLE arr_groups, arr_stored;

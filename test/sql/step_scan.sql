-- The scan node that reads columns in place (src/plan/scan/step_scan.c), against PostgreSQL's own FunctionScan (stepadv.enable_step_scan = off).
\set VERBOSITY terse
SET jit = on;
SET search_path = stepadv, public;

-- 60 groups of up to 6 rollouts of up to 12 steps: unjudged rollouts, NULL states and actions, a group without a step, a NULL group.
CREATE TABLE scan_groups AS
SELECT g, rollout_agg(s, r, s % 12, CASE WHEN h % 11 > 0 THEN h % 5 END, CASE WHEN h % 13 > 0 THEN h % 3 END,
	CASE WHEN (g * 7 + r) % 5 > 0 THEN (h % 4)::float8 END, CASE WHEN (g * 7 + r) % 5 > 1 THEN h % 2 = 0 END,
	h % 5, (h % 9)::float8, (h % 3)::float8, 1 + (h % 2)::float8, (s % 12) / 2, ARRAY[h % 2, NULL]::float8[], NULL, NULL) AS rollouts
FROM (SELECT g, r, r * 12 + i AS s, abs(signature_hash(format('%s %s %s', g, r, i)) % 1000) AS h
	FROM generate_series(1, 60) g, generate_series(1, 1 + g % 6) r, generate_series(0, (g * r) % 12) i) x
GROUP BY g;
INSERT INTO scan_groups VALUES (61, (SELECT rollout_agg(NULL, 1::bigint, NULL, NULL, NULL, 1.5))), (62, NULL);
ANALYZE scan_groups;

-- Which functions take part: all that return rows of a group and are not written in PL/pgSQL.
CREATE VIEW scan_functions AS
SELECT p.oid::regproc AS function, p.prosupport::regproc AS support FROM pg_proc p
WHERE p.pronamespace IN (SELECT oid FROM pg_namespace WHERE nspname LIKE 'stepadv%')
  AND p.proretset AND p.proargtypes[0] = 'rollout_group'::regtype AND p.prolang <> (SELECT l.oid FROM pg_language l WHERE l.lanname = 'plpgsql')
  AND EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid WHERE d.objid = p.oid AND e.extname = 'stepadv');
SELECT count(*) > 20 AS there_are_many FROM scan_functions;
SELECT function AS takes_no_part FROM scan_functions WHERE support = 0 ORDER BY function::text;

-- Every one of them gives the same rows in the same order by either node.
CREATE FUNCTION pg_temp.by_both_scans(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	columns_read text[];
	stored text[];
	plan text := '';
	line text;
BEGIN
	SET LOCAL stepadv.enable_step_scan = on;
	FOR line IN EXECUTE 'EXPLAIN (costs off) ' || query LOOP
		plan := plan || line;
	END LOOP;
	EXECUTE format('SELECT array_agg(q::text) FROM (SELECT row_number() OVER (), x.* FROM (%s) x) q', query) INTO columns_read;
	SET LOCAL stepadv.enable_step_scan = off;
	EXECUTE format('SELECT array_agg(q::text) FROM (SELECT row_number() OVER (), x.* FROM (%s) x) q', query) INTO stored;
	SET LOCAL stepadv.enable_step_scan = on;
	RETURN format('%s rows%s, %s', cardinality(stored), CASE WHEN columns_read = stored THEN '' ELSE ' THAT DIFFER' END,
		CASE WHEN plan LIKE '%StepScan%' THEN 'from columns' ELSE 'from a tuplestore' END);
END
$$;
SELECT f.function, b.outcome AS does_not
FROM scan_functions f, pg_temp.by_both_scans(format('SELECT g, a.* FROM scan_groups, %s(rollouts%s) a', f.function, CASE f.function::text
	WHEN 'stepadv_internal.preference_pairs' THEN ', ''rtmc'', 1, NULL, NULL, ''success_rate'', 0, 0, 1, 0' WHEN 'stepadv_internal.left_out' THEN ', 3, 1' END)) b (outcome)
WHERE b.outcome !~ '^[1-9][0-9]* rows, from columns$';

-- Some columns, in another order, twice, in expressions, in conditions only.
SELECT pg_temp.by_both_scans('SELECT a.advantage, g, a.step_id, a.advantage * 2, a.n_state FROM scan_groups, rtmc(rollouts) a');
SELECT pg_temp.by_both_scans('SELECT g FROM scan_groups, rtmc(rollouts) a');
SELECT pg_temp.by_both_scans('SELECT a.step_no FROM scan_groups, rtmc(rollouts) a WHERE a.q > a.v AND g % 2 = 0');
SELECT pg_temp.by_both_scans('SELECT count(*) FROM scan_groups, rtmc(rollouts, gamma => 0.5 + g / 200.0) a WHERE a.advantage IS NULL');
SELECT pg_temp.by_both_scans('SELECT g, s.* FROM scan_groups LEFT JOIN LATERAL group_summary(rollouts) s ON s.n_rollouts > 3');
SELECT pg_temp.by_both_scans('SELECT g, a.*, b.* FROM scan_groups, rtmc(rollouts) a JOIN LATERAL grpo(rollouts) b USING (step_id)');

SELECT pg_temp.by_both_scans('SELECT -a.advantage, a.step_id + a.rollout_id FROM rtmc((SELECT rollouts FROM scan_groups WHERE g = 5)) a');
SELECT pg_temp.by_both_scans('SELECT a.step_no % 2, sum(a.advantage) FROM rtmc((SELECT rollouts FROM scan_groups WHERE g = 5)) a GROUP BY 1 ORDER BY 1');

SELECT pg_temp.by_both_scans('SELECT g, x, y FROM scan_groups LEFT JOIN LATERAL (SELECT coalesce(a.advantage, 9) AS x, g + a.step_no AS y FROM grpo(rollouts) a WHERE a.step_no > 8) b ON y % 2 = 0');

-- Several functions side by side; those with fewer rows are filled up.
EXPLAIN (costs off)
SELECT a.step_id, a.of_rtmc, a.of_grpo FROM scan_groups, ROWS FROM (rtmc(rollouts), grpo(rollouts, normalise => 'none'))
	AS a(step_id, r, s, ret, n1, n2, q, v, e, of_rtmc, step_id2, r2, s2, ret2, base, of_grpo) WHERE a.q > 0;
SELECT pg_temp.by_both_scans('SELECT g, a.* FROM scan_groups, ROWS FROM (rtmc(rollouts), grpo(rollouts), group_summary(rollouts)) a');
SELECT pg_temp.by_both_scans('SELECT g, a.* FROM scan_groups, ROWS FROM (rollouts(rollouts), returns(rollouts), contribution(history_states(rollouts, ''set''))) a');

-- Left to FunctionScan: ordinality, whole rows, functions of other kinds beside.
SELECT pg_temp.by_both_scans('SELECT g, a.* FROM scan_groups, grpo(rollouts) WITH ORDINALITY a');
SELECT pg_temp.by_both_scans('SELECT g, a FROM scan_groups, grpo(rollouts) a');
SELECT pg_temp.by_both_scans('SELECT g, a.advantage FROM scan_groups, grpo(rollouts) a WHERE a IS NOT NULL');
SELECT pg_temp.by_both_scans('SELECT g, a.advantage FROM scan_groups, grpo(rollouts) a WHERE (a IS NOT NULL) = (g % 2 = 0)');
SELECT pg_temp.by_both_scans('SELECT g, a.advantage FROM scan_groups LEFT JOIN LATERAL grpo(rollouts) a ON (a IS NOT NULL) = (g % 2 = 0)');
SELECT pg_temp.by_both_scans('SELECT g, a.* FROM scan_groups, ROWS FROM (grpo(rollouts), generate_series(1, 3)) a');

-- Rescans: without a change of the group, with one, in a subquery.
SET enable_material = off;
SELECT pg_temp.by_both_scans('SELECT t, a.advantage FROM generate_series(1, 3) t LEFT JOIN grpo((SELECT rollouts FROM scan_groups WHERE g = 5)) a ON a.step_no >= t');
SELECT pg_temp.by_both_scans('SELECT g, (SELECT sum(a.advantage) FROM rtmc(s.rollouts) a), (SELECT count(*) FROM generate_series(1, 2), returns(s.rollouts)) FROM scan_groups s');
RESET enable_material;
SELECT pg_temp.by_both_scans('SELECT g, exists(SELECT FROM rtmc(rollouts) a WHERE a.advantage > 0.2 LIMIT 1) FROM scan_groups');

-- The same group in repeated rescans, as a nested loop over steps makes them: after its second scan it is not computed again, 1 + 10 * 2 times of 33; not if it changes each time.
SELECT pg_temp.by_both_scans('SELECT g, again, a.* FROM (SELECT * FROM scan_groups, generate_series(1, 3) again ORDER BY g, again OFFSET 0) s, rtmc(s.rollouts) a');
SELECT pg_temp.by_both_scans('SELECT g, again, a.* FROM (SELECT * FROM scan_groups, generate_series(1, 3) again ORDER BY again, g OFFSET 0) s, ROWS FROM (rtmc(s.rollouts), grpo(s.rollouts)) a');
SELECT pg_temp.by_both_scans('SELECT g, again, a.* FROM (SELECT * FROM scan_groups, generate_series(1, 3) again ORDER BY g, again OFFSET 0) s, rtmc(s.rollouts, gamma => again / 3.0) a');
SELECT pg_temp.by_both_scans('SELECT g, again, a.* FROM (SELECT * FROM scan_groups, generate_series(1, 3) again ORDER BY g, again OFFSET 0) s, ROWS FROM (rtmc(s.rollouts), grpo(CASE WHEN again = 1 THEN s.rollouts END)) a');
-- Its row is overwritten in between: other rows of a CTE were read, into the same memory.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT pg_temp.by_both_scans('WITH l AS MATERIALIZED (SELECT g, rollup(rollouts) AS rollouts FROM scan_groups GROUP BY g), x AS MATERIALIZED (SELECT g, again FROM scan_groups, generate_series(1, 4) again ORDER BY g)
	SELECT g, again, (SELECT sum(a.rollout_id * 7 + a.step_no + a.step_id) FROM grpo(l.rollouts) a), (SELECT sum(a.reward) FROM steps(l.rollouts) a) FROM x LEFT JOIN l USING (g)');
RESET enable_hashjoin;
RESET enable_mergejoin;
CREATE FUNCTION pg_temp.asked_again(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (analyze, costs off, timing off, summary off) ' || query LOOP
		IF line ~ 'Again' THEN RETURN trim(line); END IF;
	END LOOP;
	RETURN 'never';
END
$$;
SELECT pg_temp.asked_again('SELECT a.* FROM (SELECT * FROM scan_groups, generate_series(1, 3) again WHERE g BETWEEN 10 AND 20 ORDER BY g, again OFFSET 0) s, rtmc(s.rollouts) a');
SELECT pg_temp.asked_again('SELECT a.* FROM (SELECT * FROM scan_groups, generate_series(1, 3) again WHERE g BETWEEN 10 AND 20 ORDER BY again, g OFFSET 0) s, rtmc(s.rollouts) a');
SELECT pg_temp.asked_again('SELECT a.* FROM (SELECT * FROM scan_groups, generate_series(1, 3) again WHERE g BETWEEN 10 AND 20 ORDER BY g, again OFFSET 0) s, rtmc(s.rollouts, gamma => again / 3.0) a');

-- Backward scans.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT a.step_no, a.return FROM scan_groups, returns(rollouts) a WHERE g = 3;
FETCH ALL FROM c;
FETCH BACKWARD 2 FROM c;
FETCH FIRST FROM c;
COMMIT;

-- The groups' rows in the same node: their columns beside those of the functions, by value and by reference, NULLs, whole rows, conditions on either or both, expressions over both, rows kept by nodes above.
CREATE TABLE scan_named AS SELECT g, repeat('name ', g) || g AS name, CASE WHEN g % 3 > 0 THEN g END AS third, rollouts FROM scan_groups;
ANALYZE scan_named;
EXPLAIN (costs off) SELECT name, a.advantage FROM scan_named, grpo(rollouts) a WHERE a.step_no < g;
SELECT pg_temp.by_both_scans('SELECT third, name, a.advantage, name FROM scan_named, grpo(rollouts) a');
SELECT pg_temp.by_both_scans('SELECT name || a.step_no, third + a.step_id, a.advantage FROM scan_named, grpo(rollouts) a WHERE a.step_no < g AND (third IS NULL OR a.advantage IS NOT NULL) AND g > 2');
SELECT pg_temp.by_both_scans('SELECT n, n.name, a.step_id FROM scan_named n, grpo(rollouts) a WHERE a.step_no % 3 = 0');
SELECT pg_temp.by_both_scans('SELECT third FROM scan_named, grpo(rollouts) a WHERE third > 30');
SELECT pg_temp.by_both_scans('SELECT name, max(a.advantage), array_agg(third ORDER BY a.step_id) FROM scan_named, grpo(rollouts) a GROUP BY name ORDER BY name');
SELECT pg_temp.by_both_scans('SELECT name, lag(name) OVER w, lead(a.step_id) OVER w FROM scan_named, grpo(rollouts) a WINDOW w AS (ORDER BY g, a.rollout_id, a.step_no)');
-- Functions over functions, rows of a join, and groups computed in the query.
SELECT pg_temp.by_both_scans('SELECT name, a.step_id, b.* FROM scan_named, returns(rollouts) a, group_summary(rollouts) b WHERE a.return > 1');
SELECT pg_temp.by_both_scans('SELECT s.g, n.name, a.step_id, a.reward FROM scan_groups s JOIN scan_named n USING (g), steps(n.rollouts) a WHERE a.reward > s.g % 4 ORDER BY 1, 3');
SELECT pg_temp.by_both_scans('SELECT x.third, a.* FROM (SELECT third, rollup(rollouts) AS rollouts FROM scan_named WHERE third < 7 GROUP BY third) x, rollouts(rollouts) a ORDER BY x.third, a.rollout_id');
-- Rescans with other parameters, and without; no more rows than the limit.
SELECT pg_temp.by_both_scans('SELECT t, b.* FROM generate_series(1, 20, 3) t, LATERAL (SELECT n.name, a.step_id FROM scan_named n, rtmc(rollouts) a WHERE n.g BETWEEN t AND t + 2 AND a.step_no > t / 4 ORDER BY a.step_id LIMIT 5) b');
SELECT pg_temp.by_both_scans('SELECT t, (SELECT count(*) FROM scan_named n, rtmc(n.rollouts, gamma => 1.0 / t) a WHERE a.q > 0.3) FROM generate_series(1, 4) t');
SELECT pg_temp.by_both_scans('SELECT t, b.* FROM generate_series(1, 3) t LEFT JOIN LATERAL (SELECT name, a.step_id FROM scan_named, rtmc(rollouts) a OFFSET 0) b ON b.step_id % 3 = t');
SELECT pg_temp.by_both_scans('SELECT name, a.step_id FROM scan_named, rtmc(rollouts) a LIMIT 700');
CREATE TABLE scan_stored AS SELECT third, name, a.step_id, a.advantage FROM scan_named, grpo(rollouts) a;
SELECT count(*), count(third), count(DISTINCT name), sum(length(name)) FROM scan_stored;
SET stepadv.enable_step_scan = off;
SELECT count(*), count(third), count(DISTINCT name), sum(length(name)) FROM scan_named, grpo(rollouts) a;
RESET stepadv.enable_step_scan;
-- An outer join stays one; a parameter from a third table is in the rows.
SELECT pg_temp.by_both_scans('SELECT name, a.step_id FROM scan_named LEFT JOIN LATERAL grpo(rollouts) a ON a.step_no > 10');
SELECT pg_temp.by_both_scans('SELECT name, a.advantage FROM scan_named n JOIN generate_series(1, 3) d ON d = n.g, rtmc(n.rollouts, gamma => d / 3.0) a');
DROP TABLE scan_named, scan_stored;

-- A plan kept for any group.
SET plan_cache_mode = force_generic_plan;
PREPARE of_group(integer, float8) AS SELECT round(sum(a.return)::numeric, 6) FROM scan_groups, returns(rollouts, gamma => $2) a WHERE g = $1;
EXECUTE of_group(4, 1);
EXECUTE of_group(4, 0.5);
EXECUTE of_group(62, 0.5);
SET stepadv.enable_step_scan = off;
SELECT round(sum(a.return)::numeric, 6) FROM scan_groups, returns(rollouts) a WHERE g = 4;
SELECT round(sum(a.return)::numeric, 6) FROM scan_groups, returns(rollouts, gamma => 0.5) a WHERE g = 4;
RESET stepadv.enable_step_scan;
DEALLOCATE of_group;
RESET plan_cache_mode;

-- Where rows may be rechecked they are needed whole.
CREATE TABLE scan_target AS SELECT g, 0::float8 AS best FROM scan_groups;
UPDATE scan_target t SET best = a.advantage FROM scan_groups s, rtmc(s.rollouts) a WHERE s.g = t.g AND a.step_no = 0 AND a.rollout_id = 1 AND a.advantage IS NOT NULL;
SELECT count(*) FROM scan_target t JOIN scan_groups s USING (g), rtmc(s.rollouts) a WHERE a.step_no = 0 AND a.rollout_id = 1 AND a.advantage = t.best;
SELECT g, a.step_no FROM scan_groups s, returns(s.rollouts) a WHERE g = 6 AND a.rollout_id = 1 ORDER BY 2 LIMIT 2 FOR UPDATE OF s;

-- Errors are the functions' own; a user without EXECUTE gets an error.
SELECT count(*) FROM scan_groups, rtmc(rollouts, gamma => 1 + g) a WHERE g = 1;
CREATE ROLE stepadv_reader;
GRANT SELECT ON scan_groups TO stepadv_reader;
REVOKE EXECUTE ON FUNCTION grpo FROM PUBLIC;
SET ROLE stepadv_reader;
SELECT count(*) FROM scan_groups, grpo(rollouts) a;
SELECT count(*) > 0 AS allowed FROM scan_groups, rtmc(rollouts) a;
RESET ROLE;
GRANT EXECUTE ON FUNCTION grpo TO PUBLIC;
DROP OWNED BY stepadv_reader;
DROP ROLE stepadv_reader;

-- A computed group is computed once for adjacent calls, unless it is volatile; every call sees it whole.
CREATE FUNCTION computed(rollouts rollout_group) RETURNS rollout_group LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN RAISE NOTICE 'computed'; RETURN rollouts; END $$;
CREATE FUNCTION drawn(rollouts rollout_group) RETURNS rollout_group LANGUAGE plpgsql VOLATILE STRICT AS $$ BEGIN RAISE NOTICE 'drawn'; RETURN rollouts; END $$;
SELECT count(*), count(*) FILTER (WHERE (s.a1, s.a2, s.a3, s.a4) IS DISTINCT FROM (b.advantage, c.advantage, d.advantage, b.advantage)) AS differ
FROM scan_groups g, LATERAL (SELECT * FROM ROWS FROM (rloo(g.rollouts), reinforce(computed(g.rollouts)), reinforce(computed(g.rollouts), to_go => true), rloo(computed(g.rollouts)))
		s(step_id, rollout_id, step_no, return1, b1, a1, i2, r2, n2, return2, a2, i3, r3, n3, return3, a3, i4, r4, n4, return4, b4, a4)) s
	JOIN LATERAL rloo(g.rollouts) b USING (step_id) JOIN LATERAL reinforce(g.rollouts) c USING (step_id) JOIN LATERAL reinforce(g.rollouts, to_go => true) d USING (step_id)
WHERE g.g = 23;
SELECT count(*) FROM scan_groups g, LATERAL (SELECT FROM ROWS FROM (rloo(drawn(g.rollouts)), rloo(drawn(g.rollouts))) s(step_id, rollout_id, step_no, return1, b1, a1, i2, r2, n2, return2, b2, a2)) s WHERE g.g = 23;
-- NULL for one of them, by its own parameter or by the group, affects only that one.
SELECT count(*), count(a1) AS first, count(a2) AS second, count(a3) AS third
FROM scan_groups g, LATERAL (SELECT * FROM ROWS FROM (rloo(computed(g.rollouts)), reinforce(computed(g.rollouts), gamma => NULL), rloo(computed(g.rollouts)))
		s(step_id, rollout_id, step_no, return1, b1, a1, i2, r2, n2, return2, a2, i3, r3, n3, return3, b3, a3)) s WHERE g.g = 23;
DROP FUNCTION computed(rollout_group), drawn(rollout_group);

-- In parallel workers.
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
EXPLAIN (costs off) SELECT count(*), sum(a.n_state) FROM scan_groups, rtmc(rollouts) a;
SELECT count(*), sum(a.n_state) FROM scan_groups, rtmc(rollouts) a;
SET LOCAL max_parallel_workers_per_gather = 0;
SET LOCAL stepadv.enable_step_scan = off;
SELECT count(*), sum(a.n_state) FROM scan_groups, rtmc(rollouts) a;
COMMIT;

-- One group after another: the memory of each is freed.
SELECT count(*), sum(n.n) FROM scan_groups s, generate_series(1, 200) i,
	LATERAL (SELECT count(*) AS n FROM rtmc(CASE WHEN i > 0 THEN s.rollouts END) a) n;

DROP VIEW scan_functions;
DROP TABLE scan_groups, scan_target;

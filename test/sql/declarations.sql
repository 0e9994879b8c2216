-- SQL declarations against the C code (src/declaration.c): parameters and result columns are matched by name and type, so their order cannot change a number.

SET client_min_messages = warning;
-- Hundreds of small queries over functions with high declared costs.
SET jit = off;

CREATE TABLE dec_group AS
SELECT stepadv.rollout_agg(i, i % 6, (i / 6)::integer, i % 4, i % 3, (i % 5)::float8, NULL::boolean,
						   (i + 1) % 4, (i % 7)::float8 / 10, (i % 3)::float8, 1 + (i % 2)::float8,
						   i / 12, ARRAY[i % 5, i % 4]::float8[], NULL, NULL) AS rollouts
FROM generate_series(1, 40) AS i;

-- A copy of a function with all parameters after the group in reverse order.
CREATE FUNCTION dec_turn(f regprocedure) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	p pg_proc;
	parameters text;
	columns text;
BEGIN
	SELECT * INTO p FROM pg_proc WHERE oid = f;
	SELECT string_agg(format('%I %s%s', p.proargnames[i], format_type(p.proargtypes[i - 1], NULL),
							 ' DEFAULT ' || pg_get_function_arg_default(f, i)), ', ' ORDER BY i = 1 DESC, i DESC)
	INTO parameters FROM generate_series(1, p.pronargs) AS i;
	SELECT string_agg(format('%I %s', p.proargnames[i], format_type(p.proallargtypes[i], NULL)), ', ' ORDER BY i DESC)
	INTO columns FROM generate_series(1, cardinality(p.proallargtypes)) AS i WHERE p.proargmodes[i] = 't';
	EXECUTE format('CREATE FUNCTION dec_turned.%I(%s) RETURNS %s LANGUAGE c IMMUTABLE %s %s AS %L, %L',
				   p.proname, parameters, coalesce('TABLE (' || columns || ')', format_type(p.prorettype, NULL)),
				   CASE WHEN p.proisstrict THEN 'STRICT' END,
				   CASE WHEN p.proretset THEN 'SUPPORT stepadv_internal.row_support' END, p.probin, p.prosrc);
END $$;

-- Do both give the same rows for arguments that all differ?
CREATE FUNCTION dec_outcome(f regprocedure) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	p pg_proc;
	arguments text;
	columns text;
	differences bigint;
BEGIN
	SELECT * INTO p FROM pg_proc WHERE oid = f;
	SELECT string_agg(format(', %I => %s', p.proargnames[i],
							 CASE p.proargtypes[i - 1] WHEN 'float8'::regtype THEN (i * 0.05)::text
							 WHEN 'boolean'::regtype THEN (i % 2 = 0)::text
							 WHEN 'float8[]'::regtype THEN '''{0.3,0.7}'''
							 ELSE pg_get_function_arg_default(f, i) END), '' ORDER BY i)
	INTO arguments FROM generate_series(2, p.pronargs) AS i;
	SELECT coalesce(string_agg(format('a.%I', p.proargnames[i]), ', ' ORDER BY i), 'a.*::text')
	INTO columns FROM generate_series(1, cardinality(p.proallargtypes)) AS i WHERE p.proargmodes[i] = 't';
	EXECUTE format('WITH declared AS (SELECT %1$s FROM dec_group g, %4$s.%2$I(g.rollouts%3$s) AS a),
						 turned AS (SELECT %1$s FROM dec_group g, dec_turned.%2$I(g.rollouts%3$s) AS a)
					SELECT (SELECT count(*) FROM (TABLE declared EXCEPT ALL TABLE turned) d)
						 + (SELECT count(*) FROM (TABLE turned EXCEPT ALL TABLE declared) d)',
				   columns, p.proname, arguments, p.pronamespace::regnamespace) INTO differences;
	RETURN CASE differences WHEN 0 THEN 'same' ELSE 'OTHER NUMBERS' END;
EXCEPTION WHEN invalid_function_definition THEN
	RETURN 'refused';
END $$;

CREATE SCHEMA dec_turned;
CREATE VIEW dec_functions AS
SELECT p.oid::regprocedure AS f, p.proname AS name, p.proretset
FROM pg_proc p
WHERE p.pronamespace IN (SELECT oid FROM pg_namespace WHERE nspname LIKE 'stepadv%') AND p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'c')
  AND p.proargtypes[0] = 'stepadv.rollout_group'::regtype AND p.proargnames IS NOT NULL AND p.pronargdefaults = p.pronargs - 1;

DO 'BEGIN PERFORM dec_turn(f) FROM dec_functions; END';

-- Every function with rows must accept it; a new one is tested automatically.
SELECT count(*) > 20 AS there_are_many FROM dec_functions;
SELECT name AS minds, dec_outcome(f) AS outcome FROM dec_functions WHERE dec_outcome(f) <> 'same' ORDER BY name;
SET stepadv.enable_step_scan = off;
SELECT name AS minds, dec_outcome(f) AS outcome FROM dec_functions WHERE proretset AND dec_outcome(f) <> 'same' ORDER BY name;
RESET stepadv.enable_step_scan;

-- Numbers that differ, to show that the comparison detects differences.
SELECT dec_outcome('stepadv.reinforce(stepadv.rollout_group, float8, boolean)') AS same;
CREATE OR REPLACE FUNCTION dec_turned.reinforce(rollouts stepadv.rollout_group, to_go boolean DEFAULT false, gamma float8 DEFAULT 1.0)
RETURNS TABLE (advantage float8, return float8, step_no integer, rollout_id bigint, step_id bigint)
LANGUAGE sql AS 'SELECT a.return, a.advantage, a.step_no, a.rollout_id, a.step_id FROM stepadv.reinforce(rollouts, gamma, to_go) a';
SELECT dec_outcome('stepadv.reinforce(stepadv.rollout_group, float8, boolean)') AS other;

-- A declaration that does not fit is refused, with the reason.
CREATE FUNCTION dec_refuse(parameters text, columns text, rollouts text DEFAULT 'g.rollouts') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	problem text;
BEGIN
	EXECUTE format('CREATE FUNCTION dec_wrong(%s) RETURNS TABLE (%s) LANGUAGE c IMMUTABLE AS %L, %L', parameters, columns,
				   (SELECT probin FROM pg_proc WHERE oid = 'stepadv.steps'::regproc), 'stepadv_reinforce');
	EXECUTE format('SELECT a FROM dec_group g, LATERAL dec_wrong(%s) a', rollouts);
	DROP FUNCTION dec_wrong;
	RETURN 'accepted';
EXCEPTION WHEN invalid_function_definition THEN
	GET STACKED DIAGNOSTICS problem = PG_EXCEPTION_DETAIL;
	RETURN problem;
END $$;

SELECT dec_refuse(parameters, columns)
FROM (VALUES
	(1, 'rollouts stepadv.rollout_group, gamma float8 DEFAULT 1, to_go boolean DEFAULT true', 'step_id bigint, rollout_id bigint, step_no integer, return float8, advantage float8'),
	(2, 'rollouts stepadv.rollout_group, gama float8 DEFAULT 1, to_go boolean DEFAULT true', 'step_id bigint, rollout_id bigint, step_no integer, return float8, advantage float8'),
	(3, 'rollouts stepadv.rollout_group, gamma real DEFAULT 1, to_go boolean DEFAULT true', 'step_id bigint, rollout_id bigint, step_no integer, return float8, advantage float8'),
	(4, 'rollouts stepadv.rollout_group, gamma float8 DEFAULT 1', 'step_id bigint, rollout_id bigint, step_no integer, return float8, advantage float8'),
	(5, 'rollouts stepadv.rollout_group, gamma float8 DEFAULT 1, to_go boolean DEFAULT true, epsilon float8 DEFAULT 0', 'step_id bigint, rollout_id bigint, step_no integer, return float8, advantage float8'),
	(6, 'stepadv.rollout_group, float8 DEFAULT 1, boolean DEFAULT true', 'step_id bigint, rollout_id bigint, step_no integer, return float8, advantage float8'),
	(7, 'rollouts stepadv.rollout_group, gamma float8 DEFAULT 1, to_go boolean DEFAULT true', 'step_id bigint, rollout_id bigint, step_no integer, advantage float8, g float8'),
	(8, 'rollouts stepadv.rollout_group, gamma float8 DEFAULT 1, to_go boolean DEFAULT true', 'step_id bigint, rollout_id bigint, step_no bigint, return float8, advantage float8'),
	(9, 'rollouts stepadv.rollout_group, gamma float8 DEFAULT 1, to_go boolean DEFAULT true', 'step_id bigint, rollout_id bigint, step_no integer, advantage float8'),
	(10, 'rollouts stepadv.rollout_group, gamma float8 DEFAULT 1, to_go boolean DEFAULT true', 'step_id bigint, rollout_id bigint, step_no integer, return float8, advantage float8, q float8')
) AS wrong (i, parameters, columns)
ORDER BY i;

-- The group itself, too: it is not found by name, but it must be the first argument.
SELECT dec_refuse('rollouts bytea, gamma float8 DEFAULT 1, to_go boolean DEFAULT true',
				  'step_id bigint, rollout_id bigint, step_no integer, return float8, advantage float8', '''\x00''');

-- Cached lookups of a function are repeated after it is replaced.
CREATE FUNCTION dec_again(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1, to_go boolean DEFAULT true)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT AS '$libdir/stepadv', 'stepadv_reinforce';
SELECT count(*) FROM dec_group g, dec_again(g.rollouts) a;
CREATE OR REPLACE FUNCTION dec_again(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1, to_go boolean DEFAULT true)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT AS '$libdir/stepadv', 'stepadv_rtmc';
SELECT count(*) FROM dec_group g, dec_again(g.rollouts) a;
DROP FUNCTION dec_again;

DROP SCHEMA dec_turned CASCADE;
DROP FUNCTION dec_refuse, dec_outcome, dec_turn;
DROP VIEW dec_functions;
DROP TABLE dec_group;

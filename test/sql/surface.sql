-- The objects of the extension by the catalog: public ones, those that run as another user, and their search_path.
SET client_min_messages = warning;
\pset format unaligned
\pset footer off

-- All members of the extension that have a schema and a name.
CREATE TEMP VIEW members AS
SELECT d.classid, d.objid, i.schema, i.type AS kind, i.identity,
	coalesce(p.proname, c.relname, t.typname) AS name, p.proname IS NOT NULL AS is_function,
	-- Arrays and the rows of tables come with what they are made of.
	coalesce(t.typelem, 0) <> 0 OR EXISTS (SELECT FROM pg_class r WHERE r.oid = t.typrelid AND r.relkind <> 'c') AS is_byproduct
FROM pg_depend d
CROSS JOIN LATERAL pg_identify_object(d.classid, d.objid, d.objsubid) i
LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
LEFT JOIN pg_type t ON d.classid = 'pg_type'::regclass AND t.oid = d.objid
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'stepadv');

-- 1. Public objects, without functions of a group that return rows, so that a new estimator does not change this file (test/t/docs.pl checks that the docs name it).
SELECT DISTINCT format('%s %s', m.kind, m.name) COLLATE "C" AS public
FROM members m LEFT JOIN pg_proc p ON m.is_function AND p.oid = m.objid
WHERE m.schema = 'stepadv' AND m.name IS NOT NULL AND NOT m.is_byproduct
	AND (p.proretset AND p.proargtypes[0] = 'stepadv.rollout_group'::regtype) IS NOT TRUE
ORDER BY 1;
SELECT m.identity AS operator FROM members m WHERE m.classid = 'pg_operator'::regclass ORDER BY m.identity COLLATE "C";

-- Functions that only the server calls are left out: part of an aggregate, a type, an operator or planner support.
SELECT DISTINCT m.identity AS inner_part_in_public
FROM members m JOIN pg_proc p ON m.is_function AND p.oid = m.objid
WHERE m.schema = 'stepadv' AND p.prokind <> 'a'
	AND ('internal'::regtype = ANY (p.proargtypes) OR 'cstring'::regtype IN (p.prorettype, p.proargtypes[0])
		OR EXISTS (SELECT FROM pg_aggregate a WHERE p.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn))
		OR EXISTS (SELECT FROM pg_type t WHERE p.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend))
		OR EXISTS (SELECT FROM pg_operator o WHERE p.oid = o.oprcode));

-- 2. Nothing runs with the rights of the extension's owner.
SELECT p.oid::regprocedure AS security_definer FROM members m JOIN pg_proc p ON m.is_function AND p.oid = m.objid WHERE p.prosecdef;
-- Functions that run with the rights of a table's owner, whose rights the caller must have (src/attach/as_owner.c): those that administer tables.
SELECT format('%s.%s', m.schema, m.name) COLLATE "C" AS as_owner FROM members m JOIN pg_proc p ON m.is_function AND p.oid = m.objid
WHERE p.prosrc = 'stepadv_as_owner' ORDER BY 1;
-- Triggers run with the rights of the writer, and those in C can change them.
SELECT format('%s.%s', m.schema, m.name) COLLATE "C" AS trigger_in_c
FROM members m JOIN pg_proc p ON m.is_function AND p.oid = m.objid JOIN pg_language l ON l.oid = p.prolang
WHERE p.prorettype = 'trigger'::regtype AND l.lanname = 'c' ORDER BY 1;

-- 3. Functions in SQL and PL/pgSQL set their own search_path; those with BEGIN ATOMIC have resolved names. The exception is selection_of, whose body is SELECT true: it is
-- inlined into conditions at no cost, which a search_path would prevent.
SELECT m.identity AS without_search_path
FROM members m JOIN pg_proc p ON m.is_function AND p.oid = m.objid JOIN pg_language l ON l.oid = p.prolang
WHERE l.lanname NOT IN ('c', 'internal') AND p.prosqlbody IS NULL
	AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false)
ORDER BY m.identity COLLATE "C";

-- 4. All visible objects have a comment.
SELECT m.kind, m.identity AS without_comment FROM members m
WHERE NOT m.is_byproduct AND obj_description(m.objid, m.classid::regclass::name) IS NULL
ORDER BY m.kind, m.identity COLLATE "C";

-- 5. Nothing is elsewhere, except the schema of internal objects itself.
SELECT m.kind, m.identity AS elsewhere FROM members m
WHERE m.schema IS DISTINCT FROM 'stepadv' AND m.schema IS DISTINCT FROM 'stepadv_internal' ORDER BY m.identity COLLATE "C";

-- 6. Everybody can use internal objects, too: queries and views call them.
SELECT has_schema_privilege('public', 'stepadv_internal', 'USAGE') AS used, has_schema_privilege('public', 'stepadv_internal', 'CREATE') AS made_in;
SELECT m.identity AS not_for_everybody FROM members m
WHERE m.is_function AND NOT has_function_privilege('public', m.objid, 'EXECUTE') ORDER BY m.identity COLLATE "C";

-- 7. An inlined function brings its operators along, for every search_path: nullif is an equality, too.
CREATE SCHEMA surface_stranger;
CREATE FUNCTION surface_stranger.equals(bigint, integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'a stranger''s operator'; END $$;
CREATE OPERATOR surface_stranger.= (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = surface_stranger.equals);
SET search_path = surface_stranger, pg_catalog, stepadv;
SELECT s.* FROM contribution_summary((SELECT rollout_agg(i, i % 2, i::integer, i, i, 1) FROM generate_series(1::bigint, 6) i)) s;
RESET search_path;
DROP SCHEMA surface_stranger CASCADE;
DROP VIEW members;

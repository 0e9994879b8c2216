-- stepadv: joined by make from the parts listed in sql/order; do not edit the joined file.
-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION stepadv" to load this file. \quit

-- Users run functions of this schema with their own privileges, so no other user may
-- have created objects in it, or may do so later.  Therefore a superuser owns the
-- schema, even if not the extension.
DO $$
DECLARE
	path CONSTANT text := pg_catalog.current_setting('search_path');
	room record;
BEGIN
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	SELECT n.oid, n.nspowner, n.nspacl, e.oid AS extension, e.extowner INTO STRICT room
	FROM pg_namespace n, pg_extension e WHERE n.oid = '@extschema@'::regnamespace AND e.extname = 'stepadv';
	IF room.nspowner <> room.extowner AND NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = room.nspowner) THEN
		RAISE EXCEPTION 'schema "%" belongs to %', '@extschema@', room.nspowner::regrole
			USING ERRCODE = 'insufficient_privilege', HINT = 'CREATE EXTENSION creates a schema that does not exist.';
	ELSIF EXISTS (SELECT FROM pg_depend d WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = room.oid
		AND NOT (d.classid = 'pg_extension'::regclass AND d.objid = room.extension))
	THEN
		RAISE EXCEPTION 'schema "%" is not empty', '@extschema@'
			USING ERRCODE = 'duplicate_object', HINT = 'CREATE EXTENSION creates a schema that does not exist.';
	ELSIF EXISTS (SELECT FROM aclexplode(room.nspacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
		WHERE a.privilege_type = 'CREATE' AND a.grantee NOT IN (room.nspowner, room.extowner)
			AND r.rolsuper IS NOT TRUE)
	THEN
		RAISE EXCEPTION 'others may create objects in schema "%"', '@extschema@'
			USING ERRCODE = 'insufficient_privilege',
				HINT = 'Revoke the privilege, or drop the schema: CREATE EXTENSION creates it.';
	END IF;
	IF NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = room.nspowner) THEN
		ALTER SCHEMA @extschema@ OWNER TO CURRENT_USER;
	END IF;
	PERFORM set_config('search_path', path, true);
END
$$;

-- The functions compute only on their arguments, so every role may use them.
GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;

-- In this part and all that follow, names resolve to pg_catalog unless qualified, so
-- that objects that users created elsewhere cannot be called by mistake.
SET LOCAL search_path = pg_catalog, pg_temp;

-- The internals of the views, the aggregates and the functions.
-- A schema of this name that exists already belongs to another user: an error.
CREATE SCHEMA stepadv_internal;
GRANT USAGE ON SCHEMA stepadv_internal TO PUBLIC;
COMMENT ON SCHEMA stepadv_internal IS
'inner parts of the extension stepadv: nothing here is meant to be called by hand';

-- Set-returning functions that can leave their rows as columns: src/plan/scan/step_scan.c
CREATE FUNCTION stepadv_internal.row_support(internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_row_support';
COMMENT ON FUNCTION stepadv_internal.row_support(internal) IS
'part of every function of a rollout_group that returns rows: makes the planner consider scans that '
'read its columns in place';

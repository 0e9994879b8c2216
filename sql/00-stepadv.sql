-- stepadv: made from sql/[0-9]*.sql by make; do not edit the joined file.
-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION stepadv" to load this file. \quit

-- Everything here computes on what it is given: let every role use it.
GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;

-- No name is looked up in the schema that does not say so, here and in all parts
-- that follow: what somebody has put there is not taken for one of ours.
SET LOCAL search_path = pg_catalog, pg_temp;

-- What the views, the aggregates and the functions are made of, out of sight.
-- A schema of this name that is there already is somebody else's: an error.
CREATE SCHEMA stepadv_internal;
GRANT USAGE ON SCHEMA stepadv_internal TO PUBLIC;
COMMENT ON SCHEMA stepadv_internal IS 'inner parts of the extension stepadv: nothing here is meant to be called by hand';

-- Set-returning functions that can leave their rows as columns: src/plan/step_scan.c
CREATE FUNCTION stepadv_internal.row_support(internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_row_support';
COMMENT ON FUNCTION stepadv_internal.row_support(internal) IS
'part of every function of a rollout_group that returns rows: makes the planner consider scans that read its columns in place';

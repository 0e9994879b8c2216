-- Makes of an installed stepadv_import 0.2.0 what the parts of 0.3.0 make.
-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION stepadv_import UPDATE TO '0.3.0'" to load this file. \quit

-- Written by hand: what is no function, and functions whose parameters or
-- results are others now.  All functions and comments of the parts follow.
SET LOCAL search_path = pg_catalog, pg_temp;

-- Task, run and version of a step; functions with more parameters than before, which no view calls.
ALTER TYPE @extschema@.parsed_step ADD ATTRIBUTE task_id text CASCADE, ADD ATTRIBUTE run_id text CASCADE, ADD ATTRIBUTE policy_step bigint CASCADE, ADD ATTRIBUTE tags jsonb CASCADE;
DROP FUNCTION @extschema@.load_rollouts(text, regclass, text, boolean);
DROP FUNCTION @extschema@.import_rollouts(text, regclass, text, text, jsonb, text, float8, boolean);
DROP FUNCTION stepadv_internal.load_gather(text);
DROP FUNCTION stepadv_internal.load_parsed(text, text, text, boolean);
DROP FUNCTION stepadv_internal.load_write_rollouts(text);
DROP FUNCTION stepadv_internal.load_write_steps(text);
DROP FUNCTION stepadv_internal.import_lines(float8);
DROP FUNCTION stepadv_internal.import_items(text);
DROP FUNCTION stepadv_internal.import_check(regclass, text, jsonb);
DROP FUNCTION stepadv_internal.import_messages(jsonb);
DROP FUNCTION stepadv_internal.import_file(text, regclass, text, text, text, jsonb, text, float8, boolean);

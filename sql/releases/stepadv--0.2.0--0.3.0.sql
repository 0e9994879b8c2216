-- Makes of an installed stepadv 0.2.0 what the parts of 0.3.0 make.
-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION stepadv UPDATE TO '0.3.0'" to load this file. \quit

-- Written by hand: what is no function, and functions whose parameters or
-- results are others now.  All functions and comments of the parts follow.
SET LOCAL search_path = pg_catalog, pg_temp;

-- attach: units of turns, runs, reward components, dimensions.
ALTER TYPE stepadv.attachment ADD ATTRIBUTE unit text CASCADE, ADD ATTRIBUTE rewards text[] CASCADE, ADD ATTRIBUTE dimensions text[] CASCADE;
ALTER TYPE stepadv_internal.attached ADD ATTRIBUTE unit text, ADD ATTRIBUTE rewards text[], ADD ATTRIBUTE dimensions text[];
ALTER TYPE stepadv_internal.given ADD ATTRIBUTE unit text, ADD ATTRIBUTE rewards text[], ADD ATTRIBUTE dimensions text[];
UPDATE stepadv_internal.roles SET place = place + 1 WHERE place BETWEEN 12 AND 20;
UPDATE stepadv_internal.roles SET place = place + 1 WHERE role IN ('advantage', 'stderr', 'min_visits', 'outcome', 'tokens');
INSERT INTO stepadv_internal.roles VALUES
	('turn', 12, 'source', 'order', 'turn must be an integer.'),
	('task_id', 29, 'rollouts', 'version', 'A rollout is of one task.'), ('run_id', 30, 'rollouts', 'version', 'A rollout is of one run.'),
	('policy_step', 31, 'rollouts', 'ordinal', 'policy_step must be an integer, such as the number of the training step.'),
	('dimension', 32, 'rollouts', 'version', 'A rollout has one value of a dimension.');
INSERT INTO stepadv_internal.role_types VALUES
	('ordinal', 'smallint', '%s::bigint'), ('ordinal', 'integer', '%s::bigint'), ('ordinal', 'bigint', '%s');
DROP FUNCTION stepadv.attach(regclass, text[], text, text, text, text, text, text, text, text, text, text, text, text, text, jsonb, text[], regclass, regclass, text, text, text, text, text, text, text, text, text, text, text, text);
DROP FUNCTION stepadv_internal.attach(regclass, text[], text, text, text, text, text, text, text, text, text, text, text, text, text, jsonb, text[], regclass, regclass, text, text, text, text, text, text, text, text, text, text, text, text);
-- steps has one more column: the views of users that read it go on reading the function as it was.
ALTER FUNCTION stepadv.steps(stepadv.rollout_group) RENAME TO steps_before_0_3_0;
ALTER FUNCTION stepadv.steps_before_0_3_0(stepadv.rollout_group) SET SCHEMA stepadv_internal;
-- Functions with more parameters than before. Views of users call the declarations of
-- 0.2.0 (the same C functions, which do without what is newer) until upgrade_attachments()
-- makes them anew; a later release drops them.

-- prior_mean
ALTER FUNCTION stepadv.rtmc(stepadv.rollout_group, float8, float8, float8, boolean, text, float8) RENAME TO rtmc_before_0_3_0;
ALTER FUNCTION stepadv.rtmc_before_0_3_0(stepadv.rollout_group, float8, float8, float8, boolean, text, float8) SET SCHEMA stepadv_internal;
ALTER FUNCTION stepadv.rtmc_tree(stepadv.rollout_group, float8, float8, float8, boolean, text, float8) RENAME TO rtmc_tree_before_0_3_0;
ALTER FUNCTION stepadv.rtmc_tree_before_0_3_0(stepadv.rollout_group, float8, float8, float8, boolean, text, float8) SET SCHEMA stepadv_internal;
ALTER FUNCTION stepadv.rtmc_tree_dot(stepadv.rollout_group, jsonb, bigint[], integer, integer, integer, float8, float8, float8, boolean, text, float8) RENAME TO rtmc_tree_dot_before_0_3_0;
ALTER FUNCTION stepadv.rtmc_tree_dot_before_0_3_0(stepadv.rollout_group, jsonb, bigint[], integer, integer, integer, float8, float8, float8, boolean, text, float8) SET SCHEMA stepadv_internal;

-- create_tables: the group's columns, the unit.  No view calls these.
DROP FUNCTION stepadv.create_tables(text, text, integer, text);
DROP FUNCTION stepadv_internal.make_rollout_rows(text, text);
DROP FUNCTION stepadv_internal.check_tables(text, text, integer);

-- group_summary has two more columns: views of users go on reading it as it was.
ALTER FUNCTION stepadv.group_summary(stepadv.rollout_group, float8) RENAME TO group_summary_before_0_3_0;
ALTER FUNCTION stepadv.group_summary_before_0_3_0(stepadv.rollout_group, float8) SET SCHEMA stepadv_internal;

-- What rollout_agg takes a wrong argument for, to say so.
CREATE TYPE stepadv_internal.unfit;
CREATE FUNCTION stepadv_internal.unfit_in(cstring) RETURNS stepadv_internal.unfit LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'textin';
CREATE FUNCTION stepadv_internal.unfit_out(stepadv_internal.unfit) RETURNS cstring LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'textout';
CREATE TYPE stepadv_internal.unfit (INPUT = stepadv_internal.unfit_in, OUTPUT = stepadv_internal.unfit_out, LIKE = text, CATEGORY = 'N');
CREATE CAST (text AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (varchar AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (bpchar AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (name AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (bytea AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (json AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (jsonb AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (uuid AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (boolean AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (smallint AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (integer AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (bigint AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (oid AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (numeric AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (real AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (float8 AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (date AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (timestamp AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (timestamptz AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (interval AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (text[] AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (integer[] AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (bigint[] AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (real[] AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;
CREATE CAST (float8[] AS stepadv_internal.unfit) WITH INOUT AS IMPLICIT;

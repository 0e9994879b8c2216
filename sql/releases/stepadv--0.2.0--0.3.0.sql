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
UPDATE stepadv_internal.roles SET place = place + 1 WHERE place >= 12;
INSERT INTO stepadv_internal.roles VALUES
	('turn', 12, 'source', 'order', 'turn must be an integer.'),
	('task_id', 29, 'rollouts', 'version', 'A rollout is of one task.'), ('run_id', 30, 'rollouts', 'version', 'A rollout is of one run.'),
	('policy_step', 31, 'rollouts', 'ordinal', 'policy_step must be an integer, such as the number of the training step.'),
	('dimension', 32, 'rollouts', 'version', 'A rollout has one value of a dimension.'),
	('embedding', 33, 'states', 'vector', 'An embedding is an array of numbers, or of a type with a cast to real[].');
INSERT INTO stepadv_internal.role_types VALUES
	('ordinal', 'smallint', '%s::bigint'), ('ordinal', 'integer', '%s::bigint'), ('ordinal', 'bigint', '%s');
DROP FUNCTION stepadv.attach(regclass, text[], text, text, text, text, text, text, text, text, text, text, text, text, text, jsonb, text[], regclass, regclass, text, text, text, text, text, text, text, text, text, text, text, text);
DROP FUNCTION stepadv_internal.attach(regclass, text[], text, text, text, text, text, text, text, text, text, text, text, text, text, jsonb, text[], regclass, regclass, text, text, text, text, text, text, text, text, text, text, text, text);

-- Instances of methods.
ALTER TYPE stepadv_internal.known_method ADD ATTRIBUTE instance jsonb;
ALTER TYPE stepadv_internal.made_method ADD ATTRIBUTE argument text;

-- Views of runs: the same functions with other parameters or results.
DROP FUNCTION stepadv_internal.run_place(stepadv_internal.given, text);
DROP FUNCTION stepadv_internal.run_columns(stepadv_internal.attached, text, regclass);
DROP FUNCTION stepadv_internal.version_of_run(stepadv_internal.attached);
DROP FUNCTION stepadv_internal.beside(stepadv_internal.attached, text, text[], jsonb, text[]);
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

-- history_states has one more parameter, likewise.
ALTER FUNCTION stepadv.history_states(stepadv.rollout_group, text) RENAME TO history_states_before_0_3_0;
ALTER FUNCTION stepadv.history_states_before_0_3_0(stepadv.rollout_group, text) SET SCHEMA stepadv_internal;
-- create_tables: the group's columns, the unit.  No view calls these.
DROP FUNCTION stepadv.create_tables(text, text, integer, text);
DROP FUNCTION stepadv_internal.make_rollout_rows(text, text);
DROP FUNCTION stepadv_internal.check_tables(text, text, integer);

-- group_summary has two more columns: views of users go on reading it as it was.
ALTER FUNCTION stepadv.group_summary(stepadv.rollout_group, float8) RENAME TO group_summary_before_0_3_0;
ALTER FUNCTION stepadv.group_summary_before_0_3_0(stepadv.rollout_group, float8) SET SCHEMA stepadv_internal;

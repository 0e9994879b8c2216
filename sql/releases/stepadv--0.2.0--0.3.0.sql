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

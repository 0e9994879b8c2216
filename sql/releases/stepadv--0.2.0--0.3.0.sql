-- Makes of an installed stepadv 0.2.0 what the parts of 0.3.0 make.
-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION stepadv UPDATE TO '0.3.0'" to load this file. \quit

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

-- A method more. (Its function is among the parts'.)
INSERT INTO stepadv_internal.methods VALUES
	('batch_td', 'stepadv.batch_td(stepadv.rollout_group,double precision,double precision,double precision,double precision,text,double precision)',
		'{reward,state,action}', '{}', NULL, 'a row per step', 175);

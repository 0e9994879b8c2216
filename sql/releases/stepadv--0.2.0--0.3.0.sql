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

-- step_rewards, gamma, pool
ALTER FUNCTION stepadv.rloo(stepadv.rollout_group, text) RENAME TO rloo_before_0_3_0;
ALTER FUNCTION stepadv.rloo_before_0_3_0(stepadv.rollout_group, text) SET SCHEMA stepadv_internal;

-- without_turn_reward
ALTER FUNCTION stepadv.mt_grpo(stepadv.rollout_group, float8, float8, float8, float8, text) RENAME TO mt_grpo_before_0_3_0;
ALTER FUNCTION stepadv.mt_grpo_before_0_3_0(stepadv.rollout_group, float8, float8, float8, float8, text) SET SCHEMA stepadv_internal;
ALTER FUNCTION stepadv.mt_rloo(stepadv.rollout_group, float8, float8, float8, float8, text) RENAME TO mt_rloo_before_0_3_0;
ALTER FUNCTION stepadv.mt_rloo_before_0_3_0(stepadv.rollout_group, float8, float8, float8, float8, text) SET SCHEMA stepadv_internal;

-- singleton
ALTER FUNCTION stepadv.gigpo(stepadv.rollout_group, float8, float8, text, float8, text, text) RENAME TO gigpo_before_0_3_0;
ALTER FUNCTION stepadv.gigpo_before_0_3_0(stepadv.rollout_group, float8, float8, text, float8, text, text) SET SCHEMA stepadv_internal;

-- normalise, epsilon_of
ALTER FUNCTION stepadv.graphgpo(stepadv.rollout_group, float8, float8, float8, float8, float8, text, text, float8) RENAME TO graphgpo_before_0_3_0;
ALTER FUNCTION stepadv.graphgpo_before_0_3_0(stepadv.rollout_group, float8, float8, float8, float8, float8, text, text, float8) SET SCHEMA stepadv_internal;
ALTER FUNCTION stepadv.graph_edges(stepadv.rollout_group, float8, float8, float8, text, float8) RENAME TO graph_edges_before_0_3_0;
ALTER FUNCTION stepadv.graph_edges_before_0_3_0(stepadv.rollout_group, float8, float8, float8, text, float8) SET SCHEMA stepadv_internal;
ALTER FUNCTION stepadv.graph_dot(stepadv.rollout_group, jsonb, jsonb, integer, integer, integer, float8, float8, float8, text, float8) RENAME TO graph_dot_before_0_3_0;
ALTER FUNCTION stepadv.graph_dot_before_0_3_0(stepadv.rollout_group, jsonb, jsonb, integer, integer, integer, float8, float8, float8, text, float8) SET SCHEMA stepadv_internal;

-- clamp_log_ratio, clamp_estimate
ALTER FUNCTION stepadv.approximate_kl(anycompatiblearray, anycompatiblearray, boolean[], text) RENAME TO approximate_kl_before_0_3_0;
ALTER FUNCTION stepadv.approximate_kl_before_0_3_0(anycompatiblearray, anycompatiblearray, boolean[], text) SET SCHEMA stepadv_internal;

-- convention
ALTER FUNCTION stepadv.reward_xml_format(text[], text[], text, float8) RENAME TO reward_xml_format_before_0_3_0;
ALTER FUNCTION stepadv.reward_xml_format_before_0_3_0(text[], text[], text, float8) SET SCHEMA stepadv_internal;
ALTER FUNCTION stepadv.reward_xml_tags(text[], text[], float8) RENAME TO reward_xml_tags_before_0_3_0;
ALTER FUNCTION stepadv.reward_xml_tags_before_0_3_0(text[], text[], float8) SET SCHEMA stepadv_internal;

-- The methods by their declarations of today, as regprocedure writes them.
UPDATE stepadv_internal.methods m SET function = v.function
FROM (VALUES
	('rtmc', 'stepadv.rtmc(stepadv.rollout_group,double precision,double precision,double precision,boolean,text,double precision,text)'),
	('rtmc_tree', 'stepadv.rtmc_tree(stepadv.rollout_group,double precision,double precision,double precision,boolean,text,double precision,text)'),
	('rloo', 'stepadv.rloo(stepadv.rollout_group,text,boolean,double precision,text)'),
	('mt_grpo', 'stepadv.mt_grpo(stepadv.rollout_group,double precision,double precision,double precision,double precision,text,text)'),
	('mt_rloo', 'stepadv.mt_rloo(stepadv.rollout_group,double precision,double precision,double precision,double precision,text,text)'),
	('gigpo', 'stepadv.gigpo(stepadv.rollout_group,double precision,double precision,text,double precision,text,text,text)'),
	('graphgpo', 'stepadv.graphgpo(stepadv.rollout_group,double precision,double precision,double precision,double precision,double precision,text,text,double precision,text,text)'),
	('graph_edges', 'stepadv.graph_edges(stepadv.rollout_group,double precision,double precision,double precision,text,double precision,text,text)')
) AS v(method, function) WHERE m.method OPERATOR(pg_catalog.=) v.method;

-- What SWE-agent's cursors show; who installed 0.2.0 beside the library of today has it.
INSERT INTO stepadv.tool_vocabulary (builtin, scaffold, tool, subcommand, meaning) VALUES (true, 'SWE-agent', 'set_cursors', '', 'scroll') ON CONFLICT DO NOTHING;

-- What is kept says so.
DO $$
DECLARE f pg_catalog.regprocedure;
BEGIN
	FOR f IN
		SELECT p.oid FROM pg_catalog.pg_proc p
		WHERE p.pronamespace = 'stepadv_internal'::pg_catalog.regnamespace AND p.proname ~ '_before_0_3_0$'
	LOOP
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', f,
			'as 0.2.0 declared it, for the views that call it until upgrade_attachments() makes them anew');
	END LOOP;
END $$;

-- A method more. (Its function is among the parts'.)
INSERT INTO stepadv_internal.methods VALUES
	('batch_td', 'stepadv.batch_td(stepadv.rollout_group,double precision,double precision,double precision,double precision,text,double precision)',
		'{reward,state,action}', '{}', NULL, 'a row per step', 175);

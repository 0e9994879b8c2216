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
-- rollouts has two more, likewise.
ALTER FUNCTION stepadv.rollouts(stepadv.rollout_group, float8) RENAME TO rollouts_before_0_3_0;
ALTER FUNCTION stepadv.rollouts_before_0_3_0(stepadv.rollout_group, float8) SET SCHEMA stepadv_internal;
-- Functions with more parameters than before. Views of users call the declarations of
-- 0.2.0 (the same C functions, which do without what is newer) until upgrade_attachments()
-- makes them anew; a later release drops them.

-- prior_mean; rtmc also history, decay
-- prior_mean, shrink
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

-- Fits of progress have an intercept of the rollout unless told otherwise, a hidden layer is
-- put on top of a linear fit: what views of users call goes on as it was.
ALTER FUNCTION stepadv.progress_solve(stepadv.progress_statistics, float8, boolean) RENAME TO progress_solve_before_0_3_0;
ALTER FUNCTION stepadv.progress_solve_before_0_3_0(stepadv.progress_statistics, float8, boolean) SET SCHEMA stepadv_internal;
ALTER AGGREGATE stepadv.progress_fit(bigint, real[], float8, float8) RENAME TO progress_fit_before_0_3_0;
ALTER AGGREGATE stepadv.progress_fit_before_0_3_0(bigint, real[], float8, float8) SET SCHEMA stepadv_internal;
ALTER AGGREGATE stepadv.progress_fit_mlp(bigint, real[], float8) RENAME TO progress_fit_mlp_before_0_3_0;
ALTER AGGREGATE stepadv.progress_fit_mlp_before_0_3_0(bigint, real[], float8) SET SCHEMA stepadv_internal;
ALTER AGGREGATE stepadv.progress_cross_validate(bigint, real[], float8, bigint, float8[]) RENAME TO progress_cross_validate_before_0_3_0;
ALTER AGGREGATE stepadv.progress_cross_validate_before_0_3_0(bigint, real[], float8, bigint, float8[]) SET SCHEMA stepadv_internal;

-- States of aggregates are of type bytea, so that whatever combines partial states by type can.
-- The aggregates are replaced where they are; what calls the functions of before are the aggregates of before.
ALTER FUNCTION stepadv_internal.mean_of_rollout_means_trans(internal, bigint, float8) RENAME TO mean_of_rollout_means_trans_before_0_3_0;
ALTER FUNCTION stepadv_internal.mean_of_rollout_means_combine(internal, internal) RENAME TO mean_of_rollout_means_combine_before_0_3_0;
ALTER FUNCTION stepadv_internal.mean_of_rollout_means_serial(internal) RENAME TO mean_of_rollout_means_serial_before_0_3_0;
ALTER FUNCTION stepadv_internal.mean_of_rollout_means_deserial(bytea, internal) RENAME TO mean_of_rollout_means_deserial_before_0_3_0;
ALTER FUNCTION stepadv_internal.mean_of_rollout_means_final(internal) RENAME TO mean_of_rollout_means_final_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_trans(internal, bigint, real[], float8) RENAME TO progress_trans_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_trans(internal, bigint, real[], float8, float8) RENAME TO progress_trans_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_trans(internal, bigint, real[], float8, float8, boolean) RENAME TO progress_trans_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_combine(internal, internal) RENAME TO progress_combine_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_serial(internal) RENAME TO progress_serial_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_deserial(bytea, internal) RENAME TO progress_deserial_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_statistics_final(internal) RENAME TO progress_statistics_final_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_fit_final(internal) RENAME TO progress_fit_final_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_quality_trans(internal, bigint, float8, float8) RENAME TO progress_quality_trans_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_quality_trans(internal, stepadv.progress_model, bigint, real[], float8) RENAME TO progress_quality_trans_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_quality_final(internal) RENAME TO progress_quality_final_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_calibration_final(internal) RENAME TO progress_calibration_final_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_cross_validate_trans(internal, bigint, real[], float8, bigint, float8[]) RENAME TO progress_cross_validate_trans_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_cross_validate_trans(internal, bigint, real[], float8, bigint, float8[], integer, integer, boolean) RENAME TO progress_cross_validate_trans_before_0_3_0;
ALTER FUNCTION stepadv_internal.progress_cross_validate_final(internal) RENAME TO progress_cross_validate_final_before_0_3_0;

-- The methods by their declarations of today, as regprocedure writes them.
UPDATE stepadv_internal.methods m SET function = v.function
FROM (VALUES
	('rtmc', 'stepadv.rtmc(stepadv.rollout_group,double precision,double precision,double precision,boolean,text,double precision,text,stepadv.rollout_group,double precision,text)'),
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

-- max_staleness, min_confidence, success_only, min_action_visits. A view of a user's may call these; their bodies named their parameters by
-- the function's name, so the ones of before call those of now.
INSERT INTO stepadv_internal.roles VALUES ('max_staleness', 34, 'advantages', 'share', 'staleness must be a number of policy steps.'),
	('truncated', 35, 'source', 'truth', 'truncated must be boolean; attach a view that says when a rollout was cut off.'),
	('min_confidence', 36, 'advantages', 'share', 'confidence must be a number.'),
	('min_action_visits', 50, 'advantages', 'share', 'n_action must be a number.');
ALTER FUNCTION stepadv.select_steps(regclass, text, float8, float8, integer, boolean, integer, integer, integer, text, text[], text, text, text, text, text) RENAME TO select_steps_before_0_3_0;
ALTER FUNCTION stepadv.select_steps_before_0_3_0(regclass, text, float8, float8, integer, boolean, integer, integer, integer, text, text[], text, text, text, text, text) SET SCHEMA stepadv_internal;
CREATE OR REPLACE FUNCTION stepadv_internal.select_steps_before_0_3_0(advantages regclass,
	drop_uniform text DEFAULT NULL, min_advantage float8 DEFAULT NULL, min_t float8 DEFAULT NULL, min_visits integer DEFAULT NULL,
	deduplicate boolean DEFAULT false, per_state integer DEFAULT NULL, per_rollout integer DEFAULT NULL, per_group integer DEFAULT NULL, balance text DEFAULT NULL,
	group_by text[] DEFAULT NULL, advantage_column text DEFAULT 'advantage', stderr text DEFAULT 'stderr', outcome text DEFAULT NULL,
	state text DEFAULT NULL, action text DEFAULT NULL)
RETURNS TABLE (group_key jsonb, rollout_id text, step_no integer, step_id text, advantage float8, reason text)
LANGUAGE plpgsql STABLE ROWS 10000
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
BEGIN
	RETURN QUERY SELECT s.* FROM stepadv.select_steps(advantages, drop_uniform, min_advantage, min_t, min_visits, deduplicate, per_state, per_rollout, per_group, balance,
		group_by, advantage_column, stderr, outcome, state, action, NULL::integer, NULL::float8, false, NULL::integer) s;
END
$$;
ALTER FUNCTION stepadv.explain_selection(regclass, text, float8, float8, integer, boolean, integer, integer, integer, text, text[], text, text, text, text, text) RENAME TO explain_selection_before_0_3_0;
ALTER FUNCTION stepadv.explain_selection_before_0_3_0(regclass, text, float8, float8, integer, boolean, integer, integer, integer, text, text[], text, text, text, text, text) SET SCHEMA stepadv_internal;
CREATE OR REPLACE FUNCTION stepadv_internal.explain_selection_before_0_3_0(advantages regclass,
	drop_uniform text DEFAULT NULL, min_advantage float8 DEFAULT NULL, min_t float8 DEFAULT NULL, min_visits integer DEFAULT NULL,
	deduplicate boolean DEFAULT false, per_state integer DEFAULT NULL, per_rollout integer DEFAULT NULL, per_group integer DEFAULT NULL, balance text DEFAULT NULL,
	group_by text[] DEFAULT NULL, advantage_column text DEFAULT 'advantage', stderr text DEFAULT 'stderr', outcome text DEFAULT NULL,
	state text DEFAULT NULL, action text DEFAULT NULL)
RETURNS TABLE (rule_no integer, rule text, setting text, before bigint, removed bigint, kept bigint,
	positive bigint, negative bigint, rollouts bigint, groups bigint)
LANGUAGE plpgsql STABLE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
BEGIN
	RETURN QUERY SELECT s.* FROM stepadv.explain_selection(advantages, drop_uniform, min_advantage, min_t, min_visits, deduplicate, per_state, per_rollout, per_group, balance,
		group_by, advantage_column, stderr, outcome, state, action, NULL::integer, NULL::float8, false, NULL::integer) s;
END
$$;
DROP FUNCTION stepadv.create_selection(regclass, text, text, float8, float8, integer, boolean, integer, integer, integer, text, text[], text, text, text, text, text, text);
-- Shapes. The body of before named its parameters by the function's name, too.
ALTER FUNCTION stepadv.training_rows(regclass, text[], text, text, text[], text) RENAME TO training_rows_before_0_3_0;
ALTER FUNCTION stepadv.training_rows_before_0_3_0(regclass, text[], text, text, text[], text) SET SCHEMA stepadv_internal;
CREATE OR REPLACE FUNCTION stepadv_internal.training_rows_before_0_3_0(advantages regclass, columns text[] DEFAULT NULL, token_mask text DEFAULT NULL, tokens text DEFAULT NULL,
	group_by text[] DEFAULT NULL, advantage_column text DEFAULT 'advantage')
RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE ROWS 10000
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
BEGIN
	RETURN QUERY SELECT t.* FROM stepadv.training_rows(advantages, columns, token_mask, tokens, group_by, advantage_column, 'steps'::text, NULL::regclass, NULL::text, NULL::text, 'agent'::text,
		0::float8, 2, 0::float8) t;
END
$$;

-- Bad data stays local: what a view of problems is made of, and casts that are no error.
CREATE TYPE stepadv_internal.problem_kind AS (
	place integer, problem text, level text, concerns text, only_if text, methods text[], effect text
);
INSERT INTO stepadv_internal.combined_views VALUES
	(10, 'problems', 'stepadv_internal.problems_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per rollout, or group, and kind of problem that its rows have');
UPDATE stepadv_internal.role_types SET expression = 'CASE WHEN %1$s > 2147483647 THEN 2147483647 WHEN %1$s < -2147483648 THEN -2147483648 ELSE %1$s::integer END' WHERE (kind, accepts) = ('order', 'bigint');
UPDATE stepadv_internal.role_types SET expression = 'CASE WHEN %1$s::text ~ E''\\\\u(0000|[dD][89abAB]..(?!\\\\u[dD][c-fC-F])|(?<!\\\\u[dD][89abAB]..\\\\u)[dD][c-fC-F])'' THEN pg_catalog.to_jsonb(%1$s::text) ELSE %1$s::jsonb END' WHERE (kind, accepts) = ('json', 'json');
UPDATE stepadv_internal.role_types SET expression = 'CASE WHEN abs(%1$s) > 1e200 AND abs(%1$s) < ''Infinity''::numeric THEN ''Infinity''::float8 WHEN abs(%1$s) < 1e-200 THEN 0::float8 ELSE %1$s::float8 END' WHERE kind IN ('number', 'share') AND accepts = 'numeric';

-- Methods more. (Their functions are among the parts'.)
INSERT INTO stepadv_internal.methods VALUES
	('batch_td', 'stepadv.batch_td(stepadv.rollout_group,double precision,double precision,double precision,double precision,text,text,double precision,stepadv.rollout_group,double precision,text)',
		'{reward,state,action}', '{}', NULL, 'a row per step', 175),
	('opo', 'stepadv.opo(stepadv.rollout_group,text,text)', '{reward}', '{cost}', NULL, 'a row per step', 200),
	('grpo_passk', 'stepadv.grpo_passk(stepadv.rollout_group,text,double precision)', '{reward}', '{}', NULL, 'a row per step', 210),
	('remax', 'stepadv.remax(stepadv.rollout_group,stepadv.rollout_group,double precision,boolean,boolean)', '{reward,greedy}', '{}', NULL, 'a row per step', 215),
	('igpo', 'stepadv.igpo(stepadv.rollout_group,double precision,text,text,double precision)', '{reward,turn_reward}', '{turn_reward}', NULL, 'a row per step', 220),
	('pure', 'stepadv.pure(stepadv.rollout_group,double precision,double precision)', '{reward,turn_reward}', '{turn_reward}', NULL, 'a row per step', 230),
	('bi_level_gae', 'stepadv.bi_level_gae(stepadv.rollout_group,double precision,double precision,double precision,boolean)',
		'{reward,value,turn}', '{value,turn}', NULL, 'a row per step', 240),
	('g2po', 'stepadv.g2po(stepadv.rollout_group,double precision,double precision,text,double precision,text,text,double precision,double precision)',
		'{reward,state}', '{}', NULL, 'a row per step', 250),
	('salt', 'stepadv.salt(stepadv.rollout_group,text,double precision,text,text,text,text,double precision)', '{reward,state,action}', '{next_state}', NULL, 'a row per step', 260);

-- What rollouts that were left out say of methods.
CREATE TYPE stepadv.credit AS (
	groups bigint, rollouts bigint, steps bigint, covered bigint, coverage float8, coverage_error float8,
	correlation float8, correlation_error float8, rank_correlation float8, rank_correlation_error float8,
	sign_agreement float8, sign_agreement_error float8, slope float8, slope_error float8
);
COMMENT ON TYPE stepadv.credit IS 'how well what a method says by some rollouts predicts what happens to others, with standard errors over groups';
INSERT INTO stepadv_internal.combined_views VALUES
	(11, 'credit_groups', 'stepadv_internal.credit_groups_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per group and method, to pool'),
	(12, 'credit_check', 'stepadv_internal.credit_check_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{methods,gamma,max_rollouts,max_groups,seed}', 'a row per method: does what it says come true?'),
	(13, 'credit_calibration', 'stepadv_internal.credit_calibration_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per tenth of the steps, by value of their state');

-- The views over time add up a method's advantages in one pass.
CREATE TYPE stepadv_internal.advantage_sums AS (n integer, sum float8, abs_sum float8, square_sum float8, least float8, greatest float8, n_positive integer, n_negative integer);
COMMENT ON TYPE stepadv_internal.advantage_sums IS 'what is added up of the advantages of a method in a group, see method_sums';
-- Panels about all steps.
INSERT INTO stepadv_internal.combined_views VALUES
	(14, 'advantage_by_group', 'stepadv_internal.advantage_by_group_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per group, policy version, time bucket and method, with counts, means and extremes'),
	(15, 'signs', 'stepadv_internal.signs_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per policy version, pair of methods, success and quadrant, of all groups'),
	(16, 'disagreement_by_group', 'stepadv_internal.disagreement_by_group_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per group, policy version and pair of methods that disagree, with the greatest difference'),
	(17, 'advantage_histogram', 'stepadv_internal.advantage_histogram_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per policy version, time bucket, method and bin of advantages, with the number of steps');
ALTER TYPE stepadv.attachment ADD ATTRIBUTE fresh_signs regclass CASCADE, ADD ATTRIBUTE folded_signs regclass CASCADE, ADD ATTRIBUTE waiting regclass CASCADE, ADD ATTRIBUTE signed_methods text[] CASCADE,
	ADD ATTRIBUTE fresh_bins regclass CASCADE, ADD ATTRIBUTE folded_bins regclass CASCADE, ADD ATTRIBUTE binned_methods text[] CASCADE,
	ADD ATTRIBUTE fresh_problems regclass CASCADE, ADD ATTRIBUTE folded_problems regclass CASCADE,
	ADD ATTRIBUTE summed_over_time regclass CASCADE, ADD ATTRIBUTE summed_bins regclass CASCADE, ADD ATTRIBUTE kept_parts regclass CASCADE,
	ADD ATTRIBUTE fresh_behaviour regclass CASCADE, ADD ATTRIBUTE folded_behaviour regclass CASCADE, ADD ATTRIBUTE summed_behaviour regclass CASCADE,
	ADD ATTRIBUTE answers text[] CASCADE, ADD ATTRIBUTE fresh_answers regclass[] CASCADE, ADD ATTRIBUTE folded_answers regclass[] CASCADE, ADD ATTRIBUTE fresh_lineage regclass CASCADE;
ALTER TYPE stepadv_internal.attached ADD ATTRIBUTE fresh_signs regclass, ADD ATTRIBUTE folded_signs regclass, ADD ATTRIBUTE waiting regclass, ADD ATTRIBUTE signed_methods text[],
	ADD ATTRIBUTE fresh_bins regclass, ADD ATTRIBUTE folded_bins regclass, ADD ATTRIBUTE binned_methods text[], ADD ATTRIBUTE fresh_problems regclass, ADD ATTRIBUTE folded_problems regclass, ADD ATTRIBUTE summed_over_time regclass, ADD ATTRIBUTE summed_bins regclass, ADD ATTRIBUTE kept_parts regclass,
	ADD ATTRIBUTE fresh_behaviour regclass, ADD ATTRIBUTE folded_behaviour regclass, ADD ATTRIBUTE summed_behaviour regclass,
	ADD ATTRIBUTE answers text[], ADD ATTRIBUTE fresh_answers regclass[], ADD ATTRIBUTE folded_answers regclass[], ADD ATTRIBUTE fresh_lineage regclass;
-- Groups that are kept without triggers.
ALTER TYPE stepadv.attachment ADD ATTRIBUTE watermark text CASCADE, ADD ATTRIBUTE overlap interval CASCADE, ADD ATTRIBUTE seen regclass CASCADE,
	ADD ATTRIBUTE seen_until timestamptz CASCADE, ADD ATTRIBUTE as_of timestamptz CASCADE;
ALTER TYPE stepadv_internal.attached ADD ATTRIBUTE watermark text, ADD ATTRIBUTE overlap interval, ADD ATTRIBUTE seen regclass, ADD ATTRIBUTE seen_until timestamptz, ADD ATTRIBUTE as_of timestamptz;
DROP FUNCTION stepadv.maintain(regclass, text, text, boolean);
DROP FUNCTION stepadv_internal.maintain(regclass, text, text, boolean);
DROP FUNCTION stepadv.refresh(regclass, text, boolean);
DROP FUNCTION stepadv_internal.refresh_kept(regclass, boolean);
DROP FUNCTION stepadv_internal.refresh_kept_as_owner(regclass, boolean);
CREATE TYPE stepadv_internal.step_order AS (n_repeated bigint, first_repeated integer, n_ahead bigint, first_ahead integer);
CREATE TYPE stepadv_internal.lonely_steps AS (n_steps bigint, n_alone bigint, first_alone integer);
CREATE TYPE stepadv_internal.signed_run AS (place integer, patterns bigint[], counts bigint[], apart float8[]);
CREATE TYPE stepadv_internal.category_table AS (categories text[], numbers float8[]);
CREATE TYPE stepadv_internal.behaviour_part AS (part integer, name text, calls stepadv_internal.category_table, outcomes boolean[], numbers float8[], distances float8[], excesses float8[]);
CREATE TYPE stepadv_internal.counted_bins AS (bins float8[], counts bigint[]);
CREATE TYPE stepadv_internal.signed_steps AS (patterns bigint[], counts bigint[], apart float8[]);
-- Success at k, and tasks that come out differently under one version.
INSERT INTO stepadv_internal.combined_views VALUES
	(20, 'pass_at_k', 'stepadv_internal.pass_at_k_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per version and number of rollouts drawn of a task, over tasks'),
	(21, 'flaky', 'stepadv_internal.flaky_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per task that both succeeded and failed under one version');

-- Where it is decided, loops, the graph in a row.
INSERT INTO stepadv_internal.combined_views VALUES
	(40, 'decision_points', 'stepadv_internal.decision_points_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{method,gamma,prior,baseline,prior_mean,success_above}', 'a row per state, how much is decided there'),
	(41, 'failure_points', 'stepadv_internal.failure_points_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{method,gamma,prior,baseline,prior_mean,success_above}', 'a row per failed rollout, where it was lost'),
	(42, 'loops', 'stepadv_internal.loops_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{same,max_cycle,success_above}', 'a row per group, policy version and success, with the steps in loops'),
	(43, 'graph_summary', 'stepadv_internal.graph_summary_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{success_above,max_bins}', 'a row per group, its state graph');

CREATE TYPE stepadv_internal.known_pool AS (name text, pool regclass, pool_name text, marks_name text, keys text[]);
COMMENT ON TYPE stepadv_internal.known_pool IS 'a pool as it is known by the catalog: the name of its view, its tables, and the columns of the group';

-- What tokens, tool calls and ways to the goal say of behaviour: roles and views.
CREATE TYPE stepadv.token_lineage AS (
	n_rollouts bigint, n_steps bigint, n_tokens bigint, n_unique_tokens bigint,
	step_ids bigint[], rollout_ids bigint[], step_nos integer[], prompt_lengths integer[], response_lengths integer[],
	shared_lengths integer[], new_lengths integer[], runs integer[]
);
INSERT INTO stepadv_internal.role_types VALUES ('tokens', 'integer[]', '%s'), ('tokens', 'bigint[]', '%s'), ('tokens', 'smallint[]', '%s::integer[]');
INSERT INTO stepadv_internal.roles VALUES
	('prompt_token_ids', 37, 'steps', 'tokens', 'prompt_token_ids must be an array of integers.'),
	('response_token_ids', 38, 'steps', 'tokens', 'response_token_ids must be an array of integers.'),
	('ended_at', 39, 'rollouts', 'time', 'ended_at must be a timestamp or a date; attach a view that converts it, say by to_timestamp().'),
	('category', 40, 'steps', 'word', 'category must be text.'),
	('logp_ref', 41, 'steps', 'numbers', 'logp_ref must be an array of real or double precision.'),
	('greedy', 42, 'source', 'truth', 'greedy must be boolean; attach a view that says which rollouts were decoded greedily.');
INSERT INTO stepadv_internal.combined_views VALUES
	(50, 'lineage', 'stepadv_internal.lineage_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per step, with what its prompt has of the step before'),
	(51, 'lineage_by_rollout', 'stepadv_internal.lineage_by_rollout_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per rollout, with its tokens and those that are unique'),
	(52, 'lineage_by_group', 'stepadv_internal.lineage_by_group_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per group, with its tokens and those that are unique'),
	(53, 'behaviour', 'stepadv_internal.behaviour_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{by}', 'a row per policy version, time bucket and category of action: calls, errors, repeats'),
	(54, 'behaviour_advantage', 'stepadv_internal.behaviour_advantage_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per policy version, time bucket, category of action and method, with the advantages'),
	(55, 'shape_over_time', 'stepadv_internal.shape_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per policy version, time bucket and measure of rollouts: mean, median, 95th percentile, per success'),
	(56, 'success_by_horizon', 'stepadv_internal.success_by_horizon_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{width}', 'a row per policy version, time bucket and distance of the start from the goal: success and excess'),
	(57, 'level_reached', 'stepadv_internal.level_reached_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per run and level of success: when it was first reached');

-- It says more of what it gives.
DROP FUNCTION IF EXISTS stepadv_internal.groups_divided(stepadv_internal.attached, stepadv_internal.made_method[]);

-- The page of stepadv-report.
CREATE TYPE stepadv_internal.report_group AS (group_no integer, key text[], name text, n_rollouts integer, n_judged integer, n_steps integer,
	mean_return float8, sd_return float8, success_rate float8, uniform boolean, n_states integer, n_shared_states integer, shared_step_share float8,
	task text, version text, words text, largest float8, tags text[]);
CREATE TYPE stepadv_internal.report_rollout AS (group_no integer, rollout_no integer, rollout_id text, n_steps integer, return float8, success boolean, more text);
CREATE TYPE stepadv_internal.report_step AS (group_no integer, rollout_no integer, step_rank integer, step_no integer, step_key bigint, advantages float8[], observed text, done text,
	told_advantage float8, is_told boolean, q float8, v float8, n_state integer, n_action integer, stderr float8, difference float8);
CREATE TYPE stepadv_internal.report_quadrant AS (group_no integer, success boolean, quadrant text, n_steps bigint);
CREATE TYPE stepadv_internal.report_problem AS (group_no integer, rollout_id text, step_no integer, problem text, n_rows bigint, effect text);
CREATE TYPE stepadv_internal.report_decision AS (group_no integer, place bigint, visits integer, rollouts integer, actions integer, entropy float8, gap float8, gap_error float8,
	best_q float8, worst_q float8, best_visits integer, worst_visits integer, observed text, best text, worst text);
CREATE TYPE stepadv_internal.report_failure AS (group_no integer, rollout_no integer, last_chance integer, dead_end integer, dropped integer, value_drop float8);
CREATE TYPE stepadv_internal.report_picture AS (group_no integer, kind text, dot text);
CREATE TYPE stepadv_internal.report_scale AS (group_no integer, method_no integer, method text, largest float8);
CREATE TYPE stepadv_internal.report_decisive AS (group_no integer, kind text, rollout_no integer, step_rank integer, n_alike bigint, place bigint);
CREATE TYPE stepadv_internal.report_call AS (name text, keys text[], given text[], quoted boolean[]);
-- told: the method whose q and v are told; told_function: that it is, or is an instance of; with_values: all methods that have them;
-- in_files: a page for each group.
CREATE TYPE stepadv_internal.report AS (source text, methods text[], method_a text, method_b text, has_states boolean, tell_steps text[],
	told text, told_function text, with_values text[], main integer, in_files boolean, drawn integer[], hidden text,
	groups stepadv_internal.report_group[], rollouts stepadv_internal.report_rollout[], steps stepadv_internal.report_step[],
	quadrants stepadv_internal.report_quadrant[], problems stepadv_internal.report_problem[], decisions stepadv_internal.report_decision[],
	failures stepadv_internal.report_failure[], pictures stepadv_internal.report_picture[], scales stepadv_internal.report_scale[], decisive stepadv_internal.report_decisive[]);

-- The group: src/group/, src/plan/fold/group_fold.c

CREATE TYPE stepadv.rollout_group;

CREATE FUNCTION stepadv_internal.rollout_group_in(cstring) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_rollout_group_in';

CREATE FUNCTION stepadv_internal.rollout_group_out(stepadv.rollout_group) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_rollout_group_out';

CREATE FUNCTION stepadv_internal.rollout_group_recv(internal) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_rollout_group_recv';

CREATE FUNCTION stepadv_internal.rollout_group_send(stepadv.rollout_group) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_varlena_send';

CREATE TYPE stepadv.rollout_group (
	INPUT = stepadv_internal.rollout_group_in,
	OUTPUT = stepadv_internal.rollout_group_out,
	RECEIVE = stepadv_internal.rollout_group_recv,
	SEND = stepadv_internal.rollout_group_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = extended
);

COMMENT ON TYPE stepadv.rollout_group IS
'all rollouts of one group as packed columns, sorted by rollout_id and step_no; built by rollout_agg, merged by '
'rollup, read by methods; the text form is \x and hexadecimal digits (steps and rollouts show the contents); at most '
'1 GB';
COMMENT ON FUNCTION stepadv_internal.rollout_group_in(cstring) IS
'I/O: the binary form as \x and hexadecimal digits; error 22P02 on anything else';
COMMENT ON FUNCTION stepadv_internal.rollout_group_out(stepadv.rollout_group) IS
'I/O: the binary form as \x and hexadecimal digits, lossless';
COMMENT ON FUNCTION stepadv_internal.rollout_group_recv(internal) IS
'I/O: versioned little-endian columns; error 22P03 on anything else';
COMMENT ON FUNCTION stepadv_internal.rollout_group_send(stepadv.rollout_group) IS
'I/O: versioned little-endian columns';

-- rollout_agg: five forms, one transition function

CREATE FUNCTION stepadv_internal.fold_support(internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_fold_support';
COMMENT ON FUNCTION stepadv_internal.fold_support(internal) IS
'part of the transition functions of rollout_agg: makes the planner load the library before it looks for plans, '
'in the first query of a connection, too';

CREATE FUNCTION stepadv_internal.rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint,
	float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 4 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8,
	boolean) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 4 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean,
	bigint, float8, float8, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean,
	bigint, float8, float8, float8, integer, float8[], boolean, bigint) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 6 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean,
	bigint, float8, float8, float8, integer, float8[], boolean, bigint,
	bigint, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 6 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.rollout_agg_combine(internal, internal) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_combine';

CREATE FUNCTION stepadv_internal.rollout_agg_serial(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_serial';

CREATE FUNCTION stepadv_internal.rollout_agg_deserial(bytea, internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_deserial';

CREATE FUNCTION stepadv_internal.rollout_agg_final(internal) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_final';

CREATE AGGREGATE stepadv.rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8
) (
	SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, SSPACE = 4096,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial,
	DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv.rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean
) (
	SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, SSPACE = 4096,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial,
	DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv.rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean, next_state bigint, value float8, turn_reward float8, cost float8
) (
	SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, SSPACE = 6144,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial,
	DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv.rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean, next_state bigint, value float8, turn_reward float8, cost float8, turn integer, rewards float8[],
	truncated boolean, policy_step bigint
) (
	SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, SSPACE = 8192,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial,
	DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv.rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean, next_state bigint, value float8, turn_reward float8, cost float8, turn integer, rewards float8[],
	truncated boolean, policy_step bigint, coarse_state bigint, logp float8
) (
	SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, SSPACE = 8192,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial,
	DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE stepadv.rollout_agg(bigint, bigint, integer, bigint, bigint, float8) IS
'folds the steps of one group into a rollout_group, in any order; ids, states and actions are bigints '
'(signature_hash hashes texts); step_no NULL: a row of the rollout itself; NULL reward: none received; NULL state or '
'action: one that no other step shares; error on two rows with the same step_no';
COMMENT ON AGGREGATE stepadv.rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean) IS
'rollout_agg with success: a rollout is a success if success is true in any of its rows';
COMMENT ON AGGREGATE stepadv.rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8,
	float8, float8) IS
'rollout_agg with next_state (the state after the last step of a rollout), value (the critic''s V(s)), turn_reward, '
'cost (of the edge, for graphs)';
COMMENT ON AGGREGATE stepadv.rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8,
	float8, float8, integer, float8[], boolean, bigint) IS
'rollout_agg with turn (the model response that contains the call), rewards (components, for with_rewards), and for '
'the rollout, on any of its rows, truncated (whether a limit ended it) and policy_step (of the policy that made it, '
'for history; error on two different ones)';
COMMENT ON AGGREGATE stepadv.rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8,
	float8, float8, integer, float8[], boolean, bigint, bigint, float8) IS
'rollout_agg with coarse_state, a coarser state that contains the state (for k of rtmc and batch_td), and logp, the '
'log-probability of the action by the policy that took it (for weights of batch_td); NULL coarse_state: one that no '
'other step shares';

-- The same for the views of attach, where a row for which rollout_agg raises an error
-- costs only the advantages of its rollout.

CREATE FUNCTION stepadv_internal.lenient_rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint,
	float8, boolean) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 4 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_lenient_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.lenient_rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint,
	float8, boolean, bigint, float8, float8, float8, integer, float8[], boolean, bigint,
	bigint, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 6 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_lenient_rollout_agg_trans';

CREATE AGGREGATE stepadv_internal.lenient_rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean
) (
	SFUNC = stepadv_internal.lenient_rollout_agg_trans, STYPE = internal, SSPACE = 4096,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial,
	DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv_internal.lenient_rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean, next_state bigint, value float8, turn_reward float8, cost float8, turn integer, rewards float8[],
	truncated boolean, policy_step bigint, coarse_state bigint, logp float8
) (
	SFUNC = stepadv_internal.lenient_rollout_agg_trans, STYPE = internal, SSPACE = 8192,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial,
	DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE stepadv_internal.lenient_rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean) IS
'rollout_agg for the views of attach: invalid rows raise no error, but their rollout counts as not judged, for those '
'methods only that read the column; a row without rollout_id is left out, a value that is not finite counts as NULL; '
'estimators return NULL instead of errors';
COMMENT ON AGGREGATE stepadv_internal.lenient_rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean,
	bigint, float8, float8, float8, integer, float8[], boolean, bigint, bigint, float8) IS
'the same with as many arguments as rollout_agg takes';

-- rollup: the union of groups; transition and combine function are one

CREATE FUNCTION stepadv_internal.rollup_merge(stepadv.rollout_group,
	stepadv.rollout_group) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollup_merge';

CREATE AGGREGATE stepadv.rollup(stepadv.rollout_group) (
	SFUNC = stepadv_internal.rollup_merge, STYPE = stepadv.rollout_group, SSPACE = 4096,
	COMBINEFUNC = stepadv_internal.rollup_merge, PARALLEL = SAFE
);

COMMENT ON AGGREGATE stepadv.rollup(stepadv.rollout_group) IS
'the union of groups: steps and outcomes of a rollout may be spread over them, but each in only one; NULLs are '
'ignored, NULL over none; error if two groups have the same step, or cannot be merged (only one by_turn, different '
'reward components, two policy steps of a rollout)';

CREATE FUNCTION stepadv.group_union(a stepadv.rollout_group, b stepadv.rollout_group) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 400
AS 'MODULE_PATHNAME', 'stepadv_group_union';
COMMENT ON FUNCTION stepadv.group_union(stepadv.rollout_group, stepadv.rollout_group) IS
'the union of two groups, as by rollup, for ON CONFLICT DO UPDATE; NULL counts as an empty group: NULL only for two '
'NULLs; errors as for rollup';

-- history_agg: the union of groups, in which rollouts of different groups are distinct even if their ids are equal

CREATE FUNCTION stepadv_internal.history_merge(stepadv.rollout_group, stepadv.rollout_group, bigint,
	bigint) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_history_merge';

CREATE AGGREGATE stepadv_internal.history_agg(stepadv.rollout_group, bigint, bigint) (
	SFUNC = stepadv_internal.history_merge, STYPE = stepadv.rollout_group, SSPACE = 4096, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.history_agg(stepadv.rollout_group, bigint, bigint) IS
'rollup of groups in which equal rollout_ids may be different rollouts: ids are hashed with the second argument, which '
'identifies the group, and all rollouts of the group get the third as policy_step; NULL for either: they stay as they '
'are';

DO $$
DECLARE f regprocedure;
BEGIN
	FOR f IN
		SELECT oid FROM pg_catalog.pg_proc
		WHERE pronamespace = 'stepadv_internal'::pg_catalog.regnamespace
		  AND proname IN ('rollout_agg_trans', 'lenient_rollout_agg_trans', 'rollout_agg_combine',
						  'rollout_agg_serial',
						  'rollout_agg_deserial', 'rollout_agg_final', 'rollup_merge', 'history_merge')
	LOOP
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', f, 'aggregate support');
	END LOOP;
END $$;

-- the contents of a group

CREATE FUNCTION stepadv.steps(rollouts stepadv.rollout_group)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
			   success boolean, next_state bigint, value float8, turn_reward float8, cost float8, turn integer,
			   coarse_state bigint, logp float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_steps';
COMMENT ON FUNCTION stepadv.steps(stepadv.rollout_group) IS
'the steps of a group, one row each, by rollout_id and step_no; success is that of the rollout; columns that were '
'not given are NULL';

CREATE FUNCTION stepadv.rollouts(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (rollout_id bigint, n_steps integer, outcome float8, return float8, success boolean, judged boolean,
			   truncated boolean, policy_step bigint)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 300 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rollouts';
COMMENT ON FUNCTION stepadv.rollouts(stepadv.rollout_group, float8) IS
'the rollouts of a group, one row each, including those without steps: number of steps, outcome (reward of the '
'rollout''s own row), undiscounted return, success (given, or else return > success_above), judged; return and '
'success are NULL if not judged; truncated and policy_step as given';

CREATE FUNCTION stepadv.history_states(rollouts stepadv.rollout_group, mode text DEFAULT 'sequence',
	history_length integer DEFAULT 2) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500
AS 'MODULE_PATHNAME', 'stepadv_history_states';
COMMENT ON FUNCTION stepadv.history_states(stepadv.rollout_group, text, integer) IS
'the group with each state replaced by a hash of the earlier actions of the rollout: ''sequence'' in order, ''set'' '
'the distinct ones, ''root'' none, ''last'' the last history_length; or, ''observation_last'', of the last '
'history_length states, with its own; next_state becomes the state after the step';

CREATE FUNCTION stepadv.by_turn(rollouts stepadv.rollout_group,
	actions text DEFAULT 'sequence') RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_by_turn';
COMMENT ON FUNCTION stepadv.by_turn(stepadv.rollout_group, text) IS
'the group with turns as steps: calls of a rollout with the same turn become one step at the position of the first; '
'state and value of the first, next_state of the last, rewards, costs and logp summed; the action is a hash of the '
'actions in order (''sequence'') or of their counts (''set'')';

CREATE FUNCTION stepadv.resample(rollouts stepadv.rollout_group, k integer DEFAULT NULL, seed integer DEFAULT 1,
	replace boolean DEFAULT true)
RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000
AS 'MODULE_PATHNAME', 'stepadv_resample';
COMMENT ON FUNCTION stepadv.resample(stepadv.rollout_group, integer, integer, boolean) IS
'k rollouts of the group (NULL: as many as it has), drawn with replacement (the bootstrap) or, replace => false, '
'without; a rollout drawn again has a new rollout_id, and its steps keep their step_id; the draw depends only on the '
'seed and the rollout_ids; NULL for NULL';

CREATE FUNCTION stepadv_internal.of_rollouts(rollouts stepadv.rollout_group, rollout_ids bigint[])
RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_of_rollouts';
COMMENT ON FUNCTION stepadv_internal.of_rollouts(stepadv.rollout_group, bigint[]) IS
'part of attach: those rollouts of the group whose ids are listed, as a group';

CREATE FUNCTION stepadv.with_rewards(rollouts stepadv.rollout_group, weights float8[]) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 300
AS 'MODULE_PATHNAME', 'stepadv_with_rewards';
COMMENT ON FUNCTION stepadv.with_rewards(stepadv.rollout_group, float8[]) IS
'the group with each reward, including that of the outcome, replaced by the weighted sum of its components: of those '
'that are not NULL with a weight other than 0, NULL if there are none; the components stay; error unless there is '
'one finite weight per component; without components all are NULL';

CREATE FUNCTION stepadv.reward_components(rollouts stepadv.rollout_group)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, component integer, reward float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 300 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_reward_components';
COMMENT ON FUNCTION stepadv.reward_components(stepadv.rollout_group) IS
'the reward components of a group that are not NULL, one row each, component counting from 1: those of the steps '
'(turns, in a group by turn), then of the outcome of the rollout, whose step_id and step_no are NULL; no rows '
'without components';

CREATE FUNCTION stepadv.group_summary(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (n_rollouts integer, n_judged integer, n_steps integer,
			   mean_return float8, sd_return float8, success_rate float8, uniform boolean,
			   n_states integer, n_shared_states integer, shared_step_share float8,
			   all_shared_step_share float8, no_shared_state boolean)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 1 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_group_summary';
COMMENT ON FUNCTION stepadv.group_summary(stepadv.rollout_group, float8) IS
'one row about a group: rollouts, judged rollouts, steps; over the judged ones mean and sd (ddof 1) of the return, '
'success rate, whether all returns are equal, states, states that several rollouts visited and the share of steps in '
'these; that share over all rollouts; whether no state is shared';


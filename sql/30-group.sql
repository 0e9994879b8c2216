-- The group: src/group/, src/plan/group_fold.c

CREATE TYPE rollout_group;

CREATE FUNCTION rollout_group_in(cstring) RETURNS rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_rollout_group_in';

CREATE FUNCTION rollout_group_out(rollout_group) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_rollout_group_out';

CREATE FUNCTION rollout_group_recv(internal) RETURNS rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_rollout_group_recv';

CREATE FUNCTION rollout_group_send(rollout_group) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_rollout_group_send';

CREATE TYPE rollout_group (
	INPUT = rollout_group_in,
	OUTPUT = rollout_group_out,
	RECEIVE = rollout_group_recv,
	SEND = rollout_group_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = extended
);

COMMENT ON TYPE rollout_group IS
'all rollouts of one task as packed columns, sorted by rollout_id and step_no; made by rollout_agg, merged by rollup, read by the estimators; text form JSON, at most 1 GB';
COMMENT ON FUNCTION rollout_group_in(cstring) IS 'I/O: a JSON object with "version" and one array per column; error 22P02 on anything else';
COMMENT ON FUNCTION rollout_group_out(rollout_group) IS 'I/O: lossless JSON text';
COMMENT ON FUNCTION rollout_group_recv(internal) IS 'I/O: versioned little-endian columns; error 22P03 on anything else';
COMMENT ON FUNCTION rollout_group_send(rollout_group) IS 'I/O: versioned little-endian columns';

-- rollout_agg: three forms, one transition function

CREATE FUNCTION stepadv_internal.fold_support(internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_fold_support';
COMMENT ON FUNCTION stepadv_internal.fold_support(internal) IS
'part of the transition functions of rollout_agg: makes the planner load the library before it looks for plans, in the first query of a connection, too';

CREATE FUNCTION rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 4 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 4 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION rollout_agg_combine(internal, internal) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_combine';

CREATE FUNCTION rollout_agg_serial(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_serial';

CREATE FUNCTION rollout_agg_deserial(bytea, internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_deserial';

CREATE FUNCTION rollout_agg_final(internal) RETURNS rollout_group
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_final';

CREATE AGGREGATE rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8
) (
	SFUNC = rollout_agg_trans, STYPE = internal, SSPACE = 4096,
	FINALFUNC = rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = rollout_agg_combine, SERIALFUNC = rollout_agg_serial, DESERIALFUNC = rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean
) (
	SFUNC = rollout_agg_trans, STYPE = internal, SSPACE = 4096,
	FINALFUNC = rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = rollout_agg_combine, SERIALFUNC = rollout_agg_serial, DESERIALFUNC = rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean, next_state bigint, value float8, turn_reward float8, cost float8
) (
	SFUNC = rollout_agg_trans, STYPE = internal, SSPACE = 6144,
	FINALFUNC = rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = rollout_agg_combine, SERIALFUNC = rollout_agg_serial, DESERIALFUNC = rollout_agg_deserial,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE rollout_agg(bigint, bigint, integer, bigint, bigint, float8) IS
'folds the steps of one group into a rollout_group, whatever their order; a row whose step_no is NULL stands for the rollout itself; NULL reward: none received; NULL state or action: one that no other step shares; NULL over no rows; error on NULL rollout_id or step_id, NaN or infinite reward, two rows of one rollout and step_no';
COMMENT ON AGGREGATE rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean) IS
'rollout_agg with success: a rollout reached its goal if any of its rows says so';
COMMENT ON AGGREGATE rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8) IS
'rollout_agg in full: also next_state (where the last step of a rollout led), value (the critic''s V(s)), turn_reward, cost (of the edge, for graphs)';

-- rollup: the union of groups; transition and combine function are one

CREATE FUNCTION rollup_merge(rollout_group, rollout_group) RETURNS rollout_group
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollup_merge';

CREATE AGGREGATE rollup(rollout_group) (
	SFUNC = rollup_merge, STYPE = rollout_group, SSPACE = 4096,
	COMBINEFUNC = rollup_merge, PARALLEL = SAFE
);

COMMENT ON AGGREGATE rollup(rollout_group) IS
'the union of groups: steps and outcomes of one rollout may lie in several of them, but each only in one; NULLs are ignored, NULL over none; error when two groups have the same step of the same rollout';

DO $$
DECLARE f regprocedure;
BEGIN
	FOR f IN
		SELECT oid FROM pg_catalog.pg_proc
		WHERE pronamespace = 'stepadv'::pg_catalog.regnamespace
		  AND proname IN ('rollout_agg_trans', 'rollout_agg_combine', 'rollout_agg_serial',
						  'rollout_agg_deserial', 'rollout_agg_final', 'rollup_merge')
	LOOP
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', f, 'aggregate support');
	END LOOP;
END $$;

-- what a group holds

CREATE FUNCTION steps(rollouts rollout_group)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
			   success boolean, next_state bigint, value float8, turn_reward float8, cost float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT row_support
AS 'MODULE_PATHNAME', 'stepadv_steps';
COMMENT ON FUNCTION steps(rollout_group) IS
'the steps of a group, one row each, by rollout_id and step_no; success is the rollout''s; columns never given are NULL';

CREATE FUNCTION rollouts(rollouts rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (rollout_id bigint, n_steps integer, outcome float8, return float8, success boolean, judged boolean)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 300 ROWS 8 SUPPORT row_support
AS 'MODULE_PATHNAME', 'stepadv_rollouts';
COMMENT ON FUNCTION rollouts(rollout_group, float8) IS
'the rollouts of a group, one row each, those without steps included: number of steps, outcome (reward of the rollout''s own row), undiscounted return, success (given, else return > success_above), judged; return and success are NULL where no row has a reward or a success';

CREATE FUNCTION history_states(rollouts rollout_group, mode text DEFAULT 'sequence') RETURNS rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500
AS 'MODULE_PATHNAME', 'stepadv_history_states';
COMMENT ON FUNCTION history_states(rollout_group, text) IS
'the group with each state replaced by a hash of the actions that the rollout took before it: ''sequence'' in their order (prefix tree), ''set'' the distinct ones in any order, ''root'' none (one state); next_state, where given, becomes the state after the step';

CREATE FUNCTION group_summary(rollouts rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (n_rollouts integer, n_judged integer, n_steps integer,
			   mean_return float8, sd_return float8, success_rate float8, uniform boolean,
			   n_states integer, n_shared_states integer, shared_step_share float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 1 SUPPORT row_support
AS 'MODULE_PATHNAME', 'stepadv_group_summary';
COMMENT ON FUNCTION group_summary(rollout_group, float8) IS
'one row about a group: rollouts, those judged, steps; over the judged ones mean and sd (ddof 1) of the return, success rate, whether all returns are equal, distinct states, states that two or more rollouts visited, and the share of steps in these';


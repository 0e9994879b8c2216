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
AS 'MODULE_PATHNAME', 'stepadv_rollout_group_send';

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
'all rollouts of one task as packed columns, sorted by rollout_id and step_no; made by rollout_agg, merged by rollup, read by the estimators; text form JSON, at most 1 GB';
COMMENT ON FUNCTION stepadv_internal.rollout_group_in(cstring) IS 'I/O: a JSON object with "version" and one array per column; error 22P02 on anything else';
COMMENT ON FUNCTION stepadv_internal.rollout_group_out(stepadv.rollout_group) IS 'I/O: lossless JSON text';
COMMENT ON FUNCTION stepadv_internal.rollout_group_recv(internal) IS 'I/O: versioned little-endian columns; error 22P03 on anything else';
COMMENT ON FUNCTION stepadv_internal.rollout_group_send(stepadv.rollout_group) IS 'I/O: versioned little-endian columns';

-- rollout_agg: six forms, one transition function

CREATE FUNCTION stepadv_internal.fold_support(internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_fold_support';
COMMENT ON FUNCTION stepadv_internal.fold_support(internal) IS
'part of the transition functions of rollout_agg: makes the planner load the library before it looks for plans, in the first query of a connection, too';

CREATE FUNCTION stepadv_internal.rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 4 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 4 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8, integer) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8, integer, float8[]) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 6 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8, integer, float8[], boolean, bigint) RETURNS internal
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
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv.rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean
) (
	SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, SSPACE = 4096,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv.rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean, next_state bigint, value float8, turn_reward float8, cost float8
) (
	SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, SSPACE = 6144,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv.rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean, next_state bigint, value float8, turn_reward float8, cost float8, turn integer
) (
	SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, SSPACE = 6144,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv.rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean, next_state bigint, value float8, turn_reward float8, cost float8, turn integer, rewards float8[]
) (
	SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, SSPACE = 8192,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv.rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean, next_state bigint, value float8, turn_reward float8, cost float8, turn integer, rewards float8[],
	truncated boolean, policy_step bigint
) (
	SFUNC = stepadv_internal.rollout_agg_trans, STYPE = internal, SSPACE = 8192,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE stepadv.rollout_agg(bigint, bigint, integer, bigint, bigint, float8) IS
'folds the steps of one group into a rollout_group, whatever their order; a row whose step_no is NULL stands for the rollout itself; NULL reward: none received; NULL state or action: one that no other step shares; NULL over no rows; error on NULL rollout_id or step_id, NaN or infinite reward, two rows of one rollout and step_no';
COMMENT ON AGGREGATE stepadv.rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean) IS
'rollout_agg with success: a rollout reached its goal if any of its rows says so';
COMMENT ON AGGREGATE stepadv.rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8) IS
'rollout_agg in full: also next_state (where the last step of a rollout led), value (the critic''s V(s)), turn_reward, cost (of the edge, for graphs)';
COMMENT ON AGGREGATE stepadv.rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8, integer) IS
'rollout_agg with turn, the number of the response of the model that the call is part of, for by_turn; NULL turn: one of its own';
COMMENT ON AGGREGATE stepadv.rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8, integer, float8[]) IS
'rollout_agg with turn and reward components, for with_rewards: one array of 1 to 64 numbers a row, in each row of a group as many; NULL array or element: not received; of the row that stands for the rollout: its outcome''s; error on arrays of different length, NaN or infinite components';
COMMENT ON AGGREGATE stepadv.rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8, integer, float8[], boolean, bigint) IS
'rollout_agg with what is known of the rollout as a whole, given by any of its rows: truncated, whether it was cut off before it ended (if any of its rows says so; for batch_td), and policy_step, the number of the update of the policy that made it (for history; the least bigint is as good as NULL); NULL: not known; error on two policy steps of one rollout';

-- The same for the views of attach, where a row that rollout_agg refuses costs the
-- advantages of its rollout and nothing else.

CREATE FUNCTION stepadv_internal.forgiving_rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 4 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_forgiving_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.forgiving_rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 4 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_forgiving_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.forgiving_rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_forgiving_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.forgiving_rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8, integer) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_forgiving_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.forgiving_rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8, integer, float8[]) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 6 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_forgiving_rollout_agg_trans';

CREATE FUNCTION stepadv_internal.forgiving_rollout_agg_trans(internal, bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8, integer, float8[], boolean, bigint) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 6 SUPPORT stepadv_internal.fold_support
AS 'MODULE_PATHNAME', 'stepadv_forgiving_rollout_agg_trans';

CREATE AGGREGATE stepadv_internal.forgiving_rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8
) (
	SFUNC = stepadv_internal.forgiving_rollout_agg_trans, STYPE = internal, SSPACE = 4096,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv_internal.forgiving_rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean
) (
	SFUNC = stepadv_internal.forgiving_rollout_agg_trans, STYPE = internal, SSPACE = 4096,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv_internal.forgiving_rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean, next_state bigint, value float8, turn_reward float8, cost float8
) (
	SFUNC = stepadv_internal.forgiving_rollout_agg_trans, STYPE = internal, SSPACE = 6144,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv_internal.forgiving_rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean, next_state bigint, value float8, turn_reward float8, cost float8, turn integer
) (
	SFUNC = stepadv_internal.forgiving_rollout_agg_trans, STYPE = internal, SSPACE = 6144,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv_internal.forgiving_rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean, next_state bigint, value float8, turn_reward float8, cost float8, turn integer, rewards float8[]
) (
	SFUNC = stepadv_internal.forgiving_rollout_agg_trans, STYPE = internal, SSPACE = 8192,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

CREATE AGGREGATE stepadv_internal.forgiving_rollout_agg(
	step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
	success boolean, next_state bigint, value float8, turn_reward float8, cost float8, turn integer, rewards float8[],
	truncated boolean, policy_step bigint
) (
	SFUNC = stepadv_internal.forgiving_rollout_agg_trans, STYPE = internal, SSPACE = 8192,
	FINALFUNC = stepadv_internal.rollout_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.rollout_agg_combine, SERIALFUNC = stepadv_internal.rollout_agg_serial, DESERIALFUNC = stepadv_internal.rollout_agg_deserial,
	PARALLEL = SAFE
);

COMMENT ON AGGREGATE stepadv_internal.forgiving_rollout_agg(bigint, bigint, integer, bigint, bigint, float8) IS
'rollout_agg for the views of attach: two rows of a step (that with the least step_id stays), a reward, turn_reward, cost or component that is not finite or beyond 1e100, a cost that is not above 0, two outcomes, two policy steps and a NULL step_id are defects of the rollout, which then counts as not judged, of a turn_reward, cost, component or policy step for those methods only that read it; a value that is not finite is missing; a row with a NULL rollout_id is left out. Of the group that it returns estimators give NULL where otherwise they raise an error: gae for rollouts with a missing value, all where a number is out of range';
COMMENT ON AGGREGATE stepadv_internal.forgiving_rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean) IS
'the same with as many arguments as rollout_agg takes';
COMMENT ON AGGREGATE stepadv_internal.forgiving_rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8) IS
'the same with as many arguments as rollout_agg takes';
COMMENT ON AGGREGATE stepadv_internal.forgiving_rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8, integer) IS
'the same with as many arguments as rollout_agg takes';
COMMENT ON AGGREGATE stepadv_internal.forgiving_rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8, integer, float8[]) IS
'the same with as many arguments as rollout_agg takes';
COMMENT ON AGGREGATE stepadv_internal.forgiving_rollout_agg(bigint, bigint, integer, bigint, bigint, float8, boolean, bigint, float8, float8, float8, integer, float8[], boolean, bigint) IS
'the same with as many arguments as rollout_agg takes';

-- rollup: the union of groups; transition and combine function are one

CREATE FUNCTION stepadv_internal.rollup_merge(stepadv.rollout_group, stepadv.rollout_group) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_rollup_merge';

CREATE AGGREGATE stepadv.rollup(stepadv.rollout_group) (
	SFUNC = stepadv_internal.rollup_merge, STYPE = stepadv.rollout_group, SSPACE = 4096,
	COMBINEFUNC = stepadv_internal.rollup_merge, PARALLEL = SAFE
);

COMMENT ON AGGREGATE stepadv.rollup(stepadv.rollout_group) IS
'the union of groups: steps and outcomes of one rollout may lie in several of them, but each only in one; NULLs are ignored, NULL over none; error when two groups have the same step of the same rollout, when one is of turns and the other not (by_turn), when both have reward components and not as many, or when a rollout has another policy_step in one than in the other';

CREATE FUNCTION stepadv.group_union(a stepadv.rollout_group, b stepadv.rollout_group) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 400
AS 'MODULE_PATHNAME', 'stepadv_group_union';
COMMENT ON FUNCTION stepadv.group_union(stepadv.rollout_group, stepadv.rollout_group) IS
'the union of two groups, as rollup of both, for ON CONFLICT DO UPDATE and wherever a value grows: steps and outcomes of one rollout may lie in either, but each only in one; NULL is no group: of a group and NULL the group, NULL of two NULLs; the same errors as of rollup: a step of a rollout (or its outcome) that is in both, equal or not, groups of turns and of steps, reward components not as many, two policy steps of a rollout';

-- history_agg: the union of groups whose rollouts are all others, whatever their ids

CREATE FUNCTION stepadv_internal.history_merge(stepadv.rollout_group, stepadv.rollout_group, bigint, bigint) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_history_merge';

CREATE AGGREGATE stepadv_internal.history_agg(stepadv.rollout_group, bigint, bigint) (
	SFUNC = stepadv_internal.history_merge, STYPE = stepadv.rollout_group, SSPACE = 4096, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.history_agg(stepadv.rollout_group, bigint, bigint) IS
'rollup of groups in which the same rollout_id may be another rollout: ids are hashed onto the second argument, which says which group it is, and all rollouts of a group are of the policy_step that is the third; NULL in either: as the group has them';

DO $$
DECLARE f regprocedure;
BEGIN
	FOR f IN
		SELECT oid FROM pg_catalog.pg_proc
		WHERE pronamespace = 'stepadv_internal'::pg_catalog.regnamespace
		  AND proname IN ('rollout_agg_trans', 'forgiving_rollout_agg_trans', 'rollout_agg_combine', 'rollout_agg_serial',
						  'rollout_agg_deserial', 'rollout_agg_final', 'rollup_merge', 'history_merge')
	LOOP
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', f, 'aggregate support');
	END LOOP;
END $$;

-- what a group holds

CREATE FUNCTION stepadv.steps(rollouts stepadv.rollout_group)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8,
			   success boolean, next_state bigint, value float8, turn_reward float8, cost float8, turn integer)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_steps';
COMMENT ON FUNCTION stepadv.steps(stepadv.rollout_group) IS
'the steps of a group, one row each, by rollout_id and step_no; success is the rollout''s; columns never given are NULL';

CREATE FUNCTION stepadv.rollouts(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (rollout_id bigint, n_steps integer, outcome float8, return float8, success boolean, judged boolean,
			   truncated boolean, policy_step bigint)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 300 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rollouts';
COMMENT ON FUNCTION stepadv.rollouts(stepadv.rollout_group, float8) IS
'the rollouts of a group, one row each, those without steps included: number of steps, outcome (reward of the rollout''s own row), undiscounted return, success (given, else return > success_above), judged; return and success are NULL where no row has a reward or a success; truncated and policy_step as given, NULL where no row says anything';

CREATE FUNCTION stepadv.history_states(rollouts stepadv.rollout_group, mode text DEFAULT 'sequence', k integer DEFAULT 2) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500
AS 'MODULE_PATHNAME', 'stepadv_history_states';
COMMENT ON FUNCTION stepadv.history_states(stepadv.rollout_group, text, integer) IS
'the group with each state replaced by a hash of the actions that the rollout took before it: ''sequence'' in their order (prefix tree), ''set'' the distinct ones in any order, ''root'' none (one state), ''last'' the last k in their order, fewer at the beginning; or, ''last_observations'', of the present state and the k - 1 before (NULL where one of them is); next_state, where given, becomes the state after the step; k, from 1 to 1000, is for the last two; in a group by turn actions and states are those of turns';

CREATE FUNCTION stepadv.by_turn(rollouts stepadv.rollout_group, actions text DEFAULT 'sequence') RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_by_turn';
COMMENT ON FUNCTION stepadv.by_turn(stepadv.rollout_group, text) IS
'the group with turns for steps, for every function that takes a group: the calls of a rollout with the same turn are one step where the first of them stands, a call whose turn is NULL is one of its own; state and value of the first, next_state of the last, reward, turn_reward, cost and components summed (NULL where all are), as action a hash of the actions in their order, or, ''set'', of how often each was taken (NULL if one is; of a lone call its own); estimators give each call what its turn gets; the calls stay stored';

CREATE FUNCTION stepadv.resample(rollouts stepadv.rollout_group, k integer DEFAULT NULL, seed bigint DEFAULT 0, replace boolean DEFAULT true)
RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000
AS 'MODULE_PATHNAME', 'stepadv_resample';
COMMENT ON FUNCTION stepadv.resample(stepadv.rollout_group, integer, bigint, boolean) IS
'k rollouts of the group (k NULL: as many as it has, judged or not), drawn with replacement (the bootstrap) or, replace => false, without (a smaller group, part of every larger one of that seed); a rollout drawn again has a rollout_id made of its own and the number of the copy, and steps with the same step_id; the same draw on every machine for a seed and the same rollout_ids; groups whose ids differ are drawn from independently; NULL for NULL; error on a NULL seed or replace, k below 0, k above the number of rollouts without replacement';

CREATE FUNCTION stepadv.with_rewards(rollouts stepadv.rollout_group, weights float8[]) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 300
AS 'MODULE_PATHNAME', 'stepadv_with_rewards';
COMMENT ON FUNCTION stepadv.with_rewards(stepadv.rollout_group, float8[]) IS
'the group with each reward, that of the outcome too, replaced by the weighted sum of its components: of those that are not NULL and whose weight is not 0, NULL where there is none; the components stay; one weight for each component, none of them NULL, NaN or infinite, else an error; in a group without components all are NULL';

CREATE FUNCTION stepadv.reward_components(rollouts stepadv.rollout_group)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, component integer, reward float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 300 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_reward_components';
COMMENT ON FUNCTION stepadv.reward_components(stepadv.rollout_group) IS
'the reward components of a group that are not NULL, one row each, component counting from 1: those of the steps (turns, in a group by turn), then of the rollout''s outcome, whose step_id and step_no are NULL; no rows without components';

CREATE FUNCTION stepadv.group_summary(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (n_rollouts integer, n_judged integer, n_steps integer,
			   mean_return float8, sd_return float8, success_rate float8, uniform boolean,
			   n_states integer, n_shared_states integer, shared_step_share float8,
			   all_shared_step_share float8, no_shared_state boolean)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 1 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_group_summary';
COMMENT ON FUNCTION stepadv.group_summary(stepadv.rollout_group, float8) IS
'one row about a group: rollouts, those judged, steps; over the judged ones mean and sd (ddof 1) of the return, success rate, whether all returns are equal, distinct states, states that two or more rollouts visited, and the share of steps in these; then over all rollouts, judged or not: that share (NULL where there are no steps), and whether no state is visited by two of at least two rollouts that have steps, so that comparisons of states say nothing';


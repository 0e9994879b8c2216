-- Whoever calls rollout_agg with arguments of other types is told what to do about
-- it: src/group/wrong_arguments.c

-- What a wrong argument is taken as.  Its category is that of numbers, and it is not
-- the preferred type of it, so that no call is ambiguous: whatever has no type of its
-- own, a literal or NULL, is first of all taken as what rollout_agg takes.
CREATE TYPE stepadv_internal.unfit;

CREATE FUNCTION stepadv_internal.unfit_in(cstring) RETURNS stepadv_internal.unfit
LANGUAGE internal STABLE STRICT PARALLEL SAFE
AS 'textin';
COMMENT ON FUNCTION stepadv_internal.unfit_in(cstring) IS 'I/O: any text';

-- (Stable, so that a constant is not cast when planning, but known for what it was.)
CREATE FUNCTION stepadv_internal.unfit_out(stepadv_internal.unfit) RETURNS cstring
LANGUAGE internal STABLE STRICT PARALLEL SAFE
AS 'textout';
COMMENT ON FUNCTION stepadv_internal.unfit_out(stepadv_internal.unfit) IS 'I/O: the text';

CREATE TYPE stepadv_internal.unfit (
	INPUT = stepadv_internal.unfit_in,
	OUTPUT = stepadv_internal.unfit_out,
	LIKE = text,
	CATEGORY = 'N'
);
COMMENT ON TYPE stepadv_internal.unfit IS 'what rollout_agg takes for one of its arguments if it is of no type that it takes; only to say so';

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
COMMENT ON CAST (text AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (varchar AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (bpchar AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (name AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (bytea AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (json AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (jsonb AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (uuid AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (boolean AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (smallint AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (integer AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (bigint AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (oid AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (numeric AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (real AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (float8 AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (date AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (timestamp AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (timestamptz AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (interval AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (text[] AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (integer[] AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (bigint[] AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (real[] AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';
COMMENT ON CAST (float8[] AS stepadv_internal.unfit) IS 'what rollout_agg takes a wrong argument for, to say so';

-- The error comes when the query is planned, over no rows, too.
CREATE FUNCTION stepadv_internal.wrong_arguments_support(internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_wrong_arguments_support';
COMMENT ON FUNCTION stepadv_internal.wrong_arguments_support(internal) IS 'part of rollout_agg: error that says which arguments are of a wrong type, when asked what wrong_arguments costs';

-- One for each form of rollout_agg.

CREATE FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) RETURNS stepadv.rollout_group
LANGUAGE c STABLE PARALLEL SAFE SUPPORT stepadv_internal.wrong_arguments_support
AS 'MODULE_PATHNAME', 'stepadv_wrong_arguments';
COMMENT ON FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) IS 'part of rollout_agg: error that says which arguments are of a wrong type, or how many there must be';

CREATE AGGREGATE stepadv.rollout_agg(step_id stepadv_internal.unfit, rollout_id stepadv_internal.unfit, step_no stepadv_internal.unfit, state stepadv_internal.unfit, action stepadv_internal.unfit, reward stepadv_internal.unfit) (
	SFUNC = stepadv_internal.wrong_arguments, STYPE = stepadv.rollout_group
);
COMMENT ON AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) IS
'error: says which arguments are of types that rollout_agg does not take, and what to do';

CREATE FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean) RETURNS stepadv.rollout_group
LANGUAGE c STABLE PARALLEL SAFE SUPPORT stepadv_internal.wrong_arguments_support
AS 'MODULE_PATHNAME', 'stepadv_wrong_arguments';
COMMENT ON FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean) IS 'part of rollout_agg: error that says which arguments are of a wrong type, or how many there must be';

CREATE AGGREGATE stepadv.rollout_agg(step_id stepadv_internal.unfit, rollout_id stepadv_internal.unfit, step_no stepadv_internal.unfit, state stepadv_internal.unfit, action stepadv_internal.unfit, reward stepadv_internal.unfit, success boolean) (
	SFUNC = stepadv_internal.wrong_arguments, STYPE = stepadv.rollout_group
);
COMMENT ON AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean) IS
'error: says which arguments are of types that rollout_agg does not take, and what to do';

CREATE FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean, stepadv_internal.unfit, float8, float8, float8) RETURNS stepadv.rollout_group
LANGUAGE c STABLE PARALLEL SAFE SUPPORT stepadv_internal.wrong_arguments_support
AS 'MODULE_PATHNAME', 'stepadv_wrong_arguments';
COMMENT ON FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean, stepadv_internal.unfit, float8, float8, float8) IS 'part of rollout_agg: error that says which arguments are of a wrong type, or how many there must be';

CREATE AGGREGATE stepadv.rollout_agg(step_id stepadv_internal.unfit, rollout_id stepadv_internal.unfit, step_no stepadv_internal.unfit, state stepadv_internal.unfit, action stepadv_internal.unfit, reward stepadv_internal.unfit, success boolean, next_state stepadv_internal.unfit, value float8, turn_reward float8, cost float8) (
	SFUNC = stepadv_internal.wrong_arguments, STYPE = stepadv.rollout_group
);
COMMENT ON AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean, stepadv_internal.unfit, float8, float8, float8) IS
'error: says which arguments are of types that rollout_agg does not take, and what to do';

CREATE FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean, stepadv_internal.unfit, float8, float8, float8, integer) RETURNS stepadv.rollout_group
LANGUAGE c STABLE PARALLEL SAFE SUPPORT stepadv_internal.wrong_arguments_support
AS 'MODULE_PATHNAME', 'stepadv_wrong_arguments';
COMMENT ON FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean, stepadv_internal.unfit, float8, float8, float8, integer) IS 'part of rollout_agg: error that says which arguments are of a wrong type, or how many there must be';

CREATE AGGREGATE stepadv.rollout_agg(step_id stepadv_internal.unfit, rollout_id stepadv_internal.unfit, step_no stepadv_internal.unfit, state stepadv_internal.unfit, action stepadv_internal.unfit, reward stepadv_internal.unfit, success boolean, next_state stepadv_internal.unfit, value float8, turn_reward float8, cost float8, turn integer) (
	SFUNC = stepadv_internal.wrong_arguments, STYPE = stepadv.rollout_group
);
COMMENT ON AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean, stepadv_internal.unfit, float8, float8, float8, integer) IS
'error: says which arguments are of types that rollout_agg does not take, and what to do';

CREATE FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean, stepadv_internal.unfit, float8, float8, float8, integer, float8[]) RETURNS stepadv.rollout_group
LANGUAGE c STABLE PARALLEL SAFE SUPPORT stepadv_internal.wrong_arguments_support
AS 'MODULE_PATHNAME', 'stepadv_wrong_arguments';
COMMENT ON FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean, stepadv_internal.unfit, float8, float8, float8, integer, float8[]) IS 'part of rollout_agg: error that says which arguments are of a wrong type, or how many there must be';

CREATE AGGREGATE stepadv.rollout_agg(step_id stepadv_internal.unfit, rollout_id stepadv_internal.unfit, step_no stepadv_internal.unfit, state stepadv_internal.unfit, action stepadv_internal.unfit, reward stepadv_internal.unfit, success boolean, next_state stepadv_internal.unfit, value float8, turn_reward float8, cost float8, turn integer, rewards float8[]) (
	SFUNC = stepadv_internal.wrong_arguments, STYPE = stepadv.rollout_group
);
COMMENT ON AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean, stepadv_internal.unfit, float8, float8, float8, integer, float8[]) IS
'error: says which arguments are of types that rollout_agg does not take, and what to do';

CREATE FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean, stepadv_internal.unfit, float8, float8, float8, integer, float8[], boolean, stepadv_internal.unfit) RETURNS stepadv.rollout_group
LANGUAGE c STABLE PARALLEL SAFE SUPPORT stepadv_internal.wrong_arguments_support
AS 'MODULE_PATHNAME', 'stepadv_wrong_arguments';
COMMENT ON FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean, stepadv_internal.unfit, float8, float8, float8, integer, float8[], boolean, stepadv_internal.unfit) IS 'part of rollout_agg: error that says which arguments are of a wrong type, or how many there must be';

CREATE AGGREGATE stepadv.rollout_agg(step_id stepadv_internal.unfit, rollout_id stepadv_internal.unfit, step_no stepadv_internal.unfit, state stepadv_internal.unfit, action stepadv_internal.unfit, reward stepadv_internal.unfit, success boolean, next_state stepadv_internal.unfit, value float8, turn_reward float8, cost float8, turn integer, rewards float8[], truncated boolean, policy_step stepadv_internal.unfit) (
	SFUNC = stepadv_internal.wrong_arguments, STYPE = stepadv.rollout_group
);
COMMENT ON AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, boolean, stepadv_internal.unfit, float8, float8, float8, integer, float8[], boolean, stepadv_internal.unfit) IS
'error: says which arguments are of types that rollout_agg does not take, and what to do';

-- One more, or less.

CREATE FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) RETURNS stepadv.rollout_group
LANGUAGE c STABLE PARALLEL SAFE SUPPORT stepadv_internal.wrong_arguments_support
AS 'MODULE_PATHNAME', 'stepadv_wrong_arguments';
COMMENT ON FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) IS 'part of rollout_agg: error that says which arguments are of a wrong type, or how many there must be';

CREATE AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) (
	SFUNC = stepadv_internal.wrong_arguments, STYPE = stepadv.rollout_group
);
COMMENT ON AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) IS
'error: rollout_agg takes another number of arguments';

CREATE FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) RETURNS stepadv.rollout_group
LANGUAGE c STABLE PARALLEL SAFE SUPPORT stepadv_internal.wrong_arguments_support
AS 'MODULE_PATHNAME', 'stepadv_wrong_arguments';
COMMENT ON FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) IS 'part of rollout_agg: error that says which arguments are of a wrong type, or how many there must be';

CREATE AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) (
	SFUNC = stepadv_internal.wrong_arguments, STYPE = stepadv.rollout_group
);
COMMENT ON AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) IS
'error: rollout_agg takes another number of arguments';

CREATE FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) RETURNS stepadv.rollout_group
LANGUAGE c STABLE PARALLEL SAFE SUPPORT stepadv_internal.wrong_arguments_support
AS 'MODULE_PATHNAME', 'stepadv_wrong_arguments';
COMMENT ON FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) IS 'part of rollout_agg: error that says which arguments are of a wrong type, or how many there must be';

CREATE AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) (
	SFUNC = stepadv_internal.wrong_arguments, STYPE = stepadv.rollout_group
);
COMMENT ON AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) IS
'error: rollout_agg takes another number of arguments';

CREATE FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) RETURNS stepadv.rollout_group
LANGUAGE c STABLE PARALLEL SAFE SUPPORT stepadv_internal.wrong_arguments_support
AS 'MODULE_PATHNAME', 'stepadv_wrong_arguments';
COMMENT ON FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) IS 'part of rollout_agg: error that says which arguments are of a wrong type, or how many there must be';

CREATE AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) (
	SFUNC = stepadv_internal.wrong_arguments, STYPE = stepadv.rollout_group
);
COMMENT ON AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) IS
'error: rollout_agg takes another number of arguments';

CREATE FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) RETURNS stepadv.rollout_group
LANGUAGE c STABLE PARALLEL SAFE SUPPORT stepadv_internal.wrong_arguments_support
AS 'MODULE_PATHNAME', 'stepadv_wrong_arguments';
COMMENT ON FUNCTION stepadv_internal.wrong_arguments(stepadv.rollout_group, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) IS 'part of rollout_agg: error that says which arguments are of a wrong type, or how many there must be';

CREATE AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) (
	SFUNC = stepadv_internal.wrong_arguments, STYPE = stepadv.rollout_group
);
COMMENT ON AGGREGATE stepadv.rollout_agg(stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit, stepadv_internal.unfit) IS
'error: rollout_agg takes another number of arguments';

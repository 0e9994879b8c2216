
-- States from the actions so far: src/signatures/{state,signature,bonus}.c

CREATE FUNCTION stepadv_internal.state_accum(internal, text) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_state_accum';

CREATE FUNCTION stepadv_internal.state_accum(internal, text, text, text) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_state_accum';

CREATE FUNCTION stepadv_internal.state_signature_final(internal) RETURNS text
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_state_signature';

CREATE FUNCTION stepadv_internal.state_hash_final(internal) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_state_hash';

COMMENT ON FUNCTION stepadv_internal.state_accum(internal, text) IS
'transition function of state_signature and state_hash';
COMMENT ON FUNCTION stepadv_internal.state_accum(internal, text, text, text) IS
'transition function of state_signature and state_hash';
COMMENT ON FUNCTION stepadv_internal.state_signature_final(internal) IS 'final function of state_signature';
COMMENT ON FUNCTION stepadv_internal.state_hash_final(internal) IS 'final function of state_hash';

CREATE AGGREGATE stepadv.state_signature(action_signature text) (
	SFUNC = stepadv_internal.state_accum, STYPE = internal, FINALFUNC = stepadv_internal.state_signature_final,
	FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE stepadv.state_signature(action_signature text, flags text, views text) (
	SFUNC = stepadv_internal.state_accum, STYPE = internal, FINALFUNC = stepadv_internal.state_signature_final,
	FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);

CREATE AGGREGATE stepadv.state_hash(action_signature text) (
	SFUNC = stepadv_internal.state_accum, STYPE = internal, FINALFUNC = stepadv_internal.state_hash_final,
	FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE stepadv.state_hash(action_signature text, flags text, views text) (
	SFUNC = stepadv_internal.state_accum, STYPE = internal, FINALFUNC = stepadv_internal.state_hash_final,
	FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);

COMMENT ON AGGREGATE stepadv.state_signature(text) IS
'readable summary of the effects of the given actions (RTMC, section 4.2): path:op+op|path:op||flag=count, in any '
'order; every effect of a call counts, failed edits change nothing. Over the rows BETWEEN UNBOUNDED PRECEDING AND 1 '
'PRECEDING: the state in which each step was taken';
COMMENT ON AGGREGATE stepadv.state_signature(text, text, text) IS
'state_signature with flags ''count'' (default), ''set'' (names without counts) or ''paper'' (of RTMC''s eq. 13: '
'think, test_ok and test_err, with counts), and views ''range'' (default: each viewed range is an operation of '
'its own) or ''bucket'' (each 100 lines are)';
COMMENT ON AGGREGATE stepadv.state_hash(text) IS
'64-bit identity of state_signature of the same rows, in constant time per row; never NULL; no rows give '
'signature_hash(''||'')';
COMMENT ON AGGREGATE stepadv.state_hash(text, text, text) IS
'state_hash with flags and views, as for state_signature';

CREATE FUNCTION stepadv.validation_bonus(action_signature text, bonus float8, executions boolean DEFAULT false)
RETURNS float8
LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_validation_bonus';

COMMENT ON FUNCTION stepadv.validation_bonus(text, float8, boolean) IS
'window function over the steps of a rollout in order (RTMC, equation 12): bonus for a step with a test (executions: '
'also an execute) after a successful modify or create in the rollout or the call, else 0; NULL for a NULL bonus; '
'ignores the frame';

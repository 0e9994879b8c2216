-- What rollouts that were left out say of methods: src/analysis/leave_one_out.c,
-- credit_check.c, credit_pool.c.

CREATE FUNCTION stepadv.without_rollout(rollouts stepadv.rollout_group, rollout_id bigint) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_without_rollout';
COMMENT ON FUNCTION stepadv.without_rollout(stepadv.rollout_group, bigint) IS
'the group without one of its rollouts, as if it had never been in it; error where it is not; NULL for NULL';

CREATE FUNCTION stepadv.left_out(rollouts stepadv.rollout_group, max_rollouts integer DEFAULT 16,
	seed integer DEFAULT 1)
RETURNS TABLE (rollout_id bigint)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 300 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_left_out';
COMMENT ON FUNCTION stepadv.left_out(stepadv.rollout_group, integer, integer) IS
'the rollouts of a group that credit_check leaves out one by one: those that are judged and have steps, no rows '
'where there are fewer than two; of more than max_rollouts so many, by a hash of rollout_id and seed, the same '
'on every machine';

CREATE FUNCTION stepadv.left_out_values(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1,
	max_rollouts integer DEFAULT 16, seed integer DEFAULT 1)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, v float8, return float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 5000 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_left_out_values';
COMMENT ON FUNCTION stepadv.left_out_values(stepadv.rollout_group, float8, integer, integer) IS
'for calibration of values, a row per step of the rollouts of left_out in a state where another rollout was: v, '
'the value of the state by the other rollouts (batch_td with half a visit''s worth of the mean return of first '
'steps), and return, what the rollout then received (discounted by gamma)';

-- Of one group: the rows of a method that was called without the rollout left_out.
CREATE FUNCTION stepadv_internal.credit_trans(internal, stepadv.rollout_group, bigint, bigint, integer, float8,
	float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_credit_trans';
COMMENT ON FUNCTION stepadv_internal.credit_trans(internal, stepadv.rollout_group, bigint, bigint, integer, float8,
	float8) IS
'aggregate support';
CREATE FUNCTION stepadv_internal.credit_final(internal) RETURNS float8[]
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_credit_final';
COMMENT ON FUNCTION stepadv_internal.credit_final(internal) IS 'aggregate support';
CREATE AGGREGATE stepadv_internal.credit_agg(rollouts stepadv.rollout_group, left_out bigint, rollout_id bigint,
	step_no integer, advantage float8, gamma float8) (
	SFUNC = stepadv_internal.credit_trans, STYPE = internal, SSPACE = 8192,
	FINALFUNC = stepadv_internal.credit_final, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.credit_agg(stepadv.rollout_group, bigint, bigint, integer, float8, float8) IS
'part of credit_check: a group, a rollout of left_out and the rows of a method without it, those of one such '
'rollout after those of another, as sums for credit_pool; a NULL row is none; NULL over none';

CREATE TYPE stepadv.credit AS (
	groups bigint, rollouts bigint, steps bigint, covered bigint, coverage float8, coverage_error float8,
	correlation float8, correlation_error float8, rank_correlation float8, rank_correlation_error float8,
	sign_agreement float8, sign_agreement_error float8, slope float8, slope_error float8
);
COMMENT ON TYPE stepadv.credit IS
'how well what a method says by some rollouts predicts what happens to others, with standard errors over groups';

-- The state is of a concrete type, so that whatever combines partial states by type can (Citus does).
CREATE FUNCTION stepadv_internal.credit_pool_trans(float8[], float8[]) RETURNS float8[]
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_credit_pool_trans';
COMMENT ON FUNCTION stepadv_internal.credit_pool_trans(float8[], float8[]) IS 'aggregate support';
CREATE FUNCTION stepadv_internal.credit_pool_combine(float8[], float8[]) RETURNS float8[]
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_credit_pool_combine';
COMMENT ON FUNCTION stepadv_internal.credit_pool_combine(float8[], float8[]) IS 'aggregate support';
CREATE FUNCTION stepadv_internal.credit_pool_final(float8[]) RETURNS stepadv.credit
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_credit_pool_final';
COMMENT ON FUNCTION stepadv_internal.credit_pool_final(float8[]) IS 'aggregate support';
CREATE AGGREGATE stepadv.credit_pool(sums float8[]) (
	SFUNC = stepadv_internal.credit_pool_trans, STYPE = float8[], SSPACE = 8192,
	FINALFUNC = stepadv_internal.credit_pool_final,
	COMBINEFUNC = stepadv_internal.credit_pool_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.credit_pool(float8[]) IS
'the sums of credit_check over groups: groups, rollouts and steps left out, those covered; correlation and '
'rank_correlation of what was said with what happened, sign_agreement (.5: none), slope (by what to multiply '
'what was said), each with its standard error over groups (NULL below two)';

-- The methods that somebody may check: those that he may have views of, by name or, of
-- others' methods, by schema.name.
CREATE FUNCTION stepadv_internal.checked_method(name text) RETURNS stepadv_internal.known_method
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	me CONSTANT oid := (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user);
	b record;
	known text;
BEGIN
	SELECT m.known INTO b
	FROM stepadv_internal.believed_methods(me, ARRAY[checked_method.name]) m
	WHERE '{rollout_id,step_no,advantage}' <@ (m.known).results
		AND CASE WHEN checked_method.name LIKE '%.%'
			THEN format('%s.%s', m.schema, (m.known).method) = checked_method.name
			ELSE (m.known).method = checked_method.name AND m.believed < 4 END
	ORDER BY m.believed, m.schema, m.number LIMIT 1;
	IF NOT FOUND THEN
		SELECT string_agg(DISTINCT (m.known).method, ', ' ORDER BY (m.known).method) INTO known
		FROM stepadv_internal.believed_methods(me, '{}'::text[]) m
		WHERE '{rollout_id,step_no,advantage}' <@ (m.known).results;
		RAISE EXCEPTION 'unknown method: %', coalesce(quote_literal(checked_method.name), 'NULL')
			USING ERRCODE = CASE WHEN checked_method.name IS NULL THEN 'null_value_not_allowed'
				ELSE 'invalid_parameter_value' END,
			HINT = format('Methods with an advantage per step: %s; '
				'one that somebody else registered is written "schema.method".', known);
	END IF;
	RETURN b.known;
END
$$;
COMMENT ON FUNCTION stepadv_internal.checked_method(text) IS
'part of credit_check: a method of the extension''s, one''s own, a superuser''s, or the one named with its '
'schema; error on any other';

CREATE FUNCTION stepadv.credit_check(rollouts stepadv.rollout_group, method text DEFAULT 'batch_td',
	parameters jsonb DEFAULT NULL,
	gamma float8 DEFAULT 1, max_rollouts integer DEFAULT 16, seed integer DEFAULT 1, OUT n_rollouts bigint,
	OUT n_steps bigint, OUT n_covered bigint,
	OUT coverage float8, OUT correlation float8, OUT rank_correlation float8, OUT sign_agreement float8,
	OUT slope float8, OUT sums float8[]) RETURNS SETOF record
LANGUAGE plpgsql STABLE COST 50000 ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	checked CONSTANT stepadv_internal.known_method := stepadv_internal.checked_method(credit_check.method);
	call CONSTANT text := (SELECT format('%I.%I', n.nspname, p.proname)
		FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.oid = checked.function);
BEGIN
	IF jsonb_typeof(credit_check.parameters) <> 'object' THEN
		RAISE EXCEPTION 'parameters must be a JSON object, not %', credit_check.parameters
			USING ERRCODE = 'invalid_parameter_value', HINT = 'For example {"gamma": 0.9}.';
	ELSIF credit_check.gamma IS NULL OR credit_check.max_rollouts IS NULL OR credit_check.seed IS NULL THEN
		RAISE EXCEPTION '% must not be null', CASE WHEN credit_check.gamma IS NULL THEN 'gamma'
			WHEN credit_check.max_rollouts IS NULL THEN 'max_rollouts' ELSE 'seed' END
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF credit_check.rollouts IS NULL THEN
		RETURN;
	END IF;
	EXECUTE format('SELECT stepadv_internal.credit_agg($1, l.rollout_id, u.rollout_id, u.step_no, u.advantage, $2)'
		' FROM stepadv.left_out($1, $3, $4) l'
		' LEFT JOIN LATERAL %s(stepadv.without_rollout($1, l.rollout_id)%s) u ON true',
		call, stepadv_internal.arguments(checked.function, coalesce(credit_check.parameters, '{}')))
	INTO sums USING credit_check.rollouts, credit_check.gamma, credit_check.max_rollouts, credit_check.seed;
	SELECT c.rollouts, c.steps, c.covered, c.coverage, c.correlation, c.rank_correlation, c.sign_agreement, c.slope
	INTO n_rollouts, n_steps, n_covered, credit_check.coverage, credit_check.correlation, credit_check.rank_correlation,
		credit_check.sign_agreement, credit_check.slope
	FROM (SELECT (stepadv.credit_pool(credit_check.sums)).*) c;
	RETURN NEXT;
END
$$;
COMMENT ON FUNCTION stepadv.credit_check(stepadv.rollout_group, text, jsonb, float8, integer, integer) IS
'whether what a method says of steps comes true, without knowing the truth: each rollout of left_out(…) is left '
'out in turn, and what the method says of its states and actions by the others is compared with what then '
'happened to it; numbers as of credit_pool; sums: for credit_pool over groups';

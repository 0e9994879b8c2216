-- Whether methods predict the outcomes of rollouts that were left out: src/analysis/left_out.c, credit_sums.c,
-- credit_check.c, src/estimators/leave_one_out.c.

CREATE FUNCTION stepadv.without_rollout(rollouts stepadv.rollout_group, rollout_id bigint) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_without_rollout';
COMMENT ON FUNCTION stepadv.without_rollout(stepadv.rollout_group, bigint) IS
'the group without one of its rollouts; error if the group does not contain it; NULL for NULL';

CREATE FUNCTION stepadv_internal.left_out(rollouts stepadv.rollout_group, max_rollouts integer, seed integer)
RETURNS TABLE (rollout_id bigint)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 300 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_left_out';
COMMENT ON FUNCTION stepadv_internal.left_out(stepadv.rollout_group, integer, integer) IS
'the rollouts of a group that credit_sums leaves out one by one: those that are judged and have steps, at most '
'max_rollouts, chosen by a hash of rollout_id and seed, the same on every machine; no rows if there are fewer than '
'two';

CREATE FUNCTION stepadv_internal.shuffle_outcomes(rollouts stepadv.rollout_group, shuffle integer, seed integer)
RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200
AS 'MODULE_PATHNAME', 'stepadv_shuffle_outcomes';
COMMENT ON FUNCTION stepadv_internal.shuffle_outcomes(stepadv.rollout_group, integer, integer) IS
'part of credit_check: the group with outcomes shuffled among the rollouts of each policy, as rewards of their last '
'steps; with several policies, minus the mean of each; shuffle 0: each rollout keeps its own';

-- The arguments are estimates of methods for a candidate of a group, shuffled, without the rollout left_out.
CREATE FUNCTION stepadv_internal.credit_trans(internal, stepadv.rollout_group[], integer, integer, integer, integer,
	bigint, float8[]) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_credit_trans';
COMMENT ON FUNCTION stepadv_internal.credit_trans(internal, stepadv.rollout_group[], integer, integer, integer, integer,
	bigint, float8[]) IS
'aggregate support';
CREATE FUNCTION stepadv_internal.credit_final(internal) RETURNS float8[]
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_credit_final';
COMMENT ON FUNCTION stepadv_internal.credit_final(internal) IS 'aggregate support';
CREATE AGGREGATE stepadv_internal.credit_agg(candidates stepadv.rollout_group[], shuffles integer, seed integer,
	candidate integer, shuffle integer, left_out bigint, advantages float8[]) (
	SFUNC = stepadv_internal.credit_trans, STYPE = internal, SSPACE = 8192,
	FINALFUNC = stepadv_internal.credit_final, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.credit_agg(stepadv.rollout_group[], integer, integer, integer, integer, bigint,
	float8[]) IS
'part of credit_sums: sums per candidate and method. Arguments: a group by its candidates, and the advantages of '
'methods for one of them, with outcomes shuffled and a rollout left out, as an array with a row per step of the others '
'and a column per method; NULL over no rows';

-- A user may check the methods of which they may have views, by name, and methods of other
-- users by schema.name.
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
	FROM stepadv_internal.trusted_methods(me, ARRAY[checked_method.name]) m
	WHERE '{rollout_id,step_no,advantage}' <@ (m.known).results
		AND CASE WHEN checked_method.name LIKE '%.%'
			THEN format('%s.%s', m.schema, (m.known).method) = checked_method.name
			ELSE (m.known).method = checked_method.name AND m.trusted < 4 END
	ORDER BY m.trusted, m.schema, m.number LIMIT 1;
	IF NOT FOUND THEN
		SELECT string_agg(DISTINCT (m.known).method, ', ' ORDER BY (m.known).method) INTO known
		FROM stepadv_internal.trusted_methods(me, '{}'::text[]) m
		WHERE '{rollout_id,step_no,advantage}' <@ (m.known).results;
		RAISE EXCEPTION 'unknown method: %', coalesce(quote_literal(checked_method.name), 'NULL')
			USING ERRCODE = CASE WHEN checked_method.name IS NULL THEN 'null_value_not_allowed'
				ELSE 'invalid_parameter_value' END,
			HINT = format('Methods with an advantage per step: %s; '
				'one that another role registered is written "schema.method".', known);
	END IF;
	RETURN b.known;
END
$$;
COMMENT ON FUNCTION stepadv_internal.checked_method(text) IS
'part of credit_sums: a method of the extension, of the caller, of a superuser, or one named with its schema; '
'error for any other';

CREATE FUNCTION stepadv_internal.credit_sums(candidates stepadv.rollout_group[], method text, parameters jsonb,
	shuffles integer, max_rollouts integer, seed integer)
RETURNS float8[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	checked CONSTANT stepadv_internal.known_method := stepadv_internal.checked_method(credit_sums.method);
	call CONSTANT text := (SELECT format('%I.%I', n.nspname, p.proname)
		FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.oid = checked.function);
	sums float8[];
BEGIN
	IF jsonb_typeof(credit_sums.parameters) <> 'object' THEN
		RAISE EXCEPTION 'parameters must be a JSON object, not %', credit_sums.parameters
			USING ERRCODE = 'invalid_parameter_value', HINT = 'For example {"gamma": 0.9}.';
	ELSIF credit_sums.shuffles IS NULL OR credit_sums.max_rollouts IS NULL OR credit_sums.seed IS NULL THEN
		RAISE EXCEPTION '% must not be null', CASE WHEN credit_sums.shuffles IS NULL THEN 'shuffles'
			WHEN credit_sums.max_rollouts IS NULL THEN 'max_rollouts' ELSE 'seed' END
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	EXECUTE format('SELECT stepadv_internal.credit_agg($1, $2, $3, l.candidate::integer, l.shuffle, l.rollout_id, '
		'm.advantages) FROM (SELECT z.candidate, z.shuffle, l.rollout_id, stepadv.without_rollout(z.rollouts, '
		'l.rollout_id) AS rollouts FROM (SELECT c.candidate, z.shuffle, stepadv_internal.shuffle_outcomes(c.rollouts, '
		'z.shuffle, $3) AS rollouts FROM pg_catalog.unnest($1) WITH ORDINALITY c(rollouts, candidate) '
		'CROSS JOIN pg_catalog.generate_series(0, least($2, 1000)) z(shuffle) OFFSET 0) z '
		'CROSS JOIN stepadv_internal.left_out($1[pg_catalog.array_lower($1, 1)], $4, $3) l OFFSET 0) l '
		'CROSS JOIN LATERAL (SELECT array_agg(ARRAY[u.advantage]) AS advantages FROM %s u) m',
		format(CASE WHEN checked.ours THEN '%s' ELSE '(SELECT stepadv_internal.in_order(array_agg(u.rollout_id), '
			'array_agg(u.step_no), array_agg(u.advantage), l.rollouts) AS advantage FROM %s u)' END,
			call || '(l.rollouts' || stepadv_internal.arguments(checked.function, coalesce(credit_sums.parameters,
			'{}')) || ')'))
	INTO sums USING credit_sums.candidates, credit_sums.shuffles, credit_sums.seed, credit_sums.max_rollouts;
	RETURN sums;
END
$$;
COMMENT ON FUNCTION stepadv_internal.credit_sums(stepadv.rollout_group[], text, jsonb, integer, integer, integer) IS
'what credit_sums does';

CREATE FUNCTION stepadv.credit_sums(candidates stepadv.rollout_group[], method text DEFAULT 'batch_td',
	parameters jsonb DEFAULT NULL, shuffles integer DEFAULT 12, max_rollouts integer DEFAULT 16, seed integer DEFAULT 1)
RETURNS float8[]
LANGUAGE c STABLE COST 200000 AS 'MODULE_PATHNAME', 'stepadv_as_caller';
COMMENT ON FUNCTION stepadv.credit_sums(stepadv.rollout_group[], text, jsonb, integer, integer, integer) IS
'predictions of a method for rollouts that are left out one by one, and their outcomes, for one group with a choice '
'of states per candidate; also with outcomes shuffled the given number of times; for credit_check; NULL if fewer '
'than two rollouts are judged';

CREATE FUNCTION stepadv.credit_check(sums float8[])
RETURNS TABLE (candidate bigint, n_groups bigint, n_steps bigint, coverage float8, score float8, error float8,
	by_chance float8, p_value float8, n_groups_needed bigint, is_best boolean)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100000 ROWS 5 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_credit_check';
COMMENT ON FUNCTION stepadv.credit_check(float8[]) IS
'from array_agg(credit_sums(…)), a row per candidate: score, the correlation of predicted with actual step credit, '
'minus that by chance; error, over groups; p_value, that the best of them scores so by chance; n_groups_needed, for '
'two errors; is_best, within one paired error of the best';

-- The finding as a sentence: about all candidates, then about this one.
CREATE FUNCTION stepadv_internal.credit_finding(groups bigint, best_p float8, n_groups_needed bigint, is_best boolean,
	name text, hidden_p float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE
		WHEN best_p IS NULL THEN format('nothing to compare in these %s groups: their outcomes, or those '
			'of each policy within a group, are alike', groups)
		WHEN best_p <= 0.05 AND is_best AND name = 'stateless'
			THEN 'among the best: the state adds nothing that can be shown'
		WHEN best_p <= 0.05 THEN CASE WHEN is_best THEN 'among the best' ELSE 'worse' END
		ELSE format('no step-level credit can be shown in these %s groups (p %s%s); rollout-level advantages are as '
			'good',
			groups, ltrim(round(best_p::numeric, 2)::text, '0'),
			'; about ' || n_groups_needed || ' groups would be needed') END
		|| CASE WHEN hidden_p < 0.05 THEN format('; but the state hides something (state_check, '
			'p %s): rather history_td, hgpo or gigpo', CASE WHEN hidden_p < 0.0001 THEN '< .0001'
			ELSE ltrim(round(hidden_p::numeric, 4)::text, '0') END) ELSE '' END
$$;
COMMENT ON FUNCTION stepadv_internal.credit_finding(bigint, float8, bigint, boolean, text, float8) IS
'part of credit_check: a row in words, with the least p_value and n_groups_needed of all rows; hidden_p: of '
'state_check, for a method that trusts the state';

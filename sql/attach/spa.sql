-- The view _spa of attach: contributions of steps as rewards (SPA).

-- Expressions for a step's contribution, whether it is grounded, and its fused reward,
-- over an alias of the adapter of shown steps.
CREATE FUNCTION stepadv_internal.spa_expressions(a stepadv_internal.attached, alias text, OUT contribution text,
	OUT grounded text, OUT fused text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET extra_float_digits = 1
AS $$
DECLARE
	settings CONSTANT jsonb := stepadv_internal.view_options(a, 'spa'::text);
	has_features CONSTANT boolean := stepadv_internal.column_type((a).shown, 'stepadv_features'::text) IS NOT NULL;
	arguments text;			-- of fused_reward
BEGIN
	IF NOT has_features AND stepadv_internal.column_type((a).shown, 'stepadv_contribution'::text) IS NULL THEN
		IF stepadv_internal.column_type((a).shown, 'stepadv_grounded'::text) IS NOT NULL THEN
			RAISE EXCEPTION 'grounded is given without features or contribution'
				USING ERRCODE = 'null_value_not_allowed';
		END IF;
		RETURN;
	ELSIF has_features AND stepadv_internal.column_type((a).shown, 'stepadv_contribution'::text) IS NOT NULL THEN
		RAISE EXCEPTION 'features and contribution are both given' USING ERRCODE = 'invalid_parameter_value',
			HINT = 'Contributions are either stored, or predicted from features.';
	ELSIF has_features <> (settings ->> 'model' IS NOT NULL) THEN
		RAISE EXCEPTION '%', CASE WHEN has_features THEN 'features are given, but no model for them'
			ELSE 'a model is given, but no features for it' END
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'A model is named by the option {"spa": {"model": "…"}}, and is a row of progress_models.';
	END IF;
	IF has_features THEN
		PERFORM stepadv_internal.progress_predict_or_nan((SELECT m.model FROM stepadv.progress_models m
			WHERE m.name = settings ->> 'model'), NULL::real[], settings ->> 'model');
		contribution := format('stepadv_internal.progress_predict_or_nan(%s, %s.stepadv_features, %L::text)',
			stepadv_internal.model_expression(ARRAY[(a).rows, (a).shown], settings ->> 'model'), alias,
			settings ->> 'model');
	ELSE
		contribution := alias || '.stepadv_contribution';
	END IF;
	grounded := CASE WHEN stepadv_internal.column_type((a).shown, 'stepadv_grounded'::text) IS NOT NULL THEN alias
		|| '.stepadv_grounded' ELSE 'NULL::boolean' END;
	SELECT coalesce(string_agg(format(', %I => %L::float8', o.key, settings ->> o.key), '' ORDER BY o.key), '')
		INTO arguments
	FROM unnest('{alpha,beta}'::text[]) o(key) WHERE settings ? o.key;
	EXECUTE format('SELECT stepadv.fused_reward(0::float8, true%s)', arguments);
	-- A step whose grounding is NULL counts as not grounded.
	SELECT string_agg(format(', %s::float8', coalesce(quote_literal(settings ->> p.name),
		pg_get_function_arg_default(f.oid, p.i::integer))), '' ORDER BY p.i) INTO arguments
	FROM pg_proc f CROSS JOIN unnest(f.proargnames) WITH ORDINALITY p(name, i)
		WHERE f.oid = 'stepadv.fused_reward(float8, boolean, float8, float8)'::regprocedure AND p.i > 2;
	fused := format('stepadv_internal.fused_reward_or_nan(%s, coalesce(%s, false)%s)', contribution, grounded,
		arguments);
END
$$;
COMMENT ON FUNCTION stepadv_internal.spa_expressions(stepadv_internal.attached, text) IS
'part of attach: contribution, grounding and fused reward of a step; NULL if there is neither a contribution nor '
'features; error if they do not fit';

CREATE FUNCTION stepadv_internal.spa_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	settings CONSTANT jsonb := stepadv_internal.view_options(a, 'spa'::text);
	folded CONSTANT record := stepadv_internal.spa_expressions(a, 's'::text);
	shown CONSTANT record := stepadv_internal.spa_expressions(a, 'b'::text);
	keys CONSTANT text[] := stepadv_internal.group_columns((a).shown, (a).n_group_columns);
	beside record;
BEGIN
	beside := stepadv_internal.beside(a, 'step'::text,
		'{rollout_id,step_no,step_id,contribution,grounded,fused_reward,return,advantage}'::text[],
		jsonb_build_object('contribution', format('nullif(%s, ''NaN''::float8)', shown.contribution), 'grounded',
			shown.grounded, 'fused_reward', format('nullif(%s, ''NaN''::float8)', shown.fused)), '{b}'::text[],
		'{staleness}'::text[], '{}'::jsonb);
	RETURN format($view$
		SELECT %1$s FROM (
			SELECT %2$s, stepadv_internal.lenient_rollout_agg(s.stepadv_step::bigint, s.stepadv_rollout::bigint,
				%10$s, NULL::bigint, NULL::bigint, %3$s, NULL::boolean,
				NULL::bigint, %4$s::float8, NULL::float8, NULL::float8, NULL::integer, NULL::float8[],
				NULL::boolean, NULL::bigint, NULL::bigint, NULL::float8) AS %5$I
			FROM %6$s s WHERE %7$s AND s.stepadv_no IS NOT NULL GROUP BY %2$s) g
		CROSS JOIN LATERAL stepadv.gae(g.%5$I%8$s) a%9$s$view$,
		beside.items, stepadv_internal.list(keys, 's.%1$I'::text, ', '::text), folded.fused,
		CASE WHEN stepadv_internal.column_type((a).shown, 'stepadv_value'::text) IS NOT NULL THEN 's.stepadv_value'
			ELSE '0' END,
		stepadv_internal.value_name(a), stepadv_internal.relation_name((a).shown), stepadv_internal.list(keys,
			's.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text),
		-- Settings of gae apply here too, unless SPA has its own.
		stepadv_internal.arguments('stepadv.gae(stepadv.rollout_group, float8, float8, boolean)'::regprocedure, (
			SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}')
			FROM jsonb_each((a).options || coalesce(CASE WHEN jsonb_typeof((a).options -> 'gae') = 'object'
				THEN (a).options -> 'gae' END, '{}') || settings) e
			WHERE e.key IN ('gamma', 'lambda'))), beside.joins, stepadv_internal.shown_number(a,
				's'::text));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.spa_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _spa: contributions, grounding, their fused reward, and gae of it';

-- The view _spa of attach: contributions of steps as rewards (SPA).

-- A column that attach was given, as an expression over the relation of the
-- shown steps, after "alias."; NULL if it was not given.
CREATE FUNCTION attach_spa_column(context jsonb, role text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	column_name CONSTANT text := context -> 'mapping' ->> attach_spa_column.role;
	steps_name CONSTANT text := context -> 'steps' ->> 'name';
	declared oid;			-- the column's type
	type oid;				-- what lies under its domain
	target text;
	fits boolean;
BEGIN
	IF column_name IS NULL THEN
		RETURN NULL;
	END IF;
	SELECT a.atttypid INTO declared FROM pg_attribute a
	WHERE a.attrelid = (context -> 'steps' ->> 'oid')::oid AND a.attname = column_name AND a.attnum > 0 AND NOT a.attisdropped;
	IF declared IS NULL THEN
		RAISE EXCEPTION 'column "%" given as % does not exist in %', column_name, attach_spa_column.role, steps_name
			USING ERRCODE = 'undefined_column', HINT = 'What _spa reads are columns of the relation of the shown steps.';
	END IF;
	type := declared;
	WHILE (SELECT t.typtype FROM pg_type t WHERE t.oid = type) = 'd' LOOP
		SELECT t.typbasetype INTO type FROM pg_type t WHERE t.oid = type;
	END LOOP;
	target := CASE attach_spa_column.role WHEN 'features' THEN 'real[]' WHEN 'grounded' THEN 'boolean' ELSE 'float8' END;
	fits := CASE target
		WHEN 'real[]' THEN
			(SELECT t.typelem FROM pg_type t WHERE t.oid = type AND t.typcategory = 'A')
				IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'float4'::regtype, 'float8'::regtype, 'numeric'::regtype)
			-- Such as that of pgvector.
			OR EXISTS (SELECT FROM pg_cast c WHERE c.castsource = type AND c.casttarget = 'real[]'::regtype)
		WHEN 'boolean' THEN type = 'bool'::regtype
		ELSE type IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'float4'::regtype, 'float8'::regtype, 'numeric'::regtype) END;
	IF fits IS NOT TRUE THEN
		RAISE EXCEPTION 'column "%" of % cannot serve as %: its type is %', column_name, steps_name, attach_spa_column.role, format_type(declared, NULL)
			USING ERRCODE = 'datatype_mismatch',
				HINT = format('%s must be %s.', attach_spa_column.role, CASE target
					WHEN 'real[]' THEN 'an array of numbers, or of a type with a cast to real[]' WHEN 'boolean' THEN 'boolean' ELSE 'a number' END);
	END IF;
	RETURN format('%I::%s', column_name, target);
END
$$;
COMMENT ON FUNCTION attach_spa_column(jsonb, text) IS 'part of attach: a column that the view _spa reads, checked and cast';

CREATE FUNCTION attach_spa(context jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings CONSTANT jsonb := @extschema@.attach_builder_options(context, 'spa', '{model,alpha,beta,gamma,lambda}');
	results CONSTANT text[] := '{rollout_id,step_no,step_id,contribution,grounded,fused_reward,return,advantage}';
	features text := @extschema@.attach_spa_column(context, 'features');
	contribution text := @extschema@.attach_spa_column(context, 'contribution');
	grounded text;
	value text;
	fused text;				-- %1$s: the alias
	arguments text;			-- of fused_reward
	items text[];
	joins text;
BEGIN
	IF features IS NULL AND contribution IS NULL THEN
		IF context -> 'mapping' ? 'grounded' THEN
			RAISE EXCEPTION 'grounded is given without features or contribution' USING ERRCODE = 'null_value_not_allowed';
		END IF;
		RETURN NULL;
	ELSIF features IS NOT NULL AND contribution IS NOT NULL THEN
		RAISE EXCEPTION 'features and contribution are both given' USING ERRCODE = 'invalid_parameter_value',
			HINT = 'Contributions are either stored, or predicted from features.';
	ELSIF (features IS NOT NULL) <> (settings ->> 'model' IS NOT NULL) THEN
		RAISE EXCEPTION '%', CASE WHEN features IS NULL THEN 'a model is named, but no features for it' ELSE 'features are given, but no model for them' END
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'A model is named by the option {"spa": {"model": "…"}}, and is a row of progress_models.';
	END IF;
	-- Whether the action could be executed is what ok says of a tool call.
	IF NOT context -> 'mapping' ? 'grounded' AND EXISTS (SELECT FROM pg_attribute a
		WHERE a.attrelid = (context -> 'steps' ->> 'oid')::oid AND a.attname = context -> 'mapping' ->> 'ok' AND a.attnum > 0 AND NOT a.attisdropped)
	THEN
		context := jsonb_set(context, '{mapping,grounded}', context -> 'mapping' -> 'ok');
	END IF;
	grounded := @extschema@.attach_spa_column(context, 'grounded');
	value := @extschema@.attach_spa_column(context, 'value');

	-- % is doubled in names: what follows is a format.
	IF features IS NOT NULL THEN
		PERFORM @extschema@.user_model(settings ->> 'model');
		contribution := format('@extschema@.progress_predict((SELECT @extschema@.user_model(%s)), %%1$s.%s)',
			replace(quote_literal(settings ->> 'model'), '%', '%%'), replace(features, '%', '%%'));
	ELSE
		contribution := '%1$s.' || replace(contribution, '%', '%%');
	END IF;
	SELECT coalesce(string_agg(format(', %I => %L::float8', o.key, settings ->> o.key), '' ORDER BY o.key), '') INTO arguments
	FROM unnest('{alpha,beta}'::text[]) o(key) WHERE settings ? o.key;
	EXECUTE format('SELECT @extschema@.fused_reward(0, true%s)', arguments);
	-- What is not known to have been executed earns nothing for it.
	fused := format('@extschema@.fused_reward(%s, %s%s)', contribution,
		CASE WHEN grounded IS NULL THEN 'false' ELSE format('coalesce(%%1$s.%s, false)', replace(grounded, '%', '%%')) END, arguments);

	context := context || jsonb_build_object('made', jsonb_build_object(
		'contribution', jsonb_build_object('expression', format(contribution, 'b'),
			'columns', jsonb_build_array(coalesce(context -> 'mapping' -> 'features', context -> 'mapping' -> 'contribution'))),
		'grounded', jsonb_build_object('expression', coalesce('b.' || grounded, 'NULL::boolean'),
			'columns', CASE WHEN grounded IS NULL THEN '[]' ELSE jsonb_build_array(context -> 'mapping' -> 'grounded') END),
		'fused_reward', jsonb_build_object('expression', format(fused, 'b'), 'columns', '[]'::jsonb)));
	SELECT b.items, b.joins INTO items, joins FROM @extschema@.attach_beside(context, 'step', results) b;
	RETURN format('SELECT %1$s FROM (SELECT %2$s, @extschema@.rollout_agg(%3$s, %4$s, %5$s, NULL::bigint, NULL::bigint, %6$s, NULL::boolean,'
			' NULL::bigint, %7$s, NULL::float8, NULL::float8) AS %8$s FROM %9$s s WHERE %10$s GROUP BY %2$s) g'
			' CROSS JOIN LATERAL @extschema@.gae(g.%8$s%11$s) a%12$s',
		array_to_string(items, ', '), context ->> 'group_list',
		context -> 'inputs' ->> 'step_id', context -> 'inputs' ->> 'rollout_id', context -> 'inputs' ->> 'step_no',
		format(fused, 's'), coalesce('s.' || value, '0::float8'), context ->> 'group_value', context -> 'steps' ->> 'name',
		concat_ws(' AND ', context ->> 'group_filter', format('s.%I IS NOT NULL', context -> 'mapping' ->> 'step_no')),
		-- What is said of gae holds here too, unless SPA has settings of its own.
		@extschema@.attach_arguments('@extschema@.gae'::regproc, (
			SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}')
			FROM jsonb_each((context -> 'options') || coalesce(CASE WHEN jsonb_typeof(context -> 'options' -> 'gae') = 'object'
				THEN context -> 'options' -> 'gae' END, '{}') || settings) e
			WHERE e.key IN ('gamma', 'lambda'))), joins);
END
$$;
COMMENT ON FUNCTION attach_spa(jsonb) IS 'part of attach: the query of the view _spa: contributions, grounding, their fused reward, and gae of it';

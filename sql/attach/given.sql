-- The arguments of attach: columns by role, options, and their checks.

-- The relation that an option names; without a schema, it is in that of the source.
CREATE FUNCTION stepadv_internal.relation_option(options jsonb, name text, source regclass) RETURNS regclass
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	written CONSTANT text := options ->> relation_option.name;
	parts CONSTANT text[] := parse_ident(written);
	relation CONSTANT regclass := to_regclass((
		SELECT string_agg(quote_ident(p), '.' ORDER BY i) FROM unnest(CASE WHEN cardinality(parts) > 1 THEN parts
			ELSE ARRAY[n.nspname::text] || parts END) WITH ORDINALITY p(p, i)))
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation_option.source;
BEGIN
	IF written IS NOT NULL AND relation IS NULL THEN
		RAISE EXCEPTION 'relation % given as % does not exist', written, relation_option.name
			USING ERRCODE = 'undefined_table';
	END IF;
	RETURN relation;
END
$$;
COMMENT ON FUNCTION stepadv_internal.relation_option(jsonb, text, regclass) IS
'part of attach: the relation that an option names; NULL: none';

CREATE FUNCTION stepadv_internal.name_list(given jsonb, name text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF jsonb_typeof(given -> name) = 'array' THEN
		RETURN ARRAY(SELECT e.name FROM jsonb_array_elements_text(given -> name_list.name) WITH ORDINALITY e(name, i)
			ORDER BY e.i);
	END IF;
	RETURN CASE WHEN given ? name THEN ARRAY[given ->> name] END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.name_list(jsonb, text) IS
'part of attach: the names under a key, given as an array or as one string; NULL: the key is missing';

CREATE FUNCTION stepadv_internal.check_columns(columns jsonb) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT text[] := ARRAY(SELECT r.role FROM stepadv_internal.roles r WHERE r.lives_in IN ('source', 'steps',
		'rollouts') AND r.role <> 'dimension' ORDER BY r.place)
		|| '{rewards,dimensions}'::text[];
	member record;
BEGIN
	IF jsonb_typeof(check_columns.columns) <> 'object' THEN
		RAISE EXCEPTION 'columns must be a JSON object, not %', check_columns.columns
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'For example {"success": "won", "dimensions": ["seed", "model"]}.';
	END IF;
	FOR member IN SELECT e.key, jsonb_typeof(e.value) AS type FROM jsonb_each(check_columns.columns) e LOOP
		IF member.key <> ALL (known) THEN
			PERFORM stepadv_internal.refuse_name('role of a column'::text, member.key, known);
		ELSIF member.type NOT IN ('string', 'null') AND NOT (member.type = 'array'
			AND member.key IN ('rewards', 'dimensions')) THEN
			RAISE EXCEPTION '% must be the name of a column, not an %', member.key, member.type
				USING ERRCODE = 'invalid_parameter_value';
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_columns(jsonb) IS
'part of attach: error if columns by role are invalid';

-- Moves options of attach itself to their own fields; the rest are for views and methods.
CREATE FUNCTION stepadv_internal.given(source regclass, group_by text[], roles jsonb, options jsonb)
	RETURNS stepadv_internal.given
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	states CONSTANT jsonb := options -> 'states';
	g stepadv_internal.given;
BEGIN
	IF jsonb_typeof(options) <> 'object' THEN
		RAISE EXCEPTION 'options must be a JSON object, not %', options
			USING ERRCODE = 'invalid_parameter_value', HINT = 'For example {"rtmc": {"gamma": 0.9}}.';
	END IF;
	roles := jsonb_strip_nulls(roles);
	g.source := given.source;
	g.group_by := given.group_by;
	g.roles := roles - '{rewards,dimensions}'::text[];
	g.rewards := nullif(stepadv_internal.name_list(roles, 'rewards'::text), '{}');
	g.dimensions := nullif(stepadv_internal.name_list(roles, 'dimensions'::text), '{}');
	g.states := CASE WHEN jsonb_typeof(states) = 'object' THEN states ->> 'kind' ELSE states #>> '{}' END;
	g.unit := options ->> 'unit';
	g.columns := stepadv_internal.name_list(options, 'show_columns'::text);
	g.steps := coalesce(stepadv_internal.relation_option(options, 'show_steps'::text, given.source), given.source);
	g.rollouts := stepadv_internal.relation_option(options, 'show_rollouts'::text, given.source);
	g.options := options - '{states,unit,show_columns,show_steps,show_rollouts}'::text[]
		|| CASE WHEN jsonb_typeof(states) = 'object' AND states - 'kind' <> '{}' THEN jsonb_build_object('states',
			states - 'kind') ELSE '{}' END;
	RETURN g;
END
$$;
COMMENT ON FUNCTION stepadv_internal.given(regclass, text[], jsonb, jsonb) IS
'part of attach: its arguments, in one value';

-- Error if the arguments are incomplete or contradict each other.
CREATE FUNCTION stepadv_internal.check_given(g stepadv_internal.given) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r CONSTANT jsonb := g.roles;
	known_states CONSTANT text[] :=
		'{observation,observation_last,history,history_set,history_last,root,signature,auto}';
	needs text;
BEGIN
	IF g.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	ELSIF coalesce(cardinality(g.group_by), 0) = 0 THEN
		RAISE EXCEPTION 'group_by must name at least one column' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM stepadv_internal.check_names('group_by'::text, g.group_by);
	IF NOT r ?& '{rollout_id,step_no}' THEN
		RAISE EXCEPTION '% must be given', CASE WHEN r ? 'rollout_id' THEN 'step_no' ELSE 'rollout_id' END
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT r ?| '{reward,success}' AND g.rewards IS NULL THEN
		RAISE EXCEPTION 'reward or success must be given' USING ERRCODE = 'null_value_not_allowed',
			HINT = 'Without either, no rollout is judged.';
	ELSIF g.states <> ALL (known_states) THEN
		PERFORM stepadv_internal.refuse_name('kind of states'::text, g.states, known_states);
	END IF;
	PERFORM stepadv_internal.check_unit(coalesce(g.unit, 'step'), ''::text);
	IF g.unit <> 'step' AND NOT r ? 'turn' THEN
		RAISE EXCEPTION 'unit % needs a column given as turn', quote_literal(g.unit)
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM stepadv_internal.check_names('rewards'::text, g.rewards);
	SELECT n.n INTO needs FROM unnest(g.rewards) n(n)
		WHERE octet_length('mean_reward_' || n.n) > current_setting('max_identifier_length')::integer LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION
			'the views over time would have a column of reward component "%" with a name longer than % bytes',
			needs, current_setting('max_identifier_length')
			USING ERRCODE = 'name_too_long', HINT = 'Attach a view that gives it a shorter name.';
	END IF;
	PERFORM stepadv_internal.check_names('dimensions'::text, g.dimensions);
	IF r ?| '{args,ok}' AND NOT r ? 'tool' THEN
		RAISE EXCEPTION '% is given without tool', CASE WHEN r ? 'args' THEN 'args' ELSE 'ok' END
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'A tool call is signed by tool, args and ok; they are columns.';
	ELSIF (r ? 'logp_new') <> (r ? 'logp_old') OR r ? 'token_mask' AND NOT r ? 'logp_new' THEN
		RAISE EXCEPTION '% must be given', CASE WHEN r ? 'logp_new' THEN 'logp_old' ELSE 'logp_new' END
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'A ratio needs both logp_new and logp_old; token_mask is for them.';
	ELSIF r ? 'logp_ref' AND NOT r ? 'logp_new' THEN
		RAISE EXCEPTION 'logp_new must be given' USING ERRCODE = 'null_value_not_allowed',
			HINT = 'logp_ref is compared with logp_new.';
	ELSIF r ? 'prompt_token_ids' AND NOT r ? 'response_token_ids' THEN
		RAISE EXCEPTION 'response_token_ids must be given' USING ERRCODE = 'null_value_not_allowed',
			HINT = 'A prompt is expected to repeat the prompt and the response of the step before.';
	ELSIF r ? 'ended_at' AND NOT r ? 'started_at' THEN
		RAISE EXCEPTION 'started_at must be given' USING ERRCODE = 'null_value_not_allowed',
			HINT = 'The duration of a rollout needs both started_at and ended_at.';
	END IF;
	needs := CASE WHEN g.states LIKE 'observation%' AND NOT r ? 'state' THEN 'a column given as state'
		WHEN g.states = 'signature' AND NOT r ? 'tool' THEN 'a column given as tool'
		WHEN (g.states LIKE 'history%' OR g.states = 'auto') AND NOT r ?| '{action,tool}'
			THEN 'a column given as action or as tool'
		WHEN g.states = 'auto' AND NOT r ? 'reward' THEN 'a column given as reward' END;
	IF needs IS NOT NULL THEN
		RAISE EXCEPTION 'states % need %', quote_literal(g.states), needs USING ERRCODE = 'null_value_not_allowed';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_given(stepadv_internal.given) IS
'part of attach: error if its arguments are incomplete or contradict each other';

-- The relations must exist, be tables or views, be readable, and have the columns
-- of the group, those that they are joined by, and those to show.
CREATE FUNCTION stepadv_internal.check_relations(g stepadv_internal.given) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c record;
BEGIN
	IF stepadv_internal.relation_name(g.source) IS NULL THEN
		RAISE EXCEPTION 'relation % does not exist', g.source::oid USING ERRCODE = 'undefined_table';
	END IF;
	SELECT p.oid INTO c FROM pg_class p WHERE p.oid IN (g.source, g.steps, g.rollouts)
		AND p.relkind NOT IN ('r', 'p', 'v', 'm', 'f');
	IF FOUND THEN
		RAISE EXCEPTION '% is not a table or view', stepadv_internal.relation_name(c.oid::regclass)
			USING ERRCODE = 'wrong_object_type';
	ELSIF NOT has_any_column_privilege(g.source, 'SELECT') THEN
		RAISE EXCEPTION 'permission denied for %', stepadv_internal.relation_name(g.source)
			USING ERRCODE = 'insufficient_privilege';
	END IF;
	SELECT n.n INTO c FROM unnest(g.group_by) n(n) WHERE stepadv_internal.column_type(g.source, n.n) IS NULL LIMIT 1;
	IF FOUND THEN
		PERFORM stepadv_internal.refuse_column(format('column "%s" given as group_by does not exist in %s', c.n,
			stepadv_internal.relation_name(g.source)), c.n, ARRAY[g.source], NULL::text);
	END IF;
	SELECT n.relation, n.given_as, n.name INTO c
	FROM (
		SELECT g.steps AS relation, 'show_steps' AS given_as, s AS name FROM unnest(g.group_by
			|| ARRAY[g.roles ->> 'rollout_id', g.roles ->> 'step_no', g.roles ->> 'step_id']) s
		WHERE g.steps <> g.source
		UNION ALL
		SELECT g.rollouts, 'show_rollouts', s FROM unnest(g.group_by || (g.roles ->> 'rollout_id')) s
			WHERE g.rollouts IS NOT NULL
	) n
	WHERE n.name IS NOT NULL AND stepadv_internal.column_type(n.relation, n.name) IS NULL LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'column "%" does not exist in %, given as %', c.name,
			stepadv_internal.relation_name(c.relation), c.given_as
			USING ERRCODE = 'undefined_column',
				HINT = 'Its rows are joined by the columns of the group, the rollout and the step.';
	END IF;
	SELECT n.name INTO c FROM unnest(g.columns) n(name)
	WHERE n.name IS NULL OR coalesce(stepadv_internal.column_type(g.steps, n.name),
		stepadv_internal.column_type(g.rollouts, n.name)) IS NULL LIMIT 1;
	IF FOUND THEN
		PERFORM stepadv_internal.refuse_column(format('column "%s" given in show_columns does not exist in %s',
			coalesce(c.name, '<NULL>'),
			concat_ws(' or ', stepadv_internal.relation_name(g.steps), stepadv_internal.relation_name(g.rollouts))),
				c.name, ARRAY[g.steps, g.rollouts], NULL::text);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_relations(stepadv_internal.given) IS
'part of attach: error where a relation cannot be read or lacks a column';

-- An option that no view has is an error, even if its view is not created.
CREATE FUNCTION stepadv_internal.check_options(a stepadv_internal.attached, has_tool boolean) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	methods stepadv_internal.known_method[];
	known text[];
	option record;
BEGIN
	IF (a).options = '{}' THEN
		RETURN;
	END IF;
	methods := ARRAY(SELECT m FROM stepadv_internal.methods_of(a) m);
	IF NOT '{truncated,next_state}' <@ stepadv_internal.available_roles(a)
		AND EXISTS (SELECT FROM stepadv_internal.made_methods(a, methods) m WHERE m.ours
			AND m.settings ->> 'truncated' = 'bootstrap')
	THEN
		RAISE EXCEPTION 'truncated => ''bootstrap'' needs columns given as truncated and as next_state'
			USING ERRCODE = 'null_value_not_allowed',
			HINT = 'They say which rollouts were cut off, and where their last step led.';
	END IF;
	IF NOT '{logp}' <@ stepadv_internal.available_roles(a) AND EXISTS (
		SELECT FROM stepadv_internal.made_methods(a, methods) m WHERE m.ours AND m.settings ->> 'weights' = 'policy')
	THEN
		RAISE EXCEPTION 'weights => ''policy'' needs a column given as logp' USING ERRCODE = 'null_value_not_allowed',
			HINT = 'It is the log-probability of the action that the step took.';
	END IF;
	known := CASE WHEN has_tool THEN '{signature}' ELSE '{}' END::text[]
		|| CASE WHEN (a).states LIKE '%\_last' THEN '{states}' ELSE '{}' END::text[]
		|| ARRAY(SELECT m.method FROM unnest(methods) m WHERE m.instance IS NULL)
		|| ARRAY(SELECT v.suffix FROM stepadv_internal.combined_views v WHERE v.suffix <> 'values' ORDER BY v.place);
	PERFORM stepadv_internal.view_options(a, v.suffix) FROM stepadv_internal.combined_views v
		WHERE (a).options ? v.suffix;
	-- Arguments of methods whose columns are given are checked in their calls.
	PERFORM stepadv_internal.arguments(m.function, CASE WHEN m.takes_history
		THEN ((a).options -> m.method) - 'history'::text ELSE (a).options -> m.method END)
	FROM unnest(methods) m
	WHERE m.instance IS NULL AND jsonb_typeof((a).options -> m.method) = 'object'
		AND NOT m.requires <@ stepadv_internal.available_roles(a);
	SELECT e.key, e.value INTO option FROM jsonb_each((a).options) e
	WHERE e.key <> 'methods' AND CASE WHEN jsonb_typeof(e.value) = 'object' THEN e.key <> ALL (known)
		ELSE NOT EXISTS (SELECT FROM unnest(methods) m WHERE stepadv_internal.method_options(m,
			jsonb_build_object(e.key, e.value)) <> '{}') END
	ORDER BY e.key LIMIT 1;
	IF NOT FOUND THEN
		RETURN;
	ELSIF option.key = ANY (known) THEN
		RAISE EXCEPTION 'option "%" must be an object, not %', option.key, option.value
			USING ERRCODE = 'invalid_parameter_value',
			HINT = 'For example {"rtmc": {"gamma": 0.9}}.';
	ELSIF jsonb_typeof(option.value) <> 'object' AND EXISTS (SELECT FROM unnest(methods) m
		WHERE option.key = ANY (m.parameters)) THEN
		RAISE EXCEPTION 'option "%" cannot be % for any function', option.key, option.value
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM stepadv_internal.refuse_name('option'::text, option.key,
		'{states,unit,show_columns,show_steps,show_rollouts,methods}'::text[] || known
		|| ARRAY(SELECT DISTINCT p.p FROM unnest(methods) m CROSS JOIN LATERAL unnest(m.parameters) p(p) ORDER BY 1));
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_options(stepadv_internal.attached, boolean) IS
'part of attach: error for an option that no view has';

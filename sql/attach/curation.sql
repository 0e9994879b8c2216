-- Selection of steps to train on: plain SQL over any relation of advantages.

-- A condition in a selection's view that is always true.  Its arguments record the
-- roles of columns, and survive dumps and changes of the comment.
CREATE FUNCTION stepadv_internal.selection_of(group_by text[], columns jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT true $$;
COMMENT ON FUNCTION stepadv_internal.selection_of(text[], jsonb) IS
'part of create_selection: true; the arguments say which columns of the view are the group''s, and which have a role';

-- The sort key of a value, the same in every database: numbers as numbers,
-- everything else by the bytes of its text.
CREATE FUNCTION stepadv_internal.curation_key(expression text, type oid) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN curation_key.type IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'numeric'::regtype)
		THEN curation_key.expression
		ELSE format('%s::text COLLATE "C"', curation_key.expression) END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_key(text, oid) IS
'part of select_steps: the SQL expression that steps are ordered by, for an expression of the given type';

CREATE FUNCTION stepadv_internal.curation_refuse(problem text) RETURNS float8
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION '%', curation_refuse.problem USING ERRCODE = 'data_exception';
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_refuse(text) IS
'part of select_steps: an error, raised from within a query';

-- The SQL expression for a column of s as a finite number, NULL for NULL.
CREATE FUNCTION stepadv_internal.curation_number(relation regclass, name text, role text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	type oid := stepadv_internal.base_type(stepadv_internal.column_type(curation_number.relation,
		curation_number.name));
	number text;
BEGIN
	IF curation_number.name IS NULL THEN
		RAISE EXCEPTION '% must be given', CASE curation_number.role WHEN 'advantage' THEN 'advantage_column'
			ELSE curation_number.role END
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF type IS NULL THEN
		RAISE EXCEPTION 'column "%" given as % does not exist in %', curation_number.name, curation_number.role,
			curation_number.relation
			USING ERRCODE = 'undefined_column',
				HINT = CASE curation_number.role
					WHEN 'advantage' THEN 'A relation of advantages is needed, such as a view made by attach; another '
						'column is named by advantage_column => ''…''.'
					WHEN 'max_staleness' THEN 'The views of attach have it if attach was given the column policy_step '
						'of a rollout.'
					WHEN 'min_visits' THEN 'The views of gigpo, graphgpo, hgpo and rtmc have it.'
					WHEN 'min_action_visits' THEN 'The views of rtmc and batch_td have it.'
					WHEN 'success_only' THEN 'Whether a rollout succeeded: name a number or boolean by outcome '
						'=> ''…''.'
					WHEN 'stderr' THEN 'The t-value is advantage over its error, q_error in the views of rtmc and '
						'batch_td; another column is named by stderr => ''…''.'
					WHEN 'min_confidence' THEN 'The views of rtmc and batch_td have it.'
					ELSE format('Name a column by %s => ''…''.', curation_number.role) END;
	END IF;
	number := stepadv_internal.role_column(curation_number.role, curation_number.relation, curation_number.name,
		's'::text);
	-- Integers are finite.
	IF type IN ('float4'::regtype, 'float8'::regtype, 'numeric'::regtype) THEN
		number := format('CASE WHEN abs(%1$s) = ''Infinity'' OR %1$s = ''NaN'' THEN '
			'stepadv_internal.curation_refuse(format(%2$L, s.step_no, s.rollout_id, %1$s)) ELSE %1$s END',
			number, replace(curation_number.role, '%', '%%') || ' of step %s of rollout %s is not a finite number: %s');
	END IF;
	RETURN number;
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_number(regclass, text, text) IS
'part of select_steps: the SQL expression for a column as a finite number';

-- Properties of a relation of advantages: the group's columns, columns by role, and
-- the view _groups of its attachment.
CREATE FUNCTION stepadv_internal.curation_source(advantages regclass, group_by text[]) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source record;
	a stepadv_internal.attached;
	made jsonb;
	by_attach boolean := false;
	columns jsonb := '{}';
	groups oid;
	name text;
	type oid;
BEGIN
	IF curation_source.advantages IS NULL THEN
		RAISE EXCEPTION 'advantages must be given' USING ERRCODE = 'null_value_not_allowed',
			HINT = 'For example ''rl.steps_rtmc''.';
	END IF;
	SELECT format('%I.%I', n.nspname, c.relname) AS full_name, c.relkind, c.relowner INTO source
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = curation_source.advantages;
	IF source.full_name IS NULL THEN
		RAISE EXCEPTION 'relation % does not exist', curation_source.advantages::oid USING ERRCODE = 'undefined_table';
	ELSIF source.relkind NOT IN ('r', 'p', 'v', 'm', 'f') THEN
		RAISE EXCEPTION '% is not a table or view', source.full_name USING ERRCODE = 'wrong_object_type';
	ELSIF NOT has_any_column_privilege(curation_source.advantages, 'SELECT') THEN
		RAISE EXCEPTION 'permission denied for %', source.full_name USING ERRCODE = 'insufficient_privilege';
	END IF;

	SELECT k.* INTO a FROM stepadv_internal.attachments(source.relowner, NULL::regclass) k
		WHERE curation_source.advantages = ANY (k.views);
	IF FOUND THEN
		by_attach := true;
		-- The view's columns with the user's state and action: those from which these roles are read.  None if
		-- several match, or if attach derives the role from several columns.
		SELECT coalesce(jsonb_object_agg(x.role, x.names[1]), '{}') INTO columns
		FROM (
			SELECT r.role, array_agg(v.name) AS names
			FROM (SELECT c.name AS role, min(c.column_name) AS column_name FROM stepadv_internal.view_columns(a.rows) c
				WHERE c.name IN ('state', 'action') GROUP BY 1 HAVING count(*) = 1) r
			JOIN stepadv_internal.view_columns(a.shown) s ON s.plain AND s.column_name = r.column_name
				AND s.name NOT LIKE 'stepadv\_%'
			JOIN stepadv_internal.view_columns(curation_source.advantages) v ON v.plain
				AND (v.relation, v.column_name) IN ((a.shown, s.name), (s.relation, s.column_name))
			GROUP BY r.role
		) x
		WHERE cardinality(x.names) = 1;
		groups := a.views[array_position(a.view_kinds, 'groups')];
		-- The group's columns come first in every view.
		made := to_jsonb(stepadv_internal.group_columns(curation_source.advantages, a.n_group_columns));
	ELSE
		-- For a selection, the arguments of selection_of in its view.
		SELECT to_jsonb(max(replace(m.m[1], '''''', ''''))::text[]),
			coalesce(max(replace(m.m[2], '''''', '''')), '{}')::jsonb
		INTO made, columns
		FROM regexp_matches(pg_get_viewdef(curation_source.advantages),
			'stepadv_internal\.selection_of\(''((?:[^'']|'''')*)''::text\[\], ''((?:[^'']|'''')*)''::jsonb\)') m(m);
	END IF;
	IF made IS NULL AND curation_source.group_by IS NULL THEN
		RAISE EXCEPTION 'the columns of the group of % are not known', source.full_name
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name them by group_by => ''{…}''. '
					'They are known of views made by attach or create_selection.';
	END IF;
	IF curation_source.group_by = '{}' THEN
		RAISE EXCEPTION 'group_by must name at least one column' USING ERRCODE = 'invalid_parameter_value';
	ELSIF curation_source.group_by IS NOT NULL AND to_jsonb(curation_source.group_by) <> coalesce(made, '[]') THEN
		-- The view _groups has the attachment's groups, not the caller's.
		groups := NULL;
		made := to_jsonb(curation_source.group_by);
		PERFORM stepadv_internal.check_names('group_by'::text, curation_source.group_by);
	END IF;
	FOR name IN SELECT jsonb_array_elements_text(made)
		UNION ALL SELECT unnest('{rollout_id,step_no,step_id}'::text[]) LOOP
		type := stepadv_internal.base_type(stepadv_internal.column_type(curation_source.advantages, name));
		IF type IS NULL THEN
			RAISE EXCEPTION 'column "%" does not exist in %', name, source.full_name
				USING ERRCODE = 'undefined_column',
					HINT = 'A relation of advantages has the columns of the group, rollout_id, step_no, step_id and '
						'advantage.';
		ELSIF name = 'step_no' AND type NOT IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) THEN
			RAISE EXCEPTION 'column "%" of % cannot serve as %: its type is %', name, source.full_name, name,
				format_type(type, NULL)
				USING ERRCODE = 'datatype_mismatch', HINT = 'step_no must be an integer.';
		END IF;
	END LOOP;
	RETURN jsonb_build_object('name', source.full_name, 'group_by', made, 'columns', columns, 'groups', groups::bigint,
		'by_attach', by_attach);
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_source(regclass, text[]) IS
'part of select_steps: the columns of a relation of advantages, by role';

-- Checks the parameters of rules before anything is read.
CREATE FUNCTION stepadv_internal.curation_check(settings jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name text;
	threshold float8;
	most integer;
BEGIN
	FOREACH name IN ARRAY '{min_advantage,min_t}'::text[] LOOP
		threshold := (settings ->> name)::float8;
		IF NOT (threshold >= 0 AND threshold < 'Infinity') THEN
			RAISE EXCEPTION '% must be a finite number of at least 0, not %', name,
				threshold USING ERRCODE = 'invalid_parameter_value';
		END IF;
	END LOOP;
	IF (settings ->> 'max_staleness')::integer < 0 THEN
		RAISE EXCEPTION 'max_staleness must be at least 0, not %', settings ->> 'max_staleness'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = '0 keeps the rollouts of the newest policy step; NULL, the default, sets no limit.';
	END IF;
	IF NOT ((settings ->> 'min_confidence')::float8 BETWEEN 0 AND 1) THEN
		RAISE EXCEPTION 'min_confidence must be between 0 and 1, not %', settings ->> 'min_confidence'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'It is a probability. At 0.5 both signs are equally likely.';
	END IF;
	FOREACH name IN ARRAY '{min_visits,min_action_visits,per_state,per_rollout,per_group}'::text[] LOOP
		most := (settings ->> name)::integer;
		IF most < 1 THEN
			RAISE EXCEPTION '% must be at least 1, not %', name, most
				USING ERRCODE = 'invalid_parameter_value', HINT = 'NULL, the default, sets no limit.';
		END IF;
	END LOOP;
	IF settings ->> 'informative' NOT IN ('dapo', 'verl_agent', 'rtmc') THEN
		RAISE EXCEPTION 'unknown rule for uniform groups: %', quote_literal(settings ->> 'informative')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'informative is ''dapo'', ''verl_agent'' or ''rtmc''.';
	ELSIF (settings ->> 'sign' IN ('positive', 'negative', 'any')) IS NOT TRUE THEN
		RAISE EXCEPTION 'unknown sign: %', coalesce(quote_literal(settings ->> 'sign'), 'NULL')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'sign is ''positive'', ''negative'' or ''any''.';
	ELSIF settings ->> 'sign' <> 'any' AND settings ->> 'balance' IS NOT NULL THEN
		RAISE EXCEPTION 'steps of one sign cannot be balanced'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Leave out sign, or balance.';
	ELSIF settings ->> 'balance' NOT IN ('group', 'all') THEN
		RAISE EXCEPTION 'unknown balance: %', quote_literal(settings ->> 'balance')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'balance is ''group'' or ''all''.';
	ELSIF settings ->> 'balance' = 'group' AND most % 2 = 1 THEN
		RAISE EXCEPTION 'per_group must be even where every group is balanced, not %', most
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Half of the steps are positive, half negative.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_check(jsonb) IS
'part of select_steps: error if a parameter of a rule is invalid';

-- The requested rules, in order of application.  keep and reason are expressions
-- over a step s.  A rule with compared ranks steps among those that agree in these
-- expressions: rank<i> is the step's place, number<i> the number of steps.
CREATE FUNCTION stepadv_internal.curation_rules(settings jsonb)
RETURNS TABLE (i integer, rule text, setting text, keep text, compared text[], reason text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $rules$
	SELECT r.i, r.rule, r.setting, r.keep, r.compared, r.reason
	FROM (SELECT settings ->> 'balance' = 'group' AS by_group, (settings ->> 'per_group')::integer AS per_group) b,
	LATERAL (VALUES
		(0, 'max_staleness', settings ->> 'max_staleness',
			format('s.staleness <= %s', settings ->> 'max_staleness'), NULL::text[],
			$$CASE s.staleness WHEN 0 THEN 'of the newest policy step' WHEN 1 THEN '1 policy step old'
				ELSE format('%s policy steps old', s.staleness) END$$),
		(1, 'judged', '', 's.advantage IS NOT NULL', NULL, NULL),
		(2, 'informative', settings ->> 'informative', 's.mixed', NULL,
			CASE settings ->> 'informative' WHEN 'dapo' THEN $$'group is mixed or of one rollout'$$
				ELSE $$'group is mixed'$$ END),
		(3, 'success_only', CASE WHEN (settings ->> 'success_only')::boolean THEN coalesce(settings ->> 'outcome',
			'') END,
			's.succeeded', NULL, $$'its rollout succeeded'$$),
		(4, 'sign', nullif(settings ->> 'sign', 'any'),
			CASE settings ->> 'sign' WHEN 'positive' THEN 's.advantage > 0' ELSE 's.advantage < 0' END, NULL,
			quote_literal((settings ->> 'sign') || ' advantage')),
		(5, 'min_advantage', settings ->> 'min_advantage',
			format('abs(s.advantage) >= %L::float8', settings ->> 'min_advantage'), NULL,
			quote_literal('|advantage| >= ' || (settings ->> 'min_advantage'))),
		(6, 'min_t', settings ->> 'min_t',
			-- With stderr 0, any advantage other than 0 is significant.
			format('CASE WHEN s.stderr > 0 THEN abs(s.advantage) / s.stderr >= %L::float8 ELSE s.stderr = 0 AND '
				's.advantage <> 0 END', settings ->> 'min_t'), NULL,
			format($$CASE WHEN s.stderr > 0 THEN format('t = %%s >= %%s', round((abs(s.advantage) / s.stderr)::numeric,
				2), %L) ELSE 'stderr is 0' END$$, settings ->> 'min_t')),
		(7, 'min_confidence', settings ->> 'min_confidence',
			format('s.confidence >= %L::float8', settings ->> 'min_confidence'), NULL,
			$$format('sign right with probability %s', round(s.confidence::numeric, 2))$$),
		(8, 'min_visits', settings ->> 'min_visits',
			format('s.visits >= %s', settings ->> 'min_visits'), NULL,
			$$format('%s visits to its state', s.visits)$$),
		(9, 'min_action_visits', settings ->> 'min_action_visits',
			format('s.action_visits >= %s', settings ->> 'min_action_visits'), NULL,
			$$format('%s visits to its action there', s.action_visits)$$),
		(10, 'deduplicate', CASE WHEN (settings ->> 'deduplicate')::boolean THEN 'state, action' END,
			's.rank10 = 1 OR s.state IS NULL OR s.action IS NULL', '{s.state,s.action}',
			$$CASE WHEN s.state IS NULL OR s.action IS NULL THEN 'state or action like no other'
				ELSE format('1 of %s with its state and action', s.number10) END$$),
		(11, 'per_state', settings ->> 'per_state',
			format('s.rank11 <= %s OR s.state IS NULL', settings ->> 'per_state'), '{s.state}',
			$$CASE WHEN s.state IS NULL THEN 'state like no other' ELSE format('rank %s of %s in its state', s.rank11,
				s.number11) END$$),
		(12, 'per_rollout', settings ->> 'per_rollout',
			format('s.rank12 <= %s', settings ->> 'per_rollout'), '{s.rollout}',
			$$format('rank %s of %s in its rollout', s.rank12, s.number12)$$),
		(13, 'per_group', settings ->> 'per_group',
			format('s.rank13 <= %s', CASE WHEN b.by_group THEN b.per_group / 2 ELSE b.per_group END),
			CASE WHEN b.by_group THEN '{sign(s.advantage)}' ELSE '{}' END::text[],
			CASE WHEN b.by_group THEN $$format('rank %s of %s %s in its group', s.rank13, s.number13,
				CASE WHEN s.advantage > 0 THEN 'positive' ELSE 'negative' END)$$
				ELSE $$format('rank %s of %s in its group', s.rank13, s.number13)$$ END),
		(14, 'balance', settings ->> 'balance',
			's.advantage <> 0 AND s.rank14 <= least(s.positive, s.negative)', '{sign(s.advantage)}',
			format($$CASE WHEN s.advantage > 0 THEN format('rank %%s of %%s positive against %%s negative %1$s',
				s.rank14, s.positive, s.negative)
				ELSE format('rank %%s of %%s negative against %%s positive %1$s', s.rank14, s.negative,
					s.positive) END$$,
				CASE WHEN b.by_group THEN 'in its group' ELSE 'of all' END))
	) r(i, rule, setting, keep, compared, reason)
	WHERE r.setting IS NOT NULL
	ORDER BY r.i
$rules$;
COMMENT ON FUNCTION stepadv_internal.curation_rules(jsonb) IS
'part of select_steps: the requested rules, in order of application, as SQL expressions';

-- Expressions over s for states and actions, if a rule compares them, as bigints.
CREATE FUNCTION stepadv_internal.curation_identities(advantages regclass, settings jsonb, source jsonb)
	RETURNS TABLE (role text, expression text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	needed record;
	type oid;
BEGIN
	FOR needed IN
		SELECT r.role, coalesce(settings ->> r.role, source -> 'columns' ->> r.role) AS name,
			CASE WHEN (settings ->> 'deduplicate')::boolean THEN 'deduplicate' ELSE 'per_state' END AS needed_by
		FROM unnest('{state,action}'::text[]) r(role)
		WHERE (settings ->> 'deduplicate')::boolean OR r.role = 'state' AND settings ->> 'per_state' IS NOT NULL
	LOOP
		type := stepadv_internal.base_type(stepadv_internal.column_type(advantages, needed.name));
		IF needed.name IS NULL THEN
			RAISE EXCEPTION '% needs the column of % that has the %', needed.needed_by, source ->> 'name',
				needed.role
				USING ERRCODE = 'null_value_not_allowed',
					HINT = format('Name it by %s => ''…''. What attach makes of tool calls or of histories is not '
						'shown by its views.', needed.role);
		ELSIF type IS NULL THEN
			RAISE EXCEPTION 'column "%" given as % does not exist in %', needed.name, needed.role, source ->> 'name'
				USING ERRCODE = 'undefined_column';
		END IF;
		role := needed.role;
		expression := stepadv_internal.identity(format('s.%I::%s', needed.name, format_type(type, NULL)), type);
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_identities(regclass, jsonb, jsonb) IS
'part of select_steps: the states and actions that rules compare';

-- Whether the rollout of a step s succeeded: by the given column, or else by success,
-- or by outcome if success is NULL.
CREATE FUNCTION stepadv_internal.curation_success(advantages regclass, outcome text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	names CONSTANT text[] := CASE WHEN curation_success.outcome IS NOT NULL THEN ARRAY[curation_success.outcome]
		ELSE ARRAY(SELECT n FROM unnest('{success,outcome}'::text[]) n
			WHERE stepadv_internal.column_type(curation_success.advantages, n) IS NOT NULL) END;
BEGIN
	IF names = '{}' THEN
		RAISE EXCEPTION 'success_only needs to know which rollouts of % succeeded',
			stepadv_internal.relation_name(curation_success.advantages)
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name a column by outcome => ''…'', a number or boolean: above 0 is a success.';
	END IF;
	RETURN (SELECT format('coalesce(%s)', string_agg(format('(%s) > '
		'0', stepadv_internal.curation_number(curation_success.advantages, u.name, 'outcome'::text)),
			', ' ORDER BY u.i))
		FROM unnest(names) WITH ORDINALITY u(name, i));
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_success(regclass, text) IS
'part of select_steps: the SQL expression for whether the rollout of a step succeeded; error without such a column';

-- The input of the rules: the group's columns as g1, g2, …, the requested columns as
-- c1, c2, …, so that names cannot collide, and the columns that rules read.
CREATE FUNCTION stepadv_internal.curation_input(advantages regclass, settings jsonb, source jsonb, columns text[],
	OUT query text, OUT names text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	by_outcome boolean := settings ->> 'informative' IS NOT NULL AND settings ->> 'outcome' IS NOT NULL;
	items text[];
	relation text := format('%s s', source ->> 'name');
	expression text;
	role text;
	age text := 'staleness';
	groups CONSTANT regclass := (source ->> 'groups')::oid::regclass;
BEGIN
	SELECT array_agg(format('s.%I', u.name) ORDER BY u.alias, u.i), array_agg(u.alias || u.i ORDER BY u.alias, u.i)
	INTO items, names
	FROM (SELECT 'g' AS alias, g.name, g.i FROM jsonb_array_elements_text(source -> 'group_by') WITH ORDINALITY g(name,
		i)
		UNION ALL SELECT 'c', c.name, c.i FROM unnest(curation_input.columns) WITH ORDINALITY c(name, i)) u;
	expression := stepadv_internal.curation_number(curation_input.advantages, settings ->> 'advantage_column',
		'advantage'::text);
	items := items || ARRAY[expression, stepadv_internal.curation_key('s.rollout_id'::text,
		stepadv_internal.base_type(stepadv_internal.column_type(curation_input.advantages, 'rollout_id'::text))),
			's.step_no::integer'];
	names := names || '{advantage,rollout,no}'::text[];
	IF NOT (source ->> 'by_attach')::boolean THEN
		-- In views of attach, step_no is unique within a rollout.
		items := items || stepadv_internal.curation_key('s.step_id'::text,
			stepadv_internal.base_type(stepadv_internal.column_type(curation_input.advantages, 'step_id'::text)));
		names := names || 'id'::text;
	END IF;
	IF settings ->> 'max_staleness' IS NOT NULL THEN
		-- attach prepends run_ if a user's column has the name.
		WHILE stepadv_internal.column_type(curation_input.advantages, 'run_' || age) IS NOT NULL LOOP
			age := 'run_' || age;
		END LOOP;
		items := items || stepadv_internal.curation_number(curation_input.advantages, age, 'max_staleness'::text);
		names := names || 'staleness'::text;
	END IF;
	IF settings ->> 'min_t' IS NOT NULL THEN
		expression := stepadv_internal.curation_number(curation_input.advantages, coalesce(settings ->> 'stderr',
			CASE WHEN stepadv_internal.column_type(curation_input.advantages, 'q_error'::text) IS NOT NULL
				THEN 'q_error' ELSE 'stderr' END), 'stderr'::text);
		items := items || format('CASE WHEN %1$s < 0 THEN stepadv_internal.curation_refuse(format(''stderr of step %%s '
			'of rollout %%s is negative: %%s'', s.step_no, s.rollout_id, %1$s)) ELSE %1$s END',
			expression);
		names := names || 'stderr'::text;
	END IF;
	FOR role, expression IN
		SELECT r.name, stepadv_internal.curation_number(curation_input.advantages, r.column_name, r.rule)
		FROM (VALUES ('min_confidence', 'confidence', 'confidence'), ('min_visits', 'n_state', 'visits'),
			('min_action_visits', 'n_action', 'action_visits')) r(rule, column_name, name)
		WHERE settings ->> r.rule IS NOT NULL
		UNION ALL SELECT 'succeeded', stepadv_internal.curation_success(curation_input.advantages,
			settings ->> 'outcome') WHERE (settings ->> 'success_only')::boolean
		UNION ALL SELECT i.role, i.expression FROM stepadv_internal.curation_identities(curation_input.advantages,
			settings, source) i
	LOOP
		items := items || expression;
		names := names || role;
	END LOOP;
	IF by_outcome THEN
		expression := stepadv_internal.curation_number(curation_input.advantages, settings ->> 'outcome',
			'outcome'::text);
		items := items || CASE settings ->> 'informative' WHEN 'rtmc' THEN format('(%s > 0)::integer', expression)
			ELSE expression END;
		names := names || 'outcome'::text;
	ELSIF settings ->> 'informative' IS NOT NULL THEN
		-- From the attachment's view _groups.
		IF groups IS NULL THEN
			RAISE EXCEPTION 'informative needs to know the outcomes of the rollouts of %', source ->> 'name'
				USING ERRCODE = 'null_value_not_allowed',
					HINT = 'Name a column by outcome => ''…'', a number or boolean that is the same on all steps of '
						'a rollout.';
		END IF;
		relation := relation || (SELECT format(' LEFT JOIN %s u ON %s', stepadv_internal.relation_name(groups),
			string_agg(format('u.%I %s s.%I', c.attname, stepadv_internal.equality_operator(c.atttypid), g.name),
				' AND ' ORDER BY g.i))
			FROM jsonb_array_elements_text(source -> 'group_by') WITH ORDINALITY g(name, i) JOIN pg_attribute c
				ON c.attrelid = groups AND c.attnum = g.i);
		items := items || CASE settings ->> 'informative'
			WHEN 'dapo' THEN 'NOT u.uniform OR u.n_judged = 1'
			WHEN 'verl_agent' THEN 'NOT u.uniform'
			ELSE 'u.success_rate > 0 AND u.success_rate < 1' END;
		names := names || 'mixed'::text;
	END IF;
	SELECT format('SELECT %s FROM %s', string_agg(format('%s AS %s', u.item, u.name), ', ' ORDER BY u.i), relation)
		INTO query
	FROM unnest(items, names) WITH ORDINALITY u(item, name, i);

	IF by_outcome THEN
		-- An outcome must not differ within a rollout, as rewards of steps do.
		query := format('SELECT s.*, CASE WHEN lag(s.rollout) OVER in_rollout = s.rollout AND lag(s.outcome) OVER '
			'in_rollout IS DISTINCT FROM s.outcome'
				' THEN stepadv_internal.curation_refuse(format(%3$L, s.rollout, s.no)) = 0 ELSE %4$s END AS mixed'
				' FROM (%1$s) s WINDOW in_group AS (PARTITION BY %2$s), in_rollout AS (in_group ORDER BY s.rollout, '
				's.no)',
			query,
			(SELECT string_agg('s.' || n, ', ') FROM unnest(names) n WHERE n ~ '^g[0-9]'),
			format('column %s given as outcome differs within rollout %%s, from step %%s on',
				replace(quote_ident(settings ->> 'outcome'), '%', '%%')),
			'min(s.outcome) FILTER (WHERE s.advantage IS NOT NULL) OVER in_group < max(s.outcome) FILTER (WHERE '
			's.advantage IS NOT NULL) OVER in_group'
			|| CASE settings ->> 'informative' WHEN 'dapo' THEN
				' OR min(s.rollout) FILTER (WHERE s.advantage IS NOT NULL AND s.outcome IS NOT NULL) OVER in_group'
				' = max(s.rollout) FILTER (WHERE s.advantage IS NOT NULL AND s.outcome IS NOT NULL) OVER in_group'
					ELSE '' END);
		names := names || 'mixed'::text;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_input(regclass, jsonb, jsonb, text[]) IS
'part of select_steps: the query that gives the steps as the rules see them';

-- The steps of a query that pass the conditions kept, which belong to the rules from
-- first on; with mark_removed, all steps, with the number of the rule that each
-- failed.
CREATE FUNCTION stepadv_internal.curation_apply(query text, names text[], kept text[], first integer,
	mark_removed boolean) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN curation_apply.mark_removed
		THEN format('(SELECT %s, CASE %s%s END AS removed FROM (%s) s) s',
			(SELECT string_agg('s.' || u.name, ', ' ORDER BY u.i)
				FROM unnest(curation_apply.names) WITH ORDINALITY u(name, i)),
			CASE WHEN curation_apply.first > 1 THEN 'WHEN s.removed IS NOT NULL THEN s.removed ' END,
			string_agg(format('WHEN (%s) IS NOT TRUE THEN %s', k.condition, curation_apply.first + k.i - 1),
				' ' ORDER BY k.i), curation_apply.query)
		ELSE format('(%s) s WHERE %s', curation_apply.query, string_agg(format('(%s)', k.condition),
			' AND ' ORDER BY k.i)) END
	FROM unnest(curation_apply.kept) WITH ORDINALITY k(condition, i)
$$;
COMMENT ON FUNCTION stepadv_internal.curation_apply(text, text[], text[], integer, boolean) IS
'part of select_steps: applies conditions to a query, as an item of a FROM list';

-- The FROM item s for select_steps, explain_selection and create_selection.  Rules
-- that compare steps are windows over the steps that earlier rules kept.  Each window
-- begins with the group's columns, so that they share one sort by group, and a
-- condition on the group is pushed down.  settings: parameters of all rules.
CREATE FUNCTION stepadv_internal.curation_query(advantages regclass, settings jsonb, columns text[],
	mark_removed boolean, OUT steps text, OUT reason text, OUT source jsonb)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	query text;
	names text[];			-- its columns
	groups text;			-- those of the group
	same text;
	best_first text;
	kept text[] := '{}';	-- conditions still to be applied
	reasons text[] := '{}';
	number integer := 0;
	rule record;
BEGIN
	PERFORM stepadv_internal.curation_check(settings);
	source := stepadv_internal.curation_source(curation_query.advantages, CASE jsonb_typeof(settings -> 'group_by')
		WHEN 'array' THEN ARRAY(SELECT jsonb_array_elements_text(settings -> 'group_by')) END);
	SELECT i.query, i.names INTO query, names
	FROM stepadv_internal.curation_input(curation_query.advantages, settings, source, curation_query.columns) i;
	SELECT string_agg('s.' || n, ', ') INTO groups FROM unnest(names) n WHERE n ~ '^g[0-9]';

	FOR rule IN SELECT * FROM stepadv_internal.curation_rules(settings) LOOP
		number := number + 1;
		IF rule.compared IS NOT NULL THEN
			steps := stepadv_internal.curation_apply(query, names, kept, number - cardinality(kept),
				curation_query.mark_removed);
			kept := '{}';
			same := concat_ws(', ', CASE WHEN rule.rule <> 'balance' OR rule.setting = 'group' THEN groups END,
				CASE WHEN curation_query.mark_removed THEN 's.removed IS NULL' END);
			-- Ids of rollouts are unique only within a group.
			best_first := concat_ws(', ', 'abs(s.advantage) DESC', CASE WHEN rule.rule = 'balance'
				AND rule.setting = 'all' THEN (
					SELECT string_agg(stepadv_internal.curation_key('s.g' || g.i,
						stepadv_internal.base_type(stepadv_internal.column_type(curation_query.advantages, g.name))),
							', ' ORDER BY g.i)
					FROM jsonb_array_elements_text(source -> 'group_by') WITH ORDINALITY g(name, i)) END,
				's.rollout, s.no', CASE WHEN 'id' = ANY (names) THEN 's.id' END);
			query := format('SELECT s.*, row_number() OVER (PARTITION BY %2$s ORDER BY %3$s) AS rank%4$s, count(*) '
				'OVER (PARTITION BY %2$s) AS number%4$s%5$s FROM %1$s',
				steps, concat_ws(', ', nullif(same, ''), nullif(array_to_string(rule.compared, ', '), '')), best_first,
					rule.i,
				CASE WHEN rule.rule = 'balance' THEN
					format(', count(*) FILTER (WHERE s.advantage > 0) OVER (%1$s) AS positive, count(*) FILTER (WHERE '
						's.advantage < 0) OVER (%1$s) AS negative',
						'PARTITION BY ' || nullif(same, '')) END);
			names := names || ARRAY['rank' || rule.i, 'number' || rule.i] || CASE WHEN rule.rule = 'balance'
				THEN '{positive,negative}'::text[] END;
		END IF;
		kept := kept || rule.keep;
		IF rule.reason IS NOT NULL THEN
			reasons := reasons || rule.reason;
		END IF;
	END LOOP;
	steps := stepadv_internal.curation_apply(query, names, kept, number - cardinality(kept) + 1,
		curation_query.mark_removed);
	reason := CASE WHEN reasons = '{}' THEN '''judged''' ELSE format('concat_ws(''; '', %s)',
		array_to_string(reasons, ', ')) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.curation_query(regclass, jsonb, text[], boolean) IS
'part of select_steps: writes the query that applies the rules in their order';

CREATE FUNCTION stepadv_internal.select_steps(advantages regclass, settings jsonb)
RETURNS TABLE (group_key jsonb, rollout_id text, step_no integer, step_id text, advantage float8, reason text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made record;
BEGIN
	SELECT * INTO made FROM stepadv_internal.curation_query(advantages, settings, '{rollout_id,step_id}'::text[],
		false);
	RETURN QUERY EXECUTE format('SELECT jsonb_build_object(%s), s.c1::text, s.no, s.c2::text, s.advantage, %s FROM %s',
		(SELECT string_agg(format('%L::text, s.g%s', g.name, g.i), ', ' ORDER BY g.i)
		FROM jsonb_array_elements_text(made.source -> 'group_by') WITH ORDINALITY g(name, i)), made.reason, made.steps);
END
$$;
COMMENT ON FUNCTION stepadv_internal.select_steps(regclass, jsonb) IS
'stepadv.select_steps, as the owner of the relation where the caller has their rights';

CREATE FUNCTION stepadv.select_steps(advantages regclass,
	informative text DEFAULT NULL, min_advantage float8 DEFAULT NULL, min_t float8 DEFAULT NULL,
		min_visits integer DEFAULT NULL,
	deduplicate boolean DEFAULT false, per_state integer DEFAULT NULL, per_rollout integer DEFAULT NULL,
		per_group integer DEFAULT NULL, balance text DEFAULT NULL,
	group_by text[] DEFAULT NULL, advantage_column text DEFAULT 'advantage', stderr text DEFAULT NULL,
		outcome text DEFAULT NULL,
	state text DEFAULT NULL, action text DEFAULT NULL, max_staleness integer DEFAULT NULL,
		min_confidence float8 DEFAULT NULL,
	success_only boolean DEFAULT false, min_action_visits integer DEFAULT NULL, sign text DEFAULT 'any')
RETURNS TABLE (group_key jsonb, rollout_id text, step_no integer, step_id text, advantage float8, reason text)
LANGUAGE c STABLE ROWS 10000 AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.select_steps(regclass, text, float8, float8, integer, boolean, integer, integer, integer,
	text, text[], text, text, text, text, text, integer, float8, boolean, integer, text) IS
'steps of a relation with advantages (a view of attach, or one with the group''s columns, rollout_id, step_no, '
'step_id and advantage) that pass all rules, in the order of docs/training.md; a NULL rule is not applied; the '
'larger |advantage| wins, then the first step; reason: why a step was kept';

CREATE FUNCTION stepadv_internal.explain_selection(advantages regclass, settings jsonb)
RETURNS TABLE (rule_no integer, rule text, setting text, n_before bigint, n_removed bigint, n_kept bigint,
	n_positive bigint, n_negative bigint, n_rollouts bigint, n_groups bigint)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made record;
	grouped text;
BEGIN
	SELECT * INTO made FROM stepadv_internal.curation_query(advantages, settings, '{}'::text[], true);
	SELECT string_agg('s.g' || i, ', ') INTO grouped FROM generate_series(1,
		jsonb_array_length(made.source -> 'group_by')) i;
	-- 100, above all numbers of rules, stands for steps that passed every rule.
	RETURN QUERY EXECUTE format($q$
		WITH parts AS MATERIALIZED (
			SELECT %1$s, s.rollout, coalesce(s.removed, 100) AS fails, count(*) AS steps,
				count(*) FILTER (WHERE s.advantage > 0) AS positive, count(*) FILTER (WHERE s.advantage < 0) AS negative
			FROM %2$s GROUP BY %1$s, s.rollout, s.removed),
		of_rollouts AS MATERIALIZED (SELECT %1$s, max(s.fails) AS fails FROM parts s GROUP BY %1$s, s.rollout),
		of_groups AS (SELECT max(s.fails) AS fails FROM of_rollouts s GROUP BY %1$s),
		steps AS (SELECT s.fails, sum(s.steps) AS steps, sum(s.positive) AS positive, sum(s.negative) AS negative
			FROM parts s GROUP BY s.fails),
		rollouts AS (SELECT s.fails, count(*) AS n FROM of_rollouts s GROUP BY s.fails),
		groups AS (SELECT s.fails, count(*) AS n FROM of_groups s GROUP BY s.fails),
		rules AS (
			SELECT 0 AS n, 'all' AS rule, '' AS setting
			UNION ALL SELECT row_number() OVER (ORDER BY r.i)::integer, r.rule,
				r.setting FROM stepadv_internal.curation_rules($1) r)
		SELECT r.n, r.rule, r.setting, x.before::bigint, x.removed::bigint, (x.before - x.removed)::bigint,
			x.positive::bigint, x.negative::bigint,
			(SELECT coalesce(sum(s.n), 0)::bigint FROM rollouts s WHERE s.fails > r.n),
			(SELECT coalesce(sum(s.n), 0)::bigint FROM groups s WHERE s.fails > r.n)
		FROM rules r CROSS JOIN LATERAL (
			SELECT coalesce(sum(s.steps) FILTER (WHERE s.fails >= r.n), 0) AS before,
				coalesce(sum(s.steps) FILTER (WHERE s.fails = r.n), 0) AS removed,
				coalesce(sum(s.positive) FILTER (WHERE s.fails > r.n), 0) AS positive,
					coalesce(sum(s.negative) FILTER (WHERE s.fails > r.n), 0) AS negative
			FROM steps s) x
		ORDER BY r.n
		$q$, grouped, made.steps) USING settings;
END
$$;
COMMENT ON FUNCTION stepadv_internal.explain_selection(regclass, jsonb) IS
'stepadv.explain_selection, as the owner of the relation where the caller has their rights';

CREATE FUNCTION stepadv.explain_selection(advantages regclass,
	informative text DEFAULT NULL, min_advantage float8 DEFAULT NULL, min_t float8 DEFAULT NULL,
		min_visits integer DEFAULT NULL,
	deduplicate boolean DEFAULT false, per_state integer DEFAULT NULL, per_rollout integer DEFAULT NULL,
		per_group integer DEFAULT NULL, balance text DEFAULT NULL,
	group_by text[] DEFAULT NULL, advantage_column text DEFAULT 'advantage', stderr text DEFAULT NULL,
		outcome text DEFAULT NULL,
	state text DEFAULT NULL, action text DEFAULT NULL, max_staleness integer DEFAULT NULL,
		min_confidence float8 DEFAULT NULL,
	success_only boolean DEFAULT false, min_action_visits integer DEFAULT NULL, sign text DEFAULT 'any')
RETURNS TABLE (rule_no integer, rule text, setting text, n_before bigint, n_removed bigint, n_kept bigint,
	n_positive bigint, n_negative bigint, n_rollouts bigint, n_groups bigint)
LANGUAGE c STABLE ROWS 10 AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.explain_selection(regclass, text, float8, float8, integer, boolean, integer, integer,
	integer, text, text[], text, text, text, text, text, integer, float8, boolean, integer, text) IS
'the effect of select_steps with the same arguments: a row for all steps (rule_no 0) and one per rule in order of '
'application, with the number of steps before it, removed and kept, and of the kept ones the positive and negative '
'steps, the rollouts and the groups';

CREATE FUNCTION stepadv_internal.create_selection(advantages regclass, settings jsonb)
RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	view_name CONSTANT text := settings ->> 'name';
	made record;
	columns text[];
	in_schema text;
	full_name text;
	reason_name text := 'reason';
BEGIN
	SELECT array_agg(a.attname ORDER BY a.attnum) INTO columns FROM pg_attribute a
	WHERE a.attrelid = create_selection.advantages AND a.attnum > 0 AND NOT a.attisdropped;
	SELECT * INTO made FROM stepadv_internal.curation_query(advantages, settings, columns, false);
	SELECT coalesce(settings ->> 'schema', n.nspname) INTO in_schema
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = create_selection.advantages;
	IF view_name IS NULL OR view_name = '' THEN
		RAISE EXCEPTION 'name must be given' USING ERRCODE = 'null_value_not_allowed';
	ELSIF octet_length(view_name) > current_setting('max_identifier_length')::integer THEN
		RAISE EXCEPTION 'the name of view "%" is longer than % bytes', view_name,
			current_setting('max_identifier_length')
			USING ERRCODE = 'name_too_long';
	ELSIF NOT EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = in_schema) THEN
		RAISE EXCEPTION 'schema "%" does not exist', in_schema USING ERRCODE = 'invalid_schema_name';
	ELSIF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relname = view_name AND n.nspname = in_schema) THEN
		RAISE EXCEPTION 'relation "%" already exists in schema "%"', view_name, in_schema
			USING ERRCODE = 'duplicate_table', HINT = 'Give another name, or drop what has it.';
	END IF;
	full_name := format('%I.%I', in_schema, view_name);
	-- A selection can be the source of another one, and then already has a reason.
	WHILE reason_name = ANY (columns) LOOP
		reason_name := reason_name || '_too';
	END LOOP;
	EXECUTE format('CREATE VIEW %s %sAS SELECT %s, %s AS %I FROM %s AND stepadv_internal.selection_of(%L::text[], '
		'%L::jsonb)', full_name,
		CASE WHEN stepadv_internal.server_has('security_invoker'::text) THEN 'WITH (security_invoker = true) '
			ELSE '' END,
		-- Select the group's columns under the names in the windows, so that conditions are pushed down.
		(SELECT string_agg(format('s.%s AS %I', coalesce('g' || g.i, 'c' || c.i), c.name), ', ' ORDER BY c.i)
		FROM unnest(columns) WITH ORDINALITY c(name, i)
		LEFT JOIN jsonb_array_elements_text(made.source -> 'group_by') WITH ORDINALITY g(name, i) ON g.name = c.name),
		made.reason, reason_name, made.steps, ARRAY(SELECT jsonb_array_elements_text(made.source -> 'group_by')),
		made.source -> 'columns' || jsonb_strip_nulls(jsonb_build_object('state', settings -> 'state', 'action',
			settings -> 'action')));
	EXECUTE format('COMMENT ON VIEW %s IS %L', full_name, format('steps of %s: %s', made.source ->> 'name',
		(SELECT string_agg(concat_ws(' ', r.rule, nullif(r.setting, '')), ', ' ORDER BY r.i)
			FROM stepadv_internal.curation_rules(settings) r)));
	RETURN full_name::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.create_selection(regclass, jsonb) IS
'what create_selection does';

CREATE FUNCTION stepadv.create_selection(advantages regclass, name text,
	informative text DEFAULT NULL, min_advantage float8 DEFAULT NULL, min_t float8 DEFAULT NULL,
		min_visits integer DEFAULT NULL,
	deduplicate boolean DEFAULT false, per_state integer DEFAULT NULL, per_rollout integer DEFAULT NULL,
		per_group integer DEFAULT NULL, balance text DEFAULT NULL,
	group_by text[] DEFAULT NULL, advantage_column text DEFAULT 'advantage', stderr text DEFAULT NULL,
		outcome text DEFAULT NULL,
	state text DEFAULT NULL, action text DEFAULT NULL, schema text DEFAULT NULL, max_staleness integer DEFAULT NULL,
		min_confidence float8 DEFAULT NULL,
	success_only boolean DEFAULT false, min_action_visits integer DEFAULT NULL, sign text DEFAULT 'any')
RETURNS regclass
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_caller';
COMMENT ON FUNCTION stepadv.create_selection(regclass, text, text, float8, float8, integer, boolean, integer, integer,
	integer, text, text[], text, text, text, text, text, text, integer, float8, boolean, integer, text) IS
'creates a view of the steps that select_steps returns with the same rules: all columns of the relation, and reason; '
'in the schema of the relation unless another is given; conditions on the group''s columns apply first, unless '
'balance is ''all''; DROP VIEW removes it; error if the name exists';

-- Adapters: views that give the user's columns the names and types that stepadv
-- reads.  Columns are checked, hashed and cast only here.  Since a view refers to
-- its columns by number, it is not affected when the user renames them.
--
--	<prefix>_rows				the rows to fold: one per step, or rollout, of the source
--	<prefix>_rows_with_states	the same with states derived from tool calls
--	<prefix>_shown_steps		columns shown beside a step
--	<prefix>_shown_rollouts		from a table of rollouts: columns shown beside a rollout, and its task, run, policy
--								version and step, start and dimensions
--	<prefix>_begun_runs			from the source: task, run and so on of each rollout
--
-- The group's columns come first in all of them.  In _rows, the other columns have
-- the names of their roles; elsewhere stepadv_…, beside the user's columns.

CREATE TYPE stepadv_internal.given AS (
	source regclass, group_by text[],
	roles jsonb,			-- role -> column
	states text, options jsonb,
	columns text[],			-- base columns to show, NULL for all
	steps regclass, rollouts regclass,
	unit text, rewards text[], dimensions text[]
);
COMMENT ON TYPE stepadv_internal.given IS 'part of attach: its arguments, checked';

CREATE FUNCTION stepadv_internal.group_items(g stepadv_internal.given) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT string_agg(format('s.%I AS %I', c.name, CASE WHEN c.name IN ('raw_rollout_id', 'action_signature',
				'rewards', 'truncated', 'rollout_policy_step', 'coarse_state', 'logp')
				OR EXISTS (SELECT FROM stepadv_internal.roles r WHERE r.place <= 12 AND r.role = c.name)
				THEN 'base_' ELSE '' END || c.name), ', ' ORDER BY c.i)
		FROM unnest((g).group_by) WITH ORDINALITY c(name, i));
END
$$;
COMMENT ON FUNCTION stepadv_internal.group_items(stepadv_internal.given) IS
'part of attach: the group''s columns in the select list of an adapter: under their own names, or with base_ if a role '
'has the same name';

-- True for a column declared NOT NULL, and for a view's column that is such a column in each branch of a UNION.
-- tables_read reports no key for a column that an outer join can set to NULL.
CREATE FUNCTION stepadv_internal.is_never_null(relation regclass, number integer) RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN coalesce((SELECT a.attnotnull FROM pg_attribute a WHERE a.attrelid = is_never_null.relation
			AND a.attnum = is_never_null.number), false)
		OR coalesce((SELECT bool_and(coalesce(c.plain AND c.alone AND a.attnotnull
				AND r.keys[is_never_null.number] = c.column_number, false))
			FROM stepadv_internal.view_columns(is_never_null.relation) c
			LEFT JOIN pg_attribute a ON a.attrelid = c.relation AND a.attnum = c.column_number
			LEFT JOIN stepadv_internal.tables_read(ARRAY[is_never_null.relation], is_never_null.number, false) r
				ON r.relation = c.relation
			WHERE c.number = is_never_null.number), false);
END
$$;
COMMENT ON FUNCTION stepadv_internal.is_never_null(regclass, integer) IS
'part of attach: whether declarations ensure that a column of a table or view has a value in every row';

-- Without this condition, rows with a NULL key would form groups.  IS NOT NULL would
-- also exclude composite values that contain a NULL, which are valid keys.
CREATE FUNCTION stepadv_internal.group_filter(relation regclass, group_by text[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT ' WHERE ' || string_agg(format('s.%I IS DISTINCT FROM NULL', a.attname), ' AND '
		ORDER BY array_position(group_filter.group_by, a.attname::text))
	FROM pg_attribute a WHERE a.attrelid = group_filter.relation AND a.attname = ANY (group_filter.group_by)
		AND NOT stepadv_internal.is_never_null(a.attrelid::regclass, a.attnum::integer)
$$;
COMMENT ON FUNCTION stepadv_internal.group_filter(regclass, text[]) IS
'part of attach: the condition that a row has a group; NULL if all rows have one';

-- Expressions over s for the bigint identities of the rollout and the step; raw: the
-- user's ids if they are hashed, otherwise NULL.  A step without a step_id is
-- identified by its rollout and step_no.
CREATE FUNCTION stepadv_internal.keys(g stepadv_internal.given, relation regclass, OUT rollout text,
	OUT raw_rollout text, OUT step text, OUT raw_step text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	rollout := stepadv_internal.role_column('rollout_id'::text, relation, (g).roles ->> 'rollout_id', 's'::text);
	raw_rollout := format('s.%I', (g).roles ->> 'rollout_id');
	IF (g).roles ? 'step_id' THEN
		step := CASE WHEN stepadv_internal.column_type(relation, (g).roles ->> 'step_id') IS NOT NULL THEN
			stepadv_internal.role_column('step_id'::text, relation, (g).roles ->> 'step_id', 's'::text) END;
		raw_step := format('s.%I', (g).roles ->> 'step_id');
	ELSE
		step := format('stepadv.signature_hash(%s::bigint, s.%I::bigint)', rollout, (g).roles ->> 'step_no');
	END IF;
	raw_rollout := CASE WHEN rollout LIKE 'stepadv.%' THEN raw_rollout END;
	raw_step := CASE WHEN step LIKE 'stepadv.%' THEN raw_step END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.keys(stepadv_internal.given, regclass) IS
'part of attach: the expressions that identify a row''s rollout and step';

-- Checked options of signatures, as arguments of action_signature and of state_hash.
CREATE FUNCTION stepadv_internal.signature_options(options jsonb, OUT of_action text, OUT of_state text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings CONSTANT jsonb := CASE WHEN jsonb_typeof(options -> 'signature') = 'object' THEN options -> 'signature'
		ELSE '{}' END;
	unknown text;
	vocabulary CONSTANT text := stepadv.user_vocabulary(settings ->> 'vocabulary')::text;
BEGIN
	SELECT o INTO unknown FROM jsonb_object_keys(settings) o WHERE o NOT IN ('flags', 'views', 'content_hash', 'path',
		'root', 'vocabulary');
	IF FOUND THEN
		RAISE EXCEPTION 'signature has no parameter "%"', unknown USING ERRCODE = 'invalid_parameter_value',
			HINT = stepadv_internal.nearest_hint(unknown, '{flags,views,content_hash,path,root,vocabulary}'::text[],
				'Its parameters: content_hash, path, root and vocabulary of action_signature, flags and views of '
				'state_hash.');
	ELSIF vocabulary = '[]' AND settings ->> 'vocabulary' IS NOT NULL THEN
		RAISE EXCEPTION 'tool_vocabulary has no tools of scaffold %', quote_literal(settings ->> 'vocabulary')
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT coalesce(string_agg(format(', %I => %L::text', e.key, e.value), '' ORDER BY e.key), '') INTO of_action
	FROM jsonb_each_text(settings) e WHERE e.key IN ('content_hash', 'path', 'root');
	-- The view contains the user's tools as a literal, as all other options.
	of_action := of_action || CASE WHEN vocabulary <> '[]' THEN format(', vocabulary => %L::jsonb', vocabulary)
		ELSE '' END;
	of_state := CASE WHEN settings ?| '{flags,views}' THEN
		format(', %L::text, %L::text', coalesce(settings ->> 'flags', 'count'), coalesce(settings ->> 'views',
			'range')) ELSE '' END;
	EXECUTE format('SELECT stepadv.state_hash(stepadv.action_signature(''bash''::text, NULL::jsonb%s)%s)', of_action,
		of_state);
END
$$;
COMMENT ON FUNCTION stepadv_internal.signature_options(jsonb) IS
'part of attach: the options of signatures as arguments';

CREATE FUNCTION stepadv_internal.rows_query(g stepadv_internal.given) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	k record;
	signature text;		-- of a row of s; NULL where there is no tool
	items text;
	role text;
	rewards CONSTANT text[] := ARRAY(SELECT stepadv_internal.role_column('reward'::text, (g).source, c.name, 's'::text)
		FROM unnest((g).rewards) WITH ORDINALITY c(name, i) ORDER BY c.i);
BEGIN
	-- Check roles in the order of the arguments, so that the first wrong one is reported.
	items := stepadv_internal.group_items(g);
	FOR role IN SELECT r.role FROM stepadv_internal.roles r WHERE r.place <= 12 AND (g).roles ? r.role
		ORDER BY r.place LOOP
		PERFORM stepadv_internal.role_column(role, (g).source, (g).roles ->> role, 's'::text);
	END LOOP;
	IF (g).roles ? 'tool' THEN
		signature := format('CASE WHEN s.%I IS NOT NULL THEN stepadv.action_signature(%s::text, %s::jsonb, '
			'%s::boolean%s) END', (g).roles ->> 'step_no',
			stepadv_internal.role_column('tool'::text, (g).source, (g).roles ->> 'tool', 's'::text),
			CASE WHEN (g).roles ? 'args' THEN stepadv_internal.role_column('args'::text, (g).source,
				(g).roles ->> 'args', 's'::text) ELSE 'NULL' END,
			CASE WHEN (g).roles ? 'ok' THEN stepadv_internal.role_column('ok'::text, (g).source, (g).roles ->> 'ok',
				's'::text) ELSE 'NULL' END, (stepadv_internal.signature_options((g).options)).of_action);
	END IF;
	k := stepadv_internal.keys(g, (g).source);
	items := concat_ws(', ', items, k.step || ' AS step_id', k.rollout || ' AS rollout_id',
		stepadv_internal.role_column('step_no'::text, (g).source, (g).roles ->> 'step_no', 's'::text) || ' AS step_no');
	FOR role IN SELECT r.role FROM stepadv_internal.roles r WHERE r.place BETWEEN 4 AND 12
		OR r.role IN ('truncated', 'coarse_state', 'logp') ORDER BY r.place LOOP
		IF role = 'state' AND (g).states NOT IN ('observation', 'observation_last') THEN
			CONTINUE;
		ELSIF (g).roles ? role THEN
			items := items || format(', %s AS %I', stepadv_internal.role_column(role, (g).source, (g).roles ->> role,
				's'::text), role);
		ELSIF role = 'action' AND signature IS NOT NULL THEN
			items := items || format(', stepadv.signature_hash(%s) AS action', signature);
		ELSIF role = 'reward' AND rewards <> '{}' THEN
			-- The sum of the components that are not NULL.
			items := items || format(', CASE WHEN pg_catalog.num_nonnulls(%s) > 0 THEN coalesce(%s, 0) END AS reward',
				array_to_string(rewards, ', '), array_to_string(rewards, ', 0) + coalesce('));
		END IF;
	END LOOP;
	IF rewards <> '{}' THEN
		items := items || format(', ARRAY[%s]::float8[] AS rewards', array_to_string(rewards, ', '));
	END IF;
	-- The source's policy_step, if it has one; otherwise it comes from the table of rollouts.
	IF (g).roles ->> 'policy_step' <> ALL ((g).group_by)
		AND stepadv_internal.role_expression('ordinal'::text,
			stepadv_internal.base_type(stepadv_internal.column_type((g).source,
			(g).roles ->> 'policy_step'))) IS NOT NULL
	THEN
		items := items || format(', %s AS rollout_policy_step', stepadv_internal.role_column('policy_step'::text,
			(g).source, (g).roles ->> 'policy_step', 's'::text));
	END IF;
	items := items || coalesce(', ' || k.raw_rollout || ' AS raw_rollout_id', '');
	IF (g).states = 'signature' THEN
		items := items || format(', %s AS action_signature', signature);
	END IF;
	SELECT items || coalesce(string_agg(format(', %s AS %I', stepadv_internal.role_column(r.serves_as, (g).source,
		r.name, 's'::text), 'stepadv_' || r.role), '' ORDER BY r.i), '') INTO items
	FROM stepadv_internal.run_roles(g) r WHERE r.place = 'group';
	RETURN format('SELECT %s FROM %s s%s', items, stepadv_internal.relation_name((g).source),
		stepadv_internal.group_filter((g).source, (g).group_by));
END
$$;
COMMENT ON FUNCTION stepadv_internal.rows_query(stepadv_internal.given) IS
'part of attach: the query of <prefix>_rows, a row per row of the source that has a group';

-- The window partitions by the group's columns, so that conditions on them are pushed
-- below it.  action_signature is in its ORDER BY so that it is computed only once, for
-- the window and the action.
CREATE FUNCTION stepadv_internal.states_query(g stepadv_internal.given, rows_view regclass) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %1$s, stepadv.state_hash(x.action_signature%2$s) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING '
		'AND 1 PRECEDING) AS state%3$s'
			' FROM %4$s x WINDOW w AS (PARTITION BY %5$s, x.rollout_id ORDER BY x.step_no, x.action_signature)',
		string_agg(CASE
			WHEN a.attname = 'action' AND NOT (g).roles ? 'action'
				THEN 'stepadv.signature_hash(x.action_signature) AS action'
			ELSE format('x.%I', a.attname) END, ', ' ORDER BY a.attnum) FILTER (WHERE a.attname NOT IN ('next_state',
				'action_signature')),
		o.of_state,
		CASE WHEN (g).roles ? 'next_state'
			THEN format(', CASE WHEN x.next_state IS NOT NULL THEN stepadv.state_hash(x.action_signature%s)'
			' OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) END AS next_state', o.of_state) END,
		stepadv_internal.relation_name(rows_view),
		string_agg(format('x.%I', a.attname), ', ' ORDER BY a.attnum) FILTER
			(WHERE a.attnum <= cardinality((g).group_by)))
	FROM pg_attribute a, stepadv_internal.signature_options((g).options) o
	WHERE a.attrelid = rows_view AND a.attnum > 0
	GROUP BY o.of_state
$$;
COMMENT ON FUNCTION stepadv_internal.states_query(stepadv_internal.given, regclass) IS
'part of attach: the query of <prefix>_rows_with_states, the rows with states derived from their tool calls';

-- The user's columns of a shown relation, under their own names.
CREATE FUNCTION stepadv_internal.shown_items(g stepadv_internal.given, relation regclass, but text[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format(', s.%I AS %I', a.attname, CASE WHEN a.attname LIKE 'stepadv\_%' THEN 'base_' ELSE '' END
		|| a.attname), '' ORDER BY a.attnum)
	FROM pg_attribute a
	WHERE a.attrelid = shown_items.relation AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> ALL ((g).group_by
		|| but)
		AND ((g).columns IS NULL OR a.attname = ANY ((g).columns))
$$;
COMMENT ON FUNCTION stepadv_internal.shown_items(stepadv_internal.given, regclass, text[]) IS
'part of attach: the user''s columns to show, in the select list of an adapter';

CREATE FUNCTION stepadv_internal.shown_query(g stepadv_internal.given) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	k CONSTANT record := stepadv_internal.keys(g, (g).steps);
	items text := concat_ws(', ', stepadv_internal.group_items(g), k.rollout || ' AS stepadv_rollout', k.step
		|| ' AS stepadv_step',
		format('s.%I AS stepadv_no', (g).roles ->> 'step_no'), k.raw_rollout || ' AS stepadv_rollout_id', k.raw_step
			|| ' AS stepadv_step_id');
	role text;
BEGIN
	FOR role IN
		SELECT r.role FROM stepadv_internal.roles r
		WHERE (g).roles ? r.role AND (r.lives_in = 'steps' OR r.role = 'value'
			AND (g).roles ?| '{features,contribution}'
			OR r.lives_in = 'rollouts' AND (g).roles ->> r.role = ANY ((g).group_by)) ORDER BY r.place
	LOOP
		items := items || format(', %s AS %I', stepadv_internal.role_column(role, (g).steps, (g).roles ->> role,
			's'::text), 'stepadv_' || role);
	END LOOP;
	-- The tool call of a step, if the relation has it and calls are counted or states derived from them.
	items := items || (
		SELECT coalesce(string_agg(format(', %s AS %I', stepadv_internal.role_column(r.role, (g).steps,
			(g).roles ->> r.role, 's'::text), 'stepadv_' || r.role), '' ORDER BY r.place), '')
		FROM stepadv_internal.roles r
		WHERE ((g).roles ? 'category' OR (g).states = 'signature') AND r.role IN ('tool', 'args', 'ok')
			AND (g).roles ? r.role
			AND stepadv_internal.role_expression(r.kind,
				stepadv_internal.base_type(stepadv_internal.column_type((g).steps, (g).roles ->> r.role))) IS NOT NULL);
	RETURN format('SELECT %s%s FROM %s s', items, stepadv_internal.shown_items(g, (g).steps, '{}'::text[]),
		stepadv_internal.relation_name((g).steps));
END
$$;
COMMENT ON FUNCTION stepadv_internal.shown_query(stepadv_internal.given) IS
'part of attach: the query of <prefix>_shown_steps, the columns shown beside a step, and the roles that are read there';

-- The adapters name these columns stepadv_<role>.  Dimensions have numbers instead,
-- since the user chooses their names.
CREATE FUNCTION stepadv_internal.run_roles(g stepadv_internal.given) RETURNS TABLE (i integer, role text,
	serves_as text, name text, place text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	FOR i, role, serves_as, name IN
		SELECT o.place, o.role, o.role, (g).roles ->> o.role FROM stepadv_internal.roles o
			WHERE o.lives_in = 'rollouts' AND (g).roles ? o.role
		UNION ALL
		SELECT 1000 + d.i, 'dimension_' || d.i, 'dimension', d.name FROM unnest((g).dimensions) WITH ORDINALITY d(name,
			i)
	LOOP
		place := CASE WHEN name = ANY ((g).group_by) THEN 'group'
			WHEN stepadv_internal.column_type((g).rollouts, name) IS NOT NULL THEN 'rollouts'
			WHEN stepadv_internal.column_type((g).source, name) IS NOT NULL THEN 'source' END;
		IF place IS NULL AND name IS NOT NULL THEN
			PERFORM stepadv_internal.refuse_column(format('column "%s" given as %s does not exist in %s', name,
				serves_as, concat_ws(' or ', stepadv_internal.relation_name((g).rollouts),
				stepadv_internal.relation_name((g).source))), name, ARRAY[(g).rollouts, (g).source], NULL::text);
		END IF;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.run_roles(stepadv_internal.given) IS
'part of attach: the given columns that describe a rollout and its run, each dimension separately, with the role '
'whose types it may have and the adapter that has it';

CREATE FUNCTION stepadv_internal.shown_rollouts_query(g stepadv_internal.given) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s%s%s FROM %s s', concat_ws(', ', stepadv_internal.group_items(g), k.rollout
		|| ' AS stepadv_rollout', k.raw_rollout || ' AS stepadv_rollout_id'),
		(SELECT string_agg(format(', %s AS %I', stepadv_internal.role_column(r.serves_as, (g).rollouts, r.name,
			's'::text), 'stepadv_' || r.role), '' ORDER BY r.i)
			FROM stepadv_internal.run_roles(g) r WHERE r.place = 'rollouts'),
		stepadv_internal.shown_items(g, (g).rollouts, ARRAY[(g).roles ->> 'rollout_id']),
			stepadv_internal.relation_name((g).rollouts))
	FROM stepadv_internal.keys(ROW((g).source, (g).group_by, (g).roles - 'step_id', NULL, NULL, NULL, NULL, NULL, NULL,
		NULL, NULL)::stepadv_internal.given, (g).rollouts) k
$$;
COMMENT ON FUNCTION stepadv_internal.shown_rollouts_query(stepadv_internal.given) IS
'part of attach: the query of <prefix>_shown_rollouts, the columns shown beside a rollout, and those of its run';

-- The value in the first row of a rollout: src/attach/first_by.c.
CREATE FUNCTION stepadv_internal.first_by_trans(internal, value anyelement, step_no bigint, step_id bigint)
	RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_first_by_trans';
COMMENT ON FUNCTION stepadv_internal.first_by_trans(internal, anyelement, bigint, bigint) IS
'part of first_by: adds a row';

CREATE FUNCTION stepadv_internal.first_by_final(internal, value anyelement, step_no bigint, step_id bigint)
	RETURNS anyelement
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_first_by_final';
COMMENT ON FUNCTION stepadv_internal.first_by_final(internal, anyelement, bigint, bigint) IS 'part of first_by';

CREATE AGGREGATE stepadv_internal.first_by(value anyelement, step_no bigint, step_id bigint) (
	SFUNC = stepadv_internal.first_by_trans, STYPE = internal, SSPACE = 64,
	FINALFUNC = stepadv_internal.first_by_final, FINALFUNC_EXTRA, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.first_by(anyelement, bigint, bigint) IS
'the first value that is not NULL, by (step_no, step_id), NULLs last, and then by the value itself; NULL if there is '
	'none';

-- Rows of a rollout need not agree: its policy, run and so on are those of its first
-- row, its start is the earliest and its end the latest of its rows.
CREATE FUNCTION stepadv_internal.began_query(g stepadv_internal.given) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	items text;
	placed text;			-- a row in its rollout
	k record;
BEGIN
	k := stepadv_internal.keys(g, (g).source);
	-- Without a column step_id, its identity would add nothing to the order.
	placed := format('s.%I::bigint, %s', (g).roles ->> 'step_no', CASE WHEN (g).roles ? 'step_id' THEN k.step
		ELSE 'NULL::bigint' END);
	SELECT string_agg(format(CASE r.role
			WHEN 'started_at' THEN ', pg_catalog.min(%1$s) AS %3$I'
			WHEN 'ended_at' THEN ', pg_catalog.max(%1$s) AS %3$I'
			ELSE ', stepadv_internal.first_by(%1$s, %2$s) AS %3$I' END,
		stepadv_internal.role_column(r.serves_as, (g).source, r.name, 's'::text), placed, 'stepadv_' || r.role), ''
			ORDER BY r.i) INTO items
	FROM stepadv_internal.run_roles(g) r WHERE r.place = 'source';
	IF items IS NULL THEN
		RETURN NULL;
	END IF;
	RETURN format('SELECT %1$s, %2$s AS stepadv_rollout%3$s FROM %4$s s%5$s GROUP BY %6$s, %2$s',
		stepadv_internal.group_items(g), k.rollout, items,
		stepadv_internal.relation_name((g).source), stepadv_internal.group_filter((g).source, (g).group_by),
		(SELECT string_agg(format('s.%I', c.name), ', ' ORDER BY c.i) FROM unnest((g).group_by) WITH ORDINALITY c(name,
			i)));
END
$$;
COMMENT ON FUNCTION stepadv_internal.began_query(stepadv_internal.given) IS
'part of attach: the query of <prefix>_begun_runs, the run of each rollout by the source''s rows; NULL without such '
'columns';

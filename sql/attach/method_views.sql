-- One view per method, and the parts that all views share.

CREATE FUNCTION stepadv_internal.shown_joins(a stepadv_internal.attached, kind text, aliases text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	joins text := '';
	group_list CONSTANT text := stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns),
		's.%1$I'::text, ', '::text);
BEGIN
	IF 'b' = ANY (aliases) AND (kind = 'edge' OR kind = 'step' AND stepadv_internal.step_is_key((a).shown,
		(a).n_group_columns)) THEN
		joins := stepadv_internal.join_to(a, 'b'::text, (a).shown, '{stepadv_step}'::text[], '{a.step_id}'::text[],
			NULL::text);
	ELSIF 'b' = ANY (aliases) AND kind = 'step' THEN
		joins := stepadv_internal.join_to(a, 'b'::text, (a).shown, '{stepadv_rollout,stepadv_no}'::text[],
			'{a.rollout_id,a.step_no}'::text[], NULL::text);
	ELSIF 'b' = ANY (aliases) AND kind = 'rollout' THEN
		-- Reduce the rows to one per rollout first.
		joins := CASE WHEN stepadv_internal.by_group((a).shown, (a).n_group_columns) THEN
			format(' LEFT JOIN LATERAL (SELECT DISTINCT ON (s.rollout_id) s.rollout_id, s.raw_rollout_id FROM %s s '
				'WHERE %s) b ON b.rollout_id OPERATOR(pg_catalog.=) a.rollout_id',
				stepadv_internal.relation_name((a).rows), stepadv_internal.same_group('s'::text, (a).rows, 'g'::text,
					(a).rows, (a).n_group_columns))
			ELSE format(' LEFT JOIN (SELECT DISTINCT ON (%1$s, s.rollout_id) %1$s, s.rollout_id, s.raw_rollout_id '
				'FROM %2$s s) b ON %3$s AND b.rollout_id OPERATOR(pg_catalog.=) a.rollout_id',
				group_list, stepadv_internal.relation_name((a).rows), stepadv_internal.same_group('b'::text, (a).rows,
					'g'::text, (a).rows, (a).n_group_columns)) END;
	END IF;
	-- Narrow rows first, since each join carries the columns of those before it.
	RETURN CASE WHEN kind <> 'row' THEN stepadv_internal.run_joins(a, kind, aliases) WHEN 'r' = ANY (aliases)
		THEN format(' LEFT JOIN %s r ON %s AND %s', stepadv_internal.relation_name((a).shown_rollouts),
			stepadv_internal.same_group('r'::text, (a).shown_rollouts, 'g'::text, (a).shown, (a).n_group_columns),
			stepadv_internal.same_rollout('r'::text, (a).shown_rollouts, 'g'::text, (a).shown)) ELSE '' END || joins;
END
$$;
COMMENT ON FUNCTION stepadv_internal.shown_joins(stepadv_internal.attached, text, text[]) IS
'part of attach: the joins that provide the additional columns of a view';

-- The select list of a view and its joins: the group's columns, those of the function
-- (results, the user's ids first), then the columns shown beside them.  If names are
-- equal, the first column keeps the name and a later one gets base_ or rollout_.
--
-- kind: what a row represents: step, edge (with an example step), rollout, group,
-- value (the group itself), or row (a step of the adapter, with no group folded).
-- made: column of the results -> its expression, unless it is a column of a;
-- aliases: those of b, r and o that these expressions read; roles: of the run, shown last;
-- joined: cache of joins by kind and aliases, since most views have the same.
CREATE FUNCTION stepadv_internal.beside(a stepadv_internal.attached, kind text, results text[], made jsonb,
	aliases text[], roles text[], INOUT joined jsonb, OUT items text, OUT joins text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	max_length CONSTANT integer := current_setting('max_identifier_length')::integer;
	steps CONSTANT text := CASE kind WHEN 'row' THEN 'g' ELSE 'b' END;
	-- Whether ids of rollouts come from the table of rollouts, where one row has the id instead of many.  For steps
	-- only if the triggers of create_tables ensure that it has the rollout of each step.
	by_rollouts CONSTANT boolean := kind = 'rollout' OR kind = 'step' AND EXISTS (
		SELECT FROM pg_trigger t
		JOIN stepadv_internal.view_columns((a).shown) s ON s.relation = t.tgrelid AND s.name = 'stepadv_rollout_id'
		JOIN stepadv_internal.view_columns((a).shown_rollouts) r ON r.relation = t.tgconstrrelid
			AND r.name = 'stepadv_rollout_id'
		WHERE t.tgfoid = 'stepadv_internal.check_rollout()'::regprocedure);
	list text[] := '{}';
	names text[] := results;
	name text;
	shown record;
	run record;
	key text;
BEGIN
	FOREACH name IN ARRAY stepadv_internal.group_columns((a).rows, (a).n_group_columns) LOOP
		names := names || stepadv_internal.free_name(names, name, 'base_'::text);
		list := list || format('g.%I AS %I', name, names[cardinality(names)]);
	END LOOP;
	FOR name IN
		SELECT n FROM unnest(results) WITH ORDINALITY e(n, i) ORDER BY CASE WHEN kind <> 'edge'
			THEN array_position('{rollout_id,step_no,step_id}', n) END, i
	LOOP
		IF kind = 'value' THEN
			list := list || format('g.%I AS %I', stepadv_internal.value_name(a), name);
		ELSIF name = 'rollout_id' AND by_rollouts AND stepadv_internal.column_type((a).shown_rollouts,
			'stepadv_rollout_id'::text) IS NOT NULL THEN
			list := list || 'r.stepadv_rollout_id AS rollout_id'::text;
			aliases := aliases || 'r'::text;
		ELSIF name = 'rollout_id' AND kind = 'rollout' AND stepadv_internal.column_type((a).rows,
			'raw_rollout_id'::text) IS NOT NULL THEN
			list := list || 'b.raw_rollout_id AS rollout_id'::text;
			aliases := aliases || 'b'::text;
		ELSIF name = 'rollout_id' AND kind <> 'rollout' AND stepadv_internal.column_type((a).shown,
			'stepadv_rollout_id'::text) IS NOT NULL THEN
			list := list || (steps || '.stepadv_rollout_id AS rollout_id');
			aliases := aliases || steps;
		ELSIF name = 'step_id' AND stepadv_internal.column_type((a).shown, 'stepadv_step_id'::text) IS NOT NULL THEN
			list := list || (steps || '.stepadv_step_id AS step_id');
			aliases := aliases || steps;
		ELSE
			list := list || CASE WHEN made ? name THEN format('%s AS %I', made ->> name, name)
				ELSE format('a.%I', name) END;
		END IF;
	END LOOP;
	FOR shown IN SELECT * FROM stepadv_internal.shown_columns(a, kind, names) LOOP
		list := list || format('%s.%I AS %I', shown.alias, shown.name, shown.called);
		names := names || shown.called;
		aliases := aliases || shown.alias;
	END LOOP;
	SELECT n INTO name FROM unnest(names) n WHERE octet_length(n) > max_length;
	IF FOUND THEN
		RAISE EXCEPTION 'column "%" of a view over % would have a name longer than % bytes', name,
			stepadv_internal.relation_name((a).source), max_length
			USING ERRCODE = 'name_too_long', HINT = 'Leave the column out with columns =>.';
	END IF;
	run := stepadv_internal.run_items(a, kind, names, roles);
	items := array_to_string(list || run.items, ', ');
	aliases := ARRAY(SELECT DISTINCT n FROM unnest(aliases || run.aliases) n ORDER BY n);
	key := array_to_string(kind || aliases, ' ');
	IF NOT joined ? key THEN
		joined := joined || jsonb_build_object(key, stepadv_internal.shown_joins(a, kind, aliases));
	END IF;
	joins := (joined ->> key) || run.joins;
END
$$;
COMMENT ON FUNCTION stepadv_internal.beside(stepadv_internal.attached, text, text[], jsonb, text[], text[], jsonb) IS
'part of attach: the select list of a view, including the columns shown beside a function''s results and those of the '
'run, and the joins that they need';

-- A method that an attachment's columns allow, the roles that it reads, and its calls.
CREATE TYPE stepadv_internal.made_method AS (
	number integer, method text, function regprocedure, ours boolean, settings jsonb, arguments text,
	call text,				-- in its own view, where it raises an error for an invalid group
	-- Beside other methods: "called(argument" and rest.
	called text, rest text,
	reads text[], needs_value boolean, results text[], kind text, description text,
	argument text,			-- a group without a critic's values has no rows beside others
	takes_history boolean
);
COMMENT ON TYPE stepadv_internal.made_method IS
'part of attach: a method that an attachment''s columns allow, and how it is called there';
CREATE FUNCTION stepadv_internal.with_values(rollouts stepadv.rollout_group) RETURNS stepadv.rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50
AS 'MODULE_PATHNAME', 'stepadv_with_values';
COMMENT ON FUNCTION stepadv_internal.with_values(stepadv.rollout_group) IS
'the group, or NULL if none of its steps has a value of a critic: a method that needs values then returns no rows '
'instead of an error, beside other methods';

CREATE FUNCTION stepadv_internal.made_methods(a stepadv_internal.attached, known stepadv_internal.known_method[])
	RETURNS SETOF stepadv_internal.made_method
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT k.i::integer, (k.m).method, (k.m).function, (k.m).ours, s.settings, c.arguments,
		format('%I.%I(%s%s%s)', n.nspname, p.proname, h.argument_with, c.arguments, h.history),
		format('%I.%I', n.nspname, p.proname), format('%s%s)', c.arguments, h.history), r.reads,
		-- truncated and policy_step are left out if they are the extension's results: a view shows the user's columns.
		'value' = ANY ((k.m).requires),
			CASE WHEN (k.m).ours THEN array_remove(array_remove((k.m).results, 'truncated'::text), 'policy_step'::text)
			ELSE (k.m).results END, CASE WHEN 'step_no' = ANY ((k.m).results) THEN 'step'
			WHEN 'step_id' = ANY ((k.m).results) THEN 'edge' WHEN 'rollout_id' = ANY ((k.m).results) THEN 'rollout'
			ELSE 'group' END,
		(k.m).description || g.words || coalesce((
			SELECT CASE WHEN r.reach = 'Infinity' THEN ', with the history of all earlier policy steps'
				ELSE format(', with the history of %s policy steps', r.reach) END
			FROM stepadv_internal.history_reach((k.m).method, s.settings) r(reach)
			WHERE (k.m).takes_history AND r.reach IS NOT NULL), ''), b.argument, (k.m).takes_history
	FROM (SELECT made_methods.known[i] AS m, i FROM generate_subscripts(made_methods.known, 1) i) k
	JOIN pg_proc p ON p.oid = (k.m).function JOIN pg_namespace n ON n.oid = p.pronamespace
	-- OFFSET 0: these functions are expensive, since they call the method, and must run only once.
	CROSS JOIN LATERAL (SELECT stepadv_internal.method_options(k.m, coalesce((a).options, '{}')) AS settings OFFSET 0) s
	CROSS JOIN LATERAL (SELECT stepadv_internal.arguments((k.m).function, CASE WHEN (k.m).takes_history
		THEN s.settings - 'history' ELSE s.settings END) AS arguments OFFSET 0) c
	CROSS JOIN LATERAL stepadv_internal.instance_group(a, (k.m).instance) g
	-- The action tells what is masked: it distinguishes steps from observations.
	CROSS JOIN LATERAL (SELECT (k.m).requires || (k.m).uses || CASE WHEN (s.settings ->> 'masked')::boolean
		THEN ARRAY['action'] ELSE '{}' END
		-- Truncated rollouts bootstrap from the state to which they led.
		|| CASE WHEN (k.m).ours AND s.settings ->> 'truncated' = 'bootstrap' THEN ARRAY['truncated', 'next_state']
			ELSE '{}' END AS reads) r
	CROSS JOIN LATERAL stepadv_internal.with_history(a, k.m, g.argument, r.reads, s.settings) h
	CROSS JOIN LATERAL (SELECT format(CASE WHEN 'value' = ANY ((k.m).requires) THEN 'stepadv_internal.with_values(%s)'
		ELSE '%s' END, h.argument_with) AS argument) b
	WHERE (k.m).requires <@ stepadv_internal.available_roles(a)
	ORDER BY k.i;
END
$$;
COMMENT ON FUNCTION stepadv_internal.made_methods(stepadv_internal.attached, stepadv_internal.known_method[]) IS
'part of attach: those of methods_of that an attachment''s columns allow, in their order, with the call of each';

CREATE FUNCTION stepadv_internal.values_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s FROM %s', b.items, stepadv_internal.fold(a,
		'{state,action,next_state,value,turn_reward,cost,turn,rewards,truncated,coarse_state,logp}'::text[]
		|| ARRAY(SELECT 'policy_step'::text FROM unnest(made) m WHERE 'policy_step' = ANY (m.reads) LIMIT 1)))
	FROM stepadv_internal.beside(a, 'value'::text, '{rollouts}'::text[], '{}'::jsonb, '{}'::text[],
		'{}'::text[], '{}'::jsonb) b
$$;
COMMENT ON FUNCTION stepadv_internal.values_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _values: the group as a value, with every role that any function reads';

-- Ratios read single steps, so no group is folded.
CREATE FUNCTION stepadv_internal.ratios_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %1$s FROM %2$s g CROSS JOIN LATERAL (SELECT g.stepadv_rollout::bigint AS rollout_id, %7$s '
		'AS step_no, g.stepadv_step::bigint AS step_id, %3$s AS n_tokens, t.*%8$s '
			'FROM %4$s t) a%5$s WHERE %6$s AND g.stepadv_no IS NOT NULL',
		b.items, stepadv_internal.relation_name((a).shown),
		CASE WHEN stepadv_internal.column_type((a).shown, 'stepadv_token_mask'::text) IS NOT NULL
			THEN 'coalesce(pg_catalog.cardinality(pg_catalog.array_positions(g.stepadv_token_mask, true)), '
				'pg_catalog.cardinality(g.stepadv_logp_old))'
			ELSE 'pg_catalog.cardinality(g.stepadv_logp_old)' END,
		stepadv_internal.ratios_call(a, 'stepadv_logp_new'::text, 'stepadv_logp_old'::text), b.joins,
		stepadv_internal.list(stepadv_internal.group_columns((a).shown, (a).n_group_columns),
			'g.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text), stepadv_internal.shown_number(a, 'g'::text),
		-- KL(new || ref), estimated as verl's low_var_kl does, but not clamped.
		CASE WHEN r.given THEN format(', (%s).approximate_kl AS kl_to_reference',
			stepadv_internal.ratios_call(a, 'stepadv_logp_ref'::text, 'stepadv_logp_new'::text)) END)
	FROM (SELECT stepadv_internal.column_type((a).shown, 'stepadv_logp_ref'::text) IS NOT NULL AS given) r
	CROSS JOIN LATERAL stepadv_internal.beside(a, 'row'::text,
		'{rollout_id,step_no,step_id,n_tokens,ratio,sequence_ratio,approximate_kl}'::text[] || CASE WHEN r.given
		THEN '{kl_to_reference}'::text[] END, '{}'::jsonb, '{}'::text[], '{}'::text[], '{}'::jsonb) b
$$;
COMMENT ON FUNCTION stepadv_internal.ratios_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _ratios; NULL without log-probabilities';

-- The adapter of shown steps has step_no in the user's type.
CREATE FUNCTION stepadv_internal.shown_number(a stepadv_internal.attached, alias text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format(stepadv_internal.role_expression('order'::text,
		stepadv_internal.base_type(stepadv_internal.column_type((a).shown, 'stepadv_no'::text))), alias
		|| '.stepadv_no')
$$;
COMMENT ON FUNCTION stepadv_internal.shown_number(stepadv_internal.attached, text) IS
'part of attach: the step_no of a row of the adapter of shown steps, as an integer';

-- Over a row g of the adapter of shown steps; a NULL mask excludes no token.
CREATE FUNCTION stepadv_internal.ratios_call(a stepadv_internal.attached, one text, other text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('stepadv_internal.ratios_or_null(g.%I, g.%I, %s)', ratios_call.one, ratios_call.other,
		CASE WHEN stepadv_internal.column_type((a).shown, 'stepadv_token_mask'::text) IS NOT NULL
		THEN 'g.stepadv_token_mask' ELSE 'NULL::boolean[]' END)
$$;
COMMENT ON FUNCTION stepadv_internal.ratios_call(stepadv_internal.attached, text, text) IS
'part of attach: the ratios of two columns of log-probabilities of a shown step';

-- Views about decisions, failures, loops and the graph of an attachment.

-- A function's arguments in such a view: its options, those under the view's name
-- first, those for all methods else.
CREATE FUNCTION stepadv_internal.question_arguments(a stepadv_internal.attached, suffix text, function regprocedure,
	otherwise jsonb) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.arguments(question_arguments.function, question_arguments.otherwise
		|| stepadv_internal.method_options(
			ROW(question_arguments.suffix, question_arguments.function, '{}'::text[], '{}'::text[], NULL::text,
				''::text, true, '{}'::text[], p.names, NULL::jsonb)::stepadv_internal.known_method,
			coalesce((a).options, '{}'::jsonb) - question_arguments.suffix)
		|| coalesce((SELECT jsonb_object_agg(e.key, e.value)
			FROM jsonb_each(stepadv_internal.view_options(a, question_arguments.suffix)) e
			WHERE e.key = ANY (p.names)), '{}'::jsonb))
	FROM (SELECT f.proargnames[2:f.pronargs] AS names FROM pg_proc f WHERE f.oid = question_arguments.function) p
$$;
COMMENT ON FUNCTION stepadv_internal.question_arguments(stepadv_internal.attached, text, regprocedure, jsonb) IS
'part of attach: the arguments of a function in a view that a builder makes, by the view''s options, the parameters '
'that all methods share, and what holds otherwise';

-- What the user's rows say that a step did: the columns that its action is made of,
-- as the relation of shown steps has them; but whether a call failed is no part of it.
CREATE FUNCTION stepadv_internal.shown_action(a stepadv_internal.attached, alias text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE count(*) WHEN 0 THEN NULL WHEN 1 THEN max(format('%I.%I::text', shown_action.alias, c.name))
		ELSE format('nullif(concat_ws('' ''::text, %s), ''''::text)',
			string_agg(format('%I.%I::text', shown_action.alias, c.name), ', ' ORDER BY c.is_json, c.i)) END
	FROM (
		SELECT min(s.name) AS name, r.type IN ('json'::regtype, 'jsonb'::regtype) AS is_json, min(r.i) AS i
		FROM (SELECT v.relation, v.column_number, t.atttypid AS type, row_number() OVER () AS i
			FROM stepadv_internal.view_columns((a).rows) v JOIN pg_attribute t ON t.attrelid = v.relation
				AND t.attnum = v.column_number
			-- A signature also asks whether it is a step at all.
			WHERE v.name = 'action' AND t.atttypid <> 'boolean'::regtype
				AND v.column_number IS DISTINCT FROM (SELECT min(n.column_number)
					FROM stepadv_internal.view_columns((a).rows) n WHERE n.name = 'step_no')) r
		JOIN stepadv_internal.view_columns((a).shown) s ON s.plain AND s.relation = r.relation
			AND s.column_number = r.column_number AND s.name NOT LIKE 'stepadv\_%'
		GROUP BY r.relation, r.column_number, r.type) c
$$;
COMMENT ON FUNCTION stepadv_internal.shown_action(stepadv_internal.attached, text) IS
'part of attach: what a shown step did, as text; NULL where no shown column says so';

-- Steps that stand beside the one, or the rollout, of a row, each under an alias: the join that brings
-- it, its id as the user knows it, and what it did.
CREATE FUNCTION stepadv_internal.steps_beside(a stepadv_internal.attached, aliases text[], has_number boolean,
	OUT joins text, OUT made jsonb, OUT actions text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	alias text;
	action text;
BEGIN
	joins := '';
	made := '{}';
	actions := '{}';
	FOREACH alias IN ARRAY aliases LOOP
		-- Of a rollout's steps the number is known, too, by which an index may lead to them.
		joins := joins || CASE WHEN has_number AND NOT stepadv_internal.step_is_key((a).shown, (a).n_group_columns)
			THEN stepadv_internal.join_to(a, alias, (a).shown, '{stepadv_rollout,stepadv_no}'::text[],
				ARRAY['a.rollout_id', format('a.%s_step_no', alias)])
			ELSE stepadv_internal.join_to(a, alias, (a).shown, '{stepadv_step}'::text[],
				ARRAY[format('a.%s_step_id', alias)]) END;
		IF stepadv_internal.has_column((a).shown, 'stepadv_step_id'::text) THEN
			made := made || jsonb_build_object(alias || '_step_id', alias || '.stepadv_step_id');
		END IF;
		action := stepadv_internal.shown_action(a, alias);
		IF action IS NOT NULL THEN
			actions := actions || (alias || '_action');
			made := made || jsonb_build_object(alias || '_action', action);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.steps_beside(stepadv_internal.attached, text[], boolean) IS
'part of attach: the joins that bring steps other than the one of a row, and the expressions for their ids and actions';

CREATE FUNCTION stepadv_internal.decision_points_query(a stepadv_internal.attached,
	made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	beside record;
	others record;
	settings CONSTANT text := stepadv_internal.question_arguments(a, 'decision_points'::text,
		'stepadv.decision_points(stepadv.rollout_group, text, float8, float8, float8, text, float8)'::regprocedure,
		'{}'::jsonb);
BEGIN
	IF NOT '{reward,state,action}' <@ stepadv_internal.available_roles(a) THEN
		RETURN NULL;
	END IF;
	others := stepadv_internal.steps_beside(a, '{best,worst}'::text[], false);
	beside := stepadv_internal.beside(a, 'edge'::text,
		'{state,visits,rollouts,actions,entropy,best_q,worst_q,gap,gap_error,best_visits,worst_visits,step_id,
			best_step_id,worst_step_id}'::text[] || others.actions,
		others.made, '{}'::text[]);
	RETURN format('SELECT %s FROM %s CROSS JOIN LATERAL stepadv.decision_points(g.%I%s) a%s%s', beside.items,
		stepadv_internal.fold(a, '{reward,state,action}'::text[], NULL::text, '{}'::text[]),
		stepadv_internal.value_name(a), settings, beside.joins, others.joins);
END
$$;
COMMENT ON FUNCTION stepadv_internal.decision_points_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _decision_points';

CREATE FUNCTION stepadv_internal.failure_points_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	beside record;
	others record;
	run record;
	results text[] := '{rollout_id,n_steps,distance}';
	settings CONSTANT text := stepadv_internal.question_arguments(a, 'failure_points'::text,
		'stepadv.failure_points(stepadv.rollout_group, text, float8, float8, float8, text, float8)'::regprocedure,
		'{}'::jsonb);
BEGIN
	IF NOT '{reward,state}' <@ stepadv_internal.available_roles(a) THEN
		RETURN NULL;
	END IF;
	others := stepadv_internal.steps_beside(a, '{last_chance,dead_end,drop}'::text[], true);
	SELECT results || array_agg(c.name ORDER BY s.i, c.i) INTO results
	FROM unnest('{last_chance,dead_end,drop}'::text[]) WITH ORDINALITY s(alias, i)
	CROSS JOIN LATERAL (VALUES (1, s.alias || '_step_no'), (2, s.alias || '_step_id'), (3, s.alias || '_action'), (4,
		CASE s.alias WHEN 'drop' THEN 'value_drop' END)) c(i, name)
	WHERE c.name IS NOT NULL AND (c.i <> 3 OR c.name = ANY (others.actions));
	beside := stepadv_internal.beside(a, 'rollout'::text, results, others.made, '{}'::text[]);
	run := stepadv_internal.run_items(a, 'rollout'::text, beside.names,
		'{task_id,run_id,policy_version,policy_step}'::text[]);
	RETURN format('SELECT %s%s FROM %s CROSS JOIN LATERAL stepadv.failure_points(g.%I%s) a%s%s%s', beside.items,
		run.items,
		stepadv_internal.fold(a, '{reward,state,action,next_state,cost,truncated}'::text[], NULL::text, '{}'::text[]),
			stepadv_internal.value_name(a), settings, beside.joins, others.joins, run.joins);
END
$$;
COMMENT ON FUNCTION stepadv_internal.failure_points_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _failure_points';

CREATE FUNCTION stepadv_internal.graph_summary_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s%s FROM %s CROSS JOIN LATERAL stepadv.graph_summary(g.%I%s) a%s%s', b.items, r.items,
		stepadv_internal.fold(a, '{reward,state,next_state,cost}'::text[], NULL::text, '{}'::text[]),
			stepadv_internal.value_name(a),
		stepadv_internal.question_arguments(a, 'graph_summary'::text,
			'stepadv.graph_summary(stepadv.rollout_group, float8, integer)'::regprocedure, '{}'::jsonb), b.joins,
			r.joins)
	FROM stepadv_internal.beside(a, 'group'::text,
		'{n_rollouts,n_successes,n_steps,n_states,singleton_share,one_rollout_share,dead_end_share,unreached_share,
			nonzero_share,farthest,distance_histogram,rollouts_by_depth,visits_by_depth}'::text[],
		'{}'::jsonb, '{}'::text[]) b
	CROSS JOIN LATERAL stepadv_internal.run_items(a, 'group'::text, b.names,
		'{task_id,run_id,policy_version,policy_step}'::text[]) r
	WHERE '{reward,state}' <@ stepadv_internal.available_roles(a)
$$;
COMMENT ON FUNCTION stepadv_internal.graph_summary_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _graph_summary';

-- The attachment as if its rows said nothing of their runs.
CREATE FUNCTION stepadv_internal.without_own_runs(a stepadv_internal.attached) RETURNS stepadv_internal.attached
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	a.began := NULL;
	RETURN a;
END
$$;
COMMENT ON FUNCTION stepadv_internal.without_own_runs(stepadv_internal.attached) IS
'part of attach: an attachment of whose rollouts only a table of them says of which run they are';

-- Where there are no states, or no actions, steps are the same by the other; and by their actions
-- where a state is all that was done before, which never comes back.
CREATE FUNCTION stepadv_internal.loops_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	roles CONSTANT text[] := stepadv_internal.available_roles(a);
	keys CONSTANT text[] := stepadv_internal.group_columns((a).rows, (a).n_group_columns);
	run CONSTANT record := stepadv_internal.runs_beside(a);
	counts CONSTANT text[] := '{n_steps,n_repeats,n_same_results,n_in_cycles,n_in_loops}';
	by_table record;	-- the joins that bring what a table of rollouts knows
	divided record;		-- a group's steps are counted by run and version, unless all of it are of one
	beside record;
	settings CONSTANT text := stepadv_internal.question_arguments(a, 'loops'::text,
		'stepadv.loops(stepadv.rollout_group, text, integer)'::regprocedure,
		jsonb_build_object('max_cycle', 8, 'same', CASE WHEN NOT 'state' = ANY (roles)
			OR (a).states IN ('history', 'signature') THEN 'action' WHEN NOT 'action' = ANY (roles) THEN 'state'
			ELSE 'state_action' END));
	success_above CONSTANT text := stepadv_internal.question_arguments(a, 'loops'::text,
		'stepadv.rollouts(stepadv.rollout_group, float8)'::regprocedure, '{}'::jsonb);
BEGIN
	IF NOT roles && '{state,action}' THEN
		RETURN NULL;
	END IF;
	by_table := stepadv_internal.run_of_rollout(stepadv_internal.without_own_runs(a));
	-- Of the rows themselves it is brought by one join of all rollouts: to look for each group's took three times as
	-- long as to fold them.
	SELECT coalesce(string_agg(format(', %s AS %I', by_table.expressions[array_position(by_table.names, r.name)],
		r.name), '' ORDER BY r.i) FILTER (WHERE r.view = (a).runs), '') AS of_table,
		coalesce(string_agg(CASE WHEN r.view = (a).runs THEN format(', a.%I', r.name) ELSE ', ' || r.expression END, ''
			ORDER BY r.i), '') AS expressions, coalesce(string_agg(format(', %I', r.name), '' ORDER BY r.i),
			'') AS names,
		CASE WHEN bool_or(r.view = (a).began)
			THEN format(' LEFT JOIN %s o ON %s AND o.stepadv_rollout OPERATOR(pg_catalog.=) a.rollout_id',
			stepadv_internal.relation_name((a).began),
			stepadv_internal.same_group('o'::text, (a).began, 'g'::text, (a).rows, (a).n_group_columns))
				ELSE '' END AS joins
	INTO divided FROM unnest(run.names, run.expressions, run.views) WITH ORDINALITY r(name, expression, view, i)
		WHERE r.view <> (a).rows;
	beside := stepadv_internal.beside(a, 'group'::text, run.names || '{success}'::text[] || counts
		|| '{loop_share}'::text[],
		(SELECT coalesce(jsonb_object_agg(r.name, r.expression), '{}') FROM unnest(run.names, run.expressions,
			run.views) r(name, expression, view) WHERE r.view = (a).rows), '{}'::text[]);
	RETURN format($view$
		SELECT %1$s FROM (
			SELECT %2$s%3$s, a.success, %4$s, sum(a.n_in_loops)::float8 / sum(a.n_steps)::float8
			FROM %5$s%6$s CROSS JOIN LATERAL (
				-- Both functions give their rows in one order, that of the value.
				SELECT f.*%7$s FROM ROWS FROM (stepadv_internal.loop_counts(g.%8$I%9$s),
					stepadv.rollouts(g.%8$I%10$s)) AS f(rollout_id, n_steps, n_repeats, n_same_results, n_in_cycles,
					n_in_loops,
					same_rollout_id, same_n_steps, outcome, return, success, judged, truncated, step_of_policy)%11$s
				WHERE f.n_steps > 0) a%12$s
			GROUP BY %2$s%3$s, a.success) a(%13$s%14$s, success, %15$s, loop_share)
				CROSS JOIN LATERAL (SELECT %16$s) g(%17$s)$view$,
		beside.items, stepadv_internal.list(keys, 'g.%1$I'::text, ', '::text), divided.expressions,
			stepadv_internal.list(counts, 'sum(a.%1$I)::bigint'::text, ', '::text),
		stepadv_internal.fold(a, '{state,action,next_state}'::text[], NULL::text, '{}'::text[]), by_table.beside,
			divided.of_table, stepadv_internal.value_name(a), settings, success_above, by_table.inside, divided.joins,
		stepadv_internal.list(keys, 'k%2$s'::text, ', '::text), divided.names, array_to_string(counts, ', '),
			stepadv_internal.list(keys, 'a.k%2$s'::text, ', '::text), stepadv_internal.list(keys, '%1$I'::text,
			', '::text));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.loops_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _loops';

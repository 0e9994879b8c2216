-- Views about decisions, failures, loops and the state graph of an attachment.

-- A function's arguments in such a view: the options under the view's name take
-- precedence over those for all methods.
CREATE FUNCTION stepadv_internal.question_arguments(a stepadv_internal.attached, suffix text, function regprocedure,
	otherwise jsonb) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.arguments(question_arguments.function, question_arguments.otherwise
		|| stepadv_internal.method_options(
			ROW(question_arguments.suffix, question_arguments.function, '{}'::text[], '{}'::text[], NULL::text,
				''::text, true, '{}'::text[], p.names, NULL::jsonb, false)::stepadv_internal.known_method,
			coalesce((a).options, '{}'::jsonb) - question_arguments.suffix)
		|| coalesce((SELECT jsonb_object_agg(e.key, e.value)
			FROM jsonb_each(stepadv_internal.view_options(a, question_arguments.suffix)) e
			WHERE e.key = ANY (p.names)), '{}'::jsonb))
	FROM (SELECT f.proargnames[2:f.pronargs] AS names FROM pg_proc f WHERE f.oid = question_arguments.function) p
$$;
COMMENT ON FUNCTION stepadv_internal.question_arguments(stepadv_internal.attached, text, regprocedure, jsonb) IS
'part of attach: the arguments of a function in a view that a builder makes, from the view''s options, the options for '
'all methods, and defaults (otherwise)';

-- What a step did, in the user's words: the columns from which its action is derived,
-- in the relation of shown steps, except whether the call failed.
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
			-- An action that is a signature also reads step_no, to test that the row is a step.
			WHERE v.name = 'action' AND t.atttypid <> 'boolean'::regtype
				AND v.column_number IS DISTINCT FROM (SELECT min(n.column_number)
					FROM stepadv_internal.view_columns((a).rows) n WHERE n.name = 'step_no')) r
		JOIN stepadv_internal.view_columns((a).shown) s ON s.plain AND s.relation = r.relation
			AND s.column_number = r.column_number AND s.name NOT LIKE 'stepadv\_%'
		GROUP BY r.relation, r.column_number, r.type) c
$$;
COMMENT ON FUNCTION stepadv_internal.shown_action(stepadv_internal.attached, text) IS
'part of attach: the action of a shown step, as text; NULL if no shown column has it';

-- Further steps shown in a row, each under an alias: the join, the expression for the user's
-- id of the step, and its action.
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
		-- For steps of the row's rollout, step_no is also known, and an index may use it.
		joins := joins || CASE WHEN has_number AND NOT stepadv_internal.step_is_key((a).shown, (a).n_group_columns)
			THEN stepadv_internal.join_to(a, alias, (a).shown, '{stepadv_rollout,stepadv_no}'::text[],
				ARRAY['a.rollout_id', format('a.%s_step_no', alias)], NULL::text)
			ELSE stepadv_internal.join_to(a, alias, (a).shown, '{stepadv_step}'::text[],
				ARRAY[format('a.%s_step_id', alias)], NULL::text) END;
		IF stepadv_internal.column_type((a).shown, 'stepadv_step_id'::text) IS NOT NULL THEN
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
'part of attach: the joins for steps other than the row''s own, and the expressions for their ids and actions';

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
	others := stepadv_internal.steps_beside(a, '{best,worst}'::text[], false);
	beside := stepadv_internal.beside(a, 'edge'::text,
		'{state,n_visits,n_rollouts,n_actions,entropy,best_q,worst_q,gap,gap_error,n_best_visits,n_worst_visits,step_id,
			best_step_id,worst_step_id}'::text[] || others.actions,
		others.made, '{}'::text[], '{}'::text[], '{}'::jsonb);
	RETURN format('SELECT %s FROM %s CROSS JOIN LATERAL stepadv.decision_points(g.%I%s) a%s%s', beside.items,
		stepadv_internal.fold(a, '{reward,state,action}'::text[]),
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
	results text[] := '{rollout_id,n_steps,distance}';
	settings CONSTANT text := stepadv_internal.question_arguments(a, 'failure_points'::text,
		'stepadv.failure_points(stepadv.rollout_group, text, float8, float8, float8, text, float8)'::regprocedure,
		'{}'::jsonb);
BEGIN
	others := stepadv_internal.steps_beside(a, '{last_chance,dead_end,drop}'::text[], true);
	SELECT results || array_agg(c.name ORDER BY s.i, c.i) INTO results
	FROM unnest('{last_chance,dead_end,drop}'::text[]) WITH ORDINALITY s(alias, i)
	CROSS JOIN LATERAL (VALUES (1, s.alias || '_step_no'), (2, s.alias || '_step_id'), (3, s.alias || '_action'), (4,
		CASE s.alias WHEN 'drop' THEN 'value_drop' END)) c(i, name)
	WHERE c.name IS NOT NULL AND (c.i <> 3 OR c.name = ANY (others.actions));
	beside := stepadv_internal.beside(a, 'rollout'::text, results, others.made, '{}'::text[],
		'{task_id,run_id,policy_version,policy_step}'::text[], '{}'::jsonb);
	RETURN format('SELECT %s FROM %s CROSS JOIN LATERAL stepadv.failure_points(g.%I%s) a%s%s', beside.items,
		stepadv_internal.fold(a, '{reward,state,action,next_state,cost,truncated}'::text[]),
			stepadv_internal.value_name(a), settings, beside.joins, others.joins);
END
$$;
COMMENT ON FUNCTION stepadv_internal.failure_points_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _failure_points';

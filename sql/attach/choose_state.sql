-- choose_state: which states show step-level credit in an attachment.

-- One aggregate per candidate over rows x of a group and, beside them, the caller's candidates s.
CREATE FUNCTION stepadv_internal.candidate_values(a stepadv_internal.attached, n integer, policy text)
RETURNS TABLE (i integer, state text, value text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	relation CONSTANT regclass := stepadv_internal.rows_for(a, '{state}'::text[]);
	by_turn CONSTANT text :=
		CASE (a).unit WHEN 'turn' THEN 'stepadv.by_turn(%s, ''sequence''::text)' WHEN 'turn_set'
			THEN 'stepadv.by_turn(%s, ''set''::text)' ELSE '%s' END;
	own CONSTANT text := CASE WHEN stepadv_internal.column_type(relation, 'state'::text) IS NOT NULL
		THEN 'x.state::bigint' END;
	folded CONSTANT text :=
		format(by_turn, format('stepadv_internal.lenient_rollout_agg(x.step_id::bigint, x.rollout_id::bigint, '
			'x.step_no::integer, %%s::bigint, x.action::bigint, x.reward::float8, %s::boolean, NULL::bigint, '
			'NULL::float8, NULL::float8, NULL::float8, %s::integer, NULL::float8[], NULL::boolean, %s::bigint, '
			'NULL::bigint, NULL::float8)',
		CASE WHEN stepadv_internal.column_type(relation, 'success'::text) IS NOT NULL THEN 'x.success' ELSE 'NULL' END,
			CASE WHEN (a).unit <> 'step' THEN 'x.turn::integer' ELSE 'NULL' END, coalesce(policy, 'NULL')));
	plain CONSTANT text := format(folded, coalesce(own, 'NULL'));
BEGIN
	RETURN QUERY SELECT v.i, v.state, v.value FROM (VALUES
		(-4, 'as attached', coalesce(stepadv_internal.history(a, plain), CASE WHEN own IS NOT NULL THEN plain END)),
		(-3, 'last two actions', format('stepadv.history_states(%s, ''last''::text, 2)', plain)),
		(-2, 'set of actions', format('stepadv.history_states(%s, ''set''::text)', plain)),
		(-1, 'stateless', format('stepadv.history_states(%s, ''root''::text)', plain))) v(i, state, value)
			WHERE v.value IS NOT NULL
	UNION ALL SELECT c.c, NULL, format(folded, format('s.c%s', c.c)) FROM generate_series(1, n) c(c);
END
$$;
COMMENT ON FUNCTION stepadv_internal.candidate_values(stepadv_internal.attached, integer, text) IS
'part of choose_state: the candidates that every attachment has, and n of the caller''s, as aggregates over its rows';

-- Expressions of the caller run with the caller's own privileges.
CREATE FUNCTION stepadv_internal.choose_state(source regclass, candidates jsonb, policy text, method text,
	max_groups integer, prefix text)
RETURNS TABLE (state text, n_groups bigint, n_steps bigint, coverage float8, score float8, error float8,
	by_chance float8, p_value float8, n_groups_needed bigint, is_best boolean, finding text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	a CONSTANT stepadv_internal.attached :=
		stepadv_internal.known(stepadv_internal.own_attachment(choose_state.source, choose_state.prefix));
	relation CONSTANT regclass := stepadv_internal.rows_for(a, '{state}'::text[]);
	keys CONSTANT text :=
		stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), 'x.%1$I'::text,
			', '::text);
	shown_keys CONSTANT text := stepadv_internal.list(stepadv_internal.group_columns((a).shown, (a).n_group_columns),
		's.%1$I'::text, ', '::text);
	-- The column with the observed text: the state, or a column named observation.
	observed CONSTANT text := (
		SELECT c.name FROM stepadv_internal.view_columns((a).shown) c
		WHERE c.plain AND stepadv_internal.column_type((a).shown, c.name) IN ('text'::regtype, 'varchar'::regtype)
			AND (c.name = 'observation' OR (c.relation, c.column_number) IN (SELECT r.relation, r.column_number
				FROM stepadv_internal.view_columns((a).rows) r WHERE r.name = 'state'))
		ORDER BY c.name = 'observation' DESC LIMIT 1);
	filter CONSTANT text := '(' || stepadv_internal.rollout_filter(a) || ')';
	clustered boolean;
	expressions jsonb := choose_state.candidates;
	asked text[];
	run record;
	-- Checks states by task, as in _credit_check; not if each group is a task of its own.
	task text;
	joins text := '';
	candidate_columns text;
	names text[];
	made text;
	sums float8[];
	hidden float8[];
BEGIN
	IF jsonb_typeof(choose_state.candidates) IS DISTINCT FROM 'object' THEN
		RAISE EXCEPTION 'candidates must be a JSON object, not %', coalesce(choose_state.candidates::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'For example {"room": "room", "room and key": "ROW(room, has_key)"}: names, and SQL expressions '
					'of the columns of the source.';
	ELSIF NOT '{action,reward}' <@ stepadv_internal.available_roles(a) THEN
		RAISE EXCEPTION 'choose_state needs columns given as action and reward'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	-- Cluster similar texts, by their beginnings to save time.  Short texts may be names that differ in one letter.
	IF observed IS NOT NULL THEN
		EXECUTE format('SELECT avg(length(s.o)) >= 40 FROM (SELECT %I AS o FROM %s LIMIT 1000) s', observed,
			stepadv_internal.relation_name((a).shown)) INTO clustered;
		IF clustered THEN
			expressions := jsonb_build_object('text cluster', format('stepadv.state_cluster(pg_catalog.left(s.%I, '
				'1000), 0.6) OVER (PARTITION BY %s ORDER BY s.stepadv_rollout, s.stepadv_no)', observed, shown_keys))
				|| expressions;
		END IF;
	END IF;
	-- The category of the last call, whether it failed, and how far the rollout is.
	IF (a).states = 'signature' AND stepadv_internal.column_type((a).shown, 'stepadv_tool'::text) IS NOT NULL THEN
		expressions := jsonb_build_object('last category', format('ROW(lag(ROW(%s, %s)) OVER (PARTITION BY %s, '
			's.stepadv_rollout ORDER BY s.stepadv_no), %s / 5)',
			stepadv_internal.call_category(a, 's'::text, 'action'::text),
			CASE WHEN stepadv_internal.column_type((a).shown, 'stepadv_ok'::text) IS NOT NULL THEN 's.stepadv_ok'
				ELSE 'NULL' END, shown_keys, stepadv_internal.shown_number(a, 's'::text))) || expressions;
	END IF;
	asked := ARRAY(SELECT e.key FROM jsonb_each_text(expressions) WITH ORDINALITY e(key, value, i) ORDER BY e.i);
	SELECT string_agg(format(', stepadv.signature_hash((%s)::text) AS %s', e.expression, e.name), '' ORDER BY e.i)
		INTO candidate_columns
	FROM (SELECT n.i, expressions ->> n.name AS expression,
		'c' || n.i AS name FROM unnest(asked) WITH ORDINALITY n(name, i)
		UNION ALL SELECT 0, choose_state.policy, 'policy' WHERE choose_state.policy IS NOT NULL) e;
	SELECT array_agg(coalesce(v.state, asked[v.i]) ORDER BY v.i), string_agg(v.value, ', ' ORDER BY v.i) INTO names,
		made
	FROM stepadv_internal.candidate_values(a, cardinality(asked), CASE WHEN choose_state.policy IS NOT NULL
		THEN 's.policy' END) v;
	IF choose_state.method IN ('batch_td', 'graphgpo') THEN
		SELECT r.alias, r.expression, r.view IS NOT NULL OR t.names <> stepadv_internal.group_columns((a).rows,
			(a).n_group_columns) AS by_task, coalesce(r.expression, array_to_string(t.expressions, ', ')) AS task
		INTO run
		FROM stepadv_internal.task_columns(a) t
		LEFT JOIN stepadv_internal.run_expressions(a, '{task_id}'::text[]) r ON true;
		IF run.by_task THEN
			task := run.task;
			joins := stepadv_internal.run_joins(a, 'group'::text, ARRAY[run.alias]);
		END IF;
	END IF;
	-- Fold only the chosen groups, and cluster only their texts.
	EXECUTE format('WITH chosen AS MATERIALIZED (SELECT %1$s FROM %2$s x%3$s GROUP BY %1$s '
		'ORDER BY stepadv.signature_hash(ROW(%1$s)::text) LIMIT $2) SELECT array_agg(y.sums), ARRAY[%4$s] FROM (SELECT '
		'stepadv.credit_sums(g.candidates, $1, NULL::jsonb, 12, 16, 1) AS sums, g.candidates, g.hash, %5$s AS task '
		'FROM (SELECT %1$s, ARRAY[%6$s] AS candidates, stepadv.signature_hash(ROW(%1$s)::text) AS hash FROM %2$s x',
		keys, stepadv_internal.relation_name(relation), coalesce(' WHERE ' || filter, ''),
		(SELECT string_agg(CASE WHEN task IS NULL OR n.name = 'stateless' THEN 'NULL::float8'
			ELSE format('stepadv_internal.hidden_p(array_agg(y.candidates[%1$s] ORDER BY y.hash), '
				'array_agg(y.task ORDER BY y.hash))', n.i) END, ', ' ORDER BY n.i)
			FROM unnest(names) WITH ORDINALITY n(name, i)),
		coalesce(format('ROW(%s)::text', task), 'NULL::text'), made)
		|| coalesce(format(' LEFT JOIN (SELECT %1$s, s.stepadv_rollout, s.stepadv_no%2$s FROM %3$s s '
			'WHERE ROW(%1$s) IN (TABLE chosen)) s ON %4$s AND s.stepadv_rollout = x.rollout_id '
			'AND s.stepadv_no = x.step_no', shown_keys, candidate_columns, stepadv_internal.relation_name((a).shown),
			stepadv_internal.same_group('s'::text, (a).shown, 'x'::text, relation, (a).n_group_columns)), '')
		|| format(' WHERE %sROW(%s) IN (TABLE chosen) GROUP BY %2$s ORDER BY hash) g%3$s) y WHERE y.sums IS NOT NULL',
			filter || ' AND ', keys, joins)
	INTO sums, hidden USING choose_state.method, choose_state.max_groups;
	RETURN QUERY SELECT n.name, c.n_groups, c.n_steps, c.coverage, c.score, c.error, c.by_chance, c.p_value,
		c.n_groups_needed, c.is_best,
		-- If stateless is among the best, the states of the others add nothing either.
		stepadv_internal.credit_finding(c.n_groups, min(c.p_value) OVER (), min(c.n_groups_needed) OVER (), c.is_best,
			CASE WHEN bool_or(c.is_best AND n.name = 'stateless') OVER () THEN 'stateless' END, hidden[n.i])
	FROM stepadv.credit_check(sums) c JOIN unnest(names) WITH ORDINALITY n(name, i) ON n.i = c.candidate
		ORDER BY c.score DESC NULLS LAST, n.i;
END
$$;
COMMENT ON FUNCTION stepadv_internal.choose_state(regclass, jsonb, text, text, integer, text) IS
'stepadv.choose_state, as the owner of the source where the caller has their rights';

CREATE FUNCTION stepadv.choose_state(source regclass, candidates jsonb DEFAULT '{}', policy text DEFAULT NULL,
	method text DEFAULT 'batch_td',
	max_groups integer DEFAULT 100, prefix text DEFAULT NULL)
RETURNS TABLE (state text, n_groups bigint, n_steps bigint, coverage float8, score float8, error float8,
	by_chance float8, p_value float8, n_groups_needed bigint, is_best boolean, finding text)
LANGUAGE c STABLE
AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.choose_state(regclass, jsonb, text, text, integer, text) IS
'which states show step-level credit in an attachment, best first: candidates ({"name": "SQL expression over its '
'columns"}), the attached state, states from earlier actions, and none (stateless); rollout-level advantages score '
'0; policy: an expression for the model, whose own success is subtracted';

-- How agents behave: views that attach makes of what tokens, tool calls and ways to
-- the goal say.  Each is there where the columns that it needs are given.

INSERT INTO stepadv_internal.combined_views VALUES
	(50, 'lineage', 'stepadv_internal.lineage_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}',
		'a row per step, with what its prompt has of the step before'),
	(51, 'lineage_by_rollout', 'stepadv_internal.lineage_by_rollout_query(stepadv_internal.attached, '
		'stepadv_internal.made_method[])', '{}', 'a row per rollout, with its tokens and those that are unique'),
	(52, 'lineage_by_group', 'stepadv_internal.lineage_by_group_query(stepadv_internal.attached, '
		'stepadv_internal.made_method[])', '{}', 'a row per group, with its tokens and those that are unique'),
	(53, 'behaviour', 'stepadv_internal.behaviour_query(stepadv_internal.attached, stepadv_internal.made_method[])',
		'{by}', 'a row per policy version, time bucket and category of action: calls, errors, repeats'),
	(54, 'behaviour_advantage', 'stepadv_internal.behaviour_advantage_query(stepadv_internal.attached, '
		'stepadv_internal.made_method[])', '{}',
		'a row per policy version, time bucket, category of action and method, with the advantages'),
	(55, 'shape_over_time', 'stepadv_internal.shape_over_time_query(stepadv_internal.attached, '
		'stepadv_internal.made_method[])', '{}',
		'a row per policy version, time bucket and measure of rollouts: mean, median, 95th percentile, per success'),
	(56, 'success_by_horizon', 'stepadv_internal.success_by_horizon_query(stepadv_internal.attached, '
		'stepadv_internal.made_method[])', '{width}',
		'a row per policy version, time bucket and distance of the start from the goal: success and excess'),
	(57, 'level_reached', 'stepadv_internal.level_reached_query(stepadv_internal.attached, '
		'stepadv_internal.made_method[])', '{}', 'a row per run and level of success: when it was first reached');

-- ---- Tokens

-- The relation g: a row per group, with its columns and the lineage of its tokens;
-- NULL where no column was given as theirs.
CREATE FUNCTION stepadv_internal.lineage_source(a stepadv_internal.attached) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text[] := stepadv_internal.group_columns((a).shown, (a).n_group_columns);
	-- Both as integers, or both as bigints.
	type CONSTANT text := CASE WHEN 'bigint[]'::regtype IN (stepadv_internal.column_type((a).shown,
		'stepadv_prompt_token_ids'::text), stepadv_internal.column_type((a).shown, 'stepadv_response_token_ids'::text))
		THEN 'bigint[]' ELSE 'integer[]' END;
BEGIN
	IF NOT stepadv_internal.has_column((a).shown, 'stepadv_prompt_token_ids'::text) THEN
		RETURN NULL;
	END IF;
	RETURN format('(SELECT %1$s, stepadv_internal.forgiving_token_lineage(s.stepadv_step::bigint, '
		's.stepadv_rollout::bigint, %2$s, s.stepadv_prompt_token_ids::%3$s, s.stepadv_response_token_ids::%3$s) AS '
		'stepadv_lineage'
			' FROM %4$s s WHERE %5$s AND s.stepadv_no IS NOT NULL GROUP BY %1$s) g',
		stepadv_internal.list(keys, 's.%1$I'::text, ', '::text), stepadv_internal.shown_number(a, 's'::text), type,
			stepadv_internal.relation_name((a).shown),
		stepadv_internal.list(keys, 's.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text));
END
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_source(stepadv_internal.attached) IS
'part of attach: the relation g, a row per group with the lineage of its tokens; NULL without columns of tokens';

-- What a group's lineage says of it, of alias g; of the breaks between its steps; and of its rollouts.
CREATE FUNCTION stepadv_internal.lineage_of_group() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT 'SELECT (g.stepadv_lineage).n_rollouts, (g.stepadv_lineage).n_steps, (g.stepadv_lineage).n_tokens, '
	'(g.stepadv_lineage).n_unique_tokens'::text $$;
COMMENT ON FUNCTION stepadv_internal.lineage_of_group() IS 'part of attach: the query of the tokens of a group g';

CREATE FUNCTION stepadv_internal.lineage_breaks_of_group() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'SELECT coalesce(sum(l.n_new_tokens), 0)::bigint AS n_unique_in_rollouts, count(*) FILTER (WHERE l.run IS '
		'NOT NULL AND l.extends_previous IS NOT TRUE) AS n_runs, count(l.differs_at) AS n_breaks FROM '
		'stepadv.step_lineage(g.stepadv_lineage) l'::text
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_breaks_of_group() IS
'part of attach: the query of what is counted by step of the tokens of a group g';

CREATE FUNCTION stepadv_internal.lineage_of_rollouts() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'SELECT l.rollout_id, count(l.run) AS n_steps, sum(l.n_prompt_tokens + l.n_response_tokens) AS n_tokens, '
		'sum(l.n_new_tokens)::bigint AS n_unique_tokens, max(l.run) AS n_runs, count(l.differs_at) AS n_breaks FROM '
		'stepadv.step_lineage(g.stepadv_lineage) l GROUP BY l.rollout_id'::text
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_of_rollouts() IS
'part of attach: the query of the tokens of the rollouts of a group g';

-- rows: of alias a, with g.
CREATE FUNCTION stepadv_internal.lineage_view(a stepadv_internal.attached, kind text, results text[], rows text)
	RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source text := stepadv_internal.lineage_source(a);
	beside record;
	runs record;
BEGIN
	IF source IS NULL THEN
		RETURN NULL;
	END IF;
	beside := stepadv_internal.beside(a, kind, results, '{}'::jsonb, '{}'::text[]);
	runs := stepadv_internal.run_items(a, kind, beside.names, '{task_id,run_id,policy_version,policy_step}'::text[]);
	RETURN format('SELECT %s%s FROM %s CROSS JOIN LATERAL %s%s%s', beside.items, runs.items, source, rows,
		beside.joins, runs.joins);
END
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_view(stepadv_internal.attached, text, text[], text) IS
'part of attach: the query of a view of tokens, what is shown beside its rows included; NULL without columns of tokens';

CREATE FUNCTION stepadv_internal.lineage_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.lineage_view(a, 'step'::text,
		'{rollout_id,step_no,step_id,n_prompt_tokens,n_response_tokens,n_new_tokens,extends_previous,differs_at,
			run}'::text[],
		'stepadv.step_lineage(g.stepadv_lineage) a'::text)
	WHERE stepadv_internal.view_options(a, 'lineage'::text) IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _lineage; NULL without columns of tokens';

CREATE FUNCTION stepadv_internal.lineage_by_rollout_query(a stepadv_internal.attached,
	made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.lineage_view(a, 'rollout'::text,
		'{rollout_id,n_steps,n_tokens,n_unique_tokens,unique_share,n_runs,n_breaks}'::text[],
		format('(SELECT l.rollout_id, l.n_steps, l.n_tokens, l.n_unique_tokens, l.n_unique_tokens::float8 / '
			'nullif(l.n_tokens, 0)::float8 AS unique_share, l.n_runs, l.n_breaks FROM (%s) l) a',
			stepadv_internal.lineage_of_rollouts()))
	WHERE stepadv_internal.view_options(a, 'lineage_by_rollout'::text) IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_by_rollout_query(stepadv_internal.attached,
	stepadv_internal.made_method[]) IS
'part of attach: the query of the view _lineage_by_rollout; NULL without columns of tokens';

-- What is counted by step is left out when nobody asks for it.
CREATE FUNCTION stepadv_internal.lineage_by_group_query(a stepadv_internal.attached,
	made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.lineage_view(a, 'group'::text,
		'{n_rollouts,n_steps,n_tokens,n_unique_tokens,unique_share,n_unique_in_rollouts,n_runs,n_breaks}'::text[],
		format('(%s) t LEFT JOIN LATERAL (%s) u ON true CROSS JOIN LATERAL (SELECT t.*, t.n_unique_tokens / '
			'nullif(t.n_tokens, 0)::float8 AS unique_share, u.*) a', stepadv_internal.lineage_of_group(),
			stepadv_internal.lineage_breaks_of_group()))
	WHERE stepadv_internal.view_options(a, 'lineage_by_group'::text) IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_by_group_query(stepadv_internal.attached,
	stepadv_internal.made_method[]) IS
'part of attach: the query of the view _lineage_by_group; NULL without columns of tokens';

-- ---- Calls

-- What a call is counted under, over an alias of the adapter of shown steps; NULL
-- where no category was given.
CREATE FUNCTION stepadv_internal.call_category(a stepadv_internal.attached, alias text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	counted_by CONSTANT text := coalesce(stepadv_internal.view_options(a, 'behaviour'::text) ->> 'by', 'column');
	vocabulary CONSTANT text := stepadv.user_vocabulary((a).options #>> '{signature,vocabulary}'::text[])::text;
BEGIN
	IF counted_by NOT IN ('column', 'action') THEN
		RAISE EXCEPTION 'by must be "column" or "action", not %', quote_literal(counted_by)
			USING ERRCODE = 'invalid_parameter_value',
			HINT = 'By action, calls are counted by action_category, whatever the tool: view, modify, test and others.';
	ELSIF NOT stepadv_internal.has_column((a).shown, 'stepadv_category'::text) THEN
		RETURN NULL;
	ELSIF counted_by = 'column' THEN
		RETURN alias || '.stepadv_category';
	ELSIF NOT stepadv_internal.has_column((a).shown, 'stepadv_tool'::text) THEN
		RAISE EXCEPTION 'by "action" needs a column given as tool' USING ERRCODE = 'null_value_not_allowed',
			HINT = 'It is one of the relation whose columns are shown beside steps, too.';
	END IF;
	RETURN format('stepadv.action_category(%1$s.stepadv_tool::text, %2$s::jsonb, %3$L::jsonb)', alias,
		CASE WHEN stepadv_internal.has_column((a).shown, 'stepadv_args'::text) THEN alias || '.stepadv_args'
			ELSE 'NULL' END, nullif(vocabulary, '[]'));
END
$$;
COMMENT ON FUNCTION stepadv_internal.call_category(stepadv_internal.attached, text) IS
'part of attach: the category of a shown step, or with option {"behaviour": {"by": "action"}} its action_category; '
'NULL without a category';

-- What a call is known by to labelled_calls, of an alias of the adapter of shown steps.
CREATE FUNCTION stepadv_internal.label_key(a stepadv_internal.attached, alias text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN stepadv_internal.step_is_key((a).shown, (a).n_group_columns)
		THEN format('%s.stepadv_step::bigint, 0', alias)
		ELSE format('%s.stepadv_rollout::bigint, %s', alias, stepadv_internal.shown_number(a, alias)) END
$$;
COMMENT ON FUNCTION stepadv_internal.label_key(stepadv_internal.attached, text) IS
'part of attach: the two expressions that a step is known by where its category is looked up';

-- The adapter of shown steps with no more than these of its columns, and those of the group: who keeps what
-- is made of them looks for changes of what is read, and the adapter has all that is shown.
CREATE FUNCTION stepadv_internal.shown_only(a stepadv_internal.attached, names text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wanted CONSTANT text[] := stepadv_internal.group_columns((a).shown, (a).n_group_columns)
		|| ARRAY(SELECT n FROM unnest(shown_only.names) n WHERE stepadv_internal.has_column((a).shown, n));
	made record;
BEGIN
	SELECT count(*) AS n, count(c.column_name) AS n_known, count(DISTINCT c.relation) AS n_relations,
		min(c.relation::oid)::regclass AS relation,
		string_agg(format('%s AS %I', CASE WHEN c.plain THEN format('s.%I', c.column_name)
			ELSE stepadv_internal.role_column(CASE c.name WHEN 'stepadv_rollout' THEN 'rollout_id' WHEN 'stepadv_step'
				THEN 'step_id' ELSE substr(c.name, 9) END, c.relation, c.column_name, 's'::text) END, c.name), ', '
				ORDER BY c.number) AS items
	INTO made FROM stepadv_internal.view_columns((a).shown) c WHERE c.name = ANY (wanted);
	-- Where it cannot be told of which columns they are made, as they are.
	RETURN CASE WHEN made.n = cardinality(wanted) AND made.n_known = made.n AND made.n_relations = 1
		THEN format('(SELECT %s FROM %s s)', made.items, stepadv_internal.relation_name(made.relation))
		ELSE stepadv_internal.relation_name((a).shown) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.shown_only(stepadv_internal.attached, text[]) IS
'part of attach: the relation of shown steps, with the columns of the group and some others of the adapter';

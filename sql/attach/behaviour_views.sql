-- How agents behave: views that attach makes of what tokens, tool calls and ways to
-- the goal say.  Each is there where the columns that it needs are given.

INSERT INTO stepadv_internal.combined_views VALUES
	(50, 'lineage', 'stepadv_internal.lineage_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per step, with what its prompt has of the step before'),
	(51, 'lineage_by_rollout', 'stepadv_internal.lineage_by_rollout_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per rollout, with its tokens and those that are unique'),
	(52, 'lineage_by_group', 'stepadv_internal.lineage_by_group_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per group, with its tokens and those that are unique'),
	(53, 'behaviour', 'stepadv_internal.behaviour_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{by}', 'a row per policy version, time bucket and category of action: calls, errors, repeats'),
	(54, 'behaviour_advantage', 'stepadv_internal.behaviour_advantage_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per policy version, time bucket, category of action and method, with the advantages'),
	(55, 'shape_over_time', 'stepadv_internal.shape_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per policy version, time bucket and measure of rollouts: mean, median, 95th percentile, per success'),
	(56, 'success_by_horizon', 'stepadv_internal.success_by_horizon_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{width}', 'a row per policy version, time bucket and distance of the start from the goal: success and excess'),
	(57, 'level_reached', 'stepadv_internal.level_reached_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per run and level of success: when it was first reached');

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
	type CONSTANT text := CASE WHEN 'bigint[]'::regtype IN (stepadv_internal.column_type((a).shown, 'stepadv_prompt_token_ids'::text), stepadv_internal.column_type((a).shown, 'stepadv_response_token_ids'::text))
		THEN 'bigint[]' ELSE 'integer[]' END;
BEGIN
	IF NOT stepadv_internal.has_column((a).shown, 'stepadv_prompt_token_ids'::text) THEN
		RETURN NULL;
	END IF;
	RETURN format('(SELECT %1$s, stepadv_internal.forgiving_token_lineage(s.stepadv_step::bigint, s.stepadv_rollout::bigint, %2$s, s.stepadv_prompt_token_ids::%3$s, s.stepadv_response_token_ids::%3$s) AS stepadv_lineage'
			' FROM %4$s s WHERE %5$s AND s.stepadv_no IS NOT NULL GROUP BY %1$s) g',
		stepadv_internal.list(keys, 's.%1$I'::text, ', '::text), stepadv_internal.shown_number(a, 's'::text), type, stepadv_internal.relation_name((a).shown),
		stepadv_internal.list(keys, 's.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text));
END
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_source(stepadv_internal.attached) IS 'part of attach: the relation g, a row per group with the lineage of its tokens; NULL without columns of tokens';

-- What a group's lineage says of it, of alias g; of the breaks between its steps; and of its rollouts.
CREATE FUNCTION stepadv_internal.lineage_of_group() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT 'SELECT (g.stepadv_lineage).n_rollouts, (g.stepadv_lineage).n_steps, (g.stepadv_lineage).n_tokens, (g.stepadv_lineage).n_unique_tokens'::text $$;
COMMENT ON FUNCTION stepadv_internal.lineage_of_group() IS 'part of attach: the query of the tokens of a group g';

CREATE FUNCTION stepadv_internal.lineage_breaks_of_group() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'SELECT coalesce(sum(l.n_new_tokens), 0)::bigint AS n_unique_in_rollouts, count(*) FILTER (WHERE l.run IS NOT NULL AND l.extends_previous IS NOT TRUE) AS n_runs, count(l.differs_at) AS n_breaks FROM stepadv.step_lineage(g.stepadv_lineage) l'::text
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_breaks_of_group() IS 'part of attach: the query of what is counted by step of the tokens of a group g';

CREATE FUNCTION stepadv_internal.lineage_of_rollouts() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'SELECT l.rollout_id, count(l.run) AS n_steps, sum(l.n_prompt_tokens + l.n_response_tokens) AS n_tokens, sum(l.n_new_tokens)::bigint AS n_unique_tokens, max(l.run) AS n_runs, count(l.differs_at) AS n_breaks FROM stepadv.step_lineage(g.stepadv_lineage) l GROUP BY l.rollout_id'::text
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_of_rollouts() IS 'part of attach: the query of the tokens of the rollouts of a group g';

-- rows: of alias a, with g; kept: the same with g as maintain keeps it, where it does.
CREATE FUNCTION stepadv_internal.lineage_view(a stepadv_internal.attached, kind text, results text[], rows text, kept text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source text := stepadv_internal.lineage_source(a);
	answers CONSTANT text := CASE WHEN kept IS NOT NULL THEN stepadv_internal.kept_answer(a, 'lineage'::text) END;
	beside record;
	runs record;
BEGIN
	IF source IS NULL THEN
		RETURN NULL;
	END IF;
	IF answers IS NOT NULL THEN
		source := format('%s g(%s, %s)', answers, stepadv_internal.list(stepadv_internal.group_columns((a).shown, (a).n_group_columns), '%1$I'::text, ', '::text),
			stepadv_internal.list(stepadv_internal.kept_lineage_columns(), 'stepadv_%1$s'::text, ', '::text));
	END IF;
	beside := stepadv_internal.beside(a, kind, results, '{}'::jsonb, '{}'::text[]);
	runs := stepadv_internal.run_items(a, kind, beside.names, '{task_id,run_id,policy_version,policy_step}'::text[]);
	RETURN format('SELECT %s%s FROM %s CROSS JOIN LATERAL %s%s%s', beside.items, runs.items, source, CASE WHEN answers IS NOT NULL THEN kept ELSE rows END, beside.joins, runs.joins);
END
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_view(stepadv_internal.attached, text, text[], text, text) IS 'part of attach: the query of a view of tokens, what is shown beside its rows included; NULL without columns of tokens';

CREATE FUNCTION stepadv_internal.lineage_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.lineage_view(a, 'step'::text, '{rollout_id,step_no,step_id,n_prompt_tokens,n_response_tokens,n_new_tokens,extends_previous,differs_at,run}'::text[],
		'stepadv.step_lineage(g.stepadv_lineage) a'::text, NULL::text)
	WHERE stepadv_internal.view_options(a, 'lineage'::text) IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _lineage; NULL without columns of tokens';

CREATE FUNCTION stepadv_internal.lineage_by_rollout_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.lineage_view(a, 'rollout'::text, '{rollout_id,n_steps,n_tokens,n_unique_tokens,unique_share,n_runs,n_breaks}'::text[],
		format('(SELECT l.rollout_id, l.n_steps, l.n_tokens, l.n_unique_tokens, l.n_unique_tokens::float8 / nullif(l.n_tokens, 0)::float8 AS unique_share, l.n_runs, l.n_breaks FROM (%s) l) a', stepadv_internal.lineage_of_rollouts()),
		'(SELECT g.stepadv_rollout_id AS rollout_id, g.stepadv_n_steps AS n_steps, g.stepadv_n_tokens AS n_tokens, g.stepadv_n_unique_tokens AS n_unique_tokens, g.stepadv_n_unique_tokens::float8 / nullif(g.stepadv_n_tokens, 0)::float8 AS unique_share, g.stepadv_n_runs::integer AS n_runs, g.stepadv_n_breaks AS n_breaks
			WHERE g.stepadv_rollout_id IS NOT NULL) a'::text)
	WHERE stepadv_internal.view_options(a, 'lineage_by_rollout'::text) IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_by_rollout_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _lineage_by_rollout; NULL without columns of tokens';

-- What is counted by step is left out when nobody asks for it.
CREATE FUNCTION stepadv_internal.lineage_by_group_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.lineage_view(a, 'group'::text, '{n_rollouts,n_steps,n_tokens,n_unique_tokens,unique_share,n_unique_in_rollouts,n_runs,n_breaks}'::text[],
		format('(%s) t LEFT JOIN LATERAL (%s) u ON true CROSS JOIN LATERAL (SELECT t.*, t.n_unique_tokens / nullif(t.n_tokens, 0)::float8 AS unique_share, u.*) a', stepadv_internal.lineage_of_group(), stepadv_internal.lineage_breaks_of_group()),
		format('(SELECT %s, g.stepadv_n_unique_tokens / nullif(g.stepadv_n_tokens, 0)::float8 AS unique_share WHERE g.stepadv_rollout_id IS NULL) a', stepadv_internal.list(stepadv_internal.kept_lineage_columns(), 'g.stepadv_%1$s AS %1$s'::text, ', '::text)))
	WHERE stepadv_internal.view_options(a, 'lineage_by_group'::text) IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_by_group_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _lineage_by_group; NULL without columns of tokens';

-- The relation g of fold_over_time.  Where the group itself says by what rollouts are
-- divided, groups are not divided, and what is kept of them will do.
CREATE FUNCTION stepadv_internal.groups_by_division(a stepadv_internal.attached, reads text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text[] := stepadv_internal.group_columns((a).rows, (a).n_group_columns);
	width CONSTANT text := coalesce(stepadv_internal.view_options(a, 'progress_over_time'::text) ->> 'bucket', '1 day');
	d record;
	items text := '';
	expression text;
BEGIN
	IF (a).folded IS NULL THEN
		RETURN stepadv_internal.fold_over_time(a, reads, NULL::regclass);
	END IF;
	FOR d IN SELECT * FROM stepadv_internal.divisions(a) v WHERE NOT v.stands ORDER BY v.i LOOP
		IF d.view IS NULL THEN
			expression := CASE d.role WHEN 'started_at' THEN 'NULL::timestamptz' ELSE 'NULL::text' END;
		ELSIF d.key IS NULL THEN
			RETURN stepadv_internal.fold_over_time(a, reads, NULL::regclass);
		ELSE
			expression := stepadv_internal.role_column(d.serves_as, (a).rows, keys[d.key], 'g'::text);
			expression := CASE d.role WHEN 'started_at' THEN stepadv_internal.bucket(expression, width) ELSE expression END;
		END IF;
		items := items || format(', %s AS %I', expression, d.divider);
	END LOOP;
	RETURN format('(SELECT g.*%s FROM %s) g', items, stepadv_internal.fold(a, reads, NULL::text, '{}'::text[]));
END
$$;
COMMENT ON FUNCTION stepadv_internal.groups_by_division(stepadv_internal.attached, text[]) IS 'part of attach: the relation g, a row per group and divisions, of what is kept where that is the same';

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
		RAISE EXCEPTION 'by must be "column" or "action", not %', quote_literal(counted_by) USING ERRCODE = 'invalid_parameter_value',
			HINT = 'By action, calls are counted by action_category, whatever the tool: view, modify, test and others.';
	ELSIF NOT stepadv_internal.has_column((a).shown, 'stepadv_category'::text) THEN
		RETURN NULL;
	ELSIF counted_by = 'column' THEN
		RETURN alias || '.stepadv_category';
	ELSIF NOT stepadv_internal.has_column((a).shown, 'stepadv_tool'::text) THEN
		RAISE EXCEPTION 'by "action" needs a column given as tool' USING ERRCODE = 'null_value_not_allowed', HINT = 'It is one of the relation whose columns are shown beside steps, too.';
	END IF;
	RETURN format('stepadv.action_category(%1$s.stepadv_tool::text, %2$s::jsonb, %3$L::jsonb)', alias,
		CASE WHEN stepadv_internal.has_column((a).shown, 'stepadv_args'::text) THEN alias || '.stepadv_args' ELSE 'NULL' END, nullif(vocabulary, '[]'));
END
$$;
COMMENT ON FUNCTION stepadv_internal.call_category(stepadv_internal.attached, text) IS 'part of attach: the category of a shown step, or with option {"behaviour": {"by": "action"}} its action_category; NULL without a category';

-- The attachment as it is of single calls: groups that are kept by turn are not that.
CREATE FUNCTION stepadv_internal.by_call(a stepadv_internal.attached) RETURNS stepadv_internal.attached
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF a.unit IN ('turn', 'turn_set') THEN
		a.unit := NULL;
		a.folded := NULL;
	END IF;
	RETURN a;
END
$$;
COMMENT ON FUNCTION stepadv_internal.by_call(stepadv_internal.attached) IS 'part of attach: an attachment whose steps are calls, whatever they are to its methods';

-- Those of the roles that there are.
CREATE FUNCTION stepadv_internal.shape_reads(a stepadv_internal.attached, roles text[]) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT ARRAY(SELECT r FROM unnest(roles) r WHERE r = ANY (stepadv_internal.available_roles(a))) $$;
COMMENT ON FUNCTION stepadv_internal.shape_reads(stepadv_internal.attached, text[]) IS 'part of attach: those of some roles that an attachment has';

-- What a step is known by to call_labels and its counterparts: of an alias of the adapter
-- of shown steps, and of rows of a method.
CREATE FUNCTION stepadv_internal.label_key(a stepadv_internal.attached, alias text, shown boolean) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN k.by_step AND shown THEN format('%s.stepadv_step::bigint, 0', alias) WHEN k.by_step THEN format('%s.step_id, 0', alias)
		WHEN shown THEN format('%s.stepadv_rollout::bigint, %s', alias, stepadv_internal.shown_number(a, alias)) ELSE format('%1$s.rollout_id, %1$s.step_no', alias) END
	FROM (SELECT stepadv_internal.step_is_key((a).shown, (a).n_group_columns) AS by_step) k
$$;
COMMENT ON FUNCTION stepadv_internal.label_key(stepadv_internal.attached, text, boolean) IS 'part of attach: the two expressions that a step is known by where its category is looked up';

-- The adapter of shown steps with no more than these of its columns, and those of the group: who keeps what
-- is made of them looks for changes of what is read, and the adapter has all that is shown.
CREATE FUNCTION stepadv_internal.shown_only(a stepadv_internal.attached, names text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wanted CONSTANT text[] := stepadv_internal.group_columns((a).shown, (a).n_group_columns) || ARRAY(SELECT n FROM unnest(shown_only.names) n WHERE stepadv_internal.has_column((a).shown, n));
	made record;
BEGIN
	SELECT count(*) AS n, count(c.column_name) AS n_known, count(DISTINCT c.relation) AS n_relations, min(c.relation::oid)::regclass AS relation,
		string_agg(format('%s AS %I', CASE WHEN c.plain THEN format('s.%I', c.column_name)
			ELSE stepadv_internal.role_column(CASE c.name WHEN 'stepadv_rollout' THEN 'rollout_id' WHEN 'stepadv_step' THEN 'step_id' ELSE substr(c.name, 9) END, c.relation, c.column_name, 's'::text) END, c.name), ', ' ORDER BY c.number) AS items
	INTO made FROM stepadv_internal.view_columns((a).shown) c WHERE c.name = ANY (wanted);
	-- Where it cannot be told of which columns they are made, as they are.
	RETURN CASE WHEN made.n = cardinality(wanted) AND made.n_known = made.n AND made.n_relations = 1 THEN format('(SELECT %s FROM %s s)', made.items, stepadv_internal.relation_name(made.relation))
		ELSE stepadv_internal.relation_name((a).shown) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.shown_only(stepadv_internal.attached, text[]) IS 'part of attach: the relation of shown steps, with the columns of the group and some others of the adapter';

-- The join that brings the categories of the calls of a group g: once for the group, not for each step.
CREATE FUNCTION stepadv_internal.labels_join(a stepadv_internal.attached) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text[] := stepadv_internal.group_columns((a).shown, (a).n_group_columns);
	known_by CONSTANT text := stepadv_internal.label_key(a, 'b'::text, true);
	category CONSTANT text := stepadv_internal.call_category(a, 'b'::text);
BEGIN
	RETURN format(' LEFT JOIN (SELECT %1$s, stepadv_internal.call_labels(%2$s, %3$s, %4$s, %5$s) AS stepadv_labels FROM %6$s b WHERE %7$s AND b.stepadv_no IS NOT NULL GROUP BY %1$s) l ON %8$s',
		stepadv_internal.list(keys, 'b.%1$I'::text, ', '::text), known_by, category,
		CASE WHEN stepadv_internal.has_column((a).shown, 'stepadv_ok'::text) THEN 'b.stepadv_ok' ELSE 'NULL::boolean' END,
		CASE WHEN stepadv_internal.has_column((a).shown, 'stepadv_grounded'::text) THEN 'b.stepadv_grounded' ELSE 'NULL::boolean' END,
		stepadv_internal.shown_only(a, ARRAY(SELECT n FROM unnest('{stepadv_rollout,stepadv_step,stepadv_category,stepadv_tool,stepadv_args}'::text[]) n WHERE position('b.' || n IN known_by || ' ' || category) > 0) || '{stepadv_no,stepadv_ok,stepadv_grounded}'::text[]),
		stepadv_internal.list(keys, 'b.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text),
		stepadv_internal.same_group('l'::text, (a).shown, 'g'::text, (a).rows, (a).n_group_columns));
END
$$;
COMMENT ON FUNCTION stepadv_internal.labels_join(stepadv_internal.attached) IS 'part of attach: the join that brings l.stepadv_labels, the categories of the calls of g';

-- The rows of a table of categories s.t, which has so many numbers of each: alias c.
CREATE FUNCTION stepadv_internal.category_rows(width text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format(' CROSS JOIN LATERAL (SELECT u.category, (s.t).numbers[(u.i - 1) * %1$s + 1:u.i * %1$s] AS x FROM unnest((s.t).categories) WITH ORDINALITY u(category, i)) c', width)
$$;
COMMENT ON FUNCTION stepadv_internal.category_rows(text) IS 'part of attach: the join that makes rows of a table of categories, with their numbers as x';

-- What is shown of c.x, the counts of a category.
CREATE FUNCTION stepadv_internal.behaviour_items(a stepadv_internal.attached) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT concat('c.category, c.x[1]::bigint AS n_calls',
		CASE WHEN stepadv_internal.has_column((a).shown, 'stepadv_ok'::text) THEN ', c.x[2]::bigint AS n_errors, c.x[2] / nullif(c.x[3], 0) AS error_share' END,
		CASE WHEN stepadv_internal.has_column((a).shown, 'stepadv_grounded'::text) THEN ', c.x[4] / nullif(c.x[5], 0) AS grounded_share' END,
		CASE WHEN '{state,action}'::text[] <@ stepadv_internal.available_roles(a) THEN ', c.x[6]::bigint AS n_repeats, c.x[6] / c.x[1] AS repeat_share' END)
$$;
COMMENT ON FUNCTION stepadv_internal.behaviour_items(stepadv_internal.attached) IS 'part of attach: the columns of _behaviour after the divisions';

CREATE FUNCTION stepadv_internal.advantage_items(method text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('c.category, %s, c.x[2]::bigint AS n_steps, c.x[3] / nullif(c.x[2], 0) AS mean_advantage, c.x[4] / nullif(c.x[2], 0) AS mean_abs_advantage, c.x[5]::bigint AS n_positive, c.x[6]::bigint AS n_negative', method)
$$;
COMMENT ON FUNCTION stepadv_internal.advantage_items(text) IS 'part of attach: the columns of _behaviour_advantage after the divisions';

CREATE FUNCTION stepadv_internal.behaviour_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	names text;
	kept text;
BEGIN
	IF stepadv_internal.call_category(a, 'b'::text) IS NULL OR NOT stepadv_internal.has_runs(a) THEN
		RETURN NULL;
	END IF;
	kept := stepadv_internal.kept_behaviour(a, made, 1);
	IF kept IS NOT NULL THEN
		RETURN format('SELECT %s, %s FROM %s', stepadv_internal.kept_divisions(a), stepadv_internal.behaviour_items(a), kept);
	END IF;
	names := (SELECT string_agg(format('s.%I', d.name), ', ' ORDER BY d.i) FROM stepadv_internal.divisions(a) d);
	RETURN format('SELECT %1$s, %2$s FROM (SELECT %1$s, stepadv_internal.category_totals(s.t) AS t FROM (SELECT %3$s, stepadv_internal.call_counts(g.%4$I, l.stepadv_labels, %5$L::boolean) AS t FROM %6$s%7$s) s GROUP BY %1$s) s%8$s',
		names, stepadv_internal.behaviour_items(a), stepadv_internal.division_list(a, '%1$s AS %2$I'::text, false), stepadv_internal.value_name(a), stepadv_internal.step_is_key((a).shown, (a).n_group_columns),
		stepadv_internal.groups_by_division(stepadv_internal.by_call(a), stepadv_internal.shape_reads(a, '{state,action}'::text[])), stepadv_internal.labels_join(a), stepadv_internal.category_rows('6'::text));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.behaviour_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _behaviour; NULL without a category, or where nothing is known of runs';

-- A condition on the method leaves the others' branches out.
CREATE FUNCTION stepadv_internal.behaviour_advantage_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	names text;
	branches text;
	kept text;
BEGIN
	branches := stepadv_internal.method_branches(a, made, '{t}'::text[], ARRAY[format('stepadv_internal.category_sums(l.stepadv_labels, %s, e.advantage)', stepadv_internal.label_key(a, 'e'::text, false))]);
	IF branches IS NULL OR NOT stepadv_internal.has_runs(a) OR stepadv_internal.view_options(a, 'behaviour_advantage'::text) IS NULL OR stepadv_internal.call_category(a, 'b'::text) IS NULL THEN
		RETURN NULL;
	END IF;
	kept := stepadv_internal.kept_behaviour(a, made, 2);
	IF kept IS NOT NULL THEN
		RETURN format('SELECT %s, %s FROM %s', stepadv_internal.kept_divisions(a), stepadv_internal.advantage_items('c.name AS method'::text), kept);
	END IF;
	names := (SELECT string_agg(format('s.%I', d.name), ', ' ORDER BY d.i) FROM stepadv_internal.divisions(a) d);
	RETURN format('SELECT %1$s, %2$s FROM (SELECT %1$s, s.method, stepadv_internal.category_totals(s.t) AS t FROM (SELECT %3$s, m.method, m.t FROM %4$s%5$s CROSS JOIN LATERAL (%6$s) m) s GROUP BY %1$s, s.method) s%7$s',
		names, stepadv_internal.advantage_items('s.method'::text), stepadv_internal.division_list(a, '%1$s AS %2$I'::text, false),
		stepadv_internal.groups_by_division(a, stepadv_internal.roles_read(made, '{}'::text[])), stepadv_internal.labels_join(a), branches, stepadv_internal.category_rows('6'::text));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.behaviour_advantage_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _behaviour_advantage; NULL without a category or methods, or where nothing is known of runs';

-- ---- Rollouts

-- The relation t: by rollout the tokens of its responses; those of a rollout are
-- known where those of all its steps are.
CREATE FUNCTION stepadv_internal.response_tokens(a stepadv_internal.attached) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text[] := stepadv_internal.group_columns((a).shown, (a).n_group_columns);
BEGIN
	IF NOT stepadv_internal.has_column((a).shown, 'stepadv_response_token_ids'::text) THEN
		RETURN '';
	END IF;
	RETURN format(' LEFT JOIN (SELECT %1$s, s.stepadv_rollout, CASE WHEN count(s.stepadv_response_token_ids) = count(*) THEN sum(pg_catalog.cardinality(s.stepadv_response_token_ids))::float8 END AS n_tokens'
			' FROM %2$s s WHERE s.stepadv_no IS NOT NULL GROUP BY %1$s, s.stepadv_rollout) t ON %3$s AND t.stepadv_rollout OPERATOR(pg_catalog.=) a.rollout_id',
		stepadv_internal.list(keys, 's.%1$I'::text, ', '::text), stepadv_internal.shown_only(a, '{stepadv_rollout,stepadv_no,stepadv_response_token_ids}'::text[]),
		stepadv_internal.same_group('t'::text, (a).shown, 'g'::text, (a).rows, (a).n_group_columns));
END
$$;
COMMENT ON FUNCTION stepadv_internal.response_tokens(stepadv_internal.attached) IS 'part of attach: the join that brings the tokens of a rollout''s responses; empty where they are not given';

-- When the rollout of a row a began and ended, in seconds between; and the joins
-- that bring it.
CREATE FUNCTION stepadv_internal.rollout_seconds(a stepadv_internal.attached, OUT expression text, OUT joins text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	began text;
	ended text;
	views regclass[];
BEGIN
	-- A column of the group's is as the user has it.
	SELECT max(c.expression) FILTER (WHERE e.role = 'started_at'), max(c.expression) FILTER (WHERE e.role = 'ended_at'), array_agg(e.view) INTO began, ended, views
	FROM stepadv_internal.run_expressions(a, '{started_at,ended_at}'::text[]) e
	CROSS JOIN LATERAL stepadv_internal.run_column(a, e.role) r
	CROSS JOIN LATERAL (SELECT CASE WHEN r.key IS NULL THEN e.expression
		ELSE stepadv_internal.role_column(e.role, (a).rows, (stepadv_internal.group_columns((a).rows, (a).n_group_columns))[r.key], 'g'::text) END AS expression) c;
	joins := '';
	IF began IS NOT NULL AND ended IS NOT NULL THEN
		-- Infinite times have no distance.  In VALUES Citus takes immutable functions only: those of intervals are.
		expression := format('CASE WHEN pg_catalog.isfinite(%1$s) AND pg_catalog.isfinite(%2$s) THEN ' || CASE WHEN stepadv_internal.is_distributed(ARRAY[(a).rows]) THEN 'extract(epoch FROM %2$s OPERATOR(pg_catalog.-) %1$s)::float8'
			ELSE '(extract(epoch FROM %2$s) - extract(epoch FROM %1$s))::float8' END || ' END', began, ended);
		joins := stepadv_internal.run_joins(a, 'rollout'::text, views);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.rollout_seconds(stepadv_internal.attached) IS 'part of attach: how long the rollout of a row took, and the joins for it; NULL where started_at or ended_at was not given';

-- The parameter of functions that ask whether a rollout succeeded.
CREATE FUNCTION stepadv_internal.shape_arguments(a stepadv_internal.attached) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.arguments('stepadv.rollout_shape(stepadv.rollout_group, float8)'::regprocedure,
		jsonb_strip_nulls(jsonb_build_object('success_above', CASE WHEN jsonb_typeof((a).options -> 'success_above') <> 'object' THEN (a).options -> 'success_above' END)))
$$;
COMMENT ON FUNCTION stepadv_internal.shape_arguments(stepadv_internal.attached) IS 'part of attach: what rollout_shape is called with, after the group';

-- Where the shapes of rollouts come from: groups g, the rollouts a of one, what is joined to all of
-- these, and the measures of a rollout.
CREATE FUNCTION stepadv_internal.shape_source(a stepadv_internal.attached, OUT groups text, OUT rows text, OUT joins text, OUT names text[], OUT expressions text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	reads CONSTANT text[] := stepadv_internal.shape_reads(a, '{state,action,cost,turn}'::text[]);
	tokens CONSTANT text := stepadv_internal.response_tokens(a);
	took CONSTANT record := stepadv_internal.rollout_seconds(a);
	value CONSTANT text := stepadv_internal.value_name(a);
BEGIN
	groups := stepadv_internal.groups_by_division(stepadv_internal.by_call(a), reads);
	-- Both have the same rollouts, in the same order.
	rows := format('stepadv.rollout_shape(g.%I%s)', value, stepadv_internal.shape_arguments(a));
	rows := CASE WHEN 'turn' = ANY (reads) THEN format('ROWS FROM (%s, stepadv.rollouts(stepadv.by_turn(g.%I, ''sequence''::text)))'
			' AS a(rollout_id, n_steps, success, cost, n_repeats, distance, excess, rollout_by_turn, n_turns, outcome, return, success_by_turn, judged, truncated, policy_step)', rows, value)
		ELSE rows || ' a' END;
	joins := concat(tokens, took.joins);
	SELECT array_agg(m.name ORDER BY m.i), array_agg(m.expression ORDER BY m.i) INTO names, expressions
	FROM (VALUES (1, 'steps', 'a.n_steps::float8', true), (2, 'turns', 'a.n_turns::float8', 'turn' = ANY (reads)), (3, 'repeats', 'a.n_repeats::float8', '{state,action}' <@ reads),
		(4, 'cost', 'a.cost', 'cost' = ANY (reads)), (5, 'response_tokens', 't.n_tokens', tokens <> ''), (6, 'seconds', took.expression, took.expression IS NOT NULL)) m(i, name, expression, is_there)
	WHERE m.is_there;
END
$query$;
COMMENT ON FUNCTION stepadv_internal.shape_source(stepadv_internal.attached) IS 'part of attach: the relations g and a of groups and their rollouts, what is joined, and the measures of a rollout by name';

-- Rows m of what there is of each measure.
CREATE FUNCTION stepadv_internal.measure_rows(names text[], expressions text[]) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format(' CROSS JOIN LATERAL (VALUES %s) m(measure, value)', string_agg(format('(%L::text, %s)', e.name, e.expression), ', ' ORDER BY e.i))
	FROM unnest(names, expressions) WITH ORDINALITY e(name, expression, i)
$$;
COMMENT ON FUNCTION stepadv_internal.measure_rows(text[], text[]) IS 'part of attach: the join that makes a row of each measure';

CREATE FUNCTION stepadv_internal.shape_over_time_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	x CONSTANT text[] := stepadv_internal.shape_items();
	source record;
	names text;
	kept text;
BEGIN
	IF NOT stepadv_internal.has_runs(a) OR stepadv_internal.view_options(a, 'shape_over_time'::text) IS NULL THEN
		RETURN NULL;
	END IF;
	kept := stepadv_internal.kept_behaviour(a, made, 3);
	IF kept IS NOT NULL THEN
		RETURN format('SELECT %s, c.name AS measure, c.x[1]::bigint AS n_rollouts, c.x[2] AS mean, c.x[3] AS p50, c.x[4] AS p95, c.x[5] AS per_success FROM %s', stepadv_internal.kept_divisions(a), kept);
	END IF;
	source := stepadv_internal.shape_source(a);
	names := (SELECT string_agg(format('s.%I', d.name), ', ' ORDER BY d.i) FROM stepadv_internal.divisions(a) d);
	RETURN format('SELECT %1$s, s.measure, %2$s AS n_rollouts, %3$s AS mean, %4$s AS p50, %5$s AS p95, %6$s AS per_success FROM (SELECT %7$s, m.measure, m.value, a.success FROM %8$s CROSS JOIN LATERAL %9$s%10$s%11$s) s GROUP BY %1$s, s.measure',
		names, x[1], x[2], x[3], x[4], x[5], stepadv_internal.division_list(a, '%1$s AS %2$I'::text, false), source.groups, source.rows, source.joins, stepadv_internal.measure_rows(source.names, source.expressions));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.shape_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _shape_over_time; NULL where nothing is known of runs';

CREATE FUNCTION stepadv_internal.success_by_horizon_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	width CONSTANT float8 := coalesce((stepadv_internal.view_options(a, 'success_by_horizon'::text) ->> 'width')::float8, 1);
	x CONSTANT text[] := stepadv_internal.horizon_items();
	names text;
	kept text;
BEGIN
	IF NOT (width > 0 AND width < 'Infinity') THEN
		RAISE EXCEPTION 'width must be a finite number above 0, not %', width USING ERRCODE = 'invalid_parameter_value';
	ELSIF NOT 'state' = ANY (stepadv_internal.available_roles(a)) OR NOT stepadv_internal.has_runs(a) THEN
		RETURN NULL;
	END IF;
	kept := stepadv_internal.kept_behaviour(a, made, 4);
	IF kept IS NOT NULL THEN
		RETURN format('SELECT %s, c.horizon, c.x[1]::bigint AS n_rollouts, c.x[2]::bigint AS n_successes, c.x[2] / c.x[1] AS success_rate, c.x[3] AS mean_steps, c.x[4] AS mean_excess, c.x[5] AS p50_excess FROM %s',
			stepadv_internal.kept_divisions(a), kept);
	END IF;
	names := (SELECT string_agg(format('s.%I', d.name), ', ' ORDER BY d.i) FROM stepadv_internal.divisions(a) d);
	RETURN format($view$
		SELECT %1$s, s.horizon, %2$s AS n_rollouts, %3$s AS n_successes, (%3$s)::float8 / %2$s AS success_rate, %4$s AS mean_steps, %5$s AS mean_excess, %6$s AS p50_excess
		FROM (SELECT %7$s, floor(a.distance / %8$L::float8) * %8$L::float8 AS horizon, a.success, a.n_steps, a.excess FROM %9$s CROSS JOIN LATERAL stepadv.rollout_shape(g.%10$I%11$s) a
			WHERE a.success IS NOT NULL AND a.n_steps > 0) s
		GROUP BY %1$s, s.horizon$view$,
		names, x[1], x[2], x[3], x[4], x[5], stepadv_internal.division_list(a, '%1$s AS %2$I'::text, false), width,
		stepadv_internal.groups_by_division(a, stepadv_internal.shape_reads(a, '{state,next_state,cost}'::text[])), stepadv_internal.value_name(a), stepadv_internal.shape_arguments(a));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.success_by_horizon_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _success_by_horizon; NULL without states, or where nothing is known of runs';

-- When a run first was so good: by policy step where that is known, else by the
-- bucket of time.  What it had done until then is counted over all of its steps
-- or buckets before, and that one.
CREATE FUNCTION stepadv_internal.level_reached_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	divided record;
BEGIN
	SELECT max(e.expression) FILTER (WHERE d.role = 'run_id') AS run, max(d.name) FILTER (WHERE d.role = 'run_id') AS run_name,
		-- Known rather than only a column of NULLs.
		coalesce(max(e.expression) FILTER (WHERE d.role = 'policy_step' AND d.view IS NOT NULL), max(e.expression) FILTER (WHERE d.role = 'started_at' AND d.view IS NOT NULL)) AS place,
		CASE WHEN bool_or(d.role = 'policy_step' AND d.view IS NOT NULL) THEN max(d.name) FILTER (WHERE d.role = 'policy_step') ELSE 'bucket' END AS place_name
	INTO divided
	FROM stepadv_internal.divisions(a) d CROSS JOIN LATERAL (SELECT CASE WHEN d.stands THEN 'a.k' || d.key ELSE format('a.%I', d.name) END AS expression) e;
	IF divided.place IS NULL OR stepadv_internal.view_options(a, 'level_reached'::text) IS NULL THEN
		RETURN NULL;
	END IF;
	-- A level is reached where the rate is no less, and was less before; never, where the last is still less.
	RETURN format($view$
		SELECT %1$s l.level, CASE WHEN p.success_rate >= l.level THEN p.place END AS %2$I, CASE WHEN p.success_rate >= l.level THEN p.success_rate END AS success_rate,
			CASE WHEN p.success_rate >= l.level THEN p.n_rollouts END AS n_rollouts, CASE WHEN p.success_rate >= l.level THEN p.n_steps END AS n_steps
		FROM (
			SELECT q.*, max(q.success_rate) OVER (%3$s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS best_before,
				sum(q.rollouts) OVER (%3$s) AS n_rollouts, sum(q.steps) OVER (%3$s) AS n_steps, lead(1) OVER (%3$s) IS NULL AS is_last
			FROM (SELECT %4$s %5$s AS place, sum(a.n_rollouts) AS rollouts, sum(a.n_steps) AS steps, sum(a.n_successes)::float8 / nullif(sum(a.n_judged), 0) AS success_rate
				FROM %6$s WHERE %5$s IS DISTINCT FROM NULL GROUP BY %7$s) q) p
		JOIN (SELECT v.level / 10::float8 FROM generate_series(1, 10) v(level)) l(level)
			ON p.success_rate >= l.level AND coalesce(p.best_before, 0) < l.level OR p.is_last AND coalesce(greatest(p.success_rate, p.best_before), 0) < l.level$view$,
		'p.' || quote_ident(divided.run_name) || ',', divided.place_name, concat_ws(' ', 'PARTITION BY q.' || quote_ident(divided.run_name), 'ORDER BY q.place'),
		divided.run || ' AS ' || quote_ident(divided.run_name) || ',', divided.place, (SELECT d.relation FROM stepadv_internal.groups_divided(a, made) d), CASE WHEN divided.run IS NULL THEN '1' ELSE '1, 2' END);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.level_reached_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _level_reached; NULL where neither policy steps nor times are known';

-- Views about the behavior of agents: tokens, tool calls, and paths to the goal.
-- A view is available if the columns that it needs are given.

-- ---- Tokens

CREATE FUNCTION stepadv_internal.lineage_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %1$s FROM (SELECT %2$s, stepadv_internal.lenient_token_lineage('
		's.stepadv_step::bigint, s.stepadv_rollout::bigint, %3$s, s.stepadv_prompt_token_ids::%4$s, '
		's.stepadv_response_token_ids::%4$s) AS stepadv_lineage FROM %5$s s WHERE %6$s AND s.stepadv_no IS NOT NULL '
		'GROUP BY %2$s) g CROSS JOIN LATERAL stepadv.step_lineage(g.stepadv_lineage) a%7$s',
		b.items, stepadv_internal.list(k.keys, 's.%1$I'::text, ', '::text),
		stepadv_internal.shown_number(a, 's'::text),
		-- The type of both arrays: bigint[] if one of them has it.
		CASE WHEN 'bigint[]'::regtype IN (stepadv_internal.column_type((a).shown, 'stepadv_prompt_token_ids'::text),
			stepadv_internal.column_type((a).shown, 'stepadv_response_token_ids'::text)) THEN 'bigint[]'
			ELSE 'integer[]' END, stepadv_internal.relation_name((a).shown),
		stepadv_internal.list(k.keys, 's.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text), b.joins)
	FROM stepadv_internal.group_columns((a).shown, (a).n_group_columns) k(keys)
	CROSS JOIN LATERAL stepadv_internal.beside(a, 'step'::text,
		'{rollout_id,step_no,step_id,n_prompt_tokens,n_response_tokens,n_new_tokens,extends_previous,differs_at,
			segment_no}'::text[], '{}'::jsonb, '{}'::text[],
		'{task_id,run_id,policy_version,policy_step}'::text[], '{}'::jsonb) b
$$;
COMMENT ON FUNCTION stepadv_internal.lineage_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _lineage';

-- ---- Calls

-- The category of a call, over an alias of the adapter of shown steps.  counted_by NULL: as the view's option says,
-- and NULL if no category was given; 'action': its action_category.
CREATE FUNCTION stepadv_internal.call_category(a stepadv_internal.attached, alias text, counted_by text)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kind CONSTANT text := coalesce(counted_by, stepadv_internal.view_options(a, 'behaviour'::text) ->> 'category',
		'column');
	vocabulary CONSTANT text := stepadv.user_vocabulary((a).options #>> '{signature,vocabulary}'::text[])::text;
BEGIN
	IF kind NOT IN ('column', 'action') THEN
		RAISE EXCEPTION 'category must be "column" or "action", not %', quote_literal(kind)
			USING ERRCODE = 'invalid_parameter_value',
			HINT = '"action" counts calls by action_category: view, modify, test and others.';
	ELSIF counted_by IS NULL AND stepadv_internal.column_type((a).shown, 'stepadv_category'::text) IS NULL THEN
		RETURN NULL;
	ELSIF kind = 'column' THEN
		RETURN alias || '.stepadv_category';
	ELSIF stepadv_internal.column_type((a).shown, 'stepadv_tool'::text) IS NULL THEN
		RAISE EXCEPTION 'category "action" needs a column given as tool' USING ERRCODE = 'null_value_not_allowed',
			HINT = 'It may also be a column of the relation given as show_steps.';
	END IF;
	RETURN format('stepadv.action_category(%1$s.stepadv_tool::text, %2$s::jsonb, %3$L::jsonb)', alias,
		CASE WHEN stepadv_internal.column_type((a).shown, 'stepadv_args'::text) IS NOT NULL
			THEN alias || '.stepadv_args' ELSE 'NULL' END, nullif(vocabulary, '[]'));
END
$$;
COMMENT ON FUNCTION stepadv_internal.call_category(stepadv_internal.attached, text, text) IS
'part of attach: the category of a shown step, or with option {"behaviour": {"category": "action"}} its '
'action_category; NULL without a category';

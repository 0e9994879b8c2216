-- The digests of an attachment's groups, which the views of many groups read.

-- Digests omit methods with a history, whose estimates depend on other groups.
CREATE FUNCTION stepadv_internal.methods_by_group(made stepadv_internal.made_method[])
	RETURNS stepadv_internal.made_method[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT ARRAY(SELECT m FROM unnest(made) m
		WHERE '{step_no,advantage}' <@ m.results AND NOT (m.takes_history
			AND stepadv_internal.history_reach(m.method, m.settings) IS NOT NULL)
		ORDER BY m.number)
$$;
COMMENT ON FUNCTION stepadv_internal.methods_by_group(stepadv_internal.made_method[]) IS
'part of attach: the methods that read only the group';

-- ---- Measures of rollouts, and calls

-- measures: names of what is measured per rollout; took: the adapter that knows how long rollouts took, if that is one
-- of them; joins, arguments: what is known of calls, as l, and as arguments of group_digest.
CREATE FUNCTION stepadv_internal.digest_joins(a stepadv_internal.attached, has_measures boolean, has_calls boolean,
	OUT measures text[], OUT took regclass, OUT joins text, OUT arguments text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	roles CONSTANT text[] := stepadv_internal.available_roles(a);
	keys CONSTANT text[] := stepadv_internal.group_columns((a).shown, (a).n_group_columns);
	by_step CONSTANT boolean := stepadv_internal.step_is_key((a).shown, (a).n_group_columns);
	category CONSTANT text := CASE WHEN has_calls THEN stepadv_internal.call_category(a, 'b'::text, NULL::text) END;
	-- Columns of a call beside its category; NULL if there is none, or if it is not requested.
	told CONSTANT text[] := ARRAY(SELECT CASE WHEN t.is_asked
			AND stepadv_internal.column_type((a).shown, t.name) IS NOT NULL THEN format('b.%I', t.name) END
		FROM (VALUES (1, 'stepadv_ok', has_calls), (2, 'stepadv_grounded', has_calls),
			(3, 'stepadv_response_token_ids', has_measures)) t(i, name, is_asked) ORDER BY t.i);
BEGIN
	measures := '{}';
	joins := '';
	IF has_measures THEN
		-- The duration of a rollout, if its start and end are in the same adapter.
		SELECT nullif(min(c.view::oid)::regclass, (a).rows) INTO took
		FROM unnest('{started_at,ended_at}'::text[]) r(role)
			CROSS JOIN LATERAL stepadv_internal.run_column(a, r.role) c
		HAVING count(c.view) = 2 AND min(c.view::oid) = max(c.view::oid);
		SELECT array_agg(m.name ORDER BY m.i) INTO measures
		FROM (VALUES (1, 'steps', true), (2, 'turns', 'turn' = ANY (roles)), (3, 'repeats', '{state,action}' <@ roles),
			(4, 'cost', 'cost' = ANY (roles)),
			(5, 'response_tokens', told[3] IS NOT NULL), (6, 'seconds', took IS NOT NULL)) m(i, name, is_there)
		WHERE m.is_there;
	END IF;
	-- Skip calls of which nothing is known, if columns show that.
	IF has_calls OR told[3] IS NOT NULL THEN
		joins := format(' LEFT JOIN (SELECT %1$s, stepadv_internal.labelled_calls(%2$s, %3$s, %4$s, %5$s, '
			'%6$s) AS calls FROM %7$s b WHERE %8$s AND b.stepadv_no IS NOT NULL%9$s GROUP BY %1$s) l ON %10$s',
			stepadv_internal.list(keys, 'b.%1$I'::text, ', '::text),
			CASE WHEN by_step THEN 'b.stepadv_step::bigint, 0'
				ELSE 'b.stepadv_rollout::bigint, ' || stepadv_internal.shown_number(a, 'b'::text) END,
			coalesce(category, 'NULL::text'), coalesce(told[1], 'NULL::boolean'), coalesce(told[2], 'NULL::boolean'),
			coalesce('pg_catalog.cardinality(' || told[3] || ')', 'NULL::integer'),
			stepadv_internal.relation_name((a).shown),
			stepadv_internal.list(keys, 'b.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text),
			CASE WHEN category IS NULL OR category = 'b.stepadv_category' THEN ' AND ('
				|| array_to_string(array_remove(category || told, NULL), ' IS NOT NULL OR ') || ' IS NOT NULL)' END,
			stepadv_internal.same_group('l'::text, (a).shown, 'g'::text, (a).rows, (a).n_group_columns));
		arguments := format('calls => l.calls, calls_by_step => %L::boolean', by_step);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.digest_joins(stepadv_internal.attached, boolean, boolean) IS
'part of attach: what is measured of rollouts, and the join for what is known of calls, with the arguments of '
	'group_digest for it';

-- ---- Digests

-- parts: contents of the digests besides counts (methods, calls, measures, horizons).  The query returns k1, k2, …
-- (the group's columns), the divisions that are not among these, and digest.
CREATE FUNCTION stepadv_internal.digest_query(a stepadv_internal.attached, made stepadv_internal.made_method[],
	parts text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width CONSTANT float8 := coalesce((stepadv_internal.view_options(a, 'success_by_horizon'::text)
		->> 'width')::float8, 1);
	has_calls CONSTANT boolean := 'calls' = ANY (parts)
		AND stepadv_internal.call_category(a, 'b'::text, NULL::text) IS NOT NULL;
	has_horizons CONSTANT boolean := 'horizons' = ANY (parts) AND 'state' = ANY (stepadv_internal.available_roles(a));
	own CONSTANT stepadv_internal.made_method[] := CASE WHEN 'methods' = ANY (parts)
		THEN stepadv_internal.methods_by_group(made) ELSE '{}' END;
	-- The advantages of a group by all these methods, as m.advantages, whichever _compare shows.
	advantages CONSTANT text := CASE WHEN own <> '{}' THEN ' CROSS JOIN LATERAL '
		|| (stepadv_internal.method_rows(own, NULL::text, format('stepadv.outcomes(g.%I)',
		stepadv_internal.value_name(a)), '{step_id,rollout_id,step_no,success,return}'::text[])).as_array END;
	reads text[] := '{}';
	measures record;
	g record;
	arguments text;
BEGIN
	IF NOT (width > 0 AND width < 'Infinity') THEN
		RAISE EXCEPTION 'width must be a finite number above 0, not %', width USING ERRCODE = 'invalid_parameter_value';
	END IF;
	measures := stepadv_internal.digest_joins(a, 'measures' = ANY (parts), has_calls);
	reads := ARRAY(SELECT DISTINCT r FROM unnest(own) o CROSS JOIN LATERAL unnest(o.reads) r) || ARRAY(
		SELECT r FROM (SELECT stepadv_internal.available_roles(a)) k(known),
			(VALUES ('{state,truncated,rewards}'::text[], 'counts' = ANY (parts)),
			('{state,action,cost,turn}', has_calls OR 'measures' = ANY (parts)),
			('{state,next_state,cost}', has_horizons)) v(roles, is_read) CROSS JOIN LATERAL unnest(v.roles) r
				WHERE v.is_read AND r = ANY (k.known));
	g := stepadv_internal.groups_by_division(a, ARRAY(SELECT DISTINCT r FROM unnest(reads) r), measures.took);
	arguments := concat_ws(', ', format('g.%I', stepadv_internal.value_name(a)), format('%L::text[]',
			ARRAY(SELECT o.method FROM unnest(own) o ORDER BY o.number)),
		CASE WHEN advantages IS NULL THEN 'NULL::float8[]' ELSE 'm.advantages' END, format('measures => %L::text[]',
			measures.measures), g.durations, measures.arguments,
		format('success_above => %L::float8', coalesce((SELECT (stepadv_internal.method_options(m,
				(a).options) ->> 'success_above')::float8
			FROM stepadv_internal.known_methods('stepadv_internal.methods'::regclass) m
			WHERE (a).options <> '{}' AND m.method = 'groups'), 0)),
		CASE WHEN advantages IS NOT NULL THEN format('sign_threshold => %L::float8, difference_threshold => %L::float8',
			stepadv_internal.threshold(a, 'quadrants'::text, 0::float8), stepadv_internal.threshold(a,
				'disagreements'::text, 1e-9::float8)) END,
		CASE WHEN has_horizons THEN format('horizon_width => %L::float8', width) END);
	RETURN format('SELECT %s%s, stepadv.group_digest(%s) AS digest FROM %s%s%s',
		stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), 'g.%1$I'::text,
			', '::text),
		(SELECT ', ' || string_agg(format('%s AS %I', d.of_g, d.name), ', ' ORDER BY d.i)
			FROM stepadv_internal.divisions(a) d WHERE NOT d.is_key), arguments,
		g.relation, advantages, g.join_durations || measures.joins);
END
$$;
COMMENT ON FUNCTION stepadv_internal.digest_query(stepadv_internal.attached, stepadv_internal.made_method[], text[]) IS
'part of attach: the query of the digests of all groups by division, with the requested parts: counts, methods, calls, '
	'measures, horizons';

-- The relation d: k1, k2, …, the group's columns; d1, d2, …, all divisions; digest.  It reads the kept digests, and
-- computes those of groups whose kept digest is NULL.  With part: d1, d2, … and that part of all groups together.
-- Each source is rolled up on its own first: the planner can estimate the number of divisions in the kept table,
-- but not in a union, for which it sorts all digests.
CREATE FUNCTION stepadv_internal.digests(a stepadv_internal.attached, made stepadv_internal.made_method[],
	parts text[], part text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	k_list CONSTANT text := (SELECT string_agg('k' || i, ', ' ORDER BY i) FROM generate_series(1, (a).n_group_columns)
		i);
	x_list CONSTANT text := regexp_replace(k_list, '\mk', 'x.k', 'g');
	together CONSTANT text := format('SELECT %1$s, stepadv.rollup(d.digest, %2$L::text) AS digest FROM %3$s d '
		'GROUP BY %1$s', (SELECT string_agg('d.d' || v.i, ', ' ORDER BY v.i) FROM stepadv_internal.divisions(a) v),
		part, '%s');
	names text := k_list;
	not_kept stepadv_internal.attached := a;
	shown text;
	queries text[];
	-- The name of its last column.
	digest CONSTANT text := (SELECT c.attname FROM pg_attribute c WHERE c.attrelid = (a).digests AND c.attnum > 0
		AND NOT c.attisdropped ORDER BY c.attnum DESC LIMIT 1);
BEGIN
	SELECT k_list || string_agg(', d' || d.i, '' ORDER BY d.i) FILTER (WHERE NOT d.is_key),
		string_agg(format(', %s AS d%s', CASE WHEN d.is_key THEN 'x.k' || d.key ELSE 'x.d' || d.i END, d.i), ''
			ORDER BY d.i)
	INTO names, shown FROM stepadv_internal.divisions(a) d;
	names := coalesce(names, k_list);
	IF ((a).digests IS NOT NULL AND (a).fresh_digests IS NOT NULL AND parts <@ (a).digest_parts) IS NOT TRUE THEN
		queries := ARRAY[stepadv_internal.digest_query(a, made, parts)];
	ELSE
		not_kept.folded := NULL;
		queries := ARRAY[format('SELECT c.* FROM %s c WHERE c.%I IS NOT NULL AND %s',
			stepadv_internal.relation_name((a).digests), digest,
			stepadv_internal.kept_condition((a).fresh_digests)),
			format('SELECT %7$s FROM (SELECT DISTINCT %2$s FROM %1$s c WHERE c.%4$I IS NULL) c(%5$s)'
				' CROSS JOIN LATERAL (SELECT f.* FROM (%3$s) f(%8$s, digest) WHERE %6$s OFFSET 0) f',
			stepadv_internal.relation_name((a).digests),
				stepadv_internal.list(stepadv_internal.group_columns((a).digests, (a).n_group_columns), 'c.%1$I'::text,
				', '::text),
			-- Kept digests count calls by method.
			stepadv_internal.digest_query(not_kept, made, parts || CASE WHEN 'calls' = ANY (parts) THEN '{methods}'
				ELSE '{}' END::text[]),
			digest, k_list,
			(SELECT string_agg(format('f.k%1$s %2$s c.k%1$s', k.attnum, stepadv_internal.equality_operator(k.atttypid)),
					' AND ' ORDER BY k.attnum)
				FROM pg_attribute k WHERE k.attrelid = (a).digests AND k.attnum BETWEEN 1 AND (a).n_group_columns),
			-- Return the key of c, so that conditions on the group are pushed down.
			regexp_replace(regexp_replace(names, '\mk', 'c.k', 'g'), '\md', 'f.d', 'g') || ', f.digest', names)];
	END IF;
	queries := ARRAY(SELECT format('(SELECT %s%s, x.digest FROM (%s) x(%s, digest))', x_list, shown, q.query, names)
		FROM unnest(queries) WITH ORDINALITY q(query, i) ORDER BY q.i);
	IF digests.part IS NULL THEN
		RETURN format('(%s) d', array_to_string(queries, ' UNION ALL '));
	ELSIF cardinality(queries) > 1 THEN
		queries := ARRAY['(' || (SELECT string_agg(format(together, q), ' UNION ALL ') FROM unnest(queries) q) || ')'];
	END IF;
	RETURN format('(%s) d', format(together, queries[1]));
END
$$;
COMMENT ON FUNCTION stepadv_internal.digests(stepadv_internal.attached, stepadv_internal.made_method[], text[], text) IS
'part of attach: the relation d of digests, by the columns of the group (k1, …) and divisions (d1, …); of a '
	'part: by divisions alone';

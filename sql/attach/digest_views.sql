-- Views of many groups: short queries over their digests.

-- The divisions d1, d2, … of an alias: shown, as columns with names that are not in taken, and plain, without names.
CREATE FUNCTION stepadv_internal.division_items(a stepadv_internal.attached, alias text, taken text[], OUT shown text,
	OUT plain text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	d record;
BEGIN
	FOR d IN SELECT v.i, v.name FROM stepadv_internal.divisions(a) v ORDER BY v.i LOOP
		taken := taken || stepadv_internal.free_name(taken, d.name, 'base_'::text);
		shown := concat_ws(', ', shown, format('%s.d%s AS %I', alias, d.i, taken[cardinality(taken)]));
		plain := concat_ws(', ', plain, format('%s.d%s', alias, d.i));
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.division_items(stepadv_internal.attached, text, text[]) IS
'part of attach: the divisions d1, d2, … of an alias, as named columns of a view, and without names';

-- The rows of reader for the digest of each group, or its counts as c (reader NULL), with the group's columns.
CREATE FUNCTION stepadv_internal.digest_view_by_group(a stepadv_internal.attached, made stepadv_internal.made_method[],
	asked text[], reader text, results text[], items jsonb)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	k_list CONSTANT text := (SELECT string_agg('d.k' || i, ', ' ORDER BY i)
		FROM generate_series(1, (a).n_group_columns) i);
	names text[] := '{}';
	beside record;
	d record;
BEGIN
	FOR d IN SELECT v.i, v.name FROM stepadv_internal.divisions(a) v WHERE NOT v.is_key ORDER BY v.i LOOP
		names := names || stepadv_internal.free_name(results || names, d.name, 'base_'::text);
		items := items || jsonb_build_object(names[cardinality(names)], 'a.d' || d.i);
	END LOOP;
	beside := stepadv_internal.beside(a, 'group'::text, names || results, items, '{}'::text[], '{}'::text[],
		'{}'::jsonb);
	RETURN format('SELECT %1$s FROM (SELECT %2$s, %3$s, %4$s FROM %5$s%6$s) a CROSS JOIN LATERAL (SELECT %7$s) g(%8$s)',
		beside.items, k_list, (stepadv_internal.division_items(a, 'd'::text, '{}'::text[])).plain,
		CASE WHEN reader IS NULL THEN 'r.c' ELSE 'r.*' END, stepadv_internal.digests(a, made, asked, NULL::text),
		-- OFFSET 0: computed once; conditions on the group are still pushed down.
		' CROSS JOIN LATERAL ' || coalesce('stepadv.' || quote_ident(reader) || '(d.digest)',
			'(SELECT stepadv.digest_counts(d.digest) AS c OFFSET 0)') || ' r', replace(k_list, 'd.k', 'a.k'),
		stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), '%1$I'::text, ', '::text));
END
$$;
COMMENT ON FUNCTION stepadv_internal.digest_view_by_group(stepadv_internal.attached, stepadv_internal.made_method[],
	text[], text, text[], jsonb) IS
'part of attach: the query of a view that reads the digest of each group';

-- The rows of a view's reader for the merged digest of each division, or, if no part is named, for the digest of
-- each group: a query for the best steps, or the greatest difference, then folds only the groups that have them.
-- For calls, only what the columns show.
CREATE FUNCTION stepadv_internal.digest_view(a stepadv_internal.attached, made stepadv_internal.made_method[],
	v stepadv_internal.combined_views) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN (v).part IS NULL
		THEN stepadv_internal.digest_view_by_group(a, made, (v).of_digest, (v).reader, c.results, '{}'::jsonb)
		ELSE format('SELECT %1$s, %2$s FROM %3$s CROSS JOIN LATERAL stepadv.%4$I(d.digest) r',
		(stepadv_internal.division_items(a, 'd'::text, c.results)).shown,
		stepadv_internal.list(c.results, 'r.%1$I'::text, ', '::text),
		stepadv_internal.digests(a, made, (v).of_digest, (v).part), (v).reader) END
	FROM (
		SELECT array_agg(c.name ORDER BY c.i) AS results
		FROM pg_proc p CROSS JOIN LATERAL unnest(p.proargnames, p.proargmodes) WITH ORDINALITY c(name, mode, i)
		WHERE p.pronamespace = 'stepadv'::regnamespace AND p.proname = (v).reader AND c.mode = 't' AND CASE
			WHEN (v).reader <> 'digest_calls' THEN true
			WHEN c.name IN ('n_errors', 'error_share')
				THEN stepadv_internal.column_type((a).shown, 'stepadv_ok'::text) IS NOT NULL
			WHEN c.name = 'grounded_share'
				THEN stepadv_internal.column_type((a).shown, 'stepadv_grounded'::text) IS NOT NULL
			WHEN c.name LIKE '%repeat%' THEN '{state,action}' <@ stepadv_internal.available_roles(a)
			ELSE true END) c
$$;
COMMENT ON FUNCTION stepadv_internal.digest_view(stepadv_internal.attached, stepadv_internal.made_method[],
	stepadv_internal.combined_views) IS
'part of attach: the query of a view of the rows that a function reads from digests, by division';

-- ---- Over time

CREATE FUNCTION stepadv_internal.groups_over_time_query(a stepadv_internal.attached,
	made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	names text[];
	items jsonb;
BEGIN
	SELECT coalesce(array_agg(format('reward_%s_sum', r.name) ORDER BY r.i), '{}'),
		coalesce(jsonb_object_agg(format('reward_%s_sum', r.name), format('(a.c).reward_sums[%s]', r.i)), '{}')
	INTO names, items FROM unnest((a).rewards) WITH ORDINALITY r(name, i);
	RETURN stepadv_internal.digest_view_by_group(a, made, '{counts}'::text[], NULL::text,
		'{n_rollouts,n_judged,n_successes,n_steps,n_judged_steps,n_shared_steps,return_sum,uniform}'::text[] || names,
		jsonb_build_object('n_rollouts', '(a.c).n_rollouts', 'n_judged', '(a.c).n_judged', 'n_successes',
			'(a.c).n_successes', 'n_steps', '(a.c).n_steps',
			'n_judged_steps', '(a.c).n_judged_steps', 'n_shared_steps', '(a.c).n_shared_steps', 'return_sum',
				'(a.c).return_sum',
			'uniform', 'CASE WHEN (a.c).n_judged > 0 THEN (a.c).n_informative_groups = 0 END') || items);
END
$$;
COMMENT ON FUNCTION stepadv_internal.groups_over_time_query(stepadv_internal.attached,
	stepadv_internal.made_method[]) IS
'part of attach: the query of the view _groups_over_time';

CREATE FUNCTION stepadv_internal.progress_over_time_query(a stepadv_internal.attached,
	made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	ratios CONSTANT text := stepadv_internal.ratios_over_time(a);
BEGIN
	RETURN format($view$
		SELECT %1$s, (v.c).n_groups, (v.c).n_judged_groups, (v.c).n_informative_groups, (v.c).n_rollouts,
			(v.c).n_judged, (v.c).n_successes,
			(v.c).n_steps, (v.c).n_judged_steps, (v.c).n_shared_steps,
			(v.c).n_successes::float8 / nullif((v.c).n_judged, 0) AS success_rate,
				(v.c).return_sum / nullif((v.c).n_judged, 0) AS mean_return,
			(v.c).n_informative_groups::float8 / nullif((v.c).n_judged_groups, 0) AS informative_share,
			(v.c).n_shared_steps::float8 / nullif((v.c).n_judged_steps, 0) AS shared_step_share%2$s, %3$s
		FROM (SELECT d.*, r.c FROM %4$s CROSS JOIN LATERAL (SELECT stepadv.digest_counts(d.digest) AS c OFFSET 0) r) v
			%5$s$view$,
		(stepadv_internal.division_items(a, 'v'::text, '{}'::text[])).shown,
		(SELECT string_agg(format(', (v.c).reward_sums[%s] / nullif((v.c).n_judged, 0) AS %I', r.i, 'mean_reward_'
			|| r.name), '' ORDER BY r.i)
			FROM unnest((a).rewards) WITH ORDINALITY r(name, i)),
		CASE WHEN ratios IS NULL THEN '0::bigint AS n_ratios, NULL::float8 AS ess_share, NULL::float8 AS '
			'sequence_ess_share'
			ELSE 'coalesce(w.n_ratios, 0) AS n_ratios, w.ess_share, w.sequence_ess_share' END,
		stepadv_internal.digests(a, made, '{counts}'::text[], 'counts'::text), ratios);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.progress_over_time_query(stepadv_internal.attached,
	stepadv_internal.made_method[]) IS
'part of attach: the query of the view _progress_over_time';

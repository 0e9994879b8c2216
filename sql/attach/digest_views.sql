-- The views of many groups: short SQL over their digests.

-- The divisions of rows of an alias, d1, d2, …, as columns by their names, none of which is one of taken; and as they
-- are.
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
'part of attach: the divisions d1, d2, … of an alias as columns of a view, and as they are';

-- What a function returns.
CREATE FUNCTION stepadv_internal.reader_columns(reader text) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT array_agg(c.name ORDER BY c.i) FROM pg_proc p CROSS JOIN LATERAL unnest(p.proargnames, p.proargmodes)
		WITH ORDINALITY c(name, mode, i)
	WHERE p.pronamespace = 'stepadv'::regnamespace AND p.proname = reader_columns.reader AND c.mode = 't'
$$;
COMMENT ON FUNCTION stepadv_internal.reader_columns(text) IS
'part of attach: the columns that a function of a digest returns';

-- What a function reads of the digests of all groups of a division together: these of its columns, or all.
CREATE FUNCTION stepadv_internal.digest_view(a stepadv_internal.attached, made stepadv_internal.made_method[],
	asked text[], part text, reader text, results text[])
RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %1$s, %2$s FROM (SELECT %3$s, stepadv.rollup(d.digest, %4$L::text) AS digest FROM %5$s '
		'GROUP BY %3$s) v CROSS JOIN LATERAL stepadv.%6$I(v.digest) r',
		(stepadv_internal.division_items(a, 'v'::text, c.results)).shown, stepadv_internal.list(c.results,
			'r.%1$I'::text, ', '::text),
		(stepadv_internal.division_items(a, 'd'::text, '{}'::text[])).plain, part, stepadv_internal.digests(a, made,
			asked), reader)
	FROM (SELECT coalesce(digest_view.results, stepadv_internal.reader_columns(reader)) AS results) c
$$;
COMMENT ON FUNCTION stepadv_internal.digest_view(stepadv_internal.attached, stepadv_internal.made_method[], text[],
	text, text, text[]) IS
'part of attach: the query of a view of what a function reads of the digests, by division';

-- What a function reads of the digest of each group, or its counts (reader NULL, as c), with the group's columns.
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
	FOR d IN SELECT v.i, v.name FROM stepadv_internal.divisions(a) v WHERE NOT v.stands ORDER BY v.i LOOP
		names := names || stepadv_internal.free_name(results || names, d.name, 'base_'::text);
		items := items || jsonb_build_object(names[cardinality(names)], 'a.d' || d.i);
	END LOOP;
	beside := stepadv_internal.beside(a, 'group'::text, names || results, items, '{}'::text[]);
	RETURN format('SELECT %1$s FROM (SELECT %2$s, %3$s, %4$s FROM %5$s%6$s) a CROSS JOIN LATERAL (SELECT %7$s) g(%8$s)',
		beside.items, k_list, (stepadv_internal.division_items(a, 'd'::text, '{}'::text[])).plain,
		CASE WHEN reader IS NULL THEN 'r.c' ELSE 'r.*' END, stepadv_internal.digests(a, made, asked),
		-- Read once (OFFSET 0), and conditions on the group go below.
		' CROSS JOIN LATERAL ' || coalesce('stepadv.' || quote_ident(reader) || '(d.digest)',
			'(SELECT stepadv.digest_counts(d.digest) AS c OFFSET 0)') || ' r', replace(k_list, 'd.k', 'a.k'),
		stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), '%1$I'::text, ', '::text));
END
$$;
COMMENT ON FUNCTION stepadv_internal.digest_view_by_group(stepadv_internal.attached, stepadv_internal.made_method[],
	text[], text, text[], jsonb) IS
'part of attach: the query of a view of what is read of the digest of each group';

-- ---- Over time

-- A column of each reward component: mean_reward_… and reward_…_sum.
CREATE FUNCTION stepadv_internal.check_components(a stepadv_internal.attached) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	max_length CONSTANT integer := current_setting('max_identifier_length')::integer;
	component text;
BEGIN
	SELECT r INTO component FROM unnest((a).rewards) r WHERE octet_length('mean_reward_' || r) > max_length LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'the views over time would have a column of reward component "%" with a name longer than % '
			'bytes',
			component, max_length USING ERRCODE = 'name_too_long', HINT = 'Attach a view that gives it a shorter name.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_components(stepadv_internal.attached) IS
'part of attach: error where columns of reward components would have names that are too long';

CREATE FUNCTION stepadv_internal.groups_over_time_query(a stepadv_internal.attached,
	made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	names text[];
	items jsonb;
BEGIN
	IF NOT stepadv_internal.has_runs(a) OR stepadv_internal.view_options(a, 'groups_over_time'::text) IS NULL THEN
		RETURN NULL;
	END IF;
	PERFORM stepadv_internal.check_components(a);
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
	-- Also where there will be no view: a wrong option is an error all the same.
	PERFORM stepadv_internal.view_options(a, 'progress_over_time'::text);
	IF NOT stepadv_internal.has_runs(a) THEN
		RETURN NULL;
	END IF;
	PERFORM stepadv_internal.check_components(a);
	RETURN format($view$
		SELECT %1$s, (v.c).n_groups, (v.c).n_judged_groups, (v.c).n_informative_groups, (v.c).n_rollouts,
			(v.c).n_judged, (v.c).n_successes,
			(v.c).n_steps, (v.c).n_judged_steps, (v.c).n_shared_steps,
			(v.c).n_successes::float8 / nullif((v.c).n_judged, 0) AS success_rate,
				(v.c).return_sum / nullif((v.c).n_judged, 0) AS mean_return,
			(v.c).n_informative_groups::float8 / nullif((v.c).n_judged_groups, 0) AS informative_share,
			(v.c).n_shared_steps::float8 / nullif((v.c).n_judged_steps, 0) AS shared_step_share%2$s, %3$s
		FROM (SELECT d.*, r.c FROM (SELECT %4$s, stepadv.rollup(d.digest, 'counts'::text) AS digest FROM %5$s
			GROUP BY %4$s) d
			CROSS JOIN LATERAL (SELECT stepadv.digest_counts(d.digest) AS c OFFSET 0) r) v%6$s$view$,
		(stepadv_internal.division_items(a, 'v'::text, '{}'::text[])).shown,
		(SELECT string_agg(format(', (v.c).reward_sums[%s] / nullif((v.c).n_judged, 0) AS %I', r.i, 'mean_reward_'
			|| r.name), '' ORDER BY r.i)
			FROM unnest((a).rewards) WITH ORDINALITY r(name, i)),
		CASE WHEN ratios IS NULL THEN '0::bigint AS n_ratios, NULL::float8 AS ess_share, NULL::float8 AS '
			'sequence_ess_share'
			ELSE 'coalesce(w.n_ratios, 0) AS n_ratios, w.ess_share, w.sequence_ess_share' END,
		(stepadv_internal.division_items(a, 'd'::text, '{}'::text[])).plain, stepadv_internal.digests(a, made,
			'{counts}'::text[]), ratios);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.progress_over_time_query(stepadv_internal.attached,
	stepadv_internal.made_method[]) IS
'part of attach: the query of the view _progress_over_time';

-- When a run first was so good: by policy step where that is known, else by the
-- bucket of time.  What it had done until then is counted over all of its steps
-- or buckets before, and that one.
CREATE FUNCTION stepadv_internal.level_reached_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	divided record;
BEGIN
	SELECT max('d.d' || d.i) FILTER (WHERE d.role = 'run_id') AS run,
		max(d.name) FILTER (WHERE d.role = 'run_id') AS run_name,
		-- Known rather than only a column of NULLs.
		coalesce(max('d.d' || d.i) FILTER (WHERE d.role = 'policy_step' AND d.view IS NOT NULL),
			max('d.d' || d.i) FILTER (WHERE d.role = 'started_at' AND d.view IS NOT NULL)) AS place,
		CASE WHEN bool_or(d.role = 'policy_step' AND d.view IS NOT NULL)
			THEN max(d.name) FILTER (WHERE d.role = 'policy_step') ELSE 'bucket' END AS place_name
	INTO divided FROM stepadv_internal.divisions(a) d;
	IF divided.place IS NULL OR stepadv_internal.view_options(a, 'level_reached'::text) IS NULL THEN
		RETURN NULL;
	END IF;
	-- A level is reached where the rate is no less, and was less before; never, where the last is still less.
	RETURN format($view$
		SELECT %1$s l.level, CASE WHEN p.success_rate >= l.level THEN p.place END AS %2$I,
			CASE WHEN p.success_rate >= l.level THEN p.success_rate END AS success_rate,
			CASE WHEN p.success_rate >= l.level THEN p.n_rollouts END AS n_rollouts,
				CASE WHEN p.success_rate >= l.level THEN p.n_steps END AS n_steps
		FROM (
			SELECT q.*, max(q.success_rate) OVER (%3$s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS best_before,
				sum((q.c).n_rollouts) OVER (%3$s) AS n_rollouts, sum((q.c).n_steps) OVER (%3$s) AS n_steps,
					lead(1) OVER (%3$s) IS NULL AS is_last
			FROM (SELECT q.*, (q.c).n_successes::float8 / nullif((q.c).n_judged, 0) AS success_rate
				FROM (SELECT %4$s %5$s AS place, stepadv.digest_counts(stepadv.rollup(d.digest, 'counts'::text)) AS c
					FROM %6$s WHERE %5$s IS DISTINCT FROM NULL GROUP BY %7$s OFFSET 0) q) q) p
		JOIN (SELECT v.level / 10::float8 FROM generate_series(1, 10) v(level)) l(level)
			ON p.success_rate >= l.level AND coalesce(p.best_before, 0) < l.level OR p.is_last
				AND coalesce(greatest(p.success_rate, p.best_before), 0) < l.level$view$,
		'p.' || quote_ident(divided.run_name) || ',', divided.place_name, concat_ws(' ', 'PARTITION BY q.'
			|| quote_ident(divided.run_name), 'ORDER BY q.place'),
		divided.run || ' AS ' || quote_ident(divided.run_name) || ',', divided.place, stepadv_internal.digests(a, made,
			'{}'::text[]),
		CASE WHEN divided.run IS NULL THEN '1' ELSE '1, 2' END);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.level_reached_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _level_reached; NULL where neither policy steps nor times are known';

-- ---- Advantages

-- Whether there is one of so many methods at least whose advantages a digest has.
CREATE FUNCTION stepadv_internal.has_methods(a stepadv_internal.attached, made stepadv_internal.made_method[],
	at_least integer) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT cardinality(stepadv_internal.methods_by_group(a, made)) >= at_least $$;
COMMENT ON FUNCTION stepadv_internal.has_methods(stepadv_internal.attached, stepadv_internal.made_method[], integer) IS
'part of attach: whether digests have the advantages of so many methods';

CREATE FUNCTION stepadv_internal.advantage_over_time_query(a stepadv_internal.attached,
	made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.digest_view(a, made, '{methods}'::text[], 'advantages'::text, 'digest_advantages'::text,
		NULL::text[])
	WHERE stepadv_internal.has_runs(a) AND stepadv_internal.has_methods(a, made, 1)
$$;
COMMENT ON FUNCTION stepadv_internal.advantage_over_time_query(stepadv_internal.attached,
	stepadv_internal.made_method[]) IS
'part of attach: the query of the view _advantage_over_time';

-- Where is the greatest advantage of all?  In one of the groups with the greatest ones: whoever looks for the best
-- steps folds no more than these.
CREATE FUNCTION stepadv_internal.advantage_by_group_query(a stepadv_internal.attached,
	made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.digest_view_by_group(a, made, '{methods}'::text[], 'digest_advantages'::text,
		'{method,n_steps,mean_abs_advantage,mean_advantage,least_advantage,greatest_advantage,n_positive,
			n_negative}'::text[], '{}'::jsonb)
	WHERE stepadv_internal.has_runs(a) AND stepadv_internal.has_methods(a, made, 1) AND stepadv_internal.view_options(a,
		'advantage_by_group'::text) IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.advantage_by_group_query(stepadv_internal.attached,
	stepadv_internal.made_method[]) IS
'part of attach: the query of the view _advantage_by_group';

CREATE FUNCTION stepadv_internal.advantage_histogram_query(a stepadv_internal.attached,
	made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.digest_view(a, made, '{methods}'::text[], 'histogram'::text, 'digest_histogram'::text,
		NULL::text[])
	WHERE stepadv_internal.has_runs(a) AND stepadv_internal.has_methods(a, made, 1) AND stepadv_internal.view_options(a,
		'advantage_histogram'::text) IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.advantage_histogram_query(stepadv_internal.attached,
	stepadv_internal.made_method[]) IS
'part of attach: the query of the view _advantage_histogram';

CREATE FUNCTION stepadv_internal.signs_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.digest_view(a, made, '{methods}'::text[], 'signs'::text, 'digest_signs'::text, NULL::text[])
	WHERE stepadv_internal.has_methods(a, made, 2) AND stepadv_internal.view_options(a, 'signs'::text) IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.signs_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _signs';

CREATE FUNCTION stepadv_internal.disagreement_by_group_query(a stepadv_internal.attached,
	made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.digest_view_by_group(a, made, '{methods}'::text[], 'digest_differences'::text,
		'{method_a,method_b,greatest_difference}'::text[], '{}'::jsonb)
	WHERE stepadv_internal.has_methods(a, made, 2) AND stepadv_internal.view_options(a,
		'disagreement_by_group'::text) IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.disagreement_by_group_query(stepadv_internal.attached,
	stepadv_internal.made_method[]) IS
'part of attach: the query of the view _disagreement_by_group';

-- ---- Behaviour

CREATE FUNCTION stepadv_internal.behaviour_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.digest_view(a, made, '{calls}'::text[], 'calls'::text, 'digest_calls'::text,
		'{category,n_calls}'::text[]
		|| CASE WHEN stepadv_internal.has_column((a).shown, 'stepadv_ok'::text) THEN '{n_errors,error_share}'
			ELSE '{}' END::text[]
		|| CASE WHEN stepadv_internal.has_column((a).shown, 'stepadv_grounded'::text) THEN '{grounded_share}'
			ELSE '{}' END::text[]
		|| CASE WHEN '{state,action}'::text[] <@ stepadv_internal.available_roles(a) THEN '{n_repeats,repeat_share}'
			ELSE '{}' END::text[])
	WHERE stepadv_internal.call_category(a, 'b'::text) IS NOT NULL AND stepadv_internal.has_runs(a)
$$;
COMMENT ON FUNCTION stepadv_internal.behaviour_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _behaviour; NULL without a category, or where nothing is known of runs';

CREATE FUNCTION stepadv_internal.behaviour_advantage_query(a stepadv_internal.attached,
	made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.digest_view(a, made, '{methods,calls}'::text[], 'calls'::text,
		'digest_call_advantages'::text, NULL::text[])
	WHERE stepadv_internal.call_category(a, 'b'::text) IS NOT NULL AND stepadv_internal.has_runs(a)
		AND stepadv_internal.has_methods(a, made, 1)
		AND stepadv_internal.view_options(a, 'behaviour_advantage'::text) IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.behaviour_advantage_query(stepadv_internal.attached,
	stepadv_internal.made_method[]) IS
'part of attach: the query of the view _behaviour_advantage; NULL without a category or methods, or where nothing is '
	'known of runs';

CREATE FUNCTION stepadv_internal.shape_over_time_query(a stepadv_internal.attached,
	made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.digest_view(a, made, '{measures}'::text[], 'measures'::text, 'digest_measures'::text,
		NULL::text[])
	WHERE stepadv_internal.has_runs(a) AND stepadv_internal.view_options(a, 'shape_over_time'::text) IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.shape_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _shape_over_time; NULL where nothing is known of runs';

CREATE FUNCTION stepadv_internal.success_by_horizon_query(a stepadv_internal.attached,
	made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.digest_view(a, made, '{horizons}'::text[], 'horizons'::text, 'digest_horizons'::text,
		NULL::text[])
	WHERE 'state' = ANY (stepadv_internal.available_roles(a)) AND stepadv_internal.has_runs(a)
$$;
COMMENT ON FUNCTION stepadv_internal.success_by_horizon_query(stepadv_internal.attached,
	stepadv_internal.made_method[]) IS
'part of attach: the query of the view _success_by_horizon; NULL without states, or where nothing is known of runs';

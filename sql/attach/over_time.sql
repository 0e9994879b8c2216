-- Runs over time: views that attach creates if columns tell the policy, the start,
-- the run or the dimensions of a rollout.

-- The start of the bucket of a time.  Buckets are aligned in UTC, so that a view
-- is the same in every session; weeks begin on Monday.
CREATE FUNCTION stepadv_internal.bucket(expression text, bucket text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width interval;
	months integer;
BEGIN
	BEGIN
		width := bucket.bucket::interval;
	EXCEPTION WHEN data_exception THEN
		RAISE EXCEPTION 'bucket is not an interval: %', quote_literal(bucket.bucket)
			USING ERRCODE = 'invalid_parameter_value', HINT = 'For example "1 day", "1 week", "6 hours" or "1 month".';
	END;
	months := extract(year FROM width) * 12 + extract(month FROM width);
	IF months = 0 AND width > interval '0' THEN
		RETURN format('pg_catalog.date_bin(%L::interval, %s, ''2001-01-01 00:00:00+00''::timestamptz)', width,
			expression);
	ELSIF width IN (interval '1 month', interval '3 months', interval '1 year') AND extract(day FROM width) = 0
		AND extract(epoch FROM width::time) = 0 THEN
		RETURN format('pg_catalog.date_trunc(%L::text, %s, ''UTC''::text)', CASE months WHEN 1 THEN 'month' WHEN 3
			THEN 'quarter' ELSE 'year' END, expression);
	END IF;
	RAISE EXCEPTION 'bucket cannot be %', coalesce(quote_literal(bucket.bucket), 'NULL')
		USING ERRCODE = 'invalid_parameter_value',
			HINT = 'A bucket is longer than 0 and without months, or "1 month", "3 months" or "1 year".';
END
$$;
COMMENT ON FUNCTION stepadv_internal.bucket(text, text) IS
'part of attach: the SQL expression for the start of a time''s bucket';

-- The divisions of a group's rollouts in the views over time, in the order of their
-- columns.  The first two always exist, and are NULL if nothing is known.
--
--	name		column of the views
--	fed_by		column of the adapters; divider: column of g, if groups are divided
--	of_g		the column of g that has it: the divider, or the group's own
--	view, key	as in run_column
--	is_key		a column of the group with this name, which views that have the group's
--				columns do not show twice.  (With only the first two divisions they do,
--				as do kept digests.)
CREATE FUNCTION stepadv_internal.divisions(a stepadv_internal.attached)
RETURNS TABLE (i integer, name text, role text, serves_as text, fed_by text, divider text, of_g text, view regclass,
	key integer, is_key boolean)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text[] := stepadv_internal.group_columns((a).rows, (a).n_group_columns);
	-- Names of other columns of the views.
	own CONSTANT text := '^mean_reward_|^reward_.*_sum$';
	taken text[] := '{rollout_id,step_no,step_id,method,advantage,staleness,n_groups,n_judged_groups,
		n_informative_groups,n_rollouts,n_judged,n_successes,n_steps,n_judged_steps,
		n_shared_steps,success_rate,mean_return,informative_share,shared_step_share,n_ratios,ess_share,
			sequence_ess_share,return_sum,uniform,
		mean_advantage,sd_advantage,mean_abs_advantage,min_advantage,max_advantage,n_positive,n_negative}';
BEGIN
	i := 0;
	FOR name, role, serves_as IN
		SELECT d.name, d.role, d.serves_as FROM (
			SELECT r.i, r.name, r.role, r.role AS serves_as FROM (VALUES (1, 'policy_version', 'policy_version'),
				(2, 'bucket', 'started_at'), (3, 'run_id', 'run_id'), (4, 'policy_step', 'policy_step')) r(i, name,
				role)
			UNION ALL
			SELECT 4 + u.i, u.name, 'dimension_' || u.i, 'dimension' FROM unnest((a).dimensions) WITH ORDINALITY
				u(name, i)) d
		ORDER BY d.i
	LOOP
		SELECT c.view, c.key INTO view, key FROM stepadv_internal.run_column(a, role) c;
		CONTINUE WHEN view IS NULL AND name NOT IN ('policy_version', 'bucket');
		i := i + 1;
		fed_by := 'stepadv_' || role;
		divider := 'stepadv_by_' || role;
		is_key := role <> 'started_at' AND key IS NOT NULL AND keys[key] = name;
		-- If there are only the first two.
		IF is_key AND role = 'policy_version' AND (a).dimensions IS NULL THEN
			is_key := EXISTS (SELECT FROM unnest('{task_id,run_id,policy_step}'::text[]) r,
				stepadv_internal.run_column(a, r) c WHERE c.view IS NOT NULL);
		END IF;
		name := stepadv_internal.free_name(taken, CASE WHEN name ~ own THEN 'base_' ELSE '' END || name, 'base_'::text);
		is_key := is_key AND keys[key] = name;
		of_g := CASE WHEN is_key THEN format('g.%I', name) ELSE 'g.' || divider END;
		taken := taken || name;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.divisions(stepadv_internal.attached) IS
'part of attach: what the views over time divide the rollouts of a group by: policy version, time bucket, run, '
'policy step and dimensions, if given';

-- For rows of an adapter: the joins to the properties of their rollout, and the
-- expressions of the divisions.
CREATE FUNCTION stepadv_internal.run_columns(a stepadv_internal.attached, alias text, view regclass, OUT joins text,
	OUT expressions text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width CONSTANT text := coalesce(stepadv_internal.view_options(a, 'progress_over_time'::text) ->> 'bucket', '1 day');
	keys CONSTANT text[] := stepadv_internal.group_columns(view, (a).n_group_columns);
	d record;
	views regclass[] := '{}';
	expression text;
BEGIN
	expressions := '{}';
	FOR d IN SELECT * FROM stepadv_internal.divisions(a) v ORDER BY v.i LOOP
		views := views || d.view;
		expression := CASE d.view WHEN (a).shown_rollouts THEN 'r.' || d.fed_by
			WHEN (a).began THEN 'q.' || d.fed_by END;
		IF expression IS NULL AND d.view IS NOT NULL THEN
			expression := CASE WHEN stepadv_internal.column_type(view, d.fed_by) IS NOT NULL
				THEN alias || '.' || d.fed_by
				ELSE stepadv_internal.role_column(d.serves_as, view, keys[d.key], alias) END;
		END IF;
		IF d.role = 'started_at' AND expression IS NOT NULL THEN
			expression := stepadv_internal.bucket(expression, width);
		END IF;
		expressions := expressions || coalesce(expression, CASE d.role WHEN 'started_at' THEN 'NULL::timestamptz'
			ELSE 'NULL::text' END);
	END LOOP;
	SELECT string_agg(format(' LEFT JOIN %s %s ON %s AND %s', stepadv_internal.relation_name(o.other), o.alias,
		stepadv_internal.same_group(o.alias, o.other, run_columns.alias, run_columns.view, (a).n_group_columns),
			stepadv_internal.same_rollout(o.alias, o.other, run_columns.alias, run_columns.view)), ''
			ORDER BY o.alias DESC)
	INTO joins
	FROM (VALUES ('r', (a).shown_rollouts), ('q', (a).began)) o(alias, other)
	WHERE o.other = ANY (views);
	joins := coalesce(joins, '');
END
$$;
COMMENT ON FUNCTION stepadv_internal.run_columns(stepadv_internal.attached, text, regclass) IS
'part of attach: the joins from an adapter to the properties of its rollouts'' runs, and the expressions of the '
'divisions';

-- The relation g of fold, with a row per group and divisions: only rollouts of the same division are compared.
-- Kept groups are split by their rollouts, unless divisions belong to single rows: then the rows are folded.  If
-- divisions come from the source alone, its adapter lists the rollouts.
-- took: the adapter that knows how long the rollouts took, or NULL. durations: these as arguments of group_digest, from
-- columns of g if divisions come from the same adapter, otherwise from a further join, d.
CREATE FUNCTION stepadv_internal.groups_by_division(a stepadv_internal.attached, reads text[], took regclass,
	OUT relation text, OUT durations text, OUT join_durations text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	divided record;
	folded regclass;
	rows_view regclass;
	keys text[];
	listed regclass;
	listed_keys text[];
	run record;
	kept text;
	-- NULL if the start or the end is infinite.
	seconds CONSTANT text := 'ARRAY[CASE WHEN pg_catalog.isfinite(%1$s.stepadv_started_at) AND '
		'pg_catalog.isfinite(%1$s.stepadv_ended_at) THEN extract(epoch FROM %1$s.stepadv_ended_at '
		'OPERATOR(pg_catalog.-) %1$s.stepadv_started_at)::float8 END]';
	has_durations boolean;
BEGIN
	SELECT bool_or(d.view IS NOT NULL AND d.key IS NULL) AS by_rollout,
		bool_or(d.view = (a).rows AND d.key IS NULL) AS by_row,
		(a).shown_rollouts IS NULL AND bool_and(d.view = (a).began) FILTER (WHERE NOT d.is_key) AS by_source,
		bool_or(d.view = took) AS by_took
	INTO divided FROM stepadv_internal.divisions(a) d;
	listed := CASE WHEN divided.by_source THEN (a).began END;
	folded := CASE WHEN divided.by_row IS NOT TRUE THEN (a).folded END;
	has_durations := coalesce(divided.by_took AND divided.by_rollout AND folded IS NOT NULL, false);
	IF has_durations THEN
		durations := 'measured_rollouts => g.stepadv_rollouts, measured => g.stepadv_seconds';
	ELSIF took IS NOT NULL THEN
		durations := 'measured_rollouts => d.ids, measured => d.numbers';
		join_durations := format(' LEFT JOIN (SELECT %1$s, array_agg(x.stepadv_rollout::bigint) AS ids, '
			'array_agg(%2$s) AS numbers FROM %3$s x WHERE x.stepadv_rollout IS NOT NULL GROUP BY %1$s) d ON %4$s',
			stepadv_internal.list(stepadv_internal.group_columns(took, (a).n_group_columns), 'x.%1$I'::text,
			', '::text), format(seconds, 'x'), stepadv_internal.relation_name(took),
			stepadv_internal.same_group('d'::text, took, 'g'::text, (a).rows, (a).n_group_columns));
	END IF;
	join_durations := coalesce(join_durations, '');
	rows_view := coalesce(folded, stepadv_internal.rows_for(a, reads));
	run := stepadv_internal.run_columns(a, 'x'::text, rows_view);
	SELECT divided.by_rollout AS by_rollout,
		coalesce(string_agg(format(', %s AS %I', run.expressions[d.i], d.divider), '' ORDER BY d.i), '') AS items,
		coalesce(string_agg(format(', v.%I', d.divider), '' ORDER BY d.i), '') AS list,
		coalesce(array_agg(d.divider ORDER BY d.i), '{}') AS names, array_agg(run.expressions[d.i] ORDER BY d.i)
			AS expressions
	INTO divided FROM stepadv_internal.divisions(a) d WHERE NOT d.is_key;
	IF has_durations THEN
		divided.items := divided.items || ', ' || format(seconds, CASE took WHEN (a).began THEN 'q' ELSE 'r' END)
			|| ' AS stepadv_seconds';
	END IF;
	IF folded IS NULL THEN
		relation := stepadv_internal.fold_rows(a, reads, run.joins, NULL::text, divided.names, divided.expressions);
		RETURN;
	END IF;
	-- If all divisions are columns of the group, each kept group is in one of them.
	keys := stepadv_internal.group_columns(folded, (a).n_group_columns);
	listed_keys := stepadv_internal.group_columns(coalesce(listed, folded), (a).n_group_columns);
	kept := format('(SELECT c.* FROM %s c WHERE %s) x', stepadv_internal.relation_name(folded),
		stepadv_internal.kept_condition((a).fresh));
	relation := format('(SELECT %s', (SELECT string_agg(format('x.%I AS %I', k.kept, k.name), ', ' ORDER BY k.i)
			FROM unnest(keys, stepadv_internal.group_columns((a).rows, (a).n_group_columns)) WITH ORDINALITY
				k(kept, name, i)))
		|| CASE WHEN divided.by_rollout THEN format('%1$s, s.rollouts AS %2$s%7$s FROM %3$s JOIN '
				'(SELECT %4$s%1$s, array_agg(v.rollout_id) AS stepadv_rollouts%8$s FROM (%5$s) v '
				'GROUP BY %4$s%1$s) v ON %6$s CROSS JOIN LATERAL '
				-- OFFSET 0: computed once; conditions on the group are still pushed down.
				'(SELECT stepadv_internal.of_rollouts(x.rollouts, v.stepadv_rollouts) AS rollouts OFFSET 0) s) g',
			divided.list, stepadv_internal.value_name(a), kept,
			stepadv_internal.list(listed_keys, 'v.%1$I'::text, ', '::text),
			CASE WHEN listed IS NOT NULL THEN format('SELECT %s, q.stepadv_rollout AS rollout_id%s FROM %s q '
					'WHERE q.stepadv_rollout IS NOT NULL', stepadv_internal.list(listed_keys, 'q.%1$I'::text,
					', '::text), divided.items, stepadv_internal.relation_name(listed))
				ELSE format('SELECT %1$s, x.rollout_id%2$s FROM '
					'(SELECT %1$s, r.rollout_id FROM %3$s CROSS JOIN LATERAL stepadv.rollouts(x.rollouts) r) x%4$s',
					stepadv_internal.list(keys, 'x.%1$I'::text, ', '::text), divided.items, kept, run.joins) END,
			stepadv_internal.same_group('v'::text, coalesce(listed, folded), 'x'::text, folded, (a).n_group_columns),
			CASE WHEN has_durations THEN ', v.stepadv_rollouts, v.stepadv_seconds' END,
			CASE WHEN has_durations THEN ', array_agg(v.stepadv_seconds) AS stepadv_seconds' END)
		ELSE format('%s, x.rollouts AS %s FROM %s) g', divided.items, stepadv_internal.value_name(a), kept) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.groups_by_division(stepadv_internal.attached, text[], regclass) IS
'part of attach: the relation g, a row per group and divisions, from the kept groups if they are the same, and the '
'durations of rollouts as arguments of group_digest';

-- One row per step and method.
CREATE FUNCTION stepadv_internal.advantages_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
	SELECT format($view$
		SELECT %s FROM %s CROSS JOIN LATERAL (
			SELECT %s, f.rollout_id, f.step_no, f.step_id, unnest(%L::text[]) AS method, unnest(ARRAY[%s]) AS advantage
			FROM %s) a%s%s$view$,
		b.items, (stepadv_internal.groups_by_division(a, ARRAY(SELECT DISTINCT r FROM unnest(m.methods) u
			CROSS JOIN LATERAL unnest(u.reads) r), NULL::regclass)).relation,
		d.items, m.names, stepadv_internal.list(m.names, 'f.%1$I'::text, ', '::text),
		(stepadv_internal.method_rows(m.methods, NULL::text, format('stepadv.outcomes(g.%I)',
			stepadv_internal.value_name(a)), '{step_id,rollout_id,step_no,success,return}'::text[])).rows, b.joins,
		n.joins)
	FROM (SELECT array_agg(m ORDER BY m.number) AS methods, array_agg(m.method ORDER BY m.number) AS names
		FROM stepadv_internal.chosen_methods(a, made, 'advantages'::text) m) m
	CROSS JOIN LATERAL (SELECT max(v.of_g) FILTER (WHERE v.role = 'policy_step') AS step,
		max(v.of_g) FILTER (WHERE v.role = 'run_id') AS run,
		-- Divisions that are not columns of the group.
		string_agg(format('%s AS %I', v.of_g, v.name), ', ' ORDER BY v.i) FILTER (WHERE NOT v.is_key) AS items,
		array_agg(v.name ORDER BY v.i) FILTER (WHERE NOT v.is_key) AS names
		FROM stepadv_internal.divisions(a) v) d
	CROSS JOIN LATERAL stepadv_internal.staleness(a, d.step, d.run) n
	CROSS JOIN LATERAL stepadv_internal.beside(a, 'step'::text, '{rollout_id,step_no,step_id}'
		|| d.names || '{method,advantage}'
			|| CASE WHEN n.expression IS NOT NULL THEN '{staleness}' ELSE '{}' END::text[],
		jsonb_strip_nulls(jsonb_build_object('staleness', n.expression)), '{}'::text[], '{}'::text[], '{}'::jsonb) b
	WHERE m.methods IS NOT NULL
$query$;
COMMENT ON FUNCTION stepadv_internal.advantages_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _advantages';

-- The relation w: effective sample sizes of a division; NULL without log-probabilities.
CREATE FUNCTION stepadv_internal.ratios_over_time(a stepadv_internal.attached) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
	SELECT format($view$
		LEFT JOIN (SELECT jsonb_build_array(%1$s) AS key, count(*) AS n_ratios,
			stepadv.effective_sample_size(t.ratio) / count(*) AS ess_share,
			stepadv.effective_sample_size(t.sequence_ratio) / count(*) AS sequence_ess_share
			FROM %4$s g%5$s CROSS JOIN LATERAL %3$s t
			WHERE %6$s AND g.stepadv_no IS NOT NULL AND g.stepadv_logp_new IS NOT NULL
				AND g.stepadv_logp_old IS NOT NULL
			GROUP BY 1) w
		ON w.key = jsonb_build_array(%2$s)$view$,
		array_to_string(r.expressions, ', '), (SELECT string_agg('v.d' || d.i, ', ' ORDER BY d.i)
			FROM stepadv_internal.divisions(a) d), stepadv_internal.ratios_call(a, 'stepadv_logp_new'::text,
				'stepadv_logp_old'::text),
			stepadv_internal.relation_name((a).shown), r.joins,
		stepadv_internal.list(stepadv_internal.group_columns((a).shown, (a).n_group_columns),
			'g.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text))
	FROM stepadv_internal.run_columns(a, 'g'::text, (a).shown) r
	WHERE stepadv_internal.column_type((a).shown, 'stepadv_logp_new'::text) IS NOT NULL
$query$;
COMMENT ON FUNCTION stepadv_internal.ratios_over_time(stepadv_internal.attached) IS
'part of attach: the join that brings the effective sample size of a division; NULL without log-probabilities';

-- A run over time: views that attach makes where it is told which policy a
-- rollout is of, or when it started.

-- The start of the bucket of a time.  Every bucket begins in UTC, so that a view
-- says the same in every session; weeks begin on Monday.
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
		RETURN format('pg_catalog.date_bin(%L::interval, %s, ''2001-01-01 00:00:00+00''::timestamptz)', width, expression);
	ELSIF width IN (interval '1 month', interval '3 months', interval '1 year') AND extract(day FROM width) = 0 AND extract(epoch FROM width::time) = 0 THEN
		RETURN format('pg_catalog.date_trunc(%L::text, %s, ''UTC''::text)', CASE months WHEN 1 THEN 'month' WHEN 3 THEN 'quarter' ELSE 'year' END, expression);
	END IF;
	RAISE EXCEPTION 'bucket cannot be %', coalesce(quote_literal(bucket.bucket), 'NULL')
		USING ERRCODE = 'invalid_parameter_value', HINT = 'A bucket is longer than 0 and without months, or "1 month", "3 months" or "1 year".';
END
$$;
COMMENT ON FUNCTION stepadv_internal.bucket(text, text) IS 'part of attach: the SQL expression for the start of a time''s bucket';

-- For rows of an adapter: the joins that lead to what is known of their rollout,
-- its policy version and the bucket of its start.
CREATE FUNCTION stepadv_internal.run_columns(a stepadv_internal.attached, alias text, view regclass, OUT joins text, OUT policy_version text, OUT bucket text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width CONSTANT text := coalesce(stepadv_internal.view_options(a, 'progress_over_time'::text) ->> 'bucket', '1 day');
	other regclass;
	other_alias text;
BEGIN
	joins := '';
	policy_version := 'NULL::text';
	bucket := 'NULL::timestamptz';
	FOR other_alias, other IN SELECT v.alias, v.view FROM (VALUES (alias, (a).rows), ('r', (a).runs), ('q', (a).began)) v(alias, view) WHERE v.view IS NOT NULL LOOP
		IF stepadv_internal.has_column(other, 'stepadv_policy_version'::text) THEN
			policy_version := other_alias || '.stepadv_policy_version';
		END IF;
		IF stepadv_internal.has_column(other, 'stepadv_started_at'::text) THEN
			bucket := stepadv_internal.bucket(other_alias || '.stepadv_started_at', width);
		END IF;
		CONTINUE WHEN other = (a).rows;
		joins := joins || format(' LEFT JOIN %s %s ON %s AND %s', stepadv_internal.relation_name(other), other_alias,
			stepadv_internal.same_group(other_alias, other, alias, view, (a).n_group_columns), stepadv_internal.same_rollout(other_alias, other, alias, view));
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.run_columns(stepadv_internal.attached, text, regclass) IS 'part of attach: the joins from an adapter to its rollouts'' policy version and time bucket, and the two expressions';

-- Whether anything is known of when or under which policy rollouts were made.
CREATE FUNCTION stepadv_internal.has_runs(a stepadv_internal.attached) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT (a).runs IS NOT NULL OR (a).began IS NOT NULL
		OR stepadv_internal.has_column((a).rows, 'stepadv_policy_version'::text) OR stepadv_internal.has_column((a).rows, 'stepadv_started_at'::text)
$$;
COMMENT ON FUNCTION stepadv_internal.has_runs(stepadv_internal.attached) IS 'part of attach: whether there are views over time';

-- The relation g of fold, with a row per group, policy version and time bucket:
-- rollouts of another version are no part of the comparison.  With what maintain
-- keeps, the groups that it has nothing but the key of (alias c): one by one, and
-- so that conditions go below the fold.
CREATE FUNCTION stepadv_internal.fold_over_time(a stepadv_internal.attached, reads text[], kept regclass) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rows_view CONSTANT regclass := stepadv_internal.rows_for(a, reads);
	run CONSTANT record := stepadv_internal.run_columns(a, 'x'::text, rows_view);
	rows_of_runs CONSTANT text := format('(SELECT x.*, %s AS stepadv_version, %s AS stepadv_bucket FROM %s x%s%s)', run.policy_version, run.bucket,
		stepadv_internal.relation_name(rows_view), run.joins, ' WHERE ' || stepadv_internal.same_group('x'::text, rows_view, 'c'::text, kept, (a).n_group_columns));
	relation CONSTANT text := stepadv_internal.fold(a, reads, rows_of_runs, '{stepadv_version,stepadv_bucket}'::text[]);
BEGIN
	RETURN CASE WHEN kept IS NULL THEN relation
		ELSE format('(SELECT c.* FROM %s c WHERE c.n_rollouts IS NULL) c CROSS JOIN LATERAL %s', stepadv_internal.relation_name(kept), relation) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.fold_over_time(stepadv_internal.attached, text[], regclass) IS 'part of attach: the relation g, a row per group, policy version (stepadv_version) and time bucket (stepadv_bucket)';

-- The roles that the methods with an advantage read.
CREATE FUNCTION stepadv_internal.roles_read(made stepadv_internal.made_method[], more text[]) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT ARRAY(SELECT DISTINCT r FROM stepadv_internal.advantage_methods(made) m CROSS JOIN LATERAL unnest(m.reads) r UNION SELECT unnest(more)) $$;
COMMENT ON FUNCTION stepadv_internal.roles_read(stepadv_internal.made_method[], text[]) IS 'part of attach: the roles that the methods with an advantage per step read';

-- Every step by every method, one below the other.  A condition on the method
-- leaves the others' branches out.
CREATE FUNCTION stepadv_internal.advantages_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s FROM %s CROSS JOIN LATERAL (SELECT g.stepadv_version AS policy_version, g.stepadv_bucket AS bucket, e.* FROM (%s) e) a%s',
		b.items, stepadv_internal.fold_over_time(a, stepadv_internal.roles_read(made, '{}'::text[]), NULL::regclass), m.branches, b.joins)
	FROM (SELECT string_agg(format('SELECT %L::text AS method, e.rollout_id, e.step_no, e.step_id, e.advantage FROM %s e', m.method, m.call_beside), ' UNION ALL ' ORDER BY m.number) AS branches
		FROM stepadv_internal.advantage_methods(made) m) m
	CROSS JOIN LATERAL stepadv_internal.beside(a, 'step'::text, '{rollout_id,step_no,step_id,policy_version,bucket,method,advantage}'::text[], '{}'::jsonb, '{}'::text[]) b
	WHERE stepadv_internal.has_runs(a) AND m.branches IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.advantages_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _advantages';

-- What the advantages of a method add up to within a group: columns of e, and
-- what is made of them.  Sums of sums are sums, so parts can be kept.
CREATE FUNCTION stepadv_internal.method_sums() RETURNS TABLE (name text, expression text)
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	VALUES ('n', 'count(e.advantage)::integer'), ('sum', 'sum(e.advantage)'), ('abs_sum', 'sum(abs(e.advantage))'), ('square_sum', 'sum(e.advantage * e.advantage)'),
		('least', 'min(e.advantage)'), ('greatest', 'max(e.advantage)'),
		('n_positive', '(count(*) FILTER (WHERE e.advantage > 0))::integer'), ('n_negative', '(count(*) FILTER (WHERE e.advantage < 0))::integer')
$$;
COMMENT ON FUNCTION stepadv_internal.method_sums() IS 'part of attach: what is added up of the advantages of a method, by name';

-- The relation a, with a row per group, policy version and time bucket: the
-- group's columns as k1, k2, ..., and what the views over time add up (columns).
-- Each method is a join of its own that adds no rows, so that the planner leaves
-- out what nobody asks for.
CREATE FUNCTION stepadv_internal.groups_divided(a stepadv_internal.attached, made stepadv_internal.made_method[], OUT relation text, OUT columns text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	methods record;
BEGIN
	SELECT coalesce(array_agg(format('%s_%s', m.method, s.name) ORDER BY m.number, s.i), '{}') AS columns,
		coalesce(string_agg(format(', m%s.%s', m.number, s.name), '' ORDER BY m.number, s.i), '') AS items
	INTO methods
	FROM stepadv_internal.advantage_methods(made) m, stepadv_internal.method_sums() WITH ORDINALITY s(name, expression, i);
	columns := '{policy_version,bucket,n_rollouts,n_judged,n_successes,n_steps,n_judged_steps,n_shared_steps,return_sum,uniform}' || methods.columns;
	relation := format($view$
		SELECT %1$s, g.stepadv_version, g.stepadv_bucket, u.n_rollouts, u.n_judged, u.n_successes, u.n_steps, j.n_steps,
			round(coalesce(u.shared_step_share, 0) * j.n_steps)::integer, u.mean_return * u.n_judged, u.uniform%2$s
		FROM %3$s
		LEFT JOIN LATERAL (
			SELECT max(e.n_rollouts) AS n_rollouts, max(e.n_judged) AS n_judged, coalesce(max(round(e.success_rate * e.n_judged)::integer), 0) AS n_successes,
				max(e.n_steps) AS n_steps, max(e.mean_return) AS mean_return, bool_and(e.uniform) AS uniform, max(e.shared_step_share) AS shared_step_share
			FROM %4$s e) u ON true
		LEFT JOIN LATERAL (SELECT coalesce(sum(e.n_steps) FILTER (WHERE e.judged), 0)::integer AS n_steps FROM stepadv.rollouts(g.%5$I) e) j ON true%6$s$view$,
		stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), 'g.%1$I'::text, ', '::text), methods.items,
		stepadv_internal.fold_over_time(a, stepadv_internal.roles_read(made, '{state}'::text[]), (a).folded_over_time),
		(SELECT m.call FROM unnest(made) m WHERE m.method = 'groups'), stepadv_internal.value_name(a),
		(SELECT string_agg(format(' LEFT JOIN LATERAL (SELECT %s FROM %s e) m%s ON true', s.sums, m.call_beside, m.number), '' ORDER BY m.number)
		 FROM stepadv_internal.advantage_methods(made) m,
			(SELECT string_agg(format('%s AS %s', s.expression, s.name), ', ' ORDER BY s.i) AS sums FROM stepadv_internal.method_sums() WITH ORDINALITY s(name, expression, i)) s));
	-- Rows that maintain keeps.  Where a method does not know what to do with a
	-- group, none is kept but one that says so: to ask for the method is an error
	-- then, as it is without maintain, and to ask for others is not.
	IF (a).folded_over_time IS NOT NULL THEN
		relation := format('SELECT c.* FROM %s c WHERE c.n_rollouts IS NOT NULL UNION ALL %s', stepadv_internal.relation_name((a).folded_over_time), relation);
	END IF;
	relation := format('(%s) a(%s, %s)', relation, (SELECT string_agg('k' || i, ', ' ORDER BY i) FROM generate_series(1, (a).n_group_columns) i), stepadv_internal.list(columns, '%1$I'::text, ', '::text));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.groups_divided(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the relation a, a row per group, policy version and time bucket with what can be added up, and its columns after those of the group';

CREATE FUNCTION stepadv_internal.groups_over_time_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s FROM %s CROSS JOIN LATERAL (SELECT %s) g(%s)', b.items, d.relation,
		(SELECT string_agg('a.k' || i, ', ' ORDER BY i) FROM generate_series(1, (a).n_group_columns) i),
		stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), '%1$I'::text, ', '::text))
	FROM stepadv_internal.groups_divided(a, made) d CROSS JOIN LATERAL stepadv_internal.beside(a, 'group'::text, d.columns, '{}'::jsonb, '{}'::text[]) b
	WHERE stepadv_internal.has_runs(a) AND stepadv_internal.view_options(a, 'groups_over_time'::text) IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.groups_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _groups_over_time';

-- Added up within each group first: there a method's rows need no hash table.
-- A condition on the method leaves the others' branches out.
CREATE FUNCTION stepadv_internal.advantage_over_time_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	methods record;
	relation text;
BEGIN
	SELECT string_agg(format('SELECT %L::text AS method, %s FROM %s e', m.method, s.made, m.call_beside), ' UNION ALL ' ORDER BY m.number) AS made,
		string_agg(format('SELECT %L::text AS method, %s', m.method, s.kept), ' UNION ALL ' ORDER BY m.number) AS kept
	INTO methods
	FROM stepadv_internal.advantage_methods(made) m
	CROSS JOIN LATERAL (SELECT string_agg(format('%s AS %s', s.expression, s.name), ', ' ORDER BY s.i) AS made,
			string_agg(format('a.%I AS %I', m.method || '_' || s.name, s.name), ', ' ORDER BY s.i) AS kept
		FROM stepadv_internal.method_sums() WITH ORDINALITY s(name, expression, i)) s;
	IF NOT stepadv_internal.has_runs(a) OR methods.made IS NULL THEN
		RETURN NULL;
	END IF;
	relation := format('SELECT g.stepadv_version AS policy_version, g.stepadv_bucket AS bucket, s.* FROM %s CROSS JOIN LATERAL (%s) s',
		stepadv_internal.fold_over_time(a, stepadv_internal.roles_read(made, '{}'::text[]), (a).folded_over_time), methods.made);
	IF (a).folded_over_time IS NOT NULL THEN
		relation := format('SELECT a.policy_version, a.bucket, s.* FROM %s a CROSS JOIN LATERAL (%s) s WHERE a.n_rollouts IS NOT NULL UNION ALL %s',
			stepadv_internal.relation_name((a).folded_over_time), methods.kept, relation);
	END IF;
	RETURN format($view$
		SELECT s.policy_version, s.bucket, s.method, sum(s.n) AS n_steps,
			sum(s.abs_sum) / nullif(sum(s.n), 0)::float8 AS mean_abs_advantage, sum(s.sum) / nullif(sum(s.n), 0)::float8 AS mean_advantage,
			CASE WHEN sum(s.n) > 1 THEN sqrt(greatest(sum(s.square_sum) - sum(s.sum) ^ 2 / sum(s.n)::float8, 0) / (sum(s.n) - 1)::float8) END AS sd_advantage,
			min(s.least) AS least_advantage, max(s.greatest) AS greatest_advantage,
			sum(s.n_positive) AS n_positive, sum(s.n_negative) AS n_negative
		FROM (%s) s GROUP BY 1, 2, 3 HAVING sum(s.n) > 0$view$, relation);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.advantage_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _advantage_over_time';

-- The relation w: what the ratios of a version and bucket say; NULL without log-probabilities.
CREATE FUNCTION stepadv_internal.ratios_over_time(a stepadv_internal.attached) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
	SELECT format($view$
		LEFT JOIN (SELECT jsonb_build_array(%1$s, %2$s) AS key, count(*) AS n_ratios,
			stepadv.effective_sample_size(stepadv_internal.step_ratio_or_null(%3$s)) / count(*) AS ess_share,
			stepadv.effective_sample_size(stepadv_internal.sequence_ratio_or_null(%3$s)) / count(*) AS sequence_ess_share
			FROM %4$s g%5$s WHERE %6$s AND g.stepadv_no IS NOT NULL AND g.stepadv_logp_new IS NOT NULL AND g.stepadv_logp_old IS NOT NULL GROUP BY 1) w
		ON w.key = jsonb_build_array(v.policy_version, v.bucket)$view$,
		r.policy_version, r.bucket, stepadv_internal.logprobs(a), stepadv_internal.relation_name((a).shown), r.joins,
		stepadv_internal.list(stepadv_internal.group_columns((a).shown, (a).n_group_columns), 'g.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text))
	FROM stepadv_internal.run_columns(a, 'g'::text, (a).shown) r
	WHERE stepadv_internal.has_column((a).shown, 'stepadv_logp_new'::text)
$query$;
COMMENT ON FUNCTION stepadv_internal.ratios_over_time(stepadv_internal.attached) IS 'part of attach: the join that brings the effective sample size of a version and bucket; NULL without log-probabilities';

CREATE FUNCTION stepadv_internal.progress_over_time_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	ratios CONSTANT text := stepadv_internal.ratios_over_time(a);
	methods CONSTANT text[] := ARRAY(SELECT m.method FROM stepadv_internal.advantage_methods(made) m ORDER BY m.number);
BEGIN
	-- Also where there will be no view: a wrong option is an error all the same.
	PERFORM stepadv_internal.view_options(a, 'progress_over_time'::text);
	IF NOT stepadv_internal.has_runs(a) THEN
		RETURN NULL;
	END IF;
	RETURN format($view$
		SELECT v.policy_version, v.bucket, v.n_groups, v.n_judged_groups, v.n_informative_groups, v.n_rollouts, v.n_judged, v.n_successes,
			v.n_steps, v.n_judged_steps, v.n_shared_steps, v.success_rate, v.mean_return, v.informative_share, v.shared_step_share%1$s, %2$s
		FROM (
			SELECT a.policy_version, a.bucket, count(*) AS n_groups, count(*) FILTER (WHERE a.n_judged > 0) AS n_judged_groups,
				count(*) FILTER (WHERE NOT a.uniform) AS n_informative_groups, sum(a.n_rollouts) AS n_rollouts, sum(a.n_judged) AS n_judged,
				sum(a.n_successes) AS n_successes, sum(a.n_steps) AS n_steps, sum(a.n_judged_steps) AS n_judged_steps, sum(a.n_shared_steps) AS n_shared_steps,
				sum(a.n_successes)::float8 / nullif(sum(a.n_judged), 0) AS success_rate,
				sum(a.return_sum) / nullif(sum(a.n_judged), 0) AS mean_return,
				(count(*) FILTER (WHERE NOT a.uniform))::float8 / nullif(count(*) FILTER (WHERE a.n_judged > 0), 0) AS informative_share,
				sum(a.n_shared_steps)::float8 / nullif(sum(a.n_judged_steps), 0) AS shared_step_share%3$s
			FROM %4$s GROUP BY 1, 2) v%5$s$view$,
		coalesce(stepadv_internal.list(methods, ', v.mean_abs_%1$s'::text, ''::text), ''),
		CASE WHEN ratios IS NULL THEN '0::bigint AS n_ratios, NULL::float8 AS ess_share, NULL::float8 AS sequence_ess_share'
			ELSE 'coalesce(w.n_ratios, 0) AS n_ratios, w.ess_share, w.sequence_ess_share' END,
		coalesce(stepadv_internal.list(methods, ', sum(a.%1$s_abs_sum) / nullif(sum(a.%1$s_n), 0) AS mean_abs_%1$s'::text, ''::text), ''),
		(SELECT d.relation FROM stepadv_internal.groups_divided(a, made) d), ratios);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.progress_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _progress_over_time';

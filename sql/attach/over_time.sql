-- A run over time: views that attach makes where it is told which policy a
-- rollout is of, or when it started, or of which run it is, or what else divides
-- the rollouts.

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

-- By what the views over time divide the rollouts of a group, in the order of
-- their columns.  The first two are always there, NULL where nothing is known.
--
--	name		column of the views
--	fed_by		column of the adapters; divider: of g, where groups are divided
--	of_g		the column of g that says it: the divider, or the group's own
--	view, key	as run_column says
--	stands		it is the group's column of that very name, which views with the
--				group's columns do not show twice.  (Those of before there was more than
--				two have it twice, and what is kept of them does.)
CREATE FUNCTION stepadv_internal.divisions(a stepadv_internal.attached)
RETURNS TABLE (i integer, name text, role text, serves_as text, fed_by text, divider text, of_g text, view regclass, key integer, stands boolean)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text[] := stepadv_internal.group_columns((a).rows, (a).n_group_columns);
	is_new CONSTANT boolean := (a).dimensions IS NOT NULL
		OR EXISTS (SELECT FROM unnest('{task_id,run_id,policy_step}'::text[]) r, stepadv_internal.run_column(a, r) c WHERE c.view IS NOT NULL);
	-- What the views have columns for.
	own CONSTANT text := '^mean_(abs|reward)_|_(' || (SELECT string_agg(m.name, '|') FROM stepadv_internal.method_sums() m) || ')$';
	taken text[] := '{rollout_id,step_no,step_id,method,advantage,staleness,n_groups,n_judged_groups,n_informative_groups,n_rollouts,n_judged,n_successes,n_steps,n_judged_steps,
		n_shared_steps,success_rate,mean_return,informative_share,shared_step_share,n_ratios,ess_share,sequence_ess_share,return_sum,uniform,
		mean_advantage,sd_advantage,least_advantage,greatest_advantage}';
BEGIN
	i := 0;
	FOR name, role, serves_as IN
		SELECT d.name, d.role, d.serves_as FROM (
			SELECT r.i, r.name, r.role, r.role AS serves_as FROM (VALUES (1, 'policy_version', 'policy_version'), (2, 'bucket', 'started_at'), (3, 'run_id', 'run_id'), (4, 'policy_step', 'policy_step')) r(i, name, role)
			UNION ALL
			SELECT 4 + u.i, u.name, 'dimension_' || u.i, 'dimension' FROM unnest((a).dimensions) WITH ORDINALITY u(name, i)) d
		ORDER BY d.i
	LOOP
		SELECT c.view, c.key INTO view, key FROM stepadv_internal.run_column(a, role) c;
		CONTINUE WHEN view IS NULL AND name NOT IN ('policy_version', 'bucket');
		i := i + 1;
		fed_by := 'stepadv_' || role;
		divider := 'stepadv_by_' || role;
		stands := is_new AND role <> 'started_at' AND key IS NOT NULL AND keys[key] = name;
		name := stepadv_internal.free_name(taken, CASE WHEN name ~ own THEN 'base_' ELSE '' END || name, 'base_'::text);
		stands := stands AND keys[key] = name;
		of_g := CASE WHEN stands THEN format('g.%I', name) ELSE 'g.' || divider END;
		taken := taken || name;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.divisions(stepadv_internal.attached) IS 'part of attach: by what the views over time divide the rollouts of a group: policy version, time bucket, run, policy step and dimensions, as far as given';

-- A list made of divisions: %1$s the column of alias g, where groups are divided,
-- %2$I its name; shown: only those that the group's columns do not stand for.
CREATE FUNCTION stepadv_internal.division_list(a stepadv_internal.attached, template text, shown boolean) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT string_agg(format(template, d.of_g, d.name), ', ' ORDER BY d.i)
		FROM stepadv_internal.divisions(a) d
		WHERE NOT (shown AND d.stands));
END
$$;
COMMENT ON FUNCTION stepadv_internal.division_list(stepadv_internal.attached, text, boolean) IS 'part of attach: the divisions of g as SQL';

-- Their columns in views that have those of the group.
CREATE FUNCTION stepadv_internal.division_names(a stepadv_internal.attached) RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT array_agg(d.name ORDER BY d.i) FROM stepadv_internal.divisions(a) d WHERE NOT d.stands);
END
$$;
COMMENT ON FUNCTION stepadv_internal.division_names(stepadv_internal.attached) IS 'part of attach: the divisions that views show beside the columns of the group';

-- For rows of an adapter: the joins that lead to what is known of their rollout,
-- and the expressions of the divisions.
CREATE FUNCTION stepadv_internal.run_columns(a stepadv_internal.attached, alias text, view regclass, OUT joins text, OUT expressions text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width CONSTANT text := coalesce(stepadv_internal.view_options(a, 'progress_over_time'::text) ->> 'bucket', '1 day');
	keys CONSTANT text[] := stepadv_internal.group_columns(view, (a).n_group_columns);
	d record;
	expression text;
BEGIN
	joins := '';
	expressions := '{}';
	FOR d IN SELECT * FROM stepadv_internal.divisions(a) v ORDER BY v.i LOOP
		expression := CASE d.view WHEN (a).runs THEN 'r.' || d.fed_by WHEN (a).began THEN 'q.' || d.fed_by END;
		IF expression IS NULL AND d.view IS NOT NULL THEN
			expression := CASE WHEN stepadv_internal.has_column(view, d.fed_by) THEN alias || '.' || d.fed_by ELSE stepadv_internal.role_column(d.serves_as, view, keys[d.key], alias) END;
		END IF;
		IF d.role = 'started_at' AND expression IS NOT NULL THEN
			expression := stepadv_internal.bucket(expression, width);
		END IF;
		expressions := expressions || coalesce(expression, CASE d.role WHEN 'started_at' THEN 'NULL::timestamptz' ELSE 'NULL::text' END);
	END LOOP;
	SELECT string_agg(format(' LEFT JOIN %s %s ON %s AND %s', stepadv_internal.relation_name(o.other), o.alias,
		stepadv_internal.same_group(o.alias, o.other, run_columns.alias, run_columns.view, (a).n_group_columns), stepadv_internal.same_rollout(o.alias, o.other, run_columns.alias, run_columns.view)), '' ORDER BY o.alias DESC)
	INTO joins
	FROM (VALUES ('r', (a).runs), ('q', (a).began)) o(alias, other)
	WHERE o.other IN (SELECT v.view FROM stepadv_internal.divisions(a) v);
	joins := coalesce(joins, '');
END
$$;
COMMENT ON FUNCTION stepadv_internal.run_columns(stepadv_internal.attached, text, regclass) IS 'part of attach: the joins from an adapter to what is known of its rollouts'' runs, and the expressions of the divisions';

-- Whether anything is known by which rollouts were made at different times.
CREATE FUNCTION stepadv_internal.has_runs(a stepadv_internal.attached) RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN EXISTS (SELECT FROM stepadv_internal.divisions(a) d WHERE d.view IS NOT NULL);
END
$$;
COMMENT ON FUNCTION stepadv_internal.has_runs(stepadv_internal.attached) IS 'part of attach: whether there are views over time';

-- The relation g of fold, with a row per group and divisions: rollouts of another
-- version are no part of the comparison.  With what maintain keeps, the groups
-- that it has nothing but the key of, or that wait (alias c): one by one, and so that conditions
-- go below the fold.
CREATE FUNCTION stepadv_internal.fold_over_time(a stepadv_internal.attached, reads text[], kept regclass) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rows_view CONSTANT regclass := stepadv_internal.rows_for(a, reads);
	run CONSTANT record := stepadv_internal.run_columns(a, 'x'::text, rows_view);
	divided record;
	relation text;
BEGIN
	SELECT string_agg(run.expressions[d.i] || ' AS ' || d.divider, ', ' ORDER BY d.i) AS items, array_agg(d.divider ORDER BY d.i) AS names INTO divided
	FROM stepadv_internal.divisions(a) d WHERE NOT d.stands;
	relation := stepadv_internal.fold(a, reads, format('(SELECT x.*, %s FROM %s x%s%s)', divided.items,
		stepadv_internal.relation_name(rows_view), run.joins, ' WHERE ' || stepadv_internal.same_group('x'::text, rows_view, 'c'::text, kept, (a).n_group_columns)), divided.names);
	RETURN CASE WHEN kept IS NULL THEN relation
		WHEN kept = (a).waiting THEN format('(SELECT DISTINCT c.* FROM %s c) c CROSS JOIN LATERAL %s', stepadv_internal.relation_name(kept), relation)
		ELSE format('(SELECT c.* FROM %s c WHERE c.n_rollouts IS NULL) c CROSS JOIN LATERAL %s', stepadv_internal.relation_name(kept), relation) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.fold_over_time(stepadv_internal.attached, text[], regclass) IS 'part of attach: the relation g, a row per group and divisions, which have columns stepadv_by_<role>';

-- The roles that the methods with an advantage read.
CREATE FUNCTION stepadv_internal.roles_read(made stepadv_internal.made_method[], more text[]) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT ARRAY(SELECT DISTINCT r FROM stepadv_internal.advantage_methods(made) m CROSS JOIN LATERAL unnest(m.reads) r UNION SELECT unnest(more)) $$;
COMMENT ON FUNCTION stepadv_internal.roles_read(stepadv_internal.made_method[], text[]) IS 'part of attach: the roles that the methods with an advantage per step read';

-- The same where Citus distributes the rows, which takes no function below UNION ALL: all are
-- computed side by side, as f, whichever is asked for.
CREATE FUNCTION stepadv_internal.steps_side_by_side(made stepadv_internal.made_method[], OUT estimates text, OUT branches text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format(' CROSS JOIN LATERAL ROWS FROM (%s) AS f(%s)', string_agg(m.call_beside, ', ' ORDER BY m.number), string_agg(c.list, ', ' ORDER BY m.number)),
		format('SELECT s.* FROM (VALUES %s) s(method, rollout_id, step_no, step_id, advantage) WHERE s.rollout_id IS NOT NULL',
			string_agg(format('(%1$L::text, f.%2$I, f.%3$I, f.%4$I, f.%5$I)', m.method, m.method || ' rollout_id', m.method || ' step_no', m.method || ' step_id', m.method || ' advantage'), ', ' ORDER BY m.number))
	FROM stepadv_internal.advantage_methods(made) m
	CROSS JOIN LATERAL (SELECT string_agg(format('%I', m.method || ' ' || r.name), ', ' ORDER BY r.i) AS list FROM unnest(m.results) WITH ORDINALITY r(name, i)) c
	HAVING count(*) > 0
$$;
COMMENT ON FUNCTION stepadv_internal.steps_side_by_side(stepadv_internal.made_method[]) IS 'part of attach: for a group g a relation f of the rows of all methods, and the query that puts them below each other; NULL for no method';

-- Every step by every method, one below the other.  A condition on the method
-- leaves the others' branches out.
CREATE FUNCTION stepadv_internal.advantages_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s FROM %s%s CROSS JOIN LATERAL (SELECT %s, e.* FROM (%s) e) a%s%s',
		b.items, stepadv_internal.fold_over_time(a, stepadv_internal.roles_read(made, '{}'::text[]), NULL::regclass), m.estimates, stepadv_internal.division_list(a, '%1$s AS %2$I'::text, true), m.branches, b.joins, n.joins)
	FROM (SELECT CASE WHEN NOT stepadv_internal.is_distributed(ARRAY[(a).rows]) THEN string_agg(format('SELECT %L::text AS method, e.rollout_id, e.step_no, e.step_id, e.advantage FROM %s e', m.method, m.call_beside), ' UNION ALL ' ORDER BY m.number) END AS branches
		FROM stepadv_internal.advantage_methods(made) m) o
	CROSS JOIN LATERAL (SELECT CASE WHEN o.branches IS NULL THEN y.estimates END AS estimates, coalesce(o.branches, y.branches) AS branches FROM stepadv_internal.steps_side_by_side(made) y) m
	CROSS JOIN LATERAL (SELECT max(v.of_g) FILTER (WHERE v.role = 'policy_step') AS step, max(v.of_g) FILTER (WHERE v.role = 'run_id') AS run
		FROM stepadv_internal.divisions(a) v) d
	CROSS JOIN LATERAL stepadv_internal.staleness(a, d.step, d.run) n
	CROSS JOIN LATERAL stepadv_internal.beside(a, 'step'::text, '{rollout_id,step_no,step_id}' || stepadv_internal.division_names(a) || '{method,advantage}'
			|| CASE WHEN n.expression IS NOT NULL THEN '{staleness}' ELSE '{}' END::text[],
		jsonb_strip_nulls(jsonb_build_object('staleness', n.expression)), '{}'::text[]) b
	WHERE stepadv_internal.has_runs(a) AND m.branches IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.advantages_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _advantages';

-- What the advantages of a method add up to within a group.  Sums of sums are
-- sums, so parts can be kept.
CREATE TYPE stepadv_internal.advantage_sums AS (n integer, sum float8, abs_sum float8, square_sum float8, least float8, greatest float8, n_positive integer, n_negative integer);
COMMENT ON TYPE stepadv_internal.advantage_sums IS 'what is added up of the advantages of a method in a group, see method_sums';

CREATE FUNCTION stepadv_internal.sum_advantages_trans(state internal, advantage float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_sum_advantages_trans';
COMMENT ON FUNCTION stepadv_internal.sum_advantages_trans(internal, float8) IS 'part of sum_advantages';

CREATE FUNCTION stepadv_internal.sum_advantages_final(state internal) RETURNS stepadv_internal.advantage_sums
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_sum_advantages_final';
COMMENT ON FUNCTION stepadv_internal.sum_advantages_final(internal) IS 'part of sum_advantages';

CREATE AGGREGATE stepadv_internal.sum_advantages(advantage float8) (
	SFUNC = stepadv_internal.sum_advantages_trans, STYPE = internal, SSPACE = 64,
	FINALFUNC = stepadv_internal.sum_advantages_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.sum_advantages(float8) IS
'of advantages that are not NULL: n = count(x), sum(x), abs_sum = sum(abs(x)), square_sum = sum(x * x) with 0 for those up to 1e-150, least = min(x), greatest = max(x), n_positive and n_negative as count(*) FILTER; the same as the server''s aggregates to the last bit, in one pass';

-- Columns of e, and what is made of them: the server computes equal aggregates of
-- a query once.
CREATE FUNCTION stepadv_internal.method_sums() RETURNS TABLE (name text, expression text)
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT s.name, format('(stepadv_internal.sum_advantages(e.advantage)).%I', s.name)
	FROM unnest('{n,sum,abs_sum,square_sum,least,greatest,n_positive,n_negative}'::text[]) WITH ORDINALITY s(name, i) ORDER BY s.i
$$;
COMMENT ON FUNCTION stepadv_internal.method_sums() IS 'part of attach: what is added up of the advantages of a method, by name';

-- What the rollouts of g received of each reward component: its sum over those that
-- are judged, each by a join of its own.
CREATE FUNCTION stepadv_internal.reward_sums(a stepadv_internal.attached, made stepadv_internal.made_method[], taken text[]) RETURNS TABLE (i bigint, name text, mean text, item text, source text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	max_length CONSTANT integer := current_setting('max_identifier_length')::integer;
	-- All of its columns, in their order, those that no view shows too.
	results CONSTANT text[] := CASE WHEN (a).rewards IS NOT NULL THEN (SELECT m.results FROM stepadv_internal.known_methods('stepadv_internal.methods'::regclass) m WHERE m.method = 'rollouts') END;
	component text;
BEGIN
	FOR i, component IN SELECT c.i, c.name FROM unnest((a).rewards) WITH ORDINALITY c(name, i) LOOP
		name := stepadv_internal.free_name(taken, format('reward_%s_sum', component), 'base_'::text);
		mean := 'mean_reward_' || component;
		IF greatest(octet_length(name), octet_length(mean)) > max_length THEN
			RAISE EXCEPTION 'the views over time would have a column of reward component "%" with a name longer than % bytes', component, max_length
				USING ERRCODE = 'name_too_long', HINT = 'Attach a view that gives it a shorter name.';
		END IF;
		item := format('p%s.total', i);
		-- Both have the same rollouts, in the same order; who is judged does not depend on the component.
		source := format(' LEFT JOIN LATERAL (SELECT sum(e.component_return) FILTER (WHERE e.judged) AS total'
			' FROM ROWS FROM (stepadv.rollouts(g.%1$I), stepadv.rollouts(stepadv.with_rewards(g.%1$I, %2$L::float8[]))) AS e(%3$s, %4$s)) p%5$s ON true',
			stepadv_internal.value_name(a), (SELECT array_agg((u.u = reward_sums.i)::integer ORDER BY u.u) FROM generate_series(1, cardinality((a).rewards)) u(u)),
			stepadv_internal.list(results, '%1$I'::text, ', '::text), stepadv_internal.list(results, 'component_%1$s'::text, ', '::text), i);
		taken := taken || name;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.reward_sums(stepadv_internal.attached, stepadv_internal.made_method[], text[]) IS 'part of attach: per reward component the column of its sum over the judged rollouts of g, that of its mean, and the join that brings it';

-- What the views over time add up (columns) of a relation g with a row per group and
-- divisions, and the joins that bring it.  Each method is a join of its own that adds
-- no rows, so that the planner leaves out what nobody asks for; but of the methods that
-- are summed already, k.sums has it, see kept_sums.
CREATE FUNCTION stepadv_internal.divided_items(a stepadv_internal.attached, made stepadv_internal.made_method[], summed text[], OUT items text, OUT joins text, OUT columns text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	methods record;
	rewards record;
BEGIN
	SELECT coalesce(array_agg(format('%s_%s', m.method, s.name) ORDER BY m.number, s.i), '{}') AS columns,
		coalesce(string_agg(CASE WHEN p.place IS NULL THEN format(', m%s.%s', m.number, s.name)
			ELSE format(', (k.sums)[%s]%s', (p.place - 1) * n.n + s.i, CASE WHEN s.name LIKE 'n%' THEN '::integer' ELSE '' END) END, '' ORDER BY m.number, s.i), '') AS items
	INTO methods
	FROM stepadv_internal.advantage_methods(made) m CROSS JOIN LATERAL array_position(divided_items.summed, m.method) p(place),
		stepadv_internal.method_sums() WITH ORDINALITY s(name, expression, i), (SELECT count(*) AS n FROM stepadv_internal.method_sums()) n;
	SELECT coalesce(array_agg(r.name ORDER BY r.i), '{}') AS columns, string_agg(', ' || r.item, '' ORDER BY r.i) AS items, string_agg(r.source, '' ORDER BY r.i) AS joins
	INTO rewards FROM stepadv_internal.reward_sums(a, made, methods.columns) r;
	columns := stepadv_internal.division_names(a) || '{n_rollouts,n_judged,n_successes,n_steps,n_judged_steps,n_shared_steps,return_sum,uniform}' || rewards.columns || methods.columns;
	items := concat(stepadv_internal.division_list(a, '%1$s'::text, true), ', u.n_rollouts, u.n_judged, u.n_successes, u.n_steps, j.n_steps,
			round(coalesce(u.shared_step_share, 0) * j.n_steps)::integer, u.mean_return * u.n_judged, u.uniform', rewards.items, methods.items);
	joins := concat(format($view$
		LEFT JOIN LATERAL (
			SELECT max(e.n_rollouts) AS n_rollouts, max(e.n_judged) AS n_judged, coalesce(max(round(e.success_rate * e.n_judged)::integer), 0) AS n_successes,
				max(e.n_steps) AS n_steps, max(e.mean_return) AS mean_return, bool_and(e.uniform) AS uniform, max(e.shared_step_share) AS shared_step_share
			FROM %1$s e) u ON true
		LEFT JOIN LATERAL (SELECT coalesce(sum(e.n_steps) FILTER (WHERE e.judged), 0)::integer AS n_steps FROM stepadv.rollouts(g.%2$I) e) j ON true$view$,
			(SELECT m.call FROM unnest(made) m WHERE m.method = 'groups'), stepadv_internal.value_name(a)),
		rewards.joins, (SELECT string_agg(format(' LEFT JOIN LATERAL (SELECT %s FROM %s e) m%s ON true', s.sums, m.call_beside, m.number), '' ORDER BY m.number)
		 FROM stepadv_internal.advantage_methods(made) m,
			(SELECT string_agg(format('%s AS %s', s.expression, s.name), ', ' ORDER BY s.i) AS sums FROM stepadv_internal.method_sums() WITH ORDINALITY s(name, expression, i)) s
		 WHERE (m.method = ANY (divided_items.summed)) IS NOT TRUE));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.divided_items(stepadv_internal.attached, stepadv_internal.made_method[], text[]) IS 'part of attach: what can be added up of a relation g, a row per group and divisions, the joins that bring it, and its names; but of methods summed already, which k.sums has';

-- The relation a, with a row per group and divisions: the group's columns as k1,
-- k2, ..., and what the views over time add up (columns).
CREATE FUNCTION stepadv_internal.groups_divided(a stepadv_internal.attached, made stepadv_internal.made_method[], OUT relation text, OUT columns text[], OUT asked text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	divided CONSTANT record := stepadv_internal.divided_items(a, made, '{}'::text[]);
BEGIN
	columns := divided.columns;
	relation := format('SELECT %1$s, %2$s FROM %3$s%4$s',
		stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), 'g.%1$I'::text, ', '::text), divided.items,
		stepadv_internal.fold_over_time(a, stepadv_internal.roles_read(made, '{state}'::text[] || CASE WHEN cardinality((a).rewards) > 0 THEN '{rewards}' ELSE '{}' END::text[]), (a).folded_over_time), divided.joins);
	asked := relation;
	-- Rows that maintain keeps.  Where a method does not know what to do with a
	-- group, none is kept but one that says so: to ask for the method is an error
	-- then, as it is without maintain, and to ask for others is not.
	IF (a).folded_over_time IS NOT NULL THEN
		relation := format('SELECT c.* FROM %s c WHERE c.n_rollouts IS NOT NULL UNION ALL %s', stepadv_internal.relation_name((a).folded_over_time), relation);
	END IF;
	relation := format('(%s) a(%s, %s)', relation, (SELECT string_agg('k' || i, ', ' ORDER BY i) FROM generate_series(1, (a).n_group_columns) i), stepadv_internal.list(columns, '%1$I'::text, ', '::text));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.groups_divided(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the relation a, a row per group and divisions with what can be added up, its columns after those of the group, and the query of its rows that are not kept';

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
	divided record;
	relation text;
BEGIN
	SELECT stepadv_internal.method_branches(a, made, s.names, s.expressions) AS made,
		string_agg(format('SELECT %L::text AS method, %s', m.method, k.kept), ' UNION ALL ' ORDER BY m.number) AS kept
	INTO methods
	FROM stepadv_internal.advantage_methods(made) m
	CROSS JOIN (SELECT array_agg(s.name ORDER BY s.i) AS names, array_agg(s.expression ORDER BY s.i) AS expressions FROM stepadv_internal.method_sums() WITH ORDINALITY s(name, expression, i)) s
	CROSS JOIN LATERAL (SELECT string_agg(format('a.%I AS %I', m.method || '_' || s.name, s.name), ', ' ORDER BY s.i) AS kept
		FROM stepadv_internal.method_sums() WITH ORDINALITY s(name, expression, i)) k
	GROUP BY s.names, s.expressions;
	IF NOT stepadv_internal.has_runs(a) OR methods.made IS NULL THEN
		RETURN NULL;
	END IF;
	relation := format('SELECT %s, s.* FROM %s CROSS JOIN LATERAL (%s) s', stepadv_internal.division_list(a, '%1$s AS %2$I'::text, false),
		stepadv_internal.fold_over_time(a, stepadv_internal.roles_read(made, '{}'::text[]), (a).folded_over_time), methods.made);
	SELECT array_agg(d.name ORDER BY d.i) AS names, string_agg(format('a.%I', CASE WHEN d.stands THEN (stepadv_internal.group_columns(coalesce((a).folded_over_time, (a).rows), (a).n_group_columns))[d.key] ELSE d.name END), ', ' ORDER BY d.i) AS kept,
		string_agg(format('a.d%s AS %I', d.i, d.name), ', ' ORDER BY d.i) AS summed
	INTO divided FROM stepadv_internal.divisions(a) d;
	IF stepadv_internal.is_summed(a) THEN
		relation := format('SELECT %s, s.* FROM (%s) a CROSS JOIN LATERAL (%s) s UNION ALL %s', divided.summed, stepadv_internal.summed_query(a, NULL::text), methods.kept, relation);
	ELSIF (a).folded_over_time IS NOT NULL THEN
		relation := format('SELECT %s, s.* FROM %s a CROSS JOIN LATERAL (%s) s WHERE a.n_rollouts IS NOT NULL UNION ALL %s',
			divided.kept, stepadv_internal.relation_name((a).folded_over_time), methods.kept, relation);
	END IF;
	RETURN format($view$
		SELECT %2$s, s.method, sum(s.n)::bigint AS n_steps,
			sum(s.abs_sum) / nullif(sum(s.n), 0)::float8 AS mean_abs_advantage, sum(s.sum) / nullif(sum(s.n), 0)::float8 AS mean_advantage,
			CASE WHEN sum(s.n) > 1 THEN sqrt(greatest(sum(s.square_sum) - CASE WHEN abs(sum(s.sum)) <= 1e-150::float8 THEN 0 ELSE sum(s.sum) ^ 2 / sum(s.n)::float8 END, 0) / (sum(s.n) - 1)::float8) END AS sd_advantage,
			min(s.least) AS least_advantage, max(s.greatest) AS greatest_advantage,
			sum(s.n_positive)::bigint AS n_positive, sum(s.n_negative)::bigint AS n_negative
		FROM (%1$s) s GROUP BY %2$s, s.method HAVING sum(s.n) > 0$view$, relation, stepadv_internal.list(divided.names, 's.%1$I'::text, ', '::text));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.advantage_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _advantage_over_time';

-- The relation w: what the ratios of a division say; NULL without log-probabilities.
CREATE FUNCTION stepadv_internal.ratios_over_time(a stepadv_internal.attached) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
	SELECT format($view$
		LEFT JOIN (SELECT jsonb_build_array(%1$s) AS key, count(*) AS n_ratios,
			stepadv.effective_sample_size(stepadv_internal.step_ratio_or_null(%3$s)) / count(*) AS ess_share,
			stepadv.effective_sample_size(stepadv_internal.sequence_ratio_or_null(%3$s)) / count(*) AS sequence_ess_share
			FROM %4$s g%5$s WHERE %6$s AND g.stepadv_no IS NOT NULL AND g.stepadv_logp_new IS NOT NULL AND g.stepadv_logp_old IS NOT NULL GROUP BY 1) w
		ON w.key = jsonb_build_array(%2$s)$view$,
		array_to_string(r.expressions, ', '), (SELECT string_agg(format('v.%I', d.name), ', ' ORDER BY d.i) FROM stepadv_internal.divisions(a) d), stepadv_internal.logprobs(a), stepadv_internal.relation_name((a).shown), r.joins,
		stepadv_internal.list(stepadv_internal.group_columns((a).shown, (a).n_group_columns), 'g.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text))
	FROM stepadv_internal.run_columns(a, 'g'::text, (a).shown) r
	WHERE stepadv_internal.has_column((a).shown, 'stepadv_logp_new'::text)
$query$;
COMMENT ON FUNCTION stepadv_internal.ratios_over_time(stepadv_internal.attached) IS 'part of attach: the join that brings the effective sample size of a division; NULL without log-probabilities';

CREATE FUNCTION stepadv_internal.progress_over_time_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	ratios CONSTANT text := stepadv_internal.ratios_over_time(a);
	methods CONSTANT text[] := ARRAY(SELECT m.method FROM stepadv_internal.advantage_methods(made) m ORDER BY m.number);
	is_summed CONSTANT boolean := stepadv_internal.is_summed(a);
	groups record;
	divided record;
	rewards record;
BEGIN
	-- Also where there will be no view: a wrong option is an error all the same.
	PERFORM stepadv_internal.view_options(a, 'progress_over_time'::text);
	IF NOT stepadv_internal.has_runs(a) THEN
		RETURN NULL;
	END IF;
	SELECT string_agg(format('v.%I', d.name), ', ' ORDER BY d.i) AS shown,
		string_agg(format('%s AS %I', CASE WHEN is_summed THEN 'a.d' || d.i WHEN d.stands THEN 'a.k' || d.key ELSE format('a.%I', d.name) END, d.name), ', ' ORDER BY d.i) AS items, string_agg(d.i::text, ', ' ORDER BY d.i) AS numbers
	INTO divided FROM stepadv_internal.divisions(a) d;
	-- As groups_divided names their sums.
	SELECT string_agg(format(', v.%I', r.mean), '' ORDER BY r.i) AS shown, string_agg(format(', sum(a.%I) / nullif(sum(a.n_judged), 0) AS %I', r.name, r.mean), '' ORDER BY r.i) AS items
	INTO rewards FROM stepadv_internal.reward_sums(a, made, ARRAY(SELECT format('%s_%s', m, s.name) FROM unnest(methods) m, stepadv_internal.method_sums() s)) r;
	groups := stepadv_internal.groups_divided(a, made);
	RETURN format($view$
		SELECT %6$s, v.n_groups, v.n_judged_groups, v.n_informative_groups, v.n_rollouts, v.n_judged, v.n_successes,
			v.n_steps, v.n_judged_steps, v.n_shared_steps, v.success_rate, v.mean_return, v.informative_share, v.shared_step_share%1$s, %2$s
		FROM (
			SELECT %7$s, %9$s, sum(a.n_rollouts)::bigint AS n_rollouts, sum(a.n_judged)::bigint AS n_judged,
				sum(a.n_successes)::bigint AS n_successes, sum(a.n_steps)::bigint AS n_steps, sum(a.n_judged_steps)::bigint AS n_judged_steps, sum(a.n_shared_steps)::bigint AS n_shared_steps,
				sum(a.n_successes)::float8 / nullif(sum(a.n_judged), 0) AS success_rate,
				sum(a.return_sum) / nullif(sum(a.n_judged), 0) AS mean_return,
				%10$s AS informative_share,
				sum(a.n_shared_steps)::float8 / nullif(sum(a.n_judged_steps), 0) AS shared_step_share%3$s
			FROM %4$s GROUP BY %8$s) v%5$s$view$,
		concat(rewards.shown, stepadv_internal.list(methods, ', v.mean_abs_%1$s'::text, ''::text)),
		CASE WHEN ratios IS NULL THEN '0::bigint AS n_ratios, NULL::float8 AS ess_share, NULL::float8 AS sequence_ess_share'
			ELSE 'coalesce(w.n_ratios, 0) AS n_ratios, w.ess_share, w.sequence_ess_share' END,
		concat(rewards.items, stepadv_internal.list(methods, ', sum(a.%1$s_abs_sum) / nullif(sum(a.%1$s_n), 0) AS mean_abs_%1$s'::text, ''::text)),
		CASE WHEN is_summed THEN format('(%s) a', stepadv_internal.summed_query(a, groups.asked)) ELSE groups.relation END, ratios, divided.shown, divided.items, divided.numbers,
		CASE WHEN is_summed THEN 'sum(a.n_groups)::bigint AS n_groups, coalesce(sum(a.n_judged_groups), 0)::bigint AS n_judged_groups, coalesce(sum(a.n_informative_groups), 0)::bigint AS n_informative_groups'
			ELSE 'count(*) AS n_groups, count(*) FILTER (WHERE a.n_judged > 0) AS n_judged_groups, count(*) FILTER (WHERE NOT a.uniform) AS n_informative_groups' END,
		CASE WHEN is_summed THEN 'coalesce(sum(a.n_informative_groups), 0)::float8 / nullif(sum(a.n_judged_groups), 0)::float8'
			ELSE '(count(*) FILTER (WHERE NOT a.uniform))::float8 / nullif(count(*) FILTER (WHERE a.n_judged > 0), 0)' END);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.progress_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _progress_over_time';

-- What views show of a rollout's run: task, run, policy version and step, and
-- staleness.  They join it by rollout; the planner removes these joins if their
-- columns are not read.
--
-- Aliases: r table of rollouts, o the source's own rows, n newest policy step (or
-- the column newest of r).

-- The adapter that has a role of the run; key: the number of the group's column that it is.
CREATE FUNCTION stepadv_internal.run_column(a stepadv_internal.attached, role text, OUT view regclass, OUT key integer)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT v.view INTO view FROM unnest(ARRAY[(a).rows, (a).shown_rollouts, (a).began]) WITH ORDINALITY v(view, i)
	WHERE stepadv_internal.column_type(v.view, 'stepadv_' || role) IS NOT NULL ORDER BY v.i LIMIT 1;
	IF view = (a).rows THEN
		SELECT min(k.number) INTO key FROM stepadv_internal.view_columns((a).rows) c
		JOIN stepadv_internal.view_columns((a).rows) k ON k.relation = c.relation AND k.column_number = c.column_number
		WHERE c.name = 'stepadv_' || role AND k.number <= (a).n_group_columns;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.run_column(stepadv_internal.attached, text) IS
'part of attach: the adapter with the column of a role, and the number of the column if it belongs to the group; '
'NULL if it was not given';

-- Expressions for the given roles over g, r and o.  own: a column of the group has
-- the name of the role.
CREATE FUNCTION stepadv_internal.run_expressions(a stepadv_internal.attached, roles text[])
	RETURNS TABLE (i integer, role text, view regclass, alias text, expression text, own boolean)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT r.i::integer, r.role, c.view, n.alias,
		format('%s.%I', n.alias, CASE n.alias WHEN 'g' THEN k.keys[c.key] ELSE 'stepadv_' || r.role END),
		coalesce(k.keys[c.key] = r.role, false)
	FROM unnest(roles) WITH ORDINALITY r(role, i) CROSS JOIN LATERAL stepadv_internal.run_column(a, r.role) c
	CROSS JOIN LATERAL (SELECT CASE c.view WHEN (a).rows THEN 'g' WHEN (a).shown_rollouts THEN 'r' ELSE 'o' END)
		n(alias)
	CROSS JOIN stepadv_internal.group_columns((a).rows, (a).n_group_columns) k(keys)
	WHERE c.view IS NOT NULL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.run_expressions(stepadv_internal.attached, text[]) IS
'part of attach: the given properties of a rollout''s run, as expressions over a group g and the joins of run_joins';

-- items: select list over rollouts s of a group: the value that all of them have, or NULL.  kept: a query for the same
-- of a group g from its kept digests; NULL if these are not divided by all roles.  A group with a single division has
-- the value in that row; for others, and if the digest is not kept, the rollouts are read.
CREATE FUNCTION stepadv_internal.agreed(a stepadv_internal.attached, view regclass, OUT items text, OUT kept text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n CONSTANT integer := (a).n_group_columns;
	known record;
	of_digests text;
	digest CONSTANT text := (SELECT c.attname FROM pg_attribute c WHERE c.attrelid = (a).digests AND c.attnum > 0
		AND NOT c.attisdropped ORDER BY c.attnum DESC LIMIT 1);
	has_all boolean := (a).digests IS NOT NULL AND (a).fresh_digests IS NOT NULL;
BEGIN
	FOR known IN
		SELECT t.attname AS name, format('CASE WHEN pg_catalog.count(DISTINCT s.%1$I) OPERATOR(pg_catalog.=) 1 AND '
			'pg_catalog.count(s.%1$I) OPERATOR(pg_catalog.=) pg_catalog.count(*)'
			' THEN (pg_catalog.array_agg(s.%1$I))[1] END AS %1$I', t.attname) AS item, c.attname AS division
		FROM pg_attribute t
		-- A division has the name of its role, unless a column of the group has it.
		LEFT JOIN pg_attribute c ON c.attrelid = (a).digests AND c.attnum > n AND NOT c.attisdropped
			AND 'stepadv_' || c.attname = t.attname
			AND (stepadv_internal.run_column(a, c.attname::text)).view = agreed.view
		WHERE t.attrelid = agreed.view AND t.attnum > 0 AND t.attname IN ('stepadv_task_id', 'stepadv_run_id',
			'stepadv_policy_version', 'stepadv_policy_step') ORDER BY t.attnum
	LOOP
		items := concat_ws(', ', items, known.item);
		has_all := has_all AND known.division IS NOT NULL;
		CONTINUE WHEN NOT has_all;
		of_digests := concat_ws(', ', of_digests, format('CASE WHEN pg_catalog.count(*) OPERATOR(pg_catalog.=) 1 AND '
			'pg_catalog.count(d.%1$I) OPERATOR(pg_catalog.=) 1 THEN (pg_catalog.array_agg(d.%2$I))[1] ELSE '
			'(SELECT q.%3$I FROM (SELECT %4$s FROM %5$s s WHERE %6$s) q) END AS %3$I',
			digest, known.division, known.name, known.item,
			stepadv_internal.relation_name(agreed.view),
			stepadv_internal.same_group('s'::text, agreed.view, 'g'::text, (a).rows, n)));
	END LOOP;
	IF has_all THEN
		kept := format('SELECT %s FROM %s d WHERE %s AND %s', of_digests, stepadv_internal.relation_name((a).digests),
			stepadv_internal.same_group('d'::text, (a).digests, 'g'::text, (a).rows, n),
			stepadv_internal.kept_condition((a).fresh_digests));
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.agreed(stepadv_internal.attached, regclass) IS
'part of attach: the columns of an adapter about the runs of a group, NULL if its rollouts differ, as a select list, '
'and as a query of the kept digests if these are divided by all of them';

-- The newest policy step in the run of a group g, as a subquery within r, where it runs once per group; NULL unless
-- an index can find it.
CREATE FUNCTION stepadv_internal.newest(a stepadv_internal.attached) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n CONSTANT integer := (a).n_group_columns;
	of_run CONSTANT record := stepadv_internal.run_column(a, 'run_id'::text);
	view CONSTANT regclass := (a).shown_rollouts;
	run CONSTANT text := (stepadv_internal.group_columns(view, n))[of_run.key];
	stored CONSTANT record := stepadv_internal.feeds(view, run);
	step CONSTANT record := stepadv_internal.feeds(view, 'stepadv_policy_step'::text);
BEGIN
	IF (stepadv_internal.run_column(a, 'policy_step'::text)).view = view AND stepadv_internal.by_group(view, n)
		AND EXISTS (SELECT FROM pg_index i WHERE i.indrelid = stored.relation AND stored.relation = step.relation
			AND i.indisvalid AND i.indpred IS NULL
			AND (i.indkey::smallint[])[0:1] = ARRAY[stored.number, step.number]::smallint[])
	THEN
		RETURN (SELECT format('(SELECT pg_catalog.max(z.%I) FROM %s z WHERE z.%I %s g.%I)', p.attname,
			stepadv_internal.relation_name(stored.relation), r.attname,
			stepadv_internal.equality_operator(r.atttypid),
			(stepadv_internal.group_columns((a).rows, n))[of_run.key])
			FROM pg_attribute r, pg_attribute p WHERE r.attrelid = stored.relation AND r.attnum = stored.number
				AND p.attrelid = step.relation AND p.attnum = step.number);
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.newest(stepadv_internal.attached) IS
'part of attach: the newest policy step of a group''s run, as a query within r; NULL where a join brings it';

-- The joins for those of r and o that are among the aliases: to rows a of a step or
-- rollout of g; if a row is a group, with the values that all its rollouts share.
CREATE FUNCTION stepadv_internal.run_joins(a stepadv_internal.attached, kind text, aliases text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(string_agg(CASE
			WHEN kind <> 'group' THEN stepadv_internal.join_to(a, v.alias, v.view, '{stepadv_rollout}'::text[],
				'{a.rollout_id}'::text[], n.item)
			WHEN c.kept IS NOT NULL OR stepadv_internal.by_group(v.view, (a).n_group_columns)
				THEN format(' LEFT JOIN LATERAL (%s) %s ON true', coalesce('SELECT '
				|| concat_ws(', ', 'k.*', n.item) || ' FROM (' || c.kept || ') k', format('SELECT %s FROM %s s '
				'WHERE %s', concat_ws(', ', c.items, n.item), stepadv_internal.relation_name(v.view),
				stepadv_internal.same_group('s'::text, v.view, 'g'::text, (a).rows, (a).n_group_columns))), v.alias)
			ELSE format(' LEFT JOIN (SELECT %1$s, %2$s FROM %3$s s GROUP BY %1$s) %4$s ON %5$s',
				stepadv_internal.list(stepadv_internal.group_columns(v.view, (a).n_group_columns), 's.%1$I'::text,
				', '::text), c.items, stepadv_internal.relation_name(v.view), v.alias,
				stepadv_internal.same_group(v.alias, v.view, 'g'::text, (a).rows, (a).n_group_columns))
			END, '' ORDER BY v.alias DESC), '')
		FROM (VALUES ('r', (a).shown_rollouts), ('o', (a).began)) v(alias, view)
		CROSS JOIN LATERAL stepadv_internal.agreed(a, v.view) c
		CROSS JOIN LATERAL (SELECT CASE WHEN v.alias = 'r' AND 'newest' = ANY (aliases)
			THEN stepadv_internal.newest(a) || ' AS newest' END) n(item)
		WHERE v.alias = ANY (aliases));
END
$$;
COMMENT ON FUNCTION stepadv_internal.run_joins(stepadv_internal.attached, text, text[]) IS
'part of attach: the joins that provide the known properties of the run of a row''s rollout; for a group, those '
'that all of its rollouts share';

-- The newest policy step of the run, or of all if the run of a row is NULL, minus
-- the expression step.
CREATE FUNCTION stepadv_internal.staleness(a stepadv_internal.attached, step text, run text, OUT expression text,
	OUT joins text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	of_step CONSTANT record := stepadv_internal.run_column(a, 'policy_step'::text);
	of_run CONSTANT record := stepadv_internal.run_column(a, 'run_id'::text);
	steps CONSTANT text := stepadv_internal.relation_name(of_step.view);
	n CONSTANT integer := (a).n_group_columns;
	known_as text;		-- the run of a row z
BEGIN
	joins := '';
	IF step IS NULL OR steps IS NULL THEN
		RETURN;
	END IF;
	expression := format('(SELECT pg_catalog.max(z.stepadv_policy_step) FROM %s z)', steps);
	IF run IS NOT NULL THEN
		known_as := CASE WHEN of_run.key IS NOT NULL
			THEN format('z.%I', (stepadv_internal.group_columns(of_step.view, n))[of_run.key])
			WHEN of_run.view = of_step.view THEN 'z.stepadv_run_id' ELSE 'y.stepadv_run_id' END;
		-- If a query gives the run, the planner compares both sides with that constant and drops the join condition:
		-- since PostgreSQL 16 it can then no longer prove that n has one row, and computes n even if staleness is not
		-- read.  The same condition, written differently, remains.
		joins := format(' LEFT JOIN (SELECT %1$s AS run_id, pg_catalog.max(z.stepadv_policy_step) AS newest FROM %2$s '
			'z%3$s GROUP BY %1$s) n ON n.run_id %4$s %5$s'
			' AND n.run_id %4$s CASE WHEN %5$s IS NOT DISTINCT FROM NULL THEN NULL ELSE %5$s END', known_as, steps,
			CASE WHEN known_as LIKE 'y.%' THEN format(' LEFT JOIN %s y ON %s AND %s',
				stepadv_internal.relation_name(of_run.view),
				stepadv_internal.same_group('y'::text, of_run.view, 'z'::text, of_step.view, n),
					stepadv_internal.same_rollout('y'::text, of_run.view, 'z'::text, of_step.view)) END,
			stepadv_internal.equality_operator(stepadv_internal.base_type(stepadv_internal.column_type(of_run.view,
				'stepadv_run_id'::text))), run);
		-- A group's column is never NULL.
		expression := CASE WHEN of_run.key IS NOT NULL THEN 'n.newest'
			ELSE format('CASE WHEN %s IS NOT DISTINCT FROM NULL THEN %s ELSE n.newest END', run, expression) END;
	END IF;
	expression := format('(%s OPERATOR(pg_catalog.-) %s)', expression, step);
END
$$;
COMMENT ON FUNCTION stepadv_internal.staleness(stepadv_internal.attached, text, text) IS
'part of attach: how many policy steps the newest of the run is after that of an expression, and the join that it '
'needs; NULL where no policy_step was given';

-- What a view shows of runs after its other columns: the roles that it does not show
-- already, and staleness.  joins: those needed in addition to the aliases'.
CREATE FUNCTION stepadv_internal.run_items(a stepadv_internal.attached, kind text, names text[], roles text[],
	OUT items text[], OUT aliases text[], OUT joins text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known record;
	age record;
BEGIN
	items := '{}';
	aliases := '{}';
	joins := '';
	FOR known IN SELECT * FROM stepadv_internal.run_expressions(a, roles) e WHERE NOT e.own
		-- Skip a column that is also shown beside the row under the name of the role.
		AND NOT EXISTS (SELECT FROM stepadv_internal.shown_columns(a, kind, '{}'::text[]) s
			JOIN stepadv_internal.view_columns(e.view) c ON c.name = 'stepadv_' || e.role
			CROSS JOIN LATERAL stepadv_internal.feeds(CASE s.alias WHEN 'r' THEN (a).shown_rollouts ELSE (a).shown END,
				s.name) f
			WHERE s.called = e.role AND f.relation = c.relation AND f.number = c.column_number) ORDER BY e.i LOOP
		names := names || stepadv_internal.free_name(names, known.role, 'run_'::text);
		items := items || format('%s AS %I', known.expression, names[cardinality(names)]);
		aliases := aliases || known.alias;
	END LOOP;
	IF 'staleness' <> ALL (roles) THEN
		RETURN;
	END IF;
	SELECT s.expression, s.joins, e.aliases, e.step INTO age
	FROM (SELECT max(e.expression) FILTER (WHERE e.role = 'policy_step') AS step,
		max(e.expression) FILTER (WHERE e.role = 'run_id') AS run, array_agg(e.alias) AS aliases
		FROM stepadv_internal.run_expressions(a, '{policy_step,run_id}'::text[]) e) e
	CROSS JOIN LATERAL stepadv_internal.staleness(a, e.step, e.run) s;
	IF age.step LIKE 'r.%' AND stepadv_internal.newest(a) IS NOT NULL THEN
		age.expression := format('(r.newest OPERATOR(pg_catalog.-) %s)', age.step);
		age.joins := '';
		age.aliases := age.aliases || 'newest'::text;
	END IF;
	IF age.expression IS NOT NULL THEN
		-- NULL for a group whose rollouts belong to several runs, or to an unknown one.
		items := items || format('%s AS %I', CASE WHEN kind = 'group' AND age.joins <> ''
			THEN format('(n.newest OPERATOR(pg_catalog.-) %s)', age.step) ELSE age.expression END,
			stepadv_internal.free_name(names, 'staleness'::text, 'run_'::text));
		aliases := aliases || age.aliases;
		joins := age.joins;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.run_items(stepadv_internal.attached, text, text[], text[]) IS
'part of attach: the columns about runs at the end of the select list of a view, and the joins that they need';

-- Methods that learn from earlier groups of the same task: option {"batch_td":
-- {"history": 20, "decay": 0.9}} of attach, for a method or an instance of one.
--
-- The history of a group g consists of the groups of the same task, run and dimensions
-- with an earlier policy step, so later groups never change its estimates.  A subquery
-- in the method's call finds these groups by the task and folds each by its key (or
-- reads it, if kept), so that views are always up to date.
--
-- Aliases: s row of the relation that describes runs, o its row for g, p earlier group.

-- How many policy steps back the history goes: infinity for all, NULL for none.
CREATE FUNCTION stepadv_internal.history_reach(method text, settings jsonb) RETURNS float8
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	reach CONSTANT jsonb := coalesce(settings -> 'history', 'null');
BEGIN
	IF jsonb_typeof(reach) = 'null' OR reach = 'false' THEN
		RETURN NULL;
	ELSIF reach = 'true' THEN
		RETURN 'Infinity';
	ELSIF jsonb_typeof(reach) <> 'number' OR reach::text::numeric NOT BETWEEN 1 AND 1e15
		OR reach::text::numeric % 1 <> 0 THEN
		RAISE EXCEPTION 'history of method "%" must be a number of policy steps or true, not %', method, reach
			USING ERRCODE = 'invalid_parameter_value',
			HINT = 'For example {"batch_td": {"history": 20, "decay": 0.9}}: the groups of the same task up to 20 '
				'steps of the policy before; true: all before.';
	END IF;
	RETURN reach::text::float8;
END
$$;
COMMENT ON FUNCTION stepadv_internal.history_reach(text, jsonb) IS
'part of attach: the option "history" of a method, checked: a number of policy steps, infinity for true, NULL for none';

-- The roles that define a history: i 1 is the task, 2 the policy step, then run and dimensions.
-- view, key: as in run_column; own: the expression for a group g, over g and o; in_common: the
-- aggregate over rollouts s of a group: the newest policy step, otherwise the value if all that
-- have one agree; equality: the operator of its type.
CREATE FUNCTION stepadv_internal.history_roles(a stepadv_internal.attached) RETURNS TABLE (i integer, role text,
	view regclass, key integer, own text, in_common text, equality text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT r.i::integer, r.role, c.view, c.key, CASE WHEN c.key IS NOT NULL
		THEN format('g.%I', (stepadv_internal.group_columns((a).rows, (a).n_group_columns))[c.key]) ELSE 'o.c'
		|| r.i END,
		format(CASE WHEN r.role = 'policy_step' THEN 'pg_catalog.max(s.%1$I)'
			ELSE 'CASE WHEN pg_catalog.count(DISTINCT s.%1$I) OPERATOR(pg_catalog.=) 1 THEN (pg_catalog.array_agg('
				's.%1$I) FILTER (WHERE s.%1$I IS DISTINCT FROM NULL))[1] END' END, 'stepadv_' || r.role),
		stepadv_internal.equality_operator(stepadv_internal.base_type(stepadv_internal.column_type(c.view,
			coalesce((stepadv_internal.group_columns(c.view, (a).n_group_columns))[c.key], 'stepadv_' || r.role))))
	FROM unnest('{task_id,policy_step,run_id}'::text[] || ARRAY(SELECT 'dimension_' || d.i
		FROM unnest((a).dimensions) WITH ORDINALITY d(name, i) ORDER BY d.i)) WITH ORDINALITY r(role, i)
	CROSS JOIN LATERAL stepadv_internal.run_column(a, r.role) c
	WHERE c.view IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.history_roles(stepadv_internal.attached) IS
'part of attach: the columns that groups of a history must share, the policy step that orders them, and where '
'each is found';

CREATE FUNCTION stepadv_internal.check_history(a stepadv_internal.attached, method text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing CONSTANT text := (SELECT r FROM unnest('{task_id,policy_step}'::text[]) WITH ORDINALITY r(r, i)
		WHERE r NOT IN (SELECT h.role FROM stepadv_internal.history_roles(a) h) ORDER BY i LIMIT 1);
BEGIN
	IF missing IS NOT NULL THEN
		RAISE EXCEPTION 'the history of method "%" needs a column given as %', method, missing
			USING ERRCODE = 'null_value_not_allowed',
			HINT = 'It consists of the groups of the same task_id with an earlier policy_step: name both columns when '
				'calling attach.';
	END IF;
	PERFORM stepadv_internal.check_history_shards((a).rows, ARRAY(SELECT h.key FROM stepadv_internal.history_roles(a) h
		WHERE h.role <> 'policy_step'), method);
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_history(stepadv_internal.attached, text) IS
'part of attach: error if the task or the order of groups is unknown, or if the groups of a task may be in '
'several shards';

-- The relation s, with the group's columns and those of the roles: the kept groups or the
-- adapter of rows if all are columns of the group, and otherwise the adapter that has them.
CREATE FUNCTION stepadv_internal.history_source(a stepadv_internal.attached, OUT relation text, OUT shaped_as regclass)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	views CONSTANT regclass[] := ARRAY(SELECT DISTINCT h.view FROM stepadv_internal.history_roles(a) h
		WHERE h.key IS NULL);
BEGIN
	shaped_as := CASE WHEN views = '{}' THEN coalesce((a).folded, (a).rows) WHEN (a).shown_rollouts = ANY (views)
		THEN (a).shown_rollouts
		ELSE (a).began END;
	relation := stepadv_internal.relation_name(shaped_as) || ' s';
	IF cardinality(views) > 1 THEN
		relation := format('(SELECT s.*, %s FROM %s s LEFT JOIN LATERAL (SELECT o.* FROM %s o WHERE %s) o ON %s) s',
			(SELECT string_agg(format('o.%I', 'stepadv_' || h.role), ', ' ORDER BY h.i)
				FROM stepadv_internal.history_roles(a) h WHERE h.key IS NULL AND h.view = (a).began),
			stepadv_internal.relation_name((a).shown_rollouts), stepadv_internal.relation_name((a).began),
			stepadv_internal.same_group('o'::text, (a).began, 's'::text, (a).shown_rollouts, (a).n_group_columns),
				stepadv_internal.same_rollout('o'::text, (a).began, 's'::text, (a).shown_rollouts));
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.history_source(stepadv_internal.attached) IS
'part of attach: the relation with the task and policy step of groups, and the adapter or kept table whose columns it '
'has';

-- The relation p: a row per group of the task of g, with its key and the roles as c1, c2, …,
-- as in o.  An index on the task can be used.  An unknown (NULL) task has no groups.  If kept groups have all
-- roles, their rows are p, with their values.
CREATE FUNCTION stepadv_internal.groups_of_task(a stepadv_internal.attached, with_values boolean) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format(CASE WHEN with_values THEN '(SELECT %s, %s, s.rollouts FROM %s WHERE %s AND %6$s) p'
		ELSE '(SELECT %s, %s FROM %s WHERE %s GROUP BY %s) p' END,
		(SELECT string_agg(format('s.%I AS %I', n.name, k.keys[n.i]), ', ' ORDER BY n.i)
			FROM unnest(g.names) WITH ORDINALITY n(name, i)),
		string_agg(format('%s AS c%s', CASE WHEN h.key IS NOT NULL THEN e.e ELSE h.in_common
			END, h.i), ', ' ORDER BY h.i), min(s.relation),
		min(format('%s %s %s', e.e, h.equality, h.own)) FILTER
			(WHERE h.role = 'task_id'),
		stepadv_internal.list(g.names, 's.%1$I'::text, ', '::text), stepadv_internal.kept_condition((a).fresh))
	FROM stepadv_internal.history_roles(a) h CROSS JOIN stepadv_internal.history_source(a) s
	CROSS JOIN LATERAL (SELECT stepadv_internal.group_columns(s.shaped_as, (a).n_group_columns) AS names) g
	CROSS JOIN stepadv_internal.group_columns((a).rows, (a).n_group_columns) k(keys)
	CROSS JOIN LATERAL (SELECT format('s.%I', CASE WHEN h.key IS NOT NULL THEN g.names[h.key] ELSE 'stepadv_'
		|| h.role END) AS e) e
	GROUP BY g.names, k.keys
$$;
COMMENT ON FUNCTION stepadv_internal.groups_of_task(stepadv_internal.attached, boolean) IS
'part of attach: the relation p, a row per group of the task of g, with the known properties of its run, and its value '
'if it is kept with them';

CREATE FUNCTION stepadv_internal.with_history(a stepadv_internal.attached, m stepadv_internal.known_method,
	argument text, reads text[], settings jsonb, OUT argument_with text, OUT history text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	reach CONSTANT float8 := CASE WHEN (m).takes_history
		THEN stepadv_internal.history_reach((m).method, settings) END;
	folded text;
	run text;
	identity text;
	earlier text;
BEGIN
	argument_with := argument;
	history := '';
	IF reach IS NULL THEN
		RETURN;
	END IF;
	PERFORM stepadv_internal.check_history(a, (m).method);
	-- The relation o: a row with the roles of g that are not columns of the group; NULL if all are.
	SELECT format('(SELECT %s FROM %s WHERE %s) o', string_agg(format('%s AS c%s', h.in_common,
		h.i), ', ' ORDER BY h.i), min(s.relation),
		stepadv_internal.same_group('s'::text, s.shaped_as, 'g'::text, (a).rows, (a).n_group_columns))
	INTO run
	FROM stepadv_internal.history_roles(a) h CROSS JOIN stepadv_internal.history_source(a) s
	WHERE h.key IS NULL
	GROUP BY s.shaped_as;
	-- A hash of the key of a group, in which NULL is a value, too.  Immutable for most types, as required on
	-- shards.
	SELECT format('stepadv.signature_hash(%s)',
		string_agg(format('pg_catalog.int8send(COALESCE(%s, 0)::bigint) OPERATOR(pg_catalog.||) '
		'pg_catalog.boolsend(%s IS NOT DISTINCT FROM NULL)',
		stepadv_internal.identity(c.c, stepadv_internal.column_type((a).rows, k.k)), c.c), ' OPERATOR(pg_catalog.||) '
			ORDER BY k.i))
	INTO identity
	FROM unnest(stepadv_internal.group_columns((a).rows, (a).n_group_columns)) WITH ORDINALITY k(k, i)
		CROSS JOIN LATERAL format('p.%I', k.k) c(c);
	-- The condition that a group p of the task is earlier than g and has the same other roles; two NULLs are the
	-- same.
	SELECT concat('p.c2 OPERATOR(pg_catalog.<) ', min(h.own) FILTER (WHERE h.i = 2),
		CASE WHEN reach < 'Infinity'
			THEN format(' AND p.c2 OPERATOR(pg_catalog.>=) (GREATEST(%s::bigint, %s::bigint) OPERATOR(pg_catalog.-) '
			'%s::bigint)', min(h.own) FILTER (WHERE h.i = 2), reach::bigint - 9223372036854775807, reach::bigint) END,
		string_agg(format(' AND (p.c%1$s %2$s %3$s OR p.c%1$s IS NOT DISTINCT FROM NULL AND %3$s IS NOT DISTINCT FROM '
			'NULL)', h.i, h.equality, h.own), '' ORDER BY h.i) FILTER (WHERE h.i > 2))
	INTO earlier
	FROM stepadv_internal.history_roles(a) h;
	-- The value of the group p, under the alias g.
	IF (a).folded IS NOT NULL AND run IS NULL THEN
		history := format(', history => (SELECT stepadv_internal.history_agg(%s, %s, p.c2::bigint) FROM (SELECT p.* '
			'FROM %s WHERE %s) p CROSS JOIN LATERAL (SELECT p.rollouts AS %s) g)', argument, identity,
			stepadv_internal.groups_of_task(a, true), earlier, stepadv_internal.value_name(a));
	ELSE
		folded := CASE WHEN (a).folded IS NOT NULL
			THEN format('(SELECT c.rollouts AS %s FROM %s c WHERE %s AND %s) g', stepadv_internal.value_name(a),
				stepadv_internal.relation_name((a).folded),
				stepadv_internal.same_group('c'::text, (a).folded, 'p'::text, (a).rows, (a).n_group_columns),
				stepadv_internal.kept_condition((a).fresh))
			ELSE stepadv_internal.fold_rows(a, reads, NULL::text, stepadv_internal.same_group('x'::text,
				stepadv_internal.rows_for(a, reads), 'p'::text, (a).rows, (a).n_group_columns), NULL::text[],
				NULL::text[]) END;
		history := format(', history => (SELECT stepadv_internal.history_agg((SELECT %s FROM %s), %s, p.c2::bigint) '
			'FROM %s%s WHERE %s)', argument, folded, identity, run || ' CROSS JOIN LATERAL ',
			stepadv_internal.groups_of_task(a, false), earlier);
	END IF;
	IF settings ? 'decay' THEN
		SELECT format('(SELECT stepadv_internal.history_agg(x.rollouts, NULL::bigint, %s) FROM (VALUES (%s)) '
			'x(rollouts))',
			CASE WHEN h.key IS NULL THEN format('(SELECT o.c2::bigint FROM %s)', run) ELSE h.own || '::bigint' END,
			argument)
			INTO argument_with
		FROM stepadv_internal.history_roles(a) h WHERE h.role = 'policy_step';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.with_history(stepadv_internal.attached, stepadv_internal.known_method, text,
	text[], jsonb) IS
'part of attach: the group that a method is called with, and its history as a further argument; empty if it has '
'none';

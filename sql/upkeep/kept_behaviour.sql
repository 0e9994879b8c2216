-- What the views of behaviour say of all groups, kept: maintain makes, and writes into
-- the attachment:
--
--	<prefix>_fresh_behaviour	view: per group and divisions, in parts, what is added up: the calls by
--								category, the advantages by category, the shapes of its rollouts,
--								their distances from the goal
--	<prefix>_folded_behaviour	table: the same, kept
--	<prefix>_summed_behaviour	table: of all groups of a division, what the views show
--
-- Who writes does not touch them: groups that changed wait, as of 72-kept-signs.sql, and
-- where one of these is, or was, the division's rows are not believed but made of those of
-- its groups, and of these groups anew.  Medians cannot be added up; so a division is
-- taken as it is kept, or made anew of the rollouts of each of its groups.
--
-- The parts: 1 calls, 2 advantages (name: of which method; NULL: of those that are computed
-- side by side), 3 shapes (name: the measure), 4 distances.  That of 2 which has no name has
-- the methods' numbers one after the other, as category_sums gives them.

CREATE FUNCTION stepadv_internal.keeps_behaviour(a stepadv_internal.attached) RETURNS boolean
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT num_nulls((a).summed_over_time, (a).summed_bins, (a).folded_over_time, (a).folded_bins, (a).waiting, (a).fresh_behaviour, (a).folded_behaviour, (a).summed_behaviour) = 0
$$;
COMMENT ON FUNCTION stepadv_internal.keeps_behaviour(stepadv_internal.attached) IS 'part of attach: whether what the views of behaviour show is kept';

CREATE FUNCTION stepadv_internal.behaviour_columns() RETURNS text[]
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT '{part,name,calls,outcomes,numbers,distances,excesses}'::text[] $$;
COMMENT ON FUNCTION stepadv_internal.behaviour_columns() IS 'part of maintain: what is kept of behaviour after the columns of the group and the divisions';

-- ---- What is kept of a group

-- The methods whose rows are those of the group's steps, in their order: one look at each step is enough.
CREATE FUNCTION stepadv_internal.aligned_methods(made stepadv_internal.made_method[]) RETURNS SETOF stepadv_internal.made_method
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT m.* FROM stepadv_internal.advantage_methods(made) m WHERE m.ours AND NOT m.needs_value ORDER BY m.number $$;
COMMENT ON FUNCTION stepadv_internal.aligned_methods(stepadv_internal.made_method[]) IS 'part of maintain: the methods with an advantage that give a row for each step of whatever group';

CREATE FUNCTION stepadv_internal.advantages_of_calls(a stepadv_internal.attached, made stepadv_internal.made_method[], source text, divided text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	plain CONSTANT text := format('g.%I', stepadv_internal.value_name(a));
	nothing CONSTANT text := 'NULL::boolean[], NULL::float8[], NULL::float8[], NULL::float8[]';
	together text;
	alone text;
BEGIN
	SELECT format('SELECT %s, 2, NULL::text, m.t, %s FROM %s CROSS JOIN LATERAL (SELECT stepadv_internal.category_sums(l.stepadv_labels, %s, %s) AS t FROM ROWS FROM (stepadv.outcomes(%s, 0::float8), %s) AS f(step_id, rollout_id, step_no, success, return, %s)) m',
		divided, nothing, source, stepadv_internal.label_key(a, 'f'::text, false), string_agg(format('f.%I', m.method), ', ' ORDER BY m.number), plain,
		string_agg(m.call_beside, ', ' ORDER BY m.argument <> plain, m.argument COLLATE "C", m.number),
		string_agg(c.list, ', ' ORDER BY m.argument <> plain, m.argument COLLATE "C", m.number))
	INTO together
	FROM stepadv_internal.aligned_methods(made) m CROSS JOIN LATERAL (
		SELECT string_agg(format('%I', m.method || CASE WHEN r.r = 'advantage' THEN '' ELSE ' ' || r.r END), ', ' ORDER BY r.i) AS list FROM unnest(m.results) WITH ORDINALITY r(r, i)) c
	HAVING count(*) > 0;
	SELECT format('SELECT %s, 2, m.name, m.t, %s FROM %s CROSS JOIN LATERAL (%s) m', divided, nothing, source,
		string_agg(format('SELECT %L::text AS name, stepadv_internal.category_sums(l.stepadv_labels, %s, e.advantage) AS t FROM %s e', m.method, stepadv_internal.label_key(a, 'e'::text, false), m.call_beside), ' UNION ALL ' ORDER BY m.number))
	INTO alone
	FROM stepadv_internal.advantage_methods(made) m WHERE NOT (m.ours AND NOT m.needs_value)
	HAVING count(*) > 0;
	RETURN nullif(concat_ws(' UNION ALL ', together, alone), '');
END
$query$;
COMMENT ON FUNCTION stepadv_internal.advantages_of_calls(stepadv_internal.attached, stepadv_internal.made_method[], text, text) IS 'part of maintain: the part of behaviour with the advantages by category, behind the columns of the group and the divisions; NULL without methods';

-- The rollouts in the order of the value, or in that of their ids where others are joined to them.
CREATE FUNCTION stepadv_internal.shapes_of_group(a stepadv_internal.attached, divided text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	source CONSTANT record := stepadv_internal.shape_source(a);
	numbered text;
BEGIN
	IF source.joins = '' THEN
		RETURN (SELECT format('SELECT %s, 3, m.measure, NULL::stepadv_internal.category_table, b.success, m.value, NULL::float8[], NULL::float8[] FROM %s CROSS JOIN LATERAL (SELECT array_agg(a.success) AS success, %s FROM %s) b%s',
				divided, source.groups, string_agg(format('array_agg(%s) AS m%s', e.expression, e.i), ', ' ORDER BY e.i), source.rows, stepadv_internal.measure_rows(source.names, array_agg('b.m' || e.i ORDER BY e.i)))
			FROM unnest(source.expressions) WITH ORDINALITY e(expression, i));
	END IF;
	numbered := (SELECT string_agg('q.c' || i, ', ' ORDER BY i) FROM generate_series(1, (a).n_group_columns + cardinality(stepadv_internal.division_names(a))) i);
	RETURN format('SELECT %1$s, 3, q.measure, NULL::stepadv_internal.category_table, array_agg(q.success ORDER BY q.rollout_id), array_agg(q.value ORDER BY q.rollout_id), NULL::float8[], NULL::float8[]'
			' FROM (SELECT %2$s, m.measure, m.value, a.success, a.rollout_id FROM %3$s CROSS JOIN LATERAL %4$s%5$s%6$s) q(%7$s, measure, value, success, rollout_id) GROUP BY %1$s, q.measure',
		numbered, divided, source.groups, source.rows, source.joins, stepadv_internal.measure_rows(source.names, source.expressions), replace(numbered, 'q.', ''));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.shapes_of_group(stepadv_internal.attached, text) IS 'part of maintain: the part of behaviour with the shapes of rollouts, behind the columns of the group and the divisions';

-- The parts of a, those of the groups that are kept where that is the same; NULL for a part that there is not.
CREATE FUNCTION stepadv_internal.behaviour_part(a stepadv_internal.attached, made stepadv_internal.made_method[], part integer) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	value CONSTANT text := stepadv_internal.value_name(a);
	by_call CONSTANT stepadv_internal.attached := stepadv_internal.by_call(a);
	keys CONSTANT text := stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), 'g.%1$I'::text, ', '::text);
	divided CONSTANT text := concat_ws(', ', keys, stepadv_internal.division_list(a, '%1$s'::text, true));
BEGIN
	IF part <= 2 AND stepadv_internal.call_category(a, 'b'::text) IS NULL THEN
		RETURN NULL;
	ELSIF part = 1 THEN
		RETURN format('SELECT %1$s, 1, NULL::text, stepadv_internal.call_counts(g.%2$I, l.stepadv_labels, %3$L::boolean), NULL::boolean[], NULL::float8[], NULL::float8[], NULL::float8[] FROM %4$s%5$s',
			divided, value, stepadv_internal.step_is_key((a).shown, (a).n_group_columns), stepadv_internal.groups_by_division(by_call, stepadv_internal.shape_reads(a, '{state,action}'::text[])), stepadv_internal.labels_join(a));
	ELSIF part = 2 THEN
		RETURN stepadv_internal.advantages_of_calls(a, made, stepadv_internal.groups_by_division(a, stepadv_internal.roles_read(made, '{}'::text[])) || stepadv_internal.labels_join(a), divided);
	ELSIF part = 3 THEN
		RETURN stepadv_internal.shapes_of_group(a, divided);
	ELSIF 'state' = ANY (stepadv_internal.available_roles(a)) THEN
		RETURN format('SELECT %s, 4, NULL::text, NULL::stepadv_internal.category_table, m.outcomes, m.numbers, m.distances, m.excesses FROM %s CROSS JOIN LATERAL ('
				'SELECT array_agg(a.success) AS outcomes, array_agg(a.n_steps::float8) AS numbers, array_agg(a.distance) AS distances, array_agg(a.excess) AS excesses'
				' FROM stepadv.rollout_shape(g.%I%s) a WHERE a.success IS NOT NULL AND a.n_steps > 0) m',
			divided, stepadv_internal.groups_by_division(a, stepadv_internal.shape_reads(a, '{state,next_state,cost}'::text[])), value, stepadv_internal.shape_arguments(a));
	END IF;
	RETURN NULL;
END
$query$;
COMMENT ON FUNCTION stepadv_internal.behaviour_part(stepadv_internal.attached, stepadv_internal.made_method[], integer) IS 'part of maintain: the query of one part of what is kept of behaviour, see the top of this file; NULL where there is none';

-- One after the other, with the columns' names.
CREATE FUNCTION stepadv_internal.behaviour_parts(a stepadv_internal.attached, part integer) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	made CONSTANT stepadv_internal.made_method[] := stepadv_internal.methods_by_group(a);
BEGIN
	RETURN (SELECT format('SELECT q.* FROM (%s) q(%s)', string_agg(p.query, ' UNION ALL ' ORDER BY i),
			stepadv_internal.kept_names(stepadv_internal.group_columns((a).rows, (a).n_group_columns), stepadv_internal.division_names(a) || stepadv_internal.behaviour_columns()))
		FROM generate_series(1, 4) i CROSS JOIN LATERAL stepadv_internal.behaviour_part(a, made, i) p(query)
		WHERE p.query IS NOT NULL AND (i = behaviour_parts.part OR behaviour_parts.part IS NULL) HAVING count(*) > 0);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.behaviour_parts(stepadv_internal.attached, integer) IS 'part of maintain: the query of what is kept of behaviour, all parts or one';

-- The same of a row of g of kept_groups, in one look at its rollouts and without asking a method again that
-- kept_estimates (k) asked: an entry per row; NULL where groups are kept by turn, whose calls are no part of their
-- value.  What is joined are lists by group, which a query that does not ask for the entries does not read.
CREATE FUNCTION stepadv_internal.kept_behaviour_of_group(a stepadv_internal.attached, made stepadv_internal.made_method[], summed text[], OUT item text, OUT joins text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	shapes record;
	calls record;
BEGIN
	IF (a).folded_behaviour IS NULL OR coalesce((a).unit, '') IN ('turn', 'turn_set') THEN
		RETURN;
	END IF;
	shapes := stepadv_internal.kept_shapes_of_group(a);
	calls := stepadv_internal.kept_calls_of_group(a, made, summed);
	item := format('CASE WHEN g.is_division THEN (SELECT array_agg(ROW(x.*)::stepadv_internal.behaviour_part) FROM (%s) x(%s)) END',
		concat_ws(' UNION ALL ', calls.query, shapes.query), stepadv_internal.list(stepadv_internal.behaviour_columns(), '%1$s'::text, ', '::text));
	joins := concat(calls.joins, shapes.joins);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.kept_behaviour_of_group(stepadv_internal.attached, stepadv_internal.made_method[], text[]) IS 'part of maintain: the item of <prefix>_kept_parts with what is kept of the behaviour of a group, and the joins for it; NULL where that is not made of kept groups';

-- Its calls, and the advantages of these: of methods whose rows are the group's steps as they are in k.
CREATE FUNCTION stepadv_internal.kept_calls_of_group(a stepadv_internal.attached, made stepadv_internal.made_method[], summed text[], OUT query text, OUT joins text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	row CONSTANT text := 'SELECT %s, %s, %s, NULL::boolean[], NULL::float8[], NULL::float8[], NULL::float8[]';
	given CONSTANT text := format('g.%I, l.stepadv_labels, %L::boolean', stepadv_internal.value_name(a), stepadv_internal.step_is_key((a).shown, (a).n_group_columns));
	aligned text[];
BEGIN
	IF stepadv_internal.call_category(a, 'b'::text) IS NULL THEN
		RETURN;
	END IF;
	joins := stepadv_internal.labels_join(a);
	SELECT array_agg(m.method ORDER BY m.number) INTO aligned FROM stepadv_internal.aligned_methods(made) m;
	SELECT concat_ws(' UNION ALL ', format(row, '1', 'NULL::text', format('stepadv_internal.call_counts(%s)', given)),
		CASE WHEN aligned IS NOT NULL THEN format(row, '2', 'NULL::text', format('stepadv_internal.call_sums(%s, k.advantages, %L::integer[])', given,
			ARRAY(SELECT array_position(summed, u.method) FROM unnest(aligned) WITH ORDINALITY u(method, i) ORDER BY u.i))) END,
		string_agg(format(row, '2', format('%L::text', m.method), format('(SELECT stepadv_internal.category_sums(l.stepadv_labels, %s, e.advantage) FROM %s e)', stepadv_internal.label_key(a, 'e'::text, false), m.call_beside)), ' UNION ALL ' ORDER BY m.number))
	INTO query FROM stepadv_internal.advantage_methods(made) m WHERE (m.method = ANY (aligned)) IS NOT TRUE;
END
$query$;
COMMENT ON FUNCTION stepadv_internal.kept_calls_of_group(stepadv_internal.attached, stepadv_internal.made_method[], text[]) IS 'part of maintain: the query of what is kept of the calls of a row of g, and the join for it; NULL without categories';

-- Its shapes and distances.  What others say of rollouts is in a list y, which has them in any order.
CREATE FUNCTION stepadv_internal.kept_shapes_of_group(a stepadv_internal.attached, OUT query text, OUT joins text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	source CONSTANT record := stepadv_internal.shape_source(a);
	value CONSTANT text := stepadv_internal.value_name(a);
	keys CONSTANT text[] := stepadv_internal.group_columns((a).rows, (a).n_group_columns);
	-- Which of the measures are those of others: what is joined has other aliases than a.
	others CONSTANT integer[] := CASE WHEN source.joins = '' THEN '{}' ELSE ARRAY(SELECT u.i::integer FROM unnest(source.names) WITH ORDINALITY u(name, i) WHERE u.name IN ('response_tokens', 'seconds') ORDER BY u.i) END;
	rows text := source.rows;
BEGIN
	IF source.joins <> '' THEN
		joins := format(' LEFT JOIN (SELECT %1$s, array_agg(a.rollout_id) AS ids%2$s FROM (SELECT %3$s, c.rollouts AS %4$I FROM %5$s c) g CROSS JOIN LATERAL stepadv.rollouts(g.%4$I) a%6$s GROUP BY %1$s) y ON %7$s',
			stepadv_internal.list(keys, 'g.%1$I'::text, ', '::text), (SELECT string_agg(format(', array_agg(%s) AS v%s', source.expressions[o], o), '' ORDER BY o) FROM unnest(others) o),
			(SELECT string_agg(format('c.%I AS %I', k.kept, k.name), ', ' ORDER BY k.i) FROM unnest(stepadv_internal.group_columns((a).folded, (a).n_group_columns), keys) WITH ORDINALITY k(kept, name, i)),
			value, stepadv_internal.relation_name((a).folded), source.joins, stepadv_internal.same_group('y'::text, (a).rows, 'g'::text, (a).rows, (a).n_group_columns));
		rows := format('(SELECT a.*%s FROM %s LEFT JOIN unnest(y.ids%s) z(rollout_id%s) ON z.rollout_id OPERATOR(pg_catalog.=) a.rollout_id ORDER BY a.rollout_id) a',
			(SELECT string_agg(format(', z.v%s', o), '' ORDER BY o) FROM unnest(others) o), rows, (SELECT string_agg(format(', y.v%s', o), '' ORDER BY o) FROM unnest(others) o), (SELECT string_agg(format(', v%s', o), '' ORDER BY o) FROM unnest(others) o));
	END IF;
	query := (SELECT format('SELECT m.* FROM (SELECT array_agg(a.success) AS success, %1$s%2$s FROM %3$s) b CROSS JOIN LATERAL (VALUES %4$s%5$s) m',
			string_agg(format('array_agg(%s) AS m%s', CASE WHEN e.i = ANY (others) THEN 'a.v' || e.i ELSE e.expression END, e.i), ', ' ORDER BY e.i),
			CASE WHEN h.known THEN ', array_agg(a.success) FILTER (WHERE h.h) AS outcomes, array_agg(a.n_steps::float8) FILTER (WHERE h.h) AS numbers, array_agg(a.distance) FILTER (WHERE h.h) AS distances, array_agg(a.excess) FILTER (WHERE h.h) AS excesses' END,
			rows || CASE WHEN h.known THEN ' CROSS JOIN LATERAL (SELECT a.success IS NOT NULL AND a.n_steps > 0) h(h)' ELSE '' END,
			string_agg(format('(3, %L::text, NULL::stepadv_internal.category_table, b.success, b.m%s, NULL::float8[], NULL::float8[])', n.name, e.i), ', ' ORDER BY e.i),
			CASE WHEN h.known THEN ', (4, NULL, NULL, b.outcomes, b.numbers, b.distances, b.excesses)' END)
		FROM unnest(source.expressions) WITH ORDINALITY e(expression, i) JOIN unnest(source.names) WITH ORDINALITY n(name, i) ON n.i = e.i
		CROSS JOIN (SELECT 'state' = ANY (stepadv_internal.available_roles(a)) AS known) h GROUP BY h.known);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.kept_shapes_of_group(stepadv_internal.attached) IS 'part of maintain: the query of what is kept of the shapes of the rollouts of a row of g, and the join for it';

CREATE FUNCTION stepadv_internal.not_kept(a stepadv_internal.attached) RETURNS stepadv_internal.attached
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	a.folded := NULL;
	RETURN a;
END
$$;
COMMENT ON FUNCTION stepadv_internal.not_kept(stepadv_internal.attached) IS 'part of maintain: an attachment as it would be if its groups were not kept';

-- ---- What the views show

-- The divisions as lists: of sums, of alias f of the kept parts, the columns of these, and
-- the query of the divisions that changed.  Where a group is kept without its divisions, all may have.
CREATE FUNCTION stepadv_internal.behaviour_lists(a stepadv_internal.attached, OUT names text, OUT of_f text, OUT f_columns text, OUT items text, OUT changed text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	l CONSTANT record := stepadv_internal.summed_lists(a);
	k_list CONSTANT text := stepadv_internal.k_columns((a).n_group_columns, 'k%1$s'::text);
	own text;
BEGIN
	names := l.names;
	SELECT string_agg(CASE WHEN d.stands THEN 'f.k' || d.key ELSE 'f.d' || d.i END, ', ' ORDER BY d.i), string_agg('d' || d.i, ', ' ORDER BY d.i) FILTER (WHERE NOT d.stands)
	INTO of_f, own FROM stepadv_internal.divisions(a) d;
	f_columns := concat_ws(', ', k_list, own, stepadv_internal.list(stepadv_internal.behaviour_columns(), '%1$s'::text, ', '::text));
	items := of_f || stepadv_internal.list(stepadv_internal.behaviour_columns(), ', f.%1$s'::text, ''::text);
	changed := l.changed;
	IF (a).summed_behaviour IS NOT NULL THEN
		changed := format('SELECT DISTINCT u.* FROM (%s UNION ALL SELECT %s FROM %s s WHERE EXISTS (SELECT FROM %s o WHERE o.n_rollouts IS NULL)) u', changed,
			stepadv_internal.list(string_to_array(names, ', '), 's.%1$s'::text, ', '::text), stepadv_internal.relation_name((a).summed_behaviour), stepadv_internal.relation_name((a).folded_over_time));
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.behaviour_lists(stepadv_internal.attached) IS 'part of attach: the divisions by which behaviour is kept, as SQL, and the query of those that changed since';

-- The shapes of rollouts r, which are s.success and s.value, of alias s.
CREATE FUNCTION stepadv_internal.shape_items() RETURNS text[]
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT ARRAY['count(s.value)', 'avg(s.value)', '(percentile_cont(''{0.5,0.95}''::float8[]) WITHIN GROUP (ORDER BY s.value))[1]', '(percentile_cont(''{0.5,0.95}''::float8[]) WITHIN GROUP (ORDER BY s.value))[2]',
		'sum(s.value) FILTER (WHERE s.success IS NOT NULL) / nullif(count(s.value) FILTER (WHERE s.success), 0)']
$$;
COMMENT ON FUNCTION stepadv_internal.shape_items() IS 'part of attach: what _shape_over_time says of many rollouts: how many, mean, median, 95th percentile, per success';

CREATE FUNCTION stepadv_internal.horizon_items() RETURNS text[]
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT '{count(*),count(*) FILTER (WHERE s.success),avg(s.n_steps)::float8,avg(s.excess) FILTER (WHERE s.success),percentile_cont(0.5::float8) WITHIN GROUP (ORDER BY s.excess) FILTER (WHERE s.success)}'::text[]
$$;
COMMENT ON FUNCTION stepadv_internal.horizon_items() IS 'part of attach: what _success_by_horizon says of many rollouts: how many, successes, mean steps, mean and median excess';

-- What the views show, of a relation r of parts with divisions d1, d2, ... (names): these, part,
-- category, name, horizon, and what there is of it as x.
CREATE FUNCTION stepadv_internal.behaviour_totals(a stepadv_internal.attached, names text, relation text, part integer) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	of_r CONSTANT text := stepadv_internal.list(string_to_array(behaviour_totals.names, ', '), 'r.%1$s'::text, ', '::text);
	of_s CONSTANT text := stepadv_internal.list(string_to_array(behaviour_totals.names, ', '), 's.%1$s'::text, ', '::text);
	width CONSTANT float8 := coalesce((stepadv_internal.view_options(a, 'success_by_horizon'::text) ->> 'width')::float8, 1);
	-- Those that are side by side, of which it is kept: to look how each is called would take a while.
	aligned CONSTANT text[] := CASE WHEN part = 2 THEN ARRAY(SELECT b.method FROM unnest((a).binned_methods) WITH ORDINALITY b(method, i)
		JOIN stepadv_internal.methods_of(a) m ON m.method = b.method AND m.ours AND 'value' <> ALL (m.requires) ORDER BY b.i) END;
BEGIN
	RETURN CASE part
		WHEN 1 THEN format('SELECT %s, 1 AS part, c.category, NULL::text AS name, NULL::float8 AS horizon, c.x FROM (SELECT %s, stepadv_internal.category_totals(r.calls) AS t FROM %s WHERE r.part = 1 GROUP BY %s) s%s',
			of_s, of_r, relation, of_r, stepadv_internal.category_rows('6'::text))
		WHEN 2 THEN format('SELECT %s, 2 AS part, c.category, m.method, NULL::float8 AS horizon, m.x FROM (SELECT %s, stepadv_internal.category_totals(r.calls) AS t FROM %s WHERE r.part = 2 AND r.name IS NULL GROUP BY %s) s%s'
				' CROSS JOIN LATERAL (SELECT u.method, c.x[u.i * 6 - 5:u.i * 6] FROM unnest(%L::text[]) WITH ORDINALITY u(method, i)) m(method, x)'
				' UNION ALL SELECT %s, 2, c.category, s.name, NULL::float8, c.x FROM (SELECT %s, r.name, stepadv_internal.category_totals(r.calls) AS t FROM %s WHERE r.part = 2 AND r.name IS NOT NULL GROUP BY %s, r.name) s%s',
			of_s, of_r, relation, of_r, stepadv_internal.category_rows((6 * cardinality(aligned))::text), aligned, of_s, of_r, relation, of_r, stepadv_internal.category_rows('6'::text))
		WHEN 3 THEN format('SELECT %s, 3 AS part, NULL::text AS category, s.name, NULL::float8 AS horizon, ARRAY[%s]::float8[] AS x FROM (SELECT %s, r.name, u.success, u.value FROM %s CROSS JOIN LATERAL unnest(r.outcomes, r.numbers) u(success, value) WHERE r.part = 3) s GROUP BY %s, s.name',
			of_s, array_to_string(stepadv_internal.shape_items(), ', '), of_r, relation, of_s)
		ELSE format('SELECT %1$s, 4 AS part, NULL::text AS category, NULL::text AS name, s.horizon, ARRAY[%2$s]::float8[] AS x FROM (SELECT %3$s, floor(u.distance / %5$L::float8) * %5$L::float8 AS horizon, u.success, u.n_steps, u.excess'
				' FROM %4$s CROSS JOIN LATERAL unnest(r.outcomes, r.numbers, r.distances, r.excesses) u(success, n_steps, distance, excess) WHERE r.part = 4) s GROUP BY %1$s, s.horizon',
			of_s, array_to_string(stepadv_internal.horizon_items(), ', '), of_r, relation, width) END;
END
$query$;
COMMENT ON FUNCTION stepadv_internal.behaviour_totals(stepadv_internal.attached, text, text, integer) IS 'part of attach: the query of what a view of behaviour shows of many groups, of what is kept of each';

-- The relation c, what a view shows: of divisions that did not change as it is kept, of others made of their
-- groups, and of the groups that wait as they are.  NULL where it is not kept.
CREATE FUNCTION stepadv_internal.kept_behaviour(a stepadv_internal.attached, made stepadv_internal.made_method[], part integer) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	n CONSTANT integer := (a).n_group_columns;
	k_list CONSTANT text := stepadv_internal.k_columns(n, 'k%1$s'::text);
	l record;
	fresh text;
	relation text;
BEGIN
	IF NOT stepadv_internal.keeps_behaviour(a) OR part = 2 AND (a).binned_methods IS DISTINCT FROM ARRAY(SELECT m.method FROM stepadv_internal.advantage_methods(made) m ORDER BY m.number) THEN
		RETURN NULL;
	END IF;
	l := stepadv_internal.behaviour_lists(a);
	fresh := stepadv_internal.behaviour_parts(a, part);
	relation := format('(%1$s UNION ALL SELECT %2$s FROM (SELECT DISTINCT w.* FROM %3$s w) w(%4$s) CROSS JOIN LATERAL (SELECT f.* FROM (%5$s) f(%6$s) WHERE %7$s OFFSET 0) f) r(%8$s)',
		stepadv_internal.of_changed_divisions(a, l.changed, l.items, format('%s f(%s)', stepadv_internal.relation_name((a).folded_behaviour), l.f_columns), l.of_f,
			format('f.part = %s AND NOT EXISTS (SELECT FROM %s w(%s) WHERE %s)', part, stepadv_internal.relation_name((a).waiting), k_list, stepadv_internal.same_group('w'::text, 'f'::text, (a).folded_behaviour, n))),
		l.items, stepadv_internal.relation_name((a).waiting), k_list, fresh, l.f_columns, stepadv_internal.same_group('f'::text, 'w'::text, (a).folded_behaviour, n),
		concat_ws(', ', l.names, array_to_string(stepadv_internal.behaviour_columns(), ', ')));
	RETURN format('(SELECT s.* FROM %s s WHERE s.part = %s AND NOT %s UNION ALL %s) c', stepadv_internal.relation_name((a).summed_behaviour), part, stepadv_internal.division_changed(a, l.changed),
		stepadv_internal.behaviour_totals(a, l.names, relation, part));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.kept_behaviour(stepadv_internal.attached, stepadv_internal.made_method[], integer) IS 'part of attach: the relation c of what a view of behaviour shows, where that is kept; NULL where it is not';

-- The divisions of it by their names.
CREATE FUNCTION stepadv_internal.kept_divisions(a stepadv_internal.attached) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT string_agg(format('c.d%s AS %I', d.i, d.name), ', ' ORDER BY d.i) FROM stepadv_internal.divisions(a) d);
END
$$;
COMMENT ON FUNCTION stepadv_internal.kept_divisions(stepadv_internal.attached) IS 'part of attach: the divisions of what is kept of behaviour, as a view shows them';

-- ---- Keeping it

CREATE FUNCTION stepadv_internal.set_kept_behaviour(attachment regclass, fresh regclass, folded regclass, summed regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format('UPDATE %s SET fresh_behaviour = $1, folded_behaviour = $2, summed_behaviour = $3', set_kept_behaviour.attachment)
		USING set_kept_behaviour.fresh, set_kept_behaviour.folded, set_kept_behaviour.summed;
END
$$;
COMMENT ON FUNCTION stepadv_internal.set_kept_behaviour(regclass, regclass, regclass, regclass) IS 'part of maintain: writes into an attachment where what is kept of behaviour is';

-- Empty.  A view that reads tables which nobody watches goes on folding; of those that are
-- watched, the triggers then look at the columns that it reads, too.
CREATE FUNCTION stepadv_internal.make_kept_behaviour(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	schema CONSTANT text := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = make_kept_behaviour.attachment);
	summed CONSTANT text := format('%I.%I', schema, (a).prefix || '_summed_behaviour');
	query CONSTANT text := stepadv_internal.behaviour_parts(stepadv_internal.not_kept(a), NULL::integer);
	made record;
	types text;
BEGIN
	IF NOT stepadv_internal.is_summed(a) OR query IS NULL OR NOT '{behaviour,behaviour_advantage,shape_over_time,success_by_horizon}' && (a).view_kinds THEN
		RETURN;
	END IF;
	made := stepadv_internal.make_kept_table(a, 'behaviour'::text, query, 'what is counted of the calls and rollouts'::text);
	IF made.folded IS NULL THEN
		RETURN;
	END IF;
	-- As of the sums over time, which have the same divisions.
	SELECT string_agg(format('s.d%1$s', d.i), ', ' ORDER BY d.i) INTO types FROM stepadv_internal.divisions(a) d;
	EXECUTE format('CREATE %sTABLE %s AS SELECT %s, 0 AS part, NULL::text AS category, NULL::text AS name, NULL::float8 AS horizon, NULL::float8[] AS x FROM %s s WITH NO DATA',
		stepadv_internal.unlogged_as(ARRAY[(a).fresh], (a).source), summed, types, stepadv_internal.relation_name((a).summed_over_time));
	EXECUTE format('COMMENT ON TABLE %s IS %L', summed, format('what the views of behaviour show of all groups of %s by division, kept by stepadv.maintain; nobody else should write to it', (a).source));
	PERFORM stepadv_internal.let_readers(summed::regclass, made.fresh);
	PERFORM stepadv_internal.set_kept_behaviour(attachment, made.fresh, made.folded, summed::regclass);
	PERFORM stepadv_internal.index_divisions(a, made.folded);
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_kept_behaviour(regclass) IS 'part of maintain: the view and the tables of what is kept of behaviour; none where no sums are kept, or where it depends on tables that are not watched';

-- Whether who computes the rest of what is kept of a group computes and writes its behaviour, too.
CREATE FUNCTION stepadv_internal.behaviour_is_part(a stepadv_internal.attached) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT (a).kept_parts IS NOT NULL AND stepadv_internal.has_column((a).kept_parts, 'stepadv_behaviour'::text) $$;
COMMENT ON FUNCTION stepadv_internal.behaviour_is_part(stepadv_internal.attached) IS 'part of maintain and refresh: whether <prefix>_kept_parts has what is kept of behaviour';

-- Where the parts of kept groups do not have it: of the rows.  Of the groups (c, with its ctid) that have none.  One that a method does not know what to do with
-- goes on waiting, where others do not.
CREATE FUNCTION stepadv_internal.fold_behaviour(a stepadv_internal.attached) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n CONSTANT integer := (a).n_group_columns;
	k_list CONSTANT text := stepadv_internal.k_columns(n, 'k%1$s'::text);
	columns CONSTANT text := (stepadv_internal.behaviour_lists(a)).f_columns;
	query CONSTANT text := stepadv_internal.behaviour_parts(a, NULL::integer);
	lacking CONSTANT text := format('%s c WHERE NOT EXISTS (SELECT FROM %s s WHERE %s)', (a).folded, (a).folded_behaviour,
		(SELECT string_agg(format('s.%I %s c.%I', o.attname, stepadv_internal.equality_operator(t.atttypid), t.attname), ' AND ' ORDER BY t.attnum)
			FROM pg_attribute t JOIN pg_attribute o ON o.attrelid = (a).folded_behaviour AND o.attnum = t.attnum WHERE t.attrelid = (a).folded AND t.attnum BETWEEN 1 AND n));
	of_c CONSTANT text := stepadv_internal.list(stepadv_internal.group_columns((a).folded, n), 'c.%1$I'::text, ', '::text);
	-- Between them, where the groups come from.
	before CONSTANT text := format('INSERT INTO %s SELECT f.* FROM (SELECT %s FROM ', (a).folded_behaviour, of_c);
	after CONSTANT text := format(') g(%s) CROSS JOIN LATERAL (SELECT f.* FROM (%s) f(%s) WHERE %s OFFSET 0) f', k_list, query, columns, stepadv_internal.same_group('f'::text, 'g'::text, (a).folded_behaviour, n));
	of_place CONSTANT text := format('%s c WHERE c.ctid = $1', (a).folded);
	n_lacking bigint;
	n_groups bigint;
	place tid;
BEGIN
	EXECUTE format('SELECT count(*) FROM %s', lacking) INTO n_lacking;
	EXECUTE format('SELECT count(*) FROM %s', (a).folded) INTO n_groups;
	BEGIN
		IF n_lacking = n_groups THEN
			EXECUTE format('INSERT INTO %s %s', (a).folded_behaviour, query);
		ELSIF n_lacking > 0 THEN
			EXECUTE before || lacking || after;
		END IF;
		RETURN;
	EXCEPTION WHEN data_exception THEN
		NULL;
	END;
	FOR place IN EXECUTE format('SELECT c.ctid FROM %s', lacking) LOOP
		BEGIN
			EXECUTE before || of_place || after USING place;
		EXCEPTION WHEN data_exception THEN
			EXECUTE format('INSERT INTO %s SELECT g.* FROM (SELECT %s FROM %s) g(%s) WHERE NOT EXISTS (SELECT FROM %s w(%s) WHERE %s)', (a).waiting, of_c, of_place, k_list,
				(a).waiting, k_list, stepadv_internal.same_group('w'::text, 'g'::text, (a).waiting, n)) USING place;
		END;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.fold_behaviour(stepadv_internal.attached) IS 'part of maintain and refresh: keeps the behaviour of groups of which none is kept; those that cannot be computed wait';

-- The parts of the groups (r) of all divisions, or of those of which no totals are kept; all totals of them.
CREATE FUNCTION stepadv_internal.all_behaviour_totals(a stepadv_internal.attached, which text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	l CONSTANT record := stepadv_internal.behaviour_lists(a);
	relation CONSTANT text := format('(SELECT %s FROM %s f(%s)%s) r(%s)', l.items, stepadv_internal.relation_name((a).folded_behaviour), l.f_columns, which,
		concat_ws(', ', l.names, array_to_string(stepadv_internal.behaviour_columns(), ', ')));
BEGIN
	RETURN (SELECT string_agg(stepadv_internal.behaviour_totals(a, l.names, relation, i), ' UNION ALL ' ORDER BY i)
		FROM generate_series(CASE WHEN stepadv_internal.call_category(a, 'b'::text) IS NULL THEN 3 ELSE 1 END, 4) i);
END
$$;
COMMENT ON FUNCTION stepadv_internal.all_behaviour_totals(stepadv_internal.attached, text) IS 'part of maintain: the query of all that the views of behaviour show, of what is kept of the groups';

-- Those of sums_statements about behaviour.  What is a part is deleted and written with the group's other parts.
CREATE FUNCTION stepadv_internal.behaviour_statements(a stepadv_internal.attached, OUT forget text[], OUT add text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	k_list CONSTANT text := stepadv_internal.k_columns((a).n_group_columns, 'k%1$s'::text);
	l record;
BEGIN
	forget := '{}';
	add := '{}';
	IF NOT stepadv_internal.keeps_behaviour(a) THEN
		RETURN;
	END IF;
	l := stepadv_internal.behaviour_lists(a);
	forget := ARRAY[format('DELETE FROM %s s WHERE %s', (a).summed_behaviour, stepadv_internal.division_changed(a, l.changed))];
	add := ARRAY[format('INSERT INTO %s %s', (a).summed_behaviour,
		stepadv_internal.all_behaviour_totals(a, ' WHERE ' || stepadv_internal.lacks_division(a, (a).summed_behaviour, l.names, l.of_f)))];
	IF NOT stepadv_internal.behaviour_is_part(a) THEN
		forget := forget || format('DELETE FROM %s f USING (SELECT DISTINCT w.* FROM %s w) w(%s) WHERE %s', (a).folded_behaviour, (a).waiting, k_list,
			(SELECT string_agg(format('f.%I %s w.k%s', t.attname, stepadv_internal.equality_operator(t.atttypid), t.attnum), ' AND ' ORDER BY t.attnum)
				FROM pg_attribute t WHERE t.attrelid = (a).folded_behaviour AND t.attnum BETWEEN 1 AND (a).n_group_columns));
		add := format('SELECT stepadv_internal.fold_behaviour(stepadv_internal.known(%L::regclass))', (a).attachment) || add;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.behaviour_statements(stepadv_internal.attached) IS 'part of maintain and refresh: the statements that delete what is kept of the behaviour of divisions that changed, and that keep it';

-- After the views were made anew: whether what is kept must be computed again.
CREATE FUNCTION stepadv_internal.renew_fresh_behaviour(a stepadv_internal.attached) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	before CONSTANT text := pg_get_viewdef((a).fresh_behaviour);
	replaced boolean;
BEGIN
	IF (a).fresh_behaviour IS NULL THEN
		RETURN false;
	END IF;
	replaced := stepadv_internal.replace_view((a).fresh_behaviour, stepadv_internal.behaviour_parts(stepadv_internal.not_kept(a), NULL::integer), '{}'::text[]);
	RETURN before <> pg_get_viewdef((a).fresh_behaviour);
END
$$;
COMMENT ON FUNCTION stepadv_internal.renew_fresh_behaviour(stepadv_internal.attached) IS 'part of upgrade_attachment: makes the view of what is kept of behaviour anew; true if it computes it in another way now';

-- Numbers of calls and rollouts are exact, and so are medians; sums depend on the order in their last digits.
CREATE FUNCTION stepadv_internal.check_behaviour(a stepadv_internal.attached) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = on
AS $$
DECLARE
	l record;
	compared CONSTANT text := 'q.part, q.category, q.name, q.horizon, CASE q.part WHEN 1 THEN q.x WHEN 2 THEN q.x[1:2] || q.x[5:6] WHEN 3 THEN q.x[1:1] || q.x[3:4] ELSE q.x[1:2] || q.x[5:5] END';
BEGIN
	IF NOT stepadv_internal.keeps_behaviour(a) THEN
		RETURN;
	END IF;
	RETURN QUERY SELECT * FROM stepadv_internal.check_kept_table(a, (a).fresh_behaviour, (a).folded_behaviour, 'behaviour differs'::text);
	l := stepadv_internal.behaviour_lists(a);
	RETURN QUERY EXECUTE format('SELECT DISTINCT NULL::jsonb, ''behaviour of '' || ROW(%1$s)::text || '' differs from that of its groups'' FROM (
		(SELECT %1$s, %2$s FROM %3$s q EXCEPT ALL SELECT %1$s, %2$s FROM (%4$s) q) UNION ALL (SELECT %1$s, %2$s FROM (%4$s) q EXCEPT ALL SELECT %1$s, %2$s FROM %3$s q)) s WHERE NOT %5$s',
		l.names, compared, (a).summed_behaviour, stepadv_internal.all_behaviour_totals(a, ''::text), stepadv_internal.division_changed(a, l.changed));
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_behaviour(stepadv_internal.attached) IS 'part of check_maintained: groups and divisions whose kept behaviour is not that of a fresh fold';

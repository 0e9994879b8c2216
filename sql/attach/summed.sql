-- Sums of what is kept: of all groups of a division of a run together, so that views
-- about all groups read a row per division.
--
-- maintain makes, and writes into the attachment:
--
--	<prefix>_summed_over_time	table: what the views over time add up, by divisions (d1, d2, ...)
--	<prefix>_summed_bins		table: the distribution of the advantages of each method, likewise
--
-- Who writes does not touch them: they are of the last refresh.  Since then the groups in
-- <prefix>_waiting changed, and where one of these is, or was (its kept bins say where),
-- the sums of that division are not believed: its groups are added up anew.

CREATE AGGREGATE stepadv_internal.merged_bins(bins bytea) (
	SFUNC = stepadv_internal.sum_of_bins_trans, STYPE = internal,
	FINALFUNC = stepadv_internal.advantage_bins_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.merged_bins(bytea) IS 'what advantage_bins counted, added up, as it writes it; NULL over no rows';

CREATE FUNCTION stepadv_internal.is_summed(a stepadv_internal.attached) RETURNS boolean
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT num_nulls((a).summed_over_time, (a).summed_bins, (a).folded_over_time, (a).folded_bins, (a).waiting) = 0
$$;
COMMENT ON FUNCTION stepadv_internal.is_summed(stepadv_internal.attached) IS 'part of attach: whether sums by division are kept';

-- The divisions as lists: of sums, of alias o over time and of alias c of the bins,
-- the columns of these two, and which divisions changed.
CREATE FUNCTION stepadv_internal.summed_lists(a stepadv_internal.attached, OUT names text, OUT of_o text, OUT of_c text, OUT o_columns text, OUT c_columns text, OUT rest text[], OUT changed text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n CONSTANT integer := (a).n_group_columns;
	k_list CONSTANT text := (SELECT string_agg('k' || i, ', ' ORDER BY i) FROM generate_series(1, n) i);
	own text;
	n_own integer;
BEGIN
	SELECT string_agg('d' || d.i, ', ' ORDER BY d.i), string_agg(CASE WHEN d.stands THEN 'o.k' || d.key ELSE 'o.d' || d.i END, ', ' ORDER BY d.i),
		string_agg(CASE WHEN d.stands THEN 'c.k' || d.key ELSE 'c.d' || d.i END, ', ' ORDER BY d.i),
		string_agg('d' || d.i, ', ' ORDER BY d.i) FILTER (WHERE NOT d.stands), count(*) FILTER (WHERE NOT d.stands)
	INTO names, of_o, of_c, own, n_own FROM stepadv_internal.divisions(a) d;
	rest := ARRAY(SELECT t.attname::text FROM pg_attribute t WHERE t.attrelid = (a).folded_over_time AND t.attnum > n + n_own AND NOT t.attisdropped ORDER BY t.attnum);
	o_columns := concat_ws(', ', k_list, own, stepadv_internal.list(rest, '%1$I'::text, ', '::text));
	c_columns := concat_ws(', ', k_list, own, (SELECT string_agg('m' || i, ', ' ORDER BY i) FROM generate_series(1, cardinality((a).binned_methods)) i));
	-- By the index (OFFSET 0): of a list of groups the planner does not know that it is one of few.
	changed := format('SELECT DISTINCT u.* FROM (SELECT DISTINCT %1$s FROM %2$s w(%1$s)) w CROSS JOIN LATERAL (SELECT %3$s FROM %4$s c(%5$s) WHERE %6$s UNION ALL SELECT %7$s FROM %8$s o(%9$s) WHERE %10$s OFFSET 0) u',
		k_list, stepadv_internal.relation_name((a).waiting), of_c, stepadv_internal.relation_name((a).folded_bins), c_columns, stepadv_internal.same_group('c'::text, 'w'::text, (a).folded_bins, n),
		of_o, stepadv_internal.relation_name((a).folded_over_time), o_columns, stepadv_internal.same_group('o'::text, 'w'::text, (a).folded_over_time, n));
END
$$;
COMMENT ON FUNCTION stepadv_internal.summed_lists(stepadv_internal.attached) IS 'part of attach: the divisions by which sums are kept, as SQL, and the query of those that changed since';

-- Whether two relations have the same divisions: as lists, by the equality of each type.
-- Those of which nothing is known are NULL everywhere.  nulls: two NULLs are the same.
CREATE FUNCTION stepadv_internal.same_divisions(a stepadv_internal.attached, one text, other text, nulls boolean) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT string_agg(format(CASE WHEN same_divisions.nulls THEN '(%1$s %2$s %3$s OR %1$s IS NULL AND %3$s IS NULL) IS TRUE' ELSE '%1$s %2$s %3$s' END,
			o.one, stepadv_internal.equality_operator(stepadv_internal.column_type((a).folded_over_time, CASE WHEN d.stands THEN (stepadv_internal.group_columns((a).folded_over_time, (a).n_group_columns))[d.key] ELSE d.name END)), o.other), ' AND ' ORDER BY d.i)
		FROM stepadv_internal.divisions(a) d
		JOIN unnest(string_to_array(same_divisions.one, ', '), string_to_array(same_divisions.other, ', ')) WITH ORDINALITY o(one, other, i) ON o.i = d.i
		WHERE d.view IS NOT NULL);
END
$$;
COMMENT ON FUNCTION stepadv_internal.same_divisions(stepadv_internal.attached, text, text, boolean) IS 'part of attach: the condition that two relations have the same divisions';

-- Whether rows of kept groups are found by an index of 73-kept-sums.sql for whoever may read them: the policy of such a
-- table lets no operator before itself that is not known to keep what it sees, as those of the server's own types do.
CREATE FUNCTION stepadv_internal.finds_divisions(a stepadv_internal.attached) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(bool_or(y.own AND (y.short OR d.stands)) OR bool_or(y.own) AND NOT bool_or(y.short OR d.stands), false)
	FROM stepadv_internal.divisions(a) d
	JOIN LATERAL (SELECT t.typlen > 0 AS short, t.typnamespace = 'pg_catalog'::regnamespace AND (t.typlen > 0 OR t.typcategory = 'S') AS own FROM pg_type t
		WHERE t.oid = stepadv_internal.column_type((a).folded_over_time,
			CASE WHEN d.stands THEN (stepadv_internal.group_columns((a).folded_over_time, (a).n_group_columns))[d.key] ELSE d.name END)) y ON true
	WHERE d.view IS NOT NULL AND NOT stepadv_internal.is_distributed(ARRAY[(a).rows])
$$;
COMMENT ON FUNCTION stepadv_internal.finds_divisions(stepadv_internal.attached) IS 'part of attach: whether kept groups of a division are found by an index, whoever asks';

-- Rows of a relation (its name and columns, with the alias) whose division changed.  Mostly none
-- waits: then nothing is looked for.  changed: the query of the divisions that did.  Where all divisions are known they are found one division
-- after the other by an index (OFFSET 0: the planner does not know that few changed), or by a hash; others one by one.
CREATE FUNCTION stepadv_internal.of_changed_divisions(a stepadv_internal.attached, changed text, items text, relation text, divisions text, condition text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	l CONSTANT record := stepadv_internal.summed_lists(a);
	of_w CONSTANT text := stepadv_internal.list(string_to_array(l.names, ', '), 'w.%1$s'::text, ', '::text);
	waits CONSTANT text := format('EXISTS (SELECT FROM %s)', stepadv_internal.relation_name((a).waiting));
	unknown CONSTANT text := (SELECT string_agg(o.o || ' IS NULL', ' OR ' ORDER BY o.i) FROM unnest(string_to_array(divisions, ', ')) WITH ORDINALITY o(o, i) JOIN stepadv_internal.divisions(a) d ON d.i = o.i WHERE d.view IS NOT NULL);
BEGIN
	RETURN format(CASE WHEN stepadv_internal.finds_divisions(a) THEN 'SELECT %1$s FROM (SELECT DISTINCT u.* FROM (%5$s) u) w(%6$s) CROSS JOIN LATERAL (SELECT %10$s.* FROM %2$s WHERE %4$s AND %7$s OFFSET 0) %10$s'
			ELSE 'SELECT %1$s FROM %2$s WHERE %3$s AND %4$s AND EXISTS (SELECT FROM (%5$s) w(%6$s) WHERE %7$s)' END
		|| ' UNION ALL SELECT %1$s FROM %2$s WHERE %3$s AND %4$s AND (%8$s) AND EXISTS (SELECT FROM (%5$s OFFSET 0) w(%6$s) WHERE %9$s)',
		items, relation, waits, condition, changed, l.names, stepadv_internal.same_divisions(a, of_w, divisions, false), unknown, stepadv_internal.same_divisions(a, of_w, divisions, true),
		split_part(divisions, '.', 1));
END
$$;
COMMENT ON FUNCTION stepadv_internal.of_changed_divisions(stepadv_internal.attached, text, text, text, text, text) IS 'part of attach: the query of the rows of kept groups whose division changed since sums were kept';

-- That the division of a row of alias s, of kept sums, did.
CREATE FUNCTION stepadv_internal.division_changed(a stepadv_internal.attached, changed text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	l CONSTANT record := stepadv_internal.summed_lists(a);
BEGIN
	RETURN format('EXISTS (SELECT FROM (%s OFFSET 0) w(%s) WHERE %s)', changed, l.names, stepadv_internal.same_divisions(a,
		stepadv_internal.list(string_to_array(l.names, ', '), 'w.%1$s'::text, ', '::text), stepadv_internal.list(string_to_array(l.names, ', '), 's.%1$s'::text, ', '::text), true));
END
$$;
COMMENT ON FUNCTION stepadv_internal.division_changed(stepadv_internal.attached, text) IS 'part of attach: the condition that the division of kept sums changed since';

-- What is summed of a row of alias o, which is a group and divisions; or of many.
CREATE FUNCTION stepadv_internal.summed_items(a stepadv_internal.attached, rest text[], of_many boolean) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN of_many THEN 'count(*) AS n_groups, count(*) FILTER (WHERE o.n_judged > 0) AS n_judged_groups, count(*) FILTER (WHERE NOT o.uniform) AS n_informative_groups'
		ELSE '1::bigint AS n_groups, (o.n_judged > 0)::integer::bigint AS n_judged_groups, (NOT o.uniform)::integer::bigint AS n_informative_groups' END
		|| string_agg(format(CASE WHEN NOT of_many AND t.atttypid = 'integer'::regtype THEN ', o.%1$I::bigint AS %1$I' WHEN NOT of_many THEN ', o.%1$I'
			WHEN r.name LIKE '%\_least' THEN ', min(o.%1$I) AS %1$I' WHEN r.name LIKE '%\_greatest' THEN ', max(o.%1$I) AS %1$I' ELSE ', sum(o.%1$I) AS %1$I' END, r.name), '' ORDER BY r.i)
	FROM unnest(rest) WITH ORDINALITY r(name, i) JOIN pg_attribute t ON t.attrelid = (a).folded_over_time AND t.attname = r.name WHERE r.name <> 'uniform'
$$;
COMMENT ON FUNCTION stepadv_internal.summed_items(stepadv_internal.attached, text[], boolean) IS 'part of attach: what is summed of rows of what the views over time add up';

-- The query of the sums: a row per division, or several that together are it.  asked:
-- rows that are not kept, as groups_divided has them; NULL: none of these.
CREATE FUNCTION stepadv_internal.summed_query(a stepadv_internal.attached, asked text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	l CONSTANT record := stepadv_internal.summed_lists(a);
BEGIN
	RETURN format('SELECT s.* FROM %1$s s WHERE NOT %2$s UNION ALL SELECT %3$s, %4$s FROM (%5$s) o(%6$s)', stepadv_internal.relation_name((a).summed_over_time),
		stepadv_internal.division_changed(a, l.changed), l.of_o, stepadv_internal.summed_items(a, l.rest, false),
		concat_ws(' UNION ALL ', stepadv_internal.of_changed_divisions(a, l.changed, 'o.*'::text, format('%s o(%s)', stepadv_internal.relation_name((a).folded_over_time), l.o_columns), l.of_o, 'o.n_rollouts IS NOT NULL'::text), asked),
		l.o_columns);
END
$$;
COMMENT ON FUNCTION stepadv_internal.summed_query(stepadv_internal.attached, text) IS 'part of attach: the query of what the views over time add up, summed by division as far as that is kept';

-- The same of the bins: a branch per method, as advantage_histogram has them, each with
-- UNION ALL after it.  Groups that wait are not in them: they are computed.
CREATE FUNCTION stepadv_internal.summed_bins_branches(a stepadv_internal.attached) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	l CONSTANT record := stepadv_internal.summed_lists(a);
	k_list CONSTANT text := (SELECT string_agg('k' || i, ', ' ORDER BY i) FROM generate_series(1, (a).n_group_columns) i);
	named text;
	named_of_c text;
BEGIN
	SELECT string_agg(format('s.d%s AS %I', d.i, d.name), ', ' ORDER BY d.i), string_agg(format('%s AS %I', CASE WHEN d.stands THEN 'c.k' || d.key ELSE 'c.d' || d.i END, d.name), ', ' ORDER BY d.i)
	INTO named, named_of_c FROM stepadv_internal.divisions(a) d;
	RETURN (
		SELECT string_agg(format('SELECT %1$s, %2$L::text AS method, s.m%3$s AS bins FROM %4$s s WHERE NOT %5$s UNION ALL %6$s UNION ALL ',
			named, m.method, m.i, stepadv_internal.relation_name((a).summed_bins), stepadv_internal.division_changed(a, l.changed),
			stepadv_internal.of_changed_divisions(a, l.changed, format('%1$s, %2$L::text AS method, c.m%3$s AS bins', named_of_c, m.method, m.i), format('%s c(%s)', stepadv_internal.relation_name((a).folded_bins), l.c_columns), l.of_c,
				format('NOT EXISTS (SELECT FROM %s w(%s) WHERE %s)', stepadv_internal.relation_name((a).waiting), k_list, stepadv_internal.same_group('w'::text, 'c'::text, (a).folded_bins, (a).n_group_columns)))), '' ORDER BY m.i)
		FROM unnest((a).binned_methods) WITH ORDINALITY m(method, i));
END
$$;
COMMENT ON FUNCTION stepadv_internal.summed_bins_branches(stepadv_internal.attached) IS 'part of attach: the branches of the view _advantage_histogram that read what is kept, summed by division';

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
	changed := format('SELECT ROW(%1$s)::text FROM %2$s w(%3$s) JOIN %4$s c(%5$s) ON %6$s UNION SELECT ROW(%7$s)::text FROM %2$s w(%3$s) JOIN %8$s o(%9$s) ON %10$s',
		of_c, stepadv_internal.relation_name((a).waiting), k_list, stepadv_internal.relation_name((a).folded_bins), c_columns, stepadv_internal.same_group('w'::text, 'c'::text, (a).folded_bins, n),
		of_o, stepadv_internal.relation_name((a).folded_over_time), o_columns, stepadv_internal.same_group('w'::text, 'o'::text, (a).folded_over_time, n));
END
$$;
COMMENT ON FUNCTION stepadv_internal.summed_lists(stepadv_internal.attached) IS 'part of attach: the divisions by which sums are kept, as SQL, and the query of those that changed since';

-- Whether a row of alias s is of a division that did not change, or did.  Mostly none
-- waits: then nothing is looked for.
CREATE FUNCTION stepadv_internal.division_changed(a stepadv_internal.attached, divisions text, changed text, it_is boolean) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format(CASE WHEN it_is THEN 'EXISTS (SELECT FROM %1$s) AND ROW(%2$s)::text IN (%3$s)' ELSE '(NOT EXISTS (SELECT FROM %1$s) OR ROW(%2$s)::text NOT IN (%3$s))' END,
		stepadv_internal.relation_name((a).waiting), divisions, changed)
$$;
COMMENT ON FUNCTION stepadv_internal.division_changed(stepadv_internal.attached, text, text, boolean) IS 'part of attach: the condition that the division of a row changed since sums were kept, or did not';

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
	RETURN format('SELECT s.* FROM %1$s s WHERE %2$s UNION ALL SELECT %3$s, %4$s FROM (%5$s) o(%6$s)', stepadv_internal.relation_name((a).summed_over_time),
		stepadv_internal.division_changed(a, stepadv_internal.list(string_to_array(l.names, ', '), 's.%1$s'::text, ', '::text), l.changed, false), l.of_o, stepadv_internal.summed_items(a, l.rest, false),
		concat_ws(' UNION ALL ', format('SELECT o.* FROM %s o(%s) WHERE o.n_rollouts IS NOT NULL AND %s', stepadv_internal.relation_name((a).folded_over_time), l.o_columns,
			stepadv_internal.division_changed(a, l.of_o, l.changed, true)), asked), l.o_columns);
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
	of_s CONSTANT text := stepadv_internal.list(string_to_array(l.names, ', '), 's.%1$s'::text, ', '::text);
	named text;
	named_of_c text;
BEGIN
	SELECT string_agg(format('s.d%s AS %I', d.i, d.name), ', ' ORDER BY d.i), string_agg(format('%s AS %I', CASE WHEN d.stands THEN 'c.k' || d.key ELSE 'c.d' || d.i END, d.name), ', ' ORDER BY d.i)
	INTO named, named_of_c FROM stepadv_internal.divisions(a) d;
	RETURN (
		SELECT string_agg(format('SELECT %1$s, %2$L::text AS method, s.m%3$s AS bins FROM %4$s s WHERE %5$s UNION ALL SELECT %6$s, %2$L::text AS method, c.m%3$s AS bins FROM %7$s c(%8$s) WHERE %9$s AND NOT EXISTS (SELECT FROM %10$s w(%11$s) WHERE %12$s) UNION ALL ',
			named, m.method, m.i, stepadv_internal.relation_name((a).summed_bins), stepadv_internal.division_changed(a, of_s, l.changed, false),
			named_of_c, stepadv_internal.relation_name((a).folded_bins), l.c_columns, stepadv_internal.division_changed(a, l.of_c, l.changed, true),
			stepadv_internal.relation_name((a).waiting), k_list, stepadv_internal.same_group('w'::text, 'c'::text, (a).folded_bins, (a).n_group_columns)), '' ORDER BY m.i)
		FROM unnest((a).binned_methods) WITH ORDINALITY m(method, i));
END
$$;
COMMENT ON FUNCTION stepadv_internal.summed_bins_branches(stepadv_internal.attached) IS 'part of attach: the branches of the view _advantage_histogram that read what is kept, summed by division';

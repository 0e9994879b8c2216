-- Keeping the sums of 67-summed.sql: made empty by maintain, filled whenever all is
-- folded, and by refresh where a group changed.  src/upkeep/parts.c calls for it: it asks once
-- for the statements, which take longer to write than to run.

-- While groups wait, readers add up the others of their divisions, and those of which a
-- division is not known: few, which are not looked for among all.  An entry of a btree has no
-- more than 2.7 kB, and nobody's insert shall fail for it: of columns whose values may be
-- longer only those of the group are in it, which have such a limit by the key of the
-- groups; where there is no other, one of them is found by its hash.
CREATE FUNCTION stepadv_internal.index_divisions(a stepadv_internal.attached, folded regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text[] := stepadv_internal.group_columns(folded, (a).n_group_columns);
	columns text;
	unknown text;
BEGIN
	SELECT coalesce('btree (' || string_agg(quote_ident(c.name), ', ' ORDER BY d.i) FILTER (WHERE y.typlen > 0 OR d.stands) || ')',
			'hash (' || (array_agg(quote_ident(c.name) ORDER BY d.i) FILTER (WHERE y.typcategory = 'S'))[1] || ')'),
		string_agg(format('%I IS NULL', c.name), ' OR ' ORDER BY d.i)
	INTO columns, unknown FROM stepadv_internal.divisions(a) d
	CROSS JOIN LATERAL (SELECT CASE WHEN d.stands THEN keys[d.key] ELSE d.name END AS name) c
	JOIN pg_type y ON y.oid = stepadv_internal.column_type(folded, c.name)
	WHERE d.view IS NOT NULL;
	IF unknown IS NULL THEN
		RETURN;
	END IF;
	IF columns IS NOT NULL THEN
		BEGIN
			EXECUTE format('CREATE INDEX ON %s USING %s', folded, columns);
		EXCEPTION WHEN undefined_object THEN
			-- Of a type without an order; readers look for them among all.
			NULL;
		END;
	END IF;
	EXECUTE format('CREATE INDEX ON %s (%I) WHERE %s', folded, keys[1], unknown);
END
$$;
COMMENT ON FUNCTION stepadv_internal.index_divisions(stepadv_internal.attached, regclass) IS 'part of maintain: the indexes by which the groups of a division are found in a table of what is kept of groups';

CREATE FUNCTION stepadv_internal.make_kept_sums(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a stepadv_internal.attached := stepadv_internal.known(attachment);
	schema CONSTANT text := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = make_kept_sums.attachment);
	made regclass[] := '{}';
	name text;
	item record;
BEGIN
	IF num_nulls((a).folded_over_time, (a).folded_bins, (a).waiting) > 0 THEN
		RETURN;
	END IF;
	FOR item IN SELECT * FROM stepadv_internal.kept_sums_queries(a) q ORDER BY q.i LOOP
		name := format('%I.%I', schema, format('%s_%s', (a).prefix, item.suffix));
		EXECUTE format('CREATE %sTABLE %s AS SELECT q.* FROM (%s) q WITH NO DATA', stepadv_internal.unlogged_as(ARRAY[(a).fresh], (a).source), name, item.query);
		EXECUTE format('COMMENT ON TABLE %s IS %L', name, format('sums of all groups of %s by division, kept by stepadv.maintain; nobody else should write to it', (a).source));
		PERFORM stepadv_internal.let_readers(name::regclass, (a).fresh_over_time);
		made := made || name::regclass;
	END LOOP;
	EXECUTE format('UPDATE %s SET summed_over_time = $1, summed_bins = $2', make_kept_sums.attachment) USING made[1], made[2];
	PERFORM stepadv_internal.index_divisions(a, t) FROM unnest(ARRAY[(a).folded_over_time, (a).folded_bins]) t;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_kept_sums(regclass) IS 'part of maintain: the tables of sums by division; none where no distributions are kept';

-- That kept sums have no division of a row whose divisions are these expressions.  Where all are
-- known, which is one look into a hash; others one by one.
CREATE FUNCTION stepadv_internal.lacks_division(a stepadv_internal.attached, summed regclass, names text, divisions text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	of_s CONSTANT text := stepadv_internal.list(string_to_array(names, ', '), 's.%1$s'::text, ', '::text);
	known CONSTANT text := (SELECT string_agg(o.o || ' IS NOT NULL', ' AND ' ORDER BY o.i) FROM unnest(string_to_array(divisions, ', ')) WITH ORDINALITY o(o, i) JOIN stepadv_internal.divisions(a) d ON d.i = o.i WHERE d.view IS NOT NULL);
BEGIN
	RETURN format('NOT EXISTS (SELECT FROM %1$s s WHERE %2$s) AND ((%3$s) OR NOT EXISTS (SELECT FROM %1$s s WHERE %4$s))', stepadv_internal.relation_name(summed),
		stepadv_internal.same_divisions(a, of_s, divisions, false), known, stepadv_internal.same_divisions(a, of_s, divisions, true));
END
$$;
COMMENT ON FUNCTION stepadv_internal.lacks_division(stepadv_internal.attached, regclass, text, text) IS 'part of maintain and refresh: the condition that sums by division have none of a row''s';

-- The sums of all that is kept; where they are kept themselves: of those divisions that have none.
CREATE FUNCTION stepadv_internal.kept_sums_queries(a stepadv_internal.attached) RETURNS TABLE (i integer, suffix text, summed regclass, query text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	l CONSTANT record := stepadv_internal.summed_lists(a);
BEGIN
	RETURN QUERY SELECT 1, 'summed_over_time', (a).summed_over_time, format('SELECT %s, %s FROM %s o(%s) WHERE o.n_rollouts IS NOT NULL%s GROUP BY %s',
		r.shown, stepadv_internal.summed_items(a, l.rest, true), stepadv_internal.relation_name((a).folded_over_time), l.o_columns,
		' AND ' || CASE WHEN (a).summed_over_time IS NOT NULL THEN stepadv_internal.lacks_division(a, (a).summed_over_time, l.names, l.of_o) END, l.of_o)
	FROM (SELECT string_agg(format('%s AS %s', e.expression, e.name), ', ' ORDER BY e.i) FROM unnest(string_to_array(l.of_o, ', '), string_to_array(l.names, ', ')) WITH ORDINALITY e(expression, name, i)) r(shown);
	RETURN QUERY SELECT 2, 'summed_bins', (a).summed_bins, format('SELECT %s, %s FROM %s c(%s)%s GROUP BY %s',
		r.shown, (SELECT string_agg(format('stepadv_internal.merged_bins(c.m%1$s) AS m%1$s', m), ', ' ORDER BY m) FROM generate_series(1, cardinality((a).binned_methods)) m),
		stepadv_internal.relation_name((a).folded_bins), l.c_columns,
		' WHERE ' || CASE WHEN (a).summed_bins IS NOT NULL THEN stepadv_internal.lacks_division(a, (a).summed_bins, l.names, l.of_c) END, l.of_c)
	FROM (SELECT string_agg(format('%s AS %s', e.expression, e.name), ', ' ORDER BY e.i) FROM unnest(string_to_array(l.of_c, ', '), string_to_array(l.names, ', ')) WITH ORDINALITY e(expression, name, i)) r(shown);
END
$$;
COMMENT ON FUNCTION stepadv_internal.kept_sums_queries(stepadv_internal.attached) IS 'part of maintain: the queries of the sums by division, of what is kept of the groups';

-- Before what is kept of groups that wait is kept anew: forget, all sums of their divisions; and
-- after it: add, the sums of divisions that have none.
CREATE FUNCTION stepadv_internal.sums_statements(attachment regclass, OUT forget text[], OUT add text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	behaviour record;
	changed text;
BEGIN
	IF NOT stepadv_internal.is_summed(a) THEN
		RETURN;
	END IF;
	behaviour := stepadv_internal.behaviour_statements(a);
	changed := stepadv_internal.division_changed(a, (stepadv_internal.summed_lists(a)).changed);
	forget := behaviour.forget || format('DELETE FROM %s s WHERE %s', (a).summed_over_time, changed) || format('DELETE FROM %s s WHERE %s', (a).summed_bins, changed);
	add := ARRAY(SELECT format('INSERT INTO %s %s', q.summed, q.query) FROM stepadv_internal.kept_sums_queries(a) q ORDER BY q.i) || behaviour.add;
END
$$;
COMMENT ON FUNCTION stepadv_internal.sums_statements(regclass) IS 'part of maintain and refresh: the statements that delete the sums of divisions that changed, and that add those of divisions that have none; NULL where no sums are kept';

CREATE FUNCTION stepadv_internal.forget_all_sums(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	item regclass;
BEGIN
	FOREACH item IN ARRAY ARRAY[(a).summed_over_time, (a).summed_bins, (a).summed_behaviour, (a).folded_behaviour] LOOP
		CONTINUE WHEN item IS NULL;
		EXECUTE format('DELETE FROM %s', item);
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.forget_all_sums(regclass) IS 'part of maintain and refresh: deletes all sums by division, and what is kept of behaviour';

-- Numbers of rows are exact; other sums depend on the order, in their last digits.
CREATE FUNCTION stepadv_internal.check_sums(attachment regclass) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = on
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	not_summed stepadv_internal.attached := a;
	l record;
	item record;
	compared text;
BEGIN
	IF NOT stepadv_internal.is_summed(a) THEN
		RETURN;
	END IF;
	l := stepadv_internal.summed_lists(a);
	not_summed.summed_over_time := NULL;
	not_summed.summed_bins := NULL;
	FOR item IN SELECT q.query, CASE q.i WHEN 1 THEN (a).summed_over_time ELSE (a).summed_bins END AS summed FROM stepadv_internal.kept_sums_queries(not_summed) q LOOP
		SELECT string_agg(format('q.%I', t.attname), ', ' ORDER BY t.attnum) INTO compared
		FROM pg_attribute t WHERE t.attrelid = item.summed AND t.attnum > 0 AND t.atttypid IN ('bigint'::regtype, 'bytea'::regtype) AND t.attname <> ALL (string_to_array(l.names, ', '));
		RETURN QUERY EXECUTE format('SELECT DISTINCT NULL::jsonb, ''sums of '' || ROW(%1$s)::text || '' differ from those of its groups'' FROM (
			(SELECT %1$s, %2$s FROM %3$s q EXCEPT ALL SELECT %1$s, %2$s FROM (%4$s) q) UNION ALL (SELECT %1$s, %2$s FROM (%4$s) q EXCEPT ALL SELECT %1$s, %2$s FROM %3$s q)) s
			WHERE NOT %5$s', l.names, compared, item.summed, item.query, stepadv_internal.division_changed(a, l.changed));
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_sums(regclass) IS 'part of check_maintained: divisions whose kept sums are not those of their groups';

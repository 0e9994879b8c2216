-- check_maintained: whether what is kept is what the rows give.

-- Changes that are not seen, and what has become of the tables below.
CREATE FUNCTION stepadv_internal.check_tables(a stepadv_internal.attached) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY WITH watched AS (
		SELECT w.relation, bool_or(w.relation = w.base) AS is_read
		FROM stepadv_internal.watched_tables(ARRAY[(a).fresh, (a).fresh_digests], (a).n_group_columns) w
		GROUP BY w.relation
	)
	SELECT format('changes of %s are not seen: %s', w.relation, CASE WHEN count(t.relation) < 4
		THEN 'it lacks triggers' ELSE 'triggers are disabled' END)
	FROM watched w LEFT JOIN stepadv_internal.kept_triggers((a).attachment) t ON t.relation = w.relation
	WHERE (a).seen IS NULL AND (a).kept <> 'watermark'
	GROUP BY w.relation HAVING count(t.relation) < 4 OR bool_or(t.is_disabled)
	UNION ALL
	SELECT u.problem FROM stepadv_internal.check_unseen(a) u(problem)
	UNION ALL
	SELECT p.problem
	FROM watched w CROSS JOIN LATERAL (SELECT * FROM pg_class r WHERE r.oid = w.relation OFFSET 0) c
	CROSS JOIN LATERAL (VALUES
		(c.relrowsecurity, format('groups of %s are kept for all of its rows: it has row-level security now',
			w.relation)),
		(c.relowner <> (a).owner AND (a).kept <> 'watermark',
			format('groups of %s are kept by %s: its owner is another now', w.relation, (a).owner::regrole))) p(is_so,
			problem)
	WHERE w.is_read AND p.is_so
	UNION ALL
	SELECT 'the table of groups is gone' WHERE (a).folded IS NULL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_tables(stepadv_internal.attached) IS
'part of check_maintained and maintained: what is wrong with the tables below';

CREATE FUNCTION stepadv_internal.waits(changed regclass, n_keys integer, one_group text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('EXISTS (SELECT FROM %1$s w(%2$s) JOIN (SELECT %3$s) o(%2$s) ON w.k1 IS NOT DISTINCT FROM NULL OR '
		'%4$s)', waits.changed,
		stepadv_internal.k_columns(waits.n_keys, 'k%1$s'::text), waits.one_group,
			stepadv_internal.same_group('w'::text, 'o'::text, waits.changed, waits.n_keys))
	WHERE waits.changed IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.waits(regclass, integer, text) IS
'part of check_maintained: the condition that a group, given as a list, waits to be folded; NULL where none does';

-- In one snapshot.  What came through a dump has other bytes, perhaps, but its
-- text is the same.  What waits for a refresh is as it should be.
CREATE FUNCTION stepadv_internal.check_groups(attachment regclass) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a stepadv_internal.attached;
BEGIN
	SELECT * INTO STRICT a FROM stepadv_internal.attachments(NULL::oid, NULL::regclass) s
		WHERE s.attachment = check_groups.attachment;
	IF a.folded IS NULL OR a.fresh IS NULL THEN
		RETURN;
	ELSIF stepadv_internal.is_on_shards(a) THEN
		RETURN QUERY SELECT * FROM stepadv_internal.check_shards_of(a);
		RETURN;
	END IF;
	RETURN QUERY EXECUTE format(
		'SELECT jsonb_build_object(%1$s),
			CASE WHEN c.value IS NULL THEN ''is missing'' WHEN f.value IS NULL THEN ''has no rows''
				ELSE ''differs from a fresh fold'' END
		FROM %2$s f(%4$s, value) FULL JOIN %3$s c(%4$s, value) ON %5$s
		WHERE record_image_ne(ROW(f.value), ROW(c.value))%6$s',
		stepadv_internal.list(stepadv_internal.group_columns(a.fresh, a.n_group_columns),
			'%1$L, coalesce(f.k%2$s, c.k%2$s)'::text, ', '::text), a.fresh, a.folded,
		stepadv_internal.k_columns(a.n_group_columns, 'k%1$s'::text), stepadv_internal.same_group('f'::text, 'c'::text,
			a.folded, a.n_group_columns),
		' AND NOT ' || stepadv_internal.waits(a.changed, a.n_group_columns,
			stepadv_internal.k_columns(a.n_group_columns, 'coalesce(f.k%1$s, c.k%1$s)'::text)));
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_groups(regclass) IS
'part of check_maintained: groups that are not those of a fresh fold';

-- That a row f of a relation is of the group g (k1, k2, …).
CREATE FUNCTION stepadv_internal.group_is(relation regclass, n_keys integer) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format('f.%I %s g.k%s', c.attname, stepadv_internal.equality_operator(c.atttypid), c.attnum),
		' AND ' ORDER BY c.attnum)
	FROM pg_attribute c WHERE c.attrelid = group_is.relation AND c.attnum BETWEEN 1 AND group_is.n_keys
$$;
COMMENT ON FUNCTION stepadv_internal.group_is(regclass, integer) IS
'part of check_maintained: the condition that a row f of a relation is of a group g';

-- Groups of which the digest is made when it is read are not compared: nothing is kept of them
-- that could be wrong, and to look would be an error.  So it may be of those that wait.
CREATE FUNCTION stepadv_internal.check_digests(attachment regclass) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	n CONSTANT integer := (a).n_group_columns;
	keys CONSTANT text := stepadv_internal.k_columns(n, 'k%1$s'::text);
	digest CONSTANT text := stepadv_internal.digest_column(a);
	items text;
BEGIN
	IF (a).folded IS NULL OR (a).digests IS NULL OR (a).fresh_digests IS NULL THEN
		RETURN;
	END IF;
	SELECT string_agg(format(CASE WHEN c.attname = digest THEN 'x.%I::text' ELSE 'x.%I' END, c.attname), ', '
		ORDER BY c.attnum) INTO items
	FROM pg_attribute c WHERE c.attrelid = (a).digests AND c.attnum > 0 AND NOT c.attisdropped;
	RETURN QUERY EXECUTE format(
		'WITH g AS MATERIALIZED (SELECT %2$s FROM (SELECT %2$s FROM %1$s a(%2$s) UNION SELECT %2$s FROM %3$s
			b(%2$s)) g WHERE NOT EXISTS (SELECT FROM %3$s c(%2$s) WHERE c.%4$I IS NULL AND %5$s) AND NOT %6$s),
		f AS MATERIALIZED (SELECT %7$s FROM g CROSS JOIN LATERAL (SELECT f.* FROM %8$s f WHERE %9$s OFFSET 0) x),
		c AS MATERIALIZED (SELECT %7$s FROM g CROSS JOIN LATERAL (SELECT f.* FROM %3$s f WHERE %10$s OFFSET 0) x)
		SELECT jsonb_build_object(%11$s), ''digest differs from a fresh one''
		FROM (SELECT DISTINCT %2$s FROM ((TABLE f EXCEPT ALL TABLE c) UNION ALL (TABLE c EXCEPT ALL TABLE f))
			d(%2$s)) g',
		(a).folded, keys, (a).digests, digest, stepadv_internal.same_group('c'::text, 'g'::text, (a).folded, n),
		coalesce(stepadv_internal.waits((a).changed, n, stepadv_internal.k_columns(n, 'g.k%1$s'::text)), 'false'),
			items, (a).fresh_digests,
		stepadv_internal.group_is((a).fresh_digests, n), stepadv_internal.group_is((a).digests, n),
		stepadv_internal.list(stepadv_internal.group_columns((a).fresh, n), '%1$L, g.k%2$s'::text, ', '::text));
EXCEPTION WHEN data_exception THEN
	RETURN QUERY SELECT NULL::jsonb, format('digests cannot be compared: %s', SQLERRM);
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_digests(regclass) IS
'part of check_maintained: groups whose kept digests are not those of a fresh fold';

CREATE FUNCTION stepadv_internal.check_everything(attachment regclass) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	others jsonb[] := '{}';
BEGIN
	RETURN QUERY SELECT NULL::jsonb, p.problem
		FROM stepadv_internal.check_tables(stepadv_internal.known(check_everything.attachment)) p(problem);
	FOR "group", problem IN SELECT * FROM stepadv_internal.check_groups(check_everything.attachment) LOOP
		others := others || "group";
		RETURN NEXT;
	END LOOP;
	-- Of another group than is kept, everything differs.
	RETURN QUERY SELECT c.* FROM stepadv_internal.check_digests(check_everything.attachment) c
		WHERE (c."group" = ANY (others)) IS NOT TRUE;
EXCEPTION WHEN insufficient_privilege THEN
	RETURN QUERY SELECT NULL::jsonb, p.problem
		FROM stepadv_internal.check_tables(stepadv_internal.known(check_everything.attachment)) p(problem);
	RETURN QUERY SELECT NULL::jsonb, format('groups cannot be compared: %s', SQLERRM);
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_everything(regclass) IS
'part of check_maintained: all that differs from what it should be';

-- Where no triggers tell what changed, what refresh will find is as it should be, too.
CREATE FUNCTION stepadv_internal.check_kept_as_owner(attachment regclass) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	to_find jsonb := '{}';
BEGIN
	BEGIN
		to_find := stepadv_internal.still_to_find(check_kept_as_owner.attachment);
	EXCEPTION WHEN insufficient_privilege OR undefined_column OR syntax_error THEN
		NULL;
	END;
	RETURN QUERY SELECT c.* FROM stepadv_internal.check_everything(check_kept_as_owner.attachment) c
		WHERE c."group" IS NULL OR NOT to_find ? c."group"::text;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_kept_as_owner(regclass) IS
'part of check_maintained, as the owner of the attachment';

CREATE FUNCTION stepadv_internal.check_kept(attachment regclass) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv_internal.check_kept(regclass) IS
'part of check_maintained: becomes the owner of the attachment for it';

CREATE FUNCTION stepadv.check_maintained(source regclass, prefix text DEFAULT NULL)
	RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	attachment regclass;
BEGIN
	FOREACH attachment IN ARRAY stepadv_internal.own_maintained(check_maintained.source, check_maintained.prefix,
		false) LOOP
		RETURN QUERY SELECT * FROM stepadv_internal.check_kept(attachment);
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv.check_maintained(regclass, text) IS
'compares the tables of groups and digests of a maintained source with a fresh fold: a row per group that differs, '
	'lacks or has no rows any more, and (group NULL) per table whose changes are not seen, or that has row-level '
	'security or another owner by now; none if all is right; reads everything';

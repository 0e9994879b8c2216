-- What kept groups were folded from, and whether it is still that.
--
-- Triggers see rows that are written. What fires none (a partition that is dropped, detached or attached, a
-- view or a function that is replaced) is found by comparing what is below the views now with what was noted
-- when the groups were folded: src/upkeep/read_below.c.

CREATE FUNCTION stepadv_internal.read_below(views regclass[])
RETURNS TABLE (kind text, object oid, definition bigint, members oid[], name text)
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_read_below';
COMMENT ON FUNCTION stepadv_internal.read_below(regclass[]) IS
'what is below views: tables with partitions or children, views, functions, labels of enums, with hashes of their '
'definitions; unknown: a function whose reads are not known; unwatched: a table that a function reads; changing: '
'what gives another result each time';

-- The definition by names, which a dump takes to another database.
CREATE FUNCTION stepadv_internal.definition_text(kind text, object oid, members oid[], name text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE definition_text.kind
		WHEN 'place' THEN ''
		WHEN 'table' THEN (SELECT string_agg(n.name, ', ' ORDER BY n.name COLLATE "C")
			FROM unnest(definition_text.members) m
			CROSS JOIN LATERAL stepadv_internal.relation_name(m::regclass) n(name))
		WHEN 'view' THEN pg_get_viewdef(definition_text.object)
		WHEN 'label' THEN concat_ws(' ', format_type(definition_text.object, NULL), definition_text.name)
		ELSE coalesce((SELECT ROW(g.aggtransfn, g.aggfinalfn, g.agginitval)::text
			FROM pg_aggregate g WHERE g.aggfnoid = definition_text.object),
			pg_get_functiondef(definition_text.object)) END
$$;
COMMENT ON FUNCTION stepadv_internal.definition_text(text, oid, oid[], text) IS
'how something below views is defined, by names';

CREATE FUNCTION stepadv_internal.folded_from(views regclass[]) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT jsonb_agg(jsonb_build_object('here', b.definition::text,
		'anywhere', md5(stepadv_internal.definition_text(b.kind, b.object, b.members, b.name))))
	FROM stepadv_internal.read_below(array_remove(views, NULL)) b WHERE b.definition IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.folded_from(regclass[]) IS
'part of maintain and refresh: what the groups are folded from, to be compared by changed_since';

-- Without a lock on anything: what is there now and was not noted. What was noted and is there no more was in
-- something that was replaced, or is a label.
CREATE FUNCTION stepadv_internal.changed_since(views regclass[], noted jsonb) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY WITH was AS MATERIALIZED (
		SELECT n.e ->> 'here' AS definition FROM jsonb_path_query(changed_since.noted, 'lax $[*]') n(e)
		WHERE n.e ->> 'here' IS NOT NULL
	), below AS MATERIALIZED (
		SELECT b.kind, b.object, b.definition::text AS definition
		FROM stepadv_internal.read_below(array_remove(changed_since.views, NULL)) b WHERE b.definition IS NOT NULL
	), other AS (
		SELECT b.kind, b.object FROM below b
		WHERE b.kind <> 'label' AND b.definition NOT IN (SELECT w.definition FROM was w)
	), same AS (
		SELECT NOT EXISTS (SELECT FROM other o WHERE o.kind = 'place') AS place
	)
	SELECT format(CASE o.kind
			WHEN 'table' THEN 'partitions or children of %s were attached, detached, made or dropped since'
			ELSE o.kind || ' %s was replaced since' END,
		CASE o.kind WHEN 'function' THEN o.object::regprocedure::text
			ELSE stepadv_internal.relation_name(o.object::regclass) END)
	FROM other o, same s WHERE s.place
	UNION ALL
	SELECT 'labels of an enum that they are known by were renamed since'
	WHERE NOT EXISTS (SELECT FROM other)
		AND EXISTS (SELECT FROM was w WHERE w.definition NOT IN (SELECT b.definition FROM below b))
	UNION ALL
	SELECT NULL FROM same s WHERE NOT s.place;
END
$$;
COMMENT ON FUNCTION stepadv_internal.changed_since(regclass[], jsonb) IS
'part of maintained and refresh: what has become another since folded_from noted it; none: nothing; NULL: unknown, '
'it was noted elsewhere, before a dump';

-- The same by names, where numbers are others.
CREATE FUNCTION stepadv_internal.is_same_by_names(views regclass[], noted jsonb) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT ARRAY(SELECT DISTINCT n.e ->> 'anywhere'
			FROM jsonb_path_query(is_same_by_names.noted, 'lax $[*]') n(e) ORDER BY 1)
		= ARRAY(SELECT DISTINCT md5(stepadv_internal.definition_text(b.kind, b.object, b.members, b.name))
			FROM stepadv_internal.read_below(array_remove(is_same_by_names.views, NULL)) b
			WHERE b.definition IS NOT NULL ORDER BY 1)
$$;
COMMENT ON FUNCTION stepadv_internal.is_same_by_names(regclass[], jsonb) IS
'part of refresh: whether what folded_from noted, perhaps in another database, is what is below the views';

-- What nobody can tell of.
CREATE FUNCTION stepadv_internal.unknown_below(views regclass[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY SELECT DISTINCT CASE b.kind WHEN 'unknown' THEN format('what function %I reads is not known', b.name)
		ELSE format('function %I reads %s, whose changes are not seen', b.name,
			stepadv_internal.relation_name(b.object::regclass)) END
	FROM stepadv_internal.read_below(array_remove(unknown_below.views, NULL)) b
	WHERE b.kind IN ('unknown', 'unwatched');
END
$$;
COMMENT ON FUNCTION stepadv_internal.unknown_below(regclass[]) IS
'part of maintained: what functions below views read, which triggers do not see';

-- A value that is kept must be the one that any later fold gives.
CREATE FUNCTION stepadv_internal.refuse_changing(source regclass, views regclass[]) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found record;
BEGIN
	SELECT b.name, stepadv_internal.relation_name(b.object::regclass) AS view,
		b.name ~ '\)$' AND NOT EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace
			AND p.proname = rtrim(b.name, '()') AND p.provolatile = 's') AS is_function INTO found
	FROM stepadv_internal.read_below(array_remove(refuse_changing.views, NULL)) b
	WHERE b.kind = 'changing' ORDER BY b.name LIMIT 1;
	IF found.name IS NULL THEN
		RETURN;
	END IF;
	RAISE EXCEPTION 'cannot maintain groups of %: % gives another result each time that it is read', source, found.name
		USING ERRCODE = 'feature_not_supported', DETAIL = format('View %s reads it.', found.view),
			HINT = 'Store the result in a column of the table' || CASE WHEN found.is_function
				THEN '; where a function of your own gives the same for the same arguments, declare it IMMUTABLE.'
				ELSE ', or ask for it in queries over the views of attach.' END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_changing(regclass, regclass[]) IS
'part of maintain: error if what is folded changes without being written';

-- ---- Of an attachment

-- What is there is noted before it is folded: what becomes another meanwhile is found later.
CREATE FUNCTION stepadv_internal.must_fold_all(attachment regclass, is_asked boolean) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	views CONSTANT regclass[] := ARRAY[(a).fresh, (a).fresh_digests];
	changes CONSTANT text[] := ARRAY(SELECT * FROM stepadv_internal.changed_since(views, (a).folded_from));
	result boolean := is_asked;
BEGIN
	IF changes <> '{}' AND NOT result THEN
		result := changes <> '{NULL}' OR NOT stepadv_internal.is_same_by_names(views, (a).folded_from);
	END IF;
	IF changes <> '{}' OR result THEN
		EXECUTE format('UPDATE %s SET folded_from = $1', stepadv_internal.relation_name(attachment))
			USING stepadv_internal.folded_from(views);
	END IF;
	RETURN result;
END
$$;
COMMENT ON FUNCTION stepadv_internal.must_fold_all(regclass, boolean) IS
'part of maintain and refresh: whether all groups are to be folded, as is asked or because what they were folded '
'from is another now, which is noted';

-- By a writer, before groups are folded from what is another than was noted: nothing is known of them then, also
-- when it is as it was again.
CREATE FUNCTION stepadv_internal.note_changes(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
BEGIN
	IF (a).folded_from <> '[]' AND EXISTS (
		SELECT FROM stepadv_internal.changed_since(ARRAY[(a).fresh, (a).fresh_digests], (a).folded_from) c(what)
		WHERE c.what IS NOT NULL)
	THEN
		-- What refresh has noted meanwhile stays.
		EXECUTE format('UPDATE %s SET folded_from = $1 WHERE folded_from = $2',
			stepadv_internal.relation_name(attachment))
			USING '[]'::jsonb, (a).folded_from;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.note_changes(regclass) IS
'part of keep_groups: forgets what groups were folded from where it is another now';

-- Changes that triggers cannot report: of foreign tables, materialized views, tables of other engines, and views
-- over relations without the group's columns.  mode => 'refresh' of maintain, with a watermark.
--
-- Refresh finds groups with a row that the watermark shows as newer than the last refresh, and groups whose number
-- of rows differs from the one recorded then (<prefix>_seen), which reveals rows that were deleted or moved to
-- another group.  It puts their keys into <prefix>_changed, and folds those groups in a later snapshot; the next
-- refresh looks again at what was committed in between.

-- The users' relations from which kept groups are computed.
CREATE FUNCTION stepadv_internal.relations_read(a stepadv_internal.attached) RETURNS SETOF regclass
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE ours(relations) AS (
		SELECT array_remove((a).views || ARRAY[(a).rows, (a).stated, (a).shown, (a).shown_rollouts, (a).began,
			(a).fresh, (a).folded, (a).changed, (a).seen, (a).fresh_digests, (a).made_digests, (a).digests,
			(a).attachment], NULL)
	), edges(relation) AS (
		SELECT u.relation FROM unnest(ARRAY[(a).fresh, (a).fresh_digests]) u(relation)
		UNION
		SELECT d.refobjid::regclass
		FROM edges e CROSS JOIN ours o
		JOIN pg_rewrite r ON r.ev_class = e.relation AND r.rulename = '_RETURN'
		JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
			AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> r.ev_class
		WHERE e.relation = ANY (o.relations)
	)
	SELECT e.relation FROM edges e CROSS JOIN ours o JOIN pg_class c ON c.oid = e.relation AND c.relkind <> 'c'
	WHERE e.relation <> ALL (o.relations) ORDER BY stepadv_internal.relation_name(e.relation)
$$;
COMMENT ON FUNCTION stepadv_internal.relations_read(stepadv_internal.attached) IS
'part of maintain: the relations below the views of an attachment that maintain did not create';

-- Every relation that is read must have the group's columns, under the source's names.
CREATE FUNCTION stepadv_internal.refuse_watermark(a stepadv_internal.attached, watermark text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	names CONSTANT text[] := ARRAY(SELECT c.column_name FROM stepadv_internal.view_columns((a).rows) c
		WHERE c.number <= (a).n_group_columns AND c.relation = (a).source ORDER BY c.number);
	r record;
BEGIN
	IF cardinality(names) IS DISTINCT FROM (a).n_group_columns THEN
		RAISE EXCEPTION 'cannot maintain groups of %: its group uses columns of other tables', (a).source
			USING ERRCODE = 'feature_not_supported';
	END IF;
	FOR r IN
		SELECT q.relation, k.name, stepadv_internal.column_type(q.relation, k.name) AS type
		FROM stepadv_internal.relations_read(a) q(relation)
		CROSS JOIN LATERAL unnest(names || refuse_watermark.watermark) k(name)
	LOOP
		IF r.type IS NULL THEN
			RAISE EXCEPTION 'cannot maintain groups of %: it has no column "%"', r.relation, r.name
				USING ERRCODE = 'undefined_column',
					HINT = 'Every relation that is read must have the columns of the group, and the watermark.';
		ELSIF r.name = refuse_watermark.watermark AND r.type <> 'timestamptz'::regtype THEN
			RAISE EXCEPTION 'watermark "%" of % is of type %', r.name, r.relation, r.type::regtype
				USING ERRCODE = 'datatype_mismatch', HINT = 'It must be a timestamptz, of when the row changed.';
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_watermark(stepadv_internal.attached, text) IS
'part of maintain and refresh: error if a relation that is read lacks the columns that show what changed';

-- Lists groups whose number of rows has changed, and those with a row whose watermark is newer than the last
-- refresh, or NULL.
CREATE FUNCTION stepadv_internal.find_changed(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET timezone = 'UTC' SET datestyle = 'ISO, YMD'
AS $find_changed$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	q record;
BEGIN
	SELECT string_agg(format('SELECT %s, count(*) AS n FROM %s r WHERE %s GROUP BY %s', k.keys, n.name, k.are_known,
			stepadv_internal.list(k.numbers, '%1$s'::text, ', '::text)), ' UNION ALL ') AS counted,
		string_agg(format('SELECT %s FROM %s r WHERE (r.%I >= %L::timestamptz%s) AND %s', k.keys, n.name, (a).watermark,
			coalesce((a).seen_until, '-infinity')::text,
			(SELECT format(' OR r.%I IS NULL', w.attname) FROM pg_attribute w WHERE w.attrelid = b.relation
				AND w.attname = (a).watermark AND NOT w.attnotnull), k.are_known), ' UNION ') AS newer INTO q
	FROM stepadv_internal.relations_read(a) b(relation)
	CROSS JOIN LATERAL stepadv_internal.relation_name(b.relation) n(name)
	CROSS JOIN (
		SELECT string_agg(format('r.%I::%s AS k%s', c.column_name, format_type(g.atttypid, g.atttypmod), c.number),
				', ' ORDER BY c.number) AS keys,
			string_agg(format('r.%I IS DISTINCT FROM NULL', c.column_name), ' AND ') AS are_known,
			array_agg(c.number::text ORDER BY c.number) AS numbers
		FROM stepadv_internal.view_columns((a).rows) c
		JOIN pg_attribute g ON g.attrelid = (a).folded AND g.attnum = c.number
		WHERE c.number <= (a).n_group_columns AND c.relation = (a).source) k;
	EXECUTE replace(replace(stepadv_internal.kept_text(attachment, $$
		WITH counted({g*}, n) AS MATERIALIZED (<counted>),
			g AS MATERIALIZED (SELECT {g.*}, sum(g.n)::bigint AS n_rows FROM counted g GROUP BY {g.*}),
			put AS (INSERT INTO {S} AS s ({s*}, n_rows) SELECT {g.*}, g.n_rows FROM g
				ON CONFLICT ({s*}) DO UPDATE SET n_rows = excluded.n_rows WHERE s.n_rows <> excluded.n_rows
				RETURNING {s.*}),
			gone AS (DELETE FROM {S} s WHERE NOT EXISTS (SELECT FROM g WHERE {g=s}) RETURNING {s.*})
		INSERT INTO {W} ({w*}) TABLE put UNION TABLE gone UNION (<newer>)$$),
		'<counted>', q.counted), '<newer>', q.newer);
END
$find_changed$;
COMMENT ON FUNCTION stepadv_internal.find_changed(regclass) IS
'part of refresh, with a watermark: lists the groups that may differ from what is kept, and notes how many rows '
'they have now';

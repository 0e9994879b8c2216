-- Groups kept without triggers: how => 'watermark' of maintain, for what has
-- no statement triggers, or none that could be relied upon: foreign tables, distributed
-- tables, hypertables, materialized views, views over what does not tell the group.
--
-- maintain makes, beside what it makes with how => 'refresh' (see 71-kept-tables.sql):
--
--	<prefix>_seen		table: of each group how many rows there were when a refresh looked, and the hashes
--						of all that is kept of them, added up
--
-- Refresh compares it with the rows: all of them, or of those groups that have a row which the
-- watermark says to be newer than the last refresh.  What differs is put into <prefix>_changed
-- and folded from there.  It looks at the rows first and folds then, in a later snapshot: what
-- is committed between differs from what was seen, and is folded once more by the next.
--
-- And what the triggers of all attachments need to be relied upon: they are always enabled, and
-- row triggers stand in for them where logical replication writes.

CREATE FUNCTION stepadv_internal.oldest_transaction() RETURNS timestamptz
LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'stepadv_oldest_transaction';
COMMENT ON FUNCTION stepadv_internal.oldest_transaction() IS 'when the oldest transaction of the database began that is running; now, where none is. Sessions without track_activities do not say, nor do prepared transactions';

-- ---- What has no triggers

-- Of Citus's tables none: where they are on this node alone, their triggers are on a shard.
CREATE FUNCTION stepadv_internal.kind_without_triggers(relation regclass) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	of_citus CONSTANT regclass := stepadv_internal.catalog_of('citus'::text);
	of_timescaledb CONSTANT regclass := stepadv_internal.catalog_of('timescaledb'::text);
	kind text;
BEGIN
	IF of_citus IS NOT NULL THEN
		EXECUTE format('SELECT CASE WHEN d.repmodel OPERATOR(pg_catalog.=) ''t'' THEN ''reference table'' WHEN d.partkey IS NULL AND d.colocationid OPERATOR(pg_catalog.=) 0 THEN ''table that Citus manages'' ELSE ''distributed table'' END
			FROM %s d WHERE d.logicalrelid OPERATOR(pg_catalog.=) $1', of_citus) INTO kind USING kind_without_triggers.relation;
	END IF;
	IF kind IS NULL AND of_timescaledb IS NOT NULL THEN
		EXECUTE format('SELECT ''hypertable'' FROM %s h JOIN pg_class c ON c.relname OPERATOR(pg_catalog.=) h.table_name JOIN pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace AND n.nspname OPERATOR(pg_catalog.=) h.schema_name
			WHERE c.oid OPERATOR(pg_catalog.=) $1', of_timescaledb) INTO kind USING kind_without_triggers.relation;
	END IF;
	RETURN kind;
END
$$;
COMMENT ON FUNCTION stepadv_internal.kind_without_triggers(regclass) IS 'part of maintain: why statement triggers of a table do not see its changes, as a kind of table; NULL: they do';

-- ---- Triggers that can be relied upon

-- The tables that what is kept is computed of, with their partitions, children and parents.
CREATE FUNCTION stepadv_internal.tables_below(a stepadv_internal.attached) RETURNS SETOF regclass
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT DISTINCT w.relation FROM stepadv_internal.watched_tables(ARRAY[(a).fresh, (a).fresh_digests], (a).n_group_columns) w $$;
COMMENT ON FUNCTION stepadv_internal.tables_below(stepadv_internal.attached) IS 'part of maintain: the tables whose changes change what is kept';

-- The apply worker of logical replication fires row triggers alone.  They are enabled for it
-- alone; a partition that comes later gets them with its parent's.
CREATE FUNCTION stepadv_internal.make_row_triggers(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	item record;
BEGIN
	FOR item IN
		SELECT c.oid::regclass AS relation, a.prefix || '_maintain_applied' AS name,
			(SELECT string_agg(format('%L::regclass IS NOT NULL', k), ' AND ') FROM unnest(ARRAY[a.attachment, a.folded, a.changed]) k WHERE k IS NOT NULL) AS condition
		FROM stepadv_internal.attachments(NULL::oid, NULL::regclass) a CROSS JOIN LATERAL stepadv_internal.tables_below(a) w(relation) JOIN pg_class c ON c.oid = w.relation
		WHERE a.attachment = make_row_triggers.attachment AND NOT c.relispartition AND NOT EXISTS (SELECT FROM stepadv_internal.applied_triggers(a.attachment) t WHERE t.relation = w.relation)
	LOOP
		EXECUTE format('CREATE TRIGGER %I AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW WHEN (%s) EXECUTE FUNCTION stepadv_internal.keep_groups_of_rows()', item.name, item.relation, item.condition);
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_row_triggers(regclass) IS 'part of maintain: makes the row triggers for logical replication that are missing';

-- A partition's has no dependency of its own, but its parent's.
CREATE FUNCTION stepadv_internal.applied_triggers(attachment regclass) RETURNS TABLE (relation regclass, trigger oid, enabled "char")
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE made AS (
		SELECT t.oid, t.tgrelid, t.tgenabled
		FROM pg_depend d JOIN pg_trigger t ON t.oid = d.objid
		WHERE d.classid = 'pg_trigger'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = applied_triggers.attachment
			AND t.tgfoid = 'stepadv_internal.keep_groups_of_rows()'::regprocedure
		UNION
		SELECT t.oid, t.tgrelid, t.tgenabled FROM made m JOIN pg_inherits i ON i.inhparent = m.tgrelid JOIN pg_trigger t ON t.tgrelid = i.inhrelid AND t.tgparentid = m.oid
	)
	SELECT m.tgrelid::regclass, m.oid, m.tgenabled FROM made m
$$;
COMMENT ON FUNCTION stepadv_internal.applied_triggers(regclass) IS 'the row triggers that keep the groups of an attachment where logical replication writes, and as of when they fire';

CREATE FUNCTION stepadv_internal.enable_trigger(trigger oid, fires "char") RETURNS void
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stepadv_enable_trigger';
COMMENT ON FUNCTION stepadv_internal.enable_trigger(oid, "char") IS 'part of maintain: when a trigger that it made fires, A always, R where logical replication writes; for the owner of its table';

-- Whoever writes with session_replication_role = replica changes groups, too.  A trigger that
-- somebody disabled stays so, and check_maintained says it.
CREATE FUNCTION stepadv_internal.enable_triggers(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	item record;
BEGIN
	FOR item IN
		WITH tables(relation) AS (
			SELECT r FROM stepadv_internal.attachments(NULL::oid, NULL::regclass) a CROSS JOIN LATERAL (SELECT a.changed UNION SELECT * FROM stepadv_internal.tables_below(a)) w(r)
			WHERE a.attachment = enable_triggers.attachment
		)
		SELECT p.trigger, 'R'::"char" AS fires FROM stepadv_internal.applied_triggers(enable_triggers.attachment) p JOIN tables r ON r.relation = p.relation WHERE p.enabled = 'O'
		UNION
		SELECT t.oid, 'A'::"char"
		FROM pg_depend d JOIN pg_trigger t ON t.oid = d.objid JOIN tables r ON r.relation = t.tgrelid
		WHERE d.classid = 'pg_trigger'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = enable_triggers.attachment AND t.tgenabled = 'O'
			AND t.tgfoid = 'stepadv_internal.keep_groups()'::regprocedure
	LOOP
		PERFORM stepadv_internal.enable_trigger(item.trigger, item.fires);
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.enable_triggers(regclass) IS 'part of maintain: enables the triggers of an attachment whatever session_replication_role is, and its row triggers for logical replication';

-- ---- What is read

-- The relations that what is kept is computed of, and of which columns (all: NULL).  With
-- through the users' own; otherwise what is shown of them is an adapter's, of which less is read.
CREATE FUNCTION stepadv_internal.relations_read(a stepadv_internal.attached, through boolean) RETURNS TABLE (relation regclass, columns smallint[], for_groups boolean)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE roots(view, for_groups) AS (
		SELECT (a).fresh, true UNION
		SELECT u, false FROM unnest(ARRAY[(a).fresh_digests, (a).runs, (a).began]) u WHERE u IS NOT NULL AND (a).digests IS NOT NULL
	), edges(view, relation, number, for_groups) AS (
		SELECT r.view, d.refobjid, d.refobjsubid, r.for_groups FROM roots r CROSS JOIN LATERAL stepadv_internal.view_reads(r.view) d
		UNION
		SELECT e.relation::regclass, d.refobjid, d.refobjsubid, e.for_groups FROM edges e CROSS JOIN LATERAL stepadv_internal.view_reads(e.relation::regclass) d
		WHERE e.relation = ANY ((a).views || ARRAY[(a).rows, (a).stated, (a).runs, (a).began, (a).fresh] || CASE WHEN relations_read.through THEN ARRAY[(a).shown, (a).shown_rollouts] ELSE '{}' END)
	)
	SELECT e.relation::regclass, array_agg(DISTINCT e.number::smallint) FILTER (WHERE e.number > 0), bool_or(e.for_groups)
	FROM edges e JOIN pg_class c ON c.oid = e.relation AND c.relkind <> 'c'
	WHERE e.relation <> ALL (array_remove((a).views || ARRAY[(a).rows, (a).stated, (a).runs, (a).began, (a).fresh, (a).folded, (a).changed,
		(a).fresh_digests, (a).made_digests, (a).digests, (a).attachment] || CASE WHEN relations_read.through THEN ARRAY[(a).shown, (a).shown_rollouts] END, NULL))
	GROUP BY e.relation
$$;
COMMENT ON FUNCTION stepadv_internal.relations_read(stepadv_internal.attached, boolean) IS 'part of maintain: the relations, and their columns, of which what is kept is computed; for_groups: the groups themselves; through: no adapter among them';

-- (Of the thousand rows that every function is taken to give the recursion above makes fifty millions,
-- and 19 sets out with a hash table for them.)
CREATE FUNCTION stepadv_internal.view_reads(view regclass) RETURNS TABLE (refobjid oid, refobjsubid integer)
LANGUAGE sql STABLE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT d.refobjid, d.refobjsubid FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
	WHERE r.ev_class = view_reads.view AND r.rulename = '_RETURN' AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> view_reads.view
$$;
COMMENT ON FUNCTION stepadv_internal.view_reads(regclass) IS 'the relations and columns that a view''s query names, as the catalog knows them';

-- The columns of the group in a relation that is read: an adapter has them first, others by the source's names.
CREATE FUNCTION stepadv_internal.keys_in(a stepadv_internal.attached, relation regclass) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN keys_in.relation IN ((a).shown, (a).shown_rollouts) THEN stepadv_internal.group_columns(keys_in.relation, (a).n_group_columns)
		ELSE ARRAY(SELECT c.column_name FROM stepadv_internal.view_columns((a).rows) c WHERE c.number <= (a).n_group_columns AND c.relation = (a).source ORDER BY c.number) END
$$;
COMMENT ON FUNCTION stepadv_internal.keys_in(stepadv_internal.attached, regclass) IS 'part of maintain: the names of the group''s columns in a relation that is read';

-- As a list k1, k2, ... of an alias r, of the types that the groups have; and that none of them is missing.
CREATE FUNCTION stepadv_internal.keys_of(a stepadv_internal.attached, relation regclass) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format(CASE WHEN t.atttypid = g.atttypid THEN 'r.%1$I AS k%2$s' ELSE 'r.%1$I::%3$s AS k%2$s' END, k.name, k.i, format_type(g.atttypid, g.atttypmod)), ', ' ORDER BY k.i)
	FROM unnest(stepadv_internal.keys_in(a, keys_of.relation)) WITH ORDINALITY k(name, i)
	JOIN pg_attribute g ON g.attrelid = (a).folded AND g.attnum = k.i
	JOIN pg_attribute t ON t.attrelid = keys_of.relation AND t.attname = k.name AND t.attnum > 0 AND NOT t.attisdropped
$$;
COMMENT ON FUNCTION stepadv_internal.keys_of(stepadv_internal.attached, regclass) IS 'part of maintain: the columns of the group in a relation r that is read, as k1, k2, …';

-- What cannot be kept without triggers either.
CREATE FUNCTION stepadv_internal.refuse_unseen(a stepadv_internal.attached) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r record;
	hint CONSTANT text := 'Only what is kept beside the groups reads it: with over_time => false the groups can be maintained.';
BEGIN
	SELECT w.relation, c.relpersistence = 't' AS is_temporary INTO r
	FROM stepadv_internal.tables_below(a) w(relation) JOIN pg_class c ON c.oid = w.relation
	WHERE c.relpersistence = 't' OR c.relrowsecurity LIMIT 1;
	IF r.is_temporary THEN
		RAISE EXCEPTION 'cannot maintain groups of temporary table %', r.relation USING ERRCODE = 'feature_not_supported';
	ELSIF r.relation IS NOT NULL THEN
		RAISE EXCEPTION 'cannot maintain groups of %: it has row-level security', r.relation USING ERRCODE = 'feature_not_supported', DETAIL = 'A group''s value would show all its rows to everyone who may read it.';
	END IF;
	PERFORM stepadv_internal.refuse_places(a);
	FOR r IN SELECT q.relation, q.for_groups, k.name, t.atttypid::regtype AS type
		FROM stepadv_internal.relations_read(a, true) q CROSS JOIN LATERAL unnest(stepadv_internal.keys_in(a, q.relation) || (a).watermark) k(name)
		LEFT JOIN pg_attribute t ON t.attrelid = q.relation AND t.attname = k.name AND t.attnum > 0 AND NOT t.attisdropped
		WHERE k.name IS NOT NULL AND (t.attname IS NULL OR k.name = (a).watermark AND t.atttypid <> 'timestamptz'::regtype) ORDER BY q.for_groups DESC, q.relation::text
	LOOP
		IF r.type IS NULL THEN
			RAISE EXCEPTION 'cannot maintain groups of %: it has no column "%"', r.relation, r.name USING ERRCODE = 'undefined_column',
				HINT = CASE WHEN r.for_groups THEN 'Every relation that is read must have the columns of the group, and the watermark.' ELSE hint END;
		END IF;
		RAISE EXCEPTION 'watermark "%" of % is of type %', r.name, r.relation, r.type USING ERRCODE = 'datatype_mismatch', HINT = 'It must be a timestamptz, of when the row changed.';
	END LOOP;
	IF cardinality(stepadv_internal.keys_in(a, (a).source)) IS DISTINCT FROM (a).n_group_columns THEN
		RAISE EXCEPTION 'cannot maintain groups of %: its group is not made of its own columns', (a).source USING ERRCODE = 'feature_not_supported';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_unseen(stepadv_internal.attached) IS 'part of maintain: error if changes of what is read cannot be found without triggers';

CREATE FUNCTION stepadv_internal.check_watermark(how text, watermark text, overlap interval) RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF check_watermark.how = 'watermark' AND check_watermark.watermark IS NULL THEN
		RAISE EXCEPTION 'watermark must be given' USING ERRCODE = 'null_value_not_allowed', HINT = 'It is the name of a column, a timestamptz of when a row changed.';
	ELSIF check_watermark.how = 'watermark' AND (check_watermark.overlap >= interval '0') IS NOT TRUE THEN
		RAISE EXCEPTION 'overlap must be zero or more, not %', coalesce(check_watermark.overlap::text, 'NULL') USING ERRCODE = 'invalid_parameter_value';
	ELSIF check_watermark.how <> 'watermark' AND check_watermark.watermark IS NOT NULL THEN
		RAISE EXCEPTION 'watermark is given, but how is %', quote_literal(check_watermark.how) USING ERRCODE = 'invalid_parameter_value', HINT = 'Only how => ''watermark'' looks at it.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_watermark(text, text, interval) IS 'part of maintain: error where watermark or overlap cannot be meant';

-- ---- What was seen

CREATE FUNCTION stepadv_internal.make_seen(attachment regclass, watermark text, overlap interval) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a stepadv_internal.attached := stepadv_internal.known(attachment);
	name CONSTANT text := (SELECT format('%I.%I', n.nspname, (a).prefix || '_seen') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = make_seen.attachment);
	n CONSTANT integer := (a).n_group_columns;
	on_shards CONSTANT boolean := stepadv_internal.is_on_shards(a);
BEGIN
	a.watermark := make_seen.watermark;
	PERFORM stepadv_internal.refuse_unseen(a);
	EXECUTE format('CREATE %sTABLE %s (%s, n_rows bigint, hashes numeric' || CASE WHEN on_shards THEN ', is_folded boolean NOT NULL' ELSE '' END || ', PRIMARY KEY (%s))', CASE (SELECT c.relpersistence FROM pg_class c WHERE c.oid = (a).folded) WHEN 'u' THEN 'UNLOGGED ' ELSE '' END, name,
		(SELECT string_agg(concat_ws(' ', format('k%s %s', t.attnum, format_type(t.atttypid, t.atttypmod)), 'COLLATE ' || quote_ident(s.nspname) || '.' || quote_ident(l.collname)), ', ' ORDER BY t.attnum)
			FROM pg_attribute t LEFT JOIN pg_collation l ON l.oid = t.attcollation LEFT JOIN pg_namespace s ON s.oid = l.collnamespace WHERE t.attrelid = (a).folded AND t.attnum BETWEEN 1 AND n),
		stepadv_internal.k_columns(n, 'k%1$s'::text));
	EXECUTE format('COMMENT ON TABLE %s IS %L', name, format('how many rows of the groups of %s the last refresh saw, and their hashes, added up; kept by stepadv.maintain, nobody else should write to it', (a).source));
	IF on_shards THEN
		EXECUTE format('CREATE INDEX ON %s (%s) WHERE NOT is_folded', name, stepadv_internal.k_columns(n, 'k%1$s'::text));
		PERFORM stepadv_internal.put_on_shards(a, name::regclass);
	END IF;
	EXECUTE format('UPDATE %s SET watermark = $1, overlap = $2, seen = $3', stepadv_internal.relation_name(attachment))
		USING make_seen.watermark, CASE WHEN make_seen.watermark IS NOT NULL THEN make_seen.overlap END, name::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_seen(regclass, text, interval) IS 'part of maintain: the table of what was seen, and in the attachment how changes are found';

-- The text of a row r of a relation by which it is known to have changed.  What workers make of it depends
-- on their settings, not on those of refresh: there it is of the bytes of its values.
CREATE FUNCTION stepadv_internal.text_of_row(a stepadv_internal.attached, relation regclass, columns smallint[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format(CASE WHEN stepadv_internal.is_on_shards(a) THEN 'encode(record_send(ROW(%s)), ''hex'')' ELSE 'ROW(%s)::text' END, string_agg(format('r.r%s', t.attnum), ', ' ORDER BY t.attnum))
	FROM pg_attribute t WHERE t.attrelid = text_of_row.relation AND t.attnum > 0 AND NOT t.attisdropped AND (text_of_row.columns IS NULL OR t.attnum = ANY (text_of_row.columns))
$$;
COMMENT ON FUNCTION stepadv_internal.text_of_row(stepadv_internal.attached, regclass, smallint[]) IS 'part of refresh: the expression of a text that is another where one of the columns (NULL: all) of a row r of a relation is';

-- The rows of the groups: k1, k2, ..., n_rows, hashes.  Of all, or of those of a relation.
CREATE FUNCTION stepadv_internal.seen_query(a stepadv_internal.attached, candidates text, hashed boolean) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %1$s, sum(q.n_rows)::bigint AS n_rows%3$s FROM (%2$s) q GROUP BY %1$s', stepadv_internal.k_columns((a).n_group_columns, 'q.k%1$s'::text),
		string_agg(format('SELECT %1$s, count(*) AS n_rows' || CASE WHEN hashed THEN ', sum(hashtextextended(%2$s COLLATE "C", %3$L::bigint)) AS hashes' ELSE '' END || ' FROM (SELECT %4$s, r.* FROM %5$s r) r(%6$s)%7$s WHERE %8$s GROUP BY %1$s',
			stepadv_internal.k_columns((a).n_group_columns, 'r.k%1$s'::text),
			stepadv_internal.text_of_row(a, s.relation, s.columns), s.number, stepadv_internal.keys_of(a, s.relation), stepadv_internal.relation_name(s.relation),
			stepadv_internal.k_columns((a).n_group_columns, 'k%1$s'::text) || (SELECT string_agg(format(', r%s', t.attnum), '' ORDER BY t.attnum) FROM pg_attribute t WHERE t.attrelid = s.relation AND t.attnum > 0 AND NOT t.attisdropped),
			' JOIN ' || seen_query.candidates || ' w ON ' || stepadv_internal.same_group('r'::text, 'w'::text, (a).seen, (a).n_group_columns),
			replace(stepadv_internal.k_columns((a).n_group_columns, 'r.k%1$s IS DISTINCT FROM NULL'::text), ', ', ' AND ')), ' UNION ALL ' ORDER BY s.number),
		CASE WHEN hashed THEN ', sum(q.hashes) AS hashes' ELSE '' END)
	FROM (SELECT r.*, row_number() OVER (ORDER BY r.for_groups DESC, stepadv_internal.relation_name(r.relation)) AS number FROM stepadv_internal.relations_read(a, false) r) s
$$;
COMMENT ON FUNCTION stepadv_internal.seen_query(stepadv_internal.attached, text, boolean) IS 'part of refresh: the query of how many rows each group has, and (hashed) of their hashes; of all groups, or of those of a relation';

-- Groups with rows that the watermark says to be new, or says nothing of.
CREATE FUNCTION stepadv_internal.candidates_query(a stepadv_internal.attached) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format('SELECT DISTINCT %1$s FROM %2$s r WHERE (r.%3$I >= %4$L::timestamptz%5$s) AND %6$s', stepadv_internal.keys_of(a, s.relation), stepadv_internal.relation_name(s.relation), (a).watermark, (a).seen_until::text,
		CASE WHEN t.attnotnull THEN '' ELSE format(' OR r.%I IS NULL', (a).watermark) END,
		(SELECT string_agg(format('r.%I IS DISTINCT FROM NULL', k), ' AND ') FROM unnest(stepadv_internal.keys_in(a, s.relation)) k)), ' UNION ')
	FROM stepadv_internal.relations_read(a, true) s JOIN pg_attribute t ON t.attrelid = s.relation AND t.attname = (a).watermark AND NOT t.attisdropped
$$;
COMMENT ON FUNCTION stepadv_internal.candidates_query(stepadv_internal.attached) IS 'part of refresh: the query of groups with rows that may have changed since, by the watermark';

-- WITH: now (rows of groups as they are), other (those of them that differ from what was seen), gone (that are no more).
-- By the watermark only groups are looked at that have new rows, or another number of rows than was seen: of
-- a row that is gone, or was moved to another group, no column tells.
CREATE FUNCTION stepadv_internal.differences_query(a stepadv_internal.attached, whole boolean) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	by_watermark CONSTANT boolean := (a).watermark IS NOT NULL AND NOT whole AND (a).seen_until IS NOT NULL;
	same CONSTANT text := stepadv_internal.same_group('s'::text, 'n'::text, (a).seen, (a).n_group_columns);
	seen CONSTANT text := stepadv_internal.relation_name((a).seen);
	of_s CONSTANT text := stepadv_internal.k_columns((a).n_group_columns, 's.k%1$s'::text);
	candidates text := '';
BEGIN
	IF by_watermark THEN
		candidates := format('numbers AS MATERIALIZED (%s), candidates AS MATERIALIZED (%s UNION SELECT %s FROM numbers n WHERE NOT EXISTS (SELECT FROM %s s WHERE %s AND s.n_rows = n.n_rows)'
				' UNION SELECT %s FROM %4$s s WHERE NOT EXISTS (SELECT FROM numbers n WHERE %5$s)), ',
			stepadv_internal.seen_query(a, NULL::text, false), stepadv_internal.candidates_query(a), stepadv_internal.k_columns((a).n_group_columns, 'n.k%1$s'::text), seen, same, of_s);
	END IF;
	RETURN format('WITH %1$snow AS MATERIALIZED (%2$s), other AS MATERIALIZED (SELECT n.* FROM now n WHERE NOT EXISTS (SELECT FROM %3$s s WHERE %4$s AND s.n_rows = n.n_rows AND s.hashes = n.hashes)),'
			' gone AS MATERIALIZED (SELECT %5$s FROM %3$s s WHERE NOT EXISTS (SELECT FROM %6$s n WHERE %4$s))',
		candidates, stepadv_internal.seen_query(a, CASE WHEN by_watermark THEN 'candidates' END, true), seen, same, of_s, CASE WHEN by_watermark THEN 'numbers' ELSE 'now' END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.differences_query(stepadv_internal.attached, boolean) IS 'part of refresh: the query of groups that differ from what was seen, without its end';

-- Texts of rows must not depend on who refreshes.
CREATE FUNCTION stepadv_internal.find_changed(attachment regclass, whole boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET datestyle = 'ISO, YMD' SET intervalstyle = 'postgres' SET timezone = 'UTC' SET extra_float_digits = 1 SET bytea_output = 'hex' SET xmloption = 'content'
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	keys CONSTANT text := stepadv_internal.k_columns((a).n_group_columns, 'k%1$s'::text);
BEGIN
	EXECUTE format('%1$s, put AS (INSERT INTO %2$s (%3$s, n_rows, hashes) SELECT %3$s, n_rows, hashes FROM other ON CONFLICT (%3$s) DO UPDATE SET n_rows = excluded.n_rows, hashes = excluded.hashes), '
		'cut AS (DELETE FROM %2$s s USING gone n WHERE %4$s) INSERT INTO %5$s SELECT %3$s FROM other UNION ALL SELECT %3$s FROM gone',
		stepadv_internal.differences_query(a, find_changed.whole), stepadv_internal.relation_name((a).seen), keys, stepadv_internal.same_group('s'::text, 'n'::text, (a).seen, (a).n_group_columns), stepadv_internal.relation_name((a).changed));
END
$$;
COMMENT ON FUNCTION stepadv_internal.find_changed(regclass, boolean) IS 'part of refresh: lists the groups that differ from what was seen, and notes what is seen now';

-- Those that the next refresh will find, by their names as check_maintained shows groups.
CREATE FUNCTION stepadv_internal.still_to_find(attachment regclass) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off SET datestyle = 'ISO, YMD' SET intervalstyle = 'postgres' SET timezone = 'UTC' SET extra_float_digits = 1 SET bytea_output = 'hex' SET xmloption = 'content'
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	keys CONSTANT text := stepadv_internal.k_columns((a).n_group_columns, 'k%1$s'::text);
	found jsonb;
BEGIN
	IF (a).seen IS NULL THEN
		RETURN '{}';
	END IF;
	IF stepadv_internal.is_on_shards(a) THEN
		RETURN stepadv_internal.to_find_on_shards(a);
	END IF;
	EXECUTE format('%1$s SELECT coalesce(jsonb_object_agg(jsonb_build_object(%2$s)::text, true), ''{}'') FROM (SELECT %3$s FROM other UNION ALL SELECT %3$s FROM gone) w(%3$s)',
		stepadv_internal.differences_query(a, false), stepadv_internal.list(stepadv_internal.group_columns((a).fresh, (a).n_group_columns), '%1$L, w.k%2$s'::text, ', '::text), keys) INTO found;
	RETURN found;
END
$$;
COMMENT ON FUNCTION stepadv_internal.still_to_find(regclass) IS 'part of check_maintained: the groups that differ from what was seen, and that refresh will find';

-- ---- Refresh

-- What was committed before as_of is seen.  By the watermark a row is committed at most overlap
-- after its time, or by a transaction that is running by then.
CREATE FUNCTION stepadv_internal.bring_up(attachment regclass, everything boolean, whole boolean) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	a stepadv_internal.attached := stepadv_internal.known(attachment);
	now timestamptz;
	oldest timestamptz;
	n bigint;
BEGIN
	IF (a).kept = 'triggers' OR (a).folded IS NULL THEN
		RETURN stepadv_internal.fold_groups(attachment, everything);
	ELSIF (a).kept = 'refresh' THEN
		now := clock_timestamp();
	ELSIF (a).seen IS NULL OR (a).changed IS NULL AND NOT stepadv_internal.is_on_shards(a) THEN
		RAISE EXCEPTION 'groups of % can no longer be refreshed: a table that belongs to them is gone', (a).source USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Call unmaintain and maintain.';
	ELSIF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
		RAISE EXCEPTION 'groups that are kept without triggers must be refreshed in a transaction of isolation level read committed'
			USING ERRCODE = 'invalid_transaction_state', DETAIL = 'Rows that were committed after the transaction''s snapshot would be missed.';
	ELSE
		-- One at a time; readers go on.
		EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', stepadv_internal.relation_name((a).folded));
		a := stepadv_internal.known(attachment);
		PERFORM stepadv_internal.refuse_unseen(a);
		now := clock_timestamp();
		oldest := least(stepadv_internal.oldest_transaction(), now, (SELECT min(p.prepared) FROM pg_prepared_xacts p WHERE p.database = current_database()));
		IF stepadv_internal.is_on_shards(a) THEN
			SELECT least(oldest, w.began), least(now, w.prepared) INTO oldest, now FROM stepadv_internal.transactions_of_workers() w;
			n := stepadv_internal.fold_on_shards(a, everything, whole OR everything);
		ELSE
			PERFORM stepadv_internal.find_changed(attachment, whole OR everything);
		END IF;
	END IF;
	n := coalesce(n, stepadv_internal.fold_groups(attachment, everything));
	EXECUTE format('UPDATE %s SET as_of = $1, seen_until = $2', stepadv_internal.relation_name(attachment)) USING now, CASE WHEN (a).watermark IS NOT NULL THEN oldest - (a).overlap END;
	RETURN n;
END
$$;
COMMENT ON FUNCTION stepadv_internal.bring_up(regclass, boolean, boolean) IS 'part of maintain and refresh: finds what changed, where no triggers tell, folds it, and notes as of when; how many groups';

-- ---- How old it is

-- Views say it where people look.
CREATE FUNCTION stepadv_internal.say_age(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	remark CONSTANT text := '; as of the last refresh, see stepadv.maintained()';
	item record;
BEGIN
	FOR item IN SELECT u.view, obj_description(u.view, 'pg_class') AS before FROM unnest((a).views) u(view) WHERE u.view IS NOT NULL LOOP
		IF (a).seen IS NOT NULL AND strpos(item.before, remark) = 0 THEN
			EXECUTE format('COMMENT ON VIEW %s IS %L', stepadv_internal.relation_name(item.view), item.before || remark);
		ELSIF (a).seen IS NULL AND strpos(item.before, remark) > 0 THEN
			EXECUTE format('COMMENT ON VIEW %s IS %L', stepadv_internal.relation_name(item.view), replace(item.before, remark, ''));
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.say_age(regclass) IS 'part of maintain and unmaintain: the views'' comments say that they are as of the last refresh, where groups are kept without triggers';

-- Changes that triggers do not see, besides those that are missing or disabled.
CREATE FUNCTION stepadv_internal.check_unseen(a stepadv_internal.attached) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY WITH watched AS (
		SELECT w.relation FROM stepadv_internal.tables_below(a) w(relation) WHERE (a).kept <> 'watermark'
	)
	SELECT format('changes of %s in sessions with session_replication_role = replica are not seen: its triggers are '
		'not always enabled', w.relation)
	FROM watched w WHERE EXISTS (
		SELECT FROM pg_depend d JOIN pg_trigger t ON t.oid = d.objid
		WHERE d.classid = 'pg_trigger'::regclass AND d.refclassid = 'pg_class'::regclass
			AND d.refobjid = (a).attachment AND t.tgfoid = 'stepadv_internal.keep_groups()'::regprocedure
			AND t.tgrelid = w.relation AND t.tgenabled = 'O')
	UNION ALL
	SELECT format('changes that logical replication brings to %s are not seen: its row trigger is missing or '
		'disabled', w.relation)
	FROM watched w JOIN pg_subscription_rel s ON s.srrelid = w.relation
	WHERE NOT EXISTS (SELECT FROM stepadv_internal.applied_triggers((a).attachment) t
		WHERE t.relation = w.relation AND t.enabled IN ('R', 'A'))
	UNION ALL
	SELECT format('changes of %s are not seen: it is a %s', w.relation, k.kind)
	FROM watched w CROSS JOIN LATERAL stepadv_internal.kind_without_triggers(w.relation) k(kind)
	WHERE k.kind IS NOT NULL
	UNION ALL
	SELECT 'groups can no longer be refreshed: a table that belongs to them is gone'
	WHERE (a).kept = 'watermark' AND ((a).seen IS NULL OR (a).changed IS NULL AND NOT stepadv_internal.is_on_shards(a))
	UNION ALL
	SELECT format('groups of %s can no longer be refreshed: %s', p.relation, p.problem)
	FROM stepadv_internal.misplaced(a) p WHERE (a).kept = 'watermark' AND p.problem IS NOT NULL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_unseen(stepadv_internal.attached) IS
'part of check_maintained and maintained: what keeps changes of the tables below from being seen';

-- What reads kept groups may be there when what they are made of is gone: a source that was dropped with
-- CASCADE, or a table that Citus made anew, and its views with it.  Another role's row is not read.
CREATE FUNCTION stepadv_internal.lost_groups() RETURNS TABLE (prefix text, how text, as_of timestamptz, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	lost regclass;
	a stepadv.attachment;
BEGIN
	FOR lost IN SELECT c.oid FROM pg_class c WHERE c.reloftype = 'stepadv.attachment'::regtype AND c.relkind = 'r' AND NOT c.relrowsecurity AND stepadv_internal.owns(c.oid::regclass, false)
		AND (stepadv_internal.known(c.oid::regclass)).attachment IS NULL ORDER BY c.oid::regclass::text
	LOOP
		EXECUTE format('SELECT * FROM ONLY %s LIMIT 1', stepadv_internal.relation_name(lost)) INTO a;
		CONTINUE WHEN a.kept IS NULL OR NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = ANY (a.views) AND c.relkind = 'v');
		prefix := a.prefix;
		how := a.kept;
		as_of := CASE WHEN a.kept <> 'triggers' THEN a.as_of END;
		problem := format('groups of %s are no longer kept: their source is gone, or was made anew', stepadv_internal.relation_name(lost));
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.lost_groups() IS 'part of maintained: groups of the current user that are still read, though what they were folded of is gone';

-- One by one: what one owner has made of theirs is no error for the others.
CREATE FUNCTION stepadv.maintained()
RETURNS TABLE (source regclass, prefix text, how text, as_of timestamptz, age interval, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a stepadv_internal.attached;
BEGIN
	FOR a IN
		SELECT * FROM stepadv_internal.attachments(NULL::oid, NULL::regclass) k WHERE k.kept IS NOT NULL
		ORDER BY stepadv_internal.relation_name(k.source), k.prefix, k.attachment
	LOOP
		source := a.source;
		prefix := a.prefix;
		how := a.kept;
		BEGIN
			SELECT string_agg(c.problem, '; ' ORDER BY c.problem) INTO problem FROM (
				SELECT t.problem FROM stepadv_internal.check_tables(a) t(problem)
				UNION ALL
				-- check_maintained compares the groups themselves.
				SELECT f.problem FROM stepadv_internal.check_folded_from(a) f(problem) WHERE a.fresh IS NOT NULL) c;
		EXCEPTION WHEN OTHERS THEN
			problem := 'it is not known whether groups are stale: ' || SQLERRM;
		END;
		as_of := CASE WHEN problem IS NULL THEN CASE a.kept WHEN 'triggers' THEN clock_timestamp() ELSE a.as_of END END;
		age := clock_timestamp() - as_of;
		RETURN NEXT;
	END LOOP;
	RETURN QUERY SELECT NULL::regclass, l.prefix, l.how, l.as_of, clock_timestamp() - l.as_of, l.problem
		FROM stepadv_internal.lost_groups() l;
END
$$;
COMMENT ON FUNCTION stepadv.maintained() IS
'one row per kept attachment of the caller, or of roles whose rights they have: how groups are kept; as_of: '
'changes committed before are in them, NULL: they are or may be stale; age; problem: why (another partition, '
'a replaced view, missing triggers); source NULL: it is gone; reads catalogs only';

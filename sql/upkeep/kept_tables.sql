-- The objects that maintain creates and unmaintain drops.

-- Statement triggers are enabled in every session_replication_role, row triggers only for logical replication.
-- A trigger that a user disabled remains disabled, and maintained reports it.
CREATE FUNCTION stepadv_internal.make_triggers(a stepadv_internal.attached) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	item text;
BEGIN
	PERFORM stepadv_internal.refuse_tables(a, ARRAY[(a).fresh, (a).fresh_digests], true);
	FOR item IN
		-- One of the same name that depends on the attachment was replaced by a user.
		SELECT format('CREATE %s TRIGGER %I', CASE WHEN EXISTS (
				SELECT FROM pg_depend d JOIN pg_trigger t ON t.oid = d.objid
				WHERE d.classid = 'pg_trigger'::regclass AND d.refobjid = (a).attachment
					AND t.tgrelid = k.relation AND t.tgname = k.name::name) THEN 'OR REPLACE' END,
			k.name) || k.definition
		FROM stepadv_internal.kept_triggers(a) k JOIN pg_class c ON c.oid = k.relation
		WHERE k.trigger IS NULL AND (k.event <> 'applied' OR NOT c.relispartition)
		ORDER BY k.event = 'applied', stepadv_internal.relation_name(k.relation), k.event
	LOOP
		EXECUTE item;
	END LOOP;
	PERFORM stepadv_internal.enable_trigger(t.trigger, CASE t.event WHEN 'applied' THEN 'R' ELSE 'A' END::"char")
	FROM stepadv_internal.kept_triggers(a) t WHERE t.fires = 'O';
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_triggers(stepadv_internal.attached) IS
'part of maintain and refresh: creates missing triggers, and enables those that it created';

-- Values are stored inline as long as a page has room, and not compressed: they are read more often than written,
-- and hashes do not compress.  Kept tables are unlogged if the source is: after a crash, all of them must be empty.
CREATE FUNCTION stepadv_internal.create_kept(a stepadv_internal.attached, fresh regclass, suffix text, query text,
	comment text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name CONSTANT text := format('%I.%I', (a).schema, (a).prefix || suffix);
	persistence CONSTANT text := (
		SELECT string_agg(DISTINCT c.relpersistence::text, '' ORDER BY c.relpersistence::text)
		FROM stepadv_internal.tables_read(ARRAY[fresh], 0, true) w JOIN pg_class c ON c.oid = w.relation
		WHERE c.relkind = 'r');
BEGIN
	IF persistence = 'pu' THEN
		RAISE EXCEPTION 'cannot maintain groups of %: some of its tables are unlogged, others are not', (a).source
			USING ERRCODE = 'feature_not_supported';
	END IF;
	EXECUTE format('CREATE %sTABLE %s WITH (toast_tuple_target = 8160) AS %s WITH NO DATA; '
		'COMMENT ON TABLE %2$s IS %4$L',
		CASE persistence WHEN 'u' THEN 'UNLOGGED ' END, name, query, comment);
	-- A role may read values while it may read everything that they are folded from.
	IF suffix IN ('_folded', '_digests') THEN
		EXECUTE format('ALTER TABLE %1$s ENABLE ROW LEVEL SECURITY; GRANT SELECT ON %1$s TO PUBLIC; CREATE POLICY '
			'readers ON %1$s FOR SELECT TO PUBLIC USING (stepadv_internal.may_read_kept(%2$L::regclass))', name, fresh);
	END IF;
	RETURN name::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.create_kept(stepadv_internal.attached, regclass, text, text, text) IS
'part of maintain: creates an empty table for the result of a query over the groups that a view folds';

-- Creates the views and empty tables; bring_up fills them.
CREATE FUNCTION stepadv_internal.make_kept(attachment regclass, mode text, watermark text, overlap interval)
	RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	fresh regclass;
	keys text[];
	list text;
	taken text;
	refreshed_at text;
	folded regclass;
	changed regclass;
	seen regclass;
BEGIN
	IF array_position((a).view_kinds, 'values') IS NULL THEN
		RAISE EXCEPTION 'cannot maintain groups of %: there is no view of their values', (a).source
			USING ERRCODE = 'undefined_object',
				HINT = format('Make it first: SELECT * FROM stepadv.add_views(%L, ''{values}'').', (a).source);
	END IF;
	IF octet_length((a).prefix || '_maintain_truncate') > current_setting('max_identifier_length')::integer THEN
		RAISE EXCEPTION 'the name of trigger "%" is longer than % bytes', (a).prefix || '_maintain_truncate',
			current_setting('max_identifier_length')
			USING ERRCODE = 'name_too_long', HINT = 'Attach with a shorter prefix.';
	END IF;
	SELECT c.relname INTO taken
	FROM unnest('{_fresh,_folded,_changed,_folded_pkey,_fresh_digests,_made_digests,_digests,_seen}'::text[]) s
	JOIN pg_class c ON c.relname = (a).prefix || s
	JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = (a).schema LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'relation "%" already exists in schema "%"', taken, (a).schema
			USING ERRCODE = 'duplicate_table', HINT = 'Rename it, or attach with another prefix.';
	END IF;
	PERFORM stepadv_internal.refuse_tables(a, ARRAY[(a).rows], make_kept.watermark IS NULL);
	fresh := stepadv_internal.create_view((a).schema, (a).prefix || '_fresh',
		rtrim(pg_get_viewdef((a).views[array_position((a).view_kinds, 'values')]), '; '),
		'the groups of ' || (a).source || ', folded when asked');
	keys := stepadv_internal.group_columns(fresh, (a).n_group_columns);
	list := stepadv_internal.list(keys, 'f.%1$I'::text, ', '::text);
	refreshed_at := stepadv_internal.free_name(keys || 'rollouts'::text, 'refreshed_at'::text, '_'::text);
	folded := stepadv_internal.create_kept(a, fresh, '_folded'::text,
		format('SELECT %s, f.rollouts, clock_timestamp() AS %I FROM %s f', list, refreshed_at, fresh),
		'groups of ' || (a).source || ', kept by maintain; do not write to it');
	-- Generated columns have what the view _problems needs to know about each group.
	EXECUTE format($sql$
		ALTER TABLE %1$s ADD CONSTRAINT %2$I PRIMARY KEY (%3$s), ALTER rollouts SET STORAGE EXTERNAL,
			ADD %5$I boolean GENERATED ALWAYS AS (stepadv_internal.rows_are_sound(rollouts, %7$L::boolean)) STORED,
			ADD %6$I stepadv_internal.bad_rows[] GENERATED ALWAYS AS (stepadv_internal.lonely_steps(rollouts)) STORED,
			ALTER %6$I SET STATISTICS 0;
		CREATE INDEX ON %1$s (%3$s) WHERE NOT %5$I;
		COMMENT ON COLUMN %1$s.%4$I IS 'when the group was last folded';
		COMMENT ON COLUMN %1$s.%5$I IS 'whether its rows have no problem of those of rollouts';
		COMMENT ON COLUMN %1$s.%6$I IS 'its steps in states of their own'$sql$, folded, (a).prefix || '_folded_pkey',
		stepadv_internal.list(keys, '%1$I'::text, ', '::text), refreshed_at,
		stepadv_internal.free_name(keys, 'is_sound'::text, '_'::text),
		stepadv_internal.free_name(keys, 'lonely_steps'::text, '_'::text),
		'value' = ANY (stepadv_internal.available_roles(a)));
	IF make_kept.mode = 'refresh' THEN
		changed := stepadv_internal.create_kept(a, fresh, '_changed'::text, format('SELECT %s FROM %s f', list, fresh),
			'groups of ' || (a).source || ' that wait to be folded again; NULL: all');
	END IF;
	IF make_kept.watermark IS NOT NULL THEN
		seen := stepadv_internal.create_kept(a, fresh, '_seen'::text, format('SELECT %s, 0::bigint AS n_rows FROM %s f',
			stepadv_internal.list(keys, 'f.%1$I AS k%2$s'::text, ', '::text), fresh),
			'how many rows of the groups of ' || (a).source || ' the last refresh saw; do not write to it');
		EXECUTE format('ALTER TABLE %s ADD PRIMARY KEY (%s)', seen,
			stepadv_internal.list(keys, 'k%2$s'::text, ', '::text));
	END IF;
	EXECUTE format('UPDATE %s SET kept = $1, fresh = $2, folded = $3, changed = $4, watermark = $5, overlap = $6,
		seen = $7', stepadv_internal.relation_name(attachment)) USING make_kept.mode, fresh, folded, changed,
		make_kept.watermark, CASE WHEN make_kept.watermark IS NOT NULL THEN make_kept.overlap END, seen;
	PERFORM stepadv_internal.make_kept_digests(attachment);
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_kept(regclass, text, text, interval) IS
'part of maintain: the views and tables of an attachment''s kept groups';

-- ---- Digests

-- Only if views read them.  Calls and measures from a table whose changes triggers cannot report are not kept, but
-- computed when read.
CREATE FUNCTION stepadv_internal.make_kept_digests(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	by_triggers CONSTANT boolean := (a).watermark IS NULL;
	parts text[] := '{counts,methods,calls,measures,horizons}';
	methods stepadv_internal.made_method[];
	names text[] := stepadv_internal.group_columns((a).rows, (a).n_group_columns);
	name text;
	list text;
	of_rows stepadv_internal.attached := a;		-- as if no groups were kept
	of_groups stepadv_internal.attached := a;	-- reads kept groups without a check of rights: for their owner
	fresh regclass;
	made regclass;
	digests regclass;
	keys text;
	digest text;
BEGIN
	IF NOT (a).view_kinds && ARRAY(SELECT v.suffix FROM stepadv_internal.combined_views v WHERE v.reader IS NOT NULL
		OR v.suffix IN ('groups_over_time', 'progress_over_time', 'pass_at_k', 'flaky'))
	THEN
		RETURN;
	END IF;
	methods := ARRAY(SELECT m
		FROM stepadv_internal.made_methods(a, ARRAY(SELECT k FROM stepadv_internal.methods_of(a) k)) m
		WHERE m.method = ANY ((a).view_kinds) ORDER BY m.number);
	FOREACH name IN ARRAY ARRAY(SELECT d.name FROM stepadv_internal.divisions(a) d WHERE NOT d.is_key ORDER BY d.i)
		|| 'digest'::text LOOP
		names := names || stepadv_internal.free_name(names, name, 'kept_'::text);
	END LOOP;
	list := stepadv_internal.list(names, '%1$I'::text, ', '::text);
	of_rows.folded := NULL;
	of_groups.fresh := NULL;
	FOR i IN 1..2 LOOP
		fresh := stepadv_internal.create_view((a).schema, (a).prefix || '_fresh_digests',
			format('SELECT q.* FROM (%s) q(%s)', stepadv_internal.digest_query(of_rows, methods, parts), list),
			format('the digests of the groups of %s, made when asked', (a).source));
		EXIT WHEN i = 2 OR (stepadv_internal.refusal(a, ARRAY[fresh], by_triggers)).message IS NULL
			OR (stepadv_internal.refusal(a, ARRAY[(a).fresh], by_triggers)).message IS NOT NULL;
		EXECUTE format('DROP VIEW %s', stepadv_internal.relation_name(fresh));
		parts := '{counts,methods,horizons}';
	END LOOP;
	made := stepadv_internal.create_view((a).schema, (a).prefix || '_made_digests',
		format('SELECT q.* FROM (%s) q(%s)', stepadv_internal.digest_query(of_groups, methods, parts), list),
		format('the digests of the groups of %s, from the kept groups', (a).source));
	digests := stepadv_internal.create_kept(a, fresh, '_digests'::text, format('SELECT f.* FROM %s f', fresh),
		format('digests of the groups of %s, kept by maintain; do not write to it. No digest: one of the '
			'methods cannot be computed of the group, or steps of it have yet to come', (a).source));
	keys := stepadv_internal.list(stepadv_internal.group_columns(fresh, (a).n_group_columns), '%1$I'::text, ', '::text);
	SELECT c.attname INTO digest FROM pg_attribute c WHERE c.attrelid = fresh ORDER BY c.attnum DESC LIMIT 1;
	-- Groups without a kept digest are few, but every reader looks for them.
	EXECUTE format('CREATE INDEX ON %1$s (%2$s); CREATE INDEX ON %1$s (%2$s) WHERE %3$I IS NULL; ALTER TABLE %1$s '
		'ALTER %3$I SET STORAGE EXTERNAL', digests, keys, digest);
	EXECUTE format('UPDATE %s SET fresh_digests = $1, made_digests = $2, digests = $3, digest_parts = $4',
		stepadv_internal.relation_name(attachment)) USING fresh, made, digests, parts;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_kept_digests(regclass) IS
'part of maintain: creates the views and the table of digests, if attach created a view that reads them';

-- ---- Dropping

-- In an order such that objects that depend on each other are dropped by one command.
CREATE FUNCTION stepadv_internal.kept_relations(a stepadv_internal.attached) RETURNS regclass[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT array_remove(ARRAY[(a).made_digests, (a).folded, (a).changed, (a).seen, (a).digests, (a).fresh,
		(a).fresh_digests], NULL)
$$;
COMMENT ON FUNCTION stepadv_internal.kept_relations(stepadv_internal.attached) IS
'tables and views that maintain made for an attachment';

-- Drops what exists: some tables may have been dropped before.
CREATE FUNCTION stepadv_internal.drop_kept(attachment regclass, views_again boolean, cascade boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	item text;
BEGIN
	-- If not, the attachment is about to be dropped.  Then avoid writing to a user's
	-- table, which may have triggers, with the rights of the caller of detach.
	IF drop_kept.views_again THEN
		EXECUTE format('UPDATE %s SET %s', stepadv_internal.relation_name(attachment), stepadv_internal.list(
			'{kept,fresh,folded,changed,fresh_digests,made_digests,digests,digest_parts,watermark,overlap,seen,
			seen_until,as_of,folded_from}'::text[], '%1$I = NULL'::text, ', '::text));
		PERFORM stepadv_internal.make_views((a).attachment, NULL::text[]);
	END IF;
	PERFORM stepadv_internal.drop_triggers(attachment, ARRAY(SELECT DISTINCT w.relation FROM
		stepadv_internal.tables_read(ARRAY[(a).fresh, (a).fresh_digests], (a).n_group_columns, true) w));
	FOR item IN
		SELECT format('DROP %s %s%s', k.kind, string_agg(stepadv_internal.relation_name(k.relation), ', '),
			CASE WHEN cascade THEN ' CASCADE' END)
		FROM (SELECT u.relation, CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END AS kind,
				CASE WHEN u.relation = (a).made_digests THEN 0 WHEN c.relkind = 'v' THEN 2 ELSE 1 END AS i
			FROM unnest(stepadv_internal.kept_relations(a)) u(relation) JOIN pg_class c ON c.oid = u.relation) k
		GROUP BY k.i, k.kind ORDER BY k.i
	LOOP
		EXECUTE item;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.drop_kept(regclass, boolean, boolean) IS
'part of unmaintain and detach: drops what maintain made for an attachment; views_again: and makes its views fold '
'again; cascade: with what depends on it';

-- For several processes under one Append, each of which runs some of the parts. The query must be parallel safe.
CREATE FUNCTION stepadv_internal.digests_of_part(digests anyelement, query text, n_parts integer, part integer)
	RETURNS SETOF anyelement
LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1000000 ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY EXECUTE digests_of_part.query USING digests_of_part.n_parts, digests_of_part.part;
END
$$;
COMMENT ON FUNCTION stepadv_internal.digests_of_part(anyelement, text, integer, integer) IS
'part of maintain and refresh: the rows of a query for a part of the groups; digests: only for the type of its rows';

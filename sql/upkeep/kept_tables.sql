-- Companion tables: a group's value kept beside the rows that it is folded from.
--
-- maintain makes, beside the views <prefix>_… of attach, and writes into the attachment:
--
--	<prefix>_fresh		view: what <prefix>_values was, the fold of the rows
--	<prefix>_folded		table: its rows, kept
--	<prefix>_changed	table: keys of groups that wait to be folded (with 'refresh' and 'watermark')
--	<prefix>_fresh_digests	view: the digests of the groups, made of the rows
--	<prefix>_made_digests	view: the same, made of the kept groups, unless these are divided
--	<prefix>_digests		table: what these say, kept.  It belongs to the groups, and who may write
--							it is who holds their rows in <prefix>_folded
--
-- and triggers on the tables below.  What they do is in src/upkeep/: everything is
-- folded with the rights of the attachment's owner, who owns all of these.
-- The columns of the group come first in everything that is kept.

-- What the C half gives.
CREATE FUNCTION stepadv_internal.keep_groups() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_keep_groups';
COMMENT ON FUNCTION stepadv_internal.keep_groups() IS 'statement trigger of the tables below an attachment whose groups are kept; its condition names the attachment';

CREATE FUNCTION stepadv_internal.keep_groups_of_rows() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_keep_groups_of_rows';
COMMENT ON FUNCTION stepadv_internal.keep_groups_of_rows() IS 'row trigger of the tables below an attachment whose groups are kept: does in the apply worker of logical replication what keep_groups does elsewhere, and elsewhere nothing; its condition names the attachment';

-- What the triggers compare of long arrays: src/upkeep/stored_image.c.
CREATE FUNCTION stepadv_internal.stored_image(value anyarray) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_stored_image';
COMMENT ON FUNCTION stepadv_internal.stored_image(anyarray) IS 'an array as it is stored, where it lies outside its row: the place; values of one image are the same';

CREATE FUNCTION stepadv_internal.fold_groups(attachment regclass, everything boolean) RETURNS bigint
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stepadv_fold_groups';
COMMENT ON FUNCTION stepadv_internal.fold_groups(regclass, boolean) IS 'folds the kept groups of an attachment that wait, or everything; how many; for its owner';

CREATE FUNCTION stepadv_internal.drop_triggers(attachment regclass, tables regclass[]) RETURNS integer
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stepadv_drop_triggers';
COMMENT ON FUNCTION stepadv_internal.drop_triggers(regclass, regclass[]) IS
'drops the triggers that keep the groups of an attachment, on tables of its owner and on those given, whoever owns these by now; how many; for its owner';

CREATE FUNCTION stepadv_internal.watched_tables(views regclass[], n_keys integer)
RETURNS TABLE (relation regclass, base regclass, keys smallint[], reads smallint[])
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_watched_tables';
COMMENT ON FUNCTION stepadv_internal.watched_tables(regclass[], integer) IS
'the tables below views (base), each with its partitions or children and its parents: the numbers of their columns that are the group''s (0: cannot be told) and of those that are read (NULL: all)';

CREATE FUNCTION stepadv_internal.has_group_index(relation regclass, keys smallint[]) RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_has_group_index';
COMMENT ON FUNCTION stepadv_internal.has_group_index(regclass, smallint[]) IS 'whether an index of a table begins with these columns, in any order';

CREATE FUNCTION stepadv_internal.may_read_kept_support(internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_may_read_kept_support';
COMMENT ON FUNCTION stepadv_internal.may_read_kept_support(internal) IS 'tells the planner that may_read_kept leaves out no row';

CREATE FUNCTION stepadv_internal.may_read_kept(view regclass) RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL SAFE SUPPORT stepadv_internal.may_read_kept_support AS 'MODULE_PATHNAME', 'stepadv_may_read_kept';
COMMENT ON FUNCTION stepadv_internal.may_read_kept(regclass) IS
'policy of kept tables: true if the current user may read the columns of the tables below the view, and row security does not apply to him there; otherwise an error';

-- The columns of the group as k1, k2, ...: an alias for whatever relation.
CREATE FUNCTION stepadv_internal.k_columns(number integer, template text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format(k_columns.template, i), ', ' ORDER BY i) FROM generate_series(1, k_columns.number) i
$$;
COMMENT ON FUNCTION stepadv_internal.k_columns(integer, text) IS 'a list of k1, k2, ..., as which the columns of the group are known';

CREATE FUNCTION stepadv_internal.same_group(one text, other text, types_of regclass, number integer) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format('%1$s.k%2$s %3$s %4$s.k%2$s', same_group.one, a.attnum, stepadv_internal.equality_operator(a.atttypid), same_group.other), ' AND ' ORDER BY a.attnum)
	FROM pg_attribute a WHERE a.attrelid = same_group.types_of AND a.attnum BETWEEN 1 AND same_group.number
$$;
COMMENT ON FUNCTION stepadv_internal.same_group(text, text, regclass, integer) IS 'the condition that two aliases with columns k1, k2, ... have the same group';

-- Those of them that are kept; an error if there are none, unless none will do.
CREATE FUNCTION stepadv_internal.own_maintained(source regclass, prefix text, or_none boolean) RETURNS regclass[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kept CONSTANT regclass[] := ARRAY(SELECT o.attachment FROM stepadv_internal.own_attachments(own_maintained.source, own_maintained.prefix) o WHERE o.kept IS NOT NULL);
BEGIN
	IF own_maintained.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF kept = '{}' AND NOT stepadv_internal.owns(own_maintained.source, true) THEN
		RAISE EXCEPTION 'must be owner of %', own_maintained.source USING ERRCODE = 'insufficient_privilege';
	ELSIF kept = '{}' AND NOT own_maintained.or_none THEN
		RAISE EXCEPTION 'groups of % are not maintained', concat(own_maintained.source, ' with prefix ' || quote_ident(own_maintained.prefix))
			USING ERRCODE = 'undefined_object', HINT = 'Call maintain first.';
	END IF;
	RETURN kept;
END
$$;
COMMENT ON FUNCTION stepadv_internal.own_maintained(regclass, text, boolean) IS 'the attachments over a source whose groups are kept, of roles whose rights the current user has; error if none';

CREATE FUNCTION stepadv_internal.kept_triggers(attachment regclass) RETURNS TABLE (relation regclass, event text, is_disabled boolean)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT t.tgrelid::regclass, e.event, t.tgenabled IN ('D', 'R')
	FROM pg_depend d JOIN pg_trigger t ON t.oid = d.objid
	JOIN (VALUES ('INSERT', 4), ('DELETE', 8), ('UPDATE', 16), ('TRUNCATE', 32)) e(event, bit) ON t.tgtype & e.bit <> 0
	WHERE d.classid = 'pg_trigger'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = kept_triggers.attachment
		AND t.tgfoid = 'stepadv_internal.keep_groups()'::regprocedure
$$;
COMMENT ON FUNCTION stepadv_internal.kept_triggers(regclass) IS 'the triggers that keep the groups of an attachment';

-- What is kept

CREATE FUNCTION stepadv_internal.set_kept(attachment regclass, kept text, fresh regclass, folded regclass, changed regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format('UPDATE %s SET kept = $1, fresh = $2, folded = $3, changed = $4, fresh_digests = NULL, made_digests = NULL, digests = NULL, '
		'digest_parts = NULL, watermark = NULL, overlap = NULL, seen = NULL, seen_until = NULL, as_of = NULL, folded_from = NULL', set_kept.attachment)
		USING set_kept.kept, set_kept.fresh, set_kept.folded, set_kept.changed;
END
$$;
COMMENT ON FUNCTION stepadv_internal.set_kept(regclass, text, regclass, regclass, regclass) IS 'part of maintain: writes into an attachment what is kept';

-- Statement triggers fire for the table that the statement names: one is needed
-- on each partition and child, and on each parent, through which rows may come.
-- The condition is always true: it says whose trigger it is, and is there for the
-- dependencies: who drops a companion with CASCADE must not leave triggers that fail.
CREATE FUNCTION stepadv_internal.make_triggers(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	item text;
BEGIN
	PERFORM stepadv_internal.refuse_tables(make_triggers.attachment);
	FOR item IN
		SELECT format('CREATE TRIGGER %I AFTER %s ON %I.%I %s FOR EACH STATEMENT WHEN (%s) EXECUTE FUNCTION stepadv_internal.keep_groups()',
			a.prefix || '_maintain_' || lower(e.event), e.event, n.nspname, c.relname, e.tables,
			(SELECT string_agg(format('%L::regclass IS NOT NULL', k), ' AND ') FROM unnest(ARRAY[a.attachment, a.folded, a.changed]) k WHERE k IS NOT NULL))
		FROM stepadv_internal.attachments(NULL::oid, NULL::regclass) a
		CROSS JOIN LATERAL (SELECT DISTINCT w.relation FROM stepadv_internal.watched_tables(ARRAY[a.fresh, a.fresh_digests], a.n_group_columns) w) w
		JOIN pg_class c ON c.oid = w.relation JOIN pg_namespace n ON n.oid = c.relnamespace
		CROSS JOIN (VALUES ('INSERT', 'REFERENCING NEW TABLE AS new_rows'), ('UPDATE', 'REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows'),
			('DELETE', 'REFERENCING OLD TABLE AS old_rows'), ('TRUNCATE', '')) e(event, tables)
		WHERE a.attachment = make_triggers.attachment
			AND NOT EXISTS (SELECT FROM stepadv_internal.kept_triggers(a.attachment) t WHERE t.relation = w.relation AND t.event = e.event)
		ORDER BY n.nspname, c.relname, e.event
	LOOP
		EXECUTE item;
	END LOOP;
	PERFORM stepadv_internal.make_row_triggers(make_triggers.attachment);
	PERFORM stepadv_internal.enable_triggers(make_triggers.attachment);
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_triggers(regclass) IS 'part of maintain: makes the triggers that are missing';

-- A view's query under another name.
CREATE FUNCTION stepadv_internal.copy_view(view regclass, schema text, name text, comment text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	copy CONSTANT text := format('%I.%I', copy_view.schema, copy_view.name);
BEGIN
	EXECUTE format('CREATE VIEW %s %sAS %s', copy, CASE WHEN stepadv_internal.server_has('security_invoker'::text) THEN 'WITH (security_invoker = true) ' END,
		rtrim(pg_get_viewdef(copy_view.view), '; '));
	EXECUTE format('COMMENT ON VIEW %s IS %L', copy, copy_view.comment);
	RETURN copy::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.copy_view(regclass, text, text, text) IS 'part of maintain: the fold as it was, under a name of its own';

-- Who may read all that a value is folded from may read the value, as long as he may.
CREATE FUNCTION stepadv_internal.let_readers(kept regclass, fresh regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format('ALTER TABLE %1$s ENABLE ROW LEVEL SECURITY; GRANT SELECT ON %1$s TO PUBLIC; '
		'CREATE POLICY readers ON %1$s FOR SELECT TO PUBLIC USING (stepadv_internal.may_read_kept(%2$L::regclass))', kept, fresh);
END
$$;
COMMENT ON FUNCTION stepadv_internal.let_readers(regclass, regclass) IS 'part of maintain: lets those read a kept table who may read what it is folded from';

-- Values stay in line as long as a page has room, and as they are: they are
-- read more often than written, and hashes do not compress.
CREATE FUNCTION stepadv_internal.make_folded(fresh regclass, n_keys integer, schema text, name text, unlogged text, source regclass) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	folded CONSTANT text := format('%I.%I', make_folded.schema, make_folded.name);
	kept_at text := 'refreshed_at';
BEGIN
	WHILE EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = make_folded.fresh AND a.attname = kept_at) LOOP
		kept_at := '_' || kept_at;
	END LOOP;
	EXECUTE format('CREATE %sTABLE %s WITH (toast_tuple_target = 8160) AS SELECT %s, f.rollouts, clock_timestamp() AS %I FROM %s f WITH NO DATA',
		unlogged, folded, stepadv_internal.list(stepadv_internal.group_columns(fresh, n_keys), 'f.%1$I'::text, ', '::text), kept_at, fresh);
	EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I PRIMARY KEY (%s), ALTER rollouts SET STORAGE EXTERNAL',
		folded, make_folded.name || '_pkey', stepadv_internal.list(stepadv_internal.group_columns(fresh, n_keys), '%1$I'::text, ', '::text));
	EXECUTE format('COMMENT ON TABLE %s IS %L', folded, 'groups of ' || make_folded.source || ', kept by stepadv.maintain; do not write to it');
	EXECUTE format('COMMENT ON COLUMN %s.%I IS %L', folded, kept_at, 'when the group was last folded');
	PERFORM stepadv_internal.let_readers(folded::regclass, fresh);
	RETURN folded::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_folded(regclass, integer, text, text, text, regclass) IS 'part of maintain: the table of groups';

CREATE FUNCTION stepadv_internal.make_changed(fresh regclass, n_keys integer, schema text, prefix text, unlogged text, source regclass) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	changed CONSTANT text := format('%I.%I', make_changed.schema, make_changed.prefix || '_changed');
BEGIN
	EXECUTE format('CREATE %sTABLE %s AS SELECT %s FROM %s f WITH NO DATA', unlogged, changed, stepadv_internal.list(stepadv_internal.group_columns(fresh, n_keys), 'f.%1$I'::text, ', '::text), fresh);
	EXECUTE format('COMMENT ON TABLE %s IS %L', changed, 'groups of ' || make_changed.source || ' that wait to be folded again; NULL: all');
	RETURN changed::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_changed(regclass, integer, text, text, text, regclass) IS 'part of maintain: the table of groups that wait';

-- After a crash unlogged tables are empty: all of them, or the companion would be wrong.
CREATE FUNCTION stepadv_internal.unlogged_as(views regclass[], source regclass) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kinds text;
BEGIN
	SELECT string_agg(DISTINCT c.relpersistence::text, '' ORDER BY c.relpersistence::text) INTO kinds
	FROM stepadv_internal.watched_tables(unlogged_as.views, 0) w JOIN pg_class c ON c.oid = w.relation WHERE c.relkind = 'r';
	IF kinds = 'pu' THEN
		RAISE EXCEPTION 'cannot maintain groups of %: some of its tables are unlogged, others are not', unlogged_as.source
			USING ERRCODE = 'feature_not_supported';
	END IF;
	RETURN CASE kinds WHEN 'u' THEN 'UNLOGGED ' ELSE '' END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.unlogged_as(regclass[], regclass) IS 'part of maintain: UNLOGGED if the tables below are';

-- An error if a name is taken, or too long.
CREATE FUNCTION stepadv_internal.refuse_names(schema text, prefix text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	max_length CONSTANT integer := current_setting('max_identifier_length')::integer;
	item text;
BEGIN
	IF octet_length(refuse_names.prefix || '_maintain_truncate') > max_length THEN
		RAISE EXCEPTION 'the name of trigger "%" is longer than % bytes', refuse_names.prefix || '_maintain_truncate', max_length
			USING ERRCODE = 'name_too_long', HINT = 'Attach with a shorter prefix.';
	END IF;
	SELECT c.relname INTO item
	FROM unnest('{_fresh,_folded,_changed,_folded_pkey,_fresh_digests,_made_digests,_digests,_seen}'::text[]) s
	JOIN pg_class c ON c.relname = refuse_names.prefix || s JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = refuse_names.schema
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'relation "%" already exists in schema "%"', item, refuse_names.schema
			USING ERRCODE = 'duplicate_table', HINT = 'Rename it, or attach with another prefix.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_names(text, text) IS 'part of maintain: error if a name of what is to be made is taken';

-- The companion, empty, and nobody who fills it yet.
CREATE FUNCTION stepadv_internal.make_kept(attachment regclass, how text, over_time boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	schema CONSTANT text := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = make_kept.attachment);
	on_shards CONSTANT boolean := make_kept.how = 'watermark' AND stepadv_internal.is_distributed(ARRAY[(a).rows]);
	unlogged text;
	fresh regclass;
	folded regclass;
	changed regclass;
BEGIN
	PERFORM stepadv_internal.refuse_names(schema, (a).prefix);
	IF make_kept.how <> 'watermark' THEN
		PERFORM stepadv_internal.refuse_kinds(a);
	END IF;
	fresh := stepadv_internal.copy_view((a).views[array_position((a).view_kinds, 'values')], schema, (a).prefix || '_fresh',
		'the groups of ' || (a).source || ', folded when asked');
	unlogged := stepadv_internal.unlogged_as(ARRAY[fresh], (a).source);
	folded := stepadv_internal.make_folded(fresh, (a).n_group_columns, schema, (a).prefix || '_folded', unlogged, (a).source);
	IF on_shards THEN
		PERFORM stepadv_internal.put_on_shards(a, folded);
	ELSIF make_kept.how <> 'triggers' THEN
		changed := stepadv_internal.make_changed(fresh, (a).n_group_columns, schema, (a).prefix, unlogged, (a).source);
	END IF;
	PERFORM stepadv_internal.set_kept(make_kept.attachment, make_kept.how, fresh, folded, changed);
	-- On shards the values alone are kept: what else is asked is computed of them, there, too.
	IF make_kept.over_time AND NOT on_shards THEN
		PERFORM stepadv_internal.make_kept_digests(make_kept.attachment);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_kept(regclass, text, boolean) IS 'part of maintain: the views and tables of an attachment''s kept groups';

-- What depends on each other in one command.
CREATE FUNCTION stepadv_internal.kept_relations(a stepadv_internal.attached) RETURNS regclass[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT array_remove(ARRAY[(a).made_digests, (a).folded, (a).changed, (a).seen, (a).digests, (a).fresh, (a).fresh_digests], NULL)
$$;
COMMENT ON FUNCTION stepadv_internal.kept_relations(stepadv_internal.attached) IS
'tables and views that maintain made for an attachment';

-- All that maintain made goes, and what is there of it goes: a table may have been dropped before.
CREATE FUNCTION stepadv_internal.drop_kept(attachment regclass, views_again boolean, cascade boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	item text;
BEGIN
	-- Otherwise the attachment is about to be dropped: nothing is written into
	-- somebody's table, which may have triggers, with the rights of who detaches.
	IF drop_kept.views_again THEN
		PERFORM stepadv_internal.set_kept((a).attachment, NULL::text, NULL::regclass, NULL::regclass, NULL::regclass);
		PERFORM stepadv_internal.make_views((a).attachment, NULL::text[]);
		PERFORM stepadv_internal.say_age((a).attachment);
	END IF;
	PERFORM stepadv_internal.drop_triggers(attachment,
		ARRAY(SELECT w.relation FROM stepadv_internal.watched_tables(array_remove(ARRAY[(a).fresh, (a).fresh_digests], NULL), (a).n_group_columns) w));
	FOR item IN
		SELECT format('DROP %s %s%s', k.kind, string_agg(stepadv_internal.relation_name(k.relation), ', '), CASE WHEN cascade THEN ' CASCADE' END)
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
'part of unmaintain and detach: drops what maintain made for an attachment; views_again: and makes its views fold again; cascade: with what depends on it';

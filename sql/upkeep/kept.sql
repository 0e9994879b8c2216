-- Kept groups: a group's value and its digests, stored in tables.
--
-- maintain creates these views and tables beside those of attach, records them in the attachment, and creates
-- triggers on the tables below:
--
--	<prefix>_fresh			view: folds the rows, as <prefix>_values did
--	<prefix>_folded			table: the result of _fresh
--	<prefix>_changed		table: keys of pending groups (mode => 'refresh')
--	<prefix>_seen			table: the number of rows that refresh saw of each group (with a watermark)
--	<prefix>_fresh_digests	view: the digests of the groups, from the rows
--	<prefix>_made_digests	view: the same, from the kept groups
--	<prefix>_digests		table: the result of _made_digests.  A writer must hold locks on the groups' rows in
--							<prefix>_folded
--
-- The triggers are in src/upkeep/: they fold with the privileges of the attachment's owner, who owns all of these.
-- The group's columns come first in all of them.

CREATE FUNCTION stepadv_internal.keep_groups() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_keep_groups';
COMMENT ON FUNCTION stepadv_internal.keep_groups() IS
'trigger of the tables below an attachment whose groups are kept, for statements and for rows: the latter do '
'nothing except in the apply worker of logical replication; its condition names the attachment';

-- Triggers compare long arrays by these images: src/upkeep/stored_image.c.
CREATE FUNCTION stepadv_internal.stored_image(value anyarray) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_stored_image';
COMMENT ON FUNCTION stepadv_internal.stored_image(anyarray) IS
'the stored form of an array; outside its row: its place. Values with the same image are equal';

CREATE FUNCTION stepadv_internal.fold_groups(attachment regclass, everything boolean) RETURNS bigint
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stepadv_fold_groups';
COMMENT ON FUNCTION stepadv_internal.fold_groups(regclass, boolean) IS
'folds the pending groups of an attachment, or all groups; returns their number; for its owner';

CREATE FUNCTION stepadv_internal.kept_text(attachment regclass, template text) RETURNS text
LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'stepadv_kept_text';
COMMENT ON FUNCTION stepadv_internal.kept_text(regclass, text) IS
'a statement about the kept groups of an attachment: names in the holes of a template, see '
'src/upkeep/kept_text.c; NULL if no groups are kept';

CREATE FUNCTION stepadv_internal.enable_trigger(trigger oid, fires "char") RETURNS void
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stepadv_enable_trigger';
COMMENT ON FUNCTION stepadv_internal.enable_trigger(oid, "char") IS
'part of maintain: sets when a trigger that it created fires: A always, R in logical replication; for the owner of its '
'table';

CREATE FUNCTION stepadv_internal.drop_triggers(attachment regclass, tables regclass[]) RETURNS integer
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'stepadv_drop_triggers';
COMMENT ON FUNCTION stepadv_internal.drop_triggers(regclass, regclass[]) IS
'drops the triggers that keep the groups of an attachment, on tables of its owner and on the given ones, which '
'may have another owner by now; returns their number; for its owner';

-- src/upkeep/transactions.c
CREATE FUNCTION stepadv_internal.oldest_transaction() RETURNS timestamptz
LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'stepadv_oldest_transaction';
COMMENT ON FUNCTION stepadv_internal.oldest_transaction() IS
'start of the oldest running transaction of the database; now, if there is none. Sessions without '
'track_activities and prepared transactions are not counted';

-- ---- Of an attachment

CREATE FUNCTION stepadv_internal.own_maintained(source regclass, prefix text, or_none boolean) RETURNS regclass[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kept CONSTANT regclass[] := ARRAY(
		SELECT o.attachment FROM stepadv_internal.own_attachments(own_maintained.source, own_maintained.prefix) o
		WHERE o.kept IS NOT NULL);
BEGIN
	IF own_maintained.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF kept = '{}' AND NOT stepadv_internal.owns(own_maintained.source, true) THEN
		RAISE EXCEPTION 'must be owner of %', own_maintained.source USING ERRCODE = 'insufficient_privilege';
	ELSIF kept = '{}' AND NOT own_maintained.or_none THEN
		RAISE EXCEPTION 'groups of % are not maintained',
			concat(own_maintained.source, ' with prefix ' || quote_ident(own_maintained.prefix))
			USING ERRCODE = 'undefined_object', HINT = 'Call maintain first.';
	END IF;
	RETURN kept;
END
$$;
COMMENT ON FUNCTION stepadv_internal.own_maintained(regclass, text, boolean) IS
'the attachments over a source whose groups are kept, of roles whose rights the current user has; error if none, '
'unless or_none';

-- Statement triggers fire for the table named in the statement, so each partition and child needs one, and each
-- parent through which rows can be written. The apply worker of logical replication fires only row triggers; a
-- partition gets its row trigger from its parent's. The condition is always true: it identifies the attachment, and
-- makes the trigger depend on the kept tables, so that DROP TABLE ... CASCADE leaves no failing triggers.
--
-- definition is what pg_get_triggerdef returns of such a trigger, also with quote_all_identifiers: one that a
-- user replaced by another has another definition, and does not count.
CREATE FUNCTION stepadv_internal.kept_triggers(a stepadv_internal.attached)
RETURNS TABLE (relation regclass, event text, name text, definition text, trigger oid, fires "char")
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off
AS $$
DECLARE
	condition CONSTANT text := (
		SELECT string_agg(format('(''%s''::regclass IS NOT NULL)', replace(k::text, '''', '''''')), ' AND ')
		FROM unnest(ARRAY[(a).attachment, (a).folded, (a).changed]) k WHERE k IS NOT NULL);
BEGIN
	RETURN QUERY SELECT w.relation, e.event, n.name, d.definition, t.oid, t.tgenabled
	FROM (SELECT DISTINCT r.relation
		FROM stepadv_internal.tables_read(ARRAY[(a).fresh, (a).fresh_digests], (a).n_group_columns, true) r) w
	CROSS JOIN (VALUES
		('delete', 8, 'DELETE', ' REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT'),
		('insert', 4, 'INSERT', ' REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT'),
		('truncate', 32, 'TRUNCATE', ' FOR EACH STATEMENT'),
		('update', 16, 'UPDATE', ' REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT'),
		('applied', 29, 'INSERT OR DELETE OR UPDATE', ' FOR EACH ROW')
	) e(event, type, events, rows)
	CROSS JOIN LATERAL concat((a).prefix, '_maintain_', e.event) n(name)
	CROSS JOIN LATERAL format(' AFTER %s ON %s%s WHEN ((%s)) EXECUTE FUNCTION stepadv_internal.keep_groups()',
		e.events, stepadv_internal.relation_name(w.relation), e.rows, condition) d(definition)
	LEFT JOIN pg_trigger t ON t.tgrelid = w.relation AND t.tgtype = e.type
		AND pg_get_triggerdef(t.oid) = format('CREATE TRIGGER %I', t.tgname) || d.definition;
END
$$;
COMMENT ON FUNCTION stepadv_internal.kept_triggers(stepadv_internal.attached) IS
'the triggers that keep the groups of an attachment: on which table, for which event (applied: rows that logical '
'replication writes), name, definition without it; trigger: the existing one, NULL: none, and when it fires, as in '
'pg_trigger.tgenabled';

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
'statement trigger of the tables below an attachment whose groups are kept; its condition names the attachment';

CREATE FUNCTION stepadv_internal.keep_groups_of_rows() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_keep_groups_of_rows';
COMMENT ON FUNCTION stepadv_internal.keep_groups_of_rows() IS
'row trigger of the tables below an attachment whose groups are kept: does in the apply worker of logical '
'replication what keep_groups does elsewhere, and elsewhere nothing; its condition names the attachment';

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

-- A row trigger on a partition depends on the trigger of its parent. A trigger that was replaced by one with another
-- condition, or for some columns, does not count: its condition is that some constants of type regclass are not NULL.
CREATE FUNCTION stepadv_internal.kept_triggers(attachment regclass)
RETURNS TABLE (relation regclass, trigger oid, event text, fires "char")
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY WITH RECURSIVE made AS (
		SELECT t.oid, t.tgrelid, t.tgenabled, t.tgtype, t.tgfoid
		FROM pg_depend d JOIN pg_trigger t ON t.oid = d.objid
		WHERE d.classid = 'pg_trigger'::regclass AND d.refclassid = 'pg_class'::regclass
			AND d.refobjid = kept_triggers.attachment AND t.tgfoid IN (
				'stepadv_internal.keep_groups()'::regprocedure, 'stepadv_internal.keep_groups_of_rows()'::regprocedure)
			AND t.tgattr::text = '' AND t.tgqual::text !~ ('\{(?!BOOLEXPR :boolop and |NULLTEST |CONST :consttype '
				|| 'regclass'::regtype::oid || ' )|:nulltesttype 0|:constisnull true')
		UNION
		SELECT t.oid, t.tgrelid, t.tgenabled, t.tgtype, t.tgfoid
		FROM made m JOIN pg_inherits i ON i.inhparent = m.tgrelid
		JOIN pg_trigger t ON t.tgrelid = i.inhrelid AND t.tgparentid = m.oid
	)
	SELECT m.tgrelid::regclass, m.oid, e.event, m.tgenabled
	FROM made m
	JOIN (VALUES ('applied', 1), ('insert', 4), ('delete', 8), ('update', 16), ('truncate', 32)) e(event, bit)
		ON m.tgtype & e.bit <> 0 AND (m.tgtype & 1 = 0 OR e.event = 'applied');
END
$$;
COMMENT ON FUNCTION stepadv_internal.kept_triggers(regclass) IS
'the triggers that keep the groups of an attachment: on which table, for which event (applied: rows that logical '
'replication writes), and when they fire, as in pg_trigger.tgenabled';

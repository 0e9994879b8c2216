-- maintained and check_maintained: how old kept groups are, and whether they are correct.

-- Reads only catalogs: why changes of the tables below are missed, or kept groups are stale.
CREATE FUNCTION stepadv_internal.problems_of_kept(a stepadv_internal.attached) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY WITH below AS (
		SELECT w.relation, bool_or(w.relation = w.base) AS is_read
		FROM stepadv_internal.tables_read(ARRAY[(a).fresh, (a).fresh_digests], (a).n_group_columns, true) w
		GROUP BY w.relation
	), triggers AS (
		SELECT t.relation, count(DISTINCT t.event) FILTER (WHERE t.event <> 'applied' AND t.fires IS NOT NULL) AS n,
			count(*) FILTER (WHERE t.event <> 'applied' AND t.fires IN ('D', 'R')) AS n_disabled,
			count(*) FILTER (WHERE t.event <> 'applied' AND t.fires = 'O') AS n_not_always,
			count(*) FILTER (WHERE t.event = 'applied' AND t.fires IN ('R', 'A')) AS n_applied
		FROM stepadv_internal.kept_triggers(a) t GROUP BY t.relation
	), tables AS (
		SELECT w.*, c.relrowsecurity, c.relowner, c.relispartition, e.kind, e.is_here,
			(a).watermark IS NULL AS by_triggers, t.*
		FROM below w JOIN pg_class c ON c.oid = w.relation
		CROSS JOIN LATERAL stepadv_internal.engine_table(w.relation) e
		JOIN triggers t(name, n, n_disabled, n_not_always, n_applied) ON t.name = w.relation
	)
	SELECT format(p.problem, t.relation, t.kind) FROM tables t CROSS JOIN LATERAL (VALUES
		(t.by_triggers AND t.n < 4 AND NOT (t.relispartition AND pg_relation_size(t.relation) = 0),
			'changes of %s are not seen: it lacks triggers'),
		(t.by_triggers AND t.n >= 4 AND t.n_disabled > 0, 'changes of %s are not seen: triggers are disabled'),
		(t.by_triggers AND t.n_not_always > 0, 'changes of %s in sessions with session_replication_role = replica are '
			'not seen: its triggers are not always enabled'),
		(t.by_triggers AND t.n_applied = 0
			AND EXISTS (SELECT FROM pg_subscription_rel s WHERE s.srrelid = t.relation),
			'changes that logical replication brings to %s are not seen: its row trigger is missing or disabled'),
		(t.by_triggers AND t.kind IS NOT NULL, 'changes of %s are not seen: it is a %s'),
		(NOT t.by_triggers AND NOT t.is_here, 'groups of %s can no longer be refreshed: it is a %s'),
		(t.is_read AND t.relrowsecurity, 'groups of %s are kept for all of its rows: it has row-level security now'),
		(t.is_read AND t.by_triggers AND t.relowner <> (a).owner,
			'groups of %s are kept by ' || quote_ident(pg_get_userbyid((a).owner)) || ': its owner is another now')
	) p(is_so, problem) WHERE p.is_so
	UNION ALL
	SELECT p.problem FROM (VALUES
		((a).folded IS NULL, 'the table of groups is gone'),
		((a).watermark IS NOT NULL AND ((a).seen IS NULL OR (a).changed IS NULL),
			'groups can no longer be refreshed: one of their tables does not exist')) p(is_so, problem) WHERE p.is_so;
END
$$;
COMMENT ON FUNCTION stepadv_internal.problems_of_kept(stepadv_internal.attached) IS
'part of maintained and check_maintained: the reasons why changes of the tables below are missed';

-- Reads attachments one by one, so that an error in the objects of one owner does not affect others.
CREATE FUNCTION stepadv.maintained()
RETURNS TABLE (source regclass, prefix text, mode text, as_of timestamptz, age interval, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a stepadv_internal.attached;
	lost stepadv.attachment;
	relation text;
BEGIN
	FOR a IN
		SELECT * FROM stepadv_internal.attachments(NULL::oid, NULL::regclass) k WHERE k.kept IS NOT NULL
		ORDER BY stepadv_internal.relation_name(k.source), k.prefix, k.attachment
	LOOP
		source := a.source;
		prefix := a.prefix;
		mode := a.kept;
		BEGIN
			SELECT string_agg(c.problem, '; ' ORDER BY c.problem) INTO problem FROM (
				SELECT * FROM stepadv_internal.problems_of_kept(a)
				UNION ALL SELECT (stepadv_internal.staleness_of_kept(a)).problem) c(problem);
		EXCEPTION WHEN OTHERS THEN
			problem := 'it is not known whether groups are stale: ' || SQLERRM;
		END;
		as_of := CASE WHEN problem IS NULL THEN CASE a.kept WHEN 'triggers' THEN clock_timestamp() ELSE a.as_of END END;
		age := clock_timestamp() - as_of;
		RETURN NEXT;
	END LOOP;
	-- Also attachments whose source was dropped with CASCADE, or recreated to distribute it, while views
	-- still read the kept groups.  Rows of other roles' attachments are not read.
	FOR relation IN
		SELECT stepadv_internal.relation_name(c.oid::regclass) FROM pg_class c
		WHERE c.reloftype = 'stepadv.attachment'::regtype AND c.relkind = 'r' AND NOT c.relrowsecurity
			AND stepadv_internal.owns(c.oid::regclass, false)
			AND (stepadv_internal.known(c.oid::regclass)).attachment IS NULL ORDER BY c.oid::regclass::text
	LOOP
		EXECUTE format('SELECT * FROM ONLY %s LIMIT 1', relation) INTO lost;
		CONTINUE WHEN lost.kept IS NULL OR NOT EXISTS (SELECT FROM pg_class c
			WHERE c.oid = ANY (lost.views) AND c.relkind = 'v');
		source := NULL;
		prefix := lost.prefix;
		mode := lost.kept;
		as_of := CASE WHEN lost.kept <> 'triggers' THEN lost.as_of END;
		age := clock_timestamp() - as_of;
		problem := format('groups of %s are no longer kept: their source is gone, or was made anew', relation);
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv.maintained() IS
'one row per kept attachment of the caller, or of roles whose privileges they have: mode of maintain; as_of: '
'changes committed before are included, NULL: groups are or may be stale; age; problem: why (another partition, a '
'replaced view, missing triggers); source NULL: dropped; reads only catalogs';

-- ---- Comparison with a fresh fold

-- In one snapshot.  Pending groups are skipped, since they may be stale, as are groups whose digest is computed when
-- read: nothing is kept, and computing it would raise an error.
CREATE FUNCTION stepadv_internal.check_kept(attachment regclass) RETURNS TABLE (group_key jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off
AS $check_kept$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	waits CONSTANT text := CASE WHEN (a).changed IS NULL THEN 'false'
		ELSE 'EXISTS (SELECT FROM {W} w WHERE (ROW({w.*}) IS NULL) OR {w=g})' END;
BEGIN
	RETURN QUERY SELECT NULL::jsonb, p.problem FROM stepadv_internal.problems_of_kept(a) p(problem);
	IF (a).folded IS NULL OR (a).fresh IS NULL THEN
		RETURN;
	END IF;
	RETURN QUERY EXECUTE stepadv_internal.kept_text(attachment, replace($$
		SELECT jsonb_build_object({f:c}), CASE WHEN c.{value} IS NULL THEN 'is missing'
			WHEN f.{fresh} IS NULL THEN 'has no rows' ELSE 'differs from a fresh fold' END
		FROM {F} f FULL JOIN {C} c ON {f=c} CROSS JOIN LATERAL (SELECT {f|c}) g({g*})
		WHERE record_image_ne(ROW(f.{fresh}), ROW(c.{value})) AND NOT <waits>$$, '<waits>', waits));
	IF (a).digests IS NULL OR (a).fresh_digests IS NULL THEN
		RETURN;
	END IF;
	RETURN QUERY EXECUTE stepadv_internal.kept_text(attachment, replace($$
		WITH g AS MATERIALIZED (
			SELECT {g.*} FROM (SELECT {c.*} FROM {C} c UNION SELECT {d.*} FROM {D} d) g({g*})
			WHERE NOT <waits> AND NOT EXISTS (SELECT FROM {D} d WHERE d.{digest} IS NULL AND {d=g})
		), fresh AS MATERIALIZED (
			SELECT {g.*}, n.row FROM g
			CROSS JOIN LATERAL (SELECT ROW({p+})::text AS row FROM {P} p WHERE {p=g} OFFSET 0) n
		), kept AS MATERIALIZED (
			SELECT {g.*}, n.row FROM g
			CROSS JOIN LATERAL (SELECT ROW({d+})::text AS row FROM {D} d WHERE {d=g} OFFSET 0) n
		)
		SELECT jsonb_build_object({g:g}), 'digest differs from a fresh one'
		FROM (SELECT DISTINCT {g*} FROM ((TABLE fresh EXCEPT ALL TABLE kept)
			UNION ALL (TABLE kept EXCEPT ALL TABLE fresh)) d) g$$, '<waits>', waits));
EXCEPTION WHEN insufficient_privilege OR data_exception THEN
	RETURN QUERY SELECT NULL::jsonb, format('groups cannot be compared: %s', SQLERRM);
END
$check_kept$;
COMMENT ON FUNCTION stepadv_internal.check_kept(regclass) IS
'part of check_maintained, for the owner of the attachment';

CREATE FUNCTION stepadv_internal.check_maintained(source regclass, prefix text)
RETURNS TABLE (group_key jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	attachment regclass;
BEGIN
	FOREACH attachment IN ARRAY stepadv_internal.own_maintained(check_maintained.source, check_maintained.prefix,
		false) LOOP
		RETURN QUERY SELECT * FROM stepadv_internal.run(attachment, format('SELECT * FROM '
			'stepadv_internal.check_kept(%L::regclass)', attachment::oid)) c(group_key jsonb, problem text);
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_maintained(regclass, text) IS
'what check_maintained does';

CREATE FUNCTION stepadv.check_maintained(source regclass, prefix text DEFAULT NULL)
RETURNS TABLE (group_key jsonb, problem text)
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'stepadv_as_caller';
COMMENT ON FUNCTION stepadv.check_maintained(regclass, text) IS
'compares kept groups and digests of a source with a fresh fold: a row per group that differs (with a watermark also '
'since the last refresh), is missing or has no rows, and (group_key NULL) per table whose changes are not seen, or '
'that has row-level security or another owner; reads all rows';

-- What kept groups were folded from, and whether that has changed.
--
-- Triggers report written rows. Other changes (a partition that is dropped, detached or attached, a view or a
-- function that is replaced) are found by comparing the objects below the views now with those recorded in the
-- attachment when the groups were folded.

-- src/upkeep/read_below.c
CREATE FUNCTION stepadv_internal.read_below(views regclass[])
RETURNS TABLE (kind text, object oid, name text)
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_read_below';
COMMENT ON FUNCTION stepadv_internal.read_below(regclass[]) IS
'each table, view, function and enum below views; and with a name and the table or view that has it, what prevents '
'keeping: changing (on each call), setting (depends on the session), unknown (a STABLE function), unwatched (a table '
'that a function reads), virtual (a column)';

CREATE FUNCTION stepadv_internal.mark_below(views regclass[], noted jsonb) RETURNS bigint
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_mark_below';
COMMENT ON FUNCTION stepadv_internal.mark_below(regclass[], jsonb) IS
'a value that is unchanged only if the objects below views, as folded_from recorded them, and their partitions, '
'children and triggers are unchanged: computed from xmin and ctid of their catalog rows; a different value does not '
'prove a change';

-- Includes the triggers that keep the groups, by table, since one that was disabled for a while has missed changes.
-- here: the definition in this database. Parse locations are removed from a view's query, since they change with
-- white space. Enum labels count, since ids and states may be hashes of them. The xmin of pg_inherits changes when a
-- partition is attached again. A query per kind, run only if there is such an object: planning one query for all
-- kinds takes longer than running it.
CREATE FUNCTION stepadv_internal.below(views regclass[], a stepadv_internal.attached)
RETURNS TABLE (kind text, object oid, here text, name text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	tables oid[];
	queries oid[];
	functions oid[];
	enums oid[];
BEGIN
	SELECT array_agg(r.object) FILTER (WHERE r.kind = 'table'), array_agg(r.object) FILTER (WHERE r.kind = 'view'),
		array_agg(r.object) FILTER (WHERE r.kind = 'function'), array_agg(r.object) FILTER (WHERE r.kind = 'enum')
	INTO tables, queries, functions, enums
	FROM stepadv_internal.read_below(array_remove(below.views, NULL)) r WHERE r.name IS NULL;
	RETURN QUERY SELECT 'place', NULL::oid, concat_ws(' ', 'place', s.system_identifier, below.views::oid[]), NULL
		FROM pg_control_system() s
		UNION ALL SELECT 'table', t.t, format('table %s', t.t), NULL FROM unnest(tables) t(t)
		UNION ALL SELECT 'view', r.ev_class, format('view %s %s', r.ev_class, md5((
			SELECT string_agg(ltrim(n.n, '-0123456789'), '') FROM unnest(string_to_array(
				replace(r.ev_action::text, ':stmt_len ', ':location '), 'location ')) n(n)))), NULL
			FROM pg_rewrite r WHERE r.ev_class = ANY (queries);
	IF EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = ANY (tables)) THEN
		RETURN QUERY WITH RECURSIVE parts AS (
			-- Not chunks of TimescaleDB, which come and go with rows; the count of rows shows that.
			SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = ANY (tables)
				AND (stepadv_internal.engine_table(i.inhparent::regclass)).kind IS NULL
			UNION
			SELECT i.inhrelid FROM parts p JOIN pg_inherits i ON i.inhparent = p.inhrelid
		)
		SELECT 'part', p.inhrelid, concat_ws(' ', 'part', p.inhrelid,
			string_agg(concat_ws(' ', i.inhparent, i.xmin), ' ' ORDER BY i.inhseqno)), NULL
		FROM parts p JOIN pg_inherits i ON i.inhrelid = p.inhrelid GROUP BY p.inhrelid;
	END IF;
	IF functions IS NOT NULL THEN
		RETURN QUERY SELECT 'function', p.oid, format('function %s %s', p.oid,
			md5(ROW(p.prolang, p.provolatile, p.proisstrict, p.prosecdef, p.prosrc, p.probin, p.proconfig,
				g.aggtransfn, g.aggfinalfn, g.agginitval)::text || coalesce(pg_get_function_sqlbody(p.oid), ''))), NULL
		FROM pg_proc p LEFT JOIN pg_aggregate g ON g.aggfnoid = p.oid WHERE p.oid = ANY (functions);
	END IF;
	IF enums IS NOT NULL THEN
		RETURN QUERY SELECT 'label', e.enumtypid, concat_ws(' ', 'label', e.enumtypid, e.oid, e.enumlabel),
			e.enumlabel::text
		FROM pg_enum e WHERE e.enumtypid = ANY (enums);
	END IF;
	IF (below.a).attachment IS NOT NULL THEN
		RETURN QUERY SELECT 'triggers', k.relation::oid, format('triggers %s %s', k.relation::oid,
			md5(string_agg(concat_ws(' ', k.trigger, t.xmin), ', ' ORDER BY k.trigger, k.event))), NULL
		FROM stepadv_internal.kept_triggers(below.a) k JOIN pg_trigger t ON t.oid = k.trigger
		GROUP BY k.relation;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.below(regclass[], stepadv_internal.attached) IS
'what groups are folded from (their place, tables and each partition or child, views, functions, labels of enums), '
'and the triggers of the attachment, as folded_from notes it';

-- anywhere: the definition by names, which stays valid in a restored dump. mark: a summary by which most calls of
-- changed_since know that nothing has changed.
CREATE FUNCTION stepadv_internal.folded_from(views regclass[], a stepadv_internal.attached) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT n.noted || jsonb_build_array(jsonb_build_object('mark',
		stepadv_internal.mark_below(array_remove(folded_from.views, NULL), n.noted)))
	FROM (SELECT jsonb_agg(jsonb_build_object('here', b.here, 'anywhere', md5(CASE b.kind
		WHEN 'place' THEN ''
		WHEN 'triggers' THEN ''
		WHEN 'view' THEN pg_get_viewdef(b.object)
		WHEN 'label' THEN concat_ws(' ', format_type(b.object, NULL), b.name)
		WHEN 'function' THEN coalesce((SELECT ROW(g.aggtransfn, g.aggfinalfn, g.agginitval)::text
			FROM pg_aggregate g WHERE g.aggfnoid = b.object), pg_get_functiondef(b.object))
		ELSE stepadv_internal.relation_name(b.object::regclass) END)) ORDER BY b.here) AS noted
		FROM stepadv_internal.below(folded_from.views, folded_from.a) b) n
$$;
COMMENT ON FUNCTION stepadv_internal.folded_from(regclass[], stepadv_internal.attached) IS
'part of maintain and refresh: what the groups are folded from, to be compared by changed_since';

-- Takes no locks. For tables, views and functions, reports those that are new: if one is missing, a view or function
-- that used it was replaced. For partitions, triggers and labels, also reports missing ones. A new partition without
-- rows is returned in column empty.
CREATE FUNCTION stepadv_internal.changed_since(views regclass[], a stepadv_internal.attached, noted jsonb)
RETURNS TABLE (what text, empty regclass)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF changed_since.noted @> jsonb_build_array(jsonb_build_object('mark',
		stepadv_internal.mark_below(array_remove(changed_since.views, NULL), changed_since.noted))) THEN
		RETURN;
	END IF;
	RETURN QUERY WITH was AS MATERIALIZED (
		SELECT n.e ->> 'here' AS here FROM jsonb_path_query(changed_since.noted, 'lax $[*]') n(e)
		WHERE n.e ->> 'here' IS NOT NULL
	), below AS MATERIALIZED (
		SELECT b.kind, b.object, b.here FROM stepadv_internal.below(changed_since.views, changed_since.a) b
	), came AS (
		SELECT b.kind, b.object, b.kind = 'part' AND EXISTS (SELECT FROM pg_class c WHERE c.oid = b.object
			AND c.relkind IN ('r', 'p') AND pg_relation_size(c.oid) = 0) AS is_empty
		FROM below b WHERE b.here NOT IN (SELECT w.here FROM was w) AND b.kind NOT IN ('label', 'triggers')
	), went AS (
		SELECT k.kind, CASE k.kind WHEN 'triggers' THEN split_part(w.here, ' ', 2)::oid END AS relation
		FROM was w CROSS JOIN LATERAL split_part(w.here, ' ', 1) k(kind)
		WHERE w.here NOT IN (SELECT b.here FROM below b)
	), same AS (
		SELECT NOT EXISTS (SELECT FROM came c WHERE c.kind = 'place') AS place
	)
	SELECT format(CASE c.kind WHEN 'part' THEN 'partition or child %s was attached or written since'
			ELSE c.kind || ' %s was replaced since' END,
		CASE c.kind WHEN 'function' THEN c.object::regprocedure::text
			ELSE stepadv_internal.relation_name(c.object::regclass) END), NULL::regclass
	FROM came c, same s WHERE s.place AND NOT c.is_empty
	UNION ALL
	SELECT DISTINCT CASE w.kind WHEN 'part' THEN 'partitions or children were detached or dropped since'
			WHEN 'label' THEN 'labels of an enum that they are known by were renamed since'
			ELSE format('triggers of %s were disabled, enabled, dropped or made since',
				stepadv_internal.relation_name(w.relation::regclass)) END, NULL::regclass
	FROM went w, same s
	WHERE s.place AND (w.kind = 'part' OR w.kind = 'triggers' AND EXISTS (
			SELECT FROM below b WHERE b.kind IN ('table', 'part') AND b.object = w.relation)
		OR w.kind = 'label' AND NOT EXISTS (SELECT FROM came c WHERE NOT c.is_empty))
	UNION ALL
	SELECT NULL, c.object::regclass FROM came c, same s WHERE s.place AND c.is_empty
	UNION ALL
	SELECT NULL, NULL FROM same s WHERE NOT s.place;
END
$$;
COMMENT ON FUNCTION stepadv_internal.changed_since(regclass[], stepadv_internal.attached, jsonb) IS
'part of maintained and refresh: what has changed since folded_from recorded it; no rows: nothing; what NULL: a new '
'empty partition, or unknown (empty NULL), since it was recorded in another database, before a dump';

-- A kept value must equal the result of any later fold.
CREATE FUNCTION stepadv_internal.refuse_changing(source regclass, views regclass[]) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found record;
BEGIN
	SELECT b.kind, b.name, stepadv_internal.relation_name(b.object::regclass) AS relation,
		b.name ~ '\)$' AND NOT EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace
			AND p.proname = rtrim(b.name, '()') AND p.provolatile = 's') AS is_function INTO found
	FROM stepadv_internal.read_below(array_remove(refuse_changing.views, NULL)) b
	WHERE b.name IS NOT NULL ORDER BY b.kind, b.name LIMIT 1;
	IF found.name IS NULL THEN
		RETURN;
	END IF;
	RAISE EXCEPTION 'cannot maintain groups of %: %', source, format(CASE found.kind
			WHEN 'changing' THEN '%s gives another result each time that it is read'
			WHEN 'setting' THEN '%s depends on settings of the session'
			WHEN 'unknown' THEN 'what function %s reads is unknown because it is STABLE'
			WHEN 'virtual' THEN 'triggers do not see column "%s" of %s, a virtual generated column'
			ELSE 'function %s reads %s, whose changes are not seen' END, found.name, found.relation)
		USING ERRCODE = 'feature_not_supported', DETAIL = CASE WHEN found.kind NOT IN ('unwatched', 'virtual')
			THEN format('View %s reads it.', found.relation) ELSE 'Changes of that table are not reported.' END,
			HINT = CASE WHEN found.kind = 'setting'
				THEN 'Name the time zone, as in AT TIME ZONE ''UTC'', or store the result in a column of the table.'
				WHEN found.kind = 'virtual' THEN 'Let the source compute it, or make it STORED.'
				WHEN found.kind = 'unwatched' THEN 'Let the source itself read that table.'
				WHEN found.is_function THEN 'Store the result in a column of the table; where a function of your own '
					'gives the same for the same arguments, declare it IMMUTABLE.'
				ELSE 'Store the result in a column of the table, or ask for it in queries over the views of attach.'
				END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_changing(regclass, regclass[]) IS
'part of maintain and refresh: error if the rows to fold can change without being written, or depend on the user or '
'session';

-- ---- Of an attachment

-- Records the definitions before folding, so that later calls find changes made meanwhile. Triggers are created first,
-- so that an empty partition cannot be written unnoticed after it was found empty.
CREATE FUNCTION stepadv_internal.must_fold_all(a stepadv_internal.attached, is_asked boolean) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	views CONSTANT regclass[] := ARRAY[(a).fresh, (a).fresh_digests];
	noted jsonb;
	changes text[];
	result boolean := is_asked;
BEGIN
	IF NOT result AND (a).folded_from @> jsonb_build_array(jsonb_build_object('mark',
		stepadv_internal.mark_below(array_remove(views, NULL), (a).folded_from)))
	THEN
		RETURN false;
	END IF;
	PERFORM stepadv_internal.refuse_changing((a).source, views);
	IF (a).watermark IS NULL THEN
		PERFORM stepadv_internal.make_triggers(a);
	END IF;
	changes := ARRAY(SELECT c.what FROM stepadv_internal.changed_since(views, a, (a).folded_from) c
		WHERE c.empty IS NULL);
	noted := stepadv_internal.folded_from(views, a);
	IF changes = '{NULL}' THEN
		-- Compare by names, as in a restored database.
		result := result OR ARRAY(SELECT DISTINCT n.e ->> 'anywhere'
				FROM jsonb_path_query((a).folded_from, 'lax $[*]') n(e) ORDER BY 1)
			<> ARRAY(SELECT DISTINCT n.e ->> 'anywhere' FROM jsonb_path_query(noted, 'lax $[*]') n(e) ORDER BY 1);
	ELSE
		result := result OR changes <> '{}';
	END IF;
	EXECUTE format('UPDATE %s SET folded_from = $1', stepadv_internal.relation_name((a).attachment)) USING noted;
	RETURN result;
END
$$;
COMMENT ON FUNCTION stepadv_internal.must_fold_all(stepadv_internal.attached, boolean) IS
'part of maintain and refresh: whether all groups are to be folded, because that was requested or because what '
'they were folded from has changed, which is noted; creates missing triggers';

-- Called before a trigger folds groups: if definitions have changed, clears the record, since groups then come from
-- different definitions, even if the old ones are restored.
CREATE FUNCTION stepadv_internal.note_changes(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
BEGIN
	IF (a).folded_from <> '[]' AND EXISTS (
		SELECT FROM stepadv_internal.changed_since(ARRAY[(a).fresh, (a).fresh_digests], a, (a).folded_from) c
		WHERE c.what IS NOT NULL)
	THEN
		-- Do not overwrite what a concurrent refresh has recorded.
		EXECUTE format('UPDATE %s SET folded_from = $1 WHERE folded_from = $2',
			stepadv_internal.relation_name(attachment))
			USING '[]'::jsonb, (a).folded_from;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.note_changes(regclass) IS
'part of keep_groups: removes the noted definitions that have changed';

CREATE FUNCTION stepadv_internal.staleness_of_kept(a stepadv_internal.attached, OUT problem text, OUT empty regclass[])
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('groups of %s ', stepadv_internal.relation_name((a).source)) || CASE
		WHEN count(c.what) > 0 THEN 'are stale: ' || string_agg(c.what, '; ' ORDER BY c.what)
		WHEN bool_or(c.empty IS NULL) THEN 'may be stale: what they were folded from is not known, as after a restore '
			'or when it changed under writers' END, array_agg(c.empty) FILTER (WHERE c.empty IS NOT NULL)
	FROM stepadv_internal.changed_since(ARRAY[(a).fresh, (a).fresh_digests], a, (a).folded_from) c
	WHERE (a).fresh IS NOT NULL
$$;
COMMENT ON FUNCTION stepadv_internal.staleness_of_kept(stepadv_internal.attached) IS
'part of maintained and may_read_kept: what the groups were folded from that has changed, or that this cannot be '
'determined; NULL: nothing, as long as new partitions stay empty';

-- Only for triggers: with mode refresh, groups and definitions are those of the last refresh.
CREATE FUNCTION stepadv_internal.staleness_for_readers(fresh regclass)
RETURNS TABLE (problem text, hint text, empty regclass)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT s.problem, format('Call refresh(%L), which folds them again unless nothing has changed.',
		stepadv_internal.relation_name(a.source)), e.empty
	FROM pg_class c CROSS JOIN LATERAL stepadv_internal.attachments(c.relowner, NULL::regclass) a
	CROSS JOIN LATERAL stepadv_internal.staleness_of_kept(a) s LEFT JOIN LATERAL unnest(s.empty) e(empty) ON true
	WHERE c.oid = staleness_for_readers.fresh AND c.oid IN (a.fresh, a.fresh_digests) AND a.kept = 'triggers'
$$;
COMMENT ON FUNCTION stepadv_internal.staleness_for_readers(regclass) IS
'part of may_read_kept: staleness_of_kept of the groups that triggers keep, by the view that they were folded by, each '
'empty partition in a row';

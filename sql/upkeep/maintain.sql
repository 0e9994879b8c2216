-- maintain, unmaintain and refresh.

-- ---- maintain

CREATE FUNCTION stepadv_internal.to_maintain(source regclass, prefix text, mode text, watermark text, overlap interval)
	RETURNS regclass
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source_owner CONSTANT oid := (SELECT c.relowner FROM pg_class c WHERE c.oid = to_maintain.source);
	meant regclass[];
	names text;
	kept text;
BEGIN
	IF to_maintain.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	ELSIF to_maintain.mode IS NULL OR to_maintain.mode NOT IN ('triggers', 'refresh') THEN
		RAISE EXCEPTION 'unknown mode: %', coalesce(quote_literal(to_maintain.mode), 'NULL')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'mode is ''triggers'' (each statement folds the groups '
				'that it changed) or ''refresh'' (the function refresh does).';
	ELSIF to_maintain.watermark IS NOT NULL AND to_maintain.mode <> 'refresh' THEN
		RAISE EXCEPTION 'a watermark is only for mode => ''refresh''' USING ERRCODE = 'invalid_parameter_value';
	ELSIF to_maintain.watermark IS NOT NULL AND (to_maintain.overlap >= interval '0') IS NOT TRUE THEN
		RAISE EXCEPTION 'overlap must be zero or more, not %', coalesce(to_maintain.overlap::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
		RAISE EXCEPTION 'maintain must run in a transaction of isolation level read committed'
			USING ERRCODE = 'invalid_transaction_state',
				DETAIL = 'Rows that were committed after the transaction''s snapshot would be missed.';
	ELSIF source_owner IS NULL THEN
		RAISE EXCEPTION 'relation % does not exist', to_maintain.source::oid USING ERRCODE = 'undefined_table';
	ELSIF NOT stepadv_internal.owns(to_maintain.source, false) THEN
		RAISE EXCEPTION 'must be owner of %', to_maintain.source USING ERRCODE = 'insufficient_privilege';
	END IF;
	SELECT array_agg(o.attachment) FILTER (WHERE o.kept IS NULL),
		string_agg(quote_ident(o.prefix), ', ') FILTER (WHERE o.kept IS NULL),
		string_agg(quote_ident(o.prefix), ', ') FILTER (WHERE o.kept IS NOT NULL)
	INTO meant, names, kept
	FROM stepadv_internal.own_attachments(to_maintain.source, to_maintain.prefix) o
	WHERE o.owner = source_owner;
	IF cardinality(meant) > 1 THEN
		RAISE EXCEPTION 'several sets of views are attached to %', to_maintain.source
			USING ERRCODE = 'ambiguous_parameter', HINT = format('Name one by its prefix: %s.', names);
	ELSIF meant IS NULL AND kept IS NOT NULL THEN
		RAISE EXCEPTION 'groups of % are maintained already, with prefix %', to_maintain.source, kept
			USING ERRCODE = 'duplicate_object', HINT = 'To change the mode, call unmaintain first.';
	ELSIF meant IS NULL THEN
		RAISE EXCEPTION 'no views of attach over %',
			concat(to_maintain.source, ' with prefix ' || quote_ident(to_maintain.prefix))
			USING ERRCODE = 'undefined_object',
				HINT = 'Call attach first: it defines which columns make a group.';
	END IF;
	RETURN meant[1];
END
$$;
COMMENT ON FUNCTION stepadv_internal.to_maintain(regclass, text, text, text, interval) IS
'part of maintain: the attachment to maintain; error if there is none, if there are several, or if the arguments '
'do not fit it';

-- Changes committed before as_of are included.  A watermark assumes that a row is committed at
-- most overlap after its time, or by a transaction that is running then.
CREATE FUNCTION stepadv_internal.bring_up(attachment regclass, everything boolean) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	a stepadv_internal.attached := stepadv_internal.known(attachment);
	-- Creates triggers, waiting for writers; from then on no change is missed.
	fold_all CONSTANT boolean := stepadv_internal.must_fold_all(a, everything);
	now timestamptz := clock_timestamp();
	seen_until timestamptz;
	n bigint;
BEGIN
	IF (a).watermark IS NOT NULL AND (a).folded IS NOT NULL THEN
		IF (a).seen IS NULL OR (a).changed IS NULL THEN
			RAISE EXCEPTION 'groups of % can no longer be refreshed: one of their tables does not exist', (a).source
				USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Call unmaintain and maintain.';
		ELSIF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
			RAISE EXCEPTION 'groups with a watermark must be refreshed in a transaction of isolation level '
				'read committed'
				USING ERRCODE = 'invalid_transaction_state',
					DETAIL = 'Rows that were committed after the transaction''s snapshot would be missed.';
		END IF;
		-- One refresh at a time; readers are not blocked.
		EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', stepadv_internal.relation_name((a).folded));
		a := stepadv_internal.known(attachment);
		PERFORM stepadv_internal.refuse_tables(a, ARRAY[(a).fresh, (a).fresh_digests], false);
		PERFORM stepadv_internal.refuse_watermark(a, (a).watermark);
		now := clock_timestamp();
		seen_until := least(stepadv_internal.oldest_transaction(), now, (SELECT min(p.prepared) FROM pg_prepared_xacts p
			WHERE p.database = current_database())) - (a).overlap;
		PERFORM stepadv_internal.find_changed(attachment);
	END IF;
	n := stepadv_internal.fold_groups(attachment, fold_all);
	IF (a).kept <> 'triggers' THEN
		EXECUTE format('UPDATE %s SET as_of = $1, seen_until = $2', stepadv_internal.relation_name(attachment))
			USING now, seen_until;
	END IF;
	RETURN n;
END
$$;
COMMENT ON FUNCTION stepadv_internal.bring_up(regclass, boolean) IS
'part of maintain and refresh: finds changed groups if there are no triggers, folds them, and sets as_of; returns '
'the number of groups';

CREATE FUNCTION stepadv_internal.maintain(source regclass, prefix text, mode text, watermark text, overlap interval)
	RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	meant regclass;
	a stepadv_internal.attached;
BEGIN
	PERFORM stepadv_internal.must_write('maintain'::text);
	meant := stepadv_internal.to_maintain(maintain.source, maintain.prefix, maintain.mode, maintain.watermark,
		maintain.overlap);
	PERFORM stepadv_internal.refuse_texts(stepadv_internal.known(meant));
	PERFORM stepadv_internal.make_kept(meant, maintain.mode, maintain.watermark, maintain.overlap);
	a := stepadv_internal.known(meant);
	PERFORM stepadv_internal.bring_up(meant, true);
	IF a.seen IS NOT NULL THEN
		EXECUTE format('ANALYZE %s', a.seen);
	END IF;
	PERFORM stepadv_internal.make_views(meant, NULL::text[]);
	IF EXISTS (
		SELECT FROM stepadv_internal.tables_read(ARRAY[a.fresh, a.fresh_digests], a.n_group_columns, false) w
		JOIN pg_class c ON c.oid = w.relation
		WHERE c.relkind <> 'f' AND 0 <> ALL (w.keys)
			AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = w.relation AND i.indisvalid AND i.indpred IS NULL
				AND w.keys <@ (i.indkey::smallint[])[0:cardinality(w.keys) - 1]))
	THEN
		RAISE WARNING 'a table below % has no index that begins with the columns of the group', maintain.source
			USING DETAIL = 'Folding one group reads the whole table.', HINT = 'Make the index.';
	END IF;
	RETURN a.folded;
END
$$;
COMMENT ON FUNCTION stepadv_internal.maintain(regclass, text, text, text, interval) IS
'stepadv.maintain, as the owner of the source';

CREATE FUNCTION stepadv.maintain(source regclass, prefix text DEFAULT NULL, mode text DEFAULT 'triggers',
	watermark text DEFAULT NULL, overlap interval DEFAULT '10 minutes') RETURNS regclass
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.maintain(regclass, text, text, text, interval) IS
'materializes the groups of an attached source in <prefix>_folded, and their digests in <prefix>_digests if views '
'read them; mode: triggers (each statement) or refresh (on request; with a watermark, a timestamptz column, without '
'triggers; overlap: how late its rows may be committed)';

-- ---- unmaintain

CREATE FUNCTION stepadv_internal.end_kept(attachment regclass, cascade boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s'
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	what text;
BEGIN
	PERFORM stepadv_internal.drop_kept(attachment, true, cascade);
EXCEPTION WHEN dependent_objects_still_exist OR lock_not_available THEN
	GET STACKED DIAGNOSTICS what = PG_EXCEPTION_DETAIL;
	PERFORM stepadv_internal.refuse_drop('what maintain made for ' || stepadv_internal.relation_name((a).source),
		SQLSTATE, what, 'unmaintain'::text, (a).views || stepadv_internal.kept_relations(a));
END
$$;
COMMENT ON FUNCTION stepadv_internal.end_kept(regclass, boolean) IS
'part of unmaintain, for the owner of the attachment';

CREATE FUNCTION stepadv_internal.unmaintain(source regclass, prefix text, cascade boolean)
RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	kept CONSTANT regclass[] := stepadv_internal.own_maintained(unmaintain.source, unmaintain.prefix, or_none => true);
	attachment regclass;
BEGIN
	PERFORM stepadv_internal.must_write('unmaintain'::text);
	FOREACH attachment IN ARRAY kept LOOP
		PERFORM FROM stepadv_internal.run(attachment, format('SELECT true FROM stepadv_internal.end_kept(%L::regclass, '
			'%L::boolean)', attachment::oid, coalesce(unmaintain.cascade, false))) n(is_done boolean);
	END LOOP;
	RETURN cardinality(kept);
END
$$;
COMMENT ON FUNCTION stepadv_internal.unmaintain(regclass, text, boolean) IS
'what unmaintain does';

CREATE FUNCTION stepadv.unmaintain(source regclass, prefix text DEFAULT NULL, cascade boolean DEFAULT false)
RETURNS integer
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_caller';
COMMENT ON FUNCTION stepadv.unmaintain(regclass, text, boolean) IS
'reverses maintain for the source (with the prefix, if given): the views of attach fold again; kept tables and '
'triggers are dropped, with dependent objects if cascade, else these are an error; returns the number of '
'attachments; waits at most 10 seconds for other sessions';

-- ---- refresh

-- If folding fails, folds the pending groups one by one to add the group to the error.
CREATE FUNCTION stepadv_internal.refresh_kept(attachment regclass, everything boolean) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	a stepadv_internal.attached;
	waiting record;
	hint text;
BEGIN
	RETURN stepadv_internal.bring_up(refresh_kept.attachment, everything);
EXCEPTION WHEN data_exception OR cardinality_violation THEN
	a := stepadv_internal.known(refresh_kept.attachment);
	IF (a).changed IS NULL THEN
		RAISE;
	END IF;
	-- The list of changed groups was rolled back.
	IF (a).watermark IS NOT NULL THEN
		PERFORM stepadv_internal.find_changed(refresh_kept.attachment);
	END IF;
	FOR waiting IN EXECUTE stepadv_internal.kept_text(attachment,
		'SELECT DISTINCT ROW({w.*}, NULL)::{F}::text AS key, jsonb_build_object({w:w}) AS shown FROM {W} w')
	LOOP
		BEGIN
			EXECUTE replace(stepadv_internal.kept_text(attachment,
				'SELECT count(f.{fresh}) FROM {F} f, (SELECT (<key>::{F}).*) g({g*}) WHERE {f=g}'),
				'<key>', quote_literal(waiting.key));
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
			IF hint = '' THEN
				RAISE EXCEPTION 'group %: %', waiting.shown, SQLERRM USING ERRCODE = SQLSTATE;
			END IF;
			RAISE EXCEPTION 'group %: %', waiting.shown, SQLERRM USING ERRCODE = SQLSTATE, HINT = hint;
		END;
	END LOOP;
	RAISE;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refresh_kept(regclass, boolean) IS
'part of refresh, for the owner of the attachment';

CREATE FUNCTION stepadv_internal.refresh(source regclass, prefix text, full boolean)
RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	attachment regclass;
	total bigint := 0;
BEGIN
	PERFORM stepadv_internal.must_write('refresh'::text);
	FOREACH attachment IN ARRAY stepadv_internal.own_maintained(refresh.source, refresh.prefix, false) LOOP
		SELECT total + r.n INTO total
		FROM stepadv_internal.run(attachment, format('SELECT stepadv_internal.refresh_kept(%L::regclass, %L::boolean)',
			attachment::oid, coalesce(refresh.full, false))) r(n bigint);
	END LOOP;
	RETURN total;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refresh(regclass, text, boolean) IS
'what refresh does';

CREATE FUNCTION stepadv.refresh(source regclass, prefix text DEFAULT NULL, full boolean DEFAULT false)
RETURNS bigint
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_caller';
COMMENT ON FUNCTION stepadv.refresh(regclass, text, boolean) IS
'folds the groups of a maintained source that changed since the last refresh; full: folds all groups, also if '
'changes were not seen, and creates triggers for new partitions; returns the number of groups';

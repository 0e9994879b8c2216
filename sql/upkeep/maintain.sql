-- maintain, unmaintain and refresh: the tables of 71-kept-tables.sql begin, end and
-- are written again.

-- maintain

-- The attachment that is meant, which nobody maintains yet.
CREATE FUNCTION stepadv_internal.to_maintain(source regclass, prefix text) RETURNS regclass
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	meant regclass[];
	names text;
	kept text;
BEGIN
	SELECT array_agg(o.attachment) FILTER (WHERE o.kept IS NULL), string_agg(quote_ident(o.prefix), ', ') FILTER (WHERE o.kept IS NULL),
		string_agg(quote_ident(o.prefix), ', ') FILTER (WHERE o.kept IS NOT NULL)
	INTO meant, names, kept
	FROM stepadv_internal.own_attachments(to_maintain.source, to_maintain.prefix) o
	WHERE o.owner = (SELECT c.relowner FROM pg_class c WHERE c.oid = to_maintain.source);
	IF cardinality(meant) > 1 THEN
		RAISE EXCEPTION 'several sets of views are attached to %', to_maintain.source
			USING ERRCODE = 'ambiguous_parameter', HINT = format('Name one by its prefix: %s.', names);
	ELSIF meant IS NULL AND kept IS NOT NULL THEN
		RAISE EXCEPTION 'groups of % are maintained already, with prefix %', to_maintain.source, kept
			USING ERRCODE = 'duplicate_object', HINT = 'To do it in another way, call unmaintain first.';
	ELSIF meant IS NULL THEN
		RAISE EXCEPTION 'no views of attach over %', concat(to_maintain.source, ' with prefix ' || quote_ident(to_maintain.prefix))
			USING ERRCODE = 'undefined_object',
				HINT = 'Call attach first: it says which columns make a group.';
	END IF;
	RETURN meant[1];
END
$$;
COMMENT ON FUNCTION stepadv_internal.to_maintain(regclass, text) IS 'part of maintain: the attachment that is meant; error if there is none, or several';

-- Only a transaction that sees what others commit can tell what is there.
CREATE FUNCTION stepadv_internal.check_maintain(source regclass, how text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF check_maintain.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF check_maintain.how IS NULL OR check_maintain.how NOT IN ('triggers', 'refresh', 'watermark') THEN
		RAISE EXCEPTION 'unknown way to maintain: %', coalesce(quote_literal(check_maintain.how), 'NULL') USING ERRCODE = 'invalid_parameter_value',
			HINT = 'how is ''triggers'' (each statement folds the groups that it changed), ''refresh'' (the function refresh does)'
				' or, without triggers, ''watermark'' (refresh looks for rows that a column says have changed).';
	END IF;
	IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
		RAISE EXCEPTION 'maintain must run in a transaction of isolation level read committed'
			USING ERRCODE = 'invalid_transaction_state', DETAIL = 'Rows that were committed after the transaction''s snapshot would be missed.';
	END IF;
	IF NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = check_maintain.source) THEN
		RAISE EXCEPTION 'relation % does not exist', check_maintain.source::oid USING ERRCODE = 'undefined_table';
	END IF;
	IF NOT stepadv_internal.owns(check_maintain.source, false) THEN
		RAISE EXCEPTION 'must be owner of %', check_maintain.source USING ERRCODE = 'insufficient_privilege';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_maintain(regclass, text) IS 'part of maintain: error where what was given cannot be meant';

CREATE FUNCTION stepadv_internal.maintain(source regclass, prefix text, how text, over_time boolean, watermark text, overlap interval) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	meant regclass;
	a stepadv_internal.attached;
BEGIN
	PERFORM stepadv_internal.must_write('maintain'::text);
	PERFORM stepadv_internal.check_maintain(maintain.source, maintain.how);
	PERFORM stepadv_internal.check_watermark(maintain.how, maintain.watermark, maintain.overlap);
	meant := stepadv_internal.to_maintain(maintain.source, maintain.prefix);
	PERFORM stepadv_internal.refuse_texts(meant);
	PERFORM stepadv_internal.make_kept(meant, maintain.how, coalesce(maintain.over_time, false));
	a := stepadv_internal.known(meant);
	PERFORM stepadv_internal.refuse_changing(a.source, ARRAY[a.fresh, a.fresh_digests]);
	IF maintain.how = 'watermark' THEN
		PERFORM stepadv_internal.make_seen(meant, maintain.watermark, maintain.overlap);
	ELSE
		-- From here on no change is missed: making a trigger waits for writers.
		PERFORM stepadv_internal.make_triggers(meant);
	END IF;
	PERFORM stepadv_internal.bring_up(meant, stepadv_internal.must_fold_all(meant, true), true);
	SELECT * INTO STRICT a FROM stepadv_internal.attachments(NULL::oid, NULL::regclass) s WHERE s.attachment = meant;
	-- Shards that this transaction filled Citus does not analyze where some are on this node; autovacuum does.
	IF NOT stepadv_internal.is_on_shards(a) THEN
		EXECUTE format('ANALYZE %s', concat_ws(', ', a.folded, a.seen, a.digests));
	END IF;
	PERFORM stepadv_internal.make_views(meant, NULL::text[]);
	PERFORM stepadv_internal.say_age(meant);
	IF EXISTS (SELECT FROM stepadv_internal.watched_tables(ARRAY[a.fresh, a.fresh_digests], a.n_group_columns) w JOIN pg_class c ON c.oid = w.relation
		WHERE w.relation = w.base AND c.relkind <> 'f' AND 0 <> ALL (w.keys) AND NOT stepadv_internal.has_group_index(w.base, w.keys))
	THEN
		RAISE WARNING 'a table below % has no index that begins with the columns of the group', maintain.source
			USING DETAIL = 'To fold one group, all of it is read.', HINT = 'Make the index.';
	END IF;
	RETURN a.folded;
END
$$;
COMMENT ON FUNCTION stepadv_internal.maintain(regclass, text, text, boolean, text, interval) IS 'stepadv.maintain, as the owner of the source';

CREATE FUNCTION stepadv.maintain(source regclass, prefix text DEFAULT NULL, how text DEFAULT 'triggers', over_time boolean DEFAULT true, watermark text DEFAULT NULL, overlap interval DEFAULT '10 minutes') RETURNS regclass
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.maintain(regclass, text, text, boolean, text, interval) IS
'keeps the groups of an attached source and (over_time) their digests in <prefix>_folded and <prefix>_digests, '
'which the views then read; how: triggers (each statement), refresh (when that is called), watermark (refresh, '
'with changes found by a timestamptz; overlap: how late)';

-- unmaintain

CREATE FUNCTION stepadv_internal.end_kept_as_owner(attachment regclass, cascade boolean) RETURNS void
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
	PERFORM stepadv_internal.refuse_drop('what maintain made for ' || stepadv_internal.relation_name((a).source), SQLSTATE, what, 'unmaintain'::text,
		(a).views || stepadv_internal.kept_relations(a) || ARRAY(SELECT t.relation FROM stepadv_internal.kept_triggers(attachment) t));
END
$$;
COMMENT ON FUNCTION stepadv_internal.end_kept_as_owner(regclass, boolean) IS
'part of unmaintain, as the owner of the attachment';

CREATE FUNCTION stepadv_internal.end_kept(attachment regclass, cascade boolean) RETURNS void
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv_internal.end_kept(regclass, boolean) IS
'part of unmaintain: becomes the owner of the attachment for it';

CREATE FUNCTION stepadv.unmaintain(source regclass, prefix text DEFAULT NULL, cascade boolean DEFAULT false)
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
		PERFORM stepadv_internal.end_kept(attachment, coalesce(unmaintain.cascade, false));
	END LOOP;
	RETURN cardinality(kept);
END
$$;
COMMENT ON FUNCTION stepadv.unmaintain(regclass, text, boolean) IS
'ends what maintain began for the source (with the prefix, if given): the views of attach fold again, kept tables and triggers are dropped, with what depends on them if cascade, else that is an error; how many sets of views; waits 10 seconds for others who use them';

-- refresh

-- Which of the groups that wait is the one that cannot be folded: an error like
-- the one there was, with the group.
CREATE FUNCTION stepadv_internal.blame_group(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a record;
	waiting record;
	hint text;
BEGIN
	SELECT * INTO STRICT a FROM stepadv_internal.attachments(NULL::oid, NULL::regclass) s WHERE s.attachment = blame_group.attachment;
	FOR waiting IN EXECUTE format('SELECT DISTINCT ROW(%s, NULL)::%s::text AS key, jsonb_build_object(%s) AS shown FROM %s g(%s)',
		stepadv_internal.k_columns(a.n_group_columns, 'g.k%1$s'::text), a.fresh,
		stepadv_internal.list(stepadv_internal.group_columns(a.fresh, a.n_group_columns), '%1$L, g.k%2$s'::text, ', '::text), a.changed, stepadv_internal.k_columns(a.n_group_columns, 'k%1$s'::text))
	LOOP
		BEGIN
			EXECUTE format('SELECT count(f.value) FROM %1$s f(%2$s, value), (SELECT (%3$L::%1$s).*) g(%2$s) WHERE %4$s', a.fresh,
				stepadv_internal.k_columns(a.n_group_columns, 'k%1$s'::text), waiting.key, stepadv_internal.same_group('f'::text, 'g'::text, a.fresh, a.n_group_columns));
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
			IF hint = '' THEN
				RAISE EXCEPTION 'group %: %', waiting.shown, SQLERRM USING ERRCODE = SQLSTATE;
			END IF;
			RAISE EXCEPTION 'group %: %', waiting.shown, SQLERRM USING ERRCODE = SQLSTATE, HINT = hint;
		END;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.blame_group(regclass) IS 'part of refresh: names the group that cannot be folded';

CREATE FUNCTION stepadv_internal.refresh_kept_as_owner(attachment regclass, everything boolean, whole boolean) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	all_groups CONSTANT boolean := stepadv_internal.must_fold_all(attachment, everything);
BEGIN
	IF all_groups AND (a).seen IS NULL THEN
		PERFORM stepadv_internal.make_triggers(refresh_kept_as_owner.attachment);
	END IF;
	RETURN stepadv_internal.bring_up(refresh_kept_as_owner.attachment, all_groups, refresh_kept_as_owner.whole);
EXCEPTION WHEN data_exception OR cardinality_violation THEN
	IF (a).changed IS NOT NULL THEN
		-- The list of those that were found went with the rest.
		IF (a).seen IS NOT NULL THEN
			PERFORM stepadv_internal.find_changed(refresh_kept_as_owner.attachment, refresh_kept_as_owner.whole);
		END IF;
		PERFORM stepadv_internal.blame_group(refresh_kept_as_owner.attachment);
	END IF;
	RAISE;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refresh_kept_as_owner(regclass, boolean, boolean) IS 'part of refresh, as the owner of the attachment';

CREATE FUNCTION stepadv_internal.refresh_kept(attachment regclass, everything boolean, whole boolean) RETURNS bigint
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv_internal.refresh_kept(regclass, boolean, boolean) IS 'part of refresh: becomes the owner of the attachment for it';

CREATE FUNCTION stepadv.refresh(source regclass, prefix text DEFAULT NULL, everything boolean DEFAULT false, whole boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	attachment regclass;
	total bigint := 0;
BEGIN
	PERFORM stepadv_internal.must_write('refresh'::text);
	FOREACH attachment IN ARRAY stepadv_internal.own_maintained(refresh.source, refresh.prefix, false) LOOP
		total := total + stepadv_internal.refresh_kept(attachment, coalesce(refresh.everything, false), coalesce(refresh.whole, false));
	END LOOP;
	RETURN total;
END
$$;
COMMENT ON FUNCTION stepadv.refresh(regclass, text, boolean, boolean) IS
'folds the groups of a maintained source that changed since the last refresh; everything: all of them, and triggers for partitions that have come since; whole: of a source kept by watermark, all that differ from what was seen, also where rows came with an older time; how many groups';

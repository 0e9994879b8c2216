-- Rollouts into the schema's table.

-- What has no column of its own in the tables is kept all the same.  (Of a group
-- and a task that are one thing, one is enough.)
CREATE FUNCTION stepadv_internal.load_kept(schema text, OUT given text, OUT kept text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	lacking CONSTANT text[] := (SELECT s.lacking FROM stepadv_internal.load_shape(load_kept.schema) s);
	named text;
BEGIN
	SELECT string_agg(format('%L, %s', k.name, k.value), ', ' ORDER BY k.i), string_agg(k.value, ', ' ORDER BY k.i) INTO named, given
	FROM (SELECT n.name, n.i, CASE n.name
			WHEN 'group_id' THEN 'CASE WHEN p.group_id <> p.task_id THEN p.group_id END'
			WHEN 'task_id' THEN 'CASE WHEN p.task_id = p.group_id OR p.group_id IS NULL THEN NULL ELSE p.task_id END'
			ELSE format('p.%I', n.name) END AS value
		FROM unnest(lacking) WITH ORDINALITY n(name, i)) k;
	kept := format('jsonb_strip_nulls(jsonb_build_object(%s))', named);
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_kept(text) IS
'part of load_rollouts: expressions for what of a row has no column in the schema''s tables: the values (NULL: all have one), and an object of those that are given';

CREATE FUNCTION stepadv_internal.load_metadata(schema text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	k CONSTANT record := stepadv_internal.load_kept(load_metadata.schema);
BEGIN
	RETURN CASE WHEN k.given IS NULL THEN 'p.metadata'
		-- Mostly there is nothing to keep, and nothing to be made.
		ELSE format($e$CASE WHEN num_nonnulls(%s) = 0 THEN p.metadata ELSE (SELECT CASE WHEN p.metadata IS NULL THEN x.kept WHEN jsonb_typeof(p.metadata) = 'object' THEN p.metadata || x.kept
			ELSE jsonb_build_object('meta', p.metadata) || x.kept END FROM (SELECT %s AS kept OFFSET 0) x) END$e$, k.given, k.kept) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_metadata(text) IS 'part of load_rollouts: the expression for the metadata of a row, with what has no column in the schema''s tables';

-- In one order, so that two loads with the same rollouts wait for each other, and
-- never both.
CREATE FUNCTION stepadv_internal.load_insert_rollouts(schema text, condition text, on_conflict text, OUT n_written bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text := stepadv_internal.load_key_list(load_insert_rollouts.schema, '%1$s'::text, ', '::text);
	shape CONSTANT record := stepadv_internal.load_shape(load_insert_rollouts.schema);
	statement CONSTANT text := format($q$
		INSERT INTO %1$I.rollouts AS r (%2$s, rollout_id%4$s, model, outcome, success, truncated, channel, curation, started_at, ended_at, metadata)
		SELECT %3$s, p.rollout_id%5$s, p.model, p.outcome, p.success, coalesce(p.truncated, false),
			coalesce(p.channel, 'train'), p.curation, p.started_at, p.ended_at, %6$s
		FROM pg_temp.stepadv_rollouts p
		WHERE %7$s
		ORDER BY p.of_group COLLATE "C", p.rollout_id COLLATE "C"
		ON CONFLICT (%2$s, rollout_id) %8$s
		$q$, load_insert_rollouts.schema, keys, stepadv_internal.load_key_list(load_insert_rollouts.schema, 'p.k%2$s'::text, ', '::text),
		(SELECT coalesce(string_agg(format(', %I', o.name), '' ORDER BY o.i), '') FROM unnest(shape.others) WITH ORDINALITY o(name, i)),
		(SELECT coalesce(string_agg(CASE WHEN o.name = 'task_id' AND 'group_id' = ANY (shape.lacking) THEN ', coalesce(p.task_id, p.group_id)' ELSE format(', p.%I', o.name) END, '' ORDER BY o.i), '')
			FROM unnest(shape.others) WITH ORDINALITY o(name, i)),
		stepadv_internal.load_metadata(load_insert_rollouts.schema), load_insert_rollouts.condition, load_insert_rollouts.on_conflict);
BEGIN
	IF stepadv_internal.load_is_distributed(load_insert_rollouts.schema) THEN
		-- What Citus says of an INSERT counts what it did nothing on, too.
		EXECUTE format('WITH written AS (%s RETURNING 1) SELECT count(*) FROM written', statement) INTO n_written;
	ELSE
		EXECUTE statement;
		GET DIAGNOSTICS n_written = ROW_COUNT;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_insert_rollouts(text, text, text) IS
'part of load_rollouts: inserts what meets the condition of pg_temp.stepadv_rollouts into the schema''s table';

CREATE FUNCTION stepadv_internal.load_write_rollouts(schema text, OUT groups bigint, OUT rollouts_added bigint, OUT rollouts_updated bigint, OUT rollouts_repeated bigint,
	OUT overtaken boolean)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- A reload that says nothing new must not write.
	says_more CONSTANT text := $c$p.is_known AND (p.outcome IS DISTINCT FROM p.known_outcome AND p.outcome IS NOT NULL
		OR p.success IS DISTINCT FROM p.known_success AND p.success IS NOT NULL)$c$;
	n_inserted bigint := 0;
BEGIN
	EXECUTE format($q$
		SELECT count(*) FILTER (WHERE NOT p.is_known), count(*) FILTER (WHERE %s), count(DISTINCT p.of_group COLLATE "C"), count(*) FILTER (WHERE p.is_known)
		FROM pg_temp.stepadv_rollouts p
		$q$, says_more) INTO rollouts_added, rollouts_updated, load_write_rollouts.groups, rollouts_repeated;
	overtaken := false;
	IF rollouts_added > 0 THEN
		n_inserted := stepadv_internal.load_insert_rollouts(load_write_rollouts.schema, 'NOT p.is_known'::text, 'DO NOTHING'::text);
	END IF;
	IF n_inserted < rollouts_added THEN
		-- There already, or refused by a trigger?
		EXECUTE stepadv_internal.load_known_query(load_write_rollouts.schema, 'rollouts'::text, '(SELECT * FROM pg_temp.stepadv_rollouts n WHERE NOT n.is_known)'::text, 'count(*) > $1'::text)
			INTO overtaken USING n_inserted;
	END IF;
	IF rollouts_updated > 0 THEN
		PERFORM stepadv_internal.load_insert_rollouts(load_write_rollouts.schema, says_more,
			'DO UPDATE SET outcome = coalesce(excluded.outcome, r.outcome), success = coalesce(excluded.success, r.success)'::text);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_write_rollouts(text) IS
'part of load_rollouts: writes pg_temp.stepadv_rollouts to the schema''s table, and counts; overtaken: the table has got some of them meanwhile, from another load';

-- Groups of tables that Citus distributes, kept without triggers.
--
-- <prefix>_folded and <prefix>_seen are distributed by the column of the group by which the rows
-- are, and colocated with them; <prefix>_changed is not there: which groups differ from what was
-- seen is told by a column of <prefix>_seen, is_folded.  All that is done about them are statements
-- that Citus sends to the shards whole, so that groups are compared and folded where their rows are.
-- What is kept are the values.  All else that views show is computed of these, or of rows, on the shards.
--
-- A statement on a shard takes its snapshot when it begins there: what was committed when
-- refresh began is seen by all of them, as on one node.

CREATE FUNCTION stepadv_internal.is_on_shards(a stepadv_internal.attached) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT (a).folded IS NOT NULL AND stepadv_internal.distributed_by((a).folded) IS NOT NULL $$;
COMMENT ON FUNCTION stepadv_internal.is_on_shards(stepadv_internal.attached) IS
'part of maintain: whether the groups are kept in a table that Citus distributes';

-- Before anything is made, of which Citus would say in many words that it stays on this node.
CREATE FUNCTION stepadv_internal.refuse_kinds(a stepadv_internal.attached) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r record;
BEGIN
	SELECT t.* INTO r FROM stepadv_internal.watched_tables(ARRAY[(a).rows], (a).n_group_columns) w
	CROSS JOIN LATERAL stepadv_internal.refusal_of_table(w.relation, (a).owner) t
		WHERE stepadv_internal.kind_without_triggers(w.relation) IS NOT NULL AND t.hint IS NOT NULL
		ORDER BY w.relation::text LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION '%', r.message USING ERRCODE = r.code, HINT = r.hint;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_kinds(stepadv_internal.attached) IS
'part of maintain: error if the rows are in a table that has no triggers which see its changes';

-- Before anything is in it.
CREATE FUNCTION stepadv_internal.put_on_shards(a stepadv_internal.attached, kept regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	place record;
	mode CONSTANT text := current_setting('citus.multi_shard_modify_mode');
BEGIN
	SELECT d.relation, k.attname AS key INTO STRICT place
	FROM stepadv_internal.distributed_tables(ARRAY[(a).rows]) d JOIN pg_attribute c ON c.attrelid = d.relation
		AND c.attname = d.distributed_by
	JOIN stepadv_internal.tables_read(ARRAY[(a).rows], (a).n_group_columns) t ON t.relation = d.relation
	JOIN pg_attribute k ON k.attrelid = put_on_shards.kept AND k.attnum = array_position(t.keys, c.attnum)
	ORDER BY d.relation::text LIMIT 1;
	-- The policy of readers names a view, which other connections to a worker do not see yet.
	PERFORM set_config('citus.multi_shard_modify_mode', 'sequential', true);
	EXECUTE 'SELECT pg_catalog.create_distributed_table($1, $2, colocate_with => $3)' USING put_on_shards.kept,
		place.key::text, stepadv_internal.relation_name(place.relation);
	PERFORM set_config('citus.multi_shard_modify_mode', mode, true);
END
$$;
COMMENT ON FUNCTION stepadv_internal.put_on_shards(stepadv_internal.attached, regclass) IS
'part of maintain: has Citus distribute a table whose first columns are the group''s, colocated with the rows';

-- A table may be distributed, or no more, after its groups are kept.
CREATE FUNCTION stepadv_internal.misplaced(a stepadv_internal.attached, OUT relation regclass, OUT problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	on_shards CONSTANT boolean := stepadv_internal.is_on_shards(a);
	kind text;
BEGIN
	IF stepadv_internal.citus_tables() IS NULL THEN
		RETURN;
	END IF;
	FOR relation IN SELECT t.r FROM stepadv_internal.tables_below(a) t(r) ORDER BY t.r::text LOOP
		kind := stepadv_internal.kind_without_triggers(relation);
		problem := CASE WHEN NOT on_shards AND kind <> 'hypertable'
			THEN format('it is a %s, and they are not on its shards', kind)
			WHEN on_shards AND kind IS NULL THEN 'it is no distributed table, and they are on shards'
			WHEN on_shards AND kind = 'distributed table' AND stepadv_internal.colocation(relation)
				<> stepadv_internal.colocation((a).folded) THEN 'it is not colocated with them' END;
		EXIT WHEN problem IS NOT NULL;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.misplaced(stepadv_internal.attached) IS
'part of maintain and refresh: the first table below whose kept groups are in another place than its rows, and why; '
'problem NULL: none';

CREATE FUNCTION stepadv_internal.refuse_places(a stepadv_internal.attached) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	place CONSTANT record := stepadv_internal.misplaced(a);
BEGIN
	IF place.problem IS NOT NULL THEN
		RAISE EXCEPTION 'cannot maintain groups of %: %', place.relation, place.problem
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Call unmaintain. Groups of tables that are distributed by a column of the group, and '
				'colocated, can be maintained.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_places(stepadv_internal.attached) IS
'part of maintain and refresh: error where kept groups are in another place than their rows';

-- Who writes through a worker has his transaction there; and what a worker prepared is committed
-- there after it was here, if late where the worker was away.
CREATE FUNCTION stepadv_internal.transactions_of_workers(OUT began timestamptz, OUT prepared timestamptz)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	worker record;
BEGIN
	FOR worker IN EXECUTE 'SELECT w.nodename::text AS name, w.nodeport AS port, w.success, w.result FROM '
		'pg_catalog.run_command_on_workers($1) w' USING
		'SELECT pg_catalog.json_build_array(stepadv_internal.oldest_transaction(), (SELECT pg_catalog.min(p.prepared) '
			'FROM pg_catalog.pg_prepared_xacts p WHERE p.database OPERATOR(pg_catalog.=) '
			'pg_catalog.current_database()))'
	LOOP
		IF worker.success IS NOT TRUE THEN
			RAISE EXCEPTION 'worker %:% does not answer', worker.name, worker.port
				USING ERRCODE = 'connection_failure', DETAIL = worker.result,
				HINT = 'Nothing was changed. Call refresh when the worker is there again.';
		END IF;
		prepared := least(prepared, (worker.result::json ->> 1)::timestamptz);
		began := least(began, prepared, (worker.result::json ->> 0)::timestamptz);
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.transactions_of_workers() IS
'part of refresh: when the oldest transactions that are running on workers began, and those that are prepared there '
'were; NULL: none; error if a worker does not answer';

-- The groups that have no rows any more, as a condition of s.
CREATE FUNCTION stepadv_internal.is_gone(a stepadv_internal.attached) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format('NOT EXISTS (SELECT FROM (SELECT %s FROM %s r) n WHERE %s)', stepadv_internal.keys_of(a,
		r.relation), stepadv_internal.relation_name(r.relation),
		stepadv_internal.same_group('n'::text, 's'::text, (a).seen, (a).n_group_columns)), ' AND '
			ORDER BY r.relation::text)
	FROM stepadv_internal.relations_read(a, false) r
$$;
COMMENT ON FUNCTION stepadv_internal.is_gone(stepadv_internal.attached) IS
'part of refresh: the condition that a group s that was seen has no rows';

CREATE FUNCTION stepadv_internal.by_watermark(a stepadv_internal.attached, whole boolean) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT format('(%s)', stepadv_internal.candidates_query(a)) WHERE (a).watermark IS NOT NULL
	AND NOT by_watermark.whole AND (a).seen_until IS NOT NULL $$;
COMMENT ON FUNCTION stepadv_internal.by_watermark(stepadv_internal.attached, boolean) IS
'part of refresh: the groups that are looked at, as a relation; NULL: all';

-- For check_maintained: it may write nothing.
CREATE FUNCTION stepadv_internal.differences_on_shards(a stepadv_internal.attached) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s FROM (%s) n %s JOIN %s s ON %s WHERE s.n_rows IS DISTINCT FROM n.n_rows OR s.hashes IS '
		'DISTINCT FROM n.hashes OR NOT s.is_folded',
		stepadv_internal.k_columns((a).n_group_columns, 'coalesce(n.k%1$s, s.k%1$s) AS k%1$s'::text),
			stepadv_internal.seen_query(a, w.candidates, true), CASE WHEN w.candidates IS NULL THEN 'FULL'
			ELSE 'LEFT' END,
		stepadv_internal.relation_name((a).seen), stepadv_internal.same_group('n'::text, 's'::text, (a).seen,
			(a).n_group_columns))
	FROM (SELECT stepadv_internal.by_watermark(a, false) AS candidates) w
$$;
COMMENT ON FUNCTION stepadv_internal.differences_on_shards(stepadv_internal.attached) IS
'part of check_maintained: the query of groups that differ from what was seen';

-- Functions that take any type are called here, not on workers: there a name is looked up in the
-- owner's search_path, where somebody may have made one for his very type.
CREATE FUNCTION stepadv_internal.to_find_on_shards(a stepadv_internal.attached) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found record;
	result jsonb := '{}';
BEGIN
	FOR found IN EXECUTE format('SELECT %s FROM (%s) w',
		stepadv_internal.list(stepadv_internal.group_columns((a).fresh, (a).n_group_columns), 'w.k%2$s AS %1$I'::text,
		', '::text), stepadv_internal.differences_on_shards(a)) LOOP
		result := result || jsonb_build_object(to_jsonb(found)::text, true);
	END LOOP;
	RETURN result;
END
$$;
COMMENT ON FUNCTION stepadv_internal.to_find_on_shards(stepadv_internal.attached) IS
'part of check_maintained: still_to_find of groups that are kept on shards';

CREATE FUNCTION stepadv_internal.check_shards_of(a stepadv_internal.attached)
	RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found record;
BEGIN
	FOR found IN EXECUTE format('SELECT f.value IS NULL AS stepadv_gone, c.value IS NULL AS stepadv_missing, %1$s
		FROM %2$s f(%3$s, value) FULL JOIN %4$s c(%3$s, value) ON %5$s
		WHERE record_image_ne(ROW(f.value), ROW(c.value))',
		stepadv_internal.list(stepadv_internal.group_columns((a).fresh, (a).n_group_columns),
			'coalesce(f.k%2$s, c.k%2$s) AS %1$I'::text, ', '::text), stepadv_internal.relation_name((a).fresh),
		stepadv_internal.k_columns((a).n_group_columns, 'k%1$s'::text), stepadv_internal.relation_name((a).folded),
			stepadv_internal.same_group('f'::text, 'c'::text, (a).folded, (a).n_group_columns))
	LOOP
		"group" := to_jsonb(found) - '{stepadv_gone,stepadv_missing}'::text[];
		problem := CASE WHEN found.stepadv_missing THEN 'is missing' WHEN found.stepadv_gone THEN 'has no rows'
			ELSE 'differs from a fresh fold' END;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_shards_of(stepadv_internal.attached) IS
'part of check_maintained: check_groups of groups that are kept on shards';

-- What differs is noted, and not folded yet.
CREATE FUNCTION stepadv_internal.see_shards(a stepadv_internal.attached, whole boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	seen CONSTANT text := stepadv_internal.relation_name((a).seen);
	candidates CONSTANT text := stepadv_internal.by_watermark(a, see_shards.whole);
	keys CONSTANT text := stepadv_internal.k_columns((a).n_group_columns, 'k%1$s'::text);
BEGIN
	EXECUTE format('INSERT INTO %1$s AS s (%2$s, n_rows, hashes, is_folded) SELECT %3$s, n.n_rows, n.hashes, false '
		'FROM (%4$s) n ON CONFLICT (%2$s) DO UPDATE SET n_rows = excluded.n_rows, hashes = excluded.hashes, is_folded '
		'= false '
		'WHERE s.n_rows <> excluded.n_rows OR s.hashes <> excluded.hashes', seen, keys,
			stepadv_internal.k_columns((a).n_group_columns, 'n.k%1$s'::text), stepadv_internal.seen_query(a,
			candidates, true));
	IF candidates IS NULL THEN
		EXECUTE format('UPDATE %s s SET n_rows = 0, is_folded = false WHERE %s', seen, stepadv_internal.is_gone(a));
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.see_shards(stepadv_internal.attached, boolean) IS
'part of refresh: notes on the shards what is seen, and which groups differ from what was';

-- The lists of what is to be folded of the kept key, by which the rows are in shards, a part of
-- them at a time; NULL: all.  What is folded of a list is read through the index, if there is one;
-- where about half of the groups changed, all rows are read at once, see src/upkeep/fold.c.
CREATE FUNCTION stepadv_internal.lists_to_fold(a stepadv_internal.attached) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	seen CONSTANT text := stepadv_internal.relation_name((a).seen);
	key CONSTANT text := stepadv_internal.distributed_by((a).seen);
	-- Parameters of a statement that stay a text of a few pages.
	part CONSTANT integer := 1000;
	n bigint;
	n_all bigint;
	item text;
	keys text[] := '{}';
BEGIN
	EXECUTE format('SELECT count(*) FILTER (WHERE NOT s.is_folded), count(*) FROM %s s', seen) INTO n, n_all;
	IF n > 100 AND n >= 0.45 * n_all THEN
		RETURN NEXT NULL;
	ELSIF n > 0 THEN
		FOR item IN EXECUTE format('SELECT DISTINCT s.%I::text FROM %s s WHERE NOT s.is_folded', key, seen) LOOP
			keys := keys || item;
		END LOOP;
		RETURN QUERY SELECT format('%L::%s[]', keys[i : i + part - 1],
			format_type(stepadv_internal.column_type((a).seen, key), NULL)) FROM generate_series(1, cardinality(keys),
			part) i;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.lists_to_fold(stepadv_internal.attached) IS
'part of refresh: the distribution column''s values of groups that are to be folded, as array literals; NULL: of all '
'groups';

-- Other statements than those that see: their snapshots are later.
CREATE FUNCTION stepadv_internal.fold_on_shards(a stepadv_internal.attached, everything boolean, whole boolean)
	RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	seen CONSTANT text := stepadv_internal.relation_name((a).seen);
	folded CONSTANT text := stepadv_internal.relation_name((a).folded);
	n CONSTANT integer := (a).n_group_columns;
	columns CONSTANT text[] := ARRAY(SELECT t.attname::text FROM pg_attribute t WHERE t.attrelid = (a).folded
		AND t.attnum > 0 AND NOT t.attisdropped ORDER BY t.attnum);
	key CONSTANT name := (SELECT t.attname FROM pg_attribute t JOIN pg_attribute c ON c.attnum = t.attnum
		WHERE t.attrelid = (a).fresh AND c.attrelid = (a).folded
		AND c.attname = stepadv_internal.distributed_by((a).folded));
	n_gone bigint;
	n_folded bigint;
	list text;
BEGIN
	IF fold_on_shards.everything THEN
		EXECUTE format('DELETE FROM %s', seen);
		EXECUTE format('DELETE FROM %s', folded);
	END IF;
	PERFORM stepadv_internal.see_shards(a, fold_on_shards.whole);
	IF NOT fold_on_shards.everything THEN
		EXECUTE format('DELETE FROM %s c USING %s s WHERE NOT s.is_folded AND %s', folded, seen,
			stepadv_internal.same_names('c'::text, (a).folded, 's'::text, (a).seen, n));
	END IF;
	FOR list IN SELECT * FROM stepadv_internal.lists_to_fold(a) LOOP
		EXECUTE format('INSERT INTO %1$s (%2$s) SELECT %3$s, $1 FROM %4$s f JOIN %5$s s ON %6$s WHERE NOT '
			's.is_folded%7$s', folded, stepadv_internal.list(columns, '%1$I'::text, ', '::text),
			stepadv_internal.list(ARRAY(SELECT t.attname::text FROM pg_attribute t WHERE t.attrelid = (a).fresh
				AND t.attnum BETWEEN 1 AND n + 1 ORDER BY t.attnum), 'f.%1$I'::text, ', '::text),
			stepadv_internal.relation_name((a).fresh), seen, stepadv_internal.same_names('f'::text, (a).fresh,
				's'::text, (a).seen, n),
			format(' AND f.%I %s ANY (', key,
				stepadv_internal.equality_operator(stepadv_internal.column_type((a).folded,
				stepadv_internal.distributed_by((a).folded)))) || list || ')') USING clock_timestamp();
	END LOOP;
	EXECUTE format('DELETE FROM %s WHERE n_rows = 0', seen);
	GET DIAGNOSTICS n_gone = ROW_COUNT;
	EXECUTE format('UPDATE %s SET is_folded = true WHERE NOT is_folded', seen);
	GET DIAGNOSTICS n_folded = ROW_COUNT;
	RETURN n_gone + n_folded;
END
$$;
COMMENT ON FUNCTION stepadv_internal.fold_on_shards(stepadv_internal.attached, boolean, boolean) IS
'part of refresh: finds on the shards which groups differ from what was seen, and folds them there, or everything; '
'how many';

CREATE FUNCTION stepadv_internal.same_names(one text, types_of regclass, other text, names_of regclass, number integer)
	RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format('%1$s.%2$I %3$s %4$s.%5$I', same_names.one, a.attname,
		stepadv_internal.equality_operator(a.atttypid), same_names.other, b.attname), ' AND ' ORDER BY a.attnum)
	FROM pg_attribute a JOIN pg_attribute b ON b.attrelid = same_names.names_of AND b.attnum = a.attnum
	WHERE a.attrelid = same_names.types_of AND a.attnum BETWEEN 1 AND same_names.number
$$;
COMMENT ON FUNCTION stepadv_internal.same_names(text, regclass, text, regclass, integer) IS
'the condition that two aliases of relations that begin with the columns of the group have the same group';

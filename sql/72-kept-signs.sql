-- The signs of steps, the distribution of advantages, and the problems of rows, kept beside the folded groups, for views about all of them.
--
-- maintain makes, and writes into the attachment:
--
--	<prefix>_fresh_signs	view: a row per group, and run and version of its rollouts, as
--							signs_source has it where nothing is kept
--	<prefix>_folded_signs	table: the same, kept
--	<prefix>_fresh_bins, <prefix>_folded_bins
--							the same of the distribution of the advantages, by group and divisions
--	<prefix>_fresh_problems, <prefix>_folded_problems
--							the same of what is wrong with rows, as far as changes of them are seen
--	<prefix>_waiting		table: keys of groups that changed since.  Who writes pays no more
--							than that; readers have their signs and bins computed, until refresh keeps them
--
-- signed_methods and binned_methods say of which methods they are: views of others do not
-- read them.

-- The methods of an attachment's views whose signs can be kept by group: what a history
-- says of a group's steps changes with others.
CREATE FUNCTION stepadv_internal.methods_by_group(a stepadv_internal.attached) RETURNS stepadv_internal.made_method[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT ARRAY(SELECT m FROM stepadv_internal.made_methods(a) m
		WHERE m.method = ANY ((a).view_kinds) AND NOT (stepadv_internal.takes_history(m.function) AND stepadv_internal.history_reach(m.method, m.settings) IS NOT NULL) ORDER BY m.number)
$$;
COMMENT ON FUNCTION stepadv_internal.methods_by_group(stepadv_internal.attached) IS 'part of maintain: the methods of an attachment''s views that see nothing but the group';

CREATE FUNCTION stepadv_internal.set_kept_signs(attachment regclass, fresh_signs regclass, folded_signs regclass, waiting regclass, signed_methods text[],
	fresh_bins regclass, folded_bins regclass, binned_methods text[], fresh_problems regclass, folded_problems regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format('UPDATE %s SET fresh_signs = $1, folded_signs = $2, waiting = $3, signed_methods = $4, fresh_bins = $5, folded_bins = $6, binned_methods = $7, fresh_problems = $8, folded_problems = $9', set_kept_signs.attachment)
		USING set_kept_signs.fresh_signs, set_kept_signs.folded_signs, set_kept_signs.waiting, set_kept_signs.signed_methods,
			set_kept_signs.fresh_bins, set_kept_signs.folded_bins, set_kept_signs.binned_methods, set_kept_signs.fresh_problems, set_kept_signs.folded_problems;
END
$$;
COMMENT ON FUNCTION stepadv_internal.set_kept_signs(regclass, regclass, regclass, regclass, text[], regclass, regclass, text[], regclass, regclass) IS 'part of maintain: writes into an attachment where its kept signs, distributions and problems are';

-- What is kept, as queries over nothing that is: the group's columns and others
-- after them, none of the same name; NULL where no view reads it.
CREATE FUNCTION stepadv_internal.fresh_signs_queries(a stepadv_internal.attached, OUT signs text, OUT signed_methods text[], OUT bins text, OUT binned_methods text[], OUT problems text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made CONSTANT stepadv_internal.made_method[] := stepadv_internal.methods_by_group(a);
	keys CONSTANT text[] := stepadv_internal.group_columns((a).rows, (a).n_group_columns);
	not_kept stepadv_internal.attached := a;
	source record;
	names text[];
BEGIN
	not_kept.folded := NULL;
	not_kept.folded_signs := NULL;
	IF '{signs,disagreement_by_group}' && (a).view_kinds THEN
		SELECT * INTO source FROM stepadv_internal.signs_source(not_kept, made);
		names := source.names || '{patterns,counts,apart}'::text[];
		signed_methods := source.methods;
		signs := format('SELECT q.* FROM (SELECT a.* FROM %s) q(%s)', source.relation, stepadv_internal.kept_names(keys, names));
	END IF;
	IF 'advantage_histogram' = ANY ((a).view_kinds) AND stepadv_internal.has_runs(a) THEN
		SELECT * INTO source FROM stepadv_internal.bins_by_group(not_kept, made);
		names := stepadv_internal.division_names(a) || source.methods;
		binned_methods := source.methods;
		bins := format('SELECT q.* FROM (%s) q(%s)', source.query, stepadv_internal.kept_names(keys, names));
	END IF;
	IF 'problems' = ANY ((a).view_kinds) THEN
		problems := format('SELECT q.* FROM (%s) q(%s)',
			stepadv_internal.problems_by_group_query(not_kept, ARRAY(SELECT m FROM stepadv_internal.made_methods(a) m WHERE m.method = ANY ((a).view_kinds) ORDER BY m.number)),
			stepadv_internal.kept_names(keys, '{rollout_id,step_no,place,n_rows}'::text[]));
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.fresh_signs_queries(stepadv_internal.attached) IS 'part of maintain: the queries of the views of signs, distributions and problems that are not kept, and of which methods they are; NULL where nothing is to be kept';

CREATE FUNCTION stepadv_internal.kept_names(keys text[], names text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	all_names text[] := keys;
	name text;
BEGIN
	FOREACH name IN ARRAY names LOOP
		all_names := all_names || stepadv_internal.free_name(all_names, name, 'kept_'::text);
	END LOOP;
	RETURN stepadv_internal.list(all_names, '%1$I'::text, ', '::text);
END
$$;
COMMENT ON FUNCTION stepadv_internal.kept_names(text[], text[]) IS 'part of maintain: the columns of the group and further ones, none of which is called as another';

CREATE FUNCTION stepadv_internal.make_kept_table(a stepadv_internal.attached, what text, query text, shows text, OUT fresh regclass, OUT folded regclass)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	schema CONSTANT text := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = (a).attachment);
	name CONSTANT text := format('%I.%I', schema, format('%s_folded_%s', (a).prefix, what));
BEGIN
	IF query IS NULL THEN
		RETURN;
	END IF;
	fresh := stepadv_internal.create_view(schema, format('%s_fresh_%s', (a).prefix, what), query, format('%s of the groups of %s, computed when asked', shows, (a).source));
	IF what = 'problems' AND stepadv_internal.keep_if_watched(a, fresh) IS NULL THEN
		fresh := NULL;
		RETURN;
	END IF;
	EXECUTE format('CREATE %sTABLE %s WITH (toast_tuple_target = 8160) AS SELECT f.* FROM %s f WITH NO DATA', stepadv_internal.unlogged_as(ARRAY[(a).fresh], (a).source), name, fresh);
	EXECUTE format('CREATE INDEX ON %s (%s)', name, stepadv_internal.list(stepadv_internal.group_columns(fresh, (a).n_group_columns), '%1$I'::text, ', '::text));
	EXECUTE format('COMMENT ON TABLE %s IS %L', name, format('%s of the groups of %s, kept by stepadv.maintain; nobody else should write to it', shows, (a).source));
	folded := name::regclass;
	PERFORM stepadv_internal.let_readers(folded, fresh);
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_kept_table(stepadv_internal.attached, text, text, text) IS 'part of maintain: a view <prefix>_fresh_<what> of the query, and the table <prefix>_folded_<what> of what it says; none for no query';

-- Whether a view reads nothing that the groups and the views over time do not read as
-- well, so that the same triggers see its changes; otherwise it is dropped.
CREATE FUNCTION stepadv_internal.keep_if_watched(a stepadv_internal.attached, fresh regclass) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	watched CONSTANT jsonb := (SELECT jsonb_object_agg(w.relation::oid::text, coalesce(to_jsonb(w.reads), 'true')) FROM stepadv_internal.watched_tables(ARRAY[(a).fresh, (a).fresh_over_time], (a).n_group_columns) w);
BEGIN
	IF (SELECT bool_and(watched ? w.relation::oid::text AND (watched -> w.relation::oid::text = 'true' OR watched -> w.relation::oid::text @> to_jsonb(w.reads)) IS TRUE)
		FROM stepadv_internal.watched_tables(ARRAY[fresh], 0) w) IS TRUE
	THEN
		RETURN fresh;
	END IF;
	EXECUTE format('DROP VIEW %s', fresh);
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.keep_if_watched(stepadv_internal.attached, regclass) IS 'part of maintain: a view that was made of what is to be kept; drops it, and NULL, where not all of its changes would be seen';

-- Empty, and nobody who fills it yet.  What they read, the groups and the views over
-- time read as well, so that the same triggers see its changes.
CREATE FUNCTION stepadv_internal.make_kept_signs(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	asked CONSTANT record := stepadv_internal.fresh_signs_queries(a);
	signs record;
	bins record;
	problems record;
	waiting text;
BEGIN
	IF asked.signs IS NULL AND asked.bins IS NULL AND asked.problems IS NULL OR stepadv_internal.has_runs(a) AND (a).fresh_over_time IS NULL THEN
		RETURN;
	END IF;
	signs := stepadv_internal.make_kept_table(a, 'signs'::text, asked.signs, 'signs of the steps'::text);
	bins := stepadv_internal.make_kept_table(a, 'bins'::text, asked.bins, 'distributions of the advantages'::text);
	problems := stepadv_internal.make_kept_table(a, 'problems'::text, asked.problems, 'problems of the rows'::text);
	IF coalesce(signs.fresh, bins.fresh, problems.fresh) IS NULL THEN
		RETURN;
	END IF;
	waiting := (SELECT format('%I.%I', n.nspname, (a).prefix || '_waiting') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = make_kept_signs.attachment);
	EXECUTE format('CREATE %sTABLE %s AS SELECT %s FROM %s f WITH NO DATA', stepadv_internal.unlogged_as(ARRAY[(a).fresh], (a).source), waiting,
		stepadv_internal.list(stepadv_internal.group_columns((a).fresh, (a).n_group_columns), 'f.%1$I'::text, ', '::text), (a).fresh);
	EXECUTE format('COMMENT ON TABLE %s IS %L', waiting, format('groups of %s whose signs, distributions and problems are computed when they are read, until stepadv.refresh', (a).source));
	PERFORM stepadv_internal.let_readers(waiting::regclass, coalesce(signs.fresh, bins.fresh, problems.fresh));
	PERFORM stepadv_internal.set_kept_signs(attachment, signs.fresh, signs.folded, waiting::regclass, asked.signed_methods, bins.fresh, bins.folded, asked.binned_methods, problems.fresh, problems.folded);
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_kept_signs(regclass) IS 'part of maintain: the views and the tables of signs, distributions and problems that are kept; none where attach made no view that reads them';

-- After the views were made anew: whether what is kept must be computed again.  What
-- is of other methods than the views', they do not read.
CREATE FUNCTION stepadv_internal.renew_fresh_signs(a stepadv_internal.attached) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	before CONSTANT text[] := ARRAY[pg_get_viewdef((a).fresh_signs), pg_get_viewdef((a).fresh_bins), pg_get_viewdef((a).fresh_problems)];
	asked record;
	replaced boolean;
BEGIN
	IF (a).waiting IS NULL OR coalesce((a).fresh_signs, (a).fresh_bins, (a).fresh_problems) IS NULL THEN
		RETURN false;
	END IF;
	SELECT * INTO asked FROM stepadv_internal.fresh_signs_queries(a);
	IF (a).fresh_signs IS NOT NULL AND asked.signed_methods = (a).signed_methods THEN
		replaced := stepadv_internal.replace_view((a).fresh_signs, asked.signs, '{}'::text[]);
	END IF;
	IF (a).fresh_bins IS NOT NULL AND asked.binned_methods = (a).binned_methods THEN
		replaced := stepadv_internal.replace_view((a).fresh_bins, asked.bins, '{}'::text[]);
	END IF;
	IF (a).fresh_problems IS NOT NULL AND asked.problems IS NOT NULL THEN
		replaced := stepadv_internal.replace_view((a).fresh_problems, asked.problems, '{}'::text[]);
	END IF;
	RETURN before IS DISTINCT FROM ARRAY[pg_get_viewdef((a).fresh_signs), pg_get_viewdef((a).fresh_bins), pg_get_viewdef((a).fresh_problems)];
END
$$;
COMMENT ON FUNCTION stepadv_internal.renew_fresh_signs(stepadv_internal.attached) IS 'part of upgrade_attachment: makes the views of signs, distributions and problems anew; true if they compute them in another way now';

-- What is kept of groups that do not wait is what is computed; others are compared
-- when they are kept.
CREATE FUNCTION stepadv_internal.check_kept_table(a stepadv_internal.attached, fresh regclass, folded regclass, what text) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text := stepadv_internal.k_columns((a).n_group_columns, 'k%1$s'::text);
	waits CONSTANT text := concat_ws(' OR ', stepadv_internal.waits((a).changed, (a).n_group_columns, stepadv_internal.k_columns((a).n_group_columns, 'g.k%1$s'::text)),
		stepadv_internal.waits((a).waiting, (a).n_group_columns, stepadv_internal.k_columns((a).n_group_columns, 'g.k%1$s'::text)));
	asked text := format('%s f', fresh);
BEGIN
	IF (a).folded IS NULL OR folded IS NULL OR fresh IS NULL OR (a).waiting IS NULL THEN
		RETURN;
	END IF;
	IF stepadv_internal.has_waiting((a).waiting) OR stepadv_internal.has_waiting((a).changed) THEN
		asked := format('(SELECT %1$s FROM %2$s g(%1$s) WHERE NOT (%3$s) OFFSET 0) g CROSS JOIN LATERAL (SELECT f.* FROM %4$s f(%1$s) WHERE %5$s OFFSET 0) f',
			keys, (a).folded, waits, fresh, stepadv_internal.same_group('f'::text, 'g'::text, (a).folded, (a).n_group_columns));
	END IF;
	RETURN QUERY EXECUTE format(
		'WITH f AS MATERIALIZED (SELECT f.* FROM %1$s), c AS MATERIALIZED (SELECT * FROM %2$s)
		SELECT jsonb_build_object(%3$s), %6$L
		FROM (SELECT DISTINCT %4$s FROM ((TABLE f EXCEPT ALL TABLE c) UNION ALL (TABLE c EXCEPT ALL TABLE f)) d(%4$s)) g WHERE NOT (%5$s)',
		asked, folded, stepadv_internal.list(stepadv_internal.group_columns((a).fresh, (a).n_group_columns), '%1$L, g.k%2$s'::text, ', '::text), keys, waits, what || ' from a fresh fold');
EXCEPTION WHEN data_exception THEN
	RETURN QUERY SELECT NULL::jsonb, format('signs of groups cannot be compared: %s', SQLERRM);
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_kept_table(stepadv_internal.attached, regclass, regclass, text) IS 'part of check_maintained: groups of which something else is kept than is computed';

CREATE FUNCTION stepadv_internal.check_signs(attachment regclass) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT c.* FROM stepadv_internal.known(check_signs.attachment) a CROSS JOIN LATERAL stepadv_internal.check_kept_table(a, a.fresh_signs, a.folded_signs, 'signs differ'::text) c
	UNION ALL
	SELECT c.* FROM stepadv_internal.known(check_signs.attachment) a CROSS JOIN LATERAL stepadv_internal.check_kept_table(a, a.fresh_bins, a.folded_bins, 'distribution differs'::text) c
	UNION ALL
	SELECT c.* FROM stepadv_internal.known(check_signs.attachment) a CROSS JOIN LATERAL stepadv_internal.check_kept_table(a, a.fresh_problems, a.folded_problems, 'problems differ'::text) c
$$;
COMMENT ON FUNCTION stepadv_internal.check_signs(regclass) IS 'part of check_maintained: groups whose kept signs, distributions and problems are not those of a fresh fold';

CREATE FUNCTION stepadv_internal.has_waiting(waiting regclass) RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found boolean := false;
BEGIN
	IF has_waiting.waiting IS NOT NULL THEN
		EXECUTE format('SELECT EXISTS (SELECT FROM %s)', has_waiting.waiting) INTO found;
	END IF;
	RETURN found;
END
$$;
COMMENT ON FUNCTION stepadv_internal.has_waiting(regclass) IS 'part of check_maintained: whether any group waits; false for no table';

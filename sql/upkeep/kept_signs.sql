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
--	<prefix>_kept_parts		view: all that is kept of the kept groups, over time, signs, bins and behaviour, computed
--							of them; no row of the source is read again.  Of each group once, where it is
--							not divided.  What keeps groups right reads it, and nobody else
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

-- ---- All that is kept, computed of the kept groups

CREATE TYPE stepadv_internal.signed_run AS (place integer, patterns bigint[], counts bigint[], apart float8[]);
COMMENT ON TYPE stepadv_internal.signed_run IS 'the signs of the steps of one run, as signed_steps, and the place of its first rollout';

CREATE FUNCTION stepadv_internal.parts_of(rollouts stepadv.rollout_group, ids bigint[], divisions bigint[], runs bigint[]) RETURNS TABLE (place integer, is_division boolean, part stepadv.rollout_group, whole bigint[], whole_runs bigint[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 ROWS 1
AS 'MODULE_PATHNAME', 'stepadv_parts_of';
COMMENT ON FUNCTION stepadv_internal.parts_of(stepadv.rollout_group, bigint[], bigint[], bigint[]) IS
'a group divided: ids are its rollouts in any order, divisions for each the first rollout of its part (place: where that is in ids); a row for the whole, with ids and runs as they were given, which is the only part if it is not divided, and else one for each part; error if the rollouts are others';

CREATE FUNCTION stepadv_internal.first_alike(ids bigint[], VARIADIC lists "any") RETURNS bigint[]
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_first_alike';
COMMENT ON FUNCTION stepadv_internal.first_alike(bigint[], "any") IS 'for each of ids the least one for which all of the lists (arrays as long as ids) have the same, NULLs included';

CREATE FUNCTION stepadv_internal.first_alike(ids bigint[]) RETURNS bigint[]
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_first_alike';
COMMENT ON FUNCTION stepadv_internal.first_alike(bigint[]) IS 'the same of no lists: the least of all';

CREATE FUNCTION stepadv_internal.kept_estimates_trans(internal, rollouts bigint[], runs bigint[], places integer[], sign_threshold float8, scale_threshold float8, rollout_id bigint, success integer, VARIADIC advantages "any") RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_kept_estimates_trans';
COMMENT ON FUNCTION stepadv_internal.kept_estimates_trans(internal, bigint[], bigint[], integer[], float8, float8, bigint, integer, "any") IS 'part of kept_sums, kept_bins and kept_signs: one step more';

CREATE FUNCTION stepadv_internal.kept_sums_final(internal, rollouts bigint[], runs bigint[], places integer[], sign_threshold float8, scale_threshold float8, rollout_id bigint, success integer, VARIADIC advantages "any") RETURNS float8[]
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_kept_sums_final';
COMMENT ON FUNCTION stepadv_internal.kept_sums_final(internal, bigint[], bigint[], integer[], float8, float8, bigint, integer, "any") IS 'part of kept_sums: what there is';

CREATE FUNCTION stepadv_internal.kept_bins_final(internal) RETURNS bytea[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_kept_bins_final';
COMMENT ON FUNCTION stepadv_internal.kept_bins_final(internal) IS 'part of kept_bins: what there is';

CREATE FUNCTION stepadv_internal.kept_signs_final(internal) RETURNS stepadv_internal.signed_run[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_kept_signs_final';
COMMENT ON FUNCTION stepadv_internal.kept_signs_final(internal) IS 'part of kept_signs: what there is';

CREATE FUNCTION stepadv_internal.kept_advantages_final(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_kept_advantages_final';
COMMENT ON FUNCTION stepadv_internal.kept_advantages_final(internal) IS 'part of kept_advantages: what there is';

-- One state for the four, which the server makes once for those that a query asks for.
CREATE AGGREGATE stepadv_internal.kept_sums(rollouts bigint[], runs bigint[], places integer[], sign_threshold float8, scale_threshold float8, rollout_id bigint, success integer, VARIADIC advantages "any") (
	SFUNC = stepadv_internal.kept_estimates_trans, STYPE = internal,
	FINALFUNC = stepadv_internal.kept_sums_final, FINALFUNC_EXTRA, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.kept_sums(bigint[], bigint[], integer[], float8, float8, bigint, integer, "any") IS
'of the steps of a group and their advantages by several methods (float8 each) what sum_advantages gives of each method, one after the other';

CREATE AGGREGATE stepadv_internal.kept_bins(rollouts bigint[], runs bigint[], places integer[], sign_threshold float8, scale_threshold float8, rollout_id bigint, success integer, VARIADIC advantages "any") (
	SFUNC = stepadv_internal.kept_estimates_trans, STYPE = internal,
	FINALFUNC = stepadv_internal.kept_bins_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.kept_bins(bigint[], bigint[], integer[], float8, float8, bigint, integer, "any") IS
'likewise what advantage_bins gives of each method; NULL over no rows';

CREATE AGGREGATE stepadv_internal.kept_signs(rollouts bigint[], runs bigint[], places integer[], sign_threshold float8, scale_threshold float8, rollout_id bigint, success integer, VARIADIC advantages "any") (
	SFUNC = stepadv_internal.kept_estimates_trans, STYPE = internal,
	FINALFUNC = stepadv_internal.kept_signs_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.kept_signs(bigint[], bigint[], integer[], float8, float8, bigint, integer, "any") IS
'likewise what step_signs gives of the methods at these places (from 1), for the steps of each run: rollouts are those of the group, runs for each the first one of its run; scales are those of the whole group; NULL over no rows, and where rollouts or runs are';

CREATE AGGREGATE stepadv_internal.kept_advantages(rollouts bigint[], runs bigint[], places integer[], sign_threshold float8, scale_threshold float8, rollout_id bigint, success integer, VARIADIC advantages "any") (
	SFUNC = stepadv_internal.kept_estimates_trans, STYPE = internal,
	FINALFUNC = stepadv_internal.kept_advantages_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.kept_advantages(bigint[], bigint[], integer[], float8, float8, bigint, integer, "any") IS
'likewise the advantages themselves, for call_sums of the same query, not to be kept; NULL over no rows';

-- Of each rollout of the kept groups, by which it is divided and of which run it is: a
-- row m per group with k1, k2, ..., its rollouts (ids), and for each of these d1, d2, ...
-- and r1, r2, ....  Only what rollouts of a group may differ in; divisions and runs: the
-- expressions, over m, of who is the first of a rollout's division and run.
CREATE FUNCTION stepadv_internal.kept_runs(a stepadv_internal.attached, OUT relation text, OUT divisions text, OUT runs text, OUT run_names text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	n CONSTANT integer := (a).n_group_columns;
	width CONSTANT text := coalesce(stepadv_internal.view_options(a, 'progress_over_time'::text) ->> 'bucket', '1 day');
	run CONSTANT record := stepadv_internal.run_of_rollout(a);
	k_list CONSTANT text := stepadv_internal.k_columns(n, 'x.k%1$s'::text);
	names text[];
	joins text;
	division_items text;
	run_items text;
BEGIN
	SELECT string_agg(format(', %s AS d%s', CASE WHEN d.role = 'started_at' THEN stepadv_internal.bucket(format('%s.%I', v.alias, d.fed_by), width) ELSE format('%s.%I', v.alias, d.fed_by) END, d.i), '' ORDER BY d.i),
		array_agg('d' || d.i ORDER BY d.i)
	INTO division_items, names
	FROM stepadv_internal.divisions(a) d JOIN (VALUES ('w', (a).runs), ('o', (a).began)) v(alias, view) ON v.view = d.view;
	SELECT coalesce(array_agg(r.name ORDER BY r.i), '{}'), string_agg(format(', %s AS r%s', r.expression, r.i), '' ORDER BY r.i) INTO run_names, run_items
	FROM (SELECT u.name, u.expression, row_number() OVER (ORDER BY u.i) AS i FROM unnest(run.names, run.expressions, run.of_group) WITH ORDINALITY u(name, expression, of_group, i) WHERE NOT u.of_group) r;
	SELECT coalesce(string_agg(format(' LEFT JOIN %1$s %2$s ON %3$s AND %2$s.stepadv_rollout OPERATOR(pg_catalog.=) x.rollout_id', stepadv_internal.relation_name(v.view), v.alias,
		(SELECT string_agg(format('%s.%I %s x.k%s', v.alias, t.attname, stepadv_internal.equality_operator(t.atttypid), t.attnum), ' AND ' ORDER BY t.attnum)
			FROM pg_attribute t WHERE t.attrelid = v.view AND t.attnum BETWEEN 1 AND n)), '' ORDER BY v.alias DESC), '')
	INTO joins
	FROM (VALUES ('w', (a).runs), ('o', (a).began)) v(alias, view)
	WHERE v.view IN (SELECT d.view FROM stepadv_internal.divisions(a) d)
		OR v.view IN (SELECT e.view FROM stepadv_internal.run_expressions(a, '{task_id,run_id,policy_version,policy_step}'::text[]) e);
	relation := format($view$(
		SELECT %1$s, array_agg(x.rollout_id) AS ids%2$s
		FROM (
			SELECT %1$s, x.rollout_id%3$s%4$s
			FROM (SELECT c.*, e.rollout_id FROM (SELECT %5$s, c.rollouts FROM %6$s c) c(%7$s, rollouts) CROSS JOIN LATERAL stepadv.rollouts(c.rollouts) e) x%8$s) x
		GROUP BY %1$s) m$view$,
		k_list, concat(stepadv_internal.list(names, ', array_agg(x.%1$I) AS %1$I'::text, ''::text), (SELECT string_agg(format(', array_agg(x.r%1$s) AS r%1$s', i), '' ORDER BY i) FROM generate_series(1, cardinality(run_names)) i)),
		division_items, run_items, stepadv_internal.list(stepadv_internal.group_columns((a).folded, n), 'c.%1$I'::text, ', '::text), stepadv_internal.relation_name((a).folded),
		stepadv_internal.k_columns(n, 'k%1$s'::text), joins);
	divisions := format('stepadv_internal.first_alike(m.ids%s)', stepadv_internal.list(names, ', m.%1$I'::text, ''::text));
	runs := format('stepadv_internal.first_alike(m.ids%s)', (SELECT string_agg(', m.r' || i, '' ORDER BY i) FROM generate_series(1, cardinality(run_names)) i));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.kept_runs(stepadv_internal.attached) IS 'part of maintain: the relation m, by what the rollouts of each kept group are divided and of which runs they are; who is the first of a division and of a run; the names of r1, r2, ...';

-- The relation g, a row for each kept group and part of a group, with what divided_items
-- and the methods expect, and ids, runs and r1, r2, ... of m.
CREATE FUNCTION stepadv_internal.kept_groups(a stepadv_internal.attached, n_runs integer, relation text, divisions text, runs text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	keys CONSTANT text[] := stepadv_internal.group_columns((a).rows, (a).n_group_columns);
	kept_keys CONSTANT text[] := stepadv_internal.group_columns((a).folded, (a).n_group_columns);
	divided text := '';
	d record;
	expression text;
BEGIN
	FOR d IN SELECT * FROM stepadv_internal.divisions(a) v WHERE NOT v.stands ORDER BY v.i LOOP
		expression := CASE WHEN d.view IS NULL THEN CASE d.role WHEN 'started_at' THEN 'NULL::timestamptz' ELSE 'NULL::text' END
			WHEN d.view <> (a).rows THEN format('(m.d%s)[p.place]', d.i) END;
		IF d.view = (a).rows THEN
			expression := stepadv_internal.role_column(d.serves_as, (a).folded, kept_keys[d.key], 'c'::text);
			IF d.role = 'started_at' THEN
				expression := stepadv_internal.bucket(expression, coalesce(stepadv_internal.view_options(a, 'progress_over_time'::text) ->> 'bucket', '1 day'));
			END IF;
		END IF;
		divided := divided || format(', %s AS %I', expression, d.divider);
	END LOOP;
	RETURN format($view$(
		SELECT %1$s, p.part AS %2$s, p.is_division, p.whole AS ids, p.whole_runs AS runs%3$s%4$s%10$s
		FROM %5$s c JOIN %6$s ON %7$s CROSS JOIN LATERAL stepadv_internal.parts_of(c.rollouts, m.ids, %9$s, %8$s) p) g$view$,
		(SELECT string_agg(format('c.%I AS %I', k.kept, k.name), ', ' ORDER BY k.i) FROM unnest(kept_keys, keys) WITH ORDINALITY k(kept, name, i)), stepadv_internal.value_name(a),
		(SELECT string_agg(format(', m.r%1$s', i), '' ORDER BY i) FROM generate_series(1, kept_groups.n_runs) i), divided, stepadv_internal.relation_name((a).folded), kept_groups.relation,
		(SELECT string_agg(format('m.k%s %s c.%I', t.attnum, stepadv_internal.equality_operator(t.atttypid), t.attname), ' AND ' ORDER BY t.attnum)
			FROM pg_attribute t WHERE t.attrelid = (a).folded AND t.attnum BETWEEN 1 AND (a).n_group_columns), kept_groups.runs, kept_groups.divisions, stepadv_internal.kept_marks(a));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.kept_groups(stepadv_internal.attached, integer, text, text, text) IS 'part of maintain: the relation g, a row for each kept group and part of it, as the methods read it';

-- The joins that bring of a row of g what the methods say: k.sums, k.bins and
-- k.signs, all of one look at each step; signed: of which methods the signs are.  Where one of
-- them is a user's they are of a join of their own.
CREATE FUNCTION stepadv_internal.kept_estimates(a stepadv_internal.attached, made stepadv_internal.made_method[], signed text[], OUT summed text[], OUT joins text, OUT signs text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	given CONSTANT text := format('%L::float8, %L::float8', stepadv_internal.threshold(a, 'quadrants'::text, 0::float8), stepadv_internal.threshold(a, 'disagreements'::text, 1e-9::float8));
	plain CONSTANT text := format('g.%I', stepadv_internal.value_name(a));
	source CONSTANT record := stepadv_internal.compare_source(a, made);
	calls text;
	columns text;
	places text := 'NULL::integer[]';
	is_shared boolean;
BEGIN
	SELECT array_agg(m.method ORDER BY m.number), string_agg(m.call_beside, ', ' ORDER BY m.argument <> plain, m.argument COLLATE "C", m.number), string_agg(c.list, ', ' ORDER BY m.argument <> plain, m.argument COLLATE "C", m.number)
	INTO summed, calls, columns
	FROM stepadv_internal.advantage_methods(made) m CROSS JOIN LATERAL (
		SELECT string_agg(format('%I', m.method || CASE WHEN r.r = 'advantage' THEN '' ELSE ' ' || r.r END), ', ' ORDER BY r.i) AS list FROM unnest(m.results) WITH ORDINALITY r(r, i)) c
	WHERE m.ours;
	is_shared := coalesce(signed <@ summed, false);
	IF is_shared THEN
		places := format('%L::integer[]', ARRAY(SELECT array_position(summed, s) FROM unnest(signed) WITH ORDINALITY u(s, i) ORDER BY u.i));
	END IF;
	SELECT format(' LEFT JOIN LATERAL (SELECT stepadv_internal.kept_sums(%1$s) AS sums, stepadv_internal.kept_bins(%1$s) AS bins, stepadv_internal.kept_signs(%1$s) AS signs, stepadv_internal.kept_advantages(%1$s) AS advantages FROM ROWS FROM (%2$s, %3$s) AS f(step_id, rollout_id, step_no, success, return, %4$s)) k ON true',
		format('%s, g.runs, %s, %s, f.rollout_id, f.success, %s', CASE WHEN is_shared THEN 'g.ids' ELSE 'NULL::bigint[]' END, places, given, stepadv_internal.list(summed, 'f.%1$I'::text, ', '::text)),
		-- As compare_source judges them.
		substring(source.estimates FROM 'stepadv\.outcomes\([^()]*\)'), calls, columns)
	INTO joins WHERE summed IS NOT NULL;
	joins := coalesce(joins, '');
	signs := CASE WHEN is_shared THEN 'k.signs' END;
	IF signed IS NOT NULL AND NOT is_shared THEN
		joins := joins || format(' LEFT JOIN LATERAL (SELECT stepadv_internal.kept_signs(g.ids, g.runs, %s::integer[], %s, f.rollout_id, f.success, %s) AS signs FROM %s WHERE g.ids IS NOT NULL) s ON true',
			quote_literal(ARRAY(SELECT generate_series(1, cardinality(signed)))), given, stepadv_internal.list(signed, 'f.%1$I'::text, ', '::text), source.estimates);
		signs := 's.signs';
	END IF;
END
$query$;
COMMENT ON FUNCTION stepadv_internal.kept_estimates(stepadv_internal.attached, stepadv_internal.made_method[], text[]) IS 'part of maintain: the joins that bring what is kept of the advantages of a row of g, and of which methods the sums are';

-- k1, k2, ... of the group, is_division, and what the kept tables have after the group:
-- o1, o2, ... over time, b1, b2, ... the bins, both where is_division; signs, an entry
-- per run, and for each of these r1, r2, ... by the place; stepadv_behaviour, an entry per row
-- of what is kept of behaviour, where is_division.  By name, so that what was added to
-- a table later finds its place.  NULL where the tables have what cannot be computed so.
CREATE FUNCTION stepadv_internal.kept_parts_query(a stepadv_internal.attached) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	made CONSTANT stepadv_internal.made_method[] := stepadv_internal.methods_by_group(a);
	n CONSTANT integer := (a).n_group_columns;
	own CONSTANT text[] := stepadv_internal.division_names(a);
	m record;
	k record;
	divided record;
	behaviour record;
	has text[];			-- what there is, and
	wanted text;		-- what is wanted of it
BEGIN
	m := stepadv_internal.kept_runs(a);
	k := stepadv_internal.kept_estimates(a, made, CASE WHEN (a).folded_signs IS NOT NULL THEN (a).signed_methods END);
	divided := stepadv_internal.divided_items(a, made, k.summed);
	behaviour := stepadv_internal.kept_behaviour_of_group(a, made, k.summed);
	has := divided.columns || ARRAY(SELECT 'bins of ' || b FROM unnest((a).binned_methods) b);
	WITH wanted AS (
		SELECT 'o' || row_number() OVER (ORDER BY c.attnum) AS called, c.attname::text AS name, 1 AS i, c.attnum
		FROM pg_attribute c WHERE c.attrelid = (a).folded_over_time AND c.attnum > n AND NOT c.attisdropped
		UNION ALL
		SELECT 'b' || u.i, u.name, 2, u.i::smallint FROM unnest(own || ARRAY(SELECT 'bins of ' || b FROM unnest((a).binned_methods) b)) WITH ORDINALITY u(name, i) WHERE (a).folded_bins IS NOT NULL)
	SELECT CASE WHEN bool_and(w.name = ANY (has)) THEN string_agg(format(', q.%I AS %I', w.name, w.called), '' ORDER BY w.i, w.attnum) END INTO wanted FROM wanted w;
	IF cardinality(k.summed) > 90 OR wanted IS NULL AND (a).folded_signs IS NULL OR EXISTS (SELECT FROM unnest((a).binned_methods) b WHERE (b = ANY (k.summed)) IS NOT TRUE AND NOT EXISTS (SELECT FROM unnest(made) u WHERE u.method = b)) THEN
		RETURN NULL;
	END IF;
	RETURN format('SELECT %1$s, q.is_division%2$s%3$s%13$s FROM (SELECT %4$s, g.is_division, %5$s%6$s%7$s%14$s FROM %8$s%9$s%10$s%11$s%15$s) q(%12$s)',
		stepadv_internal.k_columns(n, 'q.k%1$s'::text), wanted,
		CASE WHEN k.signs IS NOT NULL THEN ', q.signs' || coalesce((SELECT string_agg(format(', q.r%s', i), '' ORDER BY i) FROM generate_series(1, cardinality(m.run_names)) i), '') END,
		stepadv_internal.list(stepadv_internal.group_columns((a).rows, n), 'g.%1$I'::text, ', '::text), divided.items,
		(SELECT string_agg(CASE WHEN p.place IS NULL THEN format(', b%s.bins', u.number) ELSE format(', (k.bins)[%s]', p.place) END, '' ORDER BY b.i)
			FROM unnest((a).binned_methods) WITH ORDINALITY b(method, i) JOIN unnest(made) u ON u.method = b.method CROSS JOIN LATERAL array_position(k.summed, b.method) p(place)),
		CASE WHEN k.signs IS NOT NULL THEN ', ' || k.signs || coalesce((SELECT string_agg(format(', g.r%s', i), '' ORDER BY i) FROM generate_series(1, cardinality(m.run_names)) i), '') END,
		stepadv_internal.kept_groups(a, CASE WHEN k.signs IS NOT NULL THEN cardinality(m.run_names) ELSE 0 END, m.relation, m.divisions, m.runs), divided.joins, k.joins,
		(SELECT string_agg(format(' LEFT JOIN LATERAL (SELECT stepadv_internal.advantage_bins(e.advantage) AS bins FROM %s e) b%s ON true', u.call_beside, u.number), '' ORDER BY u.number)
			FROM unnest(made) u WHERE u.method = ANY ((a).binned_methods) AND (u.method = ANY (k.summed)) IS NOT TRUE),
		concat_ws(', ', stepadv_internal.k_columns(n, 'k%1$s'::text), 'is_division', stepadv_internal.list(has, '%1$I'::text, ', '::text),
			CASE WHEN k.signs IS NOT NULL THEN concat_ws(', ', 'signs', (SELECT string_agg('r' || i, ', ' ORDER BY i) FROM generate_series(1, cardinality(m.run_names)) i)) END,
			CASE WHEN behaviour.item IS NOT NULL THEN 'stepadv_behaviour' END),
		CASE WHEN behaviour.item IS NOT NULL THEN ', q.stepadv_behaviour' END, ', ' || behaviour.item, behaviour.joins);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.kept_parts_query(stepadv_internal.attached) IS 'part of maintain: the query of the view <prefix>_kept_parts; NULL where there is nothing that it could compute';

CREATE FUNCTION stepadv_internal.make_kept_parts(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	query CONSTANT text := stepadv_internal.kept_parts_query(a);
	view regclass := (a).kept_parts;
BEGIN
	IF query IS NULL THEN
		RETURN;
	ELSIF view IS NOT NULL THEN
		EXECUTE format('DROP VIEW %s', stepadv_internal.relation_name(view));
	END IF;
	view := stepadv_internal.create_view((SELECT n.nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = make_kept_parts.attachment),
		format('%s_kept_parts', (a).prefix), query, format('what is kept of the groups of %s beside their values, computed of the kept values', (a).source));
	EXECUTE format('UPDATE %s SET kept_parts = $1', make_kept_parts.attachment) USING view;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_kept_parts(regclass) IS 'part of maintain: the view <prefix>_kept_parts';

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

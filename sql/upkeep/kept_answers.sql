-- Answers about single groups, kept: what the views of tokens, loops and the graph say of
-- each group, which asks for a look at all of its tokens or steps.
--
-- maintain makes, and writes into the attachment (answers: of which kinds):
--
--	<prefix>_fresh_lineage, <prefix>_folded_lineage
--						view: of each group, and of each of its rollouts, its tokens, unique tokens, runs
--						and breaks, counted when asked; table: the same, kept.  The tokens are no part of
--						the groups, so the triggers look at these columns, too (fresh_lineage)
--	<prefix>_fresh_loops, <prefix>_folded_loops, <prefix>_fresh_graph, <prefix>_folded_graph
--						the same of what _loops and _graph_summary show, computed of the kept groups
--
-- Who writes does not touch them: groups that changed stand in <prefix>_waiting, see
-- 72-kept-signs.sql, and are computed when they are read until refresh keeps them.  One that
-- cannot be computed has a row with nothing but its key: readers get the error.

-- What the triggers compare of the tokens: src/upkeep/stored_image.c.
CREATE FUNCTION stepadv_internal.stored_image(value anyarray) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_stored_image';
COMMENT ON FUNCTION stepadv_internal.stored_image(anyarray) IS 'an array as it is stored, where it lies outside its row: the place; values of one image are the same';

-- As if none were kept.
CREATE FUNCTION stepadv_internal.without_answers(a stepadv_internal.attached) RETURNS stepadv_internal.attached
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	a.answers := NULL;
	RETURN a;
END
$$;
COMMENT ON FUNCTION stepadv_internal.without_answers(stepadv_internal.attached) IS 'part of maintain: an attachment none of whose answers are kept';

-- What is kept of tokens: a row per group, without a rollout_id, and one per rollout.
CREATE FUNCTION stepadv_internal.kept_lineage_query(a stepadv_internal.attached) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	source CONSTANT text := stepadv_internal.lineage_source(a);
	keys CONSTANT text[] := stepadv_internal.group_columns((a).shown, (a).n_group_columns);
BEGIN
	IF source IS NULL THEN
		RETURN NULL;
	END IF;
	RETURN format('SELECT q.* FROM (SELECT %1$s, x.* FROM %2$s CROSS JOIN LATERAL (
			SELECT NULL::bigint, t.n_rollouts, t.n_steps, t.n_tokens, t.n_unique_tokens, u.n_unique_in_rollouts, u.n_runs, u.n_breaks FROM (%3$s) t CROSS JOIN (%4$s) u
			UNION ALL SELECT l.rollout_id, NULL::bigint, l.n_steps, l.n_tokens, l.n_unique_tokens, NULL::bigint, l.n_runs::bigint, l.n_breaks FROM (%5$s) l) x) q(%6$s)',
		stepadv_internal.list(keys, 'g.%1$I'::text, ', '::text), source, stepadv_internal.lineage_of_group(), stepadv_internal.lineage_breaks_of_group(),
		stepadv_internal.lineage_of_rollouts(), stepadv_internal.kept_names(keys, stepadv_internal.kept_lineage_columns()));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.kept_lineage_query(stepadv_internal.attached) IS 'part of maintain: the query of what is kept of the tokens of each group; NULL without columns of tokens';

CREATE FUNCTION stepadv_internal.kept_lineage_columns() RETURNS text[]
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT '{rollout_id,n_rollouts,n_steps,n_tokens,n_unique_tokens,n_unique_in_rollouts,n_runs,n_breaks}'::text[] $$;
COMMENT ON FUNCTION stepadv_internal.kept_lineage_columns() IS 'part of maintain: what is kept of the tokens of a group, or of a rollout; what belongs to the other is NULL';

-- ---- Of which views

-- The ends of the names of what is kept.
CREATE FUNCTION stepadv_internal.answer_name(kind text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE kind WHEN 'graph_summary' THEN 'graph' ELSE kind END $$;
COMMENT ON FUNCTION stepadv_internal.answer_name(text) IS 'part of maintain: how what is kept of a kind of answers is called, after <prefix>_fresh_ and <prefix>_folded_';

-- The query of a kind, with a column after all others that says that it is an answer;
-- NULL where there is none, or no view that reads it.
CREATE FUNCTION stepadv_internal.answer_query(a stepadv_internal.attached, kind text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	computed CONSTANT stepadv_internal.attached := stepadv_internal.without_answers(a);
	made CONSTANT stepadv_internal.made_method[] := '{}';
	query text;
BEGIN
	IF kind = 'lineage' AND '{lineage_by_rollout,lineage_by_group}' && (a).view_kinds THEN
		query := stepadv_internal.kept_lineage_query(computed);
	ELSIF kind = 'loops' AND kind = ANY ((a).view_kinds) THEN
		query := stepadv_internal.loops_query(computed, made);
	ELSIF kind = 'graph_summary' AND kind = ANY ((a).view_kinds) THEN
		query := stepadv_internal.graph_summary_query(computed, made);
	END IF;
	RETURN 'SELECT q.*, true AS stepadv_known FROM (' || query || ') q';
END
$$;
COMMENT ON FUNCTION stepadv_internal.answer_query(stepadv_internal.attached, text) IS 'part of maintain: the query of a kind of answers, computed of the kept groups as far as these say it; NULL where nobody asks';

-- Whether all changes of what a view reads are seen: it reads the kept groups, and what
-- these and the views over time read as well.  Of tokens that is not so, so their tables are
-- looked at: the triggers of maintain must do, and an index lead to a group.
CREATE FUNCTION stepadv_internal.answer_is_watched(a stepadv_internal.attached, kind text, fresh regclass) RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	watched CONSTANT jsonb := (SELECT jsonb_object_agg(w.relation::oid::text, coalesce(to_jsonb(w.reads), 'true'))
		FROM stepadv_internal.watched_tables(ARRAY[(a).fresh, (a).fresh_over_time], (a).n_group_columns) w);
	persistence CONSTANT "char" := (SELECT c.relpersistence FROM pg_class c WHERE c.oid = (a).folded);
BEGIN
	IF kind = 'lineage' THEN
		RETURN (
			SELECT coalesce(bool_and(t.message IS NULL AND k.message IS NULL AND c.relpersistence = persistence AND (w.relation <> w.base OR stepadv_internal.has_group_index(w.base, w.keys) OR watched ? w.base::oid::text)), false)
			FROM stepadv_internal.watched_tables(ARRAY[fresh], (a).n_group_columns) w JOIN pg_class c ON c.oid = w.relation
			CROSS JOIN LATERAL stepadv_internal.refusal_of_table(w.relation, (a).owner) t
			CROSS JOIN LATERAL stepadv_internal.refusal_of_columns(w.relation, w.keys, (a).rows) k);
	END IF;
	RETURN (
		SELECT coalesce(bool_and(watched ? w.relation::oid::text AND (watched -> w.relation::oid::text = 'true' OR watched -> w.relation::oid::text @> to_jsonb(w.reads)) IS TRUE), true)
		FROM stepadv_internal.watched_tables(ARRAY[fresh], 0) w WHERE w.relation <> (a).folded);
END
$$;
COMMENT ON FUNCTION stepadv_internal.answer_is_watched(stepadv_internal.attached, text, regclass) IS 'part of maintain: whether triggers tell of every change of what a view of answers reads';

-- ---- What is kept

CREATE FUNCTION stepadv_internal.set_kept_answers(attachment regclass, answers text[], fresh regclass[], folded regclass[]) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format('UPDATE %s SET answers = $1, fresh_answers = $2, folded_answers = $3, fresh_lineage = $4', set_kept_answers.attachment)
		USING set_kept_answers.answers, set_kept_answers.fresh, set_kept_answers.folded, set_kept_answers.fresh[array_position(set_kept_answers.answers, 'lineage')];
END
$$;
COMMENT ON FUNCTION stepadv_internal.set_kept_answers(regclass, text[], regclass[], regclass[]) IS 'part of maintain: writes into an attachment where its kept answers are';

-- Empty.  Who may read the tokens may read what is counted of them, and who may read the rows of the groups the rest.
CREATE FUNCTION stepadv_internal.make_kept_answers(attachment regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	schema CONSTANT text := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = make_kept_answers.attachment);
	kinds text[] := '{}';
	views regclass[] := '{}';
	tables regclass[] := '{}';
	item record;
	view regclass;
	name text;
BEGIN
	-- Where groups do not wait, or what waits is not kept by a refresh, nobody would know that an answer is old.
	IF num_nulls((a).folded, (a).waiting) > 0 OR (a).kept_parts IS NULL AND coalesce((a).folded_signs, (a).folded_bins) IS NOT NULL THEN
		RETURN;
	END IF;
	FOR item IN SELECT k.kind, stepadv_internal.answer_name(k.kind) AS called, stepadv_internal.answer_query(a, k.kind) AS query FROM unnest('{lineage,loops,graph_summary}'::text[]) WITH ORDINALITY k(kind, i) ORDER BY k.i LOOP
		CONTINUE WHEN item.query IS NULL;
		view := stepadv_internal.create_view(schema, format('%s_fresh_%s', (a).prefix, item.called), item.query, format('what _%s says of the groups of %s, computed when asked', item.kind, (a).source));
		IF NOT stepadv_internal.answer_is_watched(a, item.kind, view) THEN
			EXECUTE format('DROP VIEW %s', view);
			CONTINUE;
		END IF;
		name := format('%I.%I', schema, format('%s_folded_%s', (a).prefix, item.called));
		EXECUTE format('CREATE %sTABLE %s WITH (toast_tuple_target = 8160) AS SELECT f.* FROM %s f WITH NO DATA', stepadv_internal.unlogged_as(ARRAY[(a).fresh], (a).source), name, view);
		EXECUTE format('CREATE INDEX ON %s (%s)', name, stepadv_internal.list(stepadv_internal.group_columns(view, (a).n_group_columns), '%1$I'::text, ', '::text));
		EXECUTE format('CREATE INDEX ON %s (stepadv_known) WHERE stepadv_known IS NULL', name);
		EXECUTE format('COMMENT ON TABLE %s IS %L', name, format('what _%s says of the groups of %s, kept by stepadv.maintain; nobody else should write to it', item.kind, (a).source));
		PERFORM stepadv_internal.let_readers(name::regclass, CASE item.kind WHEN 'lineage' THEN view ELSE coalesce((a).fresh_over_time, (a).fresh) END);
		kinds := kinds || item.kind;
		views := views || view;
		tables := tables || name::regclass;
	END LOOP;
	IF kinds <> '{}' THEN
		PERFORM stepadv_internal.set_kept_answers(attachment, kinds, views, tables);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_kept_answers(regclass) IS 'part of maintain: the views and tables of answers that are kept; none where changes of what they read are not seen';

-- The columns of the group of a kept table, of an alias; and those after them by number.
CREATE FUNCTION stepadv_internal.answer_columns(a stepadv_internal.attached, folded regclass) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(CASE WHEN t.attnum <= (a).n_group_columns THEN 'k' ELSE 'r' END || t.attnum, ', ' ORDER BY t.attnum) FROM pg_attribute t WHERE t.attrelid = answer_columns.folded AND t.attnum > 0
$$;
COMMENT ON FUNCTION stepadv_internal.answer_columns(stepadv_internal.attached, regclass) IS 'part of maintain: the columns of kept answers, under names that none of them has';

-- The rows f of the groups of a relation w, one by one.
CREATE FUNCTION stepadv_internal.answers_of(a stepadv_internal.attached, fresh regclass, folded regclass, groups text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('%1$s w(%2$s) CROSS JOIN LATERAL (SELECT f.* FROM %3$s f(%4$s) WHERE %5$s OFFSET 0) f', answers_of.groups, stepadv_internal.k_columns((a).n_group_columns, 'k%1$s'::text),
		stepadv_internal.relation_name(answers_of.fresh), stepadv_internal.answer_columns(a, answers_of.folded), stepadv_internal.same_group('f'::text, 'w'::text, answers_of.folded, (a).n_group_columns))
$$;
COMMENT ON FUNCTION stepadv_internal.answers_of(stepadv_internal.attached, regclass, regclass, text) IS 'part of maintain: the relation f of the answers about the groups of a relation';

-- Those of groups that wait, or all.  One after the other where there is one that cannot be computed.
CREATE FUNCTION stepadv_internal.keep_answer(a stepadv_internal.attached, fresh regclass, folded regclass, everything boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n CONSTANT integer := (a).n_group_columns;
	keys CONSTANT text[] := stepadv_internal.group_columns(folded, n);
	waiting CONSTANT text := format('(SELECT DISTINCT w.* FROM %s w)', (a).waiting);
	groups CONSTANT text := CASE WHEN everything THEN format('(SELECT %s FROM %s c)', stepadv_internal.list(stepadv_internal.group_columns((a).folded, n), 'c.%1$I'::text, ', '::text), (a).folded) ELSE waiting END;
	one text;
BEGIN
	EXECUTE format('DELETE FROM %s c', folded) || CASE WHEN everything THEN '' ELSE
		format(' USING %s w(%s) WHERE %s', waiting, stepadv_internal.k_columns(n, 'k%1$s'::text),
			(SELECT string_agg(format('c.%I %s w.k%s', t.attname, stepadv_internal.equality_operator(t.atttypid), t.attnum), ' AND ' ORDER BY t.attnum) FROM pg_attribute t WHERE t.attrelid = folded AND t.attnum BETWEEN 1 AND n)) END;
	BEGIN
		EXECUTE format('INSERT INTO %s SELECT f.* FROM %s', folded, CASE WHEN everything THEN format('%s f', fresh) ELSE stepadv_internal.answers_of(a, fresh, folded, waiting) END);
		RETURN;
	EXCEPTION WHEN data_exception THEN
		NULL;
	END;
	FOR one IN EXECUTE format('SELECT ROW(%s)::%s::text FROM %s w(%s)', stepadv_internal.k_columns(n, 'w.k%1$s'::text), (a).waiting, groups, stepadv_internal.k_columns(n, 'k%1$s'::text)) LOOP
		BEGIN
			EXECUTE format('INSERT INTO %s SELECT f.* FROM %s', folded, stepadv_internal.answers_of(a, fresh, folded, format('(SELECT ($1::%s).*)', (a).waiting))) USING one;
		EXCEPTION WHEN data_exception THEN
			EXECUTE format('INSERT INTO %s (%s) SELECT ($1::%s).*', folded, stepadv_internal.list(keys, '%1$I'::text, ', '::text), (a).waiting) USING one;
		END;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.keep_answer(stepadv_internal.attached, regclass, regclass, boolean) IS 'part of maintain and refresh: keeps one kind of answers';

-- src/upkeep/parts.c calls for it.
CREATE FUNCTION stepadv_internal.keep_answers(attachment regclass, everything boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = on
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	item record;
BEGIN
	IF (a).waiting IS NULL THEN
		RETURN;
	END IF;
	FOR item IN SELECT k.fresh, k.folded FROM unnest((a).fresh_answers, (a).folded_answers) k(fresh, folded) WHERE num_nulls(k.fresh, k.folded) = 0 LOOP
		PERFORM stepadv_internal.keep_answer(a, item.fresh, item.folded, keep_answers.everything);
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.keep_answers(regclass, boolean) IS 'part of maintain and refresh: the answers about the groups that wait, or about all';

-- ---- Reading it

-- The relation of a kind of answers, with the names that they have: of groups that did not
-- change as they are kept, of others as they are now.  NULL where it is not kept.
CREATE FUNCTION stepadv_internal.kept_answer(a stepadv_internal.attached, kind text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n CONSTANT integer := (a).n_group_columns;
	place CONSTANT integer := array_position((a).answers, kind);
	fresh CONSTANT regclass := (a).fresh_answers[place];
	folded CONSTANT regclass := (a).folded_answers[place];
	k_list CONSTANT text := stepadv_internal.k_columns(n, 'k%1$s'::text);
	items record;
BEGIN
	IF num_nulls(place, fresh, folded, (a).waiting) > 0 THEN
		RETURN NULL;
	END IF;
	-- A condition on the group goes below both: of those that wait it is asked of their list.
	SELECT string_agg(format('c.%s%s AS %I', CASE WHEN t.attnum <= n THEN 'k' ELSE 'r' END, t.attnum, t.attname), ', ' ORDER BY t.attnum) AS of_kept,
		string_agg(format('%s%s AS %I', CASE WHEN t.attnum <= n THEN 'w.k' ELSE 'f.r' END, t.attnum, t.attname), ', ' ORDER BY t.attnum) AS of_others
	INTO items FROM pg_attribute t WHERE t.attrelid = folded AND t.attnum > 0 AND t.attname <> 'stepadv_known';
	RETURN format('(SELECT %1$s FROM %2$s c(%3$s) WHERE c.%4$s AND (NOT EXISTS (SELECT FROM %5$s) OR NOT EXISTS (SELECT FROM %5$s w(%6$s) WHERE %7$s)) UNION ALL SELECT %8$s FROM %9$s)',
		items.of_kept, stepadv_internal.relation_name(folded), stepadv_internal.answer_columns(a, folded), (SELECT 'r' || t.attnum FROM pg_attribute t WHERE t.attrelid = folded AND t.attname = 'stepadv_known'),
		stepadv_internal.relation_name((a).waiting), k_list, stepadv_internal.same_group('w'::text, 'c'::text, folded, n), items.of_others,
		stepadv_internal.answers_of(a, fresh, folded, format('(SELECT w.* FROM %s w UNION SELECT %s FROM %s c WHERE c.stepadv_known IS NULL)', stepadv_internal.relation_name((a).waiting),
			stepadv_internal.list(stepadv_internal.group_columns(folded, n), 'c.%1$I'::text, ', '::text), stepadv_internal.relation_name(folded))));
END
$$;
COMMENT ON FUNCTION stepadv_internal.kept_answer(stepadv_internal.attached, text) IS 'part of attach: the relation of a kind of answers that maintain keeps; NULL where it does not';

-- The query of a view that shows them as they are.
CREATE FUNCTION stepadv_internal.kept_answer_query(a stepadv_internal.attached, kind text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT 'SELECT a.* FROM ' || stepadv_internal.kept_answer(a, kept_answer_query.kind) || ' a' $$;
COMMENT ON FUNCTION stepadv_internal.kept_answer_query(stepadv_internal.attached, text) IS 'part of attach: the query of a view of answers that maintain keeps; NULL where it does not';

-- ---- Afterwards

CREATE FUNCTION stepadv_internal.check_answers(attachment regclass) RETURNS TABLE ("group" jsonb, problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = on
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	item record;
BEGIN
	FOR item IN SELECT k.* FROM unnest((a).answers, (a).fresh_answers, (a).folded_answers) k(kind, fresh, folded) LOOP
		RETURN QUERY SELECT c.* FROM stepadv_internal.check_kept_table(a, item.fresh, item.folded, format('%s differs', replace(item.kind, '_', ' '))) c;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_answers(regclass) IS 'part of check_maintained: groups of which other answers are kept than are computed';

CREATE FUNCTION stepadv_internal.drop_answers(a stepadv_internal.attached) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	item text;
BEGIN
	FOR item IN SELECT format('DROP %s %s', k.kind, k.relation) FROM (
		SELECT 1 AS i, 'TABLE' AS kind, u AS relation FROM unnest((a).folded_answers) u UNION ALL SELECT 2, 'VIEW', u FROM unnest((a).fresh_answers) u) k WHERE k.relation IS NOT NULL ORDER BY k.i
	LOOP
		EXECUTE item;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.drop_answers(stepadv_internal.attached) IS 'part of unmaintain and upgrade_attachment: drops what is kept of answers, which no view reads any more';

-- After the views were made anew: whether what is kept must be computed again.
CREATE FUNCTION stepadv_internal.renew_answers(a stepadv_internal.attached) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	before CONSTANT text[] := ARRAY(SELECT pg_get_viewdef(f) FROM unnest((a).fresh_answers) WITH ORDINALITY u(f, i) ORDER BY u.i);
	item record;
	same boolean := true;
	n_views bigint;
BEGIN
	IF (a).answers IS NULL THEN
		RETURN false;
	END IF;
	FOR item IN SELECT k.fresh, stepadv_internal.answer_query(a, k.kind) AS query FROM unnest((a).answers, (a).fresh_answers) k(kind, fresh) LOOP
		same := same AND coalesce(item.query IS NOT NULL AND item.fresh IS NOT NULL AND stepadv_internal.replace_view(item.fresh, item.query, '{}'::text[]), false);
	END LOOP;
	IF NOT same THEN
		PERFORM stepadv_internal.set_kept_answers((a).attachment, NULL::text[], NULL::regclass[], NULL::regclass[]);
		n_views := (SELECT count(*) FROM stepadv_internal.make_views((a).attachment, NULL::text[]));
		PERFORM stepadv_internal.drop_answers(a);
		PERFORM stepadv_internal.make_kept_answers((a).attachment);
		n_views := (SELECT count(*) FROM stepadv_internal.make_views((a).attachment, NULL::text[]));
		RETURN true;
	END IF;
	RETURN before IS DISTINCT FROM ARRAY(SELECT pg_get_viewdef(f) FROM unnest((a).fresh_answers) WITH ORDINALITY u(f, i) ORDER BY u.i);
END
$$;
COMMENT ON FUNCTION stepadv_internal.renew_answers(stepadv_internal.attached) IS 'part of upgrade_attachment: makes the views of answers anew; true if they compute them in another way now';

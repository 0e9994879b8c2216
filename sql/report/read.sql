-- The page of stepadv-report: what is read for it, into one value of type report.

-- Of an attachment: which methods, in which order; the first two are set against each other.
CREATE FUNCTION stepadv_internal.report_begun(a stepadv_internal.attached, schema text, prefix text, key text[], methods text[]) RETURNS stepadv_internal.report
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	compare CONSTANT regclass := stepadv_internal.report_view_of(a, 'compare'::text);
	available text[];
	missing text;
	r stepadv_internal.report;
BEGIN
	IF compare IS NULL OR stepadv_internal.report_view_of(a, 'groups'::text) IS NULL OR stepadv_internal.report_view_of(a, 'rollouts'::text) IS NULL THEN
		RAISE EXCEPTION 'no views of stepadv.attach called "%" with prefix "%" in schema "%"', report_begun.prefix || '_compare', report_begun.prefix, report_begun.schema
			USING ERRCODE = 'undefined_table', HINT = coalesce('There are (schema and prefix): ' || (
				SELECT string_agg(DISTINCT format('%s %s', n.nspname, k.prefix), ', ') FROM stepadv_internal.report_attachments() k JOIN pg_class t ON t.oid = k.attachment JOIN pg_namespace n ON n.oid = t.relnamespace
				WHERE stepadv_internal.report_view_of(k, 'compare'::text) IS NOT NULL) || '.',
				'Make them with stepadv.create_tables or stepadv.attach.');
	END IF;
	IF cardinality(report_begun.key) > (a).n_group_columns THEN
		RAISE EXCEPTION '% values for the group, which has % columns: %', cardinality(report_begun.key), (a).n_group_columns,
			array_to_string(stepadv_internal.report_key_columns(compare, (a).n_group_columns), ', ') USING ERRCODE = 'invalid_parameter_value';
	END IF;
	available := ARRAY(SELECT m.method FROM stepadv_internal.report_methods_of(a, compare) m ORDER BY m.place);
	SELECT m INTO missing FROM unnest(report_begun.methods) m WHERE m <> ALL (available) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'no method "%" in %', missing, compare USING ERRCODE = 'invalid_parameter_value',
			HINT = format('Methods: %s.', array_to_string(available, ', '));
	END IF;
	available := coalesce(nullif(report_begun.methods, '{}'), available);
	SELECT m.method, m.function INTO r.told, r.told_function FROM stepadv_internal.report_methods_of(a, compare) m
	WHERE m.has_values AND (m.method = ANY (available) OR m.method = 'rtmc') ORDER BY array_position(available, m.method) LIMIT 1;
	r.source := (a).source::text;
	r.methods := available;
	r.method_a := available[1];
	r.method_b := available[2];
	r.has_states := stepadv_internal.report_view_of(a, 'gigpo'::text) IS NOT NULL;
	r.tell_steps := ARRAY(SELECT m.method FROM stepadv_internal.report_methods_of(a, compare) m WHERE m.tells_steps);
	r.with_values := ARRAY(SELECT m.method FROM stepadv_internal.report_methods_of(a, compare) m WHERE m.has_values);
	RETURN r;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_begun(stepadv_internal.attached, text, text, text[], text[]) IS 'part of stepadv-report: the methods that a page shows; error where there are no such views, methods or columns of the group';

-- The columns of the group as a list of texts, as those of another relation are.
CREATE FUNCTION stepadv_internal.report_key(view regclass, n integer) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format('x.%I::text', c), ', ' ORDER BY i) FROM unnest(stepadv_internal.report_key_columns(report_key.view, report_key.n)) WITH ORDINALITY k(c, i)
$$;
COMMENT ON FUNCTION stepadv_internal.report_key(regclass, integer) IS 'part of stepadv-report: the columns of the group as texts';

-- Groups, those first from which most is to be learnt.
CREATE FUNCTION stepadv_internal.report_groups(a stepadv_internal.attached, key text[], name_like text) RETURNS stepadv_internal.report_group[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	groups CONSTANT regclass := stepadv_internal.report_view_of(a, 'groups'::text);
	found stepadv_internal.report_group[];
BEGIN
	EXECUTE format('SELECT array_agg(ROW(z.*)::stepadv_internal.report_group ORDER BY z.group_no) FROM (
		SELECT row_number() OVER (ORDER BY success_rate * (1 - success_rate) * (1 + n_shared_states) DESC NULLS LAST, sd_return DESC NULLS LAST, n_judged DESC, n_steps DESC, name)::integer AS group_no, y.*
		FROM (SELECT ARRAY[%1$s] AS key, concat_ws('' / '', %7$s) AS name, x.n_rollouts, x.n_judged, x.n_steps, x.mean_return, x.sd_return, x.success_rate, x.uniform,
			x.n_states, x.n_shared_states, x.shared_step_share, %5$s AS task, %6$s AS version, NULL::text AS words, NULL::float8 AS largest, NULL::text[] AS tags FROM %2$s x WHERE %3$s) y WHERE name LIKE %4$L) z',
		stepadv_internal.report_key(groups, (a).n_group_columns), groups, stepadv_internal.report_key_filter(groups, report_groups.key), coalesce(report_groups.name_like, '%'),
		coalesce(stepadv_internal.report_base_column(groups, 'task_id'::text, NULL::text[]), 'NULL') || '::text', coalesce(stepadv_internal.report_base_column(groups, 'policy_version'::text, NULL::text[]), 'NULL') || '::text',
		-- What is empty in one column of several says nothing.
		CASE WHEN (a).n_group_columns = 1 THEN stepadv_internal.report_key(groups, 1) ELSE (SELECT string_agg(format('nullif(x.%I::text, '''')', c), ', ' ORDER BY i) FROM unnest(stepadv_internal.report_key_columns(groups, (a).n_group_columns)) WITH ORDINALITY k(c, i)) END) INTO found;
	IF found IS NULL AND (report_groups.key <> '{}' OR report_groups.name_like IS NOT NULL) THEN
		RAISE EXCEPTION 'no such group in %: %', (a).source, coalesce(nullif(array_to_string(report_groups.key, ' / '), ''), report_groups.name_like)
			USING ERRCODE = 'no_data_found';
	END IF;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_groups(stepadv_internal.attached, text[], text) IS 'part of stepadv-report: the groups that are asked for; error where one is, and is not there';

-- The query of the tags of groups: of an object of them a key and its value, of a list each.
CREATE FUNCTION stepadv_internal.report_tags(a stepadv_internal.attached, key text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rollouts CONSTANT regclass := stepadv_internal.report_view_of(a, 'rollouts'::text);
	tags CONSTANT text := stepadv_internal.report_base_column(rollouts, 'tags'::text, '{jsonb}'::text[]);
BEGIN
	IF tags IS NULL THEN
		RETURN 'SELECT NULL::text[] AS key, NULL::text[] AS tags WHERE false';
	END IF;
	RETURN format('SELECT y.key, (array_agg(DISTINCT y.tag ORDER BY y.tag))[1:12] AS tags
		FROM (SELECT ARRAY[%1$s] AS key, stepadv_internal.report_short(concat_ws('' '', t.name, t.value), 40) AS tag FROM %2$s x
			CROSS JOIN LATERAL (SELECT o.key AS name, o.value FROM jsonb_each_text(CASE WHEN jsonb_typeof(%3$s) = ''object'' THEN %3$s END) o
				UNION ALL SELECT NULL::text AS name, l.value FROM jsonb_array_elements_text(CASE jsonb_typeof(%3$s) WHEN ''array'' THEN %3$s WHEN ''object'' THEN NULL ELSE jsonb_build_array(%3$s) END) l) t
			WHERE %3$s IS NOT NULL AND %4$s) y WHERE y.tag <> '''' GROUP BY 1', stepadv_internal.report_key(rollouts, (a).n_group_columns), rollouts, tags, stepadv_internal.report_key_filter(rollouts, report_tags.key));
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_tags(stepadv_internal.attached, text[]) IS 'part of stepadv-report: the query of the tags of groups';

-- For an index: the words that groups begin with, which are those of the task, what method
-- says most of a step of them, and how their rollouts are tagged.
CREATE FUNCTION stepadv_internal.report_described(a stepadv_internal.attached, groups stepadv_internal.report_group[], key text[], method text, observed text) RETURNS stepadv_internal.report_group[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	shown CONSTANT regclass := (a).shown;
	advantages CONSTANT regclass := stepadv_internal.report_view_of(a, 'advantage_by_group'::text);
	words CONSTANT text := coalesce(stepadv_internal.report_base_column(shown, report_described.observed, NULL::text[]), stepadv_internal.report_base_column(shown, 'observation'::text, NULL::text[]),
		(SELECT stepadv_internal.report_base_column(shown, s.name, NULL::text[]) FROM stepadv_internal.report_columns_of(a, 'state'::text) s LIMIT 1), 'NULL');
	found stepadv_internal.report_group[];
BEGIN
	-- Of the first steps of rollouts, which mostly see the same.
	EXECUTE format('WITH first AS (SELECT ARRAY[%1$s] AS key, min(x.stepadv_no) AS no FROM %2$s x WHERE %6$s GROUP BY 1),
		begun AS (SELECT f.key, stepadv_internal.report_short(min(left((%3$s)::text, 640)), 160) AS words FROM %2$s x JOIN first f ON f.key = ARRAY[%1$s] AND f.no = x.stepadv_no WHERE %6$s GROUP BY 1),
		judged AS (%4$s), tagged AS (%5$s)
		SELECT array_agg(ROW(g.group_no, g.key, g.name, g.n_rollouts, g.n_judged, g.n_steps, g.mean_return, g.sd_return, g.success_rate, g.uniform, g.n_states, g.n_shared_states, g.shared_step_share,
			g.task, g.version, b.words, j.largest, t.tags)::stepadv_internal.report_group ORDER BY g.group_no)
		FROM unnest($1) g LEFT JOIN begun b ON b.key = g.key LEFT JOIN judged j ON j.key = g.key LEFT JOIN tagged t ON t.key = g.key',
		stepadv_internal.report_key(shown, (a).n_group_columns), shown, words,
		CASE WHEN advantages IS NULL THEN 'SELECT NULL::text[] AS key, NULL::float8 AS largest WHERE false'
			ELSE format('SELECT ARRAY[%s] AS key, max(greatest(-x.least_advantage, x.greatest_advantage)) AS largest FROM %s x WHERE x.method = $2 AND %s GROUP BY 1', stepadv_internal.report_key(advantages, (a).n_group_columns), advantages, stepadv_internal.report_key_filter(advantages, report_described.key)) END,
		stepadv_internal.report_tags(a, report_described.key), stepadv_internal.report_key_filter(shown, report_described.key))
	INTO found USING report_described.groups, report_described.method;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_described(stepadv_internal.attached, stepadv_internal.report_group[], text[], text, text) IS 'part of stepadv-report: groups (of which key is one, or empty) with the words they begin with and their largest |advantage| by a method';

-- Rollouts of the groups that are listed: what became of them, and who made them.
CREATE FUNCTION stepadv_internal.report_rollouts(a stepadv_internal.attached, groups stepadv_internal.report_group[], key text[], max_listed integer) RETURNS stepadv_internal.report_rollout[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rollouts CONSTANT regclass := stepadv_internal.report_view_of(a, 'rollouts'::text);
	found stepadv_internal.report_rollout[];
BEGIN
	EXECUTE format('SELECT array_agg(ROW(z.*)::stepadv_internal.report_rollout ORDER BY z.group_no, z.rollout_no) FROM (
		SELECT group_no, row_number() OVER (PARTITION BY group_no ORDER BY success DESC NULLS LAST, return DESC NULLS LAST, length(rollout_id), rollout_id)::integer AS rollout_no,
			rollout_id, n_steps, return, success, more
		FROM (SELECT g.group_no, coalesce(x.rollout_id::text, ''?'') AS rollout_id, x.n_steps, x.return, CASE WHEN x.judged THEN x.success END AS success, nullif(concat_ws('' · '', %s), '''') AS more
			FROM %s x JOIN unnest($1) g ON g.key = ARRAY[%s] WHERE %s AND g.group_no <= $2) y) z',
		concat_ws(', ', 'nullif(' || stepadv_internal.report_base_column(rollouts, 'model'::text, NULL::text[]) || '::text, '''')', 'nullif(' || stepadv_internal.report_base_column(rollouts, 'policy_version'::text, NULL::text[]) || '::text, '''')',
			'CASE WHEN ' || stepadv_internal.report_base_column(rollouts, 'truncated'::text, '{boolean}'::text[]) || ' THEN ''cut off'' END', 'NULL'),
		rollouts, stepadv_internal.report_key(rollouts, (a).n_group_columns), stepadv_internal.report_key_filter(rollouts, report_rollouts.key))
	INTO found USING report_rollouts.groups, report_rollouts.max_listed;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_rollouts(stepadv_internal.attached, stepadv_internal.report_group[], text[], integer) IS 'part of stepadv-report: the rollouts of the first groups';

-- Where the text of a step is.
CREATE FUNCTION stepadv_internal.report_texts(a stepadv_internal.attached, view regclass, INOUT observed text, INOUT done text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	columns text[];
	words text;		-- what a step did: its text, its tool call
	call text;
BEGIN
	observed := coalesce(stepadv_internal.report_base_column(report_texts.view, report_texts.observed, NULL::text[]), stepadv_internal.report_base_column(report_texts.view, 'observation'::text, NULL::text[]),
		(SELECT stepadv_internal.report_base_column(report_texts.view, s.name, NULL::text[]) FROM stepadv_internal.report_columns_of(a, 'state'::text) s LIMIT 1), 'NULL');
	SELECT array_agg(c.name ORDER BY c.type IN ('json'::regtype, 'jsonb'::regtype), c.i) INTO columns
	FROM stepadv_internal.report_columns_of(a, 'action'::text) WITH ORDINALITY c(name, type, i) WHERE c.type <> 'boolean'::regtype;
	words := coalesce(stepadv_internal.report_base_column(report_texts.view, 'action'::text, NULL::text[]),
		CASE WHEN cardinality(columns) = 1 THEN stepadv_internal.report_base_column(report_texts.view, columns[1], NULL::text[]) END) || '::text';
	-- Of several columns an action is made where it is a tool call.
	IF cardinality(columns) > 1 OR words IS NULL THEN
		call := 'nullif(concat_ws('' '', ' || nullif((SELECT string_agg(stepadv_internal.report_base_column(report_texts.view, c, NULL::text[]) || '::text', ', ' ORDER BY i) FROM unnest(columns) WITH ORDINALITY u(c, i)), '') || '), '''')';
		-- A tool and its arguments, which come last if they are JSON by type.
		IF cardinality(columns) = 2 THEN
			call := format('CASE WHEN %1$s::text <> '''' AND %2$s::text LIKE ''{%%'' THEN json_build_object(''name'', %1$s::text, ''arguments'', %2$s)::text ELSE %3$s END',
				stepadv_internal.report_base_column(report_texts.view, columns[1], NULL::text[]), stepadv_internal.report_base_column(report_texts.view, columns[2], NULL::text[]), call);
		END IF;
	END IF;
	-- A call reads better than other JSON.
	done := coalesce(stepadv_internal.report_base_column(report_texts.view, report_texts.done, NULL::text[]), nullif(concat_ws(', ',
		CASE WHEN call IS NULL THEN words WHEN words IS NOT NULL THEN format('CASE WHEN %1$s NOT LIKE ''{%%'' OR %1$s LIKE ''{"name": "%%'' THEN nullif(%1$s, '''') END', words) END, call, words), ''), 'NULL');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_texts(stepadv_internal.attached, regclass, text, text) IS 'part of stepadv-report: expressions over a view, called x, for what a step saw and did';

-- What the method that is told of says, and by how much two differ, by rollout and step.
CREATE FUNCTION stepadv_internal.report_told(a stepadv_internal.attached, r stepadv_internal.report, key text[], OUT told text, OUT differing text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	told_view CONSTANT regclass := stepadv_internal.report_view_of(a, (r).told);
	disagreements CONSTANT regclass := stepadv_internal.report_view_of(a, 'disagreements'::text);
BEGIN
	told := CASE WHEN told_view IS NOT NULL THEN format('SELECT DISTINCT ON (1, 2) coalesce(x.rollout_id::text, ''?''), x.step_no, x.advantage, true, x.q, x.v, x.n_state, x.n_action, x.stderr FROM %s x WHERE %s',
			told_view, stepadv_internal.report_key_filter(told_view, report_told.key))
		ELSE 'SELECT NULL::text, NULL::integer, NULL::float8, NULL::boolean, NULL::float8, NULL::float8, NULL::integer, NULL::integer, NULL::float8 WHERE false' END;
	differing := 'SELECT NULL::text, NULL::integer, NULL::float8 WHERE false';
	IF disagreements IS NOT NULL AND cardinality((r).methods) > 1 THEN
		-- A pair stands there once, in the order of the view.
		differing := format('SELECT DISTINCT ON (1, 2) coalesce(x.rollout_id::text, ''?''), x.step_no, CASE WHEN x.method_a = %3$L THEN x.difference ELSE -x.difference END
			FROM %1$s x WHERE %2$s AND (x.method_a, x.method_b) IN ((%3$L, %4$L), (%4$L, %3$L))',
			disagreements, stepadv_internal.report_key_filter(disagreements, report_told.key), (r).method_a, (r).method_b);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_told(stepadv_internal.attached, stepadv_internal.report, text[]) IS 'part of stepadv-report: queries of one group, by rollout and step: what the method told of says, and by how much two methods differ';

-- The steps of a group in full.
CREATE FUNCTION stepadv_internal.report_steps(a stepadv_internal.attached, r stepadv_internal.report, of_group stepadv_internal.report_group, observed text, done text) RETURNS stepadv_internal.report_step[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	compare CONSTANT regclass := stepadv_internal.report_view_of(a, 'compare'::text);
	said record;
	found stepadv_internal.report_step[];
BEGIN
	SELECT * INTO said FROM stepadv_internal.report_told(a, r, (of_group).key);
	EXECUTE format('SELECT array_agg(ROW($2, s.rollout_no, s.step_rank, s.step_no, s.step_key, s.advantages, s.observed, s.done,
			t.advantage, t.is_told, t.q, t.v, t.n_state, t.n_action, t.stderr, d.difference)::stepadv_internal.report_step ORDER BY s.rollout_no, s.step_rank)
		FROM (SELECT o.rollout_no, o.rollout_id, row_number() OVER (PARTITION BY o.rollout_no ORDER BY s.step_no)::integer AS step_rank, s.step_no, s.step_key, s.advantages, s.observed, s.done
			FROM (SELECT coalesce(x.rollout_id::text, ''?'') AS rollout_id, x.step_no, %1$s AS step_key, ARRAY[%2$s]::float8[] AS advantages,
				stepadv_internal.report_short((%3$s)::text, 400) AS observed, stepadv_internal.report_short(stepadv_internal.report_done((coalesce(%4$s))::text), 400) AS done FROM %5$s x WHERE %6$s) s
			JOIN unnest($1) o ON o.group_no = $2 AND o.rollout_id = s.rollout_id) s
		LEFT JOIN (%7$s) t(rollout_id, step_no, advantage, is_told, q, v, n_state, n_action, stderr) ON t.rollout_id = s.rollout_id AND t.step_no = s.step_no
		LEFT JOIN (%8$s) d(rollout_id, step_no, difference) ON d.rollout_id = s.rollout_id AND d.step_no = s.step_no',
		-- Ids as rollout_agg is given them.
		stepadv_internal.identity('x.step_id'::text, stepadv_internal.column_type(compare, 'step_id'::text)),
		(SELECT string_agg(format('x.%I', m), ', ' ORDER BY i) FROM unnest((r).methods) WITH ORDINALITY m(m, i)),
		report_steps.observed, report_steps.done, compare, stepadv_internal.report_key_filter(compare, (of_group).key), said.told, said.differing)
	INTO found USING (r).rollouts, (of_group).group_no;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_steps(stepadv_internal.attached, stepadv_internal.report, stepadv_internal.report_group, text, text) IS 'part of stepadv-report: the steps of a group, with what methods say of them';

-- What a missing outcome or a gap did the page says anyway, or it did nothing.
CREATE FUNCTION stepadv_internal.report_problems(a stepadv_internal.attached, of_group stepadv_internal.report_group) RETURNS stepadv_internal.report_problem[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	problems CONSTANT regclass := stepadv_internal.report_view_of(a, 'problems'::text);
	found stepadv_internal.report_problem[];
BEGIN
	IF problems IS NOT NULL THEN
		EXECUTE format('SELECT array_agg(ROW($1, x.rollout_id::text, x.step_no, x.problem, x.n_rows, x.effect)::stepadv_internal.report_problem)
			FROM %s x WHERE %s AND x.effect NOT LIKE ''nothing%%'' AND x.methods <> ''{}'' AND x.problem NOT IN (''not judged'', ''no state is shared'')',
			problems, stepadv_internal.report_key_filter(problems, (of_group).key)) INTO found USING (of_group).group_no;
	END IF;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_problems(stepadv_internal.attached, stepadv_internal.report_group) IS 'part of stepadv-report: what is wrong with the rows of a group';

-- What was tried more than once comes first: a gap in units of its error.
CREATE FUNCTION stepadv_internal.report_decisions(a stepadv_internal.attached, of_group stepadv_internal.report_group, steps stepadv_internal.report_step[]) RETURNS stepadv_internal.report_decision[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	decisions CONSTANT regclass := stepadv_internal.report_view_of(a, 'decision_points'::text);
	found stepadv_internal.report_decision[];
BEGIN
	IF decisions IS NOT NULL THEN
		EXECUTE format('SELECT array_agg(ROW(z.*)::stepadv_internal.report_decision ORDER BY z.place)
			FROM (SELECT $1, row_number() OVER (ORDER BY x.gap / nullif(x.gap_error, 0) DESC NULLS LAST, x.visits DESC, s.step_key) AS place, x.visits, x.rollouts, x.actions, x.entropy, x.gap, x.gap_error,
				x.best_q, x.worst_q, x.best_visits, x.worst_visits, s.observed, b.done, w.done
				FROM %s x JOIN unnest($2) s ON s.step_key = %s JOIN unnest($2) b ON b.step_key = %s JOIN unnest($2) w ON w.step_key = %s
				WHERE %s AND x.actions > 1 AND x.gap > 1e-9) z',
			decisions, stepadv_internal.identity('x.step_id'::text, stepadv_internal.column_type(decisions, 'step_id'::text)),
			stepadv_internal.identity('x.best_step_id'::text, stepadv_internal.column_type(decisions, 'best_step_id'::text)),
			stepadv_internal.identity('x.worst_step_id'::text, stepadv_internal.column_type(decisions, 'worst_step_id'::text)),
			stepadv_internal.report_key_filter(decisions, (of_group).key)) INTO found USING (of_group).group_no, report_decisions.steps;
	END IF;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_decisions(stepadv_internal.attached, stepadv_internal.report_group, stepadv_internal.report_step[]) IS 'part of stepadv-report: the states of a group in which it is decided';

CREATE FUNCTION stepadv_internal.report_failures(a stepadv_internal.attached, of_group stepadv_internal.report_group, rollouts stepadv_internal.report_rollout[]) RETURNS stepadv_internal.report_failure[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	failures CONSTANT regclass := stepadv_internal.report_view_of(a, 'failure_points'::text);
	found stepadv_internal.report_failure[];
BEGIN
	IF failures IS NOT NULL THEN
		EXECUTE format('SELECT array_agg(ROW(o.group_no, o.rollout_no, x.last_chance_step_no, x.dead_end_step_no, x.drop_step_no, x.value_drop)::stepadv_internal.report_failure)
			FROM %s x JOIN unnest($2) o ON o.group_no = $1 AND o.rollout_id = coalesce(x.rollout_id::text, ''?'')
			WHERE %s AND (x.last_chance_step_no IS NOT NULL OR x.dead_end_step_no IS NOT NULL OR x.drop_step_no IS NOT NULL)',
			failures, stepadv_internal.report_key_filter(failures, (of_group).key)) INTO found USING (of_group).group_no, report_failures.rollouts;
	END IF;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_failures(stepadv_internal.attached, stepadv_internal.report_group, stepadv_internal.report_rollout[]) IS 'part of stepadv-report: where failed rollouts of a group were lost';

-- Of itself a tree shows rtmc, and a graph graphgpo.
CREATE FUNCTION stepadv_internal.report_pictures(a stepadv_internal.attached, told text, of_group stepadv_internal.report_group, steps stepadv_internal.report_step[], max_edges integer, folded boolean) RETURNS stepadv_internal.report_picture[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	pictured CONSTANT regclass := stepadv_internal.report_view_of(a, 'values'::text);
	rollouts CONSTANT regclass := stepadv_internal.report_view_of(a, 'rollouts'::text);
	truncated CONSTANT text := stepadv_internal.report_base_column(rollouts, 'truncated'::text, '{boolean}'::text[]);
	estimates jsonb;
	labels jsonb;
	cut_off bigint[];
	picture record;
	drawn text;
	found stepadv_internal.report_picture[] := '{}';
BEGIN
	IF pictured IS NULL OR (of_group).n_judged = 0 THEN
		RETURN found;
	END IF;
	-- Graphviz reads entities in labels.  Of a call there is room for the tool and what it was given.
	SELECT jsonb_object_agg(s.step_key, replace(coalesce(nullif(stepadv_internal.report_clean(stepadv_internal.report_short(CASE WHEN s.done ~ '^[[:alnum:]_.-]+\([[:alnum:]_]+: ' THEN regexp_replace(s.done, '([(,] ?)[[:alnum:]_]+: ', '\1', 'g') ELSE s.done END, 40)), ''), '(nothing)'), '&', '&amp;')),
		jsonb_object_agg(s.step_key, jsonb_build_object('advantage', s.told_advantage, 'v', s.v)) FILTER (WHERE s.is_told AND report_pictures.told <> 'rtmc')
	INTO labels, estimates FROM unnest(report_pictures.steps) s;
	IF truncated IS NOT NULL THEN
		EXECUTE format('SELECT array_agg(%s) FROM %s x WHERE %s AND %s',
			stepadv_internal.identity('x.rollout_id'::text, stepadv_internal.column_type(rollouts, 'rollout_id'::text)), rollouts, truncated,
			stepadv_internal.report_key_filter(rollouts, (of_group).key)) INTO cut_off;
	END IF;
	FOR picture IN SELECT p.* FROM (VALUES
		('tree', 'rtmc_tree', 'rtmc_tree_dot', ', cut_off => $2' || CASE WHEN report_pictures.folded THEN ', fold_chains => true' ELSE '' END, 1), ('whole tree', 'rtmc_tree', 'rtmc_tree_dot', ', cut_off => $2', 4),
		('graph', 'graph_edges', 'graph_dot', '', 1)) p(kind, method, function, argument, times)
		WHERE stepadv_internal.report_view_of(a, p.method) IS NOT NULL AND (p.kind <> 'whole tree' OR report_pictures.folded)
	LOOP
		EXECUTE format('SELECT stepadv.%I(x.%I, labels => $1%s, max_edges => $3, label_length => 400, estimates => $4%s) FROM %s x WHERE %s',
			picture.function, (SELECT c.attname FROM pg_attribute c WHERE c.attrelid = pictured AND c.attnum = (a).n_group_columns + 1), picture.argument,
			stepadv_internal.report_options_of(a, picture.method, picture.function), pictured, stepadv_internal.report_key_filter(pictured, (of_group).key))
		INTO drawn USING labels, cut_off, report_pictures.max_edges * picture.times, estimates;
		IF picture.kind = 'tree' AND report_pictures.folded THEN
			drawn := stepadv_internal.report_tree_folded(drawn);
		END IF;
		-- Whole it is another one only where something was folded.
		IF drawn LIKE '%->%' AND (picture.kind <> 'whole tree' OR found[cardinality(found)].dot ~ '\\n(and \d+ more|in \d+ ways)') THEN
			found := found || ROW((of_group).group_no, picture.kind, drawn)::stepadv_internal.report_picture;
		END IF;
	END LOOP;
	RETURN found;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_pictures(stepadv_internal.attached, text, stepadv_internal.report_group, stepadv_internal.report_step[], integer, boolean) IS 'part of stepadv-report: a tree and a graph of a group for Graphviz; folded: a tree in which what one rollout does alone is one edge, and the whole one with four times as many edges';

CREATE FUNCTION stepadv_internal.report_quadrants(a stepadv_internal.attached, r stepadv_internal.report, key text[]) RETURNS stepadv_internal.report_quadrant[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	quadrants CONSTANT regclass := stepadv_internal.report_view_of(a, 'quadrants'::text);
	found stepadv_internal.report_quadrant[];
BEGIN
	IF quadrants IS NOT NULL AND cardinality((r).methods) > 1 THEN
		EXECUTE format('SELECT array_agg(ROW(g.group_no, x.success, CASE WHEN x.method_a = %3$L THEN x.quadrant ELSE reverse(x.quadrant) END, x.n_steps)::stepadv_internal.report_quadrant)
			FROM %1$s x JOIN unnest($1) g ON g.key = ARRAY[%5$s]
			WHERE %2$s AND x.success IS NOT NULL AND (x.method_a, x.method_b) IN ((%3$L, %4$L), (%4$L, %3$L))',
			quadrants, stepadv_internal.report_key_filter(quadrants, report_quadrants.key), (r).method_a, (r).method_b,
			stepadv_internal.report_key(quadrants, (a).n_group_columns)) INTO found USING (r).groups;
	END IF;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_quadrants(stepadv_internal.attached, stepadv_internal.report, text[]) IS 'part of stepadv-report: the steps of all groups by the signs of two methods';

-- A method whose strips would all look like those of another, or that has no
-- estimate at all, is not drawn, unless it was asked for.
CREATE FUNCTION stepadv_internal.report_drawn(r stepadv_internal.report, asked boolean, OUT drawn integer[], OUT hidden text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT array_agg(l.i::integer ORDER BY l.i) FILTER (WHERE l.shown), string_agg(format('%s (%s)', l.m, CASE WHEN l.twin IS NULL THEN 'no estimate' ELSE 'as ' || l.twin END), ', ' ORDER BY l.i) FILTER (WHERE NOT l.shown)
	FROM (SELECT m.i, m.m, t.twin, asked OR m.i <= 2 OR cardinality(r.steps) = 0 OR t.twin IS NULL AND EXISTS (SELECT FROM unnest(r.steps) s WHERE s.advantages[m.i] IS NOT NULL) AS shown
		FROM unnest(r.methods) WITH ORDINALITY m(m, i)
		CROSS JOIN LATERAL (SELECT (SELECT r.methods[o.i] FROM generate_series(1, m.i - 1) o(i)
			WHERE EXISTS (SELECT FROM unnest(r.steps) s WHERE s.advantages[m.i] IS NOT NULL) AND NOT EXISTS (
				SELECT FROM unnest(r.steps) s JOIN unnest(r.scales) a ON a.group_no = s.group_no AND a.method_no = m.i JOIN unnest(r.scales) b ON b.group_no = s.group_no AND b.method_no = o.i
				WHERE (s.advantages[m.i] IS NULL) <> (s.advantages[o.i] IS NULL)
					OR abs(s.advantages[m.i] * b.largest - s.advantages[o.i] * a.largest) > 1e-6 * a.largest * b.largest
					-- 0 everywhere is like 0 everywhere alone.
					OR (a.largest <= 1e-9) <> (b.largest <= 1e-9))
			ORDER BY o.i LIMIT 1) AS twin) t) l;
END;
COMMENT ON FUNCTION stepadv_internal.report_drawn(stepadv_internal.report, boolean) IS 'part of stepadv-report: the methods whose strips are drawn, and in words those that are not';

-- What several rollouts did alike is told once.
CREATE FUNCTION stepadv_internal.report_decisive(r stepadv_internal.report, max_steps integer) RETURNS stepadv_internal.report_decisive[]
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT coalesce(array_agg(ROW(d.group_no, d.kind, d.rollout_no, d.step_rank, d.n_alike, d.place)::stepadv_internal.report_decisive ORDER BY d.group_no, d.kind, d.place), '{}')
	FROM (SELECT s.*, row_number() OVER (PARTITION BY s.group_no, s.kind ORDER BY s.shared DESC, s.size DESC, s.rollout_no, s.step_rank) AS place
		FROM (SELECT s.*, count(*) OVER alike AS n_alike, row_number() OVER (alike ORDER BY s.rollout_no, s.step_rank) AS copy
			FROM (SELECT s.*, 'advantage' AS kind, abs(s.advantages[r.main]) AS size, s.advantages[r.main] AS figure, coalesce(s.n_state > 1, true) AS shared FROM unnest(r.steps) s
				UNION ALL SELECT s.*, 'difference' AS kind, abs(s.difference) AS size, s.difference AS figure, true AS shared FROM unnest(r.steps) s) s
			WHERE s.size > 1e-9
			WINDOW alike AS (PARTITION BY s.group_no, s.kind, s.figure, s.n_state, s.n_action, s.q, s.v, s.observed, s.done)) s
		WHERE s.copy = 1) d
	WHERE d.place <= max_steps;
END;
COMMENT ON FUNCTION stepadv_internal.report_decisive(stepadv_internal.report, integer) IS 'part of stepadv-report: the steps that stand out';

-- What is asked for: groups, those first from which most is to be learnt, the rollouts
-- of those that are listed, and what two methods say of their steps.
CREATE FUNCTION stepadv_internal.report_listed(a stepadv_internal.attached, schema text, prefix text, key text[], name_like text, max_listed integer, methods text[]) RETURNS stepadv_internal.report
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r stepadv_internal.report := stepadv_internal.report_begun(a, report_listed.schema, report_listed.prefix, report_listed.key, report_listed.methods);
BEGIN
	r.groups := stepadv_internal.report_groups(a, report_listed.key, report_listed.name_like);
	IF report_listed.max_listed > 0 THEN
		r.rollouts := stepadv_internal.report_rollouts(a, r.groups, report_listed.key, report_listed.max_listed);
		r.quadrants := stepadv_internal.report_quadrants(a, r, report_listed.key);
	END IF;
	-- Some methods speak of whole rollouts; a step that stands out is one by a method
	-- that tells steps apart.
	r.main := coalesce((SELECT min(m.i) FROM unnest(r.methods) WITH ORDINALITY m(m, i) WHERE m.m = ANY (r.tell_steps)), 1);
	RETURN r;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_listed(stepadv_internal.attached, text, text, text[], text, integer, text[]) IS 'part of stepadv-report: the groups that are asked for, and for an overview the rollouts of the first max_listed of them';

-- Of what is listed one group, with its rollouts and steps and no other group's: what is in
-- memory does not grow with them.  Of one group nothing is worth starting a worker for.  asked: every method that was asked for is drawn.
CREATE FUNCTION stepadv_internal.report_in_group(a stepadv_internal.attached, listed stepadv_internal.report, of_group stepadv_internal.report_group, max_steps integer,
	observed text, done text, max_edges integer, asked boolean) RETURNS stepadv_internal.report
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET max_parallel_workers_per_gather = 0
AS $$
DECLARE
	r stepadv_internal.report := report_in_group.listed;
	texts record;
BEGIN
	r.groups := ARRAY[report_in_group.of_group];
	r.rollouts := stepadv_internal.report_rollouts(a, r.groups, (report_in_group.of_group).key, (report_in_group.of_group).group_no);
	r.quadrants := stepadv_internal.report_quadrants(a, r, (report_in_group.of_group).key);
	SELECT * INTO texts FROM stepadv_internal.report_texts(a, stepadv_internal.report_view_of(a, 'compare'::text), report_in_group.observed, report_in_group.done);
	r.steps := stepadv_internal.report_steps(a, r, report_in_group.of_group, texts.observed, texts.done);
	r.problems := stepadv_internal.report_problems(a, report_in_group.of_group);
	r.decisions := stepadv_internal.report_decisions(a, report_in_group.of_group, r.steps);
	r.failures := stepadv_internal.report_failures(a, report_in_group.of_group, r.rollouts);
	r.pictures := stepadv_internal.report_pictures(a, r.told, report_in_group.of_group, r.steps, report_in_group.max_edges, coalesce(r.in_files, false));
	r.scales := (SELECT coalesce(array_agg(ROW(l.group_no, l.i, r.methods[l.i], l.largest)::stepadv_internal.report_scale ORDER BY l.i), '{}')
		FROM (SELECT s.group_no, m.i, max(abs(m.advantage)) AS largest FROM unnest(r.steps) s, unnest(s.advantages) WITH ORDINALITY m(advantage, i) GROUP BY 1, 2) l);
	SELECT d.drawn, d.hidden INTO r.drawn, r.hidden FROM stepadv_internal.report_drawn(r, report_in_group.asked) d;
	r.decisive := stepadv_internal.report_decisive(r, report_in_group.max_steps);
	RETURN r;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_in_group(stepadv_internal.attached, stepadv_internal.report, stepadv_internal.report_group, integer, text, text, integer, boolean) IS 'part of stepadv-report: one group with its steps';

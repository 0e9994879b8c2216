-- The page of stepadv-report: what a run is in one screen, each panel read from the view that
-- has it.  Views without columns of the group speak of all groups, and are left out where some
-- were chosen.

-- Success by version, or by time where there are no versions; and the versions in their order.
CREATE FUNCTION stepadv_internal.report_success_chart(a stepadv_internal.attached, groups stepadv_internal.report_group[], OUT chart text, OUT versions text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	over_time CONSTANT regclass := stepadv_internal.report_view_of(a, 'groups_over_time'::text);
BEGIN
	IF over_time IS NOT NULL THEN
		EXECUTE format('SELECT CASE WHEN count(*) > 1 THEN stepadv_internal.report_trend(CASE WHEN bool_or(p.version IS NOT NULL) THEN ''Success by policy version'' ELSE ''Success over time'' END,
				array_agg(coalesce(p.version, p.day, ''?'') ORDER BY p.step, p.first, length(p.version), p.version), array_agg(p.n_successes ORDER BY p.step, p.first, length(p.version), p.version),
				array_agg(p.n_judged ORDER BY p.step, p.first, length(p.version), p.version)) END, array_agg(p.version ORDER BY p.step, p.first, length(p.version), p.version) FILTER (WHERE p.version IS NOT NULL)
			FROM (SELECT x.policy_version::text AS version, CASE WHEN x.policy_version IS NULL THEN to_char(x.bucket, ''YYYY-MM-DD'') END AS day, min(%s) AS step, min(x.bucket) AS first,
					sum(x.n_successes)::float8 AS n_successes, sum(x.n_judged)::float8 AS n_judged
				FROM %s x JOIN unnest($1) g ON g.key = ARRAY[%s] GROUP BY 1, 2) p',
			CASE WHEN stepadv_internal.has_column(over_time, 'policy_step'::text) THEN 'x.policy_step' ELSE 'NULL::bigint' END, over_time, stepadv_internal.report_key(over_time, (a).n_group_columns)) INTO chart, versions USING report_success_chart.groups;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_success_chart(stepadv_internal.attached, stepadv_internal.report_group[]) IS 'part of stepadv-report: success by version, or by time where there are no versions, as a chart; and the versions, the first one first';

CREATE FUNCTION stepadv_internal.report_return_chart(a stepadv_internal.attached, groups stepadv_internal.report_group[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rollouts CONSTANT regclass := stepadv_internal.report_view_of(a, 'rollouts'::text);
	chart text;
BEGIN
	EXECUTE format('SELECT stepadv_internal.report_histogram(''Returns of rollouts''::text, array_agg(p.return), array_agg(p.n), false)
		FROM (SELECT x.return, count(*)::float8 AS n FROM %s x JOIN unnest($1) g ON g.key = ARRAY[%s] WHERE x.judged GROUP BY 1) p', rollouts, stepadv_internal.report_key(rollouts, (a).n_group_columns))
	INTO chart USING report_return_chart.groups;
	RETURN chart;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_return_chart(stepadv_internal.attached, stepadv_internal.report_group[]) IS 'part of stepadv-report: how many rollouts have which return';

CREATE FUNCTION stepadv_internal.report_quadrant_chart(r stepadv_internal.report) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT stepadv_internal.report_bars(format('Steps by the signs of %s, %s', r.method_a, r.method_b), array_agg(format('%s rollouts: %s steps', CASE WHEN q.success THEN 'successful' ELSE 'failed' END, q.total) ORDER BY q.success DESC, q.place),
		array_agg(CASE q.quadrant WHEN '++' THEN 'both positive' WHEN '--' THEN 'both negative' WHEN '+-' THEN r.method_a || ' positive, ' || r.method_b || ' negative' WHEN '-+' THEN r.method_a || ' negative, ' || r.method_b || ' positive'
			ELSE '0 in one or both' END ORDER BY q.success DESC, q.place),
		array_agg(CASE q.quadrant WHEN '++' THEN 'more' WHEN '--' THEN 'less' WHEN '+-' THEN 'less torn' WHEN '-+' THEN 'more torn' ELSE 'none' END ORDER BY q.success DESC, q.place), array_agg(q.n ORDER BY q.success DESC, q.place))
	FROM (SELECT q.*, sum(q.n) OVER (PARTITION BY q.success) AS total
		FROM (SELECT p.success, p.quadrant, array_position('{++,-+,0,+-,--}', p.quadrant) AS place, sum(p.n_steps)::float8 AS n
			FROM (SELECT success, CASE WHEN quadrant IN ('++', '--', '+-', '-+') THEN quadrant ELSE '0' END AS quadrant, n_steps FROM unnest(r.quadrants)) p GROUP BY 1, 2) q) q;
END;
COMMENT ON FUNCTION stepadv_internal.report_quadrant_chart(stepadv_internal.report) IS 'part of stepadv-report: what two methods say of all steps, as bars';

CREATE FUNCTION stepadv_internal.report_advantage_charts(a stepadv_internal.attached, methods text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	histogram CONSTANT regclass := stepadv_internal.report_view_of(a, 'advantage_histogram'::text);
	charts text;
BEGIN
	IF histogram IS NOT NULL THEN
		EXECUTE format('SELECT string_agg(c.chart, E''\n'' ORDER BY c.i) FROM (SELECT m.i, stepadv_internal.report_histogram(''Advantages by '' || m.method, array_agg(x.bin), array_agg(x.n_steps::float8), true) AS chart
			FROM unnest($1) WITH ORDINALITY m(method, i) JOIN %s x ON x.method = m.method GROUP BY m.i, m.method) c', histogram) INTO charts USING report_advantage_charts.methods;
	END IF;
	RETURN charts;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_advantage_charts(stepadv_internal.attached, text[]) IS 'part of stepadv-report: how many steps have which advantage, by method';

-- What rollouts did: calls by category, and how long they were.
CREATE FUNCTION stepadv_internal.report_behaviour_table(a stepadv_internal.attached) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	behaviour CONSTANT regclass := stepadv_internal.report_view_of(a, 'behaviour'::text);
	panel text;
BEGIN
	IF behaviour IS NOT NULL THEN
		EXECUTE format('SELECT ''<section><h3>What they do</h3><div class="scroll"><table><tr><th>action</th><th class="n">calls</th><th class="n">errors</th><th class="n">repeated</th></tr>''
				|| string_agg(format(''<tr><td><bdi>%%s</bdi></td><td class="n">%%s</td><td class="n">%%s</td><td class="n">%%s</td></tr>'', stepadv_internal.report_html(coalesce(nullif(stepadv_internal.report_short(c.category, 60), ''''), ''(no tool)'')), c.n_calls,
					CASE WHEN c.n_errors IS NULL THEN ''·'' ELSE stepadv_internal.report_percent(c.n_errors / nullif(c.n_calls, 0)::float8) END, stepadv_internal.report_percent(c.n_repeats / nullif(c.n_calls, 0)::float8)), '''' ORDER BY c.n_calls DESC, c.category) || ''</table></div></section>''
			FROM (SELECT x.category, sum(x.n_calls) AS n_calls, sum(x.n_errors) AS n_errors, sum(x.n_repeats) AS n_repeats FROM %s x GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 12) c HAVING count(*) > 0', behaviour) INTO panel;
	END IF;
	RETURN panel;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_behaviour_table(stepadv_internal.attached) IS 'part of stepadv-report: calls by category of action';

-- How long rollouts are, by each measure; of several versions the first and the last one, too.
CREATE FUNCTION stepadv_internal.report_shape_table(a stepadv_internal.attached, versions text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	shape CONSTANT regclass := stepadv_internal.report_view_of(a, 'shape_over_time'::text);
	last CONSTANT text := CASE WHEN cardinality(report_shape_table.versions) > 1 THEN report_shape_table.versions[cardinality(report_shape_table.versions)] END;
	panel text;
BEGIN
	IF shape IS NOT NULL THEN
		EXECUTE format('SELECT ''<section><h3>How long rollouts are</h3><div class="scroll"><table><tr><th>of a rollout</th><th class="n">mean</th>'' || CASE WHEN $2 IS NOT NULL THEN format(''<th class="n"><bdi>%%s</bdi></th><th class="n"><bdi>%%s</bdi></th>'',
					stepadv_internal.report_html(stepadv_internal.report_end($1, 14)), stepadv_internal.report_html(stepadv_internal.report_end($2, 14))) ELSE '''' END || ''</tr>''
				|| string_agg(format(''<tr><td>%%s</td><td class="n">%%s</td>%%s</tr>'', replace(c.measure, ''_'', '' ''), stepadv_internal.report_number(c.mean, 1, false),
					CASE WHEN $2 IS NOT NULL THEN format(''<td class="n">%%s</td><td class="n">%%s</td>'', stepadv_internal.report_number(c.first, 1, false), stepadv_internal.report_number(c.last, 1, false)) ELSE '''' END),
					'''' ORDER BY c.measure <> ''steps'', c.measure) || ''</table></div></section>''
			FROM (SELECT x.measure, sum(x.mean * x.n_rollouts) / sum(x.n_rollouts) AS mean, sum(x.mean * x.n_rollouts) FILTER (WHERE x.policy_version::text = $1) / sum(x.n_rollouts) FILTER (WHERE x.policy_version::text = $1) AS first,
					sum(x.mean * x.n_rollouts) FILTER (WHERE x.policy_version::text = $2) / sum(x.n_rollouts) FILTER (WHERE x.policy_version::text = $2) AS last
				FROM %s x WHERE x.n_rollouts > 0 AND x.mean IS NOT NULL GROUP BY 1) c HAVING count(*) > 0', shape) INTO panel USING report_shape_table.versions[1], last;
	END IF;
	RETURN panel;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_shape_table(stepadv_internal.attached, text[]) IS 'part of stepadv-report: steps, tokens, seconds and so on of a rollout, on the mean';

-- Tasks that the last version that tried them solves more rarely than the one before it did: by
-- Fisher's exact test of the two, so that few rollouts are not taken for much.
CREATE FUNCTION stepadv_internal.report_regressed_table(a stepadv_internal.attached, versions text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	outcomes record;
	version text;
	panel text;
BEGIN
	IF cardinality(report_regressed_table.versions) > 1 AND stepadv_internal.report_view_of(a, 'flaky'::text) IS NOT NULL THEN
		outcomes := stepadv_internal.task_outcomes(a, '{n_judged,n_successes,success_rate}'::text[]);
		version := 't.v' || array_position(ARRAY(SELECT d.name FROM stepadv_internal.divisions(a) d WHERE d.role <> 'started_at' ORDER BY d.i), 'policy_version'::text);
	END IF;
	IF version IS NOT NULL THEN
		EXECUTE format('WITH tried AS (SELECT concat_ws('' / '', %1$s) AS task, array_position($1, %2$s::text) AS place, sum(t.n_judged)::bigint AS n, sum(t.n_successes)::bigint AS c FROM %3$s WHERE %2$s::text = ANY ($1) GROUP BY 1, 2),
			compared AS (SELECT t.*, stepadv_internal.fisher_exact(t.c_before, t.n_before, t.c, t.n) AS p
				FROM (SELECT t.*, lag(t.place) OVER w AS before, lag(t.n) OVER w AS n_before, lag(t.c) OVER w AS c_before, lead(t.place) OVER w AS following FROM tried t WINDOW w AS (PARTITION BY t.task ORDER BY t.place)) t
				WHERE t.following IS NULL AND t.before IS NOT NULL),
			fell AS (SELECT c.*, row_number() OVER (ORDER BY c.p, c.c / c.n::float8 - c.c_before / c.n_before::float8, c.task) AS rank FROM compared c WHERE c.c * c.n_before < c.c_before * c.n)
			SELECT ''<section><h3>Tasks that got worse</h3>'' || coalesce(''<div class="scroll"><table><tr><th>task</th><th>before</th><th>last</th><th class="n">p</th></tr>''
					|| string_agg(format(''<tr><td><bdi>%%s</bdi></td><td><bdi>%%s</bdi>: %%s of %%s</td><td><bdi>%%s</bdi>: %%s of %%s</td><td class="n">%%s</td></tr>'', stepadv_internal.report_html(stepadv_internal.report_short(f.task, 60)),
						stepadv_internal.report_html(stepadv_internal.report_short($1[f.before], 20)), f.c_before, f.n_before, stepadv_internal.report_html(stepadv_internal.report_short($1[f.place], 20)), f.c, f.n, stepadv_internal.report_number(f.p, 3, false)),
						'''' ORDER BY f.rank) FILTER (WHERE f.p <= 0.05 AND f.rank <= 8) || ''</table></div>'', '''')
				|| format(''<p class="note">Of %%s tasks that two versions tried, %%s fell from the one before to the last by more than chance (p at most 0.05, Fisher''''s exact test), %%s by what chance may do.</p></section>'',
					(SELECT count(*) FROM compared), count(f.task) FILTER (WHERE f.p <= 0.05), count(f.task) FILTER (WHERE f.p > 0.05))
			FROM (SELECT 1) one LEFT JOIN fell f ON true HAVING (SELECT count(*) FROM compared) > 0',
			(SELECT string_agg('t.t' || i, ', ' ORDER BY i) FROM generate_subscripts(outcomes.tasks, 1) i), version, outcomes.relation) INTO panel USING report_regressed_table.versions;
	END IF;
	RETURN panel;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_regressed_table(stepadv_internal.attached, text[]) IS 'part of stepadv-report: tasks of which the last version succeeds more rarely than the one before it, by Fisher''s exact test';

-- Tasks that one version sometimes solves, those first of which it is least sure.
CREATE FUNCTION stepadv_internal.report_flaky_table(a stepadv_internal.attached) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	flaky CONSTANT regclass := stepadv_internal.report_view_of(a, 'flaky'::text);
	panel text;
BEGIN
	IF flaky IS NOT NULL THEN
		EXECUTE format('SELECT ''<section><h3>Tasks that come out both ways</h3><div class="scroll"><table><tr><th>task</th>'' || CASE WHEN count(c.version) > 0 THEN ''<th>version</th>'' ELSE '''' END || ''<th class="n">solved</th></tr>''
				|| string_agg(format(''<tr><td><bdi>%%s</bdi></td>%%s<td class="n">%%s of %%s</td></tr>'', stepadv_internal.report_html(stepadv_internal.report_short(c.task, 60)),
					CASE WHEN c.some_version THEN format(''<td><bdi>%%s</bdi></td>'', stepadv_internal.report_html(coalesce(stepadv_internal.report_short(c.version, 30), ''·''))) ELSE '''' END, c.n_successes, c.n_judged), '''' ORDER BY c.place)
				|| ''</table></div>'' || CASE WHEN max(c.n_all) > 8 THEN format(''<p class="note">And %%s more.</p>'', max(c.n_all) - 8) ELSE '''' END || ''</section>''
			FROM (SELECT f.*, bool_or(f.version IS NOT NULL) OVER () AS some_version FROM (SELECT concat_ws('' / '', %s) AS task, nullif(x.policy_version::text, '''') AS version, x.n_successes, x.n_judged, count(*) OVER () AS n_all, row_number() OVER (ORDER BY abs(x.success_rate - 0.5), x.n_judged DESC, %1$s) AS place FROM %s x) f WHERE f.place <= 8) c
			HAVING count(*) > 0',
			(SELECT stepadv_internal.report_key(flaky, c.attnum - 1) FROM pg_attribute c WHERE c.attrelid = flaky AND c.attname = 'policy_version'), flaky) INTO panel;
	END IF;
	RETURN panel;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_flaky_table(stepadv_internal.attached) IS 'part of stepadv-report: tasks that one version sometimes solves';

-- What is wrong with rows, by kind.
CREATE FUNCTION stepadv_internal.report_problem_summary(a stepadv_internal.attached, groups stepadv_internal.report_group[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	problems CONSTANT regclass := stepadv_internal.report_view_of(a, 'problems'::text);
	panel text;
BEGIN
	IF problems IS NOT NULL THEN
		EXECUTE format('SELECT ''<section><h3>What is wrong with the rows</h3><div class="scroll"><table><tr><th>problem</th><th class="n">groups</th><th class="n">rows</th><th>what it did</th></tr>''
				|| string_agg(format(''<tr><td>%%s</td><td class="n">%%s</td><td class="n">%%s</td><td>%%s</td></tr>'', stepadv_internal.report_html(c.problem), c.n_groups, c.n_rows, stepadv_internal.report_html(c.effect)), '''' ORDER BY c.n_groups DESC, c.problem) || ''</table></div></section>''
			FROM (SELECT x.problem, count(DISTINCT g.group_no) AS n_groups, sum(x.n_rows) AS n_rows, min(x.effect) AS effect FROM %s x JOIN unnest($1) g ON g.key = ARRAY[%s] GROUP BY 1) c HAVING count(*) > 0',
			problems, stepadv_internal.report_key(problems, (a).n_group_columns)) INTO panel USING report_problem_summary.groups;
	END IF;
	RETURN panel;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_problem_summary(stepadv_internal.attached, stepadv_internal.report_group[]) IS 'part of stepadv-report: what is wrong with rows, by kind';

-- States of all groups in which most is decided; links: of the first so many groups.
CREATE FUNCTION stepadv_internal.report_decided(a stepadv_internal.attached, groups stepadv_internal.report_group[], max_full integer) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	decisions CONSTANT regclass := stepadv_internal.report_view_of(a, 'decision_points'::text);
	panel text;
BEGIN
	IF decisions IS NOT NULL THEN
		EXECUTE format('SELECT ''<section id="decided"><h3>Where it is decided</h3><p class="note">States in which several actions were tried, those first whose best and worst are farthest apart, in units of their error.</p><div class="scroll"><table class="steps cards"><colgroup><col style="width:210px"/><col style="width:64px"/><col style="width:76px"/><col style="width:84px"/><col/></colgroup><tr><th>group</th><th class="n">visits</th><th class="n">best q</th><th class="n">worst q</th><th>saw</th></tr>''
				|| string_agg(format(''<tr><td>%%s</td><td class="n" data-of="visits">%%s</td><td class="n" data-of="best q">%%s</td><td class="n" data-of="worst q">%%s</td><td class="text" data-of="saw"><bdi>%%s</bdi></td></tr>'',
					format(CASE WHEN (c.g).group_no <= $2 THEN ''<a href="'' || stepadv_internal.report_file(c.g) || ''"><bdi>%%s</bdi></a>'' ELSE ''<bdi>%%s</bdi>'' END, stepadv_internal.report_html(stepadv_internal.report_short((c.g).name, 60))),
					c.visits, stepadv_internal.report_number(c.best_q, 2, false), stepadv_internal.report_number(c.worst_q, 2, false), stepadv_internal.report_html(coalesce(nullif(stepadv_internal.report_short(c.observed, 160), ''''), ''(nothing)''))), '''' ORDER BY c.place) || ''</table></div></section>''
			FROM (SELECT ROW(g.*)::stepadv_internal.report_group AS g, x.visits, x.best_q, x.worst_q, (%s)::text AS observed, row_number() OVER (ORDER BY x.gap / nullif(x.gap_error, 0) DESC NULLS LAST, x.visits DESC, g.group_no) AS place
				FROM %s x JOIN unnest($1) g ON g.key = ARRAY[%s] WHERE x.actions > 1 AND x.gap > 1e-9) c WHERE c.place <= 8 HAVING count(*) > 0',
			coalesce(stepadv_internal.report_base_column(decisions, 'observation'::text, NULL::text[]), 'NULL'), decisions, stepadv_internal.report_key(decisions, (a).n_group_columns)) INTO panel USING report_decided.groups, report_decided.max_full;
	END IF;
	RETURN panel;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_decided(stepadv_internal.attached, stepadv_internal.report_group[], integer) IS 'part of stepadv-report: states of all groups in which most is decided';

-- Of a run, or of chosen groups of it.
CREATE FUNCTION stepadv_internal.report_panels(a stepadv_internal.attached, r stepadv_internal.report, chosen boolean, max_full integer) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	success record;
BEGIN
	success := stepadv_internal.report_success_chart(a, (r).groups);
	RETURN NEXT '<div class="charts" id="run">' || concat(success.chart, stepadv_internal.report_return_chart(a, (r).groups), stepadv_internal.report_quadrant_chart(r),
		CASE WHEN NOT chosen THEN stepadv_internal.report_advantage_charts(a, (r).methods[1:8]) END) || '</div>';
	RETURN NEXT '<div class="panels" id="panels">' || CASE WHEN NOT chosen THEN concat(stepadv_internal.report_regressed_table(a, success.versions), stepadv_internal.report_flaky_table(a),
		stepadv_internal.report_shape_table(a, success.versions), stepadv_internal.report_behaviour_table(a)) ELSE '' END || coalesce(stepadv_internal.report_problem_summary(a, (r).groups), '')
		|| coalesce('<section>' || stepadv_internal.report_quadrant_words(r) || '</section>', '') || '</div>';
	RETURN QUERY SELECT d FROM stepadv_internal.report_decided(a, (r).groups, max_full) d WHERE d <> '';
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_panels(stepadv_internal.attached, stepadv_internal.report, boolean, integer) IS 'part of stepadv-report: what a run is in one screen';

-- The page of stepadv-report: what it has of a group, tables, strips and notices.

-- What two methods say of the steps of good and of bad rollouts.
CREATE FUNCTION stepadv_internal.report_quadrant_table(r stepadv_internal.report, of_group integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format('<div class="scroll"><table class="quadrants cards"><tr><th>steps of</th><th class="n">steps</th><th class="n">%1$s +, %2$s +</th><th class="n">%1$s −, %2$s −</th><th class="n">%1$s +, %2$s −</th><th class="n">%1$s −, %2$s +</th><th class="n">0 in one or both</th></tr>%3$s</table></div>',
		r.method_a, r.method_b, string_agg(format('<tr><td class="%s">%s</td><td class="n" data-of="steps">%s</td>%s</tr>', v.class, v.mark || ' ' || CASE WHEN q.success THEN 'successful' ELSE 'failed' END || ' rollouts', q.n,
			(SELECT string_agg(format(CASE WHEN c = 0 THEN '<td class="n dim" data-of="%s">0</td>' ELSE '<td class="n" data-of="%s">%s <span class="dim">(%s)</span></td>' END, h, c, stepadv_internal.report_percent(c / q.n::float8)), '' ORDER BY i)
				FROM unnest(ARRAY[pp, nn, pn, np, q.n - pp - nn - pn - np], ARRAY[format('%s +, %s +', r.method_a, r.method_b), format('%s −, %s −', r.method_a, r.method_b), format('%s +, %s −', r.method_a, r.method_b), format('%s −, %s +', r.method_a, r.method_b), '0 in one or both'])
					WITH ORDINALITY c(c, h, i))), '' ORDER BY q.success DESC))
	FROM (SELECT success, sum(n_steps) AS n, coalesce(sum(n_steps) FILTER (WHERE quadrant = '++'), 0) AS pp, coalesce(sum(n_steps) FILTER (WHERE quadrant = '--'), 0) AS nn,
			coalesce(sum(n_steps) FILTER (WHERE quadrant = '+-'), 0) AS pn, coalesce(sum(n_steps) FILTER (WHERE quadrant = '-+'), 0) AS np
		FROM unnest(r.quadrants) WHERE of_group IS NULL OR group_no = of_group GROUP BY success) q, stepadv_internal.report_verdict(q.success) v
	HAVING count(*) > 0;
END;
COMMENT ON FUNCTION stepadv_internal.report_quadrant_table(stepadv_internal.report, integer) IS 'part of stepadv-report: what two methods say of the steps of good and of bad rollouts';

-- The same of all groups, with its heading.
CREATE FUNCTION stepadv_internal.report_quadrant_words(r stepadv_internal.report) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format(E'<h3>What %s and %s say of all steps</h3><p class="note">Steps by the signs of their two advantages.</p>\n%s', r.method_a, r.method_b, t) FROM stepadv_internal.report_quadrant_table(r, NULL::integer) t WHERE t IS NOT NULL;
END;
COMMENT ON FUNCTION stepadv_internal.report_quadrant_words(stepadv_internal.report) IS 'part of stepadv-report: what two methods say of the steps of all groups, with a heading';

-- A step's numbers and text, for the pointer that rests on it.
CREATE FUNCTION stepadv_internal.report_hint(s stepadv_internal.report_step, methods text[], told text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	said text[] := '{}';
BEGIN
	FOR i IN 1 .. cardinality((s).advantages) LOOP
		said := said || concat(report_hint.methods[i], ' ', stepadv_internal.report_number((s).advantages[i], 3, true));
	END LOOP;
	RETURN stepadv_internal.report_html(concat_ws(E'\n', 'step ' || (s).step_no, array_to_string(said, ', '),
		CASE WHEN (s).n_state IS NOT NULL AND (s).q IS NOT NULL THEN format('%s: q %s, v %s; %s of %s visits to the state took the action', report_hint.told,
			stepadv_internal.report_number((s).q, 3, false), stepadv_internal.report_number((s).v, 3, false), (s).n_action, (s).n_state) END,
		'saw: ' || stepadv_internal.report_short((s).observed, 240), 'did: ' || stepadv_internal.report_short((s).done, 240)));
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_hint(stepadv_internal.report_step, text[], text) IS 'part of stepadv-report: a step''s numbers and text, for the pointer that rests on it';

-- A rollout as strips, one below the other, a column per step; where there is more of a step on
-- the page it leads there.
CREATE FUNCTION stepadv_internal.report_strips(r stepadv_internal.report, of_group integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format(E'<div class="strips" style="--most:%s">\n<div class="rollout ruler"><div></div><div class="names">step</div><div class="strip">%s</div></div>\n',
			greatest(max(n), 1), (SELECT string_agg(format('<div class="s">%s</div>', CASE WHEN i = 1 OR (i + first) % 5 = 0 THEN i + first END), '' ORDER BY i) FROM generate_series(1, max(n)) i))
		|| string_agg(row, E'\n' ORDER BY rollout_no) || E'\n</div>'
	-- Numbered as the user numbers steps, if all rollouts do so alike.
	FROM (SELECT CASE WHEN min(step_no::bigint - step_rank) = max(step_no::bigint - step_rank) THEN min(step_no::bigint - step_rank) ELSE 0 END AS first FROM unnest(r.steps) WHERE group_no = of_group) f,
		(SELECT ro.rollout_no, s.n, format('<div class="rollout %s"><div class="who"><b>%s</b><span class="%s">%s</span><span class="dim">%s</span> <bdi class="dim">%s</bdi></div><div class="names">%s</div><div class="strip">%s</div></div>',
			v.class, stepadv_internal.report_rollout_name(ro.rollout_id, ro.success), v.class, v.word,
			concat(CASE WHEN ro.return IS NOT NULL THEN ' · return ' || stepadv_internal.report_number(ro.return, 3, false) END, ' · ' || ro.n_steps || CASE ro.n_steps WHEN 1 THEN ' step' ELSE ' steps' END), coalesce(stepadv_internal.report_html(stepadv_internal.report_short(ro.more, 80)), ''),
			names.names, coalesce(s.cells, '<span class="dim">no steps</span>')) AS row
		FROM unnest(r.rollouts) ro CROSS JOIN stepadv_internal.report_verdict(ro.success) v
		CROSS JOIN LATERAL (SELECT string_agg(format('<span>%s</span>', m), '' ORDER BY i) AS names FROM unnest(r.methods) WITH ORDINALITY m(m, i)
			WHERE ro.n_steps > 0 AND i = ANY (r.drawn)) names
		CROSS JOIN LATERAL (SELECT coalesce(max(s.step_rank), 0) AS n, string_agg(format(CASE WHEN r.in_files THEN '<a class="s%1$s" href="#%2$s" title="%3$s">%4$s</a>' ELSE '<div class="s%1$s" id="%2$s" title="%3$s">%4$s</div>' END,
				CASE WHEN EXISTS (SELECT FROM unnest(r.decisive) d WHERE (d.group_no, d.rollout_no, d.step_rank) = (s.group_no, s.rollout_no, s.step_rank)) THEN ' d' END,
				stepadv_internal.report_anchor(r, s), stepadv_internal.report_hint(s, r.methods, r.told), c.cells), '' ORDER BY s.step_rank) AS cells
			FROM unnest(r.steps) s CROSS JOIN LATERAL (
				SELECT string_agg(format('<i class="%s" data-a="%s"></i>', stepadv_internal.report_shade(a.a, l.largest), a.a), '' ORDER BY a.i) AS cells
				FROM unnest(s.advantages) WITH ORDINALITY a(a, i) JOIN unnest(r.scales) l ON l.group_no = s.group_no AND l.method_no = a.i WHERE a.i = ANY (r.drawn)) c
			WHERE s.group_no = ro.group_no AND s.rollout_no = ro.rollout_no) s
		WHERE ro.group_no = of_group) rows
	GROUP BY first;
END;
COMMENT ON FUNCTION stepadv_internal.report_strips(stepadv_internal.report, integer) IS 'part of stepadv-report: rollouts as strips, one below the other, a column per step';

CREATE FUNCTION stepadv_internal.report_decisive_table(r stepadv_internal.report, of_group integer, of_kind text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT '<div class="scroll"><table class="steps cards"><colgroup><col style="width:150px"/><col style="width:52px"/><col style="width:84px"/>'
		|| repeat('<col style="width:84px"/>', cardinality(p.shown) - 1) || CASE WHEN of_kind = 'difference' THEN '<col style="width:84px"/>' ELSE '' END
		|| CASE WHEN r.told IS NOT NULL THEN '<col style="width:58px"/><col style="width:58px"/><col style="width:66px"/>' ELSE '' END || '<col/><col/></colgroup><tr><th>rollout</th><th class="n">step</th>'
		|| (SELECT string_agg(format('<th class="n">%s</th>', replace(r.methods[i], '_', '_<wbr/>')), '' ORDER BY o) FROM unnest(p.shown) WITH ORDINALITY p(i, o))
		|| CASE WHEN of_kind = 'difference' THEN '<th class="n">differ by</th>' ELSE '' END
		|| CASE WHEN r.told IS NOT NULL THEN '<th class="n">q</th><th class="n">v</th><th class="n">took</th>' ELSE '' END || '<th>saw</th><th>did</th></tr>'
		|| string_agg(format(E'\n<tr><td>%s%s</td><td class="n" data-of="step"><a href="#%s">%s</a></td>%s%s%s<td class="text" data-of="saw"><bdi>%s</bdi></td><td class="text" data-of="did"><bdi>%s</bdi></td></tr>',
			stepadv_internal.report_rollout_name(ro.rollout_id, ro.success), CASE WHEN d.n_alike > 1 THEN format(' <span class="dim" title="as many steps alike">×%s</span>', d.n_alike) END,
			stepadv_internal.report_anchor(r, s), s.step_no,
			(SELECT string_agg(format('<td class="n%s" data-of="%s">%s</td>', CASE WHEN i = r.main THEN ' m' || CASE WHEN s.advantages[i] > 0 THEN ' pos' WHEN s.advantages[i] < 0 THEN ' neg' ELSE '' END END, r.methods[i],
				stepadv_internal.report_number(s.advantages[i], 3, true)), '' ORDER BY o) FROM unnest(p.shown) WITH ORDINALITY p(i, o)),
			CASE WHEN of_kind = 'difference' THEN format('<td class="n" data-of="differ by">%s</td>', stepadv_internal.report_number(abs(s.difference), 2, false)) END,
			CASE WHEN r.told IS NOT NULL THEN format('<td class="n" data-of="q">%s</td><td class="n" data-of="v">%s</td><td class="n" data-of="took">%s</td>', stepadv_internal.report_number(s.q, 2, false), stepadv_internal.report_number(s.v, 2, false), coalesce(s.n_action || '/' || s.n_state, '·')) END,
			stepadv_internal.report_html(coalesce(nullif(s.observed, ''), '(nothing)')), stepadv_internal.report_html(coalesce(nullif(s.done, ''), '(nothing)'))), '' ORDER BY d.place)
		|| '</table></div>'
	-- Two that are set against each other; where one is told of, the others beside it that have a q and a v.
	FROM (SELECT CASE WHEN of_kind = 'difference' THEN two.pair ELSE two.pair || ARRAY(SELECT i::integer FROM unnest(r.methods) WITH ORDINALITY m(m, i)
			WHERE m = ANY (r.with_values) AND i = ANY (r.drawn) AND i <> ALL (two.pair) ORDER BY i LIMIT 2) END AS shown
		FROM (SELECT CASE WHEN cardinality(r.methods) = 1 THEN ARRAY[1] WHEN of_kind = 'difference' OR r.main IN (1, 2) THEN ARRAY[1, 2] ELSE ARRAY[1, r.main] END AS pair) two) p,
		unnest(r.decisive) d JOIN unnest(r.steps) s USING (group_no, rollout_no, step_rank) JOIN unnest(r.rollouts) ro USING (group_no, rollout_no)
	WHERE d.group_no = of_group AND d.kind = of_kind
	GROUP BY p.shown;
END;
COMMENT ON FUNCTION stepadv_internal.report_decisive_table(stepadv_internal.report, integer, text) IS 'part of stepadv-report: the steps that stand out';

-- Where it is decided: states, by how sure their best action is better than their worst.
CREATE FUNCTION stepadv_internal.report_decision_table(r stepadv_internal.report, of_group integer, max_rows integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT '<div class="scroll"><table class="steps cards"><colgroup><col style="width:84px"/><col style="width:58px"/><col style="width:76px"/><col style="width:110px"/><col/><col/><col/></colgroup><tr><th class="n">visits</th><th class="n">tried</th><th class="n">entropy</th><th class="n">gap</th><th>saw</th><th>best did</th><th>worst did</th></tr>'
		|| string_agg(format(E'\n<tr><td class="n" data-of="visits">%s <span class="dim" title="by so many rollouts">/ %s</span></td><td class="n" data-of="tried">%s</td><td class="n" data-of="entropy">%s</td><td class="n" data-of="gap">%s <span class="dim">± %s</span></td><td class="text" data-of="saw"><bdi>%s</bdi></td><td class="text" data-of="best did"><span class="dim">%s × q %s</span> <bdi>%s</bdi></td><td class="text" data-of="worst did"><span class="dim">%s × q %s</span> <bdi>%s</bdi></td></tr>',
			d.visits, d.rollouts, d.actions, stepadv_internal.report_number(d.entropy, 2, false), stepadv_internal.report_number(d.gap, 2, false), stepadv_internal.report_number(d.gap_error, 2, false), stepadv_internal.report_html(coalesce(nullif(d.observed, ''), '(nothing)')),
			d.best_visits, stepadv_internal.report_number(d.best_q, 2, false), stepadv_internal.report_html(coalesce(nullif(d.best, ''), '(nothing)')),
			d.worst_visits, stepadv_internal.report_number(d.worst_q, 2, false), stepadv_internal.report_html(coalesce(nullif(d.worst, ''), '(nothing)'))), '' ORDER BY d.place)
		|| '</table></div>'
	FROM unnest(r.decisions) d WHERE d.group_no = of_group AND d.place <= max_rows HAVING count(*) > 0;
END;
COMMENT ON FUNCTION stepadv_internal.report_decision_table(stepadv_internal.report, integer, integer) IS 'part of stepadv-report: where it is decided';

-- A step of a rollout by its number: a link to its strip, and what it did.
CREATE FUNCTION stepadv_internal.report_step_cells(r stepadv_internal.report, of_group integer, rollout integer, number integer, what text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT coalesce((SELECT format('<td class="n" data-of="%s at step"><a href="#%s">%s</a></td><td class="text"><bdi>%s</bdi></td>', what, stepadv_internal.report_anchor(r, s), s.step_no, stepadv_internal.report_html(coalesce(nullif(s.done, ''), '(nothing)')))
		FROM unnest(r.steps) s WHERE s.group_no = of_group AND s.rollout_no = rollout AND s.step_no = number), '<td class="n">·</td><td class="dim">·</td>');
END;
COMMENT ON FUNCTION stepadv_internal.report_step_cells(stepadv_internal.report, integer, integer, integer, text) IS 'part of stepadv-report: a step of a rollout by its number';

-- Where failed rollouts were lost, the largest fall of the value first.
CREATE FUNCTION stepadv_internal.report_failure_table(r stepadv_internal.report, of_group integer, max_rows integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT '<div class="scroll"><table class="steps cards"><colgroup><col style="width:150px"/><col style="width:52px"/><col/><col style="width:52px"/><col/><col style="width:58px"/><col style="width:52px"/><col/></colgroup><tr><th>rollout</th><th class="n">step</th><th>last chance</th><th class="n">step</th><th>into a dead end</th><th class="n">fall</th><th class="n">step</th><th>largest fall of the value</th></tr>'
		|| string_agg(format(E'\n<tr><td>%s</td>%s%s<td class="n" data-of="fall">%s</td>%s</tr>', stepadv_internal.report_rollout_name(ro.rollout_id, ro.success), stepadv_internal.report_step_cells(r, f.group_no, f.rollout_no, f.last_chance, 'last chance'),
			stepadv_internal.report_step_cells(r, f.group_no, f.rollout_no, f.dead_end, 'dead end'), stepadv_internal.report_number(f.value_drop, 2, false), stepadv_internal.report_step_cells(r, f.group_no, f.rollout_no, f.dropped, 'largest fall')), '' ORDER BY f.place)
		|| '</table></div>'
	FROM (SELECT *, row_number() OVER (ORDER BY value_drop DESC NULLS LAST, rollout_no) AS place FROM unnest(r.failures) WHERE group_no = of_group) f JOIN unnest(r.rollouts) ro USING (group_no, rollout_no)
	WHERE f.place <= max_rows HAVING count(*) > 0;
END;
COMMENT ON FUNCTION stepadv_internal.report_failure_table(stepadv_internal.report, integer, integer) IS 'part of stepadv-report: where failed rollouts were lost';

-- What a reader should know of a group before its colours.
CREATE FUNCTION stepadv_internal.report_notices(r stepadv_internal.report, g stepadv_internal.report_group) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT coalesce(string_agg(format('<p class="notice">%s</p>', n), E'\n'), '') FROM unnest(ARRAY[
		CASE WHEN g.n_judged = 0 THEN 'No rollout of this group is judged yet: there is nothing to estimate, so cells are empty.'
			WHEN g.n_judged < g.n_rollouts THEN format('%s of %s rollouts are not judged yet: they take no part in the estimates.', g.n_rollouts - g.n_judged, g.n_rollouts) END,
		CASE WHEN g.n_judged = 1 THEN 'Only one rollout is judged: there is no other to compare it with.'
			WHEN g.n_judged > 1 AND g.uniform THEN 'All judged rollouts have the same return: methods that compare rollouts have nothing to say here, and give 0.' END,
		CASE WHEN g.n_steps = 0 THEN 'No rollout of this group has a step.' END,
		CASE WHEN NOT r.has_states THEN 'The table has no states, so there is neither tree nor graph, and no method that compares steps of one state.'
			WHEN g.n_judged > 1 AND g.n_steps > 0 AND g.n_shared_states = 0 THEN 'No state was visited by two rollouts: methods that compare steps of one state have little to go by.' END]) n
	WHERE n IS NOT NULL;
END;
COMMENT ON FUNCTION stepadv_internal.report_notices(stepadv_internal.report, stepadv_internal.report_group) IS 'part of stepadv-report: what a reader should know of a group before its colours';

-- What is wrong with the rows, as the view _problems has it.
CREATE FUNCTION stepadv_internal.report_problem_table(r stepadv_internal.report, of_group integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT '<h3>What is wrong with the rows</h3><div class="scroll"><table><tr><th>rollout</th><th class="n">first step</th><th>problem</th><th class="n">rows</th><th>what it did</th></tr>'
		|| string_agg(format('<tr><td><bdi>%s</bdi></td><td class="n">%s</td><td>%s</td><td class="n">%s</td><td>%s</td></tr>', stepadv_internal.report_html(stepadv_internal.report_short(coalesce(p.rollout_id, '·'), 60)), coalesce(p.step_no::text, '·'),
			stepadv_internal.report_html(p.problem), p.n_rows, stepadv_internal.report_html(p.effect)), '' ORDER BY p.i) FILTER (WHERE p.i <= 50)
		|| '</table></div>' || CASE WHEN count(*) > 50 THEN format('<p class="note">And %s more.</p>', count(*) - 50) ELSE '' END
	FROM (SELECT *, row_number() OVER (ORDER BY rollout_id, problem) AS i FROM unnest(r.problems) WHERE group_no = of_group) p HAVING count(*) > 0;
END;
COMMENT ON FUNCTION stepadv_internal.report_problem_table(stepadv_internal.report, integer) IS 'part of stepadv-report: what is wrong with the rows of a group';

CREATE FUNCTION stepadv_internal.report_legend(r stepadv_internal.report, of_group integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format('<div class="legend"><span><i class="n5"></i><i class="n4"></i><i class="n3"></i><i class="n2"></i><i class="n1"></i><i class="z"></i><i class="p1"></i><i class="p2"></i><i class="p3"></i><i class="p4"></i><i class="p5"></i></span><span>negative … 0 … positive advantage</span><span><i class="u"></i> no estimate</span><span><i class="key"></i> underlined: in a table below</span><span>Each method has a scale of its own: full colour is its largest |advantage| in this group (%s).%s</span></div>',
		string_agg(format('%s %s', l.method, stepadv_internal.report_number(l.largest, 3, false)), ', ' ORDER BY l.method_no), ' Not drawn: ' || r.hidden || '.')
	FROM unnest(r.scales) l WHERE l.method_no = ANY (r.drawn) AND l.group_no = of_group HAVING count(*) > 0;
END;
COMMENT ON FUNCTION stepadv_internal.report_legend(stepadv_internal.report, integer) IS 'part of stepadv-report: what the colours mean';

-- What a picture is of, and how to read it.
CREATE FUNCTION stepadv_internal.report_picture_words(r stepadv_internal.report, kind text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE kind
		WHEN 'tree' THEN format('<h3>The rollout tree</h3><p class="note">Ovals are states (v, visits), edges actions (visits, %s advantage): green where rollouts end in success, red in failure, grey where they were cut off.%s</p>',
			r.told, CASE WHEN r.in_files THEN ' What one rollout does alone, or all who come to a state alike, is one edge; so are actions that lead to the same state and come out alike.' ELSE '' END)
		ELSE format('<h3>The state graph</h3><p class="note">Boxes are states (d: steps to the goal%s, visits), green near the goal, red a dead end; edges are actions (visits, %s advantage): green where they come nearer to the goal, red where they lead to a dead end.</p>',
			CASE WHEN r.told <> 'rtmc' THEN ', v' ELSE '' END, CASE WHEN r.told = 'rtmc' THEN 'graphgpo' ELSE r.told END) END;
END;
COMMENT ON FUNCTION stepadv_internal.report_picture_words(stepadv_internal.report, text) IS 'part of stepadv-report: what a picture is of, and how to read it';

-- A group in full; of what has an address on a page of its own also that, and what it is called where the page begins.
CREATE FUNCTION stepadv_internal.report_in_full(r stepadv_internal.report, g stepadv_internal.report_group, max_steps integer) RETURNS TABLE (part text, address text, words text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN r.in_files AND p.address <> '' THEN regexp_replace(p.part, '^<h3>', format('<h3 id="%s">', p.address)) ELSE p.part END, p.address, p.words FROM unnest(ARRAY[
	format(CASE WHEN r.in_files THEN '<h1 id="g%s">Group <bdi>%s</bdi></h1>' ELSE '<h2 id="g%s">Group <bdi>%s</bdi></h2>' END, g.group_no, stepadv_internal.report_html(stepadv_internal.report_short(g.name, 200))),
	'<p class="task">' || nullif(concat(stepadv_internal.report_html(g.words), ' <span class="dim">' || nullif(stepadv_internal.report_html(concat_ws(' · ', CASE WHEN right(g.name, length(g.task)) <> g.task THEN g.task END, g.version, array_to_string(g.tags, ' · '))), '') || '</span>'), '') || '</p>',
	stepadv_internal.report_notices(r, g),
	'<div class="tiles">' || stepadv_internal.report_tile(g.n_rollouts::text, 'rollouts') || stepadv_internal.report_tile(g.n_judged::text, 'judged') || stepadv_internal.report_tile(g.n_steps::text, 'steps')
		|| stepadv_internal.report_tile(stepadv_internal.report_percent(g.success_rate), 'success rate') || stepadv_internal.report_tile(stepadv_internal.report_number(g.mean_return, 3, false), 'mean return') || stepadv_internal.report_tile(stepadv_internal.report_number(g.sd_return, 3, false), 'sd of returns')
		|| CASE WHEN r.has_states AND g.n_judged > 0 THEN stepadv_internal.report_tile(g.n_states::text, 'states') || stepadv_internal.report_tile(g.n_shared_states::text, 'shared by rollouts') || stepadv_internal.report_tile(stepadv_internal.report_percent(g.shared_step_share), 'of steps in them') ELSE '' END || '</div>',
	stepadv_internal.report_problem_table(r, g.group_no),
	'<h3>Advantages, step by step</h3>',
	stepadv_internal.report_legend(r, g.group_no), stepadv_internal.report_strips(r, g.group_no),
	format('<h3>Where %s and %s agree</h3><p class="note">Steps by the signs of their two advantages.</p>', r.method_a, r.method_b) || stepadv_internal.report_quadrant_table(r, g.group_no),
	format('<h3>Steps with the largest advantage by %s</h3>', r.methods[r.main])
		|| CASE WHEN r.methods[r.main] = r.told AND r.told_function IN ('rtmc', 'batch_td') THEN
			format('<p class="note">took: so many of the visits to the state took the action; q: %s; %s = q − v. Steps in states that were visited once come last.</p>',
				CASE r.told_function WHEN 'rtmc' THEN 'their mean return; v: that of all visits, drawn to the prior''s mean while they are few'
					ELSE 'the mean, over them, of the reward and the discounted value of the state that came next; v: the same over all visits' END, r.told) ELSE '' END
		|| stepadv_internal.report_decisive_table(r, g.group_no, 'advantage'),
	format('<h3>Steps on which %s and %s differ most</h3><p class="note">Each method is measured in its root mean square over the steps of the group.</p>', r.method_a, r.method_b) || stepadv_internal.report_decisive_table(r, g.group_no, 'difference'),
	'<h3>Where it is decided</h3><p class="note">States in which several actions were tried, those first whose best and worst are farthest apart, in units of their error; q: what the action was worth, after so many visits.</p>' || stepadv_internal.report_decision_table(r, g.group_no, max_steps),
	'<h3>Where failed rollouts were lost</h3><p class="note">Last chance: the last step from a state that a successful rollout was in. Dead end: after it no step that anybody took leads to the goal.</p>' || stepadv_internal.report_failure_table(r, g.group_no, max_steps),
	(SELECT string_agg(CASE p.kind WHEN 'whole tree' THEN '<details><summary>The whole tree</summary>' || d.picture || '</details>' ELSE stepadv_internal.report_picture_words(r, p.kind) || d.picture END, E'\n' ORDER BY p.picture_no)
		FROM unnest(r.pictures) WITH ORDINALITY p(group_no, kind, dot, picture_no), LATERAL (SELECT E'<div class="picture">\n<!--dot-->\n' || p.dot || E'\n<!--/dot-->\n</div>') d(picture) WHERE p.group_no = g.group_no)],
	'{"","","","",problems,strips,"","",agree,largest,differ,decided,lost,tree}'::text[], '{"","","","",Problems,Strips,"","",Signs,"Largest steps",Differences,Decisions,"Where lost",Pictures}'::text[]) WITH ORDINALITY p(part, address, words, i)
	WHERE p.part <> '' ORDER BY p.i;
END;
COMMENT ON FUNCTION stepadv_internal.report_in_full(stepadv_internal.report, stepadv_internal.report_group, integer) IS 'part of stepadv-report: a group with its steps';

-- The page of stepadv-report, put together.

-- script: of an index or of pages that lead to one another, else ''.  Nothing else may run:
-- the policy has its hash.
CREATE FUNCTION stepadv_internal.report_head(r stepadv_internal.report, title text, css text, script text, chosen boolean, of_group boolean) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format($page$<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'%3$s"/>
<meta name="generator" content="stepadv-report"/><meta name="viewport" content="width=device-width, initial-scale=1"/><meta name="referrer" content="no-referrer"/>
<title>%1$s</title>
<style>
%2$s
</style>%4$s</head><body>
%5$s$page$,
	stepadv_internal.report_html(CASE WHEN of_group THEN concat_ws(' · ', stepadv_internal.report_short(r.groups[1].name, 100), nullif(report_head.title, '')) ELSE coalesce(nullif(report_head.title, ''), words.heading) END), css,
	CASE WHEN script <> '' THEN format('; script-src ''sha256-%s''', encode(sha256(convert_to(script, 'UTF8')), 'base64')) ELSE '' END,
	CASE WHEN script <> '' THEN format('<script>%s</script>', script) ELSE '' END,
	-- A page of one group of several begins with where it is.
	CASE WHEN of_group THEN '' ELSE format('<h1>%s</h1><p class="note">%s, methods %s.</p>', stepadv_internal.report_html(coalesce(nullif(report_head.title, ''), words.heading)), stepadv_internal.report_html(words.source), stepadv_internal.report_html(array_to_string(r.methods, ', '))) END)
	FROM (SELECT 'Rollouts of ' || CASE WHEN cardinality(r.groups) = 1 THEN 'group ' || stepadv_internal.report_short(r.groups[1].name, 100) ELSE r.source END AS heading, 'From ' || r.source || CASE WHEN chosen THEN ', chosen groups' ELSE '' END AS source) words;
END;
COMMENT ON FUNCTION stepadv_internal.report_head(stepadv_internal.report, text, text, text, boolean, boolean) IS 'part of stepadv-report: how a page begins; css is a style sheet, script a script or empty, of_group: it is one of several, of one group';

-- All groups in numbers.
CREATE FUNCTION stepadv_internal.report_sums(r stepadv_internal.report) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT '<div class="tiles">' || stepadv_internal.report_tile(count(*)::text, 'groups') || stepadv_internal.report_tile(sum(g.n_rollouts)::text, 'rollouts')
		|| stepadv_internal.report_tile(sum(g.n_steps)::text, 'steps') || stepadv_internal.report_tile(stepadv_internal.report_percent(sum(g.n_judged) / nullif(sum(g.n_rollouts), 0)::float8), 'of rollouts judged')
		|| stepadv_internal.report_tile(stepadv_internal.report_percent(sum(g.success_rate * g.n_judged) / nullif(sum(g.n_judged), 0)), 'of these succeeded'
			|| coalesce((SELECT format(' <span title="95 %% interval (Wilson)">(%s to %s)</span>', round(100 * i.low), stepadv_internal.report_percent(i.high)) FROM stepadv_internal.report_interval(sum(g.success_rate * g.n_judged), sum(g.n_judged)) i WHERE i.low IS NOT NULL), ''))
		|| stepadv_internal.report_tile(count(*) FILTER (WHERE NOT g.uniform AND g.n_judged > 1)::text, 'groups with unequal returns')
		|| stepadv_internal.report_tile(count(*) FILTER (WHERE g.uniform AND g.n_judged > 1)::text, 'with equal returns')
		|| stepadv_internal.report_tile(count(*) FILTER (WHERE g.n_judged < 2)::text, 'with fewer than two judged')
		|| CASE WHEN r.has_states THEN stepadv_internal.report_tile(stepadv_internal.report_percent(sum(g.shared_step_share * g.n_steps) / nullif(sum(g.n_steps), 0)), 'of steps in shared states') ELSE '' END || '</div>'
	FROM unnest(r.groups) g;
END;
COMMENT ON FUNCTION stepadv_internal.report_sums(stepadv_internal.report) IS 'part of stepadv-report: all groups in numbers';

-- What came of the rollouts of a group, in a word.
CREATE FUNCTION stepadv_internal.report_outcome(g stepadv_internal.report_group) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN g.n_judged = 0 THEN 'not judged' WHEN g.n_judged = 1 THEN 'one judged' WHEN g.uniform THEN 'all equal' ELSE 'mixed' END;
END;
COMMENT ON FUNCTION stepadv_internal.report_outcome(stepadv_internal.report_group) IS 'part of stepadv-report: what came of the rollouts of a group, in a word';

-- What became of the rollouts of each listed group: as many bars of a kind in one element, since
-- an index of a thousand groups has tens of thousands of rollouts.
CREATE FUNCTION stepadv_internal.report_outcome_strips(rollouts stepadv_internal.report_rollout[]) RETURNS TABLE (group_no integer, strip text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT k.group_no, format('<span class="outcomes" role="img" aria-label="%s" title="%1$s" style="--w:%spx">%s</span>', string_agg(format('%s %s', k.n, v.word), ', ' ORDER BY k.place), trim_scale(round(least(11, 160 / sum(k.n)), 2)),
		string_agg(format('<i class="%s" style="--n:%s"></i>', v.class, k.n), '' ORDER BY k.place))
	FROM (SELECT o.group_no, o.success, count(*) AS n, CASE WHEN o.success THEN 1 WHEN NOT o.success THEN 2 ELSE 3 END AS place FROM unnest(rollouts) o GROUP BY 1, 2) k, stepadv_internal.report_verdict(k.success) v
	GROUP BY k.group_no;
END;
COMMENT ON FUNCTION stepadv_internal.report_outcome_strips(stepadv_internal.report_rollout[]) IS 'part of stepadv-report: what became of the rollouts of each group, as bars';

-- What a group is called, with a link where there is more of it, its tags and the words of its task.
CREATE FUNCTION stepadv_internal.report_group_cell(r stepadv_internal.report, g stepadv_internal.report_group, max_full integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format(CASE WHEN g.group_no <= max_full THEN '<a href="' || CASE WHEN r.in_files THEN stepadv_internal.report_file(g) ELSE '#g' || g.group_no END || '">%s</a>' ELSE '%s' END, '<bdi>' || stepadv_internal.report_html(stepadv_internal.report_short(g.name, 80)) || '</bdi>')
		|| coalesce((SELECT string_agg(format(' <bdi class="tag">%s</bdi>', stepadv_internal.report_html(t)), '') FROM unnest(g.tags) t), '')
		|| coalesce('<bdi class="words">' || nullif(stepadv_internal.report_html(concat_ws(' · ', CASE WHEN right(g.name, length(g.task)) <> g.task THEN g.task END, g.words)), '') || '</bdi>', '');
END;
COMMENT ON FUNCTION stepadv_internal.report_group_cell(stepadv_internal.report, stepadv_internal.report_group, integer) IS 'part of stepadv-report: what a group is called, its tags and the words of its task';

-- A row per group; of those in full with a link to their part of the page, or to their page.
CREATE FUNCTION stepadv_internal.report_group_list(r stepadv_internal.report, max_full integer, max_groups integer) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT '<section id="groups"><h3>Groups</h3><p class="note">Those first whose rollouts differ most in success and share states. Under rollouts: a bar for each, tall green for success, short red for failure, empty for not judged.'
		|| CASE WHEN r.in_files AND cardinality(r.groups) > max_full THEN format(' The first %s have a page.', max_full) ELSE '' END
		|| CASE WHEN cardinality(r.groups) > max_groups THEN format(' %s more groups are not listed.', cardinality(r.groups) - max_groups) ELSE '' END
		|| '</p><div class="scroll"><table class="groups"><thead><tr><th>group</th><th>rollouts</th><th>success rate</th><th class="n">mean return</th><th class="n">sd</th><th class="n">steps</th><th class="n">shared states</th><th class="n">steps in them</th>'
		|| CASE WHEN r.in_files THEN format('<th class="n" title="largest |advantage| of a step by %1$s">max |%1$s|</th>%2$s', r.methods[r.main], CASE WHEN v.versions THEN '<th>version</th>' ELSE '' END) ELSE '' END || '<th>outcomes</th></tr></thead><tbody>' AS part FROM (SELECT coalesce(bool_or(g.version <> ''), false) AS versions FROM unnest(r.groups) g) v
	UNION ALL SELECT rows.row AS part FROM (SELECT format('<tr><td class="group">%s</td><td data-of="rollouts" data-n="%s">%s</td><td data-of="success">%s</td><td class="n" data-of="mean return">%s</td><td class="n" data-of="sd">%s</td><td class="n" data-of="steps">%s</td><td class="n" data-of="shared states">%s</td><td class="n" data-of="steps in them">%s</td>%s<td class="dim">%s</td></tr>',
			stepadv_internal.report_group_cell(r, g, max_full), g.n_rollouts, o.strip,
			CASE WHEN g.success_rate IS NOT NULL THEN format('<span class="bar" style="--v:%s"></span>%s', round(g.success_rate::numeric, 3), stepadv_internal.report_percent(g.success_rate)) ELSE '·' END,
			stepadv_internal.report_number(g.mean_return, 2, false), stepadv_internal.report_number(g.sd_return, 2, false), g.n_steps, g.n_shared_states, stepadv_internal.report_percent(g.shared_step_share),
			CASE WHEN r.in_files THEN format('<td class="n" data-of="max |%s|">%s</td>%s', r.methods[r.main], stepadv_internal.report_number(g.largest, 2, false),
				CASE WHEN v.versions THEN format('<td class="dim"><bdi>%s</bdi></td>', stepadv_internal.report_html(coalesce(nullif(stepadv_internal.report_short(g.version, 30), ''), '·'))) END) END,
			stepadv_internal.report_outcome(g)) AS row
		FROM (SELECT coalesce(bool_or(g.version <> ''), false) AS versions FROM unnest(r.groups) g) v, unnest(r.groups) g LEFT JOIN stepadv_internal.report_outcome_strips(r.rollouts) o ON o.group_no = g.group_no
		WHERE g.group_no <= max_groups ORDER BY g.group_no) rows
	UNION ALL SELECT '</tbody></table></div></section>' AS part;
END;
COMMENT ON FUNCTION stepadv_internal.report_group_list(stepadv_internal.report, integer, integer) IS 'part of stepadv-report: a row per group';

CREATE FUNCTION stepadv_internal.report_foot() RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('<footer>stepadv %s · %s</footer></body></html>', (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'stepadv'), to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'))
$$;
COMMENT ON FUNCTION stepadv_internal.report_foot() IS 'part of stepadv-report: how a page ends';

-- What stays in sight of a group's page: which one it is, the index, the groups before and after
-- it, and what the page has.
CREATE FUNCTION stepadv_internal.report_navigation(before stepadv_internal.report_group, here stepadv_internal.report_group, following stepadv_internal.report_group, addresses text[]) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	-- What is not there is NULL, and makes no link.
	SELECT concat('<nav><a href="index.html">All groups</a>',
		' <a rel="prev" href="' || stepadv_internal.report_file(before) || '" title="' || stepadv_internal.report_html(stepadv_internal.report_short(before.name, 60)) || '">← before</a>',
		' <a rel="next" href="' || stepadv_internal.report_file(following) || '" title="' || stepadv_internal.report_html(stepadv_internal.report_short(following.name, 60)) || '">next →</a>',
		format(' <b><bdi>%s</bdi></b> ', stepadv_internal.report_html(stepadv_internal.report_short(here.name, 60))),
		(SELECT format('<span class="parts">%s</span>', string_agg(format('<a href="#%s">%s</a>', addresses[i][1], addresses[i][2]), ' ' ORDER BY i)) FROM generate_subscripts(addresses, 1) i), '</nav>');
END;
COMMENT ON FUNCTION stepadv_internal.report_navigation(stepadv_internal.report_group, stepadv_internal.report_group, stepadv_internal.report_group, text[]) IS 'part of stepadv-report: which group a page is of, links to the index and to the pages beside it, and to its parts';

-- in_files: an index and a page for each group in full instead of one page.  Several calls in one
-- snapshot share the work: one makes the index, first_page 0, each of the others the pages from
-- its first one on, every so many; progress: a page that is begun is told as INFO.
CREATE FUNCTION stepadv_internal.report_pages(schema text, prefix text, key text[], name_like text, max_full integer, max_groups integer, max_steps integer,
	methods text[], observed text, done text, max_edges integer, title text, css text, script text, in_files boolean, first_page integer, every integer, progress boolean) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	attached CONSTANT stepadv_internal.attached := stepadv_internal.report_attachment(report_pages.schema, report_pages.prefix);
	chosen CONSTANT boolean := report_pages.key <> '{}' OR report_pages.name_like IS NOT NULL;
	script CONSTANT text := CASE WHEN report_pages.in_files THEN report_pages.script ELSE '' END;
	-- All in one, or the index alone.
	with_index CONSTANT boolean := report_pages.every = 1 OR report_pages.first_page = 0;
	listed stepadv_internal.report := stepadv_internal.report_listed(attached, report_pages.schema, report_pages.prefix, report_pages.key, report_pages.name_like,
		CASE WHEN with_index THEN greatest(report_pages.max_full, report_pages.max_groups) ELSE 0 END, report_pages.methods);
	n_pages CONSTANT integer := least(report_pages.max_full, cardinality(listed.groups));
	here stepadv_internal.report_group;
	r stepadv_internal.report;
	parts text[];
	addresses text[];
BEGIN
	listed.in_files := report_pages.in_files;
	IF with_index THEN
		IF report_pages.in_files THEN
			listed.groups := stepadv_internal.report_described(attached, listed.groups, report_pages.key, listed.methods[listed.main], report_pages.observed);
			RETURN NEXT '<!--file index.html-->';
		END IF;
		RETURN NEXT stepadv_internal.report_head(listed, report_pages.title, report_pages.css, script, chosen, false);
		IF cardinality(listed.groups) = 0 THEN
			RETURN NEXT '<p class="notice">There are no rollouts.</p>';
		ELSIF report_pages.in_files OR cardinality(listed.groups) > 1 THEN
			IF report_pages.in_files THEN
				parts := ARRAY(SELECT stepadv_internal.report_panels(attached, listed, chosen, report_pages.max_full));
				RETURN NEXT '<nav><b>' || stepadv_internal.report_html(coalesce(nullif(report_pages.title, ''), listed.source)) || '</b><span class="parts"><a href="#run">Charts</a> <a href="#panels">Tables</a> ' || CASE WHEN parts[cardinality(parts)] LIKE '<section id="decided">%' THEN '<a href="#decided">Decisions</a> ' ELSE '' END || '<a href="#groups">Groups</a></span></nav>';
			END IF;
			RETURN NEXT stepadv_internal.report_sums(listed);
			IF report_pages.in_files THEN
				RETURN QUERY SELECT unnest(parts);
			ELSE
				RETURN QUERY SELECT q FROM stepadv_internal.report_quadrant_words(listed) q WHERE q <> '';
			END IF;
			RETURN QUERY SELECT stepadv_internal.report_group_list(listed, report_pages.max_full, report_pages.max_groups);
		END IF;
		IF report_pages.in_files THEN
			RETURN NEXT stepadv_internal.report_foot();
		END IF;
	END IF;
	FOR i IN greatest(report_pages.first_page, 1) .. CASE WHEN report_pages.first_page > 0 THEN n_pages ELSE 0 END BY report_pages.every LOOP
		IF report_pages.progress THEN
			RAISE INFO 'page % of %', i, n_pages;
		END IF;
		here := listed.groups[i];
		IF NOT with_index THEN
			here := (stepadv_internal.report_described(attached, ARRAY[here], here.key, listed.methods[listed.main], report_pages.observed))[1];
		END IF;
		r := stepadv_internal.report_in_group(attached, listed, here, report_pages.max_steps, report_pages.observed, report_pages.done, report_pages.max_edges, report_pages.methods <> '{}');
		IF report_pages.in_files THEN
			RETURN NEXT format('<!--file %s-->', stepadv_internal.report_file(here));
			RETURN NEXT stepadv_internal.report_head(r, report_pages.title, report_pages.css, script, chosen, true);
		END IF;
		SELECT array_agg(p.part ORDER BY p.i), array_agg(ARRAY[p.address, p.words] ORDER BY p.i) FILTER (WHERE p.address <> '') INTO parts, addresses
		FROM stepadv_internal.report_in_full(r, here, report_pages.max_steps) WITH ORDINALITY p(part, address, words, i);
		IF report_pages.in_files THEN
			RETURN NEXT stepadv_internal.report_navigation(listed.groups[i - 1], here, (listed.groups[1:report_pages.max_full])[i + 1], addresses || ARRAY[['talks', 'Step by step']]);
		END IF;
		RETURN QUERY SELECT unnest(parts);
		IF report_pages.in_files THEN
			RETURN QUERY SELECT stepadv_internal.report_talks(attached, r, here, report_pages.observed, report_pages.done);
			RETURN NEXT stepadv_internal.report_foot();
		END IF;
	END LOOP;
	IF NOT report_pages.in_files THEN
		RETURN NEXT stepadv_internal.report_foot();
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_pages(text, text, text[], text, integer, integer, integer, text[], text, text, integer, text, text, text, boolean, integer, integer, boolean) IS
'part of stepadv-report: HTML with Graphviz'' text between lines <!--dot--> and <!--/dot--> where a picture goes, each page of several after a line <!--file NAME-->; nothing else can look like these lines, since in all text from the database < is written &lt;. Reads only';

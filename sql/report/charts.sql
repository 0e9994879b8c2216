-- The page of stepadv-report: charts of its index, as SVG with the colours of the page.
-- Each says in words what it shows, for who does not see it, and has numbers to point at.

-- The interval of a share of n (Wilson 1927): 95 %.
CREATE FUNCTION stepadv_internal.report_interval(n_successes float8, n float8, OUT low float8, OUT high float8)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT (b.p + b.z2 / (2 * b.n) - b.w) / (1 + b.z2 / b.n), (b.p + b.z2 / (2 * b.n) + b.w) / (1 + b.z2 / b.n)
	FROM (SELECT a.*, sqrt(a.z2 * (a.p * (1 - a.p) / a.n + a.z2 / (4 * a.n * a.n))) AS w FROM (SELECT n_successes / nullif(n, 0) AS p, nullif(n, 0) AS n, 1.959963984540054 ^ 2 AS z2) a) b;
END;
COMMENT ON FUNCTION stepadv_internal.report_interval(float8, float8) IS 'part of stepadv-report: the 95 % interval of a share (Wilson 1927)';

-- A chart with its heading and what it says in words.
CREATE FUNCTION stepadv_internal.report_chart(class text, heading text, words text, drawing text, height integer) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format('<figure class="%s"><figcaption>%s</figcaption><svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 320 %s" aria-label="%s">%s</svg></figure>', class, heading, height, words, drawing);
END;
COMMENT ON FUNCTION stepadv_internal.report_chart(text, text, text, text, integer) IS 'part of stepadv-report: an SVG with its heading and what it says in words';

-- Shares with their intervals, one after the other; as many labels as there is room for.
CREATE FUNCTION stepadv_internal.report_trend(heading text, labels text[], successes float8[], judged float8[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT stepadv_internal.report_chart('wide', heading, stepadv_internal.report_html(string_agg(format('%s: %s of %s', stepadv_internal.report_short(c.label, 40), stepadv_internal.report_percent(c.share), c.n), '; ' ORDER BY c.i)),
		'<path class="grid" d="M46 10H316M46 60H316M46 110H316"/><text class="y" x="41" y="14">100 %</text><text class="y" x="41" y="64">50 %</text><text class="y" x="41" y="114">0 %</text>'
		|| coalesce('<polyline class="line" points="' || string_agg(format('%s,%s', c.x, c.y), ' ' ORDER BY c.i) FILTER (WHERE c.y IS NOT NULL) || '"/>', '')
		|| string_agg(coalesce(format('<g><title>%s</title><path class="range" d="M%s %sV%s"/><circle class="dot" cx="%2$s" cy="%5$s" r="3"/></g>',
				stepadv_internal.report_html(format('%s: %s of %s rollouts (%s to %s)', stepadv_internal.report_short(c.label, 80), stepadv_internal.report_percent(c.share), c.n, stepadv_internal.report_percent(c.low), stepadv_internal.report_percent(c.high))),
				c.x, round((110 - 100 * c.low)::numeric, 1), round((110 - 100 * c.high)::numeric, 1), c.y), '')
			|| CASE WHEN (c.i - 1) % c.every = 0 THEN format('<text class="x" x="%s" y="124">%s</text>', c.x, stepadv_internal.report_html(c.name)) ELSE '' END, '' ORDER BY c.i), 130)
	FROM (SELECT c.*, ceil(c.n_all * (8 * max(length(c.name)) OVER () + 8) / 270.0)::integer AS every FROM (
		SELECT u.i, u.label, stepadv_internal.report_end(u.label, 14) AS name, u.n, u.c / nullif(u.n, 0) AS share, w.low, w.high, round((46 + 270 * (u.i - 0.5) / count(*) OVER ())::numeric, 1) AS x, round((110 - 100 * u.c / nullif(u.n, 0))::numeric, 1) AS y,
			count(*) OVER () AS n_all
		FROM unnest(labels, successes, judged) WITH ORDINALITY u(label, c, n, i), stepadv_internal.report_interval(u.c, u.n) w) c) c
	HAVING count(*) > 0;
END;
COMMENT ON FUNCTION stepadv_internal.report_trend(text, text[], float8[], float8[]) IS 'part of stepadv-report: shares with their 95 % intervals, one after the other';

-- How many there are of each size, in 25 bins; with both signs the middle is 0, and each
-- sign has its colour.
CREATE FUNCTION stepadv_internal.report_histogram(heading text, sizes float8[], counts float8[], signed boolean) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT stepadv_internal.report_chart('small', heading, format('%s between %s and %s; most, %s, near %s', sum(b.n), stepadv_internal.report_number(b.least, 2, signed), stepadv_internal.report_number(b.greatest, 2, signed), max(b.n),
			stepadv_internal.report_number((array_agg(b.low + b.width * (b.bin + 0.5) ORDER BY b.n DESC, b.bin))[1], 2, signed)),
		string_agg(format('<rect class="%s" x="%s" y="%s" width="10.8" height="%s"><title>%s to %s: %s</title></rect>',
			CASE WHEN NOT signed THEN 'plain' WHEN b.bin = 12 THEN 'none' WHEN b.bin > 12 THEN 'more' ELSE 'less' END,
			round((10 + 12 * b.bin)::numeric, 1), round((90 - 80 * b.n / b.most)::numeric, 1), round((80 * b.n / b.most)::numeric, 1),
			stepadv_internal.report_number(b.low + b.width * b.bin, 3, signed), stepadv_internal.report_number(b.low + b.width * (b.bin + 1), 3, signed), b.n), '' ORDER BY b.bin)
		|| format('<path class="grid" d="M10 90H310"/><text x="10" y="106">%s</text>%s<text class="y" x="310" y="106">%s</text>', stepadv_internal.report_number(b.low, 2, signed),
			CASE WHEN signed THEN '<text class="x" x="160" y="106">0</text>' ELSE '' END, stepadv_internal.report_number(b.high, 2, signed)), 110)
	FROM (SELECT r.low, r.high, r.least, r.greatest, r.width, least(24, floor((u.size - r.low) / r.width))::integer AS bin, sum(u.n) AS n, max(sum(u.n)) OVER () AS most
		FROM (SELECT e.least, e.greatest, e.low, e.low + 25 * e.width AS high, e.width
			FROM (SELECT least, greatest, CASE WHEN signed THEN -m ELSE least END AS low, coalesce(nullif(CASE WHEN signed THEN 2 * m ELSE greatest - least END, 0), 1) / 25 AS width
				FROM (SELECT min(s) AS least, max(s) AS greatest, coalesce(nullif(max(abs(s)), 0), 0.5) AS m FROM unnest(sizes) s) x) e) r, unnest(sizes, counts) u(size, n)
		WHERE u.size IS NOT NULL AND u.n > 0
		GROUP BY r.low, r.high, r.least, r.greatest, r.width, least(24, floor((u.size - r.low) / r.width))) b
	GROUP BY b.low, b.high, b.least, b.greatest, b.width;
END;
COMMENT ON FUNCTION stepadv_internal.report_histogram(text, float8[], float8[], boolean) IS 'part of stepadv-report: how many there are of each size, in 25 bins';

-- Parts of wholes, a bar for each whole: as long as its share, with what it is.
CREATE FUNCTION stepadv_internal.report_bars(heading text, wholes text[], parts text[], classes text[], counts float8[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT stepadv_internal.report_chart('wide', heading, stepadv_internal.report_html(string_agg(format('%s, %s: %s', b.whole, b.part, b.n), '; ' ORDER BY b.i)),
		string_agg(format('<rect class="%s" x="%s" y="%s" width="%s" height="26"><title>%s</title></rect>%s', b.class, round((310 * b.before)::numeric + 5, 1), 16 + 48 * (b.whole_no - 1), round((310 * b.share)::numeric, 1),
				stepadv_internal.report_html(format('%s, %s: %s (%s)', b.whole, b.part, b.n, stepadv_internal.report_percent(b.share))),
				CASE WHEN b.first THEN format('<text x="5" y="%s">%s</text>', 11 + 48 * (b.whole_no - 1), stepadv_internal.report_html(b.whole)) ELSE '' END), '' ORDER BY b.i), (48 * max(b.whole_no))::integer)
	FROM (SELECT c.*, dense_rank() OVER (ORDER BY c.whole_i) AS whole_no, row_number() OVER (PARTITION BY c.whole_i ORDER BY c.i) = 1 AS first,
			c.n / c.total AS share, (sum(c.n) OVER (PARTITION BY c.whole_i ORDER BY c.i) - c.n) / c.total AS before
		FROM (SELECT u.*, min(u.i) OVER (PARTITION BY u.whole) AS whole_i, sum(u.n) OVER (PARTITION BY u.whole) AS total
			FROM unnest(wholes, parts, classes, counts) WITH ORDINALITY u(whole, part, class, n, i)) c
		WHERE c.total > 0) b
	HAVING count(*) > 0;
END;
COMMENT ON FUNCTION stepadv_internal.report_bars(text, text[], text[], text[], float8[]) IS 'part of stepadv-report: parts of wholes as bars';

-- A tree for people: edges between the same two states, of the same outcome and advantage, are one,
-- the first, which says how many ways there are; and what all visits of a state do alike is no edge
-- of its own: of such states one after the other, the first edge stands for all, and says for how
-- many more.  A state from which an edge is not drawn has more visits than the edges, and stays.
-- (Few expressions with parts of what they find: they take most of the time.)
CREATE FUNCTION stepadv_internal.report_tree_folded(dot text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	WITH RECURSIVE line AS (
		SELECT l.line, l.i FROM unnest(string_to_array(dot, E'\n')) WITH ORDINALITY l(line, i)
	), state AS (
		SELECT l.i, split_part(l.line, ' ', 3) AS state, substring(l.line FROM '\\nn ([0-9]+)", color="[^"]*"\];$') AS visits FROM line l WHERE l.line LIKE '  s% [label="V %'
	), way AS (
		-- A loop has several edges in its label, and is known by its ends alone.
		SELECT w.*, left(w.line, length(w.line) - length(w.tail)) AS head, regexp_match(w.tail, '^\\nn ([0-9]+)(  A [-+.0-9]+)?(?:\\nand ([0-9]+) more)?(", color=("[^"]*").*)$') AS said
		FROM (SELECT l.line, l.i, split_part(l.line, ' ', 3) AS source, split_part(l.line, ' ', 5) AS target,
				substring(l.line FROM '\\nn [0-9]+(?:  A [-+.0-9]+)?(?:\\nand [0-9]+ more)?", color="[^"]*", penwidth=[0-9.]+\];$') AS tail
			FROM line l WHERE l.line LIKE '  __% -> __% [label="%') w
	), edge AS MATERIALIZED (
		SELECT min(w.i) AS i, w.source, w.target, (array_agg(w.line ORDER BY w.i))[1] AS line, (array_agg(w.head ORDER BY w.i))[1] AS head, sum(w.said[1]::integer) AS visits,
			w.said[2] AS advantage, coalesce(w.said[3]::integer, 0) AS n_more, (array_agg(w.said[4] ORDER BY w.i))[1] AS rest, count(*) AS n_ways
		FROM way w GROUP BY w.source, w.target, w.said[2], w.said[3], w.said[5], CASE WHEN w.source = w.target OR w.said IS NULL OR w.target NOT LIKE 's%' THEN w.i END
	), passed AS MATERIALIZED (
		SELECT s.i, s.state, o.i AS out, o.target, 1 + o.n_more AS n_more
		FROM state s JOIN edge o ON o.source = s.state JOIN edge e ON e.target = s.state
		WHERE o.source <> o.target AND o.visits = s.visits::integer AND e.visits = s.visits::integer AND (SELECT count(*) FROM edge x WHERE s.state IN (x.source, x.target)) = 2
	), walk AS (
		SELECT e.i, e.target, e.n_more FROM edge e WHERE NOT EXISTS (SELECT FROM passed p WHERE p.state = e.source)
		UNION ALL SELECT w.i, p.target, w.n_more + p.n_more FROM walk w JOIN passed p ON p.state = w.target
	), last AS (
		SELECT DISTINCT ON (w.i) w.i, w.target, w.n_more FROM walk w ORDER BY w.i, w.n_more DESC
	)
	SELECT string_agg(CASE WHEN e.n_ways = 1 AND w.target = e.target OR e.i IS NULL THEN l.line
			ELSE concat('  ', e.source, ' -> ', w.target, substr(e.head, length(e.source || e.target) + 7), '\nn ', e.visits, e.advantage, CASE WHEN e.n_ways > 1 THEN format('\nin %s ways', e.n_ways) END, '\nand ' || nullif(w.n_more, 0) || ' more', e.rest) END, E'\n' ORDER BY l.i)
	FROM line l LEFT JOIN edge e ON e.i = l.i LEFT JOIN last w ON w.i = l.i
	WHERE NOT EXISTS (SELECT FROM passed p WHERE l.i = p.i OR l.i = p.out) AND (e.i IS NOT NULL OR NOT EXISTS (SELECT FROM way x WHERE x.i = l.i));
END;
COMMENT ON FUNCTION stepadv_internal.report_tree_folded(text) IS 'part of stepadv-report: Graphviz text of a tree, in which edges that differ in their action alone are one, and a state that all visits pass alike is no node of its own';

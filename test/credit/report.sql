-- report.sql: the results of credit.run(), as the tables of docs/results/credit.md.  A view
-- for each table has its lines, in the order of n.

-- Means over the problems, all with the same weight, and standard errors from the
-- sampling of groups.
CREATE VIEW credit.overall AS
SELECT m.n, r.method, r.states, r.size, avg(r.rank) AS rank, sqrt(sum(r.rank_error ^ 2)) / count(*) AS rank_error,
	avg(r.signs_right::float8 / nullif(r.signs, 0)) AS sign, avg(r.slope) AS slope, avg(r.bias) AS bias, avg(r.variance) AS variance,
	sum(r.groups) AS groups, sum(r.steps) AS steps
FROM credit.results r JOIN credit.methods m USING (method)
GROUP BY m.n, r.method, r.states, r.size;

-- .78, -.05, 1.00
CREATE FUNCTION credit.short(x float8, digits integer DEFAULT 2) RETURNS text
LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN x IS NULL THEN '–' ELSE regexp_replace(round(x::numeric, digits)::text, '^(-?)0\.', '\1.') END $$;

CREATE FUNCTION credit.table_line(VARIADIC cells text[]) RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT '| ' || array_to_string(cells, ' | ', '–') || ' |' $$;

-- The best value of a column in bold.
CREATE FUNCTION credit.bold(cell text, best boolean) RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN best THEN '**' || cell || '**' ELSE cell END $$;

CREATE VIEW credit.by_size AS
SELECT 0 AS n, credit.table_line(VARIADIC ARRAY['method'] || array_agg(size::text ORDER BY size)) || E'\n'
	|| credit.table_line(VARIADIC ARRAY['---'] || array_agg('---:'::text)) AS line
FROM (SELECT DISTINCT size FROM credit.overall WHERE states = 'exact') s
UNION ALL
SELECT n, credit.table_line(VARIADIC ARRAY[method] || array_agg(credit.bold(credit.short(rank), best) || ' / ' || credit.short(sign) ORDER BY size))
FROM (SELECT o.*, rank = max(rank) FILTER (WHERE m.pool = 1) OVER (PARTITION BY o.size) AS best
	FROM credit.overall o JOIN credit.methods m USING (method) WHERE states = 'exact') o
GROUP BY n, method;

-- Problems sorted by kind, and the mean over the kinds, all with the same weight.
CREATE VIEW credit.by_problem AS
WITH place AS (SELECT problem, kind, row_number() OVER (ORDER BY kind, problem) AS i FROM credit.problems),
r AS (
	SELECT r.method, m.n, m.pool, p.kind, p.i, r.rank, r.signs_right::float8 / nullif(r.signs, 0) AS sign
	FROM credit.results r JOIN credit.methods m USING (method) JOIN place p USING (problem) WHERE r.states = 'exact' AND r.size = 8
),
kinds AS (
	SELECT method, avg(rank) AS rank, avg(sign) AS sign
	FROM (SELECT method, kind, avg(rank) AS rank, avg(sign) AS sign FROM r GROUP BY method, kind) k GROUP BY method
)
SELECT 0 AS n, credit.table_line(VARIADIC ARRAY['method'] || array_agg(kind || ': ' || problem ORDER BY i) || ARRAY['by kind']) || E'\n'
	|| credit.table_line(VARIADIC ARRAY['---', '---:'] || array_agg('---:'::text)) AS line
FROM place
UNION ALL
SELECT n, credit.table_line(VARIADIC ARRAY[method] || array_agg(credit.bold(credit.short(rank), best) ORDER BY i) || ARRAY[min(credit.short(k_rank) || ' / ' || credit.short(k_sign))])
FROM (SELECT r.*, rank = max(rank) FILTER (WHERE pool = 1) OVER (PARTITION BY i) AS best, k.k_rank, k.k_sign
	FROM r JOIN (SELECT method, rank AS k_rank, sign AS k_sign FROM kinds) k USING (method)) r
GROUP BY n, method;

CREATE VIEW credit.by_states AS
SELECT 0 AS n, E'| method | exact, 8 | hidden, 8 | finer, 8 | exact, 16 | hidden, 16 | finer, 16 |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |' AS line
UNION ALL
SELECT n, credit.table_line(VARIADIC ARRAY[method] || array_agg(credit.bold(credit.short(rank), best) || ' / ' || credit.short(sign)
	ORDER BY size, array_position(ARRAY['exact', 'hidden', 'finer'], states)))
FROM (SELECT o.*, rank = max(rank) FILTER (WHERE m.pool = 1) OVER (PARTITION BY o.states, o.size) AS best
	FROM credit.overall o JOIN credit.methods m USING (method) WHERE size IN (8, 16)) o
GROUP BY n, method;

-- Pools have no bias and variance: there is only one pool of a size.
CREATE VIEW credit.by_error AS
SELECT 0 AS n, E'| method | rank, 8 | slope, 8 | bias, 8 | variance, 8 | rank, 64 | slope, 64 | bias, 64 | variance, 64 |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |' AS line
UNION ALL
SELECT n, credit.table_line(VARIADIC ARRAY[method] || string_to_array(string_agg(concat_ws('|', credit.short(rank) || ' ± ' || credit.short(rank_error, 3), credit.short(slope),
	credit.short(CASE WHEN pool = 1 THEN bias END), credit.short(CASE WHEN pool = 1 THEN variance END)), '|' ORDER BY size), '|'))
FROM credit.overall JOIN credit.methods USING (n, method) WHERE states = 'exact' AND size IN (8, 64)
GROUP BY n, method;

-- Over all problems; in brackets the same by stderr, of pairs that have one.
CREATE VIEW credit.by_visits AS
SELECT 0 AS n, E'| method | visits: 1 | 2–3 | 4–7 | 8–15 | 16 and more |\n| --- | ---: | ---: | ---: | ---: | ---: |' AS line
UNION ALL
SELECT n, credit.table_line(VARIADIC ARRAY[method] || array_agg(credit.short(covered) || coalesce(' (' || credit.short(stderr_covered) || ')', '') ORDER BY v))
FROM (SELECT m.n, m.method, array_position(ARRAY['1', '2-3', '4-7', '8-15', '16+'], visits) AS v,
		sum(covered)::float8 / sum(cases) AS covered, sum(stderr_covered)::float8 / nullif(sum(with_stderr), 0) AS stderr_covered
	FROM credit.coverages c JOIN credit.methods m USING (method) WHERE size IN (8, 64) GROUP BY 1, 2, 3) c
GROUP BY n, method;

-- The problem and size with the least coverage, and with the largest, of those with 100 pairs or more.
CREATE VIEW credit.by_visits_range AS
SELECT 0 AS n, E'| method | visits: 1 | 2–3 | 4–7 | 8–15 | 16 and more |\n| --- | ---: | ---: | ---: | ---: | ---: |' AS line
UNION ALL
SELECT n, credit.table_line(VARIADIC ARRAY[method] || array_agg(credit.short(least) || '–' || credit.short(most) ORDER BY v))
FROM (SELECT m.n, m.method, array_position(ARRAY['1', '2-3', '4-7', '8-15', '16+'], visits) AS v,
		min(covered::float8 / cases) FILTER (WHERE cases >= 100) AS least, max(covered::float8 / cases) FILTER (WHERE cases >= 100) AS most
	FROM credit.coverages c JOIN credit.methods m USING (method) WHERE size IN (8, 64) GROUP BY 1, 2, 3) c
GROUP BY n, method;

-- In how many cells (problem, group size and visits) the coverage is below .90 or above .98.
-- Five small problems in groups of 8 and 16 are counted separately.  In brackets: without
-- pairs whose q is the truth.
CREATE VIEW credit.by_cells AS
SELECT 0 AS n, E'| method | five problems, groups of 8 and 16: cells | below .90 | above .98 | least–most | all others: cells | below .90 | above .98 | least–most |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |' AS line
UNION ALL
SELECT n, credit.table_line(VARIADIC ARRAY[method] || string_to_array(string_agg(concat_ws('|', cells, low, format('%s (%s)', high, rest_high), credit.short(least) || '–' || credit.short(most)), '|' ORDER BY small DESC), '|'))
FROM (SELECT m.n, m.method, c.problem IN ('rooms', 'more rooms', 'key and door', 'two keys', 'edit, test, submit') AND c.size < 64 AS small, count(*) AS cells,
		count(*) FILTER (WHERE covered < 0.9 * cases) AS low, count(*) FILTER (WHERE covered > 0.98 * cases) AS high,
		count(*) FILTER (WHERE covered - exact > 0.98 * (cases - exact)) AS rest_high, min(covered::float8 / cases) AS least, max(covered::float8 / cases) AS most
	FROM credit.coverages c JOIN credit.methods m USING (method) WHERE c.size IN (8, 16, 64) AND c.cases >= 50 GROUP BY 1, 2, 3) c
GROUP BY n, method;

-- How often the sign is right; in brackets the share of steps with this confidence.
CREATE VIEW credit.by_confidence AS
SELECT 0 AS n, E'| method | below .6 | .6–.7 | .7–.8 | .8–.9 | .9–.95 | .95–.99 | above .99 |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |' AS line
UNION ALL
SELECT n, credit.table_line(VARIADIC ARRAY[method] || array_agg(CASE WHEN steps > 0 THEN format('%s (%s)', credit.short(steps_right / steps), credit.short(steps / all_steps)) END ORDER BY confidence))
FROM (SELECT m.n, m.method, b.confidence, sum(c.steps)::float8 AS steps, sum(c.steps_right)::float8 AS steps_right, sum(sum(c.steps)) OVER (PARTITION BY m.n) AS all_steps
	FROM credit.methods m CROSS JOIN unnest('{0.5,0.6,0.7,0.8,0.9,0.95,0.99}'::float8[]) b(confidence)
	LEFT JOIN credit.calibrations c ON c.method = m.method AND c.confidence = b.confidence AND c.size IN (8, 64)
	WHERE m.gamma IS NOT NULL AND m.pool = 1 GROUP BY 1, 2, 3) c
GROUP BY n, method;

CREATE VIEW credit.by_name AS
SELECT 0 AS n, E'| problem | kind | states | success | steps | spread of A | alone | |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |' AS line
UNION ALL
SELECT row_number() OVER (ORDER BY p.problem), credit.table_line(p.problem, p.kind, t.states::text, credit.short(s.v), credit.short(r.steps::float8 / r.rollouts, 1),
	credit.short(t.spread, 3), credit.short(r.alone), p.about)
FROM credit.problems p
JOIN (SELECT problem, count(DISTINCT state) AS states, sqrt(sum(probability * advantage ^ 2) / count(DISTINCT state)) AS spread FROM credit.truth WHERE gamma = 1 GROUP BY problem) t USING (problem)
JOIN LATERAL (SELECT v FROM credit.truth t WHERE t.problem = p.problem AND t.state = p.start AND gamma = 1 LIMIT 1) s ON true
JOIN LATERAL (
	-- alone: the share of the steps in whose state their group of 8 tried one action only
	SELECT count(*) AS steps, count(DISTINCT rollout_id) AS rollouts, avg((least_action = most_action)::integer) AS alone
	FROM (SELECT s.rollout_id, min(action_hash) OVER w AS least_action, max(action_hash) OVER w AS most_action
		FROM credit.simulate(p.problem, 2400) s WINDOW w AS (PARTITION BY (s.rollout_id - 1) / 8, s.state_hash)) s) r ON true;

-- The picture: rank correlation by group size, a line per method that has a colour.
CREATE VIEW credit.plot AS
WITH drawn AS (
	SELECT o.method, o.size, o.rank, 70 + 120 * log(2, o.size / 4.0)::float8 AS x, 20 + 360 * (1 - greatest(o.rank, 0)) AS y,
		m.colour, o.size = max(o.size) OVER () AS last
	FROM credit.overall o JOIN credit.methods m USING (method) WHERE o.states = 'exact' AND m.colour IS NOT NULL
),
legend AS (
	-- At the end of the line, or lower if the labels above need the space.
	SELECT method, colour, y, greatest(max(y - 20 * i) OVER (ORDER BY i) + 20 * i, 20) AS at
	FROM (SELECT *, row_number() OVER (ORDER BY y, method) AS i FROM drawn WHERE last) l
)
SELECT E'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 430" font-family="sans-serif" font-size="13">\n'
	|| E'<rect width="860" height="430" fill="white"/>\n'
	|| (SELECT string_agg(format(E'<path d="M70 %1$s H550" stroke="#ddd"/><text x="60" y="%2$s" text-anchor="end">%3$s</text>\n', 20 + 72 * i, 24 + 72 * i, credit.short(1 - i * 0.2, 1)), '' ORDER BY i)
		FROM generate_series(0, 5) i)
	|| (SELECT string_agg(format(E'<text x="%s" y="398" text-anchor="middle">%s</text>\n', round(x), size), '' ORDER BY size) FROM (SELECT DISTINCT x, size FROM drawn) s)
	|| E'<text x="310" y="420" text-anchor="middle">rollouts in a group</text>\n'
	|| (SELECT string_agg(line, '' ORDER BY method) FROM (
		SELECT method, format(E'<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>\n', min(colour),
			string_agg(format('%s,%s', round(x), round(y::numeric, 1)), ' ' ORDER BY size)) AS line FROM drawn GROUP BY method) l)
	|| (SELECT string_agg(format(E'<path d="M552 %s L574 %s" stroke="%s" stroke-width="1" fill="none"/><text x="580" y="%s" fill="%s">%s</text>\n',
		round(y::numeric, 1), round(at::numeric, 1), colour, round(at::numeric + 4, 1), colour, method), '' ORDER BY at) FROM legend)
	|| '</svg>' AS line;

-- ----------
-- The results of credit.run_resampling(), as the tables of docs/results/resampling.md
-- ----------
CREATE VIEW credit.by_drawn_size AS
SELECT 0 AS n, credit.table_line(VARIADIC ARRAY['method'] || array_agg(size::text ORDER BY size)) || E'\n'
	|| credit.table_line(VARIADIC ARRAY['---'] || array_agg('---:'::text)) AS line
FROM (SELECT DISTINCT size FROM credit.agreements) s
UNION ALL
SELECT n, credit.table_line(VARIADIC ARRAY[method] || array_agg(credit.short(agreement) || ' / ' || credit.short(rank) ORDER BY size))
FROM (SELECT m.n, m.method, a.size, avg(a.agreement) AS agreement, avg(a.rank) AS rank FROM credit.agreements a JOIN credit.methods m USING (method) GROUP BY 1, 2, 3) a
GROUP BY n, method;

CREATE VIEW credit.by_feedback AS
SELECT 0 AS n, credit.table_line(VARIADIC ARRAY['method'] || array_agg(size::text ORDER BY size)) || E'\n'
	|| credit.table_line(VARIADIC ARRAY['---'] || array_agg('---:'::text)) AS line
FROM (SELECT DISTINCT size FROM credit.feedbacks) s
UNION ALL
SELECT n, credit.table_line(VARIADIC ARRAY[method] || array_agg(credit.short(within) ORDER BY size))
FROM (SELECT m.n, m.method, f.size, avg(f.within) AS within FROM credit.feedbacks f JOIN credit.methods m USING (method) GROUP BY 1, 2, 3) f
GROUP BY n, method;

CREATE VIEW credit.by_stability AS
SELECT 0 AS n, E'| method | below .7 | .7 to .9 | .9 to 1 | all | interval holds the truth |\n| --- | ---: | ---: | ---: | ---: | ---: |' AS line
UNION ALL
SELECT n, credit.table_line(VARIADIC ARRAY[method] || array_agg(format('%s (%s)', credit.short(signs_right::float8 / nullif(signs, 0)), credit.short(steps::float8 / all_steps)) ORDER BY bin)
	|| ARRAY[credit.short(min(all_covered)::float8 / min(all_steps))])
FROM (SELECT m.n, m.method, greatest(s.stability, 1) AS bin, sum(s.steps) AS steps, sum(s.signs) AS signs, sum(s.signs_right) AS signs_right,
		sum(sum(s.steps)) OVER w AS all_steps, sum(sum(s.covered)) OVER w AS all_covered
	FROM credit.stabilities s JOIN credit.methods m USING (method) GROUP BY 1, 2, 3 WINDOW w AS (PARTITION BY m.n)) s
GROUP BY n, method;

-- Scores by left-out rollouts, to compare with the truth: means over the problems, all
-- with the same weight, and standard errors from the sampling of groups.
CREATE VIEW credit.checked AS
SELECT m.n, c.method, c.states, c.size, count(*) AS problems, avg(c.coverage) AS coverage,
	avg(c.by_chance) AS by_chance, avg(c.score) AS score, sqrt(sum(c.error ^ 2)) / count(*) AS score_error
FROM (SELECT x.*, c.* FROM (SELECT problem, method, states, size, array_agg(sums) AS s FROM credit.checks WHERE sums IS NOT NULL GROUP BY problem, method, states, size) x,
		stepadv.credit_check(x.s) c) c
JOIN credit.methods m USING (method)
GROUP BY m.n, c.method, c.states, c.size;

CREATE FUNCTION credit.with_error(x float8, error float8) RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT credit.short(x, 3) || ' ± ' || credit.short(error, 3) $$;

CREATE VIEW credit.by_check AS
SELECT 0 AS n, E'| method | true rank | score | by chance |\n| --- | ---: | ---: | ---: |' AS line
UNION ALL
SELECT c.n, credit.table_line(c.method, credit.short(o.rank), credit.with_error(c.score, c.score_error), credit.short(c.by_chance, 3))
FROM credit.checked c JOIN credit.overall o USING (method, states, size) WHERE states = 'exact' AND size = 8;

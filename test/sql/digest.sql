-- The digest of a group, and of many: against plain SQL over the same rows.
\set VERBOSITY terse
CREATE TEMP TABLE steps AS
SELECT (g * 1000 + r * 20 + n)::bigint AS id, g, r::bigint AS r, n, (n % 3 + r % 2)::bigint AS state, ((n * r) % 4)::bigint AS action,
	CASE WHEN n = 4 + r % 3 AND r <> 7 THEN ((g * r) % 3)::float8 END AS reward, CASE WHEN (g + n) % 5 > 0 THEN 'tool ' || (r + n) % 3 END AS tool,
	CASE WHEN (g + r + n) % 4 > 0 THEN (r + n) % 3 > 0 END AS ok, (r * g) % 2 = 0 AS grounded,
	CASE WHEN (g * r) % 5 <> 2 OR n <> 3 THEN (10 * n + r)::integer END AS tokens
FROM generate_series(1, 30) g, generate_series(1, 1 + g % 7) r, LATERAL generate_series(0, 4 + r % 3) n;
CREATE TEMP TABLE groups AS
SELECT g, g % 4 AS version, stepadv.rollout_agg(id, r, n, state, action, reward) AS rollouts,
	stepadv_internal.labelled_calls(id, 0, tool, ok, grounded, tokens) AS calls FROM steps GROUP BY g;
-- Advantages of two methods, one of which has none in odd groups, beside each other.
CREATE TEMP TABLE advantages AS
SELECT v.g, v.version, f.step_id, f.rollout_id, f.success, f.a, CASE WHEN v.g % 2 = 0 THEN f.b END AS b, s.tool, row_number() OVER (PARTITION BY v.g ORDER BY f.rollout_id, f.step_no) AS place
FROM groups v CROSS JOIN LATERAL (SELECT o.step_id, o.rollout_id, o.step_no, o.success, x.advantage AS a, y.advantage AS b FROM stepadv.outcomes(v.rollouts) o
	JOIN stepadv.grpo(v.rollouts) x USING (step_id) JOIN stepadv.rtmc(v.rollouts) y USING (step_id)) f JOIN steps s ON s.id = f.step_id;
CREATE TEMP TABLE digests AS
SELECT v.g, v.version, stepadv.group_digest(v.rollouts, '{first,second}', (SELECT array_agg(ARRAY[a.a, a.b] ORDER BY a.place) FROM advantages a WHERE a.g = v.g),
	measures => '{steps,repeats,cost,response_tokens,seconds}', measured_rollouts => (SELECT array_agg(r.rollout_id ORDER BY r.rollout_id DESC) FROM stepadv.rollouts(v.rollouts) r) || 1000::bigint,
	measured => (SELECT array_agg(ARRAY[nullif(r.rollout_id * v.g, 6) / 7.0::float8] ORDER BY r.rollout_id DESC) FROM stepadv.rollouts(v.rollouts) r) || ARRAY[1e6::float8],
	calls => v.calls, calls_by_step => true, horizon_width => 2) AS digest FROM groups v;
CREATE TEMP TABLE of_all AS SELECT version, stepadv.rollup(digest) AS digest FROM digests GROUP BY GROUPING SETS ((), (version));

-- Counts: a row where something differs.
SELECT o.version, c.* FROM of_all o CROSS JOIN LATERAL stepadv.digest_counts(o.digest) c
JOIN LATERAL (SELECT count(*) AS n_groups, count(*) FILTER (WHERE s.n_judged > 0) AS n_judged_groups, count(*) FILTER (WHERE NOT s.uniform) AS n_informative_groups,
		sum(s.n_rollouts) AS n_rollouts, sum(s.n_judged) AS n_judged, sum(s.success_rate * s.n_judged) AS n_successes, sum(s.n_steps) AS n_steps,
		sum(j.n) AS n_judged_steps, sum(s.shared_step_share * j.n) AS n_shared_steps, sum(s.mean_return * s.n_judged) AS return_sum
	FROM groups v CROSS JOIN LATERAL stepadv.group_summary(v.rollouts) s CROSS JOIN LATERAL (SELECT sum(r.n_steps) FILTER (WHERE r.judged) AS n FROM stepadv.rollouts(v.rollouts) r) j
	WHERE v.version = o.version OR o.version IS NULL) e
ON (c.n_groups, c.n_judged_groups, c.n_informative_groups, c.n_rollouts, c.n_judged, c.n_steps, c.n_judged_steps) <> (e.n_groups, e.n_judged_groups, e.n_informative_groups, e.n_rollouts, e.n_judged, e.n_steps, e.n_judged_steps)
	OR greatest(abs(c.n_successes - e.n_successes), abs(c.n_shared_steps - e.n_shared_steps), abs(c.return_sum - e.return_sum)) > 1e-9 OR c.n_truncated <> 0 OR c.reward_sums IS NOT NULL;
SELECT count(*), sum(n_rollouts), sum(n_judged), sum(n_steps) FROM of_all CROSS JOIN LATERAL stepadv.digest_counts(digest) WHERE version IS NOT NULL;

-- Advantages.
CREATE TEMP VIEW long AS SELECT g, version, rollout_id, success, tool, method, advantage FROM advantages CROSS JOIN LATERAL (VALUES ('first', a), ('second', b)) m(method, advantage);
SELECT o.version, a.method, a, e FROM of_all o CROSS JOIN LATERAL stepadv.digest_advantages(o.digest) a
FULL JOIN (SELECT version, method, count(advantage) AS n, avg(abs(advantage)) AS abs, avg(advantage) AS mean, stddev(advantage) AS sd, min(advantage) AS least, max(advantage) AS greatest,
	count(*) FILTER (WHERE advantage > 0) AS positive, count(*) FILTER (WHERE advantage < 0) AS negative
	FROM long WHERE advantage IS NOT NULL GROUP BY GROUPING SETS ((version, method), (method))) e
ON e.version IS NOT DISTINCT FROM o.version AND e.method = a.method
WHERE ((a.n_steps, a.min_advantage, a.max_advantage, a.n_positive, a.n_negative) = (e.n, e.least, e.greatest, e.positive, e.negative)
	AND greatest(abs(a.mean_abs_advantage - e.abs), abs(a.mean_advantage - e.mean), abs(a.sd_advantage - e.sd)) < 1e-12) IS NOT TRUE;
SELECT o.version, h, e FROM of_all o CROSS JOIN LATERAL stepadv.digest_histogram(o.digest) h
FULL JOIN (SELECT version, method, (floor(advantage * 20) + 0.5) / 20 AS bin, count(*) AS n FROM long WHERE advantage IS NOT NULL GROUP BY GROUPING SETS ((version, method, 3), (method, 3))) e
ON e.version IS NOT DISTINCT FROM o.version AND (e.method, e.bin) = (h.method, h.bin) WHERE h.n_steps IS DISTINCT FROM e.n;

-- Signs, in either order; and how far apart.
SELECT o.version, s, e FROM of_all o CROSS JOIN LATERAL stepadv.digest_quadrants(o.digest) s
FULL JOIN (SELECT p.version, m.method_a, m.method_b, p.success, m.quadrant, count(*) AS n
	FROM advantages p CROSS JOIN LATERAL (SELECT (ARRAY['-', '0', '+'])[sign(p.a) + 2] AS a, (ARRAY['-', '0', '+'])[sign(p.b) + 2] AS b) q
	CROSS JOIN LATERAL (VALUES ('first', 'second', q.a || q.b), ('second', 'first', q.b || q.a)) m(method_a, method_b, quadrant)
	GROUP BY GROUPING SETS ((p.version, 2, 3, 4, 5), (2, 3, 4, 5))) e
ON e.version IS NOT DISTINCT FROM o.version AND (e.method_a, e.method_b) = (s.method_a, s.method_b) AND e.success IS NOT DISTINCT FROM s.success AND e.quadrant IS NOT DISTINCT FROM s.quadrant
WHERE s.n_steps IS DISTINCT FROM e.n;
SELECT sum(share), count(DISTINCT (method_a, success)) FROM of_all CROSS JOIN LATERAL stepadv.digest_quadrants(digest) WHERE version IS NULL;
SELECT d.g, s, e FROM digests d CROSS JOIN LATERAL stepadv.digest_differences(d.digest) s
FULL JOIN (SELECT g, max(abs(a / sa - b / sb)) AS apart FROM (SELECT *, sqrt(avg(a * a) OVER w) AS sa, sqrt(avg(b * b) OVER w) AS sb FROM advantages WINDOW w AS (PARTITION BY g)) a WHERE a * b < 0 AND sa > 1e-9 AND sb > 1e-9 GROUP BY g) e ON e.g = d.g
WHERE (abs(s.max_difference - e.apart) < 1e-12) IS NOT TRUE;

-- Calls.
SELECT o.version, c, e FROM of_all o CROSS JOIN LATERAL stepadv.digest_calls(o.digest) c
FULL JOIN (SELECT s.g % 4 AS version, s.tool, count(*) AS n, count(*) FILTER (WHERE NOT s.ok) AS errors, avg((NOT s.ok)::integer) AS error_share, avg(s.grounded::integer) AS grounded_share, count(*) FILTER (WHERE s.again) AS repeats
	FROM (SELECT *, row_number() OVER (PARTITION BY g, r, state, action ORDER BY n) > 1 AS again FROM steps) s GROUP BY GROUPING SETS ((1, 2), (2))) e
ON coalesce(e.version, -1) = coalesce(o.version, -1) AND coalesce(e.tool, '') = coalesce(c.category, '')
WHERE ((c.n_calls, c.n_errors, c.n_repeats) = (e.n, e.errors, e.repeats) AND abs(c.error_share - e.error_share) + abs(c.grounded_share - e.grounded_share) + abs(c.repeat_share - e.repeats / e.n::float8) < 1e-12) IS NOT TRUE;
SELECT o.version, c, e FROM of_all o CROSS JOIN LATERAL stepadv.digest_call_advantages(o.digest) c
FULL JOIN (SELECT version, tool, method, count(advantage) AS n, avg(advantage) AS mean, avg(abs(advantage)) AS abs, count(*) FILTER (WHERE advantage > 0) AS positive, count(*) FILTER (WHERE advantage < 0) AS negative
	FROM long GROUP BY GROUPING SETS ((version, tool, method), (tool, method)) HAVING count(advantage) > 0) e
ON e.version IS NOT DISTINCT FROM o.version AND e.method = c.method AND e.tool IS NOT DISTINCT FROM c.category
WHERE ((c.n_steps, c.n_positive, c.n_negative) = (e.n, e.positive, e.negative) AND abs(c.mean_advantage - e.mean) + abs(c.mean_abs_advantage - e.abs) < 1e-12) IS NOT TRUE;

-- Rollouts.
CREATE TEMP TABLE shapes AS SELECT v.g, v.version, a.*, a.n_steps - d.distance AS excess, nullif(a.rollout_id * v.g, 6) / 7.0::float8 AS seconds
FROM groups v CROSS JOIN LATERAL (SELECT r.rollout_id, r.n_steps, CASE WHEN r.judged THEN r.return > 0 END AS success, r.n_steps::float8 AS cost,
	(SELECT count(*) - count(DISTINCT (s.state, s.action)) FROM steps s WHERE (s.g, s.r) = (v.g, r.rollout_id)) AS n_repeats,
	(SELECT CASE WHEN count(s.tokens) = count(*) THEN sum(s.tokens) END FROM steps s WHERE (s.g, s.r) = (v.g, r.rollout_id)) AS n_tokens,
	(SELECT d.distance FROM stepadv.graphgpo(v.rollouts) d WHERE d.rollout_id = r.rollout_id ORDER BY d.step_no LIMIT 1) AS distance FROM stepadv.rollouts(v.rollouts) r) a
CROSS JOIN LATERAL (SELECT a.distance) d;
SELECT o.version, m, e FROM of_all o CROSS JOIN LATERAL stepadv.digest_measures(o.digest) m
FULL JOIN (SELECT s.version, m.measure, count(m.value) AS n, avg(m.value) AS mean, percentile_cont(0.5::float8) WITHIN GROUP (ORDER BY m.value) AS p50, percentile_cont(0.95::float8) WITHIN GROUP (ORDER BY m.value) AS p95,
		sum(m.value) FILTER (WHERE s.success IS NOT NULL) / nullif(count(m.value) FILTER (WHERE s.success), 0) AS per_success
	FROM shapes s CROSS JOIN LATERAL (VALUES ('steps', s.n_steps::float8), ('repeats', s.n_repeats), ('cost', s.cost), ('response_tokens', s.n_tokens), ('seconds', s.seconds)) m(measure, value) GROUP BY GROUPING SETS ((1, 2), (2))) e
ON e.version IS NOT DISTINCT FROM o.version AND e.measure = m.measure
WHERE (m.n_rollouts = e.n AND abs(m.mean - e.mean) + abs(m.per_success - e.per_success) < 1e-12 AND abs(m.p50 - e.p50) <= e.p50 / 8192 AND abs(m.p95 - e.p95) <= e.p95 / 8192
	AND (m.measure IN ('seconds', 'response_tokens') OR (m.p50, m.p95) = (e.p50, e.p95))) IS NOT TRUE;
SELECT o.version, h, e FROM of_all o CROSS JOIN LATERAL stepadv.digest_horizons(o.digest) h
FULL JOIN (SELECT version, floor(distance / 2) * 2 AS horizon, count(*) AS n, count(*) FILTER (WHERE success) AS successes, avg(n_steps) AS steps, avg(excess) FILTER (WHERE success) AS excess,
		percentile_cont(0.5::float8) WITHIN GROUP (ORDER BY excess) FILTER (WHERE success) AS p50
	FROM shapes WHERE success IS NOT NULL AND n_steps > 0 GROUP BY GROUPING SETS ((1, 2), (2))) e
ON coalesce(e.version, -1) = coalesce(o.version, -1) AND coalesce(e.horizon, -1) = coalesce(h.horizon, -1)
WHERE ((h.n_rollouts, h.n_successes) = (e.n, e.successes) AND abs(h.success_rate - e.successes / e.n::float8) + abs(h.mean_steps - e.steps) < 1e-12
	AND (h.mean_excess IS NULL AND e.excess IS NULL OR abs(h.mean_excess - e.excess) + abs(h.p50_excess - e.p50) < 1e-12)) IS NOT TRUE;

-- In any order, in parts, through text and bytes, and by workers: the same bytes.
SELECT count(DISTINCT d::text) FROM (
	SELECT stepadv.rollup(digest) AS d FROM digests
	UNION ALL SELECT stepadv.rollup(digest ORDER BY g DESC) FROM digests
	UNION ALL SELECT stepadv.rollup(digest::text::stepadv.group_digest) FROM digests
	UNION ALL SELECT stepadv.rollup(digest) FROM of_all WHERE version IS NOT NULL) x;
CREATE TABLE kept_digests AS SELECT * FROM digests;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
SELECT stepadv.rollup(k.digest)::text = (SELECT digest::text FROM of_all WHERE version IS NULL) AS same FROM kept_digests k;
RESET ALL;
\set VERBOSITY terse
SELECT stepadv.rollup(digest) IS NULL AS nothing FROM digests WHERE false;
-- A part of it says what all of it says, and of others that they are not there.
SELECT count(*) FROM (SELECT a.* FROM of_all o CROSS JOIN LATERAL stepadv.digest_histogram(o.digest) a WHERE version IS NULL
	EXCEPT SELECT a.* FROM (SELECT stepadv.rollup(digest, 'histogram') AS digest FROM digests) o CROSS JOIN LATERAL stepadv.digest_histogram(o.digest) a) x;
SELECT (stepadv.digest_counts(stepadv.rollup(digest, 'counts'))).n_steps FROM digests;
SELECT a.* FROM (SELECT stepadv.rollup(digest, 'counts') AS digest FROM digests) o CROSS JOIN LATERAL stepadv.digest_advantages(o.digest) a;
SELECT stepadv.rollup(digest, 'all') FROM digests;
SELECT stepadv.rollup(digest) FROM (SELECT digest FROM digests WHERE g = 1 UNION ALL SELECT stepadv.group_digest(rollouts, '{}', NULL) FROM groups WHERE g = 1) x;

-- Reward components, of judged rollouts; a group without any has none of them.
SELECT (stepadv.digest_counts(stepadv.rollup(stepadv.group_digest(g, '{}', NULL)))).reward_sums FROM (
	SELECT stepadv.rollout_agg(i, i / 2, i::integer, i, i, NULL::float8, i <> 3, NULL::bigint, NULL::float8, NULL::float8, NULL::float8, NULL::integer, ARRAY[i, 0.5 * i], NULL, NULL) AS g FROM generate_series(1::bigint, 4) i
	UNION ALL SELECT stepadv.rollout_agg(1::bigint, 1::bigint, 1, 1::bigint, 1::bigint, 1::float8)) x;

-- What is no digest, and arguments that do not fit.
SELECT ''::stepadv.group_digest;
SELECT '\x01'::stepadv.group_digest;
SELECT '\x010300000000000000000000'::stepadv.group_digest;
SELECT 'nothing'::stepadv.group_digest;
SELECT ('\x02' || substr(digest::text, 5))::stepadv.group_digest FROM digests WHERE g = 1;
SELECT left(digest::text, -2)::stepadv.group_digest FROM digests WHERE g = 1;
SELECT (digest::text || '00')::stepadv.group_digest FROM digests WHERE g = 1;
-- Any byte changed is refused, or is another digest that all functions can read.
DO $$
DECLARE
	bytes CONSTANT text := (SELECT digest::text FROM digests WHERE g = 6);
	d stepadv.group_digest;
	n_refused integer := 0;
	n_read integer := 0;
BEGIN
	FOR i IN 3..length(bytes) LOOP
		BEGIN
			d := overlay(bytes PLACING CASE substr(bytes, i, 1) WHEN 'f' THEN '0' ELSE 'f' END FROM i FOR 1)::stepadv.group_digest;
			IF (SELECT stepadv.rollup(x.d) FROM (SELECT d) x)::text <> d::text THEN
				RAISE EXCEPTION 'byte %: merged with nothing it is another digest', i;
			END IF;
			PERFORM FROM stepadv.digest_counts(d);
			PERFORM FROM stepadv.digest_advantages(d), stepadv.digest_histogram(d), stepadv.digest_quadrants(d), stepadv.digest_differences(d);
			PERFORM FROM stepadv.digest_calls(d), stepadv.digest_call_advantages(d), stepadv.digest_measures(d), stepadv.digest_horizons(d);
			n_read := n_read + 1;
		EXCEPTION WHEN invalid_text_representation OR numeric_value_out_of_range THEN
			n_refused := n_refused + 1;
		END;
	END LOOP;
	IF n_refused = 0 OR n_read = 0 THEN
		RAISE EXCEPTION '% refused, % read', n_refused, n_read;
	END IF;
END $$;
SELECT stepadv.group_digest(NULL, '{}', NULL) IS NULL AS nothing;
SELECT stepadv.group_digest(rollouts, '{a,a}', NULL) FROM groups LIMIT 1;
SELECT stepadv.group_digest(rollouts, ARRAY[NULL], NULL) FROM groups LIMIT 1;
SELECT stepadv.group_digest(rollouts, NULL, NULL) FROM groups LIMIT 1;
SELECT stepadv.group_digest(rollouts, '{a}', NULL) FROM groups LIMIT 1;
SELECT stepadv.group_digest(rollouts, '{a}', '{1}') FROM groups LIMIT 1;
SELECT stepadv.group_digest(rollouts, '{a}', '{{1,2}}') FROM groups WHERE g = 1;
SELECT stepadv.group_digest(rollouts, '{a}', (SELECT array_agg(ARRAY['NaN'::float8]) FROM stepadv.grpo(rollouts))) FROM groups WHERE g = 1;
SELECT stepadv.group_digest(rollouts, '{}', NULL, measures => '{seconds}', measured_rollouts => '{1}') FROM groups WHERE g = 1;
SELECT stepadv.group_digest(rollouts, '{}', NULL, success_above => 'Infinity') FROM groups WHERE g = 1;
SELECT stepadv.group_digest(rollouts, '{}', NULL, horizon_width => 0) FROM groups WHERE g = 1;
SELECT stepadv.group_digest(rollouts, '{a}', (SELECT array_agg(ARRAY[1]) FROM stepadv.grpo(rollouts)), sign_threshold => NULL) FROM groups WHERE g = 1;
SELECT 'x'::stepadv_internal.labelled_calls;
SELECT calls FROM groups WHERE g = 1;
-- Numbers out of range say so where they are read, and only there.
SELECT (stepadv.digest_counts(d)).n_steps FROM (SELECT stepadv.group_digest(rollouts, '{a}', (SELECT array_agg(ARRAY[1.7e308]) FROM stepadv.grpo(rollouts))) AS d FROM groups WHERE g = 1) x;
SELECT a.* FROM (SELECT stepadv.group_digest(rollouts, '{a}', (SELECT array_agg(ARRAY[1.7e308]) FROM stepadv.grpo(rollouts))) AS d FROM groups WHERE g = 1) x, stepadv.digest_advantages(d) a;
-- An array with a row per row, beside array_agg of arrays: of none, of many, with all and with no NULLs.
SELECT count(*) AS n, count(m.m) AS n_arrays, count(*) FILTER (WHERE m.m IS DISTINCT FROM m.a OR m.one IS DISTINCT FROM m.a_one) AS n_wrong
FROM generate_series(0, 300, 3) n CROSS JOIN generate_series(0, 2) share
CROSS JOIN LATERAL (
	SELECT stepadv_internal.matrix_agg(x.a, x.b, x.c ORDER BY x.i DESC) AS m, array_agg(ARRAY[x.a, x.b, x.c] ORDER BY x.i DESC) AS a,
		stepadv_internal.matrix_agg(x.b) AS one, array_agg(ARRAY[x.b]) AS a_one
	FROM (SELECT i, CASE WHEN share > 0 THEN i / 7.0::float8 END AS a, CASE WHEN share > 1 OR share = 1 AND i % 3 = 0 THEN 'NaN'::float8 END AS b, nullif(i % 5, share)::float8 AS c
		FROM generate_series(1, n) i) x) m;
SELECT stepadv_internal.matrix_agg(1.5::float8, 1);
SELECT stepadv_internal.matrix_agg(VARIADIC ARRAY[1.5::float8]);
DROP TABLE kept_digests;

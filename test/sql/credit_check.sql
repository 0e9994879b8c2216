-- Rollouts left out one by one: which, the group without them, what methods said
-- against plain SQL, over groups, over attachments, and what is refused.
CREATE SCHEMA credit_check;
SET search_path = credit_check, stepadv, public;
SET jit = off;
SET client_min_messages = warning;
\set VERBOSITY terse

CREATE FUNCTION dice(VARIADIC what integer[]) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT ('x' || substr(md5(what::text), 1, 7))::bit(28)::integer $$;
-- 12 groups of 3 to 8 rollouts of 0 to 6 steps, 5 states (sometimes NULL) and 3 actions, costs and outcomes; of every eighth rollout nobody has judged anything.
CREATE TABLE steps AS
SELECT n, r, t, n * 10000 + r * 100 + t AS id, nullif(dice(n, r, t, 1) % 6, 5) AS s, nullif(dice(n, r, t, 2) % 13, 12) % 3 AS a,
	CASE WHEN dice(n, r) % 8 > 0 THEN -(dice(n, r, t, 3) % 3) / 10.0 + CASE WHEN t = dice(n, r, 4) % 7 - 1 THEN dice(n, r, 5) % 2 ELSE 0 END END::float8 AS reward,
	t / 2 AS turn
FROM generate_series(1, 12) n, LATERAL generate_series(1, 3 + n % 6) r, LATERAL generate_series(0, dice(n, r, 4) % 7 - 1) t;
INSERT INTO steps SELECT n, 9, NULL, NULL, NULL, NULL, n % 2, NULL FROM generate_series(1, 12, 2) n;	-- a rollout without steps
CREATE TABLE groups AS SELECT n, rollout_agg(id, r, t, s, a, reward, NULL, NULL, 0.5::float8, NULL, NULL, turn) AS g FROM steps GROUP BY n;
SELECT count(*) AS groups, sum(n_rollouts) AS rollouts, sum(n_judged) AS judged FROM groups, group_summary(g);

-- The group without a rollout is the group of the other rows, whatever columns it has.
SELECT count(*) AS rollouts, count(DISTINCT groups.n) AS groups, sum(x.differences) AS differences
FROM groups, rollouts(g) l, LATERAL (SELECT without_rollout(g, l.rollout_id) AS w, rollout_agg(id, r, t, s, a, reward, NULL, NULL, 0.5::float8, NULL, NULL, turn) AS o FROM steps WHERE steps.n = groups.n AND r <> l.rollout_id) y,
	LATERAL (SELECT (SELECT count(*) FROM (SELECT * FROM steps(w) EXCEPT SELECT * FROM steps(o)) d) + (SELECT count(*) FROM (SELECT * FROM steps(o) EXCEPT SELECT * FROM steps(w)) d)
		+ (SELECT count(*) FROM (SELECT * FROM rollouts(w) EXCEPT SELECT * FROM rollouts(o)) d) + (SELECT count(*) FROM (SELECT * FROM rollouts(o) EXCEPT SELECT * FROM rollouts(w)) d) AS differences) x;
CREATE TABLE full_group AS
SELECT rollout_agg(id, r, t, s, a, reward, success, s + 1, v, v / 2, 1 + v, turn, ARRAY[v, NULL, reward]) AS g,
	rollout_agg(id, r, t, s, a, reward, success, s + 1, v, v / 2, 1 + v, turn, ARRAY[v, NULL, reward]) FILTER (WHERE r <> 2) AS without_2
FROM (SELECT r * 10 + t AS id, r, t, t AS s, nullif(r, t) AS a, r::float8 AS reward, r = 1 AS success, r * 0.5 + coalesce(t, 7) AS v, t AS turn FROM generate_series(1, 3) r, unnest('{0,1,2,NULL}'::integer[]) t) x;
SELECT without_rollout(g, 2)::text = without_2::text AS same,
	without_rollout(by_turn(g), 2)::text = by_turn(without_2)::text AS by_turn, (SELECT count(*) FROM rollouts(without_rollout(without_rollout(without_rollout(g, 1), 2), 3))) AS left FROM full_group;
SELECT without_rollout(g, NULL), without_rollout(NULL, 1) FROM full_group;
SELECT without_rollout(g, 4) FROM full_group;

-- Left out: judged, with steps, and not alone.
SELECT count(*) AS chosen, bool_and(r.judged AND r.n_steps > 0) AS fit FROM groups, left_out(g) l JOIN rollouts(g) r USING (rollout_id);
SELECT sum(n) FILTER (WHERE n > 1) AS chosen FROM (SELECT count(*) AS n FROM groups, rollouts(g) r WHERE r.judged AND r.n_steps > 0 GROUP BY groups.n) x;
SELECT count(*) AS of_one FROM (SELECT rollout_agg(1, 1, 0, 1, 1, 1) AS g) x, left_out(g);
SELECT (SELECT array_agg(rollout_id) FROM left_out(g, 3)) AS three, (SELECT array_agg(rollout_id) FROM left_out(g, 3, 2)) AS others,
	(SELECT array_agg(rollout_id) FROM left_out(g, 4)) @> (SELECT array_agg(rollout_id) FROM left_out(g, 3)) AS nested
FROM (SELECT rollout_agg(i, i, 0, 1, 1, 1) AS g FROM generate_series(1, 40) i) x;
SELECT left_out(g, 0) FROM full_group;

-- By hand. State 1; rollouts 1 and 2 take action 1 and receive 1 and 0, rollouts 3 and 4 action 2, 0 and 0. Said is the return minus the mean of the others' returns.
-- Without 1: all receive 0, nothing is said. V = 0, y = 1.
-- Without 2: 2/3 of action 1, -1/3 of action 2 (twice); mean 0, of the ranks (1/3, -1/6) 0, of the signs -1/3. V = (1 + 1/2 * 1/3) / (3 + 1/2) = 1/3, y = -1/3.
-- Without 3, or 4: 1/6 of action 1 (twice), -1/3 of action 2; mean 0, of the ranks (1/6, -1/3) 0, of the signs 1/3. y = -1/3.
-- Products: said -2/9 + 1/9 + 1/9, ranks -1/9 + 1/9 + 1/9, signs -4/9 + 4/9 + 4/9. Squares: said 4/9 + 1/9 + 1/9, ranks 1/9 + 1/9 + 1/9, y 1 + 3/9; sizes of y: 2.
SELECT n_rollouts, n_steps, n_covered, coverage, correlation::numeric(15, 12), rank_correlation::numeric(15, 12) AS "1/6", sign_agreement::numeric(15, 12) AS "11/18", slope::numeric(15, 12), sums[6]::numeric(15, 12) AS "2/3", sums[8]::numeric(15, 12) AS "1/3"
FROM (SELECT rollout_agg(i, i, 0, 1, 1 + i / 3, (i = 1)::integer) AS g FROM generate_series(1, 4) i) x, credit_check(g, 'grpo', '{"normalise": "mean"}');

-- In plain SQL: what the method says without each rollout, by state and action; values of batch_td without it.
CREATE FUNCTION plainly(g rollout_group, method text, arguments text, gamma float8, OUT sums float8[]) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($q$
		WITH l AS (SELECT l.rollout_id AS out, without_rollout($1, l.rollout_id) AS others FROM rollouts($1) l
			WHERE judged AND n_steps > 0 AND (SELECT count(*) FROM rollouts($1) r WHERE judged AND n_steps > 0) > 1),
		said AS (
			SELECT l.out, s.state, s.action, avg(u.advantage) AS said, count(*) AS n FROM l, LATERAL %1$s(l.others%2$s) u JOIN steps($1) s USING (rollout_id, step_no)
			WHERE s.state IS NOT NULL AND s.action IS NOT NULL AND u.advantage IS NOT NULL GROUP BY 1, 2, 3),
		ranked AS (
			SELECT a.*, sign(round(said::numeric, 11))::float8 AS sign, (SELECT sum(CASE WHEN b.said < a.said - 1e-11 THEN b.n WHEN b.said < a.said + 1e-11 THEN b.n / 2.0 ELSE 0 END)
				-- Of steps whose state or action is NULL something is said too.
				FROM (SELECT b.said, b.n FROM said b WHERE b.out = a.out UNION ALL SELECT u.advantage, 1 FROM %1$s(l.others%2$s) u JOIN steps($1) s USING (rollout_id, step_no)
					WHERE (s.state IS NULL OR s.action IS NULL) AND u.advantage IS NOT NULL) b)
				/ (SELECT count(u.advantage) FROM %1$s(l.others%2$s) u) - 0.5 AS rank FROM said a JOIN l USING (out)),
		ranked_null AS (
			SELECT l.out, s.state, u.advantage AS said, sign(round(u.advantage::numeric, 11))::float8 AS sign, (SELECT sum(CASE WHEN b.said < u.advantage - 1e-11 THEN b.n WHEN b.said < u.advantage + 1e-11 THEN b.n / 2.0 ELSE 0 END)
				FROM (SELECT b.said, b.n FROM said b WHERE b.out = l.out UNION ALL SELECT w.advantage, 1 FROM %1$s(l.others%2$s) w JOIN steps($1) s USING (rollout_id, step_no)
					WHERE (s.state IS NULL OR s.action IS NULL) AND w.advantage IS NOT NULL) b)
				/ (SELECT count(w.advantage) FROM %1$s(l.others%2$s) w) - 0.5 AS rank
			FROM l, LATERAL %1$s(l.others%2$s) u JOIN steps($1) s USING (rollout_id, step_no) WHERE s.state IS NOT NULL AND s.action IS NULL AND u.advantage IS NOT NULL),
		state AS (
			SELECT out, state, sum(n * said) / sum(n) AS said, sum(n * rank) / sum(n) AS rank, sum(n * sign) / sum(n) AS sign
			FROM (SELECT out, state, n, said, rank, sign FROM ranked UNION ALL SELECT out, state, 1, said, rank, sign FROM ranked_null) x GROUP BY 1, 2),
		value AS (
			SELECT DISTINCT l.out, s.state, b.v FROM l, LATERAL batch_td(l.others, gamma => $2, prior => 0.5, prior_mean => 'start_value') b JOIN steps($1) s USING (rollout_id, step_no) WHERE s.state IS NOT NULL AND b.v IS NOT NULL),
		start AS (SELECT l.out, avg(b.return) AS v FROM l, LATERAL (SELECT DISTINCT ON (rollout_id) * FROM returns(l.others, gamma => $2) ORDER BY rollout_id, step_no) b WHERE b.return IS NOT NULL GROUP BY 1),
		pair AS (
			SELECT h.return - coalesce(v.v, m.v) AS y, p.said, p.rank, p.sign, p.said - t.said AS said_t, p.rank - t.rank AS rank_t, p.sign - t.sign AS sign_t
			FROM l JOIN returns($1, gamma => $2) h ON h.rollout_id = l.out JOIN steps($1) s USING (rollout_id, step_no) JOIN start m USING (out)
				LEFT JOIN value v ON v.out = l.out AND v.state = s.state LEFT JOIN ranked p ON p.out = l.out AND p.state = s.state AND p.action = s.action LEFT JOIN state t ON t.out = l.out AND t.state = s.state)
		SELECT ARRAY[(SELECT count(*) FROM l), count(*), count(said), sum(y * y), sum(abs(y)) FILTER (WHERE said IS NOT NULL), sum(said * said), sum(said_t * y), sum(rank * rank), sum(rank_t * y), sum(sign_t * y)] FROM pair$q$,
		method, arguments) INTO sums USING g, gamma;
END
$$;
CREATE TABLE checks AS
SELECT n, method, gamma, c.sums, plainly(g, method, arguments, gamma) AS plain
FROM groups, (VALUES ('batch_td', NULL, '', 1::float8), ('batch_td', '{"gamma": 0.5, "prior": 1}', ', gamma => 0.5, prior => 1', 0.7), ('rtmc', NULL, '', 1), ('grpo', NULL, '', 1),
	('rloo', NULL, '', 0.5), ('gigpo', NULL, '', 1), ('graphgpo', '{"discount": 0.5}', ', discount => 0.5', 1), ('gae', NULL, '', 1)) m(method, parameters, arguments, gamma),
	LATERAL credit_check(g, method, parameters::jsonb, gamma) c;
SELECT method, gamma, count(*) AS groups, max(s.n) AS numbers, bool_and(abs(s.sum - s.plain) <= 1e-9 * greatest(1, abs(s.plain))) AS same, max(abs(s.sum - s.plain)) < 1e-9 AS near
FROM checks, LATERAL (SELECT sum, coalesce(plain, 0) AS plain, count(*) OVER () AS n FROM unnest(sums, plain) u(sum, plain)) s GROUP BY 1, 2 ORDER BY 1, 2;

-- Over groups: sums are added, and an error is the spread of what each group does to the number.
CREATE FUNCTION moved(method text, number text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	e CONSTANT float8 := 1e-6;
	x float8;
BEGIN
	-- The derivative by the weight of a group, by differences: with a little more and a little less of it.
	EXECUTE format('SELECT sqrt(sum(d ^ 2) * count(*) / (count(*) - 1)) FROM (SELECT ((SELECT (credit_pool(weighted)).%1$I FROM (SELECT ARRAY(SELECT w * (CASE WHEN c.n = k.n THEN 1 + %3$s ELSE 1 END) FROM unnest(c.sums) w) AS weighted FROM checks c WHERE c.method = %2$L AND c.gamma = 1 AND c.sums IS NOT NULL) p)
		- (SELECT (credit_pool(weighted)).%1$I FROM (SELECT ARRAY(SELECT w * (CASE WHEN c.n = k.n THEN 1 - %3$s ELSE 1 END) FROM unnest(c.sums) w) AS weighted FROM checks c WHERE c.method = %2$L AND c.gamma = 1 AND c.sums IS NOT NULL) p)) / (2 * %3$s) AS d
		FROM checks k WHERE k.method = %2$L AND k.gamma = 1 AND k.sums[2] > 0) k', number, method, e) INTO x;
	RETURN x;
END
$$;
SELECT method, (p.c).groups, (p.c).rollouts = total[1] AS rollouts, (p.c).steps = total[2] AS steps, (p.c).covered = total[3] AS covered, abs((p.c).coverage - total[3] / total[2]) < 1e-12 AS coverage,
	abs((p.c).correlation - total[7] / sqrt(total[6] * total[4])) < 1e-12 AS correlation, abs((p.c).rank_correlation - total[9] / sqrt(total[8] * total[4])) < 1e-12 AS rank,
	abs((p.c).sign_agreement - (1 + total[10] / total[5]) / 2) < 1e-12 AS sign, abs((p.c).slope - total[7] / total[6]) < 1e-12 AS slope,
	abs((p.c).coverage_error - moved(method, 'coverage')) < 1e-6 AND abs((p.c).correlation_error - moved(method, 'correlation')) < 1e-6 AND abs((p.c).rank_correlation_error - moved(method, 'rank_correlation')) < 1e-6
	AND abs((p.c).sign_agreement_error - moved(method, 'sign_agreement')) < 1e-6 AND abs((p.c).slope_error / moved(method, 'slope') - 1) < 1e-6 AS errors
FROM (SELECT method, credit_pool(sums) AS c, ARRAY(SELECT sum(s) FROM checks k, unnest(k.sums) WITH ORDINALITY u(s, i) WHERE k.method = checks.method AND gamma = 1 GROUP BY i ORDER BY i) AS total
	FROM checks WHERE gamma = 1 GROUP BY method) p WHERE method <> 'gae' ORDER BY 1;
SELECT (credit_pool(sums)).* FROM checks WHERE false;
SELECT (c).groups, (c).slope IS NULL AS no_slope, (c).slope_error IS NULL AS no_error FROM (SELECT credit_pool(sums) AS c FROM (VALUES (NULL::float8[]), ('{2,3,0,1,0,0,0,0,0,0}'), ('{0,0,0,0,0,0,0,0,0,0}')) v(sums)) x;
SELECT credit_pool('{1,2}');
SELECT credit_pool('{1,2,3,4,5,6,7,8,9,NULL}');
-- In every order the same to the last bit, put together from workers' parts as well.
CREATE TABLE pooled AS SELECT i, ARRAY[2, 3 + i % 5, 1 + i % 3, 1 + (i * 7919 % 1000) / 7.0, (i * 31 % 97) / 3.0, 1 + (i * 17 % 89) / 9.0, (i * 7 % 91) / 13.0 - 3, 2 + i % 7 / 3.0, (i * 5 % 83) / 11.0 - 3, (i * 3 % 79) / 17.0 - 2]::float8[] AS sums
FROM generate_series(1, 5000) i;
SELECT credit_pool(sums ORDER BY i)::text AS pooled FROM pooled \gset
SELECT credit_pool(sums ORDER BY i DESC)::text = :'pooled' AS backwards, credit_pool(sums ORDER BY i * 7919 % 5003)::text = :'pooled' AS shuffled FROM pooled;
SELECT abs((c).coverage - (SELECT sum(sums[3]) / sum(sums[2]) FROM pooled)) < 1e-12 AS coverage, (c).groups FROM (SELECT credit_pool(sums) AS c FROM pooled) x;
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL max_parallel_workers_per_gather = 2;
CREATE FUNCTION pg_temp.is_partial(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text; found boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP found := found OR line LIKE '%Partial Aggregate%'; END LOOP;
	RETURN found;
END $$;
SELECT pg_temp.is_partial('SELECT credit_pool(sums) FROM pooled') AS in_parts, credit_pool(sums)::text = :'pooled' AS the_same FROM pooled;
COMMIT;
DROP TABLE pooled;

-- Noise says nothing: outcomes of a fair coin, whatever was done. A method that is right says something, and one that says the opposite the opposite.
CREATE TABLE coins AS SELECT n, rollout_agg(n * 1000 + r * 10 + t, r, t, dice(n, r, t, 1) % 3, dice(n, r, t, 2) % 2, CASE WHEN t = 3 THEN dice(n, r, 3) / 16 % 2 END) AS noise,
	rollout_agg(n * 1000 + r * 10 + t, r, t, dice(n, r, t, 1) % 3, dice(n, r, t, 2) % 2, dice(n, r, t, 2) % 2) AS worth FROM generate_series(1, 60) n, generate_series(1, 8) r, generate_series(0, 3) t GROUP BY n;
CREATE FUNCTION opposite(rollouts rollout_group, gamma float8 DEFAULT 0.99) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8)
LANGUAGE sql IMMUTABLE AS $$ SELECT step_id, rollout_id, step_no, -advantage FROM stepadv.batch_td(rollouts, gamma => gamma) ORDER BY step_no DESC, rollout_id $$;
SELECT register_method('credit_check.opposite(stepadv.rollout_group, float8)'::regprocedure, requires => '{reward,state,action}');
SELECT method, abs((c).correlation) < 3 * (c).correlation_error AS noise, abs((c).rank_correlation) < 3 * (c).rank_correlation_error AS rank, abs((c).sign_agreement - 0.5) < 3 * (c).sign_agreement_error AS sign,
	(w).correlation > 5 * (w).correlation_error AS worth, (w).correlation < -5 * (w).correlation_error AS opposite, (w).slope::numeric(6, 1)
FROM (SELECT method, credit_pool(a.sums) AS c, credit_pool(b.sums) AS w FROM coins, unnest('{batch_td,rtmc,gigpo,graphgpo,opposite}'::text[]) method, credit_check(noise, method) a, credit_check(worth, method) b GROUP BY method) x ORDER BY method COLLATE "C";
-- Rows in any order are taken for the same steps.
SELECT max(abs(a.slope + b.slope)) < 1e-12 AS mirrored FROM groups, credit_check(g, 'batch_td') a, credit_check(g, 'opposite') b;
SELECT bool_and(a.sums = b.sums) AS named, bool_or(a.sums <> c.sums) AS parameters FROM groups, credit_check(g, 'opposite') a, credit_check(g, 'credit_check.opposite') b, credit_check(g, 'opposite', '{"gamma": 0.5}') c;

-- Other states, turns; a sample of the rollouts.
SELECT sum(a.n_covered) AS as_they_are, sum(h.n_covered) AS histories, sum(r.n_covered) AS root, sum(r.n_steps) AS of, sum(t.n_steps) AS turns, sum(s.n_rollouts) AS sampled
FROM groups, credit_check(g) a, credit_check(history_states(g, 'set')) h, credit_check(history_states(g, 'root')) r, credit_check(by_turn(g)) t, credit_check(g, max_rollouts => 2) s;
SELECT bool_and(c.sums = d.sums) AS same FROM groups, credit_check(by_turn(g)) c, LATERAL (
	SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, turn_reward, cost) AS g FROM steps(by_turn(g))) x, credit_check(x.g) d WHERE NOT EXISTS (SELECT FROM rollouts(groups.g) WHERE n_steps = 0);

-- Values of states by the others beside what happened: those of batch_td.
SELECT count(*) AS steps, bool_and(abs(l.return - r.return) < 1e-12) AS returns, bool_and(abs(l.v - b.v) < 1e-9) AS values, (SELECT count(*) FROM groups, left_out_values(g, max_rollouts => 2)) < count(*) AS sampled
FROM groups, left_out_values(g, gamma => 0.8) l JOIN returns(g, gamma => 0.8) r USING (step_id) JOIN steps(g) s USING (step_id),
	LATERAL (SELECT DISTINCT v FROM batch_td(without_rollout(g, l.rollout_id), gamma => 0.8, prior => 0.5, prior_mean => 'start_value') b JOIN steps(g) o USING (step_id) WHERE o.state = s.state AND v IS NOT NULL) b;

-- Advantages of the right size: times the slope that credit_check finds, 16 rollouts of slope 0.3 mixed in, between 0 and 1; all else stays.
SELECT 'rtmc' AS method, count(*) AS steps, count(DISTINCT groups.n) AS groups, bool_and(abs(b.advantage - a.advantage * f.slope) < 1e-12) AS shrunk, bool_and((a.q, a.v, a.n_action) = (b.q, b.v, b.n_action)) AS rest
FROM groups, credit_check(g, 'rtmc') c, LATERAL (SELECT least(1, greatest(0, (c.n_rollouts * coalesce(c.slope, 0.3) + 16 * 0.3) / (c.n_rollouts + 16))) AS slope) f, rtmc(g) a JOIN rtmc(g, shrink => 'check') b USING (step_id) WHERE a.advantage IS NOT NULL
UNION ALL
SELECT 'batch_td', count(*), count(DISTINCT groups.n), bool_and(abs(b.advantage - a.advantage * f.slope) < 1e-12), bool_and((a.q, a.v, a.n_action) = (b.q, b.v, b.n_action))
FROM groups, credit_check(g, 'batch_td', '{"prior": 0.5, "gamma": 0.7}') c, LATERAL (SELECT least(1, greatest(0, (c.n_rollouts * coalesce(c.slope, 0.3) + 16 * 0.3) / (c.n_rollouts + 16))) AS slope) f,
	batch_td(g, prior => 0.5, gamma => 0.7) a JOIN batch_td(g, prior => 0.5, gamma => 0.7, shrink => 'check') b USING (step_id) WHERE a.advantage IS NOT NULL;
SELECT a.advantage::numeric(6, 3) AS alone, b.advantage::numeric(6, 3) AS shrunk FROM (SELECT rollout_agg(1, 1, 0, 1, 1, 4) AS g) x, rtmc(g) a, rtmc(g, shrink => 'check') b;
SELECT count(*) AS steps, count(b.advantage) AS of_none_judged FROM (SELECT rollout_agg(i, i, 0, 1, 1, NULL) AS g FROM generate_series(1, 3) i) x, batch_td(g, shrink => 'check') b;
SELECT count(sums) AS checked FROM groups, credit_check(g, 'rtmc', '{"shrink": "check"}');
SELECT rtmc(g, shrink => 'half') FROM full_group;
SELECT batch_td(g, shrink => NULL) FROM full_group;

-- Nobody judged, one rollout, no group, no steps; what is refused.
SELECT n_rollouts, n_steps, coverage, slope, sums FROM (VALUES (1, (SELECT rollout_agg(i, i, 0, 1, 1, NULL) FROM generate_series(1, 3) i)), (2, (SELECT rollout_agg(1, 1, 0, 1, 1, 1))), (3, (SELECT rollout_agg(NULL, i, NULL, 1, 1, 1) FROM generate_series(1, 3) i))) v(i, g), credit_check(g) ORDER BY i;
SELECT count(*) AS of_none FROM credit_check(NULL);
SELECT credit_check(g, 'batch') FROM full_group;
SELECT credit_check(g, 'groups') FROM full_group;
SELECT credit_check(g, NULL) FROM full_group;
SELECT credit_check(g, 'batch_td', '{"lamda": 1}') FROM full_group;
SELECT credit_check(g, 'batch_td', '{"lambda": 2}') FROM full_group;
SELECT credit_check(g, 'batch_td', '[]') FROM full_group;
SELECT credit_check(g, gamma => 2) FROM full_group;
SELECT credit_check(g, gamma => NULL) FROM full_group;
SELECT credit_check(g, max_rollouts => 0) FROM full_group;
SELECT credit_check(g, 'gae') FROM (SELECT rollout_agg(i, i, 0, 1, 1, 1) AS g FROM generate_series(1, 3) i) x;

-- Over an attachment: every method and instance with an advantage per step; the numbers of credit_check.
CREATE TABLE rows AS SELECT * FROM steps;
SELECT v.view_name, v.shows FROM attach('rows'::regclass, '{n}'::text[], 'r', 't', 's', 'a', 'reward', columns => '{"step_id": "id", "turn": "turn"}', views => '{all}', options => '{"gamma": 0.9, "methods": {"td_1": {"method": "batch_td", "gamma": 1}, "td_turn": {"method": "batch_td", "unit": "turn"}, "mine": {"method": "credit_check.opposite"}}}') v WHERE v.view_name::text ~ 'credit';
SELECT method, groups, rollouts, steps, covered FROM rows_credit_check;
SELECT c.method, (SELECT count(*) || ' numbers, ' || bool_and(a.value = b.value OR abs(a.value::float8 - b.value::float8) < 1e-12) FROM jsonb_each(to_jsonb(c)) a JOIN jsonb_each(to_jsonb((
	SELECT credit_pool(k.sums) FROM rows_values v, LATERAL credit_check(CASE c.method WHEN 'td_turn' THEN by_turn(v.rollouts) ELSE v.rollouts END,
		CASE WHEN c.method ~ '^td' THEN 'batch_td' WHEN c.method = 'mine' THEN 'opposite' ELSE c.method END, CASE WHEN c.method = 'td_1' THEN '{"gamma": 1}' WHEN c.method ~ 'td|mine|opposite|rtmc|gigpo|hgpo' AND c.method <> 'graphgpo' THEN '{"gamma": 0.9}' END::jsonb) k))) b USING (key)) AS same
FROM rows_credit_check c WHERE method NOT IN ('grpo', 'rloo');
SELECT count(*) AS rows, count(DISTINCT n) AS groups, count(DISTINCT method) AS methods FROM rows_credit_groups;
SELECT n, g.method, g.sums = c.sums AS same, g.slope = c.slope AS slope, g.n_covered FROM rows_credit_groups g JOIN rows_values v USING (n), credit_check(v.rollouts, 'rtmc', '{"gamma": 0.9}') c WHERE g.method = 'rtmc' AND n IN (5, 7) ORDER BY n;
SELECT sum(steps) AS steps, count(*) AS deciles, bool_and(v >= lag OR lag IS NULL) AS in_order, max(groups) AS groups,
	abs(sum(steps * return) - (SELECT sum(return) FROM rows_values, left_out_values(rollouts))) < 1e-9 AS return FROM (SELECT *, lag(v) OVER (ORDER BY decile) FROM rows_credit_calibration) c;
SELECT abs(return_error - (SELECT sqrt(sum((d.r - d.n * c.return) ^ 2) * count(*) / (count(*) - 1)) / sum(d.n) FROM (
	SELECT n AS g, count(*) AS n, sum(return) AS r FROM (SELECT n, l.*, ntile(10) OVER (ORDER BY l.v, signature_hash('1' || ROW(n)::text), l.rollout_id, l.step_no) AS decile FROM rows_values, left_out_values(rollouts) l) q WHERE decile = 10 GROUP BY q.n) d)) < 1e-9 AS error
FROM rows_credit_calibration c WHERE decile = 10;
SELECT maintain('rows'::regclass, how => 'refresh');
SELECT method, groups, rollouts, steps, covered FROM rows_credit_check WHERE method = 'batch_td';
SELECT detach('rows'::regclass) > 10 AS detached;
-- A method with a history has it when it is checked, too; and only the group's own rollouts are left out.
ALTER TABLE rows ADD task integer;
UPDATE rows SET task = n % 3;
SELECT count(*) > 10 AS attached FROM attach('rows'::regclass, '{n}'::text[], 'r', 't', 's', 'a', 'reward', columns => '{"step_id": "id", "task_id": "task", "policy_step": "n"}', views => '{all}', options => '{"batch_td": {"history": true}}');
SELECT n, g.sums[1:3] AS counts, (SELECT max(abs(one - other)) < 1e-9 FROM unnest(g.sums, x.sums) u(one, other)) AS same, (SELECT max(abs(one - other)) > 1e-6 FROM unnest(g.sums, c.sums) u(one, other)) AS other_without
FROM rows_credit_groups g JOIN rows_values v USING (n), LATERAL (SELECT rollout_agg(id, o.n * 1000 + r, t, s, a, reward) AS h FROM rows o WHERE o.n % 3 = g.n % 3 AND o.n < g.n) h,
	LATERAL (SELECT stepadv_internal.credit_agg(v.rollouts, l.rollout_id, u.rollout_id, u.step_no, u.advantage, 1) AS sums FROM left_out(v.rollouts) l, batch_td(without_rollout(v.rollouts, l.rollout_id), history => h.h) u) x, credit_check(v.rollouts) c
WHERE g.method = 'batch_td' AND n IN (8, 11) ORDER BY n;
SELECT a.n, count(*) AS steps, count(DISTINCT round((b.advantage / a.advantage)::numeric, 9)) AS slopes, bool_and(b.advantage / a.advantage BETWEEN 0 AND 1) AS shrunk
FROM (SELECT v.n, x.* FROM rows_values v, LATERAL (SELECT rollout_agg(id, o.n * 1000 + r, t, s, a, reward) AS h FROM rows o WHERE o.n % 3 = v.n % 3 AND o.n < v.n) h, batch_td(v.rollouts, history => h.h) x WHERE v.n IN (8, 11)) a
JOIN (SELECT v.n, x.* FROM rows_values v, LATERAL (SELECT rollout_agg(id, o.n * 1000 + r, t, s, a, reward) AS h FROM rows o WHERE o.n % 3 = v.n % 3 AND o.n < v.n) h, batch_td(v.rollouts, history => h.h, shrink => 'check') x) b USING (n, step_id)
WHERE a.advantage <> 0 GROUP BY a.n ORDER BY a.n;
SELECT detach('rows'::regclass) > 10 AS detached;
-- Options: which methods, groups, rollouts. Without states there is nothing to check by.
SELECT count(*) FROM attach('rows'::regclass, '{n}'::text[], 'r', 't', 's', 'a', 'reward', views => '{all}', options => '{"credit_check": {"methods": "rtmc, batch_td", "max_groups": 4, "max_rollouts": 2, "seed": 7, "gamma": 0.5}}') v WHERE v.view_name::text ~ 'credit';
SELECT method, groups, rollouts, steps < 40 AS fewer FROM rows_credit_check;
SELECT count(DISTINCT n) AS groups, sum(n_rollouts) AS rollouts FROM rows_credit_groups WHERE method = 'rtmc';
SELECT detach('rows'::regclass) > 10 AS detached;
SELECT attach('rows'::regclass, '{n}'::text[], 'r', 't', 's', 'a', 'reward', views => '{all}', options => '{"credit_check": {"methods": "rollouts"}}');
SELECT attach('rows'::regclass, '{n}'::text[], 'r', 't', 's', 'a', 'reward', views => '{all}', options => '{"credit_check": {"max_groups": 0.5}}');
SELECT attach('rows'::regclass, '{n}'::text[], 'r', 't', 's', 'a', 'reward', views => '{all}', options => '{"credit_check": {"gamma": 2}}');
SELECT attach('rows'::regclass, '{n}'::text[], 'r', 't', 's', 'a', 'reward', views => '{all}', options => '{"credit_check": {"max_group": 2}}');
SELECT v.view_name FROM attach('rows'::regclass, '{n}'::text[], 'r', 't', reward => 'reward', views => '{all}') v WHERE v.view_name::text ~ 'credit';
SELECT detach('rows'::regclass) > 3 AS detached;
DROP SCHEMA credit_check CASCADE;

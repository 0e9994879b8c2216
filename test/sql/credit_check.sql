-- Do advantages predict rollouts that were left out? Which are left out, shuffled outcomes, sums against plain SQL, attachments, choice of states, errors.
CREATE SCHEMA credit_check;
SET search_path = credit_check, stepadv, stepadv_internal, public;
SET jit = off;
SET client_min_messages = warning;
\set VERBOSITY terse

CREATE FUNCTION dice(VARIADIC what integer[]) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT ('x' || substr(md5(what::text), 1, 7))::bit(28)::integer $$;
-- 12 groups of 3 to 8 rollouts of 0 to 6 steps, 5 states (sometimes NULL) and 3 actions, costs and outcomes; every eighth rollout is not judged.
CREATE TABLE steps AS
SELECT n, r, t, n * 10000 + r * 100 + t AS id, nullif(dice(n, r, t, 1) % 6, 5) AS s, nullif(dice(n, r, t, 2) % 13, 12) % 3 AS a,
	CASE WHEN dice(n, r) % 8 > 0 THEN -(dice(n, r, t, 3) % 3) / 10.0 + CASE WHEN t = dice(n, r, 4) % 7 - 1 THEN dice(n, r, 5) % 2 ELSE 0 END END::float8 AS reward,
	t / 2 AS turn
FROM generate_series(1, 12) n, LATERAL generate_series(1, 3 + n % 6) r, LATERAL generate_series(0, dice(n, r, 4) % 7 - 1) t;
INSERT INTO steps SELECT n, 9, NULL, NULL, NULL, NULL, n % 2, NULL FROM generate_series(1, 12, 2) n;	-- a rollout without steps
CREATE TABLE groups AS SELECT n, rollout_agg(id, r, t, s, a, reward, NULL, NULL, 0.5::float8, NULL, NULL, turn, NULL, NULL, NULL) AS g FROM steps GROUP BY n;
SELECT count(*) AS groups, sum(n_rollouts) AS rollouts, sum(n_judged) AS judged FROM groups, group_summary(g);

-- The group without a rollout is the group of the other rows, with any columns.
SELECT count(*) AS rollouts, count(DISTINCT groups.n) AS groups, sum(x.differences) AS differences
FROM groups, rollouts(g) l, LATERAL (SELECT without_rollout(g, l.rollout_id) AS w, rollout_agg(id, r, t, s, a, reward, NULL, NULL, 0.5::float8, NULL, NULL, turn, NULL, NULL, NULL) AS o FROM steps WHERE steps.n = groups.n AND r <> l.rollout_id) y,
	LATERAL (SELECT (SELECT count(*) FROM (SELECT * FROM steps(w) EXCEPT SELECT * FROM steps(o)) d) + (SELECT count(*) FROM (SELECT * FROM steps(o) EXCEPT SELECT * FROM steps(w)) d)
		+ (SELECT count(*) FROM (SELECT * FROM rollouts(w) EXCEPT SELECT * FROM rollouts(o)) d) + (SELECT count(*) FROM (SELECT * FROM rollouts(o) EXCEPT SELECT * FROM rollouts(w)) d) AS differences) x;
CREATE TABLE full_group AS
SELECT rollout_agg(id, r, t, s, a, reward, success, s + 1, v, v / 2, 1 + v, turn, ARRAY[v, NULL, reward], NULL, NULL) AS g,
	rollout_agg(id, r, t, s, a, reward, success, s + 1, v, v / 2, 1 + v, turn, ARRAY[v, NULL, reward], NULL, NULL) FILTER (WHERE r <> 2) AS without_2
FROM (SELECT r * 10 + t AS id, r, t, t AS s, nullif(r, t) AS a, r::float8 AS reward, r = 1 AS success, r * 0.5 + coalesce(t, 7) AS v, t AS turn FROM generate_series(1, 3) r, unnest('{0,1,2,NULL}'::integer[]) t) x;
SELECT without_rollout(g, 2)::text = without_2::text AS same,
	without_rollout(by_turn(g), 2)::text = by_turn(without_2)::text AS by_turn, (SELECT count(*) FROM rollouts(without_rollout(without_rollout(without_rollout(g, 1), 2), 3))) AS left FROM full_group;
SELECT without_rollout(g, NULL), without_rollout(NULL, 1) FROM full_group;
SELECT without_rollout(g, 4) FROM full_group;

-- Left out: judged, with steps, and not alone.
SELECT count(*) AS chosen, bool_and(r.judged AND r.n_steps > 0) AS fit FROM groups, left_out(g, 16, 1) l JOIN rollouts(g) r USING (rollout_id);
SELECT sum(n) FILTER (WHERE n > 1) AS chosen FROM (SELECT count(*) AS n FROM groups, rollouts(g) r WHERE r.judged AND r.n_steps > 0 GROUP BY groups.n) x;
SELECT count(*) AS of_one FROM (SELECT rollout_agg(1, 1, 0, 1, 1, 1) AS g) x, left_out(g, 16, 1);
SELECT (SELECT array_agg(rollout_id) FROM left_out(g, 3, 1)) AS three, (SELECT array_agg(rollout_id) FROM left_out(g, 3, 2)) AS others,
	(SELECT array_agg(rollout_id) FROM left_out(g, 4, 1)) @> (SELECT array_agg(rollout_id) FROM left_out(g, 3, 1)) AS nested
FROM (SELECT rollout_agg(i, i, 0, 1, 1, 1) AS g FROM generate_series(1, 40) i) x;
SELECT left_out(g, 0, 1) FROM full_group;

-- Shuffled: the outcomes of the judged rollouts with steps, dealt out anew, each with the last step, and nothing else.
CREATE VIEW rollouts_of AS SELECT n, z.z, r.* FROM groups, generate_series(0, 6) z(z), rollouts(shuffle_outcomes(g, z, 1)) r WHERE r.judged AND r.n_steps > 0;
SELECT bool_and(a.outcomes = b.outcomes) AS the_same_outcomes, bool_or(a.of IS DISTINCT FROM b.of) AS dealt_out FROM
	(SELECT n, array_agg(round(return::numeric, 9) ORDER BY return) AS outcomes, array_agg(round(return::numeric, 9) ORDER BY rollout_id) AS of FROM rollouts_of WHERE z = 0 GROUP BY n) a
	JOIN (SELECT n, z, array_agg(round(return::numeric, 9) ORDER BY return) AS outcomes, array_agg(round(return::numeric, 9) ORDER BY rollout_id) AS of FROM rollouts_of WHERE z > 0 GROUP BY n, z) b USING (n);
SELECT bool_and(shuffle_outcomes(g, 0, 1)::text = g::text) AS not_shuffled, bool_or(shuffle_outcomes(g, 1, 1)::text <> shuffle_outcomes(g, 1, 2)::text) AS by_seed FROM groups;
SELECT bool_and(s.reward = 0 OR s.step_no = (SELECT max(l.step_no) FROM steps(groups.g) l WHERE l.rollout_id = s.rollout_id)) AS with_the_last,
	bool_and((s.state, s.action, s.turn) IS NOT DISTINCT FROM (o.state, o.action, o.turn)) AS rest
FROM groups, steps(shuffle_outcomes(g, 3, 1)) s JOIN rollouts(g) r USING (rollout_id) JOIN steps(g) o USING (step_id) WHERE r.judged;
-- Every outcome goes to every rollout equally often.
SELECT count(*) AS pairs, min(n) > 60 AND max(n) < 140 AS alike FROM (SELECT r.rollout_id, r.return, count(*) AS n FROM (SELECT rollout_agg(i, i, 0, 1, 1, i) AS g FROM generate_series(1, 10) i) x, generate_series(1, 1000) z, rollouts(shuffle_outcomes(g, z, 1)) r GROUP BY 1, 2) p;
-- With several policies, outcomes are shuffled within each policy, after its mean is subtracted.
CREATE TABLE mixed AS SELECT rollout_agg(i, i, 0, 1, 1, i, i > 7, NULL, NULL, NULL, NULL, NULL, NULL, NULL, i % 2) AS g FROM generate_series(1, 10) i;
SELECT z, r.rollout_id % 2 AS policy, array_agg(r.return ORDER BY r.return) AS outcomes, count(*) FILTER (WHERE r.return = r.rollout_id - 6 + r.rollout_id % 2) AS own, count(*) FILTER (WHERE r.success) AS successes
FROM mixed, generate_series(0, 1) z, rollouts(shuffle_outcomes(g, z, 1)) r GROUP BY 1, 2 ORDER BY 1, 2;

-- By hand. State 1; rollouts 1 and 2 take action 1 and receive 1 and 0, rollouts 3 and 4 action 2, 0 and 0. The advantage is the return minus the mean of the others' returns.
-- Without 1: all receive 0, no prediction. V = 0, y = 1.
-- Without 2: 2/3 of action 1, -1/3 of action 2 (twice). V = (1 + 1/2 * 1/3) / (3 + 1/2) = 1/3, y = -1/3.
-- Without 3, or 4: 1/6 of action 1 (twice), -1/3 of action 2. y = -1/3.
-- x y: -2/9 + 1/9 + 1/9; x x: 4/9 + 1/9 + 1/9; y y: 1 + 3/9.
SELECT c.sums[1][1] AS steps, c.sums[1][2] AS covered, c.sums[1][3]::numeric(15, 12) AS xy, c.sums[1][4]::numeric(15, 12) AS "2/3", c.sums[1][5]::numeric(15, 12) AS "4/3", array_dims(c.sums) AS dims
FROM (SELECT rollout_agg(i, i, 0, 1, 1 + i / 3, (i = 1)::integer) AS g FROM generate_series(1, 4) i) x, credit_sums(ARRAY[g], 'grpo', '{"normalise": "mean"}') c(sums);
-- The first candidate is the group itself: without it there is nothing to check.
SELECT credit_agg(ARRAY[NULL]::rollout_group[], 2, 1, 1, 0, 1, '{{1}}');
-- Another candidate, in which 4 is in a state of its own; the first, of one state, is a control and has no part in y. V without 1 is 0; without 2 or 3 (1 + 1/2 * 1/3) / (2 + 1/2) = 7/15; of 4's state the others know
-- their start value, 1/3. So y: 1, -7/15, -7/15, -1/3; and y y: 1 + 2 * 49/225 + 1/9. The second candidate says of 2: 2/3, 1/2 more than of its state, of 3 and 4 nothing.
SELECT k, c.sums[k][2] AS covered, c.sums[k][3]::numeric(15, 12) AS xy, (ARRAY[-2.0 / 3 * 7 / 15 + 1.0 / 3 * 7 / 15 + 1.0 / 3 * 1 / 3, -1.0 / 2 * 7 / 15])[k]::numeric(15, 12) AS by_hand, c.sums[k][5]::numeric(15, 12) AS yy, (1 + 98 / 225.0 + 1.0 / 9)::numeric(15, 12) AS yy_by_hand
FROM (SELECT rollout_agg(i, i, 0, 1, 1 + i / 3, (i = 1)::integer) AS g, rollout_agg(i, i, 0, 1 + i / 4, 1 + i / 3, (i = 1)::integer) AS h FROM generate_series(1, 4) i) x, credit_sums(ARRAY[g, h], 'grpo', '{"normalise": "mean"}') c(sums), generate_series(1, 2) k;

-- In plain SQL: what the method says without each rollout, by state and action; y by the values of batch_td without it, in both states.
CREATE FUNCTION plainly(g rollout_group, h rollout_group, method text, arguments text, OUT sums float8[]) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($q$
		WITH l AS MATERIALIZED (SELECT l.rollout_id AS out, k.k, without_rollout(k.g, l.rollout_id) AS others, k.g FROM rollouts($1) l, (VALUES (1, $1), (2, $2)) k(k, g)
			WHERE judged AND n_steps > 0 AND (SELECT count(*) FROM rollouts($1) r WHERE judged AND n_steps > 0) > 1),
		of_state AS (SELECT l.out, l.k, s.state, avg(u.advantage) AS said FROM l, LATERAL %1$s(l.others%2$s) u JOIN steps(l.g) s USING (rollout_id, step_no) WHERE s.state IS NOT NULL AND u.advantage IS NOT NULL GROUP BY 1, 2, 3),
		said AS (SELECT l.out, l.k, s.state, s.action, avg(u.advantage) AS said FROM l, LATERAL %1$s(l.others%2$s) u JOIN steps(l.g) s USING (rollout_id, step_no)
			WHERE s.state IS NOT NULL AND s.action IS NOT NULL AND u.advantage IS NOT NULL GROUP BY 1, 2, 3, 4),
		value AS (SELECT DISTINCT l.out, l.k, s.state, b.v FROM l, LATERAL batch_td(l.others, gamma => 1, prior => 0.5, prior_mean => 'start_value') b JOIN steps(l.g) s USING (rollout_id, step_no) WHERE s.state IS NOT NULL AND b.v IS NOT NULL),
		start AS (SELECT l.out, avg(b.return) AS v FROM l, LATERAL (SELECT DISTINCT ON (rollout_id) * FROM returns(l.others, gamma => 1) ORDER BY rollout_id, step_no) b WHERE b.return IS NOT NULL GROUP BY 1),
		happened AS (SELECT l.out, h.step_no, min(h.return) - avg(coalesce(v.v, m.v)) AS y FROM l JOIN returns($1, gamma => 1) h ON h.rollout_id = l.out JOIN LATERAL steps(l.g) s USING (rollout_id, step_no)
			JOIN start m USING (out) LEFT JOIN value v ON v.out = l.out AND v.k = l.k AND v.state = s.state GROUP BY 1, 2)
		SELECT array_agg(ARRAY[x.steps, x.covered, x.xy, x.xx, x.yy] ORDER BY x.k) FROM (
			SELECT l.k, count(*)::float8 AS steps, count(p.said)::float8 AS covered, coalesce(sum((p.said - t.said) * h.y), 0) AS xy, coalesce(sum(p.said ^ 2), 0) AS xx, sum(h.y ^ 2) AS yy
			FROM l JOIN LATERAL steps(l.g) s ON s.rollout_id = l.out JOIN happened h ON h.out = l.out AND h.step_no = s.step_no LEFT JOIN said p ON p.out = l.out AND p.k = l.k AND p.state = s.state AND p.action = s.action LEFT JOIN of_state t ON t.out = l.out AND t.k = l.k AND t.state = s.state GROUP BY 1) x$q$,
		method, arguments) INTO sums USING g, h;
END
$$;
-- The other candidate has the last action only; shuffles of both.
CREATE TABLE checks AS
SELECT n, method, c.sums, z, plainly(shuffle_outcomes(g, z, 1), shuffle_outcomes(history_states(g, 'last', 1), z, 1), method, arguments) AS plain
FROM groups, (VALUES ('batch_td', NULL, ''), ('batch_td', '{"gamma": 0.5, "prior": 1}', ', gamma => 0.5, prior => 1'), ('rtmc', NULL, ''), ('grpo', NULL, ''),
	('gigpo', NULL, ''), ('graphgpo', '{"discount": 0.5}', ', discount => 0.5'), ('gae', NULL, ''), ('history_td', NULL, '')) m(method, parameters, arguments),
	LATERAL credit_sums(ARRAY[g, history_states(g, 'last', 1)], method, parameters::jsonb, shuffles => 2) c(sums), generate_series(0, 2) z;
SELECT method, count(DISTINCT n) AS groups, count(*) AS numbers, bool_and(abs(c.sums[k][CASE WHEN i <= 2 THEN i ELSE i + 3 * z END] - c.plain[k][i]) <= 1e-9 * greatest(1, abs(c.plain[k][i]))) AS same,
	count(*) FILTER (WHERE c.plain[k][i] <> 0) > count(*) / 2 AS something
FROM checks c, generate_series(1, 2) k, generate_series(1, 5) i WHERE (c.sums IS NULL) = (c.plain IS NULL) AND c.sums IS NOT NULL AND (i > 2 OR z = 0) GROUP BY 1 ORDER BY 1;

-- Over groups: the correlation, beyond that of shuffled outcomes; the error is the spread of what each group does to it, or of the shuffles.
CREATE TABLE sums AS SELECT n, credit_sums(ARRAY[g, history_states(g, 'set'), history_states(g, 'root')], shuffles => 10) AS s FROM groups;
DELETE FROM sums WHERE s IS NULL;
CREATE FUNCTION correlation(k integer, picks integer[], weights float8[]) RETURNS float8 LANGUAGE sql AS
$$ SELECT sum(w * s[k][3 + 3 * z]) / sqrt(sum(w * s[k][4 + 3 * z]) * sum(w * s[k][5 + 3 * z])) FROM (SELECT s, picks[i] AS z, weights[i] AS w FROM (SELECT s, row_number() OVER (ORDER BY n) AS i FROM sums) x) y $$;
-- The derivative by the weight of a group, by differences; draws of our own, of one shuffle a group.
CREATE FUNCTION jackknife(k integer) RETURNS float8 LANGUAGE sql AS
$$ SELECT sqrt(sum(d ^ 2) * count(*) / (count(*) - 1)) FROM (SELECT (correlation(k, array_fill(0, ARRAY[20]), w.w[:i - 1] || 1.00001::float8 || w.w[i + 1:]) - correlation(k, array_fill(0, ARRAY[20]), w.w[:i - 1] || 0.99999::float8 || w.w[i + 1:])) / 2e-5 AS d
	FROM (SELECT array_fill(1::float8, ARRAY[(SELECT count(*)::integer FROM sums)])) w(w), generate_subscripts(w, 1) i) x $$;
CREATE TABLE draws AS SELECT d, k, correlation(k, p.p, array_fill(1::float8, ARRAY[20])) AS c FROM (SELECT d, array_agg(1 + dice(d, i) / 16 % 10 ORDER BY i) AS p FROM generate_series(1, 600) d, generate_series(1, 20) i GROUP BY d) p, generate_series(1, 3) k;
SELECT c.candidate, c.n_groups = (SELECT count(*) FROM sums) AS groups, c.n_steps = x.steps AS steps, abs(c.coverage - x.coverage) < 1e-12 AS coverage, abs(c.score + c.by_chance - correlation(c.candidate::integer, array_fill(0, ARRAY[20]), array_fill(1::float8, ARRAY[20]))) < 1e-12 AS correlation,
	abs(c.by_chance - d.mean) < 4 * d.deviation / sqrt(600) AS by_chance, abs(c.error / sqrt(greatest(jackknife(c.candidate::integer), d.all) ^ 2 + d.all ^ 2 / 10) - 1) < 0.1 AS error,
	c.n_groups_needed IS NOT DISTINCT FROM CASE WHEN c.score > 0 THEN ceil(c.n_groups * (2 * c.error / c.score) ^ 2) END AS groups_needed,
	abs(c.p_value - (SELECT avg((m.most >= (c.score / (d.all * sqrt(1.1))))::integer) FROM (SELECT max((r.c - s.mean) / s.deviation) AS most FROM draws r JOIN (SELECT k, avg(c) AS mean, stddev(c) AS deviation FROM draws GROUP BY k) s USING (k) GROUP BY r.d) m)) < 0.07 AS p
FROM (SELECT array_agg(s) AS s FROM sums) g, credit_check(g.s) c, LATERAL (SELECT sum(s[c.candidate::integer][1]) AS steps, sum(s[c.candidate::integer][2]) / sum(s[c.candidate::integer][1]) AS coverage FROM sums) x,
	LATERAL (SELECT avg(r.c) AS mean, stddev(r.c) AS deviation, stddev(r.c) * sqrt(10 / 9.0) AS all FROM draws r WHERE r.k = c.candidate) d ORDER BY 1;
SELECT count(*) AS of_none FROM credit_check('{}');
SELECT credit_check('{1,2}');
SELECT credit_check('{1,2,3,4,5,6,7,8,9,10,NULL}');

-- Noise predicts nothing: outcomes of a fair coin, independent of the actions. A correct method predicts, and its opposite predicts the opposite.
CREATE TABLE coins AS SELECT n, rollout_agg(n * 1000 + r * 10 + t, r, t, dice(n, r, t, 1) % 3, dice(n, r, t, 2) % 2, CASE WHEN t = 3 THEN dice(n, r, 3) / 16 % 2 END) AS noise,
	rollout_agg(n * 1000 + r * 10 + t, r, t, dice(n, r, t, 1) % 3, dice(n, r, t, 2) % 2, dice(n, r, t, 2) % 2) AS worth FROM generate_series(1, 60) n, generate_series(1, 8) r, generate_series(0, 3) t GROUP BY n;
CREATE FUNCTION opposite(rollouts rollout_group, gamma float8 DEFAULT 0.99) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8)
LANGUAGE sql IMMUTABLE AS $$ SELECT step_id, rollout_id, step_no, -advantage FROM stepadv.batch_td(rollouts, gamma => gamma) ORDER BY step_no DESC, rollout_id $$;
SELECT register_method('credit_check.opposite(stepadv.rollout_group, float8)'::regprocedure, requires => '{reward,state,action}');
SELECT method, abs(c.score) < 2.5 * c.error AS noise, c.p_value > 0.01 AS p, w.score > 5 * w.error AS worth, w.p_value AS worth_p, w.score < -5 * w.error AS opposite, w.n_groups_needed < 30 AS needed
FROM (SELECT method, array_agg(credit_sums(ARRAY[noise], method)) AS a, array_agg(credit_sums(ARRAY[worth], method)) AS b FROM coins, unnest('{batch_td,rtmc,gigpo,graphgpo,opposite}'::text[]) method GROUP BY method) x, credit_check(a) c, credit_check(b) w ORDER BY method COLLATE "C";
-- Where outcomes are dealt out at random, |score| is above two errors in at most 5 of 100 such sets.
CREATE TABLE dealt AS SELECT d, c.* FROM (SELECT d, array_agg(credit_sums(ARRAY[shuffle_outcomes(worth, d, 7), history_states(shuffle_outcomes(worth, d, 7), 'last', 1)])) AS s FROM coins, generate_series(1, 100) d WHERE n <= 16 GROUP BY d) x, credit_check(s) c;
SELECT candidate, count(*) FILTER (WHERE abs(score) > 2 * error) <= 5 AS beyond_two_errors, abs(avg(score)) < 3 * stddev(score) / 10 AS mean_0, count(*) FILTER (WHERE p_value <= 0.05) <= 9 AS p FROM dealt GROUP BY 1 ORDER BY 1;
-- Rows in any order are taken for the same steps; named, with parameters.
SELECT max(abs(a.s[1][3] + b.s[1][3])) < 1e-12 AS mirrored, bool_and(b.s = c.s) AS named, bool_or(b.s <> d.s) AS parameters FROM groups, LATERAL (SELECT credit_sums(ARRAY[g], 'batch_td') AS s) a, LATERAL (SELECT credit_sums(ARRAY[g], 'opposite') AS s) b,
	LATERAL (SELECT credit_sums(ARRAY[g], 'credit_check.opposite') AS s) c, LATERAL (SELECT credit_sums(ARRAY[g], 'opposite', '{"gamma": 0.5}') AS s) d;
-- Turns are those of a group of turns; a sample of the rollouts.
SELECT bool_and((SELECT bool_and(abs(one - other) < 1e-9) FROM unnest(c.s[1:1][1:5], d.s[1:1][1:5]) u(one, other))) AS same FROM groups, LATERAL (SELECT credit_sums(ARRAY[by_turn(g)]) AS s) c, LATERAL (
	SELECT credit_sums(ARRAY[rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, turn_reward, cost)]) AS s FROM steps(by_turn(g))) d WHERE NOT EXISTS (SELECT FROM rollouts(groups.g) WHERE n_steps = 0 OR NOT judged);
SELECT sum(a.s[1][1]) > sum(b.s[1][1]) AS sampled FROM groups, LATERAL (SELECT credit_sums(ARRAY[g]) AS s) a, LATERAL (SELECT credit_sums(ARRAY[g], max_rollouts => 2) AS s) b;

-- No rollout judged, one rollout, no steps; errors.
SELECT i, credit_sums(ARRAY[g]) IS NULL AS none FROM (VALUES (1, (SELECT rollout_agg(i, i, 0, 1, 1, NULL) FROM generate_series(1, 3) i)), (2, (SELECT rollout_agg(1, 1, 0, 1, 1, 1))), (3, (SELECT rollout_agg(NULL, i, NULL, 1, 1, 1) FROM generate_series(1, 3) i))) v(i, g) ORDER BY i;
SELECT credit_sums(NULL) IS NULL AS of_none, credit_sums('{}') IS NULL AS of_no_candidate;
SELECT credit_sums(ARRAY[g, NULL]) FROM groups WHERE n = 5;
SELECT credit_sums(ARRAY[a.g, b.g]) FROM groups a, groups b WHERE (a.n, b.n) = (5, 6);
SELECT credit_sums(ARRAY[g], 'batch') FROM full_group;
SELECT credit_sums(ARRAY[g], 'groups') FROM full_group;
SELECT credit_sums(ARRAY[g], NULL) FROM full_group;
SELECT credit_sums(ARRAY[g], 'batch_td', '{"lamda": 1}') FROM full_group;
SELECT credit_sums(ARRAY[g], 'batch_td', '{"lambda": 2}') FROM full_group;
SELECT credit_sums(ARRAY[g], 'batch_td', '[]') FROM full_group;
SELECT credit_sums(ARRAY[g], shuffles => 1) FROM groups WHERE n = 5;
SELECT credit_sums(ARRAY[g], shuffles => 2147483647) FROM groups WHERE n = 5;
SELECT credit_sums(ARRAY[g], shuffles => NULL) FROM full_group;
SELECT credit_sums(ARRAY[g], max_rollouts => 0) FROM full_group;
SELECT credit_sums(ARRAY[g], 'gae') FROM (SELECT rollout_agg(i, i, 0, 1, 1, 1) AS g FROM generate_series(1, 3) i) x;

-- Over an attachment: every method and instance with an advantage per step; the numbers of credit_check.
CREATE TABLE rows AS SELECT * FROM steps;
SELECT v.view_name, v.description FROM attach('rows'::regclass, '{n}'::text[], 'r', 't', 's', 'a', 'reward', columns => '{"step_id": "id", "turn": "turn"}', views => '{all}', options => '{"gamma": 0.9, "credit_check": {"shuffles": 4}, "methods": {"td_1": {"method": "batch_td", "gamma": 1}, "td_turn": {"method": "batch_td", "unit": "turn"}, "mine": {"method": "credit_check.opposite"}}}') v WHERE v.view_name::text ~ 'credit';
SELECT method, n_groups, n_steps, round(coverage::numeric, 3) AS coverage, finding FROM rows_credit_check WHERE method IN ('history_td', 'grpo', 'rtmc', 'opposite', 'td_1', 'td_turn', 'mine');
SELECT c.method, abs(c.score + c.by_chance - sum(s.s[1][3]) / sqrt(sum(s.s[1][4]) * sum(s.s[1][5]))) < 1e-9 AS correlation, c.n_steps = sum(s.s[1][1]) AS steps
FROM rows_credit_check c, rows_values v, LATERAL (SELECT credit_sums(ARRAY[CASE c.method WHEN 'td_turn' THEN by_turn(v.rollouts) ELSE v.rollouts END],
	CASE WHEN c.method ~ '^td' THEN 'batch_td' WHEN c.method = 'mine' THEN 'opposite' ELSE c.method END, CASE WHEN c.method = 'td_1' THEN '{"gamma": 1}' WHEN c.method ~ 'td|mine|opposite|rtmc|gigpo|hgpo' AND c.method <> 'graphgpo' THEN '{"gamma": 0.9}' END::jsonb, shuffles => 4) AS s) s
WHERE c.method IN ('history_td', 'batch_td', 'rtmc', 'gigpo', 'td_1', 'td_turn', 'mine') GROUP BY c.method, c.score, c.by_chance, c.n_steps ORDER BY c.method COLLATE "C";
CREATE TABLE before AS SELECT * FROM rows_credit_check;
SELECT maintain('rows'::regclass, mode => 'refresh');
SELECT count(*) AS differ FROM (SELECT method, n_groups, n_steps, round(score::numeric, 9) FROM rows_credit_check EXCEPT SELECT method, n_groups, n_steps, round(score::numeric, 9) FROM before) x;
SELECT detach('rows'::regclass) > 10 AS detached;
-- A method with a history has it when it is checked, too; and only the group's own rollouts are left out.
ALTER TABLE rows ADD task integer;
UPDATE rows SET task = n % 3;
SELECT count(*) AS attached FROM attach('rows'::regclass, '{n}'::text[], 'r', 't', 's', 'a', 'reward', columns => '{"step_id": "id", "task_id": "task", "policy_step": "n"}', views => '{batch_td,credit_check,values}', options => '{"batch_td": {"history": true}, "credit_check": {"shuffles": 2}}');
SELECT c.n_groups, c.n_steps = sum(x.sums[1][1]) AS steps, abs(c.score + c.by_chance - sum(x.sums[1][3]) / sqrt(sum(x.sums[1][4]) * sum(x.sums[1][5]))) < 1e-9 AS correlation
FROM rows_credit_check c, rows_values v, LATERAL (SELECT rollout_agg(id, o.n * 1000 + r, t, s, a, reward) AS h FROM rows o WHERE o.n % 3 = v.n % 3 AND o.n < v.n) h,
	LATERAL (SELECT credit_agg(ARRAY[v.rollouts], 2, 1, 1, 0, l.rollout_id, (SELECT array_agg(ARRAY[u.advantage] ORDER BY u.rollout_id, u.step_no) FROM batch_td(without_rollout(v.rollouts, l.rollout_id), history => h.h) u)) AS sums FROM left_out(v.rollouts, 16, 1) l) x
WHERE c.method = 'batch_td' GROUP BY c.n_groups, c.n_steps, c.score, c.by_chance;
SELECT detach('rows'::regclass) > 2 AS detached;
-- Options: which methods, groups, rollouts. Without states there is nothing to check by.
SELECT count(*) FROM attach('rows'::regclass, '{n}'::text[], 'r', 't', 's', 'a', 'reward', views => '{all}', options => '{"credit_check": {"methods": "rtmc, batch_td", "max_groups": 4, "max_rollouts": 2, "seed": 7, "shuffles": 3}}') v WHERE v.view_name::text ~ 'credit';
SELECT method, n_groups, n_steps < 40 AS fewer FROM rows_credit_check;
SELECT detach('rows'::regclass) > 10 AS detached;
SELECT attach('rows'::regclass, '{n}'::text[], 'r', 't', 's', 'a', 'reward', views => '{all}', options => '{"credit_check": {"methods": "rollouts"}}');
SELECT attach('rows'::regclass, '{n}'::text[], 'r', 't', 's', 'a', 'reward', views => '{all}', options => '{"credit_check": {"max_groups": 0.5}}');
SELECT attach('rows'::regclass, '{n}'::text[], 'r', 't', 's', 'a', 'reward', views => '{all}', options => '{"credit_check": {"shuffles": 1}}');
SELECT attach('rows'::regclass, '{n}'::text[], 'r', 't', 's', 'a', 'reward', views => '{all}', options => '{"credit_check": {"max_group": 2}}');
SELECT v.view_name FROM attach('rows'::regclass, '{n}'::text[], 'r', 't', reward => 'reward', views => '{all}') v WHERE v.view_name::text ~ 'credit';
SELECT detach('rows'::regclass) > 3 AS detached;

-- Which state: a hall in which key and lamp must be taken, and a door that must be opened then, of which the room says nothing.
CREATE TABLE walk AS
WITH acts AS (SELECT g, r, t, CASE WHEN t < 4 THEN (ARRAY['key', 'lamp', 'wait', 'wait', 'wait'])[dice(g, r, t) / 16 % 5 + 1] WHEN dice(g, r, t) / 16 % 4 = 0 THEN 'wait' ELSE 'open' END AS action, dice(g, r, t, 9) % 3 AS luck
	FROM generate_series(1, 60) g, generate_series(1, 16) r, generate_series(0, 4) t),
seen AS (SELECT *, coalesce(bool_or(action = 'key') OVER b, false) AS has_key, coalesce(bool_or(action = 'lamp') OVER b, false) AS has_lamp FROM acts WINDOW b AS (PARTITION BY g, r ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
SELECT g, r, t, CASE WHEN t < 4 THEN 'hall' ELSE 'door' END AS room, has_key, has_lamp, action, luck, CASE WHEN t = 4 THEN (has_key AND has_lamp AND action = 'open')::integer END AS reward FROM seen;
SELECT count(*) AS attached FROM attach('walk'::regclass, '{g}'::text[], 'r', 't', 'room', 'action', 'reward', views => '{values}');
CREATE TABLE chosen AS SELECT * FROM choose_state('walk'::regclass, '{"room and key": "ROW(room, has_key)", "all": "ROW(room, has_key, has_lamp)", "luck": "luck"}');
SELECT state, n_groups, n_steps, round(coverage::numeric, 2) AS coverage, score > 2 * error AS shown, p_value <= 0.05 AS p, is_best, finding FROM chosen;
SELECT (SELECT score FROM chosen WHERE state = 'as attached') < (SELECT score FROM chosen WHERE state = 'room and key') AND (SELECT score FROM chosen WHERE state = 'room and key') < (SELECT score FROM chosen WHERE state = 'all') AS in_order;
-- By hand: the groups in the order of their hash make no difference, nor does how states are hashed.
SELECT bool_and(abs(c.score + c.by_chance - d.score - d.by_chance) < 1e-9 AND c.n_steps = d.n_steps) AS same, count(*) FROM chosen c JOIN (
	SELECT n.state, d.* FROM (SELECT array_agg(credit_sums(ARRAY[v, history_states(v, 'last', 2), history_states(v, 'set'), history_states(v, 'root'), a, l, k])) AS s FROM (SELECT rollout_agg(t, r, t, signature_hash(room), signature_hash(action), reward) AS v,
		rollout_agg(t, r, t, has_key::integer * 2 + (t < 4)::integer, signature_hash(action), reward) AS k, rollout_agg(t, r, t, has_key::integer * 2 + (t < 4)::integer + has_lamp::integer * 4, signature_hash(action), reward) AS a, rollout_agg(t, r, t, luck, signature_hash(action), reward) AS l FROM walk GROUP BY g) x) x,
	credit_check(s) d, unnest('{as attached,last two actions,set of actions,stateless,all,luck,room and key}'::text[]) WITH ORDINALITY n(state, i) WHERE n.i = d.candidate) d USING (state);
-- Methods that trust the state get a warning if state_check finds that states of tasks with 16 groups hide something. No warning if they hide nothing, or tasks are unknown.
CREATE VIEW of_tasks AS SELECT CASE WHEN g <= 20 THEN 'a' WHEN g <= 40 THEN 'b' END AS task, *, format('%s %s %s %s', room, has_key, has_lamp, t) AS all_of_it FROM walk WHERE g <= 55;
CREATE FUNCTION said(state text, task jsonb) RETURNS TABLE (method text, warning text, best boolean) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM attach('of_tasks'::regclass, '{g}'::text[], 'r', 't', state, 'action', 'reward', columns => task, views => '{default,credit_check}',
		options => '{"credit_check": {"methods": "history_td,batch_td,gigpo,graphgpo,mine", "shuffles": 2, "max_rollouts": 2}, "methods": {"mine": {"method": "batch_td", "gamma": 0.9}}}');
	RETURN QUERY SELECT c.method, substring(c.finding FROM 'but .*'), c.finding ~ '^among' FROM of_tasks_credit_check c;
	PERFORM detach('of_tasks'::regclass);
END
$$;
SELECT method, regexp_replace(warning, 'p [^)]*', 'p …') AS warning FROM said('room', '{"task_id": "task"}');
SELECT count(*) AS methods, bool_or(best) AS shown, count(warning) AS warned FROM said('all_of_it', '{"task_id": "task"}');
SELECT count(*) AS methods, bool_or(best) AS shown, count(warning) AS warned FROM said('room', '{}');
-- So are states that are chosen for such a method: each by itself, whether the task is a role or a column of the group.
SELECT (SELECT count(*) FROM attach('of_tasks'::regclass, '{g}'::text[], 'r', 't', 'room', 'action', 'reward', columns => '{"task_id": "task"}', views => '{values}', prefix => 'by_role')) AS by_role,
	(SELECT count(*) FROM attach('of_tasks'::regclass, '{task,g}'::text[], 'r', 't', 'room', 'action', 'reward', columns => '{"policy_step": "g"}', views => '{values}', prefix => 'by_key')) AS by_key;
CREATE TABLE warned AS SELECT i, p.prefix, c.state, substring(c.finding FROM 'but .*') AS warning FROM (VALUES (1, 'by_role', 'batch_td'), (2, 'by_key', 'batch_td'), (3, 'by_role', 'rtmc')) p(i, prefix, method),
	choose_state('of_tasks'::regclass, '{"all": "all_of_it"}', NULL, p.method, prefix => p.prefix) c;
SELECT state, regexp_replace(max(warning), 'p [^)]*', 'p …') AS warning, array_agg(warning IS NOT NULL ORDER BY i) AS warned FROM warned GROUP BY 1 ORDER BY 1;
SELECT detach('of_tasks'::regclass, 'by_role') > 0 AS by_role, detach('of_tasks'::regclass, 'by_key') > 0 AS by_key;
-- p: the smallest p of the tasks, times their number; 15 groups of a task are too few.
CREATE TABLE of_task AS SELECT coalesce(task, 'c') AS task, g, rollout_agg(t, r, t, signature_hash(room), signature_hash(action), reward) AS v FROM of_tasks GROUP BY task, g;
SELECT hidden_p(array_agg(v), array_agg(task)) < 0.001 AS hides, round((2 * (SELECT min(c.p_value) FROM (SELECT array_agg(v) AS vs FROM of_task WHERE task < 'c' GROUP BY task) x, state_check(vs) c) / hidden_p(array_agg(v), array_agg(task)))::numeric, 9) AS ratio,
	(SELECT min(c.p_value) < 0.001 FROM (SELECT array_agg(v) AS vs FROM of_task WHERE task = 'c') x, state_check(vs) c) AS fifteen_hide, hidden_p(array_agg(v) FILTER (WHERE task = 'c'), array_agg(task) FILTER (WHERE task = 'c')) AS of_fifteen FROM of_task;
-- Of tool calls also clusters of similar texts, here the place, and what was done last, whether it failed, and when. A test is of use after an edit that worked.
CREATE TABLE called AS
WITH acts AS (SELECT g, r, t, dice(g, r, t) / 16 % 3 AS act, dice(g, r, t, 9) % 4 > 0 AS ok, dice(g, r, t, 5) / 16 % 3 AS place FROM generate_series(1, 40) g, generate_series(1, 8) r, generate_series(0, 6) t)
SELECT g, r, t, place, act, ok, 'bash' AS tool, jsonb_build_object('command', (ARRAY['cat m.py', 'ls && sed -i s/a/b/ m.py', 'pytest t.py'])[act + 1]) AS args,
	format((ARRAY['the long corridor with its %s doors of wood and a lamp', 'you stand in a garden; %s birds sing above the roses', 'KITCHEN, STOVE OFF, %s PANS; NOTHING ELSE TO BE SEEN'])[place + 1], dice(g, r, t, 3) % 90 + 10) AS observation,
	CASE WHEN t = 6 THEN (act = 2 AND lag(act) OVER w = 1 AND lag(ok) OVER w)::integer END AS reward FROM acts WINDOW w AS (PARTITION BY g, r ORDER BY t);
SELECT count(*) AS attached FROM attach('called'::regclass, '{g}'::text[], 'r', 't', reward => 'reward', columns => '{"tool": "tool", "args": "args", "ok": "ok"}', views => '{values}', options => '{"states": "signature"}');
CREATE TABLE of_calls AS SELECT * FROM choose_state('called'::regclass, '{"place": "place", "last": "ROW(lag(act) OVER (PARTITION BY g, r ORDER BY t), lag(ok) OVER (PARTITION BY g, r ORDER BY t), t / 5)"}', max_groups => 12);
SELECT a.state, b.state AS by_hand, abs(a.score - b.score) < 1e-9 AND a.n_steps = b.n_steps AND abs(a.error - b.error) < 1e-9 AS same
FROM (VALUES ('text cluster', 'place'), ('last category', 'last')) v(one, other) JOIN of_calls a ON a.state = one JOIN of_calls b ON b.state = other ORDER BY 1;
SELECT count(*) AS states, min(n_groups) AS n_groups FROM of_calls;
SELECT detach('called'::regclass) > 1 AS detached;

-- The states of attach by that choice: the best of those that it can make; where nothing is shown, none.
CREATE VIEW few_walks AS SELECT g, r, t, room, action, reward FROM walk WHERE g <= 24 AND r <= 10;
SELECT count(*) AS attached FROM attach('few_walks'::regclass, '{g}'::text[], 'r', 't', 'room', 'action', 'reward', views => '{values}');
SELECT state FROM choose_state('few_walks'::regclass, max_groups => 40) ORDER BY score DESC LIMIT 1;
SELECT detach('few_walks'::regclass);
SET client_min_messages = notice;
SELECT count(*) AS attached FROM attach('few_walks'::regclass, '{g}'::text[], 'r', 't', 'room', 'action', 'reward', views => '{values}', options => '{"states": "auto"}');
SELECT states FROM attachments() WHERE prefix = 'few_walks';
CREATE TABLE lots AS SELECT g, r, t, dice(g, r, t) % 3 AS action, CASE WHEN t = 2 THEN dice(g, r) / 16 % 2 END AS reward FROM generate_series(1, 16) g, generate_series(1, 6) r, generate_series(0, 2) t;
SELECT count(*) AS attached FROM attach('lots'::regclass, '{g}'::text[], 'r', 't', NULL, 'action', 'reward', views => '{values}', options => '{"states": "auto"}');
SELECT states FROM attachments() WHERE prefix = 'lots';
-- Two states score equally: their advantages are averaged, and shrunk where an action is rare
CREATE TABLE doors AS SELECT g, r, t, t || (ARRAY['open', 'wait'])[dice(g, r, t) / 16 % 2 + 1] AS action, CASE WHEN t = 2 THEN (dice(g, r, 1) + dice(g, r, 2)) / 16 % 2 END AS reward FROM generate_series(1, 24) g, generate_series(1, 10) r, generate_series(0, 2) t;
UPDATE doors d SET reward = (d.action = '2open' AND e.action = '1wait' OR d.action = '2wait' AND e.action = '1open')::integer FROM doors e WHERE d.t = 2 AND (e.g, e.r, e.t) = (d.g, d.r, 1);
SELECT view_name FROM attach('doors'::regclass, '{g}'::text[], 'r', 't', NULL, 'action', 'reward', views => '{values}', options => '{"states": "auto"}');
SELECT count(*), max(abs(v.advantage - a.advantage)) < 1e-12 AS same, count(*) FILTER (WHERE abs(a.advantage) > .05) > 300 AS large
FROM doors_state_average v JOIN (SELECT y.g, y.rollout_id, y.step_no, (y.advantage * y.n_action / (y.n_action + 1) + z.advantage * z.n_action / (z.n_action + 1)) / 2 AS advantage
	FROM (SELECT g, b.* FROM doors_values v, batch_td(history_states(v.rollouts, 'last', 2)) b) y JOIN (SELECT g, b.* FROM doors_values v, batch_td(history_states(v.rollouts, 'set')) b) z USING (g, rollout_id, step_no)) a USING (g, rollout_id, step_no);
SELECT (SELECT count(*) FROM state_average(g, false, false, false)) AS none, (SELECT max(abs(a.advantage - b.advantage * b.n_action / (b.n_action + 1))) < 1e-12
	FROM state_average(g, true, false, false, 0.9, 'std') a JOIN batch_td(g, 0.9, normalise => 'std') b USING (step_id)) AS one FROM (SELECT rollouts AS g FROM doors_values LIMIT 1) x;
-- Which action was taken matters, not what was done before: no state is among the best, and the notice says so, whichever other state is used
CREATE TABLE votes AS SELECT g, r, t, dice(g, r, t) / 16 % 2 AS action, CASE WHEN t = 2 THEN (dice(g, r, 0) / 16 % 2 + dice(g, r, 1) / 16 % 2 + dice(g, r, 2) / 16 % 2 > 1)::integer END AS reward FROM generate_series(1, 24) g, generate_series(1, 8) r, generate_series(0, 2) t;
SELECT count(*) AS attached FROM attach('votes'::regclass, '{g}'::text[], 'r', 't', NULL, 'action', 'reward', views => '{values}', options => '{"states": "auto"}');
SELECT state, is_best, finding FROM choose_state('votes'::regclass, max_groups => 40) ORDER BY state;
TRUNCATE lots;
SELECT attach('lots'::regclass, '{g}'::text[], 'r', 't', NULL, 'action', 'reward', prefix => 'none', options => '{"states": "auto"}');
SELECT attach('lots'::regclass, '{g}'::text[], 'r', 't', NULL, NULL, 'reward', prefix => 'none', options => '{"states": "auto"}');
SET client_min_messages = warning;
-- If the better policy prefers to wait, waiting looks good; after subtracting each policy's mean no difference remains.
CREATE TABLE played AS SELECT g, r, t, r % 2 AS model, t AS s, (dice(g, r, t) % 4 + 2 * (r % 2) > 2)::integer AS a, CASE WHEN t = 3 THEN (dice(g, r) / 16 % 8 < 1 + 6 * (r % 2))::integer END AS reward FROM generate_series(1, 40) g, generate_series(1, 8) r, generate_series(0, 3) t;
SELECT count(*) AS attached FROM attach('played'::regclass, '{g}'::text[], 'r', 't', 's', 'a', 'reward', views => '{values}');
SELECT count(*) FILTER (WHERE score > 2 * error) > 0 AS fooled, min(p_value) < 0.01 AS p FROM choose_state('played'::regclass, method => 'rtmc');
SELECT count(*) FILTER (WHERE score > 2 * error) AS fooled, min(p_value) > 0.05 AS p, min(regexp_replace(finding, '\(p .*\)', '(p …)')) AS finding FROM choose_state('played'::regclass, policy => 'model', method => 'rtmc');
-- A state that hides something is named whatever the score.
SELECT stepadv_internal.credit_finding(40, 0.29, 300, true, 'batch_td', 1e-6) AS finding;
-- Each of the policies plays once in a group: nothing is left of its outcome.
SELECT DISTINCT score, p_value, is_best, finding FROM choose_state('played'::regclass, policy => 'r', method => 'rtmc');
SELECT choose_state('walk'::regclass, '[]');
SELECT choose_state('walk'::regclass, '{"x": "nothing"}');
SELECT choose_state('chosen'::regclass);
SELECT choose_state('walk'::regclass, method => 'x');

-- Methods come in the order of their true rank over problems of which the truth is known (docs/results/credit.md): .16, .44, .71.
\i test/sim/simulator.sql
\i test/credit/credit.sql
\i test/credit/problems.sql
SELECT credit.prepare();
SET client_min_messages = warning;
SELECT string_agg(method, ' < ' ORDER BY score) AS methods
FROM (SELECT n.method, avg(c.score) AS score
      FROM credit.problems p, LATERAL (
          SELECT array_agg(ARRAY[credit_sums(ARRAY[x.g], 'grpo', shuffles => 4), credit_sums(ARRAY[x.g], 'graphgpo', shuffles => 4), credit_sums(ARRAY[x.g], shuffles => 4)]) AS sums
          FROM (SELECT rollout_agg((s.rollout_id << 20) + s.step_no, s.rollout_id, s.step_no, s.state_hash, s.action_hash, s.reward) AS g FROM credit.simulate(p.problem, 64, 1) s GROUP BY (s.rollout_id - 1) / 8) x) y,
          credit_check(y.sums) c JOIN unnest('{grpo,graphgpo,batch_td}'::text[]) WITH ORDINALITY n(method, i) ON n.i = c.candidate
      WHERE p.problem <> 'walls' GROUP BY 1) x;
DROP SCHEMA credit_check CASCADE;

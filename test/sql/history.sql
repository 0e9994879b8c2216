-- history and decay of rtmc and batch_td: by hand, against the union as one group, and against plain SQL on random groups.
CREATE SCHEMA history;
SET search_path = history, stepadv, public;
SET jit = off;
SET enable_nestloop = off;
\set VERBOSITY terse

CREATE TABLE x AS
SELECT part, rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, policy) AS g FROM (VALUES
	('g', 10, 1, 0, 1, 1, 0::float8, 9), ('g', 11, 1, 1, 2, 1, 0, 9), ('g', 20, 2, 0, 1, 1, 0, 7), ('g', 21, 2, 1, 1, 2, 0, 7),
	('h', 30, 3, 0, 2, 2, 1, 8), ('h', 40, 4, 0, 1, 1, 1, 7), ('h', 50, 5, 0, 1, 3, NULL, 8)) v(part, id, rollout, no, state, action, reward, policy)
GROUP BY part;
CREATE VIEW pair AS SELECT (SELECT g FROM x WHERE part = 'g') AS g, (SELECT g FROM x WHERE part = 'h') AS h;

-- The newest of the group is of policy 9, so decay 0.5 weighs rollout 3 with 1/2 and 4 with 1/4; 5 is not judged.
-- State 2: V = 1/2 / (1 + 1/2) = 1/3. State 1 (gamma 0.5): (3 + 1/4) V = 1/6 + V/2 + 0 + 1/4, so V = 5/12 / 2.75 = 5/33.
-- Q(1,1): targets 1/6, 5/66 and, a quarter, 1: (11/66 + 5/66 + 16.5/66) / 2.25 = 65/297.
-- Its stderr: the deviations are -95.5/594, -149.5/594... from 130/594: 99/594, 45/594, 594/594; W = 9/4, W2 = 33/16
SELECT step_id, return, n_state, n_action, round((q * 297)::numeric, 9) AS q_297, round((v * 33)::numeric, 9) AS v_33, round((advantage * 297)::numeric, 9) AS advantage_297
FROM pair, batch_td(g, gamma => 0.5, history => h, decay => 0.5, prior => 0);
SELECT step_id, round((stderr ^ 2)::numeric, 12) AS variance,
	round(((power(99 - 130, 2) + power(45 - 130, 2) + power(594 - 130, 2) / 4) / 594 ^ 2 / (9 / 4.0 - 33 / 16.0 / (9 / 4.0)) * (33 / 16.0) / (81 / 16.0))::numeric, 12) AS expected
FROM pair, batch_td(g, gamma => 0.5, history => h, decay => 0.5, prior => 0) WHERE step_id = 10;
-- rtmc: Q(1,1) = (0 + 0 + 1/4) / 2.25 = 1/9; the success rate is (1/2 + 1/4) / 2.75 = 3/11: V'(1) = (1/4 + 2 * 3/11) / (3.25 + 2)
SELECT step_id, n_state, n_action, round((q * 9)::numeric, 9) AS q_9, round((v * 5.25 * 44)::numeric, 9) AS v_35
FROM pair, rtmc(g, gamma => 0.5, history => h, decay => 0.5) WHERE step_id IN (10, 20);
-- start_value: (0 + 0 + 1/2 + 1/4) / 2.75, the same here; of first steps that are worth more it is not
SELECT step_id, round(v::numeric, 9) AS v, round(((0.25 + 2 * 3 / 11.0) / 5.25)::numeric, 9) AS expected FROM pair, rtmc(g, gamma => 0.5, prior_mean => 'start_value', history => h, decay => 0.5) WHERE step_id = 10;

-- Without a history, or with one of no rollouts, policies are not needed; nor without decay.
CREATE TABLE plain AS SELECT rollout_agg(i, i % 4, i / 4, i % 3, i % 2, (i % 5)::float8) AS g, (SELECT rollout_agg(1, 1, 1, 1, 1, 1) FROM generate_series(1, 0)) AS nothing
FROM generate_series(1, 20) i;
SELECT count(*), bool_and(a = b) FROM plain, rtmc(g) a JOIN rtmc(g, history => nothing, decay => 0.5) b USING (step_id);
SELECT count(*), bool_and(a = b) FROM plain, batch_td(g, gamma => 0.9, prior => 0) a JOIN batch_td(g, history => NULL, decay => 0.5, gamma => 0.9, prior => 0) b USING (step_id);
-- A group is its own history: each rollout once.
SELECT count(*), bool_and(a = b) FROM plain, batch_td(g, gamma => 0.9, prior => 0) a JOIN batch_td(g, history => g, gamma => 0.9, prior => 0) b USING (step_id);
SELECT count(*), bool_and(a = b) FROM pair, rtmc(g) a JOIN rtmc(g, history => g, decay => 0.5) b USING (step_id);
-- The group wins over its history: in the history rollout 1 is a success, and of another policy.
SELECT a.step_id, a.n_state, a.q FROM pair, LATERAL (SELECT rollout_agg(id, r, no, 1, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3) AS h2 FROM (VALUES (99, 1, 5), (98, 6, 1)) v(id, r, no)) y, rtmc(g, history => h2) a
WHERE a.step_id IN (10, 11);

-- Random groups: eight tasks of a walk over states, several policies each, the last two of which are the group.
CREATE FUNCTION dice(key text, n integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT ('x' || substr(md5(key), 1, 7))::bit(28)::integer % n $$;
CREATE TABLE walk AS
SELECT task, r AS rollout, p AS policy, p >= 6 AS own, t AS no, (task * 100 + r) * 100 + t AS id,
	dice(concat_ws(' ', task, r, t, 's'), 6) AS state, dice(concat_ws(' ', task, r, t, 'a'), 2) AS action,
	CASE WHEN r % 9 <> 4 THEN CASE WHEN t = 1 + dice(concat_ws(' ', task, r), 9) THEN dice(concat_ws(' ', task, r, 'won'), 2) ELSE dice(concat_ws(' ', task, r, t, 'r'), 5) / 64.0 * (task % 2) END END::float8 AS reward
FROM generate_series(1, 40) task, generate_series(1, 24) r, LATERAL (SELECT CASE WHEN r <= 8 THEN 6 + r % 2 ELSE dice(concat_ws(' ', task, r, 'p'), 6) END) p(p),
	LATERAL generate_series(1, 1 + dice(concat_ws(' ', task, r), 9)) t;
CREATE TABLE walks AS
SELECT task, rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, no / 2, NULL, NULL, policy) FILTER (WHERE own) AS g,
	rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, no / 2, NULL, NULL, policy) FILTER (WHERE NOT own) AS h,
	rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, no / 2, NULL, NULL, policy) AS together
FROM walk GROUP BY task;

-- With decay 1: exactly the group's rows of the two as one.
CREATE FUNCTION off(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE
AS $$ SELECT a IS DISTINCT FROM b AND (a IS NULL OR b IS NULL OR abs(a - b) > 1e-9 * greatest(1e-3, abs(a), abs(b))) $$;
SELECT normalise, visit, prior_mean, count(*), count(*) FILTER (WHERE a.n_state <> b.n_state OR a.n_action <> b.n_action OR off(a.return, b.return) OR
	off(a.q, b.q) OR off(a.v, b.v) OR off(a.stderr, b.stderr) OR off(a.advantage, b.advantage)) AS off
FROM walks, (VALUES (false, 'first', 'success_rate'), (true, 'every', 'start_value')) o(normalise, visit, prior_mean),
	rtmc(g, normalise => o.normalise, visit => o.visit, prior_mean => o.prior_mean, history => h) a
	JOIN rtmc(together, normalise => o.normalise, visit => o.visit, prior_mean => o.prior_mean) b USING (step_id, rollout_id, step_no) GROUP BY 1, 2, 3;
SELECT lambda, prior, count(*), count(*) FILTER (WHERE a.n_state <> b.n_state OR a.n_action <> b.n_action OR off(a.return, b.return) OR
	off(a.q, b.q) OR off(a.v, b.v) OR off(a.stderr, b.stderr) OR off(a.advantage, b.advantage)) AS off
FROM walks, (VALUES (0, 0), (0.5, 1), (1, 0)) o(lambda, prior), batch_td(g, lambda => o.lambda, prior => o.prior, history => h, gamma => 0.9, prior_mean => 'success_rate') a
	JOIN batch_td(together, lambda => o.lambda, prior => o.prior, gamma => 0.9, prior_mean => 'success_rate') b USING (step_id, rollout_id, step_no) GROUP BY 1, 2;
-- The same rows in the same order as without.
SELECT count(*), bool_and(ARRAY(SELECT a.step_id FROM rtmc(g) a) = ARRAY(SELECT a.step_id FROM rtmc(g, history => h) a)) AS same FROM walks;
-- Turns as steps
SELECT count(*), count(*) FILTER (WHERE off(a.q, b.q) OR off(a.v, b.v) OR off(a.advantage, b.advantage) OR a.n_state <> b.n_state) AS off
FROM walks, batch_td(by_turn(g), history => by_turn(h), gamma => 0.9, prior => 0) a JOIN batch_td(by_turn(together), gamma => 0.9, prior => 0) b USING (step_id);

-- With decay, in plain SQL. The table of visits, each with its weight.
CREATE FUNCTION weighted(decay float8) RETURNS TABLE (task integer, own boolean, rollout integer, no integer, id integer, state integer, action integer, reward float8, w float8)
LANGUAGE sql AS $$
	SELECT w.task, own, rollout, no, id, state, action, reward, CASE WHEN own THEN 1 ELSE power(decay, newest - policy) END
	FROM walk w JOIN (SELECT task, max(policy) AS newest FROM walk WHERE own AND reward IS NOT NULL GROUP BY task) n USING (task) WHERE reward IS NOT NULL
$$;
CREATE FUNCTION rtmc_ref(decay float8, first boolean, start_value boolean) RETURNS TABLE (task integer, own boolean, w float8, id integer, n_state bigint, n_action bigint, q float8, v float8, stderr float8)
LANGUAGE sql AS $$
	WITH step AS (
		SELECT s.*, sum(reward * power(0.9, no)) OVER (PARTITION BY task, rollout ORDER BY no DESC) / power(0.9, no) AS g,
			CASE WHEN NOT first OR row_number() OVER (PARTITION BY task, rollout, state, action ORDER BY no) = 1 THEN w END AS vw
		FROM weighted(decay) s
	), prior AS (
		SELECT task, CASE WHEN start_value THEN sum(w * g) / sum(w) ELSE sum(w * success) / sum(w) END AS p
		FROM (SELECT task, rollout, min(w) AS w, min(g) FILTER (WHERE no = 1) AS g, (sum(reward) > 0)::integer AS success FROM step GROUP BY 1, 2) r GROUP BY task
	), pair AS (
		SELECT task, state, action, count(vw) AS n, sum(vw) AS w, sum(vw * vw) AS w2, sum(vw * g) / sum(vw) AS q FROM step GROUP BY 1, 2, 3
	), spread AS (
		SELECT task, state, action, CASE WHEN min(n) > 1 THEN sqrt(sum(vw * (g - q) ^ 2) / (min(p.w) - min(w2) / min(p.w)) * min(w2) / min(p.w) ^ 2) END AS se
		FROM step JOIN pair p USING (task, state, action) GROUP BY 1, 2, 3
	), value AS (
		SELECT task, state, sum(n)::bigint AS n, (sum(w * q) + 2 * min(p)) / (sum(w) + 2) AS v FROM pair JOIN prior USING (task) GROUP BY 1, 2
	)
	SELECT task, own, step.w, id, value.n, pair.n, q, v, se FROM step JOIN pair USING (task, state, action) JOIN spread USING (task, state, action) JOIN value USING (task, state)
$$;
SELECT decay, first, start_value, count(*), count(r.id) AS known, count(*) FILTER (WHERE a.n_state <> r.n_state OR a.n_action <> r.n_action OR off(a.q, r.q) OR off(a.v, r.v) OR
	off(a.stderr, r.stderr) OR off(a.advantage, r.q - r.v)) AS off
FROM (VALUES (0.5, true, false), (0.9, false, true), (1, true, true)) o(decay, first, start_value),
	LATERAL (SELECT a.* FROM walks, rtmc(g, gamma => 0.9, visit => CASE WHEN first THEN 'first' ELSE 'every' END, prior_mean => CASE WHEN start_value THEN 'start_value' ELSE 'success_rate' END,
		history => h, decay => o.decay) a WHERE a.advantage IS NOT NULL) a
	FULL JOIN LATERAL (SELECT * FROM rtmc_ref(o.decay, o.first, o.start_value) WHERE own) r ON r.id = a.step_id
GROUP BY 1, 2, 3 ORDER BY 1;
-- normalise: by the weighted deviation of the advantages of all steps
CREATE TABLE ref AS SELECT *, q - v AS advantage FROM rtmc_ref(0.5, true, false);
SELECT count(*), count(*) FILTER (WHERE off(a.advantage, r.advantage / sd)) AS off
FROM (SELECT task, sqrt(sum(w * (advantage - mean) ^ 2) / sum(w)) AS sd
	FROM (SELECT *, sum(w * advantage) OVER t / sum(w) OVER t AS mean FROM ref WINDOW t AS (PARTITION BY task)) x GROUP BY task) sd
	JOIN ref r USING (task) JOIN walks USING (task), rtmc(g, gamma => 0.9, normalise => true, history => h, decay => 0.5) a WHERE a.step_id = r.id;

-- Bellman's equations by iteration: the targets of a visit without and with the values after them; the matrix is squared in each round.
CREATE FUNCTION batch_td_ref(decay float8, gamma float8, lambda float8, prior float8) RETURNS TABLE (task integer, own boolean, id integer, q float8, v float8, stderr float8) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
	CREATE TEMP TABLE step ON COMMIT DROP AS
		SELECT s.*, lead(state) OVER (PARTITION BY task, rollout ORDER BY no) AS next, sum(w) OVER (PARTITION BY task, state) AS n FROM weighted(batch_td_ref.decay) s;
	CREATE TEMP TABLE mean ON COMMIT DROP AS
		SELECT task, sum(w * success) / sum(w) AS m FROM (SELECT task, rollout, min(w) AS w, (sum(reward) > 0)::integer AS success FROM step GROUP BY 1, 2) r GROUP BY task;
	CREATE TEMP TABLE spread ON COMMIT DROP AS
		SELECT a.task, a.id, a.state, a.n, a.w, b.next, power(batch_td_ref.gamma * batch_td_ref.lambda, b.no - a.no) * b.reward AS c,
			power(batch_td_ref.gamma * batch_td_ref.lambda, b.no - a.no) * batch_td_ref.gamma * (1 - batch_td_ref.lambda) AS m
		FROM step a JOIN step b USING (task, rollout) WHERE b.no >= a.no;
	CREATE TEMP TABLE c0 ON COMMIT DROP AS
		SELECT task, state AS i, (sum(w * c) + batch_td_ref.prior * min(m.m)) / (min(n) + batch_td_ref.prior) AS c FROM spread JOIN mean m USING (task) GROUP BY 1, 2;
	CREATE TEMP TABLE m0 ON COMMIT DROP AS
		SELECT task, state AS i, next AS j, sum(w * m) / (min(n) + batch_td_ref.prior) AS m FROM spread WHERE next IS NOT NULL GROUP BY 1, 2, 3;
	FOR round IN 1 .. 16 LOOP
		CREATE TEMP TABLE c1 ON COMMIT DROP AS SELECT c0.task, c0.i, c0.c + coalesce(d.c, 0) AS c FROM c0 LEFT JOIN (
			SELECT m0.task, m0.i, sum(m0.m * c0.c) AS c FROM m0 JOIN c0 ON (c0.task, c0.i) = (m0.task, m0.j) GROUP BY 1, 2) d USING (task, i);
		CREATE TEMP TABLE m1 ON COMMIT DROP AS SELECT a.task, a.i, b.j, sum(a.m * b.m) AS m FROM m0 a JOIN m0 b ON (b.task, b.i) = (a.task, a.j) WHERE a.m * b.m > 1e-40 GROUP BY 1, 2, 3;
		DROP TABLE c0, m0;
		ALTER TABLE c1 RENAME TO c0;
		ALTER TABLE m1 RENAME TO m0;
	END LOOP;
	RETURN QUERY
		WITH target AS (
			SELECT s.task, s.id, sum(s.c + coalesce(s.m * c0.c, 0)) AS t FROM spread s LEFT JOIN c0 ON (c0.task, c0.i) = (s.task, s.next) GROUP BY 1, 2
		), pair AS (
			SELECT task, state, action, count(*) AS n, sum(w) AS w, sum(w * w) AS w2, sum(w * t) / sum(w) AS q FROM step JOIN target USING (task, id) GROUP BY 1, 2, 3
		), error AS (
			SELECT task, state, action, CASE WHEN min(p.n) > 1 THEN sqrt(sum(step.w * (t - q) ^ 2) / (min(p.w) - min(w2) / min(p.w)) * min(w2) / min(p.w) ^ 2) END AS se
			FROM step JOIN target USING (task, id) JOIN pair p USING (task, state, action) GROUP BY 1, 2, 3
		)
		SELECT task, own, id, q, c0.c, se FROM step JOIN pair USING (task, state, action) JOIN error USING (task, state, action) JOIN c0 USING (task) WHERE c0.i = state;
	DROP TABLE step, mean, spread, c0, m0;
END $$;
SELECT decay, gamma, lambda, prior, count(*), count(r.id) AS known, count(*) FILTER (WHERE off(a.q, r.q) OR off(a.v, r.v) OR off(a.stderr, r.stderr) OR off(a.advantage, r.q - r.v)) AS off
FROM (VALUES (0.5, 0.9, 0, 0), (0.9, 1, 0, 0), (0.8, 0.9, 0.5, 1), (0.1, 0.9, 0.9, 0), (0.7, 0.9, 1, 2)) o(decay, gamma, lambda, prior),
	LATERAL (SELECT a.* FROM walks, batch_td(g, gamma => o.gamma, lambda => o.lambda, prior => o.prior, history => h, decay => o.decay, prior_mean => 'success_rate') a WHERE a.advantage IS NOT NULL) a
	FULL JOIN LATERAL (SELECT * FROM batch_td_ref(o.decay, o.gamma, o.lambda, o.prior) WHERE own) r ON r.id = a.step_id
GROUP BY 1, 2, 3, 4 ORDER BY 1;

-- Rollouts under other numbers, rows in any order.
CREATE TABLE turned AS
SELECT task, rollout_agg(id, 1000 - rollout * 7 % 29, no * 3, state, action, reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, policy ORDER BY md5(id::text)) FILTER (WHERE own) AS g,
	rollout_agg(id, 1000 - rollout * 7 % 29, no * 3, state, action, reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, policy ORDER BY md5(id::text)) FILTER (WHERE NOT own) AS h
FROM walk GROUP BY task;
SELECT count(*), count(*) FILTER (WHERE off(a.q, b.q) OR off(a.v, b.v) OR off(a.stderr, b.stderr) OR off(a.advantage, b.advantage)) AS off
FROM walks w JOIN turned t USING (task), batch_td(w.g, history => w.h, decay => 0.7, gamma => 0.9, prior => 0) a JOIN batch_td(t.g, history => t.h, decay => 0.7, gamma => 0.9, prior => 0) b USING (step_id);

-- A history so old that its weight is negligible beside the group's own visits, and is used only where there are none: the group alone, but for n_state.
SELECT count(*), count(*) FILTER (WHERE off(a.q, b.q) OR off(a.v, b.v)) AS off, bool_or(a.n_state > b.n_state) AS counted
FROM (SELECT task, rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN own THEN 9223372036854775807 ELSE -9223372036854775807 END) FILTER (WHERE own) AS g,
	rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, -9223372036854775807) FILTER (WHERE NOT own) AS h FROM walk GROUP BY task) o,
	batch_td(g, prior => 1, baseline => 0.3, history => h, decay => 0.99, gamma => 0.9) a JOIN batch_td(g, prior => 1, baseline => 0.3, gamma => 0.9) b USING (step_id);
-- Newer than the group is as new as the group.
SELECT count(*), count(*) FILTER (WHERE off(a.q, b.q) OR off(a.v, b.v)) AS off
FROM walks w, rtmc(h, history => g, decay => 0.5) a JOIN rtmc(h, history => (SELECT rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 77) FROM walk k WHERE k.task = w.task AND own), decay => 0.5) b USING (step_id);

-- Without policy_step: an error that names the first such rollout; decay 1 needs none.
CREATE TABLE unknown AS
SELECT task, rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN rollout <> 3 THEN policy END) FILTER (WHERE own) AS g,
	rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN rollout <> 14 THEN policy END) FILTER (WHERE NOT own) AS h,
	stepadv_internal.lenient_rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN rollout <> 3 THEN policy END, NULL, NULL) FILTER (WHERE own) AS g_lenient,
	stepadv_internal.lenient_rollout_agg(id, rollout, no, state, action, reward, NULL) FILTER (WHERE own) AS g_of_none,
	rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, policy) FILTER (WHERE NOT own AND rollout <> 14) AS h_without
FROM walk WHERE task = 1 GROUP BY task;
\set VERBOSITY default
SELECT count(*) FROM walks w JOIN unknown u USING (task), rtmc(u.g, history => w.h, decay => 0.9) a;
SELECT count(*) FROM walks w JOIN unknown u USING (task), batch_td(w.g, history => u.h, decay => 0.9, gamma => 0.9, prior => 0) a;
\set VERBOSITY terse
SELECT count(*), count(advantage) > 0 AS judged FROM unknown, rtmc(g, history => h) a;
-- In a lenient group such a rollout is left out of the history; if no policy of the group itself is known, estimates are NULL.
SELECT count(*), count(*) FILTER (WHERE off(a.q, b.q) OR off(a.v, b.v)) AS off, bool_and(a.n_state = b.n_state) AS same_visits
FROM unknown, rtmc(g_lenient, history => h, decay => 0.9) a JOIN rtmc(g_lenient, history => h_without, decay => 0.9) b USING (step_id);
SELECT count(*), count(advantage) AS known FROM unknown, batch_td(g_of_none, history => h_without, decay => 0.9, gamma => 0.9, prior => 0) a;

-- Errors
SELECT count(*) FROM walks, rtmc(g, history => by_turn(h)) a;
\set VERBOSITY default
SELECT count(*) FROM walks, batch_td(by_turn(g), history => by_turn(h, 'set'), gamma => 0.9, prior => 0) a;
\set VERBOSITY terse
SELECT count(*) FROM walks, rtmc(g, history => h, decay => 0) a;
SELECT count(*) FROM walks, rtmc(g, history => h, decay => 1.5) a;
SELECT count(*) FROM walks, batch_td(g, decay => 0, gamma => 0.9, prior => 0) a;
SELECT count(*) FROM walks, batch_td(g, decay => NULL, gamma => 0.9, prior => 0) a;
-- A return out of range in the history is an error too, unless the group is lenient.
CREATE TABLE large AS SELECT rollout_agg(i, 77, i, 1, 1, 1e308) AS h FROM generate_series(1, 2) i;
SELECT a.* FROM walks, large, rtmc(g, history => large.h) a WHERE task = 1;
SELECT bool_and(a = b) FROM unknown, large, rtmc(g_lenient, history => large.h) a JOIN rtmc(g_lenient) b USING (step_id);

SET client_min_messages = warning;
DROP SCHEMA history CASCADE;

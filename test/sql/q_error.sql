-- q_error and confidence of rtmc and batch_td: src/estimators/q_error.c, bellman_error.c.
SET extra_float_digits = 0;

-- By hand. Four rollouts of one step in one state, action 1 three times with returns 1, 1, 0, action 2 once with 0. No prior, gamma 1.
-- Outcomes: 4 of them and half at 0, half at 1: mean 2.5 / 5 = 1/2, variance 1/4. Sums of squares: 2/3 of action 1, 0 of action 2.
-- For q_error, the state's mean is 1/2, as the outcomes'; one visit more of it: 5/8 and 1/4, so f is 2/3 * 15/64 + 1/12 = 23/96 and 5/24. Group (2/3 * 96/23 + 1) / 3 = 29/23,
-- state (5 * 29/23 + 64/23) / 7 = 209/161, action 1 (128 * 209/161 * 23/96 + 2/3) / 130, action 2 209/161 * 5/24; t = 1.5; nine visits of the state move q by 9/12 * 1/6 and 9/10 * 1/2.
-- For confidence, group (2/3 + 2/4) / 4 = 7/24, state (4 * 7/24 + 2/3) / 6 = 11/36, action 1 (4 * 11/36 + 2/3) / 6 = 17/54, action 2 11/36;
-- A is 1/6 and -1/2, with variances (1/4)^2 (17/162 + 11/36) and (3/4)^2 of the same: which of two is better is one question. Four rollouts: x is x (1 - 1/16) / sqrt(1 + x^2 / 8).
CREATE TABLE qe_hand (i integer, a integer, reward float8, ps bigint);
INSERT INTO qe_hand VALUES (1, 1, 1), (2, 1, 1), (3, 1, 0), (4, 2, 0);
SELECT a.step_id, a.q, a.q_error, abs(a.q_error - h.q_error) < 1e-12 AS same, a.confidence, abs(a.confidence - erfc) < 1e-12 AS as_sure
FROM stepadv.rtmc((SELECT stepadv.rollout_agg(i, i, 1, 7, a, reward) FROM qe_hand), gamma => 1, prior => 0) a,
	LATERAL (SELECT 1.5 * CASE WHEN a.step_id < 4 THEN sqrt((128.0 * 209 / 161 * 23 / 96 + 2.0 / 3) / 130 / 4 + (9.0 / 12 / 6) ^ 2) ELSE sqrt(209.0 / 161 * 5 / 24 / 2 + (0.9 / 2) ^ 2) END AS q_error) h,
	-- Phi by Abramowitz and Stegun 7.1.6, a series for erf.
	LATERAL (SELECT (1.0 / 6 / sqrt((17.0 / 162 + 11.0 / 36) / 16))::float8 AS x) t,
	LATERAL (SELECT 0.5 + t.x * 15 / 16 / sqrt(1 + t.x ^ 2 / 8) AS z) z,
	LATERAL (SELECT 0.5 + exp(-x * x / 2) / sqrt(2 * pi()) * sum(term) AS erfc
		FROM (SELECT z.z - 0.5 AS x) x, LATERAL (
			SELECT exp((2 * k + 1) * ln(x) - (SELECT coalesce(sum(ln(2 * j + 1)), 0) FROM generate_series(1, k) j)) AS term FROM generate_series(0, 60) k) s GROUP BY x) e
ORDER BY 1;

-- Bellman: twice state 1, then state 2, then the end, once with 1 and once with 0, gamma 1. V is 1/2 in both. Outcomes: mean 1/2, variance
-- 1/4, half of it per step. Sums of squares 0 and 1/2. Group (1/2 + 1/8) / 3 = 5/24; state 1 5/6 * 5/24, pair 1 128/129 of it; state 2 (5 * 5/24 + 1/2) / 6 = 37/144,
-- pair 2 (128 * 37/144 + 1/2) / 129. u(2) = pair 2 / 2, t = 1.9, and every mean is 1/2.
SELECT a.step_no, a.q, a.stderr, a.q_error, abs(a.q_error - h.q_error) < 1e-12 AS same, a.confidence
FROM stepadv.batch_td((SELECT stepadv.rollout_agg(2 * r + t, r, t, t, 1, CASE WHEN t = 2 THEN r END) FROM generate_series(0, 1) r, generate_series(1, 2) t), gamma => 1, prior => 0) a,
	(SELECT 128.0 / 129 * 25 / 144 AS one, (128.0 * 37 / 144 + 0.5) / 129 AS two) pair,
	LATERAL (SELECT CASE a.step_no WHEN 1 THEN 1.9 * sqrt(one / 2.75 + two / 2) ELSE 1.9 * sqrt(two / 2.75) END AS q_error) h
WHERE a.rollout_id = 1 ORDER BY 1;

-- Weights. A rollout with return 1 and one of the history with 0 that counts half: q 2/3, 1.8 visits and rollouts. Outcomes: mean 1.5 / 2.5, variance
-- (0.16 + 0.36 / 2 + (0.36 + 0.16) / 2) / 2.5 = 0.24, f of the same 0.24; squares 1.8 * (1/9 + 4/9/2) / 1.5 = 0.4. V is 2/3, with one outcome more (1.2 + 0.6) / 2.8 = 9/14, 1/42 below q,
-- and m is q - 1/42/2.8. Group (0.4/f + 1) / 1.8, state (5 group + 0.4/f) / 5.8, pair (128 state f + 0.4) / 128.8; t = 1 + 2 / 1.8.
SELECT q, abs(q_error - (1 + 2 / 1.8) * sqrt((128 * (5 * (0.4 / f + 1) / 1.8 + 0.4 / f) / 5.8 * f + 0.4) / 128.8 / 2.8 + (9 / 10.8 / 42) ^ 2)) < 1e-12 AS same
FROM (SELECT 2.0 / 3 * m * (1 - m) + 0.24 / 3 AS f FROM (SELECT 2.0 / 3 - 1 / 42.0 / 2.8 AS m) m) f,
	stepadv.rtmc((SELECT stepadv.rollout_agg(1, 1, 1, 7, 1, 1.0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1)),
	history => (SELECT stepadv.rollout_agg(2, 2, 1, 7, 1, 0.0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0)), decay => 0.5);

-- In plain SQL, on groups at random: loops, states where nothing else was tried, rewards of either sign on the way.
SELECT setseed(0.25);
CREATE TABLE qe AS
SELECT (g * 10 + r) * 100 + t AS step_id, g, r, t, (random() * 4)::integer AS s, (random() * 2)::integer AS a,
	CASE WHEN t = n THEN (random() * 3)::integer - 1 WHEN random() < 0.3 THEN 0.5 - random() END AS reward
FROM generate_series(1, 18) g, LATERAL (SELECT r, 1 + (random() * 9)::integer AS n FROM generate_series(1, 1 + g % 9) r) r, generate_series(1, n) t;
CREATE TABLE qe_folded AS SELECT g, stepadv.rollout_agg(step_id, r, t, s, a, reward) AS rollouts FROM qe GROUP BY g;

-- Other columns of rtmc and batch_td (q, v, return) are tested elsewhere, and taken as known here.
CREATE FUNCTION qe_check(td boolean, gamma float8, lambda float8, prior float8, first_visits boolean)
RETURNS TABLE (steps bigint, wrong_error bigint, wrong_confidence bigint, unsure bigint)
LANGUAGE plpgsql SET client_min_messages = warning AS
$$
DECLARE
	later float8 := CASE WHEN td AND lambda < 1 THEN gamma * (1 - lambda) / (1 - gamma * lambda) ELSE 0 END;
	more float8 := CASE WHEN td THEN 0.75 ELSE 1 END;
	centre float8 := CASE WHEN td THEN 3 ELSE 9 END;
	us float8[];
	bs float8[];
BEGIN
	DROP TABLE IF EXISTS answer, step, pair, state;
	IF td THEN
		CREATE TEMP TABLE answer AS SELECT f.g, a.* FROM qe_folded f, stepadv.batch_td(f.rollouts, gamma => gamma, lambda => lambda, prior => prior, baseline => 0.3) a;
	ELSE
		CREATE TEMP TABLE answer AS SELECT f.g, a.* FROM qe_folded f, stepadv.rtmc(f.rollouts, gamma => gamma, prior => prior, baseline => 0.3,
			visit => CASE WHEN first_visits THEN 'first' ELSE 'every' END) a;
	END IF;
	CREATE TEMP TABLE step AS
	WITH RECURSIVE known AS (
		SELECT q.*, a.q, a.v, a.advantage, a."return" AS earned, a.q_error, a.confidence, lead(q.s) OVER w AS next, lead(a.v) OVER w AS next_v,
			NOT first_visits OR row_number() OVER (PARTITION BY q.g, q.r, q.s, q.a ORDER BY q.t) = 1 AS visit, q.t = 1 AS starts, count(*) OVER (PARTITION BY q.g, q.r) AS n
		FROM qe q JOIN answer a USING (g, step_id) WINDOW w AS (PARTITION BY q.g, q.r ORDER BY q.t)
	), targets AS (
		SELECT k.step_id, k.g, k.r, k.t, coalesce(k.reward, 0) AS target FROM known k WHERE k.next IS NULL
		UNION ALL
		SELECT k.step_id, k.g, k.r, k.t, coalesce(k.reward, 0) + gamma * ((1 - lambda) * k.next_v + lambda * t.target)
		FROM targets t JOIN known k ON k.g = t.g AND k.r = t.r AND k.t = t.t - 1
	)
	SELECT k.*, CASE WHEN td THEN t.target ELSE k.earned END AS target FROM known k JOIN targets t USING (step_id);
	-- Lengths are in the scale of the data here, not in units.
	CREATE TEMP TABLE pair AS
	WITH bounds AS (SELECT g, least(min(earned), 0) AS low, greatest(max(earned), 0) AS high FROM step GROUP BY g),
	start AS (
		SELECT s.g, b.low, CASE WHEN b.high > b.low THEN b.high ELSE b.low + 1 END AS high, count(*) AS n, sum(s.earned) AS total, array_agg(s.earned) AS all_earned,
			-- An innovation's share of a return's variance.
			sum((SELECT sum((gamma * lambda) ^ (2 * i)) FROM generate_series(0, s.n - 1) i)) / sum((SELECT sum(gamma ^ (2 * i)) FROM generate_series(0, s.n - 1) i)) AS share
		FROM step s JOIN bounds b USING (g) WHERE s.starts GROUP BY s.g, b.low, b.high
	),
	outcomes AS (
		SELECT g, n, CASE WHEN td THEN share ELSE 1 END AS share, low, high - low AS unit, (mean - low) / (high - low) AS mean,
			((SELECT sum((e - mean) ^ 2) FROM unnest(all_earned) e) + (low - mean) ^ 2 / 2 + (high - mean) ^ 2 / 2) / (n + 1) AS variance
		FROM start, LATERAL (SELECT (total + (low + high) / 2) / (n + 1) AS mean) m
	),
	spread AS (SELECT g, s, a, count(*) AS n, sum((target - q) ^ 2) AS squares, min(q) AS q, min(v) AS v FROM step WHERE visit GROUP BY g, s, a),
	-- The state's mean, and how much may be varied by: in units.
	centred AS (
		SELECT p.*, o.n AS rollouts, o.variance AS outcome_variance, o.share, o.low, o.unit, o.mean * (1 - o.mean) AS of_outcomes, (p.q - o.low) / o.unit AS here,
			(sum(p.n) OVER in_state * least(greatest((p.v - o.low) / o.unit, 0), 1) + o.mean) / (sum(p.n) OVER in_state + 1) AS there
		FROM spread p JOIN outcomes o USING (g) WINDOW in_state AS (PARTITION BY g, s)
	),
	scaled AS (
		SELECT c.*, k.*, CASE WHEN k.k0 = 2 OR td THEN 1 ELSE 2.0 / 3 * m * (1 - m) + of_outcomes / 3 END AS f, CASE WHEN k.k0 = 2 OR td THEN 1 ELSE of_outcomes END AS f0
		FROM centred c, LATERAL (SELECT (n * here + there) / (n + 1) AS m) m, (VALUES (1, 5, 128), (2, 4, 4)) k(k0, k1, k2)
	),
	pooled AS (
		SELECT *, (k1 * (sum(squares / f) OVER in_group + k0 * outcome_variance * share / f0) / (sum(n - 1) OVER in_group + k0) + sum(squares / f) OVER in_state) / (k1 + sum(n - 1) OVER in_state) AS of_state
		FROM scaled WINDOW in_group AS (PARTITION BY g, k0), in_state AS (PARTITION BY g, k0, s)
	)
	SELECT g, s, a, n, q, v, rollouts, (here - there) * unit AS away, k0, (k2 * of_state * f + squares) / (k2 + n - 1) AS variance FROM pooled;
	CREATE TEMP TABLE state AS
	SELECT s.g, s.s, s.n, s.n + prior - later * s.staying AS less, later * (s.n - s.staying) / (s.n + prior - later * s.staying) AS w, s.n - s.staying AS leaving,
		p.innovation / (s.n + prior - later * s.staying) ^ 2 AS new, prior * (0.3 - p.v) AS pull, 0::float8 AS u, 0::float8 AS b, row_number() OVER () AS no
	FROM (SELECT g, s, count(*) AS n, count(*) FILTER (WHERE next = s) AS staying FROM step GROUP BY g, s) s
	JOIN (SELECT g, s, sum(n * (variance + (q - v) ^ 2)) AS innovation, min(v) AS v FROM pair WHERE k0 = 1 GROUP BY g, s) p USING (g, s);
	-- Arrays, since rows that a sweep replaces would stay in the table.
	SELECT array_agg(0::float8), array_agg(0::float8) INTO us, bs FROM state;
	ANALYZE state, step;
	FOR i IN 1..CASE WHEN later > 0 THEN -25 / ln(later) ELSE 0 END LOOP
		SELECT array_agg(x.new + coalesce(x.w ^ 2 * y.u / x.leaving, 0) ORDER BY x.no), array_agg((x.pull + coalesce(later * y.b, 0)) / x.n ORDER BY x.no) INTO us, bs
		FROM state x LEFT JOIN (SELECT s.g, s.s, sum(us[n.no]) FILTER (WHERE s.next <> s.s) AS u, sum(bs[n.no]) AS b FROM step s JOIN state n ON n.g = s.g AND n.s = s.next GROUP BY s.g, s.s) y USING (g, s);
	END LOOP;
	UPDATE state SET u = us[no], b = bs[no];
	RETURN QUERY
	SELECT count(*), count(*) FILTER (WHERE abs(a.q_error / e.q_error - 1) > 1e-9),
		-- Of the normal distribution, what numbers on both sides of it say: the density's integral by Simpson's rule.
		count(*) FILTER (WHERE abs(a.confidence - CASE WHEN a.advantage = 0 THEN 0.5 ELSE 0.5 + e.integral END) > 1e-9), count(*) FILTER (WHERE a.confidence = 0.5)
	FROM step a JOIN (
		SELECT i.g, i.s, i.a, i.q_error,
			(SELECT sum(CASE k WHEN 0 THEN 1 WHEN 200 THEN 1 ELSE 2 + 2 * (k % 2) END * exp(-0.5 * (z * k / 200) ^ 2)) FROM generate_series(0, 200) k) * z / 600 / sqrt(2 * pi()) AS integral
		FROM (SELECT p.g, p.s, p.a,
				(1 + CASE WHEN td THEN 1.8 ELSE 2 END / p.rollouts) * sqrt(p.variance / (p.n + more) + (centre / (p.n + centre) * p.away) ^ 2
					+ later ^ 2 * coalesce(n.u, 0) / p.n + (later * coalesce(n.b, 0) / p.n) ^ 2) AS q_error,
				-- A Student's variable with as many degrees of freedom as rollouts, as a normal one.
				d.x * (1 - 0.25 / p.rollouts) / sqrt(1 + d.x ^ 2 / 2 / p.rollouts) AS z
			FROM pair p JOIN pair c USING (g, s, a)
			JOIN (SELECT g, s, sum(n) AS all_visits, sum(variance * n) AS shares FROM pair WHERE k0 = 2 GROUP BY g, s) t USING (g, s)
			CROSS JOIN LATERAL (SELECT least(abs(p.q - p.v) / sqrt(c.variance / c.n * (1 - c.n / (t.all_visits + prior)) ^ 2 + (t.shares - c.variance * c.n) / (t.all_visits + prior) ^ 2), 1e3) AS x) d
			LEFT JOIN (SELECT s.g, s.s, s.a, sum(x.u) AS u, sum(x.b) AS b FROM step s JOIN state x ON x.g = s.g AND x.s = s.next GROUP BY s.g, s.s, s.a) n USING (g, s, a)
			WHERE p.k0 = 1 AND c.k0 = 2) i) e USING (g, s, a);
END
$$;
SELECT m.method, c.steps > 300 AS many, c.wrong_error, c.wrong_confidence, c.unsure > 0 AS some_unsure
FROM (VALUES (1, 'rtmc', false, 0.99, 0, 2, true), (2, 'every visit', false, 0.8, 0, 0, false), (3, 'batch_td', true, 0.8, 0, 0, false), (4, 'prior', true, 0.9, 0, 0.5, false),
	(5, 'lambda', true, 0.9, 0.6, 1, false), (6, 'returns', true, 1, 1, 0, false), (7, 'no discount', true, 0, 0, 0, false)) m(n, method, td, gamma, lambda, prior, first_visits),
	qe_check(m.td, m.gamma, m.lambda, m.prior, m.first_visits) c ORDER BY m.n;

-- Results do not depend on the order of rows, nor, beyond rounding, on the order of rollouts; normalise and scale have their plain effect.
CREATE FUNCTION qe_compare(a stepadv.rollout_group, b stepadv.rollout_group, factor float8 DEFAULT 1) RETURNS TABLE (method text, steps bigint, differ bigint)
LANGUAGE sql AS $$
	SELECT m.method, count(*), count(*) FILTER (WHERE coalesce(abs(m.e2 / m.e1 / factor - 1) > 1e-9 OR abs(m.c2 - m.c1) > 1e-9, m.e1 IS NOT NULL OR m.e2 IS NOT NULL))
	FROM (
		SELECT 'rtmc' AS method, x.q_error AS e1, y.q_error AS e2, x.confidence AS c1, y.confidence AS c2 FROM stepadv.rtmc(a, prior_mean => 'start_value') x FULL JOIN stepadv.rtmc(b, prior_mean => 'start_value', normalise => true) y USING (step_id)
		UNION ALL SELECT 'batch_td', x.q_error, y.q_error, x.confidence, y.confidence FROM stepadv.batch_td(a, prior => 0.5, prior_mean => 'start_value', gamma => 0.9) x FULL JOIN stepadv.batch_td(b, prior => 0.5, prior_mean => 'start_value', gamma => 0.9) y USING (step_id)) m
	GROUP BY 1 ORDER BY 1
$$;
SELECT c.method, sum(c.steps) > 300 AS many, sum(c.differ) AS differ FROM qe_folded f, LATERAL (SELECT stepadv.rollout_agg(step_id, -r, t, s, a, reward ORDER BY random()) AS g FROM qe WHERE g = f.g) o, qe_compare(f.rollouts, o.g) c GROUP BY 1 ORDER BY 1;
SELECT c.method, sum(c.differ) AS differ FROM qe_folded f, LATERAL (SELECT stepadv.rollout_agg(step_id, r, t, s, a, 1e6 * reward) AS g FROM qe WHERE g = f.g) o, qe_compare(f.rollouts, o.g, 1e6) c GROUP BY 1 ORDER BY 1;
-- Turns of one call are steps; the history of both is that of their union.
SELECT c.method, sum(c.differ) AS differ FROM qe_folded f, LATERAL (SELECT stepadv.by_turn(stepadv.rollout_agg(step_id, r, t, s, a, reward, NULL, NULL, NULL, NULL, NULL, t, NULL, NULL, NULL)) AS g FROM qe WHERE g = f.g) o, qe_compare(f.rollouts, o.g) c GROUP BY 1 ORDER BY 1;
SELECT count(*) > 10 AS several, count(*) FILTER (WHERE abs(x.q_error - y.q_error) > 1e-9 OR abs(x.confidence - y.confidence) > 1e-9) AS differ
FROM (SELECT stepadv.rollout_agg(step_id, r, t, s, a, reward) FILTER (WHERE r < 4) AS young, stepadv.rollout_agg(step_id, r, t, s, a, reward) FILTER (WHERE r >= 4) AS old FROM qe WHERE g = 7) f,
	stepadv.batch_td(f.young, history => f.old, gamma => 0.9, prior => 0) x JOIN qe_folded u ON u.g = 7, stepadv.batch_td(u.rollouts, gamma => 0.9, prior => 0) y WHERE y.step_id = x.step_id;

-- Nothing but failures: eight of eight are not certain. Beta(1/2, 17/2) has mean 1/18 and variance 17/18^2/10, so the error is sqrt(27/3240). Of batch_td it is that
-- of the rollouts, however often a state was visited; of a rollout that failed: mean 1/4, variance 1/16.
SELECT step_id, q, stderr, abs(q_error - CASE step_id WHEN 9 THEN sqrt(1.0 / 8) ELSE sqrt(27.0 / 3240) END) < 1e-12 AS same, advantage, confidence
FROM stepadv.rtmc((SELECT stepadv.rollout_agg(i, i - i / 9, 1 + i / 9, i / 9, 1, 0) FROM generate_series(1, 9) i)) WHERE step_id > 7;
SELECT step_id, q, stderr, abs(q_error - sqrt(27.0 / 3240)) < 1e-12 AS same, advantage, confidence
FROM stepadv.batch_td((SELECT stepadv.rollout_agg(i, i - i / 9, 1 + i / 9, i / 9, 1, 0) FROM generate_series(1, 9) i), gamma => 0.9, prior => 0) WHERE step_id > 7;
-- Nothing judged: NULL. A single step. An empty group.
SELECT q_error, confidence FROM stepadv.rtmc((SELECT stepadv.rollout_agg(i, i, 1, 1, 1, NULL) FROM generate_series(1, 2) i));
SELECT round(q_error::numeric, 4) AS q_error, confidence FROM stepadv.batch_td((SELECT stepadv.rollout_agg(1, 1, 1, 1, 1, 1)), gamma => 0.9, prior => 0);
SELECT q_error, confidence FROM stepadv.batch_td((SELECT stepadv.rollout_agg(i, i, 1, 1, 1, 1) FROM generate_series(1, 0) i), gamma => 0.9, prior => 0);
-- NULL states and actions are not shared; rollouts that are not judged take no part.
SELECT step_id, n_action, round(q_error::numeric, 4) AS q_error, round(confidence::numeric, 4) AS confidence
FROM stepadv.rtmc((SELECT stepadv.rollout_agg(i, i, 1, nullif(i % 3, 0), nullif(i % 2, 0), CASE WHEN i < 6 THEN i % 2 END) FROM generate_series(1, 7) i)) ORDER BY 1;
-- Returns whose squares overflow are no error here.
SELECT q_error FROM stepadv.rtmc((SELECT stepadv.rollout_agg(i, i, 1, i, i, 1e200 * i) FROM generate_series(1, 2) i)) a;
-- Cut off where no end is ever reached, without a discount: only with its prior, 0.5, has such a state a value. V is 0.5 in 1 and 2, and 0.75 in 3. Outcomes: 1/2, variance 1/4,
-- 2/3 of it per step, and all pairs have that. u(1) = 1/6 / 4 + u(2) / 4 = 1/18; t = 1.9. Of 3 the mean is 5/8, 3/8 below q, of which three visits make 3/4.
SELECT step_id, q, abs(q_error - CASE step_id WHEN 3 THEN 1.9 * sqrt(1.0 / 6 / 1.75 + (9.0 / 32) ^ 2) ELSE 1.9 * sqrt(1.0 / 6 / 1.75 + 1.0 / 18) END) < 1e-12 AS same
FROM stepadv.batch_td((SELECT stepadv.rollout_agg(v.i, v.i / 3, v.i, v.i, 1, CASE WHEN i = 1 THEN NULL ELSE (i - 2)::float8 END, NULL, CASE i WHEN 2 THEN 1 END, NULL, NULL, NULL, NULL, NULL, i = 2, NULL)
	FROM generate_series(1, 3) v(i)), gamma => 1, prior => 1, baseline => 0.5, truncated => 'bootstrap') ORDER BY 1;

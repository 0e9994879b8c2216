-- credit.sql: decision problems as rows of tables, their exact advantages, rollouts
-- drawn from them, and the quality of a method's answers.  Test tool, not part of
-- the extension; plain SQL, needs simulator.sql (its random numbers).
--
--   credit.problems, choices, looks	a problem: its states, actions and outcomes
--   credit.prepare()					after problems were inserted: outcomes, exact values
--   credit.simulate(problem, …)		rollouts, one row per step
--   credit.judge(pairs)				agreement of answers with the truth
--   credit.coverage(pairs)				how often intervals of the stated errors contain the true Q
--   credit.calibration(pairs)			how often a sign is right, by its confidence
--   credit.run(problem, …)				all methods on one problem, into credit.results
--   credit.check(problem, …)			the same without the truth, into credit.checks
--
-- The truth refers to the objective of the behavior policy: the expected sum of
-- rewards until the end, not discounted.  A rollout ends at an end of the problem
-- or, with probability `hazard` at every step, because its budget is used up; so
-- states need not include the time.

SET client_min_messages = warning;
DROP SCHEMA IF EXISTS credit CASCADE;
RESET client_min_messages;
CREATE SCHEMA credit;

CREATE TABLE credit.problems (
	problem text PRIMARY KEY,
	kind text NOT NULL,
	start text NOT NULL,						-- the state in which all rollouts begin
	hazard float8 NOT NULL DEFAULT 0,			-- probability that a step is the last one, in failure
	habits float8 NOT NULL DEFAULT 0.5,			-- weights of the policy are multiplied by 1 ± habits, fixed by a hash
	about text NOT NULL
);

-- The actions of a state, their weights in the policy, and their outcomes as
-- {"next state": probability}.  "!r" is the end with reward r.
CREATE TABLE credit.choices (
	problem text REFERENCES credit.problems,
	state text,
	action text,
	weight float8 NOT NULL CHECK (weight > 0),
	outcomes jsonb NOT NULL,
	reward float8 NOT NULL DEFAULT 0,			-- for the action, in any next state
	PRIMARY KEY (problem, state, action)
);

-- The appearance of a state of which a part is hidden; other states appear as they are.
CREATE TABLE credit.looks (
	problem text REFERENCES credit.problems,
	state text,
	look text NOT NULL,
	PRIMARY KEY (problem, state)
);

CREATE FUNCTION credit.place(r integer, c integer, keys integer) RETURNS text
LANGUAGE sql IMMUTABLE AS
$$ SELECT format('row %s, column %s%s', r, c, (ARRAY['', ', with k', ', with l', ', with k and l'])[keys + 1]) $$;

-- A map as a problem: # wall, S start, G goal, X trap (the end, in failure), k and
-- l keys taken by stepping on them, K and L the doors that they open, else free.
-- Moves slip to either side, each with probability slip / 2; a move into a wall has
-- no effect.  A move that leads nearer to the goal has weight `skill` in the policy,
-- any other 1.  Keys in hand are hidden; on a map without keys, pairs of cells in a
-- row look alike.
CREATE FUNCTION credit.add_map(problem text, kind text, about text, map text[],
	slip float8, skill float8, hazard float8) RETURNS void
LANGUAGE plpgsql AS
$$
DECLARE
	drawn text := array_to_string(map, '');
BEGIN
	INSERT INTO credit.problems (problem, kind, start, hazard, about)
	SELECT add_map.problem, add_map.kind, credit.place(r, strpos(map[r], 'S'), 0), add_map.hazard, add_map.about
	FROM generate_subscripts(map, 1) r WHERE strpos(map[r], 'S') > 0;

	WITH RECURSIVE cell AS (
		SELECT r, c, substr(map[r], c, 1) AS what
		FROM generate_subscripts(map, 1) r, generate_series(1, length(map[1])) c
		WHERE substr(map[r], c, 1) <> '#'
	),
	state AS (
		SELECT r, c, keys FROM cell, generate_series(0, 3) keys
		WHERE what NOT IN ('G', 'X')
			-- No agent is on a key without having it, nor in a door that it cannot open.
			AND (what NOT IN ('k', 'K') OR keys & 1 > 0) AND (what NOT IN ('l', 'L') OR keys & 2 > 0)
			AND (keys & 1 = 0 OR drawn LIKE '%k%') AND (keys & 2 = 0 OR drawn LIKE '%l%')
	),
	direction(n, action, dr, dc) AS (VALUES (0, 'right', 0, 1), (1, 'down', 1, 0), (2, 'left', 0, -1), (3, 'up', -1, 0)),
	-- A slip turns the move to the left or to the right.
	moved AS MATERIALIZED (
		SELECT credit.place(s.r, s.c, s.keys) AS state, d.action, p.turn, p.probability,
			CASE WHEN w.what IS NULL OR w.what = 'K' AND s.keys & 1 = 0 OR w.what = 'L' AND s.keys & 2 = 0
				THEN credit.place(s.r, s.c, s.keys)
				WHEN w.what = 'G' THEN '!1'
				WHEN w.what = 'X' THEN '!0'
				ELSE credit.place(w.r, w.c, s.keys | CASE w.what WHEN 'k' THEN 1 WHEN 'l' THEN 2 ELSE 0 END) END AS next
		FROM state s CROSS JOIN direction d CROSS JOIN (VALUES (0, 1 - slip), (1, slip / 2), (3, slip / 2)) p(turn, probability)
			JOIN direction went ON went.n = (d.n + p.turn) % 4
			LEFT JOIN cell w ON w.r = s.r + went.dr AND w.c = s.c + went.dc
		WHERE p.turn = 0 OR p.probability > 0
	),
	-- Number of moves to the goal if none slips.
	far(state, moves) AS (
		SELECT '!1', 0
		UNION
		SELECT m.state, f.moves + 1 FROM far f JOIN moved m ON m.next = f.state AND m.turn = 0 AND m.state <> m.next WHERE f.moves < 60
	),
	distance AS MATERIALIZED (SELECT f.state, min(f.moves) AS moves FROM far f GROUP BY f.state)
	INSERT INTO credit.choices (problem, state, action, weight, outcomes)
	SELECT add_map.problem, m.state, m.action,
		CASE WHEN bool_or(m.turn = 0 AND there.moves < here.moves) THEN skill ELSE 1 END,
		(SELECT jsonb_object_agg(o.next, o.probability) FROM (
			SELECT x.next, sum(x.probability) AS probability FROM moved x
			WHERE x.state = m.state AND x.action = m.action AND x.probability > 0 GROUP BY x.next) o)
	FROM moved m LEFT JOIN distance here ON here.state = m.state LEFT JOIN distance there ON there.state = m.next
	GROUP BY m.state, m.action;

	INSERT INTO credit.looks
	SELECT DISTINCT add_map.problem, s.state, CASE WHEN drawn ~ '[kl]' THEN format('row %s, column %s', x[1], x[2])
		ELSE format('row %s, columns %s', x[1], (x[2]::integer + 1) / 2) END
	FROM credit.choices s, regexp_match(s.state, '^row (\d+), column (\d+)') x WHERE s.problem = add_map.problem;
END
$$;

-- ----------
-- Outcomes and exact values
-- ----------

-- A row per possible outcome; the outcome of a step in a state is number first +
-- (how many entries of cum are <= u), as in the simulator.  next_first and next_cum
-- are those of the next state.
CREATE TABLE credit.outcomes (
	outcome integer PRIMARY KEY,
	problem text, state text, action text, next_state text,
	mass float8, reward float8, ends boolean,
	cell integer,								-- the state and action
	state_hash bigint, look_hash bigint, action_hash bigint,
	next_first integer, next_cum float8[]
);

CREATE TABLE credit.starts (problem text PRIMARY KEY, first integer, cum float8[]);

-- Exact values by cell: q and v with discount gamma, the advantage without discount.
CREATE TABLE credit.truth (
	problem text, gamma float8, cell integer, state text, action text,
	probability float8, q float8, v float8, advantage float8,
	PRIMARY KEY (problem, gamma, cell)
);

CREATE FUNCTION credit.name_key(name text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT stepadv.signature_hash(name) $$;

CREATE VIEW credit.policy AS
SELECT problem, state, action, weight / sum(weight) OVER (PARTITION BY problem, state) AS probability
FROM (SELECT c.problem, c.state, c.action,
		c.weight * (1 - p.habits + 2 * p.habits * sim.uniform(credit.name_key(c.action), sim.stream(credit.name_key(c.state), credit.name_key(c.problem)))) AS weight
	FROM credit.choices c JOIN credit.problems p USING (problem)) w;

CREATE VIEW credit.transitions AS
SELECT c.problem, c.state, c.action, CASE WHEN o.key LIKE '!%' THEN NULL ELSE o.key END AS next_state,
	(1 - CASE WHEN o.key LIKE '!%' THEN 0 ELSE p.hazard END) * o.value::float8 AS probability,
	c.reward + CASE WHEN o.key LIKE '!%' THEN substr(o.key, 2)::float8 ELSE 0 END AS reward
FROM credit.choices c JOIN credit.problems p USING (problem), jsonb_each_text(c.outcomes) o
UNION ALL
-- The budget is used up on the way to another state.
SELECT c.problem, c.state, c.action, NULL, sum(p.hazard * o.value::float8), c.reward
FROM credit.choices c JOIN credit.problems p USING (problem), jsonb_each_text(c.outcomes) o
WHERE p.hazard > 0 AND o.key NOT LIKE '!%'
GROUP BY c.problem, c.state, c.action, c.reward;

-- v = r + gamma P v, iterated until it converges (to 1e-15 of the scale of the
-- rewards, which means an error below 1e-12 if a rollout ends with a probability
-- above .001 a step).
CREATE FUNCTION credit.solve(problem text, gamma float8) RETURNS void
LANGUAGE plpgsql AS
$$
DECLARE
	v float8[];
	w float8[];
BEGIN
	CREATE TEMP TABLE edge AS
	WITH s AS (SELECT o.state, dense_rank() OVER (ORDER BY o.state COLLATE "C") AS i FROM (SELECT DISTINCT state FROM credit.outcomes o WHERE o.problem = solve.problem) o)
	SELECT s.i, n.i AS j, sum(o.mass) AS mass, sum(o.mass * o.reward) AS gain
	FROM credit.outcomes o JOIN s USING (state) LEFT JOIN s n ON n.state = o.next_state
	WHERE o.problem = solve.problem GROUP BY s.i, n.i ORDER BY s.i, n.i;

	SELECT array_agg(0) INTO v FROM (SELECT DISTINCT i FROM edge) e;
	LOOP
		SELECT array_agg(x.v ORDER BY x.i) INTO w
		FROM (SELECT e.i, sum(e.gain + gamma * e.mass * coalesce(v[e.j], 0)) AS v FROM edge e GROUP BY e.i) x;
		EXIT WHEN (SELECT max(abs(a - b)) FROM unnest(v, w) u(a, b)) <= 1e-15;
		v := w;
	END LOOP;
	DROP TABLE edge;

	INSERT INTO credit.truth
	SELECT solve.problem, gamma, min(o.cell), o.state, o.action, min(p.probability),
		sum(o.mass / p.probability * (o.reward + gamma * coalesce(n.v, 0))), min(s.v), NULL
	FROM credit.outcomes o JOIN credit.policy p USING (problem, state, action)
	JOIN (SELECT x.state, v[dense_rank() OVER (ORDER BY x.state COLLATE "C")] AS v
		FROM (SELECT DISTINCT x.state FROM credit.outcomes x WHERE x.problem = solve.problem) x) s USING (state)
	LEFT JOIN (SELECT x.state, v[dense_rank() OVER (ORDER BY x.state COLLATE "C")] AS v
		FROM (SELECT DISTINCT x.state FROM credit.outcomes x WHERE x.problem = solve.problem) x) n ON n.state = o.next_state
	WHERE o.problem = solve.problem
	GROUP BY o.state, o.action;
END
$$;

CREATE FUNCTION credit.prepare(gammas float8[] DEFAULT '{1}') RETURNS void
LANGUAGE plpgsql SET jit = off AS
$$
BEGIN
	TRUNCATE credit.outcomes, credit.starts, credit.truth;

	INSERT INTO credit.outcomes
	SELECT row_number() OVER ordered, t.problem, t.state, t.action, t.next_state,
		t.probability * p.probability, t.reward, t.next_state IS NULL,
		dense_rank() OVER (ORDER BY t.problem COLLATE "C", t.state COLLATE "C", t.action COLLATE "C"),
		credit.name_key(t.state), credit.name_key(coalesce(l.look, t.state)), credit.name_key(t.action)
	FROM credit.transitions t JOIN credit.policy p USING (problem, state, action) LEFT JOIN credit.looks l USING (problem, state)
	WHERE t.probability > 0
	WINDOW ordered AS (ORDER BY t.problem COLLATE "C", t.state COLLATE "C", t.action COLLATE "C", t.next_state COLLATE "C", t.reward);

	CREATE TEMP TABLE by_state AS
	SELECT r.problem, r.state, min(r.outcome) AS first,
		-- The last bound is left out: it is 1 except for rounding.
		coalesce(array_agg(r.upto ORDER BY r.outcome) FILTER (WHERE NOT r.last), '{}') AS cum
	FROM (SELECT o.problem, o.state, o.outcome, sum(o.mass) OVER w AS upto, lead(o.outcome) OVER w IS NULL AS last
		FROM credit.outcomes o WINDOW w AS (PARTITION BY o.problem, o.state ORDER BY o.outcome)) r
	GROUP BY r.problem, r.state;
	UPDATE credit.outcomes o SET next_first = b.first, next_cum = b.cum
	FROM by_state b WHERE b.problem = o.problem AND b.state = o.next_state;
	INSERT INTO credit.starts SELECT p.problem, b.first, b.cum FROM credit.problems p JOIN by_state b ON b.problem = p.problem AND b.state = p.start;
	DROP TABLE by_state;

	PERFORM credit.solve(p.problem, gamma) FROM credit.problems p, unnest(gammas) gamma;
	-- Advantages are always without discount.
	UPDATE credit.truth t SET advantage = u.q - u.v FROM credit.truth u
	WHERE u.problem = t.problem AND u.cell = t.cell AND u.gamma = 1;
END
$$;

-- Mistakes in problems, which would make rollouts endless; read it after prepare().
CREATE VIEW credit.mistakes AS
SELECT c.problem, c.state, c.action, 'probabilities add up to ' || sum(o.value::float8) AS mistake
FROM credit.choices c, jsonb_each_text(c.outcomes) o GROUP BY 1, 2, 3 HAVING abs(sum(o.value::float8) - 1) > 1e-12
UNION ALL
SELECT o.problem, o.state, o.action, 'leads to a state without choices: ' || o.next_state
FROM credit.outcomes o WHERE o.next_first IS NULL AND NOT o.ends
UNION ALL
SELECT p.problem, p.start, NULL, 'start without choices' FROM credit.problems p WHERE p.problem NOT IN (SELECT problem FROM credit.starts);

-- ----------
-- Rollouts
-- ----------

-- Makes one step of all rollouts at a time.  Rollout i does not depend on the number of
-- rollouts.  fine_hash combines the state with one of three meaningless details.
CREATE FUNCTION credit.simulate(problem text, rollouts integer, seed bigint DEFAULT 1)
RETURNS TABLE (rollout_id bigint, step_no integer, cell integer, outcome integer,
	state_hash bigint, look_hash bigint, fine_hash bigint, action_hash bigint, reward float8)
LANGUAGE sql STABLE ROWS 30000 AS
$$
	WITH RECURSIVE walk(rollout_id, stream, step_no, outcome) AS (
		SELECT r.rollout_id, r.stream, 0, s.first + width_bucket(sim.uniform(0, r.stream), s.cum)
		FROM credit.starts s, generate_series(1, simulate.rollouts::bigint) g(n),
			LATERAL (SELECT g.n AS rollout_id, sim.stream(g.n, simulate.seed # credit.name_key(simulate.problem)) AS stream) r
		WHERE s.problem = simulate.problem
		UNION ALL
		SELECT w.rollout_id, w.stream, w.step_no + 1, o.next_first + width_bucket(sim.uniform(w.step_no + 1, w.stream), o.next_cum)
		FROM walk w JOIN credit.outcomes o ON o.outcome = w.outcome WHERE NOT o.ends
	)
	SELECT w.rollout_id, w.step_no, o.cell, o.outcome, o.state_hash, o.look_hash,
		sim.stream(o.state_hash, floor(3 * sim.uniform(-1 - w.step_no, w.stream))::bigint), o.action_hash, o.reward
	FROM walk w JOIN credit.outcomes o ON o.outcome = w.outcome
$$;

-- ----------
-- Quality of answers
-- ----------

-- pairs is a query of (group_id, cell, truth, answer), a row per step.  rank: the mean
-- rank correlation within groups, ties by their mean rank.  A group with constant
-- truth is left out; one with constant answers has correlation 0.  A missing answer
-- counts as 0, and 0 as a wrong sign.  slope: the factor that gives the answers the
-- least squared error.  Bias and variance are those of answers scaled to the truth's
-- root mean square, as shares of the truth's mean square.
CREATE FUNCTION credit.judge(pairs text)
RETURNS TABLE (groups bigint, steps bigint, rank float8, rank_error float8, signs bigint, signs_right bigint,
	slope float8, bias float8, variance float8)
LANGUAGE plpgsql AS
$$
BEGIN
	RETURN QUERY EXECUTE format($query$
		WITH p AS MATERIALIZED (
			-- Rounded, since noise in the last digits must not break ties.
			SELECT group_id, cell, round(truth::float8 * 1e9) / 1e9 AS truth, round(coalesce(answer, 0)::float8 * 1e12) / 1e12 AS answer
			FROM (%s) pairs
		), g AS (
			SELECT CASE WHEN min(truth) < max(truth) THEN coalesce(corr(truth_rank, answer_rank), 0) END AS rank
			FROM (SELECT group_id, truth,
					rank() OVER t + count(*) OVER t AS truth_rank, rank() OVER a + count(*) OVER a AS answer_rank
				FROM p WINDOW t AS (PARTITION BY group_id ORDER BY truth), a AS (PARTITION BY group_id ORDER BY answer)) r
			GROUP BY group_id
		), s AS (
			SELECT count(*) AS steps, count(*) FILTER (WHERE abs(truth) > 0.03) AS signs,
				count(*) FILTER (WHERE abs(truth) > 0.03 AND sign(truth) = sign(answer)) AS signs_right,
				sum(truth * answer) / nullif(sum(answer * answer), 0) AS slope,
				sum(truth * truth) AS power, sqrt(sum(truth * truth) / nullif(sum(answer * answer), 0)) AS scale
			FROM p
		), c AS (
			SELECT cell, count(*) AS n, min(truth) AS truth, avg(answer) AS mean, var_pop(answer) AS variance FROM p GROUP BY cell
		)
		SELECT g.*, s.steps, g2.rank, g2.rank_error, s.signs, s.signs_right, s.slope, b.bias, b.variance
		FROM (SELECT count(rank) FROM g) g, (SELECT avg(rank) AS rank, stddev_samp(rank) / sqrt(count(rank)) AS rank_error FROM g) g2, s,
			LATERAL (SELECT sum(n * (scale * mean - truth) ^ 2) / s.power AS bias, sum(n * scale ^ 2 * c.variance) / s.power AS variance FROM c) b
		$query$, pairs);
END
$$;

-- pairs is a query of (group_id, state, action, visits, q, stderr, q_error, truth), any
-- number of rows for each (group_id, state, action).  By number of visits: how often
-- q ± 1.96 q_error contains the truth, and q ± 1.96 stderr, if there is a stderr.
-- exact: q is the truth, since nothing can vary; any interval contains it.
CREATE FUNCTION credit.coverage(pairs text)
RETURNS TABLE (visits text, cases bigint, covered bigint, with_stderr bigint, stderr_0 bigint, stderr_covered bigint,
	q_bias float8, q_rms float8, exact bigint)
LANGUAGE plpgsql AS
$$
BEGIN
	RETURN QUERY EXECUTE format($query$
		SELECT CASE WHEN visits < 2 THEN '1' WHEN visits < 4 THEN '2-3' WHEN visits < 8 THEN '4-7' WHEN visits < 16 THEN '8-15' ELSE '16+' END,
			-- 1e-9 allows for noise in the last digits of sums.
			count(*), count(*) FILTER (WHERE abs(q - truth) <= 1.96 * q_error + 1e-9),
			count(stderr), count(*) FILTER (WHERE stderr = 0), count(*) FILTER (WHERE abs(q - truth) <= 1.96 * stderr + 1e-9),
			avg(q - truth)::float8, sqrt(avg((q - truth) ^ 2))::float8, count(*) FILTER (WHERE abs(q - truth) <= 1e-9)
		FROM (SELECT DISTINCT ON (group_id, state, action) * FROM (%s) pairs ORDER BY group_id, state, action) d
		GROUP BY 1
		$query$, pairs);
END
$$;

-- pairs is a query of (truth, answer, confidence), a row per step.  By bin of confidence,
-- identified by its lower bound: how often the sign is right if |truth| > .03.  Answers of 0
-- are left out.
CREATE FUNCTION credit.calibration(pairs text)
RETURNS TABLE (confidence float8, steps bigint, steps_right bigint)
LANGUAGE plpgsql AS
$$
BEGIN
	RETURN QUERY EXECUTE format($query$
		SELECT bins[width_bucket(confidence, bins)], count(*), count(*) FILTER (WHERE sign(truth) = sign(answer))
		FROM (%s) pairs, (SELECT '{0.5,0.6,0.7,0.8,0.9,0.95,0.99}'::float8[] AS bins) b
		WHERE abs(truth) > 0.03 AND abs(answer) > 1e-12
		GROUP BY 1
		$query$, pairs);
END
$$;

-- ----------
-- All methods on a problem
-- ----------

-- expression is a function of the group g.  pool: how many groups are merged into g.
-- gamma: the discount of q, if the method has one.  colour: that of its line in the
-- picture; NULL means no line.
CREATE TABLE credit.methods (
	n serial PRIMARY KEY,
	method text UNIQUE NOT NULL,
	expression text NOT NULL,
	gamma float8,
	pool integer NOT NULL DEFAULT 1,
	colour text
);

CREATE TABLE credit.results (
	problem text, states text, size integer, method text,
	groups bigint, steps bigint, rank float8, rank_error float8, signs bigint, signs_right bigint,
	slope float8, bias float8, variance float8,
	PRIMARY KEY (problem, states, size, method)
);

CREATE TABLE credit.coverages (
	problem text, size integer, method text, visits text,
	cases bigint, covered bigint, with_stderr bigint, stderr_0 bigint, stderr_covered bigint, q_bias float8, q_rms float8, exact bigint,
	PRIMARY KEY (problem, size, method, visits)
);

CREATE TABLE credit.calibrations (
	problem text, size integer, method text, confidence float8, steps bigint, steps_right bigint,
	PRIMARY KEY (problem, size, method, confidence)
);

-- Scores of methods by rollouts that were left out; sums by group.
CREATE TABLE credit.checks (
	problem text, states text, size integer, method text, group_id bigint, sums float8[],
	PRIMARY KEY (problem, states, size, method, group_id)
);

-- Fills the tables sample and folded.  Groups of all sizes have the same rollouts, so
-- sizes and methods share their luck.
CREATE FUNCTION credit.draw(problem text, states text, size integer, groups integer, seed bigint DEFAULT 1) RETURNS void
LANGUAGE plpgsql SET jit = off SET client_min_messages = warning AS
$$
BEGIN
	DROP TABLE IF EXISTS sample, folded;
	CREATE TEMP TABLE sample AS
	SELECT (s.rollout_id << 20) + s.step_no AS step_id, (s.rollout_id - 1) / draw.size AS group_id, s.rollout_id, s.step_no, s.cell,
		CASE draw.states WHEN 'exact' THEN s.state_hash WHEN 'hidden' THEN s.look_hash WHEN 'finer' THEN s.fine_hash END AS state,
		s.action_hash AS action, s.reward, t.advantage AS truth
	FROM credit.simulate(draw.problem, draw.groups * draw.size, draw.seed) s
	JOIN credit.truth t ON t.problem = draw.problem AND t.cell = s.cell AND t.gamma = 1;
	CREATE TEMP TABLE folded AS
	SELECT s.group_id, stepadv.rollout_agg(s.step_id, s.rollout_id, s.step_no, s.state, s.action, s.reward) AS g FROM sample s GROUP BY s.group_id;
	ANALYZE sample;
END
$$;

CREATE FUNCTION credit.run(problem text, states text, size integer, groups integer, seed bigint DEFAULT 1) RETURNS void
LANGUAGE plpgsql SET jit = off SET work_mem = '256MB' SET client_min_messages = warning AS
$$
DECLARE
	m credit.methods;
BEGIN
	PERFORM credit.draw(problem, states, size, groups, seed);
	FOR m IN SELECT * FROM credit.methods ORDER BY n LOOP
		DROP TABLE IF EXISTS answer;
		-- Groups that do not fill a pool are left out.
		EXECUTE format('CREATE TEMP TABLE answer AS SELECT a.* FROM %s f, LATERAL %s a',
			CASE WHEN m.pool = 1 THEN 'folded' ELSE
				format('(SELECT stepadv.rollup(g) AS g FROM folded GROUP BY group_id / %1$s HAVING count(*) = %1$s)', least(m.pool, run.groups)) END,
			m.expression);
		INSERT INTO credit.results
		SELECT run.problem, run.states, run.size, m.method, j.*
		FROM credit.judge('SELECT s.group_id, s.cell, s.truth, a.advantage AS answer FROM answer a JOIN sample s USING (step_id)') j;
		IF run.states = 'exact' AND m.gamma IS NOT NULL AND m.pool = 1 THEN
			INSERT INTO credit.coverages
			SELECT run.problem, run.size, m.method, c.* FROM credit.coverage(format(
				'SELECT s.group_id, s.state, s.action, a.n_action AS visits, a.q, a.stderr, a.q_error, t.q AS truth FROM answer a JOIN sample s USING (step_id)
				JOIN credit.truth t ON t.problem = %L AND t.cell = s.cell AND t.gamma = %L', run.problem, m.gamma)) c;
			INSERT INTO credit.calibrations
			SELECT run.problem, run.size, m.method, c.*
			FROM credit.calibration('SELECT s.truth, a.advantage AS answer, a.confidence FROM answer a JOIN sample s USING (step_id)') c;
		END IF;
	END LOOP;
END
$$;

-- Scores the methods by left-out rollouts of each group, without the truth.
CREATE FUNCTION credit.check(problem text, states text, size integer, groups integer, seed bigint DEFAULT 1) RETURNS void
LANGUAGE plpgsql SET jit = off SET work_mem = '256MB' SET client_min_messages = warning AS
$$
DECLARE
	m credit.methods;
BEGIN
	PERFORM credit.draw(problem, states, size, groups, seed);
	FOR m IN SELECT * FROM credit.methods WHERE pool = 1 ORDER BY n LOOP
		EXECUTE format('INSERT INTO credit.checks SELECT $1, $2, $3, $4, f.group_id, x.sums
			FROM (SELECT group_id, g AS whole FROM folded) f, LATERAL (
				SELECT stepadv_internal.credit_agg(ARRAY[f.whole], 12, 1, 1, z.z, l.rollout_id, a.advantages) AS sums
				FROM generate_series(0, 12) z(z), LATERAL stepadv_internal.left_out(f.whole, 16, 1) l,
					LATERAL (SELECT stepadv.without_rollout(stepadv_internal.shuffle_outcomes(f.whole, z.z, 1), l.rollout_id) AS g OFFSET 0) o,
					LATERAL (SELECT array_agg(ARRAY[a.advantage] ORDER BY a.rollout_id, a.step_no) AS advantages FROM %s a) a) x', m.expression)
		USING problem, states, size, m.method;
	END LOOP;
END
$$;

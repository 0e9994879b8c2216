-- The credit benchmark (test/credit): exact values by hand and by elimination, rollouts that follow the policy, statistics of made-up answers, a method that returns the truth.
-- (Compiling these queries would take longer than running them.)
SET jit = off;
SET client_min_messages = warning;
\i test/sim/simulator.sql
\i test/credit/credit.sql
\i test/credit/problems.sql
\i test/credit/resampling.sql

-- Two states.  By hand, without hazard: V(a) = 3/4 V(b) and V(b) = 1/2 (1/2 + 1/2 V(a)),
-- so V(b) = 4/13, V(a) = 3/13.  With a step in five the last one (an end is an end
-- in any case): V(a) = 3/4 4/5 V(b), V(b) = 1/4 + 1/4 4/5 V(a), so V(b) = 25/88, V(a) = 15/88.
-- With a step's reward of -1/16 for `go` and discount 1/2, without hazard:
-- V(a) = 3/8 V(b), V(b) = 1/2 (-1/16 + 1/2 + 1/4 V(a)), so V(b) = 14/61, V(a) = 21/244.
INSERT INTO credit.problems (problem, kind, start, hazard, habits, about) VALUES
	('hand', 'test', 'a', 0, 0, ''), ('hand, hazard', 'test', 'a', 0.2, 0, ''), ('hand, cost', 'test', 'a', 0, 0, '');
INSERT INTO credit.choices (problem, state, action, weight, outcomes, reward)
SELECT p, s, a, w, o::jsonb, CASE WHEN p = 'hand, cost' AND a = 'go' THEN -1.0 / 16 ELSE 0 END
FROM (VALUES ('hand'), ('hand, hazard'), ('hand, cost')) p(p), (VALUES
	('a', 'right', 3, '{"b": 1}'),
	('a', 'wrong', 1, '{"!0": 1}'),
	('b', 'go', 1, '{"!1": 0.5, "a": 0.5}'),
	('b', 'quit', 1, '{"!0": 1}')) c(s, a, w, o);
SELECT credit.prepare('{1, 0.5, 0.9}');
SELECT t.problem, t.gamma, t.state, t.action, t.probability, abs(t.v - h.v) < 1e-14 AS v, abs(t.q - h.q) < 1e-14 AS q
FROM credit.truth t JOIN (VALUES
	('hand', 1, 'a', 'right', 3.0 / 13, 4.0 / 13), ('hand', 1, 'a', 'wrong', 3.0 / 13, 0),
	('hand', 1, 'b', 'go', 4.0 / 13, 8.0 / 13), ('hand', 1, 'b', 'quit', 4.0 / 13, 0),
	('hand, hazard', 1, 'a', 'right', 15.0 / 88, 20.0 / 88), ('hand, hazard', 1, 'b', 'go', 25.0 / 88, 0.5 + 0.4 * 15 / 88),
	('hand, cost', 0.5, 'a', 'right', 21.0 / 244, 7.0 / 61), ('hand, cost', 0.5, 'b', 'go', 14.0 / 61, 28.0 / 61)) h(problem, gamma, state, action, v, q)
	USING (problem, gamma, state, action) ORDER BY t.problem COLLATE "C", t.cell;
-- The advantage is the undiscounted one, for any discount of q and v.
SELECT gamma, action, round((advantage * 13)::numeric, 12) AS thirteenths FROM credit.truth WHERE problem = 'hand' ORDER BY gamma, cell;

-- A map: a key on the left, a door and the goal on the right.
SELECT credit.add_map('corridor', 'test', '', ARRAY['kSKG'], slip => 0.2, skill => 3, hazard => 0);
SELECT state, action, weight, outcomes FROM credit.choices WHERE problem = 'corridor' ORDER BY state COLLATE "C", action COLLATE "C";
SELECT state, look FROM credit.looks WHERE problem = 'corridor' ORDER BY state COLLATE "C";
DELETE FROM credit.looks WHERE problem = 'corridor';
DELETE FROM credit.choices WHERE problem = 'corridor';
DELETE FROM credit.problems WHERE problem = 'corridor';

-- All problems: no bad rows, success near .45, and the equations hold (not solved in this form: V is the mean of the policy's Q; the policy's choice has no advantage).
SELECT * FROM credit.mistakes;
SELECT count(*) AS problems, count(DISTINCT kind) AS kinds FROM credit.problems WHERE kind <> 'test';
SELECT p.problem, v FROM credit.problems p JOIN credit.truth t ON t.problem = p.problem AND t.state = p.start AND gamma = 1
WHERE kind <> 'test' AND abs(v - 0.45) > 0.08;
SELECT max(abs(v - mean)) < 1e-12 AS v_is_mean, max(abs(choices - 1)) < 1e-12 AS probabilities, max(abs(advantage)) FILTER (WHERE gamma = 1) < 1e-12 AS centred
FROM (SELECT gamma, v, sum(probability * q) AS mean, sum(probability) AS choices, sum(probability * advantage) AS advantage
	FROM credit.truth GROUP BY problem, gamma, state, v) x;
SELECT max(abs(t.q - b.q)) < 1e-12 AS q_is_backup, max(abs(t.advantage)) > 0.2 AS spread, count(*) > 400 AS enough
FROM credit.truth t JOIN LATERAL (
	SELECT sum(x.probability * (x.reward + t.gamma * coalesce((SELECT n.v FROM credit.truth n
		WHERE n.problem = t.problem AND n.gamma = t.gamma AND n.state = x.next_state LIMIT 1), 0))) AS q
	FROM credit.transitions x WHERE x.problem = t.problem AND x.state = t.state AND x.action = t.action) b ON true
WHERE t.problem IN ('rooms', 'ice', 'shop', 'hand, hazard');
-- The simulator's rooms are solved by elimination there, by iteration here.
SELECT g.gamma, max(abs(t.q - s.q)) < 1e-12 AS q, max(abs(t.v - s.v)) < 1e-12 AS v, max(abs(t.probability - s.probability)) < 1e-12 AS policy, count(*) AS cells
FROM (VALUES ('rooms', 0), ('more rooms', 16)) n(problem, task), (VALUES (0.5::float8), (0.9), (1)) g(gamma), LATERAL sim.values(n.task, g.gamma) s, credit.truth t
WHERE t.gamma = g.gamma AND t.action = s.action AND t.problem = n.problem AND t.state = sim.state_text(s.state) GROUP BY g.gamma ORDER BY g.gamma;

-- Invalid problems are reported.
BEGIN;
UPDATE credit.choices SET outcomes = '{"!1": 0.5, "c": 0.4}' WHERE problem = 'hand' AND action = 'go';
UPDATE credit.problems SET start = 'd' WHERE problem = 'hand';
SELECT credit.prepare();
SELECT * FROM credit.mistakes ORDER BY mistake COLLATE "C";
ROLLBACK;

-- Rollouts: the same on all machines, for any number; another seed gives others.
SELECT md5(string_agg(concat_ws(' ', rollout_id, step_no, t.state, t.action, reward), E'\n' ORDER BY rollout_id, step_no))
FROM credit.simulate('shop', 200) s JOIN credit.truth t USING (cell) WHERE gamma = 1;
SELECT count(*) AS changed FROM (SELECT * FROM credit.simulate('walls', 50, 7) EXCEPT SELECT * FROM credit.simulate('walls', 90, 7)) x;
SELECT count(*) > 500 AS other_seed_differs FROM (SELECT * FROM credit.simulate('walls', 50, 8) EXCEPT SELECT * FROM credit.simulate('walls', 50, 7)) x;

-- They follow the policy and the transitions: each choice and outcome within four standard errors, and the average deviation as chance predicts.
CREATE TEMP TABLE drawn AS
SELECT p.problem, s.* FROM (VALUES ('rooms'), ('walls'), ('shop'), ('find the fault'), ('hand, hazard')) p(problem), credit.simulate(p.problem, 1500) s;
SELECT count(*) > 100 AS enough, bool_and(abs(n - expected) <= 4 * sqrt(expected * (1 - mass)) + 1) AS agrees,
	avg(abs(n - expected) / sqrt(expected * (1 - mass))) BETWEEN 0.7 AND 0.9 AS as_far_as_chance_has_it
FROM (SELECT o.outcome, o.mass, o.mass * v.n AS expected, count(d.outcome) AS n
	FROM credit.outcomes o JOIN (SELECT d.problem, t.state, count(*) AS n FROM drawn d JOIN credit.truth t USING (problem, cell) WHERE gamma = 1 GROUP BY 1, 2) v USING (problem, state)
	LEFT JOIN drawn d USING (outcome) GROUP BY o.outcome, o.mass, v.n HAVING o.mass * v.n > 10 AND o.mass < 1) x;
SELECT bool_and(abs(mean - v) < 4 * sd / sqrt(n)) AS returns_agree, max(abs(mean - v)) > 0 AS not_by_construction, count(*) AS problems
FROM (SELECT problem, count(*) AS n, avg(r) AS mean, stddev(r) AS sd FROM (SELECT problem, rollout_id, sum(reward) AS r FROM drawn GROUP BY 1, 2) x GROUP BY 1) r
JOIN credit.problems p USING (problem) JOIN LATERAL (SELECT v FROM credit.truth t WHERE t.problem = p.problem AND t.state = p.start AND gamma = 1 LIMIT 1) v ON true;
-- Hidden: fewer states; finer: up to three for one.
SELECT problem, count(DISTINCT state_hash) AS exact, count(DISTINCT look_hash) AS hidden, count(DISTINCT fine_hash) AS finer
FROM drawn GROUP BY problem ORDER BY problem COLLATE "C";

-- Rank correlation of known lists, ties by mean rank (the textbook's formula is for lists without ties): .8207826816681233; the reverse; equal answers: 0; a group of equal truths does not count.
-- Signs: 4 in group 1 above .03, all right; 3 in group 2 and 2 in group 3, none: 0 is wrong.
CREATE TEMP TABLE known AS
SELECT 1 AS group_id, i AS cell, t AS truth, a AS answer FROM (VALUES (1, 0.01, 5.0), (2, 0.2, 6), (3, 0.3, 7), (4, 0.4, 8), (5, 0.5, 7)) v(i, t, a)
UNION ALL SELECT 2, 10 + i, i * 0.1, 1 - i FROM generate_series(1, 3) i
UNION ALL SELECT 3, 20 + i, i * 0.1, 0 FROM generate_series(1, 2) i
UNION ALL SELECT 4, 30, -0.02, i FROM generate_series(1, 5) i;
SELECT groups, steps, abs(rank - (0.8207826816681233 - 1 + 0) / 3) < 1e-12 AS rank,
	abs(rank_error - (SELECT stddev_samp(x) FROM (VALUES (0.8207826816681233), (-1), (0)) v(x)) / sqrt(3)) < 1e-12 AS rank_error, signs, signs_right
FROM credit.judge('SELECT * FROM known');
-- The last digits break no tie, and a missing answer is 0.
SELECT abs(rank - (0.8207826816681233 - 1 + 0) / 3) < 1e-12 AS rank, signs_right
FROM credit.judge('SELECT group_id, cell, truth + 1e-15 * (random() - 0.5) AS truth, nullif(answer, 0) + 1e-15 * (random() - 0.5) AS answer FROM known');
-- Answers 1 and 3 where 1 is true, -1 and -1 where -1 is: slope 6/12; on the
-- truth's scale, s = sqrt(4/12): bias ((2s - 1)^2 + (1 - s)^2) / 2 = 11/6 - 3s, variance 1/6.
SELECT slope, abs(bias - (11.0 / 6 - sqrt(3))) < 1e-14 AS bias, abs(variance - 1.0 / 6) < 1e-14 AS variance
FROM credit.judge('SELECT * FROM (VALUES (1, 1, 1, 1), (2, 1, 1, 3), (1, 2, -1, -1), (2, 2, -1, -1)) v(group_id, cell, truth, answer)');

-- Coverage: one row for each pair of a group; 1.96 errors count as covered, an error of 0 only where q is exact; a missing stderr is not counted.
SELECT * FROM credit.coverage($$SELECT * FROM (VALUES
	(1, 1, 1, 1, 0.5, NULL, 0.05, 0.4), (1, 1, 2, 2, 0.5, 0.1, 0.06, 0.4), (1, 1, 2, 2, 0.5, 0.1, 0.06, 0.4), (2, 1, 2, 3, 0.5, 0.1, 0.2, 0.2), (2, 1, 3, 3, 1, 0, 0.1, 1),
	(2, 1, 4, 3, 1, 0, 0.1, 0.9), (2, 2, 1, 7, 0.396, 0.1, 0.1, 0.2), (2, 2, 2, 16, 0.4, 0.1, 0.1, 0.2)) v(group_id, state, action, visits, q, stderr, q_error, truth)$$) ORDER BY visits COLLATE "C";
-- Calibration: the sign counts where an answer has one, and the truth is far enough from 0.
SELECT * FROM credit.calibration($$SELECT * FROM (VALUES
	(0.1, 0.2, 0.55), (0.1, -0.2, 0.55), (0.1, 0, 0.5), (0.02, 0.2, 0.55), (-0.1, -3, 0.6), (-0.1, -3, 0.8999), (0.1, 1, 0.9), (0.1, 1, 1)) v(truth, answer, confidence)$$) ORDER BY 1;

-- End to end: the truth scores right, its opposite wrong; groups left over by pooling take no part (5 groups in pools of 2).
INSERT INTO credit.methods (method, expression, gamma, pool) VALUES
	('truth', '(SELECT s.step_id, t.truth AS advantage FROM stepadv.steps(g) s JOIN sample t USING (step_id))', NULL, 1),
	('opposite', '(SELECT s.step_id, -2 * t.truth AS advantage FROM stepadv.steps(g) s JOIN sample t USING (step_id))', NULL, 1),
	('pooled', '(SELECT s.step_id, t.truth AS advantage FROM stepadv.steps(g) s JOIN sample t USING (step_id))', NULL, 2),
	('rtmc', 'stepadv.rtmc(g, prior => 0, gamma => 0.9)', 0.9, 1);
SELECT credit.run('shop', 'exact', 4, 5), credit.run('shop', 'finer', 4, 5);
SELECT states, method, groups, rank, signs_right::float8 / signs AS right, round(slope::numeric, 6) AS slope, round(bias::numeric, 6) AS bias, round(variance::numeric, 6) AS variance
FROM credit.results WHERE method <> 'rtmc' ORDER BY states, method COLLATE "C";
-- The estimates of rtmc from its group's rows, with q against the truth at its own discount.
SELECT sum(cases) AS pairs, sum(cases) = (SELECT count(*) FROM (SELECT DISTINCT (rollout_id - 1) / 4, cell FROM credit.simulate('shop', 20)) x) AS all_pairs,
	sum(with_stderr) = sum(cases) FILTER (WHERE visits <> '1') AS errors_from_two_on, bool_and(abs(q_bias) <= q_rms) AS bias_within_rms
FROM credit.coverages;
-- Stated errors cover the truth in 90 to 98 of 100 cases, and signs are right as often as stated: two problems of different kinds, 120 fixed groups of 8.
CREATE FUNCTION credit.stated_errors(problem text, expression text, gamma float8) RETURNS TABLE (covered float8, covered_once float8, right_below_90 float8, right_above_90 float8)
LANGUAGE plpgsql AS
$$
BEGIN
	EXECUTE format('CREATE TEMP TABLE stated AS
		WITH s AS MATERIALIZED (SELECT (rollout_id << 20) + step_no AS step_id, (rollout_id - 1) / 8 AS group_id, * FROM credit.simulate(%1$L, 960)),
		f AS MATERIALIZED (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, state_hash, action_hash, reward) AS g FROM s GROUP BY group_id)
		SELECT s.group_id, s.state_hash AS state, s.action_hash AS action, a.n_action AS visits, a.q, a.stderr, a.q_error, t.q AS true_q, t.advantage AS truth, a.advantage AS answer, a.confidence
		FROM f, %2$s a JOIN s USING (step_id) JOIN credit.truth t ON t.problem = %1$L AND t.cell = s.cell AND t.gamma = %3$L', problem, expression, gamma);
	RETURN QUERY SELECT x.*, y.*
	FROM (SELECT sum(c.covered)::float8 / sum(c.cases), sum(c.covered) FILTER (WHERE c.visits = '1')::float8 / sum(c.cases) FILTER (WHERE c.visits = '1')
		FROM credit.coverage('SELECT group_id, state, action, visits, q, stderr, q_error, true_q AS truth FROM stated') c) x,
		(SELECT sum(steps_right) FILTER (WHERE confidence < 0.9)::float8 / sum(steps) FILTER (WHERE confidence < 0.9),
			sum(steps_right) FILTER (WHERE confidence >= 0.9)::float8 / sum(steps) FILTER (WHERE confidence >= 0.9) FROM credit.calibration('SELECT truth, answer, confidence FROM stated')) y;
	DROP TABLE stated;
END
$$;
SELECT p.problem, m.method, e.covered BETWEEN 0.9 AND 0.98 AS covered, e.covered_once BETWEEN 0.9 AND 0.98 AS covered_once,
	e.right_below_90 BETWEEN 0.6 AND 0.9 AS right_below_90, e.right_above_90 BETWEEN 0.9 AND 1 AS right_above_90
FROM unnest('{ice,migration}'::text[]) p(problem), (VALUES ('rtmc', 'stepadv.rtmc(g, gamma => 0.9, prior => 0)'), ('batch_td', 'stepadv.batch_td(g, gamma => 0.9, prior => 0)')) m(method, expression),
	credit.stated_errors(p.problem, m.expression, 0.9) e ORDER BY 1, 2;
-- Smaller groups and other draws: the truth and its opposite are the same in every sample, as is the share of return variance within equal state and action.
UPDATE credit.methods SET colour = 'black', gamma = nullif(method <> 'rtmc', false)::integer WHERE method IN ('truth', 'opposite', 'rtmc');
INSERT INTO credit.methods (method, expression, colour) VALUES ('reinforce', 'stepadv.reinforce(g)', 'black');
SELECT credit.run_resampling('shop', 2, 1, 5);
SELECT a.method, count(*) AS sizes, bool_and(round(a.agreement::numeric, 9) = 1) AS agrees, bool_and(round(a.rank::numeric, 9) = CASE a.method WHEN 'truth' THEN 1 ELSE -1 END) AS rank,
	bool_and(round(f.within::numeric, 9) = 0) AS none_within
FROM credit.agreements a JOIN credit.feedbacks f USING (problem, method, size) GROUP BY a.method ORDER BY a.method COLLATE "C";
SELECT method, stability, signs > 0 AS signs, signs_right::float8 / signs AS right, covered::float8 / steps AS covered, steps > signs AS small_ones FROM credit.stabilities ORDER BY method COLLATE "C";
WITH r AS (SELECT rollout_id, sum(reward) AS total FROM sample GROUP BY rollout_id)
SELECT abs(f.within - (SELECT sum(x.n * x.v) / (SELECT sum(y.n * y.v) FROM
		(SELECT count(*) AS n, var_pop(r.total) AS v FROM sample s JOIN r USING (rollout_id) GROUP BY s.group_id) y)
	FROM (SELECT count(*) AS n, var_pop(r.total) AS v FROM sample s JOIN r USING (rollout_id) GROUP BY s.group_id, s.cell) x)) < 1e-9 AS within
FROM credit.feedbacks f WHERE f.method = 'reinforce' AND f.size = 64;
SET client_min_messages = warning;
DROP SCHEMA credit CASCADE;
DROP SCHEMA sim CASCADE;

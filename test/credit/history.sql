-- history.sql: the use of earlier groups of a task after the policy has changed.  Needs
-- credit.sql and problems.sql, before credit.prepare().
--
-- The policy of a problem `percent` before its present one has the present probabilities to the
-- power of 1 - percent / 100: it knew less, and at 80 percent it is nearly uniform.  It is a
-- problem of its own, with the same states and outcomes.

CREATE FUNCTION credit.version(problem text, percent integer) RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT format('%s @ %s', problem, percent) $$;

-- The change of the policy per policy step.
CREATE TABLE credit.drifts (drift text PRIMARY KEY, percent integer);
INSERT INTO credit.drifts VALUES ('slow', 1), ('fast', 4);

CREATE FUNCTION credit.prepare_history() RETURNS void
LANGUAGE plpgsql SET jit = off AS
$$
DECLARE
	problems CONSTANT text[] := ARRAY(SELECT p.problem FROM credit.problems p);
BEGIN
	CREATE TEMP TABLE versions AS
	SELECT DISTINCT p.problem, d.percent * age AS percent FROM credit.problems p, credit.drifts d, generate_series(0, 20) age;
	INSERT INTO credit.problems (problem, kind, start, hazard, habits, about)
	SELECT credit.version(p.problem, v.percent), p.kind, p.start, p.hazard, 0, p.about FROM credit.problems p JOIN versions v USING (problem);
	INSERT INTO credit.choices
	SELECT credit.version(c.problem, v.percent), c.state, c.action, o.probability ^ (1 - v.percent / 100.0), c.outcomes, c.reward
	FROM credit.choices c JOIN credit.policy o USING (problem, state, action) JOIN versions v USING (problem);
	DELETE FROM credit.looks;
	DELETE FROM credit.choices c WHERE c.problem = ANY (problems);
	DELETE FROM credit.problems p WHERE p.problem = ANY (problems);
	DROP TABLE versions;
	PERFORM credit.prepare('{}');
	PERFORM credit.solve(p.problem, 1) FROM credit.problems p WHERE p.problem LIKE '% @ 0';
	UPDATE credit.truth SET advantage = q - v;
END
$$;

-- g is the group, h<k> one group of the same size from each of the k previous policy steps, n<k> as many groups
-- of the group's own policy.
CREATE TABLE credit.histories (n serial PRIMARY KEY, history text, method text, expression text);
INSERT INTO credit.histories (history, method, expression)
SELECT v.history, m.method, format('stepadv.%s(g%s%s)', m.method, m.options, v.arguments)
FROM (VALUES (1, 'batch_td', ''), (2, 'rtmc', ', prior_mean => ''start_value''')) m(i, method, options),
	(VALUES (1, 'none', ''), (2, '1 step', ', history => h1'), (3, '5 steps', ', history => h5'), (4, '20 steps', ', history => h20'),
		(5, '5 steps, decay .7', ', history => h5, decay => 0.7'), (6, '20 steps, decay .9', ', history => h20, decay => 0.9'), (7, '20 steps, decay .7', ', history => h20, decay => 0.7'),
		(8, '20 groups of the same policy', ', history => n20')) v(i, history, arguments)
ORDER BY m.i, v.i;

CREATE TABLE credit.history_results (
	problem text, drift text, n integer, groups bigint, rank float8, signs bigint, signs_right bigint, slope float8, bias float8, variance float8,
	PRIMARY KEY (problem, drift, n)
);

CREATE FUNCTION credit.run_history(problem text, drift text, size integer, groups integer, seed bigint) RETURNS void
LANGUAGE plpgsql SET jit = off SET work_mem = '256MB' SET client_min_messages = warning AS
$$
DECLARE
	percent CONSTANT integer := (SELECT d.percent FROM credit.drifts d WHERE d.drift = run_history.drift);
	m credit.histories;
BEGIN
	DROP TABLE IF EXISTS sample, folded, histories, answer;
	CREATE TEMP TABLE sample AS
	SELECT v.age, (s.rollout_id << 20) + s.step_no AS step_id, (s.rollout_id - 1) / size AS group_id,
		s.rollout_id + v.age * 10000000 AS rollout_id, s.step_no, s.cell, s.state_hash, s.action_hash, s.reward
	-- Groups of negative age have the present policy.
	FROM generate_series(-20, 20) v(age),
		LATERAL credit.simulate(credit.version(run_history.problem, percent * greatest(v.age, 0)), run_history.groups * size, run_history.seed * 100 + v.age) s;
	CREATE TEMP TABLE folded AS
	SELECT group_id, age, stepadv.rollout_agg(step_id, rollout_id, step_no, state_hash, action_hash, reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 100 - age) AS g FROM sample GROUP BY 1, 2;
	CREATE TEMP TABLE histories AS
	SELECT f.group_id, f.g, h.h1, h.h5, h.h20, h.n20 FROM folded f JOIN (
		SELECT group_id, stepadv.rollup(g) FILTER (WHERE age BETWEEN 1 AND 1) AS h1, stepadv.rollup(g) FILTER (WHERE age BETWEEN 1 AND 5) AS h5,
			stepadv.rollup(g) FILTER (WHERE age > 0) AS h20, stepadv.rollup(g) FILTER (WHERE age < 0) AS n20
		FROM folded GROUP BY group_id) h USING (group_id) WHERE f.age = 0;
	FOR m IN SELECT * FROM credit.histories ORDER BY n LOOP
		DROP TABLE IF EXISTS answer;
		EXECUTE format('CREATE TEMP TABLE answer AS SELECT a.step_id, a.advantage FROM histories, LATERAL %s a', m.expression);
		INSERT INTO credit.history_results
		SELECT run_history.problem, run_history.drift, m.n, j.groups, j.rank, j.signs, j.signs_right, j.slope, j.bias, j.variance
		FROM credit.judge(format('SELECT s.group_id, s.cell, t.advantage AS truth, a.advantage AS answer FROM answer a JOIN sample s USING (step_id)
			JOIN credit.truth t ON t.problem = %L AND t.cell = s.cell AND t.gamma = 1 WHERE s.age = 0', credit.version(run_history.problem, 0))) j;
	END LOOP;
END
$$;

-- Rank / sign, bias, variance: means over the problems.
CREATE VIEW credit.by_history AS
SELECT 0 AS n, E'| history | batch_td, slow | bias, variance | batch_td, fast | bias, variance | rtmc, slow | bias, variance | rtmc, fast | bias, variance |\n'
	'| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |' AS line
UNION ALL
SELECT min(n)::integer, credit.table_line(VARIADIC ARRAY[history] || array_agg(cell ORDER BY method, drift DESC, i))
FROM (
	SELECT h.history, h.method, r.drift, min(h.n) AS n, c.i, CASE c.i WHEN 1 THEN credit.short(avg(r.rank)) || ' / ' || credit.short(avg(r.signs_right::float8 / r.signs))
		ELSE credit.short(avg(r.bias)) || ', ' || credit.short(avg(r.variance)) END AS cell
	FROM credit.history_results r JOIN credit.histories h USING (n), generate_series(1, 2) c(i) GROUP BY h.history, h.method, r.drift, c.i, h.n) x
GROUP BY history;

-- resampling.sql: how much the answers of a method depend on which rollouts the group
-- has, for the tables of docs/results/resampling.md.  Needs credit.sql, problems.sql and
-- methods.sql; the methods are those of the picture.
--
--   credit.run_resampling(problem, …)	into credit.agreements, feedbacks, stabilities

-- Rank correlation of the answers of a smaller group with those of the group of 64 that it is
-- drawn from, and with the truth, over the same steps.
CREATE TABLE credit.agreements (
	problem text, size integer, method text, agreement float8, rank float8,
	PRIMARY KEY (problem, size, method)
);

-- within: the share of the variance of a method's answers among steps with equal
-- state and action, whose true advantages are equal.
CREATE TABLE credit.feedbacks (
	problem text, size integer, method text, within float8,
	PRIMARY KEY (problem, size, method)
);

-- stability: a bin of the share of bootstrap samples of a group of 8 in which the answer for a
-- pair has the same sign as in the group.  Numbers of steps, of those with a true sign (|A| > .03),
-- with the right sign, and whose 95 % percentile interval contains the true Q - V.
CREATE TABLE credit.stabilities (
	problem text, method text, stability integer, steps bigint, signs bigint, signs_right bigint, covered bigint,
	PRIMARY KEY (problem, method, stability)
);

-- Groups of 64, and `small`: groups of every size drawn from them.
CREATE FUNCTION credit.draw_groups(problem text, groups integer, seed integer) RETURNS void
LANGUAGE plpgsql SET jit = off SET work_mem = '256MB' SET client_min_messages = warning AS
$$
BEGIN
	DROP TABLE IF EXISTS sample, folded, small;
	CREATE TEMP TABLE sample AS
	SELECT (s.rollout_id << 20) + s.step_no AS step_id, (s.rollout_id - 1) / 64 AS group_id, s.rollout_id, s.step_no, s.cell,
		s.state_hash AS state, s.action_hash AS action, s.reward, t.advantage AS truth
	FROM credit.simulate(draw_groups.problem, draw_groups.groups * 64, draw_groups.seed) s
	JOIN credit.truth t ON t.problem = draw_groups.problem AND t.cell = s.cell AND t.gamma = 1;
	CREATE TEMP TABLE folded AS
	SELECT s.group_id, stepadv.rollout_agg(s.step_id, s.rollout_id, s.step_no, s.state, s.action, s.reward) AS g FROM sample s GROUP BY s.group_id;
	CREATE TEMP TABLE small AS
	SELECT f.group_id, k.size, stepadv.resample(f.g, k.size, draw_groups.seed, replace => false) AS g
	FROM folded f, unnest(ARRAY[2, 4, 8, 16, 32, 64]) k(size);
	ANALYZE sample;
END
$$;

-- Compares the sizes for one method, whose answers are in the table `answer`.
CREATE FUNCTION credit.compare_sizes(problem text, method text) RETURNS void
LANGUAGE plpgsql SET jit = off SET work_mem = '256MB' AS
$$
BEGIN
	INSERT INTO credit.agreements
	SELECT compare_sizes.problem, k.size, compare_sizes.method, own.rank, real.rank
	FROM unnest(ARRAY[2, 4, 8, 16, 32, 64]) k(size),
		credit.judge(format('SELECT a.group_id, 0 AS cell, f.advantage AS truth, a.advantage AS answer
			FROM answer a JOIN answer f USING (step_id) WHERE a.size = %s AND f.size = 64', k.size)) own,
		credit.judge(format('SELECT group_id, s.cell, s.truth, a.advantage AS answer FROM answer a JOIN sample s USING (group_id, step_id) WHERE a.size = %s', k.size)) real;
	INSERT INTO credit.feedbacks
	SELECT compare_sizes.problem, size, compare_sizes.method, sum(within) / nullif(sum(total), 0)
	FROM (SELECT size, group_id, sum((advantage - of_pair) ^ 2) AS within, var_pop(advantage) * count(*) AS total
		FROM (SELECT a.size, a.group_id, a.advantage, avg(a.advantage) OVER (PARTITION BY a.size, a.group_id, s.state, s.action) AS of_pair
			FROM answer a JOIN sample s USING (step_id)) p GROUP BY size, group_id) g
	GROUP BY size;
END
$$;

-- The bootstrap, for methods that answer by state and action.
CREATE FUNCTION credit.judge_stability(problem text, method text, expression text, gamma float8, groups integer, samples integer) RETURNS void
LANGUAGE plpgsql SET jit = off SET work_mem = '256MB' SET client_min_messages = warning AS
$$
BEGIN
	DROP TABLE IF EXISTS said, drawn;
	EXECUTE format('CREATE TEMP TABLE said AS
		SELECT m.group_id, s.state, s.action, min(s.cell) AS cell, count(*) AS steps, round(min(a.advantage) * 1e12) / 1e12 AS advantage
		FROM small m, LATERAL %s a JOIN sample s USING (step_id) WHERE m.size = 8 AND m.group_id < %s GROUP BY 1, 2, 3', expression, groups);
	EXECUTE format('CREATE TEMP TABLE drawn AS
		SELECT r.group_id, r.seed, s.state, s.action, round(min(a.advantage) * 1e12) / 1e12 AS advantage
		FROM (SELECT m.group_id, seed, stepadv.resample(m.g, NULL, seed) AS g FROM small m, generate_series(1, %s) seed WHERE m.size = 8 AND m.group_id < %s) r,
			LATERAL %s a JOIN sample s USING (step_id)
		GROUP BY 1, 2, 3, 4', samples, groups, expression);
	INSERT INTO credit.stabilities
	SELECT judge_stability.problem, judge_stability.method, width_bucket(b.stable, ARRAY[0.5, 0.7, 0.9, 1]), sum(p.steps),
		sum(p.steps) FILTER (WHERE abs(t.advantage) > 0.03), coalesce(sum(p.steps) FILTER (WHERE abs(t.advantage) > 0.03 AND sign(t.advantage) = sign(p.advantage)), 0),
		coalesce(sum(p.steps) FILTER (WHERE t.q - t.v BETWEEN b.bounds[1] - 1e-9 AND b.bounds[2] + 1e-9), 0)
	FROM said p
	JOIN (SELECT d.group_id, d.state, d.action, avg((sign(d.advantage) = sign(p.advantage))::integer) AS stable,
			percentile_cont(ARRAY[0.025, 0.975]) WITHIN GROUP (ORDER BY d.advantage) AS bounds
		FROM drawn d JOIN said p USING (group_id, state, action) GROUP BY 1, 2, 3) b USING (group_id, state, action)
	JOIN credit.truth t ON t.problem = judge_stability.problem AND t.cell = p.cell AND t.gamma = judge_stability.gamma
	WHERE p.advantage <> 0
	GROUP BY 3;
END
$$;

CREATE FUNCTION credit.run_resampling(problem text, groups integer, seed integer DEFAULT 1, samples integer DEFAULT 100) RETURNS void
LANGUAGE plpgsql SET jit = off SET work_mem = '256MB' SET client_min_messages = warning AS
$$
DECLARE
	m credit.methods;
BEGIN
	PERFORM credit.draw_groups(run_resampling.problem, run_resampling.groups, run_resampling.seed);
	FOR m IN SELECT * FROM credit.methods WHERE colour IS NOT NULL AND pool = 1 ORDER BY n LOOP
		DROP TABLE IF EXISTS answer;
		EXECUTE format('CREATE TEMP TABLE answer AS SELECT s.size, s.group_id, a.step_id, a.advantage FROM small s, LATERAL %s a', m.expression);
		ANALYZE answer;
		PERFORM credit.compare_sizes(run_resampling.problem, m.method);
		IF m.gamma IS NOT NULL THEN
			PERFORM credit.judge_stability(run_resampling.problem, m.method, m.expression, m.gamma, run_resampling.groups, run_resampling.samples);
		END IF;
	END LOOP;
END
$$;

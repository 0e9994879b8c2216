-- Worked cases of the estimators: each group and its expected numbers, as published or by hand; off counts the steps that differ by more than 1e-9 (relative).
CREATE SCHEMA vectors;
SET search_path = vectors, stepadv, public;

CREATE FUNCTION off(got float8, expected float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS
$$ SELECT got IS NULL OR expected IS NULL OR abs(got - expected) > 1e-9 * greatest(1, abs(expected)) $$;

-- Scores of one-step rollouts in groups, as the trajectory-level methods see them.
CREATE TABLE score (case_id text, group_id text, rollout_id bigint, score float8, expected float8);
INSERT INTO score VALUES
	('grpo_verl_std', 'a', 1, 1.0, 0.8660239037870368),
	('grpo_verl_std', 'a', 2, 0.0, -0.8660239037870368),
	('grpo_verl_std', 'a', 3, 0.0, -0.8660239037870368),
	('grpo_verl_std', 'a', 4, 1.0, 0.8660239037870368),
	('grpo_verl_std', 'b', 5, 0.0, 0.0),
	('grpo_verl_std_b', 'a', 1, 2.0, -0.8728709895157722),
	('grpo_verl_std_b', 'a', 2, 3.0, -0.21821774737894314),
	('grpo_verl_std_b', 'a', 3, 5.0, 1.091088736894715),
	('grpo_verl_std_b', 'b', 4, 0.7, 0.6999993000007),
	('grpo_dr_nostd', 'a', 1, 2.0, -1.3333333333333335),
	('grpo_dr_nostd', 'a', 2, 3.0, -0.3333333333333335),
	('grpo_dr_nostd', 'a', 3, 5.0, 1.6666666666666665),
	('grpo_dr_nostd', 'b', 4, 0.7, 0.7),
	('grpo_uniform', 'a', 1, 1.0, 0.0),
	('grpo_uniform', 'a', 2, 1.0, 0.0),
	('grpo_uniform', 'a', 3, 1.0, 0.0),
	('grpo_trl_group', 'a', 1, 1.0, 0.8658754297607016),
	('grpo_trl_group', 'a', 2, 0.0, -0.8658754297607016),
	('grpo_trl_group', 'a', 3, 0.0, -0.8658754297607016),
	('grpo_trl_group', 'a', 4, 1.0, 0.8658754297607016),
	('rloo_verl', 'a', 1, 2.0, -2.0),
	('rloo_verl', 'a', 2, 3.0, -0.5),
	('rloo_verl', 'a', 3, 5.0, 2.5),
	('rloo_verl', 'b', 4, 0.7, 0.7),
	('rloo_vectorized_singleton', 'a', 1, 2.0, -2.0),
	('rloo_vectorized_singleton', 'a', 2, 3.0, -0.5),
	('rloo_vectorized_singleton', 'a', 3, 5.0, 2.5),
	('rloo_vectorized_singleton', 'b', 4, 0.7, 0.0),
	('grpo_trl_batch', 'a', 1, 1.0, 0.39732813068158557),
	('grpo_trl_batch', 'a', 2, 0.0, -0.39732813068158557),
	('grpo_trl_batch', 'b', 3, 3.0, 0.7946562613631711),
	('grpo_trl_batch', 'b', 4, 1.0, -0.7946562613631711),
	('grpo_small_sd', 'a', 1, 0.5, -0.705112422085924),
	('grpo_small_sd', 'a', 2, 0.5005, 0.705112422085924),
	('uniform_9.025', 'a', 1, 9.025, 0.0),
	('uniform_9.025', 'a', 2, 9.025, 0.0),
	('uniform_9.025', 'a', 3, 9.025, 0.0),
	('uniform_9.025', 'a', 4, 9.025, 0.0),
	('uniform_9.025', 'a', 5, 9.025, 0.0),
	('uniform_9.025', 'a', 6, 9.025, 0.0),
	('uniform_9.025', 'a', 7, 9.025, 0.0),
	('uniform_9.025', 'a', 8, 9.025, 0.0);

CREATE VIEW score_groups AS
SELECT case_id, group_id, rollout_agg(rollout_id, rollout_id, 0, 1, rollout_id, score) AS g
FROM score GROUP BY case_id, group_id;

-- verl: a lone rollout keeps its score
SELECT s.case_id, count(*), count(*) FILTER (WHERE off(a.advantage, s.expected)) AS off
FROM score_groups, grpo(g, singleton => 'raw') a JOIN score s USING (rollout_id)
WHERE s.case_id = score_groups.case_id AND s.group_id = score_groups.group_id
  AND s.case_id IN ('grpo_verl_std', 'grpo_verl_std_b', 'grpo_uniform', 'grpo_small_sd', 'uniform_9.025')
GROUP BY s.case_id ORDER BY s.case_id;
-- Dr.GRPO: no division
SELECT s.case_id, count(*), count(*) FILTER (WHERE off(a.advantage, s.expected)) AS off
FROM score_groups, grpo(g, normalise => 'mean', singleton => 'raw') a JOIN score s USING (rollout_id)
WHERE s.case_id = score_groups.case_id AND s.group_id = score_groups.group_id AND s.case_id = 'grpo_dr_nostd'
GROUP BY s.case_id;
-- TRL: another epsilon
SELECT s.case_id, count(*), count(*) FILTER (WHERE off(a.advantage, s.expected)) AS off
FROM score_groups, grpo(g, epsilon => 1e-4) a JOIN score s USING (rollout_id)
WHERE s.case_id = score_groups.case_id AND s.group_id = score_groups.group_id AND s.case_id = 'grpo_trl_group'
GROUP BY s.case_id;
-- TRL with scale_rewards = 'batch': the group's mean, the batch's sd
WITH centred AS (
	SELECT s.rollout_id, a.advantage, s.expected, stddev_samp(s.score) OVER () AS batch_sd
	FROM score_groups x, grpo(g, normalise => 'mean') a JOIN score s USING (rollout_id)
	WHERE s.case_id = x.case_id AND s.group_id = x.group_id AND x.case_id = 'grpo_trl_batch')
SELECT 'grpo_trl_batch' AS case_id, count(*), count(*) FILTER (WHERE off(advantage / (batch_sd + 1e-4), expected)) AS off
FROM centred;
-- RLOO, both singleton rules
SELECT s.case_id, count(*), count(*) FILTER (WHERE off(a.advantage, s.expected)) AS off
FROM score_groups, rloo(g, singleton => 'raw') a JOIN score s USING (rollout_id)
WHERE s.case_id = score_groups.case_id AND s.group_id = score_groups.group_id AND s.case_id = 'rloo_verl'
GROUP BY s.case_id;
SELECT s.case_id, count(*), count(*) FILTER (WHERE off(a.advantage, s.expected)) AS off
FROM score_groups, rloo(g) a JOIN score s USING (rollout_id)
WHERE s.case_id = score_groups.case_id AND s.group_id = score_groups.group_id AND s.case_id = 'rloo_vectorized_singleton'
GROUP BY s.case_id;

-- Rollouts of several steps.
CREATE TABLE step (case_id text, rollout_id bigint, step_no integer, state text, action text, reward float8,
	return float8, expected float8, normalised float8, n integer, q float8, v float8);
INSERT INTO step VALUES
	('discounted_returns', 1, 0, NULL, NULL, 0, 8.47875, 8.47875, NULL, NULL, NULL, NULL),
	('discounted_returns', 1, 1, NULL, NULL, -0.1, 8.925, 8.925, NULL, NULL, NULL, NULL),
	('discounted_returns', 1, 2, NULL, NULL, 0, 9.5, 9.5, NULL, NULL, NULL, NULL),
	('discounted_returns', 1, 3, NULL, NULL, 10.0, 10.0, 10.0, NULL, NULL, NULL, NULL),
	('grpo_step_reward_pooled', 1, 0, NULL, NULL, 0.1, 1.1791000000000003, 0.8571339868652833, NULL, NULL, NULL, NULL),
	('grpo_step_reward_pooled', 1, 1, NULL, NULL, 0.1, 1.09, 0.7265591027357237, NULL, NULL, NULL, NULL),
	('grpo_step_reward_pooled', 1, 2, NULL, NULL, 1.0, 1.0, 0.5946652803826332, NULL, NULL, NULL, NULL),
	('grpo_step_reward_pooled', 2, 0, NULL, NULL, 0.1, -0.098, -1.014439352325069, NULL, NULL, NULL, NULL),
	('grpo_step_reward_pooled', 2, 1, NULL, NULL, -0.2, -0.2, -1.1639190176585714, NULL, NULL, NULL, NULL),
	('rtmc_k2', 1, 0, 'r', 'view:f', 0, 0.9801, 0.16069666666666665, 0.46471945335072556, 2, 0.49005, 0.32935333333333333),
	('rtmc_k2', 1, 1, 'v', 'fix', 0, 0.99, 0.5758333333333333, 1.6652551508294684, 1, 0.99, 0.4141666666666667),
	('rtmc_k2', 1, 2, 'vf', 'finish', 1.0, 1.0, 0.44444444444444453, 1.2852909991930295, 1, 1.0, 0.5555555555555555),
	('rtmc_k2', 2, 0, 'r', 'view:f', 0, 0.0, 0.16069666666666665, 0.46471945335072556, 2, 0.49005, 0.32935333333333333),
	('rtmc_k2', 2, 1, 'v', 'test', 0, 0.0, -0.4141666666666667, -1.1977305498730042, 1, 0.0, 0.4141666666666667),
	('rtmc_k2', 2, 2, 'vt', 'finish', 0.0, 0.0, -0.2222222222222222, -0.6426454995965146, 1, 0.0, 0.2222222222222222),
	('rtmc_k2', 3, 0, 'r', 'search', 0, 0.0, -0.32935333333333333, -0.9524584684969983, 1, 0.0, 0.32935333333333333),
	('rtmc_k2', 3, 1, 'q', 'finish', 0.0, 0.0, -0.2222222222222222, -0.6426454995965146, 1, 0.0, 0.2222222222222222),
	('rtmc_k0', 1, 0, 'r', 'view:f', 0, 0.9801, 0.16335, 0.5730038908753741, 2, 0.49005, 0.3267),
	('rtmc_k0', 1, 1, 'v', 'fix', 0, 0.99, 0.495, 1.736375426895073, 1, 0.99, 0.495),
	('rtmc_k0', 1, 2, 'vf', 'finish', 1.0, 1.0, 0.0, 0.0, 1, 1.0, 1.0),
	('rtmc_k0', 2, 0, 'r', 'view:f', 0, 0.0, 0.16335, 0.5730038908753741, 2, 0.49005, 0.3267),
	('rtmc_k0', 2, 1, 'v', 'test', 0, 0.0, -0.495, -1.736375426895073, 1, 0.0, 0.495),
	('rtmc_k0', 2, 2, 'vt', 'finish', 0.0, 0.0, 0.0, 0.0, 1, 0.0, 0.0),
	('rtmc_k0', 3, 0, 'r', 'search', 0, 0.0, -0.3267, -1.1460077817507481, 1, 0.0, 0.3267),
	('rtmc_k0', 3, 1, 'q', 'finish', 0.0, 0.0, 0.0, 0.0, 1, 0.0, 0.0),
	('rtmc_first_visit', 1, 0, 's', 'a', 0, 0.25, 0.125, 1.3363062095621219, 1, 0.25, 0.125),
	('rtmc_first_visit', 1, 1, 's', 'a', 0, 0.5, 0.125, 1.3363062095621219, 1, 0.25, 0.125),
	('rtmc_first_visit', 1, 2, 's2', 'finish', 1.0, 1.0, 0.0, 0.0, 1, 1.0, 1.0),
	('rtmc_first_visit', 2, 0, 's', 'b', 0, 0.0, -0.125, -1.3363062095621219, 1, 0.0, 0.125),
	('rtmc_first_visit', 2, 1, 's3', 'finish', 0.0, 0.0, 0.0, 0.0, 1, 0.0, 0.0),
	('rtmc_validation_bonus', 1, 0, 'r', 'modify', 0, 1.0791000000000002, 0.0, 0.0, 2, 1.03455, 1.03455),
	('rtmc_validation_bonus', 1, 1, 'm', 'test', 0.1, 1.09, 0.04500000000000015, 1.5811388300841935, 1, 1.09, 1.045),
	('rtmc_validation_bonus', 1, 2, 'mt', 'finish', 1.0, 1.0, 0.0, 0.0, 1, 1.0, 1.0),
	('rtmc_validation_bonus', 2, 0, 'r', 'modify', 0, 0.99, 0.0, 0.0, 2, 1.03455, 1.03455),
	('rtmc_validation_bonus', 2, 1, 'm', 'finish', 1.0, 1.0, -0.04499999999999993, -1.5811388300841858, 1, 1.0, 1.045);

CREATE VIEW step_groups AS
SELECT case_id, rollout_agg(rollout_id * 10 + step_no, rollout_id, step_no, signature_hash(state), signature_hash(action), reward) AS g
FROM step GROUP BY case_id;

SELECT s.case_id, count(*), count(*) FILTER (WHERE off(a.return, s.expected)) AS off
FROM step_groups, returns(g, gamma => 0.95) a JOIN step s USING (rollout_id, step_no)
WHERE s.case_id = step_groups.case_id AND s.case_id = 'discounted_returns' GROUP BY s.case_id;
SELECT s.case_id, count(*), count(*) FILTER (WHERE off(a.return, s.return)) AS return_off,
	count(*) FILTER (WHERE off(a.advantage, s.expected)) AS off
FROM step_groups, grpo(g, step_rewards => true, gamma => 0.99, singleton => 'raw') a JOIN step s USING (rollout_id, step_no)
WHERE s.case_id = step_groups.case_id AND s.case_id = 'grpo_step_reward_pooled' GROUP BY s.case_id;

-- RTMC: gamma, prior and p of each case; p is given where it is not the success rate
WITH options(case_id, gamma, prior, baseline) AS (VALUES
	('rtmc_k2', 0.99, 2, NULL), ('rtmc_k0', 0.99, 0, NULL),
	('rtmc_first_visit', 0.5, 0, NULL), ('rtmc_validation_bonus', 0.99, 0, 1.0))
SELECT o.case_id, count(*),
	count(*) FILTER (WHERE off(a.return, s.return)) AS return_off,
	count(*) FILTER (WHERE a.n_action IS DISTINCT FROM s.n) AS n_off,
	count(*) FILTER (WHERE off(a.q, s.q)) AS q_off,
	count(*) FILTER (WHERE off(a.v, s.v)) AS v_off,
	count(*) FILTER (WHERE off(a.advantage, s.expected)) AS off,
	count(*) FILTER (WHERE off(b.advantage, s.normalised)) AS normalised_off
FROM options o JOIN step_groups x USING (case_id),
	rtmc(g, gamma => o.gamma, prior => o.prior, baseline => o.baseline) a
	JOIN step s USING (rollout_id, step_no),
	rtmc(g, gamma => o.gamma, prior => o.prior, baseline => o.baseline, normalise => true) b
WHERE s.case_id = o.case_id AND b.step_id = a.step_id
GROUP BY o.case_id ORDER BY o.case_id;

-- rtmc_prior_weight: with no return and p = 1, V' is the weight of the prior
SELECT n, a.v, off(a.v, expected) AS off
FROM (VALUES (1, 0.6666666666666666), (2, 0.5), (4, 0.3333333333333333), (8, 0.2)) w(n, expected),
	LATERAL (SELECT rollout_agg(r, r, 0, 1, 1, 0) AS g FROM generate_series(1, n) r) x,
	rtmc(x.g, prior => 2, baseline => 1) a
WHERE a.rollout_id = 1 ORDER BY n;

-- batch TD: three sets of rollouts with expected numbers by state and action; the cases are the same group with other options.
-- batch_td_stitch: rollout 3 fails, yet its step of s led to n, from which another succeeded half the time.
CREATE TABLE td_step (data text, rollout_id bigint, step_no integer, state text, action text, reward float8);
INSERT INTO td_step VALUES
	('stitch', 1, 0, 's', 'left', 0.0), ('stitch', 1, 1, 'm', 'go', 1.0), ('stitch', 2, 0, 's', 'right', 0.0),
	('stitch', 2, 1, 'm', 'wait', 0.0), ('stitch', 3, 0, 's', 'left', 0.0), ('stitch', 3, 1, 'n', 'go', 0.0),
	('stitch', 4, 0, 'n', 'go', 1.0), ('cycle', 1, 0, 'a', 'x', 0.0), ('cycle', 1, 1, 'b', 'y', 0.0),
	('cycle', 1, 2, 'a', 'x', 0.0), ('cycle', 1, 3, 'b', 'z', 1.0), ('cycle', 2, 0, 'a', 'w', 0.0),
	('cycle', 2, 1, 'a', 'x', 0.0), ('cycle', 2, 2, 'b', 'y', 0.0), ('cycle', 3, 0, 'b', 'z', 1.0),
	('values', 1, 0, 's', 'p', 0.0), ('values', 1, 1, 't', 'u', 0.0), ('values', 1, 2, 'g', 'end', 1.0),
	('values', 2, 0, 's', 'q', 0.0), ('values', 2, 1, 't', 'u', 0.0), ('values', 3, 0, 's', 'q', 0.5),
	('values', 3, 1, 'g', 'end', 0.0), ('values', 4, 0, 's', 'p', 0.0), ('values', 4, 1, 'd', 'stop', -1.0);
CREATE TABLE td_case (case_id text, data text, gamma float8, lambda float8, prior float8, baseline float8);
INSERT INTO td_case VALUES
	('batch_td_stitch', 'stitch', 1.0, 0.0, 0.0, 0.0), ('batch_td_stitch_discount', 'stitch', 0.9, 0.0, 0.0, 0.0),
	('batch_td_cycle', 'cycle', 0.9, 0.0, 0.0, 0.0), ('batch_td_cycle_undiscounted', 'cycle', 1.0, 0.0, 0.0, 0.0),
	('batch_td_lambda_half', 'cycle', 0.9, 0.5, 0.0, 0.0), ('batch_td_lambda_one', 'cycle', 0.9, 1.0, 0.0, 0.0),
	('batch_td_prior', 'values', 0.95, 0.0, 2.0, 0.25), ('batch_td_negative', 'values', 0.95, 0.0, 0.0, 0.0);
CREATE TABLE td_expected (case_id text, state text, action text, n_state integer, n_action integer, q float8, v float8, advantage float8);
INSERT INTO td_expected VALUES
	('batch_td_stitch', 's', 'left', 3, 2, 0.5, 0.5, 0.0), ('batch_td_stitch', 'm', 'go', 2, 1, 1.0, 0.5, 0.5),
	('batch_td_stitch', 's', 'right', 3, 1, 0.5, 0.5, 0.0), ('batch_td_stitch', 'm', 'wait', 2, 1, 0.0, 0.5, -0.5),
	('batch_td_stitch', 'n', 'go', 2, 2, 0.5, 0.5, 0.0), ('batch_td_stitch_discount', 's', 'left', 3, 2, 0.45, 0.45, 0.0),
	('batch_td_stitch_discount', 'm', 'go', 2, 1, 1.0, 0.5, 0.5), ('batch_td_stitch_discount', 's', 'right', 3, 1, 0.45, 0.45, 0.0),
	('batch_td_stitch_discount', 'm', 'wait', 2, 1, 0.0, 0.5, -0.5), ('batch_td_stitch_discount', 'n', 'go', 2, 2, 0.5, 0.5, 0.0),
	('batch_td_cycle', 'a', 'x', 4, 3, 0.559679037111334, 0.5416248746238717, 0.01805416248746239), ('batch_td_cycle', 'b', 'y', 4, 2, 0.24373119358074224, 0.6218655967903711, -0.3781344032096289),
	('batch_td_cycle', 'b', 'z', 4, 2, 1.0, 0.6218655967903711, 0.3781344032096289), ('batch_td_cycle', 'a', 'w', 4, 1, 0.4874623871614845, 0.5416248746238717, -0.054162487462387165),
	('batch_td_cycle_undiscounted', 'a', 'x', 4, 3, 0.6666666666666666, 0.6666666666666666, 0.0), ('batch_td_cycle_undiscounted', 'b', 'y', 4, 2, 0.3333333333333333, 0.6666666666666666, -0.3333333333333333),
	('batch_td_cycle_undiscounted', 'b', 'z', 4, 2, 1.0, 0.6666666666666666, 0.33333333333333337), ('batch_td_cycle_undiscounted', 'a', 'w', 4, 1, 0.6666666666666666, 0.6666666666666666, 0.0),
	('batch_td_lambda_half', 'a', 'x', 4, 3, 0.5179635623303404, 0.4740034453956985, 0.04396011693464186), ('batch_td_lambda_half', 'b', 'y', 4, 2, 0.2723115472958864, 0.6361557736479432, -0.36384422635205677),
	('batch_td_lambda_half', 'b', 'z', 4, 2, 1.0, 0.6361557736479432, 0.3638442263520568), ('batch_td_lambda_half', 'a', 'w', 4, 1, 0.34212309459177287, 0.4740034453956985, -0.13188035080392563),
	('batch_td_lambda_one', 'a', 'x', 4, 3, 0.5429999999999999, 0.40725, 0.13574999999999993), ('batch_td_lambda_one', 'b', 'y', 4, 2, 0.40499999999999997, 0.7025, -0.29750000000000004),
	('batch_td_lambda_one', 'b', 'z', 4, 2, 1.0, 0.7025, 0.2975), ('batch_td_lambda_one', 'a', 'w', 4, 1, 0.0, 0.40725, -0.40725),
	('batch_td_prior', 's', 'p', 4, 2, 0.022513020833333328, 0.2674392361111111, -0.24492621527777775), ('batch_td_prior', 't', 'u', 2, 2, 0.17812499999999998, 0.2140625, -0.03593750000000001),
	('batch_td_prior', 'g', 'end', 2, 2, 0.5, 0.375, 0.125), ('batch_td_prior', 's', 'q', 4, 2, 0.5298046875, 0.2674392361111111, 0.2623654513888889),
	('batch_td_prior', 'd', 'stop', 1, 1, -1.0, -0.16666666666666666, -0.8333333333333334), ('batch_td_negative', 's', 'p', 4, 2, -0.36218750000000005, 0.1190625, -0.48125000000000007),
	('batch_td_negative', 't', 'u', 2, 2, 0.2375, 0.2375, 0.0), ('batch_td_negative', 'g', 'end', 2, 2, 0.5, 0.5, 0.0),
	('batch_td_negative', 's', 'q', 4, 2, 0.6003125, 0.1190625, 0.48125), ('batch_td_negative', 'd', 'stop', 1, 1, -1.0, -1.0, 0.0);
SELECT c.case_id, count(*), count(*) FILTER (WHERE a.n_state <> e.n_state OR a.n_action <> e.n_action) AS n_off,
	count(*) FILTER (WHERE off(a.q, e.q)) AS q_off, count(*) FILTER (WHERE off(a.v, e.v)) AS v_off,
	count(*) FILTER (WHERE off(a.advantage, e.advantage)) AS off,
	count(*) FILTER (WHERE e.advantage = 0 AND a.advantage <> 0) AS ties_broken
FROM td_case c JOIN (
	SELECT data, rollout_agg(rollout_id * 10 + step_no, rollout_id, step_no, signature_hash(state), signature_hash(action), reward) AS g
	FROM td_step GROUP BY data) x USING (data),
	batch_td(g, gamma => c.gamma, lambda => c.lambda, prior => c.prior, baseline => c.baseline) a, td_step s, td_expected e
WHERE s.data = c.data AND s.rollout_id = a.rollout_id AND s.step_no = a.step_no
	AND e.case_id = c.case_id AND e.state = s.state AND e.action = s.action
GROUP BY c.case_id ORDER BY c.case_id;

SET client_min_messages = warning;
DROP SCHEMA vectors CASCADE;

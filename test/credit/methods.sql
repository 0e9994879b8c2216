-- What is compared: any SQL expression of a group g that gives step_id and
-- advantage; with gamma, the discount of its q, also n_action, q and stderr.
INSERT INTO credit.methods (method, expression, gamma, pool, colour) VALUES
	('grpo', 'stepadv.grpo(g)', NULL, 1, '#888888'),
	('rloo', 'stepadv.rloo(g)', NULL, 1, NULL),
	('grpo, step rewards', 'stepadv.grpo(g, step_rewards => true)', NULL, 1, NULL),
	('tempo', 'stepadv.tempo(g)', NULL, 1, NULL),
	('gigpo', 'stepadv.gigpo(g)', NULL, 1, '#aa7722'),
	('hgpo', 'stepadv.hgpo(g)', NULL, 1, '#ccaa00'),
	('graphgpo', 'stepadv.graphgpo(g)', NULL, 1, '#88bbee'),
	('graphgpo, episode 0', 'stepadv.graphgpo(g, episode_weight => 0)', NULL, 1, '#0055bb'),
	('graphgpo, episode 0, epsilon of state', 'stepadv.graphgpo(g, episode_weight => 0, epsilon_of => ''state'')', NULL, 1, NULL),
	('graphgpo, episode 0, discount .8', 'stepadv.graphgpo(g, discount => 0.8, episode_weight => 0)', NULL, 1, NULL),
	('rtmc', 'stepadv.rtmc(g)', 0.99, 1, '#ee9999'),
	('rtmc, start value', 'stepadv.rtmc(g, prior_mean => ''start_value'')', 0.99, 1, NULL),
	('rtmc, start value, gamma .8', 'stepadv.rtmc(g, prior_mean => ''start_value'', gamma => 0.8)', 0.8, 1, NULL),
	('rtmc, prior 0', 'stepadv.rtmc(g, prior => 0)', 0.99, 1, NULL),
	('rtmc, prior 0, gamma .9', 'stepadv.rtmc(g, prior => 0, gamma => 0.9)', 0.9, 1, NULL),
	('rtmc, prior 0, gamma .8', 'stepadv.rtmc(g, prior => 0, gamma => 0.8)', 0.8, 1, '#cc2222'),
	('rtmc, 120 groups pooled', 'stepadv.rtmc(g)', 0.99, 120, '#333333');

-- attribution.sql: how contributions of steps go with true progress, the change
-- of the exact V, on :groups groups of the simulator, of which those in fold 0
-- are held out.  Needs simulator.sql; makes the tables sim.attributed (a row per
-- step of a held-out group) and sim.attribution (a row per contribution).

CREATE TABLE sim.attribution_steps AS
WITH v AS MATERIALIZED (SELECT DISTINCT t AS task, sim.state_text(v.state) AS state, v.v FROM generate_series(0, 7) t, sim.values(t) v)
SELECT s.group_id, s.rollout_id, s.step_no, (s.rollout_id << 20) + s.step_no AS step_id, s.state_hash, s.action_hash,
	s.reward, sum(s.reward) OVER r::float8 AS outcome, count(*) OVER r AS n_steps, stepadv.progress_fold(s.group_id) = 0 AS held_out,
	coalesce(n.v, (s.next_state = 'goal')::integer) - v.v AS progress,
	-- What the agent saw and did, and what came of it
	ARRAY[s.task || ' ' || s.state, s.action, s.task || ' ' || s.next_state] AS atoms
FROM sim.simulate(:groups) s JOIN v USING (task, state) LEFT JOIN v n ON n.task = s.task AND n.state = s.next_state
WINDOW r AS (PARTITION BY s.rollout_id);

CREATE TABLE sim.attributed AS
WITH vectors AS MATERIALIZED (
	SELECT DISTINCT atoms, stepadv.hash_features(atoms[1:2], 256, ngrams => 2) AS x, stepadv.hash_features(atoms, 1024) AS with_next FROM sim.attribution_steps
), model AS MATERIALIZED (
	SELECT stepadv.progress_fit(rollout_id, x, outcome, 0.01) AS linear,
		stepadv.progress_fit(rollout_id, with_next, outcome, 0.01) AS next, stepadv.progress_fit(rollout_id, with_next, outcome, 0.0001) AS next_small,
		stepadv.progress_fit_mlp(rollout_id, x, outcome, 16, 10, 0.003, 64, 0.01, 0) AS mlp
	FROM sim.attribution_steps JOIN vectors USING (atoms) WHERE NOT held_out
), predicted AS MATERIALIZED (
	SELECT atoms, stepadv.progress_predict(linear, x) AS linear, stepadv.progress_predict(next, with_next) AS next,
		stepadv.progress_predict(next_small, with_next) AS next_small, stepadv.progress_predict(mlp, x) AS mlp
	FROM vectors, model
), monte_carlo AS (
	SELECT a.step_id, a.v FROM (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, state_hash, action_hash, reward) AS g
		FROM sim.attribution_steps WHERE held_out GROUP BY group_id) t, stepadv.rtmc(g, prior => 0, gamma => 1) a
)
SELECT s.rollout_id, s.outcome, s.progress, p.linear, p.next, p.next_small, p.mlp,
	stepadv.progress_mean(s.outcome, s.n_steps) AS mean, m.v AS monte_carlo, stepadv.progress_random(s.step_id) AS random
FROM sim.attribution_steps s JOIN predicted p USING (atoms) JOIN monte_carlo m USING (step_id) WHERE s.held_out;

CREATE TABLE sim.attribution AS
SELECT c.n, c.name, c.label, count(*) AS steps, corr(c.contribution, a.progress) AS correlation, CASE WHEN c.predicts THEN
	(stepadv.progress_quality(a.rollout_id, c.contribution, a.outcome)).r2 END AS r2
FROM sim.attributed a, LATERAL (VALUES
	(1, 'linear', a.linear, true, 'linear, state and action with their pair hashed to 256 places, lambda 0.01'),
	(2, 'next', a.next, true, 'linear, state, action and next state, 1024 places, lambda 0.01'),
	(3, 'next_small', a.next_small, true, 'the same, lambda 0.0001'),
	(4, 'mlp', a.mlp, true, '16 rectifiers, features of the first, 10 epochs, learning rate 0.003, lambda 0.01'),
	(5, 'mean', a.mean, true, 'mean, R/T'),
	(6, 'monte_carlo', a.monte_carlo, false, 'Monte-Carlo, `v` of `rtmc` without prior and discount'),
	(7, 'random', a.random, false, 'random')) c(n, name, contribution, predicts, label)
GROUP BY c.n, c.name, c.label, c.predicts;

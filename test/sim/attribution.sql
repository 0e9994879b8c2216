-- attribution.sql: correlation of contributions of steps with true progress, the
-- change of the exact V, in :groups groups of the simulator; those in fold 0 are
-- held out.  Needs simulator.sql; makes the tables sim.attributed (a row per
-- step of a held-out group) and sim.attribution (a row per contribution).

CREATE TABLE sim.attribution_steps AS
WITH v AS MATERIALIZED (SELECT DISTINCT t AS task, sim.state_text(v.state) AS state, v.v FROM generate_series(0, 7) t, sim.values(t) v)
SELECT s.group_id, s.rollout_id, s.step_no, (s.rollout_id << 20) + s.step_no AS step_id, s.state_hash, s.action_hash,
	s.reward, sum(s.reward) OVER r::float8 AS outcome, count(*) OVER r AS n_steps, stepadv.progress_fold(s.group_id) = 0 AS held_out,
	coalesce(n.v, (s.next_state = 'goal')::integer) - v.v AS progress,
	-- What the agent saw and did, and the next state
	ARRAY[s.task || ' ' || s.state, s.action, s.task || ' ' || s.next_state] AS atoms
FROM sim.simulate(:groups) s JOIN v USING (task, state) LEFT JOIN v n ON n.task = s.task AND n.state = s.next_state
WINDOW r AS (PARTITION BY s.rollout_id);

CREATE TABLE sim.attributed AS
WITH vectors AS MATERIALIZED (
	SELECT a.*, h.indices, h.weights FROM (
		SELECT DISTINCT atoms, stepadv.hash_features(atoms[1:2], 256, ngrams => 2) AS x, stepadv.hash_features(atoms, 1024) AS with_next FROM sim.attribution_steps) a,
		stepadv.hash_features_sparse(atoms[1:2], ngrams => 2) h
), model AS MATERIALIZED (
	SELECT stepadv.progress_fit(rollout_id, indices, weights, outcome, 0.01) AS sparse,
		stepadv.progress_fit(rollout_id, x, outcome, 0.01) AS linear,
		stepadv.progress_fit(rollout_id, with_next, outcome, 0.01) AS next, stepadv.progress_fit(rollout_id, with_next, outcome, 0.0001) AS next_small
	FROM sim.attribution_steps JOIN vectors USING (atoms) WHERE NOT held_out
), predicted AS MATERIALIZED (
	SELECT atoms, stepadv.progress_predict(sparse, indices, weights) AS sparse, stepadv.progress_predict(linear, x) AS linear, stepadv.progress_predict(next, with_next) AS next,
		stepadv.progress_predict(next_small, with_next) AS next_small
	FROM vectors, model
), intercepts AS (
	-- A model adds its intercept once per rollout; it is not part of a contribution.
	SELECT (sparse).intercept AS sparse_rollout, (linear).intercept AS linear_rollout, (next).intercept AS next_rollout, (next_small).intercept AS next_small_rollout FROM model
), monte_carlo AS (
	SELECT a.step_id, a.v FROM (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, state_hash, action_hash, reward) AS g
		FROM sim.attribution_steps WHERE held_out GROUP BY group_id) t, stepadv.rtmc(g, prior => 0, gamma => 1) a
)
SELECT s.rollout_id, s.outcome, s.progress, p.sparse, p.linear, p.next, p.next_small, i.sparse_rollout, i.linear_rollout, i.next_rollout, i.next_small_rollout,
	s.outcome / s.n_steps AS mean, m.v AS monte_carlo, sim.uniform(0, s.step_id) AS random
FROM sim.attribution_steps s JOIN predicted p USING (atoms) JOIN monte_carlo m USING (step_id), intercepts i WHERE s.held_out;

CREATE TABLE sim.attribution AS
WITH contributions AS (
	SELECT a.rollout_id, a.outcome, a.progress, c.* FROM sim.attributed a, LATERAL (VALUES
		(1, 'sparse', a.sparse, a.sparse_rollout, 'linear, state and action with their pair as sparse features, lambda 0.01: the recommended call'),
		(2, 'linear', a.linear, a.linear_rollout, 'the same hashed to 256 indices'),
		(5, 'next', a.next, a.next_rollout, 'linear, state, action and next state, 1024 indices, lambda 0.01'),
		(6, 'next_small', a.next_small, a.next_small_rollout, 'the same, lambda 0.0001'),
		(7, 'mean', a.mean, 0, 'mean, R/T'),
		(8, 'monte_carlo', a.monte_carlo, NULL, 'Monte-Carlo, `v` of `rtmc` without prior and discount'),
		(9, 'random', a.random, NULL, 'random')) c(n, name, contribution, intercept, label)
), quality AS (
	SELECT n, 1 - avg((predicted - outcome) ^ 2) / var_pop(outcome) AS r2
	FROM (SELECT n, rollout_id, outcome, intercept + sum(contribution) AS predicted FROM contributions WHERE intercept IS NOT NULL GROUP BY n, rollout_id, outcome, intercept) r GROUP BY n
)
SELECT n, name, label, count(*) AS steps, corr(contribution, progress) AS correlation, r2
FROM contributions LEFT JOIN quality USING (n) GROUP BY n, name, label, r2;

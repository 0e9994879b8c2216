-- On the simulator a step's true progress is the change of the exact V: estimates correlate with it in held-out groups, better than the paper's baselines. (docs/results/progress.md.)
\i test/sim/simulator.sql
SET jit = off;
SET client_min_messages = warning;
\set groups 100
\i test/sim/attribution.sql
SELECT count(*) AS contributions, min(steps) = max(steps) AND min(steps) = (SELECT count(*) FROM sim.attribution_steps WHERE held_out) AS every_step FROM sim.attribution;
CREATE VIEW c AS SELECT name, correlation AS r, r2 FROM sim.attribution;
SELECT sparse.r BETWEEN 0.9 AND 0.98 AS sparse, linear.r BETWEEN 0.7 AND 0.9 AS linear, next.r BETWEEN 0.85 AND 0.98 AS next,
	mean.r BETWEEN 0.1 AND 0.35 AS mean, monte_carlo.r BETWEEN 0 AND 0.25 AS monte_carlo, abs(random.r) < 0.08 AS random
FROM c sparse, c linear, c next, c mean, c monte_carlo, c random
WHERE (sparse.name, linear.name, next.name, mean.name, monte_carlo.name, random.name) = ('sparse', 'linear', 'next', 'mean', 'monte_carlo', 'random');
-- The recommended call predicts outcomes of groups that were held out
SELECT r > 0.75 AS goal, r2 > 0.95 AS predicts FROM c WHERE name = 'sparse';
-- The best predictor of the outcome attributes it worst: the next state reveals it
SELECT s.r2 > 0.999 AND s.r2 > n.r2 AND n.r2 > l.r2 AS better_sum, s.r < n.r AND n.r < l.r AS worse_split
FROM c l, c n, c s WHERE (l.name, n.name, s.name) = ('sparse', 'next', 'next_small');
DROP VIEW c;

-- On the simulator the true progress of a step is known, the change of the exact V: estimates go with it, in
-- held-out groups, and better than the baselines of the paper do.  (docs/progress.md has the table for more groups.)
\set ECHO none
\i test/sim/simulator.sql
SET jit = off;
SET client_min_messages = warning;
\set groups 120
\i test/sim/attribution.sql
\set ECHO all
SELECT count(*) AS contributions, min(steps) = max(steps) AND min(steps) = (SELECT count(*) FROM sim.attribution_steps WHERE held_out) AS every_step FROM sim.attribution;
CREATE VIEW c AS SELECT name, correlation AS r, r2 FROM sim.attribution;
SELECT linear.r BETWEEN 0.55 AND 0.9 AS linear, next.r BETWEEN 0.45 AND 0.9 AS next, mlp.r BETWEEN 0.35 AND 0.9 AS mlp,
	mean.r BETWEEN 0.1 AND 0.35 AS mean, monte_carlo.r BETWEEN 0 AND 0.25 AS monte_carlo, abs(random.r) < 0.08 AS random
FROM c linear, c next, c mlp, c mean, c monte_carlo, c random
WHERE (linear.name, next.name, mlp.name, mean.name, monte_carlo.name, random.name) = ('linear', 'next', 'mlp', 'mean', 'monte_carlo', 'random');
-- What predicts the outcome best splits it worst: the next state gives it away
SELECT s.r2 > 0.99 AND s.r2 > n.r2 AND n.r2 > l.r2 AS better_sum, s.r < n.r AND n.r < l.r AS worse_split
FROM c l, c n, c s WHERE (l.name, n.name, s.name) = ('linear', 'next', 'next_small');
SELECT min(r2) > 0.4 AS predict FROM c WHERE name IN ('linear', 'mlp');
DROP VIEW c;

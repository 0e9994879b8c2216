-- mt_grpo, mt_rloo: worked cases, and equality with plain SQL on random groups
CREATE SCHEMA turns_test;
SET search_path = turns_test, stepadv;
SET jit = off;
SET extra_float_digits = 0;

CREATE FUNCTION near(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN a IS NOT NULL AND abs(a - b) <= 1e-9 * greatest(1, abs(b));

-- Two turns: turn reward at the first, outcome at the second (mt_grpo_code, mt_rloo)
CREATE TABLE two(rollout_id bigint, turn_reward float8, outcome float8, has_result boolean,
				 a_t float8, a_o float8, combined float8, code1 float8, paper1 float8, rloo1 float8, rloo2 float8);
INSERT INTO two VALUES
(0, 0.7, 1.9, true, 1.4227947331259119, 0.9245421715974802, 1.2246198841480462, 1.6359395381604362, 1.885065818924652, 1.6, 1.0333333333333332),
(1, 0.2, 0.4, true, -0.25108142349280804, -0.8648942895589331, -0.8164132560986975, -0.9904350013053371, -0.6835285682722746, -1.0666666666666667, -0.9666666666666666),
(2, 0.0, 1.8, false, -0.9206318861402962, 0.8052464075203861, 0.408206628049349, 0.408206628049349, -0.5180086823801031, 0.5333333333333333, 0.9),
(3, 0.2, 0.4, true, -0.25108142349280804, -0.8648942895589331, -0.8164132560986975, -0.9904350013053371, -0.6835285682722746, -1.0666666666666667, -0.9666666666666666);

CREATE VIEW two_group AS
SELECT rollout_agg(rollout_id * 10 + k, rollout_id, k, NULL, NULL, CASE k WHEN 2 THEN outcome END, NULL, NULL, NULL,
				   CASE k WHEN 1 THEN turn_reward END, NULL) AS g
FROM two, generate_series(1, 2) k;

-- The parts, and the code's reading: the coefficient is the turn's
SELECT count(*), bool_and(near(turn_advantage, CASE step_no WHEN 1 THEN a_t ELSE 0 END)) AS turn,
	   bool_and(near(outcome_advantage, a_o)) AS outcome,
	   bool_and(NOT has_result OR near(advantage, CASE step_no WHEN 1 THEN code1 ELSE a_o END)) AS code
FROM two_group, mt_grpo(g, turn_coef => 0.5) JOIN two USING (rollout_id);
-- The paper's reading: lambda on the outcome
SELECT bool_and(near(advantage, CASE step_no WHEN 1 THEN paper1 ELSE a_o END)) AS paper
FROM two_group, mt_grpo(g, lambda => 0.5) JOIN two USING (rollout_id);
-- A rollout that never got a result takes GRPO over the merged rewards (the code's fallback)
SELECT bool_and(near(CASE WHEN has_result THEN m.advantage ELSE c.advantage END,
					 CASE WHEN m.step_no = 1 OR NOT has_result THEN code1 ELSE a_o END)) AS fallback,
	   bool_and(near(c.advantage, combined)) AS merged
FROM two_group,
	 (SELECT rollout_agg(rollout_id, rollout_id, 1, NULL, NULL, turn_reward + outcome) AS g FROM two) merged_group,
	 mt_grpo(two_group.g, turn_coef => 0.5) m JOIN two USING (rollout_id),
	 grpo(merged_group.g, epsilon => 1e-4) c
WHERE c.rollout_id = m.rollout_id;
-- The same by the option: no intermediate result is no turn reward
CREATE VIEW without_group AS
SELECT rollout_agg(rollout_id * 10 + k, rollout_id, k, NULL, NULL, CASE k WHEN 2 THEN outcome END, NULL, NULL, NULL,
				   CASE WHEN k = 1 AND has_result THEN turn_reward END, NULL) AS g
FROM two, generate_series(1, 2) k;
SELECT count(*), bool_and(near(advantage, CASE WHEN step_no = 1 OR NOT has_result THEN code1 ELSE a_o END)) AS merge,
	   bool_and(near(outcome_advantage, a_o) AND (turn_advantage IS NULL) = NOT has_result) AS parts
FROM without_group, mt_grpo(g, turn_coef => 0.5, without_turn_reward => 'merge') JOIN two USING (rollout_id);
-- The default is a turn reward of 0, and where all have one there is nothing to merge
SELECT count(*), bool_and(a = b) AS zero, bool_and(c = d) AS none_without
FROM without_group w, two_group t, mt_grpo(w.g) a JOIN mt_grpo(t.g) b USING (step_id)
	JOIN mt_grpo(t.g, without_turn_reward => 'merge') c USING (step_id) JOIN mt_grpo(t.g) d USING (step_id);
-- mt_rloo: R of rollout 2 less the mean of the others' merged rewards, 1.8 - (2.6 + 0.6 + 0.6) / 3
SELECT step_id, turn_advantage, round(advantage::numeric, 12) AS advantage FROM without_group, mt_rloo(g, without_turn_reward => 'merge') WHERE rollout_id = 2;
SELECT bool_and(near(advantage, CASE step_no WHEN 1 THEN rloo1 ELSE rloo2 END)) AS mt_rloo
FROM two_group, mt_rloo(g) JOIN two USING (rollout_id);

-- Three turns, discounted (mt_grpo_K3)
WITH r(rollout_id, turn_rewards, outcome, expected) AS (VALUES
	(1, ARRAY[0.2, 0.5], 1.0, ARRAY[1.1540510143050526, 1.1544006249548007, 1.1545005730142688]),
	(2, ARRAY[0.2, 0.0], 0.0, ARRAY[-0.14461220824679766, -1.4429258201488997, -0.5772502865071343]),
	(3, ARRAY[0.0, 0.5], 0.0, ARRAY[-1.0094388060582546, 0.28852519519409925, -0.5772502865071343])),
g AS (SELECT rollout_agg(k, rollout_id, k, NULL, NULL, CASE k WHEN 3 THEN outcome END, NULL, NULL, NULL, turn_rewards[k], NULL) AS g
	  FROM r, generate_series(1, 3) k)
SELECT count(*), bool_and(near(advantage, expected[step_no]))
FROM g, mt_grpo(g, discount => 0.5) JOIN r USING (rollout_id);

-- Random groups of rollouts with 0 to 5 turns: some without reward or success (not judged), some with the outcome in a separate row
CREATE FUNCTION pseudorandom(VARIADIC seed text[]) RETURNS float8 LANGUAGE sql IMMUTABLE
RETURN ('x' || substr(md5(array_to_string(seed, ' ')), 1, 8))::bit(32)::bigint / 4294967296.0;
CREATE TABLE rollout AS
SELECT g, g * 100 + r AS rollout_id, floor(pseudorandom('turns', g::text, r::text) * 6)::int AS turns,
	   pseudorandom('unjudged', g::text, r::text) < 0.15 AS unjudged,
	   round(pseudorandom('outcome', g::text, r::text)::numeric, 1)::float8 AS outcome
FROM generate_series(1, 25) g, generate_series(1, 6) r;
CREATE TABLE turn AS
SELECT g, rollout_id, k, unjudged, turns,
	   CASE WHEN pseudorandom('has turn', rollout_id::text, k::text) < 0.8
			THEN round(pseudorandom('turn', rollout_id::text, k::text)::numeric, 1)::float8 END AS turn_reward,
	   CASE WHEN NOT unjudged AND pseudorandom('has reward', rollout_id::text, k::text) < 0.5
			THEN round(pseudorandom('reward', rollout_id::text, k::text)::numeric, 1)::float8 END AS reward
FROM rollout, generate_series(1, turns) k;
CREATE VIEW grp AS
SELECT g, rollout_agg(step_id, rollout_id, step_no, NULL, NULL, reward, NULL, NULL, NULL, turn_reward, NULL) AS rollouts
FROM (SELECT g, rollout_id * 10 + k AS step_id, rollout_id, k * 3 AS step_no, reward, turn_reward FROM turn
	  UNION ALL SELECT g, NULL, rollout_id, NULL, CASE WHEN NOT unjudged THEN outcome END, NULL FROM rollout) rows
GROUP BY g;

-- The same in SQL, by the definition: every turn below the most, taken or not
CREATE FUNCTION normalised(x float8, n bigint, mean float8, sd float8, lowest float8, highest float8, rloo boolean, epsilon float8)
RETURNS float8 LANGUAGE sql IMMUTABLE
RETURN CASE WHEN n <= 1 OR lowest = highest THEN 0 WHEN rloo THEN (x - mean) * n / (n - 1) ELSE (x - mean) / (sd + epsilon) END;
CREATE FUNCTION by_hand(lambda float8, turn_coef float8, discount float8, epsilon float8, skip boolean, rloo boolean)
RETURNS TABLE (step_id bigint, turn_advantage float8, outcome_advantage float8, advantage float8) LANGUAGE sql AS $$
WITH judged AS (
	SELECT r.g, r.rollout_id, r.turns, max(r.turns) OVER (PARTITION BY r.g) AS most_turns,
		   r.outcome + (SELECT coalesce(sum(t.reward), 0) FROM turn t WHERE t.rollout_id = r.rollout_id) AS total
	FROM rollout r WHERE NOT r.unjudged),
outcomes AS (
	SELECT rollout_id, normalised(total, count(*) OVER w, avg(total) OVER w, stddev_samp(total) OVER w,
								  min(total) OVER w, max(total) OVER w, rloo, epsilon) AS o
	FROM judged WINDOW w AS (PARTITION BY g)),
padded AS (
	SELECT j.g, j.rollout_id, l, coalesce(t.turn_reward, 0) AS x
	FROM judged j CROSS JOIN generate_series(1, j.most_turns - 1) l
	LEFT JOIN turn t ON t.rollout_id = j.rollout_id AND t.k = l
	WHERE NOT skip OR l <= j.turns),
turns AS MATERIALIZED (
	SELECT rollout_id, l, normalised(x, count(*) OVER w, avg(x) OVER w, stddev_samp(x) OVER w,
									 min(x) OVER w, max(x) OVER w, rloo, epsilon) AS t
	FROM padded WINDOW w AS (PARTITION BY g, l))
SELECT t.rollout_id * 10 + t.k, s, o, turn_coef * s + CASE WHEN t.k = t.turns THEN 1 ELSE lambda END * power(discount, t.turns - t.k) * o
FROM turn t JOIN outcomes USING (rollout_id),
	 LATERAL (SELECT coalesce(sum(power(discount, l - t.k) * n.t), 0) AS s FROM turns n
			  WHERE n.rollout_id = t.rollout_id AND l >= t.k) sums
$$;

DO $$
DECLARE
	p record;
	bad bigint;
	n bigint;
BEGIN
	FOR p IN SELECT * FROM (VALUES
		(1.0::float8, 1.0::float8, 1.0::float8, 1e-4::float8, false, false), (0.3, 1.0, 1.0, 1e-4, false, false),
		(0.7, 2.0, 0.5, 0, false, false), (1.0, 0.4, 0.9, 1e-2, true, false), (0.0, 1.0, 0.0, 1e-4, true, false),
		(1.0, 1.0, 1.0, 1e-4, false, true), (0.5, 0.7, 0.9, 0, true, true)) v(lambda, turn_coef, discount, epsilon, skip, rloo)
	LOOP
		SELECT count(*), count(*) FILTER (WHERE (CASE WHEN t.unjudged
			   THEN coalesce(e.turn_advantage, e.outcome_advantage, e.advantage, h.advantage) IS NULL
			   ELSE near(e.turn_advantage, h.turn_advantage) AND near(e.outcome_advantage, h.outcome_advantage) AND
					near(e.advantage, h.advantage) END) IS NOT TRUE)
		INTO n, bad
		FROM (SELECT e.* FROM grp, mt_grpo(rollouts, p.lambda, p.turn_coef, p.discount, p.epsilon,
										   CASE WHEN p.skip THEN 'skip' ELSE 'zero_pad' END) e WHERE NOT p.rloo
			  UNION ALL SELECT e.* FROM grp, mt_rloo(rollouts, p.lambda, p.turn_coef, p.discount,
													 unequal => CASE WHEN p.skip THEN 'skip' ELSE 'zero_pad' END) e WHERE p.rloo) e
		JOIN turn t ON e.step_id = t.rollout_id * 10 + t.k
		LEFT JOIN by_hand(p.lambda, p.turn_coef, p.discount, p.epsilon, p.skip, p.rloo) h USING (step_id);
		RAISE NOTICE '% rloo % skip %: all there %, different %', p.lambda, p.rloo, p.skip, n = (SELECT count(*) FROM turn), bad;
	END LOOP;
END $$;

-- Rollouts without a turn reward, by the definition of merged GRPO; the others as ever
WITH merged AS (
	SELECT r.g, r.rollout_id, r.outcome + (SELECT coalesce(sum(coalesce(t.reward, 0) + coalesce(t.turn_reward, 0)), 0) FROM turn t WHERE t.rollout_id = r.rollout_id) AS x,
		   NOT EXISTS (SELECT FROM turn t WHERE t.rollout_id = r.rollout_id AND t.turn_reward IS NOT NULL) AS without
	FROM rollout r WHERE NOT r.unjudged),
normal AS (
	SELECT rollout_id, without, normalised(x, count(*) OVER w, avg(x) OVER w, stddev_samp(x) OVER w, min(x) OVER w, max(x) OVER w, rloo, 1e-4) AS a, rloo
	FROM merged, (VALUES (false), (true)) v(rloo) WINDOW w AS (PARTITION BY g, rloo))
SELECT rloo, count(*) AS steps, count(*) FILTER (WHERE without) AS without,
	   count(*) FILTER (WHERE without AND NOT near(m.advantage, a) OR (m.turn_advantage IS NULL) <> without) AS off,
	   count(*) FILTER (WHERE NOT without AND m IS DISTINCT FROM z) AS others_moved
FROM (SELECT false AS rloo, e.* FROM grp, mt_grpo(rollouts, without_turn_reward => 'merge') e UNION ALL SELECT true, e.* FROM grp, mt_rloo(rollouts, without_turn_reward => 'merge') e) m
JOIN (SELECT false AS rloo, e.* FROM grp, mt_grpo(rollouts) e UNION ALL SELECT true, e.* FROM grp, mt_rloo(rollouts) e) z USING (rloo, step_id)
JOIN normal USING (rloo) WHERE normal.rollout_id = m.rollout_id GROUP BY rloo ORDER BY rloo;
SELECT count(*) > 0 AS there, count(m.advantage) AS known FROM grp, mt_grpo(rollouts, without_turn_reward => 'merge') m JOIN rollout r USING (rollout_id) WHERE r.unjudged;
-- No turn reward in the whole group: GRPO
SELECT bool_and(m.advantage = o.advantage) AS grpo
FROM (SELECT rollout_agg(r * 10 + k, r, k, NULL, NULL, r) AS g FROM generate_series(1, 4) r, generate_series(1, r) k) x,
	 mt_grpo(g, without_turn_reward => 'merge') m JOIN grpo(g, epsilon => 1e-4) o USING (step_id);
SELECT count(*) FROM two_group, mt_grpo(g, without_turn_reward => 'grpo');

-- Equations 9 and 10: two turns each, paper's lambda
CREATE TABLE eq AS SELECT g, rollout_id, pseudorandom('r_t', rollout_id::text) AS r_t, pseudorandom('r_o', rollout_id::text) AS r_o FROM rollout;
WITH z AS (SELECT *, (r_t - avg(r_t) OVER w) / (stddev_samp(r_t) OVER w + 1e-4) AS a_t,
				  (r_o - avg(r_o) OVER w) / (stddev_samp(r_o) OVER w + 1e-4) AS a_o
		   FROM eq WINDOW w AS (PARTITION BY g)),
gr AS (SELECT g, rollout_agg(k, rollout_id, k, NULL, NULL, CASE k WHEN 2 THEN r_o END, NULL, NULL, NULL, CASE k WHEN 1 THEN r_t END, NULL) AS rollouts
	   FROM eq, generate_series(1, 2) k GROUP BY g)
SELECT count(*), bool_and(near(advantage, CASE step_no WHEN 1 THEN a_t + 0.6 * a_o ELSE a_o END)) AS equations
FROM gr, mt_grpo(rollouts, lambda => 0.6) JOIN z USING (rollout_id);

-- Without turn rewards it is GRPO, scaled by lambda before the last turn
SELECT count(*), bool_and(near(m.advantage, CASE WHEN m.step_no = last THEN 1 ELSE 0.25 END * o.advantage)) AS lambda_grpo
FROM (SELECT g, rollout_agg(rollout_id * 10 + k, rollout_id, k, NULL, NULL, outcome) AS rollouts
	  FROM rollout, generate_series(1, turns) k GROUP BY g) gr,
	 mt_grpo(rollouts, lambda => 0.25) m, grpo(rollouts, epsilon => 1e-4) o,
	 LATERAL (SELECT max(step_no) AS last FROM steps(rollouts) s WHERE s.rollout_id = m.rollout_id) l
WHERE o.step_id = m.step_id;

-- The reward of the last turn of the longest rollouts belongs to the outcome
SELECT turn_advantage, advantage FROM (
	SELECT rollout_agg(r, r, 1, NULL, NULL, 0, NULL, NULL, NULL, r, NULL) AS g FROM generate_series(1, 3) r) x, mt_grpo(g);

-- Alone in a group or in a turn: 0; equal rewards: exactly 0
SELECT bool_and(advantage = 0) FROM (SELECT rollout_agg(k, 1, k, NULL, NULL, k * 0.1, NULL, NULL, NULL, k, NULL) AS g FROM generate_series(1, 3) k) x, mt_grpo(g);
SELECT bool_and(advantage = 0) FROM (SELECT rollout_agg(k, 1, k, NULL, NULL, k * 0.1, NULL, NULL, NULL, k, NULL) AS g FROM generate_series(1, 3) k) x, mt_rloo(g);
SELECT bool_and(advantage = 0) FROM (
	SELECT rollout_agg(r * 10 + k, r, k, NULL, NULL, 9.025, NULL, NULL, NULL, 0.1, NULL) AS g FROM generate_series(1, 8) r, generate_series(1, 3) k) x, mt_grpo(g);
SELECT rollout_id, step_no, turn_advantage, advantage FROM (
	SELECT rollout_agg(r * 10 + k, r, k, NULL, NULL, 0, NULL, NULL, NULL, k, NULL) AS g
	FROM generate_series(1, 2) r, generate_series(1, r * 2) k) x, mt_grpo(g, unequal => 'skip');

-- unequal
SELECT count(*) FROM two_group, mt_grpo(g, unequal => 'error');
SELECT a.* FROM grp, mt_grpo(rollouts, unequal => 'error') a WHERE g = 1;
-- A judged rollout without any turn is unequal too, one that is not judged is not
SELECT a.* FROM (SELECT rollout_agg(step_id, r, step_no, NULL, NULL, 1) AS g
				 FROM (VALUES (1, 1, 1), (NULL, 2, NULL)) v(step_id, r, step_no)) x, mt_grpo(g, unequal => 'error') a;
SELECT step_id, turn_advantage, round(outcome_advantage::numeric, 6) AS outcome_advantage, round(advantage::numeric, 6) AS advantage
FROM (SELECT rollout_agg(step_id, r, step_no, NULL, NULL, reward, NULL, NULL, NULL, 0.5, NULL) AS g
				 FROM (VALUES (1, 1, 1, 0.1), (2, 2, 1, 0.3), (3, 3, 1, NULL), (4, 3, 2, NULL)) v(step_id, r, step_no, reward)) x,
				mt_grpo(g, unequal => 'error', epsilon => 0) a;

-- No steps, no group
SELECT count(*) FROM (SELECT rollout_agg(NULL, 1, NULL, NULL, NULL, 1) AS g) x, mt_grpo(g);
SELECT count(*) FROM mt_grpo(NULL);
-- Parameters
SELECT * FROM two_group, mt_grpo(g, lambda => 'NaN');
SELECT * FROM two_group, mt_grpo(g, turn_coef => -1);
SELECT * FROM two_group, mt_grpo(g, discount => 1.01);
SELECT * FROM two_group, mt_rloo(g, unequal => 'pad');
-- Overflow is an error
SELECT a.* FROM (SELECT rollout_agg(r * 10 + k, r, k, NULL, NULL, r) AS g FROM generate_series(1, 2) r, generate_series(1, 2) k) x,
				mt_rloo(g, lambda => 1.7e308) a;

-- GRPO over discounted step rewards, pooled over the group (grpo_step_reward_pooled)
WITH v(rollout_id, rewards, returns, expected) AS (VALUES
	(1, ARRAY[0.1, 0.1, 1.0], ARRAY[1.1791, 1.09, 1.0], ARRAY[0.8571339868652833, 0.7265591027357237, 0.5946652803826332]),
	(2, ARRAY[0.1, -0.2], ARRAY[-0.098, -0.2], ARRAY[-1.014439352325069, -1.1639190176585714])),
g AS (SELECT rollout_agg(k, rollout_id, k, NULL, NULL, rewards[k]) AS g FROM v, generate_series(1, 3) k WHERE k <= cardinality(rewards))
SELECT count(*), bool_and(near(return, returns[step_no]) AND near(advantage, expected[step_no]))
FROM g, grpo(g, step_rewards => true, gamma => 0.99) JOIN v USING (rollout_id);

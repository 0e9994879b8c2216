-- gae over steps and over tokens, the masked form, returns past observations
CREATE SCHEMA gae_test;
SET search_path = gae_test, stepadv;
SET jit = off;

CREATE FUNCTION near(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN a IS NOT NULL AND abs(a - b) <= 1e-9 * greatest(1, abs(b));
CREATE FUNCTION pseudorandom(VARIADIC seed text[]) RETURNS float8 LANGUAGE sql IMMUTABLE
RETURN ('x' || substr(md5(array_to_string(seed, ' ')), 1, 8))::bit(32)::bigint / 4294967296.0;

-- StepPO (steppo_gae, steppo_gae_lam): steps of a critic, whitened over the batch's steps
CREATE TABLE steppo(step_id int, rollout_id int, step_no int, reward float8, value float8,
					adv1 float8, ret1 float8, white1 float8, adv2 float8, ret2 float8, white2 float8);
INSERT INTO steppo VALUES
(1, 1, 0, 0, 0.5, 0.48009999999999997, 0.9801, 0.9811434877579035, 0.1345, 0.6345, 0.5306810564011404),
(2, 1, 1, 0, 0.6, 0.39, 0.99, 0.7634498602781284, 0.21, 0.81, 0.8021337647906125),
(3, 1, 2, 1, 0.8, 0.2, 1.0, 0.30438449711323057, 0.2, 1.0, 0.7661797636794236),
(4, 2, 0, 0, 0.5, -0.5, 0, -1.3869089461258661, -0.41, 0.09, -1.4270143041030658),
(5, 2, 1, 0, 0.2, -0.2, 0, -0.6620688990233962, -0.2, 0, -0.6719802807681106);
WITH g AS (SELECT rollout_agg(step_id, rollout_id, step_no, NULL, NULL, reward, NULL, NULL, value, NULL, NULL) AS g FROM steppo)
SELECT count(*),
	   bool_and(near(a.advantage, adv1) AND near(a.return, ret1) AND a.value = s.value) AS steppo_gae,
	   bool_and(near(b.advantage, adv2) AND near(b.return, ret2)) AS steppo_gae_lam,
	   bool_and(near(white_a, white1) AND near(white_b, white2)) AS whitened
FROM (SELECT a.*, (advantage - avg(advantage) OVER ()) / (stddev_samp(advantage) OVER () + 1e-8) AS white_a FROM g, gae(g) a) a
JOIN (SELECT b.*, (advantage - avg(advantage) OVER ()) / (stddev_samp(advantage) OVER () + 1e-8) AS white_b FROM g, gae(g, gamma => 0.9, lambda => 0.5) b) b USING (step_id)
JOIN steppo s USING (step_id);

-- A gap in step_no is closed; to get StepPO's phantom step, insert a row for it (steppo_gae_gap)
SELECT array_agg(round(advantage::numeric, 9) ORDER BY step_no) AS closed
FROM (SELECT rollout_agg(s, 1, s, NULL, NULL, s / 2, NULL, NULL, 0.5, NULL, NULL) AS g FROM (VALUES (0), (2)) v(s)) x,
	 gae(g, gamma => 0.9);
SELECT array_agg(round(advantage::numeric, 9) ORDER BY step_no) FILTER (WHERE step_no <> 1) AS phantom
FROM (SELECT rollout_agg(s, 1, s, NULL, NULL, s / 2, NULL, NULL, v, NULL, NULL) AS g FROM (VALUES (0, 0.5), (1, 0), (2, 0.5)) v(s, v)) x,
	 gae(g, gamma => 0.9);

-- Tokens, of which the second is an observation (gae_token_verl; to 4e-8 whitened, as verl adds 1e-8 to the number of tokens)
CREATE TABLE token(position int, token bigint, is_action boolean, reward float8, value float8, adv float8, ret float8, white float8);
INSERT INTO token VALUES
(1, 101, true, 0, 0.1, 0.52424, 0.62424, -0.26165363413163945), (2, 102, false, 0, 9.0, 0.492, 9.492, -0.8431596687377207),
(3, 103, true, 0, 0.3, 0.492, 0.792, -0.8431596687377207), (4, 104, true, 1, 0.4, 0.6, 1.0, 1.1048134000419512);
WITH g AS (SELECT rollout_agg(position, 1, position, NULL, CASE WHEN is_action THEN token END, reward, NULL, NULL, value, NULL, NULL) AS g FROM token)
SELECT count(*), bool_and(near(a.advantage, adv)) AS advantage, bool_and(near(a.return, ret)) AS return,
	   bool_and((td_error IS NULL) = NOT is_action) AS td_error, max(abs(whitened - white)) < 1e-7 AS whitened
FROM (SELECT a.*, t.is_action, adv, ret, white, (advantage - avg(advantage) FILTER (WHERE is_action) OVER ()) / sqrt(var_samp(advantage) FILTER (WHERE is_action) OVER () + 1e-8) AS whitened
	  FROM g, gae(g, gamma => 0.9, lambda => 0.8, masked => true) a JOIN token t ON t.position = a.step_no) a;

-- Returns past observations (rfpp_observation_gap_bug; discounted_returns)
WITH g AS (SELECT rollout_agg(p, 1, p, NULL, CASE WHEN p IN (1, 4) THEN p END, p / 4) AS g FROM generate_series(1, 4) p)
SELECT array_agg(return ORDER BY step_no) AS passed FROM g, returns(g, gamma => 0.5, masked => true);
WITH g AS (SELECT rollout_agg(p, 1, p, NULL, p, p / 4) AS g FROM generate_series(1, 4) p WHERE p IN (1, 4))
SELECT array_agg(return ORDER BY step_no) AS actions_only FROM g, returns(g, gamma => 0.5);
WITH g AS (SELECT rollout_agg(p, 1, p, NULL, p, (ARRAY[0, -0.1, 0, 10])[p]) AS g FROM generate_series(1, 4) p)
SELECT bool_and(near(return, (ARRAY[8.47875, 8.925, 9.5, 10])[step_no])) AS discounted_returns FROM g, returns(g, gamma => 0.95);

-- The reward of an observation goes to the action before it, undiscounted
WITH g AS (SELECT rollout_agg(p, 1, p, NULL, CASE WHEN p IN (1, 4) THEN p END, CASE p WHEN 2 THEN 1.0 WHEN 3 THEN 0.5 END,
							  NULL, NULL, CASE WHEN p IN (1, 4) THEN 0.25 END, NULL, NULL) AS g FROM generate_series(1, 4) p)
SELECT step_no, value, td_error, return, advantage FROM g, gae(g, gamma => 0.5, masked => true);
-- and so does the outcome that comes after a last observation
WITH g AS (SELECT rollout_agg(p, 1, p, NULL, CASE WHEN p < 3 THEN p END, CASE WHEN p IS NULL THEN 1 END,
							  NULL, NULL, 0, NULL, NULL) AS g FROM (VALUES (1), (2), (3), (NULL)) v(p))
SELECT array_agg(advantage ORDER BY step_no) AS masked FROM g, gae(g, gamma => 0.5, masked => true);
WITH g AS (SELECT rollout_agg(p, 1, p, NULL, CASE WHEN p < 3 THEN p END, CASE WHEN p IS NULL THEN 1 END,
							  NULL, NULL, 0, NULL, NULL) AS g FROM (VALUES (1), (2), (3), (NULL)) v(p))
SELECT array_agg(advantage ORDER BY step_no) AS unmasked FROM g, gae(g, gamma => 0.5);

-- Random rollouts: NULL rewards, observations, outcomes apart, some not judged
CREATE TABLE step AS
SELECT r, k, r * 100 + k AS step_id, r % 7 = 0 AS unjudged,
	   CASE WHEN r % 7 <> 0 AND (k = 1 OR pseudorandom('has', r::text, k::text) < 0.6) THEN pseudorandom('reward', r::text, k::text) END AS reward,
	   pseudorandom('value', r::text, k::text) AS value, pseudorandom('action', r::text, k::text) < 0.7 AS is_action
FROM generate_series(1, 80) r, generate_series(1, 1 + r % 13) k;
CREATE TABLE outcome AS SELECT r, pseudorandom('outcome', r::text) AS reward FROM generate_series(1, 80) r WHERE r % 3 = 0 AND r % 7 <> 0;

-- The recursion in SQL: the outcome is part of the last step's reward; an advantage is the discounted sum of td_errors from the step on
CREATE FUNCTION by_hand(gamma float8, lambda float8)
RETURNS TABLE (step_id int, td_error float8, advantage float8, discounted float8) LANGUAGE sql AS $$
WITH r AS (
	SELECT s.r, s.k, s.step_id, s.value, coalesce(s.reward, 0) +
		   CASE WHEN s.k = max(s.k) OVER (PARTITION BY s.r) THEN coalesce(o.reward, 0) ELSE 0 END AS reward
	FROM step s LEFT JOIN outcome o USING (r) WHERE NOT s.unjudged),
td AS (SELECT *, reward + gamma * coalesce(lead(value) OVER (PARTITION BY r ORDER BY k), 0) - value AS delta FROM r)
SELECT step_id, delta, (SELECT sum(power(gamma * lambda, l.k - td.k) * l.delta) FROM td l WHERE l.r = td.r AND l.k >= td.k),
	   (SELECT sum(power(gamma, l.k - td.k) * l.reward) FROM td l WHERE l.r = td.r AND l.k >= td.k)
FROM td
$$;
CREATE VIEW rollouts AS
SELECT rollout_agg(step_id, r, k, NULL, CASE WHEN is_action THEN step_id END, reward, NULL, NULL, value, NULL, NULL) AS g
FROM (SELECT step_id, r, k, is_action, reward, value FROM step WHERE NOT unjudged OR value > 0.5
	  UNION ALL SELECT NULL, r, NULL, NULL, reward, NULL FROM outcome) rows;
SELECT gamma, lambda, count(a.advantage) = count(h.advantage) AND count(h.advantage) = (SELECT count(*) FROM step WHERE NOT unjudged) AS all_there,
	   count(*) > count(a.advantage) AS unjudged_null,
	   bool_and(near(a.advantage, h.advantage) AND near(a.td_error, h.td_error) AND near(a.return, h.advantage + a.value))
	   FILTER (WHERE h.step_id IS NOT NULL) AS equal
FROM (VALUES (0.99, 1.0), (0.9, 0.8), (1, 0.95), (0.5, 0)) v(gamma, lambda), rollouts,
	 LATERAL gae(g, gamma, lambda) a LEFT JOIN LATERAL by_hand(gamma, lambda) h ON h.step_id = a.step_id
WHERE h.step_id IS NOT NULL OR a.advantage IS NULL
GROUP BY 1, 2 ORDER BY 1, 2;

-- lambda 1 and V 0: the discounted return
SELECT count(*), bool_and(near(a.advantage, r.return) AND near(r.return, h.discounted)) AS is_return
FROM (SELECT rollout_agg(step_id, r, k, NULL, NULL, reward, NULL, NULL, 0, NULL, NULL) AS g
	  FROM (SELECT step_id, r, k, reward FROM step WHERE NOT unjudged UNION ALL SELECT NULL, r, NULL, reward FROM outcome) rows) x,
	 gae(g, gamma => 0.9) a JOIN LATERAL returns(g, gamma => 0.9) r USING (step_id)
	 JOIN by_hand(0.9, 1) h USING (step_id);

-- Masked: as if there were no observations and their rewards were moved
WITH moved AS (
	SELECT *, count(*) FILTER (WHERE is_action) OVER (PARTITION BY r ORDER BY k) AS action_no,
		   coalesce(reward, 0) + CASE WHEN k = max(k) OVER (PARTITION BY r)
									  THEN coalesce((SELECT reward FROM outcome o WHERE o.r = step.r), 0) ELSE 0 END AS total
	FROM step WHERE NOT unjudged),
actions AS (
	SELECT r, action_no, min(k) AS k, min(step_id) AS step_id, (array_agg(value ORDER BY k))[1] AS value, sum(total) AS reward
	FROM moved WHERE action_no > 0 GROUP BY r, action_no),
short AS (SELECT rollout_agg(step_id, r, k, NULL, NULL, reward, NULL, NULL, value, NULL, NULL) AS g FROM actions),
full_form AS (
	SELECT rollout_agg(step_id, r, k, NULL, CASE WHEN is_action THEN step_id END, reward, NULL, NULL, CASE WHEN is_action THEN value END, NULL, NULL) AS g
	FROM (SELECT step_id, r, k, is_action, reward, value FROM step WHERE NOT unjudged
		  UNION ALL SELECT NULL, r, NULL, NULL, reward, NULL FROM outcome) rows)
SELECT count(*) = (SELECT count(*) FROM actions) AS all_there,
	   bool_and(near(a.advantage, b.advantage) AND near(a.return, b.return) AND near(a.td_error, b.td_error)) AS equal,
	   bool_and(near(r.return, s.return)) AS returns_equal
FROM short, LATERAL gae(short.g, 0.9, 0.7) b, full_form, LATERAL gae(full_form.g, 0.9, 0.7, masked => true) a,
	 LATERAL returns(short.g, 0.9) s, LATERAL returns(full_form.g, 0.9, masked => true) r
WHERE a.step_id = b.step_id AND s.step_id = b.step_id AND r.step_id = b.step_id;

-- A table of tokens, three rows a step of which one is an action: PPO's masked GAE over it is step-level GAE where every step is one token
CREATE TABLE token_of_step AS
SELECT s.*, t AS token_no, s.k * 10 + t AS position FROM step s, generate_series(1, 3) t WHERE NOT unjudged;
WITH tokens AS (SELECT rollout_agg(r * 1000 + position, r, position, NULL, CASE token_no WHEN 2 THEN position END,
								   CASE token_no WHEN 2 THEN reward END, NULL, NULL, value * token_no / 2, NULL, NULL) AS g FROM token_of_step),
steps AS (SELECT rollout_agg(step_id, r, k, NULL, NULL, reward, NULL, NULL, value, NULL, NULL) AS g FROM step WHERE NOT unjudged)
SELECT count(*) = (SELECT count(*) FROM step WHERE NOT unjudged) AS all_there, bool_and(t.advantage = s.advantage AND t.return = s.return) AS equal
FROM tokens, LATERAL gae(tokens.g, 0.95, 0.9, masked => true) t, steps, LATERAL gae(steps.g, 0.95, 0.9) s
WHERE t.rollout_id = s.rollout_id AND t.step_no = s.step_no * 10 + 2;

-- Bad input
SELECT a.* FROM (SELECT rollout_agg(k, 4, k * 2, NULL, 1, 1, NULL, NULL, CASE WHEN k <> 3 THEN 0.1 END, NULL, NULL) AS g FROM generate_series(1, 4) k) x, gae(g) a;
SELECT a.* FROM (SELECT rollout_agg(k, 4, k, NULL, 1, 1) AS g FROM generate_series(1, 4) k) x, gae(g) a;
SELECT a.* FROM (SELECT rollout_agg(k, 4, k, NULL, CASE WHEN k = 1 THEN 1 END, 1, NULL, NULL, NULL, NULL, NULL) AS g FROM generate_series(1, 4) k) x, gae(g, masked => true) a;
-- not judged: no value needed
SELECT a.* FROM (SELECT rollout_agg(k, 4, k, NULL, 1, NULL) AS g FROM generate_series(1, 2) k) x, gae(g) a;
-- all observations
SELECT a.* FROM (SELECT rollout_agg(k, 4, k, NULL, NULL, 1) AS g FROM generate_series(1, 2) k) x, gae(g, masked => true) a;
SELECT * FROM rollouts, gae(g, gamma => 1.5);
SELECT * FROM rollouts, gae(g, lambda => -0.1);
SELECT a.* FROM (SELECT rollout_agg(k, 1, k, NULL, NULL, 1.7e308, NULL, NULL, -1.7e308, NULL, NULL) AS g FROM generate_series(1, 2) k) x, gae(g) a;
SELECT count(*) FROM gae(NULL);

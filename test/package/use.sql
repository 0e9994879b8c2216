-- First steps after the package was installed.
CREATE EXTENSION stepadv;
CREATE TABLE rollouts AS
SELECT r AS rollout, s AS step, 'room ' || s AS state, CASE WHEN (r + s) % 3 = 0 THEN 'left' ELSE 'right' END AS action,
	CASE WHEN s = 4 AND r % 2 = 0 THEN 1.0 ELSE 0 END AS reward
FROM generate_series(1, 8) r, generate_series(1, 4) s;
SELECT a.step_no, count(*), round(min(a.advantage)::numeric, 6) AS worst, round(max(a.advantage)::numeric, 6) AS best
FROM (SELECT stepadv.rollout_agg(rollout * 10 + step, rollout, step, stepadv.signature_hash(state), stepadv.signature_hash(action), reward) AS g FROM rollouts) q,
	stepadv.rtmc(q.g) a
GROUP BY a.step_no ORDER BY a.step_no;
-- Advantages of a group add up to zero.
DO $$
BEGIN
	IF (SELECT abs(sum(a.advantage)) FROM (SELECT stepadv.rollout_agg(rollout * 10 + step, rollout, step, stepadv.signature_hash(state), stepadv.signature_hash(action), reward) AS g FROM rollouts) q, stepadv.grpo(q.g) a WHERE a.step_no = 4) > 1e-9 THEN
		RAISE EXCEPTION 'advantages of a group do not add up to zero';
	END IF;
END
$$;

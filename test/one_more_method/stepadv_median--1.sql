-- An additional method: make check-all loads it with stepadv, so that a test fails whose output
-- depends on the number of methods.
CREATE FUNCTION stepadv.median(rollouts stepadv.rollout_group)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, baseline float8, advantage float8)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT s.step_id, s.rollout_id, s.step_no, m.baseline, r.return - m.baseline
	FROM stepadv.steps(rollouts) WITH ORDINALITY s(step_id, rollout_id, step_no, state, action, reward, success,
		next_state, value, turn_reward, cost, turn, coarse_state, logp, i)
	JOIN stepadv.rollouts(rollouts) r ON r.rollout_id = s.rollout_id
	CROSS JOIN (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY o.return) AS baseline
		FROM stepadv.rollouts(rollouts) o) m
	ORDER BY s.i
$$;
COMMENT ON FUNCTION stepadv.median(stepadv.rollout_group) IS 'the return minus the median of the group''s returns';
INSERT INTO stepadv_internal.methods
VALUES ('median', 'stepadv.median(stepadv.rollout_group)', '{reward}', '{}', NULL, 'a row per step', 55, NULL, false);

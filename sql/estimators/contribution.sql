-- Contribution summed over a group, plain SQL over contribution()

CREATE FUNCTION stepadv.contribution_summary(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (success boolean, n_rollouts integer, n_steps integer, n_contributing integer, share float8)
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1500 ROWS 2
-- Names are bound at creation, so the caller's search_path does not matter; with SET
-- search_path the function could not be inlined.
BEGIN ATOMIC
	SELECT c.success, count(*)::integer, sum(c.n_steps)::integer, sum(c.n_contributing)::integer,
		sum(c.n_contributing) / nullif(sum(c.n_steps), 0)::float8
	FROM stepadv.contribution(contribution_summary.rollouts, contribution_summary.success_above) c
	GROUP BY c.success;
END;
COMMENT ON FUNCTION stepadv.contribution_summary(stepadv.rollout_group, float8) IS
'contribution over a whole group, with a row each for successful, failed and not judged rollouts (success NULL): '
'n_rollouts, n_steps, n_contributing, and share of steps that reduce the distance to the goal (GraphGPO, figure 1); '
'NULL if no rollout reached the goal';

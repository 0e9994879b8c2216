-- RTMC advantages in plain SQL, by window functions.
-- Two sorts: by rollout for the returns, by (group, state, action, rollout) for
-- everything else; a visit is a first one if the row before is of another rollout.
WITH returned AS (
	SELECT step_id, group_id, rollout_id, step_no, state, action,
		sum(reward * power(0.99::float8, step_no)) OVER w / power(0.99::float8, step_no) AS g
	FROM steps
	WINDOW w AS (PARTITION BY group_id, rollout_id ORDER BY step_no DESC ROWS UNBOUNDED PRECEDING)
),
visited AS (
	SELECT step_id, group_id, state, action,
		CASE WHEN lag(rollout_id) OVER (PARTITION BY group_id, state, action ORDER BY rollout_id, step_no)
			IS DISTINCT FROM rollout_id THEN g END AS g
	FROM returned
),
success AS (
	SELECT group_id, avg((total > 0)::integer::float8) AS p
	FROM (SELECT group_id, rollout_id, sum(reward) AS total FROM steps GROUP BY group_id, rollout_id) r
	GROUP BY group_id
),
measured AS (
	SELECT group_id, step_id,
		avg(g) OVER (PARTITION BY group_id, state, action) AS q,
		sum(g) OVER (PARTITION BY group_id, state) AS g_state,
		count(g) OVER (PARTITION BY group_id, state) AS n_state
	FROM visited
)
SELECT sum(q - (g_state + 2 * p) / (n_state + 2)) FROM measured JOIN success USING (group_id)

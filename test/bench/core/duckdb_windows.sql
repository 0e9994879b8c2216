-- RTMC advantages in DuckDB, by windows over the steps.
WITH returned AS (
	SELECT step_id, group_id, rollout_id, step_no, state, action,
		sum(reward * pow(0.99, step_no)) OVER (PARTITION BY group_id, rollout_id ORDER BY step_no DESC
			ROWS UNBOUNDED PRECEDING) / pow(0.99, step_no) AS g
	FROM steps
),
visited AS (
	SELECT step_id, group_id, state, action,
		CASE WHEN row_number() OVER (PARTITION BY group_id, rollout_id, state, action ORDER BY step_no) = 1
			THEN g END AS g
	FROM returned
),
measured AS (
	SELECT group_id,
		avg(g) OVER (PARTITION BY group_id, state, action) AS q,
		sum(g) OVER (PARTITION BY group_id, state) AS g_state,
		count(g) OVER (PARTITION BY group_id, state) AS n_state
	FROM visited
),
success AS (
	SELECT group_id, avg((total > 0)::INTEGER) AS p
	FROM (SELECT group_id, rollout_id, sum(reward) AS total FROM steps GROUP BY ALL) GROUP BY ALL
)
SELECT sum(q - (g_state + 2 * p) / (n_state + 2)) FROM measured JOIN success USING (group_id)

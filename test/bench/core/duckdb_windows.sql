-- RTMC advantages in DuckDB, by windows over the steps.
WITH visited AS (
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
)
SELECT sum(q - (g_state + 2 * p) / (n_state + 2)) FROM measured JOIN success USING (group_id)

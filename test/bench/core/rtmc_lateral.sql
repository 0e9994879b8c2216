-- RTMC advantages in plain SQL, group by group: the windows of one group are
-- sorted in cache.  Needs an index that begins with group_id.
SELECT sum(a.advantage)
FROM (SELECT DISTINCT group_id FROM steps OFFSET 0) one
CROSS JOIN LATERAL (
	WITH returned AS (
		SELECT step_id, rollout_id, step_no, state, action,
			sum(reward * power(0.99::float8, step_no)) OVER w / power(0.99::float8, step_no) AS g
		FROM steps WHERE group_id = one.group_id
		WINDOW w AS (PARTITION BY rollout_id ORDER BY step_no DESC ROWS UNBOUNDED PRECEDING)
	),
	visited AS (
		SELECT step_id, state, action,
			CASE WHEN lag(rollout_id) OVER (PARTITION BY state, action ORDER BY rollout_id, step_no)
				IS DISTINCT FROM rollout_id THEN g END AS g
		FROM returned
	),
	success AS (
		SELECT avg((total > 0)::integer::float8) AS p
		FROM (SELECT rollout_id, sum(reward) AS total FROM steps WHERE group_id = one.group_id GROUP BY rollout_id) r
	),
	measured AS (
		SELECT step_id,
			avg(g) OVER (PARTITION BY state, action) AS q,
			sum(g) OVER (PARTITION BY state) AS g_state,
			count(g) OVER (PARTITION BY state) AS n_state
		FROM visited
	)
	SELECT q - (g_state + 2 * p) / (n_state + 2) AS advantage FROM measured CROSS JOIN success
) a

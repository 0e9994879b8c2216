-- RTMC advantages of the tables of create_tables in plain SQL, by window functions; for PostgreSQL and DuckDB.
WITH valued AS (
	SELECT run_id, policy_version, task_id, s.observation, s.action,
		CASE WHEN row_number() OVER (PARTITION BY run_id, policy_version, task_id, rollout_id, s.observation, s.action
				ORDER BY s.step_no) = 1
			THEN r.outcome * power(0.99::float8, max(s.step_no) OVER (PARTITION BY run_id, policy_version, task_id,
				rollout_id) - s.step_no) END AS g
	FROM steps s JOIN rollouts r USING (run_id, policy_version, task_id, rollout_id)
),
measured AS (
	SELECT run_id, policy_version, task_id,
		avg(g) OVER (PARTITION BY run_id, policy_version, task_id, observation, action) AS q,
		sum(g) OVER (PARTITION BY run_id, policy_version, task_id, observation) AS g_state,
		count(g) OVER (PARTITION BY run_id, policy_version, task_id, observation) AS n_state
	FROM valued
),
success AS (
	SELECT run_id, policy_version, task_id, avg((outcome > 0)::integer::float8) AS p
	FROM rollouts GROUP BY run_id, policy_version, task_id
)
SELECT sum(q - (g_state + 2 * p) / (n_state + 2)) FROM measured JOIN success USING (run_id, policy_version, task_id)

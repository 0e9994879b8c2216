-- RTMC advantages of the tables of create_tables in plain SQL, by hash aggregates and joins; for PostgreSQL and DuckDB.
WITH visit AS (
	SELECT run_id, policy_version, task_id, rollout_id, observation, action, min(step_no) AS step_no
	FROM steps GROUP BY run_id, policy_version, task_id, rollout_id, observation, action
),
ended AS (
	SELECT run_id, policy_version, task_id, rollout_id, max(step_no) AS last
	FROM steps GROUP BY run_id, policy_version, task_id, rollout_id
),
pair AS MATERIALIZED (
	SELECT run_id, policy_version, task_id, observation, action,
		count(*) AS n, sum(r.outcome * power(0.99::float8, e.last - v.step_no)) AS g
	FROM visit v
	JOIN ended e USING (run_id, policy_version, task_id, rollout_id)
	JOIN rollouts r USING (run_id, policy_version, task_id, rollout_id)
	GROUP BY run_id, policy_version, task_id, observation, action
),
state AS (
	SELECT run_id, policy_version, task_id, observation, sum(n) AS n, sum(g) AS g
	FROM pair GROUP BY run_id, policy_version, task_id, observation
),
success AS (
	SELECT run_id, policy_version, task_id, avg((outcome > 0)::integer::float8) AS p
	FROM rollouts GROUP BY run_id, policy_version, task_id
),
valued AS (
	SELECT run_id, policy_version, task_id, observation, action,
		pair.g / pair.n - (state.g + 2 * p) / (state.n + 2) AS advantage
	FROM pair
	JOIN state USING (run_id, policy_version, task_id, observation)
	JOIN success USING (run_id, policy_version, task_id)
)
SELECT sum(advantage) FROM steps JOIN valued USING (run_id, policy_version, task_id, observation, action)

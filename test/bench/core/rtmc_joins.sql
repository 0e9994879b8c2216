-- RTMC advantages in plain SQL, by hash aggregates and hash joins: the table of
-- Q and V is made once and joined to the steps.
WITH returned AS MATERIALIZED (
	SELECT group_id, rollout_id, step_no, state, action,
		sum(reward * power(0.99::float8, step_no)) OVER w / power(0.99::float8, step_no) AS g
	FROM steps
	WINDOW w AS (PARTITION BY group_id, rollout_id ORDER BY step_no DESC ROWS UNBOUNDED PRECEDING)
),
first_visit AS (
	SELECT group_id, rollout_id, state, action, min(step_no) AS step_no
	FROM steps GROUP BY group_id, rollout_id, state, action
),
pair AS MATERIALIZED (
	SELECT group_id, r.state, r.action, count(*) AS n, sum(g) AS g
	FROM returned r JOIN first_visit USING (group_id, rollout_id, step_no)
	GROUP BY group_id, r.state, r.action
),
state AS (SELECT group_id, state, sum(n) AS n, sum(g) AS g FROM pair GROUP BY group_id, state),
success AS (
	SELECT group_id, avg((total > 0)::integer::float8) AS p
	FROM (SELECT group_id, rollout_id, sum(reward) AS total FROM steps GROUP BY group_id, rollout_id) r
	GROUP BY group_id
),
valued AS (
	SELECT group_id, state, action, pair.g / pair.n - (state.g + 2 * p) / (state.n + 2) AS advantage
	FROM pair JOIN state USING (group_id, state) JOIN success USING (group_id)
)
SELECT sum(advantage) FROM steps JOIN valued USING (group_id, state, action)

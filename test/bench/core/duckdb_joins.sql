-- RTMC advantages in DuckDB: first visits by arg_min over hash groups, then joins.
WITH first_visit AS (
	SELECT group_id, rollout_id, state, action, arg_min(g, step_no) AS g FROM returned GROUP BY ALL
),
pair AS MATERIALIZED (
	SELECT group_id, state, action, count(*) AS n, sum(g) AS g FROM first_visit GROUP BY ALL
),
state AS (SELECT group_id, state, sum(n) AS n, sum(g) AS g FROM pair GROUP BY ALL),
valued AS (
	SELECT group_id, state, action, pair.g / pair.n - (state.g + 2 * p) / (state.n + 2) AS advantage
	FROM pair JOIN state USING (group_id, state) JOIN success USING (group_id)
)
SELECT sum(advantage) FROM steps JOIN valued USING (group_id, state, action)

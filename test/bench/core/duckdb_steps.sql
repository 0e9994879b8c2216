-- Views that both DuckDB statements read: returns and success rates.
CREATE OR REPLACE VIEW returned AS
	SELECT step_id, group_id, rollout_id, step_no, state, action,
		sum(reward * pow(0.99, step_no)) OVER (PARTITION BY group_id, rollout_id ORDER BY step_no DESC
			ROWS UNBOUNDED PRECEDING) / pow(0.99, step_no) AS g
	FROM steps;
CREATE OR REPLACE VIEW success AS
	SELECT group_id, avg((total > 0)::INTEGER) AS p
	FROM (SELECT group_id, rollout_id, sum(reward) AS total FROM steps GROUP BY ALL) GROUP BY ALL;

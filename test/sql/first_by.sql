-- The version, run or dimension of a rollout whose rows differ: that of its first row, by (step_no, step_id), in any order of the stored rows.
SET client_min_messages = warning;
CREATE SCHEMA fb;

-- 200 tables of a few rows, with few numbers and NULLs, against sorting.
CREATE TABLE fb.rows AS
SELECT t, nullif((t * 7 + i * 5) % 4, 3) AS step_no, nullif((t * 3 + i * i) % 3, 2)::bigint AS step_id, nullif('v' || (t + i * 11) % 5, 'v4') AS v, i
FROM generate_series(1, 200) t, generate_series(1, 6) i;
CREATE TEMP VIEW sorted AS SELECT t, (array_agg(v ORDER BY step_no, step_id, v COLLATE "C") FILTER (WHERE v IS NOT NULL))[1] AS v,
	(array_agg(i ORDER BY step_no, step_id, i))[1] AS i FROM fb.rows GROUP BY t;
SELECT count(*) AS tables, count(DISTINCT f.v) AS values, count(*) FILTER (WHERE f.v IS DISTINCT FROM s.v OR f.i IS DISTINCT FROM s.i) AS differ
FROM (SELECT t, stepadv_internal.first_by(v, step_no, step_id) AS v, stepadv_internal.first_by(i, step_no, step_id) AS i FROM (SELECT * FROM fb.rows ORDER BY t, i) r GROUP BY t) f JOIN sorted s USING (t);
SELECT count(*) FILTER (WHERE f.v IS DISTINCT FROM s.v OR f.i IS DISTINCT FROM s.i) AS differ
FROM (SELECT t, stepadv_internal.first_by(v, step_no, step_id) AS v, stepadv_internal.first_by(i, step_no, step_id) AS i FROM (SELECT * FROM fb.rows ORDER BY t, i DESC) r GROUP BY t) f JOIN sorted s USING (t);
-- No value; a type without an order.
SELECT stepadv_internal.first_by(NULL::text, 1, 1), stepadv_internal.first_by('{"a": 1}'::json, 1, 1)::text;

-- Two rows of one step, and two rows of a rollout itself, with different versions.
CREATE TABLE fb.steps (id bigint PRIMARY KEY, task text NOT NULL, r int, n int, version text, pool int, reward float8, note text);
CREATE INDEX ON fb.steps (task);
INSERT INTO fb.steps SELECT t * 100 + r * 10 + n, 'task ' || t, r, n, 'v1', 0, (r = 1 AND n = 2)::int, NULL FROM generate_series(1, 3) t, generate_series(1, 2) r, generate_series(1, 2) n;
UPDATE fb.steps SET n = NULL, version = CASE WHEN id % 2 = 0 THEN 'v3' ELSE 'v2' END, pool = id % 2 WHERE task = 'task 1' AND r = 2;
INSERT INTO fb.steps VALUES (205, 'task 2', 1, 1, 'v0', 7, 0, NULL), (599, 'task 2', 1, 1, 'v4', 8, 0, NULL);
SELECT count(*) > 5 AS attached FROM stepadv.attach('fb.steps', '{task}', 'r', 'n', reward => 'reward',
	columns => '{"step_id": "id", "policy_version": "version", "dimensions": ["pool"]}', views => '{all}');
SELECT task, stepadv_rollout, stepadv_policy_version, stepadv_dimension_1 FROM fb.steps_begun_runs WHERE task <> 'task 3' ORDER BY 1, 2;

-- Moving rows within the table changes nothing.
SELECT stepadv.maintain('fb.steps');
SELECT * FROM stepadv.check_maintained('fb.steps');
CREATE TEMP TABLE before AS SELECT * FROM fb.steps_groups_over_time;
UPDATE fb.steps SET note = 'moved' WHERE id IN (121, 205, 211);
SELECT task, stepadv_rollout, stepadv_policy_version, stepadv_dimension_1 FROM fb.steps_begun_runs WHERE task <> 'task 3' ORDER BY 1, 2;
SELECT * FROM stepadv.check_maintained('fb.steps');
SELECT stepadv.refresh('fb.steps', full => true) AS groups;
SELECT (SELECT count(*) > 3 FROM before) AS rows, count(*) AS differ
FROM ((TABLE before EXCEPT ALL TABLE fb.steps_groups_over_time) UNION ALL (TABLE fb.steps_groups_over_time EXCEPT ALL TABLE before)) d;
SELECT stepadv.detach('fb.steps') > 5 AS dropped;
DROP SCHEMA fb CASCADE;

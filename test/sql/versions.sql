-- _pass_at_k, _flaky, compare_versions, version_difference: sql/attach/versions.sql, src/analysis/paired.c.
\set SHOW_CONTEXT never
SET extra_float_digits = 0;
CREATE SCHEMA vs;
-- A rollout a line: task, version, how many of how many succeeded. t6 is not judged under a.
CREATE TABLE vs.steps (task text NOT NULL, version text, rollout text NOT NULL, n integer NOT NULL, reward float8, state text, action text, PRIMARY KEY (task, rollout, n));
INSERT INTO vs.steps
SELECT task, version, format('%s %s %s', task, version, i), n, CASE WHEN judged AND n = 2 THEN (i <= c)::integer END, 's' || n, 'a'
FROM (VALUES ('t1', 'a', 4, 0, true), ('t1', 'b', 4, 4, true), ('t2', 'a', 4, 2, true), ('t2', 'b', 4, 2, true), ('t3', 'a', 4, 3, true), ('t3', 'b', 4, 0, true),
	('t4', 'a', 2, 1, true), ('t5', 'b', 2, 1, true), ('t6', 'a', 1, 0, false), ('t6', 'b', 1, 1, true), ('t9', 'c', 1, 1, true), ('t8', 'd', 2, 0, false)) x(task, version, n_rollouts, c, judged),
	generate_series(1, n_rollouts) i, generate_series(1, 2) n;
SELECT count(*) > 10 AS attached FROM stepadv.attach('vs.steps', '{task}', 'rollout', 'n', 'state', 'action', 'reward', columns => '{"policy_version": "version"}', views => '{all}');

-- By hand. Under a the tasks t1 to t4 have 0/4, 2/4, 3/4, 1/2: pass@1 (0 + 1/2 + 3/4 + 1/2) / 4, pass@2 (0 + 5/6 + 1 + 1) / 4, pass@4 (0 + 1 + 1) / 3;
-- pass^2 (0 + 1/6 + 1/2 + 0) / 4. Standard errors of four, or three, tasks: sqrt of the variance (with n - 1) over n. Under c one task: no error.
SELECT * FROM vs.steps_pass_at_k ORDER BY policy_version, k;
SELECT policy_version, k, max(n_tasks) = count(*) AS n_tasks, abs(max(v.pass_at_k) - avg(p)) < 1e-12 AS at, coalesce(abs(max(v.pass_at_k_stderr) - stddev_samp(p) / sqrt(count(*))) < 1e-12, count(*) = 1) AS at_error,
	abs(max(v.pass_hat_k) - avg(h)) < 1e-12 AS hat, coalesce(abs(max(v.pass_hat_k_stderr) - stddev_samp(h) / sqrt(count(*))) < 1e-12, count(*) = 1) AS hat_error
FROM (SELECT version AS policy_version, task, k, stepadv.pass_at_k(count(success), count(*) FILTER (WHERE success), k) AS p, stepadv.pass_hat_k(count(success), count(*) FILTER (WHERE success), k) AS h
	FROM (SELECT version, task, rollout, sum(reward) > 0 AS success FROM vs.steps GROUP BY version, task, rollout) r, unnest('{1,2,4}'::integer[]) k GROUP BY version, task, k) t
JOIN vs.steps_pass_at_k v USING (policy_version, k) WHERE p IS NOT NULL GROUP BY policy_version, k ORDER BY policy_version, k;
SELECT * FROM vs.steps_flaky ORDER BY task, policy_version;

-- Fisher: of C(8,4) = 70 tables 4 of 4 against 0 of 4 and its mirror are 2/70; 3 against 0 of 7 tables with three successes: 2 * C(4,3)/C(8,3) = 1/7. Benjamini-Hochberg over t1, t2, t3: 3 * 2/70, 3/2 * 1/7, 1.
SELECT * FROM stepadv.compare_versions('vs.steps', 'a', 'b');
-- More than half.
SELECT task ->> 'task' AS task, solved, lost, flaky FROM stepadv.compare_versions('vs.steps', 'a', 'b', solved_above => 0.5) ORDER BY 1;
-- The same with the versions swapped.
SELECT bool_and(x.difference = -y.difference AND x.solved = y.lost AND x.lost = y.solved AND x.flaky = y.flaky AND x.p_value = y.p_value AND x.q_value = y.q_value) AS mirrored
FROM stepadv.compare_versions('vs.steps', 'a', 'b') x JOIN stepadv.compare_versions('vs.steps', 'b', 'a') y USING (task);
-- Differences 1, 0, -3/4: mean 1/12, variance (121 + 1 + 100)/144/2, t of two degrees of freedom at .975 is .95 sqrt(2 / (1 - .95^2)); of the four choices of two signs, all are as far from 0 as 1/4.
SELECT d.*, abs(stderr - sqrt(222 / 288.0 / 3)) < 1e-12 AS error, abs(high - difference - stderr * 0.95 * sqrt(2 / (1 - 0.95 ^ 2))) < 1e-9 AS bound FROM stepadv.version_difference('vs.steps', 'a', 'b') d;
SELECT x = y AS by_view FROM stepadv.version_difference('vs.steps', 'a', 'b') x, stepadv.version_difference('vs.steps_flaky', 'a', 'b') y;
-- Other confidence: t of two degrees at .75 is .5 sqrt(2 / .75).
SELECT abs(high - difference - stderr * 0.5 * sqrt(2 / 0.75)) < 1e-9 AS bound, n_better, n_worse FROM stepadv.version_difference('vs.steps', 'a', 'b', confidence_level => 0.5, max_q_value => 0.1);

-- Kept, and after changes.
CREATE TABLE vs.before AS SELECT * FROM vs.steps_pass_at_k;
CREATE TABLE vs.flaky_before AS SELECT * FROM vs.steps_flaky;
SELECT stepadv.maintain('vs.steps', mode => 'refresh');
(SELECT * FROM vs.before EXCEPT SELECT * FROM vs.steps_pass_at_k) UNION ALL (SELECT * FROM vs.steps_pass_at_k EXCEPT SELECT * FROM vs.before);
(SELECT * FROM vs.flaky_before EXCEPT SELECT * FROM vs.steps_flaky) UNION ALL (SELECT * FROM vs.steps_flaky EXCEPT SELECT * FROM vs.flaky_before);
UPDATE vs.steps SET reward = 1 WHERE rollout = 't1 a 3' AND n = 2;
SELECT n_successes FROM vs.steps_flaky WHERE task = 't1';
SELECT stepadv.refresh('vs.steps');
SELECT n_successes FROM vs.steps_flaky WHERE task = 't1';
SELECT n_judged_a, n_successes_a, rate_b FROM stepadv.compare_versions('vs.steps', 'a', 'b') WHERE task = '{"task": "t1"}';
SELECT stepadv.unmaintain('vs.steps');
UPDATE vs.steps SET reward = 0 WHERE rollout = 't1 a 3' AND n = 2;

-- Errors.
SELECT * FROM stepadv.compare_versions('vs.steps', 'a', 'c');
SELECT * FROM stepadv.version_difference('vs.steps', 'c', 'a');
SELECT * FROM stepadv.compare_versions('vs.steps', 'a', 'x');
SELECT * FROM stepadv.version_difference('vs.steps', 'x', 'a');
SELECT * FROM stepadv.compare_versions('vs.steps', 'd', 'b');
SELECT * FROM stepadv.compare_versions('vs.steps', 'a', 'a');
SELECT * FROM stepadv.compare_versions('vs.steps', NULL, 'a');
SELECT * FROM stepadv.compare_versions('vs.steps', 'a', NULL);
SELECT * FROM stepadv.compare_versions(NULL, 'a', 'b');
SELECT * FROM stepadv.compare_versions('vs.before', 'a', 'b');
SELECT * FROM stepadv.compare_versions('vs.steps', 'a', 'b', prefix => 'other');
SELECT * FROM stepadv.compare_versions('vs.steps', 'a', 'b', division => 'run_id');
SELECT * FROM stepadv.compare_versions('vs.steps', 'a', 'b', division => NULL);
SELECT * FROM stepadv.compare_versions('vs.steps', 'a', 'b', solved_above => 1);
SELECT * FROM stepadv.compare_versions('vs.steps', 'a', 'b', solved_above => NULL);
SELECT * FROM stepadv.version_difference('vs.steps', 'a', 'b', confidence_level => 1);
SELECT * FROM stepadv.version_difference('vs.steps', 'a', 'b', confidence_level => NULL);
SELECT * FROM stepadv.version_difference('vs.steps', 'a', 'b', permutations => 0);
SELECT * FROM stepadv.version_difference('vs.steps', 'a', 'b', seed => NULL);
SELECT * FROM stepadv.version_difference('vs.steps', 'a', 'b', max_q_value => 0);
SELECT count(*) > 10 AS attached FROM stepadv.attach('vs.steps', '{task}', 'rollout', 'n', 'state', 'action', 'reward', views => '{all}', prefix => 'nameless', options => '{"flaky": {"k": 2}}');
SELECT count(*) > 10 AS attached FROM stepadv.attach('vs.steps', '{task}', 'rollout', 'n', 'state', 'action', 'reward', views => '{all}', prefix => 'nameless');
SELECT * FROM stepadv.compare_versions('vs.steps', 'a', 'b');
SELECT * FROM stepadv.compare_versions('vs.steps', 'a', 'b', prefix => 'nameless');
-- Where no version is known, all rollouts of a task are of one; folded as kept.
SELECT * FROM vs.nameless_pass_at_k ORDER BY k;
SELECT stepadv.maintain('vs.steps', 'nameless');
SELECT count(*) AS tasks, sum(n_successes) FROM vs.nameless_flaky;
SELECT stepadv.detach('vs.steps', 'nameless') > 10 AS detached;

-- The version a column of the group: a task is the rest of it. Times of a day are no versions, runs and dimensions are; a version may be compared by any of them.
CREATE TABLE vs.runs (run integer NOT NULL, version integer NOT NULL, task integer NOT NULL, part text NOT NULL, rollout integer NOT NULL, n integer NOT NULL, success boolean, at timestamptz, PRIMARY KEY (run, version, task, rollout, n));
INSERT INTO vs.runs SELECT run, version, task, 'p' || task % 2, i, 1, CASE WHEN task % 4 = 0 AND task > 8 THEN version = 3 ELSE hashint4(run * 1000 + version * 100 + task * 10 + i) % 3 <> 0 END, timestamptz '2026-01-01 UTC' + i * interval '1 day'
FROM generate_series(1, 2) run, generate_series(1, 3) version, generate_series(1, 30) task, generate_series(1, 1 + task % 5) i;
SELECT count(*) > 10 AS attached FROM stepadv.attach('vs.runs', '{run,version,task}', 'rollout', 'n', columns => '{"success": "success", "policy_version": "version", "run_id": "run", "started_at": "at", "dimensions": ["part"]}', views => '{all}');
SELECT count(*) AS rows, bool_and(abs(v.pass_at_k - p.p) < 1e-12 AND v.n_tasks = p.n_tasks) AS same
FROM vs.runs_pass_at_k v LEFT JOIN (
	SELECT version, run, part, k, avg(p) AS p, count(*) AS n_tasks
	FROM (SELECT version, run, part, task, k, stepadv.pass_at_k(count(success), count(*) FILTER (WHERE success), k) AS p FROM vs.runs, unnest('{1,2,4,5}'::integer[]) k GROUP BY version, run, part, task, k) t WHERE p IS NOT NULL GROUP BY version, run, part, k) p
ON (p.version, p.run, p.part, p.k) = (v.policy_version, v.run_id, v.part, v.k);
SELECT * FROM vs.runs_flaky ORDER BY 1, 2, 3, 4 LIMIT 3;
SELECT task, n_judged_a, n_judged_b FROM stepadv.compare_versions('vs.runs', '1', '2') ORDER BY (task ->> 'task')::integer LIMIT 2;
SELECT task, n_judged_a, n_judged_b FROM stepadv.compare_versions('vs.runs', '1', '2', division => 'run_id') ORDER BY (task ->> 'task')::integer LIMIT 2;
SELECT * FROM stepadv.compare_versions('vs.runs', 'p0', 'p1', division => 'part');

-- More tasks than all sign vectors are tried for: random ones by the seed, reproducibly; close to all signs of as many tasks as can be tried.
SELECT x.n_tasks, x.exact, x = y AS same, x.p_value <> z.p_value AS other, abs(x.p_value - z.p_value) < 0.05 AS near, x.p_value BETWEEN 1 / 10001.0 AND 1 AS a_share
FROM stepadv.version_difference('vs.runs', '1', '2') x, stepadv.version_difference('vs.runs', '1', '2') y, stepadv.version_difference('vs.runs', '1', '2', seed => 2) z;
-- In plain SQL: intervals, Fisher by the terms of the hypergeometric distribution, Benjamini and Hochberg by their definition, all signs of twelve tasks.
CREATE TABLE vs.compared AS SELECT * FROM stepadv.compare_versions('vs.runs', '1', '3');
SELECT count(*) AS tasks, bool_and(abs(c.p_value - f.p) < 1e-12) AS fisher, bool_and(abs(c.q_value - q.q) < 1e-12) AS q_value, count(DISTINCT c.q_value) AS different
FROM vs.compared c
CROSS JOIN LATERAL (
	SELECT sum(w) FILTER (WHERE w <= w_seen * (1 + 1e-7)) / sum(w) AS p
	FROM (SELECT w, max(w) FILTER (WHERE x = c.n_successes_a) OVER () AS w_seen
		FROM (SELECT x, (factorial(c.n_judged_a) / factorial(x) / factorial(c.n_judged_a - x) * factorial(c.n_judged_b) / factorial(m - x) / factorial(c.n_judged_b - m + x))::float8 AS w
			FROM (SELECT c.n_successes_a + c.n_successes_b AS m) m, generate_series(greatest(0, m - c.n_judged_b), least(m, c.n_judged_a)) x) w) w) f
CROSS JOIN LATERAL (SELECT least(1, min(o.p_value * (SELECT count(*) FROM vs.compared) / (SELECT count(*) FROM vs.compared u WHERE u.p_value <= o.p_value * (1 + 1e-12)))) AS q FROM vs.compared o WHERE o.p_value >= c.p_value * (1 - 1e-12)) q;
SELECT abs(d.difference - avg(c.difference)) < 1e-12 AS difference, abs(d.stderr - stddev_samp(c.difference) / sqrt(count(*))) < 1e-12 AS error, d.n_solved = count(*) FILTER (WHERE c.solved) AS solved,
	d.n_lost = count(*) FILTER (WHERE c.lost) AS lost, abs(d.rate_b - d.rate_a - d.difference) < 1e-12 AS rates
FROM stepadv.version_difference('vs.runs', '1', '3') d, vs.compared c GROUP BY d.difference, d.stderr, d.rate_a, d.rate_b, d.n_solved, d.n_lost;
SELECT p.exact, p.p_value, p.p_value = s.p AS same
FROM (SELECT '{0.25,-0.5,1,0.75,0.25,0,0.5,-0.25,0.125,1,0.5,-0.125,0}'::float8[] AS d) d, stepadv_internal.paired_difference(d.d, 0.95, 10000, 1) p,
	LATERAL (SELECT avg((abs(sum) >= 3.5)::integer) AS p FROM (SELECT sum(CASE WHEN mask >> (i - 1)::integer & 1 = 1 THEN x ELSE -x END) FROM generate_series(0, 8191) mask, unnest(d.d) WITH ORDINALITY u(x, i) GROUP BY mask) s(sum)) s;
-- Student's bounds: one degree of freedom tan(.475 pi); of many, what tables have.
SELECT n, round((abs(p.high - p.difference) / p.stderr)::numeric, 10) AS bound FROM unnest('{2,3,11,121,10001}'::integer[]) n, LATERAL (SELECT array_agg(i::float8) AS d FROM generate_series(1, n) i) d, stepadv_internal.paired_difference(d.d, 0.95, 1, 1) p;
SELECT abs(p.high - 1 - tan(0.475 * pi())) < 1e-9 AS one FROM stepadv_internal.paired_difference('{0,2}', 0.95, 1, 1) p;
-- One task: no interval. No difference: p is 1.
SELECT * FROM stepadv_internal.paired_difference('{0.5}', 0.95, 10, 1);
SELECT * FROM stepadv_internal.paired_difference('{0,0,0}', 0.95, 10, 1);
SELECT stepadv_internal.fisher_exact(0, 0, 3, 4) AS nothing, stepadv_internal.fisher_exact(100000, 200000, 100600, 200000) BETWEEN 0.05 AND 0.06 AS of_many;

-- A task that is not a column of the group: the role given to attach.
CREATE TABLE vs.uids (uid integer NOT NULL, question text, version text, rollout integer NOT NULL, n integer NOT NULL, reward float8, PRIMARY KEY (uid, rollout, n));
INSERT INTO vs.uids SELECT v * 10 + t, 'q' || t, 'v' || v, i, 1, (i <= t + v - 1)::integer FROM generate_series(1, 2) v, generate_series(1, 3) t, generate_series(1, 4) i;
SELECT count(*) > 10 AS attached FROM stepadv.attach('vs.uids', '{uid}', 'rollout', 'n', reward => 'reward', columns => '{"policy_version": "version", "task_id": "question"}', views => '{all}');
SELECT task, n_successes_a, n_successes_b FROM stepadv.compare_versions('vs.uids', 'v1', 'v2') ORDER BY task;
SELECT * FROM vs.uids_flaky ORDER BY 1, 2;

-- The canonical tables: run and version are columns of the group under these names, and of what is kept.
SELECT count(*) > 10 AS made FROM stepadv.create_tables('vs_canonical', views => '{all}');
INSERT INTO vs_canonical.rollouts (run_id, policy_version, task_id, rollout_id, success) SELECT r, v, 't' || t, 'r' || i, i <= t FROM unnest('{1,2}'::text[]) r, unnest('{a,b}'::text[]) v, generate_series(1, 3) t, generate_series(1, CASE v WHEN 'a' THEN 3 ELSE 2 END) i;
CREATE TABLE vs.before_kept AS SELECT * FROM vs_canonical.steps_pass_at_k;
SELECT run_id, policy_version, policy_step, k, n_tasks, pass_at_k, pass_hat_k FROM vs.before_kept ORDER BY 1, 2, 4;
SELECT task, n_judged_a, n_successes_a, n_judged_b, n_successes_b FROM stepadv.compare_versions('vs_canonical.rollout_rows', 'a', 'b') ORDER BY task;
SELECT stepadv.maintain('vs_canonical.rollout_rows') IS NOT NULL AS kept;
SELECT count(*) AS differ FROM ((SELECT * FROM vs.before_kept EXCEPT SELECT * FROM vs_canonical.steps_pass_at_k) UNION ALL (SELECT * FROM vs_canonical.steps_pass_at_k EXCEPT SELECT * FROM vs.before_kept)) d;
SELECT * FROM vs_canonical.steps_flaky WHERE run_id = '2' ORDER BY 1, 2, 3;

-- Reward alone, with another bound of success; a name that is taken.
CREATE TABLE vs.scores (k text NOT NULL, rollout integer NOT NULL, n integer NOT NULL, score float8, n_judged text NOT NULL, PRIMARY KEY (k, n_judged, rollout, n));
INSERT INTO vs.scores SELECT 'x', i, 1, i / 4.0, 'y' FROM generate_series(1, 4) i;
SELECT count(*) > 10 AS attached FROM stepadv.attach('vs.scores', '{k,n_judged}', 'rollout', 'n', reward => 'score', columns => '{"policy_version": "n_judged"}', views => '{all}', options => '{"success_above": 0.5}');
SELECT k, pass_at_k FROM vs.scores_pass_at_k ORDER BY k;
SELECT * FROM vs.scores_flaky;
-- A dimension with the name of a column of the view.
SELECT count(*) > 10 AS attached FROM stepadv.attach('vs.scores', '{n_judged}', 'rollout', 'n', reward => 'score', columns => '{"dimensions": ["k"]}', views => '{all}', prefix => 'divided');
SELECT * FROM vs.divided_pass_at_k ORDER BY k;
-- Drawn signs: of 30 equal differences none of 1000 draws has a sum as large (2^-29), and the draw that happened counts: p = 1/1001.
SELECT round(p_value * 1001) AS p_by_1001, p_value = 1 / 1001.0::float8 AS p, exact FROM stepadv_internal.paired_difference(array_fill(0.25::float8, ARRAY[30]), 0.95, 1000, 1);
SET client_min_messages = warning;
DROP SCHEMA vs, vs_canonical CASCADE;

-- The view _spa: contributions as rewards, by a stored model or a column, against the functions one by one
SET jit = off;
CREATE SCHEMA spa_test;
SET search_path = spa_test, stepadv;

CREATE FUNCTION near(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN a IS NOT DISTINCT FROM b OR abs(a - b) <= 1e-12 * greatest(1, abs(b));
CREATE TABLE step (task integer, run text, n integer, x real[], ok boolean, tool text, v float8 NOT NULL DEFAULT 0, outcome float8, note text DEFAULT 'n', PRIMARY KEY (task, run, n));
INSERT INTO step (task, run, n, x, ok, tool, v, outcome)
SELECT t, 'r' || r, n, ARRAY[(t * 7 + r * 5 + n * 3) % 11 - 5, r % 3 - 1, n]::real[], CASE WHEN (t + r + n) % 5 > 0 THEN (t + n) % 3 > 0 END, 'bash', (r * n) % 4 / 4.0,
	CASE WHEN r < 6 THEN (r % 2)::float8 END
FROM generate_series(1, 5) t, generate_series(1, 6) r, generate_series(1, 4) n WHERE n < 4 OR r % 2 = 0;
-- A step without features, a rollout without any
UPDATE step SET x = NULL WHERE task = 2 AND run = 'r3' AND n = 2 OR task = 3 AND run = 'r1';
INSERT INTO progress_models (name, model) SELECT 'it''s 100% "mine"', progress_fit(task * 100 + substr(run, 2)::int, x, outcome, 0.01) FROM step WHERE x IS NOT NULL;
SELECT fitted_at <= now() AS dated FROM progress_models;

SELECT * FROM attach('step', '{task}', 'run', 'n', reward => 'outcome', columns => '{"value": "v", "features": "x", "grounded": "ok"}', views => '{all}', options => $${"spa": {"model": "it's 100% \"mine\"", "alpha": 2, "beta": 0.25, "gamma": 0.9}, "gae": {"lambda": 0.8, "gamma": 0.5}}$$)
WHERE view_name::text ~ 'spa|gae';
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'step_spa'::regclass AND attnum > 0 ORDER BY attnum;
-- Contribution, reward, and gae over them written out
WITH RECURSIVE reward AS (
	SELECT task, run, n, progress_predict((SELECT model FROM progress_models), x) AS c, ok, v,
		2 * progress_predict((SELECT model FROM progress_models), x) + CASE WHEN ok THEN 0.25 ELSE 0 END AS r FROM step),
backwards AS (
	SELECT r.*, coalesce(r.r, 0) - r.v AS a FROM reward r WHERE NOT EXISTS (SELECT FROM reward o WHERE (o.task, o.run) = (r.task, r.run) AND o.n > r.n)
	UNION ALL
	SELECT r.*, coalesce(r.r, 0) + 0.9 * b.v - r.v + 0.9 * 0.8 * b.a FROM backwards b JOIN reward r ON (r.task, r.run, r.n) = (b.task, b.run, b.n - 1))
SELECT count(*) = (SELECT count(*) FROM step) AS all_steps, bool_and(near(s.contribution, c)) AS contribution, bool_and(s.grounded IS NOT DISTINCT FROM b.ok) AS grounded,
	bool_and(near(s.fused_reward, b.r)) AS fused_reward,
	bool_and(near(s.advantage, CASE WHEN task <> 3 OR run <> 'r1' THEN a END) AND near(s.return, CASE WHEN task <> 3 OR run <> 'r1' THEN a + b.v END)) AS advantage
FROM step_spa s FULL JOIN backwards b USING (task, n, run);
-- Unknown features: no contribution, so no reward there; a rollout without any has no advantage.  Outcomes do not matter.
SELECT run, n, contribution IS NULL AS c, grounded, fused_reward IS NULL AS r, advantage IS NULL AS a FROM step_spa WHERE task = 2 AND run = 'r3' OR task = 3 AND run = 'r1' ORDER BY task, n;
SELECT count(*), count(advantage), count(outcome) FROM step_spa WHERE run = 'r6';
-- The view follows the model
UPDATE progress_models SET model = ROW('squared', 0, 0, '{0, 0, 1}', '{}', 1, 1);
SELECT bool_and(contribution = n AND near(fused_reward, 2 * n + CASE WHEN ok THEN 0.25 ELSE 0 END)) AS follows FROM step_spa WHERE x IS NOT NULL;
BEGIN;
DELETE FROM progress_models;
SELECT count(contribution) FROM step_spa;
ROLLBACK;
UPDATE progress_models SET model = ROW('squared', 0, 0, '{0, 1}', '{}', 1, 1);
SELECT count(contribution), count(advantage), count(*) = (SELECT count(*) FROM step) AS all_shown FROM step_spa;
SELECT problem, sum(n_rows) = (SELECT count(x) FROM step) AS all_of_them, min(effect) AS effect FROM step_problems WHERE problem ~ 'features' GROUP BY 1;
-- The largest integer overflows integer only where step_no is bigint, whatever other types are.
BEGIN;
UPDATE step SET n = 2147483647 WHERE (task, run, n) = (1, 'r2', 4);
SELECT problem FROM step_problems WHERE problem ~ 'step_no';
ROLLBACK;
SELECT detach('step') > 4 AS detached, to_regclass('step_spa') IS NULL AS gone;

-- A column with contributions, of any numeric type, with the settings of gae; no critic; ok of tool calls is grounded
CREATE VIEW judged AS SELECT *, (n * 2)::numeric AS share FROM step;
SELECT description FROM attach('judged', '{task}', 'run', 'n', columns => '{"success": "ok", "contribution": "share", "tool": "tool", "ok": "ok"}', options => '{"lambda": 0, "gamma": 0.5}') WHERE view_name::text ~ 'spa';
SELECT bool_and(contribution = share AND grounded IS NOT DISTINCT FROM ok AND near(fused_reward, share + CASE WHEN ok THEN 0.5 ELSE 0 END) AND near(advantage, fused_reward)
	AND near("return", fused_reward)) AS as_should_be, count(*) FROM judged_spa;
SELECT detach('judged') > 2 AS detached;
-- Nothing is grounded; features as doubles; columns not shown
ALTER TABLE step ADD y float8[], ADD "ro'b%s\" boolean;
UPDATE step SET y = x, "ro'b%s\" = n > 2;
UPDATE progress_models SET model = ROW('squared', 0, 0, '{1, 1, 1}', '{}', 1, 1);
SELECT description FROM attach('step', '{task}', 'run', 'n', reward => 'outcome', columns => '{"features": "y"}', options => $${"show_columns": [], "spa": {"model": "it's 100% \"mine\""}}$$) WHERE view_name::text ~ 'spa';
SELECT bool_and(near(contribution, x[1] + x[2] + x[3]) AND fused_reward IS NOT DISTINCT FROM contribution AND grounded IS NULL) AS as_should_be, count(*) FROM step_spa s JOIN step b ON b.task = s.task AND b.run = s.rollout_id AND b.n = s.step_no;
SELECT detach('step') > 2 AS detached;
-- Names that need quoting; shown from another relation, without its own source in the view
ALTER TABLE step RENAME y TO "w%eird""fe'atures";
CREATE VIEW outcomes AS SELECT task, run, n, v, outcome FROM step UNION ALL SELECT task, run, NULL, NULL, 1 FROM step GROUP BY task, run;
SELECT count(*) > 3 AS attached FROM attach('outcomes', '{task}', 'run', 'n', reward => 'outcome', columns => $${"value": "v", "features": "w%eird\"fe'atures", "grounded": "ro'b%s\\"}$$,
	views => '{all}', prefix => 'o%"ut', options => $${"show_steps": "step", "spa": {"model": "it's 100% \"mine\"", "lambda": 1, "gamma": 1}}$$);
SELECT bool_and(near(contribution, x[1] + x[2] + x[3]) AND grounded = (n > 2) AND near(fused_reward, contribution + CASE WHEN n > 2 THEN 0.5 ELSE 0 END)) AS as_should_be, count(advantage) FROM "o%""ut_spa";
SELECT bool_and(near(advantage, s)) AS undiscounted FROM (SELECT advantage, sum(fused_reward) OVER (PARTITION BY task, run ORDER BY n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) - v AS s FROM "o%""ut_spa" WHERE x IS NOT NULL AND NOT (task = 2 AND run = 'r3')) a;
SELECT detach('outcomes') > 3 AS detached, to_regclass('"o%""ut_spa"') IS NULL AS gone;
-- One group is looked up by its index, and the model is read once
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query; END $$;
SELECT count(*) > 3 AS attached FROM attach('step', '{task}', 'run', 'n', reward => 'outcome', columns => '{"features": "x"}', views => '{all}', options => $${"spa": {"model": "it's 100% \"mine\""}}$$);
SET enable_seqscan = off;
SELECT count(*) FILTER (WHERE l ~ 'Index Cond: .*task = 3') > 0 AS by_index, count(*) FILTER (WHERE l ~ 'Seq Scan') AS scans, count(*) FILTER (WHERE l ~ 'InitPlan') > 0 AS model_once
FROM plan_of('SELECT contribution, advantage FROM step_spa WHERE task = 3') l;
RESET enable_seqscan;
-- Users who can read the table can read the view
CREATE ROLE spa_reader;
GRANT USAGE ON SCHEMA spa_test, stepadv TO spa_reader;
GRANT SELECT ON step, step_spa TO spa_reader;
SET ROLE spa_reader;
SELECT count(advantage) > 90 AS read FROM step_spa;
INSERT INTO progress_models SELECT 'b', model FROM progress_models;
RESET ROLE;
SELECT detach('step') > 2 AS detached;

-- Errors
CREATE FUNCTION refused(arguments text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE message text; hint text;
BEGIN
	EXECUTE format('SELECT count(*) FROM attach(''step'', ''{task}'', ''run'', ''n'', %s, reward => ''outcome'', views => ''{all}'')', arguments);
	RAISE NOTICE 'not refused: %', arguments;
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	RETURN SQLSTATE || ' ' || message || coalesce(' / ' || nullif(hint, ''), '');
END $$;
\t on
SELECT refused($$columns => '{"features": "x"}'$$);
SELECT refused($$columns => '{"features": "x"}', options => '{"spa": {"model": "none"}}'$$);
SELECT refused($$columns => '{"contribution": "v"}', options => '{"spa": {"model": "none"}}'$$);
SELECT refused($$columns => '{"features": "x", "contribution": "v"}'$$);
SELECT refused($$columns => '{"features": "z"}'$$);
SELECT refused($$columns => '{"features": "v"}'$$);
SELECT refused($$columns => '{"features": "note"}'$$);
SELECT refused($$columns => '{"contribution": "x"}'$$);
SELECT refused($$columns => '{"contribution": "v", "grounded": "note"}'$$);
SELECT refused($$columns => '{"contribution": "v", "value": "z"}'$$);
SELECT refused($$columns => '{"grounded": "ok"}'$$);
SELECT refused($$columns => '{"contribution": "v"}', options => '{"spa": {"alpha": "NaN"}}'$$);
SELECT refused($$columns => '{"contribution": "v"}', options => '{"spa": {"beta": "much"}}'$$);
SELECT refused($$columns => '{"contribution": "v"}', options => '{"spa": {"gamma": 2}}'$$);
SELECT refused($$columns => '{"contribution": "v"}', options => '{"spa": {"delta": 2}}'$$);
SELECT refused($$columns => '{"contribution": "v"}', options => '{"spa": {"alpha": [2]}}'$$);
SELECT split_part(refused($$columns => '{"contribution": "v"}', options => '{"spa": 2}'$$), ' / ', 1);
\t off
\set VERBOSITY terse
INSERT INTO progress_models (name, model) SELECT '', model FROM progress_models;
DELETE FROM progress_models;
DROP OWNED BY spa_reader;
DROP ROLE spa_reader;

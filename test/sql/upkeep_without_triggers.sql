-- Groups kept without triggers: found by a watermark, or all folded again.
\set VERBOSITY terse
-- Rebuilds the views of all attachments; a row each.
CREATE FUNCTION pg_temp.anew(asked text[] DEFAULT '{}') RETURNS TABLE (attachment regclass, n_views bigint, problem text) LANGUAGE plpgsql AS $$
DECLARE
	a record;
BEGIN
	FOR a IN SELECT k.source, k.schema, k.prefix FROM stepadv.attachments() k ORDER BY k.schema, k.prefix LOOP
		attachment := to_regclass(format('%I.%I', a.schema, a.prefix || '_attachment'));
		problem := NULL;
		BEGIN
			PERFORM stepadv.add_views(a.source, asked, a.prefix);
			SELECT count(*) INTO n_views FROM stepadv.attachments() k CROSS JOIN LATERAL jsonb_object_keys(k.views) WHERE k.source = a.source AND k.prefix = a.prefix;
		EXCEPTION WHEN OTHERS THEN
			problem := SQLERRM;
			n_views := NULL;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
CREATE SCHEMA uw;
SET search_path = uw;
CREATE TABLE runs (task text, run integer, version text, began timestamptz, updated_at timestamptz NOT NULL, PRIMARY KEY (task, run));
CREATE TABLE steps (id bigint PRIMARY KEY, task text NOT NULL, run integer, step integer, st integer, act integer, reward float8, tokens integer[], answer integer[], note text, updated_at timestamptz);
CREATE INDEX ON steps (task);
INSERT INTO runs SELECT 'task ' || i / 3, i, 'v' || i % 2, '2026-01-01', clock_timestamp() FROM generate_series(0, 11) i;
INSERT INTO steps SELECT i * 10 + j, 'task ' || i / 3, i, j, j % 2, (i + j) % 2, (j = 3 AND i % 2 = 0)::integer, ARRAY[1, j], ARRAY[j, i], 'note', clock_timestamp()
FROM generate_series(0, 11) i, generate_series(0, 3) j;
SELECT count(*) > 35 AS attached FROM stepadv.attach('steps', '{task}', 'run', 'step', 'st', 'act', 'reward', columns => '{"step_id": "id", "policy_version": "version", "started_at": "began", "prompt_token_ids": "tokens", "response_token_ids": "answer"}', views => '{all}', options => '{"show_rollouts": "runs", "methods": {}}');
-- The groups' contents, from the rows in plain SQL; and as the views show them.
CREATE VIEW truth AS SELECT task, count(DISTINCT run)::integer AS n_rollouts, count(*)::integer AS n_steps, sum(reward) AS returns FROM steps GROUP BY task;
CREATE VIEW shown AS SELECT g.task, g.n_rollouts, g.n_steps, g.mean_return * g.n_judged AS returns FROM steps_groups g;
CREATE VIEW difference AS (TABLE truth EXCEPT TABLE shown) UNION ALL (TABLE shown EXCEPT TABLE truth);
CREATE VIEW versions AS SELECT policy_version, n_rollouts FROM steps_progress_over_time ORDER BY 1;
CREATE VIEW tokens AS SELECT task, sum(n_prompt_tokens + n_response_tokens) AS n_tokens FROM steps_lineage GROUP BY 1;

-- Errors
SELECT stepadv.maintain('steps', mode => 'never');
SELECT stepadv.maintain('steps', mode => 'watermark', watermark => 'updated_at');
SELECT stepadv.maintain('steps', watermark => 'updated_at');
SELECT stepadv.maintain('steps', mode => 'refresh', watermark => 'updated_at', overlap => '-1 s');
SELECT stepadv.maintain('steps', mode => 'refresh', watermark => 'updated_at', overlap => NULL);
SELECT stepadv.maintain('steps', mode => 'refresh', watermark => 'nothing');
SELECT stepadv.maintain('steps', mode => 'refresh', watermark => 'run');
-- Only views over what is kept beside the groups read it.
ALTER TABLE runs RENAME updated_at TO another;
SELECT stepadv.maintain('steps', mode => 'refresh', watermark => 'updated_at');
SELECT count(*) > 5 AS attached FROM stepadv.attach('steps', '{task}', 'run', 'step', 'st', 'act', 'reward', prefix => 'few');
SELECT stepadv.maintain('steps', 'few', mode => 'refresh', watermark => 'updated_at', overlap => '0');
-- Nothing changed, so that nothing is folded.
SELECT stepadv.refresh('steps'), stepadv.refresh('steps', 'few', full => true);
SELECT stepadv.detach('steps', 'few') > 5 AS detached;
ALTER TABLE runs RENAME another TO updated_at;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT stepadv.maintain('steps', mode => 'refresh', watermark => 'updated_at');
ROLLBACK;

-- Everything: whatever changed
SELECT stepadv.maintain('steps', mode => 'refresh', watermark => 'updated_at');
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid IN ('steps'::regclass, 'runs'::regclass);
TABLE difference;
SELECT stepadv.refresh('steps', full => true);
BEGIN;
UPDATE steps SET reward = 7 WHERE id = 33;					-- task 1
DELETE FROM steps WHERE task = 'task 2' AND run = 6;
UPDATE steps SET task = 'task 9' WHERE task = 'task 3' AND run = 9;
SAVEPOINT s;
UPDATE steps SET note = 'another', updated_at = NULL WHERE task = 'task 0';	-- nobody reads it
-- As of then, which check_maintained shows.
SELECT * FROM difference ORDER BY task, n_steps;
SELECT group_key, string_agg(problem, ', ' ORDER BY problem) AS problems FROM stepadv.check_maintained('steps') GROUP BY 1 ORDER BY 1;
SELECT stepadv.refresh('steps', full => true);
TABLE difference;
SELECT * FROM stepadv.check_maintained('steps');
-- Columns that are not part of the groups: versions and tokens.
TABLE versions;
UPDATE runs SET version = 'v7' WHERE run = 1;
UPDATE steps SET answer = answer || 5 WHERE id = 40;
SELECT stepadv.refresh('steps', full => true);
TABLE versions;
SELECT count(*) AS wrong FROM (TABLE tokens EXCEPT SELECT task, sum(cardinality(tokens) + cardinality(answer)) FROM steps GROUP BY task) q;
SELECT * FROM stepadv.check_maintained('steps');
-- A deleted group; all of them.
DELETE FROM steps WHERE task = 'task 9';
SELECT stepadv.refresh('steps', full => true);
TRUNCATE steps;
SELECT stepadv.refresh('steps'), stepadv.refresh('steps', full => true);
SELECT count(*) FROM steps_groups;
ROLLBACK;
TABLE difference;
SELECT * FROM stepadv.check_maintained('steps');
-- Changes that the refresh does not find, check_maintained finds.
BEGIN;
UPDATE steps_folded SET rollouts = (SELECT rollouts FROM steps_folded WHERE task = 'task 1') WHERE task = 'task 0';
SELECT DISTINCT group_key FROM stepadv.check_maintained('steps');
SELECT stepadv.refresh('steps', full => true);
SELECT * FROM stepadv.check_maintained('steps');
ROLLBACK;
-- How old it is.
SELECT source, prefix, mode, as_of <= clock_timestamp() AND age < '1 hour' AS has_age, problem FROM stepadv.maintained() WHERE prefix = 'steps';
CREATE TEMP TABLE before AS SELECT as_of FROM stepadv.maintained() WHERE prefix = 'steps';
SELECT stepadv.refresh('steps', full => true);
SELECT m.as_of > b.as_of AS later FROM stepadv.maintained() m, before b WHERE m.prefix = 'steps';
-- Renamed, and in another schema
ALTER TABLE steps_seen RENAME TO what_was_seen;
ALTER TABLE steps RENAME COLUMN reward TO gain;
UPDATE steps SET gain = 3 WHERE id = 13;
SELECT stepadv.refresh('steps', full => true);
SELECT * FROM stepadv.check_maintained('steps');
ALTER TABLE steps RENAME COLUMN gain TO reward;
DROP TABLE what_was_seen;
SELECT stepadv.refresh('steps', full => true);
SELECT problem FROM stepadv.check_maintained('steps');
SELECT problem FROM stepadv.maintained() WHERE prefix = 'steps';
SELECT stepadv.unmaintain('steps');
TABLE difference;

-- By watermark: the column that it names
SELECT stepadv.maintain('steps', mode => 'refresh', watermark => 'updated_at', overlap => '0');
SELECT watermark, overlap, seen, seen_until <= as_of AS in_order FROM steps_attachment;
UPDATE steps SET reward = 5, updated_at = clock_timestamp() WHERE id = 33;
INSERT INTO steps SELECT 900, 'task 8', 1, 1, 1, 1, 1, '{1}', '{2}', '', clock_timestamp();
SELECT stepadv.refresh('steps');
TABLE difference;
-- A NULL gives no time, so the group is folded each time.
UPDATE steps SET reward = 6, updated_at = NULL WHERE id = 33;
SELECT stepadv.refresh('steps'), stepadv.refresh('steps');
TABLE difference;
UPDATE runs SET version = 'v8', updated_at = clock_timestamp() WHERE run = 3;
SELECT stepadv.refresh('steps');
SELECT * FROM stepadv.check_maintained('steps');
-- Rows that were deleted, moved to another group or inserted with an older time are detected by the number of rows.
DELETE FROM steps WHERE run = 6;
INSERT INTO steps SELECT 901, 'task 8', 1, 2, 1, 1, 1, '{1}', '{2}', '', '2020-01-01';
UPDATE steps SET task = 'task 0', updated_at = clock_timestamp() WHERE run = 3;
SELECT stepadv.refresh('steps');
SELECT * FROM stepadv.check_maintained('steps');
-- Changes with an older time alone are not detected: check_maintained finds them.
UPDATE steps SET reward = 9 WHERE id = 900;
SELECT stepadv.refresh('steps');
SELECT group_key FROM stepadv.check_maintained('steps') WHERE problem = 'differs from a fresh fold' ORDER BY 1;
SELECT stepadv.refresh('steps', full => true);
TABLE difference;
SELECT * FROM stepadv.check_maintained('steps');
-- Errors about the column.
ALTER TABLE steps RENAME updated_at TO changed_at;
SELECT stepadv.refresh('steps');
ALTER TABLE steps RENAME changed_at TO updated_at;
SELECT problem FROM pg_temp.anew() WHERE attachment = 'steps_attachment'::regclass;
SELECT * FROM stepadv.check_maintained('steps');
SELECT stepadv.unmaintain('steps'), to_regclass('steps_seen');

-- A view over several tables of which only one has the group: with triggers refused.
CREATE TABLE parts (run integer, step integer, st integer, act integer, reward float8, PRIMARY KEY (run, step));
INSERT INTO parts SELECT run, step, st, act, reward FROM steps WHERE run < 6 AND task <> 'task 8';
ALTER TABLE parts ADD updated_at timestamptz DEFAULT now();
CREATE VIEW joined AS SELECT p.run * 10 + p.step AS id, r.task, p.run, p.step, p.st, p.act, p.reward, r.updated_at FROM parts p JOIN runs r USING (run);
SELECT count(*) > 20 AS attached FROM stepadv.attach('joined', '{task}', 'run', 'step', 'st', 'act', 'reward', columns => '{"step_id": "id"}', views => '{all}');
SELECT stepadv.maintain('joined');
SELECT stepadv.maintain('joined', mode => 'refresh', watermark => 'updated_at');
UPDATE runs SET task = 'moved' WHERE run = 4;
SELECT stepadv.refresh('joined', full => true);
SELECT task, n_rollouts, n_steps FROM joined_groups ORDER BY 1;
SELECT * FROM stepadv.check_maintained('joined');
-- A refresh that cannot read the source leaves everything as it was.
CREATE OR REPLACE VIEW joined AS SELECT p.run * 10 + p.step AS id, r.task, p.run, p.step, p.st, p.act, 1 / nullif(p.reward, 0) / (p.run - 2) * p.reward AS reward, r.updated_at FROM parts p JOIN runs r USING (run);
UPDATE parts SET reward = 0.5 WHERE run = 2;
SELECT stepadv.refresh('joined', full => true);
DELETE FROM parts WHERE run = 2;
SELECT stepadv.refresh('joined', full => true) > 0 AS folded;
SELECT * FROM stepadv.check_maintained('joined');
-- A materialized view; row-level security is refused.
CREATE MATERIALIZED VIEW stored AS SELECT * FROM steps;
SELECT count(*) > 20 AS attached FROM stepadv.attach('stored', '{task}', 'run', 'step', 'st', 'act', 'reward', columns => '{"step_id": "id"}', views => '{all}');
SELECT stepadv.maintain('stored');
SELECT stepadv.maintain('stored', mode => 'refresh', watermark => 'updated_at');
DELETE FROM steps WHERE run = 5;
REFRESH MATERIALIZED VIEW stored;
SELECT stepadv.refresh('stored', full => true);
SELECT count(*) AS wrong FROM (TABLE truth EXCEPT SELECT task, n_rollouts, n_steps, mean_return * n_judged FROM stored_groups) q;
SELECT count(*) > 20 AS attached FROM stepadv.attach('parts', '{run}', 'run', 'step', 'st', 'act', 'reward', views => '{all}', options => '{"states": "observation"}');
ALTER TABLE parts ENABLE ROW LEVEL SECURITY;
SELECT stepadv.maintain('parts', mode => 'refresh', watermark => 'updated_at');
SELECT stepadv.detach('stored') > 20 AS detached, to_regclass('stored_seen');
SET client_min_messages = warning;
DROP SCHEMA uw CASCADE;

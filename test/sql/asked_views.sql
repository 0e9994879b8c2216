-- attach makes the views that are asked for: by default, by name, later; each column says what it is.
SET client_min_messages = warning;
\set VERBOSITY default
\set SHOW_CONTEXT never
CREATE SCHEMA av;
SET search_path = av, stepadv, public;
CREATE TABLE steps (id integer PRIMARY KEY, task text NOT NULL, run text, n integer, st text, act text, score float8, v float8, version text);
CREATE INDEX ON steps (task, run);
COMMENT ON COLUMN steps.act IS 'what was done';
INSERT INTO steps SELECT i, 't' || i / 20, 'r' || i / 5, i % 5, 's' || i % 7, 'a' || i % 3, CASE WHEN i % 5 = 4 THEN i / 5 % 2 END, i % 4 / 4.0, 'v' || i / 5 % 2 FROM generate_series(0, 59) i;

-- What exists by default, and with which columns.
SELECT view_name FROM attach('steps', '{task}', 'run', 'n', reward => 'score', prefix => 'few');
SELECT view_name, description FROM attach('steps', '{task}', 'run', 'n', 'st', 'act', 'score', columns => '{"policy_version": "version"}', options => '{"rtmc": {"gamma": 0.5}}');
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'steps_compare'::regclass AND attnum > 0;

-- Adding and dropping views: views of several methods follow; others stay as they were, with their grants.
CREATE ROLE av_reader;
GRANT SELECT ON steps_rtmc, steps_compare TO av_reader;
ALTER VIEW steps_rtmc RENAME COLUMN advantage TO worth;
SELECT * FROM add_views('steps', '{hgpo,quadrants,rtmc}', 'steps');
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'steps_compare'::regclass AND attnum > 0;
SELECT count(*) > 0 AS pairs, count(*) FILTER (WHERE 'hgpo' IN (method_a, method_b)) > 0 AS of_hgpo FROM steps_quadrants;
SELECT bool_and(h.advantage IS NOT DISTINCT FROM c.hgpo) AS same, count(c.hgpo) FROM steps_hgpo h JOIN steps_compare c USING (step_id);
SELECT drop_views('steps', '{hgpo,grpo}', 'steps');
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'steps_compare'::regclass AND attnum > 0;
SELECT to_regclass('steps_hgpo') AS gone, has_table_privilege('av_reader', 'steps_compare', 'SELECT') AS still, (SELECT count(worth) FROM steps_rtmc) AS renamed;
-- A view that a user drops by hand stays dropped until it is asked for again.
DROP VIEW steps_gigpo;
SELECT * FROM add_views('steps', '{}', 'steps');
SELECT view_name FROM add_views('steps', '{default}', 'steps');
SELECT count(*) FROM steps_gigpo;
-- All views that can be made, also for kept groups.
SELECT count(*) > 20 AS all_of_them FROM add_views('steps', '{all}', 'steps');
SELECT maintain('steps', 'few');
SELECT view_name FROM add_views('steps', '{rloo}', 'few');
SELECT count(*), count(advantage) FROM few_rloo;
SELECT drop_views('steps', '{values}', 'few');
SELECT unmaintain('steps', 'few');

-- Every column has a comment: the user's own, the group's, or what it is.
SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relnamespace = 'av'::regnamespace AND c.relkind = 'v' AND col_description(c.oid, a.attnum) IS NULL;
SELECT a.attname, col_description(a.attrelid, a.attnum) FROM pg_attribute a WHERE a.attrelid = 'steps_rtmc'::regclass AND a.attnum > 0 ORDER BY a.attnum;
-- A view does not replace a relation of a user.
COMMENT ON COLUMN steps_rtmc.q IS 'mine';
SELECT count(*) FROM add_views('steps', '{}', 'steps');
SELECT col_description('steps_rtmc'::regclass, attnum) FROM pg_attribute WHERE attrelid = 'steps_rtmc'::regclass AND attname = 'q';
SELECT detach('steps') > 10 AS detached;

-- The tables that are made for it: a dozen views that can be read.
SELECT count(*) FROM create_tables('av_tables');
SELECT string_agg(relname, ' ' ORDER BY relname), sum(length(pg_get_viewdef(oid))) < 66000 AS small FROM pg_class
WHERE relnamespace = 'av_tables'::regnamespace AND relkind = 'v' AND relname <> 'rollout_rows';
SELECT view_name FROM add_views('av_tables.steps', '{hgpo}');
SELECT count(*) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relnamespace = 'av_tables'::regnamespace AND c.relname LIKE 'steps\_%' AND c.relkind = 'v' AND col_description(c.oid, a.attnum) IS NULL;

-- What is refused, with the nearest name.
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score', views => '{rtmcc}');
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score', views => '{default,rtmc}');
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score', views => '{gae}');
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score', views => '{spa}');
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score', views => '{progress_over_time}');
-- The hint names all views; a new method must not change this test.
DO $$
DECLARE
	hint text;
BEGIN
	PERFORM attach('steps', '{task}', 'run', 'n', reward => 'score', views => '{NULL}');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RAISE WARNING '%: %…', SQLERRM, substring(hint FROM '^There are: (?:[a-z]+, ){4}');
END $$;
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score', columns => '{"sucess": "v"}');
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score', columns => '{"success": ["v"]}');
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score', columns => '["success"]');
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score', options => '{"normalize": "mean"}');
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score', options => '{"quadrants": {"treshold": 1}}');
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score', options => '{"quadrants": 1}');
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score', options => '{"states": "histry"}');
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score', options => '{"show_rollouts": "no_such"}');
SELECT add_views('steps', '{rtmc}');
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score') IS NOT NULL AS attached LIMIT 1;
SELECT attach('steps', '{task}', 'run', 'n', reward => 'score', views => '{default,rloo}', prefix => 'two') IS NOT NULL AS attached LIMIT 1;
SELECT add_views('steps', '{rloo}');
SELECT drop_views('steps', '{rtmc}', 'two');
CREATE VIEW reads_it AS SELECT * FROM two_compare;
SELECT drop_views('steps', '{grpo}', 'two');
SELECT count(*) FROM two_grpo;
DROP VIEW reads_it;
SELECT detach('steps') > 10 AS detached;
-- The kept table has what _values shows.
SELECT count(*) AS views FROM attach('steps', '{task}', 'run', 'n', reward => 'score', views => '{grpo}', prefix => 'few');
SELECT maintain('steps');
SELECT count(*) AS views FROM add_views('steps', '{values}');
SELECT maintain('steps'), (SELECT count(*) FROM maintained()) AS maintained;
DROP SCHEMA av, av_tables CASCADE;
DROP ROLE av_reader;

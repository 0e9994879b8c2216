-- Changes to a source after maintain: privileges, keys of unusual types, names.
\set VERBOSITY terse
CREATE ROLE regress_stepadv_keeper;
CREATE ROLE regress_stepadv_guest;
CREATE SCHEMA ddl AUTHORIZATION regress_stepadv_keeper;
GRANT USAGE ON SCHEMA ddl TO regress_stepadv_guest;
SET search_path = ddl;

-- Kept groups are readable for users who may now read what they are folded from.
SET ROLE regress_stepadv_keeper;
CREATE TABLE guarded (id integer PRIMARY KEY, g integer NOT NULL, r integer, n integer, score float8, version text, secret text);
CREATE INDEX ON guarded (g);
CREATE VIEW guarded_source AS SELECT id, g, r, n, score, version FROM guarded;
SELECT count(*) > 5 AS attached FROM stepadv.attach('guarded', '{g}', 'r', 'n', reward => 'score', columns => '{"policy_version": "version"}', views => '{all}', options => '{"show_columns": []}');
SELECT count(*) > 5 AS attached FROM stepadv.attach('guarded_source', '{g}', 'r', 'n', reward => 'score', columns => '{"step_id": "id"}', views => '{all}', prefix => 'through');
GRANT SELECT ON ALL TABLES IN SCHEMA ddl TO regress_stepadv_guest;
REVOKE SELECT ON guarded FROM regress_stepadv_guest;
GRANT SELECT (id, g, r, n, score, version) ON guarded TO regress_stepadv_guest;
SELECT stepadv.maintain('guarded'), stepadv.maintain('guarded_source', mode => 'refresh');
INSERT INTO guarded VALUES (1, 1, 1, 1, 1, 'v'), (2, 1, 2, 1, 0, 'v'), (3, 2, 3, 1, 5, 'v');
SELECT stepadv.refresh('guarded_source');
CREATE FUNCTION ddl.reads(relation text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n integer;
BEGIN
	EXECUTE format('SELECT count(*) FROM ddl.%I', relation) INTO n;
	RETURN n;
EXCEPTION WHEN insufficient_privilege THEN
	RETURN 'refused';
END $$;
-- Views run as the user who reads them, from 15 on.
CREATE VIEW ddl.readable AS SELECT f.*, current_setting('server_version_num')::integer < 150000
		OR (reads('guarded_groups'), reads('guarded_values'), reads('through_groups')) = (f.folded, f.folded, f.through_folded)
			AND (reads('guarded_progress_over_time') = 'refused') = (f.digests = 'refused') AS views_too
	FROM (SELECT reads('guarded_folded') AS folded, reads('guarded_digests') AS digests, reads('through_folded') AS through_folded) f;
GRANT SELECT ON readable TO regress_stepadv_guest;
SET ROLE regress_stepadv_guest;
TABLE readable;
-- The grant of one column that is folded goes, and comes back.
SET ROLE regress_stepadv_keeper;
REVOKE SELECT (score) ON guarded FROM regress_stepadv_guest;
SET ROLE regress_stepadv_guest;
TABLE readable;
SET ROLE regress_stepadv_keeper;
GRANT SELECT (score) ON guarded TO regress_stepadv_guest;
REVOKE SELECT ON guarded_source FROM regress_stepadv_guest;
SET ROLE regress_stepadv_guest;
TABLE readable;
SET ROLE regress_stepadv_keeper;
GRANT SELECT ON guarded_source TO regress_stepadv_guest;
-- A user to whom it was granted later reads as well.
SET ROLE regress_stepadv_guest;
TABLE readable;
SET ROLE regress_stepadv_keeper;
SELECT count(*) AS problems FROM stepadv.check_maintained('guarded');
-- Row security is switched on.
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON guarded USING (g = 1);
SET ROLE regress_stepadv_guest;
TABLE readable;
SET ROLE regress_stepadv_keeper;
SELECT count(*) > 0 AS said, count(*) FILTER (WHERE problem ~ 'row.*security') > 0 AS why FROM stepadv.check_maintained('guarded');
-- The owner and users who bypass row security are not affected; neither are writers.
TABLE readable;
INSERT INTO guarded VALUES (4, 3, 3, 1, 5, 'v');
SELECT g, n_rollouts FROM guarded_groups ORDER BY g;
ALTER TABLE guarded DISABLE ROW LEVEL SECURITY;
SELECT count(*) AS problems FROM stepadv.check_maintained('guarded');
SET ROLE regress_stepadv_guest;
TABLE readable;
INSERT INTO guarded_folded DEFAULT VALUES;
DELETE FROM guarded_folded;
RESET ROLE;
SELECT stepadv.detach('guarded') > 5 AS detached, stepadv.detach('guarded_source') > 5 AS detached;
SELECT relname FROM pg_class WHERE relnamespace = 'ddl'::regnamespace AND relkind IN ('r', 'v') ORDER BY 1;

-- A composite key with a NULL field is a key; only NULL is none.
CREATE TYPE place AS (site integer, room text);
CREATE TABLE placed (id integer PRIMARY KEY, p place, r integer, n integer, score float8, version text, logp real[]);
CREATE INDEX ON placed (p);
CREATE TABLE placed_runs (p place, r integer, began date, PRIMARY KEY (p, r));
SELECT count(*) > 5 AS attached FROM stepadv.attach('placed', '{p}', 'r', 'n', reward => 'score', columns => '{"policy_version": "version", "started_at": "began", "logp_new": "logp", "logp_old": "logp"}', views => '{all}', options => '{"show_rollouts": "placed_runs"}');
SELECT count(*) > 5 AS attached FROM stepadv.attach('placed', '{p}', 'r', 'n', reward => 'score', columns => '{"policy_version": "version", "logp_new": "logp", "logp_old": "logp"}', views => '{all}', prefix => 'waits');
CREATE FUNCTION same_as_folded() RETURNS TABLE (groups bigint, steps bigint, version_groups numeric, ratios bigint, version_ratios numeric, wrong bigint) LANGUAGE sql AS $$
	SELECT (SELECT count(*) FROM placed_groups), (SELECT count(*) FROM placed_returns), (SELECT sum(n_groups) FROM placed_progress_over_time),
		(SELECT count(*) FROM placed_ratios), (SELECT sum(n_ratios) FROM placed_progress_over_time),
		(SELECT count(*) FROM (SELECT p, n_rollouts, mean_return FROM placed_groups
			EXCEPT ALL SELECT p, count(DISTINCT r), sum(score) / count(DISTINCT r) FROM placed WHERE p IS DISTINCT FROM NULL GROUP BY p) x)
$$;
INSERT INTO placed VALUES (1, ROW(1, 'a'), 1, 1, 1, 'v', '{-1}'), (2, ROW(1, NULL), 2, 1, 2, 'v', '{-1}'), (3, ROW(NULL, NULL), 3, 1, 3, 'v', '{-1}'), (4, ROW(NULL, 'a'), 4, 1, 4, 'v', '{-1}'), (5, NULL, 5, 1, 5, 'v', '{-1}');
SELECT * FROM same_as_folded();
SELECT stepadv.maintain('placed', 'placed'), stepadv.maintain('placed', 'waits', mode => 'refresh');
SELECT * FROM same_as_folded();
INSERT INTO placed SELECT id + 10, p, r + 10, 1, score * 2, version, logp FROM placed;
SELECT * FROM same_as_folded();
UPDATE placed SET score = 7 WHERE p IS DISTINCT FROM NULL AND r > 10;
UPDATE placed SET p = ROW(2, NULL) WHERE id = 1;
DELETE FROM placed WHERE p = ROW(NULL, 'a')::place;
SELECT * FROM same_as_folded();
SELECT p, n_rollouts, mean_return FROM placed_groups ORDER BY p;
SELECT count(*) AS wrong FROM stepadv.check_maintained('placed', 'placed');
-- A key whose fields are all NULL is one pending group, not all of them.
SELECT stepadv.refresh('placed', 'waits') AS folded;
UPDATE placed SET score = 8 WHERE p = ROW(NULL, NULL)::place;
SELECT count(*) AS wrong FROM stepadv.check_maintained('placed', 'waits');
SELECT stepadv.refresh('placed', 'waits') AS folded;
SELECT count(*) AS wrong FROM stepadv.check_maintained('placed', 'waits');
SELECT p, n_rollouts, mean_return FROM waits_groups ORDER BY p;

-- A missing argument is an error; it does not mean all groups.
\set VERBOSITY sqlstate
SELECT stepadv.maintain(NULL);
SELECT stepadv.unmaintain(NULL);
SELECT stepadv.refresh(NULL);
SELECT * FROM stepadv.check_maintained(NULL);
SELECT stepadv.detach(NULL);
SELECT stepadv.attach(NULL, '{g}', 'r', 'n', reward => 'score', views => '{all}');
\set VERBOSITY terse
INSERT INTO placed (id, p, r, n, score) VALUES (100, ROW(9, 'z'), 9, 1, 9);
SELECT count(*) AS kept FROM placed_folded WHERE p = ROW(9, 'z')::place;
SELECT stepadv.unmaintain('placed') AS ended, stepadv.detach('placed') > 10 AS detached;
DROP TABLE placed, placed_runs;

RESET search_path;
SET client_min_messages = error;
DROP SCHEMA ddl CASCADE;
DROP ROLE regress_stepadv_keeper, regress_stepadv_guest;

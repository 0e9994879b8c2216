-- Changes to kept groups: other names, other owners, privileges granted and revoked, tables that change several times in one statement. See upkeep.sql for the rest.
SET client_min_messages = warning;
SET jit = off;
\set SHOW_CONTEXT never
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
CREATE ROLE regress_stepadv_maker;
CREATE ROLE regress_stepadv_heir;
CREATE ROLE regress_stepadv_guest;
CREATE SCHEMA more AUTHORIZATION regress_stepadv_maker;
GRANT USAGE ON SCHEMA more TO PUBLIC;
SET search_path = more;
SET ROLE regress_stepadv_maker;

-- Renames: of columns (the group's, one that is folded), tables, the schema, and objects that maintain made. Each is written to, as are rebuilt ones.
CREATE TABLE steps (id integer PRIMARY KEY, task text NOT NULL, r integer, n integer, score float8, version text);
CREATE INDEX ON steps (task);
INSERT INTO steps SELECT i, 'task ' || i % 3, i / 6, i / 3 % 2, i % 5, 'v' || i % 2 FROM generate_series(0, 35) i;
SELECT count(*) > 5 AS attached FROM stepadv.attach('steps', '{task}', 'r', 'n', reward => 'score', columns => '{"policy_version": "version"}', views => '{all}');
SELECT stepadv.maintain('steps');
CREATE TEMP VIEW wrong AS SELECT * FROM stepadv.check_maintained('steps');
INSERT INTO steps VALUES (100, 'task 1', 100, 1, 1, 'v1');
ALTER TABLE steps RENAME COLUMN task TO problem;
ALTER TABLE steps RENAME COLUMN score TO reward;
INSERT INTO steps VALUES (101, 'task 1', 101, 1, 1, 'v1'), (102, 'task 7', 101, 1, 1, 'v1');
UPDATE steps SET reward = 3 WHERE problem = 'task 2';
UPDATE steps SET problem = 'task 8' WHERE id = 5;
TABLE wrong;
ALTER TABLE steps RENAME TO rows_of_mine;
ALTER TABLE steps_folded RENAME TO groups_of_mine;
ALTER VIEW steps_fresh RENAME TO fresh_of_mine;
RESET ROLE;
ALTER SCHEMA more RENAME TO "More; --";
SET search_path = "More; --";
SET ROLE regress_stepadv_maker;
INSERT INTO rows_of_mine VALUES (103, 'task 1', 103, 1, 1, 'v1'), (104, 'task 9', 101, 1, 1, 'v1');
UPDATE rows_of_mine SET reward = 4, problem = 'task 10' WHERE problem = 'task 0';
DELETE FROM rows_of_mine WHERE problem = 'task 7';
TABLE wrong;
SELECT task, n_rollouts, mean_return FROM steps_groups ORDER BY 1;
SELECT policy_version, n_rollouts FROM steps_progress_over_time ORDER BY 1;
SELECT stepadv.refresh('rows_of_mine', full => true);
SELECT stepadv.unmaintain('rows_of_mine');
SELECT task, n_rollouts, mean_return FROM steps_groups ORDER BY 1;
SELECT stepadv.maintain('rows_of_mine', mode => 'triggers');
UPDATE rows_of_mine SET reward = 5 WHERE problem = 'task 9';
ALTER TABLE rows_of_mine RENAME COLUMN problem TO question;
UPDATE rows_of_mine SET reward = 5 WHERE question = 'task 8';
TABLE wrong;
DROP VIEW wrong;
SELECT stepadv.detach('rows_of_mine') > 5 AS dropped;
SELECT relname FROM pg_class WHERE relnamespace = '"More; --"'::regnamespace ORDER BY 1;
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'rows_of_mine'::regclass;

-- A table of other columns in a partition and in a child: by name there, not by number.
CREATE TABLE whole (junk integer, g integer NOT NULL, r integer, n integer, score float8, id integer) PARTITION BY LIST (g);
ALTER TABLE whole DROP COLUMN junk;
CREATE TABLE part (id integer, score float8, junk integer, n integer, r integer, g integer NOT NULL);
ALTER TABLE part DROP COLUMN junk;
ALTER TABLE whole ATTACH PARTITION part FOR VALUES IN (1, 2);
CREATE INDEX ON whole (g);
SELECT count(*) > 5 AS attached FROM stepadv.attach('whole', '{g}', 'r', 'n', reward => 'score', views => '{all}');
SELECT stepadv.maintain('whole');
INSERT INTO part (id, score, n, r, g) VALUES (1, 1, 1, 1, 1), (2, 1, 1, 1, 2);
INSERT INTO whole (id, score, n, r, g) VALUES (3, 1, 1, 2, 1);
ALTER TABLE whole RENAME COLUMN g TO grp;
UPDATE part SET grp = 1, r = 3 WHERE id = 2;
UPDATE whole SET score = 7 WHERE id = 1;
SELECT * FROM stepadv.check_maintained('whole');
SELECT g, n_rollouts, mean_return FROM whole_groups;
SELECT stepadv.detach('whole') > 5 AS dropped;

-- The group is a composite value, of which fields may be NULL, or all.
CREATE TYPE pair AS (a integer, b text);
CREATE TABLE pairs (id integer PRIMARY KEY, p pair, r integer, n integer, score float8);
CREATE INDEX ON pairs (p);
SELECT count(*) > 5 AS attached FROM stepadv.attach('pairs', '{p}', 'r', 'n', reward => 'score', views => '{all}');
SELECT stepadv.maintain('pairs');
INSERT INTO pairs VALUES (1, ROW(1, NULL), 1, 1, 1), (2, ROW(NULL, NULL), 1, 1, 1), (3, NULL, 1, 1, 1), (4, ROW(1, 'x'), 1, 1, 1);
UPDATE pairs SET score = 2 WHERE id < 3;
SELECT * FROM stepadv.check_maintained('pairs');
SELECT p, mean_return FROM pairs_groups ORDER BY p;
DELETE FROM pairs WHERE id = 1;
UPDATE pairs SET p = ROW(1, NULL) WHERE id = 2;
SELECT * FROM stepadv.check_maintained('pairs');
SELECT p, mean_return FROM pairs_groups ORDER BY p;
SELECT stepadv.unmaintain('pairs'), stepadv.maintain('pairs', mode => 'refresh');
INSERT INTO pairs VALUES (5, ROW(NULL, NULL), 1, 1, 1);
SELECT stepadv.refresh('pairs');
SELECT * FROM stepadv.check_maintained('pairs');
SELECT p, mean_return FROM pairs_groups ORDER BY p;
SELECT stepadv.detach('pairs') > 5 AS dropped;

-- NULL is no table.
SELECT stepadv.unmaintain(NULL);
SELECT stepadv.refresh(NULL);
SELECT stepadv.check_maintained(NULL);

-- Several changes in one statement: keys that reference their own table and cascade, row triggers that write, statements within a statement.
CREATE TABLE tree (g integer, id integer, parent integer, r integer, n integer, score float8, PRIMARY KEY (g, id),
	FOREIGN KEY (g, parent) REFERENCES tree ON UPDATE CASCADE ON DELETE CASCADE);
SELECT count(*) > 5 AS attached FROM stepadv.attach('tree', '{g}', 'r', 'n', reward => 'score', columns => '{"step_id": "id"}', views => '{all}');
SELECT stepadv.maintain('tree');
INSERT INTO tree SELECT g, i, nullif(i / 2, 0), i / 4, i % 4, i FROM generate_series(1, 3) g, generate_series(1, 15) i;
UPDATE tree SET g = g + 10 WHERE id = 1 AND g < 3;
SELECT * FROM stepadv.check_maintained('tree');
SELECT g, n_steps FROM tree_groups ORDER BY g;
DELETE FROM tree WHERE g = 11 AND id = 3;
DELETE FROM tree WHERE g = 12;
SELECT * FROM stepadv.check_maintained('tree');
SELECT g, n_steps FROM tree_groups ORDER BY g;
CREATE FUNCTION echo() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		INSERT INTO tree VALUES (OLD.g + 20, OLD.id, NULL, OLD.r, OLD.n, OLD.score);
	ELSIF pg_trigger_depth() < 4 THEN
		UPDATE tree SET score = NEW.score + 1, parent = NULL, g = g + CASE WHEN id % 2 = 0 THEN 100 ELSE 0 END WHERE g = NEW.g AND id = NEW.id + 1;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER echo AFTER UPDATE OF score OR DELETE ON tree FOR EACH ROW EXECUTE FUNCTION echo();
UPDATE tree SET score = -1 WHERE g = 3 AND id > 10;
SELECT * FROM stepadv.check_maintained('tree');
DELETE FROM tree WHERE g IN (3, 11) AND id > 12;
SELECT * FROM stepadv.check_maintained('tree');
SELECT g, n_steps FROM tree_groups ORDER BY g;
WITH gone AS (DELETE FROM tree WHERE g = 11 AND id = 2 RETURNING *), changed AS (UPDATE tree SET n = n + 10 WHERE g = 3 RETURNING *)
INSERT INTO tree SELECT 500 + count(*), 1, NULL, 1, 1, 1 FROM gone;
-- From 15 on by MERGE.
DO $$
BEGIN
	IF current_setting('server_version_num')::integer >= 150000 THEN
		EXECUTE 'MERGE INTO tree t USING (VALUES (500, 1), (501, 1), (502, 1)) v(g, id) ON t.g = v.g AND t.id = v.id '
			'WHEN MATCHED THEN UPDATE SET n = 2 WHEN NOT MATCHED THEN INSERT VALUES (v.g, v.id, NULL, 1, 1, 1)';
	ELSE
		INSERT INTO tree VALUES (500, 1, NULL, 1, 1, 1), (501, 1, NULL, 1, 1, 1), (502, 1, NULL, 1, 1, 1) ON CONFLICT (g, id) DO UPDATE SET n = 2;
	END IF;
END $$;
SELECT * FROM stepadv.check_maintained('tree');
SELECT g, n_steps FROM tree_groups ORDER BY g;
-- A trigger on the kept table that writes to the source, while the session's caches are out of date.
CREATE FUNCTION rebound() RETURNS trigger LANGUAGE plpgsql SET search_path = "More; --" AS $$
BEGIN
	IF NEW.g = 1000 THEN
		GRANT SELECT ON tree_folded TO regress_stepadv_heir;
		INSERT INTO tree VALUES (1001, 1, NULL, 1, 1, 1);
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER rebound AFTER INSERT ON tree_folded FOR EACH ROW EXECUTE FUNCTION rebound();
INSERT INTO tree VALUES (999, 1, NULL, 1, 1, 1), (1000, 1, NULL, 1, 1, 1), (1002, 1, NULL, 1, 1, 1);
SELECT * FROM stepadv.check_maintained('tree');
SELECT g, n_steps FROM tree_groups WHERE g > 900 ORDER BY g;
SELECT stepadv.detach('tree') > 5 AS dropped;

-- Privileges: kept groups are readable to users who can now read the tables below.
CREATE TABLE plain (id integer PRIMARY KEY, g integer NOT NULL, r integer, n integer, score float8, secret text);
CREATE INDEX ON plain (g);
INSERT INTO plain SELECT i, i / 6, i / 3, i % 3, i, 's' FROM generate_series(0, 11) i;
SELECT count(*) > 5 AS attached FROM stepadv.attach('plain', '{g}', 'r', 'n', reward => 'score', views => '{all}');
SELECT stepadv.maintain('plain');
GRANT SELECT ON plain_rows TO regress_stepadv_guest;
SET ROLE regress_stepadv_guest;
SELECT g FROM plain_folded;
RESET ROLE;
SET ROLE regress_stepadv_maker;
-- The columns that are folded are enough.
GRANT SELECT (id, g, r, n, score) ON plain TO regress_stepadv_guest;
SET ROLE regress_stepadv_guest;
SELECT g, s.n_rollouts FROM plain_folded, stepadv.group_summary(rollouts) s ORDER BY g;
SELECT g FROM plain_folded WHERE g = 1;
DELETE FROM plain_folded;
UPDATE plain_folded SET g = 7;
RESET ROLE;
SET ROLE regress_stepadv_maker;
REVOKE SELECT (score) ON plain FROM regress_stepadv_guest;
SET ROLE regress_stepadv_guest;
SELECT g, s.n_rollouts FROM plain_folded, stepadv.group_summary(rollouts) s ORDER BY g;
RESET ROLE;
SET ROLE regress_stepadv_maker;
GRANT SELECT ON plain TO regress_stepadv_guest;
ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_group ON plain TO PUBLIC USING (g = 1) WITH CHECK (true);
SET ROLE regress_stepadv_guest;
SELECT g FROM plain GROUP BY g;
SELECT g FROM plain_folded;
RESET ROLE;
SET ROLE regress_stepadv_maker;
-- Not for the owner, who sees all rows and can still write.
INSERT INTO plain VALUES (100, 1, 100, 1, 1, 's');
SELECT g, n_rollouts FROM plain_groups ORDER BY g;
SELECT * FROM stepadv.check_maintained('plain');
-- With FORCE ROW LEVEL SECURITY all rows are folded nevertheless.
ALTER TABLE plain FORCE ROW LEVEL SECURITY;
INSERT INTO plain VALUES (101, 0, 100, 1, 1, 's');
RESET ROLE;
ALTER TABLE plain DISABLE ROW LEVEL SECURITY;
SET ROLE regress_stepadv_guest;
SELECT g FROM plain_folded ORDER BY g;
RESET ROLE;
SET ROLE regress_stepadv_maker;
SELECT * FROM stepadv.check_maintained('plain');

-- Another owner of the table alone: writers get no error, readers do, and the owner of the groups can end it.
RESET ROLE;
ALTER TABLE plain OWNER TO regress_stepadv_heir;
\set VERBOSITY terse
SET ROLE regress_stepadv_heir;
SET search_path = "More; --";
INSERT INTO plain VALUES (102, 0, 102, 1, 1, 's');
SELECT g FROM plain_folded;
SELECT stepadv.unmaintain('plain');
SELECT stepadv.refresh('plain');
SET ROLE regress_stepadv_maker;
SELECT stepadv.unmaintain('plain');
SET ROLE regress_stepadv_heir;
INSERT INTO plain VALUES (103, 0, 103, 1, 1, 's');
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'plain'::regclass;
RESET ROLE;
ALTER TABLE plain OWNER TO regress_stepadv_maker;
-- Everything of the owner, together.
SET ROLE regress_stepadv_maker;
SELECT stepadv.maintain('plain');
RESET ROLE;
REASSIGN OWNED BY regress_stepadv_maker TO regress_stepadv_heir;
SET ROLE regress_stepadv_heir;
INSERT INTO plain VALUES (104, 0, 104, 1, 1, 's');
SELECT * FROM stepadv.check_maintained('plain');
SELECT stepadv.detach('plain') > 5 AS dropped;
RESET ROLE;
DROP OWNED BY regress_stepadv_maker, regress_stepadv_heir, regress_stepadv_guest CASCADE;
DROP SCHEMA IF EXISTS "More; --" CASCADE;
DROP ROLE regress_stepadv_maker, regress_stepadv_heir, regress_stepadv_guest;

-- Another user's trigger that names an attachment folds nothing of it, and runs nothing as its owner; internal functions check the caller.
CREATE ROLE regress_more_owner;
CREATE ROLE regress_more_stranger;
CREATE SCHEMA more_owner AUTHORIZATION regress_more_owner;
CREATE SCHEMA more_stranger AUTHORIZATION regress_more_stranger;
GRANT USAGE ON SCHEMA more_owner TO regress_more_stranger;
SET ROLE regress_more_owner;
CREATE TABLE more_owner.s (id integer PRIMARY KEY, g integer NOT NULL, r integer, n integer, score float8);
INSERT INTO more_owner.s SELECT i, i / 10, i / 5, i % 5, i % 2 FROM generate_series(0, 99) i;
CREATE INDEX ON more_owner.s (g);
SELECT count(*) > 5 AS attached FROM stepadv.attach('more_owner.s', '{g}', 'r', 'n', reward => 'score', views => '{all}');
SELECT stepadv.maintain('more_owner.s');
SET ROLE regress_more_stranger;
CREATE TABLE more_stranger.t (id integer, g integer, r integer, n integer, score float8);
CREATE FUNCTION more_stranger.seen() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'as %', current_user; RETURN NEW; END $$;
CREATE TRIGGER a BEFORE INSERT ON more_stranger.t FOR EACH ROW EXECUTE FUNCTION more_stranger.seen();
CREATE TRIGGER b AFTER INSERT ON more_stranger.t REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
	WHEN ('more_owner.s_attachment'::regclass IS NOT NULL) EXECUTE FUNCTION stepadv_internal.keep_groups();
INSERT INTO more_stranger.t VALUES (1, 1, 1, 1, 1), (2, 77, 1, 1, 1);
\set VERBOSITY sqlstate
SELECT stepadv_internal.fold_groups('more_owner.s_attachment', true);
SELECT stepadv_internal.drop_triggers('more_owner.s_attachment', '{}');
SELECT stepadv_internal.drop_kept('more_owner.s_attachment', false, false);
SELECT stepadv_internal.make_views('more_owner.s_attachment', true);
SELECT * FROM stepadv.add_views('more_owner.s', '{all}');
SELECT stepadv.refresh('more_owner.s', full => true);
SELECT stepadv.unmaintain('more_owner.s');
\set VERBOSITY default
SELECT stepadv.detach('more_owner.s') AS nothing;
RESET ROLE;
SELECT count(*) AS groups, count(*) FILTER (WHERE g = 77) AS of_the_stranger FROM more_owner.s_folded;
SELECT * FROM stepadv.check_maintained('more_owner.s');
DROP SCHEMA more_owner, more_stranger CASCADE;
DROP ROLE regress_more_owner, regress_more_stranger;

-- A rollout comes before its steps: until they exist, its group's part of views over time is computed when it is read; then it is kept again, or by a refresh.
SELECT count(*) > 15 AS attached FROM stepadv.create_tables('more_rl', group_by => '{group_id}', views => '{all}');
SET search_path = more_rl;
INSERT INTO rollouts (group_id, rollout_id, outcome, policy_version, started_at)
SELECT 'g' || g, r, 0, 'v1', '2026-01-01' FROM generate_series(1, 3) g, unnest('{a,b}'::text[]) r;
INSERT INTO steps (group_id, rollout_id, step_no, state, action_hash) SELECT 'g' || g, r, n, n, g FROM generate_series(1, 3) g, unnest('{a,b}'::text[]) r, generate_series(1, 4) n;
SELECT stepadv.maintain('rollout_rows');
CREATE VIEW kept_over_time AS SELECT group_id, (stepadv.digest_counts(digest)).n_rollouts, (stepadv.digest_counts(digest)).n_steps FROM steps_digests;
CREATE VIEW shown AS SELECT sum(n_rollouts) AS n_rollouts, (SELECT count(*) FROM rollouts) AS there_are, sum(n_steps) AS n_steps, (SELECT count(*) FROM steps) AS steps,
	(SELECT sum(n_groups) FROM steps_progress_over_time) AS n_groups, (SELECT sum(n_steps) FROM steps_progress_over_time) AS in_all, (SELECT count(*) FROM stepadv.check_maintained('rollout_rows')) AS wrong
FROM steps_groups_over_time;
INSERT INTO rollouts (group_id, rollout_id, outcome, policy_version, started_at) VALUES ('g1', 'c', 1, 'v1', '2026-01-01');
SELECT * FROM kept_over_time ORDER BY 1;
TABLE shown;
INSERT INTO steps (group_id, rollout_id, step_no, state, action_hash) SELECT 'g1', 'c', n, n, 2 FROM generate_series(1, 4) n;
SELECT * FROM kept_over_time ORDER BY 1;
TABLE shown;
-- Two groups in one statement, one of them new; a change other than added rows is kept.
INSERT INTO rollouts (group_id, rollout_id, outcome, policy_version, started_at) SELECT g, 'd', 1, 'v1', '2026-01-01' FROM unnest('{g1,g4}'::text[]) g;
SELECT * FROM kept_over_time ORDER BY 1;
TABLE shown;
UPDATE rollouts SET outcome = 0 WHERE group_id = 'g1' AND rollout_id = 'd';
SELECT * FROM kept_over_time ORDER BY 1;
-- Their sums are those of all groups, of the division that they were in before as well.
SELECT stepadv.refresh('rollout_rows');
SELECT * FROM kept_over_time ORDER BY 1;
TABLE shown;
INSERT INTO rollouts (group_id, rollout_id, outcome, policy_version, started_at) VALUES ('g2', 'c', 1, 'v2', '2026-01-01'), ('g5', 'a', 1, 'v1', '2026-01-01');
SELECT n_rollouts, n_groups, wrong FROM shown;
SELECT stepadv.refresh('rollout_rows');
SELECT * FROM kept_over_time ORDER BY 1, 2;
TABLE shown;
-- A new group in a division of which nothing else changed.
INSERT INTO rollouts (group_id, rollout_id, outcome, policy_version, started_at) VALUES ('g6', 'a', 1, 'v2', '2026-01-01');
SELECT stepadv.refresh('rollout_rows');
TABLE shown;
-- A transaction that is rolled back changes nothing.
BEGIN;
INSERT INTO rollouts (group_id, rollout_id, outcome, policy_version, started_at) VALUES ('g3', 'c', 1, 'v1', '2026-01-01');
SELECT count(*) FROM kept_over_time WHERE n_rollouts IS NULL;
ROLLBACK;
SELECT count(*) FROM kept_over_time WHERE n_rollouts IS NULL;
TABLE shown;
RESET search_path;
DROP SCHEMA more_rl CASCADE;

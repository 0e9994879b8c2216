-- Steps reference existing rollouts, and are deleted with them: by triggers that look up a rollout once per statement.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
SELECT count(*) > 5 AS attached FROM stepadv.create_tables('rk');
INSERT INTO rk.rollouts (task_id, rollout_id) SELECT 't', 'r' || i FROM generate_series(1, 6) i;
INSERT INTO rk.steps (task_id, rollout_id, step_no, metadata) SELECT 't', 'r' || i, s, '{}' FROM generate_series(1, 6) i, generate_series(1, 3) s;
CREATE FUNCTION pg_temp.left_over(OUT steps bigint, OUT orphans bigint) LANGUAGE sql AS $$
	SELECT count(*), count(*) FILTER (WHERE r.rollout_id IS NULL) FROM rk.steps s LEFT JOIN rk.rollouts r USING (task_id, run_id, policy_version, rollout_id)
$$;

-- Missing rollout: for each column of the key, for each row of the statement, inserted or renamed.
INSERT INTO rk.steps (task_id, rollout_id, step_no) VALUES ('t', 'r1', 4), ('t', 'r1', 5), ('t', 'nobody', 1), ('t', 'r1', 6);
INSERT INTO rk.steps (task_id, rollout_id, step_no, run_id) VALUES ('t', 'r1', 4, 'other');
INSERT INTO rk.steps (task_id, rollout_id, step_no, policy_version) VALUES ('t', 'r1', 4, 'v');
INSERT INTO rk.steps (task_id, rollout_id, step_no) VALUES ('tr', '1', 4);
UPDATE rk.steps SET rollout_id = 'nobody' WHERE rollout_id = 'r2' AND step_no = 2;
COPY rk.steps (task_id, rollout_id, step_no) FROM stdin;
t	r1	4
t	nobody	1
\.
-- The row as changed by a user's trigger counts, named in the UPDATE or not.
CREATE FUNCTION pg_temp.elsewhere() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.rollout_id := 'elsewhere'; RETURN NEW; END $$;
CREATE TRIGGER zz BEFORE INSERT OR UPDATE ON rk.steps FOR EACH ROW EXECUTE FUNCTION pg_temp.elsewhere();
INSERT INTO rk.steps (task_id, rollout_id, step_no) VALUES ('t', 'r1', 4);
UPDATE rk.steps SET tool = 'x' WHERE rollout_id = 'r1' AND step_no = 1;
DROP TRIGGER zz ON rk.steps;
SELECT * FROM pg_temp.left_over();

-- Both in one statement, and a step that is gone again before the statement ends.
WITH r AS (INSERT INTO rk.rollouts (task_id, rollout_id) VALUES ('t', 'new') RETURNING *)
INSERT INTO rk.steps (task_id, rollout_id, step_no) SELECT task_id, rollout_id, 1 FROM r;
CREATE FUNCTION pg_temp.take_back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM rk.steps s WHERE s.step_id = NEW.step_id; RETURN NULL; END $$;
CREATE TRIGGER "AA first" AFTER INSERT ON rk.steps FOR EACH ROW WHEN (NEW.rollout_id = 'nobody' AND NEW.step_no = 1) EXECUTE FUNCTION pg_temp.take_back();
INSERT INTO rk.steps (task_id, rollout_id, step_no) VALUES ('t', 'nobody', 1);
-- The next step of the rollout stays.
INSERT INTO rk.steps (task_id, rollout_id, step_no) VALUES ('t', 'nobody', 1), ('t', 'nobody', 2);
DROP TRIGGER "AA first" ON rk.steps;
SELECT * FROM pg_temp.left_over();
-- More rollouts than the cache has, with interleaved steps.
INSERT INTO rk.rollouts (task_id, rollout_id) SELECT 'many', i FROM generate_series(1, 3000) i;
BEGIN;
INSERT INTO rk.steps (task_id, rollout_id, step_no) SELECT 'many', i, s FROM generate_series(1, 2) s, generate_series(1, 3000) i;
-- Each is found by the whole key, also in a session that began with a few rows.
SELECT idx_tup_fetch BETWEEN 3000 AND 12000 AND seq_tup_read < 12000 AS by_key FROM pg_stat_xact_user_tables WHERE relid = 'rk.rollouts'::regclass;
COMMIT;
INSERT INTO rk.steps (task_id, rollout_id, step_no) SELECT 'many', i, s FROM generate_series(3, 4) s, generate_series(1, 3001) i;
DELETE FROM rk.rollouts WHERE task_id = 'many';
SELECT * FROM pg_temp.left_over();
-- The rollout is deleted while its steps are checked: all of them are deleted with it.
CREATE FUNCTION pg_temp.delete_rollout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM rk.rollouts r WHERE r.rollout_id = NEW.rollout_id; RETURN NULL; END $$;
CREATE TRIGGER zz AFTER INSERT ON rk.steps FOR EACH ROW WHEN (NEW.step_no = 11) EXECUTE FUNCTION pg_temp.delete_rollout();
INSERT INTO rk.steps (task_id, rollout_id, step_no) SELECT 't', 'new', s FROM generate_series(10, 13) s;
DROP TRIGGER zz ON rk.steps;
SELECT * FROM pg_temp.left_over();

-- Deleted and renamed with the rollout, by statements that do not mention steps; several at once, one to the old name of another.
DELETE FROM rk.rollouts WHERE rollout_id IN ('r5', 'r6');
UPDATE rk.rollouts SET rollout_id = 'q' || rollout_id WHERE rollout_id IN ('r1', 'r2');
UPDATE rk.rollouts SET task_id = 'u', run_id = 'run', policy_version = 'v' WHERE rollout_id = 'qr2';
UPDATE rk.rollouts SET rollout_id = 'r2', outcome = 1 WHERE rollout_id = 'r3';
UPDATE rk.rollouts SET outcome = 0;
SELECT run_id, policy_version, task_id, rollout_id, count(*) FROM rk.steps GROUP BY 1, 2, 3, 4 ORDER BY 4;
SELECT * FROM pg_temp.left_over();
INSERT INTO rk.rollouts (task_id, rollout_id) VALUES ('u', 'x') ON CONFLICT DO NOTHING;
INSERT INTO rk.steps (task_id, rollout_id, step_no) VALUES ('u', 'x', 1) ON CONFLICT (task_id, run_id, policy_version, rollout_id, step_no) DO UPDATE SET rollout_id = 'y';
INSERT INTO rk.steps (task_id, rollout_id, step_no) VALUES ('u', 'x', 1) ON CONFLICT (task_id, run_id, policy_version, rollout_id, step_no) DO UPDATE SET rollout_id = 'y';

-- TRUNCATE leaves no steps.
TRUNCATE rk.rollouts;
TRUNCATE rk.rollouts CASCADE;
BEGIN;
TRUNCATE rk.steps, rk.rollouts;
SELECT * FROM pg_temp.left_over();
ROLLBACK;

-- Writers need no privilege on the other table; errors show keys only to users who can read them.
CREATE ROLE rk_writer;
GRANT USAGE ON SCHEMA rk TO rk_writer;
GRANT INSERT ON rk.steps TO rk_writer;
GRANT DELETE, SELECT ON rk.rollouts TO rk_writer;
GRANT USAGE ON SEQUENCE rk.steps_step_id_seq TO rk_writer;
ALTER TABLE rk.rollouts ENABLE ROW LEVEL SECURITY;
CREATE POLICY none ON rk.rollouts TO rk_writer USING (rollout_id = 'r4');
SET ROLE rk_writer;
INSERT INTO rk.steps (task_id, rollout_id, step_no) VALUES ('t', 'qr1', 9);
INSERT INTO rk.steps (task_id, rollout_id, step_no) VALUES ('t', 'secret', 9);
DELETE FROM rk.rollouts;
RESET ROLE;
SELECT * FROM pg_temp.left_over();
SELECT count(*) FROM rk.steps WHERE rollout_id = 'r4';
-- Users who may read all rows of the steps, and users who may read some.
GRANT SELECT ON rk.steps TO rk_writer;
CREATE POLICY written ON rk.steps TO rk_writer USING (true);
SET ROLE rk_writer;
INSERT INTO rk.steps (task_id, rollout_id, step_no) VALUES ('t', 'secret', 9);
RESET ROLE;
ALTER TABLE rk.steps ENABLE ROW LEVEL SECURITY;
SET ROLE rk_writer;
INSERT INTO rk.steps (task_id, rollout_id, step_no) VALUES ('t', 'secret', 9);
RESET ROLE;
ALTER TABLE rk.steps DISABLE ROW LEVEL SECURITY;
DROP POLICY written ON rk.steps;
ALTER TABLE rk.rollouts DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON ALL TABLES IN SCHEMA rk FROM rk_writer;

-- Tables, columns and schemas can be renamed: all are known by number, also in a session with prepared plans.
ALTER TABLE rk.rollouts RENAME COLUMN task_id TO task;
ALTER TABLE rk.steps RENAME COLUMN rollout_id TO "try";
ALTER TABLE rk.rollouts RENAME TO tries;
ALTER SCHEMA rk RENAME TO "r k";
INSERT INTO "r k".steps (task_id, "try", step_no) VALUES ('t', 'qr1', 10);
INSERT INTO "r k".steps (task_id, "try", step_no) VALUES ('t', 'qr2', 10);
UPDATE "r k".tries SET rollout_id = 'qr3' WHERE rollout_id = 'qr1';
SELECT "try", count(*) FROM "r k".steps WHERE task_id = 't' GROUP BY 1 ORDER BY 1;
DELETE FROM "r k".tries;
SELECT count(*) FROM "r k".steps;
ALTER SCHEMA "r k" RENAME TO rk;
ALTER TABLE rk.tries RENAME TO rollouts;
ALTER TABLE rk.steps RENAME COLUMN "try" TO rollout_id;
ALTER TABLE rk.rollouts RENAME COLUMN task TO task_id;

-- A violated assumption is an error, and nothing is changed.
INSERT INTO rk.rollouts (task_id, rollout_id) VALUES ('t', 'a');
INSERT INTO rk.steps (task_id, rollout_id, step_no) VALUES ('t', 'a', 1);
BEGIN;
ALTER TABLE rk.steps OWNER TO rk_writer;
DELETE FROM rk.rollouts;
ROLLBACK;
BEGIN;
ALTER TABLE rk.rollouts DROP CONSTRAINT rollouts_pkey;
INSERT INTO rk.steps (task_id, rollout_id, step_no) VALUES ('t', 'a', 2);
ROLLBACK;
BEGIN;
ALTER TABLE rk.steps DROP CONSTRAINT steps_pkey, ADD PRIMARY KEY (rollout_id, task_id, run_id, policy_version, step_no);
DELETE FROM rk.rollouts;
ROLLBACK;
BEGIN;
ALTER TABLE rk.steps DROP CONSTRAINT steps_pkey, ADD PRIMARY KEY (task_id, run_id, policy_version, rollout_id);
DELETE FROM rk.rollouts;
ROLLBACK;
BEGIN;
CREATE RULE stay AS ON DELETE TO rk.steps DO INSTEAD NOTHING;
DELETE FROM rk.rollouts;
ROLLBACK;
-- The detail ends with a period from 19 on.
\set VERBOSITY terse \\ ALTER TABLE rk.steps ALTER rollout_id TYPE varchar; \set VERBOSITY default
SELECT stepadv_internal.check_rollout();
SELECT i, stepadv_internal.is_new_rollout(i, 'b'::text, CASE WHEN i <> 'n' THEN 'c' END) FROM unnest('{a,ab,a,n,n,ab}'::text[]) i;
SELECT stepadv_internal.is_new_rollout('a'::text, 1);
SELECT stepadv_internal.cascade_to_steps();
CREATE TABLE own (t text, n integer, PRIMARY KEY (t, n));
CREATE TRIGGER t BEFORE INSERT ON own FOR EACH ROW EXECUTE FUNCTION stepadv_internal.check_rollout();
INSERT INTO own VALUES ('t', 1);
DROP TRIGGER t ON own;
CREATE TRIGGER t AFTER INSERT ON own FOR EACH ROW EXECUTE FUNCTION stepadv_internal.check_rollout();
INSERT INTO own VALUES ('t', 1);
DROP TRIGGER t ON own;
CREATE TRIGGER t AFTER TRUNCATE ON own EXECUTE FUNCTION stepadv_internal.cascade_to_steps();
TRUNCATE own;
DROP TRIGGER t ON own;
CREATE TABLE other (t text, n integer PRIMARY KEY);
CREATE CONSTRAINT TRIGGER t AFTER INSERT ON own FROM other FOR EACH ROW EXECUTE FUNCTION stepadv_internal.check_rollout();
INSERT INTO own VALUES ('t', 1);
DROP TRIGGER t ON own;
-- Another user's trigger reaches no table of others.
CREATE SCHEMA rk_own AUTHORIZATION rk_writer;
GRANT TRIGGER ON rk.rollouts, rk.steps TO rk_writer;
SET ROLE rk_writer;
CREATE TABLE rk_own.mine (a text, b text, c text, d text, e integer, PRIMARY KEY (a, b, c, d, e));
CREATE CONSTRAINT TRIGGER t AFTER INSERT ON rk_own.mine FROM rk.rollouts FOR EACH ROW EXECUTE FUNCTION stepadv_internal.check_rollout();
INSERT INTO rk_own.mine VALUES ('t', '', '', 'a', 1);
DROP TRIGGER t ON rk_own.mine;
CREATE CONSTRAINT TRIGGER t AFTER DELETE ON rk_own.mine FROM rk.steps FOR EACH ROW EXECUTE FUNCTION stepadv_internal.cascade_to_steps();
INSERT INTO rk_own.mine VALUES ('t', '', '', 'a', 1);
DELETE FROM rk_own.mine;
RESET ROLE;
SELECT * FROM pg_temp.left_over();
-- Dropping either table drops the triggers.
DROP TABLE rk.rollouts CASCADE;
INSERT INTO rk.steps (task_id, rollout_id, step_no) VALUES ('t', 'free', 1);
SELECT tgname FROM pg_trigger WHERE tgrelid = 'rk.steps'::regclass ORDER BY 1;
DROP TABLE own, other;
DROP SCHEMA rk, rk_own CASCADE;
DROP ROLE rk_writer;

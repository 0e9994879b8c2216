-- Groups for trainers: which are ready, claims, leases, consumed groups, marks of steps.
SET client_min_messages = error;
\set SHOW_CONTEXT never
SET jit = off;
SET datestyle = 'ISO';
CREATE SCHEMA pool;
SET search_path = pool, stepadv, public;

-- Two versions: tasks 1 to 3 are mixed, 4 always succeeds, 5 is not judged yet, 6 has one rollout.
SELECT count(*) > 0 AS made FROM create_tables('rl', views => '{values,rtmc,groups}');
INSERT INTO rl.rollouts (policy_version, policy_step, task_id, rollout_id, outcome)
SELECT 'v' || v, v, 'task ' || t, r, CASE WHEN t = 5 AND r = 2 THEN NULL WHEN t = 4 THEN 1 WHEN t = 3 THEN (r = 1)::int ELSE r % 2 END
FROM generate_series(1, 2) v, generate_series(1, 6) t, generate_series(1, 4) r WHERE t < 6 OR r = 1;
INSERT INTO rl.steps (policy_version, task_id, rollout_id, step_no, observation, action)
SELECT policy_version, task_id, rollout_id, n, 'o' || n, 'a' || (n + rollout_id::int) % 2 FROM rl.rollouts, generate_series(0, 2) n;

SELECT create_pool('rl.steps', max_staleness => 0);
SELECT policy_version, task_id, n_rollouts, n_judged, n_steps, mean_return, success_rate, staleness, status, claim, claimed_by FROM rl.steps_ready ORDER BY 1, 2;
SELECT attrelid::regclass, attname AS without_comment FROM pg_attribute WHERE attrelid IN ('rl.steps_ready'::regclass, 'rl.steps_pool'::regclass) AND attnum > 0 AND col_description(attrelid, attnum) IS NULL;
-- Nothing depends on search_path or names: an empty search_path, another name, another schema
BEGIN;
ALTER TABLE rl.steps_pool RENAME TO "Pool ""of"" groups";
ALTER VIEW rl.steps_ready RENAME TO ready;
SET LOCAL search_path = pg_catalog;
SELECT task_id, claimed_by FROM stepadv.claim_groups(NULL::rl.ready, 1, order_by => 'task_id desc', holder => 'one');
SELECT stepadv.consume_groups('rl.ready', (SELECT claim FROM rl.ready WHERE claim IS NOT NULL), 3);
ROLLBACK;

-- Claims: each group goes to one caller; the first in order comes first
SELECT policy_version, task_id, status, claimed_by, claimed_until > now() + interval '9 minutes' AS for_long FROM claim_groups(NULL::rl.steps_ready, 2, order_by => 'success_rate desc', holder => 'one');
SELECT claim AS one FROM rl.steps_ready WHERE claimed_by = 'one' LIMIT 1 \gset
SELECT task_id, claimed_by FROM claim_groups(NULL::rl.steps_ready, 16, holder => 'two');
SELECT claim AS two FROM rl.steps_ready WHERE claimed_by = 'two' LIMIT 1 \gset
SELECT count(*) AS none FROM claim_groups(NULL::rl.steps_ready, 16);
SELECT task_id, status, claimed_by FROM rl.steps_ready WHERE policy_version = 'v2' ORDER BY 1;

-- Released, and claimed again
UPDATE rl.steps_pool SET claimed_until = NULL WHERE claim = :'two';
SELECT task_id, status, claimed_until IS NULL AS free FROM rl.steps_ready WHERE task_id = 'task 3' AND policy_version = 'v2';
SELECT task_id FROM claim_groups(NULL::rl.steps_ready, 16, order_by => 'random', lease => '1 hour', holder => 'two');
SELECT claim AS two FROM rl.steps_ready WHERE claimed_by = 'two' LIMIT 1 \gset

-- Consumed
SELECT consume_groups('rl.steps_ready', :'one', policy_step => 7);
SELECT task_id, status, consumed_step, consumed_at IS NOT NULL AS at, claimed_until IS NOT NULL AS held FROM rl.steps_ready WHERE policy_version = 'v2' AND task_id <= 'task 3' ORDER BY 1;
-- Consumed groups are not claimed again, and have no claim
SELECT count(*) AS none FROM claim_groups(NULL::rl.steps_ready, 16);

-- An expired lease: first no other caller has the group, then one has
UPDATE rl.steps_pool SET claimed_until = clock_timestamp() WHERE claim = :'two';
SELECT task_id, status, claimed_by FROM rl.steps_ready WHERE policy_version = 'v2' AND task_id = 'task 3';
SELECT task_id, claimed_by FROM claim_groups(NULL::rl.steps_ready, 16, holder => 'three');
SELECT claim AS three FROM rl.steps_ready WHERE claimed_by = 'three' LIMIT 1 \gset
CREATE FUNCTION said(sql text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	code text; message text; hint text;
BEGIN
	EXECUTE sql;
	RETURN 'nothing';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	RETURN regexp_replace(format('%s: %s (%s)', code, message, hint), '[0-9a-f]{8}-[0-9a-f-]{27}|at 20[-0-9:. +]*', '…', 'g');
END $$;
SELECT consume_groups('rl.steps_ready', :'two', 8) AS lost;
SELECT consume_groups('rl.steps_ready', :'three', 9);
SELECT task_id, status, consumed_step FROM rl.steps_ready WHERE policy_version = 'v2' AND task_id = 'task 3';
SELECT consume_groups('rl.steps_ready', :'three', 8) AS no_more;

-- A group that becomes complete becomes ready
UPDATE rl.rollouts SET outcome = 0 WHERE task_id = 'task 5' AND rollout_id = '2';
SELECT policy_version, task_id, status FROM rl.steps_ready WHERE task_id = 'task 5' ORDER BY 1;
BEGIN;
SELECT task_id FROM claim_groups(NULL::rl.steps_ready, 1);
ROLLBACK;
SELECT task_id, status FROM rl.steps_ready WHERE policy_version = 'v2' AND task_id = 'task 5';

-- A claim on two groups of which one is lost
UPDATE rl.steps_pool SET consumed_at = NULL WHERE policy_version = 'v2' AND task_id IN ('task 1', 'task 2');
SELECT task_id FROM claim_groups(NULL::rl.steps_ready, 2, holder => 'four', lease => '1 microsecond');
SELECT task_id FROM claim_groups(NULL::rl.steps_ready, 1, holder => 'five');
SELECT consume_groups('rl.steps_ready', claim) AS rest FROM rl.steps_pool WHERE claimed_by = 'four';

-- Released and consumed again; every complete group, however it ended; with the rules verl_agent and rtmc
DROP TABLE rl.steps_pool CASCADE;
SELECT create_pool('rl.steps_rtmc', min_rollouts => 1, informative => NULL);
SELECT status, count(*) FROM rl.steps_ready GROUP BY 1 ORDER BY 1;
SELECT count(*) AS twelve FROM claim_groups(NULL::rl.steps_ready, 100);
SELECT consume_groups('rl.steps_ready', (SELECT claim FROM rl.steps_ready LIMIT 1));
SELECT status, count(*) FROM rl.steps_ready GROUP BY 1;
UPDATE rl.steps_pool SET consumed_at = NULL;
SELECT count(*) AS twelve, bool_and(claimed_until = 'infinity') AS for_ever FROM claim_groups(NULL::rl.steps_ready, NULL, lease => NULL);
SELECT consume_groups('rl.steps_ready', (SELECT claim FROM rl.steps_ready LIMIT 1), 10);
SELECT status, count(*) FROM rl.steps_ready GROUP BY 1;
DROP TABLE rl.steps_pool CASCADE;
SELECT create_pool('rl.rollout_rows', min_rollouts => 1, informative => 'verl_agent');
SELECT task_id, status FROM rl.steps_ready WHERE policy_version = 'v1' ORDER BY 1;
DROP TABLE rl.steps_pool CASCADE;
SELECT create_pool('rl.rollout_rows', min_rollouts => 1, informative => 'rtmc');
SELECT task_id, status FROM rl.steps_ready WHERE policy_version = 'v1' ORDER BY 1;
DROP TABLE rl.steps_pool CASCADE;

-- Another table: ids that are not numbers, a group of two columns, no rewards, maintained
CREATE TABLE s (id uuid PRIMARY KEY, "the Run" date, task varchar(20), r text, no int, ok boolean);
INSERT INTO s SELECT md5(format('%s %s %s', t, r, n))::uuid, '2026-01-01', 't' || t, 'r' || r, n, r = 2 FROM generate_series(1, 3) t, generate_series(1, 3) r, generate_series(1, 2) n;
SELECT count(*) > 3 AS attached FROM attach('s', '{"the Run",task}', 'r', 'no', columns => '{"success": "ok"}', views => '{all}');
SELECT maintain('s');
SELECT create_pool('s', min_rollouts => 3, informative => 'rtmc');
SELECT "the Run", task, n_rollouts, mean_return, success_rate, status FROM s_ready ORDER BY 2;
SELECT "the Run", task FROM claim_groups(NULL::s_ready, 2);
SELECT consume_groups('s_ready', (SELECT claim FROM s_pool WHERE claim IS NOT NULL LIMIT 1), 1);
-- It follows the views as they change
SELECT unmaintain('s');
INSERT INTO s VALUES ('00000000-0000-0000-0000-000000000000', '2026-01-01', 't3', 'r4', 1, NULL);
SELECT task, n_rollouts, status FROM s_ready ORDER BY 1;

-- Errors
SELECT said('SELECT stepadv.create_pool(NULL)');
SELECT said('SELECT stepadv.create_pool(''s'')');
SELECT said('SELECT stepadv.create_pool(''pg_class'')');
SELECT said('SELECT stepadv.create_pool(''rl.rollout_rows'', min_rollouts => 0)');
SELECT said('SELECT stepadv.create_pool(''rl.rollout_rows'', min_rollouts => NULL)');
SELECT said('SELECT stepadv.create_pool(''rl.rollout_rows'', max_staleness => -1)');
SELECT said('SELECT stepadv.create_pool(''rl.rollout_rows'', informative => ''equal'')');
SELECT said('SELECT stepadv.claim_groups(NULL::pool.s_ready, 1, lease => ''-1 hour'')');
SELECT said('SELECT stepadv.claim_groups(NULL::pool.s_ready, 1, order_by => ''n_rollout desc'')');
SELECT said('SELECT stepadv.claim_groups(NULL::pool.s_ready, 1, order_by => ''n_rollouts; DROP TABLE s'')');
SELECT said('SELECT stepadv.claim_groups(NULL::pool.s_ready, 1, order_by => '''')');
SELECT said('SELECT stepadv.claim_groups(NULL::pool.s, 1)');
SELECT said('SELECT stepadv.claim_groups(NULL::integer, 1)');
SELECT said('SELECT stepadv.consume_groups(''s_pool'', gen_random_uuid())');
CREATE VIEW theirs AS TABLE s_pool;
CREATE ROLE regress_pool_stranger;
ALTER VIEW theirs OWNER TO regress_pool_stranger;
SELECT said('SELECT stepadv.claim_groups(NULL::pool.theirs, 1)');
DROP VIEW theirs;
DROP ROLE regress_pool_stranger;
SELECT consume_groups('s_ready', NULL) AS of_none, consume_groups('s_ready', gen_random_uuid()) AS of_an_unknown;
CREATE TABLE odd (claim text, r int, no int, reward int);
SELECT count(*) > 0 AS attached FROM attach('odd', '{claim}', 'r', 'no', reward => 'reward', views => '{values}');
SELECT said('SELECT stepadv.create_pool(''odd'')');
SELECT count(*) AS added FROM add_views('odd', '{groups}');
SELECT said('SELECT stepadv.create_pool(''odd'')');
SELECT said('SELECT stepadv.create_pool(''s'', max_staleness => 1, prefix => ''other'')');
SELECT said('SELECT stepadv.detach(''s'')');

SET client_min_messages = error;
DROP SCHEMA rl CASCADE;
DROP SCHEMA pool CASCADE;

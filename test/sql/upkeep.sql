-- maintain: kept groups equal a fresh fold, and views show the same. Concurrent sessions: isolation tests and test/t/upkeep.pl.
SET client_min_messages = warning;
SET jit = off;
\set SHOW_CONTEXT never

-- All rows of all views of a prefix, as texts; the last digits count.
CREATE FUNCTION pg_temp.rows_of(schema text, prefix text) RETURNS TABLE (view text, n bigint, digest text, sums float8[]) LANGUAGE plpgsql AS $$
BEGIN
	FOR view IN
		SELECT c.relname FROM stepadv_internal.attachments(NULL::oid) a JOIN pg_class c ON c.oid = ANY (a.views)
		WHERE c.relnamespace = quote_ident(rows_of.schema)::regnamespace AND a.prefix = rows_of.prefix ORDER BY 1
	LOOP
		-- Sums over groups have no order, and kept ones are sums of sums: these are compared as numbers, to 1e-14; rounded, two that
		-- hardly differ can be written in two ways.
		PERFORM set_config('extra_float_digits', '1', true);
		sums := NULL;
		IF view ~ '(ess|age)_over_time$' THEN
			EXECUTE format('SELECT array_agg(e.value::text::float8 ORDER BY r.j ->> ''policy_version'', r.j ->> ''bucket'', r.j ->> ''method'', e.key)
				FROM (SELECT to_jsonb(v) - ''mean_advantage'' - ''sd_advantage'' AS j FROM %I.%I v) r, jsonb_each(r.j) e WHERE jsonb_typeof(e.value) = ''number''', rows_of.schema, view) INTO sums;
		END IF;
		PERFORM set_config('extra_float_digits', CASE WHEN view ~ '(ess|age)_over_time$' THEN '-6' ELSE '1' END, true);
		-- What cancels out is rounding error.
		EXECUTE format('SELECT count(*), md5(string_agg(t, '','' ORDER BY t)) FROM (SELECT %s AS t FROM %I.%I v) v', CASE WHEN view LIKE '%age\_over\_time'
			THEN 'jsonb_strip_nulls(to_jsonb(v) - ''mean_advantage'' - ''sd_advantage'')::text' ELSE 'v::text' END, rows_of.schema, view) INTO n, digest;
		RETURN NEXT;
	END LOOP;
END $$;
-- Their definitions.
CREATE FUNCTION pg_temp.views_of(schema text, prefix text) RETURNS TABLE (view text, definition text, comment text, options text) LANGUAGE sql AS $$
	SELECT c.relname, pg_get_viewdef(c.oid), obj_description(c.oid), c.reloptions::text FROM pg_class c
	WHERE c.relnamespace = quote_ident(schema)::regnamespace AND c.relkind = 'v' AND c.relname LIKE replace(prefix, '_', '\_') || '\_%'
$$;

-- 12 groups of 4 rollouts of 1 to 6 steps; names that need quotes, three keys of unusual types, one named as the views' own column is, and one that may be NULL.
CREATE SCHEMA "up's; ""kept""";
SET search_path = "up's; ""kept""";
CREATE TYPE phase AS ENUM ('late', 'early');
CREATE DOMAIN day AS date CHECK (VALUE > '2000-01-01');
CREATE TABLE "my ""steps""; --" (
	id bigint PRIMARY KEY, rollouts numeric NOT NULL, refreshed_at day, "phase %s @" phase NOT NULL,
	changed text NOT NULL, n smallint, st text, act jsonb, next_st text, score numeric, turn real, v double precision, price double precision,
	won boolean, tool text, args jsonb, ok boolean, new_lp real[], old_lp real[], note text, "k1" text);
INSERT INTO "my ""steps""; --"
SELECT row_number() OVER (), g % 3 + 0.50, '2026-01-01'::date + g / 6, (ARRAY['late', 'early'])[g % 2 + 1]::phase,
	'rollout ' || r, n, 'state ' || (n * 5 + r) % 4, jsonb_build_object('do', (n * 3 + r * 7 + g) % 3), 'state ' || (n * 5 + r + 5) % 4,
	CASE WHEN n = len THEN (g + r) % 3 / 2.0 ELSE ((n + r) % 5) / 8.0 END, (n + r) % 2, n / 4.0, 1 + n % 3,
	CASE WHEN n = len THEN (g + r) % 3 = 2 END, 'bash', jsonb_build_object('command', (ARRAY['ls', 'cat a.py', 'pytest', 'grep x b.py'])[(n + r) % 4 + 1]), true,
	ARRAY[-n, -0.5]::real[], ARRAY[-0.5 * n, -1]::real[], NULL, CASE WHEN r > 1 THEN 'v' || r % 2 END
FROM generate_series(0, 11) g, generate_series(1, 4) r, LATERAL (SELECT (r * g) % 6 AS len) l, generate_series(0, len) n;
CREATE INDEX ON "my ""steps""; --" (rollouts, refreshed_at, "phase %s @");

-- All ways to make states, with every column that any view reads: views show the same to the last digit, and get their old definitions back afterwards.
CREATE FUNCTION pg_temp.attach_all(states text) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM stepadv.attach('"my ""steps""; --"', '{rollouts,refreshed_at,"phase %s @"}', 'changed', 'n', state => CASE WHEN states IS NULL THEN 'st' END, action => CASE WHEN states = 'signature' THEN NULL ELSE 'act' END, reward => 'score', columns => '{"success": "won", "next_state": "next_st", "value": "v", "turn_reward": "turn", "cost": "price", "tool": "tool", "args": "args", "ok": "ok", "logp_new": "new_lp", "logp_old": "old_lp", "policy_version": "k1", "started_at": "refreshed_at", "category": "tool"}', views => '{all}', prefix => 'p', options => '{"show_columns": ["st", "note"], "rtmc": {"gamma": 0.9}, "success_above": 0.5, "progress_over_time": {"bucket": "1 week"}}'::jsonb || jsonb_build_object('states', states))
$$;
CREATE FUNCTION pg_temp.same(states text, how text, OUT views bigint, OUT same_rows boolean, OUT same_definitions boolean) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_temp.attach_all(states);
	CREATE TEMP TABLE rows_before AS SELECT * FROM pg_temp.rows_of('up''s; "kept"', 'p');
	CREATE TEMP TABLE views_before AS SELECT * FROM pg_temp.views_of('up''s; "kept"', 'p');
	PERFORM stepadv.maintain('"my ""steps""; --"', mode => same.how);
	IF EXISTS (SELECT FROM pg_temp.views_of('up''s; "kept"', 'p') v WHERE v.view NOT IN ('p_rows', 'p_rows_with_states', 'p_shown_steps', 'p_begun_runs', 'p_fresh', 'p_fresh_digests', 'p_problems', 'p_ratios', 'p_advantages') AND v.definition NOT LIKE '%p_folded%' AND v.definition NOT LIKE '%p_digests%') THEN
		RAISE EXCEPTION 'a view does not read the companion';
	END IF;
	SELECT count(*), bool_and(b.n = a.n AND (a.n > 0 OR view = 'p_problems') AND b.digest IS NOT DISTINCT FROM a.digest
		AND NOT EXISTS (SELECT FROM unnest(b.sums, a.sums) u(x, y) WHERE (abs(u.x - u.y) <= 1e-14 * abs(u.x)) IS NOT TRUE)) INTO views, same_rows
	FROM rows_before b FULL JOIN pg_temp.rows_of('up''s; "kept"', 'p') a USING (view);
	PERFORM stepadv.unmaintain('"my ""steps""; --"');
	SELECT bool_and(b IS NOT DISTINCT FROM a) INTO same_definitions FROM views_before b FULL JOIN pg_temp.views_of('up''s; "kept"', 'p') a USING (view);
	PERFORM stepadv.detach('"my ""steps""; --"');
	DROP TABLE rows_before, views_before;
END $$;
SELECT s.states, s.how, r.views > 20 AS views, r.same_rows, r.same_definitions FROM (VALUES (NULL, 'triggers'), ('history', 'refresh'), ('history_set', 'triggers'), ('root', 'refresh'), ('signature', 'triggers')) s(states, how),
	LATERAL pg_temp.same(s.states, s.how) r;

-- Statements of every kind, each against a fresh fold.
SELECT pg_temp.attach_all('signature') > 20 AS attached;
SELECT stepadv.maintain('"my ""steps""; --"');
SELECT attname, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'p_folded'::regclass AND attnum > 0 ORDER BY attnum;
SELECT count(*) AS groups FROM p_folded;
CREATE TEMP VIEW wrong AS SELECT * FROM stepadv.check_maintained('"my ""steps""; --"');
TABLE wrong;
INSERT INTO "my ""steps""; --" (id, rollouts, refreshed_at, "phase %s @", changed, n, st, act, score) VALUES
	(1001, 0.5, '2026-01-01', 'late', 'r', 1, 's', '1', 1), (1002, 7, '2026-01-01', 'late', 'r', 1, 's', '1', 1), (1003, 7, NULL, 'late', 'r', 1, 's', '1', 1);
TABLE wrong;
SELECT count(*) AS groups, count(*) FILTER (WHERE base_rollouts = 7) AS of_them_new FROM p_folded;
-- From no group into one, from one to another, out of all.
UPDATE "my ""steps""; --" SET refreshed_at = '2026-01-02' WHERE id = 1003;
TABLE wrong;
UPDATE "my ""steps""; --" SET "phase %s @" = CASE "phase %s @" WHEN 'late' THEN 'early' ELSE 'late' END::phase, refreshed_at = refreshed_at + 10 WHERE changed = 'rollout 2';
TABLE wrong;
UPDATE "my ""steps""; --" SET refreshed_at = NULL WHERE rollouts = 7;
TABLE wrong;
SELECT count(*) FILTER (WHERE base_rollouts = 7) AS gone FROM p_folded;
-- 1.50 and 1.5 are one group.
INSERT INTO "my ""steps""; --" (id, rollouts, refreshed_at, "phase %s @", changed, n, score) VALUES (1010, 1.5, '2026-01-01', 'late', 'other', 1, 1);
TABLE wrong;
WITH moved AS (DELETE FROM "my ""steps""; --" WHERE changed = 'rollout 3' RETURNING *)
INSERT INTO "my ""steps""; --" SELECT id + 5000, rollouts, refreshed_at, "phase %s @", 'moved', n, st, act, next_st, score, turn, v, price, won, tool, args, ok, new_lp, old_lp, note FROM moved;
TABLE wrong;
INSERT INTO "my ""steps""; --" (id, rollouts, refreshed_at, "phase %s @", changed, n, score) VALUES (1001, 0.5, '2026-01-01', 'early', 'r', 1, 1)
ON CONFLICT (id) DO UPDATE SET "phase %s @" = 'early', score = 2;
TABLE wrong;
COPY "my ""steps""; --" (id, rollouts, refreshed_at, "phase %s @", changed, n, score) FROM stdin;
2001	0.5	2026-03-01	late	c	1	1
2002	2.5	2026-03-01	late	c	1	0
\.
TABLE wrong;
BEGIN;
DELETE FROM "my ""steps""; --" WHERE n > 1;
SAVEPOINT s;
TRUNCATE "my ""steps""; --";
SELECT count(*) AS groups FROM p_folded;
ROLLBACK TO s;
TABLE wrong;
ROLLBACK;
TABLE wrong;
SELECT count(*) > 5 AS groups FROM p_folded;
-- A column that no group reads: nothing is folded.  One that every group reads, set to its old value: the same.
CREATE TEMP TABLE folded_at AS SELECT * FROM p_folded;
UPDATE "my ""steps""; --" SET note = 'seen';
UPDATE "my ""steps""; --" SET score = score, args = args;
SELECT count(*) AS folded_again FROM p_folded JOIN folded_at b USING (base_rollouts, refreshed_at, "phase %s @") WHERE p_folded._refreshed_at <> b._refreshed_at;
UPDATE "my ""steps""; --" SET args = '{"command": "ls"}' WHERE id = 1;
SELECT count(*) AS folded_again FROM p_folded JOIN folded_at b USING (base_rollouts, refreshed_at, "phase %s @") WHERE p_folded._refreshed_at <> b._refreshed_at;
TABLE wrong;
-- check_maintained finds errors: here a value, a missing row, an extra one, a table that is not watched.
BEGIN;
UPDATE p_folded SET rollouts = (SELECT b.rollouts FROM p_folded b WHERE b.base_rollouts = 1.5 LIMIT 1) WHERE base_rollouts = 0.5 AND "phase %s @" = 'late' AND refreshed_at = '2026-01-01';
DELETE FROM p_folded WHERE base_rollouts = 2.5 AND refreshed_at = '2026-03-01';
INSERT INTO p_folded SELECT 99, refreshed_at, "phase %s @", rollouts, now() FROM p_folded WHERE base_rollouts = 0.5 AND refreshed_at = '2026-03-01';
ALTER TABLE "my ""steps""; --" DISABLE TRIGGER p_maintain_insert;
SELECT group_key, problem FROM wrong ORDER BY problem, group_key::text;
SELECT stepadv.refresh('"my ""steps""; --"', full => true) = (SELECT count(*) FROM p_folded) AS all_folded;
SELECT group_key, problem FROM wrong;
ROLLBACK;
-- If rollout_agg refuses the rows, the statement fails.
INSERT INTO "my ""steps""; --" (id, rollouts, refreshed_at, "phase %s @", changed, n, score) VALUES (3001, 0.5, '2026-01-01', 'late', 'nan', 1, 'NaN');
INSERT INTO "my ""steps""; --" SELECT 3001, rollouts, refreshed_at, "phase %s @", changed, n FROM "my ""steps""; --" WHERE id = 1;
TABLE wrong;
-- detach drops all of it, and writes continue.
SELECT stepadv.detach('"my ""steps""; --"') > 20 AS dropped;
SELECT c.relname FROM pg_class c WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relname LIKE 'p\_%';
SELECT p.proname FROM pg_proc p WHERE p.pronamespace = quote_ident(current_schema())::regnamespace;
INSERT INTO "my ""steps""; --" (id, rollouts, refreshed_at, "phase %s @", changed, n, score) VALUES (3001, 0.5, '2026-01-01', 'late', 'late', 1, 1);
DROP VIEW wrong;

-- Columns added after attach: the views keep theirs, in their places.
CREATE TABLE grows (id integer PRIMARY KEY, g integer NOT NULL, r integer, n integer, score float8);
CREATE INDEX ON grows (g);
CREATE TABLE grow_models (g integer, r integer, model text, PRIMARY KEY (g, r));
INSERT INTO grows SELECT i, i / 20, i / 5, i % 5, i % 7 FROM generate_series(0, 99) i;
INSERT INTO grow_models SELECT DISTINCT g, r, 'm' || r % 2 FROM grows;
SELECT count(*) > 5 AS attached FROM stepadv.attach('grows', '{g}', 'r', 'n', reward => 'score', views => '{all}', options => '{"show_rollouts": "grow_models"}');
CREATE VIEW depends AS SELECT g, model, sum(advantage) AS a FROM grows_grpo GROUP BY 1, 2;
CREATE TEMP TABLE grpo_before AS SELECT * FROM grows_grpo;
ALTER TABLE grows ADD COLUMN advantage text DEFAULT 'mine', ADD COLUMN hint text DEFAULT 'new';
SELECT stepadv.maintain('grows');
SELECT count(*) AS steps, count(*) FILTER (WHERE b IS DISTINCT FROM a) AS differ FROM grpo_before b FULL JOIN grows_grpo a USING (step_id);
SELECT count(*) > 5 AS dependents_live FROM depends;
SELECT stepadv.unmaintain('grows');
SELECT count(*) AS steps, count(*) FILTER (WHERE b IS DISTINCT FROM a) AS differ FROM grpo_before b FULL JOIN grows_grpo a USING (step_id);
-- A view that was dropped stays dropped.
DROP VIEW grows_rloo;
SELECT stepadv.maintain('grows');
SELECT to_regclass('grows_rloo') IS NULL AS away;
-- The table is protected, and with CASCADE leaves no trigger behind.
\set VERBOSITY terse
DROP TABLE grows_folded;
\set VERBOSITY default
BEGIN;
DROP TABLE grows_folded CASCADE;
INSERT INTO grows VALUES (1000, 1, 1000, 1, 1);
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'grows'::regclass;
ROLLBACK;
-- Two sets of views over one table, each kept in its own mode.
SELECT count(*) > 5 AS attached FROM stepadv.attach('grows', '{r}', 'r', 'n', reward => 'score', views => '{all}', prefix => 'by_r');
SELECT stepadv.maintain('grows', prefix => 'by_r', mode => 'refresh');
DELETE FROM grows WHERE id % 5 = 4;
SELECT count(*) AS wrong FROM stepadv.check_maintained('grows');
SELECT count(DISTINCT r) AS waiting FROM by_r_changed;
SELECT stepadv.refresh('grows', 'by_r') AS refreshed;
SELECT stepadv.refresh('grows') AS of_the_other;
SELECT stepadv.maintain('grows');
SELECT count(*) AS wrong FROM stepadv.check_maintained('grows');
SELECT stepadv.detach('grows', 'by_r') > 5 AS dropped;
SELECT stepadv.unmaintain('grows') AS ended;
SELECT stepadv.unmaintain('grows') AS nothing;
SELECT stepadv.refresh('grows');
SELECT stepadv.check_maintained('grows');
\set VERBOSITY terse
SELECT stepadv.detach('grows', 'grows') > 5 AS refused;
\set VERBOSITY default
DROP VIEW depends;
SELECT stepadv.detach('grows') > 5 AS dropped;

-- Partitions: written through the parent, directly, detached, attached.
CREATE TABLE parts (id integer, g text NOT NULL, r integer, n integer, score float8, PRIMARY KEY (g, id)) PARTITION BY LIST (g);
CREATE TABLE parts_a PARTITION OF parts FOR VALUES IN ('a', 'aa');
CREATE TABLE parts_b PARTITION OF parts FOR VALUES IN ('b') PARTITION BY RANGE (id);
CREATE TABLE parts_b1 PARTITION OF parts_b FOR VALUES FROM (1) TO (1000);
SELECT count(*) > 5 AS attached FROM stepadv.attach('parts', '{g}', 'r', 'n', reward => 'score', views => '{all}');
SELECT stepadv.maintain('parts');
INSERT INTO parts SELECT i, (ARRAY['a', 'aa', 'b'])[i % 3 + 1], i / 6, i % 6, 1 FROM generate_series(1, 60) i;
SELECT count(*) AS wrong FROM stepadv.check_maintained('parts');
INSERT INTO parts_a VALUES (100, 'a', 100, 1, 1);
UPDATE parts_b1 SET score = 2 WHERE id < 10;
DELETE FROM parts_b WHERE id > 50;
UPDATE parts SET g = 'b' WHERE g = 'aa' AND id < 20;
SELECT count(*) AS wrong FROM stepadv.check_maintained('parts');
TRUNCATE parts_a;
SELECT g FROM parts_folded;
SELECT count(*) AS wrong FROM stepadv.check_maintained('parts');
CREATE TABLE parts_c PARTITION OF parts FOR VALUES IN ('c');
INSERT INTO parts VALUES (200, 'c', 200, 1, 1);
SELECT * FROM stepadv.check_maintained('parts');
INSERT INTO parts_c VALUES (201, 'c', 201, 1, 1);
ALTER TABLE parts DETACH PARTITION parts_b;
SELECT * FROM stepadv.check_maintained('parts') ORDER BY problem;
SELECT stepadv.refresh('parts', full => true);
INSERT INTO parts_c VALUES (202, 'c', 202, 1, 1);
SELECT * FROM stepadv.check_maintained('parts');
SELECT stepadv.detach('parts') > 5 AS dropped;

-- A partition, and a child of a table, attached on its own: rows come through its parent, too.
SELECT count(*) > 5 AS attached FROM stepadv.attach('parts_c', '{g}', 'r', 'n', reward => 'score', views => '{all}');
SELECT stepadv.maintain('parts_c');
INSERT INTO parts VALUES (203, 'c', 203, 1, 1), (204, 'a', 204, 1, 1);
SELECT g FROM parts_c_folded;
SELECT count(*) AS wrong FROM stepadv.check_maintained('parts_c');
CREATE TABLE parent (id integer, g integer, r integer, n integer, score float8);
CREATE INDEX ON parent (g);
CREATE TABLE child (more text) INHERITS (parent);
CREATE INDEX ON child (g);
SELECT count(*) > 5 AS attached FROM stepadv.attach('parent', '{g}', 'r', 'n', reward => 'score', columns => '{"step_id": "id"}', views => '{all}');
SELECT stepadv.maintain('parent', mode => 'triggers');
INSERT INTO child VALUES (1, 1, 1, 1, 1, 'x'), (2, 1, 1, 2, 1, 'y');
INSERT INTO parent VALUES (3, 1, 2, 1, 1);
UPDATE parent SET g = 2 WHERE r = 1;
SELECT g, s.n_steps FROM parent_folded, stepadv.group_summary(rollouts) s ORDER BY g;
SELECT count(*) AS wrong FROM stepadv.check_maintained('parent');

-- The tables of create_tables: a foreign key that cascades, outcomes that come late.
SELECT count(*) > 15 FROM stepadv.create_tables('up_rl', partitions => 3, group_by => '{group_id}', views => '{all}');
SELECT stepadv.maintain('up_rl.rollout_rows');
INSERT INTO up_rl.rollouts (group_id, rollout_id) SELECT 'g' || g, 'r' || r FROM generate_series(1, 5) g, generate_series(1, 4) r;
INSERT INTO up_rl.steps (group_id, rollout_id, step_no, state, action_hash) SELECT 'g' || g, 'r' || r, n, (n + r) % 3, n % 2 FROM generate_series(1, 5) g, generate_series(1, 4) r, generate_series(1, 4) n;
UPDATE up_rl.rollouts SET success = rollout_id < 'r3';
SELECT count(*) AS wrong FROM stepadv.check_maintained('up_rl.rollout_rows');
SELECT group_id, n_rollouts, n_judged, n_steps, success_rate FROM up_rl.steps_groups WHERE group_id < 'g3' ORDER BY 1;
DELETE FROM up_rl.rollouts WHERE rollout_id = 'r4';
-- Refused up to 14 (see tables.sql), where the hint's way is taken.
DO $$
BEGIN
	UPDATE up_rl.rollouts SET group_id = 'other' WHERE group_id = 'g2';
EXCEPTION WHEN feature_not_supported THEN
	INSERT INTO up_rl.rollouts (group_id, rollout_id, success) SELECT 'other', rollout_id, success FROM up_rl.rollouts WHERE group_id = 'g2';
	UPDATE up_rl.steps SET group_id = 'other' WHERE group_id = 'g2';
	DELETE FROM up_rl.rollouts WHERE group_id = 'g2';
END $$;
DELETE FROM up_rl.rollouts WHERE group_id = 'g1';
SELECT group_id, n_rollouts, n_judged, n_steps, success_rate FROM up_rl.steps_groups ORDER BY 1;
SELECT count(*) AS wrong FROM stepadv.check_maintained('up_rl.rollout_rows');
TRUNCATE up_rl.steps;
SELECT sum(n_rollouts) AS rollouts, sum(n_steps) AS steps FROM up_rl.steps_groups;
TRUNCATE up_rl.rollouts CASCADE;
SELECT count(*) AS wrong, (SELECT count(*) FROM up_rl.steps_folded) AS groups FROM stepadv.check_maintained('up_rl.rollout_rows');
-- detach of a table that is only shown drops nothing.
SELECT stepadv.detach('up_rl.steps') AS dropped;

-- The sums of views over time are kept with the groups. The same table is attached a second time and not maintained: both give the same after any change, to all digits
-- but the last, since sums over groups have no order.
CREATE FUNCTION pg_temp.differ(prefix text) RETURNS TABLE (view text, n bigint, differ bigint) LANGUAGE plpgsql SET extra_float_digits = -1 AS $$
BEGIN
	FOREACH view IN ARRAY '{groups_over_time,progress_over_time,advantage_over_time}'::text[] LOOP
		-- Compared are all methods, counted those that were there when this was written.
		RETURN QUERY EXECUTE format('SELECT %1$L, count(*) FILTER (WHERE %1$L <> ''advantage_over_time'' OR v ~ '',(grpo|rloo|gae|gigpo|graphgpo|hgpo|tempo|rtmc),''), count(*) FILTER (WHERE a.v IS NULL OR b.v IS NULL)
			FROM (SELECT v::text FROM %2$I v) a FULL JOIN (SELECT v::text FROM %3$I v) b USING (v)', view, prefix || '_' || view, 'plain_' || prefix || '_' || view);
	END LOOP;
END $$;
CREATE TEMP TABLE folded_before (g text, at timestamptz);
-- Version and time are the rollout's.  Critic values are added later.
CREATE TABLE ot (id integer PRIMARY KEY, bucket text NOT NULL, r integer, n integer, st text, act text, score float8, v float8, lp_new real[], lp_old real[]);
CREATE INDEX ON ot (bucket);
CREATE TABLE ot_runs (bucket text, r integer, version text, began timestamp, note text, PRIMARY KEY (bucket, r));
INSERT INTO ot_runs SELECT 'g' || g, r, 'v' || r % 2, '2026-03-01 22:00'::timestamp + r * interval '1 hour' FROM generate_series(1, 5) g, generate_series(1, 4) r;
INSERT INTO ot SELECT row_number() OVER (), 'g' || g, r, n, 's' || (n * r) % 3, 'a' || (n + g) % 2, (n * g + r) % 4 / 4.0, NULL, ARRAY[-n, -1], ARRAY[-1, -1]
FROM generate_series(1, 5) g, generate_series(1, 4) r, generate_series(1, 3) n;
CREATE FUNCTION pg_temp.attach_ot(prefix text) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM stepadv.attach('ot', '{bucket}', 'r', 'n', 'st', 'act', 'score', columns => '{"value": "v", "policy_version": "version", "started_at": "began", "logp_new": "lp_new", "logp_old": "lp_old"}', views => '{all}', prefix => prefix, options => '{"show_rollouts": "ot_runs"}')
$$;
SELECT pg_temp.attach_ot('ot') = pg_temp.attach_ot('plain_ot') AS attached;
SELECT stepadv.maintain('ot', 'ot');
-- The companion has the columns of _groups_over_time; the group's are the first, whatever names others have.
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'ot_digests'::regclass AND attnum > 0;
SELECT base_bucket, policy_version, bucket AT TIME ZONE 'UTC' AS bucket, n_rollouts, n_steps, return_sum FROM ot_groups_over_time WHERE base_bucket = 'g1' ORDER BY 1, 2, 3;
SELECT relname FROM pg_class c WHERE relkind = 'v' AND relname LIKE 'ot\_%\_over\_time' AND pg_get_viewdef(oid) NOT LIKE '%ot_digests%';
SELECT * FROM pg_temp.differ('ot');
CREATE TEMP VIEW wrong AS SELECT * FROM stepadv.check_maintained('ot', 'ot');
TABLE wrong;
-- A rollout's version and start; one that moves to another group, exists without steps, is inserted, is deleted.
UPDATE ot_runs SET version = 'v9' WHERE bucket = 'g1' AND r = 1;
TABLE wrong;
SELECT policy_version, n_groups, n_rollouts, n_steps FROM ot_progress_over_time WHERE policy_version = 'v9';
UPDATE ot_runs SET began = began + interval '1 day', version = NULL WHERE r = 2;
TABLE wrong;
UPDATE ot_runs SET bucket = 'g9' WHERE bucket = 'g2' AND r = 3;
TABLE wrong;
INSERT INTO ot_runs VALUES ('g3', 77, 'v1', '2026-03-01'), ('g77', 1, 'v1', '2026-03-01');
DELETE FROM ot_runs WHERE bucket = 'g4' AND r = 4;
TABLE wrong;
SELECT * FROM pg_temp.differ('ot');
-- Its steps.
UPDATE ot SET score = score + 1 WHERE r = 1;
UPDATE ot SET bucket = 'g5', r = r + 100 WHERE bucket = 'g4' AND r < 3;
DELETE FROM ot WHERE bucket = 'g1' AND r > 1;
INSERT INTO ot VALUES (1001, 'g1', 9, 1, 's1', 'a1', 1, NULL), (1002, 'new', 1, 1, 's1', 'a1', 0, NULL);
TABLE wrong;
SELECT * FROM pg_temp.differ('ot');
DELETE FROM ot WHERE bucket = 'g5';
SELECT count(*) AS gone FROM ot_digests WHERE bucket = 'g5';
BEGIN;
TRUNCATE ot_runs;
TABLE wrong;
SELECT policy_version, bucket, n_groups FROM ot_progress_over_time;
ROLLBACK;
TABLE wrong;
-- A column that no view over time reads folds nothing.
INSERT INTO folded_before SELECT bucket, refreshed_at FROM ot_folded;
UPDATE ot_runs SET note = 'seen';
UPDATE ot SET lp_new = lp_old;
UPDATE ot_runs SET version = version, began = began;
SELECT count(*) AS folded_again FROM ot_folded f JOIN folded_before b ON b.g = f.bucket WHERE f.refreshed_at <> b.at;
SELECT * FROM pg_temp.differ('ot');
-- gae of a rollout where only some steps have a value is NULL, with maintain as without, and raises no error. (Errors: problems.sql.)
UPDATE ot SET v = 0.5 WHERE bucket = 'g3' AND n = 1 OR bucket = 'g1';
INSERT INTO ot SELECT 2000 + i, 'many ' || i, 1, 1, 's', 'a', 1, CASE WHEN i <> 3 THEN 0.5 END FROM generate_series(1, 9) i UNION ALL SELECT 2100, 'many 3', 2, 1, 's', 'a', 1, 1;
SELECT bucket FROM ot_digests WHERE digest IS NULL ORDER BY 1;
TABLE wrong;
SELECT array_agg(round(a.mean_abs_advantage::numeric, 9) ORDER BY policy_version, bucket) = (SELECT array_agg(round(p.mean_abs_advantage::numeric, 9) ORDER BY policy_version, bucket) FROM plain_ot_advantage_over_time p WHERE p.method = 'gae') AS same, count(*) FROM ot_advantage_over_time a WHERE a.method = 'gae';
SELECT coalesce(sum(n_steps), 0) = (SELECT count(gae) FROM ot_compare WHERE bucket = 'g3') AS counted FROM ot_advantage_by_group WHERE base_bucket = 'g3' AND method = 'gae';
SELECT base_bucket, n_steps, mean_advantage FROM ot_advantage_by_group WHERE base_bucket = 'many 4' AND method = 'gae';
-- Version v9 has no rollout of these groups.
SELECT DISTINCT policy_version, bucket AT TIME ZONE 'UTC' AS bucket FROM ot_groups_over_time WHERE base_bucket IN ('g3', 'many 3') ORDER BY 1, 2;
SELECT round(a.mean_abs_advantage::numeric, 9) AS maintained, (SELECT round(p.mean_abs_advantage::numeric, 9) FROM plain_ot_advantage_over_time p WHERE p.policy_version = 'v9' AND p.method = 'gae') AS folded
FROM ot_advantage_over_time a WHERE a.policy_version = 'v9' AND a.method = 'gae';
SELECT count(*) AS rows, count(*) FILTER (WHERE a.v = b.v) AS same
FROM (SELECT row(policy_version, bucket, n_groups, n_steps, success_rate)::text FROM ot_progress_over_time) a(v)
FULL JOIN (SELECT row(policy_version, bucket, n_groups, n_steps, success_rate)::text FROM plain_ot_progress_over_time) b(v) USING (v);
SELECT count(*) AS rows, count(*) FILTER (WHERE a.v = b.v) AS same
FROM (SELECT row(policy_version, bucket, method, n_steps, round(mean_abs_advantage::numeric, 9))::text FROM ot_advantage_over_time WHERE method IN ('grpo', 'rloo', 'gigpo', 'graphgpo', 'hgpo', 'tempo', 'rtmc')) a(v)
FULL JOIN (SELECT row(policy_version, bucket, method, n_steps, round(mean_abs_advantage::numeric, 9))::text FROM plain_ot_advantage_over_time WHERE method IN ('grpo', 'rloo', 'gigpo', 'graphgpo', 'hgpo', 'tempo', 'rtmc')) b(v) USING (v);
-- All of them folded again, with these changes; check_maintained finds other errors.
SELECT stepadv.refresh('ot', 'ot', full => true) = (SELECT count(*) FROM ot_folded) AS all_folded;
SELECT bucket FROM ot_digests WHERE digest IS NULL ORDER BY 1;
SELECT count(*) > 10 AS kept FROM ot_digests WHERE digest IS NOT NULL;
TABLE wrong;
BEGIN;
UPDATE ot_digests SET digest = (SELECT digest FROM ot_digests WHERE bucket = 'many 7' LIMIT 1) WHERE bucket = 'g1';
DELETE FROM ot_digests WHERE bucket = 'many 5';
INSERT INTO ot_digests SELECT * FROM ot_digests WHERE bucket = 'many 6';
SELECT * FROM wrong ORDER BY 1;
SELECT stepadv.refresh('ot', 'ot', full => true) > 0 AS mended;
TABLE wrong;
ROLLBACK;
-- After the remaining values were added.
UPDATE ot SET v = 0.25 WHERE v IS NULL AND bucket <> 'g2';
SELECT count(*) FROM ot_digests WHERE digest IS NULL;
TABLE wrong;
SELECT * FROM pg_temp.differ('ot');
BEGIN;
UPDATE ot_digests SET digest = (SELECT digest FROM ot_digests WHERE bucket = 'many 7' LIMIT 1) WHERE bucket = 'g1';
SELECT group_key, problem FROM wrong;
ALTER TABLE ot_runs DISABLE TRIGGER ot_maintain_update;
SELECT group_key, problem FROM wrong ORDER BY 1;
ROLLBACK;
-- Without that table groups stay kept, and detach and unmaintain still work.
BEGIN;
SET LOCAL client_min_messages = error;
DROP TABLE ot_digests CASCADE;
UPDATE ot SET score = 0;
TABLE wrong;
SELECT to_regclass('ot_progress_over_time') IS NULL AS gone, stepadv.unmaintain('ot', 'ot') AS ended;
SELECT count(*) AS kept FROM pg_class WHERE relname ~ '^ot_(fresh|folded|digests|made)';
ROLLBACK;
-- At the end of the transaction, and when asked.
SELECT stepadv.unmaintain('ot', 'ot');
SELECT * FROM pg_temp.differ('ot');
SELECT stepadv.maintain('ot', 'ot', mode => 'triggers');
BEGIN;
UPDATE ot_runs SET version = 'c';
SELECT count(*) FILTER (WHERE policy_version = 'c') AS before FROM ot_progress_over_time;
COMMIT;
SELECT count(*) FILTER (WHERE policy_version = 'c') > 0 AS after FROM ot_progress_over_time;
TABLE wrong;
SELECT stepadv.unmaintain('ot', 'ot');
SELECT stepadv.maintain('ot', 'ot', mode => 'refresh');
UPDATE ot_runs SET version = 'r' WHERE bucket = 'g1';
TABLE wrong;
-- A pending group is not compared, even where that would be an error.
BEGIN;
UPDATE ot SET v = NULL WHERE bucket = 'g3' AND n = 1;
TABLE wrong;
ALTER TABLE ot DISABLE TRIGGER ot_maintain_update;
UPDATE ot SET v = NULL WHERE bucket = 'many 7';
INSERT INTO ot VALUES (3000, 'many 7', 7, 7, 's', 'a', 1, 1);
DELETE FROM ot_changed WHERE bucket = 'many 7';
\set VERBOSITY terse
SELECT group_key, problem FROM wrong ORDER BY problem;
ROLLBACK;
\set VERBOSITY default
SELECT count(*) FILTER (WHERE policy_version = 'r') AS before FROM ot_progress_over_time;
SELECT stepadv.refresh('ot', 'ot');
SELECT count(*) FILTER (WHERE policy_version = 'r') > 0 AS after FROM ot_progress_over_time;
TABLE wrong;
SELECT * FROM pg_temp.differ('ot');
SELECT stepadv.detach('ot', 'ot') > 20 AS dropped;
SELECT count(*) AS left_behind FROM pg_class WHERE relname LIKE 'ot\_%over\_time%' OR relname ~ '^ot_(fresh|folded|digests|made)';
-- A table with the name exists; a table that only views over many groups read, and that cannot be watched.
SELECT pg_temp.attach_ot('ot') > 20 AS attached;
CREATE TABLE ot_digests (mine integer);
SELECT stepadv.maintain('ot', 'ot');
DROP TABLE ot_digests;
SELECT stepadv.detach('ot', 'ot') > 20 AS dropped;
CREATE MATERIALIZED VIEW ot_stored AS SELECT * FROM ot_runs;
SELECT count(*) > 20 AS attached FROM stepadv.attach('ot', '{bucket}', 'r', 'n', state => 'st', action => 'act', reward => 'score', columns => '{"policy_version": "version"}', views => '{all}', prefix => 'ot', options => '{"show_rollouts": "ot_stored"}');
SELECT stepadv.maintain('ot', 'ot');
SELECT stepadv.detach('ot', 'ot') > 20 AS dropped;
SELECT count(*) > 5 AS attached FROM stepadv.attach('ot', '{bucket}', 'r', 'n', state => 'st', action => 'act', reward => 'score', columns => '{"policy_version": "version"}', prefix => 'ot', options => '{"show_rollouts": "ot_stored"}');
SELECT stepadv.maintain('ot', 'ot');
SELECT to_regclass('ot_digests') IS NULL AS none;
SELECT stepadv.detach('ot') > 20 AS dropped;
DROP VIEW wrong;
-- Without an index for the groups, and with version and time in the source (also partitioned), or in the group's columns.
CREATE TABLE flat (bucket integer, version text, r integer, n integer, score float8, began date) PARTITION BY LIST (bucket);
CREATE TABLE flat_1 PARTITION OF flat FOR VALUES IN (1);
CREATE TABLE flat_2 PARTITION OF flat FOR VALUES IN (2, 3);
INSERT INTO flat SELECT b, 'v' || r % 2, r, n, (b * r + n) % 3, '2026-01-01'::date + r FROM generate_series(1, 3) b, generate_series(1, 4) r, generate_series(1, 2) n;
SELECT count(*) > 5 AS attached FROM stepadv.attach('flat', '{bucket}', 'r', 'n', reward => 'score', columns => '{"policy_version": "version", "started_at": "began"}', views => '{all}');
SELECT count(*) > 5 AS attached FROM stepadv.attach('flat', '{bucket}', 'r', 'n', reward => 'score', columns => '{"policy_version": "version", "started_at": "began"}', views => '{all}', prefix => 'plain_flat');
SELECT count(*) > 5 AS attached FROM stepadv.attach('flat', '{version,bucket}', 'r', 'n', reward => 'score', columns => '{"policy_version": "version"}', views => '{all}', prefix => 'flat_g');
SELECT count(*) > 5 AS attached FROM stepadv.attach('flat', '{version,bucket}', 'r', 'n', reward => 'score', columns => '{"policy_version": "version"}', views => '{all}', prefix => 'plain_flat_g');
SELECT stepadv.maintain('flat', 'flat'), stepadv.maintain('flat', 'flat_g', mode => 'triggers');
INSERT INTO flat VALUES (1, 'v1', 7, 1, 1, '2026-01-01'), (2, 'v1', 7, 1, 1, NULL);
UPDATE flat_2 SET began = '2025-12-31' WHERE r = 1 AND n = 2;
UPDATE flat SET version = 'v3' WHERE r = 2;
UPDATE flat SET bucket = 2, r = 55 WHERE bucket = 1 AND r = 1;
DELETE FROM flat_1 WHERE r = 3;
SELECT * FROM stepadv.check_maintained('flat');
SELECT * FROM pg_temp.differ('flat') UNION ALL SELECT * FROM pg_temp.differ('flat_g') ORDER BY 1, 2;
TRUNCATE flat_2;
SELECT * FROM stepadv.check_maintained('flat');
SELECT * FROM pg_temp.differ('flat') UNION ALL SELECT * FROM pg_temp.differ('flat_g') ORDER BY 1, 2;
SELECT stepadv.detach('flat') > 30 AS dropped;

-- With refresh no writer gets an error; the refresh names the broken group, and until it is repaired the groups stay as before.
CREATE TABLE late_steps (id serial, g integer NOT NULL, "h'" text NOT NULL, r integer, n integer, score integer, PRIMARY KEY (g, "h'", id));
CREATE VIEW late AS SELECT id, g, "h'", r, n, 1 / score AS score FROM late_steps;
SELECT count(*) > 5 AS attached FROM stepadv.attach('late', ARRAY['g', 'h'''], 'r', 'n', reward => 'score', columns => '{"step_id": "id"}', views => '{all}');
SELECT stepadv.maintain('late', mode => 'refresh');
INSERT INTO late_steps (g, "h'", r, n, score) VALUES (1, 'a', 1, 1, 1), (2, 'it''s', 7, 1, 1), (2, 'it''s', 7, 2, 0), (3, 'a', 1, 1, 1);
SELECT stepadv.refresh('late');
SELECT count(*) AS groups, (SELECT count(*) FROM late_changed) AS waiting FROM late_folded;
DELETE FROM late_steps WHERE id = 3;
SELECT stepadv.refresh('late');
SELECT count(*) AS groups, (SELECT count(*) FROM late_changed) AS waiting FROM late_folded;

-- A source that reads whole rows: the columns that count are unknown.
CREATE TABLE noted (id integer PRIMARY KEY, g integer NOT NULL, r integer, n integer, notes jsonb);
CREATE INDEX ON noted (g);
CREATE VIEW noted_all AS SELECT t.id, t.g, t.r, t.n, (to_jsonb(t.*) -> 'notes' ->> 'score')::float8 AS score FROM noted t;
SELECT count(*) > 5 AS attached FROM stepadv.attach('noted_all', '{g}', 'r', 'n', reward => 'score', columns => '{"step_id": "id"}', views => '{all}', prefix => 'noted');
SELECT stepadv.maintain('noted_all');
INSERT INTO noted VALUES (1, 1, 1, 1, '{"score": 1}');
UPDATE noted SET notes = '{"score": 2}';
SELECT mean_return, (SELECT count(*) FROM stepadv.check_maintained('noted_all')) AS wrong FROM noted_groups;

-- Errors.
SELECT stepadv.maintain(NULL);
SELECT stepadv.maintain('noted_all', mode => 'sometimes');
SELECT stepadv.maintain('noted_all', mode => NULL);
SELECT stepadv.maintain('noted_all');
SELECT stepadv.maintain('noted');
SELECT stepadv.maintain('noted_all', 'other');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT stepadv.maintain('noted_all');
ROLLBACK;
CREATE TABLE plain (id integer PRIMARY KEY, g integer NOT NULL, r integer, n integer, score float8, at timestamptz);
SELECT count(*) > 5 AS attached FROM stepadv.attach('plain', '{g}', 'r', 'n', reward => 'score', views => '{all}');
SELECT count(*) > 5 AS attached FROM stepadv.attach('plain', '{g}', 'r', 'n', reward => 'score', views => '{all}', prefix => 'plain "2"');
SELECT stepadv.maintain('plain');
CREATE TABLE plain_changed ();
SELECT stepadv.maintain('plain', 'plain');
DROP TABLE plain_changed;
CREATE FUNCTION pg_temp.refused(source text, group_by text[] DEFAULT '{g}', state text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM stepadv.attach(source::regclass, group_by, 'r', 'n', state => state, reward => 'score', columns => '{"step_id": "id"}', views => '{all}', prefix => 'refused');
	PERFORM stepadv.maintain(source::regclass, 'refused');
END $$;
CREATE MATERIALIZED VIEW plain_stored AS SELECT * FROM plain;
SELECT pg_temp.refused('plain_stored');
CREATE VIEW over_stored AS SELECT * FROM plain_stored;
SELECT pg_temp.refused('over_stored');
CREATE TEMP TABLE short_lived AS SELECT * FROM plain;
SELECT pg_temp.refused('short_lived');
CREATE TABLE names (r integer, name text);
CREATE VIEW named AS SELECT p.*, x.name FROM plain p JOIN names x USING (r);
SELECT pg_temp.refused('named');
CREATE VIEW renamed AS SELECT id, g::text AS g, r, n, score FROM plain;
SELECT pg_temp.refused('renamed');
ALTER TABLE names ADD COLUMN g integer;
SELECT pg_temp.refused('named');
SELECT pg_temp.refused('plain', state => 'at');
CREATE UNLOGGED TABLE unsafe AS SELECT * FROM plain;
CREATE VIEW mixed AS SELECT * FROM plain UNION ALL SELECT * FROM unsafe;
SELECT pg_temp.refused('mixed');
ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
SELECT pg_temp.refused('plain');
ALTER TABLE plain DISABLE ROW LEVEL SECURITY;
-- The errors left nothing behind.
SELECT count(*) AS left_behind FROM pg_class WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relname LIKE 'refused%';
SELECT pg_temp.refused('unsafe');
SELECT relpersistence FROM pg_class WHERE oid = 'refused_folded'::regclass;

-- Privileges. The owner keeps groups; a writer needs only the table; a user who can read all that is folded can read the groups; no other user can fold.
CREATE ROLE regress_stepadv_owner;
CREATE ROLE regress_stepadv_writer;
CREATE ROLE regress_stepadv_reader;
CREATE SCHEMA up_owned AUTHORIZATION regress_stepadv_owner;
GRANT USAGE ON SCHEMA up_owned TO regress_stepadv_writer, regress_stepadv_reader;
GRANT USAGE ON SCHEMA stepadv TO PUBLIC;
SET search_path = up_owned;
SET ROLE regress_stepadv_owner;
CREATE TABLE own (id integer PRIMARY KEY, g integer NOT NULL, r integer, n integer, score float8);
CREATE INDEX ON own (g);
CREATE VIEW own_all AS SELECT * FROM own;
SELECT count(*) > 5 AS attached FROM stepadv.attach('own_all', '{g}', 'r', 'n', reward => 'score', columns => '{"step_id": "id", "policy_version": "r"}', views => '{all}', prefix => 'own');
GRANT INSERT, UPDATE, DELETE, TRUNCATE, SELECT ON own TO regress_stepadv_writer;
GRANT SELECT ON own, own_all, own_groups, own_values, own_progress_over_time TO regress_stepadv_reader;
GRANT SELECT ON own_all TO regress_stepadv_writer WITH GRANT OPTION;
RESET ROLE;
-- Whoever is allowed to call it, the owner folds: not the superuser.
SELECT stepadv.maintain('own_all');
SELECT relname, relowner::regrole FROM pg_class WHERE relname ~ '^own_(folded|fresh|digests|fresh_digests|made_digests)$' ORDER BY 1;
SELECT count(*) AS functions FROM pg_proc WHERE pronamespace = 'up_owned'::regnamespace;
SELECT table_name, grantee, privilege_type FROM information_schema.role_table_grants WHERE table_name ~ '^own_(folded|digests)' AND grantee <> 'regress_stepadv_owner' ORDER BY 1, 2;
SET ROLE regress_stepadv_writer;
INSERT INTO own VALUES (1, 1, 1, 1, 1), (2, 1, 1, 2, 0);
UPDATE own SET score = 3 WHERE id = 2;
DELETE FROM own_folded;
SELECT stepadv_internal.fold_groups('own_attachment', true);
SELECT stepadv_internal.drop_triggers('own_attachment', '{}');
-- A writer's own trigger has no effect on groups that do not depend on their table.
CREATE TEMP TABLE trap (g integer);
CREATE TRIGGER trap AFTER INSERT ON trap REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION stepadv_internal.keep_groups();
INSERT INTO trap VALUES (1);
DROP TRIGGER trap ON trap;
CREATE TRIGGER trap AFTER INSERT ON trap REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN ('own_attachment'::regclass IS NOT NULL) EXECUTE FUNCTION stepadv_internal.keep_groups();
INSERT INTO trap VALUES (1);
DROP TRIGGER trap ON trap;
CREATE TRIGGER trap BEFORE INSERT ON trap FOR EACH STATEMENT WHEN ('own_attachment'::regclass IS NOT NULL) EXECUTE FUNCTION stepadv_internal.keep_groups();
INSERT INTO trap VALUES (1);
DROP TRIGGER trap ON trap;
CREATE TRIGGER trap AFTER TRUNCATE ON trap FOR EACH STATEMENT WHEN ('own_attachment'::regclass IS NOT NULL) EXECUTE FUNCTION stepadv_internal.keep_groups();
TRUNCATE trap;
SELECT stepadv.refresh('own_all', full => true);
SELECT stepadv.unmaintain('own_all');
SELECT stepadv.maintain('own_all');
-- Objects of the writer that resemble those that the function means.
CREATE TEMP TABLE unnest (x integer);
CREATE FUNCTION pg_temp.unnest(anyarray) RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
CREATE FUNCTION pg_temp.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
SET search_path = pg_temp, pg_catalog;
INSERT INTO up_owned.own VALUES (3, 1, 2, 1, 1);
SET search_path = up_owned;
SET ROLE regress_stepadv_reader;
SELECT g, n_rollouts, mean_return FROM own_groups;
SELECT policy_version, n_rollouts, mean_return FROM own_progress_over_time ORDER BY 1;
SET ROLE regress_stepadv_owner;
SELECT count(*) AS wrong FROM stepadv.check_maintained('own_all');
SELECT stepadv.refresh('own_all', full => true);
SELECT stepadv.unmaintain('own_all');
RESET ROLE;
SET search_path = public;
DROP SCHEMA up_owned, up_rl, "up's; ""kept""" CASCADE;
DROP OWNED BY regress_stepadv_writer;
DROP ROLE regress_stepadv_owner, regress_stepadv_writer, regress_stepadv_reader;

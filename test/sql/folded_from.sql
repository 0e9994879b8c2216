-- Sources of kept groups: the tables below views, how they are recorded, and which later changes are detected.
SET client_min_messages = warning;
CREATE SCHEMA ff;
SET search_path = ff, public;
CREATE TABLE steps (id bigint, g text NOT NULL, day integer NOT NULL, x float8) PARTITION BY LIST (day);
CREATE TABLE p1 PARTITION OF steps FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF steps FOR VALUES IN (2) PARTITION BY HASH (id);
CREATE TABLE p2a PARTITION OF p2 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TABLE names (id bigint PRIMARY KEY, name text);
CREATE TYPE phase AS ENUM ('early', 'late');
CREATE FUNCTION doubled(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT 2 * x';
CREATE FUNCTION inner_one(x float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN x; END';
CREATE FUNCTION outer_one(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT inner_one(x) + 1; END;
CREATE FUNCTION added(s float8, x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT s + coalesce(x, 0)';
CREATE AGGREGATE total(float8) (SFUNC = added, STYPE = float8, INITCOND = '0');
CREATE VIEW inside AS SELECT s.id, s.g, doubled(s.x) AS x, outer_one(s.x) AS y, 'late'::phase::text AS phase, random() AS luck, now() - interval '1 day' AS yesterday FROM steps s;
CREATE VIEW over_it AS SELECT i.g, total(i.x + i.y) AS x, count(*) FILTER (WHERE EXISTS (SELECT FROM names n WHERE n.id = i.id)) AS n, max(i.phase) AS phase FROM inside i GROUP BY i.g;

SELECT b.kind, CASE b.kind WHEN 'label' THEN object::regtype::text WHEN 'function' THEN object::regprocedure::text ELSE object::regclass::text END COLLATE "C" AS object,
	CASE b.kind WHEN 'label' THEN split_part(b.here, ' ', 4) END AS label
FROM stepadv_internal.below('{over_it}', NULL) b WHERE b.kind <> 'place' ORDER BY 1, 2, 3;
SELECT count(*) FROM stepadv_internal.read_below('{over_it}') b WHERE b.name IS NOT NULL;

-- Recorded; then changed, undone after each.
CREATE TABLE noted AS SELECT stepadv_internal.folded_from('{over_it}', NULL) AS j;
CREATE FUNCTION names(j jsonb) RETURNS text[] LANGUAGE sql AS 'SELECT array_agg(DISTINCT e ->> ''anywhere'') FROM jsonb_array_elements(j) e';
CREATE FUNCTION after(change text) RETURNS TABLE (changed text, same_by_names boolean, same_mark boolean) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE change;
	SELECT string_agg(c.what, '; ' ORDER BY c.what) INTO changed FROM noted, stepadv_internal.changed_since('{over_it}', NULL, j) c;
	SELECT names(j) = names(stepadv_internal.folded_from('{over_it}', NULL)) INTO same_by_names FROM noted;
	SELECT j -> -1 = jsonb_build_object('mark', stepadv_internal.mark_below('{over_it}', j)) INTO same_mark FROM noted;
	RAISE EXCEPTION 'undone';
EXCEPTION WHEN raise_exception THEN
	RETURN NEXT;
END $$;
\pset null nothing
SELECT c.change, a.* FROM unnest(ARRAY[
	'SELECT', 'ANALYZE ff.steps', 'INSERT INTO steps VALUES (1, ''g'', 1, 1)', 'CREATE INDEX ON steps (g)',
	'CREATE OR REPLACE VIEW inside  AS  SELECT s.id, s.g, doubled(s.x) AS x, outer_one(s.x) AS y, ''late''::phase::text AS phase, random() AS luck, now() - interval ''1 day'' AS yesterday FROM steps s',
	'DROP TABLE p1', 'ALTER TABLE steps DETACH PARTITION p1', 'DROP TABLE p2a',
	'ALTER TABLE p2 DETACH PARTITION p2a; ALTER TABLE p2 ATTACH PARTITION p2a FOR VALUES WITH (MODULUS 1, REMAINDER 0)',
	'CREATE TABLE p3 PARTITION OF steps FOR VALUES IN (3)', 'CREATE TABLE t () INHERITS (names)',
	'CREATE OR REPLACE VIEW inside AS SELECT s.id, s.g, s.x, outer_one(s.x) AS y, ''late''::phase::text AS phase, random() AS luck, now() - interval ''1 day'' AS yesterday FROM steps s',
	'CREATE OR REPLACE FUNCTION doubled(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS ''SELECT 3 * x''',
	'CREATE OR REPLACE FUNCTION inner_one(x float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS ''BEGIN RETURN -x; END''',
	'CREATE OR REPLACE FUNCTION added(s float8, x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS ''SELECT s + x''',
	'ALTER FUNCTION doubled SET extra_float_digits = 0',
	'CREATE OR REPLACE AGGREGATE total(float8) (SFUNC = added, STYPE = float8, INITCOND = ''1'')',
	'ALTER TYPE phase RENAME VALUE ''late'' TO ''last''', 'ALTER TYPE phase ADD VALUE ''never''',
	'ALTER VIEW inside RENAME TO inner_view; ALTER TABLE steps RENAME COLUMN x TO reward; ALTER TABLE p1 RENAME TO first_part; ALTER FUNCTION doubled RENAME TO twice'
	]) WITH ORDINALITY c(change, i) CROSS JOIN LATERAL after(c.change) a ORDER BY c.i;
-- Recorded elsewhere, or invalid: unknown.
SELECT n.noted, c.what AS changed
FROM unnest(ARRAY[NULL, '7', '{"of": 7}', '[1, {"here": []}, {"here": null}]']::jsonb[]) n(noted), stepadv_internal.changed_since('{over_it}', NULL, n.noted) c;
SELECT c.what AS noted_elsewhere FROM noted, LATERAL (SELECT jsonb_agg(e || '{"here": "1", "mark": 0}') FROM jsonb_array_elements(noted.j) e) n(j), stepadv_internal.changed_since('{over_it}', NULL, n.j) c;

-- Not detected: what functions read.
CREATE FUNCTION looks_up(i bigint) RETURNS text LANGUAGE sql STABLE AS 'SELECT name FROM ff.names WHERE id = i';
CREATE FUNCTION looks_up_openly(i bigint) RETURNS text LANGUAGE sql STABLE BEGIN ATOMIC SELECT n.name FROM names n WHERE n.id = i; END;
CREATE FUNCTION adds_openly(i bigint) RETURNS bigint LANGUAGE sql STABLE BEGIN ATOMIC SELECT i + 1; END;
CREATE VIEW looking AS SELECT g, looks_up(id), looks_up_openly(id) AS openly, adds_openly(id) AS added FROM steps;
SELECT b.kind, b.object::regclass, b.name FROM stepadv_internal.read_below('{looking}') b WHERE b.name IS NOT NULL ORDER BY 1, 2, 3;
CREATE VIEW not_looking AS SELECT count(added) FROM looking;
SELECT count(*) FROM stepadv_internal.read_below('{not_looking}') b WHERE b.name IS NOT NULL;

-- What changes by itself is detected when it is read.
CREATE FUNCTION dice() RETURNS integer LANGUAGE sql AS 'SELECT 4';
CREATE FUNCTION throws(n integer) RETURNS integer LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT n * dice(); END;
\set VERBOSITY default
SELECT stepadv_internal.refuse_changing('steps', '{over_it}');
CREATE FUNCTION refused(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE 'CREATE VIEW v AS ' || query;
	PERFORM stepadv_internal.refuse_changing('steps', ARRAY[to_regclass('v')]);
	DROP VIEW v;
	RETURN 'taken';
EXCEPTION WHEN feature_not_supported THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN SQLERRM || E'\n' || detail || E'\n' || hint;
END $$;
SELECT q.query, refused(q.query) FROM unnest(ARRAY['SELECT g, luck FROM inside', 'SELECT g FROM inside WHERE yesterday IS NULL', 'SELECT g, x FROM inside ORDER BY x',
	'SELECT i FROM inside i', 'SELECT DISTINCT g, luck FROM inside', 'SELECT g FROM steps WHERE day < extract(day FROM CURRENT_DATE)', 'SELECT g FROM steps TABLESAMPLE BERNOULLI (10)',
	'SELECT throws(day) FROM steps', 'SELECT g, (SELECT min(x * random()) FROM steps) AS r FROM steps', 'SELECT g, row_number() OVER (ORDER BY random()) AS r FROM steps',
	'SELECT g, age(timestamp ''2026-01-01'') AS a FROM steps', 'SELECT g, age(timestamp ''2026-01-01'', timestamp ''2025-01-01'') AS a FROM steps',
	'SELECT g, current_user AS who FROM steps', 'SELECT g, gen_random_uuid() AS u FROM steps UNION ALL SELECT g, NULL FROM steps',
	'WITH w AS (SELECT clock_timestamp() AS at) SELECT * FROM steps, w', 'SELECT looks_up FROM looking', 'SELECT openly FROM looking', 'SELECT added FROM looking']) WITH ORDINALITY q(query, i) ORDER BY q.i;
ALTER EXTENSION plpgsql ADD FUNCTION adds_openly(bigint);
SELECT split_part(refused('SELECT added FROM looking'), E'\n', 1) AS of_an_extension;
ALTER EXTENSION plpgsql DROP FUNCTION adds_openly(bigint);
-- Sources that depend on the user or on settings of the session.
SELECT q.query, split_part(refused(q.query), E'\n', 1) AS refused FROM unnest(ARRAY['SELECT g FROM steps WHERE g = current_setting(''app.g'', true)', 'SELECT g FROM steps WHERE pg_has_role(g::name, ''MEMBER'')',
	'SELECT g FROM steps WHERE has_table_privilege(g, ''SELECT'')', 'SELECT g, txid_current() AS x FROM steps', 'SELECT g FROM steps WHERE g = current_schema()', 'SELECT g FROM steps WHERE inet_client_addr() IS NULL',
	'SELECT g, jsonb_build_object() AS j, current_database() AS d FROM steps']) WITH ORDINALITY q(query, i) ORDER BY q.i;
-- What depends on settings: times and expressions over them, no other expressions.
CREATE TABLE timed (g text, at timestamptz, t timestamp, d date, span interval, x float8, n integer, many text[], times date[], p phase, j jsonb, cash money);
CREATE DOMAIN label AS text;
CREATE DOMAIN day AS date;
CREATE TYPE pair AS (a integer, b text);
CREATE TYPE dated AS (a integer, b date);
SELECT q.item, refused('SELECT g, ' || q.item || ' AS item FROM timed') FROM unnest(ARRAY['date_trunc(''day'', at)']) q(item);
SELECT q.item, split_part(split_part(refused('SELECT g, ' || q.item || ' AS item FROM timed'), E'\n', 1), ': ', 2) AS refused FROM unnest(ARRAY['at::date', 'at::text', 'at + span', 'at > d', 'at = t', 'to_char(at, ''YYYY'')', 'extract(hour FROM at)', 'date_part(''day'', at)',
	't::text', 'd::text', 'span::text', 'j::text::timestamptz', '(j ->> ''t'')::date', 'to_char(t, ''TMMonth'')', 'to_char(x, ''9D9'')', 'to_char(n, g)', 'concat(g, d)', 'to_jsonb(at)', 'jsonb_build_object(''at'', at)',
	'to_jsonb(timed)', 'array_to_string(times, '','')', 'times::text', 'many::date[]', 'g || at', 'format(''%s'', t)', 'cash::text', 'd::day::text', 'ROW(1, d)::dated::text', 'jsonb_populate_record(NULL::dated, j)', 'to_tsvector(g)', 'tableoid::regclass::text',
	'jsonb_agg(at) OVER ()', 'xmlelement(NAME at, at)']) WITH ORDINALITY q(item, i) ORDER BY q.i;
SELECT q.item, refused('SELECT g, ' || q.item || ' AS item FROM timed') FROM unnest(ARRAY['at', 'date_trunc(''day'', at AT TIME ZONE ''UTC'')', 'date_trunc(''day'', at, ''UTC'')', '(at AT TIME ZONE ''UTC'')::date', 'extract(epoch FROM at)', 'date_part(''EPOCH'', at)', 'at - at',
	'extract(hour FROM t)', 'extract(epoch FROM span)', 't + span', 'd + 1', 'at > ''2026-01-01 00:00+00''', 'to_char(t, ''YYYY-MM-DD'')', 'to_char(n, ''FM000'')', 'n::text', 'x::text', 'p::text', 'g::phase', '(j ->> ''n'')::integer', '(j -> ''a'')::text',
	'concat(g, n)', 'format(''%s %s'', n, p)', 'to_jsonb(many)', 'jsonb_build_object(''n'', n)', 'array_to_string(many, '','')', 'many::text', 'g::text[]', 'g || n', 'g::label::text', 'ROW(1, g)::pair::text', 'jsonb_agg(n) OVER ()', 'stepadv.signature_hash(g)']) WITH ORDINALITY q(item, i) ORDER BY q.i;
-- Columns that the server computes when they are read: 18 has them; on older servers the test marks a column as such.
BEGIN;
SET LOCAL allow_system_table_mods = on;
DO $$
BEGIN
	IF current_setting('server_version_num')::integer >= 180000 THEN
		EXECUTE 'CREATE TABLE computed (g text, n integer, v integer GENERATED ALWAYS AS (n + 1) VIRTUAL)';
	ELSE
		CREATE TABLE computed (g text, n integer, v integer);
		UPDATE pg_attribute SET attgenerated = 'v' WHERE attrelid = 'computed'::regclass AND attname = 'v';
	END IF;
END $$;
SELECT q.query, refused(q.query) FROM unnest(ARRAY['SELECT g, n FROM computed', 'SELECT g, v + 1 AS v FROM computed', 'SELECT c FROM computed c', 'SELECT g FROM computed WHERE v > 0']) q(query);
ROLLBACK;
-- Invalid lists.
SELECT count(*) FROM stepadv_internal.read_below('{{steps},{names}}');
SELECT count(*) FROM stepadv_internal.read_below(ARRAY['steps', 4294967295::oid, NULL]::regclass[]);
SELECT b.kind, b.object::regclass FROM stepadv_internal.below(ARRAY['names', 4294967295::oid, NULL]::regclass[], NULL) b WHERE b.kind <> 'place';

-- Kept groups: which are fresh, and what refresh does.
CREATE INDEX ON steps (g);
INSERT INTO steps SELECT i, 'g' || i % 3, 1 + i % 2, i FROM generate_series(1, 24) i;
CREATE VIEW source AS SELECT s.g, s.id / 8 AS r, s.id, doubled(s.x) AS x FROM steps s;
SELECT count(*) > 5 AS attached FROM stepadv.attach('source', '{g}', 'r', 'id', reward => 'x', columns => '{"step_id": "id"}');
ALTER EXTENSION plpgsql ADD FUNCTION doubled(float8);
SELECT stepadv.maintain('source');
ALTER EXTENSION plpgsql DROP FUNCTION doubled(float8);
CREATE FUNCTION read_kept() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT string_agg(g || ' ' || n_steps, ', ' ORDER BY g) FROM source_groups); EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$;
CREATE VIEW age AS SELECT read_kept(), m.as_of IS NOT NULL AS fresh, m.problem, (SELECT count(*) FROM stepadv.check_maintained('source') c WHERE c.group_key IS NOT NULL) AS differ FROM stepadv.maintained() m WHERE m.prefix = 'source';
\pset tuples_only on
TABLE age;
CREATE OR REPLACE FUNCTION doubled(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT 3 * x';
TABLE age;
SELECT stepadv.refresh('source');
TABLE age;
CREATE OR REPLACE VIEW source AS SELECT s.g, s.id / 8 AS r, s.id, s.x FROM steps s;
TABLE age;
SELECT stepadv.refresh('source');
TABLE age;
ALTER TABLE steps DETACH PARTITION p1;
TABLE age;
SELECT stepadv.refresh('source');
UPDATE p1 SET x = x + 1;
ALTER TABLE steps ATTACH PARTITION p1 FOR VALUES IN (1);
TABLE age;
SELECT stepadv.refresh('source');
TABLE age;
-- Attaching an empty partition changes nothing; later rows are detected after a refresh has read it.
CREATE TABLE p3 PARTITION OF steps FOR VALUES IN (3);
TABLE age;
INSERT INTO p3 VALUES (25, 'g1', 3, 25);
TABLE age;
SELECT stepadv.refresh('source');
TABLE age;
CREATE TABLE p4 PARTITION OF steps FOR VALUES IN (4);
SELECT stepadv.refresh('source');
INSERT INTO p4 VALUES (26, 'g2', 4, 26);
TABLE age;
-- Nor are changes made while triggers were disabled.
ALTER TABLE p2a DISABLE TRIGGER USER;
DELETE FROM p2a WHERE g = 'g0';
ALTER TABLE p2a ENABLE TRIGGER USER;
TABLE age;
SELECT stepadv.refresh('source');
TABLE age;
-- A trigger that was replaced: with another attachment, or another condition.
INSERT INTO steps VALUES (27, 'g2', 2, 27);
CREATE OR REPLACE TRIGGER source_maintain_insert AFTER INSERT ON steps REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
	WHEN ('steps'::regclass IS NOT NULL) EXECUTE FUNCTION stepadv_internal.keep_groups();
INSERT INTO steps VALUES (28, 'g2', 2, 28);
CREATE OR REPLACE TRIGGER source_maintain_insert AFTER INSERT ON steps REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
	WHEN (false AND 'source_attachment'::regclass IS NOT NULL) EXECUTE FUNCTION stepadv_internal.keep_groups();
SELECT problem FROM age \g (format=unaligned)
SELECT stepadv.refresh('source');
INSERT INTO steps VALUES (28, 'g2', 2, 28);
TABLE age;
DELETE FROM steps WHERE id > 26;
DROP TABLE p1;
TABLE age;
SELECT stepadv.refresh('source');
TABLE age;
-- As after a restore: refresh compares by names, and folds nothing.
UPDATE source_attachment SET folded_from = (SELECT jsonb_agg(e || '{"here": "1", "mark": 0}') FROM jsonb_array_elements(folded_from) e);
\c -
SET client_min_messages = warning;
SET search_path = ff, public;
TABLE age;
SELECT stepadv.refresh('source');
TABLE age;
-- By refresh groups are as of then, and so is what they are folded from; where that must not be kept it says so.
SELECT stepadv.unmaintain('source');
SELECT stepadv.maintain('source', mode => 'refresh');
ALTER TABLE steps DETACH PARTITION p3;
TABLE age;
CREATE OR REPLACE VIEW source AS SELECT s.g, s.id / 8 AS r, s.id, s.x * random() AS x FROM steps s;
SELECT stepadv.refresh('source');
SELECT stepadv.unmaintain('source');
CREATE OR REPLACE VIEW source AS SELECT s.g, s.id / 8 AS r, s.id, s.x * random() AS x FROM steps s;
SELECT stepadv.maintain('source');
SELECT stepadv.maintain('source', mode => 'refresh');
-- What the fold does not read may change.
CREATE OR REPLACE VIEW source AS SELECT s.g, s.id / 8 AS r, s.id, s.x, now() AS read_at FROM steps s;
SELECT stepadv.maintain('source');
TABLE age;
SELECT stepadv.unmaintain('source');
-- Triggers are known by their definitions, whatever the names are.
CREATE SCHEMA "it's \";
CREATE TABLE "it's \"."steps \'" (g text, r text, n integer);
CREATE INDEX ON "it's \"."steps \'" (g);
SELECT count(*) > 5 AS attached FROM stepadv.attach('"it''s \"."steps \''"', '{g}', 'r', 'n', reward => 'n', prefix => 'odd');
SET quote_all_identifiers = on;
SELECT stepadv.maintain('"it''s \"."steps \''"');
SELECT problem FROM stepadv.maintained() WHERE prefix = 'odd';
ALTER TRIGGER odd_maintain_insert ON "it's \"."steps \'" RENAME TO renamed;
SELECT stepadv.refresh('"it''s \"."steps \''"', full => true);
RESET quote_all_identifiers;
SELECT problem FROM stepadv.maintained() WHERE prefix = 'odd';
SELECT tgname FROM pg_trigger WHERE tgrelid = '"it''s \"."steps \''"'::regclass ORDER BY tgname;
SELECT stepadv.unmaintain('"it''s \"."steps \''"');
SELECT count(*) FROM pg_trigger WHERE tgrelid = '"it''s \"."steps \''"'::regclass;
SET client_min_messages = error;
DROP SCHEMA ff, "it's \" CASCADE;

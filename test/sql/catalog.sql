-- Catalog lookups: attachments, columns of views, tables below views, equality operators, the owner's rights.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
\set VERBOSITY terse

CREATE ROLE regress_catalog_owner;
CREATE ROLE regress_catalog_stranger;
CREATE ROLE regress_catalog_member IN ROLE regress_catalog_owner;
CREATE SCHEMA cat AUTHORIZATION regress_catalog_owner;
CREATE SCHEMA cat_stranger AUTHORIZATION regress_catalog_stranger;
GRANT USAGE ON SCHEMA cat TO regress_catalog_stranger;

-- attachments: a valid one
SET ROLE regress_catalog_owner;
CREATE TABLE cat.steps (id integer PRIMARY KEY, task text, x integer);
CREATE VIEW cat.s_rows AS SELECT task, id::bigint AS step_id FROM cat.steps;
CREATE VIEW cat.s_shown AS SELECT * FROM cat.steps;
CREATE VIEW cat.s_values AS SELECT * FROM cat.s_rows;
CREATE VIEW cat.s_rtmc AS SELECT * FROM cat.s_rows;
CREATE TABLE cat.s_folded (task text);
CREATE TABLE cat.s_attachment OF stepadv.attachment;
-- Not yet: there is no row.
SELECT count(*) FROM stepadv_internal.attachments();
INSERT INTO cat.s_attachment (prefix, rows, shown, n_group_columns, options, methods, views, kept, folded)
VALUES ('s', 'cat.s_rows', 'cat.s_shown', 1, '{"gamma": 0.9}', '{mine}', '{cat.s_values,cat.s_rtmc}', 'triggers', 'cat.s_folded');
RESET ROLE;
SELECT attachment, owner::regrole, source, prefix, rows, shown, shown_rollouts, n_group_columns, states, options, methods, views, kept, folded, changed
FROM stepadv_internal.attachments();
-- A user without the owner's rights can ask for the attachments of one role.
SET ROLE regress_catalog_stranger;
SELECT attachment::oid = (SELECT oid FROM pg_class WHERE relname = 's_attachment') AS the_table FROM stepadv_internal.attachments();
SELECT count(*) FROM stepadv_internal.attachments('regress_catalog_owner'::regrole);
SELECT count(*) FROM stepadv_internal.attachments('regress_catalog_stranger'::regrole);
RESET ROLE;
-- It follows what is renamed, and a transaction sees its own changes.
BEGIN;
ALTER SCHEMA cat RENAME TO cat2;
ALTER VIEW cat2.s_rows RENAME TO "S rows";
UPDATE cat2.s_attachment SET prefix = 'S';
SELECT attachment, source, prefix, rows, views FROM stepadv_internal.attachments();
ROLLBACK;
-- A view or table that was dropped, or belongs to another user.
BEGIN;
DROP VIEW cat.s_shown;
ALTER VIEW cat.s_values OWNER TO regress_catalog_stranger;
ALTER TABLE cat.s_folded OWNER TO regress_catalog_stranger;
SELECT prefix, rows, shown, views, folded FROM stepadv_internal.attachments();
ALTER VIEW cat.s_rows OWNER TO regress_catalog_stranger;
SELECT count(*) FROM stepadv_internal.attachments();
ROLLBACK;
-- The source: through subqueries, windows and WITH; not queries within expressions; one.
CREATE FUNCTION pg_temp.source_of(query text) RETURNS regclass LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'DROP VIEW IF EXISTS cat.s_rows CASCADE';
	EXECUTE 'CREATE VIEW cat.s_rows AS ' || query;
	EXECUTE 'ALTER VIEW cat.s_rows OWNER TO regress_catalog_owner';
	UPDATE cat.s_attachment SET rows = 'cat.s_rows'::text::regclass;
	RETURN (SELECT source FROM stepadv_internal.attachments());
END $$;
BEGIN;
SELECT pg_temp.source_of('SELECT task, row_number() OVER w AS n, (SELECT max(oid) FROM pg_class) AS m FROM (SELECT s.* FROM cat.steps s WHERE x > 1) s WINDOW w AS (PARTITION BY task)');
SELECT pg_temp.source_of('WITH s AS (SELECT * FROM cat.steps) SELECT a.task FROM s a JOIN s b USING (task), LATERAL generate_series(1, 2)');
SELECT pg_temp.source_of('SELECT * FROM cat.s_shown');
SELECT pg_temp.source_of('SELECT s.task FROM cat.steps s, cat.s_folded f');
SELECT pg_temp.source_of('SELECT task FROM cat.steps UNION ALL SELECT task FROM cat.s_folded');
SELECT pg_temp.source_of('SELECT 1 AS task');
ROLLBACK;

-- attachments: what another user can write
SET ROLE regress_catalog_owner;
GRANT SELECT ON cat.steps TO regress_catalog_stranger;
SET ROLE regress_catalog_stranger;
SET search_path = cat_stranger, pg_catalog;
CREATE VIEW own_rows AS SELECT task FROM cat.steps;
CREATE TABLE own_table (task text);
-- Over another user's table, naming their views and tables: it belongs to its creator, and names only the creator's own.
CREATE TABLE f_attachment OF stepadv.attachment;
INSERT INTO f_attachment (prefix, rows, shown, folded, changed, fresh, views) VALUES
	('s', 'own_rows', 'cat.s_shown', 'cat.s_folded', 0, 4000000000, '{cat.s_values,own_table,NULL,4000000000,cat.steps}');
SELECT attachment, owner::regrole, source, rows, shown, folded, changed, fresh, views
FROM stepadv_internal.attachments() WHERE owner = 'regress_catalog_stranger'::regrole;
CREATE FUNCTION pg_temp.try(statements text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE 'TRUNCATE cat_stranger.f_attachment';
	EXECUTE statements;
	RETURN (SELECT count(*) FROM stepadv_internal.attachments('regress_catalog_stranger'::regrole));
END $$;
-- An attachment of another user does not hinder this, and it is none.
SELECT pg_temp.try(s), s FROM (VALUES
	('INSERT INTO cat_stranger.f_attachment DEFAULT VALUES'),
	('INSERT INTO cat_stranger.f_attachment (rows) VALUES (''cat.s_rows'')'),
	('INSERT INTO cat_stranger.f_attachment (rows) VALUES (''cat_stranger.own_table'')'),
	('INSERT INTO cat_stranger.f_attachment (rows) VALUES (''pg_class''), (''pg_views'')'),
	('INSERT INTO cat_stranger.f_attachment (rows) VALUES (4000000000)'),
	('INSERT INTO cat_stranger.f_attachment (rows) VALUES (''cat_stranger.own_rows''), (''cat_stranger.own_rows'')'),
	('INSERT INTO cat_stranger.f_attachment (rows, views) VALUES (''cat_stranger.own_rows'', array_fill(1259::regclass, ARRAY[100000]))'),
	('INSERT INTO cat_stranger.f_attachment (rows, prefix) VALUES (''cat_stranger.own_rows'', repeat(''x'', 20000000))'),
	('INSERT INTO cat_stranger.f_attachment (rows, states) VALUES (''cat_stranger.own_rows'', (SELECT string_agg(md5(i::text), '''') FROM generate_series(1, 50000) i))'))
	v(s);
-- These are attachments of their creator, though unusual.
SELECT pg_temp.try('INSERT INTO cat_stranger.f_attachment (rows, views, methods, options, n_group_columns, prefix) VALUES
	(''cat_stranger.own_rows'', ''[3:4][-1:0]={{cat.steps,cat_stranger.own_table},{NULL,1259}}'', ''{{a,NULL}}'', ''"no object"'', -7, repeat(''x'', 500000))');
SELECT views, length(prefix), methods, options FROM stepadv_internal.attachments('regress_catalog_stranger'::regrole);
SELECT pg_temp.try('INSERT INTO cat_stranger.f_attachment (rows, views, methods) VALUES (''cat_stranger.own_rows'', ''{}'', ''{}'')');
SELECT views, methods FROM stepadv_internal.attachments('regress_catalog_stranger'::regrole);

-- No code of the creator's runs: not by row security, a rule, a child, a check, an index.
CREATE FUNCTION boom() RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE EXCEPTION 'as %', current_user; END $$;
ALTER TABLE f_attachment ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY p ON f_attachment USING (boom());
CREATE TABLE f_child () INHERITS (f_attachment);
INSERT INTO f_child (rows) VALUES ('own_rows'), ('own_rows');
ALTER TABLE f_attachment ADD CHECK (boom()) NOT VALID;
SELECT count(*) FROM stepadv_internal.attachments('regress_catalog_stranger'::regrole);
-- A partitioned table is none, and neither is a view, where a table can become one.
CREATE TABLE p_attachment OF stepadv.attachment PARTITION BY LIST (prefix);
CREATE TABLE v_attachment OF stepadv.attachment;
DO $$
BEGIN
	CREATE RULE "_RETURN" AS ON SELECT TO v_attachment DO INSTEAD
		SELECT 'v'::text AS prefix, 'own_rows'::regclass AS rows, NULL::regclass AS stated, NULL::regclass AS shown, NULL::regclass AS shown_rollouts,
			NULL::regclass AS began, 0 AS n_group_columns, NULL::text AS states,
			NULL::jsonb AS options, NULL::text[] AS methods, NULL::regclass[] AS views, NULL::text[] AS view_kinds, NULL::text AS kept, NULL::regclass AS fresh,
			NULL::regclass AS folded, NULL::regclass AS changed,
			NULL::regclass AS fresh_digests, NULL::regclass AS made_digests, NULL::regclass AS digests, NULL::text[] AS digest_parts,
			NULL::text AS unit, NULL::text[] AS rewards, NULL::text[] AS dimensions,
			NULL::text AS watermark, NULL::interval AS overlap, NULL::regclass AS seen, NULL::timestamptz AS seen_until, NULL::timestamptz AS as_of,
			NULL::jsonb AS folded_from
		WHERE boom();
EXCEPTION WHEN wrong_object_type THEN
	NULL;						-- from 16 on
END $$;
-- Functions, columns and views of the type, domains over it.
CREATE TABLE of_type (a stepadv.attachment, b stepadv.attachment[]);
CREATE FUNCTION of_type(stepadv.attachment) RETURNS stepadv.attachment LANGUAGE sql AS 'SELECT $1';
CREATE VIEW view_of_type AS SELECT * FROM f_attachment;
SELECT count(*) FROM stepadv_internal.attachments('regress_catalog_stranger'::regrole);
-- Views that read each other.
CREATE VIEW other_rows AS SELECT * FROM own_rows;
CREATE OR REPLACE VIEW own_rows AS SELECT task FROM other_rows;
SELECT source FROM stepadv_internal.attachments('regress_catalog_stranger'::regrole);
-- A view that is too deep to be read with a small stack: the others are there.
DO $$
BEGIN
	EXECUTE format('CREATE OR REPLACE VIEW own_rows AS SELECT task FROM %scat.steps%s', repeat('(SELECT * FROM ', 500), repeat(') s', 500));
END $$;
RESET ROLE;
SET max_stack_depth = '100kB';
SELECT owner::regrole, source FROM stepadv_internal.attachments() ORDER BY owner;
RESET max_stack_depth;
SELECT owner::regrole, source FROM stepadv_internal.attachments() ORDER BY owner;
-- A temporary one is its session's.
RESET search_path;
CREATE TEMP TABLE temp_steps (task text);
CREATE TEMP VIEW temp_rows AS SELECT * FROM temp_steps;
CREATE TEMP TABLE temp_attachment OF stepadv.attachment;
INSERT INTO temp_attachment (rows) VALUES ('temp_rows');
SELECT attachment, source FROM stepadv_internal.attachments() WHERE rows = 'temp_rows'::regclass;
DROP TABLE temp_attachment;

-- view_columns
SET search_path = cat, pg_catalog;
CREATE DOMAIN cat.words AS text;
CREATE TABLE t (gone integer, g integer, k varchar(5), x text, y integer, w words, PRIMARY KEY (g));
ALTER TABLE t DROP COLUMN gone;
CREATE TABLE u (k integer, z float8, g integer);
CREATE TABLE w (h bigint, c text);

CREATE VIEW plain AS SELECT g AS "the group", k::text AS kk, w, w::text AS ww, t AS whole, ctid FROM t;
CREATE VIEW computed AS
SELECT stepadv.signature_hash(x) AS h, coalesce(y, 1) AS c, NULL::integer AS nothing, k || x AS kx,
	row_number() OVER (PARTITION BY g ORDER BY y) AS n, sum(y) FILTER (WHERE x <> '') OVER named AS s,
	(SELECT u.z FROM u WHERE u.g = t.g) AS sub
FROM t WHERE k <> 'no' WINDOW named AS (PARTITION BY k);
CREATE VIEW nested AS
WITH one AS (SELECT g, sum(y) AS s FROM t GROUP BY g HAVING sum(y) > 0)
SELECT one.g, s, z, l.m, l.m AS mm, q.a, v.column1 AS v
FROM one JOIN u USING (g) LEFT JOIN LATERAL (SELECT x AS m FROM t WHERE t.g = one.g) l ON true,
	jsonb_to_record(l.m::jsonb) AS q (a integer), LATERAL (VALUES (1), (z)) v;
CREATE VIEW united AS SELECT g, x FROM t UNION ALL SELECT g, z::text FROM u UNION ALL SELECT "the group", kk FROM plain;
CREATE VIEW filled AS SELECT g, t.k, z FROM t FULL JOIN u USING (g);
CREATE VIEW recursive AS WITH RECURSIVE r (a, b) AS (SELECT g, y FROM t UNION ALL SELECT b, a FROM r WHERE a < 10) SELECT * FROM r;
SELECT v.view, c.number AS no, c.name, c.relation, c.column_number AS column, c.column_name, c.plain
FROM unnest('{plain,computed,nested,united,filled,recursive,t,4000000000}'::regclass[]) WITH ORDINALITY v (view, o), stepadv_internal.view_columns(v.view) c
ORDER BY v.o, c.number, c.relation::text, c.column_number;
-- Renamed, it is the same column.
ALTER TABLE t RENAME COLUMN x TO "new x";
ALTER TABLE t RENAME TO "new t";
SELECT * FROM stepadv_internal.view_columns('united') WHERE column_number = 4;
ALTER TABLE "new t" RENAME TO t;
ALTER TABLE t RENAME COLUMN "new x" TO x;
-- Is a column never NULL? Yes if tables declare it, and no outer join or default fills it.
CREATE TABLE nn (k integer NOT NULL, l integer);
CREATE VIEW nn_both AS SELECT k, l, k + 1 AS c FROM nn UNION ALL SELECT k, k, k FROM nn;
CREATE VIEW nn_none AS SELECT k, NULL AS l FROM nn UNION ALL SELECT NULL, NULL;
CREATE VIEW nn_filled AS SELECT b.k, a.k AS kept FROM nn a LEFT JOIN nn b USING (l);
CREATE VIEW nn_sets AS SELECT k, count(*) AS n FROM nn GROUP BY ROLLUP (k);
CREATE VIEW nn_below AS SELECT k FROM nn_both;
CREATE VIEW nn_sub AS SELECT s.k FROM (SELECT k FROM nn WHERE l > 1) s;
SELECT v.view, a.attname, stepadv_internal.is_never_null(v.view, a.attnum::integer) FROM unnest('{nn,nn_both,nn_none,nn_filled,nn_sets,nn_below,nn_sub}'::regclass[]) WITH ORDINALITY v (view, o)
JOIN pg_attribute a ON a.attrelid = v.view AND a.attnum > 0 ORDER BY v.o, a.attnum;
-- Sixty levels of self-joins take no more work than sixty.
DO $$
BEGIN
	CREATE VIEW cat.level0 AS SELECT g FROM cat.t;
	FOR i IN 1 .. 60 LOOP
		EXECUTE format('CREATE VIEW cat.level%s AS SELECT a.g FROM cat.level%s a JOIN cat.level%s b USING (g)', i, i - 1, i - 1);
	END LOOP;
END $$;
SELECT relation, keys, reads FROM stepadv_internal.tables_read('{level60}', 1, false);

-- equality_operator
CREATE TYPE cat.mood AS ENUM ('sad', 'happy');
CREATE TYPE cat.pair AS (a integer, b text);
CREATE TYPE cat.odd_pair AS (a integer, b json);
-- A type of an extension: with a default operator class, in a schema of its own.
CREATE SCHEMA ext;
GRANT USAGE, CREATE ON SCHEMA ext TO regress_catalog_stranger;
CREATE TYPE ext.money;
CREATE FUNCTION ext.money_in(cstring) RETURNS ext.money LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION ext.money_out(ext.money) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE ext.money (INPUT = ext.money_in, OUTPUT = ext.money_out, LIKE = integer);
CREATE FUNCTION ext.money_eq(ext.money, ext.money) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
CREATE FUNCTION ext.money_cmp(ext.money, ext.money) RETURNS integer LANGUAGE internal IMMUTABLE STRICT AS 'btint4cmp';
CREATE OPERATOR ext.= (LEFTARG = ext.money, RIGHTARG = ext.money, FUNCTION = ext.money_eq);
SELECT stepadv_internal.equality_operator('ext.money'::regtype);
CREATE OPERATOR CLASS ext.money_ops DEFAULT FOR TYPE ext.money USING btree AS OPERATOR 3 ext.=, FUNCTION 1 ext.money_cmp(ext.money, ext.money);
CREATE DOMAIN ext.price AS ext.money;
GRANT USAGE ON TYPE ext.money, ext.price TO PUBLIC;
SELECT type, stepadv_internal.equality_operator(type)
FROM unnest('{integer,text,varchar(3),char,name,date,jsonb,uuid,oid,regclass,words,mood,pair,integer[],varchar[],pair[],int4range,xid,ext.money,ext.price,ext.money[]}'::regtype[]) type;
SELECT stepadv_internal.equality_operator('json'::regtype);
SELECT stepadv_internal.equality_operator('point'::regtype);
SELECT stepadv_internal.equality_operator('json[]'::regtype);
SELECT stepadv_internal.equality_operator('odd_pair'::regtype);
SELECT stepadv_internal.equality_operator(4000000000);
SELECT stepadv_internal.equality_operator(NULL) IS NULL AS of_nothing;
-- Another user's operators: one called = for built-in types, and one that fits the domain better.
SET ROLE regress_catalog_stranger;
CREATE FUNCTION ext.evil(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR ext.= (LEFTARG = text, RIGHTARG = text, FUNCTION = ext.evil);
CREATE FUNCTION ext.evil(ext.price, ext.price) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR ext.= (LEFTARG = ext.price, RIGHTARG = ext.price, FUNCTION = ext.evil);
RESET ROLE;
SET search_path = ext, cat, pg_catalog;
SELECT stepadv_internal.equality_operator('text'::regtype), stepadv_internal.equality_operator('ext.money'::regtype);
SELECT stepadv_internal.equality_operator('ext.price'::regtype);
SET search_path = cat, pg_catalog;

-- tables_read
CREATE TABLE a (g integer, y integer, x integer);
CREATE TABLE b (k integer, g integer, z integer);
CREATE TABLE c (h bigint, z integer);
CREATE TABLE p (id integer PRIMARY KEY, g integer);
CREATE VIEW ab AS SELECT b.z, a.g, a.y FROM a JOIN b ON b.k = a.g;
-- The first column of each result is asked about.
CREATE TABLE queries (no serial, query text);
INSERT INTO queries (query) VALUES
-- joins
('SELECT g FROM a'),
('SELECT g FROM a JOIN b USING (g)'),
('SELECT a.g FROM a JOIN b ON a.g = b.k AND b.z > a.y'),
('SELECT b.k FROM a, b, c WHERE a.g = b.k AND (a.g = c.h AND b.z IS NOT NULL)'),
('SELECT c.h FROM a JOIN b USING (g) JOIN c ON c.h = g'),
('SELECT j.g FROM (a JOIN b USING (g)) AS j JOIN c ON c.h = j.g'),
('SELECT a.g, b.z FROM a LEFT JOIN b ON a.g = b.k'),
('SELECT b.k, a.y FROM a LEFT JOIN b ON a.g = b.k'),
('SELECT b.k, a.y FROM b RIGHT JOIN a ON a.g = b.k'),
('SELECT g, y, z FROM b RIGHT JOIN a USING (g)'),
('SELECT g, y, z FROM a FULL JOIN b USING (g)'),
('SELECT c.h, a.y, b.z FROM c JOIN (a FULL JOIN b ON a.g = b.g) ON c.h = a.g'),
('SELECT a.g, b.z, c.z AS cz FROM a LEFT JOIN (b JOIN c ON b.k = c.h) ON a.g = b.k'),
('SELECT a.g, b.z, c.z AS cz FROM a LEFT JOIN (b LEFT JOIN c ON b.k = c.h) ON a.g = b.k'),
('SELECT a.g, b.z, c.z AS cz FROM a LEFT JOIN b ON a.g = b.k LEFT JOIN c ON b.k = c.h'),
('SELECT a.g, c.z FROM a LEFT JOIN b ON a.g = b.k AND a.y = a.g JOIN c ON c.h = a.y'),
('SELECT a.y, c.z FROM a LEFT JOIN b ON a.g = b.k AND a.y = a.g JOIN c ON c.h = a.g'),
('SELECT a.g, b.z FROM a LEFT JOIN b ON a.g = b.k WHERE a.y = b.g'),
('SELECT c.h, a.y FROM a LEFT JOIN b ON a.g = b.k JOIN c ON c.h = b.k'),
('SELECT b.k, a.y FROM a LEFT JOIN b ON a.g = b.k JOIN c ON c.h = b.k'),
('SELECT b.k, a.y FROM a LEFT JOIN b ON a.g = b.k WHERE b.k = b.z'),
('SELECT a.g, c.h FROM a LEFT JOIN (b LEFT JOIN c ON b.k = c.h) ON a.g = c.h'),
('SELECT a.g, b.z FROM c RIGHT JOIN (b RIGHT JOIN a ON a.g = b.k) ON c.h = b.k'),
('SELECT p.g, a.y, b.z FROM p LEFT JOIN (a FULL JOIN b ON a.g = b.k) ON p.g = b.k'),
('SELECT p.g, a.y, b.z FROM p LEFT JOIN (a FULL JOIN b ON a.g = b.k) ON p.g = coalesce(b.k, a.g)'),
('SELECT p.g, a.y, b.z FROM p JOIN (a FULL JOIN (b JOIN c ON b.z = c.h) ON a.g = b.z) ON p.g = a.g'),
('SELECT a.g FROM a JOIN a a2 ON a.g = a2.y'),
('SELECT a.g FROM a JOIN a a2 ON a.g = a2.g'),
('SELECT a.g FROM a, b WHERE a.g::bigint = b.k'),
('SELECT a.g FROM a, b WHERE a.g = b.k OR a.y = b.k'),
('SELECT a.g + 0 FROM a, b WHERE a.g = b.k'),
('SELECT a.g FROM a, b WHERE (a.g, a.y) = (b.k, b.z)'),
-- subqueries, WITH, views of views
('SELECT g, s FROM (SELECT g, sum(y) AS s FROM a GROUP BY g HAVING sum(y) > 1) q'),
('SELECT k, s FROM (SELECT g, sum(y) AS s FROM a GROUP BY g) q JOIN b ON b.k = q.g'),
('SELECT b.k, s FROM b LEFT JOIN (SELECT g, sum(y) AS s FROM a GROUP BY g) q ON b.k = q.g'),
('WITH q AS (SELECT g, y FROM a) SELECT q.g, r.y FROM q JOIN q r ON q.g = r.g'),
('WITH q AS (SELECT g, y FROM a) SELECT q.g, r.y FROM q JOIN q r ON q.g = r.y'),
('WITH RECURSIVE q (g) AS (SELECT g FROM a UNION SELECT b.k FROM q JOIN b ON b.g = q.g) SELECT g FROM q'),
('SELECT g, y, z FROM ab'),
('SELECT h, ab.z FROM ab RIGHT JOIN c ON h = ab.g'),
('SELECT y FROM ab'),
('SELECT g FROM ab UNION ALL SELECT h FROM c'),
-- sets
('SELECT g FROM a UNION SELECT k FROM b'),
('SELECT g, y FROM a EXCEPT SELECT k, z FROM b'),
('SELECT g, y FROM a INTERSECT ALL SELECT k, z FROM b'),
('SELECT g FROM a UNION ALL SELECT h FROM c UNION ALL SELECT k + 1 FROM b'),
('SELECT g::numeric FROM a UNION ALL SELECT h FROM c'),
('(SELECT g FROM a ORDER BY g, y, x LIMIT 2) UNION ALL SELECT k FROM b'),
('SELECT q.g FROM (SELECT g FROM a UNION ALL SELECT k FROM b) q JOIN c ON c.h = q.g'),
-- LATERAL and queries in expressions
('SELECT a.g, m FROM a LEFT JOIN LATERAL (SELECT max(z) AS m FROM b WHERE b.k = a.g) l ON true'),
('SELECT a.g, l.z FROM a LEFT JOIN LATERAL (SELECT DISTINCT ON (b.g) b.z FROM b WHERE b.k = a.g ORDER BY b.g, b.z LIMIT 1) l ON true'),
('SELECT a.g, l.z FROM a, LATERAL (WITH q AS (SELECT z, k FROM b WHERE b.k = a.g) SELECT z FROM q ORDER BY z OFFSET 1) l'),
('SELECT a.g, l.z FROM a, LATERAL (SELECT q.z FROM (SELECT z FROM b WHERE b.k = a.g ORDER BY z LIMIT 1) q) l'),
('SELECT a.g, l.z FROM a, LATERAL (SELECT q.z FROM (SELECT z, k FROM b ORDER BY z, k LIMIT 2) q WHERE q.k = a.g) l'),
('SELECT a.g, l.z FROM a, LATERAL (SELECT z FROM b WHERE b.k = a.g UNION SELECT z FROM c WHERE c.h = a.g) l'),
('SELECT a.g, l.z FROM a, LATERAL (SELECT b.z FROM c LEFT JOIN b ON b.k = c.h WHERE c.h = a.g) l'),
('SELECT a.g, l.z FROM a, LATERAL (SELECT b.z FROM c LEFT JOIN b ON b.k = a.g WHERE c.z = a.g) l'),
('SELECT j.g, l.z FROM (a JOIN c ON a.g = c.h) j, LATERAL (SELECT b.z FROM b WHERE b.k = j.h) l'),
('SELECT a.g, b.z FROM a, LATERAL (SELECT a.g AS h, a.y) l, b WHERE b.k = l.h'),
('SELECT a.g, b.z FROM a, LATERAL (SELECT a.g AS h LIMIT 1) l, b WHERE b.k = l.h'),
('SELECT a.g, (SELECT max(z) FROM b WHERE b.k = a.g), EXISTS (SELECT FROM c WHERE c.h = a.y) FROM a'),
('SELECT a.g FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.g AND b.z = a.y)'),
('SELECT a.g FROM a WHERE a.g IN (SELECT b.k FROM b)'),
('SELECT a.g FROM a WHERE (SELECT count(*) FROM b) > 5'),
('SELECT a.g, b.z FROM a LEFT JOIN b ON a.g = b.k AND EXISTS (SELECT FROM c WHERE c.h = b.k)'),
('SELECT a.g, n FROM a, generate_series(1, (SELECT count(*) FROM b WHERE b.k = a.g)) n'),
('SELECT a.g, v FROM a JOIN (VALUES (1), (2)) v (v) ON v = a.g'),
-- what makes rows depend on others
('SELECT g FROM a ORDER BY g, y, x LIMIT 3'),
('SELECT DISTINCT g, y FROM a'),
('SELECT DISTINCT ON (g) g, y, x FROM a ORDER BY g, y, x'),
('SELECT DISTINCT ON (y) g, y, x FROM a ORDER BY y, x, g'),
('SELECT g, count(*) OVER (PARTITION BY g) FROM a'),
('SELECT g, count(*) OVER (PARTITION BY g, y), sum(y) OVER () FROM a'),
('SELECT g, count(*) OVER (PARTITION BY y) FROM a'),
('SELECT g, count(*) FROM a GROUP BY GROUPING SETS ((g), ())'),
('SELECT p.g, count(*) FROM p JOIN a ON a.g = p.g GROUP BY p.id'),
('SELECT p.g, count(a.y) FROM p LEFT JOIN a ON a.g = p.g GROUP BY p.id'),
('SELECT g, (SELECT array_agg(b.z ORDER BY b.z) FROM b WHERE b.k = a.g) FROM a GROUP BY g'),
('SELECT count(*) FROM a'),
('SELECT a.g, b.z FROM a, LATERAL (SELECT a.g + 0 AS h) l, b WHERE b.k = l.h');
CREATE FUNCTION pg_temp.keys(query text) RETURNS TABLE (relation regclass, key text, reads smallint[]) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CREATE OR REPLACE VIEW cat.probe AS ' || query;
	RETURN QUERY SELECT r.relation, t.attname::text, r.reads
		FROM stepadv_internal.tables_read(ARRAY['cat.probe'::text::regclass], 1, false) r
			LEFT JOIN pg_attribute t ON t.attrelid = r.relation AND t.attnum = r.keys[1];
	DROP VIEW cat.probe;
END $$;
SELECT q.no, string_agg(k.relation || '.' || coalesce(k.key, '?'), ' ' ORDER BY k.relation::text) AS keys, q.query
FROM queries q, pg_temp.keys(q.query) k GROUP BY q.no, q.query ORDER BY q.no;

-- Tables that are given themselves, several views, columns that are read; columns by number, dropped ones counted.
CREATE VIEW reads AS SELECT t.g, count(*) AS n, t.tableoid FROM t JOIN u USING (g) WHERE t.y > 1 GROUP BY t.g, t.tableoid HAVING max(u.z) > 0;
CREATE VIEW whole AS SELECT g, to_jsonb(u) AS u FROM u;
SELECT relation, keys, reads FROM stepadv_internal.tables_read('{reads}', 2, false);
SELECT relation, keys, reads FROM stepadv_internal.tables_read('{reads,whole,plain,NULL,4000000000}', 1, false);
SELECT relation, keys, reads FROM stepadv_internal.tables_read('{t}', 2, false);
-- Of views below, only what is read: conditions, keys, sort columns if rows are counted, columns used above. The arms of UNION ALL are read by column; UNION compares all.
CREATE VIEW wide AS SELECT t.g, t.x, u.z, row_number() OVER (ORDER BY t.y) AS place FROM t LEFT JOIN u ON u.g = t.g;
CREATE VIEW all_of AS SELECT g, y, x FROM t UNION ALL SELECT g, z, '' FROM u;
CREATE VIEW any_of AS SELECT g, y FROM t UNION SELECT g, z FROM u;
CREATE VIEW of_wide AS SELECT s.g FROM (SELECT w.* FROM wide w) s;
CREATE VIEW of_wide_z AS SELECT w.g, (SELECT w.z) AS z FROM wide w;
CREATE VIEW of_wide_row AS SELECT w.g, to_jsonb(w) AS w FROM wide w;
CREATE VIEW of_all AS SELECT g, x FROM all_of;
CREATE VIEW of_any AS SELECT g FROM any_of;
SELECT v.v, r.relation, (SELECT string_agg(a.attname, ' ' ORDER BY a.attnum) FROM pg_attribute a
	WHERE a.attrelid = r.relation AND a.attnum = ANY (r.reads)) AS reads
FROM unnest('{of_wide,of_wide_z,of_wide_row,of_all,of_any}'::regclass[]) WITH ORDINALITY v(v, i),
	stepadv_internal.tables_read(ARRAY[v.v], 1, false) r ORDER BY v.i, r.relation::text;
SELECT relation, keys, reads FROM stepadv_internal.tables_read('{}', 1, false);
SELECT relation, keys, reads FROM stepadv_internal.tables_read('{reads}', -1, false);
SELECT count(*) FROM stepadv_internal.tables_read('{reads}', NULL, false);
-- Keys of other types. A cast that is a function is not followed, and what one type takes for equal must be so for the other.
DO $$
BEGIN
	CREATE COLLATION cat.anycase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
EXCEPTION WHEN OTHERS THEN
	CREATE COLLATION cat.anycase FROM "C";	-- a server without ICU
END $$;
CREATE TABLE k1 (i integer, v varchar(9), m mood, p pair, d words, n name, dt date, ci text COLLATE cat.anycase, mo ext.money, bp char(3), ar integer[]);
CREATE TABLE k2 (i bigint, v text, m mood, p pair, d text, n text COLLATE "C", dt timestamp, tz timestamptz, ci text COLLATE cat.anycase, mo ext.money, bp char(5), ar integer[], t text);
CREATE FUNCTION pg_temp.equated(condition text, key text) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(max(k.key), '?') FROM pg_temp.keys(format('SELECT k2.%s FROM k1, k2 WHERE k1.%s', key, condition)) k WHERE k.relation = 'k1'::regclass
$$;
SELECT condition, pg_temp.equated(condition, key) FROM (VALUES ('i = k2.i', 'i'), ('v = k2.v', 'v'), ('m = k2.m', 'm'), ('p = k2.p', 'p'),
	('d = k2.d', 'd'), ('n = k2.n', 'n'), ('dt = k2.dt', 'dt'), ('dt = k2.tz', 'tz'), ('ci = k2.ci', 'ci'), ('bp = k2.bp', 'bp'), ('ar = k2.ar', 'ar'),
	('mo OPERATOR(ext.=) k2.mo', 'mo'), ('bp = k2.t', 't'), ('i = k2.i + 0', 'i'), ('i >= k2.i', 'i'), ('v COLLATE "C" = k2.v', 'v'), ('i IS NOT DISTINCT FROM k2.i', 'i')) c (condition, key);

-- The answers are true: change random rows of a table, and see which result rows change. The keys of changed rows, old and new, must be among first columns.
CREATE FUNCTION pg_temp.random_row(tab regclass) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT string_agg(CASE WHEN attname = 'id' THEN (SELECT coalesce(max(id), 0) + 1 FROM cat.p)::text
		WHEN random() < 0.15 THEN 'NULL' ELSE (1 + floor(3 * random()))::text END, ', ')
	FROM pg_attribute WHERE attrelid = tab AND attnum > 0
$$;
CREATE FUNCTION pg_temp.result() RETURNS jsonb[] LANGUAGE plpgsql AS $$
DECLARE
	rows jsonb[];
BEGIN
	EXECUTE 'SELECT array_agg(jsonb_build_array(v.k, to_jsonb(v))) FROM cat.probe AS v (k)' INTO rows;
	RETURN coalesce(rows, '{}');
END $$;
-- How often it was false in so many changes of a table.
CREATE FUNCTION pg_temp.misses(tab regclass, key text, n_changes integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	misses integer := 0;
	before jsonb[] := pg_temp.result();
	after jsonb[];
	old jsonb;
	new jsonb;
	n integer;
BEGIN
	FOR i IN 1 .. n_changes LOOP
		EXECUTE format('SELECT count(*) FROM %s', tab) INTO n;
		old := NULL;
		new := NULL;
		IF n > 3 AND random() < 0.6 OR n > 8 THEN
			EXECUTE format('DELETE FROM %s WHERE ctid = (SELECT ctid FROM %1$s ORDER BY random() LIMIT 1) RETURNING to_jsonb(%1$s)', tab) INTO old;
		END IF;
		IF old IS NULL OR random() < 0.5 THEN
			EXECUTE format('INSERT INTO %s VALUES (%s) RETURNING to_jsonb(%1$s)', tab, pg_temp.random_row(tab)) INTO new;
		END IF;
		after := pg_temp.result();
		misses := misses + EXISTS (
			SELECT FROM ((SELECT unnest(before) EXCEPT ALL SELECT unnest(after)) UNION ALL (SELECT unnest(after) EXCEPT ALL SELECT unnest(before))) d (r)
			WHERE NOT (old IS NOT NULL AND old->>key IS NOT DISTINCT FROM r->>0 OR new IS NOT NULL AND new->>key IS NOT DISTINCT FROM r->>0))::integer;
		before := after;
	END LOOP;
	RETURN misses;
END $$;
CREATE FUNCTION pg_temp.misses_of(query text, n_changes integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	misses integer := 0;
	one record;
BEGIN
	FOR one IN SELECT * FROM pg_temp.keys(query) WHERE key IS NOT NULL LOOP
		EXECUTE 'CREATE VIEW cat.probe AS ' || query;
		misses := misses + pg_temp.misses(one.relation, one.key, n_changes);
		DROP VIEW cat.probe;
	END LOOP;
	RETURN misses;
END $$;
INSERT INTO a SELECT i % 3 + 1, i % 2 + 1, i FROM generate_series(1, 6) i;
INSERT INTO b SELECT i % 3 + 1, i % 2 + 1, i FROM generate_series(1, 6) i;
INSERT INTO c SELECT i % 3 + 1, i FROM generate_series(1, 6) i;
INSERT INTO p SELECT i, i % 3 + 1 FROM generate_series(1, 6) i;
SELECT count(*) AS queries, sum(m) AS misses, string_agg(q.query, E'\n') FILTER (WHERE m > 0) AS wrong
FROM queries q, pg_temp.misses_of(q.query, 10) m;
-- This would find a key that is wrong.
CREATE VIEW probe AS SELECT g FROM a ORDER BY g, y, x LIMIT 3;
SELECT pg_temp.misses('a', 'g', 100) > 0 AS found_out;
DROP VIEW probe;
-- The same of random joins.
CREATE FUNCTION pg_temp.random_column(tables text[]) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT t || '.' || columns[1 + floor(random() * cardinality(columns))]
	FROM (SELECT t, CASE left(t, 1) WHEN 'a' THEN '{g,y}' WHEN 'b' THEN '{k,g,z}' WHEN 'c' THEN '{h,z}' WHEN 'p' THEN '{g}' ELSE '{g,y,z}' END::text[] AS columns
		FROM unnest(tables) t ORDER BY random() LIMIT 1) r
$$;
CREATE FUNCTION pg_temp.random_join(n integer, INOUT tables text[], OUT item text) LANGUAGE plpgsql AS $$
DECLARE
	n_left integer := 1 + floor(random() * (n - 1));
	kind text := (ARRAY['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'])[1 + floor(random() * 4)];
	n_before integer := cardinality(tables);
	left_tables text[];
	right_tables text[];
	left_item text;
BEGIN
	IF n = 1 THEN
		item := (ARRAY['a', 'b', 'c', 'p', 'ab'])[1 + floor(random() * 5)];
		IF item = 'ab' THEN
			tables := tables || ('v' || n_before);
			item := item || ' v' || n_before;
		ELSE
			tables := tables || (item || n_before);
			item := item || ' ' || item || n_before;
		END IF;
		RETURN;
	END IF;
	SELECT r.tables, r.item INTO tables, left_item FROM pg_temp.random_join(n_left, tables) r;
	left_tables := tables[n_before + 1 :];
	SELECT r.tables, r.item INTO tables, item FROM pg_temp.random_join(n - n_left, tables) r;
	right_tables := tables[n_before + cardinality(left_tables) + 1 :];
	item := format('(%s %s %s ON %s = %s', left_item, kind, item, pg_temp.random_column(left_tables), pg_temp.random_column(right_tables));
	IF random() < 0.3 AND kind <> 'FULL JOIN' THEN
		item := item || format(' AND %s = %s', pg_temp.random_column(left_tables || right_tables), pg_temp.random_column(left_tables || right_tables));
	END IF;
	item := item || ')';
END $$;
CREATE FUNCTION pg_temp.random_query() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	joined record := pg_temp.random_join(2 + floor(random() * 3)::integer, '{}');
	condition text := (SELECT string_agg(format('%s = %s', pg_temp.random_column(joined.tables), pg_temp.random_column(joined.tables)), ' AND ')
		FROM generate_series(1, floor(random() * 2.3)::integer));
BEGIN
	RETURN format('SELECT %s AS key, %s AS c2, %s AS c3 FROM %s', pg_temp.random_column(joined.tables), pg_temp.random_column(joined.tables),
		pg_temp.random_column(joined.tables), joined.item) || coalesce(' WHERE ' || condition, '');
END $$;
SELECT count(*) AS queries, sum(m) AS misses, string_agg(q.query, E'\n') FILTER (WHERE m > 0) AS wrong
FROM (SELECT pg_temp.random_query() AS query FROM generate_series(1, 60) OFFSET 0) q, pg_temp.misses_of(q.query, 5) m;

-- as_owner: public functions that do their work as the owner
RESET search_path;
CREATE FUNCTION stepadv_internal.probe(relation regclass, statement text DEFAULT 'SELECT 1') RETURNS TABLE (who name, path text, result text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE statement INTO answer;
	RETURN QUERY SELECT current_user, current_setting('search_path'), answer;
END $$;
CREATE FUNCTION stepadv.probe(relation regclass, statement text DEFAULT 'SELECT 1') RETURNS TABLE (who name, path text, result text)
LANGUAGE c AS '$libdir/stepadv', 'stepadv_as_owner';
-- The inner function must belong to the same extension, with the same types and result.
SELECT * FROM stepadv.probe('cat.steps');
ALTER EXTENSION stepadv ADD FUNCTION stepadv.probe(regclass, text);
SELECT * FROM stepadv.probe('cat.steps');
ALTER EXTENSION stepadv ADD FUNCTION stepadv_internal.probe(regclass, text);
ALTER FUNCTION stepadv_internal.probe(regclass, text) OWNER TO regress_catalog_stranger;
SELECT * FROM stepadv.probe('cat.steps');
ALTER FUNCTION stepadv_internal.probe(regclass, text) OWNER TO CURRENT_USER;
SELECT * FROM stepadv.probe('cat.steps');
CREATE FUNCTION stepadv_internal.probe_one(relation regclass) RETURNS integer STRICT LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION stepadv.probe_one(relation regclass) RETURNS bigint LANGUAGE c AS '$libdir/stepadv', 'stepadv_as_owner';
ALTER EXTENSION stepadv ADD FUNCTION stepadv_internal.probe_one(regclass);
ALTER EXTENSION stepadv ADD FUNCTION stepadv.probe_one(regclass);
SELECT stepadv.probe_one('cat.steps');
ALTER EXTENSION stepadv DROP FUNCTION stepadv.probe_one(regclass);
DROP FUNCTION stepadv.probe_one(regclass);
CREATE FUNCTION stepadv.probe_one(relation regclass) RETURNS integer LANGUAGE c AS '$libdir/stepadv', 'stepadv_as_owner';
ALTER EXTENSION stepadv ADD FUNCTION stepadv.probe_one(regclass);
SELECT stepadv.probe_one('cat.steps'), stepadv.probe_one(NULL) IS NULL AS of_nothing;
-- A set that an SQL function returns row by row, NULL for a strict one, and a set in the target list.
CREATE FUNCTION stepadv_internal.probe_set(relation regclass) RETURNS SETOF text STRICT LANGUAGE sql AS $$
	SELECT format('%s %s %s', i, current_user, current_setting('search_path')) FROM generate_series(1, 3) i
$$;
CREATE FUNCTION stepadv.probe_set(relation regclass) RETURNS SETOF text LANGUAGE c AS '$libdir/stepadv', 'stepadv_as_owner';
ALTER EXTENSION stepadv ADD FUNCTION stepadv_internal.probe_set(regclass);
ALTER EXTENSION stepadv ADD FUNCTION stepadv.probe_set(regclass);
SELECT * FROM stepadv.probe_set('cat.steps');
SELECT * FROM stepadv.probe_set(NULL);
SELECT stepadv.probe_set('cat.steps'), stepadv.probe_set(NULL), current_user = session_user AS myself LIMIT 2;
SELECT (p).who, (p).result FROM (SELECT stepadv.probe(r, 'SELECT 2') AS p FROM unnest('{cat.steps,cat_stranger.own_table,NULL}'::regclass[]) r OFFSET 0) s WHERE (p).who <> session_user;

-- Who runs it: the owner, for a superuser and for members of the owner's role; no other user becomes the owner.
SELECT who, path FROM stepadv.probe('cat_stranger.own_table');
SELECT who = session_user AS myself FROM unnest('{NULL,4000000000,pg_class}'::regclass[]) r, stepadv.probe(r);
SET ROLE regress_catalog_member;
SELECT who FROM stepadv.probe('cat.steps');
SELECT who FROM stepadv.probe('pg_class');
SET ROLE regress_catalog_stranger;
SELECT who FROM stepadv.probe('pg_class');
SELECT who FROM stepadv.probe('cat.steps');
-- Another user's code does only what that user could do, and nothing that outlasts the call.
CREATE FUNCTION cat_stranger.evil() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	SET search_path = public;
	ALTER ROLE regress_catalog_stranger SUPERUSER;
	RETURN 'superuser';
EXCEPTION WHEN OTHERS THEN
	RETURN current_user || ': ' || SQLSTATE;
END $$;
CREATE VIEW cat_stranger.evil_view AS SELECT cat_stranger.evil();
CREATE TABLE cat_stranger.evil_table (a text DEFAULT cat_stranger.evil(), b text);
CREATE FUNCTION cat_stranger.evil_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.b := cat_stranger.evil(); RETURN NEW; END';
CREATE TRIGGER evil BEFORE INSERT ON cat_stranger.evil_table FOR EACH ROW EXECUTE FUNCTION cat_stranger.evil_trigger();
CREATE FUNCTION cat_stranger.evil_cast(cat_stranger.own_table) RETURNS integer LANGUAGE sql AS 'SELECT length(cat_stranger.evil())';
CREATE CAST (cat_stranger.own_table AS integer) WITH FUNCTION cat_stranger.evil_cast(cat_stranger.own_table);
RESET ROLE;
SELECT who, result FROM stepadv.probe('cat_stranger.evil_view', 'SELECT * FROM cat_stranger.evil_view');
SELECT who, result FROM stepadv.probe('cat_stranger.evil_table', 'INSERT INTO cat_stranger.evil_table DEFAULT VALUES RETURNING a || '', '' || b');
SELECT who, result FROM stepadv.probe('cat_stranger.own_table', 'SELECT ROW(''x'')::cat_stranger.own_table::integer');
SELECT who, result FROM stepadv.probe('cat_stranger.own_table', 'RESET ROLE');
SELECT who, result FROM stepadv.probe('cat_stranger.own_table', 'SET SESSION AUTHORIZATION DEFAULT');
SELECT who, result FROM stepadv.probe('cat_stranger.own_table', 'CREATE TEMP TABLE pg_class (a integer)');
SELECT who, result FROM stepadv.probe('cat_stranger.own_table', 'SELECT set_config(''work_mem'', ''77MB'', false)');
SELECT current_setting('work_mem') <> '77MB' AS not_left, current_setting('search_path') AS path, current_user = session_user AS myself;
SELECT rolsuper FROM pg_roles WHERE rolname = 'regress_catalog_stranger';
-- There is no way out: what is restricted stays restricted; a user who is not a member of a role does not become it.
SELECT who, result FROM stepadv.probe('cat_stranger.own_table', 'SELECT who FROM stepadv.probe(''pg_class'')');
SELECT who, result FROM stepadv.probe('cat_stranger.own_table', 'SELECT who FROM stepadv.probe(''cat_stranger.evil_view'', ''RESET ROLE'')');
-- After an error that is caught, everything is as it was.
DO $$
BEGIN
	PERFORM stepadv.probe('cat_stranger.own_table', 'SELECT 1 / 0');
EXCEPTION WHEN division_by_zero THEN
	IF current_user <> session_user OR current_setting('search_path') <> '"$user", public' THEN
		RAISE EXCEPTION 'still %, %', current_user, current_setting('search_path');
	END IF;
	CREATE TEMP TABLE not_restricted (a integer);
END $$;
-- EXECUTE on the inner function is required, too.
REVOKE EXECUTE ON FUNCTION stepadv_internal.probe(regclass, text) FROM PUBLIC;
SET ROLE regress_catalog_owner;
SELECT who FROM stepadv.probe('cat.steps');
RESET ROLE;

ALTER EXTENSION stepadv DROP FUNCTION stepadv.probe(regclass, text);
ALTER EXTENSION stepadv DROP FUNCTION stepadv_internal.probe(regclass, text);
ALTER EXTENSION stepadv DROP FUNCTION stepadv.probe_one(regclass);
ALTER EXTENSION stepadv DROP FUNCTION stepadv_internal.probe_one(regclass);
ALTER EXTENSION stepadv DROP FUNCTION stepadv.probe_set(regclass);
ALTER EXTENSION stepadv DROP FUNCTION stepadv_internal.probe_set(regclass);
DROP FUNCTION stepadv.probe, stepadv_internal.probe, stepadv.probe_one, stepadv_internal.probe_one, stepadv.probe_set, stepadv_internal.probe_set;
DROP SCHEMA cat, cat_stranger, ext CASCADE;
DROP OWNED BY regress_catalog_owner, regress_catalog_stranger;
DROP ROLE regress_catalog_owner, regress_catalog_stranger, regress_catalog_member;

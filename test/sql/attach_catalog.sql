-- Attachments are found through the catalog: comments, orphans, renames, owners.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
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
CREATE ROLE catalog_first;
CREATE ROLE catalog_second;
CREATE ROLE catalog_third IN ROLE catalog_first, catalog_second;
CREATE SCHEMA acat AUTHORIZATION catalog_first;
GRANT USAGE ON SCHEMA acat TO PUBLIC;
CREATE SCHEMA acat_second AUTHORIZATION catalog_second;
CREATE FUNCTION pg_temp.fill(relation text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %s (id integer PRIMARY KEY, task text, run integer, n integer, obs text, act text, score float8, note text, version text)', relation);
	EXECUTE format('INSERT INTO %s SELECT i, ''task '' || i / 20, i / 5, i %% 5, ''obs '' || i %% 7, ''act '' || i %% 3, CASE WHEN i %% 5 = 4 THEN sin(i) END, ''note '' || i, ''v'' || i / 10 %% 2 FROM generate_series(0, 79) i', relation);
END
$$;
-- All that a prefix's views say to nine digits, as one line (sums over groups may be added up in another order).
CREATE FUNCTION pg_temp.says(prefix text, schema text DEFAULT 'acat') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hash text;
	number integer := 0;
	line text := '';
	v regclass;
BEGIN
	FOR v IN SELECT u.v FROM stepadv_internal.attachments() k, unnest(k.views) WITH ORDINALITY u(v, i) WHERE k.prefix = says.prefix AND k.attachment::text LIKE says.schema || '.%' ORDER BY u.i LOOP
		EXECUTE format('SELECT md5(string_agg(regexp_replace(x::text, ''(\.\d{9})\d+'', ''\1'', ''g''), E''\n'' ORDER BY x::text)) FROM %s x', v) INTO hash;
		line := line || coalesce(hash, 'no rows');
		number := number + 1;
	END LOOP;
	RETURN number || ' views: ' || left(md5(line), 8);
END
$$;
CREATE FUNCTION pg_temp.left_behind(schema text) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(c.relname, ' ' ORDER BY c.relname), 'nothing') FROM pg_class c WHERE c.relnamespace = to_regnamespace(schema) AND c.relkind IN ('v', 'r') AND c.relname !~ '^(steps|moved|runs)$'
$$;
CREATE FUNCTION pg_temp.attach(prefix text, more text DEFAULT '', options jsonb DEFAULT '{}') RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	n integer;
BEGIN
	EXECUTE format('SELECT count(*) FROM stepadv.attach(''acat.steps'', ''{task}'', ''run'', ''n'', ''obs'', ''act'', ''score'', columns => ''{"policy_version": "policy"}'', views => ''{all}'', prefix => %L, options => ''{"show_rollouts": "acat.runs"}''::jsonb || %L::jsonb%s)', prefix, options, more) INTO n;
	RETURN n > 20;
END
$$;
SET ROLE catalog_first;
SELECT pg_temp.fill('acat.steps');
CREATE INDEX ON acat.steps (task);
CREATE TABLE acat.runs AS SELECT DISTINCT task, run, 'run ' || run AS remark, version AS policy FROM acat.steps;

-- The user's own comments, or none, change nothing.
SELECT pg_temp.attach('a');
SELECT pg_temp.says('a') AS before \gset
SELECT :'before' ~ '^[3-5]\d views' AS there;
COMMENT ON VIEW acat.a_values IS 'made by stepadv.attach
{"source": "pg_catalog.pg_class", "prefix": "pg"}';
COMMENT ON VIEW acat.a_compare IS NULL;
COMMENT ON VIEW acat.a_rows IS 'mine';
COMMENT ON TABLE acat.a_attachment IS NULL;
SELECT bool_and(n_views > 20) AS made FROM pg_temp.anew();
SELECT pg_temp.says('a') = :'before' AS same, obj_description('acat.a_compare'::regclass) IS NULL AS none, obj_description('acat.a_rows'::regclass);
SELECT stepadv.detach('acat.steps') > 20 AS detached, pg_temp.left_behind('acat');

-- The source is dropped with all views: what remains does not block any command.
SELECT pg_temp.attach('a');
DROP TABLE acat.steps CASCADE;
SELECT pg_temp.left_behind('acat'), (SELECT count(*) FROM stepadv.attachments()) AS known, (SELECT count(*) FROM pg_temp.anew()) AS made;
SELECT pg_temp.fill('acat.steps');
SELECT pg_temp.attach('a');
SELECT pg_temp.says('a') = :'before' AS same;
-- One view, or an adapter, is dropped by hand.
DROP VIEW acat.a_rtmc;
SELECT bool_and(n_views > 20) AS made, to_regclass('acat.a_rtmc') FROM pg_temp.anew();
DROP VIEW acat.a_shown_rollouts CASCADE;
SELECT attachment FROM pg_temp.anew();
SELECT stepadv.detach('acat.steps') > 5 AS detached, pg_temp.left_behind('acat');

-- Renames: of the table, its columns, its schema, views and their columns.
SELECT pg_temp.attach('a', options => '{"rtmc": {"gamma": 0.9}}');
SELECT pg_temp.says('a') AS before \gset
ALTER TABLE acat.steps RENAME TO moved;
ALTER TABLE acat.moved RENAME COLUMN task TO "the Task";
ALTER TABLE acat.moved RENAME COLUMN score TO points;
ALTER TABLE acat.moved RENAME COLUMN n TO number;
ALTER TABLE acat.moved RENAME COLUMN obs TO seen;
ALTER TABLE acat.runs RENAME COLUMN policy TO pol;
ALTER TABLE acat.runs RENAME COLUMN task TO t;
SELECT pg_temp.says('a') = :'before' AS same;
SELECT bool_and(n_views > 20) AS made FROM pg_temp.anew();
SELECT pg_temp.says('a') = :'before' AS same;
ALTER VIEW acat.a_rtmc RENAME TO "Mine!";
ALTER VIEW acat.a_compare RENAME COLUMN rtmc TO mine;
ALTER VIEW acat.a_compare RENAME COLUMN note TO rtmc;
ALTER VIEW acat.a_grpo RENAME COLUMN advantage TO "A";
ALTER VIEW acat.a_values RENAME COLUMN rollouts TO g;
ALTER TABLE acat.a_attachment RENAME TO what_is_this;
ALTER VIEW acat.a_rows RENAME TO a_1;
ALTER VIEW acat.a_shown_steps RENAME TO a_2;
SELECT bool_and(n_views > 20) AS made FROM pg_temp.anew();
SELECT pg_temp.says('a') = :'before' AS same;
SELECT bool_and(c.mine IS NOT DISTINCT FROM r.advantage AND c.rtmc = s.note) AS right, count(*) FROM acat.a_compare c JOIN acat."Mine!" r USING (step_id) JOIN acat.moved s ON s.id = step_id;
SELECT source, prefix, group_by, views ->> 'rtmc' AS rtmc, views ->> 'grpo' AS grpo FROM stepadv.attachments();
RESET ROLE;
ALTER SCHEMA acat RENAME TO acat_new;
SET ROLE catalog_first;
SELECT bool_and(n_views > 20) AS made FROM pg_temp.anew();
SELECT pg_temp.says('a', 'acat_new') = :'before' AS same;
RESET ROLE;
ALTER SCHEMA acat_new RENAME TO acat;
-- A view in another schema.
GRANT CREATE ON SCHEMA acat_second TO catalog_first;
GRANT USAGE ON SCHEMA acat_second TO PUBLIC;
SET ROLE catalog_first;
ALTER VIEW acat.a_quadrants SET SCHEMA acat_second;
SELECT bool_and(n_views > 20) AS made FROM pg_temp.anew();
SELECT pg_temp.says('a') = :'before' AS same;
-- Nothing of it prevents a second attachment; detach finds all.
ALTER TABLE acat.moved RENAME COLUMN "the Task" TO task;
ALTER TABLE acat.moved RENAME COLUMN number TO n;
ALTER TABLE acat.runs RENAME COLUMN t TO task;
SELECT count(*) > 5 AS attached FROM stepadv.attach('acat.moved', '{task}', 'run', 'n', reward => 'points', views => '{all}', prefix => 'b');
SELECT stepadv.detach('acat.moved', 'a') > 20 AS detached, stepadv.detach('acat.moved') > 5 AS detached, pg_temp.left_behind('acat'), pg_temp.left_behind('acat_second');
ALTER TABLE acat.moved RENAME TO steps;
ALTER TABLE acat.steps RENAME COLUMN points TO score;
ALTER TABLE acat.steps RENAME COLUMN seen TO obs;
ALTER TABLE acat.runs RENAME COLUMN pol TO policy;

-- A superuser attaches another user's table: everything belongs to that user.
RESET ROLE;
SELECT pg_temp.attach('a');
SELECT DISTINCT pg_get_userbyid(c.relowner) AS owner FROM pg_class c WHERE c.relname LIKE 'a\_%' AND c.relnamespace = 'acat'::regnamespace;
SELECT owner, source FROM stepadv.attachments() WHERE schema = 'acat';
SET ROLE catalog_second;
SELECT count(*) AS known, stepadv.detach('acat.steps') AS detached FROM stepadv.attachments();
SET ROLE catalog_first;
SELECT owner, source FROM stepadv.attachments();
SELECT stepadv.detach('acat.steps') > 20 AS detached, pg_temp.left_behind('acat');
-- And detaches what that role attached.
SELECT pg_temp.attach('a');
RESET ROLE;
SELECT stepadv.detach('acat.steps') > 20 AS detached, pg_temp.left_behind('acat');

-- A user who may only read attaches for themselves, in their own schema.
SET ROLE catalog_second;
SELECT pg_temp.attach('s', ', schema => ''acat_second''');
RESET ROLE;
GRANT SELECT ON acat.steps, acat.runs TO catalog_second;
SET ROLE catalog_second;
SELECT pg_temp.attach('s', ', schema => ''acat_second''');
SELECT DISTINCT pg_get_userbyid(c.relowner) AS owner FROM pg_class c WHERE c.relnamespace = 'acat_second'::regnamespace;
SELECT owner, source, schema FROM stepadv.attachments();
SELECT count(*) FROM acat_second.s_compare;
SET ROLE catalog_first;
SELECT count(*) AS known, stepadv.detach('acat.steps') AS detached FROM stepadv.attachments();
-- Without the privilege to read, the views fail, and can be detached.
REVOKE SELECT ON acat.steps FROM catalog_second;
SET ROLE catalog_second;
SELECT count(*) FROM acat_second.s_compare;
SELECT stepadv.detach('acat.steps') > 20 AS detached, pg_temp.left_behind('acat_second');

-- A new owner of the table: the views still belong to the old one, who can neither read nor detach.
SET ROLE catalog_first;
SELECT pg_temp.attach('a');
RESET ROLE;
ALTER TABLE acat.steps OWNER TO catalog_second;
SET ROLE catalog_first;
SELECT count(*) FROM acat.a_compare;
SELECT stepadv.detach('acat.steps') > 20 AS detached, pg_temp.left_behind('acat');

-- An attachment row that names objects of others has no effect.
RESET ROLE;
ALTER TABLE acat.steps OWNER TO catalog_first;
SET ROLE catalog_first;
SELECT pg_temp.attach('a');
SET ROLE catalog_second;
CREATE TABLE acat_second.fake_attachment OF stepadv.attachment;
INSERT INTO acat_second.fake_attachment (prefix, rows, shown, n_group_columns, options, methods, views, view_kinds)
	VALUES ('a', 'acat.a_rows', 'acat.a_shown_steps', 1, '{}', '{}', '{acat.a_values}', '{values}');
CREATE VIEW acat_second.fake AS SELECT 1 AS task;
CREATE TABLE acat_second.fake2 OF stepadv.attachment;
INSERT INTO acat_second.fake2 (prefix, rows, n_group_columns, views, view_kinds) VALUES ('a', 'acat_second.fake', 99, '{acat.a_values,acat.a_compare,acat_second.fake}', '{NULL,values}');
SELECT source, prefix, schema, owner, group_by, views FROM stepadv.attachments();
SET ROLE catalog_third;
SELECT source, prefix, owner, (SELECT count(*) > 20 FROM jsonb_each(views)) AS many FROM stepadv.attachments() ORDER BY owner::text;
SELECT attachment, n_views > 20 AS many FROM pg_temp.anew();
SELECT stepadv.detach('acat.steps') > 20 AS detached, pg_temp.left_behind('acat'), pg_temp.left_behind('acat_second');

RESET ROLE;
DROP SCHEMA acat, acat_second CASCADE;
DROP ROLE catalog_third, catalog_first, catalog_second;

-- rollout_agg called with arguments that it does not take says which, and what to do;
-- and whatever it takes still means the same: no call has become another's, or ambiguous.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
SET search_path = public, stepadv;
CREATE TABLE wrong (a text, v varchar(9), c char(3), u uuid, j jsonb, b bytea, n numeric, big bigint, i integer, s smallint, r real, f float8, t boolean, d timestamptz, list text[]);

-- Over no rows: the planner sees it.
SELECT rollout_agg(a, v, i, u, j, f) FROM wrong;
SELECT rollout_agg(i, c, i, i, b, n) FROM wrong;
SELECT rollout_agg(n, i, i, i, i, f) FROM wrong;
SELECT rollout_agg(d, i, i, t, list, f) FROM wrong;
SELECT rollout_agg(i, i, big, i, i, f) FROM wrong;
SELECT rollout_agg(i, i, d, i, i, f) FROM wrong;
SELECT rollout_agg(i, i, i, i, i, t) FROM wrong;
SELECT rollout_agg(i, i, i, a, i, f, t) FROM wrong;
SELECT rollout_agg(i, i, i, i, i, f, t, a, f, f, f) FROM wrong;
SELECT rollout_agg(i, a, i, i, i, f, t, i, f, f, f, i) FROM wrong;
SELECT rollout_agg(i, i, i, i, a, f, t, i, f, f, f, i, '{1}') FROM wrong;
SELECT rollout_agg(i, i, i, i, i, f, t, i, f, f, f, i, '{1}', t, a) FROM wrong;
SELECT rollout_agg(i, i, a, i, i, f, t, i, f, f, f, i, '{1}', t, n) FROM wrong;
-- Literals among them are none of the matter; of constants nothing is known.
SELECT rollout_agg(1, a, 1, 'x', NULL, 1) FROM wrong;
SELECT rollout_agg(1, 'x'::text, 1, 1, 1, 1);
-- Another number of them.
SELECT rollout_agg(i, i, i, i, i) FROM wrong;
SELECT rollout_agg(i, i, i, i, i, f, t, i) FROM wrong;
SELECT rollout_agg(i, i, i, i, i, f, t, i, f) FROM wrong;
SELECT rollout_agg(i, i, i, i, i, f, t, i, f, f) FROM wrong;
SELECT rollout_agg(i, i, i, i, i, f, t, i, f, f, f, i, '{1}', t) FROM wrong;
-- Within a query, under a function, with a filter, as a window function (when there is a row), in a view.
SELECT count(*) FROM (SELECT rtmc(rollout_agg(i, i, i, a, a, f)) FROM wrong GROUP BY big) x;
SELECT rollout_agg(i, i, i, a, i, f) FILTER (WHERE t) FROM wrong;
SELECT rollout_agg(i, i, i, a, i, f) OVER () FROM wrong;
SELECT rollout_agg(1, 1, 1, x.a, 1, 1.5) OVER () FROM (VALUES ('x'::text), (NULL)) x(a);
SELECT rollout_agg(1, 1, 1, x.a, 1, 1.5) OVER () FROM (VALUES (NULL::text)) x(a);
CREATE VIEW wrong_view AS SELECT rollout_agg(i, i, i, a, i, f) AS g FROM wrong;
SELECT * FROM wrong_view;
-- What is not castable to what says so is no worse off than before.
CREATE TYPE mood AS ENUM ('good');
\set VERBOSITY sqlstate
SELECT rollout_agg(i, 'good'::mood, i, i, i, f) FROM wrong;
SELECT rollout_agg(i, i, i, i, i, f, a) FROM wrong;
\set VERBOSITY default

-- Which aggregate a call is, with those that say what is wrong beside it and without
-- them: all calls of 6 arguments of a few kinds; of each number of arguments 300 of more
-- kinds by chance, some with DISTINCT, ORDER BY, FILTER; and those all of one kind, where
-- the server has only its last resort to choose by.
CREATE FUNCTION pg_temp.resolved(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || call || ' FROM wrong';
	RETURN 'taken';
EXCEPTION WHEN undefined_function OR ambiguous_function OR datatype_mismatch THEN
	RETURN SQLSTATE || regexp_replace(SQLERRM, '^(rollout_agg does not take).*|.*', ' \1');
END $$;
CREATE TEMP TABLE calls (call text PRIMARY KEY, beside text, without text);
INSERT INTO calls (call)
SELECT format('rollout_agg(%s, %s, %s, %s, %s, %s)', s, r, n, t, a, w)
FROM unnest('{i,s,"NULL"}'::text[]) s, unnest('{big,s,"NULL"}'::text[]) r, unnest('{i,s,"NULL",big}'::text[]) n, unnest('{s,"NULL",''1''}'::text[]) t, unnest('{s,"NULL"}'::text[]) a, unnest('{f,n,s,"NULL"}'::text[]) w;
SELECT setseed(0.25) IS NOT NULL AS seeded;
INSERT INTO calls (call)
SELECT format('rollout_agg(%s%s%s)%s', CASE WHEN x.extra = 1 THEN 'DISTINCT ' ELSE '' END, x.arguments, CASE x.extra WHEN 2 THEN ' ORDER BY big' ELSE '' END, CASE x.extra WHEN 3 THEN ' FILTER (WHERE t)' ELSE '' END)
FROM (
	SELECT c.i, n, (c.i % 6) AS extra, string_agg(k.kinds[1 + floor(random() * cardinality(k.kinds))::integer], ', ' ORDER BY k.i) AS arguments
	FROM generate_series(1, 300) c(i), unnest('{6,7,11,12,13,15}'::integer[]) n,
		(VALUES (1, '{i,s,big,"NULL",''1''}'::text[]), (2, '{i,s,big,"NULL",''1''}'), (3, '{i,s,"NULL",''1''}'), (4, '{i,s,big,"NULL",''1''}'), (5, '{i,s,big,"NULL",''1''}'), (6, '{i,s,big,n,r,f,"NULL",''1''}'),
			(7, '{t,"NULL",''t''}'), (8, '{i,s,big,"NULL",''1''}'), (9, '{s,n,r,f,"NULL",''1''}'), (10, '{s,n,r,f,"NULL",''1''}'), (11, '{s,n,r,f,"NULL",''1''}'), (12, '{i,s,"NULL",''1''}'), (13, ARRAY['NULL', '''{1}''', 'ARRAY[f]']), (14, '{t,"NULL",''t''}'), (15, '{i,s,big,"NULL",''1''}')) k(i, kinds)
	WHERE k.i <= n GROUP BY c.i, n) x
ON CONFLICT DO NOTHING;
INSERT INTO calls (call) SELECT format('rollout_agg(%s)', array_to_string(array_fill(k, ARRAY[n]), ', ')) FROM unnest('{"NULL",s}'::text[]) k, unnest('{6,7,11,12,13,15}'::integer[]) n ON CONFLICT DO NOTHING;
DO $$
DECLARE
	aside record;
	renamed text[] := '{}';
BEGIN
	UPDATE calls SET beside = pg_temp.resolved(call);
	FOR aside IN SELECT p.oid, pg_get_function_identity_arguments(p.oid) AS arguments FROM pg_proc p WHERE p.pronamespace = 'stepadv'::regnamespace AND p.proname = 'rollout_agg' AND 'stepadv_internal.unfit'::regtype = ANY (p.proargtypes) LOOP
		EXECUTE format('ALTER AGGREGATE stepadv.rollout_agg(%s) RENAME TO aside', aside.arguments);
		renamed := renamed || aside.arguments;
	END LOOP;
	UPDATE calls SET without = pg_temp.resolved(call);
	FOR i IN 1 .. cardinality(renamed) LOOP
		EXECUTE format('ALTER AGGREGATE stepadv.aside(%s) RENAME TO rollout_agg', renamed[i]);
	END LOOP;
END $$;
-- What is taken is taken still; what is not, is told so.
SELECT cardinality(string_to_array(call, ', ')) AS arguments, without, beside, count(*) > 20 AS many FROM calls GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
-- The type serves for nothing else: no function but these takes it, no operator.
SELECT count(*) AS operators FROM pg_operator WHERE 'stepadv_internal.unfit'::regtype IN (oprleft, oprright);
SELECT DISTINCT p.oid::regproc::text AS taking FROM pg_proc p WHERE 'stepadv_internal.unfit'::regtype = ANY (p.proargtypes) ORDER BY 1;

-- The column that was meant: the least number of letters, at most 3 and half of them.
CREATE TABLE near (rollout_id text, reward float8, "Größe" text, gone text, x integer, policy_version text);
ALTER TABLE near DROP gone;
SELECT n, stepadv_internal.nearest_column('near', n) FROM unnest('{rolout_id,rewrd,Grösse,gone,gon,y,polcy_vrson,policyversion,ROLLOUT_ID,rollout_identity,reward,""}'::text[]) n;
SELECT stepadv_internal.nearest_column('near', repeat('x', 1000)) AS long, stepadv_internal.nearest_column(0, 'x') AS no_relation, stepadv_internal.nearest_column('near', NULL) AS no_name;
DROP VIEW wrong_view;
DROP TABLE wrong, near;
DROP TYPE mood;

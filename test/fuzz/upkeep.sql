-- Random statements on tables whose groups are kept, by triggers and by refresh.  After every
-- few of them, kept groups must equal those of an attachment that keeps nothing.
-- Variables: statements, seed (0 to 1).
\set QUIET 1
\pset tuples_only on
\pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS kept_fuzz CASCADE;
CREATE SCHEMA kept_fuzz;
SET search_path = kept_fuzz, stepadv, pg_catalog;
CREATE FUNCTION any_of(VARIADIC words text[]) RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT words[1 + floor(random() * cardinality(words))::int] $$;
CREATE FUNCTION below(n integer) RETURNS integer LANGUAGE sql VOLATILE AS $$ SELECT floor(random() * n)::integer $$;
CREATE TABLE at_once (id bigserial PRIMARY KEY, g integer, h text, r integer NOT NULL, n integer, st integer, act integer, score float8, ok boolean, extra integer, note text);
CREATE INDEX ON at_once (g, h);
CREATE TABLE at_refresh (LIKE at_once INCLUDING ALL);
DO $$
DECLARE
	t text;
BEGIN
	FOREACH t IN ARRAY '{at_once,at_refresh}'::text[] LOOP
		PERFORM attach(t::regclass, '{g,h}', 'r', 'n', 'st', 'act', 'score', columns => '{"success": "ok"}', views => '{all}', schema => 'kept_fuzz');
		PERFORM attach(t::regclass, '{g,h}', 'r', 'n', 'st', 'act', 'score', columns => '{"success": "ok"}', views => '{all}', prefix => 'plain_' || t, schema => 'kept_fuzz');
		PERFORM maintain(t::regclass, t, mode => CASE t WHEN 'at_refresh' THEN 'refresh' ELSE 'triggers' END);
	END LOOP;
END
$$;

-- A random statement of a user; it may fail.
CREATE FUNCTION statement(t text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	those text := any_of(format('g = %s', below(5)), format('r %% 7 = %s', below(7)), format('id %% 11 = %s', below(11)), format('g = %s AND r < %s', below(5), below(40)), 'h IS NULL', format('n > %s', below(12)));
	rows text := format('SELECT nullif(%s, 4), nullif(%L, ''z''), %s + i / 6, nullif(i %% 6, %s), nullif(i %% 4, 3), nullif(i %% 3, 2), nullif((i * %s) %% 5, 2), nullif(i %% 2, 0) = 1 FROM generate_series(1, %s) i',
		below(5), any_of('x', 'y', 'z'), below(1000), any_of('6', '6', '5'), 1 + below(9), any_of('1', '7', '60'));
BEGIN
	RETURN any_of(
		format('INSERT INTO %I (g, h, r, n, st, act, score, ok) %s', t, rows), format('INSERT INTO %I (g, h, r, n, st, act, score, ok) %s', t, rows), format('INSERT INTO %I (g, h, r, n, st, act, score, ok) %s', t, rows),
		format('UPDATE %I SET score = score + %s WHERE %s', t, below(3), those), format('UPDATE %I SET score = NULL, ok = NULL WHERE %s', t, those),
		format('UPDATE %I SET g = nullif(%s, 0), h = %L WHERE %s', t, below(5), any_of('x', 'y'), those), format('UPDATE %I SET r = r + 5000 WHERE %s', t, those),
		format('UPDATE %I SET note = %L WHERE %s', t, below(100), those), format('UPDATE %I SET id = id + 1000000 WHERE %s', t, those), format('UPDATE %I SET st = act, act = st WHERE %s', t, those),
		format('DELETE FROM %I WHERE %s', t, those), format('DELETE FROM %I WHERE random() < 0.1', t),
		format('MERGE INTO %1$I USING (SELECT id FROM %1$I WHERE %2$s) s ON %1$I.id = s.id WHEN MATCHED AND st = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET score = 1', t, those),
		format('INSERT INTO %1$I SELECT * FROM %1$I WHERE %2$s ON CONFLICT (id) DO UPDATE SET score = excluded.score + 1', t, those),
		any_of(format('TRUNCATE %I', t), format('ALTER TABLE %I RENAME COLUMN note TO note_2', t), format('ALTER TABLE %I RENAME COLUMN note_2 TO note', t), format('ALTER TABLE %I DROP COLUMN extra', t), format('ALTER TABLE %I ADD COLUMN extra integer DEFAULT 3', t),
			format('ALTER TABLE %I ALTER extra TYPE bigint', t), format('CREATE INDEX ON %I (h, g)', t), format('ALTER TABLE %I SET (fillfactor = %s)', t, 50 + below(50)), format('CLUSTER %I USING %I', t, t || '_pkey'),
			format('ALTER TABLE %I ALTER score SET DEFAULT 0', t), format('ALTER TABLE %I RENAME COLUMN score TO points', t), format('ALTER TABLE %I RENAME COLUMN points TO score', t)));
END
$$;
CREATE FUNCTION compare(t text, what text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	kept text[];
	fresh text[];
	wrong text;
BEGIN
	PERFORM refresh(t::regclass, t);
	SELECT string_agg(c::text, '; ') INTO wrong FROM check_maintained(t::regclass, t) c;
	EXECUTE format('SELECT array_agg(v::text ORDER BY v::text) FROM kept_fuzz.%I v', t || '_rtmc') INTO kept;
	EXECUTE format('SELECT array_agg(v::text ORDER BY v::text) FROM kept_fuzz.%I v', 'plain_' || t || '_rtmc') INTO fresh;
	IF wrong IS NOT NULL OR kept IS DISTINCT FROM fresh THEN
		RAISE EXCEPTION 'kept groups of % differ after %', t, what USING DETAIL = coalesce(wrong, '');
	END IF;
END
$$;
SELECT setseed(:seed);
SELECT set_config('kept_fuzz.statements', :'statements', false) \g /dev/null
DO $$
DECLARE
	said text[] := '{}';
	t text;
	one text;
BEGIN
	FOR i IN 1..current_setting('kept_fuzz.statements')::int LOOP
		t := any_of('at_once', 'at_refresh');
		one := statement(t);
		BEGIN
			EXECUTE one;
			said := said || one;
			-- a statement that is rolled back has no effect
			IF random() < 0.1 THEN
				said := said || 'undone'::text;
				RAISE EXCEPTION 'undone';
			END IF;
		EXCEPTION WHEN raise_exception OR integrity_constraint_violation OR undefined_column OR duplicate_column OR undefined_object OR syntax_error OR invalid_parameter_value OR object_not_in_prerequisite_state
				OR dependent_objects_still_exist OR feature_not_supported OR object_in_use OR cardinality_violation THEN
			NULL;
		END;
		IF random() < 0.3 THEN
			COMMIT;
		END IF;
		IF i % 10 = 0 THEN
			COMMIT;
			PERFORM compare('at_once', said::text), compare('at_refresh', said::text);
			COMMIT;
			said := '{}';
		END IF;
	END LOOP;
END
$$;
DROP SCHEMA kept_fuzz CASCADE;

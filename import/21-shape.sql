-- What the tables of a schema are like: the columns of the group, and where the values of
-- these come from.

CREATE FUNCTION stepadv_internal.load_name(relation regclass) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation);
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_name(regclass) IS 'part of load_rollouts: the name of a relation for a query''s text, with its schema';

-- What the tables of a schema want to know: the columns of the group, which are the
-- primary key's but rollout_id; which other columns say of which run a rollout is;
-- and what has no column, as in tables that an earlier version made.
CREATE FUNCTION stepadv_internal.load_shape(schema text, OUT keys text[], OUT others text[], OUT lacking text[])
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rollouts CONSTANT regclass := to_regclass(format('%I.rollouts', load_shape.schema));
	columns text[];
BEGIN
	SELECT array_agg(a.attname::text ORDER BY k.i) FILTER (WHERE a.attname <> 'rollout_id') INTO keys
	FROM pg_index x CROSS JOIN LATERAL unnest(x.indkey::smallint[]) WITH ORDINALITY k(number, i)
	JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.number
	WHERE x.indrelid = rollouts AND x.indisprimary;
	SELECT array_agg(a.attname::text) INTO columns FROM pg_attribute a WHERE a.attrelid = rollouts AND a.attnum > 0 AND NOT a.attisdropped;
	IF keys IS NULL OR rollouts IS NULL OR to_regclass(format('%I.steps', load_shape.schema)) IS NULL THEN
		RAISE EXCEPTION 'schema "%" has no tables rollouts and steps', load_shape.schema
			USING ERRCODE = 'undefined_table', HINT = format('Make them with SELECT * FROM @extschema@.create_tables(%L).', load_shape.schema);
	END IF;
	SELECT array_agg(n.name ORDER BY n.i) FILTER (WHERE n.name = ANY (columns) AND n.name <> ALL (keys)),
		array_agg(n.name ORDER BY n.i) FILTER (WHERE n.name <> ALL (columns))
	INTO others, lacking
	FROM unnest('{task_id,run_id,policy_version,policy_step,tags,group_id}'::text[]) WITH ORDINALITY n(name, i);
	others := coalesce(others, '{}');
	lacking := coalesce(lacking, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_shape(text) IS
'part of load_rollouts: the columns of the group in a schema''s tables of rollouts; which other columns they have for task, run and version; and which they have not; error where these are not tables of rollouts';

-- What the group's columns are where a line does not say: what the caller says of
-- all, or the column's default.
CREATE FUNCTION stepadv_internal.load_key_otherwise(schema text, run_id text, policy_version text) RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text[] := (SELECT s.keys FROM stepadv_internal.load_shape(load_key_otherwise.schema) s);
	values text[] := '{}';
	key text;
	default_expression text;
	default_value text;
BEGIN
	FOREACH key IN ARRAY keys LOOP
		default_value := NULL;
		SELECT pg_get_expr(d.adbin, d.adrelid) INTO default_expression
		FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
		WHERE d.adrelid = to_regclass(format('%I.rollouts', load_key_otherwise.schema)) AND a.attname = key;
		IF FOUND THEN
			EXECUTE format('SELECT (%s)::text', default_expression) INTO default_value;
		END IF;
		values := array_append(values, coalesce(CASE key WHEN 'run_id' THEN load_key_otherwise.run_id WHEN 'policy_version' THEN load_key_otherwise.policy_version END, default_value));
	END LOOP;
	RETURN values;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_key_otherwise(text, text, text) IS
'part of load_rollouts: the values of the group''s columns of the schema''s tables where a line does not say: those given, or the columns'' defaults';

-- Columns k1, k2, … for the values of the group's columns, made of what a line says
-- (a task is what many call a group), of what the caller says of all, or of the
-- column's default; of_group, all of them in one; and group_name, the same to be
-- read.  NULL: nobody says.
CREATE FUNCTION stepadv_internal.load_key_columns(schema text, run_id text, policy_version text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text[] := (SELECT s.keys FROM stepadv_internal.load_shape(load_key_columns.schema) s);
	otherwise CONSTANT text[] := stepadv_internal.load_key_otherwise(load_key_columns.schema, load_key_columns.run_id, load_key_columns.policy_version);
	expressions text[] := '{}';
BEGIN
	FOR i IN 1 .. cardinality(keys) LOOP
		expressions := expressions || format('coalesce(%s, %L::text)',
			CASE keys[i] WHEN 'task_id' THEN 'task_id, group_id' WHEN 'group_id' THEN 'group_id, task_id' WHEN 'run_id' THEN 'run_id' WHEN 'policy_version' THEN 'policy_version'
				ELSE format('metadata ->> %L', keys[i]) END, otherwise[i]);
	END LOOP;
	RETURN (SELECT string_agg(format(', k%s text GENERATED ALWAYS AS (%s) STORED', e.i, e.e), '' ORDER BY e.i)
			|| format(', of_group text COLLATE "C" GENERATED ALWAYS AS (%s) STORED',
				CASE WHEN cardinality(keys) = 1 THEN max(e.e) ELSE string_agg(format('quote_literal(%s)', e.e), ' || '','' || ' ORDER BY e.i) END)
			-- For people, without what all have in common.
			|| format(', group_name text GENERATED ALWAYS AS (%s) STORED',
				CASE WHEN cardinality(keys) = 1 THEN max(e.e)
					ELSE format('substr(%s, 3)', string_agg(format('CASE WHEN %1$s <> %2$L THEN %3$L || %1$s ELSE %2$L END', e.e, '', ', '), ' || ' ORDER BY e.i)) END)
		FROM unnest(expressions) WITH ORDINALITY e(e, i));
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_key_columns(text, text, text) IS
'part of load_rollouts: definitions of the columns k1, k2, …, of_group and group_name, which say of which group of the schema''s tables a row of the temporary tables is';

CREATE FUNCTION stepadv_internal.load_by_lz4() RETURNS void
LANGUAGE c
AS 'MODULE_PATHNAME', 'stepadv_load_by_lz4';
COMMENT ON FUNCTION stepadv_internal.load_by_lz4() IS
'part of load_rollouts: where the server has lz4, default_toast_compression is it until the function ends that calls this one';

CREATE FUNCTION stepadv_internal.load_key_list(schema text, template text, separator text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format(load_key_list.template, quote_ident(k.name), k.i, quote_literal(k.name)), load_key_list.separator ORDER BY k.i)
	FROM stepadv_internal.load_shape(load_key_list.schema) s CROSS JOIN LATERAL unnest(s.keys) WITH ORDINALITY k(name, i)
$$;
COMMENT ON FUNCTION stepadv_internal.load_key_list(text, text, text) IS
'part of load_rollouts: a template for format() once for each of the group''s columns: its name, quoted; the number of its column k1, k2, …; its name as a literal';

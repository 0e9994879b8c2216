-- Roles: what a column of a user's table means, which types it may have, and how it
-- is cast.  To add a role or to accept another type, add a row here.

-- A kind of column accepts types by name, by category ("category S" is every
-- string type), by a cast that they have, or any type; the first match wins.
CREATE TABLE stepadv_internal.role_types (
	kind text NOT NULL,
	accepts text NOT NULL,
	expression text,		-- of %s, the column; NULL: refused
	PRIMARY KEY (kind, accepts)
);
COMMENT ON TABLE stepadv_internal.role_types IS
'the types that fit a kind of column, and the expression that converts them to what stepadv reads';
INSERT INTO stepadv_internal.role_types VALUES
	-- Integers are not cast, since they compare with bigint, and a cast would prevent the use of an index.
	('identity', 'smallint', '%s'), ('identity', 'integer', '%s'), ('identity', 'bigint', '%s'),
	('identity', 'text', 'stepadv.signature_hash(%s)'), ('identity', 'bytea', 'stepadv.signature_hash(%s)'),
	('identity', 'jsonb', 'stepadv.signature_hash(%s)'), ('identity', 'uuid', 'stepadv.signature_hash(%s)'),
	-- 1.0 and 1.00 are equal, but their texts differ.
	('identity', 'numeric', 'stepadv.signature_hash(pg_catalog.trim_scale(%s)::text)'),
		('identity', 'any', 'stepadv.signature_hash(%s::text)'),
	('ordinal', 'smallint', '%s::bigint'), ('ordinal', 'integer', '%s::bigint'), ('ordinal', 'bigint', '%s'),
	('order', 'smallint', '%s::integer'), ('order', 'integer', '%s::integer'),
	-- Only the order counts, so values outside the range of integer are clamped.
	('order', 'bigint', 'CASE WHEN %1$s > 2147483647 THEN 2147483647 WHEN %1$s < -2147483648 THEN -2147483648 ELSE '
		'%1$s::integer END'),
	('number', 'double precision', '%s'), ('number', 'real', '%s::float8'),
	-- Avoid cast errors for numbers that are out of the range of float8.
	('number', 'numeric', 'CASE WHEN abs(%1$s) > 1e200 AND abs(%1$s) < ''Infinity''::numeric THEN '
		'''Infinity''::float8 WHEN abs(%1$s) < 1e-200 THEN 0::float8 ELSE %1$s::float8 END'), ('number', 'smallint',
		'%s::float8'),
	('number', 'integer', '%s::float8'), ('number', 'bigint', '%s::float8'),
		('number', 'boolean', '%s::integer::float8'),
	('truth', 'boolean', '%s'),
	('word', 'category S', '%s::text'), ('word', 'category E', '%s::text'),
	('json', 'jsonb', '%s'), 
	-- Values with escapes that jsonb rejects stay text, as a JSON string.
	('json', 'json', 'CASE WHEN %1$s::text ~ '
		'E''\\\\u(0000|[dD][89abAB]..(?!\\\\u[dD][c-fC-F])|(?<!\\\\u[dD][89abAB]..\\\\u)[dD][c-fC-F])'' THEN '
		'pg_catalog.to_jsonb(%1$s::text) ELSE %1$s::jsonb END'), ('json', 'category S',
		'pg_catalog.to_jsonb(%s::text)'),
	('version', 'category A', NULL), ('version', 'any', '%s'),
	-- A time without a zone is taken as UTC, regardless of the session's zone.
	('time', 'timestamp with time zone', '%s'), ('time', 'timestamp without time zone', '(%s AT TIME ZONE ''UTC'')'),
	('time', 'date', '(%s::timestamp AT TIME ZONE ''UTC'')'),
	('numbers', 'real[]', '%s'), ('numbers', 'double precision[]', '%s'), ('numbers', 'numeric[]', '%s::float8[]'),
	-- Trainers often store masks as 0 and 1.
	('mask', 'boolean[]', '%s'), ('mask', 'smallint[]', '%s::integer[]::boolean[]'),
		('mask', 'integer[]', '%s::boolean[]'), ('mask', 'bigint[]', '%s::integer[]::boolean[]'),
	('vector', 'real[]', '%s'), ('vector', 'double precision[]', '%s::real[]'), ('vector', 'numeric[]', '%s::real[]'),
		('vector', 'smallint[]', '%s::real[]'),
	('vector', 'integer[]', '%s::real[]'), ('vector', 'bigint[]', '%s::real[]'),
	-- For example, the type vector of pgvector.
	('vector', 'castable to real[]', '%s::real[]'),
	('share', 'double precision', '%s'), ('share', 'real', '%s::float8'),
		('share', 'numeric', 'CASE WHEN abs(%1$s) > 1e200 AND abs(%1$s) < ''Infinity''::numeric THEN '
		'''Infinity''::float8 WHEN abs(%1$s) < 1e-200 THEN 0::float8 ELSE %1$s::float8 END'), ('share', 'smallint',
		'%s::float8'),
	('share', 'integer', '%s::float8'), ('share', 'bigint', '%s::float8'),
	('tokens', 'integer[]', '%s'), ('tokens', 'bigint[]', '%s'), ('tokens', 'smallint[]', '%s::integer[]');

CREATE TABLE stepadv_internal.roles (
	role text PRIMARY KEY,
	place integer NOT NULL,	-- order of the roles of rollout_agg, which come first
	-- 'source', 'steps' (show_steps), 'rollouts' (show_rollouts) or 'advantages' (select_steps)
	lives_in text NOT NULL,
	kind text NOT NULL,
	must_be text			-- for errors about the type; NULL for identities, which accept any type
);
COMMENT ON TABLE stepadv_internal.roles IS
'the roles of columns in attach, where each column is looked for, and the type that it must have';
INSERT INTO stepadv_internal.roles VALUES
	('step_id', 1, 'source', 'identity', NULL), ('rollout_id', 2, 'source', 'identity', NULL),
	('step_no', 3, 'source', 'order',
		'step_no must be an integer; attach a view with, say, row_number() OVER (PARTITION BY group, rollout ORDER BY '
		'time).'),
	('state', 4, 'source', 'identity', NULL), ('action', 5, 'source', 'identity', NULL), ('reward', 6, 'source',
		'number', 'reward must be a number or boolean.'),
	('success', 7, 'source', 'truth', 'success must be boolean; attach a view that says when a value means success.'),
	('next_state', 8, 'source', 'identity', NULL), ('value', 9, 'source', 'number',
		'value must be a number or boolean.'),
	('turn_reward', 10, 'source', 'number', 'turn_reward must be a number or boolean.'), ('cost', 11, 'source',
		'number', 'cost must be a number or boolean.'),
	('turn', 12, 'source', 'order', 'turn must be an integer.'),
	('tool', 13, 'source', 'word', 'tool must be text.'), ('args', 14, 'source', 'json',
		'args must be jsonb, json or text.'), ('ok', 15, 'source', 'truth', 'ok must be boolean.'),
	('logp_new', 16, 'steps', 'numbers', 'logp_new must be an array of real or double precision.'),
	('logp_old', 17, 'steps', 'numbers', 'logp_old must be an array of real or double precision.'),
	('token_mask', 18, 'steps', 'mask', 'token_mask must be an array of booleans, or of 0 and 1.'),
	('features', 19, 'steps', 'vector', 'features must be an array of numbers, or of a type with a cast to real[].'),
	('contribution', 20, 'steps', 'share', 'contribution must be a number.'), ('grounded', 21, 'steps', 'truth',
		'grounded must be boolean.'),
	('policy_version', 22, 'rollouts', 'version', 'A rollout is of one version.'),
	('started_at', 23, 'rollouts', 'time',
		'started_at must be a timestamp or a date; attach a view that converts it, say by to_timestamp().'),
	('advantage', 24, 'advantages', 'share', 'advantage must be a number.'), ('stderr', 25, 'advantages', 'share',
		'stderr must be a number.'),
	('min_visits', 26, 'advantages', 'share', 'min_visits must be a number.'), ('outcome', 27, 'advantages', 'number',
		'outcome must be a number or boolean.'),
	('task_id', 29, 'rollouts', 'version', 'A rollout is of one task.'), ('run_id', 30, 'rollouts', 'version',
		'A rollout is of one run.'),
	('policy_step', 31, 'rollouts', 'ordinal',
		'policy_step must be an integer, such as the number of the training step.'),
	('dimension', 32, 'rollouts', 'version', 'A rollout has one value of a dimension.'),
	('max_staleness', 34, 'advantages', 'share', 'staleness must be a number of policy steps.'),
	('truncated', 35, 'source', 'truth',
		'truncated must be boolean; attach a view that says when a rollout was cut off.'),
	('min_confidence', 36, 'advantages', 'share', 'confidence must be a number.'),
	('min_action_visits', 50, 'advantages', 'share', 'n_action must be a number.'),
	('prompt_token_ids', 37, 'steps', 'tokens', 'prompt_token_ids must be an array of integers.'),
	('response_token_ids', 38, 'steps', 'tokens', 'response_token_ids must be an array of integers.'),
	('ended_at', 39, 'rollouts', 'time',
		'ended_at must be a timestamp or a date; attach a view that converts it, say by to_timestamp().'),
	('category', 40, 'steps', 'word', 'category must be text.'),
	('logp_ref', 41, 'steps', 'numbers', 'logp_ref must be an array of real or double precision.'),
	('coarse_state', 43, 'source', 'identity', NULL), ('logp', 44, 'source', 'number',
		'logp must be a number, the log-probability of the action.');
GRANT SELECT ON stepadv_internal.role_types, stepadv_internal.roles TO PUBLIC;

CREATE FUNCTION stepadv_internal.base_type(type oid) RETURNS oid
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	above oid := base_type.type;
	under oid;
BEGIN
	LOOP
		SELECT CASE t.typtype WHEN 'd' THEN t.typbasetype END INTO under FROM pg_type t WHERE t.oid = above;
		IF NOT FOUND OR under IS NULL THEN
			RETURN CASE WHEN FOUND THEN above END;
		END IF;
		above := under;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.base_type(oid) IS
'the type under a domain, at any depth; any other type itself';

CREATE FUNCTION stepadv_internal.column_type(relation regclass, name text) RETURNS oid
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_column_type';
COMMENT ON FUNCTION stepadv_internal.column_type(regclass, text) IS
'declared type of a column; NULL if there is no such column';

CREATE FUNCTION stepadv_internal.relation_name(relation regclass) RETURNS text
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_relation_name';
COMMENT ON FUNCTION stepadv_internal.relation_name(regclass) IS
'qualified and quoted name of a relation; NULL if there is none';

CREATE FUNCTION stepadv_internal.role_expression(kind text, type oid) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT r.expression
	FROM stepadv_internal.role_types r JOIN pg_type t ON t.oid = role_expression.type
	WHERE r.kind = role_expression.kind
		AND (r.accepts IN (format_type(t.oid, NULL), 'category ' || t.typcategory::text, 'any')
			OR r.accepts = 'castable to real[]' AND EXISTS (SELECT FROM pg_cast c WHERE c.castsource = t.oid
				AND c.casttarget = 'real[]'::regtype))
	ORDER BY array_position(ARRAY[format_type(t.oid, NULL), 'category ' || t.typcategory::text, 'castable to real[]',
		'any'], r.accepts)
	LIMIT 1);
END
$$;
COMMENT ON FUNCTION stepadv_internal.role_expression(text, oid) IS
'the expression (of %s) that converts a value of a type to a kind of column; NULL if the type does not fit';

CREATE FUNCTION stepadv_internal.identity(expression text, type oid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format(stepadv_internal.role_expression('identity'::text, b.type), CASE WHEN b.type <> identity.type
		THEN format('%s::%s', expression, format_type(b.type, NULL)) ELSE expression END)
	FROM stepadv_internal.base_type(identity.type) b(type)
$$;
COMMENT ON FUNCTION stepadv_internal.identity(text, oid) IS
'the expression that converts an expression of the given type to a bigint identity: integers unchanged, all other '
'types hashed';

-- A hint with the known name that is most similar to an unknown one; if there is none, the hint in otherwise.
CREATE FUNCTION stepadv_internal.nearest_hint(name text, known text[], otherwise text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT coalesce('Perhaps you meant "' || stepadv_internal.nearest_name(name, known) || '".', otherwise) $$;
COMMENT ON FUNCTION stepadv_internal.nearest_hint(text, text[], text) IS
'a hint that suggests the known name most similar to a name; otherwise: the hint if there is none';

CREATE FUNCTION stepadv_internal.refuse_name(what text, name text, known text[]) RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'unknown %: "%"', what, coalesce(refuse_name.name, 'NULL')
		USING ERRCODE = 'invalid_parameter_value',
		HINT = stepadv_internal.nearest_hint(refuse_name.name, known, CASE WHEN cardinality(known) <= 80
			THEN format('There are: %s.', array_to_string(known, ', '))
			ELSE 'It is neither an option of attach nor a view or a parameter of one.' END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_name(text, text, text[]) IS
'error for an unknown name; the hint gives the nearest name, or all names';

CREATE FUNCTION stepadv_internal.refuse_column(message text, name text, relations regclass[], hint text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	nearest CONSTANT text := (SELECT n.name FROM unnest(relations) WITH ORDINALITY r(relation, i)
		CROSS JOIN LATERAL stepadv_internal.nearest_name(refuse_column.name, ARRAY(SELECT a.attname::text
			FROM pg_attribute a WHERE a.attrelid = r.relation AND a.attnum > 0 AND NOT a.attisdropped
			ORDER BY a.attnum)) n(name)
		WHERE n.name IS NOT NULL ORDER BY r.i LIMIT 1);
BEGIN
	IF nearest IS NULL AND refuse_column.hint IS NULL THEN
		RAISE EXCEPTION '%', message USING ERRCODE = 'undefined_column';
	END IF;
	RAISE EXCEPTION '%', message USING ERRCODE = 'undefined_column', HINT = CASE WHEN nearest IS NOT NULL
		THEN format('Perhaps you meant the column "%s".', nearest) ELSE refuse_column.hint END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_column(text, text, regclass[], text) IS
'part of attach: error that a column does not exist in relations; the hint suggests the most similar name, or is the '
'given one if there is none';

CREATE FUNCTION stepadv_internal.role_column(role text, relation regclass, name text, alias text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	declared CONSTANT oid := stepadv_internal.column_type(relation, role_column.name);
	type CONSTANT oid := stepadv_internal.base_type(declared);
	r stepadv_internal.roles;
	expression text;
BEGIN
	SELECT * INTO STRICT r FROM stepadv_internal.roles o WHERE o.role = role_column.role;
	IF declared IS NULL AND r.role = 'state' AND role_column.name IN ('history', 'history_set', 'history_last',
		'observation_last', 'root', 'signature') THEN
		RAISE EXCEPTION 'column "%" given as % does not exist in %', role_column.name, r.role,
			stepadv_internal.relation_name(relation)
			USING ERRCODE = 'undefined_column', HINT = format('To let attach make the states, use states => %L.',
				role_column.name);
	ELSIF declared IS NULL THEN
		PERFORM stepadv_internal.refuse_column(format('column "%s" given as %s does not exist in %s', role_column.name,
			r.role, stepadv_internal.relation_name(relation)),
			role_column.name, ARRAY[relation], CASE WHEN r.role IN ('features', 'contribution', 'grounded')
				THEN 'What _spa reads are columns of the relation of the shown steps.' END);
	END IF;
	expression := stepadv_internal.role_expression(r.kind, type);
	IF expression IS NULL THEN
		RAISE EXCEPTION 'column "%" of % cannot serve as %: its type is %', role_column.name,
			stepadv_internal.relation_name(relation), r.role, format_type(type, NULL)
			USING ERRCODE = 'datatype_mismatch', HINT = r.must_be;
	END IF;
	RETURN format(expression, format('%s.%I', alias, role_column.name) || CASE WHEN type <> declared THEN '::'
		|| format_type(type, NULL) ELSE '' END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.role_column(text, regclass, text, text) IS
'a column, over an alias, as the expression that its role needs; error if it does not exist or its type does not '
'fit';

-- ---- Checks of arguments that several functions share

CREATE FUNCTION stepadv_internal.check_names(given_as text, names text[]) RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF cardinality(check_names.names) <> (SELECT count(DISTINCT n) FROM unnest(check_names.names) n) THEN
		RAISE EXCEPTION '% names a column twice, or NULL: %', check_names.given_as, check_names.names
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_names(text, text[]) IS
'error if a list of columns repeats a name or contains NULL; no error for NULL';

CREATE FUNCTION stepadv_internal.check_unit(unit text, whose text) RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF (check_unit.unit IN ('step', 'turn', 'turn_set')) IS NOT TRUE THEN
		RAISE EXCEPTION 'unknown unit%: %', check_unit.whose, coalesce(quote_literal(check_unit.unit), 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
			HINT = 'unit is ''step'', ''turn'' (its calls in their order) or ''turn_set'' (in any order).';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_unit(text, text) IS
'error if a unit is unknown or NULL; whose: follows the word, or is empty';

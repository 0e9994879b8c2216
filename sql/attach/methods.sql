-- Methods: functions of a rollout_group for which attach creates views.

-- A table OF this type has a row per method: one belongs to the extension, others
-- are created by register_method for its caller and found by their row type.
CREATE TYPE stepadv.method AS (
	method text,			-- suffix of its view; name of its column in views of several methods
	function text,			-- with its argument types, in the form of regprocedure
	requires text[],		-- roles that must be given for its view
	-- other roles that it reads: states and actions, and those of the long form of rollout_agg
	uses text[],
	options_of text,		-- method whose options it takes if it has none of its own
	description text,				-- what a row represents
	place integer,			-- order of the extension's methods
	function_owner regrole,	-- owner of the function when it was registered
	by_default boolean		-- whether attach creates its view by default; NULL: yes
);
COMMENT ON TYPE stepadv.method IS
'a method for attach: suffix of the view, function of a rollout_group, roles that it requires and uses, the method '
'whose options it shares, what a row is, owner of the function at registration, and whether attach makes its view by '
'default';

CREATE TABLE stepadv_internal.methods OF stepadv.method (PRIMARY KEY (method));
COMMENT ON TABLE stepadv_internal.methods IS 'the methods of the extension, in the order in which _compare has them';
GRANT SELECT ON stepadv_internal.methods TO PUBLIC;
-- Qualified names, since the search_path does not contain the functions.
INSERT INTO stepadv_internal.methods
SELECT v.method, p.oid::regprocedure::text, v.requires::text[], v.uses::text[], v.options_of, v.description, v.place,
	NULL, v.by_default
FROM (VALUES
	('groups', 'group_summary', '{}', '{state}', NULL, 'a row per group', 10, true),
	('rollouts', 'rollouts', '{}', '{}', NULL, 'a row per rollout', 20, true),
	('history_td', 'history_td', '{reward,state,action}', '{}', NULL, 'a row per step', 25, true),
	('returns', 'returns', '{reward}', '{}', NULL, 'a row per step', 30, false),
	('grpo', 'grpo', '{reward}', '{}', NULL, 'a row per step', 40, true),
	('rloo', 'rloo', '{reward}', '{}', NULL, 'a row per step', 50, false),
	('mt_grpo', 'mt_grpo', '{reward,turn_reward}', '{turn_reward}', NULL, 'a row per step', 60, true),
	('mt_rloo', 'mt_rloo', '{reward,turn_reward}', '{turn_reward}', NULL, 'a row per step', 70, false),
	('igpo', 'igpo', '{reward,turn_reward}', '{turn_reward}', NULL, 'a row per step', 75, false),
	('gae', 'gae', '{reward,value}', '{value}', NULL, 'a row per step', 80, true),
	('gigpo', 'gigpo', '{reward,state}', '{}', NULL, 'a row per step', 90, true),
	('graphgpo', 'graphgpo', '{reward,state}', '{next_state,cost}', NULL,
		'a row per step, for states that hide nothing (see state_check; else history_td, hgpo or gigpo)', 100, true),
	('graph_nodes', 'graph_nodes', '{reward,state}', '{next_state,cost}', 'graphgpo',
		'a row per state, with an example step', 110, false),
	('graph_edges', 'graph_edges', '{reward,state,action}', '{next_state,cost}', 'graphgpo',
		'a row per edge of the state graph, with an example step', 120, false),
	('contribution', 'contribution', '{reward,state}', '{next_state,cost}', 'graphgpo', 'a row per rollout', 130,
		false),
	('hgpo', 'hgpo', '{reward,state}', '{}', NULL, 'a row per step', 150, false),
	('tempo', 'tempo', '{reward,action}', '{}', NULL, 'a row per step', 160, false),
	('rtmc', 'rtmc', '{reward,state,action}', '{coarse_state}', NULL, 'a row per step', 170, true),
	('batch_td', 'batch_td', '{reward,state,action}', '{coarse_state,logp}', NULL,
		'a row per step, for states that hide nothing (see state_check; else history_td, hgpo or gigpo)', 175, true),
	('state_average', 'state_average', '{reward,state,action}', '{}', NULL,
		'a row per step: batch_td with several states, averaged', 177, false),
	('rtmc_tree', 'rtmc_tree', '{reward,state,action}', '{}', 'rtmc',
		'a row per edge of the rollout tree, with an example step', 180, false)
) AS v(method, function, requires, uses, options_of, description, place, by_default)
JOIN pg_proc p ON p.pronamespace = 'stepadv'::regnamespace AND p.proname = v.function
	AND p.proargtypes[0] = 'stepadv.rollout_group'::regtype;

-- A method, and the declaration of its function.
CREATE TYPE stepadv_internal.known_method AS (
	method text, function regprocedure, requires text[], uses text[], options_of text, description text,
	ours boolean,			-- one of the extension's
	results text[],			-- columns that it returns
	parameters text[],		-- names of parameters that users can set
	instance jsonb,			-- settings of an instance; NULL: the method itself
	takes_history boolean	-- one of the extension's that takes a history (a group)
);
COMMENT ON TYPE stepadv_internal.known_method IS 'part of attach: a method, with what its function returns and takes';

-- The query of a view is the result of <suffix>_query(attached, made_method[]); with a reader, a function
-- of digests, it is the result of digest_view.
CREATE TABLE stepadv_internal.combined_views (
	place integer NOT NULL,
	suffix text PRIMARY KEY,
	needs text[] NOT NULL,	-- method, methods (two), run, or roles: see lacks
	options text[] NOT NULL,
	description text NOT NULL,	-- what a row represents
	by_default boolean NOT NULL,
	reader text,
	part text,				-- part of the digest; NULL: a row per group
	of_digest text[]		-- what the digest must contain for it
);
COMMENT ON TABLE stepadv_internal.combined_views IS
'the views of attach that are more than one function of the folded group: their requirements and options';
GRANT SELECT ON stepadv_internal.combined_views TO PUBLIC;

-- Invalid contents of a user's table must not cause errors for others, so the stored
-- name is compared with functions' names and never parsed.  A function counts as the
-- registered one if its owner is the owner at registration or that of the table:
-- a function that another role created in its place is ignored.  (A dump would lose an
-- OID, and pg_upgrade rejects tables with a regprocedure.)
CREATE FUNCTION stepadv_internal.known_methods(methods regclass) RETURNS SETOF stepadv_internal.known_method
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	ours CONSTANT boolean := known_methods.methods = 'stepadv_internal.methods'::regclass;
	owner CONSTANT oid := (SELECT c.relowner FROM pg_class c WHERE c.oid = known_methods.methods);
	written stepadv.method[];
BEGIN
	-- Only a plain table that the caller may read: reading it runs no user's code.
	IF EXISTS (SELECT FROM pg_class c WHERE c.oid = known_methods.methods AND c.relkind = 'r' AND NOT c.relrowsecurity
		AND c.reloftype = 'stepadv.method'::regtype AND has_table_privilege(c.oid, 'SELECT')
			AND has_schema_privilege(c.relnamespace, 'USAGE'))
	THEN
		EXECUTE format('SELECT ARRAY(SELECT m::stepadv.method FROM ONLY %s m)',
			stepadv_internal.relation_name(known_methods.methods)) INTO written;
		RETURN QUERY
			SELECT m.method, p.oid::regprocedure, coalesce(m.requires, '{}'), coalesce(m.uses, '{}'), m.options_of,
				coalesce(m.description, ''), ours, r.names, coalesce(p.proargnames[2:p.pronargs], '{}'), NULL::jsonb,
				p.pronamespace = 'stepadv'::regnamespace AND 'history' = ANY (p.proargnames[2:p.pronargs])
					AND 'stepadv.rollout_group'::regtype = ANY ((p.proargtypes::oid[])[1:])
			FROM unnest(written) m
			-- Extract the name, with or without schema and quotes, to use the index of pg_proc.
			CROSS JOIN LATERAL substring(m.function
				FROM '^(?:(?:"(?:[^"]|"")*"|[^".(]+)\.)?("(?:[^"]|"")*"|[^".(]+)\(') n(quoted)
			JOIN pg_proc p ON p.proname = replace(CASE WHEN n.quoted LIKE '"%' THEN
				substr(n.quoted, 2, length(n.quoted) - 2) ELSE n.quoted END, '""', '"')::name
				-- The extension's names are unique, and writing signatures as text is slow.
				AND CASE WHEN ours THEN p.pronamespace = 'stepadv'::regnamespace
					ELSE p.oid::regprocedure::text = m.function END
			CROSS JOIN LATERAL (SELECT array_agg(p.proargnames[i.i] ORDER BY i.i) AS names
				FROM generate_subscripts(p.proargmodes, 1) i(i) WHERE p.proargmodes[i.i] = 't') r
			WHERE p.proargtypes[0] = 'stepadv.rollout_group'::regtype AND r.names IS NOT NULL
				AND (ours OR p.proowner IN (owner, m.function_owner) AND m.method ~ '^[a-z_][a-z0-9_]*$'
					AND NOT EXISTS (SELECT FROM stepadv_internal.combined_views v WHERE v.suffix = m.method))
			ORDER BY CASE WHEN ours THEN m.place END, m.method;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.known_methods(regclass) IS
'the methods in a table OF stepadv.method whose functions exist, with their columns and parameters; no rows for '
'another relation, or one that the caller may not read';

-- The methods for views of a role: the extension's first, then those that the role
-- itself or a superuser registered, then those that the caller of attach names
-- ("schema.method").  Functions of other users are never used in views; their
-- tables are not read.
CREATE FUNCTION stepadv_internal.trusted_methods(owner oid, named text[], OUT schema name, OUT trusted integer,
	OUT number bigint, OUT known stepadv_internal.known_method) RETURNS SETOF record
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT c.nspname, c.trusted, k.i, k.k
	FROM (
		SELECT t.oid, n.nspname, b.trusted,
			b.trusted < 4 OR t.relname = 'stepadv_methods'
				AND EXISTS (SELECT FROM unnest(trusted_methods.named) m(name)
				WHERE left(m.name, length(n.nspname) + 1) = n.nspname || '.') AS is_read
		FROM pg_class t JOIN pg_roles o ON o.oid = t.relowner JOIN pg_namespace n ON n.oid = t.relnamespace
		CROSS JOIN LATERAL (SELECT CASE WHEN t.oid = 'stepadv_internal.methods'::regclass THEN 1
			WHEN t.relowner = trusted_methods.owner THEN 2 WHEN o.rolsuper THEN 3 ELSE 4 END AS trusted) b
		WHERE t.reloftype = 'stepadv.method'::regtype
	) c
	CROSS JOIN LATERAL (SELECT k, row_number() OVER () AS i FROM stepadv_internal.known_methods(CASE WHEN c.is_read
		THEN c.oid::regclass END) k) k
	WHERE c.trusted < 4 OR format('%s.%s', c.nspname, (k.k).method) = ANY (trusted_methods.named);
END
$$;
COMMENT ON FUNCTION stepadv_internal.trusted_methods(oid, text[]) IS
'the methods that views of a role may use: the schema of each one''s table, how far it is trusted (1: the '
'extension''s, 2: the role''s, 3: a superuser''s, 4: named) and its place there';

CREATE FUNCTION stepadv_internal.methods_for(owner oid, named text[]) RETURNS SETOF stepadv_internal.known_method
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT (m.known).*
	FROM (
		SELECT DISTINCT ON ((b.known).method) b.known, b.trusted, b.number
		FROM stepadv_internal.trusted_methods(methods_for.owner, methods_for.named) b
		ORDER BY (b.known).method, b.trusted, b.schema, b.number
	) m
	ORDER BY m.trusted, m.number, (m.known).method
$$;
COMMENT ON FUNCTION stepadv_internal.methods_for(oid, text[]) IS
'the methods that attach creates views of, for views of a role; of methods with the same name, the most trusted '
'one';

-- The name becomes the end of a view's name, and a column in views of several methods.
CREATE FUNCTION stepadv_internal.check_method_name(name text, hint text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF name !~ '^[a-z_][a-z0-9_]{0,47}$' THEN
		RAISE EXCEPTION 'method "%" cannot be part of a view''s name', name USING ERRCODE = 'invalid_name',
			HINT = 'Use at most 48 lower-case letters, digits and underscores.';
	ELSIF name = ANY ('{rows,rows_with_states,shown_steps,shown_rollouts,begun_runs,attachment,
		fresh,folded,changed,fresh_digests,made_digests,digests,seen,
		step_id,rollout_id,step_no,success,return,policy_version,bucket,method,task_id,run_id,policy_step}'::text[])
			THEN
		RAISE EXCEPTION 'method name "%" is reserved', name USING ERRCODE = 'invalid_name',
			HINT = check_method_name.hint;
	ELSIF EXISTS (SELECT FROM stepadv_internal.methods m WHERE m.method = name) OR name IN (SELECT v.suffix
		FROM stepadv_internal.combined_views v) THEN
		RAISE EXCEPTION 'method "%" is one of stepadv''s own', name USING ERRCODE = 'duplicate_object',
			HINT = check_method_name.hint;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_method_name(text, text) IS
'part of register_method and attach: error if a name is not allowed for a method';

-- The owner of a table controls its triggers, and the owner of its schema which table has
-- the name.  The caller must own the table (privileges of a superuser do not count), and
-- the caller or a superuser the schema.
CREATE FUNCTION stepadv_internal.registry(schema text) RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	me CONSTANT oid := quote_ident(current_user)::regrole;
	registry CONSTANT text := format('%I.stepadv_methods', registry.schema);
	held pg_class;
BEGIN
	IF EXISTS (SELECT FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner
		WHERE n.nspname = registry.schema AND n.nspowner <> me AND NOT o.rolsuper AND o.rolname <> 'pg_database_owner')
	THEN
		RAISE EXCEPTION 'schema "%" belongs to another role', registry.schema USING ERRCODE = 'insufficient_privilege',
			HINT = 'Name a schema of your own by schema => ''…''.';
	END IF;
	SELECT c.* INTO held FROM pg_class c WHERE c.oid = to_regclass(registry);
	IF held.oid IS NULL THEN
		EXECUTE format('CREATE TABLE %s OF stepadv.method (PRIMARY KEY (method))', registry);
		EXECUTE format('COMMENT ON TABLE %s IS %L', registry,
			'methods of users, made by stepadv.register_method and read by attach');
		-- It contains only what all roles can read in the catalog of functions.
		EXECUTE format('GRANT SELECT ON %s TO PUBLIC', registry);
	ELSIF held.relkind <> 'r' OR held.reloftype <> 'stepadv.method'::regtype
		OR NOT stepadv_internal.owns(held.oid::regclass, false) THEN
		RAISE EXCEPTION 'relation % is not your table of methods', registry USING ERRCODE = 'wrong_object_type',
			HINT = 'Name another schema by schema => ''…''.';
	END IF;
	RETURN registry;
END
$$;
COMMENT ON FUNCTION stepadv_internal.registry(text) IS
'part of register_method: the table of methods of a schema, created if it is missing; error if it, or the schema, '
'belongs to another user';

CREATE FUNCTION stepadv_internal.register_method(function regprocedure, requires text[], uses text[], method text,
	options_of text, description text, schema text)
RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT text[] := ARRAY(SELECT r.role FROM stepadv_internal.roles r WHERE r.lives_in = 'source'
		OR r.role = 'policy_step' ORDER BY r.place);
	p pg_proc;
	name text;
	registry text;
	role text;
BEGIN
	SELECT * INTO p FROM pg_proc f WHERE f.oid = register_method.function;
	IF p.oid IS NULL THEN
		RAISE EXCEPTION 'function must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	name := coalesce(register_method.method, p.proname);
	IF p.proargtypes[0] IS DISTINCT FROM 'stepadv.rollout_group'::regtype
		OR 't' <> ALL (coalesce(p.proargmodes, '{i}')) THEN
		RAISE EXCEPTION 'function % is not a method', register_method.function USING ERRCODE = 'wrong_object_type',
			HINT = 'Its first argument must be a stepadv.rollout_group, and it must be declared with RETURNS TABLE.';
	ELSIF description = 'a row per step' AND 4 <> (
		SELECT count(*) FROM unnest(p.proargnames, p.proargmodes, p.proallargtypes) c(name, mode, type)
		WHERE c.mode = 't' AND (c.name, c.type) IN (('step_id', 'bigint'::regtype), ('rollout_id', 'bigint'::regtype),
			('step_no', 'integer'::regtype), ('advantage', 'float8'::regtype)))
	THEN
		RAISE EXCEPTION 'function % does not return a row per step', register_method.function
			USING ERRCODE = 'wrong_object_type',
			HINT = 'A method with an advantage per step returns the columns step_id bigint, rollout_id bigint, '
				'step_no integer and advantage float8; for another, say by description what a row is.';
	ELSIF p.pronargdefaults < p.pronargs - 1 OR '' = ANY (p.proargnames[2:p.pronargs]) OR 'v' = ANY (p.proargmodes) THEN
		RAISE EXCEPTION 'function % has a parameter without a name and a default', register_method.function
			USING ERRCODE = 'wrong_object_type',
			HINT = 'Options name parameters; without options the defaults apply.';
	END IF;
	PERFORM stepadv_internal.check_method_name(name, 'Give another name by method => ''…''.'::text);
	SELECT r INTO role FROM unnest(requires || uses) r WHERE r IS NULL OR r <> ALL (known) LIMIT 1;
	IF FOUND THEN
		PERFORM stepadv_internal.refuse_name('role'::text, role, known);
	END IF;

	registry := stepadv_internal.registry(coalesce(register_method.schema, (SELECT n.nspname FROM pg_namespace n
		WHERE n.oid = p.pronamespace)));
	EXECUTE format('INSERT INTO %s (method, function, requires, uses, options_of, description, function_owner)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (method) DO UPDATE SET function = $2, requires = $3, uses = $4, options_of = $5, description = $6,
			function_owner = $7', registry)
		USING name, register_method.function::text, requires, uses, options_of, description, p.proowner::regrole;
	RETURN registry::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.register_method(regprocedure, text[], text[], text, text, text, text) IS
'what register_method does';

CREATE FUNCTION stepadv.register_method(function regprocedure, requires text[] DEFAULT '{reward}',
	uses text[] DEFAULT '{}',
	method text DEFAULT NULL, options_of text DEFAULT NULL, description text DEFAULT 'a row per step',
		schema text DEFAULT NULL)
RETURNS regclass
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_caller';
COMMENT ON FUNCTION stepadv.register_method(regprocedure, text[], text[], text, text, text, text) IS
'registers a function of rollout_group with one row per step as a method of attach, _compare and the views over '
'time; requires, uses: roles that it needs or reads; stored in stepadv_methods in the schema of the function, or in '
'the given one; used for views of the same owner, or if named in methods';

-- Options of a method, from those of attach: first those for all methods, if it has
-- the parameter and the value is valid, then its own, or those of options_of.  An
-- instance has its own parameters; the method's own options do not apply to it.
CREATE FUNCTION stepadv_internal.method_options(m stepadv_internal.known_method, options jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings jsonb := '{}';
	own CONSTANT jsonb := CASE WHEN (m).instance IS NOT NULL THEN (m).instance - '{method,unit,rewards}'::text[]
		WHEN jsonb_typeof(options -> (m).method) = 'object' THEN options -> (m).method END;
	option record;
BEGIN
	IF options = '{}' THEN
		RETURN '{}';
	END IF;
	FOR option IN
		SELECT e.key, e.value, e.value #>> '{}' AS word, t.type FROM jsonb_each(options) e
		JOIN LATERAL (SELECT p.proargtypes[i.i] AS type FROM pg_proc p, generate_series(1, p.pronargs - 1) i(i)
			WHERE p.oid = (m).function AND p.proargnames[i.i + 1] = e.key) t ON true
		-- normalise is text for most methods, but boolean for rtmc.
		WHERE jsonb_typeof(e.value) NOT IN ('object', 'array') AND NOT (jsonb_typeof(e.value) = 'boolean'
			AND t.type = 'text'::regtype)
	LOOP
		BEGIN
			EXECUTE format('SELECT %L::%s', option.word, format_type(option.type, NULL));
			settings := settings || jsonb_build_object(option.key, option.value);
		EXCEPTION WHEN data_exception OR check_violation OR not_null_violation THEN
			NULL;
		END;
	END LOOP;
	IF own IS NOT NULL THEN
		RETURN settings || own;
	END IF;
	RETURN settings || (SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}')
		FROM jsonb_each(CASE WHEN jsonb_typeof(options -> (m).options_of) = 'object'
			THEN options -> (m).options_of END) e
		WHERE e.key = ANY ((m).parameters));
END
$$;
COMMENT ON FUNCTION stepadv_internal.method_options(stepadv_internal.known_method, jsonb) IS
'the options of attach for one method';

-- Options as arguments of an estimator: ", gamma => '0.9'::double precision".  For a
-- user's function all arguments are written, by position and with their types: then
-- the call cannot resolve to another function of that name, which others may have
-- created in its schema.
CREATE FUNCTION stepadv_internal.arguments(estimator regprocedure, options jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	one_step CONSTANT text := '(SELECT stepadv.rollout_agg(1::bigint, 1::bigint, 0, 1::bigint, 1::bigint, 1::float8,
		true, 1::bigint, 0::float8, 0::float8, 1::float8, NULL::integer, NULL::float8[], NULL::boolean, NULL::bigint,
		NULL::bigint, 0::float8))';
	f pg_proc;
	made text := '';
	option record;
	type oid;
BEGIN
	SELECT * INTO STRICT f FROM pg_proc p WHERE p.oid = estimator;
	FOR option IN SELECT e.key, e.value, e.value #>> '{}' AS word FROM jsonb_each(arguments.options) e LOOP
		-- A group (the history) is not an option: attach provides it.
		SELECT f.proargtypes[a.i - 1] INTO type FROM generate_series(2, f.pronargs) a(i)
			WHERE f.proargnames[a.i] = option.key AND f.proargtypes[a.i - 1] <> 'stepadv.rollout_group'::regtype;
		IF type IS NULL THEN
			RAISE EXCEPTION 'function % has no parameter "%"', f.proname, option.key
				USING ERRCODE = 'invalid_parameter_value',
					HINT = (SELECT stepadv_internal.nearest_hint(option.key, array_agg(p.name ORDER BY p.i),
						format('Its parameters: %s.', coalesce(string_agg(p.name, ', ' ORDER BY p.i), 'none')))
						FROM unnest(f.proargnames[2:f.pronargs], f.proargtypes[1:]::oid[]) WITH ORDINALITY p(name,
							type, i)
						WHERE p.type <> 'stepadv.rollout_group'::regtype);
		ELSIF jsonb_typeof(option.value) IN ('object', 'array') THEN
			RAISE EXCEPTION 'option "%" must be a single value, not an %', option.key, jsonb_typeof(option.value)
				USING ERRCODE = 'invalid_parameter_value';
		END IF;
		made := made || format(', %I => %L::%s', option.key, option.word, format_type(type, NULL));
	END LOOP;
	IF f.pronamespace <> 'stepadv'::regnamespace THEN
		SELECT coalesce(string_agg(format(', (%s)::%s', CASE WHEN arguments.options ? f.proargnames[p.i]
			THEN quote_nullable(arguments.options ->> f.proargnames[p.i])
			ELSE pg_get_function_arg_default(f.oid, p.i) END, format_type(f.proargtypes[p.i - 1], NULL)), ''
				ORDER BY p.i), '')
		INTO made FROM generate_series(2, f.pronargs) p(i);
	END IF;
	IF made = '' AND f.pronamespace = 'stepadv'::regnamespace THEN
		RETURN made;
	END IF;
	-- Let the function check its arguments now, with a group of one step,
	-- rather than in every query on the view.
	EXECUTE format('SELECT count(*) FROM %s(%s%s)', (SELECT format('%I.%I', n.nspname, f.proname) FROM pg_namespace n
		WHERE n.oid = f.pronamespace), one_step, made);
	RETURN made;
END
$$;
COMMENT ON FUNCTION stepadv_internal.arguments(regprocedure, jsonb) IS
'options as named arguments of a function of a group, checked against its parameters and by a call';

-- Results of a user's method in the row order of the extension's methods.
CREATE FUNCTION stepadv_internal.in_order(rollout_ids bigint[], step_nos integer[], advantages float8[],
	rollouts stepadv.rollout_group) RETURNS SETOF float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 5000 ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT u.advantage
	FROM stepadv.returns(rollouts) WITH ORDINALITY s(step_id, rollout_id, step_no, return, place)
	LEFT JOIN (SELECT g.rollout_id, g.step_no, min(g.advantage) AS advantage FROM unnest(rollout_ids, step_nos,
		advantages) g(rollout_id, step_no, advantage) GROUP BY 1, 2) u
		ON u.rollout_id = s.rollout_id AND u.step_no = s.step_no
	ORDER BY s.place
$$;
COMMENT ON FUNCTION stepadv_internal.in_order(bigint[], integer[], float8[], stepadv.rollout_group) IS
'part of attach: advantages by rollout_id and step_no as a row per step of the group, in the order of the methods; '
	'NULL if there is none, the least if there are several';

-- From JSON Lines to the canonical tables, in SQL.  client/stepadv-load.psql gets a
-- file's lines into a staging table with every byte intact; see docs/tables.md.

-- Bytes that came as LATIN1, one character each, as the UTF-8 they are.
CREATE FUNCTION stepadv_internal.import_utf8(document text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_utf8';
COMMENT ON FUNCTION stepadv_internal.import_utf8(text) IS 'part of load_rollouts: a text that stands for bytes, one character each, read as UTF-8; error where it is none';

-- What is longer jsonb cannot hold, whose objects and lists have less; it is not tried.
CREATE FUNCTION stepadv_internal.import_limit() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT 268435455;
END;
COMMENT ON FUNCTION stepadv_internal.import_limit() IS 'part of load_rollouts: how many bytes a line or document may have: as many as an object or list of jsonb';

-- In words of ours what the server says of a document that it cannot read.
CREATE FUNCTION stepadv_internal.import_words_of_error(state text, message text, detail text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN left(CASE
		WHEN import_words_of_error.state = '54001' THEN 'it is nested too deeply'
		WHEN import_words_of_error.state = 'XX000' AND import_words_of_error.message LIKE 'invalid memory alloc request%' THEN 'it is too large to be read'
		WHEN import_words_of_error.detail ~ 'value 0x(1a|1A)' THEN 'a byte in a string that JSON does not allow: 0, 1, 2 or 26'
		WHEN import_words_of_error.detail <> '' THEN format('%s (%s)', import_words_of_error.message, import_words_of_error.detail)
		ELSE import_words_of_error.message END, 300);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_words_of_error(text, text, text) IS 'part of load_rollouts: what is wrong with a document, of the error that reading it raised: its SQLSTATE, message and detail';

-- The text of a line or document as jsonb, which like text cannot hold U+0000.
CREATE FUNCTION stepadv_internal.json_of_text(document text, is_latin1 boolean, OUT content jsonb, OUT nul_replaced integer)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- A pair of backslashes, put out of sight while escapes are looked for.
	pair CONSTANT text := E'\x01';
	parts text;
BEGIN
	nul_replaced := 0;
	IF octet_length(document) > stepadv_internal.import_limit() THEN
		RAISE EXCEPTION 'it has % MB, more than the 256 that a document may have', octet_length(document) / 1048576 USING ERRCODE = 'program_limit_exceeded';
	END IF;
	IF is_latin1 THEN
		document := stepadv_internal.import_utf8(document);
	END IF;
	IF position('\u0000' IN document) > 0 AND position(pair IN document) = 0 THEN
		parts := replace(document, '\\', pair);
		nul_replaced := (length(parts) - length(replace(parts, '\u0000', ''))) / 6;
		document := replace(replace(parts, '\u0000', '\ufffd'), pair, '\\');
	END IF;
	content := document::jsonb;
END
$$;
COMMENT ON FUNCTION stepadv_internal.json_of_text(text, boolean) IS
'part of load_rollouts: a text as jsonb, with U+0000 made U+FFFD and counted; with is_latin1 the text stands for bytes, one character each, to be read as UTF-8; error when it is not UTF-8 or not JSON';

-- A line's object as the columns of rollouts and steps; no row when a value is
-- not what it should be, or an error (class 22 or 54): parse_rollout_line tells
-- which.  One query without a variable or a block, so that it becomes part of the
-- query around it.
CREATE FUNCTION stepadv_internal.step_of_json(j jsonb)
RETURNS SETOF @extschema@.parsed_step
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT NULL, 0, x.group_id #>> '{}', x.rollout_id #>> '{}', x.step_no::numeric, x.turn::numeric,
		x.observation, x.next_observation, x.action, x.tool #>> '{}', x.args, x.ok::boolean,
		-- These casts take "1" for no number and 1 for no truth.
		x.reward::float8, x.turn_reward::float8, x.value::float8, x.cost::float8,
		nullif(x.prompt_token_ids, '{}'), nullif(x.response_token_ids, '{}'), nullif(x.response_mask, '{}'), nullif(x.rollout_logprobs, '{}'),
		-- What has no column of its own is kept all the same.
		CASE WHEN y.rest = '{}' THEN x.meta
			WHEN x.meta IS NULL THEN y.rest
			WHEN jsonb_typeof(x.meta) = 'object' THEN x.meta || y.rest
			ELSE jsonb_build_object('meta', x.meta) || y.rest END,
		x.outcome::float8, x.success::boolean, x.truncated::boolean,
		x.policy_version #>> '{}', coalesce(x.model #>> '{}', x.meta ->> 'model'), x.channel #>> '{}', x.curation #>> '{}',
		(x.started_at #>> '{}')::timestamptz, (x.ended_at #>> '{}')::timestamptz,
		-- To tell a repeated line from a contradicting one.
		@extschema@.signature_hash(j),
		x.task_id #>> '{}', x.run_id #>> '{}', x.policy_step::numeric, x.tags
	FROM jsonb_to_record(j) x(group_id jsonb, rollout_id jsonb, step_no jsonb, turn jsonb, observation text, next_observation text,
			action text, tool jsonb, args jsonb, ok jsonb, reward jsonb, turn_reward jsonb, value jsonb, cost jsonb,
			prompt_token_ids integer[], response_token_ids integer[], response_mask boolean[], rollout_logprobs real[],
			outcome jsonb, success jsonb, truncated jsonb, policy_version jsonb, model jsonb, channel jsonb, curation jsonb,
			started_at jsonb, ended_at jsonb, meta jsonb, task_id jsonb, run_id jsonb, policy_step jsonb, tags jsonb),
		LATERAL (SELECT j - '{group_id,rollout_id,step_no,turn,observation,next_observation,action,tool,args,ok,reward,turn_reward,value,cost,prompt_token_ids,response_token_ids,response_mask,rollout_logprobs,outcome,success,terminal,truncated,policy_version,model,channel,curation,started_at,ended_at,meta,task_id,run_id,policy_step,tags}'::text[] AS rest OFFSET 0) y
	WHERE jsonb_typeof(x.rollout_id) IN ('string', 'number')
		-- Which of these must be given, the tables say.
		AND ('{string,number}' @> ARRAY[coalesce(jsonb_typeof(x.group_id), 'string'), coalesce(jsonb_typeof(x.task_id), 'string'),
			coalesce(jsonb_typeof(x.run_id), 'string'), coalesce(jsonb_typeof(x.policy_version), 'string')])
		AND (x.policy_step::numeric % 1 = 0) IS NOT FALSE
		AND ('string' = ALL (ARRAY[jsonb_typeof(x.tool), jsonb_typeof(x.model), jsonb_typeof(x.channel), jsonb_typeof(x.curation),
			jsonb_typeof(x.started_at), jsonb_typeof(x.ended_at)])) IS NOT FALSE
		AND coalesce(x.channel #>> '{}', 'train') IN ('train', 'validation')
		AND (x.step_no::numeric % 1 = 0) IS NOT FALSE AND (x.turn::numeric % 1 = 0) IS NOT FALSE
		AND (x.cost::float8 > 0) IS NOT FALSE
		AND (1 = ALL (ARRAY[array_ndims(x.prompt_token_ids), array_ndims(x.response_token_ids), array_ndims(x.response_mask), array_ndims(x.rollout_logprobs)])) IS NOT FALSE
		AND (cardinality(nullif(x.response_mask, '{}')) = cardinality(nullif(x.response_token_ids, '{}'))) IS NOT FALSE
		AND (cardinality(nullif(x.rollout_logprobs, '{}')) = cardinality(nullif(x.response_token_ids, '{}'))) IS NOT FALSE;
END;
COMMENT ON FUNCTION stepadv_internal.step_of_json(jsonb) IS
'part of load_rollouts: the object of a line as the columns of rollouts and steps; no row or an error when it cannot be used';

-- Why a line's object cannot be used, in words of our own where there are any.
CREATE FUNCTION stepadv_internal.problem_of_json(j jsonb, error text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF jsonb_typeof(j) <> 'object' THEN
		RETURN format('a line must be a JSON object, not %s', jsonb_typeof(j));
	END IF;
	RETURN coalesce(
		(SELECT CASE WHEN t.kind IN ('null', 'missing') THEN format('%s must be given', f.name)
			ELSE format('%s must be %s, not %s', f.name, CASE f.kinds[1] WHEN 'array' THEN 'an array' ELSE 'a ' || f.kinds[1] END, t.kind) END
		FROM (VALUES
			('group_id', '{string,number}'::text[], false), ('rollout_id', '{string,number}', true),
			('task_id', '{string,number}', false), ('run_id', '{string,number}', false), ('policy_step', '{number}', false),
			('step_no', '{number}', false), ('turn', '{number}', false),
			('ok', '{boolean}', false), ('success', '{boolean}', false), ('truncated', '{boolean}', false),
			('reward', '{number}', false), ('outcome', '{number}', false), ('turn_reward', '{number}', false),
			('value', '{number}', false), ('cost', '{number}', false),
			('tool', '{string}', false), ('model', '{string}', false), ('policy_version', '{string,number}', false),
			('channel', '{string}', false), ('curation', '{string}', false),
			('started_at', '{string}', false), ('ended_at', '{string}', false),
			('prompt_token_ids', '{array}', false), ('response_token_ids', '{array}', false),
			('response_mask', '{array}', false), ('rollout_logprobs', '{array}', false)
		) f(name, kinds, required), LATERAL (SELECT coalesce(jsonb_typeof(j -> f.name), 'missing') AS kind) t
		WHERE j IS NOT NULL AND CASE WHEN t.kind IN ('null', 'missing') THEN f.required ELSE t.kind <> ALL (f.kinds) END
		LIMIT 1),
		error,
		CASE WHEN (j ->> 'step_no')::numeric % 1 <> 0 OR (j ->> 'turn')::numeric % 1 <> 0
				THEN format('step_no and turn must be whole numbers, not %s', coalesce(nullif(j ->> 'step_no', ''), 'null'))
			WHEN (j ->> 'policy_step')::numeric % 1 <> 0 THEN format('policy_step must be a whole number, not %s', j ->> 'policy_step')
			WHEN j ->> 'channel' NOT IN ('train', 'validation') THEN format('channel must be train or validation, not %s', j ->> 'channel')
			WHEN (j ->> 'cost')::float8 <= 0 THEN format('cost must be above 0, not %s', (j ->> 'cost')::float8)
			WHEN EXISTS (SELECT FROM unnest('{prompt_token_ids,response_token_ids,response_mask,rollout_logprobs}'::text[]) k, jsonb_array_elements(nullif(j -> k, 'null')) e
				WHERE jsonb_typeof(e) = 'array')
				THEN 'arrays of tokens must not hold arrays'
			ELSE 'response_mask and rollout_logprobs must be as long as response_token_ids' END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.problem_of_json(jsonb, text) IS
'part of load_rollouts: why the object of a line is none for step_of_json, which gave no row or this error';

-- One line.  Never raises an error on bad data: problem says what is wrong.
-- (A block with EXCEPTION is a subtransaction: not in parallel workers.)
CREATE FUNCTION @extschema@.parse_rollout_line(line text, is_latin1 boolean DEFAULT false) RETURNS @extschema@.parsed_step
LANGUAGE plpgsql STABLE PARALLEL UNSAFE COST 5000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	j jsonb;
	step @extschema@.parsed_step;
	nul_replaced integer := 0;
	problem text;
	detail text;
BEGIN
	BEGIN
		SELECT t.content, t.nul_replaced INTO j, nul_replaced FROM stepadv_internal.json_of_text(line, is_latin1) t;
		SELECT s.* INTO step FROM stepadv_internal.step_of_json(j) s;
		IF FOUND THEN
			step.nul_replaced := nul_replaced;
			RETURN step;
		END IF;
	EXCEPTION WHEN data_exception OR program_limit_exceeded OR internal_error THEN
		GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
		IF SQLSTATE = 'XX000' AND problem NOT LIKE 'invalid memory alloc request%' THEN
			RAISE;
		END IF;
		problem := stepadv_internal.import_words_of_error(SQLSTATE, problem, detail);
	END;
	step.problem := stepadv_internal.problem_of_json(j, problem);
	step.nul_replaced := nul_replaced;
	RETURN step;
END
$$;
COMMENT ON FUNCTION @extschema@.parse_rollout_line(text, boolean) IS
'one line of JSON Lines as the columns of rollouts and steps (see docs/tables.md for the keys); problem is NULL or says why the line cannot be used; U+0000 becomes U+FFFD and is counted in nul_replaced; with is_latin1 the text stands for the bytes of the line, one character each, to be read as UTF-8';

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

-- ---- Tables that Citus distributes
--
-- Its planner joins no table of this session with the workers'.  So what they know of
-- the rollouts at hand is fetched first, and what is to be written waits in a table here
-- until one INSERT moves it, which Citus makes a COPY to each shard.

CREATE FUNCTION stepadv_internal.load_is_distributed(schema text) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT stepadv_internal.distributed_by(format('%I.steps', load_is_distributed.schema)::regclass) IS NOT NULL $$;
COMMENT ON FUNCTION stepadv_internal.load_is_distributed(text) IS 'part of load_rollouts: whether Citus distributes the schema''s tables';

CREATE FUNCTION stepadv_internal.load_known_name(schema text, relation text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN stepadv_internal.load_is_distributed(load_known_name.schema) THEN format('pg_temp.%I', 'stepadv_known_' || load_known_name.relation)
		ELSE format('%I.%I', load_known_name.schema, load_known_name.relation) END
$$;
COMMENT ON FUNCTION stepadv_internal.load_known_name(text, text) IS
'part of load_rollouts: where to look for what the schema''s tables have, of ''rollouts'' or ''steps'': in the table, or in what load_fetch_known fetched of it';

-- A query over the table and those of its rollouts that a temporary table names, each
-- time that it does, in a form that Citus takes.
CREATE FUNCTION stepadv_internal.load_known_query(schema text, relation text, named_by text, columns text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('WITH named AS MATERIALIZED (SELECT %1$s, p.rollout_id FROM %2$s p) SELECT %3$s FROM named p JOIN %4$I.%5$I t ON %6$s AND t.rollout_id = p.rollout_id',
		stepadv_internal.load_key_list(load_known_query.schema, 'p.k%2$s'::text, ', '::text), load_known_query.named_by, load_known_query.columns, load_known_query.schema, load_known_query.relation,
		stepadv_internal.load_key_list(load_known_query.schema, 't.%1$s = p.k%2$s'::text, ' AND '::text))
$$;
COMMENT ON FUNCTION stepadv_internal.load_known_query(text, text, text, text) IS
'part of load_rollouts: a query for these columns of the rows t of the schema''s table whose rollouts a temporary table names';

CREATE FUNCTION stepadv_internal.load_fetch_known(schema text, whole boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE 'CREATE TEMP TABLE stepadv_known_rollouts ON COMMIT DROP AS ' || stepadv_internal.load_known_query(load_fetch_known.schema, 'rollouts'::text,
		format('(SELECT DISTINCT %s, n.rollout_id FROM %s n)', stepadv_internal.load_key_list(load_fetch_known.schema, 'n.k%2$s'::text, ', '::text),
			CASE WHEN load_fetch_known.whole THEN 'pg_temp.stepadv_items' ELSE 'pg_temp.stepadv_parsed' END),
		stepadv_internal.load_key_list(load_fetch_known.schema, 't.%1$s, t.%1$s AS k%2$s'::text, ', '::text) || ', t.rollout_id, t.outcome, t.success');
	EXECUTE 'CREATE TEMP TABLE stepadv_known_steps ON COMMIT DROP AS ' || stepadv_internal.load_known_query(load_fetch_known.schema, 'steps'::text, 'pg_temp.stepadv_known_rollouts'::text,
		stepadv_internal.load_key_list(load_fetch_known.schema, 't.%1$s'::text, ', '::text) || ', t.rollout_id, t.step_no, t.turn, t.observation, t.action, t.tool, t.args, t.ok, t.reward');
	EXECUTE format('CREATE INDEX ON pg_temp.stepadv_known_steps (%s, rollout_id, step_no)', stepadv_internal.load_key_list(load_fetch_known.schema, '%1$s'::text, ', '::text));
	ANALYZE pg_temp.stepadv_known_rollouts, pg_temp.stepadv_known_steps;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_fetch_known(text, boolean) IS
'part of load_rollouts: makes pg_temp.stepadv_known_rollouts and stepadv_known_steps of what the schema''s distributed tables have of the rollouts of pg_temp.stepadv_parsed, or with whole of pg_temp.stepadv_items';

CREATE FUNCTION stepadv_internal.load_make_waiting(schema text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF to_regclass('pg_temp.stepadv_waiting') IS NOT NULL THEN
		DROP TABLE pg_temp.stepadv_waiting;
	END IF;
	EXECUTE format('CREATE TEMP TABLE stepadv_waiting (%s) ON COMMIT DROP',
		(SELECT string_agg(format('%I %s', c.name, format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY c.i)
		FROM stepadv_internal.load_steps_query(load_make_waiting.schema, false) q CROSS JOIN LATERAL unnest(q.columns) WITH ORDINALITY c(name, i)
		JOIN pg_attribute a ON a.attrelid = format('%I.steps', load_make_waiting.schema)::regclass AND a.attname = c.name AND NOT a.attisdropped));
	-- Read once: not worth compressing.
	ALTER TABLE pg_temp.stepadv_waiting ALTER observation SET STORAGE EXTERNAL, ALTER next_observation SET STORAGE EXTERNAL, ALTER action SET STORAGE EXTERNAL,
		ALTER args SET STORAGE EXTERNAL, ALTER metadata SET STORAGE EXTERNAL;
	RETURN 'pg_temp.stepadv_waiting'::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_make_waiting(text) IS 'part of load_rollouts: makes pg_temp.stepadv_waiting, for steps that load_move_steps is to move to the schema''s distributed table';

CREATE FUNCTION stepadv_internal.load_move_steps(schema text, OUT n_moved bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE (SELECT format('INSERT INTO %1$I.steps (%2$s) SELECT %2$s FROM pg_temp.stepadv_waiting', load_move_steps.schema, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum))
		FROM pg_attribute a WHERE a.attrelid = 'pg_temp.stepadv_waiting'::regclass AND a.attnum > 0 AND NOT a.attisdropped);
	GET DIAGNOSTICS n_moved = ROW_COUNT;
	DROP TABLE pg_temp.stepadv_waiting;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_move_steps(text) IS 'part of load_rollouts: moves pg_temp.stepadv_waiting to the schema''s table, and counts';

-- What must be so before anything is read; and no temporary table of a load that
-- was called before in the same transaction.
CREATE FUNCTION stepadv_internal.load_begin(schema text, on_error text, run_id text, policy_version text, whole boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	relic text;
	keys text;
BEGIN
	IF load_begin.on_error IS NULL OR load_begin.on_error NOT IN ('stop', 'skip') THEN
		RAISE EXCEPTION 'unknown on_error: %', coalesce(quote_literal(load_begin.on_error), 'NULL')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'on_error is ''stop'' or ''skip''.';
	END IF;
	-- Rollouts are UTF-8; no other encoding holds every line, or the U+FFFD that stands for U+0000.
	IF getdatabaseencoding() <> 'UTF8' THEN
		RAISE EXCEPTION 'rollouts cannot be loaded into a database with encoding %', getdatabaseencoding()
			USING ERRCODE = 'feature_not_supported', HINT = 'Use a database with encoding UTF8.';
	END IF;
	-- Of steps that come in whole rollouts the rollout says it.
	keys := CASE WHEN load_begin.whole THEN stepadv_internal.load_key_list(load_begin.schema, ', k%2$s text'::text, ''::text) || ', group_name text'
		ELSE stepadv_internal.load_key_columns(load_begin.schema, load_begin.run_id, load_begin.policy_version) END;
	FOREACH relic IN ARRAY ARRAY['stepadv_parsed', 'stepadv_problems', 'stepadv_rollouts', 'stepadv_items', 'stepadv_known_rollouts', 'stepadv_known_steps', 'stepadv_waiting'] LOOP
		IF to_regclass('pg_temp.' || relic) IS NOT NULL THEN
			EXECUTE format('DROP TABLE pg_temp.%I', relic);
		END IF;
	END LOOP;
	CREATE TEMP TABLE stepadv_problems (n bigint, reason text, counted text, item bigint) ON COMMIT DROP;
	-- From here on lines and documents are the same: n (unique, the order), item
	-- (what stays or goes together: a line, or the rollout of a document) and place
	-- (where the user finds it).
	EXECUTE format('CREATE TEMP TABLE stepadv_parsed (n bigint, item bigint, place bigint, LIKE @extschema@.parsed_step%s) ON COMMIT DROP', keys);
	-- Read a few times and dropped: not worth compressing.
	ALTER TABLE pg_temp.stepadv_parsed ALTER observation SET STORAGE EXTERNAL, ALTER next_observation SET STORAGE EXTERNAL, ALTER action SET STORAGE EXTERNAL,
		ALTER args SET STORAGE EXTERNAL, ALTER metadata SET STORAGE EXTERNAL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_begin(text, text, text, text, boolean) IS 'part of load_rollouts: checks what load_rollouts and import_rollouts need, and makes the tables of what was parsed and of problems';

-- A line of which nobody says in which group it belongs.
CREATE FUNCTION stepadv_internal.load_drop_groupless(schema text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($q$
		WITH gone AS (DELETE FROM pg_temp.stepadv_parsed p WHERE p.of_group IS NULL RETURNING p.*)
		INSERT INTO pg_temp.stepadv_problems (n, reason, counted)
		SELECT p.place, CASE %s END || ' must be given', 'bad' FROM gone p
		$q$, stepadv_internal.load_key_list(load_drop_groupless.schema, $t$WHEN p.k%2$s IS NULL THEN %3$s$t$::text, ' '::text));
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_drop_groupless(text) IS 'part of load_rollouts: takes lines that lack a column of the group out of pg_temp.stepadv_parsed and notes them';

-- A step that comes twice: word for word the same, or contradicting.
CREATE FUNCTION stepadv_internal.load_drop_repeated(OUT steps_repeated bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	WITH repeated AS (
		SELECT p.n, p.group_name, p.rollout_id, p.step_no, p.content, first_value(p.content) OVER w AS first_content,
			first_value(p.n) OVER w AS first_n
		FROM pg_temp.stepadv_parsed p WHERE p.step_no IS NOT NULL
		WINDOW w AS (PARTITION BY p.of_group, p.rollout_id, p.step_no ORDER BY p.n)
	), gone AS (
		DELETE FROM pg_temp.stepadv_parsed p USING repeated r WHERE p.n = r.n AND r.n <> r.first_n
		RETURNING p.n, r.group_name, r.rollout_id, r.step_no, r.content = r.first_content AS same, r.first_n
	), told AS (
		INSERT INTO pg_temp.stepadv_problems (n, reason, counted)
		SELECT g.n, format('step %s of rollout %s of group %s is not what line %s says', g.step_no, g.rollout_id, g.group_name, g.first_n), 'contradiction'
		FROM gone g WHERE NOT g.same
	)
	SELECT count(*) FILTER (WHERE g.same) INTO steps_repeated FROM gone g;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_drop_repeated() IS
'part of load_rollouts: takes lines of a step that came before out of pg_temp.stepadv_parsed; counts those that say the same, notes those that contradict';

-- A step that the table has already.  Compared by what the user gave: hashes may
-- have been changed since.
CREATE FUNCTION stepadv_internal.load_drop_known(schema text, whole boolean, OUT steps_repeated bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($q$
		WITH known AS (
			SELECT p.n, p.item, p.place, p.group_name, p.rollout_id, p.step_no,
				(p.turn, p.observation, p.action, p.tool, p.args, p.ok, p.reward) IS NOT DISTINCT FROM
				(s.turn, s.observation, s.action, s.tool, s.args, s.ok, s.reward) AS same
			FROM pg_temp.stepadv_parsed p
			JOIN %s s ON %s AND s.rollout_id = p.rollout_id AND s.step_no = p.step_no
		), judged AS (
			SELECT k.*, bool_and(k.same) OVER (PARTITION BY k.item) AS item_same FROM known k
		), gone AS (
			-- The line still speaks for its rollout.
			UPDATE pg_temp.stepadv_parsed p SET step_no = NULL FROM judged k WHERE p.n = k.n
			RETURNING k.*
		), told AS (
			-- One contradiction for each item.
			INSERT INTO pg_temp.stepadv_problems (n, reason, counted, item)
			SELECT DISTINCT ON (g.item) g.place, format('step %%s of rollout %%s of group %%s is not what the table has', g.step_no, g.rollout_id, g.group_name), 'contradiction', g.item
			FROM gone g WHERE NOT g.same ORDER BY g.item, g.step_no
		)
		SELECT count(*) FILTER (WHERE g.item_same) FROM gone g
		$q$, stepadv_internal.load_known_name(load_drop_known.schema, 'steps'::text), stepadv_internal.load_key_list(load_drop_known.schema, 's.%1$s = p.k%2$s'::text, ' AND '::text)) INTO steps_repeated;
	IF load_drop_known.whole THEN
		DELETE FROM pg_temp.stepadv_parsed p USING pg_temp.stepadv_problems e WHERE e.counted = 'contradiction' AND e.item = p.item;
		DELETE FROM pg_temp.stepadv_items i USING pg_temp.stepadv_problems e WHERE e.counted = 'contradiction' AND e.item = i.item;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_drop_known(text, boolean) IS
'part of load_rollouts: takes steps that the schema''s table has out of pg_temp.stepadv_parsed, with whole all of an item that contradicts it; counts those that say the same';

-- Whether the table has any of the rollouts that came whole: mostly it has none,
-- and then no step of them either.
CREATE FUNCTION stepadv_internal.load_is_known(schema text) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_known boolean;
BEGIN
	EXECUTE format('SELECT EXISTS (SELECT FROM pg_temp.stepadv_items i JOIN %s r ON %s AND r.rollout_id = i.rollout_id)', stepadv_internal.load_known_name(load_is_known.schema, 'rollouts'::text),
		stepadv_internal.load_key_list(load_is_known.schema, 'r.%1$s = i.k%2$s'::text, ' AND '::text)) INTO is_known;
	IF is_known THEN
		PERFORM stepadv_internal.import_lines(load_is_known.schema);
		-- To be looked up by rollout, and taken out one by one.
		EXECUTE format('CREATE INDEX ON pg_temp.stepadv_parsed (%s, rollout_id, step_no)', stepadv_internal.load_key_list(load_is_known.schema, 'k%2$s'::text, ', '::text));
		CREATE UNIQUE INDEX ON pg_temp.stepadv_parsed (n);
		EXECUTE format('ANALYZE pg_temp.stepadv_parsed (n, item, %s, rollout_id, step_no)', stepadv_internal.load_key_list(load_is_known.schema, 'k%2$s'::text, ', '::text));
	END IF;
	RETURN is_known;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_is_known(text) IS
'part of import_rollouts: whether the schema''s table has any rollout of pg_temp.stepadv_items; if so pg_temp.stepadv_parsed gets the steps, with the indexes that load_drop_known wants';

-- Rollouts: what any of their lines says; of two outcomes the later.
CREATE FUNCTION stepadv_internal.load_gather_lines(schema text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN format($q$
		SELECT p.of_group, p.rollout_id, min(p.group_name) AS group_name, %s,
			coalesce((array_agg(p.run_id) FILTER (WHERE p.run_id IS NOT NULL))[1], $1) AS run_id,
			coalesce((array_agg(p.policy_version) FILTER (WHERE p.policy_version IS NOT NULL))[1], $2) AS policy_version,
			coalesce((array_agg(p.policy_step) FILTER (WHERE p.policy_step IS NOT NULL))[1], $3) AS policy_step,
			(array_agg(p.task_id) FILTER (WHERE p.task_id IS NOT NULL))[1] AS task_id,
			(array_agg(p.group_id) FILTER (WHERE p.group_id IS NOT NULL))[1] AS group_id,
			(array_agg(p.tags) FILTER (WHERE p.tags IS NOT NULL))[1] AS tags,
			(array_agg(p.outcome) FILTER (WHERE p.outcome IS NOT NULL))[1] AS outcome,
			min(p.outcome) < max(p.outcome) AS outcomes_differ,
			(array_agg(p.success) FILTER (WHERE p.success IS NOT NULL))[1] AS success,
			bool_or(p.success) AND NOT bool_and(p.success) AS successes_differ,
			(array_agg(p.place) FILTER (WHERE p.outcome IS NOT NULL OR p.success IS NOT NULL))[1] AS n,
			bool_or(p.truncated) AS truncated,
			(array_agg(p.model) FILTER (WHERE p.model IS NOT NULL))[1] AS model,
			(array_agg(p.channel) FILTER (WHERE p.channel IS NOT NULL))[1] AS channel,
			(array_agg(p.curation) FILTER (WHERE p.curation IS NOT NULL))[1] AS curation,
			min(p.started_at) AS started_at, max(p.ended_at) AS ended_at,
			-- A line without a step has nowhere else to leave its remarks.
			(array_agg(p.metadata) FILTER (WHERE p.step_no IS NULL AND p.metadata IS NOT NULL AND p.action IS NULL))[1] AS metadata
		-- Sorted once for all of these.
		FROM (SELECT * FROM pg_temp.stepadv_parsed s ORDER BY s.of_group, s.rollout_id, s.n DESC) p GROUP BY p.of_group, p.rollout_id
		$q$, stepadv_internal.load_key_list(load_gather_lines.schema, 'min(p.k%2$s) AS k%2$s'::text, ', '::text));
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_gather_lines(text) IS
'part of load_rollouts: the query for the rollouts that the lines in pg_temp.stepadv_parsed are of';

-- Rollouts that came whole: what they say themselves.
CREATE FUNCTION stepadv_internal.load_gather_items(schema text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN format($q$
		SELECT i.of_group, i.rollout_id, i.group_name, %s, coalesce(i.run_id, $1) AS run_id, coalesce(i.policy_version, $2) AS policy_version,
			coalesce((i.about ->> 'policy_step')::numeric::bigint, $3) AS policy_step, i.task_id, i.group_id, nullif(i.about -> 'tags', 'null') AS tags,
			i.outcome, false AS outcomes_differ, i.success, false AS successes_differ, i.n,
			(i.about ->> 'truncated')::boolean AS truncated, i.about ->> 'model' AS model, i.about ->> 'channel' AS channel, i.about ->> 'curation' AS curation,
			(i.about ->> 'started_at')::timestamptz AS started_at, (i.about ->> 'ended_at')::timestamptz AS ended_at, i.metadata
		FROM pg_temp.stepadv_items i
		$q$, stepadv_internal.load_key_list(load_gather_items.schema, 'i.k%2$s'::text, ', '::text));
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_gather_items(text) IS
'part of import_rollouts: the query for the rollouts in pg_temp.stepadv_items';

CREATE FUNCTION stepadv_internal.load_gather(schema text, whole boolean, run_id text, policy_version text, policy_step bigint) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($q$
		CREATE TEMP TABLE stepadv_rollouts ON COMMIT DROP AS
		SELECT x.*, r.rollout_id IS NOT NULL AS is_known, r.outcome AS known_outcome, r.success AS known_success
		FROM (%2$s) x
		LEFT JOIN %1$s r ON %3$s AND r.rollout_id = x.rollout_id
		$q$, stepadv_internal.load_known_name(load_gather.schema, 'rollouts'::text), CASE WHEN load_gather.whole THEN stepadv_internal.load_gather_items(load_gather.schema) ELSE stepadv_internal.load_gather_lines(load_gather.schema) END,
			stepadv_internal.load_key_list(load_gather.schema, 'r.%1$s = x.k%2$s'::text, ' AND '::text))
		USING load_gather.run_id, load_gather.policy_version, load_gather.policy_step;
	INSERT INTO pg_temp.stepadv_problems (n, reason, counted)
	SELECT r.n, format('rollout %s of group %s has more than one %s, of which the last counts', r.rollout_id, r.group_name,
			concat_ws(' and ', CASE WHEN r.outcomes_differ OR r.outcome <> r.known_outcome THEN 'outcome' END,
				CASE WHEN r.successes_differ OR r.success <> r.known_success THEN 'success' END)), 'contradiction'
	FROM pg_temp.stepadv_rollouts r
	WHERE r.outcomes_differ OR r.successes_differ OR r.outcome <> r.known_outcome OR r.success <> r.known_success;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_gather(text, boolean, text, text, bigint) IS
'part of load_rollouts: makes pg_temp.stepadv_rollouts of pg_temp.stepadv_parsed, or with whole of pg_temp.stepadv_items, beside what the schema''s table says of them, and notes contradictions';

CREATE FUNCTION stepadv_internal.load_report(on_error text, noun text, whole boolean, OUT bad_items bigint, OUT contradictions bigint, OUT problems jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	problem record;
BEGIN
	SELECT count(*) FILTER (WHERE e.counted <> 'contradiction'), count(*) FILTER (WHERE e.counted = 'contradiction'),
		coalesce((SELECT jsonb_agg(jsonb_build_object(load_report.noun, w.n, 'problem', w.reason) ORDER BY w.n, w.reason)
			FROM (SELECT * FROM pg_temp.stepadv_problems e ORDER BY e.n, e.reason LIMIT 1000) w), '[]')
	INTO bad_items, contradictions, problems FROM pg_temp.stepadv_problems e;
	FOR problem IN SELECT e.n, e.reason, row_number() OVER (ORDER BY e.n, e.reason) AS i
		FROM pg_temp.stepadv_problems e ORDER BY e.n, e.reason LIMIT 11
	LOOP
		IF load_report.on_error = 'stop' THEN
			RAISE EXCEPTION '% %: %', load_report.noun, problem.n, problem.reason
				USING ERRCODE = 'data_exception',
					DETAIL = format('%s %s cannot be used, %s contradict others. Nothing was loaded.', bad_items,
						CASE WHEN load_report.whole THEN 'documents or rollouts' ELSE load_report.noun || 's' END, contradictions),
					HINT = 'With on_error ''skip'' the rest is loaded.';
		ELSIF problem.i <= 10 THEN
			RAISE WARNING '% %: %', load_report.noun, problem.n, problem.reason;
		ELSE
			RAISE WARNING '% more problems: see the column problems', bad_items + contradictions - 10;
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_report(text, text, boolean) IS
'part of load_rollouts: counts what is noted in pg_temp.stepadv_problems, and stops or warns of it';

-- What has no column of its own in the tables is kept all the same.  (Of a group
-- and a task that are one thing, one is enough.)
CREATE FUNCTION stepadv_internal.load_kept(schema text, OUT given text, OUT kept text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	lacking CONSTANT text[] := (SELECT s.lacking FROM stepadv_internal.load_shape(load_kept.schema) s);
	named text;
BEGIN
	SELECT string_agg(format('%L, %s', k.name, k.value), ', ' ORDER BY k.i), string_agg(k.value, ', ' ORDER BY k.i) INTO named, given
	FROM (SELECT n.name, n.i, CASE n.name
			WHEN 'group_id' THEN 'CASE WHEN p.group_id <> p.task_id THEN p.group_id END'
			WHEN 'task_id' THEN 'CASE WHEN p.task_id = p.group_id OR p.group_id IS NULL THEN NULL ELSE p.task_id END'
			ELSE format('p.%I', n.name) END AS value
		FROM unnest(lacking) WITH ORDINALITY n(name, i)) k;
	kept := format('jsonb_strip_nulls(jsonb_build_object(%s))', named);
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_kept(text) IS
'part of load_rollouts: expressions for what of a row has no column in the schema''s tables: the values (NULL: all have one), and an object of those that are given';

CREATE FUNCTION stepadv_internal.load_metadata(schema text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	k CONSTANT record := stepadv_internal.load_kept(load_metadata.schema);
BEGIN
	RETURN CASE WHEN k.given IS NULL THEN 'p.metadata'
		-- Mostly there is nothing to keep, and nothing to be made.
		ELSE format($e$CASE WHEN num_nonnulls(%s) = 0 THEN p.metadata ELSE (SELECT CASE WHEN p.metadata IS NULL THEN x.kept WHEN jsonb_typeof(p.metadata) = 'object' THEN p.metadata || x.kept
			ELSE jsonb_build_object('meta', p.metadata) || x.kept END FROM (SELECT %s AS kept OFFSET 0) x) END$e$, k.given, k.kept) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_metadata(text) IS 'part of load_rollouts: the expression for the metadata of a row, with what has no column in the schema''s tables';

-- In one order, so that two loads with the same rollouts wait for each other, and
-- never both.
CREATE FUNCTION stepadv_internal.load_insert_rollouts(schema text, condition text, on_conflict text, OUT n_written bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text := stepadv_internal.load_key_list(load_insert_rollouts.schema, '%1$s'::text, ', '::text);
	shape CONSTANT record := stepadv_internal.load_shape(load_insert_rollouts.schema);
	statement CONSTANT text := format($q$
		INSERT INTO %1$I.rollouts AS r (%2$s, rollout_id%4$s, model, outcome, success, truncated, channel, curation, started_at, ended_at, metadata)
		SELECT %3$s, p.rollout_id%5$s, p.model, p.outcome, p.success, coalesce(p.truncated, false),
			coalesce(p.channel, 'train'), p.curation, p.started_at, p.ended_at, %6$s
		FROM pg_temp.stepadv_rollouts p
		WHERE %7$s
		ORDER BY p.of_group COLLATE "C", p.rollout_id COLLATE "C"
		ON CONFLICT (%2$s, rollout_id) %8$s
		$q$, load_insert_rollouts.schema, keys, stepadv_internal.load_key_list(load_insert_rollouts.schema, 'p.k%2$s'::text, ', '::text),
		(SELECT coalesce(string_agg(format(', %I', o.name), '' ORDER BY o.i), '') FROM unnest(shape.others) WITH ORDINALITY o(name, i)),
		(SELECT coalesce(string_agg(CASE WHEN o.name = 'task_id' AND 'group_id' = ANY (shape.lacking) THEN ', coalesce(p.task_id, p.group_id)' ELSE format(', p.%I', o.name) END, '' ORDER BY o.i), '')
			FROM unnest(shape.others) WITH ORDINALITY o(name, i)),
		stepadv_internal.load_metadata(load_insert_rollouts.schema), load_insert_rollouts.condition, load_insert_rollouts.on_conflict);
BEGIN
	IF stepadv_internal.load_is_distributed(load_insert_rollouts.schema) THEN
		-- What Citus says of an INSERT counts what it did nothing on, too.
		EXECUTE format('WITH written AS (%s RETURNING 1) SELECT count(*) FROM written', statement) INTO n_written;
	ELSE
		EXECUTE statement;
		GET DIAGNOSTICS n_written = ROW_COUNT;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_insert_rollouts(text, text, text) IS
'part of load_rollouts: inserts what meets the condition of pg_temp.stepadv_rollouts into the schema''s table';

CREATE FUNCTION stepadv_internal.load_write_rollouts(schema text, OUT groups bigint, OUT rollouts_added bigint, OUT rollouts_updated bigint, OUT rollouts_repeated bigint,
	OUT overtaken boolean)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- A reload that says nothing new must not write.
	says_more CONSTANT text := $c$p.is_known AND (p.outcome IS DISTINCT FROM p.known_outcome AND p.outcome IS NOT NULL
		OR p.success IS DISTINCT FROM p.known_success AND p.success IS NOT NULL)$c$;
	n_inserted bigint := 0;
BEGIN
	EXECUTE format($q$
		SELECT count(*) FILTER (WHERE NOT p.is_known), count(*) FILTER (WHERE %s), count(DISTINCT p.of_group COLLATE "C"), count(*) FILTER (WHERE p.is_known)
		FROM pg_temp.stepadv_rollouts p
		$q$, says_more) INTO rollouts_added, rollouts_updated, load_write_rollouts.groups, rollouts_repeated;
	overtaken := false;
	IF rollouts_added > 0 THEN
		n_inserted := stepadv_internal.load_insert_rollouts(load_write_rollouts.schema, 'NOT p.is_known'::text, 'DO NOTHING'::text);
	END IF;
	IF n_inserted < rollouts_added THEN
		-- There already, or refused by a trigger?
		EXECUTE stepadv_internal.load_known_query(load_write_rollouts.schema, 'rollouts'::text, '(SELECT * FROM pg_temp.stepadv_rollouts n WHERE NOT n.is_known)'::text, 'count(*) > $1'::text)
			INTO overtaken USING n_inserted;
	END IF;
	IF rollouts_updated > 0 THEN
		PERFORM stepadv_internal.load_insert_rollouts(load_write_rollouts.schema, says_more,
			'DO UPDATE SET outcome = coalesce(excluded.outcome, r.outcome), success = coalesce(excluded.success, r.success)'::text);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_write_rollouts(text) IS
'part of load_rollouts: writes pg_temp.stepadv_rollouts to the schema''s table, and counts; overtaken: the table has got some of them meanwhile, from another load';

-- As an INSERT does it, where that would do nothing else than keep the foreign key:
-- the rollout is looked up once for all its steps, and they are written many at a
-- time.
CREATE FUNCTION stepadv_internal.write_steps(steps regclass, rollouts regclass, columns text[], n_keys integer, whole boolean, query text) RETURNS bigint
LANGUAGE c STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_write_steps';
COMMENT ON FUNCTION stepadv_internal.write_steps(regclass, regclass, text[], integer, boolean, text) IS
'part of load_rollouts: writes what the query gives to these columns of a canonical table of steps, the first n_keys of which tell its rollout, and counts; whole: the query gives rollouts, behind the columns a list of steps in our words and what their metadata is to have besides; error (23503) where there is no such rollout; NULL: nothing was written, as triggers, row security or other columns leave it to an INSERT';

-- The columns of a step, and the query for their values.
CREATE FUNCTION stepadv_internal.load_steps_query(schema text, whole boolean, OUT columns text[], OUT query text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	columns := (SELECT s.keys FROM stepadv_internal.load_shape(load_steps_query.schema) s) || '{rollout_id,step_no,turn,observation,action,tool,args,ok,next_observation,
		state,action_hash,next_state,reward,turn_reward,value,cost,prompt_token_ids,response_token_ids,response_mask,rollout_logprobs,metadata}'::text[];
	query := format($q$
		SELECT %2$s, p.rollout_id, p.step_no, p.turn, p.observation, p.action, p.tool, p.args, p.ok,
			CASE WHEN p.next_observation IS DISTINCT FROM lead(p.observation) OVER w THEN p.next_observation END,
			-- Rollouts that begin without an observation begin in one state, which
			-- no text can have: its bytes are those of U+0000.
			CASE WHEN p.observation IS NOT NULL THEN @extschema@.signature_hash(p.observation)
				WHEN row_number() OVER w > 1 THEN NULL
				WHEN EXISTS (SELECT FROM %1$s s WHERE %3$s AND s.rollout_id = p.rollout_id AND s.step_no < p.step_no) THEN NULL
				ELSE @extschema@.signature_hash('\x00'::bytea) END,
			CASE WHEN p.tool IS NOT NULL AND (p.args IS NOT NULL OR p.action IS NULL)
				THEN @extschema@.signature_hash(jsonb_build_array(p.tool, p.args))
				ELSE @extschema@.signature_hash(p.action) END,
			@extschema@.signature_hash(p.next_observation),
			p.reward, p.turn_reward, p.value, p.cost,
			p.prompt_token_ids, p.response_token_ids, p.response_mask, p.rollout_logprobs, %4$s
		FROM pg_temp.stepadv_parsed p
		WHERE p.step_no IS NOT NULL
		WINDOW w AS (PARTITION BY %5$s ORDER BY p.step_no)
		$q$, stepadv_internal.load_known_name(load_steps_query.schema, 'steps'::text), stepadv_internal.load_key_list(load_steps_query.schema, 'p.k%2$s'::text, ', '::text),
		stepadv_internal.load_key_list(load_steps_query.schema, 's.%1$s = p.k%2$s'::text, ' AND '::text), stepadv_internal.load_metadata(load_steps_query.schema),
		CASE WHEN load_steps_query.whole THEN 'p.item' ELSE 'p.of_group, p.rollout_id' END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_steps_query(text, boolean) IS
'part of load_rollouts: the columns of steps that a load gives, and the query for their values, with their hashes, from pg_temp.stepadv_parsed';

-- Rollouts with their steps, none of which the tables have.
CREATE FUNCTION stepadv_internal.load_items_query(schema text, OUT columns text[], OUT query text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	k CONSTANT record := stepadv_internal.load_kept(load_items_query.schema);
BEGIN
	columns := (SELECT s.keys FROM stepadv_internal.load_shape(load_items_query.schema) s) || '{rollout_id}'::text[];
	query := format('SELECT %s, p.rollout_id, p.steps, %s FROM (SELECT i.*, NULL::bigint AS policy_step, NULL::jsonb AS tags FROM pg_temp.stepadv_items i) p',
		stepadv_internal.load_key_list(load_items_query.schema, 'p.k%2$s'::text, ', '::text),
		CASE WHEN k.given IS NULL THEN 'NULL::jsonb' ELSE format('CASE WHEN num_nonnulls(%s) > 0 THEN %s END', k.given, k.kept) END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_items_query(text) IS
'part of import_rollouts: the columns of rollouts in pg_temp.stepadv_items, and the query for their values, their steps and what is to be kept in the metadata of these';

CREATE FUNCTION stepadv_internal.load_write_steps(schema text, whole boolean, OUT steps_added bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- Of rollouts that the table has the steps were looked at one by one.
	of_items CONSTANT boolean := load_write_steps.whole AND NOT EXISTS (SELECT FROM pg_temp.stepadv_parsed);
	steps CONSTANT regclass := format('%I.steps', load_write_steps.schema)::regclass;
	rollouts CONSTANT regclass := format('%I.rollouts', load_write_steps.schema)::regclass;
	waits CONSTANT boolean := stepadv_internal.load_is_distributed(load_write_steps.schema);
	n_steps bigint;
	q record;
BEGIN
	IF of_items THEN
		n_steps := (SELECT sum(i.n_steps) FROM pg_temp.stepadv_items i);
		q := stepadv_internal.load_items_query(load_write_steps.schema);
	ELSE
		n_steps := (SELECT count(*) FROM pg_temp.stepadv_parsed p WHERE p.step_no IS NOT NULL);
		q := stepadv_internal.load_steps_query(load_write_steps.schema, load_write_steps.whole);
	END IF;
	PERFORM stepadv_internal.begin_work('wrote'::text, 'steps'::text, ''::text, coalesce(n_steps, 0));
	BEGIN
		steps_added := stepadv_internal.write_steps(CASE WHEN waits THEN stepadv_internal.load_make_waiting(load_write_steps.schema) ELSE steps END, rollouts, q.columns, cardinality(q.columns) - CASE WHEN of_items THEN 0 ELSE 20 END, of_items, q.query);
	EXCEPTION WHEN foreign_key_violation THEN
		-- The INSERT will tell which.
	END;
	IF waits AND steps_added IS NOT NULL THEN
		steps_added := stepadv_internal.load_move_steps(load_write_steps.schema);
	ELSIF steps_added IS NULL THEN
		IF of_items THEN
			PERFORM stepadv_internal.import_lines(load_write_steps.schema);
			q := stepadv_internal.load_steps_query(load_write_steps.schema, load_write_steps.whole);
		END IF;
		EXECUTE format('INSERT INTO %s (%s) %s', stepadv_internal.load_name(steps), (SELECT string_agg(quote_ident(c.name), ', ' ORDER BY c.i) FROM unnest(q.columns) WITH ORDINALITY c(name, i)), q.query);
		GET DIAGNOSTICS steps_added = ROW_COUNT;
	END IF;
	PERFORM stepadv_internal.end_work();
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_write_steps(text, boolean) IS
'part of load_rollouts: writes the steps of pg_temp.stepadv_parsed, or where there are none those of the rollouts in pg_temp.stepadv_items, to the schema''s table, with their hashes, and counts';

-- What the table has already, and the rollouts.  Where another load has given it
-- some of them since it was asked, nothing of this has happened: now that the other
-- is done it must be asked again.
CREATE FUNCTION stepadv_internal.load_forget(schema text, whole boolean, OUT n_forgotten bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	same_rollout CONSTANT text := stepadv_internal.load_key_list(load_forget.schema, 'r.%1$s = p.k%2$s'::text, ' AND '::text) || ' AND r.rollout_id = p.rollout_id';
	differs CONSTANT text := $c$(p.turn, p.observation, p.action, p.tool, p.args, p.ok, p.reward) IS DISTINCT FROM (r.turn, r.observation, r.action, r.tool, r.args, r.ok, r.reward)$c$;
BEGIN
	IF load_forget.whole THEN
		-- A step that differs, one that the source no longer has, another outcome: all of the rollout is anew.
		EXECUTE format($q$
			WITH other AS (
				SELECT p.item FROM pg_temp.stepadv_parsed p JOIN %1$I.steps r ON %2$s AND r.step_no = p.step_no WHERE %3$s
				UNION SELECT p.item FROM pg_temp.stepadv_items p JOIN %1$I.rollouts r ON %2$s WHERE p.outcome <> r.outcome OR p.success <> r.success
				UNION SELECT p.item FROM pg_temp.stepadv_items p JOIN %1$I.steps r ON %2$s
					WHERE NOT EXISTS (SELECT FROM pg_temp.stepadv_parsed s WHERE s.item = p.item AND s.step_no = r.step_no))
			DELETE FROM %1$I.rollouts r USING pg_temp.stepadv_items p, other o WHERE p.item = o.item AND %2$s
			$q$, load_forget.schema, same_rollout, differs);
		GET DIAGNOSTICS n_forgotten = ROW_COUNT;
	ELSE
		EXECUTE format('DELETE FROM %1$I.steps r USING pg_temp.stepadv_parsed p WHERE %2$s AND r.step_no = p.step_no AND %3$s', load_forget.schema, same_rollout, differs);
		GET DIAGNOSTICS n_forgotten = ROW_COUNT;
		-- The last that the lines say holds, and it is no contradiction.
		EXECUTE format('UPDATE %1$I.rollouts r SET outcome = CASE WHEN p.outcome <> r.outcome THEN NULL ELSE r.outcome END, success = CASE WHEN p.success <> r.success THEN NULL ELSE r.success END
			FROM pg_temp.stepadv_parsed p WHERE %2$s AND (p.outcome <> r.outcome OR p.success <> r.success)', load_forget.schema, same_rollout);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_forget(text, boolean) IS
'part of load_rollouts: deletes of the schema''s tables what pg_temp.stepadv_parsed says otherwise: with whole rollouts, else steps and outcomes';

CREATE FUNCTION stepadv_internal.load_known(schema text, on_error text, noun text, whole boolean, run_id text, policy_version text, policy_step bigint, replace boolean,
	OUT steps_repeated bigint, OUT bad_items bigint, OUT contradictions bigint, OUT problems jsonb,
	OUT groups bigint, OUT rollouts_added bigint, OUT rollouts_updated bigint, OUT rollouts_repeated bigint, OUT overtaken boolean)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n_replaced bigint;
BEGIN
	steps_repeated := 0;
	n_replaced := 0;
	overtaken := false;
	IF stepadv_internal.load_is_distributed(load_known.schema) THEN
		PERFORM stepadv_internal.load_fetch_known(load_known.schema, load_known.whole);
	END IF;
	IF NOT load_known.whole OR stepadv_internal.load_is_known(load_known.schema) THEN
		IF load_known.replace THEN
			n_replaced := stepadv_internal.load_forget(load_known.schema, load_known.whole);
		END IF;
		steps_repeated := stepadv_internal.load_drop_known(load_known.schema, load_known.whole);
	END IF;
	PERFORM stepadv_internal.load_gather(load_known.schema, load_known.whole, load_known.run_id, load_known.policy_version, load_known.policy_step);
	SELECT r.* INTO bad_items, contradictions, problems FROM stepadv_internal.load_report(load_known.on_error, load_known.noun, load_known.whole) r;
	SELECT r.* INTO load_known.groups, rollouts_added, rollouts_updated, rollouts_repeated, overtaken FROM stepadv_internal.load_write_rollouts(load_known.schema) r;
	IF load_known.whole THEN
		rollouts_added := rollouts_added - n_replaced;
		rollouts_updated := rollouts_updated + n_replaced;
	END IF;
	IF overtaken THEN
		RAISE EXCEPTION 'another load has written some of the same rollouts' USING ERRCODE = 'SA001';
	END IF;
EXCEPTION WHEN SQLSTATE 'SA001' THEN
	-- The variable keeps its value.
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_known(text, text, text, boolean, text, text, bigint, boolean) IS
'part of load_rollouts: looks for what the schema''s tables have of pg_temp.stepadv_parsed, reports problems and writes rollouts; overtaken: nothing has been done, as another load has written some of the same rollouts meanwhile';

-- What somebody who asked (with a table pg_temp.stepadv_told) is told of rollouts, a row
-- each in pg_temp.stepadv_now: of what was told before, in another file of the connection,
-- what is new.
CREATE FUNCTION stepadv_internal.load_tell_rollouts() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	INSERT INTO pg_temp.stepadv_told (rollouts, judged, timed, of_version, first_at, last_at, steps, with_action, with_state, with_tokens)
	SELECT count(*) - count(s.rollout), sum(n.judged - coalesce(s.judged, 0)), sum(n.timed - coalesce(s.timed, 0)), sum(n.of_version - coalesce(s.of_version, 0)), min(n.first_at), max(n.last_at),
		sum(n.steps - coalesce(s.steps, 0)), sum(n.with_action - coalesce(s.with_action, 0)), sum(n.with_state - coalesce(s.with_state, 0)), sum(n.with_tokens - coalesce(s.with_tokens, 0))
	FROM pg_temp.stepadv_now n LEFT JOIN pg_temp.stepadv_seen s ON s.rollout = n.rollout;
	DELETE FROM pg_temp.stepadv_seen s USING pg_temp.stepadv_now n WHERE s.rollout = n.rollout;
	INSERT INTO pg_temp.stepadv_seen SELECT n.rollout, n.judged, n.timed, n.of_version, n.steps, n.with_action, n.with_state, n.with_tokens FROM pg_temp.stepadv_now n;
	DROP TABLE pg_temp.stepadv_now;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_tell_rollouts() IS
'part of load_rollouts: adds to pg_temp.stepadv_told what pg_temp.stepadv_now has of rollouts and pg_temp.stepadv_seen had not, and keeps it there';

-- What the tables have of the rollouts that have just been loaded, or were there.
CREATE FUNCTION stepadv_internal.load_tell(schema text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF to_regclass('pg_temp.stepadv_told') IS NULL THEN
		RETURN;
	END IF;
	EXECUTE format($q$
		CREATE TEMP TABLE stepadv_now ON COMMIT DROP AS
		SELECT hash_record_extended(ROW(%3$s, p.rollout_id), 0) AS rollout, (r.outcome IS NOT NULL OR r.success IS NOT NULL)::integer AS judged, (r.started_at IS NOT NULL)::integer AS timed,
			(p.policy_version <> '')::integer AS of_version, r.started_at AS first_at, coalesce(r.ended_at, r.started_at) AS last_at,
			coalesce(s.steps, 0) AS steps, coalesce(s.with_action, 0) AS with_action, coalesce(s.with_state, 0) AS with_state, coalesce(s.with_tokens, 0) AS with_tokens
		FROM pg_temp.stepadv_rollouts p JOIN %1$I.rollouts r ON %2$s AND r.rollout_id = p.rollout_id
		$q$ || CASE WHEN stepadv_internal.load_is_distributed(load_tell.schema) THEN 'LEFT JOIN (SELECT %4$s, r.rollout_id, %5$s FROM pg_temp.stepadv_rollouts p JOIN %1$I.steps r ON %2$s AND r.rollout_id = p.rollout_id GROUP BY %4$s, r.rollout_id) s ON %6$s AND s.rollout_id = p.rollout_id'
			-- Rollout by rollout, by the primary key: a file costs what is in it, however large the table is.
			-- (Without statistics another unique index seems as good, and has all steps of the task for each rollout.)
			ELSE 'CROSS JOIN LATERAL (SELECT %5$s FROM %1$I.steps r WHERE %2$s AND r.rollout_id = p.rollout_id AND r.step_no >= -2147483648) s' END,
		load_tell.schema, stepadv_internal.load_key_list(load_tell.schema, 'r.%1$s = p.k%2$s'::text, ' AND '::text),
		stepadv_internal.load_key_list(load_tell.schema, 'p.k%2$s'::text, ', '::text), stepadv_internal.load_key_list(load_tell.schema, 'r.%1$s'::text, ', '::text),
		'count(*) AS steps, count(r.action) AS with_action, count(r.state) AS with_state, count(r.response_token_ids) AS with_tokens',
		stepadv_internal.load_key_list(load_tell.schema, 's.%1$s = p.k%2$s'::text, ' AND '::text));
	PERFORM stepadv_internal.load_tell_rollouts();
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_tell(text) IS
'part of load_rollouts: adds to pg_temp.stepadv_told, if there is one, what the schema''s tables have of the rollouts in pg_temp.stepadv_rollouts';

CREATE FUNCTION stepadv_internal.load_parsed(schema text, on_error text, noun text, whole boolean, run_id text, policy_version text, policy_step bigint, replace boolean,
	OUT bad_items bigint, OUT groups bigint, OUT rollouts_added bigint, OUT rollouts_updated bigint,
	OUT rollouts_repeated bigint, OUT steps_added bigint, OUT steps_repeated bigint, OUT contradictions bigint, OUT problems jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- The foreign key's own query looks up one partition, and would be planned anew
-- for every step because that is a cheaper plan than one for all.
SET plan_cache_mode = force_generic_plan
-- A batch is sorted in memory, not by way of the disk.
SET work_mem = '256MB'
SET jit = off
AS $$
DECLARE
	known_repeated bigint;
	overtaken boolean;
	n_deadlocks integer := 0;
BEGIN
	steps_repeated := 0;
	-- Whole items are told apart before.
	IF NOT load_parsed.whole THEN
		PERFORM stepadv_internal.load_drop_groupless(load_parsed.schema);
		CREATE INDEX ON pg_temp.stepadv_parsed (of_group, rollout_id, step_no, n);
		-- For plans that take many rows for one.
		CREATE UNIQUE INDEX ON pg_temp.stepadv_parsed (n);
		-- The others are long texts that no condition looks at.
		ANALYZE pg_temp.stepadv_parsed (n, item, of_group, rollout_id, step_no);
		steps_repeated := stepadv_internal.load_drop_repeated();
	END IF;
	LOOP
		BEGIN
			SELECT k.* INTO known_repeated, bad_items, contradictions, problems, load_parsed.groups, rollouts_added, rollouts_updated, rollouts_repeated, overtaken
			FROM stepadv_internal.load_known(load_parsed.schema, load_parsed.on_error, load_parsed.noun, load_parsed.whole, load_parsed.run_id, load_parsed.policy_version, load_parsed.policy_step, load_parsed.replace) k;
			IF NOT overtaken THEN
				steps_added := stepadv_internal.load_write_steps(load_parsed.schema, load_parsed.whole);
				EXIT;
			END IF;
		EXCEPTION WHEN deadlock_detected THEN
			-- Another load writes the same in another order: let it.
			n_deadlocks := n_deadlocks + 1;
			IF n_deadlocks = 5 THEN
				RAISE;
			END IF;
		END;
	END LOOP;
	steps_repeated := steps_repeated + known_repeated;
	PERFORM stepadv_internal.load_tell(load_parsed.schema);
	DROP TABLE pg_temp.stepadv_parsed, pg_temp.stepadv_rollouts, pg_temp.stepadv_problems;
	IF load_parsed.whole THEN
		DROP TABLE pg_temp.stepadv_items;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_parsed(text, text, text, boolean, text, text, bigint, boolean) IS
'part of load_rollouts: writes what was parsed into pg_temp.stepadv_parsed to the schema''s tables, after looking for what is there already, and counts; noun is what problems are counted by; with whole, an item that contradicts the tables in one step is left out with all its steps';

-- Lines of which it is plain what they are.
CREATE FUNCTION stepadv_internal.read_lines(lines text[], is_latin1 boolean) RETURNS SETOF @extschema@.parsed_step
LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 100
AS 'MODULE_PATHNAME', 'stepadv_read_lines';
COMMENT ON FUNCTION stepadv_internal.read_lines(text[], boolean) IS
'part of load_rollouts: a row for each line, as step_of_json gives it, or of NULLs where step_of_json must be asked; error where one is no JSON';

-- All lines at once; where one of them is bad or holds U+0000, one by one.
CREATE FUNCTION stepadv_internal.parse_rollout_lines(numbers bigint[], lines text[], is_latin1 boolean, OUT nul_replaced bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- Planned once.  No line comes twice.
SET plan_cache_mode = force_generic_plan
SET enable_memoize = off
AS $$
DECLARE
	n_parsed bigint;
	n_others bigint;
BEGIN
	nul_replaced := 0;
	BEGIN
		INSERT INTO pg_temp.stepadv_parsed
		SELECT s.n, s.n, s.* FROM ROWS FROM (unnest(parse_rollout_lines.numbers), stepadv_internal.read_lines(parse_rollout_lines.lines, parse_rollout_lines.is_latin1)) s(n)
		WHERE s.rollout_id IS NOT NULL;
		GET DIAGNOSTICS n_parsed = ROW_COUNT;
		IF n_parsed < cardinality(parse_rollout_lines.lines) THEN
			INSERT INTO pg_temp.stepadv_parsed
			SELECT l.n, l.n, l.n, s.*
			FROM ROWS FROM (unnest(parse_rollout_lines.numbers), unnest(parse_rollout_lines.lines), stepadv_internal.read_lines(parse_rollout_lines.lines, parse_rollout_lines.is_latin1)) l(n, line),
				LATERAL (SELECT CASE WHEN parse_rollout_lines.is_latin1 THEN stepadv_internal.import_utf8(l.line) ELSE l.line END::jsonb AS j OFFSET 0) t,
				LATERAL stepadv_internal.step_of_json(t.j) s
			WHERE l.rollout_id IS NULL;
			GET DIAGNOSTICS n_others = ROW_COUNT;
			n_parsed := n_parsed + n_others;
		END IF;
		IF n_parsed < cardinality(parse_rollout_lines.lines) THEN
			RAISE data_exception;
		END IF;
	EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
		WITH parsed AS MATERIALIZED (
			SELECT l.n, p.*
			FROM unnest(parse_rollout_lines.numbers, parse_rollout_lines.lines) l(n, line), LATERAL @extschema@.parse_rollout_line(l.line, parse_rollout_lines.is_latin1) p
		), told AS (
			INSERT INTO pg_temp.stepadv_problems (n, reason, counted) SELECT p.n, p.problem, 'bad' FROM parsed p WHERE p.problem IS NOT NULL
		), good AS (
			INSERT INTO pg_temp.stepadv_parsed
			SELECT p.n, p.n, p.* FROM parsed p WHERE p.problem IS NULL
		)
		SELECT coalesce(sum(p.nul_replaced), 0) INTO parse_rollout_lines.nul_replaced FROM parsed p WHERE p.problem IS NULL;
	END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.parse_rollout_lines(bigint[], text[], boolean) IS
'part of load_rollouts: lines and their numbers into pg_temp.stepadv_parsed, or with what is wrong with them into pg_temp.stepadv_problems; how many U+0000 were made U+FFFD';

CREATE FUNCTION @extschema@.load_rollouts(schema text, lines regclass, on_error text DEFAULT 'stop', is_latin1 boolean DEFAULT false,
	run_id text DEFAULT NULL, policy_version text DEFAULT NULL, policy_step bigint DEFAULT NULL, replace boolean DEFAULT false,
	OUT lines_read bigint, OUT empty_lines bigint, OUT bad_lines bigint,
	OUT groups bigint, OUT rollouts_added bigint, OUT rollouts_updated bigint,
	OUT steps_added bigint, OUT steps_repeated bigint,
	OUT contradictions bigint, OUT nul_replaced bigint, OUT problems jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- Lines are put into batches in memory, not by way of the disk.
SET work_mem = '256MB'
SET jit = off
AS $$
DECLARE
	batch record;
	direct record;
	n_lines bigint := 0;
BEGIN
	-- Long texts take less time so; whoever has chosen something has it as chosen.
	PERFORM stepadv_internal.load_by_lz4() FROM pg_settings s WHERE s.name = 'default_toast_compression' AND s.source = 'default';
	PERFORM stepadv_internal.load_begin(load_rollouts.schema, load_rollouts.on_error, load_rollouts.run_id, load_rollouts.policy_version, false);
	IF (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = load_rollouts.lines AND NOT a.attisdropped
		AND (a.attname, a.atttypid) IN (('n', 'bigint'::regtype), ('line', 'text'::regtype))) <> 2
	THEN
		RAISE EXCEPTION 'relation "%" must have the columns n bigint and line text', load_rollouts.lines
			USING ERRCODE = 'undefined_column';
	END IF;

	lines_read := 0;
	empty_lines := 0;
	load_rollouts.nul_replaced := 0;
	-- Of what may be read only once it is not known how much there is.
	IF (SELECT c.relkind IN ('r', 'p', 'm') FROM pg_class c WHERE c.oid = load_rollouts.lines) THEN
		EXECUTE format('SELECT count(*) FROM %s', stepadv_internal.load_name(load_rollouts.lines)) INTO n_lines;
		direct := stepadv_internal.load_directly(load_rollouts.schema, 'write_lines'::text, format('SELECT l.n, l.line FROM %s l', stepadv_internal.load_name(load_rollouts.lines)), n_lines,
			load_rollouts.run_id, load_rollouts.policy_version, load_rollouts.policy_step, load_rollouts.is_latin1, NULL::text, NULL::float8);
		IF direct.n_read IS NOT NULL THEN
			SELECT n_lines, n_lines - direct.n_read, 0, direct.groups, direct.rollouts_added, 0, direct.steps_added, 0, 0, '[]'
			INTO lines_read, empty_lines, bad_lines, load_rollouts.groups, rollouts_added, rollouts_updated, steps_added, steps_repeated, contradictions, load_rollouts.problems;
			DROP TABLE pg_temp.stepadv_parsed, pg_temp.stepadv_problems;
			RETURN;
		END IF;
	END IF;
	PERFORM stepadv_internal.begin_work('read'::text, 'lines'::text, ''::text, n_lines);
	-- Each line is parsed once, whatever follows, together with its neighbours.
	FOR batch IN EXECUTE format($q$
		SELECT count(*) AS lines_read, array_agg(b.n) FILTER (WHERE NOT b.is_empty) AS n, array_agg(b.line) FILTER (WHERE NOT b.is_empty) AS lines
		FROM (SELECT l.n, l.line, ascii(l.line) <= 32 AND btrim(l.line, E' \t\r\n') = '' AS is_empty,
				sum(octet_length(l.line)) OVER (ROWS UNBOUNDED PRECEDING) / 131072 AS batch
			FROM (SELECT s.n, CASE WHEN s.n = (SELECT min(f.n) FROM %1$s f) AND starts_with(s.line, %2$L)
					THEN substr(s.line, length(%2$L) + 1) ELSE s.line END AS line
				FROM %1$s s OFFSET 0) l
			ORDER BY batch) b
		GROUP BY b.batch
		$q$,
		stepadv_internal.load_name(load_rollouts.lines),
		-- A byte order mark, as the lines spell it.
		CASE WHEN load_rollouts.is_latin1 THEN chr(239) || chr(187) || chr(191) ELSE convert_from('\xefbbbf', 'UTF8') END)
	LOOP
		lines_read := lines_read + batch.lines_read;
		empty_lines := empty_lines + batch.lines_read - coalesce(cardinality(batch.n), 0);
		load_rollouts.nul_replaced := load_rollouts.nul_replaced + stepadv_internal.parse_rollout_lines(batch.n, batch.lines, load_rollouts.is_latin1);
		PERFORM stepadv_internal.work_done(batch.lines_read);
	END LOOP;
	SELECT p.bad_items, p.groups, p.rollouts_added, p.rollouts_updated, p.steps_added, p.steps_repeated, p.contradictions, p.problems
	INTO bad_lines, load_rollouts.groups, rollouts_added, rollouts_updated, steps_added, steps_repeated, contradictions, load_rollouts.problems
	FROM stepadv_internal.load_parsed(load_rollouts.schema, load_rollouts.on_error, 'line'::text, false, load_rollouts.run_id, load_rollouts.policy_version, load_rollouts.policy_step, load_rollouts.replace) p;
END
$$;
COMMENT ON FUNCTION @extschema@.load_rollouts(text, regclass, text, boolean, text, text, bigint, boolean) IS
'loads lines of JSON, one step each, from a table (n bigint, line text) into the schema''s tables rollouts and steps and returns counts; on_error ''stop'': a line that cannot be used, or contradicts another or the tables, is an error and nothing is loaded; ''skip'': such lines are left out (of contradicting outcomes the later holds), warned about and listed in problems (the first 1000); lines loaded before are recognised and not loaded again; is_latin1 as in parse_rollout_line; run_id, policy_version, policy_step: of the rollouts whose lines do not say; a line without the columns of the group that have no default cannot be used, but task_id and group_id stand for each other where the tables have only one of them in their key; replace: a step that says something else than the table''s takes its place, an outcome likewise, and neither is a contradiction';

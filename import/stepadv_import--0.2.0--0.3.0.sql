-- Makes of an installed stepadv_import 0.2.0 what the parts of 0.3.0 make.
-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION stepadv_import UPDATE TO '0.3.0'" to load this file. \quit

-- Written by hand: what is no function, and functions whose parameters or
-- results are others now.  All functions and comments of the parts follow.
SET LOCAL search_path = pg_catalog, pg_temp;

-- Task, run and version of a step; functions with more parameters than before, which no view calls.
ALTER TYPE @extschema@.parsed_step ADD ATTRIBUTE task_id text CASCADE, ADD ATTRIBUTE run_id text CASCADE, ADD ATTRIBUTE policy_step bigint CASCADE, ADD ATTRIBUTE tags jsonb CASCADE;
DROP FUNCTION @extschema@.load_rollouts(text, regclass, text, boolean);
DROP FUNCTION @extschema@.import_rollouts(text, regclass, text, text, jsonb, text, float8, boolean);
DROP FUNCTION stepadv_internal.load_gather(text);
DROP FUNCTION stepadv_internal.load_parsed(text, text, text, boolean);
DROP FUNCTION stepadv_internal.load_write_rollouts(text);
DROP FUNCTION stepadv_internal.load_write_steps(text);
DROP FUNCTION stepadv_internal.import_lines(float8);
DROP FUNCTION stepadv_internal.import_items(text);
DROP FUNCTION stepadv_internal.import_check(regclass, text, jsonb);
DROP FUNCTION stepadv_internal.import_messages(jsonb);
DROP FUNCTION stepadv_internal.import_file(text, regclass, text, text, text, jsonb, text, float8, boolean);
COMMENT ON TYPE @extschema@.parsed_step IS
'a line of JSON Lines as parse_rollout_line gives it: the columns of rollouts and steps (docs/tables.md), content as a hash, and problem, NULL or why the line cannot be used';

CREATE OR REPLACE FUNCTION stepadv_internal.import_utf8(document text) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_utf8';

COMMENT ON FUNCTION stepadv_internal.import_utf8(text) IS 'part of load_rollouts: a text that stands for bytes, one character each, read as UTF-8; error where it is none';

CREATE OR REPLACE FUNCTION stepadv_internal.import_limit() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT 268435455;
END;

COMMENT ON FUNCTION stepadv_internal.import_limit() IS 'part of load_rollouts: how many bytes a line or document may have: as many as an object or list of jsonb';

CREATE OR REPLACE FUNCTION stepadv_internal.import_words_of_error(state text, message text, detail text) RETURNS text
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

CREATE OR REPLACE FUNCTION stepadv_internal.json_of_text(document text, is_latin1 boolean, OUT content jsonb, OUT nul_replaced integer)
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

CREATE OR REPLACE FUNCTION stepadv_internal.step_of_json(j jsonb)
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

CREATE OR REPLACE FUNCTION stepadv_internal.problem_of_json(j jsonb, error text) RETURNS text
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

CREATE OR REPLACE FUNCTION @extschema@.parse_rollout_line(line text, is_latin1 boolean DEFAULT false) RETURNS @extschema@.parsed_step
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_name(relation regclass) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation);
END
$$;

COMMENT ON FUNCTION stepadv_internal.load_name(regclass) IS 'part of load_rollouts: the name of a relation for a query''s text, with its schema';

CREATE OR REPLACE FUNCTION stepadv_internal.load_shape(schema text, OUT keys text[], OUT others text[], OUT lacking text[])
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_key_otherwise(schema text, run_id text, policy_version text) RETURNS text[]
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_key_columns(schema text, run_id text, policy_version text) RETURNS text
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_by_lz4() RETURNS void
LANGUAGE c
AS 'MODULE_PATHNAME', 'stepadv_load_by_lz4';

COMMENT ON FUNCTION stepadv_internal.load_by_lz4() IS
'part of load_rollouts: where the server has lz4, default_toast_compression is it until the function ends that calls this one';

CREATE OR REPLACE FUNCTION stepadv_internal.load_key_list(schema text, template text, separator text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format(load_key_list.template, quote_ident(k.name), k.i, quote_literal(k.name)), load_key_list.separator ORDER BY k.i)
	FROM stepadv_internal.load_shape(load_key_list.schema) s CROSS JOIN LATERAL unnest(s.keys) WITH ORDINALITY k(name, i)
$$;

COMMENT ON FUNCTION stepadv_internal.load_key_list(text, text, text) IS
'part of load_rollouts: a template for format() once for each of the group''s columns: its name, quoted; the number of its column k1, k2, …; its name as a literal';

CREATE OR REPLACE FUNCTION stepadv_internal.load_is_distributed(schema text) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT stepadv_internal.distributed_by(format('%I.steps', load_is_distributed.schema)::regclass) IS NOT NULL $$;

COMMENT ON FUNCTION stepadv_internal.load_is_distributed(text) IS 'part of load_rollouts: whether Citus distributes the schema''s tables';

CREATE OR REPLACE FUNCTION stepadv_internal.load_known_name(schema text, relation text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN stepadv_internal.load_is_distributed(load_known_name.schema) THEN format('pg_temp.%I', 'stepadv_known_' || load_known_name.relation)
		ELSE format('%I.%I', load_known_name.schema, load_known_name.relation) END
$$;

COMMENT ON FUNCTION stepadv_internal.load_known_name(text, text) IS
'part of load_rollouts: where to look for what the schema''s tables have, of ''rollouts'' or ''steps'': in the table, or in what load_fetch_known fetched of it';

CREATE OR REPLACE FUNCTION stepadv_internal.load_known_query(schema text, relation text, named_by text, columns text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('WITH named AS MATERIALIZED (SELECT %1$s, p.rollout_id FROM %2$s p) SELECT %3$s FROM named p JOIN %4$I.%5$I t ON %6$s AND t.rollout_id = p.rollout_id',
		stepadv_internal.load_key_list(load_known_query.schema, 'p.k%2$s'::text, ', '::text), load_known_query.named_by, load_known_query.columns, load_known_query.schema, load_known_query.relation,
		stepadv_internal.load_key_list(load_known_query.schema, 't.%1$s = p.k%2$s'::text, ' AND '::text))
$$;

COMMENT ON FUNCTION stepadv_internal.load_known_query(text, text, text, text) IS
'part of load_rollouts: a query for these columns of the rows t of the schema''s table whose rollouts a temporary table names';

CREATE OR REPLACE FUNCTION stepadv_internal.load_fetch_known(schema text, whole boolean) RETURNS void
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_make_waiting(schema text) RETURNS regclass
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_move_steps(schema text, OUT n_moved bigint)
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_begin(schema text, on_error text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	relic text;
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
	PERFORM stepadv_internal.load_shape(load_begin.schema);
	FOREACH relic IN ARRAY ARRAY['stepadv_parsed', 'stepadv_problems', 'stepadv_rollouts', 'stepadv_items', 'stepadv_known_rollouts', 'stepadv_known_steps', 'stepadv_waiting'] LOOP
		IF to_regclass('pg_temp.' || relic) IS NOT NULL THEN
			EXECUTE format('DROP TABLE pg_temp.%I', relic);
		END IF;
	END LOOP;
END
$$;

COMMENT ON FUNCTION stepadv_internal.load_begin(text, text) IS 'part of load_rollouts: checks what load_rollouts and import_rollouts need, and drops what temporary tables an earlier call has left';

CREATE OR REPLACE FUNCTION stepadv_internal.load_make_parsed(schema text, run_id text, policy_version text, whole boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	CREATE TEMP TABLE stepadv_problems (n bigint, reason text, counted text, item bigint) ON COMMIT DROP;
	-- From here on lines and documents are the same: n (unique, the order), item
	-- (what stays or goes together: a line, or the rollout of a document) and place
	-- (where the user finds it).
	EXECUTE format('CREATE TEMP TABLE stepadv_parsed (n bigint, item bigint, place bigint, LIKE @extschema@.parsed_step%s) ON COMMIT DROP',
		-- Of steps that come in whole rollouts the rollout says it.
		CASE WHEN load_make_parsed.whole THEN stepadv_internal.load_key_list(load_make_parsed.schema, ', k%2$s text'::text, ''::text) || ', group_name text'
			ELSE stepadv_internal.load_key_columns(load_make_parsed.schema, load_make_parsed.run_id, load_make_parsed.policy_version) END);
	-- Read a few times and dropped: not worth compressing.
	ALTER TABLE pg_temp.stepadv_parsed ALTER observation SET STORAGE EXTERNAL, ALTER next_observation SET STORAGE EXTERNAL, ALTER action SET STORAGE EXTERNAL,
		ALTER args SET STORAGE EXTERNAL, ALTER metadata SET STORAGE EXTERNAL;
END
$$;

COMMENT ON FUNCTION stepadv_internal.load_make_parsed(text, text, text, boolean) IS 'part of load_rollouts: makes the tables of what was parsed and of problems; whole: of rollouts that come whole, else of lines';

CREATE OR REPLACE FUNCTION stepadv_internal.load_drop_groupless(schema text) RETURNS void
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_drop_repeated(OUT steps_repeated bigint)
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_drop_known(schema text, whole boolean, OUT steps_repeated bigint)
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_is_known(schema text) RETURNS boolean
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_gather_lines(schema text) RETURNS text
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_gather_items(schema text) RETURNS text
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_gather(schema text, whole boolean, run_id text, policy_version text, policy_step bigint) RETURNS void
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_report(on_error text, noun text, whole boolean, OUT bad_items bigint, OUT contradictions bigint, OUT problems jsonb)
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_kept(schema text, OUT given text, OUT kept text)
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_metadata(schema text) RETURNS text
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_insert_rollouts(schema text, condition text, on_conflict text, OUT n_written bigint)
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_write_rollouts(schema text, OUT groups bigint, OUT rollouts_added bigint, OUT rollouts_updated bigint, OUT rollouts_repeated bigint,
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

CREATE OR REPLACE FUNCTION stepadv_internal.write_steps(steps regclass, rollouts regclass, columns text[], n_keys integer, whole boolean, query text) RETURNS bigint
LANGUAGE c STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_write_steps';

COMMENT ON FUNCTION stepadv_internal.write_steps(regclass, regclass, text[], integer, boolean, text) IS
'part of load_rollouts: writes what the query gives to these columns of a canonical table of steps, the first n_keys of which tell its rollout, and counts; whole: the query gives rollouts, behind the columns a list of steps in our words and what their metadata is to have besides; error (23503) where there is no such rollout; NULL: nothing was written, as triggers, row security or other columns leave it to an INSERT';

CREATE OR REPLACE FUNCTION stepadv_internal.load_steps_query(schema text, whole boolean, OUT columns text[], OUT query text)
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_items_query(schema text, OUT columns text[], OUT query text)
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_write_steps(schema text, whole boolean, OUT steps_added bigint)
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_forget(schema text, whole boolean, OUT n_forgotten bigint)
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_known(schema text, on_error text, noun text, whole boolean, run_id text, policy_version text, policy_step bigint, replace boolean,
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

CREATE OR REPLACE FUNCTION stepadv_internal.load_tell_rollouts() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	INSERT INTO pg_temp.stepadv_told (rollouts, stepless, judged, timed, of_version, first_at, last_at, steps, with_action, with_state, with_tokens)
	SELECT count(*) - count(s.rollout), sum((n.steps = 0)::integer - coalesce(s.steps = 0, false)::integer), sum(n.judged - coalesce(s.judged, 0)), sum(n.timed - coalesce(s.timed, 0)), sum(n.of_version - coalesce(s.of_version, 0)), min(n.first_at), max(n.last_at),
		sum(n.steps - coalesce(s.steps, 0)), sum(n.with_action - coalesce(s.with_action, 0)), sum(n.with_state - coalesce(s.with_state, 0)), sum(n.with_tokens - coalesce(s.with_tokens, 0))
	FROM pg_temp.stepadv_now n LEFT JOIN pg_temp.stepadv_seen s ON s.rollout = n.rollout;
	DELETE FROM pg_temp.stepadv_seen s USING pg_temp.stepadv_now n WHERE s.rollout = n.rollout;
	INSERT INTO pg_temp.stepadv_seen SELECT n.rollout, n.judged, n.timed, n.of_version, n.steps, n.with_action, n.with_state, n.with_tokens FROM pg_temp.stepadv_now n;
	DROP TABLE pg_temp.stepadv_now;
END
$$;

COMMENT ON FUNCTION stepadv_internal.load_tell_rollouts() IS
'part of load_rollouts: adds to pg_temp.stepadv_told what pg_temp.stepadv_now has of rollouts and pg_temp.stepadv_seen had not, and keeps it there';

CREATE OR REPLACE FUNCTION stepadv_internal.load_tell(schema text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	same_rollout CONSTANT text := stepadv_internal.load_key_list(load_tell.schema, 'r.%1$s = p.k%2$s'::text, ' AND '::text) || ' AND r.rollout_id = p.rollout_id';
	counts CONSTANT text := 'SELECT count(*) AS steps, count(r.action) AS with_action, count(r.state) AS with_state, count(r.response_token_ids) AS with_tokens';
BEGIN
	IF to_regclass('pg_temp.stepadv_told') IS NULL THEN
		RETURN;
	END IF;
	-- Workers add up steps, and know nothing of rollouts that have none or were told of before.
	IF stepadv_internal.load_is_distributed(load_tell.schema) THEN
		EXECUTE format($q$
			INSERT INTO pg_temp.stepadv_told (rollouts, judged, timed, of_version, first_at, last_at)
			SELECT count(*), count(*) FILTER (WHERE r.outcome IS NOT NULL OR r.success IS NOT NULL), count(r.started_at), count(*) FILTER (WHERE p.policy_version <> ''),
				min(r.started_at), max(coalesce(r.ended_at, r.started_at))
			FROM pg_temp.stepadv_rollouts p JOIN %1$I.rollouts r ON %2$s
			$q$, load_tell.schema, same_rollout);
		EXECUTE format('INSERT INTO pg_temp.stepadv_told (steps, with_action, with_state, with_tokens) SELECT s.* FROM (%3$s FROM pg_temp.stepadv_rollouts p JOIN %1$I.steps r ON %2$s) s', load_tell.schema, same_rollout, counts);
		RETURN;
	END IF;
	EXECUTE format($q$
		CREATE TEMP TABLE stepadv_now ON COMMIT DROP AS
		SELECT hash_record_extended(ROW(%4$s, p.rollout_id), 0) AS rollout, (r.outcome IS NOT NULL OR r.success IS NOT NULL)::integer AS judged, (r.started_at IS NOT NULL)::integer AS timed,
			(p.policy_version <> '')::integer AS of_version, r.started_at AS first_at, coalesce(r.ended_at, r.started_at) AS last_at, s.*
		FROM pg_temp.stepadv_rollouts p JOIN %1$I.rollouts r ON %2$s
		-- Rollout by rollout, by the primary key: a file costs what is in it, however large the table is.
		-- (Without statistics another unique index seems as good, and has all steps of the task for each rollout.)
		CROSS JOIN LATERAL (%3$s FROM %1$I.steps r WHERE %2$s AND r.step_no >= -2147483648) s
		$q$, load_tell.schema, same_rollout, counts, stepadv_internal.load_key_list(load_tell.schema, 'p.k%2$s'::text, ', '::text));
	PERFORM stepadv_internal.load_tell_rollouts();
END
$$;

COMMENT ON FUNCTION stepadv_internal.load_tell(text) IS
'part of load_rollouts: adds to pg_temp.stepadv_told, if there is one, what the schema''s tables have of the rollouts in pg_temp.stepadv_rollouts';

CREATE OR REPLACE FUNCTION stepadv_internal.load_parsed(schema text, on_error text, noun text, whole boolean, run_id text, policy_version text, policy_step bigint, replace boolean,
	OUT bad_items bigint, OUT groups bigint, OUT rollouts_added bigint, OUT rollouts_updated bigint,
	OUT rollouts_repeated bigint, OUT steps_added bigint, OUT steps_repeated bigint, OUT contradictions bigint, OUT problems jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- The foreign key's own query looks up one partition, and would be planned anew
-- for every step because that is a cheaper plan than one for all.
SET plan_cache_mode = force_generic_plan
-- What is sorted of a file must not grow with it; its lines come nearly in order.
SET work_mem = '32MB'
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

CREATE OR REPLACE FUNCTION stepadv_internal.read_lines(lines text[], is_latin1 boolean) RETURNS SETOF @extschema@.parsed_step
LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 100
AS 'MODULE_PATHNAME', 'stepadv_read_lines';

COMMENT ON FUNCTION stepadv_internal.read_lines(text[], boolean) IS
'part of load_rollouts: a row for each line, as step_of_json gives it, or of NULLs where step_of_json must be asked; error where one is no JSON';

CREATE OR REPLACE FUNCTION stepadv_internal.parse_rollout_lines(numbers bigint[], lines text[], is_latin1 boolean, OUT nul_replaced bigint)
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

CREATE OR REPLACE FUNCTION @extschema@.load_rollouts(schema text, lines regclass, on_error text DEFAULT 'stop', is_latin1 boolean DEFAULT false,
	run_id text DEFAULT NULL, policy_version text DEFAULT NULL, policy_step bigint DEFAULT NULL, replace boolean DEFAULT false,
	OUT lines_read bigint, OUT empty_lines bigint, OUT bad_lines bigint,
	OUT groups bigint, OUT rollouts_added bigint, OUT rollouts_updated bigint,
	OUT steps_added bigint, OUT steps_repeated bigint,
	OUT contradictions bigint, OUT nul_replaced bigint, OUT problems jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- A file's size does not show in the server's memory.
SET work_mem = '32MB'
SET jit = off
AS $$
DECLARE
	batch record;
	direct record;
	n_lines bigint := 0;
BEGIN
	-- Long texts take less time so; whoever has chosen something has it as chosen.
	PERFORM stepadv_internal.load_by_lz4() FROM pg_settings s WHERE s.name = 'default_toast_compression' AND s.source = 'default';
	PERFORM stepadv_internal.load_begin(load_rollouts.schema, load_rollouts.on_error);
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
			RETURN;
		END IF;
	END IF;
	PERFORM stepadv_internal.load_make_parsed(load_rollouts.schema, load_rollouts.run_id, load_rollouts.policy_version, false);
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

CREATE OR REPLACE FUNCTION stepadv_internal.import_text(content jsonb) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_text';

COMMENT ON FUNCTION stepadv_internal.import_text(jsonb) IS 'part of import_rollouts: the text of a message''s content: a string, or the texts of a list of parts, joined by line feeds';

CREATE OR REPLACE FUNCTION stepadv_internal.import_arguments(raw jsonb, OUT args jsonb, OUT words text, OUT repaired text)
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	nul integer;
BEGIN
	IF jsonb_typeof(raw) IS DISTINCT FROM 'string' THEN
		args := nullif(raw, 'null');
		words := args::text;
		RETURN;
	END IF;
	words := raw #>> '{}';
	IF btrim(words, E' \t\r\n') = '' THEN
		args := '{}';
		words := '{}';
		RETURN;
	END IF;
	BEGIN
		SELECT t.content, t.nul_replaced INTO args, nul FROM stepadv_internal.json_of_text(words, false) t;
		IF nul > 0 THEN
			repaired := 'U+0000 in arguments';
		END IF;
		IF args = 'null' THEN
			args := NULL;
		END IF;
	EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
		args := NULL;
		words := raw::text;
		repaired := 'arguments that are no JSON';
	END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_arguments(jsonb) IS
'part of import_rollouts: arguments of a tool call, parsed if they are a string of JSON; args is NULL and repaired says so where they are not; words is what the model wrote, always valid JSON';

CREATE OR REPLACE FUNCTION stepadv_internal.import_ok(result text) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_ok';

COMMENT ON FUNCTION stepadv_internal.import_ok(text) IS
'part of import_rollouts: false where a tool''s result begins like an error or has an exit status other than 0, else true; NULL without a result';

CREATE OR REPLACE FUNCTION stepadv_internal.import_names(source text, OUT base text, OUT rollout text)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_names';

COMMENT ON FUNCTION stepadv_internal.import_names(text) IS 'part of import_rollouts: from a path, the name of the file without endings, and directory--name for an id of the rollout in it';

CREATE OR REPLACE FUNCTION stepadv_internal.import_digest(content jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT to_hex(@extschema@.signature_hash(import_digest.content)));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_digest(jsonb) IS 'part of import_rollouts: an id made of the content, for what has none of its own';

CREATE OR REPLACE FUNCTION stepadv_internal.import_about(record jsonb) RETURNS jsonb
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_about';

COMMENT ON FUNCTION stepadv_internal.import_about(jsonb) IS 'part of import_rollouts: outcome, success, truncated, model, policy_version, run_id and policy_step of a record, by the names that scaffolds use';

CREATE OR REPLACE FUNCTION stepadv_internal.import_trial(record jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(r ->> 'trial', r ->> 'trial_id', r ->> '_ng_rollout_index', r ->> 'rollout_index', r ->> 'sample_index', r ->> 'attempt')
		FROM (SELECT CASE WHEN jsonb_typeof(import_trial.record) = 'object' THEN import_trial.record ELSE '{}' END AS r) x);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_trial(jsonb) IS 'part of import_rollouts: which of its task''s rollouts a record is, by the names that scaffolds use';

CREATE OR REPLACE FUNCTION stepadv_internal.import_steps(items jsonb, OUT steps jsonb, OUT dropped jsonb, OUT repaired jsonb)
LANGUAGE c IMMUTABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_import_steps';

COMMENT ON FUNCTION stepadv_internal.import_steps(jsonb) IS
'part of import_rollouts: a conversation (what was seen, said, called, returned) as steps: each call of a turn is one, a turn without calls is one; counts by kind of what was left out or repaired';

CREATE OR REPLACE FUNCTION stepadv_internal.import_messages(messages jsonb, OUT steps jsonb, OUT dropped jsonb, OUT repaired jsonb)
LANGUAGE c IMMUTABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_import_messages';

COMMENT ON FUNCTION stepadv_internal.import_messages(jsonb) IS 'part of import_rollouts: messages of the OpenAI chat interface as steps, as import_steps makes them';

CREATE OR REPLACE FUNCTION stepadv_internal.import_message_items(messages jsonb) RETURNS jsonb
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_message_items';

COMMENT ON FUNCTION stepadv_internal.import_message_items(jsonb) IS
'part of import_rollouts: messages of chat interfaces (OpenAI''s, Anthropic''s blocks, parts of OpenTelemetry''s GenAI messages) as items of import_steps, for a caller who has more to say; a message of the model begins with a thought that is new';

CREATE OR REPLACE FUNCTION stepadv_internal.import_keep(rollout jsonb, messages jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kept jsonb;
BEGIN
	IF import_keep.rollout ? 'problem' OR jsonb_typeof(import_keep.messages) IS DISTINCT FROM 'array'
		OR jsonb_path_exists(import_keep.messages, 'strict $[*] ? (@.type() != "object" || @.content.type() == "object")', '{}', true)
	THEN
		RETURN import_keep.rollout;
	END IF;
	WITH step AS (
		-- The first of its turn.
		SELECT DISTINCT ON (t.turn) t.turn, t.v
		FROM (SELECT (s.v ->> 'turn')::bigint AS turn, s.v, s.i FROM jsonb_array_elements(import_keep.rollout -> 'steps') WITH ORDINALITY s(v, i)) t
		ORDER BY t.turn, t.i
	), message AS (
		SELECT m.i, m.v, m.acts, count(*) FILTER (WHERE m.acts) OVER (ORDER BY m.i) - m.acts::integer AS turn
		FROM (SELECT x.i, x.v, x.v ->> 'role' IN ('assistant', 'ai', 'gpt', 'model') AND x.v ->> 'is_demo' IS DISTINCT FROM 'true' AS acts
			FROM jsonb_array_elements(import_keep.messages) WITH ORDINALITY x(v, i)) m
	), told AS (
		SELECT m.i, m.v, m.acts, s.turn, CASE WHEN m.acts THEN 'action' ELSE 'observation' END AS name,
			-- Shorter texts are not worth it.
			octet_length(m.v ->> 'content') >= 64 AND m.v -> 'content' = s.v -> (CASE WHEN m.acts THEN 'action' ELSE 'observation' END) AS is_there,
			m.acts AND (s.turn IS NULL OR jsonb_typeof(m.v -> 'action') = 'string' AND m.v -> 'action' <> s.v -> 'action') AS is_other
		FROM message m LEFT JOIN step s ON s.turn = m.turn
	)
	SELECT jsonb_agg(CASE WHEN t.is_there THEN jsonb_set(t.v, '{content}', jsonb_build_object(t.name, t.turn)) ELSE t.v END ORDER BY t.i) INTO kept
	FROM told t HAVING count(*) FILTER (WHERE t.acts) = (SELECT count(*) FROM step) AND NOT bool_or(t.is_other) AND bool_or(t.acts);
	RETURN CASE WHEN kept IS NULL THEN import_keep.rollout
		ELSE jsonb_set(import_keep.rollout, '{meta}', coalesce(nullif(import_keep.rollout -> 'meta', 'null'), '{}') || jsonb_build_object('messages', kept)) END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_keep(jsonb, jsonb) IS
'part of import_rollouts: a rollout with the messages it was made of in its metadata, from which training_rows has the conversation exactly; as it was where turns and messages of the model are not one for one (those with is_demo are none of it)';

CREATE OR REPLACE FUNCTION stepadv_internal.import_openai_chat(document jsonb, source text) RETURNS jsonb[]
LANGUAGE c IMMUTABLE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_import_openai_chat';

COMMENT ON FUNCTION stepadv_internal.import_openai_chat(jsonb, text) IS 'part of import_rollouts: what parse_openai_chat gives';

CREATE OR REPLACE FUNCTION @extschema@.parse_openai_chat(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY SELECT r.v FROM unnest(stepadv_internal.import_openai_chat(document, source)) r(v);
END
$$;

COMMENT ON FUNCTION @extschema@.parse_openai_chat(jsonb, text, bigint) IS
'rollouts of a document of OpenAI chat messages: a list of messages, an object with messages or traj, or a list of such (results of tau-bench); one jsonb per rollout as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_swe_trajectory(document jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF jsonb_typeof(document -> 'history') IS DISTINCT FROM 'array' OR document ? 'trajectory' THEN
		RETURN document -> 'trajectory';
	END IF;
	RETURN (
		SELECT jsonb_agg(jsonb_build_object('action', h.v -> 'action', 'thought', h.v -> 'thought', 'response', h.v -> 'content', 'observation', h.told) ORDER BY h.i)
		FROM (
			SELECT x.i, x.v, CASE WHEN lead(x.v ->> 'role') OVER w IS DISTINCT FROM 'assistant' THEN stepadv_internal.import_text(lead(x.v -> 'content') OVER w) END AS told
			FROM jsonb_array_elements(document -> 'history') WITH ORDINALITY x(v, i)
			WHERE x.v ->> 'is_demo' IS DISTINCT FROM 'true'
			WINDOW w AS (ORDER BY x.i)) h
		WHERE h.v ->> 'role' = 'assistant' AND jsonb_typeof(h.v -> 'action') = 'string');
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_swe_trajectory(jsonb) IS 'part of parse_swe_agent: the document''s trajectory, or what its history tells of one; NULL without both';

CREATE OR REPLACE FUNCTION @extschema@.parse_swe_agent(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
	trajectory CONSTANT jsonb := stepadv_internal.import_swe_trajectory(document);
BEGIN
	RETURN QUERY
	WITH said AS MATERIALIZED (
		SELECT h.v, row_number() OVER (ORDER BY h.i) AS position, jsonb_typeof(h.v -> 'tool_calls') = 'array' AS called
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'history') = 'array' THEN document -> 'history' ELSE '[]' END) WITH ORDINALITY h(v, i)
		WHERE h.v ->> 'role' = 'assistant' AND h.v ->> 'is_demo' IS DISTINCT FROM 'true'
	), step AS (
		SELECT t.i, t.v, t.v ->> 'action' AS action, btrim(t.v ->> 'action', E' \t\r\n') = '' AS is_empty, a.args, a.tool, a.repaired
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(trajectory) = 'array' THEN trajectory ELSE '[]' END) WITH ORDINALITY t(v, i)
		-- The call behind the action, where the model made one.  The history may
		-- have been cut: what was done tells, and the order if there was more of that.
		LEFT JOIN LATERAL (
			SELECT h.v #>> '{tool_calls,0,function,name}' AS tool, p.args, p.repaired
			FROM said h
			CROSS JOIN LATERAL stepadv_internal.import_arguments(h.v #> '{tool_calls,0,function,arguments}') p
			WHERE h.called AND h.v -> 'action' = t.v -> 'action'
			ORDER BY h.position = t.i DESC, h.v -> 'thought' = t.v -> 'thought' DESC, h.position LIMIT 1) a ON true
	), first AS (
		-- What it saw first is the last thing it was told before it spoke.
		SELECT stepadv_internal.import_text(h.v -> 'content') AS text
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'history') = 'array' THEN document -> 'history' ELSE '[]' END) WITH ORDINALITY h(v, i)
		WHERE h.v ->> 'role' = 'user' AND h.v ->> 'is_demo' IS DISTINCT FROM 'true'
			AND h.i < coalesce((SELECT min(a.i) FROM jsonb_array_elements(document -> 'history') WITH ORDINALITY a(v, i)
				WHERE a.v ->> 'role' = 'assistant' AND a.v ->> 'is_demo' IS DISTINCT FROM 'true'), 2147483647)
		ORDER BY h.i DESC LIMIT 1
	)
	SELECT stepadv_internal.import_keep(CASE WHEN jsonb_typeof(trajectory) IS DISTINCT FROM 'array' THEN jsonb_build_object('problem', 'there is no list trajectory, and no action in a history')
		ELSE stepadv_internal.import_about(document) || jsonb_strip_nulls(jsonb_build_object(
			'truncated', CASE WHEN document #>> '{info,exit_status}' ~ 'exit_(cost|context|format|error|time)|early_exit' THEN true END,
			'model', document #> '{replay_config,agent,model,name}')) || jsonb_build_object(
			-- The instance, where the file does not say it, is what follows the settings in its name.
			'group_id', coalesce(document ->> 'instance_id', document #>> '{replay_config,problem_statement,id}',
				regexp_replace(f.base, '^.*__install-[0-9]+(___[a-z]+(_[a-z]+)*)?__', ''), stepadv_internal.import_digest(document)),
			'rollout_id', coalesce(f.rollout, stepadv_internal.import_digest(document)),
			'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_swe_agent.source, 'environment', document -> 'environment',
				'exit_status', document #> '{info,exit_status}', 'submission', document #> '{info,submission}', 'model_stats', document #> '{info,model_stats}')),
			'steps', coalesce((SELECT jsonb_agg(jsonb_build_object('turn', s.i - 1,
					'observation', CASE s.i WHEN 1 THEN (SELECT f.text FROM first f) ELSE s.before END,
					'next_observation', s.v -> 'observation', 'action', s.action,
					-- Without a call the action is a line for the shell, whose commands are tools of the scaffold as well.
					'tool', CASE WHEN s.tool IS NOT NULL THEN s.tool WHEN NOT s.is_empty THEN 'bash' END,
					'args', CASE WHEN s.tool IS NOT NULL THEN s.args WHEN NOT s.is_empty THEN jsonb_build_object('command', s.action) END,
					'ok', CASE WHEN s.is_empty IS NOT FALSE THEN NULL WHEN s.v ->> 'observation' ~ '^\s*(Your (proposed edit has introduced|command timed out)|EXECUTION TIMED OUT|COMMAND TIMED OUT)' THEN false
						ELSE stepadv_internal.import_ok(s.v ->> 'observation') END,
					'meta', nullif(jsonb_strip_nulls(jsonb_build_object('thought', s.v -> 'thought', 'state', s.v -> 'state', 'execution_time', s.v -> 'execution_time')), '{}')) ORDER BY s.i)
				FROM (SELECT x.*, lag(x.v ->> 'observation') OVER (ORDER BY x.i) AS before FROM step x) s), '[]'),
			'dropped', jsonb_strip_nulls(jsonb_build_object(
				'system messages', (SELECT nullif(count(*), 0) FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'history') = 'array' THEN document -> 'history' ELSE '[]' END) h WHERE h ->> 'role' = 'system'),
				'demonstrations', (SELECT nullif(count(*), 0) FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'history') = 'array' THEN document -> 'history' ELSE '[]' END) h WHERE h ->> 'is_demo' = 'true'))),
			'repaired', jsonb_strip_nulls(jsonb_build_object(
				'turns without a command', (SELECT nullif(count(*), 0) FROM step s WHERE s.is_empty IS NOT FALSE),
				'arguments that are no JSON', (SELECT nullif(count(*), 0) FROM step s WHERE s.repaired LIKE 'arguments%')))) END, document -> 'history')
	FROM (SELECT 1) one LEFT JOIN LATERAL stepadv_internal.import_names(parse_swe_agent.source) f ON true;
END
$$;

COMMENT ON FUNCTION @extschema@.parse_swe_agent(jsonb, text, bigint) IS
'the rollout of a SWE-agent .traj (every version that has trajectory, and demonstrations, which are a history alone); the ids come from the file or from source, its path; not judged unless the document has an outcome; one jsonb as in docs/import.md';

CREATE OR REPLACE FUNCTION @extschema@.parse_mini_swe_agent(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	WITH message AS MATERIALIZED (
		SELECT m.i, m.v, m.v ->> 'role' AS role, stepadv_internal.import_text(m.v -> 'content') AS text,
			sum(CASE WHEN m.v ->> 'role' = 'assistant' THEN 1 ELSE 0 END) OVER (ORDER BY m.i) AS turn
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'messages') = 'array' THEN document -> 'messages' ELSE '[]' END) WITH ORDINALITY m(v, i)
	), seen AS (
		SELECT m.turn, string_agg(m.text, E'\n' ORDER BY m.i) AS text
		FROM message m WHERE m.role <> 'assistant' AND m.role <> 'system' GROUP BY m.turn
	), step AS (
		SELECT m.i, m.turn, m.text, o.text AS observation, r.text AS next_observation, c.commands, c.commands[1] AS command,
			cardinality(c.commands) IS NOT DISTINCT FROM 1 AS acts
		FROM message m
		LEFT JOIN seen o ON o.turn = m.turn - 1
		LEFT JOIN seen r ON r.turn = m.turn
		CROSS JOIN LATERAL (SELECT CASE
			WHEN jsonb_typeof(m.v #> '{extra,actions}') = 'array' THEN (
				SELECT array_agg(coalesce(a.v ->> 'command', a.v ->> 'action', a.v #>> '{}') ORDER BY a.i) FROM jsonb_array_elements(m.v #> '{extra,actions}') WITH ORDINALITY a(v, i))
			ELSE (SELECT array_agg(btrim(x.m[1], E' \t\r\n') ORDER BY x.i)
				FROM regexp_matches(m.text, '```(?:mswea_)??bash(?:_command)??[ \t]*?\r??\n(.*?)\r??\n[ \t]*?```', 'g') WITH ORDINALITY x(m, i)) END AS commands) c
		WHERE m.role = 'assistant'
	)
	SELECT stepadv_internal.import_keep(CASE
		WHEN jsonb_typeof(document -> 'messages') IS DISTINCT FROM 'array' THEN jsonb_build_object('problem', 'there is no list messages')
		ELSE stepadv_internal.import_about(document) || jsonb_strip_nulls(jsonb_build_object('model', document #> '{info,config,model,model_name}',
				'truncated', CASE WHEN document #>> '{info,exit_status}' IN ('LimitsExceeded', 'TimeExceeded', 'CostLimitExceeded') THEN true END)) || jsonb_build_object(
			'group_id', coalesce(document ->> 'instance_id', document #>> '{info,instance_id}', f.base, stepadv_internal.import_digest(document)),
			'rollout_id', coalesce(f.rollout, stepadv_internal.import_digest(document)),
			'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_mini_swe_agent.source, 'exit_status', document #> '{info,exit_status}',
				'submission', document #> '{info,submission}', 'model_stats', document #> '{info,model_stats}', 'trajectory_format', document -> 'trajectory_format')))
			-- Later versions call tools as everybody does.
			|| CASE WHEN called.yes THEN jsonb_build_object('steps', chat.steps, 'dropped', chat.dropped, 'repaired', chat.repaired)
			ELSE jsonb_build_object(
				'steps', coalesce((SELECT jsonb_agg(jsonb_build_object('turn', s.turn - 1, 'observation', s.observation, 'next_observation', s.next_observation,
						'action', CASE WHEN s.acts THEN s.command ELSE s.text END, 'tool', CASE WHEN s.acts THEN 'bash' END,
						'args', CASE WHEN s.acts THEN jsonb_build_object('command', s.command) END,
						'ok', CASE WHEN NOT s.acts THEN false WHEN s.next_observation ~ '^\s*<returncode>' THEN stepadv_internal.import_ok(s.next_observation) END,
						'meta', CASE WHEN s.acts THEN jsonb_build_object('text', s.text) END) ORDER BY s.i)
					FROM step s), '[]'),
				'dropped', jsonb_strip_nulls(jsonb_build_object('system messages', (SELECT nullif(count(*), 0) FROM message m WHERE m.role = 'system'))),
				'repaired', jsonb_strip_nulls(jsonb_build_object('turns without one command', (SELECT nullif(count(*), 0) FROM step s WHERE NOT s.acts)))) END END, document -> 'messages')
	FROM (SELECT EXISTS (SELECT FROM message m WHERE jsonb_typeof(m.v -> 'tool_calls') = 'array')) called(yes)
	LEFT JOIN LATERAL stepadv_internal.import_names(parse_mini_swe_agent.source) f ON true
	LEFT JOIN LATERAL stepadv_internal.import_messages(document -> 'messages') chat ON called.yes;
END
$$;

COMMENT ON FUNCTION @extschema@.parse_mini_swe_agent(jsonb, text, bigint) IS
'the rollout of a mini-swe-agent .traj.json: the one command in a fence of each reply, or its tool calls; not judged unless the document has an outcome; one jsonb as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_response_parts(document jsonb, OUT response jsonb, OUT input jsonb, OUT is_list boolean)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	listed jsonb := CASE WHEN jsonb_typeof(document) = 'array' THEN document
		ELSE coalesce(document -> 'new_items', document -> 'newItems', document -> 'generated_items', document -> 'generatedItems') END;
BEGIN
	is_list := coalesce(jsonb_typeof(listed) = 'array', false);
	IF NOT is_list THEN
		response := CASE WHEN document ? 'response' THEN document -> 'response' ELSE document END;
		input := coalesce(document #> '{responses_create_params,input}', document -> 'input');
	ELSE
		SELECT jsonb_agg(CASE WHEN jsonb_typeof(x.raw) = 'object' THEN CASE WHEN i.v ? 'output' AND NOT x.raw ? 'output' THEN jsonb_build_object('output', i.v -> 'output') ELSE '{}' END || x.raw ELSE i.v END ORDER BY i.i) INTO listed
		FROM jsonb_array_elements(listed) WITH ORDINALITY i(v, i) CROSS JOIN LATERAL (SELECT coalesce(i.v -> 'raw_item', i.v -> 'rawItem') AS raw) x;
		input := coalesce(document -> 'input', document -> 'original_input', document -> 'originalInput');
		IF input IS NULL THEN
			SELECT coalesce(jsonb_agg(e.v ORDER BY e.i) FILTER (WHERE e.i < e.first), '[]'), jsonb_agg(e.v ORDER BY e.i) FILTER (WHERE e.i >= e.first) INTO input, listed
			FROM (SELECT o.v, o.i, coalesce(min(o.i) FILTER (WHERE coalesce(o.v ->> 'role', 'assistant') = 'assistant') OVER (), 2147483647) AS first FROM jsonb_array_elements(listed) WITH ORDINALITY o(v, i)) e;
		END IF;
		response := jsonb_build_object('output', coalesce(listed, '[]'));
	END IF;
	input := CASE jsonb_typeof(input) WHEN 'string' THEN jsonb_build_array(jsonb_build_object('role', 'user', 'content', input)) WHEN 'array' THEN input ELSE '[]' END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_response_parts(jsonb) IS
'part of import_rollouts: of a document of the OpenAI Responses interface or the Agents SDK an object with the list output, and the list of what was its input; is_list: it has items alone, no response';

CREATE OR REPLACE FUNCTION stepadv_internal.import_hosted_call(item jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN jsonb_strip_nulls(jsonb_build_object('id', coalesce(item -> 'call_id', item -> 'id'), 'tool', coalesce(item ->> 'name', regexp_replace(item ->> 'type', '_call$', '')),
		'args', coalesce(item -> 'arguments', item -> 'input', item -> 'action', item -> 'operation', nullif(jsonb_strip_nulls(jsonb_build_object('queries', item -> 'queries', 'code', item -> 'code')), '{}')),
		'text', coalesce(nullif(item -> 'output', 'null'), nullif(item -> 'error', 'null'), nullif(item -> 'outputs', 'null'), nullif(item -> 'results', 'null')),
		'ok', CASE WHEN coalesce(item -> 'error', 'null') <> 'null' OR item ->> 'status' = 'failed' THEN 'false'::jsonb END));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_hosted_call(jsonb) IS 'part of import_rollouts: an item of the Responses interface that is a call of a tool (mcp_call, local_shell_call, web_search_call, …): id, tool, args, and text and ok of what came back; what is not known is not there';

CREATE OR REPLACE FUNCTION @extschema@.parse_responses(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	WITH part AS (
		SELECT p.response, p.input, p.is_list, CASE WHEN jsonb_typeof(document -> 'responses_create_params') = 'object' THEN document -> 'responses_create_params' ELSE document END AS params
		FROM stepadv_internal.import_response_parts(document) p
	), listed AS (
		SELECT i.v, false AS own, i.i FROM part p, jsonb_array_elements(p.input) WITH ORDINALITY i(v, i)
		UNION ALL
		SELECT o.v, true, o.i FROM part p, jsonb_array_elements(CASE WHEN jsonb_typeof(p.response -> 'output') = 'array' THEN p.response -> 'output' ELSE '[]' END) WITH ORDINALITY o(v, i)
	), kinds AS (
		SELECT l.*, CASE
				WHEN l.v ->> 'type' = 'function_call' OR l.v ->> 'type' = 'custom_tool_call' THEN 'call'
				WHEN l.v ->> 'type' LIKE '%\_call\_output' THEN 'result'
				WHEN l.v ->> 'type' LIKE '%\_call' AND stepadv_internal.import_hosted_call(l.v) ?| '{args,text}' THEN 'hosted'
				WHEN l.v ->> 'type' = 'reasoning' THEN 'think'
				WHEN coalesce(l.v ->> 'type', 'message') = 'message' THEN CASE
					WHEN l.v ->> 'role' = 'assistant' THEN 'say' WHEN l.v ->> 'role' IN ('system', 'developer') THEN 'system' ELSE 'see' END
				ELSE 'other' END AS kind
		FROM listed l
	), told AS (
		SELECT string_agg(stepadv_internal.import_text(k.v -> 'content'), E'\n' ORDER BY k.own, k.i) AS words FROM kinds k WHERE k.kind = 'system'
	), item AS (
		-- What went before in the input is not this rollout's doing: only what
		-- came after the last of it is what the first step sees.
		SELECT jsonb_agg(CASE
			WHEN k.kind = 'other' THEN jsonb_build_object('kind', 'dropped', 'text', 'items of type ' || (k.v ->> 'type'))
			WHEN k.kind = 'system' THEN jsonb_build_object('kind', 'dropped', 'text', 'system messages')
			WHEN NOT k.own AND (k.kind IN ('call', 'hosted', 'say', 'think') OR k.i < k.last) THEN jsonb_build_object('kind', 'dropped', 'text', 'earlier turns in the input')
			WHEN k.kind = 'call' THEN jsonb_build_object('kind', 'call', 'id', k.v -> 'call_id', 'tool', k.v ->> 'name', 'args', coalesce(k.v -> 'arguments', k.v -> 'input'))
			WHEN k.kind = 'hosted' THEN h.v || '{"kind": "call"}'
			WHEN k.kind = 'returned' THEN jsonb_strip_nulls(h.v || jsonb_build_object('kind', 'result', 'text', stepadv_internal.import_text(h.v -> 'text')))
			WHEN k.kind = 'result' THEN jsonb_build_object('kind', 'result', 'id', k.v -> 'call_id', 'text', stepadv_internal.import_text(k.v -> 'output'))
			WHEN k.kind = 'think' THEN jsonb_build_object('kind', 'think', 'text', coalesce(nullif(stepadv_internal.import_text(k.v -> 'content'), ''), nullif(stepadv_internal.import_text(k.v -> 'summary'), '')))
			ELSE jsonb_build_object('kind', k.kind, 'text', stepadv_internal.import_text(k.v -> 'content')) END ORDER BY k.own, k.i, k.kind = 'returned') AS items
		FROM (SELECT k.*, max(k.i) FILTER (WHERE k.kind IN ('call', 'hosted', 'say', 'think')) OVER (PARTITION BY k.own) AS last FROM kinds k
			-- Items that say what came back do so where the call stands.
			UNION ALL SELECT k.v, k.own, k.i, 'returned', k.i FROM kinds k WHERE k.own AND k.kind = 'hosted' AND stepadv_internal.import_hosted_call(k.v) ? 'text') k
		LEFT JOIN LATERAL (SELECT stepadv_internal.import_hosted_call(k.v) AS v WHERE k.kind IN ('hosted', 'returned')) h ON true
	), named AS (
		SELECT p.*, coalesce(document ->> 'instance_id', p.params #>> '{metadata,instance_id}', document ->> 'task_id',
				'task' || (document ->> '_ng_task_index'), 'task' || (document ->> 'task_index')) AS own,
			coalesce(document #>> '{agent_ref,name}', CASE WHEN NOT p.is_list THEN f.base END) AS environment
		FROM part p LEFT JOIN LATERAL stepadv_internal.import_names(parse_responses.source) f ON true
	)
	SELECT CASE WHEN jsonb_typeof(m.response -> 'output') IS DISTINCT FROM 'array' THEN jsonb_build_object('problem', 'there is no list output of a response')
		ELSE jsonb_strip_nulls(jsonb_build_object('model', coalesce(nullif(m.response ->> 'model', ''), nullif(m.params ->> 'model', '')))) || stepadv_internal.import_about(document)
			|| jsonb_build_object('group_id', g.id,
			'rollout_id', coalesce(g.id || '-' || stepadv_internal.import_trial(document), document ->> 'rollout_id', m.response ->> 'id', stepadv_internal.import_digest(m.response -> 'output')),
			'meta', nullif(jsonb_strip_nulls(jsonb_build_object('source', parse_responses.source, 'response_id', m.response -> 'id', 'environment', m.environment, 'usage', m.response -> 'usage',
				-- What training_rows begins the conversation with.
				'system_prompt', nullif(concat_ws(E'\n', m.params ->> 'instructions', (SELECT t.words FROM told t)), ''))), '{}'),
			'steps', CASE WHEN m.params #>> '{metadata,problem_statement}' IS NOT NULL AND s.steps #> '{0,observation}' = 'null'
				THEN (SELECT jsonb_agg(CASE WHEN e.v -> 'turn' = s.steps #> '{0,turn}' THEN jsonb_set(e.v, '{observation}', m.params #> '{metadata,problem_statement}') ELSE e.v END ORDER BY e.i)
					FROM jsonb_array_elements(s.steps) WITH ORDINALITY e(v, i))
				ELSE s.steps END,
			'dropped', s.dropped, 'repaired', s.repaired) END
	FROM named m
	CROSS JOIN item t
	CROSS JOIN LATERAL (SELECT concat_ws('/', m.environment, coalesce(m.own, stepadv_internal.import_digest(m.input))) AS id) g
	CROSS JOIN LATERAL stepadv_internal.import_steps(coalesce(t.items, '[]')) s;
END
$$;

COMMENT ON FUNCTION @extschema@.parse_responses(jsonb, text, bigint) IS
'the rollout of items of the OpenAI Responses interface: an object with a response (a line of NeMo Gym''s rollouts), a list of items, or a result of the OpenAI Agents SDK (new_items, or a list of them); one jsonb as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_verl(document jsonb, source text, n bigint) RETURNS jsonb
LANGUAGE c IMMUTABLE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_import_verl';

COMMENT ON FUNCTION stepadv_internal.import_verl(jsonb, text, bigint) IS 'part of import_rollouts: what parse_verl gives';

CREATE OR REPLACE FUNCTION @extschema@.parse_verl(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN NEXT stepadv_internal.import_verl(document, source, n);
END
$$;

COMMENT ON FUNCTION @extschema@.parse_verl(jsonb, text, bigint) IS
'the rollout of a line of verl''s rollout dumps (input, output, score, step): one step, or one for each <tool_call> of the output and answer; arrays of tokens if there are; its task is the prompt, its group the prompt within the training step; n is the number of the line in source; one jsonb as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_intercode(document jsonb, source text) RETURNS jsonb[]
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_intercode';

COMMENT ON FUNCTION stepadv_internal.import_intercode(jsonb, text) IS 'part of import_rollouts: what parse_intercode gives';

CREATE OR REPLACE FUNCTION @extschema@.parse_intercode(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY SELECT r.v FROM unnest(stepadv_internal.import_intercode(document, source)) r(v);
END
$$;

COMMENT ON FUNCTION @extschema@.parse_intercode(jsonb, text, bigint) IS
'the rollouts of an InterCode log: an object of episodes, each with query and turn_history; the outcome is the best score reached; one jsonb per rollout as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_react_parts(document text)
RETURNS TABLE (rollout bigint, part bigint, mark text, text text, is_episode boolean, step bigint, slot bigint, trial integer, section text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	WITH line AS (
		SELECT l.i, l.line, x.m[1] AS mark, x.m[2] AS rest, lag(l.line) OVER (ORDER BY l.i) ~ '^-{17}\s*$' AND l.line ~ '^[0-9]+\s*$' AS is_episode
		FROM string_to_table(document, E'\n') WITH ORDINALITY l(line, i)
		LEFT JOIN LATERAL regexp_match(l.line, '^(Question|Thought|Action|Observation|Correct answer)(?: [0-9]+)?: ?(.*)$') x(m) ON true
	), marked AS (
		SELECT l.i, l.line, l.is_episode, CASE WHEN l.mark IS NOT NULL THEN l.mark WHEN l.is_episode THEN 'Question'
				WHEN l.line ~ '^BEGIN TRIAL [0-9]+' THEN 'Trial' WHEN l.line ~ '^-+ BEGIN [A-Z]+ AGENTS -+' THEN 'Section'
				WHEN l.line ~ '^(#{5,}|-{10,})\s*$' OR l.line ~ '^[0-9]+( [0-9.]+){3}\s*$' THEN 'End' END AS mark,
			coalesce(l.rest, l.line) AS line_text
		FROM line l
	), numbered AS (
		SELECT m.*, count(m.mark) OVER w AS part, count(*) FILTER (WHERE m.mark = 'Question') OVER w AS rollout FROM marked m WINDOW w AS (ORDER BY m.i)
	), part AS MATERIALIZED (
		SELECT p.part, p.rollout, max(p.mark) AS mark, bool_or(p.is_episode) AS is_episode,
			rtrim(string_agg(p.line_text, E'\n' ORDER BY p.i), E'\n\r') AS text
		FROM numbered p WHERE p.part > 0 GROUP BY p.part, p.rollout
	), counted AS (
		SELECT p.*, count(*) FILTER (WHERE p.mark = 'Action') OVER (PARTITION BY p.rollout ORDER BY p.part) AS step,
			count(*) FILTER (WHERE p.mark = 'Trial') OVER w AS trial_no, count(*) FILTER (WHERE p.mark = 'Section') OVER w AS section_no
		FROM part p WINDOW w AS (ORDER BY p.part)
	)
	-- A thought comes before its action.
	SELECT c.rollout, c.part, c.mark, c.text, c.is_episode, c.step, CASE WHEN c.mark = 'Thought' THEN c.step + 1 ELSE c.step END AS slot,
		(regexp_match(first_value(CASE WHEN c.mark = 'Trial' THEN c.text END) OVER (PARTITION BY c.trial_no ORDER BY c.part), '([0-9]+)'))[1]::integer AS trial,
		(regexp_match(first_value(CASE WHEN c.mark = 'Section' THEN c.text END) OVER (PARTITION BY c.section_no ORDER BY c.part), 'BEGIN ([A-Z]+)'))[1] AS section
	FROM counted c;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_react_parts(text) IS
'part of import_rollouts: the parts of a text log of ReAct agents, with the rollout and the step that each belongs to and the trial and section it is in';

CREATE OR REPLACE FUNCTION @extschema@.parse_react(document text, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
-- The planner takes a log for a few lines; a loop over them would be quadratic.
SET enable_nestloop = off
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	WITH placed AS MATERIALIZED (SELECT * FROM stepadv_internal.import_react_parts(document)), step AS MATERIALIZED (
		SELECT s.*, c.m[1] AS tool, c.m[2] AS argument, btrim(s.action) = 'reset' AND s.step = 1 AS is_reset
		FROM (
			SELECT p.rollout, p.slot AS step, max(p.text) FILTER (WHERE p.mark = 'Action') AS action,
				string_agg(p.text, E'\n' ORDER BY p.part) FILTER (WHERE p.mark = 'Thought') AS thought,
				string_agg(p.text, E'\n' ORDER BY p.part) FILTER (WHERE p.mark = 'Observation') AS result
			FROM placed p WHERE p.rollout > 0 AND p.mark IN ('Action', 'Thought', 'Observation')
			GROUP BY p.rollout, p.slot) s
		LEFT JOIN LATERAL regexp_match(s.action, '^\s*([A-Za-z_]\w*)\[(.*)\]\s*$') c(m) ON true
		WHERE s.action IS NOT NULL
	), chained AS MATERIALIZED (
		SELECT s.*, lag(s.result) OVER (PARTITION BY s.rollout ORDER BY s.step) AS observation,
			row_number() OVER (PARTITION BY s.rollout, s.is_reset ORDER BY s.step) AS position
		FROM step s
	), ended AS MATERIALIZED (
		SELECT s.rollout, (array_agg(s.result ORDER BY s.step DESC))[1] AS result,
			md5(string_agg(concat_ws(E'\n', s.thought, s.action, s.result), E'\n' ORDER BY s.step)) AS content
		FROM step s GROUP BY s.rollout
	), asked AS MATERIALIZED (
		SELECT q.rollout, bool_or(q.is_episode) AS is_episode, max(q.text) FILTER (WHERE q.mark = 'Question') AS question,
			max(q.trial) AS trial, max(q.section) FILTER (WHERE q.mark = 'Question') AS section, max(q.text) FILTER (WHERE q.mark = 'Correct answer') AS answer
		FROM placed q WHERE q.rollout > 0 AND q.mark IN ('Question', 'Correct answer')
		GROUP BY q.rollout
	), rollout AS MATERIALIZED (
		SELECT q.*, btrim(CASE WHEN q.is_episode THEN q.question ELSE regexp_replace(q.question, 'You have attempted to answer following question before.*$', '') END) AS task,
			e.result, e.content
		FROM asked q LEFT JOIN ended e ON e.rollout = q.rollout
	), scored AS (
		SELECT r.*, CASE WHEN r.section = 'CORRECT' OR r.result ~ 'Answer is CORRECT' THEN 1
				WHEN r.section IS NOT NULL OR r.result ~ 'Answer is INCORRECT' THEN 0
				-- Nothing bought: WebShop gives no score, which is 0.
				WHEN r.is_episode THEN coalesce((regexp_match(r.result, 'Your score \(min [0-9.]+, max [0-9.]+\): ([0-9.]*[0-9])'))[1]::numeric, 0) END AS outcome
		FROM rollout r
	), known AS (
		-- Reflexion's logs list every agent after each trial: those that had
		-- solved their task are copies, and some stand in two sections.
		SELECT s.*, coalesce(bool_or(s.outcome = 1 AND s.trial IS NOT NULL) OVER (PARTITION BY s.task ORDER BY s.trial RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), false) AS is_done,
			s.trial IS NOT NULL AND row_number() OVER (PARTITION BY s.task, s.trial, s.content ORDER BY s.rollout) > 1 AS is_twice
		FROM scored s
	), collected AS MATERIALIZED (
		SELECT c.rollout, count(*) FILTER (WHERE c.tool IS NULL) AS no_calls, jsonb_agg(jsonb_build_object('turn', c.position - 1,
				'observation', coalesce(c.observation, CASE WHEN c.step = 1 AND NOT r.is_episode THEN 'Question: ' || btrim(r.question) END),
				'next_observation', c.result, 'action', c.action, 'tool', c.tool,
				'args', CASE WHEN c.tool IS NOT NULL THEN jsonb_build_object('arg', c.argument) END,
				'ok', CASE WHEN c.tool IS NOT NULL AND c.result !~ '^Answer is' THEN stepadv_internal.import_ok(c.result) END,
				'meta', CASE WHEN c.thought IS NOT NULL THEN jsonb_build_object('thought', c.thought) END) ORDER BY c.step) AS steps
		FROM chained c JOIN rollout r ON r.rollout = c.rollout
		WHERE NOT c.is_reset
		GROUP BY c.rollout
	)
	SELECT jsonb_strip_nulls(jsonb_build_object('outcome', k.outcome)) || jsonb_build_object(
		'group_id', CASE WHEN k.is_episode THEN 'fixed_' || k.task ELSE left(md5(k.task), 10) END,
		'rollout_id', concat_ws('-', f.rollout, CASE WHEN k.is_episode THEN 'fixed_' || k.task ELSE left(md5(k.task), 10) END, 't' || k.trial),
		'truncated', coalesce(k.section = 'HALTED', k.is_episode AND k.result !~ 'Your score', false),
		'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_react.source, 'trial', k.trial, 'status', k.section, 'question', CASE WHEN NOT k.is_episode THEN k.task END, 'answer', k.answer)),
		'steps', coalesce(c.steps, '[]'),
		'repaired', jsonb_strip_nulls(jsonb_build_object('actions that are no call', nullif(c.no_calls, 0))))
	FROM known k
	LEFT JOIN collected c ON c.rollout = k.rollout
	LEFT JOIN LATERAL stepadv_internal.import_names(parse_react.source) f ON true
	WHERE NOT k.is_done AND NOT k.is_twice
	UNION ALL
	SELECT jsonb_build_object('dropped', jsonb_strip_nulls(jsonb_build_object(
		'copies of rollouts that were done in an earlier trial', nullif(count(*) FILTER (WHERE k.is_done), 0),
		'rollouts listed twice', nullif(count(*) FILTER (WHERE k.is_twice AND NOT k.is_done), 0))))
	FROM known k HAVING bool_or(k.is_done OR k.is_twice)
	UNION ALL
	SELECT jsonb_build_object('problem', 'no line begins with Question: or follows a line of 17 hyphens') WHERE NOT EXISTS (SELECT FROM known);
END
$$;

COMMENT ON FUNCTION @extschema@.parse_react(text, text, bigint) IS
'the rollouts of a text log of ReAct agents (Thought, Action, Observation): Reflexion''s logs of HotpotQA, ReAct''s of WebShop; one jsonb per rollout as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_inspect_score(value jsonb) RETURNS float8
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE jsonb_typeof(value)
		WHEN 'number' THEN (value #>> '{}')::float8
		WHEN 'boolean' THEN CASE WHEN (value #>> '{}')::boolean THEN 1 ELSE 0 END
		WHEN 'string' THEN CASE WHEN value #>> '{}' = 'C' OR lower(value #>> '{}') IN ('yes', 'true') THEN 1 WHEN value #>> '{}' = 'P' THEN 0.5
			WHEN value #>> '{}' IN ('I', 'N') OR lower(value #>> '{}') IN ('no', 'false') THEN 0
			WHEN value #>> '{}' ~ '^[-+]?[0-9]{1,15}(\.[0-9]{1,15})?$' THEN (value #>> '{}')::float8 END END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_inspect_score(jsonb) IS
'part of import_rollouts: the value of a score of Inspect as a number: C, yes, true 1, P 0.5, I, N, no, false 0; NULL for what is none (lists, objects, other words)';

CREATE OR REPLACE FUNCTION stepadv_internal.import_inspect_items(messages jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(jsonb_agg(i.item ORDER BY m.i, i.part, i.j), '[]')
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(messages) = 'array' THEN messages ELSE '[]' END) WITH ORDINALITY m(v, i)
		CROSS JOIN LATERAL (SELECT m.v ->> 'role' AS role, stepadv_internal.import_text(jsonb_path_query_array(CASE jsonb_typeof(m.v -> 'content') WHEN 'string' THEN jsonb_build_array(m.v -> 'content') WHEN 'array' THEN m.v -> 'content' ELSE '[]' END,
				'$[*] ? (@.type() == "string" || !exists(@.type) || @.type != "reasoning")')) AS text,
			(SELECT string_agg(p.v ->> 'reasoning', E'\n' ORDER BY p.i) FROM jsonb_array_elements(CASE jsonb_typeof(m.v -> 'content') WHEN 'array' THEN m.v -> 'content' ELSE '[]' END) WITH ORDINALITY p(v, i) WHERE p.v ->> 'type' = 'reasoning') AS thought,
			CASE WHEN jsonb_typeof(m.v -> 'tool_calls') = 'array' THEN m.v -> 'tool_calls' ELSE '[]' END AS calls) x
		CROSS JOIN LATERAL (
			SELECT 0 AS part, 0::bigint AS j, jsonb_build_object('kind', 'dropped', 'text', 'system messages') AS item WHERE x.role = 'system'
			UNION ALL SELECT 0, 0, jsonb_build_object('kind', 'see', 'text', x.text) WHERE x.role = 'user'
			UNION ALL SELECT 0, 0, jsonb_strip_nulls(jsonb_build_object('kind', 'result', 'id', m.v -> 'tool_call_id', 'text', coalesce(nullif(x.text, ''), m.v #>> '{error,message}', ''),
				'ok', CASE WHEN jsonb_typeof(m.v -> 'error') = 'object' THEN false END)) WHERE x.role = 'tool'
			UNION ALL SELECT 0, 0, jsonb_build_object('kind', 'think', 'new', true, 'text', x.thought) WHERE x.role = 'assistant'
			UNION ALL SELECT 1, 0, jsonb_build_object('kind', 'say', 'text', x.text) WHERE x.role = 'assistant' AND (x.text <> '' OR x.calls = '[]')
			UNION ALL SELECT 2, c.i, jsonb_build_object('kind', 'call', 'id', c.v -> 'id', 'tool', coalesce(c.v -> 'function', c.v -> 'name'), 'args', c.v -> 'arguments')
				FROM jsonb_array_elements(x.calls) WITH ORDINALITY c(v, i) WHERE x.role = 'assistant') i);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_inspect_items(jsonb) IS 'part of import_rollouts: messages of Inspect as items of import_steps';

CREATE OR REPLACE FUNCTION @extschema@.parse_inspect(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	SELECT jsonb_strip_nulls(jsonb_build_object(
			'outcome', coalesce(scored.outcome, stepadv_internal.import_inspect_score(s.v -> 'score' -> 'value')),
			'model', coalesce(head.v #> '{eval,model}', s.v #> '{output,model}'), 'run_id', head.v #> '{eval,run_id}',
			'started_at', coalesce(s.v -> 'started_at', s.v #> '{events,0,timestamp}', head.v #> '{stats,started_at}', head.v #> '{eval,created}'),
			'ended_at', coalesce(s.v -> 'completed_at', head.v #> '{stats,completed_at}'),
			'truncated', CASE WHEN jsonb_typeof(s.v -> 'limit') = 'object' THEN true END))
		|| jsonb_build_object('group_id', concat_ws('/', head.v #>> '{eval,task}', s.v ->> 'id'),
			'rollout_id', coalesce(s.v ->> 'uuid', concat_ws('/', coalesce(head.v #>> '{eval,eval_id}', head.v #>> '{eval,run_id}', f.rollout), s.v ->> 'id', 'e' || coalesce(s.v ->> 'epoch', '1'))),
			'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_inspect.source, 'epoch', s.v -> 'epoch', 'target', s.v -> 'target', 'scores', coalesce(s.v -> 'scores', s.v -> 'score'), 'error', s.v #> '{error,message}',
				'limit', s.v #> '{limit,type}', 'model_usage', s.v -> 'model_usage')),
			'steps', t.steps, 'dropped', t.dropped, 'repaired', t.repaired)
	FROM (SELECT coalesce(document -> 'header', document) AS v) head
	CROSS JOIN LATERAL jsonb_array_elements(CASE WHEN document ? 'sample' THEN jsonb_build_array(document -> 'sample') WHEN jsonb_typeof(document -> 'samples') = 'array' THEN document -> 'samples' ELSE '[]' END) WITH ORDINALITY s(v, i)
	LEFT JOIN LATERAL stepadv_internal.import_names(parse_inspect.source) f ON true
	-- Of several scorers the first, in the order in which they were asked for.
	LEFT JOIN LATERAL (
		SELECT stepadv_internal.import_inspect_score(c.value -> 'value') AS outcome
		FROM jsonb_each(CASE WHEN jsonb_typeof(s.v -> 'scores') = 'object' THEN s.v -> 'scores' ELSE '{}' END) c
		LEFT JOIN jsonb_array_elements(CASE WHEN jsonb_typeof(head.v #> '{results,scores}') = 'array' THEN head.v #> '{results,scores}' ELSE '[]' END) WITH ORDINALITY r(v, i) ON r.v ->> 'name' = c.key OR r.v ->> 'scorer' = c.key
		ORDER BY r.i NULLS LAST, c.key COLLATE "C" LIMIT 1) scored ON true
	CROSS JOIN LATERAL stepadv_internal.import_steps(stepadv_internal.import_inspect_items(s.v -> 'messages')) t
	ORDER BY s.i;
END
$$;

COMMENT ON FUNCTION @extschema@.parse_inspect(jsonb, text, bigint) IS
'the rollouts of a log of Inspect (inspect_ai, version 2 of its log): one for each sample and epoch, the group is task and sample, the outcome the first scorer''s (C 1, P 0.5, I and N 0, or a number); also a line {"header", "sample"} that stepadv-import makes of an .eval file; one jsonb per rollout as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_openhands_items(events jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		WITH event AS (
			-- In version 0 some lists have pairs of action and observation.
			SELECT x.v, row_number() OVER (ORDER BY l.i, x.j) AS i
			FROM jsonb_array_elements(CASE WHEN jsonb_typeof(events) = 'array' THEN events ELSE '[]' END) WITH ORDINALITY l(v, i)
			CROSS JOIN LATERAL jsonb_array_elements(CASE WHEN jsonb_typeof(l.v) = 'array' THEN l.v ELSE jsonb_build_array(l.v) END) WITH ORDINALITY x(v, j)
		), kind AS (
			SELECT e.*, coalesce(e.v ->> 'kind', CASE WHEN e.v ? 'observation' THEN 'observation' WHEN e.v ? 'action' THEN 'action' END) AS kind, coalesce(e.v ->> 'action', e.v ->> 'observation') AS name,
				e.v #>> '{tool_call_metadata,function_name}' AS tool, e.v #>> '{tool_call_metadata,model_response,id}' AS response
			FROM event e
		), item AS (
			SELECT k.i, 1 AS j, CASE
				WHEN k.kind = 'action' AND k.v ->> 'source' = 'user' AND k.name = 'message' THEN jsonb_build_object('kind', 'see', 'text', coalesce(k.v #>> '{args,content}', k.v ->> 'message'))
				WHEN k.kind = 'MessageEvent' AND k.v ->> 'source' = 'user' THEN jsonb_build_object('kind', 'see', 'text', stepadv_internal.import_text(k.v #> '{llm_message,content}'))
				WHEN k.kind = 'MessageEvent' THEN jsonb_build_object('kind', 'say', 'new', true, 'text', stepadv_internal.import_text(k.v #> '{llm_message,content}'))
				WHEN k.kind = 'action' AND k.v ->> 'source' = 'agent' AND k.name = 'message' THEN jsonb_build_object('kind', 'say', 'new', true, 'text', coalesce(k.v #>> '{args,content}', k.v ->> 'message'))
				WHEN k.kind IN ('SystemPromptEvent') OR k.kind = 'action' AND k.name = 'system' THEN jsonb_build_object('kind', 'dropped', 'text', 'system messages')
				WHEN k.kind = 'action' AND (k.v ->> 'source' = 'environment' OR k.name IN ('recall', 'change_agent_state', 'initialize', 'null')) THEN jsonb_build_object('kind', 'dropped', 'text', 'events of the program')
				WHEN k.kind = 'action' THEN jsonb_build_object('kind', 'call', 'id', 'e' || (k.v ->> 'id'), 'tool', coalesce(k.tool, k.name), 'args', coalesce(k.v -> 'args', '{}') - '{thought,hidden,confirmation_state,security_risk}'::text[])
				WHEN k.kind = 'ActionEvent' THEN jsonb_build_object('kind', 'call', 'id', k.v ->> 'tool_call_id', 'tool', coalesce(k.v ->> 'tool_name', k.v #>> '{action,kind}'), 'args', coalesce(k.v #> '{tool_call,arguments}', (k.v -> 'action') - 'kind'))
				WHEN k.kind = 'observation' AND (k.v ->> 'cause' IS NULL OR k.name IN ('agent_state_changed', 'recall', 'null'))
					AND k.name <> 'error' THEN jsonb_build_object('kind', 'dropped', 'text', 'events of the program')
				WHEN k.kind = 'observation' THEN jsonb_strip_nulls(jsonb_build_object('kind', 'result', 'id', 'e' || (k.v ->> 'cause'), 'text', coalesce(k.v ->> 'content', k.v ->> 'message', ''),
					'ok', CASE WHEN k.name = 'error' THEN false WHEN jsonb_typeof(coalesce(k.v #> '{extras,metadata,exit_code}', k.v #> '{extras,exit_code}')) = 'number' THEN coalesce(k.v #>> '{extras,metadata,exit_code}', k.v #>> '{extras,exit_code}') = '0' END))
				WHEN k.kind IN ('ObservationEvent', 'AgentErrorEvent', 'UserRejectObservation') THEN jsonb_strip_nulls(jsonb_build_object('kind', 'result', 'id', k.v ->> 'tool_call_id',
					'text', coalesce(stepadv_internal.import_text(k.v #> '{observation,content}'), k.v #>> '{observation,output}', k.v ->> 'error', k.v ->> 'rejection_reason', ''),
					'ok', CASE WHEN k.kind <> 'ObservationEvent' OR k.v #>> '{observation,is_error}' = 'true' THEN false WHEN jsonb_typeof(k.v #> '{observation,exit_code}') = 'number' THEN k.v #>> '{observation,exit_code}' = '0' END))
				ELSE jsonb_build_object('kind', 'dropped', 'text', 'events of the program') END AS item
			FROM kind k
			UNION ALL
			-- What it thought, before its call; a call of another answer of the model begins a turn.
			SELECT k.i, 0, jsonb_strip_nulls(jsonb_build_object('kind', 'think', 'text', nullif(coalesce(k.v #>> '{args,thought}', stepadv_internal.import_text(k.v -> 'thought')), ''),
				'new', CASE WHEN coalesce(k.response, k.v ->> 'llm_response_id') IS DISTINCT FROM lag(coalesce(k.response, k.v ->> 'llm_response_id')) OVER (ORDER BY k.i) THEN true END))
			FROM kind k WHERE k.kind = 'ActionEvent' OR k.kind = 'action' AND k.v ->> 'source' = 'agent' AND k.name NOT IN ('message', 'system', 'recall', 'change_agent_state')
		)
		SELECT coalesce(jsonb_agg(m.item ORDER BY m.i, m.j), '[]') FROM item m);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_openhands_items(jsonb) IS 'part of import_rollouts: events of OpenHands as items of import_steps; an observation is the result of the action that is its cause';

CREATE OR REPLACE FUNCTION @extschema@.parse_openhands(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	SELECT CASE WHEN jsonb_typeof(e.events) IS DISTINCT FROM 'array' THEN jsonb_build_object('problem', 'there is no list of events')
		ELSE stepadv_internal.import_about(e.about) || jsonb_strip_nulls(jsonb_build_object(
			'success', coalesce(e.about #> '{test_result,report,resolved}', e.about #> '{report,resolved}'),
			'model', coalesce(e.about #> '{metadata,llm_config,model}', e.about #> '{metadata,llm,model}'),
			'started_at', e.events #> '{0,timestamp}', 'ended_at', e.events #> '{-1,timestamp}'))
		|| jsonb_build_object('group_id', coalesce(e.about ->> 'instance_id', stepadv_internal.import_digest(jsonb_path_query_first(e.events, '$[*] ? (@.source == "user" && (@.action == "message" || @.kind == "MessageEvent")).*.content')), f.rollout, stepadv_internal.import_digest(e.events -> 0)),
			'rollout_id', concat_ws('--', coalesce(f.rollout, stepadv_internal.import_digest(e.events)), e.about ->> 'instance_id', 'a' || (e.about ->> 'attempt')),
			'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_openhands.source, 'instruction', e.about -> 'instruction', 'metrics', e.about -> 'metrics', 'error', e.about -> 'error', 'git_patch', e.about #> '{test_result,git_patch}')),
			'steps', t.steps, 'dropped', t.dropped, 'repaired', t.repaired) END
	FROM (SELECT CASE jsonb_typeof(document) WHEN 'array' THEN document ELSE coalesce(document -> 'history', document -> 'events', document -> 'trajectory') END AS events,
		CASE jsonb_typeof(document) WHEN 'object' THEN document ELSE '{}' END AS about) e
	LEFT JOIN LATERAL stepadv_internal.import_names(parse_openhands.source) f ON true
	CROSS JOIN LATERAL stepadv_internal.import_steps(stepadv_internal.import_openhands_items(e.events)) t;
END
$$;

COMMENT ON FUNCTION @extschema@.parse_openhands(jsonb, text, bigint) IS
'the rollout of a list of events of OpenHands, or of a line of its evaluation''s output (history, instance_id, test_result): actions are steps, an observation belongs to the action that is its cause (version 1: that has its tool_call_id); one jsonb as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_atif_items(steps jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(jsonb_agg(i.item ORDER BY s.i, i.part, i.j), '[]')
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(steps) = 'array' THEN steps ELSE '[]' END) WITH ORDINALITY s(v, i)
		CROSS JOIN LATERAL (SELECT s.v ->> 'source' AS source, stepadv_internal.import_text(s.v -> 'message') AS text,
			CASE WHEN jsonb_typeof(s.v -> 'tool_calls') = 'array' THEN s.v -> 'tool_calls' ELSE '[]' END AS calls,
			CASE WHEN jsonb_typeof(s.v #> '{observation,results}') = 'array' THEN s.v #> '{observation,results}' ELSE '[]' END AS results) x
		CROSS JOIN LATERAL (
			SELECT 0 AS part, 0::bigint AS j, jsonb_build_object('kind', 'dropped', 'text', 'system messages') AS item WHERE x.source = 'system' AND x.results = '[]'
			UNION ALL SELECT 0, 0, jsonb_build_object('kind', 'see', 'text', x.text) WHERE x.source = 'user'
			UNION ALL SELECT 0, 0, jsonb_build_object('kind', 'think', 'new', true, 'text', s.v ->> 'reasoning_content') WHERE x.source = 'agent'
			UNION ALL SELECT 1, 0, jsonb_build_object('kind', 'say', 'text', x.text) WHERE x.source = 'agent' AND (x.text <> '' OR x.calls = '[]')
			UNION ALL SELECT 2, c.i, jsonb_build_object('kind', 'call', 'id', c.v -> 'tool_call_id', 'tool', c.v -> 'function_name', 'args', c.v -> 'arguments')
				FROM jsonb_array_elements(x.calls) WITH ORDINALITY c(v, i) WHERE x.source = 'agent'
			UNION ALL SELECT 3, r.i, jsonb_strip_nulls(jsonb_build_object('kind', CASE WHEN x.calls = '[]' THEN 'see' ELSE 'result' END, 'id', r.v -> 'source_call_id', 'text', coalesce(stepadv_internal.import_text(r.v -> 'content'), '')))
				FROM jsonb_array_elements(x.results) WITH ORDINALITY r(v, i)) i);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_atif_items(jsonb) IS 'part of import_rollouts: steps of ATIF as items of import_steps; each of an agent''s steps is a turn';

CREATE OR REPLACE FUNCTION stepadv_internal.import_atif_metrics(metrics jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	ids CONSTANT jsonb := CASE jsonb_typeof(metrics -> 'completion_token_ids') WHEN 'array' THEN metrics -> 'completion_token_ids' END;
	logprobs CONSTANT jsonb := CASE WHEN jsonb_typeof(metrics -> 'logprobs') = 'array' AND jsonb_array_length(metrics -> 'logprobs') = jsonb_array_length(ids) THEN metrics -> 'logprobs' END;
	others CONSTANT jsonb := nullif(jsonb_strip_nulls(metrics - '{prompt_token_ids,completion_token_ids}'::text[] - CASE WHEN logprobs IS NOT NULL THEN 'logprobs' ELSE '' END), '{}');
BEGIN
	RETURN jsonb_strip_nulls(jsonb_build_object('prompt_token_ids', CASE jsonb_typeof(metrics -> 'prompt_token_ids') WHEN 'array' THEN metrics -> 'prompt_token_ids' END,
		'response_token_ids', ids, 'rollout_logprobs', logprobs)) || CASE WHEN others IS NULL THEN '{}' ELSE jsonb_build_object('meta', jsonb_build_object('metrics', others)) END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_atif_metrics(jsonb) IS
'part of import_rollouts: metrics of a step of ATIF in our words: the arrays of tokens and, where there are as many, their log-probabilities, the rest as metrics of the step''s metadata';

CREATE OR REPLACE FUNCTION stepadv_internal.import_atif_turns(told jsonb, INOUT steps jsonb, INOUT repaired jsonb)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	gifts CONSTANT jsonb[] := ARRAY(SELECT CASE jsonb_typeof(s.v -> 'metrics') WHEN 'object' THEN stepadv_internal.import_atif_metrics(s.v -> 'metrics') ELSE '{}' END
		FROM jsonb_array_elements(told) WITH ORDINALITY s(v, i) WHERE s.v ->> 'source' = 'agent' ORDER BY s.i);
	given jsonb;
BEGIN
	IF NOT EXISTS (SELECT FROM unnest(gifts) g WHERE g <> '{}') THEN
		RETURN;
	END IF;
	SELECT jsonb_agg(CASE WHEN t.is_first THEN t.v || gifts[t.k] || CASE WHEN gifts[t.k] ? 'meta' THEN jsonb_build_object('meta', coalesce(nullif(t.v -> 'meta', 'null'), '{}') || (gifts[t.k] -> 'meta')) ELSE '{}' END ELSE t.v END ORDER BY t.i)
	INTO given
	FROM (SELECT s.v, s.i, dense_rank() OVER (ORDER BY (s.v ->> 'turn')::integer) AS k, row_number() OVER (PARTITION BY s.v -> 'turn' ORDER BY s.i) = 1 AS is_first
		FROM jsonb_array_elements(import_atif_turns.steps) WITH ORDINALITY s(v, i)) t
	HAVING max(t.k) = cardinality(gifts);
	IF given IS NULL THEN
		import_atif_turns.repaired := coalesce(import_atif_turns.repaired, '{}') || '{"metrics that no turn tells apart": 1}';
	ELSE
		import_atif_turns.steps := given;
	END IF;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_atif_turns(jsonb, jsonb, jsonb) IS 'part of import_rollouts: steps with what ATIF''s metrics (of the steps told) say of their turns, at the first step of each';

CREATE OR REPLACE FUNCTION @extschema@.parse_atif(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	SELECT CASE WHEN jsonb_typeof(document -> 'steps') IS DISTINCT FROM 'array' THEN jsonb_build_object('problem', 'there is no list steps')
		ELSE stepadv_internal.import_about(document) || stepadv_internal.import_about(CASE WHEN jsonb_typeof(document -> 'extra') = 'object' THEN document -> 'extra' ELSE '{}' END) || jsonb_strip_nulls(jsonb_build_object(
			'model', coalesce(document #> '{agent,model_name}', jsonb_path_query_first(document, '$.steps[*].model_name')),
			'started_at', jsonb_path_query_first(document, '$.steps[0].timestamp'), 'ended_at', jsonb_path_query_first(document, '$.steps[last].timestamp')))
		|| jsonb_build_object('group_id', coalesce(document #>> '{extra,task_id}', document #>> '{extra,task_name}', document #>> '{extra,instance_id}', stepadv_internal.import_digest(jsonb_path_query_first(document, '$.steps[*] ? (@.source == "user").message')), f.rollout, document ->> 'session_id'),
			'rollout_id', coalesce(document ->> 'trajectory_id', document ->> 'session_id', f.rollout, stepadv_internal.import_digest(document -> 'steps')),
			'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_atif.source, 'agent', document -> 'agent', 'final_metrics', document -> 'final_metrics', 'notes', document -> 'notes', 'schema_version', document -> 'schema_version')),
			'steps', m.steps, 'dropped', t.dropped, 'repaired', m.repaired) END
	FROM (SELECT 1) one
	LEFT JOIN LATERAL stepadv_internal.import_names(parse_atif.source) f ON true
	CROSS JOIN LATERAL stepadv_internal.import_steps(stepadv_internal.import_atif_items(document -> 'steps')) t
	LEFT JOIN LATERAL stepadv_internal.import_atif_turns(document -> 'steps', t.steps, t.repaired) m ON jsonb_typeof(document -> 'steps') = 'array';
END
$$;

COMMENT ON FUNCTION @extschema@.parse_atif(jsonb, text, bigint) IS
'the rollout of a trajectory in ATIF (Harbor; versions 1.0 to 1.7): every step of the agent is a turn, the task is that of extra or else the first message of the user; tokens, log-probabilities and other metrics stand at the first step of their turn; not judged unless the document or its extra has an outcome; one jsonb as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_names() RETURNS TABLE (name text, place text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 40
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT n.name, p.place
	FROM (VALUES (1, 'document'::text, '{rollouts}'::text[]), (2, 'rollout', '{steps}'),
		(3, 'rollout', '{group_id,task_id,run_id,rollout_id,outcome,success,truncated,policy_version,policy_step,model,channel,curation,started_at,ended_at,tags,meta}'),
		(4, 'step', '{order,step_no,turn,observation,next_observation,action,tool,args,ok,reward,turn_reward,value,cost,prompt_token_ids,response_token_ids,response_mask,rollout_logprobs,step_meta}')) p(i, place, names),
		unnest(p.names) WITH ORDINALITY n(name, j)
	ORDER BY p.i, n.j
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_names() IS 'part of parse_by_paths: what there may be a path of, and where that path begins: at the document, a rollout or a step';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_check(name text, path text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	unknown text;
BEGIN
	-- A filter may never come to ask for a variable.  (Strings stand in the same quotes, and are read over.)
	SELECT min(v.m[1]) INTO unknown FROM regexp_matches(import_path_check.path::jsonpath::text, '\$"((?:[^"\\]|\\.)*)"|"(?:[^"\\]|\\.)*"', 'g') v(m) WHERE v.m[1] NOT IN ('document', 'source', 'n');
	IF unknown IS NOT NULL THEN
		RAISE EXCEPTION 'there is no variable $%, only $document, $source and $n', unknown USING ERRCODE = 'invalid_parameter_value';
	END IF;
EXCEPTION WHEN OTHERS THEN
	RAISE EXCEPTION 'the path of %, %, is no path: %', import_path_check.name, import_path_check.path, SQLERRM
		USING ERRCODE = SQLSTATE, HINT = 'Paths are of SQL/JSON, as $.turns[*].text; a key of other characters than letters, digits and _ stands in quotes: $."a-b".';
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_check(text, text) IS 'part of parse_by_paths: error where a text is no path of SQL/JSON, with the name of what it is the path of';

CREATE OR REPLACE FUNCTION stepadv_internal.import_match_check(name text, pattern text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM regexp_match('', import_match_check.pattern);
EXCEPTION WHEN invalid_regular_expression THEN
	RAISE EXCEPTION 'match of the path of %, %, is no regular expression: %', import_match_check.name, import_match_check.pattern, SQLERRM
		USING ERRCODE = SQLSTATE, HINT = 'What its first group in parentheses matches is taken, else all that it matches; in JSON a backslash stands twice, as in "step_([0-9]+)\\.json$".';
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_match_check(text, text) IS 'part of parse_by_paths: error where a text is no regular expression, with the name of what it is for';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_spec(name text, spec jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	whole CONSTANT jsonb := CASE jsonb_typeof(import_path_spec.spec) WHEN 'string' THEN jsonb_build_object('path', import_path_spec.spec) ELSE import_path_spec.spec END;
	of_list CONSTANT boolean := import_path_spec.name IN ('rollouts', 'steps');
	part record;
BEGIN
	IF jsonb_typeof(whole) <> 'object' OR jsonb_typeof(whole -> 'path') IS DISTINCT FROM 'string' THEN
		RAISE EXCEPTION 'the path of % must be a string, or an object with a string path, not %', import_path_spec.name, CASE jsonb_typeof(whole) WHEN 'object' THEN 'an object without it' ELSE jsonb_typeof(whole) END
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	FOR part IN SELECT e.key, e.value, jsonb_typeof(e.value) AS type FROM jsonb_each(whole) e LOOP
		IF part.key <> ALL (CASE WHEN of_list THEN '{path,fromjson}' ELSE '{path,fromjson,map,match,in,key,take}' END::text[]) THEN
			RAISE EXCEPTION 'the path of % has the unknown key %', import_path_spec.name, quote_ident(part.key)
				USING ERRCODE = 'invalid_parameter_value', HINT = CASE WHEN of_list THEN 'There are: path, fromjson.' ELSE 'There are: path, fromjson, match, map, in, key, take.' END;
		END IF;
		CONTINUE WHEN part.key = 'map' AND part.type = 'object' OR part.key = 'fromjson' AND part.type = 'boolean';
		IF part.type <> 'string' OR part.key = 'map' THEN
			RAISE EXCEPTION '% of the path of % must be %, not %', part.key, import_path_spec.name,
				CASE part.key WHEN 'map' THEN 'an object' WHEN 'fromjson' THEN 'true or a path' WHEN 'match' THEN 'a regular expression' ELSE 'a path' END, part.type
				USING ERRCODE = 'invalid_parameter_value', HINT = 'For example {"path": "$.verdict", "map": {"pass": true, "fail": false}}, {"path": "$.call", "fromjson": "$.name"}, {"path": "$.id", "in": "$.results[*]", "key": "$.call_id", "take": "$.text"}.';
		END IF;
		IF part.key = 'match' THEN
			PERFORM stepadv_internal.import_match_check(import_path_spec.name, part.value #>> '{}');
		ELSE
			PERFORM stepadv_internal.import_path_check(import_path_spec.name, part.value #>> '{}');
		END IF;
	END LOOP;
	IF (whole ? 'in') <> (whole ? 'key') OR whole ? 'take' AND NOT whole ? 'in' THEN
		RAISE EXCEPTION 'the path of % must have in and key together', import_path_spec.name
			USING ERRCODE = 'invalid_parameter_value', HINT = 'in finds the elements, from the rollout; key, from the element, what must be the same as what path finds; take, from the element, the value.';
	END IF;
	RETURN whole || jsonb_build_object('name', import_path_spec.name);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_spec(text, jsonb) IS
'part of parse_by_paths: what paths says of one thing (a path, or an object with path, fromjson, match, map, in, key and take) as an object with its name; error where it is none of these, or holds what is no path';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_specs(paths jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	specs jsonb := '{"rollouts": [], "steps": [], "rollout": [], "step": []}';
	given record;
BEGIN
	IF import_path_specs.paths IS NULL THEN
		RETURN NULL;
	END IF;
	IF jsonb_typeof(import_path_specs.paths) <> 'object' OR NOT import_path_specs.paths ?| '{task_id,group_id}' THEN
		RAISE EXCEPTION 'paths must be an object with at least the key task_id or group_id'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'For example {"rollouts": "$.episodes[*]", "task_id": "$.task", "steps": "$.turns[*]", "action": "$.act"}.';
	END IF;
	FOR given IN SELECT e.key, e.value, n.name, CASE WHEN n.name IN ('rollouts', 'steps') THEN n.name ELSE n.place END AS place
		FROM jsonb_each(import_path_specs.paths) e LEFT JOIN stepadv_internal.import_path_names() n ON n.name = e.key
	LOOP
		IF given.name IS NULL THEN
			RAISE EXCEPTION 'paths has the unknown key %', quote_ident(given.key)
				USING ERRCODE = 'invalid_parameter_value', HINT = format('There are: %s.', (SELECT string_agg(n.name, ', ') FROM stepadv_internal.import_path_names() n));
		END IF;
		specs := jsonb_set(specs, ARRAY[given.place], (specs -> given.place) || stepadv_internal.import_path_spec(given.name, given.value));
	END LOOP;
	IF import_path_specs.paths ?& '{order,step_no}'::text[] THEN
		RAISE EXCEPTION 'paths must have order or step_no, not both' USING ERRCODE = 'invalid_parameter_value', HINT = 'Steps are numbered in their order, from 0.';
	END IF;
	RETURN specs;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_specs(jsonb) IS
'part of parse_by_paths: paths as the user gives them, looked through, by where they begin: an object of lists rollouts, steps, rollout and step; NULL of NULL; error where something is wrong with them';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_json(value jsonb, OUT content jsonb, OUT repaired text)
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	content := import_path_json.value;
	IF jsonb_typeof(content) = 'string' THEN
		SELECT a.args, a.repaired INTO content, import_path_json.repaired FROM stepadv_internal.import_arguments(import_path_json.value) a;
		import_path_json.repaired := CASE WHEN import_path_json.repaired LIKE 'arguments%' THEN 'strings that are no JSON' WHEN import_path_json.repaired IS NOT NULL THEN 'U+0000 in strings of JSON' END;
	END IF;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_json(jsonb) IS 'part of parse_by_paths: the JSON that a string holds, NULL where it is none, with what is to be told of it; other values as they are';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_match(words text, spec jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	part CONSTANT text := substring(import_path_match.words FROM import_path_match.spec ->> 'match');
BEGIN
	RETURN CASE WHEN import_path_match.spec ->> 'name' = ANY ('{step_no,turn,policy_step,outcome,reward,turn_reward,value,cost}'::text[]) AND NOT import_path_match.spec ? 'map' AND part ~ '^-?[0-9]{1,30}([.][0-9]{1,30})?$'
		THEN to_jsonb(part::numeric) ELSE to_jsonb(part) END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_match(text, jsonb) IS 'part of parse_by_paths: what match of a spec finds in a text: its first group in parentheses, else all of it; NULL: nothing';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_value(item jsonb, spec jsonb, vars jsonb, joined jsonb, OUT value jsonb, OUT is_found boolean, OUT repaired text)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	value := jsonb_path_query_first(item, (spec ->> 'path')::jsonpath, vars, true);
	IF spec ? 'in' AND value IS NOT NULL THEN
		-- (One step after the other: an object of all would be copied for each.)
		value := joined #> ARRAY[spec ->> 'name', value #>> '{}'];
	END IF;
	is_found := value IS NOT NULL;
	IF spec ? 'fromjson' AND spec -> 'fromjson' <> 'false' AND value IS NOT NULL THEN
		SELECT j.content, j.repaired INTO value, import_path_value.repaired FROM stepadv_internal.import_path_json(value) j;
		IF jsonb_typeof(spec -> 'fromjson') = 'string' THEN
			value := jsonb_path_query_first(value, (spec ->> 'fromjson')::jsonpath, vars, true);
			is_found := value IS NOT NULL;
		END IF;
	END IF;
	IF spec ? 'match' AND value <> 'null' THEN
		value := stepadv_internal.import_path_match(value #>> '{}', spec);
		is_found := value IS NOT NULL;
	END IF;
	IF spec ? 'map' AND value <> 'null' THEN
		value := spec -> 'map' -> (value #>> '{}');
		IF value IS NULL THEN
			import_path_value.repaired := format('words that the map of %s does not have', spec ->> 'name');
		END IF;
	END IF;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_value(jsonb, jsonb, jsonb, jsonb) IS
'part of parse_by_paths: what a spec of import_path_spec finds from an item; joined: what import_path_joins gives; is_found: whether there was anything to be found; repaired: what is to be told of it';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_joins(item jsonb, specs jsonb, vars jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT jsonb_object_agg(s.v ->> 'name', j.found)
		FROM jsonb_array_elements(import_path_joins.specs) s(v) CROSS JOIN LATERAL (
			-- Of two elements with one key the first.
			SELECT coalesce(jsonb_object_agg(x.key #>> '{}', x.value ORDER BY x.i DESC), '{}') AS found
			FROM (SELECT e.i, jsonb_path_query_first(e.v, (s.v ->> 'key')::jsonpath, import_path_joins.vars, true) AS key,
					jsonb_path_query_first(e.v, coalesce(s.v ->> 'take', '$')::jsonpath, import_path_joins.vars, true) AS value
				FROM jsonb_path_query(import_path_joins.item, (s.v ->> 'in')::jsonpath, import_path_joins.vars, true) WITH ORDINALITY e(v, i)) x
			WHERE x.key <> 'null' AND x.value <> 'null') j
		WHERE s.v ? 'in');
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_joins(jsonb, jsonb, jsonb) IS
'part of parse_by_paths: of each spec with in, by its name, an object of the values that take finds in the elements, by what key finds in them; NULL: there is none';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_list(item jsonb, path jsonpath, vars jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	hits CONSTANT jsonb := jsonb_path_query_array(import_path_list.item, import_path_list.path, import_path_list.vars, true);
BEGIN
	RETURN CASE WHEN hits = '[]' THEN NULL WHEN jsonb_array_length(hits) = 1 AND jsonb_typeof(hits -> 0) IN ('array', 'null') THEN hits -> 0 ELSE hits END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_list(jsonb, jsonpath, jsonb) IS 'part of parse_by_paths: the list that a path finds, or a list of all that it finds; NULL: nothing';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_second(value jsonb) RETURNS numeric
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	words CONSTANT text := import_path_second.value #>> '{}';
	number numeric;
BEGIN
	IF jsonb_typeof(import_path_second.value) = 'number' OR words ~ '^[0-9]{9,19}([.][0-9]{1,9})?$' THEN
		number := words::numeric;
		RETURN number / CASE WHEN abs(number) < 1e11 THEN 1 WHEN abs(number) < 1e14 THEN 1e3 WHEN abs(number) < 1e17 THEN 1e6 ELSE 1e9 END;
	END IF;
	RETURN extract(epoch FROM words::timestamptz);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_second(jsonb) IS
'part of parse_by_paths: a time (a text, or a number of seconds, milliseconds, microseconds or nanoseconds since 1970, also as a text) in seconds since 1970; error where it is none';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_time(item jsonb, path jsonpath, vars jsonb, latest boolean) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	hits CONSTANT jsonb := jsonb_path_query_array(import_path_time.item, import_path_time.path, import_path_time.vars, true);
	result timestamptz;
	value jsonb;
BEGIN
	-- A text alone is what it is, right or wrong.
	IF jsonb_array_length(hits) <= 1 AND (hits -> 0 IS NULL OR jsonb_typeof(hits -> 0) <> 'number' AND hits ->> 0 !~ '^[0-9]{9,19}([.][0-9]{1,9})?$' OR hits -> 0 = 'null') THEN
		RETURN hits -> 0;
	END IF;
	FOR value IN SELECT e.v FROM jsonb_array_elements(hits) e(v) WHERE e.v <> 'null' LOOP
		result := CASE WHEN import_path_time.latest THEN greatest(result, to_timestamp(stepadv_internal.import_path_second(value)::float8))
			ELSE least(result, to_timestamp(stepadv_internal.import_path_second(value)::float8)) END;
	END LOOP;
	RETURN to_jsonb(result);
EXCEPTION WHEN data_exception THEN
	-- Whoever looks at the rollout says what is wrong with it.
	RETURN value;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_time(jsonb, jsonpath, jsonb, boolean) IS 'part of parse_by_paths: the earliest, or with latest the latest, of the times that a path finds; NULL: nothing';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_finish(given jsonb, OUT step jsonb, OUT repaired text)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	arguments record;
	name text;
BEGIN
	step := import_path_finish.given;
	IF step ? 'step_meta' THEN
		step := step - 'step_meta'::text || jsonb_build_object('meta', step -> 'step_meta');
	END IF;
	FOREACH name IN ARRAY '{observation,next_observation}'::text[] LOOP
		IF jsonb_typeof(step -> name) <> 'string' THEN
			step := step || jsonb_build_object(name, stepadv_internal.import_text(step -> name));
		END IF;
	END LOOP;
	IF jsonb_path_exists(step, 'strict $.response_mask[*] ? (@.type() == "number")', '{}', true) THEN
		step := jsonb_set(step, '{response_mask}', (SELECT jsonb_agg(CASE WHEN m.v IN ('0', '1') THEN to_jsonb(m.v = '1') ELSE m.v END ORDER BY m.i) FROM jsonb_array_elements(step -> 'response_mask') WITH ORDINALITY m(v, i)));
	END IF;
	IF jsonb_typeof(step -> 'args') = 'string' THEN
		SELECT a.args, a.repaired INTO arguments FROM stepadv_internal.import_arguments(step -> 'args') a;
		import_path_finish.repaired := arguments.repaired;
		IF arguments.args IS NULL AND NOT step ? 'action' THEN
			step := step || jsonb_build_object('action', step -> 'args');
		END IF;
		step := step || jsonb_build_object('args', arguments.args);
	END IF;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_finish(jsonb) IS 'part of parse_by_paths: what was found of a step as a step in our words, and what was repaired';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_item(item jsonb, names text[], paths jsonpath[], specs jsonb[], vars jsonb, joined jsonb, OUT given jsonb, OUT lacks text[], OUT repaired text[])
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	spec jsonb;
	value record;
BEGIN
	SELECT coalesce(jsonb_object_agg(k.name, k.value) FILTER (WHERE k.value <> 'null'), '{}'), array_agg(k.name) FILTER (WHERE k.value IS NULL) INTO given, lacks
	FROM (SELECT p.name, CASE WHEN p.name IN ('prompt_token_ids', 'response_token_ids', 'response_mask', 'rollout_logprobs') THEN stepadv_internal.import_path_list(import_path_item.item, p.path, import_path_item.vars)
			WHEN p.name IN ('started_at', 'ended_at') THEN stepadv_internal.import_path_time(import_path_item.item, p.path, import_path_item.vars, p.name = 'ended_at')
			ELSE jsonb_path_query_first(import_path_item.item, p.path, import_path_item.vars, true) END AS value
		FROM unnest(import_path_item.names, import_path_item.paths) p(name, path)) k;
	FOREACH spec IN ARRAY import_path_item.specs LOOP
		value := stepadv_internal.import_path_value(import_path_item.item, spec, import_path_item.vars, import_path_item.joined);
		IF NOT value.is_found THEN
			lacks := lacks || (spec ->> 'name');
		END IF;
		IF value.value <> 'null' THEN
			given := given || jsonb_build_object(spec ->> 'name', value.value);
		END IF;
		IF value.repaired IS NOT NULL THEN
			import_path_item.repaired := import_path_item.repaired || value.repaired;
		END IF;
	END LOOP;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_item(jsonb, text[], jsonpath[], jsonb[], jsonb, jsonb) IS
'part of parse_by_paths: of a rollout or step, by name, what plain paths and specs find; the names of which there is nothing; what is to be told';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_items(item jsonb, spec jsonb, otherwise text, vars jsonb) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	element jsonb;
BEGIN
	IF NOT coalesce(import_path_items.spec ? 'fromjson', false) OR import_path_items.spec -> 'fromjson' = 'false' THEN
		RETURN QUERY SELECT jsonb_path_query(import_path_items.item, coalesce(import_path_items.spec ->> 'path', import_path_items.otherwise)::jsonpath, import_path_items.vars, true);
		RETURN;
	END IF;
	FOR element IN SELECT j.content FROM jsonb_path_query(import_path_items.item, (import_path_items.spec ->> 'path')::jsonpath, import_path_items.vars, true) e(v), stepadv_internal.import_path_json(e.v) j LOOP
		IF element IS NULL THEN
			RAISE EXCEPTION 'a string that is no JSON where the path of % leads', import_path_items.spec ->> 'name' USING ERRCODE = 'data_exception';
		ELSIF jsonb_typeof(import_path_items.spec -> 'fromjson') = 'string' THEN
			RETURN QUERY SELECT jsonb_path_query(element, (import_path_items.spec ->> 'fromjson')::jsonpath, import_path_items.vars, true);
		ELSE
			RETURN NEXT element;
		END IF;
	END LOOP;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_items(jsonb, jsonb, text, jsonb) IS
'part of parse_by_paths: what the spec of rollouts or of steps finds, or without one the path otherwise; error where a string that should hold JSON does not';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_sort(steps jsonb[]) RETURNS jsonb[]
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_number CONSTANT boolean := (SELECT bool_and(jsonb_typeof(s.v -> 'order') = 'number' OR s.v ->> 'order' ~ '^-?[0-9]{1,30}([.][0-9]{1,30})?$') FROM unnest(import_path_sort.steps) s(v));
BEGIN
	IF is_number IS NULL THEN
		RETURN CASE WHEN import_path_sort.steps = '{}' THEN '{}'::jsonb[] END;
	END IF;
	RETURN (
		SELECT CASE WHEN count(x.place) = count(*) THEN array_agg(x.v - 'order'::text ORDER BY x.place, x.i) END
		FROM (SELECT s.v, s.i, CASE WHEN is_number THEN (s.v ->> 'order')::numeric WHEN s.v ? 'order' THEN stepadv_internal.import_path_second(s.v -> 'order') END AS place
			FROM unnest(import_path_sort.steps) WITH ORDINALITY s(v, i)) x);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_sort(jsonb[]) IS
'part of parse_by_paths: steps by their member order, a number or a time, and without it; those of one order as they stood; NULL: not all have one; error where it is neither number nor time';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_steps(item jsonb, specs jsonb, vars jsonb, OUT steps jsonb[], OUT lacks text[], OUT repaired text[])
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	joined CONSTANT jsonb := stepadv_internal.import_path_joins(import_path_steps.item, import_path_steps.specs -> 'step', import_path_steps.vars);
	names text[];
	paths jsonpath[];
	others jsonb[];
	step jsonb;
	seen record;
	own record;
BEGIN
	SELECT coalesce(array_agg(s.v ->> 'name') FILTER (WHERE s.is_plain), '{}'), coalesce(array_agg((s.v ->> 'path')::jsonpath) FILTER (WHERE s.is_plain), '{}'), coalesce(array_agg(s.v) FILTER (WHERE NOT s.is_plain), '{}'), array_agg(s.v ->> 'name')
	INTO names, paths, others, lacks
	FROM (SELECT e.v, NOT e.v ?| '{fromjson,match,map,in}'::text[] AS is_plain FROM jsonb_array_elements(import_path_steps.specs -> 'step') e(v)) s;
	steps := '{}';
	import_path_steps.repaired := '{}';
	FOR step IN SELECT i.v FROM stepadv_internal.import_path_items(import_path_steps.item, import_path_steps.specs #> '{steps,0}', '$.steps[*]'::text, import_path_steps.vars) i(v) LOOP
		seen := stepadv_internal.import_path_item(step, names, paths, others, import_path_steps.vars, joined);
		own := stepadv_internal.import_path_finish(seen.given);
		IF lacks <> '{}' THEN
			lacks := coalesce((SELECT array_agg(l.name) FROM unnest(lacks) l(name) WHERE l.name = ANY (seen.lacks)), '{}');
		END IF;
		IF seen.repaired IS NOT NULL OR own.repaired IS NOT NULL THEN
			import_path_steps.repaired := import_path_steps.repaired || coalesce(seen.repaired, '{}') || array_remove(ARRAY[own.repaired], NULL);
		END IF;
		steps := array_append(steps, own.step);
	END LOOP;
	IF jsonb_path_exists(import_path_steps.specs, '$.step[*] ? (@.name == "order")') THEN
		steps := stepadv_internal.import_path_sort(steps);
	END IF;
	-- A list without an element is there.
	IF steps = '{}' AND import_path_steps.specs -> 'steps' <> '[]'
		AND NOT jsonb_path_exists(import_path_steps.item, regexp_replace(import_path_steps.specs #>> '{steps,0,path}', '(.)\[\*\]$', '\1')::jsonpath, import_path_steps.vars, true)
	THEN
		lacks := 'steps'::text || lacks;
	END IF;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_steps(jsonb, jsonb, jsonb) IS
'part of parse_by_paths: the steps of a rollout, in their order (NULL: one has none), the names of which there is nothing in any of them, and what is to be told';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_rollout(item jsonb, specs jsonb, vars jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	joined CONSTANT jsonb := stepadv_internal.import_path_joins(import_path_rollout.item, import_path_rollout.specs -> 'rollout', import_path_rollout.vars);
	said record;
	own record;
	told text[];
BEGIN
	SELECT x.* INTO said
	FROM (SELECT coalesce(array_agg(s.v ->> 'name') FILTER (WHERE s.is_plain), '{}') AS names, coalesce(array_agg((s.v ->> 'path')::jsonpath) FILTER (WHERE s.is_plain), '{}') AS paths,
			coalesce(array_agg(s.v) FILTER (WHERE NOT s.is_plain), '{}') AS others
		FROM (SELECT e.v, NOT e.v ?| '{fromjson,match,map,in}'::text[] AS is_plain FROM jsonb_array_elements(import_path_rollout.specs -> 'rollout') e(v)) s) p,
		LATERAL stepadv_internal.import_path_item(import_path_rollout.item, p.names, p.paths, p.others, import_path_rollout.vars, joined) x;
	IF NOT said.given ?| '{task_id,group_id}' THEN
		RETURN jsonb_build_object('problem', stepadv_internal.import_path_unfound(import_path_rollout.item, import_path_rollout.specs,
			(SELECT e.v ->> 'name' FROM jsonb_array_elements(import_path_rollout.specs -> 'rollout') e(v) WHERE e.v ->> 'name' IN ('task_id', 'group_id') ORDER BY 1 LIMIT 1), import_path_rollout.vars));
	END IF;
	own := stepadv_internal.import_path_steps(import_path_rollout.item, import_path_rollout.specs, import_path_rollout.vars);
	IF own.steps IS NULL THEN
		RETURN jsonb_build_object('problem', CASE WHEN 'order' = ANY (own.lacks) THEN stepadv_internal.import_path_unfound(import_path_rollout.item, import_path_rollout.specs, 'order'::text, import_path_rollout.vars)
			ELSE 'order must be given for every step' END);
	END IF;
	told := coalesce(said.repaired, '{}') || coalesce(own.repaired, '{}') || ARRAY(SELECT 'without ' || l.name FROM unnest(coalesce(said.lacks, '{}') || coalesce(own.lacks, '{}')) l(name));
	RETURN jsonb_build_object('rollout_id', stepadv_internal.import_digest(import_path_rollout.item)) || said.given
		|| jsonb_build_object('steps', to_jsonb(own.steps), 'repaired', coalesce((SELECT jsonb_object_agg(t.what, t.n) FROM (SELECT u.what, count(*) AS n FROM unnest(told) u(what) GROUP BY u.what) t), '{}'));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_rollout(jsonb, jsonb, jsonb) IS
'part of parse_by_paths: a rollout in our words, by specs of import_path_specs; repaired tells also of paths that find nothing in it, as "without observation"';

CREATE OR REPLACE FUNCTION stepadv_internal.import_by_paths(document jsonb, specs jsonb, source text, n bigint) RETURNS jsonb[]
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- A part "." of the source is of those who make ids of it.
	vars CONSTANT jsonb := jsonb_build_object('document', import_by_paths.document, 'source', replace(import_by_paths.source, '/./', '/'), 'n', import_by_paths.n);
BEGIN
	RETURN (
		SELECT array_agg(stepadv_internal.import_path_rollout(i.v, import_by_paths.specs, vars) ORDER BY i.i)
		FROM stepadv_internal.import_path_items(import_by_paths.document, import_by_paths.specs #> '{rollouts,0}', '$'::text, vars) WITH ORDINALITY i(v, i));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_by_paths(jsonb, jsonb, text, bigint) IS 'part of parse_by_paths: the rollouts of a document by specs of import_path_specs; NULL: there is none';

CREATE OR REPLACE FUNCTION @extschema@.parse_by_paths(document jsonb, paths jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY SELECT r.v FROM unnest(stepadv_internal.import_by_paths(document, stepadv_internal.import_path_specs(coalesce(paths, 'null'::jsonb)), source, n)) r(v);
END
$$;

COMMENT ON FUNCTION @extschema@.parse_by_paths(jsonb, jsonb, text, bigint) IS
'the rollouts of a JSON document by SQL/JSON paths: rollouts (default $) finds them, steps (default $.steps[*]) their steps, and a path for each key of docs/import.md what it is, relative to the rollout or the step; in place of a path an object with path and fromjson (the string found holds JSON: true, or a path in it), match (of the text found, what a regular expression matches), map (words to values), or in, key and take (the element of the rollout whose key is what path finds, and what of it); $document, $source and $n are known in paths; error where paths are none; one jsonb per rollout, whose repaired says of which paths there is nothing in it';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_keys(item jsonb, path text, vars jsonb) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	shorter text := import_path_keys.path;
	hits jsonb;
BEGIN
	LOOP
		shorter := substring(shorter FROM '^(.*[^[:space:].\[])[[:space:]]*(?:[.][[:space:]]*(?:[^."\[\]?() ]+|"(?:[^"\\]|\\.)*")|\[[^]]*\])$');
		EXIT WHEN shorter IS NULL;
		BEGIN
			hits := jsonb_path_query_first(import_path_keys.item, shorter::jsonpath, import_path_keys.vars, true);
		EXCEPTION WHEN OTHERS THEN
			-- Not a path: what was cut off stood in brackets of its own.
			hits := NULL;
		END;
		IF hits IS NOT NULL THEN
			RETURN CASE WHEN shorter <> '$' THEN format('at %s there are: ', shorter) ELSE 'there are: ' END || stepadv_internal.import_keys(hits);
		END IF;
	END LOOP;
	RETURN 'there are: ' || stepadv_internal.import_keys(import_path_keys.item);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_keys(jsonb, text, jsonb) IS 'part of parse_by_paths: in words, which keys there are where a path goes on to nothing';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_unfound(document jsonb, specs jsonb, name text, vars jsonb) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	place CONSTANT text := CASE import_path_unfound.name WHEN 'rollouts' THEN 'rollouts' WHEN 'steps' THEN 'steps' ELSE (SELECT n.place FROM stepadv_internal.import_path_names() n WHERE n.name = import_path_unfound.name) END;
	spec CONSTANT jsonb := (SELECT e.v FROM jsonb_array_elements(import_path_unfound.specs -> place) e(v) WHERE e.v ->> 'name' = import_path_unfound.name);
	item jsonb := import_path_unfound.document;
	path text := spec ->> 'path';
BEGIN
	IF place = 'step' THEN
		item := (SELECT i.v FROM stepadv_internal.import_path_items(item, import_path_unfound.specs #> '{steps,0}', '$.steps[*]'::text, import_path_unfound.vars) i(v) LIMIT 1);
	END IF;
	IF spec ? 'in' AND jsonb_path_query_first(item, path::jsonpath, import_path_unfound.vars, true) IS NOT NULL THEN
		RETURN format('the path of %s, %s, finds nothing that stands in %s under %s', import_path_unfound.name, path, spec ->> 'in', spec ->> 'key');
	END IF;
	IF spec ? 'match' AND jsonb_path_query_first(item, path::jsonpath, import_path_unfound.vars, true) <> 'null' THEN
		RETURN format('match of the path of %s, %s, finds nothing in "%s"', import_path_unfound.name, spec ->> 'match', left(jsonb_path_query_first(item, path::jsonpath, import_path_unfound.vars, true) #>> '{}', 200));
	END IF;
	IF jsonb_typeof(spec -> 'fromjson') = 'string' AND jsonb_path_query_first(item, path::jsonpath, import_path_unfound.vars, true) IS NOT NULL THEN
		item := (SELECT j.content FROM stepadv_internal.import_path_json(jsonb_path_query_first(item, path::jsonpath, import_path_unfound.vars, true)) j);
		path := spec ->> 'fromjson';
	END IF;
	RETURN format('the path of %s, %s, finds nothing', import_path_unfound.name, path) || CASE WHEN item IS NULL THEN '' ELSE '; ' || stepadv_internal.import_path_keys(item, path, import_path_unfound.vars) END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_unfound(jsonb, jsonb, text, jsonb) IS
'part of parse_by_paths: in words, that the path of this name finds nothing, and which keys there are, in a document (where it is the path of rollouts) or a rollout';

CREATE OR REPLACE FUNCTION stepadv_internal.import_unquoted(value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF jsonb_typeof(value) = 'string' AND value #>> '{}' ~ '^\s*[[{"]' THEN
		RETURN coalesce((SELECT a.args FROM stepadv_internal.import_arguments(value) a), value);
	END IF;
	RETURN value;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_unquoted(jsonb) IS 'part of import_rollouts: a string that spells an object, a list or a string of JSON as that; anything else as it is';

CREATE OR REPLACE FUNCTION stepadv_internal.import_instant(value jsonb) RETURNS numeric
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	words CONSTANT text := nullif(btrim(value #>> '{}'), '');
	n numeric;
BEGIN
	IF words IS NULL OR jsonb_typeof(value) NOT IN ('string', 'number') OR words = '0' THEN
		RETURN NULL;
	ELSIF words !~ '^[0-9]{1,25}(\.[0-9]{1,20})?$' THEN
		-- Without a zone it is UTC, as those who leave it out mean it.
		RETURN trunc(extract(epoch FROM (words || CASE WHEN words ~ '(Z|z|:[0-9.]+ ?[-+][0-9]{2}(:?[0-9]{2})?| UTC)$' THEN '' ELSE 'Z' END)::timestamptz) * 1000000);
	END IF;
	n := words::numeric;
	-- Seconds, milliseconds, microseconds or nanoseconds: those of our time tell.
	RETURN trunc(CASE WHEN n < 100000000000 THEN n * 1000000 WHEN n < 100000000000000 THEN n * 1000 WHEN n < 100000000000000000 THEN n ELSE n / 1000 END);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_instant(jsonb) IS 'part of import_rollouts: microseconds since 1970 of a time that is a text or a number of seconds to nanoseconds; NULL for 0 and what is neither; error for a text that is no time';

CREATE OR REPLACE FUNCTION stepadv_internal.import_time(instant numeric) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN to_char(timestamp '1970-01-01' + import_time.instant::float8 * interval '1 microsecond', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_time(numeric) IS 'part of import_rollouts: microseconds since 1970 as a time in words, UTC';

CREATE OR REPLACE FUNCTION stepadv_internal.import_noted(value jsonb, role text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	v jsonb := stepadv_internal.import_unquoted(value);
BEGIN
	IF v IS NULL OR v = 'null' THEN
		RETURN '[]';
	ELSIF jsonb_typeof(v) = 'object' THEN
		v := CASE WHEN jsonb_typeof(v -> 'messages') = 'array' THEN v -> 'messages'
			WHEN jsonb_typeof(v #> '{choices,0,message}') = 'object' THEN v #> '{choices,0,message}'
			WHEN jsonb_typeof(v -> 'message') = 'object' THEN v -> 'message'
			ELSE v END;
	END IF;
	IF jsonb_typeof(v) = 'object' AND (v ? 'role' OR v ? 'tool_calls') THEN
		RETURN jsonb_build_array(jsonb_build_object('role', role) || v);
	ELSIF jsonb_typeof(v) = 'array' AND jsonb_path_exists(v, 'strict $[*] ? (exists(@.role))'::jsonpath, '{}'::jsonb, true) THEN
		RETURN jsonb_path_query_array(v, 'strict $[*] ? (@.type() == "object")'::jsonpath, '{}'::jsonb, true);
	ELSIF jsonb_typeof(v) = 'array' AND jsonb_path_exists(v, 'strict $[*] ? (exists(@.type) && (exists(@.text) || exists(@.input) || exists(@.content) || exists(@.thinking)))'::jsonpath, '{}'::jsonb, true) THEN
		RETURN jsonb_build_array(jsonb_build_object('role', role, 'content', v));
	END IF;
	-- What has a text alone is that text.
	RETURN jsonb_build_array(jsonb_build_object('role', role, 'content', coalesce(CASE WHEN jsonb_typeof(v) = 'object' THEN coalesce(v -> 'content', v -> 'text', v -> 'output', v -> 'input') END, v) #>> '{}'));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_noted(jsonb, text) IS
'part of import_rollouts: input or output of a model as messages, from a list of messages, an object with messages, choices or message, one message, a list of blocks, or a text, which is of the role given; NULL: none';

CREATE OR REPLACE FUNCTION stepadv_internal.import_news(messages jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(jsonb_agg(m.v ORDER BY m.i) FILTER (WHERE m.i > m.last), '[]')
		FROM (SELECT x.v, x.i, coalesce(max(x.i) FILTER (WHERE x.v ->> 'role' IN ('assistant', 'ai', 'gpt', 'model')) OVER (), 0) AS last
			FROM jsonb_array_elements(import_news.messages) WITH ORDINALITY x(v, i)) m);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_news(jsonb) IS 'part of import_rollouts: those of a list of messages that come after the last of the model''s';

CREATE OR REPLACE FUNCTION stepadv_internal.import_system(messages jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT string_agg(coalesce(stepadv_internal.import_text(coalesce(m.v -> 'content', m.v -> 'parts')), ''), E'\n' ORDER BY m.i)
		FROM jsonb_array_elements(import_system.messages) WITH ORDINALITY m(v, i) WHERE m.v ->> 'role' IN ('system', 'developer'));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_system(jsonb) IS 'part of import_rollouts: what messages of the system say';

CREATE OR REPLACE FUNCTION stepadv_internal.import_score(score jsonb) RETURNS float8
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN coalesce(stepadv_internal.import_inspect_score(score -> 'value'),
		CASE lower(coalesce(score ->> 'label', score ->> 'value')) WHEN 'correct' THEN 1 WHEN 'pass' THEN 1 WHEN 'passed' THEN 1 WHEN 'success' THEN 1 WHEN 'true' THEN 1 WHEN 'yes' THEN 1
			WHEN 'incorrect' THEN 0 WHEN 'fail' THEN 0 WHEN 'failed' THEN 0 WHEN 'failure' THEN 0 WHEN 'false' THEN 0 WHEN 'no' THEN 0 END);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_score(jsonb) IS 'part of import_rollouts: a score {value, label} as a number: its value, or 1 and 0 of a label or value that says correct, pass, success, or the contrary; else NULL';

CREATE OR REPLACE FUNCTION stepadv_internal.import_verdict(scores jsonb, OUT outcome float8, OUT success boolean)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- Of two with one name the later counts.
	SELECT (array_agg(s.value ORDER BY s.place, s.i DESC) FILTER (WHERE s.place <= 4 OR s.n = 1))[1],
		(array_agg(s.value >= 1 ORDER BY s.i DESC) FILTER (WHERE s.of_success AND s.value IN (0, 1)))[1]
	INTO outcome, success
	FROM (
		SELECT x.i, stepadv_internal.import_score(x.v) AS value, x.name IN ('success', 'resolved', 'solved', 'passed', 'correct', 'correctness') AS of_success,
			coalesce(array_position('{reward,outcome,return,score}'::text[], x.name), 9) AS place, max(x.rank) OVER () AS n
		FROM (SELECT e.v, e.i, lower(e.v ->> 'name') AS name, dense_rank() OVER (ORDER BY lower(e.v ->> 'name')) AS rank FROM jsonb_array_elements(import_verdict.scores) WITH ORDINALITY e(v, i)) x) s
	WHERE s.value IS NOT NULL;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_verdict(jsonb) IS
'part of import_rollouts: of the scores [{name, value, label}] of a trace the outcome: the one called reward, outcome, return or score, or the only one there is; success: the one called success, resolved, solved, passed, correct or correctness where it is 0 or 1; NULL: none says so';

CREATE OR REPLACE FUNCTION stepadv_internal.import_span_turns(spans jsonb) RETURNS TABLE (i bigint, turn bigint, kind text, v jsonb, left_out text)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	WITH RECURSIVE s AS MATERIALIZED (
		SELECT row_number() OVER (ORDER BY (u.v ->> 'at')::numeric NULLS LAST, u.i) AS i, u.v, u.v ->> 'span' AS id, u.v ->> 'parent' AS parent, u.v ->> 'kind' AS kind
		FROM (SELECT DISTINCT ON (coalesce(x.v ->> 'span', x.i::text)) x.v, x.i FROM jsonb_array_elements(spans) WITH ORDINALITY x(v, i) ORDER BY coalesce(x.v ->> 'span', x.i::text), x.i DESC) u
	), within AS (
		SELECT c.id, p.kind FROM s p JOIN s c ON c.parent = p.id WHERE p.kind IN ('tool', 'judge', 'llm')
		UNION
		SELECT c.id, w.kind FROM within w JOIN s c ON c.parent = w.id
	), told AS (
		SELECT s.i, s.kind, s.v, CASE
			WHEN s.kind = 'judge' OR EXISTS (SELECT FROM within w WHERE w.id = s.id AND w.kind = 'judge') THEN 'spans of judges'
			WHEN EXISTS (SELECT FROM within w WHERE w.id = s.id AND w.kind = 'tool') THEN 'spans within a call of a tool'
			WHEN s.kind = 'llm' AND EXISTS (SELECT FROM within w WHERE w.id = s.id AND w.kind = 'llm') THEN 'spans within a call of the model'
			WHEN s.kind = 'llm' AND s.v ->> 'failed' = 'true' AND coalesce(s.v -> 'said', '[]') = '[]' THEN 'calls of the model that failed'
			WHEN s.kind = 'other' THEN 'spans that are no step' END AS left_out
		FROM s
	)
	SELECT t.i, count(*) FILTER (WHERE t.kind = 'llm' AND t.left_out IS NULL) OVER (ORDER BY t.i), t.kind, t.v, t.left_out FROM told t;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_span_turns(jsonb) IS
'part of import_rollouts: spans in our words in the order of time, with the turn of the model they belong to; left_out: why one is no step, or NULL';

CREATE OR REPLACE FUNCTION stepadv_internal.import_span_items(spans jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		WITH t AS MATERIALIZED (SELECT * FROM stepadv_internal.import_span_turns(spans)),
		heard AS MATERIALIZED (
			SELECT t.turn, h.i AS j, h.v, row_number() OVER (PARTITION BY t.turn, h.v ->> 'kind' ORDER BY h.i) AS place
			FROM t CROSS JOIN LATERAL jsonb_array_elements(stepadv_internal.import_message_items(coalesce(t.v -> 'heard', '[]'))) WITH ORDINALITY h(v, i) WHERE t.kind = 'llm' AND t.left_out IS NULL
		), said AS MATERIALIZED (
			SELECT t.turn, m.i AS j, CASE WHEN m.v ->> 'kind' = 'call' THEN m.v || jsonb_build_object('id', coalesce(m.v ->> 'id', format('%s.%s', t.turn, m.i))) WHEN m.i > 1 THEN m.v - 'new' ELSE m.v END AS v,
				row_number() OVER (PARTITION BY t.turn, m.v ->> 'kind' ORDER BY m.i) AS place, row_number() OVER (PARTITION BY t.turn, m.v ->> 'kind', m.v ->> 'tool' ORDER BY m.i) AS rank
			FROM t CROSS JOIN LATERAL jsonb_array_elements(stepadv_internal.import_message_items(coalesce(t.v -> 'said', '[]'))) WITH ORDINALITY m(v, i) WHERE t.kind = 'llm' AND t.left_out IS NULL
		), tool AS MATERIALIZED (
			-- What is called like something that the model calls is that tool, whatever kind it is noted as.
			SELECT t.turn, t.i, t.v, row_number() OVER (PARTITION BY t.turn, t.v ->> 'name' ORDER BY t.i) AS rank
			FROM t WHERE t.kind = 'tool' AND t.left_out IS NULL
				OR t.kind = 'other' AND t.left_out = 'spans that are no step' AND EXISTS (SELECT FROM said c WHERE c.turn = t.turn AND c.v ->> 'kind' = 'call' AND c.v ->> 'tool' = t.v ->> 'name')
		), done AS MATERIALIZED (
			SELECT o.turn, o.i, o.v, c.j FROM tool o
			LEFT JOIN LATERAL (SELECT c.j FROM said c WHERE c.turn = o.turn AND c.v ->> 'kind' = 'call' AND (c.v ->> 'id' = o.v #>> '{call,id}' OR c.v ->> 'tool' = o.v ->> 'name' AND c.rank = o.rank)
				ORDER BY (c.v ->> 'id' = o.v #>> '{call,id}') IS TRUE DESC LIMIT 1) c ON true
		), answer AS MATERIALIZED (
			-- What the model heard of its call says more than what the tool gave.
			SELECT h.turn, h.j, h.v, c.j AS of_call FROM heard h
			LEFT JOIN LATERAL (SELECT c.j FROM said c WHERE c.turn = h.turn - 1 AND c.v ->> 'kind' = 'call' AND (c.v ->> 'id' = h.v ->> 'id' OR h.v ->> 'id' IS NULL AND c.place = h.place)
				ORDER BY (c.v ->> 'id' = h.v ->> 'id') IS TRUE DESC LIMIT 1) c ON true
			WHERE h.v ->> 'kind' = 'result'
		), item AS (
			SELECT h.turn, 0 AS part, h.j, h.v FROM heard h WHERE h.v ->> 'kind' IN ('see', 'dropped')
			UNION ALL SELECT a.turn, 0, a.j, jsonb_build_object('kind', 'see', 'text', a.v -> 'text') FROM answer a WHERE a.of_call IS NULL
			UNION ALL SELECT t.turn, 1, 0, '{"kind": "think", "new": true}' FROM t WHERE t.kind = 'llm' AND t.left_out IS NULL
			UNION ALL SELECT s.turn, 1, s.j, s.v - 'new' FROM said s WHERE s.v ->> 'kind' <> 'dropped'
			-- Whoever notes no words notes that there was a turn.
			UNION ALL SELECT t.turn, 1, 1, '{"kind": "say"}' FROM t WHERE t.kind = 'llm' AND t.left_out IS NULL
				AND NOT EXISTS (SELECT FROM said s WHERE s.turn = t.turn AND s.v ->> 'kind' IN ('say', 'call')) AND NOT EXISTS (SELECT FROM tool o WHERE o.turn = t.turn)
			UNION ALL SELECT d.turn, 2, d.i, jsonb_build_object('kind', 'call', 'id', 'span ' || coalesce(d.v ->> 'span', d.i::text), 'tool', d.v -> 'name', 'args', d.v #> '{call,args}') FROM done d WHERE d.j IS NULL
			-- What says nothing and did not fail went well.
			UNION ALL SELECT d.turn, 3, d.i, jsonb_strip_nulls(jsonb_build_object('kind', 'result', 'id', 'span ' || coalesce(d.v ->> 'span', d.i::text), 'text', coalesce(d.v #> '{call,text}', d.v -> 'message'),
				'ok', CASE WHEN d.v ->> 'failed' = 'true' THEN false WHEN d.v #>> '{call,text}' IS NULL THEN true END)) FROM done d WHERE d.j IS NULL
			UNION ALL SELECT s.turn, 3, s.j, jsonb_strip_nulls(jsonb_build_object('kind', 'result', 'id', s.v -> 'id', 'text', coalesce(a.v -> 'text', d.v #> '{call,text}', d.v -> 'message'),
				'ok', CASE WHEN d.v ->> 'failed' = 'true' THEN 'false' WHEN coalesce(a.v ->> 'text', d.v #>> '{call,text}') IS NULL THEN 'true' ELSE a.v -> 'ok' END))
				FROM said s LEFT JOIN answer a ON a.turn = s.turn + 1 AND a.of_call = s.j LEFT JOIN done d ON d.turn = s.turn AND d.j = s.j
				WHERE s.v ->> 'kind' = 'call' AND (a.j IS NOT NULL OR d.i IS NOT NULL)
			UNION ALL SELECT t.turn, 9, t.i, jsonb_build_object('kind', 'dropped', 'text', t.left_out) FROM t WHERE t.left_out IS NOT NULL AND NOT EXISTS (SELECT FROM tool o WHERE o.i = t.i)
		)
		SELECT coalesce(jsonb_agg(x.v ORDER BY x.turn, x.part, x.j), '[]') FROM item x);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_span_items(jsonb) IS
'part of import_rollouts: spans of one trace as items of import_steps: each call of the model is a turn, a span of a tool is the call with its id, or else the next one of its name, and a call of its own where the model''s are not noted';

CREATE OR REPLACE FUNCTION stepadv_internal.import_span_notes(spans jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(jsonb_agg(x.note ORDER BY x.turn), '[]')
		FROM (
			SELECT t.turn, jsonb_strip_nulls(jsonb_build_object(
				'meta', (array_agg(jsonb_strip_nulls(jsonb_build_object('span_id', t.v -> 'span', 'started_at', t.v -> 'started_at', 'ended_at', t.v -> 'ended_at', 'input_tokens', t.v -> 'input_tokens',
					'output_tokens', t.v -> 'output_tokens', 'model', t.v -> 'model', 'agent', t.v -> 'agent', 'scores', nullif(t.v -> 'scores', '[]')))) FILTER (WHERE t.kind = 'llm'))[1],
				'reward', (SELECT sum(stepadv_internal.import_score(s.v)) FROM jsonb_array_elements(jsonb_path_query_array(jsonb_agg(t.v), '$[*] ? (exists(@.parent)).scores[*]'::jsonpath)) s(v) WHERE lower(s.v ->> 'name') IN ('reward', 'step_reward')))) AS note
			FROM stepadv_internal.import_span_turns(spans) t
			WHERE t.left_out IS NULL
			GROUP BY t.turn) x);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_span_notes(jsonb) IS 'part of import_rollouts: for each turn of import_span_items, in order, what goes to the metadata of its steps, and the reward of the turn: the sum of its spans'' scores called reward or step_reward (those of a root are the rollout''s)';

CREATE OR REPLACE FUNCTION stepadv_internal.import_span_says(spans jsonb, key text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT x.v -> import_span_says.key FROM jsonb_array_elements(spans) WITH ORDINALITY x(v, i)
		WHERE coalesce(x.v ->> import_span_says.key, '') <> '' AND x.v ->> 'kind' IS DISTINCT FROM 'judge'
		ORDER BY x.v ? 'parent', (x.v ->> 'at')::numeric NULLS LAST, x.i LIMIT 1);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_span_says(jsonb, text) IS 'part of import_rollouts: what the first of the spans that says something says under a key; those without a parent come first';

CREATE OR REPLACE FUNCTION stepadv_internal.import_trace(spans jsonb, source text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- Of the whole: what those say that have no parent here.
	roots CONSTANT jsonb := jsonb_path_query_array(spans, '$[*] ? (!exists(@.parent))'::jsonpath);
	scores CONSTANT jsonb := jsonb_path_query_array(roots, '$[*].scores[*]'::jsonpath) || jsonb_path_query_array(spans, '$[*] ? (@.kind == "judge").scores[*]'::jsonpath);
	notes CONSTANT jsonb := stepadv_internal.import_span_notes(spans);
	about jsonb := '{}';
	-- A trace may be spread over files of which this is one.
	is_part CONSTANT boolean := NOT jsonb_path_exists(roots, '$[*] ? (!exists(@.orphan))'::jsonpath);
	task CONSTANT jsonb := coalesce(stepadv_internal.import_span_says(spans, 'task'::text), stepadv_internal.import_span_says(spans, 'session'::text));
	verdict record;
	made record;
	steps jsonb;
	of_group jsonb;
BEGIN
	SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}') INTO about
	FROM (SELECT DISTINCT ON (e.key) e.key, e.value FROM jsonb_array_elements(spans) WITH ORDINALITY x(v, i), jsonb_each(x.v -> 'about') e ORDER BY e.key, x.v ? 'parent', (x.v ->> 'at')::numeric NULLS LAST, x.i) e;
	verdict := stepadv_internal.import_verdict(scores);
	made := stepadv_internal.import_steps(stepadv_internal.import_span_items(spans));
	SELECT coalesce(jsonb_agg(s.v || jsonb_build_object('meta', coalesce(nullif(s.v -> 'meta', 'null'), '{}') || coalesce(s.note -> 'meta', '{}'))
			-- A turn's reward is known when all of it is done.
			|| CASE WHEN s.is_last AND s.note ? 'reward' THEN jsonb_build_object('reward', s.note -> 'reward') ELSE '{}' END ORDER BY s.i), '[]') INTO steps
	FROM (SELECT e.v, e.i, notes -> (e.v ->> 'turn')::integer AS note, lead(e.v -> 'turn') OVER (ORDER BY e.i) IS DISTINCT FROM e.v -> 'turn' AS is_last
		FROM jsonb_array_elements(made.steps) WITH ORDINALITY e(v, i)) s;
	of_group := coalesce(task, to_jsonb(stepadv_internal.import_digest(coalesce(stepadv_internal.import_span_says(spans, 'asked'::text), nullif(steps #> '{0,observation}', 'null')))));
	RETURN jsonb_strip_nulls(jsonb_build_object('outcome', verdict.outcome, 'success', verdict.success, 'model', stepadv_internal.import_span_says(spans, 'model'::text),
			'started_at', (SELECT min(e.v #>> '{}') FROM jsonb_array_elements(jsonb_path_query_array(spans, '$[*].started_at'::jsonpath)) e(v)),
			'ended_at', (SELECT max(e.v #>> '{}') FROM jsonb_array_elements(jsonb_path_query_array(spans, '$[*].ended_at'::jsonpath)) e(v))))
		|| stepadv_internal.import_about(about)
		|| CASE WHEN of_group IS NULL THEN jsonb_build_object('problem', format('no span of trace %s says its task, its session or what was asked%s', spans #>> '{0,trace}',
			CASE WHEN is_part THEN ', and its first span is not here: cat FILES | stepadv-import - takes files that share traces for one' END)) ELSE '{}' END
		|| jsonb_build_object('group_id', of_group,
			'rollout_id', coalesce(spans #> '{0,trace}', to_jsonb(stepadv_internal.import_digest(spans))),
			'meta', coalesce(stepadv_internal.import_span_says(roots, 'more'::text), '{}') || jsonb_strip_nulls(jsonb_build_object('source', import_trace.source, 'name', stepadv_internal.import_span_says(roots, 'name'::text),
				'session', stepadv_internal.import_span_says(spans, 'session'::text), 'system_prompt', stepadv_internal.import_span_says(spans, 'system'::text), 'error', jsonb_path_query_first(roots, '$[*] ? (@.failed == true).message'::jsonpath),
				'scores', (SELECT jsonb_object_agg(s.v ->> 'name', coalesce(nullif(s.v -> 'value', 'null'), s.v -> 'label')) FROM jsonb_array_elements(scores) s(v) WHERE s.v ->> 'name' IS NOT NULL),
				'input_tokens', (SELECT sum((n.v #>> '{meta,input_tokens}')::numeric) FROM jsonb_array_elements(notes) n(v)), 'output_tokens', (SELECT sum((n.v #>> '{meta,output_tokens}')::numeric) FROM jsonb_array_elements(notes) n(v)))),
			'steps', steps, 'dropped', made.dropped, 'repaired', made.repaired || CASE WHEN is_part THEN '{"traces without their first span": 1}' ELSE '{}' END::jsonb);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_trace(jsonb, text) IS
'part of import_rollouts: the rollout of a trace, a list of spans in our words: id the trace''s, group its task, else its session, else a hash of what was asked first; outcome and success by import_verdict of the scores of those without a parent and of judges; one jsonb as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_place_scores(spans jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		WITH s AS MATERIALIZED (SELECT x.v, x.i, x.v ->> 'kind' = 'score' AS is_score FROM jsonb_array_elements(spans) WITH ORDINALITY x(v, i)),
		root AS (SELECT s.i FROM s WHERE NOT s.is_score ORDER BY s.v ? 'parent', (s.v ->> 'at')::numeric NULLS LAST, s.i LIMIT 1),
		placed AS (
			SELECT coalesce((SELECT o.i FROM s o WHERE NOT o.is_score AND o.v ->> 'span' = s.v ->> 'of' LIMIT 1), (SELECT r.i FROM root r)) AS of, jsonb_agg(e.v ORDER BY s.i) AS scores
			FROM s CROSS JOIN LATERAL jsonb_array_elements(s.v -> 'scores') e(v) WHERE s.is_score GROUP BY 1
		)
		SELECT jsonb_agg(CASE WHEN p.of IS NULL THEN s.v ELSE s.v || jsonb_build_object('scores', coalesce(s.v -> 'scores', '[]') || p.scores) END ORDER BY s.i)
		FROM s LEFT JOIN placed p ON p.of = s.i WHERE NOT s.is_score);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_place_scores(jsonb) IS 'part of import_rollouts: the spans of a trace without those of the kind score, whose scores go to the span they are of, or to the root; NULL: there are only scores';

CREATE OR REPLACE FUNCTION stepadv_internal.import_traces(spans jsonb[], source text) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT CASE WHEN p.spans IS NULL THEN jsonb_build_object('dropped', jsonb_build_object('scores of traces that are elsewhere', jsonb_array_length(t.spans))) ELSE stepadv_internal.import_trace(p.spans, import_traces.source) END
	FROM (SELECT jsonb_agg(CASE WHEN s.v ->> 'parent' IS NULL THEN s.v - 'parent' WHEN p.is_there IS NULL THEN s.v - 'parent' || '{"orphan": true}' ELSE s.v END ORDER BY s.i) AS spans, min(s.i) AS i
		FROM unnest(import_traces.spans) WITH ORDINALITY s(v, i)
		-- Whose parent is somewhere else is a root here.
		LEFT JOIN (SELECT DISTINCT x.v ->> 'trace' AS trace, x.v ->> 'span' AS span, true AS is_there FROM unnest(import_traces.spans) x(v)) p ON p.trace = s.v ->> 'trace' AND p.span = s.v ->> 'parent'
		GROUP BY s.v ->> 'trace') t
	CROSS JOIN LATERAL (SELECT CASE WHEN t.spans @> '[{"kind": "score"}]' THEN stepadv_internal.import_place_scores(t.spans) ELSE t.spans END AS spans) p
	ORDER BY t.i;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_traces(jsonb[], text) IS 'part of import_rollouts: spans in our words, of any number of traces, as rollouts, one for each trace';

CREATE OR REPLACE FUNCTION stepadv_internal.import_spans(document jsonb, format text) RETURNS jsonb[]
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	spans jsonb[];
BEGIN
	IF jsonb_typeof(document -> 'stepadv_spans') = 'array' THEN
		RETURN ARRAY(SELECT s.v FROM jsonb_array_elements(document -> 'stepadv_spans') WITH ORDINALITY s(v, i) ORDER BY s.i);
	ELSIF format = 'otel' THEN
		SELECT array_agg(s.v) INTO spans FROM stepadv_internal.import_otel_spans(document) s(v);
	ELSE
		SELECT array_agg(s.v) INTO spans FROM stepadv_internal.import_langfuse_spans(document) s(v);
	END IF;
	RETURN spans;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_spans(jsonb, text) IS 'part of import_rollouts: the spans in our words of a document of the format otel or langfuse; NULL: it has none';

CREATE OR REPLACE FUNCTION stepadv_internal.import_traces_of(document jsonb, format text, source text) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF document ? 'stepadv_problem' THEN
		RETURN NEXT jsonb_build_object('problem', document -> 'stepadv_problem');
	END IF;
	RETURN QUERY SELECT t.v FROM stepadv_internal.import_traces(stepadv_internal.import_spans(document, format), source) t(v);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_traces_of(jsonb, text, text) IS 'part of import_rollouts: the rollouts of a document of the format otel or langfuse, after what was wrong with its lines';

CREATE OR REPLACE FUNCTION stepadv_internal.import_line_spans(document text, format text, is_latin1 boolean, OUT spans jsonb[], OUT problem text)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	detail text;
BEGIN
	spans := stepadv_internal.import_spans((SELECT t.content FROM stepadv_internal.json_of_text(document, is_latin1) t), format);
	IF spans IS NULL THEN
		problem := 'there is no span in the document';
	END IF;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
	GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	problem := stepadv_internal.import_words_of_error(SQLSTATE, problem, detail);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_line_spans(text, text, boolean) IS 'part of import_rollouts: the spans of a line of a file, or why there is none';

CREATE OR REPLACE FUNCTION stepadv_internal.import_gather(format text, is_latin1 boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	ALTER TABLE pg_temp.stepadv_file RENAME TO stepadv_file_lines;
	CREATE TEMP TABLE stepadv_file ON COMMIT DROP AS
	WITH line AS MATERIALIZED (
		SELECT d.n, d.source, l.spans, l.problem FROM pg_temp.stepadv_file_lines d CROSS JOIN LATERAL stepadv_internal.import_line_spans(d.document, import_gather.format, import_gather.is_latin1) l
		WHERE ascii(left(d.document, 1)) > 32 OR btrim(d.document, E' \t\r\n') <> ''
	)
	SELECT min(l.n) AS n, jsonb_build_object('stepadv_spans', jsonb_agg(s.v ORDER BY l.n, s.i)) AS document, min(l.source) AS source
	FROM line l CROSS JOIN LATERAL unnest(l.spans) WITH ORDINALITY s(v, i) GROUP BY s.v ->> 'trace'
	UNION ALL
	SELECT l.n, jsonb_build_object('stepadv_problem', l.problem), l.source FROM line l WHERE l.problem IS NOT NULL;
	DROP TABLE pg_temp.stepadv_file_lines;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_gather(text, boolean) IS
'part of import_rollouts: makes of pg_temp.stepadv_file, a line of a file each, one document (jsonb) for each trace that its lines tell of, numbered by the first; lines without a span say so';

CREATE OR REPLACE FUNCTION stepadv_internal.import_tokens(record jsonb) RETURNS jsonb
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_tokens';

COMMENT ON FUNCTION stepadv_internal.import_tokens(jsonb) IS
'part of import_rollouts: prompt_token_ids, response_token_ids, response_mask and rollout_logprobs of a record, by the names that trainers use (prompt_ids, response_ids, completion_ids, rollout_log_probs, …)';

CREATE OR REPLACE FUNCTION @extschema@.parse_agent_r1(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
	steps jsonb;
BEGIN
	IF jsonb_typeof(document -> 'steps') IS DISTINCT FROM 'array' OR jsonb_path_exists(document, '$.steps[*] ? (@.type() != "object")') THEN
		RETURN NEXT jsonb_build_object('problem', 'there is no list steps');
		RETURN;
	END IF;
	SELECT coalesce(jsonb_agg(stepadv_internal.import_tokens(s.v) || jsonb_strip_nulls(jsonb_build_object('step_no', s.v -> 'step_index', 'turn', s.v -> 'step_index', 'observation', s.v -> 'input',
			'action', s.v -> 'output', 'reward', s.v -> 'score',
			'meta', nullif(s.v - '{step_index,input,output,gts,score,prompt_ids,response_ids,response_mask,rollout_log_probs}'::text[], '{}'))) ORDER BY s.i), '[]') INTO steps
	FROM jsonb_array_elements(document -> 'steps') WITH ORDINALITY s(v, i);
	RETURN NEXT jsonb_strip_nulls(jsonb_build_object('outcome', document -> 'score', 'policy_version', document -> 'step', 'policy_step', document -> 'step'))
		|| jsonb_build_object('task_id', stepadv_internal.import_digest(document -> 'input'),
			'group_id', concat('step' || (document ->> 'step') || '/', coalesce(document ->> 'uid', stepadv_internal.import_digest(document -> 'input'))),
			'rollout_id', document -> 'trajectory_uid',
			'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_agent_r1.source)) || (document - '{trajectory_uid,input,output,score,step,num_steps,steps}'::text[]),
			'steps', steps);
END
$$;

COMMENT ON FUNCTION @extschema@.parse_agent_r1(jsonb, text, bigint) IS
'the rollout of a line of Agent-R1''s dumps (trajectory_uid, input, output, score, step, steps): its steps have step_index, input, output and score; its task is the first input; one jsonb as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.write_lines(steps regclass, rollouts regclass, keys text[], otherwise text[], lacking text[],
	run_id text, policy_version text, policy_step bigint, is_latin1 boolean, query text)
RETURNS TABLE (keys_given text[], rollout_id text, task_id text, group_id text, of_run text, of_version text, of_policy_step bigint, tags jsonb, outcome float8, success boolean, truncated boolean,
	model text, channel text, curation text, started_at timestamptz, ended_at timestamptz, metadata jsonb, n_read bigint, n_steps bigint, dropped jsonb, repaired jsonb, n_actions bigint, n_states bigint, n_tokens bigint)
LANGUAGE c PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_write_lines';

COMMENT ON FUNCTION stepadv_internal.write_lines(regclass, regclass, text[], text[], text[], text, text, bigint, boolean, text) IS
'part of load_rollouts: writes the steps of the lines that the query gives (n bigint, line text) to the canonical table of steps, and gives their rollouts, which the caller must write: keys_given are the values of the group''s columns keys, or of otherwise where a line does not say; lacking: of which columns the tables have none; error (SA002) where anything must be looked at one by one';

CREATE OR REPLACE FUNCTION stepadv_internal.write_documents(steps regclass, rollouts regclass, keys text[], otherwise text[], lacking text[],
	run_id text, policy_version text, policy_step bigint, group_prefix text, success_at float8, query text)
RETURNS TABLE (keys_given text[], rollout_id text, task_id text, group_id text, of_run text, of_version text, of_policy_step bigint, tags jsonb, outcome float8, success boolean, truncated boolean,
	model text, channel text, curation text, started_at timestamptz, ended_at timestamptz, metadata jsonb, n_read bigint, n_steps bigint, dropped jsonb, repaired jsonb, n_actions bigint, n_states bigint, n_tokens bigint)
LANGUAGE c PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_write_documents';

COMMENT ON FUNCTION stepadv_internal.write_documents(regclass, regclass, text[], text[], text[], text, text, bigint, text, float8, text) IS
'part of import_rollouts: as write_lines, for a query that gives rollouts in our words, and whether each is the first of its document (v jsonb, is_first boolean); dropped and repaired: what is to be told of it';

CREATE OR REPLACE FUNCTION stepadv_internal.load_direct_query(schema text, function text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- None is known: the INSERT tells where that is not so.
	RETURN format($q$
		CREATE TEMP TABLE stepadv_rollouts ON COMMIT DROP AS
		SELECT %3$s AS of_group, %2$s, x.rollout_id, x.of_run AS run_id, x.of_version AS policy_version, x.of_policy_step AS policy_step, x.task_id, x.group_id, x.tags,
			x.outcome, x.success, x.truncated, x.model, x.channel, x.curation, x.started_at, x.ended_at, x.metadata, x.n_read, x.n_steps, x.dropped, x.repaired, x.n_actions, x.n_states, x.n_tokens,
			false AS is_known, NULL::float8 AS known_outcome, NULL::boolean AS known_success
		FROM stepadv_internal.%1$s($1, $2, $3, $4, $5, $6, $7, $8, %4$s) x
		$q$, load_direct_query.function,
		stepadv_internal.load_key_list(load_direct_query.schema, 'x.keys_given[%2$s] AS k%2$s'::text, ', '::text),
		(SELECT CASE WHEN cardinality(s.keys) = 1 THEN 'x.keys_given[1]'
			ELSE stepadv_internal.load_key_list(load_direct_query.schema, 'quote_literal(x.keys_given[%2$s])'::text, ' || '','' || '::text) END FROM stepadv_internal.load_shape(load_direct_query.schema) s),
		CASE load_direct_query.function WHEN 'write_lines' THEN '$9, $12' ELSE '$10, $11, $12' END);
END
$$;

COMMENT ON FUNCTION stepadv_internal.load_direct_query(text, text) IS
'part of load_rollouts: the statement that writes steps with write_lines or write_documents and makes pg_temp.stepadv_rollouts of their rollouts';

CREATE OR REPLACE FUNCTION stepadv_internal.load_tell_written(schema text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF to_regclass('pg_temp.stepadv_told') IS NOT NULL THEN
		EXECUTE format($q$
			CREATE TEMP TABLE stepadv_now ON COMMIT DROP AS
			SELECT hash_record_extended(ROW(%s, r.rollout_id), 0) AS rollout, (r.outcome IS NOT NULL OR r.success IS NOT NULL)::integer AS judged, (r.started_at IS NOT NULL)::integer AS timed,
				(r.policy_version <> '')::integer AS of_version, r.started_at AS first_at, coalesce(r.ended_at, r.started_at) AS last_at,
				r.n_steps AS steps, r.n_actions AS with_action, r.n_states AS with_state, r.n_tokens AS with_tokens
			FROM pg_temp.stepadv_rollouts r
			$q$, stepadv_internal.load_key_list(load_tell_written.schema, 'r.k%2$s'::text, ', '::text));
		PERFORM stepadv_internal.load_tell_rollouts();
	END IF;
END
$$;

COMMENT ON FUNCTION stepadv_internal.load_tell_written(text) IS
'part of load_rollouts: adds to pg_temp.stepadv_told, if there is one, what write_lines or write_documents counted of the rollouts in pg_temp.stepadv_rollouts';

CREATE OR REPLACE FUNCTION stepadv_internal.load_directly(schema text, function text, query text, n_expected bigint, run_id text, policy_version text, policy_step bigint, is_latin1 boolean, group_prefix text, success_at float8,
	OUT n_read bigint, OUT stepless_rollouts bigint, OUT unjudged_rollouts bigint, OUT groups bigint, OUT rollouts_added bigint, OUT steps_added bigint, OUT dropped jsonb, OUT repaired jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- In the order of the file.
SET synchronize_seqscans = off
SET work_mem = '32MB'
SET jit = off
AS $$
DECLARE
	shape CONSTANT record := stepadv_internal.load_shape(load_directly.schema);
	waits CONSTANT boolean := stepadv_internal.load_is_distributed(load_directly.schema);
	overtaken boolean;
BEGIN
	PERFORM stepadv_internal.begin_work('wrote'::text, 'steps'::text, ''::text, load_directly.n_expected);
	EXECUTE stepadv_internal.load_direct_query(load_directly.schema, load_directly.function)
		USING CASE WHEN waits THEN stepadv_internal.load_make_waiting(load_directly.schema) ELSE format('%I.steps', load_directly.schema)::regclass END, format('%I.rollouts', load_directly.schema)::regclass, shape.keys,
			stepadv_internal.load_key_otherwise(load_directly.schema, load_directly.run_id, load_directly.policy_version), shape.lacking,
			load_directly.run_id, load_directly.policy_version, load_directly.policy_step, load_directly.is_latin1, load_directly.group_prefix, load_directly.success_at, load_directly.query;
	PERFORM stepadv_internal.end_work();
	SELECT sum(r.n_read), count(*) FILTER (WHERE r.n_steps = 0), count(*) FILTER (WHERE r.outcome IS NULL AND r.success IS NULL), sum(r.n_steps),
		stepadv_internal.import_counts(array_agg(r.dropped) FILTER (WHERE r.dropped IS NOT NULL)), stepadv_internal.import_counts(array_agg(r.repaired) FILTER (WHERE r.repaired IS NOT NULL))
	INTO n_read, stepless_rollouts, unjudged_rollouts, steps_added, load_directly.dropped, load_directly.repaired FROM pg_temp.stepadv_rollouts r;
	IF waits THEN
		-- Before anything is written: what a worker refuses takes its connection along.
		EXECUTE stepadv_internal.load_known_query(load_directly.schema, 'rollouts'::text, 'pg_temp.stepadv_rollouts'::text, 'count(*) > 0'::text) INTO overtaken;
		IF overtaken THEN
			RAISE EXCEPTION 'the tables have some of the rollouts' USING ERRCODE = 'SA002';
		END IF;
	END IF;
	SELECT w.groups, w.rollouts_added, w.overtaken INTO load_directly.groups, rollouts_added, overtaken FROM stepadv_internal.load_write_rollouts(load_directly.schema) w;
	IF overtaken OR n_read IS NULL THEN
		RAISE EXCEPTION 'the table has some of the rollouts' USING ERRCODE = 'SA002';
	END IF;
	IF waits THEN
		PERFORM stepadv_internal.load_move_steps(load_directly.schema);
	END IF;
	PERFORM stepadv_internal.load_tell_written(load_directly.schema);
	DROP TABLE pg_temp.stepadv_rollouts;
EXCEPTION WHEN OTHERS THEN
	-- Whatever it was, the long way says it in the user's words, or finds nothing
	-- wrong with it.
	PERFORM stepadv_internal.end_work();
	n_read := NULL;
END
$$;

COMMENT ON FUNCTION stepadv_internal.load_directly(text, text, text, bigint, text, text, bigint, boolean, text, float8) IS
'part of load_rollouts: reads what the query gives and writes it to the schema''s tables, and counts; function: write_lines for lines (n bigint, line text), write_documents for rollouts in our words (v jsonb, is_first boolean); n_read NULL: nothing has happened, as there is something to say, or a trigger, row security or the like leaves it to an INSERT';

CREATE OR REPLACE FUNCTION stepadv_internal.import_otlp_value(value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF value ? 'intValue' OR value ? 'int_value' THEN
		-- 64 bits are a string in JSON.
		RETURN CASE WHEN coalesce(value ->> 'intValue', value ->> 'int_value') ~ '^-?[0-9]{1,20}$' THEN to_jsonb(coalesce(value ->> 'intValue', value ->> 'int_value')::numeric) END;
	ELSIF value ? 'arrayValue' OR value ? 'array_value' THEN
		RETURN (SELECT coalesce(jsonb_agg(stepadv_internal.import_otlp_value(e.v) ORDER BY e.i), '[]') FROM jsonb_array_elements(coalesce(value #> '{arrayValue,values}', value #> '{array_value,values}', '[]')) WITH ORDINALITY e(v, i));
	ELSIF value ? 'kvlistValue' OR value ? 'kvlist_value' THEN
		RETURN (SELECT coalesce(jsonb_object_agg(e.v ->> 'key', stepadv_internal.import_otlp_value(e.v -> 'value')), '{}')
			FROM jsonb_array_elements(coalesce(value #> '{kvlistValue,values}', value #> '{kvlist_value,values}', '[]')) e(v) WHERE e.v ->> 'key' IS NOT NULL);
	END IF;
	RETURN coalesce(value -> 'stringValue', value -> 'boolValue', value -> 'doubleValue', value -> 'bytesValue', value -> 'string_value', value -> 'bool_value', value -> 'double_value', value -> 'bytes_value');
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_otlp_value(jsonb) IS 'part of import_rollouts: a value of OTLP JSON ({"stringValue": …}) as JSON';

CREATE OR REPLACE FUNCTION stepadv_internal.import_attributes(attributes jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	given jsonb := attributes;
BEGIN
	IF jsonb_typeof(given) = 'array' THEN
		SELECT coalesce(jsonb_object_agg(e.v ->> 'key', stepadv_internal.import_otlp_value(e.v -> 'value')), '{}') INTO given FROM jsonb_array_elements(attributes) e(v) WHERE e.v ->> 'key' IS NOT NULL;
	ELSIF jsonb_typeof(given) IS DISTINCT FROM 'object' THEN
		RETURN '{}';
	END IF;
	IF NOT jsonb_path_exists(given, '$.* ? (@.type() == "object" || @.type() == "array")'::jsonpath) THEN
		RETURN given;
	END IF;
	RETURN (
		WITH RECURSIVE a AS (
			SELECT e.key, e.value FROM jsonb_each(given) e
			UNION ALL
			SELECT a.key || '.' || c.key, c.value
			FROM a CROSS JOIN LATERAL (SELECT e.key, e.value FROM jsonb_each(CASE jsonb_typeof(a.value) WHEN 'object' THEN a.value ELSE '{}' END) e
				UNION ALL SELECT (l.i - 1)::text, l.v FROM jsonb_array_elements(CASE jsonb_typeof(a.value) WHEN 'array' THEN a.value ELSE '[]' END) WITH ORDINALITY l(v, i)) c
			WHERE jsonb_typeof(a.value) IN ('object', 'array') AND a.key !~ '^(gen_ai\.(input\.messages|output\.messages|system_instructions|tool\..*)|(input|output)\.value|tool\.parameters)$'
		)
		SELECT coalesce(jsonb_object_agg(a.key, a.value), '{}') FROM a
		WHERE jsonb_typeof(a.value) NOT IN ('object', 'array') OR a.key ~ '^(gen_ai\.(input\.messages|output\.messages|system_instructions|tool\..*)|(input|output)\.value|tool\.parameters)$');
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_attributes(jsonb) IS 'part of import_rollouts: attributes of a span, a list of OTLP or an object, as one object with names like llm.output_messages.0.message.role';

CREATE OR REPLACE FUNCTION stepadv_internal.import_numbered_messages(attributes jsonb, prefix text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		WITH a AS MATERIALIZED (
			SELECT x.m[1]::integer AS i, x.m[2] AS name, e.value
			FROM jsonb_each(attributes) e CROSS JOIN LATERAL (SELECT regexp_match(substr(e.key, length(prefix) + 2), '^([0-9]{1,9})\.(?:message\.)?(.*)$') AS m) x
			WHERE starts_with(e.key, prefix || '.') AND x.m IS NOT NULL
		), call AS (
			SELECT c.i, c.m[1]::integer AS j, jsonb_build_object('id', min(c.value #>> '{}') FILTER (WHERE c.m[2] = 'id'),
				'function', jsonb_build_object('name', min(c.value #>> '{}') FILTER (WHERE c.m[2] = 'name'), 'arguments', min(c.value #>> '{}') FILTER (WHERE c.m[2] = 'arguments'))) AS v
			FROM (SELECT a.i, a.value, regexp_match(a.name, '^tool_calls\.([0-9]{1,9})\.(?:tool_call\.)?(?:function\.)?(id|name|arguments)$') AS m FROM a) c WHERE c.m IS NOT NULL GROUP BY c.i, c.m[1]::integer
		), block AS (
			-- Calls stand beside, too.
			SELECT b.i, b.m[1]::integer AS j, jsonb_build_object('type', min(b.value #>> '{}') FILTER (WHERE b.m[2] = 'type'), 'text', min(b.value #>> '{}') FILTER (WHERE b.m[2] = 'text')) AS v
			FROM (SELECT a.i, a.value, regexp_match(a.name, '^contents\.([0-9]{1,9})\.message_content\.(type|text)$') AS m FROM a) b WHERE b.m IS NOT NULL GROUP BY b.i, b.m[1]::integer
		), message AS (
			SELECT a.i, jsonb_strip_nulls(jsonb_build_object('role', min(a.value #>> '{}') FILTER (WHERE a.name = 'role'), 'tool_call_id', min(a.value #>> '{}') FILTER (WHERE a.name = 'tool_call_id'),
				'content', coalesce(to_jsonb(min(a.value #>> '{}') FILTER (WHERE a.name = 'content')), (SELECT jsonb_agg(b.v ORDER BY b.j) FROM block b WHERE b.i = a.i AND b.v ->> 'type' IS DISTINCT FROM 'tool_use')),
				'tool_calls', coalesce((SELECT jsonb_agg(c.v ORDER BY c.j) FROM call c WHERE c.i = a.i), CASE WHEN bool_or(a.name IN ('function_call_name', 'function_call.name')) THEN jsonb_build_array(jsonb_build_object('function', jsonb_build_object(
					'name', min(a.value #>> '{}') FILTER (WHERE a.name IN ('function_call_name', 'function_call.name')), 'arguments', min(a.value #>> '{}') FILTER (WHERE a.name IN ('function_call_arguments_json', 'function_call.arguments'))))) END))) AS v
			FROM a GROUP BY a.i
		)
		SELECT coalesce(jsonb_agg(m.v ORDER BY m.i), '[]') FROM message m);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_numbered_messages(jsonb, text) IS 'part of import_rollouts: messages of the attributes <prefix>.<number>.…, as of the OpenAI chat interface; an empty list where there are none';

CREATE OR REPLACE FUNCTION stepadv_internal.import_otel_messages(a jsonb, events jsonb, is_told boolean) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	role CONSTANT text := CASE WHEN is_told THEN 'user' ELSE 'assistant' END;
	key CONSTANT text := CASE WHEN is_told THEN 'gen_ai.input.messages' ELSE 'gen_ai.output.messages' END;
	old CONSTANT text := CASE WHEN is_told THEN 'gen_ai.prompt' ELSE 'gen_ai.completion' END;
	found jsonb := coalesce(a -> key, jsonb_path_query_first(events, '$[*].a.keyvalue() ? (@.key == $key).value'::jsonpath, jsonb_build_object('key', key)),
		a -> old, jsonb_path_query_first(events, '$[*].a.keyvalue() ? (@.key == $key).value'::jsonpath, jsonb_build_object('key', old)));
BEGIN
	IF found IS NOT NULL THEN
		RETURN stepadv_internal.import_noted(found, role);
	END IF;
	found := stepadv_internal.import_numbered_messages(a, CASE WHEN is_told THEN 'llm.input_messages' ELSE 'llm.output_messages' END);
	IF found = '[]' THEN
		found := stepadv_internal.import_numbered_messages(a, old);
	END IF;
	IF found = '[]' THEN
		found := stepadv_internal.import_noted(a -> (CASE WHEN is_told THEN 'input.value' ELSE 'output.value' END), role);
	END IF;
	RETURN found;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_otel_messages(jsonb, jsonb, boolean) IS
'part of import_rollouts: messages that a span of a model notes, of its input (is_told) or output: of GenAI''s attributes or events, OpenInference''s or OpenLLMetry''s numbered ones, or input.value and output.value';

CREATE OR REPLACE FUNCTION stepadv_internal.import_otel_kind(a jsonb, span_kind text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE
		WHEN upper(coalesce(a ->> 'openinference.span.kind', span_kind)) IN ('LLM') THEN 'llm'
		WHEN upper(coalesce(a ->> 'openinference.span.kind', span_kind)) IN ('TOOL', 'RETRIEVER') THEN 'tool'
		WHEN upper(coalesce(a ->> 'openinference.span.kind', span_kind)) IN ('EVALUATOR', 'GUARDRAIL') THEN 'judge'
		WHEN a ? 'openinference.span.kind' THEN 'other'
		WHEN a ->> 'gen_ai.operation.name' IN ('chat', 'text_completion', 'generate_content') OR a ->> 'llm.request.type' IN ('chat', 'completion') OR a ->> 'langfuse.observation.type' = 'generation' THEN 'llm'
		WHEN a ->> 'gen_ai.operation.name' IN ('execute_tool', 'retrieval') OR a ->> 'traceloop.span.kind' = 'tool' OR a ->> 'langfuse.observation.type' IN ('tool', 'retriever') THEN 'tool'
		WHEN a ->> 'langfuse.observation.type' IN ('evaluator', 'guardrail') THEN 'judge'
		ELSE 'other' END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_otel_kind(jsonb, text) IS 'part of import_rollouts: whether a span is of a model (llm), a tool (or retriever), a judge (evaluator, guardrail) or other, by openinference.span.kind or gen_ai.operation.name';

CREATE OR REPLACE FUNCTION stepadv_internal.import_otel_scores(a jsonb, events jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(jsonb_agg(x.v ORDER BY x.part, x.i), '[]')
		FROM (
			SELECT 1 AS part, e.i, jsonb_strip_nulls(jsonb_build_object('name', e.v #> '{a,gen_ai.evaluation.name}', 'value', e.v #> '{a,gen_ai.evaluation.score.value}', 'label', e.v #> '{a,gen_ai.evaluation.score.label}')) AS v
			FROM jsonb_array_elements(events) WITH ORDINALITY e(v, i) WHERE e.v -> 'a' ? 'gen_ai.evaluation.name'
			UNION ALL
			SELECT 2, min(s.i), jsonb_strip_nulls(jsonb_build_object('name', coalesce(min(s.value #>> '{}') FILTER (WHERE s.m[3] = 'name'), min(s.m[2])), 'value', coalesce((jsonb_agg(s.value) FILTER (WHERE s.m[3] = 'score')) -> 0, (jsonb_agg(s.value) FILTER (WHERE s.m[3] = 'value')) -> 0),
				'label', (jsonb_agg(s.value) FILTER (WHERE s.m[3] = 'label')) -> 0))
			FROM (SELECT e.key, e.value, row_number() OVER (ORDER BY e.key COLLATE "C") AS i,
					coalesce(regexp_match(e.key, '^((?:trace\.)?(?:evaluations|annotations)\.([0-9]{1,9}))\.(?:evaluation|annotation)\.(name|score|label)$'), regexp_match(e.key, '^(eval\.(.+))\.(score|label)$')) AS m
				FROM jsonb_each(a) e WHERE e.key ~ '^(trace\.|eval|annotations)') s
			WHERE s.m IS NOT NULL GROUP BY s.m[1]
			UNION ALL
			SELECT 3, n.i, jsonb_build_object('name', n.name, 'value', coalesce(a -> n.name, a -> ('metadata.' || n.name)))
			FROM unnest('{reward,outcome,success,resolved}'::text[]) WITH ORDINALITY n(name, i) WHERE coalesce(a -> n.name, a -> ('metadata.' || n.name), 'null') <> 'null') x
		WHERE x.v ? 'name' AND (x.v ? 'value' OR x.v ? 'label'));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_otel_scores(jsonb, jsonb) IS 'part of import_rollouts: what evaluations a span carries, as {name, value, label}: events gen_ai.evaluation.result, attributes evaluations.…, annotations.…, trace.evaluations.…, eval.<name>.score, and reward, outcome, success and resolved by themselves or in metadata';

CREATE OR REPLACE FUNCTION stepadv_internal.import_first_attribute(a jsonb, names text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT a -> n.name FROM unnest(names) WITH ORDINALITY n(name, i) WHERE jsonb_typeof(a -> n.name) IN ('string', 'number') AND a ->> n.name <> '' ORDER BY n.i LIMIT 1);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_first_attribute(jsonb, text[]) IS 'part of import_rollouts: the first of these attributes that is there and is a string or a number';

CREATE OR REPLACE FUNCTION stepadv_internal.import_names_of(what text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE what
		WHEN 'task' THEN '{task_id,task.id,task,group_id,instance_id,instance.id,problem_id,dataset.example.id,example.id,metadata.task_id,metadata.task,metadata.group_id,metadata.instance_id,metadata.problem_id,metadata.example_id,langfuse.dataset.item.id,langfuse.trace.metadata.task_id}'
		WHEN 'session' THEN '{session.id,gen_ai.conversation.id,session_id,conversation.id,langfuse.session.id,thread.id}'
		WHEN 'run_id' THEN '{run_id,run.id,metadata.run_id,experiment.id,langfuse.trace.metadata.run_id}'
		WHEN 'policy_version' THEN '{policy_version,policy.version,metadata.policy_version,langfuse.trace.metadata.policy_version}'
		WHEN 'policy_step' THEN '{policy_step,policy.step,metadata.policy_step}'
		WHEN 'model' THEN '{gen_ai.response.model,llm.response.model_name,gen_ai.request.model,llm.model_name,llm.request.model_name,langfuse.observation.model.name}'
		WHEN 'input_tokens' THEN '{gen_ai.usage.input_tokens,llm.token_count.prompt,gen_ai.usage.prompt_tokens}'
		WHEN 'output_tokens' THEN '{gen_ai.usage.output_tokens,llm.token_count.completion,gen_ai.usage.completion_tokens}'
		WHEN 'agent' THEN '{gen_ai.agent.name,agent.name}'
		WHEN 'tool' THEN '{gen_ai.tool.name,tool.name,tool_call.function.name}'
		WHEN 'call_id' THEN '{gen_ai.tool.call.id,tool.id,tool_call.id}' END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_names_of(text) IS 'part of import_rollouts: attributes that say what a trace or a span of it is, the surest first';

CREATE OR REPLACE FUNCTION stepadv_internal.import_otel_span(raw jsonb, a jsonb, resource jsonb, events jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kind CONSTANT text := stepadv_internal.import_otel_kind(a, coalesce(raw ->> 'span_kind', raw #>> '{attributes,openinference,span,kind}'));
	began CONSTANT numeric := stepadv_internal.import_instant(coalesce(raw -> 'startTimeUnixNano', raw -> 'start_time_unix_nano', raw -> 'start_time'));
	ended CONSTANT numeric := stepadv_internal.import_instant(coalesce(raw -> 'endTimeUnixNano', raw -> 'end_time_unix_nano', raw -> 'end_time'));
	status CONSTANT text := coalesce(raw #>> '{status,code}', raw #>> '{status,status_code}', raw ->> 'status_code');
	said CONSTANT text := nullif(coalesce(raw #>> '{status,message}', raw #>> '{status,description}', raw ->> 'status_message', jsonb_path_query_first(events, '$[*].a."exception.message"'::jsonpath) #>> '{}'), '');
	heard jsonb := CASE kind WHEN 'llm' THEN stepadv_internal.import_otel_messages(a, events, true) END;
	result jsonb;
BEGIN
	result := jsonb_strip_nulls(jsonb_build_object(
		'trace', regexp_replace(coalesce(raw ->> 'traceId', raw #>> '{context,trace_id}', raw ->> 'trace_id', raw ->> 'context.trace_id'), '^0x', ''),
		'span', regexp_replace(coalesce(raw ->> 'spanId', raw #>> '{context,span_id}', raw ->> 'span_id', raw ->> 'context.span_id'), '^0x', ''),
		'parent', nullif(regexp_replace(coalesce(raw ->> 'parentSpanId', raw ->> 'parent_span_id', raw ->> 'parent_id'), '^0x', ''), ''),
		'name', CASE WHEN kind = 'tool' THEN coalesce(stepadv_internal.import_first_attribute(a, stepadv_internal.import_names_of('tool'::text)), to_jsonb(regexp_replace(raw ->> 'name', '^execute_tool ', ''))) ELSE raw -> 'name' END,
		'kind', kind, 'at', began, 'started_at', stepadv_internal.import_time(began), 'ended_at', stepadv_internal.import_time(ended),
		'failed', CASE WHEN upper(status) IN ('2', 'ERROR', 'STATUS_CODE_ERROR', 'STATUSCODE.ERROR') THEN true END, 'message', said,
		'model', CASE kind WHEN 'llm' THEN stepadv_internal.import_first_attribute(a, stepadv_internal.import_names_of('model'::text)) END,
		'input_tokens', CASE kind WHEN 'llm' THEN stepadv_internal.import_first_attribute(a, stepadv_internal.import_names_of('input_tokens'::text)) END,
		'output_tokens', CASE kind WHEN 'llm' THEN stepadv_internal.import_first_attribute(a, stepadv_internal.import_names_of('output_tokens'::text)) END,
		'agent', stepadv_internal.import_first_attribute(a, stepadv_internal.import_names_of('agent'::text)),
		'task', stepadv_internal.import_first_attribute(resource || a, stepadv_internal.import_names_of('task'::text)),
		'session', stepadv_internal.import_first_attribute(resource || a, stepadv_internal.import_names_of('session'::text)),
		'asked', CASE WHEN jsonb_typeof(a -> 'input.value') = 'string' AND a ->> 'input.value' <> '' THEN a -> 'input.value' END))
		|| jsonb_build_object('scores', stepadv_internal.import_otel_scores(a, events),
		'about', jsonb_strip_nulls(jsonb_build_object('run_id', stepadv_internal.import_first_attribute(resource || a, stepadv_internal.import_names_of('run_id'::text)),
			'policy_version', stepadv_internal.import_first_attribute(resource || a, stepadv_internal.import_names_of('policy_version'::text)),
			'policy_step', stepadv_internal.import_first_attribute(resource || a, stepadv_internal.import_names_of('policy_step'::text)))),
		'more', jsonb_build_object('attributes', (SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}') FROM jsonb_each(resource || a) e WHERE e.key !~ '^(llm|gen_ai\.(input|output|prompt|completion|system_instructions)|input|output)(\.|$)')));
	IF kind = 'llm' THEN
		RETURN result || jsonb_build_object('heard', stepadv_internal.import_news(heard), 'said', stepadv_internal.import_otel_messages(a, events, false))
			|| jsonb_strip_nulls(jsonb_build_object('system', coalesce(stepadv_internal.import_text(stepadv_internal.import_unquoted(a -> 'gen_ai.system_instructions')), stepadv_internal.import_system(heard))));
	ELSIF kind = 'tool' THEN
		RETURN result || jsonb_build_object('call', jsonb_strip_nulls(jsonb_build_object('id', stepadv_internal.import_first_attribute(a, stepadv_internal.import_names_of('call_id'::text)),
			'args', coalesce(a -> 'gen_ai.tool.call.arguments', a -> 'tool_call.function.arguments', a -> 'tool.parameters', a -> 'input.value', a -> 'traceloop.entity.input', a -> 'gen_ai.retrieval.query.text'),
			'text', coalesce(a -> 'gen_ai.tool.call.result', a -> 'output.value', a -> 'traceloop.entity.output', a -> 'gen_ai.retrieval.documents') #>> '{}')));
	END IF;
	RETURN result || jsonb_build_object('call', jsonb_strip_nulls(jsonb_build_object('args', a -> 'input.value', 'text', a ->> 'output.value')));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_otel_span(jsonb, jsonb, jsonb, jsonb) IS 'part of import_rollouts: a span of OpenTelemetry in our words';

CREATE OR REPLACE FUNCTION stepadv_internal.import_otel_spans(document jsonb) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	WITH part AS (
		SELECT d.v, d.i FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document) = 'array' THEN document WHEN jsonb_typeof(document -> 'data') = 'array' THEN document -> 'data' ELSE jsonb_build_array(document) END) WITH ORDINALITY d(v, i)
	), raw AS (
		SELECT s.v, coalesce(r.v #> '{resource,attributes}', '[]') AS resource, ARRAY[p.i, r.i, c.i, s.i] AS place
		FROM part p CROSS JOIN LATERAL jsonb_array_elements(coalesce(p.v -> 'resourceSpans', p.v -> 'resource_spans')) WITH ORDINALITY r(v, i)
		CROSS JOIN LATERAL jsonb_array_elements(coalesce(r.v -> 'scopeSpans', r.v -> 'scope_spans', r.v -> 'instrumentationLibrarySpans', '[]')) WITH ORDINALITY c(v, i)
		CROSS JOIN LATERAL jsonb_array_elements(coalesce(c.v -> 'spans', '[]')) WITH ORDINALITY s(v, i)
		WHERE p.v ? 'resourceSpans' OR p.v ? 'resource_spans'
		UNION ALL
		SELECT p.v, coalesce(p.v #> '{resource,attributes}', '{}'), ARRAY[p.i] FROM part p WHERE jsonb_typeof(p.v) = 'object' AND NOT p.v ?| '{resourceSpans,resource_spans}'
	), plain AS (
		-- Of a data frame's columns each is an attribute by itself.
		SELECT r.v, r.resource, r.place, CASE WHEN r.v ? 'attributes' THEN r.v -> 'attributes'
			ELSE (SELECT jsonb_object_agg(regexp_replace(e.key, '^attributes\.', ''), e.value) FROM jsonb_each(r.v) e WHERE e.key ~ '^(attributes|eval)\.' AND e.value <> 'null') END AS attributes
		FROM raw r WHERE r.v ?| '{traceId,trace_id,context,context.trace_id}'
	)
	SELECT stepadv_internal.import_otel_span(p.v, x.a || coalesce(stepadv_internal.import_attributes(CASE jsonb_typeof(m.v) WHEN 'object' THEN jsonb_build_object('metadata', m.v) END), '{}'), stepadv_internal.import_attributes(p.resource),
		(SELECT coalesce(jsonb_agg(jsonb_build_object('name', e.v -> 'name', 'a', stepadv_internal.import_attributes(e.v -> 'attributes')) ORDER BY e.i), '[]') FROM jsonb_array_elements(CASE jsonb_typeof(p.v -> 'events') WHEN 'array' THEN p.v -> 'events' ELSE '[]' END) WITH ORDINALITY e(v, i)))
	FROM plain p CROSS JOIN LATERAL (SELECT stepadv_internal.import_attributes(p.attributes) AS a) x CROSS JOIN LATERAL (SELECT stepadv_internal.import_unquoted(x.a -> 'metadata') AS v) m
	ORDER BY p.place;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_otel_spans(jsonb) IS 'part of import_rollouts: the spans of a document of OpenTelemetry''s in our words: OTLP JSON, a span as the SDK or Phoenix write it, or a list of any of these';

CREATE OR REPLACE FUNCTION @extschema@.parse_otel(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY SELECT t.v FROM stepadv_internal.import_traces_of(parse_otel.document, 'otel'::text, parse_otel.source) t(v);
END
$$;

COMMENT ON FUNCTION @extschema@.parse_otel(jsonb, text, bigint) IS
'the rollouts of a document of OpenTelemetry spans (OTLP JSON, the console exporter''s, Phoenix''s; semantic conventions of GenAI 1.40, or OpenInference 0.1): one for each trace; each span of a model is a turn, spans of tools are its calls and what came back; the task is that of an attribute (task_id, instance_id, …), else the session, else a hash of what was asked; the outcome is an evaluation''s or the attribute reward; one jsonb per rollout as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_records(document jsonb) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF jsonb_typeof(document) = 'array' OR jsonb_typeof(document -> 'steps') = 'array' AND NOT document ? 'trajectory_uid' THEN
		RETURN QUERY SELECT r.v FROM jsonb_array_elements(CASE jsonb_typeof(document) WHEN 'array' THEN document ELSE document -> 'steps' END) r(v);
	ELSE
		RETURN NEXT document;
	END IF;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_records(jsonb) IS 'part of import_rollouts: the step records of a document: itself, the elements of a list, or those of steps';

CREATE OR REPLACE FUNCTION stepadv_internal.import_record_line(record jsonb, version jsonb, group_prefix text, success_at float8) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_judged CONSTANT boolean := coalesce(record -> 'is_last' = 'true' AND jsonb_typeof(record -> 'reward') = 'number', false);
	meta CONSTANT jsonb := CASE WHEN jsonb_typeof(record -> 'metadata') = 'object' THEN record -> 'metadata' ELSE '{}' END;
BEGIN
	IF jsonb_typeof(record) IS DISTINCT FROM 'object' THEN
		RETURN record;
	END IF;
	-- What has no column is kept with the step; what only counts the rest is not.
	RETURN jsonb_strip_nulls(record - '{prompt_uid,trajectory_uid,step_index,is_last,prompt_ids,response_ids,response_mask,rollout_log_probs,routed_experts,prompt_text,prompt,response_text,response,reward,policy_version,channel,
			metadata,curation,step_key,storage_index,complete,reward_state,prompt_len,response_len,token_count,action_summary}'::text[])
		|| stepadv_internal.import_tokens(record) || jsonb_strip_nulls(jsonb_build_object(
		'task_id', CASE WHEN jsonb_typeof(record -> 'prompt_uid') IN ('string', 'number') THEN import_record_line.group_prefix || (record ->> 'prompt_uid') END,
		'rollout_id', record -> 'trajectory_uid', 'step_no', record -> 'step_index', 'turn', record -> 'step_index',
		'observation', coalesce(record -> 'prompt_text', record -> 'prompt'), 'action', coalesce(record -> 'response_text', record -> 'response'),
		'reward', record -> 'reward', 'outcome', CASE WHEN is_judged THEN record -> 'reward' END,
		'success', CASE WHEN is_judged THEN (record ->> 'reward')::float8 >= import_record_line.success_at - 1e-9 END,
		'policy_version', import_record_line.version, 'policy_step', CASE WHEN jsonb_typeof(import_record_line.version) = 'number' AND (import_record_line.version #>> '{}')::numeric % 1 = 0 THEN import_record_line.version END,
		'channel', CASE record ->> 'channel' WHEN 'val' THEN 'validation' WHEN 'train' THEN 'train' WHEN 'validation' THEN 'validation' END,
		'meta', nullif(meta || jsonb_strip_nulls(jsonb_build_object('curation', record -> 'curation', 'policy_version', CASE WHEN record -> 'policy_version' <> import_record_line.version THEN record -> 'policy_version' END)), '{}')));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_record_line(jsonb, jsonb, text, float8) IS
'part of import_rollouts: a step record of Claw-R1 as a line of load_rollouts; the reward of the last step is the outcome too';

CREATE OR REPLACE FUNCTION @extschema@.parse_claw_r1(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	SELECT (array_agg(l.v - of_step ORDER BY l.step_no DESC))[1] || jsonb_build_object('steps', jsonb_agg(l.v - of_rollout ORDER BY l.step_no))
	FROM (SELECT '{step_no,turn,observation,action,reward,meta,prompt_token_ids,response_token_ids,response_mask,rollout_logprobs}'::text[] AS of_step,
			'{task_id,rollout_id,outcome,success,policy_version,policy_step,channel}'::text[] AS of_rollout) keys,
		(SELECT stepadv_internal.import_record_line(r.v, first_value(r.v -> 'policy_version') OVER (PARTITION BY r.v -> 'prompt_uid', r.v -> 'trajectory_uid' ORDER BY r.v -> 'step_index'), ''::text, 1::float8) AS v, r.v -> 'step_index' AS step_no
		FROM stepadv_internal.import_records(document) r(v) WHERE jsonb_typeof(r.v) = 'object') l
	GROUP BY l.v -> 'task_id', l.v -> 'rollout_id', of_step, of_rollout;
END
$$;

COMMENT ON FUNCTION @extschema@.parse_claw_r1(jsonb, text, bigint) IS
'the rollouts of a document of step records of Claw-R1 (prompt_uid, trajectory_uid, step_index, is_last, prompt_ids, response_ids, rollout_log_probs, reward, policy_version), as far as they are in it: import_rollouts puts those of many documents and files together; one jsonb per rollout as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_safe_json(document text, is_latin1 boolean, OUT content jsonb, OUT nul_replaced integer)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT t.content, t.nul_replaced INTO content, nul_replaced FROM stepadv_internal.json_of_text(import_safe_json.document, import_safe_json.is_latin1) t;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
	content := NULL;
	nul_replaced := 0;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_safe_json(text, boolean) IS 'part of import_rollouts: json_of_text, NULL where the text is no JSON';

CREATE OR REPLACE FUNCTION stepadv_internal.import_make_records(documents regclass, kind text, is_latin1 boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	CREATE TEMP TABLE stepadv_records (n bigint, record jsonb, raw text, prompt text, trajectory text, step numeric, nul_replaced integer) ON COMMIT DROP;
	ALTER TABLE pg_temp.stepadv_records ALTER record SET STORAGE EXTERNAL;
	-- A list's elements are numbered as lines would be.
	EXECUTE format($q$
		INSERT INTO pg_temp.stepadv_records
		SELECT row_number() OVER (), r.v, CASE WHEN r.v IS NULL THEN %3$s END, r.v ->> 'prompt_uid', r.v ->> 'trajectory_uid',
			CASE WHEN jsonb_typeof(r.v -> 'step_index') = 'number' THEN (r.v ->> 'step_index')::numeric END, j.nul_replaced
		FROM (SELECT d.document FROM %1$s d ORDER BY d.n) d CROSS JOIN LATERAL (%2$s) j
		LEFT JOIN LATERAL stepadv_internal.import_records(j.content) r(v) ON true
		WHERE d.document IS NOT NULL AND btrim(d.document::text, E' \t\r\n') <> ''
		$q$, stepadv_internal.load_name(import_make_records.documents),
		CASE import_make_records.kind WHEN 'text' THEN format('SELECT s.content, s.nul_replaced FROM stepadv_internal.import_safe_json(d.document, %L::boolean) s', import_make_records.is_latin1)
			ELSE 'SELECT d.document AS content, 0 AS nul_replaced' END,
		CASE import_make_records.kind WHEN 'text' THEN 'd.document' ELSE 'd.document::text' END);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_make_records(regclass, text, boolean) IS
'part of import_rollouts: makes pg_temp.stepadv_records of documents (n bigint, document text or jsonb): a step record each, or raw, a text that is no JSON';

CREATE OR REPLACE FUNCTION stepadv_internal.import_record_versions(schema text, group_prefix text, run_id text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	shape CONSTANT record := stepadv_internal.load_shape(import_record_versions.schema);
BEGIN
	CREATE TEMP TABLE stepadv_trajectories ON COMMIT DROP AS
	SELECT r.prompt, r.trajectory, min(r.n) AS first_n, (array_agg(r.record -> 'policy_version' ORDER BY r.step, r.n))[1] AS version, bool_or(r.step = 0) AND bool_or(r.record -> 'is_last' = 'true') AS is_whole
	FROM pg_temp.stepadv_records r GROUP BY r.prompt, r.trajectory;
	IF EXISTS (SELECT FROM pg_temp.stepadv_trajectories t WHERE t.is_whole IS NOT TRUE) AND 'policy_version' <> ALL (shape.lacking) THEN
		EXECUTE format($q$
			UPDATE pg_temp.stepadv_trajectories t
			-- A number stays one.
			SET version = CASE WHEN jsonb_typeof(t.version) = 'number' AND k.version ~ '^-?[0-9]{1,18}$' THEN k.version::jsonb ELSE to_jsonb(k.version) END
			FROM (SELECT r.rollout_id, %2$s AS task_id, min(r.policy_version) AS version FROM %1$I.rollouts r
				WHERE r.rollout_id = ANY ((SELECT array_agg(n.trajectory) FROM pg_temp.stepadv_trajectories n WHERE n.is_whole IS NOT TRUE)::text[]) AND r.policy_version <> '' AND %3$s
				GROUP BY 1, 2) k
			WHERE k.rollout_id = t.trajectory AND (k.task_id = $1 || t.prompt OR k.task_id IS NULL) AND t.is_whole IS NOT TRUE
			$q$, import_record_versions.schema,
			CASE WHEN 'task_id' = ANY (shape.keys) THEN 'r.task_id::text' WHEN 'group_id' = ANY (shape.keys) THEN 'r.group_id::text' ELSE 'NULL::text' END,
			CASE WHEN 'run_id' = ANY (shape.keys) THEN '(r.run_id::text = $2 OR $2 IS NULL)' ELSE 'true' END)
			USING import_record_versions.group_prefix,
				(stepadv_internal.load_key_otherwise(import_record_versions.schema, import_record_versions.run_id, NULL::text))[array_position(shape.keys, 'run_id')];
	END IF;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_record_versions(text, text, text) IS
'part of import_rollouts: makes pg_temp.stepadv_trajectories of pg_temp.stepadv_records, with the policy_version of each: that of its first step, or that which the schema''s tables have for the rollout of that task, with group_prefix before it, and run';

CREATE OR REPLACE FUNCTION stepadv_internal.import_record_steps(schema text, documents regclass, kind text, on_error text, group_prefix text, success_at float8, is_latin1 boolean,
	run_id text, policy_version text, policy_step bigint, replace boolean) RETURNS jsonb
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET work_mem = '32MB'
AS $$
DECLARE
	result jsonb;
	nuls bigint;
	experts bigint;
BEGIN
	PERFORM stepadv_internal.import_make_records(import_record_steps.documents, import_record_steps.kind, import_record_steps.is_latin1);
	PERFORM stepadv_internal.import_record_versions(import_record_steps.schema, import_record_steps.group_prefix, import_record_steps.run_id);
	SELECT coalesce(sum(r.nul_replaced), 0), count(*) FILTER (WHERE coalesce(r.record -> 'routed_experts', 'null') <> 'null') INTO nuls, experts FROM pg_temp.stepadv_records r;
	CREATE TEMP TABLE stepadv_record_lines (n bigint, line text) ON COMMIT DROP;
	ALTER TABLE pg_temp.stepadv_record_lines ALTER line SET STORAGE EXTERNAL;
	INSERT INTO pg_temp.stepadv_record_lines
	SELECT r.n, coalesce(stepadv_internal.import_record_line(r.record, t.version, import_record_steps.group_prefix, import_record_steps.success_at)::text, r.raw)
	FROM pg_temp.stepadv_records r LEFT JOIN pg_temp.stepadv_trajectories t ON t.prompt IS NOT DISTINCT FROM r.prompt AND t.trajectory = r.trajectory
	ORDER BY t.first_n, r.step, r.n;
	DROP TABLE pg_temp.stepadv_records, pg_temp.stepadv_trajectories;
	SELECT to_jsonb(l) - '{lines_read,empty_lines,bad_lines,problems}'::text[] || jsonb_build_object('documents_read', l.lines_read - l.empty_lines, 'bad_documents', l.bad_lines, 'nul_replaced', l.nul_replaced + nuls,
		'dropped', jsonb_strip_nulls(jsonb_build_object('experts of tokens', nullif(experts, 0))),
		'problems', coalesce((SELECT jsonb_agg(p.v - 'line' || jsonb_build_object('document', p.v -> 'line') ORDER BY p.i) FROM jsonb_array_elements(l.problems) WITH ORDINALITY p(v, i)), '[]')) INTO result
	FROM @extschema@.load_rollouts(import_record_steps.schema, 'pg_temp.stepadv_record_lines'::regclass, import_record_steps.on_error, false, import_record_steps.run_id, import_record_steps.policy_version,
		import_record_steps.policy_step, import_record_steps.replace) l;
	DROP TABLE pg_temp.stepadv_record_lines;
	RETURN result;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_record_steps(text, regclass, text, text, text, float8, boolean, text, text, bigint, boolean) IS
'part of import_rollouts: documents of step records into the schema''s tables, as lines of load_rollouts, and its counts under the names of import_rollouts';

CREATE OR REPLACE FUNCTION stepadv_internal.import_said(value jsonb, role text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF jsonb_typeof(value) = 'string' THEN
		RETURN jsonb_build_array(jsonb_build_object('role', import_said.role, 'content', value));
	END IF;
	RETURN (
		SELECT coalesce(jsonb_agg(CASE WHEN jsonb_typeof(m.v -> 'tool_calls') = 'array' THEN m.v || jsonb_build_object('tool_calls', (
				SELECT coalesce(jsonb_agg(CASE WHEN x.call ? 'function' THEN x.call
					ELSE jsonb_build_object('id', x.call -> 'id', 'type', 'function', 'function', jsonb_build_object('name', x.call -> 'name', 'arguments', x.call -> 'arguments')) END ORDER BY c.i), '[]')
				FROM jsonb_array_elements(m.v -> 'tool_calls') WITH ORDINALITY c(v, i), LATERAL (SELECT CASE WHEN jsonb_typeof(c.v) = 'string' AND c.v #>> '{}' ~ '^\s*\{' THEN (c.v #>> '{}')::jsonb ELSE c.v END AS call) x))
			ELSE m.v END ORDER BY m.i), '[]')
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(value) = 'array' THEN value ELSE '[]' END) WITH ORDINALITY m(v, i) WHERE jsonb_typeof(m.v) = 'object');
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_said(jsonb, text) IS 'part of import_rollouts: a prompt or completion, a text or a list of messages, as messages of the chat interface; role is that of a text';

CREATE OR REPLACE FUNCTION stepadv_internal.import_completion(prompt jsonb, completion jsonb, OUT messages jsonb, OUT steps jsonb, OUT dropped jsonb, OUT repaired jsonb)
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	asked CONSTANT jsonb := stepadv_internal.import_said(import_completion.prompt, 'user'::text);
	own CONSTANT jsonb := jsonb_path_query_array(asked, '$[*] ? (@.role != "assistant" && @.role != "tool")');
	n_examples CONSTANT integer := jsonb_array_length(asked) - jsonb_array_length(own);
BEGIN
	messages := own || stepadv_internal.import_said(import_completion.completion, 'assistant'::text);
	SELECT m.steps, m.dropped || CASE WHEN n_examples > 0 THEN jsonb_build_object('answers in the prompt', n_examples) ELSE '{}' END, m.repaired
	INTO import_completion.steps, import_completion.dropped, import_completion.repaired FROM stepadv_internal.import_messages(messages) m;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_completion(jsonb, jsonb) IS 'part of import_rollouts: a prompt and a completion as steps, and the messages they are made of; answers in the prompt are left out';

CREATE OR REPLACE FUNCTION @extschema@.parse_trl(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	SELECT stepadv_internal.import_keep(jsonb_strip_nulls(jsonb_build_object('policy_version', document -> 'step', 'policy_step', document -> 'step',
			-- Functions that had nothing to say are null.
			'outcome', coalesce(CASE WHEN jsonb_typeof(document -> 'reward') = 'number' THEN document -> 'reward' END,
				(SELECT to_jsonb(sum((e.value #>> '{}')::numeric)) FROM jsonb_each(document - '{step,advantage}'::text[]) e WHERE jsonb_typeof(e.value) = 'number'))))
		|| jsonb_build_object('task_id', stepadv_internal.import_digest(document -> 'prompt'), 'group_id', concat('step', document ->> 'step', '/', stepadv_internal.import_digest(document -> 'prompt')),
			'rollout_id', coalesce(concat(f.rollout, ':' || n), stepadv_internal.import_digest(document)),
			'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_trl.source)) || (document - '{prompt,completion,step,reward,prompt_ids,completion_ids,completion_mask,completion_logprobs}'::text[]),
			-- Of one answer the tokens are known.
			'steps', CASE WHEN jsonb_array_length(c.steps) = 1 THEN jsonb_build_array((c.steps -> 0) || stepadv_internal.import_tokens(document)) ELSE c.steps END, 'dropped', c.dropped, 'repaired', c.repaired), c.messages)
	FROM (SELECT 1) one
	LEFT JOIN LATERAL stepadv_internal.import_names(parse_trl.source) f ON true
	CROSS JOIN LATERAL stepadv_internal.import_completion(document -> 'prompt', document -> 'completion') c;
END
$$;

COMMENT ON FUNCTION @extschema@.parse_trl(jsonb, text, bigint) IS
'the rollout of a row of TRL''s completions (step, prompt, completion, advantage and a number for each reward function) as a line of JSON: the outcome is reward, or else the sum of these numbers; its task is the prompt; one jsonb as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_tau2_items(messages jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(jsonb_agg(i.item ORDER BY m.i, t.i, i.part, i.j), '[]')
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(messages) = 'array' THEN messages ELSE '[]' END) WITH ORDINALITY m(v, i)
		-- Results may come together.
		CROSS JOIN LATERAL jsonb_array_elements(CASE WHEN jsonb_typeof(m.v -> 'tool_messages') = 'array' THEN m.v -> 'tool_messages' ELSE jsonb_build_array(m.v) END) WITH ORDINALITY t(v, i)
		CROSS JOIN LATERAL (SELECT t.v ->> 'role' AS role, stepadv_internal.import_text(t.v -> 'content') AS text,
			CASE WHEN jsonb_typeof(t.v -> 'tool_calls') = 'array' THEN t.v -> 'tool_calls' ELSE '[]' END AS calls) x
		CROSS JOIN LATERAL (
			SELECT 0 AS part, 0::bigint AS j, jsonb_build_object('kind', 'dropped', 'text', 'system messages') AS item WHERE x.role = 'system'
			UNION ALL SELECT 0, 0, jsonb_build_object('kind', 'see', 'text', x.text) WHERE x.role = 'user' AND x.text <> ''
			-- What the simulated user does with its own tools, the agent does not see.
			UNION ALL SELECT 1, c.i, jsonb_build_object('kind', 'dropped', 'text', 'calls of the user') FROM jsonb_array_elements(x.calls) WITH ORDINALITY c(v, i) WHERE x.role = 'user'
			UNION ALL SELECT 0, 0, jsonb_build_object('kind', 'dropped', 'text', 'results of the user''s calls') WHERE x.role = 'tool' AND t.v ->> 'requestor' = 'user'
			UNION ALL SELECT 0, 0, jsonb_strip_nulls(jsonb_build_object('kind', 'result', 'id', t.v -> 'id', 'text', coalesce(x.text, ''), 'ok', CASE WHEN t.v -> 'error' = 'true' THEN false END))
				WHERE x.role = 'tool' AND t.v ->> 'requestor' IS DISTINCT FROM 'user'
			UNION ALL SELECT 1, 0, jsonb_build_object('kind', 'say', 'new', true, 'text', coalesce(x.text, '')) WHERE x.role = 'assistant' AND (x.text <> '' OR x.calls = '[]')
			UNION ALL SELECT 2, c.i, jsonb_build_object('kind', 'call', 'id', c.v -> 'id', 'tool', c.v -> 'name', 'args', c.v -> 'arguments') FROM jsonb_array_elements(x.calls) WITH ORDINALITY c(v, i) WHERE x.role = 'assistant') i);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_tau2_items(jsonb) IS 'part of import_rollouts: messages of tau2 as items of import_steps; calls of the simulated user and their results are left out';

CREATE OR REPLACE FUNCTION stepadv_internal.import_tau2_ticks(ticks jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		WITH tick AS (
			SELECT t.i, p.role, p.part, nullif(stepadv_internal.import_text(t.v -> (p.name || '_chunk') -> 'content'), '') AS text,
				CASE WHEN jsonb_typeof(t.v -> (p.name || '_tool_calls')) = 'array' THEN nullif(t.v -> (p.name || '_tool_calls'), '[]') END AS calls, t.v -> (p.name || '_tool_results') AS results
			FROM jsonb_array_elements(import_tau2_ticks.ticks) WITH ORDINALITY t(v, i), (VALUES ('agent'::text, 'assistant'::text, 0), ('user', 'user', 2)) p(name, role, part)
		), talk AS (
			SELECT t.*, t.i - row_number() OVER (PARTITION BY t.role ORDER BY t.i) AS gap,
				coalesce(count(t.calls) OVER (PARTITION BY t.role ORDER BY t.i ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS n_calls
			FROM tick t WHERE t.text IS NOT NULL OR t.calls IS NOT NULL
		)
		SELECT coalesce(jsonb_agg(m.v ORDER BY m.i, m.part, m.j), '[]')
		FROM (
			SELECT min(t.i) AS i, t.part, 0::bigint AS j, jsonb_strip_nulls(jsonb_build_object('role', t.role, 'content', string_agg(t.text, '' ORDER BY t.i), 'tool_calls', (array_agg(t.calls) FILTER (WHERE t.calls IS NOT NULL))[1])) AS v
			FROM talk t GROUP BY t.role, t.part, t.gap, t.n_calls
			UNION ALL
			SELECT t.i, t.part + 1, r.j, CASE WHEN t.role = 'user' AND jsonb_typeof(r.v) = 'object' THEN r.v || '{"requestor": "user"}' ELSE r.v END FROM tick t, jsonb_array_elements(CASE WHEN jsonb_typeof(t.results) = 'array' THEN t.results ELSE '[]' END) WITH ORDINALITY r(v, j)) m);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_tau2_ticks(jsonb) IS 'part of import_rollouts: ticks of a simulation of tau2 in which both may speak at once as the messages that it has else';

CREATE OR REPLACE FUNCTION @extschema@.parse_tau2(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	SELECT CASE WHEN m.list IS NULL THEN jsonb_build_object('problem', 'a simulation has no list messages or ticks')
		ELSE jsonb_strip_nulls(jsonb_build_object('outcome', s.v #> '{reward_info,reward}', 'model', document #> '{info,agent_info,llm}', 'started_at', s.v -> 'start_time', 'ended_at', s.v -> 'end_time',
				'truncated', CASE WHEN s.v ->> 'termination_reason' IN ('max_steps', 'timeout', 'too_many_errors', 'context_window_exceeded') THEN true END))
			|| jsonb_build_object('group_id', concat_ws('/', document #>> '{info,environment_info,domain_name}', s.v ->> 'task_id'),
				'rollout_id', coalesce(s.v ->> 'id', concat_ws('-', s.v ->> 'task_id', 't' || (s.v ->> 'trial'))),
				'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_tau2.source, 'trial', s.v -> 'trial', 'seed', s.v -> 'seed', 'termination_reason', s.v -> 'termination_reason',
					'reward_info', s.v -> 'reward_info', 'agent_cost', s.v -> 'agent_cost', 'user_cost', s.v -> 'user_cost')),
				'steps', t.steps, 'dropped', t.dropped, 'repaired', t.repaired) END
	FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'simulations') = 'array' THEN document -> 'simulations' ELSE jsonb_build_array(document) END) WITH ORDINALITY s(v, i)
	CROSS JOIN LATERAL (SELECT CASE WHEN jsonb_typeof(s.v -> 'messages') = 'array' THEN s.v -> 'messages' WHEN jsonb_typeof(s.v -> 'ticks') = 'array' THEN stepadv_internal.import_tau2_ticks(s.v -> 'ticks') END AS list) m
	CROSS JOIN LATERAL stepadv_internal.import_steps(stepadv_internal.import_tau2_items(m.list)) t
	ORDER BY s.i;
END
$$;

COMMENT ON FUNCTION @extschema@.parse_tau2(jsonb, text, bigint) IS
'the rollouts of results of tau2 (info, tasks, simulations), or of a simulation alone: the group is the domain and the task, the outcome reward_info.reward; one jsonb per rollout as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_langfuse_member(record jsonb, camel text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN nullif(coalesce(record -> camel, record -> lower(regexp_replace(camel, '([A-Z])', '_\1', 'g'))), 'null');
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_langfuse_member(jsonb, text) IS 'part of import_rollouts: a member of a record of Langfuse by its name in camel case, or the same in snake case; NULL: neither is there, or it is null';

CREATE OR REPLACE FUNCTION stepadv_internal.import_count(value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE WHEN value #>> '{}' ~ '^[0-9]{1,18}$' THEN to_jsonb((value #>> '{}')::bigint) END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_count(jsonb) IS 'part of import_rollouts: a whole number, or a string that spells one; else NULL';

CREATE OR REPLACE FUNCTION stepadv_internal.import_langfuse_kind(type text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE upper(type) WHEN 'GENERATION' THEN 'llm' WHEN 'TOOL' THEN 'tool' WHEN 'RETRIEVER' THEN 'tool' WHEN 'EVALUATOR' THEN 'judge' WHEN 'GUARDRAIL' THEN 'judge' ELSE 'other' END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_langfuse_kind(text) IS 'part of import_rollouts: what an observation of this type is: llm, tool, judge or other';

CREATE OR REPLACE FUNCTION stepadv_internal.import_langfuse_trace(v jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT jsonb := stepadv_internal.import_attributes(jsonb_build_object('metadata', coalesce(stepadv_internal.import_unquoted(v -> 'metadata'), 'null')));
	began CONSTANT numeric := stepadv_internal.import_instant(v -> 'timestamp');
BEGIN
	RETURN jsonb_strip_nulls(jsonb_build_object('trace', v ->> 'id', 'span', v ->> 'id', 'kind', 'other', 'name', v -> 'name', 'at', began, 'started_at', stepadv_internal.import_time(began),
			'task', stepadv_internal.import_first_attribute(a, stepadv_internal.import_names_of('task'::text)), 'session', stepadv_internal.import_langfuse_member(v, 'sessionId'::text),
			'asked', nullif(v ->> 'input', '')))
		|| jsonb_build_object('about', jsonb_strip_nulls(jsonb_build_object('run_id', stepadv_internal.import_first_attribute(a, stepadv_internal.import_names_of('run_id'::text)),
				'policy_version', coalesce(stepadv_internal.import_first_attribute(a, stepadv_internal.import_names_of('policy_version'::text)), v -> 'version'),
				'policy_step', stepadv_internal.import_first_attribute(a, stepadv_internal.import_names_of('policy_step'::text)))),
			'more', jsonb_strip_nulls(jsonb_build_object('tags', nullif(v -> 'tags', '[]'), 'user', stepadv_internal.import_langfuse_member(v, 'userId'::text), 'release', v -> 'release', 'environment', v -> 'environment', 'metadata', stepadv_internal.import_unquoted(v -> 'metadata'))));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_langfuse_trace(jsonb) IS 'part of import_rollouts: a trace of Langfuse as the root of its observations, a span in our words';

CREATE OR REPLACE FUNCTION stepadv_internal.import_langfuse_observation(v jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kind CONSTANT text := stepadv_internal.import_langfuse_kind(v ->> 'type');
	trace CONSTANT jsonb := stepadv_internal.import_langfuse_member(v, 'traceId'::text);
	began CONSTANT numeric := stepadv_internal.import_instant(stepadv_internal.import_langfuse_member(v, 'startTime'::text));
	ended CONSTANT numeric := stepadv_internal.import_instant(stepadv_internal.import_langfuse_member(v, 'endTime'::text));
	details CONSTANT jsonb := coalesce(stepadv_internal.import_langfuse_member(v, 'usageDetails'::text), '{}');
	meta CONSTANT jsonb := stepadv_internal.import_unquoted(v -> 'metadata');
	heard jsonb;
	result jsonb;
BEGIN
	result := jsonb_strip_nulls(jsonb_build_object('trace', trace, 'span', v ->> 'id', 'parent', coalesce(stepadv_internal.import_langfuse_member(v, 'parentObservationId'::text), trace),
		'kind', kind, 'name', v -> 'name', 'at', began, 'started_at', stepadv_internal.import_time(began), 'ended_at', stepadv_internal.import_time(ended),
		'failed', CASE WHEN v ->> 'level' = 'ERROR' THEN true END, 'message', nullif(stepadv_internal.import_langfuse_member(v, 'statusMessage'::text) #>> '{}', '')));
	IF kind = 'llm' THEN
		heard := stepadv_internal.import_noted(v -> 'input', 'user'::text);
		RETURN result || jsonb_build_object('heard', stepadv_internal.import_news(heard), 'said', stepadv_internal.import_noted(v -> 'output', 'assistant'::text))
			|| jsonb_strip_nulls(jsonb_build_object('system', stepadv_internal.import_system(heard), 'model', coalesce(v -> 'model', stepadv_internal.import_langfuse_member(v, 'providedModelName'::text)),
				'input_tokens', stepadv_internal.import_count(coalesce(details -> 'input', v #> '{usage,input}', v #> '{usage,promptTokens}', stepadv_internal.import_langfuse_member(v, 'promptTokens'::text))),
				'output_tokens', stepadv_internal.import_count(coalesce(details -> 'output', v #> '{usage,output}', v #> '{usage,completionTokens}', stepadv_internal.import_langfuse_member(v, 'completionTokens'::text)))));
	END IF;
	RETURN result || jsonb_build_object('call', jsonb_strip_nulls(jsonb_build_object('id', coalesce(meta -> 'tool_call_id', meta -> 'toolCallId'), 'args', v -> 'input', 'text', v ->> 'output')));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_langfuse_observation(jsonb) IS 'part of import_rollouts: an observation of Langfuse as a span in our words';

CREATE OR REPLACE FUNCTION stepadv_internal.import_langfuse_scores(scores jsonb, trace jsonb) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 5
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT jsonb_build_object('trace', x.trace, 'kind', 'score', 'scores', jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('name', x.name, 'value', x.value, 'label', x.label)))) || CASE WHEN x.of IS NULL THEN '{}' ELSE jsonb_build_object('of', x.of) END
	FROM (
		SELECT s.i, coalesce(stepadv_internal.import_langfuse_member(s.v, 'traceId'::text), import_langfuse_scores.trace) AS trace, s.v ->> 'name' AS name,
			nullif(s.v -> 'value', 'null') AS value, stepadv_internal.import_langfuse_member(s.v, 'stringValue'::text) AS label, stepadv_internal.import_langfuse_member(s.v, 'observationId'::text) AS of
		FROM jsonb_array_elements(CASE jsonb_typeof(scores) WHEN 'array' THEN scores ELSE '[]' END) WITH ORDINALITY s(v, i) WHERE jsonb_typeof(s.v) = 'object'
		UNION ALL
		-- A table's export has a column of names and their values.
		SELECT o.i, import_langfuse_scores.trace, regexp_replace(o.key, '^# ', ''), CASE jsonb_typeof(o.value) WHEN 'array' THEN o.value -> 0 ELSE o.value END, NULL, NULL
		FROM jsonb_each(CASE jsonb_typeof(scores) WHEN 'object' THEN scores ELSE '{}' END) WITH ORDINALITY o(key, value, i)) x
	WHERE x.trace IS NOT NULL AND x.name IS NOT NULL
	ORDER BY x.i;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_langfuse_scores(jsonb, jsonb) IS 'part of import_rollouts: scores of Langfuse, a list of records or an object of names, as spans in our words of the kind score: of says of which observation, else they are of the trace';

CREATE OR REPLACE FUNCTION stepadv_internal.import_langfuse_spans(document jsonb) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	record jsonb;
BEGIN
	FOR record IN SELECT d.v FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document) = 'array' THEN document WHEN jsonb_typeof(document -> 'data') = 'array' THEN document -> 'data' ELSE jsonb_build_array(document) END) WITH ORDINALITY d(v, i)
		WHERE jsonb_typeof(d.v) = 'object' ORDER BY d.i
	LOOP
		IF stepadv_internal.import_langfuse_member(record, 'traceId'::text) IS NULL THEN
			CONTINUE WHEN NOT record ? 'id' OR NOT record ?| '{timestamp,observations}';
			RETURN NEXT stepadv_internal.import_langfuse_trace(record);
			RETURN QUERY SELECT stepadv_internal.import_langfuse_observation(jsonb_build_object('traceId', record -> 'id') || o.v)
				FROM jsonb_array_elements(CASE jsonb_typeof(record -> 'observations') WHEN 'array' THEN record -> 'observations' ELSE '[]' END) WITH ORDINALITY o(v, i) WHERE jsonb_typeof(o.v) = 'object' ORDER BY o.i;
			RETURN QUERY SELECT s.v FROM stepadv_internal.import_langfuse_scores(record -> 'scores', record -> 'id') s(v);
		ELSIF stepadv_internal.import_langfuse_member(record, 'startTime'::text) IS NOT NULL THEN
			RETURN NEXT stepadv_internal.import_langfuse_observation(record);
			RETURN QUERY SELECT s.v || jsonb_build_object('of', record -> 'id') FROM stepadv_internal.import_langfuse_scores(record -> 'scores', stepadv_internal.import_langfuse_member(record, 'traceId'::text)) s(v);
		ELSE
			RETURN QUERY SELECT s.v FROM stepadv_internal.import_langfuse_scores(jsonb_build_array(record), NULL::jsonb) s(v);
		END IF;
	END LOOP;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_langfuse_spans(jsonb) IS 'part of import_rollouts: traces, observations and scores of a document of Langfuse''s as spans in our words';

CREATE OR REPLACE FUNCTION @extschema@.parse_langfuse(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY SELECT t.v FROM stepadv_internal.import_traces_of(parse_langfuse.document, 'langfuse'::text, parse_langfuse.source) t(v);
END
$$;

COMMENT ON FUNCTION @extschema@.parse_langfuse(jsonb, text, bigint) IS
'the rollouts of a document of Langfuse (versions 2 to 4): traces with observations and scores, or rows of its exports; one for each trace, each GENERATION is a turn, in the order of startTime, TOOLs are its calls and what came back (level ERROR: not ok); the task is that of the trace''s metadata (task_id, …), else the session, else a hash of the input; a score called reward, outcome, return or score, or the only one, is the outcome; one jsonb per rollout as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_verifiers_nodes(nodes jsonb, OUT messages jsonb, OUT tokens jsonb, OUT dropped jsonb)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	said jsonb[] := '{}';
	turns jsonb[] := '{}';
	-- The tokens from the root to each node.
	sequences jsonb[] := '{}';
	told jsonb := '{}';
	is_anew boolean := false;
	n_again bigint := 0;
	n_examples bigint := 0;
	node record;
BEGIN
	FOR node IN
		SELECT t.i, t.v -> 'message' AS message, t.v -> 'sampled' = 'true' AS is_sampled, t.v -> 'message' ->> 'role' AS role, md5((t.v -> 'message')::text) AS digest,
			CASE WHEN jsonb_typeof(t.v -> 'parent') = 'number' AND (t.v ->> 'parent')::numeric BETWEEN 0 AND t.i - 2 THEN (t.v ->> 'parent')::numeric::bigint + 1 END AS parent,
			CASE WHEN jsonb_typeof(t.v -> 'token_ids') = 'array' THEN t.v -> 'token_ids' ELSE '[]' END AS ids,
			-- Before what was sampled stands what the template puts there.
			(SELECT count(*) FROM jsonb_array_elements(CASE WHEN jsonb_typeof(t.v -> 'mask') = 'array' THEN t.v -> 'mask' ELSE '[]' END) m(v) WHERE m.v = 'true') AS n_sampled, t.v -> 'logprobs' AS logprobs
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(import_verifiers_nodes.nodes) = 'array' THEN import_verifiers_nodes.nodes ELSE '[]' END) WITH ORDINALITY t(v, i) ORDER BY t.i
	LOOP
		sequences[node.i] := coalesce(sequences[node.parent], '[]') || node.ids;
		is_anew := is_anew OR node.i > 1 AND node.parent IS DISTINCT FROM node.i - 1;
		IF node.is_sampled THEN
			said := said || node.message;
			turns := turns || CASE WHEN node.n_sampled > 0 THEN stepadv_internal.import_verifiers_turn(coalesce(sequences[node.parent], '[]'), node.ids, node.n_sampled::integer, node.logprobs) ELSE '{}' END;
			is_anew := false;
		ELSIF node.role = 'assistant' THEN
			n_examples := n_examples + 1;
		ELSIF is_anew AND told ? node.digest THEN
			n_again := n_again + 1;
		ELSE
			said := said || node.message;
			told := told || jsonb_build_object(node.digest, 1);
		END IF;
	END LOOP;
	messages := to_jsonb(said);
	tokens := to_jsonb(turns);
	dropped := jsonb_strip_nulls(jsonb_build_object('answers in the prompt', nullif(n_examples, 0), 'messages told again', nullif(n_again, 0)));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_verifiers_nodes(jsonb) IS
'part of import_rollouts: the nodes of a trace of verifiers as messages of the chat interface, one for each turn and each message that was told, and for each turn the arrays of its tokens (an empty object where the trace has none)';

CREATE OR REPLACE FUNCTION stepadv_internal.import_verifiers_turn(before jsonb, ids jsonb, n_sampled integer, logprobs jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	first CONSTANT integer := greatest(jsonb_array_length(ids) - n_sampled, 0);
	at CONSTANT jsonb := jsonb_build_object('first', first, 'before', first - 1);
BEGIN
	RETURN jsonb_build_object('prompt_token_ids', before || CASE WHEN first > 0 THEN jsonb_path_query_array(ids, '$[0 to $before]', at) ELSE '[]' END,
			'response_token_ids', jsonb_path_query_array(ids, '$[$first to last]', at))
		|| CASE WHEN jsonb_typeof(logprobs) = 'array' AND logprobs <> '[]' THEN jsonb_build_object('rollout_logprobs', logprobs) ELSE '{}' END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_verifiers_turn(jsonb, jsonb, integer, jsonb) IS
'part of import_rollouts: the arrays of tokens of a turn of verifiers: what was before it, its own tokens, of which the last n_sampled are the model''s, and their log-probabilities';

CREATE OR REPLACE FUNCTION stepadv_internal.import_verifiers_reward(rewards jsonb) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT sum((w.score #>> '{}')::numeric * CASE WHEN jsonb_typeof(r.value -> 'weight') = 'number' THEN (r.value ->> 'weight')::numeric ELSE 1 END)
		FROM jsonb_each(CASE WHEN jsonb_typeof(rewards) = 'object' THEN rewards ELSE '{}' END) r, LATERAL (SELECT CASE jsonb_typeof(r.value) WHEN 'number' THEN r.value WHEN 'object' THEN r.value -> 'score' END AS score) w
		WHERE jsonb_typeof(w.score) = 'number');
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_verifiers_reward(jsonb) IS 'part of import_rollouts: the sum of the rewards of a trace of verifiers, each times its weight; NULL where none was given';

CREATE OR REPLACE FUNCTION stepadv_internal.import_verifiers_trace(episode jsonb, trace jsonb, source text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	run CONSTANT jsonb := coalesce(nullif(episode -> 'run', 'null'), trace -> 'run');
	step CONSTANT jsonb := coalesce(run #> '{work,step}', run -> 'step');
	task CONSTANT jsonb := coalesce(nullif(trace -> 'task', 'null'), episode -> 'task');
	task_id CONSTANT text := concat_ws('/', coalesce(episode #>> '{env,name}', nullif(episode #>> '{env,id}', ''), task ->> 'type'),
		coalesce(task ->> 'key', task ->> 'hash', task #>> '{data,idx}', task #>> '{data,name}', stepadv_internal.import_digest(task -> 'data')),
		CASE WHEN jsonb_path_exists(episode, '$ ? (@.traces[*].agent.name != $name)', jsonb_build_object('name', trace #> '{agent,name}')) THEN trace #>> '{agent,name}' END);
	nodes CONSTANT record := stepadv_internal.import_verifiers_nodes(trace -> 'nodes');
	whole record;
	steps jsonb;
BEGIN
	SELECT m.* INTO whole FROM stepadv_internal.import_messages(stepadv_internal.import_said(nodes.messages, 'user'::text)) m;
	SELECT coalesce(jsonb_agg(CASE WHEN s.is_first THEN s.v || coalesce(nodes.tokens -> s.turn, '{}') ELSE s.v END ORDER BY s.i), '[]') INTO steps
	FROM (SELECT e.v, e.i, (e.v ->> 'turn')::integer AS turn, row_number() OVER (PARTITION BY e.v -> 'turn' ORDER BY e.i) = 1 AS is_first FROM jsonb_array_elements(whole.steps) WITH ORDINALITY e(v, i)) s;
	RETURN stepadv_internal.import_keep(jsonb_strip_nulls(jsonb_build_object(
			'outcome', stepadv_internal.import_verifiers_reward(trace -> 'rewards'), 'model', coalesce(jsonb_path_query_first(trace, '$.calls[*].model'), trace #> '{agent,config,model}', trace #> '{agent,model}'),
			'run_id', run -> 'id', 'policy_step', step, 'policy_version', coalesce(run #> '{work,policy,start}', step),
			'channel', CASE WHEN step IS NOT NULL THEN CASE coalesce(run #>> '{work,type}', run ->> 'type') WHEN 'eval' THEN 'validation' WHEN 'train' THEN 'train' END END,
			'truncated', trace ->> 'stop_condition' IN ('max_turns', 'max_input_tokens', 'max_output_tokens', 'max_total_tokens', 'context_length')
				OR jsonb_path_query_array(trace, '$.calls[*] ? (!exists(@.error))') #>> '{-1,finish_reason}' IS NOT DISTINCT FROM 'length',
			'started_at', (SELECT stepadv_internal.import_time(min(stepadv_internal.import_instant(e.v))) FROM jsonb_path_query(trace, '$.timing.start ? (@.type() == "number")') e(v)),
			'ended_at', (SELECT stepadv_internal.import_time(max(stepadv_internal.import_instant(e.v))) FROM jsonb_path_query(trace, '$.timing.*.end ? (@.type() == "number" && @ > 0)') e(v))))
		|| jsonb_build_object('task_id', task_id, 'group_id', CASE WHEN episode #>> '{group,id}' IS NULL THEN task_id ELSE concat_ws('/', task_id, episode #>> '{group,id}') END, 'rollout_id', trace -> 'id',
			'meta', jsonb_strip_nulls(jsonb_build_object('source', import_verifiers_trace.source, 'episode', CASE WHEN episode ? 'traces' THEN episode -> 'id' END, 'group', episode #> '{group,id}', 'agent', trace #> '{agent,name}', 'trainable', trace #> '{agent,trainable}', 'task', task #> '{data,name}',
				'rewards', trace -> 'rewards', 'metrics', trace -> 'metrics', 'info', nullif(trace -> 'info', '{}'), 'ok', trace -> 'ok', 'stop_condition', trace -> 'stop_condition', 'errors', nullif(trace -> 'errors', '[]'))),
			'steps', steps, 'dropped', whole.dropped || nodes.dropped, 'repaired', whole.repaired), nodes.messages);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_verifiers_trace(jsonb, jsonb, text) IS
'part of import_rollouts: the rollout of a trace of verifiers, and of the episode it belongs to (itself where there is none)';

CREATE OR REPLACE FUNCTION @extschema@.parse_verifiers(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	IF jsonb_typeof(document -> 'traces') = 'array' THEN
		RETURN QUERY SELECT stepadv_internal.import_verifiers_trace(document, t.v, source) FROM jsonb_array_elements(document -> 'traces') WITH ORDINALITY t(v, i) ORDER BY t.i;
		IF NOT FOUND THEN
			RETURN NEXT '{"dropped": {"episodes without a trace": 1}}'::jsonb;
		END IF;
		RETURN;
	ELSIF jsonb_typeof(document -> 'nodes') = 'array' THEN
		RETURN NEXT stepadv_internal.import_verifiers_trace(document, document, source);
		RETURN;
	END IF;
	RETURN QUERY
	SELECT stepadv_internal.import_keep(stepadv_internal.import_about(document) || jsonb_strip_nulls(jsonb_build_object('truncated', document -> 'is_truncated',
			'started_at', CASE WHEN jsonb_typeof(document #> '{timing,start_time}') = 'number' THEN to_jsonb(to_timestamp((document #>> '{timing,start_time}')::float8)) END))
		|| jsonb_build_object('group_id', concat_ws('/', coalesce(document ->> 'env_id', CASE WHEN jsonb_typeof(document -> 'task') = 'string' THEN document ->> 'task' END), document ->> 'example_id'),
			'rollout_id', coalesce(document ->> 'trajectory_id', document ->> 'rollout_id', concat(f.rollout, ':' || n), stepadv_internal.import_digest(document)),
			'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_verifiers.source)) || (document - '{prompt,completion,reward,example_id,is_truncated,trajectory}'::text[]),
			'steps', c.steps, 'dropped', c.dropped, 'repaired', c.repaired), c.messages)
	FROM (SELECT 1) one
	LEFT JOIN LATERAL stepadv_internal.import_names(parse_verifiers.source) f ON true
	CROSS JOIN LATERAL stepadv_internal.import_completion(document -> 'prompt', document -> 'completion') c;
END
$$;

COMMENT ON FUNCTION @extschema@.parse_verifiers(jsonb, text, bigint) IS
'the rollouts of a line that verifiers saves: of results.jsonl (example_id, prompt, completion, reward; the group is the environment and the example, n the number of the line in source), or of traces.jsonl (traces or nodes; a rollout for each trace, the group is the environment and the task); one jsonb as in docs/import.md';

CREATE OR REPLACE FUNCTION stepadv_internal.import_marks() RETURNS TABLE (format text, variant integer, in_list boolean, mark jsonpath, words text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 50
SET search_path = pg_catalog, pg_temp
AS $$
	VALUES ('openai_chat'::text, 1, false, 'strict $.messages ? (@.type() == "array")'::jsonpath, 'a list messages'::text),
		('openai_chat', 1, false, '$ ? (!(exists(@.termination_reason) && exists(@.task_id) && exists(@.start_time)) && !exists(@.trajectory_format) && !exists(@.info.mini_version) && !exists(@.trajectory) && !exists(@.response))', 'nothing of another format beside messages'),
		('openai_chat', 2, false, 'strict $.traj ? (@.type() == "array")', 'a list traj'),
		('openai_chat', 3, false, '$ ? (@.role.type() == "string" && !exists(@.kind))', 'a list of messages, each with a role'),
		('openai_chat', 3, true, 'strict $ ? (@.type() == "array")', 'the list itself'),
		('openai_chat', 3, true, '$ ? (!exists($[*].raw_item) && !exists($[*] ? (@.type == "function_call" || @.type == "function_call_output" || @.content[*].type == "output_text")))', 'no items of the Responses interface among them'),
		('openai_chat', 4, false, 'strict $.simulations ? (@.type() == "array")', 'a list simulations'),
		('openai_chat', 4, false, '$ ? (!exists(@.info.environment_info))', 'simulations that are not those of tau2'),
		('swe_agent', 1, false, 'strict $.trajectory ? (@.type() == "array")', 'a list trajectory'),
		('swe_agent', 1, false, '$ ? (!exists(@.trajectory[0]) || exists(@.trajectory[0].action) && exists(@.trajectory[0].observation))', 'trajectory[*].action and observation'),
		('swe_agent', 2, false, '$.history[*] ? (@.role == "assistant" && exists(@.action))', 'history[*] of the role assistant with an action'),
		('swe_agent', 2, false, '$ ? (!exists(@.trajectory) && !exists(@.messages))', 'nothing of another format beside history'),
		('mini_swe_agent', 1, false, 'strict $.messages ? (@.type() == "array")', 'a list messages'),
		('mini_swe_agent', 1, false, '$ ? (@.trajectory_format starts with "mini-swe-agent" || exists(@.info.mini_version))', 'trajectory_format "mini-swe-agent…" or info.mini_version'),
		('responses', 1, false, 'strict $.output ? (@.type() == "array")', 'a list output, or response.output'),
		('responses', 1, false, '$ ? (!exists(@.output[0]) || exists(@.output[*].type))', 'output[*].type'),
		('responses', 2, false, 'strict $.response.output ? (@.type() == "array")', 'a list output, or response.output'),
		('responses', 3, true, 'strict $ ? (@.type() == "array")', 'a list of items'),
		('responses', 3, true, '$ ? (exists($[*].raw_item) || exists($[*].rawItem) || exists($[*] ? (@.type == "function_call" || @.type == "function_call_output" || @.content[*].type == "output_text")))', 'items like function_call, function_call_output or message, or raw_item'),
		('responses', 4, false, '$ ? (exists(@.new_items[*].raw_item) || exists(@.newItems[*].rawItem) || exists(@.generated_items[*].raw_item) || exists(@.generatedItems[*].rawItem))', 'new_items[*].raw_item'),
		('verl', 1, false, '$.input ? (@.type() == "string")', 'a string input'),
		('verl', 1, false, '$.output ? (@.type() == "string")', 'a string output'),
		('verl', 1, false, '$ ? (exists(@.score) || exists(@.reward))', 'score beside input and output'),
		('verl', 1, false, '$ ? (exists(@.step) || exists(@.request_id) || exists(@.gts))', 'step (or gts, or request_id) beside input and output'),
		('verl', 1, false, '$ ? (!exists(@.steps))', 'an answer and no list of steps'),
		('intercode', 1, false, '$.turn_history ? (@.type() == "object")', 'an object turn_history in every episode'),
		('intercode', 2, false, '$.*.turn_history', 'an object turn_history in every episode'),
		('intercode', 3, false, '$.logs.*.turn_history', 'an object turn_history in every episode of logs'),
		('inspect', 1, false, 'strict $.samples ? (@.type() == "array")', 'a list samples (or header and sample, of an .eval file)'),
		('inspect', 1, false, '$.eval ? (exists(@.task) && exists(@.model))', 'eval.task and eval.model'),
		('inspect', 2, false, '$.header.eval.task', 'header.eval.task (of an .eval file)'),
		('inspect', 2, false, 'strict $.sample ? (@.type() == "object")', 'a sample beside it'),
		('openhands', 1, true, 'strict $ ? (@.type() == "array")', 'a list of events'),
		('openhands', 1, true, '$[*] ? (exists(@.source) && exists(@.id) && (exists(@.action) && exists(@.args) || exists(@.observation) && exists(@.cause)))', 'events with id, source, action and args, or observation and cause'),
		('openhands', 2, true, '$[*] ? (@.kind == "ActionEvent" || @.kind == "ObservationEvent")', 'events of the kinds ActionEvent and ObservationEvent'),
		('openhands', 3, false, '$ ? (exists(@.history[*] ? (exists(@.source) && (exists(@.action) || exists(@.observation)))) || exists(@.history[*] ? (@.kind == "ActionEvent")))', 'history[*].source with action or observation'),
		('openhands', 4, false, '$.trajectory[*] ? (exists(@.source) && exists(@.args) && exists(@.action))', 'trajectory[*].source, action and args'),
		('atif', 1, false, '$ ? (@.schema_version starts with "ATIF-v")', 'schema_version "ATIF-v…"'),
		('atif', 1, false, 'strict $.steps ? (@.type() == "array")', 'a list steps'),
		('tau2', 1, false, 'strict $.simulations ? (@.type() == "array")', 'a list simulations (or a simulation alone)'),
		('tau2', 1, false, '$.info ? (exists(@.agent_info) && exists(@.environment_info))', 'info.agent_info and info.environment_info'),
		('tau2', 2, false, '$ ? (exists(@.termination_reason) && exists(@.task_id) && exists(@.start_time))', 'termination_reason, task_id and start_time'),
		('tau2', 2, false, 'strict $.messages ? (@.type() == "array")', 'a list messages'),
		('tau2', 3, false, '$ ? (exists(@.termination_reason) && exists(@.task_id) && exists(@.start_time))', 'termination_reason, task_id and start_time'),
		('tau2', 3, false, '$ ? (@.messages.type() != "array" && @.ticks.type() == "array" || !exists(@.messages) && @.ticks.type() == "array")', 'a list ticks'),
		('verifiers', 1, false, '$ ? (exists(@.example_id) && exists(@.reward))', 'example_id and reward'),
		('verifiers', 1, false, '$ ? (exists(@.prompt) && exists(@.completion))', 'prompt and completion'),
		('verifiers', 2, false, 'strict $.traces ? (@.type() == "array")', 'a list traces (or nodes, of a trace alone)'),
		('verifiers', 2, false, '$ ? (exists(@.task.type) && exists(@.task.data) && exists(@.env))', 'env, task.type and task.data beside traces'),
		('verifiers', 3, false, 'strict $.nodes ? (@.type() == "array")', 'a list traces (or nodes, of a trace alone)'),
		('verifiers', 3, false, '$ ? (exists(@.task.type) && exists(@.task.data) && exists(@.rewards))', 'task.type, task.data and rewards beside nodes'),
		('trl', 1, false, '$ ? (exists(@.prompt) && exists(@.completion))', 'prompt and completion'),
		('trl', 1, false, '$ ? (exists(@.step) && exists(@.advantage) && !exists(@.example_id))', 'step and advantage'),
		('agent_r1', 1, false, '$ ? (exists(@.trajectory_uid) && exists(@.input))', 'trajectory_uid and input'),
		('agent_r1', 1, false, 'strict $.steps ? (@.type() == "array")', 'a list steps'),
		('agent_r1', 1, false, '$ ? (!exists(@.steps[0]) || exists(@.steps[0].step_index))', 'steps[*].step_index'),
		('claw_r1', 1, false, '$ ? (exists(@.trajectory_uid) && exists(@.prompt_uid) && exists(@.step_index))', 'prompt_uid, trajectory_uid and step_index'),
		('claw_r1', 1, false, '$ ? (@.prompt_ids.type() == "array" && @.response_ids.type() == "array")', 'lists prompt_ids and response_ids'),
		('claw_r1', 2, false, '$.steps[0] ? (exists(@.trajectory_uid) && exists(@.prompt_uid) && exists(@.step_index))', 'prompt_uid, trajectory_uid and step_index of steps[*]'),
		('otel', 1, false, '$ ? (@.resourceSpans.type() == "array" || @.resource_spans.type() == "array")', 'a list resourceSpans'),
		('otel', 2, false, '$.context ? (exists(@.trace_id) && exists(@.span_id))', 'context.trace_id and context.span_id'),
		('otel', 3, false, '$."context.trace_id"', 'context.trace_id and context.span_id'),
		('otel', 3, false, '$."context.span_id"', 'context.trace_id and context.span_id'),
		('otel', 4, false, '$.data[*].context ? (exists(@.trace_id) && exists(@.span_id))', 'context.trace_id and context.span_id'),
		('langfuse', 1, false, '$ ? (exists(@.id) && @.observations.type() == "array" && (!exists(@.observations[0]) || exists(@.observations[0].startTime) || exists(@.observations[0].start_time)))', 'id, and a list observations with startTime'),
		('langfuse', 2, false, '$ ? ((exists(@.traceId) || exists(@.trace_id)) && (exists(@.startTime) || exists(@.start_time)))', 'traceId and startTime'),
		('langfuse', 2, false, '$.type ? (@ == "GENERATION" || @ == "SPAN" || @ == "EVENT" || @ == "TOOL" || @ == "AGENT" || @ == "CHAIN" || @ == "RETRIEVER" || @ == "EMBEDDING" || @ == "EVALUATOR" || @ == "GUARDRAIL")', 'a type like "GENERATION"'),
		('langfuse', 3, false, '$ ? ((exists(@.traceId) || exists(@.trace_id)) && (exists(@.dataType) || exists(@.data_type)) && exists(@.name))', 'traceId, name and dataType of a score'),
		('langfuse', 4, false, '$ ? (exists(@.timestamp) && exists(@.bookmarked) && (exists(@.sessionId) || exists(@.session_id)))', 'timestamp, sessionId and bookmarked of a trace'),
		('langfuse', 5, false, '$.data[*] ? (exists(@.traceId) && exists(@.startTime) && exists(@.type))', 'data[*].traceId, startTime and type'),
		('steps', 1, false, '$ ? (exists(@.group_id) || exists(@.task_id))', 'task_id or group_id'),
		('steps', 1, false, '$.rollout_id', 'rollout_id'),
		('steps', 1, false, '$ ? (!exists(@.messages) && !exists(@.traj) && !exists(@.trajectory) && !exists(@.turn_history) && !exists(@.output) && !exists(@.response) && !exists(@.steps))', 'a step a line, no list of them')
$$;

COMMENT ON FUNCTION stepadv_internal.import_marks() IS
'part of rollout_format: what each format is recognised by; all marks of one variant must find something in the document (in_list: in a list as such, else in its first element), words say what that is';

CREATE OR REPLACE FUNCTION stepadv_internal.import_missing(document jsonb) RETURNS TABLE (format text, variant integer, missing text[])
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT m.format, m.variant, coalesce(array_agg(m.words) FILTER (WHERE jsonb_path_exists(CASE WHEN m.in_list THEN x.whole ELSE x.first END, m.mark, '{}'::jsonb, true) IS NOT TRUE), '{}'::text[])
	FROM (SELECT import_missing.document AS whole, CASE WHEN jsonb_typeof(import_missing.document) = 'array' THEN import_missing.document -> 0 ELSE import_missing.document END AS first OFFSET 0) x,
		stepadv_internal.import_marks() m
	GROUP BY m.format, m.variant;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_missing(jsonb) IS 'part of rollout_format: every variant of every format, and which of its marks a document lacks';

CREATE OR REPLACE FUNCTION stepadv_internal.import_formats() RETURNS TABLE (format text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT f.format
	FROM (SELECT m.format, min(m.i) AS i FROM stepadv_internal.import_marks() WITH ORDINALITY m(format, variant, in_list, mark, words, i) GROUP BY m.format
		UNION ALL VALUES ('react'::text, 1000::bigint), ('paths', 1001)) f
	ORDER BY f.i;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_formats() IS 'part of import_rollouts: all formats by name: those that a document tells, text logs (react), and paths';

CREATE OR REPLACE FUNCTION @extschema@.rollout_formats(document jsonb) RETURNS TABLE (format text, fits boolean, missing text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- Of several variants the one that lacks least tells.
	RETURN QUERY
	SELECT DISTINCT ON (m.format) m.format, cardinality(m.missing) = 0, nullif(array_to_string(m.missing, '; '), '')
	FROM stepadv_internal.import_missing(rollout_formats.document) m
	ORDER BY m.format, cardinality(m.missing), m.variant;
END
$$;

COMMENT ON FUNCTION @extschema@.rollout_formats(jsonb) IS
'each format that import_rollouts tells by a document''s shape, whether the document has it, and else what is missing (NULL where it fits); NULL document: as one that has nothing';

CREATE OR REPLACE FUNCTION @extschema@.rollout_format(document jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT min(m.format)
		FROM stepadv_internal.import_missing(rollout_format.document) m WHERE m.missing = '{}'
		HAVING count(DISTINCT m.format) = 1);
END
$$;

COMMENT ON FUNCTION @extschema@.rollout_format(jsonb) IS
'the format of a document as import_rollouts knows it, by what no other format has, or steps for a line of load_rollouts; NULL: none of them, or more than one (rollout_formats says which)';

CREATE OR REPLACE FUNCTION stepadv_internal.import_is(document jsonb, format text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN EXISTS (
		SELECT FROM stepadv_internal.import_marks() m
		WHERE m.format = import_is.format
		GROUP BY m.variant
		HAVING bool_and(jsonb_path_exists(CASE WHEN jsonb_typeof(import_is.document) = 'array' AND NOT m.in_list THEN import_is.document -> 0 ELSE import_is.document END, m.mark, '{}'::jsonb, true) IS TRUE));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_is(jsonb, text) IS 'part of import_rollouts: whether a document has the marks of a format';

CREATE OR REPLACE FUNCTION stepadv_internal.import_keys(document jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	item CONSTANT jsonb := CASE WHEN jsonb_typeof(document) = 'array' THEN document -> 0 ELSE document END;
	keys text;
BEGIN
	IF jsonb_typeof(item) = 'object' THEN
		SELECT string_agg(k.key, ', ' ORDER BY k.i) || CASE WHEN max(k.n) > 20 THEN ', …' ELSE '' END INTO keys
		FROM (SELECT left(regexp_replace(o.key, '[[:cntrl:]]', '?', 'g'), 40) AS key, o.i, count(*) OVER () AS n FROM jsonb_object_keys(item) WITH ORDINALITY o(key, i)) k WHERE k.i <= 20;
	END IF;
	RETURN CASE WHEN keys IS NOT NULL THEN CASE WHEN jsonb_typeof(document) = 'array' THEN 'in a list: ' ELSE '' END || keys
		WHEN item IS NULL THEN 'an empty list' ELSE format('%s%s', CASE WHEN jsonb_typeof(document) = 'array' THEN 'in a list: ' ELSE '' END, 'no object but ' || CASE jsonb_typeof(item) WHEN 'null' THEN 'null' ELSE 'a ' || jsonb_typeof(item) END) END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_keys(jsonb) IS 'part of import_rollouts: the keys at the top of a document, the first 20, or of the first element of a list';

CREATE OR REPLACE FUNCTION stepadv_internal.import_unknown(document jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT CASE WHEN count(*) > 1 THEN format('the document may be %s: say which', string_agg(f.format, ' or ' ORDER BY f.format COLLATE "C")) ELSE 'the document has no known format' END
		FROM @extschema@.rollout_formats(import_unknown.document) f WHERE f.fits);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_unknown(jsonb) IS 'part of import_rollouts: in words, that a document has no known format, or which ones it may have';

CREATE OR REPLACE FUNCTION stepadv_internal.import_document(document text, content jsonb, format text, source text, n bigint, paths jsonb, is_latin1 boolean,
	OUT rollouts jsonb[], OUT nul_replaced integer, OUT problem text)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	detail text;
BEGIN
	nul_replaced := 0;
	BEGIN
		IF octet_length(document) > stepadv_internal.import_limit() THEN
			problem := format('it has %s MB, more than the 256 that a document may have', octet_length(document) / 1048576);
			RETURN;
		END IF;
		-- A long text is looked through only if it does not begin like JSON.
		IF document IS NOT NULL AND (format = 'react' OR format IS NULL AND left(document, 1) NOT IN ('[', '{') AND document !~ '^\s*[[{]' AND document ~ '(^|\n)Action( [0-9]+)?: ') THEN
			IF is_latin1 THEN
				document := stepadv_internal.import_utf8(document);
			END IF;
			-- What the client made of NUL.
			nul_replaced := length(document) - length(replace(document, chr(26), ''));
			SELECT array_agg(r) INTO rollouts FROM @extschema@.parse_react(replace(document, chr(26), chr(65533)), source, n) r;
			IF paths IS NOT NULL AND format = 'react' THEN
				rollouts := stepadv_internal.import_override(rollouts, paths, source, n);
			END IF;
			RETURN;
		END IF;
		IF document IS NOT NULL THEN
			SELECT t.content, t.nul_replaced INTO content, nul_replaced FROM stepadv_internal.json_of_text(document, is_latin1) t;
		END IF;
		IF format IS NULL AND paths IS NULL THEN
			format := @extschema@.rollout_format(content);
		END IF;
		CASE coalesce(format, CASE WHEN paths IS NOT NULL THEN 'paths' END)
			WHEN 'openai_chat' THEN rollouts := nullif(stepadv_internal.import_openai_chat(content, source), '{}');
			WHEN 'swe_agent' THEN SELECT array_agg(r) INTO rollouts FROM @extschema@.parse_swe_agent(content, source, n) r;
			WHEN 'mini_swe_agent' THEN SELECT array_agg(r) INTO rollouts FROM @extschema@.parse_mini_swe_agent(content, source, n) r;
			WHEN 'responses' THEN SELECT array_agg(r) INTO rollouts FROM @extschema@.parse_responses(content, source, n) r;
			WHEN 'verl' THEN rollouts := ARRAY[stepadv_internal.import_verl(content, source, n)];
			WHEN 'intercode' THEN rollouts := nullif(stepadv_internal.import_intercode(content, source), '{}');
			WHEN 'react' THEN SELECT array_agg(r) INTO rollouts FROM @extschema@.parse_react(content #>> '{}', source, n) r;
			WHEN 'paths' THEN
				rollouts := stepadv_internal.import_by_paths(content, paths, source, n);
				IF rollouts IS NULL THEN
					problem := CASE WHEN paths -> 'rollouts' = '[]' THEN NULL ELSE stepadv_internal.import_path_unfound(content, paths, 'rollouts'::text, jsonb_build_object('document', content, 'source', source, 'n', n)) END;
				END IF;
			ELSE
				IF format = 'steps' THEN
					problem := 'this is a line for load_rollouts';
				ELSIF format IS NULL THEN
					problem := stepadv_internal.import_unknown(content);
				ELSE
					EXECUTE format('SELECT array_agg(r) FROM @extschema@.%I($1, $2, $3) r', 'parse_' || format) INTO rollouts USING content, source, n;
				END IF;
		END CASE;
		IF problem IS NULL AND rollouts IS NULL THEN
			problem := 'there is no rollout in the document';
		END IF;
		IF paths IS NOT NULL AND format <> 'paths' THEN
			rollouts := stepadv_internal.import_override(rollouts, paths, source, n);
		END IF;
	EXCEPTION WHEN data_exception OR program_limit_exceeded OR internal_error THEN
		GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
		IF SQLSTATE = 'XX000' AND problem NOT LIKE 'invalid memory alloc request%' THEN
			RAISE;
		END IF;
		problem := stepadv_internal.import_words_of_error(SQLSTATE, problem, detail);
		IF SQLSTATE = '22P02' AND format IS NULL AND left(ltrim(left(document, 100), E' \t\r\n'), 1) NOT IN ('{', '[') AND problem LIKE '%type json%' THEN
			problem := 'it is neither JSON nor a log of a ReAct agent';
		END IF;
		rollouts := NULL;
		nul_replaced := 0;
	END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_document(text, jsonb, text, text, bigint, jsonb, boolean) IS
'part of import_rollouts: a document, as text or as jsonb, as rollouts in our words; paths as import_path_specs gives them, beside another format as the user does; problem is NULL or says why it cannot be used';

CREATE OR REPLACE FUNCTION stepadv_internal.import_override(rollouts jsonb[], paths jsonb, source text, n bigint) RETURNS jsonb[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN ARRAY(
		SELECT CASE WHEN r.v ? 'problem' OR NOT r.v ?| '{task_id,group_id}' THEN r.v ELSE
			-- Who names one of task and group means what the rollouts are compared in.
			CASE WHEN f.v ?| '{task_id,group_id}' THEN r.v - '{task_id,group_id}'::text[] ELSE r.v END || f.v END
		FROM unnest(rollouts) WITH ORDINALITY r(v, i)
		CROSS JOIN LATERAL (SELECT coalesce(jsonb_object_agg(x.key, x.value), '{}') AS v
			FROM (SELECT e.key, jsonb_path_query_first(r.v, e.value::jsonpath, jsonb_build_object('source', source, 'n', n), true) AS value FROM jsonb_each_text(paths) e) x WHERE x.value <> 'null') f
		ORDER BY r.i);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_override(jsonb[], jsonb, text, bigint) IS
'part of import_rollouts: rollouts of a format with what paths find in them in place of what the format says; paths as import_given_paths gives them';

CREATE OR REPLACE FUNCTION stepadv_internal.import_is_plain(rollout jsonb) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_is_plain';

COMMENT ON FUNCTION stepadv_internal.import_is_plain(jsonb) IS 'part of import_rollouts: true where import_problem has nothing to say, false where it must be asked';

CREATE OR REPLACE FUNCTION stepadv_internal.import_token_problem(steps jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT format('step %s: %s', s.i, x.problem)
		FROM jsonb_array_elements(import_token_problem.steps) WITH ORDINALITY s(v, i),
			(VALUES (1, 'prompt_token_ids', 'number', 2147483647::numeric), (2, 'response_token_ids', 'number', 2147483647), (3, 'response_mask', 'boolean', NULL), (4, 'rollout_logprobs', 'number', 3e38)) k(i, name, type, most),
			LATERAL (SELECT CASE jsonb_typeof(s.v -> k.name) WHEN 'array' THEN s.v -> k.name ELSE '[]' END AS list, nullif(CASE jsonb_typeof(s.v -> 'response_token_ids') WHEN 'array' THEN jsonb_array_length(s.v -> 'response_token_ids') END, 0) AS n) l,
			LATERAL (SELECT CASE WHEN jsonb_typeof(s.v -> k.name) NOT IN ('array', 'null') THEN format('%s must be an array, not %s', k.name, jsonb_typeof(s.v -> k.name))
				WHEN EXISTS (SELECT FROM jsonb_array_elements(l.list) e(v) WHERE jsonb_typeof(e.v) <> k.type) THEN format('%s must be an array of %ss', k.name, k.type)
				WHEN k.type = 'number' AND EXISTS (SELECT FROM jsonb_array_elements_text(l.list) e(v) WHERE abs(e.v::numeric) > k.most OR k.i <= 2 AND e.v::numeric % 1 <> 0) THEN format('%s must be an array of %s', k.name, CASE WHEN k.i <= 2 THEN 'whole numbers' ELSE 'numbers within range' END)
				WHEN k.i > 2 AND jsonb_array_length(l.list) > 0 AND jsonb_array_length(l.list) <> l.n THEN format('%s must be as long as response_token_ids', k.name) END AS problem) x
		WHERE x.problem IS NOT NULL
		ORDER BY s.i, k.i LIMIT 1);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_token_problem(jsonb) IS 'part of import_rollouts: why lists of tokens in steps cannot be loaded, or NULL';

CREATE OR REPLACE FUNCTION stepadv_internal.import_problem(rollout jsonb) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $import_problem$
DECLARE
	detail text;
BEGIN
	IF rollout ? 'problem' THEN
		RETURN rollout ->> 'problem';
	ELSIF coalesce(jsonb_typeof(coalesce(rollout -> 'group_id', rollout -> 'task_id')), 'missing') NOT IN ('string', 'number')
		OR coalesce(jsonb_typeof(rollout -> 'rollout_id'), 'missing') NOT IN ('string', 'number') THEN
		RETURN 'group_id and rollout_id must be strings or numbers';
	ELSIF jsonb_path_exists(rollout, $path$$ ? (@.task_id.type() == "object" || @.task_id.type() == "array" || @.task_id.type() == "boolean"
		|| @.run_id.type() == "object" || @.run_id.type() == "array" || @.run_id.type() == "boolean")$path$)
	THEN
		RETURN 'task_id and run_id must be strings or numbers';
	ELSIF jsonb_path_exists(rollout, $path$$.policy_step ? (@.type() != "null" && (@.type() != "number" || @ > 9223372036854775807 || @ < -9223372036854775808 || @ % 1 != 0))$path$) THEN
		RETURN 'policy_step must be a whole number';
	ELSIF jsonb_path_exists(rollout, $path$$ ? (@.outcome.type() != "number" && @.outcome.type() != "null" || @.success.type() != "boolean" && @.success.type() != "null"
		|| @.truncated.type() != "boolean" && @.truncated.type() != "null" || @.outcome > 1e300 || @.outcome < -1e300
		|| @.channel.type() != "null" && @.channel != "train" && @.channel != "validation"
		|| @.started_at.type() != "string" && @.started_at.type() != "null" || @.ended_at.type() != "string" && @.ended_at.type() != "null")$path$)
	THEN
		RETURN (
			SELECT x.problem
			FROM (VALUES (1, 'outcome', 'number'), (2, 'success', 'boolean'), (3, 'truncated', 'boolean'), (4, 'channel', 'string'), (5, 'started_at', 'string'), (6, 'ended_at', 'string')) k(i, name, type),
				LATERAL (SELECT CASE WHEN jsonb_typeof(rollout -> k.name) NOT IN (k.type, 'null') THEN format('%s must be a %s, not %s', k.name, k.type, jsonb_typeof(rollout -> k.name))
					WHEN k.name = 'outcome' AND abs((rollout ->> 'outcome')::numeric) > 1e300 THEN 'outcome is out of range'
					WHEN k.name = 'channel' AND rollout ->> 'channel' NOT IN ('train', 'validation') THEN 'channel must be train or validation' END AS problem) x
			WHERE x.problem IS NOT NULL
			ORDER BY k.i LIMIT 1);
	ELSIF jsonb_path_exists(rollout, $path$$.steps[*] ? (@.reward.type() != "number" && @.reward.type() != "null" || @.turn_reward.type() != "number" && @.turn_reward.type() != "null"
		|| @.value.type() != "number" && @.value.type() != "null" || @.cost.type() != "number" && @.cost.type() != "null"
		|| @.reward > 1e300 || @.reward < -1e300 || @.turn_reward > 1e300 || @.turn_reward < -1e300 || @.value > 1e300 || @.value < -1e300 || @.cost > 1e300 || @.cost <= 0
		|| @.ok.type() != "boolean" && @.ok.type() != "null" || @.tool.type() != "string" && @.tool.type() != "null"
		|| @.step_no.type() != "number" && @.step_no.type() != "null" || @.turn.type() != "number" && @.turn.type() != "null" || @.turn > 2147483647 || @.turn < -2147483648)$path$)
	THEN
		RETURN (
			SELECT format('step %s: %s', s.i, CASE
				WHEN jsonb_typeof(s.v -> k.name) NOT IN (k.type, 'null') THEN format('%s must be a %s, not %s', k.name, k.type, jsonb_typeof(s.v -> k.name))
				WHEN k.name = 'cost' THEN 'cost must be a number above 0' ELSE k.name || ' is out of range' END)
			FROM jsonb_array_elements(rollout -> 'steps') WITH ORDINALITY s(v, i),
				(VALUES (1, 'reward', 'number', 1e300), (2, 'turn_reward', 'number', 1e300), (3, 'value', 'number', 1e300), (4, 'cost', 'number', 1e300),
					(5, 'step_no', 'number', 2147483647), (6, 'turn', 'number', 2147483647), (7, 'ok', 'boolean', 0), (8, 'tool', 'string', 0)) k(i, name, type, most)
			WHERE CASE WHEN jsonb_typeof(s.v -> k.name) NOT IN (k.type, 'null') THEN true
				WHEN jsonb_typeof(s.v -> k.name) = 'number' THEN abs((s.v ->> k.name)::numeric) > k.most OR k.name = 'cost' AND (s.v ->> k.name)::numeric <= 0
				ELSE false END
			ORDER BY s.i, k.i LIMIT 1);
	END IF;
	IF jsonb_path_exists(rollout, '$.steps[*].step_no') THEN
		detail := (
			SELECT CASE WHEN bool_or(x.step_no IS NULL) THEN 'step_no must be given for every step or none'
				WHEN bool_or(x.step_no % 1 <> 0 OR x.step_no NOT BETWEEN -2147483648 AND 2147483647) THEN 'step_no must be a whole number'
				WHEN count(DISTINCT x.step_no) < count(*) THEN 'two steps have one step_no' END
			FROM (SELECT (s.v ->> 'step_no')::numeric AS step_no FROM jsonb_array_elements(rollout -> 'steps') s(v)) x);
		IF detail IS NOT NULL THEN
			RETURN detail;
		END IF;
	END IF;
	IF rollout ?| '{started_at,ended_at}' THEN
		BEGIN
			PERFORM (rollout ->> 'started_at')::timestamptz, (rollout ->> 'ended_at')::timestamptz;
		EXCEPTION WHEN data_exception THEN
			RETURN SQLERRM;
		END;
	END IF;
	IF jsonb_path_exists(rollout, '$.steps[*] ? (exists(@.prompt_token_ids) || exists(@.response_token_ids) || exists(@.response_mask) || exists(@.rollout_logprobs))') THEN
		RETURN stepadv_internal.import_token_problem(rollout -> 'steps');
	END IF;
	RETURN NULL;
END
$import_problem$;

COMMENT ON FUNCTION stepadv_internal.import_problem(jsonb) IS 'part of import_rollouts: why a rollout cannot be loaded, or NULL';

CREATE OR REPLACE FUNCTION stepadv_internal.import_guess(document text, is_latin1 boolean) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT @extschema@.rollout_format(t.content) FROM stepadv_internal.json_of_text(document, is_latin1) t);
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
	RETURN NULL;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_guess(text, boolean) IS 'part of import_rollouts: rollout_format of a text, NULL if it is no JSON';

CREATE OR REPLACE FUNCTION stepadv_internal.import_counts(counts jsonb[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(jsonb_object_agg(x.key, x.n), '{}')
		FROM (SELECT e.key, sum(e.value::bigint) AS n FROM unnest(import_counts.counts) c(v), jsonb_each_text(c.v) e GROUP BY e.key) x);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_counts(jsonb[]) IS 'part of import_rollouts: the sum of objects of counts by kind';

CREATE OR REPLACE FUNCTION stepadv_internal.import_given_paths(format text, paths jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT text[] := ARRAY(SELECT n.name FROM stepadv_internal.import_path_names() n WHERE n.place = 'rollout' AND n.name NOT IN ('steps', 'meta'));
	given record;
BEGIN
	IF import_given_paths.paths IS NULL OR coalesce(import_given_paths.format, 'paths') = 'paths' THEN
		RETURN stepadv_internal.import_path_specs(import_given_paths.paths);
	ELSIF jsonb_typeof(import_given_paths.paths) <> 'object' THEN
		RAISE EXCEPTION 'paths must be an object' USING ERRCODE = 'invalid_parameter_value', HINT = 'For example {"task_id": "$.meta.attributes.\"my.task\""}.';
	END IF;
	FOR given IN SELECT e.key, e.value, jsonb_typeof(e.value) AS type FROM jsonb_each(import_given_paths.paths) e LOOP
		IF given.key <> ALL (known) THEN
			RAISE EXCEPTION 'paths has the key %, which says nothing of a rollout', quote_ident(given.key)
				USING ERRCODE = 'invalid_parameter_value', HINT = format('Beside a format there are: %s.', array_to_string(known, ', '));
		ELSIF given.type <> 'string' THEN
			RAISE EXCEPTION 'the path of % must be a string, not %', given.key, given.type USING ERRCODE = 'invalid_parameter_value';
		END IF;
		PERFORM stepadv_internal.import_path_spec(given.key, given.value);
	END LOOP;
	RETURN import_given_paths.paths;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_given_paths(text, jsonb) IS
'part of import_rollouts: paths as import_document takes them: for the format paths (also NULL) those of import_path_specs, beside another format as they are; error where something is wrong with them';

CREATE OR REPLACE FUNCTION stepadv_internal.import_plain_format(documents regclass, format text, paths jsonb, is_latin1 boolean) RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	first text;
	kind text := import_plain_format.format;
BEGIN
	IF import_plain_format.paths IS NULL AND kind IS NULL THEN
		EXECUTE format($q$SELECT d.document::text FROM %s d WHERE d.document IS NOT NULL AND btrim(d.document::text, E' \t\r\n') <> '' LIMIT 1$q$, stepadv_internal.load_name(import_plain_format.documents)) INTO first;
		kind := stepadv_internal.import_guess(first, import_plain_format.is_latin1);
	END IF;
	RETURN CASE WHEN import_plain_format.paths IS NULL AND kind IN ('openai_chat', 'verl', 'intercode', 'claw_r1') THEN kind END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_plain_format(regclass, text, jsonb, boolean) IS
'part of import_rollouts: the format of documents, as the caller says or the first of them, if it is one that import_plain_query reads, or claw_r1; else NULL';

CREATE OR REPLACE FUNCTION stepadv_internal.import_plain_query(documents regclass, has_source boolean, format text, is_given boolean, is_latin1 boolean) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source CONSTANT text := CASE WHEN import_plain_query.has_source THEN 'd.source' ELSE 'NULL::text' END;
	json CONSTANT text := CASE WHEN import_plain_query.is_latin1 THEN 'stepadv_internal.import_utf8(d.document)::jsonb' ELSE 'd.document::jsonb' END;
	read CONSTANT text := format($q$FROM %s d WHERE ascii(left(d.document, 1)) > 32 OR btrim(d.document, E' \t\r\n') <> ''$q$, stepadv_internal.load_name(import_plain_query.documents));
	rollouts text;
BEGIN
	IF import_plain_query.format = 'verl' THEN
		-- Many, and read as they lie.
		RETURN format('SELECT d.n, 1::bigint AS i, 0 AS nul_replaced, NULL::text AS document_problem, stepadv_internal.import_verl(d.json, d.source, d.n) AS v
			FROM (SELECT d.n, %s AS source, %s AS json %s OFFSET 0) d', source, json, read);
	END IF;
	rollouts := format('stepadv_internal.import_%s(d.json, d.source)', import_plain_query.format);
	IF NOT import_plain_query.is_given THEN
		-- Each tells what it is; what is something else is read as that.
		rollouts := format('CASE WHEN stepadv_internal.import_is(d.json, %L::text) THEN %s
			ELSE (SELECT p.rollouts FROM stepadv_internal.import_document(NULL::text, d.json, NULL::text, d.source, d.n, NULL::jsonb, false) p) END', import_plain_query.format, rollouts);
	END IF;
	RETURN format('SELECT d.n, coalesce(r.i, 1) AS i, 0 AS nul_replaced, NULL::text AS document_problem, r.v
		FROM (SELECT d.n, %s AS source, %s AS json %s ORDER BY d.n OFFSET 0) d LEFT JOIN LATERAL unnest(%s) WITH ORDINALITY r(v, i) ON true', source, json, read, rollouts);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_plain_query(regclass, boolean, text, boolean, boolean) IS
'part of import_rollouts: import_query for documents that are text and most of them of one format, openai_chat, verl or intercode; is_given: all are, as the caller says, else each is asked';

CREATE OR REPLACE FUNCTION stepadv_internal.import_query(documents regclass, kind text, has_source boolean, format text, paths jsonb, is_latin1 boolean) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	filled CONSTANT text := CASE import_query.kind WHEN 'text' THEN $q$ascii(left(s.document, 1)) > 32 OR btrim(s.document, E' \t\r\n') <> ''$q$ ELSE 's.document IS NOT NULL' END;
	-- Decompressed once, for all that looks at it.
	read CONSTANT text := format('(SELECT s.n, s.document, %s FROM %s s WHERE %s ORDER BY s.n) s CROSS JOIN LATERAL (SELECT s.n, s.source, %s AS document OFFSET 0) d',
		CASE WHEN import_query.has_source THEN 's.source' ELSE 'NULL::text AS source' END, stepadv_internal.load_name(import_query.documents), filled,
		CASE import_query.kind WHEN 'text' THEN $q$s.document || ''$q$ ELSE 's.document' END);
BEGIN
	RETURN format('SELECT d.n, coalesce(r.i, 1) AS i, p.nul_replaced, p.problem AS document_problem, r.v
		FROM %s CROSS JOIN LATERAL stepadv_internal.import_document(%s, %L::text, d.source, d.n, %L::jsonb, %L::boolean) p LEFT JOIN LATERAL unnest(p.rollouts) WITH ORDINALITY r(v, i) ON true',
		read, CASE import_query.kind WHEN 'text' THEN 'd.document, NULL::jsonb' ELSE 'NULL::text, d.document' END, import_query.format, import_query.paths, import_query.is_latin1);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_query(regclass, text, boolean, text, jsonb, boolean) IS
'part of import_rollouts: the query for the rollouts of documents, whose number is n: the rollout v, the i-th of its document, and what is wrong with the document';

CREATE OR REPLACE FUNCTION stepadv_internal.import_nearest_format(format text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	meant CONSTANT text := regexp_replace(lower(left(import_nearest_format.format, 63)), '[^a-z0-9]+', '_', 'g');
BEGIN
	RETURN (
		SELECT f.format
		FROM (SELECT n.format FROM stepadv_internal.import_formats() n UNION SELECT 'steps') f
		CROSS JOIN LATERAL (SELECT @extschema@.text_similarity(f.format, meant) AS similarity, f.format LIKE '%' || replace(meant, '_', '\_') || '%' AND length(meant) >= 3 AS is_part) s
		WHERE s.similarity >= 0.6 OR s.is_part
		ORDER BY s.similarity DESC, f.format LIMIT 1);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_nearest_format(text) IS 'part of import_rollouts: the format whose name is most like this one; NULL: none is';

CREATE OR REPLACE FUNCTION stepadv_internal.import_check(documents regclass, format text, paths jsonb, OUT kind text, OUT has_source boolean, OUT specs jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	formats CONSTANT text[] := (SELECT array_agg(f.format) FROM stepadv_internal.import_formats() f WHERE f.format <> 'steps');
BEGIN
	IF import_check.format <> ALL (formats) THEN
		RAISE EXCEPTION 'unknown format: %', quote_literal(import_check.format)
			USING ERRCODE = 'invalid_parameter_value', HINT = concat('Perhaps you meant "' || stepadv_internal.import_nearest_format(import_check.format) || '". ', format('The formats: %s.', array_to_string(formats, ', ')));
	END IF;
	IF import_check.format = 'paths' AND import_check.paths IS NULL THEN
		RAISE EXCEPTION 'paths must be given with the format ''paths''' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	-- Wrong paths are wrong for every document.
	import_check.specs := stepadv_internal.import_given_paths(import_check.format, import_check.paths);
	SELECT max(format_type(a.atttypid, -1)) FILTER (WHERE a.attname = 'document' AND a.atttypid IN ('text'::regtype, 'jsonb'::regtype)),
		coalesce(bool_or(a.attname = 'source' AND a.atttypid = 'text'::regtype), false)
	INTO kind, has_source
	FROM pg_attribute a WHERE a.attrelid = import_check.documents AND NOT a.attisdropped AND a.attnum > 0
	HAVING bool_or(a.attname = 'n' AND a.atttypid = 'bigint'::regtype);
	IF kind IS NULL THEN
		RAISE EXCEPTION 'relation "%" must have the columns n bigint and document text or jsonb', import_check.documents
			USING ERRCODE = 'undefined_column';
	END IF;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_check(regclass, text, jsonb) IS
'part of import_rollouts: errors for wrong arguments; the type of the column document, whether there is a column source, and paths as import_document takes them';

CREATE OR REPLACE FUNCTION stepadv_internal.import_twins() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	WITH named AS MATERIALIZED (
		SELECT i.item, first_value(i.item) OVER w AS first_item
		FROM pg_temp.stepadv_items i WHERE i.problem IS NULL
		WINDOW w AS (PARTITION BY i.of_group, i.rollout_id ORDER BY i.item)
	)
	UPDATE pg_temp.stepadv_items i
	SET problem = CASE WHEN stepadv_internal.import_content(i.about, i.steps) = stepadv_internal.import_content(f.about, f.steps) THEN ''
		ELSE format('rollout %s of group %s is another than the one of that name in document %s', i.rollout_id, i.group_name, f.n) END
	FROM named t JOIN pg_temp.stepadv_items f ON f.item = t.first_item
	WHERE i.item = t.item AND t.first_item <> t.item;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_twins() IS 'part of import_rollouts: notes what rollouts of pg_temp.stepadv_items have the id of one before them';

CREATE OR REPLACE FUNCTION stepadv_internal.import_content(about jsonb, steps jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN @extschema@.signature_hash(about - '{meta,dropped,repaired}'::text[]) || ' ' || coalesce(@extschema@.signature_hash(steps)::text, '');
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_content(jsonb, jsonb) IS 'part of import_rollouts: what two rollouts have in common that say the same';

CREATE OR REPLACE FUNCTION stepadv_internal.import_make_items(schema text, run_id text, policy_version text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- What is long is fetched for its steps alone.
	EXECUTE format('CREATE TEMP TABLE stepadv_items (item bigint, n bigint, i bigint, nul_replaced integer, document_problem text, problem text, group_id text, task_id text, run_id text, policy_version text, rollout_id text,
		outcome float8, success boolean, n_steps integer, metadata jsonb, about jsonb, steps jsonb%s) ON COMMIT DROP',
		stepadv_internal.load_key_columns(import_make_items.schema, import_make_items.run_id, import_make_items.policy_version));
	ALTER TABLE pg_temp.stepadv_items ALTER steps SET STORAGE EXTERNAL, ALTER about SET STORAGE EXTERNAL;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_make_items(text, text, text) IS
'part of import_rollouts: makes pg_temp.stepadv_items, a rollout each (or a document without one)';

CREATE OR REPLACE FUNCTION stepadv_internal.import_fill_items(schema text, query text, group_prefix text, success_at float8) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($q$
		INSERT INTO pg_temp.stepadv_items
		SELECT row_number() OVER (), r.n, r.i, r.nul_replaced, r.document_problem, r.problem,
			-- Where a source tells tasks from groups, tables take what they are grouped by.
			CASE WHEN %L::boolean OR r.task_id IS NULL THEN $1 || r.group_id END,
			$1 || r.task_id, r.about ->> 'run_id', r.about ->> 'policy_version',
			-- An id that begins with that of its group goes with it.
			CASE WHEN starts_with(r.rollout_id, coalesce(r.group_id, r.task_id)) THEN $1 ELSE '' END || r.rollout_id,
			r.outcome,
			-- Sums of scores miss 1 by the last digit.
			CASE WHEN r.problem IS NULL THEN coalesce((r.about ->> 'success')::boolean, r.outcome >= $2 - 1e-9) END,
			coalesce(jsonb_array_length(r.steps), 0), nullif(r.about -> 'meta', 'null'), r.about, r.steps
		FROM (
			SELECT x.*, x.about ->> 'group_id' AS group_id, x.about ->> 'task_id' AS task_id, x.about ->> 'rollout_id' AS rollout_id,
				CASE WHEN x.problem IS NULL THEN (x.about ->> 'outcome')::float8 END AS outcome
			FROM (
				SELECT r.n, r.i, r.nul_replaced, r.document_problem, r.v - 'steps' AS about, r.v -> 'steps' AS steps,
					CASE WHEN NOT stepadv_internal.import_is_plain(r.v) THEN stepadv_internal.import_problem(r.v) END AS problem
				FROM (%s OFFSET 0) r
				OFFSET 0) x
			OFFSET 0) r
		$q$, 'group_id' = ANY ((SELECT s.keys FROM stepadv_internal.load_shape(import_fill_items.schema) s)::text[]), import_fill_items.query)
		USING import_fill_items.group_prefix, import_fill_items.success_at;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_fill_items(text, text, text, float8) IS
'part of import_rollouts: fills pg_temp.stepadv_items with what the query of import_query gives';

CREATE OR REPLACE FUNCTION stepadv_internal.import_verl_lines(schema text, query text, group_prefix text, success_at float8) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM stepadv_internal.import_fill_items(import_verl_lines.schema, import_verl_lines.query, import_verl_lines.group_prefix, import_verl_lines.success_at);
	-- Something else among them?
	IF EXISTS (SELECT FROM pg_temp.stepadv_items i WHERE i.problem IS NOT NULL AND i.about ? 'problem') THEN
		RAISE data_exception;
	END IF;
	RETURN true;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
	RETURN false;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_verl_lines(text, text, text, float8) IS
'part of import_rollouts: fills pg_temp.stepadv_items at once if all documents are good lines of verl; false: nothing was done, they must be looked at one by one';

CREATE OR REPLACE FUNCTION stepadv_internal.import_directly(schema text, documents regclass, query text, group_prefix text, success_at float8, run_id text, policy_version text, policy_step bigint,
	OUT n_read bigint, OUT stepless_rollouts bigint, OUT unjudged_rollouts bigint, OUT groups bigint, OUT rollouts_added bigint, OUT steps_added bigint, OUT dropped jsonb, OUT repaired jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- What may be read only once goes the long way.
	IF (SELECT c.relkind IN ('r', 'p', 'm') FROM pg_class c WHERE c.oid = import_directly.documents) THEN
		SELECT d.* INTO n_read, stepless_rollouts, unjudged_rollouts, import_directly.groups, rollouts_added, steps_added, import_directly.dropped, import_directly.repaired
		FROM stepadv_internal.load_directly(import_directly.schema, 'write_documents'::text,
			format('SELECT CASE WHEN q.nul_replaced = 0 AND q.document_problem IS NULL THEN q.v END, q.i = 1 FROM (%s) q', import_directly.query),
			0::bigint, import_directly.run_id, import_directly.policy_version, import_directly.policy_step, NULL::boolean, import_directly.group_prefix, import_directly.success_at) d;
	END IF;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_directly(text, regclass, text, text, float8, text, text, bigint) IS
'part of import_rollouts: what the query of import_query gives to the schema''s tables, and counts, if all of it is good and the tables have none of the rollouts; n_read NULL: nothing has happened, as that is not so or not sure';

CREATE OR REPLACE FUNCTION stepadv_internal.import_count_documents(OUT documents_read bigint, OUT bad_documents bigint, OUT nul_replaced bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT count(*), count(i.document_problem), coalesce(sum(i.nul_replaced), 0)
	INTO documents_read, bad_documents, import_count_documents.nul_replaced FROM pg_temp.stepadv_items i WHERE i.i = 1;
	IF bad_documents > 0 THEN
		INSERT INTO pg_temp.stepadv_problems (n, reason, counted) SELECT i.n, i.document_problem, 'document' FROM pg_temp.stepadv_items i WHERE i.document_problem IS NOT NULL;
	END IF;
	DELETE FROM pg_temp.stepadv_items i WHERE i.about IS NULL;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_count_documents() IS
'part of import_rollouts: counts the documents that pg_temp.stepadv_items are of, notes their problems, and takes out those without a rollout';

CREATE OR REPLACE FUNCTION stepadv_internal.import_items(schema text, OUT rollouts_read bigint, OUT bad_rollouts bigint, OUT stepless_rollouts bigint, OUT unjudged_rollouts bigint,
	OUT rollouts_repeated bigint, OUT steps_repeated bigint, OUT dropped jsonb, OUT repaired jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT stepadv_internal.import_counts(array_agg(i.about -> 'dropped') FILTER (WHERE i.about -> 'dropped' <> '{}')),
		stepadv_internal.import_counts(array_agg(i.about -> 'repaired') FILTER (WHERE i.about -> 'repaired' <> '{}'))
	INTO import_items.dropped, import_items.repaired
	FROM pg_temp.stepadv_items i WHERE NOT i.about ? 'problem';
	-- What only says what was dropped is no rollout.
	DELETE FROM pg_temp.stepadv_items i WHERE NOT i.about ?| '{group_id,task_id,problem}';
	EXECUTE format($q$UPDATE pg_temp.stepadv_items i SET problem = CASE %s END || ' must be given' WHERE i.problem IS NULL AND i.of_group IS NULL$q$,
		stepadv_internal.load_key_list(import_items.schema, $t$WHEN i.k%2$s IS NULL THEN %3$s$t$::text, ' '::text));
	PERFORM stepadv_internal.import_twins();
	SELECT count(*), count(*) FILTER (WHERE i.problem <> ''), count(*) FILTER (WHERE i.problem = ''),
		coalesce(sum(i.n_steps) FILTER (WHERE i.problem = ''), 0)
	INTO rollouts_read, bad_rollouts, rollouts_repeated, steps_repeated
	FROM pg_temp.stepadv_items i;
	IF bad_rollouts + rollouts_repeated > 0 THEN
		INSERT INTO pg_temp.stepadv_problems (n, reason, counted, item) SELECT i.n, i.problem, 'bad', i.item FROM pg_temp.stepadv_items i WHERE i.problem <> '';
		DELETE FROM pg_temp.stepadv_items i WHERE i.problem IS NOT NULL;
	END IF;
	SELECT count(*) FILTER (WHERE i.n_steps = 0),
		count(*) FILTER (WHERE i.outcome IS NULL AND coalesce(jsonb_typeof(i.about -> 'success'), 'null') = 'null')
	INTO stepless_rollouts, unjudged_rollouts FROM pg_temp.stepadv_items i;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_items(text) IS
'part of import_rollouts: looks through pg_temp.stepadv_items, and counts; what cannot be loaded is noted and left out';

CREATE OR REPLACE FUNCTION stepadv_internal.import_lines(schema text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($q$
		INSERT INTO pg_temp.stepadv_parsed (n, item, place, group_id, rollout_id, step_no, turn, observation, next_observation, action, tool, args, ok,
			reward, turn_reward, value, cost, prompt_token_ids, response_token_ids, response_mask, rollout_logprobs, metadata, task_id, run_id, policy_version, group_name, %1$s)
		SELECT i.item * 2147483648 + s.i, i.item, i.n, i.group_id, i.rollout_id, coalesce(s.step_no, s.i - 1), s.turn,
			s.observation, s.next_observation, s.action, s.tool, s.args, s.ok, s.reward, s.turn_reward, s.value, s.cost,
			nullif(s.prompt_token_ids, '{}'), nullif(s.response_token_ids, '{}'), nullif(s.response_mask, '{}'), nullif(s.rollout_logprobs, '{}'), s.meta, i.task_id, i.run_id, i.policy_version, i.group_name, %2$s
		FROM pg_temp.stepadv_items i CROSS JOIN LATERAL ROWS FROM (jsonb_to_recordset(i.steps) AS (step_no numeric, turn numeric, observation text, next_observation text,
			action text, tool text, args jsonb, ok boolean, reward float8, turn_reward float8, value float8, cost float8,
			prompt_token_ids integer[], response_token_ids integer[], response_mask boolean[], rollout_logprobs real[], meta jsonb)) WITH ORDINALITY
			s(step_no, turn, observation, next_observation, action, tool, args, ok, reward, turn_reward, value, cost, prompt_token_ids, response_token_ids, response_mask, rollout_logprobs, meta, i)
		$q$, stepadv_internal.load_key_list(import_lines.schema, 'k%2$s'::text, ', '::text), stepadv_internal.load_key_list(import_lines.schema, 'i.k%2$s'::text, ', '::text));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_lines(text) IS
'part of import_rollouts: makes lines in pg_temp.stepadv_parsed of the steps in pg_temp.stepadv_items';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_report(documents regclass, kind text, has_source boolean, is_latin1 boolean, specs jsonb, repaired jsonb, n_rollouts bigint, on_error text, INOUT problems jsonb, OUT told jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	unfound record;
	first text;
	source text;
	vars jsonb;
	item jsonb;
BEGIN
	told := import_path_report.repaired;
	IF import_path_report.specs IS NULL OR coalesce(told, '{}') = '{}' THEN
		RETURN;
	END IF;
	told := coalesce((SELECT jsonb_object_agg(e.key, e.value) FROM jsonb_each(import_path_report.repaired) e WHERE e.key NOT LIKE 'without %'), '{}');
	FOR unfound IN
		SELECT n.name FROM stepadv_internal.import_path_names() n
		WHERE (import_path_report.repaired ->> ('without ' || n.name))::bigint = import_path_report.n_rollouts
			-- Without steps nothing of them is found.
			AND (n.place <> 'step' OR coalesce((import_path_report.repaired ->> 'without steps')::bigint, 0) < import_path_report.n_rollouts)
	LOOP
		IF vars IS NULL THEN
			EXECUTE format('SELECT d.document::text, %s FROM %s d WHERE btrim(d.document::text) <> %L ORDER BY d.n LIMIT 1', CASE WHEN import_path_report.has_source THEN 'd.source' ELSE 'NULL::text' END,
				stepadv_internal.load_name(import_path_report.documents), '') INTO first, source;
			vars := (SELECT jsonb_build_object('document', t.content, 'source', replace(source, '/./', '/')) FROM stepadv_internal.json_of_text(first, import_path_report.is_latin1 AND import_path_report.kind = 'text') t);
			item := coalesce((SELECT i.v FROM stepadv_internal.import_path_items(vars -> 'document', import_path_report.specs #> '{rollouts,0}', '$'::text, vars) i(v) LIMIT 1), 'null');
		END IF;
		first := stepadv_internal.import_path_unfound(item, import_path_report.specs, unfound.name, vars);
		IF import_path_report.on_error = 'stop' THEN
			RAISE EXCEPTION '%', first USING ERRCODE = 'data_exception', DETAIL = 'In none of the documents. Nothing was loaded.', HINT = 'With on_error ''skip'' what was found is loaded.';
		END IF;
		RAISE WARNING '%', first;
		import_path_report.problems := import_path_report.problems || jsonb_build_object('path', unfound.name, 'problem', first);
	END LOOP;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_report(regclass, text, boolean, boolean, jsonb, jsonb, bigint, text, jsonb) IS
'part of import_rollouts: the counts of what was repaired without those of paths that found nothing in a rollout (told); a path that found nothing in all rollouts is an error with on_error ''stop'', else warned of and added to the problems';

CREATE OR REPLACE FUNCTION @extschema@.import_rollouts(schema text, documents regclass, format text DEFAULT NULL, on_error text DEFAULT 'stop',
	paths jsonb DEFAULT NULL, group_prefix text DEFAULT '', success_at float8 DEFAULT 1, is_latin1 boolean DEFAULT false,
	run_id text DEFAULT NULL, policy_version text DEFAULT NULL, policy_step bigint DEFAULT NULL, replace boolean DEFAULT false,
	OUT documents_read bigint, OUT bad_documents bigint, OUT rollouts_read bigint, OUT bad_rollouts bigint, OUT stepless_rollouts bigint, OUT unjudged_rollouts bigint,
	OUT groups bigint, OUT rollouts_added bigint, OUT rollouts_updated bigint, OUT rollouts_repeated bigint,
	OUT steps_added bigint, OUT steps_repeated bigint, OUT contradictions bigint, OUT nul_replaced bigint,
	OUT dropped jsonb, OUT repaired jsonb, OUT problems jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET jit = off
-- The same few queries for every document and rollout: planned once.
SET plan_cache_mode = force_generic_plan
-- A file's size does not show in the server's memory.
SET work_mem = '32MB'
AS $$
DECLARE
	kind text;
	has_source boolean;
	specs jsonb;
	n_sound bigint;
	-- Verl's lines are short and many: all at once the long way, too.
	plain text;
	direct record;
	bad bigint;
BEGIN
	-- Long texts take less time so; whoever has chosen something has it as chosen.
	PERFORM stepadv_internal.load_by_lz4() FROM pg_settings s WHERE s.name = 'default_toast_compression' AND s.source = 'default';
	PERFORM stepadv_internal.load_begin(import_rollouts.schema, import_rollouts.on_error);
	SELECT c.kind, c.has_source, c.specs INTO kind, has_source, specs FROM stepadv_internal.import_check(import_rollouts.documents, import_rollouts.format, import_rollouts.paths) c;
	plain := stepadv_internal.import_plain_format(import_rollouts.documents, import_rollouts.format, import_rollouts.paths, import_rollouts.is_latin1 AND kind = 'text');
	IF plain = 'claw_r1' THEN
		-- Many documents to one rollout.
		SELECT r.* INTO documents_read, bad_documents, rollouts_read, bad_rollouts, stepless_rollouts, unjudged_rollouts, import_rollouts.groups, rollouts_added, rollouts_updated, import_rollouts.rollouts_repeated,
			steps_added, import_rollouts.steps_repeated, contradictions, import_rollouts.nul_replaced, import_rollouts.dropped, import_rollouts.repaired, import_rollouts.problems
		FROM jsonb_to_record('{"rollouts_read": 0, "bad_rollouts": 0, "stepless_rollouts": 0, "unjudged_rollouts": 0, "rollouts_repeated": 0, "repaired": {}}'::jsonb
				|| stepadv_internal.import_record_steps(import_rollouts.schema, import_rollouts.documents, kind, import_rollouts.on_error, import_rollouts.group_prefix, import_rollouts.success_at, import_rollouts.is_latin1,
					import_rollouts.run_id, import_rollouts.policy_version, import_rollouts.policy_step, import_rollouts.replace))
			r(documents_read bigint, bad_documents bigint, rollouts_read bigint, bad_rollouts bigint, stepless_rollouts bigint, unjudged_rollouts bigint, groups bigint, rollouts_added bigint, rollouts_updated bigint,
				rollouts_repeated bigint, steps_added bigint, steps_repeated bigint, contradictions bigint, nul_replaced bigint, dropped jsonb, repaired jsonb, problems jsonb);
		rollouts_read := rollouts_added + rollouts_updated;
		RETURN;
	ELSIF kind <> 'text' THEN
		plain := NULL;
	END IF;
	direct := stepadv_internal.import_directly(import_rollouts.schema, import_rollouts.documents,
		CASE WHEN plain IS NULL THEN stepadv_internal.import_query(import_rollouts.documents, kind, has_source, import_rollouts.format, specs, import_rollouts.is_latin1)
			ELSE stepadv_internal.import_plain_query(import_rollouts.documents, has_source, plain, import_rollouts.format IS NOT NULL, import_rollouts.is_latin1) END,
		import_rollouts.group_prefix, import_rollouts.success_at, import_rollouts.run_id, import_rollouts.policy_version, import_rollouts.policy_step);
	IF direct.n_read IS NOT NULL THEN
		SELECT direct.n_read, 0, direct.rollouts_added, 0, direct.stepless_rollouts, direct.unjudged_rollouts, direct.groups, direct.rollouts_added, 0, 0, direct.steps_added, 0, 0, 0, direct.dropped, direct.repaired, '[]'
		INTO documents_read, bad_documents, rollouts_read, bad_rollouts, stepless_rollouts, unjudged_rollouts, import_rollouts.groups, rollouts_added, rollouts_updated, import_rollouts.rollouts_repeated,
			steps_added, import_rollouts.steps_repeated, contradictions, import_rollouts.nul_replaced, import_rollouts.dropped, import_rollouts.repaired, import_rollouts.problems;
		SELECT r.told, r.problems INTO import_rollouts.repaired, import_rollouts.problems
		FROM stepadv_internal.import_path_report(import_rollouts.documents, kind, has_source, import_rollouts.is_latin1, specs, import_rollouts.repaired, direct.rollouts_added, import_rollouts.on_error, import_rollouts.problems) r;
		RETURN;
	END IF;

	-- What the documents say of their rollouts.
	PERFORM stepadv_internal.load_make_parsed(import_rollouts.schema, import_rollouts.run_id, import_rollouts.policy_version, true);
	PERFORM stepadv_internal.import_make_items(import_rollouts.schema, import_rollouts.run_id, import_rollouts.policy_version);
	IF plain IS DISTINCT FROM 'verl' OR NOT stepadv_internal.import_verl_lines(import_rollouts.schema,
			stepadv_internal.import_plain_query(import_rollouts.documents, has_source, plain, import_rollouts.format IS NOT NULL, import_rollouts.is_latin1) || ' ORDER BY d.n', import_rollouts.group_prefix, import_rollouts.success_at)
	THEN
		PERFORM stepadv_internal.import_fill_items(import_rollouts.schema,
			stepadv_internal.import_query(import_rollouts.documents, kind, has_source, import_rollouts.format, specs, import_rollouts.is_latin1), import_rollouts.group_prefix, import_rollouts.success_at);
	END IF;
	SELECT c.* INTO documents_read, bad_documents, import_rollouts.nul_replaced FROM stepadv_internal.import_count_documents() c;
	n_sound := (SELECT count(*) FROM pg_temp.stepadv_items i WHERE i.about ?| '{task_id,group_id}' AND NOT i.about ? 'problem');
	SELECT i.* INTO rollouts_read, bad_rollouts, stepless_rollouts, unjudged_rollouts, import_rollouts.rollouts_repeated, import_rollouts.steps_repeated, import_rollouts.dropped, import_rollouts.repaired
	FROM stepadv_internal.import_items(import_rollouts.schema) i;
	SELECT p.bad_items, p.groups, p.rollouts_added, p.rollouts_updated, p.steps_added, p.steps_repeated + import_rollouts.steps_repeated, p.contradictions, p.problems, import_rollouts.rollouts_repeated + p.rollouts_repeated
	INTO bad, import_rollouts.groups, rollouts_added, rollouts_updated, steps_added, import_rollouts.steps_repeated, contradictions, import_rollouts.problems, import_rollouts.rollouts_repeated
	FROM stepadv_internal.load_parsed(import_rollouts.schema, import_rollouts.on_error, 'document'::text, true, import_rollouts.run_id, import_rollouts.policy_version, import_rollouts.policy_step, import_rollouts.replace) p;
	SELECT r.told, r.problems INTO import_rollouts.repaired, import_rollouts.problems
	FROM stepadv_internal.import_path_report(import_rollouts.documents, kind, has_source, import_rollouts.is_latin1, specs, import_rollouts.repaired, n_sound, import_rollouts.on_error, import_rollouts.problems) r;
END
$$;

COMMENT ON FUNCTION @extschema@.import_rollouts(text, regclass, text, text, jsonb, text, float8, boolean, text, text, bigint, boolean) IS
'loads documents of a scaffold''s format from a table (n bigint, document text or jsonb, and if there is one source text, the file) into the schema''s tables rollouts and steps and returns counts, of what was dropped and repaired by kind; format NULL: guessed for each document; paths as in parse_by_paths; group_prefix is put before the source''s ids of groups and tasks; run_id, policy_version, policy_step: of rollouts of which the source does not say; a rollout of which the source does not say so is a success if its outcome is at least success_at; on_error ''stop'': what cannot be used is an error and nothing is loaded; ''skip'': such documents and rollouts are left out whole, warned about and listed in problems (the first 1000); rollouts loaded before are recognised; is_latin1 as in parse_rollout_line; replace: a rollout that says something else than the tables, or has fewer steps, takes their rollout''s place and is counted in rollouts_updated, instead of being a contradiction';

CREATE OR REPLACE FUNCTION stepadv_internal.import_long_sources(schema text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	CREATE TEMP TABLE stepadv_long_sources (source text, marked text);
	EXECUTE format($q$
		INSERT INTO pg_temp.stepadv_long_sources
		SELECT DISTINCT replace(s.source, '/./', '/'), s.source
		FROM (SELECT CASE WHEN r.rollout_id LIKE '%%/%%--%%' THEN r.metadata ->> 'source' END AS source FROM %I.rollouts r) s WHERE s.source LIKE '%%/./%%'
		$q$, import_long_sources.schema);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_long_sources(text) IS 'part of stepadv-import: makes pg_temp.stepadv_long_sources of the files from which the schema''s rollouts have ids of several directories';

CREATE OR REPLACE FUNCTION stepadv_internal.import_source(schema text, source text) RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	plain CONSTANT text := replace(import_source.source, '/./', '/');
	marked text;
	is_short boolean;
BEGIN
	IF import_source.source IS NULL OR to_regclass(format('%I.rollouts', import_source.schema)) IS NULL
		OR NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = to_regclass(format('%I.rollouts', import_source.schema)) AND a.attname = 'metadata' AND a.atttypid = 'jsonb'::regtype)
	THEN
		RETURN import_source.source;
	END IF;
	IF import_source.source <> plain THEN
		-- Of these there are few.
		EXECUTE format('SELECT EXISTS (SELECT FROM %I.rollouts r WHERE CASE WHEN starts_with(r.rollout_id, $1) THEN r.metadata ->> ''source'' = $2 END)', import_source.schema)
			INTO is_short USING (SELECT f.rollout FROM stepadv_internal.import_names(plain) f), plain;
		RETURN CASE WHEN is_short THEN plain ELSE import_source.source END;
	END IF;
	IF to_regclass('pg_temp.stepadv_long_sources') IS NULL THEN
		PERFORM stepadv_internal.import_long_sources(import_source.schema);
	END IF;
	SELECT min(l.marked) INTO marked FROM pg_temp.stepadv_long_sources l WHERE l.source = plain;
	RETURN coalesce(marked, import_source.source);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_source(text, text) IS
'part of stepadv-import: a file''s path with the part "." of which its ids are made in the schema''s tables; as it was given where they have nothing of it';

CREATE OR REPLACE FUNCTION stepadv_internal.import_is_of_other(schema text, source text) RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_other boolean;
BEGIN
	EXECUTE format($q$
		SELECT bool_and(replace(r.metadata ->> 'source', '/./', '/') <> $2) FROM %I.rollouts r
		WHERE CASE WHEN starts_with(r.rollout_id, $1) THEN r.metadata ->> 'source' IS NOT NULL END
		$q$, import_is_of_other.schema) INTO is_other USING (SELECT f.rollout FROM stepadv_internal.import_names(import_is_of_other.source) f), replace(import_is_of_other.source, '/./', '/');
	RETURN coalesce(is_other, false);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_is_of_other(text, text) IS 'part of stepadv-import: whether the schema''s rollouts with the ids of a file''s name are all from other files';

CREATE OR REPLACE FUNCTION stepadv_internal.import_mark(is_latin1 boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE WHEN import_mark.is_latin1 THEN chr(239) || chr(187) || chr(191) ELSE convert_from('\xefbbbf', 'UTF8') END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_mark(boolean) IS 'part of import_rollouts: the byte order mark, as lines spell it';

CREATE OR REPLACE FUNCTION stepadv_internal.import_look(lines regclass, format text, is_latin1 boolean, OUT first_n bigint, OUT first text, OUT guessed text, OUT is_one boolean)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	relation CONSTANT text := stepadv_internal.load_name(import_look.lines);
	mark CONSTANT text := stepadv_internal.import_mark(import_look.is_latin1);
	second text;
BEGIN
	EXECUTE format($q$SELECT l.n, CASE WHEN octet_length(l.line) <= stepadv_internal.import_limit() THEN l.line ELSE left(l.line, 100) END FROM %s l WHERE ascii(l.line) > 32 OR btrim(l.line, E' \t\r\n') <> '' ORDER BY l.n LIMIT 1$q$, relation)
		INTO first_n, first;
	IF starts_with(first, mark) THEN
		first := substr(first, length(mark) + 1);
	END IF;
	guessed := stepadv_internal.import_guess(first, import_look.is_latin1);
	EXECUTE format($q$SELECT left(ltrim(left(l.line, 1000), E' \t\r'), 1) FROM %s l WHERE l.n > $1 AND (ascii(l.line) > 32 OR btrim(l.line, E' \t\r\n') <> '') ORDER BY l.n LIMIT 1$q$, relation) INTO second USING first_n;
	-- Two lines that both begin a value are two documents, unless the first leaves one
	-- open; what is printed over several lines begins with a bracket alone.
	is_one := (length(btrim(first, E' \t\r')) > 1 AND left(first, 1) IN ('{', '[') AND import_look.format IS DISTINCT FROM 'react'
		AND (second = left(first, 1) AND right(rtrim(right(first, 1000), E' \t\r'), 1) NOT IN (',', ':', '[', '{') OR second IN ('{', '[') AND guessed IS NOT NULL)) IS NOT TRUE;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_look(regclass, text, boolean) IS
'part of import_rollouts: of the lines of a file the first that is not empty, without a byte order mark, and its number; the format it has by itself; whether all lines are one document';

CREATE OR REPLACE FUNCTION stepadv_internal.import_make_documents(lines regclass, source text, first_n bigint, first text, is_one boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	relation CONSTANT text := stepadv_internal.load_name(import_make_documents.lines);
	n_bytes bigint;
BEGIN
	IF to_regclass('pg_temp.stepadv_file') IS NOT NULL THEN
		DROP TABLE pg_temp.stepadv_file;
	END IF;
	CREATE TEMP TABLE stepadv_file (n bigint, document text, source text) ON COMMIT DROP;
	ALTER TABLE pg_temp.stepadv_file ALTER document SET STORAGE EXTERNAL;
	IF import_make_documents.is_one THEN
		EXECUTE format('SELECT sum(octet_length(l.line) + 1) FROM %s l', relation) INTO n_bytes;
		IF n_bytes > stepadv_internal.import_limit() THEN
			RAISE EXCEPTION 'it has % MB, more than the 256 that a document may have', n_bytes / 1048576 USING ERRCODE = 'program_limit_exceeded';
		END IF;
		EXECUTE format($q$INSERT INTO pg_temp.stepadv_file SELECT 1, string_agg(CASE WHEN l.n = $1 THEN $2 ELSE l.line END, E'\n' ORDER BY l.n), $3 FROM %s l$q$, relation)
			USING import_make_documents.first_n, import_make_documents.first, import_make_documents.source;
	ELSE
		EXECUTE format('INSERT INTO pg_temp.stepadv_file SELECT l.n, CASE WHEN l.n = $1 THEN $2 ELSE l.line END, $3 FROM %s l', relation)
			USING import_make_documents.first_n, import_make_documents.first, import_make_documents.source;
	END IF;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_make_documents(regclass, text, bigint, text, boolean) IS
'part of import_rollouts: makes pg_temp.stepadv_file (n bigint, document text, source text) of the lines of a file';

CREATE OR REPLACE FUNCTION stepadv_internal.import_file(schema text, lines regclass, source text DEFAULT NULL, format text DEFAULT NULL, on_error text DEFAULT 'stop',
	paths jsonb DEFAULT NULL, group_prefix text DEFAULT '', success_at float8 DEFAULT 1, is_latin1 boolean DEFAULT false,
	run_id text DEFAULT NULL, policy_version text DEFAULT NULL, policy_step bigint DEFAULT NULL, replace boolean DEFAULT false) RETURNS jsonb
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_steps boolean := import_file.format IS NOT DISTINCT FROM 'steps';
	seen record;
	kind text;
	result jsonb;
BEGIN
	IF NOT is_steps THEN
		seen := stepadv_internal.import_look(import_file.lines, import_file.format, import_file.is_latin1);
		is_steps := import_file.format IS NULL AND import_file.paths IS NULL AND seen.guessed IS NOT DISTINCT FROM 'steps';
	END IF;
	IF is_steps THEN
		SELECT to_jsonb(l) - '{lines_read,empty_lines,bad_lines}'::text[] || jsonb_build_object('format', 'steps', 'documents_read', l.lines_read - l.empty_lines, 'bad_documents', l.bad_lines,
			'bad_rollouts', 0, 'dropped', '{}'::jsonb, 'repaired', '{}'::jsonb) INTO result
		FROM @extschema@.load_rollouts(import_file.schema, import_file.lines, import_file.on_error, import_file.is_latin1, import_file.run_id, import_file.policy_version, import_file.policy_step, import_file.replace) l;
		RETURN result;
	END IF;
	PERFORM stepadv_internal.import_make_documents(import_file.lines, import_file.source, seen.first_n, seen.first, seen.is_one);
	kind := coalesce(import_file.format, CASE WHEN import_file.paths IS NOT NULL THEN 'paths' END, seen.guessed);
	IF kind IN ('otel', 'langfuse') AND NOT seen.is_one THEN
		PERFORM stepadv_internal.import_gather(kind, import_file.is_latin1);
	ELSE
		-- One document has been asked: it is not read again to be asked the same.
		kind := CASE WHEN seen.is_one AND import_file.format IS NULL AND import_file.paths IS NULL THEN seen.guessed ELSE import_file.format END;
	END IF;
	SELECT to_jsonb(i) || jsonb_build_object('format', coalesce(import_file.format, CASE WHEN import_file.paths IS NOT NULL THEN 'paths' END, seen.guessed)) INTO result
	FROM @extschema@.import_rollouts(import_file.schema, 'pg_temp.stepadv_file'::regclass, kind, import_file.on_error, import_file.paths, import_file.group_prefix,
		import_file.success_at, import_file.is_latin1, import_file.run_id, import_file.policy_version, import_file.policy_step, import_file.replace) i;
	DROP TABLE pg_temp.stepadv_file;
	RETURN result;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_file(text, regclass, text, text, text, jsonb, text, float8, boolean, text, text, bigint, boolean) IS
'part of import_rollouts: the lines of one file (n bigint, line text), which are a document each or one document together, to import_rollouts; lines of steps to load_rollouts; the counts as one object';

CREATE OR REPLACE FUNCTION stepadv_internal.import_begin() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	CREATE TEMP TABLE stepadv_told (rollouts bigint, stepless bigint, judged bigint, timed bigint, of_version bigint, first_at timestamptz, last_at timestamptz,
		steps bigint, with_action bigint, with_state bigint, with_tokens bigint) ON COMMIT DELETE ROWS;
	CREATE TEMP TABLE stepadv_seen (rollout bigint PRIMARY KEY, judged integer, timed integer, of_version integer, steps bigint, with_action bigint, with_state bigint, with_tokens bigint);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_begin() IS 'part of stepadv-import: makes pg_temp.stepadv_told, so that import_one tells what the rollouts have, and pg_temp.stepadv_seen, so that one whose steps lie in several files is told of once';

CREATE OR REPLACE FUNCTION stepadv_internal.import_analyze(schema text, steps_added bigint) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	command text;
BEGIN
	IF steps_added * 10 < (SELECT c.reltuples FROM pg_class c WHERE c.oid = to_regclass(format('%I.steps', schema))) THEN
		RETURN;
	END IF;
	SELECT string_agg(t.columns, ', ' ORDER BY t.number) INTO command FROM (
		SELECT w.number, format('%I.%I (%s)', import_analyze.schema, w.name, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)) AS columns
		FROM unnest('{rollouts,steps}'::text[]) WITH ORDINALITY w(name, number)
		JOIN pg_attribute a ON a.attrelid = to_regclass(format('%I.%I', import_analyze.schema, w.name)) AND a.attnum > 0 AND NOT a.attisdropped
		WHERE a.attlen > 0 OR a.attname IN ('tool', 'channel', 'curation') OR EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND a.attnum = ANY (i.indkey))
		GROUP BY w.number, w.name) t;
	EXECUTE 'ANALYZE (SKIP_LOCKED) ' || command;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_analyze(text, bigint) IS 'part of stepadv-import: after so many steps came, statistics of the canonical tables, as far as plans look at them; none where that is less than a tenth of the steps';

CREATE OR REPLACE FUNCTION stepadv_internal.import_top(lines regclass, is_latin1 boolean) RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	seen CONSTANT record := stepadv_internal.import_look(import_top.lines, NULL::text, import_top.is_latin1);
	document text := seen.first;
	n_bytes bigint;
BEGIN
	EXECUTE format('SELECT sum(octet_length(l.line)) FROM %s l', stepadv_internal.load_name(import_top.lines)) INTO n_bytes;
	IF seen.is_one AND n_bytes > stepadv_internal.import_limit() THEN
		RETURN NULL;
	ELSIF seen.is_one THEN
		EXECUTE format($q$SELECT string_agg(l.line, E'\n' ORDER BY l.n) FROM %s l WHERE l.n > $1$q$, stepadv_internal.load_name(import_top.lines)) INTO document USING seen.first_n;
		document := concat_ws(E'\n', seen.first, document);
	END IF;
	RETURN (SELECT stepadv_internal.import_keys(t.content) FROM stepadv_internal.json_of_text(document, import_top.is_latin1) t);
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
	RETURN NULL;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_top(regclass, boolean) IS 'part of stepadv-import: import_keys of the first document of a file''s lines; NULL: it is no JSON';

CREATE OR REPLACE FUNCTION stepadv_internal.import_advice(result jsonb, format text, kept_going boolean, is_of_other boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	reason CONSTANT text := result #>> '{problems,0,problem}';
	usable CONSTANT bigint := (result ->> 'rollouts_added')::bigint + (result ->> 'rollouts_updated')::bigint + coalesce((result ->> 'rollouts_repeated')::bigint, 0);
BEGIN
	RETURN concat_ws('; ',
		CASE WHEN reason ~ 'known format|say which|no rollout in the document' AND import_advice.format IS NULL THEN '--explain shows what was looked for, -f names the format, -j says where things are' END,
		CASE WHEN import_advice.format = 'paths' AND reason ~ '^(success|truncated|outcome|.*: (ok|reward)) must be a (boolean|number), not string' THEN
			'a map of -j says what words mean, as {"path": "$.verdict", "map": {"pass": true, "fail": false}}' END,
		CASE WHEN import_advice.is_of_other THEN 'the tables have it from another file of that name: in one call with that file it has an id of its own, and -r RUN tells them apart'
			WHEN reason ~ 'is not what line [0-9]+ says' THEN CASE WHEN NOT import_advice.kept_going THEN '-k takes the first of such lines' END
			WHEN (result ->> 'contradictions')::bigint > 0 THEN '--update replaces what the tables have' END,
		CASE WHEN NOT import_advice.kept_going AND usable > 0 AND (result ->> 'bad_documents')::bigint + (result ->> 'bad_rollouts')::bigint > 0 THEN format('-k loads the other %s', usable) END);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_advice(jsonb, text, boolean, boolean) IS 'part of stepadv-import: which of its options may help with what a file''s counts say was left out';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_problem(format text, paths text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	IF import_path_problem.paths IS NULL THEN
		RETURN CASE WHEN import_path_problem.format = 'paths' THEN 'with -f paths, -j must say where things are; --explain shows paths to begin with' END;
	ELSIF import_path_problem.format = 'steps' THEN
		RETURN '-j is not for -f steps';
	END IF;
	PERFORM stepadv_internal.import_given_paths(import_path_problem.format, import_path_problem.paths::jsonb);
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN '-j: ' || message || coalesce(' (' || nullif(detail, '') || ')', '') || coalesce('; ' || nullif(hint, ''), '');
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_problem(text, text) IS 'part of stepadv-import: what is wrong with its options -f and -j, in words; NULL: nothing';

CREATE OR REPLACE FUNCTION stepadv_internal.import_lacks(INOUT result jsonb, paths jsonb, OUT lacks jsonb, OUT names text[], OUT others text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT coalesce(jsonb_agg(p.v ORDER BY p.i) FILTER (WHERE p.v ? 'path'), '[]'), coalesce(array_agg(p.v ->> 'path' ORDER BY p.i) FILTER (WHERE p.v ? 'path'), '{}'),
		jsonb_set(result, '{problems}', coalesce(jsonb_agg(p.v ORDER BY p.i) FILTER (WHERE NOT p.v ? 'path'), '[]'))
	INTO lacks, names, result
	FROM jsonb_array_elements(result -> 'problems') WITH ORDINALITY p(v, i);
	import_lacks.others := ARRAY(SELECT k.name FROM jsonb_object_keys(import_lacks.paths) k(name) WHERE k.name <> ALL (names)
		-- Without steps nothing was looked for in them.
		AND ('steps' <> ALL (names) OR k.name NOT IN (SELECT n.name FROM stepadv_internal.import_path_names() n WHERE n.place = 'step')));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_lacks(jsonb, jsonb) IS
'part of stepadv-import: the counts of a file without what is said of paths that found nothing in it, that by itself, their names, and the names of those that found something';

CREATE OR REPLACE FUNCTION stepadv_internal.import_one(schema text, lines regclass, source text, format text, keep_going boolean, paths jsonb, group_prefix text, success_at float8,
	run_id text, policy_version text, policy_step bigint, replace boolean, may_lack text)
RETURNS TABLE (kind text, name text, value text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET jit = off
SET client_min_messages = error
AS $$
DECLARE
	allowed CONSTANT text[] := string_to_array(import_one.may_lack, ',');
	is_of_other boolean := false;
	result jsonb;
	seen record;
	n_problems bigint := 0;
	message text;
	detail text;
	context text;
BEGIN
	BEGIN
		source := stepadv_internal.import_source(import_one.schema, import_one.source);
		result := stepadv_internal.import_file(import_one.schema, import_one.lines, source, import_one.format, 'skip'::text, import_one.paths, import_one.group_prefix,
			import_one.success_at, true, import_one.run_id, import_one.policy_version, import_one.policy_step, import_one.replace);
		n_problems := (result ->> 'bad_documents')::bigint + (result ->> 'bad_rollouts')::bigint + (result ->> 'contradictions')::bigint;
		seen := stepadv_internal.import_lacks(result, coalesce(import_one.paths, '{}'));
		result := seen.result;
		IF result ->> 'format' = 'steps' THEN
			-- Lines do not say it of themselves.
			result := result || (SELECT jsonb_build_object('stepless_rollouts', coalesce(sum(t.stepless), 0), 'unjudged_rollouts', coalesce(sum(t.rollouts) - sum(t.judged), 0)) FROM pg_temp.stepadv_told t);
		END IF;
		IF import_one.may_lack <> '*' AND NOT seen.names <@ allowed THEN
			RAISE EXCEPTION USING ERRCODE = 'SA004', MESSAGE = 'postponed';
		ELSIF n_problems > 0 AND NOT import_one.keep_going THEN
			RAISE EXCEPTION USING ERRCODE = 'SA003', MESSAGE = 'left out';
		END IF;
	EXCEPTION WHEN SQLSTATE 'SA003' THEN
		RETURN QUERY VALUES ('failed', 'rollouts', '');
	WHEN SQLSTATE 'SA004' THEN
		RETURN QUERY SELECT 'postponed', '', '' UNION ALL SELECT 'unfound', l.v ->> 'path', l.v ->> 'problem' FROM jsonb_array_elements(seen.lacks) l(v) UNION ALL SELECT 'found', f.name, '' FROM unnest(seen.others) f(name);
		RETURN;
	WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
		RETURN QUERY SELECT v.* FROM (VALUES ('failed', SQLSTATE, ''), ('problem', '', stepadv_internal.import_words_of_error(SQLSTATE, message, detail)), ('more', '', context)) v;
		RETURN;
	END;
	IF n_problems > 0 THEN
		is_of_other := (result ->> 'contradictions')::bigint > 0 AND stepadv_internal.import_is_of_other(import_one.schema, source);
		RETURN QUERY SELECT 'problem', '', concat(coalesce('document ' || (p.v ->> 'document'), 'line ' || (p.v ->> 'line')), ': ', p.v ->> 'problem', CASE WHEN n_problems > 1 THEN format(' (and %s more)', n_problems - 1) END,
				'; at the top: ' || stepadv_internal.import_top(import_one.lines, true),
				'; ' || nullif(stepadv_internal.import_advice(result, import_one.format, import_one.keep_going, is_of_other), ''))
			FROM jsonb_array_elements(result -> 'problems') WITH ORDINALITY p(v, i) WHERE p.i = 1;
		RETURN QUERY SELECT 'more', '', concat(coalesce('document ' || (p.v ->> 'document'), 'line ' || (p.v ->> 'line')), ': ', p.v ->> 'problem')
			FROM jsonb_array_elements(result -> 'problems') WITH ORDINALITY p(v, i) WHERE p.i > 1 ORDER BY p.i;
		IF NOT import_one.keep_going THEN
			RETURN;
		END IF;
	END IF;
	RETURN QUERY SELECT 'found', f.name, '' FROM unnest(seen.others) f(name) WHERE f.name <> ALL (allowed) AND import_one.may_lack <> '*';
	RETURN QUERY
	SELECT CASE WHEN e.value ~ '^[{]' THEN e.key ELSE 'count' END, coalesce(k.key, e.key), coalesce(k.value, e.value)
	FROM jsonb_each_text(result - '{problems,groups}'::text[]) e
	LEFT JOIN LATERAL jsonb_each_text(CASE WHEN e.value ~ '^[{]' THEN e.value::jsonb END) k ON true
	WHERE e.value !~ '^[{]' OR k.key IS NOT NULL;
	RETURN QUERY
	SELECT 'told', t.key, t.value
	FROM (SELECT jsonb_build_object('rollouts', sum(s.rollouts), 'judged', sum(s.judged), 'timed', sum(s.timed), 'of_version', sum(s.of_version), 'first_at', min(s.first_at), 'last_at', max(s.last_at),
			'steps', sum(s.steps), 'with_action', sum(s.with_action), 'with_state', sum(s.with_state), 'with_tokens', sum(s.with_tokens)) AS sums
		FROM pg_temp.stepadv_told s) x, jsonb_each_text(jsonb_strip_nulls(x.sums)) t;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_one(text, regclass, text, text, boolean, jsonb, text, float8, text, text, bigint, boolean, text) IS
'part of stepadv-import: a file''s lines into the schema''s tables, all or nothing unless keep_going, and what became of it as rows of kind, name and value; never an error but of an interrupt';

CREATE OR REPLACE FUNCTION stepadv_internal.import_words(role text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE import_words.role
		WHEN 'steps' THEN '{steps,turns,trajectory,history,transitions,events,messages,log,traj,interactions}'
		WHEN 'task_id' THEN '{task_id,instance_id,problem_id,question_id,env_id,task,problem,question,goal,id,idx,index}'
		WHEN 'rollout_id' THEN '{rollout_id,trajectory_id,episode_id,run_id,session_id,trace_id,uuid,trial,attempt,seed}'
		WHEN 'outcome' THEN '{outcome,reward,score,return,total_reward,final_reward}'
		WHEN 'success' THEN '{success,resolved,solved,won,correct,passed}'
		WHEN 'started_at' THEN '{started_at,start_time,timestamp,created_at}'
		WHEN 'observation' THEN '{observation,obs,state,saw,input,prompt,question,env}'
		WHEN 'action' THEN '{action,act,response,output,completion,did,command,content,text}'
		WHEN 'tool' THEN '{tool,tool_name,function,name}'
		WHEN 'args' THEN '{args,arguments,tool_input,parameters,action_input}'
		WHEN 'reward' THEN '{reward,step_reward,score,r}'
		ELSE '{}' END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_words(text) IS 'part of stepadv-import: keys by which sources name what a path of parse_by_paths finds, the likeliest first';

CREATE OR REPLACE FUNCTION stepadv_internal.import_first_key(record jsonb, role text, wanted text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT k.key FROM unnest(stepadv_internal.import_words(import_first_key.role)) WITH ORDINALITY k(key, i)
		WHERE jsonb_typeof(import_first_key.record) = 'object' AND jsonb_typeof(import_first_key.record -> k.key) = ANY (import_first_key.wanted) ORDER BY k.i LIMIT 1);
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_first_key(jsonb, text, text[]) IS 'part of stepadv-import: the likeliest key of a record for a role, of those whose values have one of these types of JSON';

CREATE OR REPLACE FUNCTION stepadv_internal.import_path_key(key text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE WHEN import_path_key.key ~ '^[A-Za-z_][A-Za-z0-9_]*$' AND lower(import_path_key.key) NOT IN ('is', 'to', 'last', 'flag', 'lax', 'strict', 'true', 'false', 'null', 'with', 'exists', 'unknown', 'starts', 'like_regex')
		THEN import_path_key.key ELSE to_json(import_path_key.key)::text END;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_path_key(text) IS 'part of stepadv-import: a key as a path of SQL/JSON spells it';

CREATE OR REPLACE FUNCTION stepadv_internal.import_likely_paths(document jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	item jsonb := CASE WHEN jsonb_typeof(document) = 'array' THEN document -> 0 ELSE document END;
	paths jsonb := CASE WHEN jsonb_typeof(document) = 'array' THEN '{"rollouts": "$[*]"}' ELSE '{}' END;
	key text := stepadv_internal.import_first_key(item, 'steps'::text, '{array}'::text[]);
	role text;
BEGIN
	IF key IS NULL AND jsonb_typeof(item) = 'object' THEN
		-- A list of records, one level down?
		SELECT k.key INTO role FROM jsonb_each(item) k WHERE jsonb_typeof(k.value) = 'array' AND stepadv_internal.import_first_key(k.value -> 0, 'steps'::text, '{array}'::text[]) IS NOT NULL LIMIT 1;
		IF FOUND THEN
			item := item -> role -> 0;
			paths := jsonb_build_object('rollouts', '$.' || stepadv_internal.import_path_key(role) || '[*]');
			key := stepadv_internal.import_first_key(item, 'steps'::text, '{array}'::text[]);
		END IF;
	END IF;
	FOREACH role IN ARRAY '{task_id,rollout_id,outcome,success,started_at}'::text[] LOOP
		paths := paths || coalesce((SELECT jsonb_build_object(role, '$.' || stepadv_internal.import_path_key(f)) FROM stepadv_internal.import_first_key(item, role,
			CASE role WHEN 'outcome' THEN '{number}' WHEN 'success' THEN '{boolean}' ELSE '{string,number}' END::text[]) f WHERE f IS NOT NULL), '{}'::jsonb);
	END LOOP;
	IF NOT paths ? 'task_id' THEN
		paths := paths || '{"task_id": "$source"}';
	END IF;
	IF key IS NOT NULL THEN
		paths := paths || jsonb_build_object('steps', '$.' || stepadv_internal.import_path_key(key) || '[*]');
		FOREACH role IN ARRAY '{observation,action,tool,args,reward}'::text[] LOOP
			paths := paths || coalesce((SELECT jsonb_build_object(role, '$.' || stepadv_internal.import_path_key(f)) FROM stepadv_internal.import_first_key(item -> key -> 0, role,
				CASE role WHEN 'reward' THEN '{number}' WHEN 'args' THEN '{object,string}' WHEN 'tool' THEN '{string}' ELSE '{string,object,array,number}' END::text[]) f WHERE f IS NOT NULL), '{}'::jsonb);
		END LOOP;
	END IF;
	RETURN paths;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_likely_paths(jsonb) IS 'part of stepadv-import: paths as parse_by_paths takes them, made of keys that often mean what they say: something to begin with';

CREATE OR REPLACE FUNCTION stepadv_internal.import_explain(lines regclass, source text) RETURNS SETOF text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
	seen record;
	document text;
	content jsonb;
	n_documents bigint;
BEGIN
	seen := stepadv_internal.import_look(import_explain.lines, NULL::text, true);
	IF seen.first IS NULL THEN
		RETURN NEXT 'the file is empty';
		RETURN;
	END IF;
	PERFORM stepadv_internal.import_make_documents(import_explain.lines, import_explain.source, seen.first_n, seen.first, seen.is_one);
	SELECT count(*) INTO n_documents FROM pg_temp.stepadv_file d WHERE btrim(d.document, E' \t\r\n') <> '';
	RETURN NEXT CASE WHEN seen.is_one THEN 'one document' ELSE format('%s documents, one a line', n_documents) END;
	-- (Not by reference to a table that goes.)
	SELECT d.document || '' INTO document FROM pg_temp.stepadv_file d WHERE btrim(d.document, E' \t\r\n') <> '' ORDER BY d.n LIMIT 1;
	DROP TABLE pg_temp.stepadv_file;
	BEGIN
		content := (SELECT t.content FROM stepadv_internal.json_of_text(document, true) t);
	EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
		RETURN NEXT format('no JSON: %s', SQLERRM);
		RETURN NEXT format('react: %s', CASE WHEN document ~ '(^|\n)Action( [0-9]+)?: ' THEN 'fits' ELSE 'no: no line begins with "Action: "' END);
		RETURN;
	END;
	RETURN NEXT format('%s at the top: %s', CASE WHEN seen.is_one THEN 'keys' ELSE 'keys of the first' END, stepadv_internal.import_keys(content));
	RETURN QUERY SELECT format('%s: %s', f.format, CASE WHEN f.fits THEN 'fits' ELSE 'no: without ' || f.missing END) FROM @extschema@.rollout_formats(content) f ORDER BY NOT f.fits, f.format COLLATE "C";
	RETURN NEXT coalesce('it is loaded as ' || @extschema@.rollout_format(content), stepadv_internal.import_unknown(content));
	RETURN NEXT format('paths to begin with: -j ''%s''', replace(stepadv_internal.import_likely_paths(content)::text, '''', '''\'''''));
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_explain(regclass, text) IS
'part of stepadv-import: what the lines of a file are, in words: documents, keys, each format and why it is not that one, and paths that may fit';

CREATE OR REPLACE FUNCTION stepadv_internal.import_preview(lines regclass, source text, format text, paths jsonb, group_prefix text, most integer)
RETURNS TABLE (task_id text, rollout_id text, outcome text, step_no bigint, turn text, observation text, action text, tool text, args text, ok text, reward text, next_observation text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
	seen record;
	kind text;
	is_gathered boolean;
	specs CONSTANT jsonb := stepadv_internal.import_given_paths(import_preview.format, import_preview.paths);
BEGIN
	seen := stepadv_internal.import_look(import_preview.lines, import_preview.format, true);
	kind := coalesce(import_preview.format, CASE WHEN import_preview.paths IS NOT NULL THEN 'paths' END, seen.guessed);
	IF kind = 'steps' THEN
		RETURN QUERY EXECUTE format($q$SELECT coalesce(p.task_id, p.group_id), p.rollout_id, p.outcome::text, p.step_no::bigint, p.turn::text, p.observation, p.action, p.tool, p.args::text, p.ok::text, p.reward::text, p.next_observation
			FROM (SELECT l.n, l.line FROM %s l WHERE btrim(l.line, E' \t\r\n') <> '' ORDER BY l.n LIMIT $1) l, LATERAL @extschema@.parse_rollout_line(l.line, true) p ORDER BY l.n$q$, stepadv_internal.load_name(import_preview.lines))
			USING import_preview.most;
		RETURN;
	END IF;
	PERFORM stepadv_internal.import_make_documents(import_preview.lines, import_preview.source, seen.first_n, seen.first, seen.is_one);
	is_gathered := coalesce(kind IN ('otel', 'langfuse'), false) AND NOT seen.is_one;
	IF is_gathered THEN
		PERFORM stepadv_internal.import_gather(kind, true);
	END IF;
	RETURN QUERY
	SELECT import_preview.group_prefix || coalesce(r.v ->> 'task_id', r.v ->> 'group_id'), r.v ->> 'rollout_id', r.v ->> 'outcome', coalesce((s.v ->> 'step_no')::bigint, s.i - 1), s.v ->> 'turn',
		s.v ->> 'observation', s.v ->> 'action', s.v ->> 'tool', s.v ->> 'args', s.v ->> 'ok', s.v ->> 'reward', s.v ->> 'next_observation'
	FROM (SELECT f.n, f.document::text AS document, f.source FROM pg_temp.stepadv_file f WHERE btrim(f.document::text, E' \t\r\n') <> '' ORDER BY f.n LIMIT 20) d,
		LATERAL stepadv_internal.import_document(CASE WHEN NOT is_gathered THEN d.document END, CASE WHEN is_gathered THEN d.document::jsonb END, CASE WHEN is_gathered THEN kind ELSE import_preview.format END, d.source, d.n, specs, true) p,
		LATERAL unnest(p.rollouts) WITH ORDINALITY r(v, i), LATERAL jsonb_array_elements(r.v -> 'steps') WITH ORDINALITY s(v, i)
	ORDER BY d.n, r.i, s.i LIMIT import_preview.most;
	DROP TABLE pg_temp.stepadv_file;
END
$$;

COMMENT ON FUNCTION stepadv_internal.import_preview(regclass, text, text, jsonb, text, integer) IS
'part of stepadv-import: the first steps of a file''s first 20 documents, as they would be stored';


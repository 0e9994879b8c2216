-- From a line of JSON to the columns of rollouts and steps, in SQL.  client/stepadv-load.psql
-- gets a file's lines into a staging table with every byte intact; see docs/tables.md.

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

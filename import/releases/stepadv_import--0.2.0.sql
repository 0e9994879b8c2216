-- stepadv_import: made from import/[0-9]*.sql by make; do not edit the joined file.
-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION stepadv_import CASCADE" to load this file. \quit

-- The schema has been there since stepadv was made, and whoever may create in it
-- may have put operators and functions there: no name is looked up in it that
-- does not say so.
SET LOCAL search_path = pg_catalog, pg_temp;

-- A step as every reader of lines gives it, and as it is written to the tables.
CREATE TYPE @extschema@.parsed_step AS (
	problem text, nul_replaced integer,
	group_id text, rollout_id text, step_no integer, turn integer,
	observation text, next_observation text, action text, tool text, args jsonb, ok boolean,
	reward float8, turn_reward float8, value float8, cost float8,
	prompt_token_ids integer[], response_token_ids integer[], response_mask boolean[], rollout_logprobs real[],
	metadata jsonb,
	outcome float8, success boolean, truncated boolean,
	policy_version text, model text, channel text, curation text,
	started_at timestamptz, ended_at timestamptz,
	content bigint);
COMMENT ON TYPE @extschema@.parsed_step IS
'a line of JSON Lines as parse_rollout_line gives it: the columns of rollouts and steps (docs/tables.md), content as a hash, and problem, NULL or why the line cannot be used';
-- From JSON Lines to the canonical tables, in SQL.  client/stepadv-load.psql gets a
-- file's lines into a staging table with every byte intact; see docs/tables.md.

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
	IF is_latin1 THEN
		document := convert_from(convert_to(document, 'LATIN1'), 'UTF8');
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
		@extschema@.signature_hash(j)
	FROM jsonb_to_record(j) x(group_id jsonb, rollout_id jsonb, step_no jsonb, turn jsonb, observation text, next_observation text,
			action text, tool jsonb, args jsonb, ok jsonb, reward jsonb, turn_reward jsonb, value jsonb, cost jsonb,
			prompt_token_ids integer[], response_token_ids integer[], response_mask boolean[], rollout_logprobs real[],
			outcome jsonb, success jsonb, truncated jsonb, policy_version jsonb, model jsonb, channel jsonb, curation jsonb,
			started_at jsonb, ended_at jsonb, meta jsonb),
		LATERAL (SELECT j - '{group_id,rollout_id,step_no,turn,observation,next_observation,action,tool,args,ok,reward,turn_reward,value,cost,prompt_token_ids,response_token_ids,response_mask,rollout_logprobs,outcome,success,terminal,truncated,policy_version,model,channel,curation,started_at,ended_at,meta}'::text[] AS rest OFFSET 0) y
	WHERE jsonb_typeof(x.group_id) IN ('string', 'number') AND jsonb_typeof(x.rollout_id) IN ('string', 'number')
		AND (jsonb_typeof(x.policy_version) IN ('string', 'number')) IS NOT FALSE
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
			('group_id', '{string,number}'::text[], true), ('rollout_id', '{string,number}', true),
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
	EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
		GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
		problem := left(problem || coalesce(' (' || nullif(detail, '') || ')', ''), 300);
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

-- What must be so before anything is read; and no temporary table of a load that
-- was called before in the same transaction.
CREATE FUNCTION stepadv_internal.load_begin(schema text, on_error text) RETURNS void
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
	IF to_regclass(format('%I.rollouts', load_begin.schema)) IS NULL OR to_regclass(format('%I.steps', load_begin.schema)) IS NULL THEN
		RAISE EXCEPTION 'schema "%" has no tables rollouts and steps', load_begin.schema
			USING ERRCODE = 'undefined_table', HINT = format('Make them with SELECT * FROM @extschema@.create_tables(%L).', load_begin.schema);
	END IF;
	FOREACH relic IN ARRAY ARRAY['stepadv_parsed', 'stepadv_problems', 'stepadv_rollouts', 'stepadv_documents', 'stepadv_items'] LOOP
		IF to_regclass('pg_temp.' || relic) IS NOT NULL THEN
			EXECUTE format('DROP TABLE pg_temp.%I', relic);
		END IF;
	END LOOP;
	CREATE TEMP TABLE stepadv_problems (n bigint, reason text, counted text, item bigint) ON COMMIT DROP;
	-- From here on lines and documents are the same: n (unique, the order), item
	-- (what stays or goes together: a line, or the rollout of a document) and place
	-- (where the user finds it).
	CREATE TEMP TABLE stepadv_parsed (n bigint, item bigint, place bigint, LIKE @extschema@.parsed_step) ON COMMIT DROP;
	-- Read a few times and dropped: not worth compressing.
	ALTER TABLE pg_temp.stepadv_parsed ALTER observation SET STORAGE EXTERNAL, ALTER next_observation SET STORAGE EXTERNAL, ALTER action SET STORAGE EXTERNAL,
		ALTER args SET STORAGE EXTERNAL, ALTER metadata SET STORAGE EXTERNAL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_begin(text, text) IS 'part of load_rollouts: checks what load_rollouts and import_rollouts need, and makes the tables of what was parsed and of problems';

-- A step that comes twice: word for word the same, or contradicting.
CREATE FUNCTION stepadv_internal.load_drop_repeated(OUT steps_repeated bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	WITH repeated AS (
		SELECT p.n, p.group_id, p.rollout_id, p.step_no, p.content, first_value(p.content) OVER w AS first_content,
			first_value(p.n) OVER w AS first_n
		FROM pg_temp.stepadv_parsed p WHERE p.step_no IS NOT NULL
		WINDOW w AS (PARTITION BY p.group_id, p.rollout_id, p.step_no ORDER BY p.n)
	), gone AS (
		DELETE FROM pg_temp.stepadv_parsed p USING repeated r WHERE p.n = r.n AND r.n <> r.first_n
		RETURNING p.n, r.group_id, r.rollout_id, r.step_no, r.content = r.first_content AS same, r.first_n
	), told AS (
		INSERT INTO pg_temp.stepadv_problems (n, reason, counted)
		SELECT g.n, format('step %s of rollout %s of group %s is not what line %s says', g.step_no, g.rollout_id, g.group_id, g.first_n), 'contradiction'
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
			SELECT p.n, p.item, p.place, p.group_id, p.rollout_id, p.step_no,
				(p.turn, p.observation, p.action, p.tool, p.args, p.ok, p.reward) IS NOT DISTINCT FROM
				(s.turn, s.observation, s.action, s.tool, s.args, s.ok, s.reward) AS same
			FROM pg_temp.stepadv_parsed p
			JOIN %I.steps s ON s.group_id = p.group_id AND s.rollout_id = p.rollout_id AND s.step_no = p.step_no
		), judged AS (
			SELECT k.*, bool_and(k.same) OVER (PARTITION BY k.item) AS item_same FROM known k
		), gone AS (
			-- The line still speaks for its rollout.
			UPDATE pg_temp.stepadv_parsed p SET step_no = NULL FROM judged k WHERE p.n = k.n
			RETURNING k.*
		), told AS (
			-- One contradiction for each item.
			INSERT INTO pg_temp.stepadv_problems (n, reason, counted, item)
			SELECT DISTINCT ON (g.item) g.place, format('step %%s of rollout %%s of group %%s is not what the table has', g.step_no, g.rollout_id, g.group_id), 'contradiction', g.item
			FROM gone g WHERE NOT g.same ORDER BY g.item, g.step_no
		)
		SELECT count(*) FILTER (WHERE g.item_same) FROM gone g
		$q$, load_drop_known.schema) INTO steps_repeated;
	IF load_drop_known.whole THEN
		DELETE FROM pg_temp.stepadv_parsed p USING pg_temp.stepadv_problems e WHERE e.counted = 'contradiction' AND e.item = p.item;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_drop_known(text, boolean) IS
'part of load_rollouts: takes steps that the schema''s table has out of pg_temp.stepadv_parsed, with whole all of an item that contradicts it; counts those that say the same';

-- Rollouts: what any of their lines says; of two outcomes the later.
CREATE FUNCTION stepadv_internal.load_gather(schema text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($q$
		CREATE TEMP TABLE stepadv_rollouts ON COMMIT DROP AS
		SELECT x.*, r.group_id IS NOT NULL AS is_known, r.outcome AS known_outcome, r.success AS known_success
		FROM (
			SELECT p.group_id, p.rollout_id,
				(array_agg(p.outcome) FILTER (WHERE p.outcome IS NOT NULL))[1] AS outcome,
				min(p.outcome) < max(p.outcome) AS outcomes_differ,
				(array_agg(p.success) FILTER (WHERE p.success IS NOT NULL))[1] AS success,
				bool_or(p.success) AND NOT bool_and(p.success) AS successes_differ,
				(array_agg(p.place) FILTER (WHERE p.outcome IS NOT NULL OR p.success IS NOT NULL))[1] AS n,
				bool_or(p.truncated) AS truncated,
				(array_agg(p.policy_version) FILTER (WHERE p.policy_version IS NOT NULL))[1] AS policy_version,
				(array_agg(p.model) FILTER (WHERE p.model IS NOT NULL))[1] AS model,
				(array_agg(p.channel) FILTER (WHERE p.channel IS NOT NULL))[1] AS channel,
				(array_agg(p.curation) FILTER (WHERE p.curation IS NOT NULL))[1] AS curation,
				min(p.started_at) AS started_at, max(p.ended_at) AS ended_at,
				-- A line without a step has nowhere else to leave its remarks.
				(array_agg(p.metadata) FILTER (WHERE p.step_no IS NULL AND p.metadata IS NOT NULL AND p.action IS NULL))[1] AS metadata
			-- Sorted once for all of these.
			FROM (SELECT * FROM pg_temp.stepadv_parsed s ORDER BY s.group_id, s.rollout_id, s.n DESC) p GROUP BY p.group_id, p.rollout_id) x
		LEFT JOIN %I.rollouts r ON r.group_id = x.group_id AND r.rollout_id = x.rollout_id
		$q$, load_gather.schema);
	INSERT INTO pg_temp.stepadv_problems (n, reason, counted)
	SELECT r.n, format('rollout %s of group %s has more than one %s, of which the last counts', r.rollout_id, r.group_id,
			concat_ws(' and ', CASE WHEN r.outcomes_differ OR r.outcome <> r.known_outcome THEN 'outcome' END,
				CASE WHEN r.successes_differ OR r.success <> r.known_success THEN 'success' END)), 'contradiction'
	FROM pg_temp.stepadv_rollouts r
	WHERE r.outcomes_differ OR r.successes_differ OR r.outcome <> r.known_outcome OR r.success <> r.known_success;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_gather(text) IS
'part of load_rollouts: makes pg_temp.stepadv_rollouts of pg_temp.stepadv_parsed, beside what the schema''s table says of them, and notes contradictions';

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

CREATE FUNCTION stepadv_internal.load_write_rollouts(schema text, OUT groups bigint, OUT rollouts_added bigint, OUT rollouts_updated bigint, OUT rollouts_repeated bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($q$
		WITH written AS (
			INSERT INTO %I.rollouts AS r (group_id, rollout_id, policy_version, model, outcome, success, truncated, channel, curation, started_at, ended_at, metadata)
			SELECT p.group_id, p.rollout_id, p.policy_version, p.model, p.outcome, p.success, coalesce(p.truncated, false),
				coalesce(p.channel, 'train'), p.curation, p.started_at, p.ended_at, p.metadata
			FROM pg_temp.stepadv_rollouts p
			-- A reload that says nothing new must not write.
			WHERE NOT p.is_known OR p.outcome IS DISTINCT FROM p.known_outcome AND p.outcome IS NOT NULL
				OR p.success IS DISTINCT FROM p.known_success AND p.success IS NOT NULL
			ON CONFLICT (group_id, rollout_id) DO UPDATE SET
				outcome = coalesce(excluded.outcome, r.outcome), success = coalesce(excluded.success, r.success)
		)
		SELECT count(*) FILTER (WHERE NOT p.is_known),
			count(*) FILTER (WHERE p.is_known AND (p.outcome IS DISTINCT FROM p.known_outcome AND p.outcome IS NOT NULL
				OR p.success IS DISTINCT FROM p.known_success AND p.success IS NOT NULL)),
			count(DISTINCT p.group_id), count(*) FILTER (WHERE p.is_known)
		FROM pg_temp.stepadv_rollouts p
		$q$, load_write_rollouts.schema) INTO rollouts_added, rollouts_updated, load_write_rollouts.groups, rollouts_repeated;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_write_rollouts(text) IS
'part of load_rollouts: writes pg_temp.stepadv_rollouts to the schema''s table, and counts';

CREATE FUNCTION stepadv_internal.load_write_steps(schema text, OUT steps_added bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($q$
		INSERT INTO %1$I.steps (group_id, rollout_id, step_no, turn, observation, action, tool, args, ok, next_observation,
			state, action_hash, next_state, reward, turn_reward, value, cost,
			prompt_token_ids, response_token_ids, response_mask, rollout_logprobs, metadata)
		SELECT p.group_id, p.rollout_id, p.step_no, p.turn, p.observation, p.action, p.tool, p.args, p.ok,
			CASE WHEN p.next_observation IS DISTINCT FROM lead(p.observation) OVER w THEN p.next_observation END,
			-- Rollouts that begin without an observation begin in one state, which
			-- no text can have: its bytes are those of U+0000.
			CASE WHEN p.observation IS NOT NULL THEN @extschema@.signature_hash(p.observation)
				WHEN row_number() OVER w > 1 THEN NULL
				WHEN EXISTS (SELECT FROM %1$I.steps s WHERE s.group_id = p.group_id AND s.rollout_id = p.rollout_id AND s.step_no < p.step_no) THEN NULL
				ELSE @extschema@.signature_hash('\x00'::bytea) END,
			CASE WHEN p.tool IS NOT NULL AND (p.args IS NOT NULL OR p.action IS NULL)
				THEN @extschema@.signature_hash(jsonb_build_array(p.tool, p.args))
				ELSE @extschema@.signature_hash(p.action) END,
			@extschema@.signature_hash(p.next_observation),
			p.reward, p.turn_reward, p.value, p.cost,
			p.prompt_token_ids, p.response_token_ids, p.response_mask, p.rollout_logprobs, p.metadata
		FROM pg_temp.stepadv_parsed p
		WHERE p.step_no IS NOT NULL
		WINDOW w AS (PARTITION BY p.group_id, p.rollout_id ORDER BY p.step_no)
		$q$, load_write_steps.schema);
	GET DIAGNOSTICS steps_added = ROW_COUNT;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_write_steps(text) IS
'part of load_rollouts: writes the steps of pg_temp.stepadv_parsed to the schema''s table, with their hashes, and counts';

CREATE FUNCTION stepadv_internal.load_parsed(schema text, on_error text, noun text, whole boolean,
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
BEGIN
	CREATE INDEX ON pg_temp.stepadv_parsed (group_id, rollout_id, step_no, n);
	-- For plans that take many rows for one.
	CREATE UNIQUE INDEX ON pg_temp.stepadv_parsed (n);
	-- The others are long texts that no condition looks at.
	ANALYZE pg_temp.stepadv_parsed (n, item, group_id, rollout_id, step_no);

	-- Whole items are told apart before.
	steps_repeated := 0;
	IF NOT load_parsed.whole THEN
		steps_repeated := stepadv_internal.load_drop_repeated();
	END IF;
	steps_repeated := steps_repeated + stepadv_internal.load_drop_known(load_parsed.schema, load_parsed.whole);
	PERFORM stepadv_internal.load_gather(load_parsed.schema);
	SELECT r.* INTO bad_items, contradictions, problems
	FROM stepadv_internal.load_report(load_parsed.on_error, load_parsed.noun, load_parsed.whole) r;
	SELECT r.* INTO load_parsed.groups, rollouts_added, rollouts_updated, rollouts_repeated FROM stepadv_internal.load_write_rollouts(load_parsed.schema) r;
	steps_added := stepadv_internal.load_write_steps(load_parsed.schema);
	DROP TABLE pg_temp.stepadv_parsed, pg_temp.stepadv_rollouts, pg_temp.stepadv_problems;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_parsed(text, text, text, boolean) IS
'part of load_rollouts: writes what was parsed into pg_temp.stepadv_parsed to the schema''s tables, after looking for what is there already, and counts; noun is what problems are counted by; with whole, an item that contradicts the tables in one step is left out with all its steps';

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
BEGIN
	nul_replaced := 0;
	BEGIN
		INSERT INTO pg_temp.stepadv_parsed
		SELECT l.n, l.n, l.n, s.*
		FROM unnest(parse_rollout_lines.numbers, parse_rollout_lines.lines) l(n, line),
			LATERAL (SELECT CASE WHEN parse_rollout_lines.is_latin1 THEN convert_from(convert_to(l.line, 'LATIN1'), 'UTF8') ELSE l.line END::jsonb AS j OFFSET 0) t,
			LATERAL stepadv_internal.step_of_json(t.j) s;
		GET DIAGNOSTICS n_parsed = ROW_COUNT;
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
BEGIN
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
	END LOOP;
	SELECT p.bad_items, p.groups, p.rollouts_added, p.rollouts_updated, p.steps_added, p.steps_repeated, p.contradictions, p.problems
	INTO bad_lines, load_rollouts.groups, rollouts_added, rollouts_updated, steps_added, steps_repeated, contradictions, load_rollouts.problems
	FROM stepadv_internal.load_parsed(load_rollouts.schema, load_rollouts.on_error, 'line'::text, false) p;
END
$$;
COMMENT ON FUNCTION @extschema@.load_rollouts(text, regclass, text, boolean) IS
'loads lines of JSON, one step each, from a table (n bigint, line text) into the schema''s tables rollouts and steps and returns counts; on_error ''stop'': a line that cannot be used, or contradicts another or the tables, is an error and nothing is loaded; ''skip'': such lines are left out (of contradicting outcomes the later holds), warned about and listed in problems (the first 1000); lines loaded before are recognised and not loaded again; is_latin1 as in parse_rollout_line';
-- Rollouts as scaffolds write them, as rollouts in our words.  One function per
-- format, each a function of the document alone: no table is read or written.
-- In PL/pgSQL, because it keeps plans from one document to the next.
-- What comes out is one jsonb per rollout (see docs/import.md); import/40-import.sql
-- loads it.

-- ----------
-- What the formats share
-- ----------

-- Text of a message: a string, a list of parts, or nothing.
CREATE FUNCTION stepadv_internal.import_text(content jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- The common case without a query.
	IF content IS NULL OR jsonb_typeof(content) IN ('string', 'null') THEN
		RETURN content #>> '{}';
	END IF;
	IF jsonb_typeof(content) <> 'array' THEN
		RETURN coalesce(content ->> 'text', content::text);
	END IF;
	RETURN (
		SELECT string_agg(CASE jsonb_typeof(p.part) WHEN 'string' THEN p.part #>> '{}'
			ELSE coalesce(p.part ->> 'text', p.part ->> 'refusal', p.part ->> 'content') END, E'\n' ORDER BY p.i)
		FROM jsonb_array_elements(content) WITH ORDINALITY p(part, i));
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_text(jsonb) IS 'part of import_rollouts: the text of a message''s content: a string, or the texts of a list of parts, joined by line feeds';

-- Arguments of a call: models write them as a string of JSON.
CREATE FUNCTION stepadv_internal.import_arguments(raw jsonb, OUT args jsonb, OUT words text, OUT repaired text)
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

-- Whether what came back reads like a failure.
CREATE FUNCTION stepadv_internal.import_ok(result text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	head CONSTANT text := left(result, 200);
BEGIN
	IF head ~ '^\s*<returncode>' THEN
		RETURN head ~ '^\s*<returncode>0</returncode>';
	ELSIF head ~ '^\s*\{' AND result ~ '"(exit_code|returncode)": *-?[0-9]' THEN
		RETURN result ~ '"(exit_code|returncode)": *0\M';
	END IF;
	RETURN head !~* '^[[:space:][({"''<]*(error\M|\w*(error|exception):|traceback \(most recent call last\)|tool_use_error|command failed|fatal:|invalid action|could not find|no results\M|the last page searched was not found)';
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_ok(text) IS
'part of import_rollouts: false where a tool''s result begins like an error or has an exit status other than 0, else true; NULL without a result';

-- The file's own name, and what tells its rollout from others: directory and
-- name.  A directory with one file of its name (SWE-agent, mini-swe-agent) says
-- nothing, the one above does.
CREATE FUNCTION stepadv_internal.import_names(source text, OUT base text, OUT rollout text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT n.base, concat_ws('--', CASE WHEN n.parts[cardinality(n.parts) - 1] = n.base THEN n.parts[cardinality(n.parts) - 2]
		ELSE n.parts[cardinality(n.parts) - 1] END, n.base)
	INTO base, rollout
	FROM (SELECT p.parts, regexp_replace(p.parts[cardinality(p.parts)], '(\.(gz|traj|json|jsonl|ndjson|txt|log))+$', '', 'i') AS base
		FROM (SELECT string_to_array(ltrim(import_names.source, '/'), '/') AS parts) p) n
	WHERE import_names.source IS NOT NULL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_names(text) IS 'part of import_rollouts: from a path, the name of the file without endings, and directory--name for an id of the rollout in it';

CREATE FUNCTION stepadv_internal.import_digest(content jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT to_hex(@extschema@.signature_hash(import_digest.content)));
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_digest(jsonb) IS 'part of import_rollouts: an id made of the content, for what has none of its own';

-- What records of all formats say of a rollout, by the names in use.
CREATE FUNCTION stepadv_internal.import_about(record jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT jsonb_strip_nulls(jsonb_build_object(
			'outcome', coalesce(nullif(r -> 'reward', 'null'), nullif(r -> 'score', 'null'), nullif(r -> 'outcome', 'null'), nullif(r #> '{reward_info,reward}', 'null')),
			'success', CASE WHEN jsonb_typeof(r -> 'success') = 'boolean' THEN r -> 'success' WHEN jsonb_typeof(r -> 'resolved') = 'boolean' THEN r -> 'resolved' END,
			'truncated', CASE WHEN jsonb_typeof(r -> 'truncated') = 'boolean' THEN r -> 'truncated' END,
			'model', CASE WHEN jsonb_typeof(r -> 'model') = 'string' AND r ->> 'model' <> '' THEN r -> 'model' END,
			'policy_version', CASE WHEN jsonb_typeof(r -> 'policy_version') IN ('string', 'number') THEN r -> 'policy_version' END))
		FROM (SELECT CASE WHEN jsonb_typeof(import_about.record) = 'object' THEN import_about.record ELSE '{}' END AS r) x);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_about(jsonb) IS 'part of import_rollouts: outcome, success, truncated, model and policy_version of a record, by the names that scaffolds use';

-- The number of a rollout among those of its task.
CREATE FUNCTION stepadv_internal.import_trial(record jsonb) RETURNS text
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

-- A conversation as steps.  Items are, in order,
--   {"kind": "see", "text"}					from the environment or a user
--   {"kind": "result", "id", "text"}			of a call
--   {"kind": "say" | "think", "text"}			from the model
--   {"kind": "call", "id", "tool", "args"}
--   {"kind": "dropped", "text": what}			not ours to keep, only counted
-- An item of the model's with "new" begins a turn, else a turn is what it does
-- until something comes back.  Each call of a turn is a step; a turn without
-- calls is one.
CREATE FUNCTION stepadv_internal.import_steps(items jsonb, OUT steps jsonb, OUT dropped jsonb, OUT repaired jsonb)
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	WITH item AS (
		SELECT i.o, i.v, i.v ->> 'kind' AS kind, i.v ->> 'text' AS text, i.v ->> 'kind' IN ('say', 'think', 'call') AS acts,
			lag(i.v ->> 'kind' IN ('say', 'think', 'call')) OVER (ORDER BY i.o) AS acted
		FROM jsonb_array_elements(import_steps.items) WITH ORDINALITY i(v, o)
		WHERE i.v ->> 'kind' <> 'dropped'
	), turned AS MATERIALIZED (
		SELECT i.*, count(*) FILTER (WHERE i.acts AND (NOT coalesce(i.acted, false) OR i.v ? 'new')) OVER (ORDER BY i.o) AS turn
		FROM item i
	), numbered AS MATERIALIZED (
		SELECT t.*, row_number() OVER (PARTITION BY t.turn, t.kind ORDER BY t.o) AS position
		FROM turned t
	), seen AS MATERIALIZED (
		SELECT t.turn, string_agg(t.text, E'\n' ORDER BY t.o) AS text
		FROM turned t WHERE NOT t.acts GROUP BY t.turn
	), turns AS MATERIALIZED (
		SELECT t.turn, min(t.o) AS o, count(*) FILTER (WHERE t.kind = 'call') AS calls, bool_or(t.kind = 'say') AS says,
			string_agg(t.text, E'\n' ORDER BY t.o) FILTER (WHERE t.kind = 'say') AS said,
			string_agg(t.text, E'\n' ORDER BY t.o) FILTER (WHERE t.kind = 'think') AS thought
		FROM turned t WHERE t.acts GROUP BY t.turn
	), step AS (
		SELECT c.o, c.turn, c.position, c.v ->> 'tool' AS tool, a.args, a.repaired,
			format('{"name": %s, "arguments": %s}', coalesce((c.v -> 'tool')::text, 'null'), coalesce(a.words, 'null')) AS action,
			r.text AS next_observation, stepadv_internal.import_ok(r.text) AS ok, t.said, t.thought, true AS is_call
		FROM numbered c
		JOIN turns t ON t.turn = c.turn
		CROSS JOIN LATERAL stepadv_internal.import_arguments(c.v -> 'args') a
		-- By its id, which some scaffolds use anew in every turn, else in order.
		LEFT JOIN numbered r ON r.turn = c.turn AND r.kind = 'result'
			AND CASE WHEN c.v ->> 'id' IS NOT NULL AND r.v ->> 'id' IS NOT NULL THEN r.v ->> 'id' = c.v ->> 'id' ELSE r.position = c.position END
		WHERE c.kind = 'call'
		UNION ALL
		SELECT t.o, t.turn, 1, NULL, NULL, NULL, t.said, s.text, NULL, NULL, t.thought, false
		FROM turns t LEFT JOIN seen s ON s.turn = t.turn
		WHERE t.calls = 0 AND t.says
	), once AS (
		-- Two results of one call: the first.
		SELECT DISTINCT ON (s.o) s.* FROM step s ORDER BY s.o
	)
	SELECT coalesce((
			SELECT jsonb_agg(jsonb_build_object('turn', s.turn - 1, 'observation', o.text, 'next_observation', s.next_observation,
				'action', s.action, 'tool', s.tool, 'args', s.args, 'ok', s.ok,
				'meta', nullif(jsonb_strip_nulls(jsonb_build_object('text', CASE WHEN s.position = 1 THEN s.said END,
					'thought', CASE WHEN s.position = 1 THEN s.thought END)), '{}')) ORDER BY s.o)
			FROM once s LEFT JOIN seen o ON o.turn = s.turn - 1), '[]'),
		(SELECT coalesce(jsonb_object_agg(d.what, d.n), '{}') FROM (
			SELECT i.v ->> 'text' AS what, count(*) AS n
			FROM jsonb_array_elements(import_steps.items) i(v) WHERE i.v ->> 'kind' = 'dropped' GROUP BY 1
			UNION ALL
			SELECT 'reasoning without an action', count(*) FROM turns t WHERE t.calls = 0 AND NOT t.says HAVING count(*) > 0) d),
		(SELECT coalesce(jsonb_object_agg(p.what, p.n), '{}') FROM (
			SELECT s.repaired AS what, count(*) AS n FROM once s WHERE s.repaired IS NOT NULL GROUP BY 1
			UNION ALL
			SELECT 'calls without a name', count(*) FROM once s WHERE s.is_call AND s.tool IS NULL HAVING count(*) > 0
			UNION ALL
			SELECT 'calls without a result', count(*) FROM once s WHERE s.is_call AND s.next_observation IS NULL HAVING count(*) > 0) p)
	INTO steps, dropped, repaired;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_steps(jsonb) IS
'part of import_rollouts: a conversation (what was seen, said, called, returned) as steps: each call of a turn is one, a turn without calls is one; counts by kind of what was left out or repaired';

-- Messages of the chat interface as items.
CREATE FUNCTION stepadv_internal.import_messages(messages jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(jsonb_agg(e.item ORDER BY m.o, e.k, e.i), '[]')
		FROM jsonb_array_elements(import_messages.messages) WITH ORDINALITY m(v, o)
		CROSS JOIN LATERAL (SELECT m.v ->> 'role' AS role, stepadv_internal.import_text(m.v -> 'content') AS text,
			CASE WHEN jsonb_typeof(m.v -> 'tool_calls') = 'array' THEN m.v -> 'tool_calls'
				WHEN jsonb_typeof(m.v -> 'function_call') = 'object' THEN jsonb_build_array(m.v -> 'function_call') ELSE '[]' END AS calls) x
		CROSS JOIN LATERAL (
			SELECT 0 AS k, 0::bigint AS i, CASE
				WHEN x.role IN ('system', 'developer') THEN jsonb_build_object('kind', 'dropped', 'text', 'system messages')
				WHEN x.role IN ('user', 'human', 'environment', 'exit') THEN jsonb_build_object('kind', 'see', 'text', x.text)
				WHEN x.role IN ('tool', 'function') THEN jsonb_build_object('kind', 'result', 'text', x.text, 'id', coalesce(m.v ->> 'tool_call_id', m.v ->> 'id'))
				WHEN x.role IN ('assistant', 'ai', 'gpt', 'model') THEN jsonb_build_object('kind', 'think', 'new', true, 'text', stepadv_internal.import_text(coalesce(nullif(m.v -> 'reasoning_content', 'null'), m.v -> 'reasoning')))
				ELSE jsonb_build_object('kind', 'dropped', 'text', 'messages of an unknown role') END AS item
			UNION ALL
			SELECT 1, 0, jsonb_build_object('kind', 'say', 'text', x.text)
			WHERE x.role IN ('assistant', 'ai', 'gpt', 'model') AND (nullif(x.text, '') IS NOT NULL OR jsonb_array_length(x.calls) = 0)
			UNION ALL
			SELECT 2, c.i, jsonb_build_object('kind', 'call', 'id', c.v -> 'id', 'tool', coalesce(c.v #>> '{function,name}', c.v ->> 'name'),
				'args', coalesce(c.v #> '{function,arguments}', c.v -> 'arguments'))
			FROM jsonb_array_elements(x.calls) WITH ORDINALITY c(v, i)
			WHERE x.role IN ('assistant', 'ai', 'gpt', 'model')) e);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_messages(jsonb) IS 'part of import_rollouts: messages of the OpenAI chat interface as the items of import_steps';

-- ----------
-- The formats
-- ----------

CREATE FUNCTION @extschema@.parse_openai_chat(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT CASE WHEN m.messages IS NULL
		THEN jsonb_build_object('problem', format('record %s has no list of messages (traj or messages)', r.i))
		ELSE stepadv_internal.import_about(r.v) || jsonb_build_object('group_id', g.id,
			'rollout_id', coalesce(g.id || '-t' || stepadv_internal.import_trial(r.v), r.v ->> 'rollout_id', r.v ->> 'uuid', r.v ->> 'session_id',
				CASE WHEN g.own IS NOT NULL THEN r.v ->> 'id' END, stepadv_internal.import_digest(m.messages)),
			'meta', nullif(jsonb_strip_nulls(jsonb_build_object('source', parse_openai_chat.source)) ||
				CASE WHEN jsonb_typeof(r.v) = 'object' THEN r.v - '{traj,messages,reward,outcome,score,success,truncated,model,policy_version}'::text[] ELSE '{}' END, '{}'),
			'steps', s.steps, 'dropped', s.dropped, 'repaired', s.repaired) END
	FROM jsonb_array_elements(CASE
		WHEN jsonb_typeof(document) = 'array' AND document #> '{0,role}' IS NOT NULL THEN jsonb_build_array(jsonb_build_object('messages', document))
		WHEN jsonb_typeof(document) = 'array' THEN document
		WHEN jsonb_typeof(document -> 'simulations') = 'array' THEN document -> 'simulations'
		ELSE jsonb_build_array(document) END) WITH ORDINALITY r(v, i)
	CROSS JOIN LATERAL (SELECT CASE WHEN jsonb_typeof(r.v -> 'traj') = 'array' THEN r.v -> 'traj'
		WHEN jsonb_typeof(r.v -> 'messages') = 'array' THEN r.v -> 'messages' END AS messages) m
	CROSS JOIN LATERAL (SELECT coalesce(r.v ->> 'group_id', r.v ->> 'task_id', r.v ->> 'instance_id') AS own) w
	-- Without an id of its own, a task is its prompt: what comes before the model's first word.
	CROSS JOIN LATERAL (SELECT w.own, coalesce(w.own, stepadv_internal.import_digest((
		SELECT jsonb_agg(p.v ORDER BY p.i) FROM jsonb_array_elements(coalesce(m.messages, '[]')) WITH ORDINALITY p(v, i)
		WHERE p.i < coalesce((SELECT min(q.i) FROM jsonb_array_elements(coalesce(m.messages, '[]')) WITH ORDINALITY q(v, i)
			WHERE q.v ->> 'role' IN ('assistant', 'ai', 'gpt', 'model')), 2147483647)))) AS id) g
	CROSS JOIN LATERAL stepadv_internal.import_steps(stepadv_internal.import_messages(coalesce(m.messages, '[]'))) s
	ORDER BY r.i;
END
$$;
COMMENT ON FUNCTION @extschema@.parse_openai_chat(jsonb, text, bigint) IS
'rollouts of a document of OpenAI chat messages: a list of messages, an object with messages or traj, or a list of such (results of tau-bench); one jsonb per rollout as in docs/import.md';

CREATE FUNCTION @extschema@.parse_swe_agent(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	WITH said AS MATERIALIZED (
		SELECT h.v, row_number() OVER (ORDER BY h.i) AS position, jsonb_typeof(h.v -> 'tool_calls') = 'array' AS called
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'history') = 'array' THEN document -> 'history' ELSE '[]' END) WITH ORDINALITY h(v, i)
		WHERE h.v ->> 'role' = 'assistant' AND h.v ->> 'is_demo' IS DISTINCT FROM 'true'
	), step AS (
		SELECT t.i, t.v, t.v ->> 'action' AS action, btrim(t.v ->> 'action', E' \t\r\n') = '' AS is_empty, a.args, a.tool, a.repaired
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'trajectory') = 'array' THEN document -> 'trajectory' ELSE '[]' END) WITH ORDINALITY t(v, i)
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
	SELECT CASE WHEN jsonb_typeof(document -> 'trajectory') IS DISTINCT FROM 'array' THEN jsonb_build_object('problem', 'there is no list trajectory')
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
				'arguments that are no JSON', (SELECT nullif(count(*), 0) FROM step s WHERE s.repaired LIKE 'arguments%')))) END
	FROM (SELECT 1) one LEFT JOIN LATERAL stepadv_internal.import_names(parse_swe_agent.source) f ON true;
END
$$;
COMMENT ON FUNCTION @extschema@.parse_swe_agent(jsonb, text, bigint) IS
'the rollout of a SWE-agent .traj (every version that has trajectory); the ids come from the file or from source, its path; not judged unless the document has an outcome; one jsonb as in docs/import.md';

CREATE FUNCTION @extschema@.parse_mini_swe_agent(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
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
	SELECT CASE
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
				'repaired', jsonb_strip_nulls(jsonb_build_object('turns without one command', (SELECT nullif(count(*), 0) FROM step s WHERE NOT s.acts)))) END END
	FROM (SELECT EXISTS (SELECT FROM message m WHERE jsonb_typeof(m.v -> 'tool_calls') = 'array')) called(yes)
	LEFT JOIN LATERAL stepadv_internal.import_names(parse_mini_swe_agent.source) f ON true
	LEFT JOIN LATERAL stepadv_internal.import_steps(stepadv_internal.import_messages(document -> 'messages')) chat ON called.yes;
END
$$;
COMMENT ON FUNCTION @extschema@.parse_mini_swe_agent(jsonb, text, bigint) IS
'the rollout of a mini-swe-agent .traj.json: the one command in a fence of each reply, or its tool calls; not judged unless the document has an outcome; one jsonb as in docs/import.md';

CREATE FUNCTION @extschema@.parse_responses(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	WITH part AS (
		SELECT CASE WHEN document ? 'response' THEN document -> 'response' ELSE document END AS response,
			CASE jsonb_typeof(p.input) WHEN 'string' THEN jsonb_build_array(jsonb_build_object('role', 'user', 'content', p.input))
				WHEN 'array' THEN p.input ELSE '[]' END AS input,
			p.params
		FROM (SELECT coalesce(document #> '{responses_create_params,input}', document -> 'input') AS input,
			CASE WHEN jsonb_typeof(document -> 'responses_create_params') = 'object' THEN document -> 'responses_create_params' ELSE document END AS params) p
	), listed AS (
		SELECT i.v, false AS own, i.i FROM part p, jsonb_array_elements(p.input) WITH ORDINALITY i(v, i)
		UNION ALL
		SELECT o.v, true, o.i FROM part p, jsonb_array_elements(CASE WHEN jsonb_typeof(p.response -> 'output') = 'array' THEN p.response -> 'output' ELSE '[]' END) WITH ORDINALITY o(v, i)
	), kinds AS (
		SELECT l.*, CASE
				WHEN l.v ->> 'type' = 'function_call' OR l.v ->> 'type' = 'custom_tool_call' THEN 'call'
				WHEN l.v ->> 'type' IN ('function_call_output', 'custom_tool_call_output') THEN 'result'
				WHEN l.v ->> 'type' = 'reasoning' THEN 'think'
				WHEN coalesce(l.v ->> 'type', 'message') = 'message' THEN CASE
					WHEN l.v ->> 'role' = 'assistant' THEN 'say' WHEN l.v ->> 'role' IN ('system', 'developer') THEN 'system' ELSE 'see' END
				ELSE 'other' END AS kind
		FROM listed l
	), item AS (
		-- What went before in the input is not this rollout's doing: only what
		-- came after the last of it is what the first step sees.
		SELECT jsonb_agg(CASE
			WHEN k.kind = 'other' THEN jsonb_build_object('kind', 'dropped', 'text', 'items of type ' || (k.v ->> 'type'))
			WHEN k.kind = 'system' THEN jsonb_build_object('kind', 'dropped', 'text', 'system messages')
			WHEN NOT k.own AND (k.kind IN ('call', 'say', 'think') OR k.i < k.last) THEN jsonb_build_object('kind', 'dropped', 'text', 'earlier turns in the input')
			WHEN k.kind = 'call' THEN jsonb_build_object('kind', 'call', 'id', k.v -> 'call_id', 'tool', k.v ->> 'name', 'args', coalesce(k.v -> 'arguments', k.v -> 'input'))
			WHEN k.kind = 'result' THEN jsonb_build_object('kind', 'result', 'id', k.v -> 'call_id', 'text', stepadv_internal.import_text(k.v -> 'output'))
			WHEN k.kind = 'think' THEN jsonb_build_object('kind', 'think', 'text', coalesce(nullif(stepadv_internal.import_text(k.v -> 'content'), ''), nullif(stepadv_internal.import_text(k.v -> 'summary'), '')))
			ELSE jsonb_build_object('kind', k.kind, 'text', stepadv_internal.import_text(k.v -> 'content')) END ORDER BY k.own, k.i) AS items
		FROM (SELECT k.*, max(k.i) FILTER (WHERE k.kind IN ('call', 'say', 'think')) OVER (PARTITION BY k.own) AS last FROM kinds k) k
	), named AS (
		SELECT p.*, coalesce(document ->> 'instance_id', p.params #>> '{metadata,instance_id}', document ->> 'task_id',
				'task' || (document ->> '_ng_task_index'), 'task' || (document ->> 'task_index')) AS own,
			coalesce(document #>> '{agent_ref,name}', f.base) AS environment
		FROM part p LEFT JOIN LATERAL stepadv_internal.import_names(parse_responses.source) f ON true
	)
	SELECT CASE WHEN jsonb_typeof(m.response -> 'output') IS DISTINCT FROM 'array' THEN jsonb_build_object('problem', 'there is no list output of a response')
		ELSE jsonb_strip_nulls(jsonb_build_object('model', coalesce(nullif(m.response ->> 'model', ''), nullif(m.params ->> 'model', '')))) || stepadv_internal.import_about(document)
			|| jsonb_build_object('group_id', g.id,
			'rollout_id', coalesce(g.id || '-' || stepadv_internal.import_trial(document), document ->> 'rollout_id', m.response ->> 'id', stepadv_internal.import_digest(m.response -> 'output')),
			'meta', nullif(jsonb_strip_nulls(jsonb_build_object('source', parse_responses.source, 'response_id', m.response -> 'id', 'environment', m.environment, 'usage', m.response -> 'usage')), '{}'),
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
'the rollout of an object with a response of the OpenAI Responses interface (a line of NeMo Gym''s rollouts); one jsonb as in docs/import.md';

CREATE FUNCTION @extschema@.parse_verl(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT CASE WHEN jsonb_typeof(document -> 'input') IS DISTINCT FROM 'string' OR jsonb_typeof(document -> 'output') IS DISTINCT FROM 'string'
		THEN jsonb_build_object('problem', 'input and output must be given')
		ELSE stepadv_internal.import_about(document - 'reward' || jsonb_build_object('score', coalesce(document -> 'score', document -> 'reward'))) || jsonb_strip_nulls(jsonb_build_object(
				'policy_version', document -> 'step',
				'success', CASE WHEN jsonb_typeof(document -> 'acc') = 'boolean' THEN document -> 'acc' END)) || jsonb_build_object(
			-- Prompts come again in later steps of the training, under another policy.
			'group_id', concat_ws('/', 'step' || (document ->> 'step'), coalesce(document ->> 'uid', stepadv_internal.import_digest(document -> 'input'))),
			'rollout_id', coalesce(document ->> 'request_id', concat_ws(':', f.base, parse_verl.n), stepadv_internal.import_digest(document)),
			'meta', nullif(jsonb_strip_nulls(jsonb_build_object('source', parse_verl.source)) || (document - '{input,output,score,reward,step,request_id,success,model}'::text[]), '{}'),
			'steps', jsonb_build_array(jsonb_build_object('turn', 0, 'observation', document -> 'input', 'action', document -> 'output',
				'reward', coalesce(document -> 'score', document -> 'reward')))) END
	FROM (SELECT 1) one LEFT JOIN LATERAL stepadv_internal.import_names(parse_verl.source) f ON true;
END
$$;
COMMENT ON FUNCTION @extschema@.parse_verl(jsonb, text, bigint) IS
'the rollout of a line of verl''s rollout dumps (input, output, score, step): one step; its group is the prompt within the training step; n is the number of the line in source; one jsonb as in docs/import.md';

CREATE FUNCTION @extschema@.parse_intercode(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT CASE WHEN jsonb_typeof(e.v #> '{turn_history,actions}') IS DISTINCT FROM 'array' THEN jsonb_build_object('problem', format('episode %s has no list turn_history.actions', e.k))
		ELSE jsonb_build_object(
			-- Task ids are those of one file of the data set: the question tells tasks apart.
			'group_id', x.environment || '-' || left(md5(coalesce(e.v ->> 'query', e.k)), 10),
			'rollout_id', coalesce(f.base, stepadv_internal.import_digest(e.v -> 'turn_history')) || '-' || e.k,
			'outcome', e.v #> '{summary,max_reward}',
			'truncated', coalesce(e.v #>> '{summary,turns_taken}' = e.v #>> '{summary,turns_max}' AND e.v #>> '{summary,max_reward}' NOT LIKE '1%', false),
			'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_intercode.source, 'environment', e.v -> 'environment', 'dataset', e.v -> 'dataset',
				'task_id', e.v -> 'task_id', 'query', e.v -> 'query', 'hardness', e.v -> 'hardness')),
			'steps', coalesce((SELECT jsonb_agg(jsonb_build_object('turn', a.i - 1,
					'observation', CASE a.i WHEN 1 THEN e.v -> 'query' ELSE h.seen -> (a.i::integer - 2) END,
					'next_observation', h.seen -> (a.i::integer - 1), 'action', a.v, 'tool', x.environment, 'args', jsonb_build_object('command', a.v),
					'ok', CASE WHEN jsonb_typeof(h.valid -> (a.i::integer - 1)) = 'boolean' THEN h.valid -> (a.i::integer - 1) END,
					'reward', h.rewards -> (a.i::integer - 1)) ORDER BY a.i)
				FROM jsonb_array_elements(e.v #> '{turn_history,actions}') WITH ORDINALITY a(v, i)), '[]'),
			'repaired', jsonb_strip_nulls(jsonb_build_object('actions without an observation', nullif(greatest(jsonb_array_length(e.v #> '{turn_history,actions}')
				- CASE WHEN jsonb_typeof(h.seen) = 'array' THEN jsonb_array_length(h.seen) ELSE 0 END, 0), 0)))) END
	FROM jsonb_each(CASE WHEN document ? 'turn_history' THEN jsonb_build_object(coalesce(document ->> 'task_id', '0'), document)
		WHEN jsonb_typeof(document) = 'object' THEN document ELSE '{}' END) e(k, v)
	CROSS JOIN LATERAL (SELECT coalesce(regexp_replace(e.v ->> 'environment', '^ic_', ''), 'intercode') AS environment) x
	CROSS JOIN LATERAL (SELECT e.v #> '{turn_history,observations}' AS seen, e.v #> '{turn_history,rewards}' AS rewards, e.v #> '{turn_history,valid_action}' AS valid OFFSET 0) h
	LEFT JOIN LATERAL stepadv_internal.import_names(parse_intercode.source) f ON true;
END
$$;
COMMENT ON FUNCTION @extschema@.parse_intercode(jsonb, text, bigint) IS
'the rollouts of an InterCode log: an object of episodes, each with query and turn_history; the outcome is the best score reached; one jsonb per rollout as in docs/import.md';

-- Logs of ReAct agents.  A line that starts with one of the marks begins a part,
-- every other line goes on with the one before.
CREATE FUNCTION stepadv_internal.import_react_parts(document text)
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

CREATE FUNCTION @extschema@.parse_react(document text, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
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
		'rollout_id', concat_ws('-', f.base, CASE WHEN k.is_episode THEN 'fixed_' || k.task ELSE left(md5(k.task), 10) END, 't' || k.trial),
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

-- Where the user says what is where.
CREATE FUNCTION @extschema@.parse_by_paths(document jsonb, paths jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	of_rollout CONSTANT text[] := '{group_id,rollout_id,outcome,success,truncated,policy_version,model,channel,curation,started_at,ended_at,meta}';
	of_step CONSTANT text[] := '{step_no,turn,observation,next_observation,action,tool,args,ok,reward,turn_reward,value,cost,step_meta}';
	given record;
	vars jsonb;
	item jsonb;
	step jsonb;
	found jsonb;
	rollout jsonb;
	steps jsonb[];
	arguments record;
	repaired jsonb;
BEGIN
	IF jsonb_typeof(paths) IS DISTINCT FROM 'object' OR NOT paths ? 'group_id' THEN
		RAISE EXCEPTION 'paths must be an object with at least the key group_id'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'For example {"rollouts": "$.episodes[*]", "group_id": "$.task", "steps": "$.turns[*]", "action": "$.act"}.';
	END IF;
	FOR given IN SELECT e.key, jsonb_typeof(e.value) AS type FROM jsonb_each(paths) e LOOP
		IF given.key <> ALL (of_rollout || of_step || '{rollouts,steps}'::text[]) THEN
			RAISE EXCEPTION 'paths has the unknown key %', quote_ident(given.key)
				USING ERRCODE = 'invalid_parameter_value', HINT = format('There are: rollouts, steps, %s.', array_to_string(of_rollout || of_step, ', '));
		END IF;
		IF given.type <> 'string' THEN
			RAISE EXCEPTION 'the path of % must be a string, not %', given.key, given.type USING ERRCODE = 'invalid_parameter_value';
		END IF;
		PERFORM (paths ->> given.key)::jsonpath;
	END LOOP;
	vars := jsonb_build_object('document', document, 'source', source, 'n', n);
	FOR item IN SELECT jsonb_path_query(document, coalesce(paths ->> 'rollouts', '$')::jsonpath, vars, true) LOOP
		SELECT coalesce(jsonb_object_agg(k.key, k.value), '{}') INTO rollout
		FROM (SELECT r.key, jsonb_path_query_first(item, (paths ->> r.key)::jsonpath, vars, true) AS value
			FROM unnest(of_rollout) r(key) WHERE paths ? r.key) k
		WHERE k.value <> 'null';
		repaired := '{}';
		steps := '{}';
		FOR step IN SELECT jsonb_path_query(item, coalesce(paths ->> 'steps', '$.steps[*]')::jsonpath, vars, true) LOOP
			SELECT coalesce(jsonb_object_agg(CASE k.key WHEN 'step_meta' THEN 'meta' ELSE k.key END,
				CASE WHEN k.key IN ('observation', 'next_observation') THEN to_jsonb(stepadv_internal.import_text(k.value)) ELSE k.value END), '{}') INTO found
			FROM (SELECT s.key, jsonb_path_query_first(step, (paths ->> s.key)::jsonpath, vars, true) AS value
				FROM unnest(of_step) s(key) WHERE paths ? s.key) k
			WHERE k.value <> 'null';
			IF jsonb_typeof(found -> 'args') = 'string' THEN
				SELECT a.args, a.words, a.repaired INTO arguments FROM stepadv_internal.import_arguments(found -> 'args') a;
				IF arguments.repaired IS NOT NULL THEN
					repaired := jsonb_set(repaired, ARRAY[arguments.repaired], to_jsonb(coalesce((repaired ->> arguments.repaired)::bigint, 0) + 1));
				END IF;
				IF arguments.args IS NULL AND NOT found ? 'action' THEN
					found := found || jsonb_build_object('action', found -> 'args');
				END IF;
				found := found || jsonb_build_object('args', arguments.args);
			END IF;
			steps := steps || found;
		END LOOP;
		RETURN NEXT CASE WHEN rollout ? 'group_id' THEN jsonb_build_object('rollout_id', stepadv_internal.import_digest(item)) || rollout
				|| jsonb_build_object('steps', to_jsonb(steps), 'repaired', repaired)
			ELSE jsonb_build_object('problem', 'nothing is where paths says the group_id is') END;
	END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.parse_by_paths(jsonb, jsonb, text, bigint) IS
'the rollouts of a JSON document by SQL/JSON paths: rollouts (default $) finds them, steps (default $.steps[*]) their steps, and a path for each key of docs/import.md what it is, relative to the rollout or the step; $document, $source and $n are known in paths; one jsonb per rollout';

-- Which format a document has.
CREATE FUNCTION @extschema@.rollout_format(document jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT CASE
			WHEN jsonb_typeof(x.v -> 'trajectory') = 'array' THEN 'swe_agent'
			WHEN jsonb_typeof(x.v -> 'messages') = 'array' AND (x.v ->> 'trajectory_format' LIKE 'mini-swe-agent%' OR x.v #>> '{info,mini_version}' IS NOT NULL) THEN 'mini_swe_agent'
			WHEN jsonb_typeof(x.v -> 'traj') = 'array' OR jsonb_typeof(x.v -> 'messages') = 'array' OR x.v ? 'role' THEN 'openai_chat'
			WHEN jsonb_typeof(x.v -> 'simulations') = 'array' THEN 'openai_chat'
			WHEN jsonb_typeof(x.v -> 'output') = 'array' OR jsonb_typeof(x.v #> '{response,output}') = 'array' THEN 'responses'
			WHEN jsonb_typeof(x.v -> 'input') = 'string' AND jsonb_typeof(x.v -> 'output') = 'string' THEN 'verl'
			WHEN jsonb_typeof(x.v -> 'turn_history') = 'object'
				OR jsonb_typeof(x.v) = 'object' AND jsonb_path_exists(x.v, '$.*.turn_history') THEN 'intercode'
			WHEN x.v ? 'group_id' AND x.v ? 'rollout_id' THEN 'steps'
		END
		FROM (SELECT CASE WHEN jsonb_typeof(rollout_format.document) = 'array' THEN rollout_format.document -> 0 ELSE rollout_format.document END AS v) x);
END
$$;
COMMENT ON FUNCTION @extschema@.rollout_format(jsonb) IS
'the format of a document as import_rollouts knows it, by its shape: openai_chat, swe_agent, mini_swe_agent, responses, verl, intercode, or steps for a line of load_rollouts; NULL: none of them';
-- Documents of any format of import/30-formats.sql into the canonical tables.

-- One document as rollouts.  Never raises an error on bad data: a rollout that
-- cannot be used has a problem instead of steps.
CREATE FUNCTION stepadv_internal.import_document(document text, content jsonb, format text, source text, n bigint, paths jsonb, is_latin1 boolean,
	OUT rollouts jsonb[], OUT nul_replaced integer, OUT problem text)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	detail text;
BEGIN
	nul_replaced := 0;
	BEGIN
		IF document IS NOT NULL AND (format = 'react' OR format IS NULL AND document !~ '^\s*[[{]' AND document ~ '(^|\n)Action( [0-9]+)?: ') THEN
			IF is_latin1 THEN
				document := convert_from(convert_to(document, 'LATIN1'), 'UTF8');
			END IF;
			-- What the client made of NUL.
			nul_replaced := length(document) - length(replace(document, chr(26), ''));
			SELECT array_agg(r) INTO rollouts FROM @extschema@.parse_react(replace(document, chr(26), chr(65533)), source, n) r;
			RETURN;
		END IF;
		IF document IS NOT NULL THEN
			SELECT t.content, t.nul_replaced INTO content, nul_replaced FROM stepadv_internal.json_of_text(document, is_latin1) t;
		END IF;
		IF format IS NULL AND paths IS NULL THEN
			format := @extschema@.rollout_format(content);
		END IF;
		CASE coalesce(format, CASE WHEN paths IS NOT NULL THEN 'paths' END)
			WHEN 'openai_chat' THEN SELECT array_agg(r) INTO rollouts FROM @extschema@.parse_openai_chat(content, source, n) r;
			WHEN 'swe_agent' THEN SELECT array_agg(r) INTO rollouts FROM @extschema@.parse_swe_agent(content, source, n) r;
			WHEN 'mini_swe_agent' THEN SELECT array_agg(r) INTO rollouts FROM @extschema@.parse_mini_swe_agent(content, source, n) r;
			WHEN 'responses' THEN SELECT array_agg(r) INTO rollouts FROM @extschema@.parse_responses(content, source, n) r;
			WHEN 'verl' THEN SELECT array_agg(r) INTO rollouts FROM @extschema@.parse_verl(content, source, n) r;
			WHEN 'intercode' THEN SELECT array_agg(r) INTO rollouts FROM @extschema@.parse_intercode(content, source, n) r;
			WHEN 'react' THEN SELECT array_agg(r) INTO rollouts FROM @extschema@.parse_react(content #>> '{}', source, n) r;
			WHEN 'paths' THEN SELECT array_agg(r) INTO rollouts FROM @extschema@.parse_by_paths(content, paths, source, n) r;
			ELSE problem := CASE WHEN format = 'steps' THEN 'this is a line for load_rollouts' ELSE 'the document has no known format' END;
		END CASE;
		IF problem IS NULL AND rollouts IS NULL THEN
			problem := 'there is no rollout in the document';
		END IF;
	EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
		GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
		problem := left(problem || coalesce(' (' || nullif(detail, '') || ')', ''), 300);
		rollouts := NULL;
		nul_replaced := 0;
	END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_document(text, jsonb, text, text, bigint, jsonb, boolean) IS
'part of import_rollouts: a document, as text or as jsonb, as rollouts in our words; problem is NULL or says why it cannot be used';

-- Why a rollout cannot be loaded; NULL: it can.  The types of values are looked
-- at all at once, and again one by one only where something is wrong.
CREATE FUNCTION stepadv_internal.import_problem(rollout jsonb) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $import_problem$
BEGIN
	IF rollout ? 'problem' THEN
		RETURN rollout ->> 'problem';
	ELSIF coalesce(jsonb_typeof(rollout -> 'group_id'), 'missing') NOT IN ('string', 'number') OR coalesce(jsonb_typeof(rollout -> 'rollout_id'), 'missing') NOT IN ('string', 'number') THEN
		RETURN 'group_id and rollout_id must be strings or numbers';
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
	ELSIF jsonb_path_exists(rollout, '$.steps[*].step_no') THEN
		RETURN (
			SELECT CASE WHEN bool_or(x.step_no IS NULL) THEN 'step_no must be given for every step or none'
				WHEN bool_or(x.step_no % 1 <> 0 OR x.step_no NOT BETWEEN -2147483648 AND 2147483647) THEN 'step_no must be a whole number'
				WHEN count(DISTINCT x.step_no) < count(*) THEN 'two steps have one step_no' END
			FROM (SELECT (s.v ->> 'step_no')::numeric AS step_no FROM jsonb_array_elements(rollout -> 'steps') s(v)) x);
	END IF;
	IF rollout ?| '{started_at,ended_at}' THEN
		BEGIN
			PERFORM (rollout ->> 'started_at')::timestamptz, (rollout ->> 'ended_at')::timestamptz;
		EXCEPTION WHEN data_exception THEN
			RETURN SQLERRM;
		END;
	END IF;
	RETURN NULL;
END
$import_problem$;
COMMENT ON FUNCTION stepadv_internal.import_problem(jsonb) IS 'part of import_rollouts: why a rollout cannot be loaded, or NULL';

-- The format of a text that may be no JSON.
CREATE FUNCTION stepadv_internal.import_guess(document text, is_latin1 boolean) RETURNS text
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

-- Sums of counts by kind.
CREATE FUNCTION stepadv_internal.import_counts(counts jsonb[]) RETURNS jsonb
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

CREATE FUNCTION stepadv_internal.import_check(documents regclass, format text, paths jsonb, OUT kind text, OUT has_source boolean)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	formats CONSTANT text[] := '{openai_chat,swe_agent,mini_swe_agent,responses,verl,intercode,react,paths}';
BEGIN
	IF import_check.format <> ALL (formats) THEN
		RAISE EXCEPTION 'unknown format: %', quote_literal(import_check.format)
			USING ERRCODE = 'invalid_parameter_value', HINT = format('The formats: %s.', array_to_string(formats, ', '));
	END IF;
	IF import_check.format = 'paths' AND import_check.paths IS NULL OR import_check.format <> 'paths' AND import_check.paths IS NOT NULL THEN
		RAISE EXCEPTION 'paths must be given with the format ''paths'', and only with it' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF import_check.paths IS NOT NULL THEN
		-- Wrong paths are wrong for every document.
		PERFORM @extschema@.parse_by_paths('null'::jsonb, import_check.paths, NULL::text, NULL::bigint);
	END IF;
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
'part of import_rollouts: errors for wrong arguments; the type of the column document, and whether there is a column source';

-- Documents to rollouts.
CREATE FUNCTION stepadv_internal.import_items(group_prefix text, OUT rollouts_read bigint, OUT bad_rollouts bigint, OUT stepless_rollouts bigint, OUT unjudged_rollouts bigint,
	OUT rollouts_repeated bigint, OUT steps_repeated bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- What is long is fetched for its steps alone.
	CREATE TEMP TABLE stepadv_items (item bigint, n bigint, problem text, group_id text, rollout_id text, content bigint, n_steps integer, about jsonb, steps jsonb) ON COMMIT DROP;
	ALTER TABLE pg_temp.stepadv_items ALTER steps SET STORAGE EXTERNAL;
	INSERT INTO pg_temp.stepadv_items
	SELECT row_number() OVER (ORDER BY d.n, r.i), d.n, stepadv_internal.import_problem(r.v), import_items.group_prefix || (r.v ->> 'group_id'),
		-- An id that begins with that of its group goes with it.
		CASE WHEN starts_with(r.v ->> 'rollout_id', r.v ->> 'group_id') THEN import_items.group_prefix ELSE '' END || (r.v ->> 'rollout_id'),
		@extschema@.signature_hash(r.v - '{meta,dropped,repaired}'::text[]), coalesce(jsonb_array_length(r.v -> 'steps'), 0), r.v - 'steps', r.v -> 'steps'
	FROM pg_temp.stepadv_documents d CROSS JOIN LATERAL unnest(d.rollouts) WITH ORDINALITY r(v, i)
	WHERE r.v ?| '{group_id,problem}';
	DROP TABLE pg_temp.stepadv_documents;

	-- Two rollouts with one id: the same once more, or one too many.
	WITH first AS (
		SELECT i.item, i.content, first_value(i.content) OVER w AS first_content, first_value(i.n) OVER w AS first_n, row_number() OVER w AS position
		FROM pg_temp.stepadv_items i WHERE i.problem IS NULL
		WINDOW w AS (PARTITION BY i.group_id, i.rollout_id ORDER BY i.item)
	)
	UPDATE pg_temp.stepadv_items i
	SET problem = CASE WHEN f.content = f.first_content THEN ''
		ELSE format('rollout %s of group %s is another than the one of that name in document %s', i.rollout_id, i.group_id, f.first_n) END
	FROM first f WHERE f.item = i.item AND f.position > 1;
	SELECT count(*), count(*) FILTER (WHERE i.problem <> ''), count(*) FILTER (WHERE i.problem = ''),
		coalesce(sum(i.n_steps) FILTER (WHERE i.problem = ''), 0)
	INTO rollouts_read, bad_rollouts, rollouts_repeated, steps_repeated
	FROM pg_temp.stepadv_items i;
	INSERT INTO pg_temp.stepadv_problems (n, reason, counted, item) SELECT i.n, i.problem, 'bad', i.item FROM pg_temp.stepadv_items i WHERE i.problem <> '';
	DELETE FROM pg_temp.stepadv_items i WHERE i.problem IS NOT NULL;
	SELECT count(*) FILTER (WHERE i.n_steps = 0),
		count(*) FILTER (WHERE coalesce(jsonb_typeof(i.about -> 'outcome'), 'null') = 'null' AND coalesce(jsonb_typeof(i.about -> 'success'), 'null') = 'null')
	INTO stepless_rollouts, unjudged_rollouts FROM pg_temp.stepadv_items i;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_items(text) IS
'part of import_rollouts: makes pg_temp.stepadv_items, a rollout each, of pg_temp.stepadv_documents, and counts; what cannot be loaded is noted and left out';

-- Rollouts to lines: one for the rollout itself, one for each step.
CREATE FUNCTION stepadv_internal.import_lines(success_at float8) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	INSERT INTO pg_temp.stepadv_parsed (n, item, place, group_id, rollout_id, step_no, turn, observation, next_observation, action, tool, args, ok,
		reward, turn_reward, value, cost, metadata, content)
	SELECT i.item * 2147483648 + s.i, i.item, i.n, i.group_id, i.rollout_id, coalesce((s.v ->> 'step_no')::numeric, s.i - 1), (s.v ->> 'turn')::numeric,
		s.v ->> 'observation', s.v ->> 'next_observation', s.v ->> 'action', s.v ->> 'tool', nullif(s.v -> 'args', 'null'), (s.v ->> 'ok')::boolean,
		(s.v ->> 'reward')::float8, (s.v ->> 'turn_reward')::float8, (s.v ->> 'value')::float8, (s.v ->> 'cost')::float8, nullif(s.v -> 'meta', 'null'), i.content
	FROM pg_temp.stepadv_items i CROSS JOIN LATERAL jsonb_array_elements(i.steps) WITH ORDINALITY s(v, i);
	INSERT INTO pg_temp.stepadv_parsed (n, item, place, group_id, rollout_id, outcome, success, truncated, policy_version, model, channel, curation, started_at, ended_at, metadata, content)
	SELECT i.item * 2147483648, i.item, i.n, i.group_id, i.rollout_id, (i.about ->> 'outcome')::float8,
		-- Sums of scores miss 1 by the last digit.
		coalesce((i.about ->> 'success')::boolean, (i.about ->> 'outcome')::float8 >= import_lines.success_at - 1e-9),
		(i.about ->> 'truncated')::boolean, i.about ->> 'policy_version', i.about ->> 'model', i.about ->> 'channel', i.about ->> 'curation',
		(i.about ->> 'started_at')::timestamptz, (i.about ->> 'ended_at')::timestamptz, nullif(i.about -> 'meta', 'null'), i.content
	FROM pg_temp.stepadv_items i;
	DROP TABLE pg_temp.stepadv_items;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_lines(float8) IS
'part of import_rollouts: makes lines in pg_temp.stepadv_parsed of pg_temp.stepadv_items';

CREATE FUNCTION @extschema@.import_rollouts(schema text, documents regclass, format text DEFAULT NULL, on_error text DEFAULT 'stop',
	paths jsonb DEFAULT NULL, group_prefix text DEFAULT '', success_at float8 DEFAULT 1, is_latin1 boolean DEFAULT false,
	OUT documents_read bigint, OUT bad_documents bigint, OUT rollouts_read bigint, OUT bad_rollouts bigint, OUT stepless_rollouts bigint, OUT unjudged_rollouts bigint,
	OUT groups bigint, OUT rollouts_added bigint, OUT rollouts_updated bigint, OUT rollouts_repeated bigint,
	OUT steps_added bigint, OUT steps_repeated bigint, OUT contradictions bigint, OUT nul_replaced bigint,
	OUT dropped jsonb, OUT repaired jsonb, OUT problems jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- The same few queries for every document and rollout: planned once.
SET plan_cache_mode = force_generic_plan
-- A batch is sorted in memory, not by way of the disk.
SET work_mem = '256MB'
AS $$
DECLARE
	kind text;
	has_source boolean;
	bad bigint;
BEGIN
	PERFORM stepadv_internal.load_begin(import_rollouts.schema, import_rollouts.on_error);
	SELECT c.kind, c.has_source INTO kind, has_source FROM stepadv_internal.import_check(import_rollouts.documents, import_rollouts.format, import_rollouts.paths) c;

	-- What the documents say of their rollouts.
	CREATE TEMP TABLE stepadv_documents (n bigint, nul_replaced integer, problem text, rollouts jsonb[]) ON COMMIT DROP;
	-- Read once: not worth compressing.
	ALTER TABLE pg_temp.stepadv_documents ALTER rollouts SET STORAGE EXTERNAL;
	EXECUTE format($q$
		INSERT INTO pg_temp.stepadv_documents
		SELECT d.n, p.nul_replaced, p.problem, p.rollouts
		FROM %s d CROSS JOIN LATERAL stepadv_internal.import_document(%s, $1, %s, d.n, $2, $3) p
		WHERE %s
		$q$, stepadv_internal.load_name(import_rollouts.documents), CASE kind WHEN 'text' THEN 'd.document, NULL::jsonb' ELSE 'NULL::text, d.document' END,
		CASE WHEN has_source THEN 'd.source' ELSE 'NULL::text' END,
		CASE kind WHEN 'text' THEN $q$ascii(d.document) > 32 OR btrim(d.document, E' \t\r\n') <> ''$q$ ELSE 'd.document IS NOT NULL' END)
		USING import_rollouts.format, import_rollouts.paths, import_rollouts.is_latin1;
	SELECT count(*), count(d.problem), coalesce(sum(d.nul_replaced), 0) INTO documents_read, bad_documents, import_rollouts.nul_replaced FROM pg_temp.stepadv_documents d;
	INSERT INTO pg_temp.stepadv_problems (n, reason, counted) SELECT d.n, d.problem, 'document' FROM pg_temp.stepadv_documents d WHERE d.problem IS NOT NULL;
	SELECT stepadv_internal.import_counts(array_agg(r.v -> 'dropped')), stepadv_internal.import_counts(array_agg(r.v -> 'repaired'))
	INTO dropped, repaired
	FROM pg_temp.stepadv_documents d CROSS JOIN LATERAL unnest(d.rollouts) r(v) WHERE NOT r.v ? 'problem';
	SELECT i.* INTO rollouts_read, bad_rollouts, stepless_rollouts, unjudged_rollouts, import_rollouts.rollouts_repeated, import_rollouts.steps_repeated
	FROM stepadv_internal.import_items(import_rollouts.group_prefix) i;
	PERFORM stepadv_internal.import_lines(import_rollouts.success_at);
	SELECT p.bad_items, p.groups, p.rollouts_added, p.rollouts_updated, p.steps_added, p.steps_repeated + import_rollouts.steps_repeated, p.contradictions, p.problems, import_rollouts.rollouts_repeated + p.rollouts_repeated
	INTO bad, import_rollouts.groups, rollouts_added, rollouts_updated, steps_added, import_rollouts.steps_repeated, contradictions, import_rollouts.problems, import_rollouts.rollouts_repeated
	FROM stepadv_internal.load_parsed(import_rollouts.schema, import_rollouts.on_error, 'document'::text, true) p;
END
$$;
COMMENT ON FUNCTION @extschema@.import_rollouts(text, regclass, text, text, jsonb, text, float8, boolean) IS
'loads documents of a scaffold''s format from a table (n bigint, document text or jsonb, and if there is one source text, the file) into the schema''s tables rollouts and steps and returns counts, of what was dropped and repaired by kind; format NULL: guessed for each document; paths as in parse_by_paths; group_prefix is put before the source''s group ids; a rollout of which the source does not say so is a success if its outcome is at least success_at; on_error ''stop'': what cannot be used is an error and nothing is loaded; ''skip'': such documents and rollouts are left out whole, warned about and listed in problems (the first 1000); rollouts loaded before are recognised; is_latin1 as in parse_rollout_line';

-- The lines of one file: a document on each, or all of them one document, or the
-- steps of load_rollouts.
CREATE FUNCTION stepadv_internal.import_file(schema text, lines regclass, source text DEFAULT NULL, format text DEFAULT NULL, on_error text DEFAULT 'stop',
	paths jsonb DEFAULT NULL, group_prefix text DEFAULT '', success_at float8 DEFAULT 1, is_latin1 boolean DEFAULT false) RETURNS jsonb
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	relation CONSTANT text := stepadv_internal.load_name(import_file.lines);
	mark CONSTANT text := CASE WHEN is_latin1 THEN chr(239) || chr(187) || chr(191) ELSE convert_from('\xefbbbf', 'UTF8') END;
	first record;
	second record;
	result jsonb;
	guessed text;
BEGIN
	-- The first two lines that are not empty tell what the file is.
	IF import_file.format IS DISTINCT FROM 'steps' THEN
		EXECUTE format($q$SELECT l.n, l.line FROM %s l WHERE ascii(l.line) > 32 OR btrim(l.line, E' \t\r\n') <> '' ORDER BY l.n LIMIT 1$q$, relation) INTO first;
		IF starts_with(first.line, mark) THEN
			first.line := substr(first.line, length(mark) + 1);
		END IF;
		guessed := stepadv_internal.import_guess(first.line, import_file.is_latin1);
	END IF;
	IF import_file.format = 'steps' OR import_file.format IS NULL AND import_file.paths IS NULL AND guessed = 'steps' THEN
		SELECT to_jsonb(l) - '{lines_read,empty_lines,bad_lines}'::text[] || jsonb_build_object('format', 'steps', 'documents_read', l.lines_read - l.empty_lines, 'bad_documents', l.bad_lines,
			'bad_rollouts', 0, 'dropped', '{}'::jsonb, 'repaired', '{}'::jsonb) INTO result
		FROM @extschema@.load_rollouts(import_file.schema, import_file.lines, import_file.on_error, import_file.is_latin1) l;
		RETURN result;
	END IF;
	EXECUTE format($q$SELECT l.n, l.line FROM %s l WHERE l.n > $1 AND (ascii(l.line) > 32 OR btrim(l.line, E' \t\r\n') <> '') ORDER BY l.n LIMIT 1$q$, relation) INTO second USING first.n;
	IF to_regclass('pg_temp.stepadv_file') IS NOT NULL THEN
		DROP TABLE pg_temp.stepadv_file;
	END IF;
	CREATE TEMP TABLE stepadv_file (n bigint, document text, source text) ON COMMIT DROP;
	ALTER TABLE pg_temp.stepadv_file ALTER document SET STORAGE EXTERNAL;
	-- Two lines that both begin a value are two documents; what is printed over
	-- several lines begins with a bracket alone.
	IF length(btrim(first.line, E' \t\r')) > 1 AND left(first.line, 1) IN ('{', '[') AND left(second.line, 1) = left(first.line, 1) AND import_file.format IS DISTINCT FROM 'react' THEN
		EXECUTE format('INSERT INTO pg_temp.stepadv_file SELECT l.n, CASE WHEN l.n = $1 THEN $2 ELSE l.line END, $3 FROM %s l', relation) USING first.n, first.line, import_file.source;
	ELSE
		EXECUTE format($q$INSERT INTO pg_temp.stepadv_file SELECT 1, string_agg(CASE WHEN l.n = $1 THEN $2 ELSE l.line END, E'\n' ORDER BY l.n), $3 FROM %s l$q$, relation)
			USING first.n, first.line, import_file.source;
	END IF;
	SELECT to_jsonb(i) || jsonb_build_object('format', coalesce(import_file.format, CASE WHEN import_file.paths IS NOT NULL THEN 'paths' END, guessed)) INTO result
	FROM @extschema@.import_rollouts(import_file.schema, 'pg_temp.stepadv_file'::regclass, import_file.format, import_file.on_error, import_file.paths, import_file.group_prefix,
		import_file.success_at, import_file.is_latin1) i;
	DROP TABLE pg_temp.stepadv_file;
	RETURN result;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_file(text, regclass, text, text, text, jsonb, text, float8, boolean) IS
'part of import_rollouts: the lines of one file (n bigint, line text), which are a document each or one document together, to import_rollouts; lines of steps to load_rollouts; the counts as one object';

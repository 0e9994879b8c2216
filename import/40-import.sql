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

-- Beside a format, paths say what is the user's to say of its rollouts: they begin at
-- the rollout as the format gives it, metadata (meta) and steps included.
CREATE FUNCTION stepadv_internal.import_override(rollouts jsonb[], paths jsonb, source text, n bigint) RETURNS jsonb[]
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

CREATE FUNCTION stepadv_internal.import_is_plain(rollout jsonb) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_is_plain';
COMMENT ON FUNCTION stepadv_internal.import_is_plain(jsonb) IS 'part of import_rollouts: true where import_problem has nothing to say, false where it must be asked';

-- Lists of tokens: whole numbers that integer holds, truths, numbers, and as many.
CREATE FUNCTION stepadv_internal.import_token_problem(steps jsonb) RETURNS text
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

-- Why a rollout cannot be loaded; NULL: it can.  The types of values are looked
-- at all at once, and again one by one only where something is wrong.
CREATE FUNCTION stepadv_internal.import_problem(rollout jsonb) RETURNS text
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

-- Formats whose documents one call reads need no look at each by itself, as long as
-- nothing is wrong.
CREATE FUNCTION stepadv_internal.import_given_paths(format text, paths jsonb) RETURNS jsonb
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

CREATE FUNCTION stepadv_internal.import_plain_format(documents regclass, format text, paths jsonb, is_latin1 boolean) RETURNS text
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

-- The rollouts of documents of one of these formats, or that are said to be: an error
-- where a document is no JSON, a problem or NULL where nothing can be made of it.
CREATE FUNCTION stepadv_internal.import_plain_query(documents regclass, has_source boolean, format text, is_given boolean, is_latin1 boolean) RETURNS text
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

-- The rollouts of documents, in their order; a document without any is a row too.
CREATE FUNCTION stepadv_internal.import_query(documents regclass, kind text, has_source boolean, format text, paths jsonb, is_latin1 boolean) RETURNS text
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

-- The format that somebody may have meant.
CREATE FUNCTION stepadv_internal.import_nearest_format(format text) RETURNS text
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

CREATE FUNCTION stepadv_internal.import_check(documents regclass, format text, paths jsonb, OUT kind text, OUT has_source boolean, OUT specs jsonb)
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

-- Two rollouts with one id: the same once more (the problem is empty), or one too many.
CREATE FUNCTION stepadv_internal.import_twins() RETURNS void
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

CREATE FUNCTION stepadv_internal.import_content(about jsonb, steps jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN @extschema@.signature_hash(about - '{meta,dropped,repaired}'::text[]) || ' ' || coalesce(@extschema@.signature_hash(steps)::text, '');
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_content(jsonb, jsonb) IS 'part of import_rollouts: what two rollouts have in common that say the same';

-- Documents to rollouts.
CREATE FUNCTION stepadv_internal.import_make_items(schema text, run_id text, policy_version text) RETURNS void
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

CREATE FUNCTION stepadv_internal.import_fill_items(schema text, query text, group_prefix text, success_at float8) RETURNS void
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

-- All at once, if all are good; false: nothing was done, they must be looked at one by one.
CREATE FUNCTION stepadv_internal.import_verl_lines(schema text, query text, group_prefix text, success_at float8) RETURNS boolean
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

-- From documents to the tables in one go.
CREATE FUNCTION stepadv_internal.import_directly(schema text, documents regclass, query text, group_prefix text, success_at float8, run_id text, policy_version text, policy_step bigint,
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

-- What came of the documents; what of them was no rollout is taken out.
CREATE FUNCTION stepadv_internal.import_count_documents(OUT documents_read bigint, OUT bad_documents bigint, OUT nul_replaced bigint)
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

CREATE FUNCTION stepadv_internal.import_items(schema text, OUT rollouts_read bigint, OUT bad_rollouts bigint, OUT stepless_rollouts bigint, OUT unjudged_rollouts bigint,
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

-- Rollouts to their steps.  The types of values are those that import_problem asks for.
CREATE FUNCTION stepadv_internal.import_lines(schema text) RETURNS void
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

-- A path that finds nothing in any document is a mistake.  What rollouts tell of is
-- "without", and the name, in the counts of what was repaired.
CREATE FUNCTION stepadv_internal.import_path_report(documents regclass, kind text, has_source boolean, is_latin1 boolean, specs jsonb, repaired jsonb, n_rollouts bigint, on_error text, INOUT problems jsonb, OUT told jsonb)
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

CREATE FUNCTION @extschema@.import_rollouts(schema text, documents regclass, format text DEFAULT NULL, on_error text DEFAULT 'stop',
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

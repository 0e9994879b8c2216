-- Langfuse: traces with their observations and scores, as its interface gives them
-- (versions 2 to 4; /api/public/traces/…), and rows of its exports (traces, observations
-- and scores, in camel or snake case), a list or a line each.  Types of observations:
-- GENERATION is the model; TOOL and RETRIEVER are tools, a SPAN is one where the model
-- calls something of its name; EVALUATOR and GUARDRAIL judge.

-- Members that are the same in both spellings.
CREATE FUNCTION stepadv_internal.import_langfuse_member(record jsonb, camel text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN nullif(coalesce(record -> camel, record -> lower(regexp_replace(camel, '([A-Z])', '_\1', 'g'))), 'null');
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_langfuse_member(jsonb, text) IS 'part of import_rollouts: a member of a record of Langfuse by its name in camel case, or the same in snake case; NULL: neither is there, or it is null';

-- Tokens are numbers, or spelled so.
CREATE FUNCTION stepadv_internal.import_count(value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE WHEN value #>> '{}' ~ '^[0-9]{1,18}$' THEN to_jsonb((value #>> '{}')::bigint) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_count(jsonb) IS 'part of import_rollouts: a whole number, or a string that spells one; else NULL';

CREATE FUNCTION stepadv_internal.import_langfuse_kind(type text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE upper(type) WHEN 'GENERATION' THEN 'llm' WHEN 'TOOL' THEN 'tool' WHEN 'RETRIEVER' THEN 'tool' WHEN 'EVALUATOR' THEN 'judge' WHEN 'GUARDRAIL' THEN 'judge' ELSE 'other' END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_langfuse_kind(text) IS 'part of import_rollouts: what an observation of this type is: llm, tool, judge or other';

-- A trace is the root of what is observed in it.
CREATE FUNCTION stepadv_internal.import_langfuse_trace(v jsonb) RETURNS jsonb
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

CREATE FUNCTION stepadv_internal.import_langfuse_observation(v jsonb) RETURNS jsonb
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

-- Scores stand beside what they are of: the trace, or one observation.
CREATE FUNCTION stepadv_internal.import_langfuse_scores(scores jsonb, trace jsonb) RETURNS SETOF jsonb
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

CREATE FUNCTION stepadv_internal.import_langfuse_spans(document jsonb) RETURNS SETOF jsonb
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

CREATE FUNCTION @extschema@.parse_langfuse(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
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

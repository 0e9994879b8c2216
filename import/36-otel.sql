-- Spans of OpenTelemetry: as the collector and exporters write them (OTLP JSON:
-- resourceSpans, scopeSpans, spans), as the SDK's console exporter does, and as Phoenix
-- gives them out (its interface, and data frames as lines).  What they say of models and
-- tools: the semantic conventions of GenAI (version 1.40 of them, with the events of
-- evaluations; attributes numbered message by message, as OpenLLMetry has them, too) and
-- OpenInference (semantic conventions 0.1.x).

-- A value of OTLP.
CREATE FUNCTION stepadv_internal.import_otlp_value(value jsonb) RETURNS jsonb
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

-- Attributes as one object of names with dots, whether they are a list of keys and
-- values, such an object, or one within the other; messages of GenAI as they are.
CREATE FUNCTION stepadv_internal.import_attributes(attributes jsonb) RETURNS jsonb
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

-- Messages that are spread over attributes, number by number: OpenInference's
-- (<prefix>.0.message.content) and OpenLLMetry's (<prefix>.0.content).
CREATE FUNCTION stepadv_internal.import_numbered_messages(attributes jsonb, prefix text) RETURNS jsonb
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

-- What a model was told (is_told) or said.
CREATE FUNCTION stepadv_internal.import_otel_messages(a jsonb, events jsonb, is_told boolean) RETURNS jsonb
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

-- What a span is: by the conventions it follows.
CREATE FUNCTION stepadv_internal.import_otel_kind(a jsonb, span_kind text) RETURNS text
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

-- Events of evaluations, and OpenInference's numbered annotations and evaluations;
-- Phoenix's data frames have eval.<name>.score.
CREATE FUNCTION stepadv_internal.import_otel_scores(a jsonb, events jsonb) RETURNS jsonb
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

CREATE FUNCTION stepadv_internal.import_first_attribute(a jsonb, names text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT a -> n.name FROM unnest(names) WITH ORDINALITY n(name, i) WHERE jsonb_typeof(a -> n.name) IN ('string', 'number') AND a ->> n.name <> '' ORDER BY n.i LIMIT 1);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_first_attribute(jsonb, text[]) IS 'part of import_rollouts: the first of these attributes that is there and is a string or a number';

-- Names under which people note what a trace is about.
CREATE FUNCTION stepadv_internal.import_names_of(what text) RETURNS text[]
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

-- A span in our words, of a span with its attributes a (of import_attributes), those of
-- its resource, and its events [{name, a}].
CREATE FUNCTION stepadv_internal.import_otel_span(raw jsonb, a jsonb, resource jsonb, events jsonb) RETURNS jsonb
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

-- All spans of a document, whichever of the shapes it has.
CREATE FUNCTION stepadv_internal.import_otel_spans(document jsonb) RETURNS SETOF jsonb
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

CREATE FUNCTION @extschema@.parse_otel(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
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

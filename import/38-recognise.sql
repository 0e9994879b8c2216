-- Which format a document has.  A format is recognised by what no other has: rows of
-- import_marks, nothing else.  Where two formats fit none is taken.

-- What must be there (a path that finds something), and how to say so.  A format may
-- have several variants: it fits if all marks of one of them are there.  Paths start
-- at the document, or at its first element if it is a list and in_list is false.
CREATE FUNCTION stepadv_internal.import_marks() RETURNS TABLE (format text, variant integer, in_list boolean, mark jsonpath, words text)
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

-- The first element of a list stands for all.
CREATE FUNCTION stepadv_internal.import_missing(document jsonb) RETURNS TABLE (format text, variant integer, missing text[])
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

CREATE FUNCTION stepadv_internal.import_formats() RETURNS TABLE (format text)
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

CREATE FUNCTION @extschema@.rollout_formats(document jsonb) RETURNS TABLE (format text, fits boolean, missing text)
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

CREATE FUNCTION @extschema@.rollout_format(document jsonb) RETURNS text
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

-- Of documents that are mostly of one format only its own marks are looked for.
CREATE FUNCTION stepadv_internal.import_is(document jsonb, format text) RETURNS boolean
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

-- What stands at the top of a document, for people: its keys, or those of its first
-- element.
CREATE FUNCTION stepadv_internal.import_keys(document jsonb) RETURNS text
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

-- Why a document is none of the formats, or more than one.
CREATE FUNCTION stepadv_internal.import_unknown(document jsonb) RETURNS text
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

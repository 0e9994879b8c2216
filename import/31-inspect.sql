-- Inspect's logs (inspect_ai, EvalLog version 2): .json, and .eval as stepadv-import
-- unpacks it: a line {"header": …, "sample": …} for each sample.

-- A score of Inspect: a number, or C, P, I, N as its own value_to_float reads them.
CREATE FUNCTION stepadv_internal.import_inspect_score(value jsonb) RETURNS float8
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

-- Its messages are those of the chat interface but for calls ({id, function, arguments})
-- and errors of results ({error: {type, message}}).
CREATE FUNCTION stepadv_internal.import_inspect_items(messages jsonb) RETURNS jsonb
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

CREATE FUNCTION @extschema@.parse_inspect(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
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

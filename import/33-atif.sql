-- ATIF, Harbor's Agent Trajectory Interchange Format, versions 1.0 to 1.7.

CREATE FUNCTION stepadv_internal.import_atif_items(steps jsonb) RETURNS jsonb
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

-- What a turn took: its tokens, where the trainer's way to them is noted, and the numbers
-- beside them as they are.
CREATE FUNCTION stepadv_internal.import_atif_metrics(metrics jsonb) RETURNS jsonb
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

-- To the first step of each turn; where the agent's steps are not the turns, one for one, to none.
CREATE FUNCTION stepadv_internal.import_atif_turns(told jsonb, INOUT steps jsonb, INOUT repaired jsonb)
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

CREATE FUNCTION @extschema@.parse_atif(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
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

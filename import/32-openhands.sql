-- OpenHands: trajectories (lists of events), outputs of its evaluation (a line with
-- history), single event streams.  Version 0: actions {id, source, action, args} and
-- observations {cause, observation, content, extras}, joined by cause; version 1 (the
-- software agent SDK): {kind: "ActionEvent", action, tool_name, tool_call_id} and
-- {kind: "ObservationEvent", observation, action_id, tool_call_id}.

CREATE FUNCTION stepadv_internal.import_openhands_items(events jsonb) RETURNS jsonb
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

CREATE FUNCTION @extschema@.parse_openhands(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
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

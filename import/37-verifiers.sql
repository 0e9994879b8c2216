-- What verifiers saves: results.jsonl, a rollout a line, and traces.jsonl (version 1 of
-- its trace), an episode a line with a trace for each of its agents, or a trace a line.

-- A trace is a graph of messages: nodes, each with its parent before it.  What the model
-- sampled are turns, in the order in which they were; what stands between them was told.
-- Where the conversation was begun anew (a node whose parent is not the one before it)
-- what had been told is told again and left out.  tokens: of each turn.
CREATE FUNCTION stepadv_internal.import_verifiers_nodes(nodes jsonb, OUT messages jsonb, OUT tokens jsonb, OUT dropped jsonb)
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

CREATE FUNCTION stepadv_internal.import_verifiers_turn(before jsonb, ids jsonb, n_sampled integer, logprobs jsonb) RETURNS jsonb
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

-- Rewards were numbers, and are a score and its weight.
CREATE FUNCTION stepadv_internal.import_verifiers_reward(rewards jsonb) RETURNS numeric
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

-- What an episode says of all its traces; a trace that stands alone says it of itself.
CREATE FUNCTION stepadv_internal.import_verifiers_trace(episode jsonb, trace jsonb, source text) RETURNS jsonb
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

CREATE FUNCTION @extschema@.parse_verifiers(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
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

-- Saved rollouts that are conversations: tau2's results, verifiers' and TRL's.

-- A prompt or a completion as messages of the chat interface: a text is one message,
-- calls may be texts of JSON or have their function's name beside them.
CREATE FUNCTION stepadv_internal.import_said(value jsonb, role text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF jsonb_typeof(value) = 'string' THEN
		RETURN jsonb_build_array(jsonb_build_object('role', import_said.role, 'content', value));
	END IF;
	RETURN (
		SELECT coalesce(jsonb_agg(CASE WHEN jsonb_typeof(m.v -> 'tool_calls') = 'array' THEN m.v || jsonb_build_object('tool_calls', (
				SELECT coalesce(jsonb_agg(CASE WHEN x.call ? 'function' THEN x.call
					ELSE jsonb_build_object('id', x.call -> 'id', 'type', 'function', 'function', jsonb_build_object('name', x.call -> 'name', 'arguments', x.call -> 'arguments')) END ORDER BY c.i), '[]')
				FROM jsonb_array_elements(m.v -> 'tool_calls') WITH ORDINALITY c(v, i), LATERAL (SELECT CASE WHEN jsonb_typeof(c.v) = 'string' AND c.v #>> '{}' ~ '^\s*\{' THEN (c.v #>> '{}')::jsonb ELSE c.v END AS call) x))
			ELSE m.v END ORDER BY m.i), '[]')
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(value) = 'array' THEN value ELSE '[]' END) WITH ORDINALITY m(v, i) WHERE jsonb_typeof(m.v) = 'object');
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_said(jsonb, text) IS 'part of import_rollouts: a prompt or completion, a text or a list of messages, as messages of the chat interface; role is that of a text';

-- A prompt may have answers in it, which are not the model's.
CREATE FUNCTION stepadv_internal.import_completion(prompt jsonb, completion jsonb, OUT messages jsonb, OUT steps jsonb, OUT dropped jsonb, OUT repaired jsonb)
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	asked CONSTANT jsonb := stepadv_internal.import_said(import_completion.prompt, 'user'::text);
	own CONSTANT jsonb := jsonb_path_query_array(asked, '$[*] ? (@.role != "assistant" && @.role != "tool")');
	n_examples CONSTANT integer := jsonb_array_length(asked) - jsonb_array_length(own);
BEGIN
	messages := own || stepadv_internal.import_said(import_completion.completion, 'assistant'::text);
	SELECT m.steps, m.dropped || CASE WHEN n_examples > 0 THEN jsonb_build_object('answers in the prompt', n_examples) ELSE '{}' END, m.repaired
	INTO import_completion.steps, import_completion.dropped, import_completion.repaired FROM stepadv_internal.import_messages(messages) m;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_completion(jsonb, jsonb) IS 'part of import_rollouts: a prompt and a completion as steps, and the messages they are made of; answers in the prompt are left out';

-- ----------
-- verifiers: results.jsonl
-- ----------

CREATE FUNCTION @extschema@.parse_verifiers(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
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
'the rollout of a line of verifiers'' results.jsonl (example_id, prompt, completion, reward): the group is the environment and the example, n the number of the line in source; one jsonb as in docs/import.md';

-- ----------
-- TRL: completions of GRPOTrainer and RLOOTrainer
-- ----------

CREATE FUNCTION @extschema@.parse_trl(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT stepadv_internal.import_keep(jsonb_strip_nulls(jsonb_build_object('policy_version', document -> 'step', 'policy_step', document -> 'step',
			-- Functions that had nothing to say are null.
			'outcome', coalesce(CASE WHEN jsonb_typeof(document -> 'reward') = 'number' THEN document -> 'reward' END,
				(SELECT to_jsonb(sum((e.value #>> '{}')::numeric)) FROM jsonb_each(document - '{step,advantage}'::text[]) e WHERE jsonb_typeof(e.value) = 'number'))))
		|| jsonb_build_object('task_id', stepadv_internal.import_digest(document -> 'prompt'), 'group_id', concat('step', document ->> 'step', '/', stepadv_internal.import_digest(document -> 'prompt')),
			'rollout_id', coalesce(concat(f.rollout, ':' || n), stepadv_internal.import_digest(document)),
			'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_trl.source)) || (document - '{prompt,completion,step,reward,prompt_ids,completion_ids,completion_mask,completion_logprobs}'::text[]),
			-- Of one answer the tokens are known.
			'steps', CASE WHEN jsonb_array_length(c.steps) = 1 THEN jsonb_build_array((c.steps -> 0) || stepadv_internal.import_tokens(document)) ELSE c.steps END, 'dropped', c.dropped, 'repaired', c.repaired), c.messages)
	FROM (SELECT 1) one
	LEFT JOIN LATERAL stepadv_internal.import_names(parse_trl.source) f ON true
	CROSS JOIN LATERAL stepadv_internal.import_completion(document -> 'prompt', document -> 'completion') c;
END
$$;
COMMENT ON FUNCTION @extschema@.parse_trl(jsonb, text, bigint) IS
'the rollout of a row of TRL''s completions (step, prompt, completion, advantage and a number for each reward function) as a line of JSON: the outcome is reward, or else the sum of these numbers; its task is the prompt; one jsonb as in docs/import.md';

-- ----------
-- tau2: results, or a simulation alone
-- ----------

CREATE FUNCTION stepadv_internal.import_tau2_items(messages jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(jsonb_agg(i.item ORDER BY m.i, t.i, i.part, i.j), '[]')
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(messages) = 'array' THEN messages ELSE '[]' END) WITH ORDINALITY m(v, i)
		-- Results may come together.
		CROSS JOIN LATERAL jsonb_array_elements(CASE WHEN jsonb_typeof(m.v -> 'tool_messages') = 'array' THEN m.v -> 'tool_messages' ELSE jsonb_build_array(m.v) END) WITH ORDINALITY t(v, i)
		CROSS JOIN LATERAL (SELECT t.v ->> 'role' AS role, stepadv_internal.import_text(t.v -> 'content') AS text,
			CASE WHEN jsonb_typeof(t.v -> 'tool_calls') = 'array' THEN t.v -> 'tool_calls' ELSE '[]' END AS calls) x
		CROSS JOIN LATERAL (
			SELECT 0 AS part, 0::bigint AS j, jsonb_build_object('kind', 'dropped', 'text', 'system messages') AS item WHERE x.role = 'system'
			UNION ALL SELECT 0, 0, jsonb_build_object('kind', 'see', 'text', x.text) WHERE x.role = 'user' AND x.text <> ''
			-- What the simulated user does with its own tools, the agent does not see.
			UNION ALL SELECT 1, c.i, jsonb_build_object('kind', 'dropped', 'text', 'calls of the user') FROM jsonb_array_elements(x.calls) WITH ORDINALITY c(v, i) WHERE x.role = 'user'
			UNION ALL SELECT 0, 0, jsonb_build_object('kind', 'dropped', 'text', 'results of the user''s calls') WHERE x.role = 'tool' AND t.v ->> 'requestor' = 'user'
			UNION ALL SELECT 0, 0, jsonb_strip_nulls(jsonb_build_object('kind', 'result', 'id', t.v -> 'id', 'text', coalesce(x.text, ''), 'ok', CASE WHEN t.v -> 'error' = 'true' THEN false END))
				WHERE x.role = 'tool' AND t.v ->> 'requestor' IS DISTINCT FROM 'user'
			UNION ALL SELECT 1, 0, jsonb_build_object('kind', 'say', 'new', true, 'text', coalesce(x.text, '')) WHERE x.role = 'assistant' AND (x.text <> '' OR x.calls = '[]')
			UNION ALL SELECT 2, c.i, jsonb_build_object('kind', 'call', 'id', c.v -> 'id', 'tool', c.v -> 'name', 'args', c.v -> 'arguments') FROM jsonb_array_elements(x.calls) WITH ORDINALITY c(v, i) WHERE x.role = 'assistant') i);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_tau2_items(jsonb) IS 'part of import_rollouts: messages of tau2 as items of import_steps; calls of the simulated user and their results are left out';

CREATE FUNCTION @extschema@.parse_tau2(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT CASE WHEN jsonb_typeof(s.v -> 'messages') IS DISTINCT FROM 'array' THEN jsonb_build_object('problem', 'a simulation has no list messages')
		ELSE jsonb_strip_nulls(jsonb_build_object('outcome', s.v #> '{reward_info,reward}', 'model', document #> '{info,agent_info,llm}', 'started_at', s.v -> 'start_time', 'ended_at', s.v -> 'end_time',
				'truncated', CASE WHEN s.v ->> 'termination_reason' IN ('max_steps', 'timeout', 'too_many_errors', 'context_window_exceeded') THEN true END))
			|| jsonb_build_object('group_id', concat_ws('/', document #>> '{info,environment_info,domain_name}', s.v ->> 'task_id'),
				'rollout_id', coalesce(s.v ->> 'id', concat_ws('-', s.v ->> 'task_id', 't' || (s.v ->> 'trial'))),
				'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_tau2.source, 'trial', s.v -> 'trial', 'seed', s.v -> 'seed', 'termination_reason', s.v -> 'termination_reason',
					'reward_info', s.v -> 'reward_info', 'agent_cost', s.v -> 'agent_cost', 'user_cost', s.v -> 'user_cost')),
				'steps', t.steps, 'dropped', t.dropped, 'repaired', t.repaired) END
	FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'simulations') = 'array' THEN document -> 'simulations' ELSE jsonb_build_array(document) END) WITH ORDINALITY s(v, i)
	CROSS JOIN LATERAL stepadv_internal.import_steps(stepadv_internal.import_tau2_items(s.v -> 'messages')) t
	ORDER BY s.i;
END
$$;
COMMENT ON FUNCTION @extschema@.parse_tau2(jsonb, text, bigint) IS
'the rollouts of results of tau2 (info, tasks, simulations), or of a simulation alone: the group is the domain and the task, the outcome reward_info.reward; one jsonb per rollout as in docs/import.md';

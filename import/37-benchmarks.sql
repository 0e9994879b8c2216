-- Saved rollouts that are conversations: tau2's results and TRL's.

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
-- TRL: completions of GRPOTrainer and RLOOTrainer
-- ----------

CREATE FUNCTION @extschema@.parse_trl(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
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

-- Where both may speak at once there are ticks.  What one says in ticks one after the
-- other is one message, which stands where it began, whatever the other says meanwhile; a
-- call ends it.
CREATE FUNCTION stepadv_internal.import_tau2_ticks(ticks jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		WITH tick AS (
			SELECT t.i, p.role, p.part, nullif(stepadv_internal.import_text(t.v -> (p.name || '_chunk') -> 'content'), '') AS text,
				CASE WHEN jsonb_typeof(t.v -> (p.name || '_tool_calls')) = 'array' THEN nullif(t.v -> (p.name || '_tool_calls'), '[]') END AS calls, t.v -> (p.name || '_tool_results') AS results
			FROM jsonb_array_elements(import_tau2_ticks.ticks) WITH ORDINALITY t(v, i), (VALUES ('agent'::text, 'assistant'::text, 0), ('user', 'user', 2)) p(name, role, part)
		), talk AS (
			SELECT t.*, t.i - row_number() OVER (PARTITION BY t.role ORDER BY t.i) AS gap,
				coalesce(count(t.calls) OVER (PARTITION BY t.role ORDER BY t.i ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS n_calls
			FROM tick t WHERE t.text IS NOT NULL OR t.calls IS NOT NULL
		)
		SELECT coalesce(jsonb_agg(m.v ORDER BY m.i, m.part, m.j), '[]')
		FROM (
			SELECT min(t.i) AS i, t.part, 0::bigint AS j, jsonb_strip_nulls(jsonb_build_object('role', t.role, 'content', string_agg(t.text, '' ORDER BY t.i), 'tool_calls', (array_agg(t.calls) FILTER (WHERE t.calls IS NOT NULL))[1])) AS v
			FROM talk t GROUP BY t.role, t.part, t.gap, t.n_calls
			UNION ALL
			SELECT t.i, t.part + 1, r.j, CASE WHEN t.role = 'user' AND jsonb_typeof(r.v) = 'object' THEN r.v || '{"requestor": "user"}' ELSE r.v END FROM tick t, jsonb_array_elements(CASE WHEN jsonb_typeof(t.results) = 'array' THEN t.results ELSE '[]' END) WITH ORDINALITY r(v, j)) m);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_tau2_ticks(jsonb) IS 'part of import_rollouts: ticks of a simulation of tau2 in which both may speak at once as the messages that it has else';

CREATE FUNCTION @extschema@.parse_tau2(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	SELECT CASE WHEN m.list IS NULL THEN jsonb_build_object('problem', 'a simulation has no list messages or ticks')
		ELSE jsonb_strip_nulls(jsonb_build_object('outcome', s.v #> '{reward_info,reward}', 'model', document #> '{info,agent_info,llm}', 'started_at', s.v -> 'start_time', 'ended_at', s.v -> 'end_time',
				'truncated', CASE WHEN s.v ->> 'termination_reason' IN ('max_steps', 'timeout', 'too_many_errors', 'context_window_exceeded') THEN true END))
			|| jsonb_build_object('group_id', concat_ws('/', document #>> '{info,environment_info,domain_name}', s.v ->> 'task_id'),
				'rollout_id', coalesce(s.v ->> 'id', concat_ws('-', s.v ->> 'task_id', 't' || (s.v ->> 'trial'))),
				'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_tau2.source, 'trial', s.v -> 'trial', 'seed', s.v -> 'seed', 'termination_reason', s.v -> 'termination_reason',
					'reward_info', s.v -> 'reward_info', 'agent_cost', s.v -> 'agent_cost', 'user_cost', s.v -> 'user_cost')),
				'steps', t.steps, 'dropped', t.dropped, 'repaired', t.repaired) END
	FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'simulations') = 'array' THEN document -> 'simulations' ELSE jsonb_build_array(document) END) WITH ORDINALITY s(v, i)
	CROSS JOIN LATERAL (SELECT CASE WHEN jsonb_typeof(s.v -> 'messages') = 'array' THEN s.v -> 'messages' WHEN jsonb_typeof(s.v -> 'ticks') = 'array' THEN stepadv_internal.import_tau2_ticks(s.v -> 'ticks') END AS list) m
	CROSS JOIN LATERAL stepadv_internal.import_steps(stepadv_internal.import_tau2_items(m.list)) t
	ORDER BY s.i;
END
$$;
COMMENT ON FUNCTION @extschema@.parse_tau2(jsonb, text, bigint) IS
'the rollouts of results of tau2 (info, tasks, simulations), or of a simulation alone: the group is the domain and the task, the outcome reward_info.reward; one jsonb per rollout as in docs/import.md';

-- Rollouts as scaffolds write them, as rollouts in our words.  One function per
-- format, each a function of the document alone: no table is read or written.
-- In PL/pgSQL, because it keeps plans from one document to the next.
-- What comes out is one jsonb per rollout (see docs/import.md); import/40-import.sql
-- loads it.

-- ----------
-- What the formats share
-- ----------

-- Text of a message: a string, a list of parts, or nothing.
CREATE FUNCTION stepadv_internal.import_text(content jsonb) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_text';
COMMENT ON FUNCTION stepadv_internal.import_text(jsonb) IS 'part of import_rollouts: the text of a message''s content: a string, or the texts of a list of parts, joined by line feeds';

-- Arguments of a call: models write them as a string of JSON.
CREATE FUNCTION stepadv_internal.import_arguments(raw jsonb, OUT args jsonb, OUT words text, OUT repaired text)
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	nul integer;
BEGIN
	IF jsonb_typeof(raw) IS DISTINCT FROM 'string' THEN
		args := nullif(raw, 'null');
		words := args::text;
		RETURN;
	END IF;
	words := raw #>> '{}';
	IF btrim(words, E' \t\r\n') = '' THEN
		args := '{}';
		words := '{}';
		RETURN;
	END IF;
	BEGIN
		SELECT t.content, t.nul_replaced INTO args, nul FROM stepadv_internal.json_of_text(words, false) t;
		IF nul > 0 THEN
			repaired := 'U+0000 in arguments';
		END IF;
		IF args = 'null' THEN
			args := NULL;
		END IF;
	EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
		args := NULL;
		words := raw::text;
		repaired := 'arguments that are no JSON';
	END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_arguments(jsonb) IS
'part of import_rollouts: arguments of a tool call, parsed if they are a string of JSON; args is NULL and repaired says so where they are not; words is what the model wrote, always valid JSON';

-- Whether what came back reads like a failure.
CREATE FUNCTION stepadv_internal.import_ok(result text) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_ok';
COMMENT ON FUNCTION stepadv_internal.import_ok(text) IS
'part of import_rollouts: false where a tool''s result begins like an error or has an exit status other than 0, else true; NULL without a result';

-- The file's own name, and what tells its rollout from others: directory and
-- name.  A directory with one file of its name (SWE-agent, mini-swe-agent) says
-- nothing, the one above does.
CREATE FUNCTION stepadv_internal.import_names(source text, OUT base text, OUT rollout text)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_names';
COMMENT ON FUNCTION stepadv_internal.import_names(text) IS 'part of import_rollouts: from a path, the name of the file without endings, and directory--name for an id of the rollout in it';

CREATE FUNCTION stepadv_internal.import_digest(content jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT to_hex(@extschema@.signature_hash(import_digest.content)));
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_digest(jsonb) IS 'part of import_rollouts: an id made of the content, for what has none of its own';

-- What records of all formats say of a rollout, by the names in use.
CREATE FUNCTION stepadv_internal.import_about(record jsonb) RETURNS jsonb
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_about';
COMMENT ON FUNCTION stepadv_internal.import_about(jsonb) IS 'part of import_rollouts: outcome, success, truncated, model, policy_version, run_id and policy_step of a record, by the names that scaffolds use';

-- The number of a rollout among those of its task.
CREATE FUNCTION stepadv_internal.import_trial(record jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(r ->> 'trial', r ->> 'trial_id', r ->> '_ng_rollout_index', r ->> 'rollout_index', r ->> 'sample_index', r ->> 'attempt')
		FROM (SELECT CASE WHEN jsonb_typeof(import_trial.record) = 'object' THEN import_trial.record ELSE '{}' END AS r) x);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_trial(jsonb) IS 'part of import_rollouts: which of its task''s rollouts a record is, by the names that scaffolds use';

-- A conversation as steps.  Items are, in order,
--   {"kind": "see", "text"}					from the environment or a user
--   {"kind": "result", "id", "text"}			of a call
--   {"kind": "say" | "think", "text"}			from the model
--   {"kind": "call", "id", "tool", "args"}
--   {"kind": "dropped", "text": what}			not ours to keep, only counted
-- An item of the model's with "new" begins a turn, else a turn is what it does
-- until something comes back.  Each call of a turn is a step; a turn without
-- calls is one.
CREATE FUNCTION stepadv_internal.import_steps(items jsonb, OUT steps jsonb, OUT dropped jsonb, OUT repaired jsonb)
LANGUAGE c IMMUTABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_import_steps';
COMMENT ON FUNCTION stepadv_internal.import_steps(jsonb) IS
'part of import_rollouts: a conversation (what was seen, said, called, returned) as steps: each call of a turn is one, a turn without calls is one; counts by kind of what was left out or repaired';

-- Messages of the chat interface as steps.
CREATE FUNCTION stepadv_internal.import_messages(messages jsonb, OUT steps jsonb, OUT dropped jsonb, OUT repaired jsonb)
LANGUAGE c IMMUTABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_import_messages';
COMMENT ON FUNCTION stepadv_internal.import_messages(jsonb) IS 'part of import_rollouts: messages of the OpenAI chat interface as steps, as import_steps makes them';

CREATE FUNCTION stepadv_internal.import_message_items(messages jsonb) RETURNS jsonb
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_message_items';
COMMENT ON FUNCTION stepadv_internal.import_message_items(jsonb) IS
'part of import_rollouts: messages of chat interfaces (OpenAI''s, Anthropic''s blocks, parts of OpenTelemetry''s GenAI messages) as items of import_steps, for a caller who has more to say; a message of the model begins with a thought that is new';

-- The messages that a rollout was made of, all members of all of them, in its
-- metadata: but for texts that a step has to the letter, for which a mark stands
-- ({"observation": 3}: what was seen before turn 3), as openai_chat keeps them.
-- Only where the turns are the model's messages, one for one.
CREATE FUNCTION stepadv_internal.import_keep(rollout jsonb, messages jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kept jsonb;
BEGIN
	IF import_keep.rollout ? 'problem' OR jsonb_typeof(import_keep.messages) IS DISTINCT FROM 'array'
		OR jsonb_path_exists(import_keep.messages, 'strict $[*] ? (@.type() != "object" || @.content.type() == "object")', '{}', true)
	THEN
		RETURN import_keep.rollout;
	END IF;
	WITH step AS (
		-- The first of its turn.
		SELECT DISTINCT ON (t.turn) t.turn, t.v
		FROM (SELECT (s.v ->> 'turn')::bigint AS turn, s.v, s.i FROM jsonb_array_elements(import_keep.rollout -> 'steps') WITH ORDINALITY s(v, i)) t
		ORDER BY t.turn, t.i
	), message AS (
		SELECT m.i, m.v, m.acts, count(*) FILTER (WHERE m.acts) OVER (ORDER BY m.i) - m.acts::integer AS turn
		FROM (SELECT x.i, x.v, x.v ->> 'role' IN ('assistant', 'ai', 'gpt', 'model') AND x.v ->> 'is_demo' IS DISTINCT FROM 'true' AS acts
			FROM jsonb_array_elements(import_keep.messages) WITH ORDINALITY x(v, i)) m
	), told AS (
		SELECT m.i, m.v, m.acts, s.turn, CASE WHEN m.acts THEN 'action' ELSE 'observation' END AS name,
			-- Shorter texts are not worth it.
			octet_length(m.v ->> 'content') >= 64 AND m.v -> 'content' = s.v -> (CASE WHEN m.acts THEN 'action' ELSE 'observation' END) AS is_there,
			m.acts AND (s.turn IS NULL OR jsonb_typeof(m.v -> 'action') = 'string' AND m.v -> 'action' <> s.v -> 'action') AS is_other
		FROM message m LEFT JOIN step s ON s.turn = m.turn
	)
	SELECT jsonb_agg(CASE WHEN t.is_there THEN jsonb_set(t.v, '{content}', jsonb_build_object(t.name, t.turn)) ELSE t.v END ORDER BY t.i) INTO kept
	FROM told t HAVING count(*) FILTER (WHERE t.acts) = (SELECT count(*) FROM step) AND NOT bool_or(t.is_other) AND bool_or(t.acts);
	RETURN CASE WHEN kept IS NULL THEN import_keep.rollout
		ELSE jsonb_set(import_keep.rollout, '{meta}', coalesce(nullif(import_keep.rollout -> 'meta', 'null'), '{}') || jsonb_build_object('messages', kept)) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_keep(jsonb, jsonb) IS
'part of import_rollouts: a rollout with the messages it was made of in its metadata, from which training_rows has the conversation exactly; as it was where turns and messages of the model are not one for one (those with is_demo are none of it)';

-- ----------
-- The formats
-- ----------

CREATE FUNCTION stepadv_internal.import_openai_chat(document jsonb, source text) RETURNS jsonb[]
LANGUAGE c IMMUTABLE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_import_openai_chat';
COMMENT ON FUNCTION stepadv_internal.import_openai_chat(jsonb, text) IS 'part of import_rollouts: what parse_openai_chat gives';

CREATE FUNCTION @extschema@.parse_openai_chat(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY SELECT r.v FROM unnest(stepadv_internal.import_openai_chat(document, source)) r(v);
END
$$;
COMMENT ON FUNCTION @extschema@.parse_openai_chat(jsonb, text, bigint) IS
'rollouts of a document of OpenAI chat messages: a list of messages, an object with messages or traj, or a list of such (results of tau-bench); one jsonb per rollout as in docs/import.md';

-- A demonstration is a history alone: what it did and what it was told next are the
-- trajectory that it came from.
CREATE FUNCTION stepadv_internal.import_swe_trajectory(document jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF jsonb_typeof(document -> 'history') IS DISTINCT FROM 'array' OR document ? 'trajectory' THEN
		RETURN document -> 'trajectory';
	END IF;
	RETURN (
		SELECT jsonb_agg(jsonb_build_object('action', h.v -> 'action', 'thought', h.v -> 'thought', 'response', h.v -> 'content', 'observation', h.told) ORDER BY h.i)
		FROM (
			SELECT x.i, x.v, CASE WHEN lead(x.v ->> 'role') OVER w IS DISTINCT FROM 'assistant' THEN stepadv_internal.import_text(lead(x.v -> 'content') OVER w) END AS told
			FROM jsonb_array_elements(document -> 'history') WITH ORDINALITY x(v, i)
			WHERE x.v ->> 'is_demo' IS DISTINCT FROM 'true'
			WINDOW w AS (ORDER BY x.i)) h
		WHERE h.v ->> 'role' = 'assistant' AND jsonb_typeof(h.v -> 'action') = 'string');
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_swe_trajectory(jsonb) IS 'part of parse_swe_agent: the document''s trajectory, or what its history tells of one; NULL without both';

CREATE FUNCTION @extschema@.parse_swe_agent(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
	trajectory CONSTANT jsonb := stepadv_internal.import_swe_trajectory(document);
BEGIN
	RETURN QUERY
	WITH said AS MATERIALIZED (
		SELECT h.v, row_number() OVER (ORDER BY h.i) AS position, jsonb_typeof(h.v -> 'tool_calls') = 'array' AS called
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'history') = 'array' THEN document -> 'history' ELSE '[]' END) WITH ORDINALITY h(v, i)
		WHERE h.v ->> 'role' = 'assistant' AND h.v ->> 'is_demo' IS DISTINCT FROM 'true'
	), step AS (
		SELECT t.i, t.v, t.v ->> 'action' AS action, btrim(t.v ->> 'action', E' \t\r\n') = '' AS is_empty, a.args, a.tool, a.repaired
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(trajectory) = 'array' THEN trajectory ELSE '[]' END) WITH ORDINALITY t(v, i)
		-- The call behind the action, where the model made one.  The history may
		-- have been cut: what was done tells, and the order if there was more of that.
		LEFT JOIN LATERAL (
			SELECT h.v #>> '{tool_calls,0,function,name}' AS tool, p.args, p.repaired
			FROM said h
			CROSS JOIN LATERAL stepadv_internal.import_arguments(h.v #> '{tool_calls,0,function,arguments}') p
			WHERE h.called AND h.v -> 'action' = t.v -> 'action'
			ORDER BY h.position = t.i DESC, h.v -> 'thought' = t.v -> 'thought' DESC, h.position LIMIT 1) a ON true
	), first AS (
		-- What it saw first is the last thing it was told before it spoke.
		SELECT stepadv_internal.import_text(h.v -> 'content') AS text
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'history') = 'array' THEN document -> 'history' ELSE '[]' END) WITH ORDINALITY h(v, i)
		WHERE h.v ->> 'role' = 'user' AND h.v ->> 'is_demo' IS DISTINCT FROM 'true'
			AND h.i < coalesce((SELECT min(a.i) FROM jsonb_array_elements(document -> 'history') WITH ORDINALITY a(v, i)
				WHERE a.v ->> 'role' = 'assistant' AND a.v ->> 'is_demo' IS DISTINCT FROM 'true'), 2147483647)
		ORDER BY h.i DESC LIMIT 1
	)
	SELECT stepadv_internal.import_keep(CASE WHEN jsonb_typeof(trajectory) IS DISTINCT FROM 'array' THEN jsonb_build_object('problem', 'there is no list trajectory, and no action in a history')
		ELSE stepadv_internal.import_about(document) || jsonb_strip_nulls(jsonb_build_object(
			'truncated', CASE WHEN document #>> '{info,exit_status}' ~ 'exit_(cost|context|format|error|time)|early_exit' THEN true END,
			'model', document #> '{replay_config,agent,model,name}')) || jsonb_build_object(
			-- The instance, where the file does not say it, is what follows the settings in its name.
			'group_id', coalesce(document ->> 'instance_id', document #>> '{replay_config,problem_statement,id}',
				regexp_replace(f.base, '^.*__install-[0-9]+(___[a-z]+(_[a-z]+)*)?__', ''), stepadv_internal.import_digest(document)),
			'rollout_id', coalesce(f.rollout, stepadv_internal.import_digest(document)),
			'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_swe_agent.source, 'environment', document -> 'environment',
				'exit_status', document #> '{info,exit_status}', 'submission', document #> '{info,submission}', 'model_stats', document #> '{info,model_stats}')),
			'steps', coalesce((SELECT jsonb_agg(jsonb_build_object('turn', s.i - 1,
					'observation', CASE s.i WHEN 1 THEN (SELECT f.text FROM first f) ELSE s.before END,
					'next_observation', s.v -> 'observation', 'action', s.action,
					-- Without a call the action is a line for the shell, whose commands are tools of the scaffold as well.
					'tool', CASE WHEN s.tool IS NOT NULL THEN s.tool WHEN NOT s.is_empty THEN 'bash' END,
					'args', CASE WHEN s.tool IS NOT NULL THEN s.args WHEN NOT s.is_empty THEN jsonb_build_object('command', s.action) END,
					'ok', CASE WHEN s.is_empty IS NOT FALSE THEN NULL WHEN s.v ->> 'observation' ~ '^\s*(Your (proposed edit has introduced|command timed out)|EXECUTION TIMED OUT|COMMAND TIMED OUT)' THEN false
						ELSE stepadv_internal.import_ok(s.v ->> 'observation') END,
					'meta', nullif(jsonb_strip_nulls(jsonb_build_object('thought', s.v -> 'thought', 'state', s.v -> 'state', 'execution_time', s.v -> 'execution_time')), '{}')) ORDER BY s.i)
				FROM (SELECT x.*, lag(x.v ->> 'observation') OVER (ORDER BY x.i) AS before FROM step x) s), '[]'),
			'dropped', jsonb_strip_nulls(jsonb_build_object(
				'system messages', (SELECT nullif(count(*), 0) FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'history') = 'array' THEN document -> 'history' ELSE '[]' END) h WHERE h ->> 'role' = 'system'),
				'demonstrations', (SELECT nullif(count(*), 0) FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'history') = 'array' THEN document -> 'history' ELSE '[]' END) h WHERE h ->> 'is_demo' = 'true'))),
			'repaired', jsonb_strip_nulls(jsonb_build_object(
				'turns without a command', (SELECT nullif(count(*), 0) FROM step s WHERE s.is_empty IS NOT FALSE),
				'arguments that are no JSON', (SELECT nullif(count(*), 0) FROM step s WHERE s.repaired LIKE 'arguments%')))) END, document -> 'history')
	FROM (SELECT 1) one LEFT JOIN LATERAL stepadv_internal.import_names(parse_swe_agent.source) f ON true;
END
$$;
COMMENT ON FUNCTION @extschema@.parse_swe_agent(jsonb, text, bigint) IS
'the rollout of a SWE-agent .traj (every version that has trajectory, and demonstrations, which are a history alone); the ids come from the file or from source, its path; not judged unless the document has an outcome; one jsonb as in docs/import.md';

CREATE FUNCTION @extschema@.parse_mini_swe_agent(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	WITH message AS MATERIALIZED (
		SELECT m.i, m.v, m.v ->> 'role' AS role, stepadv_internal.import_text(m.v -> 'content') AS text,
			sum(CASE WHEN m.v ->> 'role' = 'assistant' THEN 1 ELSE 0 END) OVER (ORDER BY m.i) AS turn
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(document -> 'messages') = 'array' THEN document -> 'messages' ELSE '[]' END) WITH ORDINALITY m(v, i)
	), seen AS (
		SELECT m.turn, string_agg(m.text, E'\n' ORDER BY m.i) AS text
		FROM message m WHERE m.role <> 'assistant' AND m.role <> 'system' GROUP BY m.turn
	), step AS (
		SELECT m.i, m.turn, m.text, o.text AS observation, r.text AS next_observation, c.commands, c.commands[1] AS command,
			cardinality(c.commands) IS NOT DISTINCT FROM 1 AS acts
		FROM message m
		LEFT JOIN seen o ON o.turn = m.turn - 1
		LEFT JOIN seen r ON r.turn = m.turn
		CROSS JOIN LATERAL (SELECT CASE
			WHEN jsonb_typeof(m.v #> '{extra,actions}') = 'array' THEN (
				SELECT array_agg(coalesce(a.v ->> 'command', a.v ->> 'action', a.v #>> '{}') ORDER BY a.i) FROM jsonb_array_elements(m.v #> '{extra,actions}') WITH ORDINALITY a(v, i))
			ELSE (SELECT array_agg(btrim(x.m[1], E' \t\r\n') ORDER BY x.i)
				FROM regexp_matches(m.text, '```(?:mswea_)??bash(?:_command)??[ \t]*?\r??\n(.*?)\r??\n[ \t]*?```', 'g') WITH ORDINALITY x(m, i)) END AS commands) c
		WHERE m.role = 'assistant'
	)
	SELECT stepadv_internal.import_keep(CASE
		WHEN jsonb_typeof(document -> 'messages') IS DISTINCT FROM 'array' THEN jsonb_build_object('problem', 'there is no list messages')
		ELSE stepadv_internal.import_about(document) || jsonb_strip_nulls(jsonb_build_object('model', document #> '{info,config,model,model_name}',
				'truncated', CASE WHEN document #>> '{info,exit_status}' IN ('LimitsExceeded', 'TimeExceeded', 'CostLimitExceeded') THEN true END)) || jsonb_build_object(
			'group_id', coalesce(document ->> 'instance_id', document #>> '{info,instance_id}', f.base, stepadv_internal.import_digest(document)),
			'rollout_id', coalesce(f.rollout, stepadv_internal.import_digest(document)),
			'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_mini_swe_agent.source, 'exit_status', document #> '{info,exit_status}',
				'submission', document #> '{info,submission}', 'model_stats', document #> '{info,model_stats}', 'trajectory_format', document -> 'trajectory_format')))
			-- Later versions call tools as everybody does.
			|| CASE WHEN called.yes THEN jsonb_build_object('steps', chat.steps, 'dropped', chat.dropped, 'repaired', chat.repaired)
			ELSE jsonb_build_object(
				'steps', coalesce((SELECT jsonb_agg(jsonb_build_object('turn', s.turn - 1, 'observation', s.observation, 'next_observation', s.next_observation,
						'action', CASE WHEN s.acts THEN s.command ELSE s.text END, 'tool', CASE WHEN s.acts THEN 'bash' END,
						'args', CASE WHEN s.acts THEN jsonb_build_object('command', s.command) END,
						'ok', CASE WHEN NOT s.acts THEN false WHEN s.next_observation ~ '^\s*<returncode>' THEN stepadv_internal.import_ok(s.next_observation) END,
						'meta', CASE WHEN s.acts THEN jsonb_build_object('text', s.text) END) ORDER BY s.i)
					FROM step s), '[]'),
				'dropped', jsonb_strip_nulls(jsonb_build_object('system messages', (SELECT nullif(count(*), 0) FROM message m WHERE m.role = 'system'))),
				'repaired', jsonb_strip_nulls(jsonb_build_object('turns without one command', (SELECT nullif(count(*), 0) FROM step s WHERE NOT s.acts)))) END END, document -> 'messages')
	FROM (SELECT EXISTS (SELECT FROM message m WHERE jsonb_typeof(m.v -> 'tool_calls') = 'array')) called(yes)
	LEFT JOIN LATERAL stepadv_internal.import_names(parse_mini_swe_agent.source) f ON true
	LEFT JOIN LATERAL stepadv_internal.import_messages(document -> 'messages') chat ON called.yes;
END
$$;
COMMENT ON FUNCTION @extschema@.parse_mini_swe_agent(jsonb, text, bigint) IS
'the rollout of a mini-swe-agent .traj.json: the one command in a fence of each reply, or its tool calls; not judged unless the document has an outcome; one jsonb as in docs/import.md';

-- Items of the Responses interface, wherever they lie: an object with a response, a list
-- of items (a session, to_input_list of the Agents SDK), or the run items of a result of
-- the Agents SDK (new_items, generated_items; each with its raw_item).  What comes before
-- the model's first item is input.
CREATE FUNCTION stepadv_internal.import_response_parts(document jsonb, OUT response jsonb, OUT input jsonb, OUT is_list boolean)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	listed jsonb := CASE WHEN jsonb_typeof(document) = 'array' THEN document
		ELSE coalesce(document -> 'new_items', document -> 'newItems', document -> 'generated_items', document -> 'generatedItems') END;
BEGIN
	is_list := coalesce(jsonb_typeof(listed) = 'array', false);
	IF NOT is_list THEN
		response := CASE WHEN document ? 'response' THEN document -> 'response' ELSE document END;
		input := coalesce(document #> '{responses_create_params,input}', document -> 'input');
	ELSE
		SELECT jsonb_agg(CASE WHEN jsonb_typeof(x.raw) = 'object' THEN CASE WHEN i.v ? 'output' AND NOT x.raw ? 'output' THEN jsonb_build_object('output', i.v -> 'output') ELSE '{}' END || x.raw ELSE i.v END ORDER BY i.i) INTO listed
		FROM jsonb_array_elements(listed) WITH ORDINALITY i(v, i) CROSS JOIN LATERAL (SELECT coalesce(i.v -> 'raw_item', i.v -> 'rawItem') AS raw) x;
		input := coalesce(document -> 'input', document -> 'original_input', document -> 'originalInput');
		IF input IS NULL THEN
			SELECT coalesce(jsonb_agg(e.v ORDER BY e.i) FILTER (WHERE e.i < e.first), '[]'), jsonb_agg(e.v ORDER BY e.i) FILTER (WHERE e.i >= e.first) INTO input, listed
			FROM (SELECT o.v, o.i, coalesce(min(o.i) FILTER (WHERE coalesce(o.v ->> 'role', 'assistant') = 'assistant') OVER (), 2147483647) AS first FROM jsonb_array_elements(listed) WITH ORDINALITY o(v, i)) e;
		END IF;
		response := jsonb_build_object('output', coalesce(listed, '[]'));
	END IF;
	input := CASE jsonb_typeof(input) WHEN 'string' THEN jsonb_build_array(jsonb_build_object('role', 'user', 'content', input)) WHEN 'array' THEN input ELSE '[]' END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_response_parts(jsonb) IS
'part of import_rollouts: of a document of the OpenAI Responses interface or the Agents SDK an object with the list output, and the list of what was its input; is_list: it has items alone, no response';

-- Tools that the provider or the scaffold runs have items of their own: what was called
-- with what, and what came back where the item says it.
CREATE FUNCTION stepadv_internal.import_hosted_call(item jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN jsonb_strip_nulls(jsonb_build_object('id', coalesce(item -> 'call_id', item -> 'id'), 'tool', coalesce(item ->> 'name', regexp_replace(item ->> 'type', '_call$', '')),
		'args', coalesce(item -> 'arguments', item -> 'input', item -> 'action', item -> 'operation', nullif(jsonb_strip_nulls(jsonb_build_object('queries', item -> 'queries', 'code', item -> 'code')), '{}')),
		'text', coalesce(nullif(item -> 'output', 'null'), nullif(item -> 'error', 'null'), nullif(item -> 'outputs', 'null'), nullif(item -> 'results', 'null')),
		'ok', CASE WHEN coalesce(item -> 'error', 'null') <> 'null' OR item ->> 'status' = 'failed' THEN 'false'::jsonb END));
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_hosted_call(jsonb) IS 'part of import_rollouts: an item of the Responses interface that is a call of a tool (mcp_call, local_shell_call, web_search_call, …): id, tool, args, and text and ok of what came back; what is not known is not there';

CREATE FUNCTION @extschema@.parse_responses(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	WITH part AS (
		SELECT p.response, p.input, p.is_list, CASE WHEN jsonb_typeof(document -> 'responses_create_params') = 'object' THEN document -> 'responses_create_params' ELSE document END AS params
		FROM stepadv_internal.import_response_parts(document) p
	), listed AS (
		SELECT i.v, false AS own, i.i FROM part p, jsonb_array_elements(p.input) WITH ORDINALITY i(v, i)
		UNION ALL
		SELECT o.v, true, o.i FROM part p, jsonb_array_elements(CASE WHEN jsonb_typeof(p.response -> 'output') = 'array' THEN p.response -> 'output' ELSE '[]' END) WITH ORDINALITY o(v, i)
	), kinds AS (
		SELECT l.*, CASE
				WHEN l.v ->> 'type' = 'function_call' OR l.v ->> 'type' = 'custom_tool_call' THEN 'call'
				WHEN l.v ->> 'type' LIKE '%\_call\_output' THEN 'result'
				WHEN l.v ->> 'type' LIKE '%\_call' AND stepadv_internal.import_hosted_call(l.v) ?| '{args,text}' THEN 'hosted'
				WHEN l.v ->> 'type' = 'reasoning' THEN 'think'
				WHEN coalesce(l.v ->> 'type', 'message') = 'message' THEN CASE
					WHEN l.v ->> 'role' = 'assistant' THEN 'say' WHEN l.v ->> 'role' IN ('system', 'developer') THEN 'system' ELSE 'see' END
				ELSE 'other' END AS kind
		FROM listed l
	), told AS (
		SELECT string_agg(stepadv_internal.import_text(k.v -> 'content'), E'\n' ORDER BY k.own, k.i) AS words FROM kinds k WHERE k.kind = 'system'
	), item AS (
		-- What went before in the input is not this rollout's doing: only what
		-- came after the last of it is what the first step sees.
		SELECT jsonb_agg(CASE
			WHEN k.kind = 'other' THEN jsonb_build_object('kind', 'dropped', 'text', 'items of type ' || (k.v ->> 'type'))
			WHEN k.kind = 'system' THEN jsonb_build_object('kind', 'dropped', 'text', 'system messages')
			WHEN NOT k.own AND (k.kind IN ('call', 'hosted', 'say', 'think') OR k.i < k.last) THEN jsonb_build_object('kind', 'dropped', 'text', 'earlier turns in the input')
			WHEN k.kind = 'call' THEN jsonb_build_object('kind', 'call', 'id', k.v -> 'call_id', 'tool', k.v ->> 'name', 'args', coalesce(k.v -> 'arguments', k.v -> 'input'))
			WHEN k.kind = 'hosted' THEN h.v || '{"kind": "call"}'
			WHEN k.kind = 'returned' THEN jsonb_strip_nulls(h.v || jsonb_build_object('kind', 'result', 'text', stepadv_internal.import_text(h.v -> 'text')))
			WHEN k.kind = 'result' THEN jsonb_build_object('kind', 'result', 'id', k.v -> 'call_id', 'text', stepadv_internal.import_text(k.v -> 'output'))
			WHEN k.kind = 'think' THEN jsonb_build_object('kind', 'think', 'text', coalesce(nullif(stepadv_internal.import_text(k.v -> 'content'), ''), nullif(stepadv_internal.import_text(k.v -> 'summary'), '')))
			ELSE jsonb_build_object('kind', k.kind, 'text', stepadv_internal.import_text(k.v -> 'content')) END ORDER BY k.own, k.i, k.kind = 'returned') AS items
		FROM (SELECT k.*, max(k.i) FILTER (WHERE k.kind IN ('call', 'hosted', 'say', 'think')) OVER (PARTITION BY k.own) AS last FROM kinds k
			-- Items that say what came back do so where the call stands.
			UNION ALL SELECT k.v, k.own, k.i, 'returned', k.i FROM kinds k WHERE k.own AND k.kind = 'hosted' AND stepadv_internal.import_hosted_call(k.v) ? 'text') k
		LEFT JOIN LATERAL (SELECT stepadv_internal.import_hosted_call(k.v) AS v WHERE k.kind IN ('hosted', 'returned')) h ON true
	), named AS (
		SELECT p.*, coalesce(document ->> 'instance_id', p.params #>> '{metadata,instance_id}', document ->> 'task_id',
				'task' || (document ->> '_ng_task_index'), 'task' || (document ->> 'task_index')) AS own,
			coalesce(document #>> '{agent_ref,name}', CASE WHEN NOT p.is_list THEN f.base END) AS environment
		FROM part p LEFT JOIN LATERAL stepadv_internal.import_names(parse_responses.source) f ON true
	)
	SELECT CASE WHEN jsonb_typeof(m.response -> 'output') IS DISTINCT FROM 'array' THEN jsonb_build_object('problem', 'there is no list output of a response')
		ELSE jsonb_strip_nulls(jsonb_build_object('model', coalesce(nullif(m.response ->> 'model', ''), nullif(m.params ->> 'model', '')))) || stepadv_internal.import_about(document)
			|| jsonb_build_object('group_id', g.id,
			'rollout_id', coalesce(g.id || '-' || stepadv_internal.import_trial(document), document ->> 'rollout_id', m.response ->> 'id', stepadv_internal.import_digest(m.response -> 'output')),
			'meta', nullif(jsonb_strip_nulls(jsonb_build_object('source', parse_responses.source, 'response_id', m.response -> 'id', 'environment', m.environment, 'usage', m.response -> 'usage',
				-- What training_rows begins the conversation with.
				'system_prompt', nullif(concat_ws(E'\n', m.params ->> 'instructions', (SELECT t.words FROM told t)), ''))), '{}'),
			'steps', CASE WHEN m.params #>> '{metadata,problem_statement}' IS NOT NULL AND s.steps #> '{0,observation}' = 'null'
				THEN (SELECT jsonb_agg(CASE WHEN e.v -> 'turn' = s.steps #> '{0,turn}' THEN jsonb_set(e.v, '{observation}', m.params #> '{metadata,problem_statement}') ELSE e.v END ORDER BY e.i)
					FROM jsonb_array_elements(s.steps) WITH ORDINALITY e(v, i))
				ELSE s.steps END,
			'dropped', s.dropped, 'repaired', s.repaired) END
	FROM named m
	CROSS JOIN item t
	CROSS JOIN LATERAL (SELECT concat_ws('/', m.environment, coalesce(m.own, stepadv_internal.import_digest(m.input))) AS id) g
	CROSS JOIN LATERAL stepadv_internal.import_steps(coalesce(t.items, '[]')) s;
END
$$;
COMMENT ON FUNCTION @extschema@.parse_responses(jsonb, text, bigint) IS
'the rollout of items of the OpenAI Responses interface: an object with a response (a line of NeMo Gym''s rollouts), a list of items, or a result of the OpenAI Agents SDK (new_items, or a list of them); one jsonb as in docs/import.md';

CREATE FUNCTION stepadv_internal.import_verl(document jsonb, source text, n bigint) RETURNS jsonb
LANGUAGE c IMMUTABLE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_import_verl';
COMMENT ON FUNCTION stepadv_internal.import_verl(jsonb, text, bigint) IS 'part of import_rollouts: what parse_verl gives';

CREATE FUNCTION @extschema@.parse_verl(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN NEXT stepadv_internal.import_verl(document, source, n);
END
$$;
COMMENT ON FUNCTION @extschema@.parse_verl(jsonb, text, bigint) IS
'the rollout of a line of verl''s rollout dumps (input, output, score, step): one step, or one for each <tool_call> of the output and answer; arrays of tokens if there are; its task is the prompt, its group the prompt within the training step; n is the number of the line in source; one jsonb as in docs/import.md';

CREATE FUNCTION stepadv_internal.import_intercode(document jsonb, source text) RETURNS jsonb[]
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_intercode';
COMMENT ON FUNCTION stepadv_internal.import_intercode(jsonb, text) IS 'part of import_rollouts: what parse_intercode gives';

CREATE FUNCTION @extschema@.parse_intercode(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY SELECT r.v FROM unnest(stepadv_internal.import_intercode(document, source)) r(v);
END
$$;
COMMENT ON FUNCTION @extschema@.parse_intercode(jsonb, text, bigint) IS
'the rollouts of an InterCode log: an object of episodes, each with query and turn_history; the outcome is the best score reached; one jsonb per rollout as in docs/import.md';

-- Logs of ReAct agents.  A line that starts with one of the marks begins a part,
-- every other line goes on with the one before.
CREATE FUNCTION stepadv_internal.import_react_parts(document text)
RETURNS TABLE (rollout bigint, part bigint, mark text, text text, is_episode boolean, step bigint, slot bigint, trial integer, section text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	WITH line AS (
		SELECT l.i, l.line, x.m[1] AS mark, x.m[2] AS rest, lag(l.line) OVER (ORDER BY l.i) ~ '^-{17}\s*$' AND l.line ~ '^[0-9]+\s*$' AS is_episode
		FROM string_to_table(document, E'\n') WITH ORDINALITY l(line, i)
		LEFT JOIN LATERAL regexp_match(l.line, '^(Question|Thought|Action|Observation|Correct answer)(?: [0-9]+)?: ?(.*)$') x(m) ON true
	), marked AS (
		SELECT l.i, l.line, l.is_episode, CASE WHEN l.mark IS NOT NULL THEN l.mark WHEN l.is_episode THEN 'Question'
				WHEN l.line ~ '^BEGIN TRIAL [0-9]+' THEN 'Trial' WHEN l.line ~ '^-+ BEGIN [A-Z]+ AGENTS -+' THEN 'Section'
				WHEN l.line ~ '^(#{5,}|-{10,})\s*$' OR l.line ~ '^[0-9]+( [0-9.]+){3}\s*$' THEN 'End' END AS mark,
			coalesce(l.rest, l.line) AS line_text
		FROM line l
	), numbered AS (
		SELECT m.*, count(m.mark) OVER w AS part, count(*) FILTER (WHERE m.mark = 'Question') OVER w AS rollout FROM marked m WINDOW w AS (ORDER BY m.i)
	), part AS MATERIALIZED (
		SELECT p.part, p.rollout, max(p.mark) AS mark, bool_or(p.is_episode) AS is_episode,
			rtrim(string_agg(p.line_text, E'\n' ORDER BY p.i), E'\n\r') AS text
		FROM numbered p WHERE p.part > 0 GROUP BY p.part, p.rollout
	), counted AS (
		SELECT p.*, count(*) FILTER (WHERE p.mark = 'Action') OVER (PARTITION BY p.rollout ORDER BY p.part) AS step,
			count(*) FILTER (WHERE p.mark = 'Trial') OVER w AS trial_no, count(*) FILTER (WHERE p.mark = 'Section') OVER w AS section_no
		FROM part p WINDOW w AS (ORDER BY p.part)
	)
	-- A thought comes before its action.
	SELECT c.rollout, c.part, c.mark, c.text, c.is_episode, c.step, CASE WHEN c.mark = 'Thought' THEN c.step + 1 ELSE c.step END AS slot,
		(regexp_match(first_value(CASE WHEN c.mark = 'Trial' THEN c.text END) OVER (PARTITION BY c.trial_no ORDER BY c.part), '([0-9]+)'))[1]::integer AS trial,
		(regexp_match(first_value(CASE WHEN c.mark = 'Section' THEN c.text END) OVER (PARTITION BY c.section_no ORDER BY c.part), 'BEGIN ([A-Z]+)'))[1] AS section
	FROM counted c;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_react_parts(text) IS
'part of import_rollouts: the parts of a text log of ReAct agents, with the rollout and the step that each belongs to and the trial and section it is in';

CREATE FUNCTION @extschema@.parse_react(document text, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
-- The planner takes a log for a few lines; a loop over them would be quadratic.
SET enable_nestloop = off
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	WITH placed AS MATERIALIZED (SELECT * FROM stepadv_internal.import_react_parts(document)), step AS MATERIALIZED (
		SELECT s.*, c.m[1] AS tool, c.m[2] AS argument, btrim(s.action) = 'reset' AND s.step = 1 AS is_reset
		FROM (
			SELECT p.rollout, p.slot AS step, max(p.text) FILTER (WHERE p.mark = 'Action') AS action,
				string_agg(p.text, E'\n' ORDER BY p.part) FILTER (WHERE p.mark = 'Thought') AS thought,
				string_agg(p.text, E'\n' ORDER BY p.part) FILTER (WHERE p.mark = 'Observation') AS result
			FROM placed p WHERE p.rollout > 0 AND p.mark IN ('Action', 'Thought', 'Observation')
			GROUP BY p.rollout, p.slot) s
		LEFT JOIN LATERAL regexp_match(s.action, '^\s*([A-Za-z_]\w*)\[(.*)\]\s*$') c(m) ON true
		WHERE s.action IS NOT NULL
	), chained AS MATERIALIZED (
		SELECT s.*, lag(s.result) OVER (PARTITION BY s.rollout ORDER BY s.step) AS observation,
			row_number() OVER (PARTITION BY s.rollout, s.is_reset ORDER BY s.step) AS position
		FROM step s
	), ended AS MATERIALIZED (
		SELECT s.rollout, (array_agg(s.result ORDER BY s.step DESC))[1] AS result,
			md5(string_agg(concat_ws(E'\n', s.thought, s.action, s.result), E'\n' ORDER BY s.step)) AS content
		FROM step s GROUP BY s.rollout
	), asked AS MATERIALIZED (
		SELECT q.rollout, bool_or(q.is_episode) AS is_episode, max(q.text) FILTER (WHERE q.mark = 'Question') AS question,
			max(q.trial) AS trial, max(q.section) FILTER (WHERE q.mark = 'Question') AS section, max(q.text) FILTER (WHERE q.mark = 'Correct answer') AS answer
		FROM placed q WHERE q.rollout > 0 AND q.mark IN ('Question', 'Correct answer')
		GROUP BY q.rollout
	), rollout AS MATERIALIZED (
		SELECT q.*, btrim(CASE WHEN q.is_episode THEN q.question ELSE regexp_replace(q.question, 'You have attempted to answer following question before.*$', '') END) AS task,
			e.result, e.content
		FROM asked q LEFT JOIN ended e ON e.rollout = q.rollout
	), scored AS (
		SELECT r.*, CASE WHEN r.section = 'CORRECT' OR r.result ~ 'Answer is CORRECT' THEN 1
				WHEN r.section IS NOT NULL OR r.result ~ 'Answer is INCORRECT' THEN 0
				-- Nothing bought: WebShop gives no score, which is 0.
				WHEN r.is_episode THEN coalesce((regexp_match(r.result, 'Your score \(min [0-9.]+, max [0-9.]+\): ([0-9.]*[0-9])'))[1]::numeric, 0) END AS outcome
		FROM rollout r
	), known AS (
		-- Reflexion's logs list every agent after each trial: those that had
		-- solved their task are copies, and some stand in two sections.
		SELECT s.*, coalesce(bool_or(s.outcome = 1 AND s.trial IS NOT NULL) OVER (PARTITION BY s.task ORDER BY s.trial RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), false) AS is_done,
			s.trial IS NOT NULL AND row_number() OVER (PARTITION BY s.task, s.trial, s.content ORDER BY s.rollout) > 1 AS is_twice
		FROM scored s
	), collected AS MATERIALIZED (
		SELECT c.rollout, count(*) FILTER (WHERE c.tool IS NULL) AS no_calls, jsonb_agg(jsonb_build_object('turn', c.position - 1,
				'observation', coalesce(c.observation, CASE WHEN c.step = 1 AND NOT r.is_episode THEN 'Question: ' || btrim(r.question) END),
				'next_observation', c.result, 'action', c.action, 'tool', c.tool,
				'args', CASE WHEN c.tool IS NOT NULL THEN jsonb_build_object('arg', c.argument) END,
				'ok', CASE WHEN c.tool IS NOT NULL AND c.result !~ '^Answer is' THEN stepadv_internal.import_ok(c.result) END,
				'meta', CASE WHEN c.thought IS NOT NULL THEN jsonb_build_object('thought', c.thought) END) ORDER BY c.step) AS steps
		FROM chained c JOIN rollout r ON r.rollout = c.rollout
		WHERE NOT c.is_reset
		GROUP BY c.rollout
	)
	SELECT jsonb_strip_nulls(jsonb_build_object('outcome', k.outcome)) || jsonb_build_object(
		'group_id', CASE WHEN k.is_episode THEN 'fixed_' || k.task ELSE left(md5(k.task), 10) END,
		'rollout_id', concat_ws('-', f.rollout, CASE WHEN k.is_episode THEN 'fixed_' || k.task ELSE left(md5(k.task), 10) END, 't' || k.trial),
		'truncated', coalesce(k.section = 'HALTED', k.is_episode AND k.result !~ 'Your score', false),
		'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_react.source, 'trial', k.trial, 'status', k.section, 'question', CASE WHEN NOT k.is_episode THEN k.task END, 'answer', k.answer)),
		'steps', coalesce(c.steps, '[]'),
		'repaired', jsonb_strip_nulls(jsonb_build_object('actions that are no call', nullif(c.no_calls, 0))))
	FROM known k
	LEFT JOIN collected c ON c.rollout = k.rollout
	LEFT JOIN LATERAL stepadv_internal.import_names(parse_react.source) f ON true
	WHERE NOT k.is_done AND NOT k.is_twice
	UNION ALL
	SELECT jsonb_build_object('dropped', jsonb_strip_nulls(jsonb_build_object(
		'copies of rollouts that were done in an earlier trial', nullif(count(*) FILTER (WHERE k.is_done), 0),
		'rollouts listed twice', nullif(count(*) FILTER (WHERE k.is_twice AND NOT k.is_done), 0))))
	FROM known k HAVING bool_or(k.is_done OR k.is_twice)
	UNION ALL
	SELECT jsonb_build_object('problem', 'no line begins with Question: or follows a line of 17 hyphens') WHERE NOT EXISTS (SELECT FROM known);
END
$$;
COMMENT ON FUNCTION @extschema@.parse_react(text, text, bigint) IS
'the rollouts of a text log of ReAct agents (Thought, Action, Observation): Reflexion''s logs of HotpotQA, ReAct''s of WebShop; one jsonb per rollout as in docs/import.md';

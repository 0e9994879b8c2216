-- What formats of spans share: OpenTelemetry's (import/36-otel.sql) and Langfuse's
-- (import/37-langfuse.sql).  Each makes spans in our words of what it finds, one jsonb
-- each, and a trace of them is a rollout:
--   trace, span, parent, name	ids as the source has them
--   kind		llm, tool, judge (it says something of the others) or other; score: scores of
--				the span called of, or of the trace
--   at			when it began, as a number to order by; started_at, ended_at: in words
--   failed, message	whether it ended in an error, and what that says
--   heard, said	of llm: messages, what was new to the model and what it answered
--   system		of llm: what it was told before all
--   call		of tool: {"id", "args", "text"}, what it was called with and gave
--   model, input_tokens, output_tokens, agent
--   task, session, asked	what the trace is about, if this span says so
--   scores		[{"name", "value", "label"}]
--   about		members of a rollout by the names of import_about; more: of its metadata

-- A string of JSON as what it spells.
CREATE FUNCTION stepadv_internal.import_unquoted(value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF jsonb_typeof(value) = 'string' AND value #>> '{}' ~ '^\s*[[{"]' THEN
		RETURN coalesce((SELECT a.args FROM stepadv_internal.import_arguments(value) a), value);
	END IF;
	RETURN value;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_unquoted(jsonb) IS 'part of import_rollouts: a string that spells an object, a list or a string of JSON as that; anything else as it is';

-- A time as a number of microseconds since 1970, from whatever spells one.
CREATE FUNCTION stepadv_internal.import_instant(value jsonb) RETURNS numeric
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	words CONSTANT text := nullif(btrim(value #>> '{}'), '');
	n numeric;
BEGIN
	IF words IS NULL OR jsonb_typeof(value) NOT IN ('string', 'number') OR words = '0' THEN
		RETURN NULL;
	ELSIF words !~ '^[0-9]{1,25}(\.[0-9]{1,20})?$' THEN
		-- Without a zone it is UTC, as those who leave it out mean it.
		RETURN trunc(extract(epoch FROM (words || CASE WHEN words ~ '(Z|z|:[0-9.]+ ?[-+][0-9]{2}(:?[0-9]{2})?| UTC)$' THEN '' ELSE 'Z' END)::timestamptz) * 1000000);
	END IF;
	n := words::numeric;
	-- Seconds, milliseconds, microseconds or nanoseconds: those of our time tell.
	RETURN trunc(CASE WHEN n < 100000000000 THEN n * 1000000 WHEN n < 100000000000000 THEN n * 1000 WHEN n < 100000000000000000 THEN n ELSE n / 1000 END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_instant(jsonb) IS 'part of import_rollouts: microseconds since 1970 of a time that is a text or a number of seconds to nanoseconds; NULL for 0 and what is neither; error for a text that is no time';

CREATE FUNCTION stepadv_internal.import_time(instant numeric) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN to_char(timestamp '1970-01-01' + import_time.instant::float8 * interval '1 microsecond', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_time(numeric) IS 'part of import_rollouts: microseconds since 1970 as a time in words, UTC';

-- What a model was told, or answered, in whatever shape somebody has noted it.
CREATE FUNCTION stepadv_internal.import_noted(value jsonb, role text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	v jsonb := stepadv_internal.import_unquoted(value);
BEGIN
	IF v IS NULL OR v = 'null' THEN
		RETURN '[]';
	ELSIF jsonb_typeof(v) = 'object' THEN
		v := CASE WHEN jsonb_typeof(v -> 'messages') = 'array' THEN v -> 'messages'
			WHEN jsonb_typeof(v #> '{choices,0,message}') = 'object' THEN v #> '{choices,0,message}'
			WHEN jsonb_typeof(v -> 'message') = 'object' THEN v -> 'message'
			ELSE v END;
	END IF;
	IF jsonb_typeof(v) = 'object' AND (v ? 'role' OR v ? 'tool_calls') THEN
		RETURN jsonb_build_array(jsonb_build_object('role', role) || v);
	ELSIF jsonb_typeof(v) = 'array' AND jsonb_path_exists(v, 'strict $[*] ? (exists(@.role))'::jsonpath, '{}'::jsonb, true) THEN
		RETURN jsonb_path_query_array(v, 'strict $[*] ? (@.type() == "object")'::jsonpath, '{}'::jsonb, true);
	ELSIF jsonb_typeof(v) = 'array' AND jsonb_path_exists(v, 'strict $[*] ? (exists(@.type) && (exists(@.text) || exists(@.input) || exists(@.content) || exists(@.thinking)))'::jsonpath, '{}'::jsonb, true) THEN
		RETURN jsonb_build_array(jsonb_build_object('role', role, 'content', v));
	END IF;
	-- What has a text alone is that text.
	RETURN jsonb_build_array(jsonb_build_object('role', role, 'content', coalesce(CASE WHEN jsonb_typeof(v) = 'object' THEN coalesce(v -> 'content', v -> 'text', v -> 'output', v -> 'input') END, v) #>> '{}'));
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_noted(jsonb, text) IS
'part of import_rollouts: input or output of a model as messages, from a list of messages, an object with messages, choices or message, one message, a list of blocks, or a text, which is of the role given; NULL: none';

-- What came after the model's last word.
CREATE FUNCTION stepadv_internal.import_news(messages jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(jsonb_agg(m.v ORDER BY m.i) FILTER (WHERE m.i > m.last), '[]')
		FROM (SELECT x.v, x.i, coalesce(max(x.i) FILTER (WHERE x.v ->> 'role' IN ('assistant', 'ai', 'gpt', 'model')) OVER (), 0) AS last
			FROM jsonb_array_elements(import_news.messages) WITH ORDINALITY x(v, i)) m);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_news(jsonb) IS 'part of import_rollouts: those of a list of messages that come after the last of the model''s';

CREATE FUNCTION stepadv_internal.import_system(messages jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT string_agg(coalesce(stepadv_internal.import_text(coalesce(m.v -> 'content', m.v -> 'parts')), ''), E'\n' ORDER BY m.i)
		FROM jsonb_array_elements(import_system.messages) WITH ORDINALITY m(v, i) WHERE m.v ->> 'role' IN ('system', 'developer'));
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_system(jsonb) IS 'part of import_rollouts: what messages of the system say';

-- ----------
-- Scores
-- ----------

CREATE FUNCTION stepadv_internal.import_score(score jsonb) RETURNS float8
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN coalesce(stepadv_internal.import_inspect_score(score -> 'value'),
		CASE lower(coalesce(score ->> 'label', score ->> 'value')) WHEN 'correct' THEN 1 WHEN 'pass' THEN 1 WHEN 'passed' THEN 1 WHEN 'success' THEN 1 WHEN 'true' THEN 1 WHEN 'yes' THEN 1
			WHEN 'incorrect' THEN 0 WHEN 'fail' THEN 0 WHEN 'failed' THEN 0 WHEN 'failure' THEN 0 WHEN 'false' THEN 0 WHEN 'no' THEN 0 END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_score(jsonb) IS 'part of import_rollouts: a score {value, label} as a number: its value, or 1 and 0 of a label or value that says correct, pass, success, or the contrary; else NULL';

-- Which of a trace's scores is its outcome: by its name, or because there is no other.
-- Of several others somebody must say which.
CREATE FUNCTION stepadv_internal.import_verdict(scores jsonb, OUT outcome float8, OUT success boolean)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- Of two with one name the later counts.
	SELECT (array_agg(s.value ORDER BY s.place, s.i DESC) FILTER (WHERE s.place <= 4 OR s.n = 1))[1],
		(array_agg(s.value >= 1 ORDER BY s.i DESC) FILTER (WHERE s.of_success AND s.value IN (0, 1)))[1]
	INTO outcome, success
	FROM (
		SELECT x.i, stepadv_internal.import_score(x.v) AS value, x.name IN ('success', 'resolved', 'solved', 'passed', 'correct', 'correctness') AS of_success,
			coalesce(array_position('{reward,outcome,return,score}'::text[], x.name), 9) AS place, max(x.rank) OVER () AS n
		FROM (SELECT e.v, e.i, lower(e.v ->> 'name') AS name, dense_rank() OVER (ORDER BY lower(e.v ->> 'name')) AS rank FROM jsonb_array_elements(import_verdict.scores) WITH ORDINALITY e(v, i)) x) s
	WHERE s.value IS NOT NULL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_verdict(jsonb) IS
'part of import_rollouts: of the scores [{name, value, label}] of a trace the outcome: the one called reward, outcome, return or score, or the only one there is; success: the one called success, resolved, solved, passed, correct or correctness where it is 0 or 1; NULL: none says so';

-- ----------
-- Spans as a conversation
-- ----------

-- Each of a trace's spans once, in their order, with the turn they belong to (0: before
-- any of the model), and why a span is no step: of a tool only the call counts, not what
-- happens within; a model within a model is one call noted twice; a model that failed
-- has done nothing.
CREATE FUNCTION stepadv_internal.import_span_turns(spans jsonb) RETURNS TABLE (i bigint, turn bigint, kind text, v jsonb, left_out text)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	WITH RECURSIVE s AS MATERIALIZED (
		SELECT row_number() OVER (ORDER BY (u.v ->> 'at')::numeric NULLS LAST, u.i) AS i, u.v, u.v ->> 'span' AS id, u.v ->> 'parent' AS parent, u.v ->> 'kind' AS kind
		FROM (SELECT DISTINCT ON (coalesce(x.v ->> 'span', x.i::text)) x.v, x.i FROM jsonb_array_elements(spans) WITH ORDINALITY x(v, i) ORDER BY coalesce(x.v ->> 'span', x.i::text), x.i DESC) u
	), within AS (
		SELECT c.id, p.kind FROM s p JOIN s c ON c.parent = p.id WHERE p.kind IN ('tool', 'judge', 'llm')
		UNION
		SELECT c.id, w.kind FROM within w JOIN s c ON c.parent = w.id
	), told AS (
		SELECT s.i, s.kind, s.v, CASE
			WHEN s.kind = 'judge' OR EXISTS (SELECT FROM within w WHERE w.id = s.id AND w.kind = 'judge') THEN 'spans of judges'
			WHEN EXISTS (SELECT FROM within w WHERE w.id = s.id AND w.kind = 'tool') THEN 'spans within a call of a tool'
			WHEN s.kind = 'llm' AND EXISTS (SELECT FROM within w WHERE w.id = s.id AND w.kind = 'llm') THEN 'spans within a call of the model'
			WHEN s.kind = 'llm' AND s.v ->> 'failed' = 'true' AND coalesce(s.v -> 'said', '[]') = '[]' THEN 'calls of the model that failed'
			WHEN s.kind = 'other' THEN 'spans that are no step' END AS left_out
		FROM s
	)
	SELECT t.i, count(*) FILTER (WHERE t.kind = 'llm' AND t.left_out IS NULL) OVER (ORDER BY t.i), t.kind, t.v, t.left_out FROM told t;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_span_turns(jsonb) IS
'part of import_rollouts: spans in our words in the order of time, with the turn of the model they belong to; left_out: why one is no step, or NULL';

-- What stands in the turns: heard before, said in them, called, and what came of it.
CREATE FUNCTION stepadv_internal.import_span_items(spans jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		WITH t AS MATERIALIZED (SELECT * FROM stepadv_internal.import_span_turns(spans)),
		heard AS MATERIALIZED (
			SELECT t.turn, h.i AS j, h.v, row_number() OVER (PARTITION BY t.turn, h.v ->> 'kind' ORDER BY h.i) AS place
			FROM t CROSS JOIN LATERAL jsonb_array_elements(stepadv_internal.import_message_items(coalesce(t.v -> 'heard', '[]'))) WITH ORDINALITY h(v, i) WHERE t.kind = 'llm' AND t.left_out IS NULL
		), said AS MATERIALIZED (
			SELECT t.turn, m.i AS j, CASE WHEN m.v ->> 'kind' = 'call' THEN m.v || jsonb_build_object('id', coalesce(m.v ->> 'id', format('%s.%s', t.turn, m.i))) WHEN m.i > 1 THEN m.v - 'new' ELSE m.v END AS v,
				row_number() OVER (PARTITION BY t.turn, m.v ->> 'kind' ORDER BY m.i) AS place, row_number() OVER (PARTITION BY t.turn, m.v ->> 'kind', m.v ->> 'tool' ORDER BY m.i) AS rank
			FROM t CROSS JOIN LATERAL jsonb_array_elements(stepadv_internal.import_message_items(coalesce(t.v -> 'said', '[]'))) WITH ORDINALITY m(v, i) WHERE t.kind = 'llm' AND t.left_out IS NULL
		), tool AS MATERIALIZED (
			-- What is called like something that the model calls is that tool, whatever kind it is noted as.
			SELECT t.turn, t.i, t.v, row_number() OVER (PARTITION BY t.turn, t.v ->> 'name' ORDER BY t.i) AS rank
			FROM t WHERE t.kind = 'tool' AND t.left_out IS NULL
				OR t.kind = 'other' AND t.left_out = 'spans that are no step' AND EXISTS (SELECT FROM said c WHERE c.turn = t.turn AND c.v ->> 'kind' = 'call' AND c.v ->> 'tool' = t.v ->> 'name')
		), done AS MATERIALIZED (
			SELECT o.turn, o.i, o.v, c.j FROM tool o
			LEFT JOIN LATERAL (SELECT c.j FROM said c WHERE c.turn = o.turn AND c.v ->> 'kind' = 'call' AND (c.v ->> 'id' = o.v #>> '{call,id}' OR c.v ->> 'tool' = o.v ->> 'name' AND c.rank = o.rank)
				ORDER BY (c.v ->> 'id' = o.v #>> '{call,id}') IS TRUE DESC LIMIT 1) c ON true
		), answer AS MATERIALIZED (
			-- What the model heard of its call says more than what the tool gave.
			SELECT h.turn, h.j, h.v, c.j AS of_call FROM heard h
			LEFT JOIN LATERAL (SELECT c.j FROM said c WHERE c.turn = h.turn - 1 AND c.v ->> 'kind' = 'call' AND (c.v ->> 'id' = h.v ->> 'id' OR h.v ->> 'id' IS NULL AND c.place = h.place)
				ORDER BY (c.v ->> 'id' = h.v ->> 'id') IS TRUE DESC LIMIT 1) c ON true
			WHERE h.v ->> 'kind' = 'result'
		), item AS (
			SELECT h.turn, 0 AS part, h.j, h.v FROM heard h WHERE h.v ->> 'kind' IN ('see', 'dropped')
			UNION ALL SELECT a.turn, 0, a.j, jsonb_build_object('kind', 'see', 'text', a.v -> 'text') FROM answer a WHERE a.of_call IS NULL
			UNION ALL SELECT t.turn, 1, 0, '{"kind": "think", "new": true}' FROM t WHERE t.kind = 'llm' AND t.left_out IS NULL
			UNION ALL SELECT s.turn, 1, s.j, s.v - 'new' FROM said s WHERE s.v ->> 'kind' <> 'dropped'
			-- Whoever notes no words notes that there was a turn.
			UNION ALL SELECT t.turn, 1, 1, '{"kind": "say"}' FROM t WHERE t.kind = 'llm' AND t.left_out IS NULL
				AND NOT EXISTS (SELECT FROM said s WHERE s.turn = t.turn AND s.v ->> 'kind' IN ('say', 'call')) AND NOT EXISTS (SELECT FROM tool o WHERE o.turn = t.turn)
			UNION ALL SELECT d.turn, 2, d.i, jsonb_build_object('kind', 'call', 'id', 'span ' || coalesce(d.v ->> 'span', d.i::text), 'tool', d.v -> 'name', 'args', d.v #> '{call,args}') FROM done d WHERE d.j IS NULL
			-- What says nothing and did not fail went well.
			UNION ALL SELECT d.turn, 3, d.i, jsonb_strip_nulls(jsonb_build_object('kind', 'result', 'id', 'span ' || coalesce(d.v ->> 'span', d.i::text), 'text', coalesce(d.v #> '{call,text}', d.v -> 'message'),
				'ok', CASE WHEN d.v ->> 'failed' = 'true' THEN false WHEN d.v #>> '{call,text}' IS NULL THEN true END)) FROM done d WHERE d.j IS NULL
			UNION ALL SELECT s.turn, 3, s.j, jsonb_strip_nulls(jsonb_build_object('kind', 'result', 'id', s.v -> 'id', 'text', coalesce(a.v -> 'text', d.v #> '{call,text}', d.v -> 'message'),
				'ok', CASE WHEN d.v ->> 'failed' = 'true' THEN 'false' WHEN coalesce(a.v ->> 'text', d.v #>> '{call,text}') IS NULL THEN 'true' ELSE a.v -> 'ok' END))
				FROM said s LEFT JOIN answer a ON a.turn = s.turn + 1 AND a.of_call = s.j LEFT JOIN done d ON d.turn = s.turn AND d.j = s.j
				WHERE s.v ->> 'kind' = 'call' AND (a.j IS NOT NULL OR d.i IS NOT NULL)
			UNION ALL SELECT t.turn, 9, t.i, jsonb_build_object('kind', 'dropped', 'text', t.left_out) FROM t WHERE t.left_out IS NOT NULL AND NOT EXISTS (SELECT FROM tool o WHERE o.i = t.i)
		)
		SELECT coalesce(jsonb_agg(x.v ORDER BY x.turn, x.part, x.j), '[]') FROM item x);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_span_items(jsonb) IS
'part of import_rollouts: spans of one trace as items of import_steps: each call of the model is a turn, a span of a tool is the call with its id, or else the next one of its name, and a call of its own where the model''s are not noted';

-- What is told of each turn beside what was done: times, tokens, rewards.
CREATE FUNCTION stepadv_internal.import_span_notes(spans jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(jsonb_agg(x.note ORDER BY x.turn), '[]')
		FROM (
			SELECT t.turn, jsonb_strip_nulls(jsonb_build_object(
				'meta', (array_agg(jsonb_strip_nulls(jsonb_build_object('span_id', t.v -> 'span', 'started_at', t.v -> 'started_at', 'ended_at', t.v -> 'ended_at', 'input_tokens', t.v -> 'input_tokens',
					'output_tokens', t.v -> 'output_tokens', 'model', t.v -> 'model', 'agent', t.v -> 'agent', 'scores', nullif(t.v -> 'scores', '[]')))) FILTER (WHERE t.kind = 'llm'))[1],
				'reward', (SELECT sum(stepadv_internal.import_score(s.v)) FROM jsonb_array_elements(jsonb_path_query_array(jsonb_agg(t.v), '$[*] ? (exists(@.parent)).scores[*]'::jsonpath)) s(v) WHERE lower(s.v ->> 'name') IN ('reward', 'step_reward')))) AS note
			FROM stepadv_internal.import_span_turns(spans) t
			WHERE t.left_out IS NULL
			GROUP BY t.turn) x);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_span_notes(jsonb) IS 'part of import_rollouts: for each turn of import_span_items, in order, what goes to the metadata of its steps, and the reward of the turn: the sum of its spans'' scores called reward or step_reward (those of a root are the rollout''s)';

-- The first that some span says, the root's first, then in the order of time.
CREATE FUNCTION stepadv_internal.import_span_says(spans jsonb, key text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT x.v -> import_span_says.key FROM jsonb_array_elements(spans) WITH ORDINALITY x(v, i)
		WHERE coalesce(x.v ->> import_span_says.key, '') <> '' AND x.v ->> 'kind' IS DISTINCT FROM 'judge'
		ORDER BY x.v ? 'parent', (x.v ->> 'at')::numeric NULLS LAST, x.i LIMIT 1);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_span_says(jsonb, text) IS 'part of import_rollouts: what the first of the spans that says something says under a key; those without a parent come first';

-- The rollout of a trace.
CREATE FUNCTION stepadv_internal.import_trace(spans jsonb, source text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- Of the whole: what those say that have no parent here.
	roots CONSTANT jsonb := jsonb_path_query_array(spans, '$[*] ? (!exists(@.parent))'::jsonpath);
	scores CONSTANT jsonb := jsonb_path_query_array(roots, '$[*].scores[*]'::jsonpath) || jsonb_path_query_array(spans, '$[*] ? (@.kind == "judge").scores[*]'::jsonpath);
	notes CONSTANT jsonb := stepadv_internal.import_span_notes(spans);
	about jsonb := '{}';
	-- A trace may be spread over files of which this is one.
	is_part CONSTANT boolean := NOT jsonb_path_exists(roots, '$[*] ? (!exists(@.orphan))'::jsonpath);
	task CONSTANT jsonb := coalesce(stepadv_internal.import_span_says(spans, 'task'::text), stepadv_internal.import_span_says(spans, 'session'::text));
	verdict record;
	made record;
	steps jsonb;
	of_group jsonb;
BEGIN
	SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}') INTO about
	FROM (SELECT DISTINCT ON (e.key) e.key, e.value FROM jsonb_array_elements(spans) WITH ORDINALITY x(v, i), jsonb_each(x.v -> 'about') e ORDER BY e.key, x.v ? 'parent', (x.v ->> 'at')::numeric NULLS LAST, x.i) e;
	verdict := stepadv_internal.import_verdict(scores);
	made := stepadv_internal.import_steps(stepadv_internal.import_span_items(spans));
	SELECT coalesce(jsonb_agg(s.v || jsonb_build_object('meta', coalesce(nullif(s.v -> 'meta', 'null'), '{}') || coalesce(s.note -> 'meta', '{}'))
			-- A turn's reward is known when all of it is done.
			|| CASE WHEN s.is_last AND s.note ? 'reward' THEN jsonb_build_object('reward', s.note -> 'reward') ELSE '{}' END ORDER BY s.i), '[]') INTO steps
	FROM (SELECT e.v, e.i, notes -> (e.v ->> 'turn')::integer AS note, lead(e.v -> 'turn') OVER (ORDER BY e.i) IS DISTINCT FROM e.v -> 'turn' AS is_last
		FROM jsonb_array_elements(made.steps) WITH ORDINALITY e(v, i)) s;
	of_group := coalesce(task, to_jsonb(stepadv_internal.import_digest(coalesce(stepadv_internal.import_span_says(spans, 'asked'::text), nullif(steps #> '{0,observation}', 'null')))));
	RETURN jsonb_strip_nulls(jsonb_build_object('outcome', verdict.outcome, 'success', verdict.success, 'model', stepadv_internal.import_span_says(spans, 'model'::text),
			'started_at', (SELECT min(e.v #>> '{}') FROM jsonb_array_elements(jsonb_path_query_array(spans, '$[*].started_at'::jsonpath)) e(v)),
			'ended_at', (SELECT max(e.v #>> '{}') FROM jsonb_array_elements(jsonb_path_query_array(spans, '$[*].ended_at'::jsonpath)) e(v))))
		|| stepadv_internal.import_about(about)
		|| CASE WHEN of_group IS NULL THEN jsonb_build_object('problem', format('no span of trace %s says its task, its session or what was asked%s', spans #>> '{0,trace}',
			CASE WHEN is_part THEN ', and its first span is not here: cat FILES | stepadv-import - takes files that share traces for one' END)) ELSE '{}' END
		|| jsonb_build_object('group_id', of_group,
			'rollout_id', coalesce(spans #> '{0,trace}', to_jsonb(stepadv_internal.import_digest(spans))),
			'meta', coalesce(stepadv_internal.import_span_says(roots, 'more'::text), '{}') || jsonb_strip_nulls(jsonb_build_object('source', import_trace.source, 'name', stepadv_internal.import_span_says(roots, 'name'::text),
				'session', stepadv_internal.import_span_says(spans, 'session'::text), 'system_prompt', stepadv_internal.import_span_says(spans, 'system'::text), 'error', jsonb_path_query_first(roots, '$[*] ? (@.failed == true).message'::jsonpath),
				'scores', (SELECT jsonb_object_agg(s.v ->> 'name', coalesce(nullif(s.v -> 'value', 'null'), s.v -> 'label')) FROM jsonb_array_elements(scores) s(v) WHERE s.v ->> 'name' IS NOT NULL),
				'input_tokens', (SELECT sum((n.v #>> '{meta,input_tokens}')::numeric) FROM jsonb_array_elements(notes) n(v)), 'output_tokens', (SELECT sum((n.v #>> '{meta,output_tokens}')::numeric) FROM jsonb_array_elements(notes) n(v)))),
			'steps', steps, 'dropped', made.dropped, 'repaired', made.repaired || CASE WHEN is_part THEN '{"traces without their first span": 1}' ELSE '{}' END::jsonb);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_trace(jsonb, text) IS
'part of import_rollouts: the rollout of a trace, a list of spans in our words: id the trace''s, group its task, else its session, else a hash of what was asked first; outcome and success by import_verdict of the scores of those without a parent and of judges; one jsonb as in docs/import.md';

-- Scores that stand beside their spans go to them, those of the trace to its root.
CREATE FUNCTION stepadv_internal.import_place_scores(spans jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		WITH s AS MATERIALIZED (SELECT x.v, x.i, x.v ->> 'kind' = 'score' AS is_score FROM jsonb_array_elements(spans) WITH ORDINALITY x(v, i)),
		root AS (SELECT s.i FROM s WHERE NOT s.is_score ORDER BY s.v ? 'parent', (s.v ->> 'at')::numeric NULLS LAST, s.i LIMIT 1),
		placed AS (
			SELECT coalesce((SELECT o.i FROM s o WHERE NOT o.is_score AND o.v ->> 'span' = s.v ->> 'of' LIMIT 1), (SELECT r.i FROM root r)) AS of, jsonb_agg(e.v ORDER BY s.i) AS scores
			FROM s CROSS JOIN LATERAL jsonb_array_elements(s.v -> 'scores') e(v) WHERE s.is_score GROUP BY 1
		)
		SELECT jsonb_agg(CASE WHEN p.of IS NULL THEN s.v ELSE s.v || jsonb_build_object('scores', coalesce(s.v -> 'scores', '[]') || p.scores) END ORDER BY s.i)
		FROM s LEFT JOIN placed p ON p.of = s.i WHERE NOT s.is_score);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_place_scores(jsonb) IS 'part of import_rollouts: the spans of a trace without those of the kind score, whose scores go to the span they are of, or to the root; NULL: there are only scores';

-- Traces of spans that are mixed, in the order in which they began to be told.
CREATE FUNCTION stepadv_internal.import_traces(spans jsonb[], source text) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT CASE WHEN p.spans IS NULL THEN jsonb_build_object('dropped', jsonb_build_object('scores of traces that are elsewhere', jsonb_array_length(t.spans))) ELSE stepadv_internal.import_trace(p.spans, import_traces.source) END
	FROM (SELECT jsonb_agg(CASE WHEN s.v ->> 'parent' IS NULL THEN s.v - 'parent' WHEN p.is_there IS NULL THEN s.v - 'parent' || '{"orphan": true}' ELSE s.v END ORDER BY s.i) AS spans, min(s.i) AS i
		FROM unnest(import_traces.spans) WITH ORDINALITY s(v, i)
		-- Whose parent is somewhere else is a root here.
		LEFT JOIN (SELECT DISTINCT x.v ->> 'trace' AS trace, x.v ->> 'span' AS span, true AS is_there FROM unnest(import_traces.spans) x(v)) p ON p.trace = s.v ->> 'trace' AND p.span = s.v ->> 'parent'
		GROUP BY s.v ->> 'trace') t
	CROSS JOIN LATERAL (SELECT CASE WHEN t.spans @> '[{"kind": "score"}]' THEN stepadv_internal.import_place_scores(t.spans) ELSE t.spans END AS spans) p
	ORDER BY t.i;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_traces(jsonb[], text) IS 'part of import_rollouts: spans in our words, of any number of traces, as rollouts, one for each trace';

-- The spans of a document: found in it, or in many lines before (import_gather).
CREATE FUNCTION stepadv_internal.import_spans(document jsonb, format text) RETURNS jsonb[]
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	spans jsonb[];
BEGIN
	IF jsonb_typeof(document -> 'stepadv_spans') = 'array' THEN
		RETURN ARRAY(SELECT s.v FROM jsonb_array_elements(document -> 'stepadv_spans') WITH ORDINALITY s(v, i) ORDER BY s.i);
	ELSIF format = 'otel' THEN
		SELECT array_agg(s.v) INTO spans FROM stepadv_internal.import_otel_spans(document) s(v);
	ELSE
		SELECT array_agg(s.v) INTO spans FROM stepadv_internal.import_langfuse_spans(document) s(v);
	END IF;
	RETURN spans;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_spans(jsonb, text) IS 'part of import_rollouts: the spans in our words of a document of the format otel or langfuse; NULL: it has none';

CREATE FUNCTION stepadv_internal.import_traces_of(document jsonb, format text, source text) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF document ? 'stepadv_problem' THEN
		RETURN NEXT jsonb_build_object('problem', document -> 'stepadv_problem');
	END IF;
	RETURN QUERY SELECT t.v FROM stepadv_internal.import_traces(stepadv_internal.import_spans(document, format), source) t(v);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_traces_of(jsonb, text, text) IS 'part of import_rollouts: the rollouts of a document of the format otel or langfuse, after what was wrong with its lines';

-- A line of a file by itself, as its spans, or as what is wrong with it.
CREATE FUNCTION stepadv_internal.import_line_spans(document text, format text, is_latin1 boolean, OUT spans jsonb[], OUT problem text)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	detail text;
BEGIN
	spans := stepadv_internal.import_spans((SELECT t.content FROM stepadv_internal.json_of_text(document, is_latin1) t), format);
	IF spans IS NULL THEN
		problem := 'there is no span in the document';
	END IF;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
	GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	problem := stepadv_internal.import_words_of_error(SQLSTATE, problem, detail);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_line_spans(text, text, boolean) IS 'part of import_rollouts: the spans of a line of a file, or why there is none';

-- A trace lies on many lines: those of a file, gathered, a document for each.
CREATE FUNCTION stepadv_internal.import_gather(format text, is_latin1 boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	ALTER TABLE pg_temp.stepadv_file RENAME TO stepadv_file_lines;
	CREATE TEMP TABLE stepadv_file ON COMMIT DROP AS
	WITH line AS MATERIALIZED (
		SELECT d.n, d.source, l.spans, l.problem FROM pg_temp.stepadv_file_lines d CROSS JOIN LATERAL stepadv_internal.import_line_spans(d.document, import_gather.format, import_gather.is_latin1) l
		WHERE ascii(left(d.document, 1)) > 32 OR btrim(d.document, E' \t\r\n') <> ''
	)
	SELECT min(l.n) AS n, jsonb_build_object('stepadv_spans', jsonb_agg(s.v ORDER BY l.n, s.i)) AS document, min(l.source) AS source
	FROM line l CROSS JOIN LATERAL unnest(l.spans) WITH ORDINALITY s(v, i) GROUP BY s.v ->> 'trace'
	UNION ALL
	SELECT l.n, jsonb_build_object('stepadv_problem', l.problem), l.source FROM line l WHERE l.problem IS NOT NULL;
	DROP TABLE pg_temp.stepadv_file_lines;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_gather(text, boolean) IS
'part of import_rollouts: makes of pg_temp.stepadv_file, a line of a file each, one document (jsonb) for each trace that its lines tell of, numbered by the first; lines without a span say so';

-- What a line of verl's dumps may have beside one answer: arrays of tokens, and calls of
-- tools with their results inside output, as chat templates of Hermes' kind write them.

-- Parts of an output: what the model said, calls, and what came back.  A result stands
-- between calls and the next word "assistant" on a line of its own, with the template's
-- marks or without them.
CREATE FUNCTION stepadv_internal.import_verl_items(input text, output text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- No text of JSON has it.
	mark CONSTANT text := chr(1);
	chunks CONSTANT text[] := string_to_array(regexp_replace(replace(import_verl_items.output, mark, chr(65533)), '</tool_call>\s*(<\|im_end\|>)?\s*(<\|im_start\|>)?\s*(user|tool)\n', '</tool_call>' || mark, 'g'), mark);
	items jsonb := jsonb_build_array(jsonb_build_object('kind', 'see', 'text', import_verl_items.input));
	back text[];
	said text;
	words text;
BEGIN
	FOR k IN 1 .. cardinality(chunks) LOOP
		said := regexp_replace(chunks[k], '^(<\|im_start\|>)?assistant\n', '');
		IF k > 1 THEN
			back := regexp_match(chunks[k], '^(.*?)\s*(?:<\|im_end\|>)?\s*(?:<\|im_start\|>)?\massistant\n(.*)$');
			-- One block for each call, or all that came back.
			items := items || (SELECT coalesce(jsonb_agg(jsonb_build_object('kind', 'result', 'id', format('c%s.%s', k - 1, r.i), 'text', btrim(r.m[1], E' \n')) ORDER BY r.i),
					jsonb_build_array(jsonb_build_object('kind', 'result', 'id', format('c%s.1', k - 1), 'text', coalesce(back[1], chunks[k]))))
				FROM regexp_matches(coalesce(back[1], chunks[k]), '<tool_response>(.*?)</tool_response>', 'g') WITH ORDINALITY r(m, i));
			said := back[2];
		END IF;
		IF said IS NOT NULL THEN
			words := btrim(regexp_replace(regexp_replace(said, '<tool_call>.*?</tool_call>', '', 'g'), '\s*<\|im_end\|>\s*$', ''), E' \n');
			items := items || jsonb_build_object('kind', CASE WHEN words = '' AND strpos(said, '<tool_call>') > 0 THEN 'think' ELSE 'say' END, 'new', true, 'text', nullif(words, ''))
				|| (SELECT coalesce(jsonb_agg(jsonb_build_object('kind', 'call', 'id', format('c%s.%s', k, c.i), 'tool', a.args -> 'name', 'args', coalesce(a.args -> 'arguments', to_jsonb(btrim(c.m[1], E' \n')))) ORDER BY c.i), '[]')
					FROM regexp_matches(said, '<tool_call>(.*?)</tool_call>', 'g') WITH ORDINALITY c(m, i), LATERAL stepadv_internal.import_arguments(to_jsonb(c.m[1])) a);
		END IF;
	END LOOP;
	RETURN items;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_verl_items(text, text) IS 'part of import_rollouts: an input and an output with <tool_call> as items of import_steps';

-- The tokens of the turns: runs of true in the mask, if there are as many.
CREATE FUNCTION stepadv_internal.import_turn_tokens(steps jsonb, tokens jsonb, OUT given jsonb, OUT is_told boolean)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	runs jsonb;
BEGIN
	SELECT coalesce(jsonb_agg(jsonb_build_object('a', r.a, 'b', r.b, 'before', r.a - 1) ORDER BY r.a), '[]') INTO runs
	FROM (SELECT min(e.i) - 1 AS a, max(e.i) - 1 AS b
		FROM (SELECT m.i, m.i - row_number() OVER (ORDER BY m.i) AS island FROM jsonb_array_elements(CASE jsonb_typeof(import_turn_tokens.tokens -> 'response_mask') WHEN 'array' THEN import_turn_tokens.tokens -> 'response_mask' ELSE '[]' END) WITH ORDINALITY m(v, i) WHERE m.v = 'true') e
		GROUP BY e.island) r;
	is_told := jsonb_array_length(runs) = (SELECT count(DISTINCT s.v -> 'turn') FROM jsonb_array_elements(import_turn_tokens.steps) s(v));
	given := import_turn_tokens.steps;
	IF is_told THEN
		SELECT jsonb_agg(CASE WHEN t.is_first THEN t.v || jsonb_strip_nulls(jsonb_build_object(
				'prompt_token_ids', (import_turn_tokens.tokens -> 'prompt_token_ids') || CASE WHEN (r.v ->> 'a')::integer > 0 THEN jsonb_path_query_array(import_turn_tokens.tokens, '$.response_token_ids[0 to $before]', r.v) ELSE '[]' END,
				'response_token_ids', jsonb_path_query_array(import_turn_tokens.tokens, '$.response_token_ids[$a to $b]', r.v), 'response_mask', jsonb_path_query_array(import_turn_tokens.tokens, '$.response_mask[$a to $b]', r.v),
				'rollout_logprobs', jsonb_path_query_array(import_turn_tokens.tokens, '$.rollout_logprobs[$a to $b]', r.v))) ELSE t.v END ORDER BY t.i) INTO given
		FROM (SELECT s.v, s.i, dense_rank() OVER (ORDER BY (s.v ->> 'turn')::integer) AS k, row_number() OVER (PARTITION BY s.v -> 'turn' ORDER BY s.i) = 1 AS is_first
			FROM jsonb_array_elements(import_turn_tokens.steps) WITH ORDINALITY s(v, i)) t
		LEFT JOIN jsonb_array_elements(runs) WITH ORDINALITY r(v, k) ON r.k = t.k;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_turn_tokens(jsonb, jsonb) IS
'part of import_rollouts: steps with the arrays of tokens of their turns, the runs of true in the mask of a whole rollout, at the first step of each turn; is_told: there are as many runs as turns, else the steps are as they were';

CREATE FUNCTION stepadv_internal.import_verl_more(document jsonb, rollout jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	names CONSTANT text[] := '{prompt_ids,response_ids,prompts,responses,prompt_token_ids,response_token_ids,response_mask,loss_mask,rollout_log_probs,rollout_logprobs,response_logprobs}';
	has_calls CONSTANT boolean := strpos(document ->> 'output', '<tool_call>') > 0;
	tokens jsonb;
	told record;
	said record;
	whole jsonb := rollout;
BEGIN
	IF rollout ? 'problem' OR NOT (has_calls OR document ?| names) THEN
		RETURN rollout;
	END IF;
	tokens := stepadv_internal.import_tokens(document);
	whole := whole || jsonb_build_object('meta', coalesce(nullif(whole -> 'meta', 'null'), '{}') - names);
	IF NOT has_calls THEN
		RETURN whole || jsonb_build_object('steps', jsonb_build_array((whole #> '{steps,0}') || tokens));
	END IF;
	SELECT s.* INTO said FROM stepadv_internal.import_steps(stepadv_internal.import_verl_items(document ->> 'input', document ->> 'output')) s;
	SELECT t.* INTO told FROM stepadv_internal.import_turn_tokens(said.steps, tokens) t;
	RETURN whole || jsonb_build_object('steps', jsonb_set(told.given, '{-1,reward}', coalesce(whole #> '{steps,0,reward}', 'null')), 'dropped', said.dropped,
		'repaired', said.repaired || CASE WHEN tokens ? 'response_token_ids' AND NOT told.is_told THEN '{"tokens that no turn tells apart": 1}' ELSE '{}' END::jsonb);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_verl_more(jsonb, jsonb) IS
'part of import_rollouts: what import_verl gives, with the arrays of tokens of the line, and with a step for each <tool_call> of its output';

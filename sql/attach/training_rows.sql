-- Steps as lines of a file that a trainer reads: plain SQL over any relation of
-- advantages.

-- Without a row of these: Citus takes no subquery without FROM whose expressions are not immutable.
-- A function has no more than a hundred arguments.
CREATE FUNCTION stepadv_internal.members(names text[], expressions text[]) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format('jsonb_build_object(%s)', m.members), ' || ' ORDER BY m.part)
	FROM (SELECT (u.i - 1) / 40 AS part, string_agg(format('%L::text, %s', u.name, u.expression), ', ' ORDER BY u.i) AS members
		FROM unnest(members.names, members.expressions) WITH ORDINALITY u(name, expression, i) GROUP BY 1) m
$$;
COMMENT ON FUNCTION stepadv_internal.members(text[], text[]) IS 'part of training_rows: the expression of a JSON object with these members, of which the last of a name counts';

-- One advantage per token: where the mask is true, or without a mask on all; a
-- step whose mask is of another length than its tokens is an error.
CREATE FUNCTION stepadv_internal.token_advantages(advantages regclass, source jsonb, advantage text, token_mask text, tokens text, OUT item text, OUT condition text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- Expressions over s.
	mask CONSTANT text := CASE WHEN token_advantages.token_mask IS NOT NULL THEN
		stepadv_internal.role_column('token_mask'::text, token_advantages.advantages, token_advantages.token_mask, 's'::text) END;
	n_tokens CONSTANT text := CASE WHEN token_advantages.tokens IS NOT NULL THEN
		stepadv_internal.role_column('tokens'::text, token_advantages.advantages, token_advantages.tokens, 's'::text) END;
	-- Where both are known the mask says which token.
	broadcasts CONSTANT text := concat_ws(', ', 'stepadv.broadcast(' || advantage || ', ' || mask || ')', 'stepadv.broadcast(' || advantage || ', ' || n_tokens || ')');
BEGIN
	IF mask IS NULL AND n_tokens IS NULL THEN
		RETURN;
	ELSIF mask IS NOT NULL AND n_tokens IS NOT NULL THEN
		condition := format(' AND CASE WHEN cardinality(s.%I) <> %s THEN stepadv_internal.curation_refuse(format(%L, s.step_no, s.rollout_id)) = 0 ELSE true END',
			token_advantages.token_mask, n_tokens,
			replace(format('token_mask %I and tokens %I are not of one length', token_advantages.token_mask, token_advantages.tokens), '%', '%%') || ': step %s of rollout %s');
	END IF;
	item := format('coalesce(%s)', broadcasts);
END
$$;
COMMENT ON FUNCTION stepadv_internal.token_advantages(regclass, jsonb, text, text, text) IS 'part of training_rows: the expression for the advantage on each token, and the condition that mask and tokens are of one length; NULLs where neither is known';

-- What is on the lines by the user's choice: the columns named, or else the group,
-- the step, its advantage, and what there is of tokens and reason.
CREATE FUNCTION stepadv_internal.training_about(advantages regclass, settings jsonb, source jsonb, advantage text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	given CONSTANT boolean := jsonb_typeof(settings -> 'columns') = 'array';
	names text[];
	tokens record;
	unknown text;
BEGIN
	IF given THEN
		names := ARRAY(SELECT jsonb_array_elements_text(settings -> 'columns'));
		SELECT n INTO unknown FROM unnest(names) n WHERE stepadv_internal.has_column(training_about.advantages, n) IS NOT TRUE LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION 'column "%" does not exist in %', unknown, source ->> 'name' USING ERRCODE = 'undefined_column';
		ELSIF names = '{}' THEN
			RETURN '''{}''::jsonb';
		END IF;
		RETURN stepadv_internal.members(names, ARRAY(SELECT format('s.%I', u.n) FROM unnest(names) WITH ORDINALITY u(n, i) ORDER BY u.i));
	END IF;
	names := ARRAY(SELECT jsonb_array_elements_text(source -> 'group_by')) || '{rollout_id,step_no,step_id}'::text[]
		|| ARRAY(SELECT n FROM unnest('{prompt_token_ids,response_token_ids,response_mask,rollout_logprobs,reason}'::text[]) n
			WHERE stepadv_internal.has_column(training_about.advantages, n));
	tokens := stepadv_internal.token_advantages(training_about.advantages, source, training_about.advantage, settings ->> 'token_mask', settings ->> 'tokens');
	RETURN stepadv_internal.members(names || 'advantage'::text || CASE WHEN tokens.item IS NOT NULL THEN ARRAY['advantages'] ELSE '{}' END,
		ARRAY(SELECT format('s.%I', u.n) FROM unnest(names) WITH ORDINALITY u(n, i) ORDER BY u.i) || training_about.advantage || CASE WHEN tokens.item IS NOT NULL THEN ARRAY[tokens.item] ELSE '{}' END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.training_about(regclass, jsonb, jsonb, text) IS 'part of training_rows: the expression for the members of a line that its shape does not say';

-- The relation that has all steps of the rollouts, not only those chosen: views are
-- followed to where their observation is from.
CREATE FUNCTION stepadv_internal.training_steps(advantages regclass, given regclass, keys text[]) RETURNS regclass
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	steps regclass := training_steps.given;
	below regclass := training_steps.advantages;
	missing text;
BEGIN
	WHILE training_steps.given IS NULL AND below IS NOT NULL LOOP
		below := (SELECT v.relation FROM stepadv_internal.view_columns(below) v WHERE v.plain AND v.name = 'observation' AND v.column_name = 'observation');
		steps := coalesce(below, steps);
	END LOOP;
	IF steps IS NULL THEN
		RAISE EXCEPTION 'where the conversations of % are is not known', stepadv_internal.relation_name(training_steps.advantages)
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name the table or view of all steps by steps => ''rl.steps''. It is known of views over the tables that create_tables makes.';
	END IF;
	SELECT k INTO missing FROM unnest(training_steps.keys || '{rollout_id,step_no,observation,action}'::text[]) k WHERE NOT stepadv_internal.has_column(steps, k) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'column "%" does not exist in %', missing, stepadv_internal.relation_name(steps)
			USING ERRCODE = 'undefined_column',
				HINT = 'A relation of steps has the columns of the group, rollout_id, step_no, observation and action; and turn, tool, args, next_observation and metadata, if it can.';
	END IF;
	RETURN steps;
END
$$;
COMMENT ON FUNCTION stepadv_internal.training_steps(regclass, regclass, text[]) IS 'part of training_rows: the relation of all steps, whose columns are those of the canonical table';

-- The steps of a rollout up to and with the turn of a step, as conversation()
-- takes them: a FROM item.
CREATE FUNCTION stepadv_internal.told_steps(steps regclass, keys text[], alias text, told text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('CROSS JOIN LATERAL (SELECT jsonb_agg(jsonb_build_object(%s) ORDER BY x.step_no) AS told FROM %s x WHERE %s AND (x.step_no <= %s.step_no%s)) %s',
		(SELECT string_agg(format('%L::text, %s', c.key, CASE WHEN NOT stepadv_internal.has_column(told_steps.steps, c.name) THEN 'NULL::text'
				WHEN c.key = 'said' THEN 'x.metadata -> ''text''::text' ELSE format('x.%I', c.name) END), ', ')
			FROM (VALUES ('step_no', 'step_no'), ('turn', 'turn'), ('observation', 'observation'), ('action', 'action'), ('tool', 'tool'), ('args', 'args'),
				('next', 'next_observation'), ('said', 'metadata')) c(key, name)),
		stepadv_internal.relation_name(told_steps.steps), stepadv_internal.same_columns('x'::text, told_steps.alias, told_steps.keys || 'rollout_id'::text, told_steps.steps), told_steps.alias,
		CASE WHEN stepadv_internal.has_column(told_steps.steps, 'turn'::text) THEN format(' OR x.turn = (SELECT y.turn FROM %s y WHERE %s AND y.step_no = %s.step_no)',
			stepadv_internal.relation_name(told_steps.steps), stepadv_internal.same_columns('y'::text, told_steps.alias, told_steps.keys || 'rollout_id'::text, told_steps.steps), told_steps.alias) ELSE '' END,
		told_steps.told)
$$;
COMMENT ON FUNCTION stepadv_internal.told_steps(regclass, text[], text, text) IS 'part of training_rows: the FROM item of the steps of a rollout up to one, with the other calls of its turn';

CREATE FUNCTION stepadv_internal.conversation_refuse(problem text, hint text) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION '%', conversation_refuse.problem USING ERRCODE = 'data_exception', HINT = conversation_refuse.hint;
END
$$;
COMMENT ON FUNCTION stepadv_internal.conversation_refuse(text, text) IS 'part of training_rows: an error about a conversation';

-- What came back from the calls of a turn: each call's own result, and what was
-- said besides.
CREATE FUNCTION stepadv_internal.results_of_calls(calls jsonb[], seen text, whose text) RETURNS jsonb[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	alone CONSTANT boolean := cardinality(results_of_calls.calls) = 1;
	results jsonb[] := '{}';
	call jsonb;
	result text;
	all_results text;
BEGIN
	FOREACH call IN ARRAY results_of_calls.calls LOOP
		result := call ->> 'next';
		-- What the agent saw is what was in its prompt.
		IF alone AND results_of_calls.seen IS NOT NULL AND (result IS NULL OR NOT starts_with(results_of_calls.seen, result || E'\n')) THEN
			result := results_of_calls.seen;
		ELSIF result IS NULL THEN
			PERFORM stepadv_internal.conversation_refuse(format('the conversation of %s has no result of the call of step %s', results_of_calls.whose, call ->> 'step_no'),
				'next_observation of a step, or the observation of the next one, is what came back from its call.'::text);
		END IF;
		all_results := concat_ws(E'\n', all_results, result);
		results := results || jsonb_build_object('role', 'tool', 'tool_call_id', 'call_' || (call ->> 'step_no'), 'content', result);
	END LOOP;
	IF starts_with(results_of_calls.seen, all_results || E'\n') THEN
		results := results || jsonb_build_object('role', 'user', 'content', substr(results_of_calls.seen, length(all_results) + 2));
	END IF;
	RETURN results;
END
$$;
COMMENT ON FUNCTION stepadv_internal.results_of_calls(jsonb[], text, text) IS 'part of training_rows: messages of role tool, one per call, and of role user where more was seen than the results';

CREATE FUNCTION stepadv_internal.message_of_turn(turn jsonb[]) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN message_of_turn.turn[1] ->> 'tool' IS NULL THEN jsonb_build_object('role', 'assistant', 'content', message_of_turn.turn[1] -> 'action')
		ELSE jsonb_build_object('role', 'assistant', 'content', message_of_turn.turn[1] -> 'said', 'tool_calls', (
			SELECT jsonb_agg(jsonb_build_object('id', 'call_' || (c.call ->> 'step_no'), 'type', 'function',
				'function', jsonb_build_object('name', c.call ->> 'tool', 'arguments', coalesce(nullif(c.call -> 'args', 'null')::text, '{}'))) ORDER BY c.i)
			FROM unnest(message_of_turn.turn) WITH ORDINALITY c(call, i))) END
$$;
COMMENT ON FUNCTION stepadv_internal.message_of_turn(jsonb[]) IS 'part of training_rows: a turn of the model as a message of role assistant, with its calls';

-- A message as it was: only a text that a step has was left out, for a mark such as
-- {"observation": 3}: what was seen before turn 3.
CREATE FUNCTION stepadv_internal.kept_message(message jsonb, by_turn jsonb, whose text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	mark record;
BEGIN
	IF jsonb_typeof(kept_message.message -> 'content') IS DISTINCT FROM 'object' THEN
		RETURN kept_message.message;
	END IF;
	SELECT e.key, e.value #>> '{}' AS turn INTO mark FROM jsonb_each(kept_message.message -> 'content') e LIMIT 1;
	IF jsonb_typeof(kept_message.by_turn -> mark.turn -> mark.key) IS DISTINCT FROM 'string' THEN
		PERFORM stepadv_internal.conversation_refuse(format('the conversation of %s has no step of turn %s', kept_message.whose, mark.turn),
			'Its rollout was imported with it; a step is gone, or its text is.'::text);
	END IF;
	RETURN jsonb_set(kept_message.message, '{content}', kept_message.by_turn -> mark.turn -> mark.key);
END
$$;
COMMENT ON FUNCTION stepadv_internal.kept_message(jsonb, jsonb, text) IS 'part of training_rows: a message that an importer kept, with the text that a step has';

CREATE FUNCTION stepadv_internal.kept_conversation(told jsonb, kept jsonb, whose text, OUT prompt jsonb, OUT completion jsonb)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	turn CONSTANT integer := (kept_conversation.told -> -1 ->> 'turn')::integer;
	by_turn CONSTANT jsonb := (SELECT jsonb_object_agg(t.turn, t.step)
		FROM (SELECT DISTINCT ON (e ->> 'turn') e ->> 'turn' AS turn, e AS step FROM jsonb_array_elements(kept_conversation.told) WITH ORDINALITY s(e, i)
			WHERE e ->> 'turn' IS NOT NULL ORDER BY e ->> 'turn', i) t);
	messages jsonb[] := '{}';
	message jsonb;
	number integer := -1;
BEGIN
	FOR message IN SELECT m FROM jsonb_array_elements(kept_conversation.kept) WITH ORDINALITY k(m, i) ORDER BY i LOOP
		-- A turn of the model's is one message; what it was shown as an example is none.
		IF message ->> 'role' IN ('assistant', 'ai', 'gpt', 'model') AND message ->> 'is_demo' IS DISTINCT FROM 'true' THEN
			number := number + 1;
		END IF;
		message := stepadv_internal.kept_message(message, by_turn, kept_conversation.whose);
		IF number = turn THEN
			prompt := to_jsonb(messages);
			completion := message;
			RETURN;
		END IF;
		messages := messages || message;
	END LOOP;
	PERFORM stepadv_internal.conversation_refuse(format('the conversation of %s has no turn %s', kept_conversation.whose, coalesce(turn::text, 'of its own')),
		'The rollout''s metadata has the messages it was imported with: a step that came later is none of them.'::text);
END
$$;
COMMENT ON FUNCTION stepadv_internal.kept_conversation(jsonb, jsonb, text) IS 'part of training_rows: the messages before a turn, and the turn''s own, as they were imported';

-- What was seen is said by the user or by a tool, what was done by the assistant.
CREATE FUNCTION stepadv_internal.conversation_of_steps(told jsonb, system text, whose text, OUT prompt jsonb, OUT completion jsonb)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	messages jsonb[] := CASE WHEN conversation_of_steps.system IS NULL THEN '{}' ELSE ARRAY[jsonb_build_object('role', 'system', 'content', conversation_of_steps.system)] END;
	turns record;
	before jsonb[];
	before_no integer;
	seen text;
BEGIN
	FOR turns IN
		SELECT min(t.turn) AS no, array_agg(t.step ORDER BY t.i) AS steps, min(t.step ->> 'step_no') AS step_no
		FROM (SELECT s.step, s.i, (s.step ->> 'turn')::integer AS turn, CASE WHEN s.step ->> 'turn' IS NULL THEN -s.i ELSE (s.step ->> 'turn')::integer END AS same
			FROM jsonb_array_elements(conversation_of_steps.told) WITH ORDINALITY s(step, i)) t
		GROUP BY t.same ORDER BY min(t.i)
	LOOP
		seen := coalesce(turns.steps[1] ->> 'observation', CASE WHEN cardinality(before) = 1 THEN before[1] ->> 'next' END);
		-- Counted from 0 or from 1.
		IF turns.no > coalesce(before_no + 1, CASE WHEN before IS NULL THEN 1 END) THEN
			PERFORM stepadv_internal.conversation_refuse(format('the conversation of %s has no step of turn %s', conversation_of_steps.whose, coalesce(before_no + 1, 0)),
				'Steps of later turns cannot be told without it: insert it, or leave the rollout out.'::text);
		ELSIF before[1] ->> 'tool' IS NOT NULL THEN
			messages := messages || stepadv_internal.results_of_calls(before, seen, conversation_of_steps.whose);
		ELSIF seen IS NOT NULL THEN
			messages := messages || jsonb_build_object('role', 'user', 'content', seen);
		ELSIF before IS NOT NULL OR messages = '{}' THEN
			PERFORM stepadv_internal.conversation_refuse(format('the conversation of %s has nothing before step %s', conversation_of_steps.whose, turns.step_no),
				'What the model was told is observation of a step, or next_observation of the one before; for the first, system => ''…'' will do.'::text);
		END IF;
		prompt := to_jsonb(messages);
		completion := stepadv_internal.message_of_turn(turns.steps);
		IF completion -> 'content' = 'null' AND NOT completion ? 'tool_calls' THEN
			PERFORM stepadv_internal.conversation_refuse(format('the conversation of %s has no action of step %s', conversation_of_steps.whose, turns.step_no), 'A turn without its words cannot be told.'::text);
		END IF;
		messages := messages || completion;
		before := turns.steps;
		before_no := turns.no;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.conversation_of_steps(jsonb, text, text) IS 'part of training_rows: the messages before a turn, and the turn''s own, made of steps';

CREATE FUNCTION stepadv_internal.conversation(told jsonb, rollout_metadata jsonb, system text, whose text, OUT prompt jsonb, OUT completion jsonb)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF jsonb_typeof(conversation.rollout_metadata -> 'messages') = 'array' THEN
		SELECT c.prompt, c.completion INTO prompt, completion
		FROM stepadv_internal.kept_conversation(conversation.told, conversation.rollout_metadata -> 'messages', conversation.whose) c;
		IF conversation.system IS NOT NULL AND prompt -> 0 ->> 'role' IS DISTINCT FROM 'system' THEN
			prompt := jsonb_build_array(jsonb_build_object('role', 'system', 'content', conversation.system)) || prompt;
		END IF;
	ELSE
		SELECT c.prompt, c.completion INTO prompt, completion
		FROM stepadv_internal.conversation_of_steps(conversation.told, coalesce(conversation.system, conversation.rollout_metadata ->> 'system_prompt'), conversation.whose) c;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.conversation(jsonb, jsonb, text, text) IS 'part of training_rows: the conversation before a turn, and the turn; as it was imported, where the rollout''s metadata has that';

-- Only the last word is to be learned.
CREATE FUNCTION stepadv_internal.weighted_messages(prompt jsonb, completion jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(jsonb_agg(CASE WHEN m ->> 'role' = 'assistant' THEN m || '{"weight": 0}' ELSE m END ORDER BY i), '[]') || jsonb_build_array(weighted_messages.completion || '{"weight": 1}')
	FROM jsonb_array_elements(weighted_messages.prompt) WITH ORDINALITY p(m, i)
$$;
COMMENT ON FUNCTION stepadv_internal.weighted_messages(jsonb, jsonb) IS 'part of training_rows: messages of which only the last is trained on, by weight';

-- A rollout's metadata beside a step, as views of attach over canonical tables have it.
CREATE FUNCTION stepadv_internal.rollout_metadata_item(relation regclass, name text, alias text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN stepadv_internal.curation_type(rollout_metadata_item.relation, rollout_metadata_item.name) = 'jsonb'::regtype
		THEN format('%s.%I::jsonb', rollout_metadata_item.alias, rollout_metadata_item.name) ELSE 'NULL::jsonb' END
$$;
COMMENT ON FUNCTION stepadv_internal.rollout_metadata_item(regclass, text, text) IS 'part of training_rows: the expression for the metadata of a step''s rollout, NULL where there is none';

-- What verl reads of a step: its row's columns, and the tokens as its rollout workers call them.
CREATE FUNCTION stepadv_internal.verl_row(advantages regclass, settings jsonb, source jsonb, advantage text, about text, OUT item text, OUT condition text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	mask text := settings ->> 'token_mask';
	tokens record;
	name text;
BEGIN
	FOREACH name IN ARRAY '{prompt_token_ids,response_token_ids}'::text[] LOOP
		IF NOT stepadv_internal.has_column(verl_row.advantages, name) THEN
			RAISE EXCEPTION 'rows for verl need tokens: % has no column %', source ->> 'name', name
				USING ERRCODE = 'undefined_column', HINT = 'Of steps without tokens the shapes are ''messages'' and ''prompt_completion''.';
		END IF;
	END LOOP;
	tokens := stepadv_internal.token_advantages(verl_row.advantages, source, verl_row.advantage, mask, 'response_token_ids'::text);
	mask := CASE WHEN mask IS NULL THEN 'NULL::integer[]' ELSE stepadv_internal.role_column('token_mask'::text, verl_row.advantages, mask, 's'::text) || '::integer[]' END;
	condition := ' AND CASE WHEN s.prompt_token_ids IS NULL OR s.response_token_ids IS NULL THEN stepadv_internal.curation_refuse(format(''rows for verl need tokens: step %s of rollout %s has none''::text, s.step_no, s.rollout_id)) = 0 ELSE true END'
		|| coalesce(tokens.condition, '');
	item := format('jsonb_build_object(''data_source''::text, %L::text, ''prompt''::text, c.prompt, ''ability''::text, %L::text, ''reward_model''::text, jsonb_build_object(''style''::text, ''rule''::text, ''ground_truth''::text, coalesce(s.stepadv_metadata ->> ''ground_truth''::text, ''''::text)),'
		' ''extra_info''::text, jsonb_build_object(''index''::text, row_number() OVER (%s) - 1, ''split''::text, %s) || %s) || jsonb_build_object(''prompt_ids''::text, s.prompt_token_ids, ''response_ids''::text, s.response_token_ids,'
		' ''response_mask''::text, coalesce(%s, array_fill(1, ARRAY[cardinality(s.response_token_ids)])), ''response_logprobs''::text, %s%s)',
		coalesce(settings ->> 'data_source', source ->> 'name'), coalesce(settings ->> 'ability', 'agent'),
		(stepadv_internal.sorted_lines(ARRAY[verl_row.advantages], stepadv_internal.training_order(verl_row.advantages, ARRAY(SELECT jsonb_array_elements_text(source -> 'group_by')) || '{rollout_id,step_no,step_id}'::text[], 's'::text))).after,
		CASE WHEN stepadv_internal.has_column(verl_row.advantages, 'channel'::text) THEN 'coalesce(s.channel::text, ''train''::text)' ELSE '''train''::text' END,
		verl_row.about, mask,
		CASE WHEN stepadv_internal.has_column(verl_row.advantages, 'rollout_logprobs'::text) THEN 's.rollout_logprobs' ELSE 'NULL::real[]' END, ', ''advantages''::text, ' || tokens.item);
END
$$;
COMMENT ON FUNCTION stepadv_internal.verl_row(regclass, jsonb, jsonb, text, text) IS 'part of training_rows: a line for verl as an expression, and the condition that it has tokens';

-- Lines are sorted before their conversations are told, which are as long as the file; where Citus
-- distributes the steps, after: it tells them on the shards, and takes no join with what was sorted.
CREATE FUNCTION stepadv_internal.sorted_lines(relations regclass[], ordering text, OUT before text, OUT after text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN d.d THEN '' ELSE format(' ORDER BY %s OFFSET 0', sorted_lines.ordering) END, CASE WHEN d.d THEN ' ORDER BY ' || sorted_lines.ordering ELSE '' END
	FROM stepadv_internal.is_distributed(sorted_lines.relations) d(d)
$$;
COMMENT ON FUNCTION stepadv_internal.sorted_lines(regclass[], text) IS 'part of training_rows: the clauses that sort, in the innermost query or in the outermost';

-- A step per line, with its conversation.
CREATE FUNCTION stepadv_internal.conversation_query(advantages regclass, settings jsonb, source jsonb, advantage text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text[] := ARRAY(SELECT jsonb_array_elements_text(source -> 'group_by'));
	steps regclass;
	sorted record;
	-- The advantage is a column of the relation, or made of one.
	about text := stepadv_internal.training_about(conversation_query.advantages, settings, source, conversation_query.advantage);
	condition text;
	item text;
BEGIN
	IF settings ->> 'shape' = 'verl' THEN
		IF jsonb_typeof(settings -> 'columns') IS DISTINCT FROM 'array' THEN
			about := stepadv_internal.training_about(conversation_query.advantages,
				settings || jsonb_build_object('columns', to_jsonb(keys || '{rollout_id,step_no,step_id}'::text[] || (settings ->> 'advantage'))), source, conversation_query.advantage);
		END IF;
		SELECT v.item, v.condition INTO item, condition FROM stepadv_internal.verl_row(conversation_query.advantages, settings, source, conversation_query.advantage, about) v;
	ELSE
		-- Where no advantage per token is asked for, no mask matters.
		IF jsonb_typeof(settings -> 'columns') IS DISTINCT FROM 'array' THEN
			condition := (stepadv_internal.token_advantages(conversation_query.advantages, source, conversation_query.advantage, settings ->> 'token_mask', settings ->> 'tokens')).condition;
		END IF;
		item := format('%s || CASE WHEN jsonb_typeof(s.stepadv_metadata -> ''tools''::text) = ''array''::text THEN jsonb_build_object(''tools''::text, s.stepadv_metadata -> ''tools''::text) ELSE ''{}''::jsonb END || %s',
			CASE settings ->> 'shape' WHEN 'messages' THEN 'jsonb_build_object(''messages''::text, stepadv_internal.weighted_messages(c.prompt, c.completion))'
				ELSE 'jsonb_build_object(''prompt''::text, c.prompt, ''completion''::text, jsonb_build_array(c.completion))' END, about);
	END IF;
	steps := stepadv_internal.training_steps(conversation_query.advantages, (settings ->> 'steps')::oid::regclass, keys);
	sorted := stepadv_internal.sorted_lines(ARRAY[conversation_query.advantages, steps],
		stepadv_internal.training_order(conversation_query.advantages, keys || '{rollout_id,step_no,step_id}'::text[], 's'::text));
	RETURN format('SELECT %1$s FROM (SELECT s.*, %2$s AS stepadv_metadata FROM %3$s s WHERE %4$s IS NOT NULL%6$s) s %7$s CROSS JOIN LATERAL stepadv_internal.conversation(t.told, s.stepadv_metadata, %8$L::text, format(''step %%s of rollout %%s''::text, s.step_no, s.rollout_id)) c WHERE true%5$s%9$s',
		item, stepadv_internal.rollout_metadata_item(conversation_query.advantages, 'rollout_metadata'::text, 's'::text), source ->> 'name', conversation_query.advantage, condition,
		sorted.before, stepadv_internal.told_steps(steps, keys, 's'::text, 't'::text), settings ->> 'system', sorted.after);
END
$$;
COMMENT ON FUNCTION stepadv_internal.conversation_query(regclass, jsonb, jsonb, text) IS 'part of training_rows: the query for the shapes messages, prompt_completion and verl';

CREATE FUNCTION stepadv_internal.training_order(advantages regclass, keys text[], alias text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(stepadv_internal.curation_key(format('%s.%I', training_order.alias, k.name), stepadv_internal.curation_type(training_order.advantages, k.name)), ', ' ORDER BY k.i)
	FROM unnest(training_order.keys) WITH ORDINALITY k(name, i)
$$;
COMMENT ON FUNCTION stepadv_internal.training_order(regclass, text[], text) IS 'part of training_rows: by what lines are ordered';

-- One of the two steps of a pair, with its rollout's metadata: a FROM item.  (Not by LIMIT 1: Citus takes none here.)
CREATE FUNCTION stepadv_internal.step_of_pair(a stepadv_internal.attached, keys text[], alias text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('CROSS JOIN LATERAL (SELECT %1$s, (array_agg(x.stepadv_rollout_id))[1] AS rollout_id, (array_agg(x.stepadv_no))[1] AS step_no, (array_agg(%2$s))[1] AS step_id, (array_agg(%3$s))[1] AS metadata'
		' FROM %4$s x WHERE %5$s AND x.stepadv_step = p.%6$s_step_id GROUP BY %1$s) %6$s',
		stepadv_internal.list(step_of_pair.keys, 'x.%1$I'::text, ', '::text),
		CASE WHEN stepadv_internal.has_column((a).shown, 'stepadv_step_id'::text) THEN 'x.stepadv_step_id' ELSE 'x.stepadv_step' END,
		CASE WHEN stepadv_internal.curation_type((a).shown_rollouts, 'metadata'::text) = 'jsonb'::regtype
			THEN format('(SELECT (array_agg(r.metadata))[1] FROM %s r WHERE %s AND r.stepadv_rollout = x.stepadv_rollout)', stepadv_internal.relation_name((a).shown_rollouts), k.of_rollout) ELSE 'NULL::jsonb' END,
		stepadv_internal.relation_name((a).shown), k.of_step, step_of_pair.alias)
	FROM (SELECT stepadv_internal.same_columns('x'::text, 'p'::text, step_of_pair.keys, (a).shown) AS of_step, stepadv_internal.same_columns('r'::text, 'x'::text, step_of_pair.keys, (a).shown) AS of_rollout) k
$$;
COMMENT ON FUNCTION stepadv_internal.step_of_pair(stepadv_internal.attached, text[], text) IS 'part of training_rows: the FROM item for the chosen or rejected step of a pair';

-- Ids of calls are made up: they make no other conversation of one.
CREATE FUNCTION stepadv_internal.without_call_ids(messages jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT jsonb_agg((m - 'tool_call_id'::text) || CASE WHEN jsonb_typeof(m -> 'tool_calls') = 'array'
		THEN jsonb_build_object('tool_calls', (SELECT jsonb_agg(CASE WHEN jsonb_typeof(c) = 'object' THEN c - 'id'::text ELSE c END ORDER BY n) FROM jsonb_array_elements(m -> 'tool_calls') WITH ORDINALITY t(c, n))) ELSE '{}' END ORDER BY i)
	FROM jsonb_array_elements(without_call_ids.messages) WITH ORDINALITY p(m, i)
$$;
COMMENT ON FUNCTION stepadv_internal.without_call_ids(jsonb) IS 'part of training_rows: messages without the ids of calls, to compare them';

-- The view of attach whose steps a selection, or another view over views, shows.
CREATE FUNCTION stepadv_internal.view_below(relation regclass) RETURNS regclass
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	below regclass := view_below.relation;
BEGIN
	WHILE below IS NOT NULL AND NOT EXISTS (SELECT FROM pg_class c, stepadv_internal.attachments(c.relowner, NULL::regclass) k WHERE c.oid = below AND below = ANY (k.views)) LOOP
		below := (SELECT v.relation FROM stepadv_internal.view_columns(below) v WHERE v.plain AND v.name = 'step_id' AND v.column_name = 'step_id');
	END LOOP;
	RETURN below;
END
$$;
COMMENT ON FUNCTION stepadv_internal.view_below(regclass) IS 'part of training_rows: the view of attach that a relation is, or whose steps it shows; NULL where there is none';

-- A turn is one step, and whichever of its calls was chosen stands for it.
CREATE FUNCTION stepadv_internal.states_of_steps(rollouts stepadv.rollout_group, step_ids bigint[]) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT array_agg(t.state)
	FROM unnest(states_of_steps.step_ids) u(step_id) JOIN stepadv.returns(states_of_steps.rollouts) r ON r.step_id = u.step_id
	JOIN (SELECT x.rollout_id, x.step_no, x.state, lead(x.step_no) OVER (PARTITION BY x.rollout_id ORDER BY x.step_no) AS next FROM stepadv.steps(states_of_steps.rollouts) x) t
		ON t.rollout_id = r.rollout_id AND t.step_no <= r.step_no AND (t.next IS NULL OR r.step_no < t.next)
$$;
COMMENT ON FUNCTION stepadv_internal.states_of_steps(stepadv.rollout_group, bigint[]) IS 'part of training_rows: the states in which steps of a group were done, one each; NULL where none of them is in the group';

-- The states that a selection has steps in, of which pairs are made: a FROM item of
-- the groups that have any.
CREATE FUNCTION stepadv_internal.chosen_groups(a stepadv_internal.attached, selection regclass, keys text[], source jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	group_values CONSTANT regclass := (a).views[array_position((a).view_kinds, 'values')];
	missing text;
BEGIN
	SELECT k INTO missing FROM unnest(chosen_groups.keys) k WHERE NOT stepadv_internal.has_column(chosen_groups.selection, k) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'column "%" does not exist in %', missing, chosen_groups.source ->> 'name'
			USING ERRCODE = 'undefined_column', HINT = format('Pairs are of the groups of %s, whose columns the selection must have.', stepadv_internal.relation_name(group_values));
	END IF;
	RETURN format($q$(SELECT g.*, stepadv_internal.states_of_steps(g.rollouts, s.steps) AS states FROM %1$s g
			JOIN (SELECT %2$s, array_agg(%3$s) AS steps FROM %4$s s GROUP BY %2$s) s ON %5$s)$q$,
		stepadv_internal.relation_name(group_values), stepadv_internal.list(chosen_groups.keys, 's.%1$I'::text, ', '::text),
		stepadv_internal.identity('s.step_id'::text, stepadv_internal.column_type(chosen_groups.selection, 'step_id'::text)), stepadv_internal.relation_name(chosen_groups.selection),
		stepadv_internal.same_columns('g'::text, 's'::text, chosen_groups.keys, group_values));
END
$$;
COMMENT ON FUNCTION stepadv_internal.chosen_groups(stepadv_internal.attached, regclass, text[], jsonb) IS 'part of training_rows: the FROM item of the groups of an attachment that a selection has steps of, and the states of these';

-- A pair per line: what was done best and worst in one state.
CREATE FUNCTION stepadv_internal.pairs_query(advantages regclass, settings jsonb, source jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	below CONSTANT regclass := stepadv_internal.view_below(pairs_query.advantages);
	selected CONSTANT boolean := below <> pairs_query.advantages;
	a stepadv_internal.attached;
	keys text[] := ARRAY(SELECT jsonb_array_elements_text(source -> 'group_by'));
	group_values regclass;
	pairs CONSTANT regprocedure := 'stepadv.preference_pairs(stepadv.rollout_group,float8,integer,float8,text,float8,float8,float8,text,float8)'::regprocedure;
	steps regclass;
	sorted record;
BEGIN
	SELECT k.* INTO a FROM pg_class c, stepadv_internal.attachments(c.relowner, NULL::regclass) k WHERE c.oid = below AND below = ANY (k.views);
	IF NOT FOUND THEN
		RAISE EXCEPTION 'pairs of % are not known', source ->> 'name'
			USING ERRCODE = 'feature_not_supported', HINT = 'Pairs compare all steps of a group: give a view of attach, such as ''rl.steps_rtmc'', or a selection of one.';
	ELSIF jsonb_typeof(settings -> 'columns') = 'array' AND settings -> 'columns' <> '[]' THEN
		RAISE EXCEPTION 'columns cannot be named for pairs' USING ERRCODE = 'feature_not_supported', HINT = 'columns => ''{}'' leaves prompt, chosen and rejected alone.';
	END IF;
	group_values := a.views[array_position(a.view_kinds, 'values')];
	IF selected THEN
		keys := stepadv_internal.group_columns(group_values, a.n_group_columns);
	END IF;
	steps := stepadv_internal.training_steps(pairs_query.advantages, (settings ->> 'steps')::oid::regclass, keys);
	sorted := stepadv_internal.sorted_lines(ARRAY[pairs_query.advantages, steps],
		stepadv_internal.training_order(group_values, keys, 'g'::text));
	RETURN format($q$SELECT jsonb_build_object('prompt'::text, cc.prompt, 'chosen'::text, jsonb_build_array(cc.completion), 'rejected'::text, jsonb_build_array(rc.completion))%1$s
		FROM (SELECT %2$s, p.* FROM (SELECT g.* FROM %3$s g%4$s) g CROSS JOIN LATERAL stepadv.preference_pairs(g.rollouts%5$s)%12$s p%11$s) p
		%6$s %7$s %8$s %9$s
		CROSS JOIN LATERAL stepadv_internal.conversation(ct.told, chosen.metadata, %10$L::text, format('step %%s of rollout %%s'::text, chosen.step_no, chosen.rollout_id)) cc
		CROSS JOIN LATERAL stepadv_internal.conversation(rt.told, rejected.metadata, %10$L::text, format('step %%s of rollout %%s'::text, rejected.step_no, rejected.rollout_id)) rc%13$s$q$,
		CASE WHEN settings -> 'columns' = '[]' THEN '' ELSE ' || ' || stepadv_internal.members(
			keys || '{chosen_rollout_id,chosen_step_no,chosen_step_id,rejected_rollout_id,rejected_step_no,rejected_step_id,chosen_q,rejected_q,gap,gap_error,confidence,chosen_visits,rejected_visits,same_prompt,reason}'::text[],
			ARRAY(SELECT format('p.%I', u.n) FROM unnest(keys) WITH ORDINALITY u(n, i) ORDER BY u.i)
				|| '{chosen.rollout_id,chosen.step_no,chosen.step_id,rejected.rollout_id,rejected.step_no,rejected.step_id,p.chosen_q,p.rejected_q,p.gap,p.gap_error,p.confidence,p.chosen_visits,p.rejected_visits}'::text[]
				|| '{"stepadv_internal.without_call_ids(cc.prompt) = stepadv_internal.without_call_ids(rc.prompt)",p.reason}'::text[]) END,
		stepadv_internal.list(keys, 'g.%1$I'::text, ', '::text),
		CASE WHEN selected THEN stepadv_internal.chosen_groups(a, pairs_query.advantages, keys, source) ELSE stepadv_internal.relation_name(group_values) END,
		sorted.before,
		stepadv_internal.question_arguments(a, 'preference_pairs'::text, pairs, jsonb_strip_nulls(jsonb_build_object('min_gap', settings -> 'min_gap', 'min_visits', settings -> 'min_visits',
			'method', CASE WHEN a.view_kinds[array_position(a.views, below)] = 'batch_td' THEN 'batch_td' END))),
		stepadv_internal.step_of_pair(a, keys, 'chosen'::text), stepadv_internal.step_of_pair(a, keys, 'rejected'::text),
		stepadv_internal.told_steps(steps, keys, 'chosen'::text, 'ct'::text), stepadv_internal.told_steps(steps, keys, 'rejected'::text, 'rt'::text), settings ->> 'system',
		CASE WHEN selected THEN ' WHERE p.state = ANY (g.states)' ELSE '' END, CASE WHEN sorted.after <> '' THEN ' WITH ORDINALITY' ELSE '' END,
		CASE WHEN sorted.after <> '' THEN format(' ORDER BY %s, p.ordinality', stepadv_internal.training_order(group_values, keys, 'p'::text)) ELSE '' END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.pairs_query(regclass, jsonb, jsonb) IS 'part of training_rows: the query for the shape dpo';

-- A rollout per line: what it was told, each step, and how good it was to take it.
CREATE FUNCTION stepadv_internal.process_query(advantages regclass, settings jsonb, source jsonb, advantage text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text[] := ARRAY(SELECT jsonb_array_elements_text(source -> 'group_by'));
	steps CONSTANT regclass := stepadv_internal.training_steps(process_query.advantages, (settings ->> 'steps')::oid::regclass, keys);
	sorted CONSTANT record := stepadv_internal.sorted_lines(ARRAY[process_query.advantages, steps], stepadv_internal.training_order(process_query.advantages, keys || 'rollout_id'::text, 's'::text));
	grouped CONSTANT text := stepadv_internal.list(keys || 'rollout_id'::text, 's.%1$I'::text, ', '::text);
BEGIN
	IF NOT stepadv_internal.has_column(process_query.advantages, 'q'::text) THEN
		RAISE EXCEPTION '% has no column q, what a process reward is made of', source ->> 'name'
			USING ERRCODE = 'undefined_column', HINT = 'The views of rtmc and batch_td have it, and selections of them.';
	END IF;
	RETURN format($q$SELECT jsonb_build_object('prompt'::text, (SELECT string_agg(m.m ->> 'content'::text, E'\n\n'::text ORDER BY m.i) FROM jsonb_array_elements(c.prompt) WITH ORDINALITY m(m, i)),
			'completions'::text, x.completions, 'labels'::text, x.labels)%1$s
		FROM (SELECT %2$s, min(s.step_no) AS step_no, max(s.step_no) AS last, jsonb_object_agg(s.step_no, s.q) AS q, (array_agg(%3$s))[1] AS metadata
			FROM %4$s s WHERE %5$s IS NOT NULL GROUP BY %2$s%6$s) s
		CROSS JOIN LATERAL (
			SELECT jsonb_agg(CASE WHEN x.i = 1 THEN '' ELSE coalesce(x.observation || E'\n', '') END || x.action ORDER BY x.i) AS completions,
				jsonb_agg(x.q > %7$L::float8 ORDER BY x.i) AS labels, jsonb_agg(x.q ORDER BY x.i) AS targets, jsonb_agg(x.step_no ORDER BY x.i) AS step_nos, min(x.step_no) AS first
			FROM (SELECT x.step_no, x.observation::text AS observation, coalesce(x.action::text, '') AS action, row_number() OVER (ORDER BY x.step_no) AS i,
					CASE WHEN s.q ->> x.step_no::text IS NULL THEN stepadv_internal.curation_refuse(format('step %%s of rollout %%s has no q in %%s: process rewards need all steps up to the last'::text, x.step_no, s.rollout_id, %8$L::text))
						ELSE (s.q ->> x.step_no::text)::float8 END AS q
				FROM %9$s x WHERE %10$s AND x.step_no <= s.last) x) x
		%11$s
		CROSS JOIN LATERAL stepadv_internal.conversation(t.told, s.metadata, %12$L::text, format('rollout %%s'::text, s.rollout_id)) c%13$s$q$,
		CASE WHEN settings -> 'columns' = '[]' THEN '' ELSE ' || ' || stepadv_internal.members(keys || '{rollout_id,step_nos,targets}'::text[], ARRAY(SELECT format('s.%I', u.n) FROM unnest(keys || 'rollout_id'::text) WITH ORDINALITY u(n, i) ORDER BY u.i) || '{x.step_nos,x.targets}'::text[]) END,
		grouped, stepadv_internal.rollout_metadata_item(process_query.advantages, 'rollout_metadata'::text, 's'::text), source ->> 'name', process_query.advantage,
		sorted.before, coalesce(settings ->> 'label_above', '0'), source ->> 'name',
		stepadv_internal.relation_name(steps), stepadv_internal.same_columns('x'::text, 's'::text, keys || 'rollout_id'::text, steps),
		stepadv_internal.told_steps(steps, keys, 's'::text, 't'::text), settings ->> 'system', sorted.after);
END
$$;
COMMENT ON FUNCTION stepadv_internal.process_query(regclass, jsonb, jsonb, text) IS 'part of training_rows: the query for the shape prm';

-- A step per line, with its columns.
CREATE FUNCTION stepadv_internal.steps_query(advantages regclass, settings jsonb, source jsonb, advantage text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	columns text[] := CASE WHEN jsonb_typeof(settings -> 'columns') = 'array' THEN ARRAY(SELECT jsonb_array_elements_text(settings -> 'columns')) END;
	token_mask CONSTANT text := settings ->> 'token_mask';
	tokens CONSTANT text := settings ->> 'tokens';
	keys text[] := ARRAY(SELECT jsonb_array_elements_text(source -> 'group_by')) || '{rollout_id,step_no,step_id}'::text[];
	known text[];		-- columns of the relation
	name text;
	per_token record;
BEGIN
	SELECT array_agg(a.attname) INTO known FROM pg_attribute a
	WHERE a.attrelid = steps_query.advantages AND a.attnum > 0 AND NOT a.attisdropped;
	columns := coalesce(columns, ARRAY(
		SELECT c FROM unnest('{observation,action,tool,args,prompt_token_ids,response_token_ids,response_mask,rollout_logprobs}'::text[]
			-- A state or action of the user's own says something; beside their texts the hashes do not.
			|| ARRAY[CASE WHEN NOT 'observation' = ANY (known) THEN source -> 'columns' ->> 'state' END,
				CASE WHEN NOT 'action' = ANY (known) THEN source -> 'columns' ->> 'action' END,
				source -> 'columns' ->> 'logp_old', token_mask, tokens, 'reason']) c
		WHERE c = ANY (known)));
	IF array_position(columns, NULL) IS NOT NULL THEN
		RAISE EXCEPTION 'columns has a NULL: %', columns USING ERRCODE = 'null_value_not_allowed';
	END IF;
	FOREACH name IN ARRAY columns || token_mask || tokens LOOP
		IF name <> ALL (known) THEN
			RAISE EXCEPTION 'column "%" does not exist in %', name, source ->> 'name' USING ERRCODE = 'undefined_column';
		ELSIF name = 'advantages' AND name = ANY (columns) OR name = 'advantage' AND name <> settings ->> 'advantage'
			AND name = ANY (columns)
		THEN
			RAISE EXCEPTION 'column "%" of % has the name of what training_rows adds', name, source ->> 'name'
				USING ERRCODE = 'duplicate_column', HINT = 'Leave it out with columns =>, or give a view that calls it something else.';
		END IF;
	END LOOP;

	per_token := stepadv_internal.token_advantages(steps_query.advantages, source, advantage, token_mask, tokens);
	RETURN format('SELECT to_jsonb(t) FROM (SELECT %s, %s AS advantage%s%s FROM %s s WHERE %s IS NOT NULL%s%s) t%s',
		stepadv_internal.list(keys, 's.%1$I'::text, ', '::text), advantage,
		(SELECT string_agg(format(', s.%I', c.name), '' ORDER BY c.i) FROM (
			SELECT u.name, min(u.i) AS i FROM unnest(columns) WITH ORDINALITY u(name, i)
			WHERE u.name <> ALL (keys || 'advantage'::text) GROUP BY u.name) c),
		', ' || per_token.item || ' AS advantages', source ->> 'name', advantage, per_token.condition,
		(stepadv_internal.sorted_lines(ARRAY[steps_query.advantages], stepadv_internal.training_order(steps_query.advantages, keys, 's'::text))).before,
		(stepadv_internal.sorted_lines(ARRAY[steps_query.advantages], stepadv_internal.training_order(steps_query.advantages, keys, 't'::text))).after);
END
$$;
COMMENT ON FUNCTION stepadv_internal.steps_query(regclass, jsonb, jsonb, text) IS 'part of training_rows: the query for the shape steps';

-- The query rather than its rows: a cursor, or COPY, sends them as they are made.
CREATE FUNCTION stepadv.training_query(advantages regclass, columns text[] DEFAULT NULL, token_mask text DEFAULT NULL, tokens text DEFAULT NULL,
	group_by text[] DEFAULT NULL, advantage_column text DEFAULT 'advantage', shape text DEFAULT 'steps', steps regclass DEFAULT NULL, system text DEFAULT NULL,
	data_source text DEFAULT NULL, ability text DEFAULT 'agent', min_gap float8 DEFAULT 0, min_visits integer DEFAULT 2, label_above float8 DEFAULT 0)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source CONSTANT jsonb := stepadv_internal.curation_source(training_query.advantages, training_query.group_by);
	-- Columns as the canonical tables call them, and what attach was told.
	settings CONSTANT jsonb := jsonb_build_object('columns', training_query.columns,
		'token_mask', coalesce(training_query.token_mask, source -> 'columns' ->> 'token_mask',
			CASE WHEN stepadv_internal.has_column(training_query.advantages, 'response_mask'::text) THEN 'response_mask' END),
		'tokens', coalesce(training_query.tokens,
			CASE WHEN stepadv_internal.has_column(training_query.advantages, 'response_token_ids'::text) THEN 'response_token_ids' END, source -> 'columns' ->> 'logp_old'),
		'advantage', training_query.advantage_column, 'shape', training_query.shape, 'steps', training_query.steps::oid::bigint, 'system', training_query.system,
		'data_source', training_query.data_source, 'ability', training_query.ability, 'min_gap', training_query.min_gap, 'min_visits', training_query.min_visits,
		'label_above', training_query.label_above);
	advantage text;
BEGIN
	IF training_query.shape IS NULL OR training_query.shape NOT IN ('steps', 'messages', 'prompt_completion', 'verl', 'dpo', 'prm') THEN
		RAISE EXCEPTION 'unknown shape of training rows: %', coalesce(quote_literal(training_query.shape), 'NULL')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'shape is ''steps'', ''messages'', ''prompt_completion'', ''verl'', ''dpo'' or ''prm''.';
	ELSIF training_query.shape = 'dpo' THEN
		RETURN stepadv_internal.pairs_query(training_query.advantages, settings, source);
	END IF;
	advantage := stepadv_internal.curation_number(training_query.advantages, training_query.advantage_column, 'advantage'::text);
	RETURN CASE training_query.shape
		WHEN 'steps' THEN stepadv_internal.steps_query(training_query.advantages, settings, source, advantage)
		WHEN 'prm' THEN stepadv_internal.process_query(training_query.advantages, settings, source, advantage)
		ELSE stepadv_internal.conversation_query(training_query.advantages, settings, source, advantage) END;
END
$$;
COMMENT ON FUNCTION stepadv.training_query(regclass, text[], text, text, text[], text, text, regclass, text, text, text, float8, integer, float8) IS
'the query whose rows training_rows with the same arguments returns, for a cursor or COPY (query) TO: neither server nor client holds more than a row of it at once; it is to be run with SET search_path = pg_catalog, pg_temp';

CREATE FUNCTION stepadv.training_rows(advantages regclass, columns text[] DEFAULT NULL, token_mask text DEFAULT NULL, tokens text DEFAULT NULL,
	group_by text[] DEFAULT NULL, advantage_column text DEFAULT 'advantage', shape text DEFAULT 'steps', steps regclass DEFAULT NULL, system text DEFAULT NULL,
	data_source text DEFAULT NULL, ability text DEFAULT 'agent', min_gap float8 DEFAULT 0, min_visits integer DEFAULT 2, label_above float8 DEFAULT 0)
RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE ROWS 10000
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
BEGIN
	RETURN QUERY EXECUTE stepadv.training_query(training_rows.advantages, training_rows.columns, training_rows.token_mask, training_rows.tokens, training_rows.group_by,
		training_rows.advantage_column, training_rows.shape, training_rows.steps, training_rows.system, training_rows.data_source, training_rows.ability,
		training_rows.min_gap, training_rows.min_visits, training_rows.label_above);
END
$$;
COMMENT ON FUNCTION stepadv.training_rows(regclass, text[], text, text, text[], text, text, regclass, text, text, text, float8, integer, float8) IS
'JSON objects made of a relation of advantages, such as a view of create_selection or of attach, to be written as JSON Lines. shape ''steps'': one per step: the columns of the group, rollout_id, step_no, step_id, advantage; the columns named, or else those called observation, action, tool, args, prompt_token_ids, response_token_ids, response_mask, rollout_logprobs and reason and those that attach was told as state, action, logp_old and token_mask; and advantages, the advantage on each token (see broadcast), where token_mask (default: attach''s, or response_mask) or the number of tokens is known (tokens: an array or a number, default response_token_ids or attach''s logp_old); ordered by group, rollout and step; steps without an advantage are left out; error when mask and tokens differ in length. Other shapes have the conversation: the messages kept by the importer, exactly, or else made of steps (steps: the relation of all steps, by default the table below the view; columns of the canonical table: observation is said by the user, or by the tool that was called, action and calls by the assistant, system_prompt of the rollout''s metadata or system by the system; steps of one turn are one message). ''messages'': messages, of which only the step''s own has weight 1 (OpenAI); ''prompt_completion'': prompt and completion, lists of messages (TRL); both with the tools of the rollout''s metadata; ''verl'': data_source, prompt, ability, reward_model, extra_info, prompt_ids, response_ids, response_mask, response_logprobs, advantages; error for a step without tokens; ''dpo'': a line per pair of preference_pairs(min_gap, min_visits), of a view of attach, or of the states that a selection of one has steps in: prompt (that of the chosen step), chosen, rejected, same_prompt; ''prm'': a line per rollout (TRL''s stepwise supervision): prompt, a text, completions, labels (q > label_above), targets (q); error where a step before the last has no q. Members beside the shape''s: group, ids, advantage, what there is of tokens; the columns named instead, none with ''{}''. Error, with the rollout, where a turn of its conversation is missing';

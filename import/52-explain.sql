-- What a file is, for somebody whose file is not what we think: stepadv-import
-- --explain and --preview.

-- Keys by which many name the same thing; the earlier the likelier.
CREATE FUNCTION stepadv_internal.import_words(role text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE import_words.role
		WHEN 'steps' THEN '{steps,turns,trajectory,history,transitions,events,messages,log,traj,interactions}'
		WHEN 'task_id' THEN '{task_id,instance_id,problem_id,question_id,env_id,task,problem,question,goal,id,idx,index}'
		WHEN 'rollout_id' THEN '{rollout_id,trajectory_id,episode_id,run_id,session_id,trace_id,uuid,trial,attempt,seed}'
		WHEN 'outcome' THEN '{outcome,reward,score,return,total_reward,final_reward}'
		WHEN 'success' THEN '{success,resolved,solved,won,correct,passed}'
		WHEN 'started_at' THEN '{started_at,start_time,timestamp,created_at}'
		WHEN 'observation' THEN '{observation,obs,state,saw,input,prompt,question,env}'
		WHEN 'action' THEN '{action,act,response,output,completion,did,command,content,text}'
		WHEN 'tool' THEN '{tool,tool_name,function,name}'
		WHEN 'args' THEN '{args,arguments,tool_input,parameters,action_input}'
		WHEN 'reward' THEN '{reward,step_reward,score,r}'
		ELSE '{}' END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_words(text) IS 'part of stepadv-import: keys by which sources name what a path of parse_by_paths finds, the likeliest first';

CREATE FUNCTION stepadv_internal.import_first_key(record jsonb, role text, wanted text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT k.key FROM unnest(stepadv_internal.import_words(import_first_key.role)) WITH ORDINALITY k(key, i)
		WHERE jsonb_typeof(import_first_key.record) = 'object' AND jsonb_typeof(import_first_key.record -> k.key) = ANY (import_first_key.wanted) ORDER BY k.i LIMIT 1);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_first_key(jsonb, text, text[]) IS 'part of stepadv-import: the likeliest key of a record for a role, of those whose values have one of these types of JSON';

CREATE FUNCTION stepadv_internal.import_path_key(key text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE WHEN import_path_key.key ~ '^[A-Za-z_][A-Za-z0-9_]*$' AND lower(import_path_key.key) NOT IN ('is', 'to', 'last', 'flag', 'lax', 'strict', 'true', 'false', 'null', 'with', 'exists', 'unknown', 'starts', 'like_regex')
		THEN import_path_key.key ELSE to_json(import_path_key.key)::text END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_key(text) IS 'part of stepadv-import: a key as a path of SQL/JSON spells it';

-- Paths that somebody may begin with.
CREATE FUNCTION stepadv_internal.import_likely_paths(document jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	item jsonb := CASE WHEN jsonb_typeof(document) = 'array' THEN document -> 0 ELSE document END;
	paths jsonb := CASE WHEN jsonb_typeof(document) = 'array' THEN '{"rollouts": "$[*]"}' ELSE '{}' END;
	key text := stepadv_internal.import_first_key(item, 'steps'::text, '{array}'::text[]);
	role text;
BEGIN
	IF key IS NULL AND jsonb_typeof(item) = 'object' THEN
		-- A list of records, one level down?
		SELECT k.key INTO role FROM jsonb_each(item) k WHERE jsonb_typeof(k.value) = 'array' AND stepadv_internal.import_first_key(k.value -> 0, 'steps'::text, '{array}'::text[]) IS NOT NULL LIMIT 1;
		IF FOUND THEN
			item := item -> role -> 0;
			paths := jsonb_build_object('rollouts', '$.' || stepadv_internal.import_path_key(role) || '[*]');
			key := stepadv_internal.import_first_key(item, 'steps'::text, '{array}'::text[]);
		END IF;
	END IF;
	FOREACH role IN ARRAY '{task_id,rollout_id,outcome,success,started_at}'::text[] LOOP
		paths := paths || coalesce((SELECT jsonb_build_object(role, '$.' || stepadv_internal.import_path_key(f)) FROM stepadv_internal.import_first_key(item, role,
			CASE role WHEN 'outcome' THEN '{number}' WHEN 'success' THEN '{boolean}' ELSE '{string,number}' END::text[]) f WHERE f IS NOT NULL), '{}'::jsonb);
	END LOOP;
	IF NOT paths ? 'task_id' THEN
		paths := paths || '{"task_id": "$source"}';
	END IF;
	IF key IS NOT NULL THEN
		paths := paths || jsonb_build_object('steps', '$.' || stepadv_internal.import_path_key(key) || '[*]');
		FOREACH role IN ARRAY '{observation,action,tool,args,reward}'::text[] LOOP
			paths := paths || coalesce((SELECT jsonb_build_object(role, '$.' || stepadv_internal.import_path_key(f)) FROM stepadv_internal.import_first_key(item -> key -> 0, role,
				CASE role WHEN 'reward' THEN '{number}' WHEN 'args' THEN '{object,string}' WHEN 'tool' THEN '{string}' ELSE '{string,object,array,number}' END::text[]) f WHERE f IS NOT NULL), '{}'::jsonb);
		END LOOP;
	END IF;
	RETURN paths;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_likely_paths(jsonb) IS 'part of stepadv-import: paths as parse_by_paths takes them, made of keys that often mean what they say: something to begin with';

CREATE FUNCTION stepadv_internal.import_explain(lines regclass, source text) RETURNS SETOF text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
	seen record;
	document text;
	content jsonb;
	n_documents bigint;
BEGIN
	seen := stepadv_internal.import_look(import_explain.lines, NULL::text, true);
	IF seen.first IS NULL THEN
		RETURN NEXT 'the file is empty';
		RETURN;
	END IF;
	PERFORM stepadv_internal.import_make_documents(import_explain.lines, import_explain.source, seen.first_n, seen.first, seen.is_one);
	SELECT count(*) INTO n_documents FROM pg_temp.stepadv_file d WHERE btrim(d.document, E' \t\r\n') <> '';
	RETURN NEXT CASE WHEN seen.is_one THEN 'one document' ELSE format('%s documents, one a line', n_documents) END;
	-- (Not by reference to a table that goes.)
	SELECT d.document || '' INTO document FROM pg_temp.stepadv_file d WHERE btrim(d.document, E' \t\r\n') <> '' ORDER BY d.n LIMIT 1;
	DROP TABLE pg_temp.stepadv_file;
	BEGIN
		content := (SELECT t.content FROM stepadv_internal.json_of_text(document, true) t);
	EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
		RETURN NEXT format('no JSON: %s', SQLERRM);
		RETURN NEXT format('react: %s', CASE WHEN document ~ '(^|\n)Action( [0-9]+)?: ' THEN 'fits' ELSE 'no: no line begins with "Action: "' END);
		RETURN;
	END;
	RETURN NEXT format('%s at the top: %s', CASE WHEN seen.is_one THEN 'keys' ELSE 'keys of the first' END, stepadv_internal.import_keys(content));
	RETURN QUERY SELECT format('%s: %s', f.format, CASE WHEN f.fits THEN 'fits' ELSE 'no: without ' || f.missing END) FROM @extschema@.rollout_formats(content) f ORDER BY NOT f.fits, f.format COLLATE "C";
	RETURN NEXT coalesce('it is loaded as ' || @extschema@.rollout_format(content), stepadv_internal.import_unknown(content));
	RETURN NEXT format('paths to begin with: -j ''%s''', replace(stepadv_internal.import_likely_paths(content)::text, '''', '''\'''''));
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_explain(regclass, text) IS
'part of stepadv-import: what the lines of a file are, in words: documents, keys, each format and why it is not that one, and paths that may fit';

-- What would be stored of the first rollouts, without a table being touched.
CREATE FUNCTION stepadv_internal.import_preview(lines regclass, source text, format text, paths jsonb, group_prefix text, most integer)
RETURNS TABLE (task_id text, rollout_id text, outcome text, step_no bigint, turn text, observation text, action text, tool text, args text, ok text, reward text, next_observation text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
	seen record;
	kind text;
	is_gathered boolean;
	specs CONSTANT jsonb := stepadv_internal.import_given_paths(import_preview.format, import_preview.paths);
BEGIN
	seen := stepadv_internal.import_look(import_preview.lines, import_preview.format, true);
	kind := coalesce(import_preview.format, CASE WHEN import_preview.paths IS NOT NULL THEN 'paths' END, seen.guessed);
	IF kind = 'steps' THEN
		RETURN QUERY EXECUTE format($q$SELECT coalesce(p.task_id, p.group_id), p.rollout_id, p.outcome::text, p.step_no::bigint, p.turn::text, p.observation, p.action, p.tool, p.args::text, p.ok::text, p.reward::text, p.next_observation
			FROM (SELECT l.n, l.line FROM %s l WHERE btrim(l.line, E' \t\r\n') <> '' ORDER BY l.n LIMIT $1) l, LATERAL @extschema@.parse_rollout_line(l.line, true) p ORDER BY l.n$q$, stepadv_internal.load_name(import_preview.lines))
			USING import_preview.most;
		RETURN;
	END IF;
	PERFORM stepadv_internal.import_make_documents(import_preview.lines, import_preview.source, seen.first_n, seen.first, seen.is_one);
	is_gathered := coalesce(kind IN ('otel', 'langfuse'), false) AND NOT seen.is_one;
	IF is_gathered THEN
		PERFORM stepadv_internal.import_gather(kind, true);
	END IF;
	RETURN QUERY
	SELECT import_preview.group_prefix || coalesce(r.v ->> 'task_id', r.v ->> 'group_id'), r.v ->> 'rollout_id', r.v ->> 'outcome', coalesce((s.v ->> 'step_no')::bigint, s.i - 1), s.v ->> 'turn',
		s.v ->> 'observation', s.v ->> 'action', s.v ->> 'tool', s.v ->> 'args', s.v ->> 'ok', s.v ->> 'reward', s.v ->> 'next_observation'
	FROM (SELECT f.n, f.document::text AS document, f.source FROM pg_temp.stepadv_file f WHERE btrim(f.document::text, E' \t\r\n') <> '' ORDER BY f.n LIMIT 20) d,
		LATERAL stepadv_internal.import_document(CASE WHEN NOT is_gathered THEN d.document END, CASE WHEN is_gathered THEN d.document::jsonb END, CASE WHEN is_gathered THEN kind ELSE import_preview.format END, d.source, d.n, specs, true) p,
		LATERAL unnest(p.rollouts) WITH ORDINALITY r(v, i), LATERAL jsonb_array_elements(r.v -> 'steps') WITH ORDINALITY s(v, i)
	ORDER BY d.n, r.i, s.i LIMIT import_preview.most;
	DROP TABLE pg_temp.stepadv_file;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_preview(regclass, text, text, jsonb, text, integer) IS
'part of stepadv-import: the first steps of a file''s first 20 documents, as they would be stored';

-- Any other JSON: the user says by SQL/JSON paths what is where.

CREATE FUNCTION stepadv_internal.import_path_names() RETURNS TABLE (name text, place text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 40
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT n.name, p.place
	FROM (VALUES (1, 'document'::text, '{rollouts}'::text[]), (2, 'rollout', '{steps}'),
		(3, 'rollout', '{group_id,task_id,run_id,rollout_id,outcome,success,truncated,policy_version,policy_step,model,channel,curation,started_at,ended_at,tags,meta}'),
		(4, 'step', '{order,step_no,turn,observation,next_observation,action,tool,args,ok,reward,turn_reward,value,cost,prompt_token_ids,response_token_ids,response_mask,rollout_logprobs,step_meta}')) p(i, place, names),
		unnest(p.names) WITH ORDINALITY n(name, j)
	ORDER BY p.i, n.j
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_names() IS 'part of parse_by_paths: what there may be a path of, and where that path begins: at the document, a rollout or a step';

-- A path that is none is told of with what it is the path of.
CREATE FUNCTION stepadv_internal.import_path_check(name text, path text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	unknown text;
BEGIN
	-- A filter may never come to ask for a variable.  (Strings stand in the same quotes, and are read over.)
	SELECT min(v.m[1]) INTO unknown FROM regexp_matches(import_path_check.path::jsonpath::text, '\$"((?:[^"\\]|\\.)*)"|"(?:[^"\\]|\\.)*"', 'g') v(m) WHERE v.m[1] NOT IN ('document', 'source', 'n');
	IF unknown IS NOT NULL THEN
		RAISE EXCEPTION 'there is no variable $%, only $document, $source and $n', unknown USING ERRCODE = 'invalid_parameter_value';
	END IF;
EXCEPTION WHEN OTHERS THEN
	RAISE EXCEPTION 'the path of %, %, is no path: %', import_path_check.name, import_path_check.path, SQLERRM
		USING ERRCODE = SQLSTATE, HINT = 'Paths are of SQL/JSON, as $.turns[*].text; a key of other characters than letters, digits and _ stands in quotes: $."a-b".';
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_check(text, text) IS 'part of parse_by_paths: error where a text is no path of SQL/JSON, with the name of what it is the path of';

CREATE FUNCTION stepadv_internal.import_match_check(name text, pattern text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM regexp_match('', import_match_check.pattern);
EXCEPTION WHEN invalid_regular_expression THEN
	RAISE EXCEPTION 'match of the path of %, %, is no regular expression: %', import_match_check.name, import_match_check.pattern, SQLERRM
		USING ERRCODE = SQLSTATE, HINT = 'What its first group in parentheses matches is taken, else all that it matches; in JSON a backslash stands twice, as in "step_([0-9]+)\\.json$".';
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_match_check(text, text) IS 'part of parse_by_paths: error where a text is no regular expression, with the name of what it is for';

-- What the user says of one thing, as an object.
CREATE FUNCTION stepadv_internal.import_path_spec(name text, spec jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	whole CONSTANT jsonb := CASE jsonb_typeof(import_path_spec.spec) WHEN 'string' THEN jsonb_build_object('path', import_path_spec.spec) ELSE import_path_spec.spec END;
	of_list CONSTANT boolean := import_path_spec.name IN ('rollouts', 'steps');
	part record;
BEGIN
	IF jsonb_typeof(whole) <> 'object' OR jsonb_typeof(whole -> 'path') IS DISTINCT FROM 'string' THEN
		RAISE EXCEPTION 'the path of % must be a string, or an object with a string path, not %', import_path_spec.name, CASE jsonb_typeof(whole) WHEN 'object' THEN 'an object without it' ELSE jsonb_typeof(whole) END
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	FOR part IN SELECT e.key, e.value, jsonb_typeof(e.value) AS type FROM jsonb_each(whole) e LOOP
		IF part.key <> ALL (CASE WHEN of_list THEN '{path,fromjson}' ELSE '{path,fromjson,map,match,in,key,take}' END::text[]) THEN
			RAISE EXCEPTION 'the path of % has the unknown key %', import_path_spec.name, quote_ident(part.key)
				USING ERRCODE = 'invalid_parameter_value', HINT = CASE WHEN of_list THEN 'There are: path, fromjson.' ELSE 'There are: path, fromjson, match, map, in, key, take.' END;
		END IF;
		CONTINUE WHEN part.key = 'map' AND part.type = 'object' OR part.key = 'fromjson' AND part.type = 'boolean';
		IF part.type <> 'string' OR part.key = 'map' THEN
			RAISE EXCEPTION '% of the path of % must be %, not %', part.key, import_path_spec.name,
				CASE part.key WHEN 'map' THEN 'an object' WHEN 'fromjson' THEN 'true or a path' WHEN 'match' THEN 'a regular expression' ELSE 'a path' END, part.type
				USING ERRCODE = 'invalid_parameter_value', HINT = 'For example {"path": "$.verdict", "map": {"pass": true, "fail": false}}, {"path": "$.call", "fromjson": "$.name"}, {"path": "$.id", "in": "$.results[*]", "key": "$.call_id", "take": "$.text"}.';
		END IF;
		IF part.key = 'match' THEN
			PERFORM stepadv_internal.import_match_check(import_path_spec.name, part.value #>> '{}');
		ELSE
			PERFORM stepadv_internal.import_path_check(import_path_spec.name, part.value #>> '{}');
		END IF;
	END LOOP;
	IF (whole ? 'in') <> (whole ? 'key') OR whole ? 'take' AND NOT whole ? 'in' THEN
		RAISE EXCEPTION 'the path of % must have in and key together', import_path_spec.name
			USING ERRCODE = 'invalid_parameter_value', HINT = 'in finds the elements, from the rollout; key, from the element, what must be the same as what path finds; take, from the element, the value.';
	END IF;
	RETURN whole || jsonb_build_object('name', import_path_spec.name);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_spec(text, jsonb) IS
'part of parse_by_paths: what paths says of one thing (a path, or an object with path, fromjson, match, map, in, key and take) as an object with its name; error where it is none of these, or holds what is no path';

CREATE FUNCTION stepadv_internal.import_path_specs(paths jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	specs jsonb := '{"rollouts": [], "steps": [], "rollout": [], "step": []}';
	given record;
BEGIN
	IF import_path_specs.paths IS NULL THEN
		RETURN NULL;
	END IF;
	IF jsonb_typeof(import_path_specs.paths) <> 'object' OR NOT import_path_specs.paths ?| '{task_id,group_id}' THEN
		RAISE EXCEPTION 'paths must be an object with at least the key task_id or group_id'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'For example {"rollouts": "$.episodes[*]", "task_id": "$.task", "steps": "$.turns[*]", "action": "$.act"}.';
	END IF;
	FOR given IN SELECT e.key, e.value, n.name, CASE WHEN n.name IN ('rollouts', 'steps') THEN n.name ELSE n.place END AS place
		FROM jsonb_each(import_path_specs.paths) e LEFT JOIN stepadv_internal.import_path_names() n ON n.name = e.key
	LOOP
		IF given.name IS NULL THEN
			RAISE EXCEPTION 'paths has the unknown key %', quote_ident(given.key)
				USING ERRCODE = 'invalid_parameter_value', HINT = format('There are: %s.', (SELECT string_agg(n.name, ', ') FROM stepadv_internal.import_path_names() n));
		END IF;
		specs := jsonb_set(specs, ARRAY[given.place], (specs -> given.place) || stepadv_internal.import_path_spec(given.name, given.value));
	END LOOP;
	IF import_path_specs.paths ?& '{order,step_no}'::text[] THEN
		RAISE EXCEPTION 'paths must have order or step_no, not both' USING ERRCODE = 'invalid_parameter_value', HINT = 'Steps are numbered in their order, from 0.';
	END IF;
	RETURN specs;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_specs(jsonb) IS
'part of parse_by_paths: paths as the user gives them, looked through, by where they begin: an object of lists rollouts, steps, rollout and step; NULL of NULL; error where something is wrong with them';

-- ----------
-- Values
-- ----------

-- Texts that are JSON, as it; others are not there.
CREATE FUNCTION stepadv_internal.import_path_json(value jsonb, OUT content jsonb, OUT repaired text)
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	content := import_path_json.value;
	IF jsonb_typeof(content) = 'string' THEN
		SELECT a.args, a.repaired INTO content, import_path_json.repaired FROM stepadv_internal.import_arguments(import_path_json.value) a;
		import_path_json.repaired := CASE WHEN import_path_json.repaired LIKE 'arguments%' THEN 'strings that are no JSON' WHEN import_path_json.repaired IS NOT NULL THEN 'U+0000 in strings of JSON' END;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_json(jsonb) IS 'part of parse_by_paths: the JSON that a string holds, NULL where it is none, with what is to be told of it; other values as they are';

-- A part of a text, such as the file's name; where a number is wanted, as one.
CREATE FUNCTION stepadv_internal.import_path_match(words text, spec jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	part CONSTANT text := substring(import_path_match.words FROM import_path_match.spec ->> 'match');
BEGIN
	RETURN CASE WHEN import_path_match.spec ->> 'name' = ANY ('{step_no,turn,policy_step,outcome,reward,turn_reward,value,cost}'::text[]) AND NOT import_path_match.spec ? 'map' AND part ~ '^-?[0-9]{1,30}([.][0-9]{1,30})?$'
		THEN to_jsonb(part::numeric) ELSE to_jsonb(part) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_match(text, jsonb) IS 'part of parse_by_paths: what match of a spec finds in a text: its first group in parentheses, else all of it; NULL: nothing';

-- What a spec finds that is more than a path.
CREATE FUNCTION stepadv_internal.import_path_value(item jsonb, spec jsonb, vars jsonb, joined jsonb, OUT value jsonb, OUT is_found boolean, OUT repaired text)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	value := jsonb_path_query_first(item, (spec ->> 'path')::jsonpath, vars, true);
	IF spec ? 'in' AND value IS NOT NULL THEN
		-- (One step after the other: an object of all would be copied for each.)
		value := joined #> ARRAY[spec ->> 'name', value #>> '{}'];
	END IF;
	is_found := value IS NOT NULL;
	IF spec ? 'fromjson' AND spec -> 'fromjson' <> 'false' AND value IS NOT NULL THEN
		SELECT j.content, j.repaired INTO value, import_path_value.repaired FROM stepadv_internal.import_path_json(value) j;
		IF jsonb_typeof(spec -> 'fromjson') = 'string' THEN
			value := jsonb_path_query_first(value, (spec ->> 'fromjson')::jsonpath, vars, true);
			is_found := value IS NOT NULL;
		END IF;
	END IF;
	IF spec ? 'match' AND value <> 'null' THEN
		value := stepadv_internal.import_path_match(value #>> '{}', spec);
		is_found := value IS NOT NULL;
	END IF;
	IF spec ? 'map' AND value <> 'null' THEN
		value := spec -> 'map' -> (value #>> '{}');
		IF value IS NULL THEN
			import_path_value.repaired := format('words that the map of %s does not have', spec ->> 'name');
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_value(jsonb, jsonb, jsonb, jsonb) IS
'part of parse_by_paths: what a spec of import_path_spec finds from an item; joined: what import_path_joins gives; is_found: whether there was anything to be found; repaired: what is to be told of it';

-- For each spec that finds its value in another element: values by the key.
CREATE FUNCTION stepadv_internal.import_path_joins(item jsonb, specs jsonb, vars jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT jsonb_object_agg(s.v ->> 'name', j.found)
		FROM jsonb_array_elements(import_path_joins.specs) s(v) CROSS JOIN LATERAL (
			-- Of two elements with one key the first.
			SELECT coalesce(jsonb_object_agg(x.key #>> '{}', x.value ORDER BY x.i DESC), '{}') AS found
			FROM (SELECT e.i, jsonb_path_query_first(e.v, (s.v ->> 'key')::jsonpath, import_path_joins.vars, true) AS key,
					jsonb_path_query_first(e.v, coalesce(s.v ->> 'take', '$')::jsonpath, import_path_joins.vars, true) AS value
				FROM jsonb_path_query(import_path_joins.item, (s.v ->> 'in')::jsonpath, import_path_joins.vars, true) WITH ORDINALITY e(v, i)) x
			WHERE x.key <> 'null' AND x.value <> 'null') j
		WHERE s.v ? 'in');
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_joins(jsonb, jsonb, jsonb) IS
'part of parse_by_paths: of each spec with in, by its name, an object of the values that take finds in the elements, by what key finds in them; NULL: there is none';

-- Lists of tokens: a list, or all that the path finds.
CREATE FUNCTION stepadv_internal.import_path_list(item jsonb, path jsonpath, vars jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	hits CONSTANT jsonb := jsonb_path_query_array(import_path_list.item, import_path_list.path, import_path_list.vars, true);
BEGIN
	RETURN CASE WHEN hits = '[]' THEN NULL WHEN jsonb_array_length(hits) = 1 AND jsonb_typeof(hits -> 0) IN ('array', 'null') THEN hits -> 0 ELSE hits END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_list(jsonb, jsonpath, jsonb) IS 'part of parse_by_paths: the list that a path finds, or a list of all that it finds; NULL: nothing';

-- Seconds since 1970, or thousands, millions, billions of a second, are told apart by
-- their size: until the year 5138 none is like another.
CREATE FUNCTION stepadv_internal.import_path_second(value jsonb) RETURNS numeric
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	words CONSTANT text := import_path_second.value #>> '{}';
	number numeric;
BEGIN
	IF jsonb_typeof(import_path_second.value) = 'number' OR words ~ '^[0-9]{9,19}([.][0-9]{1,9})?$' THEN
		number := words::numeric;
		RETURN number / CASE WHEN abs(number) < 1e11 THEN 1 WHEN abs(number) < 1e14 THEN 1e3 WHEN abs(number) < 1e17 THEN 1e6 ELSE 1e9 END;
	END IF;
	RETURN extract(epoch FROM words::timestamptz);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_second(jsonb) IS
'part of parse_by_paths: a time (a text, or a number of seconds, milliseconds, microseconds or nanoseconds since 1970, also as a text) in seconds since 1970; error where it is none';

-- Of several the earliest, or the latest.
CREATE FUNCTION stepadv_internal.import_path_time(item jsonb, path jsonpath, vars jsonb, latest boolean) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	hits CONSTANT jsonb := jsonb_path_query_array(import_path_time.item, import_path_time.path, import_path_time.vars, true);
	result timestamptz;
	value jsonb;
BEGIN
	-- A text alone is what it is, right or wrong.
	IF jsonb_array_length(hits) <= 1 AND (hits -> 0 IS NULL OR jsonb_typeof(hits -> 0) <> 'number' AND hits ->> 0 !~ '^[0-9]{9,19}([.][0-9]{1,9})?$' OR hits -> 0 = 'null') THEN
		RETURN hits -> 0;
	END IF;
	FOR value IN SELECT e.v FROM jsonb_array_elements(hits) e(v) WHERE e.v <> 'null' LOOP
		result := CASE WHEN import_path_time.latest THEN greatest(result, to_timestamp(stepadv_internal.import_path_second(value)::float8))
			ELSE least(result, to_timestamp(stepadv_internal.import_path_second(value)::float8)) END;
	END LOOP;
	RETURN to_jsonb(result);
EXCEPTION WHEN data_exception THEN
	-- Whoever looks at the rollout says what is wrong with it.
	RETURN value;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_time(jsonb, jsonpath, jsonb, boolean) IS 'part of parse_by_paths: the earliest, or with latest the latest, of the times that a path finds; NULL: nothing';

-- ----------
-- Steps and rollouts
-- ----------

-- A string of arguments that is no JSON is an action.
CREATE FUNCTION stepadv_internal.import_path_finish(given jsonb, OUT step jsonb, OUT repaired text)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	arguments record;
	name text;
BEGIN
	step := import_path_finish.given;
	IF step ? 'step_meta' THEN
		step := step - 'step_meta'::text || jsonb_build_object('meta', step -> 'step_meta');
	END IF;
	FOREACH name IN ARRAY '{observation,next_observation}'::text[] LOOP
		IF jsonb_typeof(step -> name) <> 'string' THEN
			step := step || jsonb_build_object(name, stepadv_internal.import_text(step -> name));
		END IF;
	END LOOP;
	IF jsonb_path_exists(step, 'strict $.response_mask[*] ? (@.type() == "number")', '{}', true) THEN
		step := jsonb_set(step, '{response_mask}', (SELECT jsonb_agg(CASE WHEN m.v IN ('0', '1') THEN to_jsonb(m.v = '1') ELSE m.v END ORDER BY m.i) FROM jsonb_array_elements(step -> 'response_mask') WITH ORDINALITY m(v, i)));
	END IF;
	IF jsonb_typeof(step -> 'args') = 'string' THEN
		SELECT a.args, a.repaired INTO arguments FROM stepadv_internal.import_arguments(step -> 'args') a;
		import_path_finish.repaired := arguments.repaired;
		IF arguments.args IS NULL AND NOT step ? 'action' THEN
			step := step || jsonb_build_object('action', step -> 'args');
		END IF;
		step := step || jsonb_build_object('args', arguments.args);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_finish(jsonb) IS 'part of parse_by_paths: what was found of a step as a step in our words, and what was repaired';

-- What is there of each name; what only a spec finds is found one by one.
CREATE FUNCTION stepadv_internal.import_path_item(item jsonb, names text[], paths jsonpath[], specs jsonb[], vars jsonb, joined jsonb, OUT given jsonb, OUT lacks text[], OUT repaired text[])
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	spec jsonb;
	value record;
BEGIN
	SELECT coalesce(jsonb_object_agg(k.name, k.value) FILTER (WHERE k.value <> 'null'), '{}'), array_agg(k.name) FILTER (WHERE k.value IS NULL) INTO given, lacks
	FROM (SELECT p.name, CASE WHEN p.name IN ('prompt_token_ids', 'response_token_ids', 'response_mask', 'rollout_logprobs') THEN stepadv_internal.import_path_list(import_path_item.item, p.path, import_path_item.vars)
			WHEN p.name IN ('started_at', 'ended_at') THEN stepadv_internal.import_path_time(import_path_item.item, p.path, import_path_item.vars, p.name = 'ended_at')
			ELSE jsonb_path_query_first(import_path_item.item, p.path, import_path_item.vars, true) END AS value
		FROM unnest(import_path_item.names, import_path_item.paths) p(name, path)) k;
	FOREACH spec IN ARRAY import_path_item.specs LOOP
		value := stepadv_internal.import_path_value(import_path_item.item, spec, import_path_item.vars, import_path_item.joined);
		IF NOT value.is_found THEN
			lacks := lacks || (spec ->> 'name');
		END IF;
		IF value.value <> 'null' THEN
			given := given || jsonb_build_object(spec ->> 'name', value.value);
		END IF;
		IF value.repaired IS NOT NULL THEN
			import_path_item.repaired := import_path_item.repaired || value.repaired;
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_item(jsonb, text[], jsonpath[], jsonb[], jsonb, jsonb) IS
'part of parse_by_paths: of a rollout or step, by name, what plain paths and specs find; the names of which there is nothing; what is to be told';

-- The elements of a list that are rollouts, or steps.
CREATE FUNCTION stepadv_internal.import_path_items(item jsonb, spec jsonb, otherwise text, vars jsonb) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	element jsonb;
BEGIN
	IF NOT coalesce(import_path_items.spec ? 'fromjson', false) OR import_path_items.spec -> 'fromjson' = 'false' THEN
		RETURN QUERY SELECT jsonb_path_query(import_path_items.item, coalesce(import_path_items.spec ->> 'path', import_path_items.otherwise)::jsonpath, import_path_items.vars, true);
		RETURN;
	END IF;
	FOR element IN SELECT j.content FROM jsonb_path_query(import_path_items.item, (import_path_items.spec ->> 'path')::jsonpath, import_path_items.vars, true) e(v), stepadv_internal.import_path_json(e.v) j LOOP
		IF element IS NULL THEN
			RAISE EXCEPTION 'a string that is no JSON where the path of % leads', import_path_items.spec ->> 'name' USING ERRCODE = 'data_exception';
		ELSIF jsonb_typeof(import_path_items.spec -> 'fromjson') = 'string' THEN
			RETURN QUERY SELECT jsonb_path_query(element, (import_path_items.spec ->> 'fromjson')::jsonpath, import_path_items.vars, true);
		ELSE
			RETURN NEXT element;
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_items(jsonb, jsonb, text, jsonb) IS
'part of parse_by_paths: what the spec of rollouts or of steps finds, or without one the path otherwise; error where a string that should hold JSON does not';

-- By number or time, as their member order says, which goes; NULL: one has none.
CREATE FUNCTION stepadv_internal.import_path_sort(steps jsonb[]) RETURNS jsonb[]
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_number CONSTANT boolean := (SELECT bool_and(jsonb_typeof(s.v -> 'order') = 'number' OR s.v ->> 'order' ~ '^-?[0-9]{1,30}([.][0-9]{1,30})?$') FROM unnest(import_path_sort.steps) s(v));
BEGIN
	IF is_number IS NULL THEN
		RETURN CASE WHEN import_path_sort.steps = '{}' THEN '{}'::jsonb[] END;
	END IF;
	RETURN (
		SELECT CASE WHEN count(x.place) = count(*) THEN array_agg(x.v - 'order'::text ORDER BY x.place, x.i) END
		FROM (SELECT s.v, s.i, CASE WHEN is_number THEN (s.v ->> 'order')::numeric WHEN s.v ? 'order' THEN stepadv_internal.import_path_second(s.v -> 'order') END AS place
			FROM unnest(import_path_sort.steps) WITH ORDINALITY s(v, i)) x);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_sort(jsonb[]) IS
'part of parse_by_paths: steps by their member order, a number or a time, and without it; those of one order as they stood; NULL: not all have one; error where it is neither number nor time';

CREATE FUNCTION stepadv_internal.import_path_steps(item jsonb, specs jsonb, vars jsonb, OUT steps jsonb[], OUT lacks text[], OUT repaired text[])
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	joined CONSTANT jsonb := stepadv_internal.import_path_joins(import_path_steps.item, import_path_steps.specs -> 'step', import_path_steps.vars);
	names text[];
	paths jsonpath[];
	others jsonb[];
	step jsonb;
	seen record;
	own record;
BEGIN
	SELECT coalesce(array_agg(s.v ->> 'name') FILTER (WHERE s.is_plain), '{}'), coalesce(array_agg((s.v ->> 'path')::jsonpath) FILTER (WHERE s.is_plain), '{}'), coalesce(array_agg(s.v) FILTER (WHERE NOT s.is_plain), '{}'), array_agg(s.v ->> 'name')
	INTO names, paths, others, lacks
	FROM (SELECT e.v, NOT e.v ?| '{fromjson,match,map,in}'::text[] AS is_plain FROM jsonb_array_elements(import_path_steps.specs -> 'step') e(v)) s;
	steps := '{}';
	import_path_steps.repaired := '{}';
	FOR step IN SELECT i.v FROM stepadv_internal.import_path_items(import_path_steps.item, import_path_steps.specs #> '{steps,0}', '$.steps[*]'::text, import_path_steps.vars) i(v) LOOP
		seen := stepadv_internal.import_path_item(step, names, paths, others, import_path_steps.vars, joined);
		own := stepadv_internal.import_path_finish(seen.given);
		IF lacks <> '{}' THEN
			lacks := coalesce((SELECT array_agg(l.name) FROM unnest(lacks) l(name) WHERE l.name = ANY (seen.lacks)), '{}');
		END IF;
		IF seen.repaired IS NOT NULL OR own.repaired IS NOT NULL THEN
			import_path_steps.repaired := import_path_steps.repaired || coalesce(seen.repaired, '{}') || array_remove(ARRAY[own.repaired], NULL);
		END IF;
		steps := array_append(steps, own.step);
	END LOOP;
	IF jsonb_path_exists(import_path_steps.specs, '$.step[*] ? (@.name == "order")') THEN
		steps := stepadv_internal.import_path_sort(steps);
	END IF;
	-- A list without an element is there.
	IF steps = '{}' AND import_path_steps.specs -> 'steps' <> '[]'
		AND NOT jsonb_path_exists(import_path_steps.item, regexp_replace(import_path_steps.specs #>> '{steps,0,path}', '(.)\[\*\]$', '\1')::jsonpath, import_path_steps.vars, true)
	THEN
		lacks := 'steps'::text || lacks;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_steps(jsonb, jsonb, jsonb) IS
'part of parse_by_paths: the steps of a rollout, in their order (NULL: one has none), the names of which there is nothing in any of them, and what is to be told';

CREATE FUNCTION stepadv_internal.import_path_rollout(item jsonb, specs jsonb, vars jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	joined CONSTANT jsonb := stepadv_internal.import_path_joins(import_path_rollout.item, import_path_rollout.specs -> 'rollout', import_path_rollout.vars);
	said record;
	own record;
	told text[];
BEGIN
	SELECT x.* INTO said
	FROM (SELECT coalesce(array_agg(s.v ->> 'name') FILTER (WHERE s.is_plain), '{}') AS names, coalesce(array_agg((s.v ->> 'path')::jsonpath) FILTER (WHERE s.is_plain), '{}') AS paths,
			coalesce(array_agg(s.v) FILTER (WHERE NOT s.is_plain), '{}') AS others
		FROM (SELECT e.v, NOT e.v ?| '{fromjson,match,map,in}'::text[] AS is_plain FROM jsonb_array_elements(import_path_rollout.specs -> 'rollout') e(v)) s) p,
		LATERAL stepadv_internal.import_path_item(import_path_rollout.item, p.names, p.paths, p.others, import_path_rollout.vars, joined) x;
	IF NOT said.given ?| '{task_id,group_id}' THEN
		RETURN jsonb_build_object('problem', stepadv_internal.import_path_unfound(import_path_rollout.item, import_path_rollout.specs,
			(SELECT e.v ->> 'name' FROM jsonb_array_elements(import_path_rollout.specs -> 'rollout') e(v) WHERE e.v ->> 'name' IN ('task_id', 'group_id') ORDER BY 1 LIMIT 1), import_path_rollout.vars));
	END IF;
	own := stepadv_internal.import_path_steps(import_path_rollout.item, import_path_rollout.specs, import_path_rollout.vars);
	IF own.steps IS NULL THEN
		RETURN jsonb_build_object('problem', CASE WHEN 'order' = ANY (own.lacks) THEN stepadv_internal.import_path_unfound(import_path_rollout.item, import_path_rollout.specs, 'order'::text, import_path_rollout.vars)
			ELSE 'order must be given for every step' END);
	END IF;
	told := coalesce(said.repaired, '{}') || coalesce(own.repaired, '{}') || ARRAY(SELECT 'without ' || l.name FROM unnest(coalesce(said.lacks, '{}') || coalesce(own.lacks, '{}')) l(name));
	RETURN jsonb_build_object('rollout_id', stepadv_internal.import_digest(import_path_rollout.item)) || said.given
		|| jsonb_build_object('steps', to_jsonb(own.steps), 'repaired', coalesce((SELECT jsonb_object_agg(t.what, t.n) FROM (SELECT u.what, count(*) AS n FROM unnest(told) u(what) GROUP BY u.what) t), '{}'));
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_rollout(jsonb, jsonb, jsonb) IS
'part of parse_by_paths: a rollout in our words, by specs of import_path_specs; repaired tells also of paths that find nothing in it, as "without observation"';

CREATE FUNCTION stepadv_internal.import_by_paths(document jsonb, specs jsonb, source text, n bigint) RETURNS jsonb[]
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- A part "." of the source is of those who make ids of it.
	vars CONSTANT jsonb := jsonb_build_object('document', import_by_paths.document, 'source', replace(import_by_paths.source, '/./', '/'), 'n', import_by_paths.n);
BEGIN
	RETURN (
		SELECT array_agg(stepadv_internal.import_path_rollout(i.v, import_by_paths.specs, vars) ORDER BY i.i)
		FROM stepadv_internal.import_path_items(import_by_paths.document, import_by_paths.specs #> '{rollouts,0}', '$'::text, vars) WITH ORDINALITY i(v, i));
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_by_paths(jsonb, jsonb, text, bigint) IS 'part of parse_by_paths: the rollouts of a document by specs of import_path_specs; NULL: there is none';

CREATE FUNCTION @extschema@.parse_by_paths(document jsonb, paths jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY SELECT r.v FROM unnest(stepadv_internal.import_by_paths(document, stepadv_internal.import_path_specs(coalesce(paths, 'null'::jsonb)), source, n)) r(v);
END
$$;
COMMENT ON FUNCTION @extschema@.parse_by_paths(jsonb, jsonb, text, bigint) IS
'the rollouts of a JSON document by SQL/JSON paths: rollouts (default $) finds them, steps (default $.steps[*]) their steps, and a path for each key of docs/import.md what it is, relative to the rollout or the step; in place of a path an object with path and fromjson (the string found holds JSON: true, or a path in it), match (of the text found, what a regular expression matches), map (words to values), or in, key and take (the element of the rollout whose key is what path finds, and what of it); $document, $source and $n are known in paths; error where paths are none; one jsonb per rollout, whose repaired says of which paths there is nothing in it';

-- ----------
-- Paths that find nothing
-- ----------

-- The keys where a path ends, as far as it leads.
CREATE FUNCTION stepadv_internal.import_path_keys(item jsonb, path text, vars jsonb) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	shorter text := import_path_keys.path;
	hits jsonb;
BEGIN
	LOOP
		shorter := substring(shorter FROM '^(.*[^[:space:].\[])[[:space:]]*(?:[.][[:space:]]*(?:[^."\[\]?() ]+|"(?:[^"\\]|\\.)*")|\[[^]]*\])$');
		EXIT WHEN shorter IS NULL;
		BEGIN
			hits := jsonb_path_query_first(import_path_keys.item, shorter::jsonpath, import_path_keys.vars, true);
		EXCEPTION WHEN OTHERS THEN
			-- Not a path: what was cut off stood in brackets of its own.
			hits := NULL;
		END;
		IF hits IS NOT NULL THEN
			RETURN CASE WHEN shorter <> '$' THEN format('at %s there are: ', shorter) ELSE 'there are: ' END || stepadv_internal.import_keys(hits);
		END IF;
	END LOOP;
	RETURN 'there are: ' || stepadv_internal.import_keys(import_path_keys.item);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_keys(jsonb, text, jsonb) IS 'part of parse_by_paths: in words, which keys there are where a path goes on to nothing';

-- In words, of the first that should have it.
CREATE FUNCTION stepadv_internal.import_path_unfound(document jsonb, specs jsonb, name text, vars jsonb) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	place CONSTANT text := CASE import_path_unfound.name WHEN 'rollouts' THEN 'rollouts' WHEN 'steps' THEN 'steps' ELSE (SELECT n.place FROM stepadv_internal.import_path_names() n WHERE n.name = import_path_unfound.name) END;
	spec CONSTANT jsonb := (SELECT e.v FROM jsonb_array_elements(import_path_unfound.specs -> place) e(v) WHERE e.v ->> 'name' = import_path_unfound.name);
	item jsonb := import_path_unfound.document;
	path text := spec ->> 'path';
BEGIN
	IF place = 'step' THEN
		item := (SELECT i.v FROM stepadv_internal.import_path_items(item, import_path_unfound.specs #> '{steps,0}', '$.steps[*]'::text, import_path_unfound.vars) i(v) LIMIT 1);
	END IF;
	IF spec ? 'in' AND jsonb_path_query_first(item, path::jsonpath, import_path_unfound.vars, true) IS NOT NULL THEN
		RETURN format('the path of %s, %s, finds nothing that stands in %s under %s', import_path_unfound.name, path, spec ->> 'in', spec ->> 'key');
	END IF;
	IF spec ? 'match' AND jsonb_path_query_first(item, path::jsonpath, import_path_unfound.vars, true) <> 'null' THEN
		RETURN format('match of the path of %s, %s, finds nothing in "%s"', import_path_unfound.name, spec ->> 'match', left(jsonb_path_query_first(item, path::jsonpath, import_path_unfound.vars, true) #>> '{}', 200));
	END IF;
	IF jsonb_typeof(spec -> 'fromjson') = 'string' AND jsonb_path_query_first(item, path::jsonpath, import_path_unfound.vars, true) IS NOT NULL THEN
		item := (SELECT j.content FROM stepadv_internal.import_path_json(jsonb_path_query_first(item, path::jsonpath, import_path_unfound.vars, true)) j);
		path := spec ->> 'fromjson';
	END IF;
	RETURN format('the path of %s, %s, finds nothing', import_path_unfound.name, path) || CASE WHEN item IS NULL THEN '' ELSE '; ' || stepadv_internal.import_path_keys(item, path, import_path_unfound.vars) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_unfound(jsonb, jsonb, text, jsonb) IS
'part of parse_by_paths: in words, that the path of this name finds nothing, and which keys there are, in a document (where it is the path of rollouts) or a rollout';

-- The page of stepadv-report: calls of tools, which importers and tables keep as JSON, as people
-- read them.

-- keys: what arguments are called, NULL where they are no object; given: each as text; quoted:
-- whether that was a text before.
CREATE TYPE stepadv_internal.report_call AS (name text, keys text[], given text[], quoted boolean[]);
COMMENT ON TYPE stepadv_internal.report_call IS 'part of stepadv-report: a call of a tool';

-- Arguments may be JSON in a text, as they come from models.
CREATE FUNCTION stepadv_internal.report_arguments(arguments json) RETURNS json
LANGUAGE plpgsql IMMUTABLE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF json_typeof(report_arguments.arguments) <> 'string' OR report_arguments.arguments #>> '{}' !~ '^\s*\{' THEN
		RETURN report_arguments.arguments;
	END IF;
	RETURN (report_arguments.arguments #>> '{}')::json;
EXCEPTION WHEN invalid_text_representation THEN
	RETURN report_arguments.arguments;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_arguments(json) IS 'part of stepadv-report: arguments of a call, of which a text may have been made';

-- JSON, not jsonb, which would change the order of arguments.  What has more to say than a call
-- is none: nothing of it should be out of sight.
CREATE FUNCTION stepadv_internal.report_calls(words text) RETURNS stepadv_internal.report_call[]
LANGUAGE plpgsql IMMUTABLE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	document json;
	calls stepadv_internal.report_call[];
BEGIN
	-- Most texts are none: that is seen before anything is looked for in them.
	IF ltrim(left(report_calls.words, 100), E' \t\r\n') !~ '^[[{]' OR report_calls.words !~ '"(arguments|args|input|parameters)"' OR length(report_calls.words) > 200000 THEN
		RETURN NULL;
	END IF;
	document := report_calls.words;
	IF json_typeof(document) = 'object' THEN
		document := json_build_array(document);
	END IF;
	SELECT array_agg(ROW(c.name, a.keys, a.given, a.quoted)::stepadv_internal.report_call ORDER BY c.i) INTO calls
	FROM (SELECT e.i, max(k.value #>> '{}') FILTER (WHERE k.key IN ('name', 'function_name', 'tool_name', 'tool') AND json_typeof(k.value) = 'string') AS name,
			(array_agg(k.value) FILTER (WHERE k.key IN ('arguments', 'args', 'input', 'parameters')))[1] AS arguments,
			count(*) FILTER (WHERE k.key IN ('name', 'function_name', 'tool_name', 'tool')) AS names, count(*) FILTER (WHERE k.key IN ('arguments', 'args', 'input', 'parameters')) AS n_arguments,
			bool_and(k.key = ANY ('{name,function_name,tool_name,tool,arguments,args,input,parameters,id,call_id,tool_call_id,type,index}')) AS known
		FROM json_array_elements(document) WITH ORDINALITY e(call, i)
		-- OpenAI's has both in an object of its own.
		CROSS JOIN LATERAL (SELECT u.key, u.value FROM json_each(e.call) u WHERE u.key <> 'function' UNION ALL SELECT f.key, f.value FROM json_each(e.call -> 'function') f) k
		GROUP BY e.i) c
	CROSS JOIN LATERAL (SELECT stepadv_internal.report_arguments(c.arguments) AS value) v
	CROSS JOIN LATERAL (SELECT array_agg(x.key ORDER BY x.j) FILTER (WHERE x.key IS NOT NULL) AS keys, array_agg(x.value #>> '{}' ORDER BY x.j) AS given, array_agg(json_typeof(x.value) = 'string' ORDER BY x.j) AS quoted
		FROM (SELECT o.key, o.value, o.j FROM json_each(CASE json_typeof(v.value) WHEN 'object' THEN v.value END) WITH ORDINALITY o(key, value, j)
			UNION ALL SELECT NULL::text, v.value, 1 WHERE json_typeof(v.value) NOT IN ('object', 'null')) x) a
	HAVING bool_and(c.known AND c.name <> '' AND c.names = 1 AND c.n_arguments = 1) AND count(*) = json_array_length(document);
	RETURN calls;
EXCEPTION WHEN data_exception OR program_limit_exceeded OR statement_too_complex THEN
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_calls(text) IS 'part of stepadv-report: the calls of tools that a text of JSON is: one, or an array of them; NULL if it is none';

-- In a line, as in a program.
CREATE FUNCTION stepadv_internal.report_call_line(call stepadv_internal.report_call) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT call.name || '(' || coalesce(string_agg(coalesce(a.key || ': ', '') || CASE WHEN a.quoted THEN to_json(a.given)::text ELSE coalesce(a.given, 'null') END, ', ' ORDER BY a.i), '') || ')'
	FROM unnest(call.keys, call.given, call.quoted) WITH ORDINALITY a(key, given, quoted, i);
END;
COMMENT ON FUNCTION stepadv_internal.report_call_line(stepadv_internal.report_call) IS 'part of stepadv-report: a call in a line';

-- What a step did, for where there is a line: of calls their lines, else the text itself.
CREATE FUNCTION stepadv_internal.report_done(words text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	calls CONSTANT stepadv_internal.report_call[] := stepadv_internal.report_calls(report_done.words);
BEGIN
	IF calls IS NULL THEN
		RETURN report_done.words;
	END IF;
	RETURN (SELECT string_agg(stepadv_internal.report_call_line(c.call), '; ' ORDER BY c.i) FROM (SELECT ROW(u.name, u.keys, u.given, u.quoted)::stepadv_internal.report_call AS call, u.i FROM unnest(calls) WITH ORDINALITY u(name, keys, given, quoted, i)) c(call, i));
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_done(text) IS 'part of stepadv-report: what a step did: calls as lines, any other text as it is';

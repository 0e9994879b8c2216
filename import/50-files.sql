-- Files, as stepadv-import brings them: lines in a table, which are a document each or
-- one document together.

CREATE FUNCTION stepadv_internal.import_mark(is_latin1 boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE WHEN import_mark.is_latin1 THEN chr(239) || chr(187) || chr(191) ELSE convert_from('\xefbbbf', 'UTF8') END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_mark(boolean) IS 'part of import_rollouts: the byte order mark, as lines spell it';

-- The first two lines that are not empty tell what the file is.
CREATE FUNCTION stepadv_internal.import_look(lines regclass, format text, is_latin1 boolean, OUT first_n bigint, OUT first text, OUT guessed text, OUT is_one boolean)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	relation CONSTANT text := stepadv_internal.load_name(import_look.lines);
	mark CONSTANT text := stepadv_internal.import_mark(import_look.is_latin1);
	second text;
BEGIN
	EXECUTE format($q$SELECT l.n, CASE WHEN octet_length(l.line) <= stepadv_internal.import_limit() THEN l.line ELSE left(l.line, 100) END FROM %s l WHERE ascii(l.line) > 32 OR btrim(l.line, E' \t\r\n') <> '' ORDER BY l.n LIMIT 1$q$, relation)
		INTO first_n, first;
	IF starts_with(first, mark) THEN
		first := substr(first, length(mark) + 1);
	END IF;
	guessed := stepadv_internal.import_guess(first, import_look.is_latin1);
	EXECUTE format($q$SELECT left(ltrim(left(l.line, 1000), E' \t\r'), 1) FROM %s l WHERE l.n > $1 AND (ascii(l.line) > 32 OR btrim(l.line, E' \t\r\n') <> '') ORDER BY l.n LIMIT 1$q$, relation) INTO second USING first_n;
	-- Two lines that both begin a value are two documents, unless the first leaves one
	-- open; what is printed over several lines begins with a bracket alone.
	is_one := (length(btrim(first, E' \t\r')) > 1 AND left(first, 1) IN ('{', '[') AND import_look.format IS DISTINCT FROM 'react'
		AND (second = left(first, 1) AND right(rtrim(right(first, 1000), E' \t\r'), 1) NOT IN (',', ':', '[', '{') OR second IN ('{', '[') AND guessed IS NOT NULL)) IS NOT TRUE;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_look(regclass, text, boolean) IS
'part of import_rollouts: of the lines of a file the first that is not empty, without a byte order mark, and its number; the format it has by itself; whether all lines are one document';

CREATE FUNCTION stepadv_internal.import_make_documents(lines regclass, source text, first_n bigint, first text, is_one boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	relation CONSTANT text := stepadv_internal.load_name(import_make_documents.lines);
	n_bytes bigint;
BEGIN
	IF to_regclass('pg_temp.stepadv_file') IS NOT NULL THEN
		DROP TABLE pg_temp.stepadv_file;
	END IF;
	CREATE TEMP TABLE stepadv_file (n bigint, document text, source text) ON COMMIT DROP;
	ALTER TABLE pg_temp.stepadv_file ALTER document SET STORAGE EXTERNAL;
	IF import_make_documents.is_one THEN
		EXECUTE format('SELECT sum(octet_length(l.line) + 1) FROM %s l', relation) INTO n_bytes;
		IF n_bytes > stepadv_internal.import_limit() THEN
			RAISE EXCEPTION 'it has % MB, more than the 256 that a document may have', n_bytes / 1048576 USING ERRCODE = 'program_limit_exceeded';
		END IF;
		EXECUTE format($q$INSERT INTO pg_temp.stepadv_file SELECT 1, string_agg(CASE WHEN l.n = $1 THEN $2 ELSE l.line END, E'\n' ORDER BY l.n), $3 FROM %s l$q$, relation)
			USING import_make_documents.first_n, import_make_documents.first, import_make_documents.source;
	ELSE
		EXECUTE format('INSERT INTO pg_temp.stepadv_file SELECT l.n, CASE WHEN l.n = $1 THEN $2 ELSE l.line END, $3 FROM %s l', relation)
			USING import_make_documents.first_n, import_make_documents.first, import_make_documents.source;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_make_documents(regclass, text, bigint, text, boolean) IS
'part of import_rollouts: makes pg_temp.stepadv_file (n bigint, document text, source text) of the lines of a file';

-- The lines of one file: a document on each, or all of them one document, or the
-- steps of load_rollouts.
CREATE FUNCTION stepadv_internal.import_file(schema text, lines regclass, source text DEFAULT NULL, format text DEFAULT NULL, on_error text DEFAULT 'stop',
	paths jsonb DEFAULT NULL, group_prefix text DEFAULT '', success_at float8 DEFAULT 1, is_latin1 boolean DEFAULT false,
	run_id text DEFAULT NULL, policy_version text DEFAULT NULL, policy_step bigint DEFAULT NULL, replace boolean DEFAULT false) RETURNS jsonb
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_steps boolean := import_file.format IS NOT DISTINCT FROM 'steps';
	seen record;
	kind text;
	result jsonb;
BEGIN
	IF NOT is_steps THEN
		seen := stepadv_internal.import_look(import_file.lines, import_file.format, import_file.is_latin1);
		is_steps := import_file.format IS NULL AND import_file.paths IS NULL AND seen.guessed IS NOT DISTINCT FROM 'steps';
	END IF;
	IF is_steps THEN
		SELECT to_jsonb(l) - '{lines_read,empty_lines,bad_lines}'::text[] || jsonb_build_object('format', 'steps', 'documents_read', l.lines_read - l.empty_lines, 'bad_documents', l.bad_lines,
			'bad_rollouts', 0, 'dropped', '{}'::jsonb, 'repaired', '{}'::jsonb) INTO result
		FROM @extschema@.load_rollouts(import_file.schema, import_file.lines, import_file.on_error, import_file.is_latin1, import_file.run_id, import_file.policy_version, import_file.policy_step, import_file.replace) l;
		RETURN result;
	END IF;
	PERFORM stepadv_internal.import_make_documents(import_file.lines, import_file.source, seen.first_n, seen.first, seen.is_one);
	kind := coalesce(import_file.format, CASE WHEN import_file.paths IS NOT NULL THEN 'paths' END, seen.guessed);
	IF kind IN ('otel', 'langfuse') AND NOT seen.is_one THEN
		PERFORM stepadv_internal.import_gather(kind, import_file.is_latin1);
	ELSE
		-- One document has been asked: it is not read again to be asked the same.
		kind := CASE WHEN seen.is_one AND import_file.format IS NULL AND import_file.paths IS NULL THEN seen.guessed ELSE import_file.format END;
	END IF;
	SELECT to_jsonb(i) || jsonb_build_object('format', coalesce(import_file.format, CASE WHEN import_file.paths IS NOT NULL THEN 'paths' END, seen.guessed)) INTO result
	FROM @extschema@.import_rollouts(import_file.schema, 'pg_temp.stepadv_file'::regclass, kind, import_file.on_error, import_file.paths, import_file.group_prefix,
		import_file.success_at, import_file.is_latin1, import_file.run_id, import_file.policy_version, import_file.policy_step, import_file.replace) i;
	DROP TABLE pg_temp.stepadv_file;
	RETURN result;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_file(text, regclass, text, text, text, jsonb, text, float8, boolean, text, text, bigint, boolean) IS
'part of import_rollouts: the lines of one file (n bigint, line text), which are a document each or one document together, to import_rollouts; lines of steps to load_rollouts; the counts as one object';

-- Once for every connection.
CREATE FUNCTION stepadv_internal.import_begin() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	CREATE TEMP TABLE stepadv_told (rollouts bigint, stepless bigint, judged bigint, timed bigint, of_version bigint, first_at timestamptz, last_at timestamptz,
		steps bigint, with_action bigint, with_state bigint, with_tokens bigint) ON COMMIT DELETE ROWS;
	CREATE TEMP TABLE stepadv_seen (rollout bigint PRIMARY KEY, judged integer, timed integer, of_version integer, steps bigint, with_action bigint, with_state bigint, with_tokens bigint);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_begin() IS 'part of stepadv-import: makes pg_temp.stepadv_told, so that import_one tells what the rollouts have, and pg_temp.stepadv_seen, so that one whose steps lie in several files is told of once';

-- Once behind all files.  Where what came is little of what is there the server itself
-- looks at it, when it is more; texts and documents are read as a whole for nothing,
-- since no plan depends on what they say.  (What autovacuum is at is left to it.)
CREATE FUNCTION stepadv_internal.import_analyze(schema text, steps_added bigint) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	command text;
BEGIN
	IF steps_added * 10 < (SELECT c.reltuples FROM pg_class c WHERE c.oid = to_regclass(format('%I.steps', schema))) THEN
		RETURN;
	END IF;
	SELECT string_agg(t.columns, ', ' ORDER BY t.number) INTO command FROM (
		SELECT w.number, format('%I.%I (%s)', import_analyze.schema, w.name, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)) AS columns
		FROM unnest('{rollouts,steps}'::text[]) WITH ORDINALITY w(name, number)
		JOIN pg_attribute a ON a.attrelid = to_regclass(format('%I.%I', import_analyze.schema, w.name)) AND a.attnum > 0 AND NOT a.attisdropped
		WHERE a.attlen > 0 OR a.attname IN ('tool', 'channel', 'curation') OR EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND a.attnum = ANY (i.indkey))
		GROUP BY w.number, w.name) t;
	EXECUTE 'ANALYZE (SKIP_LOCKED) ' || command;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_analyze(text, bigint) IS 'part of stepadv-import: after so many steps came, statistics of the canonical tables, as far as plans look at them; none where that is less than a tenth of the steps';

-- What the first document has at its top, for the line that says why it cannot be used.
CREATE FUNCTION stepadv_internal.import_top(lines regclass, is_latin1 boolean) RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	seen CONSTANT record := stepadv_internal.import_look(import_top.lines, NULL::text, import_top.is_latin1);
	document text := seen.first;
	n_bytes bigint;
BEGIN
	EXECUTE format('SELECT sum(octet_length(l.line)) FROM %s l', stepadv_internal.load_name(import_top.lines)) INTO n_bytes;
	IF seen.is_one AND n_bytes > stepadv_internal.import_limit() THEN
		RETURN NULL;
	ELSIF seen.is_one THEN
		EXECUTE format($q$SELECT string_agg(l.line, E'\n' ORDER BY l.n) FROM %s l WHERE l.n > $1$q$, stepadv_internal.load_name(import_top.lines)) INTO document USING seen.first_n;
		document := concat_ws(E'\n', seen.first, document);
	END IF;
	RETURN (SELECT stepadv_internal.import_keys(t.content) FROM stepadv_internal.json_of_text(document, import_top.is_latin1) t);
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_top(regclass, boolean) IS 'part of stepadv-import: import_keys of the first document of a file''s lines; NULL: it is no JSON';

-- The option of stepadv-import that may help with what was left out of a file.
CREATE FUNCTION stepadv_internal.import_advice(result jsonb, format text, kept_going boolean, is_of_other boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	reason CONSTANT text := result #>> '{problems,0,problem}';
	usable CONSTANT bigint := (result ->> 'rollouts_added')::bigint + (result ->> 'rollouts_updated')::bigint + coalesce((result ->> 'rollouts_repeated')::bigint, 0);
BEGIN
	RETURN concat_ws('; ',
		CASE WHEN reason ~ 'known format|say which|no rollout in the document' AND import_advice.format IS NULL THEN '--explain shows what was looked for, -f names the format, -j says where things are' END,
		CASE WHEN import_advice.format = 'paths' AND reason ~ '^(success|truncated|outcome|.*: (ok|reward)) must be a (boolean|number), not string' THEN
			'a map of -j says what words mean, as {"path": "$.verdict", "map": {"pass": true, "fail": false}}' END,
		CASE WHEN import_advice.is_of_other THEN 'the tables have it from another file of that name: in one call with that file it has an id of its own, and -r RUN tells them apart'
			WHEN reason ~ 'is not what line [0-9]+ says' THEN CASE WHEN NOT import_advice.kept_going THEN '-k takes the first of such lines' END
			WHEN (result ->> 'contradictions')::bigint > 0 THEN '--update replaces what the tables have' END,
		CASE WHEN NOT import_advice.kept_going AND usable > 0 AND (result ->> 'bad_documents')::bigint + (result ->> 'bad_rollouts')::bigint > 0 THEN format('-k loads the other %s', usable) END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_advice(jsonb, text, boolean, boolean) IS 'part of stepadv-import: which of its options may help with what a file''s counts say was left out';

-- What is wrong with what the user says of paths, before any file is read.
CREATE FUNCTION stepadv_internal.import_path_problem(format text, paths text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	IF import_path_problem.paths IS NULL THEN
		RETURN CASE WHEN import_path_problem.format = 'paths' THEN 'with -f paths, -j must say where things are; --explain shows paths to begin with' END;
	ELSIF import_path_problem.format = 'steps' THEN
		RETURN '-j is not for -f steps';
	END IF;
	PERFORM stepadv_internal.import_given_paths(import_path_problem.format, import_path_problem.paths::jsonb);
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN '-j: ' || message || coalesce(' (' || nullif(detail, '') || ')', '') || coalesce('; ' || nullif(hint, ''), '');
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_path_problem(text, text) IS 'part of stepadv-import: what is wrong with its options -f and -j, in words; NULL: nothing';

-- Which paths found nothing in a file, and what is said of them: nobody counts them as
-- problems of a document.
CREATE FUNCTION stepadv_internal.import_lacks(INOUT result jsonb, paths jsonb, OUT lacks jsonb, OUT names text[], OUT others text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT coalesce(jsonb_agg(p.v ORDER BY p.i) FILTER (WHERE p.v ? 'path'), '[]'), coalesce(array_agg(p.v ->> 'path' ORDER BY p.i) FILTER (WHERE p.v ? 'path'), '{}'),
		jsonb_set(result, '{problems}', coalesce(jsonb_agg(p.v ORDER BY p.i) FILTER (WHERE NOT p.v ? 'path'), '[]'))
	INTO lacks, names, result
	FROM jsonb_array_elements(result -> 'problems') WITH ORDINALITY p(v, i);
	import_lacks.others := ARRAY(SELECT k.name FROM jsonb_object_keys(import_lacks.paths) k(name) WHERE k.name <> ALL (names)
		-- Without steps nothing was looked for in them.
		AND ('steps' <> ALL (names) OR k.name NOT IN (SELECT n.name FROM stepadv_internal.import_path_names() n WHERE n.place = 'step')));
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_lacks(jsonb, jsonb) IS
'part of stepadv-import: the counts of a file without what is said of paths that found nothing in it, that by itself, their names, and the names of those that found something';

-- One file, or nothing of it, and what became of it as lines of kind, name, value:
-- count, format, dropped, repaired, told; problem (in words, with what may help) and
-- failed where nothing was loaded; more, for whoever wants to know it all; found: a
-- path that found something, and unfound: one that did not, in words.  Where that is
-- none of may_lack ('*': all) nothing is loaded: postponed, until other files tell
-- whether it is a mistake.
CREATE FUNCTION stepadv_internal.import_one(schema text, lines regclass, source text, format text, keep_going boolean, paths jsonb, group_prefix text, success_at float8,
	run_id text, policy_version text, policy_step bigint, replace boolean, may_lack text)
RETURNS TABLE (kind text, name text, value text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET jit = off
SET client_min_messages = error
AS $$
DECLARE
	allowed CONSTANT text[] := string_to_array(import_one.may_lack, ',');
	is_of_other boolean := false;
	result jsonb;
	seen record;
	n_problems bigint := 0;
	message text;
	detail text;
	context text;
BEGIN
	BEGIN
		source := stepadv_internal.import_source(import_one.schema, import_one.source);
		result := stepadv_internal.import_file(import_one.schema, import_one.lines, source, import_one.format, 'skip'::text, import_one.paths, import_one.group_prefix,
			import_one.success_at, true, import_one.run_id, import_one.policy_version, import_one.policy_step, import_one.replace);
		n_problems := (result ->> 'bad_documents')::bigint + (result ->> 'bad_rollouts')::bigint + (result ->> 'contradictions')::bigint;
		seen := stepadv_internal.import_lacks(result, coalesce(import_one.paths, '{}'));
		result := seen.result;
		IF result ->> 'format' = 'steps' THEN
			-- Lines do not say it of themselves.
			result := result || (SELECT jsonb_build_object('stepless_rollouts', coalesce(sum(t.stepless), 0), 'unjudged_rollouts', coalesce(sum(t.rollouts) - sum(t.judged), 0)) FROM pg_temp.stepadv_told t);
		END IF;
		IF import_one.may_lack <> '*' AND NOT seen.names <@ allowed THEN
			RAISE EXCEPTION USING ERRCODE = 'SA004', MESSAGE = 'postponed';
		ELSIF n_problems > 0 AND NOT import_one.keep_going THEN
			RAISE EXCEPTION USING ERRCODE = 'SA003', MESSAGE = 'left out';
		END IF;
	EXCEPTION WHEN SQLSTATE 'SA003' THEN
		RETURN QUERY VALUES ('failed', 'rollouts', '');
	WHEN SQLSTATE 'SA004' THEN
		RETURN QUERY SELECT 'postponed', '', '' UNION ALL SELECT 'unfound', l.v ->> 'path', l.v ->> 'problem' FROM jsonb_array_elements(seen.lacks) l(v) UNION ALL SELECT 'found', f.name, '' FROM unnest(seen.others) f(name);
		RETURN;
	WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
		RETURN QUERY SELECT v.* FROM (VALUES ('failed', SQLSTATE, ''), ('problem', '', stepadv_internal.import_words_of_error(SQLSTATE, message, detail)), ('more', '', context)) v;
		RETURN;
	END;
	IF n_problems > 0 THEN
		is_of_other := (result ->> 'contradictions')::bigint > 0 AND stepadv_internal.import_is_of_other(import_one.schema, source);
		RETURN QUERY SELECT 'problem', '', concat(coalesce('document ' || (p.v ->> 'document'), 'line ' || (p.v ->> 'line')), ': ', p.v ->> 'problem', CASE WHEN n_problems > 1 THEN format(' (and %s more)', n_problems - 1) END,
				'; at the top: ' || stepadv_internal.import_top(import_one.lines, true),
				'; ' || nullif(stepadv_internal.import_advice(result, import_one.format, import_one.keep_going, is_of_other), ''))
			FROM jsonb_array_elements(result -> 'problems') WITH ORDINALITY p(v, i) WHERE p.i = 1;
		RETURN QUERY SELECT 'more', '', concat(coalesce('document ' || (p.v ->> 'document'), 'line ' || (p.v ->> 'line')), ': ', p.v ->> 'problem')
			FROM jsonb_array_elements(result -> 'problems') WITH ORDINALITY p(v, i) WHERE p.i > 1 ORDER BY p.i;
		IF NOT import_one.keep_going THEN
			RETURN;
		END IF;
	END IF;
	RETURN QUERY SELECT 'found', f.name, '' FROM unnest(seen.others) f(name) WHERE f.name <> ALL (allowed) AND import_one.may_lack <> '*';
	RETURN QUERY
	SELECT CASE WHEN e.value ~ '^[{]' THEN e.key ELSE 'count' END, coalesce(k.key, e.key), coalesce(k.value, e.value)
	FROM jsonb_each_text(result - '{problems,groups}'::text[]) e
	LEFT JOIN LATERAL jsonb_each_text(CASE WHEN e.value ~ '^[{]' THEN e.value::jsonb END) k ON true
	WHERE e.value !~ '^[{]' OR k.key IS NOT NULL;
	RETURN QUERY
	SELECT 'told', t.key, t.value
	FROM (SELECT jsonb_build_object('rollouts', sum(s.rollouts), 'judged', sum(s.judged), 'timed', sum(s.timed), 'of_version', sum(s.of_version), 'first_at', min(s.first_at), 'last_at', max(s.last_at),
			'steps', sum(s.steps), 'with_action', sum(s.with_action), 'with_state', sum(s.with_state), 'with_tokens', sum(s.with_tokens)) AS sums
		FROM pg_temp.stepadv_told s) x, jsonb_each_text(jsonb_strip_nulls(x.sums)) t;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_one(text, regclass, text, text, boolean, jsonb, text, float8, text, text, bigint, boolean, text) IS
'part of stepadv-import: a file''s lines into the schema''s tables, all or nothing unless keep_going, and what became of it as rows of kind, name and value; never an error but of an interrupt';

-- load_rollouts: loads lines of JSON, one step each, into the tables of create_tables,
-- in SQL alone.  docs/tables.md lists the keys of a line.  The client reads files of
-- other formats: docs/import.md.

-- A parsed step, with its rollout's columns.
CREATE TYPE stepadv_internal.parsed_step AS (
	problem text, n_nul_replaced integer,
	group_id text, rollout_id text, step_no integer, turn integer,
	observation text, next_observation text, action text, tool text, args jsonb, ok boolean,
	reward float8, turn_reward float8, value float8, cost float8,
	prompt_token_ids integer[], response_token_ids integer[], response_mask boolean[], rollout_logprobs real[],
	metadata jsonb,
	outcome float8, success boolean, truncated boolean,
	policy_version text, model text, channel text, curation text,
	started_at timestamptz, ended_at timestamptz,
	content bigint,
	task_id text, run_id text, policy_step bigint, tags jsonb);
COMMENT ON TYPE stepadv_internal.parsed_step IS
'a line of JSON Lines as parse_rollout_line gives it: the columns of rollouts and steps (docs/tables.md), content as a '
'hash, and problem, NULL or why the line cannot be used';

-- ----------
-- A line
-- ----------

-- An invalid value leads to no row, or to an error of class 22 or 54;
-- problem_of_line finds the reason.
CREATE FUNCTION stepadv_internal.step_of_json(j jsonb) RETURNS SETOF stepadv_internal.parsed_step
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT NULL::text AS text, 0, x.group_id #>> '{}', x.rollout_id #>> '{}', x.step_no::numeric, x.turn::numeric,
		x.observation, x.next_observation, x.action, x.tool #>> '{}', x.args, x.ok::boolean,
		-- Casts from jsonb do not accept "1" as a number, or 1 as a boolean.
		x.reward::float8, x.turn_reward::float8, x.value::float8, x.cost::float8,
		nullif(x.prompt_token_ids, '{}'), nullif(x.response_token_ids, '{}'),
		nullif(x.response_mask, '{}'), nullif(x.rollout_logprobs, '{}'),
		-- Keys without a column are stored in metadata.
		CASE WHEN y.rest = '{}' THEN x.meta
			WHEN x.meta IS NULL THEN y.rest
			WHEN jsonb_typeof(x.meta) = 'object' THEN x.meta || y.rest
			ELSE jsonb_build_object('meta', x.meta) || y.rest END,
		x.outcome::float8, x.success::boolean, x.truncated::boolean,
		x.policy_version #>> '{}', coalesce(x.model #>> '{}', x.meta ->> 'model'), x.channel #>> '{}',
			x.curation #>> '{}',
		(x.started_at #>> '{}')::timestamptz, (x.ended_at #>> '{}')::timestamptz,
		-- Distinguishes a repeated line from a contradicting one.
		stepadv.signature_hash(j),
		x.task_id #>> '{}', x.run_id #>> '{}', x.policy_step::numeric, x.tags
	FROM jsonb_to_record(j) x(group_id jsonb, rollout_id jsonb, step_no jsonb, turn jsonb, observation text,
			next_observation text, action text, tool jsonb, args jsonb, ok jsonb, reward jsonb, turn_reward jsonb,
			value jsonb, cost jsonb, prompt_token_ids integer[], response_token_ids integer[], response_mask boolean[],
			rollout_logprobs real[], outcome jsonb, success jsonb, truncated jsonb, policy_version jsonb, model jsonb,
			channel jsonb, curation jsonb, started_at jsonb, ended_at jsonb, meta jsonb, task_id jsonb, run_id jsonb,
			policy_step jsonb, tags jsonb),
		LATERAL (SELECT j - ARRAY['group_id', 'rollout_id', 'step_no', 'turn', 'observation', 'next_observation',
			'action', 'tool', 'args', 'ok', 'reward', 'turn_reward', 'value', 'cost', 'prompt_token_ids',
			'response_token_ids', 'response_mask', 'rollout_logprobs', 'outcome', 'success', 'terminal', 'truncated',
			'policy_version', 'model', 'channel', 'curation', 'started_at', 'ended_at', 'meta', 'task_id', 'run_id',
			'policy_step', 'tags'] AS rest OFFSET 0) y
	WHERE jsonb_typeof(x.rollout_id) IN ('string', 'number')
		-- The tables define which of these are required.
		AND '{string,number}' @> ARRAY[coalesce(jsonb_typeof(x.group_id), 'string'),
			coalesce(jsonb_typeof(x.task_id), 'string'), coalesce(jsonb_typeof(x.run_id), 'string'),
			coalesce(jsonb_typeof(x.policy_version), 'string')]
		AND ('string' = ALL (ARRAY[jsonb_typeof(x.tool), jsonb_typeof(x.model), jsonb_typeof(x.channel),
			jsonb_typeof(x.curation), jsonb_typeof(x.started_at), jsonb_typeof(x.ended_at)])) IS NOT FALSE
		AND coalesce(x.channel #>> '{}', 'train') IN ('train', 'validation')
		AND (x.step_no::numeric % 1 = 0) IS NOT FALSE AND (x.turn::numeric % 1 = 0) IS NOT FALSE
		AND (x.policy_step::numeric % 1 = 0) IS NOT FALSE AND (x.cost::float8 > 0) IS NOT FALSE
		AND (1 = ALL (ARRAY[array_ndims(x.prompt_token_ids), array_ndims(x.response_token_ids),
			array_ndims(x.response_mask), array_ndims(x.rollout_logprobs)])) IS NOT FALSE
		AND (cardinality(nullif(x.response_mask, '{}')) = cardinality(nullif(x.response_token_ids, '{}'))) IS NOT FALSE
		AND (cardinality(nullif(x.rollout_logprobs, '{}')) = cardinality(nullif(x.response_token_ids, '{}')))
			IS NOT FALSE;
END;
COMMENT ON FUNCTION stepadv_internal.step_of_json(jsonb) IS
'part of load_rollouts: the object of a line as the columns of rollouts and steps; no row, or an error, if it '
'cannot be used';

-- The reason why a line's object is invalid; PostgreSQL's error if no check finds one.
CREATE FUNCTION stepadv_internal.problem_of_line(j jsonb, error text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	problem text;
BEGIN
	IF jsonb_typeof(j) <> 'object' THEN
		RETURN format('a line must be a JSON object, not %s', jsonb_typeof(j));
	END IF;
	SELECT CASE WHEN t.kind IN ('null', 'missing') THEN format('%s must be given', f.name)
		ELSE format('%s must be %s, not %s', f.name, CASE f.kinds[1] WHEN 'array' THEN 'an array' ELSE 'a '
			|| f.kinds[1] END, t.kind) END
	INTO problem
	-- Keys, the JSON types that they may have, and whether they are required.
	FROM (
		VALUES ('group_id', '{string,number}'::text[], false), ('rollout_id', '{string,number}', true),
		('task_id', '{string,number}', false), ('run_id', '{string,number}', false), ('policy_step', '{number}', false),
		('step_no', '{number}', false), ('turn', '{number}', false), ('ok', '{boolean}', false),
		('success', '{boolean}', false), ('truncated', '{boolean}', false), ('reward', '{number}', false),
		('outcome', '{number}', false), ('turn_reward', '{number}', false), ('value', '{number}', false),
		('cost', '{number}', false), ('tool', '{string}', false), ('model', '{string}', false),
		('policy_version', '{string,number}', false), ('channel', '{string}', false), ('curation', '{string}', false),
		('started_at', '{string}', false), ('ended_at', '{string}', false), ('prompt_token_ids', '{array}', false),
		('response_token_ids', '{array}', false), ('response_mask', '{array}', false), ('rollout_logprobs', '{array}',
			false)
	) f(name, kinds, required), LATERAL (SELECT coalesce(jsonb_typeof(j -> f.name), 'missing') AS kind) t
	WHERE j IS NOT NULL AND CASE WHEN t.kind IN ('null', 'missing') THEN f.required ELSE t.kind <> ALL (f.kinds) END
	LIMIT 1;
	RETURN coalesce(problem, error,
		CASE WHEN (j ->> 'step_no')::numeric % 1 <> 0 OR (j ->> 'turn')::numeric % 1 <> 0
				THEN format('step_no and turn must be whole numbers, not %s', coalesce(nullif(j ->> 'step_no', ''),
					'null'))
			WHEN (j ->> 'policy_step')::numeric % 1 <> 0 THEN format('policy_step must be a whole number, not %s',
				j ->> 'policy_step')
			WHEN j ->> 'channel' NOT IN ('train', 'validation')
				THEN format('channel must be train or validation, not %s', j ->> 'channel')
			WHEN (j ->> 'cost')::float8 <= 0 THEN format('cost must be above 0, not %s', (j ->> 'cost')::float8)
			WHEN EXISTS
				(SELECT FROM unnest('{prompt_token_ids,response_token_ids,response_mask,rollout_logprobs}'::text[]) k,
				jsonb_array_elements(nullif(j -> k, 'null')) e WHERE jsonb_typeof(e.value) = 'array')
				THEN 'arrays of tokens must not hold arrays'
			ELSE 'response_mask and rollout_logprobs must be as long as response_token_ids' END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.problem_of_line(jsonb, text) IS
'part of load_rollouts: the reason why the object of a line is invalid for step_of_json, which returned no row or '
'raised this error';

-- Invalid data never raises an error.  PARALLEL UNSAFE, since a block with EXCEPTION
-- starts a subtransaction.
CREATE FUNCTION stepadv_internal.parse_rollout_line(line text) RETURNS stepadv_internal.parsed_step
LANGUAGE plpgsql STABLE PARALLEL UNSAFE COST 5000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	pair CONSTANT text := E'\x01';
	parts text;
	j jsonb;
	step stepadv_internal.parsed_step;
	n_nul_replaced integer := 0;
	problem text;
	detail text;
BEGIN
	BEGIN
		-- Replace U+0000, which jsonb and text cannot store, by U+FFFD.  Meanwhile, escaped backslashes are replaced
		-- by another character, so that \\u0000 is not taken for an escape.
		IF position('\u0000' IN line) > 0 AND position(pair IN line) = 0 THEN
			parts := replace(line, '\\', pair);
			n_nul_replaced := (length(parts) - length(replace(parts, '\u0000', ''))) / 6;
			line := replace(replace(parts, '\u0000', '\ufffd'), pair, '\\');
		END IF;
		j := line::jsonb;
		SELECT s.* INTO step FROM stepadv_internal.step_of_json(j) s;
		IF FOUND THEN
			step.n_nul_replaced := n_nul_replaced;
			RETURN step;
		END IF;
	EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
		GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
		problem := left(CASE WHEN SQLSTATE = '54001' THEN 'it is nested too deeply'
			WHEN detail <> '' THEN format('%s (%s)', problem, detail) ELSE problem END, 300);
	END;
	step.problem := stepadv_internal.problem_of_line(j, problem);
	step.n_nul_replaced := n_nul_replaced;
	RETURN step;
END
$$;
COMMENT ON FUNCTION stepadv_internal.parse_rollout_line(text) IS
'one line of JSON Lines as the columns of rollouts and steps (keys: docs/tables.md); problem is NULL, or why the '
'line cannot be used; U+0000 becomes U+FFFD and is counted in n_nul_replaced';

-- ----------
-- The tables
-- ----------

-- The group's columns, which are those of the primary key except rollout_id, and the other
-- columns for task, run and version.
CREATE FUNCTION stepadv_internal.load_shape(schema text, OUT keys text[], OUT others text[])
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rollouts CONSTANT regclass := to_regclass(format('%I.rollouts', load_shape.schema));
BEGIN
	SELECT array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE a.attname <> 'rollout_id') INTO keys
	FROM pg_index x CROSS JOIN LATERAL unnest(x.indkey::smallint[]) k(number)
	JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.number
	WHERE x.indrelid = rollouts AND x.indisprimary;
	IF keys IS NULL OR to_regclass(format('%I.steps', load_shape.schema)) IS NULL THEN
		RAISE EXCEPTION 'schema "%" has no tables rollouts and steps', load_shape.schema
			USING ERRCODE = 'undefined_table', HINT = format('Make them with SELECT * FROM stepadv.create_tables(%L).',
				load_shape.schema);
	END IF;
	others := ARRAY(SELECT a.attname::text FROM pg_attribute a
		WHERE a.attrelid = rollouts AND NOT a.attisdropped AND a.attname <> ALL (keys)
			AND a.attname IN ('task_id', 'run_id', 'policy_version', 'policy_step', 'tags', 'group_id')
				ORDER BY a.attnum);
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_shape(text) IS
'part of load_rollouts: the columns of the group in a schema''s tables, and which other columns they have for task, '
'run and version';

-- The value of a group's column for a line: group_id counts as task_id; without a value,
-- the caller's for all lines, or the column's default.
CREATE FUNCTION stepadv_internal.load_key(schema text, key text, run_id text, policy_version text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rollouts CONSTANT regclass := to_regclass(format('%I.rollouts', load_key.schema));
	otherwise text := CASE load_key.key WHEN 'run_id' THEN load_key.run_id WHEN 'policy_version'
		THEN load_key.policy_version END;
	expression text;
BEGIN
	SELECT pg_get_expr(d.adbin, d.adrelid) INTO expression
	FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
	WHERE d.adrelid = rollouts AND a.attname = load_key.key;
	IF otherwise IS NULL AND FOUND THEN
		SELECT x.value INTO otherwise
		FROM stepadv_internal.run(rollouts, format('SELECT (%s)::text', expression)) x(value text);
	END IF;
	RETURN format('coalesce(%s, %L::text)', CASE load_key.key WHEN 'task_id' THEN 'task_id, group_id'
		WHEN 'group_id' THEN 'group_id, task_id' WHEN 'run_id' THEN 'run_id' WHEN 'policy_version' THEN 'policy_version'
		ELSE format('metadata ->> %L', load_key.key) END, otherwise);
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_key(text, text, text, text) IS
'part of load_rollouts: the expression for the value of a column of the group, over the columns of parsed_step';

-- Parses lines as steps, with the group's columns: k1, k2, …, all in one text, and one for messages.
CREATE FUNCTION stepadv_internal.load_parse(schema text, keys text[], lines regclass, run_id text, policy_version text,
	OUT n_lines bigint, OUT n_empty_lines bigint, OUT n_nul_replaced bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name CONSTANT text := (SELECT format('%I.%I', n.nspname, c.relname)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = load_parse.lines);
	filled CONSTANT text := format($q$SELECT l.n, l.line FROM %s l WHERE btrim(l.line, E' \t\r\n\ufeff') <> ''$q$,
		name);
	expressions CONSTANT text[] := ARRAY(SELECT stepadv_internal.load_key(load_parse.schema, k.key, load_parse.run_id,
		load_parse.policy_version)
		FROM unnest(load_parse.keys) WITH ORDINALITY k(key, i) ORDER BY k.i);
BEGIN
	EXECUTE format($q$CREATE TEMP TABLE stepadv_parsed (n bigint PRIMARY KEY, LIKE stepadv_internal.parsed_step, %s,
		group_name text GENERATED ALWAYS AS (substr(%s, 3)) STORED) ON COMMIT DROP$q$,
		(SELECT string_agg(format('k%s text GENERATED ALWAYS AS (%s) STORED', e.i, e.e), ', ' ORDER BY e.i)
			FROM unnest(expressions) WITH ORDINALITY e(e, i)),
		-- For messages, without empty values.
		(SELECT string_agg(format('CASE WHEN %1$s <> %2$L THEN %3$L || %1$s ELSE %2$L END', e.e, '', ', '),
			' || ' ORDER BY e.i)
			FROM unnest(expressions) WITH ORDINALITY e(e, i)));
	EXECUTE format($q$SELECT count(*), count(*) - count(*) FILTER (WHERE btrim(l.line, E' \t\r\n\ufeff') <> '')
		FROM %s l$q$, name)
		INTO n_lines, n_empty_lines;
	load_parse.n_nul_replaced := 0;
	-- All lines at once; line by line if one of them is invalid or contains U+0000.
	BEGIN
		EXECUTE format($q$INSERT INTO pg_temp.stepadv_parsed SELECT l.n, s.* FROM (%s) l,
			LATERAL stepadv_internal.step_of_json(ltrim(l.line, E'\ufeff')::jsonb) s$q$, filled);
		IF (SELECT count(*) FROM pg_temp.stepadv_parsed) < n_lines - n_empty_lines THEN
			RAISE data_exception;
		END IF;
	EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
		EXECUTE format($q$INSERT INTO pg_temp.stepadv_parsed SELECT l.n, s.* FROM (%s) l,
			LATERAL stepadv_internal.parse_rollout_line(ltrim(l.line, E'\ufeff')) s$q$, filled);
		load_parse.n_nul_replaced := (SELECT coalesce(sum(p.n_nul_replaced), 0) FROM pg_temp.stepadv_parsed p
			WHERE p.problem IS NULL);
	END;
	EXECUTE format($q$UPDATE pg_temp.stepadv_parsed p SET problem = CASE %s END || ' must be given'
		WHERE p.problem IS NULL AND concat(%s) IS NOT NULL AND (%s)$q$,
		stepadv_internal.list(load_parse.keys, 'WHEN p.k%2$s IS NULL THEN %1$L'::text, ' '::text),
		stepadv_internal.list(load_parse.keys, 'p.k%2$s'::text, ', '::text),
		stepadv_internal.list(load_parse.keys, 'p.k%2$s IS NULL'::text, ' OR '::text));
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_parse(text, text[], regclass, text, text) IS
'part of load_rollouts: creates pg_temp.stepadv_parsed from lines, one step per line with the values of its '
'group''s columns, or with the problem of the line';

-- ----------
-- Contradictions
-- ----------

-- Steps that occur twice, with equal or contradicting contents.  Problems are reported
-- at the end.
CREATE FUNCTION stepadv_internal.load_drop_repeated(keys text[], OUT n_steps_repeated bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($q$
		CREATE TEMP TABLE stepadv_repeated ON COMMIT DROP AS
		SELECT * FROM (SELECT p.n, p.content, first_value(p.content) OVER w AS first_content,
			first_value(p.n) OVER w AS first_n
			FROM pg_temp.stepadv_parsed p WHERE p.problem IS NULL AND p.step_no IS NOT NULL
			WINDOW w AS (PARTITION BY %s, p.rollout_id, p.step_no ORDER BY p.n)) x WHERE x.n <> x.first_n
		$q$, stepadv_internal.list(load_drop_repeated.keys, 'p.k%2$s'::text, ', '::text));
	INSERT INTO pg_temp.stepadv_problems (n, reason, is_contradiction)
	SELECT p.n, format('step %s of rollout %s of group %s is not what line %s says',
		p.step_no, p.rollout_id, p.group_name, r.first_n), true
	FROM pg_temp.stepadv_repeated r JOIN pg_temp.stepadv_parsed p ON p.n = r.n
	WHERE r.content <> r.first_content;
	DELETE FROM pg_temp.stepadv_parsed p USING pg_temp.stepadv_repeated r WHERE p.n = r.n;
	n_steps_repeated := (SELECT count(*) FROM pg_temp.stepadv_repeated r WHERE r.content = r.first_content);
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_drop_repeated(text[]) IS
'part of load_rollouts: removes lines that repeat a step from pg_temp.stepadv_parsed; counts those that agree '
'with it, notes those that contradict it';

-- Collects the rollouts' columns from any of their lines; the last line with a value wins.
CREATE FUNCTION stepadv_internal.load_gather(keys text[], run_id text, policy_version text, policy_step bigint)
	RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($q$
		CREATE TEMP TABLE stepadv_rollouts ON COMMIT DROP AS
		SELECT %1$s, p.rollout_id, min(p.group_name) AS group_name, max(p.n) AS n,
			coalesce((array_agg(p.run_id) FILTER (WHERE p.run_id IS NOT NULL))[1], $1) AS run_id,
			coalesce((array_agg(p.policy_version) FILTER (WHERE p.policy_version IS NOT NULL))[1],
				$2) AS policy_version,
			coalesce((array_agg(p.policy_step) FILTER (WHERE p.policy_step IS NOT NULL))[1], $3) AS policy_step,
			(array_agg(p.task_id) FILTER (WHERE p.task_id IS NOT NULL))[1] AS task_id,
			(array_agg(p.group_id) FILTER (WHERE p.group_id IS NOT NULL))[1] AS group_id,
			(array_agg(p.tags) FILTER (WHERE p.tags IS NOT NULL))[1] AS tags,
			(array_agg(p.outcome) FILTER (WHERE p.outcome IS NOT NULL))[1] AS outcome,
			(array_agg(p.success) FILTER (WHERE p.success IS NOT NULL))[1] AS success,
			concat_ws(' and ', CASE WHEN min(p.outcome) < max(p.outcome) THEN 'outcome' END,
				CASE WHEN bool_or(p.success) AND NOT bool_and(p.success) THEN 'success' END) AS differs,
			(array_agg(p.n) FILTER (WHERE p.outcome IS NOT NULL OR p.success IS NOT NULL))[1] AS judged_n,
			bool_or(p.truncated) AS truncated,
			(array_agg(p.model) FILTER (WHERE p.model IS NOT NULL))[1] AS model,
			(array_agg(p.channel) FILTER (WHERE p.channel IS NOT NULL))[1] AS channel,
			(array_agg(p.curation) FILTER (WHERE p.curation IS NOT NULL))[1] AS curation,
			min(p.started_at) AS started_at, max(p.ended_at) AS ended_at,
			-- Metadata of a line without a step belong to the rollout.
			(array_agg(p.metadata) FILTER (WHERE p.step_no IS NULL AND p.metadata IS NOT NULL AND p.action IS NULL))[1]
				AS metadata
		FROM (SELECT * FROM pg_temp.stepadv_parsed s WHERE s.problem IS NULL ORDER BY s.n DESC) p GROUP BY %1$s,
			p.rollout_id
		$q$, stepadv_internal.list(load_gather.keys, 'p.k%2$s'::text, ', '::text))
		USING load_gather.run_id, load_gather.policy_version, load_gather.policy_step;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_gather(text[], text, text, bigint) IS
'part of load_rollouts: creates pg_temp.stepadv_rollouts from the lines in pg_temp.stepadv_parsed';

-- ----------
-- Into the tables
-- ----------

-- Inserts in a fixed order, so that concurrent loads of the same rollouts wait for each
-- other without a deadlock; later queries see what the other load has committed.
CREATE FUNCTION stepadv_internal.load_write_rollouts(schema text, keys text[], others text[], replace boolean,
	OUT n_groups bigint, OUT n_rollouts_added bigint, OUT n_rollouts_updated bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rollouts CONSTANT regclass := to_regclass(format('%I.rollouts', load_write_rollouts.schema));
	listed CONSTANT text := stepadv_internal.list(keys, '%1$I'::text, ', '::text);
	columns CONSTANT text := concat_ws(', ', listed, 'rollout_id',
		stepadv_internal.list(others, '%1$I'::text, ', '::text),
		'model, outcome, success, truncated, channel, curation, started_at, ended_at, metadata');
	statement CONSTANT text := format($q$INSERT INTO %1$I.rollouts AS r (%2$s)
		SELECT %3$s, p.rollout_id%4$s, p.model, p.outcome, p.success, coalesce(p.truncated, false),
			coalesce(p.channel, 'train'),
			p.curation, p.started_at, p.ended_at, p.metadata
		FROM pg_temp.stepadv_rollouts p WHERE %%s ORDER BY %5$s, p.rollout_id COLLATE "C" ON CONFLICT (%6$s,
			rollout_id) %%s RETURNING 1$q$,
		schema, replace(columns, '%', '%%'), stepadv_internal.list(keys, 'p.k%2$s'::text, ', '::text),
		-- group_id counts as task_id.
		(SELECT string_agg(CASE o.name WHEN 'task_id' THEN ', coalesce(p.task_id, p.group_id)' ELSE format(', p.%I',
			o.name) END, '' ORDER BY o.i)
			FROM unnest(others) WITH ORDINALITY o(name, i)),
		stepadv_internal.list(keys, 'p.k%2$s COLLATE "C"'::text, ', '::text), replace(listed, '%', '%%'));
	says_more CONSTANT text := $c$(p.outcome IS NOT NULL AND p.outcome IS DISTINCT FROM p.known_outcome
		OR p.success IS NOT NULL AND p.success IS DISTINCT FROM p.known_success)$c$;
BEGIN
	-- Count the returned rows: on shards, an INSERT's own count includes rows skipped by DO NOTHING.
	SELECT count(*) INTO n_rollouts_added
	FROM stepadv_internal.run(rollouts, format(statement, 'true', 'DO NOTHING')) x(one integer);
	ALTER TABLE pg_temp.stepadv_rollouts ADD known_outcome float8, ADD known_success boolean;
	UPDATE pg_temp.stepadv_rollouts p SET known_outcome = k.outcome, known_success = k.success
	FROM stepadv_internal.run(rollouts, format($q$WITH named AS MATERIALIZED (SELECT * FROM pg_temp.stepadv_rollouts)
		SELECT n.n, r.outcome::float8, r.success::boolean FROM named n JOIN %s r ON %s
			AND r.rollout_id = n.rollout_id$q$,
		rollouts, stepadv_internal.list(keys, 'r.%1$I = n.k%2$s'::text, ' AND '::text)))
		k(n bigint, outcome float8, success boolean)
	WHERE k.n = p.n;
	INSERT INTO pg_temp.stepadv_problems (n, reason, is_contradiction)
	SELECT coalesce(p.judged_n, p.n), format('rollout %s of group %s has more than one %s, of which the last counts',
		p.rollout_id, p.group_name, d.differs), true
	FROM pg_temp.stepadv_rollouts p, LATERAL (SELECT coalesce(nullif(p.differs, ''), CASE
		WHEN NOT load_write_rollouts.replace THEN concat_ws(' and ',
			CASE WHEN p.outcome <> p.known_outcome THEN 'outcome' END,
			CASE WHEN p.success <> p.known_success THEN 'success' END) END) AS differs) d
	WHERE d.differs <> '';
	EXECUTE format('SELECT count(DISTINCT (%s)), count(*) FILTER (WHERE %s) FROM pg_temp.stepadv_rollouts p',
		stepadv_internal.list(keys, 'p.k%2$s'::text, ', '::text), says_more)
		INTO n_groups, n_rollouts_updated;
	-- Loading the same lines again must not write.
	IF n_rollouts_updated > 0 THEN
		PERFORM FROM stepadv_internal.run(rollouts, format(statement, says_more,
			'DO UPDATE SET outcome = coalesce(excluded.outcome, r.outcome), success = coalesce(excluded.success, '
			'r.success)')) x(one integer);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_write_rollouts(text, text[], text[], boolean) IS
'part of load_rollouts: writes pg_temp.stepadv_rollouts to the schema''s table, notes outcomes that differ, and counts';

-- Steps that are already in the table are compared by the user's columns, since hashes
-- may have been changed.  With replace, a differing stored step is deleted first.
CREATE FUNCTION stepadv_internal.load_drop_known(schema text, keys text[], replace boolean, OUT n_steps_repeated bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	steps CONSTANT regclass := to_regclass(format('%I.steps', load_drop_known.schema));
	same_rollout CONSTANT text := stepadv_internal.list(load_drop_known.keys, 's.%1$I = p.k%2$s'::text, ' AND '::text)
		|| ' AND s.rollout_id = p.rollout_id';
BEGIN
	CREATE TEMP TABLE stepadv_known ON COMMIT DROP AS
	SELECT k.n, k.same FROM stepadv_internal.run(steps, format($q$
		WITH named AS MATERIALIZED (SELECT * FROM pg_temp.stepadv_parsed p WHERE p.problem IS NULL
			AND p.step_no IS NOT NULL)
		SELECT p.n, (p.turn, p.observation, p.action, p.tool, p.args, p.ok, p.reward) IS NOT DISTINCT FROM
			(s.turn, s.observation, s.action, s.tool, s.args, s.ok, s.reward) AS same
		FROM named p JOIN %s s ON %s AND s.step_no = p.step_no$q$, steps, same_rollout)) k(n bigint, same boolean);
	GRANT SELECT ON pg_temp.stepadv_known TO PUBLIC;
	n_steps_repeated := (SELECT count(*) FROM pg_temp.stepadv_known k WHERE k.same);
	IF load_drop_known.replace THEN
		PERFORM FROM stepadv_internal.run(steps, format($q$DELETE FROM %s s USING pg_temp.stepadv_parsed p
			JOIN pg_temp.stepadv_known k ON k.n = p.n AND NOT k.same
			WHERE %s AND s.step_no = p.step_no RETURNING 1$q$, steps, same_rollout)) x(one integer);
		DELETE FROM pg_temp.stepadv_known k WHERE NOT k.same;
	END IF;
	INSERT INTO pg_temp.stepadv_problems (n, reason, is_contradiction)
	SELECT p.n, format('step %s of rollout %s of group %s is not what the table has',
		p.step_no, p.rollout_id, p.group_name), true
	FROM pg_temp.stepadv_known k JOIN pg_temp.stepadv_parsed p ON p.n = k.n WHERE NOT k.same;
	DELETE FROM pg_temp.stepadv_parsed p USING pg_temp.stepadv_known k WHERE p.n = k.n;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_drop_known(text, text[], boolean) IS
'part of load_rollouts: removes steps that are in the schema''s table from pg_temp.stepadv_parsed; counts those '
'that agree, and notes the others or deletes them from the table';

-- The table's trigger fills in hashes.  Rollouts that begin without an observation share
-- a state that no text can have: the hash of a zero byte.
CREATE FUNCTION stepadv_internal.load_write_steps(schema text, keys text[], OUT n_steps_added bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
	steps CONSTANT regclass := to_regclass(format('%I.steps', load_write_steps.schema));
BEGIN
	SELECT count(*) INTO n_steps_added FROM stepadv_internal.run(steps, format($q$
		WITH named AS MATERIALIZED (SELECT p.* FROM pg_temp.stepadv_parsed p WHERE p.problem IS NULL
			AND p.step_no IS NOT NULL),
		begun AS MATERIALIZED (SELECT n.n FROM named n JOIN %1$s s ON %2$s AND s.rollout_id = n.rollout_id
			AND s.step_no < n.step_no
			WHERE n.observation IS NULL GROUP BY n.n)
		INSERT INTO %1$s (%3$s, rollout_id, step_no, turn, observation, action, tool, args, ok,
			next_observation, next_state, state, reward, turn_reward, value, cost, prompt_token_ids,
				response_token_ids, response_mask, rollout_logprobs, metadata)
		SELECT %4$s, n.rollout_id, n.step_no, n.turn, n.observation, n.action, n.tool, n.args, n.ok,
			CASE WHEN n.next_observation IS DISTINCT FROM lead(n.observation) OVER w THEN n.next_observation END,
			stepadv.signature_hash(coalesce(n.next_observation, lead(n.observation) OVER w)),
			CASE WHEN n.observation IS NULL AND row_number() OVER w = 1 AND b.n IS NULL
				THEN stepadv.signature_hash('\x00'::bytea) END,
			n.reward, n.turn_reward, n.value, n.cost, n.prompt_token_ids, n.response_token_ids, n.response_mask,
				n.rollout_logprobs, n.metadata
		FROM named n LEFT JOIN begun b ON b.n = n.n
		WINDOW w AS (PARTITION BY %4$s, n.rollout_id ORDER BY n.step_no)
		RETURNING 1$q$, steps, stepadv_internal.list(load_write_steps.keys, 's.%1$I = n.k%2$s'::text, ' AND '::text),
		stepadv_internal.list(load_write_steps.keys, '%1$I'::text, ', '::text),
			stepadv_internal.list(load_write_steps.keys, 'n.k%2$s'::text, ', '::text))) x(one integer);
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_write_steps(text, text[]) IS
'part of load_rollouts: writes the steps of pg_temp.stepadv_parsed to the schema''s table, and counts';

CREATE FUNCTION stepadv_internal.load_rollouts(schema text, lines regclass, on_error text, run_id text,
	policy_version text, policy_step bigint, replace boolean,
	OUT n_lines bigint, OUT n_empty_lines bigint, OUT n_bad_lines bigint,
	OUT n_groups bigint, OUT n_rollouts_added bigint, OUT n_rollouts_updated bigint,
	OUT n_steps_added bigint, OUT n_steps_repeated bigint, OUT n_contradictions bigint,
	OUT n_nul_replaced bigint,
		OUT problems jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET work_mem = '32MB'
SET jit = off
AS $$
DECLARE
	relic text;
	shape record;
	known_repeated bigint;
	problem record;
BEGIN
	IF load_rollouts.on_error IS NULL OR load_rollouts.on_error NOT IN ('stop', 'skip') THEN
		RAISE EXCEPTION 'unknown on_error: %', coalesce(quote_literal(load_rollouts.on_error), 'NULL')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'on_error is ''stop'' or ''skip''.';
	ELSIF getdatabaseencoding() <> 'UTF8' THEN
		RAISE EXCEPTION 'rollouts cannot be loaded into a database with encoding %', getdatabaseencoding()
			USING ERRCODE = 'feature_not_supported', HINT = 'Use a database with encoding UTF8.';
	ELSIF (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = load_rollouts.lines AND NOT a.attisdropped
		AND (a.attname, a.atttypid) IN (('n', 'bigint'::regtype), ('line', 'text'::regtype))) <> 2
	THEN
		RAISE EXCEPTION 'relation "%" must have the columns n bigint and line text',
			load_rollouts.lines USING ERRCODE = 'undefined_column';
	END IF;
	-- Drop temporary tables of an earlier load in the same transaction.
	FOREACH relic IN ARRAY ARRAY['stepadv_parsed', 'stepadv_problems', 'stepadv_rollouts', 'stepadv_repeated',
		'stepadv_known'] LOOP
		IF to_regclass('pg_temp.' || relic) IS NOT NULL THEN
			EXECUTE format('DROP TABLE pg_temp.%I', relic);
		END IF;
	END LOOP;
	CREATE TEMP TABLE stepadv_problems (n bigint, reason text, is_contradiction boolean) ON COMMIT DROP;
	shape := stepadv_internal.load_shape(load_rollouts.schema);
	SELECT p.* INTO n_lines, n_empty_lines, load_rollouts.n_nul_replaced
	FROM stepadv_internal.load_parse(load_rollouts.schema, shape.keys, load_rollouts.lines, load_rollouts.run_id,
		load_rollouts.policy_version) p;
	INSERT INTO pg_temp.stepadv_problems (n, reason, is_contradiction)
	SELECT p.n, p.problem, false FROM pg_temp.stepadv_parsed p WHERE p.problem IS NOT NULL;
	n_steps_repeated := stepadv_internal.load_drop_repeated(shape.keys);
	PERFORM stepadv_internal.load_gather(shape.keys, load_rollouts.run_id, load_rollouts.policy_version,
		load_rollouts.policy_step);
	ANALYZE pg_temp.stepadv_parsed, pg_temp.stepadv_rollouts;
	-- Statements on the tables run as their owner if the caller has the owner's rights, since defaults, triggers and
	-- casts are the owner's code.
	GRANT SELECT ON pg_temp.stepadv_parsed, pg_temp.stepadv_rollouts TO PUBLIC;
	SELECT r.* INTO n_groups, n_rollouts_added, n_rollouts_updated
	FROM stepadv_internal.load_write_rollouts(load_rollouts.schema, shape.keys, shape.others, load_rollouts.replace) r;
	known_repeated := stepadv_internal.load_drop_known(load_rollouts.schema, shape.keys, load_rollouts.replace);
	SELECT count(*) FILTER (WHERE NOT e.is_contradiction), count(*) FILTER (WHERE e.is_contradiction),
		coalesce((SELECT jsonb_agg(jsonb_build_object('line', w.n, 'problem', w.reason) ORDER BY w.n, w.reason)
			FROM (SELECT * FROM pg_temp.stepadv_problems e ORDER BY e.n, e.reason LIMIT 1000) w), '[]')
	INTO n_bad_lines, n_contradictions, load_rollouts.problems FROM pg_temp.stepadv_problems e;
	FOR problem IN SELECT e.n, e.reason, row_number() OVER (ORDER BY e.n, e.reason) AS i
		FROM pg_temp.stepadv_problems e ORDER BY e.n, e.reason LIMIT 11
	LOOP
		IF load_rollouts.on_error = 'stop' THEN
			RAISE EXCEPTION 'line %: %', problem.n, problem.reason
				USING ERRCODE = 'data_exception',
					DETAIL = format('%s lines cannot be used, %s contradict others. Nothing was loaded.', n_bad_lines,
						n_contradictions),
					HINT = 'Use on_error => ''skip'' to load the rest.';
		ELSIF problem.i <= 10 THEN
			RAISE WARNING 'line %: %', problem.n, problem.reason;
		ELSE
			RAISE WARNING '% more problems: see the column problems', n_bad_lines + n_contradictions - 10;
		END IF;
	END LOOP;
	n_steps_added := stepadv_internal.load_write_steps(load_rollouts.schema, shape.keys);
	n_steps_repeated := n_steps_repeated + known_repeated;
	DROP TABLE pg_temp.stepadv_parsed, pg_temp.stepadv_problems, pg_temp.stepadv_rollouts, pg_temp.stepadv_repeated,
		pg_temp.stepadv_known;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_rollouts(text, regclass, text, text, text, bigint, boolean) IS
'what load_rollouts does';

CREATE FUNCTION stepadv.load_rollouts(schema text, lines regclass, on_error text DEFAULT 'stop',
	run_id text DEFAULT NULL, policy_version text DEFAULT NULL, policy_step bigint DEFAULT NULL,
		replace boolean DEFAULT false,
	OUT n_lines bigint, OUT n_empty_lines bigint, OUT n_bad_lines bigint,
	OUT n_groups bigint, OUT n_rollouts_added bigint, OUT n_rollouts_updated bigint,
	OUT n_steps_added bigint, OUT n_steps_repeated bigint, OUT n_contradictions bigint,
	OUT n_nul_replaced bigint,
		OUT problems jsonb)
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_caller';
COMMENT ON FUNCTION stepadv.load_rollouts(text, regclass, text, text, text, bigint, boolean) IS
'loads lines of JSON, one step each (keys: docs/tables.md), from a table (n bigint, line text) into the tables of '
'the schema, and returns counts; on_error ''stop'': an invalid or contradicting line is an error; ''skip'': it is '
'skipped and listed in problems; replace: it replaces the stored step';

-- load_rollouts: from a table of lines to the canonical tables.

-- Lines of which it is plain what they are.
CREATE FUNCTION stepadv_internal.read_lines(lines text[], is_latin1 boolean) RETURNS SETOF @extschema@.parsed_step
LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 100
AS 'MODULE_PATHNAME', 'stepadv_read_lines';
COMMENT ON FUNCTION stepadv_internal.read_lines(text[], boolean) IS
'part of load_rollouts: a row for each line, as step_of_json gives it, or of NULLs where step_of_json must be asked; error where one is no JSON';

-- All lines at once; where one of them is bad or holds U+0000, one by one.
CREATE FUNCTION stepadv_internal.parse_rollout_lines(numbers bigint[], lines text[], is_latin1 boolean, OUT nul_replaced bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- Planned once.  No line comes twice.
SET plan_cache_mode = force_generic_plan
SET enable_memoize = off
AS $$
DECLARE
	n_parsed bigint;
	n_others bigint;
BEGIN
	nul_replaced := 0;
	BEGIN
		INSERT INTO pg_temp.stepadv_parsed
		SELECT s.n, s.n, s.* FROM ROWS FROM (unnest(parse_rollout_lines.numbers), stepadv_internal.read_lines(parse_rollout_lines.lines, parse_rollout_lines.is_latin1)) s(n)
		WHERE s.rollout_id IS NOT NULL;
		GET DIAGNOSTICS n_parsed = ROW_COUNT;
		IF n_parsed < cardinality(parse_rollout_lines.lines) THEN
			INSERT INTO pg_temp.stepadv_parsed
			SELECT l.n, l.n, l.n, s.*
			FROM ROWS FROM (unnest(parse_rollout_lines.numbers), unnest(parse_rollout_lines.lines), stepadv_internal.read_lines(parse_rollout_lines.lines, parse_rollout_lines.is_latin1)) l(n, line),
				LATERAL (SELECT CASE WHEN parse_rollout_lines.is_latin1 THEN stepadv_internal.import_utf8(l.line) ELSE l.line END::jsonb AS j OFFSET 0) t,
				LATERAL stepadv_internal.step_of_json(t.j) s
			WHERE l.rollout_id IS NULL;
			GET DIAGNOSTICS n_others = ROW_COUNT;
			n_parsed := n_parsed + n_others;
		END IF;
		IF n_parsed < cardinality(parse_rollout_lines.lines) THEN
			RAISE data_exception;
		END IF;
	EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
		WITH parsed AS MATERIALIZED (
			SELECT l.n, p.*
			FROM unnest(parse_rollout_lines.numbers, parse_rollout_lines.lines) l(n, line), LATERAL @extschema@.parse_rollout_line(l.line, parse_rollout_lines.is_latin1) p
		), told AS (
			INSERT INTO pg_temp.stepadv_problems (n, reason, counted) SELECT p.n, p.problem, 'bad' FROM parsed p WHERE p.problem IS NOT NULL
		), good AS (
			INSERT INTO pg_temp.stepadv_parsed
			SELECT p.n, p.n, p.* FROM parsed p WHERE p.problem IS NULL
		)
		SELECT coalesce(sum(p.nul_replaced), 0) INTO parse_rollout_lines.nul_replaced FROM parsed p WHERE p.problem IS NULL;
	END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.parse_rollout_lines(bigint[], text[], boolean) IS
'part of load_rollouts: lines and their numbers into pg_temp.stepadv_parsed, or with what is wrong with them into pg_temp.stepadv_problems; how many U+0000 were made U+FFFD';

CREATE FUNCTION @extschema@.load_rollouts(schema text, lines regclass, on_error text DEFAULT 'stop', is_latin1 boolean DEFAULT false,
	run_id text DEFAULT NULL, policy_version text DEFAULT NULL, policy_step bigint DEFAULT NULL, replace boolean DEFAULT false,
	OUT lines_read bigint, OUT empty_lines bigint, OUT bad_lines bigint,
	OUT groups bigint, OUT rollouts_added bigint, OUT rollouts_updated bigint,
	OUT steps_added bigint, OUT steps_repeated bigint,
	OUT contradictions bigint, OUT nul_replaced bigint, OUT problems jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- A file's size does not show in the server's memory.
SET work_mem = '32MB'
SET jit = off
AS $$
DECLARE
	batch record;
	direct record;
	n_lines bigint := 0;
BEGIN
	-- Long texts take less time so; whoever has chosen something has it as chosen.
	PERFORM stepadv_internal.load_by_lz4() FROM pg_settings s WHERE s.name = 'default_toast_compression' AND s.source = 'default';
	PERFORM stepadv_internal.load_begin(load_rollouts.schema, load_rollouts.on_error);
	IF (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = load_rollouts.lines AND NOT a.attisdropped
		AND (a.attname, a.atttypid) IN (('n', 'bigint'::regtype), ('line', 'text'::regtype))) <> 2
	THEN
		RAISE EXCEPTION 'relation "%" must have the columns n bigint and line text', load_rollouts.lines
			USING ERRCODE = 'undefined_column';
	END IF;

	lines_read := 0;
	empty_lines := 0;
	load_rollouts.nul_replaced := 0;
	-- Of what may be read only once it is not known how much there is.
	IF (SELECT c.relkind IN ('r', 'p', 'm') FROM pg_class c WHERE c.oid = load_rollouts.lines) THEN
		EXECUTE format('SELECT count(*) FROM %s', stepadv_internal.load_name(load_rollouts.lines)) INTO n_lines;
		direct := stepadv_internal.load_directly(load_rollouts.schema, 'write_lines'::text, format('SELECT l.n, l.line FROM %s l', stepadv_internal.load_name(load_rollouts.lines)), n_lines,
			load_rollouts.run_id, load_rollouts.policy_version, load_rollouts.policy_step, load_rollouts.is_latin1, NULL::text, NULL::float8);
		IF direct.n_read IS NOT NULL THEN
			SELECT n_lines, n_lines - direct.n_read, 0, direct.groups, direct.rollouts_added, 0, direct.steps_added, 0, 0, '[]'
			INTO lines_read, empty_lines, bad_lines, load_rollouts.groups, rollouts_added, rollouts_updated, steps_added, steps_repeated, contradictions, load_rollouts.problems;
			RETURN;
		END IF;
	END IF;
	PERFORM stepadv_internal.load_make_parsed(load_rollouts.schema, load_rollouts.run_id, load_rollouts.policy_version, false);
	PERFORM stepadv_internal.begin_work('read'::text, 'lines'::text, ''::text, n_lines);
	-- Each line is parsed once, whatever follows, together with its neighbours.
	FOR batch IN EXECUTE format($q$
		SELECT count(*) AS lines_read, array_agg(b.n) FILTER (WHERE NOT b.is_empty) AS n, array_agg(b.line) FILTER (WHERE NOT b.is_empty) AS lines
		FROM (SELECT l.n, l.line, ascii(l.line) <= 32 AND btrim(l.line, E' \t\r\n') = '' AS is_empty,
				sum(octet_length(l.line)) OVER (ROWS UNBOUNDED PRECEDING) / 131072 AS batch
			FROM (SELECT s.n, CASE WHEN s.n = (SELECT min(f.n) FROM %1$s f) AND starts_with(s.line, %2$L)
					THEN substr(s.line, length(%2$L) + 1) ELSE s.line END AS line
				FROM %1$s s OFFSET 0) l
			ORDER BY batch) b
		GROUP BY b.batch
		$q$,
		stepadv_internal.load_name(load_rollouts.lines),
		-- A byte order mark, as the lines spell it.
		CASE WHEN load_rollouts.is_latin1 THEN chr(239) || chr(187) || chr(191) ELSE convert_from('\xefbbbf', 'UTF8') END)
	LOOP
		lines_read := lines_read + batch.lines_read;
		empty_lines := empty_lines + batch.lines_read - coalesce(cardinality(batch.n), 0);
		load_rollouts.nul_replaced := load_rollouts.nul_replaced + stepadv_internal.parse_rollout_lines(batch.n, batch.lines, load_rollouts.is_latin1);
		PERFORM stepadv_internal.work_done(batch.lines_read);
	END LOOP;
	SELECT p.bad_items, p.groups, p.rollouts_added, p.rollouts_updated, p.steps_added, p.steps_repeated, p.contradictions, p.problems
	INTO bad_lines, load_rollouts.groups, rollouts_added, rollouts_updated, steps_added, steps_repeated, contradictions, load_rollouts.problems
	FROM stepadv_internal.load_parsed(load_rollouts.schema, load_rollouts.on_error, 'line'::text, false, load_rollouts.run_id, load_rollouts.policy_version, load_rollouts.policy_step, load_rollouts.replace) p;
END
$$;
COMMENT ON FUNCTION @extschema@.load_rollouts(text, regclass, text, boolean, text, text, bigint, boolean) IS
'loads lines of JSON, one step each, from a table (n bigint, line text) into the schema''s tables rollouts and steps and returns counts; on_error ''stop'': a line that cannot be used, or contradicts another or the tables, is an error and nothing is loaded; ''skip'': such lines are left out (of contradicting outcomes the later holds), warned about and listed in problems (the first 1000); lines loaded before are recognised and not loaded again; is_latin1 as in parse_rollout_line; run_id, policy_version, policy_step: of the rollouts whose lines do not say; a line without the columns of the group that have no default cannot be used, but task_id and group_id stand for each other where the tables have only one of them in their key; replace: a step that says something else than the table''s takes its place, an outcome likewise, and neither is a contradiction';

-- The quick way of the importers: every line or document is read once, and its
-- steps are written at once.  What gives any occasion to say something goes the
-- long way (import/27-parsed.sql, 40-import.sql), as if nothing had happened.

-- Rollouts as the functions in C give them, whose steps have been written.
CREATE FUNCTION stepadv_internal.write_lines(steps regclass, rollouts regclass, keys text[], otherwise text[], lacking text[],
	run_id text, policy_version text, policy_step bigint, is_latin1 boolean, query text)
RETURNS TABLE (keys_given text[], rollout_id text, task_id text, group_id text, of_run text, of_version text, of_policy_step bigint, tags jsonb, outcome float8, success boolean, truncated boolean,
	model text, channel text, curation text, started_at timestamptz, ended_at timestamptz, metadata jsonb, n_read bigint, n_steps bigint, dropped jsonb, repaired jsonb, n_actions bigint, n_states bigint, n_tokens bigint)
LANGUAGE c PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_write_lines';
COMMENT ON FUNCTION stepadv_internal.write_lines(regclass, regclass, text[], text[], text[], text, text, bigint, boolean, text) IS
'part of load_rollouts: writes the steps of the lines that the query gives (n bigint, line text) to the canonical table of steps, and gives their rollouts, which the caller must write: keys_given are the values of the group''s columns keys, or of otherwise where a line does not say; lacking: of which columns the tables have none; error (SA002) where anything must be looked at one by one';

CREATE FUNCTION stepadv_internal.write_documents(steps regclass, rollouts regclass, keys text[], otherwise text[], lacking text[],
	run_id text, policy_version text, policy_step bigint, group_prefix text, success_at float8, query text)
RETURNS TABLE (keys_given text[], rollout_id text, task_id text, group_id text, of_run text, of_version text, of_policy_step bigint, tags jsonb, outcome float8, success boolean, truncated boolean,
	model text, channel text, curation text, started_at timestamptz, ended_at timestamptz, metadata jsonb, n_read bigint, n_steps bigint, dropped jsonb, repaired jsonb, n_actions bigint, n_states bigint, n_tokens bigint)
LANGUAGE c PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_write_documents';
COMMENT ON FUNCTION stepadv_internal.write_documents(regclass, regclass, text[], text[], text[], text, text, bigint, text, float8, text) IS
'part of import_rollouts: as write_lines, for a query that gives rollouts in our words, and whether each is the first of its document (v jsonb, is_first boolean); dropped and repaired: what is to be told of it';

CREATE FUNCTION stepadv_internal.load_direct_query(schema text, function text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- None is known: the INSERT tells where that is not so.
	RETURN format($q$
		CREATE TEMP TABLE stepadv_rollouts ON COMMIT DROP AS
		SELECT %3$s AS of_group, %2$s, x.rollout_id, x.of_run AS run_id, x.of_version AS policy_version, x.of_policy_step AS policy_step, x.task_id, x.group_id, x.tags,
			x.outcome, x.success, x.truncated, x.model, x.channel, x.curation, x.started_at, x.ended_at, x.metadata, x.n_read, x.n_steps, x.dropped, x.repaired, x.n_actions, x.n_states, x.n_tokens,
			false AS is_known, NULL::float8 AS known_outcome, NULL::boolean AS known_success
		FROM stepadv_internal.%1$s($1, $2, $3, $4, $5, $6, $7, $8, %4$s) x
		$q$, load_direct_query.function,
		stepadv_internal.load_key_list(load_direct_query.schema, 'x.keys_given[%2$s] AS k%2$s'::text, ', '::text),
		(SELECT CASE WHEN cardinality(s.keys) = 1 THEN 'x.keys_given[1]'
			ELSE stepadv_internal.load_key_list(load_direct_query.schema, 'quote_literal(x.keys_given[%2$s])'::text, ' || '','' || '::text) END FROM stepadv_internal.load_shape(load_direct_query.schema) s),
		CASE load_direct_query.function WHEN 'write_lines' THEN '$9, $12' ELSE '$10, $11, $12' END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_direct_query(text, text) IS
'part of load_rollouts: the statement that writes steps with write_lines or write_documents and makes pg_temp.stepadv_rollouts of their rollouts';

-- As load_tell, of rollouts that have just been written as they are: nothing is read again.
CREATE FUNCTION stepadv_internal.load_tell_written(schema text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF to_regclass('pg_temp.stepadv_told') IS NOT NULL THEN
		EXECUTE format($q$
			CREATE TEMP TABLE stepadv_now ON COMMIT DROP AS
			SELECT hash_record_extended(ROW(%s, r.rollout_id), 0) AS rollout, (r.outcome IS NOT NULL OR r.success IS NOT NULL)::integer AS judged, (r.started_at IS NOT NULL)::integer AS timed,
				(r.policy_version <> '')::integer AS of_version, r.started_at AS first_at, coalesce(r.ended_at, r.started_at) AS last_at,
				r.n_steps AS steps, r.n_actions AS with_action, r.n_states AS with_state, r.n_tokens AS with_tokens
			FROM pg_temp.stepadv_rollouts r
			$q$, stepadv_internal.load_key_list(load_tell_written.schema, 'r.k%2$s'::text, ', '::text));
		PERFORM stepadv_internal.load_tell_rollouts();
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_tell_written(text) IS
'part of load_rollouts: adds to pg_temp.stepadv_told, if there is one, what write_lines or write_documents counted of the rollouts in pg_temp.stepadv_rollouts';

CREATE FUNCTION stepadv_internal.load_directly(schema text, function text, query text, n_expected bigint, run_id text, policy_version text, policy_step bigint, is_latin1 boolean, group_prefix text, success_at float8,
	OUT n_read bigint, OUT stepless_rollouts bigint, OUT unjudged_rollouts bigint, OUT groups bigint, OUT rollouts_added bigint, OUT steps_added bigint, OUT dropped jsonb, OUT repaired jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- In the order of the file.
SET synchronize_seqscans = off
SET work_mem = '32MB'
SET jit = off
AS $$
DECLARE
	shape CONSTANT record := stepadv_internal.load_shape(load_directly.schema);
	waits CONSTANT boolean := stepadv_internal.load_is_distributed(load_directly.schema);
	overtaken boolean;
BEGIN
	PERFORM stepadv_internal.begin_work('wrote'::text, 'steps'::text, ''::text, load_directly.n_expected);
	EXECUTE stepadv_internal.load_direct_query(load_directly.schema, load_directly.function)
		USING CASE WHEN waits THEN stepadv_internal.load_make_waiting(load_directly.schema) ELSE format('%I.steps', load_directly.schema)::regclass END, format('%I.rollouts', load_directly.schema)::regclass, shape.keys,
			stepadv_internal.load_key_otherwise(load_directly.schema, load_directly.run_id, load_directly.policy_version), shape.lacking,
			load_directly.run_id, load_directly.policy_version, load_directly.policy_step, load_directly.is_latin1, load_directly.group_prefix, load_directly.success_at, load_directly.query;
	PERFORM stepadv_internal.end_work();
	SELECT sum(r.n_read), count(*) FILTER (WHERE r.n_steps = 0), count(*) FILTER (WHERE r.outcome IS NULL AND r.success IS NULL), sum(r.n_steps),
		stepadv_internal.import_counts(array_agg(r.dropped) FILTER (WHERE r.dropped IS NOT NULL)), stepadv_internal.import_counts(array_agg(r.repaired) FILTER (WHERE r.repaired IS NOT NULL))
	INTO n_read, stepless_rollouts, unjudged_rollouts, steps_added, load_directly.dropped, load_directly.repaired FROM pg_temp.stepadv_rollouts r;
	IF waits THEN
		-- Before anything is written: what a worker refuses takes its connection along.
		EXECUTE stepadv_internal.load_known_query(load_directly.schema, 'rollouts'::text, 'pg_temp.stepadv_rollouts'::text, 'count(*) > 0'::text) INTO overtaken;
		IF overtaken THEN
			RAISE EXCEPTION 'the tables have some of the rollouts' USING ERRCODE = 'SA002';
		END IF;
	END IF;
	SELECT w.groups, w.rollouts_added, w.overtaken INTO load_directly.groups, rollouts_added, overtaken FROM stepadv_internal.load_write_rollouts(load_directly.schema) w;
	IF overtaken OR n_read IS NULL THEN
		RAISE EXCEPTION 'the table has some of the rollouts' USING ERRCODE = 'SA002';
	END IF;
	IF waits THEN
		PERFORM stepadv_internal.load_move_steps(load_directly.schema);
	END IF;
	PERFORM stepadv_internal.load_tell_written(load_directly.schema);
	DROP TABLE pg_temp.stepadv_rollouts;
EXCEPTION WHEN OTHERS THEN
	-- Whatever it was, the long way says it in the user's words, or finds nothing
	-- wrong with it.
	PERFORM stepadv_internal.end_work();
	n_read := NULL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_directly(text, text, text, bigint, text, text, bigint, boolean, text, float8) IS
'part of load_rollouts: reads what the query gives and writes it to the schema''s tables, and counts; function: write_lines for lines (n bigint, line text), write_documents for rollouts in our words (v jsonb, is_first boolean); n_read NULL: nothing has happened, as there is something to say, or a trigger, row security or the like leaves it to an INSERT';

-- Step records, a document each or in lists: many make one rollout, in any order, in
-- one file or several.  They are lines of load_rollouts under other names, and become
-- these: nothing needs to have a rollout whole.

-- Records of Claw-R1: its Step, alone, in a list, or in an object as its gateway takes
-- and gives them.
CREATE FUNCTION stepadv_internal.import_records(document jsonb) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF jsonb_typeof(document) = 'array' OR jsonb_typeof(document -> 'steps') = 'array' AND NOT document ? 'trajectory_uid' THEN
		RETURN QUERY SELECT r.v FROM jsonb_array_elements(CASE jsonb_typeof(document) WHEN 'array' THEN document ELSE document -> 'steps' END) r(v);
	ELSE
		RETURN NEXT document;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_records(jsonb) IS 'part of import_rollouts: the step records of a document: itself, the elements of a list, or those of steps';

-- version: that of the whole rollout.
CREATE FUNCTION stepadv_internal.import_record_line(record jsonb, version jsonb, group_prefix text, success_at float8) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_judged CONSTANT boolean := coalesce(record -> 'is_last' = 'true' AND jsonb_typeof(record -> 'reward') = 'number', false);
	meta CONSTANT jsonb := CASE WHEN jsonb_typeof(record -> 'metadata') = 'object' THEN record -> 'metadata' ELSE '{}' END;
BEGIN
	IF jsonb_typeof(record) IS DISTINCT FROM 'object' THEN
		RETURN record;
	END IF;
	-- What has no column is kept with the step; what only counts the rest is not.
	RETURN jsonb_strip_nulls(record - '{prompt_uid,trajectory_uid,step_index,is_last,prompt_ids,response_ids,response_mask,rollout_log_probs,routed_experts,prompt_text,prompt,response_text,response,reward,policy_version,channel,
			metadata,curation,step_key,storage_index,complete,reward_state,prompt_len,response_len,token_count,action_summary}'::text[])
		|| stepadv_internal.import_tokens(record) || jsonb_strip_nulls(jsonb_build_object(
		'task_id', CASE WHEN jsonb_typeof(record -> 'prompt_uid') IN ('string', 'number') THEN import_record_line.group_prefix || (record ->> 'prompt_uid') END,
		'rollout_id', record -> 'trajectory_uid', 'step_no', record -> 'step_index', 'turn', record -> 'step_index',
		'observation', coalesce(record -> 'prompt_text', record -> 'prompt'), 'action', coalesce(record -> 'response_text', record -> 'response'),
		'reward', record -> 'reward', 'outcome', CASE WHEN is_judged THEN record -> 'reward' END,
		'success', CASE WHEN is_judged THEN (record ->> 'reward')::float8 >= import_record_line.success_at - 1e-9 END,
		'policy_version', import_record_line.version, 'policy_step', CASE WHEN jsonb_typeof(import_record_line.version) = 'number' AND (import_record_line.version #>> '{}')::numeric % 1 = 0 THEN import_record_line.version END,
		'channel', CASE record ->> 'channel' WHEN 'val' THEN 'validation' WHEN 'train' THEN 'train' WHEN 'validation' THEN 'validation' END,
		'meta', nullif(meta || jsonb_strip_nulls(jsonb_build_object('curation', record -> 'curation', 'policy_version', CASE WHEN record -> 'policy_version' <> import_record_line.version THEN record -> 'policy_version' END)), '{}')));
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_record_line(jsonb, jsonb, text, float8) IS
'part of import_rollouts: a step record of Claw-R1 as a line of load_rollouts; the reward of the last step is the outcome too';

-- The same for whoever wants rollouts: those of a document alone.
CREATE FUNCTION @extschema@.parse_claw_r1(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	SELECT (array_agg(l.v - of_step ORDER BY l.step_no DESC))[1] || jsonb_build_object('steps', jsonb_agg(l.v - of_rollout ORDER BY l.step_no))
	FROM (SELECT '{step_no,turn,observation,action,reward,meta,prompt_token_ids,response_token_ids,response_mask,rollout_logprobs}'::text[] AS of_step,
			'{task_id,rollout_id,outcome,success,policy_version,policy_step,channel}'::text[] AS of_rollout) keys,
		(SELECT stepadv_internal.import_record_line(r.v, first_value(r.v -> 'policy_version') OVER (PARTITION BY r.v -> 'prompt_uid', r.v -> 'trajectory_uid' ORDER BY r.v -> 'step_index'), ''::text, 1::float8) AS v, r.v -> 'step_index' AS step_no
		FROM stepadv_internal.import_records(document) r(v) WHERE jsonb_typeof(r.v) = 'object') l
	GROUP BY l.v -> 'task_id', l.v -> 'rollout_id', of_step, of_rollout;
END
$$;
COMMENT ON FUNCTION @extschema@.parse_claw_r1(jsonb, text, bigint) IS
'the rollouts of a document of step records of Claw-R1 (prompt_uid, trajectory_uid, step_index, is_last, prompt_ids, response_ids, rollout_log_probs, reward, policy_version), as far as they are in it: import_rollouts puts those of many documents and files together; one jsonb per rollout as in docs/import.md';

-- Documents to records; what is no JSON stays as it is, for load_rollouts to refuse.
CREATE FUNCTION stepadv_internal.import_safe_json(document text, is_latin1 boolean, OUT content jsonb, OUT nul_replaced integer)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT t.content, t.nul_replaced INTO content, nul_replaced FROM stepadv_internal.json_of_text(import_safe_json.document, import_safe_json.is_latin1) t;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
	content := NULL;
	nul_replaced := 0;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_safe_json(text, boolean) IS 'part of import_rollouts: json_of_text, NULL where the text is no JSON';

CREATE FUNCTION stepadv_internal.import_make_records(documents regclass, kind text, is_latin1 boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	CREATE TEMP TABLE stepadv_records (n bigint, record jsonb, raw text, prompt text, trajectory text, step numeric, nul_replaced integer) ON COMMIT DROP;
	ALTER TABLE pg_temp.stepadv_records ALTER record SET STORAGE EXTERNAL;
	-- A list's elements are numbered as lines would be.
	EXECUTE format($q$
		INSERT INTO pg_temp.stepadv_records
		SELECT row_number() OVER (), r.v, CASE WHEN r.v IS NULL THEN %3$s END, r.v ->> 'prompt_uid', r.v ->> 'trajectory_uid',
			CASE WHEN jsonb_typeof(r.v -> 'step_index') = 'number' THEN (r.v ->> 'step_index')::numeric END, j.nul_replaced
		FROM (SELECT d.document FROM %1$s d ORDER BY d.n) d CROSS JOIN LATERAL (%2$s) j
		LEFT JOIN LATERAL stepadv_internal.import_records(j.content) r(v) ON true
		WHERE d.document IS NOT NULL AND btrim(d.document::text, E' \t\r\n') <> ''
		$q$, stepadv_internal.load_name(import_make_records.documents),
		CASE import_make_records.kind WHEN 'text' THEN format('SELECT s.content, s.nul_replaced FROM stepadv_internal.import_safe_json(d.document, %L::boolean) s', import_make_records.is_latin1)
			ELSE 'SELECT d.document AS content, 0 AS nul_replaced' END,
		CASE import_make_records.kind WHEN 'text' THEN 'd.document' ELSE 'd.document::text' END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_make_records(regclass, text, boolean) IS
'part of import_rollouts: makes pg_temp.stepadv_records of documents (n bigint, document text or jsonb): a step record each, or raw, a text that is no JSON';

-- A rollout is of the version of its first step, though the policy may have changed
-- since.  Where the first step came with another file the tables know: of the task's
-- rollout and the run's, as another may be called the same.
CREATE FUNCTION stepadv_internal.import_record_versions(schema text, group_prefix text, run_id text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	shape CONSTANT record := stepadv_internal.load_shape(import_record_versions.schema);
BEGIN
	CREATE TEMP TABLE stepadv_trajectories ON COMMIT DROP AS
	SELECT r.prompt, r.trajectory, min(r.n) AS first_n, (array_agg(r.record -> 'policy_version' ORDER BY r.step, r.n))[1] AS version, bool_or(r.step = 0) AND bool_or(r.record -> 'is_last' = 'true') AS is_whole
	FROM pg_temp.stepadv_records r GROUP BY r.prompt, r.trajectory;
	IF EXISTS (SELECT FROM pg_temp.stepadv_trajectories t WHERE t.is_whole IS NOT TRUE) AND 'policy_version' <> ALL (shape.lacking) THEN
		EXECUTE format($q$
			UPDATE pg_temp.stepadv_trajectories t
			-- A number stays one.
			SET version = CASE WHEN jsonb_typeof(t.version) = 'number' AND k.version ~ '^-?[0-9]{1,18}$' THEN k.version::jsonb ELSE to_jsonb(k.version) END
			FROM (SELECT r.rollout_id, %2$s AS task_id, min(r.policy_version) AS version FROM %1$I.rollouts r
				WHERE r.rollout_id = ANY ((SELECT array_agg(n.trajectory) FROM pg_temp.stepadv_trajectories n WHERE n.is_whole IS NOT TRUE)::text[]) AND r.policy_version <> '' AND %3$s
				GROUP BY 1, 2) k
			WHERE k.rollout_id = t.trajectory AND (k.task_id = $1 || t.prompt OR k.task_id IS NULL) AND t.is_whole IS NOT TRUE
			$q$, import_record_versions.schema,
			CASE WHEN 'task_id' = ANY (shape.keys) THEN 'r.task_id::text' WHEN 'group_id' = ANY (shape.keys) THEN 'r.group_id::text' ELSE 'NULL::text' END,
			CASE WHEN 'run_id' = ANY (shape.keys) THEN '(r.run_id::text = $2 OR $2 IS NULL)' ELSE 'true' END)
			USING import_record_versions.group_prefix,
				(stepadv_internal.load_key_otherwise(import_record_versions.schema, import_record_versions.run_id, NULL::text))[array_position(shape.keys, 'run_id')];
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_record_versions(text, text, text) IS
'part of import_rollouts: makes pg_temp.stepadv_trajectories of pg_temp.stepadv_records, with the policy_version of each: that of its first step, or that which the schema''s tables have for the rollout of that task, with group_prefix before it, and run';

CREATE FUNCTION stepadv_internal.import_record_steps(schema text, documents regclass, kind text, on_error text, group_prefix text, success_at float8, is_latin1 boolean,
	run_id text, policy_version text, policy_step bigint, replace boolean) RETURNS jsonb
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET work_mem = '32MB'
AS $$
DECLARE
	result jsonb;
	nuls bigint;
	experts bigint;
BEGIN
	PERFORM stepadv_internal.import_make_records(import_record_steps.documents, import_record_steps.kind, import_record_steps.is_latin1);
	PERFORM stepadv_internal.import_record_versions(import_record_steps.schema, import_record_steps.group_prefix, import_record_steps.run_id);
	SELECT coalesce(sum(r.nul_replaced), 0), count(*) FILTER (WHERE coalesce(r.record -> 'routed_experts', 'null') <> 'null') INTO nuls, experts FROM pg_temp.stepadv_records r;
	CREATE TEMP TABLE stepadv_record_lines (n bigint, line text) ON COMMIT DROP;
	ALTER TABLE pg_temp.stepadv_record_lines ALTER line SET STORAGE EXTERNAL;
	INSERT INTO pg_temp.stepadv_record_lines
	SELECT r.n, coalesce(stepadv_internal.import_record_line(r.record, t.version, import_record_steps.group_prefix, import_record_steps.success_at)::text, r.raw)
	FROM pg_temp.stepadv_records r LEFT JOIN pg_temp.stepadv_trajectories t ON t.prompt IS NOT DISTINCT FROM r.prompt AND t.trajectory = r.trajectory
	ORDER BY t.first_n, r.step, r.n;
	DROP TABLE pg_temp.stepadv_records, pg_temp.stepadv_trajectories;
	SELECT to_jsonb(l) - '{lines_read,empty_lines,bad_lines,problems}'::text[] || jsonb_build_object('documents_read', l.lines_read - l.empty_lines, 'bad_documents', l.bad_lines, 'nul_replaced', l.nul_replaced + nuls,
		'dropped', jsonb_strip_nulls(jsonb_build_object('experts of tokens', nullif(experts, 0))),
		'problems', coalesce((SELECT jsonb_agg(p.v - 'line' || jsonb_build_object('document', p.v -> 'line') ORDER BY p.i) FROM jsonb_array_elements(l.problems) WITH ORDINALITY p(v, i)), '[]')) INTO result
	FROM @extschema@.load_rollouts(import_record_steps.schema, 'pg_temp.stepadv_record_lines'::regclass, import_record_steps.on_error, false, import_record_steps.run_id, import_record_steps.policy_version,
		import_record_steps.policy_step, import_record_steps.replace) l;
	DROP TABLE pg_temp.stepadv_record_lines;
	RETURN result;
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_record_steps(text, regclass, text, text, text, float8, boolean, text, text, bigint, boolean) IS
'part of import_rollouts: documents of step records into the schema''s tables, as lines of load_rollouts, and its counts under the names of import_rollouts';

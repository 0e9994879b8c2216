-- What trainers write: arrays of tokens under their names, and step records, of which
-- many make one rollout.

-- The arrays of tokens of a step, by the names in use, under those of the tables.
CREATE FUNCTION stepadv_internal.import_tokens(record jsonb) RETURNS jsonb
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_import_tokens';
COMMENT ON FUNCTION stepadv_internal.import_tokens(jsonb) IS
'part of import_rollouts: prompt_token_ids, response_token_ids, response_mask and rollout_logprobs of a record, by the names that trainers use (prompt_ids, response_ids, completion_ids, rollout_log_probs, …)';

-- ----------
-- Agent-R1: a line for each trajectory, with its steps
-- ----------

CREATE FUNCTION @extschema@.parse_agent_r1(document jsonb, source text DEFAULT NULL, n bigint DEFAULT NULL) RETURNS SETOF jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
	steps jsonb;
BEGIN
	IF jsonb_typeof(document -> 'steps') IS DISTINCT FROM 'array' OR jsonb_path_exists(document, '$.steps[*] ? (@.type() != "object")') THEN
		RETURN NEXT jsonb_build_object('problem', 'there is no list steps');
		RETURN;
	END IF;
	SELECT coalesce(jsonb_agg(stepadv_internal.import_tokens(s.v) || jsonb_strip_nulls(jsonb_build_object('step_no', s.v -> 'step_index', 'turn', s.v -> 'step_index', 'observation', s.v -> 'input',
			'action', s.v -> 'output', 'reward', s.v -> 'score',
			'meta', nullif(s.v - '{step_index,input,output,gts,score,prompt_ids,response_ids,response_mask,rollout_log_probs}'::text[], '{}'))) ORDER BY s.i), '[]') INTO steps
	FROM jsonb_array_elements(document -> 'steps') WITH ORDINALITY s(v, i);
	RETURN NEXT jsonb_strip_nulls(jsonb_build_object('outcome', document -> 'score', 'policy_version', document -> 'step', 'policy_step', document -> 'step'))
		|| jsonb_build_object('task_id', stepadv_internal.import_digest(document -> 'input'),
			'group_id', concat('step' || (document ->> 'step') || '/', coalesce(document ->> 'uid', stepadv_internal.import_digest(document -> 'input'))),
			'rollout_id', document -> 'trajectory_uid',
			'meta', jsonb_strip_nulls(jsonb_build_object('source', parse_agent_r1.source)) || (document - '{trajectory_uid,input,output,score,step,num_steps,steps}'::text[]),
			'steps', steps);
END
$$;
COMMENT ON FUNCTION @extschema@.parse_agent_r1(jsonb, text, bigint) IS
'the rollout of a line of Agent-R1''s dumps (trajectory_uid, input, output, score, step, steps): its steps have step_index, input, output and score; its task is the first input; one jsonb as in docs/import.md';

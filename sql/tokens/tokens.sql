-- Tokens that steps share: src/tokens/.

-- The arrays have an entry per step, by rollout and step_no; -1 means unknown.
-- Without NULLs, they can be read in place.
CREATE TYPE stepadv.token_lineage AS (
	n_rollouts bigint, n_steps bigint, n_tokens bigint, n_unique_tokens bigint,
	step_ids bigint[], rollout_ids bigint[], step_nos integer[], prompt_lengths integer[], response_lengths integer[],
	shared_lengths integer[], new_lengths integer[], segment_nos integer[]
);
COMMENT ON TYPE stepadv.token_lineage IS
'shared tokens of the steps of a group, made by the aggregate token_lineage: rollouts and steps with known tokens, '
'the number of their tokens, and the number without repeated prefixes; step_lineage returns the steps';

CREATE FUNCTION stepadv_internal.token_lineage_trans(internal, step_id bigint, rollout_id bigint, step_no integer,
	prompt_token_ids anyarray, response_token_ids anyarray) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_token_lineage_trans';
COMMENT ON FUNCTION stepadv_internal.token_lineage_trans(internal, bigint, bigint, integer, anyarray, anyarray) IS
'part of token_lineage: adds a step';

CREATE FUNCTION stepadv_internal.lenient_token_lineage_trans(internal, step_id bigint, rollout_id bigint,
	step_no integer, prompt_token_ids anyarray, response_token_ids anyarray) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_lenient_token_lineage_trans';
COMMENT ON FUNCTION stepadv_internal.lenient_token_lineage_trans(internal, bigint, bigint, integer, anyarray,
	anyarray) IS
'part of lenient_token_lineage: adds a step';

CREATE FUNCTION stepadv_internal.token_lineage_final(internal) RETURNS stepadv.token_lineage
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_token_lineage_final';
COMMENT ON FUNCTION stepadv_internal.token_lineage_final(internal) IS 'part of token_lineage: the value';

CREATE AGGREGATE stepadv.token_lineage(step_id bigint, rollout_id bigint, step_no integer, prompt_token_ids anyarray,
	response_token_ids anyarray) (
	SFUNC = stepadv_internal.token_lineage_trans, STYPE = internal, SSPACE = 16384,
	FINALFUNC = stepadv_internal.token_lineage_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.token_lineage(bigint, bigint, integer, anyarray, anyarray) IS
'shared tokens of the steps of a group, integer[] or bigint[], in any order: n_tokens, of prompt || response summed '
'over steps, and n_unique_tokens, the nodes of their trie: what remains with a perfect prefix cache; step_lineage '
'returns the steps; NULL tokens are unknown';

CREATE AGGREGATE stepadv_internal.lenient_token_lineage(step_id bigint, rollout_id bigint, step_no integer,
	prompt_token_ids anyarray, response_token_ids anyarray) (
	SFUNC = stepadv_internal.lenient_token_lineage_trans, STYPE = internal, SSPACE = 16384,
	FINALFUNC = stepadv_internal.token_lineage_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.lenient_token_lineage(bigint, bigint, integer, anyarray, anyarray) IS
'token_lineage for views: invalid data raise no error, but make the rollout unknown, with all its steps; rows without '
'a rollout are ignored';

CREATE FUNCTION stepadv.step_lineage(lineage stepadv.token_lineage)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, n_prompt_tokens integer, n_response_tokens integer,
	n_new_tokens integer,
			   extends_previous boolean, differs_at integer, segment_no integer)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 300 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_step_lineage';
COMMENT ON FUNCTION stepadv.step_lineage(stepadv.token_lineage) IS
'the steps of a token_lineage: tokens of prompt and response; n_new_tokens, not in earlier steps of the rollout; '
'extends_previous, whether the prompt begins with all tokens of the previous step; differs_at, the first position '
'that differs; segment_no: steps of one segment extend each other';

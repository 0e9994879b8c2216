-- Policies: src/policy/

CREATE FUNCTION stepadv.step_ratio(logp_new anycompatiblearray, logp_old anycompatiblearray,
	mask boolean[] DEFAULT NULL) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 50
AS 'MODULE_PATHNAME', 'stepadv_step_ratio';

CREATE FUNCTION stepadv.sequence_ratio(logp_new anycompatiblearray, logp_old anycompatiblearray,
	mask boolean[] DEFAULT NULL) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 50
AS 'MODULE_PATHNAME', 'stepadv_sequence_ratio';

CREATE FUNCTION stepadv.approximate_kl(logp_new anycompatiblearray, logp_old anycompatiblearray,
	mask boolean[] DEFAULT NULL,
	estimator text DEFAULT 'k3', clamp_log_ratio float8 DEFAULT NULL, clamp_estimate float8 DEFAULT NULL) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 500
AS 'MODULE_PATHNAME', 'stepadv_approximate_kl';

COMMENT ON FUNCTION stepadv.step_ratio(anycompatiblearray, anycompatiblearray, boolean[]) IS
'importance ratio of a step, exp of the mean over its tokens of logp_new - logp_old (StepPO eq. 7, GSPO); mask: '
'tokens that count; 1 without tokens; NULL for a NULL array; infinity on overflow; error on unequal lengths, and on '
'NULL, NaN or infinite elements that count';
COMMENT ON FUNCTION stepadv.sequence_ratio(anycompatiblearray, anycompatiblearray, boolean[]) IS
'importance ratio of a whole token sequence, exp of the sum of logp_new - logp_old; otherwise as step_ratio';
COMMENT ON FUNCTION stepadv.approximate_kl(anycompatiblearray, anycompatiblearray, boolean[], text, float8, float8) IS
'estimate of KL(old || new), the mean over tokens of -d (''k1''), d^2/2 (''k2'') or exp(d) - 1 - d (''k3''), where d '
'= logp_new - logp_old; clamp_log_ratio clamps d, clamp_estimate each token''s estimate, to plus or minus its value '
'(verl: 20 and 10); 0 without tokens; otherwise as step_ratio';

-- The same, with NULL instead of errors, for rows of views.
CREATE FUNCTION stepadv_internal.ratios_or_null(logp_new anycompatiblearray, logp_old anycompatiblearray,
	mask boolean[], OUT ratio float8, OUT sequence_ratio float8, OUT approximate_kl float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 500
AS 'MODULE_PATHNAME', 'stepadv_ratios_or_null';
COMMENT ON FUNCTION stepadv_internal.ratios_or_null(anycompatiblearray, anycompatiblearray, boolean[]) IS
'step_ratio, sequence_ratio and approximate_kl (k3) for the views of attach: NULL where these are an error';

CREATE FUNCTION stepadv.clipped_objective(ratio float8, advantage float8, clip_low float8 DEFAULT 0.2,
	clip_high float8 DEFAULT NULL, dual_clip float8 DEFAULT NULL) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_clipped_objective';

CREATE FUNCTION stepadv.is_clipped(ratio float8, advantage float8, clip_low float8 DEFAULT 0.2,
	clip_high float8 DEFAULT NULL, dual_clip float8 DEFAULT NULL) RETURNS boolean
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_is_clipped';

COMMENT ON FUNCTION stepadv.clipped_objective(float8, float8, float8, float8, float8) IS
'PPO''s objective of a step, to be maximized: min(w A, clip(w, 1 - clip_low, 1 + clip_high) A); clip_high NULL: '
'clip_low; dual_clip c: if A < 0, at least c A; NULL for a NULL ratio or advantage, 0 for advantage 0; error on a '
'negative or NaN ratio, or a NaN or infinite advantage';
COMMENT ON FUNCTION stepadv.is_clipped(float8, float8, float8, float8, float8) IS
'whether clipped_objective of these arguments no longer depends on the ratio: w > 1 + clip_high if A > 0, w < 1 - '
'clip_low or w > dual_clip if A < 0; false for advantage 0, NULL for a NULL ratio or advantage; its mean is the clip '
'fraction';

CREATE FUNCTION stepadv.token_objective(logp_new anycompatiblearray, logp_old anycompatiblearray, mask boolean[],
	advantage float8,
	kind text DEFAULT 'ppo', clip_low float8 DEFAULT 0.2, clip_high float8 DEFAULT NULL,
	dual_clip float8 DEFAULT NULL, clamp_log_ratio float8 DEFAULT NULL,
	OUT n_tokens bigint, OUT objective float8, OUT log_ratio float8, OUT min_ratio float8, OUT max_ratio float8,
	OUT n_below bigint, OUT n_above bigint, OUT n_clipped bigint) RETURNS record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 500
AS 'MODULE_PATHNAME', 'stepadv_token_objective';
COMMENT ON FUNCTION stepadv.token_objective(anycompatiblearray, anycompatiblearray, boolean[], float8, text, float8,
	float8, float8, float8) IS
'objective of the tokens of a step, to be maximized: the sum over tokens of clipped_objective with each token''s '
'ratio (kind ''ppo'') or their geometric mean (''gspo''), or of weighted log-probabilities (''cispo''); also sum and '
'extremes of the ratios, and how many are outside or clipped';

-- Over a batch

CREATE FUNCTION stepadv_internal.effective_sample_size_trans(float8[], float8) RETURNS float8[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_effective_sample_size_trans';

CREATE FUNCTION stepadv_internal.effective_sample_size_combine(float8[], float8[]) RETURNS float8[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_effective_sample_size_combine';

CREATE FUNCTION stepadv_internal.effective_sample_size_final(float8[]) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_effective_sample_size_final';

CREATE AGGREGATE stepadv.effective_sample_size(weight float8) (
	SFUNC = stepadv_internal.effective_sample_size_trans, STYPE = float8[], INITCOND = '{0,0,0,0,0,0}',
	FINALFUNC = stepadv_internal.effective_sample_size_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = stepadv_internal.effective_sample_size_combine, PARALLEL = SAFE
);

COMMENT ON AGGREGATE stepadv.effective_sample_size(float8) IS
'effective sample size of importance weights: (sum w)^2 / sum w^2 (Kish), between 1 and their number, 0 if all '
'weights are 0; NULLs are left out; NULL over none or if a weight is infinite; error on a negative weight or NaN';

DO $$
DECLARE f regprocedure;
BEGIN
	FOR f IN
		SELECT oid FROM pg_catalog.pg_proc
		WHERE pronamespace = 'stepadv_internal'::pg_catalog.regnamespace
		  AND proname ~ '^effective_sample_size_(trans|combine|final)$'
	LOOP
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', f, 'aggregate support');
	END LOOP;
END $$;

-- Advantages to tokens

CREATE FUNCTION stepadv.broadcast(advantage float8, mask boolean[]) RETURNS real[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_broadcast';
COMMENT ON FUNCTION stepadv.broadcast(float8, boolean[]) IS
'the advantage of a step for each token: an array as long as the mask, with the advantage where it is true, else 0; '
'not divided by the number of tokens; NULL for NULL; error on a NULL in the mask or an advantage out of range for '
'real';

-- Stepwise progress attribution (SPA): src/progress/

CREATE FUNCTION stepadv.hash_features(atoms text[], dim integer DEFAULT 256, ngrams integer DEFAULT 1) RETURNS real[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_hash_features';
COMMENT ON FUNCTION stepadv.hash_features(text[], integer, integer) IS
'features of a step by signed feature hashing: each atom, and each run of up to ngrams atoms in a row, adds +1 '
'or -1 to one of dim indices by its XXH3 hash; no atoms: zeros; the same on every machine and in every version; '
'NULL for NULL; error on a NULL atom';

CREATE FUNCTION stepadv.hash_features_sparse(atoms text[], dim integer DEFAULT 262144, ngrams integer DEFAULT 1,
	OUT indices integer[], OUT weights real[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'stepadv_hash_features_sparse';
COMMENT ON FUNCTION stepadv.hash_features_sparse(text[], integer, integer) IS
'hash_features without its zeros: the indices, counted from 1 and ascending, and their values; dim can therefore be '
'large, so that atoms rarely collide; no atoms: empty arrays; NULL for NULL; error on a NULL atom';

-- Models

CREATE TYPE stepadv.progress_model AS (
	loss text, lambda float8, intercept float8, weights float8[], indices integer[], n_rollouts bigint, n_steps bigint
);
COMMENT ON TYPE stepadv.progress_model IS
'a linear estimator of progress (SPA), fitted by progress_fit: loss, squared or logistic; lambda of the ridge '
'penalty; intercept, once per rollout; weights of the features; indices, ascending, for sparse features, else empty; '
'number of rollouts and steps in the fit';

-- Fitting

CREATE FUNCTION stepadv_internal.progress_fit_trans(internal, bigint, real[], float8, float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'stepadv_progress_fit_trans';
CREATE FUNCTION stepadv_internal.progress_fit_trans(internal, bigint, real[], float8, float8, text) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'stepadv_progress_fit_trans';
CREATE FUNCTION stepadv_internal.progress_fit_trans(internal, bigint, integer[], real[], float8, float8)
RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'stepadv_progress_fit_sparse_trans';
CREATE FUNCTION stepadv_internal.progress_fit_trans(internal, bigint, integer[], real[], float8, float8, text)
RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'stepadv_progress_fit_sparse_trans';
CREATE FUNCTION stepadv_internal.progress_fit_final(internal) RETURNS stepadv.progress_model
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'stepadv_progress_fit_final';

DO $$
DECLARE f regprocedure;
BEGIN
	FOR f IN
		SELECT oid FROM pg_catalog.pg_proc
		WHERE pronamespace = 'stepadv_internal'::pg_catalog.regnamespace AND proname ~ '^progress_fit_(trans|final)$'
	LOOP
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', f, 'aggregate support');
	END LOOP;
END $$;

CREATE AGGREGATE stepadv.progress_fit(rollout_id bigint, features real[], outcome float8, lambda float8) (
	SFUNC = stepadv_internal.progress_fit_trans, STYPE = internal, SSPACE = 65536,
	FINALFUNC = stepadv_internal.progress_fit_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
CREATE AGGREGATE stepadv.progress_fit(rollout_id bigint, features real[], outcome float8, lambda float8,
	loss text) (
	SFUNC = stepadv_internal.progress_fit_trans, STYPE = internal, SSPACE = 65536,
	FINALFUNC = stepadv_internal.progress_fit_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
CREATE AGGREGATE stepadv.progress_fit(rollout_id bigint, indices integer[], weights real[], outcome float8,
	lambda float8) (
	SFUNC = stepadv_internal.progress_fit_trans, STYPE = internal, SSPACE = 65536,
	FINALFUNC = stepadv_internal.progress_fit_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
CREATE AGGREGATE stepadv.progress_fit(rollout_id bigint, indices integer[], weights real[], outcome float8,
	lambda float8, loss text) (
	SFUNC = stepadv_internal.progress_fit_trans, STYPE = internal, SSPACE = 65536,
	FINALFUNC = stepadv_internal.progress_fit_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.progress_fit(bigint, real[], float8, float8) IS
'aggregate over steps in any order: c(s,a) = w x that minimises the mean over rollouts of (b + sum of c - outcome)^2 '
'(SPA) plus lambda |w|^2; outcome is that of the rollout, on any of its rows; rollouts without one are left out; '
'error if lambda is too small for a unique solution';
COMMENT ON AGGREGATE stepadv.progress_fit(bigint, real[], float8, float8, text) IS
'progress_fit with loss ''squared'', or ''logistic'': log-odds of outcomes from 0 to 1, by cross-entropy plus lambda '
'|w|^2';
COMMENT ON AGGREGATE stepadv.progress_fit(bigint, integer[], real[], float8, float8) IS
'progress_fit over sparse features: indices, counted from 1 and ascending, and their values; exact up to 1,500 '
'distinct indices, by conjugate gradients beyond; error if indices are not ascending';
COMMENT ON AGGREGATE stepadv.progress_fit(bigint, integer[], real[], float8, float8, text) IS
'progress_fit over sparse features with loss ''squared'' or ''logistic''';

-- Using a model

CREATE FUNCTION stepadv.progress_predict(model stepadv.progress_model, features real[]) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20
AS 'MODULE_PATHNAME', 'stepadv_progress_predict';
COMMENT ON FUNCTION stepadv.progress_predict(stepadv.progress_model, real[]) IS
'the contribution of a step to the outcome predicted by the model (SPA''s c); for a logistic model, in log-odds; '
'NULL for NULL; error on features of another length, with NULL, NaN or infinity, and on a model of sparse features';

CREATE FUNCTION stepadv.progress_predict(model stepadv.progress_model, indices integer[], weights real[]) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20
AS 'MODULE_PATHNAME', 'stepadv_progress_predict_sparse';
COMMENT ON FUNCTION stepadv.progress_predict(stepadv.progress_model, integer[], real[]) IS
'the same for sparse features, by any model: indices that a model of sparse features has not seen have weight 0; NULL '
'for NULL; errors as for progress_fit over sparse features, and on a place beyond the features of a model of dense '
'features';

CREATE FUNCTION stepadv.progress_outcome(model stepadv.progress_model, contribution float8) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20
AS 'MODULE_PATHNAME', 'stepadv_progress_outcome';
COMMENT ON FUNCTION stepadv.progress_outcome(stepadv.progress_model, float8) IS
'the outcome that the model predicts for a rollout from the sum of the contributions of its steps, with the '
'intercept added; for a logistic model, the probability; NULL for NULL';

CREATE FUNCTION stepadv.progress_fold(group_id bigint, folds integer DEFAULT 5, seed integer DEFAULT 1) RETURNS integer
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1
AS 'MODULE_PATHNAME', 'stepadv_progress_fold';
COMMENT ON FUNCTION stepadv.progress_fold(bigint, integer, integer) IS
'the fold of a group, 0 to folds - 1, by a hash of its id and the seed: evaluate on groups that were held out, never '
'on other steps of the same groups';

-- Models by name

CREATE TABLE stepadv.progress_models (
	name text PRIMARY KEY CHECK (name <> ''),
	model stepadv.progress_model NOT NULL,
	fitted_at timestamptz NOT NULL DEFAULT pg_catalog.now()
);
-- Rows belong to users, so pg_dump includes them.
SELECT pg_catalog.pg_extension_config_dump('stepadv.progress_models', '');
GRANT SELECT ON stepadv.progress_models TO PUBLIC;
-- Objects of a trusted extension are not owned by the user who creates it.
GRANT SELECT, INSERT, UPDATE, DELETE ON stepadv.progress_models TO @extowner@;
COMMENT ON TABLE stepadv.progress_models IS
'estimators of progress by name, for the view _spa of attach; all rows are yours, and all roles may read them';
COMMENT ON COLUMN stepadv.progress_models.name IS 'the name for the option {"spa": {"model": …}} of attach';
COMMENT ON COLUMN stepadv.progress_models.model IS 'an estimator; views that use it follow when it is replaced';
COMMENT ON COLUMN stepadv.progress_models.fitted_at IS 'when the row was inserted';

-- For the view _spa, whose input is not checked: the model may no longer exist, and features may not fit it.
CREATE FUNCTION stepadv_internal.progress_predict_or_nan(model stepadv.progress_model, features real[], name text)
RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 20
AS 'MODULE_PATHNAME', 'stepadv_progress_predict_or_nan';
COMMENT ON FUNCTION stepadv_internal.progress_predict_or_nan(stepadv.progress_model, real[], text) IS
'progress_predict for the view _spa: NaN where that is an error; error where there is no model, with its name';

-- Rewards

CREATE FUNCTION stepadv.fused_reward(contribution float8, grounded boolean, alpha float8 DEFAULT 1,
	beta float8 DEFAULT 0.5) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1
AS 'MODULE_PATHNAME', 'stepadv_fused_reward';
COMMENT ON FUNCTION stepadv.fused_reward(float8, boolean, float8, float8) IS
'alpha * contribution + beta if grounded, that is, if the action could be executed (SPA); NULL for NULL; error '
'on NaN or infinity';

CREATE FUNCTION stepadv_internal.fused_reward_or_nan(contribution float8, grounded boolean, alpha float8,
	beta float8) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_fused_reward_or_nan';
COMMENT ON FUNCTION stepadv_internal.fused_reward_or_nan(float8, boolean, float8, float8) IS
'fused_reward for the views of attach: NaN where the contribution is not finite';

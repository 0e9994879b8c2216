-- Success at k: what k rollouts of a task achieve, of the n that there are.

CREATE FUNCTION stepadv.pass_at_k(n_judged bigint, n_successes bigint, k integer) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_pass_at_k';
COMMENT ON FUNCTION stepadv.pass_at_k(bigint, bigint, integer) IS
'the same of counts: 1 - C(n_judged - n_successes, k) / C(n_judged, k); NULL where k exceeds n_judged or a count '
'is NULL; error on k NULL or below 1, and on more successes than rollouts (Chen et al. 2021)';

CREATE FUNCTION stepadv.pass_hat_k(n_judged bigint, n_successes bigint, k integer) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_pass_hat_k';
COMMENT ON FUNCTION stepadv.pass_hat_k(bigint, bigint, integer) IS
'the same of counts: C(n_successes, k) / C(n_judged, k); NULL where k exceeds n_judged or a count is NULL; error '
'on k NULL or below 1, and on more successes than rollouts (Yao et al. 2024)';

CREATE FUNCTION stepadv_internal.judged_trans(state bigint[], success boolean, k integer) RETURNS bigint[]
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_judged_trans';
COMMENT ON FUNCTION stepadv_internal.judged_trans(bigint[], boolean, integer) IS
'part of pass_at_k and pass_hat_k: one rollout more; the state is judged rollouts, successes, k';

CREATE FUNCTION stepadv_internal.judged_combine(state bigint[], other bigint[]) RETURNS bigint[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_judged_combine';
COMMENT ON FUNCTION stepadv_internal.judged_combine(bigint[], bigint[]) IS
'part of pass_at_k and pass_hat_k: two states';

CREATE FUNCTION stepadv_internal.pass_at_k_final(state bigint[]) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_pass_at_k_final';
COMMENT ON FUNCTION stepadv_internal.pass_at_k_final(bigint[]) IS 'part of pass_at_k';

CREATE FUNCTION stepadv_internal.pass_hat_k_final(state bigint[]) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_pass_hat_k_final';
COMMENT ON FUNCTION stepadv_internal.pass_hat_k_final(bigint[]) IS 'part of pass_hat_k';

CREATE AGGREGATE stepadv.pass_at_k(success boolean, k integer) (
	SFUNC = stepadv_internal.judged_trans, STYPE = bigint[], INITCOND = '{0,0,0}',
	COMBINEFUNC = stepadv_internal.judged_combine,
	FINALFUNC = stepadv_internal.pass_at_k_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.pass_at_k(boolean, integer) IS
'over the rollouts of a task: how probable it is that one of k drawn without replacement succeeded, 1 - C(n-c, '
'k)/C(n, k) (Chen et al. 2021); success NULL: not judged, not counted; NULL where k exceeds n; error on k NULL, '
'below 1 or not the same on all rows';

CREATE AGGREGATE stepadv.pass_hat_k(success boolean, k integer) (
	SFUNC = stepadv_internal.judged_trans, STYPE = bigint[], INITCOND = '{0,0,0}',
	COMBINEFUNC = stepadv_internal.judged_combine,
	FINALFUNC = stepadv_internal.pass_hat_k_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.pass_hat_k(boolean, integer) IS
'over the rollouts of a task: how probable it is that all of k drawn without replacement succeeded, C(c, k)/C(n, '
'k) for c successes of n rollouts (pass^k, reliability); NULLs and errors as of pass_at_k (Yao et al. 2024, '
'tau-bench)';

-- ---- The answer that most of k give

CREATE FUNCTION stepadv_internal.maj_at_k_trans(state stepadv_internal.aggregate_state, answer text, correct boolean,
	k integer) RETURNS stepadv_internal.aggregate_state
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_maj_at_k_trans';
COMMENT ON FUNCTION stepadv_internal.maj_at_k_trans(stepadv_internal.aggregate_state, text, boolean, integer) IS
'part of maj_at_k: one rollout more';

CREATE FUNCTION stepadv_internal.maj_at_k_combine(state stepadv_internal.aggregate_state,
	other stepadv_internal.aggregate_state) RETURNS stepadv_internal.aggregate_state
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_maj_at_k_combine';
COMMENT ON FUNCTION stepadv_internal.maj_at_k_combine(stepadv_internal.aggregate_state,
	stepadv_internal.aggregate_state) IS
'part of maj_at_k: two states';

CREATE FUNCTION stepadv_internal.maj_at_k_final(state stepadv_internal.aggregate_state) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_maj_at_k_final';
COMMENT ON FUNCTION stepadv_internal.maj_at_k_final(stepadv_internal.aggregate_state) IS 'part of maj_at_k';

CREATE AGGREGATE stepadv.maj_at_k(answer text, correct boolean, k integer) (
	SFUNC = stepadv_internal.maj_at_k_trans, STYPE = stepadv_internal.aggregate_state, SSPACE = 1024,
	COMBINEFUNC = stepadv_internal.maj_at_k_combine,
	FINALFUNC = stepadv_internal.maj_at_k_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.maj_at_k(text, boolean, integer) IS
'over the rollouts of a task: how probable it is that the answer most given by k drawn without replacement is '
'right, over all subsets; equally frequent ones are taken equally often (Wang et al. 2023); answer NULL: no '
'vote; correct NULL: not counted; NULL where k exceeds the rollouts judged';

-- ---- The best score of k

CREATE FUNCTION stepadv_internal.best_at_k_trans(state stepadv_internal.aggregate_state, score float8, k integer)
RETURNS stepadv_internal.aggregate_state
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_best_at_k_trans';
COMMENT ON FUNCTION stepadv_internal.best_at_k_trans(stepadv_internal.aggregate_state, float8, integer) IS
'part of best_at_k: one rollout more';

CREATE FUNCTION stepadv_internal.best_at_k_combine(state stepadv_internal.aggregate_state,
	other stepadv_internal.aggregate_state) RETURNS stepadv_internal.aggregate_state
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_best_at_k_combine';
COMMENT ON FUNCTION stepadv_internal.best_at_k_combine(stepadv_internal.aggregate_state,
	stepadv_internal.aggregate_state) IS
'part of best_at_k: two states';

CREATE FUNCTION stepadv_internal.best_at_k_final(state stepadv_internal.aggregate_state) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_best_at_k_final';
COMMENT ON FUNCTION stepadv_internal.best_at_k_final(stepadv_internal.aggregate_state) IS 'part of best_at_k';

CREATE AGGREGATE stepadv.best_at_k(score float8, k integer) (
	SFUNC = stepadv_internal.best_at_k_trans, STYPE = stepadv_internal.aggregate_state, SSPACE = 256,
	COMBINEFUNC = stepadv_internal.best_at_k_combine,
	FINALFUNC = stepadv_internal.best_at_k_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.best_at_k(float8, integer) IS
'over the rollouts of a task: the expected best score of k drawn without replacement, by order statistics; of '
'scores 0 and 1 it is pass_at_k; score NULL: not judged, not counted; NULL where k exceeds n; error on a score '
'that is not finite, on k NULL, below 1 or not the same on all rows';

-- ---- Two versions on the same tasks

CREATE FUNCTION stepadv_internal.paired_difference(differences float8[], confidence float8, permutations integer,
	seed integer,
	OUT difference float8, OUT stderr float8, OUT low float8, OUT high float8, OUT p_value float8, OUT exact boolean)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10000
AS 'MODULE_PATHNAME', 'stepadv_paired_difference';
COMMENT ON FUNCTION stepadv_internal.paired_difference(float8[], float8, integer, integer) IS
'part of version_difference: mean of the differences of tasks, its standard error and Student''s interval (NULL '
'of one task), and the share of choices of signs with a mean at least as far from 0; NULL of no task';

CREATE FUNCTION stepadv_internal.fisher_exact(n_successes_a bigint, n_judged_a bigint, n_successes_b bigint,
	n_judged_b bigint) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_fisher_exact';
COMMENT ON FUNCTION stepadv_internal.fisher_exact(bigint, bigint, bigint, bigint) IS
'part of compare_versions: the two-sided p-value of Fisher''s exact test, tables no more probable than this one';

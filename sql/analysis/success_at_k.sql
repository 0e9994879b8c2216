-- Success at k: what k of the n rollouts of a task achieve.

CREATE FUNCTION stepadv.pass_at_k(n_judged bigint, n_successes bigint, k integer) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_pass_at_k';
COMMENT ON FUNCTION stepadv.pass_at_k(bigint, bigint, integer) IS
'probability that at least one of k rollouts drawn without replacement succeeds: 1 - C(n_judged - n_successes, k) / '
'C(n_judged, k) (Chen et al. 2021); NULL if k exceeds n_judged or a count is NULL; error if k is NULL or below 1';

CREATE FUNCTION stepadv.pass_hat_k(n_judged bigint, n_successes bigint, k integer) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_pass_hat_k';
COMMENT ON FUNCTION stepadv.pass_hat_k(bigint, bigint, integer) IS
'probability that all of k rollouts drawn without replacement succeed: C(n_successes, k) / C(n_judged, k) (pass^k, '
'reliability; Yao et al. 2024, tau-bench); NULLs and errors as for pass_at_k';

CREATE FUNCTION stepadv.maj_at_k(answers text[], correct boolean[], k integer) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10000
AS 'MODULE_PATHNAME', 'stepadv_maj_at_k';
COMMENT ON FUNCTION stepadv.maj_at_k(text[], boolean[], integer) IS
'for arrays over the rollouts of a task (array_agg): probability that the most frequent answer of k drawn without '
'replacement is right; ties count in equal shares (Wang et al. 2023); answer NULL: no vote; correct NULL: not '
'counted; NULL if k exceeds the number of judged rollouts';

CREATE FUNCTION stepadv.best_at_k(scores float8[], k integer) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000
AS 'MODULE_PATHNAME', 'stepadv_best_at_k';
COMMENT ON FUNCTION stepadv.best_at_k(float8[], integer) IS
'for an array over the rollouts of a task (array_agg): expected best score of k drawn without replacement, by order '
'statistics; for scores 0 and 1 it is pass_at_k; NULL: not judged, not counted; NULL if k exceeds the number of '
'judged rollouts; error on a score that is not finite';

-- ---- Two versions on the same tasks

CREATE FUNCTION stepadv_internal.paired_difference(differences float8[], confidence float8, permutations integer,
	seed integer,
	OUT difference float8, OUT stderr float8, OUT low float8, OUT high float8, OUT p_value float8, OUT exact boolean)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10000
AS 'MODULE_PATHNAME', 'stepadv_paired_difference';
COMMENT ON FUNCTION stepadv_internal.paired_difference(float8[], float8, integer, integer) IS
'part of version_difference: mean of the differences of tasks, its standard error and Student''s interval (NULL for '
'one task), and the share of sign permutations with a mean at least as far from 0; NULL without tasks';

CREATE FUNCTION stepadv_internal.fisher_exact(n_successes_a bigint, n_judged_a bigint, n_successes_b bigint,
	n_judged_b bigint) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_fisher_exact';
COMMENT ON FUNCTION stepadv_internal.fisher_exact(bigint, bigint, bigint, bigint) IS
'part of compare_versions: the two-sided p-value of Fisher''s exact test, tables no more probable than this one';

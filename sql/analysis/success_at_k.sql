-- Success at k: what k rollouts of a task achieve, of the n that there are.

CREATE FUNCTION stepadv.pass_at_k(n_judged bigint, n_successes bigint, k integer) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_pass_at_k';
COMMENT ON FUNCTION stepadv.pass_at_k(bigint, bigint, integer) IS
'how probable it is that one of k rollouts drawn without replacement succeeded: 1 - C(n_judged - n_successes, k) / '
'C(n_judged, k) (Chen et al. 2021); NULL where k exceeds n_judged or a count is NULL; error on k NULL or below 1';

CREATE FUNCTION stepadv.pass_hat_k(n_judged bigint, n_successes bigint, k integer) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_pass_hat_k';
COMMENT ON FUNCTION stepadv.pass_hat_k(bigint, bigint, integer) IS
'how probable it is that all of k rollouts drawn without replacement succeeded: C(n_successes, k) / C(n_judged, k) '
'(pass^k, reliability; Yao et al. 2024, tau-bench); NULLs and errors as of pass_at_k';

CREATE FUNCTION stepadv.maj_at_k(answers text[], correct boolean[], k integer) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10000
AS 'MODULE_PATHNAME', 'stepadv_maj_at_k';
COMMENT ON FUNCTION stepadv.maj_at_k(text[], boolean[], integer) IS
'of a task''s rollouts, an element each (array_agg): how probable it is that the answer most given by k drawn '
'without replacement is right; equally frequent ones are taken equally often (Wang et al. 2023); answer NULL: '
'no vote; correct NULL: not counted; NULL where k exceeds the rollouts judged';

CREATE FUNCTION stepadv.best_at_k(scores float8[], k integer) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000
AS 'MODULE_PATHNAME', 'stepadv_best_at_k';
COMMENT ON FUNCTION stepadv.best_at_k(float8[], integer) IS
'of a task''s rollouts, an element each (array_agg): the expected best score of k drawn without replacement, by '
'order statistics; of scores 0 and 1 it is pass_at_k; NULL: not judged, not counted; NULL where k exceeds those '
'judged; error on a score that is not finite';

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

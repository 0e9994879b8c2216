-- The digest, which summarizes a group for views of many groups: src/digest/

CREATE TYPE stepadv.group_digest;

CREATE FUNCTION stepadv_internal.group_digest_in(cstring) RETURNS stepadv.group_digest
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_group_digest_in';
COMMENT ON FUNCTION stepadv_internal.group_digest_in(cstring) IS
'I/O: \x and hexadecimal digits; error 22P02 on what is no digest';

CREATE FUNCTION stepadv_internal.group_digest_out(stepadv.group_digest) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_group_digest_out';
COMMENT ON FUNCTION stepadv_internal.group_digest_out(stepadv.group_digest) IS
'I/O: \x and hexadecimal digits, lossless';

CREATE FUNCTION stepadv_internal.group_digest_recv(internal) RETURNS stepadv.group_digest
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_group_digest_recv';
COMMENT ON FUNCTION stepadv_internal.group_digest_recv(internal) IS 'I/O: the bytes of a digest; error 22P03 on others';

CREATE FUNCTION stepadv_internal.group_digest_send(stepadv.group_digest) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_varlena_send';
COMMENT ON FUNCTION stepadv_internal.group_digest_send(stepadv.group_digest) IS
'I/O: the bytes of a digest, the same on every machine';

CREATE TYPE stepadv.group_digest (
	INPUT = stepadv_internal.group_digest_in,
	OUTPUT = stepadv_internal.group_digest_out,
	RECEIVE = stepadv_internal.group_digest_recv,
	SEND = stepadv_internal.group_digest_send,
	INTERNALLENGTH = VARIABLE,
	STORAGE = extended
);
COMMENT ON TYPE stepadv.group_digest IS
'summary of a group for views over many groups: counts, returns, advantages by method, signs, calls, measures of '
'rollouts; made by group_digest, merged by rollup, read by digest_counts, digest_advantages and others';

-- ---- Labels of the calls of a group, within a query

CREATE TYPE stepadv_internal.labelled_calls;

CREATE FUNCTION stepadv_internal.labelled_calls_in(cstring) RETURNS stepadv_internal.labelled_calls
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_refuse_labelled_calls';
COMMENT ON FUNCTION stepadv_internal.labelled_calls_in(cstring) IS 'I/O: an error';

CREATE FUNCTION stepadv_internal.labelled_calls_out(stepadv_internal.labelled_calls) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_refuse_labelled_calls';
COMMENT ON FUNCTION stepadv_internal.labelled_calls_out(stepadv_internal.labelled_calls) IS 'I/O: an error';

CREATE TYPE stepadv_internal.labelled_calls (
	INPUT = stepadv_internal.labelled_calls_in,
	OUTPUT = stepadv_internal.labelled_calls_out,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = extended
);
COMMENT ON TYPE stepadv_internal.labelled_calls IS
'the category, ok, grounded and number of tokens of a group''s calls; made and read within a query, without a text or '
'binary form';

CREATE FUNCTION stepadv_internal.labelled_calls_trans(internal, key bigint, number integer, category text, ok boolean,
	grounded boolean, n_tokens integer)
RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_labelled_calls_trans';
COMMENT ON FUNCTION stepadv_internal.labelled_calls_trans(internal, bigint, integer, text, boolean, boolean, integer) IS
'part of labelled_calls: adds a call';

CREATE FUNCTION stepadv_internal.labelled_calls_final(internal) RETURNS stepadv_internal.labelled_calls
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_labelled_calls_final';
COMMENT ON FUNCTION stepadv_internal.labelled_calls_final(internal) IS 'part of labelled_calls: the result';

CREATE AGGREGATE stepadv_internal.labelled_calls(key bigint, number integer, category text, ok boolean,
	grounded boolean, n_tokens integer) (
	SFUNC = stepadv_internal.labelled_calls_trans, STYPE = internal, SSPACE = 4096,
	FINALFUNC = stepadv_internal.labelled_calls_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.labelled_calls(bigint, integer, text, boolean, boolean, integer) IS
'for each call of a group, its category, ok, grounded and number of response tokens, by step_id (with step_no 0), or '
	'by rollout_id and step_no; NULL over no rows';

-- ---- Making and merging

CREATE FUNCTION stepadv.group_digest(rollouts stepadv.rollout_group, methods text[], advantages float8[],
	measures text[] DEFAULT '{steps}', measured_rollouts bigint[] DEFAULT NULL, measured float8[] DEFAULT NULL,
	calls stepadv_internal.labelled_calls DEFAULT NULL, calls_by_step boolean DEFAULT NULL,
	success_above float8 DEFAULT 0, sign_threshold float8 DEFAULT 0, difference_threshold float8 DEFAULT 1e-9,
		horizon_width float8 DEFAULT NULL)
RETURNS stepadv.group_digest
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2000
AS 'MODULE_PATHNAME', 'stepadv_group_digest';
COMMENT ON FUNCTION stepadv.group_digest(stepadv.rollout_group, text[], float8[], text[], bigint[], float8[],
	stepadv_internal.labelled_calls, boolean, float8, float8, float8, float8) IS
'the digest of a group; advantages: a row per step, in the order in which methods give them, an entry per method; '
	'measures: steps, turns, repeats, cost, response_tokens, or others; measured: a row for each of '
	'measured_rollouts; horizon_width: of distances from the goal; calls_by_step NULL: no calls';

CREATE FUNCTION stepadv_internal.group_digest_add(stepadv.group_digest, digest stepadv.group_digest)
	RETURNS stepadv.group_digest
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_group_digest_rollup';
COMMENT ON FUNCTION stepadv_internal.group_digest_add(stepadv.group_digest, stepadv.group_digest) IS
'part of rollup: adds a digest';

CREATE FUNCTION stepadv_internal.group_digest_add(stepadv.group_digest, digest stepadv.group_digest, part text)
	RETURNS stepadv.group_digest
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_group_digest_rollup';
COMMENT ON FUNCTION stepadv_internal.group_digest_add(stepadv.group_digest, stepadv.group_digest, text) IS
'part of rollup: adds a part of a digest';

CREATE AGGREGATE stepadv.rollup(digest stepadv.group_digest) (
	SFUNC = stepadv_internal.group_digest_add, STYPE = stepadv.group_digest, SSPACE = 8192,
	COMBINEFUNC = stepadv_internal.group_digest_add, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.rollup(stepadv.group_digest) IS
'merges digests of groups; NULL over no rows; error if they have different methods or measures';

CREATE AGGREGATE stepadv.rollup(digest stepadv.group_digest, part text) (
	SFUNC = stepadv_internal.group_digest_add, STYPE = stepadv.group_digest, SSPACE = 4096,
	COMBINEFUNC = stepadv_internal.group_digest_add, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv.rollup(stepadv.group_digest, text) IS
'merges only one part of digests, and the counts: advantages, histogram, quadrants, calls, measures or horizons; '
'counts: only the counts';

-- ---- Reading

CREATE FUNCTION stepadv.digest_counts(digest stepadv.group_digest, OUT n_groups bigint, OUT n_judged_groups bigint,
	OUT n_informative_groups bigint,
	OUT n_rollouts bigint, OUT n_judged bigint, OUT n_successes bigint, OUT n_truncated bigint,
	OUT n_steps bigint, OUT n_judged_steps bigint, OUT n_shared_steps bigint, OUT return_sum float8,
		OUT reward_sums float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20
AS 'MODULE_PATHNAME', 'stepadv_digest_counts';
COMMENT ON FUNCTION stepadv.digest_counts(stepadv.group_digest) IS
'counts of a digest: groups, groups with a judged rollout, groups whose returns differ; rollouts, judged, '
'successful, truncated; steps, steps of judged rollouts, and of these in shared states; sums of returns and of '
'rewards by component over judged rollouts (NULL: none)';

CREATE FUNCTION stepadv.digest_advantages(digest stepadv.group_digest)
RETURNS TABLE (method text, n_steps bigint, mean_abs_advantage float8, mean_advantage float8, sd_advantage float8,
	min_advantage float8, max_advantage float8, n_positive bigint, n_negative bigint)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50 ROWS 8
AS 'MODULE_PATHNAME', 'stepadv_digest_advantages';
COMMENT ON FUNCTION stepadv.digest_advantages(stepadv.group_digest) IS
'the advantages of a digest by method: number of steps, mean size, mean, standard deviation (ddof 1), minimum, '
'maximum, numbers above and below 0; methods without advantages have no row';

CREATE FUNCTION stepadv.digest_histogram(digest stepadv.group_digest) RETURNS TABLE (method text, bin float8,
	n_steps bigint)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200 ROWS 1000
AS 'MODULE_PATHNAME', 'stepadv_digest_histogram';
COMMENT ON FUNCTION stepadv.digest_histogram(stepadv.group_digest) IS
'the distribution of the advantages of a digest: number of steps by method and bin of 0.05, identified by its middle';

CREATE FUNCTION stepadv.digest_quadrants(digest stepadv.group_digest)
RETURNS TABLE (method_a text, method_b text, success boolean, quadrant text, n_steps bigint, share float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 200 ROWS 200
AS 'MODULE_PATHNAME', 'stepadv_digest_quadrants';
COMMENT ON FUNCTION stepadv.digest_quadrants(stepadv.group_digest) IS
'the signs of the steps of a digest by two methods, in either order: number of steps and share by success of the '
'rollout (NULL: not judged) and quadrant (--, -0, … ++; NULL: one method has no advantage)';

CREATE FUNCTION stepadv.digest_differences(digest stepadv.group_digest) RETURNS TABLE (method_a text, method_b text,
	max_difference float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50 ROWS 20
AS 'MODULE_PATHNAME', 'stepadv_digest_differences';
COMMENT ON FUNCTION stepadv.digest_differences(stepadv.group_digest) IS
'for each pair of methods with opposite signs for a step of the digest, the largest difference of their advantages '
'there, each in units of its root mean square in the group of the step';

CREATE FUNCTION stepadv.digest_calls(digest stepadv.group_digest)
RETURNS TABLE (category text, n_calls bigint, n_errors bigint, error_share float8, grounded_share float8,
	n_repeats bigint, repeat_share float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50 ROWS 20
AS 'MODULE_PATHNAME', 'stepadv_digest_calls';
COMMENT ON FUNCTION stepadv.digest_calls(stepadv.group_digest) IS
'the calls of a digest by category: number, errors and their share of calls whose ok is known, share of grounded '
'calls among those known, number of calls that repeat an action in a state, and their share';

CREATE FUNCTION stepadv.digest_call_advantages(digest stepadv.group_digest)
RETURNS TABLE (category text, method text, n_steps bigint, mean_advantage float8, mean_abs_advantage float8,
	n_positive bigint, n_negative bigint)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 ROWS 100
AS 'MODULE_PATHNAME', 'stepadv_digest_call_advantages';
COMMENT ON FUNCTION stepadv.digest_call_advantages(stepadv.group_digest) IS
'the advantages of a digest by category of call and method: number of steps, mean, mean size, numbers above and '
'below 0; methods without advantages have no row';

CREATE FUNCTION stepadv.digest_measures(digest stepadv.group_digest)
RETURNS TABLE (measure text, n_rollouts bigint, mean float8, p50 float8, p95 float8, per_success float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 ROWS 6
AS 'MODULE_PATHNAME', 'stepadv_digest_measures';
COMMENT ON FUNCTION stepadv.digest_measures(stepadv.group_digest) IS
'the measures of the rollouts of a digest: number of rollouts with the measure, mean, median and 95th percentile (of '
'numbers rounded to twelve binary digits), and the sum over judged rollouts per success';

CREATE FUNCTION stepadv.digest_horizons(digest stepadv.group_digest)
RETURNS TABLE (horizon float8, n_rollouts bigint, n_successes bigint, success_rate float8, mean_steps float8,
	mean_excess float8, p50_excess float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 ROWS 10
AS 'MODULE_PATHNAME', 'stepadv_digest_horizons';
COMMENT ON FUNCTION stepadv.digest_horizons(stepadv.group_digest) IS
'judged rollouts of a digest by the distance of their first state from the goal (NULL: unknown): number, successes, '
'share, mean steps, and for successes the mean and median cost beyond the distance';

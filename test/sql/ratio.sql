-- Ratios of policies, divergence, clipped objectives, broadcast
CREATE SCHEMA ratio_test;
SET search_path = ratio_test, stepadv;

CREATE FUNCTION near(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN a IS NOT NULL AND abs(a - b) <= 1e-9 * greatest(1, abs(b));
CREATE FUNCTION pseudorandom(VARIADIC seed text[]) RETURNS float8 LANGUAGE sql IMMUTABLE
RETURN ('x' || substr(md5(array_to_string(seed, ' ')), 1, 8))::bit(32)::bigint / 4294967296.0;

-- Worked cases (step_ratio, step_ratio_clipped, ppo_dual_clip)
WITH v AS (SELECT ARRAY[-1.0, -2.0, -0.5] AS logp, ARRAY[-1.1, -1.8, -0.5] AS old)
SELECT near(sequence_ratio(logp, old), 0.9048374180359597) AS product, near(step_ratio(logp, old), 0.9672161004820059) AS geometric,
	   near(clipped_objective(step_ratio(logp, old), 2), 1.9344322009640118) AS positive,
	   near(clipped_objective(step_ratio(logp, old), -2), -1.9344322009640118) AS negative,
	   (SELECT bool_and(near(step_ratio(logp[i:i], old[i:i]), e))
		FROM (VALUES (1, 1.1051709180756477), (2, 0.8187307530779819), (3, 1.0)) t(i, e)) AS tokens
FROM v;
WITH v AS (SELECT step_ratio(ARRAY[-0.5, -0.5], ARRAY[-1.0, -1.0]) AS w)
SELECT near(w, 1.6487212707001282) AS ratio, near(clipped_objective(w, 1, 0.0003, 0.0004), 1.0004) AS positive,
	   near(clipped_objective(w, -1, clip_low => 0.0003, clip_high => 0.0004), -1.6487212707001282) AS negative
FROM v;
SELECT bool_and(near(-clipped_objective(ratio, advantage, clip_low => 0.2, clip_high => 0.2, dual_clip => 3), loss)) AS dual
FROM (VALUES (5, 1, -1.2), (5, -1, 3), (0.5, 1, -0.5), (0.5, -1, 0.8)) v(ratio, advantage, loss);

-- Random actions of 0 to 1500 tokens, with and without a mask, in three types
CREATE TABLE action AS
SELECT i, array_agg((-3 * pseudorandom('old', i::text, t::text))::float8 ORDER BY t) FILTER (WHERE t > 0) AS old,
	   array_agg((-3 * pseudorandom('new', i::text, t::text))::float8 ORDER BY t) FILTER (WHERE t > 0) AS new,
	   array_agg(t % 3 <> 1 ORDER BY t) FILTER (WHERE t > 0) AS mask
FROM generate_series(1, 60) i, generate_series(0, CASE WHEN i = 60 THEN 1500 ELSE (i * i / 8) END) t GROUP BY i;
UPDATE action SET old = '{}', new = '{}', mask = '{}' WHERE old IS NULL;
SELECT count(*), bool_and(near(step_ratio(new, old), exp(coalesce(mean, 0)))) AS step,
	   bool_and(near(sequence_ratio(new, old), exp(coalesce(total, 0)))) AS sequence,
	   bool_and(near(step_ratio(new, old, mask), exp(coalesce(mean_masked, 0)))) AS masked,
	   bool_and(near(step_ratio(new::real[], old::real[]), exp(coalesce(mean_real, 0)))) AS real,
	   bool_and(near(step_ratio(new::real[], old::real[], mask => mask), exp(coalesce(mean_real_masked, 0)))) AS real_masked,
	   bool_and(near(step_ratio(new::numeric[], old), exp(coalesce(mean, 0)))) AS numeric,
	   bool_and(near(approximate_kl(new, old), coalesce(k3, 0)) AND near(approximate_kl(new, old, estimator => 'k1'), coalesce(-mean, 0))
				AND near(approximate_kl(new, old, estimator => 'k2'), coalesce(k2, 0))
				AND near(approximate_kl(new, old, mask), coalesce(k3_masked, 0))) AS kl
FROM action, LATERAL (
	SELECT avg(n - o) AS mean, sum(n - o) AS total, avg(n - o) FILTER (WHERE m) AS mean_masked,
		   avg(n::real::float8 - o::real::float8) AS mean_real, avg(n::real::float8 - o::real::float8) FILTER (WHERE m) AS mean_real_masked,
		   avg(exp(n - o) - 1 - (n - o)) AS k3, avg((n - o) ^ 2 / 2) AS k2, avg(exp(n - o) - 1 - (n - o)) FILTER (WHERE m) AS k3_masked
	FROM unnest(new, old, mask) t(n, o, m)) t;

-- No tokens, NULL, what the mask leaves out, overflow and underflow
SELECT step_ratio('{}'::real[], '{}'), sequence_ratio('{}'::real[], '{}'), approximate_kl('{}'::real[], '{}'),
	   step_ratio('{-1,-2}'::real[], '{-2,-1}', mask => '{f,f}');
SELECT step_ratio(NULL::real[], '{}') IS NULL, step_ratio('{}'::real[], NULL) IS NULL, approximate_kl(NULL::real[], NULL) IS NULL;
SELECT step_ratio('{-1,NULL,NaN,-Infinity,-1}'::float8[], '{-1,-1,-1,-1,-1}', '{t,f,f,f,t}');
SELECT step_ratio('{-1}'::float8[], '{-1000}'), sequence_ratio('{-1000}'::float8[], '{-1}'), approximate_kl('{-1}'::float8[], '{-1000}');
SELECT clipped_objective(step_ratio('{-1}'::float8[], '{-1000}'), a), is_clipped('Infinity', a) FROM (VALUES (1), (0), (-1)) v(a);
-- Clamps, against plain SQL; with 20 and 10 they are those of verl's k3 (kl_penalty(logprob, ref) has the arguments swapped: d is ref - logprob), which for one token of
-- d = 40 gives 10, of -40: e^-20 - 1 + 20, clamped to 10, of 2: e^2 - 3
SELECT count(*), bool_and(near(approximate_kl(new, old, mask, estimator, clamp_log_ratio => 0.4), d) AND near(approximate_kl(new, old, mask, estimator, clamp_estimate => 0.3), e)
	AND near(approximate_kl(new, old, mask, estimator, 0.4, 0.3), de)) AS clamped, bool_or(d <> e) AND bool_or(d <> de) AND bool_or(e <> de) AS all_different
FROM action, (VALUES ('k1'), ('k2'), ('k3')) k(estimator), LATERAL (
	SELECT coalesce(avg(kd), 0) AS d, coalesce(avg(greatest(least(k, 0.3), -0.3)), 0) AS e, coalesce(avg(greatest(least(kd, 0.3), -0.3)), 0) AS de
	FROM unnest(new, old, mask) t(n, o, m), LATERAL (SELECT n - o AS x, greatest(least(n - o, 0.4), -0.4) AS c) d,
		LATERAL (SELECT CASE estimator WHEN 'k1' THEN -x WHEN 'k2' THEN x * x / 2 ELSE exp(x) - 1 - x END AS k,
			CASE estimator WHEN 'k1' THEN -c WHEN 'k2' THEN c * c / 2 ELSE exp(c) - 1 - c END AS kd) k
	WHERE m) x;
SELECT d, approximate_kl(ARRAY[d - 1], ARRAY[-1.0], clamp_log_ratio => 20, clamp_estimate => 10) AS verl, approximate_kl(ARRAY[d - 1], ARRAY[-1.0], clamp_log_ratio => 20) AS log_ratio
FROM (VALUES (-1000.0), (-40), (-20), (0), (40), (1000)) v(d);
SELECT near(approximate_kl(ARRAY[1.0], ARRAY[-1.0], clamp_log_ratio => 20, clamp_estimate => 10), exp(2::float8) - 3) AS within,
	approximate_kl('{-1}'::float8[], '{-1000}', clamp_log_ratio => 20, clamp_estimate => 10) AS no_overflow, approximate_kl('{-1}'::float8[], '{-3}', clamp_log_ratio => 0) AS nothing_left;
-- Tiny divergences keep their precision
SELECT round((approximate_kl(ARRAY[-1e-9], ARRAY[0.0]) * 1e18)::numeric, 5) AS small;

-- Bad arrays
SELECT step_ratio('{-1,-2,-3}'::real[], '{-1,-2}');
SELECT step_ratio('{-1,-2}'::real[], '{-1,-2}', '{t}');
SELECT step_ratio('{-1,NULL}'::real[], '{-1,-2}');
SELECT step_ratio('{-1,-2}'::real[], '{-1,NULL}', '{t,t}');
SELECT step_ratio('{-1,-2}'::real[], '{-1,-2}', '{t,NULL}');
SELECT step_ratio('{{-1,-2},{-1,-2}}'::real[], '{-1,-2}');
SELECT step_ratio('{-1,-2}'::real[], '{-1,-2}', '{{t,t}}');
SELECT step_ratio('{-1,NaN}'::real[], '{-1,-2}');
SELECT sequence_ratio('{-1,-2}'::float8[], '{-Infinity,-2}');
SELECT approximate_kl('{-Infinity,-2}'::real[], '{-Infinity,-2}');
SELECT step_ratio('{-1.7e308}'::float8[], '{1.7e308}');
SELECT step_ratio(ARRAY[-1, -2], ARRAY[-1, -2]);
SELECT approximate_kl('{-1}'::real[], '{-1}', estimator => 'k4');
SELECT approximate_kl('{-1}'::real[], '{-1}', clamp_log_ratio => -1);
SELECT approximate_kl('{-1}'::real[], '{-1}', clamp_estimate => 'NaN');

-- The objective against its definition; is_clipped against its slope
WITH v AS (SELECT w, a, low, high, dual, CASE WHEN a < 0 THEN greatest(clipped, dual * a) ELSE clipped END AS expected
		   FROM generate_series(0, 8, 0.5) w, generate_series(-2, 2) a,
				(VALUES (0.2, 0.2, NULL), (0.2, 0.28, NULL), (0.0003, 0.0004, 10), (0, 0, 3), (1, 5, 1.5)) p(low, high, dual),
				LATERAL (SELECT least(w * a, least(greatest(w, 1 - low), 1 + high) * a) AS clipped) c)
SELECT count(*), bool_and(near(clipped_objective(w, a, low, high, dual), expected::float8)) AS objective,
	   bool_and(is_clipped(w, a, low, high, dual) =
				(abs(clipped_objective(w * 1.000001, a, low, high, dual) - clipped_objective(w * 0.999999, a, low, high, dual)) < 1e-9
				 AND a <> 0 AND w > 0)) FILTER (WHERE w > 0 AND w NOT IN (1 - low, 1 + high, dual)) AS clipped
FROM v;
-- One epsilon for both sides
SELECT clipped_objective(2, 1, 0.1) = clipped_objective(2, 1, 0.1, 0.1), clipped_objective(2, 1) = clipped_objective(2, 1, 0.2, 0.2);
SELECT clipped_objective(NULL, 1), clipped_objective(1, NULL), is_clipped(NULL, 1), clipped_objective(0, 0);
SELECT clipped_objective(-0.1, 1);
SELECT clipped_objective('NaN', 1);
SELECT clipped_objective(1, 'NaN');
SELECT is_clipped(1, 'Infinity');
SELECT clipped_objective(1, 1, clip_low => 1.1);
SELECT clipped_objective(1, 1, clip_high => -0.1);
SELECT clipped_objective(1, 1, dual_clip => 0.5);
SELECT clipped_objective(1, 1, clip_low => NULL);

-- Diagnostics by step, rollout, group and policy version: ordinary aggregation
CREATE TABLE run(task text, rollout_id bigint, step_no int, policy_version int, advantage float8, logp_new real[], logp_old real[]);
INSERT INTO run VALUES
('a', 1, 0, 1, 1, '{-1,-1}', '{-1,-1}'), ('a', 1, 1, 1, 1, '{-1,-1}', '{-2,-2}'), ('a', 2, 0, 2, -1, '{-2}', '{-1}'),
('b', 3, 0, 2, 0, '{-2}', '{-1}'), ('b', 3, 1, 2, NULL, '{-2}', '{-1}');
SELECT task, rollout_id, policy_version, count(*), round(avg(ratio)::numeric, 6) AS mean_ratio, avg(clipped::int)::numeric(4, 2) AS clip_fraction,
	   round(avg(kl)::numeric, 6) AS approximate_kl, round(avg(objective)::numeric, 6) AS objective
FROM (SELECT *, approximate_kl(logp_new, logp_old) AS kl, is_clipped(ratio, advantage) AS clipped, clipped_objective(ratio, advantage) AS objective
	  FROM (SELECT *, step_ratio(logp_new, logp_old) AS ratio FROM run) r) s
GROUP BY GROUPING SETS ((rollout_id), (task), (policy_version), ()) ORDER BY 1, 2, 3;

-- Advantages on tokens
SELECT broadcast(0.25, '{t,f,t}'::boolean[]), broadcast(-1.5, '{}'::boolean[]), pg_typeof(broadcast(1, '{t}'));
SELECT broadcast(NULL, '{t}') IS NULL, broadcast(1, NULL) IS NULL;
SELECT bool_and(b = array_fill(0.5::real, ARRAY[n]) AND cardinality(b) = n) FROM generate_series(1, 300) n, LATERAL (SELECT broadcast(advantage => 0.5, mask => array_fill(true, ARRAY[n])) AS b) x;
SELECT broadcast(1, '{t,NULL}'::boolean[]);
SELECT broadcast(1, '{{t,f},{t,f}}'::boolean[]);
SELECT broadcast(1e39, '{t,t}');
SELECT broadcast('NaN', mask => '{t}');

-- What a trainer logs: token_objective, and the divergence from a reference policy.
CREATE SCHEMA training;
SET search_path = training, stepadv, public;
\set VERBOSITY terse
SET extra_float_digits = 0;

-- Ratios 2, 1, 0.5 and, left out, 1; the bounds 0.8 and 1.5. A = 1: min(2, 1.5) + 1 + 0.5 = 3; A = -1: -2 - 1 - 0.8 = -3.8, with dual clip 1.25 -1.25 - 1 - 0.8; gspo: the
-- mean is 1. cispo: 1.5, 1 and 0.8 times logp_new -1 + ln 2, -1, -1 - ln 2.
CREATE TABLE x AS SELECT ARRAY[-1 + ln(2::float8), -1, -7, -1 - ln(2::float8)] AS new, ARRAY[-1, -1, -7, -1]::float8[] AS old, '{t,t,f,t}'::boolean[] AS mask;
SELECT k, a, d, o.n_tokens, o.objective, abs(o.log_ratio) < 1e-15 AS even, o.min_ratio, o.max_ratio, o.n_below, o.n_above, o.n_clipped FROM x, (VALUES ('ppo', 1, NULL::float8), ('ppo', -1, NULL), ('ppo', -1, 1.25), ('gspo', 1, NULL), ('cispo', 1, NULL), ('cispo', 0, NULL)) v(k, a, d),
	token_objective(new, old, mask, a, k, clip_low => 0.2, clip_high => 0.5, dual_clip => d) o;
SELECT abs(o.objective - (1.5 * (-1 + ln(2::float8)) - 1 + 0.8 * (-1 - ln(2::float8)))) < 1e-15 AS cispo FROM x, token_objective(new, old, mask, 1, 'cispo', clip_high => 0.5) o;
-- all tokens, as real[]; none; the log-ratio held
SELECT o.n_tokens, o.objective, o.n_below, o.n_above FROM x, token_objective(new::real[], old::real[], NULL, 1) o;
SELECT o.* FROM token_objective('{}'::real[], '{}'::real[], NULL, 1) o;
SELECT k, o.objective, o.max_ratio, o.log_ratio FROM unnest('{ppo,gspo}'::text[]) k, token_objective('{700}'::float8[], '{-700}'::float8[], NULL, -1, k, clamp_log_ratio => 0) o;
SELECT o IS NULL AS null_too FROM x, token_objective(new, NULL, mask, 1) o;
SELECT o IS NULL AS null_too FROM x, token_objective(new, old, mask, NULL) o;
SELECT token_objective(new, old, mask, 'NaN') FROM x;
SELECT token_objective(new, old, '{t}', 1) FROM x;
SELECT token_objective(new, old, mask, 1, 'sapo') FROM x;
SELECT token_objective(new, old, mask, 1, clip_low => 2) FROM x;
SELECT token_objective(new, '{1,2,3,NULL}'::float8[], mask, 1) FROM x;

-- Actions of up to 700 tokens, more than are read at a time, against plain SQL, token by token.
CREATE TABLE t AS SELECT i, i % 7 AS r, (i * 131) % 700 AS n, sin(i) AS a FROM generate_series(1, 60) i;
CREATE TABLE token AS SELECT i, j, r, a, -1 - abs(sin(i * 31 + j)) AS old, -1 - abs(sin(i * 31 + j)) + cos(i + j * j) / 2 AS new, (i + j) % 5 > 0 AS counts FROM t, generate_series(1, n) j;
CREATE TABLE action AS SELECT i, r, a, coalesce(array_agg(old ORDER BY j) FILTER (WHERE j IS NOT NULL), '{}') AS old, coalesce(array_agg(new ORDER BY j) FILTER (WHERE j IS NOT NULL), '{}') AS new,
	coalesce(array_agg(counts ORDER BY j) FILTER (WHERE j IS NOT NULL), '{}') AS mask FROM t LEFT JOIN (SELECT i, j, old, new, counts FROM token) k USING (i) GROUP BY 1, 2, 3;
CREATE FUNCTION differ(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT abs(a - b) > 1e-12 * greatest(abs(a), abs(b), 1e-3) OR (a IS NULL) <> (b IS NULL) $$;
CREATE TABLE plain AS
SELECT kind, i, r, count(w) AS n, coalesce(sum(CASE kind WHEN 'cispo' THEN least(greatest(w, 0.9), 1.2) * a * new ELSE least(w * a, least(greatest(w, 0.9), 1.2) * a) END), 0) AS objective, coalesce(sum(d), 0) AS d, min(w) AS least, max(w) AS most,
	count(*) FILTER (WHERE w < 0.9) AS below, count(*) FILTER (WHERE w > 1.2) AS above
FROM unnest('{ppo,gspo,cispo}'::text[]) kind CROSS JOIN t LEFT JOIN LATERAL (
	SELECT new, d, exp(CASE kind WHEN 'gspo' THEN avg(d) OVER () ELSE d END) AS w FROM (SELECT new, new - old AS d FROM token WHERE token.i = t.i AND counts) k) k ON true GROUP BY 1, 2, 3;
SELECT kind, count(*), sum(o.n_tokens) AS tokens, sum(o.n_below) > 100 AND sum(o.n_above) > 100 AS some_outside, count(*) FILTER (WHERE o.n_tokens <> n OR differ(o.objective, p.objective) OR differ(o.log_ratio, p.d) OR differ(o.min_ratio, p.least)
	OR differ(o.max_ratio, p.most) OR o.n_below <> below OR o.n_above <> above OR o.n_clipped <> CASE WHEN kind = 'cispo' THEN below + above WHEN a > 0 THEN above ELSE below END) AS wrong
FROM plain p JOIN action USING (i, r), token_objective(new, old, mask, a, kind, clip_low => 0.1, clip_high => 0.2) o GROUP BY 1 ORDER BY 1;

-- The ratio of a whole rollout: the geometric mean over the tokens of its steps.
SELECT count(*), count(*) FILTER (WHERE differ(g.ratio, p.ratio)) AS wrong FROM (SELECT r, exp(sum(log_ratio) / sum(n_tokens)) AS ratio FROM action, token_objective(new, old, mask, a) GROUP BY r) g
	JOIN (SELECT r, exp(avg(new - old)) AS ratio FROM token WHERE counts GROUP BY r) p USING (r);

-- A reference policy: a column of the canonical tables, a role, and the view's kl_to_reference.
SET client_min_messages = warning;
SELECT count(*) > 20 AS made FROM stepadv.create_tables('ref', views => '{all}');
INSERT INTO ref.rollouts (task_id, rollout_id, outcome) VALUES ('t', 'r', 1);
INSERT INTO ref.steps (task_id, rollout_id, step_no, response_token_ids, response_mask, rollout_logprobs, policy_logprobs, ref_logprobs) VALUES
	('t', 'r', 1, '{1,2,3}', '{t,t,f}', '{-1,-2,-3}', '{-1.5,-2,-9}', '{-1,-1.5,-3}'), ('t', 'r', 2, '{1}', '{t}', '{-1}', '{-1}', NULL), ('t', 'r', 3, '{1}', '{t}', '{-1}', '{-1}', '{NaN}');
-- step 1: ref - new = 0.5 twice, e^0.5 - 1 - 0.5 each
SELECT step_no, n_tokens, abs(kl_to_reference - (exp(0.5::float8) - 1.5)) < 1e-15 AS by_hand FROM ref.steps_ratios ORDER BY step_no;
CREATE TABLE own (g text, r text, n integer, reward float8, new real[], old real[], ref float8[]);
INSERT INTO own VALUES ('g', 'r', 1, 1, '{-1,-2}', '{-1,-2}', '{-1,-2.5}'), ('g', 'r', 2, 1, '{-1,-2}', '{-1,-2}', '{-1}');
SELECT view_name FROM stepadv.attach('own', '{g}', 'r', 'n', reward => 'reward', columns => '{"logp_new": "new", "logp_old": "old", "logp_ref": "ref"}', views => '{all}') WHERE view_name::text ~ 'ratios';
SELECT n, ratio, abs(kl_to_reference - (exp(-0.5::float8) - 0.5) / 2) < 1e-15 AS by_hand FROM own_ratios ORDER BY n;
SELECT stepadv.attach('own', '{g}', 'r', 'n', reward => 'reward', columns => '{"logp_ref": "ref"}', views => '{all}', prefix => 'no_new');
SELECT stepadv.attach('own', '{g}', 'r', 'n', reward => 'reward', columns => '{"logp_new": "new", "logp_old": "old", "logp_ref": "reward"}', views => '{all}', prefix => 'no_array');

SET client_min_messages = error;
DROP SCHEMA training, ref CASCADE;

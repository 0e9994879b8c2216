-- hcapo, empg, adca_grpo: worked by hand, against plain SQL over random groups, refusals.
CREATE SCHEMA turn_scores;
SET search_path = turn_scores, stepadv, public;
\set VERBOSITY terse
SET jit = off;

-- Rollout 1 succeeds in two steps (R = 1), rollout 2 fails (R = 0), rollout 3 is not judged.
CREATE TABLE x AS SELECT rollout_agg(id, rollout, no, 1, id, reward, NULL, NULL, NULL, score, NULL) AS g FROM (VALUES
	(1, 1, 0, NULL::float8, 0.2::float8), (2, 1, 1, 1, 0.4), (3, 2, 0, 0, 0.8), (4, 3, 0, NULL, 7)) v(id, rollout, no, reward, score);

-- p is e^.2 and e^.4 (temperature 1): ratios 2 / (1 + e^.2) = .900, 2 / (1 + e^-.2) = 1.0997; q .5 * .900 and 1.0997;
-- rollout 2 earned nothing, so its q is 0.  Without dividing: less the mean q, which rollout 1's first step
-- is below, but it succeeded; plus R - 1/2.
SELECT a.* FROM x, hcapo(g, gamma => 0.5, temperature => 1, normalise => 'mean') a;
-- half of the last step's q is the first one's: (.450 + 1.0997) / 2; the negative hindsight of a success counts
SELECT step_id, q, hindsight_advantage FROM x, hcapo(g, gamma => 0.5, temperature => 1, normalise => 'mean', smoothing => 0.5, keep_successes => false);
-- clipped at 1 both
SELECT step_id, hindsight_ratio FROM x, hcapo(g, temperature => 0.01, clip => 0);
-- certainty: u 0, 1/3 and 1, so scales e^0, e^-1/3, e^-1 over their mean; rollout 1's first step leads to u 1/3
SELECT a.*, abs(scale - exp(-u) / ((1 + exp(-1 / 3.0) + exp(-1)) / 3)) < 1e-7 AS by_hand
FROM x, LATERAL empg(g, normalise => 'mean') a LEFT JOIN (VALUES (1, 0::float8), (2, 1 / 3.0), (3, 1)) u(step_id, u) USING (step_id);
-- all good: attribution is 0, and the outcome +1 and -1 (ddof 0) is all there is
SELECT a.* FROM x, adca_grpo(g) a;
-- one bad step: by rollout the mean is (.2 + .2) / 2 / 2 + (-.2) / 2 = 0, so +1, +1 and -1 by the sd of .2
SELECT a.step_id, round(attribution::numeric, 6) AS attribution, round(reward::numeric, 6) AS reward, round(advantage::numeric, 6) AS advantage
FROM (SELECT rollout_agg(id, rollout, id, 1, id, reward, NULL, NULL, NULL, score, NULL) AS g
	FROM (VALUES (1, 1, 1, 9), (2, 1, NULL, 0.1), (3, 2, 0, -5), (4, 2, NULL, NULL)) v(id, rollout, reward, score)) y, adca_grpo(g, 0.5) a;

-- Random groups: scores and rewards that are NULL, rollouts that are not judged, groups of one.
SELECT setseed(0.3);
CREATE TABLE rows AS
SELECT row_number() OVER () AS id, grp, grp * 10 + r AS rollout, s AS no, CASE WHEN r % 4 < 3 AND random() < 0.6 THEN round((random() * 4 - 2)::numeric, 2)::float8 END AS reward,
	CASE WHEN random() < 0.8 THEN round((random() * 3 - 1.5)::numeric, 2)::float8 END AS score
FROM generate_series(1, 300) grp, generate_series(1, 1 + grp % 6) r, generate_series(1, 1 + (grp * r) % 7) s;
CREATE TABLE groups AS SELECT grp, rollout_agg(id, rollout, no, 1, id, reward, NULL, NULL, NULL, score, NULL) AS g FROM rows GROUP BY grp;
-- Steps of judged rollouts, with the return and its place in the group.
CREATE VIEW judged AS
SELECT *, dense_rank() OVER (PARTITION BY grp ORDER BY rollout) AS r FROM (
	SELECT *, coalesce(sum(reward) OVER w, 0) AS total, count(reward) OVER w > 0 AS is_judged, max(no) OVER w - no AS left_over FROM rows WINDOW w AS (PARTITION BY rollout)) x
WHERE is_judged;
CREATE VIEW outcomes AS
SELECT rollout, total, CASE WHEN max(total) OVER w = min(total) OVER w THEN 0 ELSE (total - avg(total) OVER w) / (stddev_samp(total) OVER w + 1e-6) END AS std,
	CASE WHEN max(total) OVER w = min(total) OVER w THEN 0 ELSE (total - avg(total) OVER w) / (stddev_pop(total) OVER w + 1e-12) END AS pop
FROM (SELECT DISTINCT grp, rollout, total FROM judged) x WINDOW w AS (PARTITION BY grp);

WITH p AS (SELECT *, exp(score / 5) / (avg(exp(score / 5)) OVER (PARTITION BY rollout)) AS raw FROM judged),
	q AS (SELECT *, least(greatest(coalesce(raw, 1), 0.8), 1.2) * 0.95 ^ left_over * total AS q FROM p),
	smooth AS (SELECT *, coalesce(0.5 * q + 0.5 * lead(q) OVER (PARTITION BY rollout ORDER BY no), q) AS s FROM q),
	z AS (SELECT *, CASE WHEN max(s) OVER w = min(s) OVER w THEN 0 ELSE (s - avg(s) OVER w) / (stddev_samp(s) OVER w + 1e-6) END AS hindsight FROM smooth WINDOW w AS (PARTITION BY grp))
SELECT count(*) AS steps, count(*) FILTER (WHERE abs(a.advantage - o.std - 0.7 * CASE WHEN o.total > 0 AND hindsight < 0 THEN 0 ELSE hindsight END) > 1e-9 OR a.advantage IS NULL) AS differ
FROM z JOIN outcomes o USING (rollout) JOIN (groups JOIN LATERAL hcapo(g, smoothing => 0.5, weight => 0.7) a ON true) ON a.step_id = id;

WITH u AS (SELECT *, (score - min(score) OVER w) / (max(score) OVER w - min(score) OVER w + 1e-8) AS u FROM judged WINDOW w AS (PARTITION BY grp)),
	s AS (SELECT *, coalesce(exp(-2 * u) / (avg(exp(-2 * u)) OVER (PARTITION BY grp) + 1e-8), 1) AS scale, coalesce(exp(-0.5 * lead(u) OVER (PARTITION BY rollout ORDER BY no)), 0) AS bonus FROM u),
	m AS (SELECT s.*, o.std * scale + 0.3 * bonus AS modulated FROM s JOIN outcomes o USING (rollout))
SELECT count(*) AS steps, count(*) FILTER (WHERE abs(a.advantage - modulated + mean) > 1e-9 OR a.advantage IS NULL) AS differ
FROM (SELECT *, avg(modulated) OVER (PARTITION BY grp) AS mean FROM m) m JOIN (groups JOIN LATERAL empg(g, 2, 0.5, 0.3) a ON true) ON a.step_id = id;

WITH c AS (SELECT *, 0.2 * sign(nullif(score, 0)) AS x FROM judged),
	m AS (SELECT grp, avg(x) AS mean FROM (SELECT grp, avg(x) AS x FROM c GROUP BY grp, rollout) r GROUP BY grp),
	v AS (SELECT grp, sqrt(avg(x) + 1e-8) AS sd FROM (SELECT grp, avg((x - mean) ^ 2) AS x FROM c JOIN m USING (grp) GROUP BY grp, rollout) r GROUP BY grp),
	w AS (SELECT *, coalesce(0.1 * (x - mean) / sd, 0) + CASE left_over WHEN 0 THEN pop ELSE 0 END AS last, coalesce(0.1 * (x - mean) / sd, 0) + pop AS every
		FROM c JOIN m USING (grp) JOIN v USING (grp) JOIN outcomes o USING (rollout))
SELECT count(*) AS steps, count(*) FILTER (WHERE abs(a.advantage - last) > 1e-9 OR a.advantage IS NULL) AS differ, count(*) FILTER (WHERE abs(b.advantage - every) > 1e-9) AS all_differ
FROM (SELECT id, sum(last) OVER w AS last, sum(every) OVER w AS every FROM w WINDOW w AS (PARTITION BY rollout ORDER BY no DESC)) w
JOIN (groups JOIN LATERAL adca_grpo(g) a ON true JOIN LATERAL adca_grpo(g, outcome_on => 'all') b USING (step_id)) ON step_id = id;

-- not judged: NULL; nothing scored: grpo
SELECT count(*), count(a.advantage) AS known FROM (SELECT rollout_agg(1, 1, 0, 1, 1, NULL) AS g) y, LATERAL (SELECT advantage FROM hcapo(g) UNION ALL SELECT advantage FROM empg(g) UNION ALL SELECT advantage FROM adca_grpo(g)) a;
SELECT bool_and(abs(a.advantage - b.advantage) < 1e-12) AS as_grpo FROM (SELECT rollout_agg(i, i, 0, 1, 1, i * i) AS g FROM generate_series(1, 4) i) y, empg(g) a JOIN grpo(g) b USING (step_id);
-- the extremes of scores
SELECT count(*) FILTER (WHERE a.advantage IS NULL) AS nulls FROM (SELECT rollout_agg(i, i, 0, 1, 1, i, NULL, NULL, NULL, (ARRAY[-1e308, 0, 1e308])[i], NULL) AS g FROM generate_series(1, 3) i) y,
	LATERAL (SELECT advantage FROM hcapo(g) UNION ALL SELECT advantage FROM empg(g) UNION ALL SELECT advantage FROM adca_grpo(g)) a;
SELECT a.* FROM x, hcapo(g, temperature => 0) a;
SELECT a.* FROM x, hcapo(g, clip => 1.5) a;
SELECT a.* FROM x, empg(g, k => -1) a;
SELECT a.* FROM x, adca_grpo(g, outcome_on => 'middle') a;
-- as views, whose turn rewards may be bad
CREATE TABLE rl AS SELECT id AS step, grp, rollout, no, reward, score FROM rows WHERE grp < 20;
SELECT view_name, shows FROM attach('rl', '{grp}', 'rollout', 'no', reward => 'reward', columns => '{"turn_reward": "score", "step_id": "step"}', views => '{hcapo,empg,adca_grpo}') WHERE view_name::text ~ '_(hcapo|empg|adca_grpo)$' ORDER BY 1;
-- a score of NaN costs its rollout, and nobody else
SELECT min(rollout) AS bad FROM judged WHERE grp = 5 \gset
UPDATE rl SET score = 'NaN' WHERE rollout = :bad AND no = 1;
SELECT count(*) FILTER (WHERE (h.advantage IS NULL) <> (j.id IS NULL OR r.rollout = :bad)) AS hcapo, count(*) FILTER (WHERE (e.advantage IS NULL) <> (h.advantage IS NULL)) AS empg,
	count(*) FILTER (WHERE (c.advantage IS NULL) <> (h.advantage IS NULL)) AS adca_grpo, count(h.advantage) > 50 AS known
FROM rl_hcapo h JOIN rl_empg e USING (grp, step_id) JOIN rl_adca_grpo c USING (grp, step_id) JOIN rl r ON r.step = h.step_id LEFT JOIN judged j ON j.id = h.step_id;
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA turn_scores CASCADE;

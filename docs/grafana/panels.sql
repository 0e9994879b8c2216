-- The panels of stepadv.json as plain SQL, one query each, for whatever speaks PostgreSQL:
-- Metabase, Superset, Evidence, psql.  Of the tables that create_tables('rl') makes; of other
-- views of attach, stepadv.panel_query says the same (docs/dashboards.md).  What a visitor
-- would choose stands as a literal: policy versions 'v1' and 'v2', methods 'rtmc' and 'grpo',
-- times between '2026-01-01' and '2026-12-31', the group ('', 'v1', 'task 1').  Put your
-- tool's variables in their places.
--
-- Made of stepadv.json by test/t/dashboard.pl, which also tells when they differ.

-- Success, informative groups, shared states
-- Of the rollouts that are judged, how many succeed; of the groups with a judged rollout, how many have different returns (the others teach group-relative methods nothing); of the steps, how many are in a state that two or more rollouts of the group visited.
SELECT x.bucket AS "time",
  sum(x.n_successes)::float8 / nullif(sum(x.n_judged), 0) AS "success rate",
  sum(x.n_informative_groups)::float8 / nullif(sum(x.n_judged_groups), 0) AS "informative groups",
  sum(x.n_shared_steps)::float8 / nullif(sum(x.n_judged_steps), 0) AS "steps in shared states"
FROM rl.steps_progress_over_time x
WHERE coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true) AND x.bucket IS NOT NULL
GROUP BY 1 ORDER BY 1;

-- Mean return
-- Undiscounted, over the rollouts that are judged.
SELECT x.bucket AS "time", sum(x.mean_return * x.n_judged) / nullif(sum(x.n_judged), 0) AS "mean return"
FROM rl.steps_progress_over_time x
WHERE coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true) AND x.bucket IS NOT NULL
GROUP BY 1 ORDER BY 1;

-- Rollouts and steps
-- What the other panels are made of.
SELECT x.bucket AS "time", sum(x.n_rollouts)::float8 AS "rollouts", sum(x.n_groups)::float8 AS "groups", sum(x.n_steps)::float8 AS "steps"
FROM rl.steps_progress_over_time x
WHERE coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true) AND x.bucket IS NOT NULL
GROUP BY 1 ORDER BY 1;

-- Mean |advantage| by method
-- How much each method has to say about a step. Near 0: most groups end alike, or states are not shared.
SELECT x.bucket AS "time", x.method AS metric, sum(x.mean_abs_advantage * x.n_steps) / nullif(sum(x.n_steps), 0) AS "mean |advantage|"
FROM rl.steps_advantage_over_time x
WHERE coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true) AND x.bucket IS NOT NULL
GROUP BY 1, 2 ORDER BY 1, 2;

-- Effective sample share
-- Importance ratios of the current policy to the one that acted: (sum w)^2 / sum w^2 over their number; 1 is on-policy. Mean over the rows of a bucket, weighted by their ratios. Empty without log-probabilities of both policies.
SELECT x.bucket AS "time",
  sum(x.ess_share * x.n_ratios) / nullif(sum(x.n_ratios), 0) AS "step ratios",
  sum(x.sequence_ess_share * x.n_ratios) / nullif(sum(x.n_ratios), 0) AS "sequence ratios"
FROM rl.steps_progress_over_time x
WHERE coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true) AND x.bucket IS NOT NULL
GROUP BY 1 ORDER BY 1;

-- What stays empty here
-- Panels whose views do not exist for the chosen attachment, and which role of attach they are made of.
SELECT v.panels AS "stays empty", v.needs AS "was not told, or not wanted"
FROM (VALUES
  ('progress_over_time', 'all over time and by policy version', 'policy_version, started_at or another role that divides rollouts'),
  ('advantage_by_group', 'best and worst steps, groups of the credit check', 'a role that divides rollouts, and a method'),
  ('advantage_histogram', 'distribution of advantages', 'a role that divides rollouts, and a method'),
  ('signs', 'signs', 'two methods'),
  ('disagreement_by_group', 'steps on which methods disagree', 'two methods'),
  ('credit_groups', 'credit check', 'state and action'),
  ('pass_at_k', 'success at k', 'reward or success'),
  ('behaviour', 'calls by category', 'category, and a role that divides rollouts'),
  ('behaviour_advantage', 'advantages by category', 'category, and a role that divides rollouts'),
  ('shape_over_time', 'lengths and costs', 'a role that divides rollouts'),
  ('success_by_horizon', 'success by distance from the goal', 'state, and a role that divides rollouts'),
  ('rtmc_tree', 'rollout tree', 'state and action'),
  ('compare', 'steps of the group', 'a method with an advantage'),
  ('problems', 'problems', 'attach of this version: upgrade_attachments()')
) v(view, panels, needs)
WHERE stepadv.panel_query('rl.steps', '{' || v.view || '}') IS NULL
ORDER BY v.panels;

-- Rollouts of each version
-- Each version on its own rollouts, also where a group mixes versions.
SELECT coalesce(nullif(x.policy_version::text, ''), '(none)') AS "policy version",
  sum(x.n_groups)::float8 AS groups, sum(x.n_rollouts)::float8 AS rollouts, sum(x.n_steps)::float8 AS steps,
  sum(x.n_successes)::float8 / nullif(sum(x.n_judged), 0) AS "success rate",
  sum(x.mean_return * x.n_judged) / nullif(sum(x.n_judged), 0) AS "mean return",
  sum(x.n_informative_groups)::float8 / nullif(sum(x.n_judged_groups), 0) AS informative
FROM rl.steps_progress_over_time x
WHERE coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true)
GROUP BY 1 ORDER BY min(x.bucket), 1;

-- Success, informative groups, shared states by version
-- As above, where rollouts have no time, or versions overlap.
SELECT coalesce(nullif(x.policy_version::text, ''), '(none)') AS "policy version",
  sum(x.n_successes)::float8 / nullif(sum(x.n_judged), 0) AS "success rate",
  sum(x.n_informative_groups)::float8 / nullif(sum(x.n_judged_groups), 0) AS "informative groups",
  sum(x.n_shared_steps)::float8 / nullif(sum(x.n_judged_steps), 0) AS "steps in shared states"
FROM rl.steps_progress_over_time x
WHERE coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true)
GROUP BY 1 ORDER BY min(x.bucket), 1;

-- Mean |advantage| by version: RTMC and GRPO
-- How much the two methods have to say about a step of each version.
SELECT coalesce(nullif(x.policy_version::text, ''), '(none)') AS "policy version",
  sum(x.mean_abs_advantage * x.n_steps) FILTER (WHERE x.method = 'rtmc') / nullif(sum(x.n_steps) FILTER (WHERE x.method = 'rtmc'), 0) AS a,
  sum(x.mean_abs_advantage * x.n_steps) FILTER (WHERE x.method = 'grpo') / nullif(sum(x.n_steps) FILTER (WHERE x.method = 'grpo'), 0) AS b
FROM rl.steps_advantage_over_time x
WHERE x.method IN ('rtmc', 'grpo') AND coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true)
GROUP BY 1 ORDER BY min(x.bucket), 1;

-- Success at k of the two newest versions
-- Of k rollouts of a task drawn at random: how probable it is that one succeeds (pass@k) and that all do (pass^k), mean over the tasks, with its standard error. The two newest of the chosen versions, and rollouts of no version, of all times.
SELECT coalesce(nullif(x.policy_version::text, ''), '(none)') AS "policy version", x.k, sum(x.n_tasks)::float8 AS tasks,
  sum(x.pass_at_k * x.n_tasks) / sum(x.n_tasks) AS "pass@k", sqrt(sum((x.pass_at_k_stderr * x.n_tasks) ^ 2)) / sum(x.n_tasks) AS "pass@k error",
  sum(x.pass_hat_k * x.n_tasks) / sum(x.n_tasks) AS "pass^k", sqrt(sum((x.pass_hat_k_stderr * x.n_tasks) ^ 2)) / sum(x.n_tasks) AS "pass^k error"
FROM rl.steps_pass_at_k x
WHERE (x.policy_version IS NULL OR x.policy_version = ANY (ARRAY(SELECT x.policy_version FROM rl.steps_progress_over_time x WHERE coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') GROUP BY x.policy_version ORDER BY max(x.bucket) DESC NULLS LAST, x.policy_version::text DESC LIMIT 2)))
GROUP BY 1, 2 ORDER BY 1 DESC, 2;

-- Calls by category
-- Calls of each tool (or what attach was given as category): how many, how many failed, how many did again what their rollout had done in that state. Shares are weighted by calls.
SELECT x.category::text AS category, sum(x.n_calls)::float8 AS calls, sum(x.n_errors)::float8 AS errors,
  sum(x.error_share * x.n_calls) / nullif(sum(x.n_calls) FILTER (WHERE x.error_share IS NOT NULL), 0) AS "error share",
  sum(x.repeat_share * x.n_calls) / nullif(sum(x.n_calls) FILTER (WHERE x.repeat_share IS NOT NULL), 0) AS "repeated"
FROM rl.steps_behaviour x
WHERE coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true)
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 50;

-- Advantages by category: RTMC and GRPO
-- Mean advantage of the steps of each category by the two methods.
SELECT x.category::text AS category,
  sum(x.mean_advantage * x.n_steps) FILTER (WHERE x.method = 'rtmc') / nullif(sum(x.n_steps) FILTER (WHERE x.method = 'rtmc'), 0) AS a,
  sum(x.mean_advantage * x.n_steps) FILTER (WHERE x.method = 'grpo') / nullif(sum(x.n_steps) FILTER (WHERE x.method = 'grpo'), 0) AS b,
  max(x.n_steps)::float8 AS steps
FROM (
  SELECT x.category, x.method, sum(x.n_steps) AS n_steps, sum(x.mean_advantage * x.n_steps) / nullif(sum(x.n_steps), 0) AS mean_advantage
  FROM rl.steps_behaviour_advantage x
  WHERE x.method IN ('rtmc', 'grpo') AND coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true)
  GROUP BY 1, 2
) x
GROUP BY 1 ORDER BY 4 DESC NULLS LAST, 1 LIMIT 50;

-- Lengths and costs by version
-- Of each version what a rollout takes on average, and what one success takes, the failed rollouts included: steps, turns, repeats, cost, tokens, seconds, as far as attach was told.
SELECT x.measure, coalesce(nullif(x.policy_version::text, ''), '(none)') AS "policy version", sum(x.n_rollouts)::float8 AS rollouts,
  sum(x.mean * x.n_rollouts) / nullif(sum(x.n_rollouts), 0) AS mean,
  sum(x.mean * x.n_rollouts) FILTER (WHERE x.per_success > 0) / nullif(sum(x.mean * x.n_rollouts / nullif(x.per_success, 0)), 0) AS "per success"
FROM rl.steps_shape_over_time x
WHERE coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true)
GROUP BY 1, 2 ORDER BY x.measure <> 'steps', 1, min(x.bucket), 2;

-- Success by distance from the goal
-- Rollouts by the distance of their first state from the goal in the state graph of the group, in steps; "none known": no rollout of the group found a way.
SELECT coalesce(x.horizon::text, 'none known') AS horizon, sum(x.n_successes)::float8 / nullif(sum(x.n_rollouts), 0) AS "success rate"
FROM rl.steps_success_by_horizon x
WHERE coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true)
GROUP BY x.horizon ORDER BY x.horizon NULLS LAST LIMIT 60;

-- Distribution of advantages: RTMC and GRPO
-- Share of the steps by advantage, in units of the root mean square of the method's advantages, so that methods of different scale can be compared. The first and the last bar hold all beyond.
-- Fine bins first, so that the steps are read once.
WITH fine AS MATERIALIZED (
  SELECT x.method, x.bin AS at, sum(x.n_steps)::bigint AS n
  FROM rl.steps_advantage_histogram x
  WHERE x.method IN ('rtmc', 'grpo') AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true) AND coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2')
  GROUP BY 1, 2
), scale AS (
  SELECT method, sum(n) AS steps, nullif(sqrt(sum(n * at * at) / sum(n)), 0) AS rms FROM fine GROUP BY 1
), coarse AS (
  SELECT method, width_bucket(at / coalesce(rms, 1), -3.3, 3.3, 33) AS bin, sum(n) / max(steps) AS share
  FROM fine JOIN scale USING (method) GROUP BY 1, 2
)
SELECT round((least(greatest(b.bin, 1), 33) - 17) * 0.2, 1)::text AS "advantage / rms",
  coalesce(sum(c.share) FILTER (WHERE c.method = 'rtmc'), 0)::float8 AS a,
  coalesce(sum(c.share) FILTER (WHERE c.method = 'grpo'), 0)::float8 AS b
FROM generate_series(0, 34) b(bin) LEFT JOIN coarse c USING (bin)
GROUP BY least(greatest(b.bin, 1), 33) ORDER BY least(greatest(b.bin, 1), 33);

-- Signs of RTMC and GRPO
-- Share of the steps of successful and of failed rollouts by the sign of the advantage that the first and the second method give them. Rollouts of the chosen policy versions, compared with all of their group; whatever the time.
SELECT s.label AS "first, second",
  (coalesce(sum(q.n_steps) FILTER (WHERE q.success), 0) / nullif(sum(sum(q.n_steps) FILTER (WHERE q.success)) OVER (), 0))::float8 AS "successful rollouts",
  (coalesce(sum(q.n_steps) FILTER (WHERE NOT q.success), 0) / nullif(sum(sum(q.n_steps) FILTER (WHERE NOT q.success)) OVER (), 0))::float8 AS "failed rollouts"
FROM (VALUES (1, '++'), (2, '+0'), (3, '+-'), (4, '0+'), (5, '00'), (6, '0-'), (7, '-+'), (8, '-0'), (9, '--')) s(place, label)
LEFT JOIN (
  SELECT CASE x.method_a WHEN 'rtmc' THEN x.quadrant ELSE reverse(x.quadrant) END AS label, x.success, x.n_steps
  FROM rl.steps_signs x
  WHERE (x.method_a, x.method_b) IN (('rtmc', 'grpo'), ('grpo', 'rtmc')) AND coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2')
) q USING (label)
GROUP BY s.place, s.label ORDER BY s.place;

-- Steps that RTMC and GRPO disagree on
-- The 25 steps with opposite signs and the greatest difference, each method in units of its root mean square in the group. Rollouts of the chosen policy versions, compared with all of their group; whatever the time.
SELECT t.advantage_a AS a, t.advantage_b AS b, t.difference, concat_ws(' / ', nullif(t.run_id::text, ''), nullif(t.policy_version::text, ''), nullif(t.task_id::text, '')) AS "group", x.rollout_id::text AS rollout, x.step_no AS step, x.success,
  left((x.observation)::text, 400) AS observation, left((coalesce(x.action::text, x.action::text))::text, 400) AS action
FROM (
  SELECT g.run_id, g.policy_version, g.task_id, d.step_id, abs(d.difference) AS difference,
    CASE d.method_a WHEN 'rtmc' THEN d.advantage_a ELSE d.advantage_b END AS advantage_a,
    CASE d.method_a WHEN 'rtmc' THEN d.advantage_b ELSE d.advantage_a END AS advantage_b
  FROM (
    -- They are in the groups with the greatest ones.
    SELECT DISTINCT g.run_id, g.policy_version, g.task_id FROM (
      SELECT x.run_id, x.policy_version, x.task_id FROM rl.steps_disagreement_by_group x
      WHERE (x.method_a, x.method_b) IN (('rtmc', 'grpo'), ('grpo', 'rtmc')) AND coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2')
      ORDER BY x.greatest_difference DESC, x.run_id, x.policy_version, x.task_id LIMIT 25
    ) g
  ) g
  -- Planned by itself (OFFSET 0), so that one group is looked up and not all are folded.
  CROSS JOIN LATERAL (
    SELECT x.step_id, x.method_a, x.method_b, x.advantage_a, x.advantage_b, x.difference FROM rl.steps_disagreements x
    WHERE x.run_id = g.run_id AND x.policy_version = g.policy_version AND x.task_id = g.task_id AND x.opposite_sign AND (x.method_a, x.method_b) IN (('rtmc', 'grpo'), ('grpo', 'rtmc')) AND coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') OFFSET 0
  ) d
  ORDER BY abs(d.difference) DESC, g.run_id, g.policy_version, g.task_id, d.step_id LIMIT 25
) t
CROSS JOIN LATERAL (SELECT * FROM rl.steps_compare x WHERE x.run_id = t.run_id AND x.policy_version = t.policy_version AND x.task_id = t.task_id AND x.step_id = t.step_id OFFSET 0) x
ORDER BY t.difference DESC, 4, 5, 6;

-- Which method to believe: credit check of 40 groups
-- Leave one rollout out: does what a method says by the others come true for it? Of 40 groups of the chosen versions, drawn by a hash; rank and sign with their standard errors. The view _credit_check has all methods and up to 1,000 groups.
SELECT p.method, (p.pool).groups::float8 AS groups, (p.pool).rollouts::float8 AS rollouts, (p.pool).coverage,
  (p.pool).rank_correlation AS "rank correlation", (p.pool).rank_correlation_error AS "rank error",
  (p.pool).sign_agreement AS "sign agreement", (p.pool).sign_agreement_error AS "sign error", (p.pool).slope, (p.pool).slope_error AS "slope error"
FROM (
  SELECT c.method, stepadv.credit_pool(c.sums) AS pool
  FROM (
    SELECT DISTINCT g.run_id, g.policy_version, g.task_id FROM (
      SELECT x.run_id, x.policy_version, x.task_id FROM rl.steps_advantage_by_group x
      WHERE x.method = 'rtmc' AND coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true)
      ORDER BY hashfloat8(x.mean_abs_advantage), x.run_id, x.policy_version, x.task_id LIMIT 40
    ) g
  ) g
  CROSS JOIN LATERAL (SELECT x.method, x.sums FROM rl.steps_credit_groups x WHERE x.run_id = g.run_id AND x.policy_version = g.policy_version AND x.task_id = g.task_id AND x.method IN ('rtmc', 'grpo') OFFSET 0) c
  GROUP BY c.method
) p
ORDER BY p.method <> 'rtmc', p.method;

-- Best steps
-- The 25 steps with the greatest advantage by the method, over all groups.
SELECT t.advantage, concat_ws(' / ', nullif(t.run_id::text, ''), nullif(t.policy_version::text, ''), nullif(t.task_id::text, '')) AS "group", x.rollout_id::text AS rollout, x.step_no AS step, x.success,
  left((x.observation)::text, 400) AS observation, left((coalesce(x.action::text, x.action::text))::text, 400) AS action
FROM (
  SELECT g.run_id, g.policy_version, g.task_id, a.step_id, a.advantage
  -- They are in the groups with the greatest ones.
  FROM (
    SELECT DISTINCT g.run_id, g.policy_version, g.task_id FROM (
      SELECT x.run_id, x.policy_version, x.task_id FROM rl.steps_advantage_by_group x
      WHERE x.method = 'rtmc' AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true) AND coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2')
      ORDER BY x.greatest_advantage DESC, x.run_id, x.policy_version, x.task_id LIMIT 25
    ) g
  ) g
  -- Planned by itself (OFFSET 0), so that one group is looked up and not all are folded.
  CROSS JOIN LATERAL (
    SELECT x.step_id, x.advantage FROM rl.steps_advantages x
    WHERE x.run_id = g.run_id AND x.policy_version = g.policy_version AND x.task_id = g.task_id AND x.method = 'rtmc' AND x.advantage IS NOT NULL AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true) AND coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') OFFSET 0
  ) a
  ORDER BY a.advantage DESC, g.run_id, g.policy_version, g.task_id, a.step_id LIMIT 25
) t
CROSS JOIN LATERAL (SELECT * FROM rl.steps_compare x WHERE x.run_id = t.run_id AND x.policy_version = t.policy_version AND x.task_id = t.task_id AND x.step_id = t.step_id OFFSET 0) x
ORDER BY t.advantage DESC, 2, 3, 4;

-- Worst steps
-- The 25 steps with the least advantage by the method, over all groups.
SELECT t.advantage, concat_ws(' / ', nullif(t.run_id::text, ''), nullif(t.policy_version::text, ''), nullif(t.task_id::text, '')) AS "group", x.rollout_id::text AS rollout, x.step_no AS step, x.success,
  left((x.observation)::text, 400) AS observation, left((coalesce(x.action::text, x.action::text))::text, 400) AS action
FROM (
  SELECT g.run_id, g.policy_version, g.task_id, a.step_id, a.advantage
  -- They are in the groups with the least ones.
  FROM (
    SELECT DISTINCT g.run_id, g.policy_version, g.task_id FROM (
      SELECT x.run_id, x.policy_version, x.task_id FROM rl.steps_advantage_by_group x
      WHERE x.method = 'rtmc' AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true) AND coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2')
      ORDER BY x.least_advantage, x.run_id, x.policy_version, x.task_id LIMIT 25
    ) g
  ) g
  -- Planned by itself (OFFSET 0), so that one group is looked up and not all are folded.
  CROSS JOIN LATERAL (
    SELECT x.step_id, x.advantage FROM rl.steps_advantages x
    WHERE x.run_id = g.run_id AND x.policy_version = g.policy_version AND x.task_id = g.task_id AND x.method = 'rtmc' AND x.advantage IS NOT NULL AND coalesce(x.bucket >= '2026-01-01'::timestamptz AND x.bucket <= '2026-12-31'::timestamptz, true) AND coalesce(nullif(x.policy_version::text, ''), '(none)') IN ('v1', 'v2') OFFSET 0
  ) a
  ORDER BY a.advantage, g.run_id, g.policy_version, g.task_id, a.step_id LIMIT 25
) t
CROSS JOIN LATERAL (SELECT * FROM rl.steps_compare x WHERE x.run_id = t.run_id AND x.policy_version = t.policy_version AND x.task_id = t.task_id AND x.step_id = t.step_id OFFSET 0) x
ORDER BY t.advantage, 2, 3, 4;

-- The group
-- All rollouts of the group, whatever the policy version and the time.
SELECT x.n_rollouts AS rollouts, x.n_judged AS judged, x.n_steps AS steps, x.success_rate AS "success rate", x.mean_return AS "mean return",
  x.uniform AS "ended alike", x.n_states AS states, x.n_shared_states AS "shared states", x.shared_step_share AS "steps in them"
FROM rl.steps_groups x WHERE x.run_id = ''::text AND x.policy_version = 'v1'::text AND x.task_id = 'task 1'::text;

-- Rollout tree of the group (nodes)
-- States and the actions that rollouts took in them, the 150 most frequent. A ring shows which share of the visits led to success; the number in it is the value of the state. Edges are green where RTMC's advantage is positive, red where it is negative, and as thick as rollouts took them.
WITH edge AS (
  SELECT row_number() OVER (ORDER BY x.visits DESC, x.step_id) AS n, x.visits, x.successes, x.q, x.v, x.advantage,
    left((x.observation)::text, 80) AS observation, left((coalesce(x.base_action::text, x.base_action::text))::text, 80) AS action,
    coalesce(x.state::text, 'step ' || x.step_id) AS source,
    coalesce(x.next_state::text, CASE x.successes WHEN x.visits THEN 'success' WHEN 0 THEN 'no success' ELSE 'both' END) AS target
  FROM (SELECT * FROM rl.steps_rtmc_tree x WHERE x.run_id = ''::text AND x.policy_version = 'v1'::text AND x.task_id = 'task 1'::text ORDER BY x.visits DESC, x.step_id LIMIT 150) x
)
SELECT id, coalesce(left(max(title), 60), id) AS title, avg(v) AS mainstat, sum(visits)::text || ' visits' AS secondarystat,
  sum(successes)::float8 / sum(visits) AS arc__success, 1 - sum(successes)::float8 / sum(visits) AS arc__failure,
  max(title) AS detail__observation
FROM (
  SELECT source AS id, observation AS title, v, visits, successes FROM edge
  UNION ALL
  -- Ends, and states whose own edges are not among the most frequent.
  SELECT target, NULL, NULL, visits, successes FROM edge WHERE target NOT IN (SELECT source FROM edge)
) node
GROUP BY id ORDER BY sum(visits) DESC, id;

-- Rollout tree of the group (edges)
-- States and the actions that rollouts took in them, the 150 most frequent. A ring shows which share of the visits led to success; the number in it is the value of the state. Edges are green where RTMC's advantage is positive, red where it is negative, and as thick as rollouts took them.
WITH edge AS (
  SELECT row_number() OVER (ORDER BY x.visits DESC, x.step_id) AS n, x.visits, x.successes, x.q, x.v, x.advantage,
    left((x.observation)::text, 80) AS observation, left((coalesce(x.base_action::text, x.base_action::text))::text, 80) AS action,
    coalesce(x.state::text, 'step ' || x.step_id) AS source,
    coalesce(x.next_state::text, CASE x.successes WHEN x.visits THEN 'success' WHEN 0 THEN 'no success' ELSE 'both' END) AS target
  FROM (SELECT * FROM rl.steps_rtmc_tree x WHERE x.run_id = ''::text AND x.policy_version = 'v1'::text AND x.task_id = 'task 1'::text ORDER BY x.visits DESC, x.step_id LIMIT 150) x
)
SELECT n::text AS id, source, target, action AS mainstat, 'advantage ' || round(advantage::numeric, 3) AS secondarystat,
  1 + 7 * visits / max(visits) OVER ()::float8 AS thickness,
  CASE WHEN advantage > 0 THEN 'green' WHEN advantage < 0 THEN 'red' ELSE 'gray' END AS color,
  visits AS detail__visits, successes AS detail__successes, q AS detail__q, v AS detail__v
FROM edge ORDER BY n;

-- Steps of the group
-- Each step with the advantage by the two methods.
SELECT x.rollout_id::text AS rollout, x.success, x.step_no AS step,
  (to_jsonb(x) ->> 'rtmc')::float8 AS a, (to_jsonb(x) ->> 'grpo')::float8 AS b,
  left((x.observation)::text, 400) AS observation, left((coalesce(x.action::text, x.action::text))::text, 400) AS action
FROM rl.steps_compare x WHERE x.run_id = ''::text AND x.policy_version = 'v1'::text AND x.task_id = 'task 1'::text
ORDER BY 1, 3;

-- Problems
-- What is wrong with rows, and what it did, of all groups whatever the version and the time. A bad row costs the advantages of its rollout, never a panel.
SELECT x.problem, x.effect, count(DISTINCT (x.run_id, x.policy_version, x.task_id)) FILTER (WHERE num_nulls(x.run_id, x.policy_version, x.task_id) = 0)::float8 AS groups,
  count(DISTINCT (x.run_id, x.policy_version, x.task_id, x.rollout_id::text)) FILTER (WHERE x.rollout_id IS NOT NULL)::float8 AS rollouts, sum(x.n_rows)::float8 AS rows
FROM rl.steps_problems x
GROUP BY 1, 2 ORDER BY starts_with(x.effect, 'nothing'), 5 DESC, 1, 2;

-- resample: its draws in plain SQL, what it keeps, errors
CREATE SCHEMA resample_test;
SET search_path = resample_test, stepadv;
SET jit = off;

-- H of src/group/resample.c
CREATE FUNCTION h(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN stepadv.signature_hash(int8send(a) || int8send(b));

CREATE TABLE step AS
SELECT (r << 7) + s AS step_id, r AS rollout_id, s AS step_no, CASE WHEN s < 3 THEN s END AS state, (r + s) % 2 AS action,
	CASE WHEN s = 3 THEN (r % 3)::float8 END AS reward
FROM generate_series(-2::bigint, 4) r, generate_series(1, 3) s;
CREATE TABLE a AS SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS g FROM step;

-- The reference: folded from the rows of the drawn rollouts alone
SELECT stepadv_internal.of_rollouts(g, '{3,-1,9,3}')::text = (SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward)::text
	FROM step WHERE rollout_id IN (-1, 3)) AS some, stepadv_internal.of_rollouts(g, '{4,3,2,1,0,-1,-2}')::text = g::text AS all,
	stepadv_internal.of_rollouts(g, NULL) IS NULL AS unknown, (SELECT count(*) FROM rollouts(stepadv_internal.of_rollouts(g, '{}'))) AS none FROM a;

-- The draw
-- A fixed draw on which all machines and versions must agree: rollouts, then which of the group's each is, by its first step
SELECT rollout_id, (SELECT min(step_id) FROM steps(s) WHERE rollout_id = r.rollout_id) >> 7 AS is FROM a, resample(g, 4, 7) s, rollouts(s) r;
SELECT array_agg(rollout_id) FROM a, rollouts(resample(g, 4, 7, replace => false));

-- With replacement, in plain SQL: the positions, and the ids of the copies
CREATE FUNCTION drawn(g rollout_group, k integer, seed bigint) RETURNS TABLE (rollout_id bigint, of bigint) LANGUAGE sql STABLE AS $$
	WITH r AS (SELECT rollout_id, row_number() OVER (ORDER BY rollout_id) - 1 AS i, count(*) OVER () AS n FROM rollouts(g)),
	stream AS (SELECT signature_hash(int8send(seed) || string_agg(int8send(rollout_id), '' ORDER BY rollout_id)) AS stream FROM r)
	SELECT CASE WHEN c = 1 THEN rollout_id ELSE h(rollout_id, c) END, rollout_id
	FROM (SELECT r.rollout_id, row_number() OVER (PARTITION BY r.rollout_id) AS c
		FROM stream, generate_series(0::bigint, k - 1) d JOIN r ON true
		WHERE r.i = (((h(stream, d) >> 32) & 4294967295) * r.n) >> 32) x
$$;
SELECT count(*), bool_and((SELECT array_agg((rollout_id, of) ORDER BY rollout_id) FROM drawn(g, k, seed)) =
	(SELECT array_agg((s.rollout_id, s.step_id >> 7) ORDER BY s.rollout_id) FROM steps(resample(g, k, seed)) s WHERE step_no = 1)) AS as_by_hand
FROM a, (VALUES (1), (3), (7), (20)) k(k), (VALUES (0), (1), (-1), (2147483647), (-2147483648)) s(seed);
-- NULL, the default: as many as there are
SELECT resample(g)::text = resample(g, 7, 1, true)::text AS defaults, resample(g, NULL, 5)::text = resample(g, 7, 5)::text AS all_of_them FROM a;

-- Without: the least hashes; so a smaller sample is a subset of a larger one, and the largest is the group
SELECT count(*), bool_and((SELECT array_agg(rollout_id ORDER BY rollout_id) FROM
		(SELECT rollout_id FROM rollouts(g) ORDER BY h(seed, rollout_id), rollout_id LIMIT k) x) =
	(SELECT array_agg(rollout_id) FROM rollouts(resample(g, k, seed, false)))) AS as_by_hand
FROM a, generate_series(1, 7) k, generate_series(-3, 3) seed;
SELECT bool_and(resample(g, k, seed, false)::text = g::text) AS itself FROM a, (VALUES (NULL), (7)) k(k), generate_series(1, 5) seed;

-- 2000 draws of 7, and of 3: how often each rollout comes, within four standard deviations
SELECT bool_and(abs(n - 2000) < 4 * sqrt(14000 * 1 / 7.0 * 6 / 7)) AS each_alike, count(*) FROM
	(SELECT step_id, count(*) AS n FROM a, generate_series(1, 2000) seed, steps(resample(g, NULL, seed)) WHERE step_no = 1 GROUP BY step_id) x;
SELECT bool_and(abs(n - 2000 / 35.0) < 4 * sqrt(2000 * 1 / 35.0 * 34 / 35)) AS each_set_alike, count(*) FROM
	(SELECT r, count(*) AS n FROM a, generate_series(1, 2000) seed, LATERAL (SELECT array_agg(rollout_id) AS r FROM rollouts(resample(g, 3, seed, false))) r GROUP BY r) x;
-- 7 (1 - (6/7)^7) different ones on average; their number has a standard deviation of .898
SELECT abs(avg(n) - 7 * (1 - (6 / 7.0) ^ 7)) < 4 * 0.898 / sqrt(2000) AS different_ones FROM
	(SELECT count(DISTINCT step_id) AS n FROM a, generate_series(1, 2000) seed, steps(resample(g, NULL, seed)) WHERE step_no = 1 GROUP BY seed) x;
-- With one seed, groups with other ids are drawn independently: how often the least id is drawn in each
CREATE TABLE b AS SELECT rollout_agg(step_id + 10000, rollout_id + 100, step_no, state, action, reward) AS g FROM step;
SELECT count(*) AS draws, abs(corr(x, y)) < 4 / sqrt(2000) AS independent FROM
	(SELECT count(*) FILTER (WHERE step_id = -255) AS x, count(*) FILTER (WHERE step_id = 9745) AS y
	FROM generate_series(1, 2000) seed, LATERAL (SELECT step_id FROM a, steps(resample(g, NULL, seed)) UNION ALL SELECT step_id FROM b, steps(resample(g, NULL, seed))) s
	GROUP BY seed) x;

-- The sample
-- A rollout drawn twice counts twice: the same as folding it twice, with the ids of the copies
SELECT bool_and(r::text = f::text) AS as_folded, max(copies) AS most_copies
FROM generate_series(1, 20) seed, LATERAL (SELECT resample(g, NULL, seed) AS r FROM a) r,
	LATERAL (SELECT rollout_agg(s.step_id, d.rollout_id, s.step_no, s.state, s.action, s.reward) AS f FROM a, drawn(g, 7, seed) d JOIN step s ON s.rollout_id = d.of) f,
	LATERAL (SELECT max(n) AS copies FROM (SELECT count(*) AS n FROM steps(r) GROUP BY step_id) c) c;
-- Estimators give copies what they give the others, if it depends on state and action
SELECT count(*), bool_and(least = most AND n_state >= copies) AS alike FROM
	(SELECT seed, step_id, min(advantage) AS least, max(advantage) AS most, min(n_state) AS n_state, count(*) AS copies
	FROM a, generate_series(1, 20) seed, batch_td(resample(g, NULL, seed), prior => 1, gamma => 0.9, prior_mean => 'success_rate') WHERE step_no < 3 GROUP BY seed, step_id) x WHERE copies > 1;
-- Neither the order of the rows nor the plan matters
SELECT resample(rollout_agg(step_id, rollout_id, step_no, state, action, reward ORDER BY step_no, rollout_id DESC), 9, 3)::text =
	(SELECT resample(g, 9, 3)::text FROM a) AS any_order FROM step;
-- A sample of a sample: if the id of a copy is taken, the copy gets the next
SELECT count(*) AS samples, bool_and(n = 7) AS different FROM
	(SELECT count(DISTINCT r.rollout_id) AS n FROM a, generate_series(1, 200) seed, rollouts(resample(resample(g, NULL, seed), NULL, seed + 1)) r GROUP BY seed) x;
SELECT id, (SELECT sum(step_id) FROM steps(s) x WHERE x.rollout_id = r.rollout_id) AS of
FROM (SELECT rollout_agg(of, id, 1, 1, 1, 1) AS g FROM (VALUES (1, 1), (h(1, 2), 2)) v(id, of)) g, resample(g, 4, 1) s, rollouts(s) r
LEFT JOIN (SELECT h(1, c) AS hash, format('H(1, %s)', c) AS id FROM generate_series(2, 5) c UNION ALL SELECT h(h(1, 2), c), format('H(H(1, 2), %s)', c) FROM generate_series(2, 5) c) n
	ON n.hash = r.rollout_id ORDER BY of, id;

-- Everything that a value has: rollouts without steps, unjudged ones, outcomes, success, critic values, turns, components, rollout columns, the unit, and defects of a lenient one
CREATE TABLE wide AS
SELECT CASE WHEN s > 0 THEN r * 100 + s END AS step_id, r AS rollout_id, nullif(s, 0) AS step_no, nullif(s % 3, 0)::bigint AS state, s::bigint AS action,
	CASE WHEN r % 4 > 0 AND (s = 0) = (r % 2 = 0) THEN s + r + 0.5 END AS reward, CASE WHEN r = 5 AND s = 1 THEN true END AS success,
	CASE WHEN s = 3 THEN r + 50 END AS next_state, CASE WHEN s > 0 THEN s * 0.1::float8 END AS value,
	CASE WHEN s = 1 THEN 0.2::float8 END AS turn_reward, CASE WHEN s = 2 THEN 2::float8 END AS cost,
	CASE WHEN s > 0 THEN (s + 1) / 2 END AS turn, CASE WHEN r % 4 > 0 THEN ARRAY[s, NULL, 1]::float8[] END AS rewards,
	nullif(r % 3, 0) = 1 AS truncated, nullif(r, 6) * 7 AS policy_step
FROM generate_series(1::bigint, 8) r, generate_series(0, 3) s WHERE s <= r;
CREATE TABLE kinds AS
SELECT 'full' AS kind, rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, turn_reward, cost, turn, rewards, truncated, policy_step) AS g FROM wide
UNION ALL SELECT 'turns', by_turn(rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, turn_reward, cost, turn, rewards, truncated, policy_step), 'set') FROM wide
UNION ALL SELECT 'lenient', stepadv_internal.lenient_rollout_agg(step_id, rollout_id, step_no, state, action,
	CASE WHEN rollout_id % 3 = 0 THEN 'NaN' ELSE reward END, success, next_state, value, turn_reward, cost, turn, rewards, truncated, policy_step, NULL, NULL) FROM wide;
SELECT kind, bool_and(resample(g, NULL, seed, false)::text = g::text) AS itself,
	bool_and((SELECT array_agg((s.step_id, s.step_no, s.state, s.action, s.reward, s.success, s.next_state, s.value, s.turn_reward, s.cost, s.turn) ORDER BY s.step_id) FROM steps(r) s) =
		(SELECT array_agg((s.step_id, s.step_no, s.state, s.action, s.reward, s.success, s.next_state, s.value, s.turn_reward, s.cost, s.turn) ORDER BY s.step_id)
		FROM drawn(g, 8, seed) d JOIN steps(g) s ON s.rollout_id = d.of)) AS steps,
	bool_and((SELECT array_agg((o.rollout_id, o.n_steps, o.outcome, o.return, o.success, o.judged, o.truncated, o.policy_step)) FROM rollouts(r) o) =
		(SELECT array_agg((d.rollout_id, o.n_steps, o.outcome, o.return, o.success, o.judged, o.truncated, o.policy_step) ORDER BY d.rollout_id)
		FROM drawn(g, 8, seed) d JOIN rollouts(g) o ON o.rollout_id = d.of)) AS rollouts,
	bool_and((SELECT array_agg((c.rollout_id, c.step_id, c.component, c.reward) ORDER BY c.rollout_id, c.step_id, c.component) FROM reward_components(r) c) =
		(SELECT array_agg((d.rollout_id, c.step_id, c.component, c.reward) ORDER BY d.rollout_id, c.step_id, c.component)
		FROM drawn(g, 8, seed) d JOIN reward_components(g) c ON c.rollout_id = d.of)) AS components
FROM kinds, generate_series(1, 10) seed, LATERAL (SELECT resample(g, 8, seed) AS r) r GROUP BY kind ORDER BY kind;
-- ... and a column that none of those drawn has is missing, as if they alone had been folded
SELECT resample(g, 1, seed, false)::text = (SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, turn_reward, cost)::text
	FROM wide w WHERE w.rollout_id = 1) AS as_folded
FROM (SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, turn_reward, cost) AS g FROM wide) g, generate_series(1, 100) seed
WHERE (SELECT rollout_id FROM wide w ORDER BY h(seed, rollout_id) LIMIT 1) = 1 LIMIT 1;
-- The unit stays: sampling turns and turning samples are the same
SELECT resample(by_turn(g), 5, 1)::text = by_turn(resample(g, 5, 1))::text AS unit FROM kinds WHERE kind = 'full';

-- A sample of 0, and of an empty group
SELECT resample(g, 0)::text = resample(g, 0, 1, false)::text AS empty, resample(resample(g, 0))::text = resample(g, 0)::text AS of_none, (SELECT count(*) FROM rollouts(resample(g, 0))) AS rollouts FROM a;
SELECT count(*) FROM a, rtmc(resample(g, 0));
SELECT resample(NULL) IS NULL AS of_null;

-- Errors
SELECT resample(g, -1) FROM a;
SELECT resample(g, 8, replace => false) FROM a;
SELECT resample(resample(g, 0), 1) FROM a;
SELECT resample(g, 1, NULL) FROM a;
SELECT resample(g, 1, 1, NULL) FROM a;
-- Raised before the draw
SELECT resample(g, 2147483647) FROM a;

SET client_min_messages = warning;
DROP SCHEMA resample_test CASCADE;

-- Every estimator against plain SQL written from its definition, on random groups; and the group itself, made in every way the planner or the user can choose, always
-- the same bit by bit. Random numbers are the md5 of a row's position: the same everywhere.
SET jit = off;
-- The planner has poor estimates of what a function returns.
SET enable_nestloop = off;
SET client_min_messages = warning;
CREATE SCHEMA eq;
SET search_path = eq, stepadv, public;

-- Random data. Groups of 1 to 8 rollouts of 0 to 12 steps, in six styles:
--   0 terminal reward 0 or 1, nothing before      3 every reward the same
--   1 dense rewards of both signs, some missing   4 outcome in the rollout's own row
--   2 success on the last step, few rewards       5 success apart from the outcome, both in rollout rows
-- A ninth of the rollouts is not judged. Rewards are multiples of 1/64, so undiscounted returns are exact, and equality is unambiguous.
-- (OFFSET 0 keeps the planner from computing its expressions once per use.)
CREATE FUNCTION dice(key text) RETURNS bytea LANGUAGE sql IMMUTABLE
AS $$ SELECT decode(md5(key) || md5('more ' || key), 'hex') $$;
CREATE FUNCTION roll(dice bytea, which integer, sides integer) RETURNS integer LANGUAGE sql IMMUTABLE
AS $$ SELECT (get_byte(dice, 2 * which) * 256 + get_byte(dice, 2 * which + 1)) % sides $$;

CREATE TABLE plan_of AS
SELECT g AS group_id, r AS rollout,
	CASE WHEN g % 2 = 0 THEN r::bigint ELSE ('x' || substr(md5('id ' || g || ' ' || r), 1, 16))::bit(64)::bigint END AS rollout_id,
	roll(gd, 1, 6) AS style, 2 + roll(gd, 2, 9) AS n_states,
	CASE roll(d, 0, 12) WHEN 0 THEN 0 WHEN 1 THEN 1 WHEN 2 THEN 1 ELSE 2 + roll(d, 1, 11) END AS n_steps,
	roll(d, 2, 9) = 0 AS unjudged, roll(d, 3, 2) = 1 AS won, roll(d, 4, 400) AS score, d
FROM (SELECT g, dice('group ' || g) AS gd FROM generate_series(1, 2000) g) groups,
	LATERAL generate_series(1, 1 + roll(gd, 0, 8)) r,
	LATERAL (SELECT dice('rollout ' || g || ' ' || r) AS d OFFSET 0) x;

CREATE TABLE raw AS
-- steps; step_no has gaps and may be negative
SELECT p.group_id, p.rollout_id, 7 * i + roll(e, 0, 7) - 20 AS step_no,
	((p.group_id * 8 + p.rollout) * 100 + i)::bigint AS step_id,
	CASE WHEN roll(e, 1, 25) > 0 THEN roll(e, 2, p.n_states) - 3::bigint END AS state,
	CASE WHEN roll(e, 3, 25) > 0 THEN roll(e, 4, 3) * 1000000000000::bigint END AS action,
	CASE
		WHEN p.unjudged THEN NULL
		WHEN p.style = 0 THEN CASE WHEN i = p.n_steps THEN p.won::integer END
		WHEN p.style = 1 THEN CASE WHEN roll(e, 5, 4) > 0 THEN (roll(e, 6, 2000) - 1200) / 64.0 END
		WHEN p.style = 2 THEN CASE WHEN roll(e, 5, 8) = 0 THEN -roll(e, 6, 100) / 64.0 END
		WHEN p.style = 3 THEN CASE WHEN i = p.n_steps THEN 0.25 ELSE 0 END
		WHEN p.style = 4 THEN CASE WHEN roll(e, 5, 6) = 0 THEN roll(e, 6, 64) / 64.0 END
	END::float8 AS reward,
	CASE WHEN p.style = 2 AND NOT p.unjudged AND (i = p.n_steps OR roll(e, 7, 10) = 0) THEN p.won AND i = p.n_steps END AS success,
	CASE WHEN roll(e, 8, 3) = 0 THEN roll(e, 9, p.n_states) - 3::bigint END AS next_state,
	CASE WHEN p.group_id % 3 = 0 AND roll(e, 10, 5) > 0 THEN roll(e, 11, 1000) / 7.0 END::float8 AS value,
	CASE WHEN p.group_id % 3 = 1 AND roll(e, 10, 5) > 0 THEN roll(e, 12, 1000) / -3.0 END::float8 AS turn_reward,
	CASE WHEN roll(e, 13, 9) = 0 THEN 1 + roll(e, 14, 5) END::float8 AS cost
FROM plan_of p, LATERAL generate_series(1, p.n_steps) i,
	LATERAL (SELECT dice('step ' || p.group_id || ' ' || p.rollout || ' ' || i) AS e OFFSET 0) x
UNION ALL
-- rollout rows: with the outcome, with nothing, or only so that the rollout exists
SELECT p.group_id, p.rollout_id, NULL, NULL, NULL, NULL,
	CASE WHEN p.style IN (4, 5) AND NOT p.unjudged THEN p.score / 64.0 - 2 END, NULL, NULL, NULL, NULL, NULL
FROM plan_of p WHERE p.style IN (4, 5) OR p.n_steps = 0 OR roll(p.d, 5, 7) = 0
UNION ALL
-- a second one with success
SELECT p.group_id, p.rollout_id, NULL, NULL, NULL, NULL, NULL, p.won, NULL, NULL, NULL, NULL
FROM plan_of p WHERE p.style = 5 AND NOT p.unjudged AND roll(p.d, 6, 3) > 0;

-- As stored on disk: a fifth of the groups in order, the others shuffled.
CREATE TABLE steps_in AS
SELECT * FROM raw ORDER BY CASE WHEN group_id % 5 = 0 THEN md5(group_id::text)
	ELSE md5(group_id || ' ' || rollout_id || ' ' || coalesce(step_no, 1000)) END, rollout_id, step_no;
ANALYZE steps_in;

CREATE TABLE groups AS
SELECT group_id, rollout_agg(step_id, rollout_id, step_no, state, action, reward, success,
	next_state, value, turn_reward, cost) AS rollouts
FROM steps_in GROUP BY group_id;
ANALYZE groups;

-- The reference tables.
CREATE TABLE rollout_ref AS
SELECT group_id, rollout_id, count(step_no) AS n_steps,
	max(reward) FILTER (WHERE step_no IS NULL) AS outcome,
	count(reward) > 0 OR count(success) > 0 AS judged,
	coalesce(sum(reward), 0) AS total,
	bool_or(success) AS said,
	coalesce(bool_or(success), coalesce(sum(reward), 0) > 0) AS success
FROM raw GROUP BY group_id, rollout_id;

-- Where identity is NULL it is the step's own; skey and akey number the states and the actions of all groups.
CREATE TABLE step_ref AS
SELECT s.*, r.judged, r.total, r.success AS won, r.n_steps,
	row_number() OVER w AS rank,
	dense_rank() OVER (ORDER BY s.state, CASE WHEN s.state IS NULL THEN s.step_id END)::integer AS skey,
	dense_rank() OVER (ORDER BY s.action, CASE WHEN s.action IS NULL THEN s.step_id END)::integer AS akey,
	coalesce(s.reward, 0) + CASE WHEN row_number() OVER w = r.n_steps THEN coalesce(r.outcome, 0) ELSE 0 END AS r
FROM raw s JOIN rollout_ref r USING (group_id, rollout_id)
WHERE s.step_no IS NOT NULL
WINDOW w AS (PARTITION BY s.group_id, s.rollout_id ORDER BY s.step_no);
CREATE INDEX ON step_ref (group_id, rollout_id, rank);
ANALYZE step_ref;
ANALYZE rollout_ref;

-- Return by definition: what comes from the step on, discounted by distance.
CREATE FUNCTION return_ref(gamma float8)
RETURNS TABLE (group_id integer, rollout_id bigint, step_no integer, step_id bigint, g float8) LANGUAGE sql AS
$$
	SELECT a.group_id, a.rollout_id, a.step_no, a.step_id,
		CASE WHEN a.judged THEN sum(b.r * power(return_ref.gamma, b.rank - a.rank)) END
	FROM step_ref a JOIN step_ref b USING (group_id, rollout_id)
	WHERE b.rank >= a.rank
	GROUP BY a.group_id, a.rollout_id, a.step_no, a.step_id, a.judged
$$;

-- Off by more than 1e-9 relative; below 1e-3, where large numbers cancel, by more than 1e-12. NULL agrees with NULL only.
CREATE FUNCTION off(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN a IS NULL OR b IS NULL THEN NOT (a IS NULL AND b IS NULL)
	ELSE abs(a - b) > 1e-9 * greatest(abs(a), abs(b), 1e-3) END $$;

-- The data have what the tests need.
SELECT count(*) > 50000 AS steps, count(*) FILTER (WHERE state IS NULL) > 1000 AS null_states,
	count(*) FILTER (WHERE action IS NULL) > 1000 AS null_actions, count(*) FILTER (WHERE reward < 0) > 1000 AS negative,
	count(*) FILTER (WHERE NOT judged) > 3000 AS unjudged, count(*) FILTER (WHERE n_steps = 1) > 500 AS one_step,
	count(*) - count(DISTINCT (group_id, rollout_id, skey, akey)) > 3000 AS repeated,
	(SELECT count(*) FROM rollout_ref WHERE n_steps = 0) > 300 AS without_steps,
	(SELECT count(*) FROM (SELECT FROM rollout_ref GROUP BY group_id HAVING count(*) FILTER (WHERE judged) = 1) x) > 100 AS singletons,
	(SELECT count(*) FROM (SELECT FROM rollout_ref GROUP BY group_id HAVING bool_and(NOT judged)) x) > 10 AS nothing_judged
FROM step_ref;

-- Result of comparing rows by step: those in both, those in one only (0), those off (0).
CREATE FUNCTION verdict(both_sides bigint, all_rows bigint, off_rows bigint) RETURNS text LANGUAGE sql AS
$$ SELECT format('%s, %s in one only, %s off',
	CASE WHEN both_sides = (SELECT count(*) FROM step_ref) THEN 'every step' ELSE both_sides || ' steps' END,
	all_rows - both_sides, off_rows) $$;

-- steps, rollouts: the output equals the input.
SELECT count(*) = (SELECT count(*) FROM step_ref) AS every_step, count(*) FILTER (WHERE c IS DISTINCT FROM r) AS off
FROM (SELECT g.group_id, c.* FROM groups g, steps(g.rollouts) c) c
FULL JOIN (
	SELECT s.group_id, s.step_id, s.rollout_id, s.step_no, s.state, s.action, s.reward, r.said,
		s.next_state, s.value, s.turn_reward, s.cost, NULL::integer, NULL::bigint, NULL::float8
	FROM step_ref s JOIN rollout_ref r USING (group_id, rollout_id)) r USING (group_id, rollout_id, step_no);
SELECT count(*) = (SELECT count(*) FROM rollout_ref) AS every_rollout, count(*) FILTER (WHERE c IS DISTINCT FROM r) AS off
FROM (SELECT g.group_id, c.* FROM groups g, rollouts(g.rollouts) c) c
FULL JOIN (
	SELECT group_id, rollout_id, n_steps::integer, outcome, CASE WHEN judged THEN total END,
		CASE WHEN judged THEN success END, judged, NULL::boolean, NULL::bigint
	FROM rollout_ref) r USING (group_id, rollout_id);
-- The same with another threshold.
SELECT count(*) FILTER (WHERE c.success IS DISTINCT FROM CASE WHEN r.judged THEN coalesce(r.said, r.total > 0.5) END) AS off
FROM (SELECT g.group_id, c.* FROM groups g, rollouts(g.rollouts, success_above => 0.5) c) c
JOIN rollout_ref r USING (group_id, rollout_id);

-- returns, reinforce
CREATE FUNCTION check_returns(gamma float8) RETURNS text LANGUAGE sql AS
$$
	SELECT verdict(count(*) FILTER (WHERE c.step_id = r.step_id), count(*), count(*) FILTER (WHERE off(c.return, r.g)))
	FROM (SELECT g.group_id, c.* FROM groups g, returns(g.rollouts, gamma) c) c
	FULL JOIN return_ref(gamma) r USING (group_id, rollout_id, step_no)
$$;
SELECT gamma, check_returns(gamma) FROM (VALUES (1.0::float8), (0.97), (0.5), (0)) p(gamma);
-- A comparison that should fail does.
SELECT count(*) FILTER (WHERE off(c.return, r.g)) > 10000 AS other_gamma_is_off
FROM (SELECT g.group_id, c.* FROM groups g, returns(g.rollouts, 0.97) c) c
JOIN return_ref(0.9700001) r USING (group_id, rollout_id, step_no);
CREATE FUNCTION check_reinforce(to_go boolean) RETURNS text LANGUAGE sql AS
$$
	SELECT verdict(count(*) FILTER (WHERE c.step_id = r.step_id), count(*), count(*) FILTER (WHERE
		off(c.return, r.g) OR off(c.advantage, r.advantage)))
	FROM (SELECT g.group_id, c.* FROM groups g, reinforce(g.rollouts, 0.9, to_go) c) c
	FULL JOIN (
		SELECT *, CASE WHEN to_go THEN g WHEN judged THEN total END AS advantage
		FROM return_ref(0.9) JOIN step_ref USING (group_id, rollout_id, step_no, step_id) OFFSET 0) r
		USING (group_id, rollout_id, step_no)
$$;
SELECT to_go, check_reinforce(to_go) FROM (VALUES (false), (true)) p(to_go);

-- rloo: the mean of the others, one by one.
CREATE TABLE others AS
SELECT a.group_id, a.rollout_id, a.judged, a.total, avg(b.total) AS mean_of_others
FROM rollout_ref a LEFT JOIN rollout_ref b ON b.group_id = a.group_id AND b.rollout_id <> a.rollout_id AND b.judged
GROUP BY a.group_id, a.rollout_id, a.judged, a.total;
CREATE FUNCTION check_rloo(singleton text) RETURNS text LANGUAGE sql AS
$$
	SELECT verdict(count(*) FILTER (WHERE c.step_id = r.step_id), count(*), count(*) FILTER (WHERE
		off(c.return, r.total) OR off(c.baseline, r.baseline) OR off(c.advantage, r.advantage)))
	FROM (SELECT g.group_id, c.* FROM groups g, rloo(g.rollouts, singleton) c) c
	FULL JOIN (
		SELECT *, total - baseline AS advantage
		FROM (
			SELECT s.group_id, s.rollout_id, s.step_no, s.step_id, CASE WHEN o.judged THEN o.total END AS total,
				CASE WHEN o.judged THEN coalesce(o.mean_of_others, CASE singleton WHEN 'zero' THEN o.total ELSE 0 END) END AS baseline
			FROM step_ref s JOIN others o USING (group_id, rollout_id)) x OFFSET 0) r USING (group_id, rollout_id, step_no)
$$;
SELECT singleton, check_rloo(singleton) FROM (VALUES ('zero'), ('raw')) p(singleton);

-- grpo: x normalised within a set, by the words of the definition.
CREATE FUNCTION normal(x float8, n bigint, mean float8, sd float8, low float8, high float8,
	normalise text, epsilon float8, singleton text) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$
	SELECT CASE
		WHEN x IS NULL THEN NULL
		WHEN normalise = 'none' THEN x
		WHEN n = 1 AND singleton = 'zero' THEN 0
		WHEN n = 1 AND normalise = 'std' THEN x / (1 + epsilon)
		WHEN n = 1 THEN x
		WHEN high - low < 1e-12 THEN 0
		WHEN normalise = 'std' THEN (x - mean) / (sd + epsilon)
		ELSE x - mean END
$$;
CREATE FUNCTION subtracted(x float8, n bigint, mean float8, normalise text, singleton text) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$
	SELECT CASE
		WHEN x IS NULL THEN NULL
		WHEN normalise = 'none' OR n = 1 AND singleton = 'raw' THEN 0
		WHEN n = 1 THEN x
		ELSE mean END
$$;
CREATE TABLE grpo_options AS
SELECT * FROM (VALUES ('std'), ('mean'), ('none')) a(normalise), (VALUES ('zero'), ('raw')) b(singleton),
	(VALUES ('rollout'), ('step')) c(weighting), (VALUES (1e-6::float8), (0.5)) d(epsilon)
WHERE normalise = 'std' OR epsilon > 0.1;
-- by rollout, by step: the same statistics over different rows
CREATE TABLE totals AS
SELECT 'rollout' AS weighting, group_id, count(*) AS n, avg(total) AS mean, stddev_samp(total) AS sd, min(total) AS low, max(total) AS high
FROM rollout_ref WHERE judged GROUP BY group_id
UNION ALL
SELECT 'step', group_id, count(*), avg(total), stddev_samp(total), min(total), max(total)
FROM step_ref WHERE judged GROUP BY group_id;
CREATE FUNCTION check_grpo(o grpo_options) RETURNS text LANGUAGE sql AS
$$
	SELECT verdict(count(*) FILTER (WHERE c.step_id = r.step_id), count(*), count(*) FILTER (WHERE
		off(c.return, r.x) OR off(c.baseline, r.baseline) OR off(c.advantage, r.advantage)))
	FROM (SELECT g.group_id, c.* FROM groups g, grpo(g.rollouts, o.normalise, o.epsilon, o.singleton, o.weighting) c) c
	FULL JOIN (
		SELECT s.group_id, s.rollout_id, s.step_no, s.step_id, x.x,
			subtracted(x.x, t.n, t.mean, o.normalise, o.singleton) AS baseline,
			normal(x.x, t.n, t.mean, t.sd, t.low, t.high, o.normalise, o.epsilon, o.singleton) AS advantage
		FROM step_ref s LEFT JOIN totals t ON t.group_id = s.group_id AND t.weighting = o.weighting,
			LATERAL (SELECT CASE WHEN s.judged THEN s.total END AS x OFFSET 0) x OFFSET 0) r USING (group_id, rollout_id, step_no)
$$;
SELECT o.*, check_grpo(o) FROM grpo_options o ORDER BY o;

-- step_rewards: over the steps of the group, or those of the same rank.
CREATE TABLE ranked AS
SELECT g.*, s.rank FROM return_ref(0.95) g JOIN step_ref s USING (group_id, rollout_id, step_no, step_id);
CREATE FUNCTION check_step_grpo(normalise text, singleton text, pool text, epsilon float8) RETURNS text LANGUAGE sql AS
$$
	SELECT verdict(count(*) FILTER (WHERE c.step_id = r.step_id), count(*), count(*) FILTER (WHERE
		off(c.return, r.g) OR off(c.baseline, r.baseline) OR off(c.advantage, r.advantage)))
	FROM (SELECT g.group_id, c.*
		FROM groups g, grpo(g.rollouts, normalise, epsilon, singleton, step_rewards => true, pool => check_step_grpo.pool) c) c
	FULL JOIN (
		SELECT r.*, subtracted(g, n, mean, normalise, singleton) AS baseline,
			normal(g, n, mean, sd, low, high, normalise, epsilon, singleton) AS advantage
		FROM (
			SELECT r.*, count(g) OVER w AS n, avg(g) OVER w AS mean, stddev_samp(g) OVER w AS sd, min(g) OVER w AS low, max(g) OVER w AS high
			FROM ranked r WINDOW w AS (PARTITION BY group_id, CASE pool WHEN 'step' THEN rank END)) r OFFSET 0) r
	USING (group_id, rollout_id, step_no)
$$;
SELECT normalise, singleton, pool, epsilon, check_step_grpo(normalise, singleton, pool, epsilon)
FROM (SELECT normalise, singleton, CASE weighting WHEN 'step' THEN 'step' ELSE 'group' END AS pool, epsilon FROM grpo_options) o
ORDER BY o;

-- rloo over steps: the mean of the other steps of the set, by what their sum leaves.
CREATE FUNCTION check_step_rloo(singleton text, pool text) RETURNS text LANGUAGE sql AS
$$
	SELECT verdict(count(*) FILTER (WHERE c.step_id = r.step_id), count(*), count(*) FILTER (WHERE
		off(c.return, r.g) OR off(c.baseline, r.baseline) OR off(c.advantage, r.g - r.baseline)))
	FROM (SELECT g.group_id, c.* FROM groups g, rloo(g.rollouts, singleton, true, 0.95, pool) c) c
	FULL JOIN (
		SELECT r.*, CASE WHEN n > 1 AND low = high THEN g WHEN n > 1 THEN (total - g) / (n - 1) WHEN singleton = 'zero' THEN g ELSE 0 * g END AS baseline
		FROM (SELECT r.*, count(g) OVER w AS n, sum(g) OVER w AS total, min(g) OVER w AS low, max(g) OVER w AS high
			FROM ranked r WINDOW w AS (PARTITION BY group_id, CASE pool WHEN 'step' THEN rank END)) r OFFSET 0) r
	USING (group_id, rollout_id, step_no)
$$;
SELECT singleton, pool, check_step_rloo(singleton, pool) FROM (VALUES ('zero', 'group'), ('raw', 'group'), ('zero', 'step'), ('raw', 'step')) o(singleton, pool);

-- rtmc and its tree, from the table of visits.
CREATE FUNCTION rtmc_ref(gamma float8, prior float8, baseline float8, normalise boolean, visit text, success_above float8)
RETURNS TABLE (group_id integer, rollout_id bigint, step_no integer, step_id bigint, g float8,
	n_state bigint, n_action bigint, q float8, v float8, se float8, advantage float8, skey integer, akey integer) LANGUAGE sql AS
$$
	WITH x AS MATERIALIZED (
		SELECT s.group_id, s.rollout_id, s.step_no, s.step_id, s.skey, s.akey, s.judged, g.g,
			s.judged AND (rtmc_ref.visit = 'every' OR
				row_number() OVER (PARTITION BY s.group_id, s.rollout_id, s.skey, s.akey ORDER BY s.step_no) = 1) AS counts
		FROM step_ref s JOIN return_ref(rtmc_ref.gamma) g USING (group_id, rollout_id, step_no)
	),
	pair AS MATERIALIZED (
		SELECT group_id, skey, akey, count(*) AS n, avg(g) AS q, stddev_samp(g) / sqrt(count(*)) AS se
		FROM x WHERE counts GROUP BY group_id, skey, akey
	),
	rate AS (
		SELECT group_id, avg(coalesce(said, total > rtmc_ref.success_above)::integer)::float8 AS p
		FROM rollout_ref WHERE judged GROUP BY group_id
	),
	state AS (
		SELECT pair.group_id, skey, sum(n)::bigint AS n,
			(sum(n * q) + rtmc_ref.prior * coalesce(rtmc_ref.baseline, min(p))) / (sum(n) + rtmc_ref.prior) AS v
		FROM pair JOIN rate USING (group_id) GROUP BY pair.group_id, skey
	),
	y AS (
		SELECT x.*, state.n AS n_state, pair.n AS n_action, pair.q, state.v, pair.se, pair.q - state.v AS advantage,
			stddev_pop(pair.q - state.v) OVER (PARTITION BY x.group_id) AS sd
		FROM x LEFT JOIN state ON x.judged AND state.group_id = x.group_id AND state.skey = x.skey
		LEFT JOIN pair ON x.judged AND pair.group_id = x.group_id AND pair.skey = x.skey AND pair.akey = x.akey
	)
	SELECT y.group_id, rollout_id, step_no, step_id, g, n_state, n_action, q, v, se,
		advantage / CASE WHEN rtmc_ref.normalise AND sd > 1e-8 THEN sd ELSE 1 END, skey, akey
	FROM y
$$;
CREATE TABLE rtmc_options (gamma float8, prior float8, baseline float8, normalise boolean, visit text, success_above float8);
INSERT INTO rtmc_options VALUES
	(0.99, 2, NULL, false, 'first', 0), (0.99, 2, NULL, false, 'every', 0), (1, 0, NULL, false, 'first', 0),
	(0.9, 0.5, -0.75, false, 'first', 0), (0.99, 2, NULL, true, 'first', 0), (0.8, 7, NULL, true, 'every', 1.5),
	(0, 2, 0, false, 'every', -1);
CREATE FUNCTION check_rtmc(o rtmc_options) RETURNS text LANGUAGE sql AS
$$
	SELECT verdict(count(*) FILTER (WHERE c.step_id = r.step_id), count(*), count(*) FILTER (WHERE
		off(c.return, r.g) OR c.n_state IS DISTINCT FROM r.n_state OR c.n_action IS DISTINCT FROM r.n_action OR
		off(c.q, r.q) OR off(c.v, r.v) OR off(c.stderr, r.se) OR off(c.advantage, r.advantage)))
	FROM (SELECT g.group_id, c.*
		FROM groups g, rtmc(g.rollouts, o.gamma, o.prior, o.baseline, o.normalise, o.visit, o.success_above) c) c
	FULL JOIN rtmc_ref(o.gamma, o.prior, o.baseline, o.normalise, o.visit, o.success_above) r
	USING (group_id, rollout_id, step_no)
$$;
SELECT o.*, check_rtmc(o) FROM rtmc_options o;

-- prior_mean: by the words of the definition, and given as the baseline.
CREATE TABLE start_values AS
SELECT g.group_id, coalesce(p.p, 0) AS p
FROM groups g LEFT JOIN (SELECT group_id, avg(x.g) AS p FROM return_ref(0.9) x JOIN step_ref s USING (group_id, rollout_id, step_no)
	WHERE s.judged AND s.rank = 1 GROUP BY group_id) p USING (group_id);
SELECT verdict(count(*) FILTER (WHERE c.step_id = r.step_id), count(*), count(*) FILTER (WHERE off(c.v, r.v) OR off(c.q, r.q) OR off(c.advantage, r.advantage))) AS start_value,
	count(*) FILTER (WHERE off(c.v, d.v)) > 10000 AS otherwise_than_success_rate
FROM (SELECT g.group_id, c.* FROM groups g, rtmc(g.rollouts, gamma => 0.9, prior_mean => 'start_value') c) c
FULL JOIN (SELECT g.group_id, c.* FROM groups g JOIN start_values p USING (group_id), rtmc(g.rollouts, gamma => 0.9, baseline => p.p) c) r USING (group_id, rollout_id, step_no)
JOIN (SELECT g.group_id, c.* FROM groups g, rtmc(g.rollouts, gamma => 0.9) c) d USING (group_id, rollout_id, step_no);
SELECT count(*) > 10000 AS edges, count(*) FILTER (WHERE off(c.v, r.v) OR off(c.advantage, r.advantage)) AS off
FROM groups g JOIN start_values p USING (group_id), rtmc_tree(g.rollouts, gamma => 0.9, prior_mean => 'start_value') c,
	rtmc_tree(g.rollouts, gamma => 0.9, baseline => p.p) r WHERE c.step_id = r.step_id;
-- batch_td by iteration: V <- c + M V; the targets of a visit t are spread out by (gamma lambda)^(u - t): the rewards at u >= t, and 1 - lambda of the value after it.
-- Each round squares M, so 20 of them are a million sweeps, enough for gamma 1 too.
CREATE FUNCTION batch_td_ref(gamma float8, lambda float8, prior float8, baseline float8, prior_mean text)
RETURNS TABLE (group_id integer, rollout_id bigint, step_no integer, step_id bigint, n_state bigint, n_action bigint,
	q float8, v float8, se float8, advantage float8) LANGUAGE plpgsql AS
$$
#variable_conflict use_column
BEGIN
	CREATE TEMP TABLE step ON COMMIT DROP AS
		SELECT s.*, lead(skey) OVER w AS nkey, count(*) OVER (PARTITION BY group_id, skey) AS n_s
		FROM step_ref s WHERE judged AND group_id <= 300 WINDOW w AS (PARTITION BY group_id, rollout_id ORDER BY rank);
	CREATE TEMP TABLE mean ON COMMIT DROP AS
		SELECT group_id, CASE WHEN batch_td_ref.baseline IS NOT NULL THEN batch_td_ref.baseline
			WHEN batch_td_ref.prior_mean = 'start_value' THEN
				(SELECT avg(g) FROM return_start s WHERE s.group_id = r.group_id AND s.gamma = batch_td_ref.gamma)
			ELSE avg(success::integer) END AS m
		FROM rollout_ref r WHERE judged AND group_id <= 300 GROUP BY group_id;
	-- What a visit expects, by the step that it comes from.
	CREATE TEMP TABLE spread ON COMMIT DROP AS
		SELECT a.group_id, a.step_id, a.skey, a.n_s, b.nkey,
			power(batch_td_ref.gamma * batch_td_ref.lambda, b.rank - a.rank) * b.r AS c,
			power(batch_td_ref.gamma * batch_td_ref.lambda, b.rank - a.rank) * batch_td_ref.gamma * (1 - batch_td_ref.lambda) AS w
		FROM step a JOIN step b USING (group_id, rollout_id) WHERE b.rank >= a.rank;
	CREATE TEMP TABLE m0 ON COMMIT DROP AS
		SELECT group_id, skey AS i, nkey AS j, sum(w / (n_s + batch_td_ref.prior)) AS w FROM spread WHERE nkey IS NOT NULL AND w > 0 GROUP BY 1, 2, 3;
	CREATE TEMP TABLE c0 ON COMMIT DROP AS
		SELECT group_id, skey AS i, (sum(c) + batch_td_ref.prior * min(m)) / (min(n_s) + batch_td_ref.prior) AS c FROM spread JOIN mean USING (group_id) GROUP BY 1, 2;
	FOR round IN 1 .. 20 LOOP
		CREATE TEMP TABLE c1 ON COMMIT DROP AS
			SELECT c0.group_id, c0.i, c0.c + coalesce(d.c, 0) AS c FROM c0 LEFT JOIN (
				SELECT m0.group_id, m0.i, sum(m0.w * c0.c) AS c FROM m0 JOIN c0 ON c0.group_id = m0.group_id AND c0.i = m0.j GROUP BY 1, 2) d USING (group_id, i);
		CREATE TEMP TABLE m1 ON COMMIT DROP AS
			SELECT a.group_id, a.i, b.j, sum(a.w * b.w) AS w FROM m0 a JOIN m0 b ON b.group_id = a.group_id AND b.i = a.j
			WHERE a.w * b.w > 1e-30 GROUP BY 1, 2, 3;
		DROP TABLE c0, m0;
		ALTER TABLE c1 RENAME TO c0;
		ALTER TABLE m1 RENAME TO m0;
	END LOOP;
	RETURN QUERY
		WITH target AS (
			SELECT s.group_id, s.step_id, sum(s.c + coalesce(s.w * c0.c, 0)) AS t
			FROM spread s LEFT JOIN c0 ON c0.group_id = s.group_id AND c0.i = s.nkey GROUP BY 1, 2
		), x AS (
			SELECT step.*, c0.c AS v, count(*) OVER w AS n_a, avg(t) OVER w AS q, stddev_samp(t) OVER w / sqrt(count(*) OVER w) AS se
			FROM step JOIN target USING (group_id, step_id) JOIN c0 ON c0.group_id = step.group_id AND c0.i = step.skey
			WINDOW w AS (PARTITION BY step.group_id, step.skey, step.akey)
		)
		SELECT group_id, rollout_id, step_no, step_id, n_s, n_a, q, v, se, q - v FROM x;
	DROP TABLE step, mean, spread, c0, m0;
END
$$;
CREATE TABLE return_start AS
SELECT DISTINCT ON (gamma, group_id, rollout_id) gamma, g.* FROM (VALUES (0.9::float8), (0.7)) x(gamma), return_ref(gamma) g JOIN rollout_ref r USING (group_id, rollout_id)
WHERE r.judged ORDER BY gamma, group_id, rollout_id, step_no;
CREATE TABLE td_options (gamma float8, lambda float8, prior float8, baseline float8, prior_mean text);
INSERT INTO td_options VALUES
	(0.9, 0, 0, NULL, 'success_rate'), (1, 0, 0, NULL, 'success_rate'), (0.9, 0, 2, NULL, 'success_rate'), (0.7, 0.3, 1.5, NULL, 'start_value'),
	(0.9, 0.6, 0, NULL, 'success_rate'), (1, 0.5, 0, NULL, 'success_rate'), (0.9, 1, 0.5, -3, 'start_value'), (0, 0.5, 0, NULL, 'success_rate');
CREATE FUNCTION check_batch_td(o td_options) RETURNS text LANGUAGE sql AS
$$
	SELECT verdict(count(*) FILTER (WHERE c.step_id = r.step_id), count(*), count(*) FILTER (WHERE
		c.n_state IS DISTINCT FROM r.n_state OR c.n_action IS DISTINCT FROM r.n_action OR
		off(c.q, r.q) OR off(c.v, r.v) OR off(c.stderr, r.se) OR off(c.advantage, r.advantage)))
	FROM (SELECT g.group_id, c.*
		FROM groups g, batch_td(g.rollouts, o.gamma, o.lambda, o.prior, o.baseline, o.prior_mean) c WHERE g.group_id <= 300 AND c.advantage IS NOT NULL) c
	FULL JOIN batch_td_ref(o.gamma, o.lambda, o.prior, o.baseline, o.prior_mean) r
	USING (group_id, rollout_id, step_no)
$$;
SELECT o.*, check_batch_td(o) FROM td_options o;

-- An edge is a state, an action and the state of the next step, if there is one.
CREATE FUNCTION edge_ref(gamma float8, prior float8, baseline float8, normalise boolean, visit text, success_above float8)
RETURNS TABLE (group_id integer, skey integer, akey integer, nkey integer, visits bigint, successes bigint, q float8, v float8, advantage float8) LANGUAGE sql AS
$$
	SELECT e.group_id, e.skey, e.akey, e.nkey, count(*), count(*) FILTER (WHERE e.won), min(e.q), min(e.v), min(e.advantage)
	FROM (
		SELECT DISTINCT ON (group_id, skey, akey, nkey, rollout_id) * FROM (
		SELECT r.*, lead(r.skey, 1, -1) OVER w AS nkey, coalesce(o.said, o.total > edge_ref.success_above) AS won, o.judged
		FROM rtmc_ref(gamma, prior, baseline, normalise, visit, success_above) r JOIN rollout_ref o USING (group_id, rollout_id)
		WINDOW w AS (PARTITION BY r.group_id, r.rollout_id ORDER BY r.step_no)) x
		WHERE judged) e
	GROUP BY e.group_id, e.skey, e.akey, e.nkey
$$;
CREATE FUNCTION check_tree(o rtmc_options, OUT edges boolean, OUT missing bigint, OUT not_known bigint, OUT off bigint, OUT other_ends bigint)
LANGUAGE sql AS
$$
	WITH step AS (
		SELECT group_id, step_id, skey, akey, lead(skey) OVER w AS nkey, state, action, lead(state) OVER w AS next_state
		FROM step_ref WINDOW w AS (PARTITION BY group_id, rollout_id ORDER BY step_no)
	), c AS (
		SELECT g.group_id, c.*, step.skey, step.akey, coalesce(step.nkey, -1) AS nkey,
			step.state AS step_state, step.action AS step_action, step.next_state AS step_next
		FROM groups g, rtmc_tree(g.rollouts, o.gamma, o.prior, o.baseline, o.normalise, o.visit, o.success_above) c, step
		WHERE step.group_id = g.group_id AND step.step_id = c.step_id
	)
	SELECT count(*) > 10000, count(*) - count(c.n_visits), count(*) - count(r.visits),
		count(*) FILTER (WHERE c.n_visits <> r.visits OR c.n_successes <> r.successes OR
			off(c.q, r.q) OR off(c.v, r.v) OR off(c.advantage, r.advantage)),
		-- the step named is on the edge, whose ends are as printed
		count(*) FILTER (WHERE (c.state, c.action, c.next_state) IS DISTINCT FROM (c.step_state, c.step_action, c.step_next))
	FROM c FULL JOIN edge_ref(o.gamma, o.prior, o.baseline, o.normalise, o.visit, o.success_above) r
	USING (group_id, skey, akey, nkey)
$$;
SELECT o.*, c.* FROM rtmc_options o, check_tree(o) c WHERE o.success_above <> 0 OR o.normalise;

-- group_summary
WITH seen AS (
	SELECT group_id, skey, count(*) AS steps, count(DISTINCT rollout_id) AS rollouts
	FROM step_ref WHERE judged GROUP BY group_id, skey
), states AS (
	SELECT group_id, count(*) AS n, count(*) FILTER (WHERE rollouts > 1) AS shared,
		coalesce(sum(steps) FILTER (WHERE rollouts > 1), 0) / sum(steps) AS share
	FROM seen GROUP BY group_id
), outcome AS (
	SELECT group_id, count(*) AS n, count(*) FILTER (WHERE judged) AS judged, sum(n_steps) AS steps,
		avg(total) FILTER (WHERE judged) AS mean, stddev_samp(total) FILTER (WHERE judged) AS sd,
		avg(coalesce(said, total > 0.5)::integer) FILTER (WHERE judged) AS rate,
		min(total) FILTER (WHERE judged) = max(total) FILTER (WHERE judged) AS uniform
	FROM rollout_ref GROUP BY group_id
)
SELECT count(*) = (SELECT count(*) FROM groups) AS every_group, count(*) FILTER (WHERE
	c.n_rollouts <> o.n OR c.n_judged <> o.judged OR c.n_steps <> o.steps OR off(c.mean_return, o.mean) OR
	off(c.sd_return, o.sd) OR off(c.success_rate, o.rate) OR c.uniform IS DISTINCT FROM o.uniform OR
	c.n_states <> coalesce(s.n, 0) OR c.n_shared_states <> coalesce(s.shared, 0) OR off(c.shared_step_share, s.share)) AS off
FROM groups g CROSS JOIN LATERAL group_summary(g.rollouts, success_above => 0.5) c
JOIN outcome o ON o.group_id = g.group_id LEFT JOIN states s ON s.group_id = g.group_id;

-- history_states: two steps of a group are in the same state if the steps before them are the same. Keys by the words of the three modes; a given next_state is the state after.
CREATE TABLE histories AS
SELECT s.group_id, s.rollout_id, s.step_no, s.next_state IS NOT NULL AS has_next, m.mode,
	CASE m.mode WHEN 'sequence' THEN h.before::text
		WHEN 'set' THEN (SELECT array_agg(DISTINCT a ORDER BY a)::text FROM unnest(h.before) a) END AS before,
	CASE m.mode WHEN 'sequence' THEN h.upto::text
		WHEN 'set' THEN (SELECT array_agg(DISTINCT a ORDER BY a)::text FROM unnest(h.upto) a) END AS upto
FROM step_ref s JOIN (
	SELECT group_id, rollout_id, step_no,
		array_agg(akey) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before,
		array_agg(akey) OVER (w ROWS UNBOUNDED PRECEDING) AS upto
	FROM step_ref WHERE group_id <= 600 WINDOW w AS (PARTITION BY group_id, rollout_id ORDER BY step_no)) h USING (group_id, rollout_id, step_no),
	(VALUES ('sequence'), ('set'), ('root')) m(mode);
CREATE TABLE made AS
SELECT g.group_id, m.mode, c.*
FROM groups g, (VALUES ('sequence'), ('set'), ('root')) m(mode), steps(history_states(g.rollouts, m.mode)) c
WHERE g.group_id <= 600;
SELECT mode, count(*) = (SELECT count(*) FROM step_ref WHERE group_id <= 600) AS every_step,
	count(DISTINCT (group_id, state)) = count(DISTINCT (group_id, before)) AND
	count(DISTINCT (group_id, state)) = count(DISTINCT (group_id, state, before)) AS same_partition,
	count(*) FILTER (WHERE state IS NULL) AS null_states, count(*) FILTER (WHERE (next_state IS NOT NULL) <> has_next) AS other_next,
	count(DISTINCT (group_id, state)) AS states
FROM made JOIN histories USING (group_id, rollout_id, step_no, mode) GROUP BY mode ORDER BY mode;
-- State before and after are drawn from the same states.
SELECT mode, count(*) > 5000 AS some,
	count(DISTINCT (group_id, s)) = count(DISTINCT (group_id, key)) AND
	count(DISTINCT (group_id, s)) = count(DISTINCT (group_id, s, key)) AS same_partition
FROM (
	SELECT mode, group_id, state AS s, before AS key FROM made JOIN histories USING (group_id, rollout_id, step_no, mode)
	UNION ALL
	SELECT mode, group_id, next_state, upto FROM made JOIN histories USING (group_id, rollout_id, step_no, mode) WHERE has_next) x
GROUP BY mode ORDER BY mode;
SELECT count(*) AS other_columns_changed FROM (
	SELECT DISTINCT group_id, step_id, rollout_id, step_no, action, reward, success, value, turn_reward, cost FROM made
	EXCEPT
	SELECT g.group_id, c.step_id, c.rollout_id, c.step_no, c.action, c.reward, c.success, c.value, c.turn_reward, c.cost
	FROM groups g, steps(g.rollouts) c) x;

-- RTMC with one state and no two rollouts doing the same is GRPO without scaling: equal lengths, terminal reward, no discount, no prior.
CREATE TABLE level AS
SELECT g AS group_id, rollout_agg(i, r, i, i, r * 100 + i, CASE WHEN i = n THEN (roll(dice(g || ' level ' || r), 0, 900) - 450) / 64.0 END) AS rollouts
FROM generate_series(1, 300) g, LATERAL (SELECT 1 + roll(dice(g || ' level'), 0, 9) AS n) n,
	LATERAL generate_series(1, 1 + roll(dice(g || ' size'), 0, 8)) r, LATERAL generate_series(1, n) i
GROUP BY g;
SELECT count(*) > 5000 AS steps, count(*) FILTER (WHERE abs(a.advantage) > 0.1) > 4000 AS not_all_zero,
	count(*) FILTER (WHERE off(a.advantage, b.advantage)) AS off, count(*) FILTER (WHERE b.step_id IS NULL) AS unmatched
FROM (SELECT l.group_id, a.* FROM level l, rtmc(history_states(l.rollouts, 'root'), gamma => 1, prior => 0) a) a
LEFT JOIN (SELECT l.group_id, b.* FROM level l, grpo(l.rollouts, normalise => 'mean') b) b USING (group_id, rollout_id, step_no);

-- Every way to make the groups. Their text is the same, bit for bit.
CREATE TABLE serial AS SELECT group_id, rollouts::text AS said FROM groups;
SELECT count(*) = (SELECT count(DISTINCT group_id) FROM raw) AS every_group FROM serial;
CREATE FUNCTION plan_has(query text, pattern text) RETURNS boolean LANGUAGE plpgsql AS
$$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	RETURN plan ~ pattern;
END
$$;
CREATE FUNCTION compare(query text, OUT groups boolean, OUT different bigint) LANGUAGE plpgsql AS
$$
BEGIN
	EXECUTE format('CREATE TEMP TABLE other ON COMMIT DROP AS %s', query);
	SELECT count(*) = (SELECT count(*) FROM eq.serial), count(*) FILTER (WHERE o.said IS DISTINCT FROM s.said)
	INTO groups, different FROM pg_temp.other o FULL JOIN eq.serial s USING (group_id);
	DROP TABLE pg_temp.other;
END
$$;
CREATE FUNCTION fold(order_by text) RETURNS text LANGUAGE sql AS
$$ SELECT format('rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, turn_reward, cost %s)', order_by) $$;

-- in any order
SELECT key, c.*
FROM (VALUES ('md5(step_id::text)'), ('rollout_id, step_no'), ('rollout_id DESC, step_no DESC'), ('step_no, rollout_id')) k(key),
	compare(format('SELECT group_id, %s::text AS said FROM eq.steps_in GROUP BY group_id', fold('ORDER BY ' || key))) c;
-- by sorting instead of hashing
SET enable_hashagg = off;
SELECT * FROM compare(format('SELECT group_id, %s::text AS said FROM eq.steps_in GROUP BY group_id', fold('')));
RESET enable_hashagg;
-- one group at a time
SELECT * FROM compare(format('SELECT g AS group_id, (SELECT %s FROM (SELECT * FROM eq.raw WHERE group_id = g OFFSET 0) x)::text AS said
	FROM generate_series(1, 60) g UNION ALL SELECT * FROM eq.serial WHERE group_id > 60', fold('')));

-- in parallel (with costs at which gathering rows is expensive, and reading them alone more expensive)
SET cpu_tuple_cost = 1;
SET cpu_operator_cost = 0.0001;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 1;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
DO $$
BEGIN
	PERFORM set_config(CASE WHEN current_setting('server_version_num')::integer >= 160000
		THEN 'debug_parallel_query' ELSE 'force_parallel_mode' END, 'on', false);
END
$$;
SET stepadv.enable_group_fold = off;
SELECT plan_has(query, 'Finalize .*Gather.*Partial .*Parallel Seq Scan') AS in_parallel, c.*
FROM (SELECT format('SELECT group_id, %s::text AS said FROM eq.steps_in GROUP BY group_id', fold('')) AS query) q, compare(query) c;
RESET stepadv.enable_group_fold;
SELECT plan_has(query, 'Gather.*Parallel Custom Scan .GroupFold..*Parallel Seq Scan') AS in_parallel, c.*
FROM (SELECT format('SELECT group_id, %s::text AS said FROM eq.steps_in GROUP BY group_id', fold('')) AS query) q, compare(query) c;
-- through rollup of random splits of the rows
CREATE TABLE parts AS
SELECT group_id, part, rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, turn_reward, cost) AS rollouts
FROM (SELECT *, get_byte(decode(md5(group_id || ' ' || rollout_id || ' ' || coalesce(step_no, 0)), 'hex'), 3) % 8 AS part FROM steps_in) s
GROUP BY group_id, part;
ANALYZE parts;
SELECT plan_has(query, 'Finalize .*Gather.*Partial .*Parallel Seq Scan') AS in_parallel, c.*
FROM (VALUES ('SELECT group_id, rollup(rollouts)::text AS said FROM eq.parts GROUP BY group_id')) q(query), compare(query) c;
DO $$
BEGIN
	PERFORM set_config(CASE WHEN current_setting('server_version_num')::integer >= 160000
		THEN 'debug_parallel_query' ELSE 'force_parallel_mode' END, 'off', false);
END
$$;
SET max_parallel_workers_per_gather = 0;
SELECT plan_has(query, 'Gather') AS in_parallel, c.*
FROM (VALUES ('SELECT group_id, rollup(rollouts ORDER BY part DESC)::text AS said FROM eq.parts GROUP BY group_id')) q(query), compare(query) c;
-- of a rollup with what came later
SELECT * FROM compare('SELECT group_id, (SELECT rollup(x) FROM (VALUES (a.rollouts), (b.rollouts), (NULL)) v(x))::text AS said
	FROM (SELECT group_id, rollup(rollouts) AS rollouts FROM eq.parts WHERE part < 5 GROUP BY group_id) a
	FULL JOIN (SELECT group_id, rollup(rollouts) AS rollouts FROM eq.parts WHERE part >= 5 GROUP BY group_id) b USING (group_id)');

-- partition-wise
CREATE TABLE partitioned (LIKE steps_in) PARTITION BY HASH (group_id);
CREATE TABLE p0 PARTITION OF partitioned FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE p1 PARTITION OF partitioned FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE p2 PARTITION OF partitioned FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO partitioned SELECT * FROM steps_in;
ANALYZE partitioned;
RESET cpu_tuple_cost;
RESET cpu_operator_cost;
SET parallel_tuple_cost = 0;
SET enable_partitionwise_aggregate = on;
SET max_parallel_workers_per_gather = 2;
SELECT plan_has(query, 'Append(.*GroupFold.*Scan on p[012]){3}') AND NOT plan_has(query, 'Finalize') AS by_partition, c.*
FROM (SELECT format('SELECT group_id, %s::text AS said FROM eq.partitioned GROUP BY group_id', fold('')) AS query) q, compare(query) c;
RESET enable_partitionwise_aggregate;

-- through text, through binary, through a table
SELECT count(*) FILTER (WHERE rollouts::text <> rollouts::text::rollout_group::text) AS different FROM groups;
SELECT count(*) FILTER (WHERE stepadv_internal.rollout_group_send(rollouts) <> stepadv_internal.rollout_group_send(rollouts::text::rollout_group)) AS different FROM groups;

-- And so are the estimates: of a group made in pieces.
SELECT count(*) > 50000 AS steps, count(*) FILTER (WHERE a IS DISTINCT FROM b) AS different
FROM (SELECT g.group_id, a.* FROM groups g, rtmc(g.rollouts, normalise => true) a) a
FULL JOIN (SELECT p.group_id, b.* FROM (SELECT group_id, rollup(rollouts) AS rollouts FROM parts GROUP BY group_id OFFSET 0) p,
	rtmc(p.rollouts, normalise => true) b) b USING (group_id, rollout_id, step_no);

DROP SCHEMA eq CASCADE;

-- coarse_state, a coarser identity of each step, backs the states of rtmc and batch_td; logp, the log-probability of its action, weighs actions in batch_td. Every form of the value keeps both.
-- References: bytes by hand, the definitions in plain SQL, by iteration where they are equations.
CREATE SCHEMA levels;
SET search_path = levels, stepadv;
SET extra_float_digits = 0;
\set VERBOSITY terse
CREATE FUNCTION bytes(rollout_group) RETURNS bytea LANGUAGE sql RETURN stepadv_internal.rollout_group_send($1);

-- ---- The value

-- The bytes, by hand: version 3, no column of the first eight, flags 0x40 and 0x80, no components, 1 rollout, 1 step; rollout_id 7; step_id 1; state 2; action 3; reward 0.5;
-- coarse_state 258; logp -0.25; n_steps 1; step_no 0; success unknown.
CREATE TABLE one AS SELECT rollout_agg(1, 7, 0, 2, 3, 0.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 258, -0.25) AS g;
SELECT coarse_state, logp FROM one, steps(g);
SELECT bytes(g) = '\x0300c000 01000000 01000000 0700000000000000 0100000000000000 0200000000000000 0300000000000000 000000000000e03f 0201000000000000 000000000000d0bf 01000000 00000000 00' AS as_written FROM one;
SELECT g::text::rollout_group::text = g::text AS read_again FROM one;
-- Each of the two alone; neither: version 1, byte for byte; with what version 2 has: version 2.
SELECT c, l, encode(substr(bytes(g), 1, 4), 'hex') AS header, s.coarse_state, s.logp FROM (SELECT c, l, rollout_agg(1, 7, 0, 2, 3, 0.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, c, l) AS g
	FROM (VALUES (258, NULL), (NULL, -0.25)) v(c, l) GROUP BY c, l) x, steps(g) s ORDER BY c;
SELECT bytes(rollout_agg(1, 7, 0, 2, 3, 0.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) = bytes(rollout_agg(1, 7, 0, 2, 3, 0.5)) AS version_1,
	get_byte(bytes(rollout_agg(1, 7, 0, 2, 3, 0.5, NULL, NULL, NULL, NULL, NULL, 5, NULL, true, 4, NULL, NULL)), 0) AS version;
-- A rollout's own row has neither.
SELECT s.step_no, s.coarse_state, s.logp FROM (SELECT rollout_agg(i, 7, nullif(i, 0), 2, 3, 0.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 100 + i, -i) AS g FROM generate_series(0, 2) i) x, steps(g) s;
-- What no version has, or not this one: the flag in version 2, a version after this, a logp that is infinite. Columns of NULLs are taken as they are.
CREATE FUNCTION refusal(bytes bytea) RETURNS text LANGUAGE plpgsql
AS $$ BEGIN RETURN 'read as version ' || get_byte(levels.bytes(refusal.bytes::text::stepadv.rollout_group), 0); EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$;
SELECT refusal(bytes(g)), refusal(set_byte(bytes(g), 0, 2)), refusal(set_byte(bytes(g), 0, 4)) FROM one;
SELECT refusal('\x03008000 01000000 01000000 0700000000000000 0100000000000000 0200000000000000 0300000000000000 000000000000e03f 000000000000f07f 01000000 00000000 00') AS infinite_logp,
	refusal('\x0302c000 01000000 01000000 0700000000000000 0100000000000000 0200000000000000 0300000000000000 000000000000e03f 0201000000000000 000000000000f87f 01000000 00000000 00 10') AS nothing_of_it,
	refusal('\x03028000 01000000 01000000 0700000000000000 0100000000000000 0200000000000000 0300000000000000 000000000000e03f 000000000000d0bf 01000000 00000000 00 10') AS null_bit_without_column;
SELECT rollout_agg(1, 7, 0, 2, 3, 0.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '-infinity');
SELECT rollout_agg(1, 7, 0, 2, 3, 0.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'NaN');
SELECT s.coarse_state, s.logp, s.reward FROM (SELECT stepadv_internal.lenient_rollout_agg(1, 7, 0, 2, 3, 0.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, '-infinity') AS g) x, steps(g) s;

-- Rows with all columns, some or none, beside others, against plain SQL. A state of task 2 is in several coarse ones.
CREATE FUNCTION draw(what text, n int, task int, rollout int, no int) RETURNS int LANGUAGE sql IMMUTABLE
	RETURN ((hashtextextended(format('%s %s %s %s', what, task, rollout, no), 0) & 1048575) * n >> 20)::int;
CREATE TABLE walk AS
SELECT row_number() OVER (ORDER BY task, rollout, no)::int AS id, *, CASE WHEN draw('blind', 15, task, rollout, no) > 0 THEN s END AS state,
	CASE WHEN draw('lost', 10, task, rollout, no) > 0 THEN s / 4 + CASE WHEN task = 2 THEN rollout % 2 * 100 ELSE 0 END END AS coarse,
	CASE WHEN draw('idle', 15, task, rollout, no) > 0 THEN draw('action', 3, task, rollout, no) END AS action,
	CASE WHEN rollout = 9 THEN NULL WHEN last THEN draw('won', 2, task, rollout, 0) ELSE draw('reward', 3, task, rollout, no) / 10.0 END::float8 AS reward,
	ln((draw('logp', 99, task, s, draw('action', 3, task, rollout, no)) + 1 + no % 2) / 101.0)::float8 AS logp
FROM (SELECT task, rollout, no, draw('state', 12, task, rollout, no) AS s, no = draw('length', 6, task, rollout, 0) AS last
	FROM generate_series(1, 4) task, generate_series(1, 9) rollout, generate_series(0, 5) no WHERE no <= draw('length', 6, task, rollout, 0)) x;
CREATE TABLE walks AS SELECT task, rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, no / 2, NULL, NULL, NULL, coarse, logp) AS g,
	rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, no / 2, NULL, NULL, NULL) AS plain,
	rollout_agg(id, rollout, no, coarse, action, reward) AS coarse FROM walk GROUP BY task;
SELECT count(*) AS steps, count(coarse) AS coarse, count(DISTINCT (task, state)) AS states, count(DISTINCT (task, coarse)) AS coarse_states FROM walk;
SELECT count(*) AS steps, count(*) FILTER (WHERE (s.coarse_state, s.logp, s.state, s.action, s.turn) IS NOT DISTINCT FROM (w.coarse::bigint, w.logp, w.state::bigint, w.action::bigint, w.no / 2)) AS right
FROM walks, steps(g) s JOIN walk w ON w.id = s.step_id;
-- Merged, in any order of the rows, by text and bytes: the same value.
SELECT count(*) AS all, count(*) FILTER (WHERE bytes(g) = bytes(m)) AS same FROM (
	SELECT task, rollup(part) AS m FROM (SELECT task, rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, no / 2, NULL, NULL, NULL, coarse, logp) AS part FROM walk GROUP BY task, id % 3) p GROUP BY task UNION ALL
	SELECT task, rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, no / 2, NULL, NULL, NULL, coarse, logp ORDER BY md5(id::text)) FROM walk GROUP BY task UNION ALL
	SELECT task, g::text::rollout_group FROM walks UNION ALL
	SELECT task, group_union((SELECT rollout_agg(NULL, rollout, NULL, NULL, NULL, NULL) FROM walk k WHERE k.task = w.task), g) FROM walks w) x JOIN walks USING (task);
SET stepadv.enable_group_fold = off;
SELECT count(*) AS all, count(*) FILTER (WHERE bytes(x.g) = bytes(w.g)) AS without_group_fold FROM (SELECT task, rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, no / 2, NULL, NULL, NULL, coarse, logp) AS g FROM walk GROUP BY task) x JOIN walks w USING (task);
RESET stepadv.enable_group_fold;
-- Two rows of one step, lenient: one stays, the same in any order.
SELECT count(DISTINCT bytes(g)) AS different FROM (SELECT stepadv_internal.lenient_rollout_agg(1, 1, 1, 1, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, c, -p ORDER BY f * c, f * p) AS g
	FROM generate_series(1, 3) c, generate_series(1, 2) p, unnest('{-1,1}'::int[]) f GROUP BY f) x;
-- By turn: the first call's coarse state, the sum of all calls' log-probabilities, missing where one is.
SELECT s.* FROM (SELECT rollout_agg(i, 1, i, i, i, 0, NULL, NULL, NULL, NULL, NULL, i / 2, NULL, NULL, NULL, i * 10, nullif(-i, -4)) AS g FROM generate_series(2, 6) i) x,
	LATERAL (SELECT step_id, turn, coarse_state, logp FROM steps(by_turn(g))) s;
-- States derived from histories do not change it.
SELECT bool_and(s.coarse_state IS NOT DISTINCT FROM h.coarse_state AND s.logp IS NOT DISTINCT FROM h.logp) AS kept, bool_or(s.state <> h.state) AS other_states
FROM walks, steps(g) s JOIN steps(history_states(g, 'set')) h USING (step_id);

-- ---- Levels, by their definition: labels that are NULL are their step's own

CREATE TABLE labelled AS SELECT *, coalesce(coarse::text, 'c' || id) AS c, coalesce(coarse::text, 'c' || id) || ' ' || coalesce(state::text, 's' || id) AS f,
	coalesce(action::text, 'a' || id) AS a, sum(reward) OVER (PARTITION BY task, rollout ORDER BY no DESC) AS to_go,
	lead(id) OVER (PARTITION BY task, rollout ORDER BY no) AS next_id FROM walk WHERE rollout < 9;
CREATE FUNCTION returns(gamma float8) RETURNS TABLE (id int, g float8) LANGUAGE sql
AS $$ SELECT w.id, sum(power(gamma, l.no - w.no) * l.reward) FROM labelled w JOIN labelled l ON (l.task, l.rollout) = (w.task, w.rollout) AND l.no >= w.no GROUP BY w.id $$;

CREATE TABLE targets (id int, task int, rollout int, c text, f text, a text, t float8, m float8, counts boolean);
-- The two equations and the advantage, of targets t with visits that count.
CREATE FUNCTION two_levels(k float8, prior float8) RETURNS TABLE (id int, q float8, v float8, advantage float8) LANGUAGE sql
AS $$
	WITH c AS (SELECT task, c, (sum(t) + prior * min(m)) / (count(*) + prior) AS v FROM targets WHERE counts GROUP BY task, c),
		ca AS (SELECT task, c, a, avg(t) AS q FROM targets WHERE counts GROUP BY task, c, a),
		f AS (SELECT task, f, (sum(t) + k * min(c.v)) / (count(*) + k) AS v FROM targets JOIN c USING (task, c) WHERE counts GROUP BY task, f),
		fa AS (SELECT task, f, a, avg(t) AS q, count(*) AS n FROM targets WHERE counts GROUP BY task, f, a)
	SELECT x.id, c.v + y.advantage, c.v, y.advantage FROM targets x JOIN c USING (task, c) JOIN ca USING (task, c, a) JOIN f USING (task, f) JOIN fa USING (task, f, a),
		LATERAL (SELECT (fa.n * (fa.q - f.v) + k * (ca.q - c.v)) / (fa.n + k) AS advantage) y
$$;
-- rtmc: returns; the prior's mean is the share of rollouts with a return above 0.
CREATE FUNCTION rtmc_oracle(gamma float8, first boolean) RETURNS void LANGUAGE sql
AS $$
	TRUNCATE targets;
	INSERT INTO targets SELECT l.id, l.task, rollout, c, f, a, g, m.m, NOT first OR row_number() OVER (PARTITION BY l.task, rollout, f, a ORDER BY no) = 1
	FROM labelled l JOIN returns(gamma) USING (id) JOIN (SELECT task, avg((to_go > 0)::int) AS m FROM labelled WHERE no = 0 GROUP BY task) m USING (task)
$$;
CREATE FUNCTION differences(method text) RETURNS TABLE (steps bigint, q text, v text, advantage text) LANGUAGE plpgsql
AS $$ BEGIN
	RETURN QUERY EXECUTE format('SELECT count(o.q), CASE WHEN max(abs(a.q - o.q)) < 1e-12 THEN ''same'' ELSE max(abs(a.q - o.q))::text END, CASE WHEN max(abs(a.v - o.v)) < 1e-12 THEN ''same'' ELSE max(abs(a.v - o.v))::text END,
		CASE WHEN max(abs(a.advantage - o.advantage)) < 1e-12 THEN ''same'' ELSE max(abs(a.advantage - o.advantage))::text END FROM walks, %s', method);
END $$;
SELECT rtmc_oracle(0.9, true);
SELECT d.* FROM differences('rtmc(g, gamma => 0.9) a JOIN two_levels(3, 2) o ON o.id = a.step_id') d;
SELECT d.* FROM differences('rtmc(g, gamma => 0.9, k => 0.4, prior => 1) a JOIN two_levels(0.4, 1) o ON o.id = a.step_id') d;
SELECT rtmc_oracle(0.99, false);
SELECT d.* FROM differences('rtmc(g, visit => ''every'') a JOIN two_levels(3, 2) o ON o.id = a.step_id') d;
-- Divided by their standard deviation over the judged steps.
SELECT count(*) AS steps, max(abs(n.advantage - a.advantage / sd)) < 1e-12 AS normalised FROM walks, LATERAL (SELECT stddev_pop(advantage) AS sd FROM rtmc(g)) s, rtmc(g) a JOIN rtmc(g, normalise => true) n USING (step_id) WHERE a.advantage IS NOT NULL;

-- batch_td: the two lines are equations, solved by iteration.
CREATE FUNCTION batch_td_oracle(gamma float8, k float8, prior float8) RETURNS void LANGUAGE plpgsql
AS $$ BEGIN
	TRUNCATE targets;
	INSERT INTO targets SELECT l.id, l.task, rollout, c, f, a, 0, m.m, true
	FROM labelled l JOIN (SELECT task, avg(g) AS m FROM labelled JOIN returns(gamma) USING (id) WHERE no = 0 GROUP BY task) m USING (task);
	FOR i IN 1..70 LOOP
		WITH c AS (SELECT task, c, (sum(t) + prior * min(m)) / (count(*) + prior) AS v FROM targets GROUP BY task, c),
			f AS (SELECT task, f, (sum(t) + k * min(c.v)) / (count(*) + k) AS v FROM targets JOIN c USING (task, c) GROUP BY task, f)
		UPDATE targets SET t = l.reward + gamma * coalesce(n.v, 0)
		FROM labelled l LEFT JOIN labelled l2 ON l2.id = l.next_id LEFT JOIN f n ON (n.task, n.f) = (l2.task, l2.f) WHERE l.id = targets.id;
	END LOOP;
END $$;
SELECT batch_td_oracle(0.7, 3, 0.5);
SELECT d.* FROM differences('batch_td(g, gamma => 0.7) a JOIN two_levels(3, 0.5) o ON o.id = a.step_id') d;
SELECT batch_td_oracle(0.7, 0.4, 2);
SELECT d.* FROM differences('batch_td(g, gamma => 0.7, k => 0.4, prior => 2) a JOIN two_levels(0.4, 2) o ON o.id = a.step_id') d;
-- n_state and n_action count visits of the coarse state; errors are there and finite.
SELECT bool_and(a.n_state = (SELECT count(*) FROM labelled k WHERE (k.task, k.c) = (l.task, l.c)) AND a.n_action = (SELECT count(*) FROM labelled k WHERE (k.task, k.c, k.a) = (l.task, l.c, l.a))) AS counted,
	min(q_error) > 0 AS errors, min(confidence) >= 0.5 AND max(confidence) <= 1 AS confidences FROM walks, batch_td(g) a JOIN labelled l ON l.id = a.step_id;

-- k 0, and no coarse states: what the states say alone; k beyond all visits: what the coarse ones say; one state a coarse one: any k.
SELECT max(abs(a.advantage - b.advantage)) = 0 AND max(abs(r.advantage - p.advantage)) = 0 AS states_alone
FROM walks, batch_td(g, k => 0) a JOIN batch_td(plain) b USING (step_id) JOIN rtmc(g, k => 0) r USING (step_id) JOIN rtmc(plain, k => 7) p USING (step_id);
SELECT max(abs(a.advantage - b.advantage)) < 1e-9 AND max(abs(r.advantage - p.advantage)) < 1e-9 AS coarse_alone
FROM walks, batch_td(g, k => 1e15) a JOIN batch_td(coarse) b USING (step_id) JOIN rtmc(g, k => 1e15, visit => 'every') r USING (step_id) JOIN rtmc(coarse, visit => 'every') p USING (step_id);
-- A history counts as if its rollouts were the group's.
SELECT max(abs(a.advantage - b.advantage)) < 1e-12 AS united FROM walks, LATERAL (SELECT rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, no / 2, NULL, NULL, NULL, coarse, logp) AS own FROM walk w WHERE w.task = walks.task AND rollout < 4) o,
	LATERAL (SELECT rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, no / 2, NULL, NULL, NULL, coarse, logp) AS before FROM walk w WHERE w.task = walks.task AND rollout >= 4) h,
	batch_td(own, history => before) a JOIN batch_td(g) b USING (step_id);
-- A state split by an irrelevant feature: alone each part has few data; with a coarse state it has those of all.
SELECT o.k, round(avg(abs(advantage))::numeric, 3) AS size FROM (SELECT rollout_agg(i, i, 0, i, i % 2, i % 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL) AS g FROM generate_series(1, 20) i) x,
	(VALUES (0::float8), (0.4), (3), (1000)) o(k), batch_td(g, k => o.k, prior => 0) GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM walks, batch_td(g, lambda => 0.5);
SELECT count(*) FROM walks, batch_td(g, truncated => 'bootstrap');
SELECT count(*) FROM walks, batch_td(g, weights => 'policy');
SELECT count(*) FROM walks, rtmc(g, k => -1);
SELECT count(*) FROM walks, batch_td(g, k => 'NaN');

-- ---- Values by the policy's probabilities

-- V(s) = (1 - w) sum of pi Q + w m, w = prior / (N + prior), over what was tried in the state.
CREATE FUNCTION policy_oracle(gamma float8, prior float8) RETURNS TABLE (id int, q float8, v float8, advantage float8) LANGUAGE plpgsql
AS $$
#variable_conflict use_column
BEGIN
	TRUNCATE targets;
	INSERT INTO targets SELECT l.id, l.task, rollout, NULL, coalesce(state::text, 's' || id), a, 0, m.m, true
	FROM labelled l JOIN (SELECT task, avg(g) AS m FROM labelled JOIN returns(gamma) USING (id) WHERE no = 0 GROUP BY task) m USING (task);
	CREATE TEMPORARY TABLE pi ON COMMIT DROP AS SELECT x.task, x.f, x.a, x.p / sum(x.p) OVER (PARTITION BY x.task, x.f) AS pi
	FROM (SELECT t.task, t.f, t.a, avg(exp(logp)) AS p FROM targets t JOIN walk USING (id) GROUP BY t.task, t.f, t.a) x;
	FOR i IN 1..70 LOOP
		CREATE TEMPORARY TABLE now_v AS SELECT task, f, (sum(n) * sum(pi * q) + prior * min(m)) / (sum(n) + prior) AS v
		FROM (SELECT task, f, a, avg(t) AS q, count(*) AS n, min(m) AS m FROM targets GROUP BY task, f, a) x JOIN pi USING (task, f, a) GROUP BY task, f;
		UPDATE targets SET t = l.reward + gamma * coalesce(n.v, 0)
		FROM labelled l LEFT JOIN targets l2 ON l2.id = l.next_id LEFT JOIN now_v n ON (n.task, n.f) = (l2.task, l2.f) WHERE l.id = targets.id;
		IF i < 70 THEN DROP TABLE now_v; END IF;
	END LOOP;
	RETURN QUERY SELECT x.id, y.q, n.v, y.q - n.v FROM targets x JOIN now_v n USING (task, f) JOIN (SELECT task, f, a, avg(t) AS q FROM targets GROUP BY task, f, a) y USING (task, f, a);
	DROP TABLE pi;
	DROP TABLE now_v;
END $$;
SELECT d.* FROM differences('batch_td(g, gamma => 0.7, k => 0, weights => ''policy'') a JOIN policy_oracle(0.7, 0.5) o ON o.id = a.step_id') d;
SELECT d.* FROM differences('batch_td(g, gamma => 0.6, k => 0, prior => 3, weights => ''policy'') a JOIN policy_oracle(0.6, 3) o ON o.id = a.step_id') d;
-- By hand: action 1 pays 1 and was taken once in four, but the policy takes it with .8: V = .8, by visits .25.
CREATE TABLE biased AS SELECT rollout_agg(i, i, 0, 1, i / 4, i / 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, ln(CASE i / 4 WHEN 1 THEN 0.8 ELSE 0.2 END)) AS g FROM generate_series(1, 4) i;
SELECT weights, a.step_id, a.n_state, a.n_action, a.q, round(a.v::numeric, 12) AS v, round(a.advantage::numeric, 12) AS advantage FROM biased, unnest('{visits,policy}'::text[]) weights, batch_td(g, weights => weights, prior => 0) a WHERE a.step_id > 2;
-- Probabilities count relative to each other: shares of what was tried, however small all are, and none is nothing.
SELECT a.step_id, round(a.v::numeric, 9) AS v, round(a.q::numeric, 9) AS q FROM (SELECT rollout_agg(i, i, 0, 1, i, i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE i WHEN 3 THEN -1e300 ELSE -1e5 + ln(i) END) AS g FROM generate_series(1, 3) i) x, batch_td(g, weights => 'policy', prior => 0) a;
-- So do errors, with visits in these shares.
SELECT bool_and(q_error > 0 AND confidence BETWEEN 0.5 AND 1) AS errors FROM walks, batch_td(g, k => 0, weights => 'policy') WHERE rollout_id < 9;
SELECT count(*) FROM (SELECT rollout_agg(i, 5, i, 1, i, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, nullif(i, 2)) AS g FROM generate_series(1, 3) i) x, batch_td(g, weights => 'policy');
SELECT count(*) FROM walks, batch_td(plain, weights => 'policy');
-- Lenient: a state with a step without a logp is weighed by its visits; the logp of unjudged rollouts is not used.
SELECT max(abs(a.v - b.v)) = 0 AS by_visits FROM (SELECT stepadv_internal.lenient_rollout_agg(i, i, 0, 1, i % 2, i % 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN i > 1 THEN -i END) AS g FROM generate_series(1, 5) i) x,
	batch_td(g, weights => 'policy') a JOIN batch_td(g) b USING (step_id);
SELECT count(a.advantage) AS judged, count(*) AS steps FROM (SELECT rollout_agg(i, i, 0, 1, i % 2, nullif(i % 3, 2), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN i % 3 < 2 THEN -i END) AS g FROM generate_series(1, 5) i) x, batch_td(g, weights => 'policy') a;

-- ---- Attached

CREATE TABLE taken AS SELECT task, rollout, id, no, 'state ' || state AS state, 'coarse ' || coarse AS coarse, 'action ' || action AS action, reward, logp::numeric AS logp FROM walk;
ALTER TABLE taken ADD PRIMARY KEY (id);
SET client_min_messages = warning;
SELECT view_name FROM attach('taken', ARRAY['task'], 'rollout', 'no', 'state', 'action', 'reward', '{"step_id": "id", "coarse_state": "coarse", "logp": "logp"}', '{rtmc,batch_td,values}');
-- Texts have other hashes than integers, and states are summed in another order; nothing else differs.
SELECT count(r.advantage) AS steps, max(abs(r.advantage - w.advantage)) < 1e-12 AS rtmc, max(abs(b.advantage - x.advantage)) < 1e-12 AS batch_td
FROM taken_rtmc r JOIN taken_batch_td b USING (id), walks, rtmc(g) w JOIN batch_td(g) x USING (step_id) WHERE w.step_id = r.id;
SELECT attname, col_description(attrelid, attnum) FROM pg_attribute WHERE attrelid = 'taken_rows'::regclass AND attname IN ('coarse_state', 'logp') ORDER BY 1;
-- The shown value and the kept one have both.
SELECT count(*) AS steps, count(s.coarse_state) AS coarse, count(s.logp) AS logps FROM taken_values v, steps(v.rollouts) s;
CREATE INDEX ON taken (task);
SELECT maintain('taken');
UPDATE taken SET coarse = 'coarse ' || (id % 2) WHERE task = 1;
SELECT refresh('taken');
SELECT count(*) AS steps, count(s.coarse_state) AS coarse, count(DISTINCT s.coarse_state) FILTER (WHERE v.task = 1) AS of_1, count(s.logp) AS logps FROM taken_folded v, steps(v.rollouts) s;
SELECT task, max(abs(r.advantage - w.advantage)) < 1e-12 AS as_before FROM taken_rtmc r JOIN walks USING (task), rtmc(g) w WHERE w.step_id = r.id GROUP BY task ORDER BY task;
SELECT detach('taken');
SELECT view_name FROM attach('taken', ARRAY['task'], 'rollout', 'no', 'state', 'action', 'reward', options => '{"batch_td": {"weights": "policy"}}', views => '{batch_td}');
SELECT view_name FROM attach('taken', ARRAY['task'], 'rollout', 'no', 'state', 'action', 'reward', '{"logp": "action"}', views => '{batch_td}');
SELECT count(*) FROM attach('taken', ARRAY['task'], 'rollout', 'no', 'state', 'action', 'reward', '{"logp": "logp"}', options => '{"batch_td": {"weights": "policy"}}', views => '{batch_td}');
SELECT max(abs(b.advantage - x.advantage)) < 1e-12 AS by_policy FROM taken_batch_td b, walks, batch_td(g, k => 0, weights => 'policy') x WHERE x.step_id = b.step_id;
SELECT detach('taken');
DROP SCHEMA levels CASCADE;

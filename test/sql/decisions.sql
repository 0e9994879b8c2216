-- Decision points, failure points, loops, the graph in one row: by hand, against plain SQL over the rows, over attachments, and errors.
CREATE SCHEMA decisions;
SET search_path = decisions, stepadv, public;
SET jit = off;
SET client_min_messages = warning;
\set VERBOSITY terse

CREATE FUNCTION dice(VARIADIC what integer[]) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT ('x' || substr(md5(what::text), 1, 7))::bit(28)::integer $$;
-- 40 groups of 3 to 8 rollouts of 0 to 9 steps: 6 states (or NULL), 3 actions, rewards along the way, costs in every third group; some unjudged, some truncated, some with next_state.
CREATE TABLE step AS
SELECT n, r, t, n * 10000 + r * 100 + t AS id, nullif(dice(n, r, t, 1) % 7, 6)::bigint AS s, (nullif(dice(n, r, t, 2) % 13, 12) % 3)::bigint AS a,
	CASE WHEN dice(n, r) % 8 > 0 THEN -(dice(n, r, t, 3) % 3) / 10.0 END::float8 AS reward,
	CASE WHEN dice(n, r) % 8 > 0 THEN dice(n, r, 5) % 3 = 0 AND n % 5 > 0 END AS success,
	CASE dice(n, r, t, 6) % 3 WHEN 0 THEN dice(n, r, t, 9) % 9 END::bigint AS leads_to, CASE n % 3 WHEN 0 THEN 1 + dice(n, r, t, 7) % 4 / 2.0 END::float8 AS cost,
	dice(n, r, 8) % 4 = 0 AS cut_off, t / 2 AS turn
FROM generate_series(1, 40) n, LATERAL generate_series(1, 3 + n % 6) r, LATERAL generate_series(0, dice(n, r, 4) % 10 - 1) t;
INSERT INTO step SELECT n, 9, NULL, NULL, NULL, NULL, NULL, n % 4 = 0, NULL, NULL, NULL, NULL FROM generate_series(1, 40, 2) n;	-- a rollout without steps
CREATE TABLE folded AS SELECT n, rollout_agg(id, r, t, s, a, reward, success, leads_to, NULL, NULL, cost, turn, NULL, cut_off, NULL) AS g FROM step GROUP BY n;
-- A NULL state is one of its own, as is a NULL action.
CREATE VIEW known AS SELECT *, coalesce('s' || s, 'own' || id) AS state, coalesce('a' || a, 'own' || id) AS act FROM step WHERE t IS NOT NULL;
CREATE FUNCTION differ(x float8, y float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS
$$ SELECT x IS DISTINCT FROM y AND (abs(x - y) <= 1e-9 * greatest(abs(x), abs(y), 1e-3)) IS NOT TRUE $$;

-- ---- decision_points

-- By hand: in state 1 the action 1 was taken three times (twice by rollout 1) and led to 1 and 0, action 2 once, and led to 0.8.
CREATE TABLE hand AS
SELECT rollout_agg(id, r, t, s, a, reward) AS g FROM (VALUES (11, 1, 1, 1, 1, 0::float8), (12, 1, 2, 1, 1, 1), (21, 2, 1, 1, 1, 0), (31, 3, 1, 1, 2, 0.8), (32, 3, 2, 2, NULL, 0), (41, 4, 1, 1, 1, NULL)) v(id, r, t, s, a, reward);
-- rtmc: first visits of discount 1, so of action 1 the mean of 1 and 0. Entropy of 3/4 and 1/4.
SELECT state, n_visits, n_rollouts, n_actions, entropy::numeric(15, 12), (-0.75 * ln(0.75) - 0.25 * ln(0.25))::numeric(15, 12) AS by_hand, best_q, worst_q, gap, n_best_visits, n_worst_visits, step_id, best_step_id, worst_step_id
FROM hand, decision_points(g, 'rtmc', gamma => 1);
-- batch_td of discount 1: V(1) = (V(1) + 1 + 0 + 0.8) / 4 = 0.6, Q of action 1 (0.6 + 1 + 0) / 3, of action 2 0.8.
SELECT state, best_q, worst_q::numeric(15, 12), gap::numeric(15, 12), gap_error > 0.1 AS has_error, best_step_id, worst_step_id FROM hand, decision_points(g, gamma => 1);
-- The prior of each method is that of the method, gamma 1.
SELECT count(*) AS off FROM hand, LATERAL (
	SELECT d, best_q AS q, best_step_id AS id, 'batch_td' AS m FROM decision_points(g) d UNION ALL SELECT d, best_q, best_step_id, 'rtmc' FROM decision_points(g, 'rtmc') d) x
WHERE q IS DISTINCT FROM CASE m WHEN 'rtmc' THEN (SELECT r.q FROM rtmc(g, gamma => 1) r WHERE r.step_id = x.id) ELSE (SELECT r.q FROM batch_td(g, gamma => 1, prior => 0) r WHERE r.step_id = x.id) END;

-- In plain SQL, over the rows and what the methods say of them.
CREATE TABLE said AS
SELECT m, n, e.* FROM folded, unnest('{batch_td,rtmc,rtmc start}'::text[]) m, LATERAL (
	SELECT step_id, q, q_error FROM batch_td(g, gamma => 0.8, prior => 0.5, prior_mean => 'success_rate') WHERE m = 'batch_td' UNION ALL SELECT step_id, q, q_error FROM rtmc(g) WHERE m = 'rtmc'
	UNION ALL SELECT step_id, q, q_error FROM rtmc(g, prior_mean => 'start_value', baseline => 0.3, success_above => -1) WHERE m = 'rtmc start') e(step_id, q, q_error) WHERE q IS NOT NULL;
CREATE TABLE plain_actions AS
SELECT m, n, state, act, count(*) AS visits, min(q) AS q, max(q) - min(q) AS spread, min(q_error) AS q_error, min(step_id) AS step_id
FROM said JOIN known USING (n) WHERE id = step_id GROUP BY m, n, state, act;
SELECT count(*) > 500 AS many, count(*) FILTER (WHERE spread > 1e-12) AS two_qs FROM plain_actions;
CREATE TABLE plain_decisions AS
SELECT m, n, state, sum(visits) AS visits, count(*) AS actions, -sum(visits / total * ln(visits / total)) AS entropy, max(q) AS best, min(q) AS worst, min(step_id) AS step_id
FROM (SELECT *, sum(visits) OVER (PARTITION BY m, n, state) AS total FROM plain_actions) p GROUP BY m, n, state;
CREATE TABLE points AS
SELECT m, folded.n, k.state AS known_as, d.* FROM folded CROSS JOIN unnest('{batch_td,rtmc,rtmc start}'::text[]) m CROSS JOIN LATERAL (
	SELECT * FROM decision_points(g, gamma => 0.8, prior => 0.5) WHERE m = 'batch_td' UNION ALL SELECT * FROM decision_points(g, 'rtmc', gamma => 0.99) WHERE m = 'rtmc'
	UNION ALL SELECT * FROM decision_points(g, 'rtmc', gamma => 0.99, prior_mean => 'start_value', baseline => 0.3, success_above => -1) WHERE m = 'rtmc start') d JOIN known k ON k.id = d.step_id;
SELECT d.m, count(*) > 300 AS many, count(*) FILTER (WHERE p.visits IS DISTINCT FROM d.n_visits OR p.actions IS DISTINCT FROM d.n_actions OR differ(p.entropy::float8, d.entropy)
		OR differ(p.best, d.best_q) OR differ(p.worst, d.worst_q) OR p.step_id IS DISTINCT FROM d.step_id OR k.s IS DISTINCT FROM d.state) AS off,
	count(*) FILTER (WHERE d.n_actions > 1) > 50 AS decided, count(*) FILTER (WHERE (d.gap IS NULL) <> (d.n_actions = 1) OR (d.gap_error IS NULL) <> (d.n_actions = 1)) AS gaps_off
FROM points d FULL JOIN plain_decisions p ON (p.m, p.n, p.state) = (d.m, d.n, d.known_as) LEFT JOIN known k ON k.id = d.step_id GROUP BY d.m ORDER BY d.m;
SELECT (SELECT count(*) FROM points) = (SELECT count(*) FROM plain_decisions) AS as_many;
-- Best and worst are actions of the state, with these Qs, visits and errors.
SELECT count(*) FILTER (WHERE b.q <> d.best_q OR w.q <> d.worst_q OR b.visits <> d.n_best_visits OR w.visits <> d.n_worst_visits OR differ(d.gap, d.best_q - d.worst_q)
	OR differ(d.gap_error, sqrt(b.q_error ^ 2 + w.q_error ^ 2)) OR b.step_id <> d.best_step_id OR w.step_id <> d.worst_step_id) AS off, count(*) > 100 AS many
FROM points d JOIN known kb ON kb.id = d.best_step_id JOIN known kw ON kw.id = d.worst_step_id
JOIN plain_actions b ON (b.m, b.n, b.state, b.act) = (d.m, d.n, d.known_as, kb.act) JOIN plain_actions w ON (w.m, w.n, w.state, w.act) = (d.m, d.n, d.known_as, kw.act) WHERE d.n_actions > 1;
SELECT count(*) FILTER (WHERE d.n_rollouts <> (SELECT count(DISTINCT k.r) FROM known k WHERE k.n = d.n AND k.state = d.known_as AND k.reward IS NOT NULL)) AS off FROM points d;

-- ---- failure_points

-- By hand: from a and b rollout 1 reached the goal. 2 went from b to a, then to c; 3 began in c; 4 stayed in a and ended there; 5 was truncated in a. No rewards, so V is 0.
CREATE FUNCTION walks(walks text, cut_off integer DEFAULT NULL) RETURNS rollout_group LANGUAGE sql AS
$$ SELECT rollout_agg(r * 100 + t, r, t::integer, ascii(c), t, 0, w LIKE '%!', NULL, NULL, NULL, NULL, NULL, NULL, r = cut_off, NULL)
	FROM regexp_split_to_table(walks, ', ') WITH ORDINALITY w(w, r), regexp_split_to_table(rtrim(w, '!'), '') WITH ORDINALITY c(c, t) $$;
SELECT f.* FROM failure_points(walks('ab!, abac, c, aa, a', 5)) f;
SELECT rollout_id, drop_step_no, value_drop::numeric(12, 9) FROM (SELECT rollout_agg(id, r, t, s, 1, reward) AS g FROM (VALUES (1, 1, 1, 1, 0::float8), (2, 1, 2, 2, 1), (3, 2, 1, 1, 0), (4, 2, 2, 2, 0), (5, 2, 3, 1, 0), (6, 2, 4, 3, 0)) v(id, r, t, s, reward)) x,
	failure_points(g, gamma => 1) ORDER BY 1;
-- No rollout succeeded: no chance was lost. All succeeded: nothing was lost. Nothing is judged.
SELECT f.* FROM failure_points(walks('ab, ac')) f;
SELECT count(*) FROM failure_points(walks('ab!, ac!'));
SELECT (SELECT count(*) FROM failure_points(g)), (SELECT count(*) FROM decision_points(g)), (SELECT count(*) FROM loops(g)) FROM (SELECT rollout_agg(i, i, 0, 1, 1, NULL) AS g FROM generate_series(1, 2) i) x;
SELECT (SELECT count(*) FROM failure_points(NULL)), (SELECT count(*) FROM decision_points(NULL)), (SELECT count(*) FROM loops(NULL));
SELECT f.* FROM (SELECT rollout_agg(1, 1, NULL, NULL, NULL, 0, false) AS g) x, failure_points(g) f;

-- In plain SQL: the first step with a graphgpo distance before it and none after it (unless truncated with unknown next state); V of the next state; states of successful rollouts.
CREATE TABLE said_of_steps AS
SELECT n, k.*, d.distance, d.next_distance, b.v, b.return, lead(b.v) OVER w AS next_v, row_number() OVER w AS rank, count(*) OVER (PARTITION BY n, r) AS n_steps
FROM folded, graphgpo(g) d JOIN batch_td(g, gamma => 0.8, prior => 0) b USING (step_id), LATERAL (SELECT r, t, state, reward, success, cut_off, leads_to FROM known WHERE id = step_id) k WHERE k.success IS NOT NULL WINDOW w AS (PARTITION BY n, r ORDER BY t);
CREATE TABLE lost AS
SELECT n, r, max(n_steps) AS n_steps, max(distance) FILTER (WHERE rank = 1) AS distance,
	min(t) FILTER (WHERE distance IS NOT NULL AND next_distance IS NULL AND NOT (rank = n_steps AND cut_off AND leads_to IS NULL)) AS dead_end,
	max(v - (CASE WHEN rank = n_steps THEN return ELSE reward + 0.8 * next_v END)) AS most,
	max(t) FILTER (WHERE EXISTS (SELECT FROM said_of_steps o WHERE o.n = s.n AND o.state = s.state AND o.success)) AS last_chance
FROM said_of_steps s WHERE NOT success GROUP BY n, r;
SELECT count(*) > 80 AS many, count(*) FILTER (WHERE f.n_steps <> coalesce(l.n_steps, 0) OR differ(f.distance, l.distance) OR f.dead_end_step_no IS DISTINCT FROM l.dead_end OR f.last_chance_step_no IS DISTINCT FROM l.last_chance
		OR (f.value_drop IS NULL) <> (coalesce(l.most, 0) < 1e-9) OR differ(f.value_drop, CASE WHEN l.most >= 1e-9 THEN l.most END)) AS off,
	count(f.dead_end_step_no) > 30 AS dead_ends, count(*) FILTER (WHERE f.dead_end_step_no IS NULL AND f.distance IS NOT NULL) > 5 AS still_alive, count(*) FILTER (WHERE f.distance IS NULL) > 5 AS never_alive,
	count(*) FILTER (WHERE f.last_chance_step_no > f.dead_end_step_no) AS too_late, count(*) FILTER (WHERE f.last_chance_step_no < f.dead_end_step_no) > 0 AS earlier
FROM folded JOIN LATERAL failure_points(g, gamma => 0.8) f ON true LEFT JOIN lost l ON (l.n, l.r) = (folded.n, f.rollout_id);
SELECT (SELECT count(*) FROM folded, failure_points(g)) = (SELECT count(DISTINCT (n, r)) FROM step WHERE NOT success) AS one_per_failure;
-- The drop is that of its step, the first of equals, and ids go with numbers.
SELECT count(*) FILTER (WHERE differ(f.value_drop, s.v - CASE WHEN s.rank = s.n_steps THEN s.return ELSE s.reward + 0.8 * s.next_v END)) AS off, count(*) > 50 AS many,
	count(*) FILTER (WHERE f.drop_step_id <> folded.n * 10000 + f.rollout_id * 100 + f.drop_step_no OR f.dead_end_step_id <> folded.n * 10000 + f.rollout_id * 100 + f.dead_end_step_no
		OR f.last_chance_step_id <> folded.n * 10000 + f.rollout_id * 100 + f.last_chance_step_no) AS other_ids
FROM folded, failure_points(g, gamma => 0.8) f JOIN said_of_steps s ON s.r = f.rollout_id AND s.t = f.drop_step_no WHERE s.n = folded.n;

-- ---- loops

-- Shapes: actions as letters, all in one state with the same next state. A round counts from its second time on.
CREATE FUNCTION looks(actions text, same text DEFAULT 'action', max_cycle integer DEFAULT 8) RETURNS text LANGUAGE sql AS
$$ SELECT string_agg(coalesce(l.cycle_length::text, '.'), '' ORDER BY l.step_no) FROM (SELECT rollout_agg(t, 1, t::integer, t, ascii(c), 0) AS g FROM regexp_split_to_table(actions, '') WITH ORDINALITY c(c, t)) x, loops(g, same, max_cycle) l $$;
SELECT a, looks(a), looks(a, max_cycle => 1), looks(a, 'state') FROM unnest('{a,aa,aab,abab,ababa,xabab,abcabc,abcabcabx,aabaab,abba}'::text[]) a;
SELECT looks('abab', max_cycle => 0), looks(repeat('a', 5) || repeat('ba', 3));
-- By hand: state and action, the result of the last step by next_state.
SELECT l.* FROM (SELECT rollout_agg(id, r, t, s, a, NULL, NULL, n, NULL, NULL, NULL) AS g FROM (VALUES
	(1, 1, 1, 7, 1, NULL), (2, 1, 2, 8, 1, NULL), (3, 1, 3, 7, 1, NULL), (4, 1, 4, 9, 1, NULL), (5, 1, 5, 7, 1, 9),
	(6, 2, 1, 7, 1, NULL), (7, 2, 2, NULL, 1, NULL), (8, 2, 3, NULL, 1, NULL), (9, 2, 4, 7, NULL, NULL), (10, 2, 5, 7, NULL, NULL)) v(id, r, t, s, a, n)) x, loops(g) l;
-- In plain SQL.
CREATE TABLE plain_loops AS
WITH k AS (
	SELECT same, n, r, t, id, CASE same WHEN 'state' THEN state WHEN 'action' THEN act ELSE state || ' ' || act END AS what,
		coalesce(lead(state) OVER (PARTITION BY same, n, r ORDER BY t), 's' || leads_to) AS result, row_number() OVER (PARTITION BY same, n, r ORDER BY t)::integer AS i
	FROM known, unnest('{state_action,state,action}'::text[]) same),
q AS (SELECT same, n, r, array_agg(what ORDER BY i) AS all_of_them FROM k GROUP BY same, n, r)
SELECT k.same, k.n, k.id, (SELECT count(*) FROM k b WHERE (b.same, b.n, b.r, b.what) = (k.same, k.n, k.r, k.what) AND b.i < k.i) AS n_before,
	k.i - l.i AS since, coalesce(l.result = k.result, false) AS same_result,
	(SELECT min(p) FROM generate_series(1, 3) p, generate_series(k.i, least(k.i + p - 1, cardinality(all_of_them))) e
		WHERE e - 2 * p >= 0 AND all_of_them[e - p + 1:e] = all_of_them[e - 2 * p + 1:e - p]) AS cycle_length
FROM k JOIN q USING (same, n, r) LEFT JOIN LATERAL (SELECT * FROM k b WHERE (b.same, b.n, b.r, b.what) = (k.same, k.n, k.r, k.what) AND b.i < k.i ORDER BY b.i DESC LIMIT 1) l ON true;
SELECT same, count(*) > 800 AS many, count(*) FILTER (WHERE (p.n_before, p.same_result) IS DISTINCT FROM (l.n_before::bigint, l.same_result) OR p.since IS DISTINCT FROM l.since OR p.cycle_length IS DISTINCT FROM l.cycle_length) AS off,
	count(*) FILTER (WHERE l.in_loop <> (l.same_result OR l.cycle_length IS NOT NULL)) AS in_loop_off, count(l.since) > 20 AS repeats, count(*) FILTER (WHERE l.same_result) > 0 AS same_results, count(l.cycle_length) > 0 AS cycles
FROM (SELECT same, n, l.* FROM folded, unnest('{state_action,state,action}'::text[]) same, loops(g, same, 3) l) l FULL JOIN plain_loops p USING (same, n) WHERE (p.id = l.step_id) IS NOT FALSE GROUP BY same ORDER BY same;
-- The calls of a turn get what is true of the turn.
SELECT count(*) AS calls, count(*) FILTER (WHERE l.since IS DISTINCT FROM o.since OR l.same_result <> o.same_result OR l.cycle_length IS DISTINCT FROM o.cycle_length) AS off, count(l.since) > 10 AS repeats
FROM folded, loops(by_turn(g), 'state') l JOIN known k ON k.id = l.step_id,
	LATERAL (SELECT rollout_agg(id, r, t, s, a, NULL, NULL, next, NULL, NULL, NULL) AS turns FROM (
		SELECT min(id) AS id, r, turn AS t, (array_agg(s ORDER BY t))[1] AS s, 1 AS a, (array_agg(leads_to ORDER BY t DESC))[1] AS next FROM known f WHERE f.n = folded.n GROUP BY r, turn) b) x,
	LATERAL (SELECT * FROM loops(x.turns, 'state') o WHERE o.rollout_id = k.r AND o.step_no = k.turn) o
WHERE folded.n <= 10 AND k.n = folded.n;
-- 300,000 steps of a cycle, and of none.
SET statement_timeout = '60s';
SELECT count(*), count(cycle_length), max(n_before) FROM (SELECT rollout_agg(t, 1, t, t % 8, t % 8, 0) AS g FROM generate_series(1, 300000) t) x, loops(g);
RESET statement_timeout;

-- ---- Errors; none for lenient groups

SELECT * FROM decision_points((SELECT g FROM hand), 'grpo');
SELECT * FROM decision_points((SELECT g FROM hand), gamma => 1.5);
SELECT * FROM failure_points((SELECT g FROM hand), prior => -1);
SELECT * FROM failure_points((SELECT g FROM hand), method => NULL);
SELECT * FROM loops((SELECT g FROM hand), 'both');
SELECT * FROM loops((SELECT g FROM hand), max_cycle => 1001);
CREATE VIEW costly AS SELECT rollout_agg(i, i, 1, 1, i, 0, i = 1, NULL, NULL, NULL, i - 1) AS strict, stepadv_internal.lenient_rollout_agg(i, i, 1, 1::bigint, i::bigint, 0::float8, i = 1, NULL::bigint, NULL::float8, NULL::float8, (i - 1)::float8, NULL, NULL, NULL, NULL, NULL, NULL) AS lenient FROM generate_series(1, 3) i;
SELECT f.* FROM costly, failure_points(strict) f;
SELECT f.* FROM costly, failure_points(lenient) f;
CREATE VIEW huge AS SELECT rollout_agg(i, i, 1, 1, i, 1e308) AS strict, stepadv_internal.lenient_rollout_agg(i, i, 1, 1::bigint, i::bigint, 1e308::float8, NULL) AS lenient FROM generate_series(1, 3) i;
SELECT d.* FROM huge, decision_points(strict) d;
SELECT d.* FROM huge, decision_points(lenient, 'rtmc') d;

-- ---- Over attachments

-- Ids that are not numbers; versions within a group; kept and not.
CREATE TABLE mine (task text, run_of text, version text, no integer, key uuid PRIMARY KEY, saw text, did text, reward float8, success boolean, led_to text, worth float8, cut boolean);
INSERT INTO mine SELECT 'task ' || n, 'run ' || n || '-' || r, 'v' || r % 2, t, md5(n::text || ' ' || r || ' ' || t)::uuid, 'room ' || s, 'do ' || a, reward, success, 'room ' || leads_to, cost, cut_off FROM step WHERE t IS NOT NULL;
SELECT view_name, description FROM attach('mine', '{task}', 'run_of', 'no', state => 'saw', action => 'did', reward => 'reward', columns => '{"success": "success", "next_state": "led_to", "cost": "worth", "truncated": "cut", "step_id": "key", "policy_version": "version"}', views => '{all}', options => '{"gamma": 0.8, "decision_points": {"prior": 0.5}, "failure_points": {"method": "rtmc"}, "methods": {"batch_td_half": {"method": "batch_td", "prior": 0.5, "prior_mean": "success_rate", "gamma": 0.8}}}')
WHERE view_name::text ~ '_(decision_points|failure_points)$';
-- The same groups folded by hand; ids differ, and with them which of equal steps comes first.
CREATE TABLE stepped AS SELECT n, 'task ' || n AS task, rollout_agg(id, r, t, signature_hash('room ' || s), signature_hash('do ' || a), reward, success, signature_hash('room ' || leads_to), NULL, NULL, cost, turn, NULL, cut_off, NULL) AS g FROM step WHERE t IS NOT NULL GROUP BY n;
CREATE FUNCTION view_differs(OUT decision_points bigint, OUT failure_points bigint) LANGUAGE plpgsql AS $$
BEGIN
	SELECT count(*) INTO decision_points FROM mine_decision_points v LEFT JOIN mine m ON m.key = v.step_id LEFT JOIN mine b ON b.key = v.best_step_id LEFT JOIN mine w ON w.key = v.worst_step_id
	FULL JOIN (SELECT task, d.* FROM stepped, decision_points(g, gamma => 0.8, prior => 0.5) d WHERE state IS NOT NULL) d ON (d.task, d.state) = (v.task, v.state)
	WHERE (v.state IS NOT NULL OR d.state IS NOT NULL) AND ((v.n_visits, v.n_rollouts, v.n_actions, v.gap_error IS NULL, v.saw, v.best_action, v.worst_action, signature_hash(v.saw)) IS DISTINCT FROM (d.n_visits, d.n_rollouts, d.n_actions, d.gap IS NULL, m.saw, b.did, w.did, d.state)
		OR differ(v.gap, d.gap) OR differ(v.best_q, d.best_q) OR differ(v.worst_q, d.worst_q) OR differ(v.entropy, d.entropy) OR b.saw IS DISTINCT FROM v.saw OR w.task IS DISTINCT FROM v.task
		OR differ(v.best_q, (SELECT min(q) FROM mine_batch_td_half t WHERE t.step_id = v.best_step_id)));
	SELECT count(*) INTO failure_points FROM mine_failure_points v
	FULL JOIN (SELECT task, f.*, 'run ' || n || '-' || f.rollout_id AS run_of FROM stepped, failure_points(g, 'rtmc', gamma => 0.8) f) f ON (f.task, f.run_of) = (v.task, v.rollout_id)
	WHERE (v.dead_end_step_no, v.last_chance_step_no) IS DISTINCT FROM (f.dead_end_step_no, f.last_chance_step_no) OR differ(v.value_drop, f.value_drop) OR differ(v.distance, f.distance)
		OR v.policy_version IS DISTINCT FROM 'v' || f.rollout_id % 2 OR v.dead_end_step_id IS DISTINCT FROM (SELECT key FROM mine WHERE task = f.task AND mine.run_of = f.run_of AND no = f.dead_end_step_no)
		OR v.drop_action IS DISTINCT FROM (SELECT did FROM mine WHERE task = f.task AND mine.run_of = f.run_of AND no = v.drop_step_no);
END $$;
SELECT (SELECT count(*) FROM mine_decision_points) > 100 AS decisions, (SELECT count(*) FROM mine_failure_points) > 50 AS failures;
SELECT * FROM view_differs();
-- One group alone is folded, by the key.
SELECT (SELECT count(*) FROM mine_decision_points WHERE task = 'task 3') = (SELECT count(*) FROM stepped, decision_points(g) WHERE n = 3) AS one;
SELECT maintain('mine') IS NOT NULL AS kept;
SELECT * FROM view_differs();
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN (COSTS off) ' || query; END $$;
SELECT v, bool_or(line ~ 'mine_folded') AS reads_what_is_kept, bool_or(line ~ 'GroupFold|lenient_rollout_agg') AS folds, bool_or(line ~ 'StepScan') AS steps_in_place
FROM unnest('{decision_points,failure_points}'::text[]) v, plan(format('SELECT * FROM mine_%s WHERE task = ''task 3''', v)) line GROUP BY v ORDER BY v;
UPDATE mine SET reward = 5, success = true WHERE task = 'task 3';
SELECT count(*) FROM mine_failure_points WHERE task = 'task 3';
-- Views have no columns for what the rows lack.
CREATE TABLE less AS SELECT n, r, t, id, s, a, reward, success FROM step WHERE t IS NOT NULL;
SELECT view_name FROM attach('less', '{n}', 'r', 't', state => 's', reward => 'reward', columns => '{"step_id": "id"}', views => '{all}', prefix => 'no_action') WHERE view_name::text ~ '_(decision_points|failure_points)$';
SELECT view_name FROM attach('less', '{n}', 'r', 't', action => 'a', columns => '{"success": "success", "step_id": "id"}', views => '{all}', prefix => 'no_state') WHERE view_name::text ~ '_(decision_points|failure_points)$';
SELECT view_name FROM attach('less', '{n}', 'r', 't', action => 'a', reward => 'reward', columns => '{"step_id": "id"}', views => '{all}', prefix => 'by_history', options => '{"states": "history"}') WHERE view_name::text ~ '_(decision_points|failure_points)$';
SELECT attach('less', '{n}', 'r', 't', state => 's', action => 'a', reward => 'reward', views => '{all}', prefix => 'x', options => '{"decision_points": {"lambda": 1}}');
SELECT attach('less', '{n}', 'r', 't', state => 's', action => 'a', reward => 'reward', views => '{all}', prefix => 'x', options => '{"failure_points": {"prior": -1}}');

SET client_min_messages = error;
DROP SCHEMA decisions CASCADE;

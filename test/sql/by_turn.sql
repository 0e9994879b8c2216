-- Functions over by_turn(g) give what they give over a group whose turns were folded by hand; mt_grpo by its formula, history_states and with_rewards by plain SQL.
CREATE SCHEMA by_turn_test;
SET search_path = by_turn_test, stepadv;
SET jit = off;
SET extra_float_digits = 0;
\set VERBOSITY terse

CREATE FUNCTION pseudorandom(VARIADIC seed text[]) RETURNS float8 LANGUAGE sql IMMUTABLE
RETURN ('x' || substr(md5(array_to_string(seed, ' ')), 1, 8))::bit(32)::bigint / 4294967296.0;
CREATE FUNCTION near(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN a IS NOT DISTINCT FROM b OR abs(a - b) <= 1e-9 * greatest(1, abs(b));

-- Random groups: turns of several calls, also apart or out of order, calls without a turn, NULLs, unjudged rollouts; in the last ten each call is a turn, or none is.
CREATE TABLE rollout AS
SELECT g, g * 100 + r AS rollout_id, floor(pseudorandom('calls', g::text, r::text) * 13)::int AS n,
	   pseudorandom('unjudged', g::text, r::text) < 0.15 AS unjudged,
	   CASE WHEN pseudorandom('success', g::text, r::text) < 0.3 THEN pseudorandom('which', g::text, r::text) < 0.5 END AS success,
	   floor(pseudorandom('outcome', g::text, r::text) * 5) / 4 AS outcome
FROM generate_series(1, 40) g, generate_series(1, 7) r;
CREATE TABLE call AS
SELECT g, rollout_id * 100 + i AS step_id, rollout_id, i * 3 AS step_no,
	   CASE WHEN g > 35 THEN NULL WHEN g > 30 THEN i
			WHEN (random -> 'no turn')::float8 < 0.1 THEN NULL
			WHEN (random -> 'apart')::float8 < 0.1 THEN floor((random -> 'which turn')::float8 * 5)::int
			ELSE (i / 2.5)::int + ((random -> 'turn')::float8 * 1.2)::int END AS turn,
	   CASE WHEN (random -> 'no state')::float8 > 0.05 THEN 10 + floor((random -> 'state')::float8 * 5)::bigint END AS state,
	   CASE WHEN (random -> 'no action')::float8 > 0.03 THEN 20 + floor((random -> 'action')::float8 * 3)::bigint END AS action,
	   CASE WHEN NOT unjudged AND (random -> 'has reward')::float8 < 0.3 THEN floor((random -> 'reward')::float8 * 5) / 4 END AS reward,
	   CASE WHEN NOT unjudged THEN success END AS success,
	   CASE WHEN (random -> 'no next')::float8 > 0.3 THEN 10 + floor((random -> 'next')::float8 * 6)::bigint END AS next_state,
	   floor((random -> 'value')::float8 * 9) / 8 AS value,
	   CASE WHEN (random -> 'has turn reward')::float8 < 0.6 THEN floor((random -> 'turn reward')::float8 * 5) / 4 END AS turn_reward,
	   CASE WHEN (random -> 'has cost')::float8 < 0.7 THEN (1 + floor((random -> 'cost')::float8 * 3)) / 2 END AS cost
FROM rollout, generate_series(1, n) i,
	 LATERAL (SELECT jsonb_object_agg(what, pseudorandom(what, rollout_id::text, i::text)) AS random
			  FROM unnest(ARRAY['no turn', 'apart', 'which turn', 'turn', 'no state', 'state', 'no action', 'action', 'has reward', 'reward',
								'no next', 'next', 'value', 'has turn reward', 'turn reward', 'has cost', 'cost']) what) dice;
CREATE VIEW outcome AS
SELECT g, rollout_id, CASE WHEN NOT unjudged THEN outcome END AS outcome FROM rollout WHERE unjudged OR pseudorandom('own row', rollout_id::text) < 0.6;
-- there is something to see of each kind
SELECT count(*) AS calls, count(DISTINCT (rollout_id, turn)) AS turns, count(*) FILTER (WHERE turn IS NULL) AS without,
	   count(*) FILTER (WHERE turn < before) AS out_of_order, count(*) FILTER (WHERE state IS NULL) AS without_state,
	   count(*) FILTER (WHERE action IS NULL) AS without_action
FROM (SELECT *, lag(turn) OVER (PARTITION BY rollout_id ORDER BY step_no) AS before FROM call) c WHERE g <= 30;

CREATE TABLE folded AS
SELECT g, rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, turn_reward, cost, turn, NULL, NULL, NULL) AS rollouts
FROM (SELECT * FROM call UNION ALL
	  SELECT g, NULL, rollout_id, NULL, NULL, NULL, NULL, outcome, NULL, NULL, NULL, NULL, NULL FROM outcome) rows
GROUP BY g;

-- By hand.  Actions are numbered as arrays: only whether they are equal counts.
CREATE TABLE member AS
SELECT *, first_value(step_id) OVER (PARTITION BY rollout_id, key ORDER BY step_no) AS first_id
FROM (SELECT *, coalesce('turn ' || turn, 'call ' || step_no) AS key FROM call) c;
CREATE FUNCTION turns_by_hand(actions text)
RETURNS TABLE (g int, step_id bigint, rollout_id bigint, step_no int, state bigint, action bigint, reward float8, success boolean,
			   next_state bigint, value float8, turn_reward float8, cost float8, turn int) LANGUAGE sql AS $$
	SELECT g, first_id, rollout_id, step_no, state, CASE WHEN NOT lacks_action THEN dense_rank() OVER (ORDER BY taken) END,
		   reward, success, next_state, value, turn_reward, cost, turn
	FROM (SELECT g, first_id, rollout_id, min(step_no) AS step_no, (array_agg(state ORDER BY step_no))[1] AS state,
				 bool_or(action IS NULL) AS lacks_action,
				 CASE actions WHEN 'set' THEN array_agg(action ORDER BY action) ELSE array_agg(action ORDER BY step_no) END AS taken,
				 sum(reward) AS reward, bool_or(success) AS success, (array_agg(next_state ORDER BY step_no DESC))[1] AS next_state,
				 (array_agg(value ORDER BY step_no))[1] AS value, sum(turn_reward) AS turn_reward, sum(cost) AS cost, min(turn) AS turn
		  FROM member GROUP BY g, rollout_id, key, first_id) t
$$;
CREATE TABLE hand AS
SELECT actions, g, rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, turn_reward, cost, turn, NULL, NULL, NULL) AS rollouts
FROM (VALUES ('sequence'), ('set')) a(actions),
	 LATERAL (SELECT * FROM turns_by_hand(actions) UNION ALL
			  SELECT g, NULL, rollout_id, NULL, NULL, NULL, outcome, NULL, NULL, NULL, NULL, NULL, NULL FROM outcome) rows
GROUP BY actions, g;

-- Estimators: the call names the group $. Each call has its own row with the estimate of its turn; some estimates must differ from those by call.
CREATE FUNCTION compare(call text) RETURNS TABLE (actions text, answers bigint, judged bigint, differ bigint, other_than_by_call boolean)
LANGUAGE plpgsql AS $$
BEGIN
	FOREACH actions IN ARRAY ARRAY['sequence', 'set'] LOOP
		EXECUTE format($q$
			SELECT count(*), count(*) FILTER (WHERE t.last IS NOT NULL),
				   count(*) FILTER (WHERE t.answer IS DISTINCT FROM h.answer), bool_or(t.answer IS DISTINCT FROM c.answer)
			FROM (SELECT e.step_id, e.rollout_id, e.step_no, to_jsonb(e) - '{step_id,rollout_id,step_no}'::text[] AS answer,
						 coalesce(to_jsonb(e) ->> 'advantage', to_jsonb(e) ->> 'return') AS last
				  FROM folded f, %2$s e) t
			FULL JOIN (SELECT m.step_id, m.rollout_id, m.step_no, to_jsonb(e) - '{step_id,rollout_id,step_no}'::text[] AS answer
					   FROM hand h, %3$s e JOIN member m ON m.first_id = e.step_id WHERE h.actions = %1$L) h
				USING (step_id, rollout_id, step_no)
			LEFT JOIN (SELECT e.step_id, to_jsonb(e) - '{step_id,rollout_id,step_no}'::text[] AS answer FROM folded f, %4$s e) c USING (step_id)$q$,
			actions, replace(call, '$', format('by_turn(f.rollouts, %L)', actions)), replace(call, '$', 'h.rollouts'), replace(call, '$', 'f.rollouts'))
		INTO answers, judged, differ, other_than_by_call;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT call, sum(answers) AS answers, sum(judged) AS judged, sum(differ) AS differ, bool_and(other_than_by_call) AS other_than_by_call FROM unnest(ARRAY[
	'returns($, 0.9)', 'returns($, 0.9, masked => true)', 'reinforce($)', 'reinforce($, 0.9, to_go => true)', 'rloo($)', 'rloo($, singleton => ''raw'')',
	'grpo($)', 'grpo($, normalise => ''mean'')', 'grpo($, weighting => ''step'')', 'grpo($, singleton => ''raw'', epsilon => 0.1)',
	'grpo($, step_rewards => true)', 'grpo($, step_rewards => true, gamma => 0.5, pool => ''step'')',
	'mt_grpo($)', 'mt_grpo($, lambda => 0.5, turn_coef => 0.7, discount => 0.8, unequal => ''skip'')', 'mt_rloo($, discount => 0.9)',
	'gae($)', 'gae($, gamma => 0.9, lambda => 0.7)', 'gigpo($)', 'gigpo($, gamma => 0.5, normalise => ''mean'', visit => ''first'')',
	'graphgpo($)', 'graphgpo($, discount => 0.8, convention => ''progress'', weighting => ''step'')', 'hgpo($)',
	'hgpo($, history_length => 4, convention => ''original'')', 'tempo($)', 'rtmc($)', 'rtmc($, gamma => 0.8, visit => ''every'', normalise => true, prior => 0)',
	'outcomes($)']) WITH ORDINALITY u(call, i), compare(call) GROUP BY i, call ORDER BY i;
-- one refuses rollouts of different lengths, in turns
SELECT count(*) FROM folded f, mt_grpo(by_turn(rollouts), unequal => 'error') WHERE f.g = 1;

-- Functions with other rows; a turn's action has another number by hand, and is known by its first step.
CREATE FUNCTION compare_rows(call text) RETURNS TABLE (actions text, answers bigint, differ bigint, other_than_by_call boolean)
LANGUAGE plpgsql AS $$
BEGIN
	FOREACH actions IN ARRAY ARRAY['sequence', 'set'] LOOP
		EXECUTE format($q$
			WITH t AS (SELECT g, to_jsonb(e) - 'action' AS answer FROM folded f, %2$s e),
				 h AS (SELECT g, to_jsonb(e) - 'action' AS answer FROM hand h, %3$s e WHERE h.actions = %1$L),
				 c AS (SELECT g, to_jsonb(e) - 'action' AS answer FROM folded f, %4$s e)
			SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM ((TABLE t EXCEPT ALL TABLE h) UNION ALL (TABLE h EXCEPT ALL TABLE t)) d),
				   EXISTS (TABLE t EXCEPT ALL TABLE c)$q$,
			actions, replace(call, '$', format('by_turn(f.rollouts, %L)', actions)), replace(call, '$', 'h.rollouts'), replace(call, '$', 'f.rollouts'))
		INTO answers, differ, other_than_by_call;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT call, sum(answers) AS answers, sum(differ) AS differ, bool_and(other_than_by_call) AS other_than_by_call FROM unnest(ARRAY[
	'steps($)', 'rollouts($)', 'rollouts($, 1)', 'group_summary($)', 'rtmc_tree($)', 'rtmc_tree($, visit => ''every'', gamma => 0.5)',
	'graph_nodes($)', 'graph_edges($)', 'contribution($)', 'contribution_summary($)',
	'decision_points($)', 'decision_points($, ''rtmc'', gamma => 0.5)', 'failure_points($)']) WITH ORDINALITY u(call, i),
	compare_rows(call) GROUP BY i, call ORDER BY i;

-- The action of a turn: that of its only call; of several, equal exactly where the hand-made one is equal; NULL where one of them is.
SELECT actions, count(*) FILTER (WHERE h.calls > 1) AS of_several,
	   bool_and(t.action = h.action) FILTER (WHERE h.calls = 1 AND h.action IS NOT NULL) AS own,
	   count(*) FILTER (WHERE t.action IS NULL) = count(*) FILTER (WHERE h.lacks) AS nulls, bool_and((t.action IS NULL) = h.lacks) AS same_nulls,
	   count(DISTINCT t.action) AS numbers, count(DISTINCT CASE WHEN NOT h.lacks THEN h.taken END) AS arrays,
	   count(DISTINCT CASE WHEN NOT h.lacks THEN (t.action, h.taken) END) AS pairs
FROM unnest(ARRAY['sequence', 'set']) actions, folded f, steps(by_turn(f.rollouts, actions)) t,
	 LATERAL (SELECT count(*) AS calls, min(action) AS action, bool_or(action IS NULL) AS lacks,
					 CASE actions WHEN 'set' THEN array_agg(action ORDER BY action) ELSE array_agg(action ORDER BY step_no) END AS taken
			  FROM member WHERE first_id = t.step_id) h
GROUP BY actions ORDER BY actions;
-- Where every call is a turn, or none has one, nothing changes but the unit.
SELECT bool_and((SELECT array_agg(s ORDER BY step_id) FROM steps(rollouts) s) = (SELECT array_agg(s ORDER BY step_id) FROM steps(by_turn(rollouts)) s)) AS same,
	   bool_and(substr(stepadv_internal.rollout_group_send(by_turn(rollouts)), 4) = substr(stepadv_internal.rollout_group_send(rollouts), 4)) AS same_value
FROM folded WHERE g > 30;

-- Lossless: of halves merged by turn, of a stored one, of one made a set and back.
SELECT bool_and(merged::text = by_turn(rollouts)::text) AS merged,
	   bool_and(by_turn(by_turn(rollouts, 'set'))::text = by_turn(rollouts)::text) AS made_again,
	   bool_and(by_turn(rollouts)::text::rollout_group::text = by_turn(rollouts)::text) AS text_form
FROM folded JOIN (
	SELECT g, rollup(by_turn(half)) AS merged
	FROM (SELECT g, rollout_agg(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, turn_reward, cost, turn, NULL, NULL, NULL) AS half
		  FROM (SELECT * FROM call UNION ALL
				SELECT g, NULL, rollout_id, NULL, NULL, NULL, NULL, outcome, NULL, NULL, NULL, NULL, NULL FROM outcome) rows
		  GROUP BY g, step_no % 2) halves GROUP BY g) m USING (g);
-- (A value is put together when it is read; from 18 on IS NULL alone does not.)
SELECT rollup(CASE WHEN g < 3 THEN rollouts ELSE by_turn(rollouts) END ORDER BY g)::text IS NULL FROM folded WHERE g < 5;
SELECT rollup(by_turn(rollouts, CASE WHEN g < 3 THEN 'set' ELSE 'sequence' END) ORDER BY g)::text IS NULL FROM folded WHERE g < 5;
SELECT by_turn(rollouts, 'bag') IS NULL FROM folded WHERE g = 1;
SELECT by_turn(NULL) IS NULL, by_turn(rollouts, NULL) IS NULL FROM folded WHERE g = 1;
-- a sum that is out of range
SELECT count(*) FROM (SELECT rollout_agg(i, 1, i, 1, 1, 1e308, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL) AS g FROM generate_series(1, 2) i) x, grpo(by_turn(g));

-- mt_grpo by its formula (A_{i,k} of turns.c), one row per turn
CREATE TABLE unit_turn AS
SELECT 'turn' AS unit, g, step_id, rollout_id, row_number() OVER (PARTITION BY rollout_id ORDER BY step_no) AS k, reward, turn_reward, success FROM turns_by_hand('sequence')
UNION ALL
SELECT 'step', g, step_id, rollout_id, row_number() OVER (PARTITION BY rollout_id ORDER BY step_no), reward, turn_reward, success FROM call;
ANALYZE rollout, unit_turn;
CREATE FUNCTION mt_grpo_by_hand(lambda float8, turn_coef float8, discount float8)
RETURNS TABLE (unit text, step_id bigint, advantage float8) LANGUAGE sql AS $$
	WITH judged AS (
		SELECT u.unit, r.g, r.rollout_id, count(t) AS n,
			   coalesce(sum(t.reward), 0) + coalesce(o.outcome, 0) AS total
		FROM (VALUES ('turn'), ('step')) u(unit) CROSS JOIN rollout r
		LEFT JOIN outcome o USING (rollout_id) LEFT JOIN unit_turn t ON t.unit = u.unit AND t.rollout_id = r.rollout_id
		GROUP BY u.unit, r.g, r.rollout_id, o.outcome
		HAVING count(t.reward) > 0 OR o.outcome IS NOT NULL OR bool_or(t.success IS NOT NULL)),
	outcomes AS (
		SELECT unit, g, rollout_id, n, max(n) OVER w AS most,
			   CASE WHEN max(total) OVER w = min(total) OVER w THEN 0 ELSE (total - avg(total) OVER w) / (stddev_samp(total) OVER w + 1e-4) END AS o
		FROM judged WINDOW w AS (PARTITION BY unit, g)),
	rewards AS (
		SELECT c.unit, c.g, c.rollout_id, l, coalesce(t.turn_reward, 0) AS x
		FROM outcomes c JOIN generate_series(1, 100) l ON l < c.most
		LEFT JOIN unit_turn t ON t.unit = c.unit AND t.rollout_id = c.rollout_id AND t.k = l),
	turns AS (
		SELECT unit, rollout_id, l,
			   CASE WHEN max(x) OVER w = min(x) OVER w THEN 0 ELSE (x - avg(x) OVER w) / (stddev_samp(x) OVER w + 1e-4) END AS t
		FROM rewards WINDOW w AS (PARTITION BY unit, g, l)),
	lists AS (SELECT unit, rollout_id, array_agg(t ORDER BY l) AS ts FROM turns GROUP BY unit, rollout_id)
	SELECT u.unit, u.step_id,
		   turn_coef * (SELECT coalesce(sum(discount ^ (l - u.k) * t), 0) FROM unnest(ts) WITH ORDINALITY x(t, l) WHERE l >= u.k)
		   + CASE WHEN u.k = o.n THEN 1 ELSE lambda END * discount ^ (o.n - u.k) * o.o
	FROM unit_turn u JOIN outcomes o USING (unit, rollout_id) LEFT JOIN lists USING (unit, rollout_id)
$$;
CREATE TABLE option AS SELECT * FROM (VALUES (1::float8, 1::float8, 1::float8), (0.5, 0.7, 0.8)) o(lambda, turn_coef, discount);
SELECT lambda, turn_coef, discount, unit, count(*) AS judged, bool_and(near(m.advantage, h.advantage)) AS equal
FROM option, LATERAL mt_grpo_by_hand(lambda, turn_coef, discount) h JOIN (
	SELECT lambda AS l, turn_coef AS t, discount AS d, unit, e.step_id, e.advantage FROM option, folded, (VALUES ('turn'), ('step')) u(unit),
		   mt_grpo(CASE unit WHEN 'turn' THEN by_turn(rollouts) ELSE rollouts END, lambda, turn_coef, discount) e) m USING (unit, step_id)
WHERE (l, t, d) = (lambda, turn_coef, discount) GROUP BY 1, 2, 3, 4 ORDER BY 1, 4;
-- and nothing is missing: every judged rollout's turns and calls were compared
SELECT unit, count(*) FROM unit_turn JOIN folded USING (g), rollouts(folded.rollouts) r
WHERE r.rollout_id = unit_turn.rollout_id AND r.judged GROUP BY unit ORDER BY unit;

-- history_states: states are equal exactly where plain SQL says so
CREATE FUNCTION one_to_one(pairs bigint, a bigint, b bigint) RETURNS text LANGUAGE sql RETURN CASE WHEN pairs = a AND pairs = b THEN 'one to one, ' || a ELSE format('%s %s %s', pairs, a, b) END;
CREATE VIEW unit_step AS
SELECT unit, g, s.*, coalesce(s.action::text, 'of ' || s.step_id) AS taken, coalesce(s.state::text, 'of ' || s.step_id) AS seen
FROM folded, (VALUES ('step'), ('turn')) u(unit), steps(CASE unit WHEN 'turn' THEN by_turn(rollouts) ELSE rollouts END) s;
CREATE FUNCTION histories(mode text, k int) RETURNS TABLE (unit text, g int, step_id bigint, state bigint, next_state bigint) LANGUAGE sql AS $$
	SELECT unit, g, s.step_id, s.state, s.next_state
	FROM folded, (VALUES ('step'), ('turn')) u(unit), steps(history_states(CASE unit WHEN 'turn' THEN by_turn(rollouts) ELSE rollouts END, mode, k)) s
$$;
CREATE FUNCTION compare_last(k int) RETURNS TABLE (unit text, steps bigint, states text, next_states boolean) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		WITH s AS (SELECT unit, step_id, next_state AS next_given, array_agg(taken) OVER (w ROWS BETWEEN %1$s PRECEDING AND 1 PRECEDING) AS before,
						  array_agg(taken) OVER (w ROWS BETWEEN %1$s - 1 PRECEDING AND CURRENT ROW) AS after
				   FROM unit_step WINDOW w AS (PARTITION BY unit, rollout_id ORDER BY step_no)),
		both_ AS (SELECT unit, h.state, s.before AS history FROM s JOIN histories('last', %1$s) h USING (unit, step_id)
				  UNION ALL SELECT unit, h.next_state, s.after FROM s JOIN histories('last', %1$s) h USING (unit, step_id) WHERE next_given IS NOT NULL)
		SELECT b.unit, count(*), one_to_one(count(DISTINCT (state, coalesce(history, '{}'))), count(DISTINCT state), count(DISTINCT coalesce(history, '{}'))),
			   (SELECT bool_and((h.next_state IS NULL) = (next_given IS NULL)) FROM s JOIN histories('last', %1$s) h USING (unit, step_id) WHERE s.unit = b.unit)
		FROM both_ b GROUP BY b.unit ORDER BY b.unit$q$, k);
END $$;
SELECT k, c.* FROM unnest(ARRAY[1, 2, 3, 1000]) k, compare_last(k) c;
-- all of them are 'sequence'; two are the default
SELECT bool_and(history_states(rollouts, 'last', 1000)::text = history_states(rollouts, 'sequence')::text),
	   bool_and(history_states(rollouts, 'last')::text = history_states(rollouts, 'last', 2)::text),
	   bool_and(history_states(rollouts, 'last')::text = history_states(rollouts, 'last', 1)::text) FROM folded;

CREATE FUNCTION compare_observations(k int) RETURNS TABLE (unit text, steps bigint, states text, nulls boolean, next_nulls boolean) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		WITH s AS (SELECT unit, step_id, next_state AS next_given, array_agg(state) OVER (w ROWS BETWEEN %1$s - 1 PRECEDING AND CURRENT ROW) AS before,
						  CASE WHEN %1$s > 1 THEN array_agg(state) OVER (w ROWS BETWEEN %1$s - 2 PRECEDING AND CURRENT ROW) END || next_state AS after
				   FROM unit_step WINDOW w AS (PARTITION BY unit, rollout_id ORDER BY step_no)),
		h AS (SELECT s.*, h.state, h.next_state, array_position(before, NULL) > 0 AS lacks, next_given IS NULL OR array_position(after, NULL) > 0 AS next_lacks
			  FROM s JOIN histories('observation_last', %1$s) h USING (unit, step_id)),
		both_ AS (SELECT unit, state, before AS history FROM h WHERE lacks IS NULL UNION ALL SELECT unit, next_state, after FROM h WHERE next_lacks IS NOT TRUE)
		SELECT b.unit, count(*), one_to_one(count(DISTINCT (state, history)), count(DISTINCT state), count(DISTINCT history)),
			   (SELECT bool_and((state IS NULL) = (lacks IS TRUE)) FROM h WHERE h.unit = b.unit),
			   (SELECT bool_and((next_state IS NULL) = (next_lacks IS TRUE)) FROM h WHERE h.unit = b.unit)
		FROM both_ b GROUP BY b.unit ORDER BY b.unit$q$, k);
END $$;
SELECT k, c.* FROM unnest(ARRAY[1, 2, 3]) k, compare_observations(k) c;
-- by turn the other modes too are of turns: as by hand
SELECT mode, count(*), one_to_one(count(DISTINCT (g, t.state, h.state)), count(DISTINCT (g, t.state)), count(DISTINCT (g, h.state)))
FROM unnest(ARRAY['sequence', 'set', 'root', 'last', 'observation_last']) mode, folded JOIN hand USING (g),
	 steps(history_states(by_turn(folded.rollouts), mode, 3)) t JOIN LATERAL steps(history_states(hand.rollouts, mode, 3)) h USING (step_id)
WHERE hand.actions = 'sequence' AND t.state IS NOT NULL AND h.state IS NOT NULL GROUP BY mode ORDER BY mode;
-- what comes before or after is not by turn and the same
SELECT bool_and(by_turn(history_states(rollouts, 'root'))::text = history_states(by_turn(rollouts), 'root')::text) FROM folded;
SELECT history_states(rollouts, 'last', 0) FROM folded WHERE g = 1;
SELECT history_states(rollouts, 'last', 1001) FROM folded WHERE g = 1;

-- with_rewards: what rollout_agg makes of the sum
CREATE TABLE component AS
SELECT g, step_id, rollout_id, step_no, turn, ARRAY[a, b, c] AS rewards, a, b, c FROM (
	SELECT g, step_id, rollout_id, step_no, turn,
		   CASE WHEN pseudorandom('a', step_id::text) < 0.5 THEN floor(pseudorandom('A', step_id::text) * 5) / 4 END AS a,
		   CASE WHEN pseudorandom('b', step_id::text) < 0.5 THEN floor(pseudorandom('B', step_id::text) * 5) / 4 END AS b,
		   CASE WHEN pseudorandom('c', step_id::text) < 0.5 THEN floor(pseudorandom('C', step_id::text) * 5) / 4 END AS c FROM call
	UNION ALL
	SELECT g, NULL, rollout_id, NULL, NULL, floor(pseudorandom('oA', rollout_id::text) * 5) / 4, NULL,
		   CASE WHEN pseudorandom('oc', rollout_id::text) < 0.5 THEN 1 END FROM rollout WHERE rollout_id % 3 > 0) x;
CREATE TABLE with_components AS
SELECT g, rollout_agg(step_id, rollout_id, step_no, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, turn,
					  CASE WHEN a IS NOT NULL OR b IS NOT NULL OR c IS NOT NULL THEN rewards END, NULL, NULL) AS rollouts FROM component GROUP BY g;
CREATE FUNCTION weighed(w float8[]) RETURNS TABLE (g int, rollouts rollout_group) LANGUAGE sql AS $$
	SELECT g, rollout_agg(step_id, rollout_id, step_no, 1, 1,
		CASE WHEN (w[1] <> 0 AND a IS NOT NULL) OR (w[2] <> 0 AND b IS NOT NULL) OR (w[3] <> 0 AND c IS NOT NULL)
			 THEN coalesce(w[1] * a, 0) + coalesce(w[2] * b, 0) + coalesce(w[3] * c, 0) END, NULL, NULL, NULL, NULL, NULL, turn, NULL, NULL, NULL)
	FROM component GROUP BY g
$$;
SELECT w, count(*), bool_and(a.step_id = b.step_id AND near(a.reward, b.reward)) AS steps, count(a.reward) AS given
FROM (VALUES ('{1,1,1}'::float8[]), ('{0.5,0,-2}'), ('{0,1,0}'), ('{0,0,0}')) v(w), LATERAL weighed(w) h JOIN with_components c USING (g),
	 ROWS FROM (steps(with_rewards(c.rollouts, w)), steps(h.rollouts)) s(step_id, rollout_id, step_no, state, action, reward, success, next_state, value, turn_reward, cost, turn, coarse_state, logp,
		step_id_2, rollout_id_2, step_no_2, state_2, action_2, reward_2, success_2, next_state_2, value_2, turn_reward_2, cost_2, turn_2, coarse_state_2, logp_2),
	 LATERAL (SELECT s.step_id, s.reward) a, LATERAL (SELECT s.step_id_2 AS step_id, s.reward_2 AS reward) b GROUP BY w ORDER BY w;
SELECT w, count(*), bool_and((a.rollout_id, a.judged) = (b.rollout_id, b.judged) AND near(a.outcome, b.outcome) AND near(a.return, b.return)) AS rollouts, count(a.outcome) AS given
FROM (VALUES ('{1,1,1}'::float8[]), ('{0.5,0,-2}'), ('{0,1,0}'), ('{0,0,0}')) v(w), LATERAL weighed(w) h JOIN with_components c USING (g),
	 rollouts(with_rewards(c.rollouts, w)) a JOIN LATERAL rollouts(h.rollouts) b USING (rollout_id) GROUP BY w ORDER BY w;
-- before or after by_turn, and merged, it is the same; the components stay
SELECT bool_and(with_rewards(by_turn(rollouts), '{1,2,3}')::text = by_turn(with_rewards(rollouts, '{1,2,3}'))::text) AS by_turn,
	   bool_and(with_rewards(with_rewards(rollouts, '{1,2,3}'), '{1,0,0}')::text = with_rewards(rollouts, '{1,0,0}')::text) AS again,
	   rollup(with_rewards(rollouts, '{1,2,3}'))::text = with_rewards(rollup(rollouts), '{1,2,3}')::text AS merged FROM with_components;
-- as rows
SELECT count(*), count(step_no) AS of_steps FROM with_components, reward_components(rollouts);
SELECT count(*) FROM (
	(SELECT step_id, rollout_id, step_no, i::int, r FROM component, unnest(rewards) WITH ORDINALITY u(r, i) WHERE r IS NOT NULL EXCEPT ALL
	 SELECT r.* FROM with_components, reward_components(rollouts) r)
	UNION ALL (SELECT r.* FROM with_components, reward_components(rollouts) r EXCEPT ALL
	 SELECT step_id, rollout_id, step_no, i::int, r FROM component, unnest(rewards) WITH ORDINALITY u(r, i) WHERE r IS NOT NULL)) d;
SELECT count(*), bool_and(near(r.reward, h.reward)) AS by_turn
FROM (SELECT m.first_id AS step_id, i::int AS component, sum(r) AS reward FROM component JOIN member m USING (step_id), unnest(rewards) WITH ORDINALITY u(r, i)
	  WHERE r IS NOT NULL GROUP BY 1, 2) h
FULL JOIN (SELECT r.* FROM with_components, reward_components(by_turn(rollouts)) r WHERE step_no IS NOT NULL) r USING (step_id, component);
SELECT count(*) FROM folded, reward_components(rollouts);
-- of a group without components all are missing
SELECT bool_and(r.outcome IS NULL AND (NOT r.judged OR success IS NOT NULL)) FROM folded, rollouts(with_rewards(folded.rollouts, '{1,1}')) r;
SELECT with_rewards(rollouts, '{1,1}') FROM with_components WHERE g = 1;
SELECT with_rewards(rollouts, '{1,NULL,1}') FROM with_components WHERE g = 1;
SELECT with_rewards(rollouts, '{1,NaN,1}') FROM with_components WHERE g = 1;
SELECT with_rewards(rollouts, '{{1,1,1}}') FROM with_components WHERE g = 1;
SELECT with_rewards(rollouts, '{1e308,1e308,1e308}') IS NULL FROM (SELECT rollout_agg(1, 1, 1, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, 1, '{10,1,1}', NULL, NULL) AS rollouts) x;
SELECT with_rewards(NULL, '{1}') IS NULL, with_rewards(rollouts, NULL) IS NULL FROM with_components WHERE g = 1;

SET client_min_messages = warning;
DROP SCHEMA by_turn_test CASCADE;

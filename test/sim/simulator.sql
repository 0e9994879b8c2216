-- simulator.sql: episodic tasks whose exact Q, V and success probability are
-- known, and rollouts of any number drawn from them.  Test tool, not part of
-- the extension.  Plain SQL; everything is a function of its arguments: the
-- random numbers are signature_hash of (seed, rollout, step), the same everywhere.
--
-- The family: n rooms in a row, the goal is the last one, a locked door bars the
-- way, its key is in another room.  A state is (room, has_key, door_open), so
-- the process is Markov and the state is what the agent observes.  Moves fail
-- with a slip probability.  The policy is stationary, stochastic and gives up
-- now and then, so every rollout ends.  Reward 1 for entering the goal, else 0.
-- `task` (any integer) picks the instance: rooms, start, key, door, slip, policy.
--
--   sim.task(task)              one row: the instance's parameters
--   sim.transitions(task)       the chain: state, action, next state, probabilities
--   sim.policy(task)            state, action, probability
--   sim.values(task, gamma)     exact q, v, success probabilities, expected steps
--   sim.simulate(groups, …)     rollouts, one row per step
--   sim.token_ids(groups, …)    token ids of the same rollouts' prompts and responses
--   sim.steps_table(name, …)    rollouts as an unlogged table
--
-- In a regress test, \i test/sim/simulator.sql: pg_regress runs at the top of the tree.
-- SET jit = off before using it: the planner thinks that these queries are costly.

SET client_min_messages = warning;
DROP SCHEMA IF EXISTS sim CASCADE;
RESET client_min_messages;
CREATE SCHEMA sim;

-- [0, 1) with 53 random bits: number `key` of the stream `stream`.  A full-width
-- hash: PostgreSQL's hashint8extended folds to 32 bits and, nested, is visibly
-- biased over a million draws.
CREATE FUNCTION sim.uniform(key bigint, stream bigint) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT ((stepadv.signature_hash(int8send(stream # key)) >> 11) & 9007199254740991)::float8 / 9007199254740992.0 $$;

CREATE FUNCTION sim.stream(key bigint, seed bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT stepadv.signature_hash(int8send(key) || int8send(seed)) $$;

-- An integer in [low, high] for a task's parameter number `which`.
CREATE FUNCTION sim.pick(task integer, which integer, low integer, high integer) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT low + floor(sim.uniform(which, sim.stream(task, 77)) * (high - low + 1))::integer $$;

CREATE FUNCTION sim.task(task integer,
	OUT rooms integer, OUT door integer, OUT key_room integer, OUT start_room integer, OUT slip float8)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$
	SELECT r.rooms, d.door,
		sim.pick(task, 3, 1, d.door), sim.pick(task, 4, 1, d.door),
		sim.pick(task, 5, 1, 4) * 0.05
	FROM (SELECT sim.pick(task, 1, 5, 7) AS rooms) r,
		LATERAL (SELECT sim.pick(task, 2, 2, r.rooms - 1) AS door) d
$$;
COMMENT ON FUNCTION sim.task(integer) IS
'parameters of an instance: number of rooms (the last is the goal), the door is between room `door` and the next, room of the key, start, probability that a move fails';

-- State numbers: 4 * (room - 1) + 2 * has_key + door_open.  NULL is the end.
CREATE FUNCTION sim.state_text(state integer) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$
	SELECT format('room %s, %s, door %s', state / 4 + 1,
		CASE WHEN state & 2 > 0 THEN 'with key' ELSE 'no key' END,
		CASE WHEN state & 1 > 0 THEN 'open' ELSE 'locked' END)
$$;

CREATE FUNCTION sim.policy(task integer)
RETURNS TABLE (state integer, action text, probability float8)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 100 AS
$$
	WITH t AS (SELECT * FROM sim.task(task)),
	states AS (
		SELECT 4 * (room - 1) + 2 * k + d AS state, room, k = 1 AS has_key, d = 1 AS door_open, t.*
		FROM t, generate_series(1, t.rooms - 1) room, generate_series(0, 1) k, generate_series(0, 1) d
		-- An agent behind the door has opened it, and one that has opened it has the key.
		WHERE NOT (d = 0 AND room > t.door) AND NOT (d = 1 AND k = 0)
	),
	choices AS (
		SELECT s.state, a.action, a.weight
		FROM states s, LATERAL (VALUES
			('go east', CASE WHEN s.door_open OR s.room < s.door THEN
				CASE WHEN s.door_open OR (s.has_key AND s.room < s.door) OR s.room < s.key_room THEN 5 ELSE 2 END END),
			('go west', CASE WHEN s.room > 1 THEN
				CASE WHEN NOT s.has_key AND s.room > s.key_room THEN 5 ELSE 2 END END),
			('take key', CASE WHEN s.room = s.key_room AND NOT s.has_key THEN 5 END),
			('unlock door', CASE WHEN s.room = s.door AND NOT s.door_open AND s.has_key THEN 4 END),
			('push door', CASE WHEN s.room = s.door AND NOT s.door_open THEN 1.5 END),
			('look around', 1.93),
			('give up', 0.25)) a(action, weight)
		WHERE a.weight IS NOT NULL
	),
	-- Instances have different policies.
	noisy AS (
		SELECT c.state, c.action, c.weight * CASE c.action WHEN 'give up' THEN 1
			ELSE 0.5 + sim.uniform(stepadv.signature_hash(c.action), sim.stream(c.state, 7700 + task)) END AS weight
		FROM choices c
	)
	SELECT n.state, n.action, n.weight / sum(n.weight) OVER (PARTITION BY n.state)
	FROM noisy n
$$;
COMMENT ON FUNCTION sim.policy(integer) IS 'the stochastic policy of an instance: probability of each action in each state';

CREATE FUNCTION sim.transitions(task integer)
RETURNS TABLE (state integer, action text, next_state integer, probability float8, reward float8)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 200 AS
$$
	WITH moves AS (
		SELECT p.state, p.action, t.slip,
			CASE p.action
				WHEN 'go east' THEN p.state + 4
				WHEN 'go west' THEN p.state - 4
				WHEN 'take key' THEN p.state | 2
				WHEN 'unlock door' THEN p.state | 1
				ELSE p.state
			END AS target,
			4 * (t.rooms - 1) AS goal
		FROM sim.policy(task) p, sim.task(task) t
	)
	-- The move happens …
	SELECT m.state, m.action,
		CASE WHEN m.target < m.goal AND m.action <> 'give up' THEN m.target END,
		CASE WHEN m.target = m.state THEN 1 ELSE 1 - m.slip END,
		CASE WHEN m.target >= m.goal THEN 1.0 ELSE 0.0 END
	FROM moves m
	UNION ALL
	-- … or the agent slips and stays where it is.
	SELECT m.state, m.action, m.state, m.slip, 0.0
	FROM moves m WHERE m.target <> m.state
$$;
COMMENT ON FUNCTION sim.transitions(integer) IS
'P(next state, reward | state, action); next_state NULL is the end of the rollout (goal reached with reward 1, or given up)';

-- x with (matrix) x = rhs by Gaussian elimination.  I - gamma*P of a chain that
-- ends is a diagonally dominant M-matrix, for which no pivoting is needed.
CREATE FUNCTION sim.solve(matrix float8[], rhs float8[]) RETURNS float8[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$
DECLARE
	n integer := array_length(rhs, 1);
	f float8;
BEGIN
	FOR k IN 1 .. n LOOP
		FOR i IN k + 1 .. n LOOP
			f := matrix[(i - 1) * n + k] / matrix[(k - 1) * n + k];
			IF f <> 0 THEN
				FOR j IN k .. n LOOP
					matrix[(i - 1) * n + j] := matrix[(i - 1) * n + j] - f * matrix[(k - 1) * n + j];
				END LOOP;
				rhs[i] := rhs[i] - f * rhs[k];
			END IF;
		END LOOP;
	END LOOP;
	FOR i IN REVERSE n .. 1 LOOP
		FOR j IN i + 1 .. n LOOP
			rhs[i] := rhs[i] - matrix[(i - 1) * n + j] * rhs[j];
		END LOOP;
		rhs[i] := rhs[i] / matrix[(i - 1) * n + i];
	END LOOP;
	RETURN rhs;
END
$$;

CREATE FUNCTION sim.values(task integer, gamma float8 DEFAULT 1.0)
RETURNS TABLE (state integer, action text, probability float8,
	q float8, v float8, advantage float8, success_q float8, success_v float8, expected_steps float8)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 100 AS
$$
	WITH t AS MATERIALIZED (SELECT * FROM sim.transitions(task)),
	p AS MATERIALIZED (SELECT * FROM sim.policy(task)),
	s AS MATERIALIZED (
		SELECT d.state, row_number() OVER (ORDER BY d.state)::integer AS i
		FROM (SELECT DISTINCT p.state FROM p) d
	),
	chain AS (
		SELECT t.state, t.next_state, sum(t.probability * p.probability) AS mass
		FROM t JOIN p USING (state, action) WHERE t.next_state IS NOT NULL
		GROUP BY t.state, t.next_state
	),
	system AS MATERIALIZED (
		SELECT array_agg((a.i = b.i)::integer - gamma * coalesce(c.mass, 0) ORDER BY a.i, b.i) AS discounted,
			array_agg((a.i = b.i)::integer - coalesce(c.mass, 0) ORDER BY a.i, b.i) AS undiscounted
		FROM s a CROSS JOIN s b
		LEFT JOIN chain c ON c.state = a.state AND c.next_state = b.state
	),
	gain AS MATERIALIZED (
		SELECT array_agg(g.r ORDER BY g.state) AS r, array_agg(1.0::float8) AS one
		FROM (SELECT t.state, sum(t.probability * p.probability * t.reward) AS r
			FROM t JOIN p USING (state, action) GROUP BY t.state) g
	),
	solved AS MATERIALIZED (
		SELECT sim.solve(y.discounted, g.r) AS v, sim.solve(y.undiscounted, g.r) AS success,
			sim.solve(y.undiscounted, g.one) AS steps
		FROM system y, gain g
	),
	by_state AS MATERIALIZED (
		SELECT s.state, z.v[s.i] AS v, z.success[s.i] AS success, z.steps[s.i] AS steps FROM s, solved z
	)
	SELECT p.state, p.action, p.probability, x.q, b.v, x.q - b.v, x.success, b.success, b.steps
	FROM p JOIN by_state b USING (state)
	JOIN (
		SELECT t.state, t.action,
			sum(t.probability * (t.reward + gamma * coalesce(n.v, 0))) AS q,
			sum(t.probability * (t.reward + coalesce(n.success, 0))) AS success
		FROM t LEFT JOIN by_state n ON n.state = t.next_state
		GROUP BY t.state, t.action
	) x USING (state, action)
$$;
COMMENT ON FUNCTION sim.values(integer, float8) IS
'exact values of the policy: q and v of the discounted reward (the step that enters the goal gets it undiscounted), probability of success after the action and from the state, expected number of steps from the state on';

CREATE FUNCTION sim.start_state(task integer) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT 4 * (t.start_room - 1) FROM sim.task(task) t $$;

-- One row per (task, state, action, outcome), numbered so that the outcome of
-- a step in state s is number first + (how many entries of cum are <= u); next_first
-- and next_cum are those of the next state.  Outcomes 0 and 1 are for rollouts
-- of fixed length: waiting after success (0) and after giving up (1).
CREATE FUNCTION sim.outcomes(tasks integer)
RETURNS TABLE (outcome integer, task integer, state text, action text, next_state text,
	state_hash bigint, action_hash bigint, next_state_hash bigint,
	reward float8, ends boolean, next_first integer, next_cum float8[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 2000 AS
$$
	WITH o AS MATERIALIZED (
		SELECT 1 + row_number() OVER (ORDER BY k, t.state, t.action, t.next_state NULLS FIRST)::integer AS outcome,
			k AS task, t.*, t.probability * p.probability AS mass
		FROM generate_series(0, tasks - 1) k, sim.transitions(k) t
		JOIN sim.policy(k) p USING (state, action)
	),
	running AS (
		SELECT o.*, sum(o.mass) OVER (PARTITION BY o.task, o.state ORDER BY o.outcome) AS upto,
			lead(o.outcome) OVER (PARTITION BY o.task, o.state ORDER BY o.outcome) IS NULL AS last
		FROM o
	),
	-- The last bound is left out: it is 1 except for rounding.
	by_state AS MATERIALIZED (
		SELECT r.task, r.state, min(r.outcome) AS first,
			coalesce(array_agg(r.upto ORDER BY r.outcome) FILTER (WHERE NOT r.last), '{}') AS cum
		FROM running r GROUP BY r.task, r.state
	)
	SELECT o.outcome, o.task, sim.state_text(o.state), o.action,
		CASE WHEN o.next_state IS NOT NULL THEN sim.state_text(o.next_state)
			WHEN o.reward > 0 THEN 'goal' ELSE 'gave up' END,
		stepadv.signature_hash(sim.state_text(o.state)), stepadv.signature_hash(o.action),
		stepadv.signature_hash(CASE WHEN o.next_state IS NOT NULL THEN sim.state_text(o.next_state)
			WHEN o.reward > 0 THEN 'goal' ELSE 'gave up' END),
		o.reward, o.next_state IS NULL,
		coalesce(b.first, CASE WHEN o.reward > 0 THEN 0 ELSE 1 END), coalesce(b.cum, '{}')
	FROM o LEFT JOIN by_state b ON b.task = o.task AND b.state = o.next_state
	UNION ALL
	SELECT w.n, NULL, w.name, 'wait', w.name, stepadv.signature_hash(w.name), stepadv.signature_hash('wait'::text),
		stepadv.signature_hash(w.name), 0.0, true, w.n, '{}'::float8[]
	FROM (VALUES (0, 'goal'), (1, 'gave up')) w(n, name)
	UNION ALL
	-- -1 - task: the start of the rollouts of a task.
	SELECT -1 - b.task, b.task, NULL, NULL, NULL, NULL, NULL, NULL, 0.0, false, b.first, b.cum
	FROM by_state b WHERE b.state = sim.start_state(b.task)
$$;

-- A recursive query that does one step of all rollouts at a time; inlined into
-- the caller's query, so that columns that are not selected cost nothing.
CREATE FUNCTION sim.simulate(
	groups integer,				-- number of groups; group i is an instance of task (i - 1) mod tasks
	rollouts integer DEFAULT 8,	-- per group
	seed bigint DEFAULT 1,
	tasks integer DEFAULT 8,	-- number of different instances
	horizon integer DEFAULT NULL,	-- every rollout has exactly so many steps, see below
	max_steps integer DEFAULT NULL)	-- rollouts are cut off after so many steps
RETURNS TABLE (
	group_id bigint, rollout_id bigint, step_no integer,
	task integer, state text, action text, next_state text,
	state_hash bigint, action_hash bigint, next_state_hash bigint,
	reward float8, success boolean, truncated boolean)
LANGUAGE sql STABLE ROWS 100000 AS
$$
	WITH RECURSIVE o AS MATERIALIZED (SELECT * FROM sim.outcomes(simulate.tasks)),
	walk(rollout_id, stream, step_no, outcome) AS (
		SELECT r.rollout_id, sim.stream(r.rollout_id, simulate.seed), -1,
			(-1 - ((r.rollout_id - 1) / simulate.rollouts) % simulate.tasks)::integer
		FROM generate_series(1, simulate.groups::bigint * simulate.rollouts) r(rollout_id)
		UNION ALL
		SELECT w.rollout_id, w.stream, w.step_no + 1,
			o.next_first + width_bucket(sim.uniform(w.step_no + 1, w.stream), o.next_cum)
		FROM walk w JOIN o ON o.outcome = w.outcome
		WHERE CASE WHEN simulate.horizon IS NULL THEN NOT o.ends ELSE w.step_no + 1 < simulate.horizon END
			AND w.step_no + 1 < coalesce(simulate.max_steps, 2147483647)
	),
	last AS (
		SELECT w.*, w.step_no + 1 = coalesce(simulate.horizon, simulate.max_steps, 2147483647) AS full_length FROM walk w
	)
	SELECT (w.rollout_id - 1) / simulate.rollouts + 1, w.rollout_id, w.step_no,
		(((w.rollout_id - 1) / simulate.rollouts) % simulate.tasks)::integer,
		o.state, o.action, o.next_state, o.state_hash, o.action_hash, o.next_state_hash,
		CASE WHEN simulate.horizon IS NULL THEN o.reward
			ELSE (w.full_length AND o.next_state = 'goal')::integer END,
		CASE WHEN o.ends AND simulate.horizon IS NULL OR w.full_length THEN o.next_state = 'goal' END,
		w.full_length AND NOT o.ends
	FROM last w JOIN o ON o.outcome = w.outcome
	WHERE w.step_no >= 0
$$;
COMMENT ON FUNCTION sim.simulate(integer, integer, bigint, integer, integer, integer) IS
'rollouts of the policies of `tasks` instances; success is true or false on the last step of a rollout and NULL before. With horizon every rollout has so many steps: one that ends earlier waits, and the reward comes with the last step if the goal was reached by then. With max_steps a rollout that does not end in time is cut off (truncated on its last step, no success)';

-- A prompt has 12 tokens of the task, then 4 of the observation and 3 of the response
-- of every earlier step, then the observation; a response has 3 tokens, of which the
-- first two depend on the action.  One response in ten is tokenized differently in later
-- prompts: its last token changes.  One prompt in thirty leaves out the earlier steps.
CREATE FUNCTION sim.token_ids(groups integer, rollouts integer DEFAULT 8, seed bigint DEFAULT 1, tasks integer DEFAULT 8)
RETURNS TABLE (group_id bigint, rollout_id bigint, step_no integer, prompt_token_ids integer[], response_token_ids integer[])
LANGUAGE sql IMMUTABLE AS
$$
	WITH s AS MATERIALIZED (
		SELECT w.group_id, w.rollout_id, w.step_no, w.task,
			ARRAY(SELECT 1000 + (sim.uniform(i, w.state_hash) * 50000)::integer FROM generate_series(1, 4) i) AS observation,
			ARRAY(SELECT 60000 + (sim.uniform(i, w.action_hash) * 50000)::integer FROM generate_series(1, 2) i)
				|| (120000 + (sim.uniform(w.step_no, sim.stream(w.rollout_id, seed + 1)) * 4)::integer) AS response,
			(sim.uniform(w.step_no, sim.stream(w.rollout_id, seed + 2)) < 0.1)::integer AS retokenised,
			sim.uniform(w.step_no, sim.stream(w.rollout_id, seed + 3)) < 1 / 30.0 AS forgets
		FROM sim.simulate(token_ids.groups, token_ids.rollouts, token_ids.seed, token_ids.tasks) w
	), p AS (
		SELECT s.*, array_agg(s.observation || s.response[1:2] || (s.response[3] + 10 * s.retokenised))
			OVER (PARTITION BY s.rollout_id ORDER BY s.step_no ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
		FROM s
	)
	SELECT p.group_id, p.rollout_id, p.step_no,
		ARRAY(SELECT p.task * 100 + i FROM generate_series(1, 12) i) || CASE WHEN NOT p.forgets THEN ARRAY(SELECT unnest(p.before)) ELSE '{}' END || p.observation, p.response
	FROM p
$$;
COMMENT ON FUNCTION sim.token_ids(integer, integer, bigint, integer) IS
'token ids of the prompts and responses of simulate with the same arguments; some responses are tokenised otherwise in later prompts, some prompts forget what was before';

-- The rollouts as an unlogged table, numbered, for benchmarks and big tests.
CREATE FUNCTION sim.steps_table(name text, groups integer, rollouts integer DEFAULT 8,
	seed bigint DEFAULT 1, tasks integer DEFAULT 8) RETURNS bigint
LANGUAGE plpgsql SET jit = off AS
$$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('CREATE UNLOGGED TABLE %s AS
		SELECT (s.rollout_id << 20) + s.step_no AS step_id, s.group_id, s.rollout_id, s.step_no,
			s.state_hash AS state, s.action_hash AS action, s.reward, s.success
		FROM sim.simulate(%s, %s, %s, %s) s', name, groups, rollouts, seed, tasks);
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END
$$;

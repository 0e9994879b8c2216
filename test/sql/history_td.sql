-- history_td: the published worked cases, by hand, and against plain SQL on random groups, which iterates the equations.
CREATE SCHEMA history_td;
SET search_path = history_td, stepadv, public;
SET jit = off;
SET enable_nestloop = off;
\set VERBOSITY terse
CREATE FUNCTION off(got float8, expected float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS
$$ SELECT got IS NULL OR expected IS NULL OR abs(got - expected) > 1e-9 * greatest(1, abs(expected)) $$;

-- Worked cases. take: the key that four rollouts took in A is not visible there, nor at the door D.
CREATE TABLE expected (case_id text, rollout_id bigint, step_no integer, state text, action text, reward float8, n_state integer, n_action integer, v float8, q float8, advantage float8);
INSERT INTO expected VALUES
	('take', 0, 0, 'A', 'take', 0, 12, 4, 0.616991460632055, 1.01869659606772, 0.401705135435662),
	('take', 0, 1, 'A', 'go', 0, 12, 8, 0.616991460632055, 0.63174803685064, 0.0147565762185849),
	('take', 0, 2, 'D', 'open', 1, 8, 8, 0.498835294117647, 0.540359747204667, 0.04152445308702),
	('take', 1, 0, 'A', 'take', 0, 12, 4, 0.616991460632055, 1.01869659606772, 0.401705135435662),
	('take', 1, 1, 'A', 'go', 0, 12, 8, 0.616991460632055, 0.63174803685064, 0.0147565762185849),
	('take', 1, 2, 'D', 'open', 1, 8, 8, 0.498835294117647, 0.540359747204667, 0.04152445308702),
	('take', 2, 0, 'A', 'take', 0, 12, 4, 0.616991460632055, 1.01869659606772, 0.401705135435662),
	('take', 2, 1, 'A', 'go', 0, 12, 8, 0.616991460632055, 0.63174803685064, 0.0147565762185849),
	('take', 2, 2, 'D', 'open', 1, 8, 8, 0.498835294117647, 0.540359747204667, 0.04152445308702),
	('take', 3, 0, 'A', 'take', 0, 12, 4, 0.616991460632055, 1.01869659606772, 0.401705135435662),
	('take', 3, 1, 'A', 'go', 0, 12, 8, 0.616991460632055, 0.63174803685064, 0.0147565762185849),
	('take', 3, 2, 'D', 'open', 1, 8, 8, 0.498835294117647, 0.540359747204667, 0.04152445308702),
	('take', 4, 0, 'A', 'go', 0, 12, 8, 0.616991460632055, 0.215353309788947, -0.401638150843108),
	('take', 4, 1, 'D', 'open', 0, 8, 8, 0.498835294117647, 0.457715119105493, -0.0411201750121536),
	('take', 5, 0, 'A', 'go', 0, 12, 8, 0.616991460632055, 0.215353309788947, -0.401638150843108),
	('take', 5, 1, 'D', 'open', 0, 8, 8, 0.498835294117647, 0.457715119105493, -0.0411201750121536),
	('take', 6, 0, 'A', 'go', 0, 12, 8, 0.616991460632055, 0.215353309788947, -0.401638150843108),
	('take', 6, 1, 'D', 'open', 0, 8, 8, 0.498835294117647, 0.457715119105493, -0.0411201750121536),
	('take', 7, 0, 'A', 'go', 0, 12, 8, 0.616991460632055, 0.215353309788947, -0.401638150843108),
	('take', 7, 1, 'D', 'open', 0, 8, 8, 0.498835294117647, 0.457715119105493, -0.0411201750121536),
	('loop', 0, 0, 'a', 'x', 0, 4, 3, 0.540433026720343, 0.716796911553816, 0.176363884833473),
	('loop', 0, 1, 'b', 'y', 0, 4, 2, 0.688859955269911, 0.620800846120325, -0.0680591091495854),
	('loop', 0, 2, 'a', 'x', 0, 4, 3, 0.540433026720343, 0.631483021290273, 0.0910499945699305),
	('loop', 0, 3, 'b', 'z', 1, 4, 2, 0.688859955269911, 0.841255079219342, 0.152395123949431),
	('loop', 1, 0, 'a', 'w', 0, 4, 1, 0.540433026720343, 0.303662503521233, -0.236770523199109),
	('loop', 1, 1, 'a', 'x', 0, 4, 3, 0.540433026720343, 0.48862587843313, -0.0518071482872123),
	('loop', 1, 2, 'b', 'y', 0, 4, 2, 0.688859955269911, 0.462364560668366, -0.226495394601544),
	('loop', 2, 0, 'b', 'z', 1, 4, 2, 0.688859955269911, 0.841255079219342, 0.152395123949431),
	('order', 0, 0, 's', 'p', 0, 9, 4, 0.376831497437164, 0.361145041674658, -0.015686455762506),
	('order', 0, 1, 's', 'q', 0, 9, 2, 0.376831497437164, 0.550802907562848, 0.173971410125683),
	('order', 0, 2, 's', 'end', 1, 9, 3, 0.376831497437164, 0.38668853988692, 0.00985704244975526),
	('order', 1, 0, 's', 'q', 0, 9, 2, 0.376831497437164, 0.427607933043937, 0.050776435606773),
	('order', 1, 1, 's', 'p', 0, 9, 4, 0.376831497437164, 0.393430555655396, 0.016599058218232),
	('order', 1, 2, 's', 'end', 0, 9, 3, 0.376831497437164, 0.38668853988692, 0.00985704244975526),
	('order', 2, 0, 's', 'p', 0.25, 9, 4, 0.376831497437164, 0.361145041674658, -0.015686455762506),
	('order', 2, 1, 's', 'p', 0, 9, 4, 0.376831497437164, 0.370776952337974, -0.00605454509919064),
	('order', 2, 2, 's', 'end', 0, 9, 3, 0.376831497437164, 0.18122308547078, -0.195608411966385),
	('prior', 0, 0, 'A', 'take', 0, 12, 4, 0.596969696969697, 0.92989898989899, 0.332929292929293),
	('prior', 0, 1, 'A', 'go', 0, 12, 8, 0.596969696969697, 0.626060606060606, 0.0290909090909091),
	('prior', 0, 2, 'D', 'open', 1, 8, 8, 0.5, 0.58, 0.08),
	('prior', 1, 0, 'A', 'take', 0, 12, 4, 0.596969696969697, 0.92989898989899, 0.332929292929293),
	('prior', 1, 1, 'A', 'go', 0, 12, 8, 0.596969696969697, 0.626060606060606, 0.0290909090909091),
	('prior', 1, 2, 'D', 'open', 1, 8, 8, 0.5, 0.58, 0.08),
	('prior', 2, 0, 'A', 'take', 0, 12, 4, 0.596969696969697, 0.92989898989899, 0.332929292929293),
	('prior', 2, 1, 'A', 'go', 0, 12, 8, 0.596969696969697, 0.626060606060606, 0.0290909090909091),
	('prior', 2, 2, 'D', 'open', 1, 8, 8, 0.5, 0.58, 0.08),
	('prior', 3, 0, 'A', 'take', 0, 12, 4, 0.596969696969697, 0.92989898989899, 0.332929292929293),
	('prior', 3, 1, 'A', 'go', 0, 12, 8, 0.596969696969697, 0.626060606060606, 0.0290909090909091),
	('prior', 3, 2, 'D', 'open', 1, 8, 8, 0.5, 0.58, 0.08),
	('prior', 4, 0, 'A', 'go', 0, 12, 8, 0.596969696969697, 0.27050505050505, -0.326464646464646),
	('prior', 4, 1, 'D', 'open', 0, 8, 8, 0.5, 0.42, -0.08),
	('prior', 5, 0, 'A', 'go', 0, 12, 8, 0.596969696969697, 0.27050505050505, -0.326464646464646),
	('prior', 5, 1, 'D', 'open', 0, 8, 8, 0.5, 0.42, -0.08),
	('prior', 6, 0, 'A', 'go', 0, 12, 8, 0.596969696969697, 0.27050505050505, -0.326464646464646),
	('prior', 6, 1, 'D', 'open', 0, 8, 8, 0.5, 0.42, -0.08),
	('prior', 7, 0, 'A', 'go', 0, 12, 8, 0.596969696969697, 0.27050505050505, -0.326464646464646),
	('prior', 7, 1, 'D', 'open', 0, 8, 8, 0.5, 0.42, -0.08),
	('random', 0, 0, 'b', 'y', 0, 4, 2, -0.347052188681023, -0.279920210233599, 0.0671319784474242),
	('random', 0, 1, 'b', 'x', 0, 4, 2, -0.347052188681023, -0.39299374291779, -0.045941554236767),
	('random', 0, 2, 'a', 'x', 0.5, 10, 5, 0.0364213341673037, -0.0387600049925896, -0.0751813391598933),
	('random', 0, 3, 'b', 'x', -1, 4, 2, -0.347052188681023, -0.558178935349347, -0.211126746668324),
	('random', 0, 4, 'c', 'x', 0, 4, 4, -0.0506421451629233, -0.0358236881956965, 0.0148184569672269),
	('random', 1, 0, 'c', 'x', -1, 4, 4, -0.0506421451629233, -0.239905320848758, -0.189263175685834),
	('random', 2, 0, 'a', 'y', 0, 10, 5, 0.0364213341673037, 0.043844287279339, 0.00742295311203533),
	('random', 2, 1, 'a', 'x', -1, 10, 5, 0.0364213341673037, 0.401751261345645, 0.365329927178341),
	('random', 2, 2, 'a', 'x', 0, 10, 5, 0.0364213341673037, -0.29678664299714, -0.333207977164444),
	('random', 3, 0, 'a', 'x', 0, 10, 5, 0.0364213341673037, 0.0227878278318341, -0.0136335063354696),
	('random', 4, 0, 'b', 'y', 0, 4, 2, -0.347052188681023, -0.279920210233599, 0.0671319784474242),
	('random', 4, 1, 'c', 'x', 0, 4, 4, -0.0506421451629233, -0.0358236881956965, 0.0148184569672269),
	('random', 5, 0, 'a', 'y', 0.5, 10, 5, 0.0364213341673037, 0.043844287279339, 0.00742295311203533),
	('random', 5, 1, 'a', 'y', -1, 10, 5, 0.0364213341673037, -0.663261777586101, -0.699683111753405),
	('random', 5, 2, 'a', 'x', 0.5, 10, 5, 0.0364213341673037, 0.401751261345645, 0.365329927178341),
	('random', 5, 3, 'a', 'y', 0.5, 10, 5, 0.0364213341673037, 0.496550655805643, 0.460129321638339),
	('random', 5, 4, 'c', 'x', 0.5, 4, 4, -0.0506421451629233, 0.13972691865468, 0.190369063817604),
	('random', 5, 5, 'a', 'y', 0.5, 10, 5, 0.0364213341673037, 0.142178261219074, 0.10575692705177),
	('one', 0, 0, 's', 'a', 0, 1, 1, 0.978755555555556, 0.978450793650794, -0.000304761904761935),
	('one', 0, 1, 't', 'b', 1, 1, 1, 0.993333333333333, 0.996598639455782, 0.00326530612244896);
CREATE TABLE vector_case (case_id text, gamma float8, k float8, prior float8);
INSERT INTO vector_case VALUES
	('take', 0.98, 0.4, 0.5),
	('loop', 0.98, 0.4, 0.5),
	('order', 0.98, 0.4, 0.5),
	('prior', 1.0, 1.0, 2.0),
	('random', 0.98, 0.4, 0.5),
	('one', 0.98, 0.4, 0.5);
SELECT c.case_id, count(*), count(*) FILTER (WHERE a.n_state <> e.n_state OR a.n_action <> e.n_action) AS n_off,
	count(*) FILTER (WHERE off(a.q, e.q)) AS q_off, count(*) FILTER (WHERE off(a.v, e.v)) AS v_off, count(*) FILTER (WHERE off(a.advantage, e.advantage)) AS off
FROM vector_case c JOIN (SELECT case_id, rollout_agg(rollout_id * 10 + step_no, rollout_id, step_no, signature_hash(state), signature_hash(action), reward) AS g
	FROM expected GROUP BY case_id) x USING (case_id), history_td(g, c.gamma, c.k, c.prior) a, expected e
WHERE e.case_id = c.case_id AND e.rollout_id = a.rollout_id AND e.step_no = a.step_no GROUP BY c.case_id ORDER BY c.case_id;
-- By hand: two rollouts through the same states, apart by their first action and outcome, 1 and 0. All V(x) are .5, as their prior mean is; V(y) is .5 from it by a 1.15th of
-- the next one. A fifth of the later step's change is added beyond its target. Actions differ only at the first step: by batch TD over states both are worth .5, and two fifths
-- of their difference remain.
SELECT step_no, abs(v - 0.5) < 1e-12 AS v, abs(a.advantage - CASE step_no WHEN 1 THEN 0.6 * (0.5 / 1.15 ^ 6 + 0.2 * (0.5 - 0.5 / 1.15)) ELSE 0.5 / 1.15 ^ (7 - step_no) END) < 1e-12 AS by_hand, abs(a.q - 0.5 - a.advantage) < 1e-12 AS q
FROM (SELECT rollout_agg(r * 10 + t, r, t, t, CASE t WHEN 1 THEN r ELSE 0 END, (t = 7 AND r = 1)::integer) AS g FROM generate_series(1, 2) r, generate_series(1, 7) t) x,
	history_td(g, gamma => 1) a WHERE rollout_id = 1 AND step_no IN (1, 2, 7) ORDER BY 1;
-- With equal returns and no discount all advantages are 0.
SELECT min(advantage), max(advantage) FROM (SELECT rollout_agg(i, i % 5, i, i % 3, i % 2, (i > 15)::integer) AS g FROM generate_series(1, 20) i) x, history_td(g, gamma => 1) a;
-- The key of "take" again: batch_td has the wrong sign for taking it, since the next state is the same.
SELECT bool_and(h.advantage > 0.1) AS worth_it, bool_and(b.advantage < 0) AS wasted
FROM (SELECT rollout_agg(rollout_id * 10 + step_no, rollout_id, step_no, signature_hash(state), signature_hash(action), reward) AS g FROM expected WHERE case_id = 'take') x,
	history_td(g) h JOIN batch_td(g, gamma => 0.98) b USING (step_id) WHERE h.step_no = 0 AND h.rollout_id < 4;

-- Random groups, each with a history: loops, states and actions that are NULL, rewards on the way and missing, rollouts not judged.
CREATE TABLE raw AS
SELECT n AS task, r AS rollout, t AS no, (n * 100 + r) * 100 + t AS id, r <= 5 AS own, CASE WHEN r <= 5 THEN 10 ELSE 10 - r % 3 END AS policy,
	CASE WHEN h[1] % 23 > 0 THEN h[2] % (2 + n % 5) END AS state, CASE WHEN h[3] % 23 > 0 THEN h[4] % 3 END AS action,
	CASE WHEN (n + r) % 9 = 0 THEN NULL WHEN t = len THEN (h[5] % 3) / 2.0 WHEN h[6] % 5 = 0 THEN h[7] % 9 / 16.0 - 0.25 ELSE 0 END AS reward
FROM generate_series(1, 8) n, generate_series(1, 10) r, LATERAL (SELECT 1 + (n * 7 + r * 5) % 12 AS len) l, generate_series(1, len) t,
	LATERAL (SELECT ARRAY(SELECT get_byte(decode(md5(n || ' ' || r || ' ' || t), 'hex'), i) FROM generate_series(0, 7) i) AS h OFFSET 0) d;
CREATE TABLE folded AS
SELECT task, rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, policy) FILTER (WHERE own) AS g,
	rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, policy) FILTER (WHERE NOT own) AS h
FROM raw GROUP BY task;

-- w: weight of a visit. seen: the state, or the step itself; fine: that and the set of what was done before, as text.
SET client_min_messages = warning;
CREATE FUNCTION reference(gamma float8, k float8, prior float8, decay float8, plain boolean) RETURNS TABLE (task integer, id integer, own boolean, n_state bigint, n_action bigint,
	v float8, q float8, stderr float8, advantage float8, confidence float8, q_pair float8) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	moved float8;
	targets float8[];
BEGIN
	DROP TABLE IF EXISTS step;
	CREATE TEMP TABLE step AS
	WITH judged AS MATERIALIZED (
		SELECT r.*, CASE WHEN own THEN 1 ELSE power(reference.decay, 10 - policy) END AS w, coalesce('s' || state, 'step ' || id) AS seen,
			coalesce('a' || action, 'step ' || id) AS did
		FROM raw r WHERE (own OR reference.decay IS NOT NULL) AND EXISTS (SELECT FROM raw x WHERE x.task = r.task AND x.rollout = r.rollout AND x.reward IS NOT NULL)
	)
	SELECT j.task, j.rollout, j.no, j.id, j.own, j.w, j.seen, j.did, coalesce(j.reward, 0)::float8 AS r, j.seen || ' after ' || coalesce((SELECT string_agg(DISTINCT b.seen || ' ' || b.did, ', ')
		FROM judged b WHERE b.task = j.task AND b.rollout = j.rollout AND b.no < j.no AND b.action IS NOT NULL), '') AS fine, 0::float8 AS target, 0::float8 AS believed, 0::float8 AS g
	FROM judged j;
	CREATE INDEX ON step (task, rollout, no);
	ANALYZE step;
	UPDATE step s SET g = (SELECT sum(x.r * power(reference.gamma, x.no - s.no)) FROM step x WHERE x.task = s.task AND x.rollout = s.rollout AND x.no >= s.no);
	CREATE INDEX ON step (id);
	-- With histories, then by what is seen alone.
	FOR pass IN 1 .. 2 LOOP
		targets := NULL;
		LOOP
			-- An array, since rows that a sweep replaces would stay in the table.
			WITH now AS (SELECT s.*, coalesce(targets[row_number() OVER (ORDER BY id)], 0) AS t FROM step s),
			start AS (SELECT task, sum(w * g) / sum(w) AS m FROM step WHERE no = 1 GROUP BY task),
			coarse AS (SELECT task, seen, (sum(w * t) + reference.prior * m) / (sum(w) + reference.prior) AS v FROM now JOIN start USING (task) GROUP BY task, seen, m),
			finer AS (SELECT s.task, fine, CASE pass WHEN 1 THEN (sum(w * t) + reference.k * c.v) / (sum(w) + reference.k) ELSE c.v END AS v FROM now s JOIN coarse c USING (task, seen) GROUP BY s.task, fine, c.v),
			again AS (SELECT id, s.t AS before, r + reference.gamma * coalesce(lead(f.v) OVER (PARTITION BY s.task, rollout ORDER BY no), 0) AS t FROM now s JOIN finer f USING (task, fine))
			SELECT array_agg(t ORDER BY again.id), max(abs(t - before)) INTO targets, moved FROM again;
			EXIT WHEN moved < 1e-14;
		END LOOP;
		UPDATE step s SET target = CASE pass WHEN 1 THEN x.t ELSE s.target END, believed = x.t FROM (SELECT y.id, targets[row_number() OVER (ORDER BY y.id)] AS t FROM step y) x WHERE x.id = s.id;
	END LOOP;
	IF NOT reference.plain THEN
		UPDATE step s SET target = s.target + 0.2 * power(reference.gamma, 5) * (x.g - x.target) FROM step x WHERE x.task = s.task AND x.rollout = s.rollout AND x.no = s.no + 5;
	END IF;
	RETURN QUERY
	WITH start AS (SELECT task, sum(w * g) / sum(w) AS m, count(*) / sum((SELECT sum(reference.gamma ^ (2 * i)) FROM generate_series(0, (SELECT count(*) FROM step x WHERE x.task = s.task AND x.rollout = s.rollout) - 1) i)) AS share FROM step s WHERE no = 1 GROUP BY task),
	known AS (
		SELECT s.*, m, share, sum(w) OVER x AS nx, count(*) OVER x AS n_state, count(*) OVER xa AS n_action, sum(w) OVER xa AS na, sum(w * w) OVER xa AS na2, sum(w) OVER f AS nf, sum(w) OVER fa AS n,
			(sum(w * target) OVER x + reference.prior * m) / (sum(w) OVER x + reference.prior) AS v, sum(w * target) OVER xa / sum(w) OVER xa AS qa,
			sum(w * believed) OVER xa / sum(w) OVER xa - (sum(w * believed) OVER x + reference.prior * m) / (sum(w) OVER x + reference.prior) AS b,
			sum(w * target) OVER f AS of_fine, sum(w * target) OVER fa / sum(w) OVER fa AS qf
		FROM step s JOIN start USING (task) WINDOW x AS (PARTITION BY task, seen), xa AS (PARTITION BY task, seen, did), f AS (PARTITION BY task, fine), fa AS (PARTITION BY task, fine, did)
	), answer AS (
		SELECT *, CASE WHEN reference.plain THEN (n * (qf - (of_fine + reference.k * v) / (nf + reference.k)) + reference.k * (qa - v)) / (n + reference.k) ELSE qf - v + 0.4 * (b - (qa - v)) END AS a,
			sqrt(sum(w * (target - qa) ^ 2) OVER xa / nullif(na - na2 / na, 0) * na2 / na ^ 2) AS se
		FROM known WINDOW xa AS (PARTITION BY task, seen, did)
	), bound AS (SELECT task, least(min(g), 0) AS low, greatest(max(g), 0) AS high FROM step GROUP BY task),
	-- How much a target varies, pooled; only asked for where all weigh the same.
	outcome AS (
		SELECT b.task, low, high, count(*) AS rollouts, (sum((g - mean) ^ 2) + ((low - mean) ^ 2 + (high - mean) ^ 2) / 2) / (count(*) + 1) AS variance
		FROM bound b JOIN step s USING (task), LATERAL (SELECT (sum(x.g) + (low + high) / 2) / (count(*) + 1) AS mean FROM step x WHERE x.task = b.task AND x.no = 1) m WHERE s.no = 1 GROUP BY b.task, low, high, m.mean
	), pair AS (SELECT task, seen, did, count(*) AS n, sum((target - qa) ^ 2) AS squares, min(share) AS share FROM known GROUP BY task, seen, did),
	pooled AS (
		SELECT p.task, seen, did, (4 * (4 * ((sum(squares) OVER g + 2 * variance * share) / (sum(n - 1) OVER g + 2)) + sum(squares) OVER s) / (4 + sum(n - 1) OVER s) + squares) / (4 + n - 1) AS variance
		FROM pair p JOIN outcome USING (task) WINDOW g AS (PARTITION BY p.task), s AS (PARTITION BY p.task, seen)
	), varied AS (
		-- What each visit counts in the advantage, by its definition.
		SELECT a.id, CASE WHEN NOT reference.plain THEN sum(((o.fine = a.fine AND o.did = a.did)::integer / a.n - 1 / (a.nx + reference.prior)) ^ 2 * p.variance)
			ELSE sum(((o.fine = a.fine AND o.did = a.did)::integer - a.n * ((o.fine = a.fine)::integer + reference.k / (a.nx + reference.prior)) / (a.nf + reference.k)
			+ reference.k * ((o.did = a.did)::integer / a.na - 1 / (a.nx + reference.prior))) ^ 2 / (a.n + reference.k) ^ 2 * p.variance) END AS variance
		FROM answer a JOIN known o ON o.task = a.task AND o.seen = a.seen JOIN pooled p ON p.task = o.task AND p.seen = o.seen AND p.did = o.did GROUP BY a.id
	)
	SELECT a.task, a.id, a.own, a.n_state, a.n_action, a.v, a.v + a.a, a.se, a.a, CASE WHEN abs(a.a) < 1e-12 THEN 0.5 ELSE
		0.5 + (SELECT sum(CASE i WHEN 0 THEN 1 WHEN 200 THEN 1 ELSE 2 + 2 * (i % 2) END * exp(-0.5 * (z * i / 200) ^ 2)) FROM generate_series(0, 200) i) * z / 600 / sqrt(2 * pi()) END, a.qa
	FROM answer a JOIN varied USING (id) JOIN outcome o USING (task), LATERAL (SELECT least(abs(a.a) / sqrt(varied.variance), 1e3) AS x) x,
		LATERAL (SELECT x * (1 - 0.25 / rollouts) / sqrt(1 + x ^ 2 / 2 / rollouts) AS z) z;
END $$;
SELECT gamma, k, prior, decay, count(*), count(r.id) AS known, count(*) FILTER (WHERE a.n_state <> r.n_state OR a.n_action <> r.n_action) AS n_off,
	count(*) FILTER (WHERE off(a.v, r.v)) AS v_off, count(*) FILTER (WHERE off(a.q, r.q)) AS q_off, count(*) FILTER (WHERE off(a.advantage, r.advantage)) AS off,
	count(*) FILTER (WHERE a.stderr IS DISTINCT FROM NULL AND off(a.stderr, r.stderr)) AS stderr_off,
	count(*) FILTER (WHERE coalesce(decay, 1) = 1 AND abs(a.confidence - r.confidence) > 1e-9) AS confidence_off
FROM (VALUES (0.98, NULL, 0.5, NULL), (0.98, 0.4, 0.5, NULL), (0.9, 1, 0, 1), (0.95, NULL, 0.5, 0.7), (1, NULL, 0, 1), (1, 3, 2, NULL), (1, 0, 0.5, 1)) o(gamma, k, prior, decay),
	LATERAL (SELECT a.* FROM folded, history_td(g, o.gamma, o.k, o.prior, history => CASE WHEN o.decay IS NOT NULL THEN h END, decay => coalesce(o.decay, 1)) a
		WHERE a.advantage IS NOT NULL) a
	FULL JOIN LATERAL (SELECT * FROM reference(o.gamma, coalesce(o.k, 0.15), o.prior, o.decay, o.k IS NOT NULL) WHERE own) r ON r.id = a.step_id
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;

-- So many visits of the state behind every history that it says nothing itself: batch_td, with its errors, and q_error anywhere is that and the way from the q of the pair.
SELECT count(*), count(*) FILTER (WHERE abs(a.v - b.v) > 1e-7 OR abs(a.advantage - b.advantage) > 1e-7 OR abs(a.q_error - b.q_error) > 1e-6 OR abs(a.confidence - b.confidence) > 1e-6) AS off
FROM folded, history_td(g, k => 1e10) a JOIN batch_td(g, gamma => 0.98, prior => 0.5, prior_mean => 'start_value') b USING (step_id) WHERE a.advantage IS NOT NULL;
SELECT count(*) > 200 AS many, count(*) FILTER (WHERE a.q_error < abs(a.q - r.q_pair)) AS too_small, count(*) FILTER (WHERE a.q_error > 2 * (b.q_error + abs(a.q - r.q_pair))) AS too_large
FROM folded, history_td(g, k => 0.4) a JOIN batch_td(g, gamma => 0.98, prior => 0.5, prior_mean => 'start_value') b USING (step_id) JOIN reference(0.98, 0.4, 0.5, NULL, true) r ON r.id = step_id;

-- normalise: over the steps of the group itself, with any history; what is not judged stays NULL.
SELECT normalise, count(*), count(*) FILTER (WHERE n.advantage IS NULL) AS unknown, count(*) FILTER (WHERE n.advantage IS NOT NULL AND off(n.advantage, CASE normalise WHEN 'std' THEN (a.advantage - mean) / (sd + 1e-6) WHEN 'mean' THEN a.advantage - mean ELSE a.advantage END)) AS off
FROM folded, unnest('{std,mean,none}'::text[]) normalise, LATERAL (SELECT a.step_id, a.advantage, avg(a.advantage) OVER () AS mean, stddev_samp(a.advantage) OVER () AS sd FROM history_td(g, history => h) a) a
	JOIN LATERAL history_td(g, history => h, normalise => normalise) n USING (step_id) GROUP BY 1 ORDER BY 1;
SELECT bool_and(advantage = 0) AS alike FROM (SELECT rollout_agg(i, i, 1, 1, 1, 1) AS g FROM generate_series(1, 4) i) x, history_td(g, normalise => 'std') a;

-- Rollouts under other numbers, rows in any order; a history that is the group itself, or nothing; turns of one call; arrays.
SELECT count(*), count(*) FILTER (WHERE off(a.q, b.q) OR off(a.advantage, b.advantage) OR off(a.confidence, b.confidence)) AS off
FROM folded f JOIN (SELECT task, rollout_agg(id, 1000 - rollout * 7 % 29, no * 3, state, action, reward ORDER BY md5(id::text)) AS g FROM raw WHERE own GROUP BY task) t USING (task),
	history_td(f.g) a JOIN history_td(t.g) b USING (step_id) WHERE a.advantage IS NOT NULL;
SELECT bool_and(a = b) AS same, bool_and(a = c) AS of_turns
FROM (SELECT task, g FROM folded ORDER BY task) f JOIN LATERAL (SELECT rollout_agg(id, rollout, no, state, action, reward, NULL, NULL, NULL, NULL, NULL, no, NULL, NULL, NULL) AS t FROM raw WHERE own AND task = f.task) t ON true,
	history_td(f.g) a JOIN history_td(f.g, history => f.g) b USING (step_id) JOIN history_td(by_turn(t.t)) c USING (step_id);

-- Many states, solved as sparse equations: 200 of them satisfy their equations, and have a known solution for a chain: each rollout visits all of them once, so fine and
-- coarse states are the same, V(f) = V(x) but for the prior, and with k 0 both are the mean.
SELECT n, k, count(*), max(abs(q - power(0.98, n - step_no))) < 1e-9 AS certain
FROM (VALUES (50), (200)) s(n), (VALUES (0), (0.4)) k(k), LATERAL (SELECT rollout_agg(r * 1000 + t, r, t, t, 1, (t = n)::integer) AS g FROM generate_series(1, 4) r, generate_series(1, n) t) x,
	history_td(g, k => k, prior => 0) GROUP BY 1, 2 ORDER BY 1, 2;
-- The same group beside a rollout through 300 states of its own, too wide for dense equations: without a prior the other numbers stay.
SELECT count(*), count(*) FILTER (WHERE off(a.q, b.q) OR off(a.advantage, b.advantage)) AS off
FROM folded, LATERAL (SELECT rollup(p) AS wide FROM (VALUES (g), ((SELECT rollout_agg(-i, -1, i, 1000 + i, 1, 0) FROM generate_series(1, 300) i))) v(p)) w,
	history_td(g, prior => 0) a JOIN history_td(wide, prior => 0) b USING (step_id) WHERE a.advantage IS NOT NULL;

-- No rollout judged; no group; errors
SELECT a.step_id, a.advantage FROM (SELECT rollout_agg(i, i, 0, 1, 1, NULL) g FROM generate_series(1, 2) i) y, history_td(g) a;
SELECT a.* FROM history_td(NULL) a;
SELECT a.* FROM folded, history_td(g, gamma => 1.5) a;
SELECT a.* FROM folded, history_td(g, k => -1) a;
SELECT a.* FROM folded, history_td(g, k => 'Infinity') a;
SELECT a.* FROM folded, history_td(g, prior => NULL) a;
SELECT a.* FROM folded, history_td(g, normalise => 'sd') a;
SELECT a.* FROM folded, history_td(g, history => h, decay => 0) a;
SELECT a.* FROM (SELECT rollout_agg(i, 1, i, 1, 1, 1e308) g FROM generate_series(1, 3) i) y, history_td(g) a;

SET client_min_messages = warning;
DROP SCHEMA history_td CASCADE;

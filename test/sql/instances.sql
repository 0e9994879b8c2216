-- Instances of methods: options => {"methods": {"name": {"method": …}}} of attach. Each number of an instance is that of the direct call with its parameters, on turns or
-- other rewards if it says so; all views over methods (_compare, _quadrants, over time, kept, curated) use instances.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
-- Rebuilds the views of all attachments; a row each.
CREATE FUNCTION pg_temp.anew(asked text[] DEFAULT '{}') RETURNS TABLE (attachment regclass, n_views bigint, problem text) LANGUAGE plpgsql AS $$
DECLARE
	a record;
BEGIN
	FOR a IN SELECT k.source, k.schema, k.prefix FROM stepadv.attachments() k ORDER BY k.schema, k.prefix LOOP
		attachment := to_regclass(format('%I.%I', a.schema, a.prefix || '_attachment'));
		problem := NULL;
		BEGIN
			PERFORM stepadv.add_views(a.source, asked, a.prefix);
			SELECT count(*) INTO n_views FROM stepadv.attachments() k CROSS JOIN LATERAL jsonb_object_keys(k.views) WHERE k.source = a.source AND k.prefix = a.prefix;
		EXCEPTION WHEN OTHERS THEN
			problem := SQLERRM;
			n_views := NULL;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
CREATE ROLE instances_owner;
CREATE ROLE instances_stranger;
CREATE SCHEMA inst AUTHORIZATION instances_owner;
CREATE SCHEMA alien AUTHORIZATION instances_stranger;
GRANT USAGE ON SCHEMA inst, alien TO PUBLIC;
SET SESSION AUTHORIZATION instances_owner;

-- 8 tasks of 6 rollouts of 1 to 9 calls, up to three in a turn; some calls without a turn, some missing components; rollout 4 of every third task is not judged.
CREATE FUNCTION inst.r(seed text, n integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT (('x' || substr(md5(seed), 1, 7))::bit(28)::integer) % n $$;
CREATE TABLE inst.s (task integer, run text, n integer, turn integer, st integer, act integer, tool float8, answer float8, format numeric, val float8, tr float8, version text, at timestamptz,
	PRIMARY KEY (task, run, n));
INSERT INTO inst.s
SELECT task, 'r' || run, n, CASE WHEN inst.r('no ' || k, 9) > 0 THEN n / (2 + run % 2) END, nullif(inst.r('s' || k, 7), 6) % 2, nullif(inst.r('a' || k, 9), 8) % 2,
	CASE WHEN judged AND inst.r('t' || k, 4) > 0 THEN inst.r('tool' || k, 3) / 2.0 END,
	CASE WHEN judged AND n = len THEN inst.r('w' || r, 2) END,
	CASE WHEN judged AND inst.r('f' || k, 3) > 0 THEN inst.r('format' || k, 5) / 10.0 END,
	inst.r('v' || k, 100) / 50.0, inst.r('u' || k, 3) / 2.0, 'v' || run % 2, '2026-01-01Z'::timestamptz + task * interval '8 hours'
FROM generate_series(1, 8) task, generate_series(0, 5) run, LATERAL (SELECT concat_ws('-', task, run) AS r) x,
	LATERAL (SELECT inst.r('len' || r, 9) AS len, run < 4 OR task % 3 > 0 AS judged) l, generate_series(0, len) n, LATERAL (SELECT r || '-' || n AS k) y;
SELECT count(*) > 150 AS steps, count(*) FILTER (WHERE turn IS NULL) > 10 AS of_no_turn, count(DISTINCT run) AS runs, count(*) FILTER (WHERE tool IS NULL) > 20 AS missing FROM inst.s;

-- The expected call of each instance, over a group g.
CREATE TABLE inst.calls (i serial, instance text, told jsonb, call text);
INSERT INTO inst.calls (instance, told, call) VALUES
	('grpo_step', '{"method": "grpo", "step_rewards": true}', 'stepadv.grpo(g, step_rewards => true, gamma => 0.9)'),
	('rloo_0', '{"method": "rloo"}', 'stepadv.rloo(g)'),
	('gae_half', '{"method": "gae", "lambda": 0.5}', 'stepadv.gae(g, lambda => 0.5, gamma => 0.9)'),
	('rtmc_prior8', '{"method": "rtmc", "prior": 8, "gamma": 0.7}', 'stepadv.rtmc(g, prior => 8, gamma => 0.7)'),
	-- Nothing but the general options: what "rtmc" itself was told (prior 1) is not inherited.
	('rtmc_plain', '{"method": "rtmc"}', 'stepadv.rtmc(g, gamma => 0.9)'),
	('mt_step', '{"method": "mt_grpo"}', 'stepadv.mt_grpo(g)'),
	-- Which reward components count: GRPO-OR and GRPO-MR of MT-GRPO's paper are two of them.
	('grpo_answer', '{"method": "grpo", "rewards": ["answer"]}', 'stepadv.grpo(stepadv.with_rewards(g, ''{0,1,0}''))'),
	('grpo_two', '{"method": "grpo", "rewards": ["format", "tool"]}', 'stepadv.grpo(stepadv.with_rewards(g, ''{1,0,1}''))'),
	('mt_weighed', '{"method": "mt_grpo", "rewards": {"answer": 1, "tool": 0.25, "format": -0.5}}', 'stepadv.mt_grpo(stepadv.with_rewards(g, ''{0.25,1,-0.5}''))'),
	-- A step or a turn.
	('rtmc_turn', '{"method": "rtmc", "unit": "turn"}', 'stepadv.rtmc(stepadv.by_turn(g), gamma => 0.9)'),
	('rtmc_set', '{"method": "rtmc", "unit": "turn_set"}', 'stepadv.rtmc(stepadv.by_turn(g, ''set''), gamma => 0.9)'),
	('rtmc_step', '{"method": "rtmc", "unit": "step", "prior": 0}', 'stepadv.rtmc(g, gamma => 0.9, prior => 0)'),
	('mt_turn', '{"method": "mt_grpo", "unit": "turn"}', 'stepadv.mt_grpo(stepadv.by_turn(g))'),
	('gae_turn', '{"method": "gae", "unit": "turn"}', 'stepadv.gae(stepadv.by_turn(g), gamma => 0.9)'),
	('answer_turn', '{"method": "grpo", "unit": "turn", "rewards": {"answer": 2}, "step_rewards": true}', 'stepadv.grpo(stepadv.by_turn(stepadv.with_rewards(g, ''{0,2,0}'')), step_rewards => true, gamma => 0.9)');
CREATE FUNCTION inst.attached(options jsonb, more text DEFAULT '') RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM stepadv.attach(''inst.s'', ''{task}'', ''run'', ''n'', state => ''st'', action => ''act'','
		' columns => ''{"value": "val", "turn_reward": "tr", "policy_version": "version", "started_at": "at", "turn": "turn", "rewards": ["tool", "answer", "format"]}'','
		' views => ''{all}'', options => %L%s)', options, more) INTO n;
	RETURN n;
END
$$;
-- Rows of a view of an instance that are not those of its call.
CREATE FUNCTION inst.wrong(prefix text) RETURNS TABLE (instance text, n bigint, n_advantages bigint, wrong bigint) LANGUAGE plpgsql AS $$
DECLARE
	c record;
BEGIN
	FOR c IN SELECT * FROM inst.calls x ORDER BY x.i LOOP
		instance := c.instance;
		EXECUTE format('SELECT count(*), count(DISTINCT x.advantage), count(*) FILTER (WHERE x.advantage IS DISTINCT FROM y.advantage OR x.act IS DISTINCT FROM s.act)
			FROM inst.%1$I x FULL JOIN (SELECT v.task, a.* FROM (SELECT task, rollouts AS g FROM inst.%2$I) v CROSS JOIN LATERAL %3$s a) y
				ON y.task = x.task AND y.rollout_id = stepadv.signature_hash(x.rollout_id) AND y.step_no = x.step_no
			LEFT JOIN inst.s ON s.task = x.task AND s.run = x.rollout_id AND s.n = x.step_no', prefix || '_' || c.instance, prefix || '_values', c.call) INTO n, n_advantages, wrong;
		RETURN NEXT;
	END LOOP;
END
$$;
SELECT inst.attached(jsonb_build_object('gamma', 0.9, 'rtmc', '{"prior": 1}'::jsonb, 'grpo', '{"normalise": "none"}'::jsonb, 'methods', (SELECT jsonb_object_agg(instance, told) FROM inst.calls))) > 20 AS attached;
SELECT * FROM inst.wrong('s');
-- The methods themselves are there too, with their options.
SELECT count(*) AS n, count(*) FILTER (WHERE x.advantage IS DISTINCT FROM y.advantage) AS wrong
FROM inst.s_rtmc x JOIN (SELECT v.task, a.* FROM inst.s_values v, stepadv.rtmc(v.rollouts, prior => 1, gamma => 0.9) a) y
	ON y.task = x.task AND y.rollout_id = stepadv.signature_hash(x.rollout_id) AND y.step_no = x.step_no;
SELECT i, obj_description(('inst.s_' || i)::regclass) FROM unnest('{grpo_step,rtmc_plain,grpo_answer,mt_weighed,rtmc_set,answer_turn}'::text[]) i;

-- Side by side: a column each, after those of all methods, in the order of their methods.
SELECT string_agg(attname, ' ' ORDER BY attnum) FILTER (WHERE attname IN (SELECT instance FROM inst.calls)) AS instances,
	min(attnum) FILTER (WHERE attname IN (SELECT instance FROM inst.calls)) > max(attnum) FILTER (WHERE attname IN ('history_td', 'grpo', 'rloo', 'gae', 'gigpo', 'rtmc', 'batch_td')) AS after_methods
FROM pg_attribute WHERE attrelid = 'inst.s_compare'::regclass;
CREATE FUNCTION inst.out_of_compare(prefix text) RETURNS TABLE (instance text, n bigint, differ bigint) LANGUAGE plpgsql AS $$
BEGIN
	FOR instance IN SELECT attname FROM pg_attribute JOIN pg_class v ON v.relname = prefix || '_' || attname AND v.relnamespace = 'inst'::regnamespace
		WHERE attrelid = format('inst.%I', prefix || '_compare')::regclass AND attnum > 5 ORDER BY attnum
	LOOP
		EXECUTE format('SELECT count(*), count(*) FILTER (WHERE c.%1$I IS DISTINCT FROM x.advantage) FROM inst.%2$I c FULL JOIN inst.%3$I x USING (task, rollout_id, step_no)',
			instance, prefix || '_compare', prefix || '_' || instance) INTO n, differ;
		RETURN NEXT;
	END LOOP;
END
$$;
SELECT n, differ, count(*) > 20 AS many FROM inst.out_of_compare('s') GROUP BY 1, 2;
-- Instances with the same argument are adjacent, so that it is computed once.
SELECT m[1] AS argument, count(*) AS calls, max(m.i) - min(m.i) + 1 = count(*) AS together
FROM regexp_matches((regexp_match(pg_get_viewdef('inst.s_compare'), 'ROWS FROM\((.*)\) f\('))[1], 'stepadv\.(?:outcomes|grpo|rloo|mt_grpo|mt_rloo|gae|gigpo|graphgpo|hgpo|tempo|rtmc)\((g\.rollouts|stepadv[a-z_]*\.[a-z_]+\((?:[^()]|\([^()]*\))*\))', 'g') WITH ORDINALITY m(m, i)
GROUP BY 1 ORDER BY min(m.i);

-- The same by plain SQL: weighted rewards, and turns as one row each, before they are attached.
CREATE VIEW inst.weighed AS SELECT task, run, n, st, act, val, tr, answer,
	CASE WHEN num_nonnulls(tool, answer, format) > 0 THEN coalesce(0.25 * tool, 0) + coalesce(answer, 0) - coalesce(0.5 * format::float8, 0) END AS weighed FROM inst.s;
SELECT count(*) > 5 AS attached FROM stepadv.attach('inst.weighed', '{task}', 'run', 'n', reward => 'weighed', columns => '{"turn_reward": "tr"}', views => '{all}');
SELECT count(*) > 5 AS attached FROM stepadv.attach('inst.weighed', '{task}', 'run', 'n', reward => 'answer', views => '{all}', prefix => 'answered');
CREATE VIEW inst.turned AS
SELECT task, run, min(n) AS n, (array_agg(st ORDER BY n))[1] AS st, CASE WHEN count(act) = count(*) THEN array_agg(act ORDER BY n)::text END AS act,
	CASE WHEN count(act) = count(*) THEN array_agg(act ORDER BY act)::text END AS acts, (array_agg(val ORDER BY n))[1] AS val, sum(tr) AS tr,
	CASE WHEN count(tool) + count(answer) + count(format) > 0 THEN coalesce(sum(tool), 0) + coalesce(sum(answer), 0) + coalesce(sum(format::float8), 0) END AS reward
FROM inst.s GROUP BY task, run, coalesce('turn ' || turn, 'call ' || n);
SELECT count(*) > 5 AS attached FROM stepadv.attach('inst.turned', '{task}', 'run', 'n', 'st', 'act', 'reward', columns => '{"value": "val", "turn_reward": "tr"}', views => '{all}', options => '{"gamma": 0.9}');
SELECT count(*) > 5 AS attached FROM stepadv.attach('inst.turned', '{task}', 'run', 'n', 'st', 'acts', 'reward', views => '{all}', prefix => 'set', options => '{"gamma": 0.9}');
CREATE FUNCTION inst.near(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS
	$$ SELECT (abs(a - b) <= 1e-9 * greatest(abs(a), abs(b)) + 1e-12) IS TRUE OR num_nonnulls(a, b) = 0 $$;
CREATE VIEW inst.plainly_wrong AS
SELECT count(*) AS n, count(*) FILTER (WHERE NOT inst.near(c.mt_weighed, w.advantage)) AS weighed, count(*) FILTER (WHERE NOT inst.near(c.grpo_answer, a.advantage)) AS answer,
	count(*) FILTER (WHERE NOT inst.near(c.rtmc_turn, t.rtmc)) AS rtmc, count(*) FILTER (WHERE NOT inst.near(c.rtmc_set, s.rtmc)) AS of_sets,
	count(*) FILTER (WHERE NOT inst.near(c.mt_turn, t.mt_grpo)) AS mt_grpo, count(*) FILTER (WHERE NOT inst.near(c.gae_turn, t.gae)) AS gae,
	count(*) FILTER (WHERE NOT inst.near(c.rtmc_turn, c.rtmc_plain)) > 50 AS turns_are_no_steps, count(*) FILTER (WHERE NOT inst.near(c.rtmc_turn, c.rtmc_set)) > 5 AS nor_sets
FROM inst.s_compare c LEFT JOIN inst.weighed_mt_grpo w USING (task, rollout_id, step_no) LEFT JOIN inst.answered_grpo a USING (task, rollout_id, step_no)
CROSS JOIN LATERAL (SELECT min(n) AS n FROM inst.s x WHERE x.task = c.task AND x.run = c.rollout_id AND coalesce('turn ' || x.turn, 'call ' || x.n) = coalesce('turn ' || c.turn, 'call ' || c.step_no)) first
LEFT JOIN inst.turned_compare t ON t.task = c.task AND t.rollout_id = c.rollout_id AND t.step_no = first.n
LEFT JOIN inst.set_compare s ON s.task = c.task AND s.rollout_id = c.rollout_id AND s.step_no = first.n;
TABLE inst.plainly_wrong;

-- Signs of pairs, counted once more in plain SQL over the views of the two.
CREATE FUNCTION inst.out_of_quadrants(prefix text, a text, b text) RETURNS TABLE (n bigint, differ bigint, steps bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		WITH plain AS (
			SELECT x.task, s.version AS policy_version, c.success, substr('-0+', sign(x.advantage)::integer + 2, 1) || substr('-0+', sign(y.advantage)::integer + 2, 1) AS quadrant, count(*) AS n_steps
			FROM inst.%1$I x JOIN inst.%2$I y USING (task, rollout_id, step_no) JOIN inst.%3$I c USING (task, rollout_id, step_no)
			JOIN inst.s s ON s.task = x.task AND s.run = x.rollout_id AND s.n = x.step_no
			GROUP BY 1, 2, 3, 4)
		SELECT count(*), count(*) FILTER (WHERE q.n_steps IS DISTINCT FROM p.n_steps), sum(p.n_steps)::bigint
		FROM plain p FULL JOIN (SELECT * FROM inst.%4$I WHERE method_a = %5$L AND method_b = %6$L) q
			ON q.task = p.task AND q.policy_version = p.policy_version AND q.success IS NOT DISTINCT FROM p.success AND q.quadrant IS NOT DISTINCT FROM p.quadrant$q$,
		prefix || '_' || a, prefix || '_' || b, prefix || '_compare', prefix || '_quadrants', a, b);
END
$$;
SELECT p.a, p.b, q.* FROM (VALUES ('grpo', 'grpo_step'), ('rtmc', 'rtmc_prior8'), ('grpo_step', 'rtmc_plain'), ('gae', 'gae_half'), ('rtmc_plain', 'rtmc_turn')) p(a, b), inst.out_of_quadrants('s', p.a, p.b) q;
-- Where they disagree: in units of the root of the mean square, over the task.
WITH scaled AS (
	SELECT task, rollout_id, step_no, x.advantage AS a, y.advantage AS b, sqrt(avg(x.advantage ^ 2) OVER (PARTITION BY task)) AS sa, sqrt(avg(y.advantage ^ 2) OVER (PARTITION BY task)) AS sb
	FROM inst.s_rtmc x JOIN inst.s_rtmc_prior8 y USING (task, rollout_id, step_no) WHERE x.advantage IS NOT NULL
)
SELECT count(*) > 100 AS many, count(*) FILTER (WHERE (abs(d.difference - (p.a / p.sa - p.b / p.sb)) < 1e-9) IS NOT TRUE) AS differ, bool_or(d.opposite_sign) AS some_opposite
FROM scaled p FULL JOIN (SELECT * FROM inst.s_disagreements WHERE method_a = 'rtmc' AND method_b = 'rtmc_prior8') d USING (task, rollout_id, step_no);

-- Over time: groups are divided by version and bucket, and instances computed of the parts.
CREATE VIEW inst.parts AS SELECT task, version, stepadv.rollout_agg(stepadv.signature_hash(run || n), stepadv.signature_hash(run), n, st::bigint, act::bigint,
	CASE WHEN num_nonnulls(tool, answer, format) > 0 THEN coalesce(tool, 0) + coalesce(answer, 0) + coalesce(format::float8, 0) END, NULL, NULL, val, tr, NULL) AS g FROM inst.s GROUP BY task, version;
CREATE VIEW inst.plain_parts AS
SELECT p.task, p.version, a.method, a.rollout_id, a.step_no, a.advantage FROM inst.parts p CROSS JOIN LATERAL (
	SELECT 'grpo_step' AS method, rollout_id, step_no, advantage FROM stepadv.grpo(g, step_rewards => true, gamma => 0.9)
	UNION ALL SELECT 'rtmc_prior8', rollout_id, step_no, advantage FROM stepadv.rtmc(g, prior => 8, gamma => 0.7)
	UNION ALL SELECT 'gae_half', rollout_id, step_no, advantage FROM stepadv.gae(g, lambda => 0.5, gamma => 0.9)) a;
SELECT method, count(*) AS n, count(*) FILTER (WHERE (abs(x.advantage - y.advantage) <= 1e-9 * abs(y.advantage)) IS NOT TRUE AND num_nonnulls(x.advantage, y.advantage) > 0) AS differ
FROM (SELECT task, policy_version AS version, method, stepadv.signature_hash(rollout_id) AS rollout_id, step_no, advantage FROM inst.s_advantages WHERE method IN ('grpo_step', 'rtmc_prior8', 'gae_half')) x
FULL JOIN inst.plain_parts y USING (task, version, method, rollout_id, step_no) GROUP BY method ORDER BY method;
CREATE VIEW inst.over_time AS
SELECT policy_version, method, sum(n_steps) AS n, sum(mean_abs_advantage * n_steps) AS abs_sum, sum(n_positive) AS n_positive FROM inst.s_advantage_over_time
WHERE method IN ('grpo_step', 'rtmc_prior8', 'gae_half') GROUP BY 1, 2;
CREATE VIEW inst.over_time_differs AS
SELECT count(*) AS n, count(*) FILTER (WHERE (x.n = y.n AND abs(x.abs_sum - y.abs_sum) <= 1e-9 * y.abs_sum AND x.n_positive = y.n_positive) IS NOT TRUE) AS differ
FROM inst.over_time x FULL JOIN (SELECT version AS policy_version, method, count(advantage) AS n, sum(abs(advantage)) AS abs_sum, count(*) FILTER (WHERE advantage > 0) AS n_positive FROM inst.plain_parts GROUP BY 1, 2) y
	USING (policy_version, method);
TABLE inst.over_time_differs;
SELECT count(*) AS n, count(*) FILTER (WHERE (abs(x.mean_abs_advantage * x.n_steps - y.s) <= 1e-9 * y.s AND x.n_steps = y.n) IS NOT TRUE) AS differ
FROM (SELECT * FROM inst.s_advantage_by_group WHERE method IN ('grpo_step', 'rtmc_prior8')) x
FULL JOIN (SELECT task, version AS policy_version, method, sum(abs(advantage)) AS s, count(advantage) AS n
	FROM inst.plain_parts WHERE method IN ('grpo_step', 'rtmc_prior8') GROUP BY 1, 2, 3) y USING (task, policy_version, method);

-- Curated, as any view with advantages.
SELECT count(*) AS n, count(*) FILTER (WHERE abs(x.advantage) < 0.1 OR x.advantage IS DISTINCT FROM p.advantage) AS wrong, count(*) = (SELECT count(*) FROM inst.s_rtmc_prior8 WHERE abs(advantage) >= 0.1) AS all_of_them
FROM stepadv.select_steps('inst.s_rtmc_prior8', min_advantage => 0.1) x LEFT JOIN inst.s_rtmc_prior8 p ON jsonb_build_object('task', p.task) = x.group_key AND p.rollout_id = x.rollout_id AND p.step_no = x.step_no;

-- Kept, then written to: the same as without; then no longer kept.
SELECT stepadv.maintain('inst.s');
DELETE FROM inst.s WHERE task = 2 AND run = 'r1';
UPDATE inst.s SET tool = 1, turn = 0 WHERE task = 3 AND n = 0;
SELECT * FROM stepadv.check_maintained('inst.s');
SELECT * FROM inst.wrong('s') WHERE wrong > 0;
SELECT * FROM inst.out_of_compare('s') WHERE differ > 0;
TABLE inst.over_time_differs;
TABLE inst.plainly_wrong;
SELECT stepadv.unmaintain('inst.s');
SELECT * FROM inst.wrong('s') WHERE wrong > 0;
SELECT * FROM inst.out_of_compare('s') WHERE differ > 0;
TABLE inst.over_time_differs;
TABLE inst.plainly_wrong;

-- Methods added later come after them; one with the name of an instance does not replace it.
CREATE FUNCTION inst.centred(rollouts stepadv.rollout_group, scale float8 DEFAULT 1)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
	SELECT s.step_id, s.rollout_id, s.step_no, scale * (s.reward - avg(s.reward) OVER ()) FROM stepadv.steps(rollouts) s ORDER BY s.step_no DESC
$$;
SELECT stepadv.register_method('inst.centred(stepadv.rollout_group,float8)');
SELECT stepadv.register_method('inst.centred(stepadv.rollout_group,float8)', method => 'rloo_0');
SELECT attachment, n_views > 5 AS many, problem FROM pg_temp.anew('{all}');
SELECT attachment, n_views > 5 AS many, problem FROM pg_temp.anew('{all}');
SELECT string_agg(attname, ' ' ORDER BY attnum) FILTER (WHERE attname IN (SELECT instance FROM inst.calls)) AS at_first,
	string_agg(attname, ' ' ORDER BY attnum) FILTER (WHERE attname IN ('turn', 'policy_version', 'centred')) AS later
FROM pg_attribute WHERE attrelid = 'inst.s_compare'::regclass AND attnum > 0;
SELECT * FROM inst.wrong('s') WHERE wrong > 0;
SELECT * FROM inst.out_of_compare('s') WHERE differ > 0;
SELECT count(*) > 20 AS views, count(*) FILTER (WHERE v.key IN (SELECT instance FROM inst.calls)) AS instances FROM stepadv.attachments() a, jsonb_each(a.views) v;
DROP VIEW inst.over_time_differs, inst.over_time, inst.plainly_wrong;
SELECT stepadv.detach('inst.s') > 20 AS detached;
DELETE FROM inst.stepadv_methods WHERE method = 'rloo_0';

-- Chosen among all; an instance of a function of one's own; a general option that only the method of an instance has.
SELECT inst.attached('{"scale": 3, "methods": {"tripled": {"method": "centred"}, "halved": {"method": "inst.centred", "scale": 0.5}, "nodes_0": {"method": "graph_nodes", "success_above": 0}}, "compare": {"methods": "rtmc, halved, tripled"}}') > 20 AS attached;
SELECT string_agg(attname, ' ' ORDER BY attnum) FILTER (WHERE attnum BETWEEN 6 AND 8) FROM pg_attribute WHERE attrelid = 'inst.s_compare'::regclass;
SELECT count(*) AS n, count(*) FILTER (WHERE (abs(c.halved - x.advantage) < 1e-9 AND abs(c.tripled - 6 * x.advantage) < 1e-9 AND h.advantage = c.halved) IS NOT TRUE AND num_nonnulls(c.halved, x.advantage) > 0) AS differ
FROM inst.s_compare c JOIN inst.s_halved h USING (task, rollout_id, step_no) JOIN (
	SELECT task, run AS rollout_id, n AS step_no, 0.5 * (r - avg(r) OVER (PARTITION BY task)) AS advantage
	FROM (SELECT *, CASE WHEN num_nonnulls(tool, answer, format) > 0 THEN coalesce(tool, 0) + coalesce(answer, 0) + coalesce(format::float8, 0) END AS r FROM inst.s) s) x USING (task, rollout_id, step_no);
SELECT count(*) > 20 AS nodes, count(*) = (SELECT count(*) FROM inst.s_graph_nodes) AS all_of_them FROM inst.s_nodes_0;
SELECT stepadv.detach('inst.s') > 20 AS detached;

-- Histories are of turns where steps are: as of an attachment whose unit is the turn.
SELECT inst.attached(format('{"states": {"kind": "%2$s", "history_length": 2}, "methods": {"rtmc_%1$s": {"method": "rtmc", "unit": "%1$s"}}}', unit, states)::jsonb, format($$, prefix => %L$$, states || '_' || unit)) > 20 AS by_step,
	inst.attached(jsonb_build_object('states', jsonb_build_object('kind', states, 'history_length', 2), 'unit', unit), format($$, prefix => %L$$, 'all_' || states || '_' || unit)) > 20 AS by_turn
FROM (VALUES ('history_last', 'turn')) v(states, unit);
SELECT inst.attached(format('{"states": "%2$s", "methods": {"rtmc_%1$s": {"method": "rtmc", "unit": "%1$s"}}}', unit, states)::jsonb, format($$, prefix => %L$$, states || '_' || unit)) > 20 AS by_step,
	inst.attached(jsonb_build_object('states', states, 'unit', unit), format($$, prefix => %L$$, 'all_' || states || '_' || unit)) > 20 AS by_turn
FROM (VALUES ('history', 'turn'), ('history_set', 'turn_set')) v(states, unit);
CREATE FUNCTION inst.of_turns(prefix text, unit text) RETURNS TABLE (n bigint, differ bigint, otherwise bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT count(*), count(*) FILTER (WHERE a.advantage IS DISTINCT FROM b.advantage), count(*) FILTER (WHERE a.advantage IS DISTINCT FROM c.rtmc)
		FROM inst.%I a JOIN inst.%I b USING (task, rollout_id, step_no) JOIN inst.%I c USING (task, rollout_id, step_no)', prefix || '_rtmc_' || unit, 'all_' || prefix || '_rtmc', prefix || '_compare');
END
$$;
SELECT p, t.n, t.differ, t.otherwise > 20 AS steps_are_others FROM (VALUES ('history_last_turn', 'turn'), ('history_turn', 'turn'), ('history_set_turn_set', 'turn_set')) v(p, unit), inst.of_turns(p, unit) t;
-- An attachment whose unit is the turn uses it for its instances by default.
SELECT inst.attached('{"methods": {"rtmc_prior8": {"method": "rtmc", "prior": 8}, "rtmc_said": {"method": "rtmc", "prior": 8, "unit": "turn"}}, "unit": "turn"}') > 20 AS attached;
SELECT count(*) AS n, count(*) FILTER (WHERE (a.advantage, c.rtmc_said) IS DISTINCT FROM (y.advantage, y.advantage)) AS differ
FROM inst.s_rtmc_prior8 a JOIN inst.s_compare c USING (task, rollout_id, step_no) JOIN (SELECT v.task, x.* FROM inst.s_values v, stepadv.rtmc(v.rollouts, prior => 8) x) y
	ON y.task = a.task AND y.rollout_id = stepadv.signature_hash(a.rollout_id) AND y.step_no = a.step_no;
SELECT stepadv.detach('inst.s') > 100 AS detached;

-- Another user's function is used only where it is named with its schema, and enters no other view.
SET SESSION AUTHORIZATION instances_stranger;
CREATE FUNCTION alien.seven(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE sql IMMUTABLE STRICT AS
	'SELECT s.step_id, s.rollout_id, s.step_no, 7 * gamma FROM stepadv.steps(rollouts) s';
CREATE FUNCTION alien.evil(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE plpgsql AS
	$$ BEGIN RAISE EXCEPTION 'code of a stranger, run by %', current_user; END $$;
SELECT stepadv.register_method('alien.seven(stepadv.rollout_group,float8)');
SELECT stepadv.register_method('alien.evil(stepadv.rollout_group,float8)');
INSERT INTO alien.stepadv_methods VALUES ('grpo', 'alien.evil(stepadv.rollout_group,double precision)'), ('eight', 'alien.evil(stepadv.rollout_group,double precision)');
SET SESSION AUTHORIZATION instances_owner;
SELECT inst.attached('{"methods": {"eight": {"method": "alien.seven", "gamma": 0.5}, "grpo_2": {"method": "grpo"}}}') > 20 AS attached;
SELECT DISTINCT e.advantage, c.eight, c.grpo_2 = c.grpo AS same FROM inst.s_eight e JOIN inst.s_compare c USING (task, rollout_id, step_no) WHERE c.grpo IS NOT NULL;
SELECT to_regclass('inst.s_seven') AS no_other;
SELECT attachment, n_views > 5 AS many, problem FROM pg_temp.anew('{all}');
SELECT stepadv.detach('inst.s') > 20 AS detached;

-- Errors.
CREATE FUNCTION inst.refused(options text, more text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	PERFORM inst.attached(options::jsonb, more);
	RETURN 'attached';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	-- A new method must not change this test.
	RETURN SQLSTATE || ': ' || SQLERRM || coalesce(' | ' || regexp_replace(nullif(hint, ''), 'Methods: .*; one', 'Methods: …; one'), '');
END
$$;
SELECT o AS methods, inst.refused(format('{"methods": %s}', o))
FROM unnest('{"\"grpo\"",1,"{\"x\": 1}","{\"x\": {}}","{\"x\": {\"gamma\": 0.9}}","{\"x\": {\"method\": 1}}","{\"x\": {\"method\": \"gropo\"}}","{\"x\": {\"method\": \"seven\"}}",
	"{\"x\": {\"method\": \"alien.grop\"}}","{\"x\": {\"method\": \"grpo\", \"gama\": 0.9}}","{\"x\": {\"method\": \"groups\", \"gamma\": 0.9}}","{\"x\": {\"method\": \"grpo\", \"gamma\": {\"a\": 1}}}",
	"{\"x\": {\"method\": \"grpo\", \"normalise\": \"what\"}}","{\"x\": {\"method\": \"rtmc\", \"gamma\": 7}}",
	"{\"Über\": {\"method\": \"grpo\"}}","{\"grpo\": {\"method\": \"grpo\"}}","{\"centred\": {\"method\": \"grpo\"}}","{\"compare\": {\"method\": \"grpo\"}}","{\"step_no\": {\"method\": \"grpo\"}}",
	"{\"grpo_abs\": {\"method\": \"grpo\"}}","{\"x\": {\"method\": \"grpo\"}, \"x_square\": {\"method\": \"grpo\"}}",
	"{\"x\": {\"method\": \"grpo\", \"rewards\": \"tool\"}}","{\"x\": {\"method\": \"grpo\", \"rewards\": []}}","{\"x\": {\"method\": \"grpo\", \"rewards\": [\"tool\", \"tol\"]}}",
	"{\"x\": {\"method\": \"grpo\", \"rewards\": {\"tool\": \"1\"}}}","{\"x\": {\"method\": \"grpo\", \"rewards\": {\"tool\": 1e301}}}","{\"x\": {\"method\": \"grpo\", \"unit\": \"episode\"}}","{\"x\": {\"method\": \"grpo\", \"unit\": null}}"}'::text[]) WITH ORDINALITY o(o, i) ORDER BY i;
SELECT inst.refused(format('{"methods": {"%s": {"method": "grpo"}}}', repeat('x', 49)));
SELECT split_part(inst.refused('{"grpo_step": {"step_rewards": true}, "methods": {"grpo_step": {"method": "grpo"}}}'), ' | ', 1) AS not_there;
CREATE FUNCTION inst.refused_of(more text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE format('SELECT stepadv.attach(''inst.s'', ''{task}'', ''run'', ''n'', %s, views => ''{all}'')', more);
	RETURN 'attached';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN SQLSTATE || ': ' || SQLERRM || coalesce(' | ' || nullif(hint, ''), '');
END
$$;
SELECT m AS without, inst.refused_of(m) FROM unnest(ARRAY[
	$$reward => 'tool', options => '{"methods": {"x": {"method": "rtmc"}}}'$$,
	$$reward => 'tool', options => '{"methods": {"x": {"method": "gae"}}}'$$,
	$$reward => 'tool', options => '{"methods": {"x": {"method": "grpo", "rewards": ["tool"]}}}'$$,
	$$reward => 'tool', options => '{"methods": {"x": {"method": "grpo", "unit": "turn"}}}'$$,
	$$reward => 'tool', columns => '{"turn": "turn"}', options => '{"unit": "turn", "methods": {"x": {"method": "grpo", "unit": "step"}}}'$$,
	$$reward => 'tool', columns => '{"turn": "turn"}', options => '{"unit": "turn", "methods": {"x": {"method": "grpo", "unit": "turn_set"}}}'$$,
	$$state => 'st', reward => 'tool', columns => '{"turn": "turn"}', options => '{"states": "observation_last", "methods": {"x": {"method": "grpo", "unit": "turn"}}}'$$]) WITH ORDINALITY m(m, i) ORDER BY i;
SELECT count(*) AS nothing_is_left FROM stepadv.attachments();

RESET SESSION AUTHORIZATION;
SET client_min_messages = error;
DROP SCHEMA inst, alien CASCADE;
DROP ROLE instances_owner, instances_stranger;

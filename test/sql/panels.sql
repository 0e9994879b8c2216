-- Sources of dashboard panels: _advantage_by_group, _quadrants_over_time, _disagreement_by_group, _advantage_histogram, _problems. They equal sums over the rows of steps, folded and kept, after any change.
SET client_min_messages = warning;
SET jit = off;
SET timezone = 'UTC';
\set SHOW_CONTEXT never
CREATE SCHEMA pan;

-- Groups of two columns; a rollout's run and version in a separate table, known or not, several in one group.
CREATE TABLE pan.runs (task text, level integer, trial text, run text, version integer, started timestamptz, PRIMARY KEY (task, level, trial));
INSERT INTO pan.runs
SELECT 't' || t, t % 2, 'r' || r, CASE WHEN r <> 3 THEN 'run ' || r % 2 END, CASE WHEN t > 2 THEN (t + r) % 3 END, '2026-03-01 12:00+00'::timestamptz + t * interval '7 hours'
FROM generate_series(1, 12) t, generate_series(1, 5) r WHERE (t, r) <> (4, 2);
CREATE TABLE pan.steps (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, task text, level integer, trial text, no integer, state integer, action integer, reward float8, value float8, UNIQUE (task, level, trial, no));
INSERT INTO pan.steps (task, level, trial, no, state, action, reward, value)
SELECT 't' || t, t % 2, 'r' || r, n, (n * r + t) % 3, (n + r * t) % 2, CASE WHEN r = 5 AND t % 4 = 0 THEN NULL ELSE ((n * 7 + r * t * 3) % 5 - 1.5) / 4 END, CASE WHEN t <> 6 THEN n % 3 / 4.0 END
FROM generate_series(1, 12) t, generate_series(1, 5) r, generate_series(1, 3 + t % 3) n;
CREATE FUNCTION pan.attached(prefix text, options jsonb DEFAULT '{}') RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM stepadv.attach('pan.steps', '{task,level}', 'trial', 'no', 'state', 'action', 'reward', columns => '{"value": "value", "run_id": "run", "policy_version": "version", "started_at": "started"}', views => '{all}', prefix => prefix, options => options || '{"show_rollouts": "pan.runs"}'::jsonb)
$$;
SELECT pan.attached('plain') = pan.attached('kept') AS attached;

-- ---- Against the rows of steps

CREATE FUNCTION pan.same(a float8, b float8) RETURNS boolean LANGUAGE sql AS $$ SELECT abs(a - b) <= 1e-9 * greatest(abs(a), 1) $$;
CREATE FUNCTION pan.wrong(p text, OUT by_group bigint, OUT wrong_by_group bigint, OUT signs bigint, OUT wrong_signs bigint, OUT disagreements bigint, OUT wrong_disagreements bigint, OUT bins bigint, OUT wrong_bins bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($q$
		SELECT count(*), count(*) FILTER (WHERE ((v.n_steps, v.n_positive, v.n_negative) = (s.n, s.positive, s.negative) AND pan.same(v.mean_abs_advantage, s.mean_abs) AND pan.same(v.mean_advantage, s.mean)
			AND pan.same(v.min_advantage, s.least) AND pan.same(v.max_advantage, s.greatest)) IS NOT TRUE)
		FROM (SELECT row(task, level, run_id, policy_version, bucket, method)::text AS key, * FROM pan.%1$I) v FULL JOIN (
			SELECT row(task, level, run_id, policy_version, bucket, method)::text AS key, count(advantage) AS n, avg(abs(advantage)) AS mean_abs, avg(advantage) AS mean, min(advantage) AS least,
				max(advantage) AS greatest, count(*) FILTER (WHERE advantage > 0) AS positive, count(*) FILTER (WHERE advantage < 0) AS negative
			FROM pan.%2$I GROUP BY 1 HAVING count(advantage) > 0) s USING (key)$q$, p || '_advantage_by_group', p || '_advantages') INTO by_group, wrong_by_group;
	-- Steps by two methods, of the same division, in either order.
	DROP TABLE IF EXISTS pan.pairs;
	EXECUTE format($q$
		CREATE TABLE pan.pairs AS
		SELECT x.task, x.level, x.run_id, x.policy_version, x.bucket, m.method AS method_a, n.method AS method_b, c.success, a.advantage AS a, b.advantage AS b,
			(ARRAY['-', '0', '+'])[sign(a.advantage) + 2] || (ARRAY['-', '0', '+'])[sign(b.advantage) + 2] AS quadrant
		FROM (SELECT * FROM pan.%1$I WHERE method = 'grpo') x CROSS JOIN (SELECT DISTINCT method FROM pan.%1$I) m JOIN (SELECT DISTINCT method FROM pan.%1$I) n ON m.method <> n.method
		LEFT JOIN pan.%1$I a ON a.step_id = x.step_id AND a.method = m.method LEFT JOIN pan.%1$I b ON b.step_id = x.step_id AND b.method = n.method
		JOIN pan.%2$I c ON c.step_id = x.step_id$q$, p || '_advantages', p || '_compare');
	EXECUTE format($q$
		SELECT count(*), count(*) FILTER (WHERE (v.n_steps = s.n AND (v.share IS NULL AND s.share IS NULL OR pan.same(v.share, s.share))) IS NOT TRUE)
		FROM (SELECT row(run_id, policy_version, bucket, method_a, method_b, success, quadrant)::text AS key, * FROM pan.%1$I) v FULL JOIN (
			SELECT row(run_id, policy_version, bucket, method_a, method_b, success, quadrant)::text AS key, count(*) AS n,
				CASE WHEN quadrant IS NOT NULL THEN count(*) / sum(count(*) FILTER (WHERE quadrant IS NOT NULL)) OVER (PARTITION BY run_id, policy_version, bucket, method_a, method_b, success) END AS share
			FROM pan.pairs GROUP BY run_id, policy_version, bucket, method_a, method_b, success, quadrant) s USING (key)$q$, p || '_quadrants_over_time') INTO signs, wrong_signs;
	EXECUTE format($q$
		SELECT count(*), count(*) FILTER (WHERE pan.same(v.max_difference, s.greatest) IS NOT TRUE)
		FROM (SELECT row(task, level, run_id, policy_version, bucket, method_a, method_b)::text AS key, * FROM pan.%1$I) v FULL JOIN (
			SELECT row(task, level, run_id, policy_version, bucket, method_a, method_b)::text AS key, max(abs(a / a_scale - b / b_scale)) AS greatest
			FROM (SELECT *, sqrt(avg(a * a) OVER w) AS a_scale, sqrt(avg(b * b) OVER w) AS b_scale FROM pan.pairs WINDOW w AS (PARTITION BY task, level, run_id, policy_version, bucket, method_a, method_b)) x
			WHERE a * b < 0 AND a_scale > 1e-9 AND b_scale > 1e-9 AND (method_a, method_b) IN (SELECT DISTINCT v.method_a, v.method_b FROM pan.%1$I v) GROUP BY 1) s USING (key)$q$,
		p || '_disagreement_by_group') INTO disagreements, wrong_disagreements;
	EXECUTE format($q$
		SELECT count(*), count(*) FILTER (WHERE v.n_steps IS DISTINCT FROM s.n)
		FROM (SELECT row(run_id, policy_version, bucket, method, bin)::text AS key, * FROM pan.%1$I) v FULL JOIN (
			SELECT row(run_id, policy_version, bucket, method, (floor(advantage * 20) + 0.5) / 20)::text AS key, count(*) AS n FROM pan.%2$I WHERE advantage IS NOT NULL GROUP BY 1) s USING (key)$q$,
		p || '_advantage_histogram', p || '_advantages') INTO bins, wrong_bins;
END $$;
SELECT by_group > 300 AND signs > 5000 AND disagreements > 300 AND bins > 800 AS many, wrong_by_group, wrong_signs, wrong_disagreements, wrong_bins FROM pan.wrong('plain');
-- The steps with the largest advantages are in the groups with the largest maxima.
CREATE FUNCTION pan.best(p text, version text) RETURNS TABLE (task text, level integer, step_id bigint, advantage float8) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		SELECT g.task, g.level, a.step_id, a.advantage
		FROM (SELECT DISTINCT b.task, b.level FROM (SELECT b.task, b.level FROM pan.%1$I b WHERE b.method = 'rtmc' AND ($1 IS NULL OR b.policy_version::text = $1)
			ORDER BY b.max_advantage DESC, b.task, b.level LIMIT 7) b) g
		JOIN pan.%2$I a ON a.task = g.task AND a.level = g.level AND a.method = 'rtmc' AND a.advantage IS NOT NULL AND ($1 IS NULL OR a.policy_version::text = $1)
		ORDER BY a.advantage DESC, g.task, g.level, a.step_id LIMIT 7$q$, p || '_advantage_by_group', p || '_advantages') USING version;
END $$;
SELECT v AS version, count(*), count(*) FILTER (WHERE b IS DISTINCT FROM s) AS wrong
FROM unnest('{NULL,0,1,2}'::text[]) v CROSS JOIN LATERAL (
	SELECT row(x.task, x.level, x.step_id, x.advantage)::text AS b, s.s FROM ROWS FROM (pan.best('plain', v)) WITH ORDINALITY x(task, level, step_id, advantage, i) FULL JOIN (
		SELECT row(a.task, a.level, a.step_id, a.advantage)::text AS s, row_number() OVER (ORDER BY a.advantage DESC, a.task, a.level, a.step_id) AS i
		FROM pan.plain_advantages a WHERE a.method = 'rtmc' AND a.advantage IS NOT NULL AND (v IS NULL OR a.policy_version::text = v) ORDER BY 2 LIMIT 7) s USING (i)) d
GROUP BY 1 ORDER BY 1 NULLS FIRST;

-- ---- Kept, in all ways, while the tables change

-- Number of rows that differ between these views, kept and not; to the last bit.
CREATE FUNCTION pan.differ() RETURNS TABLE (view text, n bigint, differ bigint) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH view IN ARRAY '{advantage_by_group,quadrants_over_time,disagreement_by_group,advantage_histogram,problems,pass_at_k,flaky,groups_over_time}'::text[] LOOP
		EXECUTE format('SELECT count(*), count(*) FILTER (WHERE k.n IS DISTINCT FROM p.n) FROM (SELECT v::text AS v, count(*) AS n FROM pan.%I v GROUP BY 1) k FULL JOIN (SELECT v::text AS v, count(*) AS n FROM pan.%I v GROUP BY 1) p USING (v)',
			'kept_' || view, 'plain_' || view) INTO n, differ;
		RETURN NEXT;
	END LOOP;
	-- Those over time have sums, which depend on the order of what is added up in their last digits.
	FOREACH view IN ARRAY '{progress_over_time,advantage_over_time,measures_over_time,success_by_horizon}'::text[] LOOP
		EXECUTE format('SELECT count(*), count(*) FILTER (WHERE k.n IS DISTINCT FROM p.n) FROM (SELECT pan.rounded(to_jsonb(v)) AS v, count(*) AS n FROM pan.%I v GROUP BY 1) k FULL JOIN (SELECT pan.rounded(to_jsonb(v)) AS v, count(*) AS n FROM pan.%I v GROUP BY 1) p USING (v)',
			'kept_' || view, 'plain_' || view) INTO n, differ;
		RETURN NEXT;
	END LOOP;
END $$;
CREATE FUNCTION pan.rounded(v jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(e.key || '=' || CASE jsonb_typeof(e.value) WHEN 'number' THEN round(e.value::numeric, 9)::text ELSE e.value::text END, ' ' ORDER BY e.key) FROM jsonb_each(v) e
$$;
CREATE TABLE pan.was (i integer GENERATED ALWAYS AS IDENTITY, how text, change text, rows bigint, differ bigint, problems bigint, refreshed bigint);
ALTER TABLE pan.steps ADD at timestamptz NOT NULL DEFAULT now();
ALTER TABLE pan.runs ADD at timestamptz NOT NULL DEFAULT now();
CREATE PROCEDURE pan.keep(how text, round integer) LANGUAGE plpgsql AS $$
DECLARE
	change text;
	done bigint;
BEGIN
	PERFORM stepadv.maintain('pan.steps', 'kept', mode => CASE keep.how WHEN 'triggers' THEN 'triggers' ELSE 'refresh' END, watermark => CASE WHEN keep.how = 'watermark' THEN 'at' END, overlap => '0');
	FOREACH change IN ARRAY ARRAY['SELECT 1', 'UPDATE pan.runs SET version = 7%s, at = now() WHERE trial = ''r1'' AND level = 0', 'UPDATE pan.steps SET reward = 3 + %s, at = now() WHERE trial = ''r4''',
		'DELETE FROM pan.steps WHERE task = ''t%s''', 'DELETE FROM pan.steps WHERE task = ''t10'' AND no = %s',
		'INSERT INTO pan.steps (task, level, trial, no, state, action, reward, value) SELECT ''new'', 1, ''x%s'', n, n, n, n, n FROM generate_series(1, 3) n',
		'UPDATE pan.steps SET task = ''t7'', trial = ''from 9'' || id, at = now() WHERE task = ''t9'' AND no = %s']
	LOOP
		EXECUTE format(change, round);
		COMMIT;
		done := stepadv.refresh('pan.steps', 'kept');
		INSERT INTO pan.was (how, change, rows, differ, problems, refreshed)
		SELECT keep.how, left(change, 37), sum(d.n), sum(d.differ), (SELECT count(*) FROM stepadv.check_maintained('pan.steps', 'kept')), done FROM pan.differ() d;
		COMMIT;
	END LOOP;
	PERFORM stepadv.unmaintain('pan.steps', 'kept');
END $$;
CALL pan.keep('triggers', 1);
CALL pan.keep('refresh', 2);
CALL pan.keep('watermark', 3);
SELECT how, change, rows > 300 AS many, differ, problems, refreshed FROM pan.was ORDER BY i;
SELECT by_group > 300 AND signs > 5000 AND disagreements > 300 AND bins > 800 AS many, wrong_by_group, wrong_signs, wrong_disagreements, wrong_bins FROM pan.wrong('kept');

-- In a transaction; TRUNCATE; all of them.
SELECT stepadv.maintain('pan.steps', 'kept');
BEGIN;
UPDATE pan.steps SET reward = 0.5 WHERE task = 't6';
UPDATE pan.steps SET reward = 0.25 WHERE task = 't6' AND no = 1;
SAVEPOINT s;
DELETE FROM pan.steps WHERE task = 't5';
SELECT sum(differ) AS differ FROM pan.differ();
ROLLBACK TO s;
SELECT sum(differ) AS differ FROM pan.differ();
TRUNCATE pan.runs;
SELECT sum(differ) AS differ FROM pan.differ();
ROLLBACK;
SELECT sum(differ) AS differ FROM pan.differ();
-- Values that a user wrote into the table are detected and corrected.
DELETE FROM pan.kept_digests WHERE task = 't8';
UPDATE pan.kept_digests SET digest = (SELECT digest FROM pan.kept_digests WHERE task = 't12' LIMIT 1) WHERE task = 't11';
INSERT INTO pan.kept_digests SELECT * FROM pan.kept_digests WHERE task = 't12' ORDER BY policy_version, run_id LIMIT 1;
SELECT * FROM stepadv.check_maintained('pan.steps', 'kept') ORDER BY 1, 2;
SELECT stepadv.refresh('pan.steps', 'kept', full => true) > 5 AS all_of_them;
SELECT * FROM stepadv.check_maintained('pan.steps', 'kept');
-- Readable only with the privilege to read its source.
CREATE ROLE regress_panels;
GRANT USAGE ON SCHEMA pan TO regress_panels;
GRANT SELECT ON pan.kept_quadrants_over_time TO regress_panels;
SET ROLE regress_panels;
SELECT count(*) FROM pan.kept_digests;
SELECT count(*) FROM pan.kept_quadrants_over_time;
RESET ROLE;
GRANT SELECT ON pan.steps, pan.runs TO regress_panels;
SET ROLE regress_panels;
SELECT count(*) > 5 AS some FROM pan.kept_digests;
SELECT count(*) > 5 AS some FROM pan.kept_quadrants_over_time;
RESET ROLE;
DROP OWNED BY regress_panels;
DROP ROLE regress_panels;
SELECT stepadv.unmaintain('pan.steps', 'kept');
SELECT stepadv.detach('pan.steps', 'kept') > 20 AS detached;

-- ---- Instances, and a method that cannot be computed of a group

SELECT pan.attached('kept', '{"methods": {"grpo_step": {"method": "grpo", "step_rewards": true}}, "quadrants": {"threshold": 0.1}, "disagreements": {"threshold": 0.2}}') > 20 AS attached;
CREATE TABLE pan.before AS SELECT v::text AS v FROM pan.kept_quadrants_over_time v UNION ALL SELECT v::text FROM pan.kept_disagreement_by_group v;
SELECT stepadv.maintain('pan.steps', 'kept');
SELECT count(*) > 10 AS many, count(*) FILTER (WHERE k.n IS DISTINCT FROM b.n) AS differ FROM (SELECT v, count(*) AS n FROM pan.before GROUP BY 1) b
FULL JOIN (SELECT v, count(*) AS n FROM (SELECT v::text AS v FROM pan.kept_quadrants_over_time v UNION ALL SELECT v::text FROM pan.kept_disagreement_by_group v) x GROUP BY 1) k USING (v);
SELECT stepadv.detach('pan.steps', 'kept') > 20 AS detached;
-- A user's method that raises an error for a group: writers are not affected; the error is raised to readers.
CREATE FUNCTION pan.picky(rollouts stepadv.rollout_group) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
	IF (SELECT count(*) FROM stepadv.steps(rollouts)) = 17 THEN
		RAISE EXCEPTION 'picky does not like 17 steps' USING ERRCODE = 'data_exception';
	END IF;
	RETURN QUERY SELECT s.step_id, s.rollout_id, s.step_no, (s.step_no % 3 - 1)::float8 FROM stepadv.steps(rollouts) s;
END $$;
SELECT stepadv.register_method('pan.picky(stepadv.rollout_group)', schema => 'pan');
SELECT pan.attached('kept') > 20 AS attached;
SELECT stepadv.maintain('pan.steps', 'kept');
SELECT task, level FROM pan.kept_digests WHERE digest IS NULL;
SELECT count(*) > 5 AS some FROM pan.kept_quadrants_over_time WHERE method_a = 'rtmc' AND method_b = 'picky';
INSERT INTO pan.steps (task, level, trial, no, state, action, reward) SELECT 'bad', 0, 'r', n, n, n, 1 FROM generate_series(1, 17) n;
SELECT stepadv.refresh('pan.steps', 'kept');
SELECT task, level FROM pan.kept_digests WHERE digest IS NULL;
SELECT count(*) FROM pan.kept_quadrants_over_time WHERE method_a = 'rtmc' AND method_b = 'picky';
DELETE FROM pan.steps WHERE task = 'bad' AND no = 17;
SELECT stepadv.refresh('pan.steps', 'kept');
SELECT task, level FROM pan.kept_digests WHERE digest IS NULL;
SELECT count(*) > 5 AS some FROM pan.kept_quadrants_over_time WHERE method_a = 'rtmc' AND method_b = 'picky';
SELECT * FROM stepadv.check_maintained('pan.steps', 'kept');
SELECT stepadv.detach('pan.steps') > 20 AS detached;
DROP SCHEMA pan CASCADE;

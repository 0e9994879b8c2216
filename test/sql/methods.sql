-- Methods of users: register_method, and the views that attach makes for them.
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
CREATE ROLE methods_owner;
CREATE ROLE methods_stranger;
CREATE ROLE methods_admin IN ROLE methods_owner, methods_stranger;
CREATE SCHEMA meth AUTHORIZATION methods_owner;
CREATE SCHEMA strange AUTHORIZATION methods_stranger;
GRANT USAGE ON SCHEMA meth, strange TO PUBLIC;
SET SESSION AUTHORIZATION methods_owner;

CREATE TABLE meth.s (id integer PRIMARY KEY, task text, run integer, n integer, obs text, act text, score float8, version text, bonus real);
INSERT INTO meth.s SELECT i, 'task ' || i / 20, i / 5, i % 5, 'obs ' || i % 7, 'act ' || i % 3, CASE WHEN i % 5 = 4 THEN sin(i) ELSE i % 4 / 8.0 END, 'v' || i / 10 % 2, i
FROM generate_series(0, 79) i;
CREATE INDEX ON meth.s (task);

-- One in SQL, one in PL/pgSQL with another column and an unpredictable order.
CREATE FUNCTION meth.centred(rollouts stepadv.rollout_group, scale float8 DEFAULT 1, gamma float8 DEFAULT 1)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
	SELECT s.step_id, s.rollout_id, s.step_no, scale * (s.reward - avg(s.reward) OVER ()) + gamma FROM stepadv.steps(rollouts) s ORDER BY s.step_no DESC
$$;
CREATE FUNCTION meth.late(rollouts stepadv.rollout_group, word text DEFAULT 'plus', wanted boolean DEFAULT false)
RETURNS TABLE (advantage float8, step_no integer, note text, rollout_id bigint, step_id bigint) LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
	IF word NOT IN ('plus', 'minus') THEN
		RAISE EXCEPTION 'unknown word: "%"', word USING ERRCODE = 'invalid_parameter_value', HINT = 'Available values: plus, minus.';
	END IF;
	FOR step_id, rollout_id, step_no IN SELECT s.step_id, s.rollout_id, s.step_no FROM stepadv.steps(rollouts) s ORDER BY md5(s.step_id::text) LOOP
		CONTINUE WHEN rollout_id % 4 = 3;	-- of which it has nothing to say
		advantage := (step_no - 2) * CASE word WHEN 'minus' THEN -1 ELSE 1 END;
		note := CASE WHEN wanted THEN 'wanted' ELSE 'step ' || step_no END;
		RETURN NEXT;
	END LOOP;
END
$$;
SELECT stepadv.register_method('meth.centred(stepadv.rollout_group,float8,float8)');
SELECT stepadv.register_method('meth.late(stepadv.rollout_group,text,boolean)', method => 'lateness', description => 'a row per step');
-- One that needs states, one that needs values, and one with a row per rollout.
SELECT stepadv.register_method('meth.centred(stepadv.rollout_group,float8,float8)', requires => '{reward,state}', method => 'stated');
SELECT stepadv.register_method('meth.centred(stepadv.rollout_group,float8,float8)', requires => '{reward,value}', method => 'valued');
CREATE FUNCTION meth.lengths(rollouts stepadv.rollout_group) RETURNS TABLE (rollout_id bigint, length bigint) LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
	'SELECT s.rollout_id, count(*) FROM stepadv.steps(rollouts) s GROUP BY s.rollout_id';
SELECT stepadv.register_method('meth.lengths(stepadv.rollout_group)', requires => '{}', description => 'a row per rollout, with its length');
SELECT method, function, requires, uses, options_of, description FROM meth.stepadv_methods ORDER BY method COLLATE "C";

SELECT view_name::text, description FROM stepadv.attach('meth.s', '{task}', 'run', 'n', NULL, 'act', 'score', columns => '{"policy_version": "version"}', views => '{all}', options => '{"centred": {"scale": 2}, "lateness": {"word": "minus"}}') WHERE view_name::text ~ '_(centred|lateness|stated|valued|lengths)$' ORDER BY 1;
-- Each number against plain SQL.
CREATE VIEW meth.plain AS
SELECT s.*, 2 * (score - avg(score) OVER (PARTITION BY task)) + 1 AS c, CASE WHEN run % 4 <> 3 THEN 2 - n END AS l,
	2 * (score - avg(score) OVER (PARTITION BY task, version)) + 1 AS cv FROM meth.s;
SELECT count(*) AS n, count(*) FILTER (WHERE abs(x.advantage - p.c) > 1e-12 OR x.obs <> p.obs) AS wrong FROM meth.s_centred x JOIN meth.plain p ON p.id = x.step_id AND p.run = x.rollout_id AND p.n = x.step_no;
SELECT count(*) AS n, count(*) FILTER (WHERE x.advantage <> p.l OR x.note <> 'step ' || x.step_no) AS wrong FROM meth.s_lateness x JOIN meth.plain p ON p.id = x.step_id;
SELECT count(*) AS n, bool_and(length = 5) AS five FROM meth.s_lengths;
SELECT attname FROM pg_attribute WHERE attrelid = 'meth.s_compare'::regclass AND attnum > 0 AND attname NOT IN (SELECT method FROM stepadv_internal.methods WHERE method <> 'grpo') ORDER BY attnum;
SELECT count(*) AS n, count(*) FILTER (WHERE abs(x.centred - p.c) > 1e-12 OR x.lateness IS DISTINCT FROM p.l OR abs(x.grpo - g.advantage) > 1e-12) AS wrong
FROM meth.s_compare x JOIN meth.plain p ON p.id = x.step_id JOIN meth.s_grpo g ON g.step_id = x.step_id;
WITH q AS (
	SELECT task, success, substr('-0+', sign(c.centred)::integer + 2, 1) || substr('-0+', sign(c.lateness)::integer + 2, 1) AS quadrant, count(*) AS n FROM meth.s_compare c GROUP BY 1, 2, 3)
SELECT count(*) AS n, count(*) FILTER (WHERE x.n_steps IS DISTINCT FROM q.n) AS wrong
FROM (SELECT task, success, quadrant, sum(n_steps) AS n_steps FROM meth.s_quadrants WHERE method_a = 'centred' AND method_b = 'lateness' GROUP BY 1, 2, 3) x
FULL JOIN q ON q.task = x.task AND q.success = x.success AND q.quadrant IS NOT DISTINCT FROM x.quadrant;
WITH q AS (
	SELECT p.id, p.c / sqrt(avg(p.c * p.c) OVER w) - p.l / sqrt(avg(p.l * p.l) OVER w) AS d FROM meth.plain p WINDOW w AS (PARTITION BY task))
SELECT count(*) AS n, count(*) FILTER (WHERE abs(x.difference - q.d) > 1e-9) AS wrong FROM meth.s_disagreements x JOIN q ON q.id = x.step_id WHERE method_a = 'centred' AND method_b = 'lateness';
-- Over time groups are divided by version.
SELECT method, count(x.advantage) AS n, count(*) FILTER (WHERE abs(x.advantage - CASE method WHEN 'centred' THEN p.cv ELSE p.l END) > 1e-12 OR x.policy_version <> p.version) AS wrong
FROM meth.s_advantages x JOIN meth.plain p ON p.id = x.step_id WHERE method IN ('centred', 'lateness') GROUP BY 1 ORDER BY 1;
SELECT x.policy_version, x.method, x.n_steps, abs(x.mean_abs_advantage - q.m) < 1e-12 AND abs(x.sd_advantage - q.sd) < 1e-9 AND x.n_positive = q.p AS same
FROM meth.s_advantage_over_time x JOIN (
	SELECT version, method, avg(abs(a)) AS m, stddev_samp(a) AS sd, count(*) FILTER (WHERE a > 0) AS p FROM (
		SELECT version, 'centred' AS method, cv AS a FROM meth.plain UNION ALL SELECT version, 'lateness', l FROM meth.plain) u GROUP BY 1, 2) q
ON q.version = x.policy_version AND q.method = x.method ORDER BY 1, 2;
SELECT x.policy_version, abs(x.mean_abs_advantage - q.c) < 1e-12 AND abs(y.mean_abs_advantage - q.l) < 1e-12 AS same
FROM (SELECT * FROM meth.s_advantage_over_time WHERE method = 'centred') x JOIN (SELECT * FROM meth.s_advantage_over_time WHERE method = 'lateness') y USING (policy_version) JOIN (SELECT version, avg(abs(cv)) AS c, avg(abs(l)) AS l FROM meth.plain GROUP BY 1) q ON q.version = x.policy_version ORDER BY 1;
SELECT count(*) AS n, abs(sum(mean_advantage * n_steps) - (SELECT sum(cv) FROM meth.plain)) < 1e-9 AS same FROM meth.s_advantage_by_group WHERE method = 'centred';

-- Requirements and options select the methods.
SELECT stepadv.detach('meth.s') > 5 AS detached;
CREATE FUNCTION meth.views(more text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	names text;
BEGIN
	EXECUTE format('SELECT string_agg(substr(view_name::text, 8), '' '') FROM stepadv.attach(''meth.s'', ''{task}'', ''run'', ''n'', reward => ''score''%s, views => ''{all}'') WHERE view_name::text ~ ''_(centred|lateness|stated|valued|lengths)$''', more) INTO names;
	PERFORM stepadv.detach('meth.s');
	RETURN names;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS more = PG_EXCEPTION_HINT;
	more := regexp_replace(more, '^Functions: .*(centred.*), spa, .*', 'Functions: … \1 …');
	more := regexp_replace(more, '(Methods that the given columns allow: ).*(centred.*)', '\1… \2');
	RETURN SQLSTATE || ': ' || regexp_replace(SQLERRM, 'compare \d+', 'compare so many') || coalesce(' | ' || nullif(more, ''), '');
END
$$;
SELECT meth.views(m) FROM unnest('{"",", state => ''obs''",", columns => ''{\"value\": \"bonus\"}''",", options => ''{\"states\": \"root\"}''",", columns => NULL",
	", options => ''{\"centred\": {\"slope\": 2}}''",", options => ''{\"lateness\": {\"word\": \"maybe\"}}''",", options => ''{\"word\": \"minus\"}''",
	", options => ''{\"scale\": \"x\"}''",", options => ''{\"later\": {}}''",", options => ''{\"stated\": {\"scale\": 3}}''",
	", options => ''{\"compare\": {\"methods\": \"grpo, lateness, stated\"}}''"}'::text[]) WITH ORDINALITY m(m, i) ORDER BY i;
SELECT count(*) > 5 AS attached
FROM stepadv.attach('meth.s', '{task}', 'run', 'n', reward => 'score', views => '{all}', prefix => 'all', options => '{"gamma": 0.5, "word": "minus", "compare": {"methods": "centred, lateness"}}');
SELECT count(*) AS n, count(*) FILTER (WHERE p.l = x.lateness OR p.l IS NULL AND x.lateness IS NULL) AS late, count(*) FILTER (WHERE abs(x.centred - (p.c - 1) / 2 - 0.5) < 1e-12) AS centred
FROM meth.all_compare x JOIN meth.plain p ON p.id = x.step_id;
SELECT stepadv.detach('meth.s') > 5 AS detached;

-- normalise is a choice for some methods and a boolean for others: a general option goes to those that accept it.
SELECT stepadv.register_method('meth.late(stepadv.rollout_group,text,boolean)', method => 'lateness');
SELECT regexp_replace(description, ':.*', '') AS description
FROM stepadv.attach('meth.s', '{task}', 'run', 'n', 'obs', 'act', 'score', columns => '{"turn_reward": "bonus"}', views => '{all}', options => '{"normalise": "mean"}') WHERE description ~ '^(grpo|gigpo|hgpo|tempo|rtmc|rtmc_tree)\(normalise' ORDER BY 1;
SELECT stepadv.detach('meth.s') > 5 AS detached;
SELECT regexp_replace(description, ':.*', '') AS description
FROM stepadv.attach('meth.s', '{task}', 'run', 'n', 'obs', 'act', 'score', columns => '{"turn_reward": "bonus"}', views => '{all}', options => '{"normalise": true}') WHERE description ~ '^(grpo|gigpo|hgpo|tempo|rtmc|rtmc_tree)\(normalise' ORDER BY 1;
SELECT stepadv.detach('meth.s') > 5 AS detached;
SELECT meth.views(m) FROM unnest('{", options => ''{\"normalise\": \"never\"}''",", options => ''{\"normalise\": true}''",", options => ''{\"normalise\": [1]}''",
	", options => ''{\"gamma\": \"much\"}''",", options => ''{\"prior\": true}''"}'::text[]) WITH ORDINALITY m(m, i) ORDER BY i;

-- One registered later: its views and columns come with add_views, the others keep their names and places.
SELECT count(*) > 10 AS attached FROM stepadv.attach('meth.s', '{task}', 'run', 'n', NULL, 'act', 'score', columns => '{"policy_version": "version"}', views => '{all}', options => '{"show_columns": ["bonus", "obs"]}');
CREATE VIEW meth.mine AS SELECT step_id, bonus, lateness FROM meth.s_compare;
ALTER VIEW meth.s_compare RENAME COLUMN grpo TO "Grpo!";
ALTER VIEW meth.s_grpo RENAME COLUMN advantage TO bonus_of_grpo;
CREATE FUNCTION meth.newer(rollouts stepadv.rollout_group) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
	'SELECT s.step_id, s.rollout_id, s.step_no, s.step_id::float8 FROM stepadv.steps(rollouts) s';
SELECT stepadv.register_method('meth.newer(stepadv.rollout_group)');
SELECT attachment, n_views > 5 AS many, problem FROM pg_temp.anew('{all}');
SELECT attname FROM pg_attribute WHERE attrelid = 'meth.s_compare'::regclass AND attnum > 0 AND attname NOT IN (SELECT method FROM stepadv_internal.methods WHERE method <> 'grpo') ORDER BY attnum;
SELECT count(*) AS n, bool_and(x.newer = x.step_id AND x.bonus = s.bonus AND x.obs = s.obs AND x."Grpo!" = g.bonus_of_grpo AND n.advantage = s.id) AS right
FROM meth.s_compare x JOIN meth.s ON s.id = x.step_id JOIN meth.s_newer n ON n.step_id = s.id JOIN meth.s_grpo g ON g.step_id = s.id;
SELECT count(*), bool_and(mean_advantage >= 0) FROM meth.s_advantage_by_group WHERE method = 'newer';
SELECT policy_version, mean_abs_advantage = (SELECT avg(id) FROM meth.s WHERE version = policy_version) AS right FROM meth.s_advantage_over_time WHERE method = 'newer' ORDER BY 1;
SELECT count(*) FROM meth.mine;
-- And again, and one more, which comes before others in the order of methods.
SELECT attachment, n_views > 5 AS many, problem FROM pg_temp.anew('{all}');
SELECT stepadv.register_method('meth.newer(stepadv.rollout_group)', method => 'an_other');
SELECT attachment, n_views > 5 AS many, problem FROM pg_temp.anew('{all}');
SELECT attachment, n_views > 5 AS many, problem FROM pg_temp.anew('{all}');
SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'meth.s_compare'::regclass AND attnum > 0 AND attname NOT IN (SELECT method FROM stepadv_internal.methods WHERE method <> 'grpo');
SELECT count(*) AS n, bool_and(x.newer = x.step_id AND x.an_other = x.step_id AND x.bonus = s.bonus AND x.obs = s.obs AND x."Grpo!" = g.bonus_of_grpo) AS right
FROM meth.s_compare x JOIN meth.s ON s.id = x.step_id JOIN meth.s_grpo g ON g.step_id = s.id;
SELECT array_agg(v.key ORDER BY v.key COLLATE "C") FROM stepadv.attachments() a, jsonb_each(a.views) v WHERE v.key NOT IN (SELECT method FROM stepadv_internal.methods WHERE method <> 'grpo');
SELECT source, prefix, schema, owner, group_by, states, mode, views ->> 'compare' AS compare FROM stepadv.attachments();
DROP VIEW meth.mine;
DELETE FROM meth.stepadv_methods WHERE method = 'an_other';
-- A name that another view's column has already.
SELECT stepadv.detach('meth.s') > 5 AS detached;
SELECT count(*) > 10 AS attached FROM stepadv.attach('meth.s', '{task}', 'run', 'n', NULL, 'act', 'score', views => '{all}', options => '{"show_columns": ["bonus"]}');
SELECT stepadv.register_method('meth.newer(stepadv.rollout_group)', method => 'bonus');
SELECT attachment, n_views > 5 AS many, problem FROM pg_temp.anew('{all}');
SELECT attname FROM pg_attribute WHERE attrelid = 'meth.s_compare'::regclass AND attnum > 0 AND attname NOT IN (SELECT method FROM stepadv_internal.methods WHERE method <> 'grpo') ORDER BY attnum DESC LIMIT 4;
SELECT stepadv.detach('meth.s') > 5 AS detached;
DELETE FROM meth.stepadv_methods WHERE method IN ('bonus', 'newer', 'stated', 'valued');


-- Another user's function with the same name is not called, even if it fits better.
GRANT CREATE ON SCHEMA meth TO methods_stranger;
SET SESSION AUTHORIZATION methods_stranger;
CREATE FUNCTION meth.late(rollouts stepadv.rollout_group) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE plpgsql AS
	$$ BEGIN RAISE EXCEPTION 'code of a stranger, run by %', current_user; END $$;
CREATE FUNCTION meth.late(rollouts stepadv.rollout_group, word text DEFAULT '') RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE plpgsql AS
	$$ BEGIN RAISE EXCEPTION 'code of a stranger, run by %', current_user; END $$;
SET SESSION AUTHORIZATION methods_owner;
SELECT meth.views('');
SELECT meth.views(', options => ''{"lateness": {"word": "minus"}}''');
REVOKE CREATE ON SCHEMA meth FROM methods_stranger;

-- A method of another user enters no view of others, whatever that user's table contains.
SET SESSION AUTHORIZATION methods_stranger;
CREATE FUNCTION strange.evil(rollouts stepadv.rollout_group, x float8 DEFAULT 1) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE plpgsql AS
	$$ BEGIN RAISE EXCEPTION 'code of a stranger, run by %', current_user; END $$;
CREATE FUNCTION strange.kind(rollouts stepadv.rollout_group) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE sql IMMUTABLE STRICT AS
	'SELECT s.step_id, s.rollout_id, s.step_no, 7::float8 FROM stepadv.steps(rollouts) s';
SELECT stepadv.register_method('strange.evil(stepadv.rollout_group,float8)');
SELECT stepadv.register_method('strange.kind(stepadv.rollout_group)');
INSERT INTO strange.stepadv_methods VALUES ('grpo', 'strange.evil(stepadv.rollout_group,double precision)'), ('values', 'strange.evil(stepadv.rollout_group,double precision)'), ('nonsense', 'what('), ('empty', ''), ('Bad Name', 'strange.kind(stepadv.rollout_group)');
RESET SESSION AUTHORIZATION;
CREATE TABLE strange.root AS SELECT * FROM meth.s;
ALTER TABLE strange.root OWNER TO methods_owner;
SET SESSION AUTHORIZATION methods_owner;
SELECT meth.views('');
SELECT string_agg(view_name::text, ' ') FROM stepadv.attach('meth.s', '{task}', 'run', 'n', reward => 'score', views => '{all}', options => '{"methods": ["strange.kind", "strange.other", "strange.values", "strange.nonsense", "strange.Bad Name"]}') WHERE view_name::text ~ '_(centred|kind|evil|nonsense|other)$';
SELECT DISTINCT advantage, (SELECT DISTINCT kind FROM meth.s_compare) FROM meth.s_kind;
SELECT stepadv.detach('meth.s') > 5 AS detached;
SELECT meth.views(', options => ''{"methods": ["strange.evil"]}''');
SELECT meth.views(', options => ''{"methods": ["strange.grpo"]}''') AS shadowed;
-- The same for a superuser, whose own methods are for all.
RESET SESSION AUTHORIZATION;
SELECT string_agg(view_name::text, ' ') FROM stepadv.attach('strange.root', '{task}', 'run', 'n', reward => 'score', views => '{all}', schema => 'meth') WHERE view_name::text ~ '_(centred|kind|evil|nonsense|lateness)$';
SELECT stepadv.detach('strange.root') > 5 AS detached;
CREATE SCHEMA root_methods;
CREATE FUNCTION root_methods.five(rollouts stepadv.rollout_group) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE sql IMMUTABLE STRICT AS
	'SELECT s.step_id, s.rollout_id, s.step_no, 5::float8 FROM stepadv.steps(rollouts) s';
SELECT stepadv.register_method('root_methods.five(stepadv.rollout_group)');
SET SESSION AUTHORIZATION methods_owner;
SELECT string_agg(view_name::text, ' ') AS not_readable FROM stepadv.attach('meth.s', '{task}', 'run', 'n', reward => 'score', views => '{all}') WHERE view_name::text ~ '_(centred|five)$';
SELECT stepadv.detach('meth.s') > 5 AS detached;
RESET SESSION AUTHORIZATION;
GRANT USAGE ON SCHEMA root_methods TO PUBLIC;
SET SESSION AUTHORIZATION methods_owner;
SELECT string_agg(view_name::text, ' ') FROM stepadv.attach('meth.s', '{task}', 'run', 'n', reward => 'score', views => '{all}') WHERE view_name::text ~ '_(centred|five)$';
SELECT stepadv.detach('meth.s') > 5 AS detached;

-- Policies and the like on a table of methods run no code.
SET SESSION AUTHORIZATION methods_stranger;
CREATE FUNCTION strange.trap() RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE EXCEPTION 'code of a stranger, run by %', current_user; END $$;
ALTER TABLE strange.stepadv_methods ENABLE ROW LEVEL SECURITY;
CREATE POLICY trap ON strange.stepadv_methods USING (strange.trap());
SET SESSION AUTHORIZATION methods_owner;
SELECT meth.views(', options => ''{"methods": ["strange.kind"]}''');
SET SESSION AUTHORIZATION methods_stranger;
DROP TABLE strange.stepadv_methods;
CREATE TABLE strange.more OF stepadv.method;
CREATE VIEW strange.stepadv_methods AS SELECT * FROM strange.more WHERE strange.trap();
GRANT SELECT ON strange.stepadv_methods, strange.more TO PUBLIC;
SET SESSION AUTHORIZATION methods_owner;
SELECT meth.views(', options => ''{"methods": ["strange.kind"]}''');
SET SESSION AUTHORIZATION methods_stranger;
DROP VIEW strange.stepadv_methods;
-- A table that others cannot read, or a locked one, blocks no other user.
SELECT stepadv.register_method('strange.kind(stepadv.rollout_group)');
REVOKE ALL ON strange.stepadv_methods FROM PUBLIC;
SET SESSION AUTHORIZATION methods_owner;
SELECT meth.views('');
SELECT meth.views(', options => ''{"methods": ["strange.kind"]}''');

-- Nor does an administrator write into another user's table, or into one whose schema another user owns.
RESET SESSION AUTHORIZATION;
SELECT stepadv.register_method('strange.kind(stepadv.rollout_group)');
GRANT CREATE ON SCHEMA root_methods TO methods_stranger;
SET SESSION AUTHORIZATION methods_stranger;
CREATE FUNCTION strange.fires() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a trigger, run by %', current_user; END $$;
RESET SESSION AUTHORIZATION;
DROP TABLE root_methods.stepadv_methods;
SET SESSION AUTHORIZATION methods_stranger;
CREATE TABLE root_methods.stepadv_methods OF stepadv.method (PRIMARY KEY (method));
CREATE TRIGGER t BEFORE INSERT ON root_methods.stepadv_methods FOR EACH ROW EXECUTE FUNCTION strange.fires();
RESET SESSION AUTHORIZATION;
SELECT stepadv.register_method('root_methods.five(stepadv.rollout_group)');
DROP TABLE root_methods.stepadv_methods;
-- A function that another user creates in place of a registered one is not used.
CREATE SCHEMA own_methods;
SELECT stepadv.register_method('strange.kind(stepadv.rollout_group)', schema => 'own_methods');
SELECT stepadv.register_method('root_methods.five(stepadv.rollout_group)', schema => 'own_methods');
GRANT USAGE ON SCHEMA own_methods TO PUBLIC;
SET SESSION AUTHORIZATION methods_owner;
SELECT string_agg(view_name::text, ' ') AS both FROM stepadv.attach('meth.s', '{task}', 'run', 'n', reward => 'score', views => '{all}') WHERE view_name::text ~ '_(five|kind)$';
SELECT stepadv.detach('meth.s') > 5 AS detached;
RESET SESSION AUTHORIZATION;
DROP FUNCTION root_methods.five(stepadv.rollout_group);
SET SESSION AUTHORIZATION methods_stranger;
CREATE FUNCTION root_methods.five(rollouts stepadv.rollout_group) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE plpgsql AS
	$$ BEGIN RAISE EXCEPTION 'code of a stranger, run by %', current_user; END $$;
SET SESSION AUTHORIZATION methods_owner;
SELECT string_agg(view_name::text, ' ') AS one FROM stepadv.attach('meth.s', '{task}', 'run', 'n', reward => 'score', views => '{all}') WHERE view_name::text ~ '_(five|kind)$';
SELECT stepadv.detach('meth.s') > 5 AS detached;
RESET SESSION AUTHORIZATION;
DROP SCHEMA own_methods CASCADE;
SET SESSION AUTHORIZATION methods_stranger;
DROP FUNCTION strange.fires();

-- An administrator who rebuilds another user's views runs none of that user's code as themselves.
SET SESSION AUTHORIZATION methods_stranger;
CREATE TABLE strange.s (task text, run integer, n integer, score float8);
INSERT INTO strange.s SELECT 'x', i / 3, i % 3, i FROM generate_series(0, 5) i;
CREATE FUNCTION strange.who(rollouts stepadv.rollout_group) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE plpgsql AS
	$$ BEGIN RAISE WARNING 'a method, run by %', current_user; END $$;
SELECT stepadv.register_method('strange.who(stepadv.rollout_group)');
SELECT count(*) > 5 AS attached FROM stepadv.attach('strange.s', '{task}', 'run', 'n', reward => 'score', views => '{all}');
CREATE FUNCTION strange.fires() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'a trigger, run by %', current_user; RETURN NEW; END $$;
CREATE TRIGGER t BEFORE UPDATE ON strange.s_attachment FOR EACH ROW EXECUTE FUNCTION strange.fires();
RESET SESSION AUTHORIZATION;
SELECT count(*) AS none_more FROM stepadv.add_views('strange.s', '{all}');
SET SESSION AUTHORIZATION methods_admin;
SELECT attachment, n_views > 5 AS many, problem FROM pg_temp.anew('{all}');
-- An attachment that cannot be rebuilt does not affect the others.
SET SESSION AUTHORIZATION methods_owner;
SELECT count(*) > 5 AS attached FROM stepadv.attach('meth.s', '{task}', 'run', 'n', reward => 'score', views => '{all}');
SET SESSION AUTHORIZATION methods_stranger;
CREATE OR REPLACE FUNCTION strange.fires() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'never'; END $$;
SET SESSION AUTHORIZATION methods_admin;
SELECT attachment, n_views > 5 AS views, problem FROM pg_temp.anew('{all}');
SELECT stepadv.detach('meth.s') > 5 AS detached, stepadv.detach('strange.s') > 5 AS detached;

-- Errors.
SET SESSION AUTHORIZATION methods_owner;
CREATE FUNCTION meth.no_group(x float8) RETURNS TABLE (advantage float8) LANGUAGE sql AS 'SELECT x';
CREATE FUNCTION meth.no_table(x stepadv.rollout_group) RETURNS float8 LANGUAGE sql AS 'SELECT 1::float8';
CREATE FUNCTION meth.no_set(x stepadv.rollout_group, OUT step_id bigint, OUT rollout_id bigint, OUT step_no integer, OUT advantage float8) LANGUAGE sql AS 'SELECT 1::bigint, 1::bigint, 1, 1::float8';
CREATE FUNCTION meth.wrong_type(x stepadv.rollout_group) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no bigint, advantage float8) LANGUAGE sql AS 'SELECT 1::bigint, 1::bigint, 1::bigint, 1::float8';
CREATE FUNCTION meth.no_default(x stepadv.rollout_group, gamma float8) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE sql AS 'SELECT 1::bigint, 1::bigint, 1, 1::float8';
CREATE FUNCTION meth.no_name(stepadv.rollout_group, float8 DEFAULT 1) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE sql AS 'SELECT 1::bigint, 1::bigint, 1, 1::float8';
CREATE FUNCTION meth.many(x stepadv.rollout_group, VARIADIC gammas float8[] DEFAULT '{}') RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE sql AS 'SELECT 1::bigint, 1::bigint, 1, 1::float8';
CREATE FUNCTION meth.refused(function regprocedure, more text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE format('SELECT stepadv.register_method(%L::regprocedure%s)', function, more);
	RETURN 'registered';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN SQLSTATE || ': ' || SQLERRM || coalesce(' | ' || nullif(hint, ''), '');
END
$$;
SELECT p.proname, meth.refused(p.oid) FROM pg_proc p WHERE p.pronamespace = 'meth'::regnamespace AND proname ~ '^(no_|wrong|many)' ORDER BY 1;
SELECT meth.refused(NULL);
SELECT m, meth.refused('meth.newer(stepadv.rollout_group)', m) FROM unnest('{", method => ''Über''",", method => ''rtmc''",", method => ''compare''",", method => ''values''",", method => ''rows''",", method => ''success''",
	", requires => ''{magic}''",", uses => ''{logp_new}''",", requires => ''{NULL}''",", schema => ''nowhere''",", schema => ''strange''",", schema => ''stepadv''",", requires => NULL, uses => NULL"}'::text[]) WITH ORDINALITY m(m, i) ORDER BY i;
SELECT meth.refused('meth.newer(stepadv.rollout_group)', format(', method => %L', repeat('x', 49)));
CREATE TABLE meth.other (method text);
ALTER TABLE meth.stepadv_methods RENAME TO elsewhere;
ALTER TABLE meth.other RENAME TO stepadv_methods;
SELECT meth.refused('meth.newer(stepadv.rollout_group)');
-- A table of methods may have any name.
SELECT meth.views('');

-- So many that the signs of a step's advantages fill a larger number.
DROP TABLE meth.stepadv_methods;
SELECT count(stepadv.register_method('meth.centred(stepadv.rollout_group,float8,float8)', method => 'c' || i)) FROM generate_series(1, 22) i;
SELECT count(*) > 5 AS attached FROM stepadv.attach('meth.s', '{task}', 'run', 'n', reward => 'score', views => '{all}', options => '{"c22": {"scale": -1, "gamma": 0}, "c1": {"gamma": 0}}');
SELECT count(DISTINCT (method_a, method_b)) > 350 AS many FROM meth.s_quadrants;
WITH q AS (SELECT task, success, substr('-0+', sign(c1)::integer + 2, 1) || substr('-0+', sign(c22)::integer + 2, 1) AS quadrant, count(*) AS n FROM meth.s_compare GROUP BY 1, 2, 3)
SELECT count(*), count(*) FILTER (WHERE x.n_steps IS DISTINCT FROM q.n) AS wrong
FROM (SELECT * FROM meth.s_quadrants WHERE method_a = 'c1' AND method_b = 'c22') x FULL JOIN q USING (task, success, quadrant);
SELECT stepadv.detach('meth.s') > 5 AS detached;
SELECT count(stepadv.register_method('meth.centred(stepadv.rollout_group,float8,float8)', method => 'c' || i)) FROM generate_series(23, 32) i;
SELECT meth.views('');

RESET SESSION AUTHORIZATION;
SET client_min_messages = error;
DROP SCHEMA meth, strange, root_methods CASCADE;
DROP ROLE methods_admin, methods_owner, methods_stranger;

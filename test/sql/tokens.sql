-- token_lineage, step_lineage: what prompts and responses share; the views _lineage.
SET client_min_messages = warning;
SET jit = off;
\set SHOW_CONTEXT never
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
CREATE SCHEMA token_tests;
SET search_path = token_tests, public;

-- By hand.  The prompts of rollout 1: 1 2 | 3, then 1 2 3 4 | 5 6 (extends it), then 1 2 3 4 5 7 | 8 (6 became 7: differs at 6),
-- then 1 2 (ends within: differs at 3) | nothing.  Their trie: 1 2 3 4 5 6, and under 5 the 7 8: 8 nodes of 3 + 6 + 7 + 2 tokens.
-- Rollout 2: 1 2 3 | 9, which has 9 more; then it repeats itself: 1 2 3 9 | 9.
CREATE TABLE by_hand (step_id bigint, rollout_id bigint, step_no integer, prompt integer[], response integer[]);
INSERT INTO by_hand VALUES (11, 1, 1, '{1,2}', '{3}'), (12, 1, 2, '{1,2,3,4}', '{5,6}'), (13, 1, 3, '{1,2,3,4,5,7}', '{8}'), (14, 1, 4, '{1,2}', '{}'),
	(21, 2, 1, '{1,2,3}', '{9}'), (22, 2, 2, '{1,2,3,9}', '{9}');
SELECT (l).n_rollouts, (l).n_steps, (l).n_tokens, (l).n_unique_tokens FROM (SELECT stepadv.token_lineage(step_id, rollout_id, step_no, prompt, response) AS l FROM by_hand) x;
SELECT s.* FROM (SELECT stepadv.token_lineage(step_id, rollout_id, step_no, prompt, response ORDER BY random()) AS l FROM by_hand) x, stepadv.step_lineage(x.l) s;

-- Unknown tokens count nowhere, and the step after them cannot be compared; an empty array is known to have none.
SELECT (l).n_rollouts, (l).n_steps, (l).n_tokens, (l).n_unique_tokens, s.*
FROM (SELECT stepadv.token_lineage(n, 1, n, p, r) AS l FROM (VALUES (1, '{}'::integer[], '{}'::integer[]), (2, '{}', '{}'), (3, '{}', '{4}'), (4, '{}', NULL), (5, '{4}', '{}'), (6, NULL, '{5}'), (7, NULL, NULL), (NULL, '{4}', '{7,8,9}')) v(n, p, r)) x, stepadv.step_lineage(x.l) s;
SELECT stepadv.token_lineage(n, 1, n, '{1}'::integer[], '{1}'::integer[]) IS NULL AS of_no_steps, count(*) FROM (VALUES (NULL::integer)) v(n);
SELECT * FROM stepadv.step_lineage(NULL);

-- Errors.
SELECT stepadv.token_lineage(1, NULL, 1, '{}'::integer[], '{}'::integer[]);
SELECT stepadv.token_lineage(NULL, 7, 1, '{}'::integer[], '{}'::integer[]);
SELECT stepadv.token_lineage(n, 7, 3, '{}'::integer[], '{}'::integer[]) FROM generate_series(1, 2) n;
SELECT stepadv.token_lineage(1, 7, 3, '{1,NULL}'::integer[], '{}'::integer[]);
SELECT stepadv.token_lineage(1, 7, 3, '{}'::integer[], '{{1},{2}}'::integer[]);
SELECT stepadv.token_lineage(1, 7, 3, '{}'::bigint[], '{1,2147483648}'::bigint[]);
SELECT stepadv.token_lineage(1, 7, 3, '{}'::text[], '{a}');
SELECT * FROM stepadv.step_lineage(ROW(1, 1, 1, 1, '{1}', '{1}', '{1}', '{1}', '{1}', '{1,2}', '{1}', '{1}')::stepadv.token_lineage);
SELECT * FROM stepadv.step_lineage(ROW(1, 1, 1, 1, '{1}', '{1}', '{1}', '{NULL}', '{1}', '{1}', '{1}', '{1}')::stepadv.token_lineage);
SELECT * FROM stepadv.step_lineage(ROW(1, 1, 1, 1, NULL, '{1}', '{1}', '{1}', '{1}', '{1}', '{1}', '{1}')::stepadv.token_lineage);
SELECT * FROM stepadv.step_lineage(ROW(0, 0, 0, 0, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')::stepadv.token_lineage);
-- In views a defect costs the rollout: 1 has a NULL, 2 two steps with one number, 3 a step without an id, 4 is sound.
SELECT (l).n_rollouts, (l).n_tokens, (l).n_unique_tokens, s.*
FROM (SELECT stepadv_internal.lenient_token_lineage(i, r, n, p, '{}'::integer[]) AS l
	FROM (VALUES (1, 1, 1, '{5,6}'::integer[]), (2, 1, 2, '{5,NULL}'), (3, 2, 1, '{5}'), (4, 2, 1, '{5}'), (NULL, 3, 1, '{5}'), (6, 4, 1, '{5,7}'), (7, NULL, 1, '{5}')) v(i, r, n, p)) x, stepadv.step_lineage(x.l) s;
-- Ids are any integers; those of bigint are the same.
SELECT (stepadv.token_lineage(n, 1, n, ARRAY[-1, 0, 2147483647, -2147483648]::integer[], ARRAY[n]::integer[])).n_unique_tokens AS of_integers,
	(stepadv.token_lineage(n, 1, n, ARRAY[-1, 0, 2147483647, -2147483648]::bigint[], ARRAY[n]::bigint[])).n_unique_tokens AS of_bigints FROM generate_series(1, 5) n;

-- Rollouts of the simulator, with token ids, against a trie in plain SQL: the distinct prefixes.
\i test/sim/simulator.sql
CREATE TABLE steps AS SELECT row_number() OVER (ORDER BY rollout_id, step_no) AS step_id, t.* FROM sim.token_ids(8, 4, 3) t;
CREATE TABLE prefixes AS SELECT s.step_id, s.group_id, s.rollout_id, s.step_no, i AS depth, (s.prompt_token_ids || s.response_token_ids)[1:i] AS prefix
	FROM steps s, generate_series(1, cardinality(s.prompt_token_ids || s.response_token_ids)) i;
CREATE TABLE lineages AS SELECT group_id, stepadv.token_lineage(step_id, rollout_id, step_no, prompt_token_ids, response_token_ids) AS lineage FROM steps GROUP BY group_id;
SELECT count(*) AS groups, bool_and((l.lineage).n_tokens = p.n AND (l.lineage).n_unique_tokens = p.n_unique AND (l.lineage).n_steps = p.n_steps AND (l.lineage).n_rollouts = 4) AS as_plain_sql,
	sum(p.n) AS tokens, sum(p.n_unique) AS unique_tokens
FROM lineages l JOIN (SELECT group_id, count(*) AS n, count(DISTINCT prefix) AS n_unique, count(DISTINCT step_id) AS n_steps FROM prefixes GROUP BY group_id) p USING (group_id);
CREATE TABLE expected AS
	WITH o AS (SELECT s.*, lag(prompt_token_ids || response_token_ids) OVER w AS before FROM steps s WINDOW w AS (PARTITION BY rollout_id ORDER BY step_no)),
	e AS (SELECT o.*, prompt_token_ids[1:cardinality(before)] = before AS extends FROM o),
	f AS (SELECT u.step_id, count(*) AS n FROM (SELECT DISTINCT ON (rollout_id, prefix) step_id FROM prefixes ORDER BY rollout_id, prefix, step_no) u GROUP BY u.step_id)
	SELECT step_id, rollout_id, step_no, cardinality(prompt_token_ids) AS n_prompt_tokens, cardinality(response_token_ids) AS n_response_tokens,
		coalesce(f.n, 0)::integer AS n_new_tokens, extends AS extends_previous,
		CASE WHEN NOT extends THEN (SELECT min(i) FROM generate_series(1, cardinality(before)) i WHERE prompt_token_ids[i] IS DISTINCT FROM before[i]) END AS differs_at,
		(count(*) FILTER (WHERE extends IS NOT TRUE) OVER (PARTITION BY rollout_id ORDER BY step_no))::integer AS segment_no
	FROM e LEFT JOIN f USING (step_id);
SELECT count(*) AS steps, count(*) FILTER (WHERE extends_previous) AS extending, count(differs_at) AS differing, max(segment_no) AS most_runs,
	(SELECT count(*) FROM (SELECT * FROM expected EXCEPT ALL SELECT s.* FROM lineages l, stepadv.step_lineage(l.lineage) s) x) AS not_as_plain_sql
FROM expected;
-- All of them at once, in any order, as bigints, in a FunctionScan: the same.
CREATE TABLE at_once AS SELECT stepadv.token_lineage(step_id, rollout_id, step_no, prompt_token_ids, response_token_ids) AS lineage FROM steps;
SELECT (SELECT lineage FROM at_once) = stepadv.token_lineage(step_id, rollout_id, step_no, prompt_token_ids, response_token_ids ORDER BY stepadv.signature_hash(int8send(step_id))) AS in_any_order,
	(SELECT lineage FROM at_once) = stepadv.token_lineage(step_id, rollout_id, step_no, prompt_token_ids::bigint[], response_token_ids::bigint[]) AS as_bigints FROM steps;
SET stepadv.enable_step_scan = off;
SELECT count(*) AS not_as_plain_sql FROM (SELECT * FROM expected EXCEPT ALL SELECT s.* FROM lineages l, stepadv.step_lineage(l.lineage) s) x;
RESET stepadv.enable_step_scan;
-- As a window aggregate: the value so far is read before more rows are added.
SELECT count(DISTINCT (l).n_steps) AS lengths, max((l).n_unique_tokens) AS most, bool_and((l).n_unique_tokens = p.n) AS as_plain_sql
FROM (SELECT step_id, stepadv.token_lineage(step_id, rollout_id, step_no, prompt_token_ids, response_token_ids) OVER (ORDER BY step_id) AS l FROM steps WHERE step_id <= 12) x,
	LATERAL (SELECT count(DISTINCT prefix) AS n FROM prefixes q WHERE q.step_id <= x.step_id) p;
-- Long sequences that differ late: only tokens are compared.
SELECT (l).n_tokens, (l).n_unique_tokens, (SELECT string_agg(coalesce(differs_at::text, '-'), ' ' ORDER BY step_no) FROM stepadv.step_lineage(l)) AS differs_at
FROM (SELECT stepadv.token_lineage(n, 1, n, (SELECT array_agg(i) FROM generate_series(1, 100000 + n) i), ARRAY[100000 + n + (n % 2)]) AS l FROM generate_series(1, 4) n) x;

-- The views, over the canonical tables, of which one group has defects.
SELECT count(*) AS views FROM stepadv.create_tables('rl', views => '{lineage}') v WHERE v.view_name::text LIKE '%lineage%';
INSERT INTO rl.rollouts (run_id, policy_version, task_id, rollout_id, success) SELECT DISTINCT 'run', 'v' || group_id % 2, 'task ' || group_id, 'rollout ' || rollout_id, true FROM steps;
INSERT INTO rl.steps (run_id, policy_version, task_id, rollout_id, step_no, step_id, action, prompt_token_ids, response_token_ids)
	SELECT 'run', 'v' || group_id % 2, 'task ' || group_id, 'rollout ' || rollout_id, step_no, step_id, 'a' || step_no, prompt_token_ids, response_token_ids FROM steps;
SELECT count(*) AS not_as_plain_sql FROM (
	SELECT step_id, 'rollout ' || rollout_id, step_no, n_prompt_tokens, n_response_tokens, n_new_tokens, extends_previous, differs_at, segment_no, 'a' || step_no FROM expected
	EXCEPT ALL SELECT step_id, rollout_id, step_no, n_prompt_tokens, n_response_tokens, n_new_tokens, extends_previous, differs_at, segment_no, action FROM rl.steps_lineage) x;
UPDATE rl.steps SET response_token_ids = '{1,NULL}' WHERE rollout_id = 'rollout 1' AND step_no = 1;
UPDATE rl.steps SET prompt_token_ids = NULL WHERE rollout_id = 'rollout 2' AND step_no = 1;
SELECT rollout_id, count(*) AS n_steps, sum(n_new_tokens) IS NULL AS no_tokens, max(segment_no) AS n_runs FROM rl.steps_lineage WHERE rollout_id IN ('rollout 1', 'rollout 2') GROUP BY 1 ORDER BY 1;

-- By attach: bigints beside integers, smallints, a domain; ids of other types; what is missing.
CREATE DOMAIN ids AS bigint[];
CREATE TABLE own (task text, rollout uuid, n bigint, reward real, p ids, r smallint[], started date, ended timestamp);
INSERT INTO own SELECT 'a', md5(r::text)::uuid, n, n, (SELECT array_agg(i) FROM generate_series(1, 3 * n - 1) i), ARRAY[3 * n], '2026-01-01', '2026-01-02' FROM generate_series(1, 2) r, generate_series(1, 3) n;
SELECT count(*) AS views FROM stepadv.attach('own', '{task}', 'rollout', 'n', reward => 'reward', columns => '{"prompt_token_ids": "p", "response_token_ids": "r"}', views => '{all}') v WHERE v.view_name::text LIKE '%lineage%';
SELECT task, rollout_id, step_no, n_prompt_tokens, n_new_tokens, extends_previous, differs_at, segment_no, p FROM own_lineage WHERE rollout = md5('1')::uuid ORDER BY n;
SELECT count(*) > 0 AS detached FROM stepadv.detach('own');
SELECT stepadv.attach('own', '{task}', 'rollout', 'n', reward => 'reward', columns => '{"prompt_token_ids": "p"}', views => '{all}');
SELECT stepadv.attach('own', '{task}', 'rollout', 'n', reward => 'reward', columns => '{"prompt_token_ids": "task", "response_token_ids": "r"}', views => '{all}');
SELECT stepadv.attach('own', '{task}', 'rollout', 'n', reward => 'reward', columns => '{"prompt_token_ids": "q", "response_token_ids": "r"}', views => '{all}');
SELECT stepadv.attach('own', '{task}', 'rollout', 'n', reward => 'reward', columns => '{"ended_at": "ended"}', views => '{all}');
SELECT count(*) AS views FROM stepadv.attach('own', '{task}', 'rollout', 'n', reward => 'reward', columns => '{"response_token_ids": "r"}', views => '{all}') v WHERE v.view_name::text LIKE '%lineage%';

-- Kept values of groups equal those computed without, after any change: tokens, rewards, rows, groups; with a version in the steps' own rows, by statements, transactions and
-- refreshes. Of the same table, plain is not maintained.
CREATE TABLE talk AS SELECT g * 20 + r * 5 + n AS id, 't' || g % 6 AS task, g AS grp, r AS rollout, n, CASE WHEN (g + r) % 5 > 0 THEN 'v' || (g + r * (g % 2)) % 3 END AS version, 's' || (g * r + n * n) % 4 AS state, 'a' || (r + n) % 2 AS action,
		CASE WHEN n = 4 THEN (g + r) % 2 END AS reward, (SELECT array_agg(i) FROM generate_series(1, 4 + 3 * n) i) AS prompt, ARRAY[5 + 3 * n, CASE WHEN (g + r + n) % 4 > 0 THEN 6 + 3 * n ELSE 0 END] AS response
	FROM generate_series(1, 24) g, generate_series(0, 3) r, generate_series(0, 4) n;
CREATE INDEX ON talk (task, grp, rollout, n);
CREATE FUNCTION attach_talk(prefix text) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM stepadv.attach('talk', '{task,grp}', 'rollout', 'n', 'state', 'action', 'reward', columns => '{"step_id": "id", "policy_version": "version", "prompt_token_ids": "prompt", "response_token_ids": "response"}', views => '{values,lineage,pass_at_k,flaky}', prefix => prefix)
$$;
SELECT attach_talk('kept') = attach_talk('plain') AS as_many_views;
CREATE FUNCTION differ() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	view text;
	items text;
	result text := '';
BEGIN
	FOREACH view IN ARRAY '{lineage,pass_at_k,flaky}'::text[] LOOP
		-- Standard errors are of sums in any order.
		items := CASE view WHEN 'pass_at_k' THEN 'policy_version, k, n_tasks, n_rollouts, round(pass_at_k::numeric, 9), round(pass_at_k_stderr::numeric, 9), round(pass_hat_k::numeric, 9)' ELSE '*' END;
		EXECUTE format('SELECT count(*) FROM ((SELECT %2$s FROM kept_%1$s EXCEPT ALL SELECT %2$s FROM plain_%1$s) UNION ALL (SELECT %2$s FROM plain_%1$s EXCEPT ALL SELECT %2$s FROM kept_%1$s)) d', view, items) INTO n;
		result := result || CASE WHEN n > 0 THEN format(' %s: %s', view, n) ELSE '' END;
	END LOOP;
	RETURN result;
END
$$;
CREATE FUNCTION change(seed integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CASE seed % 7
		WHEN 0 THEN UPDATE talk SET response = response || seed WHERE grp = seed % 24 AND n = seed % 5;
		WHEN 1 THEN UPDATE talk SET reward = 1 - reward WHERE (grp + rollout + seed) % 5 = 0;
		WHEN 2 THEN DELETE FROM talk WHERE grp = seed % 24 AND rollout = seed % 4;
		WHEN 3 THEN INSERT INTO talk SELECT 1000 * seed + n, 't' || seed % 6, seed % 30, 9, n, 'v' || seed % 3, 's' || n % 2, 'a0', CASE WHEN n = 2 THEN 1 END, ARRAY[1, 2, seed, n], ARRAY[n] FROM generate_series(0, 2) n;
		WHEN 4 THEN UPDATE talk SET version = 'v' || seed % 3 WHERE (grp * rollout + seed) % 11 = 0;
		WHEN 5 THEN UPDATE talk SET prompt = CASE WHEN n % 2 = 0 THEN NULL ELSE prompt[1:3] END, action = 'a' || seed WHERE (grp + seed) % 9 = 0 AND rollout = 1;
		ELSE DELETE FROM talk WHERE grp = seed % 24; UPDATE talk SET task = 't0' WHERE grp = (seed + 1) % 24;
	END CASE;
END
$$;
-- differs: not equal to plain, then or after refresh.
CREATE FUNCTION keep(how text, from_seed integer) RETURNS TABLE (maintained text, differs text, problems bigint, after_refresh text, n_changes integer) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM stepadv.maintain('talk', 'kept', how);
	SELECT how, differ(), 0, '', 0 INTO maintained, differs, problems, after_refresh, n_changes;
	FOR seed IN from_seed .. from_seed + 13 LOOP
		PERFORM change(seed);
		IF how <> 'refresh' THEN
			differs := differs || differ();
		END IF;
		n_changes := n_changes + 1;
		IF seed % 3 = 0 THEN
			PERFORM stepadv.refresh('talk', 'kept');
			problems := problems + (SELECT count(*) FROM stepadv.check_maintained('talk', 'kept'));
			after_refresh := after_refresh || differ();
		END IF;
	END LOOP;
	PERFORM stepadv.refresh('talk', 'kept', full => true);
	after_refresh := after_refresh || differ();
	PERFORM stepadv.unmaintain('talk', 'kept');
	differs := differs || differ();
	RETURN NEXT;
END
$$;
SELECT * FROM keep('triggers', 1);
SELECT * FROM keep('refresh', 61);
SELECT count(*) > 200 AS rows, count(DISTINCT grp) > 15 AS groups FROM talk;
SELECT stepadv.maintain('talk', 'kept') IS NOT NULL AS maintained;
-- Tokens alone: a rollout without any other values.
UPDATE talk SET response = '{1,NULL}' WHERE grp = 5 AND n = 1;
SELECT differ();
SELECT stepadv.refresh('talk', 'kept') AS refreshed, differ(), (SELECT count(*) FROM stepadv.check_maintained('talk', 'kept')) AS problems;
SELECT count(*) AS upgraded FROM pg_temp.anew() u WHERE u.problem IS NULL AND u.attachment = 'kept_attachment'::regclass;
SELECT stepadv.unmaintain('talk', 'kept') AS ended;
SELECT count(*) AS left_over FROM pg_class c WHERE c.relnamespace = 'token_tests'::regnamespace AND c.relname ~ '^kept_(fresh|folded|digests|made)';

SET client_min_messages = warning;
DROP SCHEMA sim, rl, token_tests CASCADE;

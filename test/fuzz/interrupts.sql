-- Large input for every C function, including aggregates and window functions; the table
-- asked has a row per query.  A function without input here is an error: for a new
-- function, add its large input.
\set ON_ERROR_STOP 1
\set QUIET 1
\pset tuples_only on
\pset format unaligned
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET work_mem = '1GB';
DROP SCHEMA IF EXISTS fuzz CASCADE;
CREATE SCHEMA fuzz;
SET search_path = fuzz, stepadv, pg_catalog;
CREATE FUNCTION gaps_begin(integer, integer) RETURNS void LANGUAGE c STRICT AS :'probe', 'gaps_begin';
CREATE FUNCTION gaps_end() RETURNS text LANGUAGE c AS :'probe', 'gaps_end';
CREATE FUNCTION cancel_after(integer) RETURNS void LANGUAGE c STRICT AS :'probe', 'cancel_after';
CREATE FUNCTION cancelled_late() RETURNS float8 LANGUAGE c AS :'probe', 'cancelled_late';
CREATE FUNCTION hold(text, anyelement) RETURNS void LANGUAGE c STRICT AS :'probe', 'hold';
CREATE FUNCTION held(text, anyelement) RETURNS anyelement LANGUAGE c AS :'probe', 'held';

-- Rows of steps: many rollouts, long ones, and a single one.
CREATE VIEW many AS SELECT i::bigint AS step_id, i / 5::bigint AS rollout, (i % 5)::integer AS n, abs(hashint8(i)::bigint) % 1000000 AS state, (i % 3)::bigint AS action,
	(i % 7)::float8 AS reward, i % 11 = 0 AS success FROM generate_series(0, :steps - 1::bigint) i;
CREATE VIEW long AS SELECT i::bigint AS step_id, i % 20::bigint AS rollout, (i / 20)::integer AS n, abs(hashint8(i)::bigint) % 100 AS state, (i % 3)::bigint AS action,
	(i % 7)::float8 AS reward, i % 40 = 0 AS success FROM generate_series(0, :steps - 1::bigint) i;
CREATE VIEW one AS SELECT i::bigint AS step_id, 1::bigint AS rollout, i::integer AS n, i::bigint AS state, NULL::bigint AS action,
	(i % 7)::float8 AS reward, true AS success FROM generate_series(0, :steps - 1::bigint) i;
CREATE FUNCTION full_group(rows text) RETURNS text LANGUAGE sql AS $$
	SELECT format('(SELECT rollout_agg(step_id, rollout, n, state, action, reward, success, state + 1, reward, reward / 2, 1 + reward, n / 3, ARRAY[reward, 1], false, rollout %% 5) FROM %I)', rows)
$$;
CREATE TABLE held_values (name text PRIMARY KEY, type text, made text);
INSERT INTO held_values SELECT s, 'rollout_group', full_group(s) FROM unnest('{many,long,one}'::text[]) s;
INSERT INTO held_values VALUES
	('text', 'text', $$(SELECT string_agg(format(E'%s: 12:30:15 /testbed/src/a.py:%s \033[1m0x7f00deadbeef\033[0m took 0.25 s <tool>a b</tool>\n', i, i), '') FROM generate_series(1, :steps / 5) i)$$),
	('letters', 'text', $$repeat('ab', (:steps * 10)::int)$$),
	('digits', 'text', $$repeat('1', (:steps * 20)::int)$$),
	('blanks', 'text', $$repeat(' ', (:steps * 20)::int)$$),
	('shell', 'text', $$(SELECT string_agg(format(E'cd /testbed && sed -n ''%s,%sp'' "src/a %s.py" | grep -n x; ', i, i + 5, i), '') FROM generate_series(1, :steps / 5) i)$$),
	('quoted', 'text', $$repeat('"\"', (:steps * 4)::int)$$),
	('open', 'text', $$repeat('$(', (:steps * 4)::int)$$),
	('here', 'text', $$'cat <<E' || E'\n' || repeat(E'line of it\n', (:steps)::int)$$),
	('patch', 'text', $$(SELECT string_agg(format(E'--- a/f%s.c\n+++ b/f%s.c\n@@ -1 +1 @@\n-x\n+y\n', i, i), '') FROM generate_series(1, :steps / 5) i)$$),
	('atoms', 'text[]', $$(SELECT array_agg('view:full@f' || i) FROM generate_series(1, :steps) i)$$),
	('texts', 'text[]', $$(SELECT array_agg(format('<tool>f(%s)</tool> <answer> X%s </answer>', i, i)) FROM generate_series(1, :steps) i)$$),
	('one text', 'text[]', $$ARRAY[(SELECT string_agg(format('<reasoning>f(%s)</reasoning> <answer> X%s </answer>', i, i), E'\n') FROM generate_series(1, :steps / 2) i)]$$),
	('numbers', 'float8[]', $$(SELECT array_agg((-(i % 1000) / 1000.0)::float8) FROM generate_series(1, :steps * 4) i)$$),
	('reals', 'real[]', $$(SELECT array_agg(((i % 1000) / 1000.0)::real) FROM generate_series(1, :steps * 4) i)$$),
	('mask', 'boolean[]', $$(SELECT array_agg(i % 5 > 0) FROM generate_series(1, :steps * 4) i)$$),
	('integers', 'integer[]', $$(SELECT array_agg(i % 1000) FROM generate_series(1, :steps * 4) i)$$),
	('bigints', 'bigint[]', $$(SELECT array_agg(i::bigint) FROM generate_series(1, :steps) i)$$),
	('bytes', 'bytea', $$decode(repeat('00010000', (:steps * 4)::int), 'hex')$$),
	('object', 'jsonb', $$(SELECT jsonb_object_agg(i, 'v' || i) FROM generate_series(1, :steps) i)$$),
	('array', 'jsonb', $$(SELECT jsonb_agg(i) FROM generate_series(1, :steps * 2) i)$$),
	('command', 'jsonb', $$jsonb_build_object('command', held('shell', ''::text))$$),
	('edit', 'jsonb', $$jsonb_build_object('command', 'str_replace', 'path', '/testbed/a.py', 'old_str', held('text', ''::text), 'new_str', held('letters', ''::text))$$),
	('words', 'jsonb', $$jsonb_build_object('command', (SELECT jsonb_agg('word' || i) FROM generate_series(1, :steps) i))$$),
	('call', 'jsonb', $$to_jsonb('{"command": "' || repeat('ls \u0041 \n', (:steps)::int) || '"}')$$),
	('tags', 'jsonb', $$to_jsonb('<function=bash><parameter=command>' || repeat('ls <a> ', (:steps)::int) || '</parameter></function>')$$),
	('model', 'progress_model', $$(SELECT progress_fit(i, (SELECT array_agg(((hashint8(i * 1000 + f) % 100) / 100.0)::real) FROM generate_series(1, 800) f), i % 2, 0.1) FROM generate_series(1, 900::bigint) i)$$),
	('vocabulary', 'jsonb', $$(SELECT jsonb_agg(jsonb_build_object('tool', 'tool' || i, 'meaning', 'finish')) FROM generate_series(1, :steps / 10) i)$$),
	('labels', 'jsonb', $$(SELECT jsonb_object_agg(i, 'v' || i) FROM generate_series(0, 100000) i)$$),
	('lineage', 'token_lineage', $$(SELECT token_lineage(i, i / 100, i::integer % 100, ARRAY(SELECT (k * 7 + i / 100) % 1000 FROM generate_series(1, 10 + i % 100 * 2) k)::integer[], ARRAY[1, 2]) FROM generate_series(1, :steps / 50) i)$$);

-- Functions of groups: values of further arguments, for a function or for all (%).
CREATE TABLE given (function text, argument text, value text);
INSERT INTO given VALUES
	('without_rollout', 'rollout_id', '1'),
	('resample', 'k', '1'),
	('by_turn', 'actions', '''set'''),
	('history_states', 'mode', '''sequence'''), ('history_states', 'k', '5'),
	('credit_sums', 'candidates', 'ARRAY[held(''many'', NULL::rollout_group)]'), ('credit_sums', 'shuffles', '2'), ('credit_sums', 'max_rollouts', '2'),
	('%', 'weights', 'ARRAY[1, 0.5]'),
	('%', 'same', '''state'''),
	('%', 'max_cycle', '10'),
	('%', 'history', '$'),
	('group_union', 'b', '(SELECT rollout_agg(1, -1, 1, 1, 1, 1))'),
	('%', 'min_visits', '1');

CREATE TABLE asked (id serial PRIMARY KEY, what text, query text);
INSERT INTO asked (what, query)
SELECT p.proname || ' of ' || s, format(CASE WHEN p.proretset THEN 'SELECT count(*) FROM stepadv.%I(%s) a' ELSE 'SELECT pg_column_size(stepadv.%I(%s))' END, p.proname,
	replace((SELECT string_agg(CASE WHEN i = 1 THEN '$' ELSE coalesce(format('%I => %s', p.proargnames[i], g.value), format('no input for %s of %s', p.proargnames[i], p.oid::regprocedure)) END, ', ' ORDER BY i)
	FROM generate_series(1, p.pronargs) i
	LEFT JOIN LATERAL (SELECT value FROM given g WHERE p.proname LIKE g.function AND g.argument = p.proargnames[i] ORDER BY g.function = '%' LIMIT 1) g ON true
	WHERE i = 1 OR i <= p.pronargs - p.pronargdefaults OR EXISTS (SELECT FROM given g WHERE p.proname = g.function AND g.argument = p.proargnames[i])), '$', format('held(%L, NULL::rollout_group)', s)))
FROM pg_proc p, unnest('{many,long,one}'::text[]) s
WHERE p.pronamespace = 'stepadv'::regnamespace AND p.prokind = 'f' AND p.proargtypes[0] = 'rollout_group'::regtype
ORDER BY p.proname COLLATE "C", s;

-- All other functions.  [x] stands for the held value x.
CREATE FUNCTION spelled(said text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	v held_values;
BEGIN
	FOR v IN TABLE held_values LOOP
		said := replace(said, format('[%s]', v.name), format('held(%L, NULL::%s)', v.name, v.type));
	END LOOP;
	RETURN said;
END
$$;
INSERT INTO asked (what, query)
SELECT q.function || ' of ' || t, format(q.query, spelled(format('[%s]', t)))
FROM (VALUES ('normalise_observation', '{text,letters,digits,blanks,shell}'::text[], 'SELECT pg_column_size(normalise_observation(%s, whitespace => true, ansi => true, lowercase => true, digits => true, addresses => true, timestamps => true, root => ''/testbed''))'),
	('normalise_observation as it is', '{letters}', 'SELECT pg_column_size(normalise_observation(%s))'),
	('signature_hash', '{text,object,bytes}', 'SELECT signature_hash(%s)'),
	('text_similarity', '{text,letters,blanks}', 'SELECT text_similarity(%1$s, left(%1$s, 100000))'),
	('text_similarity of the same', '{text,letters,blanks}', 'SELECT text_similarity(%1$s, %1$s || ''.'')'),
	('action_signature', '{command,edit,words,call,tags,object,array}', 'SELECT pg_column_size(action_signature(''str_replace_editor'', %s, NULL))'),
	('action_signature of bash', '{command,words,call,tags}', 'SELECT pg_column_size(action_signature(''bash'', %s, NULL))'),
	('action_signature of bash, text', '{text,shell,quoted,open,here,letters}', 'SELECT pg_column_size(action_signature(''bash'', jsonb_build_object(''command'', %s), NULL))'),
	('action_signature of apply_patch, text', '{patch,text}', 'SELECT pg_column_size(action_signature(''apply_patch'', jsonb_build_object(''patch'', %s), NULL))'),
	('call_effects, text', '{text,shell,quoted,open,here,letters,patch}', 'SELECT count(*) FROM call_effects(''bash'', jsonb_build_object(''command'', %s), NULL)'),
	('action_category', '{command,array,tags}', 'SELECT action_category(''bash'', %s)'),
	('action_category with a vocabulary', '{vocabulary}', 'SELECT action_category(''bash'', ''{}'', %s)'),
	('hash_features', '{atoms,texts}', 'SELECT cardinality(hash_features(%s, 4096, 3))'),
	('hash_features_sparse', '{atoms,texts}', 'SELECT cardinality(places) FROM hash_features_sparse(%s, 1000000, 3)'),
	('reward_exact_match', '{texts,one text}', 'SELECT reward_exact_match(%1$s, %1$s)'),
	('reward_answer_present', '{texts,one text}', 'SELECT reward_answer_present(%1$s, (%1$s)[1:50])'),
	('reward_answer_in_results', '{texts,one text}', 'SELECT reward_answer_in_results(%1$s, %1$s, %1$s, ''tool'', ''answer'')'),
	('reward_tool_execution', '{texts,one text}', 'SELECT reward_tool_execution(%1$s, %1$s, ''tool'', ''answer'')'),
	('reward_xml_format', '{texts,one text}', 'SELECT reward_xml_format(%1$s, ARRAY[''reasoning'', ''tool|answer''])'),
	('reward_xml_tags', '{texts,one text}', 'SELECT reward_xml_tags(%1$s, ARRAY[''reasoning'', ''tool|answer''])'),
	('step_ratio', '{numbers,reals}', 'SELECT step_ratio(%1$s, %1$s, [mask])'),
	('sequence_ratio', '{numbers,reals}', 'SELECT sequence_ratio(%1$s, %1$s, [mask])'),
	('approximate_kl', '{numbers,reals}', 'SELECT approximate_kl(%1$s, %1$s, [mask])'),
	('token_objective', '{numbers,reals}', 'SELECT token_objective(%1$s, %1$s, [mask], 1.5)'),
	('broadcast', '{mask}', 'SELECT cardinality(broadcast(1.5, %s))'),
	('step_lineage', '{lineage}', 'SELECT count(*) FROM step_lineage(%s)'),
	('progress_predict', '{model}', 'SELECT sum(progress_predict(%s, array_fill(0.5::real, ARRAY[800]))) FROM generate_series(1, 100000)')
	) q (function, values, query), unnest(q.values) t;
UPDATE asked SET query = spelled(query);

-- Aggregates and window functions, over rows.
INSERT INTO asked (what, query)
SELECT call, spelled(format('SELECT count(x) FROM (SELECT %s AS x FROM %s OFFSET 0) y', call, coalesce(rows, 'many')))
FROM (VALUES ('best_at_k(array_agg(reward), 4)', NULL), ('maj_at_k(array_agg((state % 100000)::text), array_agg(success), 8)', NULL),
	('maj_at_k(array_agg((state % 20)::text), array_agg((state % 20) = 3), 64)', NULL),
	('effective_sample_size(reward)', NULL),
	('rollout_agg(step_id, rollout, n, state, action, reward)', NULL), ('rollout_agg(step_id, rollout, n, state, action, reward)', 'long'), ('rollout_agg(step_id, rollout, n, state, action, reward)', 'one'),
	('rollout_agg(step_id, rollout, n, state, action, reward)', '(SELECT * FROM many ORDER BY hashint8(step_id)) many'),
	('rollup(g)', '(SELECT [many] AS g UNION ALL SELECT rollout_agg(1, -1, 1, 1, 1, 1)) g'),
	('rollup(g)', '(SELECT rollout_agg(step_id, rollout, n, state, action, reward) AS g FROM many GROUP BY rollout / 10) g'),
	('state_hash(''view:full@f'' || state)', NULL), ('state_signature(''view:full@f'' || state)', NULL), ('state_signature(''modify:replace:12ab@f'' || state)', NULL),
	('token_lineage(step_id, rollout, n, ARRAY[state, action], ARRAY[action])', 'many'), ('token_lineage(step_id, rollout, n, ARRAY[state, n]::integer[], ARRAY[1])', 'long'),
	('progress_fit(rollout, ARRAY[reward, n, 1]::real[], rollout % 2, 0.1)', 'many'),
	('progress_fit(rollout, ARRAY[reward, n, 1]::real[], rollout % 2, 0.1, ''logistic'')', 'many'),
	('progress_fit(rollout, ARRAY[1 + state % 10000, 10001 + n]::integer[], ARRAY[reward, n]::real[], rollout % 2, 0.1)', 'many'),
	('progress_fit(rollout, ARRAY[1 + state % 10000, 10001 + n]::integer[], ARRAY[reward, n]::real[], rollout % 2, 0.1, ''logistic'')', 'many'),
	('validation_bonus(''test@f'' || state % 1000, 0.1, true) OVER w', 'many WINDOW w AS (PARTITION BY 1 ORDER BY step_id)'),
	('state_cluster(''observation '' || state, 0.9) OVER w', 'many WINDOW w AS (PARTITION BY 1 ORDER BY step_id)'),
	('state_cluster([text] || state, 0.9) OVER w', '(SELECT * FROM many LIMIT 4) many WINDOW w AS (PARTITION BY 1 ORDER BY step_id)')
	) q (call, rows);

-- Values: input, output, and storage.
INSERT INTO asked (what, query)
SELECT 'input of what is put out, ' || name, spelled(format('SELECT length(held(%L, NULL::rollout_group)::text::rollout_group::text)', name)) FROM unnest('{many}'::text[]) name;
INSERT INTO asked (what, query)
SELECT 'output of ' || name, format('SELECT length(held(%L, NULL::rollout_group)::text)', name) FROM unnest('{many,long,one}'::text[]) name;
INSERT INTO asked (what, query)
SELECT 'kept ' || name, format('CREATE TABLE kept_%1$s (g rollout_group); INSERT INTO kept_%1$s SELECT held(%1$L, NULL::rollout_group); SELECT count(*) FROM kept_%1$s, rtmc(g)', name) FROM unnest('{many}'::text[]) name;
INSERT INTO asked (what, query) SELECT 'kept as it is', format('CREATE TABLE kept_as_it_is (g rollout_group); ALTER TABLE kept_as_it_is ALTER g SET STORAGE EXTERNAL; INSERT INTO kept_as_it_is SELECT held(%1$L, NULL::rollout_group) AS g; SELECT count(*) FROM kept_as_it_is, rtmc(g)', 'many');

-- Options that select other code paths.
INSERT INTO asked (what, query)
SELECT call || ' of ' || s, format('SELECT count(*) FROM %s a', replace(call, 'g, ', format('held(%L, NULL::rollout_group), ', s)))
FROM (VALUES ('hgpo(g, history_length => 10)'), ('history_states(g, ''set'', 2)'), ('history_states(g, ''observation_last'', 100)'), ('history_states(g, ''root'', 2)'),
	('rtmc(g, visit => ''first'', normalise => true)'), ('batch_td(g, lambda => 0.5)'), ('batch_td(g, gamma => 1.0)'),
	('gigpo(g, visit => ''first'', normalise => ''none'')'), ('loops(g, ''action'', 1000)'), ('resample(g, 1000)'), ('resample(g, 1000, replace => true)'),
	('stepadv_internal.left_out(g, 10000, 1)'), ('decision_points(g, ''batch_td'')'), ('failure_points(g, ''batch_td'')')) q (call), unnest('{many,long,one}'::text[]) s
-- A thousand long rollouts exceed the size of a value.
WHERE call NOT LIKE 'resample%' OR s = 'many';

DO $$
DECLARE
	missing text;
BEGIN
	SELECT string_agg(p.oid::regprocedure::text, ', ') INTO missing
	FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
	WHERE p.pronamespace = 'stepadv'::regnamespace AND l.lanname IN ('c', 'internal')
		AND (p.prokind <> 'f' OR EXISTS (SELECT FROM unnest(p.proargtypes::oid[]) a JOIN pg_type t ON t.oid = a WHERE t.typlen = -1))
		AND NOT 'regclass'::regtype = ANY (p.proargtypes) AND NOT EXISTS (SELECT FROM asked WHERE query ~ ('\m' || p.proname || '\M'));
	IF missing IS NOT NULL THEN
		RAISE EXCEPTION 'no input for %', missing;
	END IF;
END
$$;

-- Fuzzing inside a server: text and binary forms of types, arguments of functions.
-- Variables: probe (the module), queries (a file to write), seconds, seed, only (a pattern).
\set QUIET 1
\pset tuples_only on
\pset format unaligned
SET client_min_messages = warning;
CREATE SCHEMA IF NOT EXISTS fuzz;
SET search_path = fuzz, stepadv, pg_catalog;
CREATE OR REPLACE FUNCTION fuzz_type(regtype, boolean, bytea[], float8, bigint) RETURNS text LANGUAGE c STRICT AS :'probe', 'fuzz_type';
CREATE OR REPLACE FUNCTION fuzz_function(regprocedure, bytea[], float8, bigint) RETURNS text LANGUAGE c STRICT AS :'probe', 'fuzz_function';

-- Initial values: with all columns and with few, of steps and of turns, lenient, empty.
CREATE TEMP VIEW groups AS
SELECT rollout_agg(i, i % 3, i::integer, i % 2, i % 4, i) AS g FROM generate_series(1::bigint, 6) i
UNION ALL SELECT rollout_agg(i, i % 3, i::integer, nullif(i % 2, 1), nullif(i % 4, 2), i / 3.0, i % 3 = 1, i + 1, 0.5, nullif(i, 2), 2, (i / 2)::integer, ARRAY[i, NULL]::float8[], i = 2, 7) FROM generate_series(1::bigint, 6) i
UNION ALL SELECT by_turn(rollout_agg(i, i % 3, i::integer, i % 2, i % 4, i, NULL, NULL, NULL, NULL, NULL, (i / 2)::integer, NULL, NULL, NULL), 'set') FROM generate_series(1::bigint, 12) i
UNION ALL SELECT stepadv_internal.lenient_rollout_agg(i, i % 3, (i / 4)::integer, i % 2, i % 4, 'NaN', NULL) FROM generate_series(1::bigint, 6) i
UNION ALL SELECT rollout_agg(1, 1, NULL, NULL, NULL, 1)
UNION ALL SELECT rollout_agg(i, 1, i::integer, NULL, NULL, 1) FROM generate_series(1::bigint, 40) i;
CREATE TEMP VIEW models AS
SELECT progress_fit(i, ARRAY[i % 3, i % 2]::real[], i % 2, 0.1) AS m FROM generate_series(1::bigint, 6) i
UNION ALL SELECT progress_fit(i, ARRAY[i % 3, i % 2]::real[], i % 2, 0.1, 'logistic') FROM generate_series(1::bigint, 6) i
UNION ALL SELECT progress_fit(i, ARRAY[1 + i % 3, 10]::integer[], ARRAY[i % 2, 1]::real[], i % 2, 0.1) FROM generate_series(1::bigint, 6) i
;

-- Initial arguments, separated by \x01; elements of an array by \x02.
CREATE TEMP TABLE calls (function text, given text);
INSERT INTO calls VALUES
	('action_signature', E'bash\x01{"command": "cd /testbed && sed -n ''1,5p'' a.py | grep x > b; pytest -q t.py::T"}\x01t\x01md5\x01relative\x01/testbed'),
	('action_signature', E'str_replace_editor\x01{"command": "str_replace", "path": "/testbed/a.py", "old_str": "a\\nb", "new_str": "c", "view_range": [1, 5]}\x01f\x01xxh3\x01basename\x01'),
	('action_signature', E'mine\x01"<function=bash><parameter=command>ls -la</parameter></function>"\x01t\x01none\x01relative\x01\x01[{"tool": "mine", "meaning": "finish", "arguments": {"path": "p"}}]'),
	('action_signature', E'apply_patch\x01{"patch": "*** Begin Patch\\n*** Update File: a.py\\n@@\\n-x\\n+y\\n*** End Patch"}\x01t\x01md5\x01relative\x01'),
	('action_signature', E'bash\x01{"command": "for f in a b; do sed -i s/a/b/ $f || rm $f; done | tee c > d; cat <<E | bash\\npytest t.py\\nE\\n"}\x01t\x01md5\x01relative\x01/testbed'),
	('action_category', E'execute_bash\x01["ls", "-l", {"a": null}]'),
	('action_category', E'bash\x01{"command": "cat <<E > a.py\\nx\\nE\\n; for i in 1 2; do echo $(ls `pwd`); done"}'),
	('normalise_observation', E'12:30:15 at 0x7f00deadbeef \033[1mtook\033[0m 0.25 s in /testbed/a.py:12\x01t\x01t\x01t\x01t\x01t\x01t\x01/testbed'),
	('normalise_observation', E'  2024-01-01T00:00:00Z 5ms\x01t\x01f\x01f\x01t\x01f\x01t\x01/'),
	('text_similarity', E'the quick brown fox\x01the brown quick fox \u00e9'),
	('signature_hash(text)', 'x'), ('signature_hash(jsonb)', '{"a": [1, 2.50, null, "b"]}'),
	('hash_features', E'view@a.py\x02edit@b\x02x\x018\x012'),
	('reward_exact_match', E'<answer> A </answer>\x02<answer>b</answer>\x01a\x02B\x01answer\x011'),
	('reward_answer_present', E'<answer>it is \u0130stanbul</answer>\x01istanbul\x01answer\x011'),
	('reward_answer_in_results', E'<tool>f</tool>\x02x\x01<result>A b</result>\x02y\x01b\x01tool\x01result\x010.5'),
	('reward_tool_execution', E'<tool>f</tool>\x02x\x01<result>Error: b</result>\x02y\x01tool\x01result\x01Error\x010.2'),
	('reward_xml_format', E'<reasoning>\na\n</reasoning>\n<answer>b</answer>\x01reasoning\x02tool|answer\x01lines\x011\x01paper'),
	('reward_xml_tags', E'<reasoning>a</reasoning><answer>b</answer>\x01reasoning\x02tool|answer\x011\x01paper'),
	('broadcast(float8, boolean[])', E'1.5\x01{t,f,t}'),
	('pass_at_k(bigint, bigint, integer)', E'10\x013\x012'), ('pass_hat_k(bigint, bigint, integer)', E'10\x013\x012'),
	('clipped_objective', E'1.1\x01-2\x010.2\x010.3\x013'), ('is_clipped', E'1.1\x01-2\x010.2\x010.3\x013'), ('fused_reward', E'0.5\x01t\x010.1\x010.2'),
	('progress_fold', E'7\x015\x010');
INSERT INTO calls SELECT 'progress_predict(progress_model, real[])', m::text || E'\x01{0.5,1}' FROM models;
INSERT INTO calls SELECT 'progress_predict(progress_model, integer[], real[])', m::text || E'\x01{1,10}\x01{0.5,1}' FROM models;
INSERT INTO calls SELECT 'progress_outcome', m::text || E'\x010.5' FROM models;
INSERT INTO calls SELECT 'group_union', g::text || E'\x01' || h::text FROM groups, (SELECT rollout_agg(i, -1, i::integer, 1, 1, i) AS h FROM generate_series(100::bigint, 102) i) o;
INSERT INTO calls SELECT 'with_rewards', g::text || E'\x01{1,0.5}' FROM groups;
INSERT INTO calls SELECT 'without_rollout', g::text || E'\x011' FROM groups;
INSERT INTO calls SELECT 'resample', g::text || E'\x012\x017\x01t' FROM groups;
INSERT INTO calls SELECT 'by_turn', g::text || E'\x01' || a FROM groups, unnest('{set,sequence,last}'::text[]) a;
INSERT INTO calls SELECT 'history_states', g::text || E'\x01' || a || E'\x012' FROM groups, unnest('{sequence,set,root,last,observation_last}'::text[]) a;

-- A function by its name, or by its name and types as in regprocedure.
CREATE FUNCTION pg_temp.named(name text) RETURNS regprocedure LANGUAGE sql AS $$
	SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'stepadv'::regnamespace
		AND replace(name, ' ', '') IN (p.proname, replace(p.oid::regprocedure::text, 'double precision', 'float8')) ORDER BY p.oid LIMIT 1
$$;
SELECT format(E'\\echo text of %1$s\nSELECT fuzz.fuzz_type(%1$L, false, (SELECT array_agg(convert_to(v::text, ''UTF8'')) FROM (%2$s) x (v)), :seconds, :seed);\n\\echo binary form of %1$s\nSELECT fuzz.fuzz_type(%1$L, true, (SELECT array_agg(%3$s(v)) FROM (%2$s) x (v)), :seconds, :seed);', type, query, send)
FROM (VALUES ('stepadv.rollout_group', 'TABLE groups', 'stepadv_internal.rollout_group_send')) t (type, query, send)
WHERE type ~ :'only'
UNION ALL
SELECT format(E'\\echo %1$s\nSELECT fuzz.fuzz_function(pg_temp.named(%1$L), (SELECT array_agg(convert_to(given, ''UTF8'')) FROM calls WHERE function = %1$L), :seconds, :seed);', function)
FROM (SELECT DISTINCT function FROM calls) f WHERE function ~ :'only'
\g (tuples_only=on format=unaligned) :queries
\i :queries

-- state_signature, state_hash, validation_bonus: against the paper's atoms and against plain SQL.
SET search_path = stepadv, public;

-- The paper's atoms, one action each.
SELECT action, state_signature(action) = state || '||' AS ok
FROM (VALUES ('view:full@core.py', 'core.py:Vf'), ('view:partial[2]@core.py', 'core.py:V[2]'), ('view:partial[1-2]@core.py', 'core.py:V[1-2]'),
             ('modify:replace:a3f2@core.py', 'core.py:M:a3f2'), ('modify:insert:b7c1@core.py', 'core.py:I:b7c1'), ('search@core.py', 'core.py:S'),
             ('create@test.py', 'test.py:C'), ('modify:replace@core.py', 'core.py:M'), ('view:partial[3-]@a', 'a:V[3-]'), ('view:partial[-5]@a', 'a:V[-5]')) v(action, state)
GROUP BY action, state ORDER BY action;

-- Flags, counted: the nine names, unknown results, and actions without a file.
SELECT action, state_signature(action) AS state
FROM unnest(ARRAY['think', 'finish', 'search', 'install@x', 'fileop@x', 'test@t:ok', 'test@t:error', 'test@t', 'execute@x:ok', 'execute@x:error', 'execute@x',
	'view', 'modify:replace:1234', 'other:Task', 'other', 'click@button']) action
GROUP BY action ORDER BY action;

-- Verbs distinguish actions, not states; the last lines are not a bucket.
SELECT state_signature(a), state_signature(a, 'set', 'bucket') AS views_by_bucket
FROM unnest('{fileop:rm@x,fileop@x,fileop:stash,install:remove@x,install@x,view:partial[-5]@a,view:partial[1-2]@a,install:remove@x:error}'::text[]) a;

-- Failures leave no trace; failed tests and runs are counted as such.
SELECT state_signature(a) FROM unnest(ARRAY['modify:replace:a3f2@a:error', 'create@b:error', 'view:full@c:error', 'install@d:error', 'fileop@e:error', NULL]) a;

-- A whole record: sorted by path, then operation; sets on files, counts on flags.
SELECT state_signature(a), state_signature(a, 'set', 'range') AS flags_as_set, state_signature(a, 'count', 'bucket') AS views_by_bucket
FROM unnest(ARRAY['think', 'view:full@b.py', 'view:partial[1-3]@a.py', 'view:partial[2]@a.py', 'view:full@b.py', 'test@all:error', 'modify:replace:00ff@a.py',
	'test@all:error', 'view:partial[5-]@a.py', 'think', 'test@all:ok', 'search@Z', 'view:full@a']) a;

-- No actions: the root.
SELECT state_signature(a) AS none, state_hash(a) = signature_hash('||') AS none_hash FROM unnest('{}'::text[]) a;
SELECT state_signature(a) AS only_null, state_hash(a) = signature_hash('||') AS only_null_hash FROM unnest(ARRAY[NULL::text]) a;

-- Window: the state in which each step is taken; the first one is the root.
SELECT step, action, state_signature(action) OVER w AS state, state_hash(action) OVER w = signature_hash('||') AS is_root
FROM (VALUES (1, 'view:full@a'), (2, 'modify:replace:0001@a:error'), (3, 'modify:replace:0002@a'), (4, 'test@all:error'), (5, NULL), (6, 'finish')) v(step, action)
WINDOW w AS (ORDER BY step ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) ORDER BY step;

-- The hash can be recomputed: root + sum of the hashes of the atoms, modulo 2^64.
CREATE FUNCTION hash_of_atoms(atoms text[]) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
	SELECT (CASE WHEN h >= 9223372036854775808 THEN h - 18446744073709551616 ELSE h END)::bigint
	FROM (SELECT mod(mod(sum(stepadv.signature_hash(a)::numeric), 18446744073709551616) + 18446744073709551616, 18446744073709551616) h
		  FROM unnest('{||}'::text[] || atoms) a) s $$;
SELECT state_hash(a) = hash_of_atoms('{a:Vf,a:M:0001,b:C,|think=2,|test_ok=1}') AS counts,
       state_hash(a, 'set', 'range') = hash_of_atoms('{a:Vf,a:M:0001,b:C,|think,|test_ok}') AS set
FROM unnest('{view:full@a,think,modify:replace:0001@a,create@b,think,test@x:ok,view:full@a}'::text[]) a;

-- Random histories: 20,000 steps of 2,000 rollouts over few actions, so that many states meet.
CREATE TEMP TABLE steps AS
SELECT rollout, step, (ARRAY['view:full@a', 'view:partial[1-2]@a', 'view:partial[2]@b', 'view:partial[0-12]@a', 'modify:replace:0001@a', 'modify:insert:0001@a', 'modify:replace:0002@b:error',
	'create@b', 'search@a', 'search', 'test@all:ok', 'test@all:error', 'execute@x', 'think', 'other:x', 'fileop@c'])[1 + abs(hashint4extended(rollout * 100 + step, 42)) % 16] AS action
FROM generate_series(1, 2000) rollout, generate_series(1, 10) step;

CREATE TEMP TABLE states AS
SELECT rollout, step, state_signature(action) OVER w AS s, state_hash(action) OVER w AS h,
       state_signature(action, 'set', 'range') OVER w AS s_set, state_hash(action, 'set', 'range') OVER w AS h_set,
       state_signature(action, 'set', 'bucket') OVER w AS s_bucket, state_hash(action, 'set', 'bucket') OVER w AS h_bucket
FROM steps
WINDOW w AS (PARTITION BY rollout ORDER BY step ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING);

-- Equal signature means equal hash, and some states are shared.
SELECT count(DISTINCT s) = count(DISTINCT h) AND count(DISTINCT s) = count(DISTINCT (s, h)) AS counts,
       count(DISTINCT s_set) = count(DISTINCT h_set) AND count(DISTINCT s_set) = count(DISTINCT (s_set, h_set)) AS sets,
       count(DISTINCT s_bucket) = count(DISTINCT h_bucket) AND count(DISTINCT s_bucket) = count(DISTINCT (s_bucket, h_bucket)) AS buckets,
       count(DISTINCT s) < 18000 AND count(DISTINCT s_set) < count(DISTINCT s) AND count(DISTINCT s_bucket) <= count(DISTINCT s_set) AS they_meet
FROM states;

-- As window aggregates and as plain aggregates over the same rows.
CREATE INDEX ON steps (rollout);
ANALYZE steps;
SELECT count(*) FILTER (WHERE st.s IS DISTINCT FROM p.s OR st.h IS DISTINCT FROM p.h) AS differ
FROM states st, LATERAL (SELECT state_signature(action) AS s, state_hash(action) AS h FROM steps b WHERE b.rollout = st.rollout AND b.step < st.step) p
WHERE st.rollout % 20 = 0;

-- The order of the actions makes no difference; a repeated view makes none either.
SELECT bool_and(a = b AND ah = bh) AS any_order
FROM (SELECT state_signature(action ORDER BY step) a, state_signature(action ORDER BY step DESC) b,
             state_hash(action ORDER BY step) ah, state_hash(action ORDER BY hashtext(action), step) bh FROM steps GROUP BY rollout) x;
SELECT state_hash(a) = (SELECT state_hash(b) FROM unnest('{view:full@a,search@b}'::text[]) b) AS repeated
FROM unnest('{view:full@a,search@b,view:full@a,search@b}'::text[]) a;

-- An independent rendering of the record in SQL.
WITH parsed AS (
	SELECT rollout, action, split_part(regexp_replace(action, ':(ok|error)$', ''), '@', 1) AS head, nullif(split_part(regexp_replace(action, ':(ok|error)$', ''), '@', 2), '') AS target,
	       substring(action FROM ':(ok|error)$') AS result
	FROM steps),
files AS (
	SELECT DISTINCT rollout, target, CASE WHEN head = 'view:full' THEN 'Vf' WHEN head LIKE 'view:partial%' THEN 'V' || substring(head FROM '\[.*\]')
		WHEN head LIKE 'modify:replace:%' THEN 'M:' || right(head, 4) WHEN head LIKE 'modify:insert:%' THEN 'I:' || right(head, 4)
		WHEN head = 'create' THEN 'C' WHEN head = 'search' THEN 'S' END AS op
	FROM parsed WHERE target IS NOT NULL AND result IS DISTINCT FROM 'error' AND head ~ '^(view|modify|create|search)'),
flags AS (
	SELECT rollout, CASE WHEN head = 'test' THEN 'test_' || CASE result WHEN 'ok' THEN 'ok' ELSE 'err' END WHEN head = 'execute' THEN 'exec' ELSE head END || '=' || count(*) AS flag
	FROM parsed WHERE head IN ('test', 'execute', 'think', 'other:x', 'fileop') OR (head = 'search' AND target IS NULL)
	GROUP BY rollout, CASE WHEN head = 'test' THEN 'test_' || CASE result WHEN 'ok' THEN 'ok' ELSE 'err' END WHEN head = 'execute' THEN 'exec' ELSE head END),
rendered AS (
	SELECT r AS rollout, coalesce(f.s, '') || '||' || coalesce(g.s, '') AS s
	FROM generate_series(1, 200) r
	LEFT JOIN (SELECT rollout, string_agg(target || ':' || ops, '|' ORDER BY target COLLATE "C") AS s
		FROM (SELECT rollout, target, string_agg(op, '+' ORDER BY op COLLATE "C") AS ops FROM files GROUP BY rollout, target) x GROUP BY rollout) f ON f.rollout = r
	LEFT JOIN (SELECT rollout, string_agg(flag, '+' ORDER BY flag COLLATE "C") AS s FROM flags GROUP BY rollout) g ON g.rollout = r)
SELECT count(*) AS rollouts, count(*) FILTER (WHERE r.s = x.s) AS equal
FROM rendered r JOIN (SELECT rollout, state_signature(action) s FROM steps GROUP BY rollout) x USING (rollout);

-- Texts that are not signatures count as flags and cannot be taken for parts of a state.
SELECT state_signature(a) FROM unnest(ARRAY['', '@', ':', 'a|b', 'a+b', 'view:full@', 'view:full@x|y:Vf', 'view:partial[1|2]@z', 'modify:replace:a+b@z', 'think:ok', '||']) a;

-- flags => 'paper': files as before; of the flags those of equation 13, with counts: thoughts, and tests by result. The hash is of the same atoms.
WITH a(a) AS (SELECT unnest('{think,think:ok,test@a.py:ok,test@b.py:ok,test@all:error,test@all,execute@x:ok,execute@x,install@p,fileop:rm@q,search,view,finish,other:t,view:full@a,create@b,NULL}'::text[]))
SELECT state_signature(a), state_signature(a, 'paper', 'range') AS paper, state_signature(a, 'paper', 'bucket') = state_signature(a, 'paper', 'range') AS bucket,
       state_hash(a, 'paper', 'range') = hash_of_atoms('{a:Vf,b:C,|think=2,|test_ok=2,|test_err=1}') AS hash FROM a;
SELECT state_signature(a, 'paper', 'range') AS nothing, state_hash(a, 'paper', 'range') = signature_hash('||') AS root FROM unnest('{finish,install@p,execute@x:ok}'::text[]) a;

-- Options.
SELECT state_signature(a, 'counts', 'range') FROM unnest('{think}'::text[]) a;
SELECT state_hash(a, 'set', 'lines') FROM unnest('{think}'::text[]) a;
SELECT state_hash(a, CASE a WHEN 'think' THEN 'set' ELSE 'count' END, 'range') FROM unnest('{think,finish}'::text[]) a;
SELECT state_hash(a, NULL, NULL) = state_hash(a) AS null_is_default FROM unnest('{think,finish}'::text[]) a;

-- validation_bonus: the case of equation 12, options, and failed changes.
SELECT rollout, array_agg(bonus ORDER BY step) AS bonus, array_agg(with_runs ORDER BY step) AS with_runs
FROM (SELECT rollout, step, validation_bonus(action, 0.1) OVER w AS bonus, validation_bonus(action, 0.1, true) OVER w AS with_runs
	FROM (VALUES (1, 1, 'modify:replace:0001@a'), (1, 2, 'test@all:ok'), (1, 3, 'finish'),
	             (2, 1, 'modify:replace:0001@a'), (2, 2, 'finish'),
	             (3, 1, 'test@all:error'), (3, 2, 'execute@x:ok'), (3, 3, 'create@a'), (3, 4, 'execute@x:ok'), (3, 5, 'test@all'), (3, 6, 'test@all:error'),
	             (4, 1, 'modify:insert:0001@a:error'), (4, 2, 'test@all:ok'), (4, 3, NULL), (4, 4, 'create@x'), (4, 5, 'test@all:ok')) v(rollout, step, action)
	WINDOW w AS (PARTITION BY rollout ORDER BY step)) x
GROUP BY rollout ORDER BY rollout;
SELECT validation_bonus('test@all', NULL) OVER ();
SELECT validation_bonus('test@all', 'Infinity') OVER ();

DROP FUNCTION hash_of_atoms(text[]);

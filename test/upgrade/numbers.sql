-- One hash per view and table of the caller, over all its rows, except for the times of folds and refreshes, and for
-- whether a value is lenient.
-- <prefix>_kept_parts is left out: it lists rollouts in any order, and its contents are in tables.
\pset format unaligned
\pset tuples_only on
SET extra_float_digits = 1;
SELECT format('SELECT %L, count(*), md5(string_agg(v.row, E''\n'' ORDER BY v.row COLLATE "C")) FROM ('
	'SELECT regexp_replace((to_jsonb(t) - ''refreshed_at'' - ''as_of'' - ''folded_from'')::text, ''"version.": [12], '', '''', ''g'') AS row FROM (SELECT %s FROM %s) t) v', c.oid::regclass, l.list, c.oid::regclass)
FROM pg_class c CROSS JOIN LATERAL (
	SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS list FROM pg_attribute a
	WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) l
WHERE c.relowner = current_user::regrole AND c.relkind IN ('v', 'm', 'r', 'p') AND c.relname NOT LIKE '%\_kept\_parts'
	AND NOT c.relispartition AND l.list IS NOT NULL
ORDER BY c.oid::regclass::text COLLATE "C" \gexec

-- All rows of all views and tables of the caller, as one hash per relation; when
-- a group was folded is no number of its own.
\pset format unaligned
\pset tuples_only on
SET extra_float_digits = 1;
SELECT format('SELECT %L, count(*), md5(string_agg(v.row, E''\n'' ORDER BY v.row COLLATE "C")) FROM (SELECT (to_jsonb(t) - ''refreshed_at'')::text AS row FROM %s t) v', c.oid::regclass, c.oid::regclass)
FROM pg_class c WHERE c.relowner = current_user::regrole AND c.relkind IN ('v', 'm', 'r', 'p')
	AND NOT c.relispartition
ORDER BY c.oid::regclass::text COLLATE "C" \gexec

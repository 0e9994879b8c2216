-- All rows of all views and tables of the caller, as one hash per relation.
\pset format unaligned
\pset tuples_only on
SET extra_float_digits = 1;
SELECT format('SELECT %L, count(*), md5(string_agg(v::text, E''\n'' ORDER BY v::text COLLATE "C")) FROM %s v', c.oid::regclass, c.oid::regclass)
FROM pg_class c WHERE c.relowner = current_user::regrole AND c.relkind IN ('v', 'm', 'r', 'p')
	AND NOT c.relispartition
ORDER BY c.oid::regclass::text COLLATE "C" \gexec

-- All views and tables of the caller with the names of their columns, as JSON.
SELECT jsonb_object_agg(c.oid::regclass, (SELECT jsonb_agg(a.attname) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))
FROM pg_class c WHERE c.relowner = current_user::regrole AND c.relkind IN ('v', 'm', 'r', 'p') AND NOT c.relispartition AND c.relnatts > 0;

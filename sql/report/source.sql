-- The page of stepadv-report: which attachment it is of, and what its views and columns are
-- called by now.

-- The attachment: of that schema and prefix, and of somebody who may read what it
-- is over.  Of several (a row says of itself what its prefix is) that of the
-- source's owner comes first, then the one whose table is called so.
CREATE FUNCTION stepadv_internal.report_attachments() RETURNS SETOF stepadv_internal.attached
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT k.* FROM (SELECT DISTINCT c.relowner FROM pg_class c WHERE c.reloftype = 'stepadv.attachment'::regtype) o
	CROSS JOIN LATERAL stepadv_internal.attachments(o.relowner, NULL::regclass) k JOIN pg_class t ON t.oid = k.attachment JOIN pg_class s ON s.oid = k.source
	WHERE has_any_column_privilege(k.owner, k.source, 'SELECT')
	ORDER BY k.owner = s.relowner DESC, t.relname = k.prefix || '_attachment' DESC, k.attachment
$$;
COMMENT ON FUNCTION stepadv_internal.report_attachments() IS 'part of stepadv-report: attachments of somebody who may read what they are over';

CREATE FUNCTION stepadv_internal.report_attachment(schema text, prefix text) RETURNS stepadv_internal.attached
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT k FROM stepadv_internal.report_attachments() k JOIN pg_class t ON t.oid = k.attachment JOIN pg_namespace n ON n.oid = t.relnamespace
	WHERE n.nspname = report_attachment.schema AND k.prefix = report_attachment.prefix
	LIMIT 1
$$;
COMMENT ON FUNCTION stepadv_internal.report_attachment(text, text) IS 'part of stepadv-report: the attachment of that schema and prefix';

-- A view of an attachment, whatever it is called by now.
CREATE FUNCTION stepadv_internal.report_view_of(a stepadv_internal.attached, kind text) RETURNS regclass
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT (a).views[array_position((a).view_kinds, report_view_of.kind)]
$$;
COMMENT ON FUNCTION stepadv_internal.report_view_of(stepadv_internal.attached, text) IS 'part of stepadv-report: a view of an attachment, whatever it is called by now';

-- The columns of the group come first in every view, whatever they are called there.
CREATE FUNCTION stepadv_internal.report_key_columns(view regclass, n integer) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = report_key_columns.view AND a.attnum BETWEEN 1 AND report_key_columns.n
$$;
COMMENT ON FUNCTION stepadv_internal.report_key_columns(regclass, integer) IS 'part of stepadv-report: the columns of the group, which come first in every view';

-- WHERE one group, or the groups that begin so.
CREATE FUNCTION stepadv_internal.report_key_filter(view regclass, key text[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(string_agg(format('x.%I %s %L::%s', a.attname, stepadv_internal.equality_operator(a.atttypid), report_key_filter.key[a.attnum], format_type(a.atttypid, a.atttypmod)), ' AND ' ORDER BY a.attnum), 'true')
	FROM pg_attribute a WHERE a.attrelid = report_key_filter.view AND a.attnum BETWEEN 1 AND cardinality(report_key_filter.key)
$$;
COMMENT ON FUNCTION stepadv_internal.report_key_filter(regclass, text[]) IS 'part of stepadv-report: WHERE one group, or the groups that begin so';

-- A column of the user's, which may be called base_… in the view.
CREATE FUNCTION stepadv_internal.report_base_column(view regclass, name text, types text[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('x.%I', a.attname) FROM pg_attribute a
	WHERE a.attrelid = report_base_column.view AND a.attnum > 0 AND NOT a.attisdropped AND a.attname IN (report_base_column.name, 'base_' || report_base_column.name)
		AND (report_base_column.types IS NULL OR format_type(a.atttypid, NULL) = ANY (report_base_column.types))
	ORDER BY a.attname <> report_base_column.name DESC LIMIT 1
$$;
COMMENT ON FUNCTION stepadv_internal.report_base_column(regclass, text, text[]) IS 'part of stepadv-report: a column of the user''s, as the view has it';

-- What the user's columns are called in the views that a column of the adapter is
-- made of: as the adapter of what is shown has them, which renames do not change.
CREATE FUNCTION stepadv_internal.report_columns_of(a stepadv_internal.attached, role text) RETURNS TABLE (name text, type oid)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce((SELECT s.name FROM stepadv_internal.view_columns((a).shown) s WHERE s.plain AND s.relation = r.relation AND s.column_number = r.column_number
			AND s.name NOT LIKE 'stepadv\_%' ORDER BY s.number LIMIT 1), r.column_name),
		(SELECT c.atttypid FROM pg_attribute c WHERE c.attrelid = r.relation AND c.attnum = r.column_number)
	FROM stepadv_internal.view_columns((a).rows) r
	WHERE r.name = report_columns_of.role AND r.column_number > 0
		-- A signature also asks whether it is a step at all.
		AND r.column_number IS DISTINCT FROM (SELECT n.column_number FROM stepadv_internal.view_columns((a).rows) n WHERE n.name = 'step_no' LIMIT 1)
	ORDER BY r.number, r.column_number
$$;
COMMENT ON FUNCTION stepadv_internal.report_columns_of(stepadv_internal.attached, text) IS 'part of stepadv-report: the user''s columns that a role is made of';

-- The options that a method's view was made with, as far as a drawing takes them.
CREATE FUNCTION stepadv_internal.report_options_of(a stepadv_internal.attached, method text, drawing text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.arguments(p.oid::regprocedure, (SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}')
		FROM stepadv_internal.known_methods('stepadv_internal.methods'::regclass) m, jsonb_each(stepadv_internal.method_options(m, coalesce((a).options, '{}'))) e
		WHERE m.method = report_options_of.method AND e.key = ANY (p.proargnames[2:p.pronargs])))
	FROM pg_proc p
	WHERE p.pronamespace = 'stepadv'::regnamespace AND p.proname = report_options_of.drawing AND p.proargtypes[0] = 'stepadv.rollout_group'::regtype
$$;
COMMENT ON FUNCTION stepadv_internal.report_options_of(stepadv_internal.attached, text, text) IS 'part of stepadv-report: the options that a method''s view was made with, as far as a drawing takes them';

-- The methods that a view has columns of, in an order for readers: the extension's
-- first, which the others are set against; then those that tell steps apart, by
-- more first; the user's own; those that judge whole rollouts or turns.
CREATE FUNCTION stepadv_internal.report_methods_of(a stepadv_internal.attached, view regclass) RETURNS TABLE (method text, function text, place bigint, tells_steps boolean, has_values boolean)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT k.method, k.function, row_number() OVER (ORDER BY k.i > k.first, k.rank, k.i), k.rank < 4, k.has_values
	FROM (
		SELECT m.method, CASE WHEN m.ours THEN (SELECT p.proname::text FROM pg_proc p WHERE p.oid = m.function) END AS function, m.i, min(m.i) OVER () AS first,
			'{q,v,n_state,n_action,stderr}' <@ m.results AS has_values, CASE WHEN m.requires @> '{state,action}' THEN 0 WHEN m.requires && '{state,action}' THEN 1
			WHEN NOT m.ours THEN 2 WHEN 'value' = ANY (m.requires) THEN 3 ELSE 4 END AS rank
		FROM stepadv_internal.methods_of(a) WITH ORDINALITY m(method, function, requires, uses, options_of, shape, ours, results, parameters, instance, i)
		JOIN pg_attribute c ON c.attrelid = report_methods_of.view AND c.attname = m.method AND c.atttypid = 'float8'::regtype
		JOIN pg_attribute s ON s.attrelid = c.attrelid AND s.attname = 'success' AND s.attnum < c.attnum
		WHERE '{step_no,advantage}' <@ m.results
		) k
$$;
COMMENT ON FUNCTION stepadv_internal.report_methods_of(stepadv_internal.attached, regclass) IS 'part of stepadv-report: the methods that a view has columns of, in an order for readers';

-- Errors for sources that cannot be maintained.

-- A kept value must not depend on the session that folds it: error if an id or a state is a hash of text whose form
-- depends on settings.
CREATE FUNCTION stepadv_internal.refuse_texts(a stepadv_internal.attached) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	plain CONSTANT regtype[] := '{bool,int2,int4,int8,float4,float8,numeric,text,varchar,bpchar,bytea,uuid,json,
		jsonb,bit,varbit,inet,cidr,macaddr,macaddr8}';
	c record;
BEGIN
	FOR c IN
		SELECT v.name, stepadv_internal.base_type(t.atttypid) AS type
		FROM stepadv_internal.view_columns((a).rows) v
		JOIN pg_attribute t ON t.attrelid = v.relation AND t.attnum = v.column_number
		WHERE v.number > (a).n_group_columns AND v.name IN ('rollout_id', 'step_id', 'state', 'action', 'next_state')
		ORDER BY v.number
	LOOP
		IF c.type <> ALL (plain::oid[]) AND NOT EXISTS (
			SELECT FROM pg_type t WHERE t.oid = c.type AND (t.typtype = 'e' OR t.typcategory = 'S'))
		THEN
			RAISE EXCEPTION 'cannot maintain groups of %: its % is known by the text of a %, which depends on '
				'settings of the session', (a).source, c.name, format_type(c.type, NULL)
				USING ERRCODE = 'feature_not_supported',
					HINT = 'Attach a view that makes a text of it, for example by to_char, or a number.';
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_texts(stepadv_internal.attached) IS
'part of maintain: error if ids or states depend on settings of the session';

-- Why the columns of a changed row do not tell which groups change.
CREATE FUNCTION stepadv_internal.refusal_of_columns(relation regclass, keys smallint[], group_from regclass,
	OUT code text, OUT message text, OUT detail text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	named CONSTANT text := format('cannot maintain groups of %s: ', relation);
	c record;
BEGIN
	FOR c IN
		SELECT w.attname AS wanted, format_type(w.atttypid, NULL) AS wanted_type, keys[w.attnum] AS key,
			f.attname AS name, format_type(f.atttypid, NULL) AS type
		FROM pg_attribute w LEFT JOIN pg_attribute f ON f.attrelid = refusal_of_columns.relation AND f.attnum > 0
			AND NOT f.attisdropped AND (f.attnum = keys[w.attnum] OR keys[w.attnum] = 0 AND f.attname = w.attname)
		WHERE w.attrelid = group_from AND w.attnum BETWEEN 1 AND cardinality(keys) ORDER BY w.attnum
	LOOP
		IF c.type <> c.wanted_type THEN
			code := 'datatype_mismatch';
			message := named || format('its column "%s" is of type %s, that of the source is of type %s', c.name,
				c.type, c.wanted_type);
		ELSIF c.name IS NULL THEN
			code := 'undefined_column';
			message := named || format('it has no column "%s"', c.wanted);
			detail := 'The source reads it; a change of it must show by its own columns which groups change.';
		ELSIF c.key = 0 THEN
			code := 'feature_not_supported';
			message := named || format('the source does not read its column "%s"', c.wanted);
			detail := 'A change of the table must show by its own columns which groups change.';
		END IF;
		EXIT WHEN message IS NOT NULL;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refusal_of_columns(regclass, smallint[], regclass) IS
'part of maintain: why the groups of a table cannot be kept by triggers, by its columns';

CREATE FUNCTION stepadv_internal.refusal(a stepadv_internal.attached, views regclass[], by_triggers boolean,
	OUT code text, OUT message text, OUT detail text, OUT hint text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	without_triggers CONSTANT text := 'mode => ''refresh'' with a watermark does without triggers.';
	w record;
BEGIN
	FOR w IN
		SELECT r.relation, r.keys, c.relkind, c.relpersistence, c.relrowsecurity, c.relowner, e.kind, e.is_here
		FROM stepadv_internal.tables_read(views, (a).n_group_columns, true) r
		JOIN pg_class c ON c.oid = r.relation CROSS JOIN LATERAL stepadv_internal.engine_table(r.relation) e
		ORDER BY r.relation::text
	LOOP
		code := 'feature_not_supported';
		message := format('cannot maintain groups of %s: it ', w.relation);
		IF NOT w.is_here THEN
			message := message || format('is a %s', w.kind);
			hint := 'Views over it fold on the nodes that have its rows; what they give can be stored there, too.';
		ELSIF by_triggers AND w.relkind NOT IN ('r', 'p') THEN
			code := 'wrong_object_type';
			message := message || format('is a %s', CASE w.relkind WHEN 'm' THEN 'materialized view'
				WHEN 'f' THEN 'foreign table' ELSE 'relation of another kind' END);
			hint := 'Changes are seen by triggers, which only tables have. ' || without_triggers;
		ELSIF by_triggers AND w.kind IS NOT NULL THEN
			message := message || format('is a %s', w.kind);
			hint := without_triggers;
		ELSIF w.relpersistence = 't' THEN
			message := message || 'is a temporary table';
		ELSIF w.relrowsecurity THEN
			message := message || 'has row-level security';
			detail := 'A group''s value would show all its rows to everyone who may read it.';
		ELSIF by_triggers AND w.relowner <> (a).owner THEN
			code := 'insufficient_privilege';
			message := message || 'has another owner than the source';
			detail := 'Groups are folded with the rights of the source''s owner.';
		ELSIF by_triggers THEN
			SELECT * INTO code, message, detail
			FROM stepadv_internal.refusal_of_columns(w.relation, w.keys, (a).rows);
		ELSE
			message := NULL;
		END IF;
		EXIT WHEN message IS NOT NULL;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refusal(stepadv_internal.attached, regclass[], boolean) IS
'part of maintain: the first reason why groups of what views read cannot be kept (by triggers); NULLs: they can be';

-- Called before triggers are created, and, without triggers, before each refresh.
CREATE FUNCTION stepadv_internal.refuse_tables(a stepadv_internal.attached, views regclass[], by_triggers boolean)
	RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r CONSTANT record := stepadv_internal.refusal(a, views, by_triggers);
BEGIN
	IF r.message IS NOT NULL AND (a).fresh IS NOT NULL
		AND (stepadv_internal.refusal(a, ARRAY[(a).fresh], by_triggers)).message IS NULL
	THEN
		RAISE EXCEPTION '%', r.message USING ERRCODE = r.code,
			DETAIL = coalesce(r.detail, r.hint, 'Its changes cannot be detected.'),
			HINT = 'Only views over many groups read it. Drop those with drop_views, and the groups can be maintained.';
	ELSIF r.detail IS NOT NULL THEN
		RAISE EXCEPTION '%', r.message USING ERRCODE = r.code, DETAIL = r.detail;
	ELSIF r.hint IS NOT NULL THEN
		RAISE EXCEPTION '%', r.message USING ERRCODE = r.code, HINT = r.hint;
	ELSIF r.message IS NOT NULL THEN
		RAISE EXCEPTION '%', r.message USING ERRCODE = r.code;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_tables(stepadv_internal.attached, regclass[], boolean) IS
'part of maintain and refresh: error if groups of what views read cannot be kept';

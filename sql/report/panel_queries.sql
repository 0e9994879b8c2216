-- Panels: queries over the views of any attachment, of a text in which views, columns of the
-- group, texts of a step and what a visitor chose stand as words in braces.  One text serves
-- every dashboard, whatever there is called how; where a view is not there, there are no rows.

-- Of several that are called the same that of the source's owner comes first.
CREATE FUNCTION stepadv_internal.panel_attachments() RETURNS TABLE (views text, unquoted text, attached stepadv_internal.attached)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('%I.%I', n.nspname, k.prefix), n.nspname || '.' || k.prefix, k
	FROM stepadv_internal.report_attachments() k JOIN pg_class t ON t.oid = k.attachment JOIN pg_namespace n ON n.oid = t.relnamespace
	WHERE has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(stepadv_internal.report_view_of(k, 'values'::text), 'SELECT')
$$;
COMMENT ON FUNCTION stepadv_internal.panel_attachments() IS 'part of panel_sources: attachments whose views the caller may read, by schema and prefix, in double quotes where SQL wants these and without';

CREATE FUNCTION stepadv.panel_sources() RETURNS TABLE (views text, source text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT DISTINCT k.views, stepadv_internal.relation_name((k.attached).source) FROM stepadv_internal.panel_attachments() k ORDER BY 1, 2
$$;
COMMENT ON FUNCTION stepadv.panel_sources() IS
'what panel_query and panel_rows can be asked about: schema and prefix of the views of each attachment whose views the caller may read, and what it is over; none: no rows. For the first list of a dashboard';

CREATE FUNCTION stepadv_internal.panel_attachment(views text) RETURNS stepadv_internal.attached
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a stepadv_internal.attached;
BEGIN
	SELECT (k.attached).* INTO a FROM stepadv_internal.panel_attachments() k WHERE panel_attachment.views IN (k.views, k.unquoted) LIMIT 1;
	IF (a).attachment IS NULL AND panel_attachment.views <> '' THEN
		RAISE EXCEPTION 'no views of stepadv.attach with schema and prefix "%"', panel_attachment.views
			USING ERRCODE = 'undefined_table', HINT = coalesce('There are: ' || (SELECT string_agg(s.views, ', ') FROM stepadv.panel_sources() s) || '.', 'Make them with stepadv.create_tables or stepadv.attach.');
	END IF;
	RETURN a;
END
$$;
COMMENT ON FUNCTION stepadv_internal.panel_attachment(text) IS 'part of panel_query: the attachment of that schema and prefix; none for NULL and nothing; else an error';

-- The values of the group's columns; none where that is no list of them.
CREATE FUNCTION stepadv_internal.panel_key(value text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN ARRAY(SELECT e.value FROM jsonb_array_elements_text(value::jsonb) WITH ORDINALITY e(value, i) ORDER BY e.i);
EXCEPTION WHEN invalid_text_representation OR invalid_parameter_value OR untranslatable_character OR program_limit_exceeded THEN
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.panel_key(text) IS 'part of panel_query: a list of JSON as texts; NULL for anything else';

-- Those of the two newest of the versions that were chosen: where a sum over all groups takes long.
CREATE FUNCTION stepadv_internal.panel_newest(a stepadv_internal.attached, view regclass, chosen text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce((
		SELECT format('(x.policy_version IS NULL OR x.policy_version %1$s ANY (ARRAY(SELECT x.policy_version FROM %2$s x WHERE %3$s GROUP BY x.policy_version ORDER BY max(x.bucket) DESC NULLS LAST, x.policy_version::text DESC LIMIT 2)))',
			stepadv_internal.equality_operator(v.atttypid), stepadv_internal.relation_name(p.view), panel_newest.chosen)
		FROM stepadv_internal.report_view_of(a, 'progress_over_time'::text) p(view)
		JOIN pg_attribute v ON v.attrelid = panel_newest.view AND v.attname = 'policy_version'
		WHERE stepadv_internal.has_column(p.view, 'policy_version'::text)), 'true')
$$;
COMMENT ON FUNCTION stepadv_internal.panel_newest(stepadv_internal.attached, regclass, text) IS 'part of panel_query: rows x of the two newest policy versions, by time, then by name, and of none';

-- What words say of rows of an alias.  NULL: a view that is not there.
CREATE FUNCTION stepadv_internal.panel_word(a stepadv_internal.attached, word text, of_word text, parameters jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	group_view CONSTANT regclass := stepadv_internal.report_view_of(a, 'values'::text);
	keys CONSTANT text[] := stepadv_internal.report_key_columns(group_view, (a).n_group_columns);
	view regclass;
	chosen text[];
BEGIN
	CASE word
		WHEN 'methods' THEN
			RETURN quote_literal(ARRAY(SELECT m.method FROM stepadv_internal.report_methods_of(a, stepadv_internal.report_view_of(a, 'compare'::text)) m ORDER BY m.place)) || '::text[]';
		WHEN 'group' THEN
			RETURN stepadv_internal.list(keys, of_word || '.%1$I'::text, ', '::text);
		-- What is empty in one column of several says nothing.
		WHEN 'group_name' THEN
			RETURN CASE WHEN (a).n_group_columns = 1 THEN format('%s.%I::text', of_word, keys[1])
				ELSE format('concat_ws('' / '', %s)', stepadv_internal.list(keys, format('nullif(%s.%%1$I::text, '''')', of_word), ', '::text)) END;
		WHEN 'group_value' THEN
			RETURN format('jsonb_build_array(%s)::text', stepadv_internal.list(keys, of_word || '.%1$I::text'::text, ', '::text));
		WHEN 'chosen_group' THEN
			chosen := stepadv_internal.panel_key(parameters ->> 'group');
			RETURN CASE WHEN cardinality(chosen) = (a).n_group_columns AND array_position(chosen, NULL) IS NULL THEN stepadv_internal.report_key_filter(group_view, chosen) ELSE 'false' END;
		WHEN 'same_group' THEN
			RETURN (SELECT string_agg(format('x.%1$I %2$s %3$s.%1$I', t.attname, stepadv_internal.equality_operator(t.atttypid), of_word), ' AND ' ORDER BY t.attnum)
				FROM pg_attribute t WHERE t.attrelid = group_view AND t.attnum BETWEEN 1 AND (a).n_group_columns);
		ELSE
			view := stepadv_internal.report_view_of(a, coalesce(of_word, word));
	END CASE;
	IF view IS NULL THEN
		RETURN NULL;
	END IF;
	RETURN CASE word
		WHEN 'observed' THEN (SELECT t.observed FROM stepadv_internal.report_texts(a, view, NULL::text, NULL::text) t)
		WHEN 'done' THEN (SELECT format('coalesce(%s)', t.done) FROM stepadv_internal.report_texts(a, view, NULL::text, NULL::text) t)
		WHEN 'newest_versions' THEN stepadv_internal.panel_newest(a, view, stepadv_internal.panel_word(a, 'versions'::text, 'progress_over_time'::text, parameters))
		WHEN 'version' THEN CASE WHEN stepadv_internal.has_column(view, 'policy_version'::text) THEN 'coalesce(nullif(x.policy_version::text, ''''), ''(none)'')' ELSE '''(none)''::text' END
		WHEN 'versions' THEN CASE WHEN stepadv_internal.has_column(view, 'policy_version'::text) AND NOT coalesce(parameters -> 'versions' ? '(all)', true)
			THEN format('coalesce(nullif(x.policy_version::text, ''''), ''(none)'') IN (%s)', (SELECT string_agg(quote_literal(v), ', ') FROM jsonb_array_elements_text(parameters -> 'versions') v)) ELSE 'true' END
		WHEN 'times' THEN CASE WHEN stepadv_internal.has_column(view, 'bucket'::text)
			THEN format('coalesce(x.bucket >= %L::timestamptz AND x.bucket <= %L::timestamptz, true)', coalesce(parameters ->> 'from', '-infinity'), coalesce(parameters ->> 'to', 'infinity')) ELSE 'true' END
		ELSE stepadv_internal.relation_name(view) END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.panel_word(stepadv_internal.attached, text, text, jsonb) IS 'part of panel_query: what a word in braces stands for; NULL where its view is not there';

CREATE FUNCTION stepadv.panel_query(views text, query text, parameters jsonb DEFAULT '{}') RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.panel_attachment(panel_query.views);
	part record;
	meant text;
	made text := '';
BEGIN
	IF (a).attachment IS NULL THEN
		RETURN NULL;
	END IF;
	-- In one go: what a visitor chose is never looked through for words.
	FOR part IN
		SELECT m.m[1] AS before, m.m[2] AS braces, m.m[3] AS word, m.m[4] AS of_word
		FROM regexp_matches(panel_query.query, '(.*?)(\{([a-z_]+)(?::([a-z_]+))?\}|$)'::text, 'g'::text) m(m)
	LOOP
		meant := CASE WHEN coalesce(part.braces, '') = '' THEN ''
			WHEN part.of_word IS NULL AND jsonb_typeof(panel_query.parameters -> part.word) IS NOT NULL THEN quote_nullable(panel_query.parameters ->> part.word)
			ELSE stepadv_internal.panel_word(a, part.word, part.of_word, coalesce(panel_query.parameters, '{}'::jsonb)) END;
		IF meant IS NULL THEN
			RETURN NULL;
		END IF;
		made := made || part.before || meant;
	END LOOP;
	RETURN made;
END
$$;
COMMENT ON FUNCTION stepadv.panel_query(text, text, jsonb) IS
'a query over the views of attach with that schema and prefix (rl.steps), of a text with words in braces: {rtmc}, {signs}, ...: that view; {method}, ...: that parameter as a literal; {methods}: the methods of _compare as a text[]; of rows x of a view: {versions:signs}, {times:advantages}: those that the parameters versions, from and to say, {newest_versions:pass_at_k}: the two newest of them and those of no version, {version:signs}: the policy version, {observed:compare}, {done:compare}: what the step saw and did; {group:x}, {group_name:x}, {group_value:x}: the columns of the group, its name, what the parameter group has of it (a list of their texts); {chosen_group}: rows x of that group; {same_group:g}: rows x of the group of g. NULL where a view is not there, or views is NULL or empty; an error where there is no such attachment';

CREATE FUNCTION stepadv.panel_rows(views text, query text, parameters jsonb DEFAULT '{}') RETURNS SETOF record
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made CONSTANT text := stepadv.panel_query(panel_rows.views, panel_rows.query, panel_rows.parameters);
BEGIN
	IF made IS NOT NULL THEN
		RETURN QUERY EXECUTE made;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv.panel_rows(text, text, jsonb) IS
'the rows of panel_query(views, query, parameters), read as the caller; names and types of their columns stand behind the call: AS (a text, b float8). No rows where a view is not there';

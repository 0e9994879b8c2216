-- The page of stepadv-report, made by reading alone, so that a standby, a transaction
-- that is READ ONLY and a role that may only read can have it: what it shows is read
-- into one value of type report, of which the functions below make HTML.

CREATE TYPE stepadv_internal.report_group AS (group_no integer, key text[], name text, n_rollouts integer, n_judged integer, n_steps integer,
	mean_return float8, sd_return float8, success_rate float8, uniform boolean, n_states integer, n_shared_states integer, shared_step_share float8);
CREATE TYPE stepadv_internal.report_rollout AS (group_no integer, rollout_no integer, rollout_id text, n_steps integer, return float8, success boolean, more text);
CREATE TYPE stepadv_internal.report_step AS (group_no integer, rollout_no integer, step_rank integer, step_no integer, step_key bigint, advantages float8[], observed text, done text,
	told_advantage float8, is_told boolean, q float8, v float8, n_state integer, n_action integer, stderr float8, difference float8);
CREATE TYPE stepadv_internal.report_quadrant AS (group_no integer, success boolean, quadrant text, n_steps bigint);
CREATE TYPE stepadv_internal.report_problem AS (group_no integer, rollout_id text, step_no integer, problem text, n_rows bigint, effect text);
CREATE TYPE stepadv_internal.report_decision AS (group_no integer, place bigint, visits integer, rollouts integer, actions integer, entropy float8, gap float8, gap_error float8,
	best_q float8, worst_q float8, best_visits integer, worst_visits integer, observed text, best text, worst text);
CREATE TYPE stepadv_internal.report_failure AS (group_no integer, rollout_no integer, last_chance integer, dead_end integer, dropped integer, value_drop float8);
CREATE TYPE stepadv_internal.report_picture AS (group_no integer, kind text, dot text);
CREATE TYPE stepadv_internal.report_scale AS (group_no integer, method_no integer, method text, largest float8);
CREATE TYPE stepadv_internal.report_decisive AS (group_no integer, kind text, rollout_no integer, step_rank integer, n_alike bigint, place bigint);
-- told: the method whose q and v are told; told_function: that it is, or is an instance of; with_values: all methods that have them.
CREATE TYPE stepadv_internal.report AS (source text, methods text[], method_a text, method_b text, has_states boolean, tell_steps text[],
	told text, told_function text, with_values text[], main integer, drawn integer[], hidden text,
	groups stepadv_internal.report_group[], rollouts stepadv_internal.report_rollout[], steps stepadv_internal.report_step[],
	quadrants stepadv_internal.report_quadrant[], problems stepadv_internal.report_problem[], decisions stepadv_internal.report_decision[],
	failures stepadv_internal.report_failure[], pictures stepadv_internal.report_picture[], scales stepadv_internal.report_scale[], decisive stepadv_internal.report_decisive[]);
COMMENT ON TYPE stepadv_internal.report IS 'part of stepadv-report: what a page shows, read once';
COMMENT ON TYPE stepadv_internal.report_group IS 'part of stepadv-report: a group of the page';
COMMENT ON TYPE stepadv_internal.report_rollout IS 'part of stepadv-report: a rollout of the page';
COMMENT ON TYPE stepadv_internal.report_step IS 'part of stepadv-report: a step of a group in full';
COMMENT ON TYPE stepadv_internal.report_quadrant IS 'part of stepadv-report: steps by the signs of two methods';
COMMENT ON TYPE stepadv_internal.report_problem IS 'part of stepadv-report: what is wrong with rows of a group in full';
COMMENT ON TYPE stepadv_internal.report_decision IS 'part of stepadv-report: a state in which several actions were tried';
COMMENT ON TYPE stepadv_internal.report_failure IS 'part of stepadv-report: where a failed rollout was lost';
COMMENT ON TYPE stepadv_internal.report_picture IS 'part of stepadv-report: a tree or graph for Graphviz';
COMMENT ON TYPE stepadv_internal.report_scale IS 'part of stepadv-report: the largest advantage of a method in a group';
COMMENT ON TYPE stepadv_internal.report_decisive IS 'part of stepadv-report: a step that stands out';

-- Text and numbers -----------------------------------------------------------

-- What XML does not allow, and what turns the direction of the text around it,
-- becomes U+FFFD.
CREATE FUNCTION stepadv_internal.report_clean(words text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT regexp_replace(words, '[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]', chr(65533), 'g');
END;
COMMENT ON FUNCTION stepadv_internal.report_clean(text) IS 'part of stepadv-report: text without what XML does not allow and what turns the direction of the text around it';

-- Text for HTML and for attributes.
CREATE FUNCTION stepadv_internal.report_html(words text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT replace(replace(replace(replace(replace(stepadv_internal.report_clean(words), '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;');
END;
COMMENT ON FUNCTION stepadv_internal.report_html(text) IS 'part of stepadv-report: text for HTML and for attributes';

-- One line of at most so many characters.
CREATE FUNCTION stepadv_internal.report_short(words text, length integer) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN length(w) > length THEN left(w, length - 1) || '…' ELSE w END
	FROM (SELECT btrim(regexp_replace(left(words, 4 * length), '[[:space:][:cntrl:]]+', ' ', 'g')) AS w) x;
END;
COMMENT ON FUNCTION stepadv_internal.report_short(text, integer) IS 'part of stepadv-report: one line of at most so many characters';

-- Numbers for people: three digits behind the point unless that hides them.
CREATE FUNCTION stepadv_internal.report_number(x float8, digits integer, signed boolean) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN x IS NULL THEN '·' ELSE replace(CASE WHEN signed AND x > 0 THEN '+' ELSE '' END || CASE
		WHEN x = 0 THEN '0'
		WHEN abs(x) < 0.5 * 10.0 ^ -digits OR abs(x) >= 1e7 THEN btrim(to_char(x, '9.9EEEE'))
		ELSE trim_scale(round(x::numeric, digits))::text END, '-', '−') END;
END;
COMMENT ON FUNCTION stepadv_internal.report_number(float8, integer, boolean) IS 'part of stepadv-report: a number for people';

CREATE FUNCTION stepadv_internal.report_percent(x float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT coalesce(round(100 * x::numeric) || ' %', '·');
END;
COMMENT ON FUNCTION stepadv_internal.report_percent(float8) IS 'part of stepadv-report: a share for people';

-- The class of a cell: sign and fifths of the largest.
CREATE FUNCTION stepadv_internal.report_shade(advantage float8, largest float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN advantage IS NULL THEN 'u' WHEN advantage = 0 OR largest <= 1e-9 THEN 'z'
		ELSE CASE WHEN advantage > 0 THEN 'p' ELSE 'n' END || greatest(1, least(5, ceil(5 * abs(advantage) / largest))) END;
END;
COMMENT ON FUNCTION stepadv_internal.report_shade(float8, float8) IS 'part of stepadv-report: the class of a cell: sign and fifths of the largest';

CREATE FUNCTION stepadv_internal.report_verdict(success boolean, OUT class text, OUT mark text, OUT word text) 
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN success THEN 'ok' WHEN NOT success THEN 'bad' ELSE 'open' END,
		CASE WHEN success THEN '✓' WHEN NOT success THEN '✗' ELSE '?' END,
		CASE WHEN success THEN 'success' WHEN NOT success THEN 'failure' ELSE 'not judged' END;
END;
COMMENT ON FUNCTION stepadv_internal.report_verdict(boolean) IS 'part of stepadv-report: an outcome as a class, a mark and a word';

CREATE FUNCTION stepadv_internal.report_tile(figure text, of text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format('<div class="tile"><b>%s</b><span>%s</span></div>', figure, of);
END;
COMMENT ON FUNCTION stepadv_internal.report_tile(text, text) IS 'part of stepadv-report: a figure and what it is of';

-- An outcome and a name, the latter with a direction of its own.
CREATE FUNCTION stepadv_internal.report_rollout_name(rollout_id text, success boolean) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format('<span class="%s" title="%s">%s</span> <bdi>%s</bdi>', v.class, v.word, v.mark, stepadv_internal.report_html(stepadv_internal.report_short(rollout_id, 60))) FROM stepadv_internal.report_verdict(success) v;
END;
COMMENT ON FUNCTION stepadv_internal.report_rollout_name(text, boolean) IS 'part of stepadv-report: an outcome and a name';

-- The attachment: of that schema and prefix, and of somebody who may read what it
-- is over.  Of several (a row says of itself what its prefix is) that of the
-- source's owner comes first, then the one whose table is called so.
CREATE FUNCTION stepadv_internal.report_attachments() RETURNS SETOF stepadv_internal.attached
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT k.* FROM stepadv_internal.attachments(NULL::oid) k JOIN pg_class t ON t.oid = k.attachment JOIN pg_class s ON s.oid = k.source
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

-- What is read --------------------------------------------------------------

-- Of an attachment: which methods, in which order; the first two are set against each other.
CREATE FUNCTION stepadv_internal.report_begun(a stepadv_internal.attached, schema text, prefix text, key text[], methods text[]) RETURNS stepadv_internal.report
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	compare CONSTANT regclass := stepadv_internal.report_view_of(a, 'compare'::text);
	available text[];
	missing text;
	r stepadv_internal.report;
BEGIN
	IF compare IS NULL OR stepadv_internal.report_view_of(a, 'groups'::text) IS NULL OR stepadv_internal.report_view_of(a, 'rollouts'::text) IS NULL THEN
		RAISE EXCEPTION 'no views of stepadv.attach called "%" with prefix "%" in schema "%"', report_begun.prefix || '_compare', report_begun.prefix, report_begun.schema
			USING ERRCODE = 'undefined_table', HINT = coalesce('There are (schema and prefix): ' || (
				SELECT string_agg(DISTINCT format('%s %s', n.nspname, k.prefix), ', ') FROM stepadv_internal.report_attachments() k JOIN pg_class t ON t.oid = k.attachment JOIN pg_namespace n ON n.oid = t.relnamespace
				WHERE stepadv_internal.report_view_of(k, 'compare'::text) IS NOT NULL) || '.',
				'Make them with stepadv.create_tables or stepadv.attach.');
	END IF;
	IF cardinality(report_begun.key) > (a).n_group_columns THEN
		RAISE EXCEPTION '% values for the group, which has % columns: %', cardinality(report_begun.key), (a).n_group_columns,
			array_to_string(stepadv_internal.report_key_columns(compare, (a).n_group_columns), ', ') USING ERRCODE = 'invalid_parameter_value';
	END IF;
	available := ARRAY(SELECT m.method FROM stepadv_internal.report_methods_of(a, compare) m ORDER BY m.place);
	SELECT m INTO missing FROM unnest(report_begun.methods) m WHERE m <> ALL (available) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'no method "%" in %', missing, compare USING ERRCODE = 'invalid_parameter_value',
			HINT = format('Methods: %s.', array_to_string(available, ', '));
	END IF;
	available := coalesce(nullif(report_begun.methods, '{}'), available);
	SELECT m.method, m.function INTO r.told, r.told_function FROM stepadv_internal.report_methods_of(a, compare) m
	WHERE m.has_values AND (m.method = ANY (available) OR m.method = 'rtmc') ORDER BY array_position(available, m.method) LIMIT 1;
	r.source := (a).source::text;
	r.methods := available;
	r.method_a := available[1];
	r.method_b := available[2];
	r.has_states := stepadv_internal.report_view_of(a, 'gigpo'::text) IS NOT NULL;
	r.tell_steps := ARRAY(SELECT m.method FROM stepadv_internal.report_methods_of(a, compare) m WHERE m.tells_steps);
	r.with_values := ARRAY(SELECT m.method FROM stepadv_internal.report_methods_of(a, compare) m WHERE m.has_values);
	RETURN r;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_begun(stepadv_internal.attached, text, text, text[], text[]) IS 'part of stepadv-report: the methods that a page shows; error where there are no such views, methods or columns of the group';

-- The columns of the group as a list of texts, as those of another relation are.
CREATE FUNCTION stepadv_internal.report_key(view regclass, n integer) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format('x.%I::text', c), ', ' ORDER BY i) FROM unnest(stepadv_internal.report_key_columns(report_key.view, report_key.n)) WITH ORDINALITY k(c, i)
$$;
COMMENT ON FUNCTION stepadv_internal.report_key(regclass, integer) IS 'part of stepadv-report: the columns of the group as texts';

-- Groups, those first from which most is to be learnt.
CREATE FUNCTION stepadv_internal.report_groups(a stepadv_internal.attached, key text[], name_like text) RETURNS stepadv_internal.report_group[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	groups CONSTANT regclass := stepadv_internal.report_view_of(a, 'groups'::text);
	found stepadv_internal.report_group[];
BEGIN
	EXECUTE format('SELECT array_agg(ROW(z.*)::stepadv_internal.report_group ORDER BY z.group_no) FROM (
		SELECT row_number() OVER (ORDER BY success_rate * (1 - success_rate) * (1 + n_shared_states) DESC NULLS LAST, sd_return DESC NULLS LAST, n_judged DESC, n_steps DESC, name)::integer AS group_no, y.*
		FROM (SELECT ARRAY[%1$s] AS key, concat_ws('' / '', %1$s) AS name, x.n_rollouts, x.n_judged, x.n_steps, x.mean_return, x.sd_return, x.success_rate, x.uniform,
			x.n_states, x.n_shared_states, x.shared_step_share FROM %2$s x WHERE %3$s) y WHERE name LIKE %4$L) z',
		stepadv_internal.report_key(groups, (a).n_group_columns), groups, stepadv_internal.report_key_filter(groups, report_groups.key), coalesce(report_groups.name_like, '%')) INTO found;
	IF found IS NULL AND (report_groups.key <> '{}' OR report_groups.name_like IS NOT NULL) THEN
		RAISE EXCEPTION 'no such group in %: %', (a).source, coalesce(nullif(array_to_string(report_groups.key, ' / '), ''), report_groups.name_like)
			USING ERRCODE = 'no_data_found';
	END IF;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_groups(stepadv_internal.attached, text[], text) IS 'part of stepadv-report: the groups that are asked for; error where one is, and is not there';

-- Rollouts of the groups that are listed: what became of them, and who made them.
CREATE FUNCTION stepadv_internal.report_rollouts(a stepadv_internal.attached, groups stepadv_internal.report_group[], key text[], max_listed integer) RETURNS stepadv_internal.report_rollout[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rollouts CONSTANT regclass := stepadv_internal.report_view_of(a, 'rollouts'::text);
	found stepadv_internal.report_rollout[];
BEGIN
	EXECUTE format('SELECT array_agg(ROW(z.*)::stepadv_internal.report_rollout ORDER BY z.group_no, z.rollout_no) FROM (
		SELECT group_no, row_number() OVER (PARTITION BY group_no ORDER BY success DESC NULLS LAST, return DESC NULLS LAST, length(rollout_id), rollout_id)::integer AS rollout_no,
			rollout_id, n_steps, return, success, more
		FROM (SELECT g.group_no, coalesce(x.rollout_id::text, ''?'') AS rollout_id, x.n_steps, x.return, CASE WHEN x.judged THEN x.success END AS success, nullif(concat_ws('' · '', %s), '''') AS more
			FROM %s x JOIN unnest($1) g ON g.key = ARRAY[%s] WHERE %s AND g.group_no <= $2) y) z',
		concat_ws(', ', stepadv_internal.report_base_column(rollouts, 'model'::text, NULL::text[]) || '::text', stepadv_internal.report_base_column(rollouts, 'policy_version'::text, NULL::text[]) || '::text',
			'CASE WHEN ' || stepadv_internal.report_base_column(rollouts, 'truncated'::text, '{boolean}'::text[]) || ' THEN ''cut off'' END', 'NULL'),
		rollouts, stepadv_internal.report_key(rollouts, (a).n_group_columns), stepadv_internal.report_key_filter(rollouts, report_rollouts.key))
	INTO found USING report_rollouts.groups, report_rollouts.max_listed;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_rollouts(stepadv_internal.attached, stepadv_internal.report_group[], text[], integer) IS 'part of stepadv-report: the rollouts of the first groups';

-- Where the text of a step is.
CREATE FUNCTION stepadv_internal.report_texts(a stepadv_internal.attached, INOUT observed text, INOUT done text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	compare CONSTANT regclass := stepadv_internal.report_view_of(a, 'compare'::text);
	columns text[];
	words text;		-- what a step did: its text, its tool call
	call text;
BEGIN
	observed := coalesce(stepadv_internal.report_base_column(compare, report_texts.observed, NULL::text[]), stepadv_internal.report_base_column(compare, 'observation'::text, NULL::text[]),
		(SELECT stepadv_internal.report_base_column(compare, s.name, NULL::text[]) FROM stepadv_internal.report_columns_of(a, 'state'::text) s LIMIT 1), 'NULL');
	SELECT array_agg(c.name ORDER BY c.type IN ('json'::regtype, 'jsonb'::regtype), c.i) INTO columns
	FROM stepadv_internal.report_columns_of(a, 'action'::text) WITH ORDINALITY c(name, type, i) WHERE c.type <> 'boolean'::regtype;
	words := coalesce(stepadv_internal.report_base_column(compare, 'action'::text, NULL::text[]),
		CASE WHEN cardinality(columns) = 1 THEN stepadv_internal.report_base_column(compare, columns[1], NULL::text[]) END) || '::text';
	-- Of several columns an action is made where it is a tool call.
	IF cardinality(columns) > 1 OR words IS NULL THEN
		call := 'nullif(concat_ws('' '', ' || nullif((SELECT string_agg(stepadv_internal.report_base_column(compare, c, NULL::text[]) || '::text', ', ' ORDER BY i) FROM unnest(columns) WITH ORDINALITY u(c, i)), '') || '), '''')';
	END IF;
	-- A call reads better than the JSON that it was made of.
	done := coalesce(stepadv_internal.report_base_column(compare, report_texts.done, NULL::text[]), nullif(concat_ws(', ',
		CASE WHEN call IS NULL THEN words ELSE format('CASE WHEN %1$s NOT LIKE ''{%%'' THEN nullif(%1$s, '''') END', words) END, call, words), ''), 'NULL');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_texts(stepadv_internal.attached, text, text) IS 'part of stepadv-report: expressions over _compare for what a step saw and did';

-- What the method that is told of says, and by how much two differ, by rollout and step.
CREATE FUNCTION stepadv_internal.report_told(a stepadv_internal.attached, r stepadv_internal.report, key text[], OUT told text, OUT differing text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	told_view CONSTANT regclass := stepadv_internal.report_view_of(a, (r).told);
	disagreements CONSTANT regclass := stepadv_internal.report_view_of(a, 'disagreements'::text);
BEGIN
	told := CASE WHEN told_view IS NOT NULL THEN format('SELECT DISTINCT ON (1, 2) coalesce(x.rollout_id::text, ''?''), x.step_no, x.advantage, true, x.q, x.v, x.n_state, x.n_action, x.stderr FROM %s x WHERE %s',
			told_view, stepadv_internal.report_key_filter(told_view, report_told.key))
		ELSE 'SELECT NULL::text, NULL::integer, NULL::float8, NULL::boolean, NULL::float8, NULL::float8, NULL::integer, NULL::integer, NULL::float8 WHERE false' END;
	differing := 'SELECT NULL::text, NULL::integer, NULL::float8 WHERE false';
	IF disagreements IS NOT NULL AND cardinality((r).methods) > 1 THEN
		-- A pair stands there once, in the order of the view.
		differing := format('SELECT DISTINCT ON (1, 2) coalesce(x.rollout_id::text, ''?''), x.step_no, CASE WHEN x.method_a = %3$L THEN x.difference ELSE -x.difference END
			FROM %1$s x WHERE %2$s AND (x.method_a, x.method_b) IN ((%3$L, %4$L), (%4$L, %3$L))',
			disagreements, stepadv_internal.report_key_filter(disagreements, report_told.key), (r).method_a, (r).method_b);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_told(stepadv_internal.attached, stepadv_internal.report, text[]) IS 'part of stepadv-report: queries of one group, by rollout and step: what the method told of says, and by how much two methods differ';

-- The steps of a group in full.
CREATE FUNCTION stepadv_internal.report_steps(a stepadv_internal.attached, r stepadv_internal.report, of_group stepadv_internal.report_group, observed text, done text) RETURNS stepadv_internal.report_step[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	compare CONSTANT regclass := stepadv_internal.report_view_of(a, 'compare'::text);
	said record;
	found stepadv_internal.report_step[];
BEGIN
	SELECT * INTO said FROM stepadv_internal.report_told(a, r, (of_group).key);
	EXECUTE format('SELECT array_agg(ROW($2, s.rollout_no, s.step_rank, s.step_no, s.step_key, s.advantages, s.observed, s.done,
			t.advantage, t.is_told, t.q, t.v, t.n_state, t.n_action, t.stderr, d.difference)::stepadv_internal.report_step ORDER BY s.rollout_no, s.step_rank)
		FROM (SELECT o.rollout_no, o.rollout_id, row_number() OVER (PARTITION BY o.rollout_no ORDER BY s.step_no)::integer AS step_rank, s.step_no, s.step_key, s.advantages, s.observed, s.done
			FROM (SELECT coalesce(x.rollout_id::text, ''?'') AS rollout_id, x.step_no, %1$s AS step_key, ARRAY[%2$s]::float8[] AS advantages,
				stepadv_internal.report_short((%3$s)::text, 400) AS observed, stepadv_internal.report_short((coalesce(%4$s))::text, 400) AS done FROM %5$s x WHERE %6$s) s
			JOIN unnest($1) o ON o.group_no = $2 AND o.rollout_id = s.rollout_id) s
		LEFT JOIN (%7$s) t(rollout_id, step_no, advantage, is_told, q, v, n_state, n_action, stderr) ON t.rollout_id = s.rollout_id AND t.step_no = s.step_no
		LEFT JOIN (%8$s) d(rollout_id, step_no, difference) ON d.rollout_id = s.rollout_id AND d.step_no = s.step_no',
		-- Ids as rollout_agg is given them.
		stepadv_internal.identity('x.step_id'::text, stepadv_internal.column_type(compare, 'step_id'::text)),
		(SELECT string_agg(format('x.%I', m), ', ' ORDER BY i) FROM unnest((r).methods) WITH ORDINALITY m(m, i)),
		report_steps.observed, report_steps.done, compare, stepadv_internal.report_key_filter(compare, (of_group).key), said.told, said.differing)
	INTO found USING (r).rollouts, (of_group).group_no;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_steps(stepadv_internal.attached, stepadv_internal.report, stepadv_internal.report_group, text, text) IS 'part of stepadv-report: the steps of a group, with what methods say of them';

-- What a missing outcome or a gap did the page says anyway, or it did nothing.
CREATE FUNCTION stepadv_internal.report_problems(a stepadv_internal.attached, of_group stepadv_internal.report_group) RETURNS stepadv_internal.report_problem[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	problems CONSTANT regclass := stepadv_internal.report_view_of(a, 'problems'::text);
	found stepadv_internal.report_problem[];
BEGIN
	IF problems IS NOT NULL THEN
		EXECUTE format('SELECT array_agg(ROW($1, x.rollout_id::text, x.step_no, x.problem, x.n_rows, x.effect)::stepadv_internal.report_problem)
			FROM %s x WHERE %s AND x.effect NOT LIKE ''nothing%%'' AND x.methods <> ''{}'' AND x.problem NOT IN (''not judged'', ''no state is shared'')',
			problems, stepadv_internal.report_key_filter(problems, (of_group).key)) INTO found USING (of_group).group_no;
	END IF;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_problems(stepadv_internal.attached, stepadv_internal.report_group) IS 'part of stepadv-report: what is wrong with the rows of a group';

-- What was tried more than once comes first: a gap in units of its error.
CREATE FUNCTION stepadv_internal.report_decisions(a stepadv_internal.attached, of_group stepadv_internal.report_group, steps stepadv_internal.report_step[]) RETURNS stepadv_internal.report_decision[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	decisions CONSTANT regclass := stepadv_internal.report_view_of(a, 'decision_points'::text);
	found stepadv_internal.report_decision[];
BEGIN
	IF decisions IS NOT NULL THEN
		EXECUTE format('SELECT array_agg(ROW(z.*)::stepadv_internal.report_decision ORDER BY z.place)
			FROM (SELECT $1, row_number() OVER (ORDER BY x.gap / nullif(x.gap_error, 0) DESC NULLS LAST, x.visits DESC, s.step_key) AS place, x.visits, x.rollouts, x.actions, x.entropy, x.gap, x.gap_error,
				x.best_q, x.worst_q, x.best_visits, x.worst_visits, s.observed, b.done, w.done
				FROM %s x JOIN unnest($2) s ON s.step_key = %s JOIN unnest($2) b ON b.step_key = %s JOIN unnest($2) w ON w.step_key = %s
				WHERE %s AND x.actions > 1 AND x.gap > 1e-9) z',
			decisions, stepadv_internal.identity('x.step_id'::text, stepadv_internal.column_type(decisions, 'step_id'::text)),
			stepadv_internal.identity('x.best_step_id'::text, stepadv_internal.column_type(decisions, 'best_step_id'::text)),
			stepadv_internal.identity('x.worst_step_id'::text, stepadv_internal.column_type(decisions, 'worst_step_id'::text)),
			stepadv_internal.report_key_filter(decisions, (of_group).key)) INTO found USING (of_group).group_no, report_decisions.steps;
	END IF;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_decisions(stepadv_internal.attached, stepadv_internal.report_group, stepadv_internal.report_step[]) IS 'part of stepadv-report: the states of a group in which it is decided';

CREATE FUNCTION stepadv_internal.report_failures(a stepadv_internal.attached, of_group stepadv_internal.report_group, rollouts stepadv_internal.report_rollout[]) RETURNS stepadv_internal.report_failure[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	failures CONSTANT regclass := stepadv_internal.report_view_of(a, 'failure_points'::text);
	found stepadv_internal.report_failure[];
BEGIN
	IF failures IS NOT NULL THEN
		EXECUTE format('SELECT array_agg(ROW(o.group_no, o.rollout_no, x.last_chance_step_no, x.dead_end_step_no, x.drop_step_no, x.value_drop)::stepadv_internal.report_failure)
			FROM %s x JOIN unnest($2) o ON o.group_no = $1 AND o.rollout_id = coalesce(x.rollout_id::text, ''?'')
			WHERE %s AND (x.last_chance_step_no IS NOT NULL OR x.dead_end_step_no IS NOT NULL OR x.drop_step_no IS NOT NULL)',
			failures, stepadv_internal.report_key_filter(failures, (of_group).key)) INTO found USING (of_group).group_no, report_failures.rollouts;
	END IF;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_failures(stepadv_internal.attached, stepadv_internal.report_group, stepadv_internal.report_rollout[]) IS 'part of stepadv-report: where failed rollouts of a group were lost';

-- Of itself a tree shows rtmc, and a graph graphgpo.
CREATE FUNCTION stepadv_internal.report_pictures(a stepadv_internal.attached, told text, of_group stepadv_internal.report_group, steps stepadv_internal.report_step[], max_edges integer) RETURNS stepadv_internal.report_picture[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	pictured CONSTANT regclass := stepadv_internal.report_view_of(a, 'values'::text);
	rollouts CONSTANT regclass := stepadv_internal.report_view_of(a, 'rollouts'::text);
	truncated CONSTANT text := stepadv_internal.report_base_column(rollouts, 'truncated'::text, '{boolean}'::text[]);
	estimates jsonb;
	labels jsonb;
	cut_off bigint[];
	picture record;
	drawn text;
	found stepadv_internal.report_picture[] := '{}';
BEGIN
	IF pictured IS NULL OR (of_group).n_judged = 0 THEN
		RETURN found;
	END IF;
	-- Graphviz reads entities in labels.
	SELECT jsonb_object_agg(s.step_key, replace(coalesce(nullif(stepadv_internal.report_clean(stepadv_internal.report_short(s.done, 40)), ''), '(nothing)'), '&', '&amp;')),
		jsonb_object_agg(s.step_key, jsonb_build_object('advantage', s.told_advantage, 'v', s.v)) FILTER (WHERE s.is_told AND report_pictures.told <> 'rtmc')
	INTO labels, estimates FROM unnest(report_pictures.steps) s;
	IF truncated IS NOT NULL THEN
		EXECUTE format('SELECT array_agg(%s) FROM %s x WHERE %s AND %s',
			stepadv_internal.identity('x.rollout_id'::text, stepadv_internal.column_type(rollouts, 'rollout_id'::text)), rollouts, truncated,
			stepadv_internal.report_key_filter(rollouts, (of_group).key)) INTO cut_off;
	END IF;
	FOR picture IN SELECT * FROM (VALUES
		('tree', 'rtmc_tree', 'rtmc_tree_dot', ', cut_off => $2'), ('graph', 'graph_edges', 'graph_dot', '')) p(kind, method, function, argument)
		WHERE stepadv_internal.report_view_of(a, p.method) IS NOT NULL
	LOOP
		EXECUTE format('SELECT stepadv.%I(x.%I, labels => $1%s, max_edges => $3, label_length => 400, estimates => $4%s) FROM %s x WHERE %s',
			picture.function, (SELECT c.attname FROM pg_attribute c WHERE c.attrelid = pictured AND c.attnum = (a).n_group_columns + 1), picture.argument,
			stepadv_internal.report_options_of(a, picture.method, picture.function), pictured, stepadv_internal.report_key_filter(pictured, (of_group).key))
		INTO drawn USING labels, cut_off, report_pictures.max_edges, estimates;
		IF drawn LIKE '%->%' THEN
			found := found || ROW((of_group).group_no, picture.kind, drawn)::stepadv_internal.report_picture;
		END IF;
	END LOOP;
	RETURN found;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_pictures(stepadv_internal.attached, text, stepadv_internal.report_group, stepadv_internal.report_step[], integer) IS 'part of stepadv-report: a tree and a graph of a group for Graphviz';

CREATE FUNCTION stepadv_internal.report_quadrants(a stepadv_internal.attached, r stepadv_internal.report, key text[]) RETURNS stepadv_internal.report_quadrant[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	quadrants CONSTANT regclass := stepadv_internal.report_view_of(a, 'quadrants'::text);
	found stepadv_internal.report_quadrant[];
BEGIN
	IF quadrants IS NOT NULL AND cardinality((r).methods) > 1 THEN
		EXECUTE format('SELECT array_agg(ROW(g.group_no, x.success, CASE WHEN x.method_a = %3$L THEN x.quadrant ELSE reverse(x.quadrant) END, x.n_steps)::stepadv_internal.report_quadrant)
			FROM %1$s x JOIN unnest($1) g ON g.key = ARRAY[%5$s]
			WHERE %2$s AND x.success IS NOT NULL AND (x.method_a, x.method_b) IN ((%3$L, %4$L), (%4$L, %3$L))',
			quadrants, stepadv_internal.report_key_filter(quadrants, report_quadrants.key), (r).method_a, (r).method_b,
			stepadv_internal.report_key(quadrants, (a).n_group_columns)) INTO found USING (r).groups;
	END IF;
	RETURN coalesce(found, '{}');
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_quadrants(stepadv_internal.attached, stepadv_internal.report, text[]) IS 'part of stepadv-report: the steps of all groups by the signs of two methods';

-- A method whose strips would all look like those of another, or that has no
-- estimate at all, is not drawn, unless it was asked for.
CREATE FUNCTION stepadv_internal.report_drawn(r stepadv_internal.report, asked boolean, OUT drawn integer[], OUT hidden text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT array_agg(l.i::integer ORDER BY l.i) FILTER (WHERE l.shown), string_agg(format('%s (%s)', l.m, CASE WHEN l.twin IS NULL THEN 'no estimate' ELSE 'as ' || l.twin END), ', ' ORDER BY l.i) FILTER (WHERE NOT l.shown)
	FROM (SELECT m.i, m.m, t.twin, asked OR m.i <= 2 OR cardinality(r.steps) = 0 OR t.twin IS NULL AND EXISTS (SELECT FROM unnest(r.steps) s WHERE s.advantages[m.i] IS NOT NULL) AS shown
		FROM unnest(r.methods) WITH ORDINALITY m(m, i)
		CROSS JOIN LATERAL (SELECT (SELECT r.methods[o.i] FROM generate_series(1, m.i - 1) o(i)
			WHERE EXISTS (SELECT FROM unnest(r.steps) s WHERE s.advantages[m.i] IS NOT NULL) AND NOT EXISTS (
				SELECT FROM unnest(r.steps) s JOIN unnest(r.scales) a ON a.group_no = s.group_no AND a.method_no = m.i JOIN unnest(r.scales) b ON b.group_no = s.group_no AND b.method_no = o.i
				WHERE (s.advantages[m.i] IS NULL) <> (s.advantages[o.i] IS NULL)
					OR abs(s.advantages[m.i] * b.largest - s.advantages[o.i] * a.largest) > 1e-6 * a.largest * b.largest
					-- 0 everywhere is like 0 everywhere alone.
					OR (a.largest <= 1e-9) <> (b.largest <= 1e-9))
			ORDER BY o.i LIMIT 1) AS twin) t) l;
END;
COMMENT ON FUNCTION stepadv_internal.report_drawn(stepadv_internal.report, boolean) IS 'part of stepadv-report: the methods whose strips are drawn, and in words those that are not';

-- What several rollouts did alike is told once.
CREATE FUNCTION stepadv_internal.report_decisive(r stepadv_internal.report, max_steps integer) RETURNS stepadv_internal.report_decisive[]
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT coalesce(array_agg(ROW(d.group_no, d.kind, d.rollout_no, d.step_rank, d.n_alike, d.place)::stepadv_internal.report_decisive ORDER BY d.group_no, d.kind, d.place), '{}')
	FROM (SELECT s.*, row_number() OVER (PARTITION BY s.group_no, s.kind ORDER BY s.shared DESC, s.size DESC, s.rollout_no, s.step_rank) AS place
		FROM (SELECT s.*, count(*) OVER alike AS n_alike, row_number() OVER (alike ORDER BY s.rollout_no, s.step_rank) AS copy
			FROM (SELECT s.*, 'advantage' AS kind, abs(s.advantages[r.main]) AS size, s.advantages[r.main] AS figure, coalesce(s.n_state > 1, true) AS shared FROM unnest(r.steps) s
				UNION ALL SELECT s.*, 'difference' AS kind, abs(s.difference) AS size, s.difference AS figure, true AS shared FROM unnest(r.steps) s) s
			WHERE s.size > 1e-9
			WINDOW alike AS (PARTITION BY s.group_no, s.kind, s.figure, s.n_state, s.n_action, s.q, s.v, s.observed, s.done)) s
		WHERE s.copy = 1) d
	WHERE d.place <= max_steps;
END;
COMMENT ON FUNCTION stepadv_internal.report_decisive(stepadv_internal.report, integer) IS 'part of stepadv-report: the steps that stand out';

-- All that a page shows.
CREATE FUNCTION stepadv_internal.report(schema text, prefix text, key text[], name_like text, max_full integer, max_groups integer, max_steps integer,
	methods text[], observed text, done text, max_edges integer) RETURNS stepadv_internal.report
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	attached CONSTANT stepadv_internal.attached := stepadv_internal.report_attachment(report.schema, report.prefix);
	r stepadv_internal.report := stepadv_internal.report_begun(attached, report.schema, report.prefix, report.key, report.methods);
	texts record;
	of_group stepadv_internal.report_group;
	steps stepadv_internal.report_step[];
BEGIN
	r.groups := stepadv_internal.report_groups(attached, report.key, report.name_like);
	r.rollouts := stepadv_internal.report_rollouts(attached, r.groups, report.key, greatest(report.max_full, report.max_groups));
	SELECT * INTO texts FROM stepadv_internal.report_texts(attached, report.observed, report.done);
	r.steps := '{}';
	r.problems := '{}';
	r.decisions := '{}';
	r.failures := '{}';
	r.pictures := '{}';
	FOREACH of_group IN ARRAY r.groups[1:report.max_full] LOOP
		steps := stepadv_internal.report_steps(attached, r, of_group, texts.observed, texts.done);
		r.steps := r.steps || steps;
		r.problems := r.problems || stepadv_internal.report_problems(attached, of_group);
		r.decisions := r.decisions || stepadv_internal.report_decisions(attached, of_group, steps);
		r.failures := r.failures || stepadv_internal.report_failures(attached, of_group, r.rollouts);
		r.pictures := r.pictures || stepadv_internal.report_pictures(attached, r.told, of_group, steps, report.max_edges);
	END LOOP;
	r.quadrants := stepadv_internal.report_quadrants(attached, r, report.key);
	-- Some methods speak of whole rollouts; a step that stands out is one by a method
	-- that tells steps apart.
	r.main := coalesce((SELECT min(m.i) FROM unnest(r.methods) WITH ORDINALITY m(m, i) WHERE m.m = ANY (r.tell_steps)), 1);
	r.scales := (SELECT coalesce(array_agg(ROW(l.group_no, l.i, r.methods[l.i], l.largest)::stepadv_internal.report_scale ORDER BY l.group_no, l.i), '{}')
		FROM (SELECT s.group_no, m.i, max(abs(m.advantage)) AS largest FROM unnest(r.steps) s, unnest(s.advantages) WITH ORDINALITY m(advantage, i) GROUP BY 1, 2) l);
	SELECT d.drawn, d.hidden INTO r.drawn, r.hidden FROM stepadv_internal.report_drawn(r, report.methods <> '{}') d;
	r.decisive := stepadv_internal.report_decisive(r, report.max_steps);
	RETURN r;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report(text, text, text[], text, integer, integer, integer, text[], text, text, integer) IS 'part of stepadv-report: all that a page shows, read with one snapshot where the transaction has one';

-- Parts of the page ---------------------------------------------------------

-- What two methods say of the steps of good and of bad rollouts.
CREATE FUNCTION stepadv_internal.report_quadrant_table(r stepadv_internal.report, of_group integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format('<div class="scroll"><table class="quadrants"><tr><th>steps of</th><th class="n">steps</th><th class="n">%1$s +, %2$s +</th><th class="n">%1$s −, %2$s −</th><th class="n">%1$s +, %2$s −</th><th class="n">%1$s −, %2$s +</th><th class="n">0 in one or both</th></tr>%3$s</table></div>',
		r.method_a, r.method_b, string_agg(format('<tr><td class="%s">%s</td><td class="n">%s</td>%s</tr>', v.class, v.mark || ' ' || CASE WHEN q.success THEN 'successful' ELSE 'failed' END || ' rollouts', q.n,
			(SELECT string_agg(CASE WHEN c = 0 THEN '<td class="n dim">0</td>' ELSE format('<td class="n">%s <span class="dim">(%s)</span></td>', c, stepadv_internal.report_percent(c / q.n::float8)) END, '' ORDER BY i) FROM unnest(ARRAY[pp, nn, pn, np, q.n - pp - nn - pn - np]) WITH ORDINALITY c(c, i))), '' ORDER BY q.success DESC))
	FROM (SELECT success, sum(n_steps) AS n, coalesce(sum(n_steps) FILTER (WHERE quadrant = '++'), 0) AS pp, coalesce(sum(n_steps) FILTER (WHERE quadrant = '--'), 0) AS nn,
			coalesce(sum(n_steps) FILTER (WHERE quadrant = '+-'), 0) AS pn, coalesce(sum(n_steps) FILTER (WHERE quadrant = '-+'), 0) AS np
		FROM unnest(r.quadrants) WHERE of_group IS NULL OR group_no = of_group GROUP BY success) q, stepadv_internal.report_verdict(q.success) v
	HAVING count(*) > 0;
END;
COMMENT ON FUNCTION stepadv_internal.report_quadrant_table(stepadv_internal.report, integer) IS 'part of stepadv-report: what two methods say of the steps of good and of bad rollouts';

-- A step's numbers and text, for the pointer that rests on it.
CREATE FUNCTION stepadv_internal.report_hint(s stepadv_internal.report_step, methods text[], told text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT stepadv_internal.report_html(concat_ws(E'\n', 'step ' || s.step_no,
		(SELECT string_agg(format('%s %s', methods[a.i], stepadv_internal.report_number(a.a, 3, true)), ', ' ORDER BY a.i) FROM unnest(s.advantages) WITH ORDINALITY a(a, i)),
		CASE WHEN s.n_state IS NOT NULL AND s.q IS NOT NULL THEN format('%s: q %s, v %s; %s of %s visits to the state took the action', told, stepadv_internal.report_number(s.q, 3, false), stepadv_internal.report_number(s.v, 3, false), s.n_action, s.n_state) END,
		'saw: ' || stepadv_internal.report_short(s.observed, 240), 'did: ' || stepadv_internal.report_short(s.done, 240)));
END;
COMMENT ON FUNCTION stepadv_internal.report_hint(stepadv_internal.report_step, text[], text) IS 'part of stepadv-report: a step''s numbers and text, for the pointer that rests on it';

-- A rollout as strips, one below the other, a column per step.
CREATE FUNCTION stepadv_internal.report_strips(r stepadv_internal.report, of_group integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format(E'<div class="strips" style="--most:%s">\n<div class="rollout ruler"><div></div><div class="names">step</div><div class="strip">%s</div></div>\n',
			greatest(max(n), 1), (SELECT string_agg(format('<div class="s">%s</div>', CASE WHEN i = 1 OR (i + first) % 5 = 0 THEN i + first END), '' ORDER BY i) FROM generate_series(1, max(n)) i))
		|| string_agg(row, E'\n' ORDER BY rollout_no) || E'\n</div>'
	-- Numbered as the user numbers steps, if all rollouts do so alike.
	FROM (SELECT CASE WHEN min(step_no::bigint - step_rank) = max(step_no::bigint - step_rank) THEN min(step_no::bigint - step_rank) ELSE 0 END AS first FROM unnest(r.steps) WHERE group_no = of_group) f,
		(SELECT ro.rollout_no, s.n, format('<div class="rollout %s"><div class="who"><b>%s</b><span class="%s">%s</span><span class="dim">%s</span> <bdi class="dim">%s</bdi></div><div class="names">%s</div><div class="strip">%s</div></div>',
			v.class, stepadv_internal.report_rollout_name(ro.rollout_id, ro.success), v.class, v.word,
			concat(CASE WHEN ro.return IS NOT NULL THEN ' · return ' || stepadv_internal.report_number(ro.return, 3, false) END, ' · ' || ro.n_steps || CASE ro.n_steps WHEN 1 THEN ' step' ELSE ' steps' END), coalesce(stepadv_internal.report_html(stepadv_internal.report_short(ro.more, 80)), ''),
			names.names, coalesce(s.cells, '<span class="dim">no steps</span>')) AS row
		FROM unnest(r.rollouts) ro CROSS JOIN stepadv_internal.report_verdict(ro.success) v
		CROSS JOIN LATERAL (SELECT string_agg(format('<span>%s</span>', m), '' ORDER BY i) AS names FROM unnest(r.methods) WITH ORDINALITY m(m, i)
			WHERE ro.n_steps > 0 AND i = ANY (r.drawn)) names
		CROSS JOIN LATERAL (SELECT coalesce(max(s.step_rank), 0) AS n, string_agg(format('<div class="s%s" id="g%sr%ss%s" title="%s">%s</div>',
				CASE WHEN EXISTS (SELECT FROM unnest(r.decisive) d WHERE (d.group_no, d.rollout_no, d.step_rank) = (s.group_no, s.rollout_no, s.step_rank)) THEN ' d' END,
				s.group_no, s.rollout_no, s.step_rank, stepadv_internal.report_hint(s, r.methods, r.told), c.cells), '' ORDER BY s.step_rank) AS cells
			FROM unnest(r.steps) s CROSS JOIN LATERAL (
				SELECT string_agg(format('<i class="%s" data-a="%s"></i>', stepadv_internal.report_shade(a.a, l.largest), a.a), '' ORDER BY a.i) AS cells
				FROM unnest(s.advantages) WITH ORDINALITY a(a, i) JOIN unnest(r.scales) l ON l.group_no = s.group_no AND l.method_no = a.i WHERE a.i = ANY (r.drawn)) c
			WHERE s.group_no = ro.group_no AND s.rollout_no = ro.rollout_no) s
		WHERE ro.group_no = of_group) rows
	GROUP BY first;
END;
COMMENT ON FUNCTION stepadv_internal.report_strips(stepadv_internal.report, integer) IS 'part of stepadv-report: rollouts as strips, one below the other, a column per step';

CREATE FUNCTION stepadv_internal.report_decisive_table(r stepadv_internal.report, of_group integer, of_kind text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT '<div class="scroll"><table class="steps"><colgroup><col style="width:150px"/><col style="width:52px"/><col style="width:84px"/>'
		|| repeat('<col style="width:84px"/>', cardinality(p.shown) - 1) || CASE WHEN of_kind = 'difference' THEN '<col style="width:84px"/>' ELSE '' END
		|| CASE WHEN r.told IS NOT NULL THEN '<col style="width:58px"/><col style="width:58px"/><col style="width:66px"/>' ELSE '' END || '<col/><col/></colgroup><tr><th>rollout</th><th class="n">step</th>'
		|| (SELECT string_agg(format('<th class="n">%s</th>', replace(r.methods[i], '_', '_<wbr/>')), '' ORDER BY o) FROM unnest(p.shown) WITH ORDINALITY p(i, o))
		|| CASE WHEN of_kind = 'difference' THEN '<th class="n">differ by</th>' ELSE '' END
		|| CASE WHEN r.told IS NOT NULL THEN '<th class="n">q</th><th class="n">v</th><th class="n">took</th>' ELSE '' END || '<th>saw</th><th>did</th></tr>'
		|| string_agg(format(E'\n<tr><td>%s%s</td><td class="n"><a href="#g%sr%ss%s">%s</a></td>%s%s%s<td class="text"><bdi>%s</bdi></td><td class="text"><bdi>%s</bdi></td></tr>',
			stepadv_internal.report_rollout_name(ro.rollout_id, ro.success), CASE WHEN d.n_alike > 1 THEN format(' <span class="dim" title="as many steps alike">×%s</span>', d.n_alike) END,
			s.group_no, s.rollout_no, s.step_rank, s.step_no,
			(SELECT string_agg(format('<td class="n%s">%s</td>', CASE WHEN i = r.main THEN ' m' || CASE WHEN s.advantages[i] > 0 THEN ' pos' WHEN s.advantages[i] < 0 THEN ' neg' ELSE '' END END,
				stepadv_internal.report_number(s.advantages[i], 3, true)), '' ORDER BY o) FROM unnest(p.shown) WITH ORDINALITY p(i, o)),
			CASE WHEN of_kind = 'difference' THEN format('<td class="n">%s</td>', stepadv_internal.report_number(abs(s.difference), 2, false)) END,
			CASE WHEN r.told IS NOT NULL THEN format('<td class="n">%s</td><td class="n">%s</td><td class="n">%s</td>', stepadv_internal.report_number(s.q, 2, false), stepadv_internal.report_number(s.v, 2, false), coalesce(s.n_action || '/' || s.n_state, '·')) END,
			stepadv_internal.report_html(coalesce(nullif(s.observed, ''), '(nothing)')), stepadv_internal.report_html(coalesce(nullif(s.done, ''), '(nothing)'))), '' ORDER BY d.place)
		|| '</table></div>'
	-- Two that are set against each other; where one is told of, the others beside it that have a q and a v.
	FROM (SELECT CASE WHEN of_kind = 'difference' THEN two.pair ELSE two.pair || ARRAY(SELECT i::integer FROM unnest(r.methods) WITH ORDINALITY m(m, i)
			WHERE m = ANY (r.with_values) AND i = ANY (r.drawn) AND i <> ALL (two.pair) ORDER BY i LIMIT 2) END AS shown
		FROM (SELECT CASE WHEN cardinality(r.methods) = 1 THEN ARRAY[1] WHEN of_kind = 'difference' OR r.main IN (1, 2) THEN ARRAY[1, 2] ELSE ARRAY[1, r.main] END AS pair) two) p,
		unnest(r.decisive) d JOIN unnest(r.steps) s USING (group_no, rollout_no, step_rank) JOIN unnest(r.rollouts) ro USING (group_no, rollout_no)
	WHERE d.group_no = of_group AND d.kind = of_kind
	GROUP BY p.shown;
END;
COMMENT ON FUNCTION stepadv_internal.report_decisive_table(stepadv_internal.report, integer, text) IS 'part of stepadv-report: the steps that stand out';

-- Where it is decided: states, by how sure their best action is better than their worst.
CREATE FUNCTION stepadv_internal.report_decision_table(r stepadv_internal.report, of_group integer, max_rows integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT '<div class="scroll"><table class="steps"><colgroup><col style="width:84px"/><col style="width:58px"/><col style="width:66px"/><col style="width:110px"/><col/><col/><col/></colgroup><tr><th class="n">visits</th><th class="n">tried</th><th class="n">entropy</th><th class="n">gap</th><th>saw</th><th>best did</th><th>worst did</th></tr>'
		|| string_agg(format(E'\n<tr><td class="n">%s <span class="dim" title="by so many rollouts">/ %s</span></td><td class="n">%s</td><td class="n">%s</td><td class="n">%s <span class="dim">± %s</span></td><td class="text"><bdi>%s</bdi></td><td class="text"><span class="dim">%s × q %s</span> <bdi>%s</bdi></td><td class="text"><span class="dim">%s × q %s</span> <bdi>%s</bdi></td></tr>',
			d.visits, d.rollouts, d.actions, stepadv_internal.report_number(d.entropy, 2, false), stepadv_internal.report_number(d.gap, 2, false), stepadv_internal.report_number(d.gap_error, 2, false), stepadv_internal.report_html(coalesce(nullif(d.observed, ''), '(nothing)')),
			d.best_visits, stepadv_internal.report_number(d.best_q, 2, false), stepadv_internal.report_html(coalesce(nullif(d.best, ''), '(nothing)')),
			d.worst_visits, stepadv_internal.report_number(d.worst_q, 2, false), stepadv_internal.report_html(coalesce(nullif(d.worst, ''), '(nothing)'))), '' ORDER BY d.place)
		|| '</table></div>'
	FROM unnest(r.decisions) d WHERE d.group_no = of_group AND d.place <= max_rows HAVING count(*) > 0;
END;
COMMENT ON FUNCTION stepadv_internal.report_decision_table(stepadv_internal.report, integer, integer) IS 'part of stepadv-report: where it is decided';

-- A step of a rollout by its number: a link to its strip, and what it did.
CREATE FUNCTION stepadv_internal.report_step_cells(r stepadv_internal.report, of_group integer, rollout integer, number integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT coalesce((SELECT format('<td class="n"><a href="#g%sr%ss%s">%s</a></td><td class="text"><bdi>%s</bdi></td>', s.group_no, s.rollout_no, s.step_rank, s.step_no, stepadv_internal.report_html(coalesce(nullif(s.done, ''), '(nothing)')))
		FROM unnest(r.steps) s WHERE s.group_no = of_group AND s.rollout_no = rollout AND s.step_no = number), '<td class="n">·</td><td class="dim">·</td>');
END;
COMMENT ON FUNCTION stepadv_internal.report_step_cells(stepadv_internal.report, integer, integer, integer) IS 'part of stepadv-report: a step of a rollout by its number';

-- Where failed rollouts were lost, the largest fall of the value first.
CREATE FUNCTION stepadv_internal.report_failure_table(r stepadv_internal.report, of_group integer, max_rows integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT '<div class="scroll"><table class="steps"><colgroup><col style="width:150px"/><col style="width:52px"/><col/><col style="width:52px"/><col/><col style="width:58px"/><col style="width:52px"/><col/></colgroup><tr><th>rollout</th><th class="n">step</th><th>last chance</th><th class="n">step</th><th>into a dead end</th><th class="n">fall</th><th class="n">step</th><th>largest fall of the value</th></tr>'
		|| string_agg(format(E'\n<tr><td>%s</td>%s%s<td class="n">%s</td>%s</tr>', stepadv_internal.report_rollout_name(ro.rollout_id, ro.success), stepadv_internal.report_step_cells(r, f.group_no, f.rollout_no, f.last_chance),
			stepadv_internal.report_step_cells(r, f.group_no, f.rollout_no, f.dead_end), stepadv_internal.report_number(f.value_drop, 2, false), stepadv_internal.report_step_cells(r, f.group_no, f.rollout_no, f.dropped)), '' ORDER BY f.place)
		|| '</table></div>'
	FROM (SELECT *, row_number() OVER (ORDER BY value_drop DESC NULLS LAST, rollout_no) AS place FROM unnest(r.failures) WHERE group_no = of_group) f JOIN unnest(r.rollouts) ro USING (group_no, rollout_no)
	WHERE f.place <= max_rows HAVING count(*) > 0;
END;
COMMENT ON FUNCTION stepadv_internal.report_failure_table(stepadv_internal.report, integer, integer) IS 'part of stepadv-report: where failed rollouts were lost';

-- What a reader should know of a group before its colours.
CREATE FUNCTION stepadv_internal.report_notices(r stepadv_internal.report, g stepadv_internal.report_group) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT coalesce(string_agg(format('<p class="notice">%s</p>', n), E'\n'), '') FROM unnest(ARRAY[
		CASE WHEN g.n_judged = 0 THEN 'No rollout of this group is judged yet: there is nothing to estimate, so cells are empty.'
			WHEN g.n_judged < g.n_rollouts THEN format('%s of %s rollouts are not judged yet: they take no part in the estimates.', g.n_rollouts - g.n_judged, g.n_rollouts) END,
		CASE WHEN g.n_judged = 1 THEN 'Only one rollout is judged: there is no other to compare it with.'
			WHEN g.n_judged > 1 AND g.uniform THEN 'All judged rollouts have the same return: methods that compare rollouts have nothing to say here, and give 0.' END,
		CASE WHEN g.n_steps = 0 THEN 'No rollout of this group has a step.' END,
		CASE WHEN NOT r.has_states THEN 'The table has no states, so there is neither tree nor graph, and no method that compares steps of one state.'
			WHEN g.n_judged > 1 AND g.n_steps > 0 AND g.n_shared_states = 0 THEN 'No state was visited by two rollouts: methods that compare steps of one state have little to go by.' END]) n
	WHERE n IS NOT NULL;
END;
COMMENT ON FUNCTION stepadv_internal.report_notices(stepadv_internal.report, stepadv_internal.report_group) IS 'part of stepadv-report: what a reader should know of a group before its colours';

-- What is wrong with the rows, as the view _problems has it.
CREATE FUNCTION stepadv_internal.report_problem_table(r stepadv_internal.report, of_group integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT '<h3>What is wrong with the rows</h3><div class="scroll"><table><tr><th>rollout</th><th class="n">first step</th><th>problem</th><th class="n">rows</th><th>what it did</th></tr>'
		|| string_agg(format('<tr><td><bdi>%s</bdi></td><td class="n">%s</td><td>%s</td><td class="n">%s</td><td>%s</td></tr>', stepadv_internal.report_html(stepadv_internal.report_short(coalesce(p.rollout_id, '·'), 60)), coalesce(p.step_no::text, '·'),
			stepadv_internal.report_html(p.problem), p.n_rows, stepadv_internal.report_html(p.effect)), '' ORDER BY p.i) FILTER (WHERE p.i <= 50)
		|| '</table></div>' || CASE WHEN count(*) > 50 THEN format('<p class="note">And %s more.</p>', count(*) - 50) ELSE '' END
	FROM (SELECT *, row_number() OVER (ORDER BY rollout_id, problem) AS i FROM unnest(r.problems) WHERE group_no = of_group) p HAVING count(*) > 0;
END;
COMMENT ON FUNCTION stepadv_internal.report_problem_table(stepadv_internal.report, integer) IS 'part of stepadv-report: what is wrong with the rows of a group';

CREATE FUNCTION stepadv_internal.report_legend(r stepadv_internal.report, of_group integer) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format('<div class="legend"><span><i class="n5"></i><i class="n4"></i><i class="n3"></i><i class="n2"></i><i class="n1"></i><i class="z"></i><i class="p1"></i><i class="p2"></i><i class="p3"></i><i class="p4"></i><i class="p5"></i></span><span>negative … 0 … positive advantage</span><span><i class="u"></i> no estimate</span><span><i class="key"></i> underlined: in a table below</span><span>Each method has a scale of its own: full colour is its largest |advantage| in this group (%s).%s</span></div>',
		string_agg(format('%s %s', l.method, stepadv_internal.report_number(l.largest, 3, false)), ', ' ORDER BY l.method_no), ' Not drawn: ' || r.hidden || '.')
	FROM unnest(r.scales) l WHERE l.method_no = ANY (r.drawn) AND l.group_no = of_group HAVING count(*) > 0;
END;
COMMENT ON FUNCTION stepadv_internal.report_legend(stepadv_internal.report, integer) IS 'part of stepadv-report: what the colours mean';

-- The page -------------------------------------------------------------------

CREATE FUNCTION stepadv_internal.report_head(r stepadv_internal.report, title text, css text, chosen boolean) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format($page$<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/><meta name="referrer" content="no-referrer"/>
<title>%1$s</title>
<style>
%2$s
</style></head><body>
<h1>%1$s</h1><p class="note">%3$s, methods %4$s.</p>$page$,
	stepadv_internal.report_html(coalesce(nullif(title, ''), 'Rollouts of ' || CASE WHEN cardinality(r.groups) = 1 THEN 'group ' || stepadv_internal.report_short(r.groups[1].name, 100) ELSE r.source END)),
	css, stepadv_internal.report_html('From ' || r.source || CASE WHEN chosen THEN ', chosen groups' ELSE '' END), array_to_string(r.methods, ', '));
END;
COMMENT ON FUNCTION stepadv_internal.report_head(stepadv_internal.report, text, text, boolean) IS 'part of stepadv-report: how a page begins; css is a style sheet';

-- All groups, where there is more than one.
CREATE FUNCTION stepadv_internal.report_overview(r stepadv_internal.report, max_full integer, max_groups integer) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT p.part FROM (VALUES
		(1, (SELECT '<div class="tiles">' || stepadv_internal.report_tile(count(*)::text, 'groups') || stepadv_internal.report_tile(sum(n_rollouts)::text, 'rollouts')
	|| stepadv_internal.report_tile(sum(n_steps)::text, 'steps') || stepadv_internal.report_tile(stepadv_internal.report_percent(sum(n_judged) / nullif(sum(n_rollouts), 0)::float8), 'of rollouts judged')
	|| stepadv_internal.report_tile(stepadv_internal.report_percent(sum(success_rate * n_judged) / nullif(sum(n_judged), 0)), 'of these succeeded')
	|| stepadv_internal.report_tile(count(*) FILTER (WHERE NOT uniform AND n_judged > 1)::text, 'groups with unequal returns')
	|| stepadv_internal.report_tile(count(*) FILTER (WHERE uniform AND n_judged > 1)::text, 'with equal returns')
	|| stepadv_internal.report_tile(count(*) FILTER (WHERE n_judged < 2)::text, 'with fewer than two judged')
	|| CASE WHEN r.has_states THEN stepadv_internal.report_tile(stepadv_internal.report_percent(sum(shared_step_share * n_steps) / nullif(sum(n_steps), 0)), 'of steps in shared states') ELSE '' END || '</div>'
FROM unnest(r.groups))),
		(2, (SELECT format(E'<h3>What %s and %s say of all steps</h3><p class="note">Steps by the signs of their two advantages.</p>\n%s', r.method_a, r.method_b, t) FROM stepadv_internal.report_quadrant_table(r, NULL::integer) t WHERE t IS NOT NULL)),
		(3, (SELECT '<h3>Groups</h3><p class="note">Those first whose rollouts differ most in success and share states. Under rollouts: a bar for each, tall green for success, short red for failure, empty for not judged.'
	|| CASE WHEN count(*) > max_groups THEN format(' %s more groups are not listed.', count(*) - max_groups) ELSE '' END
	|| '</p><div class="scroll"><table><tr><th>group</th><th>rollouts</th><th>success rate</th><th class="n">mean return</th><th class="n">sd</th><th class="n">steps</th><th class="n">shared states</th><th class="n">steps in them</th><th></th></tr>'
FROM unnest(r.groups))),
		(4, (SELECT string_agg(format('<tr><td class="group">%s</td><td><span class="outcomes">%s</span></td><td>%s</td><td class="n">%s</td><td class="n">%s</td><td class="n">%s</td><td class="n">%s</td><td class="n">%s</td><td class="dim">%s</td></tr>',
	format(CASE WHEN g.group_no <= max_full THEN '<a href="#g' || g.group_no || '">%s</a>' ELSE '%s' END, '<bdi>' || stepadv_internal.report_html(stepadv_internal.report_short(name, 80)) || '</bdi>'),
	o.outcomes,
	CASE WHEN success_rate IS NOT NULL THEN format('<span class="bar" style="--v:%s"></span>%s', round(success_rate::numeric, 3), stepadv_internal.report_percent(success_rate)) ELSE '·' END,
	stepadv_internal.report_number(mean_return, 2, false), stepadv_internal.report_number(sd_return, 2, false), n_steps, n_shared_states, stepadv_internal.report_percent(shared_step_share),
	CASE WHEN n_judged = 0 THEN 'not judged' WHEN n_judged = 1 THEN 'one judged' WHEN uniform THEN 'all equal' ELSE 'mixed' END), E'\n' ORDER BY g.group_no)
	FROM unnest(r.groups) g LEFT JOIN (
		SELECT o.group_no, string_agg(format('<i class="%s" title="%s"></i>', v.class, stepadv_internal.report_html(format('%s: %s, return %s, %s steps', stepadv_internal.report_short(o.rollout_id, 60), v.word, stepadv_internal.report_number(o.return, 3, false), o.n_steps))), '' ORDER BY o.rollout_no) AS outcomes
		FROM unnest(r.rollouts) o, stepadv_internal.report_verdict(o.success) v GROUP BY o.group_no) o ON o.group_no = g.group_no
	WHERE g.group_no <= max_groups)),
		(5, '</table></div>')) p(i, part)
	WHERE p.part IS NOT NULL ORDER BY p.i;
END;
COMMENT ON FUNCTION stepadv_internal.report_overview(stepadv_internal.report, integer, integer) IS 'part of stepadv-report: all groups of a page';

-- A group in full.
CREATE FUNCTION stepadv_internal.report_in_full(r stepadv_internal.report, g stepadv_internal.report_group, max_steps integer) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT p.part FROM unnest(ARRAY[
	format('<h2 id="g%s">Group <bdi>%s</bdi></h2>', g.group_no, stepadv_internal.report_html(stepadv_internal.report_short(g.name, 200))),
	stepadv_internal.report_notices(r, g),
	'<div class="tiles">' || stepadv_internal.report_tile(g.n_rollouts::text, 'rollouts') || stepadv_internal.report_tile(g.n_judged::text, 'judged') || stepadv_internal.report_tile(g.n_steps::text, 'steps')
		|| stepadv_internal.report_tile(stepadv_internal.report_percent(g.success_rate), 'success rate') || stepadv_internal.report_tile(stepadv_internal.report_number(g.mean_return, 3, false), 'mean return') || stepadv_internal.report_tile(stepadv_internal.report_number(g.sd_return, 3, false), 'sd of returns')
		|| CASE WHEN r.has_states AND g.n_judged > 0 THEN stepadv_internal.report_tile(g.n_states::text, 'states') || stepadv_internal.report_tile(g.n_shared_states::text, 'shared by rollouts') || stepadv_internal.report_tile(stepadv_internal.report_percent(g.shared_step_share), 'of steps in them') ELSE '' END || '</div>',
	stepadv_internal.report_problem_table(r, g.group_no),
	'<h3>Advantages, step by step</h3>',
	stepadv_internal.report_legend(r, g.group_no), stepadv_internal.report_strips(r, g.group_no),
	format('<h3>Where %s and %s agree</h3><p class="note">Steps by the signs of their two advantages.</p>', r.method_a, r.method_b) || stepadv_internal.report_quadrant_table(r, g.group_no),
	format('<h3>Steps with the largest advantage by %s</h3>', r.methods[r.main])
		|| CASE WHEN r.methods[r.main] = r.told AND r.told_function IN ('rtmc', 'batch_td') THEN
			format('<p class="note">took: so many of the visits to the state took the action; q: %s; %s = q − v. Steps in states that were visited once come last.</p>',
				CASE r.told_function WHEN 'rtmc' THEN 'their mean return; v: that of all visits, drawn to the prior''s mean while they are few'
					ELSE 'the mean, over them, of the reward and the discounted value of the state that came next; v: the same over all visits' END, r.told) ELSE '' END
		|| stepadv_internal.report_decisive_table(r, g.group_no, 'advantage'),
	format('<h3>Steps on which %s and %s differ most</h3><p class="note">Each method is measured in its root mean square over the steps of the group.</p>', r.method_a, r.method_b) || stepadv_internal.report_decisive_table(r, g.group_no, 'difference'),
	'<h3>Where it is decided</h3><p class="note">States in which several actions were tried, those first whose best and worst are farthest apart, in units of their error; q: what the action was worth, after so many visits.</p>' || stepadv_internal.report_decision_table(r, g.group_no, max_steps),
	'<h3>Where failed rollouts were lost</h3><p class="note">Last chance: the last step from a state that a successful rollout was in. Dead end: after it no step that anybody took leads to the goal.</p>' || stepadv_internal.report_failure_table(r, g.group_no, max_steps),
	(SELECT string_agg(format('%s<div class="picture">%s<!--svg %s-->%s</div>', format(CASE kind
			WHEN 'tree' THEN '<h3>The rollout tree</h3><p class="note">Circles are states (v, visits), edges actions (visits, %1$s advantage): green where rollouts end in success, red in failure, grey where they were cut off.</p>'
			ELSE '<h3>The state graph</h3><p class="note">Boxes are states (d: steps to the goal%3$s, visits), green near the goal, red a dead end; edges are actions (visits, %2$s advantage): green where they come nearer to the goal, red where they lead to a dead end.</p>' END,
				r.told, CASE WHEN r.told = 'rtmc' THEN 'graphgpo' ELSE r.told END, CASE WHEN r.told <> 'rtmc' THEN ', v' END),
			E'\n', picture_no, E'\n'), E'\n' ORDER BY picture_no)
		FROM unnest(r.pictures) WITH ORDINALITY p(group_no, kind, dot, picture_no) WHERE p.group_no = g.group_no)]) WITH ORDINALITY p(part, i)
	WHERE p.part <> '' ORDER BY p.i;
END;
COMMENT ON FUNCTION stepadv_internal.report_in_full(stepadv_internal.report, stepadv_internal.report_group, integer) IS 'part of stepadv-report: a group with its steps';

CREATE FUNCTION stepadv_internal.report_page(schema text, prefix text, key text[], name_like text, max_full integer, max_groups integer, max_steps integer,
	methods text[], observed text, done text, max_edges integer, title text, css text) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	r CONSTANT stepadv_internal.report := stepadv_internal.report(report_page.schema, report_page.prefix, report_page.key, report_page.name_like,
		report_page.max_full, report_page.max_groups, report_page.max_steps, report_page.methods, report_page.observed, report_page.done, report_page.max_edges);
	g stepadv_internal.report_group;
BEGIN
	RETURN NEXT stepadv_internal.report_head(r, report_page.title, report_page.css, report_page.key <> '{}' OR report_page.name_like IS NOT NULL);
	IF cardinality(r.groups) = 0 THEN
		RETURN NEXT '<p class="notice">There are no rollouts.</p>';
	ELSIF cardinality(r.groups) > 1 THEN
		RETURN QUERY SELECT stepadv_internal.report_overview(r, report_page.max_full, report_page.max_groups);
	END IF;
	FOREACH g IN ARRAY r.groups[1:report_page.max_full] LOOP
		RETURN QUERY SELECT stepadv_internal.report_in_full(r, g, report_page.max_steps);
	END LOOP;
	RETURN NEXT format('<footer>stepadv %s · %s</footer></body></html>', (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'stepadv'), to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'));
	RETURN QUERY SELECT format(E'<!--dot %s-->\n%s', p.i, p.dot) FROM unnest(r.pictures) WITH ORDINALITY p(group_no, kind, dot, i) ORDER BY p.i;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_page(text, text, text[], text, integer, integer, integer, text[], text, text, integer, text, text) IS
'part of stepadv-report: HTML with a line <!--svg N--> where a picture goes, then each picture''s Graphviz text after a line <!--dot N-->; nothing else can look like these lines, since in all text from the database < is written &lt;. Reads only';

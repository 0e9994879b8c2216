-- attach, add_views, drop_views, attachments: adapters over a user's relation, and the views over them.

-- Drops what is left of an attachment whose adapter was dropped with its source:
-- its table, and the relations named in its row that still have attach's prefix and
-- the same owner.  Relations of other roles are neither read nor dropped.
CREATE FUNCTION stepadv_internal.drop_orphan(schema text, name text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	orphan record;
	a stepadv.attachment;
	left_over record;
BEGIN
	SELECT c.oid, c.relowner INTO orphan FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = schema AND c.relname = name AND c.relkind = 'r' AND c.reloftype = 'stepadv.attachment'::regtype
		AND stepadv_internal.owns(c.oid::regclass, false);
	IF NOT FOUND OR (stepadv_internal.known(orphan.oid::regclass)).attachment IS NOT NULL THEN
		RETURN;
	END IF;
	EXECUTE format('SELECT * FROM ONLY %s', stepadv_internal.relation_name(orphan.oid::regclass)) INTO a;
	SELECT string_agg(stepadv_internal.relation_name(c.oid::regclass), ', ') FILTER (WHERE c.relkind = 'v') AS views,
		string_agg(stepadv_internal.relation_name(c.oid::regclass), ', ') FILTER (WHERE c.relkind = 'r') AS tables
	INTO left_over
	FROM pg_class c
	WHERE c.oid = ANY (a.views || ARRAY[a.rows, a.stated, a.shown, a.shown_rollouts, a.began, a.fresh,
		a.folded, a.changed,
			a.fresh_digests, a.made_digests, a.digests, a.seen])
		AND c.relowner = orphan.relowner AND left(c.relname, length(a.prefix) + 1) = a.prefix || '_';
	IF left_over.views IS NOT NULL THEN
		EXECUTE 'DROP VIEW ' || left_over.views;
	END IF;
	EXECUTE 'DROP TABLE ' || concat_ws(', ', stepadv_internal.relation_name(orphan.oid::regclass), left_over.tables);
END
$$;
COMMENT ON FUNCTION stepadv_internal.drop_orphan(text, text) IS
'part of attach: drops the rest of an attachment whose adapter no longer exists';

-- Creates the adapters, then the attachment's table with its row.
CREATE FUNCTION stepadv_internal.make_attachment(g stepadv_internal.given, schema text, prefix text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source_name CONSTANT text := stepadv_internal.relation_name(g.source);
	table_name CONSTANT text := format('%I.%I', schema, prefix || '_attachment');
	a stepadv.attachment;
	query text;
BEGIN
	IF octet_length(prefix || '_attachment') > current_setting('max_identifier_length')::integer THEN
		RAISE EXCEPTION 'the name of table "%" is longer than % bytes', prefix || '_attachment',
			current_setting('max_identifier_length')
			USING ERRCODE = 'name_too_long', HINT = 'Give a shorter prefix.';
	END IF;
	PERFORM stepadv_internal.drop_orphan(schema, prefix || '_attachment');
	a.prefix := prefix;
	a.n_group_columns := cardinality(g.group_by);
	a.states := g.states;
	a.options := g.options;
	a.unit := g.unit;
	a.rewards := g.rewards;
	a.dimensions := g.dimensions;
	a.methods := ARRAY(SELECT jsonb_array_elements_text(CASE WHEN jsonb_typeof(g.options -> 'methods') = 'array'
		THEN g.options -> 'methods' ELSE '[]' END));
	-- This checks all arguments before any object is created.
	query := stepadv_internal.rows_query(g);
	a.rows := stepadv_internal.create_adapter(schema, prefix || '_rows', query, 'what is folded of ' || source_name);
	a.stated := stepadv_internal.create_adapter(schema, prefix || '_rows_with_states', CASE g.states WHEN 'signature'
		THEN stepadv_internal.states_query(g, a.rows) END,
		format('what is folded of %s, with states derived from tool calls', source_name));
	a.shown := stepadv_internal.create_adapter(schema, prefix || '_shown_steps', stepadv_internal.shown_query(g),
		'what is shown beside a step of ' || source_name);
	a.shown_rollouts := stepadv_internal.create_adapter(schema, prefix || '_shown_rollouts',
		CASE WHEN g.rollouts IS NOT NULL THEN stepadv_internal.shown_rollouts_query(g) END,
			'what is shown beside a rollout of ' || source_name);
	a.began := stepadv_internal.create_adapter(schema, prefix || '_begun_runs', stepadv_internal.began_query(g),
		'policy version and start of the rollouts of ' || source_name || ', as its own rows say');
	PERFORM stepadv_internal.check_distribution(array_remove(ARRAY[a.rows, a.shown, a.shown_rollouts], NULL),
		a.n_group_columns);
	EXECUTE format('CREATE TABLE %s OF stepadv.attachment', table_name);
	EXECUTE format('COMMENT ON TABLE %s IS %L', table_name, 'what stepadv.attach made over ' || source_name
		|| '; dropped by detach');
	EXECUTE format('INSERT INTO %s SELECT ($1).*', table_name) USING a;
	RETURN table_name::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_attachment(stepadv_internal.given, text, text) IS
'part of attach: creates the adapters and the table of the attachment, with its row';

-- A history is looked up by the task, and then each of its groups by its key.
CREATE FUNCTION stepadv_internal.warn_of_history(a stepadv_internal.attached) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- made_methods calls each method, so skip it if no option mentions a history.
	IF strpos((a).options::text, '"history"') = 0 OR NOT EXISTS (
		SELECT FROM stepadv_internal.made_methods(a, ARRAY(SELECT k FROM stepadv_internal.methods_of(a) k)) m
		WHERE m.takes_history AND stepadv_internal.history_reach(m.method, m.settings) IS NOT NULL) THEN
		RETURN;
	ELSIF NOT stepadv_internal.by_group((a).rows, (a).n_group_columns) THEN
		RAISE WARNING 'no index of % begins with the columns of the group', stepadv_internal.relation_name((a).source)
			USING DETAIL = 'For each group of the history of a group, all rows are read.',
				HINT = 'Make the index, or call maintain.';
	END IF;
	IF EXISTS (SELECT FROM stepadv_internal.history_roles(a) h WHERE h.role = 'task_id' AND h.key IS NULL
		AND h.view = (a).began) THEN
		RAISE WARNING 'task_id is neither a column of the group nor one of the relation given as show_rollouts'
			USING DETAIL = 'To find the history of a group, all rows are read.',
				HINT = 'Name the task''s column in group_by, too.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.warn_of_history(stepadv_internal.attached) IS
'part of attach: warnings if a history cannot be found by an index';

-- states => 'auto'.  views: with state_average, if several states are as good.
CREATE FUNCTION stepadv_internal.states_by_credit(INOUT g stepadv_internal.given, INOUT views text[], schema text,
	prefix text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	chosen record;
	averaged jsonb;			-- the states that state_average takes
BEGIN
	g.states := CASE WHEN g.roles ? 'tool' THEN 'signature' END;
	-- Attach temporarily, to choose from; the exception rolls the subtransaction back.
	BEGIN
		PERFORM stepadv_internal.make_attachment(g, schema, prefix);
		-- attach cannot make states of text clusters or of the last category.
		SELECT c.* INTO chosen FROM (
			SELECT c.state, c.finding, c.score, min(c.p_value) OVER () AS p,
				array_agg(c.state) FILTER (WHERE c.is_best) OVER () AS best
			FROM stepadv_internal.choose_state(g.source, CASE WHEN g.roles ?& '{state,tool}' AND g.steps = g.source
				AND g.columns IS NULL THEN jsonb_build_object('observation', quote_ident(g.roles ->> 'state'))
				ELSE '{}' END, NULL::text, 'batch_td'::text, 40, prefix) c) c
		WHERE c.state NOT IN ('text cluster', 'last category') ORDER BY c.score DESC NULLS LAST, c.state LIMIT 1;
		RAISE SQLSTATE 'SA000';
	EXCEPTION WHEN SQLSTATE 'SA000' THEN
	END;
	IF chosen IS NULL THEN
		RAISE EXCEPTION 'states ''auto'' need groups to choose by'
			USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Name the states, or attach when there are rollouts.';
	ELSIF chosen.p <= 0.05 THEN
		-- The attached states and those from actions can be computed from the same group.
		averaged := jsonb_build_object('attached', chosen.best && '{as attached,observation}', 'last_actions',
			'last two actions' = ANY (chosen.best), 'action_set', 'set of actions' = ANY (chosen.best));
		IF 'stateless' <> ALL (chosen.best)
			AND (SELECT count(*) > 1 FROM jsonb_each(averaged) e WHERE e.value = 'true') THEN
			g.options := jsonb_build_object('state_average', averaged) || g.options;
			views := coalesce(views, '{default}') || 'state_average'::text;
			chosen.state := CASE WHEN 'as attached' = ANY (chosen.best) THEN 'as attached'
				WHEN 'observation' = ANY (chosen.best) THEN 'observation' ELSE chosen.state END;
		END IF;
		RAISE NOTICE 'states are "%": %', chosen.state, chosen.finding
			USING DETAIL = format('Among the best: %s.', array_to_string(chosen.best, ', ')),
				HINT = CASE WHEN chosen.best && '{text cluster,last category}' THEN 'For states that attach cannot '
					'make, text cluster and last category, add a column to the source and give it as state.'
					WHEN 'state_average' = ANY (views) THEN 'The view _state_average averages these states.'
					ELSE 'Attach again when there are more groups.' END;
	ELSE
		RAISE NOTICE '%', chosen.finding
			USING HINT = 'States are ''root''. Attach again when there are more groups.';
	END IF;
	g.states := CASE WHEN chosen.p > 0.05 OR chosen.p IS NULL OR chosen.state = 'stateless' THEN 'root'
		WHEN chosen.state = 'last two actions' THEN 'history_last'
		WHEN chosen.state = 'set of actions' THEN 'history_set'
		WHEN chosen.state = 'observation' THEN 'observation' ELSE g.states END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.states_by_credit(stepadv_internal.given, text[], text, text) IS
'part of attach: the arguments with the states that show credit best in the groups, instead of ''auto''; error if '
'there are no groups';

CREATE FUNCTION stepadv_internal.attach(source regclass, group_by text[], rollout_id text, step_no text, state text,
	action text, reward text,
	columns jsonb, views text[], prefix text, schema text, options jsonb)
RETURNS TABLE (view_name regclass, description text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
	g stepadv_internal.given;
	attachment regclass;
	a stepadv_internal.attached;
	home record;
	chosen record;
BEGIN
	PERFORM stepadv_internal.check_columns(coalesce(columns, '{}'));
	g := stepadv_internal.given(source, group_by, coalesce(columns, '{}')
		|| jsonb_strip_nulls(jsonb_build_object('rollout_id', rollout_id, 'step_no', step_no, 'state', state, 'action',
			action, 'reward', reward)), coalesce(options, '{}'));
	PERFORM stepadv_internal.check_given(g);
	PERFORM stepadv_internal.check_relations(g);
	SELECT n.nspname AS schema, c.relname AS prefix INTO home FROM pg_class c JOIN pg_namespace n
		ON n.oid = c.relnamespace WHERE c.oid = source;
	schema := coalesce(schema, home.schema);
	prefix := coalesce(prefix, home.prefix);
	IF NOT EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = schema) THEN
		RAISE EXCEPTION 'schema "%" does not exist', schema USING ERRCODE = 'invalid_schema_name';
	END IF;
	-- A primary key of one column identifies a step.
	IF NOT g.roles ? 'step_id' THEN
		g.roles := g.roles || coalesce((SELECT jsonb_build_object('step_id', c.attname) FROM pg_index i
			JOIN pg_attribute c ON c.attrelid = i.indrelid AND c.attnum = i.indkey[0]
			WHERE i.indrelid = source AND i.indisprimary AND i.indnkeyatts = 1), '{}');
	END IF;
	-- By default, a step is grounded if its tool call succeeded (column ok).
	IF NOT g.roles ? 'grounded' AND g.roles ?| '{features,contribution}' AND stepadv_internal.column_type(g.steps,
		g.roles ->> 'ok') IS NOT NULL THEN
		g.roles := g.roles || jsonb_build_object('grounded', g.roles ->> 'ok');
	END IF;
	IF g.states = 'auto' THEN
		chosen := stepadv_internal.states_by_credit(g, views, schema, prefix);
		g := chosen.g;
		views := chosen.views;
	END IF;
	attachment := stepadv_internal.make_attachment(g, schema, prefix);
	a := stepadv_internal.known(attachment);
	PERFORM stepadv_internal.check_instances(a);
	PERFORM stepadv_internal.check_options(a, g.roles ? 'tool');
	RETURN QUERY SELECT v.view, obj_description(v.view, 'pg_class') FROM unnest(ARRAY[a.rows, a.stated, a.shown,
		a.shown_rollouts, a.began]) WITH ORDINALITY v(view, i)
		WHERE v.view IS NOT NULL ORDER BY v.i;
	RETURN QUERY SELECT m.view_name, m.description FROM stepadv_internal.make_views(attachment,
		coalesce(views, '{default}')) m;
	PERFORM stepadv_internal.warn_of_history(a);
END
$$;
COMMENT ON FUNCTION stepadv_internal.attach(regclass, text[], text, text, text, text, text, jsonb, text[], text, text,
	jsonb) IS
'what attach does, as the owner of the source where the caller has their rights';

CREATE FUNCTION stepadv.attach(source regclass, group_by text[], rollout_id text, step_no text,
	state text DEFAULT NULL, action text DEFAULT NULL, reward text DEFAULT NULL, columns jsonb DEFAULT '{}',
	views text[] DEFAULT '{default}', prefix text DEFAULT NULL, schema text DEFAULT NULL, options jsonb DEFAULT '{}')
RETURNS TABLE (view_name regclass, description text)
LANGUAGE c ROWS 20
AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.attach(regclass, text[], text, text, text, text, text, jsonb, text[], text, text, jsonb) IS
'creates views over a table or view of steps: <prefix>_rows (your columns by role) and the named views (''default'', '
'''all'', names). columns: further roles, {"success": "won"}; options: of views and methods, {"rtmc": {"gamma": '
'0.9}}, and "states", "unit", "show_rollouts". Returns a row per view';

-- ---- add_views and drop_views

CREATE FUNCTION stepadv_internal.add_views(source regclass, views text[], prefix text)
	RETURNS TABLE (view_name regclass, description text)
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT m.view_name, m.description
	FROM stepadv_internal.make_views(stepadv_internal.own_attachment(add_views.source, add_views.prefix),
		coalesce(add_views.views, '{}')) m
$$;
COMMENT ON FUNCTION stepadv_internal.add_views(regclass, text[], text) IS
'what add_views does, as the owner of the source where the caller has their rights';

CREATE FUNCTION stepadv.add_views(source regclass, views text[], prefix text DEFAULT NULL)
	RETURNS TABLE (view_name regclass, description text)
LANGUAGE c ROWS 20
AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.add_views(regclass, text[], text) IS
'adds views over the source (names, ''default'', ''all'') and recreates all its other views; views of several '
'methods get columns for new methods; returns a row per added view';

CREATE FUNCTION stepadv_internal.drop_views(source regclass, views text[], prefix text) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET client_min_messages = warning SET lock_timeout = '10s'
AS $$
DECLARE
	attachment CONSTANT regclass := stepadv_internal.own_attachment(drop_views.source, drop_views.prefix);
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	dropped regclass[];
	name text;
BEGIN
	FOREACH name IN ARRAY drop_views.views LOOP
		IF name IS NULL OR name <> ALL ((a).view_kinds) THEN
			PERFORM stepadv_internal.refuse_name('view'::text, name, (a).view_kinds);
		ELSIF name = 'values' AND (a).kept IS NOT NULL THEN
			RAISE EXCEPTION 'view "values" is materialized by maintain'
				USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Call unmaintain first.';
		END IF;
	END LOOP;
	dropped := ARRAY(SELECT v.view FROM unnest((a).view_kinds, (a).views) v(kind, view)
		WHERE v.kind = ANY (drop_views.views) AND v.view IS NOT NULL);
	IF dropped <> '{}' THEN
		EXECUTE 'DROP VIEW ' || (SELECT string_agg(stepadv_internal.relation_name(v), ', ') FROM unnest(dropped) v);
	END IF;
	EXECUTE format('UPDATE %s SET (view_kinds, views) = (SELECT array_agg(k.kind ORDER BY k.i), array_agg(k.view ORDER '
		'BY k.i)
		FROM unnest(view_kinds, views) WITH ORDINALITY k(kind, view, i) WHERE k.kind <> ALL ($1))',
			stepadv_internal.relation_name(attachment)) USING drop_views.views;
	PERFORM stepadv_internal.make_views(attachment, '{}'::text[]);
	RETURN cardinality(dropped);
END
$$;
COMMENT ON FUNCTION stepadv_internal.drop_views(regclass, text[], text) IS
'what drop_views does, as the owner of the source where the caller has their rights';

CREATE FUNCTION stepadv.drop_views(source regclass, views text[], prefix text DEFAULT NULL) RETURNS integer
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.drop_views(regclass, text[], text) IS
'drops views of attach or add_views over the source, by the names used there; views of several methods lose the '
'columns of methods that are dropped; returns the number of views; error if another object depends on one';

-- ---- The public function attachments

CREATE FUNCTION stepadv.attachments()
RETURNS TABLE (source regclass, prefix text, schema name, owner regrole, group_by text[], states text, mode text,
	views jsonb)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT k.source, k.prefix, n.nspname, k.owner::regrole, stepadv_internal.group_columns(k.rows, k.n_group_columns),
		coalesce(k.states, CASE WHEN stepadv_internal.column_type(k.rows, 'state'::text) IS NOT NULL
			THEN 'observation' END), k.kept,
		(SELECT coalesce(jsonb_object_agg(v.kind, stepadv_internal.relation_name(v.view)), '{}')
			FROM unnest(k.view_kinds, k.views) v(kind, view) WHERE v.kind IS NOT NULL AND v.view IS NOT NULL)
	FROM stepadv_internal.attachments(NULL::oid, NULL::regclass) k JOIN pg_class t ON t.oid = k.attachment
		JOIN pg_namespace n ON n.oid = t.relnamespace
	ORDER BY stepadv_internal.relation_name(k.source), n.nspname, k.prefix
$$;
COMMENT ON FUNCTION stepadv.attachments() IS
'one row per attachment of the caller, or of roles whose privileges they have: source, prefix, schema, owner, group '
'columns, origin of states (NULL: none), how groups are kept (triggers, refresh, watermark; NULL: not kept), views '
'by kind';

-- Explains why relations could not be dropped; state: the SQLSTATE of the caught error.
CREATE FUNCTION stepadv_internal.refuse_drop(what text, state text, detail text, call text, relations regclass[])
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- dependent_objects_still_exist
	IF refuse_drop.state = '2BP01' THEN
		RAISE EXCEPTION '% cannot be dropped: other objects depend on it', what
			USING ERRCODE = state, DETAIL = refuse_drop.detail,
				HINT = format('Drop them first, or call %s with cascade => true.', call);
	END IF;
	-- The wait for locks timed out: name the sessions that hold them.
	RAISE EXCEPTION '% cannot be dropped: others use it', what
		USING ERRCODE = state, DETAIL = coalesce((
			SELECT string_agg(format('process %s%s holds %s', h.pid, ' of role ' || quote_ident(s.usename), h.names),
				'; ' ORDER BY h.pid)
			FROM (SELECT l.pid, string_agg(DISTINCT stepadv_internal.relation_name(l.relation::regclass), ', ') AS names
				FROM pg_locks l WHERE l.relation = ANY (relations || ARRAY(
						SELECT coalesce(r.ev_class, t.tgrelid, d.objid)::regclass
						FROM pg_depend d LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass
							AND r.oid = d.objid
						LEFT JOIN pg_trigger t ON d.classid = 'pg_trigger'::regclass AND t.oid = d.objid
						WHERE d.classid IN ('pg_class'::regclass, 'pg_rewrite'::regclass, 'pg_trigger'::regclass)
							AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (relations)))
					AND l.granted AND l.pid <> pg_backend_pid()
					AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
				GROUP BY l.pid) h
			LEFT JOIN pg_stat_activity s ON s.pid = h.pid), refuse_drop.detail);
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_drop(text, text, text, text, regclass[]) IS
'part of detach and unmaintain: error if something cannot be dropped, with the objects that depend on it or the '
'session that uses it';

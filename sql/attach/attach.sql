-- attach, detach: adapters over a relation that somebody has, and the views over them.

-- In the order in which attach gives them; place 0 comes before the methods.
INSERT INTO stepadv_internal.combined_views VALUES
	(0, 'values', 'stepadv_internal.values_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'the group as a value, for any function of rollout_group'),
	(1, 'ratios', 'stepadv_internal.ratios_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per step'),
	(2, 'spa', 'stepadv_internal.spa_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{model,alpha,beta,gamma,lambda}', 'a row per step'),
	(3, 'compare', 'stepadv_internal.compare_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{methods,success_above}', 'a row per step, an advantage per method'),
	(4, 'quadrants', 'stepadv_internal.quadrants_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{threshold}', 'a row per group, pair of methods, success and quadrant'),
	(5, 'disagreements', 'stepadv_internal.disagreements_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{threshold}', 'a row per step and pair of methods'),
	(6, 'groups_over_time', 'stepadv_internal.groups_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per group, policy version and time bucket, with counts and sums'),
	(7, 'progress_over_time', 'stepadv_internal.progress_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{bucket}', 'a row per policy version and time bucket'),
	(8, 'advantage_over_time', 'stepadv_internal.advantage_over_time_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per policy version, time bucket and method'),
	(9, 'advantages', 'stepadv_internal.advantages_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per step and method, of groups divided by policy version and time bucket'),
	(10, 'problems', 'stepadv_internal.problems_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per rollout, or group, and kind of problem that its rows have'),
	(11, 'credit_groups', 'stepadv_internal.credit_groups_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per group and method, to pool'),
	(12, 'credit_check', 'stepadv_internal.credit_check_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{methods,gamma,max_rollouts,max_groups,seed}', 'a row per method: does what it says come true?'),
	(13, 'credit_calibration', 'stepadv_internal.credit_calibration_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per tenth of the steps, by value of their state'),
	(14, 'advantage_by_group', 'stepadv_internal.advantage_by_group_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per group, policy version, time bucket and method, with counts, means and extremes'),
	(15, 'signs', 'stepadv_internal.signs_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per policy version, pair of methods, success and quadrant, of all groups'),
	(16, 'disagreement_by_group', 'stepadv_internal.disagreement_by_group_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per group, policy version and pair of methods that disagree, with the greatest difference'),
	(17, 'advantage_histogram', 'stepadv_internal.advantage_histogram_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{}', 'a row per policy version, time bucket, method and bin of advantages, with the number of steps');
INSERT INTO stepadv_internal.combined_views VALUES
	(40, 'decision_points', 'stepadv_internal.decision_points_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{method,gamma,prior,baseline,prior_mean,success_above}', 'a row per state, how much is decided there'),
	(41, 'failure_points', 'stepadv_internal.failure_points_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{method,gamma,prior,baseline,prior_mean,success_above}', 'a row per failed rollout, where it was lost'),
	(42, 'loops', 'stepadv_internal.loops_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{same,max_cycle,success_above}', 'a row per group, policy version and success, with the steps in loops'),
	(43, 'graph_summary', 'stepadv_internal.graph_summary_query(stepadv_internal.attached, stepadv_internal.made_method[])', '{success_above,max_bins}', 'a row per group, its state graph');

-- ---- What attach was told

-- Errors where what was given cannot be meant.
CREATE FUNCTION stepadv_internal.check_given(g stepadv_internal.given) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r CONSTANT jsonb := g.roles;
	needs text;
BEGIN
	IF g.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	ELSIF jsonb_typeof(g.options) <> 'object' THEN
		RAISE EXCEPTION 'options must be a JSON object, not %', g.options
			USING ERRCODE = 'invalid_parameter_value', HINT = 'For example {"rtmc": {"gamma": 0.9}}.';
	ELSIF coalesce(cardinality(g.group_by), 0) = 0 THEN
		RAISE EXCEPTION 'group_by must name at least one column' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM stepadv_internal.check_names('group_by'::text, g.group_by);
	IF NOT r ?& '{rollout_id,step_no}' THEN
		RAISE EXCEPTION '% must be given', CASE WHEN r ? 'rollout_id' THEN 'step_no' ELSE 'rollout_id' END USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT r ?| '{reward,success}' AND g.rewards IS NULL THEN
		RAISE EXCEPTION 'reward or success must be given' USING ERRCODE = 'null_value_not_allowed', HINT = 'Without either no rollout is ever judged.';
	ELSIF g.states NOT IN ('observation', 'observation_last', 'history', 'history_set', 'history_last', 'root', 'signature', 'embedding') THEN
		RAISE EXCEPTION 'unknown states: %', quote_literal(g.states) USING ERRCODE = 'invalid_parameter_value',
			HINT = 'states is ''observation'' (the column state), ''observation_last'', ''history'', ''history_set'', ''history_last'', ''root'', ''signature'' or ''embedding''.';
	END IF;
	PERFORM stepadv_internal.check_unit(coalesce(g.unit, 'step'), ''::text);
	IF g.unit <> 'step' AND NOT r ? 'turn' THEN
		RAISE EXCEPTION 'unit => % needs a column given as turn', quote_literal(g.unit) USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM stepadv_internal.check_names('rewards'::text, g.rewards);
	PERFORM stepadv_internal.check_names('dimensions'::text, g.dimensions);
	IF r ?| '{args,ok}' AND NOT r ? 'tool' THEN
		RAISE EXCEPTION '% is given without tool', CASE WHEN r ? 'args' THEN 'args' ELSE 'ok' END
			USING ERRCODE = 'null_value_not_allowed', HINT = 'A tool call is signed by tool, args and ok; they are columns.';
	ELSIF (r ? 'logp_new') <> (r ? 'logp_old') OR r ? 'token_mask' AND NOT r ? 'logp_new' THEN
		RAISE EXCEPTION '% must be given', CASE WHEN r ? 'logp_new' THEN 'logp_old' ELSE 'logp_new' END
			USING ERRCODE = 'null_value_not_allowed', HINT = 'A ratio needs both logp_new and logp_old; token_mask is for them.';
	ELSIF r ? 'logp_ref' AND NOT r ? 'logp_new' THEN
		RAISE EXCEPTION 'logp_new must be given' USING ERRCODE = 'null_value_not_allowed', HINT = 'What logp_ref is compared with is logp_new.';
	ELSIF r ? 'prompt_token_ids' AND NOT r ? 'response_token_ids' THEN
		RAISE EXCEPTION 'response_token_ids must be given' USING ERRCODE = 'null_value_not_allowed', HINT = 'What a prompt repeats is the prompt and the response of the step before.';
	ELSIF r ? 'ended_at' AND NOT r ? 'started_at' THEN
		RAISE EXCEPTION 'started_at must be given' USING ERRCODE = 'null_value_not_allowed', HINT = 'How long a rollout took needs both started_at and ended_at.';
	END IF;
	needs := CASE WHEN (g.states LIKE 'observation%' OR g.states = 'embedding') AND NOT r ? 'state' THEN 'a column given as state'
		WHEN g.states = 'signature' AND NOT r ? 'tool' THEN 'a column given as tool'
		WHEN g.states LIKE 'history%' AND NOT r ?| '{action,tool}' THEN 'a column given as action or as tool' END;
	IF needs IS NOT NULL THEN
		RAISE EXCEPTION 'states => % needs %', quote_literal(g.states), needs USING ERRCODE = 'null_value_not_allowed';
	ELSIF g.states = 'embedding' AND r ? 'next_state' THEN
		RAISE EXCEPTION 'next_state cannot be given with states => ''embedding''' USING ERRCODE = 'feature_not_supported',
			HINT = 'A step leads to the state of the rollout''s next step; only where the last one leads is not known then.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_given(stepadv_internal.given) IS 'part of attach: error where what was given cannot be meant';

-- The relations are there, are tables or views, may be read, and have the columns
-- of the group and those that they are joined by.
CREATE FUNCTION stepadv_internal.check_relations(g stepadv_internal.given) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c record;
BEGIN
	IF stepadv_internal.relation_name(g.source) IS NULL THEN
		RAISE EXCEPTION 'relation % does not exist', g.source::oid USING ERRCODE = 'undefined_table';
	END IF;
	SELECT p.oid INTO c FROM pg_class p WHERE p.oid IN (g.source, g.steps, g.rollouts) AND p.relkind NOT IN ('r', 'p', 'v', 'm', 'f');
	IF FOUND THEN
		RAISE EXCEPTION '% is not a table or view', stepadv_internal.relation_name(c.oid::regclass) USING ERRCODE = 'wrong_object_type';
	ELSIF NOT has_any_column_privilege(g.source, 'SELECT') THEN
		RAISE EXCEPTION 'permission denied for %', stepadv_internal.relation_name(g.source) USING ERRCODE = 'insufficient_privilege';
	END IF;
	SELECT n.n INTO c FROM unnest(g.group_by) n(n) WHERE stepadv_internal.column_type(g.source, n.n) IS NULL LIMIT 1;
	IF FOUND THEN
		PERFORM stepadv_internal.refuse_column(format('column "%s" given as group_by does not exist in %s', c.n, stepadv_internal.relation_name(g.source)), c.n, ARRAY[g.source], NULL::text);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_relations(stepadv_internal.given) IS 'part of attach: error where a relation cannot be read or has not the group''s columns';

CREATE FUNCTION stepadv_internal.check_shown(g stepadv_internal.given) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c record;
BEGIN
	SELECT n.relation, n.given_as, n.name INTO c
	FROM (
		SELECT g.steps AS relation, 'show_steps' AS given_as, s AS name FROM unnest(g.group_by || ARRAY[g.roles ->> 'rollout_id', g.roles ->> 'step_no', g.roles ->> 'step_id']) s
		WHERE g.steps <> g.source
		UNION ALL
		SELECT g.rollouts, 'show_rollouts', s FROM unnest(g.group_by || (g.roles ->> 'rollout_id')) s WHERE g.rollouts IS NOT NULL
	) n
	WHERE n.name IS NOT NULL AND stepadv_internal.column_type(n.relation, n.name) IS NULL LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'column "%" does not exist in %, given as %', c.name, stepadv_internal.relation_name(c.relation), c.given_as
			USING ERRCODE = 'undefined_column', HINT = 'Its rows are found by the columns of the group, the rollout and the step.';
	END IF;
	SELECT n.name INTO c FROM unnest(g.columns) n(name)
	WHERE n.name IS NULL OR coalesce(stepadv_internal.column_type(g.steps, n.name), stepadv_internal.column_type(g.rollouts, n.name)) IS NULL LIMIT 1;
	IF FOUND THEN
		PERFORM stepadv_internal.refuse_column(format('column "%s" given in columns does not exist in %s', coalesce(c.name, '<NULL>'),
			concat_ws(' or ', stepadv_internal.relation_name(g.steps), stepadv_internal.relation_name(g.rollouts))), c.name, ARRAY[g.steps, g.rollouts], NULL::text);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_shown(stepadv_internal.given) IS 'part of attach: error where the relations to show rows from lack a column';

-- An option that no view took is a mistake.
CREATE FUNCTION stepadv_internal.check_options(a stepadv_internal.attached, has_tool boolean) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	methods stepadv_internal.known_method[];
	known text[];
	option record;
BEGIN
	IF (a).options = '{}' THEN
		RETURN;
	END IF;
	methods := ARRAY(SELECT m FROM stepadv_internal.methods_of(a) m);
	IF NOT '{truncated,next_state}' <@ stepadv_internal.available_roles(a)
		AND EXISTS (SELECT FROM stepadv_internal.made_methods(a) m WHERE m.ours AND m.settings ->> 'truncated' = 'bootstrap')
	THEN
		RAISE EXCEPTION 'truncated => ''bootstrap'' needs columns given as truncated and as next_state' USING ERRCODE = 'null_value_not_allowed',
			HINT = 'They say which rollouts were cut off, and where their last step led.';
	END IF;
	known := CASE WHEN has_tool THEN '{signature}' ELSE '{}' END::text[] || CASE WHEN (a).states LIKE '%\_last' OR (a).states = 'embedding' THEN '{states}' ELSE '{}' END::text[] || ARRAY(SELECT m.method FROM unnest(methods) m WHERE m.instance IS NULL)
		|| ARRAY(SELECT v.suffix FROM stepadv_internal.combined_views v WHERE v.place > 1 ORDER BY v.place);
	SELECT e.key, e.value INTO option FROM jsonb_each((a).options) e
	WHERE e.key <> 'methods' AND CASE WHEN jsonb_typeof(e.value) = 'object' THEN e.key <> ALL (known)
		ELSE NOT EXISTS (SELECT FROM unnest(methods) m WHERE stepadv_internal.method_options(m, jsonb_build_object(e.key, e.value)) <> '{}') END
	LIMIT 1;
	IF NOT FOUND THEN
		RETURN;
	ELSIF jsonb_typeof(option.value) <> 'object' AND EXISTS (SELECT FROM unnest(methods) m WHERE option.key = ANY (m.parameters)) THEN
		RAISE EXCEPTION 'option "%" cannot be % for any function', option.key, option.value USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RAISE EXCEPTION 'option "%" is neither a function that attach makes a view of nor a parameter of one', option.key
		USING ERRCODE = 'invalid_parameter_value', HINT = format('Functions: %s.', array_to_string(known, ', '));
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_options(stepadv_internal.attached, boolean) IS 'part of attach: error on an option that no view takes';

-- ---- Making views

-- A view in its place, for people with a comment that says what it is: readers
-- come with their own rights, where the server knows such views.
CREATE FUNCTION stepadv_internal.create_view(schema text, name text, query text, shows text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	max_length CONSTANT integer := current_setting('max_identifier_length')::integer;
BEGIN
	IF octet_length(name) > max_length THEN
		RAISE EXCEPTION 'the name of view "%" is longer than % bytes', name, max_length
			USING ERRCODE = 'name_too_long', HINT = 'Give a shorter prefix.';
	ELSIF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = schema AND c.relname = create_view.name) THEN
		RAISE EXCEPTION 'relation "%" already exists in schema "%"', name, schema
			USING ERRCODE = 'duplicate_table', HINT = 'Detach what was attached before, or give another prefix.';
	END IF;
	EXECUTE format('CREATE VIEW %I.%I %s AS %s', schema, name,
		CASE WHEN stepadv_internal.server_has('security_invoker'::text) THEN 'WITH (security_invoker = true)' ELSE '' END, query);
	EXECUTE format('COMMENT ON VIEW %I.%I IS %L', schema, name, shows);
	RETURN (SELECT c.oid::regclass FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = schema AND c.relname = create_view.name);
END
$$;
COMMENT ON FUNCTION stepadv_internal.create_view(text, text, text, text) IS 'part of attach: creates a view; error if its name is taken';

-- Adapters are for whoever may read what they read, which is what decides.
CREATE FUNCTION stepadv_internal.create_adapter(schema text, name text, query text, shows text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	view regclass;
BEGIN
	IF query IS NULL THEN
		RETURN NULL;
	END IF;
	view := stepadv_internal.create_view(schema, name, query, shows);
	IF stepadv_internal.server_has('security_invoker'::text) THEN
		EXECUTE format('GRANT SELECT ON %s TO PUBLIC', stepadv_internal.relation_name(view));
	END IF;
	RETURN view;
END
$$;
COMMENT ON FUNCTION stepadv_internal.create_adapter(text, text, text, text) IS 'part of attach: creates an adapter; NULL for no query';

-- The views of an attachment, with what each shows and reads.
CREATE FUNCTION stepadv_internal.view_queries(a stepadv_internal.attached, methods text[]) RETURNS TABLE (kind text, query text, shows text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made CONSTANT stepadv_internal.made_method[] := ARRAY(SELECT m FROM stepadv_internal.made_methods(a) m WHERE view_queries.methods IS NULL OR m.method = ANY (view_queries.methods));
	v record;
BEGIN
	FOR v IN
		SELECT NULL::stepadv_internal.made_method AS m, c.* FROM stepadv_internal.combined_views c WHERE c.place = 0
		UNION ALL (SELECT m, NULL, m.method, NULL, NULL, m.shape FROM unnest(made) m ORDER BY m.number)
		UNION ALL (SELECT NULL, c.* FROM stepadv_internal.combined_views c WHERE c.place > 0 ORDER BY c.place)
	LOOP
		kind := v.suffix;
		IF v.builder IS NULL THEN
			query := stepadv_internal.method_query(a, v.m);
			shows := format('%s(%s): %s', (SELECT format('%I.%I', n.nspname, p.proname) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.oid = (v.m).function), CASE WHEN (v.m).ours THEN substr((v.m).arguments, 3)
				ELSE (SELECT string_agg(format('%s => %L', e.key, e.value), ', ' ORDER BY e.key) FROM jsonb_each_text((v.m).settings) e) END, v.shape);
			shows := regexp_replace(shows, '^stepadv\.', '');
		ELSE
			EXECUTE format('SELECT %s($1, $2)', v.builder::regprocedure::regproc) INTO query USING a, made;
			shows := format('%s: %s', CASE kind WHEN 'values' THEN 'rollout_agg' WHEN 'ratios' THEN 'step_ratio, sequence_ratio, approximate_kl' ELSE kind END, v.shape);
		END IF;
		CONTINUE WHEN query IS NULL;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.view_queries(stepadv_internal.attached, text[]) IS 'part of attach: the views that an attachment''s columns and options allow, of these methods or all, with their queries';

CREATE FUNCTION stepadv_internal.known(attachment regclass) RETURNS stepadv_internal.attached
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT k FROM stepadv_internal.attachments((SELECT c.relowner FROM pg_class c WHERE c.oid = known.attachment), NULL::regclass) k WHERE k.attachment = known.attachment $$;
COMMENT ON FUNCTION stepadv_internal.known(regclass) IS 'an attachment by its table; NULL if it is none to be believed';

-- A view with another query; false if it cannot take it.  Its columns keep the
-- names that they have, which its owner may have changed, and their places: those
-- of methods that are later than the view, which would stand between others if it
-- were new, come last.
CREATE FUNCTION stepadv_internal.replace_view(view regclass, query text, later text[]) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name CONSTANT text := stepadv_internal.relation_name(view);
	scratch CONSTANT text := (SELECT format('%I.%I', n.nspname, 'stepadv_new_' || c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = view);
	options CONSTANT text := CASE WHEN stepadv_internal.server_has('security_invoker'::text) THEN 'WITH (security_invoker = true)' ELSE '' END;
	names text[] := stepadv_internal.group_columns(view, 10000);
	columns text[];
	types oid[];
	n_later integer;
BEGIN
	-- What differs in nothing, or has columns more at its end.
	BEGIN
		EXECUTE format('CREATE OR REPLACE VIEW %s %s AS %s', name, options, query);
		RETURN true;
	EXCEPTION WHEN invalid_table_definition THEN
		EXECUTE format('CREATE VIEW %s AS %s', scratch, query);
	END;
	SELECT array_agg(c.attname::text ORDER BY l.i NULLS FIRST, c.attnum), array_agg(c.atttypid ORDER BY l.i NULLS FIRST, c.attnum), count(l.i) INTO columns, types, n_later
	FROM pg_attribute c LEFT JOIN (
		SELECT n.name, min(m.i) AS i FROM unnest(later) WITH ORDINALITY m(m, i)
		CROSS JOIN LATERAL (SELECT m.m) n(name)
		GROUP BY 1) l ON l.name = c.attname
	WHERE c.attrelid = scratch::regclass AND c.attnum > 0;
	EXECUTE format('DROP VIEW %s', scratch);
	-- Columns more, or less, that no later method explains, of other types, or the
	-- same in another order: which is which nobody can tell.
	IF later = '{}' AND (cardinality(columns) <> cardinality(names) OR columns <> names AND columns <@ names)
		OR cardinality(columns) - cardinality(names) > n_later
		OR types[1:cardinality(names)] IS DISTINCT FROM (SELECT array_agg(c.atttypid ORDER BY c.attnum) FROM pg_attribute c WHERE c.attrelid = view AND c.attnum > 0)
	THEN
		RETURN false;
	END IF;
	query := format('SELECT %s FROM (%s) q', stepadv_internal.list(columns, 'q.%1$I'::text, ', '::text), query);
	FOR i IN cardinality(names) + 1 .. cardinality(columns) LOOP
		names := names || stepadv_internal.free_name(names, columns[i], 'method_'::text);
	END LOOP;
	EXECUTE format('CREATE OR REPLACE VIEW %s (%s) %s AS %s', name, stepadv_internal.list(names, '%1$I'::text, ', '::text), options, query);
	RETURN true;
END
$$;
COMMENT ON FUNCTION stepadv_internal.replace_view(regclass, text, text[]) IS 'gives a view another query, with columns of later methods after those that it has; false if its columns do not allow it';

-- With the grants and the comment that it had; an error where something reads it.
CREATE FUNCTION stepadv_internal.recreate_view(view regclass, query text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	old record;
	given record;
	made regclass;
BEGIN
	SELECT n.nspname, c.relname, c.relowner, c.relacl, obj_description(c.oid, 'pg_class') AS comment INTO old
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = recreate_view.view;
	EXECUTE format('DROP VIEW %I.%I', old.nspname, old.relname);
	made := stepadv_internal.create_view(old.nspname::text, old.relname::text, query, old.comment);
	FOR given IN SELECT a.privilege_type, a.is_grantable, a.grantee, r.rolname FROM aclexplode(old.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee WHERE a.grantee <> old.relowner LOOP
		EXECUTE format('GRANT %s ON %I.%I TO %s%s', given.privilege_type, old.nspname, old.relname,
			CASE WHEN given.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(given.rolname) END, CASE WHEN given.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
	END LOOP;
	RETURN made;
END
$$;
COMMENT ON FUNCTION stepadv_internal.recreate_view(regclass, text) IS 'part of upgrade_attachments: drops a view and creates it with another query';

-- A view whose columns are not those of its query: dropped and created anew, if that may be. Where
-- something reads the view of a method, the columns that methods of stepadv have since 0.3.0 come last.
CREATE FUNCTION stepadv_internal.reshape_view(view regclass, query text, of_method boolean, may_drop boolean) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	newer CONSTANT text[] := '{q_error,confidence}';
BEGIN
	IF may_drop THEN
		BEGIN
			RETURN stepadv_internal.recreate_view(reshape_view.view, query);
		EXCEPTION WHEN dependent_objects_still_exist THEN
			IF of_method AND stepadv_internal.replace_view(reshape_view.view, query, newer) THEN
				RETURN reshape_view.view;
			END IF;
			RAISE;
		END;
	ELSIF NOT of_method OR NOT stepadv_internal.replace_view(reshape_view.view, query, newer) THEN
		RAISE EXCEPTION 'columns of view % are no longer those that attach made', reshape_view.view USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Call upgrade_attachments, or detach and attach again.';
	END IF;
	RETURN reshape_view.view;
END
$$;
COMMENT ON FUNCTION stepadv_internal.reshape_view(regclass, text, boolean, boolean) IS 'part of attach: gives a view another query, though its columns are not those of the query; the view that then has its name; error where that cannot be done';

-- What is kept is filled from a copy of _values, made when nothing was kept: as
-- that is made anew, so is this, or it would call functions of before for ever.
CREATE FUNCTION stepadv_internal.renew_fresh(a stepadv_internal.attached, fresh regclass, kind text, methods text[], later text[]) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	not_kept stepadv_internal.attached := a;
	view_query text;
BEGIN
	not_kept.kept := NULL;
	not_kept.fresh := NULL;
	not_kept.folded := NULL;
	not_kept.changed := NULL;
	SELECT v.query INTO view_query FROM stepadv_internal.view_queries(not_kept, methods) v WHERE v.kind = renew_fresh.kind;
	IF view_query IS NOT NULL AND NOT stepadv_internal.replace_view(renew_fresh.fresh, view_query, later) THEN
		RAISE EXCEPTION 'columns of view % are no longer those of what is kept', renew_fresh.fresh USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Call unmaintain, upgrade_attachments and maintain.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.renew_fresh(stepadv_internal.attached, regclass, text, text[], text[]) IS 'part of upgrade_attachment: a view that computes what is kept, made anew as that of a kind would be if nothing were kept';

-- Makes the views of an attachment, or makes them anew: they read then what its
-- row says is kept, or fold.  A view that was dropped stays away.  Methods and
-- views that are not there yet are made if add says so.
CREATE FUNCTION stepadv_internal.make_views(attachment regclass, add boolean) RETURNS TABLE (view_name regclass, shows text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a stepadv_internal.attached := stepadv_internal.known(attachment);
	schema CONSTANT text := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = make_views.attachment);
	views regclass[] := coalesce((a).views, '{}');
	kinds text[] := coalesce((a).view_kinds, '{}');
	had CONSTANT text[] := kinds;
	made CONSTANT text[] := CASE WHEN had <> '{}' THEN ARRAY(SELECT m.method FROM stepadv_internal.made_methods(a) m WHERE add OR m.method = ANY (had)) END;
	later text[];
	fresh regclass;
	v record;
	i integer;
BEGIN
	-- What is kept is of the methods that there were.
	IF add AND (a).digests IS NOT NULL AND NOT made <@ had THEN
		RAISE EXCEPTION 'a method was registered that is not in the kept digests' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Call unmaintain, upgrade_attachments and maintain.';
	END IF;
	FOR v IN SELECT * FROM stepadv_internal.view_queries(a, made) LOOP
		i := array_position(kinds, v.kind);
		shows := v.shows;
		IF views[i] IS NOT NULL THEN
			-- Methods that were made after this view stand after it in the list of kinds.
			later := ARRAY(
				SELECT m.method FROM unnest(made) WITH ORDINALITY m(method, number) CROSS JOIN LATERAL array_position(had, m.method) p(place)
				WHERE (p.place > i OR p.place IS NULL) AND v.kind <> ALL (made) AND v.kind <> 'values' ORDER BY p.place, m.number);
			IF NOT stepadv_internal.replace_view(views[i], v.query, later) THEN
				views[i] := stepadv_internal.reshape_view(views[i], v.query, v.kind = ANY (made), add);
			END IF;
			fresh := CASE WHEN v.kind = 'values' THEN (a).fresh END;
			IF add AND fresh IS NOT NULL THEN
				PERFORM stepadv_internal.renew_fresh(a, fresh, v.kind, made, later);
			END IF;
			view_name := views[i];
			RETURN NEXT;
		ELSIF add AND i IS NULL THEN
			view_name := stepadv_internal.create_view(schema, (a).prefix || '_' || v.kind, v.query, format('%s of %s', v.shows, stepadv_internal.relation_name((a).source)));
			views := views || view_name;
			kinds := kinds || v.kind;
			RETURN NEXT;
		END IF;
	END LOOP;
	EXECUTE format('UPDATE %s SET views = $1, view_kinds = $2', stepadv_internal.relation_name(attachment)) USING views, kinds;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_views(regclass, boolean) IS 'makes the views of an attachment anew by its row; with add also those that it has not; what was made';

-- ---- attach

-- What is left of an attachment whose adapter is gone (it was dropped with its
-- source) is in nobody's way: its table, and what its row names, was called so by
-- attach and is still of the same owner.  Another role's row is not read.
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
	WHERE n.nspname = schema AND c.relname = name AND c.relkind = 'r' AND c.reloftype = 'stepadv.attachment'::regtype AND pg_has_role(c.relowner, 'USAGE');
	IF NOT FOUND OR (stepadv_internal.known(orphan.oid::regclass)).attachment IS NOT NULL THEN
		RETURN;
	END IF;
	IF pg_get_userbyid(orphan.relowner) = current_user THEN
		EXECUTE format('SELECT * FROM ONLY %s LIMIT 1', stepadv_internal.relation_name(orphan.oid::regclass)) INTO a;
	END IF;
	SELECT string_agg(stepadv_internal.relation_name(c.oid::regclass), ', ') FILTER (WHERE c.relkind = 'v') AS views,
		string_agg(stepadv_internal.relation_name(c.oid::regclass), ', ') FILTER (WHERE c.relkind = 'r') AS tables
	INTO left_over
	FROM pg_class c
	WHERE c.oid = ANY (a.views || ARRAY[a.rows, a.stated, a.shown, a.shown_rollouts, a.runs, a.began, a.fresh, a.folded, a.changed,
			a.fresh_digests, a.made_digests, a.digests, a.seen])
		AND c.relowner = orphan.relowner AND left(c.relname, length(a.prefix) + 1) = a.prefix || '_';
	IF left_over.views IS NOT NULL THEN
		EXECUTE 'DROP VIEW ' || left_over.views;
	END IF;
	EXECUTE 'DROP TABLE ' || concat_ws(', ', stepadv_internal.relation_name(orphan.oid::regclass), left_over.tables);
END
$$;
COMMENT ON FUNCTION stepadv_internal.drop_orphan(text, text) IS 'part of attach: drops what is left of an attachment whose adapter is gone';

-- Adapters, the attachment's table and its row, then the views.
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
		RAISE EXCEPTION 'the name of table "%" is longer than % bytes', prefix || '_attachment', current_setting('max_identifier_length')
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
	a.methods := ARRAY(SELECT jsonb_array_elements_text(CASE WHEN jsonb_typeof(g.options -> 'methods') = 'array' THEN g.options -> 'methods' ELSE '[]' END));
	-- All that was given is looked at before anything is made.
	query := stepadv_internal.rows_query(g);
	PERFORM stepadv_internal.check_shown(g);
	a.rows := stepadv_internal.create_adapter(schema, prefix || '_rows', query, 'what is folded of ' || source_name);
	a.stated := stepadv_internal.create_adapter(schema, prefix || '_rows_with_states', CASE g.states WHEN 'signature' THEN stepadv_internal.states_query(g, a.rows) WHEN 'embedding' THEN stepadv_internal.clusters_query(g, a.rows) END,
		format('what is folded of %s, with states made of %s', source_name, CASE g.states WHEN 'signature' THEN 'tool calls' ELSE 'embeddings' END));
	a.shown := stepadv_internal.create_adapter(schema, prefix || '_shown_steps', stepadv_internal.shown_query(g), 'what is shown beside a step of ' || source_name);
	a.shown_rollouts := stepadv_internal.create_adapter(schema, prefix || '_shown_rollouts',
		CASE WHEN g.rollouts IS NOT NULL THEN stepadv_internal.shown_rollouts_query(g) END, 'what is shown beside a rollout of ' || source_name);
	a.runs := stepadv_internal.create_adapter(schema, prefix || '_known_runs', stepadv_internal.runs_query(g), 'policy version and start of the rollouts of ' || source_name);
	a.began := stepadv_internal.create_adapter(schema, prefix || '_begun_runs', stepadv_internal.began_query(g),
		'policy version and start of the rollouts of ' || source_name || ', as its own rows say');
	PERFORM stepadv_internal.check_distribution(array_remove(ARRAY[a.rows, a.shown, a.shown_rollouts, a.runs], NULL), a.n_group_columns);
	EXECUTE format('CREATE TABLE %s OF stepadv.attachment', table_name);
	EXECUTE format('COMMENT ON TABLE %s IS %L', table_name, 'what stepadv.attach made over ' || source_name || '; dropped by stepadv.detach');
	EXECUTE format('INSERT INTO %s SELECT ($1).*', table_name) USING a;
	RETURN table_name::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_attachment(stepadv_internal.given, text, text) IS 'part of attach: makes the adapters and the attachment''s table, with its row';

CREATE FUNCTION stepadv_internal.attach(
	source regclass, group_by text[], rollout_id text, step_no text,
	state text, action text, reward text, step_id text, success text, next_state text, value text, turn_reward text, cost text,
	prefix text, schema text, options jsonb, columns text[], show_steps regclass, show_rollouts regclass,
	logp_new text, logp_old text, token_mask text, states text, tool text, args text, ok text,
	policy_version text, started_at text, features text, contribution text, grounded text,
	unit text, turn text, task_id text, run_id text, policy_step text, rewards text[], dimensions text[], truncated text,
	prompt_token_ids text, response_token_ids text, ended_at text, category text, logp_ref text, greedy text)
RETURNS TABLE (view_name regclass, shows text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
	g stepadv_internal.given;
	attachment regclass;
	a stepadv_internal.attached;
BEGIN
	g := ROW(source, group_by, jsonb_strip_nulls(jsonb_build_object('step_id', step_id, 'rollout_id', rollout_id, 'step_no', step_no, 'state', state, 'action', action,
			'reward', reward, 'success', success, 'next_state', next_state, 'value', value, 'turn_reward', turn_reward, 'cost', cost, 'tool', tool, 'args', args, 'ok', ok,
			'logp_new', logp_new, 'logp_old', logp_old, 'token_mask', token_mask, 'features', features, 'contribution', contribution, 'grounded', grounded,
			'policy_version', policy_version, 'started_at', started_at, 'turn', turn, 'task_id', task_id, 'run_id', run_id, 'policy_step', policy_step, 'truncated', truncated,
			'prompt_token_ids', prompt_token_ids, 'response_token_ids', response_token_ids, 'ended_at', ended_at, 'category', category, 'logp_ref', logp_ref, 'greedy', greedy)),
		states, coalesce(options, '{}'), columns, coalesce(show_steps, source), show_rollouts, unit, nullif(rewards, '{}'), nullif(dimensions, '{}'));
	PERFORM stepadv_internal.check_given(g);
	PERFORM stepadv_internal.check_relations(g);
	SELECT coalesce(attach.schema, n.nspname), coalesce(attach.prefix, c.relname) INTO schema, prefix
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = source;
	IF NOT EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = schema) THEN
		RAISE EXCEPTION 'schema "%" does not exist', schema USING ERRCODE = 'invalid_schema_name';
	END IF;
	-- A primary key of one column identifies a step.
	IF step_id IS NULL THEN
		g.roles := g.roles || coalesce((SELECT jsonb_build_object('step_id', c.attname) FROM pg_index i JOIN pg_attribute c ON c.attrelid = i.indrelid AND c.attnum = i.indkey[0]
			WHERE i.indrelid = source AND i.indisprimary AND i.indnkeyatts = 1), '{}');
	END IF;
	-- Whether the action could be executed is what ok says of a tool call.
	IF grounded IS NULL AND g.roles ?| '{features,contribution}' AND stepadv_internal.column_type(g.steps, ok) IS NOT NULL THEN
		g.roles := g.roles || jsonb_build_object('grounded', ok);
	END IF;
	attachment := stepadv_internal.make_attachment(g, schema, prefix);
	a := stepadv_internal.known(attachment);
	PERFORM stepadv_internal.check_instances(a);
	RETURN QUERY SELECT v.view, obj_description(v.view, 'pg_class') FROM unnest(ARRAY[a.rows, a.stated, a.shown, a.shown_rollouts, a.runs, a.began]) WITH ORDINALITY v(view, i)
		WHERE v.view IS NOT NULL ORDER BY v.i;
	RETURN QUERY SELECT m.view_name, m.shows FROM stepadv_internal.make_views(attachment, true) m;
	PERFORM stepadv_internal.check_options(stepadv_internal.known(attachment), tool IS NOT NULL);
	PERFORM stepadv_internal.warn_of_history(stepadv_internal.known(attachment));
END
$$;
COMMENT ON FUNCTION stepadv_internal.attach(regclass, text[], text, text, text, text, text, text, text, text, text, text, text, text, text, jsonb, text[], regclass, regclass, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text[], text[], text, text, text, text, text, text, text) IS 'what attach does, as the owner of the source where the caller has his rights';

CREATE FUNCTION stepadv.attach(
	source regclass, group_by text[], rollout_id text, step_no text,
	state text DEFAULT NULL, action text DEFAULT NULL, reward text DEFAULT NULL,
	step_id text DEFAULT NULL, success text DEFAULT NULL, next_state text DEFAULT NULL,
	value text DEFAULT NULL, turn_reward text DEFAULT NULL, cost text DEFAULT NULL,
	prefix text DEFAULT NULL, schema text DEFAULT NULL, options jsonb DEFAULT '{}',
	columns text[] DEFAULT NULL, show_steps regclass DEFAULT NULL, show_rollouts regclass DEFAULT NULL,
	logp_new text DEFAULT NULL, logp_old text DEFAULT NULL, token_mask text DEFAULT NULL,
	states text DEFAULT NULL, tool text DEFAULT NULL, args text DEFAULT NULL, ok text DEFAULT NULL,
	policy_version text DEFAULT NULL, started_at text DEFAULT NULL,
	features text DEFAULT NULL, contribution text DEFAULT NULL, grounded text DEFAULT NULL,
	unit text DEFAULT NULL, turn text DEFAULT NULL,
	task_id text DEFAULT NULL, run_id text DEFAULT NULL, policy_step text DEFAULT NULL,
	rewards text[] DEFAULT NULL, dimensions text[] DEFAULT NULL, truncated text DEFAULT NULL,
	prompt_token_ids text DEFAULT NULL, response_token_ids text DEFAULT NULL, ended_at text DEFAULT NULL, category text DEFAULT NULL, logp_ref text DEFAULT NULL, greedy text DEFAULT NULL)
RETURNS TABLE (view_name regclass, shows text)
LANGUAGE c ROWS 30
AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.attach(regclass, text[], text, text, text, text, text, text, text, text, text, text, text, text, text, jsonb, text[], regclass, regclass, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text[], text[], text, text, text, text, text, text, text) IS
'creates views over a table (or view) of steps: adapters (<prefix>_rows: your columns by their roles; _shown and others), <prefix>_values, _groups, _rollouts, _returns, and one per method (_grpo, _rloo, _mt_grpo, _mt_rloo, _gae, _ratios, _gigpo, _graphgpo, _graph_nodes, _graph_edges, _contribution, _contribution_summary, _hgpo, _tempo, _rtmc, _rtmc_tree, _spa, and those of register_method), those whose columns are given, and of several methods _compare, _quadrants, _disagreements, and _problems, what is wrong with the rows: a bad row costs the advantages of its rollout, never a view; the columns are named by role; ids and states of any type (integers as they are, others by signature_hash); options, e.g. {"rtmc": {"gamma": 0.9}}, become literals in the views, and {"methods": {"grpo_step": {"method": "grpo", "step_rewards": true}}} makes of one method another, with a name, parameters, and, where given, "unit" and "rewards" (components or their weights) of its own; columns: base columns to show (default all), show_steps and show_rollouts: relations to show them from; logp_new, logp_old, token_mask: for _ratios, columns of the relation of the shown steps; states: where states come from, ''observation'' (the column state), ''observation_last'' (it and those of the steps before, k of option {"states": {"k": 2}} in all), ''history'' (the actions before the step), ''history_set'' (the same in any order), ''history_last'' (the last k of them), ''root'' (one state), ''signature'' (state_hash over the tool calls before the step), ''embedding'' (state_cluster within the group of the column state, an array of numbers or what has a cast to real[], with threshold of option {"states": {"threshold": 0.95}}); tool, args, ok: columns of the tool call, of which action signatures are made, for states and where there is no column action; policy_version, started_at: columns of show_rollouts or else of the source, by which (and by option {"progress_over_time": {"bucket": "1 day"}}) the views _groups_over_time, _progress_over_time, _advantage_over_time and _advantages divide the rollouts, policy_version also a column of _quadrants and _disagreements; features (an array of numbers, or what has a cast to real[]) or contribution, and grounded (default ok): for _spa, columns of the relation of the shown steps; unit: what a step is to the methods, ''step'', ''turn'' (the rows that share a rollout and the column turn are one step, see by_turn, and get the same estimates) or ''turn_set'' (the same with its actions in any order); task_id, run_id, policy_step: columns as policy_version is, which _groups, _rollouts and _compare show, too, with staleness, the steps of the policy since (as all views with an advantage); rewards: columns of reward components, whose sum is the reward where none is given; dimensions: further columns by which the views over time divide; greedy: a boolean column that says, in any row of a rollout, that it was decoded greedily, for _remax; truncated: one that says likewise that it was cut off, for option {"batch_td": {"truncated": "bootstrap"}}, with next_state, where the last step led; prompt_token_ids, response_token_ids: arrays of integers, columns of the relation of the shown steps, for the views _lineage; ended_at: a column as started_at is, for the durations of _shape_over_time; category: the column of the shown steps by which _behaviour and _behaviour_advantage count calls, such as the tool; with task_id and policy_step the option {"batch_td": {"history": 20, "decay": 0.9}} (rtmc, too) takes values from the task''s groups of so many policy steps before (true: all), each step weighing decay times the next; what was made is recorded in the table <prefix>_attachment, and belongs to the source''s owner where the caller has his rights, else to the caller; one row per view made; an error changes nothing';

-- ---- attachments, for people

CREATE FUNCTION stepadv.attachments()
RETURNS TABLE (source regclass, prefix text, schema name, owner regrole, group_columns text[], states text, kept text, views jsonb)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT k.source, k.prefix, n.nspname, k.owner::regrole, stepadv_internal.group_columns(k.rows, k.n_group_columns), coalesce(k.states, CASE WHEN stepadv_internal.has_column(k.rows, 'state'::text) THEN 'observation' END), k.kept,
		(SELECT coalesce(jsonb_object_agg(v.kind, stepadv_internal.relation_name(v.view)), '{}') FROM unnest(k.view_kinds, k.views) v(kind, view) WHERE v.kind IS NOT NULL AND v.view IS NOT NULL)
	FROM stepadv_internal.attachments(NULL::oid, NULL::regclass) k JOIN pg_class t ON t.oid = k.attachment JOIN pg_namespace n ON n.oid = t.relnamespace
	WHERE pg_has_role(k.owner, 'USAGE')
	ORDER BY stepadv_internal.relation_name(k.source), n.nspname, k.prefix
$$;
COMMENT ON FUNCTION stepadv.attachments() IS
'what attach made for the caller, or for roles whose rights he has, a row each: over which source, with which prefix, in which schema, whose, by which columns a group is known, where states come from (NULL: there are none), how groups are kept (triggers, commit, refresh, watermark, compare; NULL: they are not), and its views by kind ("rtmc", "compare", …), whatever they are called by now';

-- ---- detach, upgrade_attachments

-- For whoever waits in vain: others who hold what he wants.
CREATE FUNCTION stepadv_internal.holders(relations regclass[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format('process %s%s holds %s', h.pid, ' of role ' || quote_ident(s.usename), h.names), '; ' ORDER BY h.pid)
	FROM (SELECT l.pid, string_agg(DISTINCT stepadv_internal.relation_name(l.relation::regclass), ', ') AS names
		FROM pg_locks l WHERE l.relation = ANY (holders.relations) AND l.granted AND l.pid <> pg_backend_pid()
			AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()) GROUP BY l.pid) h
	LEFT JOIN pg_stat_activity s ON s.pid = h.pid
$$;
COMMENT ON FUNCTION stepadv_internal.holders(regclass[]) IS 'which other sessions hold locks on some relations, for people; NULL: none';

-- In one command each, as they read each other.
CREATE FUNCTION stepadv_internal.end_attachment_as_owner(attachment regclass, cascade boolean) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET client_min_messages = warning SET lock_timeout = '10s'
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	views CONSTANT regclass[] := array_remove((a).views, NULL);
	adapters CONSTANT regclass[] := array_remove(ARRAY[(a).rows, (a).stated, (a).shown, (a).shown_rollouts, (a).runs, (a).began], NULL);
	dropped CONSTANT text := CASE WHEN cascade THEN ' CASCADE' ELSE '' END;
	what text;
BEGIN
	IF views <> '{}' THEN
		EXECUTE format('DROP VIEW %s%s', (SELECT string_agg(stepadv_internal.relation_name(v), ', ') FROM unnest(views) v), dropped);
	END IF;
	IF (a).kept IS NOT NULL THEN
		PERFORM stepadv_internal.drop_kept(attachment, false);
	END IF;
	EXECUTE format('DROP VIEW %s%s', (SELECT string_agg(stepadv_internal.relation_name(v), ', ') FROM unnest(adapters) v), dropped);
	EXECUTE format('DROP TABLE %s%s', stepadv_internal.relation_name(attachment), dropped);
	RETURN cardinality(views) + cardinality(adapters);
EXCEPTION
	WHEN dependent_objects_still_exist THEN
		GET STACKED DIAGNOSTICS what = PG_EXCEPTION_DETAIL;
		RAISE EXCEPTION 'what attach made over % cannot be dropped: something depends on it', stepadv_internal.relation_name((a).source)
			USING ERRCODE = 'dependent_objects_still_exist', DETAIL = what, HINT = 'Drop that first, or call detach with cascade => true.';
	WHEN lock_not_available THEN
		RAISE EXCEPTION 'what attach made over % cannot be dropped: others use it', stepadv_internal.relation_name((a).source)
			USING ERRCODE = 'lock_not_available', DETAIL = stepadv_internal.holders(views || adapters || attachment || ARRAY(
				SELECT d.objid::regclass FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.refobjid = ANY (views || adapters || attachment)));
END
$$;
COMMENT ON FUNCTION stepadv_internal.end_attachment_as_owner(regclass, boolean) IS 'part of detach, as the owner of the attachment';

CREATE FUNCTION stepadv_internal.end_attachment(attachment regclass, cascade boolean) RETURNS integer
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv_internal.end_attachment(regclass, boolean) IS 'part of detach: becomes the owner of the attachment for it';

CREATE FUNCTION stepadv.detach(source regclass, prefix text DEFAULT NULL, cascade boolean DEFAULT false) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
BEGIN
	IF detach.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	RETURN (SELECT coalesce(sum(stepadv_internal.end_attachment(k.attachment, coalesce(detach.cascade, false))), 0)
		FROM stepadv_internal.own_attachments(detach.source, detach.prefix) k);
END
$$;
COMMENT ON FUNCTION stepadv.detach(regclass, text, boolean) IS
'drops what attach made over the source (with the prefix, if given) for the caller or a role whose rights they have, with what maintain keeps, and nothing else, unless cascade: what depends on it, too; the number of views; waits 10 seconds for others who use it';

-- The adapter of what the rows say of their runs, as stepadv 0.2.0 made it: it sorted each rollout's rows. Servers from 16 on
-- show columns of the only table without its name.
CREATE FUNCTION stepadv_internal.renew_began(began regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	before CONSTANT text := pg_get_viewdef(renew_began.began);
	query CONSTANT text := regexp_replace(before, '\(array_agg\(([^\n]+?) ORDER BY ([^\n]+?)\) FILTER \(WHERE \(\1 IS NOT NULL\)\)\)\[1\]', 'stepadv_internal.first_by(\1, \2)', 'g');
BEGIN
	IF query <> before THEN
		EXECUTE format('CREATE OR REPLACE VIEW %s %s AS %s', stepadv_internal.relation_name(renew_began.began),
			CASE WHEN stepadv_internal.server_has('security_invoker'::text) THEN 'WITH (security_invoker = true)' ELSE '' END, query);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.renew_began(regclass) IS 'part of upgrade_attachment: makes the adapter of runs anew as attach would make it now; none for NULL';

CREATE FUNCTION stepadv_internal.upgrade_attachment(attachment regclass) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	kept_before CONSTANT text[] := ARRAY[pg_get_viewdef((a).fresh), pg_get_viewdef((a).fresh_digests)];
	n_views bigint;
BEGIN
	IF (a).attachment IS NULL THEN
		RAISE EXCEPTION '% is not the table of an attachment', attachment USING ERRCODE = 'wrong_object_type';
	END IF;
	PERFORM stepadv_internal.renew_began((a).began);
	-- Digests are of the methods that there were: with more they are made anew.
	IF (a).digests IS NOT NULL AND NOT ARRAY(SELECT m.method FROM stepadv_internal.made_methods(a) m) <@ (a).view_kinds THEN
		PERFORM stepadv_internal.drop_kept(attachment, true);
		n_views := (SELECT count(*) FROM stepadv_internal.make_views(attachment, true));
		PERFORM stepadv_internal.maintain((a).source, (a).prefix, (a).kept, true, (a).watermark, (a).overlap);
		RETURN n_views;
	END IF;
	n_views := (SELECT count(*) FROM stepadv_internal.make_views(attachment, true));
	PERFORM stepadv_internal.renew_triggers(a);
	PERFORM stepadv_internal.renew_digests(attachment);
	-- Groups that were folded in another way would no longer be exact.
	IF (a).folded IS NOT NULL AND kept_before IS DISTINCT FROM ARRAY[pg_get_viewdef((a).fresh), pg_get_viewdef((a).fresh_digests)] THEN
		IF stepadv_internal.is_on_shards(a) THEN
			PERFORM stepadv_internal.bring_up(attachment, true, true);
		ELSE
			PERFORM stepadv_internal.fold_groups(attachment, true);
		END IF;
	END IF;
	RETURN n_views;
END
$$;
COMMENT ON FUNCTION stepadv_internal.upgrade_attachment(regclass) IS 'what upgrade_attachment does, as the owner of the attachment where the caller has his rights';

CREATE FUNCTION stepadv.upgrade_attachment(attachment regclass) RETURNS bigint
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.upgrade_attachment(regclass) IS
'makes the views of one attachment, given by its table, anew, with those that a later version of stepadv or register_method added, and folds what is kept again where it is folded in another way now; a view whose columns are others now is dropped and created, with its grants; error when something reads such a view; the number of views';

-- Each as its owner: what is made anew tries his methods and writes his table.
-- What is wrong with one keeps nobody from his.
CREATE FUNCTION stepadv.upgrade_attachments() RETURNS TABLE (attachment regclass, n_views bigint, problem text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	detail text;
BEGIN
	FOR attachment IN SELECT k.attachment FROM stepadv_internal.attachments(NULL::oid, NULL::regclass) k WHERE pg_has_role(k.owner, 'USAGE') ORDER BY k.attachment::text LOOP
		problem := NULL;
		BEGIN
			n_views := stepadv.upgrade_attachment(attachment);
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
			problem := concat_ws('; ', problem, nullif(detail, ''));
			n_views := NULL;
		END;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv.upgrade_attachments() IS
'upgrade_attachment for all attachments of the caller and of roles whose rights he has, each with the rights of its owner; after ALTER EXTENSION stepadv UPDATE, and after register_method; a row per attachment, with the number of views, or the problem for which its views are as they were';

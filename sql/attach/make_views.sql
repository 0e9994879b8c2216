-- The views of an attachment: which ones are requested, their queries, and their (re)creation.

-- In the order in which attach returns them; place 0 comes before the methods.
INSERT INTO stepadv_internal.combined_views VALUES
	(0, 'values', '{}', '{}', 'the group as a value, for any function of rollout_group', true),
	(1, 'ratios', '{"logp_new,logp_old"}', '{}', 'a row per step', false),
	(2, 'spa', '{"features or contribution"}', '{model,alpha,beta,gamma,lambda}', 'a row per step', true),
	(3, 'compare', '{method}', '{methods,success_above}', 'a row per step, an advantage per method', true),
	(4, 'quadrants', '{methods}', '{threshold}', 'a row per group, pair of methods, success and quadrant', false),
	(5, 'disagreements', '{methods}', '{threshold}', 'a row per step and pair of methods', false),
	(6, 'groups_over_time', '{run}', '{}', 'a row per group, policy version and time bucket, with counts and sums',
		false),
	(7, 'progress_over_time', '{run}', '{bucket}', 'a row per policy version and time bucket', false),
	(9, 'advantages', '{method,run}', '{}',
		'a row per step and method, of groups divided by policy version and time bucket', false),
	(10, 'problems', '{}', '{}', 'a row per rollout, or group, and kind of problem that its rows have', true),
	(12, 'credit_check', '{method,"state,action"}', '{methods,shuffles,max_rollouts,max_groups,seed}',
		'a row per method: does what it says come true?', false),
	(20, 'pass_at_k', '{}', '{}', 'a row per version and number of rollouts drawn of a task, over tasks', false),
	(21, 'flaky', '{}', '{}', 'a row per task that both succeeded and failed under one version', false),
	(40, 'decision_points', '{"reward,state,action"}', '{method,gamma,prior,baseline,prior_mean,success_above}',
		'a row per state, how much is decided there', false),
	(41, 'failure_points', '{"reward,state"}', '{method,gamma,prior,baseline,prior_mean,success_above}',
		'a row per failed rollout, where it was lost', false),
	(50, 'lineage', '{"prompt_token_ids,response_token_ids"}', '{}',
		'a row per step, with what its prompt has of the step before', false);
INSERT INTO stepadv_internal.combined_views VALUES
	(8, 'advantage_over_time', '{method,run}', '{}', 'a row per policy version, time bucket and method', false,
		'digest_advantages', 'advantages', '{methods}'),
	(14, 'advantage_by_group', '{method,run}', '{}',
		'a row per group, policy version, time bucket and method, with counts, means and extremes', false,
		'digest_advantages', NULL, '{methods}'),
	(16, 'disagreement_by_group', '{methods}', '{}',
		'a row per group, policy version and pair of methods that disagree, with the greatest difference', false,
		'digest_differences', NULL, '{methods}'),
	(15, 'quadrants_over_time', '{methods}', '{}',
		'a row per policy version, pair of methods, success and quadrant, of all groups', false,
		'digest_quadrants', 'quadrants', '{methods}'),
	(17, 'advantage_histogram', '{method,run}', '{}',
		'a row per policy version, time bucket, method and bin of advantages, with the number of steps', false,
		'digest_histogram', 'histogram', '{methods}'),
	(53, 'behaviour', '{category,run}', '{category}',
		'a row per policy version, time bucket and category of action: calls, errors, repeats', false,
		'digest_calls', 'calls', '{calls}'),
	(54, 'behaviour_advantage', '{category,method,run}', '{}',
		'a row per policy version, time bucket, category of action and method, with the advantages', false,
		'digest_call_advantages', 'calls', '{methods,calls}'),
	(55, 'measures_over_time', '{run}', '{}',
		'a row per policy version, time bucket and measure of rollouts: mean, median, 95th percentile, per success',
		false, 'digest_measures', 'measures', '{measures}'),
	(56, 'success_by_horizon', '{state,run}', '{width}',
		'a row per policy version, time bucket and distance of the start from the goal: success and excess', false,
		'digest_horizons', 'horizons', '{horizons}');

-- Views run with the privileges of their readers where the server supports
-- security_invoker.
CREATE FUNCTION stepadv_internal.create_view(schema text, name text, query text, description text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	max_length CONSTANT integer := current_setting('max_identifier_length')::integer;
BEGIN
	IF octet_length(name) > max_length THEN
		RAISE EXCEPTION 'the name of view "%" is longer than % bytes', name, max_length
			USING ERRCODE = 'name_too_long', HINT = 'Give a shorter prefix.';
	ELSIF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = schema
		AND c.relname = create_view.name) THEN
		RAISE EXCEPTION 'relation "%" already exists in schema "%"', name, schema
			USING ERRCODE = 'duplicate_table', HINT = 'Detach what was attached before, or give another prefix.';
	END IF;
	EXECUTE format('CREATE VIEW %I.%I %s AS %s', schema, name,
		CASE WHEN stepadv_internal.server_has('security_invoker'::text) THEN 'WITH (security_invoker = true)'
			ELSE '' END, query);
	EXECUTE format('COMMENT ON VIEW %I.%I IS %L', schema, name, description);
	RETURN (SELECT c.oid::regclass FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = schema AND c.relname = create_view.name);
END
$$;
COMMENT ON FUNCTION stepadv_internal.create_view(text, text, text, text) IS
'part of attach: creates a view; error if its name is taken';

-- SELECT on adapters is granted to all: with security_invoker, privileges on the tables below decide.
CREATE FUNCTION stepadv_internal.create_adapter(schema text, name text, query text, description text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	view regclass;
BEGIN
	IF query IS NULL THEN
		RETURN NULL;
	END IF;
	view := stepadv_internal.create_view(schema, name, query, description);
	IF stepadv_internal.server_has('security_invoker'::text) THEN
		EXECUTE format('GRANT SELECT ON %s TO PUBLIC', stepadv_internal.relation_name(view));
	END IF;
	RETURN view;
END
$$;
COMMENT ON FUNCTION stepadv_internal.create_adapter(text, text, text, text) IS
'part of attach: creates an adapter; NULL for no query';

CREATE FUNCTION stepadv_internal.known(attachment regclass) RETURNS stepadv_internal.attached
LANGUAGE c STABLE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'stepadv_known';
COMMENT ON FUNCTION stepadv_internal.known(regclass) IS
'an attachment by its table; NULL if the table is not that of a trusted attachment';

-- Expands names, 'default' and 'all' to kinds of views that the given columns allow.
CREATE FUNCTION stepadv_internal.asked_views(a stepadv_internal.attached, methods stepadv_internal.known_method[],
	asked text[]) RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	roles CONSTANT text[] := stepadv_internal.available_roles(a);
	known CONSTANT text[] := ARRAY(SELECT m.method FROM unnest(methods) m)
		|| ARRAY(SELECT c.suffix FROM stepadv_internal.combined_views c ORDER BY c.place);
	name text;
	missing text;
BEGIN
	FOREACH name IN ARRAY asked LOOP
		IF name IS NULL OR name <> ALL (known || '{default,all}'::text[]) THEN
			PERFORM stepadv_internal.refuse_name('view'::text, name, '{default,all}' || known);
		END IF;
		SELECT r INTO missing FROM unnest(methods) m CROSS JOIN LATERAL unnest(m.requires) WITH ORDINALITY r(r, i)
		WHERE m.method = name AND r <> ALL (roles) ORDER BY i LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION 'view "%" needs a column given as %', name,
				missing USING ERRCODE = 'null_value_not_allowed',
				HINT = CASE WHEN missing IN ('state', 'action', 'reward') THEN format('Name it by %s => ''…''.',
					missing)
					ELSE format('Name it by columns => ''{"%s": "…"}''.', missing) END;
		END IF;
	END LOOP;
	-- 'all' omits state_average: it runs batch_td in SQL for each of its states, also for digests, which takes
	-- longer than all other methods together.
	RETURN ARRAY(
		SELECT m.method FROM unnest(methods) m WHERE m.requires <@ roles
			AND (m.method = ANY (asked) OR 'all' = ANY (asked) AND m.method <> 'state_average'
			OR 'default' = ANY (asked) AND coalesce((SELECT o.by_default FROM stepadv_internal.methods o
				WHERE o.method = m.method), true))
	) || ARRAY(
		SELECT c.suffix FROM stepadv_internal.combined_views c
		WHERE c.suffix = ANY (asked) OR 'all' = ANY (asked) OR 'default' = ANY (asked) AND c.by_default);
END
$$;
COMMENT ON FUNCTION stepadv_internal.asked_views(stepadv_internal.attached, stepadv_internal.known_method[], text[]) IS
'part of attach: the kinds of views for names, ''default'' and ''all''; error for an unknown name, and for a '
'method whose columns are not given';

-- The views of some kinds: description, and the query or what is missing for it.
-- Views of several methods show the methods that are among the kinds.
CREATE FUNCTION stepadv_internal.view_queries(a stepadv_internal.attached, known stepadv_internal.known_method[],
	kinds text[]) RETURNS TABLE (kind text, query text, description text, lacks text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made CONSTANT stepadv_internal.made_method[] := ARRAY(SELECT m FROM stepadv_internal.made_methods(a, known) m
		WHERE m.method = ANY (kinds) ORDER BY m.number);
	n_methods CONSTANT integer := (SELECT count(*) FROM unnest(made) m WHERE '{step_no,advantage}' <@ m.results);
	n_of_digests CONSTANT integer := cardinality(stepadv_internal.methods_by_group(made));
	roles CONSTANT text[] := stepadv_internal.available_roles(a) || ARRAY(SELECT substr(c.attname, 9)
		FROM pg_attribute c WHERE c.attrelid = (a).shown AND c.attname LIKE 'stepadv\_%');
	joined jsonb := '{}';
	v record;
BEGIN
	FOR v IN
		SELECT c.place, 0 AS number, c AS combined, NULL::stepadv_internal.made_method AS m
		FROM stepadv_internal.combined_views c WHERE c.suffix = ANY (kinds)
		UNION ALL SELECT 0, m.number, NULL, m FROM unnest(made) m
		ORDER BY 1, 2
	LOOP
		query := NULL;
		lacks := NULL;
		IF v.number > 0 THEN
			kind := (v.m).method;
			-- In a subquery: otherwise the server checks each column of a function below a join separately.
			SELECT b.joined, format('SELECT %s FROM %s CROSS JOIN LATERAL (SELECT * FROM %s) a%s', b.items,
				stepadv_internal.fold(a, (v.m).reads), (v.m).call, b.joins) INTO joined, query
				FROM stepadv_internal.beside(a, (v.m).kind, (v.m).results, '{}'::jsonb, '{}'::text[],
					CASE WHEN (v.m).method IN ('groups', 'rollouts')
					THEN '{task_id,run_id,policy_version,policy_step,staleness}'
					WHEN '{step_no,advantage}' <@ (v.m).results THEN '{staleness}' ELSE '{}' END::text[], joined) b;
			-- The call, and what a row represents.
			description := (SELECT regexp_replace(format('%I.%I(%s): %s', n.nspname, p.proname, CASE WHEN (v.m).ours
					THEN substr((v.m).arguments, 3) ELSE (SELECT string_agg(format('%s => %L', e.key, e.value), ', '
						ORDER BY e.key) FROM jsonb_each_text((v.m).settings) e) END, (v.m).description),
				'^stepadv\.', '')
				FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.oid = (v.m).function);
			RETURN NEXT;
			CONTINUE;
		END IF;
		kind := (v.combined).suffix;
		description := format('%s: %s', CASE kind WHEN 'values' THEN 'rollout_agg' WHEN 'ratios'
			THEN 'step_ratio, sequence_ratio, approximate_kl' ELSE kind END, (v.combined).description);
		-- Part of an error message.
		lacks := (
			SELECT string_agg(CASE n.need WHEN 'method' THEN 'a method with an advantage per step'
				WHEN 'methods' THEN 'two methods with an advantage per step'
				WHEN 'run' THEN 'a column given as policy_version, policy_step, run_id, started_at or in dimensions'
				ELSE CASE WHEN n.need LIKE '%,%' THEN 'columns' ELSE 'a column' END || ' given as '
					|| regexp_replace(replace(n.need, ',', ', '), ', (\w+)$', ' and \1') END, ', and ' ORDER BY n.i)
			FROM unnest((v.combined).needs) WITH ORDINALITY n(need, i)
			CROSS JOIN (SELECT CASE WHEN (v.combined).of_digest IS NOT NULL THEN n_of_digests ELSE n_methods END) m(n)
			HAVING NOT bool_and(CASE n.need WHEN 'method' THEN m.n > 0 WHEN 'methods' THEN m.n > 1
				WHEN 'run' THEN EXISTS (SELECT FROM stepadv_internal.divisions(a) d WHERE d.view IS NOT NULL)
				ELSE string_to_array(n.need, ',') <@ roles OR string_to_array(n.need, ' or ') && roles END));
		IF lacks IS NOT NULL THEN
			NULL;
		ELSIF (v.combined).reader IS NOT NULL THEN
			query := stepadv_internal.digest_view(a, made, v.combined);
		ELSE
			EXECUTE format('SELECT stepadv_internal.%I($1, $2)', kind || '_query') INTO query USING a, made;
		END IF;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.view_queries(stepadv_internal.attached, stepadv_internal.known_method[], text[]) IS
'part of attach: the views of some kinds, with their queries; NULL if what they need is missing, with a message '
'that says so';

-- Replaces the query of a view; returns false if that is not possible.  Columns keep
-- their current names, which the owner may have changed; new columns follow.
CREATE FUNCTION stepadv_internal.replace_view(view regclass, query text) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name CONSTANT text := stepadv_internal.relation_name(view);
	scratch CONSTANT text := (SELECT format('%I.%I', n.nspname, 'stepadv_new_' || c.oid) FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = view);
	options CONSTANT text := CASE WHEN stepadv_internal.server_has('security_invoker'::text)
		THEN 'WITH (security_invoker = true)' ELSE '' END;
	names CONSTANT text[] := stepadv_internal.group_columns(view, 10000);
	columns text[];
BEGIN
	-- Succeeds if the columns are the same, or there are more at the end.
	BEGIN
		EXECUTE format('CREATE OR REPLACE VIEW %s %s AS %s', name, options, query);
		RETURN true;
	EXCEPTION WHEN invalid_table_definition THEN
		EXECUTE format('CREATE VIEW %s AS %s', scratch, query);
	END;
	columns := stepadv_internal.group_columns(scratch::regclass, 10000);
	EXECUTE format('DROP VIEW %s', scratch);
	-- The same names in another order: renamed columns cannot be told from moved ones.
	IF cardinality(columns) < cardinality(names) OR columns[1:cardinality(names)] <> names AND names <@ columns THEN
		RETURN false;
	END IF;
	EXECUTE format('CREATE OR REPLACE VIEW %s (%s) %s AS %s', name, stepadv_internal.list(names, '%1$I'::text,
		', '::text), options, query);
	RETURN true;
EXCEPTION WHEN invalid_table_definition THEN
	RETURN false;
END
$$;
COMMENT ON FUNCTION stepadv_internal.replace_view(regclass, text) IS
'gives a view another query, which may have further columns at its end; false if its columns do not allow it';

-- Drops a view and creates it again with the columns of its query, keeping grants and comment; error if another
-- object depends on it.
CREATE FUNCTION stepadv_internal.reshape_view(view regclass, query text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	old record;
	given record;
	made regclass;
BEGIN
	SELECT n.nspname, c.relname, c.relowner, c.relacl, obj_description(c.oid, 'pg_class') AS comment INTO old
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = reshape_view.view;
	EXECUTE format('DROP VIEW %I.%I', old.nspname, old.relname);
	made := stepadv_internal.create_view(old.nspname::text, old.relname::text, query, old.comment);
	FOR given IN SELECT a.privilege_type, a.is_grantable, a.grantee, r.rolname FROM aclexplode(old.relacl) a
		LEFT JOIN pg_roles r ON r.oid = a.grantee WHERE a.grantee <> old.relowner LOOP
		EXECUTE format('GRANT %s ON %I.%I TO %s%s', given.privilege_type, old.nspname, old.relname,
			CASE WHEN given.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(given.rolname) END,
			CASE WHEN given.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
	END LOOP;
	RETURN made;
END
$$;
COMMENT ON FUNCTION stepadv_internal.reshape_view(regclass, text) IS
'part of attach: replaces a view by one with other columns';

-- Recreates the views of an attachment, so that they read the kept groups named in its row, or fold the rows.
-- A view that the user dropped is not recreated, unless it is requested.
CREATE FUNCTION stepadv_internal.make_views(attachment regclass, asked text[]) RETURNS TABLE (view_name regclass,
	description text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a stepadv_internal.attached := stepadv_internal.known(attachment);
	known CONSTANT stepadv_internal.known_method[] := ARRAY(SELECT m FROM stepadv_internal.methods_of(a) m);
	wanted CONSTANT text[] := CASE WHEN asked IS NULL THEN '{}' ELSE stepadv_internal.asked_views(a, known, asked) END;
	kinds text[] := coalesce((a).view_kinds, '{}');
	views regclass[] := coalesce((a).views, '{}');
	old_kinds CONSTANT text[] := kinds;
	methods text[];
	v record;
	i integer;
BEGIN
	methods := ARRAY(SELECT m.method FROM unnest(known) m WHERE m.method = ANY (kinds || wanted));
	-- Kept digests contain only the methods that existed when they were created.
	IF (a).digests IS NOT NULL AND NOT methods <@ old_kinds THEN
		RAISE EXCEPTION 'the kept digests do not have these methods'
			USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Call unmaintain, add_views and maintain.';
	END IF;
	FOR v IN SELECT * FROM stepadv_internal.view_queries(a, known, kinds || wanted) LOOP
		i := array_position(kinds, v.kind);
		IF v.query IS NULL AND v.kind = ANY (asked) THEN
			RAISE EXCEPTION 'view "%" cannot be created from the columns given',
				v.kind USING ERRCODE = 'null_value_not_allowed',
				HINT = format('It needs %s.', coalesce(v.lacks, 'other methods with an advantage per step'));
		ELSIF v.query IS NULL OR views[i] IS NULL AND v.kind <> ALL (wanted) THEN
			CONTINUE;
		ELSIF views[i] IS NULL THEN
			i := coalesce(i, cardinality(kinds) + 1);
			description := v.description;
			view_name := stepadv_internal.create_view((a).schema, (a).prefix || '_' || v.kind, v.query,
				format('%s of %s', v.description, stepadv_internal.relation_name((a).source)));
			views[i] := view_name;
			kinds[i] := v.kind;
			RETURN NEXT;
			CONTINUE;
		END IF;
		CONTINUE WHEN stepadv_internal.replace_view(views[i], v.query);
		IF asked IS NULL THEN
			RAISE EXCEPTION 'columns of view % have changed since attach made them', views[i]
				USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Call add_views, or detach and attach again.';
		END IF;
		views[i] := stepadv_internal.reshape_view(views[i], v.query);
	END LOOP;
	EXECUTE format('UPDATE %s SET views = $1, view_kinds = $2', stepadv_internal.relation_name(attachment))
		USING views, kinds;
	-- A view that is replaced keeps its comments.
	IF asked IS NOT NULL THEN
		PERFORM stepadv_internal.comment_columns(stepadv_internal.known(attachment));
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_views(regclass, text[]) IS
'creates the views of an attachment again by its row, and additional views; returns these';

CREATE FUNCTION stepadv_internal.own_attachment(source regclass, prefix text) RETURNS regclass
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	meant regclass[];
	names text;
BEGIN
	SELECT array_agg(k.attachment), string_agg(quote_ident(k.prefix), ', ') INTO meant, names
	FROM stepadv_internal.own_attachments(own_attachment.source, own_attachment.prefix) k
	-- The caller runs this as the source's owner, who must not write to objects of other roles.
	WHERE stepadv_internal.owns(k.attachment, false);
	IF own_attachment.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	ELSIF meant IS NULL THEN
		RAISE EXCEPTION 'no views of attach over %',
			concat(own_attachment.source, ' with prefix ' || quote_ident(own_attachment.prefix))
			USING ERRCODE = 'undefined_object', HINT = 'Call attach first.';
	ELSIF cardinality(meant) > 1 THEN
		RAISE EXCEPTION 'several sets of views are attached to %', own_attachment.source
			USING ERRCODE = 'ambiguous_parameter', HINT = format('Name one by its prefix: %s.', names);
	END IF;
	RETURN meant[1];
END
$$;
COMMENT ON FUNCTION stepadv_internal.own_attachment(regclass, text) IS
'the attachment over a source; error if there is none, or if there are several';

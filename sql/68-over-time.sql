-- A run over time: views that attach makes where it is told which policy a
-- rollout is of, or when it started.  See the context in 61-attach-parts.sql.

-- Where the two columns are: in the group, in show_rollouts (r), in the source.
CREATE FUNCTION attach_run(context jsonb, policy_version text, started_at text) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source CONSTANT text := context ->> 'source';
	rollouts CONSTANT oid := (context -> 'rollouts' ->> 'oid')::oid;
	run jsonb := '{}';
	role text;
	column_name text;
	place text;
	type oid;
	to_time text;
BEGIN
	FOR role, column_name IN
		SELECT v.r, v.c FROM (VALUES ('policy_version', attach_run.policy_version), ('started_at', attach_run.started_at)) v(r, c)
		WHERE v.c IS NOT NULL
	LOOP
		SELECT a.atttypid, CASE WHEN context -> 'group_by' ? column_name THEN 'group'
			WHEN a.attrelid = rollouts THEN 'rollouts' ELSE 'source' END
		INTO type, place
		FROM pg_attribute a
		WHERE a.attrelid IN (rollouts, to_regclass(source)) AND a.attname = column_name AND a.attnum > 0 AND NOT a.attisdropped
		ORDER BY a.attrelid = rollouts DESC NULLS LAST LIMIT 1;
		IF type IS NULL THEN
			RAISE EXCEPTION 'column "%" given as % does not exist in %', column_name, role,
				concat_ws(' or ', context -> 'rollouts' ->> 'name', source) USING ERRCODE = 'undefined_column';
		END IF;
		WHILE (SELECT t.typtype FROM pg_type t WHERE t.oid = type) = 'd' LOOP
			SELECT t.typbasetype INTO type FROM pg_type t WHERE t.oid = type;
		END LOOP;
		-- A time without a zone is taken as UTC, whatever the session's zone is.
		to_time := CASE type WHEN 'timestamptz'::regtype THEN '%s::timestamptz'
			WHEN 'timestamp'::regtype THEN '(%s::timestamp AT TIME ZONE ''UTC'')'
			WHEN 'date'::regtype THEN '(%s::timestamp AT TIME ZONE ''UTC'')' END;
		IF role = 'policy_version' AND (SELECT t.typcategory FROM pg_type t WHERE t.oid = type) = 'A' THEN
			RAISE EXCEPTION 'column "%" given as policy_version cannot serve: its type is %', column_name, format_type(type, NULL)
				USING ERRCODE = 'datatype_mismatch', HINT = 'A rollout is of one version.';
		END IF;
		IF role = 'started_at' AND to_time IS NULL THEN
			RAISE EXCEPTION 'column "%" given as started_at cannot serve: its type is %', column_name, format_type(type, NULL)
				USING ERRCODE = 'datatype_mismatch',
					HINT = 'started_at must be a timestamp or a date; attach a view that converts it, say by to_timestamp().';
		END IF;
		run := run || jsonb_build_object(role, jsonb_build_object('column', column_name, 'place', place)
			|| CASE WHEN role = 'started_at' THEN jsonb_build_object('to_time', to_time) ELSE '{}' END);
	END LOOP;
	RETURN run;
END
$$;
COMMENT ON FUNCTION attach_run(jsonb, text, text) IS 'part of attach: where the columns policy_version and started_at are found, by role';

-- The start of the bucket of a time.  Every bucket begins in UTC, so that a view
-- says the same in every session; weeks begin on Monday.
CREATE FUNCTION attach_bucket(expression text, bucket text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width interval;
	months integer;
BEGIN
	BEGIN
		width := attach_bucket.bucket::interval;
	EXCEPTION WHEN data_exception THEN
		RAISE EXCEPTION 'bucket is not an interval: %', quote_literal(attach_bucket.bucket)
			USING ERRCODE = 'invalid_parameter_value', HINT = 'For example "1 day", "1 week", "6 hours" or "1 month".';
	END;
	months := extract(year FROM width) * 12 + extract(month FROM width);
	IF months = 0 AND width > interval '0' THEN
		RETURN format('date_bin(%L::interval, %s, ''2001-01-01 00:00:00+00''::timestamptz)', width, attach_bucket.expression);
	ELSIF width IN (interval '1 month', interval '3 months', interval '1 year') AND extract(day FROM width) = 0 AND extract(epoch FROM width::time) = 0 THEN
		RETURN format('date_trunc(%L, %s, ''UTC'')', CASE months WHEN 1 THEN 'month' WHEN 3 THEN 'quarter' ELSE 'year' END, attach_bucket.expression);
	END IF;
	RAISE EXCEPTION 'bucket cannot be %', coalesce(quote_literal(attach_bucket.bucket), 'NULL')
		USING ERRCODE = 'invalid_parameter_value', HINT = 'A bucket is longer than 0 and without months, or "1 month", "3 months" or "1 year".';
END
$$;
COMMENT ON FUNCTION attach_bucket(text, text) IS 'part of attach: the SQL expression for the start of a time''s bucket';

-- For rows of a relation (alias s or g): the joins that lead to what is known
-- of their rollout, its policy version and the bucket of its start.
CREATE FUNCTION attach_run_columns(context jsonb, alias text, OUT joins text, OUT policy_version text, OUT bucket text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	run CONSTANT jsonb := context -> 'run';
	places CONSTANT text[] := ARRAY(SELECT e.value ->> 'place' FROM jsonb_each(run) e);
	settings CONSTANT jsonb := @extschema@.attach_builder_options(context, 'progress_over_time', '{bucket}');
	rollout_hash CONSTANT jsonb := context -> 'rollout_hash';
	rollout_id CONSTANT text := context -> 'mapping' ->> 'rollout_id';
	columns jsonb;		-- role -> the column, with the alias of the relation that has it
	match_r text;		-- conditions: the group of r, of q
	match_q text;
	keys text;
BEGIN
	joins := '';
	SELECT string_agg(format('r.%I %s %s.%1$I', g.name, @extschema@.attach_equal(a.atttypid), attach_run_columns.alias), ' AND ' ORDER BY g.i),
		string_agg(format('q.k%s %s %s.%I', g.i, @extschema@.attach_equal(a.atttypid), attach_run_columns.alias, g.name), ' AND ' ORDER BY g.i),
		string_agg('k' || g.i, ', ' ORDER BY g.i)
	INTO match_r, match_q, keys
	FROM jsonb_array_elements_text(context -> 'group_by') WITH ORDINALITY g(name, i)
	JOIN pg_attribute a ON a.attrelid = to_regclass(context ->> 'source') AND a.attname = g.name;
	IF 'rollouts' = ANY (places) THEN
		joins := format(' LEFT JOIN %s r ON %s AND %s', context -> 'rollouts' ->> 'name',
			match_r,
			CASE WHEN (context ->> 'rollout_type')::oid IN ('text'::regtype, 'varchar'::regtype, 'uuid'::regtype, 'int2'::regtype, 'int4'::regtype, 'int8'::regtype)
					THEN format('r.%2$I = %1$s.%2$I', attach_run_columns.alias, rollout_id)
				ELSE format('%s = %s', rollout_hash ->> 'r', rollout_hash ->> attach_run_columns.alias) END);
	END IF;
	IF 'source' = ANY (places) THEN
		-- Rows of one rollout need not agree: it is of the policy that began it, and
		-- started with its earliest row.
		joins := joins || format(' LEFT JOIN (SELECT %1$s, %2$s, %3$s, %4$s FROM %5$s s%6$s GROUP BY %1$s, %2$s) q(%7$s, rollout, policy_version, started_at) ON %8$s AND q.rollout = %9$s',
			context ->> 'group_list', rollout_hash ->> 's',
			CASE WHEN run -> 'policy_version' ->> 'place' = 'source' THEN
				format('(array_agg(s.%1$I ORDER BY s.%2$I) FILTER (WHERE s.%1$I IS NOT NULL))[1]', run -> 'policy_version' ->> 'column', context -> 'mapping' ->> 'step_no')
				ELSE 'NULL::text' END,
			CASE WHEN run -> 'started_at' ->> 'place' = 'source' THEN format('min(s.%I)', run -> 'started_at' ->> 'column') ELSE 'NULL::timestamptz' END,
			context ->> 'source', ' WHERE ' || (context ->> 'group_filter'), keys, match_q, rollout_hash ->> attach_run_columns.alias);
	END IF;
	SELECT jsonb_object_agg(e.key, CASE e.value ->> 'place'
		WHEN 'rollouts' THEN format('r.%I', e.value ->> 'column')
		WHEN 'source' THEN 'q.' || e.key
		ELSE format('%s.%I', attach_run_columns.alias, e.value ->> 'column') END)
	INTO columns FROM jsonb_each(run) e;
	policy_version := coalesce(columns ->> 'policy_version', 'NULL::text');
	bucket := CASE WHEN run ? 'started_at' THEN
		@extschema@.attach_bucket(format(run -> 'started_at' ->> 'to_time', columns ->> 'started_at'), coalesce(settings ->> 'bucket', '1 day'))
		ELSE 'NULL::timestamptz' END;
END
$$;
COMMENT ON FUNCTION attach_run_columns(jsonb, text) IS 'part of attach: the joins from a relation to its rollouts'' policy version and time bucket, and the two expressions';

-- The relation g of attach_fold, with a row per group, policy version and time
-- bucket: rollouts of another version are no part of the comparison.  Given the
-- table that maintain keeps, the groups that it has nothing but the key of: one by
-- one, and so that conditions go below the fold.
CREATE FUNCTION attach_fold_over_time(context jsonb, reads text[], kept text DEFAULT NULL, OUT relation text, OUT policy_version text, OUT bucket text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	taken CONSTANT text[] := ARRAY(SELECT jsonb_array_elements_text(context -> 'group_by')
		UNION SELECT m.value FROM jsonb_each_text(context -> 'mapping') m WHERE m.key NOT IN ('logp_new', 'logp_old', 'token_mask'));
	filter CONSTANT text := nullif(concat_ws(' AND ', context ->> 'group_filter', CASE WHEN kept IS NOT NULL THEN (
		SELECT string_agg(format('s.%I %s c.%I', g.name, @extschema@.attach_equal(a.atttypid), a.attname), ' AND ' ORDER BY g.i)
		FROM jsonb_array_elements_text(context -> 'group_by') WITH ORDINALITY g(name, i) JOIN pg_attribute a ON a.attrelid = kept::regclass AND a.attnum = g.i) END), '');
	run record;
BEGIN
	context := context || jsonb_build_object('group_filter', filter);
	policy_version := 'policy_version';
	bucket := 'bucket';
	WHILE policy_version = ANY (taken) OR bucket = ANY (taken) LOOP
		policy_version := '_' || policy_version;
		bucket := '_' || bucket;
	END LOOP;
	run := @extschema@.attach_run_columns(context, 's');
	relation := @extschema@.attach_fold(
		context || jsonb_build_object(
			'source', format('(SELECT %s, %s AS %s, %s AS %s FROM %s s%s)',
				(SELECT string_agg(format('s.%I', c), ', ' ORDER BY c) FROM unnest(taken) c),
				run.policy_version, policy_version, run.bucket, bucket, context ->> 'source', run.joins),
			-- Groups that maintain keeps are not divided.
			'folded', NULL,
			'group_by', context -> 'group_by' || jsonb_build_array(policy_version, bucket),
			'group_list', format('%s, s.%s, s.%s', context ->> 'group_list', policy_version, bucket)),
		attach_fold_over_time.reads);
	IF kept IS NOT NULL THEN
		relation := format('(SELECT c.* FROM %s c WHERE c.n_rollouts IS NULL) c CROSS JOIN LATERAL %s', kept, relation);
	END IF;
	policy_version := 'g.' || policy_version;
	bucket := 'g.' || bucket;
END
$$;
COMMENT ON FUNCTION attach_fold_over_time(jsonb, text[], text) IS 'part of attach: the relation g, a row per group, policy version and time bucket, and the expressions of the latter two';

-- Every step by every method, one below the other.
CREATE FUNCTION attach_advantages(context jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	reads CONSTANT text[] := ARRAY(SELECT DISTINCT unnest(m.requires || m.uses) FROM @extschema@.attach_methods(context) m);
	methods text;
	fold record;
	beside record;
BEGIN
	-- A condition on the method leaves the others' branches out.
	SELECT string_agg(format('SELECT %L::text AS method, e.rollout_id, e.step_no, e.step_id, e.advantage FROM %s e', m.method, m.call), ' UNION ALL ' ORDER BY m.number)
	INTO methods FROM @extschema@.attach_methods(context) m;
	IF context ->> 'run' = '{}' OR methods IS NULL THEN
		RETURN NULL;
	END IF;
	fold := @extschema@.attach_fold_over_time(context, reads);
	beside := @extschema@.attach_beside(context, 'step', '{rollout_id,step_no,step_id,policy_version,bucket,method,advantage}');
	RETURN format('SELECT %s FROM %s CROSS JOIN LATERAL (SELECT %s AS policy_version, %s AS bucket, e.* FROM (%s) e) a%s',
		array_to_string(beside.items, ', '), fold.relation, fold.policy_version, fold.bucket, methods, beside.joins);
END
$$;
COMMENT ON FUNCTION attach_advantages(jsonb) IS 'part of attach: the query of the view _advantages';

-- What the advantages of a method add up to within a group: columns of e, and
-- what is made of them.  Sums of sums are sums, so parts can be kept.
CREATE FUNCTION attach_method_sums() RETURNS TABLE (name text, expression text)
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	VALUES ('n', 'count(e.advantage)::integer'), ('sum', 'sum(e.advantage)'), ('abs_sum', 'sum(abs(e.advantage))'), ('square_sum', 'sum(e.advantage * e.advantage)'),
		('least', 'min(e.advantage)'), ('greatest', 'max(e.advantage)'),
		('n_positive', '(count(*) FILTER (WHERE e.advantage > 0))::integer'), ('n_negative', '(count(*) FILTER (WHERE e.advantage < 0))::integer')
$$;
COMMENT ON FUNCTION attach_method_sums() IS 'part of attach: what is added up of the advantages of a method, by name';

-- The relation a, with a row per group, policy version and time bucket: the
-- group's columns as k1, k2, ..., and what the views over time add up (columns).
-- Each method is a join of its own that adds no rows, so that the planner leaves
-- out what nobody asks for.
CREATE FUNCTION attach_groups_divided(context jsonb, OUT relation text, OUT columns text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	reads CONSTANT text[] := ARRAY(SELECT DISTINCT unnest(m.requires || m.uses || '{state}') FROM @extschema@.attach_methods(context) m);
	group_value CONSTANT text := context ->> 'group_value';
	kept CONSTANT text := context ->> 'folded_over_time';
	names text;		-- of all columns
	fold record;
	methods record;
BEGIN
	fold := @extschema@.attach_fold_over_time(context, reads, kept);
	SELECT coalesce(array_agg(format('%s_%s', m.method, s.name) ORDER BY m.number, s.i), '{}') AS columns,
		coalesce(string_agg(format(', m%s.%s', m.number, s.name), '' ORDER BY m.number, s.i), '') AS items
	INTO methods
	FROM @extschema@.attach_methods(context) m, @extschema@.attach_method_sums() WITH ORDINALITY s(name, expression, i);
	columns := '{policy_version,bucket,n_rollouts,n_judged,n_successes,n_steps,n_judged_steps,n_shared_steps,return_sum,uniform}' || methods.columns;
	SELECT string_agg('k' || g.i, ', ' ORDER BY g.i) || ', ' || array_to_string(columns, ', ') INTO names
	FROM jsonb_array_elements_text(context -> 'group_by') WITH ORDINALITY g(name, i);
	relation := format('(SELECT %s, %s, %s, u.n_rollouts, u.n_judged, u.n_successes, u.n_steps, j.n_steps, round(coalesce(u.shared_step_share, 0) * j.n_steps)::integer,'
			' u.mean_return * u.n_judged, u.uniform%s FROM %s'
			' LEFT JOIN LATERAL (SELECT max(e.n_rollouts) AS n_rollouts, max(e.n_judged) AS n_judged, coalesce(max(round(e.success_rate * e.n_judged)::integer), 0) AS n_successes,'
			' max(e.n_steps) AS n_steps, max(e.mean_return) AS mean_return, bool_and(e.uniform) AS uniform, max(e.shared_step_share) AS shared_step_share'
			' FROM @extschema@.group_summary(g.%s%s) e) u ON true'
			' LEFT JOIN LATERAL (SELECT coalesce(sum(e.n_steps) FILTER (WHERE e.judged), 0)::integer AS n_steps FROM @extschema@.rollouts(g.%s) e) j ON true%s)',
		(SELECT string_agg(format('g.%I', g.name), ', ' ORDER BY g.i) FROM jsonb_array_elements_text(context -> 'group_by') WITH ORDINALITY g(name, i)),
		fold.policy_version, fold.bucket, methods.items, fold.relation,
		group_value, (SELECT e ->> 'arguments' FROM jsonb_array_elements(context -> 'views') e WHERE e ->> 'suffix' = 'groups'), group_value,
		(SELECT string_agg(format(' LEFT JOIN LATERAL (SELECT %s FROM %s e) m%s ON true',
				(SELECT string_agg(format('%s AS %s', s.expression, s.name), ', ' ORDER BY s.i) FROM @extschema@.attach_method_sums() WITH ORDINALITY s(name, expression, i)),
				m.call, m.number), '' ORDER BY m.number)
		 FROM @extschema@.attach_methods(context) m));
	-- Rows that maintain keeps.  Where a method does not know what to do with a
	-- group, none is kept but one that says so: to ask for the method is an error
	-- then, as it is without maintain, and to ask for others is not.
	IF kept IS NOT NULL THEN
		relation := format('(SELECT c.* FROM %s c WHERE c.n_rollouts IS NOT NULL UNION ALL %s)', kept, substr(relation, 2, length(relation) - 2));
	END IF;
	relation := format('%s a(%s)', relation, names);
END
$$;
COMMENT ON FUNCTION attach_groups_divided(jsonb) IS 'part of attach: the relation a, a row per group, policy version and time bucket with what can be added up, and its columns after those of the group';

CREATE FUNCTION attach_groups_over_time(context jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	divided record;
	beside record;
BEGIN
	PERFORM @extschema@.attach_builder_options(context, 'groups_over_time', '{}');
	IF context ->> 'run' = '{}' THEN
		RETURN NULL;
	END IF;
	divided := @extschema@.attach_groups_divided(context);
	beside := @extschema@.attach_beside(context, 'group', divided.columns);
	RETURN format('SELECT %s FROM %s CROSS JOIN LATERAL (SELECT %s) g(%s)', array_to_string(beside.items, ', '), divided.relation,
		(SELECT string_agg('a.k' || g.i, ', ' ORDER BY g.i) FROM jsonb_array_elements(context -> 'group_by') WITH ORDINALITY g(name, i)),
		(SELECT string_agg(format('%I', g.name), ', ' ORDER BY g.i) FROM jsonb_array_elements_text(context -> 'group_by') WITH ORDINALITY g(name, i)));
END
$$;
COMMENT ON FUNCTION attach_groups_over_time(jsonb) IS 'part of attach: the query of the view _groups_over_time';

-- Added up within each group first: there a method's rows need no hash table.
-- A condition on the method leaves the others' branches out.
CREATE FUNCTION attach_advantage_over_time(context jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kept CONSTANT text := context ->> 'folded_over_time';
	methods record;
	fold record;
	relation text;
BEGIN
	SELECT string_agg(format('SELECT %L::text AS method, %s FROM %s e', m.method, s.made, m.call), ' UNION ALL ' ORDER BY m.number) AS made,
		string_agg(format('SELECT %L::text AS method, %s', m.method, s.kept), ' UNION ALL ' ORDER BY m.number) AS kept
	INTO methods
	FROM @extschema@.attach_methods(context) m
	CROSS JOIN LATERAL (SELECT string_agg(format('%s AS %s', s.expression, s.name), ', ' ORDER BY s.i) AS made, string_agg(format('a.%s_%s AS %2$s', m.method, s.name), ', ' ORDER BY s.i) AS kept
		FROM @extschema@.attach_method_sums() WITH ORDINALITY s(name, expression, i)) s;
	IF context ->> 'run' = '{}' OR methods.made IS NULL THEN
		RETURN NULL;
	END IF;
	fold := @extschema@.attach_fold_over_time(context, ARRAY(SELECT DISTINCT unnest(m.requires || m.uses) FROM @extschema@.attach_methods(context) m), kept);
	relation := format('SELECT %s AS policy_version, %s AS bucket, s.* FROM %s CROSS JOIN LATERAL (%s) s', fold.policy_version, fold.bucket, fold.relation, methods.made);
	IF kept IS NOT NULL THEN
		relation := format('SELECT a.policy_version, a.bucket, s.* FROM %s a CROSS JOIN LATERAL (%s) s WHERE a.n_rollouts IS NOT NULL UNION ALL %s', kept, methods.kept, relation);
	END IF;
	RETURN format('SELECT s.policy_version, s.bucket, s.method, sum(s.n) AS n_steps,'
			' sum(s.abs_sum) / nullif(sum(s.n), 0)::float8 AS mean_abs_advantage, sum(s.sum) / nullif(sum(s.n), 0)::float8 AS mean_advantage,'
			' CASE WHEN sum(s.n) > 1 THEN sqrt(greatest(sum(s.square_sum) - sum(s.sum) ^ 2 / sum(s.n)::float8, 0) / (sum(s.n) - 1)::float8) END AS sd_advantage,'
			' min(s.least) AS least_advantage, max(s.greatest) AS greatest_advantage,'
			' sum(s.n_positive) AS n_positive, sum(s.n_negative) AS n_negative'
			' FROM (%s) s GROUP BY 1, 2, 3 HAVING sum(s.n) > 0',
		relation);
END
$$;
COMMENT ON FUNCTION attach_advantage_over_time(jsonb) IS 'part of attach: the query of the view _advantage_over_time';

CREATE FUNCTION attach_progress_over_time(context jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	logprobs CONSTANT jsonb := context -> 'logprobs';
	run record;
	columns text;
	outer_columns text;
	ratios text;
	arrays text;
BEGIN
	-- Also where there will be no view: a wrong option is an error all the same.
	PERFORM @extschema@.attach_builder_options(context, 'progress_over_time', '{bucket}');
	IF context ->> 'run' = '{}' THEN
		RETURN NULL;
	END IF;
	SELECT coalesce(string_agg(format(', sum(a.%1$s_abs_sum) / nullif(sum(a.%1$s_n), 0) AS mean_abs_%1$s', m.method), '' ORDER BY m.number), ''),
		coalesce(string_agg(format(', v.mean_abs_%s', m.method), '' ORDER BY m.number), '')
	INTO columns, outer_columns
	FROM @extschema@.attach_methods(context) m;
	IF logprobs ? 'logp_new' THEN
		run := @extschema@.attach_run_columns(context, 'g');
		arrays := concat_ws(', ', logprobs ->> 'logp_new', logprobs ->> 'logp_old', logprobs ->> 'token_mask');
		ratios := format(' LEFT JOIN (SELECT jsonb_build_array(%1$s, %2$s) AS key, count(*) AS n_ratios,'
				' @extschema@.effective_sample_size(@extschema@.step_ratio(%3$s)) / count(*) AS ess_share,'
				' @extschema@.effective_sample_size(@extschema@.sequence_ratio(%3$s)) / count(*) AS sequence_ess_share'
				' FROM %4$s g%5$s WHERE %6$s GROUP BY 1) w ON w.key = jsonb_build_array(v.policy_version, v.bucket)',
			run.policy_version, run.bucket, arrays, context -> 'steps' ->> 'name', run.joins,
			(SELECT string_agg(format('g.%I IS DISTINCT FROM NULL', c), ' AND ')
			 FROM (SELECT jsonb_array_elements_text(context -> 'group_by') UNION ALL SELECT context -> 'mapping' ->> r FROM unnest('{step_no,logp_new,logp_old}'::text[]) r) u(c)));
	END IF;
	RETURN format('SELECT v.policy_version, v.bucket, v.n_groups, v.n_judged_groups, v.n_informative_groups, v.n_rollouts, v.n_judged, v.n_successes,'
			' v.n_steps, v.n_judged_steps, v.n_shared_steps, v.success_rate, v.mean_return, v.informative_share, v.shared_step_share%s, %s'
			' FROM (SELECT a.policy_version, a.bucket, count(*) AS n_groups, count(*) FILTER (WHERE a.n_judged > 0) AS n_judged_groups,'
			' count(*) FILTER (WHERE NOT a.uniform) AS n_informative_groups, sum(a.n_rollouts) AS n_rollouts, sum(a.n_judged) AS n_judged,'
			' sum(a.n_successes) AS n_successes, sum(a.n_steps) AS n_steps, sum(a.n_judged_steps) AS n_judged_steps, sum(a.n_shared_steps) AS n_shared_steps,'
			' sum(a.n_successes)::float8 / nullif(sum(a.n_judged), 0) AS success_rate,'
			' sum(a.return_sum) / nullif(sum(a.n_judged), 0) AS mean_return,'
			' (count(*) FILTER (WHERE NOT a.uniform))::float8 / nullif(count(*) FILTER (WHERE a.n_judged > 0), 0) AS informative_share,'
			' sum(a.n_shared_steps)::float8 / nullif(sum(a.n_judged_steps), 0) AS shared_step_share%s'
			' FROM %s GROUP BY 1, 2) v%s',
		outer_columns, CASE WHEN ratios IS NULL THEN '0::bigint AS n_ratios, NULL::float8 AS ess_share, NULL::float8 AS sequence_ess_share'
			ELSE 'coalesce(w.n_ratios, 0) AS n_ratios, w.ess_share, w.sequence_ess_share' END,
		columns, (SELECT d.relation FROM @extschema@.attach_groups_divided(context) d), ratios);
END
$$;
COMMENT ON FUNCTION attach_progress_over_time(jsonb) IS 'part of attach: the query of the view _progress_over_time';

-- Methods side by side: _compare, _quadrants, _disagreements.

CREATE FUNCTION stepadv.outcomes(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, success boolean, return float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 400 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_outcomes';
COMMENT ON FUNCTION stepadv.outcomes(stepadv.rollout_group, float8) IS
'the outcome of the rollout of each step: success (as given, or else whether the undiscounted return exceeds '
'success_above) and the return; both NULL for rollouts that are not judged; error if success_above is not finite';

-- The options of a view that a builder makes: an object under the view's name.
CREATE FUNCTION stepadv_internal.view_options(a stepadv_internal.attached, suffix text) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT text[] := (SELECT v.options FROM stepadv_internal.combined_views v
		WHERE v.suffix = view_options.suffix);
	settings CONSTANT jsonb := (a).options -> view_options.suffix;
	option record;
BEGIN
	IF settings IS NULL OR jsonb_typeof(settings) <> 'object' THEN
		RETURN '{}';	-- check_options raises the error for a value that is not an object
	END IF;
	FOR option IN SELECT e.key, e.value FROM jsonb_each(settings) e LOOP
		IF option.key <> ALL (known) THEN
			RAISE EXCEPTION '% has no parameter "%"', view_options.suffix, option.key
				USING ERRCODE = 'invalid_parameter_value', HINT = stepadv_internal.nearest_hint(option.key, known,
					format('Its parameters: %s.', coalesce(nullif(array_to_string(known, ', '), ''), 'none')));
		ELSIF jsonb_typeof(option.value) IN ('object', 'array') THEN
			RAISE EXCEPTION 'option "%" must be a single value, not an %', option.key, jsonb_typeof(option.value)
				USING ERRCODE = 'invalid_parameter_value';
		END IF;
	END LOOP;
	RETURN settings;
END
$$;
COMMENT ON FUNCTION stepadv_internal.view_options(stepadv_internal.attached, text) IS
'part of attach: the options of a view that a builder makes, checked against its parameters';

-- The methods with an advantage per step that the option "methods" of a view names, or all.
CREATE FUNCTION stepadv_internal.chosen_methods(a stepadv_internal.attached, made stepadv_internal.made_method[],
	suffix text) RETURNS SETOF stepadv_internal.made_method
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings CONSTANT jsonb := stepadv_internal.view_options(a, suffix);
	methods CONSTANT text[] := ARRAY(SELECT m.method FROM unnest(made) m WHERE '{step_no,advantage}' <@ m.results
		ORDER BY m.number);
	wanted CONSTANT text[] := coalesce(regexp_split_to_array(btrim(settings ->> 'methods'), '\s*,\s*'), methods);
	unknown text;
BEGIN
	SELECT w INTO unknown FROM unnest(wanted) w WHERE w <> ALL (methods) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'no method "%" to compare', unknown
			USING ERRCODE = 'invalid_parameter_value',
				HINT = stepadv_internal.nearest_hint(unknown, methods,
					format('Methods that the given columns allow: %s.',
					coalesce(nullif(array_to_string(methods, ', '), ''), 'none')));
	END IF;
	RETURN QUERY SELECT m.* FROM unnest(made) m WHERE m.method = ANY (wanted) ORDER BY m.number;
END
$$;
COMMENT ON FUNCTION stepadv_internal.chosen_methods(stepadv_internal.attached, stepadv_internal.made_method[], text) IS
'part of attach: the methods with an advantage per step that a view''s option "methods" names, or all; error for '
'others';

-- src/attach/matrix_agg.c
CREATE FUNCTION stepadv_internal.matrix_agg_trans(internal, VARIADIC numbers "any") RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_matrix_agg_trans';
COMMENT ON FUNCTION stepadv_internal.matrix_agg_trans(internal, "any") IS 'part of matrix_agg: adds a row';

CREATE FUNCTION stepadv_internal.matrix_agg_final(internal) RETURNS float8[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_matrix_agg_final';
COMMENT ON FUNCTION stepadv_internal.matrix_agg_final(internal) IS 'part of matrix_agg: the array';

CREATE AGGREGATE stepadv_internal.matrix_agg(VARIADIC numbers "any") (
	SFUNC = stepadv_internal.matrix_agg_trans, STYPE = internal, SSPACE = 8192,
	FINALFUNC = stepadv_internal.matrix_agg_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.matrix_agg("any") IS
'an array with a row per row and a column per argument (double precision), in the order of the rows; NULL over none';

-- The relation f: for each step of a group an advantage per method, under its name, and the columns of an additional
-- call; and the relation m: the advantages as one array, with a row per step and a column per method.
--
-- All functions of the extension with a row per step return rows in the order of the
-- value, by rollout_id and step_no.  So ROWS FROM can put rows of the same step side by
-- side without a join.  A function without rows (gae, for a group without values) has
-- NULLs there.  Users' functions may return rows in any order, so theirs are sorted
-- first.
--
-- rollouts: the group that all methods are called with; NULL: each with its own.
CREATE FUNCTION stepadv_internal.method_rows(methods stepadv_internal.made_method[], rollouts text, beside text,
	beside_columns text[], OUT rows text, OUT as_array text)
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT r.rows, format('(SELECT stepadv_internal.matrix_agg(%s) AS advantages FROM %s) m',
		stepadv_internal.list(r.names, 'f.%1$I'::text, ', '::text), r.rows)
	FROM (SELECT array_agg(m.method ORDER BY m.number) AS names,
			format(CASE WHEN bool_and(m.ours) THEN '%s' ELSE '(SELECT %2$s FROM %3$s CROSS JOIN LATERAL %1$s) f' END,
			format('ROWS FROM (%s) AS f(%s)',
				-- Calls with the same argument are adjacent, so that a stored group is unpacked once for them.
				concat_ws(', ', beside, string_agg(CASE WHEN m.ours THEN c.call ELSE o.given END, ', '
					ORDER BY m.argument ~ '\(', m.argument COLLATE "C", m.number)),
				concat_ws(', ', nullif(array_to_string(beside_columns, ', '), ''), string_agg(CASE WHEN m.ours
					THEN c.list ELSE quote_ident(m.method) END, ', ' ORDER BY m.argument ~ '\(',
					m.argument COLLATE "C", m.number))),
			stepadv_internal.list(beside_columns || array_agg(m.method ORDER BY m.number), 'f.%1$I'::text,
				', '::text),
			string_agg(format('(SELECT array_agg(u.rollout_id) AS rollout_ids, array_agg(u.step_no) AS step_nos, '
				'array_agg(u.advantage) AS advantages FROM %s u) u%s', c.call, m.number), ' CROSS JOIN '
				ORDER BY m.number) FILTER (WHERE NOT m.ours)) AS rows
		FROM unnest(method_rows.methods) m
		CROSS JOIN LATERAL (SELECT format('%s(%s%s', m.called, coalesce(method_rows.rollouts, m.argument), m.rest)
				AS call,
			-- A method's advantage has its name; other columns are unused, and get names that no method can have.
			(SELECT string_agg(format('%I', CASE WHEN n.n = 'advantage' THEN m.method ELSE m.number || '.' || n.i
				END), ', ' ORDER BY n.i) FROM unnest(m.results) WITH ORDINALITY n(n, i)) AS list) c
		CROSS JOIN LATERAL format('stepadv_internal.in_order(u%1$s.rollout_ids, u%1$s.step_nos, u%1$s.advantages, '
			'%2$s)', m.number, coalesce(method_rows.rollouts, m.argument)) o(given)) r
$$;
COMMENT ON FUNCTION stepadv_internal.method_rows(stepadv_internal.made_method[], text, text, text[]) IS
'part of attach: the relations f and m with the advantages of methods side by side, of a group or of what each is '
'called with, beside a further call';

-- What the three views have in common: the methods, the fold, and the rows f of all
-- methods.
CREATE FUNCTION stepadv_internal.compare_source(a stepadv_internal.attached, made stepadv_internal.made_method[],
	OUT methods text[], OUT fold text, OUT outcomes text, OUT estimates text, OUT as_array text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings CONSTANT jsonb := stepadv_internal.view_options(a, 'compare'::text);
	chosen CONSTANT stepadv_internal.made_method[] := ARRAY(SELECT m
		FROM stepadv_internal.chosen_methods(a, made, 'compare'::text) m ORDER BY m.number);
BEGIN
	methods := ARRAY(SELECT m.method FROM unnest(chosen) m ORDER BY m.number);
	IF methods = '{}' THEN
		RETURN;
	END IF;
	fold := stepadv_internal.fold(a, ARRAY(SELECT DISTINCT r FROM unnest(chosen) m CROSS JOIN LATERAL unnest(m.reads)
		r WHERE r IS NOT NULL ORDER BY r));
	outcomes := format('stepadv.outcomes(g.%I%s)', stepadv_internal.value_name(a),
		stepadv_internal.arguments('stepadv.outcomes(stepadv.rollout_group, float8)'::regprocedure,
			jsonb_strip_nulls(jsonb_build_object('success_above', coalesce(settings -> 'success_above',
			CASE WHEN jsonb_typeof((a).options -> 'success_above') <> 'object'
			THEN (a).options -> 'success_above' END)))));
	SELECT r.rows, r.as_array INTO estimates, as_array FROM stepadv_internal.method_rows(chosen, NULL::text, outcomes,
		'{step_id,rollout_id,step_no,success,return}'::text[]) r;
END
$$;
COMMENT ON FUNCTION stepadv_internal.compare_source(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the methods to compare, the fold that feeds them all, the call for outcomes, and their rows side by '
'side; no method: NULL';

-- Each pair of methods once, in the order of _compare.
CREATE FUNCTION stepadv_internal.method_pairs(methods text[], OUT i integer, OUT method_a text, OUT method_b text,
	OUT place_a integer, OUT place_b integer) RETURNS SETOF record
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT (row_number() OVER (ORDER BY a.i, b.i))::integer, a.m, b.m, a.i::integer, b.i::integer
	FROM unnest(methods) WITH ORDINALITY a(m, i) JOIN unnest(methods) WITH ORDINALITY b(m, i) ON a.i < b.i
	ORDER BY 1
$$;
COMMENT ON FUNCTION stepadv_internal.method_pairs(text[]) IS
'part of attach: all pairs of methods, with the places of both in the list';

CREATE FUNCTION stepadv_internal.threshold(a stepadv_internal.attached, suffix text, otherwise float8) RETURNS float8
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	threshold CONSTANT float8 := coalesce((stepadv_internal.view_options(a, suffix) ->> 'threshold')::float8,
		otherwise);
BEGIN
	IF NOT (threshold >= 0 AND threshold < 'Infinity') THEN
		RAISE EXCEPTION 'threshold must be a finite number of at least 0, not %', threshold
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN threshold;
END
$$;
COMMENT ON FUNCTION stepadv_internal.threshold(stepadv_internal.attached, text, float8) IS
'part of attach: the option threshold, checked';

-- Columns of methods added after the view was created come last, so that it can be replaced.
CREATE FUNCTION stepadv_internal.compare_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source CONSTANT record := stepadv_internal.compare_source(a, made);
	kind CONSTANT integer := array_position((a).view_kinds, 'compare');
	names text[] := stepadv_internal.group_columns((a).views[kind], 10000);
	later CONSTANT text[] := ARRAY(SELECT m.m FROM unnest(source.methods) WITH ORDINALITY m(m, i)
		CROSS JOIN LATERAL array_position((a).view_kinds, m.m) p(place)
		WHERE names IS NOT NULL AND (p.place > kind OR p.place IS NULL) ORDER BY p.place, m.i);
	n_new CONSTANT integer := (SELECT count(*) FROM unnest(later) l WHERE l <> ALL ((a).view_kinds));
	beside record;
BEGIN
	IF source.fold IS NULL THEN
		RETURN NULL;
	END IF;
	beside := stepadv_internal.beside(a, 'step'::text, '{rollout_id,step_no,step_id,success}' || ARRAY(SELECT m
		FROM unnest(source.methods) WITH ORDINALITY m(m, i) WHERE m <> ALL (later) ORDER BY i), '{}'::jsonb,
		'{}'::text[], '{task_id,run_id,policy_version,policy_step,staleness}'::text[], '{}'::jsonb);
	FOR i IN cardinality(later) - n_new + 1 .. cardinality(later) LOOP
		names := names || stepadv_internal.free_name(names, later[i], 'method_'::text);
	END LOOP;
	RETURN format('SELECT %s FROM %s CROSS JOIN LATERAL (SELECT f.rollout_id, f.step_no, f.step_id, '
		'f.success, %s FROM %s) a%s',
		concat_ws(', ', beside.items, (SELECT string_agg(format('a.%I AS %I', l.method, l.name), ', ' ORDER BY l.i)
			FROM unnest(later, names[cardinality(names) - cardinality(later) + 1:]) WITH ORDINALITY l(method, name,
				i))),
		source.fold, stepadv_internal.list(source.methods, 'f.%1$I'::text, ', '::text), source.estimates,
		beside.joins);
END
$$;
COMMENT ON FUNCTION stepadv_internal.compare_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _compare';

-- The run of rows f below g.  Advantages are those of the whole group, so the run is looked up by
-- rollout: in a subquery over the rollouts of g if an index can find them, otherwise in a
-- relation of all.
--
--	names, expressions	over g, r and o; of_group: which of them are the group's
--	inside		joins of r and o to rows f below g
--	beside		joins to g that inside needs
CREATE FUNCTION stepadv_internal.run_of_rollout(a stepadv_internal.attached, OUT names text[], OUT expressions text[],
	OUT of_group boolean[], OUT inside text, OUT beside text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n CONSTANT integer := (a).n_group_columns;
	known record;
BEGIN
	inside := '';
	beside := '';
	-- Properties of the run, except those that a column of the group shows under the same name.
	SELECT coalesce(array_agg(e.role ORDER BY e.i), '{}'), coalesce(array_agg(e.expression ORDER BY e.i), '{}'),
		coalesce(array_agg(e.alias = 'g' ORDER BY e.i), '{}')
	INTO names, expressions, of_group
	FROM stepadv_internal.run_expressions(a, '{task_id,run_id,policy_version,policy_step}'::text[]) e WHERE NOT e.own;
	FOR known IN
		SELECT e.view, e.alias, array_agg('stepadv_' || e.role ORDER BY e.i) AS columns
		FROM stepadv_internal.run_expressions(a, '{task_id,run_id,policy_version,policy_step}'::text[]) e
		WHERE e.alias <> 'g' GROUP BY e.view, e.alias ORDER BY e.alias DESC
	LOOP
		IF stepadv_internal.by_group(known.view, n) THEN
			inside := inside || format(' LEFT JOIN LATERAL (SELECT DISTINCT ON (s.stepadv_rollout) %4$s FROM %1$s s '
				'WHERE %2$s) %3$s ON %3$s.stepadv_rollout OPERATOR(pg_catalog.=) f.rollout_id',
				stepadv_internal.relation_name(known.view), stepadv_internal.same_group('s'::text, known.view,
					'g'::text, (a).rows, n), known.alias,
				stepadv_internal.list('stepadv_rollout'::text || known.columns, 's.%1$I'::text, ', '::text));
		ELSE
			-- The columns of an adapter about the runs of a group g, as arrays over its rollouts.
			beside := beside || format(' LEFT JOIN (SELECT %1$s, %2$s FROM %3$s s GROUP BY %1$s) %4$s_all ON %5$s',
				stepadv_internal.list(stepadv_internal.group_columns(known.view, n), 's.%1$I'::text, ', '::text),
				stepadv_internal.list('stepadv_rollout'::text || known.columns,
					'pg_catalog.array_agg(s.%1$I) AS %1$I'::text, ', '::text),
				stepadv_internal.relation_name(known.view), known.alias,
				stepadv_internal.same_group(known.alias || '_all', known.view, 'g'::text, (a).rows, n));
			inside := inside || format(' LEFT JOIN (SELECT %2$s) %1$s ON %1$s.stepadv_rollout '
				'OPERATOR(pg_catalog.=) f.rollout_id', known.alias,
				stepadv_internal.list('stepadv_rollout'::text || known.columns,
					format('pg_catalog.unnest(%s_all.%%1$I) AS %%1$I', known.alias), ', '::text));
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.run_of_rollout(stepadv_internal.attached) IS
'part of attach: task, run, policy version and step of a rollout of g, and the joins that they need; only those that '
'were given and are not in the key';

-- These functions have SQL-standard bodies, whose names are bound at creation, and can be inlined.
CREATE FUNCTION stepadv_internal.sign_digit(advantage float8, threshold float8) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN abs(advantage) <= threshold THEN 1 WHEN advantage > 0 THEN 2 WHEN advantage < 0 THEN 0 ELSE 3 END;
COMMENT ON FUNCTION stepadv_internal.sign_digit(float8, float8) IS
'part of the view _quadrants: the sign of an advantage as 0 (-), 1 (0), 2 (+) or 3 (NULL)';

CREATE FUNCTION stepadv_internal.scaled_advantages(advantage_array float8[], threshold float8)
RETURNS TABLE (advantages float8[], scaled float8[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 400 ROWS 100
AS 'MODULE_PATHNAME', 'stepadv_scaled_advantages';
COMMENT ON FUNCTION stepadv_internal.scaled_advantages(float8[], float8) IS
'part of the view _disagreements: the rows of an array with a column per method, in units of the root mean square '
'of their method; 0 if it is not above the threshold';

-- Each pair of methods has nine quadrants.  Steps are counted once for all pairs: the
-- signs of a step's advantages are the digits (0 to 3 for -, 0, +, NULL) of a number
-- to base 4, which has room for 15 methods as an integer and for 31 as a bigint.  Each
-- pair adds up the counts by its two digits.
CREATE FUNCTION stepadv_internal.quadrants_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	threshold CONSTANT float8 := stepadv_internal.threshold(a, 'quadrants'::text, 0::float8);
	source CONSTANT record := stepadv_internal.compare_source(a, made);
	run CONSTANT record := stepadv_internal.run_of_rollout(a);
	-- Properties of runs that can differ within a group; steps are counted by them.
	divided CONSTANT text[] := ARRAY(SELECT r.name FROM unnest(run.names, run.of_group) WITH ORDINALITY r(name,
		of_group, i) WHERE NOT r.of_group ORDER BY r.i);
	beside record;
	digits CONSTANT text := CASE WHEN cardinality(source.methods) > 15 THEN 'bigint' ELSE 'integer' END;
	signs text;
BEGIN
	IF source.fold IS NULL OR cardinality(source.methods) < 2 THEN
		RETURN NULL;
	ELSIF cardinality(source.methods) > 31 THEN
		RAISE EXCEPTION 'cannot compare % methods', cardinality(source.methods)
			USING ERRCODE = 'program_limit_exceeded',
			HINT = 'Choose up to 31 by the option {"compare": {"methods": "…, …"}}.';
	END IF;
	beside := stepadv_internal.beside(a, 'group'::text, run.names
		|| '{method_a,method_b,success,quadrant,n_steps,share}'::text[],
		(SELECT coalesce(jsonb_object_agg(r.name, r.expression), '{}') FROM unnest(run.names, run.expressions,
			run.of_group) r(name, expression, of_group) WHERE r.of_group), '{}'::text[], '{}'::text[], '{}'::jsonb);
	SELECT string_agg(format('%s * stepadv_internal.sign_digit(f.%I, %L::float8)', power(4::numeric, m.i - 1)::bigint
		|| '::' || digits, m.m, threshold), ' + ' ORDER BY m.i)
	INTO signs FROM unnest(source.methods) WITH ORDINALITY m(m, i);
	RETURN format($view$
		SELECT %1$s FROM %2$s%3$s CROSS JOIN LATERAL (
			SELECT %4$s q.method_a, q.method_b, q.success, q.quadrant, q.n_steps,
				CASE WHEN q.quadrant IS NOT NULL THEN q.n_steps / (sum(q.n_steps) FILTER (WHERE q.quadrant IS NOT NULL)
					OVER (PARTITION BY %4$s q.method_a, q.method_b, q.success))::float8 END AS share
			FROM (
				SELECT %5$s p.method_a, p.method_b, c.success, sum(c.n_steps)::bigint AS n_steps,
					-- By the two digits; NULL if a method has no advantage.
					('{--,-0,-+,NULL,0-,00,0+,NULL,+-,+0,++,NULL}'::text[])[((c.signs >> 2 * p.place_a - 2 & 3) * 4
						+ (c.signs >> 2 * p.place_b - 2 & 3) + 1)::integer] AS quadrant
				FROM (SELECT %10$s f.success, f.signs, count(*) AS n_steps
					FROM (SELECT %6$s f.success, f.signs
						FROM (SELECT f.rollout_id, f.success, %7$s AS signs FROM %8$s) f%9$s) f
					GROUP BY %10$s f.success, f.signs) c
				CROSS JOIN stepadv_internal.method_pairs(%11$L::text[]) p
				GROUP BY %5$s p.method_a, p.method_b, c.success, quadrant) q) a$view$,
		beside.items, source.fold, run.beside,
		stepadv_internal.list(divided, 'q.%1$I,'::text, ' '::text), stepadv_internal.list(divided, 'c.%1$I,'::text,
			' '::text),
		(SELECT string_agg(format('%s AS %I,', r.expression, r.name), ' ' ORDER BY r.i)
			FROM unnest(run.names, run.expressions) WITH ORDINALITY r(name, expression, i)
			WHERE r.name = ANY (divided)),
		signs, source.estimates, run.inside,
		stepadv_internal.list(divided, 'f.%1$I,'::text, ' '::text), source.methods);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.quadrants_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _quadrants';

-- Advantages of different methods have different units, so each is divided by its
-- root mean square over the steps of the group.  If that is at or below the threshold,
-- the advantages are rounding errors and count as 0.
CREATE FUNCTION stepadv_internal.disagreements_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	threshold CONSTANT float8 := stepadv_internal.threshold(a, 'disagreements'::text, 1e-9::float8);
	source CONSTANT record := stepadv_internal.compare_source(a, made);
	run record;
	beside record;
BEGIN
	IF source.fold IS NULL OR cardinality(source.methods) < 2 THEN
		RETURN NULL;
	END IF;
	SELECT array_agg(e.role ORDER BY e.i) AS names, jsonb_object_agg(e.role, e.expression) AS expressions,
		array_agg(e.alias) AS aliases INTO run
	FROM stepadv_internal.run_expressions(a, '{task_id,run_id,policy_version,policy_step}'::text[]) e WHERE NOT e.own;
	beside := stepadv_internal.beside(a, 'step'::text, run.names
		||
			'{rollout_id,step_no,step_id,success,method_a,method_b,advantage_a,advantage_b,scaled_a,scaled_b,difference,
				opposite_sign}'::text[], coalesce(run.expressions, '{}'), coalesce(run.aliases, '{}'), '{}'::text[],
		'{}'::jsonb);
	RETURN format($view$
		SELECT %1$s FROM %2$s CROSS JOIN LATERAL (
			SELECT c.rollout_id, c.step_no, c.step_id, c.success, p.method_a, p.method_b,
				c.advantages[p.place_a] AS advantage_a, c.advantages[p.place_b] AS advantage_b,
				c.scaled[p.place_a] AS scaled_a, c.scaled[p.place_b] AS scaled_b,
				c.scaled[p.place_a] - c.scaled[p.place_b] AS difference,
				sign(c.scaled[p.place_a]) * sign(c.scaled[p.place_b]) < 0 AS opposite_sign
			FROM %3$s
			CROSS JOIN LATERAL ROWS FROM (%4$s, stepadv_internal.scaled_advantages(m.advantages, %5$L::float8))
				AS c(step_id, rollout_id, step_no, success, return, advantages, scaled)
			CROSS JOIN stepadv_internal.method_pairs(%6$L::text[]) p
			-- Steps of rollouts that are not judged, or for which a method has no advantage, are left out.
			WHERE c.advantages[p.place_a] IS NOT NULL AND c.advantages[p.place_b] IS NOT NULL) a%7$s$view$,
		beside.items, source.fold, source.as_array, source.outcomes, threshold, source.methods, beside.joins);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.disagreements_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _disagreements';

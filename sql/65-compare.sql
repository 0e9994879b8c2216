-- Methods side by side: builders of attach's _compare, _quadrants, _disagreements.

CREATE FUNCTION outcomes(rollouts rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, success integer, return float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 400 ROWS 100 SUPPORT row_support
AS 'MODULE_PATHNAME', 'stepadv_outcomes';
COMMENT ON FUNCTION outcomes(rollout_group, float8) IS
'part of attach: what became of each step''s rollout: success as 1 or 0 (its own word, else whether its undiscounted return exceeds success_above) and the return; both NULL for rollouts not judged yet; error on success_above that is not finite';

CREATE FUNCTION with_values(rollouts rollout_group) RETURNS rollout_group
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50
AS 'MODULE_PATHNAME', 'stepadv_with_values';
COMMENT ON FUNCTION with_values(rollout_group) IS
'part of attach: the group, or NULL if none of its steps has a value of a critic: then a method that needs one has no rows, rather than an error, beside others';

-- The views with an advantage per step among those already made, in the order of
-- attach's list.
CREATE FUNCTION attach_methods(context jsonb, OUT number integer, OUT method text, OUT call text, OUT needs_value boolean, OUT requires text[], OUT uses text[], OUT results text[]) RETURNS SETOF record
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT row_number() OVER (ORDER BY v.i), v.view ->> 'function',
		-- A group without a critic's values has no rows then, rather than being an error.
		format(CASE WHEN v.view -> 'requires' ? 'value' THEN '@extschema@.%I(@extschema@.with_values(g.%s)%s)' ELSE '@extschema@.%I(g.%s%s)' END,
			v.view ->> 'function', context ->> 'group_value', v.view ->> 'arguments'),
		v.view -> 'requires' ? 'value',
		ARRAY(SELECT jsonb_array_elements_text(v.view -> 'requires')), ARRAY(SELECT jsonb_array_elements_text(v.view -> 'uses')),
		ARRAY(SELECT jsonb_array_elements_text(v.view -> 'results'))
	FROM jsonb_array_elements(context -> 'views') WITH ORDINALITY v(view, i)
	WHERE v.view -> 'results' ?& '{step_no,advantage}'
	ORDER BY v.i
$$;
COMMENT ON FUNCTION attach_methods(jsonb) IS 'part of attach: the methods that give an advantage per step, the call of each, the roles that it reads and its columns';

-- What the three views have in common: which methods, over which fold, and the
-- rows f of all of them.
--
-- Every function of a group that has a row per step returns its rows in one
-- order, that of the value: by rollout_id and step_no.  So the n-th rows of all
-- of them are about the same step, and ROWS FROM puts them side by side with
-- neither a join nor a second look at the group.  A function without rows (gae,
-- of a group without values) has NULLs there.
CREATE FUNCTION compare_source(context jsonb, OUT methods text[], OUT fold text, OUT estimates text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings CONSTANT jsonb := @extschema@.attach_builder_options(context, 'compare', '{methods,success_above}');
	wanted text[];
	unknown text;
	success_above text;
	requires text[];
	uses text[];
	outcomes CONSTANT oid := '@extschema@.outcomes(@extschema@.rollout_group, float8)'::regprocedure;
BEGIN
	SELECT coalesce(array_agg(m.method ORDER BY m.number), '{}') INTO methods FROM @extschema@.attach_methods(context) m;

	success_above := @extschema@.attach_arguments(outcomes, jsonb_strip_nulls(jsonb_build_object('success_above', coalesce(settings -> 'success_above',
		CASE WHEN jsonb_typeof(context -> 'options' -> 'success_above') <> 'object' THEN context -> 'options' -> 'success_above' END))));
	IF settings ->> 'methods' IS NOT NULL THEN
		wanted := regexp_split_to_array(btrim(settings ->> 'methods'), '\s*,\s*');
		SELECT w INTO unknown FROM unnest(wanted) w WHERE w <> ALL (methods) LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION 'no method "%" to compare', unknown
				USING ERRCODE = 'invalid_parameter_value',
					HINT = format('Methods that the given columns allow: %s.', coalesce(nullif(array_to_string(methods, ', '), ''), 'none'));
		END IF;
		methods := ARRAY(SELECT m.m FROM unnest(methods) WITH ORDINALITY m(m, i) WHERE m.m = ANY (wanted) ORDER BY m.i);
	END IF;
	IF methods = '{}' THEN
		RETURN;
	END IF;

	SELECT array_agg(DISTINCT r.r) FILTER (WHERE r.needed), array_agg(DISTINCT r.r) FILTER (WHERE NOT r.needed) INTO requires, uses
	FROM @extschema@.attach_methods(context) m CROSS JOIN LATERAL (SELECT unnest(m.requires), true UNION ALL SELECT unnest(m.uses), false) r(r, needed)
	WHERE m.method = ANY (methods);
	fold := @extschema@.attach_fold(context, requires, coalesce(uses, '{}'));
	-- Those of the same argument next to each other: a stored group is unpacked once for them.
	SELECT format('ROWS FROM (@extschema@.outcomes(g.%1$s%2$s), %3$s) AS f(step_id, rollout_id, step_no, success, return, %4$s)',
		context ->> 'group_value', success_above,
		string_agg(m.call, ', ' ORDER BY m.needs_value, m.number), string_agg(c.list, ', ' ORDER BY m.needs_value, m.number))
	INTO estimates
	FROM @extschema@.attach_methods(context) m CROSS JOIN LATERAL (
		-- A method's advantage has its name; its other columns are not needed.
		SELECT string_agg(CASE WHEN n.n = 'advantage' THEN format('%I', m.method) ELSE format('%I', m.method || '_' || n.n) END, ', ' ORDER BY n.i) AS list
		FROM unnest(m.results) WITH ORDINALITY n(n, i)) c
	WHERE m.method = ANY (methods);
END
$$;
COMMENT ON FUNCTION compare_source(jsonb) IS 'part of attach: the methods that the columns (and the options of compare) allow, the fold that feeds them all, and their rows side by side; no method: NULL';

-- Pairs of methods, each once, the one that comes first in _compare first.
CREATE FUNCTION compare_pairs(methods text[], OUT i integer, OUT method_a text, OUT method_b text, OUT place_a integer, OUT place_b integer) RETURNS SETOF record
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT (row_number() OVER (ORDER BY a.i, b.i))::integer, a.m, b.m, a.i::integer - 1, b.i::integer - 1
	FROM unnest(compare_pairs.methods) WITH ORDINALITY a(m, i) JOIN unnest(compare_pairs.methods) WITH ORDINALITY b(m, i) ON a.i < b.i
	ORDER BY 1
$$;
COMMENT ON FUNCTION compare_pairs(text[]) IS 'part of attach: all pairs of methods, with the places of both in the list';

CREATE FUNCTION compare_threshold(settings jsonb, otherwise float8) RETURNS float8
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	threshold float8;
BEGIN
	threshold := coalesce((settings ->> 'threshold')::float8, compare_threshold.otherwise);
	IF NOT (threshold >= 0 AND threshold < 'Infinity') THEN
		RAISE EXCEPTION 'threshold must be a finite number of at least 0, not %', threshold USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN threshold;
END
$$;
COMMENT ON FUNCTION compare_threshold(jsonb, float8) IS 'part of attach: the option threshold, checked';

-- The policy version of a rollout, where attach was told it and the group's own
-- columns do not show it by that name.  The advantages stay those of the whole
-- group, so it is found by the rollout: by a relation w of those of g where an
-- index leads to them, else by one of all.
--
--	expression	over g and w
--	outside		join of w to rows a
--	inside		join of w to rows f below g, for which g must be joined with
--	beside		what this needs
CREATE FUNCTION compare_version(context jsonb, OUT expression text, OUT outside text, OUT inside text, OUT beside text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	column_name CONSTANT text := context -> 'run' -> 'policy_version' ->> 'column';
	place CONSTANT text := context -> 'run' -> 'policy_version' ->> 'place';
	rollout_hash CONSTANT text := context -> 'rollout_hash' ->> 's';
	relation text := context ->> 'source';
	by_group boolean;
	known text;		-- condition on rows of s
	first text;		-- which row of a rollout counts
	keys text;		-- names of the group's columns in w
	names text;		-- of all of w's
	match text;		-- condition: the group of g
BEGIN
	outside := '';
	inside := '';
	beside := '';
	IF place IS NULL OR place = 'group' THEN
		expression := CASE WHEN column_name <> 'policy_version' THEN format('g.%I', column_name) END;
		RETURN;
	ELSIF place = 'rollouts' THEN
		relation := context -> 'rollouts' ->> 'name';
		by_group := (context -> 'rollouts' ->> 'by_group')::boolean;
	ELSE
		-- Rows of one rollout need not agree: it is of the policy that began it.
		by_group := @extschema@.attach_has_group_index(to_regclass(relation), ARRAY(SELECT jsonb_array_elements_text(context -> 'group_by')));
		known := format('s.%I IS NOT NULL', column_name);
		first := format(', s.%I', context -> 'mapping' ->> 'step_no');
	END IF;
	expression := 'w.policy_version';
	IF by_group THEN
		relation := format('LATERAL (SELECT DISTINCT ON (1) %s AS rollout, s.%I AS policy_version FROM %s s WHERE %s ORDER BY 1%s) w', rollout_hash,
			column_name, relation, concat_ws(' AND ', context -> 'group_match' ->> 's', known), first);
		outside := format(' LEFT JOIN %s ON w.rollout = a.rollout_id', relation);
		inside := format(' LEFT JOIN %s ON w.rollout = f.rollout_id', relation);
		RETURN;
	END IF;
	SELECT string_agg('k' || g.i, ', ' ORDER BY g.i), string_agg(format('w.k%s %s g.%I', g.i, @extschema@.attach_equal(a.atttypid), g.name), ' AND ' ORDER BY g.i)
	INTO keys, match
	FROM jsonb_array_elements_text(context -> 'group_by') WITH ORDINALITY g(name, i)
	JOIN pg_attribute a ON a.attrelid = to_regclass(context ->> 'source') AND a.attname = g.name;
	names := keys || ', rollout, policy_version';
	relation := format('(SELECT DISTINCT ON (%1$s, %2$s) %1$s, %2$s, s.%3$I FROM %4$s s%5$s ORDER BY %1$s, %2$s%6$s) w(%7$s)', context ->> 'group_list',
		rollout_hash, column_name, relation, ' WHERE ' || nullif(concat_ws(' AND ', CASE WHEN place = 'source' THEN context ->> 'group_filter' END, known), ''),
		first, names);
	outside := format(' LEFT JOIN %s ON %s AND w.rollout = a.rollout_id', relation, match);
	inside := ' LEFT JOIN unnest(o.rollouts, o.versions) w(rollout, policy_version) ON w.rollout = f.rollout_id';
	beside := format(' LEFT JOIN (SELECT %1$s, array_agg(w.rollout) AS rollouts, array_agg(w.policy_version) AS versions FROM %2$s GROUP BY %1$s) o ON %3$s', keys, relation, replace(match, 'w.k', 'o.k'));
END
$$;
COMMENT ON FUNCTION compare_version(jsonb) IS 'part of attach: the policy version of a rollout of g, and the joins that bring it; NULL where attach was not told, or the key has it';

CREATE FUNCTION attach_compare(context jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source record;
	beside record;
BEGIN
	SELECT * INTO source FROM @extschema@.compare_source(attach_compare.context);
	IF source.fold IS NULL THEN
		RETURN NULL;
	END IF;
	SELECT * INTO beside FROM @extschema@.attach_beside(attach_compare.context, 'step', '{rollout_id,step_no,step_id,success}' || source.methods);
	RETURN format('SELECT %s FROM %s CROSS JOIN LATERAL (SELECT f.rollout_id, f.step_no, f.step_id, f.success = 1 AS success, %s FROM %s) a%s',
		array_to_string(beside.items, ', '), source.fold,
		(SELECT string_agg(format('f.%I', m.m), ', ' ORDER BY m.i) FROM unnest(source.methods) WITH ORDINALITY m(m, i)),
		source.estimates, beside.joins);
END
$$;
COMMENT ON FUNCTION attach_compare(jsonb) IS 'part of attach: the text of the view _compare';

-- A step falls into one of nine fields of a pair of methods, and of as many
-- others of every other pair.  It is counted once for all of them: the signs that
-- its advantages have are the digits (0 to 3 for -, 0, +, NULL) of a number to base
-- 4, so steps are counted by that number (which has room for 15 methods), and every
-- pair is given these counts.
CREATE FUNCTION attach_quadrants(context jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	threshold CONSTANT float8 := @extschema@.compare_threshold(@extschema@.attach_builder_options(context, 'quadrants', '{threshold}'), 0);
	source record;
	version record;
	divided boolean;		-- a group's steps are counted by version
	beside record;
	signs text;
	pairs text;
BEGIN
	SELECT * INTO source FROM @extschema@.compare_source(attach_quadrants.context);
	IF source.fold IS NULL OR cardinality(source.methods) < 2 THEN
		RETURN NULL;
	END IF;
	version := @extschema@.compare_version(attach_quadrants.context);
	divided := version.inside <> '';	-- else all of a group are of one version, or of none that is known
	IF version.expression IS NOT NULL AND NOT divided THEN
		attach_quadrants.context := attach_quadrants.context || jsonb_build_object('made', jsonb_build_object('policy_version', jsonb_build_object('expression', version.expression)));
	END IF;
	SELECT * INTO beside FROM @extschema@.attach_beside(attach_quadrants.context, 'group',
		CASE WHEN version.expression IS NOT NULL THEN '{policy_version}' ELSE '{}' END::text[] || '{method_a,method_b,success,quadrant,n_steps,share}');
	SELECT string_agg(format('%1$s * CASE WHEN abs(f.%2$I) <= %3$L::float8 THEN 1 WHEN f.%2$I > 0 THEN 2 WHEN f.%2$I < 0 THEN 0 ELSE 3 END',
		power(4, m.i - 1)::integer, m.m, threshold), ' + ' ORDER BY m.i)
	INTO signs FROM unnest(source.methods) WITH ORDINALITY m(m, i);
	SELECT string_agg(format('(%L::text, %L::text, %s, %s)', p.method_a, p.method_b, power(4, p.place_a)::integer, power(4, p.place_b)::integer), ', ' ORDER BY p.i)
	INTO pairs FROM @extschema@.compare_pairs(source.methods) p;
	RETURN format('SELECT %1$s FROM %2$s%6$s CROSS JOIN LATERAL ('
			'SELECT %8$sq.method_a, q.method_b, q.success = 1 AS success, q.quadrant, q.n_steps,'
			' CASE WHEN q.quadrant IS NOT NULL THEN q.n_steps / (sum(q.n_steps) FILTER (WHERE q.quadrant IS NOT NULL) OVER (PARTITION BY %8$sq.method_a, q.method_b, q.success))::float8 END AS share'
			' FROM (SELECT p.method_a, p.method_b, c.success, sum(c.n_steps)::bigint AS n_steps,'
			-- By the two digits; no quadrant where either method has no advantage.
			' (''{--,-0,-+,NULL,0-,00,0+,NULL,+-,+0,++,NULL}''::text[])[c.signs / p.place_a %% 4 * 4 + c.signs / p.place_b %% 4 + 1] AS quadrant%9$s'
			' FROM (SELECT f.success, %3$s AS signs, count(*) AS n_steps%10$s FROM %4$s%7$s GROUP BY 1, 2%11$s) c'
			' CROSS JOIN (VALUES %5$s) p(method_a, method_b, place_a, place_b)'
			' GROUP BY 1, 2, 3, 5%12$s) q) a',
		array_to_string(beside.items, ', '), source.fold, signs, source.estimates, pairs, version.beside, version.inside,
		CASE WHEN divided THEN 'q.policy_version, ' END, CASE WHEN divided THEN ', c.policy_version' END,
		CASE WHEN divided THEN format(', %s AS policy_version', version.expression) END, CASE WHEN divided THEN ', 4' END, CASE WHEN divided THEN ', 6' END);
END
$$;
COMMENT ON FUNCTION attach_quadrants(jsonb) IS 'part of attach: the text of the view _quadrants';

-- Advantages of different methods have different units, so they are compared in
-- units of their own root mean square over the steps of the group.  One that is
-- at or below the threshold is rounding error: such a method says nothing here.
-- (Squares of less than 1e-300 would be an error, not 0.)
CREATE FUNCTION attach_disagreements(context jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	threshold CONSTANT float8 := @extschema@.compare_threshold(@extschema@.attach_builder_options(context, 'disagreements', '{threshold}'), 1e-9);
	run CONSTANT jsonb := attach_disagreements.context -> 'run' -> 'policy_version';
	source record;
	version record;
	beside record;
	scaled text;
	pairs text;
BEGIN
	SELECT * INTO source FROM @extschema@.compare_source(attach_disagreements.context);
	IF source.fold IS NULL OR cardinality(source.methods) < 2 THEN
		RETURN NULL;
	END IF;
	version := @extschema@.compare_version(attach_disagreements.context);
	-- A column of the rollouts that are shown comes by the join that shows them.
	IF version.expression IS NOT NULL THEN
		attach_disagreements.context := attach_disagreements.context || jsonb_build_object('made', jsonb_build_object('policy_version', CASE WHEN run ->> 'place' = 'rollouts'
			THEN jsonb_build_object('expression', format('r.%I', run ->> 'column'), 'rollout_columns', jsonb_build_array(run ->> 'column'))
			ELSE jsonb_build_object('expression', version.expression) END));
	END IF;
	SELECT * INTO beside FROM @extschema@.attach_beside(attach_disagreements.context, 'step',
		CASE WHEN version.expression IS NOT NULL THEN '{policy_version}' ELSE '{}' END::text[] || '{rollout_id,step_no,step_id,success,method_a,method_b,advantage_a,advantage_b,scaled_a,scaled_b,difference,opposite_sign}');
	SELECT string_agg(format('f.%1$I, sqrt(sum(CASE WHEN abs(f.%1$I) > 1e-150 THEN f.%1$I * f.%1$I END) OVER () / count(f.%1$I) OVER ()) AS %2$I', m.m, m.m || '_scale'), ', ' ORDER BY m.i)
	INTO scaled FROM unnest(source.methods) WITH ORDINALITY m(m, i);
	-- A branch per pair rather than VALUES: a condition on the methods then leaves
	-- only the branches that it is true of.  No two steps have the same advantages by
	-- all methods, yet the planner would like to remember what became of each; of a
	-- column whose type has no equality it cannot.
	SELECT string_agg(format('SELECT %L::text AS method_a, %L::text AS method_b, CASE WHEN c.never_equal IS NULL THEN c.%1$I END AS advantage_a, c.%2$I AS advantage_b,'
			' CASE WHEN c.%3$I > %5$L::float8 THEN c.%1$I / c.%3$I ELSE 0 END AS scaled_a, CASE WHEN c.%4$I > %5$L::float8 THEN c.%2$I / c.%4$I ELSE 0 END AS scaled_b',
			p.method_a, p.method_b, p.method_a || '_scale', p.method_b || '_scale', threshold), ' UNION ALL ' ORDER BY p.i)
	INTO pairs FROM @extschema@.compare_pairs(source.methods) p;
	RETURN format('SELECT %s FROM %s CROSS JOIN LATERAL ('
			'SELECT c.rollout_id, c.step_no, c.step_id, c.success = 1 AS success, p.method_a, p.method_b, p.advantage_a, p.advantage_b, p.scaled_a, p.scaled_b,'
			' p.scaled_a - p.scaled_b AS difference, p.scaled_a > 0 AND p.scaled_b < 0 OR p.scaled_a < 0 AND p.scaled_b > 0 AS opposite_sign'
			' FROM (SELECT f.rollout_id, f.step_no, f.step_id, f.success, NULL::json AS never_equal, %s FROM %s) c CROSS JOIN LATERAL (%s) p'
			-- Of rollouts not judged yet, and where a method has nothing to say.
			' WHERE p.advantage_a IS NOT NULL AND p.advantage_b IS NOT NULL) a%s',
		array_to_string(beside.items, ', '), source.fold, scaled, source.estimates, pairs, beside.joins || CASE WHEN run ->> 'place' = 'source' THEN version.outside ELSE '' END);
END
$$;
COMMENT ON FUNCTION attach_disagreements(jsonb) IS 'part of attach: the text of the view _disagreements';

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
	beside record;
	signs text;
	pairs text;
BEGIN
	SELECT * INTO source FROM @extschema@.compare_source(attach_quadrants.context);
	IF source.fold IS NULL OR cardinality(source.methods) < 2 THEN
		RETURN NULL;
	END IF;
	SELECT * INTO beside FROM @extschema@.attach_beside(attach_quadrants.context, 'group', '{method_a,method_b,success,quadrant,n_steps,share}');
	SELECT string_agg(format('%1$s * CASE WHEN abs(f.%2$I) <= %3$L::float8 THEN 1 WHEN f.%2$I > 0 THEN 2 WHEN f.%2$I < 0 THEN 0 ELSE 3 END',
		power(4, m.i - 1)::integer, m.m, threshold), ' + ' ORDER BY m.i)
	INTO signs FROM unnest(source.methods) WITH ORDINALITY m(m, i);
	SELECT string_agg(format('(%L::text, %L::text, %s, %s)', p.method_a, p.method_b, power(4, p.place_a)::integer, power(4, p.place_b)::integer), ', ' ORDER BY p.i)
	INTO pairs FROM @extschema@.compare_pairs(source.methods) p;
	RETURN format('SELECT %s FROM %s CROSS JOIN LATERAL ('
			'SELECT q.method_a, q.method_b, q.success = 1 AS success, q.quadrant, q.n_steps,'
			' CASE WHEN q.quadrant IS NOT NULL THEN q.n_steps / (sum(q.n_steps) FILTER (WHERE q.quadrant IS NOT NULL) OVER (PARTITION BY q.method_a, q.method_b, q.success))::float8 END AS share'
			' FROM (SELECT p.method_a, p.method_b, c.success, sum(c.n_steps)::bigint AS n_steps,'
			-- By the two digits; no quadrant where either method has no advantage.
			' (''{--,-0,-+,NULL,0-,00,0+,NULL,+-,+0,++,NULL}''::text[])[c.signs / p.place_a %% 4 * 4 + c.signs / p.place_b %% 4 + 1] AS quadrant'
			' FROM (SELECT f.success, %s AS signs, count(*) AS n_steps FROM %s GROUP BY 1, 2) c'
			' CROSS JOIN (VALUES %s) p(method_a, method_b, place_a, place_b)'
			' GROUP BY 1, 2, 3, 5) q) a',
		array_to_string(beside.items, ', '), source.fold, signs, source.estimates, pairs);
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
	source record;
	beside record;
	scaled text;
	pairs text;
BEGIN
	SELECT * INTO source FROM @extschema@.compare_source(attach_disagreements.context);
	IF source.fold IS NULL OR cardinality(source.methods) < 2 THEN
		RETURN NULL;
	END IF;
	SELECT * INTO beside FROM @extschema@.attach_beside(attach_disagreements.context, 'step',
		'{rollout_id,step_no,step_id,success,method_a,method_b,advantage_a,advantage_b,scaled_a,scaled_b,difference,opposite_sign}');
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
		array_to_string(beside.items, ', '), source.fold, scaled, source.estimates, pairs, beside.joins);
END
$$;
COMMENT ON FUNCTION attach_disagreements(jsonb) IS 'part of attach: the text of the view _disagreements';

-- What panels about all steps ask for, in a form that can be kept: sums by group
-- where the rows of steps are too many.

-- The sums of _groups_over_time, a row per method.  Where is the greatest advantage
-- of all?  In one of the groups with the greatest ones: whoever looks for the best
-- steps folds no more than these.  A condition on the method leaves a scan of what is kept.
CREATE FUNCTION stepadv_internal.advantage_by_group_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	keys CONSTANT text[] := stepadv_internal.group_columns((a).rows, (a).n_group_columns);
	columns CONSTANT text[] := stepadv_internal.division_names(a) || '{method,n_steps,mean_abs_advantage,mean_advantage,least_advantage,greatest_advantage,n_positive,n_negative}';
	shown CONSTANT text := 's.n AS n_steps, s.abs_sum / s.n AS mean_abs_advantage, s.sum / s.n AS mean_advantage, s.least AS least_advantage, s.greatest AS greatest_advantage, s.n_positive, s.n_negative';
	folded text;
	kept text;
BEGIN
	SELECT stepadv_internal.method_branches(a, made, n.names, n.expressions), string_agg(format('SELECT %s, %L::text AS method, %s FROM (SELECT c.*, %s FROM %s c WHERE c.n_rollouts IS NOT NULL) s WHERE s.n > 0',
			stepadv_internal.list(stepadv_internal.group_columns((a).folded_over_time, (a).n_group_columns) || stepadv_internal.division_names(a), 's.%1$I'::text, ', '::text),
			m.method, shown, s.kept, stepadv_internal.relation_name((a).folded_over_time)), ' UNION ALL ' ORDER BY m.number) FILTER (WHERE (a).folded_over_time IS NOT NULL)
	INTO folded, kept
	FROM stepadv_internal.advantage_methods(made) m
	CROSS JOIN (SELECT array_agg(s.name ORDER BY s.i) AS names, array_agg(s.expression ORDER BY s.i) AS expressions FROM stepadv_internal.method_sums() WITH ORDINALITY s(name, expression, i)) n
	CROSS JOIN LATERAL (SELECT string_agg(format('c.%I AS %I', m.method || '_' || s.name, s.name), ', ' ORDER BY s.i) AS kept
		FROM stepadv_internal.method_sums() WITH ORDINALITY s(name, expression, i)) s
	GROUP BY n.names, n.expressions;
	IF NOT stepadv_internal.has_runs(a) OR folded IS NULL OR stepadv_internal.view_options(a, 'advantage_by_group'::text) IS NULL THEN
		RETURN NULL;
	END IF;
	RETURN (
		SELECT format('SELECT %s FROM (%s) a(%s, %s) CROSS JOIN LATERAL (SELECT %s) g(%s)', b.items,
			concat_ws(' UNION ALL ', kept, format('SELECT %s, %s, s.method, %s FROM %s CROSS JOIN LATERAL (%s) s WHERE s.n > 0',
				stepadv_internal.list(keys, 'g.%1$I'::text, ', '::text), stepadv_internal.division_list(a, '%1$s'::text, true), shown,
				stepadv_internal.fold_over_time(a, stepadv_internal.roles_read(made, '{}'::text[]), (a).folded_over_time), folded)),
			k.names, stepadv_internal.list(columns, '%1$I'::text, ', '::text), k.of_a, stepadv_internal.list(keys, '%1$I'::text, ', '::text))
		FROM stepadv_internal.beside(a, 'group'::text, columns, '{}'::jsonb, '{}'::text[]) b
		CROSS JOIN LATERAL (SELECT string_agg('k' || i, ', ' ORDER BY i) AS names, string_agg('a.k' || i, ', ' ORDER BY i) AS of_a FROM generate_series(1, (a).n_group_columns) i) k);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.advantage_by_group_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _advantage_by_group';

-- ---- Signs of the methods side by side

-- As src/digest/step_signs.c says.
CREATE TYPE stepadv_internal.signed_steps AS (patterns bigint[], counts bigint[], apart float8[]);
COMMENT ON TYPE stepadv_internal.signed_steps IS 'how many steps have which signs by all methods (a pattern has a digit per method), and per pair of methods how far they are apart where they disagree';

CREATE FUNCTION stepadv_internal.step_signs_trans(internal, success integer, advantages float8[], scales float8[], sign_threshold float8, scale_threshold float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_step_signs_trans';
COMMENT ON FUNCTION stepadv_internal.step_signs_trans(internal, integer, float8[], float8[], float8, float8) IS 'part of step_signs: one step more';

CREATE FUNCTION stepadv_internal.step_signs_final(internal) RETURNS stepadv_internal.signed_steps
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_step_signs_final';
COMMENT ON FUNCTION stepadv_internal.step_signs_final(internal) IS 'part of step_signs: what there is';

CREATE AGGREGATE stepadv_internal.step_signs(success integer, advantages float8[], scales float8[], sign_threshold float8, scale_threshold float8) (
	SFUNC = stepadv_internal.step_signs_trans, STYPE = internal,
	FINALFUNC = stepadv_internal.step_signs_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.step_signs(integer, float8[], float8[], float8, float8) IS
'the signs of steps by all methods (an entry each; NULL: no advantage; at most sign_threshold: 0) and what became of their rollouts, counted; and the greatest difference of two methods of opposite signs, in units of their scales (at most scale_threshold: says nothing); NULL over no steps';

CREATE FUNCTION stepadv_internal.quadrant_counts_trans(bigint[], patterns bigint[], counts bigint[], place_a integer, place_b integer) RETURNS bigint[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_quadrant_counts_trans';
COMMENT ON FUNCTION stepadv_internal.quadrant_counts_trans(bigint[], bigint[], bigint[], integer, integer) IS 'part of quadrant_counts: one group more';

CREATE FUNCTION stepadv_internal.quadrant_counts_combine(bigint[], bigint[]) RETURNS bigint[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_quadrant_counts_combine';
COMMENT ON FUNCTION stepadv_internal.quadrant_counts_combine(bigint[], bigint[]) IS 'part of quadrant_counts: two states';

CREATE AGGREGATE stepadv_internal.quadrant_counts(patterns bigint[], counts bigint[], place_a integer, place_b integer) (
	SFUNC = stepadv_internal.quadrant_counts_trans, STYPE = bigint[],
	INITCOND = '{0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}',
	COMBINEFUNC = stepadv_internal.quadrant_counts_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.quadrant_counts(bigint[], bigint[], integer, integer) IS
'of what step_signs counted, how many steps are in each quadrant of two methods, known by their places: 16 for failures, 16 for successes, 16 for rollouts not judged yet, by the digit of the one and then of the other';

-- What two views read: a row per group, and run and version of its rollouts, with
-- k1, k2, ..., these (names), patterns, counts, apart; of the groups that maintain
-- has something of, and none of whose rows changed since, that.
CREATE FUNCTION stepadv_internal.signs_source(a stepadv_internal.attached, made stepadv_internal.made_method[], OUT methods text[], OUT names text[], OUT relation text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	source CONSTANT record := stepadv_internal.compare_source(a, made);
	run CONSTANT record := stepadv_internal.run_of_rollout(a);
	keys CONSTANT text[] := stepadv_internal.group_columns((a).rows, (a).n_group_columns);
	k_list CONSTANT text := (SELECT string_agg('k' || i, ', ' ORDER BY i) FROM generate_series(1, (a).n_group_columns) i);
	expressions text[];
	is_kept boolean;
BEGIN
	IF source.fold IS NULL OR cardinality(source.methods) NOT BETWEEN 2 AND 30 THEN
		RETURN;
	END IF;
	methods := source.methods;
	is_kept := coalesce((a).folded_signs IS NOT NULL AND (a).waiting IS NOT NULL AND (a).signed_methods = methods, false);
	-- A group's steps are counted by run and version, unless all of it are of one.
	SELECT coalesce(array_agg(r.name ORDER BY r.i), '{}'), coalesce(array_agg(r.expression ORDER BY r.i), '{}') INTO names, expressions
	FROM unnest(run.names, run.expressions, run.of_group) WITH ORDINALITY r(name, expression, of_group, i) WHERE NOT r.of_group;
	relation := format($view$
		SELECT %1$s%2$s, (s.signs).patterns, (s.signs).counts, (s.signs).apart FROM %3$s%4$s%5$s CROSS JOIN LATERAL (
			SELECT %6$s stepadv_internal.step_signs(f.success, f.advantages, f.scales, %7$L::float8, %8$L::float8) AS signs
			FROM (SELECT f.rollout_id, f.success, ARRAY[%9$s]::float8[] AS advantages, ARRAY[%10$s]::float8[] AS scales FROM %11$s) f%12$s
			%13$s HAVING count(*) > 0) s$view$,
		stepadv_internal.list(keys, 'g.%1$I'::text, ', '::text), stepadv_internal.list(names, ', s.%1$I'::text, ''::text), source.fold,
		CASE WHEN is_kept THEN format(' JOIN (SELECT DISTINCT %s FROM %s w(%s)) w ON %s', k_list, stepadv_internal.relation_name((a).waiting), k_list,
			(SELECT string_agg(format('g.%I %s w.k%s', t.attname, stepadv_internal.equality_operator(t.atttypid), t.attnum), ' AND ' ORDER BY t.attnum)
				FROM pg_attribute t WHERE t.attrelid = (a).rows AND t.attnum BETWEEN 1 AND (a).n_group_columns)) END,
		run.beside, (SELECT string_agg(format('%s AS %I,', u.expression, u.name), ' ' ORDER BY u.i) FROM unnest(expressions, names) WITH ORDINALITY u(expression, name, i)),
		stepadv_internal.threshold(a, 'quadrants'::text, 0::float8), stepadv_internal.threshold(a, 'disagreements'::text, 1e-9::float8),
		stepadv_internal.list(methods, 'f.%1$I'::text, ', '::text),
		stepadv_internal.list(methods, 'sqrt(sum(CASE WHEN abs(f.%1$I) > 1e-150 THEN f.%1$I * f.%1$I END) OVER () / count(f.%1$I) OVER ())'::text, ', '::text),
		source.estimates, run.inside, 'GROUP BY ' || nullif(array_to_string(expressions, ', '), ''));
	-- Mostly none waits: then nothing is looked for.
	IF is_kept THEN
		relation := format('SELECT c.* FROM %1$s c(%2$s%3$s, patterns, counts, apart) WHERE NOT EXISTS (SELECT FROM %4$s) OR NOT EXISTS (SELECT FROM %4$s w(%2$s) WHERE %5$s) UNION ALL %6$s',
			stepadv_internal.relation_name((a).folded_signs), k_list, stepadv_internal.list(names, ', %1$I'::text, ''::text), stepadv_internal.relation_name((a).waiting),
			stepadv_internal.same_group('w'::text, 'c'::text, (a).folded_signs, (a).n_group_columns), relation);
	END IF;
	relation := format('(%s) a(%s%s, patterns, counts, apart)', relation, k_list, stepadv_internal.list(names, ', %1$I'::text, ''::text));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.signs_source(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the relation a, with the signs of the steps of each group by all methods, by run and version of their rollouts; NULL for fewer than two methods';

-- What the two have of each row: the group's columns as g, for expressions over it.
CREATE FUNCTION stepadv_internal.group_of_keys(a stepadv_internal.attached) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format(' CROSS JOIN LATERAL (SELECT %s) g(%s)', (SELECT string_agg('a.k' || i, ', ' ORDER BY i) FROM generate_series(1, (a).n_group_columns) i),
		stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), '%1$I'::text, ', '::text))
$$;
COMMENT ON FUNCTION stepadv_internal.group_of_keys(stepadv_internal.attached) IS 'part of attach: a relation g with the group''s columns of a''s k1, k2, ...';

CREATE FUNCTION stepadv_internal.signs_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	source CONSTANT record := stepadv_internal.signs_source(a, made);
	run record;
	pairs text;
BEGIN
	IF source.relation IS NULL OR stepadv_internal.view_options(a, 'signs'::text) IS NULL THEN
		RETURN NULL;
	END IF;
	SELECT string_agg(format('%s AS %I,', CASE WHEN e.role = ANY (source.names) THEN format('a.%I', e.role) ELSE e.expression END, e.role), ' ' ORDER BY e.i) AS made,
		string_agg(format('t.%I,', e.role), ' ' ORDER BY e.i) AS shown, count(*) + 2 AS n_keys
	INTO run FROM stepadv_internal.run_expressions(a, '{run_id,policy_version,policy_step}'::text[]) e;
	SELECT string_agg(format('(%L::text, %L::text, %s, %s)', p.method_a, p.method_b, p.place_a, p.place_b), ', ' ORDER BY p.i)
	INTO pairs FROM stepadv_internal.method_pairs(source.methods) p;
	RETURN format($view$
		SELECT %1$s t.method_a, t.method_b, q.success, q.quadrant, q.n_steps,
			CASE WHEN q.quadrant IS NOT NULL THEN q.n_steps / (sum(q.n_steps) FILTER (WHERE q.quadrant IS NOT NULL) OVER (PARTITION BY %1$s t.method_a, t.method_b, q.success))::float8 END AS share
		FROM (
			SELECT %2$s p.method_a, p.method_b, stepadv_internal.quadrant_counts(a.patterns, a.counts, p.place_a, p.place_b) AS counts
			FROM %3$s%4$s CROSS JOIN (VALUES %5$s) p(method_a, method_b, place_a, place_b) GROUP BY %6$s) t
		CROSS JOIN LATERAL (
			SELECT CASE (u.i - 1) / 16 WHEN 0 THEN false WHEN 1 THEN true END AS success, d.quadrant, sum(u.n)::bigint AS n_steps
			FROM unnest(t.counts) WITH ORDINALITY u(n, i)
			CROSS JOIN LATERAL (SELECT ('{--,-0,-+,NULL,0-,00,0+,NULL,+-,+0,++,NULL}'::text[])[((u.i - 1) %% 16 + 1)::integer] AS quadrant) d
			WHERE u.n > 0 GROUP BY 1, 2) q$view$, run.shown, run.made, source.relation, stepadv_internal.group_of_keys(a), pairs,
		(SELECT string_agg(i::text, ', ' ORDER BY i) FROM generate_series(1, run.n_keys) i));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.signs_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _signs';

CREATE FUNCTION stepadv_internal.disagreement_by_group_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	source CONSTANT record := stepadv_internal.signs_source(a, made);
	run CONSTANT record := stepadv_internal.run_of_rollout(a);
	beside record;
	pairs text;
BEGIN
	IF source.relation IS NULL OR stepadv_internal.view_options(a, 'disagreement_by_group'::text) IS NULL THEN
		RETURN NULL;
	END IF;
	beside := stepadv_internal.beside(a, 'group'::text, run.names || '{method_a,method_b,greatest_difference}'::text[],
		(SELECT coalesce(jsonb_object_agg(r.name, r.expression), '{}') FROM unnest(run.names, run.expressions, run.of_group) r(name, expression, of_group) WHERE r.of_group), '{}'::text[]);
	SELECT string_agg(format('(%L::text, %L::text, %s)', p.method_a, p.method_b, p.i), ', ' ORDER BY p.i)
	INTO pairs FROM stepadv_internal.method_pairs(source.methods) p;
	RETURN format($view$
		SELECT %1$s FROM (SELECT a.*, p.method_a, p.method_b, a.apart[p.i] AS greatest_difference
			FROM %2$s CROSS JOIN (VALUES %3$s) p(method_a, method_b, i) WHERE a.apart[p.i] > 0) a%4$s$view$,
		beside.items, source.relation, pairs, stepadv_internal.group_of_keys(a));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.disagreement_by_group_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _disagreement_by_group';

-- ---- The distribution of the advantages

CREATE TYPE stepadv_internal.counted_bins AS (bins float8[], counts bigint[]);
COMMENT ON TYPE stepadv_internal.counted_bins IS 'how many steps are in each bin, known by its middle';

CREATE FUNCTION stepadv_internal.advantage_bins_trans(internal, advantage float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_advantage_bins_trans';
COMMENT ON FUNCTION stepadv_internal.advantage_bins_trans(internal, float8) IS 'part of advantage_bins: one step more';

CREATE FUNCTION stepadv_internal.advantage_bins_final(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_advantage_bins_final';
COMMENT ON FUNCTION stepadv_internal.advantage_bins_final(internal) IS 'part of advantage_bins: what there is';

CREATE AGGREGATE stepadv_internal.advantage_bins(advantage float8) (
	SFUNC = stepadv_internal.advantage_bins_trans, STYPE = internal,
	FINALFUNC = stepadv_internal.advantage_bins_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.advantage_bins(float8) IS 'how many steps are in each bin of 1/2048, as src/digest/advantage_bins.c writes it; NULLs are in none; NULL over no rows';

CREATE FUNCTION stepadv_internal.sum_of_bins_trans(internal, bins bytea) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_sum_of_bins_trans';
COMMENT ON FUNCTION stepadv_internal.sum_of_bins_trans(internal, bytea) IS 'part of sum_of_bins: one group more';

CREATE FUNCTION stepadv_internal.sum_of_bins_final(internal) RETURNS stepadv_internal.counted_bins
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_sum_of_bins_final';
COMMENT ON FUNCTION stepadv_internal.sum_of_bins_final(internal) IS 'part of sum_of_bins: what there is';

CREATE AGGREGATE stepadv_internal.sum_of_bins(bins bytea) (
	SFUNC = stepadv_internal.sum_of_bins_trans, STYPE = internal,
	FINALFUNC = stepadv_internal.sum_of_bins_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.sum_of_bins(bytea) IS 'what advantage_bins counted, added up; NULL over no rows';

-- The query of what is kept: a row per group and divisions, with the bins of each
-- method.  Each is a join of its own, as in groups_divided.
CREATE FUNCTION stepadv_internal.bins_by_group(a stepadv_internal.attached, made stepadv_internal.made_method[], OUT methods text[], OUT query text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	not_kept stepadv_internal.attached := a;
	items text;
	joins text;
BEGIN
	SELECT array_agg(m.method ORDER BY m.number), string_agg(format('m%s.bins', m.number), ', ' ORDER BY m.number),
		string_agg(format(' LEFT JOIN LATERAL (SELECT stepadv_internal.advantage_bins(e.advantage) AS bins FROM %s e) m%s ON true', m.call_beside, m.number), '' ORDER BY m.number)
	INTO methods, items, joins FROM stepadv_internal.advantage_methods(made) m;
	not_kept.folded := NULL;
	query := format('SELECT %s, %s, %s FROM %s%s', stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), 'g.%1$I'::text, ', '::text),
		stepadv_internal.division_list(a, '%1$s'::text, true), items, stepadv_internal.fold_over_time(not_kept, stepadv_internal.roles_read(made, '{}'::text[]), NULL::regclass), joins);
END
$$;
COMMENT ON FUNCTION stepadv_internal.bins_by_group(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of maintain: the query of the bins of the advantages of each group and divisions, and of which methods';

CREATE FUNCTION stepadv_internal.advantage_histogram_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	methods CONSTANT text[] := ARRAY(SELECT m.method FROM stepadv_internal.advantage_methods(made) m ORDER BY m.number);
	is_kept CONSTANT boolean := coalesce((a).folded_bins IS NOT NULL AND (a).waiting IS NOT NULL AND (a).binned_methods = methods, false);
	k_list CONSTANT text := (SELECT string_agg('k' || i, ', ' ORDER BY i) FROM generate_series(1, (a).n_group_columns) i);
	m_list CONSTANT text := (SELECT string_agg('m' || i, ', ' ORDER BY i) FROM generate_series(1, cardinality(methods)) i);
	divided record;
	relation text;
	kept text;
BEGIN
	IF NOT stepadv_internal.has_runs(a) OR methods = '{}' OR stepadv_internal.view_options(a, 'advantage_histogram'::text) IS NULL THEN
		RETURN NULL;
	END IF;
	SELECT string_agg(format('s.%I', d.name), ', ' ORDER BY d.i) AS shown, string_agg('d' || d.i, ', ' ORDER BY d.i) FILTER (WHERE NOT d.stands) AS kept_names,
		string_agg(format('%s AS %I', CASE WHEN d.stands THEN 'c.k' || d.key ELSE 'c.d' || d.i END, d.name), ', ' ORDER BY d.i) AS kept
	INTO divided FROM stepadv_internal.divisions(a) d;
	SELECT format('SELECT %s, s.* FROM %s CROSS JOIN LATERAL (%s) s', stepadv_internal.division_list(a, '%1$s AS %2$I'::text, false),
		stepadv_internal.fold_over_time(a, stepadv_internal.roles_read(made, '{}'::text[]), CASE WHEN is_kept THEN (a).waiting END),
		stepadv_internal.method_branches(a, made, '{bins}'::text[], '{stepadv_internal.advantage_bins(e.advantage)}'::text[]))
	INTO relation;
	-- A branch per method, of which a condition leaves those that it is true of.
	IF is_kept AND stepadv_internal.is_summed(a) THEN
		kept := stepadv_internal.summed_bins_branches(a);
	ELSIF is_kept THEN
		SELECT string_agg(format('SELECT %1$s, %2$L::text AS method, c.m%3$s AS bins FROM %4$s c(%5$s) WHERE NOT EXISTS (SELECT FROM %6$s) OR NOT EXISTS (SELECT FROM %6$s w(%7$s) WHERE %8$s) UNION ALL ',
			divided.kept, m.method, m.i, stepadv_internal.relation_name((a).folded_bins), concat_ws(', ', k_list, divided.kept_names, m_list), stepadv_internal.relation_name((a).waiting), k_list,
			stepadv_internal.same_group('w'::text, 'c'::text, (a).folded_bins, (a).n_group_columns)), '' ORDER BY m.i)
		INTO kept FROM unnest(methods) WITH ORDINALITY m(method, i);
	END IF;
	RETURN format($view$
		SELECT %1$s, s.method, b.bin, b.n_steps
		FROM (SELECT %1$s, s.method, stepadv_internal.sum_of_bins(s.bins) AS bins FROM (%2$s%3$s) s GROUP BY %1$s, s.method) s
		CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest((s.bins).bins), pg_catalog.unnest((s.bins).counts)) b(bin, n_steps)$view$, divided.shown, kept, relation);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.advantage_histogram_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _advantage_histogram';

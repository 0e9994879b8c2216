-- The view _credit_check: whether the advantages of methods predict outcomes.

-- Tests each task with 16 groups or more by itself, since states are its own: the least
-- p-value, times the number of tasks.
CREATE FUNCTION stepadv_internal.hidden_p(groups stepadv.rollout_group[], tasks text[]) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT min(y.p * y.n)
	FROM (SELECT count(*) OVER () AS n, (SELECT min(c.p_value) FROM stepadv.state_check(x.groups) c) AS p
		FROM (SELECT (array_agg(g.g))[1:64] AS groups FROM unnest(groups, tasks) g(g, task) GROUP BY g.task
			HAVING count(*) >= 16) x) y
$$;
COMMENT ON FUNCTION stepadv_internal.hidden_p(stepadv.rollout_group[], text[]) IS
'part of _credit_check: the least p-value of state_check over tasks with 16 groups or more (at most 64 of each are '
'tested), times the number of tasks; NULL if there is no such task';

-- Samples max_groups groups by a hash of their keys.  States are checked only if one place has the values of all.
CREATE FUNCTION stepadv_internal.credit_check_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	keys CONSTANT text[] := stepadv_internal.group_columns((a).rows, (a).n_group_columns);
	chosen CONSTANT stepadv_internal.made_method[] := ARRAY(SELECT c
		FROM stepadv_internal.chosen_methods(a, made, 'credit_check'::text) c);
	settings CONSTANT jsonb := stepadv_internal.view_options(a, 'credit_check'::text);
	number record;
	o record;
	hash text;
	sample record;
	named record;
	estimates record;
	task record;
	by_task boolean;
BEGIN
	SELECT coalesce((settings ->> 'shuffles')::float8, 12) AS shuffles,
		coalesce((settings ->> 'max_rollouts')::float8, 16) AS max_rollouts,
		coalesce((settings ->> 'max_groups')::float8, 200) AS max_groups,
		coalesce((settings ->> 'seed')::float8, 1) AS seed
	INTO o;
	SELECT d.* INTO number
	FROM (VALUES ('shuffles', o.shuffles, 2, 1000), ('max_rollouts', o.max_rollouts, 1, 2147483647),
		('max_groups', o.max_groups, 1, 2147483647), ('seed', o.seed, -2147483648, 2147483647))
		d(name, value, least, most)
	WHERE NOT (d.value BETWEEN d.least AND d.most) OR d.value <> trunc(d.value) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION '% must be an integer between % and %, not %', number.name, number.least::numeric,
			number.most::numeric, number.value USING ERRCODE = 'invalid_parameter_value';
	ELSIF chosen = '{}' THEN
		RETURN NULL;
	END IF;
	hash := format('stepadv.signature_hash(%L::text || ROW(%s)::text)', o.seed,
		stepadv_internal.list(keys, 'g.%1$I'::text, ', '::text));
	sample := stepadv_internal.sample_groups(a, stepadv_internal.fold(a, '{state,action}'::text[] || ARRAY(
		SELECT DISTINCT r FROM unnest(chosen) c CROSS JOIN LATERAL unnest(c.reads) r WHERE r IS NOT NULL ORDER BY r)),
		hash, o.max_groups::integer);
	-- If each group is a task of its own, states cannot be checked.
	SELECT t.names, coalesce(r.expression, array_to_string(t.expressions, ', ')) AS expression, r.alias, r.view
	INTO task
	FROM stepadv_internal.task_columns(a) t
	LEFT JOIN stepadv_internal.run_expressions(a, '{task_id}'::text[]) r ON true;
	by_task := sample.is_whole AND (task.view IS NOT NULL OR task.names <> keys);
	-- The methods, and for each the number of its candidate: methods with the same argument are adjacent.
	SELECT array_agg(c.method ORDER BY c.number) AS names, array_agg(c.candidate ORDER BY c.number) AS candidates,
		array_agg(c.function IN (SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'stepadv'::regnamespace
			AND p.proname IN ('batch_td', 'graphgpo')) ORDER BY c.number) AS trust_state
	INTO named
	FROM (SELECT c.*, row_number() OVER (ORDER BY c.argument COLLATE "C", c.number) AS candidate
		FROM unnest(chosen) c) c;
	-- Sums over the estimates for a group g: for each shuffle, and for each leaving out each of its rollouts.  Citus
	-- cannot deparse a join of two functions, so the rollout left out is a column.
	SELECT string_agg(format($join$
		CROSS JOIN LATERAL (
			SELECT stepadv_internal.credit_agg(ARRAY[%1$s], %2$s, %4$s, 1, l.shuffle, l.left_out, m.advantages) AS sums
			FROM (SELECT z.shuffle, z.left_out, stepadv.without_rollout(z.shuffled, z.left_out) AS rollouts
				FROM (SELECT z.shuffle, z.shuffled, stepadv_internal.left_out(%1$s, %3$s, %4$s) AS left_out
					FROM (SELECT z.shuffle, stepadv_internal.shuffle_outcomes(%1$s, z.shuffle, %4$s) AS shuffled
						FROM generate_series(0, %2$s) z(shuffle) OFFSET 0) z) z OFFSET 0) l
			CROSS JOIN LATERAL %5$s) m%6$s$join$, m.argument, o.shuffles, o.max_rollouts, o.seed,
			(stepadv_internal.method_rows(m.methods, 'l.rollouts'::text, NULL::text, '{}'::text[])).as_array, m.i), ''
			ORDER BY m.i) AS joins,
		string_agg(format('m%s.sums', m.i), ', ' ORDER BY m.i) AS any_sums,
		-- A method that needs values counts nothing for a group without them.
		string_agg(format('coalesce(m%s.sums, array_fill(0::float8, ARRAY[%s, %s]))', m.i, cardinality(m.methods),
			5 + 3 * o.shuffles), ' || ' ORDER BY m.i) AS sums
	INTO estimates
	FROM (SELECT c.argument, array_agg(c ORDER BY c.number) AS methods,
			row_number() OVER (ORDER BY c.argument COLLATE "C") AS i
		FROM unnest(chosen) c GROUP BY c.argument) m;
	RETURN format($view$
		SELECT n.method, c.n_groups, c.n_steps, c.coverage, c.score, c.error, c.by_chance, c.p_value,
			c.n_groups_needed, c.is_best,
			stepadv_internal.credit_finding(c.n_groups, min(c.p_value) OVER (), min(c.n_groups_needed) OVER (),
				c.is_best, n.method, CASE WHEN n.trusts_state THEN s.hidden_p END) AS finding
		FROM (SELECT array_agg(x.sums ORDER BY x.hash) AS sums, %9$s AS hidden_p
			FROM (SELECT %1$s AS sums, %2$s AS hash%10$s
				FROM %3$s%4$s WHERE pg_catalog.num_nonnulls(%5$s) > 0%6$s) x) s
		CROSS JOIN LATERAL stepadv.credit_check(s.sums) c
		JOIN unnest(%7$L::text[], %8$L::boolean[], %11$L::integer[])
			WITH ORDINALITY n(method, trusts_state, candidate, i) USING (candidate)
		ORDER BY n.i$view$,
		estimates.sums, hash, sample.groups,
		CASE WHEN by_task THEN stepadv_internal.run_joins(a, 'group'::text, ARRAY[task.alias]) ELSE ''
			END || estimates.joins,
		estimates.any_sums, ' AND ' || sample.condition, named.names, named.trust_state,
		CASE WHEN by_task THEN 'stepadv_internal.hidden_p(array_agg(x.rollouts ORDER BY x.hash), array_agg(x.task '
			'ORDER BY x.hash))' ELSE 'NULL::float8' END,
		CASE WHEN by_task THEN format(', g.%s AS rollouts, ROW(%s)::text AS task', stepadv_internal.value_name(a),
			task.expression) END, named.candidates);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.credit_check_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _credit_check';

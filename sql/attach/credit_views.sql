-- What rollouts that were left out say of methods, over an attachment: _credit_groups,
-- _credit_check, _credit_calibration.

-- The options of _credit_check hold for all three.
CREATE FUNCTION stepadv_internal.credit_options(a stepadv_internal.attached, OUT gamma float8, OUT max_rollouts integer, OUT max_groups integer, OUT seed integer)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings CONSTANT jsonb := stepadv_internal.view_options(a, 'credit_check'::text);
	number record;
BEGIN
	FOR number IN
		SELECT d.name, d.least, d.most, coalesce((settings ->> d.name)::float8, d.otherwise) AS value
		FROM (VALUES ('gamma', 0::float8, 1::float8, 1::float8), ('max_rollouts', 1, 2147483647, 16), ('max_groups', 1, 2147483647, 1000), ('seed', -2147483648, 2147483647, 1)) d(name, least, most, otherwise)
	LOOP
		IF NOT (number.value BETWEEN number.least AND number.most) OR number.name <> 'gamma' AND number.value <> trunc(number.value) THEN
			RAISE EXCEPTION '% must be %between % and %, not %', number.name, CASE WHEN number.name = 'gamma' THEN '' ELSE 'an integer ' END, number.least::numeric, number.most::numeric, number.value
				USING ERRCODE = 'invalid_parameter_value';
		END IF;
		CASE number.name
			WHEN 'gamma' THEN gamma := number.value;
			WHEN 'max_rollouts' THEN max_rollouts := number.value;
			WHEN 'max_groups' THEN max_groups := number.value;
			ELSE seed := number.value;
		END CASE;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.credit_options(stepadv_internal.attached) IS 'part of attach: the options of _credit_check, checked';

-- For a group g the sums of every method over the rollouts left out: also of those that a method
-- has no row for.  Citus cannot write down a join of two functions, and takes none below UNION ALL:
-- on shards a method's rows are a column, beside a row of generate_series where there are none of
-- them, and all methods are put below each other.
CREATE FUNCTION stepadv_internal.credit_branches(a stepadv_internal.attached, methods stepadv_internal.made_method[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_distributed CONSTANT boolean := stepadv_internal.is_distributed(ARRAY[(a).rows]);
	o CONSTANT record := stepadv_internal.credit_options(a);
	branches text[];
BEGIN
	SELECT array_agg(format(CASE WHEN is_distributed THEN '(SELECT stepadv_internal.credit_agg(%3$s, l.rollout_id, (l.u).rollout_id, (l.u).step_no, (l.u).advantage, %4$L::float8) AS sums'
				' FROM (SELECT l.rollout_id, %7$s(stepadv.without_rollout(%3$s, l.rollout_id)%8$s AS u, pg_catalog.generate_series(1, 1) AS at_least FROM stepadv.left_out(%3$s, %5$s, %6$s) l) l) m%1$s'
			ELSE 'SELECT %1$s AS number, %2$L::text AS method, stepadv_internal.credit_agg(%3$s, l.rollout_id, u.rollout_id, u.step_no, u.advantage, %4$L::float8) AS sums'
				' FROM stepadv.left_out(%3$s, %5$s, %6$s) l LEFT JOIN LATERAL %7$s(stepadv.without_rollout(%3$s, l.rollout_id)%8$s u ON true' END,
			c.number, c.method, c.argument, o.gamma, o.max_rollouts, o.seed, f.name,
			-- The call beside others, without the group that it begins with: a history comes after it.
			substr(c.call_beside, length(f.name || '(' || c.argument) + 1)) ORDER BY c.number)
	INTO branches
	FROM unnest(methods) c JOIN pg_proc p ON p.oid = c.function JOIN pg_namespace n ON n.oid = p.pronamespace
	CROSS JOIN LATERAL format('%I.%I', n.nspname, p.proname) f(name);
	IF NOT is_distributed THEN
		RETURN array_to_string(branches, ' UNION ALL ');
	END IF;
	RETURN (SELECT format('SELECT s.* FROM %s CROSS JOIN LATERAL (VALUES %s) s(number, method, sums)', array_to_string(branches, ' CROSS JOIN '),
		string_agg(format('(%1$s, %2$L::text, m%1$s.sums)', c.number, c.method), ', ' ORDER BY c.number)) FROM unnest(methods) c HAVING count(*) > 0);
END
$$;
COMMENT ON FUNCTION stepadv_internal.credit_branches(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: for a group g the query of a row per method, with its sums over the rollouts left out; NULL for no method';

-- Where states and actions are: the fold, and for a group g of it the sums of every method.
CREATE FUNCTION stepadv_internal.credit_source(a stepadv_internal.attached, made stepadv_internal.made_method[], OUT fold text, OUT sums text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.fold(a, '{state,action}'::text[] || m.reads, NULL::text, '{}'::text[]), stepadv_internal.credit_branches(a, m.methods)
	FROM (
		SELECT ARRAY(SELECT DISTINCT r.r FROM unnest(m.methods) c CROSS JOIN LATERAL unnest(c.reads) r(r) WHERE r.r IS NOT NULL ORDER BY r.r) AS reads, m.methods
		FROM (SELECT ARRAY(SELECT c FROM stepadv_internal.chosen_methods(a, made, 'credit_check'::text) c) AS methods) m
	) m
	WHERE '{state,action}' <@ stepadv_internal.available_roles(a) AND m.methods <> '{}'
$$;
COMMENT ON FUNCTION stepadv_internal.credit_source(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the fold that feeds all methods with an advantage per step, and the sums of each over the rollouts left out; NULL without states and actions';

CREATE FUNCTION stepadv_internal.credit_hash(a stepadv_internal.attached) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('stepadv.signature_hash(%L::text || ROW(%s)::text)', o.seed, stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), 'g.%1$I'::text, ', '::text))
	FROM stepadv_internal.credit_options(a) o
$$;
COMMENT ON FUNCTION stepadv_internal.credit_hash(stepadv_internal.attached) IS 'part of attach: by what groups g are drawn for _credit_check, a hash of what they are called';

-- So many groups, by their hash.
CREATE FUNCTION stepadv_internal.credit_sample(a stepadv_internal.attached, fold text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('(SELECT g.*, %s AS stepadv_hash FROM %s ORDER BY stepadv_hash LIMIT %s) g', stepadv_internal.credit_hash(a), credit_sample.fold, o.max_groups)
	FROM stepadv_internal.credit_options(a) o
$$;
COMMENT ON FUNCTION stepadv_internal.credit_sample(stepadv_internal.attached, text) IS 'part of attach: the fold with as many of the groups as the option max_groups of _credit_check says';

CREATE FUNCTION stepadv_internal.credit_groups_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
	SELECT format($view$
		SELECT %1$s FROM %2$s CROSS JOIN LATERAL (
			SELECT c.method, p.rollouts AS n_rollouts, p.steps AS n_steps, p.covered AS n_covered, p.coverage, p.correlation, p.rank_correlation, p.sign_agreement, p.slope, c.sums
			FROM (%3$s) c CROSS JOIN LATERAL (SELECT (stepadv.credit_pool(v.sums)).* FROM (VALUES (c.sums)) v(sums)) p) a%4$s$view$, b.items, s.fold, s.sums, b.joins)
	FROM stepadv_internal.credit_source(a, made) s
	CROSS JOIN LATERAL stepadv_internal.beside(a, 'group'::text, '{method,n_rollouts,n_steps,n_covered,coverage,correlation,rank_correlation,sign_agreement,slope,sums}'::text[], '{}'::jsonb, '{}'::text[]) b
	WHERE s.sums IS NOT NULL
$query$;
COMMENT ON FUNCTION stepadv_internal.credit_groups_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _credit_groups';

-- On shards the groups are those up to the last hash of the sample, which is asked for first: a
-- sample itself would come here, group by group.
CREATE FUNCTION stepadv_internal.credit_check_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
	SELECT CASE WHEN stepadv_internal.is_distributed(ARRAY[(a).rows]) THEN format($view$
		SELECT p.method, (p.pool).* FROM (
			SELECT c.number, c.method, stepadv.credit_pool(c.sums) AS pool FROM %1$s CROSS JOIN LATERAL (%2$s) c
			WHERE %3$s <= (SELECT max(d.hash) FROM (SELECT %3$s AS hash FROM %1$s ORDER BY 1 LIMIT %4$s) d) GROUP BY c.number, c.method) p ORDER BY p.number$view$,
			s.fold, s.sums, stepadv_internal.credit_hash(a), o.max_groups)
		ELSE format('SELECT c.method, (stepadv.credit_pool(c.sums)).* FROM %s CROSS JOIN LATERAL (%s) c GROUP BY c.number, c.method ORDER BY c.number',
			stepadv_internal.credit_sample(a, s.fold), s.sums) END
	FROM stepadv_internal.credit_source(a, made) s CROSS JOIN LATERAL stepadv_internal.credit_options(a) o WHERE s.sums IS NOT NULL
$query$;
COMMENT ON FUNCTION stepadv_internal.credit_check_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _credit_check';

CREATE FUNCTION stepadv_internal.credit_calibration_query(a stepadv_internal.attached, made stepadv_internal.made_method[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
	SELECT format($view$
		SELECT d.decile, count(*) AS groups, sum(d.n)::bigint AS steps, sum(d.v) / sum(d.n) AS v, sum(d.return) / sum(d.n) AS return,
			-- Over groups, as credit_pool has it.
			CASE WHEN count(*) > 1 THEN sqrt(greatest(sum(d.return * d.return) - 2 * sum(d.return) / sum(d.n) * sum(d.return * d.n) + (sum(d.return) / sum(d.n)) ^ 2 * sum(d.n * d.n), 0)
				* count(*) / (count(*) - 1)) / sum(d.n) END AS return_error
		FROM (
			-- In one order, or rounding would tell how the rows came.
			SELECT q.decile, count(*)::float8 AS n, sum(q.v ORDER BY q.v) AS v, sum(q.return ORDER BY q.return) AS return
			FROM (SELECT g.stepadv_hash, l.v, l.return, ntile(10) OVER (ORDER BY l.v, g.stepadv_hash, l.rollout_id, l.step_no) AS decile
				FROM %1$s CROSS JOIN LATERAL stepadv.left_out_values(g.%2$I, %3$L::float8, %4$s, %5$s) l) q
			GROUP BY q.decile, q.stepadv_hash
			ORDER BY q.decile, q.stepadv_hash) d
		GROUP BY d.decile ORDER BY d.decile$view$,
		stepadv_internal.credit_sample(a, s.fold), stepadv_internal.value_name(a), o.gamma, o.max_rollouts, o.seed)
	FROM stepadv_internal.credit_source(a, made) s CROSS JOIN LATERAL stepadv_internal.credit_options(a) o WHERE s.sums IS NOT NULL
$query$;
COMMENT ON FUNCTION stepadv_internal.credit_calibration_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS 'part of attach: the query of the view _credit_calibration';

-- Outcomes of tasks by version: _pass_at_k, _flaky, and comparisons of two versions.
--
-- A task is identified by the columns of the group, except those that are version,
-- run, policy step or dimensions; but by the column given as task_id if that is not
-- one of the group's.

-- The columns of a task, over g and the joins; is_role: it is the task_id, which may
-- be NULL for some rollouts.
CREATE FUNCTION stepadv_internal.task_columns(a stepadv_internal.attached, OUT names text[], OUT expressions text[],
	OUT joins text, OUT is_role boolean)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text[] := stepadv_internal.group_columns((a).rows, (a).n_group_columns);
	role CONSTANT record := stepadv_internal.run_column(a, 'task_id'::text);
BEGIN
	is_role := role.view IS NOT NULL AND role.key IS NULL;
	IF is_role THEN
		names := '{task_id}';
		expressions := ARRAY[CASE WHEN role.view = (a).rows THEN 'g' WHEN role.view = (a).shown_rollouts THEN 'r'
			ELSE 'o' END || '.stepadv_task_id'];
		joins := stepadv_internal.run_joins(a, 'group'::text, ARRAY[split_part(expressions[1], '.', 1)]);
		RETURN;
	END IF;
	joins := '';
	SELECT array_agg(k.name ORDER BY k.i), array_agg(format('g.%I', k.name) ORDER BY k.i) INTO names, expressions
	FROM unnest(keys) WITH ORDINALITY k(name, i)
	WHERE k.i <> ALL (ARRAY(SELECT d.key FROM stepadv_internal.divisions(a) d WHERE d.key IS DISTINCT FROM NULL));
	-- All columns are versions or the like: then each group is a task of its own.
	IF names IS NULL THEN
		names := keys;
		SELECT array_agg(format('g.%I', k.name) ORDER BY k.i) INTO expressions
			FROM unnest(keys) WITH ORDINALITY k(name, i);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.task_columns(stepadv_internal.attached) IS
'part of attach: the columns that identify a task, as expressions over a group g and the joins that they need';

-- The relation t: a row per task and version (and run, policy step, dimensions), with
-- columns t1, t2, …, v1, v2, …, n_judged and n_successes.  results: names that the
-- views use for other columns.
CREATE FUNCTION stepadv_internal.task_outcomes(a stepadv_internal.attached, results text[], OUT tasks text[],
	OUT versions text[], OUT relation text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	task CONSTANT record := stepadv_internal.task_columns(a);
	divided record;
	name text;
	groups text;		-- the relation g: judged rollouts and successes of each group and divisions
BEGIN
	SELECT array_agg(d.name ORDER BY d.i) AS names, array_agg('g.stepadv_d' || d.i ORDER BY d.i) AS expressions,
		string_agg(', q.d' || d.i, '' ORDER BY d.i) AS items, string_agg(', stepadv_d' || d.i, '' ORDER BY d.i) AS list
		INTO divided
	FROM stepadv_internal.divisions(a) d WHERE d.role <> 'started_at';
	tasks := '{}';
	versions := '{}';
	FOREACH name IN ARRAY divided.names LOOP
		versions := versions || stepadv_internal.free_name(results || versions, name, 'base_'::text);
	END LOOP;
	FOREACH name IN ARRAY task.names LOOP
		tasks := tasks || stepadv_internal.free_name(results || versions || tasks, name, 'base_'::text);
	END LOOP;
	groups := format('(SELECT %1$s%2$s, (q.c).n_judged, (q.c).n_successes FROM (SELECT d.*, r.c FROM %3$s CROSS JOIN '
		'LATERAL (SELECT stepadv.digest_counts(d.digest) AS c OFFSET 0) r) q)'
			' g(%4$s%5$s, stepadv_n_judged, stepadv_n_successes)',
		(SELECT string_agg('q.k' || i, ', ' ORDER BY i) FROM generate_series(1, (a).n_group_columns) i), divided.items,
		stepadv_internal.digests(a, '{}'::stepadv_internal.made_method[], '{}'::text[], NULL::text),
		stepadv_internal.list(stepadv_internal.group_columns((a).rows, (a).n_group_columns), '%1$I'::text, ', '::text),
			divided.list);
	-- Sums of float8, which are exact for such counts, need less memory than sums of bigint.
	relation := format('(SELECT %1$s, %2$s, sum(g.stepadv_n_judged::float8)::bigint AS n_judged, '
		'sum(g.stepadv_n_successes::float8)::bigint AS n_successes FROM %3$s%4$s WHERE g.stepadv_n_judged > 0%5$s '
		'GROUP BY %6$s) t',
		(SELECT string_agg(format('%s AS t%s', e.e, e.i), ', ' ORDER BY e.i)
			FROM unnest(task.expressions) WITH ORDINALITY e(e, i)),
		(SELECT string_agg(format('%s AS v%s', e.e, e.i), ', ' ORDER BY e.i)
			FROM unnest(divided.expressions) WITH ORDINALITY e(e, i)),
		groups, task.joins, CASE WHEN task.is_role
			THEN format(' AND %s IS DISTINCT FROM NULL', task.expressions[1]) END,
		array_to_string(task.expressions || divided.expressions, ', '));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.task_outcomes(stepadv_internal.attached, text[]) IS
'part of attach: the relation t, a row per task and version with its judged rollouts and successes, and what its '
'columns are called in views';

-- Aggregates tasks with equal counts of rollouts and successes first: there are few
-- distinct pairs, however many tasks.
CREATE FUNCTION stepadv_internal.pass_at_k_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	source CONSTANT record := stepadv_internal.task_outcomes(a,
		'{k,n_tasks,n_rollouts,pass_at_k,pass_at_k_stderr,pass_hat_k,pass_hat_k_stderr}'::text[]);
	v CONSTANT text := (SELECT string_agg('v' || i, ', ' ORDER BY i) FROM generate_subscripts(source.versions, 1) i);
BEGIN
	-- If the counts need a sort, it compares the columns that differ most first.
	RETURN format($view$
		SELECT %1$s, s.k, sum(s.n)::bigint AS n_tasks, sum(s.n * s.n_judged)::bigint AS n_rollouts,
			sum(s.n * s.at) / sum(s.n) AS pass_at_k,
			CASE WHEN sum(s.n) > 1 THEN sqrt(sum(s.n * (s.at - s.mean_at) ^ 2) / (sum(s.n) - 1) / sum(s.n))
				END AS pass_at_k_stderr,
			sum(s.n * s.hat) / sum(s.n) AS pass_hat_k,
			CASE WHEN sum(s.n) > 1 THEN sqrt(sum(s.n * (s.hat - s.mean_hat) ^ 2) / (sum(s.n) - 1) / sum(s.n))
				END AS pass_hat_k_stderr
		FROM (
			SELECT p.*, sum(p.n * p.at) OVER same / sum(p.n) OVER same AS mean_at,
				sum(p.n * p.hat) OVER same / sum(p.n) OVER same AS mean_hat
			FROM (
				SELECT c.*, k.k, stepadv.pass_at_k(c.n_judged, c.n_successes, k.k) AS at,
					stepadv.pass_hat_k(c.n_judged, c.n_successes, k.k) AS hat
				FROM (
					SELECT %2$s, n_judged, n_successes, count(*)::float8 AS n,
						max(n_judged) OVER (PARTITION BY %2$s) AS most
					FROM %3$s GROUP BY n_successes, n_judged, %2$s) c
				CROSS JOIN LATERAL (
					SELECT (1::bigint << i)::integer AS k FROM generate_series(0, 30) i WHERE 1::bigint << i < c.most
					UNION ALL SELECT least(c.most, 2147483647)::integer) k
				WHERE c.n_judged >= k.k) p
			-- In a fixed order, so that sums are the same with every plan.
			WINDOW same AS (PARTITION BY %2$s, p.k ORDER BY p.n_judged, p.n_successes
				ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) s
		GROUP BY %4$s, s.k$view$,
		(SELECT string_agg(format('s.v%s AS %I', n.i, n.name), ', ' ORDER BY n.i)
			FROM unnest(source.versions) WITH ORDINALITY n(name, i)), v, source.relation,
		(SELECT string_agg('s.v' || i, ', ' ORDER BY i) FROM generate_subscripts(source.versions, 1) i));
END
$query$;
COMMENT ON FUNCTION stepadv_internal.pass_at_k_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _pass_at_k';

CREATE FUNCTION stepadv_internal.flaky_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	source CONSTANT record := stepadv_internal.task_outcomes(a, '{n_judged,n_successes,success_rate}'::text[]);
BEGIN
	RETURN format('SELECT %s, t.n_judged, t.n_successes, t.n_successes / t.n_judged::float8 AS success_rate FROM %s '
		'WHERE t.n_successes > 0 AND t.n_successes < t.n_judged',
		(SELECT string_agg(format('t.%s AS %I', n.expression, n.name), ', ' ORDER BY n.part, n.i) FROM (
			SELECT 1 AS part, k.i, 't' || k.i AS expression, k.name FROM unnest(source.tasks) WITH ORDINALITY k(name, i)
			UNION ALL SELECT 2, k.i, 'v' || k.i, k.name FROM unnest(source.versions) WITH ORDINALITY k(name, i)) n),
				source.relation);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.flaky_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _flaky';

-- ---- Two versions

-- Finds the attachment by its source or by one of its views.  Only attachments of the
-- named relation's owner or of the caller count.
CREATE FUNCTION stepadv_internal.attachment_of(source regclass, prefix text) RETURNS stepadv_internal.attached
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	named CONSTANT text := stepadv_internal.relation_name(attachment_of.source);
	found stepadv_internal.attached[];
BEGIN
	IF attachment_of.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed',
			HINT = 'Name the attached relation, or one of the views that attach made over it.';
	ELSIF named IS NULL THEN
		RAISE EXCEPTION 'relation % does not exist', attachment_of.source::oid USING ERRCODE = 'undefined_table';
	END IF;
	-- Prefer the source itself and its views to sources that read the named relation.
	found := ARRAY(
		SELECT t.k FROM (
			SELECT k, rank() OVER (ORDER BY (k.source = attachment_of.source OR attachment_of.source = ANY (k.views))
				DESC) AS place
			FROM (SELECT c.relowner FROM pg_class c WHERE c.oid = attachment_of.source UNION SELECT r.oid
				FROM pg_roles r WHERE r.rolname = current_user) o(owner)
			CROSS JOIN LATERAL stepadv_internal.attachments(o.owner, NULL::regclass) k
			WHERE (k.source = attachment_of.source OR attachment_of.source = ANY (k.views)
				OR stepadv_internal.reads(k.source, attachment_of.source))
				AND (attachment_of.prefix IS NULL OR k.prefix = attachment_of.prefix)) t
		WHERE t.place = 1
		ORDER BY (t.k).attachment);
	IF cardinality(found) = 0 THEN
		RAISE EXCEPTION '% is neither attached% nor a view made by attach', named,
			CASE WHEN attachment_of.prefix IS NOT NULL THEN format(' with prefix "%s"', attachment_of.prefix)
				ELSE '' END
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Call attach for it, or name one of the views that attach made. Attachments of '
					'other roles are ignored.';
	ELSIF cardinality(found) > 1 THEN
		RAISE EXCEPTION '% is attached % times', named, cardinality(found)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = format('Say which by prefix => ''…'': %s; or name one of its views.',
					(SELECT string_agg(f.prefix, ', ' ORDER BY f.prefix) FROM unnest(found) f));
	END IF;
	RETURN found[1];
END
$$;
COMMENT ON FUNCTION stepadv_internal.attachment_of(regclass, text) IS
'the attachment of the relation''s owner, or of the caller, over the relation, with it as a view, or over a view of '
'it; error if there is none, or if there are several';

-- A row per task that either version has.
CREATE FUNCTION stepadv_internal.versions_by_task(source regclass, a text, b text, prefix text, division text)
RETURNS TABLE (task jsonb, n_judged_a bigint, n_successes_a bigint, n_judged_b bigint, n_successes_b bigint)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	found CONSTANT stepadv_internal.attached := stepadv_internal.attachment_of(source, prefix);
	outcomes CONSTANT record := stepadv_internal.task_outcomes(found, '{}'::text[]);
	known CONSTANT text[] := ARRAY(SELECT d.name FROM stepadv_internal.divisions(found) d WHERE d.role <> 'started_at'
		ORDER BY d.i);
	version CONSTANT text := format('t.v%s::text', array_position(known, division));
	list CONSTANT text := (SELECT string_agg('t.t' || i, ', ' ORDER BY i) FROM generate_subscripts(outcomes.tasks,
		1) i);
BEGIN
	IF versions_by_task.a IS NULL OR versions_by_task.b IS NULL THEN
		RAISE EXCEPTION '% must be given', CASE WHEN versions_by_task.a IS NULL THEN 'a' ELSE 'b' END
			USING ERRCODE = 'null_value_not_allowed', HINT = 'a and b are the two versions to compare: b minus a.';
	ELSIF versions_by_task.a = versions_by_task.b THEN
		RAISE EXCEPTION 'a and b are the same version: "%"', versions_by_task.a
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'The view _flaky shows tasks whose rollouts differ under one version.';
	ELSIF version IS NULL OR NOT EXISTS (SELECT FROM stepadv_internal.divisions(found) d WHERE d.name = division
		AND d.view IS NOT NULL) THEN
		RAISE EXCEPTION 'the % of the rollouts of % is not known', coalesce(division, 'version'),
			stepadv_internal.relation_name((found).source) USING ERRCODE = 'null_value_not_allowed',
			HINT = CASE division WHEN 'policy_version'
				THEN 'Attach with policy_version => ''…'', the column with the policy of a rollout.'
				ELSE format('division is one of: %s.',
					(SELECT string_agg(d.name, ', ' ORDER BY d.i) FROM stepadv_internal.divisions(found) d
						WHERE d.role <> 'started_at' AND d.view IS NOT NULL)) END;
	END IF;
	RETURN QUERY EXECUTE format(
		'SELECT jsonb_build_object(%1$s), t.n_judged_a, t.c_a, t.n_judged_b, t.c_b FROM (
			SELECT %2$s, coalesce(sum(t.n_judged) FILTER (WHERE %3$s = $1), 0)::bigint AS n_judged_a, '
				'coalesce(sum(t.n_successes) FILTER (WHERE %3$s = $1), 0)::bigint AS c_a,
				coalesce(sum(t.n_judged) FILTER (WHERE %3$s = $2), 0)::bigint AS n_judged_b, '
				'coalesce(sum(t.n_successes) FILTER (WHERE %3$s = $2), 0)::bigint AS c_b
			FROM %4$s WHERE %3$s IN ($1, $2) GROUP BY %2$s) t',
		(SELECT string_agg(format('%L::text, t.t%s', n.name, n.i), ', ' ORDER BY n.i)
			FROM unnest(outcomes.tasks) WITH ORDINALITY n(name, i)), list, version, outcomes.relation)
	USING versions_by_task.a, versions_by_task.b;
END
$query$;
COMMENT ON FUNCTION stepadv_internal.versions_by_task(regclass, text, text, text, text) IS
'part of compare_versions: judged rollouts and successes of each task under two versions; error where the versions are '
'not known';

-- Raises the error if there is nothing to compare.
CREATE FUNCTION stepadv_internal.refuse_versions(source regclass, a text, b text, prefix text, division text,
	n_judged_a bigint,
	n_judged_b bigint) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found CONSTANT stepadv_internal.attached := stepadv_internal.attachment_of(source, prefix);
	outcomes CONSTANT record := stepadv_internal.task_outcomes(found, '{}'::text[]);
	place CONSTANT integer := array_position(ARRAY(SELECT d.name FROM stepadv_internal.divisions(found) d
		WHERE d.role <> 'started_at' ORDER BY d.i), division);
	versions text;
BEGIN
	IF n_judged_a > 0 AND n_judged_b > 0 THEN
		RAISE EXCEPTION '% "%" and "%" of % share no task', division, a, b,
			stepadv_internal.relation_name((found).source)
			USING ERRCODE = 'no_data_found',
			HINT = format('A task is known by %s; attach names another by task_id => ''…''.',
				array_to_string(outcomes.tasks, ', '));
	END IF;
	EXECUTE format('SELECT string_agg(quote_ident(v.v), '', '' ORDER BY v.v) FROM (SELECT DISTINCT t.v%s::text AS v '
		'FROM %s WHERE t.v%1$s IS DISTINCT FROM NULL ORDER BY 1 LIMIT 20) v', place, outcomes.relation) INTO versions;
	RAISE EXCEPTION 'no rollout of % "%" of % is judged', division, CASE WHEN n_judged_a > 0 THEN b ELSE a END,
		stepadv_internal.relation_name((found).source) USING ERRCODE = 'no_data_found',
		HINT = format('There are: %s.', coalesce(versions, 'none'));
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_versions(regclass, text, text, text, text, bigint, bigint) IS
'part of compare_versions: the error that two versions have nothing to compare, with the reason';

-- The tests of each task use its own rollouts only.
CREATE FUNCTION stepadv_internal.compared_tasks(source regclass, a text, b text, prefix text, division text,
	solved_above float8)
RETURNS TABLE (task jsonb, n_judged_a bigint, n_successes_a bigint, rate_a float8, n_judged_b bigint,
	n_successes_b bigint, rate_b float8, difference float8,
	solved boolean, lost boolean, flaky boolean, p_value float8, q_value float8)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT (compared_tasks.solved_above >= 0 AND compared_tasks.solved_above < 1)
		OR compared_tasks.solved_above IS NULL THEN
		RAISE EXCEPTION 'solved_above must be at least 0 and below 1, not %',
			coalesce(compared_tasks.solved_above::text, 'NULL') USING ERRCODE = 'invalid_parameter_value',
			HINT = 'A version solves a task if its success rate is above that: 0, the default, asks for one success, '
				'0.5 for more than half.';
	END IF;
	RETURN QUERY
	SELECT q.task, q.n_judged_a, q.n_successes_a, q.rate_a, q.n_judged_b, q.n_successes_b, q.rate_b,
		q.rate_b - q.rate_a, q.rate_a <= compared_tasks.solved_above AND q.rate_b > compared_tasks.solved_above,
			q.rate_a > compared_tasks.solved_above AND q.rate_b <= compared_tasks.solved_above,
		q.rate_a > 0 AND q.rate_a < 1 OR q.rate_b > 0 AND q.rate_b < 1, q.p,
		-- Benjamini-Hochberg: p times the number of tasks over its rank, then the minimum over all p not smaller.
		CASE WHEN q.p IS NOT NULL THEN min(q.p / q.rank) OVER (PARTITION BY q.p IS NULL ORDER BY q.p DESC) END
	FROM (
		SELECT t.*, cume_dist() OVER (PARTITION BY t.p IS NULL ORDER BY t.p) AS rank
		FROM (
			SELECT v.*, v.n_successes_a / nullif(v.n_judged_a, 0)::float8 AS rate_a,
				v.n_successes_b / nullif(v.n_judged_b, 0)::float8 AS rate_b,
				CASE WHEN v.n_judged_a > 0 AND v.n_judged_b > 0 THEN stepadv_internal.fisher_exact(v.n_successes_a,
					v.n_judged_a, v.n_successes_b, v.n_judged_b) END AS p
			FROM stepadv_internal.versions_by_task(compared_tasks.source, compared_tasks.a, compared_tasks.b,
				compared_tasks.prefix, compared_tasks.division) v) t) q;
END
$$;
COMMENT ON FUNCTION stepadv_internal.compared_tasks(regclass, text, text, text, text, float8) IS
'part of compare_versions: the tasks of either version; for a task of only one version, the columns of the other '
'are NULL';

CREATE FUNCTION stepadv_internal.compare_versions(source regclass, a text, b text, prefix text, division text,
	solved_above float8)
RETURNS TABLE (task jsonb, n_judged_a bigint, n_successes_a bigint, rate_a float8, n_judged_b bigint,
	n_successes_b bigint, rate_b float8, difference float8,
	solved boolean, lost boolean, flaky boolean, p_value float8, q_value float8)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT c.* FROM stepadv_internal.compared_tasks(compare_versions.source, compare_versions.a, compare_versions.b,
		compare_versions.prefix, compare_versions.division, compare_versions.solved_above) c
	WHERE c.difference IS DISTINCT FROM NULL
	ORDER BY c.q_value, c.p_value, abs(c.difference) DESC, c.task::text COLLATE "C";
	IF NOT FOUND THEN
		PERFORM stepadv_internal.refuse_versions(compare_versions.source, compare_versions.a, compare_versions.b,
			compare_versions.prefix, compare_versions.division, sum(v.n_judged_a)::bigint, sum(v.n_judged_b)::bigint)
		FROM stepadv_internal.versions_by_task(compare_versions.source, compare_versions.a, compare_versions.b,
			compare_versions.prefix, compare_versions.division) v;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.compare_versions(regclass, text, text, text, text, float8) IS
'stepadv.compare_versions, as the owner of the source where the caller has their rights';

CREATE FUNCTION stepadv.compare_versions(source regclass, a text, b text, prefix text DEFAULT NULL,
	division text DEFAULT 'policy_version', solved_above float8 DEFAULT 0)
RETURNS TABLE (task jsonb, n_judged_a bigint, n_successes_a bigint, rate_a float8, n_judged_b bigint,
	n_successes_b bigint, rate_b float8, difference float8,
	solved boolean, lost boolean, flaky boolean, p_value float8, q_value float8)
LANGUAGE c STABLE
AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.compare_versions(regclass, text, text, text, text, float8) IS
'one row per task that versions a and b both tried: success rates, difference, solved and lost (the rate crosses '
'solved_above), flaky, Fisher''s exact p_value, q_value (Benjamini-Hochberg); division: the column of a and b; '
'error if a version has no judged rollout, or no task is common';

CREATE FUNCTION stepadv_internal.version_difference(source regclass, a text, b text, prefix text, division text,
	solved_above float8, confidence_level float8, permutations integer, seed integer, max_q_value float8)
RETURNS TABLE (n_tasks bigint, n_only_a bigint, n_only_b bigint, rate_a float8, rate_b float8, difference float8,
	stderr float8, low float8, high float8, p_value float8, exact boolean,
	n_solved bigint, n_lost bigint, n_flaky bigint, n_better bigint, n_worse bigint)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name text;
	n bigint;
	m bigint;
BEGIN
	FOREACH name IN ARRAY '{confidence_level,max_q_value}'::text[] LOOP
		IF (CASE name WHEN 'confidence_level'
				THEN version_difference.confidence_level > 0 AND version_difference.confidence_level < 1
			ELSE version_difference.max_q_value > 0 AND version_difference.max_q_value <= 1 END) IS NOT TRUE THEN
			RAISE EXCEPTION '% must be %, not %', name, CASE name WHEN 'confidence_level' THEN 'between 0 and 1'
				ELSE 'above 0 and at most 1' END,
				coalesce(CASE name WHEN 'confidence_level' THEN version_difference.confidence_level
					ELSE version_difference.max_q_value END::text, 'NULL') USING ERRCODE = 'invalid_parameter_value';
		END IF;
	END LOOP;
	IF (version_difference.permutations >= 1) IS NOT TRUE THEN
		RAISE EXCEPTION 'permutations must be at least 1, not %', coalesce(version_difference.permutations::text,
			'NULL') USING ERRCODE = 'invalid_parameter_value',
			HINT = 'This number of sign assignments is drawn if more than 20 tasks differ; the p-value is no less than '
				'about 1 / permutations.';
	ELSIF version_difference.seed IS NULL THEN
		RAISE EXCEPTION 'seed must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	SELECT s.n_tasks, s.n_only_a, s.n_only_b, s.n_judged_a, s.n_judged_b, s.rate_a, s.rate_b, s.n_solved,
		s.n_lost, s.n_flaky, s.n_better, s.n_worse, d.difference, d.stderr, d.low, d.high, d.p_value, d.exact
	INTO n_tasks, n_only_a, n_only_b, n, m, rate_a, rate_b, n_solved, n_lost, n_flaky, n_better, n_worse, difference,
		stderr, low, high, p_value, exact
	FROM (
		SELECT count(c.difference) AS n_tasks, count(*) FILTER (WHERE c.n_judged_b = 0) AS n_only_a,
			count(*) FILTER (WHERE c.n_judged_a = 0) AS n_only_b, sum(c.n_judged_a)::bigint AS n_judged_a,
			sum(c.n_judged_b)::bigint AS n_judged_b,
			avg(c.rate_a ORDER BY c.rate_a) FILTER (WHERE c.n_judged_b > 0) AS rate_a,
				avg(c.rate_b ORDER BY c.rate_b) FILTER (WHERE c.n_judged_a > 0) AS rate_b,
			count(*) FILTER (WHERE c.solved) AS n_solved, count(*) FILTER (WHERE c.lost) AS n_lost,
				count(*) FILTER (WHERE c.flaky AND c.difference IS DISTINCT FROM NULL) AS n_flaky,
			count(*) FILTER (WHERE c.q_value <= version_difference.max_q_value AND c.difference > 0) AS n_better,
				count(*) FILTER (WHERE c.q_value <= version_difference.max_q_value AND c.difference < 0) AS n_worse,
			-- In a fixed order, since random signs are drawn by position.
			coalesce(array_agg(c.difference ORDER BY c.difference) FILTER (WHERE c.difference IS DISTINCT FROM NULL),
				'{}') AS differences
		FROM stepadv_internal.compared_tasks(version_difference.source, version_difference.a, version_difference.b,
			version_difference.prefix, version_difference.division, version_difference.solved_above) c) s
	LEFT JOIN LATERAL stepadv_internal.paired_difference(s.differences, version_difference.confidence_level,
		version_difference.permutations, version_difference.seed) d ON true;
	IF n_tasks = 0 THEN
		PERFORM stepadv_internal.refuse_versions(version_difference.source, version_difference.a, version_difference.b,
			version_difference.prefix, version_difference.division, n, m);
	END IF;
	RETURN NEXT;
END
$$;
COMMENT ON FUNCTION stepadv_internal.version_difference(regclass, text, text, text, text, float8, float8, integer,
	integer, float8) IS
'stepadv.version_difference, as the owner of the source where the caller has their rights';

CREATE FUNCTION stepadv.version_difference(source regclass, a text, b text, prefix text DEFAULT NULL,
	division text DEFAULT 'policy_version', solved_above float8 DEFAULT 0,
	confidence_level float8 DEFAULT 0.95, permutations integer DEFAULT 10000, seed integer DEFAULT 1,
		max_q_value float8 DEFAULT 0.05)
RETURNS TABLE (n_tasks bigint, n_only_a bigint, n_only_b bigint, rate_a float8, rate_b float8, difference float8,
	stderr float8, low float8, high float8, p_value float8, exact boolean,
	n_solved bigint, n_lost bigint, n_flaky bigint, n_better bigint, n_worse bigint)
LANGUAGE c STABLE
AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.version_difference(regclass, text, text, text, text, float8, float8, integer, integer,
	float8) IS
'versions a and b over their common tasks: mean success rates, difference with standard error by task and Student''s '
'interval, p_value of permuted signs (exact up to 20 differing tasks), tasks solved, lost, better and worse (q_value '
'at most max_q_value); errors as for compare_versions';

-- A pool of groups for trainers: which are ready, claimed or consumed.  It belongs to its creator, and
-- consists of the view <prefix>_ready, which reads the table <prefix>_pool.

-- Finds the table by what the view reads and by owner, since names may change.
CREATE FUNCTION stepadv_internal.pool_of(ready regclass, OUT pool regclass, OUT n_keys integer)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT k.conrelid, cardinality(k.conkey) INTO pool, n_keys
	FROM pg_class v
	JOIN stepadv_internal.view_columns(v.oid::regclass) c ON c.name = 'claim' AND c.plain AND c.column_name = 'claim'
	JOIN pg_class p ON p.oid = c.relation AND p.relkind = 'r' AND p.relowner = v.relowner
	JOIN pg_constraint k ON k.conrelid = p.oid AND k.contype = 'p'
	WHERE v.oid = pool_of.ready AND stepadv_internal.column_type(p.oid::regclass, 'consumed_step'::text) IS NOT NULL;
	IF pool IS NULL THEN
		RAISE EXCEPTION '% is not the view of a pool', coalesce(pool_of.ready::text, 'NULL')
			USING ERRCODE = 'wrong_object_type', HINT = 'Name the view that create_pool made, <prefix>_ready.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.pool_of(regclass) IS
'part of pools: the table behind a view of create_pool, with the same owner, and the number of the group''s columns, '
'which come first in both; error for any other relation';

CREATE FUNCTION stepadv_internal.create_pool(source regclass, prefix text, min_rollouts integer, informative text,
	max_staleness integer) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $create_pool$
DECLARE
	a stepadv_internal.attached := stepadv_internal.attachment_of(create_pool.source, create_pool.prefix);
	groups CONSTANT regclass := (a).views[array_position((a).view_kinds, 'groups')];
	pool CONSTANT text := format('%I.%I', (a).schema, (a).prefix || '_pool');
	keys CONSTANT text[] := stepadv_internal.group_columns(groups, (a).n_group_columns);
	has_age CONSTANT boolean := stepadv_internal.column_type(groups, 'staleness'::text) IS NOT NULL;
	uniform CONSTANT text := CASE create_pool.informative WHEN 'dapo' THEN 'g.uniform AND g.n_judged > 1'
		WHEN 'verl_agent' THEN 'g.uniform' WHEN 'rtmc' THEN 'g.success_rate = 0 OR g.success_rate = 1' END;
	ready regclass;
BEGIN
	PERFORM stepadv_internal.refuse_distributed(a, 'a pool of groups'::text);
	IF groups IS NULL THEN
		RAISE EXCEPTION 'a pool of groups of % needs the view _groups', (a).source USING ERRCODE = 'undefined_table',
			HINT = format('Make it: SELECT * FROM stepadv.add_views(%L, ''{groups}'').', (a).source);
	ELSIF create_pool.max_staleness IS NOT NULL AND NOT has_age THEN
		RAISE EXCEPTION 'max_staleness needs a column given as policy_step' USING ERRCODE = 'undefined_column',
			HINT = 'Name the column by policy_step when calling attach.';
	ELSIF coalesce(create_pool.min_rollouts, 0) < 1 OR create_pool.max_staleness < 0 THEN
		RAISE EXCEPTION 'min_rollouts must be at least 1 and max_staleness at least 0' USING DETAIL = format(
			'They are %L and %L.', min_rollouts, max_staleness), ERRCODE = 'invalid_parameter_value';
	ELSIF uniform IS NULL AND informative IS NOT NULL THEN
		PERFORM stepadv_internal.refuse_name('rule for informative'::text, informative, '{dapo,verl_agent,rtmc}');
	END IF;
	EXECUTE format($$
		CREATE TABLE %1$s WITH (fillfactor = 80) AS SELECT %2$s FROM %3$s g;
		ALTER TABLE %1$s ADD claim uuid, ADD claimed_by text, ADD claimed_until timestamptz,
			ADD consumed_at timestamptz, ADD consumed_step bigint, ADD PRIMARY KEY (%2$s);
		CREATE INDEX ON %1$s (claim);
		COMMENT ON TABLE %1$s IS 'groups and the trainers that took them: claim_groups adds groups that came since'$$,
		pool, stepadv_internal.list(keys, '%1$I'::text, ', '::text), stepadv_internal.relation_name(groups));
	ready := stepadv_internal.create_view((a).schema, (a).prefix || '_ready', format($$
		SELECT %1$s, g.n_rollouts, g.n_judged, g.n_steps, g.mean_return, g.sd_return, g.success_rate%2$s,
			CASE WHEN p.claimed_until > statement_timestamp() THEN 'claimed'
				WHEN p.consumed_at IS NOT NULL THEN 'consumed'
				WHEN NOT (g.n_rollouts >= %3$s AND g.n_judged = g.n_rollouts) THEN 'incomplete'
				WHEN %4$s THEN 'stale'
				WHEN %5$s THEN 'uniform'
				ELSE 'ready' END::text AS status, p.claim, p.claimed_by, p.claimed_until, p.consumed_at, p.consumed_step
		FROM %6$s g LEFT JOIN %7$s p ON %8$s$$,
		stepadv_internal.list(keys, 'g.%1$I'::text, ', '::text), CASE WHEN has_age THEN ', g.staleness' ELSE '' END,
		min_rollouts, coalesce('coalesce(g.staleness > ' || create_pool.max_staleness || ', true)', 'false'),
		coalesce(uniform, 'false'), stepadv_internal.relation_name(groups), pool,
		stepadv_internal.same_group('g'::text, groups, 'p'::text, pool::regclass, (a).n_group_columns)),
		'a row per group: what is known of it, and its status: ready (complete, informative, not claimed), claimed,'
		' consumed, incomplete (too few rollouts, or one not judged), stale, uniform (all rollouts ended alike)');
	a.views := (a).views || ARRAY[pool::regclass, ready];
	a.view_kinds := (a).view_kinds || '{ready,ready}'::text[];
	PERFORM stepadv_internal.comment_columns(a);
	RETURN ready;
END
$create_pool$;
COMMENT ON FUNCTION stepadv_internal.create_pool(regclass, text, integer, text, integer) IS
'stepadv.create_pool, as the owner of the source where the caller has their rights';

CREATE FUNCTION stepadv.create_pool(source regclass, prefix text DEFAULT NULL, min_rollouts integer DEFAULT 2,
	informative text DEFAULT 'dapo', max_staleness integer DEFAULT NULL) RETURNS regclass
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.create_pool(regclass, text, integer, text, integer) IS
'creates a pool of the groups of an attachment for claim_groups: the view <prefix>_ready, with the status of each '
'group, over the table <prefix>_pool, which records claims. Rules: min_rollouts, informative, max_staleness (policy '
'steps)';

CREATE FUNCTION stepadv_internal.claim_groups(pool anyelement, max_groups integer, order_by text, lease interval,
	holder text) RETURNS SETOF anyelement
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $claim_groups$
DECLARE
	ready CONSTANT regclass := (SELECT t.typrelid FROM pg_type t WHERE t.oid = pg_typeof(claim_groups.pool)
		AND t.typtype = 'c');
	behind CONSTANT record := stepadv_internal.pool_of(ready);
	keys CONSTANT text := stepadv_internal.list(stepadv_internal.group_columns(ready, behind.n_keys), 'r.%1$I'::text,
		', '::text);
	claimed CONSTANT jsonb := jsonb_build_object('status', 'claimed', 'claim', gen_random_uuid(), 'claimed_until',
		coalesce(clock_timestamp() + claim_groups.lease, 'infinity'), 'claimed_by',
		coalesce(claim_groups.holder, session_user::text));
	columns CONSTANT text[] := stepadv_internal.group_columns(ready, 1000) || 'random'::text;
	first_by CONSTANT text := regexp_replace(claim_groups.order_by, ' desc$', '');
	in_order CONSTANT text := coalesce(CASE first_by WHEN 'random' THEN 'random(), ' ELSE 'r.' ||
		quote_ident(first_by) || substr(order_by, length(first_by) + 1) || ' NULLS LAST, ' END, '') || keys;
BEGIN
	PERFORM stepadv_internal.must_write('claim_groups'::text);
	IF claim_groups.lease <= interval '0' THEN
		RAISE EXCEPTION 'lease must be longer than 0, not %', lease USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF first_by <> ALL (columns) THEN
		PERFORM stepadv_internal.refuse_name('column to order groups by'::text, first_by, columns);
	END IF;
	-- One caller at a time inserts rows for new groups; others continue with the existing rows.
	BEGIN
		EXECUTE format('LOCK TABLE %s IN SHARE UPDATE EXCLUSIVE MODE NOWAIT', behind.pool);
		PERFORM FROM stepadv_internal.run(ready, format('INSERT INTO %1$s SELECT %2$s FROM %3$s r '
			'WHERE r.status = ''ready'' AND NOT EXISTS (SELECT FROM %1$s p WHERE %4$s) RETURNING 1', behind.pool, keys,
			ready, stepadv_internal.same_group('p'::text, behind.pool, 'r'::text, ready, behind.n_keys)))
			x(one integer);
	EXCEPTION WHEN lock_not_available THEN
		NULL;
	END;
	-- Take rows that are not locked and have not changed since the view was read.
	RETURN QUERY EXECUTE format('SELECT (x.taken).* FROM stepadv_internal.run($1, $2) x(taken %s)', ready)
		USING ready, format($$
		WITH taken AS MATERIALIZED (SELECT jsonb_populate_record(ROW(r.*)::%1$s, %2$L) AS g FROM %1$s r JOIN %3$s q
				ON %4$s AND (q.claim, q.consumed_at) IS NOT DISTINCT FROM (r.claim, r.consumed_at)
			WHERE r.status = 'ready' ORDER BY %5$s LIMIT %6$L FOR NO KEY UPDATE OF q SKIP LOCKED),
		marked AS (UPDATE %3$s p SET (claim, claimed_by, claimed_until) = ROW((t.g).claim, (t.g).claimed_by,
			(t.g).claimed_until) FROM taken t WHERE %7$s)
		SELECT t.g FROM taken t$$, ready, claimed, behind.pool,
		stepadv_internal.same_group('q'::text, behind.pool, 'r'::text, ready, behind.n_keys), in_order, max_groups,
		stepadv_internal.same_group('p'::text, behind.pool, '(t.g)'::text, ready, behind.n_keys));
END
$claim_groups$;
COMMENT ON FUNCTION stepadv_internal.claim_groups(anyelement, integer, text, interval, text) IS
'what claim_groups does';

CREATE FUNCTION stepadv.claim_groups(pool anyelement, max_groups integer, order_by text DEFAULT NULL,
	lease interval DEFAULT '10 minutes', holder text DEFAULT NULL) RETURNS SETOF anyelement
LANGUAGE c ROWS 16 AS 'MODULE_PATHNAME', 'stepadv_as_caller';
COMMENT ON FUNCTION stepadv.claim_groups(anyelement, integer, text, interval, text) IS
'claims up to max_groups ready groups of a pool until the lease expires (NULL: until consumed): '
'claim_groups(NULL::<prefix>_ready, 16); returns rows of that view, all with the same claim, for consume_groups. '
'order_by: a column of the view, with desc for the largest first, or random';

CREATE FUNCTION stepadv_internal.consume_groups(pool regclass, claim uuid, policy_step bigint) RETURNS integer
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT x.consumed FROM stepadv_internal.run(consume_groups.pool, format('WITH used AS (UPDATE %s p
		SET claimed_until = NULL, consumed_at = statement_timestamp(), consumed_step = %L
		WHERE p.claim = %L AND p.claimed_until IS NOT NULL RETURNING 1) SELECT count(*)::integer FROM used',
		(stepadv_internal.pool_of(consume_groups.pool)).pool, consume_groups.policy_step, consume_groups.claim))
		x(consumed integer)
$$;
COMMENT ON FUNCTION stepadv_internal.consume_groups(regclass, uuid, bigint) IS
'what consume_groups does';

CREATE FUNCTION stepadv.consume_groups(pool regclass, claim uuid, policy_step bigint DEFAULT NULL) RETURNS integer
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_caller';
COMMENT ON FUNCTION stepadv.consume_groups(regclass, uuid, bigint) IS
'marks the groups of a claim of claim_groups as trained on, and ends the claim; returns their number, which is less '
'than was claimed, or 0, if the lease expired and others claimed some of the groups; policy_step: number of the update';

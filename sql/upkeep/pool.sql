-- A pool of groups for trainers: which are ready, who holds them, what was trained on.  It belongs to
-- its creator, and is two objects: the view <prefix>_ready, which reads the table <prefix>_pool.

-- The table behind a view <prefix>_ready, known by what the view reads and by owner: names may change.
CREATE FUNCTION stepadv_internal.pool_of(ready regclass, OUT pool regclass, OUT keys text[])
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT k.conrelid, ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY n(number, i)
		JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = n.number ORDER BY n.i) INTO pool, keys
	FROM pg_class v
	JOIN stepadv_internal.view_columns(v.oid::regclass) c ON c.name = 'claim' AND c.plain AND c.column_name = 'claim'
	JOIN pg_class p ON p.oid = c.relation AND p.relkind = 'r' AND p.relowner = v.relowner
	JOIN pg_constraint k ON k.conrelid = p.oid AND k.contype = 'p'
	WHERE v.oid = pool_of.ready AND stepadv_internal.column_type(p.oid::regclass, 'consumed_step'::text) IS NOT NULL;
	IF pool IS NULL THEN
		RAISE EXCEPTION '% is not the view of a pool', coalesce(stepadv_internal.relation_name(pool_of.ready),
			pool_of.ready::oid::text, 'NULL')
			USING ERRCODE = 'wrong_object_type', HINT = 'Give the view that create_pool made, <prefix>_ready.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.pool_of(regclass) IS
'part of pools: the table behind a view of create_pool, of the view''s owner, and the columns of the group; error for '
'anything else';

CREATE FUNCTION stepadv_internal.create_pool(source regclass, prefix text, min_rollouts integer, informative text,
	max_staleness integer, max_uses integer) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $create_pool$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.attachment_of(create_pool.source, create_pool.prefix);
	groups CONSTANT regclass := (a).views[array_position((a).view_kinds, 'groups')];
	in_schema CONSTANT text := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.oid = (a).attachment);
	pool CONSTANT text := format('%I.%I', in_schema, (a).prefix || '_pool');
	has_age CONSTANT boolean := stepadv_internal.column_type(groups, 'staleness'::text) IS NOT NULL;
	uniform CONSTANT text := CASE create_pool.informative WHEN 'dapo' THEN 'g.uniform AND g.n_judged > 1'
		WHEN 'verl_agent' THEN 'g.uniform' WHEN 'rtmc' THEN 'g.success_rate = 0 OR g.success_rate = 1' END;
	wrong CONSTANT text := (SELECT format('%s must be at least %s, not %s', n.name, n.least, coalesce(n.given::text,
			'NULL'))
		FROM (VALUES ('min_rollouts', min_rollouts, 1), ('max_uses', max_uses, 1),
			('max_staleness', coalesce(max_staleness, 0), 0)) n(name, given, least)
		WHERE (n.given >= n.least) IS NOT TRUE LIMIT 1);
	keys text[];
BEGIN
	IF groups IS NULL THEN
		RAISE EXCEPTION 'the view _groups of % is gone', stepadv_internal.relation_name((a).source)
			USING ERRCODE = 'undefined_table', HINT = 'add_views makes it again.';
	ELSIF EXISTS (SELECT FROM stepadv_internal.distributed_tables(ARRAY[(a).rows])) THEN
		-- Who takes a group locks its row, which shards have not together.
		RAISE EXCEPTION 'cannot make a pool of groups of %: it is a distributed table',
			stepadv_internal.relation_name((a).source) USING ERRCODE = 'feature_not_supported',
				HINT = 'Copy what trainers are to take to a table of this node, and attach that.';
	ELSIF create_pool.max_staleness IS NOT NULL AND NOT has_age THEN
		RAISE EXCEPTION 'max_staleness needs to know how old groups are' USING ERRCODE = 'undefined_column',
			HINT = 'Tell attach which column is the policy_step of a rollout.';
	ELSIF wrong IS NOT NULL THEN
		RAISE EXCEPTION '%', wrong USING ERRCODE = 'invalid_parameter_value';
	ELSIF uniform IS NULL AND informative IS NOT NULL THEN
		PERFORM stepadv_internal.refuse_name('rule for informative'::text, informative, '{dapo,verl_agent,rtmc}');
	END IF;
	keys := stepadv_internal.group_columns(groups, (a).n_group_columns);
	EXECUTE format($$
		CREATE TABLE %1$s WITH (fillfactor = 80) AS SELECT %2$s FROM %3$s g;
		ALTER TABLE %1$s ADD claim uuid, ADD claimed_by text, ADD claimed_until timestamptz,
			ADD n_uses integer NOT NULL DEFAULT 0, ADD consumed_at timestamptz, ADD consumed_step bigint,
			ADD PRIMARY KEY (%2$s);
		CREATE INDEX ON %1$s (claim);
		COMMENT ON TABLE %1$s IS 'groups and the trainers that took them: claim_groups adds groups that came since';
		COMMENT ON COLUMN %1$s.claim IS 'the call of claim_groups that took the group last';
		COMMENT ON COLUMN %1$s.claimed_by IS 'who called it';
		COMMENT ON COLUMN %1$s.claimed_until IS 'when the lease expires; NULL: the group is not claimed';
		COMMENT ON COLUMN %1$s.n_uses IS 'how often the group was consumed';
		COMMENT ON COLUMN %1$s.consumed_step IS 'policy step of the update that it was last trained on in'$$,
		pool, stepadv_internal.list(keys, '%1$I'::text, ', '::text), stepadv_internal.relation_name(groups));
	RETURN stepadv_internal.create_view(in_schema, (a).prefix || '_ready', format($$
		SELECT %1$s, g.n_rollouts, g.n_judged, g.n_steps, g.mean_return, g.sd_return, g.success_rate%2$s,
			CASE WHEN p.claimed_until > statement_timestamp() THEN 'claimed'
				WHEN p.n_uses >= %3$s THEN 'consumed'
				WHEN NOT (g.n_rollouts >= %4$s AND g.n_judged = g.n_rollouts) THEN 'incomplete'
				WHEN %5$s THEN 'stale'
				WHEN %6$s THEN 'uniform'
				ELSE 'ready' END::text AS status,
			coalesce(p.n_uses, 0) AS n_uses, p.claim, p.claimed_by, p.claimed_until, p.consumed_at, p.consumed_step
		FROM %7$s g LEFT JOIN %8$s p ON %9$s$$,
		stepadv_internal.list(keys, 'g.%1$I'::text, ', '::text), CASE WHEN has_age THEN ', g.staleness' ELSE '' END,
		create_pool.max_uses, create_pool.min_rollouts,
		coalesce('coalesce(g.staleness > ' || create_pool.max_staleness || ', true)', 'false'),
		coalesce(uniform, 'false'), stepadv_internal.relation_name(groups), pool,
		stepadv_internal.same_columns('g'::text, 'p'::text, keys, groups)),
		'a row per group: what is known of it, and its status: ready (complete, informative, not claimed), claimed,'
		' consumed, incomplete (too few rollouts, or one not judged), stale, uniform (all rollouts ended alike)');
END
$create_pool$;
COMMENT ON FUNCTION stepadv_internal.create_pool(regclass, text, integer, text, integer, integer) IS
'stepadv.create_pool, as the owner of the source where the caller has their rights';

CREATE FUNCTION stepadv.create_pool(source regclass, prefix text DEFAULT NULL, min_rollouts integer DEFAULT 2,
	informative text DEFAULT 'dapo', max_staleness integer DEFAULT NULL, max_uses integer DEFAULT 1) RETURNS regclass
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_owner';
COMMENT ON FUNCTION stepadv.create_pool(regclass, text, integer, text, integer, integer) IS
'creates a pool of the groups of an attachment for claim_groups: the view <prefix>_ready, with the status of each '
'group, over the table <prefix>_pool, which records claims. Rules: min_rollouts, informative, max_staleness (policy '
'steps), max_uses (how often a group can be consumed)';

CREATE FUNCTION stepadv_internal.claim_groups(pool anyelement, max_groups integer, order_by text[], lease interval,
	holder text)
RETURNS SETOF anyelement
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $claim_groups$
DECLARE
	ready CONSTANT regclass := (SELECT t.typrelid FROM pg_type t WHERE t.oid = pg_typeof(claim_groups.pool)
		AND t.typtype = 'c');
	behind CONSTANT record := stepadv_internal.pool_of(ready);
	list CONSTANT text := stepadv_internal.list(behind.keys, '%1$I'::text, ', '::text);
	claim CONSTANT uuid := gen_random_uuid();
	until CONSTANT timestamptz := coalesce(clock_timestamp() + claim_groups.lease, 'infinity');
	by_whom CONSTANT text := coalesce(claim_groups.holder, nullif(current_setting('application_name'), ''),
		session_user::text);
	items text;			-- in which order groups are taken
	unknown text;
BEGIN
	PERFORM stepadv_internal.must_write('claim_groups'::text);
	IF claim_groups.lease <= interval '0' THEN
		RAISE EXCEPTION 'lease must be longer than 0, not %', claim_groups.lease
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT string_agg(CASE n.name WHEN 'random' THEN 'random(), ' ELSE format('r.%I%s NULLS LAST, ', n.name, d.down)
		END, '' ORDER BY w.i), min(n.name) FILTER (WHERE n.name <> 'random'
		AND stepadv_internal.column_type(ready, n.name) IS NULL) INTO items, unknown
	FROM unnest(claim_groups.order_by) WITH ORDINALITY w(w, i)
	CROSS JOIN LATERAL regexp_replace(coalesce(w.w, 'NULL'), ' desc$', '') n(name)
	CROSS JOIN LATERAL substring(w.w FROM ' desc$') d(down);
	IF unknown IS NOT NULL THEN
		PERFORM stepadv_internal.refuse_column(format('cannot claim groups by "%s": %s has no such column', unknown,
			stepadv_internal.relation_name(ready)), unknown, ARRAY[ready], 'order_by names columns of the view, each '
			'with desc behind it where the largest come first, or random.'::text);
	END IF;
	-- Groups that came since get their rows, by one caller at a time: others go on with the rows that there are.
	BEGIN
		EXECUTE format('LOCK TABLE %s IN SHARE UPDATE EXCLUSIVE MODE NOWAIT', behind.pool);
		PERFORM FROM stepadv_internal.run(ready, format('INSERT INTO %1$s (%2$s) SELECT %2$s FROM %3$s r '
			'WHERE r.status = ''ready'' AND NOT EXISTS (SELECT FROM %1$s p WHERE %4$s) RETURNING 1', behind.pool, list,
			ready, stepadv_internal.same_columns('p'::text, 'r'::text, behind.keys, behind.pool))) x(one integer);
	EXCEPTION WHEN lock_not_available THEN
		NULL;
	END;
	-- As it was when the view was read, and not locked.
	RETURN QUERY EXECUTE format('SELECT (x.taken).* FROM stepadv_internal.run($1, $2) x(taken %s)', ready)
		USING ready, format($$
		WITH taken AS MATERIALIZED (SELECT ROW(r.*)::%1$s AS taken FROM %1$s r JOIN %2$s q ON %3$s
				AND q.n_uses = r.n_uses AND q.claim IS NOT DISTINCT FROM r.claim
			WHERE r.status = 'ready' ORDER BY %4$s LIMIT %5$s FOR NO KEY UPDATE OF q SKIP LOCKED),
		marked AS (UPDATE %2$s p SET claim = %6$L, claimed_by = %7$L, claimed_until = %8$L FROM taken t WHERE %9$s)
		SELECT jsonb_populate_record(t.taken, %10$L) FROM taken t$$,
		ready, behind.pool, stepadv_internal.same_columns('q'::text, 'r'::text, behind.keys, behind.pool),
		concat(items, stepadv_internal.list(behind.keys, 'r.%1$I'::text, ', '::text)),
		quote_nullable(claim_groups.max_groups), claim, by_whom, until,
		stepadv_internal.same_columns('p'::text, '(t.taken)'::text, behind.keys, behind.pool),
		jsonb_build_object('status', 'claimed', 'claim', claim, 'claimed_by', by_whom, 'claimed_until', until));
END
$claim_groups$;
COMMENT ON FUNCTION stepadv_internal.claim_groups(anyelement, integer, text[], interval, text) IS
'what claim_groups does';

CREATE FUNCTION stepadv.claim_groups(pool anyelement, max_groups integer, order_by text[] DEFAULT NULL,
	lease interval DEFAULT '10 minutes', holder text DEFAULT NULL)
RETURNS SETOF anyelement
LANGUAGE c ROWS 16 AS 'MODULE_PATHNAME', 'stepadv_as_caller';
COMMENT ON FUNCTION stepadv.claim_groups(anyelement, integer, text[], interval, text) IS
'claims up to max_groups ready groups of a pool until the lease expires (NULL: until consumed): '
'claim_groups(NULL::<prefix>_ready, 16); returns rows of that view, all with the same claim, for consume_groups. '
'order_by: columns of the view, with desc for the largest first, or random';

CREATE FUNCTION stepadv_internal.consume_groups(pool regclass, claim uuid, policy_step bigint)
RETURNS integer
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT x.consumed FROM stepadv_internal.run(consume_groups.pool, format('WITH used AS (UPDATE %s p
		SET claimed_until = NULL, n_uses = p.n_uses + 1, consumed_at = statement_timestamp(), consumed_step = %L
		WHERE p.claim = %L AND p.claimed_until IS NOT NULL RETURNING 1) SELECT count(*)::integer FROM used',
		(stepadv_internal.pool_of(consume_groups.pool)).pool, consume_groups.policy_step, consume_groups.claim))
		x(consumed integer)
$$;
COMMENT ON FUNCTION stepadv_internal.consume_groups(regclass, uuid, bigint) IS
'what consume_groups does';

CREATE FUNCTION stepadv.consume_groups(pool regclass, claim uuid, policy_step bigint DEFAULT NULL)
RETURNS integer
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_caller';
COMMENT ON FUNCTION stepadv.consume_groups(regclass, uuid, bigint) IS
'marks the groups of a claim of claim_groups as trained on, and ends the claim; returns their number, which is less '
'than was claimed, or 0, if the lease expired and others claimed some of the groups; policy_step: number of the update';

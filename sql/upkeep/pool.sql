-- A pool of groups for trainers: which are ready, who holds them, on what was trained.
-- It belongs to whoever makes it, and is three objects that are each other's by the
-- catalog: the view <prefix>_ready reads the table <prefix>_pool and names the table
-- <prefix>_step_marks.

-- ---- What a pool is made of

CREATE TYPE stepadv_internal.known_pool AS (name text, pool regclass, pool_name text, marks_name text, keys text[]);
COMMENT ON TYPE stepadv_internal.known_pool IS 'a pool as it is known by the catalog: the name of its view, its tables, and the columns of the group';

-- Stands in the condition of a view <prefix>_ready, where it costs nothing: so the view
-- depends on the table, through every dump.
CREATE FUNCTION stepadv_internal.pool_marks(marks regclass) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT true $$;
COMMENT ON FUNCTION stepadv_internal.pool_marks(regclass) IS 'part of create_pool: true; the argument says which table has the marks of the pool''s steps';

-- What belongs to a view <prefix>_ready, known by what it reads and by owner: names may change.
CREATE FUNCTION stepadv_internal.pool_of(ready regclass) RETURNS stepadv_internal.known_pool
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found stepadv_internal.known_pool;
BEGIN
	IF pool_of.ready IS NULL THEN
		RAISE EXCEPTION 'pool must be given' USING ERRCODE = 'null_value_not_allowed', HINT = 'It is the view that create_pool made, <prefix>_ready.';
	END IF;
	SELECT stepadv_internal.relation_name(pool_of.ready), p.oid::regclass, stepadv_internal.relation_name(p.oid::regclass), stepadv_internal.relation_name(m.oid::regclass),
		ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY c(number, i) JOIN pg_attribute a ON a.attrelid = p.oid AND a.attnum = c.number ORDER BY c.i)
	INTO found
	FROM pg_class v JOIN stepadv_internal.view_columns(pool_of.ready) c ON c.name = 'claim' AND c.plain AND c.column_name = 'claim'
	JOIN pg_class p ON p.oid = c.relation AND p.relkind = 'r' AND p.relowner = v.relowner
	JOIN pg_constraint k ON k.conrelid = p.oid AND k.contype = 'p'
	JOIN pg_rewrite r ON r.ev_class = v.oid
	JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> p.oid
	JOIN pg_class m ON m.oid = d.refobjid AND m.relkind = 'r' AND m.relowner = v.relowner
	WHERE v.oid = pool_of.ready AND stepadv_internal.has_column(p.oid::regclass, 'ended_claims'::text) AND stepadv_internal.has_column(m.oid::regclass, 'n_trained'::text)
	ORDER BY m.oid LIMIT 1;
	IF found.pool IS NULL THEN
		RAISE EXCEPTION '% is not the view of a pool', coalesce(stepadv_internal.relation_name(pool_of.ready), pool_of.ready::oid::text)
			USING ERRCODE = 'wrong_object_type', HINT = 'Give the view that create_pool made, <prefix>_ready.';
	END IF;
	RETURN found;
END
$$;
COMMENT ON FUNCTION stepadv_internal.pool_of(regclass) IS 'part of pools: the tables behind a view of create_pool, of the view''s owner, and the columns of the group; error for anything else';

-- ---- create_pool

-- The place of a result of group_summary in the view _groups, whatever it is called by now.
CREATE FUNCTION stepadv_internal.summary_column(a stepadv_internal.attached, groups regclass, result text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('g.%I', c.attname)
	FROM pg_proc f CROSS JOIN LATERAL unnest(f.proargnames[f.pronargs + 1:]) WITH ORDINALITY r(name, i)
	JOIN pg_attribute c ON c.attrelid = summary_column.groups AND c.attnum = (a).n_group_columns + r.i
	WHERE f.oid = 'stepadv.group_summary(stepadv.rollout_group, float8)'::regprocedure AND r.name = summary_column.result
$$;
COMMENT ON FUNCTION stepadv_internal.summary_column(stepadv_internal.attached, regclass, text) IS 'part of create_pool: the column of the view _groups that has a result of group_summary, over g';

-- %1$s: the group's columns, %2$s: what is known of it, %3$s: complete, %4$s: too old, %5$s: uniform,
-- %6$s: uses, %7$s and %8$s: groups and pool, %9$s: that they are the same group, %10$L: the marks.
CREATE FUNCTION stepadv_internal.ready_query() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $ddl$
	SELECT $$
		SELECT %1$s, %2$s,
			CASE WHEN p.claimed_until > statement_timestamp() THEN 'claimed'
				WHEN p.n_uses >= %6$s THEN 'consumed'
				WHEN NOT %3$s THEN 'incomplete'
				WHEN %4$s THEN 'stale'
				WHEN %5$s THEN 'uniform'
				ELSE 'ready' END::text AS status,
			coalesce(p.n_uses, 0) AS n_uses, p.claim, p.claimed_by, p.claimed_until, p.consumed_at, p.consumed_step
		FROM %7$s g LEFT JOIN %8$s p ON %9$s
		WHERE stepadv_internal.pool_marks(%10$L::regclass)
	$$
$ddl$;
COMMENT ON FUNCTION stepadv_internal.ready_query() IS 'part of create_pool: the view <prefix>_ready, as a template for format()';

-- %1$s: the pool, %2$s: the marks, %3$s: the group's columns, %4$s: what is a step_id, %5$s: the view _groups.
CREATE FUNCTION stepadv_internal.pool_ddl() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $ddl$
	SELECT $$
		CREATE TABLE %1$s WITH (fillfactor = 80) AS SELECT %3$s FROM %5$s g WITH NO DATA;
		ALTER TABLE %1$s ADD claim uuid, ADD claimed_by text, ADD claimed_at timestamptz, ADD claimed_until timestamptz, ADD ended_claims uuid[] NOT NULL DEFAULT '{}',
			ADD n_uses integer NOT NULL DEFAULT 0, ADD consumed_at timestamptz, ADD consumed_step bigint, ADD PRIMARY KEY (%3$s);
		CREATE INDEX ON %1$s (claim);
		COMMENT ON TABLE %1$s IS 'groups that trainers took: one row each; of groups without a row nobody took any';
		COMMENT ON COLUMN %1$s.claim IS 'the call of claim_groups that took the group last';
		COMMENT ON COLUMN %1$s.claimed_by IS 'who called it';
		COMMENT ON COLUMN %1$s.claimed_until IS 'when the lease ends; NULL: nobody holds the group';
		COMMENT ON COLUMN %1$s.ended_claims IS 'claims that lost the group because their lease ended and another claim took it';
		COMMENT ON COLUMN %1$s.n_uses IS 'how often it was consumed';
		COMMENT ON COLUMN %1$s.consumed_step IS 'policy step of the update that it was last trained on in';
		CREATE TABLE %2$s AS SELECT %3$s, %4$s AS step_id FROM %5$s g WITH NO DATA;
		ALTER TABLE %2$s ADD tags text[] NOT NULL DEFAULT '{}', ADD n_trained integer NOT NULL DEFAULT 0, ADD trained boolean NOT NULL GENERATED ALWAYS AS (n_trained > 0) STORED,
			ADD trained_at timestamptz, ADD trained_step bigint, ADD PRIMARY KEY (%3$s, step_id);
		COMMENT ON TABLE %2$s IS 'marks of steps: what curators call them, and whether they were trained on; a step without a row has none';
		COMMENT ON COLUMN %2$s.step_id IS 'as in the views of attach';
		COMMENT ON COLUMN %2$s.tags IS 'labels, sorted; see tag_steps';
		COMMENT ON COLUMN %2$s.n_trained IS 'in how many consumed batches the step was trained on';
		COMMENT ON COLUMN %2$s.trained_step IS 'policy step of the last such update';
	$$
$ddl$;
COMMENT ON FUNCTION stepadv_internal.pool_ddl() IS 'part of create_pool: its tables, as a template for format()';

CREATE FUNCTION stepadv_internal.check_pool(min_rollouts integer, drop_uniform text, max_staleness integer, uses integer, keys text[]) RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	taken text;
BEGIN
	IF check_pool.min_rollouts IS NULL OR check_pool.min_rollouts < 1 THEN
		RAISE EXCEPTION 'min_rollouts must be at least 1, not %', coalesce(check_pool.min_rollouts::text, 'NULL') USING ERRCODE = 'invalid_parameter_value';
	ELSIF check_pool.uses IS NULL OR check_pool.uses < 1 THEN
		RAISE EXCEPTION 'uses must be at least 1, not %', coalesce(check_pool.uses::text, 'NULL') USING ERRCODE = 'invalid_parameter_value';
	ELSIF check_pool.max_staleness < 0 THEN
		RAISE EXCEPTION 'max_staleness must be at least 0, not %', check_pool.max_staleness USING ERRCODE = 'invalid_parameter_value';
	ELSIF check_pool.drop_uniform NOT IN ('dapo', 'verl_agent', 'rtmc') THEN
		RAISE EXCEPTION 'unknown rule for drop_uniform: "%"', check_pool.drop_uniform
			USING ERRCODE = 'invalid_parameter_value', HINT = 'drop_uniform is ''dapo'', ''verl_agent'' or ''rtmc''; NULL keeps groups whose rollouts all ended alike.';
	END IF;
	SELECT k.name INTO taken FROM unnest(check_pool.keys) k(name)
	WHERE k.name = ANY ('{n_rollouts,n_judged,n_steps,mean_return,sd_return,success_rate,staleness,status,claim,claimed_by,claimed_at,claimed_until,ended_claims,n_uses,consumed_at,consumed_step,
		step_id,tags,n_trained,trained,trained_at,trained_step}'::text[]) LIMIT 1;
	IF taken IS NOT NULL THEN
		RAISE EXCEPTION 'column "%" of the group has the name of a column of the pool', taken
			USING ERRCODE = 'duplicate_column', HINT = 'Attach a view of the source that calls it something else.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_pool(integer, text, integer, integer, text[]) IS 'part of create_pool: an error where an argument, or a column of the group, cannot be';

-- What the view says of groups, as expressions over the view _groups.
CREATE FUNCTION stepadv_internal.ready_items(a stepadv_internal.attached, groups regclass, min_rollouts integer, drop_uniform text, max_staleness integer,
	OUT items text, OUT complete text, OUT stale text, OUT uniform text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	age text := 'staleness';
	rollouts CONSTANT text := stepadv_internal.summary_column(a, groups, 'n_rollouts'::text);
	judged CONSTANT text := stepadv_internal.summary_column(a, groups, 'n_judged'::text);
BEGIN
	items := (SELECT string_agg(format('%s AS %I', stepadv_internal.summary_column(a, groups, r.name), r.name), ', ' ORDER BY r.i)
		FROM unnest('{n_rollouts,n_judged,n_steps,mean_return,sd_return,success_rate}'::text[]) WITH ORDINALITY r(name, i));
	complete := format('(%1$s >= %2$s AND %3$s = %1$s)', rollouts, min_rollouts, judged);
	-- What attach calls its own where a column of the user's has the name.
	WHILE stepadv_internal.has_column(groups, 'run_' || age) LOOP
		age := 'run_' || age;
	END LOOP;
	IF stepadv_internal.has_column(groups, age) THEN
		items := items || format(', g.%I AS staleness', age);
	ELSIF max_staleness IS NOT NULL THEN
		RAISE EXCEPTION 'max_staleness needs to know how old groups are'
			USING ERRCODE = 'undefined_column', HINT = 'The views of attach know it where attach was told which column is the policy_step of a rollout.';
	END IF;
	stale := CASE WHEN max_staleness IS NULL THEN 'false' ELSE format('coalesce(g.%I > %s, true)', age, max_staleness) END;
	uniform := CASE drop_uniform
		WHEN 'dapo' THEN format('(%s AND %s > 1)', stepadv_internal.summary_column(a, groups, 'uniform'::text), judged)
		WHEN 'verl_agent' THEN stepadv_internal.summary_column(a, groups, 'uniform'::text)
		WHEN 'rtmc' THEN format('(%1$s = 0 OR %1$s = 1)', stepadv_internal.summary_column(a, groups, 'success_rate'::text))
		ELSE 'false' END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.ready_items(stepadv_internal.attached, regclass, integer, text, integer) IS 'part of create_pool: what the view <prefix>_ready shows of a group, and when it is complete, stale and uniform';

CREATE FUNCTION stepadv.create_pool(source regclass, prefix text DEFAULT NULL, min_rollouts integer DEFAULT 2, drop_uniform text DEFAULT 'dapo', max_staleness integer DEFAULT NULL,
	uses integer DEFAULT 1)
RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.attachment_of(create_pool.source, create_pool.prefix);
	groups CONSTANT regclass := (a).views[array_position((a).view_kinds, 'groups')];
	in_schema CONSTANT text := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = (a).attachment);
	keys text[];
	has_steps regclass;
	made record;
	name text;
	ready regclass;
BEGIN
	IF groups IS NULL THEN
		RAISE EXCEPTION 'the view _groups of % is gone', stepadv_internal.relation_name((a).source)
			USING ERRCODE = 'undefined_table', HINT = 'upgrade_attachments makes it again.';
	ELSIF stepadv_internal.is_distributed(ARRAY[(a).rows]) THEN
		-- Who takes a group locks its row and passes over those that others hold: shards have no such rows together.
		RAISE EXCEPTION 'cannot make a pool of groups of %: it is a distributed table', stepadv_internal.relation_name((a).source)
			USING ERRCODE = 'feature_not_supported', HINT = 'Copy what trainers are to take to a table of this node, and attach that.';
	END IF;
	keys := stepadv_internal.group_columns(groups, (a).n_group_columns);
	PERFORM stepadv_internal.check_pool(create_pool.min_rollouts, create_pool.drop_uniform, create_pool.max_staleness, create_pool.uses, keys);
	FOREACH name IN ARRAY '{_pool,_step_marks,_ready}'::text[] LOOP
		IF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = in_schema AND c.relname = (a).prefix || name) THEN
			RAISE EXCEPTION 'relation "%" already exists in schema "%"', (a).prefix || name, in_schema
				USING ERRCODE = 'duplicate_table', HINT = 'A pool that was made before is dropped by drop_pool.';
		ELSIF octet_length((a).prefix || name) > current_setting('max_identifier_length')::integer THEN
			RAISE EXCEPTION 'the name of table "%" is longer than % bytes', (a).prefix || name, current_setting('max_identifier_length') USING ERRCODE = 'name_too_long';
		END IF;
	END LOOP;
	made := stepadv_internal.ready_items(a, groups, create_pool.min_rollouts, create_pool.drop_uniform, create_pool.max_staleness);
	-- The first view that shows steps says how they are known.
	SELECT v.view INTO has_steps FROM unnest((a).views) WITH ORDINALITY v(view, i) WHERE stepadv_internal.has_column(v.view, 'step_id'::text) ORDER BY v.i LIMIT 1;
	EXECUTE format(stepadv_internal.pool_ddl(), format('%I.%I', in_schema, (a).prefix || '_pool'), format('%I.%I', in_schema, (a).prefix || '_step_marks'),
		stepadv_internal.list(keys, '%1$I'::text, ', '::text), CASE WHEN has_steps IS NULL THEN 'NULL::bigint' ELSE format('(SELECT s.step_id FROM %s s)', stepadv_internal.relation_name(has_steps)) END,
		stepadv_internal.relation_name(groups));
	ready := stepadv_internal.create_view(in_schema, (a).prefix || '_ready', format(stepadv_internal.ready_query(), stepadv_internal.list(keys, 'g.%1$I'::text, ', '::text),
			made.items, made.complete, made.stale, made.uniform, create_pool.uses, stepadv_internal.relation_name(groups), format('%I.%I', in_schema, (a).prefix || '_pool'),
			stepadv_internal.same_columns('g'::text, 'p'::text, keys, groups), format('%I.%I', in_schema, (a).prefix || '_step_marks')),
		'a row per group: what is known of it, and its status: ready (complete, informative, held by nobody), claimed, consumed, incomplete (too few rollouts, or one not judged), stale, uniform (all rollouts ended alike)');
	RETURN ready;
END
$$;
COMMENT ON FUNCTION stepadv.create_pool(regclass, text, integer, text, integer, integer) IS
'makes a pool of the groups of what was attached, for trainers to take groups from: the view <prefix>_ready, a row per group with its status (ready, claimed, consumed, incomplete, stale, uniform), and the tables <prefix>_pool (who holds which group, what was consumed) and <prefix>_step_marks (tags of steps, and whether they were trained on), in the schema of the views, for the caller, who grants trainers SELECT on the view and SELECT, INSERT, UPDATE on the tables; min_rollouts: a group is complete when it has so many rollouts and all of them are judged; drop_uniform: groups that are not informative, by the rule of select_steps: ''dapo'', ''verl_agent'', ''rtmc'', NULL: none; max_staleness: most policy steps since (NULL: any number); uses: how often a group may be consumed; returns the view; after Claw-R1''s data pool';

CREATE FUNCTION stepadv.drop_pool(pool regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p CONSTANT stepadv_internal.known_pool := stepadv_internal.pool_of(drop_pool.pool);
BEGIN
	EXECUTE format('DROP VIEW %s', p.name);
	EXECUTE format('DROP TABLE %s, %s', p.marks_name, p.pool_name);
END
$$;
COMMENT ON FUNCTION stepadv.drop_pool(regclass) IS 'drops what create_pool made, given its view <prefix>_ready: with the two tables what is known of claims, uses and tags; error when something else depends on it';

-- ---- Claims

-- ORDER BY for what a caller wants first: columns of the view, each with desc or asc behind it, or random.
CREATE FUNCTION stepadv_internal.claim_order(ready regclass, name text, keys text[], "by" text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wanted text;
	parts text[];
	items text[] := '{}';
	nearest text;
BEGIN
	FOREACH wanted IN ARRAY coalesce(claim_order."by", CASE WHEN stepadv_internal.has_column(claim_order.ready, 'staleness'::text) THEN '{staleness}' ELSE '{}' END::text[]) LOOP
		parts := CASE WHEN stepadv_internal.has_column(claim_order.ready, wanted) THEN ARRAY[wanted, ''] ELSE regexp_match(wanted, '^\s*(.*?)(?:\s+(asc|desc))?\s*$', 'i') END;
		IF lower(parts[1]) = 'random' THEN
			items := items || 'random()'::text;
		ELSIF stepadv_internal.has_column(claim_order.ready, parts[1]) THEN
			items := items || format('r.%I %s NULLS LAST', parts[1], upper(coalesce(parts[2], '')));
		ELSE
			nearest := stepadv_internal.nearest_column(claim_order.ready, parts[1]);
			RAISE EXCEPTION 'cannot claim groups by "%": % has no such column', coalesce(wanted, 'NULL'), claim_order.name
				USING ERRCODE = 'undefined_column', HINT = coalesce('Did you mean "' || nearest || '"?', 'by names columns of the view, each with desc behind it where the largest come first, or random.');
		END IF;
	END LOOP;
	RETURN array_to_string(items || stepadv_internal.list(claim_order.keys, 'r.%1$I'::text, ', '::text), ', ');
END
$$;
COMMENT ON FUNCTION stepadv_internal.claim_order(regclass, text, text[], text[]) IS 'part of claim_groups: in which order groups are tried; what is equal by that, by group';

-- A group without a row gets one, unless another transaction is about to make it: who
-- would wait for that.  $1: a row of the view.  %1$s: pool, %2$s: keys, %3$s: keys of $1, %4$s: that they are equal.
CREATE FUNCTION stepadv_internal.enter_sql(pool_name text, keys text[], pool regclass) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('INSERT INTO %1$s (%2$s) SELECT %3$s WHERE NOT EXISTS (SELECT FROM %1$s p WHERE %4$s) AND pg_try_advisory_xact_lock(hashtextextended(ROW(%3$s)::text, %5$s)) ON CONFLICT DO NOTHING',
		enter_sql.pool_name, stepadv_internal.list(enter_sql.keys, '%1$I'::text, ', '::text), stepadv_internal.list(enter_sql.keys, '($1).%1$I'::text, ', '::text),
		stepadv_internal.same_columns('p'::text, '($1)'::text, enter_sql.keys, enter_sql.pool), enter_sql.pool::oid)
$$;
COMMENT ON FUNCTION stepadv_internal.enter_sql(text, text[], regclass) IS 'part of claim_groups: the statement that gives a group, $1, its row in the pool; waits for nobody';

-- The group is taken if it is as it was when the view was read, and nobody is at it.
CREATE FUNCTION stepadv_internal.take_sql(pool_name text, keys text[], pool regclass) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format($q$
		WITH free AS (
			SELECT %2$s FROM %1$s p
			WHERE %3$s AND p.n_uses = ($1).n_uses AND p.claim IS NOT DISTINCT FROM ($1).claim AND (p.claimed_until IS NULL OR p.claimed_until <= clock_timestamp())
			FOR NO KEY UPDATE SKIP LOCKED)
		UPDATE %1$s p SET claim = $2, claimed_by = $3, claimed_at = clock_timestamp(), claimed_until = clock_timestamp() + $4,
			ended_claims = CASE WHEN p.claimed_until IS NULL THEN p.ended_claims ELSE p.ended_claims || p.claim END
		FROM free WHERE %4$s RETURNING p.claimed_until
		$q$, take_sql.pool_name, stepadv_internal.list(take_sql.keys, 'p.%1$I'::text, ', '::text),
		stepadv_internal.same_columns('p'::text, '($1)'::text, take_sql.keys, take_sql.pool), stepadv_internal.same_columns('p'::text, 'free'::text, take_sql.keys, take_sql.pool))
$$;
COMMENT ON FUNCTION stepadv_internal.take_sql(text, text[], regclass) IS 'part of claim_groups: the statement that takes a group, $1, for the claim $2 of $3 for the time $4; no row where somebody else has it';

CREATE FUNCTION stepadv_internal.check_lease(lease interval) RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF check_lease.lease IS NULL OR check_lease.lease <= '0'::interval THEN
		RAISE EXCEPTION 'lease must be longer than 0, not %', coalesce(check_lease.lease::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'It is the time after which others may take the groups if they are not consumed by then, such as ''10 minutes''.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_lease(interval) IS 'part of pools: an error for no time';

CREATE FUNCTION stepadv.claim_groups(pool anyelement, n integer, "by" text[] DEFAULT NULL, lease interval DEFAULT '10 minutes', holder text DEFAULT NULL) RETURNS SETOF anyelement
LANGUAGE plpgsql ROWS 16
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	ready CONSTANT regclass := (SELECT t.typrelid::regclass FROM pg_type t WHERE t.oid = pg_typeof(claim_groups.pool) AND t.typtype = 'c');
	p CONSTANT stepadv_internal.known_pool := stepadv_internal.pool_of(ready);
	claim CONSTANT uuid := gen_random_uuid();
	claimed_by CONSTANT text := coalesce(claim_groups.holder, nullif(current_setting('application_name'), ''), session_user::text);
	enter CONSTANT text := stepadv_internal.enter_sql(p.pool_name, p.keys, p.pool);
	take CONSTANT text := stepadv_internal.take_sql(p.pool_name, p.keys, p.pool);
	until timestamptz;
	taken integer := 0;
BEGIN
	IF claim_groups.n IS NULL OR claim_groups.n < 1 THEN
		RAISE EXCEPTION 'n must be at least 1, not %', coalesce(claim_groups.n::text, 'NULL') USING ERRCODE = 'invalid_parameter_value', HINT = 'It is how many groups are wanted.';
	END IF;
	PERFORM stepadv_internal.check_lease(claim_groups.lease);
	PERFORM stepadv_internal.must_write('claim_groups'::text);
	-- The parameter is the one variable that has the type of the view's rows.
	FOR pool IN EXECUTE format('SELECT r.* FROM %s r WHERE r.status = ''ready'' ORDER BY %s', p.name, stepadv_internal.claim_order(ready, p.name, p.keys, claim_groups."by")) LOOP
		EXECUTE enter USING pool;
		EXECUTE take INTO until USING pool, claim, claimed_by, claim_groups.lease;
		IF until IS NOT NULL THEN
			RETURN NEXT jsonb_populate_record(pool, jsonb_build_object('status', 'claimed', 'claim', claim, 'claimed_by', claimed_by, 'claimed_until', until));
			taken := taken + 1;
		END IF;
		EXIT WHEN taken = claim_groups.n;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv.claim_groups(anyelement, integer, text[], interval, text) IS
'takes up to n groups that are ready out of a pool, for the caller alone until the lease ends: claim_groups(NULL::<prefix>_ready, 16); rows of that view, all with one claim, which consume_groups, renew_claim and release_groups are given; fewer rows, or none, where fewer are ready; by: columns of the view, what is smallest first, or, with desc behind the name, largest, or random; default staleness where it is known, then the group; lease: after that others may take what was not consumed; holder: what claimed_by shows, default application_name or the user; several trainers at once never get the same group and never wait for each other; needs SELECT on the view, SELECT, INSERT and UPDATE on the table; after Claw-R1''s data pool';

-- The rows of a claim that is held, locked; error where others have taken some of its
-- groups, in the user's words, unless these are given up.
CREATE FUNCTION stepadv_internal.hold_claim(p stepadv_internal.known_pool, claim uuid, skip_lost boolean, ending text) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	named CONSTANT text := format('jsonb_build_object(%s)::text', (SELECT string_agg(format('%L, p.%I', k.name, k.name), ', ' ORDER BY k.i) FROM unnest(p.keys) WITH ORDINALITY k(name, i)));
	held integer;
	past text;
	lost text;
	n_lost integer;
	done timestamptz;
BEGIN
	IF hold_claim.claim IS NULL THEN
		RAISE EXCEPTION 'claim must be given' USING ERRCODE = 'null_value_not_allowed', HINT = 'It is in the column claim of what claim_groups returned.';
	END IF;
	EXECUTE format('SELECT count(*), string_agg(%2$s, ''; '') FILTER (WHERE p.claimed_until <= clock_timestamp())
		FROM (SELECT * FROM %1$s p WHERE p.claim = $1 AND p.claimed_until IS NOT NULL ORDER BY %3$s FOR NO KEY UPDATE) p', p.pool_name, named, stepadv_internal.list(p.keys, 'p.%1$I'::text, ', '::text))
	INTO held, past USING hold_claim.claim;
	EXECUTE format('SELECT count(*), string_agg(%2$s || '' ('' || p.claimed_by || '')'', ''; '' ORDER BY %2$s) FROM %1$s p WHERE $1 = ANY (p.ended_claims)', p.pool_name, named) INTO n_lost, lost USING hold_claim.claim;
	IF n_lost > 0 AND NOT hold_claim.skip_lost THEN
		RAISE EXCEPTION 'the lease of claim % has ended, and others have taken % of its groups: %', hold_claim.claim, n_lost, lost
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = format('skip_lost => true %s only what nobody else has taken. Take a longer lease, or renew it by renew_claim.', hold_claim.ending);
	ELSIF held = 0 AND n_lost = 0 THEN
		EXECUTE format('SELECT max(p.consumed_at) FROM %s p WHERE p.claim = $1', p.pool_name) INTO done USING hold_claim.claim;
		RAISE EXCEPTION 'no group of % is held by claim %', p.name, hold_claim.claim
			USING ERRCODE = 'no_data_found', HINT = CASE WHEN done IS NOT NULL THEN format('Its groups were consumed at %s.', done)
				ELSE 'A claim is known once the transaction of claim_groups has committed, and until its groups are consumed or released.' END;
	ELSIF past IS NOT NULL THEN
		RAISE WARNING 'the lease of claim % has ended', hold_claim.claim USING DETAIL = format('Nobody else has taken these groups yet: %s.', past), HINT = 'Take a longer lease, or renew it by renew_claim.';
	END IF;
	RETURN held;
END
$$;
COMMENT ON FUNCTION stepadv_internal.hold_claim(stepadv_internal.known_pool, uuid, boolean, text) IS 'part of pools: locks what a claim holds, and counts it; error where nothing, or not all of it, is held';

CREATE FUNCTION stepadv.renew_claim(pool regclass, claim uuid, lease interval DEFAULT '10 minutes', skip_lost boolean DEFAULT false) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p CONSTANT stepadv_internal.known_pool := stepadv_internal.pool_of(renew_claim.pool);
	held integer;
BEGIN
	PERFORM stepadv_internal.check_lease(renew_claim.lease);
	held := stepadv_internal.hold_claim(p, renew_claim.claim, coalesce(renew_claim.skip_lost, false), 'renews'::text);
	EXECUTE format('UPDATE %s p SET claimed_until = clock_timestamp() + $2 WHERE p.claim = $1 AND p.claimed_until IS NOT NULL', p.pool_name) USING renew_claim.claim, renew_claim.lease;
	RETURN held;
END
$$;
COMMENT ON FUNCTION stepadv.renew_claim(regclass, uuid, interval, boolean) IS
'holds the groups of a claim of claim_groups for so long from now on; how many; error where others have taken some of them since its lease ended, with these, unless skip_lost; a warning where it has ended and nobody has';

CREATE FUNCTION stepadv.release_groups(pool regclass, claim uuid) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p CONSTANT stepadv_internal.known_pool := stepadv_internal.pool_of(release_groups.pool);
	held CONSTANT integer := stepadv_internal.hold_claim(p, release_groups.claim, true, 'releases'::text);
BEGIN
	EXECUTE format('UPDATE %s p SET claim = NULL, claimed_by = NULL, claimed_at = NULL, claimed_until = NULL WHERE p.claim = $1 AND p.claimed_until IS NOT NULL', p.pool_name) USING release_groups.claim;
	RETURN held;
END
$$;
COMMENT ON FUNCTION stepadv.release_groups(regclass, uuid) IS 'gives the groups of a claim of claim_groups back unused, those that are still held; how many; error where there are none and never were';

-- ---- Marks of steps

-- The columns of a relation of steps that a pool needs: those of the group, and step_id.
CREATE FUNCTION stepadv_internal.check_steps(steps regclass, keys text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name CONSTANT text := stepadv_internal.relation_name(check_steps.steps);
	key text;
BEGIN
	IF check_steps.steps IS NULL THEN
		RAISE EXCEPTION 'steps must be given' USING ERRCODE = 'null_value_not_allowed', HINT = 'It is a view of create_selection, or a step view of attach.';
	ELSIF name IS NULL THEN
		RAISE EXCEPTION 'relation % does not exist', check_steps.steps::oid USING ERRCODE = 'undefined_table';
	END IF;
	FOREACH key IN ARRAY check_steps.keys || 'step_id'::text LOOP
		IF NOT stepadv_internal.has_column(check_steps.steps, key) THEN
			RAISE EXCEPTION 'column "%" does not exist in %', key, name
				USING ERRCODE = 'undefined_column', HINT = 'Steps are those of a relation with the columns of the group and step_id, such as a view of create_selection or a step view of attach.';
		END IF;
	END LOOP;
	RETURN name;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_steps(regclass, text[]) IS 'part of pools: the name of a relation of steps; error where it lacks a column';

CREATE FUNCTION stepadv.tag_steps(pool regclass, steps regclass, tag text, remove boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p CONSTANT stepadv_internal.known_pool := stepadv_internal.pool_of(tag_steps.pool);
	keys CONSTANT text := stepadv_internal.list(p.keys, '%1$I'::text, ', '::text);
	source CONSTANT text := stepadv_internal.check_steps(tag_steps.steps, p.keys);
	number bigint;
BEGIN
	IF tag_steps.tag IS NULL OR tag_steps.tag = '' THEN
		RAISE EXCEPTION 'tag must be given' USING ERRCODE = 'null_value_not_allowed';
	ELSIF tag_steps.remove THEN
		EXECUTE format('UPDATE %1$s m SET tags = array_remove(m.tags, $1) FROM (SELECT DISTINCT %2$s, s.step_id FROM %3$s s) s WHERE %4$s AND m.step_id = s.step_id AND $1 = ANY (m.tags)',
			p.marks_name, stepadv_internal.list(p.keys, 's.%1$I'::text, ', '::text), source, stepadv_internal.same_columns('m'::text, 's'::text, p.keys, p.pool)) USING tag_steps.tag;
	ELSE
		-- In their order, as whoever else comes to them.
		EXECUTE format('INSERT INTO %1$s AS m (%2$s, step_id, tags) SELECT DISTINCT %2$s, step_id, ARRAY[$1] FROM %3$s WHERE step_id IS NOT NULL ORDER BY %2$s, step_id
			ON CONFLICT (%2$s, step_id) DO UPDATE SET tags = ARRAY(SELECT DISTINCT t.tag FROM unnest(m.tags || $1) t(tag) ORDER BY t.tag) WHERE NOT $1 = ANY (m.tags)', p.marks_name, keys, source)
		USING tag_steps.tag;
	END IF;
	GET DIAGNOSTICS number = ROW_COUNT;
	RETURN number;
END
$$;
COMMENT ON FUNCTION stepadv.tag_steps(regclass, regclass, text, boolean) IS
'tags steps in a pool''s table <prefix>_step_marks: those of a relation with the columns of the group and step_id, such as a view of create_selection; remove: takes the tag away; how many steps changed; needs SELECT, INSERT and UPDATE on that table';

CREATE FUNCTION stepadv_internal.mark_trained(p stepadv_internal.known_pool, claim uuid, policy_step bigint, steps regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text := stepadv_internal.list(p.keys, '%1$I'::text, ', '::text);
BEGIN
	-- The groups as constants: so a condition on them comes to the index below a fold.
	EXECUTE format('INSERT INTO %1$s AS m (%2$s, step_id, n_trained, trained_at, trained_step)
		SELECT DISTINCT %3$s, s.step_id, 1, statement_timestamp(), $2 FROM %4$s s JOIN %5$s p ON %6$s
		WHERE p.claim = $1 AND p.claimed_until IS NOT NULL AND s.step_id IS NOT NULL%7$s ORDER BY %3$s, s.step_id
		ON CONFLICT (%2$s, step_id) DO UPDATE SET n_trained = m.n_trained + 1, trained_at = statement_timestamp(), trained_step = $2',
		p.marks_name, keys, stepadv_internal.list(p.keys, 's.%1$I'::text, ', '::text), stepadv_internal.check_steps(mark_trained.steps, p.keys), p.pool_name,
		stepadv_internal.same_columns('p'::text, 's'::text, p.keys, p.pool),
		(SELECT string_agg(format(' AND s.%1$I %2$s ANY (ARRAY(SELECT h.%1$I FROM %3$s h WHERE h.claim = $1 AND h.claimed_until IS NOT NULL))', k.name,
				stepadv_internal.equality_operator(a.atttypid), p.pool_name), '' ORDER BY k.i)
		FROM unnest(p.keys) WITH ORDINALITY k(name, i) JOIN pg_attribute a ON a.attrelid = p.pool AND a.attname = k.name
		-- ANY would take an array of arrays apart; the join says the same.
		JOIN pg_type t ON t.oid = a.atttypid AND t.typcategory <> 'A'))
	USING mark_trained.claim, mark_trained.policy_step;
END
$$;
COMMENT ON FUNCTION stepadv_internal.mark_trained(stepadv_internal.known_pool, uuid, bigint, regclass) IS 'part of consume_groups: marks the steps of a relation that are of the claim''s groups as trained on';

CREATE FUNCTION stepadv.consume_groups(pool regclass, claim uuid, policy_step bigint DEFAULT NULL, steps regclass DEFAULT NULL, skip_lost boolean DEFAULT false) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p CONSTANT stepadv_internal.known_pool := stepadv_internal.pool_of(consume_groups.pool);
	held CONSTANT integer := stepadv_internal.hold_claim(p, consume_groups.claim, coalesce(consume_groups.skip_lost, false), 'consumes'::text);
BEGIN
	IF consume_groups.steps IS NOT NULL THEN
		PERFORM stepadv_internal.mark_trained(p, consume_groups.claim, consume_groups.policy_step, consume_groups.steps);
	END IF;
	EXECUTE format('UPDATE %s p SET claimed_until = NULL, n_uses = p.n_uses + 1, consumed_at = statement_timestamp(), consumed_step = $2 WHERE p.claim = $1 AND p.claimed_until IS NOT NULL', p.pool_name)
	USING consume_groups.claim, consume_groups.policy_step;
	RETURN held;
END
$$;
COMMENT ON FUNCTION stepadv.consume_groups(regclass, uuid, bigint, regclass, boolean) IS
'marks the groups of a claim of claim_groups as trained on, which ends the claim; how many; policy_step: of the update, for consumed_step; steps: a relation with the columns of the group and step_id, such as a view of create_selection, whose steps in these groups were trained on, for <prefix>_step_marks; error where others have taken some of the groups since the lease ended, with these, and nothing is marked, unless skip_lost; a warning where it has ended and nobody has';

-- Tables that Citus distributes.  Its planner joins no table of this session with the
-- workers'.  So what they know of the rollouts at hand is fetched first, and what is to be
-- written waits in a table here until one INSERT moves it, which Citus makes a COPY to each
-- shard.

CREATE FUNCTION stepadv_internal.load_is_distributed(schema text) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT stepadv_internal.distributed_by(format('%I.steps', load_is_distributed.schema)::regclass) IS NOT NULL $$;
COMMENT ON FUNCTION stepadv_internal.load_is_distributed(text) IS 'part of load_rollouts: whether Citus distributes the schema''s tables';

CREATE FUNCTION stepadv_internal.load_known_name(schema text, relation text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN stepadv_internal.load_is_distributed(load_known_name.schema) THEN format('pg_temp.%I', 'stepadv_known_' || load_known_name.relation)
		ELSE format('%I.%I', load_known_name.schema, load_known_name.relation) END
$$;
COMMENT ON FUNCTION stepadv_internal.load_known_name(text, text) IS
'part of load_rollouts: where to look for what the schema''s tables have, of ''rollouts'' or ''steps'': in the table, or in what load_fetch_known fetched of it';

-- A query over the table and those of its rollouts that a temporary table names, each
-- time that it does, in a form that Citus takes.
CREATE FUNCTION stepadv_internal.load_known_query(schema text, relation text, named_by text, columns text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('WITH named AS MATERIALIZED (SELECT %1$s, p.rollout_id FROM %2$s p) SELECT %3$s FROM named p JOIN %4$I.%5$I t ON %6$s AND t.rollout_id = p.rollout_id',
		stepadv_internal.load_key_list(load_known_query.schema, 'p.k%2$s'::text, ', '::text), load_known_query.named_by, load_known_query.columns, load_known_query.schema, load_known_query.relation,
		stepadv_internal.load_key_list(load_known_query.schema, 't.%1$s = p.k%2$s'::text, ' AND '::text))
$$;
COMMENT ON FUNCTION stepadv_internal.load_known_query(text, text, text, text) IS
'part of load_rollouts: a query for these columns of the rows t of the schema''s table whose rollouts a temporary table names';

CREATE FUNCTION stepadv_internal.load_fetch_known(schema text, whole boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE 'CREATE TEMP TABLE stepadv_known_rollouts ON COMMIT DROP AS ' || stepadv_internal.load_known_query(load_fetch_known.schema, 'rollouts'::text,
		format('(SELECT DISTINCT %s, n.rollout_id FROM %s n)', stepadv_internal.load_key_list(load_fetch_known.schema, 'n.k%2$s'::text, ', '::text),
			CASE WHEN load_fetch_known.whole THEN 'pg_temp.stepadv_items' ELSE 'pg_temp.stepadv_parsed' END),
		stepadv_internal.load_key_list(load_fetch_known.schema, 't.%1$s, t.%1$s AS k%2$s'::text, ', '::text) || ', t.rollout_id, t.outcome, t.success');
	EXECUTE 'CREATE TEMP TABLE stepadv_known_steps ON COMMIT DROP AS ' || stepadv_internal.load_known_query(load_fetch_known.schema, 'steps'::text, 'pg_temp.stepadv_known_rollouts'::text,
		stepadv_internal.load_key_list(load_fetch_known.schema, 't.%1$s'::text, ', '::text) || ', t.rollout_id, t.step_no, t.turn, t.observation, t.action, t.tool, t.args, t.ok, t.reward');
	EXECUTE format('CREATE INDEX ON pg_temp.stepadv_known_steps (%s, rollout_id, step_no)', stepadv_internal.load_key_list(load_fetch_known.schema, '%1$s'::text, ', '::text));
	ANALYZE pg_temp.stepadv_known_rollouts, pg_temp.stepadv_known_steps;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_fetch_known(text, boolean) IS
'part of load_rollouts: makes pg_temp.stepadv_known_rollouts and stepadv_known_steps of what the schema''s distributed tables have of the rollouts of pg_temp.stepadv_parsed, or with whole of pg_temp.stepadv_items';

CREATE FUNCTION stepadv_internal.load_make_waiting(schema text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF to_regclass('pg_temp.stepadv_waiting') IS NOT NULL THEN
		DROP TABLE pg_temp.stepadv_waiting;
	END IF;
	EXECUTE format('CREATE TEMP TABLE stepadv_waiting (%s) ON COMMIT DROP',
		(SELECT string_agg(format('%I %s', c.name, format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY c.i)
		FROM stepadv_internal.load_steps_query(load_make_waiting.schema, false) q CROSS JOIN LATERAL unnest(q.columns) WITH ORDINALITY c(name, i)
		JOIN pg_attribute a ON a.attrelid = format('%I.steps', load_make_waiting.schema)::regclass AND a.attname = c.name AND NOT a.attisdropped));
	-- Read once: not worth compressing.
	ALTER TABLE pg_temp.stepadv_waiting ALTER observation SET STORAGE EXTERNAL, ALTER next_observation SET STORAGE EXTERNAL, ALTER action SET STORAGE EXTERNAL,
		ALTER args SET STORAGE EXTERNAL, ALTER metadata SET STORAGE EXTERNAL;
	RETURN 'pg_temp.stepadv_waiting'::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_make_waiting(text) IS 'part of load_rollouts: makes pg_temp.stepadv_waiting, for steps that load_move_steps is to move to the schema''s distributed table';

CREATE FUNCTION stepadv_internal.load_move_steps(schema text, OUT n_moved bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE (SELECT format('INSERT INTO %1$I.steps (%2$s) SELECT %2$s FROM pg_temp.stepadv_waiting', load_move_steps.schema, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum))
		FROM pg_attribute a WHERE a.attrelid = 'pg_temp.stepadv_waiting'::regclass AND a.attnum > 0 AND NOT a.attisdropped);
	GET DIAGNOSTICS n_moved = ROW_COUNT;
	DROP TABLE pg_temp.stepadv_waiting;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_move_steps(text) IS 'part of load_rollouts: moves pg_temp.stepadv_waiting to the schema''s table, and counts';

-- Code that is specific to tables of Citus and TimescaleDB.  Citus pushes a query down to the shards if each
-- group is in one shard.  Foreign tables need no special code.
--
-- Citus rejects some forms of queries, which all views avoid, over any tables: an outer join with a set-returning
-- function (but not with a subquery of it), a lateral one beside it, a join of two such functions, a function below
-- UNION ALL, a join with a union, a subquery without FROM, a non-immutable argument of a function below a subquery.
-- A table that is not distributed must be in a subquery if it is joined with shards.  Where a form would be slower
-- for plain tables, the builders of views call a function of this file.

-- A catalog of another extension is trusted only if it is a member of that extension: anybody may create a table
-- of that name.
CREATE FUNCTION stepadv_internal.catalog_of(extension text) RETURNS regclass
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	member_of CONSTANT oid := (SELECT e.oid FROM pg_extension e WHERE e.extname = catalog_of.extension);
BEGIN
	-- Called for every view: the query below is planned once per session, and not without the extension.
	IF member_of IS NULL THEN
		RETURN NULL;
	END IF;
	RETURN (
		SELECT c.oid::regclass
		FROM (VALUES ('citus', 'pg_catalog', 'pg_dist_partition'),
			('timescaledb', '_timescaledb_catalog', 'hypertable')) k(extension, schema, name)
		JOIN pg_namespace n ON n.nspname = k.schema JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = k.name
		JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
			AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = member_of AND d.deptype = 'e'
		WHERE k.extension = catalog_of.extension);
END
$$;
COMMENT ON FUNCTION stepadv_internal.catalog_of(text) IS
'the catalog in which citus or timescaledb keeps its tables; NULL if the extension is not in this database';

CREATE FUNCTION stepadv_internal.engine_table(relation regclass, OUT kind text, OUT distributed_by text,
	OUT colocation integer, OUT is_here boolean)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	of_citus CONSTANT regclass := stepadv_internal.catalog_of('citus'::text);
	of_timescaledb CONSTANT regclass := stepadv_internal.catalog_of('timescaledb'::text);
BEGIN
	IF of_citus IS NOT NULL THEN
		EXECUTE format($q$
			SELECT CASE WHEN d.repmodel OPERATOR(pg_catalog.=) 't' THEN 'reference table'
				WHEN d.partkey IS NULL AND d.colocationid OPERATOR(pg_catalog.=) 0 THEN 'table that Citus manages'
				ELSE 'distributed table' END,
				pg_catalog.column_to_column_name(d.logicalrelid, d.partkey), d.colocationid
			FROM %s d WHERE d.logicalrelid OPERATOR(pg_catalog.=) $1 $q$, of_citus)
		INTO kind, distributed_by, colocation USING engine_table.relation;
	END IF;
	IF kind IS NULL AND of_timescaledb IS NOT NULL THEN
		EXECUTE format($q$
			SELECT 'hypertable' FROM %s h JOIN pg_class c ON c.relname OPERATOR(pg_catalog.=) h.table_name
			JOIN pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
				AND n.nspname OPERATOR(pg_catalog.=) h.schema_name
			WHERE c.oid OPERATOR(pg_catalog.=) $1 $q$, of_timescaledb)
		INTO kind USING engine_table.relation;
	END IF;
	is_here := kind IS NULL OR kind = 'hypertable';
END
$$;
COMMENT ON FUNCTION stepadv_internal.engine_table(regclass) IS
'the kind of a table of Citus or TimescaleDB (NULL: plain), its distribution column (NULL: none) and its colocation '
'group; is_here: all its rows are on this node alone';

CREATE FUNCTION stepadv_internal.distributed_tables(relations regclass[])
	RETURNS TABLE (relation regclass, distributed_by text, colocation integer)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF stepadv_internal.catalog_of('citus'::text) IS NOT NULL THEN
		RETURN QUERY
		SELECT t.relation, e.distributed_by, e.colocation
		FROM (SELECT unnest(relations) AS relation
			UNION SELECT r.relation FROM stepadv_internal.tables_read(relations, 0, false) r) t
		CROSS JOIN LATERAL stepadv_internal.engine_table(t.relation) e
		WHERE e.distributed_by IS NOT NULL ORDER BY t.relation::text;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.distributed_tables(regclass[]) IS
'the tables that Citus distributes among relations and below them, at any depth, and by which column';

-- A group is in one shard if the distribution columns of all tables are among the group's, and
-- the tables are colocated.  Otherwise every query would move rows between nodes, and most views
-- would fail when queried, with unrelated messages.
CREATE FUNCTION stepadv_internal.check_distribution(adapters regclass[], n_keys integer) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known record;
	first record;
BEGIN
	FOR known IN
		SELECT d.*, coalesce(bool_and(t.keys @> ARRAY[c.attnum]), false) AS in_group
		FROM stepadv_internal.distributed_tables(adapters) d
		JOIN pg_attribute c ON c.attrelid = d.relation AND c.attname = d.distributed_by
		LEFT JOIN unnest(adapters) v(view)
			CROSS JOIN LATERAL stepadv_internal.tables_read(ARRAY[v.view], n_keys, false) t ON t.relation = d.relation
		GROUP BY d.relation, d.distributed_by, d.colocation ORDER BY d.relation::text
	LOOP
		IF NOT known.in_group THEN
			RAISE EXCEPTION 'table % is distributed by column "%", which is not a column of the group',
				stepadv_internal.relation_name(known.relation), known.distributed_by
				USING ERRCODE = 'feature_not_supported', DETAIL = 'Rows of a group would be in several shards.',
					HINT = format('Name "%s" in group_by, or distribute the table by a column of the group. '
						'Without views, rollout_agg fetches the rows of such groups.', known.distributed_by);
		ELSIF first IS NULL THEN
			first := known;
		ELSIF known.colocation <> first.colocation THEN
			RAISE EXCEPTION 'tables % and % are not colocated', stepadv_internal.relation_name(first.relation),
				stepadv_internal.relation_name(known.relation)
				USING ERRCODE = 'feature_not_supported', DETAIL = 'Rows of a group would be in different places.',
					HINT = 'Distribute one with colocate_with => the other.';
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_distribution(regclass[], integer) IS
'part of attach: error where a table below the adapters is distributed by Citus by a column that the group does not '
'have, or two of them are not colocated';

-- The groups of a history share a task and must be in one shard.  keys: the columns that they share, as numbers in
-- the adapter of rows.
CREATE FUNCTION stepadv_internal.check_history_shards(rows regclass, keys integer[], method text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	shard record;
BEGIN
	SELECT * INTO shard FROM stepadv_internal.distributed_tables(ARRAY[check_history_shards.rows]) d LIMIT 1;
	IF FOUND AND NOT EXISTS (SELECT FROM stepadv_internal.view_columns(check_history_shards.rows) c
		WHERE c.number = ANY (keys) AND c.plain
			AND c.column_name = (stepadv_internal.engine_table(c.relation)).distributed_by)
	THEN
		RAISE EXCEPTION 'the groups of the history of method "%" are in several shards', method
			USING ERRCODE = 'feature_not_supported',
			DETAIL = format('Table %s is distributed by column "%s", in which groups of one task may differ.',
				stepadv_internal.relation_name(shard.relation), shard.distributed_by),
			HINT = 'Distribute the table by the column given as task_id (or run_id), and name that in group_by, too.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_history_shards(regclass, integer[], text) IS
'part of attach: error if Citus may have the groups of a history in several shards';

-- Workers cannot read the coordinator's table of models, so the view contains the model itself.
CREATE FUNCTION stepadv_internal.model_expression(relations regclass[], name text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN EXISTS (SELECT FROM stepadv_internal.distributed_tables(relations))
		THEN (SELECT format('%L::stepadv.progress_model', m.model) FROM stepadv.progress_models m
			WHERE m.name = model_expression.name)
		ELSE format('(SELECT m.model FROM stepadv.progress_models m WHERE m.name OPERATOR(pg_catalog.=) %L::text)',
			model_expression.name) END
$$;
COMMENT ON FUNCTION stepadv_internal.model_expression(regclass[], text) IS
'part of attach: the expression for a model of progress_models in a view over relations; where Citus distributes one, '
'the current model';

-- With citus.enable_unsafe_triggers, a distributed table has its triggers on each shard, but no view reads a shard.
-- So triggers that find the attachment, on its own node, raise an error rather than miss changes.  So does the
-- trigger of the distributed table itself, which fires only for TRUNCATE.
CREATE FUNCTION stepadv_internal.refuse_shard(relation regclass) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_shard boolean;
BEGIN
	IF stepadv_internal.catalog_of('citus'::text) IS NOT NULL THEN
		EXECUTE 'SELECT pg_catalog.relation_is_a_known_shard($1)' INTO is_shard USING refuse_shard.relation;
		IF is_shard OR NOT (stepadv_internal.engine_table(refuse_shard.relation)).is_here THEN
			RAISE EXCEPTION 'groups of a distributed table cannot be kept by triggers'
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = format('Table %s is one, or a shard.', refuse_shard.relation),
					HINT = 'Call unmaintain: views over a distributed table fold on the nodes that have its rows.';
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_shard(regclass) IS
'part of keep_groups: error for a table that Citus distributes, and for a shard of one';

-- Claiming a group of a pool locks its row, which is not possible across shards.
CREATE FUNCTION stepadv_internal.refuse_distributed(a stepadv_internal.attached, what text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF EXISTS (SELECT FROM stepadv_internal.distributed_tables(ARRAY[(a).rows])) THEN
		RAISE EXCEPTION 'cannot make % of %: it is a distributed table', what,
			stepadv_internal.relation_name((a).source) USING ERRCODE = 'feature_not_supported',
				HINT = 'Copy the rows for the trainers to a table of this node, and attach that.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_distributed(stepadv_internal.attached, text) IS
'part of create_pool: error over tables that Citus distributes';

-- On shards, a subquery first determines the largest hash of the sample, and a condition selects groups up to it:
-- LIMIT would bring whole groups to the coordinator.
CREATE FUNCTION stepadv_internal.sample_groups(a stepadv_internal.attached, fold text, hash text, max_groups integer,
	OUT groups text, OUT condition text, OUT is_whole boolean)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	is_whole := NOT EXISTS (SELECT FROM stepadv_internal.distributed_tables(ARRAY[(a).rows]));
	IF is_whole THEN
		groups := format('(SELECT g.* FROM %s ORDER BY %s LIMIT %s) g', fold, hash, max_groups);
		RETURN;
	END IF;
	groups := fold;
	condition := format('%1$s <= (SELECT max(d.hash) FROM (SELECT %1$s AS hash FROM %2$s ORDER BY 1 LIMIT %3$s) d)',
		hash, fold, max_groups);
END
$$;
COMMENT ON FUNCTION stepadv_internal.sample_groups(stepadv_internal.attached, text, text, integer) IS
'part of _credit_check: the relation g of max_groups groups, chosen by a hash, or of all with a condition that selects '
'these; is_whole: their values may be compared with each other';

-- ---- create_tables(distribute => true)

CREATE FUNCTION stepadv_internal.check_shards(distribute boolean, shards integer) RETURNS integer
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF distribute IS NOT TRUE THEN
		IF shards IS NOT NULL THEN
			RAISE EXCEPTION 'shards is given without distribute'
				USING ERRCODE = 'invalid_parameter_value', HINT = 'On one node tables may have partitions.';
		END IF;
		RETURN NULL;
	ELSIF stepadv_internal.catalog_of('citus'::text) IS NULL THEN
		RAISE EXCEPTION 'tables cannot be distributed: the extension citus is not in this database'
			USING ERRCODE = 'feature_not_supported',
			HINT = 'Create the extension citus here and on the workers, or leave out distribute.';
	ELSIF shards NOT BETWEEN 1 AND 64000 THEN
		RAISE EXCEPTION 'shards must be between 1 and 64000, not %', shards
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN coalesce(shards, current_setting('citus.shard_count')::integer);
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_shards(boolean, integer) IS
'part of create_tables: the number of shards into which tables are distributed; NULL: not distributed; error if '
'they cannot be distributed';

-- Distributes by task, the column with most values, so that rollouts of a task by all policies are in one shard.
CREATE FUNCTION stepadv_internal.distribute_tables(schema text, keys text[], shards integer) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	key CONSTANT text := CASE WHEN 'task_id' = ANY (keys) THEN 'task_id' ELSE keys[cardinality(keys)] END;
	rollouts CONSTANT text := format('%I.rollouts', distribute_tables.schema);
	unsafe CONSTANT text := current_setting('citus.enable_unsafe_triggers');
BEGIN
	-- The triggers of these tables read only their row, so they are safe on shards.
	PERFORM set_config('citus.enable_unsafe_triggers', 'on', true);
	EXECUTE 'SELECT pg_catalog.create_distributed_table($1::regclass, $2, colocate_with => ''none''::text,
		shard_count => $3)' USING rollouts, key, shards;
	EXECUTE 'SELECT pg_catalog.create_distributed_table($1::regclass, $2, colocate_with => $3)'
		USING format('%I.steps', distribute_tables.schema), key, rollouts;
	PERFORM set_config('citus.enable_unsafe_triggers', unsafe, true);
END
$$;
COMMENT ON FUNCTION stepadv_internal.distribute_tables(text, text[], integer) IS
'part of create_tables: has Citus distribute both tables, colocated, by a column of the group';

-- The view rollout_rows, for format(): the schema, the rewards of a step and of a rollout, WITH options, the group's
-- columns of s and of r, and the condition that both are equal.  Above a union, Citus allows only one outer join, so
-- on shards a rollout is joined with its steps and with a row for itself.
CREATE FUNCTION stepadv_internal.rollout_rows_template(in_shards boolean) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $template$
	SELECT CASE WHEN in_shards THEN $$
		CREATE VIEW %1$I.rollout_rows %4$s AS
		SELECT %6$s, r.rollout_id, s.step_no, s.step_id, s.state, s.action_hash, s.next_state,
			CASE WHEN k.of_rollout THEN %3$s ELSE %2$s END AS reward, CASE WHEN k.of_rollout
				THEN r.success END AS success, s.turn_reward, s.value, s.cost, s.tool, s.args, s.ok, s.turn,
			CASE WHEN k.of_rollout THEN r.truncated END AS truncated, CASE WHEN k.of_rollout
				THEN r.policy_step END AS policy_step, s.coarse_state, s.logp
		FROM %1$I.rollouts r CROSS JOIN (VALUES (true), (false)) k(of_rollout)
		LEFT JOIN %1$I.steps s ON %7$s AND s.rollout_id = r.rollout_id AND NOT k.of_rollout
		WHERE k.of_rollout OR s.step_no IS NOT NULL
		$$ ELSE $$
		CREATE VIEW %1$I.rollout_rows %4$s AS
		SELECT %5$s, s.rollout_id, s.step_no, s.step_id, s.state, s.action_hash, s.next_state,
			%2$s AS reward, NULL::boolean AS success, s.turn_reward, s.value, s.cost, s.tool, s.args, s.ok, s.turn,
				NULL::boolean AS truncated, NULL::bigint AS policy_step, s.coarse_state, s.logp
		FROM %1$I.steps s
		UNION ALL
		SELECT %6$s, r.rollout_id, NULL::integer, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint,
			%3$s, r.success, NULL::float8, NULL::float8, NULL::float8, NULL::text, NULL::jsonb, NULL::boolean,
				NULL::integer, r.truncated, r.policy_step, NULL::bigint, NULL::float8
		FROM %1$I.rollouts r
		$$ END
$template$;
COMMENT ON FUNCTION stepadv_internal.rollout_rows_template(boolean) IS
'part of create_tables: the statement that makes the view rollout_rows, for tables of one node or in shards of Citus';

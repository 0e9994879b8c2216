-- Steps of old policy versions as columnar tables: partitions of what
-- create_tables(distribute => true, columnar => true) made.  New steps go to the
-- default partition, an ordinary table; those of a version leave it as a whole.

CREATE FUNCTION stepadv_internal.default_partition(relation regclass) RETURNS regclass
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT p.partdefid::regclass FROM pg_partitioned_table p JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
	WHERE p.partrelid = relation AND p.partstrat = 'l' AND p.partnatts = 1 AND a.attname = 'policy_version' AND p.partdefid <> 0
$$;
COMMENT ON FUNCTION stepadv_internal.default_partition(regclass) IS 'the default partition of a table partitioned by a list of policy versions; NULL: it is not one';

-- The partition of a version, by its bound.
CREATE FUNCTION stepadv_internal.version_partition(relation regclass, version text) RETURNS regclass
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT i.inhrelid::regclass FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
	WHERE i.inhparent = relation AND pg_get_expr(c.relpartbound, c.oid) = format('FOR VALUES IN (%L)', version)
$$;
COMMENT ON FUNCTION stepadv_internal.version_partition(regclass, text) IS 'the partition that holds one policy version alone; NULL: there is none';

-- Whose the tables are, and whether it can be.
CREATE FUNCTION stepadv_internal.check_versions(schema text, versions text[]) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM stepadv_internal.check_own_tables(check_versions.schema);
	IF check_versions.versions IS NULL OR array_position(check_versions.versions, NULL) IS NOT NULL THEN
		RAISE EXCEPTION 'versions must be a list of policy versions' USING ERRCODE = 'null_value_not_allowed';
	ELSIF stepadv_internal.default_partition(format('%I.steps', check_versions.schema)::regclass) IS NULL THEN
		RAISE EXCEPTION 'steps of schema "%" are not partitioned by policy_version', check_versions.schema USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = format('Tables made by create_tables(%L, distribute => true, columnar => true) are.', check_versions.schema);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_versions(text, text[]) IS 'part of compress_versions: error for tables that are not the caller''s, or not partitioned by version';

-- A table for the steps of a version beside the others; all columns in the order of steps.
CREATE FUNCTION stepadv_internal.make_columnar(schema text, version text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	steps CONSTANT regclass := format('%I.steps', make_columnar.schema)::regclass;
	number integer := 1;
	name text;
BEGIN
	-- By number: a version may be called anything.
	WHILE to_regclass(format('%I.steps_columnar_%s', make_columnar.schema, number)) IS NOT NULL LOOP
		number := number + 1;
	END LOOP;
	name := format('%I.steps_columnar_%s', make_columnar.schema, number);
	EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING CONSTRAINTS) USING columnar', name, stepadv_internal.relation_name(steps));
	EXECUTE format('COMMENT ON TABLE %s IS %L', name, 'steps of policy version ' || make_columnar.version);
	EXECUTE 'SELECT pg_catalog.create_distributed_table($1::regclass, $2, colocate_with => $3)' USING name, stepadv_internal.distributed_by(steps), stepadv_internal.relation_name(steps);
	RETURN name::regclass;
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_columnar(text, text) IS 'part of compress_versions: makes a columnar table for the steps of a version, distributed as the others';

CREATE FUNCTION stepadv_internal.column_list(relation regclass, alias text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(alias || quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
$$;
COMMENT ON FUNCTION stepadv_internal.column_list(regclass, text) IS 'the columns of a table that an INSERT can give, each behind an alias with its dot';

CREATE FUNCTION stepadv.compress_versions(schema text, versions text[]) RETURNS TABLE (policy_version text, partition regclass, n_steps bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	steps regclass;
	rest regclass;
	unsafe text;
BEGIN
	PERFORM stepadv_internal.check_versions(compress_versions.schema, compress_versions.versions);
	IF NOT EXISTS (SELECT FROM pg_am a WHERE a.amname = 'columnar') THEN
		RAISE EXCEPTION 'steps cannot be compressed: there are no columnar tables in this database' USING ERRCODE = 'feature_not_supported', HINT = 'Create the extension citus_columnar.';
	END IF;
	steps := format('%I.steps', compress_versions.schema)::regclass;
	rest := stepadv_internal.default_partition(steps);
	unsafe := current_setting('citus.enable_unsafe_triggers');
	-- Who writes waits; who reads goes on until the partition is attached.
	EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', stepadv_internal.relation_name(rest));
	-- The trigger that a partition gets looks at nothing but its row.
	PERFORM set_config('citus.enable_unsafe_triggers', 'on', true);
	FOR policy_version IN SELECT DISTINCT v FROM unnest(compress_versions.versions) v ORDER BY v LOOP
		CONTINUE WHEN stepadv_internal.version_partition(steps, compress_versions.policy_version) IS NOT NULL;
		partition := stepadv_internal.make_columnar(compress_versions.schema, compress_versions.policy_version);
		-- In the order of groups and rollouts: a group is in few chunks.
		EXECUTE format('INSERT INTO %1$s (%2$s) SELECT %2$s FROM %3$s s WHERE s.policy_version OPERATOR(pg_catalog.=) $1 ORDER BY s.%4$I, s.rollout_id, s.step_no',
			stepadv_internal.relation_name(partition), stepadv_internal.column_list(partition, ''::text), stepadv_internal.relation_name(rest), stepadv_internal.distributed_by(steps))
			USING compress_versions.policy_version;
		GET DIAGNOSTICS n_steps = ROW_COUNT;
		EXECUTE format('DELETE FROM %s s WHERE s.policy_version OPERATOR(pg_catalog.=) $1', stepadv_internal.relation_name(rest)) USING compress_versions.policy_version;
		EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES IN (%L)', stepadv_internal.relation_name(steps), stepadv_internal.relation_name(partition), compress_versions.policy_version);
		RETURN NEXT;
	END LOOP;
	PERFORM set_config('citus.enable_unsafe_triggers', unsafe, true);
END
$$;
COMMENT ON FUNCTION stepadv.compress_versions(text, text[]) IS
'makes the steps of these policy versions columnar, a partition each, in the tables of the schema that create_tables(distribute => true, columnar => true) made; a row per version that was not so before: the partition, and how many steps it has now; all views give what they gave, INSERT goes on, UPDATE and DELETE of these steps are refused by Citus (see uncompress_versions), and a rollout that is deleted leaves its steps where no view shows them; columnar.compression says how; the place of the rows is free after VACUUM (FULL) of the partition steps_rest; error for other tables, another''s, and where there are no columnar tables';

CREATE FUNCTION stepadv.uncompress_versions(schema text, versions text[]) RETURNS TABLE (policy_version text, n_steps bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	steps regclass;
	partition regclass;
	columns text;
	keys text;
BEGIN
	PERFORM stepadv_internal.check_versions(uncompress_versions.schema, uncompress_versions.versions);
	steps := format('%I.steps', uncompress_versions.schema)::regclass;
	columns := stepadv_internal.column_list(steps, 's.'::text);
	-- Those of the primary key but the number.
	SELECT string_agg(format('r.%1$I OPERATOR(pg_catalog.=) s.%1$I', a.attname), ' AND ' ORDER BY a.attnum) INTO keys
	FROM pg_index x JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = ANY (x.indkey::smallint[]) WHERE x.indrelid = format('%I.rollouts', uncompress_versions.schema)::regclass AND x.indisprimary;
	FOR policy_version IN SELECT DISTINCT v FROM unnest(uncompress_versions.versions) v ORDER BY v LOOP
		partition := stepadv_internal.version_partition(steps, uncompress_versions.policy_version);
		CONTINUE WHEN partition IS NULL;
		EXECUTE format('ALTER TABLE %s DETACH PARTITION %s', stepadv_internal.relation_name(steps), stepadv_internal.relation_name(partition));
		-- What a rollout that was deleted left goes with it now.
		EXECUTE format('INSERT INTO %s (%s) SELECT %s FROM %s s JOIN %I.rollouts r ON %s', stepadv_internal.relation_name(stepadv_internal.default_partition(steps)), stepadv_internal.column_list(steps, ''::text), columns,
			stepadv_internal.relation_name(partition), uncompress_versions.schema, keys);
		GET DIAGNOSTICS n_steps = ROW_COUNT;
		EXECUTE format('DROP TABLE %s', stepadv_internal.relation_name(partition));
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv.uncompress_versions(text, text[]) IS
'takes back what compress_versions did: the steps of these policy versions are rows of the ordinary partition again, which can be changed and deleted; a row per version that was columnar: how many steps it has; steps whose rollout was deleted meanwhile are gone; errors as of compress_versions';

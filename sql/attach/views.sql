-- Parts of the views over the adapters.  These functions read only the attachment
-- and the catalog, so that views can be recreated at any time: by maintain, by
-- unmaintain, after an update of the extension.
--
-- Aliases: x row of an adapter, g group, a row of an estimator, b columns shown
-- beside a step, r columns shown beside a rollout, o the source's columns of a rollout.

-- The names of the group's columns in an adapter or a kept table.
CREATE FUNCTION stepadv_internal.group_columns(relation regclass, number integer) RETURNS text[]
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_group_columns';
COMMENT ON FUNCTION stepadv_internal.group_columns(regclass, integer) IS
'the first columns of a relation of an attachment: those of the group';

CREATE FUNCTION stepadv_internal.list(names text[], template text, separator text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT string_agg(format(list.template, u.name, u.i), list.separator ORDER BY u.i)
		FROM unnest(list.names) WITH ORDINALITY u(name, i));
END
$$;
COMMENT ON FUNCTION stepadv_internal.list(text[], text, text) IS
'names as SQL: each replaces %1$I of the template, its number %2$s';

CREATE FUNCTION stepadv_internal.same_group(one text, one_view regclass, other text, other_view regclass,
	number integer) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT string_agg(format('%s.%I %s %s.%I', one, o.attname, stepadv_internal.equality_operator(o.atttypid),
			other, t.attname), ' AND ' ORDER BY o.attnum)
		FROM pg_attribute o JOIN pg_attribute t ON t.attrelid = other_view AND t.attnum = o.attnum
		WHERE o.attrelid = one_view AND o.attnum BETWEEN 1 AND number);
END
$$;
COMMENT ON FUNCTION stepadv_internal.same_group(text, regclass, text, regclass, integer) IS
'the condition that rows of two relations of an attachment are of one group, by the equality of the columns'' types';

-- Compares the user's own ids where their types allow it, so that an index can be
-- used and proves uniqueness, and the bigint identities otherwise.
CREATE FUNCTION stepadv_internal.same_rollout(one text, one_view regclass, other text, other_view regclass) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT CASE WHEN t.type = u.type
		AND stepadv_internal.base_type(t.type) IN ('text'::regtype, 'varchar'::regtype, 'uuid'::regtype)
		THEN format('%s.%I %s %s.%I', one, n.raw, stepadv_internal.equality_operator(t.type), other, m.raw)
		ELSE format('%s.%I OPERATOR(pg_catalog.=) %s.%I', one, n.key, other, m.key) END
	FROM (VALUES (one_view, other_view)) v(n, m)
	CROSS JOIN LATERAL (SELECT CASE WHEN stepadv_internal.column_type(v.n, 'stepadv_rollout'::text) IS NOT NULL
		THEN 'stepadv_rollout' ELSE 'rollout_id' END AS key,
		CASE WHEN stepadv_internal.column_type(v.n, 'stepadv_rollout'::text) IS NOT NULL THEN 'stepadv_rollout_id'
			ELSE 'raw_rollout_id' END AS raw) n
	CROSS JOIN LATERAL (SELECT CASE WHEN stepadv_internal.column_type(v.m, 'stepadv_rollout'::text) IS NOT NULL
		THEN 'stepadv_rollout' ELSE 'rollout_id' END AS key,
		CASE WHEN stepadv_internal.column_type(v.m, 'stepadv_rollout'::text) IS NOT NULL THEN 'stepadv_rollout_id'
			ELSE 'raw_rollout_id' END AS raw) m
	CROSS JOIN LATERAL (SELECT stepadv_internal.column_type(v.n, n.raw) AS type) t
	CROSS JOIN LATERAL (SELECT stepadv_internal.column_type(v.m, m.raw) AS type) u);
END
$$;
COMMENT ON FUNCTION stepadv_internal.same_rollout(text, regclass, text, regclass) IS
'part of attach: the condition that rows of two adapters are of one rollout';

CREATE FUNCTION stepadv_internal.free_name(taken text[], name text, prefix text) RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	WHILE name = ANY (taken) LOOP
		name := prefix || name;
	END LOOP;
	RETURN name;
END
$$;
COMMENT ON FUNCTION stepadv_internal.free_name(text[], text, text) IS
'a name that is not taken: the first column of a name keeps it, a later one gets a prefix';

CREATE FUNCTION stepadv_internal.feeds(view regclass, name text, OUT relation regclass, OUT number integer)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT c.relation, c.column_number INTO relation, number FROM stepadv_internal.view_columns(feeds.view) c
	WHERE c.name = feeds.name AND c.plain;
END
$$;
COMMENT ON FUNCTION stepadv_internal.feeds(regclass, text) IS
'the underlying column of a column of an adapter, under another name; NULL if the column is computed';

-- Whether an index can find the rows of one group: its first columns are those of
-- the group, in any order.  Always false on shards.
CREATE FUNCTION stepadv_internal.by_group(view regclass, number integer) RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		WITH key AS (SELECT c.relation, c.column_number FROM stepadv_internal.view_columns(by_group.view) c
			WHERE c.number <= by_group.number AND c.plain)
		SELECT EXISTS (
			SELECT FROM pg_index i
			WHERE i.indrelid = (SELECT min(k.relation::oid) FROM key k)
				AND (stepadv_internal.engine_table(i.indrelid::regclass)).distributed_by IS NULL AND i.indisvalid
				AND i.indpred IS NULL AND i.indnkeyatts >= by_group.number
				AND (SELECT count(DISTINCT k.column_number) FROM key k
					WHERE k.column_number = ANY ((i.indkey::smallint[])[0:by_group.number - 1])) = by_group.number));
END
$$;
COMMENT ON FUNCTION stepadv_internal.by_group(regclass, integer) IS
'whether an index of what an adapter reads begins with the columns of the group; not on shards';

-- If so, joins find the row of a step by its step_id, and otherwise by rollout and
-- step_no, which rollout_agg has checked to be unique.
CREATE FUNCTION stepadv_internal.step_is_key(shown regclass, number integer) RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		WITH key AS (
			SELECT c.relation, c.column_number, c.name = 'stepadv_step' AS is_step
				FROM stepadv_internal.view_columns(step_is_key.shown) c
			WHERE c.plain AND (c.number <= step_is_key.number OR c.name = 'stepadv_step')
		)
		SELECT EXISTS (
			SELECT FROM pg_index i
			WHERE i.indrelid = (SELECT k.relation FROM key k WHERE k.is_step) AND i.indisunique AND i.indimmediate
				AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
				AND (i.indkey::smallint[])[0:i.indnkeyatts - 1] <@ ARRAY(SELECT k.column_number::smallint FROM key k)
				AND EXISTS (SELECT FROM key k WHERE k.is_step
					AND k.column_number = ANY ((i.indkey::smallint[])[0:i.indnkeyatts - 1]))));
END
$$;
COMMENT ON FUNCTION stepadv_internal.step_is_key(regclass, integer) IS
'whether an index guarantees that the key of a step is unique in what an adapter of steps reads';

-- Without this condition, rows that belong to no rollout could form a group without
-- rollouts.  It tests the stored column, since a hash of it costs time.
CREATE FUNCTION stepadv_internal.rollout_filter(a stepadv_internal.attached) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT CASE WHEN stepadv_internal.is_never_null(f.relation, f.number) THEN NULL
			ELSE format('x.%I IS DISTINCT FROM NULL', n.name) END
		FROM (SELECT CASE WHEN stepadv_internal.column_type((a).rows, 'raw_rollout_id'::text) IS NOT NULL
			THEN 'raw_rollout_id' ELSE 'rollout_id' END) n(name)
		LEFT JOIN LATERAL stepadv_internal.feeds((a).rows, n.name) f ON true);
END
$$;
COMMENT ON FUNCTION stepadv_internal.rollout_filter(stepadv_internal.attached) IS
'part of attach: the condition that a row of an adapter is of a rollout; NULL if all rows are';

-- The given roles, and those derived from others.
CREATE FUNCTION stepadv_internal.available_roles(a stepadv_internal.attached) RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT array_agg(c.attname::text) || CASE WHEN (a).states IS NOT NULL THEN ARRAY['state'] ELSE '{}' END
			|| CASE WHEN bool_or(c.attname IN ('rollout_policy_step', 'stepadv_policy_step')) THEN ARRAY['policy_step']
				ELSE '{}' END
		FROM pg_attribute c WHERE c.attrelid = (a).rows AND c.attnum > (a).n_group_columns);
END
$$;
COMMENT ON FUNCTION stepadv_internal.available_roles(stepadv_internal.attached) IS
'part of attach: the roles that functions can read';

-- Queries on kept tables have this condition: src/upkeep/rights.c.
CREATE FUNCTION stepadv_internal.may_read_kept_support(internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stepadv_may_read_kept_support';
COMMENT ON FUNCTION stepadv_internal.may_read_kept_support(internal) IS
'informs the planner that may_read_kept leaves out no row';

CREATE FUNCTION stepadv_internal.may_read_kept(view regclass) RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL SAFE SUPPORT stepadv_internal.may_read_kept_support
AS 'MODULE_PATHNAME', 'stepadv_may_read_kept';
COMMENT ON FUNCTION stepadv_internal.may_read_kept(regclass) IS
'condition of kept tables: true if the current user may read the columns of the tables below the view, row security '
'does not apply to them there, and what is kept is not stale; otherwise an error';

CREATE FUNCTION stepadv_internal.kept_condition(fresh regclass) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN fresh IS NULL THEN 'true' ELSE format('stepadv_internal.may_read_kept(%L::pg_catalog.regclass)',
		stepadv_internal.relation_name(fresh)) END
$$;
COMMENT ON FUNCTION stepadv_internal.kept_condition(regclass) IS
'part of attach: the condition, true or an error, that the user may read kept groups and that they are not stale; '
'NULL: only the owner reads them';

-- The relation g: a row per group, with its columns and the group as a value, folded from the roles in reads.
-- divided_by: names of columns that divide groups further; dividers: their expressions over rows x and the joined
-- relations.  condition: which rows are folded.
CREATE FUNCTION stepadv_internal.fold_rows(a stepadv_internal.attached, reads text[], joins text, condition text,
	divided_by text[], dividers text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys CONSTANT text[] := stepadv_internal.group_columns((a).rows, (a).n_group_columns);
	reads_state CONSTANT boolean := 'state' = ANY (reads);
	history CONSTANT text := stepadv_internal.history(a, '%s'::text);
	by_turn CONSTANT text := CASE (a).unit WHEN 'turn' THEN 'stepadv.by_turn(%s, ''sequence''::text)' WHEN 'turn_set'
		THEN 'stepadv.by_turn(%s, ''set''::text)' END;
	relation CONSTANT regclass := stepadv_internal.rows_for(a, reads);
	-- In the order of rollout_agg's arguments.
	roles text[] := '{step_id,rollout_id,step_no,state,action,reward,success,next_state,value,turn_reward,cost,turn,
		rewards,truncated,policy_step,coarse_state,logp}';
	types CONSTANT text[] := '{bigint,bigint,integer,bigint,bigint,float8,boolean,bigint,float8,float8,float8,
		integer,float8[],boolean,bigint,bigint,float8}';
	-- The column with the policy step of a rollout: one of the rows, or of the group.
	policy_step CONSTANT text := (SELECT c.attname FROM pg_attribute c WHERE c.attrelid = (a).rows
		AND c.attname IN ('rollout_policy_step', 'stepadv_policy_step') AND c.attnum > (a).n_group_columns);
	value text;
BEGIN
	IF by_turn IS NOT NULL THEN
		reads := reads || 'turn'::text;
	END IF;
	-- Use the shorter form of rollout_agg if that suffices.
	IF NOT EXISTS (SELECT FROM unnest(roles[8:17]) r(role) WHERE r.role = ANY (reads)
		AND CASE r.role WHEN 'policy_step' THEN policy_step IS NOT NULL
			ELSE stepadv_internal.column_type(relation, r.role) IS NOT NULL END)
	THEN
		roles := roles[1:7];
	END IF;
	SELECT string_agg(CASE
			WHEN r.role = 'policy_step' AND r.role = ANY (reads) AND policy_step IS NOT NULL
				THEN format('x.%I::bigint', policy_step)
			WHEN stepadv_internal.column_type(relation, r.role) IS NOT NULL AND r.role <> 'policy_step'
				AND (r.i <= 3 OR r.role IN ('reward', 'success') OR r.role = ANY (reads)
				-- States derived from histories need the actions.
				OR r.role = 'action' AND reads_state AND history IS NOT NULL) THEN format('x.%I::%s', r.role,
					types[r.i])
			ELSE 'NULL::' || types[r.i] END, ', ' ORDER BY r.i)
	INTO value FROM unnest(roles) WITH ORDINALITY r(role, i);
	value := format('stepadv_internal.lenient_rollout_agg(%s)', value);
	value := format(coalesce(by_turn, '%s'), value);
	IF reads_state AND history IS NOT NULL THEN
		value := format(history, value);
	END IF;
	RETURN (
		SELECT format('(SELECT %s, %s AS %s FROM %s x%s%s GROUP BY %s) g', concat_ws(', ', k.list, d.items), value,
			stepadv_internal.value_name(a), stepadv_internal.relation_name(relation), joins,
			' WHERE ' || nullif(concat_ws(' AND ', stepadv_internal.rollout_filter(a), condition), ''),
			concat_ws(', ', k.list, d.list))
		FROM stepadv_internal.list(keys, 'x.%1$I'::text, ', '::text) k(list)
		CROSS JOIN (SELECT string_agg(format('%s AS %I', d.expression, d.name), ', ' ORDER BY d.i),
			string_agg(d.expression, ', ' ORDER BY d.i)
			FROM unnest(dividers, divided_by) WITH ORDINALITY d(expression, name, i)) d(items, list));
END
$$;

CREATE FUNCTION stepadv_internal.history(a stepadv_internal.attached, value text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings CONSTANT jsonb := CASE WHEN jsonb_typeof((a).options -> 'states') = 'object' THEN (a).options -> 'states'
		ELSE '{}' END;
	mode CONSTANT text := '{"history": "sequence", "history_set": "set", "root": "root", "history_last": "last",
		"observation_last": "observation_last"}'::jsonb ->> (a).states;
	n CONSTANT jsonb := coalesce(settings -> 'history_length', '2');
BEGIN
	IF mode IS NULL THEN
		RETURN NULL;
	ELSIF settings - 'history_length'::text <> '{}' THEN
		RAISE EXCEPTION 'states has no parameter "%"', (SELECT min(o)
			FROM jsonb_object_keys(settings - 'history_length'::text) o)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Its parameter is history_length, of ''history_last'' and ''observation_last''.';
	ELSIF jsonb_typeof(n) <> 'number' OR (n #>> '{}')::numeric NOT BETWEEN 1 AND 1000 THEN
		RAISE EXCEPTION 'history_length must be a number between 1 and 1000, not %', n
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF (n #>> '{}')::numeric % 1 <> 0 THEN
		RAISE EXCEPTION 'history_length must be an integer, not %', n USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN format('stepadv.history_states(%s, %L::text, %s)', value, mode, (n #>> '{}')::numeric::integer);
END
$$;
COMMENT ON FUNCTION stepadv_internal.history(stepadv_internal.attached, text) IS
'part of attach: a group as a value with states derived from histories; NULL if states have another source';

CREATE FUNCTION stepadv_internal.rows_for(a stepadv_internal.attached, reads text[]) RETURNS regclass
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE WHEN 'state' = ANY (reads) THEN coalesce((a).stated, (a).rows) ELSE (a).rows END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.rows_for(stepadv_internal.attached, text[]) IS
'part of attach: the adapter to fold for functions that read these roles';

CREATE FUNCTION stepadv_internal.value_name(a stepadv_internal.attached) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE WHEN 'rollouts' = ANY (stepadv_internal.group_columns((a).rows, (a).n_group_columns))
		THEN 'rollouts_of_group' ELSE 'rollouts' END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.value_name(stepadv_internal.attached) IS
'part of attach: what the group as a value is called in g';
COMMENT ON FUNCTION stepadv_internal.fold_rows(stepadv_internal.attached, text[], text, text, text[], text[]) IS
'part of attach: the relation g, a row per group and what divides it, with the group as a value, fed with the roles '
'that are read, of the rows that count';

-- Folds all rows, or reads the kept groups, which contain every role that any function reads.
CREATE FUNCTION stepadv_internal.fold(a stepadv_internal.attached, reads text[]) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT CASE WHEN (a).folded IS NULL THEN stepadv_internal.fold_rows(a, reads, NULL::text, NULL::text,
				NULL::text[], NULL::text[])
			ELSE format('(SELECT %s, c.rollouts AS %s FROM %s c WHERE %s) g',
				(SELECT string_agg(format('c.%I AS %I', k.kept, k.name), ', ' ORDER BY k.i)
				FROM unnest(stepadv_internal.group_columns((a).folded, (a).n_group_columns),
					stepadv_internal.group_columns((a).rows, (a).n_group_columns)) WITH ORDINALITY k(kept, name, i)),
				stepadv_internal.value_name(a), stepadv_internal.relation_name((a).folded),
				stepadv_internal.kept_condition((a).fresh)) END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.fold(stepadv_internal.attached, text[]) IS
'part of attach: the relation g, a row per group with its columns and the group as a value, fed with the roles that '
'are read';

-- Joins an adapter's columns to rows that have the group g.  item: an additional item of the joined query.
--
-- The planner removes a join whose columns are not read only if it can prove that the join adds no rows.  If an
-- index finds a group's rows, they are fetched group by group: the planner does not know that a query reads few
-- groups, and would read the whole relation.  Otherwise a unique index proves that there is at most one row, or
-- DISTINCT ON the keys, which are unique anyway.
CREATE FUNCTION stepadv_internal.join_to(a stepadv_internal.attached, alias text, view regclass, keys text[],
	targets text[], item text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n CONSTANT integer := (a).n_group_columns;
	-- The columns to show, and those of the run; views do not read the others by this join.
	items CONSTANT text[] := ARRAY(SELECT t.attname::text FROM pg_attribute t
		WHERE t.attrelid = join_to.view AND t.attnum > n AND NOT t.attisdropped
			AND (t.attname NOT LIKE 'stepadv\_%'
			OR t.attname = ANY (keys
				|| '{stepadv_rollout_id,stepadv_step_id,stepadv_features,stepadv_contribution,
					stepadv_grounded}'::text[])
			OR alias IN ('r', 'o') AND t.attname IN ('stepadv_task_id', 'stepadv_run_id', 'stepadv_policy_version',
				'stepadv_policy_step'))
		ORDER BY t.attnum);
	names CONSTANT text[] := stepadv_internal.group_columns(view, n) || keys || items;
	relation regclass;
	expressions text[];		-- of the names, over s, a row of the relation
BEGIN
	-- Read the relation below the adapter: in a view, the server plans every column, including those not read.
	-- Read the adapter itself if one of the columns is computed, and beside shards: see sql/engines.
	SELECT min(c.relation::oid), array_agg(CASE WHEN c.plain THEN format('s.%I', c.column_name)
		WHEN c.name = 'stepadv_rollout' THEN stepadv_internal.role_column('rollout_id'::text, c.relation,
			c.column_name, 's'::text) END ORDER BY n.i)
	INTO relation, expressions
	FROM unnest(names) WITH ORDINALITY n(name, i)
	LEFT JOIN stepadv_internal.view_columns(join_to.view) c ON c.name = n.name
	HAVING count(DISTINCT c.relation) = 1 AND count(*) = cardinality(names);
	IF relation IS NULL OR array_position(expressions, NULL) IS NOT NULL
		OR EXISTS (SELECT FROM stepadv_internal.distributed_tables(ARRAY[(a).rows]))
	THEN
		relation := view;
		expressions := ARRAY(SELECT format('s.%I', name) FROM unnest(names) name);
	END IF;
	RETURN (
		SELECT CASE WHEN stepadv_internal.by_group(view, n) THEN
			format(' LEFT JOIN LATERAL (SELECT DISTINCT ON (%s) %s FROM %s s WHERE %s) %s ON %s',
				array_to_string(expressions[n + 1:n + cardinality(keys)], ', '),
				(SELECT concat_ws(', ', string_agg(format('%s AS %I', expressions[n + cardinality(keys) + i.i],
					i.name), ', ' ORDER BY i.i), item) FROM unnest(items) WITH ORDINALITY i(name, i)),
				stepadv_internal.relation_name(relation),
				(SELECT string_agg(format('%s %s g.%I', expressions[o.attnum],
					stepadv_internal.equality_operator(o.atttypid), t.attname), ' AND ' ORDER BY o.attnum)
				FROM pg_attribute o JOIN pg_attribute t ON t.attrelid = (a).rows AND t.attnum = o.attnum
				WHERE o.attrelid = view AND o.attnum BETWEEN 1 AND n), alias, c.same_key)
			-- An index of a parent does not cover its inheritance children.
			WHEN keys = '{stepadv_step}' AND stepadv_internal.step_is_key(view, (a).n_group_columns)
				AND NOT EXISTS (SELECT FROM stepadv_internal.view_columns(view) c JOIN pg_class r ON r.oid = c.relation
					WHERE c.name = 'stepadv_step' AND r.relhassubclass)
			THEN format(' LEFT JOIN %s %s ON %s AND %s', stepadv_internal.relation_name(view), alias, c.same_group,
				c.same_key)
			-- The condition twice, written differently. If a query gives the group, the planner compares both sides
			-- with that constant and drops the join condition; since PostgreSQL 16 it can then no longer prove that
			-- there is at most one row, and keeps an unneeded join.
			ELSE format(' LEFT JOIN (SELECT DISTINCT ON (%s) s.* FROM %s s) %s ON %s AND %s AND %s',
				stepadv_internal.list(stepadv_internal.group_columns(view, (a).n_group_columns)
				|| keys, 's.%1$I'::text, ', '::text), stepadv_internal.relation_name(view), alias, c.same_group,
				(SELECT string_agg(format('%1$s.%2$I %3$s CASE WHEN g.%4$I IS NOT DISTINCT FROM NULL THEN NULL '
					'ELSE g.%4$I END', alias, o.attname, stepadv_internal.equality_operator(o.atttypid), t.attname),
					' AND ' ORDER BY o.attnum)
				FROM pg_attribute o JOIN pg_attribute t ON t.attrelid = (a).rows AND t.attnum = o.attnum
				WHERE o.attrelid = view AND o.attnum BETWEEN 1 AND (a).n_group_columns), c.same_key) END
		FROM (SELECT string_agg(format('%s.%I OPERATOR(pg_catalog.=) %s', alias, k.key, k.target), ' AND '
				ORDER BY k.i),
			stepadv_internal.same_group(alias, view, 'g'::text, (a).rows, (a).n_group_columns)
			FROM unnest(keys, targets) WITH ORDINALITY k(key, target, i)) c(same_key, same_group));
END
$$;
COMMENT ON FUNCTION stepadv_internal.join_to(stepadv_internal.attached, text, regclass, text[], text[], text) IS
'part of attach: the join that brings an adapter''s columns to rows of a group g';

-- The user's columns of an adapter to show, except those that the view already
-- shows under the same name.
CREATE FUNCTION stepadv_internal.own_columns(a stepadv_internal.attached, view regclass, but text[]) RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT coalesce(array_agg(c.attname::text ORDER BY c.attnum), '{}')
		FROM pg_attribute c
		CROSS JOIN LATERAL (SELECT CASE c.attname WHEN 'rollout_id' THEN '{stepadv_rollout_id,stepadv_rollout}'
			WHEN 'step_id' THEN '{stepadv_step_id,stepadv_step}'
			WHEN 'step_no' THEN '{stepadv_no}' ELSE ARRAY['stepadv_' || c.attname] END::text[] AS same) n
		WHERE c.attrelid = own_columns.view AND c.attnum > (a).n_group_columns AND NOT c.attisdropped
			AND c.attname NOT LIKE 'stepadv\_%'
			AND NOT (c.attname = ANY (own_columns.but) AND EXISTS (SELECT FROM unnest(n.same) s
				WHERE stepadv_internal.feeds(own_columns.view, s) = stepadv_internal.feeds(own_columns.view,
					c.attname::text))));
END
$$;
COMMENT ON FUNCTION stepadv_internal.own_columns(stepadv_internal.attached, regclass, text[]) IS
'part of attach: the user''s columns of an adapter that a view shows beside the given ones';

-- The user's columns that a view shows, with the alias of their relation (b: steps,
-- r: rollouts) and a name that is not taken.
CREATE FUNCTION stepadv_internal.shown_columns(a stepadv_internal.attached, kind text, taken text[])
RETURNS TABLE (alias text, name text, called text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	results CONSTANT text[] := taken;
	run CONSTANT record := stepadv_internal.feeds((a).shown_rollouts, 'stepadv_policy_version'::text);
BEGIN
	IF kind IN ('step', 'row', 'edge') THEN
		alias := CASE kind WHEN 'row' THEN 'g' ELSE 'b' END;
		FOR name IN SELECT unnest(stepadv_internal.own_columns(a, (a).shown, ARRAY(SELECT r FROM unnest(results) r
			WHERE r IN ('rollout_id', 'step_no', 'step_id')))) LOOP
			called := stepadv_internal.free_name(taken, name, 'base_'::text);
			taken := taken || called;
			RETURN NEXT;
		END LOOP;
	END IF;
	IF kind IN ('step', 'row', 'rollout') AND (a).shown_rollouts IS NOT NULL THEN
		alias := 'r';
		FOR name IN SELECT unnest(stepadv_internal.own_columns(a, (a).shown_rollouts, '{}'::text[])) LOOP
			CONTINUE WHEN name = 'policy_version' AND name = ANY (results)
				AND stepadv_internal.feeds((a).shown_rollouts, name) = run
				OR name <> 'policy_version' AND name = ANY (results) AND EXISTS (
					SELECT FROM stepadv_internal.view_columns((a).shown_rollouts) c,
						stepadv_internal.feeds((a).shown_rollouts, shown_columns.name) f
					WHERE c.name IN ('stepadv_' || shown_columns.name, 'stepadv_dimension_'
						|| array_position((a).dimensions, shown_columns.name)) AND c.relation = f.relation
						AND c.column_number = f.number);
			called := stepadv_internal.free_name(taken, name, CASE kind WHEN 'rollout' THEN 'base_'
				ELSE 'rollout_' END);
			taken := taken || called;
			RETURN NEXT;
		END LOOP;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.shown_columns(stepadv_internal.attached, text, text[]) IS
'part of attach: the user''s columns that a view shows in addition to its own';

-- What attach is made of: the parts of a view's text.

-- Anybody can write anything into the comment on a view of his: what is no such
-- description is none, never an error, and whoever asks decides by the view's
-- owner whether to believe it.
CREATE FUNCTION stepadv_internal.made_by(view oid, maker text) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	comment CONSTANT text := obj_description(made_by.view, 'pg_class');
	made jsonb;
BEGIN
	IF starts_with(comment, format(E'made by stepadv.%s\n{', made_by.maker)) THEN
		made := split_part(comment, E'\n', 2)::jsonb;
	END IF;
	RETURN CASE WHEN jsonb_typeof(made -> 'group_by') = 'array'
		AND jsonb_typeof(CASE made_by.maker WHEN 'maintain' THEN made -> 'attached' ELSE made END -> 'columns') = 'object' THEN made END;
EXCEPTION WHEN data_exception OR program_limit_exceeded OR statement_too_complex THEN
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.made_by(oid, text) IS 'part of attach: what the comment on a view says of how the function named made it; NULL where it says no such thing';

-- The bigint by which an expression is known to rollout_agg: integers as they
-- are, everything else hashed.
CREATE FUNCTION attach_identity(expression text, type oid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE
		WHEN t.oid = 'int8'::regtype THEN attach_identity.expression
		WHEN t.oid IN ('int2'::regtype, 'int4'::regtype) THEN format('%s::bigint', attach_identity.expression)
		WHEN t.oid IN ('text'::regtype, 'bytea'::regtype, 'jsonb'::regtype, 'uuid'::regtype)
			THEN format('@extschema@.signature_hash(%s)', attach_identity.expression)
		-- 1.0 and 1.00 are one number with two texts.
		WHEN t.oid = 'numeric'::regtype THEN format('@extschema@.signature_hash(trim_scale(%s)::text)', attach_identity.expression)
		ELSE format('@extschema@.signature_hash(%s::text)', attach_identity.expression)
	END
	FROM pg_type t WHERE t.oid = attach_identity.type
$$;
COMMENT ON FUNCTION attach_identity(text, oid) IS 'part of attach: the SQL expression that makes a bigint identity of an expression of the given type';

-- "=" for a type: that of its default operator class, so that nothing is found
-- by its name that somebody has made for the purpose.
CREATE FUNCTION attach_equal(type oid) RETURNS text
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_attach_equal';
COMMENT ON FUNCTION attach_equal(oid) IS 'part of attach: the equality operator to use in a view for a type';

-- Arguments of an estimator as the user's options give them: ", gamma => '0.9'::double precision".
-- With check_only they are checked, and so is whether the function takes them.
CREATE FUNCTION attach_arguments(estimator oid, options jsonb) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	arguments text := '';
	option record;
	type oid;
BEGIN
	FOR option IN SELECT e.key, e.value, e.value #>> '{}' AS word FROM jsonb_each(attach_arguments.options) e LOOP
		SELECT p.proargtypes[a.i - 1] INTO type
		FROM pg_proc p, generate_series(2, p.pronargs) a(i)
		WHERE p.oid = attach_arguments.estimator AND p.proargnames[a.i] = option.key;
		IF type IS NULL THEN
			RAISE EXCEPTION 'function % has no parameter "%"',
				(SELECT p.proname FROM pg_proc p WHERE p.oid = attach_arguments.estimator), option.key
				USING ERRCODE = 'invalid_parameter_value',
					HINT = format('Its parameters: %s.', (
						SELECT coalesce(string_agg(p.proargnames[a.i], ', ' ORDER BY a.i), 'none')
						FROM pg_proc p, generate_series(2, p.pronargs) a(i) WHERE p.oid = attach_arguments.estimator));
		END IF;
		IF jsonb_typeof(option.value) IN ('object', 'array') THEN
			RAISE EXCEPTION 'option "%" must be a single value, not an %', option.key, jsonb_typeof(option.value)
				USING ERRCODE = 'invalid_parameter_value';
		END IF;
		arguments := arguments || format(', %I => %L::%s', option.key, option.word, type::regtype);
	END LOOP;
	-- The function itself knows which values it refuses: better now than in every
	-- query on the view.  A group of one step costs nothing.
	EXECUTE format('SELECT count(*) FROM %s((SELECT @extschema@.rollout_agg(1::bigint, 1::bigint, 0, 1::bigint, 1::bigint, 1::float8,
		true, 1::bigint, 0::float8, 0::float8, 1::float8))%s)',
		(SELECT format('%I.%I', n.nspname, p.proname) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		 WHERE p.oid = attach_arguments.estimator), arguments);
	RETURN arguments;
END
$$;
COMMENT ON FUNCTION attach_arguments(oid, jsonb) IS 'part of attach: checks options against an estimator''s parameters and writes them as named arguments';

-- Whether an index leads to the rows of one group: its first columns are those
-- of the group, in any order.
CREATE FUNCTION attach_has_group_index(relation regclass, group_by text[]) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (
		SELECT FROM pg_index i
		WHERE i.indrelid = attach_has_group_index.relation AND i.indisvalid AND i.indpred IS NULL
			AND i.indnkeyatts >= cardinality(attach_has_group_index.group_by)
			AND (SELECT count(DISTINCT a.attname) FILTER (WHERE a.attname = ANY (attach_has_group_index.group_by))
				FROM generate_series(0, cardinality(attach_has_group_index.group_by) - 1) k(i)
				JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k.i])
				= cardinality(attach_has_group_index.group_by))
$$;
COMMENT ON FUNCTION attach_has_group_index(regclass, text[]) IS 'part of attach: whether an index begins with the columns of the group';

-- The join that brings a relation's columns to the rows of an estimator.
--
-- Flat, it lets the planner choose; but it does not know that a list of groups
-- is a list of few, and would read the whole relation for them.  So where an
-- index leads to a group's rows they are fetched group by group.  DISTINCT ON
-- the keys (which are unique anyway) makes the planner see that the join adds
-- no rows, so that it leaves it out when nobody asks for these columns.
CREATE FUNCTION attach_join(alias text, relation text, by_group boolean, group_match jsonb, columns text[],
	inner_keys text[], outer_keys text[], targets text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	key text := 'key';
BEGIN
	IF NOT by_group THEN
		RETURN format(' LEFT JOIN %s %s ON %s AND %s', relation, alias, group_match ->> alias,
			(SELECT string_agg(format('%s = %s', k.o, k.t), ' AND ' ORDER BY k.i) FROM unnest(outer_keys, targets) WITH ORDINALITY k(o, t, i)));
	END IF;
	WHILE EXISTS (SELECT FROM unnest(columns) c WHERE c LIKE key || '%') LOOP
		key := '_' || key;
	END LOOP;
	RETURN format(' LEFT JOIN LATERAL (SELECT DISTINCT ON (%s) %s FROM %s s WHERE %s) %s ON %s',
		(SELECT string_agg(k.i::text, ', ' ORDER BY k.i) FROM generate_subscripts(inner_keys, 1) k(i)),
		(SELECT string_agg(format('%s AS %s', k.e, key || k.i), ', ' ORDER BY k.i) FROM unnest(inner_keys) WITH ORDINALITY k(e, i))
			|| coalesce((SELECT string_agg(format(', s.%I', c.name), '' ORDER BY c.i) FROM unnest(columns) WITH ORDINALITY c(name, i)), ''),
		relation, group_match ->> 's', alias,
		(SELECT string_agg(format('%s.%s = %s', alias, key || k.i, k.t), ' AND ' ORDER BY k.i) FROM unnest(targets) WITH ORDINALITY k(t, i)));
END
$$;
COMMENT ON FUNCTION attach_join(text, text, boolean, jsonb, text[], text[], text[], text[]) IS 'part of attach: the join that brings a relation''s columns to the rows of an estimator';

-- What attach has found out about the source, for the functions below, is one
-- jsonb, the context; it is the argument of every builder of a view:
--
--	source			name of the relation that is folded
--	mapping			role -> its column
--	inputs			role -> what rollout_agg is given for it, over alias s
--	available		roles that have a column or are made of others
--	states, signature, state_options	where states come from; the action signature of a row of s
--	group_by, group_list, group_filter	columns of the group, as a list over s, those that may be NULL
--	group_value		name of the folded group in g
--	group_match		alias -> condition: the group of g
--	is_key			role -> its column is an integer
--	rollout_hash, step_hash	alias (s, b, r or g) -> the bigint of the rollout, of the step there
--	steps, rollouts	relations whose columns are shown: {"name", "oid", "by_group"}
--	is_unique		step_id alone finds a step
--	rollout_type	of the column rollout_id
--	columns			base columns to show, NULL for all
--	options			the user's
--	views			of functions, made so far: [{"suffix", "function", "arguments", "requires", "uses", "results"}]
--	folded			{"name", "keys"}: a table of folded groups to read instead of folding, see maintain
--	folded_over_time	name of a table of what the views over time add up, to read likewise
--	replace			views of these names are there and are made anew
--	view			name of the view that is being made
--	made			column of the view -> {"expression", "columns" of b in it, "rollout_columns" of r}, where it is not one of the function's

-- The relation g: a row per group, with its columns and the group as a value.
-- The feed is the shortest form of rollout_agg that has the roles that are read.
CREATE FUNCTION attach_fold(context jsonb, requires text[], uses text[] DEFAULT '{}') RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- In the order of rollout_agg's arguments.
	roles CONSTANT text[] := '{step_id,rollout_id,step_no,state,action,reward,success,next_state,value,turn_reward,cost}';
	wide CONSTANT text[] := '{next_state,value,turn_reward,cost}';
	mapping CONSTANT jsonb := context -> 'mapping';
	states CONSTANT text := context ->> 'states';
	signature CONSTANT text := context ->> 'signature';	-- of the action of a row of s, if there is a tool
	state_options CONSTANT text := context ->> 'state_options';	-- of state_hash
	reads CONSTANT text[] := attach_fold.requires || attach_fold.uses;
	reads_state CONSTANT boolean := 'state' = ANY (reads);
	reads_action CONSTANT boolean := 'action' = ANY (reads) OR reads_state AND states LIKE 'history%';
	inputs_used text[] := roles[1:6];
	alias text[];			-- of what is made of tool calls
	feed text;				-- what rollout_agg reads
	folded text;			-- the group as a value
	item text;
BEGIN
	-- A value that is kept has every role that any function reads.
	IF context ->> 'folded' IS NOT NULL THEN
		RETURN format('(SELECT %s, c.rollouts AS %s FROM %s c) g',
			(SELECT string_agg(format('c.%I AS %I', k.n, g.n), ', ' ORDER BY k.i)
			 FROM jsonb_array_elements_text(context -> 'folded' -> 'keys') WITH ORDINALITY k(n, i)
			 JOIN jsonb_array_elements_text(context -> 'group_by') WITH ORDINALITY g(n, i) USING (i)),
			context ->> 'group_value', context -> 'folded' ->> 'name');
	END IF;
	IF EXISTS (SELECT FROM unnest(wide) w WHERE w = ANY (reads) AND mapping ? w) THEN
		inputs_used := roles;
	ELSIF mapping ? 'success' THEN
		inputs_used := roles[1:7];
	END IF;
	feed := (context ->> 'source') || ' s' || coalesce(' WHERE ' || (context ->> 'group_filter'), '');
	IF reads_state AND states = 'signature' THEN
		alias := ARRAY['action_signature', 'state_signature', 'next_signature'];
		WHILE alias && ARRAY(SELECT jsonb_array_elements_text(context -> 'group_by') UNION ALL SELECT m.value FROM jsonb_each_text(mapping) m) LOOP
			alias := ARRAY(SELECT '_' || a.n FROM unnest(alias) WITH ORDINALITY a(n, i) ORDER BY a.i);
		END LOOP;
		SELECT string_agg(format('s.%I', c), ', ' ORDER BY c) INTO item
		FROM (SELECT jsonb_array_elements_text(context -> 'group_by') UNION SELECT mapping ->> r FROM unnest(roles) r WHERE mapping ? r AND r <> 'state') u(c);
		-- The group's columns come first in the window, so that a condition on them
		-- goes below it.  The signature comes last in its order, not to order, but
		-- because what stands there is computed once, for the window and the action.
		feed := format('(SELECT %1$s, s.%2$I, @extschema@.state_hash(s.%2$I%5$s) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS %3$I%6$s'
				' FROM (SELECT %1$s, %7$s AS %2$I FROM %8$s) s WINDOW w AS (PARTITION BY %9$s, %10$s ORDER BY s.%11$I, s.%2$I)) s',
			item, alias[1], alias[2], alias[3], state_options,
			CASE WHEN mapping ? 'next_state' AND 'next_state' = ANY (reads) THEN
				format(', CASE WHEN s.%I IS NOT NULL THEN @extschema@.state_hash(s.%I%s) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) END AS %I',
					mapping ->> 'next_state', alias[1], state_options, alias[3]) END,
			signature, feed, context ->> 'group_list', context -> 'rollout_hash' ->> 's', mapping ->> 'step_no');
	END IF;
	SELECT string_agg(CASE
			WHEN r.role = 'state' AND states <> 'observation' THEN
				CASE WHEN states = 'signature' AND reads_state THEN format('s.%I', alias[2]) ELSE 'NULL::bigint' END
			WHEN r.role = 'next_state' AND states = 'signature' AND mapping ? r.role AND r.role = ANY (reads) THEN format('s.%I', alias[3])
			WHEN r.role = 'action' AND NOT mapping ? 'action' AND reads_action AND signature IS NOT NULL THEN
				format('@extschema@.signature_hash(%s)', CASE WHEN states = 'signature' AND reads_state THEN format('s.%I', alias[1]) ELSE signature END)
			WHEN mapping ? r.role AND (r.role <> ALL (wide) OR r.role = ANY (reads)) OR r.role = 'step_id' THEN context -> 'inputs' ->> r.role
			WHEN r.role IN ('state', 'action', 'next_state') THEN 'NULL::bigint'
			WHEN r.role = 'success' THEN 'NULL::boolean'
			ELSE 'NULL::float8' END, ', ' ORDER BY r.i)
	INTO item FROM unnest(inputs_used) WITH ORDINALITY r(role, i);
	folded := format('@extschema@.rollout_agg(%s)', item);
	IF reads_state AND states IN ('history', 'history_set', 'root') THEN
		folded := format('@extschema@.history_states(%s, %L)', folded,
			CASE states WHEN 'history' THEN 'sequence' WHEN 'history_set' THEN 'set' ELSE 'root' END);
	END IF;
	RETURN format('(SELECT %1$s, %2$s AS %3$s FROM %4$s GROUP BY %1$s) g', context ->> 'group_list', folded, context ->> 'group_value', feed);
END
$$;
COMMENT ON FUNCTION attach_fold(jsonb, text[], text[]) IS 'part of attach: the relation g, a row per group with its columns and the group as a value, fed with the given roles';

-- The select list of a view, and the joins that it needs: the columns of the
-- group (of g), those of the function (results, of a), those of the shown
-- relations (of b and r, or of g where the view reads each step alone).  What
-- comes first keeps its name, the later takes base_ or rollout_ before it.
--
-- kind says what a row is: step, edge (with an example step), rollout, group,
-- value (the group itself), or row (a step of g, with no group folded).
CREATE FUNCTION attach_beside(context jsonb, kind text, results text[], OUT items text[], OUT joins text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	max_length CONSTANT integer := current_setting('max_identifier_length')::integer;
	mapping CONSTANT jsonb := context -> 'mapping';
	is_key CONSTANT jsonb := context -> 'is_key';
	rollout_hash CONSTANT jsonb := context -> 'rollout_hash';
	step_hash CONSTANT jsonb := context -> 'step_hash';
	group_match CONSTANT jsonb := context -> 'group_match';
	group_by CONSTANT text[] := ARRAY(SELECT jsonb_array_elements_text(context -> 'group_by'));
	steps_name CONSTANT text := context -> 'steps' ->> 'name';
	steps_by_group CONSTANT boolean := (context -> 'steps' ->> 'by_group')::boolean;
	rollouts_name CONSTANT text := context -> 'rollouts' ->> 'name';
	rollouts_by_group CONSTANT boolean := (context -> 'rollouts' ->> 'by_group')::boolean;
	is_unique CONSTANT boolean := (context ->> 'is_unique')::boolean;
	only_columns CONSTANT text[] := CASE WHEN jsonb_typeof(context -> 'columns') = 'array' THEN ARRAY(SELECT jsonb_array_elements_text(context -> 'columns')) END;
	by_row CONSTANT boolean := attach_beside.kind = 'row';
	beside CONSTANT text := CASE WHEN by_row THEN 'g' ELSE 'b' END;	-- whose columns are shown
	names text[] := attach_beside.results;	-- output names so far
	shown text[] := '{}';	-- columns of b, or of r, that the view needs
	made_of_rollouts text[] := '{}';	-- those of r in what is made
	column_name text;
	name text;
BEGIN
	items := '{}';
	joins := '';
	FOREACH column_name IN ARRAY group_by LOOP
		name := column_name;
		WHILE name = ANY (names) LOOP
			name := 'base_' || name;
		END LOOP;
		items := items || format('g.%I AS %I', column_name, name);
		names := names || name;
	END LOOP;

	IF attach_beside.kind = 'value' THEN
		items := items || format('g.%s AS rollouts', context ->> 'group_value');
	ELSE
		-- Who, which, where come first; ids as the user knows them.
		FOR column_name IN
			SELECT n FROM unnest(attach_beside.results) WITH ORDINALITY e(n, i)
			ORDER BY CASE WHEN attach_beside.kind <> 'edge' THEN array_position('{rollout_id,step_no,step_id}', n) END, i
		LOOP
			IF column_name = 'rollout_id' AND NOT (is_key ->> 'rollout_id')::boolean THEN
				items := items || format('%s.%I AS rollout_id', CASE WHEN attach_beside.kind = 'rollout' AND rollouts_name IS NOT NULL THEN 'r' ELSE beside END, mapping ->> 'rollout_id');
				shown := shown || (mapping ->> 'rollout_id');
			ELSIF column_name = 'step_id' AND mapping ? 'step_id' AND NOT (is_key ->> 'step_id')::boolean THEN
				items := items || format('%s.%I AS step_id', beside, mapping ->> 'step_id');
				shown := shown || (mapping ->> 'step_id');
			ELSIF context -> 'made' ? column_name THEN
				items := items || format('%s AS %I', context -> 'made' -> column_name ->> 'expression', column_name);
				shown := shown || ARRAY(SELECT jsonb_array_elements_text(context -> 'made' -> column_name -> 'columns'));
				made_of_rollouts := made_of_rollouts || ARRAY(SELECT jsonb_array_elements_text(context -> 'made' -> column_name -> 'rollout_columns'));
			ELSE
				items := items || format('a.%I', column_name);
			END IF;
		END LOOP;
	END IF;

	IF attach_beside.kind IN ('step', 'row', 'edge') THEN
		FOR column_name IN
			SELECT a.attname FROM pg_attribute a
			WHERE a.attrelid = (context -> 'steps' ->> 'oid')::oid AND a.attnum > 0 AND NOT a.attisdropped
				AND (only_columns IS NULL OR a.attname = ANY (only_columns))
				AND a.attname <> ALL (group_by)
				-- Shown already, under the very name.
				AND NOT (a.attname IN ('rollout_id', 'step_no', 'step_id') AND a.attname = ANY (attach_beside.results)
					AND a.attname = mapping ->> a.attname::text)
			ORDER BY a.attnum
		LOOP
			name := column_name;
			WHILE name = ANY (names) LOOP
				name := 'base_' || name;
			END LOOP;
			items := items || format('%s.%I AS %I', beside, column_name, name);
			names := names || name;
			shown := shown || column_name;
		END LOOP;
	END IF;
	SELECT coalesce(array_agg(DISTINCT c ORDER BY c), '{}') INTO shown FROM unnest(shown) c;
	IF by_row THEN
		NULL;
	ELSIF shown <> '{}' AND (attach_beside.kind = 'edge' OR attach_beside.kind = 'step' AND is_unique) THEN
		joins := @extschema@.attach_join('b', steps_name, steps_by_group, group_match, shown,
			ARRAY[step_hash ->> 's'], ARRAY[step_hash ->> 'b'], ARRAY['a.step_id']);
	ELSIF shown <> '{}' AND attach_beside.kind = 'step' THEN
		joins := @extschema@.attach_join('b', steps_name, steps_by_group, group_match, shown,
			ARRAY[rollout_hash ->> 's', format('s.%I', mapping ->> 'step_no')], ARRAY[rollout_hash ->> 'b', format('b.%I', mapping ->> 'step_no')],
			ARRAY['a.rollout_id', 'a.step_no']);
	ELSIF shown <> '{}' AND attach_beside.kind = 'rollout' AND rollouts_name IS NULL THEN
		-- One row per rollout must first be made.
		joins := @extschema@.attach_join('b',
			CASE WHEN steps_by_group THEN context ->> 'source'
				ELSE format('(SELECT DISTINCT %s, s.%I FROM %s s)', context ->> 'group_list', mapping ->> 'rollout_id', context ->> 'source') END,
			steps_by_group, group_match, shown, ARRAY[rollout_hash ->> 's'], ARRAY[rollout_hash ->> 'b'], ARRAY['a.rollout_id']);
	END IF;
	IF rollouts_name IS NOT NULL AND attach_beside.kind IN ('step', 'row', 'rollout') THEN
		shown := made_of_rollouts || CASE WHEN attach_beside.kind = 'rollout' THEN shown ELSE '{}' END;
		FOR column_name IN
			SELECT a.attname FROM pg_attribute a
			WHERE a.attrelid = (context -> 'rollouts' ->> 'oid')::oid AND a.attnum > 0 AND NOT a.attisdropped
				AND (only_columns IS NULL OR a.attname = ANY (only_columns))
				AND a.attname <> ALL (group_by) AND a.attname <> mapping ->> 'rollout_id'
				-- Shown already, under the very name.
				AND (context -> 'made' -> a.attname::text ->> 'expression' = format('r.%I', a.attname)) IS NOT TRUE
			ORDER BY a.attnum
		LOOP
			name := column_name;
			WHILE name = ANY (names) LOOP
				name := CASE WHEN attach_beside.kind = 'rollout' THEN 'base_' ELSE 'rollout_' END || name;
			END LOOP;
			items := items || format('r.%I AS %I', column_name, name);
			names := names || name;
			shown := shown || column_name;
		END LOOP;
		SELECT coalesce(array_agg(DISTINCT c ORDER BY c), '{}') INTO shown FROM unnest(shown) c;
		IF shown <> '{}' AND by_row THEN
			-- The plain key where it can be compared: an index serves, and makes
			-- the join superfluous where nobody asks for these columns.
			joins := format(' LEFT JOIN %s r ON %s AND %s', rollouts_name, group_match ->> 'r', CASE
				WHEN (context ->> 'rollout_type')::oid IN ('text'::regtype, 'varchar'::regtype, 'uuid'::regtype, 'int2'::regtype, 'int4'::regtype, 'int8'::regtype)
					THEN format('r.%1$I = g.%1$I', mapping ->> 'rollout_id')
				ELSE format('%s = a.rollout_id', rollout_hash ->> 'r') END);
		ELSIF shown <> '{}' THEN
			joins := joins || @extschema@.attach_join('r', rollouts_name, rollouts_by_group, group_match, shown,
				ARRAY[rollout_hash ->> 's'], ARRAY[rollout_hash ->> 'r'], ARRAY['a.rollout_id']);
		END IF;
	END IF;
	SELECT n INTO name FROM unnest(names) n WHERE octet_length(n) > max_length;
	IF FOUND THEN
		RAISE EXCEPTION 'column "%" of view "%" would have a name longer than % bytes', name, context ->> 'view', max_length
			USING ERRCODE = 'name_too_long', HINT = 'Leave the column out with columns =>.';
	END IF;
END
$$;
COMMENT ON FUNCTION attach_beside(jsonb, text, text[]) IS 'part of attach: the select list of a view, the columns beside a function''s results included, and the joins that bring them';

-- Options of a builder: an object under its view's name with only these in it.
CREATE FUNCTION attach_builder_options(context jsonb, suffix text, parameters text[]) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	settings CONSTANT jsonb := coalesce(attach_builder_options.context -> 'options' -> attach_builder_options.suffix, '{}');
	option record;
BEGIN
	IF jsonb_typeof(settings) <> 'object' THEN
		RETURN '{}';	-- attach refuses it, as it does every single value that no function takes
	END IF;
	FOR option IN SELECT e.key, e.value FROM jsonb_each(settings) e LOOP
		IF option.key <> ALL (attach_builder_options.parameters) THEN
			RAISE EXCEPTION '% has no parameter "%"', attach_builder_options.suffix, option.key
				USING ERRCODE = 'invalid_parameter_value', HINT = format('Its parameters: %s.', array_to_string(attach_builder_options.parameters, ', '));
		END IF;
		IF jsonb_typeof(option.value) IN ('object', 'array') THEN
			RAISE EXCEPTION 'option "%" must be a single value, not an %', option.key, jsonb_typeof(option.value)
				USING ERRCODE = 'invalid_parameter_value';
		END IF;
	END LOOP;
	RETURN settings;
END
$$;
COMMENT ON FUNCTION attach_builder_options(jsonb, text, text[]) IS 'part of attach: the options of a view that a builder makes, checked against its parameters';

-- Makes a view of attach anew, with the columns that it has: those that its
-- tables got since would otherwise come between them.  Nothing for a view that
-- was dropped.
CREATE FUNCTION attach_replace(view regclass, security text, query text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF obj_description(attach_replace.view, 'pg_class') LIKE E'made by stepadv.attach\n%' THEN
		BEGIN
			EXECUTE format('CREATE OR REPLACE VIEW %s %sAS %s', attach_replace.view, attach_replace.security, attach_replace.query);
		EXCEPTION WHEN invalid_table_definition THEN
			EXECUTE format('CREATE OR REPLACE VIEW %s %sAS SELECT %s FROM (%s) v', attach_replace.view, attach_replace.security,
				(SELECT string_agg(format('v.%I', a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = attach_replace.view AND a.attnum > 0),
				attach_replace.query);
		END;
	END IF;
	RETURN attach_replace.view;
END
$$;
COMMENT ON FUNCTION attach_replace(regclass, text, text) IS 'part of attach: makes a view anew, with the columns that it has';

-- Creates a view that detach will know, if its name is free; or replaces it.
CREATE FUNCTION attach_create(context jsonb, query text, shows text) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	schema CONSTANT text := context ->> 'schema';
	view CONSTANT text := context ->> 'view';
	max_length CONSTANT integer := current_setting('max_identifier_length')::integer;
	security CONSTANT text := CASE WHEN current_setting('server_version_num')::integer >= 150000
		THEN 'WITH (security_invoker = true) ' ELSE '' END;
BEGIN
	IF octet_length(view) > max_length THEN
		RAISE EXCEPTION 'the name of view "%" is longer than % bytes', view, max_length
			USING ERRCODE = 'name_too_long', HINT = 'Give a shorter prefix.';
	END IF;
	IF (context ->> 'replace')::boolean THEN
		-- What a stranger put in the place of one that was dropped stays his.
		IF (SELECT count(DISTINCT v.relowner) FROM pg_class v JOIN pg_namespace n ON n.oid = v.relnamespace
			WHERE n.nspname = schema AND v.relname IN (view, (context ->> 'prefix') || '_values')) > 1
		THEN
			RETURN NULL;
		END IF;
		RETURN @extschema@.attach_replace(to_regclass(format('%I.%I', schema, view)), security, attach_create.query);
	END IF;
	IF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = schema AND c.relname = view) THEN
		RAISE EXCEPTION 'relation "%" already exists in schema "%"', view, schema
			USING ERRCODE = 'duplicate_table', HINT = 'Detach what was attached before, or give another prefix.';
	END IF;
	EXECUTE format('CREATE VIEW %I.%I %sAS %s', schema, view, security, attach_create.query);
	-- Line 1 and 2 are for detach, the rest for people.
	EXECUTE format('COMMENT ON VIEW %I.%I IS %L', schema, view, concat_ws(E'\n',
		'made by stepadv.attach',
		jsonb_build_object('source', context -> 'source', 'prefix', context -> 'prefix', 'group_by', context -> 'group_by', 'columns', context -> 'mapping')
			-- The rest of attach's arguments, where they were given: maintain makes the views anew.
			|| jsonb_strip_nulls(jsonb_build_object('states', context -> 'states', 'options', nullif(context -> 'options', '{}'), 'shown', context -> 'columns',
				'show_steps', nullif(context -> 'steps' -> 'name', context -> 'source'), 'show_rollouts', context -> 'rollouts' -> 'name',
				'policy_version', context -> 'run' -> 'policy_version' -> 'column', 'started_at', context -> 'run' -> 'started_at' -> 'column')),
		attach_create.shows || ' of ' || (context ->> 'source')));
	RETURN to_regclass(format('%I.%I', schema, view));
END
$$;
COMMENT ON FUNCTION attach_create(jsonb, text, text) IS 'part of attach: creates a view, with the comment by which detach knows it';

-- Views over a table that somebody already has.

CREATE FUNCTION attach(
	source regclass, group_by text[], rollout_id text, step_no text,
	state text DEFAULT NULL, action text DEFAULT NULL, reward text DEFAULT NULL,
	step_id text DEFAULT NULL, success text DEFAULT NULL, next_state text DEFAULT NULL,
	value text DEFAULT NULL, turn_reward text DEFAULT NULL, cost text DEFAULT NULL,
	prefix text DEFAULT NULL, schema text DEFAULT NULL, options jsonb DEFAULT '{}',
	columns text[] DEFAULT NULL, show_steps regclass DEFAULT NULL, show_rollouts regclass DEFAULT NULL,
	logp_new text DEFAULT NULL, logp_old text DEFAULT NULL, token_mask text DEFAULT NULL,
	states text DEFAULT NULL, tool text DEFAULT NULL, args text DEFAULT NULL, ok text DEFAULT NULL,
	policy_version text DEFAULT NULL, started_at text DEFAULT NULL,
	features text DEFAULT NULL, contribution text DEFAULT NULL, grounded text DEFAULT NULL,
	fold_from regclass DEFAULT NULL, over_time_from regclass DEFAULT NULL)
RETURNS TABLE (view_name regclass, shows text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $attach$
DECLARE
	-- What each column is for, in the order of rollout_agg's arguments.
	roles CONSTANT text[] := '{step_id,rollout_id,step_no,state,action,reward,success,next_state,value,turn_reward,cost}';
	mapping jsonb;			-- role -> column
	inputs jsonb := '{}';	-- role -> what rollout_agg is given for it, over alias s
	rollout_hash jsonb := '{}';	-- alias (s, b, r or g) -> the bigint of the rollout there
	step_hash jsonb := '{}';	-- alias -> the bigint of the step there
	group_match jsonb;		-- alias -> condition: the group of g
	is_key jsonb := '{}';	-- role -> its column is an integer, so a hash is not in the way
	rollout_type oid;		-- of the column rollout_id, or what lies under its domain
	available text[];		-- roles that have a column or are made of others
	signature text;			-- the action signature of a row of s, if there is a tool
	state_options text := '';	-- of state_hash
	logprobs jsonb := '{}';	-- what step_ratio and its like are given, over alias g
	by_row boolean;			-- the view has no group to fold: it reads each step alone
	source_name text;
	source_schema text;
	v_prefix text;
	v_schema text;
	steps_from regclass := coalesce(attach.show_steps, attach.source);
	steps_name text;
	rollouts_name text;
	is_unique boolean;		-- step_id alone finds a step
	group_list text;
	group_filter text;
	definition record;
	estimator oid;
	results text[];			-- its result columns
	parameters text[];
	group_value text := 'rollouts';
	context jsonb;			-- all of this, for the functions that write a view's text
	items text[];			-- select list
	joins text;
	filter text;
	arguments text;
	item text;
	name text;
	type oid;
	expression text;
	column_name text;
	kind text;
	query text;
	settings jsonb;
	known text[] := '{}';
BEGIN
	IF attach.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	attach.options := coalesce(attach.options, '{}');
	IF jsonb_typeof(attach.options) <> 'object' THEN
		RAISE EXCEPTION 'options must be a JSON object, not %', attach.options
			USING ERRCODE = 'invalid_parameter_value', HINT = 'For example {"rtmc": {"gamma": 0.9}}.';
	END IF;
	IF attach.group_by IS NULL OR cardinality(attach.group_by) = 0 THEN
		RAISE EXCEPTION 'group_by must name at least one column' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF cardinality(attach.group_by) <> (SELECT count(DISTINCT g) FROM unnest(attach.group_by) g) THEN
		RAISE EXCEPTION 'group_by names a column twice, or NULL: %', attach.group_by USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF attach.rollout_id IS NULL OR attach.step_no IS NULL THEN
		RAISE EXCEPTION '% must be given', CASE WHEN attach.rollout_id IS NULL THEN 'rollout_id' ELSE 'step_no' END
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF attach.reward IS NULL AND attach.success IS NULL THEN
		RAISE EXCEPTION 'reward or success must be given' USING ERRCODE = 'null_value_not_allowed',
			HINT = 'Without either no rollout is ever judged.';
	END IF;

	SELECT format('%I.%I', n.nspname, c.relname), n.nspname, coalesce(attach.prefix, c.relname)
	INTO source_name, source_schema, v_prefix
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = attach.source;
	IF source_name IS NULL THEN
		RAISE EXCEPTION 'relation % does not exist', attach.source::oid USING ERRCODE = 'undefined_table';
	END IF;
	v_schema := coalesce(attach.schema, source_schema);
	IF NOT EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = v_schema) THEN
		RAISE EXCEPTION 'schema "%" does not exist', v_schema USING ERRCODE = 'invalid_schema_name';
	END IF;
	SELECT format('%I.%I', n.nspname, c.relname) INTO steps_name
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = steps_from;
	SELECT format('%I.%I', n.nspname, c.relname) INTO rollouts_name
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = attach.show_rollouts;
	FOR item, kind IN
		SELECT format('%I.%I', n.nspname, c.relname), c.relkind
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.oid IN (attach.source, steps_from, attach.show_rollouts)
	LOOP
		IF kind NOT IN ('r', 'p', 'v', 'm', 'f') THEN
			RAISE EXCEPTION '% is not a table or view', item USING ERRCODE = 'wrong_object_type';
		END IF;
	END LOOP;

	IF NOT has_any_column_privilege(attach.source, 'SELECT') THEN
		RAISE EXCEPTION 'permission denied for %', source_name USING ERRCODE = 'insufficient_privilege';
	END IF;

	-- A primary key of one column identifies a step.
	IF attach.step_id IS NULL THEN
		SELECT a.attname INTO attach.step_id
		FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
		WHERE i.indrelid = attach.source AND i.indisprimary AND i.indnkeyatts = 1;
	END IF;
	mapping := jsonb_strip_nulls(jsonb_build_object(
		'step_id', attach.step_id, 'rollout_id', attach.rollout_id, 'step_no', attach.step_no,
		'state', attach.state, 'action', attach.action, 'reward', attach.reward, 'success', attach.success,
		'next_state', attach.next_state, 'value', attach.value, 'turn_reward', attach.turn_reward, 'cost', attach.cost));

	-- Where states come from.
	IF attach.states NOT IN ('observation', 'history', 'history_set', 'root', 'signature') THEN
		RAISE EXCEPTION 'unknown states: %', quote_literal(attach.states) USING ERRCODE = 'invalid_parameter_value',
			HINT = 'states is ''observation'' (the column state), ''history'', ''history_set'', ''root'' or ''signature''.';
	END IF;
	IF attach.tool IS NULL AND (attach.args IS NOT NULL OR attach.ok IS NOT NULL) THEN
		RAISE EXCEPTION '% is given without tool', CASE WHEN attach.args IS NOT NULL THEN 'args' ELSE 'ok' END
			USING ERRCODE = 'null_value_not_allowed', HINT = 'A tool call is signed by tool, args and ok; they are columns.';
	END IF;
	IF attach.states = 'observation' AND attach.state IS NULL
		OR attach.states = 'signature' AND attach.tool IS NULL
		OR attach.states IN ('history', 'history_set') AND attach.action IS NULL AND attach.tool IS NULL
	THEN
		RAISE EXCEPTION 'states => % needs %', quote_literal(attach.states), CASE attach.states
				WHEN 'observation' THEN 'a column given as state'
				WHEN 'signature' THEN 'a column given as tool'
				ELSE 'a column given as action or as tool' END
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	available := ARRAY(SELECT jsonb_object_keys(mapping))
		|| CASE WHEN attach.states IS NOT NULL THEN ARRAY['state'] END || CASE WHEN attach.tool IS NOT NULL THEN ARRAY['action'] END
		|| CASE WHEN attach.logp_new IS NOT NULL THEN ARRAY['logp_new', 'logp_old'] END;

	-- Every column exists, has a type that can serve, and becomes an expression.
	FOR name, column_name IN
		SELECT 'group_by', g FROM unnest(attach.group_by) g
		UNION ALL SELECT r, mapping ->> r FROM unnest(roles) r WHERE mapping ? r
	LOOP
		SELECT a.atttypid INTO type FROM pg_attribute a
		WHERE a.attrelid = attach.source AND a.attname = column_name AND a.attnum > 0 AND NOT a.attisdropped;
		IF type IS NULL THEN
			IF name = 'state' AND column_name IN ('history', 'history_set', 'root', 'signature') THEN
				RAISE EXCEPTION 'column "%" given as % does not exist in %', column_name, name, source_name
					USING ERRCODE = 'undefined_column', HINT = format('To have states made, write states => %L.', column_name);
			END IF;
			RAISE EXCEPTION 'column "%" given as % does not exist in %', column_name, name, source_name
				USING ERRCODE = 'undefined_column';
		END IF;
		CONTINUE WHEN name = 'group_by';
		expression := format('s.%I', column_name);
		kind := '';
		-- What lies under a domain decides.
		WHILE (SELECT t.typtype FROM pg_type t WHERE t.oid = type) = 'd' LOOP
			SELECT t.typbasetype INTO type FROM pg_type t WHERE t.oid = type;
			kind := format('::%s', format_type(type, NULL));
		END LOOP;
		is_key := is_key || jsonb_build_object(name, type IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype));
		inputs := inputs || jsonb_build_object(name, CASE
			WHEN name = 'step_no' AND (is_key ->> name)::boolean THEN expression || '::integer'
			WHEN name IN ('step_id', 'rollout_id', 'state', 'action', 'next_state')
				THEN @extschema@.attach_identity(expression || kind, type)
			WHEN name = 'success' AND type = 'bool'::regtype THEN expression || kind
			WHEN name IN ('reward', 'value', 'turn_reward', 'cost') THEN CASE
				WHEN type = 'float8'::regtype THEN expression || kind
				WHEN type IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'float4'::regtype, 'numeric'::regtype)
					THEN expression || '::float8'
				WHEN type = 'bool'::regtype THEN expression || '::integer::float8' END
			END);
		IF name = 'rollout_id' THEN
			rollout_type := type;
			SELECT jsonb_object_agg(r, @extschema@.attach_identity(format('%s.%I%s', r, column_name, kind), type))
			INTO rollout_hash FROM unnest('{s,b,r,g}'::text[]) r;
		ELSIF name = 'step_id' THEN
			SELECT jsonb_object_agg(r, @extschema@.attach_identity(format('%s.%I%s', r, column_name, kind), type))
			INTO step_hash FROM unnest('{s,b,g}'::text[]) r;
		END IF;
		IF inputs ->> name IS NULL THEN
			RAISE EXCEPTION 'column "%" of % cannot serve as %: its type is %', column_name, source_name, name, format_type(type, NULL)
				USING ERRCODE = 'datatype_mismatch',
					HINT = CASE name
						WHEN 'step_no' THEN 'step_no must be an integer; attach a view with, say, row_number() OVER (PARTITION BY group, rollout ORDER BY time).'
						WHEN 'success' THEN 'success must be boolean; attach a view that says when a value means success.'
						ELSE format('%s must be a number or boolean.', name) END;
		END IF;
	END LOOP;

	-- Without an id of its own a step is known by its rollout and number.
	IF NOT mapping ? 'step_id' THEN
		SELECT jsonb_object_agg(r, format('@extschema@.signature_hash(int8send(%s) || int8send(%s.%I::bigint))', rollout_hash ->> r, r, attach.step_no))
		INTO step_hash FROM unnest('{s,b,g}'::text[]) r;
		inputs := inputs || jsonb_build_object('step_id', step_hash ->> 's');
	END IF;

	-- What a tool call did, to be the action and to make states of.
	IF attach.tool IS NOT NULL THEN
		FOR name, column_name IN
			SELECT v.r, v.c FROM (VALUES ('tool', attach.tool), ('args', attach.args), ('ok', attach.ok)) v(r, c) WHERE v.c IS NOT NULL
		LOOP
			SELECT a.atttypid INTO type FROM pg_attribute a
			WHERE a.attrelid = attach.source AND a.attname = column_name AND a.attnum > 0 AND NOT a.attisdropped;
			IF type IS NULL THEN
				RAISE EXCEPTION 'column "%" given as % does not exist in %', column_name, name, source_name
					USING ERRCODE = 'undefined_column';
			END IF;
			WHILE (SELECT t.typtype FROM pg_type t WHERE t.oid = type) = 'd' LOOP
				SELECT t.typbasetype INTO type FROM pg_type t WHERE t.oid = type;
			END LOOP;
			SELECT CASE
				WHEN name = 'tool' AND t.typcategory IN ('S', 'E') THEN format('s.%I::text', column_name)
				WHEN name = 'args' AND t.oid IN ('jsonb'::regtype, 'json'::regtype) THEN format('s.%I::jsonb', column_name)
				WHEN name = 'args' AND t.typcategory = 'S' THEN format('to_jsonb(s.%I::text)', column_name)
				WHEN name = 'ok' AND t.oid = 'bool'::regtype THEN format('s.%I::boolean', column_name) END
			INTO expression FROM pg_type t WHERE t.oid = type;
			IF expression IS NULL THEN
				RAISE EXCEPTION 'column "%" of % cannot serve as %: its type is %', column_name, source_name, name, format_type(type, NULL)
					USING ERRCODE = 'datatype_mismatch',
						HINT = format('%s must be %s.', name, CASE name WHEN 'tool' THEN 'text' WHEN 'args' THEN 'jsonb, json or text' ELSE 'boolean' END);
			END IF;
			inputs := inputs || jsonb_build_object(name, expression);
			mapping := mapping || jsonb_build_object(name, column_name);
		END LOOP;
		known := known || 'signature'::text;
		settings := coalesce(attach.options -> 'signature', '{}');
		SELECT o INTO name FROM jsonb_object_keys(CASE WHEN jsonb_typeof(settings) = 'object' THEN settings ELSE '{}' END) o
		WHERE o NOT IN ('flags', 'views', 'content_hash', 'path', 'root', 'vocabulary');
		IF FOUND THEN
			RAISE EXCEPTION 'signature has no parameter "%"', name
				USING ERRCODE = 'invalid_parameter_value',
					HINT = 'Its parameters: content_hash, path, root and vocabulary of action_signature, flags and views of state_hash.';
		END IF;
		SELECT coalesce(string_agg(format(', %I => %L::text', e.key, e.value), '' ORDER BY e.key), '') INTO arguments
		FROM jsonb_each_text(settings) e WHERE e.key IN ('content_hash', 'path', 'root');
		-- The user's tools become a literal, as all options do.
		SELECT @extschema@.user_vocabulary(settings ->> 'vocabulary')::text INTO item;
		IF item = '[]' AND settings ->> 'vocabulary' IS NOT NULL THEN
			RAISE EXCEPTION 'tool_vocabulary has no tools of scaffold %', quote_literal(settings ->> 'vocabulary')
				USING ERRCODE = 'invalid_parameter_value';
		ELSIF item <> '[]' THEN
			arguments := arguments || format(', vocabulary => %L::jsonb', item);
		END IF;
		IF settings ?| '{flags,views}' THEN
			state_options := format(', %L::text, %L::text', coalesce(settings ->> 'flags', 'count'), coalesce(settings ->> 'views', 'range'));
		END IF;
		EXECUTE format('SELECT @extschema@.state_hash(@extschema@.action_signature(''bash'', NULL%s)%s)', arguments, state_options);
		signature := format('CASE WHEN s.%I IS NOT NULL THEN @extschema@.action_signature(%s, %s, %s%s) END', attach.step_no,
			inputs ->> 'tool', coalesce(inputs ->> 'args', 'NULL::jsonb'), coalesce(inputs ->> 'ok', 'NULL::boolean'), arguments);
	END IF;

	-- Log-probabilities belong to the steps that are shown, not to what is folded.
	IF (attach.logp_new IS NULL) <> (attach.logp_old IS NULL) OR attach.token_mask IS NOT NULL AND attach.logp_new IS NULL THEN
		RAISE EXCEPTION '% must be given', CASE WHEN attach.logp_new IS NULL THEN 'logp_new' ELSE 'logp_old' END
			USING ERRCODE = 'null_value_not_allowed', HINT = 'A ratio needs both logp_new and logp_old; token_mask is for them.';
	END IF;
	FOR name, column_name IN
		SELECT v.r, v.c FROM (VALUES ('logp_new', attach.logp_new), ('logp_old', attach.logp_old), ('token_mask', attach.token_mask)) v(r, c)
		WHERE v.c IS NOT NULL
	LOOP
		SELECT a.atttypid INTO type FROM pg_attribute a
		WHERE a.attrelid = steps_from AND a.attname = column_name AND a.attnum > 0 AND NOT a.attisdropped;
		IF type IS NULL THEN
			RAISE EXCEPTION 'column "%" given as % does not exist in %', column_name, name, steps_name
				USING ERRCODE = 'undefined_column';
		END IF;
		kind := '';
		WHILE (SELECT t.typtype FROM pg_type t WHERE t.oid = type) = 'd' LOOP
			SELECT t.typbasetype INTO type FROM pg_type t WHERE t.oid = type;
			kind := format('::%s', format_type(type, NULL));
		END LOOP;
		logprobs := logprobs || jsonb_build_object(name, format('g.%I', column_name) || CASE
			WHEN name <> 'token_mask' AND type IN ('float4[]'::regtype, 'float8[]'::regtype) OR name = 'token_mask' AND type = 'bool[]'::regtype THEN kind
			WHEN name <> 'token_mask' AND type = 'numeric[]'::regtype THEN '::float8[]'
			-- Trainers write masks of 0 and 1.
			WHEN name = 'token_mask' AND type IN ('int2[]'::regtype, 'int4[]'::regtype, 'int8[]'::regtype) THEN '::integer[]::boolean[]' END);
		IF logprobs ->> name IS NULL THEN
			RAISE EXCEPTION 'column "%" of % cannot serve as %: its type is %', column_name, steps_name, name, format_type(type, NULL)
				USING ERRCODE = 'datatype_mismatch',
					HINT = format('%s must be an array of %s.', name, CASE name WHEN 'token_mask' THEN 'booleans, or of 0 and 1' ELSE 'real or double precision' END);
		END IF;
		mapping := mapping || jsonb_build_object(name, column_name);
	END LOOP;

	-- What the builders know what to do with, they also check.
	mapping := mapping || jsonb_strip_nulls(jsonb_build_object(
		'features', attach.features, 'contribution', attach.contribution, 'grounded', attach.grounded));

	-- The other relations have the columns that they are joined by.
	FOR item, name, column_name IN
		SELECT steps_name, 'show_steps', c
		FROM unnest(attach.group_by || ARRAY[attach.rollout_id, attach.step_no, mapping ->> 'step_id']) c
		WHERE steps_from <> attach.source AND c IS NOT NULL
			AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = steps_from
				AND a.attname = c AND a.attnum > 0 AND NOT a.attisdropped)
		UNION ALL
		SELECT rollouts_name, 'show_rollouts', c FROM unnest(attach.group_by || attach.rollout_id) c
		WHERE attach.show_rollouts IS NOT NULL
			AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = attach.show_rollouts
				AND a.attname = c AND a.attnum > 0 AND NOT a.attisdropped)
	LOOP
		RAISE EXCEPTION 'column "%" does not exist in %, given as %', column_name, item, name
			USING ERRCODE = 'undefined_column', HINT = 'Its rows are found by the columns of the group, the rollout and the step.';
	END LOOP;
	SELECT c INTO column_name FROM unnest(attach.columns) c
	WHERE c IS NULL OR NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid IN (steps_from, attach.show_rollouts)
		AND a.attname = c AND a.attnum > 0 AND NOT a.attisdropped)
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'column "%" given in columns does not exist in %', column_name, concat_ws(' or ', steps_name, rollouts_name)
			USING ERRCODE = 'undefined_column';
	END IF;

	SELECT string_agg(format('s.%I', g.name), ', ' ORDER BY g.i),
		-- Rows of no group would otherwise make up one of their own.  A composite
		-- value with a NULL in it is a group, though IS NOT NULL says otherwise.
		string_agg(CASE WHEN NOT a.attnotnull THEN format('s.%I IS DISTINCT FROM NULL', g.name) END, ' AND ' ORDER BY g.i),
		jsonb_build_object(
			's', string_agg(format('s.%1$I %2$s g.%1$I', g.name, @extschema@.attach_equal(a.atttypid)), ' AND ' ORDER BY g.i),
			'b', string_agg(format('b.%1$I %2$s g.%1$I', g.name, @extschema@.attach_equal(a.atttypid)), ' AND ' ORDER BY g.i),
			'r', string_agg(format('r.%1$I %2$s g.%1$I', g.name, @extschema@.attach_equal(a.atttypid)), ' AND ' ORDER BY g.i))
	INTO group_list, group_filter, group_match
	FROM unnest(attach.group_by) WITH ORDINALITY g(name, i)
	JOIN pg_attribute a ON a.attrelid = attach.source AND a.attname = g.name;
	WHILE group_value = ANY (attach.group_by) LOOP
		group_value := group_value || '_of_group';
	END LOOP;

	-- An integer needs no cast to be compared, and without one an index serves.
	IF (is_key ->> 'rollout_id')::boolean THEN
		SELECT jsonb_object_agg(r, format('%s.%I', r, attach.rollout_id)) INTO rollout_hash FROM unnest('{s,b,r,g}'::text[]) r;
	END IF;
	IF coalesce((is_key ->> 'step_id')::boolean, false) THEN
		SELECT jsonb_object_agg(r, format('%s.%I', r, attach.step_id)) INTO step_hash FROM unnest('{s,b,g}'::text[]) r;
	END IF;
	-- The row of a step is found again by an integer key that an index vouches for,
	-- or else by rollout and number, which rollout_agg has made sure are unique.
	is_unique := coalesce((is_key ->> 'step_id')::boolean, false) AND EXISTS (
		SELECT FROM pg_index i
		WHERE i.indrelid = steps_from AND i.indisunique AND i.indimmediate AND i.indisvalid
			AND i.indpred IS NULL AND i.indexprs IS NULL
			AND (SELECT bool_and(a.attname = attach.step_id OR a.attname = ANY (attach.group_by)) AND bool_or(a.attname = attach.step_id)
				FROM generate_series(0, i.indnkeyatts - 1) k(i)
				JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k.i]));
	context := jsonb_build_object(
		'source', source_name, 'prefix', v_prefix, 'schema', v_schema, 'mapping', mapping, 'inputs', inputs, 'available', available,
		'states', attach.states, 'signature', signature, 'state_options', state_options,
		'group_by', attach.group_by, 'group_list', group_list, 'group_filter', group_filter, 'group_value', group_value, 'group_match', group_match,
		'is_key', is_key, 'rollout_hash', rollout_hash, 'step_hash', step_hash, 'is_unique', is_unique, 'rollout_type', rollout_type,
		'steps', jsonb_build_object('name', steps_name, 'oid', steps_from::oid,
			'by_group', @extschema@.attach_has_group_index(steps_from, attach.group_by)),
		'rollouts', jsonb_build_object('name', rollouts_name, 'oid', attach.show_rollouts::oid,
			'by_group', @extschema@.attach_has_group_index(attach.show_rollouts, attach.group_by)),
		'columns', attach.columns, 'options', attach.options, 'views', '[]'::jsonb, 'logprobs', logprobs);
	context := context || jsonb_build_object('run', @extschema@.attach_run(context, attach.policy_version, attach.started_at));
	-- The views are there already, and shall read another relation from now on.
	IF attach.fold_from IS NOT NULL THEN
		context := context || jsonb_build_object('replace', true, 'folded', CASE WHEN attach.fold_from <> attach.source THEN
			(SELECT jsonb_build_object('name', attach.fold_from::text, 'keys', jsonb_agg(a.attname ORDER BY a.attnum))
			 FROM pg_attribute a WHERE a.attrelid = attach.fold_from AND a.attnum BETWEEN 1 AND cardinality(attach.group_by)) END,
			'folded_over_time', attach.over_time_from::text);
	END IF;

	FOR definition IN
		-- One line per view.  requires: columns without which there is no such view;
		-- uses: what else the function reads, of the full form of rollout_agg and of
		-- states and actions that must be made;
		-- options_of: whose options it takes where it has none of its own.
		SELECT * FROM (VALUES
			('values', NULL, '{}'::text[], '{state,action,next_state,value,turn_reward,cost}'::text[], NULL, 'the group as a value, for any function of rollout_group'),
			('groups', 'group_summary', '{}', '{state}', NULL, 'a row per group'),
			('rollouts', 'rollouts', '{}', '{}', NULL, 'a row per rollout'),
			('returns', 'returns', '{reward}', '{}', NULL, 'a row per step'),
			('grpo', 'grpo', '{reward}', '{}', NULL, 'a row per step'),
			('rloo', 'rloo', '{reward}', '{}', NULL, 'a row per step'),
			('mt_grpo', 'mt_grpo', '{reward,turn_reward}', '{turn_reward}', NULL, 'a row per step'),
			('mt_rloo', 'mt_rloo', '{reward,turn_reward}', '{turn_reward}', NULL, 'a row per step'),
			('gae', 'gae', '{reward,value}', '{value}', NULL, 'a row per step'),
			('ratios', NULL, '{logp_new,logp_old}', '{}', NULL, 'a row per step'),
			('gigpo', 'gigpo', '{reward,state}', '{}', NULL, 'a row per step'),
			('graphgpo', 'graphgpo', '{reward,state}', '{next_state,cost}', NULL, 'a row per step'),
			('graph_nodes', 'graph_nodes', '{reward,state}', '{next_state,cost}', 'graphgpo', 'a row per state, with an example step'),
			('graph_edges', 'graph_edges', '{reward,state,action}', '{next_state,cost}', 'graphgpo', 'a row per edge of the state graph, with an example step'),
			('contribution', 'contribution', '{reward,state}', '{next_state,cost}', 'graphgpo', 'a row per rollout'),
			('contribution_summary', 'contribution_summary', '{reward,state}', '{next_state,cost}', 'graphgpo', 'a row per group and success'),
			('hgpo', 'hgpo', '{reward,state}', '{}', NULL, 'a row per step'),
			('tempo', 'tempo', '{reward,action}', '{}', NULL, 'a row per step'),
			('rtmc', 'rtmc', '{reward,state,action}', '{}', NULL, 'a row per step'),
			('rtmc_tree', 'rtmc_tree', '{reward,state,action}', '{}', 'rtmc', 'a row per edge of the rollout tree, with an example step')
		) AS v(suffix, function, requires, uses, options_of, shape)
	LOOP
		by_row := definition.suffix = 'ratios';
		results := CASE WHEN by_row THEN '{rollout_id,step_no,step_id,n_tokens,ratio,sequence_ratio,approximate_kl}' ELSE '{rollouts}' END;
		arguments := '';
		settings := '{}';
		IF definition.function IS NOT NULL THEN
			known := known || definition.function;
			SELECT p.oid, o.names, p.proargnames[2:p.pronargs] INTO STRICT estimator, results, parameters
			FROM pg_proc p, LATERAL (
				SELECT array_agg(p.proargnames[m.i] ORDER BY m.i) AS names
				FROM generate_subscripts(p.proargmodes, 1) m(i) WHERE p.proargmodes[m.i] = 't') o
			WHERE p.pronamespace = '@extschema@'::regnamespace AND p.proname = definition.function
				AND p.proargtypes[0] = '@extschema@.rollout_group'::regtype
				AND EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e');
			-- Options for all functions that know the parameter, then the function's own.
			SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}') INTO settings
			FROM jsonb_each(attach.options) e
			WHERE jsonb_typeof(e.value) <> 'object' AND e.key = ANY (parameters);
			-- Borrowed ones may be of no use here.
			settings := settings || coalesce(attach.options -> definition.function, (
				SELECT jsonb_object_agg(e.key, e.value)
				FROM jsonb_each(CASE WHEN jsonb_typeof(attach.options -> definition.options_of) = 'object'
					THEN attach.options -> definition.options_of END) e
				WHERE e.key = ANY (parameters)), '{}');
			arguments := @extschema@.attach_arguments(estimator, settings);
			IF (settings ->> 'masked')::boolean THEN
				definition.uses := definition.uses || 'action'::text;	-- which tells steps from observations
			END IF;
		END IF;
		CONTINUE WHEN NOT definition.requires <@ available;

		kind := CASE WHEN by_row THEN 'row'
			WHEN results = '{rollouts}' THEN 'value'
			WHEN 'step_no' = ANY (results) THEN 'step'
			WHEN 'step_id' = ANY (results) THEN 'edge'
			WHEN 'rollout_id' = ANY (results) THEN 'rollout'
			ELSE 'group' END;
		context := context || jsonb_build_object('view', v_prefix || '_' || definition.suffix);
		filter := '';
		IF by_row THEN
			-- Written as the others are, from g and a, but here g is a step.
			query := format('FROM %1$s g CROSS JOIN LATERAL (SELECT %2$s::bigint AS rollout_id, g.%3$I::integer AS step_no, %4$s::bigint AS step_id, %5$s AS n_tokens,'
					' @extschema@.step_ratio(%6$s) AS ratio, @extschema@.sequence_ratio(%6$s) AS sequence_ratio, @extschema@.approximate_kl(%6$s) AS approximate_kl) a',
				steps_name, rollout_hash ->> 'g', attach.step_no, step_hash ->> 'g',
				-- A mask that is NULL leaves out nothing.
				CASE WHEN logprobs ? 'token_mask' THEN format('coalesce(cardinality(array_positions(%s, true)), cardinality(%s))', logprobs ->> 'token_mask', logprobs ->> 'logp_old')
					ELSE format('cardinality(%s)', logprobs ->> 'logp_old') END,
				concat_ws(', ', logprobs ->> 'logp_new', logprobs ->> 'logp_old', logprobs ->> 'token_mask'));
			SELECT ' WHERE ' || string_agg(format('g.%I IS DISTINCT FROM NULL', c), ' AND ') INTO filter
			FROM unnest(attach.group_by || attach.step_no) c;
		ELSE
			query := 'FROM ' || @extschema@.attach_fold(context, definition.requires, definition.uses);
			IF kind <> 'value' THEN
				query := query || format(' CROSS JOIN LATERAL @extschema@.%I(g.%s%s) a', definition.function, group_value, arguments);
			END IF;
		END IF;

		SELECT b.items, b.joins INTO items, joins FROM @extschema@.attach_beside(context, kind, results) b;
		shows := format('%s: %s', coalesce(definition.function || '(' || substr(arguments, 3) || ')',
			CASE WHEN by_row THEN 'step_ratio, sequence_ratio, approximate_kl' ELSE 'rollout_agg' END), definition.shape);
		view_name := @extschema@.attach_create(context, format('SELECT %s %s%s%s', array_to_string(items, ', '), query, joins, filter), shows);
		RETURN NEXT;
		IF definition.function IS NOT NULL THEN
			context := jsonb_insert(context, '{views,-1}', jsonb_build_object('suffix', definition.suffix, 'function', definition.function,
				'arguments', arguments, 'requires', definition.requires, 'uses', definition.uses, 'results', results), true);
		END IF;
	END LOOP;

	-- Views that are more than a function of the folded group: builder(context)
	-- gives the query, or NULL where the columns that it needs are not there.
	FOR definition IN
		SELECT * FROM (VALUES
			('spa', 'attach_spa', 'a row per step'),
			('compare', 'attach_compare', 'a row per step, an advantage per method'),
			('quadrants', 'attach_quadrants', 'a row per group, pair of methods, success and quadrant'),
			('disagreements', 'attach_disagreements', 'a row per step and pair of methods'),
			('groups_over_time', 'attach_groups_over_time', 'a row per group, policy version and time bucket, with counts and sums'),
			('progress_over_time', 'attach_progress_over_time', 'a row per policy version and time bucket'),
			('advantage_over_time', 'attach_advantage_over_time', 'a row per policy version, time bucket and method'),
			('advantages', 'attach_advantages', 'a row per step and method, of groups divided by policy version and time bucket')
		) AS v(suffix, builder, shape)
	LOOP
		known := known || definition.suffix::text;
		context := context || jsonb_build_object('view', v_prefix || '_' || definition.suffix);
		EXECUTE format('SELECT @extschema@.%I($1)', definition.builder) INTO query USING context;
		CONTINUE WHEN query IS NULL;
		shows := format('%s: %s', definition.suffix, definition.shape);
		view_name := @extschema@.attach_create(context, query, shows);
		RETURN NEXT;
	END LOOP;

	-- An option that no function took is a mistake.
	SELECT e.key INTO name FROM jsonb_each(attach.options) e
	WHERE CASE WHEN jsonb_typeof(e.value) = 'object' THEN e.key <> ALL (known)
		ELSE NOT EXISTS (SELECT FROM pg_proc p
			WHERE p.pronamespace = '@extschema@'::regnamespace AND p.proname = ANY (known)
				AND p.proargtypes[0] = '@extschema@.rollout_group'::regtype AND e.key = ANY (p.proargnames[2:p.pronargs]))
		END
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'option "%" is neither a function that attach makes a view of nor a parameter of one', name
			USING ERRCODE = 'invalid_parameter_value', HINT = format('Functions: %s.', array_to_string(known, ', '));
	END IF;
END
$attach$;

COMMENT ON FUNCTION attach(regclass, text[], text, text, text, text, text, text, text, text, text, text, text, text, text, jsonb, text[], regclass, regclass, text, text, text, text, text, text, text, text, text, text, text, text, regclass, regclass) IS
'creates views over a table (or view) of steps: <prefix>_values, _groups, _rollouts, _returns, and one per estimator (_grpo, _rloo, _mt_grpo, _mt_rloo, _gae, _ratios, _gigpo, _graphgpo, _graph_nodes, _graph_edges, _contribution, _contribution_summary, _hgpo, _tempo, _rtmc, _rtmc_tree, _spa), those whose columns are given, and of several methods _compare, _quadrants, _disagreements; the columns are named by role; ids and states of any type (integers as they are, others by signature_hash); options, e.g. {"rtmc": {"gamma": 0.9}}, become literals in the views; columns: base columns to show (default all), show_steps and show_rollouts: relations to show them from; logp_new, logp_old, token_mask: for _ratios, columns of the relation of the shown steps; states: where states come from, ''observation'' (the column state), ''history'' (the actions before the step), ''history_set'' (the same in any order), ''root'' (one state), ''signature'' (state_hash over the tool calls before the step); tool, args, ok: columns of the tool call, of which action signatures are made, for states and where there is no column action; policy_version, started_at: columns of show_rollouts or else of the source, by which (and by option {"progress_over_time": {"bucket": "1 day"}}) the views _groups_over_time, _progress_over_time, _advantage_over_time and _advantages divide the rollouts, policy_version also a column of _quadrants and _disagreements; features (an array of numbers, or what has a cast to real[]) or contribution, and grounded (default ok): for _spa, columns of the relation of the shown steps; fold_from and over_time_from are for maintain; one row per view made; an error changes nothing';

CREATE FUNCTION detach(source regclass, prefix text DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	views text;
	number integer;
BEGIN
	IF detach.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	WITH kept AS (
		-- The tables that views read in place of their source.
		SELECT m.source, k.folded FROM @extschema@.maintained() m CROSS JOIN LATERAL (VALUES (m.folded), (m.folded_over_time)) k(folded) WHERE k.folded IS NOT NULL
	), attached AS (
		SELECT v.oid, v.relname, v.relnamespace, v.relowner, m.made, v.relname IN ((m.made ->> 'prefix') || '_ratios', (m.made ->> 'prefix') || '_spa') AS of_the_shown
		FROM pg_class v
		CROSS JOIN LATERAL (SELECT CASE WHEN v.relkind = 'v' THEN stepadv_internal.made_by(v.oid, 'attach') END AS made) m
		WHERE m.made IS NOT NULL AND (detach.prefix IS NULL OR m.made ->> 'prefix' = detach.prefix)
			-- The caller's own, or those of somebody who has a say in the source.
			AND (v.relowner = (SELECT u.oid FROM pg_roles u WHERE u.rolname = current_user)
				OR pg_has_role(v.relowner, (SELECT c.relowner FROM pg_class c WHERE c.oid = detach.source), 'USAGE')
				OR v.relowner IN (SELECT m.owner FROM @extschema@.maintained(detach.source, detach.prefix) m))
	), of_source AS (
		-- A view is the source's if attach said so in its comment and it reads the
		-- source; the name in the comment decides only between relations that it
		-- reads, since the source may have been renamed.
		SELECT v.relname, v.relnamespace, v.relowner, v.made
		FROM attached v JOIN pg_rewrite w ON w.ev_class = v.oid
		WHERE NOT v.of_the_shown
			AND EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
				AND d.refclassid = 'pg_class'::regclass AND (d.refobjid = detach.source OR d.refobjid IN (SELECT k.folded FROM kept k)))
			AND NOT EXISTS (SELECT FROM pg_depend d JOIN kept k ON k.folded = d.refobjid AND k.source <> detach.source
				WHERE d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass)
			AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
				AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> detach.source
				-- Not by to_regclass: the schema may be closed to the caller.
				AND (SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
					WHERE c.oid = d.refobjid) = v.made ->> 'source')
	), doomed AS (
		SELECT v.relname, v.relnamespace FROM of_source v
		UNION
		-- Those of ratios and of SPA read show_steps alone: they go with those made with them.
		SELECT v.relname, v.relnamespace FROM attached v
		WHERE v.of_the_shown AND EXISTS (SELECT FROM of_source o WHERE o.made = v.made AND o.relnamespace = v.relnamespace AND o.relowner = v.relowner)
	)
	SELECT string_agg(format('%I.%I', n.nspname, v.relname), ', '), count(*) INTO views, number
	FROM doomed v JOIN pg_namespace n ON n.oid = v.relnamespace;
	IF number > 0 THEN
		EXECUTE format('DROP VIEW %s', views);
	END IF;
	PERFORM @extschema@.maintain_drop(m.fresh) FROM @extschema@.maintained(detach.source, detach.prefix) m;
	RETURN number;
END
$$;

COMMENT ON FUNCTION detach(regclass, text) IS
'drops the views that attach made over the source (with the prefix, if given), what maintain keeps for them, and nothing else; the number of views; error when something depends on one of them';

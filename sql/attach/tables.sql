-- create_tables: the canonical tables rollouts and steps, and the view rollout_rows.

-- Up to PostgreSQL 14, foreign keys treat an UPDATE that moves a row to another
-- partition as a DELETE: the cascade would delete the steps that it should rename.
-- The version is checked at run time, since a dump can take the trigger to 15.
CREATE FUNCTION stepadv_internal.refuse_lossy_move() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys text[];
	stays boolean;
BEGIN
	IF NOT stepadv_internal.server_has('moves between partitions'::text) THEN
		EXECUTE format('SELECT %s FROM (SELECT ($1).*) moved', pg_get_partition_constraintdef(TG_RELID)) INTO stays
			USING NEW;
		IF NOT stays THEN
			-- The partition key consists of the group's columns.
			SELECT array_agg(a.attname::text ORDER BY k.i) INTO keys
			FROM pg_partitioned_table p CROSS JOIN LATERAL unnest(p.partattrs::smallint[]) WITH ORDINALITY k(number, i)
			JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = k.number
			WHERE p.partrelid = pg_partition_root(TG_RELID::regclass)::oid;
			RAISE EXCEPTION 'rollout "%" of group "%" cannot be moved to group "%" by an UPDATE', OLD.rollout_id,
					(SELECT string_agg(to_jsonb(OLD) ->> k.name, ', ' ORDER BY k.i)
						FROM unnest(keys) WITH ORDINALITY k(name, i)),
					(SELECT string_agg(to_jsonb(NEW) ->> k.name, ', ' ORDER BY k.i)
						FROM unnest(keys) WITH ORDINALITY k(name, i))
				USING ERRCODE = 'feature_not_supported',
					DETAIL = 'The groups are in different partitions: up to PostgreSQL 14 the rollout''s steps would '
						'be deleted.',
					HINT = format('Insert the rollout under its new group, update %s of its steps, then delete the old '
						'rollout.', array_to_string(keys, ', '));
		END IF;
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_lossy_move() IS
'part of create_tables: up to PostgreSQL 14, refuses the UPDATE of a rollout that would delete its steps';

-- Fills in state, next_state and action_hash where an INSERT does not give them.
-- A trigger rather than generated columns: stored values stay the same in a dump and
-- in a replica, even if later versions derive different ones from the same text.
CREATE FUNCTION stepadv_internal.fill_identities() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_fill_identities';
COMMENT ON FUNCTION stepadv_internal.fill_identities() IS
'part of create_tables: a trigger BEFORE INSERT OR UPDATE OF columns, FOR EACH ROW, whose arguments name these '
'columns; fills NULLs in state, next_state and action_hash by hashes of the observations, and of the tool call or the '
'action; an UPDATE of these changes only hashes that it had filled';

CREATE FUNCTION stepadv.unique_state() RETURNS bigint
LANGUAGE c VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_unique_state';
COMMENT ON FUNCTION stepadv.unique_state() IS
'a random identity, different for each call: for a state (or action_hash) that no other step shares, where a trigger '
'would fill NULL';

-- The fixed columns of the tables, and PostgreSQL's system columns.
CREATE FUNCTION stepadv_internal.table_columns() RETURNS TABLE (name text, can_be_key boolean)
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT k, true FROM unnest('{task_id,run_id,policy_version}'::text[]) k
	UNION ALL
	SELECT c, false FROM unnest('{
		rollout_id, policy_step, model, outcome, success, truncated, channel, curation, started_at,
		ended_at, tags, metadata, step_id, step_no, turn, observation, action, tool, args, ok, next_observation,
		state, action_hash, next_state, coarse_state, reward, turn_reward, value, cost, logp, prompt_token_ids,
		response_token_ids, response_mask, rollout_logprobs, policy_logprobs, ref_logprobs, tableoid, ctid, xmin,
		xmax, cmin, cmax}'::text[]) c
$$;
COMMENT ON FUNCTION stepadv_internal.table_columns() IS
'part of create_tables: columns of its tables, and whether they can be the group''s';

-- %1$I: the schema; %2$L: the sequence; %3$s: definitions of the group's columns;
-- %4$s: their names in the order of the keys; %5$s and %6$s: definitions of those of
-- task, run and version that are not among them; %7$s: the PARTITION BY clause.
CREATE FUNCTION stepadv_internal.tables_ddl() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $ddl$
	SELECT $$
		CREATE TABLE %1$I.rollouts (
			%3$s,
			rollout_id text COLLATE "C" NOT NULL,
			%5$smodel text,
			outcome float8 CHECK (outcome > '-Infinity' AND outcome < 'Infinity'),
			success boolean,
			truncated boolean NOT NULL DEFAULT false,
			channel text NOT NULL DEFAULT 'train' CHECK (channel IN ('train', 'validation')),
			curation text,
			started_at timestamptz,
			ended_at timestamptz,
			metadata jsonb,
			%6$spolicy_step bigint,
			tags jsonb,
			PRIMARY KEY (%4$s, rollout_id)
		)%7$s;

		-- A sequence of its own rather than an identity column, which partitions
		-- inherit only from PostgreSQL 17 on.  With a cache, a COPY takes a twentieth less time.
		CREATE SEQUENCE %1$I.steps_step_id_seq CACHE 64;

		-- Columns that every query reads come first: reading a column means stepping over all before it.
		CREATE TABLE %1$I.steps (
			step_id bigint NOT NULL DEFAULT nextval(%2$L::regclass),
			state bigint,
			action_hash bigint,
			step_no integer NOT NULL,
			%3$s,
			rollout_id text COLLATE "C" NOT NULL,
			reward float8 CHECK (abs(reward) < 'Infinity'),
			coarse_state bigint,
			next_state bigint,
			turn integer,
			turn_reward float8 CHECK (abs(turn_reward) < 'Infinity'),
			value float8 CHECK (abs(value) < 'Infinity'),
			cost float8 CHECK (cost > 0 AND cost < 'Infinity'),
			logp float8 CHECK (logp > '-Infinity' AND logp <= 0),
			observation text,
			action text,
			tool text,
			args jsonb,
			ok boolean,
			next_observation text,
			prompt_token_ids integer[],
			response_token_ids integer[],
			response_mask boolean[] CHECK (cardinality(response_mask) = cardinality(response_token_ids)),
			rollout_logprobs real[] CHECK (cardinality(rollout_logprobs) = cardinality(response_token_ids)),
			policy_logprobs real[] CHECK (cardinality(policy_logprobs) = cardinality(response_token_ids)),
			ref_logprobs real[] CHECK (cardinality(ref_logprobs) = cardinality(response_token_ids)),
			metadata jsonb,
			PRIMARY KEY (%4$s, rollout_id, step_no)
		)%7$s;

		ALTER SEQUENCE %1$I.steps_step_id_seq OWNED BY %1$I.steps.step_id;

		-- Log-probabilities do not compress, and the attempt costs more than
		-- storing them.
		ALTER TABLE %1$I.steps ALTER COLUMN rollout_logprobs SET STORAGE EXTERNAL,
			ALTER COLUMN policy_logprobs SET STORAGE EXTERNAL;
		$$
$ddl$;
COMMENT ON FUNCTION stepadv_internal.tables_ddl() IS 'part of create_tables: the tables, as a template for format()';

CREATE FUNCTION stepadv_internal.tables_comments() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $ddl$
	SELECT $$
		COMMENT ON TABLE %1$I.rollouts IS 'rollouts: one row each; those of a group are compared with each other';
		COMMENT ON COLUMN %1$I.rollouts.task_id IS 'the task';
		COMMENT ON COLUMN %1$I.rollouts.run_id IS 'the experiment, or its seed';
		COMMENT ON COLUMN %1$I.rollouts.policy_version IS 'name of the policy that acted';
		COMMENT ON COLUMN %1$I.rollouts.policy_step IS 'policy step of the policy that acted';
		COMMENT ON COLUMN %1$I.rollouts.tags IS 'further labels of the rollout';
		COMMENT ON COLUMN %1$I.rollouts.outcome IS 'score of the whole rollout; NULL: not judged yet';
		COMMENT ON COLUMN %1$I.rollouts.success IS 'whether the rollout reached its goal; NULL: unknown';
		COMMENT ON COLUMN %1$I.rollouts.truncated IS 'whether a limit ended the rollout';
		COMMENT ON COLUMN %1$I.rollouts.channel IS 'train or validation; give validation rollouts groups of their own';
		COMMENT ON COLUMN %1$I.rollouts.curation IS 'label for the selection of training rollouts';
		COMMENT ON COLUMN %1$I.rollouts.rollout_id IS 'name of the rollout, unique in its group';
		COMMENT ON COLUMN %1$I.rollouts.model IS 'the model that acted';
		COMMENT ON COLUMN %1$I.rollouts.started_at IS 'when the rollout began';
		COMMENT ON COLUMN %1$I.rollouts.ended_at IS 'when the rollout ended';
		COMMENT ON COLUMN %1$I.rollouts.metadata IS 'further data about the rollout';
		COMMENT ON TABLE %1$I.steps IS 'steps of rollouts: one decision each';
		COMMENT ON COLUMN %1$I.steps.step_id IS 'number of the step, from a sequence';
		COMMENT ON COLUMN %1$I.steps.step_no IS 'order of the steps within the rollout';
		COMMENT ON COLUMN %1$I.steps.turn IS 'turn of the conversation; several steps may share one (parallel tool '
			'calls)';
		COMMENT ON COLUMN %1$I.steps.rollout_id IS 'as in rollouts';
		COMMENT ON COLUMN %1$I.steps.observation IS 'what the agent saw before it acted';
		COMMENT ON COLUMN %1$I.steps.action IS 'what the agent did, as text';
		COMMENT ON COLUMN %1$I.steps.tool IS 'the tool that was called; NULL: none';
		COMMENT ON COLUMN %1$I.steps.args IS 'arguments of the tool call';
		COMMENT ON COLUMN %1$I.steps.metadata IS 'further data about the step';
		COMMENT ON COLUMN %1$I.steps.ok IS 'whether the tool call succeeded; NULL: unknown';
		COMMENT ON COLUMN %1$I.steps.next_observation IS 'what the agent saw after the action, if that is not '
			'the observation of the next step';
		COMMENT ON COLUMN %1$I.steps.state IS 'identity of the state before the action; steps with equal states are '
			'compared; by default a hash of the observation; NULL: no other step shares it';
		COMMENT ON COLUMN %1$I.steps.action_hash IS 'identity of the action; by default a hash of the tool call, or of '
			'the text; NULL: no other step shares it';
		COMMENT ON COLUMN %1$I.steps.next_state IS
			'identity of the state after the action; by default a hash of next_observation';
		COMMENT ON COLUMN %1$I.steps.coarse_state IS 'identity of a coarser state that contains the state, for k of '
			'rtmc and batch_td';
		COMMENT ON COLUMN %1$I.steps.reward IS 'reward of the step alone; see the view rollout_rows for whether it '
			'counts';
		COMMENT ON COLUMN %1$I.steps.turn_reward IS 'turn-level reward, for mt_grpo and mt_rloo';
		COMMENT ON COLUMN %1$I.steps.value IS 'the critic''s V(state), for gae';
		COMMENT ON COLUMN %1$I.steps.cost IS 'cost of the step as an edge, for graphgpo; NULL: 1';
		COMMENT ON COLUMN %1$I.steps.logp IS 'log-probability of the action by the policy that acted, for weights of '
			'batch_td';
		COMMENT ON COLUMN %1$I.steps.prompt_token_ids IS 'the step''s prompt as the policy saw it';
		COMMENT ON COLUMN %1$I.steps.response_token_ids IS 'what the policy generated';
		COMMENT ON COLUMN %1$I.steps.response_mask IS 'which response tokens are trained on; as long as '
			'response_token_ids';
		COMMENT ON COLUMN %1$I.steps.rollout_logprobs IS 'log-probabilities of the response tokens under the policy '
			'that acted; as long as response_token_ids';
		COMMENT ON COLUMN %1$I.steps.policy_logprobs IS 'log-probabilities of the response tokens under the current '
			'policy, for the view steps_ratios; as long as response_token_ids';
		COMMENT ON COLUMN %1$I.steps.ref_logprobs IS 'log-probabilities of the response tokens under a reference '
			'policy, for kl_to_reference of the view steps_ratios; as long as response_token_ids';
		$$
$ddl$;
COMMENT ON FUNCTION stepadv_internal.tables_comments() IS
'part of create_tables: what the tables and columns are, as a template for format()';

-- This view alone defines what counts as the reward, where users can read it.
CREATE FUNCTION stepadv_internal.make_rollout_rows(schema text, reward text, keys text[], in_shards boolean)
	RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $rows$
DECLARE
	outcome_reward text;
	step_reward text;
BEGIN
	outcome_reward := 'coalesce(r.outcome, r.success::integer::float8)';
	step_reward := 's.reward';
	IF make_rollout_rows.reward = 'steps' THEN
		outcome_reward := 'NULL::float8';
	ELSIF make_rollout_rows.reward = 'outcome' THEN
		step_reward := 'NULL::float8';
	END IF;
	EXECUTE format(stepadv_internal.rollout_rows_template(in_shards), make_rollout_rows.schema, step_reward,
		outcome_reward,
		CASE WHEN stepadv_internal.server_has('security_invoker'::text) THEN 'WITH (security_invoker = true)'
			ELSE '' END,
		stepadv_internal.list(make_rollout_rows.keys, 's.%1$I'::text, ', '::text),
		stepadv_internal.list(make_rollout_rows.keys, 'r.%1$I'::text, ', '::text),
			stepadv_internal.list(make_rollout_rows.keys, 's.%1$I = r.%1$I'::text, ' AND '::text));
	EXECUTE format('COMMENT ON VIEW %I.rollout_rows IS %L', make_rollout_rows.schema,
		'what rollout_agg is fed: one row per step, and per rollout one with step_no NULL that carries its success; '
		'reward: '
		|| CASE make_rollout_rows.reward
			WHEN 'outcome' THEN 'the outcome (or, where it is NULL, success as 1 or 0), as terminal reward; rewards of '
				'steps are left out'
			WHEN 'steps' THEN 'that of the steps; the outcome is left out'
			ELSE 'those of the steps and the outcome (or, where it is NULL, success as 1 or 0) as terminal reward' END);
END
$rows$;
COMMENT ON FUNCTION stepadv_internal.make_rollout_rows(text, text, text[], boolean) IS
'part of create_tables: the view rollout_rows, which rollout_agg is fed from';

CREATE FUNCTION stepadv_internal.check_group_by(group_by text[]) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	max_length CONSTANT integer := current_setting('max_identifier_length')::integer;
	-- The primary key of steps also has rollout_id and step_no.
	most CONSTANT integer := current_setting('max_index_keys')::integer - 2;
	wrong text;
BEGIN
	IF coalesce(cardinality(check_group_by.group_by), 0) = 0 THEN
		RAISE EXCEPTION 'group_by must name at least one column' USING ERRCODE = 'invalid_parameter_value';
	ELSIF cardinality(check_group_by.group_by) > most THEN
		RAISE EXCEPTION 'group_by names % columns, more than %', cardinality(check_group_by.group_by),
			most USING ERRCODE = 'too_many_columns';
	ELSIF array_ndims(check_group_by.group_by) > 1 OR array_position(check_group_by.group_by, NULL) IS NOT NULL
		OR '' = ANY (check_group_by.group_by) THEN
		RAISE EXCEPTION 'group_by must be a list of names, not %', check_group_by.group_by
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT n.n INTO wrong FROM unnest(check_group_by.group_by) n(n) WHERE octet_length(n.n) > max_length LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'the name of column "%" given in group_by is longer than % bytes', wrong,
			max_length USING ERRCODE = 'name_too_long';
	END IF;
	SELECT n.n INTO wrong FROM unnest(check_group_by.group_by) n(n) GROUP BY n.n HAVING count(*) > 1 ORDER BY n.n
		LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'group_by names column "%" twice', wrong USING ERRCODE = 'duplicate_column';
	END IF;
	SELECT c.name INTO wrong FROM stepadv_internal.table_columns() c WHERE NOT c.can_be_key
		AND c.name = ANY (check_group_by.group_by) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'rollouts cannot be grouped by column "%" of the tables', wrong
			USING ERRCODE = 'invalid_parameter_value',
				HINT = format('Of the tables'' own columns group_by may name %s; any other name becomes a text column '
					'of both tables.',
					(SELECT string_agg(c.name, ', ') FROM stepadv_internal.table_columns() c WHERE c.can_be_key));
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_group_by(text[]) IS
'part of create_tables: error if these cannot be the columns of the group';

CREATE FUNCTION stepadv_internal.check_tables(schema text, reward text, partitions integer, unit text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	names text[] := ARRAY['rollouts', 'steps', 'rollout_rows', 'steps_step_id_seq'];
	taken text;
BEGIN
	IF check_tables.schema IS NULL OR check_tables.schema = '' THEN
		RAISE EXCEPTION 'schema must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF check_tables.reward IS NULL OR check_tables.reward NOT IN ('outcome', 'steps', 'sum') THEN
		RAISE EXCEPTION 'unknown kind of reward: %', coalesce(quote_literal(check_tables.reward), 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'reward is ''outcome'' (of the rollout), ''steps'' (their own rewards) or ''sum'' (both).';
	END IF;
	IF check_tables.partitions IS NULL OR check_tables.partitions NOT BETWEEN 0 AND 1000 THEN
		RAISE EXCEPTION 'partitions must be between 0 and 1000, not %', coalesce(check_tables.partitions::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM stepadv_internal.check_unit(coalesce(check_tables.unit, 'step'), ''::text);
	FOR i IN 0 .. check_tables.partitions - 1 LOOP
		names := names || ARRAY['rollouts_p' || i, 'steps_p' || i];
	END LOOP;
	SELECT c.relname INTO taken
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = check_tables.schema AND c.relname = ANY (names)
	ORDER BY array_position(names, c.relname::text) LIMIT 1;
	IF taken IS NOT NULL THEN
		RAISE EXCEPTION 'relation "%" already exists in schema "%"', taken, check_tables.schema
			USING ERRCODE = 'duplicate_table', HINT = 'Choose another schema for the tables.';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_tables(text, text, integer, text) IS
'part of create_tables: error if an argument is invalid, or a name is taken';

-- Tables, partitions, triggers, indexes and the view of rows.
CREATE FUNCTION stepadv_internal.make_tables(schema text, reward text, partitions integer, states text, keys text[],
	shards integer) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- Rollouts stored without a run or version share the empty one.  Another collation takes half as long again to
	-- compare the keys of a COPY, and may change with the system, which breaks indexes.
	definitions CONSTANT text := (
		SELECT string_agg(format('%I text COLLATE "C" NOT NULL', k.name) || CASE
			WHEN k.name IN ('run_id', 'policy_version') THEN format(' DEFAULT %L', '') ELSE '' END, ', ' ORDER BY k.i)
		FROM unnest(make_tables.keys) WITH ORDINALITY k(name, i));
	listed CONSTANT text := stepadv_internal.list(make_tables.keys, '%1$I'::text, ', '::text);
	-- The task first: most queries give it alone, and it selects the fewest rows.
	ordered CONSTANT text[] := array_remove(ARRAY[CASE WHEN 'task_id' = ANY (make_tables.keys) THEN 'task_id' END],
		NULL) || array_remove(make_tables.keys, 'task_id');
	others CONSTANT text[] := ARRAY(SELECT c.name FROM stepadv_internal.table_columns() c WHERE c.can_be_key
		AND c.name <> ALL (make_tables.keys));
	-- States that do not come from observations are derived by attach.
	filled CONSTANT text[] := CASE WHEN coalesce(make_tables.states, 'observation') IN ('observation',
		'observation_last') THEN '{observation,state}' ELSE '{}' END::text[]
		|| '{next_observation,next_state,action,tool,args,ok,action_hash}'::text[];
	parts CONSTANT integer := CASE WHEN shards IS NULL THEN make_tables.partitions ELSE 0 END;
BEGIN
	EXECUTE format(stepadv_internal.tables_ddl(), make_tables.schema, format('%I.steps_step_id_seq',
		make_tables.schema), definitions,
		stepadv_internal.list(ordered, '%1$I'::text, ', '::text), CASE WHEN 'policy_version' = ANY (others)
			THEN 'policy_version text, ' ELSE '' END,
		(SELECT coalesce(string_agg(quote_ident(o.name) || ' text, ', '' ORDER BY o.i), '')
			FROM unnest(others) WITH ORDINALITY o(name, i) WHERE o.name <> 'policy_version'),
		CASE WHEN parts > 0 THEN format(' PARTITION BY HASH (%s)', listed) ELSE '' END);
	FOR i IN 0 .. parts - 1 LOOP
		EXECUTE format($q$
			CREATE TABLE %1$I.%2$I PARTITION OF %1$I.rollouts FOR VALUES WITH (MODULUS %4$s, REMAINDER %5$s);
			CREATE TABLE %1$I.%3$I PARTITION OF %1$I.steps FOR VALUES WITH (MODULUS %4$s, REMAINDER %5$s);
			$q$, make_tables.schema, 'rollouts_p' || i, 'steps_p' || i, parts, i);
	END LOOP;
	-- Ensures that each step has a rollout.  A foreign key looks up the rollout for each step, which costs more than
	-- storing the step; it is used only with partitions and shards, where rows may move.  %2$s: the group's columns;
	-- %3$s: the ON UPDATE clause, empty on shards, where keys cannot change.
	EXECUTE format(CASE WHEN parts > 0 OR shards IS NOT NULL THEN
		'ALTER TABLE %1$I.steps ADD FOREIGN KEY (%2$s, rollout_id) REFERENCES %1$I.rollouts%3$s ON DELETE CASCADE'
		ELSE $q$
		CREATE CONSTRAINT TRIGGER steps_rollout_fkey AFTER INSERT ON %1$I.steps FROM %1$I.rollouts
			FOR EACH ROW WHEN (stepadv_internal.is_new_rollout(%5$s, NEW.rollout_id))
				EXECUTE FUNCTION stepadv_internal.check_rollout();
		CREATE CONSTRAINT TRIGGER steps_moved_rollout_fkey AFTER UPDATE ON %1$I.steps FROM %1$I.rollouts
			FOR EACH ROW WHEN ((OLD.rollout_id, %4$s) IS DISTINCT FROM (NEW.rollout_id, %5$s))
				EXECUTE FUNCTION stepadv_internal.check_rollout();
		CREATE CONSTRAINT TRIGGER stepadv_delete_steps AFTER DELETE ON %1$I.rollouts FROM %1$I.steps
			FOR EACH ROW EXECUTE FUNCTION stepadv_internal.cascade_to_steps();
		CREATE CONSTRAINT TRIGGER stepadv_rename_steps AFTER UPDATE ON %1$I.rollouts FROM %1$I.steps
			FOR EACH ROW WHEN ((OLD.rollout_id, %4$s) IS DISTINCT FROM (NEW.rollout_id, %5$s))
				EXECUTE FUNCTION stepadv_internal.cascade_to_steps();
		CREATE TRIGGER stepadv_truncate_steps AFTER TRUNCATE ON %1$I.rollouts
			FOR EACH STATEMENT EXECUTE FUNCTION stepadv_internal.cascade_to_steps();
		$q$ END, make_tables.schema,
		stepadv_internal.list(ordered, '%1$I'::text, ', '::text),
		CASE WHEN shards IS NULL THEN ' ON UPDATE CASCADE' ELSE '' END,
		stepadv_internal.list(ordered, 'OLD.%1$I'::text, ', '::text), stepadv_internal.list(ordered, 'NEW.%1$I'::text,
			', '::text));
	IF parts > 0 AND NOT stepadv_internal.server_has('moves between partitions'::text) THEN
		EXECUTE format('CREATE TRIGGER refuse_lossy_move BEFORE UPDATE OF %2$s ON %1$I.rollouts '
			'FOR EACH ROW WHEN (%3$s) EXECUTE FUNCTION stepadv_internal.refuse_lossy_move()', make_tables.schema,
				listed,
			stepadv_internal.list(make_tables.keys, 'OLD.%1$I <> NEW.%1$I'::text, ' OR '::text));
	END IF;
	-- Triggers fire in order of name: this one after most of the user's triggers, which may change the row.
	EXECUTE format('CREATE TRIGGER stepadv_fill_identities BEFORE INSERT OR UPDATE OF %2$s ON %1$I.steps '
		'FOR EACH ROW EXECUTE FUNCTION stepadv_internal.fill_identities(%3$s)', make_tables.schema,
			array_to_string(filled, ', '),
		(SELECT string_agg(quote_literal(f.name), ', ' ORDER BY f.i) FROM unnest(filled) WITH ORDINALITY f(name, i)));
	EXECUTE format('CREATE INDEX ON %1$I.rollouts (policy_version, model); CREATE INDEX ON %1$I.rollouts (run_id, '
		'policy_step)', make_tables.schema);
	-- For queries by run, version or step_id alone.  Steps of a run are stored together, in the order of insertion, so
	-- a BRIN index suffices; inserts cost a third of those into another index, for any number of columns.  Once new
	-- rows have taken the place of deleted ones, its ranges may span the whole table.
	EXECUTE format('CREATE INDEX ON %I.steps USING brin (%s) WITH (autosummarize = on)', make_tables.schema,
		stepadv_internal.list(ordered[2:] || 'step_id'::text, '%1$I'::text, ', '::text));
	-- For queries of one task across runs and versions.
	IF ordered[1] <> 'task_id' THEN
		EXECUTE format('CREATE INDEX ON %I.rollouts (task_id)', make_tables.schema);
	END IF;
	EXECUTE format(stepadv_internal.tables_comments(), make_tables.schema);
	IF shards IS NOT NULL THEN
		PERFORM stepadv_internal.distribute_tables(make_tables.schema, make_tables.keys, shards);
	END IF;
	PERFORM stepadv_internal.make_rollout_rows(make_tables.schema, make_tables.reward, make_tables.keys,
		shards IS NOT NULL);
	EXECUTE (SELECT string_agg(format('COMMENT ON COLUMN %I.rollout_rows.%I IS %L', make_tables.schema, v.attname,
			CASE v.attname WHEN 'reward' THEN 'what counts as reward of the row; NULL: none'
				ELSE coalesce(col_description(t.attrelid, t.attnum), 'as in ' || t.attrelid::regclass) END), '; ')
		FROM pg_attribute v CROSS JOIN LATERAL (SELECT a.attrelid, a.attnum FROM pg_attribute a
			WHERE a.attname = v.attname AND a.attrelid IN (format('%I.steps', make_tables.schema)::regclass,
				format('%I.rollouts', make_tables.schema)::regclass)
			ORDER BY col_description(a.attrelid, a.attnum) IS NULL, a.attrelid LIMIT 1) t
		WHERE v.attrelid = format('%I.rollout_rows', make_tables.schema)::regclass AND v.attnum > 0);
END
$$;
COMMENT ON FUNCTION stepadv_internal.make_tables(text, text, integer, text, text[], integer) IS
'part of create_tables: all but the views of attach';

CREATE FUNCTION stepadv_internal.create_tables(schema text, reward text, partitions integer, states text,
	group_by text[], unit text, distribute boolean, shards integer, views text[])
RETURNS TABLE (view_name regclass, description text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $create_tables$
DECLARE
	in_shards integer;
BEGIN
	PERFORM stepadv_internal.check_tables(schema, reward, partitions, unit);
	PERFORM stepadv_internal.check_group_by(group_by);
	in_shards := stepadv_internal.check_shards(distribute, shards);
	IF NOT EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = create_tables.schema) THEN
		EXECUTE format('CREATE SCHEMA %I', create_tables.schema);
	END IF;
	PERFORM stepadv_internal.make_tables(schema, reward, partitions, states, group_by, in_shards);
	RETURN QUERY SELECT a.view_name, a.description
	FROM stepadv.attach(
		source => format('%I.rollout_rows', create_tables.schema)::regclass,
		group_by => create_tables.group_by, rollout_id => 'rollout_id'::text, step_no => 'step_no'::text,
			state => 'state'::text,
		-- With states derived from signatures, actions are signatures, too.
		action => CASE WHEN create_tables.states = 'signature' THEN NULL ELSE 'action_hash' END,
			reward => 'reward'::text,
		columns => '{
			"step_id": "step_id", "success": "success", "next_state": "next_state",
			"coarse_state": "coarse_state", "logp": "logp", "value": "value",
			"turn_reward": "turn_reward", "cost": "cost", "turn": "turn", "tool": "tool", "args": "args", "ok": "ok",
			"category": "tool", "truncated": "truncated", "logp_new": "policy_logprobs",
			"logp_old": "rollout_logprobs", "logp_ref": "ref_logprobs", "token_mask": "response_mask",
			"prompt_token_ids": "prompt_token_ids", "response_token_ids": "response_token_ids", "task_id": "task_id",
			"run_id": "run_id", "policy_version": "policy_version", "policy_step": "policy_step",
			"started_at": "started_at", "ended_at": "ended_at"}'::jsonb,
		views => create_tables.views, prefix => 'steps'::text, schema => NULL::text,
		options => jsonb_strip_nulls(jsonb_build_object('show_steps', 'steps', 'show_rollouts', 'rollouts', 'states',
			create_tables.states, 'unit', create_tables.unit))) a;
END
$create_tables$;

COMMENT ON FUNCTION stepadv_internal.create_tables(text, text, integer, text, text[], text, boolean, integer, text[]) IS
'what create_tables does';

-- No view _mt_grpo by default: the column turn_reward always exists, but is usually NULL.
CREATE FUNCTION stepadv.create_tables(schema text, reward text DEFAULT 'outcome', partitions integer DEFAULT 0,
	states text DEFAULT NULL,
	group_by text[] DEFAULT '{run_id,policy_version,task_id}', unit text DEFAULT NULL,
		distribute boolean DEFAULT false, shards integer DEFAULT NULL,
	views text[] DEFAULT '{values,groups,rollouts,history_td,grpo,gae,gigpo,graphgpo,rtmc,batch_td,compare,problems}')
RETURNS TABLE (view_name regclass, description text)
LANGUAGE c ROWS 20 AS 'MODULE_PATHNAME', 'stepadv_as_caller';
COMMENT ON FUNCTION stepadv.create_tables(text, text, integer, text, text[], text, boolean, integer, text[]) IS
'creates the tables rollouts and steps, the view rollout_rows, which defines the reward (''outcome'', ''steps'' or '
'their ''sum''), and the views of attach over it, steps_…; states, unit: as in attach; partitions: by hash of the '
'group (0: none); distribute: by Citus, into shards; returns a row per view';

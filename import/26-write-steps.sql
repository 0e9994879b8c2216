-- Steps into the schema's table, with their hashes.

-- As an INSERT does it, where that would do nothing else than keep the foreign key:
-- the rollout is looked up once for all its steps, and they are written many at a
-- time.
CREATE FUNCTION stepadv_internal.write_steps(steps regclass, rollouts regclass, columns text[], n_keys integer, whole boolean, query text) RETURNS bigint
LANGUAGE c STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'stepadv_write_steps';
COMMENT ON FUNCTION stepadv_internal.write_steps(regclass, regclass, text[], integer, boolean, text) IS
'part of load_rollouts: writes what the query gives to these columns of a canonical table of steps, the first n_keys of which tell its rollout, and counts; whole: the query gives rollouts, behind the columns a list of steps in our words and what their metadata is to have besides; error (23503) where there is no such rollout; NULL: nothing was written, as triggers, row security or other columns leave it to an INSERT';

-- The columns of a step, and the query for their values.
CREATE FUNCTION stepadv_internal.load_steps_query(schema text, whole boolean, OUT columns text[], OUT query text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	columns := (SELECT s.keys FROM stepadv_internal.load_shape(load_steps_query.schema) s) || '{rollout_id,step_no,turn,observation,action,tool,args,ok,next_observation,
		state,action_hash,next_state,reward,turn_reward,value,cost,prompt_token_ids,response_token_ids,response_mask,rollout_logprobs,metadata}'::text[];
	query := format($q$
		SELECT %2$s, p.rollout_id, p.step_no, p.turn, p.observation, p.action, p.tool, p.args, p.ok,
			CASE WHEN p.next_observation IS DISTINCT FROM lead(p.observation) OVER w THEN p.next_observation END,
			-- Rollouts that begin without an observation begin in one state, which
			-- no text can have: its bytes are those of U+0000.
			CASE WHEN p.observation IS NOT NULL THEN @extschema@.signature_hash(p.observation)
				WHEN row_number() OVER w > 1 THEN NULL
				WHEN EXISTS (SELECT FROM %1$s s WHERE %3$s AND s.rollout_id = p.rollout_id AND s.step_no < p.step_no) THEN NULL
				ELSE @extschema@.signature_hash('\x00'::bytea) END,
			CASE WHEN p.tool IS NOT NULL AND (p.args IS NOT NULL OR p.action IS NULL)
				THEN @extschema@.signature_hash(jsonb_build_array(p.tool, p.args))
				ELSE @extschema@.signature_hash(p.action) END,
			@extschema@.signature_hash(p.next_observation),
			p.reward, p.turn_reward, p.value, p.cost,
			p.prompt_token_ids, p.response_token_ids, p.response_mask, p.rollout_logprobs, %4$s
		FROM pg_temp.stepadv_parsed p
		WHERE p.step_no IS NOT NULL
		WINDOW w AS (PARTITION BY %5$s ORDER BY p.step_no)
		$q$, stepadv_internal.load_known_name(load_steps_query.schema, 'steps'::text), stepadv_internal.load_key_list(load_steps_query.schema, 'p.k%2$s'::text, ', '::text),
		stepadv_internal.load_key_list(load_steps_query.schema, 's.%1$s = p.k%2$s'::text, ' AND '::text), stepadv_internal.load_metadata(load_steps_query.schema),
		CASE WHEN load_steps_query.whole THEN 'p.item' ELSE 'p.of_group, p.rollout_id' END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_steps_query(text, boolean) IS
'part of load_rollouts: the columns of steps that a load gives, and the query for their values, with their hashes, from pg_temp.stepadv_parsed';

-- Rollouts with their steps, none of which the tables have.
CREATE FUNCTION stepadv_internal.load_items_query(schema text, OUT columns text[], OUT query text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	k CONSTANT record := stepadv_internal.load_kept(load_items_query.schema);
BEGIN
	columns := (SELECT s.keys FROM stepadv_internal.load_shape(load_items_query.schema) s) || '{rollout_id}'::text[];
	query := format('SELECT %s, p.rollout_id, p.steps, %s FROM (SELECT i.*, NULL::bigint AS policy_step, NULL::jsonb AS tags FROM pg_temp.stepadv_items i) p',
		stepadv_internal.load_key_list(load_items_query.schema, 'p.k%2$s'::text, ', '::text),
		CASE WHEN k.given IS NULL THEN 'NULL::jsonb' ELSE format('CASE WHEN num_nonnulls(%s) > 0 THEN %s END', k.given, k.kept) END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_items_query(text) IS
'part of import_rollouts: the columns of rollouts in pg_temp.stepadv_items, and the query for their values, their steps and what is to be kept in the metadata of these';

CREATE FUNCTION stepadv_internal.load_write_steps(schema text, whole boolean, OUT steps_added bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- Of rollouts that the table has the steps were looked at one by one.
	of_items CONSTANT boolean := load_write_steps.whole AND NOT EXISTS (SELECT FROM pg_temp.stepadv_parsed);
	steps CONSTANT regclass := format('%I.steps', load_write_steps.schema)::regclass;
	rollouts CONSTANT regclass := format('%I.rollouts', load_write_steps.schema)::regclass;
	waits CONSTANT boolean := stepadv_internal.load_is_distributed(load_write_steps.schema);
	n_steps bigint;
	q record;
BEGIN
	IF of_items THEN
		n_steps := (SELECT sum(i.n_steps) FROM pg_temp.stepadv_items i);
		q := stepadv_internal.load_items_query(load_write_steps.schema);
	ELSE
		n_steps := (SELECT count(*) FROM pg_temp.stepadv_parsed p WHERE p.step_no IS NOT NULL);
		q := stepadv_internal.load_steps_query(load_write_steps.schema, load_write_steps.whole);
	END IF;
	PERFORM stepadv_internal.begin_work('wrote'::text, 'steps'::text, ''::text, coalesce(n_steps, 0));
	BEGIN
		steps_added := stepadv_internal.write_steps(CASE WHEN waits THEN stepadv_internal.load_make_waiting(load_write_steps.schema) ELSE steps END, rollouts, q.columns, cardinality(q.columns) - CASE WHEN of_items THEN 0 ELSE 20 END, of_items, q.query);
	EXCEPTION WHEN foreign_key_violation THEN
		-- The INSERT will tell which.
	END;
	IF waits AND steps_added IS NOT NULL THEN
		steps_added := stepadv_internal.load_move_steps(load_write_steps.schema);
	ELSIF steps_added IS NULL THEN
		IF of_items THEN
			PERFORM stepadv_internal.import_lines(load_write_steps.schema);
			q := stepadv_internal.load_steps_query(load_write_steps.schema, load_write_steps.whole);
		END IF;
		EXECUTE format('INSERT INTO %s (%s) %s', stepadv_internal.load_name(steps), (SELECT string_agg(quote_ident(c.name), ', ' ORDER BY c.i) FROM unnest(q.columns) WITH ORDINALITY c(name, i)), q.query);
		GET DIAGNOSTICS steps_added = ROW_COUNT;
	END IF;
	PERFORM stepadv_internal.end_work();
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_write_steps(text, boolean) IS
'part of load_rollouts: writes the steps of pg_temp.stepadv_parsed, or where there are none those of the rollouts in pg_temp.stepadv_items, to the schema''s table, with their hashes, and counts';

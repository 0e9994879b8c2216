-- What must be so before a load, and what of it comes twice or is there already.

-- What must be so before anything is read; and no temporary table of a load that
-- was called before in the same transaction.
CREATE FUNCTION stepadv_internal.load_begin(schema text, on_error text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	relic text;
BEGIN
	IF load_begin.on_error IS NULL OR load_begin.on_error NOT IN ('stop', 'skip') THEN
		RAISE EXCEPTION 'unknown on_error: %', coalesce(quote_literal(load_begin.on_error), 'NULL')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'on_error is ''stop'' or ''skip''.';
	END IF;
	-- Rollouts are UTF-8; no other encoding holds every line, or the U+FFFD that stands for U+0000.
	IF getdatabaseencoding() <> 'UTF8' THEN
		RAISE EXCEPTION 'rollouts cannot be loaded into a database with encoding %', getdatabaseencoding()
			USING ERRCODE = 'feature_not_supported', HINT = 'Use a database with encoding UTF8.';
	END IF;
	PERFORM stepadv_internal.load_shape(load_begin.schema);
	FOREACH relic IN ARRAY ARRAY['stepadv_parsed', 'stepadv_problems', 'stepadv_rollouts', 'stepadv_items', 'stepadv_known_rollouts', 'stepadv_known_steps', 'stepadv_waiting'] LOOP
		IF to_regclass('pg_temp.' || relic) IS NOT NULL THEN
			EXECUTE format('DROP TABLE pg_temp.%I', relic);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_begin(text, text) IS 'part of load_rollouts: checks what load_rollouts and import_rollouts need, and drops what temporary tables an earlier call has left';

-- For the long way: the quick one needs none of these.
CREATE FUNCTION stepadv_internal.load_make_parsed(schema text, run_id text, policy_version text, whole boolean) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	CREATE TEMP TABLE stepadv_problems (n bigint, reason text, counted text, item bigint) ON COMMIT DROP;
	-- From here on lines and documents are the same: n (unique, the order), item
	-- (what stays or goes together: a line, or the rollout of a document) and place
	-- (where the user finds it).
	EXECUTE format('CREATE TEMP TABLE stepadv_parsed (n bigint, item bigint, place bigint, LIKE @extschema@.parsed_step%s) ON COMMIT DROP',
		-- Of steps that come in whole rollouts the rollout says it.
		CASE WHEN load_make_parsed.whole THEN stepadv_internal.load_key_list(load_make_parsed.schema, ', k%2$s text'::text, ''::text) || ', group_name text'
			ELSE stepadv_internal.load_key_columns(load_make_parsed.schema, load_make_parsed.run_id, load_make_parsed.policy_version) END);
	-- Read a few times and dropped: not worth compressing.
	ALTER TABLE pg_temp.stepadv_parsed ALTER observation SET STORAGE EXTERNAL, ALTER next_observation SET STORAGE EXTERNAL, ALTER action SET STORAGE EXTERNAL,
		ALTER args SET STORAGE EXTERNAL, ALTER metadata SET STORAGE EXTERNAL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_make_parsed(text, text, text, boolean) IS 'part of load_rollouts: makes the tables of what was parsed and of problems; whole: of rollouts that come whole, else of lines';

-- A line of which nobody says in which group it belongs.
CREATE FUNCTION stepadv_internal.load_drop_groupless(schema text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($q$
		WITH gone AS (DELETE FROM pg_temp.stepadv_parsed p WHERE p.of_group IS NULL RETURNING p.*)
		INSERT INTO pg_temp.stepadv_problems (n, reason, counted)
		SELECT p.place, CASE %s END || ' must be given', 'bad' FROM gone p
		$q$, stepadv_internal.load_key_list(load_drop_groupless.schema, $t$WHEN p.k%2$s IS NULL THEN %3$s$t$::text, ' '::text));
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_drop_groupless(text) IS 'part of load_rollouts: takes lines that lack a column of the group out of pg_temp.stepadv_parsed and notes them';

-- A step that comes twice: word for word the same, or contradicting.
CREATE FUNCTION stepadv_internal.load_drop_repeated(OUT steps_repeated bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	WITH repeated AS (
		SELECT p.n, p.group_name, p.rollout_id, p.step_no, p.content, first_value(p.content) OVER w AS first_content,
			first_value(p.n) OVER w AS first_n
		FROM pg_temp.stepadv_parsed p WHERE p.step_no IS NOT NULL
		WINDOW w AS (PARTITION BY p.of_group, p.rollout_id, p.step_no ORDER BY p.n)
	), gone AS (
		DELETE FROM pg_temp.stepadv_parsed p USING repeated r WHERE p.n = r.n AND r.n <> r.first_n
		RETURNING p.n, r.group_name, r.rollout_id, r.step_no, r.content = r.first_content AS same, r.first_n
	), told AS (
		INSERT INTO pg_temp.stepadv_problems (n, reason, counted)
		SELECT g.n, format('step %s of rollout %s of group %s is not what line %s says', g.step_no, g.rollout_id, g.group_name, g.first_n), 'contradiction'
		FROM gone g WHERE NOT g.same
	)
	SELECT count(*) FILTER (WHERE g.same) INTO steps_repeated FROM gone g;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_drop_repeated() IS
'part of load_rollouts: takes lines of a step that came before out of pg_temp.stepadv_parsed; counts those that say the same, notes those that contradict';

-- A step that the table has already.  Compared by what the user gave: hashes may
-- have been changed since.
CREATE FUNCTION stepadv_internal.load_drop_known(schema text, whole boolean, OUT steps_repeated bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($q$
		WITH known AS (
			SELECT p.n, p.item, p.place, p.group_name, p.rollout_id, p.step_no,
				(p.turn, p.observation, p.action, p.tool, p.args, p.ok, p.reward) IS NOT DISTINCT FROM
				(s.turn, s.observation, s.action, s.tool, s.args, s.ok, s.reward) AS same
			FROM pg_temp.stepadv_parsed p
			JOIN %s s ON %s AND s.rollout_id = p.rollout_id AND s.step_no = p.step_no
		), judged AS (
			SELECT k.*, bool_and(k.same) OVER (PARTITION BY k.item) AS item_same FROM known k
		), gone AS (
			-- The line still speaks for its rollout.
			UPDATE pg_temp.stepadv_parsed p SET step_no = NULL FROM judged k WHERE p.n = k.n
			RETURNING k.*
		), told AS (
			-- One contradiction for each item.
			INSERT INTO pg_temp.stepadv_problems (n, reason, counted, item)
			SELECT DISTINCT ON (g.item) g.place, format('step %%s of rollout %%s of group %%s is not what the table has', g.step_no, g.rollout_id, g.group_name), 'contradiction', g.item
			FROM gone g WHERE NOT g.same ORDER BY g.item, g.step_no
		)
		SELECT count(*) FILTER (WHERE g.item_same) FROM gone g
		$q$, stepadv_internal.load_known_name(load_drop_known.schema, 'steps'::text), stepadv_internal.load_key_list(load_drop_known.schema, 's.%1$s = p.k%2$s'::text, ' AND '::text)) INTO steps_repeated;
	IF load_drop_known.whole THEN
		DELETE FROM pg_temp.stepadv_parsed p USING pg_temp.stepadv_problems e WHERE e.counted = 'contradiction' AND e.item = p.item;
		DELETE FROM pg_temp.stepadv_items i USING pg_temp.stepadv_problems e WHERE e.counted = 'contradiction' AND e.item = i.item;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_drop_known(text, boolean) IS
'part of load_rollouts: takes steps that the schema''s table has out of pg_temp.stepadv_parsed, with whole all of an item that contradicts it; counts those that say the same';

-- Whether the table has any of the rollouts that came whole: mostly it has none,
-- and then no step of them either.
CREATE FUNCTION stepadv_internal.load_is_known(schema text) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_known boolean;
BEGIN
	EXECUTE format('SELECT EXISTS (SELECT FROM pg_temp.stepadv_items i JOIN %s r ON %s AND r.rollout_id = i.rollout_id)', stepadv_internal.load_known_name(load_is_known.schema, 'rollouts'::text),
		stepadv_internal.load_key_list(load_is_known.schema, 'r.%1$s = i.k%2$s'::text, ' AND '::text)) INTO is_known;
	IF is_known THEN
		PERFORM stepadv_internal.import_lines(load_is_known.schema);
		-- To be looked up by rollout, and taken out one by one.
		EXECUTE format('CREATE INDEX ON pg_temp.stepadv_parsed (%s, rollout_id, step_no)', stepadv_internal.load_key_list(load_is_known.schema, 'k%2$s'::text, ', '::text));
		CREATE UNIQUE INDEX ON pg_temp.stepadv_parsed (n);
		EXECUTE format('ANALYZE pg_temp.stepadv_parsed (n, item, %s, rollout_id, step_no)', stepadv_internal.load_key_list(load_is_known.schema, 'k%2$s'::text, ', '::text));
	END IF;
	RETURN is_known;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_is_known(text) IS
'part of import_rollouts: whether the schema''s table has any rollout of pg_temp.stepadv_items; if so pg_temp.stepadv_parsed gets the steps, with the indexes that load_drop_known wants';

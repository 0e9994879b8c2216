-- From what was parsed to the tables: what they have, the rollouts, the steps, and what is
-- told of them.

-- With replace, what says something else than the source does must make room for it.
CREATE FUNCTION stepadv_internal.load_forget(schema text, whole boolean, OUT n_forgotten bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	same_rollout CONSTANT text := stepadv_internal.load_key_list(load_forget.schema, 'r.%1$s = p.k%2$s'::text, ' AND '::text) || ' AND r.rollout_id = p.rollout_id';
	differs CONSTANT text := $c$(p.turn, p.observation, p.action, p.tool, p.args, p.ok, p.reward) IS DISTINCT FROM (r.turn, r.observation, r.action, r.tool, r.args, r.ok, r.reward)$c$;
BEGIN
	IF load_forget.whole THEN
		-- A step that differs, one that the source no longer has, another outcome: all of the rollout is anew.
		EXECUTE format($q$
			WITH other AS (
				SELECT p.item FROM pg_temp.stepadv_parsed p JOIN %1$I.steps r ON %2$s AND r.step_no = p.step_no WHERE %3$s
				UNION SELECT p.item FROM pg_temp.stepadv_items p JOIN %1$I.rollouts r ON %2$s WHERE p.outcome <> r.outcome OR p.success <> r.success
				UNION SELECT p.item FROM pg_temp.stepadv_items p JOIN %1$I.steps r ON %2$s
					WHERE NOT EXISTS (SELECT FROM pg_temp.stepadv_parsed s WHERE s.item = p.item AND s.step_no = r.step_no))
			DELETE FROM %1$I.rollouts r USING pg_temp.stepadv_items p, other o WHERE p.item = o.item AND %2$s
			$q$, load_forget.schema, same_rollout, differs);
		GET DIAGNOSTICS n_forgotten = ROW_COUNT;
	ELSE
		EXECUTE format('DELETE FROM %1$I.steps r USING pg_temp.stepadv_parsed p WHERE %2$s AND r.step_no = p.step_no AND %3$s', load_forget.schema, same_rollout, differs);
		GET DIAGNOSTICS n_forgotten = ROW_COUNT;
		-- The last that the lines say holds, and it is no contradiction.
		EXECUTE format('UPDATE %1$I.rollouts r SET outcome = CASE WHEN p.outcome <> r.outcome THEN NULL ELSE r.outcome END, success = CASE WHEN p.success <> r.success THEN NULL ELSE r.success END
			FROM pg_temp.stepadv_parsed p WHERE %2$s AND (p.outcome <> r.outcome OR p.success <> r.success)', load_forget.schema, same_rollout);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_forget(text, boolean) IS
'part of load_rollouts: deletes of the schema''s tables what pg_temp.stepadv_parsed says otherwise: with whole rollouts, else steps and outcomes';

-- What the table has already, and the rollouts.  Where another load has given it
-- some of them since it was asked, nothing of this has happened: now that the other
-- is done it must be asked again.
CREATE FUNCTION stepadv_internal.load_known(schema text, on_error text, noun text, whole boolean, run_id text, policy_version text, policy_step bigint, replace boolean,
	OUT steps_repeated bigint, OUT bad_items bigint, OUT contradictions bigint, OUT problems jsonb,
	OUT groups bigint, OUT rollouts_added bigint, OUT rollouts_updated bigint, OUT rollouts_repeated bigint, OUT overtaken boolean)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n_replaced bigint;
BEGIN
	steps_repeated := 0;
	n_replaced := 0;
	overtaken := false;
	IF stepadv_internal.load_is_distributed(load_known.schema) THEN
		PERFORM stepadv_internal.load_fetch_known(load_known.schema, load_known.whole);
	END IF;
	IF NOT load_known.whole OR stepadv_internal.load_is_known(load_known.schema) THEN
		IF load_known.replace THEN
			n_replaced := stepadv_internal.load_forget(load_known.schema, load_known.whole);
		END IF;
		steps_repeated := stepadv_internal.load_drop_known(load_known.schema, load_known.whole);
	END IF;
	PERFORM stepadv_internal.load_gather(load_known.schema, load_known.whole, load_known.run_id, load_known.policy_version, load_known.policy_step);
	SELECT r.* INTO bad_items, contradictions, problems FROM stepadv_internal.load_report(load_known.on_error, load_known.noun, load_known.whole) r;
	SELECT r.* INTO load_known.groups, rollouts_added, rollouts_updated, rollouts_repeated, overtaken FROM stepadv_internal.load_write_rollouts(load_known.schema) r;
	IF load_known.whole THEN
		rollouts_added := rollouts_added - n_replaced;
		rollouts_updated := rollouts_updated + n_replaced;
	END IF;
	IF overtaken THEN
		RAISE EXCEPTION 'another load has written some of the same rollouts' USING ERRCODE = 'SA001';
	END IF;
EXCEPTION WHEN SQLSTATE 'SA001' THEN
	-- The variable keeps its value.
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_known(text, text, text, boolean, text, text, bigint, boolean) IS
'part of load_rollouts: looks for what the schema''s tables have of pg_temp.stepadv_parsed, reports problems and writes rollouts; overtaken: nothing has been done, as another load has written some of the same rollouts meanwhile';

-- What somebody who asked (with a table pg_temp.stepadv_told) is told of rollouts, a row
-- each in pg_temp.stepadv_now: of what was told before, in another file of the connection,
-- what is new.
CREATE FUNCTION stepadv_internal.load_tell_rollouts() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	INSERT INTO pg_temp.stepadv_told (rollouts, stepless, judged, timed, of_version, first_at, last_at, steps, with_action, with_state, with_tokens)
	SELECT count(*) - count(s.rollout), sum((n.steps = 0)::integer - coalesce(s.steps = 0, false)::integer), sum(n.judged - coalesce(s.judged, 0)), sum(n.timed - coalesce(s.timed, 0)), sum(n.of_version - coalesce(s.of_version, 0)), min(n.first_at), max(n.last_at),
		sum(n.steps - coalesce(s.steps, 0)), sum(n.with_action - coalesce(s.with_action, 0)), sum(n.with_state - coalesce(s.with_state, 0)), sum(n.with_tokens - coalesce(s.with_tokens, 0))
	FROM pg_temp.stepadv_now n LEFT JOIN pg_temp.stepadv_seen s ON s.rollout = n.rollout;
	DELETE FROM pg_temp.stepadv_seen s USING pg_temp.stepadv_now n WHERE s.rollout = n.rollout;
	INSERT INTO pg_temp.stepadv_seen SELECT n.rollout, n.judged, n.timed, n.of_version, n.steps, n.with_action, n.with_state, n.with_tokens FROM pg_temp.stepadv_now n;
	DROP TABLE pg_temp.stepadv_now;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_tell_rollouts() IS
'part of load_rollouts: adds to pg_temp.stepadv_told what pg_temp.stepadv_now has of rollouts and pg_temp.stepadv_seen had not, and keeps it there';

-- What the tables have of the rollouts that have just been loaded, or were there.
CREATE FUNCTION stepadv_internal.load_tell(schema text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	same_rollout CONSTANT text := stepadv_internal.load_key_list(load_tell.schema, 'r.%1$s = p.k%2$s'::text, ' AND '::text) || ' AND r.rollout_id = p.rollout_id';
	counts CONSTANT text := 'SELECT count(*) AS steps, count(r.action) AS with_action, count(r.state) AS with_state, count(r.response_token_ids) AS with_tokens';
BEGIN
	IF to_regclass('pg_temp.stepadv_told') IS NULL THEN
		RETURN;
	END IF;
	-- Workers add up steps, and know nothing of rollouts that have none or were told of before.
	IF stepadv_internal.load_is_distributed(load_tell.schema) THEN
		EXECUTE format($q$
			INSERT INTO pg_temp.stepadv_told (rollouts, judged, timed, of_version, first_at, last_at)
			SELECT count(*), count(*) FILTER (WHERE r.outcome IS NOT NULL OR r.success IS NOT NULL), count(r.started_at), count(*) FILTER (WHERE p.policy_version <> ''),
				min(r.started_at), max(coalesce(r.ended_at, r.started_at))
			FROM pg_temp.stepadv_rollouts p JOIN %1$I.rollouts r ON %2$s
			$q$, load_tell.schema, same_rollout);
		EXECUTE format('INSERT INTO pg_temp.stepadv_told (steps, with_action, with_state, with_tokens) SELECT s.* FROM (%3$s FROM pg_temp.stepadv_rollouts p JOIN %1$I.steps r ON %2$s) s', load_tell.schema, same_rollout, counts);
		RETURN;
	END IF;
	EXECUTE format($q$
		CREATE TEMP TABLE stepadv_now ON COMMIT DROP AS
		SELECT hash_record_extended(ROW(%4$s, p.rollout_id), 0) AS rollout, (r.outcome IS NOT NULL OR r.success IS NOT NULL)::integer AS judged, (r.started_at IS NOT NULL)::integer AS timed,
			(p.policy_version <> '')::integer AS of_version, r.started_at AS first_at, coalesce(r.ended_at, r.started_at) AS last_at, s.*
		FROM pg_temp.stepadv_rollouts p JOIN %1$I.rollouts r ON %2$s
		-- Rollout by rollout, by the primary key: a file costs what is in it, however large the table is.
		-- (Without statistics another unique index seems as good, and has all steps of the task for each rollout.)
		CROSS JOIN LATERAL (%3$s FROM %1$I.steps r WHERE %2$s AND r.step_no >= -2147483648) s
		$q$, load_tell.schema, same_rollout, counts, stepadv_internal.load_key_list(load_tell.schema, 'p.k%2$s'::text, ', '::text));
	PERFORM stepadv_internal.load_tell_rollouts();
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_tell(text) IS
'part of load_rollouts: adds to pg_temp.stepadv_told, if there is one, what the schema''s tables have of the rollouts in pg_temp.stepadv_rollouts';

CREATE FUNCTION stepadv_internal.load_parsed(schema text, on_error text, noun text, whole boolean, run_id text, policy_version text, policy_step bigint, replace boolean,
	OUT bad_items bigint, OUT groups bigint, OUT rollouts_added bigint, OUT rollouts_updated bigint,
	OUT rollouts_repeated bigint, OUT steps_added bigint, OUT steps_repeated bigint, OUT contradictions bigint, OUT problems jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- The foreign key's own query looks up one partition, and would be planned anew
-- for every step because that is a cheaper plan than one for all.
SET plan_cache_mode = force_generic_plan
-- What is sorted of a file must not grow with it; its lines come nearly in order.
SET work_mem = '32MB'
SET jit = off
AS $$
DECLARE
	known_repeated bigint;
	overtaken boolean;
	n_deadlocks integer := 0;
BEGIN
	steps_repeated := 0;
	-- Whole items are told apart before.
	IF NOT load_parsed.whole THEN
		PERFORM stepadv_internal.load_drop_groupless(load_parsed.schema);
		CREATE INDEX ON pg_temp.stepadv_parsed (of_group, rollout_id, step_no, n);
		-- For plans that take many rows for one.
		CREATE UNIQUE INDEX ON pg_temp.stepadv_parsed (n);
		-- The others are long texts that no condition looks at.
		ANALYZE pg_temp.stepadv_parsed (n, item, of_group, rollout_id, step_no);
		steps_repeated := stepadv_internal.load_drop_repeated();
	END IF;
	LOOP
		BEGIN
			SELECT k.* INTO known_repeated, bad_items, contradictions, problems, load_parsed.groups, rollouts_added, rollouts_updated, rollouts_repeated, overtaken
			FROM stepadv_internal.load_known(load_parsed.schema, load_parsed.on_error, load_parsed.noun, load_parsed.whole, load_parsed.run_id, load_parsed.policy_version, load_parsed.policy_step, load_parsed.replace) k;
			IF NOT overtaken THEN
				steps_added := stepadv_internal.load_write_steps(load_parsed.schema, load_parsed.whole);
				EXIT;
			END IF;
		EXCEPTION WHEN deadlock_detected THEN
			-- Another load writes the same in another order: let it.
			n_deadlocks := n_deadlocks + 1;
			IF n_deadlocks = 5 THEN
				RAISE;
			END IF;
		END;
	END LOOP;
	steps_repeated := steps_repeated + known_repeated;
	PERFORM stepadv_internal.load_tell(load_parsed.schema);
	DROP TABLE pg_temp.stepadv_parsed, pg_temp.stepadv_rollouts, pg_temp.stepadv_problems;
	IF load_parsed.whole THEN
		DROP TABLE pg_temp.stepadv_items;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_parsed(text, text, text, boolean, text, text, bigint, boolean) IS
'part of load_rollouts: writes what was parsed into pg_temp.stepadv_parsed to the schema''s tables, after looking for what is there already, and counts; noun is what problems are counted by; with whole, an item that contradicts the tables in one step is left out with all its steps';

-- The rollouts of what was parsed, and the problems with it.

-- Rollouts: what any of their lines says; of two outcomes the later.
CREATE FUNCTION stepadv_internal.load_gather_lines(schema text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN format($q$
		SELECT p.of_group, p.rollout_id, min(p.group_name) AS group_name, %s,
			coalesce((array_agg(p.run_id) FILTER (WHERE p.run_id IS NOT NULL))[1], $1) AS run_id,
			coalesce((array_agg(p.policy_version) FILTER (WHERE p.policy_version IS NOT NULL))[1], $2) AS policy_version,
			coalesce((array_agg(p.policy_step) FILTER (WHERE p.policy_step IS NOT NULL))[1], $3) AS policy_step,
			(array_agg(p.task_id) FILTER (WHERE p.task_id IS NOT NULL))[1] AS task_id,
			(array_agg(p.group_id) FILTER (WHERE p.group_id IS NOT NULL))[1] AS group_id,
			(array_agg(p.tags) FILTER (WHERE p.tags IS NOT NULL))[1] AS tags,
			(array_agg(p.outcome) FILTER (WHERE p.outcome IS NOT NULL))[1] AS outcome,
			min(p.outcome) < max(p.outcome) AS outcomes_differ,
			(array_agg(p.success) FILTER (WHERE p.success IS NOT NULL))[1] AS success,
			bool_or(p.success) AND NOT bool_and(p.success) AS successes_differ,
			(array_agg(p.place) FILTER (WHERE p.outcome IS NOT NULL OR p.success IS NOT NULL))[1] AS n,
			bool_or(p.truncated) AS truncated,
			(array_agg(p.model) FILTER (WHERE p.model IS NOT NULL))[1] AS model,
			(array_agg(p.channel) FILTER (WHERE p.channel IS NOT NULL))[1] AS channel,
			(array_agg(p.curation) FILTER (WHERE p.curation IS NOT NULL))[1] AS curation,
			min(p.started_at) AS started_at, max(p.ended_at) AS ended_at,
			-- A line without a step has nowhere else to leave its remarks.
			(array_agg(p.metadata) FILTER (WHERE p.step_no IS NULL AND p.metadata IS NOT NULL AND p.action IS NULL))[1] AS metadata
		-- Sorted once for all of these.
		FROM (SELECT * FROM pg_temp.stepadv_parsed s ORDER BY s.of_group, s.rollout_id, s.n DESC) p GROUP BY p.of_group, p.rollout_id
		$q$, stepadv_internal.load_key_list(load_gather_lines.schema, 'min(p.k%2$s) AS k%2$s'::text, ', '::text));
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_gather_lines(text) IS
'part of load_rollouts: the query for the rollouts that the lines in pg_temp.stepadv_parsed are of';

-- Rollouts that came whole: what they say themselves.
CREATE FUNCTION stepadv_internal.load_gather_items(schema text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN format($q$
		SELECT i.of_group, i.rollout_id, i.group_name, %s, coalesce(i.run_id, $1) AS run_id, coalesce(i.policy_version, $2) AS policy_version,
			coalesce((i.about ->> 'policy_step')::numeric::bigint, $3) AS policy_step, i.task_id, i.group_id, nullif(i.about -> 'tags', 'null') AS tags,
			i.outcome, false AS outcomes_differ, i.success, false AS successes_differ, i.n,
			(i.about ->> 'truncated')::boolean AS truncated, i.about ->> 'model' AS model, i.about ->> 'channel' AS channel, i.about ->> 'curation' AS curation,
			(i.about ->> 'started_at')::timestamptz AS started_at, (i.about ->> 'ended_at')::timestamptz AS ended_at, i.metadata
		FROM pg_temp.stepadv_items i
		$q$, stepadv_internal.load_key_list(load_gather_items.schema, 'i.k%2$s'::text, ', '::text));
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_gather_items(text) IS
'part of import_rollouts: the query for the rollouts in pg_temp.stepadv_items';

CREATE FUNCTION stepadv_internal.load_gather(schema text, whole boolean, run_id text, policy_version text, policy_step bigint) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($q$
		CREATE TEMP TABLE stepadv_rollouts ON COMMIT DROP AS
		SELECT x.*, r.rollout_id IS NOT NULL AS is_known, r.outcome AS known_outcome, r.success AS known_success
		FROM (%2$s) x
		LEFT JOIN %1$s r ON %3$s AND r.rollout_id = x.rollout_id
		$q$, stepadv_internal.load_known_name(load_gather.schema, 'rollouts'::text), CASE WHEN load_gather.whole THEN stepadv_internal.load_gather_items(load_gather.schema) ELSE stepadv_internal.load_gather_lines(load_gather.schema) END,
			stepadv_internal.load_key_list(load_gather.schema, 'r.%1$s = x.k%2$s'::text, ' AND '::text))
		USING load_gather.run_id, load_gather.policy_version, load_gather.policy_step;
	INSERT INTO pg_temp.stepadv_problems (n, reason, counted)
	SELECT r.n, format('rollout %s of group %s has more than one %s, of which the last counts', r.rollout_id, r.group_name,
			concat_ws(' and ', CASE WHEN r.outcomes_differ OR r.outcome <> r.known_outcome THEN 'outcome' END,
				CASE WHEN r.successes_differ OR r.success <> r.known_success THEN 'success' END)), 'contradiction'
	FROM pg_temp.stepadv_rollouts r
	WHERE r.outcomes_differ OR r.successes_differ OR r.outcome <> r.known_outcome OR r.success <> r.known_success;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_gather(text, boolean, text, text, bigint) IS
'part of load_rollouts: makes pg_temp.stepadv_rollouts of pg_temp.stepadv_parsed, or with whole of pg_temp.stepadv_items, beside what the schema''s table says of them, and notes contradictions';

CREATE FUNCTION stepadv_internal.load_report(on_error text, noun text, whole boolean, OUT bad_items bigint, OUT contradictions bigint, OUT problems jsonb)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	problem record;
BEGIN
	SELECT count(*) FILTER (WHERE e.counted <> 'contradiction'), count(*) FILTER (WHERE e.counted = 'contradiction'),
		coalesce((SELECT jsonb_agg(jsonb_build_object(load_report.noun, w.n, 'problem', w.reason) ORDER BY w.n, w.reason)
			FROM (SELECT * FROM pg_temp.stepadv_problems e ORDER BY e.n, e.reason LIMIT 1000) w), '[]')
	INTO bad_items, contradictions, problems FROM pg_temp.stepadv_problems e;
	FOR problem IN SELECT e.n, e.reason, row_number() OVER (ORDER BY e.n, e.reason) AS i
		FROM pg_temp.stepadv_problems e ORDER BY e.n, e.reason LIMIT 11
	LOOP
		IF load_report.on_error = 'stop' THEN
			RAISE EXCEPTION '% %: %', load_report.noun, problem.n, problem.reason
				USING ERRCODE = 'data_exception',
					DETAIL = format('%s %s cannot be used, %s contradict others. Nothing was loaded.', bad_items,
						CASE WHEN load_report.whole THEN 'documents or rollouts' ELSE load_report.noun || 's' END, contradictions),
					HINT = 'With on_error ''skip'' the rest is loaded.';
		ELSIF problem.i <= 10 THEN
			RAISE WARNING '% %: %', load_report.noun, problem.n, problem.reason;
		ELSE
			RAISE WARNING '% more problems: see the column problems', bad_items + contradictions - 10;
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.load_report(text, text, boolean) IS
'part of load_rollouts: counts what is noted in pg_temp.stepadv_problems, and stops or warns of it';

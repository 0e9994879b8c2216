-- The view _problems: what is wrong with the rows of an attachment, and what it did.
--
-- A bad row costs the advantages of its rollout, never a view: what rollout_agg
-- refuses, forgiving_rollout_agg makes a defect of its rollout.  Here they are
-- counted, by SQL over the adapters: once per rollout, then a row for each
-- kind of problem that it has.

CREATE TYPE stepadv_internal.step_order AS (n_repeated bigint, first_repeated integer, n_ahead bigint,
	first_ahead integer);
COMMENT ON TYPE stepadv_internal.step_order IS
'of the numbers of a rollout''s steps, in their order: how many are that of the step before, how many more than one '
'after it, and the least of each';

CREATE FUNCTION stepadv_internal.step_order_trans(internal, step_no integer) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_step_order_trans';
COMMENT ON FUNCTION stepadv_internal.step_order_trans(internal, integer) IS 'part of step_order: one step more';

CREATE FUNCTION stepadv_internal.step_order_final(internal) RETURNS stepadv_internal.step_order
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_step_order_final';
COMMENT ON FUNCTION stepadv_internal.step_order_final(internal) IS 'part of step_order: what there is';

CREATE AGGREGATE stepadv_internal.step_order(step_no integer) (
	SFUNC = stepadv_internal.step_order_trans, STYPE = internal, SSPACE = 256,
	FINALFUNC = stepadv_internal.step_order_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.step_order(integer) IS
'what is wrong with the order of a rollout''s steps; NULLs have no place in it; NULL where nothing is';

CREATE TYPE stepadv_internal.lonely_steps AS (n_steps bigint, n_alone bigint, first_alone integer);
COMMENT ON TYPE stepadv_internal.lonely_steps IS
'how many steps a group has, how many of them in states that only their own rollout was in, or in none, and the least '
'step_no of these';

CREATE FUNCTION stepadv_internal.lonely_steps(rollouts stepadv.rollout_group) RETURNS stepadv_internal.lonely_steps
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500
AS 'MODULE_PATHNAME', 'stepadv_lonely_steps';
COMMENT ON FUNCTION stepadv_internal.lonely_steps(stepadv.rollout_group) IS
'the steps of a group that are compared with no other rollout''s; NULL where there are none, and of fewer than two '
'rollouts with steps';

-- A kind is a condition on rows, of which the view counts those that meet it and
-- gives the least step_no.  Of several kinds of one name the first is taken whose
-- columns are there.
--
--	level		of what the condition is: see problem_branches; number and state: what
--				step_order and lonely_steps call it, the condition being only_if
--	needs		columns of the adapter, and what else must be so: see problem_needs
--	concerns	the condition of a row
--	only_if		and of all rows of its rollout, or of its group of states
--	touches		roles: whatever method reads one of them; NULL: every method
--	views		what else it touches
--	effect		%s: the names of what it touches
CREATE FUNCTION stepadv_internal.problem_kinds()
RETURNS TABLE (place integer, problem text, level text, needs text[], concerns text, only_if text, touches text[],
	views text[], effect text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 30
SET search_path = pg_catalog, pg_temp
AS $kinds$
	SELECT k.place, k.problem, k.level, k.needs::text[], k.concerns, k.only_if, k.touches::text[], k.views::text[],
		k.effect
	FROM (VALUES
		(10, 'duplicate step', 'number', '{}', 'repeated', NULL, NULL, '{}', 'no advantages for the rollout'),
		(20, 'reward is not a finite number', 'row', '{reward}', 'NOT abs(x.reward) <= ''1e100''::float8', NULL, NULL,
			'{}', 'no advantages for the rollout'),
		(30, 'two outcomes', 'row', '{reward}', 'x.step_no IS NULL AND x.reward IS NOT NULL',
			'count(*) FILTER (WHERE x.step_no IS NULL AND x.reward IS NOT NULL) > 1', NULL, '{}',
			'no advantages for the rollout'),
		(40, 'step without step_id', 'row', '{}', 'x.step_no IS NOT NULL AND x.step_id IS NULL', NULL, NULL, '{}',
			'no advantages for the rollout'),
		(50, 'reward component is not a finite number', 'row', '{rewards}',
			'''1e100''::float8 < ANY (x.rewards) OR ''-1e100''::float8 > ANY (x.rewards)', NULL, '{rewards}', '{}',
			'%s: without the rollout'),
		(60, 'turn_reward is not a finite number', 'row', '{turn_reward}',
			'x.step_no IS NOT NULL AND NOT abs(x.turn_reward) <= ''1e100''::float8', NULL, '{turn_reward}', '{}',
			'%s: without the rollout'),
		(70, 'cost is not a finite number', 'row', '{cost}',
			'x.step_no IS NOT NULL AND NOT abs(x.cost) <= ''1e100''::float8', NULL, '{cost}', '{}',
			'%s: without the rollout'),
		(80, 'cost is not above 0', 'row', '{cost}',
			'x.step_no IS NOT NULL AND x.cost <= 0 AND x.cost >= ''-1e100''::float8', NULL, '{cost}', '{}',
			'%s: without the rollout'),
		(85, 'two policy steps', 'row', '{rollout_policy_step,by_policy_step}', 'x.rollout_policy_step IS NOT NULL',
			'min(x.rollout_policy_step) < max(x.rollout_policy_step)', '{policy_step}', '{}',
			'%s: without the rollout'),
		(90, 'value is not a finite number', 'row', '{value}',
			'x.step_no IS NOT NULL AND NOT abs(x.value) <= ''1e100''::float8', NULL, '{value}', '{}',
			'%s: NULL for the rollout'),
		(100, 'missing value beside others', 'row', '{value,masked}',
			'x.step_no IS NOT NULL AND x.value IS NULL AND x.action IS NOT NULL',
			'count(x.value) FILTER (WHERE x.step_no IS NOT NULL) > 0', '{value}', '{}', '%s: NULL for the rollout'),
		(101, 'missing value beside others', 'row', '{value}', 'x.step_no IS NOT NULL AND x.value IS NULL',
			'count(x.value) FILTER (WHERE x.step_no IS NOT NULL) > 0', '{value}', '{}', '%s: NULL for the rollout'),
		(110, 'rollout without any value', 'row', '{value}', 'x.step_no IS NOT NULL',
			'count(x.value) FILTER (WHERE x.step_no IS NOT NULL) = 0 AND sum(count(x.value)) OVER of_group > 0',
			'{value}', '{}', '%s: NULL for the rollout'),
		(120, 'not judged', 'row', '{reward,success}', 'true', 'count(x.reward) = 0 AND count(x.success) = 0', NULL,
			'{}', 'no advantages for the rollout'),
		(121, 'not judged', 'row', '{reward}', 'true', 'count(x.reward) = 0', NULL, '{}',
			'no advantages for the rollout'),
		(122, 'not judged', 'row', '{success}', 'true', 'count(x.success) = 0', NULL, '{}',
			'no advantages for the rollout'),
		(130, 'rollout without steps', 'row', '{}', 'true', 'count(x.step_no) = 0', '{}', '{}',
			'counts in the group, has no steps'),
		(140, 'turn missing beside others', 'row', '{turn,by_turn}', 'x.step_no IS NOT NULL AND x.turn IS NULL',
			'count(x.turn) FILTER (WHERE x.step_no IS NOT NULL) > 0', '{}', '{}',
			'nothing: the row is a turn of its own'),
		(150, 'gap in step_no', 'number', '{}', 'ahead', NULL, '{}', '{}', 'nothing: only the order counts'),
		(160, 'step_no beyond integer', 'row', '{bigint_step_no}', 'x.step_no IN (2147483647, -2147483648)', NULL,
			'{}', '{}', 'nothing: only the order counts, though two such steps are one'),
		(170, 'empty rollout_id', 'row', '{text_rollout_id}', 'x.raw_rollout_id::text = ''''::text', NULL, '{}', '{}',
			'nothing: all such rows are one rollout'),
		(180, 'row without rollout_id', 'lost', '{}', 'true', NULL, '{}', '{}', 'nothing: the row is in no rollout'),
		(190, 'row without a group', 'groupless', '{nullable_group}', 'true', NULL, '{}', '{}',
			'nothing: the row is in no group'),
		(200, 'log-probabilities or mask of different length', 'shown', '{stepadv_logp_new,stepadv_token_mask}',
		'cardinality(g.stepadv_logp_new) <> cardinality(g.stepadv_logp_old) OR cardinality(g.stepadv_logp_new) <> '
			'cardinality(g.stepadv_token_mask)', NULL, '{}', '{ratios}', '%s: NULL for the step'),
		(201, 'log-probabilities or mask of different length', 'shown', '{stepadv_logp_new}',
			'cardinality(g.stepadv_logp_new) <> cardinality(g.stepadv_logp_old)', NULL, '{}', '{ratios}',
			'%s: NULL for the step'),
		(210, 'log-probability missing or not finite', 'shown', '{stepadv_logp_new,stepadv_token_mask}',
		'cardinality(g.stepadv_logp_new) = cardinality(g.stepadv_logp_old) AND '
			'coalesce(cardinality(g.stepadv_token_mask), cardinality(g.stepadv_logp_new)) = '
			'cardinality(g.stepadv_logp_new) AND stepadv_internal.step_ratio_or_null(%2$s) IS NULL',
		NULL, '{}', '{ratios}', '%s: NULL for the step'),
		(211, 'log-probability missing or not finite', 'shown', '{stepadv_logp_new}',
		'cardinality(g.stepadv_logp_new) = cardinality(g.stepadv_logp_old) AND '
			'stepadv_internal.step_ratio_or_null(%2$s) IS NULL', NULL, '{}', '{ratios}', '%s: NULL for the step'),
		(220, 'features that the model cannot take', 'shown', '{stepadv_features}',
			'g.stepadv_features IS NOT NULL AND %1$s = ''NaN''::float8', NULL, '{}', '{spa}',
			'%s: NULL for the rollout'),
		(230, 'contribution is not a finite number', 'shown', '{stepadv_contribution}',
			'NOT abs(g.stepadv_contribution) <= ''1e100''::float8', NULL, '{}', '{spa}', '%s: NULL for the rollout'),
		(240, 'no state is shared', 'state', '{state}', 'alone', 'c.n_alone = c.n_steps', '{state}', '{}',
			'%s: no step is compared with another'),
		(241, 'state that never meets another', 'state', '{state}', 'alone', 'c.n_alone < c.n_steps', '{}', '{}',
			'nothing: the step is compared with no other')) k(place, problem, level, needs, concerns, only_if, touches,
			views, effect)
$kinds$;
COMMENT ON FUNCTION stepadv_internal.problem_kinds() IS
'part of attach: the kinds of problems that the view _problems lists: which rows are concerned, which methods, what '
'becomes of them';

-- What is there to look at: columns of the adapters, and what else a kind may need.
CREATE FUNCTION stepadv_internal.problem_needs(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT stepadv_internal.available_roles(a)
		|| ARRAY(SELECT c.attname::text FROM pg_attribute c WHERE c.attrelid = (a).shown
			AND c.attnum > (a).n_group_columns AND c.attname LIKE 'stepadv\_%')
		|| ARRAY(SELECT n.name FROM (VALUES
			('by_turn', (a).unit IN ('turn', 'turn_set') OR EXISTS (SELECT FROM unnest(made) m
				WHERE 'turn' = ANY (m.reads))),
			('by_policy_step', EXISTS (SELECT FROM unnest(made) m WHERE 'policy_step' = ANY (m.reads))),
			-- At an observation no value is asked for, unless somebody asks all the same.
			('masked', stepadv_internal.has_column((a).rows, 'action'::text)
				AND (SELECT bool_and(coalesce((m.settings ->> 'masked')::boolean, false)) FROM unnest(made) m
				WHERE m.needs_value)),
			('bigint_step_no', EXISTS (SELECT FROM stepadv_internal.view_columns((a).rows) c
				JOIN pg_attribute t ON t.attrelid = c.relation AND t.attnum = c.column_number
				WHERE c.name = 'step_no' AND stepadv_internal.base_type(t.atttypid) = 'bigint'::regtype)),
			('text_rollout_id', EXISTS (SELECT FROM pg_type t
				WHERE t.oid = stepadv_internal.base_type(stepadv_internal.column_type((a).rows,
				'raw_rollout_id'::text)) AND t.typcategory = 'S')),
			('nullable_group', EXISTS (SELECT FROM stepadv_internal.view_columns((a).shown) c
				LEFT JOIN pg_attribute t ON t.attrelid = c.relation AND t.attnum = c.column_number
				WHERE c.number <= (a).n_group_columns AND NOT coalesce(t.attnotnull, false)))) n(name, is_so)
					WHERE n.is_so)
$$;
COMMENT ON FUNCTION stepadv_internal.problem_needs(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: what kinds of problems may need and an attachment has';

-- The kinds that an attachment can have, with what they touch.
CREATE TYPE stepadv_internal.problem_kind AS (
	place integer, problem text, level text, concerns text, only_if text, methods text[]
);
COMMENT ON TYPE stepadv_internal.problem_kind IS
'part of attach: a kind of problem that an attachment can have, and what it touches there';
CREATE FUNCTION stepadv_internal.problems_for(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS SETOF stepadv_internal.problem_kind
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	present CONSTANT text[] := stepadv_internal.problem_needs(a, made);
	contribution CONSTANT text := (stepadv_internal.spa_expressions(a, 'g'::text)).contribution;
BEGIN
	RETURN QUERY
	SELECT k.place, k.problem, k.level,
		CASE WHEN k.level = 'shown' THEN format(k.concerns, contribution, stepadv_internal.logprobs(a))
			ELSE k.concerns END, k.only_if, t.methods
	FROM (SELECT DISTINCT ON (p.problem) p.* FROM stepadv_internal.problem_kinds() p WHERE p.needs <@ present
		ORDER BY p.problem, p.place) k
	CROSS JOIN LATERAL (SELECT ARRAY(SELECT m.method FROM unnest(made) m WHERE k.touches IS NULL
		OR m.reads && k.touches ORDER BY m.number) || k.views AS methods) t
	ORDER BY k.place;
END
$$;
COMMENT ON FUNCTION stepadv_internal.problems_for(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the kinds of problems that an attachment can have, their conditions, and the methods and views that '
'they touch';

-- What the view says of a kind: its name, what it touches and what becomes of it.  touched: lists of methods and views
-- by
-- the places of the kinds that touch them, as "10,20".
CREATE FUNCTION stepadv_internal.problem_words(touched jsonb)
	RETURNS TABLE (place integer, problem text, methods text[], effect text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT k.place, k.problem, t.methods, CASE WHEN k.effect LIKE '\%s%' AND t.methods = '{}'
		THEN 'nothing: no method reads it'
		ELSE format(k.effect, array_to_string(t.methods, ', ')) END
	FROM stepadv_internal.problem_kinds() k CROSS JOIN LATERAL (
		SELECT coalesce((SELECT ARRAY(SELECT jsonb_array_elements_text(e.value)) FROM jsonb_each(touched) e
			WHERE k.place::text = ANY (string_to_array(e.key, ','))), '{}') AS methods) t
$$;
COMMENT ON FUNCTION stepadv_internal.problem_words(jsonb) IS
'part of the view _problems: of each kind of problem its name, what it touches (of lists by places), and what becomes '
	'of it';

-- The aggregates that list the step_no of the rows of each kind of a level, as b_<place>: NULL where nothing is wrong,
-- as mostly.
CREATE FUNCTION stepadv_internal.problem_counts(kinds stepadv_internal.problem_kind[], level text, step_no text)
	RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(string_agg(format(', %s AS b_%s', format(CASE WHEN k.only_if IS NULL THEN '%s'
		ELSE 'CASE WHEN %s THEN %s END' END,
		VARIADIC array_remove(ARRAY[k.only_if, format('pg_catalog.array_agg(%s::integer)%s',
			problem_counts.step_no, ' FILTER (WHERE ' || nullif(k.concerns, 'true') || ')')], NULL)),
		k.place), '' ORDER BY k.place), '')
	FROM unnest(kinds) k WHERE k.level = problem_counts.level
$$;
COMMENT ON FUNCTION stepadv_internal.problem_counts(stepadv_internal.problem_kind[], text, text) IS
'part of attach: the aggregates that list the rows that problems of a level concern';

-- A row of each kind that was counted, of relation c.  Where there is nothing wrong,
-- as mostly, no list of kinds is gone through.
CREATE FUNCTION stepadv_internal.problem_rows(n_keys integer, rollout_id text, counted text,
	kinds stepadv_internal.problem_kind[], levels text[]) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s, %s, COALESCE((SELECT pg_catalog.min(l.n) FROM pg_catalog.unnest(p.list) l(n)), p.first), '
		'p.place, COALESCE(pg_catalog.cardinality(p.list)::bigint, p.n) FROM %s CROSS JOIN LATERAL (VALUES %s) '
		'p(place, list, n, first) WHERE COALESCE(pg_catalog.cardinality(p.list), p.n) > 0 AND '
		'pg_catalog.num_nonnulls(%s) > 0',
		(SELECT string_agg('c.k' || i, ', ' ORDER BY i) FROM generate_series(1, problem_rows.n_keys) i),
			problem_rows.rollout_id, problem_rows.counted,
		string_agg(format('(%s, %s)', k.place, c.bad), ', ' ORDER BY k.place), string_agg(DISTINCT c.tested, ', '))
	FROM unnest(kinds) k CROSS JOIN LATERAL (
		SELECT CASE k.level
			WHEN 'number' THEN format('NULL::integer[], (c.numbers).n_%1$s, (c.numbers).first_%1$s', k.concerns)
			WHEN 'state' THEN format('NULL::integer[], CASE WHEN %s THEN c.n_%2$s END, c.first_%2$s', k.only_if,
				k.concerns)
			ELSE format('c.b_%s, NULL::bigint, NULL::integer', k.place) END AS bad,
		CASE k.level WHEN 'number' THEN 'c.numbers' WHEN 'state' THEN 'c.n_' || k.concerns
			ELSE format('c.b_%s', k.place) END AS tested) c
	WHERE k.level = ANY (levels) HAVING count(*) > 0
$$;
COMMENT ON FUNCTION stepadv_internal.problem_rows(integer, text, text, stepadv_internal.problem_kind[], text[]) IS
'part of attach: the query that makes a row of each problem that was counted, with the place of its kind; NULL for '
	'none';

-- What the branches of the view have in common: how a rollout is shown, by rows
-- of the source and by those that are shown, and as which type.
CREATE FUNCTION stepadv_internal.problem_ids(a stepadv_internal.attached, OUT of_rows text, OUT of_shown text,
	OUT type text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	-- Equal ids have equal texts: one of them is all of them.
	SELECT format(CASE WHEN stepadv_internal.has_column((a).rows, r.name) AND r.name LIKE 'raw%'
		THEN 'max(x.%I::text)::%s' ELSE 'x.%I::%s' END, r.name, t.name),
		format(CASE WHEN s.name LIKE '%id' THEN 'max(g.%I::text)::%s' ELSE 'g.%I::%s' END, s.name, t.name), t.name
	FROM (SELECT CASE WHEN stepadv_internal.has_column((a).rows, 'raw_rollout_id'::text) THEN 'raw_rollout_id'
		ELSE 'rollout_id' END) r(name),
		(SELECT CASE WHEN stepadv_internal.has_column((a).shown, 'stepadv_rollout_id'::text) THEN 'stepadv_rollout_id'
			ELSE 'stepadv_rollout' END) s(name),
		LATERAL (SELECT CASE WHEN stepadv_internal.column_type((a).rows, r.name)
			= stepadv_internal.column_type((a).shown, s.name)
			THEN format_type(stepadv_internal.column_type((a).rows, r.name), NULL) ELSE 'text' END) t(name)
$$;
COMMENT ON FUNCTION stepadv_internal.problem_ids(stepadv_internal.attached) IS
'part of attach: how the view _problems shows a rollout, as the user knows it';

-- What each level counts: c, with the group as k1, k2, …, and the rollout.
--
--	row, number		rows of a rollout, and the order of their step_no
--	lost, groupless	rows that are in no rollout, or in no group
--	shown			what is shown beside the steps of a rollout
--	state			steps of a group, by their states
CREATE FUNCTION stepadv_internal.problem_branches(a stepadv_internal.attached, given stepadv_internal.problem_kind[],
	levels text[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $query$
DECLARE
	kinds CONSTANT stepadv_internal.problem_kind[] := ARRAY(SELECT k FROM unnest(given) k WHERE k.level = ANY (levels));
	n CONSTANT integer := (a).n_group_columns;
	id CONSTANT record := stepadv_internal.problem_ids(a);
	no_id CONSTANT text := 'NULL::' || id.type;
	rows_name CONSTANT text := stepadv_internal.relation_name((a).rows);
	shown_name CONSTANT text := stepadv_internal.relation_name((a).shown);
	keys CONSTANT text := stepadv_internal.list(stepadv_internal.group_columns((a).rows, n), 'x.%1$I AS k%2$s'::text,
		', '::text);
	by_keys CONSTANT text := stepadv_internal.list(stepadv_internal.group_columns((a).rows, n), 'x.%1$I'::text,
		', '::text);
	shown_keys CONSTANT text := stepadv_internal.list(stepadv_internal.group_columns((a).shown, n),
		'g.%1$I AS k%2$s'::text, ', '::text);
	by_shown_keys CONSTANT text := stepadv_internal.list(stepadv_internal.group_columns((a).shown, n), 'g.%1$I'::text,
		', '::text);
	in_group CONSTANT text := stepadv_internal.list(stepadv_internal.group_columns((a).shown, n),
		'g.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text);
	number CONSTANT text := stepadv_internal.shown_number(a, 'g'::text);
BEGIN
	RETURN NEXT stepadv_internal.problem_rows(n, 'c.rollout_id'::text, format(
		'(SELECT %1$s, %2$s AS rollout_id, stepadv_internal.step_order(x.step_no::integer) AS numbers%3$s FROM %4$s x '
			'WHERE x.rollout_id IS NOT NULL GROUP BY %5$s, x.rollout_id WINDOW of_group AS (PARTITION BY %5$s)) c',
		keys, id.of_rows, stepadv_internal.problem_counts(kinds, 'row'::text, 'x.step_no'::text), rows_name, by_keys),
			kinds, '{row,number}'::text[]);
	RETURN NEXT stepadv_internal.problem_rows(n, no_id,
		format('(SELECT %s%s FROM %s x WHERE x.rollout_id IS NULL GROUP BY %s) c',
		keys, stepadv_internal.problem_counts(kinds, 'lost'::text, 'x.step_no'::text), rows_name, by_keys), kinds,
			'{lost}'::text[]);
	RETURN NEXT stepadv_internal.problem_rows(n, no_id, format('(SELECT %s%s FROM %s g WHERE NOT (%s) GROUP BY %s) c',
		shown_keys, stepadv_internal.problem_counts(kinds, 'groupless'::text, number), shown_name, in_group,
			by_shown_keys), kinds, '{groupless}'::text[]);
	RETURN NEXT stepadv_internal.problem_rows(n, 'c.rollout_id'::text,
		format('(SELECT %s, %s AS rollout_id%s FROM %s g WHERE %s AND g.stepadv_no IS NOT NULL GROUP BY %s, '
		'g.stepadv_rollout) c',
		shown_keys, id.of_shown, stepadv_internal.problem_counts(kinds, 'shown'::text, number), shown_name, in_group,
			by_shown_keys), kinds, '{shown}'::text[]);
	-- Where there are others to meet.
	RETURN NEXT stepadv_internal.problem_rows(n, no_id,
		format('(SELECT %s, l.* FROM %s CROSS JOIN LATERAL stepadv_internal.lonely_steps(g.%I) l) c',
		stepadv_internal.list(stepadv_internal.group_columns((a).rows, n), 'g.%1$I AS k%2$s'::text, ', '::text),
			stepadv_internal.fold(a, '{state}'::text[], NULL::text, '{}'::text[]),
		stepadv_internal.value_name(a)), kinds, '{state}'::text[]);
END
$query$;
COMMENT ON FUNCTION stepadv_internal.problem_branches(stepadv_internal.attached, stepadv_internal.problem_kind[],
	text[]) IS
'part of attach: queries that together find the problems of some levels; NULL where there is nothing to look at';

CREATE FUNCTION stepadv_internal.problems_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kinds CONSTANT stepadv_internal.problem_kind[] := ARRAY(SELECT k FROM stepadv_internal.problems_for(a, made) k);
	key_list CONSTANT text := (SELECT string_agg('k' || i, ', ' ORDER BY i)
		FROM generate_series(1, (a).n_group_columns) i);
	taken text[] := '{rollout_id,step_no,problem,n_rows,methods,effect}';
	touched jsonb;
	branches text;
	items text;
	name text;
BEGIN
	PERFORM stepadv_internal.view_options(a, 'problems'::text);
	FOREACH name IN ARRAY stepadv_internal.group_columns((a).rows, (a).n_group_columns) LOOP
		taken := taken || stepadv_internal.free_name(taken, name, 'base_'::text);
		items := concat_ws(', ', items, format('p.k%s AS %I', cardinality(taken) - 6, taken[cardinality(taken)]));
	END LOOP;
	SELECT string_agg(b, ' UNION ALL ') INTO branches
	FROM stepadv_internal.problem_branches(a, kinds, '{row,number,lost,groupless,shown,state}'::text[]) b
		WHERE b IS NOT NULL;
	SELECT jsonb_object_agg(k.places, k.methods) INTO touched
	FROM (SELECT string_agg(k.place::text, ',' ORDER BY k.place) AS places, k.methods FROM unnest(kinds) k
		WHERE k.methods <> '{}' GROUP BY k.methods) k;
	RETURN format('SELECT %s, p.rollout_id, p.step_no, w.problem, p.n_rows, w.methods, w.effect FROM (%s) '
		'p(%s, rollout_id, step_no, place, n_rows) JOIN stepadv_internal.problem_words(%L::jsonb) w USING (place)',
		items, branches, key_list, coalesce(touched, '{}'));
END
$$;
COMMENT ON FUNCTION stepadv_internal.problems_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _problems';

-- The view _problems: problems of the rows of an attachment, and their effects.
--
-- A bad row costs the advantages of its rollout but causes no error in a view:
-- lenient_rollout_agg marks the rollout as defective where rollout_agg raises an
-- error.  The view counts bad rows by SQL over the adapters: all problems of a
-- rollout in one pass, then a row for each kind of problem.

CREATE TYPE stepadv_internal.bad_rows AS (n_rows bigint, step_no integer);
COMMENT ON TYPE stepadv_internal.bad_rows IS 'how many rows have a problem, and the least step_no of them';

-- src/attach/bad_rows.c
CREATE FUNCTION stepadv_internal.bad_rows_trans(internal, rules text, step_no integer, VARIADIC conditions "any")
	RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_bad_rows_trans';
COMMENT ON FUNCTION stepadv_internal.bad_rows_trans(internal, text, integer, "any") IS 'part of bad_rows: adds a row';

CREATE FUNCTION stepadv_internal.bad_rows_final(internal) RETURNS stepadv_internal.bad_rows[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_bad_rows_final';
COMMENT ON FUNCTION stepadv_internal.bad_rows_final(internal) IS 'part of bad_rows: the result';

CREATE AGGREGATE stepadv_internal.bad_rows(rules text, step_no integer, VARIADIC conditions "any") (
	SFUNC = stepadv_internal.bad_rows_trans, STYPE = internal, SSPACE = 640,
	FINALFUNC = stepadv_internal.bad_rows_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.bad_rows(text, integer, "any") IS
'for each problem, the number of rows that have it and their least step_no; NULL: no problems. rules has a letter per '
'problem: r repeated step_no, g gap in step_no; and for conditions, in this order, a any row, s several rows, m some '
'but not all, l all that are not NULL';

CREATE FUNCTION stepadv_internal.lonely_steps(rollouts stepadv.rollout_group) RETURNS stepadv_internal.bad_rows[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500
AS 'MODULE_PATHNAME', 'stepadv_lonely_steps';
COMMENT ON FUNCTION stepadv_internal.lonely_steps(stepadv.rollout_group) IS
'the steps of a group whose state is NULL or was visited only by their own rollout: first element if all are such, '
'second if some are; NULL if none are, or fewer than two rollouts have steps';

-- If groups are kept, only rows of unsound ones are searched: src/analysis/sound_rows.c.
CREATE FUNCTION stepadv_internal.rows_are_sound(rollouts stepadv.rollout_group, has_values boolean) RETURNS boolean
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 50
AS 'MODULE_PATHNAME', 'stepadv_rows_are_sound';
COMMENT ON FUNCTION stepadv_internal.rows_are_sound(stepadv.rollout_group, boolean) IS
'whether a kept group shows that its rows have none of the problems of rollouts; false for NULL; has_values: each '
'step should have a value';

-- A kind of problem is a condition on rows; the view shows the number of rows that
-- meet it and the least step_no.  If several kinds have the same name, the first
-- one whose needs are met is used.
--
--	level		which rows are tested: see problem_branches
--	needs		columns of the adapter, and other prerequisites: see problem_needs
--	rule		when the condition is a problem: see bad_rows
--	concerns	the condition on a row; NULL if the rule has none
--	only_if		additional condition on all rows of the rollout
--	touches		roles: methods that read one of them are affected; NULL: every method
--	views		other views that are affected
--	effect		%s: the names of the affected methods and views
CREATE FUNCTION stepadv_internal.problem_kinds()
RETURNS TABLE (place integer, problem text, level text, needs text[], rule text, concerns text, only_if text,
	touches text[], views text[], effect text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 30
SET search_path = pg_catalog, pg_temp
AS $kinds$
	SELECT k.place, k.problem, k.level, k.needs::text[], k.rule, k.concerns, k.only_if, k.touches::text[],
		k.views::text[], k.effect
	FROM (VALUES
		(5, 'row without rollout_id', 'lost', '{}', 'a', 'x.rollout_id IS NULL', NULL, '{}', '{}',
			'nothing: the row is in no rollout'),
		(10, 'duplicate step', 'row', '{}', 'r', NULL, NULL, NULL, '{}', 'no advantages for the rollout'),
		(20, 'reward is not a finite number', 'row', '{reward}', 'a', 'NOT abs(x.reward) <= ''1e100''::float8', NULL,
			NULL, '{}', 'no advantages for the rollout'),
		(30, 'two outcomes', 'row', '{reward}', 's', 'x.step_no IS NULL AND x.reward IS NOT NULL', NULL, NULL, '{}',
			'no advantages for the rollout'),
		(40, 'step without step_id', 'row', '{}', 'a', 'x.step_no IS NOT NULL AND x.step_id IS NULL', NULL, NULL,
			'{}', 'no advantages for the rollout'),
		(50, 'reward component is not a finite number', 'row', '{rewards}', 'a',
			'''1e100''::float8 < ANY (x.rewards) OR ''-1e100''::float8 > ANY (x.rewards)', NULL, '{rewards}', '{}',
			'%s: without the rollout'),
		(60, 'turn_reward is not a finite number', 'row', '{turn_reward}', 'a',
			'x.step_no IS NOT NULL AND NOT abs(x.turn_reward) <= ''1e100''::float8', NULL, '{turn_reward}', '{}',
			'%s: without the rollout'),
		(70, 'cost is not a finite number', 'row', '{cost}', 'a',
			'x.step_no IS NOT NULL AND NOT abs(x.cost) <= ''1e100''::float8', NULL, '{cost}', '{}',
			'%s: without the rollout'),
		(80, 'cost is not above 0', 'row', '{cost}', 'a',
			'x.step_no IS NOT NULL AND x.cost <= 0 AND x.cost >= ''-1e100''::float8', NULL, '{cost}', '{}',
			'%s: without the rollout'),
		(85, 'two policy steps', 'row', '{rollout_policy_step,by_policy_step}', 'a',
			'x.rollout_policy_step IS NOT NULL', 'min(x.rollout_policy_step) < max(x.rollout_policy_step)',
			'{policy_step}', '{}', '%s: without the rollout'),
		(90, 'value is not a finite number', 'row', '{value}', 'a',
			'x.step_no IS NOT NULL AND NOT abs(x.value) <= ''1e100''::float8', NULL, '{value}', '{}',
			'%s: NULL for the rollout'),
		(100, 'missing value beside others', 'row', '{value,masked}', 'm',
			'CASE WHEN x.step_no IS NOT NULL AND num_nonnulls(x.action, x.value) > 0 THEN x.value IS NULL END', NULL,
			'{value}', '{}', '%s: NULL for the rollout'),
		(101, 'missing value beside others', 'row', '{value}', 'm',
			'CASE WHEN x.step_no IS NOT NULL THEN x.value IS NULL END', NULL, '{value}', '{}',
			'%s: NULL for the rollout'),
		(110, 'rollout without any value', 'row', '{value}', 'l',
			'CASE WHEN x.step_no IS NOT NULL THEN x.value IS NULL END',
			'sum(CASE WHEN x.rollout_id IS NOT NULL THEN count(x.value) END) OVER of_group > 0', '{value}', '{}',
			'%s: NULL for the rollout'),
		(120, 'not judged', 'row', '{reward,success}', 'l', 'num_nonnulls(x.reward, x.success) = 0', NULL, NULL,
			'{}', 'no advantages for the rollout'),
		(121, 'not judged', 'row', '{reward}', 'l', 'x.reward IS NULL', NULL, NULL, '{}',
			'no advantages for the rollout'),
		(122, 'not judged', 'row', '{success}', 'l', 'x.success IS NULL', NULL, NULL, '{}',
			'no advantages for the rollout'),
		(130, 'rollout without steps', 'row', '{}', 'l', 'x.step_no IS NULL', NULL, '{}', '{}',
			'counts in the group, has no steps'),
		(140, 'turn missing beside others', 'row', '{turn,by_turn}', 'm',
			'CASE WHEN x.step_no IS NOT NULL THEN x.turn IS NULL END', NULL, '{}', '{}',
			'nothing: the row is a turn of its own'),
		(150, 'gap in step_no', 'row', '{}', 'g', NULL, NULL, '{}', '{}', 'nothing: only the order counts'),
		(160, 'step_no beyond integer', 'row', '{bigint_step_no}', 'a', 'x.step_no IN (2147483647, -2147483648)',
			NULL, '{}', '{}', 'nothing: only the order counts, though two such steps are one'),
		(170, 'empty rollout_id', 'row', '{text_rollout_id}', 'a', 'x.raw_rollout_id::text = ''''::text', NULL, '{}',
			'{}', 'nothing: all such rows are one rollout'),
		(190, 'row without a group', 'groupless', '{nullable_group}', 'a', 'true', NULL, '{}', '{}',
			'nothing: the row is in no group'),
		(200, 'log-probabilities or mask of different length', 'shown', '{stepadv_logp_new,stepadv_token_mask}', 'a',
		'cardinality(g.stepadv_logp_new) <> cardinality(g.stepadv_logp_old) OR cardinality(g.stepadv_logp_new) <> '
			'cardinality(g.stepadv_token_mask)', NULL, '{}', '{ratios}', '%s: NULL for the step'),
		(201, 'log-probabilities or mask of different length', 'shown', '{stepadv_logp_new}', 'a',
			'cardinality(g.stepadv_logp_new) <> cardinality(g.stepadv_logp_old)', NULL, '{}', '{ratios}',
			'%s: NULL for the step'),
		(210, 'log-probability missing or not finite', 'shown', '{stepadv_logp_new,stepadv_token_mask}', 'a',
		'cardinality(g.stepadv_logp_new) = cardinality(g.stepadv_logp_old) AND '
			'coalesce(cardinality(g.stepadv_token_mask), cardinality(g.stepadv_logp_new)) = '
			'cardinality(g.stepadv_logp_new) AND %2$s IS NULL',
		NULL, '{}', '{ratios}', '%s: NULL for the step'),
		(211, 'log-probability missing or not finite', 'shown', '{stepadv_logp_new}', 'a',
		'cardinality(g.stepadv_logp_new) = cardinality(g.stepadv_logp_old) AND '
			'%2$s IS NULL', NULL, '{}', '{ratios}', '%s: NULL for the step'),
		(220, 'features that the model cannot take', 'shown', '{stepadv_features}', 'a',
			'g.stepadv_features IS NOT NULL AND %1$s = ''NaN''::float8', NULL, '{}', '{spa}',
			'%s: NULL for the rollout'),
		(230, 'contribution is not a finite number', 'shown', '{stepadv_contribution}', 'a',
			'NOT abs(g.stepadv_contribution) <= ''1e100''::float8', NULL, '{}', '{spa}', '%s: NULL for the rollout'),
		(240, 'no state is shared', 'state', '{state}', NULL, NULL, NULL, '{state}', '{}',
			'%s: no step is compared with another'),
		(241, 'state that never meets another', 'state', '{state}', NULL, NULL, NULL, '{}', '{}',
			'nothing: the step is compared with no other')) k(place, problem, level, needs, rule, concerns, only_if,
			touches, views, effect)
$kinds$;
COMMENT ON FUNCTION stepadv_internal.problem_kinds() IS
'part of attach: the kinds of problems that the view _problems lists: the rows and methods concerned, and the '
'effect';

-- The prerequisites that an attachment meets: columns of the adapters, and others.
CREATE FUNCTION stepadv_internal.problem_needs(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT stepadv_internal.available_roles(a)
			|| ARRAY(SELECT c.attname::text FROM pg_attribute c WHERE c.attrelid = (a).shown
				AND c.attnum > (a).n_group_columns AND c.attname LIKE 'stepadv\_%')
			|| ARRAY(SELECT n.name FROM (VALUES
				('by_turn', (a).unit IN ('turn', 'turn_set') OR EXISTS (SELECT FROM unnest(made) m
					WHERE 'turn' = ANY (m.reads))),
				('by_policy_step', EXISTS (SELECT FROM unnest(made) m WHERE 'policy_step' = ANY (m.reads))),
				-- Observations need no value if all methods that read values are masked.
				('masked', stepadv_internal.column_type((a).rows, 'action'::text) IS NOT NULL
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
						WHERE n.is_so));
END
$$;
COMMENT ON FUNCTION stepadv_internal.problem_needs(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the prerequisites of kinds of problems that an attachment meets';

-- A kind that an attachment can have: number (from 1, in order of place) and affected methods and views.
CREATE TYPE stepadv_internal.problem_kind AS (
	number integer, place integer, level text, rule text, concerns text, only_if text, methods text[]
);
COMMENT ON TYPE stepadv_internal.problem_kind IS
'part of attach: a kind of problem that an attachment can have, and what it affects';
CREATE TYPE stepadv_internal.problem_word AS (problem text, methods text[], effect text);
COMMENT ON TYPE stepadv_internal.problem_word IS
'what the view _problems shows for a kind of problem: its name, what it affects, and its effect';

-- Only the kinds of the attachment, since reading an element means stepping over all before it.  touched: lists of
-- affected methods and views; the keys are the numbers of the kinds, such as "2,3".
CREATE FUNCTION stepadv_internal.problem_words(places integer[], touched jsonb) RETURNS stepadv_internal.problem_word[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT array_agg(ROW(k.problem, t.methods,
		CASE WHEN k.effect LIKE '\%s%' AND t.methods = '{}' THEN 'nothing: no method reads it'
			ELSE format(k.effect, array_to_string(t.methods, ', ')) END)::stepadv_internal.problem_word ORDER BY i.i)
	FROM unnest(places) WITH ORDINALITY i(place, i) JOIN stepadv_internal.problem_kinds() k ON k.place = i.place
	CROSS JOIN LATERAL (
		SELECT coalesce((SELECT ARRAY(SELECT jsonb_array_elements_text(e.value)) FROM jsonb_each(touched) e
			WHERE i.i::text = ANY (string_to_array(e.key, ','))), '{}') AS methods) t
$$;
COMMENT ON FUNCTION stepadv_internal.problem_words(integer[], jsonb) IS
'part of the view _problems: the names of the kinds of problems at some places, in their order, what they affect '
'(from lists by their numbers), and the effects';

-- The call of bad_rows for the problems of some levels, and their numbers.
CREATE FUNCTION stepadv_internal.problem_search(kinds stepadv_internal.problem_kind[], levels text[], step_no text,
	OUT call text, OUT numbers text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('stepadv_internal.bad_rows(%L::text, %s::integer%s)', string_agg(k.rule, '' ORDER BY k.number),
		problem_search.step_no, string_agg(', ' || k.concerns, '' ORDER BY k.number)),
		CASE WHEN count(*) = 0 THEN NULL
			WHEN count(k.only_if) = 0 THEN quote_literal(array_agg(k.number ORDER BY k.number)) || '::integer[]'
			ELSE format('ARRAY[%s]', string_agg(CASE WHEN k.only_if IS NULL THEN k.number::text
				ELSE format('CASE WHEN %s THEN %s END', k.only_if, k.number) END, ', ' ORDER BY k.number)) END
	FROM unnest(kinds) k WHERE k.level = ANY (levels)
$$;
COMMENT ON FUNCTION stepadv_internal.problem_search(stepadv_internal.problem_kind[], text[], text) IS
'part of attach: the aggregate that finds the problems of some levels, and their numbers; NULL if there are none';

-- A query per level, with the group, the rollout, the result of bad_rows and the numbers of its problems.
--
--	row				rows of a rollout, and the order of their step_no
--	lost			rows without a rollout, all of a group together
--	groupless		rows without a group
--	shown			columns shown beside the steps of a rollout
--	state			steps of a group, by their states
CREATE FUNCTION stepadv_internal.problem_branches(a stepadv_internal.attached, kinds stepadv_internal.problem_kind[])
	RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n CONSTANT integer := (a).n_group_columns;
	row_id CONSTANT text := CASE WHEN stepadv_internal.column_type((a).rows, 'raw_rollout_id'::text) IS NOT NULL
		THEN 'raw_rollout_id' ELSE 'rollout_id' END;
	shown_id CONSTANT text := CASE WHEN stepadv_internal.column_type((a).shown, 'stepadv_rollout_id'::text) IS NOT NULL
		THEN 'stepadv_rollout_id' ELSE 'stepadv_rollout' END;
	-- The type of the user's ids; text if it differs between the source and the shown steps.
	type CONSTANT text := CASE WHEN stepadv_internal.column_type((a).rows, row_id)
		= stepadv_internal.column_type((a).shown, shown_id)
		THEN format_type(stepadv_internal.column_type((a).rows, row_id), NULL) ELSE 'text' END;
	no_id CONSTANT text := 'NULL::' || type;
	rows_name CONSTANT text := stepadv_internal.relation_name((a).rows);
	shown_name CONSTANT text := stepadv_internal.relation_name((a).shown);
	names CONSTANT text[] := stepadv_internal.group_columns((a).rows, n);
	keys CONSTANT text := stepadv_internal.list(names, 'x.%1$I'::text, ', '::text);
	keys_of_value CONSTANT text := stepadv_internal.list(names, 'g.%1$I'::text, ', '::text);
	shown_keys CONSTANT text := stepadv_internal.list(stepadv_internal.group_columns((a).shown, n), 'g.%1$I'::text,
		', '::text);
	in_group CONSTANT text := stepadv_internal.list(stepadv_internal.group_columns((a).shown, n),
		'g.%1$I IS DISTINCT FROM NULL'::text, ' AND '::text);
	number CONSTANT text := stepadv_internal.shown_number(a, 'g'::text);
	-- Rows of kept groups whose value shows no problem are not searched.
	folded CONSTANT text[] := stepadv_internal.group_columns((a).folded, n + 4);
	in_rollout CONSTANT text := stepadv_internal.rollout_filter(a);
	is_unsound CONSTANT text := CASE WHEN folded IS NOT NULL
		THEN format(' WHERE EXISTS (SELECT FROM %s c WHERE NOT c.%I AND %s AND %s)',
		stepadv_internal.relation_name((a).folded), folded[n + 3],
		stepadv_internal.same_group('c'::text, (a).folded, 'x'::text, (a).rows, n),
		stepadv_internal.kept_condition((a).fresh)) || coalesce(' AND ' || in_rollout, '') END;
	lost CONSTANT record := stepadv_internal.problem_search(kinds, '{lost}'::text[], 'x.step_no'::text);
	search record := stepadv_internal.problem_search(kinds, '{row,lost}'::text[], 'x.step_no'::text);
BEGIN
	IF folded IS NOT NULL AND in_rollout IS NOT NULL THEN
		RETURN NEXT format('SELECT %1$s, %2$s, %3$s, %4$s FROM %5$s x WHERE NOT (%6$s) GROUP BY %1$s', keys, no_id,
			lost.call, lost.numbers, rows_name, in_rollout);
	END IF;
	-- Rows without a rollout have only the problem that they have none.  Raw ids of a rollout have equal texts, so
	-- max() returns the id.
	RETURN NEXT format('SELECT %1$s, %2$s, %3$s, CASE WHEN x.rollout_id IS NULL THEN %7$s ELSE %4$s END '
		'FROM %5$s x%6$s GROUP BY %1$s, x.rollout_id WINDOW of_group AS (PARTITION BY %1$s)', keys,
		format(CASE WHEN row_id LIKE 'raw%' THEN 'max(x.%I::text)::%s' ELSE 'x.%I::%s' END, row_id, type),
		search.call, search.numbers, rows_name, is_unsound, lost.numbers);
	search := stepadv_internal.problem_search(kinds, '{groupless}'::text[], number);
	IF search.numbers IS NOT NULL THEN
		RETURN NEXT format('SELECT %1$s, %2$s, %3$s, %4$s FROM %5$s g WHERE NOT (%6$s) GROUP BY %1$s', shown_keys,
			no_id, search.call, search.numbers, shown_name, in_group);
	END IF;
	search := stepadv_internal.problem_search(kinds, '{shown}'::text[], number);
	IF search.numbers IS NOT NULL THEN
		RETURN NEXT format('SELECT %1$s, %2$s, %3$s, %4$s FROM %5$s g WHERE %6$s AND g.stepadv_no IS NOT NULL '
			'GROUP BY %1$s, g.stepadv_rollout', shown_keys,
			format(CASE WHEN shown_id LIKE '%id' THEN 'max(g.%I::text)::%s' ELSE 'g.%I::%s' END, shown_id, type),
			search.call, search.numbers, shown_name,
			in_group);
	END IF;
	search := stepadv_internal.problem_search(kinds, '{state}'::text[], number);
	IF search.numbers IS NOT NULL THEN
		RETURN NEXT CASE WHEN folded IS NULL
			THEN format('SELECT %s, %s, stepadv_internal.lonely_steps(g.%I), %s FROM %s', keys_of_value, no_id,
				stepadv_internal.value_name(a), search.numbers, stepadv_internal.fold(a, '{state}'::text[]))
			ELSE format('SELECT %s, %s, c.%I, %s FROM %s c WHERE %s',
				stepadv_internal.list(folded[1:n], 'c.%1$I'::text, ', '::text), no_id, folded[n + 4], search.numbers,
				stepadv_internal.relation_name((a).folded), stepadv_internal.kept_condition((a).fresh)) END;
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.problem_branches(stepadv_internal.attached, stepadv_internal.problem_kind[]) IS
'part of attach: queries that together find the problems of some kinds';

CREATE FUNCTION stepadv_internal.problems_query(a stepadv_internal.attached, made stepadv_internal.made_method[])
	RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	present CONSTANT text[] := stepadv_internal.problem_needs(a, made);
	contribution CONSTANT text := (stepadv_internal.spa_expressions(a, 'g'::text)).contribution;
	ratios CONSTANT text := stepadv_internal.ratios_call(a, 'stepadv_logp_new'::text, 'stepadv_logp_old'::text);
	-- The kinds that this attachment can have, their conditions, and the methods and views that they affect.
	kinds CONSTANT stepadv_internal.problem_kind[] := ARRAY(
		SELECT ROW(row_number() OVER (ORDER BY k.place), k.place, k.level, k.rule, CASE WHEN k.level = 'shown'
			THEN format(k.concerns, contribution, ratios) ELSE k.concerns END,
			k.only_if, ARRAY(SELECT m.method FROM unnest(made) m WHERE k.touches IS NULL OR m.reads && k.touches
				ORDER BY m.number) || k.views)::stepadv_internal.problem_kind
		FROM (SELECT DISTINCT ON (p.problem) p.* FROM stepadv_internal.problem_kinds() p WHERE p.needs <@ present
			ORDER BY p.problem, p.place) k
		ORDER BY k.place);
	taken text[] := '{rollout_id,step_no,problem,n_rows,methods,effect}';
	touched jsonb;
	items text;
	name text;
BEGIN
	PERFORM stepadv_internal.view_options(a, 'problems'::text);
	FOREACH name IN ARRAY stepadv_internal.group_columns((a).rows, (a).n_group_columns) LOOP
		taken := taken || stepadv_internal.free_name(taken, name, 'base_'::text);
		items := concat_ws(', ', items, format('p.k%s AS %I', cardinality(taken) - 6, taken[cardinality(taken)]));
	END LOOP;
	SELECT jsonb_object_agg(k.numbers, k.methods) INTO touched
	FROM (SELECT string_agg(k.number::text, ',' ORDER BY k.number) AS numbers, k.methods FROM unnest(kinds) k
		WHERE k.methods <> '{}' GROUP BY k.methods) k;
	-- The union must not be joined with anything: see sql/engines.
	RETURN format('SELECT %1$s, p.rollout_id, (p.rows).step_no, (p.word).problem, (p.rows).n_rows, (p.word).methods, '
		'(p.word).effect FROM (SELECT u.*, unnest(u.found) AS rows, '
		'(stepadv_internal.problem_words(%5$L::integer[], %4$L::jsonb))[unnest(u.numbers)] AS word FROM (%2$s) '
		'u(%3$s, rollout_id, found, numbers) WHERE u.found IS NOT NULL) p WHERE (p.rows).n_rows > 0 '
		'AND (p.word).problem IS NOT NULL',
		items, (SELECT string_agg(b, ' UNION ALL ') FROM stepadv_internal.problem_branches(a, kinds) b),
		(SELECT string_agg('k' || i, ', ' ORDER BY i) FROM generate_series(1, (a).n_group_columns) i),
		coalesce(touched, '{}'), ARRAY(SELECT k.place FROM unnest(kinds) k ORDER BY k.number));
END
$$;
COMMENT ON FUNCTION stepadv_internal.problems_query(stepadv_internal.attached, stepadv_internal.made_method[]) IS
'part of attach: the query of the view _problems';

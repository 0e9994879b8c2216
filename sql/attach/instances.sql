-- Instances of methods: the same estimator several times, each with its own name and
-- parameters, such as the option {"methods": {"grpo_step": {"method": "grpo",
-- "step_rewards": true}}} of attach.  An instance may also have a unit and weights of
-- the reward components.

-- The instances in the options, in the order of their methods, then by name.  An
-- instance whose method no longer exists is left out, as the method itself is; attach
-- raises an error for an unknown one.
CREATE FUNCTION stepadv_internal.instances(owner oid, options jsonb) RETURNS SETOF stepadv_internal.known_method
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF jsonb_typeof(instances.options -> 'methods') IS DISTINCT FROM 'object' THEN
		RETURN;
	END IF;
	RETURN QUERY
	WITH named AS (
		SELECT e.key AS name, e.value, e.value ->> 'method' AS method
		FROM jsonb_each(instances.options -> 'methods') e
		WHERE jsonb_typeof(e.value) = 'object' AND e.key ~ '^[a-z_][a-z0-9_]*$' AND NOT EXISTS (SELECT
			FROM stepadv_internal.combined_views v WHERE v.suffix = e.key)
	), trusted AS (
		SELECT b.schema, b.trusted, b.number, b.known
		FROM stepadv_internal.trusted_methods(instances.owner, ARRAY(SELECT t.method FROM named t
			WHERE t.method LIKE '%.%')) b
		WHERE EXISTS (SELECT FROM named)
	)
	SELECT t.name, (b.known).function, (b.known).requires || CASE WHEN t.value ? 'rewards' THEN '{rewards}'
		ELSE '{}' END::text[] || CASE WHEN t.value ->> 'unit' <> 'step' THEN '{turn}' ELSE '{}' END::text[],
		(b.known).uses, NULL, (b.known).description, (b.known).ours, (b.known).results, (b.known).parameters, t.value,
		(b.known).takes_history
	FROM named t CROSS JOIN LATERAL (
		SELECT c.* FROM trusted c
		WHERE CASE WHEN t.method LIKE '%.%' THEN format('%s.%s', c.schema, (c.known).method) = t.method
			ELSE (c.known).method = t.method AND c.trusted < 4 END
		ORDER BY c.trusted, c.schema, c.number LIMIT 1) b
	ORDER BY b.trusted, b.number, (b.known).method, t.name COLLATE "C";
END
$$;
COMMENT ON FUNCTION stepadv_internal.instances(oid, jsonb) IS
'part of attach: the instances of methods that the options name, for views of a role: each a method with a name of '
'its own';

-- If a method was registered later under the name of an instance, the instance keeps it.
CREATE FUNCTION stepadv_internal.methods_of(a stepadv_internal.attached) RETURNS SETOF stepadv_internal.known_method
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT m.method, m.function, m.requires, m.uses, m.options_of, m.description, m.ours, m.results,
		m.parameters, m.instance, m.takes_history
	FROM (
		SELECT 1 AS part, k.* FROM stepadv_internal.methods_for((a).owner, (a).methods) WITH ORDINALITY k(method,
			function, requires, uses, options_of, description, ours, results, parameters, instance, takes_history, i)
		WHERE k.method NOT IN (SELECT n.method FROM stepadv_internal.instances((a).owner, (a).options) n)
		UNION ALL
		SELECT 2, n.* FROM stepadv_internal.instances((a).owner, (a).options) WITH ORDINALITY n
	) m
	ORDER BY m.part, m.i
$$;
COMMENT ON FUNCTION stepadv_internal.methods_of(stepadv_internal.attached) IS
'part of attach: the methods for the views of an attachment, its instances of methods after all others';

-- The weight of each reward component for an instance: 1 for those in a list of names,
-- or as given in an object.
CREATE FUNCTION stepadv_internal.reward_weights(a stepadv_internal.attached, rewards jsonb) RETURNS float8[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	weights jsonb;
	r record;
BEGIN
	IF jsonb_typeof(rewards) = 'array' THEN
		SELECT coalesce(jsonb_object_agg(coalesce(e, 'null'), 1), '{}') INTO weights
			FROM jsonb_array_elements_text(rewards) e;
	ELSIF jsonb_typeof(rewards) = 'object' THEN
		weights := rewards;
	END IF;
	IF weights IS NULL OR weights = '{}' THEN
		RAISE EXCEPTION 'rewards of a method must be a list of reward components or an object of weights, not %',
				rewards
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'For example ["tool", "answer"], or {"tool": 0.2, "answer": 1}.';
	END IF;
	FOR r IN SELECT e.key, e.value FROM jsonb_each(weights) e LOOP
		IF r.key <> ALL (coalesce((a).rewards, '{}')) THEN
			RAISE EXCEPTION 'unknown reward component: "%"', r.key USING ERRCODE = 'invalid_parameter_value',
				HINT = format('Reward components: %s.', array_to_string((a).rewards, ', '));
		ELSIF jsonb_typeof(r.value) <> 'number' OR abs((r.value #>> '{}')::numeric) > 1e300 THEN
			RAISE EXCEPTION 'the weight of a reward component must be a finite number, not %', r.value
				USING ERRCODE = 'invalid_parameter_value';
		END IF;
	END LOOP;
	RETURN ARRAY(SELECT coalesce((weights ->> n.name)::float8, 0) FROM unnest((a).rewards) WITH ORDINALITY n(name, i)
		ORDER BY n.i);
END
$$;
COMMENT ON FUNCTION stepadv_internal.reward_weights(stepadv_internal.attached, jsonb) IS
'part of attach: weights of the reward components, in their order, from an instance''s "rewards"; error if these are '
'invalid';

-- The group that a method is called with, and a description of it: '' for the method itself.  With turns as steps,
-- histories consist of turns, too.
CREATE FUNCTION stepadv_internal.instance_group(a stepadv_internal.attached, instance jsonb, OUT argument text,
	OUT words text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	weights float8[];
BEGIN
	argument := format('g.%I', stepadv_internal.value_name(a));
	IF instance ? 'rewards' THEN
		weights := stepadv_internal.reward_weights(a, instance -> 'rewards');
		argument := format('stepadv.with_rewards(%s, %L::float8[])', argument, weights);
	END IF;
	IF instance ->> 'unit' <> coalesce((a).unit, 'step') THEN
		argument := format('stepadv.by_turn(%s, %L::text)', argument, CASE instance ->> 'unit' WHEN 'turn'
			THEN 'sequence' ELSE 'set' END);
		argument := coalesce(stepadv_internal.history(a, argument), argument);
	END IF;
	words := concat(CASE instance ->> 'unit' WHEN 'turn' THEN ', by turn' WHEN 'turn_set' THEN ', by turn as a set' END,
		', of the reward ' || (
			SELECT string_agg(CASE WHEN w.weight = 1 THEN w.name ELSE format('%s %s', w.weight, w.name) END, ' + '
				ORDER BY w.i)
			FROM unnest((a).rewards, weights) WITH ORDINALITY w(name, weight, i) WHERE w.weight <> 0));
END
$$;
COMMENT ON FUNCTION stepadv_internal.instance_group(stepadv_internal.attached, jsonb) IS
'part of attach: the group as a value that a method or an instance of a method is called with, and what is '
'special about it';

CREATE FUNCTION stepadv_internal.check_instance(a stepadv_internal.attached, m stepadv_internal.known_method)
	RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	instance CONSTANT jsonb := (m).instance;
	unit CONSTANT text := instance ->> 'unit';
	unknown text;
BEGIN
	SELECT o INTO unknown FROM jsonb_object_keys(instance) o WHERE o <> ALL ('{method,unit,rewards}'::text[]
		|| (m).parameters) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'method % of "%" has no parameter "%"', instance ->> 'method', (m).method, unknown
			USING ERRCODE = 'invalid_parameter_value',
			HINT = stepadv_internal.nearest_hint(unknown, (m).parameters || '{unit,rewards}'::text[],
				format('Its parameters: %s; and for every method unit and rewards.',
				coalesce(nullif(array_to_string((m).parameters, ', '), ''), 'none')));
	ELSIF instance ? 'rewards' AND (a).rewards IS NULL THEN
		RAISE EXCEPTION 'method "%" names rewards, but attach was given none', (m).method
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name the columns of the reward components by rewards => ''{…}''.';
	ELSIF instance ? 'rewards' THEN
		PERFORM stepadv_internal.reward_weights(a, instance -> 'rewards');
	END IF;
	IF instance ? 'unit' THEN
		PERFORM stepadv_internal.check_unit(unit, format(' of method "%s"', (m).method));
	END IF;
	IF unit <> coalesce((a).unit, 'step') AND (a).unit <> 'step' THEN
		RAISE EXCEPTION 'the unit of method "%" is % where that of all is %', (m).method, quote_literal(unit),
			quote_literal((a).unit)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Attach with unit => ''step'', and name the units of the methods.';
	ELSIF unit <> 'step' AND stepadv_internal.column_type((a).rows, 'turn'::text) IS NULL THEN
		RAISE EXCEPTION 'the unit % of method "%" needs a column given as turn', quote_literal(unit), (m).method
			USING ERRCODE = 'null_value_not_allowed',
			HINT = 'Name it by turn => ''…'': the number of the response to which the call belongs.';
	ELSIF unit <> coalesce((a).unit, 'step') AND (a).states = 'observation_last' THEN
		RAISE EXCEPTION 'method "%" cannot have a unit of its own where states are those of the last observations',
			(m).method
			USING ERRCODE = 'feature_not_supported',
				HINT = 'The last observations are counted in steps of one unit: attach again, with another unit and '
				'prefix.';
	END IF;
	SELECT r INTO unknown FROM unnest((m).requires) WITH ORDINALITY r(r, i)
		WHERE r <> ALL (stepadv_internal.available_roles(a)) ORDER BY i LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'method % of "%" needs a column given as %', instance ->> 'method', (m).method, unknown
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_instance(stepadv_internal.attached, stepadv_internal.known_method) IS
'part of attach: error if the settings of an instance of a method are invalid';

CREATE FUNCTION stepadv_internal.check_instances(a stepadv_internal.attached) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	methods CONSTANT jsonb := (a).options -> 'methods';
	known text[];
	instances stepadv_internal.known_method[];
	names text[];
	option record;
	m stepadv_internal.known_method;
BEGIN
	IF methods IS NULL THEN
		RETURN;
	END IF;
	known := ARRAY(SELECT k.method FROM stepadv_internal.methods_for((a).owner, '{}'::text[]) k);
	instances := ARRAY(SELECT k FROM stepadv_internal.instances((a).owner, (a).options) k);
	names := known || ARRAY(SELECT k.method FROM unnest(instances) k);
	IF jsonb_typeof(methods) NOT IN ('array', 'object') THEN
		RAISE EXCEPTION 'option "methods" must be a list or an object, not %', methods
			USING ERRCODE = 'invalid_parameter_value',
			HINT = 'For example {"methods": {"grpo_step": {"method": "grpo", "step_rewards": true}}}; a list names '
				'methods of other users'': ["schema.method"].';
	END IF;
	FOR option IN SELECT e.key AS name, e.value FROM jsonb_each(CASE WHEN jsonb_typeof(methods) = 'object' THEN methods
		ELSE '{}' END) e LOOP
		IF option.name = ANY (known) THEN
			RAISE EXCEPTION 'there is a method "%" already', option.name USING ERRCODE = 'duplicate_object',
				HINT = format('To give it other parameters, write the option {%s: {…}} beside "methods".',
					to_jsonb(option.name));
		END IF;
		PERFORM stepadv_internal.check_method_name(option.name, 'Give another name in "methods".'::text);
		-- Sums of a method's advantages have names with these endings.
		IF option.name <> regexp_replace(option.name, '_(abs|square)$', '')
			AND regexp_replace(option.name, '_(abs|square)$', '') = ANY (names) THEN
			RAISE EXCEPTION 'method name "%" is reserved', option.name USING ERRCODE = 'invalid_name',
				HINT = 'Give another name in "methods".';
		ELSIF jsonb_typeof(option.value) <> 'object' OR (jsonb_typeof(option.value -> 'method') = 'string') IS NOT TRUE
			THEN
			RAISE EXCEPTION '"%" in "methods" does not name a method', option.name
				USING ERRCODE = 'invalid_parameter_value',
				HINT = 'For example {"grpo_step": {"method": "grpo", "step_rewards": true}}.';
		END IF;
		SELECT i.* INTO m FROM unnest(instances) i WHERE i.method = option.name;
		IF NOT FOUND THEN
			RAISE EXCEPTION 'unknown method of "%": %', option.name, quote_literal(option.value ->> 'method')
				USING ERRCODE = 'invalid_parameter_value',
				HINT = stepadv_internal.nearest_hint(option.value ->> 'method', known,
					format('Methods: %s; one that another role registered is written "schema.method".',
					array_to_string(known, ', ')));
		END IF;
		PERFORM stepadv_internal.check_instance(a, m);
	END LOOP;
END
$$;
COMMENT ON FUNCTION stepadv_internal.check_instances(stepadv_internal.attached) IS
'part of attach: error if the option "methods" is invalid';

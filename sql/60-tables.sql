-- Canonical tables: plain SQL over what section 3 of the design names.

-- Up to 14 an UPDATE that takes a row to another partition is a DELETE to the
-- foreign keys that refer to it: the cascade would delete the steps that it
-- should rename.  Asked at run time, as a dump takes the trigger to 15.
CREATE FUNCTION stepadv_internal.refuse_lossy_move() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	stays boolean;
BEGIN
	IF current_setting('server_version_num')::integer < 150000 THEN
		EXECUTE format('SELECT %s FROM (SELECT $1 AS group_id) moved', pg_get_partition_constraintdef(TG_RELID)) INTO stays USING NEW.group_id;
		IF NOT stays THEN
			RAISE EXCEPTION 'rollout "%" of group "%" cannot be moved to group "%" by an UPDATE', OLD.rollout_id, OLD.group_id, NEW.group_id
				USING ERRCODE = 'feature_not_supported',
					DETAIL = 'The groups are in different partitions: up to PostgreSQL 14 the rollout''s steps would be deleted.',
					HINT = 'Insert the rollout under its new group, update group_id of its steps, then delete the old rollout.';
		END IF;
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION stepadv_internal.refuse_lossy_move() IS 'part of create_tables: up to PostgreSQL 14, refuses the UPDATE of a rollout that would delete its steps';

-- The tables themselves; %1$I: the schema, %2$L: the sequence.
CREATE FUNCTION stepadv_internal.tables_ddl() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $ddl$
	SELECT $$
		CREATE TABLE %1$I.rollouts (
			group_id text NOT NULL,
			rollout_id text NOT NULL,
			policy_version text,
			model text,
			outcome float8 CHECK (outcome > '-Infinity' AND outcome < 'Infinity'),
			success boolean,
			truncated boolean NOT NULL DEFAULT false,
			channel text NOT NULL DEFAULT 'train' CHECK (channel IN ('train', 'validation')),
			curation text,
			started_at timestamptz,
			ended_at timestamptz,
			metadata jsonb,
			PRIMARY KEY (group_id, rollout_id)
		) PARTITION BY HASH (group_id);

		-- A sequence of its own rather than an identity column, which partitions
		-- inherit only from PostgreSQL 17 on.
		CREATE SEQUENCE %1$I.steps_step_id_seq;

		CREATE TABLE %1$I.steps (
			step_id bigint NOT NULL DEFAULT nextval(%2$L::regclass),
			group_id text NOT NULL,
			rollout_id text NOT NULL,
			step_no integer NOT NULL,
			turn integer,
			observation text,
			action text,
			tool text,
			args jsonb,
			ok boolean,
			next_observation text,
			state bigint,
			action_hash bigint,
			next_state bigint,
			reward float8 CHECK (reward > '-Infinity' AND reward < 'Infinity'),
			turn_reward float8 CHECK (turn_reward > '-Infinity' AND turn_reward < 'Infinity'),
			value float8 CHECK (value > '-Infinity' AND value < 'Infinity'),
			cost float8 CHECK (cost > 0 AND cost < 'Infinity'),
			prompt_token_ids integer[],
			response_token_ids integer[],
			response_mask boolean[] CHECK (cardinality(response_mask) = cardinality(response_token_ids)),
			rollout_logprobs real[] CHECK (cardinality(rollout_logprobs) = cardinality(response_token_ids)),
			policy_logprobs real[] CHECK (cardinality(policy_logprobs) = cardinality(response_token_ids)),
			metadata jsonb,
			PRIMARY KEY (group_id, rollout_id, step_no),
			UNIQUE (group_id, step_id),
			FOREIGN KEY (group_id, rollout_id) REFERENCES %1$I.rollouts ON UPDATE CASCADE ON DELETE CASCADE
		) PARTITION BY HASH (group_id);

		ALTER SEQUENCE %1$I.steps_step_id_seq OWNED BY %1$I.steps.step_id;
		$$
$ddl$;
COMMENT ON FUNCTION stepadv_internal.tables_ddl() IS 'part of create_tables: the tables, as a template for format()';

CREATE FUNCTION stepadv_internal.tables_comments() RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $ddl$
	SELECT $$
		COMMENT ON TABLE %1$I.rollouts IS 'rollouts: one row each; the group is the task (or the task within a policy version) whose rollouts are compared';
		COMMENT ON COLUMN %1$I.rollouts.outcome IS 'score of the whole rollout; NULL: not judged yet';
		COMMENT ON COLUMN %1$I.rollouts.success IS 'whether it reached its goal; NULL: not known';
		COMMENT ON COLUMN %1$I.rollouts.truncated IS 'cut off before it ended by itself';
		COMMENT ON COLUMN %1$I.rollouts.channel IS 'train or validation; give validation rollouts groups of their own';
		COMMENT ON COLUMN %1$I.rollouts.curation IS 'label of whoever selects rollouts for training';
		COMMENT ON TABLE %1$I.steps IS 'steps of rollouts: one decision each';
		COMMENT ON COLUMN %1$I.steps.step_id IS 'number of the step, from a sequence';
		COMMENT ON COLUMN %1$I.steps.step_no IS 'order of the steps within the rollout';
		COMMENT ON COLUMN %1$I.steps.turn IS 'turn of the conversation; several steps may share one (parallel tool calls)';
		COMMENT ON COLUMN %1$I.steps.observation IS 'what the agent saw before it acted';
		COMMENT ON COLUMN %1$I.steps.ok IS 'whether the tool call succeeded; NULL: not known';
		COMMENT ON COLUMN %1$I.steps.next_observation IS 'what it saw after the action, where that is not the observation of the next step';
		COMMENT ON COLUMN %1$I.steps.state IS 'identity of the state before the action; steps with equal state are compared; NULL: like no other';
		COMMENT ON COLUMN %1$I.steps.action_hash IS 'identity of the action; NULL: like no other';
		COMMENT ON COLUMN %1$I.steps.next_state IS 'identity of the state after the action';
		COMMENT ON COLUMN %1$I.steps.reward IS 'reward of the step alone; see the view rollout_rows for whether it counts';
		COMMENT ON COLUMN %1$I.steps.turn_reward IS 'turn-level reward, for mt_grpo and mt_rloo';
		COMMENT ON COLUMN %1$I.steps.value IS 'the critic''s V(state), for gae';
		COMMENT ON COLUMN %1$I.steps.cost IS 'cost of the step as an edge, for graphgpo; NULL: 1';
		COMMENT ON COLUMN %1$I.steps.prompt_token_ids IS 'the step''s prompt as the policy saw it';
		COMMENT ON COLUMN %1$I.steps.response_token_ids IS 'what the policy generated';
		COMMENT ON COLUMN %1$I.steps.response_mask IS 'which response tokens are trained on; as long as response_token_ids';
		COMMENT ON COLUMN %1$I.steps.rollout_logprobs IS 'log-probabilities of the response tokens under the policy that acted; as long as response_token_ids';
		COMMENT ON COLUMN %1$I.steps.policy_logprobs IS 'the same under the policy as it is now, for the view steps_ratios; as long as response_token_ids';
		$$
$ddl$;
COMMENT ON FUNCTION stepadv_internal.tables_comments() IS 'part of create_tables: what the tables and columns are, as a template for format()';

-- What counts as reward is decided here, in the open, and nowhere else.
CREATE FUNCTION stepadv_internal.make_rollout_rows(schema text, reward text) RETURNS void
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
	EXECUTE format($$
		CREATE VIEW %1$I.rollout_rows %4$s AS
		SELECT s.group_id, s.rollout_id, s.step_no, s.step_id, s.state, s.action_hash, s.next_state,
			%2$s AS reward, NULL::boolean AS success, s.turn_reward, s.value, s.cost, s.tool, s.args, s.ok
		FROM %1$I.steps s
		UNION ALL
		SELECT r.group_id, r.rollout_id, NULL::integer, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint,
			%3$s, r.success, NULL::float8, NULL::float8, NULL::float8, NULL::text, NULL::jsonb, NULL::boolean
		FROM %1$I.rollouts r
		$$, make_rollout_rows.schema, step_reward, outcome_reward,
		CASE WHEN current_setting('server_version_num')::integer >= 150000 THEN 'WITH (security_invoker = true)' ELSE '' END);
	EXECUTE format('COMMENT ON VIEW %I.rollout_rows IS %L', make_rollout_rows.schema,
		'what rollout_agg is fed: one row per step, and per rollout one with step_no NULL that carries its success; reward: '
		|| CASE make_rollout_rows.reward
			WHEN 'outcome' THEN 'the outcome (or, where it is NULL, success as 1 or 0), as terminal reward; rewards of steps are left out'
			WHEN 'steps' THEN 'that of the steps; the outcome is left out'
			ELSE 'those of the steps and the outcome (or, where it is NULL, success as 1 or 0) as terminal reward' END);
END
$rows$;
COMMENT ON FUNCTION stepadv_internal.make_rollout_rows(text, text) IS 'part of create_tables: the view rollout_rows, which rollout_agg is fed from';

CREATE FUNCTION stepadv_internal.check_tables(schema text, reward text, partitions integer) RETURNS void
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
	IF check_tables.partitions IS NULL OR check_tables.partitions NOT BETWEEN 1 AND 1000 THEN
		RAISE EXCEPTION 'partitions must be between 1 and 1000, not %', coalesce(check_tables.partitions::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
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
COMMENT ON FUNCTION stepadv_internal.check_tables(text, text, integer) IS 'part of create_tables: error where what was given cannot be meant, or a name is taken';

CREATE FUNCTION stepadv.create_tables(schema text, reward text DEFAULT 'outcome', partitions integer DEFAULT 8, states text DEFAULT NULL)
RETURNS TABLE (view_name regclass, shows text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $create_tables$
BEGIN
	PERFORM stepadv_internal.check_tables(schema, reward, partitions);
	IF NOT EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = create_tables.schema) THEN
		EXECUTE format('CREATE SCHEMA %I', create_tables.schema);
	END IF;
	EXECUTE format(stepadv_internal.tables_ddl(), create_tables.schema, format('%I.steps_step_id_seq', create_tables.schema));
	FOR i IN 0 .. create_tables.partitions - 1 LOOP
		EXECUTE format($$
			CREATE TABLE %1$I.%2$I PARTITION OF %1$I.rollouts FOR VALUES WITH (MODULUS %4$s, REMAINDER %5$s);
			CREATE TABLE %1$I.%3$I PARTITION OF %1$I.steps FOR VALUES WITH (MODULUS %4$s, REMAINDER %5$s);
			$$, create_tables.schema, 'rollouts_p' || i, 'steps_p' || i, create_tables.partitions, i);
	END LOOP;
	IF current_setting('server_version_num')::integer < 150000 THEN
		EXECUTE format('CREATE TRIGGER refuse_lossy_move BEFORE UPDATE OF group_id ON %I.rollouts '
			'FOR EACH ROW WHEN (OLD.group_id <> NEW.group_id) EXECUTE FUNCTION stepadv_internal.refuse_lossy_move()', create_tables.schema);
	END IF;
	EXECUTE format('CREATE INDEX ON %1$I.rollouts (policy_version, model); CREATE INDEX ON %1$I.steps (step_id)', create_tables.schema);
	EXECUTE format(stepadv_internal.tables_comments(), create_tables.schema);
	PERFORM stepadv_internal.make_rollout_rows(schema, reward);
	RETURN QUERY SELECT a.view_name, a.shows
	FROM stepadv.attach(
		source => format('%I.rollout_rows', create_tables.schema)::regclass,
		group_by => ARRAY['group_id'], rollout_id => 'rollout_id'::text, step_no => 'step_no'::text,
		-- States of signatures go with actions that are.
		state => 'state'::text, action => CASE WHEN create_tables.states = 'signature' THEN NULL ELSE 'action_hash' END, reward => 'reward'::text, step_id => 'step_id'::text, success => 'success'::text,
		next_state => 'next_state'::text, value => 'value'::text, turn_reward => 'turn_reward'::text, cost => 'cost'::text,
		prefix => 'steps'::text, schema => NULL::text, options => '{}'::jsonb, columns => NULL::text[],
		show_steps => format('%I.steps', create_tables.schema)::regclass,
		show_rollouts => format('%I.rollouts', create_tables.schema)::regclass,
		logp_new => 'policy_logprobs'::text, logp_old => 'rollout_logprobs'::text, token_mask => 'response_mask'::text,
		states => create_tables.states, tool => 'tool'::text, args => 'args'::text, ok => 'ok'::text,
		policy_version => 'policy_version'::text, started_at => 'started_at'::text,
		features => NULL::text, contribution => NULL::text, grounded => NULL::text,
		unit => NULL::text, turn => NULL::text, task_id => NULL::text, run_id => NULL::text, policy_step => NULL::text, rewards => NULL::text[], dimensions => NULL::text[]) a;
END
$create_tables$;

COMMENT ON FUNCTION stepadv.create_tables(text, text, integer, text) IS
'creates the tables rollouts and steps in the schema (made if it is not there), hash-partitioned by group_id, the view rollout_rows, which decides what counts as reward (''outcome'' of the rollout, ''steps'' their own, or the ''sum''), and on it the views of attach, named steps_…; states as in attach (the default is the column state; with ''signature'' actions are signatures too, of tool, args and ok); one row per view made; error when one of the names is taken';

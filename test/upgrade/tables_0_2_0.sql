-- The canonical tables as create_tables of 0.2.0 makes them, for databases that have
-- a later version: what users made then must go on as if it had been made today.
CREATE SCHEMA rl;
CREATE TABLE rl.rollouts (
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
CREATE SEQUENCE rl.steps_step_id_seq;

CREATE TABLE rl.steps (
	step_id bigint NOT NULL DEFAULT nextval('rl.steps_step_id_seq'::regclass),
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
	FOREIGN KEY (group_id, rollout_id) REFERENCES rl.rollouts ON UPDATE CASCADE ON DELETE CASCADE
) PARTITION BY HASH (group_id);

ALTER SEQUENCE rl.steps_step_id_seq OWNED BY rl.steps.step_id;

CREATE TABLE rl.rollouts_p0 PARTITION OF rl.rollouts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE rl.steps_p0 PARTITION OF rl.steps FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE rl.rollouts_p1 PARTITION OF rl.rollouts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE rl.steps_p1 PARTITION OF rl.steps FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT current_setting('server_version_num')::integer < 150000 AS moves_lose_steps, CASE WHEN current_setting('server_version_num')::integer >= 150000 THEN 'WITH (security_invoker = true)' ELSE '' END AS invoker \gset
\if :moves_lose_steps
CREATE TRIGGER refuse_lossy_move BEFORE UPDATE OF group_id ON rl.rollouts FOR EACH ROW WHEN (OLD.group_id <> NEW.group_id) EXECUTE FUNCTION stepadv_internal.refuse_lossy_move();
\endif
CREATE INDEX ON rl.rollouts (policy_version, model);
CREATE INDEX ON rl.steps (step_id);
COMMENT ON TABLE rl.rollouts IS 'rollouts: one row each; the group is the task (or the task within a policy version) whose rollouts are compared';
COMMENT ON COLUMN rl.rollouts.outcome IS 'score of the whole rollout; NULL: not judged yet';
COMMENT ON COLUMN rl.rollouts.success IS 'whether it reached its goal; NULL: not known';
COMMENT ON COLUMN rl.rollouts.truncated IS 'cut off before it ended by itself';
COMMENT ON COLUMN rl.rollouts.channel IS 'train or validation; give validation rollouts groups of their own';
COMMENT ON COLUMN rl.rollouts.curation IS 'label of whoever selects rollouts for training';
COMMENT ON TABLE rl.steps IS 'steps of rollouts: one decision each';
COMMENT ON COLUMN rl.steps.step_id IS 'number of the step, from a sequence';
COMMENT ON COLUMN rl.steps.step_no IS 'order of the steps within the rollout';
COMMENT ON COLUMN rl.steps.turn IS 'turn of the conversation; several steps may share one (parallel tool calls)';
COMMENT ON COLUMN rl.steps.observation IS 'what the agent saw before it acted';
COMMENT ON COLUMN rl.steps.ok IS 'whether the tool call succeeded; NULL: not known';
COMMENT ON COLUMN rl.steps.next_observation IS 'what it saw after the action, where that is not the observation of the next step';
COMMENT ON COLUMN rl.steps.state IS 'identity of the state before the action; steps with equal state are compared; NULL: like no other';
COMMENT ON COLUMN rl.steps.action_hash IS 'identity of the action; NULL: like no other';
COMMENT ON COLUMN rl.steps.next_state IS 'identity of the state after the action';
COMMENT ON COLUMN rl.steps.reward IS 'reward of the step alone; see the view rollout_rows for whether it counts';
COMMENT ON COLUMN rl.steps.turn_reward IS 'turn-level reward, for mt_grpo and mt_rloo';
COMMENT ON COLUMN rl.steps.value IS 'the critic''s V(state), for gae';
COMMENT ON COLUMN rl.steps.cost IS 'cost of the step as an edge, for graphgpo; NULL: 1';
COMMENT ON COLUMN rl.steps.prompt_token_ids IS 'the step''s prompt as the policy saw it';
COMMENT ON COLUMN rl.steps.response_token_ids IS 'what the policy generated';
COMMENT ON COLUMN rl.steps.response_mask IS 'which response tokens are trained on; as long as response_token_ids';
COMMENT ON COLUMN rl.steps.rollout_logprobs IS 'log-probabilities of the response tokens under the policy that acted; as long as response_token_ids';
COMMENT ON COLUMN rl.steps.policy_logprobs IS 'the same under the policy as it is now, for the view steps_ratios; as long as response_token_ids';
CREATE VIEW rl.rollout_rows :invoker AS
SELECT s.group_id, s.rollout_id, s.step_no, s.step_id, s.state, s.action_hash, s.next_state,
	s.reward AS reward, NULL::boolean AS success, s.turn_reward, s.value, s.cost, s.tool, s.args, s.ok
FROM rl.steps s
UNION ALL
SELECT r.group_id, r.rollout_id, NULL::integer, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint,
	coalesce(r.outcome, r.success::integer::float8), r.success, NULL::float8, NULL::float8, NULL::float8, NULL::text, NULL::jsonb, NULL::boolean
FROM rl.rollouts r;
COMMENT ON VIEW rl.rollout_rows IS 'what rollout_agg is fed: one row per step, and per rollout one with step_no NULL that carries its success; reward: those of the steps and the outcome (or, where it is NULL, success as 1 or 0) as terminal reward';
SELECT count(*) > 10 FROM stepadv.attach('rl.rollout_rows', '{group_id}', 'rollout_id', 'step_no', 'state', 'action_hash', 'reward', 'step_id', 'success', 'next_state', 'value', 'turn_reward', 'cost',
	prefix => 'steps', show_steps => 'rl.steps', show_rollouts => 'rl.rollouts', logp_new => 'policy_logprobs', logp_old => 'rollout_logprobs', token_mask => 'response_mask',
	tool => 'tool', args => 'args', ok => 'ok', policy_version => 'policy_version', started_at => 'started_at');

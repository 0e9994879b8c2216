-- stepadv_import: made from import/[0-9]*.sql by make; do not edit the joined file.
-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION stepadv_import CASCADE" to load this file. \quit

-- The schema has been there since stepadv was made, and whoever may create in it
-- may have put operators and functions there: no name is looked up in it that
-- does not say so.
SET LOCAL search_path = pg_catalog, pg_temp;

-- A step as every reader of lines gives it, and as it is written to the tables.
CREATE TYPE @extschema@.parsed_step AS (
	problem text, nul_replaced integer,
	group_id text, rollout_id text, step_no integer, turn integer,
	observation text, next_observation text, action text, tool text, args jsonb, ok boolean,
	reward float8, turn_reward float8, value float8, cost float8,
	prompt_token_ids integer[], response_token_ids integer[], response_mask boolean[], rollout_logprobs real[],
	metadata jsonb,
	outcome float8, success boolean, truncated boolean,
	policy_version text, model text, channel text, curation text,
	started_at timestamptz, ended_at timestamptz,
	content bigint,
	task_id text, run_id text, policy_step bigint, tags jsonb);
COMMENT ON TYPE @extschema@.parsed_step IS
'a line of JSON Lines as parse_rollout_line gives it: the columns of rollouts and steps (docs/tables.md), content as a hash, and problem, NULL or why the line cannot be used';

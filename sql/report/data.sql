-- The page of stepadv-report, made by reading alone, so that a standby, a transaction
-- that is READ ONLY and a role that may only read can have it: what it shows is read
-- into one value of type report, of which the functions below make HTML.

CREATE TYPE stepadv_internal.report_group AS (group_no integer, key text[], name text, n_rollouts integer, n_judged integer, n_steps integer,
	mean_return float8, sd_return float8, success_rate float8, uniform boolean, n_states integer, n_shared_states integer, shared_step_share float8,
	task text, version text, words text, largest float8, tags text[]);
CREATE TYPE stepadv_internal.report_rollout AS (group_no integer, rollout_no integer, rollout_id text, n_steps integer, return float8, success boolean, more text);
CREATE TYPE stepadv_internal.report_step AS (group_no integer, rollout_no integer, step_rank integer, step_no integer, step_key bigint, advantages float8[], observed text, done text,
	told_advantage float8, is_told boolean, q float8, v float8, n_state integer, n_action integer, stderr float8, difference float8);
CREATE TYPE stepadv_internal.report_quadrant AS (group_no integer, success boolean, quadrant text, n_steps bigint);
CREATE TYPE stepadv_internal.report_problem AS (group_no integer, rollout_id text, step_no integer, problem text, n_rows bigint, effect text);
CREATE TYPE stepadv_internal.report_decision AS (group_no integer, place bigint, visits integer, rollouts integer, actions integer, entropy float8, gap float8, gap_error float8,
	best_q float8, worst_q float8, best_visits integer, worst_visits integer, observed text, best text, worst text);
CREATE TYPE stepadv_internal.report_failure AS (group_no integer, rollout_no integer, last_chance integer, dead_end integer, dropped integer, value_drop float8);
CREATE TYPE stepadv_internal.report_picture AS (group_no integer, kind text, dot text);
CREATE TYPE stepadv_internal.report_scale AS (group_no integer, method_no integer, method text, largest float8);
CREATE TYPE stepadv_internal.report_decisive AS (group_no integer, kind text, rollout_no integer, step_rank integer, n_alike bigint, place bigint);
-- told: the method whose q and v are told; told_function: that it is, or is an instance of; with_values: all methods that have them;
-- in_files: a page for each group.
CREATE TYPE stepadv_internal.report AS (source text, methods text[], method_a text, method_b text, has_states boolean, tell_steps text[],
	told text, told_function text, with_values text[], main integer, in_files boolean, drawn integer[], hidden text,
	groups stepadv_internal.report_group[], rollouts stepadv_internal.report_rollout[], steps stepadv_internal.report_step[],
	quadrants stepadv_internal.report_quadrant[], problems stepadv_internal.report_problem[], decisions stepadv_internal.report_decision[],
	failures stepadv_internal.report_failure[], pictures stepadv_internal.report_picture[], scales stepadv_internal.report_scale[], decisive stepadv_internal.report_decisive[]);
COMMENT ON TYPE stepadv_internal.report IS 'part of stepadv-report: what a page shows, read once';
COMMENT ON TYPE stepadv_internal.report_group IS 'part of stepadv-report: a group; in an index also its task, version, the words it begins with, its largest |advantage| and its tags';
COMMENT ON TYPE stepadv_internal.report_rollout IS 'part of stepadv-report: a rollout of the page';
COMMENT ON TYPE stepadv_internal.report_step IS 'part of stepadv-report: a step of a group in full';
COMMENT ON TYPE stepadv_internal.report_quadrant IS 'part of stepadv-report: steps by the signs of two methods';
COMMENT ON TYPE stepadv_internal.report_problem IS 'part of stepadv-report: what is wrong with rows of a group in full';
COMMENT ON TYPE stepadv_internal.report_decision IS 'part of stepadv-report: a state in which several actions were tried';
COMMENT ON TYPE stepadv_internal.report_failure IS 'part of stepadv-report: where a failed rollout was lost';
COMMENT ON TYPE stepadv_internal.report_picture IS 'part of stepadv-report: a tree or graph for Graphviz';
COMMENT ON TYPE stepadv_internal.report_scale IS 'part of stepadv-report: the largest advantage of a method in a group';
COMMENT ON TYPE stepadv_internal.report_decisive IS 'part of stepadv-report: a step that stands out';

-- Comments on the columns of views that attach creates: that of the user's column that a column
-- shows, or that it belongs to the group's key, or what it means.

-- kind: of the view; '' for all views with a column of this name.
CREATE TABLE stepadv_internal.column_meanings (
	kind text NOT NULL DEFAULT '',
	name text NOT NULL,
	meaning text NOT NULL,
	PRIMARY KEY (kind, name)
);
COMMENT ON TABLE stepadv_internal.column_meanings IS
'meaning of the columns of the views of attach: unit, and when NULL';
GRANT SELECT ON stepadv_internal.column_meanings TO PUBLIC;
INSERT INTO stepadv_internal.column_meanings VALUES
	('', 'step_id', 'id of the step, or a hash of rollout and number if there is none'),
	('', 'rollout_id', 'id of the rollout'),
	('', 'step_no', 'position of the step in its rollout; only the order counts'),
	('', 'return', 'discounted sum of the rewards from this step on, the rollout''s outcome included; NULL: not '
		'judged'),
	('', 'advantage',
		'advantage of the step, in the unit of the method; NULL: not judged, or not defined for the step'),
	('', 'baseline', 'what the return is compared with, in units of the reward; NULL: there is nothing to compare '
		'with'),
	('', 'staleness', 'policy steps of the run since the one that acted; 0: the newest; NULL: unknown'),
	('', 'n_state', 'visits of judged rollouts of the group to the state of the step'),
	('', 'n_action', 'visits to the state that took the action of the step'),
	('', 'q', 'mean return after the action in the state, in units of the reward; NULL: not judged'),
	('', 'v', 'value of the state: mean return of its visits, mixed with the baseline if they are few'),
	('', 'stderr', 'standard error of the advantage from the spread of the returns; NULL: too few visits'),
	('', 'q_error', 'standard error of q; NULL: too few visits'),
	('', 'confidence',
		'probability that the sign of the advantage is right, 0.5 to 1; NULL: its error is unknown'),
	('', 'value', 'value of the state before the step'),
	('', 'next_value', 'value of the state after the step'),
	('', 'td_error', 'reward plus discounted next value minus value; NULL without a critic''s value'),
	('', 'episode_advantage', 'part of the advantage from the rollout: its return compared with those of the group'),
	('', 'step_advantage', 'part of the advantage from the step, compared with steps from the same state'),
	('', 'turn_advantage', 'part of the advantage from turn rewards'),
	('', 'outcome_advantage', 'part of the advantage from outcomes'),
	('', 'graph_advantage', 'part of the advantage from the distance to the goal in the state graph'),
	('', 'distance', 'least cost of a path from the state to the goal in the state graph; NULL: there is none'),
	('', 'next_distance', 'the same from the next state; NULL: there is none'),
	('', 'step_reward', 'how much closer to the goal the step led, in units of the cost'),
	('', 'n_levels', 'levels of history at which the step was compared with others'),
	('', 'normalised_reward', 'turn reward normalised over the group'),
	('', 'state', 'identity of the state before the step; NULL: no other step shares it'),
	('', 'action', 'identity of the action; NULL: no other step shares it'),
	('', 'next_state', 'identity of the state after the step; NULL: that of the rollout''s next step'),
	('', 'coarse_state', 'identity of the state that the step''s state is part of'),
	('', 'logp', 'log-probability of the action by the policy that took it'),
	('', 'n_visits', 'visits of the group to the state or edge'),
	('rtmc_tree', 'n_successes', 'visits whose rollout succeeded'),
	('', 'cost', 'cost of the edge; 1 by default'),
	('', 'is_dead_end', 'no path leads from the state to the goal'),
	('', 'is_goal', 'the state in which a successful rollout ended'),
	('', 'is_start', 'a rollout began in the state'),
	('', 'on_cycle', 'a path leads from the state back to it'),
	('', 'n_rollouts', 'rollouts'),
	('', 'n_judged', 'rollouts that are judged: with a reward or a success on any row'),
	('', 'n_successes', 'rollouts that succeeded'),
	('', 'n_steps', 'steps'),
	('', 'n_judged_steps', 'steps of judged rollouts'),
	('', 'n_groups', 'groups'),
	('', 'n_judged_groups', 'groups with a judged rollout'),
	('', 'n_informative_groups', 'groups whose judged rollouts differ in their return'),
	('', 'n_tasks', 'tasks'),
	('', 'mean_return', 'mean undiscounted return of the judged rollouts; NULL: none is judged'),
	('', 'sd_return', 'standard deviation of the same; NULL: fewer than two'),
	('', 'return_sum', 'sum of the undiscounted returns of the judged rollouts'),
	('', 'success_rate', 'share of the judged rollouts that succeeded, 0 to 1; NULL: none is judged'),
	('', 'uniform',
		'all judged rollouts have the same return; NULL: fewer than two are judged'),
	('', 'n_states', 'number of distinct states'),
	('', 'n_shared_states', 'states that more than one rollout visited'),
	('', 'n_shared_steps', 'steps of judged rollouts in states that more than one of these visited'),
	('', 'shared_step_share',
		'share of the steps of judged rollouts in states that more than one of these visited, 0 to 1'),
	('', 'all_shared_step_share', 'the same for all rollouts, judged or not'),
	('', 'no_shared_state',
		'rollouts have states, and none is shared: methods that compare states have nothing to compare'),
	('', 'informative_share', 'share of the judged groups whose rollouts differ in their return, 0 to 1'),
	('', 'outcome', 'reward of the row that belongs to the rollout itself; NULL: there is none'),
	('', 'success',
		'whether the rollout reached its goal: as given, else whether its return is above success_above; NULL: not '
		'judged'),
	('', 'judged', 'whether any row of the rollout has a reward or a success'),
	('', 'rollouts', 'the group as a value, for every function of a rollout_group'),
	('', 'n_tokens', 'tokens that count'),
	('', 'ratio',
		'mean ratio of the new policy''s probabilities to the old one''s over the tokens; NULL: log-probabilities are '
		'missing or not finite'),
	('', 'sequence_ratio',
		'ratio of the probabilities of the whole step, as its geometric mean over tokens; NULL likewise'),
	('', 'approximate_kl', 'mean of the k3 estimate of KL(old, new) over the tokens, in nats; NULL likewise'),
	('', 'kl_to_reference', 'mean of the k3 estimate of KL(new, reference) over the tokens, in nats; NULL likewise'),
	('', 'contribution', 'progress that the step made, as given or predicted of its features; NULL: not known'),
	('', 'grounded', 'whether the action could be executed; NULL: unknown, counts as false'),
	('', 'fused_reward', 'contribution and grounding in one reward; NULL: the contribution is unknown'),
	('', 'problem', 'kind of the problem'),
	('', 'n_rows', 'number of rows with the problem'),
	('', 'methods', 'views that it affects'),
	('', 'effect', 'effect on the rollout, step or group'),
	('', 'method', 'name of the method'),
	('', 'method_a', 'the first of two methods'),
	('', 'method_b', 'the second of two methods'),
	('', 'advantage_a', 'the step''s advantage by the first method'),
	('', 'advantage_b', 'the step''s advantage by the second method'),
	('', 'scaled_a', 'the same in units of its root mean square over the group'),
	('', 'scaled_b', 'the same in units of its root mean square over the group'),
	('', 'difference', 'scaled_a minus scaled_b'),
	('', 'opposite_sign', 'one is above 0 and the other below'),
	('', 'max_difference', 'largest difference of two scaled advantages of a step'),
	('', 'quadrant', 'signs of both advantages, such as +- or 0+; NULL: a method has no advantage for these steps'),
	('', 'share', 'share of these among the steps with the same success, 0 to 1; NULL: undefined'),
	('', 'bucket', 'start of the time bucket of the rollouts'' start; NULL: unknown, or no buckets'),
	('', 'policy_step', 'policy step of the policy that acted; NULL: unknown'),
	('', 'policy_version', 'name of the policy that acted; NULL: unknown'),
	('', 'run_id', 'run of the rollout; NULL: unknown, or those of the group differ'),
	('', 'task_id', 'the task; NULL: unknown, or those of the group differ'),
	('', 'mean_advantage', 'mean of the advantages; NULL: there are none'),
	('', 'mean_abs_advantage', 'mean of their absolute values; NULL: there are none'),
	('', 'sd_advantage', 'their standard deviation; NULL: fewer than two'),
	('', 'min_advantage', 'smallest advantage'),
	('', 'max_advantage', 'largest advantage'),
	('', 'n_positive', 'advantages above 0'),
	('', 'n_negative', 'advantages below 0'),
	('', 'bin', 'middle of a bin of advantages'),
	('', 'n_ratios', 'steps with a ratio'),
	('', 'ess_share', 'effective sample size of the ratios as a share of their number, 0 to 1; NULL: there are none'),
	('', 'sequence_ess_share', 'the same of the sequence ratios'),
	('', 'k', 'number of rollouts drawn per task'),
	('', 'pass_at_k', 'probability that one of k drawn rollouts succeeds, as a mean over tasks'),
	('', 'pass_at_k_stderr', 'its standard error over tasks; NULL: fewer than two'),
	('', 'pass_hat_k', 'probability that all k drawn rollouts succeed, as a mean over tasks'),
	('', 'pass_hat_k_stderr', 'its standard error over tasks; NULL: fewer than two'),
	('', 'n_actions', 'number of distinct actions taken in the state'),
	('', 'entropy', 'entropy of the actions taken in the state, in nats'),
	('', 'best_q', 'q of the best action'),
	('', 'worst_q', 'q of the worst action'),
	('', 'gap', 'best_q minus worst_q, in units of the reward; NULL: only one action was taken'),
	('', 'gap_error', 'standard error of the gap; NULL: too few visits'),
	('', 'n_best_visits', 'visits that took the best action'),
	('', 'n_worst_visits', 'visits that took the worst action'),
	('', 'best_step_id', 'an example of the best action'),
	('', 'worst_step_id', 'an example of the worst action'),
	('', 'best_action', 'what it did'),
	('', 'worst_action', 'what it did'),
	('', 'last_chance_step_no',
		'the last step from whose state a rollout of the group still succeeded; NULL: there is none'),
	('', 'last_chance_step_id', 'its id'),
	('', 'last_chance_action', 'what it did'),
	('', 'dead_end_step_no',
		'the first step after which no path of the state graph leads to the goal; NULL: there is none'),
	('', 'dead_end_step_id', 'its id'),
	('', 'dead_end_action', 'what it did'),
	('', 'drop_step_no', 'the step after which the value of the state dropped most; NULL: it never dropped'),
	('', 'drop_step_id', 'its id'),
	('', 'drop_action', 'what it did'),
	('', 'value_drop', 'drop of the value, in units of the reward'),
	('', 'n_repeats', 'steps that repeat an earlier step of their rollout'),
	('', 'n_contributing', 'steps that brought the rollout nearer to the goal'),
	('', 'coverage', 'share of the steps of rollouts left out whose state and action occur in the others, 0 to 1'),
	('credit_check', 'n_steps', 'steps of rollouts left out'),
	('', 'score', 'how well the advantages of steps predict rollouts left out: a correlation, beyond that by '
		'chance'),
	('', 'error', 'standard error of the score, over groups'),
	('', 'by_chance', 'the same correlation with outcomes shuffled'),
	('', 'n_groups_needed', 'about how many groups would show such a score, at two errors; NULL: none would'),
	('', 'is_best', 'whether it is within one paired error of the best'),
	('', 'finding', 'the same as text'),
	('', 'groups', 'groups with such steps'),
	('', 'category', 'category of the calls'),
	('', 'n_calls', 'calls'),
	('', 'n_errors', 'calls that failed'),
	('', 'error_share', 'share of the calls with a known result that failed, 0 to 1; NULL: no result is known'),
	('', 'repeat_share', 'share of the calls that repeat an earlier one of their rollout, 0 to 1'),
	('', 'measure', 'measure of rollouts: steps, turns, cost, …'),
	('', 'mean', 'mean over rollouts'),
	('', 'p50',
		'median over rollouts, of numbers rounded to 12 binary digits: integers up to 4096 are exact, others at most '
		'1/8192 off'),
	('', 'p95', '95th percentile over rollouts, of numbers rounded to 12 binary digits, as p50'),
	('', 'per_success', 'sum over all judged rollouts per success; NULL: none succeeded'),
	('', 'horizon', 'distance of the first state from the goal, over the steps of all judged rollouts'),
	('', 'mean_steps', 'mean number of steps of the successes'),
	('', 'mean_excess', 'mean length of the successes minus the horizon'),
	('', 'p50_excess', 'median of the same, of numbers rounded to 12 binary digits'),
	('', 'n_prompt_tokens', 'tokens of the prompt'),
	('', 'n_response_tokens', 'tokens of the response'),
	('', 'n_new_tokens', 'tokens of prompt and response that no earlier step of the rollout has'),
	('', 'extends_previous', 'the prompt begins with prompt and response of the previous step'),
	('', 'differs_at', 'first token of the prompt that differs, from 1; NULL: none'),
	('', 'segment_no', 'number of the run of steps whose prompts extend each other'),
	('contribution', 'share', 'share of the rollout''s steps that brought it nearer to the goal, 0 to 1'),
	('gae', 'value', 'the critic''s value of the state before the step; NULL: none was given'),
	('tempo', 'value', 'mean return of the rollouts that did the same up to here'),
	('tempo', 'next_value', 'the same one step later'),
	('rollouts', 'return', 'undiscounted sum of the rollout''s rewards, its outcome included; NULL: not judged'),
	('rows', 'reward', 'reward of the row; NULL: none was received'),
	('rows', 'success', 'success of the rollout as given in the row; NULL: not given'),
	('rows', 'value', 'the critic''s value of the state before the step'),
	('rows', 'turn_reward', 'reward of the step as a turn'),
	('rows', 'cost', 'cost of the step as an edge of the state graph; NULL: 1'),
	('rows', 'turn', 'turn of the step'),
	('rows', 'truncated', 'whether the rollout was truncated, as given in the row'),
	('rows', 'rewards', 'components of the reward, in the order in which they were given'),
	('rows', 'step_no', 'position of the step in its rollout; NULL: the row belongs to the rollout itself'),
	('rows', 'rollout_policy_step', 'policy step of the policy that acted'),
	('rows', 'raw_rollout_id', 'id of the rollout in the source'),
	('rows', 'action_signature', 'signature of the tool call'),
	('rows', 'step_id', 'the step, as a bigint: the integer itself, else a hash'),
	('rows', 'rollout_id', 'the rollout, as a bigint: the integer itself, else a hash'),
	('advantage_over_time', 'method', 'method; those with a history are excluded, as they depend on other groups'),
	('advantage_by_group', 'method', 'method; those with a history are excluded, as they depend on other groups'),
	('advantage_histogram', 'method', 'method; those with a history are excluded, as they depend on other groups'),
	('behaviour_advantage', 'method', 'method; those with a history are excluded, as they depend on other groups'),
	('ready', 'status', 'ready, or why the group is not'),
	('ready', 'claim', 'the call of claim_groups that took the group last'),
	('ready', 'claimed_by', 'who called it'),
	('ready', 'claimed_until', 'when the lease expires; NULL: the group is not claimed'),
	('ready', 'consumed_at', 'when it was consumed last'),
	('ready', 'consumed_step', 'policy step of the update that it was last trained on in'),
	('credit_check', 'n_groups', 'groups with rollouts left out'),
	('credit_check', 'p_value', 'probability that the best of all rows scores so by chance');

-- src/attach/comments.c
CREATE FUNCTION stepadv_internal.comment_on_columns(relation regclass, comments text[]) RETURNS void
LANGUAGE c STRICT
AS 'MODULE_PATHNAME', 'stepadv_comment_on_columns';
COMMENT ON FUNCTION stepadv_internal.comment_on_columns(regclass, text[]) IS
'comments on columns of a table or view, by their numbers; NULL: unchanged; for its owner, as COMMENT';

-- Only columns without a comment get one: comments of users stay.
CREATE FUNCTION stepadv_internal.comment_columns(a stepadv_internal.attached) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM stepadv_internal.comment_on_columns(c.view, array_agg(left(c.comment, 300) ORDER BY c.attnum))
	FROM (
		-- Comments on the user's columns that adapters show unchanged.
		WITH shown AS MATERIALIZED (
			SELECT k.relation, k.number, coalesce(d.description,
				format('column %I of %s', c.column_name, stepadv_internal.relation_name(c.relation))) AS comment
			FROM (VALUES ((a).shown), ((a).shown_rollouts)) s(adapter)
			CROSS JOIN LATERAL stepadv_internal.view_columns(s.adapter) c
			LEFT JOIN pg_description d ON d.objoid = c.relation AND d.classoid = 'pg_class'::regclass
				AND d.objsubid = c.column_number
			-- Some views read the adapter, some the relation below it.
			CROSS JOIN LATERAL (VALUES (s.adapter, c.number), (c.relation, c.column_number)) k(relation, number)
			WHERE c.plain AND c.name NOT LIKE 'stepadv\_%'),
		those AS MATERIALIZED (
			SELECT k.kind, k.view FROM unnest((a).view_kinds, (a).views) k(kind, view)
			UNION ALL
			SELECT 'rows', k.view FROM unnest(ARRAY[(a).rows, (a).stated, (a).shown, (a).shown_rollouts,
				(a).began]) k(view)),
		-- A column of an adapter stands for itself, a column of a view for the column that it reads.
		shows AS MATERIALIZED (
			SELECT v.view, c.number AS at, min(c.relation::oid)::regclass AS relation, min(c.column_number) AS number
			FROM those v CROSS JOIN LATERAL stepadv_internal.view_columns(v.view) c
			WHERE v.kind <> 'rows' GROUP BY 1, 2 HAVING bool_and(c.plain)
			UNION ALL
			SELECT v.view, t.attnum, v.view, t.attnum FROM those v JOIN pg_attribute t ON t.attrelid = v.view
				WHERE v.kind = 'rows')
		-- For the group's columns, for columns that show a user's column, and otherwise the meaning.
		SELECT v.view, t.attnum, CASE WHEN d.description IS NOT NULL THEN NULL
			WHEN CASE WHEN v.kind = 'ready' THEN t.attnum WHEN p.relation IN ((a).rows, (a).stated, (a).folded,
				(a).shown, (a).shown_rollouts, (a).began) THEN p.number END <= (a).n_group_columns
				THEN 'of the group''s key: rollouts that agree in it are compared with each other'
			ELSE coalesce(CASE WHEN v.kind = 'rows' OR t.attname <> 'rollout_id' THEN s.comment END,
				CASE WHEN t.attname LIKE 'stepadv\_%'
					THEN format('what was given as %s, in the type that stepadv reads',
					CASE t.attname WHEN 'stepadv_no' THEN 'step_no' WHEN 'stepadv_step' THEN 'step_id'
						WHEN 'stepadv_rollout' THEN 'rollout_id' ELSE substr(t.attname, 9) END) END,
				m.meaning, n.meaning,
				CASE WHEN t.attname = ANY ((a).view_kinds)
					THEN format('advantage of the step by %s; NULL where it has none', t.attname) END) END AS comment
		FROM those v JOIN pg_attribute t ON t.attrelid = v.view AND t.attnum > 0
		LEFT JOIN pg_description d ON d.objoid = v.view AND d.classoid = 'pg_class'::regclass AND d.objsubid = t.attnum
		LEFT JOIN stepadv_internal.column_meanings m ON m.name = t.attname AND m.kind = v.kind
		LEFT JOIN stepadv_internal.column_meanings n ON n.name = t.attname AND n.kind = ''
		LEFT JOIN shows p ON p.view = v.view AND p.at = t.attnum
		LEFT JOIN shown s ON s.relation = p.relation AND s.number = p.number) c
	GROUP BY c.view;
END
$$;
COMMENT ON FUNCTION stepadv_internal.comment_columns(stepadv_internal.attached) IS
'part of attach: comments on the columns of an attachment''s views that have none';

-- Pairs of actions for preference training: src/analysis/preference_pairs.c

CREATE FUNCTION stepadv_internal.preference_pairs(rollouts stepadv.rollout_group, method text, gamma float8,
	prior float8, baseline float8,
	prior_mean text, success_above float8, min_gap float8, min_visits integer, min_confidence float8)
RETURNS TABLE (state bigint, n_actions integer, chosen_step_id bigint, rejected_step_id bigint, chosen_q float8,
	rejected_q float8,
	gap float8, gap_error float8, confidence float8, n_chosen_visits integer, n_rejected_visits integer)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2500 ROWS 20 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_preference_pairs';
COMMENT ON FUNCTION stepadv_internal.preference_pairs(stepadv.rollout_group, text, float8, float8, float8, text,
	float8, float8, integer, float8) IS
'part of preference_pairs: all but the reason';

-- Names are bound at creation rather than by SET search_path, so that the function can be inlined.
CREATE FUNCTION stepadv.preference_pairs(rollouts stepadv.rollout_group, min_gap float8 DEFAULT 0,
	min_visits integer DEFAULT 2, min_confidence float8 DEFAULT 0,
	method text DEFAULT 'rtmc', gamma float8 DEFAULT 1, prior float8 DEFAULT NULL, baseline float8 DEFAULT NULL,
	prior_mean text DEFAULT 'success_rate',
	success_above float8 DEFAULT 0)
RETURNS TABLE (state bigint, n_actions integer, chosen_step_id bigint, rejected_step_id bigint, chosen_q float8,
	rejected_q float8,
	gap float8, gap_error float8, confidence float8, n_chosen_visits integer, n_rejected_visits integer, reason text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 20
BEGIN ATOMIC
	SELECT p.state, p.n_actions, p.chosen_step_id, p.rejected_step_id, p.chosen_q, p.rejected_q, p.gap, p.gap_error,
		p.confidence, p.n_chosen_visits, p.n_rejected_visits,
		format('q %s in %s rollouts over %s in %s; gap %s +- %s; better with probability %s; '
			'best and worst of %s actions'::text,
			round(p.chosen_q::numeric, 3), p.n_chosen_visits, round(p.rejected_q::numeric, 3), p.n_rejected_visits,
			round(p.gap::numeric, 3), round(p.gap_error::numeric, 3), round(p.confidence::numeric, 2), p.n_actions)
	FROM stepadv_internal.preference_pairs(preference_pairs.rollouts, preference_pairs.method, preference_pairs.gamma,
	preference_pairs.prior, preference_pairs.baseline,
		preference_pairs.prior_mean, preference_pairs.success_above, preference_pairs.min_gap,
		preference_pairs.min_visits, preference_pairs.min_confidence) p;
END;
COMMENT ON FUNCTION stepadv.preference_pairs(stepadv.rollout_group, float8, integer, float8, text, float8, float8,
	float8, text, float8) IS
'a row per state in which judged rollouts took several actions: the best (chosen) and the worst (rejected) by Q of '
'method (''rtmc'' or ''batch_td'') among those that min_visits rollouts took, if gap and confidence are large '
'enough; one step_id of each; reason: the same as text; for DPO';

-- Methods known from public code (salt from texts alone), beside those of the papers: src/estimators/outcome_baselines.c, igpo.c, pure.c, gae.c, g2po.c, salt.c
-- success_reward of g2po may be NULL (its default), so that is not STRICT: a NULL group gives no rows.

CREATE FUNCTION stepadv.opo(rollouts stepadv.rollout_group, length text DEFAULT 'steps', singleton text DEFAULT 'zero')
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, baseline float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_opo';
COMMENT ON FUNCTION stepadv.opo(stepadv.rollout_group, text, text) IS
'OPO (Hao et al. 2025, arXiv 2505.23585; verl''s code): the rollout''s return R less the group''s mean return in which each judged rollout counts by its length (baseline), sum L R / sum L, the baseline of least variance where the square of a gradient grows with the length; length ''steps'': L is the number of steps, ''cost'': the sum of their costs, 1 for a NULL (tokens, where cost is the number of a step''s response tokens; the published length); exactly 0 when all R are equal; a lone rollout has 0 (singleton ''zero'') or its return (''raw'', as the code has it); NULL for rollouts not judged yet; error on a negative cost';

CREATE FUNCTION stepadv.grpo_passk(rollouts stepadv.rollout_group, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, baseline float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_grpo_passk';
COMMENT ON FUNCTION stepadv.grpo_passk(stepadv.rollout_group, text, float8) IS
'GRPO for pass@k (Tang et al. 2025, arXiv 2503.19595; verl''s code), k being the group''s judged rollouts: (best return - best return of the others) / (sd + epsilon), sd of the group with ddof 1, so that only a single best rollout has an advantage, by what it is better than the second, and all others, and all where two share the best return, have 0; normalise ''mean'' and ''none'' omit the division; baseline: the best return of the others, NULL and advantage 0 in a group of one (an error of the code); NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.remax(rollouts stepadv.rollout_group, greedy stepadv.rollout_group DEFAULT NULL, gamma float8 DEFAULT 1.0, to_go boolean DEFAULT true, within boolean DEFAULT false)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, return float8, baseline float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_remax';
COMMENT ON FUNCTION stepadv.remax(stepadv.rollout_group, stepadv.rollout_group, float8, boolean, boolean) IS
'ReMax (Li et al. 2023, arXiv 2310.10505; verl''s code): REINFORCE with what the policy earns greedily as its baseline; greedy: a group of the rollouts of the same task that were decoded greedily, as a rule one, say rollout_agg(…) FILTER (WHERE is_greedy) beside FILTER (WHERE NOT is_greedy); baseline: the mean undiscounted return of its judged rollouts; advantage: the discounted return from the step on, or with to_go false the rollout''s undiscounted return, less that; within: greedy are rollouts of the group itself, by their ids, and no samples of it: those that are judged in greedy have NULL; no rows where greedy is NULL; NULL for rollouts not judged yet, and for all while none of greedy is. attach(…, greedy => ''column'') makes a view of it: greedy are the rollouts of the group a row of which is marked';

CREATE FUNCTION stepadv.igpo(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1.0, pool text DEFAULT 'joint', normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, normalised_reward float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_igpo';
COMMENT ON FUNCTION stepadv.igpo(stepadv.rollout_group, float8, text, text, float8) IS
'IGPO (Wang et al. 2025, arXiv 2510.14967, and its code): turn_reward, there the gain in the policy''s probability of the right answer, of every step but a rollout''s last, and for that one the rollout''s return, are normalised together over all of the group (pool ''joint'') or each kind for itself (''separate''), y = (x - mean) / (sqrt(variance + 1e-8) + epsilon) with ddof 0 (normalise ''mean'': x - mean, ''none'': x); advantage A_t = y_t + gamma A_{t+1}; a step whose turn_reward is NULL (the code: or 0, so give NULL for it) has no normalised_reward and the advantage of the next step, undiscounted; a last step''s own turn_reward is not used; exactly 0 where all x are equal or there is one; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.pure(rollouts stepadv.rollout_group, temperature float8 DEFAULT 0.1, outcome_coef float8 DEFAULT 1.0)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, weight float8, return float8, baseline float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_pure';
COMMENT ON FUNCTION stepadv.pure(stepadv.rollout_group, float8, float8) IS
'PURE (Cheng et al. 2025, arXiv 2504.15275, and its code), min-form credit: turn_reward p (of a process reward model) weighs exp(-p / temperature) over the sum of that over the rollout''s steps that have one, so that the worst decides (temperature 0: the least share the weight); return: the sum of weight x p from the step on; baseline: the mean of the other rollouts'' first return divided by the number of their scored steps; advantage: the sum of weight x p - baseline over the scored steps from this one on, plus outcome_coef times the rollout''s return less the mean of the others'' (0: process rewards alone); either part is 0 where no other judged rollout has it, baseline NULL; weight NULL where turn_reward is; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.bi_level_gae(rollouts stepadv.rollout_group, gamma float8 DEFAULT 1.0, lambda float8 DEFAULT 1.0, turn_gamma float8 DEFAULT 0.95, masked boolean DEFAULT false)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, value float8, td_error float8, return float8, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_bi_level_gae';
COMMENT ON FUNCTION stepadv.bi_level_gae(stepadv.rollout_group, float8, float8, float8, boolean) IS
'bi-level GAE (RAGEN''s code): first over turns, A = r + turn_gamma V'' - V + turn_gamma lambda A'', with r the rewards of all steps of the turn, V the value of its last step and V'', A'' those of the turn after it (0 after the last), which is the advantage of the turn''s last step; then within the turn from there back, A_t = gamma V_{t+1} - V_t + gamma lambda A_{t+1}; turns: steps of equal turn that follow one another, a step without one is a turn of its own; return: advantage + value; masked: steps whose action is NULL are observations (of a table of tokens), which take no time, as in gae; NULL for rollouts not judged yet; error on a NULL value; what the code does to the advantages of a batch afterwards is whiten';

CREATE FUNCTION stepadv.g2po(rollouts stepadv.rollout_group, gamma float8 DEFAULT 0.95, step_weight float8 DEFAULT 1.0, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6,
	weighting text DEFAULT 'rollout', singleton text DEFAULT 'zero', success_reward float8 DEFAULT NULL, success_above float8 DEFAULT 0)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, v float8, next_v float8, episode_advantage float8, step_advantage float8, advantage float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_g2po';
COMMENT ON FUNCTION stepadv.g2po(stepadv.rollout_group, float8, float8, text, float8, text, text, float8, float8) IS
'G2PO (its code): v of a state is the mean over its visits in the group of gamma^(steps until the rollout has ended) times the rollout''s return; next_v that of the state of the next step, and after the last step of a rollout that succeeded success_reward (NULL: its return), of another 0; step_advantage: next_v normalised over the steps out of the same state, 0 for a state seen once, plus next_v - v normalised over all steps of the group; advantage: episode_advantage (as of gigpo) + step_weight x step_advantage; normalise, epsilon, weighting, singleton as for gigpo; a NULL state is one of its own; NULL for rollouts not judged yet';

CREATE FUNCTION stepadv.salt(rollouts stepadv.rollout_group, normalise text DEFAULT 'std', epsilon float8 DEFAULT 1e-6, weighting text DEFAULT 'rollout', singleton text DEFAULT 'zero',
	merge text DEFAULT 'transition', visit text DEFAULT 'first', success_above float8 DEFAULT 0)
RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, episode_advantage float8, n_edge integer, advantage float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 700 ROWS 100 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_salt';
COMMENT ON FUNCTION stepadv.salt(stepadv.rollout_group, text, float8, text, text, text, text, float8) IS
'SALT (Li et al. 2025, arXiv 2510.20022; it has no public code, the formula is that which appendix A.3 of the paper of GRAFT, 2026, gives of it): the mean of the episode advantages (as of gigpo: normalise, epsilon, weighting, singleton) of the group''s judged rollouts that took the same step, n_edge of them; a step that only one took has its rollout''s own; the same step: state, action and the state that it led to, after the last step of a rollout that succeeded (success_above) one GOAL, of another its next_state, or where none is given a place of its own; merge ''action'': state and action alone; visit ''every'': a rollout counts each time that it took the step; a NULL state or action is one of its own; NULL for rollouts not judged yet';

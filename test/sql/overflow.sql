-- Finite rewards whose sums or squares are not finite: every function raises an error, and never gives an infinity or a silent 0.
SET search_path = stepadv, public;
CREATE FUNCTION pair(x float8) RETURNS rollout_group LANGUAGE sql
AS $$ SELECT rollout_agg(i, i, 1, i, 1, CASE i WHEN 1 THEN x ELSE -x END) FROM generate_series(1, 2) i $$;
CREATE FUNCTION triple(x float8) RETURNS rollout_group LANGUAGE sql
AS $$ SELECT rollout_agg(i, 1, i, 1, 1, x) FROM generate_series(1, 3) i $$;
-- The return of a rollout.
SELECT * FROM rollouts(triple(1e308));
SELECT * FROM group_summary(triple(1e308));
SELECT * FROM returns(triple(1e308));
SELECT * FROM rtmc(triple(1e308));
SELECT * FROM rtmc_tree(triple(1e308));
-- The sum over rollouts.
SELECT * FROM group_summary((SELECT rollup(x) FROM (VALUES (pair(1.7e308)), ((SELECT rollout_agg(3, 3, 1, 1, 1, 1.7e308)))) v(x)));
-- The standard deviation, where (x - mean) / sd is +-0.7.
SELECT * FROM grpo(pair(1.7e308));
SELECT * FROM grpo(pair(1.7e308), step_rewards => true);
SELECT * FROM group_summary(pair(1.7e308));
-- By every method: an error names the rollout, and nothing is infinite. The leave-one-out mean and the group's own need no standard deviation: they stay finite.
SELECT advantage FROM rloo(pair(0.8e308));
SELECT advantage FROM grpo(pair(0.8e308), normalise => 'mean');
SELECT * FROM rloo(pair(1.7e308));
SELECT * FROM rloo(pair(1.7e308), step_rewards => true);
CREATE FUNCTION outcome(method text, rollouts rollout_group) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	wrong text;
BEGIN
	EXECUTE format('SELECT min(a::text) FROM stepadv.%I($1) a WHERE a::text ~* ''nan|inf''', method) INTO wrong USING rollouts;
	RETURN coalesce(wrong, 'finite');
EXCEPTION WHEN numeric_value_out_of_range THEN
	RETURN CASE WHEN SQLERRM ~ 'of rollout [12]' THEN 'said of a rollout' ELSE SQLERRM END;
WHEN null_value_not_allowed THEN
	RETURN 'lacks a column';
END $$;
SELECT p.proname AS says_of_none, outcome(p.proname, pair(1.7e308))
FROM pg_proc p WHERE p.pronamespace = 'stepadv'::regnamespace AND p.probin LIKE '%stepadv%' AND p.proretset AND p.proargtypes[0] = 'rollout_group'::regtype AND p.pronargdefaults = p.pronargs - 1
	AND 'advantage' = ANY (p.proargnames) AND outcome(p.proname, pair(1.7e308)) NOT IN ('finite', 'said of a rollout', 'lacks a column') ORDER BY 1;
DROP FUNCTION outcome;
-- Large values are no error, also where the square would overflow.
SELECT advantage FROM rtmc(pair(1e200), normalise => true);
SELECT advantage FROM rtmc_tree(pair(1e200), normalise => true);
SELECT advantage, abs(abs(advantage) - sqrt(0.5)) < 1e-15 AS right FROM grpo(pair(1e200), epsilon => 0, step_rewards => true);
SELECT mean_return, abs(sd_return / 1e200 - sqrt(2)) < 1e-15 AS right FROM group_summary(pair(1e200));
SELECT advantage, abs(abs(advantage) - sqrt(0.5)) < 1e-15 AS right FROM grpo(pair(1e150), epsilon => 0);
SELECT advantage FROM grpo(pair(1e200), normalise => 'mean');
SELECT return, q FROM rtmc(triple(5e307), gamma => 1);
SELECT mean_return, abs(sd_return / 1e150 - sqrt(2)) < 1e-15 AS right FROM group_summary(pair(1e150));
-- A standard error out of range, beside an advantage of 0: an error whichever column is read.
CREATE VIEW far AS SELECT rollout_agg(i, i, 1, 1, 1, CASE i WHEN 1 THEN 1e160 ELSE -1e160 END) AS g FROM generate_series(1, 2) i;
SELECT a.advantage FROM far, rtmc(g, prior => 0) a;
SELECT a.stderr FROM far, rtmc(g, prior => 0) a;
DROP VIEW far;
DROP FUNCTION pair, triple;

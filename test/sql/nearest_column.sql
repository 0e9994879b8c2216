-- The column that was meant: the least number of letters, at most 3 and a third of them.
CREATE TABLE near (rollout_id text, reward float8, "Größe" text, gone text, x integer, policy_version text);
ALTER TABLE near DROP gone;
SELECT n, stepadv_internal.nearest_column('near', n) FROM unnest('{rolout_id,rewrd,Grösse,gone,gon,y,polcy_vrson,policyversion,ROLLOUT_ID,rollout_identity,reward,""}'::text[]) n;
SELECT stepadv_internal.nearest_column('near', repeat('x', 1000)) AS long, stepadv_internal.nearest_column(0, 'x') AS no_relation, stepadv_internal.nearest_column('near', NULL) AS no_name;
DROP TABLE near;

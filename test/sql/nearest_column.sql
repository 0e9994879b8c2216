-- The nearest column name: the least edit distance, at most 3 and a third of the letters.
CREATE TABLE near (rollout_id text, reward float8, "Größe" text, gone text, x integer, policy_version text);
ALTER TABLE near DROP gone;
CREATE FUNCTION pg_temp.nearest_column(relation regclass, name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE hint text;
BEGIN
	PERFORM stepadv_internal.refuse_column('no such column', name, ARRAY[relation], NULL);
EXCEPTION WHEN undefined_column THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN substring(hint FROM '"(.*)"');
END $$;
SELECT n, pg_temp.nearest_column('near', n) FROM unnest('{rolout_id,rewrd,Grösse,gone,gon,y,polcy_vrson,policyversion,ROLLOUT_ID,rollout_identity,reward,""}'::text[]) n;
SELECT pg_temp.nearest_column('near', repeat('x', 1000)) AS long, pg_temp.nearest_column(0, 'x') AS no_relation, pg_temp.nearest_column('near', NULL) AS no_name;
DROP TABLE near;

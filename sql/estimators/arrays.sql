-- Every method with an advantage once more, with a row per rollout and its steps in arrays: what a
-- trainer fetches, in a tenth of the time of array_agg.  src/estimator.c, src/rollout_arrays.c
--
-- Made of the declarations of the methods: the same parameters, the same columns as arrays.
DO $$
DECLARE
	method record;
BEGIN
	FOR method IN
		SELECT p.*, p.prosrc || '_arrays' AS symbol, p.proname || '_arrays' AS name,
			pg_get_function_arguments(p.oid) AS parameters,
			(SELECT string_agg(format('%I %s[]', c.name, format_type(c.type, NULL)), ', '
				ORDER BY c.name <> 'step_id', c.i)
			 FROM unnest(p.proargnames, p.proallargtypes, p.proargmodes) WITH ORDINALITY c(name, type, mode, i)
			 WHERE c.mode = 't' AND c.name <> 'rollout_id') AS columns
		FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'c'
		WHERE p.pronamespace = 'stepadv'::regnamespace AND p.proargtypes[0] = 'stepadv.rollout_group'::regtype
			AND p.proargnames @> '{step_id,rollout_id,step_no,advantage}' AND p.proname !~ '_arrays$'
		ORDER BY p.proname
	LOOP
		EXECUTE format('CREATE OR REPLACE FUNCTION stepadv.%I(%s) RETURNS TABLE (rollout_id bigint, %s)'
			' LANGUAGE c IMMUTABLE %s PARALLEL SAFE COST %s ROWS 8 SUPPORT stepadv_internal.row_support AS %L, %L',
			method.name, method.parameters, method.columns, CASE WHEN method.proisstrict THEN 'STRICT' ELSE '' END,
			method.procost, method.probin, method.symbol);
		EXECUTE format('COMMENT ON FUNCTION stepadv.%I(%s) IS %L', method.name,
			pg_get_function_identity_arguments(method.oid), format(
				'%1$s with a row per rollout: its columns under their names as arrays of the rollout''s steps, '
				'in their order; parameters, numbers and errors are those of %1$s', method.proname));
	END LOOP;
END $$;

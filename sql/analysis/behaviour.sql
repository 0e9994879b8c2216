-- How rollouts went about their task: src/analysis/.

CREATE FUNCTION stepadv.rollout_shape(rollouts stepadv.rollout_group, success_above float8 DEFAULT 0)
RETURNS TABLE (rollout_id bigint, n_steps integer, success boolean, cost float8, n_repeats integer, distance float8,
	excess float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500 ROWS 8 SUPPORT stepadv_internal.row_support
AS 'MODULE_PATHNAME', 'stepadv_rollout_shape';
COMMENT ON FUNCTION stepadv.rollout_shape(stepadv.rollout_group, float8) IS
'how each rollout of a group went about the task, a row each: n_steps, success, cost (the sum of its steps'', 1 '
'where there is none), n_repeats (an action again in the same state), distance (the least cost from its first '
'state to the goal), excess = cost - distance; NULL where not known';

-- What there is by category of call.  src/analysis/categories.c.

CREATE TYPE stepadv_internal.category_table AS (categories text[], numbers float8[]);
COMMENT ON TYPE stepadv_internal.category_table IS
'categories of calls (NULL: of those without one), and for each the same number of numbers, one category''s '
'after the other''s';

CREATE TYPE stepadv_internal.behaviour_part AS (part integer, name text, calls stepadv_internal.category_table,
	outcomes boolean[], numbers float8[], distances float8[], excesses float8[]);
COMMENT ON TYPE stepadv_internal.behaviour_part IS
'a row of what is kept of the behaviour of a group, behind its columns and the divisions: see behaviour_columns';

CREATE FUNCTION stepadv_internal.call_labels_trans(internal, key bigint, number integer, category text, ok boolean,
	grounded boolean) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_call_labels_trans';
COMMENT ON FUNCTION stepadv_internal.call_labels_trans(internal, bigint, integer, text, boolean, boolean) IS
'part of call_labels: one call more';

CREATE FUNCTION stepadv_internal.call_labels_final(internal) RETURNS bytea
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_call_labels_final';
COMMENT ON FUNCTION stepadv_internal.call_labels_final(internal) IS 'part of call_labels: what there is';

CREATE AGGREGATE stepadv_internal.call_labels(key bigint, number integer, category text, ok boolean, grounded boolean) (
	SFUNC = stepadv_internal.call_labels_trans, STYPE = internal, SSPACE = 4096,
	FINALFUNC = stepadv_internal.call_labels_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.call_labels(bigint, integer, text, boolean, boolean) IS
'of the calls of a group the category, whether it went well and was grounded, by the id of the step (number 0), '
'or by rollout and number; for call_counts and category_sums of the same query, not to be kept; NULL over no rows';

CREATE FUNCTION stepadv_internal.call_counts(rollouts stepadv.rollout_group, labels bytea,
	by_step boolean) RETURNS stepadv_internal.category_table
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000
AS 'MODULE_PATHNAME', 'stepadv_call_counts';
COMMENT ON FUNCTION stepadv_internal.call_counts(stepadv.rollout_group, bytea, boolean) IS
'the steps of a group by the category of their call: calls, those that failed and those known to have failed or '
'not, those grounded and those known to be or not, repeats of an action in its state; labels: of call_labels; '
'NULL for no group';

CREATE FUNCTION stepadv_internal.call_sums(rollouts stepadv.rollout_group, labels bytea, by_step boolean,
	advantages bytea, places integer[]) RETURNS stepadv_internal.category_table
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000
AS 'MODULE_PATHNAME', 'stepadv_call_sums';
COMMENT ON FUNCTION stepadv_internal.call_sums(stepadv.rollout_group, bytea, boolean, bytea, integer[]) IS
'what category_sums gives of the steps of a group, by the methods at these places (from 1) of what '
'kept_advantages gave of them; labels and by_step as of call_counts; NULL for no group or no advantages';

CREATE FUNCTION stepadv_internal.category_sums_trans(internal, labels bytea, key bigint, number integer,
	VARIADIC advantages "any") RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_category_sums_trans';
COMMENT ON FUNCTION stepadv_internal.category_sums_trans(internal, bytea, bigint, integer, "any") IS
'part of category_sums: one step more';

CREATE FUNCTION stepadv_internal.category_sums_final(internal) RETURNS stepadv_internal.category_table
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_category_sums_final';
COMMENT ON FUNCTION stepadv_internal.category_sums_final(internal) IS 'part of category_sums: what there is';

CREATE AGGREGATE stepadv_internal.category_sums(labels bytea, key bigint, number integer, VARIADIC advantages "any") (
	SFUNC = stepadv_internal.category_sums_trans, STYPE = internal,
	FINALFUNC = stepadv_internal.category_sums_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.category_sums(bytea, bigint, integer, "any") IS
'the advantages (float8 each) of a group''s steps by several methods, added up by the category of the call: for '
'each method the rows, those with an advantage, their sum and that of the absolute values, those above 0 and '
'below; labels as of call_counts; NULL over no rows';

CREATE FUNCTION stepadv_internal.category_totals_trans(internal, part stepadv_internal.category_table) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_category_totals_trans';
COMMENT ON FUNCTION stepadv_internal.category_totals_trans(internal, stepadv_internal.category_table) IS
'part of category_totals: one group more';

CREATE FUNCTION stepadv_internal.category_totals_final(internal) RETURNS stepadv_internal.category_table
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'stepadv_category_totals_final';
COMMENT ON FUNCTION stepadv_internal.category_totals_final(internal) IS 'part of category_totals: what there is';

CREATE AGGREGATE stepadv_internal.category_totals(part stepadv_internal.category_table) (
	SFUNC = stepadv_internal.category_totals_trans, STYPE = internal,
	FINALFUNC = stepadv_internal.category_totals_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE stepadv_internal.category_totals(stepadv_internal.category_table) IS
'tables of categories added up, category by category; the sums are compensated; NULL over no rows';

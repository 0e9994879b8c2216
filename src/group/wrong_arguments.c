/*
 * wrong_arguments.c
 *		rollout_agg called with arguments that it does not take: an error that says
 *		which, and what to do about it.
 *
 * The server would say that there is no such function.  Instead there are
 * aggregates of that name for arguments of (nearly) any type, cast to one that
 * serves for nothing else (sql/group/wrong_arguments.sql).  Their transition function is never called in
 * most cases: the planner asks its support function what it costs.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/primnodes.h"
#include "nodes/supportnodes.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "group/row.h"

PG_FUNCTION_INFO_V1(stepadv_wrong_arguments);
PG_FUNCTION_INFO_V1(stepadv_wrong_arguments_support);

static const struct
{
	const char *name;
	Oid			type;
}			roles[] = {
	{"step_id", INT8OID}, {"rollout_id", INT8OID}, {"step_no", INT4OID}, {"state", INT8OID}, {"action", INT8OID}, {"reward", FLOAT8OID},
	{"success", BOOLOID}, {"next_state", INT8OID}, {"value", FLOAT8OID}, {"turn_reward", FLOAT8OID}, {"cost", FLOAT8OID},
	{"turn", INT4OID}, {"rewards", FLOAT8ARRAYOID}, {"truncated", BOOLOID}, {"policy_step", INT8OID}
};


/*
 * What the user wrote: without the cast to what serves for nothing.  InvalidOid for a
 * literal, which has no type, and for what the planner has computed beforehand.
 */
static Oid
type_given(Node *argument)
{
	Oid			type;

	if (IsA(argument, CoerceViaIO))
		type = exprType((Node *) ((CoerceViaIO *) argument)->arg);
	else if (IsA(argument, Const))
		type = InvalidOid;
	else
		type = exprType(argument);
	return type == CSTRINGOID ? InvalidOid : type;
}

static bool
is_taken(Oid type, int role)
{
	return !OidIsValid(type) || can_coerce_type(1, &type, &roles[role].type, COERCION_IMPLICIT);
}

static const char *
advice(int role, Oid type)
{
	char		category;
	bool		preferred;

	get_type_category_preferred(getBaseType(type), &category, &preferred);
	if (roles[role].type == BOOLOID)
		return role == ROW_SUCCESS ? "success is whether the rollout reached its goal: a boolean, such as score > 0.5." :
			"truncated is whether the rollout was cut off before it ended: a boolean, such as stop_reason = 'max_steps'.";
	if (role == ROW_POLICY_STEP)
		return "policy_step is the number of the policy's update, the greater the later: cast it, policy_step::bigint.";
	if (roles[role].type == INT4OID)
		return psprintf(category == TYPCATEGORY_NUMERIC ? "Cast it: %s::integer."
						: "%s must be a number; where there is none, row_number() OVER (PARTITION BY group, rollout ORDER BY time) makes one.",
						roles[role].name);
	if (roles[role].type != INT8OID)
		return psprintf("Cast it: %s::%s.", roles[role].name,
						roles[role].type != FLOAT8OID ? "float8[]" : type == BOOLOID ? "integer" : "float8");
	if (type == TEXTOID || type == VARCHAROID || type == BPCHAROID || type == BYTEAOID || type == JSONBOID || type == UUIDOID)
		return psprintf("Ids, states and actions of other types are given by their hash: stepadv.signature_hash(%s).", roles[role].name);
	if (type == NUMERICOID || type == OIDOID)
		return psprintf("Cast it, %s::bigint, or give its hash, stepadv.signature_hash(%s::text).", roles[role].name, roles[role].name);
	return psprintf("Ids, states and actions of other types are given by their hash: stepadv.signature_hash(%s::text).", roles[role].name);
}

/* Where nothing is known of the arguments. */
static _Noreturn pg_noinline void
refuse_types(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("rollout_agg does not take arguments of these types"),
			 errhint("Ids, states and actions that are no integers are given by their hash, stepadv.signature_hash(…); step_no is an integer, reward float8.")));
}

static _Noreturn pg_noinline void
refuse_number(int n)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_FUNCTION),
			 errmsg("rollout_agg does not take %d arguments", n),
			 errhint("It takes step_id, rollout_id, step_no, state, action, reward; then success; then next_state, value, turn_reward, cost; then turn; then rewards; then truncated, policy_step. NULL stands for what there is not.")));
}

/* args: of TargetEntry */
static _Noreturn pg_noinline void
refuse_arguments(List *args)
{
	StringInfoData wrong;
	int			first = -1;
	Oid			first_type = InvalidOid;
	int			n = list_length(args);
	ListCell   *cell;

	if (n != 6 && n != 7 && n != 11 && n != 12 && n != 13 && n != 15)
		refuse_number(n);
	initStringInfo(&wrong);
	foreach(cell, args)
	{
		int			role = foreach_current_index(cell);
		Oid			type = type_given((Node *) lfirst_node(TargetEntry, cell)->expr);

		if (is_taken(type, role))
			continue;
		if (first < 0)
		{
			first = role;
			first_type = type;
		}
		appendStringInfo(&wrong, "%s%s is %s, and must be %s", wrong.len > 0 ? "; " : "",
						 roles[role].name, format_type_be(type), format_type_be(roles[role].type));
	}
	if (first < 0)
		refuse_types();
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("rollout_agg does not take %s of type %s", roles[first].name, format_type_be(first_type)),
			 errdetail("Of its arguments, %s.", wrong.data),
			 errhint("%s", advice(first, first_type))));
}

/* Asked what the transition function costs, before there is any path. */
Datum
stepadv_wrong_arguments_support(PG_FUNCTION_ARGS)
{
	Node	   *node = (Node *) PG_GETARG_POINTER(0);

	if (IsA(node, SupportRequestCost))
	{
		SupportRequestCost *request = (SupportRequestCost *) node;
		ListCell   *cell;

		foreach(cell, request->root != NULL ? request->root->aggtransinfos : NIL)
		{
			AggTransInfo *info = lfirst(cell);

			if (info->transfn_oid == request->funcid)
				refuse_arguments(info->args);
		}
	}
	PG_RETURN_POINTER(NULL);
}

/* Transition function: a window function, whose costs are not asked for. */
Datum
stepadv_wrong_arguments(PG_FUNCTION_ARGS)
{
	Aggref	   *aggref = AggGetAggref(fcinfo);

	if (aggref != NULL)
		refuse_arguments(aggref->args);
	refuse_types();
}

/*
 * blame.c
 *		Which group an error of a GroupFold is about.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "plan/fold/blame.h"

/*
 * A group that is too large is named as its keys are written.  Of other errors it
 * is not known whether they have to do with it.
 */
static void
blame_group(void *argument)
{
	GroupFoldState *fold = argument;
	const CustomScan *plan = castNode(CustomScan, fold->css.ss.ps.plan);
	StringInfoData words;

	if (geterrcode() != ERRCODE_PROGRAM_LIMIT_EXCEEDED)
		return;
	if (fold->blamed_keys != NULL)
	{
		ExecStoreMinimalTuple(fold->blamed_keys, fold->blamed, false);
		slot_getallattrs(fold->blamed);
	}
	initStringInfo(&words);
	for (int k = 0; k < fold->n_keys; k++)
	{
		const Var  *key = (const Var *) list_nth_node(TargetEntry, plan->custom_scan_tlist, k)->expr;
		Oid			output;
		bool		is_varlena;

		appendStringInfoString(&words, k > 0 ? ", " : "");
		if (IsA(key, Var) && !IS_SPECIAL_VARNO(key->varno))
			appendStringInfo(&words, "%s = ", get_rte_attribute_name(exec_rt_fetch(key->varno, fold->css.ss.ps.state), key->varattno));
		getTypeOutputInfo(TupleDescAttr(fold->blamed->tts_tupleDescriptor, k)->atttypid, &output, &is_varlena);
		appendStringInfoString(&words, fold->blamed->tts_isnull[k] ? "NULL" :
							   OidOutputFunctionCall(output, fold->blamed->tts_values[k]));
	}
	errcontext("group (%s)", words.data);
}

void
prepare_blame(GroupFoldState *fold)
{
	fold->blame.callback = blame_group;
	fold->blame.arg = fold;
	fold->blamed = fold->group_keys;
}

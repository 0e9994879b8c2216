#include "postgres.h"

#include "executor/executor.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "plan/fold/current_group.h"

/* Names the group that is too large, by its keys.  Other errors may not be about the group. */
static void
add_group_context(void *argument)
{
	GroupFoldState *fold = argument;
	const CustomScan *plan = castNode(CustomScan, fold->css.ss.ps.plan);
	StringInfoData words;

	if (geterrcode() != ERRCODE_PROGRAM_LIMIT_EXCEEDED)
		return;
	if (fold->context_keys != NULL)
	{
		ExecStoreMinimalTuple(fold->context_keys, fold->context_slot, false);
		slot_getallattrs(fold->context_slot);
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
		getTypeOutputInfo(TupleDescAttr(fold->context_slot->tts_tupleDescriptor, k)->atttypid, &output, &is_varlena);
		appendStringInfoString(&words, fold->context_slot->tts_isnull[k] ? "NULL" :
							   OidOutputFunctionCall(output, fold->context_slot->tts_values[k]));
	}
	errcontext("group (%s)", words.data);
}

void
prepare_group_context(GroupFoldState *fold)
{
	fold->group_context.callback = add_group_context;
	fold->group_context.arg = fold;
	fold->context_slot = fold->group_keys;
}

bool
is_of_group(GroupFoldState *fold)
{
	if (has_same_keys(fold))
		return true;
	show_keys(fold);
	fold->comparing->ecxt_innertuple = fold->keys;
	fold->comparing->ecxt_outertuple = fold->group_keys;
	return ExecQualAndReset(fold->same_group, fold->comparing);
}

static GroupBuilder *
as_aggregate(const GroupFoldState *fold, GroupBuilder *builder)
{
	if (fold->lenient)
		group_builder_set_lenient(builder);
	return builder;
}

GroupBuilder *
create_builder(GroupFoldState *fold)
{
	return as_aggregate(fold, group_builder_create_among(&fold->table_rows));
}

void
begin_group(GroupFoldState *fold)
{
	MemoryContext old;

	ExecClearTuple(fold->group_keys);
	MemoryContextReset(fold->group_memory);
	show_keys(fold);
	old = MemoryContextSwitchTo(fold->group_memory);
	ExecStoreMinimalTuple(ExecCopySlotMinimalTuple(fold->keys), fold->group_keys, false);
	MemoryContextSwitchTo(old);
	slot_getallattrs(fold->group_keys);
	fold->builder = as_aggregate(fold, group_builder_create(fold->group_memory));
}

TupleTableSlot *
give_value(GroupFoldState *fold, Datum value, bool isnull)
{
	TupleTableSlot *slot = fold->css.ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	for (int k = 0; k < fold->n_keys; k++)
	{
		slot->tts_values[k] = fold->group_keys->tts_values[k];
		slot->tts_isnull[k] = fold->group_keys->tts_isnull[k];
	}
	slot->tts_values[fold->n_keys] = value;
	slot->tts_isnull[fold->n_keys] = isnull;
	return ExecStoreVirtualTuple(slot);
}

/* NULL if there are no rows, as after a FILTER. */
TupleTableSlot *
give_group(GroupFoldState *fold)
{
	MemoryContext old;
	Datum		value;

	if (group_builder_is_empty(fold->builder))
		return give_value(fold, (Datum) 0, true);
	old = MemoryContextSwitchTo(fold->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	push_group_context(fold);
	value = PointerGetDatum(group_builder_finish(fold->builder));
	pop_group_context(fold);
	MemoryContextSwitchTo(old);
	return give_value(fold, value, false);
}

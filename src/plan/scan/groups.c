/*
 * groups.c
 *		Calls the functions of a StepScan for one group after the other.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"

#include "plan/scan/step_scan_state.h"

/*
 * Evaluate the arguments of a call.  A toasted or still growing group is detoasted once for all functions.  A
 * group that is also the argument of the call before is not computed again.  Result columns may point into the
 * group; if the results are kept, they point into the kept copy.
 */
static bool
evaluate_arguments(SetExprState *call, const SetExprState *same_group, ExprContext *econtext, struct varlena *kept, Datum *last_group, Datum *last_flat)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	ListCell   *lc;
	int			i = 0;

	foreach(lc, call->args)
	{
		NullableDatum *arg = &fcinfo->args[i++];

		if (i == 1 && same_group != NULL)
			*arg = same_group->fcinfo->args[0];
		else if (i == 1 && kept != NULL)
			*arg = (NullableDatum) {.value = PointerGetDatum(kept)};
		else
			arg->value = ExecEvalExpr((ExprState *) lfirst(lc), econtext, &arg->isnull);
		if (arg->isnull && call->func.fn_strict)
			return false;
	}
	if (!fcinfo->args[0].isnull)
	{
		if (fcinfo->args[0].value != *last_group)
		{
			*last_group = fcinfo->args[0].value;
			*last_flat = PointerGetDatum(PG_DETOAST_DATUM(*last_group));
		}
		fcinfo->args[0].value = *last_flat;
	}
	return true;
}

static void
evaluate_functions(StepScanState *scan)
{
	ExprContext *econtext = scan->css.ss.ps.ps_ExprContext;
	MemoryContext old = MemoryContextSwitchTo(scan->memory);
	Datum		group = (Datum) 0;
	Datum		flat = (Datum) 0;

	scan->row = 0;
	if (!scan->kept.decides)
		MemoryContextReset(scan->memory);
	else if (group_came_again(scan, econtext))
	{
		MemoryContextSwitchTo(old);
		scan->kept.n_repeated++;
		return;
	}
	scan->n_rows = 0;
	for (int f = 0; f < scan->n_functions; f++)
	{
		SetExprState *call = scan->calls[f];
		ColumnSink *result = &scan->results[f];
		PgStat_FunctionCallUsage usage;

		result->n_rows = 0;
		if (!evaluate_arguments(call, scan->same_group[f] ? scan->calls[f - 1] : NULL, econtext, scan->kept.group, &group, &flat))
			continue;
		call->fcinfo->resultinfo = (struct Node *) result;
		call->fcinfo->isnull = false;
		pgstat_init_function_usage(call->fcinfo, &usage);
		(void) FunctionCallInvoke(call->fcinfo);
		pgstat_end_function_usage(&usage, true);
		scan->n_rows = Max(scan->n_rows, result->n_rows);
	}
	MemoryContextSwitchTo(old);
	for (int c = 0; c < scan->n_columns; c++)
	{
		StepColumn *column = &scan->columns[c];

		column->result = scan->results[column->function].columns[column->column];
		column->n_rows = scan->results[column->function].n_rows;
	}
}

/*
 * The next outer row for which the functions return rows; NULL after the last.  Arguments are computed from the
 * scan's slot.
 */
static TupleTableSlot *
next_outer_row(StepScanState *scan)
{
	TupleTableSlot *slot = scan->css.ss.ss_ScanTupleSlot;

	ExecClearTuple(scan->output);
	do
	{
		TupleTableSlot *outer = ExecProcNode(outerPlanState(scan));

		ExecClearTuple(slot);
		if (TupIsNull(outer))
			return NULL;
		slot_getsomeattrs(outer, scan->last_outer);
		show_outer_columns(outer, slot == scan->output ? &scan->shown : &scan->scanned, slot);
		ExecStoreVirtualTuple(slot);
		scan->css.ss.ps.ps_ExprContext->ecxt_scantuple = slot;
		scan->outer = outer;
		evaluate_functions(scan);
		CHECK_FOR_INTERRUPTS();
	} while (scan->n_rows == 0);
	return scan->outer;
}

bool
evaluate_next_group(StepScanState *scan)
{
	if (scan->finished)
		return false;
	if (outerPlanState(scan) == NULL)
	{
		scan->finished = true;
		evaluate_functions(scan);
		return scan->n_rows > 0;
	}
	if (next_outer_row(scan) == NULL)
	{
		scan->finished = true;
		scan->row = scan->n_rows;
	}
	return !scan->finished;
}

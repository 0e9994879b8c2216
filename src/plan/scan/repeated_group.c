/*
 * repeated_group.c
 *		Lets a StepScan reuse its results if the next scan has the same group.
 *
 * A nested loop over steps passes the same group repeatedly.  The planner chooses one if it expects a single
 * step, as for a batch that was inserted after the last ANALYZE.
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "hash.h"
#include "plan/scan/step_scan_state.h"

/* The first bytes of a group: its sizes and its first identities. */
#define FINGERPRINT_BYTES 256

/* All calls have the same group, a column or parameter; all other arguments are constants. */
bool
depends_on_group_alone(const List *calls)
{
	const Node *group = linitial(linitial_node(FuncExpr, calls)->args);
	ListCell   *lc;

	if (!IsA(group, Param) && !IsA(group, Var))
		return false;
	foreach(lc, calls)
	{
		const FuncExpr *call = lfirst_node(FuncExpr, lc);
		ListCell   *arg;

		if (!equal(linitial(call->args), group) || func_volatile(call->funcid) != PROVOLATILE_IMMUTABLE)
			return false;
		for_each_from(arg, call->args, 1)
		{
			if (!IsA(lfirst(arg), Const))
				return false;
		}
	}
	return true;
}

/*
 * Is this the group of the last evaluation?  Equal bytes mean equal groups, also for TOAST pointers.  A group
 * that is still growing has no bytes to compare.  Keeping a group costs a copy, so none is kept before two
 * groups in succession had the same fingerprint.
 */
bool
group_came_again(StepScanState *scan, ExprContext *econtext)
{
	bool		isnull;
	Datum		value = ExecEvalExpr((ExprState *) linitial(scan->calls[0]->args), econtext, &isnull);
	struct varlena *group = (struct varlena *) DatumGetPointer(value);
	uint64		fingerprint;
	Size		size;

	if (isnull || (VARATT_IS_EXTERNAL(group) && !VARATT_IS_EXTERNAL_ONDISK(group)))
	{
		scan->kept.group = NULL;
		MemoryContextReset(scan->memory);
		return false;
	}
	size = VARSIZE_ANY(group);
	if (scan->kept.group != NULL && size == VARSIZE_ANY(scan->kept.group) && memcmp(group, scan->kept.group, size) == 0)
		return true;
	fingerprint = (uint64) hash_bytes_64(group, Min(size, FINGERPRINT_BYTES));
	scan->kept.groups_repeat |= fingerprint == scan->kept.fingerprint;
	scan->kept.fingerprint = fingerprint;
	MemoryContextReset(scan->memory);
	scan->kept.group = NULL;
	if (scan->kept.groups_repeat)
		scan->kept.group = memcpy(MemoryContextAllocHuge(scan->memory, size), group, size);
	return false;
}

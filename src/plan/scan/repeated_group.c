/*
 * repeated_group.c
 *		A group that comes again, scan after scan, is not computed again by a StepScan.
 *
 * That is what a nested loop over steps does, and the planner makes one where it
 * takes the steps for a single row: a batch that came after the table's statistics.
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "hash.h"
#include "plan/scan/step_scan_state.h"

/* Of a group: its sizes and its first identities. */
#define FINGERPRINT_BYTES 256

/* All calls take one group as a row has it; all other arguments are fixed. */
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
 * Is this the group whose columns are still there?  Bytes that are equal are of
 * equal groups, also those that point to TOAST; what is still growing has none.
 * Keeping a group costs a copy of it, so that none is kept before a beginning has
 * come twice.
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

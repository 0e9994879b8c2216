/*
 * group_fold.c
 *		A plan node that folds steps into groups: rollout_agg(…) … GROUP BY ….
 *
 * PostgreSQL's Agg finds the group of each row in a hash table, and interprets
 * an expression to hand the row to the transition function.  For an aggregate
 * whose own work on a row is as little as rollout_agg's that is most of the
 * cost.  This node gives the row to the GroupBuilder itself, and looks a group up
 * only when a row's keys are other than those of the row before: the steps of a
 * rollout are mostly stored together.
 *
 * Rows that come sorted by the keys are folded group by group.  Others go into
 * a hash table; what is more than hash_mem_multiplier and work_mem allow is, as
 * in Agg, rows of groups that are not in the table yet; they are sorted and
 * folded afterwards.  The planner's half is in group_fold_path.c.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/acl.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/tuplesort.h"

#include "compat.h"
#include EXPLAIN_PROPERTIES_HEADER
#include "group_builder.h"
#include "plan/group_fold.h"

#if PG_VERSION_NUM >= 160000
#include "catalog/pg_proc.h"
#endif

typedef enum Phase
{
	BEFORE_ROWS,
	FROM_TABLE,					/* giving out what was hashed */
	FROM_SORTED,				/* rows that come sorted, from below or from spilled */
	FINISHED
} Phase;

typedef struct GroupFoldState
{
	CustomScanState css;

	/* what is read of a row: keys, arguments, the filter */
	int			n_keys;
	int			n_args;
	int			n_inputs;
	bool		has_filter;
	AttrNumber *positions;		/* in rows from below */
	AttrNumber *own_positions;	/* in rows with inputs alone: 1, 2, … */
	AttrNumber	last_position;	/* the greatest of positions */
	TupleDesc	inputs_desc;
	int16	   *key_length;
	bool	   *key_by_value;

	/* how keys compare */
	Oid		   *equal;
	Oid		   *less;
	Oid		   *collations;
	bool	   *nulls_first;

	bool		sorted_below;
	int			expected_groups;
	Phase		phase;
	TupleTableSlot *keys;		/* of the row at hand */
	TupleTableSlot *group_keys; /* of the current group: */
	GroupBuilder *builder;		/* NULL: there is none */
	ExprContext *comparing;		/* for hashing and comparing keys */

	/* hashing */
	MemoryContext table_memory; /* hash table and builders */
	TupleHashTable table;
	TupleHashIterator iterator;
	Tuplesortstate *spilled;	/* rows that found no room; NULL: none */
	TupleTableSlot *spilling_row;	/* on its way there */
	TupleTableSlot *spilled_row;	/* back from there */
	uint64		n_spilled;
	int64		disk_kb;		/* that they took */
	Size		peak_memory;

	/* folding in order */
	MemoryContext group_memory; /* of the current group */
	ExprState  *same_group;		/* of keys and group_keys */
	TupleTableSlot *pending;	/* first row of the next group; NULL: to be read */
} GroupFoldState;

static void begin_group_fold(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *execute_group_fold(CustomScanState *node);
static void end_group_fold(CustomScanState *node);
static void rescan_group_fold(CustomScanState *node);
static void explain_group_fold(CustomScanState *node, List *ancestors, ExplainState *es);

static const CustomExecMethods exec_methods = {
	.CustomName = "GroupFold",
	.BeginCustomScan = begin_group_fold,
	.ExecCustomScan = execute_group_fold,
	.EndCustomScan = end_group_fold,
	.ReScanCustomScan = rescan_group_fold,
	.ExplainCustomScan = explain_group_fold,
};

Node *
create_group_fold_state(CustomScan *plan)
{
	GroupFoldState *fold = (GroupFoldState *) newNode(sizeof(GroupFoldState), T_CustomScanState);

	fold->css.methods = &exec_methods;
	return (Node *) fold;
}

/* ----------
 * Start
 * ----------
 */

/* As for an Agg: whoever runs the query must be allowed to call the aggregate. */
static void
check_permission(const CustomScan *plan)
{
	Aggref	   *aggref = castNode(Aggref, llast_node(TargetEntry, plan->custom_scan_tlist)->expr);
	AclResult	result = may_execute(aggref->aggfnoid, GetUserId());

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_AGGREGATE, get_func_name(aggref->aggfnoid));
}

static Oid *
oids_of(const List *list)
{
	Oid		   *oids = palloc(list_length(list) * sizeof(Oid));

	for (int i = 0; i < list_length(list); i++)
		oids[i] = list_nth_oid(list, i);
	return oids;
}

static void
describe_inputs(GroupFoldState *fold, const List *positions, TupleDesc below)
{
	fold->n_inputs = list_length(positions);
	fold->positions = palloc(fold->n_inputs * sizeof(AttrNumber));
	fold->own_positions = palloc(fold->n_inputs * sizeof(AttrNumber));
	fold->inputs_desc = CreateTemplateTupleDesc(fold->n_inputs);
	for (int i = 0; i < fold->n_inputs; i++)
	{
		fold->positions[i] = list_nth_int(positions, i);
		fold->own_positions[i] = i + 1;
		fold->last_position = Max(fold->last_position, fold->positions[i]);
		TupleDescCopyEntry(fold->inputs_desc, i + 1, below, fold->positions[i]);
	}
}

static void
describe_keys(GroupFoldState *fold, EState *estate)
{
	TupleDesc	desc = CreateTemplateTupleDesc(fold->n_keys);

	fold->key_length = palloc(fold->n_keys * sizeof(int16));
	fold->key_by_value = palloc(fold->n_keys * sizeof(bool));
	for (int k = 0; k < fold->n_keys; k++)
	{
		TupleDescCopyEntry(desc, k + 1, fold->inputs_desc, k + 1);
		fold->key_length[k] = TupleDescAttr(desc, k)->attlen;
		fold->key_by_value[k] = TupleDescAttr(desc, k)->attbyval;
	}
	fold->keys = ExecInitExtraTupleSlot(estate, desc, &TTSOpsVirtual);
	fold->group_keys = ExecInitExtraTupleSlot(estate, desc, &TTSOpsMinimalTuple);
}

static void
begin_group_fold(CustomScanState *node, EState *estate, int eflags)
{
	GroupFoldState *fold = (GroupFoldState *) node;
	const CustomScan *plan = castNode(CustomScan, node->ss.ps.plan);
	const List *nulls_first = list_nth(plan->custom_private, FOLD_NULLS_FIRST);
	const List *counts = list_nth(plan->custom_private, FOLD_COUNTS);

	check_permission(plan);
	outerPlanState(node) = ExecInitNode(outerPlan(plan), estate, eflags & ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
	fold->equal = oids_of(list_nth(plan->custom_private, FOLD_EQUAL));
	fold->less = oids_of(list_nth(plan->custom_private, FOLD_LESS));
	fold->collations = oids_of(list_nth(plan->custom_private, FOLD_COLLATIONS));
	fold->n_keys = list_length(nulls_first);
	fold->nulls_first = palloc(fold->n_keys * sizeof(bool));
	for (int k = 0; k < fold->n_keys; k++)
		fold->nulls_first[k] = list_nth_int(nulls_first, k) != 0;
	fold->n_args = linitial_int(counts);
	fold->sorted_below = lsecond_int(counts) != 0;
	fold->expected_groups = lthird_int(counts);

	describe_inputs(fold, list_nth(plan->custom_private, FOLD_INPUTS), ExecGetResultType(outerPlanState(node)));
	fold->has_filter = fold->n_inputs > fold->n_keys + fold->n_args;
	describe_keys(fold, estate);
	fold->spilling_row = ExecInitExtraTupleSlot(estate, fold->inputs_desc, &TTSOpsVirtual);
	fold->spilled_row = ExecInitExtraTupleSlot(estate, fold->inputs_desc, &TTSOpsMinimalTuple);
	fold->same_group = execTuplesMatchPrepare(fold->keys->tts_tupleDescriptor, fold->n_keys, fold->own_positions,
											  fold->equal, fold->collations, &node->ss.ps);
	fold->table_memory = AllocSetContextCreate(estate->es_query_cxt, "group fold: table", ALLOCSET_DEFAULT_SIZES);
	fold->group_memory = AllocSetContextCreate(estate->es_query_cxt, "group fold: group", ALLOCSET_DEFAULT_SIZES);
	fold->comparing = CreateExprContext(estate);
}

/* ----------
 * Rows
 * ----------
 */

static void
show_keys(GroupFoldState *fold, const AttrNumber *positions, const TupleTableSlot *row)
{
	TupleTableSlot *keys = fold->keys;

	ExecClearTuple(keys);
	for (int k = 0; k < fold->n_keys; k++)
	{
		keys->tts_values[k] = row->tts_values[positions[k] - 1];
		keys->tts_isnull[k] = row->tts_isnull[positions[k] - 1];
	}
	ExecStoreVirtualTuple(keys);
}

/* Has a row the very keys of the current group?  Others may be equal all the same. */
static inline bool
has_same_keys(const GroupFoldState *fold, const AttrNumber *positions, const TupleTableSlot *row)
{
	for (int k = 0; k < fold->n_keys; k++)
	{
		Datum		value = row->tts_values[positions[k] - 1];
		bool		isnull = row->tts_isnull[positions[k] - 1];

		if (isnull != fold->group_keys->tts_isnull[k])
			return false;
		if (!isnull && value != fold->group_keys->tts_values[k] &&
			(fold->key_by_value[k] ||
			 !datum_image_eq(value, fold->group_keys->tts_values[k], false, fold->key_length[k])))
			return false;
	}
	return true;
}

/* A row into the current group. */
static inline void
add_row(GroupFoldState *fold, const AttrNumber *positions, const TupleTableSlot *row)
{
	NullableDatum args[MAX_ROW_ARGS];
	StepRow		step;

	positions += fold->n_keys;
	if (fold->has_filter &&
		(row->tts_isnull[positions[fold->n_args] - 1] || !DatumGetBool(row->tts_values[positions[fold->n_args] - 1])))
		return;
	for (int a = 0; a < fold->n_args; a++)
	{
		args[a].value = row->tts_values[positions[a] - 1];
		args[a].isnull = row->tts_isnull[positions[a] - 1];
	}
	read_step_row(args, fold->n_args, &step);
	group_builder_add(fold->builder, &step);
}

/*
 * The row for the group that is finished.  Its value lives until the next is
 * asked for.
 */
static TupleTableSlot *
give_group(GroupFoldState *fold)
{
	TupleTableSlot *slot = fold->css.ss.ss_ScanTupleSlot;
	MemoryContext old = MemoryContextSwitchTo(fold->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);

	ExecClearTuple(slot);
	for (int k = 0; k < fold->n_keys; k++)
	{
		slot->tts_values[k] = fold->group_keys->tts_values[k];
		slot->tts_isnull[k] = fold->group_keys->tts_isnull[k];
	}
	/* NULL over no rows, which a filter can leave. */
	slot->tts_isnull[fold->n_keys] = group_builder_is_empty(fold->builder);
	if (!slot->tts_isnull[fold->n_keys])
		slot->tts_values[fold->n_keys] = PointerGetDatum(group_builder_finish(fold->builder));
	MemoryContextSwitchTo(old);
	return ExecStoreVirtualTuple(slot);
}

/* ----------
 * Hashing
 * ----------
 */

static void
begin_table(GroupFoldState *fold)
{
	Oid		   *functions;
	FmgrInfo   *hash;
	MemoryContext old;

	MemoryContextReset(fold->table_memory);
	old = MemoryContextSwitchTo(fold->table_memory);
	execTuplesHashPrepare(fold->n_keys, fold->equal, &functions, &hash);
	fold->table = build_tuple_hash_table(&fold->css.ss.ps, fold->keys, fold->n_keys, fold->own_positions,
										 functions, hash, fold->collations,
										 fold->expected_groups, fold->table_memory,
										 fold->comparing->ecxt_per_tuple_memory);
	MemoryContextSwitchTo(old);
}

static void
spill(GroupFoldState *fold, const TupleTableSlot *row)
{
	TupleTableSlot *spilled = fold->spilling_row;

	ExecClearTuple(spilled);
	for (int i = 0; i < fold->n_inputs; i++)
	{
		spilled->tts_values[i] = row->tts_values[fold->positions[i] - 1];
		spilled->tts_isnull[i] = row->tts_isnull[fold->positions[i] - 1];
	}
	ExecStoreVirtualTuple(spilled);
	tuplesort_puttupleslot(fold->spilled, spilled);
	fold->n_spilled++;
}

/*
 * Make the group of a row the current one; false if it is not in the table, in
 * which there is no more room.
 */
static pg_noinline bool
find_group(GroupFoldState *fold, const TupleTableSlot *row)
{
	TupleHashEntry entry;
	bool		is_new = false;

	show_keys(fold, fold->positions, row);
	entry = LookupTupleHashEntry(fold->table, fold->keys, fold->spilled ? NULL : &is_new, NULL);
	ResetExprContext(fold->comparing);
	if (entry == NULL)
		return false;
	if (is_new)
	{
		Size		used;

		*tuple_hash_place(fold->table, entry) = group_builder_create(fold->table_memory);
		used = MemoryContextMemAllocated(fold->table_memory, true);
		fold->peak_memory = Max(fold->peak_memory, used);
		if (used > hash_memory_limit())
			fold->spilled = tuplesort_begin_heap(fold->inputs_desc, fold->n_keys, fold->own_positions, fold->less,
												 fold->collations, fold->nulls_first, work_mem, NULL, 0);
	}
	fold->builder = *tuple_hash_place(fold->table, entry);
	ExecStoreMinimalTuple(tuple_hash_first(entry), fold->group_keys, false);
	slot_getallattrs(fold->group_keys);
	return true;
}

static void
hash_rows(GroupFoldState *fold)
{
	PlanState  *below = outerPlanState(&fold->css);

	begin_table(fold);
	fold->builder = NULL;
	for (;;)
	{
		TupleTableSlot *row = ExecProcNode(below);

		if (TupIsNull(row))
			break;
		slot_getsomeattrs(row, fold->last_position);
		if ((fold->builder != NULL && has_same_keys(fold, fold->positions, row)) || find_group(fold, row))
			add_row(fold, fold->positions, row);
		else
			spill(fold, row);
	}
	fold->peak_memory = Max(fold->peak_memory, MemoryContextMemAllocated(fold->table_memory, true));
	InitTupleHashIterator(fold->table, &fold->iterator);
	fold->phase = FROM_TABLE;
}

static TupleTableSlot *
next_hashed(GroupFoldState *fold)
{
	TupleHashEntry entry = ScanTupleHashTable(fold->table, &fold->iterator);

	CHECK_FOR_INTERRUPTS();
	if (entry == NULL)
		return NULL;
	fold->builder = *tuple_hash_place(fold->table, entry);
	ExecStoreMinimalTuple(tuple_hash_first(entry), fold->group_keys, false);
	slot_getallattrs(fold->group_keys);
	return give_group(fold);
}

/* What found no room comes back in order, when the table's groups are out. */
static void
turn_to_spilled(GroupFoldState *fold)
{
	TuplesortInstrumentation sort;

	ExecClearTuple(fold->group_keys);
	fold->table = NULL;
	MemoryContextReset(fold->table_memory);
	tuplesort_performsort(fold->spilled);
	tuplesort_get_stats(fold->spilled, &sort);
	if (sort.spaceType == SORT_SPACE_TYPE_DISK)
		fold->disk_kb = Max(fold->disk_kb, sort.spaceUsed);
	fold->pending = NULL;
	fold->phase = FROM_SORTED;
}

/* ----------
 * Rows in order
 * ----------
 */

static TupleTableSlot *
next_sorted_row(GroupFoldState *fold, const AttrNumber **positions)
{
	TupleTableSlot *row;

	if (fold->spilled != NULL)
	{
		*positions = fold->own_positions;
		(void) tuplesort_gettupleslot(fold->spilled, true, false, fold->spilled_row, NULL);
		row = fold->spilled_row;
		CHECK_FOR_INTERRUPTS();
	}
	else
	{
		*positions = fold->positions;
		row = ExecProcNode(outerPlanState(&fold->css));
	}
	if (TupIsNull(row))
		return NULL;
	slot_getsomeattrs(row, fold->spilled ? fold->n_inputs : fold->last_position);
	return row;
}

static bool
is_of_group(GroupFoldState *fold, const AttrNumber *positions, const TupleTableSlot *row)
{
	if (has_same_keys(fold, positions, row))
		return true;
	show_keys(fold, positions, row);
	fold->comparing->ecxt_innertuple = fold->keys;
	fold->comparing->ecxt_outertuple = fold->group_keys;
	return ExecQualAndReset(fold->same_group, fold->comparing);
}

static TupleTableSlot *
next_in_order(GroupFoldState *fold)
{
	const AttrNumber *positions = fold->spilled ? fold->own_positions : fold->positions;
	TupleTableSlot *row = fold->pending;
	MemoryContext old;

	fold->pending = NULL;
	if (row == NULL)
		row = next_sorted_row(fold, &positions);
	if (row == NULL)
	{
		fold->phase = FINISHED;
		return NULL;
	}

	/* The group before may still be in use up to here. */
	ExecClearTuple(fold->group_keys);
	MemoryContextReset(fold->group_memory);
	show_keys(fold, positions, row);
	old = MemoryContextSwitchTo(fold->group_memory);
	ExecStoreMinimalTuple(ExecCopySlotMinimalTuple(fold->keys), fold->group_keys, false);
	MemoryContextSwitchTo(old);
	slot_getallattrs(fold->group_keys);
	fold->builder = group_builder_create(fold->group_memory);
	do
	{
		add_row(fold, positions, row);
		row = next_sorted_row(fold, &positions);
	} while (row != NULL && is_of_group(fold, positions, row));
	fold->pending = row;
	if (row == NULL)
		fold->phase = FINISHED;
	return give_group(fold);
}

/* ----------
 * Execution
 * ----------
 */

static TupleTableSlot *
next_group(ScanState *node)
{
	GroupFoldState *fold = (GroupFoldState *) node;
	TupleTableSlot *slot = NULL;

	if (fold->phase == BEFORE_ROWS)
	{
		if (fold->sorted_below)
			fold->phase = FROM_SORTED;
		else
			hash_rows(fold);
	}
	if (fold->phase == FROM_TABLE)
	{
		slot = next_hashed(fold);
		if (slot == NULL && fold->spilled != NULL)
			turn_to_spilled(fold);
	}
	if (fold->phase == FROM_SORTED)
		slot = next_in_order(fold);
	return slot ? slot : ExecClearTuple(node->ss_ScanTupleSlot);
}

static bool
recheck_group(ScanState *node, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
execute_group_fold(CustomScanState *node)
{
	return ExecScan(&node->ss, next_group, recheck_group);
}

static void
forget_groups(GroupFoldState *fold)
{
	fold->phase = BEFORE_ROWS;
	fold->pending = NULL;
	fold->builder = NULL;
	fold->table = NULL;
	ExecClearTuple(fold->keys);
	ExecClearTuple(fold->group_keys);
	ExecClearTuple(fold->spilling_row);
	ExecClearTuple(fold->spilled_row);
	if (fold->spilled != NULL)
		tuplesort_end(fold->spilled);
	fold->spilled = NULL;
	MemoryContextReset(fold->table_memory);
	MemoryContextReset(fold->group_memory);
}

static void
rescan_group_fold(CustomScanState *node)
{
	GroupFoldState *fold = (GroupFoldState *) node;
	PlanState  *below = outerPlanState(node);

	ExecScanReScan(&node->ss);
	/* A table that is complete can be given out once more. */
	if (fold->phase == FROM_TABLE && fold->spilled == NULL && below->chgParam == NULL)
	{
		InitTupleHashIterator(fold->table, &fold->iterator);
		return;
	}
	forget_groups(fold);
	if (below->chgParam == NULL)
		ExecReScan(below);
}

static void
end_group_fold(CustomScanState *node)
{
	GroupFoldState *fold = (GroupFoldState *) node;

	forget_groups(fold);
	MemoryContextDelete(fold->table_memory);
	MemoryContextDelete(fold->group_memory);
	ExecEndNode(outerPlanState(node));
}

static void
explain_group_fold(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GroupFoldState *fold = (GroupFoldState *) node;
	const CustomScan *plan = castNode(CustomScan, node->ss.ps.plan);
	List	   *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	List	   *keys = NIL;

	for (int k = 0; k < fold->n_keys; k++)
		keys = lappend(keys, deparse_expression((Node *) list_nth_node(TargetEntry, plan->custom_scan_tlist, k)->expr,
												context, list_length(es->rtable) > 1 || es->verbose, false));
	ExplainPropertyList("Group Key", keys, es);
	ExplainPropertyText("Strategy", fold->sorted_below ? "Sorted" : "Hashed", es);
	if (es->analyze && !fold->sorted_below)
	{
		ExplainPropertyUInteger("Memory Usage", "kB", (fold->peak_memory + 1023) / 1024, es);
		if (fold->disk_kb > 0)
			ExplainPropertyInteger("Disk Usage", "kB", fold->disk_kb, es);
		ExplainPropertyUInteger("Spilled Rows", NULL, fold->n_spilled, es);
	}
}

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
 * a hash table.  When it has grown to what work_mem and hash_mem_multiplier
 * allow, the groups in it go out as values, to be sorted and merged at the end,
 * and an empty table takes the rows that follow: values are smaller than rows,
 * and where groups are stored together hardly one is met a second time.  The
 * planner's half is in group_fold_path.c.
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
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
#include "group/builder.h"
#include "plan/group_fold.h"

typedef enum Phase
{
	BEFORE_ROWS,
	FROM_TABLE,					/* giving out what was hashed, */
	FROM_SPILLED,				/* what was spilled, */
	FROM_SORTED,				/* or what comes sorted from below */
	FINISHED
} Phase;

typedef struct GroupFoldState
{
	CustomScanState css;

	/* what is read of a row: keys, arguments, the filter */
	int			n_keys;
	int			n_args;
	bool		has_filter;
	bool		forgiving;		/* the aggregate is */
	AttrNumber *positions;		/* where */
	AttrNumber	last_position;	/* the greatest of them */
	AttrNumber *key_positions;	/* in rows with the keys first: 1, 2, … */

	/* how keys compare */
	Oid		   *equal;
	Oid		   *less;
	Oid		   *collations;
	bool	   *nulls_first;
	ExprState  *same_group;		/* are keys and group_keys equal? */
	ExprContext *comparing;

	bool		sorted_below;
	int			expected_groups;
	Phase		phase;
	TupleTableSlot *keys;		/* of the row at hand */
	TupleTableSlot *group_keys; /* of the current group: */
	GroupBuilder *builder;		/* NULL: there is none */
	MemoryContext group_memory; /* of a group that is not in the table */
	TupleTableSlot *pending;	/* first row of the next one; NULL: to be read */

	/* hashing */
	MemoryContext table_memory; /* hash table and builders */
	Size		limit;			/* of it */
	TupleHashTable table;
	TupleHashIterator iterator;
	Tuplesortstate *spilled;	/* rows as we give them; NULL: none */
	TupleTableSlot *spilled_rows[2];
	int			turn;			/* which of them takes the next row */

	/* for EXPLAIN ANALYZE */
	Size		peak_memory;
	uint64		n_spilled;
	int64		disk_kb;
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

static AttrNumber *
attributes_of(const List *list)
{
	AttrNumber *numbers = palloc(list_length(list) * sizeof(AttrNumber));

	for (int i = 0; i < list_length(list); i++)
		numbers[i] = list_nth_int(list, i);
	return numbers;
}

static void
describe_keys(GroupFoldState *fold, EState *estate)
{
	TupleTableSlot *row = fold->css.ss.ss_ScanTupleSlot;
	TupleDesc	desc = CreateTemplateTupleDesc(fold->n_keys);

	fold->key_positions = palloc(fold->n_keys * sizeof(AttrNumber));
	for (int k = 0; k < fold->n_keys; k++)
	{
		fold->key_positions[k] = k + 1;
		TupleDescCopyEntry(desc, k + 1, row->tts_tupleDescriptor, k + 1);
	}
	fold->keys = ExecInitExtraTupleSlot(estate, desc, &TTSOpsVirtual);
	fold->group_keys = ExecInitExtraTupleSlot(estate, desc, &TTSOpsMinimalTuple);
	fold->same_group = execTuplesMatchPrepare(desc, fold->n_keys, fold->key_positions, fold->equal, fold->collations,
											  &fold->css.ss.ps);
	fold->comparing = CreateExprContext(estate);
	for (int i = 0; i < 2; i++)
		fold->spilled_rows[i] = ExecInitExtraTupleSlot(estate, row->tts_tupleDescriptor, &TTSOpsMinimalTuple);
}

static void
begin_group_fold(CustomScanState *node, EState *estate, int eflags)
{
	GroupFoldState *fold = (GroupFoldState *) node;
	const CustomScan *plan = castNode(CustomScan, node->ss.ps.plan);
	const List *inputs = list_nth(plan->custom_private, FOLD_INPUTS);
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
	fold->forgiving = lfourth_int(counts) != 0;
	fold->positions = attributes_of(inputs);
	for (int i = 0; i < list_length(inputs); i++)
		fold->last_position = Max(fold->last_position, fold->positions[i]);
	fold->has_filter = list_length(inputs) > fold->n_keys + fold->n_args;
	describe_keys(fold, estate);
	fold->table_memory = AllocSetContextCreate(estate->es_query_cxt, "group fold: table", ALLOCSET_DEFAULT_SIZES);
	fold->group_memory = AllocSetContextCreate(estate->es_query_cxt, "group fold: group", ALLOCSET_DEFAULT_SIZES);
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
	const TupleTableSlot *keys = fold->group_keys;

	for (int k = 0; k < fold->n_keys; k++)
	{
		Datum		value = row->tts_values[positions[k] - 1];
		bool		isnull = row->tts_isnull[positions[k] - 1];

		if (isnull != keys->tts_isnull[k])
			return false;
		if (!isnull && value != keys->tts_values[k])
		{
			Form_pg_attribute key = TupleDescAttr(keys->tts_tupleDescriptor, k);

			if (key->attbyval || !datum_image_eq(value, keys->tts_values[k], false, key->attlen))
				return false;
		}
	}
	return true;
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

static GroupBuilder *
create_builder(const GroupFoldState *fold, MemoryContext context)
{
	GroupBuilder *builder = group_builder_create(context);

	if (fold->forgiving)
		group_builder_forgive(builder);
	return builder;
}

/* A group that is not in the table, of the keys of a row. */
static void
begin_group(GroupFoldState *fold, const AttrNumber *positions, const TupleTableSlot *row)
{
	MemoryContext old;

	ExecClearTuple(fold->group_keys);
	MemoryContextReset(fold->group_memory);
	show_keys(fold, positions, row);
	old = MemoryContextSwitchTo(fold->group_memory);
	ExecStoreMinimalTuple(ExecCopySlotMinimalTuple(fold->keys), fold->group_keys, false);
	MemoryContextSwitchTo(old);
	slot_getallattrs(fold->group_keys);
	fold->builder = create_builder(fold, fold->group_memory);
}

/* A row into the current group. */
static inline void
add_row(GroupFoldState *fold, const TupleTableSlot *row)
{
	const AttrNumber *positions = fold->positions + fold->n_keys;
	NullableDatum args[MAX_ROW_ARGS];
	double		rewards[MAX_REWARDS];
	StepRow		step;

	if (fold->has_filter &&
		(row->tts_isnull[positions[fold->n_args] - 1] || !DatumGetBool(row->tts_values[positions[fold->n_args] - 1])))
		return;
	for (int a = 0; a < fold->n_args; a++)
	{
		args[a].value = row->tts_values[positions[a] - 1];
		args[a].isnull = row->tts_isnull[positions[a] - 1];
	}
	if (read_step_row(args, fold->n_args, fold->forgiving, rewards, &step))
		group_builder_add(fold->builder, &step);
}

/* The row of the current group, which lives until the next one is asked for. */
static TupleTableSlot *
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

/* NULL over no rows, which a filter can leave. */
static TupleTableSlot *
give_group(GroupFoldState *fold)
{
	MemoryContext old;
	Datum		value;

	if (group_builder_is_empty(fold->builder))
		return give_value(fold, (Datum) 0, true);
	old = MemoryContextSwitchTo(fold->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	value = PointerGetDatum(group_builder_finish(fold->builder));
	MemoryContextSwitchTo(old);
	return give_value(fold, value, false);
}

/* ----------
 * Hashing
 * ----------
 */

static void
begin_table(GroupFoldState *fold)
{
	/* Without groups the table shall take but a part of the memory. */
	long		n_buckets = Min(fold->expected_groups, hash_memory_limit() / (8 * sizeof(TupleHashEntryData)));
	Oid		   *functions;
	FmgrInfo   *hash;
	MemoryContext old;

	MemoryContextReset(fold->table_memory);
	old = MemoryContextSwitchTo(fold->table_memory);
	execTuplesHashPrepare(fold->n_keys, fold->equal, &functions, &hash);
	fold->table = build_tuple_hash_table(&fold->css.ss.ps, fold->keys, fold->n_keys, fold->key_positions,
										 functions, hash, fold->collations,
										 n_buckets, fold->table_memory,
										 fold->comparing->ecxt_per_tuple_memory);
	MemoryContextSwitchTo(old);

	/* An empty table must have room for something. */
	fold->limit = Max(hash_memory_limit(), 2 * MemoryContextMemAllocated(fold->table_memory, false));
}

/* Make an entry of the table the current group. */
static void
enter_group(GroupFoldState *fold, TupleHashEntry entry)
{
	fold->builder = *tuple_hash_place(fold->table, entry);
	ExecStoreMinimalTuple(tuple_hash_first(entry), fold->group_keys, false);
	slot_getallattrs(fold->group_keys);
}

static TupleTableSlot *
next_of_table(GroupFoldState *fold)
{
	TupleHashEntry entry = ScanTupleHashTable(fold->table, &fold->iterator);

	CHECK_FOR_INTERRUPTS();
	if (entry == NULL)
		return NULL;
	enter_group(fold, entry);
	return give_group(fold);
}

/* All groups of the table go out as values. */
static void
spill_table(GroupFoldState *fold)
{
	TupleTableSlot *row;

	if (fold->spilled == NULL)
		fold->spilled = tuplesort_begin_heap(fold->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor, fold->n_keys, fold->key_positions,
											 fold->less, fold->collations, fold->nulls_first, work_mem, NULL, 0);
	InitTupleHashIterator(fold->table, &fold->iterator);
	while ((row = next_of_table(fold)) != NULL)
	{
		tuplesort_puttupleslot(fold->spilled, row);
		fold->n_spilled++;
		ResetExprContext(fold->css.ss.ps.ps_ExprContext);
	}
	ExecClearTuple(fold->css.ss.ss_ScanTupleSlot);
	ExecClearTuple(fold->group_keys);
	fold->builder = NULL;
	begin_table(fold);
}

/* Make the group of a row the current one. */
static pg_noinline void
find_group(GroupFoldState *fold, const TupleTableSlot *row)
{
	Size		used = MemoryContextMemAllocated(fold->table_memory, false);
	TupleHashEntry entry;
	bool		is_new;

	fold->peak_memory = Max(fold->peak_memory, used);
	if (used > fold->limit)
		spill_table(fold);
	show_keys(fold, fold->positions, row);
	entry = LookupTupleHashEntry(fold->table, fold->keys, &is_new, NULL);
	ResetExprContext(fold->comparing);
	if (is_new)
		*tuple_hash_place(fold->table, entry) = create_builder(fold, fold->table_memory);
	enter_group(fold, entry);
}

static void
hash_rows(GroupFoldState *fold)
{
	PlanState  *below = outerPlanState(&fold->css);

	begin_table(fold);
	for (;;)
	{
		TupleTableSlot *row = ExecProcNode(below);

		if (TupIsNull(row))
			break;
		slot_getsomeattrs(row, fold->last_position);
		if (fold->builder == NULL || !has_same_keys(fold, fold->positions, row))
			find_group(fold, row);
		add_row(fold, row);
	}
	fold->peak_memory = Max(fold->peak_memory, MemoryContextMemAllocated(fold->table_memory, false));
	if (fold->spilled == NULL)
	{
		InitTupleHashIterator(fold->table, &fold->iterator);
		fold->phase = FROM_TABLE;
	}
	else
	{
		TuplesortInstrumentation sort;

		spill_table(fold);
		tuplesort_performsort(fold->spilled);
		tuplesort_get_stats(fold->spilled, &sort);
		if (sort.spaceType == SORT_SPACE_TYPE_DISK)
			fold->disk_kb = Max(fold->disk_kb, sort.spaceUsed);
		fold->phase = FROM_SPILLED;
	}
}

/* ----------
 * Spilled values
 * ----------
 */

/* Into one slot and the other in turn: the row before stays. */
static TupleTableSlot *
next_spilled(GroupFoldState *fold)
{
	TupleTableSlot *row = fold->spilled_rows[fold->turn];

	CHECK_FOR_INTERRUPTS();
	if (!tuplesort_gettupleslot(fold->spilled, true, true, row, NULL))
		return NULL;
	fold->turn = 1 - fold->turn;
	slot_getallattrs(row);
	return row;
}

static void
add_spilled(GroupFoldState *fold, const TupleTableSlot *row)
{
	MemoryContext old = MemoryContextSwitchTo(fold->group_memory);

	/* In a tuple, small values have short headers. */
	if (!row->tts_isnull[fold->n_keys])
		group_builder_add_group(fold->builder,
								(RolloutGroup *) PG_DETOAST_DATUM(row->tts_values[fold->n_keys]));
	MemoryContextSwitchTo(old);
}

/* Most groups were spilled once: their values are given as they are. */
static TupleTableSlot *
merge_spilled(GroupFoldState *fold)
{
	TupleTableSlot *row = fold->pending ? fold->pending : next_spilled(fold);
	TupleTableSlot *next;

	if (row == NULL)
		return NULL;
	begin_group(fold, fold->key_positions, row);
	next = next_spilled(fold);
	if (next != NULL && is_of_group(fold, fold->key_positions, next))
	{
		add_spilled(fold, row);
		row = NULL;
		do
		{
			add_spilled(fold, next);
			next = next_spilled(fold);
		} while (next != NULL && is_of_group(fold, fold->key_positions, next));
	}
	fold->pending = next;
	if (next == NULL)
		fold->phase = FINISHED;
	return row ? give_value(fold, row->tts_values[fold->n_keys], row->tts_isnull[fold->n_keys]) : give_group(fold);
}

/* ----------
 * Rows in order
 * ----------
 */

static TupleTableSlot *
next_sorted(GroupFoldState *fold)
{
	TupleTableSlot *row = ExecProcNode(outerPlanState(&fold->css));

	if (TupIsNull(row))
		return NULL;
	slot_getsomeattrs(row, fold->last_position);
	return row;
}

static TupleTableSlot *
fold_sorted(GroupFoldState *fold)
{
	TupleTableSlot *row = fold->pending ? fold->pending : next_sorted(fold);

	if (row == NULL)
	{
		fold->phase = FINISHED;
		return NULL;
	}
	begin_group(fold, fold->positions, row);
	do
	{
		add_row(fold, row);
		row = next_sorted(fold);
	} while (row != NULL && is_of_group(fold, fold->positions, row));
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
next_group(GroupFoldState *fold)
{
	TupleTableSlot *slot = NULL;

	if (fold->phase == BEFORE_ROWS)
	{
		if (fold->sorted_below)
			fold->phase = FROM_SORTED;
		else
			hash_rows(fold);
	}
	switch (fold->phase)
	{
		case FROM_TABLE:
			slot = next_of_table(fold);
			break;
		case FROM_SPILLED:
			slot = merge_spilled(fold);
			break;
		case FROM_SORTED:
			slot = fold_sorted(fold);
			break;
		case BEFORE_ROWS:
		case FINISHED:
			break;
	}
	return slot ? slot : ExecClearTuple(fold->css.ss.ss_ScanTupleSlot);
}

/*
 * Not by ExecScan: in the recheck of a row that another session has changed,
 * older minor releases take a scan that is of no table for a join whose row is
 * known already, also below a subquery, where it is to be run like an Agg.
 */
static TupleTableSlot *
execute_group_fold(CustomScanState *node)
{
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;
	ExprContext *context = node->ss.ps.ps_ExprContext;
	TupleTableSlot *slot;

	ResetExprContext(context);
	slot = next_group((GroupFoldState *) node);
	if (projection == NULL || TupIsNull(slot))
		return slot;
	context->ecxt_scantuple = slot;
	return ExecProject(projection);
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
	for (int i = 0; i < 2; i++)
		ExecClearTuple(fold->spilled_rows[i]);
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

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	/* A table that is complete can be given out once more. */
	if (fold->phase == FROM_TABLE && below->chgParam == NULL)
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

/*
 * Keys are named as below, as for an Agg: a subquery that they come from may be
 * gone from the plan.
 */
static void
explain_group_fold(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GroupFoldState *fold = (GroupFoldState *) node;
	Plan	   *plan = node->ss.ps.plan;
	Plan	   *below = outerPlan(plan);
	List	   *context = set_deparse_context_plan(es->deparse_cxt, below, lcons(plan, ancestors));
	List	   *keys = NIL;

	for (int k = 0; k < fold->n_keys; k++)
		keys = lappend(keys, deparse_expression((Node *) list_nth_node(TargetEntry, below->targetlist, fold->positions[k] - 1)->expr,
												context, explain_n_tables(es) > 1 || es->verbose, true));
	ExplainPropertyList("Group Key", keys, es);
	ExplainPropertyText("Strategy", fold->sorted_below ? "Sorted" : "Hashed", es);
	/* What workers did is not known here. */
	if (es->analyze && fold->peak_memory > 0)
	{
		ExplainPropertyUInteger("Memory Usage", "kB", (fold->peak_memory + 1023) / 1024, es);
		if (fold->disk_kb > 0)
			ExplainPropertyInteger("Disk Usage", "kB", fold->disk_kb, es);
		ExplainPropertyUInteger("Spilled Groups", NULL, fold->n_spilled, es);
	}
}

/*
 * group_fold.c
 *		A plan node that folds steps into groups: rollout_agg(…) … GROUP BY ….
 *
 * PostgreSQL's Agg looks up the group of each row in a hash table and interprets an expression to call the
 * transition function.  For rollout_agg, whose own work per row is small, this is most of the cost.  This node
 * passes the row to the GroupBuilder directly, and looks up a group only if the keys differ from those of the
 * row before: the steps of a rollout are mostly stored together.
 *
 * Sorted input is folded group by group.  Other input goes into a hash table: table.c.  The planner half is in
 * offer_fold.c.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include EXPLAIN_PROPERTIES_HEADER
#include EXPLAIN_STATE_HEADER
#include "long_work.h"
#include "plan/fold/current_group.h"
#include "plan/fold/entries.h"
#include "plan/fold/group_fold.h"
#include "plan/fold/records.h"
#include "plan/fold/scattered.h"
#include "plan/fold/table.h"

/* ----------
 * Start
 * ----------
 */

/* As for an Agg, the current user needs the right to call the aggregate. */
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
	finish_tuple_desc(desc);
	fold->keys = ExecInitExtraTupleSlot(estate, desc, &TTSOpsVirtual);
	fold->group_keys = ExecInitExtraTupleSlot(estate, desc, &TTSOpsMinimalTuple);
	fold->same_group = execTuplesMatchPrepare(desc, fold->n_keys, fold->key_positions, fold->equal, fold->collations,
											  &fold->css.ss.ps);
	fold->comparing = CreateExprContext(estate);
	prepare_records(fold);
	prepare_group_context(fold);
}

/* Small blocks, so that a table with little memory is not full because of memory that it has not used yet. */
static Size
largest_table_block(void)
{
	Size		size = ALLOCSET_DEFAULT_INITSIZE;

	while (size < ALLOCSET_DEFAULT_MAXSIZE && size * 2 <= hash_memory_limit() / 16)
		size *= 2;
	return size;
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
	expect_rows(outerPlan(plan)->plan_rows);
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
	fold->lenient = lfourth_int(counts) != 0;
	fold->positions = attributes_of(inputs);
	fold->has_filter = list_length(inputs) > fold->n_keys + fold->n_args;
	describe_keys(fold, estate);
	prepare_input(&fold->input, outerPlanState(node), fold->positions, attributes_of(list_nth(plan->custom_private, FOLD_READS)),
				  list_length(inputs), fold->n_args, fold->keys);
	fold->table_memory = AllocSetContextCreate(estate->es_query_cxt, "group fold: table", ALLOCSET_DEFAULT_MINSIZE,
											   ALLOCSET_DEFAULT_INITSIZE, largest_table_block());
	fold->spill_memory = AllocSetContextCreate(estate->es_query_cxt, "group fold: spilled groups", ALLOCSET_DEFAULT_SIZES);
	fold->parts_memory = AllocSetContextCreate(estate->es_query_cxt, "group fold: parts", ALLOCSET_DEFAULT_SIZES);
	fold->group_memory = AllocSetContextCreate(estate->es_query_cxt, "group fold: group", ALLOCSET_DEFAULT_SIZES);
}

/* ----------
 * Sorted input
 * ----------
 */

static TupleTableSlot *
fold_sorted(GroupFoldState *fold)
{
	bool		has_row = fold->pending || next_input(&fold->input);

	if (!has_row)
	{
		fold->phase = FINISHED;
		return NULL;
	}
	begin_group(fold);
	do
	{
		add_row(fold);
		has_row = next_input(&fold->input);
	} while (has_row && is_of_group(fold));
	fold->pending = has_row;
	if (!has_row)
		fold->phase = FINISHED;
	return give_group(fold);
}

/* ----------
 * Execution
 * ----------
 */

/* Continue with the parts, if there are any.  A table alone can be returned again by a rescan. */
static void
begin_giving_rest(GroupFoldState *fold)
{
	if (fold->parts != NULL)
		begin_giving_parts(fold);
	else if (fold->spill != NULL)
		fold->phase = FINISHED;
}

static TupleTableSlot *
next_group(GroupFoldState *fold)
{
	TupleTableSlot *slot = NULL;

	if (fold->phase == BEFORE_ROWS)
	{
		if (fold->sorted_below)
			fold->phase = FROM_SORTED;
		else if (fold->exchange != NULL)
			fold_with_others(fold);
		else
			fold_unsorted(fold);
	}
	if (fold->phase == FROM_TABLE)
	{
		slot = next_of_table(fold);
		if (slot == NULL && !begin_giving_spill(fold))
			begin_giving_rest(fold);
	}
	if (fold->phase == FROM_SPILL)
	{
		slot = next_of_spill(fold);
		if (slot == NULL)
			begin_giving_rest(fold);
	}
	if (fold->phase == FROM_PARTS)
		slot = next_of_parts(fold);
	else if (fold->phase == FROM_SORTED)
		slot = fold_sorted(fold);
	return slot ? slot : ExecClearTuple(fold->css.ss.ss_ScanTupleSlot);
}

/*
 * Does not use ExecScan: when EvalPlanQual rechecks a row that another session changed, older minor releases
 * take a scan without a table for a join whose row is already known, also below a subquery, where it must be
 * run like an Agg.
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
	begin_input(&fold->input);
	fold->builder = NULL;
	fold->table = NULL;
	ExecClearTuple(fold->keys);
	ExecClearTuple(fold->group_keys);
	fold->pending = false;
	forget_parts(fold);
	forget_spill(fold);
	MemoryContextReset(fold->table_memory);
	MemoryContextReset(fold->group_memory);
}

static void
rescan_group_fold(CustomScanState *node)
{
	GroupFoldState *fold = (GroupFoldState *) node;
	PlanState  *below = outerPlanState(node);

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	/* A complete table can be returned again. */
	if (fold->phase == FROM_TABLE && fold->exchange == NULL && below->chgParam == NULL)
	{
		begin_giving_table(fold);
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
	if (fold->exchange != NULL)
		leave_exchange(fold->exchange);
	MemoryContextDelete(fold->table_memory);
	MemoryContextDelete(fold->spill_memory);
	MemoryContextDelete(fold->parts_memory);
	MemoryContextDelete(fold->group_memory);
	ExecEndNode(outerPlanState(node));
}

/* ----------
 * Parallel execution
 * ----------
 */

static Size
estimate_exchange(CustomScanState *node, ParallelContext *context)
{
	const GroupFoldState *fold = (GroupFoldState *) node;
	int			n_processes = context->nworkers + 1;

	return exchange_size(n_processes, fold->expected_groups, expected_bytes(fold) * n_processes);
}

static void
begin_exchange(CustomScanState *node, ParallelContext *context, void *shared)
{
	GroupFoldState *fold = (GroupFoldState *) node;
	int			n_processes = context->nworkers + 1;
	MemoryContext old;

	/* No dynamic shared memory: there will be no workers. */
	if (context->seg == NULL)
		return;
	old = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);
	fold->exchange = create_exchange(shared, n_processes, fold->expected_groups, expected_bytes(fold) * n_processes, context->seg);
	MemoryContextSwitchTo(old);
}

static void
rescan_exchange(CustomScanState *node, ParallelContext *context, void *shared)
{
	GroupFoldState *fold = (GroupFoldState *) node;
	MemoryContext old;

	if (fold->exchange == NULL)
		return;
	old = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);
	renew_exchange(fold->exchange);
	MemoryContextSwitchTo(old);
}

static void
begin_exchange_in_worker(CustomScanState *node, shm_toc *toc, void *shared)
{
	GroupFoldState *fold = (GroupFoldState *) node;
	MemoryContext old = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);

	fold->exchange = find_exchange(shared);
	MemoryContextSwitchTo(old);
}

/* Called before the shared memory is freed: keep what EXPLAIN shows. */
static void
end_exchange(CustomScanState *node)
{
	GroupFoldState *fold = (GroupFoldState *) node;
	MemoryContext old;

	if (fold->exchange == NULL)
		return;
	leave_exchange(fold->exchange);
	if (IsParallelWorker())
		return;
	old = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);
	fold->usage_of_all = usage_of_processes(fold->exchange, &fold->n_processes);
	MemoryContextSwitchTo(old);
	fold->exchange = NULL;
}

/* ----------
 * EXPLAIN
 * ----------
 */

static void
explain_usage(const FoldUsage *usage, ExplainState *es)
{
	ExplainPropertyUInteger("Memory Usage", "kB", (usage->peak_memory + 1023) / 1024, es);
	if (usage->disk_kb > 0)
		ExplainPropertyInteger("Disk Usage", "kB", usage->disk_kb, es);
	ExplainPropertyUInteger("Spilled Groups", NULL, usage->n_spilled, es);
	if (usage->n_scattered > 0)
		ExplainPropertyUInteger("Scattered Rows", NULL, usage->n_scattered, es);
	if (usage->n_parts > 0)
		ExplainPropertyInteger("Parts", NULL, usage->n_parts, es);
	if (usage->n_on_disk > 0)
		ExplainPropertyInteger("Parts on Disk", NULL, usage->n_on_disk, es);
}

/* In text format, one line for each process that took part. */
static void
explain_processes(const GroupFoldState *fold, ExplainState *es)
{
	ExplainOpenGroup("Processes", "Processes", false, es);
	for (int p = 0; p < fold->n_processes; p++)
	{
		const FoldUsage *usage = &fold->usage_of_all[p];
		const char *name = p == 0 ? "Leader" : psprintf("Worker %d", p - 1);

		if (!usage->took_part)
			continue;
		if (es->format == EXPLAIN_FORMAT_TEXT)
		{
			ExplainPropertyText(name, psprintf("Memory Usage: %zukB  Disk Usage: " INT64_FORMAT "kB  Exchanged Groups: " UINT64_FORMAT "%s",
											   (usage->peak_memory + 1023) / 1024, usage->disk_kb, usage->n_exchanged,
											   usage->n_scattered == 0 ? "" :
											   psprintf("  Scattered Rows: " UINT64_FORMAT, usage->n_scattered)), es);
			continue;
		}
		ExplainOpenGroup("Process", NULL, true, es);
		ExplainPropertyText("Name", name, es);
		explain_usage(usage, es);
		ExplainPropertyUInteger("Exchanged Groups", NULL, usage->n_exchanged, es);
		ExplainCloseGroup("Process", NULL, true, es);
	}
	ExplainCloseGroup("Processes", "Processes", false, es);
}

/*
 * Show the keys in terms of the plan below, as for an Agg: a subquery that they come from may have been
 * removed from the plan.
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
	if (!es->analyze)
		return;
	if (fold->usage_of_all != NULL)
		explain_processes(fold, es);
	else if (fold->usage.peak_memory > 0)
		explain_usage(&fold->usage, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "GroupFold",
	.BeginCustomScan = begin_group_fold,
	.ExecCustomScan = execute_group_fold,
	.EndCustomScan = end_group_fold,
	.ReScanCustomScan = rescan_group_fold,
	.ExplainCustomScan = explain_group_fold,
	.EstimateDSMCustomScan = estimate_exchange,
	.InitializeDSMCustomScan = begin_exchange,
	.ReInitializeDSMCustomScan = rescan_exchange,
	.InitializeWorkerCustomScan = begin_exchange_in_worker,
	.ShutdownCustomScan = end_exchange,
};

Node *
create_group_fold_state(CustomScan *plan)
{
	GroupFoldState *fold = (GroupFoldState *) newNode(sizeof(GroupFoldState), T_CustomScanState);

	fold->css.methods = &exec_methods;
	return (Node *) fold;
}

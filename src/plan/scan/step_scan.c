/*
 * step_scan.c
 *		A plan node that reads the rows of set-returning functions of a group directly from columns.
 *
 * PostgreSQL's FunctionScan lets a function fill a tuplestore and then reads every row back from it.  For
 * functions that already have their result as columns (all that end with return_rows), this is most of their
 * cost.  This node calls the functions in the same way but leaves the columns where they are, and produces
 * only the values that the query needs.
 *
 * Semantics are those of FunctionScan: arguments are evaluated once per scan (again only if a parameter
 * changed), a strict function with a NULL argument returns no rows, and shorter functions in ROWS FROM are
 * padded with NULLs.
 *
 * If the groups come from rows of an outer plan, the node reads these rows itself and returns each with every
 * row of the functions: a Nested Loop in one node, which sets only the values that differ from the row before.
 *
 * offer_scan.c and offer_join.c offer the node to the planner; groups.c calls the functions.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include EXPLAIN_PROPERTIES_HEADER
#include "plan/scan/plan.h"
#include "plan/scan/step_scan_state.h"
#include "plan/scan/step_scan.h"

static TupleTableSlot *execute_bare_scan(PlanState *node);
static TupleTableSlot *execute_number_scan(PlanState *node);

/* ----------
 * Start
 * ----------
 */

/* Do two calls have the same group?  It may be an expression: by_turn(g.rollouts). */
static bool
calls_same_group(const FuncExpr *call, const FuncExpr *before)
{
	Node	   *group = linitial(call->args);

	return equal(group, linitial(before->args)) && !contain_volatile_functions(group);
}

static void
begin_functions(StepScanState *scan, const CustomScan *plan)
{
	PlanState  *node = &scan->css.ss.ps;
	const List *column_counts = (const List *) list_nth(plan->custom_private, STEP_COLUMN_COUNTS);

	scan->n_functions = list_length(plan->custom_exprs);
	scan->calls = palloc(scan->n_functions * sizeof(SetExprState *));
	scan->same_group = palloc0(scan->n_functions * sizeof(bool));
	scan->results = palloc0(scan->n_functions * sizeof(ColumnSink));
	for (int f = 0; f < scan->n_functions; f++)
	{
		/* Looks the function up and checks that it may be executed. */
		scan->calls[f] = ExecInitTableFunctionResult((Expr *) list_nth(plan->custom_exprs, f), node->ps_ExprContext, node);
		scan->same_group[f] = f > 0 && calls_same_group(list_nth(plan->custom_exprs, f), list_nth(plan->custom_exprs, f - 1));
		column_sink_init(&scan->results[f], list_nth_int(column_counts, f));
	}
	scan->kept.decides = depends_on_group_alone(plan->custom_exprs);
}

/* Does a target list have only columns, so that nothing is computed? */
static bool
is_of_columns(const List *tlist)
{
	ListCell   *lc;

	foreach(lc, tlist)
		if (!IsA(lfirst_node(TargetEntry, lc)->expr, Var))
			return false;
	return true;
}

static void
add_outer_column(StepScanState *scan, OuterColumns *columns, int from, int place)
{
	columns->column[columns->n++] = (OuterColumn) {from, place};
	scan->last_outer = Max(scan->last_outer, from + 1);
}

/* Put a column of the scan at this place of the output. */
static void
show_column(StepScanState *scan, const List *origins, int column, int place)
{
	int			function = list_nth_int(origins, 2 * column);
	int			from = list_nth_int(origins, 2 * column + 1);

	if (function == OF_OUTER_ROW)
		add_outer_column(scan, &scan->shown, from, place);
	else
	{
		scan->results[function].asked[from] = true;
		scan->columns[scan->n_columns++] = (StepColumn) {.function = function, .column = from, .place = place};
	}
}

/* Does only one number differ from row to row? */
static bool
gives_one_number(const StepScanState *scan)
{
	return scan->n_columns == 1 &&
		TupleDescAttr(scan->output->tts_tupleDescriptor, scan->columns[0].place)->atttypid == FLOAT8OID;
}

/*
 * The output is the target list if nothing is filtered or computed, and otherwise all columns of the scan, on
 * which the executor then works.
 */
static void
begin_columns(StepScanState *scan, const CustomScan *plan)
{
	ScanState  *node = &scan->css.ss;
	const List *origins = (const List *) list_nth(plan->custom_private, STEP_ORIGINS);
	const List *tlist = plan->scan.plan.targetlist;
	int			n = list_length(plan->custom_scan_tlist);
	bool		direct = node->ps.qual == NULL && node->ps.ps_ProjInfo != NULL && is_of_columns(tlist);
	int			n_shown = direct ? list_length(tlist) : n;

	scan->output = direct ? node->ps.ps_ResultTupleSlot : node->ss_ScanTupleSlot;
	scan->columns = palloc0(n_shown * sizeof(StepColumn));
	scan->shown.column = palloc(n_shown * sizeof(OuterColumn));
	scan->scanned.column = palloc(n * sizeof(OuterColumn));
	for (int place = 0; place < n_shown; place++)
		show_column(scan, origins,
					direct ? castNode(Var, list_nth_node(TargetEntry, tlist, place)->expr)->varattno - 1 : place, place);
	for (int place = 0; direct && place < n; place++)
		if (list_nth_int(origins, 2 * place) == OF_OUTER_ROW)
			add_outer_column(scan, &scan->scanned, list_nth_int(origins, 2 * place + 1), place);
	if (node->ps.qual == NULL && (direct || node->ps.ps_ProjInfo == NULL))
		node->ps.ExecProcNode = gives_one_number(scan) ? execute_number_scan : execute_bare_scan;
}

/*
 * Enough for a group of some thousand steps with its history.  The memory is kept from group to group: freeing
 * and allocating it again would spend half the time on page faults.
 */
#define USUAL_SIZE ((Size) 4 * 1024 * 1024)

/* The memory of the last scan that ended without error, kept for the next one, possibly of another query. */
static MemoryContext spare_memory = NULL;

static MemoryContext
take_memory(MemoryContext parent)
{
	MemoryContext memory = spare_memory;

	if (memory == NULL)
		return create_keeping_context(parent, "step scan", USUAL_SIZE);
	spare_memory = NULL;
	MemoryContextSetParent(memory, parent);
	return memory;
}

static void
leave_memory(MemoryContext memory)
{
	MemoryContextReset(memory);
	if (spare_memory != NULL)
		MemoryContextDelete(memory);
	else
		MemoryContextSetParent(spare_memory = memory, TopMemoryContext);
}

static void
begin_step_scan(CustomScanState *node, EState *estate, int eflags)
{
	StepScanState *scan = (StepScanState *) node;
	const CustomScan *plan = castNode(CustomScan, node->ss.ps.plan);

	if (outerPlan(plan) != NULL)
		outerPlanState(node) = ExecInitNode(outerPlan(plan), estate, eflags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
	begin_functions(scan, plan);
	begin_columns(scan, plan);
	scan->memory = take_memory(estate->es_query_cxt);
}

/* ----------
 * Rows
 * ----------
 */

/* Values that stay the same from row to row. */
static void
begin_output(StepScanState *scan)
{
	if (scan->outer != NULL)
		show_outer_columns(scan->outer, &scan->shown, scan->output);
	ExecStoreVirtualTuple(scan->output);
}

/*
 * Overwrites the values of the row before.  The slot has nothing to free: values are passed by value, or are
 * columns of the outer row, which stay in place until the functions are called again.
 */
static TupleTableSlot *
next_row(StepScanState *scan)
{
	TupleTableSlot *slot = scan->output;
	const StepColumn *end = scan->columns + scan->n_columns;
	uint64		row;

	if (unlikely(scan->row >= scan->n_rows) && !evaluate_next_group(scan))
		return ExecClearTuple(slot);
	row = scan->row++;
	if (TTS_EMPTY(slot))
		begin_output(scan);
	for (const StepColumn *column = scan->columns; column < end; column++)
	{
		if (row < column->n_rows)
			slot->tts_values[column->place] = column_datum(&column->result, row, &slot->tts_isnull[column->place]);
		else
			slot->tts_isnull[column->place] = true;
	}
	return slot;
}

/* The most common case: the executor calls this if nothing is filtered or computed. */
static TupleTableSlot *
execute_bare_scan(PlanState *node)
{
	CHECK_FOR_INTERRUPTS();
	return next_row((StepScanState *) node);
}

/* Within that, the most common case: only one column differs, of numbers in which NaN stands for NULL. */
static TupleTableSlot *
execute_number_scan(PlanState *node)
{
	StepScanState *scan = (StepScanState *) node;
	TupleTableSlot *slot = scan->output;
	const StepColumn *column = scan->columns;
	double		number;

	CHECK_FOR_INTERRUPTS();
	if (unlikely(scan->row >= column->n_rows || TTS_EMPTY(slot) || column->result.nulls != NULL))
		return next_row(scan);
	number = ((const double *) column->result.values)[scan->row++];
	slot->tts_values[column->place] = Float8GetDatum(number);
	slot->tts_isnull[column->place] = isnan(number);
	return slot;
}

/*
 * Does not use ExecScan: when EvalPlanQual rechecks a row that another session changed, older minor releases
 * take a scan without a table for a join whose row is already known, also below a subquery.  (If a row of the
 * scan itself is rechecked, the whole row is needed: see needs_whole_row.)
 */
static TupleTableSlot *
execute_step_scan(CustomScanState *node)
{
	ExprState  *qual = node->ss.ps.qual;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;
	ExprContext *context = node->ss.ps.ps_ExprContext;

	CHECK_FOR_INTERRUPTS();
	for (;;)
	{
		TupleTableSlot *slot;

		ResetExprContext(context);
		slot = next_row((StepScanState *) node);
		if (TupIsNull(slot))
			return projection ? ExecClearTuple(projection->pi_state.resultslot) : slot;
		context->ecxt_scantuple = slot;
		if (qual == NULL || ExecQual(qual, context))
			return projection ? ExecProject(projection) : slot;
		InstrCountFiltered1(node, 1);
		CHECK_FOR_INTERRUPTS();
	}
}

static void
end_step_scan(CustomScanState *node)
{
	leave_memory(((StepScanState *) node)->memory);
	if (outerPlanState(node) != NULL)
		ExecEndNode(outerPlanState(node));
}

static void
rescan_step_scan(CustomScanState *node)
{
	StepScanState *scan = (StepScanState *) node;
	PlanState  *below = outerPlanState(node);

	ExecScanReScan(&node->ss);
	ExecClearTuple(scan->output);
	if (below == NULL && node->ss.ps.chgParam == NULL)
	{
		/* Return the same rows again if the functions have been called. */
		if (scan->finished)
			scan->row = 0;
		return;
	}
	scan->row = scan->n_rows;
	scan->finished = false;
	scan->outer = NULL;
	if (below != NULL && below->chgParam == NULL)
		ExecReScan(below);
}

static void
explain_step_scan(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const CustomScan *plan = castNode(CustomScan, node->ss.ps.plan);
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, plan->custom_exprs)
		names = lappend(names, get_func_name(lfirst_node(FuncExpr, lc)->funcid));
	ExplainPropertyList("Functions", names, es);
	if (es->analyze && ((StepScanState *) node)->kept.n_repeated > 0)
		ExplainPropertyInteger("Groups Asked Again", NULL, ((StepScanState *) node)->kept.n_repeated, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "StepScan",
	.BeginCustomScan = begin_step_scan,
	.ExecCustomScan = execute_step_scan,
	.EndCustomScan = end_step_scan,
	.ReScanCustomScan = rescan_step_scan,
	.ExplainCustomScan = explain_step_scan,
};

Node *
create_step_scan_state(CustomScan *plan)
{
	StepScanState *scan = (StepScanState *) newNode(sizeof(StepScanState), T_CustomScanState);

	scan->css.methods = &exec_methods;
	return (Node *) scan;
}

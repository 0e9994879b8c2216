/*
 * step_scan.c
 *		A plan node that reads the rows of set-returning functions of a group
 *		straight from their columns.
 *
 * PostgreSQL's FunctionScan lets a function fill a tuplestore and then takes
 * every row out of it again.  For functions that have their result as columns
 * already (all that end with return_rows) that is most of what they cost.  So
 * wherever the planner meets
 *
 *		FROM rtmc(g.rollouts) a
 *		FROM ROWS FROM (rtmc(g.rollouts), grpo(g.rollouts)) a
 *
 * it is offered, beside the FunctionScan, a custom scan that calls the functions
 * in the same way but leaves the columns where they are, and makes of each row
 * only the values that the query asks for.  A function takes part by being
 * declared with SUPPORT row_support, which also has the planner load this
 * library before it looks for paths.
 *
 * Semantics are those of FunctionScan: arguments are evaluated once a scan (again
 * only when they depend on what has changed), a strict function of NULL gives no
 * rows, shorter functions of a ROWS FROM are filled up with NULLs.  WITH
 * ORDINALITY and references to whole rows are left to it.
 *
 * But a group that comes again, scan after scan, is not computed again.  That is
 * what a nested loop over steps does, and the planner makes one where it takes
 * the steps for a single row: a batch that came after the table's statistics.
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "pgstat.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "column_sink.h"
#include "compat.h"
#include "hash.h"
#include EXPLAIN_PROPERTIES_HEADER
#include "plan/step_scan.h"

PG_FUNCTION_INFO_V1(stepadv_row_support);

/* Of a group: its sizes and its first identities. */
#define FINGERPRINT_BYTES 256

static bool enable_step_scan = true;
static set_rel_pathlist_hook_type previous_hook = NULL;

/*
 * Planner support function of those that return_rows.  It has nothing to say:
 * to be its user is the message.
 */
Datum
stepadv_row_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(NULL);
}

/* ----------
 * Planning
 * ----------
 */

static Plan *plan_step_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
							List *tlist, List *clauses, List *custom_plans);
static Node *create_step_scan_state(CustomScan *plan);

static const CustomPathMethods path_methods = {
	.CustomName = "StepScan",
	.PlanCustomPath = plan_step_scan,
};

static const CustomScanMethods scan_methods = {
	.CustomName = "StepScan",
	.CreateCustomScanState = create_step_scan_state,
};

static bool
returns_columns(const RangeTblFunction *function)
{
	const FuncExpr *call = (const FuncExpr *) function->funcexpr;
	Oid			support;
	FmgrInfo	info;

	if (!IsA(call, FuncExpr) || !call->funcretset ||
		function->funccolcount > MAX_ROW_COLUMNS || call->args == NIL ||
		get_typlen(exprType(linitial(call->args))) != -1)
		return false;
	support = get_func_support(call->funcid);
	if (!OidIsValid(support))
		return false;
	fmgr_info(support, &info);
	return info.fn_addr == stepadv_row_support;
}

/*
 * The rows as a whole would need a row type; FunctionScan has one.  They can be
 * wanted above the scan, by its own conditions, or by those of a join.
 */
static bool
needs_whole_row(RelOptInfo *rel, Index rti)
{
	Bitmapset  *attributes = NULL;

	pull_varattnos((Node *) rel->reltarget->exprs, rti, &attributes);
	pull_varattnos((Node *) extract_actual_clauses(rel->baserestrictinfo, false), rti, &attributes);
	pull_varattnos((Node *) extract_actual_clauses(rel->joininfo, false), rti, &attributes);
	return bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, attributes);
}

static List *
column_counts_of(const RangeTblEntry *rte)
{
	List	   *counts = NIL;
	ListCell   *lc;

	foreach(lc, rte->functions)
		counts = lappend_int(counts, lfirst_node(RangeTblFunction, lc)->funccolcount);
	return counts;
}

static List *
calls_of(const RangeTblEntry *rte)
{
	List	   *calls = NIL;
	ListCell   *lc;

	foreach(lc, rte->functions)
		calls = lappend(calls, lfirst_node(RangeTblFunction, lc)->funcexpr);
	return calls;
}

/* As cost_functionscan has it, but that a row costs half. */
static void
cost_step_scan(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte, Path *path)
{
	QualCost	calls;

	cost_qual_eval_node(&calls, (Node *) calls_of(rte), root);
	path->rows = path->param_info ? path->param_info->ppi_rows : rel->rows;
	path->startup_cost = calls.startup + calls.per_tuple +
		rel->baserestrictcost.startup + path->pathtarget->cost.startup;
	path->total_cost = path->startup_cost +
		(cpu_tuple_cost / 2 + rel->baserestrictcost.per_tuple) * rel->tuples +
		path->pathtarget->cost.per_tuple * path->rows;
}

static void
offer_step_scan(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	CustomPath *path;
	ListCell   *lc;

	if (previous_hook)
		previous_hook(root, rel, rti, rte);
	if (!enable_step_scan || rte->rtekind != RTE_FUNCTION || rte->funcordinality)
		return;
	foreach(lc, rte->functions)
		if (!returns_columns(lfirst_node(RangeTblFunction, lc)))
			return;
	if (needs_whole_row(rel, rti))
		return;

	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.param_info = get_baserel_parampathinfo(root, rel, rel->lateral_relids);
	path->path.parallel_safe = rel->consider_parallel;
	path->flags = CUSTOM_PATH_FLAGS;
	path->methods = &path_methods;
	cost_step_scan(root, rel, rte, &path->path);
	add_path(rel, &path->path);
}

/*
 * Where the columns that are asked for come from: for each of them the number of
 * the function and that of its column, all in one list of integers.
 */
static List *
origins_of(const List *asked, const RangeTblEntry *rte)
{
	List	   *origins = NIL;
	ListCell   *lc;

	foreach(lc, asked)
	{
		int			column = castNode(Var, lfirst_node(TargetEntry, lc)->expr)->varattno - 1;
		int			function = 0;

		for (;; function++)
		{
			int			n_columns = list_nth_node(RangeTblFunction, rte->functions, function)->funccolcount;

			if (column < n_columns)
				break;
			column -= n_columns;
		}
		origins = lappend_int(lappend_int(origins, function), column);
	}
	return origins;
}

/*
 * The calls travel as custom_exprs, where the planner puts parameters in place
 * of the columns they refer to.  There is no relation that the executor could
 * open; custom_scan_tlist describes the rows, and has only the columns that are
 * asked for, in the order of the target list, so that most often nothing is left
 * to project.
 */
static Plan *
plan_step_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
			   List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	List	   *asked = NIL;
	ListCell   *lc;

	clauses = extract_actual_clauses(clauses, false);
	/* The target list may be empty here and be given later, out of what reltarget has. */
	foreach(lc, pull_var_clause((Node *) list_make3(tlist, rel->reltarget->exprs, clauses), PVC_RECURSE_PLACEHOLDERS))
	{
		Var		   *var = lfirst_node(Var, lc);

		if (var->varno == rel->relid && tlist_member((Expr *) var, asked) == NULL)
			asked = lappend(asked, makeTargetEntry((Expr *) copyObject(var), list_length(asked) + 1, NULL, false));
	}

	scan->scan.scanrelid = 0;
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = clauses;
	scan->flags = path->flags;
	scan->methods = &scan_methods;
	scan->custom_exprs = calls_of(rte);
	scan->custom_private = list_make2(column_counts_of(rte), origins_of(asked, rte));
	scan->custom_scan_tlist = asked;
	return &scan->scan.plan;
}

/* ----------
 * Execution
 * ----------
 */

/* A column of the scan. */
typedef struct AskedColumn
{
	int			function;		/* where it comes from: which function, */
	int			column;			/* which of its columns */
	ResultColumn result;
	uint64		n_rows;
} AskedColumn;

typedef struct StepScanState
{
	CustomScanState css;
	int			n_functions;
	SetExprState **calls;
	bool	   *same_group;	/* by call: its group is that of the call before */
	ColumnSink *results;
	int			n_columns;		/* of the scan: those asked for */
	AskedColumn *columns;
	MemoryContext memory;		/* of one evaluation: arguments and columns */
	bool		evaluated;
	bool		group_decides;	/* what the functions give depends on the group alone */
	bool		groups_repeat;	/* one came twice: from now on each is kept */
	uint64		fingerprint;	/* of the group that was evaluated, */
	struct varlena *kept;		/* and itself, in memory, or NULL */
	uint64		n_repeated;		/* scans that were spared */
	uint64		n_rows;
	uint64		row;
} StepScanState;

static void begin_step_scan(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *execute_step_scan(CustomScanState *node);
static TupleTableSlot *execute_bare_scan(PlanState *node);
static TupleTableSlot *execute_number_scan(PlanState *node);
static void end_step_scan(CustomScanState *node);
static void rescan_step_scan(CustomScanState *node);
static void explain_step_scan(CustomScanState *node, List *ancestors, ExplainState *es);

static const CustomExecMethods exec_methods = {
	.CustomName = "StepScan",
	.BeginCustomScan = begin_step_scan,
	.ExecCustomScan = execute_step_scan,
	.EndCustomScan = end_step_scan,
	.ReScanCustomScan = rescan_step_scan,
	.ExplainCustomScan = explain_step_scan,
};

static Node *
create_step_scan_state(CustomScan *plan)
{
	StepScanState *scan = (StepScanState *) newNode(sizeof(StepScanState), T_CustomScanState);

	scan->css.methods = &exec_methods;
	return (Node *) scan;
}

/* Two calls of one group, which may be computed: by_turn(g.rollouts). */
static bool
calls_same_group(const FuncExpr *call, const FuncExpr *before)
{
	Node	   *group = linitial(call->args);

	return equal(group, linitial(before->args)) && !contain_volatile_functions(group);
}

/* All calls are of one group as it stands in a row, all else is fixed. */
static bool
depends_on_group_alone(const List *calls)
{
	const Node *group = linitial(linitial_node(FuncExpr, calls)->args);
	ListCell   *lc;

	if (!IsA(group, Param))
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

/* What a group of some hundred steps takes: kept from one to the next, where smaller blocks would be freed and be had again. */
#define USUAL_SIZE ((Size) 64 * 1024)

static bool
is_number_scan(const CustomScan *plan)
{
	return list_length(plan->custom_scan_tlist) == 1 &&
		exprType((Node *) linitial_node(TargetEntry, plan->custom_scan_tlist)->expr) == FLOAT8OID;
}

static void
begin_step_scan(CustomScanState *node, EState *estate, int eflags)
{
	StepScanState *scan = (StepScanState *) node;
	const CustomScan *plan = castNode(CustomScan, node->ss.ps.plan);
	const List *column_counts = (const List *) linitial(plan->custom_private);
	const List *origins = (const List *) lsecond(plan->custom_private);

	scan->n_functions = list_length(plan->custom_exprs);
	scan->calls = palloc(scan->n_functions * sizeof(SetExprState *));
	scan->same_group = palloc0(scan->n_functions * sizeof(bool));
	scan->results = palloc0(scan->n_functions * sizeof(ColumnSink));
	for (int f = 0; f < scan->n_functions; f++)
	{
		/* Looks the function up and checks that it may be executed. */
		scan->calls[f] = ExecInitTableFunctionResult((Expr *) list_nth(plan->custom_exprs, f),
													 node->ss.ps.ps_ExprContext, &node->ss.ps);
		scan->same_group[f] = f > 0 && calls_same_group(list_nth(plan->custom_exprs, f), list_nth(plan->custom_exprs, f - 1));
		column_sink_init(&scan->results[f], list_nth_int(column_counts, f));
	}
	scan->group_decides = depends_on_group_alone(plan->custom_exprs);
	scan->n_columns = list_length(plan->custom_scan_tlist);
	scan->columns = palloc0(scan->n_columns * sizeof(AskedColumn));
	for (int c = 0; c < scan->n_columns; c++)
	{
		scan->columns[c].function = list_nth_int(origins, 2 * c);
		scan->columns[c].column = list_nth_int(origins, 2 * c + 1);
		scan->results[scan->columns[c].function].asked[scan->columns[c].column] = true;
	}
	scan->memory = AllocSetContextCreate(estate->es_query_cxt, "step scan", USUAL_SIZE, USUAL_SIZE, ALLOCSET_DEFAULT_MAXSIZE);
	if (node->ss.ps.qual == NULL && node->ss.ps.ps_ProjInfo == NULL)
		node->ss.ps.ExecProcNode = is_number_scan(plan) ? execute_number_scan : execute_bare_scan;
}

/*
 * Arguments into the call.  A group that is toasted, or still growing, is
 * brought into one piece once, though several functions ask about it; one that
 * the call before has too is not computed again.  Columns may lie in the group
 * itself: those that shall outlive the row it came in are of the copy that is kept.
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

/*
 * Is this the group whose columns are still there?  Bytes that are equal are of
 * equal groups, also those that point to TOAST; what is still growing has none.
 * Keeping a group costs a copy of it, so that none is kept before a beginning has
 * come twice.
 */
static bool
group_came_again(StepScanState *scan, ExprContext *econtext)
{
	bool		isnull;
	Datum		value = ExecEvalExpr((ExprState *) linitial(scan->calls[0]->args), econtext, &isnull);
	struct varlena *group = (struct varlena *) DatumGetPointer(value);
	uint64		fingerprint;
	Size		size;

	if (isnull || (VARATT_IS_EXTERNAL(group) && !VARATT_IS_EXTERNAL_ONDISK(group)))
	{
		scan->kept = NULL;
		MemoryContextReset(scan->memory);
		return false;
	}
	size = VARSIZE_ANY(group);
	if (scan->kept != NULL && size == VARSIZE_ANY(scan->kept) && memcmp(group, scan->kept, size) == 0)
		return true;
	fingerprint = (uint64) hash_bytes_64(group, Min(size, FINGERPRINT_BYTES));
	scan->groups_repeat |= fingerprint == scan->fingerprint;
	scan->fingerprint = fingerprint;
	MemoryContextReset(scan->memory);
	scan->kept = NULL;
	if (scan->groups_repeat)
		scan->kept = memcpy(MemoryContextAllocHuge(scan->memory, size), group, size);
	return false;
}

/* Not inlined: next_row, which runs for every row, shall not save registers for it. */
static pg_noinline void
evaluate_functions(StepScanState *scan)
{
	ExprContext *econtext = scan->css.ss.ps.ps_ExprContext;
	MemoryContext old = MemoryContextSwitchTo(scan->memory);
	Datum		group = (Datum) 0;
	Datum		flat = (Datum) 0;

	scan->row = 0;
	scan->evaluated = true;
	if (!scan->group_decides)
		MemoryContextReset(scan->memory);
	else if (group_came_again(scan, econtext))
	{
		MemoryContextSwitchTo(old);
		scan->n_repeated++;
		return;
	}
	scan->n_rows = 0;
	for (int f = 0; f < scan->n_functions; f++)
	{
		SetExprState *call = scan->calls[f];
		ColumnSink *result = &scan->results[f];
		PgStat_FunctionCallUsage usage;

		result->n_rows = 0;
		if (!evaluate_arguments(call, scan->same_group[f] ? scan->calls[f - 1] : NULL, econtext, scan->kept, &group, &flat))
			continue;
		call->fcinfo->resultinfo = (fmNodePtr) result;
		call->fcinfo->isnull = false;
		pgstat_init_function_usage(call->fcinfo, &usage);
		(void) FunctionCallInvoke(call->fcinfo);
		pgstat_end_function_usage(&usage, true);
		scan->n_rows = Max(scan->n_rows, result->n_rows);
	}
	MemoryContextSwitchTo(old);
	for (int c = 0; c < scan->n_columns; c++)
	{
		AskedColumn *asked = &scan->columns[c];

		asked->result = scan->results[asked->function].columns[asked->column];
		asked->n_rows = scan->results[asked->function].n_rows;
	}
}

/*
 * Values are written over those of the row before: the slot has nothing to free, as all
 * are passed by value, or arrays that stay where they are until the functions are called again.
 */
static TupleTableSlot *
next_row(ScanState *node)
{
	StepScanState *scan = (StepScanState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;
	Datum	   *values = slot->tts_values;
	bool	   *isnull = slot->tts_isnull;
	const AskedColumn *end = scan->columns + scan->n_columns;
	uint64		row;

	if (unlikely(!scan->evaluated))
		evaluate_functions(scan);
	row = scan->row;
	if (row >= scan->n_rows)
		return ExecClearTuple(slot);
	for (const AskedColumn *asked = scan->columns; asked < end; asked++, values++, isnull++)
	{
		if (row < asked->n_rows)
			*values = column_datum(&asked->result, row, isnull);
		else
			*isnull = true;
	}
	scan->row++;
	return TTS_EMPTY(slot) ? ExecStoreVirtualTuple(slot) : slot;
}

/* The commonest: where nothing is left to filter or to project, the executor calls this. */
static TupleTableSlot *
execute_bare_scan(PlanState *node)
{
	CHECK_FOR_INTERRUPTS();
	return next_row((ScanState *) node);
}

/* Of them the commonest: one column, of numbers none of which is NULL but for NaN. */
static TupleTableSlot *
execute_number_scan(PlanState *node)
{
	StepScanState *scan = (StepScanState *) node;
	TupleTableSlot *slot = scan->css.ss.ss_ScanTupleSlot;
	const AskedColumn *asked = scan->columns;
	double		number;

	CHECK_FOR_INTERRUPTS();
	if (unlikely(!scan->evaluated || scan->row >= asked->n_rows || TTS_EMPTY(slot) || asked->result.nulls != NULL))
		return next_row(&scan->css.ss);
	number = ((const double *) asked->result.values)[scan->row++];
	slot->tts_values[0] = Float8GetDatum(number);
	slot->tts_isnull[0] = isnan(number);
	return slot;
}

/*
 * Not by ExecScan: in the recheck of a row that another session has changed,
 * older minor releases take a scan that is of no table for a join whose row is
 * known already, also below a subquery.  (A row that is rechecked itself needs
 * the whole row: see needs_whole_row.)
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
		slot = next_row(&node->ss);
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
	MemoryContextDelete(((StepScanState *) node)->memory);
}

static void
rescan_step_scan(CustomScanState *node)
{
	StepScanState *scan = (StepScanState *) node;

	ExecScanReScan(&node->ss);
	scan->row = 0;
	if (node->ss.ps.chgParam != NULL)
		scan->evaluated = false;
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
	if (es->analyze && ((StepScanState *) node)->n_repeated > 0)
		ExplainPropertyInteger("Groups Asked Again", NULL, ((StepScanState *) node)->n_repeated, es);
}

void
install_step_scan(void)
{
	DefineCustomBoolVariable("stepadv.enable_step_scan",
							 "Enables the planner's use of scans that read the columns of stepadv's functions in place.",
							 NULL, &enable_step_scan, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	RegisterCustomScanMethods(&scan_methods);
	previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = offer_step_scan;
}

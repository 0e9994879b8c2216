/*
 * explain.c
 *		What EXPLAIN says of a GroupFold.
 */
#include "postgres.h"

#include "utils/ruleutils.h"

#include "compat.h"
#include EXPLAIN_PROPERTIES_HEADER
#include "plan/fold/methods.h"
#include "plan/fold/state.h"

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

/* In text a line for each process that took part. */
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
 * Keys are named as below, as for an Agg: a subquery that they come from may be
 * gone from the plan.
 */
void
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

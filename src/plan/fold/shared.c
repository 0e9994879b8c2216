/*
 * shared.c
 *		What a GroupFold needs where several processes share the rows: called only then.
 */
#include "postgres.h"

#include "plan/fold/methods.h"
#include "plan/fold/scattered.h"

Size
estimate_exchange(CustomScanState *node, ParallelContext *context)
{
	const GroupFoldState *fold = (GroupFoldState *) node;
	int			n_processes = context->nworkers + 1;

	return exchange_size(n_processes, fold->expected_groups, expected_bytes(fold) * n_processes);
}

void
begin_exchange(CustomScanState *node, ParallelContext *context, void *shared)
{
	GroupFoldState *fold = (GroupFoldState *) node;
	int			n_processes = context->nworkers + 1;
	MemoryContext old;

	/* Memory that is not shared: there will be no workers. */
	if (context->seg == NULL)
		return;
	old = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);
	fold->exchange = create_exchange(shared, n_processes, fold->expected_groups, expected_bytes(fold) * n_processes, context->seg);
	MemoryContextSwitchTo(old);
}

void
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

void
begin_exchange_in_worker(CustomScanState *node, shm_toc *toc, void *shared)
{
	GroupFoldState *fold = (GroupFoldState *) node;
	MemoryContext old = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);

	fold->exchange = find_exchange(shared);
	MemoryContextSwitchTo(old);
}

/* The shared memory is about to go: what EXPLAIN wants to know of it is kept. */
void
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

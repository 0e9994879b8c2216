/*
 * elimination.c
 *		Eliminates the unknowns of a component, as long as it stays sparse.
 *
 * Unknowns are eliminated one by one, always one with the least product of numbers of edges in and out: its equation
 * is substituted into those that have it as a target.  The diagonal is not stored but always computed as the sum of
 * an unknown's leak and weights, none of which is negative.  So nothing is subtracted, and no digits are lost however
 * rarely rollouts leave the component (Grassmann, Taksar, Heyman 1985).
 *
 * Rows of long rollouts have few edges and stay sparse.  But a component may be practically random, and then the
 * remaining rows fill up: elimination ends when they have more than twice the original entries plus MAX_ENTRIES, or
 * took MAX_WORK.  A component of up to 1000 unknowns is always eliminated.  If sweeps solve the rest quickly,
 * elimination is done `sparsely`: only as long as the rows do not fill up at all.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "estimators/values/elimination.h"

/* The number of entries that 1024 unknowns can have. */
#define MAX_ENTRIES		(1024 * 1024)
#define MAX_WORK		UINT64CONST(2000000000)
/* Maximum work per original edge, if sweeps solve the rest quickly. */
#define SPARSE_WORK		UINT64CONST(16)
/* So many unknowns are solved faster as a matrix if at least one of DENSE_SHARE entries is not 0. */
#define LEAST_DENSE		16
#define MOST_DENSE		256
#define DENSE_SHARE		8

static uint32
bucket_of(const ComponentSolver *solver, int32 node)
{
	uint64		product = (uint64) solver->row[node].length * solver->n_sources[node];

	return (uint32) Min(product, solver->n_buckets - 1);
}

static void
enqueue(ComponentSolver *solver, int32 node)
{
	uint32		which = bucket_of(solver, node);

	solver->next[node] = solver->bucket[which];
	solver->previous[node] = NO_NODE - 1 - (int32) which;
	if (solver->next[node] != NO_NODE)
		solver->previous[solver->next[node]] = node;
	solver->bucket[which] = node;
	solver->lowest = Min(solver->lowest, which);
}

/* previous of the first node in a bucket encodes the bucket as a negative number. */
static void
dequeue(ComponentSolver *solver, int32 node)
{
	int32		previous = solver->previous[node];

	if (solver->next[node] != NO_NODE)
		solver->previous[solver->next[node]] = previous;
	if (previous < 0)
		solver->bucket[NO_NODE - 1 - previous] = solver->next[node];
	else
		solver->next[previous] = solver->next[node];
}

static int32
least_node(ComponentSolver *solver)
{
	while (solver->bucket[solver->lowest] == NO_NODE)
		solver->lowest++;
	return solver->bucket[solver->lowest];
}

static double
diagonal(const ComponentSolver *solver, int32 node)
{
	const Entry *row = ROW(solver, node);
	double		sum = solver->leak[node];

	for (uint32 e = 0; e < solver->row[node].length; e++)
		sum += row[e].weight;
	return sum;
}

/* Substitute the equation of node, whose diagonal is given, into that of one of its sources. */
static void
substitute(ComponentSolver *solver, int32 source, int32 node, double node_diagonal)
{
	GrowingList *list = &solver->row[source];
	Entry	   *row = ROW(solver, source);
	uint32	   *place = solver->place;
	uint32		at;
	double		share;

	for (uint32 e = 0; e < list->length; e++)
		place[row[e].node] = e + 1;
	at = place[node] - 1;
	share = row[at].weight / node_diagonal;
	row[at] = row[--list->length];
	place[row[at].node] = at + 1;
	place[node] = 0;

	solver->leak[source] += share * solver->leak[node];
	solver->constant[source] += share * solver->constant[node];
	for (uint32 e = 0; e < solver->row[node].length; e++)
	{
		Entry		entry = ROW(solver, node)[e];

		if (entry.node == source)
			continue;
		if (place[entry.node] != 0)
			ROW(solver, source)[place[entry.node] - 1].weight += share * entry.weight;
		else
		{
			*(Entry *) extend_list(&solver->entries, list) = (Entry) {share * entry.weight, entry.node};
			*(int32 *) extend_list(&solver->sources, &solver->column[entry.node]) = source;
			solver->n_sources[entry.node]++;
			place[entry.node] = list->length;
		}
	}
	row = ROW(solver, source);
	for (uint32 e = 0; e < list->length; e++)
		place[row[e].node] = 0;
	solver->work += list->length + solver->row[node].length;
}

static void
eliminate_node(ComponentSolver *solver, int32 node)
{
	double		node_diagonal = diagonal(solver, node);
	Size		before = solver->row[node].length;
	Size		after = 0;

	dequeue(solver, node);
	solver->gone[node] = true;
	solver->order[solver->n_gone++] = node;
	for (uint32 s = 0; s < solver->column[node].length; s++)
	{
		int32		source = COLUMN(solver, node)[s];

		if (solver->gone[source])
			continue;
		dequeue(solver, source);
		before += solver->row[source].length;
		substitute(solver, source, node, node_diagonal);
		after += solver->row[source].length;
		enqueue(solver, source);
		CHECK_FOR_INTERRUPTS();
	}
	solver->n_entries = solver->n_entries + after - before;
	for (uint32 e = 0; e < solver->row[node].length; e++)
	{
		int32		target = ROW(solver, node)[e].node;

		dequeue(solver, target);
		solver->n_sources[target]--;
		enqueue(solver, target);
	}
}

bool
rest_is_dense(const ComponentSolver *solver)
{
	Size		n = solver->n - solver->n_gone;

	return n >= LEAST_DENSE && n <= MOST_DENSE && solver->n_entries * DENSE_SHARE >= n * n;
}

void
eliminate(ComponentSolver *solver, bool sparsely)
{
	Size		most = sparsely ? solver->n_entries : 2 * solver->n_entries + MAX_ENTRIES;
	uint64		most_work = sparsely ? SPARSE_WORK * solver->n_entries : MAX_WORK;

	solver->n_buckets = count_buckets(solver->n);
	solver->lowest = 0;
	for (uint32 b = 0; b < solver->n_buckets; b++)
		solver->bucket[b] = NO_NODE;
	for (uint32 i = solver->n; i-- > 0;)
		enqueue(solver, (int32) i);
	while (solver->n_gone < solver->n && solver->n_entries <= most && solver->work <= most_work && !rest_is_dense(solver))
		eliminate_node(solver, least_node(solver));
}

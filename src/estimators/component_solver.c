/*
 * component_solver.c
 *		Elimination as far as it stays sparse, iteration for what is left.
 *
 * Unknowns are eliminated one by one, next always one with the least product of
 * edges in and out: its equation is put into those that it is a target of.  What
 * stands on the diagonal is never stored but always the sum of an unknown's leak
 * and weights, of which none is negative, so nothing is subtracted and digits are
 * not lost however rarely the rollouts leave the component (Grassmann, Taksar,
 * Heyman 1985).
 *
 * Rows of long rollouts have few edges and stay so.  But a component may as well be
 * as good as random, and then the rows of what is left fill: elimination ends when
 * they hold MAX_ENTRIES more than twice what there was, or took MAX_WORK, and what is
 * left is iterated.  A component of up to 1000 unknowns is always eliminated.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/component_solver.h"
#include "estimators/iterate.h"

/* As many as 1024 unknowns can have. */
#define MAX_ENTRIES		(1024 * 1024)
#define MAX_WORK		UINT64CONST(2000000000)

#define NOBODY			(-1)

/* What a row leads to, or what leads to it (whose weights stand in its own row). */
typedef struct Entry
{
	double		weight;
	int32		node;
} Entry;

/* Lists that grow, in one array that does. */
typedef struct List
{
	Size		start;
	uint32		length;
	uint32		room;
} List;

typedef struct Pool
{
	Size		used;
	Size		size;
	Size		width;			/* of an item */
	char	   *items;
} Pool;

/* Numbers within the component are called nodes. */
struct ComponentSolver
{
	int32	   *node_of;		/* by unknown; NOBODY outside the component */

	/* by node, room for n_room of them */
	uint32		n_room;
	uint32		n;
	List	   *row;			/* of Entry: the edges from it */
	List	   *column;			/* of int32: whose edges lead to it, and some that are gone */
	double	   *leak;
	double	   *constant;
	double	   *value;
	uint32	   *n_sources;		/* of those, the ones that are not gone */
	bool	   *gone;			/* eliminated */
	int32	   *order;			/* in which they were */
	uint32		n_gone;

	/* Nodes that are not gone by their product of edges, in doubly linked lists */
	uint32		n_buckets;
	int32	   *bucket;			/* first node of each */
	int32	   *next;
	int32	   *previous;
	uint32		lowest;			/* no node is in a lower one */

	uint32	   *place;			/* scratch: where in a row each node is, from 1 */
	Pool		entries;
	Pool		sources;
	Size		n_entries;		/* in rows of nodes that are not gone */
	uint64		work;
};

/* ----------
 * Lists
 * ----------
 */

#define ROW(solver, node)		((Entry *) (solver)->entries.items + (solver)->row[node].start)
#define COLUMN(solver, node)	((int32 *) (solver)->sources.items + (solver)->column[node].start)

static void
begin_list(Pool *pool, uint32 room, List *list)
{
	if (pool->used + room > pool->size)
	{
		pool->size = Max(2 * pool->size, pool->used + room);
		pool->items = repalloc_huge(pool->items, pool->size * pool->width);
	}
	*list = (List) {pool->used, 0, room};
	pool->used += room;
}

/* Room for one more: a list that is full moves to the end of its pool. */
static void *
extend_list(Pool *pool, List *list)
{
	if (list->length == list->room)
	{
		List		old = *list;

		begin_list(pool, Max(4, 2 * old.room), list);
		memcpy(pool->items + list->start * pool->width, pool->items + old.start * pool->width, old.length * pool->width);
		list->length = old.length;
	}
	return pool->items + (list->start + list->length++) * pool->width;
}

static Pool
make_pool(Size width)
{
	Pool		pool = {0, 256, width};

	pool.items = palloc(pool.size * width);
	return pool;
}

/* ----------
 * Setting up
 * ----------
 */

ComponentSolver *
make_component_solver(uint32 n_unknowns)
{
	ComponentSolver *solver = palloc0(sizeof(ComponentSolver));

	solver->node_of = ALLOCATE_ARRAY(int32, n_unknowns);
	for (uint32 i = 0; i < n_unknowns; i++)
		solver->node_of[i] = NOBODY;
	solver->entries = make_pool(sizeof(Entry));
	solver->sources = make_pool(sizeof(int32));
	return solver;
}

static void
free_nodes(ComponentSolver *solver)
{
	if (solver->n_room == 0)
		return;
	pfree(solver->row);
	pfree(solver->column);
	pfree(solver->leak);
	pfree(solver->constant);
	pfree(solver->value);
	pfree(solver->n_sources);
	pfree(solver->gone);
	pfree(solver->order);
	pfree(solver->bucket);
	pfree(solver->next);
	pfree(solver->previous);
	pfree(solver->place);
}

void
free_component_solver(ComponentSolver *solver)
{
	free_nodes(solver);
	pfree(solver->node_of);
	pfree(solver->entries.items);
	pfree(solver->sources.items);
	pfree(solver);
}

/* Products beyond that are not told apart. */
static uint32
count_buckets(uint32 n)
{
	return n + 64;
}

static void
make_room(ComponentSolver *solver, uint32 n)
{
	if (n <= solver->n_room)
		return;
	free_nodes(solver);
	solver->n_room = n = Max(n, 2 * solver->n_room);
	solver->row = ALLOCATE_ARRAY(List, n);
	solver->column = ALLOCATE_ARRAY(List, n);
	solver->leak = ALLOCATE_ARRAY(double, n);
	solver->constant = ALLOCATE_ARRAY(double, n);
	solver->value = ALLOCATE_ARRAY(double, n);
	solver->n_sources = ALLOCATE_ARRAY(uint32, n);
	solver->gone = ALLOCATE_ARRAY(bool, n);
	solver->order = ALLOCATE_ARRAY(int32, n);
	solver->bucket = ALLOCATE_ARRAY(int32, count_buckets(n));
	solver->next = ALLOCATE_ARRAY(int32, n);
	solver->previous = ALLOCATE_ARRAY(int32, n);
	solver->place = ALLOCATE_ZEROED_ARRAY(uint32, n);
}

/*
 * The rows of the component: targets outside it are known and become constants, edges of
 * a node to itself say nothing, and several to the same target are added up.
 */
static void
fill_rows(ComponentSolver *solver, const ValueEquations *equations, const int32 *member, const double *value)
{
	for (uint32 i = 0; i < solver->n; i++)
	{
		int32		unknown = member[i];
		uint32		end = equations->first[unknown + 1];
		Entry	   *row;

		solver->leak[i] = equations->leak[unknown];
		solver->constant[i] = equations->constant[unknown];
		solver->value[i] = 0;
		begin_list(&solver->entries, end - equations->first[unknown], &solver->row[i]);
		row = ROW(solver, i);
		for (uint32 e = equations->first[unknown]; e < end; e++)
		{
			int32		node = solver->node_of[equations->target[e]];
			double		weight = equations->weight[e];

			if (node == NOBODY)
			{
				solver->leak[i] += weight;
				solver->constant[i] += weight * value[equations->target[e]];
			}
			else if (node == (int32) i)
				continue;
			else if (solver->place[node] != 0)
				row[solver->place[node] - 1].weight += weight;
			else
			{
				row[solver->row[i].length++] = (Entry) {weight, node};
				solver->place[node] = solver->row[i].length;
				solver->n_sources[node]++;
			}
		}
		for (uint32 e = 0; e < solver->row[i].length; e++)
			solver->place[row[e].node] = 0;
		solver->n_entries += solver->row[i].length;
		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

static void
fill_columns(ComponentSolver *solver)
{
	for (uint32 i = 0; i < solver->n; i++)
		begin_list(&solver->sources, solver->n_sources[i], &solver->column[i]);
	for (uint32 i = 0; i < solver->n; i++)
	{
		const Entry *row = ROW(solver, i);

		for (uint32 e = 0; e < solver->row[i].length; e++)
			COLUMN(solver, row[e].node)[solver->column[row[e].node].length++] = (int32) i;
	}
	CHECK_FOR_INTERRUPTS();
}

/* ----------
 * Which node is next
 * ----------
 */

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
	solver->previous[node] = NOBODY - 1 - (int32) which;
	if (solver->next[node] != NOBODY)
		solver->previous[solver->next[node]] = node;
	solver->bucket[which] = node;
	solver->lowest = Min(solver->lowest, which);
}

/* The first of a bucket has the bucket for its previous, as a negative number. */
static void
dequeue(ComponentSolver *solver, int32 node)
{
	int32		previous = solver->previous[node];

	if (solver->next[node] != NOBODY)
		solver->previous[solver->next[node]] = previous;
	if (previous < 0)
		solver->bucket[NOBODY - 1 - previous] = solver->next[node];
	else
		solver->next[previous] = solver->next[node];
}

static int32
least_node(ComponentSolver *solver)
{
	while (solver->bucket[solver->lowest] == NOBODY)
		solver->lowest++;
	return solver->bucket[solver->lowest];
}

/* ----------
 * Elimination
 * ----------
 */

static double
diagonal(const ComponentSolver *solver, int32 node)
{
	const Entry *row = ROW(solver, node);
	double		sum = solver->leak[node];

	for (uint32 e = 0; e < solver->row[node].length; e++)
		sum += row[e].weight;
	return sum;
}

/* Put the equation of `node`, whose diagonal is known, into that of a source of it. */
static void
substitute(ComponentSolver *solver, int32 source, int32 node, double node_diagonal)
{
	List	   *list = &solver->row[source];
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

static void
eliminate(ComponentSolver *solver)
{
	Size		most = 2 * solver->n_entries + MAX_ENTRIES;

	solver->n_buckets = count_buckets(solver->n);
	solver->lowest = 0;
	for (uint32 b = 0; b < solver->n_buckets; b++)
		solver->bucket[b] = NOBODY;
	for (uint32 i = solver->n; i-- > 0;)
		enqueue(solver, (int32) i);
	while (solver->n_gone < solver->n && solver->n_entries <= most && solver->work <= MAX_WORK)
		eliminate_node(solver, least_node(solver));
}

/* ----------
 * Values
 * ----------
 */

static double
solve_row(const ComponentSolver *solver, int32 node)
{
	const Entry *row = ROW(solver, node);
	double		weight = solver->leak[node];
	double		sum = solver->constant[node];

	for (uint32 e = 0; e < solver->row[node].length; e++)
	{
		weight += row[e].weight;
		sum += row[e].weight * solver->value[row[e].node];
	}
	return sum / weight;
}

/* What is not gone, as equations of its own: node `left[i]` is their unknown i. */
static void
iterate_rest(ComponentSolver *solver)
{
	uint32		n = solver->n - solver->n_gone;
	int32	   *left = ALLOCATE_ARRAY(int32, n);
	double	   *value = ALLOCATE_ZEROED_ARRAY(double, n);
	ValueEquations rest = {0};
	uint32		end = 0;

	rest.first = ALLOCATE_ARRAY(uint32, (Size) n + 1);
	rest.target = ALLOCATE_ARRAY(int32, solver->n_entries);
	rest.weight = ALLOCATE_ARRAY(double, solver->n_entries);
	rest.leak = ALLOCATE_ARRAY(double, n);
	rest.constant = ALLOCATE_ARRAY(double, n);
	for (uint32 i = 0; i < solver->n; i++)
		if (!solver->gone[i])
		{
			left[rest.n] = (int32) i;
			solver->place[i] = rest.n++;
		}
	for (uint32 i = 0; i < n; i++)
	{
		const Entry *row = ROW(solver, left[i]);

		rest.first[i] = end;
		rest.leak[i] = solver->leak[left[i]];
		rest.constant[i] = solver->constant[left[i]];
		for (uint32 e = 0; e < solver->row[left[i]].length; e++)
		{
			rest.target[end] = (int32) solver->place[row[e].node];
			rest.weight[end++] = row[e].weight;
		}
	}
	rest.first[n] = end;
	iterate_value_equations(&rest, value);
	for (uint32 i = 0; i < n; i++)
	{
		solver->value[left[i]] = value[i];
		solver->place[left[i]] = 0;
	}
	pfree(left);
	pfree(value);
	pfree(rest.first);
	pfree(rest.target);
	pfree(rest.weight);
	pfree(rest.leak);
	pfree(rest.constant);
}

/* ----------
 * All of it
 * ----------
 */

void
solve_component(ComponentSolver *solver, const ValueEquations *equations, const int32 *member,
				uint32 n_members, double *value)
{
	make_room(solver, n_members);
	solver->n = n_members;
	solver->n_gone = 0;
	solver->n_entries = 0;
	solver->work = 0;
	solver->entries.used = 0;
	solver->sources.used = 0;
	memset(solver->gone, 0, n_members * sizeof(bool));
	memset(solver->n_sources, 0, n_members * sizeof(uint32));
	for (uint32 i = 0; i < n_members; i++)
		solver->node_of[member[i]] = (int32) i;

	fill_rows(solver, equations, member, value);
	fill_columns(solver);
	eliminate(solver);
	if (solver->n_gone < solver->n)
		iterate_rest(solver);
	for (uint32 k = solver->n_gone; k-- > 0;)
		solver->value[solver->order[k]] = solve_row(solver, solver->order[k]);

	for (uint32 i = 0; i < n_members; i++)
	{
		value[member[i]] = solver->value[i];
		solver->node_of[member[i]] = NOBODY;
	}
}

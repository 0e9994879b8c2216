/*
 * solve_equations.c
 *		Solves the strongly connected components of the equations, each after those that it leads to.
 *
 * Acyclic parts take one pass over their edges.  A component whose unknowns lead to one another is eliminated
 * as far as it stays sparse, and sweeps solve the rest.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "arrays.h"
#include "estimators/values/bordered.h"
#include "estimators/values/components.h"
#include "estimators/values/elimination.h"
#include "estimators/values/iterate.h"
#include "estimators/values/solve_equations.h"

/* Components of at most this size are always eliminated fully, and larger ones if an unknown has a smaller leak. */
#define MOST_ELIMINATED		64
#define LEAST_LEAK			0.005

/* ----------
 * Setting up
 * ----------
 */

static ComponentSolver *
make_component_solver(uint32 n_unknowns)
{
	ComponentSolver *solver = palloc0(sizeof(ComponentSolver));

	solver->node_of = ALLOCATE_ARRAY(int32, n_unknowns);
	for (uint32 i = 0; i < n_unknowns; i++)
		solver->node_of[i] = NO_NODE;
	solver->entries = make_list_pool(sizeof(Entry));
	solver->sources = make_list_pool(sizeof(int32));
	return solver;
}

/* Earlier arrays are freed with the memory context, at the end. */
static void
make_room(ComponentSolver *solver, uint32 n)
{
	if (n <= solver->n_room)
		return;
	solver->n_room = n = Max(n, 2 * solver->n_room);
	solver->row = ALLOCATE_ARRAY(GrowingList, n);
	solver->column = ALLOCATE_ARRAY(GrowingList, n);
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
 * The rows of the component.  Targets outside it are known and become constants, edges of a node to itself
 * have no effect, and edges to the same target are merged.
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

			/* A few rows may have most of the edges. */
			CHECK_ONCE_IN_A_WHILE(e);
			if (node == NO_NODE)
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
	{
		CHECK_ONCE_IN_A_WHILE(i);
		begin_list(&solver->sources, solver->n_sources[i], &solver->column[i]);
	}
	for (uint32 i = 0; i < solver->n; i++)
	{
		const Entry *row = ROW(solver, i);

		CHECK_FOR_INTERRUPTS();
		for (uint32 e = 0; e < solver->row[i].length; e++)
			COLUMN(solver, row[e].node)[solver->column[row[e].node].length++] = (int32) i;
	}
	CHECK_FOR_INTERRUPTS();
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

/* Solve the nodes that are not eliminated as equations of their own: node left[i] is unknown i. */
static void
solve_rest(ComponentSolver *solver)
{
	uint32		n = solver->n - solver->n_gone;
	int32	   *left = ALLOCATE_ARRAY(int32, n);
	double	   *value = ALLOCATE_ZEROED_ARRAY(double, n);
	ValueEquations rest;
	uint32		n_left = 0;
	uint32		end = 0;

	allocate_value_equations(n, solver->n_entries, &rest);
	for (uint32 i = 0; i < solver->n; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (!solver->gone[i])
		{
			left[n_left] = (int32) i;
			solver->place[i] = n_left++;
		}
	}
	for (uint32 i = 0; i < n; i++)
	{
		const Entry *row = ROW(solver, left[i]);

		/* Elimination may have left long rows. */
		CHECK_FOR_INTERRUPTS();
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
	if (rest_is_dense(solver))
		solve_bordered_equations(&rest, n, value);
	else
		iterate_value_equations(&rest, value);
	for (uint32 i = 0; i < n; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		solver->value[left[i]] = value[i];
		solver->place[left[i]] = 0;
	}
	pfree(left);
	pfree(value);
	free_value_equations(&rest);
}

/* Every unknown has a leak large enough that few sweeps converge, without loss of digits. */
static bool
sweeps_are_fast(const ComponentSolver *solver)
{
	if (solver->n <= MOST_ELIMINATED)
		return false;
	for (uint32 i = 0; i < solver->n; i++)
	{
		const Entry *row = ROW(solver, i);
		double		weight = solver->leak[i];

		CHECK_ONCE_IN_A_WHILE(i);
		for (uint32 e = 0; e < solver->row[i].length; e++)
			weight += row[e].weight;
		if (solver->leak[i] < LEAST_LEAK * weight)
			return false;
	}
	return true;
}

/* Set the members' entries of value.  Those of all other unknowns that they lead to must be set already. */
static void
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
	{
		CHECK_ONCE_IN_A_WHILE(i);
		solver->node_of[member[i]] = (int32) i;
	}

	fill_rows(solver, equations, member, value);
	fill_columns(solver);
	eliminate(solver, sweeps_are_fast(solver));
	if (solver->n_gone < solver->n)
		solve_rest(solver);
	for (uint32 k = solver->n_gone; k-- > 0;)
	{
		CHECK_ONCE_IN_A_WHILE(k);
		solver->value[solver->order[k]] = solve_row(solver, solver->order[k]);
	}

	for (uint32 i = 0; i < n_members; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		value[member[i]] = solver->value[i];
		solver->node_of[member[i]] = NO_NODE;
	}
}

/* ----------
 * All components
 * ----------
 */

void
solve_value_equations(const ValueEquations *equations, double *value)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext scratch = NULL;
	ComponentSolver *solver = NULL;
	Components	components;

	find_components(equations->n, equations->first, equations->target, &components);
	for (uint32 c = 0; c < components.n; c++)
	{
		const int32 *member = &components.member[components.first[c]];
		uint32		n_members = components.first[c + 1] - components.first[c];

		CHECK_FOR_INTERRUPTS();
		if (n_members == 1)
		{
			value[*member] = solve_alone(equations, *member, value);
			continue;
		}
		if (solver == NULL)
		{
			scratch = AllocSetContextCreate(caller, "stepadv equations", ALLOCSET_DEFAULT_SIZES);
			MemoryContextSwitchTo(scratch);
			solver = make_component_solver(equations->n);
		}
		solve_component(solver, equations, member, n_members, value);
	}
	MemoryContextSwitchTo(caller);
	if (scratch != NULL)
		MemoryContextDelete(scratch);
	free_components(&components);
}

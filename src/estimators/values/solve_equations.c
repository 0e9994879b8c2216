/*
 * solve_equations.c
 *		The strongly connected components of the equations, each after those that
 *		it leads to: what is acyclic takes one pass over its edges.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "estimators/values/component_solver.h"
#include "estimators/values/components.h"
#include "estimators/values/solve_equations.h"

/* One unknown that leads to nothing unknown but itself. */
static double
solve_alone(const ValueEquations *equations, int32 unknown, const double *value)
{
	double		weight = equations->leak[unknown];
	double		sum = equations->constant[unknown];

	for (uint32 e = equations->first[unknown]; e < equations->first[unknown + 1]; e++)
		if (equations->target[e] != unknown)
		{
			weight += equations->weight[e];
			sum += equations->weight[e] * value[equations->target[e]];
		}
	return sum / weight;
}

void
solve_value_equations(const ValueEquations *equations, double *value)
{
	Components	components;
	ComponentSolver *solver = NULL;

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
			solver = make_component_solver(equations->n);
		solve_component(solver, equations, member, n_members, value);
	}
	if (solver != NULL)
		free_component_solver(solver);
	free_components(&components);
}

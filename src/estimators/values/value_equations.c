#include "postgres.h"

#include "arrays.h"
#include "estimators/values/value_equations.h"

void
allocate_value_equations(uint32 n, Size n_edges, ValueEquations *equations)
{
	equations->n = n;
	equations->first = ALLOCATE_ARRAY(uint32, (Size) n + 1);
	equations->target = ALLOCATE_ARRAY(int32, n_edges);
	equations->weight = ALLOCATE_ARRAY(double, n_edges);
	equations->leak = ALLOCATE_ARRAY(double, n);
	equations->constant = ALLOCATE_ARRAY(double, n);
}

void
free_value_equations(ValueEquations *equations)
{
	pfree(equations->first);
	pfree(equations->target);
	pfree(equations->weight);
	pfree(equations->leak);
	pfree(equations->constant);
}

double
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

/*
 * value_equations.h
 *		Bellman's equations of a finite record.
 *
 * The equation of unknown i is
 *
 *		(leak_i + sum of weights) V_i = constant_i + sum of weight_e V_target(e)
 *
 * over its edges e, first[i] up to first[i + 1], exclusive.  Weights are positive.  The leak, at least 0, is the
 * weight that leads to no unknown: ends of rollouts, discount, prior.  Every unknown leads, over some edges, to one
 * with a leak, so there is exactly one solution, between the least and the greatest constant / leak.
 */
#ifndef STEPADV_VALUE_EQUATIONS_H
#define STEPADV_VALUE_EQUATIONS_H

typedef struct ValueEquations
{
	uint32		n;
	uint32	   *first;
	int32	   *target;
	double	   *weight;
	double	   *leak;
	double	   *constant;
} ValueEquations;

/* Allocate room for n unknowns and n_edges edges, which the caller fills. */
extern void allocate_value_equations(uint32 n, Size n_edges, ValueEquations *equations);
extern void free_value_equations(ValueEquations *equations);

/* The value of an unknown all of whose targets but itself are solved. */
extern double solve_alone(const ValueEquations *equations, int32 unknown, const double *value);

#endif							/* STEPADV_VALUE_EQUATIONS_H */

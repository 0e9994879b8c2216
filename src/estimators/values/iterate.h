/*
 * iterate.h
 *		Solves value equations that are too many and too dense to eliminate.
 */
#ifndef STEPADV_ITERATE_H
#define STEPADV_ITERATE_H

#include "estimators/values/value_equations.h"

/* Like solve_value_equations, for equations without edges from an unknown to itself. value has the initial values. */
extern void iterate_value_equations(const ValueEquations *equations, double *value);

#endif							/* STEPADV_ITERATE_H */

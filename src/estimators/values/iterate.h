/*
 * iterate.h
 *		Value equations too many and too dense to eliminate.
 */
#ifndef STEPADV_ITERATE_H
#define STEPADV_ITERATE_H

#include "estimators/values/value_equations.h"

/* As solve_value_equations, of equations of which none leads to itself; `value` is where to begin. */
extern void iterate_value_equations(const ValueEquations *equations, double *value);

#endif							/* STEPADV_ITERATE_H */

#ifndef STEPADV_SOLVE_EQUATIONS_H
#define STEPADV_SOLVE_EQUATIONS_H

#include "estimators/values/value_equations.h"

/* Set value[i] to the solution for unknown i. */
extern void solve_value_equations(const ValueEquations *equations, double *value);

#endif							/* STEPADV_SOLVE_EQUATIONS_H */

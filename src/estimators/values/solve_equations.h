#ifndef STEPADV_SOLVE_EQUATIONS_H
#define STEPADV_SOLVE_EQUATIONS_H

#include "estimators/values/value_equations.h"

/* value[i], by unknown. */
extern void solve_value_equations(const ValueEquations *equations, double *value);

#endif							/* STEPADV_SOLVE_EQUATIONS_H */

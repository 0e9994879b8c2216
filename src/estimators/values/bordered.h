#ifndef STEPADV_BORDERED_H
#define STEPADV_BORDERED_H

#include "estimators/values/value_equations.h"

/* Are the last n_border unknowns few enough for solve_bordered_equations to be faster? */
extern bool border_is_narrow(const ValueEquations *equations, uint32 n_border);

/* Like solve_value_equations.  The last n_border unknowns are the border. */
extern void solve_bordered_equations(const ValueEquations *equations, uint32 n_border, double *value);

#endif							/* STEPADV_BORDERED_H */

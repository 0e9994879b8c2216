/*
 * component_solver.h
 *		The values of unknowns each of which leads to all the others.
 */
#ifndef STEPADV_COMPONENT_SOLVER_H
#define STEPADV_COMPONENT_SOLVER_H

#include "estimators/values/value_equations.h"

typedef struct ComponentSolver ComponentSolver;

/* For components of equations with so many unknowns in all. */
extern ComponentSolver *make_component_solver(uint32 n_unknowns);
extern void free_component_solver(ComponentSolver *solver);

/* Fills the members' entries of `value`; those of all other unknowns that they lead to are there. */
extern void solve_component(ComponentSolver *solver, const ValueEquations *equations, const int32 *member,
							uint32 n_members, double *value);

#endif							/* STEPADV_COMPONENT_SOLVER_H */

/*
 * fit_state.h
 *		The state that the aggregates over sums by rollout share, a value of type
 *		bytea (state_value.h), and with it their combine function.
 */
#ifndef STEPADV_FIT_STATE_H
#define STEPADV_FIT_STATE_H

#include "fmgr.h"

#include "compat.h"
#include "progress/rollout_sums.h"

typedef struct FitState
{
	MemoryContext context;
	RolloutSums *sums;			/* NULL: no row yet */
	Size		parameters_size;
	char	   *parameters;		/* of the aggregate, the same in all rows */
} FitState;

/*
 * The state that a transition or combine function was given, or a new one; returned by state_datum.  Parameters are
 * compared byte by byte: fill padding with zeros.
 */
extern FitState *fit_state_of_row(FunctionCallInfo fcinfo, const void *parameters, Size parameters_size);

/*
 * Of a final function, with at least so many bytes of parameters (0: none); NULL: no rows.
 * Anybody may have made it of bytes: what is in the parameters is not believed.
 */
extern FitState *fit_state_of_rows(FunctionCallInfo fcinfo, Size least_parameters);

/* The bytes that it was made of are no state of such an aggregate. */
pg_noreturn extern void refuse_fit_state(void);

#endif							/* STEPADV_FIT_STATE_H */

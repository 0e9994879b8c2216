/*
 * logprobs.h
 *		Differences of log-probabilities, token by token.
 *
 * What the ratios and divergences of two policies have in common: the arrays
 * logp_new, logp_old and an optional mask, checked and read in blocks.
 */
#ifndef STEPADV_LOGPROBS_H
#define STEPADV_LOGPROBS_H

#include "fmgr.h"

#define LOG_RATIO_BLOCK 256

/* An array of log-probabilities; one of real and number is set. */
typedef struct LogProbs
{
	const char *name;
	int			n;
	const float *real;
	const double *number;
	const bool *nulls;			/* NULL: none */
} LogProbs;

static inline double
log_prob(const LogProbs *logp, int token)
{
	return logp->real ? logp->real[token] : logp->number[token];
}

typedef struct LogRatios
{
	LogProbs	new_policy;
	LogProbs	old_policy;
	const bool *mask;			/* NULL: every token counts */
	int			next;			/* token to go on with */
	int64		n_tokens;		/* in the blocks so far */
	bool		forgiving;		/* instead of an error, the result is */
	bool		refused;

	/* The present block: logp_new - logp_old of tokens where mask is true. */
	int			n;
	double		log_ratio[LOG_RATIO_BLOCK];
	double		sum;			/* of them */
} LogRatios;

/*
 * Open arguments 0 to 2: logp_new, logp_old, mask.  False: an array is NULL, or,
 * where that is to be no error, they do not match.  The mask may be NULL.
 */
extern bool log_ratios_open(FunctionCallInfo fcinfo, bool forgiving, LogRatios *ratios);

/* The next block, maybe an empty one; false after the last, and where it is refused. */
extern bool log_ratios_next(LogRatios *ratios);

#endif							/* STEPADV_LOGPROBS_H */

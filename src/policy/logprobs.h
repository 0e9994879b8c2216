/*
 * logprobs.h
 *		Differences of log-probabilities, token by token.
 *
 * Shared by the ratios and divergences of two policies: checks the arrays logp_new,
 * logp_old and an optional mask, and reads them in blocks.
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
	int			next;			/* first token of the next block */
	int64		n_tokens;		/* counted in the blocks so far */
	bool		lenient;		/* instead of an error, set refused */
	bool		refused;

	/* The current block: logp_new - logp_old of tokens where mask is true. */
	int			n;
	double		log_ratio[LOG_RATIO_BLOCK];
	double		sum;			/* of them */
} LogRatios;

/*
 * Open arguments 0 to 2: logp_new, logp_old, mask.  The mask may be NULL.  Returns
 * false if another array is NULL, or, with lenient, if the arrays do not match.
 */
extern bool log_ratios_open(FunctionCallInfo fcinfo, bool lenient, LogRatios *ratios);

/* Read the next block, which may be empty; false after the last, or if refused. */
extern bool log_ratios_next(LogRatios *ratios);

#endif							/* STEPADV_LOGPROBS_H */

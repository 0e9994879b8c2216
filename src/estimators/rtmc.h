/*
 * rtmc.h
 *		The rollout tree's table of Q and V.
 */
#ifndef STEPADV_RTMC_H
#define STEPADV_RTMC_H

#include "estimators/identity.h"
#include "group/facts.h"
#include "parameters.h"

/* Shared by rtmc, rtmc_tree and rtmc_tree_dot, in this order. */
#define RTMC_PARAMETERS \
	GAMMA_PARAMETER, \
	NUMBER_PARAMETER("prior", 0, INFINITY), \
	NULLABLE_NUMBER_PARAMETER("baseline", -INFINITY, INFINITY), \
	FLAG_PARAMETER("normalise"), \
	VISIT_PARAMETER, \
	SUCCESS_ABOVE_PARAMETER, \
	NEWER_CHOICE_PARAMETER("prior_mean", "success_rate", "start_value")

enum
{
	RTMC_GAMMA, RTMC_PRIOR, RTMC_BASELINE, RTMC_NORMALISE, RTMC_VISIT, RTMC_SUCCESS_ABOVE, RTMC_PRIOR_MEAN,
	N_RTMC_PARAMETERS
};

/* The second choice of prior_mean. */
#define PRIOR_MEAN_START_VALUE 1

typedef struct RtmcTable
{
	double	   *returns;		/* G_t by step */
	Identities	states;
	Identities	pairs;
	uint32	   *pair_visits;	/* N(s,a) */
	double	   *pair_q;			/* Q(s,a) */
	double	   *pair_stderr;	/* of Q; NaN below two visits */
	uint32	   *state_visits;	/* N(s) */
	double	   *state_v;		/* V'(s) */
	double	   *pair_advantage; /* Q - V', divided by their sd if asked for */
} RtmcTable;

extern void rtmc_table_build(const GroupColumns *group, const RolloutFacts *facts,
							 const ParameterValue *parameters, RtmcTable *table);

#endif							/* STEPADV_RTMC_H */

/*
 * graphgpo.h
 *		Step rewards and advantages of GraphGPO, for graphgpo and graph_edges.
 */
#ifndef STEPADV_GRAPHGPO_H
#define STEPADV_GRAPHGPO_H

#include "estimators/graph.h"
#include "estimators/normalise.h"
#include "parameters.h"

/* In the order of CONVENTION_PARAMETER's choices. */
typedef enum Convention
{
	CONVENTION_PAPER,
	CONVENTION_RECIPE,
	CONVENTION_PROGRESS
} Convention;

typedef struct StepRewardOptions
{
	double		discount;
	double		success_reward;
	Convention	convention;
} StepRewardOptions;

#define DISCOUNT_PARAMETER NUMBER_PARAMETER("discount", 0, 1)
#define SUCCESS_REWARD_PARAMETER NUMBER_PARAMETER("success_reward", -INFINITY, INFINITY)
#define CONVENTION_PARAMETER CHOICE_PARAMETER("convention", "paper", "recipe", "progress")

/* What epsilon is multiplied by, in the order of EPSILON_SCALE_PARAMETER's choices. */
typedef enum EpsilonScale
{
	EPSILON_ABSOLUTE,
	EPSILON_SCALE_GROUP,			/* the sd of the group's step rewards */
	EPSILON_SCALE_STATE			/* the largest step reward from the same state */
} EpsilonScale;

typedef struct GraphAdvantageOptions
{
	Normalisation normalisation;
	double		epsilon;
	EpsilonScale	epsilon_scale;
} GraphAdvantageOptions;

#define EPSILON_SCALE_PARAMETER CHOICE_PARAMETER("epsilon_scale", "none", "group", "state")

/* By step of judged rollouts.  False, for a lenient group: a reward is out of range. */
extern bool graph_step_rewards(const GroupColumns *group, const StateGraph *graph,
							   const StepRewardOptions *options, double *step_reward);
extern void graph_advantages(const GroupColumns *group, const StateGraph *graph,
							 const GraphAdvantageOptions *options, const double *step_reward, double *advantage);

static inline void
fill_unknown(double *x, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
		x[i] = NAN;
}

#endif							/* STEPADV_GRAPHGPO_H */

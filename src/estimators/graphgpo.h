/*
 * graphgpo.h
 *		What GraphGPO makes of the state graph, for graphgpo and graph_edges.
 */
#ifndef STEPADV_GRAPHGPO_H
#define STEPADV_GRAPHGPO_H

#include "estimators/graph.h"
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

/* By step of judged rollouts; false, in a group that is forgiving: one is out of range. */
extern bool graph_step_rewards(const GroupColumns *group, const StateGraph *graph,
							   const StepRewardOptions *options, double *step_reward);

static inline void
fill_unknown(double *x, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
		x[i] = NAN;
}

extern void graph_advantages(const GroupColumns *group, const StateGraph *graph, double epsilon,
							 const double *step_reward, double *advantage);

#endif							/* STEPADV_GRAPHGPO_H */

#ifndef STEPADV_SUMMARY_H
#define STEPADV_SUMMARY_H

#include "group/facts.h"

typedef struct GroupSummary
{
	int32		n_rollouts;
	int32		n_judged;
	int32		n_successes;	/* over judged rollouts, as the fields below */
	int32		n_steps;
	int32		n_judged_steps;
	int32		n_shared_steps;
	double		mean_return;
	double		sd_return;
	double		success_rate;
	bool		uniform;		/* meaningless without a judged rollout */
	int32		n_states;
	int32		n_shared_states;
	double		shared_step_share;
	double		all_shared_step_share;	/* over all rollouts */
	bool		no_shared_state;	/* likewise */
} GroupSummary;

/* summary: initially zeros. */
extern void summarise_group(const GroupColumns *group, const RolloutFacts *facts, double success_above, GroupSummary *summary);

#endif							/* STEPADV_SUMMARY_H */

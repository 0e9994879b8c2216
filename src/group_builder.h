/*
 * group_builder.h
 *		Folding rows, in whatever order they come, into a rollout_group.
 */
#ifndef STEPADV_GROUP_BUILDER_H
#define STEPADV_GROUP_BUILDER_H

#include "group.h"

/* One row of input. */
typedef struct StepRow
{
	int64		rollout_id;
	int64		step_id;
	int64		state;
	int64		action;
	double		reward;			/* NaN: none */
	int32		step_no;
	uint8		nulls;			/* NULL_… */
	uint8		success;		/* Success */
	bool		is_rollout;		/* stands for the rollout, is no step */
	bool		is_wide;		/* has the following, else they are not set */
	int64		next_state;
	double		value;
	double		turn_reward;
	double		cost;
} StepRow;

typedef struct GroupBuilder GroupBuilder;

/* Building: everything lives in `context`, which is the caller's to free. */
extern GroupBuilder *group_builder_create(MemoryContext context);
extern void group_builder_add(GroupBuilder *builder, const StepRow *row);
extern void group_builder_add_builder(GroupBuilder *builder, const GroupBuilder *other);
extern void group_builder_add_group(GroupBuilder *builder, const Group *group);

/* The finished value, in the current context; leaves the builder as it was. */
extern RolloutGroup *group_builder_finish(const GroupBuilder *builder);

#endif							/* STEPADV_GROUP_BUILDER_H */

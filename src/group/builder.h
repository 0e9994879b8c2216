/*
 * builder.h
 *		Folds rows, in any order, into a rollout_group.
 */
#ifndef STEPADV_GROUP_BUILDER_H
#define STEPADV_GROUP_BUILDER_H

#include "group/group.h"
#include "group/row_memory.h"

typedef struct GroupBuilder GroupBuilder;

/* Create a builder.  All its memory is in context, which the caller frees. */
extern GroupBuilder *group_builder_create(MemoryContext context);

/* The same for one of many builders, whose rows may alternate. */
extern GroupBuilder *group_builder_create_among(RowMemory *memory);

/* Called when rows of another group follow: releases room reserved for rows that did not arrive. */
extern void group_builder_pause(GroupBuilder *builder);

/* Make the builder lenient: bad rows become defects of their rollout.  See read_step_row. */
extern void group_builder_set_lenient(GroupBuilder *builder);

extern void group_builder_add(GroupBuilder *builder, const StepRow *row);
extern void group_builder_add_builder(GroupBuilder *builder, const GroupBuilder *other);
extern void group_builder_add_group(GroupBuilder *builder, const RolloutGroup *value);
extern void group_builder_add_columns(GroupBuilder *builder, const GroupColumns *group);

/* Rebuild the value of a group whose columns were changed: unused columns are dropped. */
extern RolloutGroup *group_rebuilt(const GroupColumns *group);

/*
 * Add single rollouts of an open group, under an id that may differ.  First take over the properties of the
 * group as a whole.
 */
extern void group_builder_take_shape(GroupBuilder *builder, const GroupColumns *group);
extern void group_builder_add_rollout(GroupBuilder *builder, const GroupColumns *group, uint32 rollout,
									  int64 rollout_id);

extern bool group_builder_is_empty(const GroupBuilder *builder);

/* Prefetch the rows of a builder that will be finished soon. */
extern void group_builder_fetch_ahead(const GroupBuilder *builder);

/* The finished value, in the current memory context.  The builder does not change. */
extern RolloutGroup *group_builder_finish(const GroupBuilder *builder);

#endif							/* STEPADV_GROUP_BUILDER_H */

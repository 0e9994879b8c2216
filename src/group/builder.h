/*
 * builder.h
 *		Folding rows, in any order, into a rollout_group.
 */
#ifndef STEPADV_GROUP_BUILDER_H
#define STEPADV_GROUP_BUILDER_H

#include "group/group.h"
#include "group/row_memory.h"

typedef struct GroupBuilder GroupBuilder;

/* Building: everything lives in `context`, which is the caller's to free. */
extern GroupBuilder *group_builder_create(MemoryContext context);

/* The same of one of many, which may take turns. */
extern GroupBuilder *group_builder_create_among(RowMemory *memory);

/* It is another's turn: room that was taken for rows that did not come is left to that one. */
extern void group_builder_pause(GroupBuilder *builder);

/* What it is given wrong becomes a defect of the rollout: see read_step_row. */
extern void group_builder_forgive(GroupBuilder *builder);

extern void group_builder_add(GroupBuilder *builder, const StepRow *row);
extern void group_builder_add_builder(GroupBuilder *builder, const GroupBuilder *other);
extern void group_builder_add_group(GroupBuilder *builder, const RolloutGroup *value);
extern void group_builder_add_columns(GroupBuilder *builder, const GroupColumns *group);

/* The value of the rows of one whose columns were changed: without columns that are not read. */
extern RolloutGroup *group_rebuilt(const GroupColumns *group);

/*
 * Single rollouts of an open group, under an id that may differ; the properties of the
 * group as a whole is taken over first.
 */
extern void group_builder_take_shape(GroupBuilder *builder, const GroupColumns *group);
extern void group_builder_add_rollout(GroupBuilder *builder, const GroupColumns *group, uint32 rollout,
									  int64 rollout_id);

extern bool group_builder_is_empty(const GroupBuilder *builder);

/* It will be finished soon: its rows are fetched into a processor's cache. */
extern void group_builder_fetch_ahead(const GroupBuilder *builder);

/* The finished value, in the current context; leaves the builder as it was. */
extern RolloutGroup *group_builder_finish(const GroupBuilder *builder);

#endif							/* STEPADV_GROUP_BUILDER_H */

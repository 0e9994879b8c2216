/*
 * repeated_rows.h
 *		Repeated rows, of what may occur once: steps, and of a rollout its outcome
 *		and its policy_step.
 */
#ifndef STEPADV_GROUP_REPEATED_ROWS_H
#define STEPADV_GROUP_REPEATED_ROWS_H

#include "group/ordered_rows.h"

/*
 * Rows that a forgiving value holds against their rollout: of one step but the
 * first, further outcomes, and another policy_step than the row before it had that had one.
 */
typedef struct Repeated
{
	uint64		n_steps;
	uint64		n_outcomes;
	uint64		n_policy_steps;
} Repeated;

/* Counts them, of a value that is not forgiving none.  `rows` stay where they are. */
extern void find_repeated(const GroupBuilder *builder, const OrderedRows *rows, Repeated *repeated);

/* In a value that is not forgiving they are an error. */
extern void refuse_duplicate(const StepRow *row);
extern void refuse_policy_steps(const StepRow *row, int64 other);

/* Is `row` to replace the row of its step that was put there?  `known`: the NULL_… bits that the value has. */
extern bool takes_place(const GroupColumns *group, uint32 step, const StepRow *row, uint8 known);

#endif							/* STEPADV_GROUP_REPEATED_ROWS_H */

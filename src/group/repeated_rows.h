/*
 * repeated_rows.h
 *		Repeated rows where only one is allowed: a step, or a rollout's outcome or policy_step.
 */
#ifndef STEPADV_GROUP_REPEATED_ROWS_H
#define STEPADV_GROUP_REPEATED_ROWS_H

#include "group/ordered_rows.h"

/*
 * Rows that a lenient value counts as defects of their rollout: further rows of a step, further outcomes, and
 * policy steps that differ from the previous one given.
 */
typedef struct Repeated
{
	uint64		n_steps;
	uint64		n_outcomes;
	uint64		n_policy_steps;
} Repeated;

/* Count them; none if the builder is not lenient.  Does not advance rows. */
extern void find_repeated(const GroupBuilder *builder, const OrderedRows *rows, Repeated *repeated);

/* The errors for values that are not lenient. */
extern void refuse_duplicate(const StepRow *row);
extern void refuse_policy_steps(const StepRow *row, int64 other);

/* Should row replace the row that was stored for its step? known: the NULL_… bits that the value has. */
extern bool takes_place(const GroupColumns *group, uint32 step, const StepRow *row, uint8 known);

#endif							/* STEPADV_GROUP_REPEATED_ROWS_H */

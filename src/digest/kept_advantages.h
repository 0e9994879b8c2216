/*
 * kept_advantages.h
 *		The advantages of all methods for the steps of one group, as one value: what
 *		kept_advantages gives, for those who read them beside the group in the same query.
 *		Not to be kept.
 */
#ifndef STEPADV_KEPT_ADVANTAGES_H
#define STEPADV_KEPT_ADVANTAGES_H

#include "postgres.h"

typedef struct KeptAdvantages
{
	int32		vl_len_;		/* varlena header */
	int32		n_methods;
	int64		n_steps;
	double		advantages[FLEXIBLE_ARRAY_MEMBER];	/* of the first method by step, then of the next; NULLs are 0, and bytes after all of these say so */
} KeptAdvantages;

static inline uint8 *
missing_advantages(const KeptAdvantages *kept)
{
	return (uint8 *) (kept->advantages + (Size) kept->n_methods * kept->n_steps);
}

/* Whether a value that anybody may have given is as long as it says. */
static inline bool
are_kept_advantages(const KeptAdvantages *kept)
{
	Size		size = VARSIZE(kept);
	Size		room = size < offsetof(KeptAdvantages, advantages) ? 0 : (size - offsetof(KeptAdvantages, advantages)) / (sizeof(double) + 1);

	return size >= offsetof(KeptAdvantages, advantages) && kept->n_methods >= 0 && kept->n_steps >= 0 &&
		(kept->n_methods == 0 || (Size) kept->n_steps <= room / kept->n_methods);
}

#endif							/* STEPADV_KEPT_ADVANTAGES_H */

#ifndef STEPADV_LABELS_H
#define STEPADV_LABELS_H

#include "postgres.h"

/* Properties of a call besides its category. */
#define CALL_JUDGED			0x1		/* ok is known */
#define CALL_FAILED			0x2
#define CALL_LOOKED_AT		0x4		/* grounded is known */
#define CALL_GROUNDED		0x8
#define N_CALL_FLAGS		4

/* Category 0 is NULL, the others are numbered from 1 in the order of their bytes. */
typedef struct Label
{
	int64		key;			/* step_id, or rollout_id */
	int32		number;			/* 0, or step_no */
	uint32		code;			/* category << N_CALL_FLAGS | flags */
	int64		n_tokens;		/* of its response; -1: not known */
} Label;

typedef struct Category
{
	const char *bytes;
	size_t		length;
} Category;

typedef struct Labels
{
	int64		n;
	int64		next;			/* the one after the last that was found */
	Label	   *labels;			/* by key and number, without duplicates */
	uint32		n_categories;	/* NULL not counted */
	Category   *categories;
} Labels;

/* Read a value of labelled_calls (NULL: no calls) into the current memory context. */
extern Labels *open_labels(struct varlena *labels);

/* The label of a step; category NULL without flags and tokens, for a step without a label. */
extern const Label *search_label(Labels *labels, int64 key, int32 number);

/* The same, faster if steps are looked up in the order of their labels. */
static inline const Label *
label_of(Labels *labels, int64 key, int32 number)
{
	if (likely(labels->next < labels->n))
	{
		const Label *label = &labels->labels[labels->next];

		if (likely(label->key == key && label->number == number))
		{
			labels->next++;
			return label;
		}
	}
	return search_label(labels, key, number);
}

#endif							/* STEPADV_LABELS_H */

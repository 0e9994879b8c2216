#ifndef STEPADV_LABELS_H
#define STEPADV_LABELS_H

#include "postgres.h"

/* What is known of a call, beside its category. */
#define CALL_JUDGED			0x1		/* whether it went well */
#define CALL_FAILED			0x2
#define CALL_LOOKED_AT		0x4		/* whether it was grounded */
#define CALL_GROUNDED		0x8
#define N_CALL_FLAGS		4

/* Category 0 is NULL, the others are numbered from 1 in the order of their bytes. */
typedef struct Label
{
	int64		key;			/* the step's id; or its rollout's, and */
	int32		number;			/* its number there */
	uint32		code;			/* category << N_CALL_FLAGS | flags */
} Label;

typedef struct Category
{
	const char *bytes;
	size_t		length;
} Category;

typedef struct Labels
{
	int64		n;
	int64		next;			/* which follows the one that was asked for last */
	Label	   *labels;			/* by key and number, each once */
	uint32		n_categories;	/* NULL not counted */
	Category   *categories;
} Labels;

/* A copy of what call_labels gave (NULL: of no call at all), in the current memory context. */
extern Labels *open_labels(struct varlena *labels);

/* For a step without a label: category NULL, and no flags. */
extern uint32 search_label(Labels *labels, int64 key, int32 number);

/* Steps are mostly asked for in the order of their labels. */
static inline uint32
label_of(Labels *labels, int64 key, int32 number)
{
	if (likely(labels->next < labels->n))
	{
		const Label *label = &labels->labels[labels->next];

		if (likely(label->key == key && label->number == number))
		{
			labels->next++;
			return label->code;
		}
	}
	return search_label(labels, key, number);
}

#endif							/* STEPADV_LABELS_H */

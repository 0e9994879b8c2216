/*
 * sequence_matcher.h
 *		How alike two texts are: twice the length of what they share in order,
 *		over the sum of their lengths.
 *
 * What counts as shared is what Python's difflib.SequenceMatcher finds (the
 * longest common block, then the same left and right of it), its treatment of
 * frequent characters in long texts included, because GiGPO's reference groups
 * observations by that ratio.  It is not symmetric: the second text is indexed.
 */
#ifndef STEPADV_SEQUENCE_MATCHER_H
#define STEPADV_SEQUENCE_MATCHER_H

typedef struct SequenceIndex
{
	int			length;
	const uint32 *characters;	/* the text, by code points */
	int			n_distinct;
	uint32	   *distinct;		/* ascending */
	int		   *counts;			/* of each distinct character */
	int		   *starts;			/* where its positions begin; -1: too frequent to look for */
	int		   *positions;		/* ascending per character */
} SequenceIndex;

extern SequenceIndex *sequence_index(const uint32 *characters, int length);
extern double sequence_ratio(const SequenceIndex *a, const SequenceIndex *b);
extern double sequence_ratio_bound(const SequenceIndex *a, const SequenceIndex *b);

#endif							/* STEPADV_SEQUENCE_MATCHER_H */

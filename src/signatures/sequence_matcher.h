/*
 * sequence_matcher.h
 *		Similarity of two texts: twice the length of their common blocks, divided by the sum of their lengths.
 *
 * The blocks are those of Python's difflib.SequenceMatcher: the longest common block, then the same left and
 * right of it, with its treatment of frequent characters in long texts.  GiGPO's reference groups
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

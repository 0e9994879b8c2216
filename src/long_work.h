/*
 * long_work.h
 *		Progress reports of long work: a NOTICE every few seconds, unless stepadv.progress is off.
 */
#ifndef STEPADV_LONG_WORK_H
#define STEPADV_LONG_WORK_H

#include "datatype/timestamp.h"

typedef struct LongWork
{
	char		done_verb[16];	/* "folded" */
	char		units[32];		/* "groups" */
	char		of[2 * NAMEDATALEN + 8];	/* the object worked on, or "" */
	double		done;
	double		total;			/* 0: unknown */
	const char *total_is;		/* "", "about " or "at most " */
	double		unlooked;		/* done since the clock was last read */
	TimestampTz start;
	TimestampTz reported;		/* time of the last report; initially the start */
} LongWork;

extern void define_long_work_settings(void);

/* total 0: not known (yet). total_is is not copied. */
extern void begin_long_work(LongWork *work, const char *done_verb, const char *units, const char *of, const char *total_is, double total);

/* Add n units of work.  The clock is read once per look_every units. */
extern void advance_long_work(LongWork *work, double n, double look_every);

/* Counts the rows that GroupFolds read, unless NULL.  Whoever sets it must reset it, also after an error. */
extern PGDLLIMPORT LongWork *rows_read_for;

#define ROWS_PER_LOOK 1024

/* Called when a fold starts, with the expected number of rows. */
static inline void
expect_rows(double n)
{
	if (rows_read_for != NULL)
		rows_read_for->total += n;
}

static inline void
note_rows_read(uint32 n)
{
	if (unlikely(rows_read_for != NULL))
		advance_long_work(rows_read_for, n, ROWS_PER_LOOK);
}

#endif							/* STEPADV_LONG_WORK_H */

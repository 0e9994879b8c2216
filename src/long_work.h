/*
 * long_work.h
 *		Progress reports of long work: a NOTICE every few seconds, unless
 *		stepadv.progress is off.
 */
#ifndef STEPADV_LONG_WORK_H
#define STEPADV_LONG_WORK_H

#include "datatype/timestamp.h"

typedef struct LongWork
{
	char		done_verb[16];	/* "folded" */
	char		units[32];		/* "groups" */
	char		of[2 * NAMEDATALEN + 8];	/* what of, in words; "" if there is nothing to name */
	double		done;
	double		total;			/* 0: not known */
	const char *total_is;		/* "", "about " or "at most " */
	double		unlooked;		/* done since the clock was last looked at */
	TimestampTz start;
	TimestampTz reported;		/* at first when it began */
} LongWork;

extern void define_long_work_settings(void);

/* A total that is 0 is not known (yet); total_is stays where it is. */
extern void begin_long_work(LongWork *work, const char *done_verb, const char *units, const char *of, const char *total_is, double total);

/* So much more is done.  The clock is looked at once in so many units. */
extern void advance_long_work(LongWork *work, double n, double look_every);

/*
 * Counts rows that a GroupFold reads; NULL: they are not counted.  Who sets it resets it, errors
 * included.
 */
extern PGDLLIMPORT LongWork *rows_read_for;

#define ROWS_PER_LOOK 1024

/* A fold begins that expects so many. */
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

/*
 * line_range.h
 *		Which lines of a text a filter prints.
 */
#ifndef STEPADV_LINE_RANGE_H
#define STEPADV_LINE_RANGE_H

#include "signatures/effect.h"
#include "signatures/shell/shell.h"

/* How a filter selects the lines. */
typedef enum LineChoice
{
	LINES_BY_NUMBER,
	LINES_BY_PATTERN,			/* each line by itself, as grep does */
	LINES_UNKNOWN				/* from a pattern on, or a number of bytes */
} LineChoice;

typedef struct LineRange
{
	LineChoice	choice;
	int64		first;			/* 1-based; 0 = no range */
	int64		last;			/* 0 = all from first on */
	int64		tail;			/* or only this many lines at the end; 0 = no such limit */
} LineRange;

extern void sed_range(Span script, bool quiet, LineRange *lines);
extern void awk_range(Span program, LineRange *lines);
extern void perl_range(Span code, LineRange *lines);
extern void head_tail_range(const ShellCommand *command, int i, bool is_tail, LineRange *lines);
extern void apply_range(Effect *action, const LineRange *lines);

#endif							/* STEPADV_LINE_RANGE_H */

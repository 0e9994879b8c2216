/*
 * line_range.h
 *		Lines of a text, as filters of lines let them through.
 */
#ifndef STEPADV_LINE_RANGE_H
#define STEPADV_LINE_RANGE_H

#include "signatures/effect.h"
#include "signatures/shell/shell.h"

/* How a filter chooses the lines it lets through. */
typedef enum LineChoice
{
	LINES_BY_NUMBER,
	LINES_BY_PATTERN,			/* each for itself, as grep does */
	LINES_UNKNOWN				/* unknown lines: from a pattern on, so many bytes */
} LineChoice;

typedef struct LineRange
{
	LineChoice	choice;
	int64		first;			/* 1-based; 0 = not from a line on */
	int64		last;			/* 0 = all from first on */
	int64		tail;			/* or only that many at the end; 0 = no such limit */
} LineRange;

extern void sed_range(Span script, bool quiet, LineRange *lines);
extern void awk_range(Span program, LineRange *lines);
extern void perl_range(Span code, LineRange *lines);
extern void head_tail_range(const ShellCommand *command, int i, bool is_tail, LineRange *lines);
extern void apply_range(Effect *action, const LineRange *lines);

#endif							/* STEPADV_LINE_RANGE_H */

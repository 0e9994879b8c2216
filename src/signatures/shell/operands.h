#ifndef STEPADV_OPERANDS_H
#define STEPADV_OPERANDS_H

#include "signatures/shell/programs.h"
#include "signatures/shell/shell.h"

/* Position of a scan over the operands of a command. */
typedef struct Operands
{
	const ShellCommand *command;
	int			at;
	const ValueOptions *options;
	bool		ended;			/* a -- has ended the options */
} Operands;

static inline Operands
operands_of(const ShellCommand *command, int at, const ValueOptions *options)
{
	Operands	operands = {command, at, options, false};

	return operands;
}

/* Is the word in the list, which ends with NULL?  Most words differ in the first letter. */
static inline bool
is_any_of(const char *word, const char *const *names)
{
	for (; *names != NULL; names++)
		if (*word == **names && strcmp(word, *names) == 0)
			return true;
	return false;
}

extern int	next_operand(Operands *operands);
extern int	operand_after(Operands *operands, int skip);
extern Span operand_span(const ShellCommand *command, int i, const ValueOptions *options, int skip);
extern Span last_operand(const ShellCommand *command, int i, const ValueOptions *options);
extern Span words_joined(const ShellCommand *command, int i);

#endif							/* STEPADV_OPERANDS_H */

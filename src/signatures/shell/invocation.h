/*
 * invocation.h
 *		One run of a known program, and the functions that read it, one for each kind of program.
 *
 * Such a function adds effects to the outcome and returns what the program does.  If the program only runs
 * another one (sudo, xargs, python -m), it adds none and sets `follows` instead.
 */
#ifndef STEPADV_INVOCATION_H
#define STEPADV_INVOCATION_H

#include "signatures/shell/command.h"

typedef struct Invocation
{
	Reader	   *reader;
	ShellCommand *command;
	const Program *program;
	EffectCategory category;	/* if the kind of program determines it */
	ProgramKind kind;			/* of the program, with its options considered */
	Span		value;			/* of the option that changed the kind; data NULL if there is none */
	int			at;				/* the word after the program's name */
	int			follows;		/* the word where another command begins; 0 = none */
} Invocation;

/* The operand after `skip` others. */
static inline Span
invocation_operand(const Invocation *run, int skip)
{
	return operand_span(run->command, run->at, &run->program->options, skip);
}

static inline Operands
invocation_operands(const Invocation *run)
{
	return operands_of(run->command, run->at, &run->program->options);
}

/* The text that the program reads: from a here-document, a here-string or the pipe. */
static inline Text
input_text(const Invocation *run)
{
	Text		text = command_text(run->command);

	return has_text(text) ? text : run->reader->piped;
}

/* variants.c */
extern ProgramKind kind_of_run(Invocation *run);
extern bool only_asks(const ShellCommand *command, int at);

/* command_build.c */
extern Doing act_make(Invocation *run, Outcome *outcome);
extern Doing act_package(Invocation *run, Outcome *outcome);
extern Doing act_test(Invocation *run, Outcome *outcome);

/* command_file.c */
extern Doing act_apply_patch(Invocation *run, Outcome *outcome);
extern Doing act_destination(Invocation *run, Outcome *outcome);
extern Doing act_fetch(Invocation *run, Outcome *outcome);
extern Doing act_output(Invocation *run, Outcome *outcome);
extern Doing act_patch(Invocation *run, Outcome *outcome);
extern Doing act_tar(Invocation *run, Outcome *outcome);
extern Doing act_tee(Invocation *run, Outcome *outcome);

/* command_git.c */
extern Doing act_git(Invocation *run, Outcome *outcome);

/* command_run.c */
extern Doing run_program(const ShellCommand *command, int i, Outcome *outcome);
extern Doing act_coverage(Invocation *run, Outcome *outcome);
extern Doing act_interpreter(Invocation *run, Outcome *outcome);
extern Doing act_plain(Invocation *run, Outcome *outcome);
extern Doing act_python(Invocation *run, Outcome *outcome);
extern Doing act_shell(Invocation *run, Outcome *outcome);
extern Doing act_sql(Invocation *run, Outcome *outcome);

/* command_search.c */
extern Doing act_find(Invocation *run, Outcome *outcome);
extern Doing act_grep(Invocation *run, Outcome *outcome);

/* command_swe.c */
extern Doing act_swe_edit(Invocation *run, Outcome *outcome);
extern Doing act_swe_editor(Invocation *run, Outcome *outcome);
extern Doing act_swe_goto(Invocation *run, Outcome *outcome);
extern Doing act_swe_open(Invocation *run, Outcome *outcome);
extern Doing act_swe_scroll(Invocation *run, Outcome *outcome);

/* command_view.c */
extern Doing act_awk(Invocation *run, Outcome *outcome);
extern Doing act_head_tail(Invocation *run, Outcome *outcome);
extern Doing act_sed(Invocation *run, Outcome *outcome);

#endif							/* STEPADV_INVOCATION_H */

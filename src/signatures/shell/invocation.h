/*
 * invocation.h
 *		One run of a known program, and what reads it: a function per kind.
 *
 * Such a function sets the outcome and returns its effect.  If the program
 * only runs another one (sudo, xargs, python -m), it names the word where that
 * begins instead and leaves the outcome alone.
 */
#ifndef STEPADV_INVOCATION_H
#define STEPADV_INVOCATION_H

#include "signatures/shell/command.h"
#include "signatures/shell/operands.h"

typedef struct Invocation
{
	Reader	   *reader;
	ShellCommand *command;
	const Program *program;
	ActionCategory category;	/* where the kind of program says no more */
	ProgramKind kind;			/* of the program, as its options make it */
	Span		value;			/* of the option that did; data NULL if there is none */
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

/* variants.c */
extern ProgramKind kind_of_run(Invocation *run);

/* command_build.c */
extern Effect act_make(Invocation *run, Outcome *outcome);
extern Effect act_package(Invocation *run, Outcome *outcome);
extern Effect act_test(Invocation *run, Outcome *outcome);

/* command_file.c */
extern Effect act_apply_patch(Invocation *run, Outcome *outcome);
extern Effect act_destination(Invocation *run, Outcome *outcome);
extern Effect act_fetch(Invocation *run, Outcome *outcome);
extern Effect act_output(Invocation *run, Outcome *outcome);
extern Effect act_patch(Invocation *run, Outcome *outcome);
extern Effect act_tar(Invocation *run, Outcome *outcome);
extern Effect act_tee(Invocation *run, Outcome *outcome);

/* command_git.c */
extern Effect act_git(Invocation *run, Outcome *outcome);

/* command_run.c */
extern Effect run_program(const ShellCommand *command, int i, Outcome *outcome);
extern Effect act_coverage(Invocation *run, Outcome *outcome);
extern Effect act_interpreter(Invocation *run, Outcome *outcome);
extern Effect act_plain(Invocation *run, Outcome *outcome);
extern Effect act_python(Invocation *run, Outcome *outcome);
extern Effect act_shell(Invocation *run, Outcome *outcome);

/* command_search.c */
extern Effect act_find(Invocation *run, Outcome *outcome);
extern Effect act_grep(Invocation *run, Outcome *outcome);

/* command_swe.c */
extern Effect act_swe_edit(Invocation *run, Outcome *outcome);
extern Effect act_swe_editor(Invocation *run, Outcome *outcome);
extern Effect act_swe_goto(Invocation *run, Outcome *outcome);
extern Effect act_swe_open(Invocation *run, Outcome *outcome);
extern Effect act_swe_scroll(Invocation *run, Outcome *outcome);

/* command_view.c */
extern Effect act_awk(Invocation *run, Outcome *outcome);
extern Effect act_head_tail(Invocation *run, Outcome *outcome);
extern Effect act_sed(Invocation *run, Outcome *outcome);

#endif							/* STEPADV_INVOCATION_H */

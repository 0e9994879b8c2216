#ifndef STEPADV_PROGRAMS_H
#define STEPADV_PROGRAMS_H

#include "signatures/effect.h"

typedef enum ProgramKind
{
	PROGRAM_APPLY_PATCH,
	PROGRAM_ASK,				/* prints something about the environment */
	PROGRAM_AWK,
	PROGRAM_CD,
	PROGRAM_COVERAGE,
	PROGRAM_ECHO,				/* prints its arguments */
	PROGRAM_EDITOR,				/* interactive editor, or formatter */
	PROGRAM_FILEOP,				/* on its operands */
	PROGRAM_FILEOP_LAST,		/* on its last operand, the destination */
	PROGRAM_FETCH,				/* downloads to a file named like the last part of the address */
	PROGRAM_FETCH_TO,			/* downloads to the file that an option names */
	PROGRAM_FIND,
	PROGRAM_GIT,
	PROGRAM_GREP,
	PROGRAM_HEAD,
	PROGRAM_INTERPRETER,		/* runs a script of its own language */
	PROGRAM_LIST,				/* queries a file or directory */
	PROGRAM_LIST_HERE,			/* the same; by default, of the current directory */
	PROGRAM_MAKE,
	PROGRAM_NOTHING,			/* changes only the shell itself */
	PROGRAM_OUTPUT,				/* writes the file that an option names */
	PROGRAM_PACKAGE,			/* has subcommands: install, test … */
	PROGRAM_PATCH,
	PROGRAM_PYTHON,
	PROGRAM_RUN,				/* executed, like programs not in the table */
	PROGRAM_SEARCH,				/* pattern, then file or directory */
	PROGRAM_SEARCH_HERE,		/* recursive grep; by default, in the current directory */
	PROGRAM_SED,
	PROGRAM_SHELL,				/* bash -c SCRIPT */
	PROGRAM_SOURCE,
	PROGRAM_SQL,				/* runs SQL on a file or in a server */
	PROGRAM_SUBMIT,
	PROGRAM_SWE_CREATE,			/* SWE-agent's own commands */
	PROGRAM_SWE_EDIT,
	PROGRAM_SWE_EDITOR,
	PROGRAM_SWE_GOTO,
	PROGRAM_SWE_OPEN,
	PROGRAM_SWE_SCROLL,
	PROGRAM_TAIL,
	PROGRAM_TAR,
	PROGRAM_TEE,
	PROGRAM_TEST,
	PROGRAM_VIEW,				/* prints its files, or something derived from them */
	PROGRAM_WRAPPER,			/* runs the command that follows */
	PROGRAM_XARGS
} ProgramKind;

#define N_PROGRAM_KINDS (PROGRAM_XARGS + 1)

/* The options whose value is the next word. */
typedef struct ValueOptions
{
	const char *letters;
	const char *names;			/* ",a,b,": long ones */
} ValueOptions;

#define NO_FILES 9				/* as `operands`: no operand is a file */

typedef struct Program
{
	const char *name;
	uint8		kind;
	uint8		operands;		/* how many precede the one that matters */
	ValueOptions options;
} Program;

/* Subcommands that have the same effect. */
typedef struct Subcommand
{
	const char *programs;		/* " a b " */
	const char *names;
	uint8		category;
	const char *verb;			/* NULL = by subcommand_verb */
} Subcommand;

#define MAX_LISTED 32			/* no name of an option or subcommand is longer */

/* programs.c */
extern const Program *find_program(const char *name);
extern const Program *find_any_version(const char *name);
extern Span program_verb(const Program *program);
extern const char *program_name(const char *path);
extern bool is_listed(const char *list, char separator, const char *word);

/* subcommands.c */
extern const Subcommand *find_subcommand(const char *program, const char *name);
extern const Subcommand *find_inner_subcommand(const char *program, const char *name, const char *inner);
extern Span subcommand_verb(const Subcommand *subcommand, Span name);

#endif							/* STEPADV_PROGRAMS_H */

#ifndef STEPADV_VOCABULARY_H
#define STEPADV_VOCABULARY_H

#include "span.h"

typedef enum ToolMeaning
{
	TOOL_UNKNOWN,
	TOOL_SHELL,					/* runs a shell command */
	TOOL_LINE,					/* its command is a shell line that starts with the tool's name */
	TOOL_VIEW,
	TOOL_OPEN,					/* shows a window around a line */
	TOOL_SCROLL,				/* shows unknown lines */
	TOOL_SEARCH,
	TOOL_REPLACE,
	TOOL_INSERT,
	TOOL_CREATE,
	TOOL_PATCH,					/* its text is a patch with the file's name in it */
	TOOL_CODE,					/* runs code of an interpreter */
	TOOL_EXECUTE,
	TOOL_TEST,
	TOOL_INSTALL,
	TOOL_FILEOP,
	TOOL_THINK,
	TOOL_FINISH,
	TOOL_OTHER					/* known, but of none of the other categories */
} ToolMeaning;

/* What an argument is for. */
typedef enum ArgumentRole
{
	ROLE_COMMAND,				/* the shell command, the code, the patch */
	ROLE_PATH,
	ROLE_OLD,					/* the text to be replaced */
	ROLE_NEW,					/* the new text */
	ROLE_RANGE,					/* "first last" */
	ROLE_FIRST,
	ROLE_LAST,
	ROLE_COUNT,					/* how many lines from the first on */
	ROLE_SUBCOMMAND,
	ROLE_WHERE,					/* the place of a search; users name it `path` */
	N_ROLES
} ArgumentRole;

typedef struct ToolEntry
{
	const char *scaffold;
	const char *tool;			/* lower case */
	const char *subcommand;		/* value of the argument of ROLE_SUBCOMMAND; "" = any */
	ToolMeaning meaning;
} ToolEntry;

/* A user's entry.  Tool and argument names are compared without regard to case. */
typedef struct UserEntry
{
	Span		tool;
	Span		subcommand;
	ToolMeaning meaning;
	Span		roles[N_ROLES]; /* the argument's name; data NULL = the usual names */
} UserEntry;

typedef struct UserVocabulary
{
	int			n;
	UserEntry  *entries;
} UserVocabulary;

extern const ToolEntry builtin_tools[];
extern const int n_builtin_tools;

extern const char *meaning_name(ToolMeaning meaning);
extern ToolMeaning meaning_of(Span name);	/* TOOL_UNKNOWN if there is no such */
extern int	role_of(Span name);		/* -1 if there is no such */
extern const char *const *role_names(ArgumentRole role);	/* the usual ones, NULL-terminated */
extern Span tool_verb(Span tool);
extern ToolMeaning find_builtin_tool(Span tool, Span subcommand);

#endif							/* STEPADV_VOCABULARY_H */

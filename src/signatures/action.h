/*
 * action.h
 *		One action of an agent: what its signature is printed from.
 *
 * Knows nobody: patch.h, shell/script.h and call.h, which say what makes an action,
 * build on it, and each on those before.
 *
 * The kernels over this header (arguments.c, vocabulary.c, call.c, script.c,
 * command*.c, shell*.c, render.c …) know nothing of the executor or the
 * catalogs, allocate with palloc, never raise an error because of what they
 * read, and are therefore fuzzed outside a server (test/fuzz).
 */
#ifndef STEPADV_ACTION_H
#define STEPADV_ACTION_H

#include "lib/stringinfo.h"
#include "span.h"

typedef enum ActionCategory
{
	ACTION_OTHER,
	ACTION_VIEW,
	ACTION_SEARCH,
	ACTION_MODIFY,
	ACTION_CREATE,
	ACTION_EXECUTE,
	ACTION_TEST,
	ACTION_INSTALL,
	ACTION_FILEOP,
	ACTION_THINK,
	ACTION_FINISH
} ActionCategory;

#define N_ACTION_CATEGORIES (ACTION_FINISH + 1)

typedef struct Action
{
	ActionCategory category;
	bool		insert;			/* of a modify: it adds text and removes none */
	bool		partial;		/* of a view: only the lines first..last */
	int64		first;			/* 1-based */
	int64		last;			/* 0 = to the end */
	int64		tail;			/* or only that many lines at the end; 0 = not counted from there */
	bool		window;			/* a view whose lines nobody knows: no scope at all */
	Span		verb;			/* of a fileop or install: which one; data NULL = nothing to say */
	Span		target;			/* of ACTION_OTHER: the tool's name */
	bool		is_path;		/* the target names a file or directory */
	Span		directory;		/* that a relative target starts from */
	bool		hashed;			/* of a modify: its content is known */
	Span		old_text;
	Span		new_text;
	bool		followed;		/* other commands ran after it: a failure need not be its own */
} Action;

static inline void
action_init(Action *action, ActionCategory category)
{
	memset(action, 0, sizeof(*action));
	action->category = category;
}

static inline void
action_set_target(Action *action, Span target, bool is_path)
{
	action->target = target;
	action->is_path = is_path;
}

static inline void
action_set_content(Action *action, Span old_text, Span new_text)
{
	action->hashed = true;
	action->old_text = old_text;
	action->new_text = new_text;
}

/* What SWE-agent's `open` and `goto` show around a line: 100 lines; no line is the first. */
static inline void
action_set_window(Action *action, int64 line)
{
	action->partial = true;
	action->first = line > 50 ? line - 50 : 1;
	action->last = Max(line, 50) + 50;
}

#endif							/* STEPADV_ACTION_H */

/*
 * effect.h
 *		What a call does to one file, from which a signature is printed.  A call has an ordered list of
 *		effects.
 *
 * patch.h, shell/script.h and call.h, in this order, build on this file, which includes none of them.
 *
 * The kernels over this header (effects.c, call_arguments.c, vocabulary.c, call.c, script.c, command*.c,
 * shell*.c, render.c …) do not use the executor or the catalogs, allocate with palloc, and raise no error for
 * what they read.  So test/fuzz can run them without a server.
 */
#ifndef STEPADV_EFFECT_H
#define STEPADV_EFFECT_H

#include "lib/stringinfo.h"
#include "span.h"

#define MAX_EFFECTS 256			/* of one call; further ones are dropped */
#define MAX_PATH_LENGTH 1024	/* of a path composed here */

typedef enum EffectCategory
{
	EFFECT_OTHER,
	EFFECT_VIEW,
	EFFECT_SEARCH,
	EFFECT_MODIFY,
	EFFECT_CREATE,
	EFFECT_EXECUTE,
	EFFECT_TEST,
	EFFECT_INSTALL,
	EFFECT_FILEOP,
	EFFECT_THINK,
	EFFECT_FINISH
} EffectCategory;

#define N_EFFECT_CATEGORIES (EFFECT_FINISH + 1)

/* How the new text of an effect is used. */
typedef enum TextUse
{
	TEXT_CONTENT,				/* what is written or run, to be hashed */
	TEXT_PATCH,					/* a patch, to be replaced by an effect per file */
	TEXT_SCRIPT,				/* a script, to be replaced by its effects */
	TEXT_SQL					/* content, unless it only queries */
} TextUse;

typedef struct Effect
{
	EffectCategory category;
	bool		insert;			/* of a modify: it adds text and removes none */
	bool		partial;		/* of a view: only the lines first..last */
	int64		first;			/* 1-based */
	int64		last;			/* 0 = to the end */
	int64		tail;			/* or only that many lines at the end; 0 = no such limit */
	bool		window;			/* a view of unknown lines: printed without a scope */
	Span		verb;			/* of a fileop, install or execute: which one; data NULL = none */
	Span		target;			/* of EFFECT_OTHER: the tool's name */
	bool		is_path;		/* the target names a file or directory */
	Span		directory;		/* where a relative target starts */
	bool		hashed;			/* of a modify or execute: its content is known */
	Span		old_text;
	Span		new_text;
	bool		ends_otherwise; /* it may have failed although the call succeeded */
	bool		ends_earlier;	/* it may have succeeded although the call failed */
	/* Used while a script is read: */
	bool		writes;			/* writes a command's output to a file: >, tee */
	bool		inside;			/* in a substitution: counts only if the script has no others */
	TextUse		use;
	int			heredoc;		/* number of the here-document whose text is yet to come; 0 = none */
} Effect;

typedef struct Effects
{
	int			n;
	int			room;
	Effect	   *items;
	bool		succeeded;		/* the call is known to have succeeded */
	int			n_added;		/* in all, dropped ones included: shows whose texts must be kept */
	bool		has_idle;
	Effect		idle;			/* represents a call without effects */
	Effect		spare;			/* takes an effect for which there is no room */
	Effect	   *newest;			/* the one added last, in items or spare */
} Effects;

static inline void
effect_init(Effect *effect, EffectCategory category)
{
	memset(effect, 0, sizeof(*effect));
	effect->category = category;
}

static inline void
effect_set_target(Effect *effect, Span target, bool is_path)
{
	effect->target = target;
	effect->is_path = is_path;
}

static inline void
effect_set_content(Effect *effect, Span old_text, Span new_text)
{
	effect->hashed = true;
	effect->old_text = old_text;
	effect->new_text = new_text;
}

/* SWE-agent's `open` and `goto` show 100 lines around a line; without a line, the first 100. */
static inline void
effect_set_window(Effect *effect, int64 line)
{
	effect->partial = true;
	effect->first = line > 50 ? line - 50 : 1;
	effect->last = Max(line, 50) + 50;
}

/* Does the effect change nothing? */
static inline bool
only_reads(const Effect *effect)
{
	return effect->category == EFFECT_VIEW || effect->category == EFFECT_SEARCH;
}

/* effects.c */
extern void effects_init(Effects *effects);
extern Effect *effects_add(Effects *effects, EffectCategory category, Span target, bool is_path);
extern Effect *effects_repeat(Effects *effects, Effect model);
extern void effects_drop(Effects *effects, int from, int to, bool keep_writes);
extern void effects_move_end(Effects *effects, int from, int to);
extern void effects_spread(Effects *effects, int start, Span variable, const Span *words, int n_words);
extern EffectCategory strongest_category(const Effects *effects);

#endif							/* STEPADV_EFFECT_H */

/*
 * effect.h
 *		What a call does to one file: what a signature is printed from.  A call
 *		has a list of them, in order.
 *
 * Includes none of patch.h, shell/script.h and call.h, which define what makes an effect,
 * build on it, and each on those before.
 *
 * The kernels over this header (effects.c, call_arguments.c, vocabulary.c, call.c, script.c,
 * command*.c, shell*.c, render.c …) know nothing of the executor or the
 * catalogs, allocate with palloc, never raise an error because of what they
 * read, and are therefore fuzzed outside a server (test/fuzz).
 */
#ifndef STEPADV_EFFECT_H
#define STEPADV_EFFECT_H

#include "lib/stringinfo.h"
#include "span.h"

#define MAX_EFFECTS 256			/* of one call; what comes after is not listed */
#define MAX_PATH_LENGTH 1024	/* of a path that is put together here */

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

/* What the new text of an effect is. */
typedef enum TextUse
{
	TEXT_CONTENT,				/* what is written or run, to be hashed */
	TEXT_PATCH,					/* a patch: an effect per file of it takes this one's place */
	TEXT_SCRIPT,				/* a script: its effects take this one's place */
	TEXT_SQL					/* content, unless it only queries */
} TextUse;

typedef struct Effect
{
	EffectCategory category;
	bool		insert;			/* of a modify: it adds text and removes none */
	bool		partial;		/* of a view: only the lines first..last */
	int64		first;			/* 1-based */
	int64		last;			/* 0 = to the end */
	int64		tail;			/* or only that many lines at the end; 0 = not counted from there */
	bool		window;			/* a view of unknown lines: no scope at all */
	Span		verb;			/* of a fileop, install or execute: which one; data NULL = none */
	Span		target;			/* of EFFECT_OTHER: the tool's name */
	bool		is_path;		/* the target names a file or directory */
	Span		directory;		/* that a relative target starts from */
	bool		hashed;			/* of a modify or execute: its content is known */
	Span		old_text;
	Span		new_text;
	bool		ends_otherwise; /* it may have failed although the call succeeded */
	bool		ends_earlier;	/* nor that it failed that this failed: another came after it */
	/* While a script is read: */
	bool		writes;			/* it takes what a command prints: >, tee */
	bool		inside;			/* in a substitution: counts if nothing else does */
	TextUse		use;
	int			heredoc;		/* number of the here-document whose text is to come; 0 = none */
} Effect;

typedef struct Effects
{
	int			n;
	int			room;
	Effect	   *items;
	bool		succeeded;		/* the call is known to */
	int			n_added;		/* in all: shows whose texts must be kept */
	bool		has_idle;
	Effect		idle;			/* represents a call that does nothing */
	Effect		spare;			/* takes what has no room */
	Effect	   *newest;			/* the one that was added last, there or here */
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

/* What SWE-agent's `open` and `goto` show around a line: 100 lines; no line is the first. */
static inline void
effect_set_window(Effect *effect, int64 line)
{
	effect->partial = true;
	effect->first = line > 50 ? line - 50 : 1;
	effect->last = Max(line, 50) + 50;
}

/* It prints something, and leaves everything as it was. */
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

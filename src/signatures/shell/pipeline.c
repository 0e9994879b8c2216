/*
 * pipeline.c
 *		Joins the effects of the stages of a pipeline.
 *
 * A pipeline is one command: filters narrow what its first stage views, or make it a search; changes replace
 * what is only read; xargs passes the names it reads to the command it runs.  A stage that writes a file adds
 * an effect.
 */
#include "postgres.h"

#include "signatures/shell/pipeline.h"

#define MAX_PIPED_WORDS SHELL_MAX_WORDS

/* About the effects of a stage, except those that write output: is there one, do all only read, has one a target? */
typedef struct Stages
{
	bool		any;
	bool		read;
	bool		with_target;
} Stages;

static Stages
look_at(const Effects *effects, int from, int to)
{
	Stages		stages = {false, true, false};

	for (int i = from; i < to; i++)
		if (!effects->items[i].writes)
		{
			stages.any = true;
			stages.read &= only_reads(&effects->items[i]);
			stages.with_target |= effects->items[i].target.data != NULL;
		}
	return stages;
}

/* Does one of them run a program?  If that fails, its output is in the file all the same. */
bool
has_runs(const Effects *effects, int from, int to)
{
	for (int i = from; i < to; i++)
		if (effects->items[i].category == EFFECT_EXECUTE || effects->items[i].category == EFFECT_TEST)
			return true;
	return false;
}

/* Split a piped text into words. */
static int
split_words(Span text, Span words[MAX_PIPED_WORDS])
{
	int			n = 0;
	int			i = 0;

	while (n < MAX_PIPED_WORDS)
	{
		int			start;

		while (i < text.length && is_space(text.data[i]))
			i++;
		if (i >= text.length)
			break;
		start = i;
		while (i < text.length && !is_space(text.data[i]))
			i++;
		words[n++] = span_make(text.data + start, i - start);
	}
	return n;
}

/* Does it have no file of its own, or a placeholder for one? */
static bool
takes_file(const Effect *effect, Span placeholder)
{
	if (effect->category == EFFECT_TEST && !effect->is_path)
		return span_is(effect->target, "all");
	return effect->target.data == NULL || span_is(effect->target, "{}") ||
		(placeholder.data != NULL && span_equal(effect->target, placeholder));
}

/* Repeat the effects of the stage for each of the words, which name its files. */
static void
give_files(Effects *effects, int stage, const Outcome *next, const Span *words, int n_words, bool are_known)
{
	Span		mark = span_of("\001");

	for (int i = stage; i < effects->n; i++)
		if (takes_file(&effects->items[i], next->placeholder))
		{
			if (n_words > 0)
				effect_set_target(&effects->items[i], mark, true);
			else if (effects->items[i].category != EFFECT_TEST)
				effects->items[i].target = span_none();
		}
	effects_spread(effects, stage, mark, words, n_words);
	if (are_known)
		effects_spread(effects, stage, next->placeholder.data ? next->placeholder : span_of("{}"), words, n_words);
}

/* The same with the files named by the stages before. */
static void
give_targets(Effects *effects, int start, int stage, const Outcome *next)
{
	Span		words[MAX_PIPED_WORDS];
	int			n = 0;

	for (int i = start; i < stage && n < MAX_PIPED_WORDS; i++)
		if (!effects->items[i].writes && effects->items[i].target.length > 0)
			words[n++] = effects->items[i].target;
	give_files(effects, stage, next, words, n, false);
}

/* A filter selects lines of what is viewed, or searches it. */
static void
narrow(Effects *effects, int start, int stage, const Outcome *next)
{
	const Effect filter = effects->items[stage];

	if (filter.writes || filter.target.data != NULL)
		return;
	for (int i = start; i < stage; i++)
	{
		Effect	   *effect = &effects->items[i];

		if (effect->category != EFFECT_VIEW || effect->writes)
			continue;
		if (filter.category == EFFECT_VIEW)
			apply_range(effect, &next->lines);
		else
		{
			effect->category = EFFECT_SEARCH;
			effect->partial = false;
		}
	}
}

/*
 * Join the effects of a stage, from `stage` on, to those of the stages before it, from `start` on.  `piped`
 * is what the latter print, if known.
 */
void
join_stage(Effects *effects, int start, int stage, const Outcome *next, Text piped)
{
	Stages		before = look_at(effects, start, stage);
	Stages		added = look_at(effects, stage, effects->n);

	if (has_runs(effects, start, stage))
		for (int i = stage; i < effects->n; i++)
			effects->items[i].ends_earlier |= effects->items[i].writes;
	if (!added.any)
		return;
	if (next->takes_files && !before.any && piped.span.data != NULL)
	{
		Span		words[MAX_PIPED_WORDS];
		int			n = split_words(piped.span, words);

		give_files(effects, stage, next, words, n, true);
	}
	else if (!before.any)
	{
		/* A filter of a text shows that text. */
		if (added.read && !added.with_target && (stage > start || effects->items[stage].category == EFFECT_VIEW))
			effects_drop(effects, stage, effects->n, true);
	}
	else if (added.read)
	{
		narrow(effects, start, stage, next);
		effects_drop(effects, stage, effects->n, true);
	}
	else
	{
		if (next->takes_files)
			give_targets(effects, start, stage, next);
		if (before.read)
			effects_drop(effects, start, stage, true);
	}
}

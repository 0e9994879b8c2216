/*
 * effects.c
 *		The list of a call's effects.
 *
 * It has at most MAX_EFFECTS entries, so the work is bounded for scripts of any length.
 */
#include "postgres.h"

#include "signatures/effect.h"

void
effects_init(Effects *effects)
{
	memset(effects, 0, sizeof(*effects));
	effects->newest = &effects->spare;
}

/* Append a copy of the model.  If the list is full, the copy is discarded. */
Effect *
effects_repeat(Effects *effects, Effect model)
{
	if (effects->n == MAX_EFFECTS)
	{
		/* A finish takes the last place, so that the end of a rollout is always seen. */
		effects->newest = model.category == EFFECT_FINISH ? &effects->items[MAX_EFFECTS - 1] : &effects->spare;
		*effects->newest = model;
		return effects->newest;
	}
	if (effects->n == effects->room)
	{
		effects->room = effects->room == 0 ? 4 : Min(2 * effects->room, MAX_EFFECTS);
		effects->items = effects->items == NULL ? palloc(sizeof(Effect) * effects->room) :
			repalloc(effects->items, sizeof(Effect) * effects->room);
	}
	effects->n_added++;
	effects->newest = &effects->items[effects->n++];
	*effects->newest = model;
	return effects->newest;
}

Effect *
effects_add(Effects *effects, EffectCategory category, Span target, bool is_path)
{
	Effect		effect;

	effect_init(&effect, category);
	effect_set_target(&effect, target, is_path);
	return effects_repeat(effects, effect);
}

/* Remove effects from .. to - 1; with keep_writes, keep those that write output to a file. */
void
effects_drop(Effects *effects, int from, int to, bool keep_writes)
{
	int			kept = from;

	for (int i = from; i < effects->n; i++)
		if (i >= to || (keep_writes && effects->items[i].writes))
			effects->items[kept++] = effects->items[i];
	effects->n = Min(kept, effects->n);
}

/* Replace the effect at `to` by those from `from` to the end. */
void
effects_move_end(Effects *effects, int from, int to)
{
	int			n = effects->n - from;
	int			between = from - to - 1;
	Effect	   *moved;

	if (n == 0)
		return;
	moved = palloc(sizeof(Effect) * n);
	memcpy(moved, &effects->items[from], sizeof(Effect) * n);
	memmove(&effects->items[to + n], &effects->items[to + 1], sizeof(Effect) * between);
	memcpy(&effects->items[to], moved, sizeof(Effect) * n);
	effects->n--;
	pfree(moved);
}

static bool
is_name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/*
 * The length of the variable at `at`, 0 if it is not there.  A name is written $name or ${name}; anything
 * else ({} of xargs) unchanged.
 */
static int
variable_at(Span text, int at, Span variable)
{
	bool		braced;
	int			start;
	int			end;

	if (!is_name_character(variable.data[0]))
		return span_starts_with(span_from(text, at), variable) ? variable.length : 0;
	if (text.data[at] != '$')
		return 0;
	braced = at + 1 < text.length && text.data[at + 1] == '{';
	start = at + (braced ? 2 : 1);
	end = start + variable.length;
	if (!span_starts_with(span_from(text, start), variable))
		return 0;
	if (braced)
		return end < text.length && text.data[end] == '}' ? end + 1 - at : 0;
	return end < text.length && is_name_character(text.data[end]) ? 0 : end - at;
}

static bool
has_variable(Span text, Span variable)
{
	int			at;

	for (at = 0; at < text.length; at++)
		if (variable_at(text, at, variable) > 0)
			return true;
	return false;
}

/* The text with the word in place of the variable; unchanged if the result would be too long. */
static Span
substituted(Span text, Span variable, Span word)
{
	StringInfoData out;
	int			at = 0;

	initStringInfo(&out);
	while (at < text.length && out.len <= MAX_PATH_LENGTH)
	{
		int			length = variable_at(text, at, variable);

		if (length > 0)
			appendBinaryStringInfo(&out, word.data, Min(word.length, MAX_PATH_LENGTH));
		else
			appendStringInfoChar(&out, text.data[at]);
		at += Max(length, 1);
	}
	return out.len <= MAX_PATH_LENGTH ? span_make(out.data, out.len) : text;
}

/*
 * Repeat the effects from `start` on for the words: those whose target has the variable once for each word,
 * the others once.  Only the last repetition decides how a loop ends.
 */
void
effects_spread(Effects *effects, int start, Span variable, const Span *words, int n_words)
{
	int			n = effects->n - start;
	Effect	   *models;
	int			word;

	if (n == 0 || n_words == 0 || variable.length == 0)
		return;
	models = palloc(sizeof(Effect) * n);
	memcpy(models, &effects->items[start], sizeof(Effect) * n);
	effects->n = start;
	for (word = 0; word < n_words; word++)
		for (int i = 0; i < n && effects->n < MAX_EFFECTS; i++)
		{
			Effect		effect = models[i];
			bool		varies = effect.target.length <= MAX_PATH_LENGTH && has_variable(effect.target, variable);

			if (!varies && word > 0)
				continue;
			if (varies)
				effect.target = substituted(effect.target, variable, words[word]);
			effect.ends_otherwise |= varies && word < n_words - 1;
			effect.ends_earlier |= varies && word < n_words - 1;
			effects_repeat(effects, effect);
		}
	pfree(models);
}

/* The category of a call with several effects. */
EffectCategory
strongest_category(const Effects *effects)
{
	static const uint8 strength[N_EFFECT_CATEGORIES] = {
		[EFFECT_OTHER] = 0,
		[EFFECT_THINK] = 1,
		[EFFECT_SEARCH] = 2,
		[EFFECT_VIEW] = 3,
		[EFFECT_FILEOP] = 4,
		[EFFECT_INSTALL] = 5,
		[EFFECT_EXECUTE] = 6,
		[EFFECT_TEST] = 7,
		[EFFECT_CREATE] = 8,
		[EFFECT_MODIFY] = 8,
		[EFFECT_FINISH] = 9,
	};
	EffectCategory strongest = effects->items[0].category;

	for (int i = 1; i < effects->n; i++)
		if (strength[effects->items[i].category] > strength[strongest])
			strongest = effects->items[i].category;
	return strongest;
}

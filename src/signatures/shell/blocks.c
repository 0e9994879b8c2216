/*
 * blocks.c
 *		The keywords of a script: which commands are executed, and how often.
 *
 * Of an if, the branch after `then` counts, or the one after `else` if that has no effect.  Of a case, the
 * first branch with an effect counts.  A for over known words is executed for each of them.
 */
#include "postgres.h"

#include "signatures/shell/blocks.h"
#include "signatures/shell/command.h"

static Block *
open_block(Blocks *blocks, BlockKind kind, bool reached, int n_effects)
{
	bool		unreached = !reached || is_unreached(blocks);
	Block	   *block;

	if (blocks->n == MAX_BLOCKS)
	{
		blocks->n_beyond++;
		return NULL;
	}
	block = &blocks->blocks[blocks->n++];
	memset(block, 0, sizeof(*block));
	block->kind = kind;
	block->unreached = unreached;
	block->start = block->branch = n_effects;
	return block;
}

/* The innermost block, if it is of that kind. */
static Block *
innermost(Blocks *blocks, BlockKind kind)
{
	Block	   *top;

	if (blocks->n == 0 || blocks->n_beyond > 0)
		return NULL;
	top = &blocks->blocks[blocks->n - 1];
	return top->kind == kind ? top : NULL;
}

/* Close a block of that kind and return it in *closed; false if none is open. */
static bool
close_block(Blocks *blocks, BlockKind kind, Block *closed)
{
	Block	   *top = innermost(blocks, kind);

	if (blocks->n_beyond > 0)
		blocks->n_beyond--;
	if (top == NULL)
		return false;
	*closed = *top;
	blocks->n--;
	return true;
}

/* for NAME in WORD …, from word i on. */
static void
open_loop(Blocks *blocks, const ShellCommand *command, int i, bool reached, int n_effects)
{
	Block	   *block = open_block(blocks, BLOCK_LOOP, reached, n_effects);
	int			first = i + 2;

	if (block == NULL || strcmp(shell_word(command, i + 1), "in") != 0 || first >= command->n_words)
		return;
	for (int j = first; j < command->n_words; j++)
		if (command->words[j].dynamic)
			return;
	block->n_words = command->n_words - first;
	block->words = palloc(sizeof(Span) * block->n_words);
	for (int j = 0; j < block->n_words; j++)
		block->words[j] = span_keep(shell_word_span(command, first + j));
	block->variable = span_keep(shell_word_span(command, i));
}

/* done: repeat the loop's effects for each of its words. */
static void
end_loop(Block *loop, Effects *effects)
{
	if (loop->words == NULL)
		return;
	effects_spread(effects, loop->start, loop->variable, loop->words, loop->n_words);
	for (int i = 0; i < loop->n_words; i++)
		pfree((void *) loop->words[i].data);
	pfree(loop->words);
	pfree((void *) loop->variable.data);
}

/* else, elif, or a pattern of case: begins another branch, which is skipped if the previous one has an effect. */
static void
change_branch(Block *block, const Effects *effects)
{
	if (block != NULL)
		block->skipped = effects->n > block->branch;
}

/* then: the condition is not part of the branch. */
static void
begin_branch(Block *block, const Effects *effects)
{
	if (block != NULL && !block->skipped)
		block->branch = effects->n;
}

void
open_subshells(Blocks *blocks, const ShellCommand *command, bool reached, Span directory, int n_effects)
{
	for (int i = 0; i < command->opens; i++)
	{
		Block	   *block = open_block(blocks, BLOCK_SUBSHELL, reached, n_effects);

		if (block != NULL)
			block->directory = directory;
	}
}

/* Close the subshells that end after the command and return the outermost; false if none ends. */
bool
close_subshells(Blocks *blocks, const ShellCommand *command, Block *closed)
{
	bool		has_closed = false;

	for (int i = 0; i < command->closes; i++)
		has_closed |= close_block(blocks, BLOCK_SUBSHELL, closed);
	return has_closed;
}

/* fi, done, esac or }: returns true, and the block's first effect in *start. */
static bool
read_closing_word(Blocks *blocks, const char *word, Effects *effects, int *start)
{
	static const struct
	{
		const char *word;
		BlockKind	kind;
	}			closing[] = {
		{"done", BLOCK_LOOP},
		{"esac", BLOCK_CASE},
		{"fi", BLOCK_IF},
		{"}", BLOCK_BRACES},
	};

	for (int i = 0; i < (int) lengthof(closing); i++)
	{
		Block		closed;

		if (strcmp(word, closing[i].word) != 0)
			continue;
		if (close_block(blocks, closing[i].kind, &closed))
		{
			/* A pipe into the block may have taken effects from before it. */
			closed.start = Min(closed.start, effects->n);
			end_loop(&closed, effects);
			*start = closed.start;
		}
		return true;
	}
	return false;
}

/*
 * Read the keywords that a command begins with.  Returns true if it only ends a block; *start is then the
 * block's first effect, else the command's own.
 */
bool
read_keywords(Blocks *blocks, const ShellCommand *command, bool reached, Effects *effects, int *start)
{
	int			i;

	*start = effects->n;
	for (i = 0; i < command->n_words && !command->words[i].quoted; i++)
	{
		const char *word = shell_word(command, i);

		if (strcmp(word, "if") == 0)
			open_block(blocks, BLOCK_IF, reached, effects->n);
		else if (strcmp(word, "{") == 0)
			open_block(blocks, BLOCK_BRACES, reached, effects->n);
		else if (strcmp(word, "while") == 0 || strcmp(word, "until") == 0)
			open_block(blocks, BLOCK_LOOP, reached, effects->n);
		else if (strcmp(word, "then") == 0)
			begin_branch(innermost(blocks, BLOCK_IF), effects);
		else if (strcmp(word, "else") == 0 || strcmp(word, "elif") == 0)
			change_branch(innermost(blocks, BLOCK_IF), effects);
		else if (!is_prefix_keyword(word))
			break;
	}
	if (i < command->n_words && !command->words[i].quoted)
	{
		const char *word = shell_word(command, i);

		if (read_closing_word(blocks, word, effects, start))
			return true;
		if (strcmp(word, "for") == 0 || strcmp(word, "select") == 0)
			open_loop(blocks, command, i + 1, reached, effects->n);
		else if (strcmp(word, "case") == 0)
			open_block(blocks, BLOCK_CASE, reached, effects->n);
	}
	if (command->end == SHELL_PATTERN)
		change_branch(innermost(blocks, BLOCK_CASE), effects);
	*start = effects->n;
	return false;
}

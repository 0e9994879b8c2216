#ifndef STEPADV_BLOCKS_H
#define STEPADV_BLOCKS_H

#include "signatures/effect.h"
#include "signatures/shell/shell.h"

#define MAX_BLOCKS 16			/* open at one time; keywords of deeper ones are ignored */

typedef enum BlockKind
{
	BLOCK_BRACES,
	BLOCK_CASE,
	BLOCK_IF,
	BLOCK_LOOP,
	BLOCK_SUBSHELL
} BlockKind;

typedef struct Block
{
	BlockKind	kind;
	bool		unreached;		/* the block is not executed */
	bool		skipped;		/* this branch is not: another one is */
	int			start;			/* its first effect */
	int			branch;			/* the first one of the branch that is executed */
	Span		directory;		/* of a subshell: the directory before it */
	Span		variable;		/* of a loop over known words */
	int			n_words;
	Span	   *words;
} Block;

typedef struct Blocks
{
	int			n;
	int			n_beyond;		/* open, but too deep */
	Block		blocks[MAX_BLOCKS];
} Blocks;

/* Is the code that is being read not executed? */
static inline bool
is_unreached(const Blocks *blocks)
{
	const Block *top;

	if (blocks->n == 0)
		return false;
	top = &blocks->blocks[blocks->n - 1];
	return top->unreached || top->skipped;
}

extern void open_subshells(Blocks *blocks, const ShellCommand *command, bool reached, Span directory, int n_effects);
extern bool close_subshells(Blocks *blocks, const ShellCommand *command, Block *closed);
extern bool read_keywords(Blocks *blocks, const ShellCommand *command, bool reached, Effects *effects, int *start);

#endif							/* STEPADV_BLOCKS_H */

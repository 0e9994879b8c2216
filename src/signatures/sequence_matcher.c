#include "postgres.h"

#include "miscadmin.h"

#include "signatures/sequence_matcher.h"

#define LONG_TEXT 200			/* in texts this long, frequent characters start no block */

typedef struct Block
{
	int			a_low;
	int			a_high;
	int			b_low;
	int			b_high;
} Block;

/* Lengths of the common runs that end in one row of the comparison, by position in b. */
typedef struct Row
{
	int		   *length;
	int		   *stamp;			/* the row that wrote the length */
} Row;

/* Characters between two checks for interrupts. */
#define STRETCH 16384

static inline void
ask_at_times(int i)
{
	if (i % STRETCH == 0)
		CHECK_FOR_INTERRUPTS();
}

/* Mark all lengths as not written. */
static void
clear_stamps(int *stamp, int length)
{
	for (int i = 0; i < length; i += STRETCH)
	{
		CHECK_FOR_INTERRUPTS();
		memset(stamp + i, 0, sizeof(int) * (Size) Min(STRETCH, length - i));
	}
}

static int
compare_keys(const void *left, const void *right)
{
	uint64		a = *(const uint64 *) left;
	uint64		b = *(const uint64 *) right;

	CHECK_FOR_INTERRUPTS();
	return (a > b) - (a < b);
}

SequenceIndex *
sequence_index(const uint32 *characters, int length)
{
	SequenceIndex *index = palloc0(sizeof(SequenceIndex));
	uint64	   *keys = palloc(sizeof(uint64) * (Size) (length + 1));

	/* Sorted by character, then position. */
	for (int i = 0; i < length; i++)
	{
		ask_at_times(i);
		keys[i] = ((uint64) characters[i] << 32) | (uint32) i;
	}
	qsort(keys, length, sizeof(uint64), compare_keys);

	index->length = length;
	index->characters = characters;
	index->positions = palloc(sizeof(int) * (Size) (length + 1));
	for (int i = 0; i < length; i++)
	{
		ask_at_times(i);
		index->positions[i] = (int) (keys[i] & 0xFFFFFFFF);
		if (i == 0 || keys[i] >> 32 != keys[i - 1] >> 32)
			index->n_distinct++;
	}
	index->distinct = palloc(sizeof(uint32) * (Size) (index->n_distinct + 1));
	index->counts = palloc0(sizeof(int) * (Size) (index->n_distinct + 1));
	index->starts = palloc(sizeof(int) * (Size) (index->n_distinct + 1));
	index->n_distinct = 0;
	for (int i = 0; i < length; i++)
	{
		ask_at_times(i);
		if (i == 0 || keys[i] >> 32 != keys[i - 1] >> 32)
		{
			index->distinct[index->n_distinct] = (uint32) (keys[i] >> 32);
			index->starts[index->n_distinct++] = i;
		}
		index->counts[index->n_distinct - 1]++;
	}
	pfree(keys);
	if (length >= LONG_TEXT)
		for (int i = 0; i < index->n_distinct; i++)
			if (index->counts[i] > length / 100 + 1)
				index->starts[i] = -1;
	return index;
}

static double
ratio_of(int64 matches, const SequenceIndex *a, const SequenceIndex *b)
{
	int64		length = (int64) a->length + b->length;

	return length > 0 ? 2.0 * (double) matches / (double) length : 1.0;
}

/* An upper bound: the ratio if the characters could be in any order. */
double
sequence_ratio_bound(const SequenceIndex *a, const SequenceIndex *b)
{
	int64		shared = 0;
	int			i = 0;
	int			j = 0;

	while (i < a->n_distinct && j < b->n_distinct)
	{
		if (a->distinct[i] == b->distinct[j])
		{
			shared += Min(a->counts[i], b->counts[j]);
			i++;
			j++;
		}
		else if (a->distinct[i] < b->distinct[j])
			i++;
		else
			j++;
	}
	return ratio_of(shared, a, b);
}

/* The index in b of each distinct character of a, or -1 if b lacks it or it is too frequent. */
static int *
translate(const SequenceIndex *a, const SequenceIndex *b)
{
	int		   *translated = palloc(sizeof(int) * (Size) (a->n_distinct + 1));
	int			j = 0;

	for (int i = 0; i < a->n_distinct; i++)
	{
		while (j < b->n_distinct && b->distinct[j] < a->distinct[i])
			j++;
		translated[i] = j < b->n_distinct && b->distinct[j] == a->distinct[i] && b->starts[j] >= 0 ? j : -1;
	}
	return translated;
}

/* The longest common block within the bounds; of equal ones the first in a, then in b. */
static int
find_longest(const SequenceIndex *a, const SequenceIndex *b, const int *translated, Block block,
			 Row rows[2], int *stamp, int *a_start, int *b_start)
{
	int			best_a = block.a_low;
	int			best_b = block.b_low;
	int			best = 0;

	/* A row of the previous block must not count as the row before the first. */
	*stamp += 2;
	for (int i = block.a_low; i < block.a_high; i++)
	{
		Row		   *previous = &rows[i & 1];
		Row		   *current = &rows[(i & 1) ^ 1];
		int			which = translated[i];

		CHECK_FOR_INTERRUPTS();
		++*stamp;
		if (which >= 0)
		{
			const int  *positions = b->positions + b->starts[which];
			int			n = b->counts[which];
			int			low = 0;
			int			high = n;

			while (low < high)
			{
				int			middle = (low + high) / 2;

				if (positions[middle] < block.b_low)
					low = middle + 1;
				else
					high = middle;
			}
			for (; low < n && positions[low] < block.b_high; low++)
			{
				int			j = positions[low];
				int			length = 1;

				if (j > 0 && previous->stamp[j - 1] == *stamp - 1)
					length += previous->length[j - 1];
				current->length[j] = length;
				current->stamp[j] = *stamp;
				if (length > best)
				{
					best = length;
					best_a = i - length + 1;
					best_b = j - length + 1;
				}
			}
		}
	}
	/* Frequent characters do not start a block, but they extend it. */
	while (best_a > block.a_low && best_b > block.b_low && a->characters[best_a - 1] == b->characters[best_b - 1])
	{
		best_a--;
		best_b--;
		ask_at_times(++best);
	}
	while (best_a + best < block.a_high && best_b + best < block.b_high &&
		   a->characters[best_a + best] == b->characters[best_b + best])
		ask_at_times(++best);
	*a_start = best_a;
	*b_start = best_b;
	return best;
}

double
sequence_ratio(const SequenceIndex *a, const SequenceIndex *b)
{
	int		   *by_distinct;
	int		   *translated;
	Row			rows[2];
	Block	   *stack;
	int			n_stack = 0;
	int			stack_size = 64;
	int			stamp = 0;
	int64		matches = 0;

	if (a->length == b->length && memcmp(a->characters, b->characters, sizeof(uint32) * (Size) a->length) == 0)
		return 1.0;

	by_distinct = translate(a, b);
	translated = palloc(sizeof(int) * (Size) (a->length + 1));
	for (int i = 0, k = 0; i < a->n_distinct; i++)
	{
		int			end = k + a->counts[i];

		for (; k < end; k++)
		{
			ask_at_times(k);
			translated[a->positions[k]] = by_distinct[i];
		}
	}
	for (int i = 0; i < 2; i++)
	{
		rows[i].length = palloc(sizeof(int) * (Size) (b->length + 1));
		rows[i].stamp = palloc(sizeof(int) * (Size) (b->length + 1));
		clear_stamps(rows[i].stamp, b->length + 1);
	}

	stack = palloc(sizeof(Block) * stack_size);
	stack[n_stack++] = (Block) {0, a->length, 0, b->length};
	while (n_stack > 0)
	{
		Block		block = stack[--n_stack];
		int			a_start;
		int			b_start;
		int			length;

		/* Stamps must not be reused by later rows. */
		if (stamp > INT32_MAX - a->length - 8)
		{
			clear_stamps(rows[0].stamp, b->length + 1);
			clear_stamps(rows[1].stamp, b->length + 1);
			stamp = 0;
		}
		length = find_longest(a, b, translated, block, rows, &stamp, &a_start, &b_start);
		if (length == 0)
			continue;
		matches += length;
		if (n_stack + 2 > stack_size)
		{
			stack_size *= 2;
			stack = repalloc(stack, sizeof(Block) * stack_size);
		}
		if (block.a_low < a_start && block.b_low < b_start)
			stack[n_stack++] = (Block) {block.a_low, a_start, block.b_low, b_start};
		if (a_start + length < block.a_high && b_start + length < block.b_high)
			stack[n_stack++] = (Block) {a_start + length, block.a_high, b_start + length, block.b_high};
	}
	pfree(stack);
	for (int i = 0; i < 2; i++)
	{
		pfree(rows[i].length);
		pfree(rows[i].stamp);
	}
	pfree(translated);
	pfree(by_distinct);
	return ratio_of(matches, a, b);
}

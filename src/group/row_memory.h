/*
 * row_memory.h
 *		Memory for the rows of many groups that are built at the same time.
 *
 * Successive requests are contiguous, without an allocator's headers or rounding, and the last piece can be
 * extended or trimmed.  Memory is freed only as a whole, with its context.
 */
#ifndef STEPADV_GROUP_ROW_MEMORY_H
#define STEPADV_GROUP_ROW_MEMORY_H

typedef struct RowMemory
{
	MemoryContext context;
	char	   *free;			/* the free rest of the current block */
	char	   *end;
	Size		allocated;		/* total size of blocks */
	Size		largest;		/* maximum size of a block */
} RowMemory;

/* largest: the maximum size of a block, so that little memory is allocated before it is used. */
extern void begin_row_memory(RowMemory *memory, MemoryContext context, Size largest);

/* Allocate another block, with at least this much room. */
extern void extend_row_memory(RowMemory *memory, Size size);

/* Take size bytes, aligned for any type. */
static inline void *
take_row_memory(RowMemory *memory, Size size)
{
	char	   *taken;

	size = MAXALIGN(size);
	if (unlikely((Size) (memory->end - memory->free) < size))
		extend_row_memory(memory, size);
	taken = memory->free;
	memory->free += size;
	return taken;
}

/* Move the end of a piece; false if it is not the last one, or there is no room after it. */
static inline bool
move_row_memory_end(RowMemory *memory, char *end, char *new_end)
{
	if (end != memory->free || new_end > memory->end)
		return false;
	memory->free = new_end;
	return true;
}

#endif							/* STEPADV_GROUP_ROW_MEMORY_H */

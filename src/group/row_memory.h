/*
 * row_memory.h
 *		Memory of the rows of many groups that are built at the same time.
 *
 * What groups take of it, one after the other, is contiguous, in the order of requests, without
 * what an allocator puts between or rounds up to: the last piece that was taken can be made
 * longer or shorter.  Nothing is ever given back but all of it, by its context.
 */
#ifndef STEPADV_GROUP_ROW_MEMORY_H
#define STEPADV_GROUP_ROW_MEMORY_H

typedef struct RowMemory
{
	MemoryContext context;
	char	   *free;			/* of the current block, from here to its end */
	char	   *end;
	Size		allocated;		/* in blocks */
	Size		largest;		/* that a block may be */
} RowMemory;

/* The most that is taken from the context at once, before it is used. */
extern void begin_row_memory(RowMemory *memory, MemoryContext context, Size largest);

/* Another block, with so much room. */
extern void extend_row_memory(RowMemory *memory, Size size);

/* `size` bytes, aligned for any type. */
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

/* Move the end of a piece; false: it is not the last, or there is no room behind it. */
static inline bool
move_row_memory_end(RowMemory *memory, char *end, char *new_end)
{
	if (end != memory->free || new_end > memory->end)
		return false;
	memory->free = new_end;
	return true;
}

#endif							/* STEPADV_GROUP_ROW_MEMORY_H */

#include "postgres.h"

#ifndef WIN32
#include <sys/mman.h>
#endif

#include "utils/memutils.h"

#include "group/row_memory.h"

#define MIN_BLOCK_SIZE	((Size) 8 * 1024)
#define MAX_BLOCK_SIZE	((Size) 32 * 1024 * 1024)

#define HUGE_PAGE_SIZE	((Size) 2 * 1024 * 1024)

void
begin_row_memory(RowMemory *memory, MemoryContext context, Size largest)
{
	*memory = (RowMemory) {
		.context = context,
		.largest = Min(Max(largest, MIN_BLOCK_SIZE), MAX_BLOCK_SIZE)
	};
}

/*
 * Ask for huge pages, on systems that let programs choose: tens of thousands of small page faults cost more
 * than writing the rows.  If the request fails, nothing is lost.
 */
static void
ask_for_huge_pages(char *block, Size size)
{
#ifdef MADV_HUGEPAGE
	char	   *start = (char *) TYPEALIGN(HUGE_PAGE_SIZE, block);
	char	   *end = (char *) TYPEALIGN_DOWN(HUGE_PAGE_SIZE, block + size);
	int			before = errno;

	if (start < end)
		(void) madvise(start, end - start, MADV_HUGEPAGE);
	errno = before;
#endif
}

/* Each block doubles the total, up to the largest block size. */
void
extend_row_memory(RowMemory *memory, Size size)
{
	Size		block_size = Max(Min(Max(memory->allocated, MIN_BLOCK_SIZE), memory->largest), size);

	memory->free = MemoryContextAllocHuge(memory->context, block_size);
	memory->end = memory->free + block_size;
	memory->allocated += block_size;
	ask_for_huge_pages(memory->free, block_size);
}

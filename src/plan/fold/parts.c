#include "postgres.h"

#include <math.h>

#include "commands/tablespace.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "plan/fold/parts.h"

/* A part and its table should fit into one processor's cache, and into memory. */
#define PART_SIZE		((Size) 1024 * 1024)
#define MIN_PARTS		16
#define MAX_PARTS		512
#define DIVISIONS		64		/* at most, per part */

/* Sizes that an allocator returns without waste.  The exchange reads and writes in smaller blocks. */
#define MIN_BLOCK_SIZE	((Size) 512)
#define MAX_BLOCK_SIZE	((Size) 64 * 1024)
#define EXCHANGE_BLOCK	((Size) 8 * 1024)

static RecordPart
empty_part(int level, double share)
{
	return (RecordPart) {.level = level, .share = share};
}

/* The number of blocks that can be open for writing, in a quarter of the memory. */
static Size
blocks_for_writing(Size limit, Size block_size)
{
	return Max(limit / 4 / block_size, MIN_PARTS);
}

static Size
first_parts(double bytes, Size limit)
{
	double		n_parts = Min(bytes / Min(PART_SIZE, limit / 4), MAX_PARTS);

	return Min(Max(n_parts, MIN_PARTS), blocks_for_writing(limit, MIN_BLOCK_SIZE));
}

static Size
size_of_blocks(Size n_parts, Size limit, Size largest)
{
	Size		size = MIN_BLOCK_SIZE;

	while (size < largest && n_parts <= blocks_for_writing(limit, size * 2))
		size *= 2;
	return size;
}

static Size
divisions(Size limit, Size block_size)
{
	return Min(blocks_for_writing(limit, block_size), DIVISIONS);
}

int
times_divided(double bytes, double table_size, Size limit)
{
	Size		n_parts = first_parts(bytes, limit);
	double		too_large = table_size / n_parts / limit;

	if (too_large <= 1)
		return 1;
	return 1 + ceil(log(too_large) / log(divisions(limit, size_of_blocks(n_parts, limit, MAX_BLOCK_SIZE))));
}

/* Push n parts, which take records from now on. */
static void
push_parts(RecordParts *parts, int n, int level, double share)
{
	parts->first = parts->n_parts;
	parts->n_taking = n;
	parts->level = level;
	parts->n_parts += n;
	if (parts->n_parts > parts->part_room)
	{
		Size		size;

		parts->part_room = parts->n_parts * 2;
		size = parts->part_room * sizeof(RecordPart);
		parts->part = parts->part == NULL ? MemoryContextAlloc(parts->memory, size) : repalloc(parts->part, size);
	}
	for (int p = parts->first; p < parts->n_parts; p++)
		parts->part[p] = empty_part(level, share / n);
}

RecordParts *
create_parts(MemoryContext memory, double bytes, Size limit, ExchangeAccess *exchange)
{
	RecordParts *parts = MemoryContextAllocZero(memory, sizeof(RecordParts));
	Size		n_parts = exchange ? n_exchange_parts(exchange) : first_parts(bytes, limit);

	parts->memory = memory;
	parts->exchange = exchange;
	parts->limit = limit;
	parts->block_size = size_of_blocks(n_parts, limit, exchange ? EXCHANGE_BLOCK : MAX_BLOCK_SIZE);
	begin_row_memory(&parts->blocks, memory, limit / 16);
	push_parts(parts, exchange ? n_sent_parts(exchange) : n_parts, 0, 1);
	parts->n_taking = n_parts;
	return parts;
}

void
free_parts(RecordParts *parts)
{
	if (parts->disk != 0)
		FileClose(parts->disk);
	MemoryContextReset(parts->memory);
}

void
divide_part(RecordParts *parts, const RecordPart *part)
{
	push_parts(parts, divisions(parts->limit, parts->block_size), part->level + 1, part->share);
}

/* ----------
 * Disk
 * ----------
 */

static void
check_bytes(int n, Size size, const char *what)
{
	if (n == size)
		return;
	/* As for other temporary files. */
	if (n >= 0 && errno == 0)
		errno = ENOSPC;
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not %s temporary file: %m", what)));
}

static void
write_block(RecordParts *parts, RecordPart *part, RecordBlock *block)
{
	RecordPlace place = {parts->disk_end, block->size};

	if (parts->disk == 0)
	{
		PrepareTempTablespaces();
		parts->disk = OpenTemporaryFile(false);
	}
	parts->disk_end += block->size;
	block->before = part->last;
	part->last = place;
	errno = 0;
	check_bytes(FileWrite(parts->disk, (char *) block, block->size, place.offset, WAIT_EVENT_BUFFILE_WRITE), block->size, "write to");
}

/* Blocks of the usual size are many, and none of them is freed before all are. */
static RecordBlock *
usual_block(RecordParts *parts)
{
	RecordBlock *block = parts->spare;

	if (block == NULL)
		return take_row_memory(&parts->blocks, parts->block_size);
	parts->spare = block->next;
	return block;
}

static RecordBlock *
allocate_block(RecordParts *parts, Size size)
{
	RecordBlock *block;

	size = Max(size, parts->block_size);
	block = size == parts->block_size ? usual_block(parts) : MemoryContextAllocHuge(parts->memory, size);
	parts->used += size;
	parts->peak = Max(parts->peak, parts->used);
	/* Headers are written to files with their unused fields and padding. */
	memset(block, 0, offsetof(RecordBlock, records));
	block->size = offsetof(RecordBlock, records);
	block->room = size;
	return block;
}

void
free_block(RecordParts *parts, RecordBlock *block)
{
	parts->used -= block->room;
	if (block->room == parts->block_size)
	{
		block->next = parts->spare;
		parts->spare = block;
	}
	else
		pfree(block);
}

static RecordBlock *
read_block(RecordParts *parts, RecordPart *part)
{
	RecordPlace place = part->last;
	RecordBlock *block = allocate_block(parts, place.size);
	uint32		room = block->room;

	errno = 0;
	check_bytes(FileRead(parts->disk, (char *) block, place.size, place.offset, WAIT_EVENT_BUFFILE_READ), place.size, "read from");
	block->room = room;
	part->last = block->before;
	return block;
}

/* Write the blocks in memory of one part to disk: the lowest on the stack, which is needed last. */
static void
write_part(RecordParts *parts)
{
	RecordBlock *block;

	for (RecordPart *part = parts->part; part < parts->part + parts->n_parts; part++)
	{
		if (part->full == NULL)
			continue;
		CHECK_FOR_INTERRUPTS();
		parts->n_on_disk += !part->on_disk;
		part->on_disk = true;
		while ((block = part->full) != NULL)
		{
			part->full = block->next;
			write_block(parts, part, block);
			free_block(parts, block);
		}
		return;
	}
}

/* ----------
 * Writing
 * ----------
 */

/* Close the open block of a part: send it, write it, or keep it.  Returns a block to reuse, or NULL. */
static RecordBlock *
close_block(RecordParts *parts, int p)
{
	RecordPart *part = &parts->part[p];
	RecordBlock *block = part->open;

	if (block == NULL)
		return NULL;
	block->size = part->free - (char *) block;
	part->open = NULL;
	part->free = part->end = NULL;
	if (parts->exchange != NULL && part->level == 0)
	{
		send_block(parts->exchange, p, block);
		parts->sent += block->size;
	}
	else if (part->on_disk)
		write_block(parts, part, block);
	else
	{
		block->next = NULL;
		if (part->full == NULL)
			part->full = block;
		else
			part->last_full->next = block;
		part->last_full = block;
		return NULL;
	}
	block->size = offsetof(RecordBlock, records);
	return block;
}

void
open_block(RecordParts *parts, int part, Size size)
{
	RecordPart *taker = &parts->part[part];
	RecordBlock *block = close_block(parts, part);
	Size		room = Max(parts->block_size, offsetof(RecordBlock, records) + size);

	CHECK_FOR_INTERRUPTS();
	if (room > PG_UINT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("keys of a group of %zu bytes are too large", size)));
	if (block != NULL && block->room != room)
	{
		free_block(parts, block);
		block = NULL;
	}
	if (block == NULL)
	{
		if (parts->used + room > parts->limit)
			write_part(parts);
		block = allocate_block(parts, room);
	}
	taker->open = block;
	taker->free = block->records;
	taker->end = (char *) block + room;
}

void
end_records(RecordParts *parts)
{
	for (int p = parts->first; p < parts->n_parts; p++)
	{
		RecordBlock *block = close_block(parts, p);

		if (block != NULL)
			free_block(parts, block);
	}
}

/* ----------
 * Reading
 * ----------
 */

bool
take_last_part(RecordParts *parts, RecordPart *part)
{
	while (parts->n_parts > 0)
	{
		*part = parts->part[--parts->n_parts];
		if (part->full != NULL || part->last.size > 0)
			return true;
	}
	*part = empty_part(0, parts->exchange ? 1.0 / n_exchange_parts(parts->exchange) : 0);
	return false;
}

RecordBlock *
take_block(RecordParts *parts, RecordPart *part)
{
	RecordBlock *block = part->full;

	CHECK_FOR_INTERRUPTS();
	if (block != NULL)
		part->full = block->next;
	else if (part->last.size > 0)
		block = read_block(parts, part);
	return block;
}

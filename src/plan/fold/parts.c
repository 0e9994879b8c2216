/*
 * parts.c
 *		All groups in parts, by the hashes of their keys.
 */
#include "postgres.h"

#include "commands/tablespace.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "compat.h"
#include "plan/fold/parts.h"

/* A part is to fit a processor's own cache, with what becomes of it. */
#define PART_SIZE		(1024 * 1024)
#define MIN_PARTS		16
#define MAX_PARTS		512

/* As an allocator hands them out without waste. */
#define MIN_BLOCK_SIZE	1024
#define MAX_BLOCK_SIZE	8192

RecordParts *
create_parts(MemoryContext memory, double bytes, Size limit, ExchangeAccess *exchange)
{
	/* Blocks that are being written take at most a quarter of the memory. */
	Size		most = Max(limit / 4 / MIN_BLOCK_SIZE, MIN_PARTS);
	Size		n_parts = exchange ? n_exchange_parts(exchange) :
		Min(Max(Min(bytes / PART_SIZE, MAX_PARTS), MIN_PARTS), most);
	RecordParts *parts;

	parts = MemoryContextAllocZero(memory, offsetof(RecordParts, part) + (n_parts + 1) * sizeof(RecordPart));
	parts->memory = memory;
	parts->exchange = exchange;
	parts->limit = limit;
	parts->n_parts = n_parts;
	parts->block_size = MIN_BLOCK_SIZE;
	while (parts->block_size < MAX_BLOCK_SIZE && parts->block_size * 2 * n_parts <= limit / 4)
		parts->block_size *= 2;
	begin_row_memory(&parts->blocks, memory, limit / 16);
	for (int p = 0; p <= n_parts; p++)
		parts->part[p].file = -1;
	return parts;
}

void
free_parts(RecordParts *parts)
{
	if (parts->disk != NULL)
		BufFileClose(parts->disk);
	MemoryContextReset(parts->memory);
}

/* ----------
 * Disk
 * ----------
 */

static void
seek(RecordParts *parts, int file, off_t offset)
{
	if (BufFileSeek(parts->disk, file, offset, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in temporary file: %m")));
}

static void
write_block(RecordParts *parts, RecordPart *part, RecordBlock *block)
{
	MemoryContext old = MemoryContextSwitchTo(parts->memory);

	if (parts->disk == NULL)
	{
		PrepareTempTablespaces();
		parts->disk = BufFileCreateTemp(false);
	}
	if (parts->is_read)
		seek(parts, parts->end_file, parts->end_offset);
	parts->is_read = false;
	block->file = part->file;
	block->offset = part->offset;
	BufFileTell(parts->disk, &part->file, &part->offset);
	BufFileWrite(parts->disk, block, block->size);
	parts->disk_size += block->size;
	MemoryContextSwitchTo(old);
}

static void
read_bytes(RecordParts *parts, void *bytes, Size size)
{
	if (BufFileRead(parts->disk, bytes, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
}

/* There are many of the usual size, and none of them is given back before all are. */
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
	RecordBlock head;
	RecordBlock *block;

	if (!parts->is_read)
		BufFileTell(parts->disk, &parts->end_file, &parts->end_offset);
	parts->is_read = true;
	seek(parts, part->file, part->offset);
	read_bytes(parts, &head, offsetof(RecordBlock, records));
	block = allocate_block(parts, head.size);
	read_bytes(parts, block->records, head.size - offsetof(RecordBlock, records));
	block->size = head.size;
	part->file = head.file;
	part->offset = head.offset;
	return block;
}

/* All of the last part that is still in memory. */
static void
write_part(RecordParts *parts)
{
	RecordBlock *block;

	for (int p = parts->n_parts; p >= 0; p--)
	{
		RecordPart *part = &parts->part[p];

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

/* What is full goes where it belongs; the result is a block to be used again, if there is one. */
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
	if (parts->exchange != NULL && p < parts->n_parts)
	{
		send_block(parts->exchange, p, block);
		parts->disk_size += block->size;
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
	for (int p = 0; p <= parts->n_parts; p++)
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

RecordBlock *
take_block(RecordParts *parts, int p)
{
	RecordPart *part = &parts->part[p];
	RecordBlock *block = part->full;

	CHECK_FOR_INTERRUPTS();
	if (block != NULL)
		part->full = block->next;
	else if (part->file >= 0)
		block = read_block(parts, part);
	return block;
}

bool
resume_part(RecordParts *parts, int p)
{
	RecordPart *put_off = &parts->part[parts->n_parts];
	RecordBlock *block = close_block(parts, parts->n_parts);

	if (block != NULL)
		free_block(parts, block);
	if (put_off->full == NULL && put_off->file < 0)
		return false;
	parts->part[p] = *put_off;
	memset(put_off, 0, sizeof(*put_off));
	put_off->file = -1;
	return true;
}

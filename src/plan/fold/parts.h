/*
 * parts.h
 *		All groups in parts, by the hashes of their keys, each of which is folded by itself.
 *
 * Where rows of many groups take turns, every row would wait for the memory that
 * its group lies in.  Written one after the other into one of many parts they wait
 * for nothing, and when all have been, a part at a time is folded where everything
 * is at hand.  Blocks of records are kept in memory; when there is no more of it,
 * whole parts go to disk, one after the other.
 *
 * With others, the parts are those of the exchange, and records of all processes meet there.
 */
#ifndef STEPADV_GROUP_FOLD_PARTS_H
#define STEPADV_GROUP_FOLD_PARTS_H

#include "storage/buffile.h"

#include "group/row_memory.h"
#include "plan/fold/exchange.h"

/* The size is first, as an exchange wants it. */
typedef struct RecordBlock
{
	uint32		size;			/* of what is written, this included */
	uint32		room;			/* of all */
	struct RecordBlock *next;
	int			file;			/* on disk: where the block before is; -1: there is none */
	off_t		offset;
	char		records[FLEXIBLE_ARRAY_MEMBER];
} RecordBlock;

typedef struct RecordPart
{
	RecordBlock *open;			/* takes records; NULL: none yet; */
	char	   *free;			/* from here on, */
	char	   *end;			/* up to here, without a look at the block itself */
	RecordBlock *full;			/* in the order in which they were filled: rollouts have steps in theirs */
	RecordBlock *last_full;
	bool		on_disk;		/* what is full goes there */
	int			file;			/* the last block there; -1: none */
	off_t		offset;
} RecordPart;

typedef struct RecordParts
{
	MemoryContext memory;
	ExchangeAccess *exchange;	/* where full blocks go; NULL: they stay here */
	BufFile    *disk;			/* of all parts; NULL: none */
	int			end_file;		/* where it ends, while it is read */
	off_t		end_offset;
	bool		is_read;
	int64		disk_size;		/* of what was written, and sent */
	Size		used;			/* memory of blocks, */
	Size		peak;			/* the most there was, */
	Size		limit;			/* and may be */
	Size		block_size;
	RowMemory	blocks;			/* of this size: */
	RecordBlock *spare;			/* those that are free again */
	int			n_parts;
	int			n_on_disk;
	RecordPart	part[FLEXIBLE_ARRAY_MEMBER];	/* one more: what is put off, which always stays here */
} RecordParts;

/* For about so many bytes of records, in memory up to a limit; with an exchange, in its parts. */
extern RecordParts *create_parts(MemoryContext memory, double bytes, Size limit, ExchangeAccess *exchange);
extern void free_parts(RecordParts *parts);

/* The part of a hash. */
static inline int
part_of_hash(const RecordParts *parts, uint32 hash)
{
	return ((uint64) hash * parts->n_parts) >> 32;
}

/* Another block, with so much room. */
extern void open_block(RecordParts *parts, int part, Size size);

/* Room for a record in a part; then that it is written, up to `end`. */
static inline char *
begin_record(RecordParts *parts, int part, Size size)
{
	const RecordPart *taker = &parts->part[part];

	if (unlikely((Size) (taker->end - taker->free) < size))
		open_block(parts, part, size);
	return taker->free;
}

static inline void
end_record(RecordParts *parts, int part, char *end)
{
	parts->part[part].free = end;
}

/* Everything is written: it goes where it belongs. */
extern void end_records(RecordParts *parts);

/* Take a block out of a part, NULL when there is none left; done with it. */
extern RecordBlock *take_block(RecordParts *parts, int part);
extern void free_block(RecordParts *parts, RecordBlock *block);

/* What was put off takes the place of a part, which is empty; false: nothing was. */
extern bool resume_part(RecordParts *parts, int part);

#endif							/* STEPADV_GROUP_FOLD_PARTS_H */

/*
 * parts.h
 *		Partitions all groups by the hashes of their keys into parts that are folded one by one.
 *
 * If rows of many groups alternate, each row would cause a cache miss for the memory of its group.  Appending
 * records to one of many parts avoids this.  At the end the parts are folded one at a time, so that the groups
 * of a part fit into the cache.  Blocks of records are kept in memory; when the limit is reached, whole parts
 * are written to disk, one after the other.
 *
 * Parts are a stack.  The last one is popped and folded; records of groups that find no room are divided into
 * new parts on top of it, by other bits of the hash.  So each record is written once per level of division.
 *
 * In a parallel fold, the first parts are those of the exchange, which collect the records of all processes.
 */
#ifndef STEPADV_GROUP_FOLD_PARTS_H
#define STEPADV_GROUP_FOLD_PARTS_H

#include "common/hashfn.h"
#include "storage/fd.h"

#include "group/row_memory.h"
#include "plan/fold/exchange.h"

/* The place of a block on disk. */
typedef struct RecordPlace
{
	off_t		offset;
	uint32		size;			/* 0: none */
} RecordPlace;

/* The size comes first, as an exchange requires. */
typedef struct RecordBlock
{
	uint32		size;			/* of the contents, with this header */
	uint32		room;			/* of the whole block */
	struct RecordBlock *next;
	RecordPlace before;			/* on disk: the previous block of this part */
	char		records[FLEXIBLE_ARRAY_MEMBER];
} RecordBlock;

typedef struct RecordPart
{
	RecordBlock *open;			/* takes records; NULL: none yet */
	char	   *free;			/* copies of its free space: from here, */
	char	   *end;			/* to here */
	RecordBlock *full;			/* in order, so that the steps of rollouts stay in order */
	RecordBlock *last_full;
	bool		on_disk;		/* full blocks are written to disk: */
	RecordPlace last;			/* the place of the last one */
	int			level;			/* how often its groups have been divided */
	double		share;			/* the fraction of all groups that is expected here */
} RecordPart;

typedef struct RecordParts
{
	MemoryContext memory;
	ExchangeAccess *exchange;	/* takes full blocks of the first parts; NULL: they stay here */
	File		disk;			/* of all parts; 0: none */
	off_t		disk_end;
	int64		sent;			/* bytes sent to the exchange */
	Size		used;			/* memory of blocks: now, */
	Size		peak;			/* at most so far, */
	Size		limit;			/* and the limit */
	Size		block_size;
	RowMemory	blocks;			/* of block_size: */
	RecordBlock *spare;			/* free ones */
	int			n_on_disk;
	RecordPart *part;			/* the stack */
	int			n_parts;
	int			part_room;
	int			first;			/* of the parts that take records: the first, */
	int			n_taking;		/* how many, */
	int			level;			/* and their level */
} RecordParts;

/* For about so many bytes of records, within a memory limit; with an exchange, in its parts. */
extern RecordParts *create_parts(MemoryContext memory, double bytes, Size limit, ExchangeAccess *exchange);
extern void free_parts(RecordParts *parts);

/* Bytes written to disk or sent. */
static inline int64
parts_on_disk(const RecordParts *parts)
{
	return parts->disk_end + parts->sent;
}

/* For the planner: how often each record is written and read, if a table of all groups takes table_size. */
extern int	times_divided(double bytes, double table_size, Size limit);

/* Divide the groups of a part by other bits of their hashes: push new parts, which take records from now on. */
extern void divide_part(RecordParts *parts, const RecordPart *part);

/* The part that takes records with this hash. */
static inline int
part_of_hash(const RecordParts *parts, uint32 hash)
{
	if (parts->level > 0)
		hash = murmurhash32(hash + parts->level);
	return parts->first + (((uint64) hash * parts->n_taking) >> 32);
}

/* Open another block, with at least this much room. */
extern void open_block(RecordParts *parts, int part, Size size);

/* Room for a record in a part; then finish the record, which ends at end. */
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

/* Finish writing: all open blocks are filed, sent or written. */
extern void end_records(RecordParts *parts);

/* Pop a part that has records.  False: none is left, and *part is an empty one, to be filled from the exchange. */
extern bool take_last_part(RecordParts *parts, RecordPart *part);

/* The next block of a part, NULL after the last; release a block. */
extern RecordBlock *take_block(RecordParts *parts, RecordPart *part);
extern void free_block(RecordParts *parts, RecordBlock *block);

#endif							/* STEPADV_GROUP_FOLD_PARTS_H */

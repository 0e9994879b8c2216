/*
 * files.h
 *		Files by which the processes that fold together give each other blocks of records.
 *
 * Each process writes one file for the blocks of all parts: to make a file takes a file system
 * longer than to write a few blocks, and only one process at a time can do it.  Where
 * the blocks of a part are is written behind them, and its position is in shared
 * memory.  A part is read out of the files of all.
 */
#ifndef STEPADV_GROUP_FOLD_FILES_H
#define STEPADV_GROUP_FOLD_FILES_H

#include "storage/sharedfileset.h"

typedef struct BlockPlace
{
	int			file;			/* as from BufFileTell */
	off_t		offset;
} BlockPlace;

/* Of one process and part, in shared memory: the position in its file of the list of blocks. */
typedef struct SentBlocks
{
	uint32		n_blocks;
	BlockPlace	places;
} SentBlocks;

typedef struct BlockFiles BlockFiles;	/* one process's way to them */

/* `sent` of every process, each with all parts; zeroed, before anybody writes. */
extern BlockFiles *open_block_files(SharedFileSet *set, SentBlocks *sent, int n_processes, int n_parts, int process);
extern void close_block_files(BlockFiles *files);

/* A block, whose first word is its size; then that it was the last one of this process, before others may read. */
extern void put_block(BlockFiles *files, int part, const void *block);
extern void end_blocks(BlockFiles *files);

/* What all have put into a part: begin, then a block after the other, which lives until the next, NULL at the end. */
extern void begin_blocks(BlockFiles *files, int part);
extern void *get_block(BlockFiles *files);

#endif							/* STEPADV_GROUP_FOLD_FILES_H */

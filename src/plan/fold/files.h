/*
 * files.h
 *		Temporary files through which the processes of a parallel fold exchange blocks of records.
 *
 * Each process writes the blocks of all parts to one file: creating a file takes longer than writing a few
 * blocks, and the file system creates files one at a time.  The list of a part's blocks is written after the
 * blocks, and its position is in shared memory.  A part is read from the files of all processes.
 */
#ifndef STEPADV_GROUP_FOLD_FILES_H
#define STEPADV_GROUP_FOLD_FILES_H

#include "storage/sharedfileset.h"

typedef struct BlockPlace
{
	int			file;			/* as returned by BufFileTell */
	off_t		offset;
} BlockPlace;

/* In shared memory, for one process and part: where in its file the list of blocks is. */
typedef struct SentBlocks
{
	uint32		n_blocks;
	BlockPlace	places;
} SentBlocks;

typedef struct BlockFiles BlockFiles;	/* access of one process */

/* sent: an array over processes and parts, zeroed before any process writes. */
extern BlockFiles *open_block_files(SharedFileSet *set, SentBlocks *sent, int n_processes, int n_parts, int process);
extern void close_block_files(BlockFiles *files);

/* Write a block, whose first word is its size; write the lists of blocks, before other processes may read. */
extern void put_block(BlockFiles *files, int part, const void *block);
extern void end_blocks(BlockFiles *files);

/* Start reading a part; its next block, valid until the next call, or NULL at the end. */
extern void begin_blocks(BlockFiles *files, int part);
extern void *get_block(BlockFiles *files);

#endif							/* STEPADV_GROUP_FOLD_FILES_H */

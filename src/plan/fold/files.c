#include "postgres.h"

#include <fcntl.h>

#include "storage/buffile.h"
#include "utils/memutils.h"

#include "compat.h"
#include "plan/fold/files.h"

/* The places of the blocks of a part that this process wrote. */
typedef struct PutBlocks
{
	BlockPlace *places;
	uint32		n_blocks;
	uint32		room;
} PutBlocks;

struct BlockFiles
{
	MemoryContext memory;
	SharedFileSet *set;
	SentBlocks *sent;
	int			n_processes;
	int			n_parts;
	int			process;
	BufFile   **file;			/* by process; NULL: not opened */
	PutBlocks  *put;			/* by part */

	/* current position when reading */
	int			part;
	int			from;			/* the process whose blocks are read */
	uint32		n_blocks;		/* of that process, */
	uint32		next;			/* the next one, */
	BlockPlace *places;			/* their places, */
	Size		places_room;
	char	   *block;			/* and the last one read */
	Size		block_room;
};

#define MIN_ROOM 16

BlockFiles *
open_block_files(SharedFileSet *set, SentBlocks *sent, int n_processes, int n_parts, int process)
{
	BlockFiles *files = palloc0(sizeof(BlockFiles));

	files->memory = CurrentMemoryContext;
	files->set = set;
	files->sent = sent;
	files->n_processes = n_processes;
	files->n_parts = n_parts;
	files->process = process;
	files->file = palloc0(n_processes * sizeof(BufFile *));
	files->put = palloc0(n_parts * sizeof(PutBlocks));
	return files;
}

void
close_block_files(BlockFiles *files)
{
	for (int p = 0; p < files->n_processes; p++)
	{
		if (files->file[p] != NULL)
			BufFileClose(files->file[p]);
		files->file[p] = NULL;
	}
	for (int p = 0; p < files->n_parts; p++)
		files->put[p].n_blocks = 0;
	files->n_blocks = files->next = 0;
	files->from = files->n_processes;
}

static void
name_file(char *name, Size size, int process)
{
	snprintf(name, size, "process%d", process);
}

static void
note_place(BlockFiles *files, PutBlocks *put, const BlockPlace *place)
{
	if (put->n_blocks == put->room)
	{
		put->room = Max(put->room * 2, MIN_ROOM);
		put->places = put->places == NULL ? MemoryContextAlloc(files->memory, put->room * sizeof(BlockPlace)) :
			repalloc_huge(put->places, put->room * sizeof(BlockPlace));
	}
	put->places[put->n_blocks++] = *place;
}

void
put_block(BlockFiles *files, int part, const void *block)
{
	BufFile   **file = &files->file[files->process];
	BlockPlace	place;

	if (*file == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(files->memory);
		char		name[32];

		name_file(name, sizeof(name), files->process);
		*file = create_shared_file(files->set, name);
		MemoryContextSwitchTo(old);
	}
	/* It is written to the file with its padding. */
	memset(&place, 0, sizeof(place));
	BufFileTell(*file, &place.file, &place.offset);
	note_place(files, &files->put[part], &place);
	BufFileWrite(*file, unconstify(void *, block), *(const uint32 *) block);
}

void
end_blocks(BlockFiles *files)
{
	BufFile    *file = files->file[files->process];

	if (file == NULL)
		return;
	for (int p = 0; p < files->n_parts; p++)
	{
		const PutBlocks *put = &files->put[p];
		SentBlocks *sent = &files->sent[files->process * files->n_parts + p];

		if (put->n_blocks == 0)
			continue;
		BufFileTell(file, &sent->places.file, &sent->places.offset);
		BufFileWrite(file, put->places, put->n_blocks * sizeof(BlockPlace));
		sent->n_blocks = put->n_blocks;
	}
	export_shared_file(file);
}

static void
read_at(BufFile *file, const BlockPlace *place, void *bytes, Size size)
{
	if (place != NULL && BufFileSeek(file, place->file, place->offset, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in temporary file: %m")));
	if (BufFileRead(file, bytes, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
}

/* Does not keep the previous contents. */
static void *
make_room(const BlockFiles *files, void *bytes, Size *room, Size size)
{
	if (bytes != NULL && *room >= size)
		return bytes;
	if (bytes != NULL)
		pfree(bytes);
	*room = size;
	return MemoryContextAllocHuge(files->memory, size);
}

/* Open the list of the next process's blocks of the part. */
static void
begin_process(BlockFiles *files)
{
	const SentBlocks *sent = &files->sent[files->from * files->n_parts + files->part];
	BufFile   **file = &files->file[files->from];

	files->next = 0;
	files->n_blocks = sent->n_blocks;
	if (files->n_blocks == 0)
		return;
	if (*file == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(files->memory);
		char		name[32];

		name_file(name, sizeof(name), files->from);
		*file = open_shared_file(files->set, name);
		MemoryContextSwitchTo(old);
	}
	files->places = make_room(files, files->places, &files->places_room, files->n_blocks * sizeof(BlockPlace));
	read_at(*file, &sent->places, files->places, files->n_blocks * sizeof(BlockPlace));
}

void
begin_blocks(BlockFiles *files, int part)
{
	files->part = part;
	files->from = 0;
	begin_process(files);
}

void *
get_block(BlockFiles *files)
{
	BufFile    *file;
	uint32		size;

	while (files->next == files->n_blocks)
	{
		if (files->from >= files->n_processes || ++files->from >= files->n_processes)
			return NULL;
		begin_process(files);
	}
	file = files->file[files->from];
	read_at(file, &files->places[files->next++], &size, sizeof(size));
	files->block = make_room(files, files->block, &files->block_room, size);
	memcpy(files->block, &size, sizeof(size));
	read_at(file, NULL, files->block + sizeof(size), size - sizeof(size));
	return files->block;
}

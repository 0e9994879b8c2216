#include "postgres.h"

#include "commands/tablespace.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "plan/fold/spill.h"

/* A spilled group: its keys as a tuple, then its value, each aligned. */
typedef struct SpilledGroup
{
	uint32		hash;
	uint32		size;			/* of keys and value */
} SpilledGroup;

struct GroupSpill
{
	MemoryContext memory;
	File		file;
	off_t		size;			/* of what is in the file */
	SpilledGroup *groups;
	uint64		n_groups;
	uint64		room;
	char	   *buffer;
	Size		buffer_size;
	Size		in_buffer;		/* bytes to be written, or that were read */

	/* current position when reading */
	const GroupMarks *marks;
	bool		divided;
	uint64		next;
	off_t		next_offset;
	off_t		buffer_offset;	/* of the buffer in the file */
};

#define MIN_ROOM	1024

GroupSpill *
create_spill(Size buffer_size)
{
	GroupSpill *spill = palloc0(sizeof(GroupSpill));

	spill->memory = CurrentMemoryContext;
	spill->buffer_size = buffer_size;
	spill->buffer = MemoryContextAllocHuge(spill->memory, buffer_size);
	PrepareTempTablespaces();
	spill->file = OpenTemporaryFile(false);
	return spill;
}

void
close_spill(GroupSpill *spill)
{
	FileClose(spill->file);
}

int64
spill_size(const GroupSpill *spill)
{
	return spill->size + (spill->marks == NULL ? spill->in_buffer : 0);
}

static void
write_buffer(GroupSpill *spill)
{
	Size		written = 0;

	CHECK_FOR_INTERRUPTS();
	while (written < spill->in_buffer)
	{
		int			n = FileWrite(spill->file, spill->buffer + written, spill->in_buffer - written, spill->size + written,
								  WAIT_EVENT_BUFFILE_WRITE);

		if (n <= 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not write to temporary file: %m")));
		written += n;
	}
	spill->size += written;
	spill->in_buffer = 0;
}

static void
append(GroupSpill *spill, const void *bytes, Size size)
{
	const char *from = bytes;
	Size		padding = MAXALIGN(size) - size;

	while (size > 0)
	{
		Size		n = Min(size, spill->buffer_size - spill->in_buffer);

		memcpy(spill->buffer + spill->in_buffer, from, n);
		spill->in_buffer += n;
		from += n;
		size -= n;
		if (spill->in_buffer == spill->buffer_size)
			write_buffer(spill);
	}
	/* The buffer size is aligned, so the padding fits. */
	memset(spill->buffer + spill->in_buffer, 0, padding);
	spill->in_buffer += padding;
	if (spill->in_buffer == spill->buffer_size)
		write_buffer(spill);
}

void
spill_value(GroupSpill *spill, uint32 hash, MinimalTuple keys, const struct varlena *value)
{
	Size		size = MAXALIGN(keys->t_len) + (value == NULL ? 0 : MAXALIGN(VARSIZE(value)));

	if (spill->n_groups == spill->room)
	{
		spill->room = Max(spill->room * 2, MIN_ROOM);
		spill->groups = spill->groups == NULL ? MemoryContextAllocHuge(spill->memory, spill->room * sizeof(SpilledGroup)) :
			repalloc_huge(spill->groups, spill->room * sizeof(SpilledGroup));
	}
	spill->groups[spill->n_groups++] = (SpilledGroup) {hash, (uint32) size};
	append(spill, keys, keys->t_len);
	if (value != NULL)
		append(spill, value, VARSIZE(value));
}

void
begin_spilled(GroupSpill *spill, const GroupMarks *marks, bool divided)
{
	if (spill->marks == NULL)
		write_buffer(spill);
	spill->marks = marks;
	spill->divided = divided;
	spill->next = 0;
	spill->next_offset = 0;
	spill->in_buffer = 0;
}

/* Read at least size bytes at an offset, or as much as fits into the buffer, unless few groups are read. */
static void
read_buffer(GroupSpill *spill, off_t offset, Size size)
{
	Size		wanted = spill->divided ? size : Max(size, Min(spill->buffer_size, (Size) (spill->size - offset)));

	CHECK_FOR_INTERRUPTS();
	spill->in_buffer = 0;
	if (wanted > spill->buffer_size)
	{
		pfree(spill->buffer);
		spill->buffer = MemoryContextAllocHuge(spill->memory, wanted);
		spill->buffer_size = wanted;
	}
	spill->buffer_offset = offset;
	while (spill->in_buffer < wanted)
	{
		int			n = FileRead(spill->file, spill->buffer + spill->in_buffer, wanted - spill->in_buffer, offset + spill->in_buffer,
								 WAIT_EVENT_BUFFILE_READ);

		if (n <= 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read from temporary file: %m")));
		spill->in_buffer += n;
	}
}

bool
next_spilled(GroupSpill *spill, uint32 *hash, MinimalTuple *keys, struct varlena **value)
{
	while (spill->next < spill->n_groups)
	{
		const SpilledGroup *group = &spill->groups[spill->next++];
		off_t		offset = spill->next_offset;
		Size		keys_size;

		spill->next_offset += group->size;
		if (spill->next % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
		if (is_divided(spill->marks, group->hash) != spill->divided)
			continue;
		if (spill->in_buffer == 0 || offset < spill->buffer_offset || offset + group->size > spill->buffer_offset + spill->in_buffer)
			read_buffer(spill, offset, group->size);
		*hash = group->hash;
		*keys = (MinimalTuple) (spill->buffer + (offset - spill->buffer_offset));
		keys_size = MAXALIGN((*keys)->t_len);
		*value = keys_size == group->size ? NULL : (struct varlena *) ((char *) *keys + keys_size);
		return true;
	}
	return false;
}

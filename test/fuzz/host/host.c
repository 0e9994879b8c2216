/*
 * host.c
 *		Allocation and strings for the kernels outside a server.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

typedef struct Chunk
{
	struct Chunk *next;
	struct Chunk *previous;
	Size		size;
	/* The bytes follow; 16 keeps them aligned. */
} __attribute__((aligned(16))) Chunk;

static Chunk chunks = {&chunks, &chunks, 0};

void *
palloc(Size size)
{
	Chunk	   *chunk = malloc(sizeof(Chunk) + size);

	if (chunk == NULL)
		abort();
	chunk->size = size;
	chunk->next = chunks.next;
	chunk->previous = &chunks;
	chunks.next->previous = chunk;
	chunks.next = chunk;
	return chunk + 1;
}

void *
palloc0(Size size)
{
	return memset(palloc(size), 0, size);
}

void
pfree(void *pointer)
{
	Chunk	   *chunk = (Chunk *) pointer - 1;

	chunk->previous->next = chunk->next;
	chunk->next->previous = chunk->previous;
	free(chunk);
}

void *
repalloc(void *pointer, Size size)
{
	Chunk	   *chunk = (Chunk *) pointer - 1;
	void	   *moved = palloc(size);

	memcpy(moved, pointer, Min(size, chunk->size));
	pfree(pointer);
	return moved;
}

void
host_reset(void)
{
	while (chunks.next != &chunks)
		pfree(chunks.next + 1);
}

void
initStringInfo(StringInfo string)
{
	string->maxlen = 64;
	string->data = palloc(string->maxlen);
	resetStringInfo(string);
}

void
resetStringInfo(StringInfo string)
{
	string->data[0] = '\0';
	string->len = 0;
	string->cursor = 0;
}

void
enlargeStringInfo(StringInfo string, int needed)
{
	int			maxlen = string->maxlen;

	while (maxlen < string->len + needed + 1)
		maxlen *= 2;
	if (maxlen > string->maxlen)
	{
		string->data = repalloc(string->data, maxlen);
		string->maxlen = maxlen;
	}
}

void
appendBinaryStringInfo(StringInfo string, const char *data, int length)
{
	Assert(length >= 0);
	enlargeStringInfo(string, length);
	memcpy(string->data + string->len, data, length);
	string->len += length;
	string->data[string->len] = '\0';
}

void
appendStringInfoChar(StringInfo string, char c)
{
	appendBinaryStringInfo(string, &c, 1);
}

void
appendStringInfoString(StringInfo string, const char *text)
{
	appendBinaryStringInfo(string, text, (int) strlen(text));
}

/*
 * host.c
 *		Allocation and strings for the kernels outside a server.
 */
#include "postgres.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include "lib/stringinfo.h"

/*
 * Chunks come from one region, which host_reset() frees as a whole: malloc() for each
 * took half of the time.  The address sanitizer reports accesses to gaps between chunks
 * and to freed chunks, which are poisoned; without it, guard bytes after each chunk show
 * writes beyond its end.
 */
#define REGION_SIZE (((Size) 1) << 30)
#define RED_ZONE 32
#define GUARD 0xA5
#define PAGE 4096
#define TEXT_SIZE (16 * PAGE)

int64		host_turn = 0;
static char *region;
static Size used;

static Size
padded(Size size)
{
	return (size + RED_ZONE + 15) & ~(Size) 15;
}

void *
palloc(Size size)
{
	char	   *chunk;

	if (region == NULL)
	{
		region = mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (region == MAP_FAILED)
			abort();
		used = RED_ZONE;
		ASAN_POISON_MEMORY_REGION(region, REGION_SIZE);
	}
	if (size > REGION_SIZE - used - RED_ZONE)
		abort();
	chunk = region + used;
	used += padded(size);
	ASAN_UNPOISON_MEMORY_REGION(chunk - sizeof(Size), sizeof(Size) + size);
	memcpy(chunk - sizeof(Size), &size, sizeof(Size));
	ASAN_POISON_MEMORY_REGION(chunk - sizeof(Size), sizeof(Size));
#if !__has_feature(address_sanitizer)
	memset(chunk + size, GUARD, padded(size) - size);
#endif
	return chunk;
}

/* Without the address sanitizer, the text ends at a protected page, which detects reads beyond it. */
char *
host_text(const uint8_t *data, Size size)
{
#if __has_feature(address_sanitizer)
	return memcpy(palloc(size), data, size);
#else
	static char *ends[2];
	static int	turn = 0;
	char	  **end = &ends[turn++ % 2];

	if (*end == NULL)
	{
		*end = mmap(NULL, TEXT_SIZE + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (*end == MAP_FAILED || mprotect(*end + TEXT_SIZE, PAGE, PROT_NONE) != 0)
			abort();
		*end += TEXT_SIZE;
	}
	return memcpy(*end - size, data, size);
#endif
}

static Size
chunk_size(void *pointer)
{
	Size		size;
	char	   *head = (char *) pointer - sizeof(Size);

	ASAN_UNPOISON_MEMORY_REGION(head, sizeof(Size));
	memcpy(&size, head, sizeof(Size));
	ASAN_POISON_MEMORY_REGION(head, sizeof(Size));
	return size;
}

void *
palloc0(Size size)
{
	return memset(palloc(size), 0, size);
}

void
pfree(void *pointer)
{
	ASAN_POISON_MEMORY_REGION(pointer, chunk_size(pointer));
}

void *
repalloc(void *pointer, Size size)
{
	void	   *moved = palloc(size);

	memcpy(moved, pointer, Min(size, chunk_size(pointer)));
	pfree(pointer);
	return moved;
}

void
host_reset(void)
{
#if !__has_feature(address_sanitizer)
	static char untouched[2 * RED_ZONE];

	memset(untouched, GUARD, sizeof(untouched));
	for (Size at = RED_ZONE; at < used;)
	{
		Size		size = chunk_size(region + at);

		if (memcmp(region + at + size, untouched, padded(size) - sizeof(Size) - size) != 0)
			abort();
		at += padded(size);
	}
#endif
	if (used > RED_ZONE)
		ASAN_POISON_MEMORY_REGION(region, used);
	used = RED_ZONE;
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

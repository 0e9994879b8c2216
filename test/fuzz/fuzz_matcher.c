/*
 * fuzz_matcher.c
 *		The similarity of two texts, separated by a NUL; each byte is a character.
 */
#include "postgres.h"

#include "signatures/call.h"
#include "signatures/sequence_matcher.h"

void
edit_hash(Span old_text, Span new_text, ContentHash kind, char digits[5])
{
	abort();
}

static SequenceIndex *
index_bytes(const uint8_t *bytes, size_t length)
{
	uint32	   *characters = palloc(sizeof(uint32) * length);
	size_t		i;

	for (i = 0; i < length; i++)
		characters[i] = bytes[i];
	return sequence_index(characters, (int) length);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	size_t		length = nul ? (size_t) (nul - data) : size;
	SequenceIndex *a = index_bytes(data, length);
	SequenceIndex *b = index_bytes(data + length, size - length);
	double		ratio = sequence_ratio(a, b);

	if (!(ratio >= 0 && ratio <= 1) || ratio > sequence_ratio_bound(a, b) + 1e-12)
		abort();
	if (sequence_ratio(a, a) != 1.0)
		abort();
	host_reset();
	return 0;
}

/*
 * fuzz_observation.c
 *		Any bytes as an observation; the first one chooses the options.
 */
#include "postgres.h"

#include "signatures/call.h"
#include "signatures/observation.h"

/* The kernels need it to be linked, but do not call it here. */
void
edit_hash(Span old_text, Span new_text, ContentHash kind, char digits[5])
{
	abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ObservationOptions options;
	StringInfoData out;
	StringInfoData again;
	char	   *text;
	int			i;

	if (size < 1)
		return 0;
	text = host_text(data + 1, size - 1);
	options.whitespace = data[0] & 1;
	options.ansi = data[0] & 2;
	options.lowercase = data[0] & 4;
	options.digits = data[0] & 8;
	options.addresses = data[0] & 16;
	options.timestamps = data[0] & 32;
	options.root = data[0] & 64 ? span_of("/testbed/") : span_none();
	initStringInfo(&out);
	normalize_text(&out, span_make(text, (int) size - 1), &options);

	if (options.whitespace && out.len > 0)
	{
		if (is_space(out.data[0]) || is_space(out.data[out.len - 1]))
			abort();
		for (i = 1; i < out.len; i++)
			if (is_space(out.data[i]) && (out.data[i] != ' ' || out.data[i - 1] == ' '))
				abort();
	}
	if (options.lowercase)
		for (i = 0; i < out.len; i++)
			if (out.data[i] >= 'A' && out.data[i] <= 'Z')
				abort();
	if (data[0] == 0 && (out.len != (int) size - 1 || memcmp(out.data, text, out.len) != 0))
		abort();
	/* All bytes that are not ASCII remain: the text keeps its encoding. */
	if ((data[0] & 2) == 0)
	{
		int			before = 0;
		int			after = 0;

		for (i = 0; i < (int) size - 1; i++)
			before += (unsigned char) text[i] >= 0x80;
		for (i = 0; i < out.len; i++)
			after += (unsigned char) out.data[i] >= 0x80;
		if (before != after)
			abort();
	}
	initStringInfo(&again);
	normalize_text(&again, span_make(out.data, out.len), &options);
	host_reset();
	return 0;
}

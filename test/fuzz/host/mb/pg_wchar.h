/*
 * pg_wchar.h
 *		PostgreSQL's functions for UTF-8 and surrogates, for the signature kernels.
 */
#ifndef HOST_PG_WCHAR_H
#define HOST_PG_WCHAR_H

#define MAX_MULTIBYTE_CHAR_LEN 4

typedef unsigned int pg_wchar;

static inline bool
is_utf16_surrogate_first(pg_wchar c)
{
	return c >> 10 == 0xD800 >> 10;
}

static inline bool
is_utf16_surrogate_second(pg_wchar c)
{
	return c >> 10 == 0xDC00 >> 10;
}

static inline pg_wchar
surrogate_pair_to_codepoint(pg_wchar first, pg_wchar second)
{
	return 0x10000 + ((first & 0x3FF) << 10) + (second & 0x3FF);
}

static inline int
pg_utf_mblen(const unsigned char *s)
{
	return *s < 0x80 ? 1 : *s < 0xE0 ? 2 : *s < 0xF0 ? 3 : 4;
}

/* The first byte determines how many bytes follow, with six bits each. */
static inline unsigned char *
unicode_to_utf8(pg_wchar c, unsigned char *bytes)
{
	static const unsigned char marks[] = {0, 0, 0xC0, 0xE0, 0xF0};
	int			n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (int i = n - 1; i > 0; i--, c >>= 6)
		bytes[i] = (unsigned char) (0x80 | (c & 0x3F));
	bytes[0] = (unsigned char) (c | marks[n]);
	return bytes;
}

#endif							/* HOST_PG_WCHAR_H */

/*
 * latin1.c
 *		Bytes of a file that came in as LATIN1, one character each, as UTF-8.
 *
 * Most files are ASCII all through: they are what they were.
 */
#include "postgres.h"

#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "import/latin1.h"

PG_FUNCTION_INFO_V1(stepadv_import_utf8);

static bool
is_all_ascii(Words words)
{
	const char *s = words.s;
	const char *end = s + words.length;

	for (; end - s >= (ptrdiff_t) sizeof(uint64); s += sizeof(uint64))
	{
		uint64		bytes;

		memcpy(&bytes, s, sizeof(bytes));
		if (bytes & UINT64CONST(0x8080808080808080))
			return false;
	}
	while (s < end && !IS_HIGHBIT_SET(*s))
		s++;
	return s == end;
}

Words
utf8_of_latin1(Words words)
{
	char	   *bytes;

	if (is_all_ascii(words))
		return words;
	bytes = (char *) pg_do_encoding_conversion((unsigned char *) pnstrdup(words.s, words.length), words.length, PG_UTF8, PG_LATIN1);
	words = (Words) {bytes, strlen(bytes)};
	pg_verify_mbstr(PG_UTF8, words.s, words.length, false);
	return words;
}

/* import_utf8(document text): the text itself where it is ASCII */
Datum
stepadv_import_utf8(PG_FUNCTION_ARGS)
{
	text	   *document = PG_GETARG_TEXT_PP(0);
	Words		words = {VARDATA_ANY(document), VARSIZE_ANY_EXHDR(document)};
	Words		bytes = utf8_of_latin1(words);

	PG_RETURN_TEXT_P(bytes.s == words.s ? document : (text *) text_of_words(bytes));
}

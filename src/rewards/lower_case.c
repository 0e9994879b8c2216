/*
 * lower_case.c
 *		Lower case as Python has it, whatever the locale.
 *
 * The rewards compare answers as verifiers do, which are written in Python: by
 * str.lower(), the full mapping of the Unicode standard.  What lower() does
 * depends on the collation and on its provider, and none of them does that: a
 * capital sigma that ends a word becomes a final one, a dotted capital I keeps
 * its dot.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "rewards/lower_case.h"

/* Of characters beyond ASCII. */
typedef struct LowerRun
{
	int32		first;
	int32		last;
	int32		step;
	int32		by;
} LowerRun;

/* The second outweighs the first: so the standard's condition reads. */
typedef enum CaseClass
{
	UNCASED,
	CASED,
	CASE_IGNORABLE
} CaseClass;

typedef struct CaseClassRange
{
	int32		first;
	int32		last;
	CaseClass	class;
} CaseClassRange;

#include "rewards/case_tables.h"

#define CAPITAL_SIGMA 0x03a3
#define SMALL_SIGMA 0x03c3
#define FINAL_SIGMA 0x03c2
#define CAPITAL_DOTTED_I 0x0130

#define CANCEL_EVERY 65536		/* bytes */

/* Both tables are of ranges in order: the one that holds c, or NULL. */
#define FIND_RANGE(table, c, found) \
	do { \
		int			low = 0; \
		int			high = lengthof(table); \
		\
		while (low < high) \
		{ \
			int			middle = (low + high) / 2; \
			\
			if (table[middle].last < (c)) \
				low = middle + 1; \
			else \
				high = middle; \
		} \
		found = low < lengthof(table) && table[low].first <= (c) ? &table[low] : NULL; \
	} while (0)

static int32
lower_of(int32 c)
{
	const LowerRun *run;

	FIND_RANGE(lower_runs, c, run);
	return run != NULL && (c - run->first) % run->step == 0 ? c + run->by : c;
}

static CaseClass
class_of_ascii(unsigned char c)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
		return CASED;
	return c != '\0' && strchr("'.:^`", c) != NULL ? CASE_IGNORABLE : UNCASED;
}

static CaseClass
class_at(const char *at)
{
	const CaseClassRange *range;
	int32		c;

	if (!IS_HIGHBIT_SET(*at))
		return class_of_ascii((unsigned char) *at);
	c = (int32) utf8_to_unicode((const unsigned char *) at);
	FIND_RANGE(case_class_ranges, c, range);
	return range != NULL ? range->class : UNCASED;
}

/*
 * Does the word end with the sigma at `at`?  A cased letter comes before it and
 * none after it, not counting what is ignored.  Neither way goes beyond the next
 * sigma, so all of them together are linear in the text.
 */
static bool
is_final(const char *start, const char *at, const char *end)
{
	const char *before = at;
	const char *after = at + pg_utf_mblen((const unsigned char *) at);
	CaseClass	class;

	do
	{
		if (before == start)
			return false;
		do
			before--;
		while (before > start && ((unsigned char) *before & 0xc0) == 0x80);
		class = class_at(before);
	} while (class == CASE_IGNORABLE);
	if (class != CASED)
		return false;
	while (after < end && class_at(after) == CASE_IGNORABLE)
		after += pg_utf_mblen((const unsigned char *) after);
	return after >= end || class_at(after) != CASED;
}

static void
append_character(StringInfo out, int32 c)
{
	unsigned char utf8[8];

	unicode_to_utf8((pg_wchar) c, utf8);
	appendBinaryStringInfo(out, (const char *) utf8, pg_utf_mblen(utf8));
}

/* One character beyond ASCII. */
static void
append_lower(StringInfo out, const char *start, const char *at, const char *end)
{
	int32		c = (int32) utf8_to_unicode((const unsigned char *) at);

	if (c == CAPITAL_SIGMA)
		append_character(out, is_final(start, at, end) ? FINAL_SIGMA : SMALL_SIGMA);
	else if (c == CAPITAL_DOTTED_I)
	{
		append_character(out, 'i');
		append_character(out, 0x0307);	/* the dot above */
	}
	else
		append_character(out, lower_of(c));
}

char *
lower_case(Span text)
{
	/* Of what bytes beyond ASCII mean, SQL_ASCII says nothing. */
	bool		is_unicode = GetDatabaseEncoding() != PG_SQL_ASCII;
	const char *start = text.data;
	const char *end;
	StringInfoData out;

	if (is_unicode && GetDatabaseEncoding() != PG_UTF8)
	{
		start = pg_server_to_any(text.data, text.length, PG_UTF8);
		if (start != text.data)
			text.length = strlen(start);
	}
	end = start + text.length;
	initStringInfo(&out);
	enlargeStringInfo(&out, text.length);
	for (const char *at = start; at < end;)
	{
		const char *stop = Min(end, at + CANCEL_EVERY);

		CHECK_FOR_INTERRUPTS();
		while (at < stop)
		{
			if (!IS_HIGHBIT_SET(*at) || !is_unicode)
			{
				appendStringInfoCharMacro(&out, pg_ascii_tolower((unsigned char) *at));
				at++;
			}
			else
			{
				append_lower(&out, start, at, end);
				at += pg_utf_mblen((const unsigned char *) at);
			}
		}
	}
	return out.data;
}

/*
 * words.c
 *		What a message's content says, and whether that reads like a failure.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "compat.h"
#include "import/words.h"

PG_FUNCTION_INFO_V1(stepadv_import_text);
PG_FUNCTION_INFO_V1(stepadv_import_ok);

/* ----------
 * What a content says
 * ----------
 */

Words
words_of_part(const JsonbValue *part)
{
	Words		words;

	if (part->type == jbvString)
		return json_words(part);
	words = json_member_words(part, "text");
	if (words.s == NULL)
		words = json_member_words(part, "refusal");
	if (words.s == NULL)
		words = json_member_words(part, "content");
	return words;
}

void
add_line(StringInfo lines, bool *any, Words words)
{
	if (words.s == NULL)
		return;
	if (*any)
		appendStringInfoChar(lines, '\n');
	appendBinaryStringInfo(lines, words.s, words.length);
	*any = true;
}

Words
words_of_content(const JsonbValue *content)
{
	Words		words;

	if (content->type == jbvString || content->type == jbvNull)
		return json_words(content);
	if (json_is_array(content))
	{
		StringInfoData lines;
		bool		any = false;
		int			n;
		JsonbValue *parts = json_elements(content, &n);

		initStringInfo(&lines);
		for (int i = 0; i < n; i++)
			add_line(&lines, &any, words_of_part(&parts[i]));
		return any ? (Words) {lines.data, lines.len} : NO_WORDS;
	}
	words = json_member_words(content, "text");
	return words.s != NULL ? words : json_words(content);
}

/* import_text(content jsonb) */
Datum
stepadv_import_text(PG_FUNCTION_ARGS)
{
	JsonbValue	content = json_root(PG_GETARG_JSONB_P(0));
	Words		words = words_of_content(&content);

	if (words.s == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(text_of_words(words));
}

/* ----------
 * Whether it reads like a failure
 * ----------
 */

static bool
matches(Words words, const char *pattern, bool ignore_case)
{
	return DatumGetBool(DirectFunctionCall2Coll(ignore_case ? texticregexeq : textregexeq, DEFAULT_COLLATION_OID,
												PointerGetDatum(text_of_words(words)), CStringGetTextDatum(pattern)));
}

bool
reads_well(Words result)
{
	Words		head = {result.s, pg_mbcharcliplen(result.s, result.length, 200)};
	int			first = 0;
	bool		is_any;

	/* A byte of more than ASCII may be a space as well: any pattern may hold. */
	while (first < head.length && isspace((unsigned char) head.s[first]))
		first++;
	is_any = first < head.length && IS_HIGHBIT_SET(head.s[first]);
	if ((is_any || (first < head.length && head.s[first] == '<')) && matches(head, "^\\s*<returncode>", false))
		return matches(head, "^\\s*<returncode>0</returncode>", false);
	if ((is_any || (first < head.length && head.s[first] == '{')) && matches(head, "^\\s*\\{", false) &&
		matches(result, "\"(exit_code|returncode)\": *-?[0-9]", false))
		return matches(result, "\"(exit_code|returncode)\": *0\\M", false);
	return !matches(head, "^[[:space:][({\"'<]*(error\\M|\\w*(error|exception):|traceback \\(most recent call last\\)|tool_use_error|command failed|fatal:|"
					"invalid action|could not find|no results\\M|the last page searched was not found)", true);
}

/* import_ok(result text) */
Datum
stepadv_import_ok(PG_FUNCTION_ARGS)
{
	text	   *result = PG_GETARG_TEXT_PP(0);

	PG_RETURN_BOOL(reads_well((Words) {VARDATA_ANY(result), VARSIZE_ANY_EXHDR(result)}));
}

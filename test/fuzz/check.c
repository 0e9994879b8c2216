/*
 * check.c
 *		The grammar, read by code that shares nothing with render.c.
 */
#include "postgres.h"

#include "check.h"

/* Stands in for content.c, which needs a server's MD5; reads every byte. */
void
edit_hash(Span old_text, Span new_text, ContentHash kind, char digits[5])
{
	unsigned	sum = 17;
	int			i;

	for (i = 0; i < old_text.length; i++)
		sum = sum * 31 + (unsigned char) old_text.data[i];
	for (i = 0; i < new_text.length; i++)
		sum = sum * 31 + (unsigned char) new_text.data[i];
	snprintf(digits, 5, "%04x", sum & 0xFFFF);
}

#define REQUIRE(condition) \
	do { \
		if (!(condition)) \
		{ \
			fprintf(stderr, "broken signature: %s\n  not: %s\n", text, #condition); \
			abort(); \
		} \
	} while (0)

static bool
cut(const char **at, const char *prefix)
{
	if (strncmp(*at, prefix, strlen(prefix)) != 0)
		return false;
	*at += strlen(prefix);
	return true;
}

static void
check_text(const char *text, int length)
{
	const char *at = text;
	const char *c;

	REQUIRE((int) strlen(text) == length);	/* no NUL inside */
	for (c = text; *c; c++)
		REQUIRE((unsigned char) *c >= 0x20 && *c != '|' && *c != '+');
	if (cut(&at, "think") || cut(&at, "finish"))
	{
		REQUIRE(*at == '\0');
		return;
	}
	if (cut(&at, "other"))
	{
		REQUIRE(*at == '\0' || *at == ':');
		if (*at == ':')
			REQUIRE(at[1] != '\0' && strpbrk(at + 1, ":@") == NULL);
		return;
	}
	if (cut(&at, "view"))
	{
		if (cut(&at, ":partial["))
		{
			REQUIRE((*at >= '0' && *at <= '9') || (*at == '-' && at[1] >= '0' && at[1] <= '9'));
			at += strspn(at, "0123456789");
			if (cut(&at, "-"))
				at += strspn(at, "0123456789");
			REQUIRE(cut(&at, "]"));
		}
		else
			cut(&at, ":full");
	}
	else if (cut(&at, "modify"))
	{
		REQUIRE(cut(&at, ":replace") || cut(&at, ":insert"));
		if (*at == ':' && strncmp(at, ":error", 6) != 0)
		{
			at++;
			REQUIRE(strspn(at, "0123456789abcdef") == 4);
			at += 4;
		}
	}
	else if (cut(&at, "fileop") || cut(&at, "install"))
	{
		if (*at == ':' && strcmp(at, ":error") != 0)
		{
			size_t		length = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789-");

			REQUIRE(length > 0);
			at += 1 + length;
		}
	}
	else
		REQUIRE(cut(&at, "search") || cut(&at, "create") || cut(&at, "execute") || cut(&at, "test"));
	if (cut(&at, "@"))
	{
		REQUIRE(*at != '\0' && *at != ':');
		at += strcspn(at, ":@");
	}
	REQUIRE(*at == '\0' || strcmp(at, ":ok") == 0 || strcmp(at, ":error") == 0);
}

void
check_action(const Action *action)
{
	int			variant;
	StringInfoData out;
	StringInfoData path;
	StringInfoData op;

	initStringInfo(&out);
	initStringInfo(&path);
	initStringInfo(&op);
	for (variant = 0; variant < 6; variant++)
	{
		SignatureOptions options;
		ParsedSignature parsed;
		const char *text;

		options.content_hash = variant % 2 ? CONTENT_NONE : CONTENT_MD5;
		options.basename = variant % 3 == 1;
		options.root = variant % 3 == 2 ? span_none() : span_of("/testbed");
		resetStringInfo(&out);
		render_action(&out, action, (CallResult) (variant % 3), &options);
		text = out.data;
		check_text(text, out.len);

		/* Reading it back gives the category, and a state's atom without separators. */
		parse_signature(span_make(out.data, out.len), &parsed);
		REQUIRE(span_is(parsed.category, category_name(action->category)));
		signature_trace(&parsed, &path, &op);
		REQUIRE(strpbrk(path.data, "|+:@") == NULL);
		REQUIRE(strpbrk(op.data, "|+@") == NULL);
	}
}

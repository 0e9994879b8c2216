/*
 * check.c
 *		Checks the grammar of signatures, with code that shares nothing with render.c.
 */
#include "postgres.h"

#include "check.h"

/* Replaces content.c, which needs a server's MD5; reads every byte. */
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
		REQUIRE((unsigned char) *c >= 0x20 && strchr("|+;", *c) == NULL);
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
	else if (cut(&at, "execute"))
	{
		/* A goal, a subcommand, or the digits of the code. */
		if (*at == ':' && strcmp(at, ":ok") != 0 && strcmp(at, ":error") != 0)
			at += 1 + strcspn(at + 1, ":@");
		if (*at == ':' && strcmp(at, ":ok") != 0 && strcmp(at, ":error") != 0)
			at += 1 + strspn(at + 1, "0123456789abcdef");
	}
	else
		REQUIRE(cut(&at, "search") || cut(&at, "create") || cut(&at, "test"));
	if (cut(&at, "@"))
	{
		REQUIRE(*at != '\0' && *at != ':');
		at += strcspn(at, ":@");
	}
	REQUIRE(*at == '\0' || strcmp(at, ":ok") == 0 || strcmp(at, ":error") == 0);
}

/* Checks the signature of an effect, and that it is parsed to the same category. */
static void
check_effect(const Effect *effect, CallResult result, SignatureOptions *options)
{
	StringInfoData out;
	StringInfoData path;
	StringInfoData op;
	ParsedSignature parsed;
	const char *text;

	initStringInfo(&out);
	initStringInfo(&path);
	initStringInfo(&op);
	render_effect(&out, effect, result, options);
	text = out.data;
	check_text(text, out.len);

	/* The category, and the atoms of states, which contain no separators. */
	parse_signature(span_make(out.data, out.len), &parsed);
	REQUIRE(span_is(parsed.category, category_name(effect->category)));
	signature_trace(&parsed, &path, &op);
	REQUIRE(strpbrk(path.data, "|+:@;") == NULL);
	REQUIRE(strpbrk(op.data, "|+@;") == NULL);
}

void
check_effects(const Effects *effects, CallResult result)
{
	int			variant;

	for (variant = 0; variant < 3; variant++)
	{
		SignatureOptions options;
		StringInfoData out;
		Span		rest;
		Span		signature;
		const char *text;
		int			i;
		int			n = 0;

		if (host_turn % 8 != 0 && variant != (int) (host_turn % 3))
			continue;
		memset(&options, 0, sizeof(options));
		options.content_hash = variant % 2 ? CONTENT_NONE : CONTENT_MD5;
		options.basename = variant == 1;
		options.root = variant == 2 ? span_none() : span_of("/testbed");
		for (i = 0; i < effects->n; i++)
			check_effect(&effects->items[i], effect_result(&effects->items[i], result), &options);

		/* A call has as many signatures as effects. */
		initStringInfo(&out);
		render_call(&out, effects, result, &options);
		text = out.data;
		rest = span_make(out.data, out.len);
		while (next_signature(&rest, &signature))
			n++;
		REQUIRE(effects->n > 0 && effects->n <= MAX_EFFECTS && n == effects->n);
		REQUIRE(strongest_category(effects) < N_EFFECT_CATEGORIES);
	}
}

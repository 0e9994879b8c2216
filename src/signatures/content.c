/*
 * content.c
 *		The short hash of an edit's text.
 *
 * Four hexadecimal digits of the MD5 of the old text followed by the new one,
 * in UTF-8, as in the paper; XXH3-64 as a faster choice.
 */
#include "postgres.h"

#include "common/cryptohash.h"
#include "common/md5.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat.h"
#include "signatures/call.h"
#include "hash.h"

static Span
in_utf8(Span text)
{
	char	   *utf8;

	if (text.data == NULL || text.length == 0)
		return span_make("", 0);
	if (GetDatabaseEncoding() == PG_UTF8)
		return text;
	utf8 = pg_server_to_any(text.data, text.length, PG_UTF8);
	return utf8 == text.data ? text : span_make(utf8, strlen(utf8));
}

/* Hash in pieces, so that it can be canceled; the transaction's end then frees the context. */
static bool
add_text(pg_cryptohash_ctx *context, Span text)
{
	while (text.length > 0)
	{
		int			piece = Min(text.length, LOOK_EVERY);

		if (pg_cryptohash_update(context, (const uint8 *) text.data, piece) < 0)
			return false;
		text = span_from(text, piece);
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

static void
md5_of_two(Span one, Span two, unsigned char digest[MD5_DIGEST_LENGTH])
{
	pg_cryptohash_ctx *context = pg_cryptohash_create(PG_MD5);
	bool		done = context != NULL &&
		pg_cryptohash_init(context) >= 0 &&
		add_text(context, one) && add_text(context, two) &&
		pg_cryptohash_final(context, digest, MD5_DIGEST_LENGTH) >= 0;

	pg_cryptohash_free(context);
	/* OpenSSL in FIPS mode has no MD5. */
	if (!done)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("could not compute an MD5 hash of an edit"),
				 errhint("Use content_hash => 'xxh3' or 'none'.")));
}

void
edit_hash(Span old_text, Span new_text, ContentHash kind, char digits[5])
{
	unsigned char first[2];

	old_text = in_utf8(old_text);
	new_text = in_utf8(new_text);
	if (kind == CONTENT_XXH3)
	{
		XXH3_state_t state;
		XXH64_hash_t hash;

		XXH3_64bits_reset(&state);
		XXH3_64bits_update(&state, old_text.data, old_text.length);
		XXH3_64bits_update(&state, new_text.data, new_text.length);
		hash = XXH3_64bits_digest(&state);
		first[0] = (unsigned char) (hash >> 56);
		first[1] = (unsigned char) (hash >> 48);
	}
	else
	{
		unsigned char digest[MD5_DIGEST_LENGTH];

		md5_of_two(old_text, new_text, digest);
		first[0] = digest[0];
		first[1] = digest[1];
	}
	digits[hex_encode((const char *) first, 2, digits)] = '\0';
}

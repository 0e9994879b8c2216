/*
 * bytes.c
 *		The error for invalid bytes of a digest.
 */
#include "postgres.h"

#include "digest/bytes.h"

void
refuse_digest(const DigestReader *reader)
{
	ereport(ERROR,
			(errcode(reader->sqlerrcode),
			 errmsg("invalid group_digest"),
			 errhint("A digest is made by group_digest and rollup.")));
	pg_unreachable();
}

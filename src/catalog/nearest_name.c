/*
 * nearest_name.c
 *		nearest_name(names, name): what was meant by a name that does not exist.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#include "compat.h"

PG_FUNCTION_INFO_V1(stepadv_nearest_name);

/* The server's own rule: at most so many letters may differ, and at most half of them. */
#define MAX_DISTANCE 3

/*
 * nearest_name(names text[], name text) -> text: of names that which differs least, the
 * first of several; NULL where all differ by more.  Names are compared as identifiers
 * are: one longer than these has no nearest.
 */
Datum
stepadv_nearest_name(PG_FUNCTION_ARGS)
{
	ArrayType  *names = PG_GETARG_ARRAYTYPE_P(0);
	text	   *name = PG_GETARG_TEXT_PP(1);
	int			length = VARSIZE_ANY_EXHDR(name);
	int			best = MAX_DISTANCE + 1;
	text	   *nearest = NULL;
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	if (length >= NAMEDATALEN)
		PG_RETURN_NULL();
	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		text	   *other = nulls[i] ? NULL : DatumGetTextPP(elements[i]);
		int			distance;

		if (other == NULL || VARSIZE_ANY_EXHDR(other) >= NAMEDATALEN)
			continue;
		distance = varstr_levenshtein_less_equal(VARDATA_ANY(name), length, VARDATA_ANY(other), VARSIZE_ANY_EXHDR(other),
												 1, 1, 1, best, true);
		if (distance < best && distance <= length / 2)
		{
			best = distance;
			nearest = other;
		}
	}
	if (nearest == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(nearest);
}

/*
 * nearest_name.c
 *		nearest_name(name, names): the name that was probably meant by an unknown one.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#include "compat.h"

PG_FUNCTION_INFO_V1(stepadv_nearest_name);

/* A name may differ in at most this many letters, and in at most a third of its own (or one, but not all). */
#define MAX_DISTANCE 3

/* The first of the nearest names; NULL if none is near, or the name is too long to be one. */
Datum
stepadv_nearest_name(PG_FUNCTION_ARGS)
{
	text	   *name = PG_GETARG_TEXT_PP(0);
	int			length = VARSIZE_ANY_EXHDR(name);
	int			best = MAX_DISTANCE + 1;
	Datum	   *names;
	bool	   *nulls;
	int			n_names;
	Datum		nearest = (Datum) 0;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &n_names);
	for (int i = 0; length < NAMEDATALEN && i < n_names; i++)
	{
		text	   *other = nulls[i] ? NULL : DatumGetTextPP(names[i]);
		int			distance;

		if (other == NULL || VARSIZE_ANY_EXHDR(other) >= NAMEDATALEN)
			continue;
		distance = varstr_levenshtein_less_equal(VARDATA_ANY(name), length, VARDATA_ANY(other), VARSIZE_ANY_EXHDR(other),
												 1, 1, 1, best, true);
		if (distance < best && distance <= Max(length / 3, 1) && distance < length)
		{
			best = distance;
			nearest = names[i];
		}
	}
	if (best > MAX_DISTANCE)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(nearest);
}

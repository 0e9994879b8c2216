/*
 * hash_features.c
 *		hash_features(atoms, dim, ngrams): signed feature hashing.
 *
 * Every atom, and every run of up to `ngrams` atoms in a row, adds +1 or -1 to
 * one of dim places.  An atom's hash h is signature_hash(atom); a run's hash is
 * that of its last atom's hash chained onto that of the run before it.
 * The place is the high half of h scaled to dim, the sign its lowest bit (set:
 * -1).  Two atoms in one place cancel as often as they add up, so that inner
 * products are right in the mean (Weinberger et al. 2009).
 *
 * Models are stored and outlive versions, so none of this may ever change.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "arrays.h"
#include "compat.h"
#include "hash.h"
#include "parameters.h"

PG_FUNCTION_INFO_V1(stepadv_hash_features);

#define MOST_FEATURES 1000000

/* Arguments: atoms, then these. */
static const Parameter hash_parameters[] = {
	INTEGER_PARAMETER("dim", 1, MOST_FEATURES), INTEGER_PARAMETER("ngrams", 1, 16)
};

/* As signature_hash(text): the bytes in UTF-8, so that databases of any encoding agree. */
static int64
atom_hash(Datum atom)
{
	text	   *value = DatumGetTextPP(atom);
	char	   *bytes = VARDATA_ANY(value);
	int			length = VARSIZE_ANY_EXHDR(value);
	char	   *utf8 = pg_server_to_any(bytes, length, PG_UTF8);

	return hash_bytes_64(utf8, utf8 == bytes ? length : strlen(utf8));
}

static void
count_hash(float *features, int dim, int64 hash)
{
	uint64		place = (((uint64) hash >> 32) * (uint64) dim) >> 32;

	features[place] += (hash & 1) != 0 ? -1 : 1;
}

Datum
stepadv_hash_features(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(hash_parameters)];
	ArrayType  *atoms = PG_GETARG_ARRAYTYPE_P(0);
	ArrayType  *result;
	Datum	   *elements;
	bool	   *nulls;
	int64	   *hashes;
	float	   *features;
	Size		size;
	int			n;
	int			dim;
	int			ngrams;

	read_parameters(fcinfo, 1, hash_parameters, lengthof(hash_parameters), parameters);
	dim = (int) parameters[0].number;
	ngrams = (int) parameters[1].number;
	deconstruct_array(atoms, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &n);

	size = ARR_OVERHEAD_NONULLS(1) + dim * sizeof(float);
	result = palloc0(size);
	SET_VARSIZE(result, size);
	result->ndim = 1;
	result->elemtype = FLOAT4OID;
	ARR_DIMS(result)[0] = dim;
	ARR_LBOUND(result)[0] = 1;
	features = (float *) ARR_DATA_PTR(result);

	hashes = ALLOCATE_ARRAY(int64, n);
	for (int i = 0; i < n; i++)
	{
		int64		hash;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("element %d of the atoms must not be null", i + 1)));
		hash = hashes[i] = atom_hash(elements[i]);
		count_hash(features, dim, hash);
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	/* A run of n + 1 atoms from i on is the run of n, and one more. */
	if (ngrams > 1)
		for (int i = 0; i < n; i++)
		{
			int64		hash = hashes[i];

			for (int k = 1; k < ngrams && i + k < n; k++)
			{
				hash = hash_int64_onto(hashes[i + k], hash);
				count_hash(features, dim, hash);
			}
			if (i % 4096 == 0)
				CHECK_FOR_INTERRUPTS();
		}
	PG_RETURN_ARRAYTYPE_P(result);
}

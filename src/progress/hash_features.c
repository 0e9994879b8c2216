/*
 * hash_features.c
 *		hash_features(atoms, dim, ngrams): signed feature hashing; and
 *		hash_features_sparse, the same without the zeros.
 *
 * Every atom, and every run of up to `ngrams` consecutive atoms, adds +1 or -1 to
 * one of dim elements.  An atom's hash h is signature_hash(atom); a run's hash is
 * its last atom's hash chained onto the hash of the run without it.  The index is
 * the high half of h scaled to dim, the sign its lowest bit (set: -1).  Two atoms
 * with the same index cancel as often as they add up, so that inner products are
 * unbiased (Weinberger et al. 2009).
 *
 * Stored models depend on these hashes, so they must never change.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "arrays.h"
#include "compat.h"
#include "hash.h"
#include "parameters.h"

PG_FUNCTION_INFO_V1(stepadv_hash_features);
PG_FUNCTION_INFO_V1(stepadv_hash_features_sparse);

#define ST_SORT sort_hashes
#define ST_ELEMENT_TYPE int64
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

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

static int32
place_of_hash(int64 hash, int dim)
{
	return (int32) ((((uint64) hash >> 32) * (uint64) dim) >> 32);
}

static int
sign_of_hash(int64 hash)
{
	return (hash & 1) != 0 ? -1 : 1;
}

typedef struct Hashes
{
	int64	   *hash;
	int64		n;
	int			dim;
} Hashes;

/* Read the first three arguments: the hashes of the atoms and of their runs. */
static Hashes
hashes_argument(FunctionCallInfo fcinfo)
{
	ParameterValue parameters[lengthof(hash_parameters)];
	Hashes		hashes = {0};
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	int			ngrams;

	read_parameters(fcinfo, 1, hash_parameters, lengthof(hash_parameters), parameters);
	hashes.dim = (int) parameters[0].number;
	ngrams = (int) parameters[1].number;
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &n);
	hashes.hash = ALLOCATE_ARRAY(int64, (Size) n * ngrams);
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("element %d of the atoms must not be null", i + 1)));
		hashes.hash[hashes.n++] = atom_hash(elements[i]);
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	/* The hash of a run of k + 1 atoms extends that of the first k. */
	if (ngrams > 1)
		for (int i = 0; i < n; i++)
		{
			int64		hash = hashes.hash[i];

			for (int k = 1; k < ngrams && i + k < n; k++)
				hashes.hash[hashes.n++] = hash = hash_int64_onto(hashes.hash[i + k], hash);
			if (i % 4096 == 0)
				CHECK_FOR_INTERRUPTS();
		}
	return hashes;
}

Datum
stepadv_hash_features(PG_FUNCTION_ARGS)
{
	Hashes		hashes = hashes_argument(fcinfo);
	ArrayType  *result = zeroed_vector(FLOAT4OID, hashes.dim, sizeof(float));
	float	   *features = (float *) ARR_DATA_PTR(result);

	for (int64 i = 0; i < hashes.n; i++)
		features[place_of_hash(hashes.hash[i], hashes.dim)] += sign_of_hash(hashes.hash[i]);
	PG_RETURN_ARRAYTYPE_P(result);
}

/* The elements other than 0, as indices from 1 and weights. */
Datum
stepadv_hash_features_sparse(PG_FUNCTION_ARGS)
{
	Hashes		hashes = hashes_argument(fcinfo);
	int64	   *signed_places = hashes.hash;
	int32	   *place = ALLOCATE_ARRAY(int32, hashes.n);
	float	   *weight = ALLOCATE_ARRAY(float, hashes.n);
	int			n = 0;
	TupleDesc	row_type;
	Datum		values[2];
	bool		nulls[2] = {false};

	/* Sort by index; the lowest bit is the sign. */
	for (int64 i = 0; i < hashes.n; i++)
		signed_places[i] = ((int64) place_of_hash(hashes.hash[i], hashes.dim) << 1) | (sign_of_hash(hashes.hash[i]) > 0 ? 1 : 0);
	sort_hashes(signed_places, hashes.n);
	for (int64 first = 0, end; first < hashes.n; first = end)
	{
		float		sum = 0;

		for (end = first; end < hashes.n && signed_places[end] >> 1 == signed_places[first] >> 1; end++)
			sum += (signed_places[end] & 1) != 0 ? 1 : -1;
		if (sum == 0)
			continue;
		place[n] = (int32) (signed_places[first] >> 1) + 1;
		weight[n++] = sum;
	}
	values[0] = PointerGetDatum(zeroed_vector(INT4OID, n, sizeof(int32)));
	values[1] = PointerGetDatum(zeroed_vector(FLOAT4OID, n, sizeof(float)));
	memcpy(ARR_DATA_PTR(DatumGetArrayTypeP(values[0])), place, n * sizeof(int32));
	memcpy(ARR_DATA_PTR(DatumGetArrayTypeP(values[1])), weight, n * sizeof(float));
	if (get_call_result_type(fcinfo, NULL, &row_type) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "hash_features_sparse does not return a row");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(row_type), values, nulls));
}

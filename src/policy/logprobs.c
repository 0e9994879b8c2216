/*
 * logprobs.c
 *		Reads two arrays of log-probabilities and a mask.
 *
 * Trainers store real[], SQL computes double precision[], and ARRAY[-0.1, -2.5] is
 * numeric[].  The first two are read in place.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"

#include "arrays.h"
#include "checked_arguments.h"
#include "policy/logprobs.h"

static double
element_number(Oid type, Datum element)
{
	switch (type)
	{
		case FLOAT4OID:
			return DatumGetFloat4(element);
		case FLOAT8OID:
			return DatumGetFloat8(element);
		default:
			return DatumGetFloat8(DirectFunctionCall1(numeric_float8, element));
	}
}

/* Slower, for arrays with NULLs or of numeric. */
static void
copy_elements(ArrayType *array, Oid type, LogProbs *logp)
{
	int16		length;
	bool		by_value;
	char		align;
	Datum	   *elements;
	bool	   *nulls;
	double	   *number;

	get_typlenbyvalalign(type, &length, &by_value, &align);
	deconstruct_array(array, type, length, by_value, align, &elements, &nulls, &logp->n);
	number = ALLOCATE_ARRAY(double, logp->n);
	for (int i = 0; i < logp->n; i++)
		number[i] = nulls[i] ? 0 : element_number(type, elements[i]);
	logp->number = number;
	logp->nulls = nulls;
}

static void
open_log_probs(ArrayType *array, const char *name, LogProbs *logp)
{
	Oid			type = ARR_ELEMTYPE(array);

	memset(logp, 0, sizeof(*logp));
	logp->name = name;
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s has %d dimensions, not one", name, ARR_NDIM(array))));
	if (type != FLOAT4OID && type != FLOAT8OID && type != NUMERICOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s must be real[] or double precision[], not %s[]", name, format_type_be(type)),
				 errhint("Cast it to one of these.")));
	if (type == NUMERICOID || ARR_HASNULL(array))
	{
		copy_elements(array, type, logp);
		return;
	}
	logp->n = ARR_NDIM(array) == 0 ? 0 : ARR_DIMS(array)[0];
	if (type == FLOAT4OID)
		logp->real = (const float *) ARR_DATA_PTR(array);
	else
		logp->number = (const double *) ARR_DATA_PTR(array);
}

static void
refuse_length(const char *name, int n, const LogProbs *other)
{
	if (n != other->n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s has %d elements, %s has %d", name, n, other->name, other->n)));
}

/* Whether all arrays have one dimension and the same length, and the mask no NULL. */
static bool
arrays_match(FunctionCallInfo fcinfo)
{
	int			n = -1;

	for (int i = 0; i < 3; i++)
	{
		ArrayType  *array;
		int			length;

		if (PG_ARGISNULL(i))
			continue;
		array = PG_GETARG_ARRAYTYPE_P(i);
		if (ARR_NDIM(array) > 1 || (i == 2 && array_contains_nulls(array)))
			return false;
		length = ARR_NDIM(array) == 0 ? 0 : ARR_DIMS(array)[0];
		if (n >= 0 && length != n)
			return false;
		n = length;
	}
	return true;
}

bool
log_ratios_open(FunctionCallInfo fcinfo, bool lenient, LogRatios *ratios)
{
	ratios->lenient = lenient;
	ratios->refused = false;
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || (lenient && !arrays_match(fcinfo)))
		return false;
	open_log_probs(PG_GETARG_ARRAYTYPE_P(0), "logp_new", &ratios->new_policy);
	open_log_probs(PG_GETARG_ARRAYTYPE_P(1), "logp_old", &ratios->old_policy);
	refuse_length("logp_new", ratios->new_policy.n, &ratios->old_policy);
	ratios->mask = NULL;
	if (!PG_ARGISNULL(2))
	{
		int			n;

		ratios->mask = list_argument(fcinfo, 2, "mask", BOOLOID, &n);
		refuse_length("mask", n, &ratios->new_policy);
	}
	ratios->next = 0;
	ratios->n_tokens = 0;
	return true;
}

/* Refuse a NULL, for a token that counts. */
static void
refuse_null(LogRatios *ratios, const LogProbs *logp, int token)
{
	if (logp->nulls == NULL || !logp->nulls[token])
		return;
	if (ratios->lenient)
		ratios->refused = true;
	else
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("element %d of %s must not be null", token + 1, logp->name),
				 errhint("Tokens without a log-probability can be left out by a mask.")));
}

static void
refuse_non_finite(const LogProbs *logp, int token)
{
	double		x = log_prob(logp, token);

	if (!isfinite(x))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("element %d of %s is %s, not a finite number",
						token + 1, logp->name, isnan(x) ? "NaN" : "infinite")));
}

/* The block's sum is not finite: report the first invalid token. */
static void
refuse_block(const LogRatios *ratios, int first, int end)
{
	for (int i = first; i < end; i++)
		if (ratios->mask == NULL || ratios->mask[i])
		{
			refuse_non_finite(&ratios->new_policy, i);
			refuse_non_finite(&ratios->old_policy, i);
		}
	float_overflow_error();
}

/*
 * Four partial sums, so that an addition need not wait for the one before.  Within
 * a block, rounding errors of plain sums are negligible.
 */
static double
block_sum(const double *x, int n)
{
	double		lane[4] = {0};
	int			i = 0;

	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++)
			lane[k] += x[i + k];
	for (; i < n; i++)
		lane[0] += x[i];
	return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

bool
log_ratios_next(LogRatios *ratios)
{
	const LogProbs *a = &ratios->new_policy;
	const LogProbs *b = &ratios->old_policy;
	const bool *mask = ratios->mask;
	int			first = ratios->next;
	int			end = Min(a->n, first + LOG_RATIO_BLOCK);
	double	   *to = ratios->log_ratio;

	if (first >= a->n)
		return false;
	if (a->real && b->real && mask == NULL)
		for (int i = first; i < end; i++)
			*to++ = (double) a->real[i] - b->real[i];
	else if (a->real && b->real)
		for (int i = first; i < end; i++)
		{
			/* No branch on the mask, which would be mispredicted. */
			*to = (double) a->real[i] - b->real[i];
			to += mask[i];
		}
	else
		for (int i = first; i < end; i++)
		{
			if (mask != NULL && !mask[i])
				continue;
			refuse_null(ratios, a, i);
			refuse_null(ratios, b, i);
			*to++ = log_prob(a, i) - log_prob(b, i);
		}
	ratios->n = to - ratios->log_ratio;
	ratios->n_tokens += ratios->n;
	ratios->next = end;
	ratios->sum = block_sum(ratios->log_ratio, ratios->n);
	if (!isfinite(ratios->sum))
	{
		if (!ratios->lenient)
			refuse_block(ratios, first, end);
		ratios->refused = true;
	}
	CHECK_FOR_INTERRUPTS();
	return !ratios->refused;
}

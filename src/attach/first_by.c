/*
 * first_by.c
 *		first_by(value, step_no, step_id): the value of the first row, as returned by (array_agg(value ORDER
 *		BY step_no, step_id, value) FILTER (WHERE value IS NOT NULL))[1], but without a sort: this runs for
 *		every row, to find the run of its rollout.
 *
 * NULLs come last.  Of two rows equal in both numbers, the lesser value is taken, by its bytes if it is a
 * text: the result must not depend on the physical order of rows.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "fmgr.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "aggregate.h"

PG_FUNCTION_INFO_V1(stepadv_first_by_trans);
PG_FUNCTION_INFO_V1(stepadv_first_by_final);

/* The values' type, cached for each call site. */
typedef struct ValueType
{
	int16		length;
	bool		by_value;
	bool		has_order;
	FmgrInfo	compare;
} ValueType;

/* step_no and step_id of a row. */
typedef struct Place
{
	NullableDatum numbers[2];
} Place;

typedef struct First
{
	Place		place;
	Datum		value;
} First;

static ValueType *
value_type(FunctionCallInfo fcinfo)
{
	ValueType  *known = fcinfo->flinfo->fn_extra;
	Oid			type;
	TypeCacheEntry *entry;

	if (known != NULL)
		return known;
	type = get_fn_expr_argtype(fcinfo->flinfo, 1);
	entry = lookup_type_cache(type, TYPECACHE_CMP_PROC);
	known = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(ValueType));
	get_typlenbyval(type, &known->length, &known->by_value);
	known->has_order = OidIsValid(entry->cmp_proc);
	if (known->has_order)
		fmgr_info_cxt(entry->cmp_proc, &known->compare, fcinfo->flinfo->fn_mcxt);
	fcinfo->flinfo->fn_extra = known;
	return known;
}

/* Below, at or above 0, as in a comparison function. */
static int
compare_places(const Place *one, const Place *other)
{
	for (int i = 0; i < 2; i++)
	{
		const NullableDatum *a = &one->numbers[i];
		const NullableDatum *b = &other->numbers[i];

		if (a->isnull != b->isnull)
			return a->isnull ? 1 : -1;
		if (!a->isnull && DatumGetInt64(a->value) != DatumGetInt64(b->value))
			return DatumGetInt64(a->value) < DatumGetInt64(b->value) ? -1 : 1;
	}
	return 0;
}

static bool
comes_before(ValueType *type, const Place *place, Datum value, const First *first)
{
	int			compared = compare_places(place, &first->place);

	if (compared != 0 || !type->has_order)
		return compared < 0;
	return DatumGetInt32(FunctionCall2Coll(&type->compare, C_COLLATION_OID, value, first->value)) < 0;
}

static First *
copy_value(MemoryContext context, First *first, Datum value, const ValueType *type)
{
	MemoryContext old = MemoryContextSwitchTo(context);

	if (first == NULL)
		first = palloc0(sizeof(First));
	else if (!type->by_value)
		pfree(DatumGetPointer(first->value));
	first->value = datumCopy(value, type->by_value, type->length);
	MemoryContextSwitchTo(old);
	return first;
}

/* first_by_trans(internal, value anyelement, step_no bigint, step_id bigint) */
Datum
stepadv_first_by_trans(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	First	   *first = PG_ARGISNULL(0) ? NULL : (First *) PG_GETARG_POINTER(0);
	Place		place = {{fcinfo->args[2], fcinfo->args[3]}};
	ValueType  *type = value_type(fcinfo);

	if (!PG_ARGISNULL(1) && (first == NULL || comes_before(type, &place, PG_GETARG_DATUM(1), first)))
	{
		first = copy_value(context, first, PG_GETARG_DATUM(1), type);
		first->place = place;
	}
	if (first == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(first);
}

Datum
stepadv_first_by_final(PG_FUNCTION_ARGS)
{
	aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(((First *) PG_GETARG_POINTER(0))->value);
}

/*
 * first_by.c
 *		first_by(value, place): the value of the row that comes first by its place, as
 *		(array_agg(value ORDER BY place) FILTER (WHERE value IS NOT NULL))[1] has it,
 *		without sorting: what the rows of a rollout say of its run is asked of every row.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "aggregate.h"

PG_FUNCTION_INFO_V1(stepadv_first_by_trans);
PG_FUNCTION_INFO_V1(stepadv_first_by_final);

/* A type as its values are copied. */
typedef struct Kind
{
	int16		length;
	bool		by_value;
} Kind;

/* What a call site knows. */
typedef struct FirstBy
{
	Kind		value;
	Kind		place;
	FmgrInfo	compare;
} FirstBy;

typedef struct First
{
	bool		has_place;		/* NULL is after all others */
	Datum		value;
	Datum		place;
} First;

static FirstBy *
first_by(FunctionCallInfo fcinfo)
{
	FirstBy    *known = fcinfo->flinfo->fn_extra;
	Oid			place;
	TypeCacheEntry *type;

	if (known != NULL)
		return known;
	place = get_fn_expr_argtype(fcinfo->flinfo, 2);
	type = lookup_type_cache(place, TYPECACHE_CMP_PROC);
	if (!OidIsValid(type->cmp_proc))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("type %s has no order", format_type_be(place))));
	known = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(FirstBy));
	get_typlenbyval(place, &known->place.length, &known->place.by_value);
	get_typlenbyval(get_fn_expr_argtype(fcinfo->flinfo, 1), &known->value.length, &known->value.by_value);
	fmgr_info_cxt(type->cmp_proc, &known->compare, fcinfo->flinfo->fn_mcxt);
	fcinfo->flinfo->fn_extra = known;
	return known;
}

static Datum
copied(MemoryContext context, Datum value, const Kind *kind)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	Datum		copy = datumCopy(value, kind->by_value, kind->length);

	MemoryContextSwitchTo(old);
	return copy;
}

static void
replace(MemoryContext context, Datum *old, bool had, Datum value, const Kind *kind)
{
	if (had && !kind->by_value)
		pfree(DatumGetPointer(*old));
	*old = copied(context, value, kind);
}

Datum
stepadv_first_by_trans(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	First	   *first = PG_ARGISNULL(0) ? NULL : (First *) PG_GETARG_POINTER(0);
	FirstBy    *known = first_by(fcinfo);
	bool		had = first != NULL;
	bool		had_place = had && first->has_place;

	if (PG_ARGISNULL(1) || (had && PG_ARGISNULL(2)))
	{
		if (!had)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(first);
	}
	if (had_place && DatumGetInt32(FunctionCall2Coll(&known->compare, PG_GET_COLLATION(), PG_GETARG_DATUM(2), first->place)) >= 0)
		PG_RETURN_POINTER(first);
	if (!had)
		first = MemoryContextAllocZero(context, sizeof(First));
	replace(context, &first->value, had, PG_GETARG_DATUM(1), &known->value);
	if (!PG_ARGISNULL(2))
	{
		replace(context, &first->place, had_place, PG_GETARG_DATUM(2), &known->place);
		first->has_place = true;
	}
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

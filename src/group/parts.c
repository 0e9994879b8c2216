/*
 * parts.c
 *		parts_of(g, ids, divisions): a group divided, each part as a group of its own;
 *		first_alike(ids, lists): who is in one part.
 *
 * What is kept of a group's divisions is computed of the kept group: none of its
 * rows is read again.  A part is what would be folded of the rows of its rollouts.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "arguments.h"
#include "arrays.h"
#include "compat.h"
#include "group/builder.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_parts_of);
PG_FUNCTION_INFO_V1(stepadv_first_alike);

/* A rollout, the first one of its division, and at which place it was given. */
typedef struct Member
{
	int64		rollout;
	int64		division;
	int32		place;
} Member;

#define ST_SORT sort_members
#define ST_ELEMENT_TYPE Member
#define ST_COMPARE(a, b) (((a)->rollout > (b)->rollout) - ((a)->rollout < (b)->rollout))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * In the order of the group's rollouts.  A rollout that is there twice, because two
 * rows say of which run it is, is in two parts: nobody can tell which is meant.
 */
static Member *
members_of(FunctionCallInfo fcinfo, const GroupColumns *group)
{
	int			n;
	const int64 *id = list_argument(fcinfo, 1, "ids", INT8OID, &n);
	const int64 *division = list_of_length(fcinfo, 2, "divisions", INT8OID, n);
	Member	   *members = ALLOCATE_ARRAY(Member, n);

	for (int i = 0; i < n; i++)
		members[i] = (Member) {id[i], division[i], i + 1};
	sort_members(members, n);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (n != group->n_rollouts || members[r].rollout != group->rollout_id[r])
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("the run of rollout " INT64_FORMAT " is ambiguous", group->rollout_id[r])));
	}
	return members;
}

/* The rollouts of one division. */
static RolloutGroup *
part_of(const GroupColumns *group, const Member *members, int64 division)
{
	GroupBuilder *builder = group_builder_create(CurrentMemoryContext);

	group_builder_take_shape(builder, group);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		CHECK_FOR_INTERRUPTS();
		if (members[r].division == division)
			group_builder_add_rollout(builder, group, r, group->rollout_id[r]);
	}
	return group_builder_finish(builder);
}

static void
put_part(FunctionCallInfo fcinfo, Tuplestorestate *rows, int32 place, bool is_division, bool is_whole, const void *group)
{
	Datum		values[5] = {Int32GetDatum(place), BoolGetDatum(is_division), PointerGetDatum(group), PG_GETARG_DATUM(1), PG_GETARG_DATUM(3)};
	bool		isnull[5] = {!is_division, false, false, !is_whole, !is_whole};

	tuplestore_putvalues(rows, ((ReturnSetInfo *) fcinfo->resultinfo)->expectedDesc, values, isnull);
}

/*
 * parts_of(rollouts rollout_group, ids bigint[], divisions bigint[], runs bigint[]): a row for the
 * whole group, which is the one part if it is not divided, else a row for each part.
 */
Datum
stepadv_parts_of(PG_FUNCTION_ARGS)
{
	RolloutGroup *value = (RolloutGroup *) PG_GETARG_VARLENA_P(0);
	Tuplestorestate *rows = begin_rows(fcinfo, 5);
	GroupColumns group;
	const Member *members;
	bool		is_divided = false;

	group_open(value, &group);
	if (group.n_rollouts == 0)
		return (Datum) 0;
	members = members_of(fcinfo, &group);
	for (uint32 r = 1; r < group.n_rollouts; r++)
		is_divided |= members[r].division != members[0].division;
	put_part(fcinfo, rows, members[0].place, !is_divided, true, value);
	for (uint32 r = 0; is_divided && r < group.n_rollouts; r++)
	{
		if (members[r].division == members[r].rollout)
			put_part(fcinfo, rows, members[r].place, true, false, part_of(&group, members, members[r].division));
	}
	return (Datum) 0;
}

/* ----------
 * Who is in one part
 * ----------
 */

typedef struct AlikeList
{
	Datum	   *values;
	bool	   *nulls;
	FmgrInfo   *equal;
} AlikeList;

static void
open_list(FunctionCallInfo fcinfo, int argument, int expected, AlikeList *list)
{
	ArrayType  *array;
	TypeCacheEntry *type;
	int			n;

	require_argument(fcinfo, argument, "a list");
	if (!OidIsValid(get_element_type(get_fn_expr_argtype(fcinfo->flinfo, argument))) || get_fn_expr_variadic(fcinfo->flinfo))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("argument %d must be an array", argument)));
	array = PG_GETARG_ARRAYTYPE_P(argument);
	type = lookup_type_cache(ARR_ELEMTYPE(array), TYPECACHE_EQ_OPR_FINFO);
	if (!OidIsValid(type->eq_opr_finfo.fn_oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("type %s has no equality operator", format_type_be(ARR_ELEMTYPE(array)))));
	list->equal = &type->eq_opr_finfo;
	deconstruct_array(array, ARR_ELEMTYPE(array), type->typlen, type->typbyval, type->typalign, &list->values, &list->nulls, &n);
	if (n != expected)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("a list has %d elements, ids has %d", n, expected)));
}

static bool
are_alike(const AlikeList *lists, int n_lists, int one, int other, Oid collation)
{
	for (int i = 0; i < n_lists; i++)
	{
		const AlikeList *list = &lists[i];

		if (list->nulls[one] != list->nulls[other])
			return false;
		if (!list->nulls[one] && !DatumGetBool(FunctionCall2Coll(list->equal, collation, list->values[one], list->values[other])))
			return false;
	}
	return true;
}

/*
 * The first of each kind that was seen is compared with what comes: kinds are few,
 * and what comes is mostly of the kind before.
 */
Datum
stepadv_first_alike(PG_FUNCTION_ARGS)
{
	int			n;
	const int64 *ids = list_argument(fcinfo, 0, "ids", INT8OID, &n);
	int			n_lists = PG_NARGS() - 1;
	AlikeList  *lists = palloc(sizeof(AlikeList) * Max(n_lists, 1));
	Oid			collation = OidIsValid(PG_GET_COLLATION()) ? PG_GET_COLLATION() : DEFAULT_COLLATION_OID;
	int		   *kinds = ALLOCATE_ARRAY(int, n); /* the first seen of each */
	int		   *kind_of = ALLOCATE_ARRAY(int, n);
	int64	   *least = ALLOCATE_ARRAY(int64, n);
	Datum	   *result = ALLOCATE_ARRAY(Datum, n);
	int			n_kinds = 0;

	for (int i = 0; i < n_lists; i++)
		open_list(fcinfo, i + 1, n, &lists[i]);
	for (int i = 0; i < n; i++)
	{
		int			kind = n_kinds - 1;

		CHECK_FOR_INTERRUPTS();
		while (kind >= 0 && !are_alike(lists, n_lists, kinds[kind], i, collation))
			kind--;
		if (kind < 0)
		{
			kind = n_kinds++;
			kinds[kind] = i;
			least[kind] = ids[i];
		}
		least[kind] = Min(least[kind], ids[i]);
		kind_of[i] = kind;
	}
	for (int i = 0; i < n; i++)
		result[i] = Int64GetDatum(least[kind_of[i]]);
	PG_RETURN_ARRAYTYPE_P(construct_array(result, n, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

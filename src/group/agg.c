/*
 * agg.c
 *		The aggregates that make rollout_group values: rollout_agg and rollup.
 *
 * A thin adapter between SQL rows and the GroupBuilder.  Between processes, the state of rollout_agg is passed
 * as the finished value: one format, checked in one place.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "aggregate.h"
#include "arrays.h"
#include "compat.h"
#include "group/builder.h"
#include "group/group_forms.h"
#include "group/pooled_groups.h"
#include "hash.h"

PG_FUNCTION_INFO_V1(stepadv_rollout_agg_trans);
PG_FUNCTION_INFO_V1(stepadv_lenient_rollout_agg_trans);
PG_FUNCTION_INFO_V1(stepadv_rollout_agg_combine);
PG_FUNCTION_INFO_V1(stepadv_rollout_agg_serial);
PG_FUNCTION_INFO_V1(stepadv_rollout_agg_deserial);
PG_FUNCTION_INFO_V1(stepadv_rollout_agg_final);
PG_FUNCTION_INFO_V1(stepadv_rollup_merge);
PG_FUNCTION_INFO_V1(stepadv_history_merge);

/*
 * rollout_agg(step_id, rollout_id, step_no, state, action, reward [, success [, next_state, value,
 * turn_reward, cost [, turn, rewards, truncated, policy_step [, coarse_state, logp]]]]): one function for all
 * forms.
 */
static inline Datum
add_row(FunctionCallInfo fcinfo, bool lenient)
{
	GroupBuilder *builder;
	StepRow		row;
	double		rewards[MAX_REWARDS];

	/* Only an aggregate can pass a state: it is of type internal. */
	builder = PG_ARGISNULL(0) ? NULL : (GroupBuilder *) PG_GETARG_POINTER(0);
	if (likely(read_step_row(fcinfo->args + 1, PG_NARGS() - 1, lenient, rewards, &row)))
	{
		if (builder == NULL)
		{
			builder = group_builder_create(aggregate_context(fcinfo));
			if (lenient)
				group_builder_set_lenient(builder);
		}
		group_builder_add(builder, &row);
	}
	if (builder == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(builder);
}

Datum
stepadv_rollout_agg_trans(PG_FUNCTION_ARGS)
{
	return add_row(fcinfo, false);
}

/* The lenient form: input that rollout_agg refuses becomes a defect of its rollout. */
Datum
stepadv_lenient_rollout_agg_trans(PG_FUNCTION_ARGS)
{
	return add_row(fcinfo, true);
}

/* Keeps no pointer to the right state, which may be freed at any time. */
Datum
stepadv_rollout_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	GroupBuilder *builder;

	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_POINTER(PG_GETARG_POINTER(0));
	}
	builder = PG_ARGISNULL(0) ? group_builder_create(context) : (GroupBuilder *) PG_GETARG_POINTER(0);
	group_builder_add_builder(builder, (GroupBuilder *) PG_GETARG_POINTER(1));
	PG_RETURN_POINTER(builder);
}

/* bytea and rollout_group are both varlenas, so the value is its own serialized form. */
Datum
stepadv_rollout_agg_serial(PG_FUNCTION_ARGS)
{
	(void) aggregate_context(fcinfo);
	PG_RETURN_BYTEA_P(group_builder_finish((GroupBuilder *) PG_GETARG_POINTER(0)));
}

Datum
stepadv_rollout_agg_deserial(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	GroupBuilder *builder;

	(void) aggregate_context(fcinfo);
	builder = group_builder_create(CurrentMemoryContext);
	group_builder_add_group(builder, group_from_bytes(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes)));
	PG_RETURN_POINTER(builder);
}

/* NULL if there are no rows, like array_agg. */
Datum
stepadv_rollout_agg_final(PG_FUNCTION_ARGS)
{
	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(group_builder_finish((GroupBuilder *) PG_GETARG_POINTER(0)));
}

/* ----------
 * rollup(rollout_group)
 *
 * Its state is of type rollout_group, not internal, so that systems that transfer partial states by type can
 * transfer it (Citus does).  While it grows, it is an expanded object.  It collects the groups as they are, which
 * mostly have no common rollouts, or adds them to a GroupBuilder if they have, so that merging stays linear.
 * ----------
 */

#define ROLLUP_MAGIC 0x52474f31

typedef struct ExpandedRollup
{
	ExpandedObjectHeader header;
	int			magic;
	GroupBuilder *builder;
	GroupColumns *groups;		/* not yet in the builder */
	uint32		n_groups;
	uint32		n_room;
	RolloutGroup *flat;			/* the result that get_flat_size measured, or NULL */
} ExpandedRollup;

static void
build_groups(ExpandedRollup *rollup)
{
	for (uint32 g = 0; g < rollup->n_groups; g++)
		group_builder_add_columns(rollup->builder, &rollup->groups[g]);
	rollup->n_groups = 0;
}

static RolloutGroup *
finish_rollup(ExpandedRollup *rollup)
{
	if (rollup->n_groups > 0 && group_builder_is_empty(rollup->builder))
	{
		RolloutGroup *united = unite_apart(rollup->groups, rollup->n_groups);

		if (united != NULL)
			return united;
	}
	build_groups(rollup);
	return group_builder_finish(rollup->builder);
}

static Size
rollup_flat_size(ExpandedObjectHeader *header)
{
	ExpandedRollup *rollup = (ExpandedRollup *) header;

	if (rollup->flat == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(header->eoh_context);

		rollup->flat = finish_rollup(rollup);
		MemoryContextSwitchTo(old);
	}
	return VARSIZE(rollup->flat);
}

static void
rollup_flatten_into(ExpandedObjectHeader *header, void *result, Size allocated_size)
{
	ExpandedRollup *rollup = (ExpandedRollup *) header;

	Assert(rollup->flat != NULL && VARSIZE(rollup->flat) == allocated_size);
	copy_large(result, rollup->flat, allocated_size);
	pfree(rollup->flat);
	rollup->flat = NULL;
}

static const ExpandedObjectMethods rollup_methods = {
	rollup_flat_size,
	rollup_flatten_into
};

static ExpandedRollup *
rollup_create(MemoryContext parent)
{
	MemoryContext context = AllocSetContextCreate(parent, "stepadv rollup", ALLOCSET_START_SMALL_SIZES);
	ExpandedRollup *rollup = MemoryContextAllocZero(context, sizeof(ExpandedRollup));

	EOH_init_header(&rollup->header, &rollup_methods, context);
	rollup->magic = ROLLUP_MAGIC;
	rollup->builder = group_builder_create(context);
	return rollup;
}

static ExpandedRollup *
rollup_of_datum(Datum datum)
{
	ExpandedRollup *rollup = (ExpandedRollup *) DatumGetEOHP(datum);

	if (rollup->header.eoh_methods != &rollup_methods || rollup->magic != ROLLUP_MAGIC)
		elog(ERROR, "expanded object is not a rollup");
	return rollup;
}

/* Add a copy of the group's columns, which the caller may change. */
static GroupColumns *
rollup_add_group(ExpandedRollup *rollup, Datum value)
{
	MemoryContext old = MemoryContextSwitchTo(rollup->header.eoh_context);
	GroupColumns *group;

	if (rollup->n_groups == rollup->n_room)
	{
		rollup->n_room = Max(8, 2 * rollup->n_room);
		rollup->groups = rollup->groups ? repalloc_huge(rollup->groups, rollup->n_room * sizeof(GroupColumns)) :
			palloc(rollup->n_room * sizeof(GroupColumns));
	}
	group = &rollup->groups[rollup->n_groups];
	group_open((RolloutGroup *) PG_DETOAST_DATUM_COPY(value), group);
	rollup->n_groups++;
	MemoryContextSwitchTo(old);
	return group;
}

static void
rollup_forget_flat(ExpandedRollup *rollup)
{
	/* A result that was measured before, whether copied or not, is out of date. */
	if (rollup->flat != NULL)
	{
		pfree(rollup->flat);
		rollup->flat = NULL;
	}
}

static void
rollup_add_datum(ExpandedRollup *rollup, Datum datum)
{
	rollup_forget_flat(rollup);
	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
	{
		ExpandedRollup *other = rollup_of_datum(datum);

		build_groups(rollup);
		build_groups(other);
		group_builder_add_builder(rollup->builder, other->builder);
	}
	else
		rollup_add_group(rollup, datum);
}

/* The state of rollup or history_agg: the expanded one, or a new one that includes a flat one. */
static ExpandedRollup *
rollup_state(FunctionCallInfo fcinfo)
{
	MemoryContext context = aggregate_context(fcinfo);
	ExpandedRollup *rollup;

	if (!PG_ARGISNULL(0) && VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(PG_GETARG_DATUM(0))))
		return rollup_of_datum(PG_GETARG_DATUM(0));
	if (PG_ARGISNULL(0) && PG_ARGISNULL(1))
		return NULL;
	rollup = rollup_create(context);
	if (!PG_ARGISNULL(0))
		rollup_add_datum(rollup, PG_GETARG_DATUM(0));
	return rollup;
}

/* Both transition and combine function: both add a group to a group. */
Datum
stepadv_rollup_merge(PG_FUNCTION_ARGS)
{
	ExpandedRollup *rollup = rollup_state(fcinfo);

	if (rollup == NULL)
		PG_RETURN_NULL();
	if (!PG_ARGISNULL(1))
		rollup_add_datum(rollup, PG_GETARG_DATUM(1));
	PG_RETURN_DATUM(EOHPGetRWDatum(&rollup->header));
}

/* ----------
 * history_agg(rollout_group, key, policy_step)
 *
 * rollup of groups whose rollout_ids are unique only within a group: ids are hashed with the group's key, and all
 * rollouts of a group get its policy_step.  If either is NULL, ids or policy steps stay as they are.
 * ----------
 */
Datum
stepadv_history_merge(PG_FUNCTION_ARGS)
{
	ExpandedRollup *rollup = rollup_state(fcinfo);
	GroupColumns *group;
	MemoryContext old;

	if (rollup == NULL)
		PG_RETURN_NULL();
	if (PG_ARGISNULL(1))
		PG_RETURN_DATUM(EOHPGetRWDatum(&rollup->header));
	rollup_forget_flat(rollup);
	group = rollup_add_group(rollup, PG_GETARG_DATUM(1));
	old = MemoryContextSwitchTo(rollup->header.eoh_context);
	if (!PG_ARGISNULL(2))
	{
		int64	   *ids = ALLOCATE_ARRAY(int64, group->n_rollouts);

		for (uint32 r = 0; r < group->n_rollouts; r++)
			ids[r] = hash_int64_onto(group->rollout_id[r], PG_GETARG_INT64(2));
		group->rollout_id = ids;
	}
	if (!PG_ARGISNULL(3))
	{
		int64	   *steps = ALLOCATE_ARRAY(int64, group->n_rollouts);

		for (uint32 r = 0; r < group->n_rollouts; r++)
			steps[r] = PG_GETARG_INT64(3);
		group->policy_step = steps;
	}
	MemoryContextSwitchTo(old);
	PG_RETURN_DATUM(EOHPGetRWDatum(&rollup->header));
}

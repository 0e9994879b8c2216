/*
 * group_agg.c
 *		rollout_agg, rollup: the aggregates that make rollout_group values.
 *
 * A thin adapter between rows of SQL and the GroupBuilder.  The
 * state of rollout_agg travels between processes as the finished value itself:
 * one format, one place that checks it.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "aggregate.h"
#include "compat.h"
#include "group_builder.h"
#include "group_io.h"

PG_FUNCTION_INFO_V1(stepadv_rollout_agg_trans);
PG_FUNCTION_INFO_V1(stepadv_rollout_agg_combine);
PG_FUNCTION_INFO_V1(stepadv_rollout_agg_serial);
PG_FUNCTION_INFO_V1(stepadv_rollout_agg_deserial);
PG_FUNCTION_INFO_V1(stepadv_rollout_agg_final);
PG_FUNCTION_INFO_V1(stepadv_rollup_merge);

/* Arguments of the transition function; the shorter forms stop earlier. */
enum
{
	ARG_STATE_VALUE,
	ARG_STEP_ID,
	ARG_ROLLOUT_ID,
	ARG_STEP_NO,
	ARG_STATE,
	ARG_ACTION,
	ARG_REWARD,
	ARG_SUCCESS,
	ARG_NEXT_STATE,
	ARG_VALUE,
	ARG_TURN_REWARD,
	ARG_COST
};

static void
refuse_number(const StepRow *row, const char *name, double number)
{
	if (row->is_rollout)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s of rollout " INT64_FORMAT " is %s, not a finite number",
						name, row->rollout_id, isnan(number) ? "NaN" : "infinite")));
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("%s of rollout " INT64_FORMAT ", step %d is %s, not a finite number",
					name, row->rollout_id, row->step_no, isnan(number) ? "NaN" : "infinite")));
}

/* A float8 argument: NaN inside for NULL, so NaN itself is refused. */
static inline double
number_argument(FunctionCallInfo fcinfo, int arg, const StepRow *row, const char *name)
{
	double		number;

	if (PG_ARGISNULL(arg))
		return NAN;
	number = PG_GETARG_FLOAT8(arg);
	if (unlikely(!isfinite(number)))
		refuse_number(row, name, number);
	return number;
}

static void
read_identity(FunctionCallInfo fcinfo, StepRow *row)
{
	if (PG_ARGISNULL(ARG_ROLLOUT_ID))
	{
		if (PG_ARGISNULL(ARG_STEP_ID))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("rollout_id must not be null")));
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("rollout_id of the step with step_id " INT64_FORMAT " must not be null",
						PG_GETARG_INT64(ARG_STEP_ID))));
	}
	row->rollout_id = PG_GETARG_INT64(ARG_ROLLOUT_ID);
	row->is_rollout = PG_ARGISNULL(ARG_STEP_NO);
	if (row->is_rollout)
	{
		row->step_no = 0;
		row->step_id = 0;
		return;
	}
	row->step_no = PG_GETARG_INT32(ARG_STEP_NO);
	if (PG_ARGISNULL(ARG_STEP_ID))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("step_id of rollout " INT64_FORMAT ", step %d must not be null",
						row->rollout_id, row->step_no),
				 errhint("Only a row without a step_no, which stands for the rollout itself, needs no step_id.")));
	row->step_id = PG_GETARG_INT64(ARG_STEP_ID);
}

/*
 * rollout_agg(step_id, rollout_id, step_no, state, action, reward
 *			   [, success [, next_state, value, turn_reward, cost]])
 *
 * One function for the three forms: what an argument list does not have is
 * NULL in every row.
 */
Datum
stepadv_rollout_agg_trans(PG_FUNCTION_ARGS)
{
	GroupBuilder *builder;
	StepRow		row_space;
	StepRow    *row = &row_space;
	int			nargs = PG_NARGS();

	read_identity(fcinfo, row);
	row->state = PG_ARGISNULL(ARG_STATE) ? 0 : PG_GETARG_INT64(ARG_STATE);
	row->action = PG_ARGISNULL(ARG_ACTION) ? 0 : PG_GETARG_INT64(ARG_ACTION);
	row->nulls = NULL_NEXT_STATE |
		(PG_ARGISNULL(ARG_STATE) ? NULL_STATE : 0) |
		(PG_ARGISNULL(ARG_ACTION) ? NULL_ACTION : 0);
	row->reward = number_argument(fcinfo, ARG_REWARD, row, "reward");
	row->success = SUCCESS_UNKNOWN;
	if (nargs > ARG_SUCCESS && !PG_ARGISNULL(ARG_SUCCESS))
		row->success = PG_GETARG_BOOL(ARG_SUCCESS) ? SUCCESS_TRUE : SUCCESS_FALSE;

	row->is_wide = nargs > ARG_COST && !row->is_rollout;
	if (row->is_wide)
	{
		row->next_state = PG_ARGISNULL(ARG_NEXT_STATE) ? 0 : PG_GETARG_INT64(ARG_NEXT_STATE);
		if (!PG_ARGISNULL(ARG_NEXT_STATE))
			row->nulls &= ~NULL_NEXT_STATE;
		row->value = number_argument(fcinfo, ARG_VALUE, row, "value");
		row->turn_reward = number_argument(fcinfo, ARG_TURN_REWARD, row, "turn_reward");
		row->cost = number_argument(fcinfo, ARG_COST, row, "cost");
	}

	/* Nobody but an aggregate can pass a state: it is of type internal. */
	builder = PG_ARGISNULL(ARG_STATE_VALUE) ? group_builder_create(aggregate_context(fcinfo))
		: (GroupBuilder *) PG_GETARG_POINTER(ARG_STATE_VALUE);
	group_builder_add(builder, row);
	PG_RETURN_POINTER(builder);
}

/* Keeps no pointer into the right state, which may be freed at any time. */
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

/* A bytea and a rollout_group are both varlenas: the value is its own wire form. */
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
	Group		group;

	(void) aggregate_context(fcinfo);
	group_open(group_from_bytes(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes)), &group);
	builder = group_builder_create(CurrentMemoryContext);
	group_builder_add_group(builder, &group);
	PG_RETURN_POINTER(builder);
}

/* NULL over no rows, like array_agg. */
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
 * Its state is of type rollout_group, not internal, so that whatever ships
 * partial states by type can ship it (Citus does).  While it grows it is an
 * expanded object around a GroupBuilder, so that merging stays linear.
 * ----------
 */

#define ROLLUP_MAGIC 0x52474f31

typedef struct ExpandedRollup
{
	ExpandedObjectHeader header;
	int			magic;
	GroupBuilder *builder;
	RolloutGroup *flat;			/* what get_flat_size measured, or NULL */
} ExpandedRollup;

static Size
rollup_flat_size(ExpandedObjectHeader *header)
{
	ExpandedRollup *rollup = (ExpandedRollup *) header;

	if (rollup->flat == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(header->eoh_context);

		rollup->flat = group_builder_finish(rollup->builder);
		MemoryContextSwitchTo(old);
	}
	return VARSIZE(rollup->flat);
}

static void
rollup_flatten_into(ExpandedObjectHeader *header, void *result, Size allocated_size)
{
	ExpandedRollup *rollup = (ExpandedRollup *) header;

	Assert(rollup->flat != NULL && VARSIZE(rollup->flat) == allocated_size);
	memcpy(result, rollup->flat, allocated_size);
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

static void
rollup_add_datum(ExpandedRollup *rollup, Datum datum)
{
	/* What was measured before, perhaps without being copied, is out of date. */
	if (rollup->flat != NULL)
	{
		pfree(rollup->flat);
		rollup->flat = NULL;
	}
	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
		group_builder_add_builder(rollup->builder, rollup_of_datum(datum)->builder);
	else
	{
		Group		group;

		group_open((RolloutGroup *) PG_DETOAST_DATUM(datum), &group);
		group_builder_add_group(rollup->builder, &group);
	}
}

/* Transition and combine function in one: both add a group to a group. */
Datum
stepadv_rollup_merge(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	ExpandedRollup *rollup;

	if (!PG_ARGISNULL(0) && VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(PG_GETARG_DATUM(0))))
		rollup = rollup_of_datum(PG_GETARG_DATUM(0));
	else
	{
		if (PG_ARGISNULL(0) && PG_ARGISNULL(1))
			PG_RETURN_NULL();
		rollup = rollup_create(context);
		if (!PG_ARGISNULL(0))
			rollup_add_datum(rollup, PG_GETARG_DATUM(0));
	}
	if (!PG_ARGISNULL(1))
		rollup_add_datum(rollup, PG_GETARG_DATUM(1));
	PG_RETURN_DATUM(EOHPGetRWDatum(&rollup->header));
}

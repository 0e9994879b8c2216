/*
 * left_out.c
 *		without_rollout, left_out: SQL functions for leaving rollouts out.
 */
#include "postgres.h"

#include "arrays.h"
#include "estimators/leave_one_out.h"
#include "group/builder.h"
#include "parameters.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_without_rollout);
PG_FUNCTION_INFO_V1(stepadv_left_out);

/* The group without one rollout. */
Datum
stepadv_without_rollout(PG_FUNCTION_ARGS)
{
	int64		rollout_id = PG_GETARG_INT64(1);
	GroupBuilder *builder = group_builder_create(CurrentMemoryContext);
	GroupColumns group;
	int64		rollout;

	group_open((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group);
	rollout = group_place_of_rollout(&group, rollout_id);
	if (rollout < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rollout " INT64_FORMAT " is not in the group", rollout_id)));
	group_builder_take_shape(builder, &group);
	for (uint32 r = 0; r < group.n_rollouts; r++)
		if (r != rollout)
			group_builder_add_rollout(builder, &group, r, group.rollout_id[r]);
	PG_RETURN_POINTER(group_builder_finish(builder));
}

/* A row per rollout to leave out. */
Datum
stepadv_left_out(PG_FUNCTION_ARGS)
{
	static const Parameter parameters[] = {
		INTEGER_PARAMETER("max_rollouts", 1, INFINITY),
		INTEGER_PARAMETER("seed", -INFINITY, INFINITY)
	};
	ParameterValue values[lengthof(parameters)];
	GroupColumns group;
	RolloutFacts facts;
	bool	   *chosen;
	int64	   *rollout_id;
	uint64		n = 0;

	read_parameters(fcinfo, 1, parameters, lengthof(parameters), values);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	chosen = ALLOCATE_ARRAY(bool, group.n_rollouts);
	choose_left_out(&group, &facts, (uint32) values[0].number, (int64) values[1].number, chosen);
	rollout_id = ALLOCATE_ARRAY(int64, group.n_rollouts);
	for (uint32 r = 0; r < group.n_rollouts; r++)
		if (chosen[r])
			rollout_id[n++] = group.rollout_id[r];

	{
		ResultColumn columns[] = {{"rollout_id", COLUMN_INT8, rollout_id, NULL}};

		RETURN_COLUMNS(columns, n);
	}
}

/*
 * of_rollouts.c
 *		of_rollouts(g, ids): a group of the listed rollouts of a group.
 *
 * Unknown and repeated ids are ignored.  If all rollouts are listed, the result is the group itself.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"

#include "arrays.h"
#include "checked_arguments.h"
#include "group/builder.h"

PG_FUNCTION_INFO_V1(stepadv_of_rollouts);

static RolloutGroup *
build_listed(const GroupColumns *group, const bool *is_listed)
{
	GroupBuilder *builder = group_builder_create(CurrentMemoryContext);

	group_builder_take_shape(builder, group);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (is_listed[r])
			group_builder_add_rollout(builder, group, r, group->rollout_id[r]);
	}
	return group_builder_finish(builder);
}

/* of_rollouts(rollouts, rollout_ids bigint[]); strict. */
Datum
stepadv_of_rollouts(PG_FUNCTION_ARGS)
{
	RolloutGroup *datum = (RolloutGroup *) PG_GETARG_VARLENA_P(0);
	int			n;
	const int64 *ids = list_argument(fcinfo, 1, "rollout_ids", INT8OID, &n);
	GroupColumns group;
	bool	   *is_listed;
	uint32		n_listed = 0;

	group_open(datum, &group);
	is_listed = ALLOCATE_ZEROED_ARRAY(bool, group.n_rollouts);
	for (int i = 0; i < n; i++)
	{
		int64		place = group_place_of_rollout(&group, ids[i]);

		if (place >= 0 && !is_listed[place])
		{
			is_listed[place] = true;
			n_listed++;
		}
	}
	PG_RETURN_POINTER(n_listed == group.n_rollouts ? datum : build_listed(&group, is_listed));
}

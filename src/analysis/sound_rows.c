/*
 * sound_rows.c
 *		rows_are_sound: whether a value shows that its rows have no problem.
 *
 * The view _problems searches rows, which takes long, so it skips kept groups that are sound.  A group with a
 * problem of sql/attach/problems.sql must never be sound, and few groups without one should be unsound.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "group/group.h"
#include "hash.h"

PG_FUNCTION_INFO_V1(stepadv_rows_are_sound);

/* A reward or a success value on any row. */
static bool
is_judged(const GroupColumns *group, uint32 rollout)
{
	if (group->success[rollout] != SUCCESS_UNKNOWN || (group->outcome != NULL && !isnan(group->outcome[rollout])))
		return true;
	for (uint32 i = group->first_step[rollout]; i < group->first_step[rollout + 1]; i++)
		if (!isnan(group->reward[i]))
			return true;
	return false;
}

/* A number that is not finite was folded to NULL, so if a column can have values, none may be NULL. */
static bool
are_steps_sound(const GroupColumns *group, uint32 rollout, bool has_values)
{
	uint32		first = group->first_step[rollout];
	uint32		end = group->first_step[rollout + 1];

	for (uint32 i = first; i < end; i++)
	{
		if (i > first && group->step_no[i] != (int64) group->step_no[i - 1] + 1)
			return false;
		if (has_values && (group->value == NULL || isnan(group->value[i])))
			return false;
		if (group->turn != NULL && step_has_null(group, i, NULL_TURN))
			return false;
	}
	/* At the limits of integer, a larger step_no may have been clamped. */
	return end > first && group->step_no[first] != PG_INT32_MIN && group->step_no[end - 1] != PG_INT32_MAX;
}

/* rows_are_sound(rollouts rollout_group, has_values boolean): false for NULL. */
Datum
stepadv_rows_are_sound(PG_FUNCTION_ARGS)
{
	int64		no_name = hash_of_text("", 0);
	GroupColumns group;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_BOOL(false);
	group_open((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group);
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		CHECK_FOR_INTERRUPTS();
		if ((group.defects != NULL && group.defects[r] != 0) || group.rollout_id[r] == no_name ||
			!is_judged(&group, r) || !are_steps_sound(&group, r, PG_GETARG_BOOL(1)))
			PG_RETURN_BOOL(false);
	}
	PG_RETURN_BOOL(true);
}

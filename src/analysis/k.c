/*
 * k.c
 *		How many rollouts are drawn of a task's.
 */
#include "analysis/k.h"

int32
read_k(const NullableDatum *arg)
{
	int32		k;

	if (arg->isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("k must not be null"),
				 errhint("k is how many rollouts of a task are drawn: 1, 2, 4, ….")));
	k = DatumGetInt32(arg->value);
	if (k < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be at least 1, not %d", k),
				 errhint("k is how many rollouts of a task are drawn: 1, 2, 4, ….")));
	return k;
}

void
same_k(int64 known, int32 k)
{
	if (known != 0 && known != k)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be the same for all rollouts of a task, not " INT64_FORMAT " and %d", Min(known, k), (int) Max(known, k)),
				 errhint("For several k, cross join them and group by k as well.")));
}

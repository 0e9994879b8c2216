/*
 * fit_rows.c
 *		The input of a linear fit: a row per rollout.
 *
 * Sparse features have a column for each index that occurs, in ascending order, so
 * that solutions and models need no memory for others.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "progress/fit_rows.h"

/* Number the indices that occur; *table gets the column of each. */
static int32 *
number_places(const RolloutSums *sums, RolloutSum *const *rollouts, uint64 n, int32 **table, int *dimension)
{
	int32		most = 0;
	int32	   *place;

	for (uint64 r = 0; r < n; r++)
	{
		SparseSum	sum = rollout_sums_features(sums, rollouts[r]);

		if (sum.n > 0)
			most = Max(most, sum.place[sum.n - 1]);
	}
	*table = ALLOCATE_ZEROED_ARRAY(int32, most + 1);
	for (uint64 r = 0; r < n; r++)
	{
		SparseSum	sum = rollout_sums_features(sums, rollouts[r]);

		for (uint32 i = 0; i < sum.n; i++)
			(*table)[sum.place[i]] = 1;
		CHECK_FOR_INTERRUPTS();
	}
	*dimension = 0;
	for (int32 p = 1; p <= most; p++)
		*dimension += (*table)[p];
	place = ALLOCATE_ARRAY(int32, *dimension);
	for (int32 p = 1, column = 0; p <= most; p++)
		if ((*table)[p] != 0)
		{
			place[column] = p;
			(*table)[p] = column++;
		}
	return place;
}

FitRows
fit_rows_of(RolloutSums *sums, RolloutSum *const *rollouts, uint64 n)
{
	FitRows		rows = {ALLOCATE_ARRAY(FitRow, n), n, 0, rollout_sums_dimension(sums), NULL};
	int32	   *table = NULL;
	int32	   *columns;
	uint64		n_entries = 0;

	if (rows.dimension == SPARSE_DIMENSION)
		rows.place = number_places(sums, rollouts, n, &table, &rows.dimension);
	if (rows.dimension == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("none of the " UINT64_FORMAT " judged rollouts has a feature", n)));
	for (uint64 r = 0; r < n; r++)
		n_entries += rollout_sums_features(sums, rollouts[r]).n;
	columns = ALLOCATE_ARRAY(int32, n_entries);
	for (uint64 r = 0; r < n; r++)
	{
		SparseSum	sum = rollout_sums_features(sums, rollouts[r]);

		rows.n_steps += rollouts[r]->n_steps;
		rows.row[r] = (FitRow) {sum.weight, columns, sum.n, rollouts[r]->outcome, rollouts[r]->rollout_id};
		for (uint32 i = 0; i < sum.n; i++)
			*columns++ = table == NULL ? sum.place[i] - 1 : table[sum.place[i]];
		CHECK_FOR_INTERRUPTS();
	}
	if (table != NULL)
		pfree(table);
	return rows;
}

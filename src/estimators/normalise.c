/*
 * normalise.c
 *		Group-relative normalisation in two passes, over many sets at once.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "estimator.h"
#include "estimators/normalise.h"
#include "estimators/sum.h"

typedef struct SetMoments
{
	uint64		count;
	Sum			sum;
	Sum			squares;		/* of deviations from the mean */
	double		least;
	double		most;
	double		mean;
} SetMoments;

static inline int32
set_of(const int32 *set, uint32 i)
{
	return set ? set[i] : 0;
}

static inline uint32
weight_of(const uint32 *weight, uint32 i)
{
	return weight ? weight[i] : 1;
}

static SetMoments *
measure_sets(const double *x, const uint32 *weight, const int32 *set, uint32 n, uint32 n_sets)
{
	SetMoments *sets = ALLOCATE_ZEROED_ARRAY(SetMoments, n_sets);

	for (uint32 i = 0; i < n; i++)
	{
		uint32		w = weight_of(weight, i);
		SetMoments *s;

		if (set_of(set, i) == NO_SET || w == 0)
			continue;
		s = &sets[set_of(set, i)];
		s->least = s->count == 0 ? x[i] : Min(s->least, x[i]);
		s->most = s->count == 0 ? x[i] : Max(s->most, x[i]);
		s->count += w;
		sum_add(&s->sum, w * x[i]);
	}
	CHECK_FOR_INTERRUPTS();
	for (uint32 s = 0; s < n_sets; s++)
		sets[s].mean = sum_value(&sets[s].sum) / sets[s].count;
	for (uint32 i = 0; i < n; i++)
	{
		SetMoments *s;

		if (set_of(set, i) == NO_SET || weight_of(weight, i) == 0)
			continue;
		s = &sets[set_of(set, i)];
		sum_add(&s->squares, weight_of(weight, i) * (x[i] - s->mean) * (x[i] - s->mean));
	}
	CHECK_FOR_INTERRUPTS();
	return sets;
}

static double
normalise_one(double x, const SetMoments *set, const NormaliseOptions *options, double *baseline)
{
	*baseline = 0;
	if (options->normalisation == NORMALISE_NONE)
		return x;
	if (set->count <= 1)
	{
		if (options->singleton == SINGLETON_ZERO)
		{
			*baseline = x;
			return 0;
		}
		return options->normalisation == NORMALISE_STD ? x / (1 + options->epsilon) : x;
	}
	*baseline = set->mean;
	if (set->least == set->most)
	{
		*baseline = x;
		return 0;
	}
	switch (options->normalisation)
	{
		case NORMALISE_STD:
			{
				double		sd = sqrt(sum_value(&set->squares) / (set->count - 1));

				/* An sd that overflowed would make everything 0: NaN is refused. */
				return isinf(sd) ? NAN : (x - set->mean) / (sd + options->epsilon);
			}
		case NORMALISE_LEAVE_ONE_OUT:
			{
				double		advantage = (x - set->mean) * ((double) set->count / (set->count - 1));

				*baseline = x - advantage;
				return advantage;
			}
		default:
			return x - set->mean;
	}
}

void
normalise(const double *x, const uint32 *weight, const int32 *set, uint32 n, uint32 n_sets,
		  const NormaliseOptions *options, double *result, double *baseline)
{
	SetMoments *sets = measure_sets(x, weight, set, n, n_sets);

	for (uint32 i = 0; i < n; i++)
	{
		double		subtracted;

		if (set_of(set, i) == NO_SET)
			continue;
		result[i] = normalise_one(x[i], &sets[set_of(set, i)], options, &subtracted);
		if (baseline)
			baseline[i] = subtracted;
	}
	pfree(sets);
}

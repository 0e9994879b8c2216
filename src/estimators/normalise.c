/*
 * normalise.c
 *		Group-relative normalization in two passes, over many sets at once.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/normalise.h"
#include "sum.h"

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

SetMoments *
measure_sets(const double *x, const uint32 *weight, const int32 *set, uint32 n, uint32 n_sets)
{
	SetMoments *sets = ALLOCATE_ZEROED_ARRAY(SetMoments, n_sets);
	Sum		   *squares = ALLOCATE_ZEROED_ARRAY(Sum, n_sets);
	double	   *scale = ALLOCATE_ARRAY(double, n_sets);

	for (uint32 i = 0; i < n; i++)
	{
		uint32		w = weight_of(weight, i);
		SetMoments *s;

		CHECK_ONCE_IN_A_WHILE(i);
		if (set_of(set, i) == NO_SET || w == 0)
			continue;
		s = &sets[set_of(set, i)];
		s->least = s->count == 0 ? x[i] : Min(s->least, x[i]);
		s->most = s->count == 0 ? x[i] : Max(s->most, x[i]);
		s->count += w;
		sum_add(&s->sum, w * x[i]);
	}
	CHECK_FOR_INTERRUPTS();

	/* Divide deviations by the largest one, so that their squares do not overflow. */
	for (uint32 k = 0; k < n_sets; k++)
	{
		SetMoments *s = &sets[k];

		CHECK_ONCE_IN_A_WHILE(k);
		s->mean = s->count > 0 ? sum_value(&s->sum) / s->count : NAN;
		scale[k] = Max(s->most - s->mean, s->mean - s->least);
	}
	for (uint32 i = 0; i < n; i++)
	{
		uint32		w = weight_of(weight, i);
		int32		k = set_of(set, i);

		CHECK_ONCE_IN_A_WHILE(i);
		if (k != NO_SET && w > 0 && scale[k] > 0)
		{
			double		deviation = (x[i] - sets[k].mean) / scale[k];

			sum_add(&squares[k], w * deviation * deviation);
		}
	}
	CHECK_FOR_INTERRUPTS();
	for (uint32 k = 0; k < n_sets; k++)
	{
		CHECK_ONCE_IN_A_WHILE(k);
		if (sets[k].count < 2)
			sets[k].sd = NAN;
		else if (sets[k].least == sets[k].most)
			sets[k].sd = 0;
		else
			sets[k].sd = scale[k] * sqrt(sum_value(&squares[k]) / (sets[k].count - 1));
		/* Division by an infinite sd would give 0.  NaN becomes an error if the rollout is judged. */
		if (isinf(sets[k].mean))
			sets[k].mean = NAN;
		if (!isfinite(sets[k].sd))
			sets[k].sd = NAN;
	}
	pfree(squares);
	pfree(scale);
	return sets;
}

static double
leave_one_out_mean(double x, const SetMoments *set)
{
	Sum			others = set->sum;

	sum_add(&others, -x);
	return sum_value(&others) / (set->count - 1);
}

static double
normalise_one(double x, const SetMoments *set, const NormaliseOptions *options, double epsilon, double *baseline)
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
		return options->normalisation == NORMALISE_STD || options->normalisation == NORMALISE_POPULATION ?
			x / (1 + epsilon) : x;
	}
	if (set->least == set->most)
	{
		*baseline = x;
		return 0;
	}
	*baseline = options->normalisation == NORMALISE_LEAVE_ONE_OUT ? leave_one_out_mean(x, set) : set->mean;
	switch (options->normalisation)
	{
		case NORMALISE_STD:
		case NORMALISE_POPULATION:
			return (x - *baseline) / (set->sd + epsilon);
		default:
			return x - *baseline;
	}
}

void
normalise(const double *x, const uint32 *weight, const int32 *set, uint32 n, uint32 n_sets,
		  const NormaliseOptions *options, double *result, double *baseline)
{
	SetMoments *sets = measure_sets(x, weight, set, n, n_sets);

	for (uint32 k = 0; options->normalisation == NORMALISE_POPULATION && k < n_sets; k++)
		sets[k].sd *= sqrt((double) (sets[k].count - 1) / sets[k].count);
	for (uint32 i = 0; i < n; i++)
	{
		double		subtracted;

		CHECK_ONCE_IN_A_WHILE(i);
		if (set_of(set, i) == NO_SET)
			continue;
		result[i] = normalise_one(x[i], &sets[set_of(set, i)], options,
								  options->epsilon_of_set ? options->epsilon_of_set[set_of(set, i)] : options->epsilon,
								  &subtracted);
		if (baseline)
			baseline[i] = subtracted;
	}
	pfree(sets);
}

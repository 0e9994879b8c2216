#ifndef STEPADV_OBJECTIVE_H
#define STEPADV_OBJECTIVE_H

#include <math.h>

#include "parameters.h"

#define CLIP_PARAMETERS \
	NUMBER_PARAMETER("clip_low", 0, 1), \
	NULLABLE_NUMBER_PARAMETER("clip_high", 0, INFINITY), \
	NULLABLE_NUMBER_PARAMETER("dual_clip", 1, INFINITY)

typedef struct ClipBounds
{
	double		least;			/* ratios between least and most are not clipped */
	double		most;
	double		dual;			/* infinite: no dual clip */
} ClipBounds;

/* clip: the values of CLIP_PARAMETERS. */
static inline ClipBounds
clip_bounds(const ParameterValue *clip)
{
	return (ClipBounds) {
		1 - clip[0].number,
		1 + (clip[1].isnull ? clip[0].number : clip[1].number),
		clip[2].isnull ? INFINITY : clip[2].number
	};
}

/* 0 for advantage 0, even if the ratio is infinite. */
static inline double
clipped_objective(double ratio, double a, const ClipBounds *bounds)
{
	if (a == 0)
		return 0;
	if (a > 0)
		return Min(ratio, bounds->most) * a;
	return Min(Max(ratio, bounds->least), bounds->dual) * a;
}

/* Is the ratio outside the range in which the objective depends on it? */
static inline bool
is_clipped(double ratio, double a, const ClipBounds *bounds)
{
	if (a > 0)
		return ratio > bounds->most;
	return a < 0 && (ratio < bounds->least || ratio > bounds->dual);
}

#endif							/* STEPADV_OBJECTIVE_H */

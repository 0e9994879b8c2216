/*
 * estimates.c
 *		Reading a method's estimates from jsonb: so that a picture can show any
 *		method's, with whatever parameters it was called.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "arrays.h"
#include "compat.h"
#include "render/estimates.h"

/* A mean in the making, by edge or by state. */
typedef struct Means
{
	double	   *value;
	uint32	   *n;
} Means;

static Means
begin_means(uint32 n)
{
	return (Means) {ALLOCATE_ZEROED_ARRAY(double, n), ALLOCATE_ZEROED_ARRAY(uint32, n)};
}

/* The mean so far is moved, so that equal numbers have exactly that number as their mean. */
static void
add_to_mean(Means *means, int32 i, double x)
{
	if (i == NO_IDENTITY || isnan(x))
		return;
	means->value[i] += (x - means->value[i]) / ++means->n[i];
}

static double *
end_means(Means *means, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
		if (means->n[i] == 0)
			means->value[i] = NAN;
	pfree(means->n);
	return means->value;
}

#define ESTIMATES_HINT \
	"Give an object by step_id: (SELECT jsonb_object_agg(step_id, to_jsonb(e)) FROM stepadv.batch_td(g) e)."

static _Noreturn void
refuse_estimate(int64 step_id, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("estimates of step " INT64_FORMAT " have %s that is not a number", step_id, what),
			 errhint(ESTIMATES_HINT)));
}

/* NaN where there is none. */
static double
number_of(const JsonbValue *value, int64 step_id, const char *what)
{
	if (value == NULL || value->type == jbvNull)
		return NAN;
	if (value->type != jbvNumeric)
		refuse_estimate(step_id, what);
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(value->val.numeric)));
}

static void
read_estimate(Jsonb *estimates, int64 step_id, double *advantage, double *v)
{
	char		key[MAXINT8LEN + 1];
	JsonbValue	space;
	JsonbValue	member;
	JsonbValue *found = getKeyJsonValueFromContainer(&estimates->root, key,
													 snprintf(key, sizeof(key), INT64_FORMAT, step_id), &space);
	JsonbContainer *object = found != NULL && found->type == jbvBinary ? found->val.binary.data : NULL;

	*v = NAN;
	if (object == NULL || !JsonContainerIsObject(object))
	{
		*advantage = number_of(found, step_id, "an advantage");
		return;
	}
	*advantage = number_of(getKeyJsonValueFromContainer(object, "advantage", strlen("advantage"), &member), step_id,
						   "an advantage");
	*v = number_of(getKeyJsonValueFromContainer(object, "v", strlen("v"), &member), step_id, "a v");
}

void
dot_read_estimates(const ParameterValue *estimates, const GroupColumns *group, const Identities *edges,
				   const Identities *states, DotEstimates *result)
{
	Jsonb	   *object;
	Means		advantages;
	Means		values;

	result->given = !estimates->isnull;
	if (!result->given)
		return;
	object = DatumGetJsonbP(estimates->jsonb);
	if (!JB_ROOT_IS_OBJECT(object))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("estimates must be an object by step_id"),
				 errhint(ESTIMATES_HINT)));
	advantages = begin_means(edges->n);
	values = begin_means(states->n);
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		double		advantage;
		double		v;

		if (edges->of_step[i] == NO_IDENTITY)
			continue;
		read_estimate(object, group->step_id[i], &advantage, &v);
		add_to_mean(&advantages, edges->of_step[i], advantage);
		add_to_mean(&values, states->of_step[i], v);
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	result->advantage = end_means(&advantages, edges->n);
	result->v = end_means(&values, states->n);
}

/*
 * ratio.c
 *		step_ratio, sequence_ratio, approximate_kl: how far the policy has moved
 *		from the one that acted.
 *
 * d is logp_new - logp_old of a token; over the tokens of an action
 *
 *	step_ratio		exp(mean d)		geometric mean (StepPO eq. 7, GSPO)
 *	sequence_ratio	exp(sum d)		the ratio of the probabilities themselves
 *	approximate_kl	mean of -d ('k1'), d^2 / 2 ('k2') or exp(d) - 1 - d ('k3'):
 *					estimates of KL(old || new) from what the old policy sampled
 *
 * Without tokens, ratios are 1 and the divergence 0.  exp overflows to infinity and
 * underflows to 0, for both of which a clipped objective is well defined.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "funcapi.h"

#include "parameters.h"
#include "policy/logprobs.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_step_ratio);
PG_FUNCTION_INFO_V1(stepadv_sequence_ratio);
PG_FUNCTION_INFO_V1(stepadv_approximate_kl);
PG_FUNCTION_INFO_V1(stepadv_ratios_or_null);

static double
sum_log_ratios(LogRatios *ratios)
{
	Sum			sum = {0};

	while (log_ratios_next(ratios))
		sum_add(&sum, ratios->sum);
	return sum_value(&sum);
}

static double
mean_of_tokens(double sum, const LogRatios *ratios)
{
	return ratios->n_tokens == 0 ? 0 : sum / ratios->n_tokens;
}

/* exp of the mean, or the sum, of the log-ratios. */
static Datum
ratio_of_tokens(FunctionCallInfo fcinfo, bool of_mean)
{
	LogRatios	ratios;
	double		sum;

	if (!log_ratios_open(fcinfo, false, &ratios))
		PG_RETURN_NULL();
	sum = sum_log_ratios(&ratios);
	PG_RETURN_FLOAT8(exp(of_mean ? mean_of_tokens(sum, &ratios) : sum));
}

Datum
stepadv_step_ratio(PG_FUNCTION_ARGS)
{
	return ratio_of_tokens(fcinfo, true);
}

Datum
stepadv_sequence_ratio(PG_FUNCTION_ARGS)
{
	return ratio_of_tokens(fcinfo, false);
}

static const Parameter kl_parameters[] = {
	CHOICE_PARAMETER("estimator", "k1", "k2", "k3"),
	NULLABLE_NUMBER_PARAMETER("clamp_log_ratio", 0, INFINITY),
	NULLABLE_NUMBER_PARAMETER("clamp_estimate", 0, INFINITY)
};

enum
{
	KL_K1, KL_K2, KL_K3
};

static double
token_kl(int estimator, double d)
{
	switch (estimator)
	{
		case KL_K1:
			return -d;
		case KL_K2:
			return d * d / 2;
		default:
			/* For small d, exp(d) - 1 would lose precision. */
			return expm1(d) - d;
	}
}

Datum
stepadv_approximate_kl(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(kl_parameters)];
	LogRatios	ratios;
	Sum			sum = {0};

	read_parameters(fcinfo, 3, kl_parameters, lengthof(kl_parameters), parameters);
	if (!log_ratios_open(fcinfo, false, &ratios))
		PG_RETURN_NULL();
	while (log_ratios_next(&ratios))
		for (int i = 0; i < ratios.n; i++)
			sum_add(&sum, clamp_to(token_kl(parameters[0].choice, clamp_to(ratios.log_ratio[i], &parameters[1])), &parameters[2]));
	PG_RETURN_FLOAT8(mean_of_tokens(sum_value(&sum), &ratios));
}

/*
 * All three for views, with estimator k3: (step_ratio, sequence_ratio,
 * approximate_kl); NULL instead of an error, or for a NULL array.
 */
Datum
stepadv_ratios_or_null(PG_FUNCTION_ARGS)
{
	LogRatios	ratios;
	Sum			sum = {0};
	Sum			divergence = {0};
	double		mean;
	Datum		values[3];
	bool		nulls[3] = {false};
	TupleDesc	desc;

	if (!log_ratios_open(fcinfo, true, &ratios))
		PG_RETURN_NULL();
	while (log_ratios_next(&ratios))
	{
		sum_add(&sum, ratios.sum);
		for (int i = 0; i < ratios.n; i++)
			sum_add(&divergence, token_kl(KL_K3, ratios.log_ratio[i]));
	}
	if (ratios.refused)
		PG_RETURN_NULL();
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != lengthof(values))
		elog(ERROR, "ratios_or_null is not declared with three columns");
	mean = mean_of_tokens(sum_value(&sum), &ratios);
	values[0] = Float8GetDatum(exp(mean));
	values[1] = Float8GetDatum(exp(sum_value(&sum)));
	values[2] = Float8GetDatum(mean_of_tokens(sum_value(&divergence), &ratios));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/*
 * token_objective.c
 *		token_objective: the objective of PPO and its variants, summed over the tokens
 *		of an action, with statistics of the ratios.
 *
 * With d = logp_new - logp_old of a token, w = exp(d), and A the advantage of the step:
 *
 *	ppo		min(w A, clip(w, 1 - clip_low, 1 + clip_high) A), dual_clip as in
 *			clipped_objective
 *	gspo	the same with exp(mean d) as the ratio of each token of the action
 *	cispo	clip(w, 1 - clip_low, 1 + clip_high) A logp_new, the gradient of which
 *			goes through logp_new alone (MiniMax-M1; verl's code)
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"

#include "policy/logprobs.h"
#include "policy/objective.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_token_objective);

static const Parameter token_parameters[] = {
	CHOICE_PARAMETER("kind", "ppo", "gspo", "cispo"),
	CLIP_PARAMETERS,
	NULLABLE_NUMBER_PARAMETER("clamp_log_ratio", 0, INFINITY)
};

enum
{
	TOKEN_KIND, TOKEN_CLIP_LOW, TOKEN_CLIP_HIGH, TOKEN_DUAL_CLIP, TOKEN_CLAMP
};

typedef enum ObjectiveKind
{
	KIND_PPO,
	KIND_GSPO,
	KIND_CISPO
} ObjectiveKind;

typedef struct TokenSums
{
	int64		n_tokens;
	int64		n_below;		/* ratios below 1 - clip_low */
	int64		n_above;
	int64		n_clipped;
	Sum			objective;
	Sum			log_ratio;
	double		least;			/* ratio; NaN without tokens */
	double		most;
} TokenSums;

/* Add n tokens with the same ratio; only CISPO reads logp_new. */
static void
add_tokens(TokenSums *sums, int64 n, double d, double logp_new, double advantage, ObjectiveKind kind, const ClipBounds *bounds)
{
	double		ratio = exp(d);
	bool		below = ratio < bounds->least;
	bool		above = ratio > bounds->most;

	sums->n_below += below ? n : 0;
	sums->n_above += above ? n : 0;
	sums->least = isnan(sums->least) ? ratio : Min(sums->least, ratio);
	sums->most = isnan(sums->most) ? ratio : Max(sums->most, ratio);
	if (kind == KIND_CISPO)
	{
		sums->n_clipped += below || above ? n : 0;
		if (advantage != 0)
			sum_add(&sums->objective, Min(Max(ratio, bounds->least), bounds->most) * advantage * logp_new);
	}
	else
	{
		sums->n_clipped += is_clipped(ratio, advantage, bounds) ? n : 0;
		sum_add(&sums->objective, n * clipped_objective(ratio, advantage, bounds));
	}
}

static void
add_action(LogRatios *ratios, double advantage, const ParameterValue *parameters, TokenSums *sums)
{
	ObjectiveKind kind = parameters[TOKEN_KIND].choice;
	ClipBounds	bounds = clip_bounds(&parameters[TOKEN_CLIP_LOW]);
	int			token = 0;

	while (log_ratios_next(ratios))
	{
		sum_add(&sums->log_ratio, ratios->sum);
		for (int i = 0; kind != KIND_GSPO && i < ratios->n; i++, token++)
		{
			while (ratios->mask != NULL && !ratios->mask[token])
				token++;
			add_tokens(sums, 1, clamp_to(ratios->log_ratio[i], &parameters[TOKEN_CLAMP]),
					   log_prob(&ratios->new_policy, token), advantage, kind, &bounds);
		}
	}
	sums->n_tokens = ratios->n_tokens;
	if (kind == KIND_GSPO && sums->n_tokens > 0)
		add_tokens(sums, sums->n_tokens, clamp_to(sum_value(&sums->log_ratio) / sums->n_tokens, &parameters[TOKEN_CLAMP]),
				   0, advantage, kind, &bounds);
}

Datum
stepadv_token_objective(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(token_parameters)];
	TokenSums	sums = {.least = NAN, .most = NAN};
	LogRatios	ratios;
	TupleDesc	desc;
	Datum		values[8];
	bool		nulls[8] = {false};

	read_parameters(fcinfo, 4, token_parameters, lengthof(token_parameters), parameters);
	if (PG_ARGISNULL(3) || !log_ratios_open(fcinfo, false, &ratios))
		PG_RETURN_NULL();
	if (!isfinite(PG_GETARG_FLOAT8(3)))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("advantage must be a finite number, not %g", PG_GETARG_FLOAT8(3))));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != lengthof(values))
		elog(ERROR, "token_objective is not declared as its C code expects");
	add_action(&ratios, PG_GETARG_FLOAT8(3), parameters, &sums);
	values[0] = Int64GetDatum(sums.n_tokens);
	values[1] = Float8GetDatum(sum_value(&sums.objective));
	values[2] = Float8GetDatum(sum_value(&sums.log_ratio));
	values[3] = Float8GetDatum(sums.least);
	values[4] = Float8GetDatum(sums.most);
	nulls[3] = nulls[4] = isnan(sums.least);
	values[5] = Int64GetDatum(sums.n_below);
	values[6] = Int64GetDatum(sums.n_above);
	values[7] = Int64GetDatum(sums.n_clipped);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

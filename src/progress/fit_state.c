/*
 * fit_state.c
 *		The state that the aggregates over sums by rollout share: a thin adapter
 *		between rows and RolloutSums.
 */
#include "postgres.h"

#include "libpq/pqformat.h"

#include "compat.h"
#include "progress/fit_state.h"
#include "state_value.h"

PG_FUNCTION_INFO_V1(stepadv_progress_combine);

static void
init_state(void *content, MemoryContext context)
{
	((FitState *) content)->context = context;
}

static void
begin_state(FitState *state, const void *parameters, Size parameters_size)
{
	state->sums = rollout_sums_create(state->context);
	state->parameters_size = parameters_size;
	state->parameters = MemoryContextAlloc(state->context, Max(parameters_size, 1));
	if (parameters_size > 0)
		memcpy(state->parameters, parameters, parameters_size);
}

static void
write_state(void *content, StringInfo bytes)
{
	FitState   *state = content;

	pq_sendint32(bytes, (int32) state->parameters_size);
	pq_sendbytes(bytes, state->parameters, (int) state->parameters_size);
	rollout_sums_write(state->sums, bytes);
}

static void read_state(void *content, StringInfo bytes);

static const StateKind fit_kind = {
	"a fit of progress", 0x66697473, sizeof(FitState), init_state, write_state, read_state
};

static void
read_state(void *content, StringInfo bytes)
{
	FitState   *state = content;
	int			size = (int32) pq_getmsgint(bytes, 4);

	if (size < 0 || size > bytes->len - bytes->cursor)
		refuse_state(&fit_kind);
	begin_state(state, bytes->data + bytes->cursor, size);
	bytes->cursor += size;
	if (!rollout_sums_read(state->sums, bytes))
		refuse_state(&fit_kind);
}

static void
refuse_other_parameters(const FitState *state, const void *parameters, Size parameters_size)
{
	if (state->parameters_size != parameters_size ||
		(parameters_size > 0 && memcmp(state->parameters, parameters, parameters_size) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parameters must be the same in all rows of a fit")));
}

FitState *
fit_state_of_row(FunctionCallInfo fcinfo, const void *parameters, Size parameters_size)
{
	FitState   *state = state_to_change(fcinfo, &fit_kind);

	if (state->sums == NULL)
		begin_state(state, parameters, parameters_size);
	else
		refuse_other_parameters(state, parameters, parameters_size);
	return state;
}

FitState *
fit_state_of_rows(FunctionCallInfo fcinfo, Size least_parameters)
{
	FitState   *state = state_argument(fcinfo, 0, &fit_kind);

	if (state != NULL && (state->parameters_size < least_parameters || (least_parameters == 0 && state->parameters_size > 0)))
		refuse_state(&fit_kind);
	return state;
}

void
refuse_fit_state(void)
{
	refuse_state(&fit_kind);
}

/* ----------
 * In parallel
 * ----------
 */

/*
 * Keeps no pointer into the right state, which may be freed at any time.
 */
Datum
stepadv_progress_combine(PG_FUNCTION_ARGS)
{
	FitState   *other = state_argument(fcinfo, 1, &fit_kind);
	FitState   *state;

	if (other == NULL)
		return state_unchanged(fcinfo);
	state = fit_state_of_row(fcinfo, other->parameters, other->parameters_size);
	rollout_sums_merge(state->sums, other->sums);
	PG_RETURN_DATUM(state_datum(state));
}

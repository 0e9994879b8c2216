/*
 * preference_pairs.c
 *		preference_pairs: the best and the worst of the actions tried in a state.
 *
 * Over the judged rollouts, by state, among the actions that at least min_visits rollouts took there:
 *
 *	gap			Q of the best - Q of the worst
 *	gap_error	sqrt(e_best^2 + e_worst^2), e the q_error of each (q_error.c)
 *	confidence	P(gap / gap_error), P the normal distribution function: the probability that the best is
 *				better than the worst, as if they had not been chosen by their estimates
 *
 * Each is shown by the first step that took it, in the order of rollouts.  Visits count rollouts, not
 * steps: repeating an action gives a rollout only one outcome.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "analysis/action_values.h"
#include "group/facts.h"
#include "parameters.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_preference_pairs);

static const Parameter pair_parameters[] = {
	ACTION_VALUE_PARAMETERS,
	NUMBER_PARAMETER("min_gap", 0, INFINITY),
	INTEGER_PARAMETER("min_visits", 1, PG_INT32_MAX),
	NUMBER_PARAMETER("min_confidence", 0, 1)
};

enum
{
	MIN_GAP = N_ACTION_VALUE_PARAMETERS, MIN_VISITS, MIN_CONFIDENCE
};

typedef struct PreferencePair
{
	uint32		best;			/* pairs of the table; the first of equals */
	uint32		worst;
	uint32		n;				/* actions to choose from */
} PreferencePair;

static PreferencePair *
find_extremes(const RtmcTable *table, const uint32 *rollouts, uint32 min_visits)
{
	PreferencePair *extremes = ALLOCATE_ZEROED_ARRAY(PreferencePair, table->states.n);

	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		PreferencePair *of_state = &extremes[table->states.of_step[table->pairs.first_step[p]]];

		if (p % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
		/* Ignore actions whose Q is out of range. */
		if (rollouts[p] < min_visits || isnan(table->pair_q[p]))
			continue;
		if (of_state->n++ == 0)
			of_state->best = of_state->worst = p;
		if (table->pair_q[p] > table->pair_q[of_state->best])
			of_state->best = p;
		if (table->pair_q[p] < table->pair_q[of_state->worst])
			of_state->worst = p;
	}
	return extremes;
}

/* A NaN error is unknown. */
static double
confidence_of(double gap, double error)
{
	if (isnan(error))
		return 0.5;
	return 0.5 * erfc(-gap / error / sqrt(2));
}

typedef struct PairRow
{
	int64		state;
	uint32		n_actions;
	int64		chosen_step_id;
	int64		rejected_step_id;
	double		chosen_q;
	double		rejected_q;
	double		gap;
	double		gap_error;
	double		confidence;
	uint32		n_chosen_visits;
	uint32		n_rejected_visits;
} PairRow;

static PairRow
describe_pair(const GroupColumns *group, const RtmcTable *table, const uint32 *rollouts, const PreferencePair *pair)
{
	const uint32 *first_step = table->pairs.first_step;
	double		gap = table->pair_q[pair->best] - table->pair_q[pair->worst];
	double		error = hypot(table->pair_error[pair->best], table->pair_error[pair->worst]);

	return (PairRow) {
		.state = group->state[first_step[pair->best]], .n_actions = pair->n,
		.chosen_step_id = group->step_id[first_step[pair->best]],
		.rejected_step_id = group->step_id[first_step[pair->worst]],
		.chosen_q = table->pair_q[pair->best], .rejected_q = table->pair_q[pair->worst],
		.gap = gap, .gap_error = error, .confidence = confidence_of(gap, error),
		.n_chosen_visits = rollouts[pair->best], .n_rejected_visits = rollouts[pair->worst]
	};
}

Datum
stepadv_preference_pairs(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(pair_parameters)];
	GroupColumns group;
	RolloutFacts facts;
	RtmcTable	table;
	const uint32 *rollouts;
	const PreferencePair *extremes;
	PairRow    *rows;
	uint64		n = 0;

	read_parameters(fcinfo, 1, pair_parameters, lengthof(pair_parameters), parameters);
	if (PG_ARGISNULL(0))
		return return_no_rows(fcinfo);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	find_action_values(&group, &facts, parameters, true, &table);
	rollouts = count_visits(&group, &table.pairs, find_visits(&group, &table.pairs, VISIT_FIRST));
	extremes = find_extremes(&table, rollouts, parameters[MIN_VISITS].number);
	rows = ALLOCATE_ARRAY(PairRow, table.states.n);
	for (uint32 s = 0; s < table.states.n; s++)
	{
		CHECK_ONCE_IN_A_WHILE(s);
		/* No pair if all actions are equally good. */
		if (extremes[s].n < 2 || !(table.pair_q[extremes[s].best] > table.pair_q[extremes[s].worst]))
			continue;
		rows[n] = describe_pair(&group, &table, rollouts, &extremes[s]);
		n += rows[n].gap >= parameters[MIN_GAP].number && rows[n].confidence >= parameters[MIN_CONFIDENCE].number;
	}
	{
		const ResultColumn columns[] = {
			FIELD_COLUMN(rows, state),
			FIELD_COLUMN(rows, n_actions),
			FIELD_COLUMN(rows, chosen_step_id),
			FIELD_COLUMN(rows, rejected_step_id),
			FIELD_COLUMN(rows, chosen_q),
			FIELD_COLUMN(rows, rejected_q),
			FIELD_COLUMN(rows, gap),
			FIELD_COLUMN(rows, gap_error),
			FIELD_COLUMN(rows, confidence),
			FIELD_COLUMN(rows, n_chosen_visits),
			FIELD_COLUMN(rows, n_rejected_visits),
		};

		RETURN_COLUMNS(columns, n);
	}
}

/*
 * preference_pairs.c
 *		preference_pairs: of the actions tried in a state, the best and the worst.
 *
 * Over the judged rollouts, by state, among the actions that at least min_visits rollouts took there:
 *
 *	gap			Q of the best - Q of the worst
 *	gap_error	sqrt(e_best^2 + e_worst^2), e the q_error of each (q_error.c)
 *	confidence	P(gap / gap_error), P the normal distribution function: that the best is better than
 *				the worst, as if they had not been picked after the fact
 *
 * Each is shown by the first step that took it, in the order of rollouts.  Rollouts are counted, not
 * steps: one that repeats an action has seen it turn out once.
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
		/* What is out of range is preferred to nothing, nor is anything to it. */
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

/* An error of NaN says that nothing is known of it. */
static double
confidence_of(double gap, double error)
{
	if (isnan(error))
		return 0.5;
	return 0.5 * erfc(-gap / error / sqrt(2));
}

enum
{
	C_STATE, C_ACTIONS, C_CHOSEN_STEP_ID, C_REJECTED_STEP_ID, C_CHOSEN_Q, C_REJECTED_Q, C_GAP, C_GAP_ERROR, C_CONFIDENCE,
	C_CHOSEN_VISITS, C_REJECTED_VISITS,
	N_PAIR_COLUMNS
};

typedef struct PairRows
{
	uint64		n;
	int64	   *id[C_REJECTED_STEP_ID + 1];		/* state and steps */
	double	   *number[C_CONFIDENCE + 1];
	int32	   *count[N_PAIR_COLUMNS];
} PairRows;

static void
add_pair(const GroupColumns *group, const RtmcTable *table, const uint32 *rollouts, const PreferencePair *pair,
		 const ParameterValue *parameters, PairRows *rows)
{
	double		gap = table->pair_q[pair->best] - table->pair_q[pair->worst];
	double		error = hypot(table->pair_error[pair->best], table->pair_error[pair->worst]);
	double		confidence = confidence_of(gap, error);

	if (gap < parameters[MIN_GAP].number || confidence < parameters[MIN_CONFIDENCE].number)
		return;
	rows->id[C_STATE][rows->n] = group->state[table->pairs.first_step[pair->best]];
	rows->id[C_CHOSEN_STEP_ID][rows->n] = group->step_id[table->pairs.first_step[pair->best]];
	rows->id[C_REJECTED_STEP_ID][rows->n] = group->step_id[table->pairs.first_step[pair->worst]];
	rows->number[C_CHOSEN_Q][rows->n] = table->pair_q[pair->best];
	rows->number[C_REJECTED_Q][rows->n] = table->pair_q[pair->worst];
	rows->number[C_GAP][rows->n] = gap;
	rows->number[C_GAP_ERROR][rows->n] = error;
	rows->number[C_CONFIDENCE][rows->n] = confidence;
	rows->count[C_ACTIONS][rows->n] = pair->n;
	rows->count[C_CHOSEN_VISITS][rows->n] = rollouts[pair->best];
	rows->count[C_REJECTED_VISITS][rows->n] = rollouts[pair->worst];
	rows->n++;
}

static void
make_room(PairRows *rows, uint32 n)
{
	static const int ids[] = {C_STATE, C_CHOSEN_STEP_ID, C_REJECTED_STEP_ID};
	static const int counts[] = {C_ACTIONS, C_CHOSEN_VISITS, C_REJECTED_VISITS};

	rows->n = 0;
	for (int c = 0; c < lengthof(ids); c++)
		rows->id[ids[c]] = ALLOCATE_ARRAY(int64, n);
	for (int c = C_CHOSEN_Q; c <= C_CONFIDENCE; c++)
		rows->number[c] = ALLOCATE_ARRAY(double, n);
	for (int c = 0; c < lengthof(counts); c++)
		rows->count[counts[c]] = ALLOCATE_ARRAY(int32, n);
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
	PairRows	rows;

	read_parameters(fcinfo, 1, pair_parameters, lengthof(pair_parameters), parameters);
	if (PG_ARGISNULL(0))
		return return_no_rows(fcinfo);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	find_action_values(&group, &facts, parameters, true, &table);
	rollouts = count_visits(&group, &table.pairs, find_visits(&group, &table.pairs, VISIT_FIRST));
	extremes = find_extremes(&table, rollouts, parameters[MIN_VISITS].number);
	make_room(&rows, table.states.n);
	for (uint32 s = 0; s < table.states.n; s++)
	{
		CHECK_ONCE_IN_A_WHILE(s);
		/* Where all are equally good there is nothing to prefer. */
		if (extremes[s].n > 1 && table.pair_q[extremes[s].best] > table.pair_q[extremes[s].worst])
			add_pair(&group, &table, rollouts, &extremes[s], parameters, &rows);
	}
	{
		const ResultColumn results[] = {
			{"state", COLUMN_INT8, rows.id[C_STATE]},
			{"actions", COLUMN_INT4, rows.count[C_ACTIONS]},
			{"chosen_step_id", COLUMN_INT8, rows.id[C_CHOSEN_STEP_ID]},
			{"rejected_step_id", COLUMN_INT8, rows.id[C_REJECTED_STEP_ID]},
			{"chosen_q", COLUMN_FLOAT8, rows.number[C_CHOSEN_Q]},
			{"rejected_q", COLUMN_FLOAT8, rows.number[C_REJECTED_Q]},
			{"gap", COLUMN_FLOAT8, rows.number[C_GAP]},
			{"gap_error", COLUMN_FLOAT8, rows.number[C_GAP_ERROR]},
			{"confidence", COLUMN_FLOAT8, rows.number[C_CONFIDENCE]},
			{"chosen_visits", COLUMN_INT4, rows.count[C_CHOSEN_VISITS]},
			{"rejected_visits", COLUMN_INT4, rows.count[C_REJECTED_VISITS]}
		};

		RETURN_COLUMNS(results, rows.n);
	}
}

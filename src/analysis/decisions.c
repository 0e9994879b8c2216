/*
 * decisions.c
 *		decision_points: the states of a group, and how much depends on the action in each.
 *
 * Over the judged rollouts, by state:
 *
 *	entropy		- sum over actions of p ln p, p the share of the state's visits that took the action
 *	gap			Q of the best action tried - Q of the worst
 *	gap_error	sqrt(e_best^2 + e_worst^2), e the q_error of each (q_error.c), as if both
 *				were independent
 *
 * Q is that of batch_td or rtmc.  Best and worst are chosen by their estimates, so the gap
 * of many actions, each tried a few times, is biased upwards (as any maximum of estimates is); the
 * error ignores this.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "analysis/action_values.h"
#include "analysis/identity_fields.h"
#include "group/facts.h"
#include "parameters.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_decision_points);

static const Parameter decision_parameters[] = {ACTION_VALUE_PARAMETERS};

/* In the order of the result's columns. */
#define GAP_ERROR_COLUMN 8

/* A state; best and worst are pairs of the table. */
typedef struct DecisionRow
{
	NullableInt8 state;
	uint32		n_visits;		/* steps taken there */
	uint32		n_rollouts;		/* that visited it */
	uint32		n_actions;		/* tried there */
	double		entropy;		/* of the choice, in nats */
	uint32		best;			/* the first of equals */
	uint32		worst;
	double		best_q;
	double		worst_q;
	double		gap;
	double		gap_error;
	uint32		n_best_visits;
	uint32		n_worst_visits;
	int64		step_id;
	int64		best_step_id;
	int64		worst_step_id;
} DecisionRow;

static DecisionRow *
find_decisions(const GroupColumns *group, const RtmcTable *table, const uint32 *pair_visits)
{
	DecisionRow *rows = ALLOCATE_ZEROED_ARRAY(DecisionRow, table->states.n);
	const uint32 *visits = count_visits(group, &table->states, NULL);
	const uint32 *rollouts = count_visits(group, &table->states, find_visits(group, &table->states, VISIT_FIRST));

	for (uint32 s = 0; s < table->states.n; s++)
	{
		rows[s].n_visits = visits[s];
		rows[s].n_rollouts = rollouts[s];
	}
	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		DecisionRow *row = &rows[table->states.of_step[table->pairs.first_step[p]]];
		double		share = (double) pair_visits[p] / row->n_visits;
		double		q = table->pair_q[p];

		row->entropy -= share * log(share);
		if (row->n_actions++ == 0)
			row->best = row->worst = p;
		/* A Q out of range is NaN: any other replaces it, and it replaces none. */
		if (!isnan(q) && !(table->pair_q[row->best] >= q))
			row->best = p;
		if (!isnan(q) && !(table->pair_q[row->worst] <= q))
			row->worst = p;
		CHECK_ONCE_IN_A_WHILE(p);
	}
	return rows;
}

/* Fill in the columns that are looked up by state, pair or step. */
static void
describe_decisions(const GroupColumns *group, const RtmcTable *table, const uint32 *pair_visits, bool with_errors,
				   DecisionRow *rows)
{
	for (uint32 s = 0; s < table->states.n; s++)
	{
		DecisionRow *row = &rows[s];
		uint32		first = table->states.first_step[s];
		bool		decided = row->n_actions > 1;

		CHECK_ONCE_IN_A_WHILE(s);
		row->state = state_field(group, first);
		row->best_q = table->pair_q[row->best];
		row->worst_q = table->pair_q[row->worst];
		row->gap = decided ? row->best_q - row->worst_q : NAN;
		row->gap_error = decided && with_errors ? hypot(table->pair_error[row->best], table->pair_error[row->worst]) : NAN;
		row->n_best_visits = pair_visits[row->best];
		row->n_worst_visits = pair_visits[row->worst];
		row->step_id = group->step_id[first];
		row->best_step_id = group->step_id[table->pairs.first_step[row->best]];
		row->worst_step_id = group->step_id[table->pairs.first_step[row->worst]];
	}
}

Datum
stepadv_decision_points(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[N_ACTION_VALUE_PARAMETERS];
	GroupColumns group;
	RolloutFacts facts;
	RtmcTable	table;
	const uint32 *pair_visits;
	DecisionRow *rows;
	bool		with_errors;

	read_parameters(fcinfo, 1, decision_parameters, lengthof(decision_parameters), parameters);
	if (PG_ARGISNULL(0))
		return return_no_rows(fcinfo);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	with_errors = column_is_asked(fcinfo, GAP_ERROR_COLUMN);
	find_action_values(&group, &facts, parameters, with_errors, &table);
	pair_visits = count_visits(&group, &table.pairs, NULL);
	rows = find_decisions(&group, &table, pair_visits);
	describe_decisions(&group, &table, pair_visits, with_errors, rows);

	{
		const ResultColumn columns[] = {
			NULLABLE_FIELD_COLUMN(rows, state),
			FIELD_COLUMN(rows, n_visits),
			FIELD_COLUMN(rows, n_rollouts),
			FIELD_COLUMN(rows, n_actions),
			FIELD_COLUMN(rows, entropy),
			FIELD_COLUMN(rows, best_q),
			FIELD_COLUMN(rows, worst_q),
			FIELD_COLUMN(rows, gap),
			[GAP_ERROR_COLUMN] = FIELD_COLUMN(rows, gap_error),
			FIELD_COLUMN(rows, n_best_visits),
			FIELD_COLUMN(rows, n_worst_visits),
			FIELD_COLUMN(rows, step_id),
			FIELD_COLUMN(rows, best_step_id),
			FIELD_COLUMN(rows, worst_step_id),
		};

		RETURN_COLUMNS(columns, table.states.n);
	}
}

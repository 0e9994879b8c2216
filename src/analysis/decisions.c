/*
 * decisions.c
 *		decision_points: the states of a group, and how much is decided in each.
 *
 * Over the judged rollouts, by state:
 *
 *	entropy		- sum over actions of p ln p, p the share of the state's visits that took the action
 *	gap			Q of the best action tried - Q of the worst
 *	gap_error	sqrt(e_best^2 + e_worst^2), e the q_error of each (q_error.c), as if both
 *				were independent
 *
 * Q is that of batch_td or rtmc.  Best and worst are picked after the fact, so the
 * gap of many actions, each tried a few times, is too large (as any maximum of estimates is); the error
 * ignores that.
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

/* By state, in the numbers of the table. */
typedef struct Decisions
{
	uint32	   *visits;			/* steps taken there */
	uint32	   *rollouts;		/* that were there */
	uint32	   *actions;		/* tried there */
	double	   *entropy;		/* of the choice, in nats */
	uint32	   *best;			/* pairs; the first of equals */
	uint32	   *worst;
} Decisions;

static void
find_decisions(const GroupColumns *group, const RtmcTable *table, const uint32 *pair_visits, Decisions *decisions)
{
	uint32		n = table->states.n;

	decisions->visits = count_visits(group, &table->states, NULL);
	decisions->rollouts = count_visits(group, &table->states, find_visits(group, &table->states, VISIT_FIRST));
	decisions->actions = ALLOCATE_ZEROED_ARRAY(uint32, n);
	decisions->entropy = ALLOCATE_ZEROED_ARRAY(double, n);
	decisions->best = ALLOCATE_ARRAY(uint32, n);
	decisions->worst = ALLOCATE_ARRAY(uint32, n);
	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		int32		state = table->states.of_step[table->pairs.first_step[p]];
		double		share = (double) pair_visits[p] / decisions->visits[state];

		decisions->entropy[state] -= share * log(share);
		if (decisions->actions[state]++ == 0)
			decisions->best[state] = decisions->worst[state] = p;
		/* Of what is out of range nothing is the best. */
		if (!(table->pair_q[decisions->best[state]] >= table->pair_q[p]))
			decisions->best[state] = p;
		if (!(table->pair_q[decisions->worst[state]] <= table->pair_q[p]))
			decisions->worst[state] = p;
		if (p % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

static const Parameter decision_parameters[] = {ACTION_VALUE_PARAMETERS};

/* In the order of the result's columns. */
#define GAP_ERROR_COLUMN 8

typedef struct DecisionRow
{
	NullableInt8 state;
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

/* What is looked up by state, pair or step. */
static DecisionRow *
describe_decisions(const GroupColumns *group, const RtmcTable *table, const Decisions *decisions,
				   const uint32 *pair_visits, bool with_errors)
{
	DecisionRow *rows = ALLOCATE_ARRAY(DecisionRow, table->states.n);

	for (uint32 s = 0; s < table->states.n; s++)
	{
		uint32		first = table->states.first_step[s];
		uint32		best = decisions->best[s];
		uint32		worst = decisions->worst[s];
		bool		decided = decisions->actions[s] > 1;

		CHECK_ONCE_IN_A_WHILE(s);
		rows[s] = (DecisionRow) {
			.state = state_field(group, first), .best_q = table->pair_q[best], .worst_q = table->pair_q[worst],
			.gap = decided ? table->pair_q[best] - table->pair_q[worst] : NAN,
			.gap_error = decided && with_errors ? hypot(table->pair_error[best], table->pair_error[worst]) : NAN,
			.n_best_visits = pair_visits[best], .n_worst_visits = pair_visits[worst], .step_id = group->step_id[first],
			.best_step_id = group->step_id[table->pairs.first_step[best]],
			.worst_step_id = group->step_id[table->pairs.first_step[worst]]
		};
	}
	return rows;
}

Datum
stepadv_decision_points(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[N_ACTION_VALUE_PARAMETERS];
	GroupColumns group;
	RolloutFacts facts;
	RtmcTable	table;
	Decisions	decisions;
	const uint32 *pair_visits;
	const DecisionRow *rows;
	bool		with_errors;

	read_parameters(fcinfo, 1, decision_parameters, lengthof(decision_parameters), parameters);
	if (PG_ARGISNULL(0))
		return return_no_rows(fcinfo);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	with_errors = column_is_asked(fcinfo, GAP_ERROR_COLUMN);
	find_action_values(&group, &facts, parameters, with_errors, &table);
	pair_visits = count_visits(&group, &table.pairs, NULL);
	find_decisions(&group, &table, pair_visits, &decisions);
	rows = describe_decisions(&group, &table, &decisions, pair_visits, with_errors);

	{
		const ResultColumn columns[] = {
			NULLABLE_FIELD_COLUMN(rows, state),
			{"n_visits", COLUMN_INT4, decisions.visits},
			{"n_rollouts", COLUMN_INT4, decisions.rollouts},
			{"n_actions", COLUMN_INT4, decisions.actions},
			{"entropy", COLUMN_FLOAT8, decisions.entropy},
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

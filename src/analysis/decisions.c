/*
 * decisions.c
 *		decision_points: the states of a group, and how much is decided in each.
 *
 * Over the judged rollouts, by state:
 *
 *	entropy		- sum over actions of p ln p, p the share of the state's visits that took the action
 *	gap			Q of the best action tried - Q of the worst
 *	gap_error	sqrt(e_best^2 + e_worst^2), e the q_error of each (q_error.c), as if what is
 *				known of one said nothing of the other
 *
 * Q is that of batch_td or rtmc.  Best and worst are picked after the fact, so the
 * gap of many actions, each tried a few times, is too large (as any maximum of estimates is); the error says
 * nothing about that.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "analysis/action_values.h"
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

static uint32 *
count_rollouts(const GroupColumns *group, const Identities *identities)
{
	uint32	   *rollouts = ALLOCATE_ZEROED_ARRAY(uint32, identities->n);
	uint32	   *last_rollout = ALLOCATE_ZEROED_ARRAY(uint32, identities->n);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			int32		identity = identities->of_step[i];

			if (identity == NO_IDENTITY || last_rollout[identity] == r + 1)
				continue;
			last_rollout[identity] = r + 1;
			rollouts[identity]++;
		}
		CHECK_FOR_INTERRUPTS();
	}
	pfree(last_rollout);
	return rollouts;
}

static void
find_decisions(const GroupColumns *group, const RtmcTable *table, const uint32 *pair_visits, Decisions *decisions)
{
	uint32		n = table->states.n;

	decisions->visits = count_visits(group, &table->states, NULL);
	decisions->rollouts = count_rollouts(group, &table->states);
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

enum
{
	C_STATE, C_VISITS, C_ROLLOUTS, C_ACTIONS, C_ENTROPY, C_BEST_Q, C_WORST_Q, C_GAP, C_GAP_ERROR, C_BEST_VISITS,
	C_WORST_VISITS, C_STEP_ID, C_BEST_STEP_ID, C_WORST_STEP_ID,
	N_DECISION_COLUMNS
};

/* The columns that are looked up by state, pair or step. */
static void
fill_columns(const GroupColumns *group, const RtmcTable *table, const Decisions *decisions, const uint32 *pair_visits,
			 bool with_errors, ResultColumn *results)
{
	uint32		n = table->states.n;
	int64	   *state = ALLOCATE_ARRAY(int64, n);
	bool	   *unknown = ALLOCATE_ARRAY(bool, n);
	double	   *number[C_GAP_ERROR + 1];
	uint32	   *visits[2] = {ALLOCATE_ARRAY(uint32, n), ALLOCATE_ARRAY(uint32, n)};
	int64	   *step[3] = {ALLOCATE_ARRAY(int64, n), ALLOCATE_ARRAY(int64, n), ALLOCATE_ARRAY(int64, n)};

	for (int c = C_BEST_Q; c <= C_GAP_ERROR; c++)
		number[c] = ALLOCATE_ARRAY(double, n);
	for (uint32 s = 0; s < n; s++)
	{
		uint32		first = table->states.first_step[s];
		uint32		best = decisions->best[s];
		uint32		worst = decisions->worst[s];
		bool		decided = decisions->actions[s] > 1;

		CHECK_ONCE_IN_A_WHILE(s);
		unknown[s] = step_has_null(group, first, NULL_STATE);
		state[s] = group->state[first];
		number[C_BEST_Q][s] = table->pair_q[best];
		number[C_WORST_Q][s] = table->pair_q[worst];
		number[C_GAP][s] = decided ? table->pair_q[best] - table->pair_q[worst] : NAN;
		number[C_GAP_ERROR][s] = decided && with_errors ? hypot(table->pair_error[best], table->pair_error[worst]) : NAN;
		visits[0][s] = pair_visits[best];
		visits[1][s] = pair_visits[worst];
		step[0][s] = group->step_id[first];
		step[1][s] = group->step_id[table->pairs.first_step[best]];
		step[2][s] = group->step_id[table->pairs.first_step[worst]];
	}
	results[C_STATE] = (ResultColumn) {"state", COLUMN_INT8, state, unknown};
	results[C_BEST_Q] = (ResultColumn) {"best_q", COLUMN_FLOAT8, number[C_BEST_Q], NULL};
	results[C_WORST_Q] = (ResultColumn) {"worst_q", COLUMN_FLOAT8, number[C_WORST_Q], NULL};
	results[C_GAP] = (ResultColumn) {"gap", COLUMN_FLOAT8, number[C_GAP], NULL};
	results[C_GAP_ERROR] = (ResultColumn) {"gap_error", COLUMN_FLOAT8, number[C_GAP_ERROR], NULL};
	results[C_BEST_VISITS] = (ResultColumn) {"best_visits", COLUMN_INT4, visits[0], NULL};
	results[C_WORST_VISITS] = (ResultColumn) {"worst_visits", COLUMN_INT4, visits[1], NULL};
	results[C_STEP_ID] = (ResultColumn) {"step_id", COLUMN_INT8, step[0], NULL};
	results[C_BEST_STEP_ID] = (ResultColumn) {"best_step_id", COLUMN_INT8, step[1], NULL};
	results[C_WORST_STEP_ID] = (ResultColumn) {"worst_step_id", COLUMN_INT8, step[2], NULL};
}

Datum
stepadv_decision_points(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[N_ACTION_VALUE_PARAMETERS];
	ResultColumn results[N_DECISION_COLUMNS];
	GroupColumns group;
	RolloutFacts facts;
	RtmcTable	table;
	Decisions	decisions;
	const uint32 *pair_visits;
	bool		with_errors;

	read_parameters(fcinfo, 1, decision_parameters, lengthof(decision_parameters), parameters);
	if (PG_ARGISNULL(0))
		return return_no_rows(fcinfo);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	with_errors = column_is_asked(fcinfo, C_GAP_ERROR);
	find_action_values(&group, &facts, parameters, with_errors, &table);
	pair_visits = count_visits(&group, &table.pairs, NULL);
	find_decisions(&group, &table, pair_visits, &decisions);
	fill_columns(&group, &table, &decisions, pair_visits, with_errors, results);
	results[C_VISITS] = (ResultColumn) {"visits", COLUMN_INT4, decisions.visits, NULL};
	results[C_ROLLOUTS] = (ResultColumn) {"rollouts", COLUMN_INT4, decisions.rollouts, NULL};
	results[C_ACTIONS] = (ResultColumn) {"actions", COLUMN_INT4, decisions.actions, NULL};
	results[C_ENTROPY] = (ResultColumn) {"entropy", COLUMN_FLOAT8, decisions.entropy, NULL};
	RETURN_COLUMNS(results, table.states.n);
}

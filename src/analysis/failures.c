/*
 * failures.c
 *		failure_points: where the failed rollouts of a group failed.
 *
 * For each failed rollout, over the judged rollouts of the group:
 *
 *	dead_end	the first step after which no path of the state graph leads to the goal
 *				(GraphGPO, section 3: its distance is infinite); from a dead end all steps lead to dead ends
 *	drop		the step with the largest V(s) - (r + gamma V(s')), V that of batch_td or rtmc; for the last
 *				step, V minus its return: the negative temporal difference (Sutton 1988)
 *	last_chance	the last step from a state that a successful rollout visited, too: no rollout succeeded from
 *				any later state
 *
 * A state that a successful rollout visited is not a dead end, so last_chance is never after dead_end.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/graph.h"
#include "estimators/returns.h"
#include "analysis/action_values.h"
#include "group/facts.h"
#include "parameters.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_failure_points);

/* Relative to the values and returns: a smaller drop is rounding error. */
#define TIE 1e-12

#define NO_STEP PG_UINT32_MAX

/* One failed rollout; steps are numbers in the group. */
typedef struct Failure
{
	uint32		rollout;
	double		distance;		/* of its first state; NaN: a dead end */
	uint32		dead_end;
	uint32		drop;
	double		value_drop;
	uint32		last_chance;
} Failure;

/* Does the step lead to a dead end?  False if unknown, as after the last step of a truncated rollout. */
static bool
is_lost(const GroupColumns *group, const StateGraph *graph, uint32 rollout, uint32 step)
{
	if (graph->next[step] != NO_IDENTITY)
		return isinf(graph->distance[graph->next[step]]);
	return !rollout_is_truncated(group, rollout);
}

static double
value_lost(const GroupColumns *group, const RtmcTable *table, double gamma, uint32 rollout, uint32 step)
{
	double		v = table->state_v[table->states.of_step[step]];

	if (step + 1 == group->first_step[rollout + 1])
		return v - table->returns[step];
	return v - (step_reward(group, rollout, step) + gamma * table->state_v[table->states.of_step[step + 1]]);
}

/* Smaller drops are ignored. */
static double
find_tie(const GroupColumns *group, const RtmcTable *table)
{
	double		scale = 0;

	for (uint32 i = 0; i < group->n_steps; i++)
		if (table->states.of_step[i] != NO_IDENTITY)
			scale = Max(scale, Max(fabs(table->returns[i]), fabs(table->state_v[table->states.of_step[i]])));
	return TIE * scale;
}

static void
find_failure(const GroupColumns *group, const StateGraph *graph, const bool *successful, const RtmcTable *table,
			 double gamma, double tie, Failure *failure)
{
	uint32		r = failure->rollout;
	bool		lost;

	failure->dead_end = failure->drop = failure->last_chance = NO_STEP;
	failure->value_drop = failure->distance = NAN;
	if (group->n_rollout_steps[r] == 0)
		return;
	failure->distance = known_distance(graph, graph->states.of_step[group->first_step[r]]);
	lost = isnan(failure->distance);
	for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
	{
		double		drop = value_lost(group, table, gamma, r, i);

		if (!lost && is_lost(group, graph, r, i))
		{
			failure->dead_end = i;
			lost = true;
		}
		if (drop > tie && !(drop <= failure->value_drop))
		{
			failure->drop = i;
			failure->value_drop = drop;
		}
		if (successful[graph->states.of_step[i]])
			failure->last_chance = i;
	}
}

static uint32
find_failures(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *parameters, Failure **failures)
{
	StateGraph	graph;
	RtmcTable	table;
	const bool *successful;
	double		gamma = parameters[VALUE_GAMMA].number;
	double		tie;
	uint32		n = 0;

	*failures = ALLOCATE_ARRAY(Failure, facts->n_judged);
	state_graph_build(group, facts, parameters[VALUE_SUCCESS_ABOVE].number, &graph);
	successful = find_successful_nodes(group, &graph);
	find_action_values(group, facts, parameters, false, &table);
	tie = find_tie(group, &table);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (!facts->judged[r] || rollout_succeeded(group, facts, r, parameters[VALUE_SUCCESS_ABOVE].number))
			continue;
		(*failures)[n].rollout = r;
		find_failure(group, &graph, successful, &table, gamma, tie, &(*failures)[n++]);
		CHECK_FOR_INTERRUPTS();
	}
	return n;
}

typedef struct FailureRow
{
	int64		rollout_id;
	uint32		n_steps;
	double		distance;
	NullableInt4 last_chance_step_no;
	NullableInt8 last_chance_step_id;
	NullableInt4 dead_end_step_no;
	NullableInt8 dead_end_step_id;
	NullableInt4 drop_step_no;
	NullableInt8 drop_step_id;
	double		value_drop;
} FailureRow;

static NullableInt4
number_of(const GroupColumns *group, uint32 step)
{
	return (NullableInt4) {step == NO_STEP ? 0 : group->step_no[step], step == NO_STEP};
}

static NullableInt8
id_of(const GroupColumns *group, uint32 step)
{
	return (NullableInt8) {step == NO_STEP ? 0 : group->step_id[step], step == NO_STEP};
}

static const Parameter failure_parameters[] = {ACTION_VALUE_PARAMETERS};

Datum
stepadv_failure_points(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[N_ACTION_VALUE_PARAMETERS];
	GroupColumns group;
	RolloutFacts facts;
	Failure    *failures;
	FailureRow *rows;
	uint32		n;

	read_parameters(fcinfo, 1, failure_parameters, lengthof(failure_parameters), parameters);
	if (PG_ARGISNULL(0))
		return return_no_rows(fcinfo);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	leave_out_defects(&group, DEFECT_COST, &facts);
	n = find_failures(&group, &facts, parameters, &failures);
	rows = ALLOCATE_ARRAY(FailureRow, n);
	for (uint32 f = 0; f < n; f++)
	{
		const Failure *failure = &failures[f];

		rows[f] = (FailureRow) {
			group.rollout_id[failure->rollout], group.n_rollout_steps[failure->rollout], failure->distance,
			number_of(&group, failure->last_chance), id_of(&group, failure->last_chance),
			number_of(&group, failure->dead_end), id_of(&group, failure->dead_end),
			number_of(&group, failure->drop), id_of(&group, failure->drop), failure->value_drop
		};
	}

	{
		ResultColumn columns[] = {
			FIELD_COLUMN(rows, rollout_id),
			FIELD_COLUMN(rows, n_steps),
			FIELD_COLUMN(rows, distance),
			NULLABLE_FIELD_COLUMN(rows, last_chance_step_no),
			NULLABLE_FIELD_COLUMN(rows, last_chance_step_id),
			NULLABLE_FIELD_COLUMN(rows, dead_end_step_no),
			NULLABLE_FIELD_COLUMN(rows, dead_end_step_id),
			NULLABLE_FIELD_COLUMN(rows, drop_step_no),
			NULLABLE_FIELD_COLUMN(rows, drop_step_id),
			FIELD_COLUMN(rows, value_drop),
		};

		RETURN_COLUMNS(columns, n);
	}
}

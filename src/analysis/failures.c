/*
 * failures.c
 *		failure_points: where the failed rollouts of a group were lost.
 *
 * By failed rollout, over the judged rollouts of the group:
 *
 *	dead_end	the first step after which no walk of the state graph leads to the goal any more
 *				(GraphGPO, section 3: its distance is infinite); from a dead end all steps lead to dead ends
 *	drop		the step with the largest V(s) - (r + gamma V(s')), V that of batch_td or rtmc, the last
 *				step's target being all that the rollout still got: minus the temporal difference (Sutton 1988)
 *	last_chance	the last step from a state that a rollout which succeeded was in as well: after it
 *				no rollout, as it was there, ever succeeded
 *
 * A rollout that was in a state of a success is not in a dead end, so the last chance does not come
 * after the step into the dead end.
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

/* Of the values and returns: a drop of less is what rounding left. */
#define TIE 1e-12

#define NO_STEP PG_UINT32_MAX

/* Of one rollout; steps are of the group. */
typedef struct Failure
{
	uint32		rollout;
	double		distance;		/* from where it began; NaN: it began in a dead end */
	uint32		dead_end;
	uint32		drop;
	double		value_drop;
	uint32		last_chance;
} Failure;

/* Does the step lead to where the goal cannot be reached from? Where a rollout was cut off nobody knows. */
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

/* Below it a drop is none. */
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

/* The step's number and id as result columns, NULL where there is none. */
typedef struct StepColumns
{
	int32	   *no;
	int64	   *id;
	bool	   *null;
} StepColumns;

static StepColumns
allocate_steps(uint32 n)
{
	return (StepColumns) {ALLOCATE_ARRAY(int32, n), ALLOCATE_ARRAY(int64, n), ALLOCATE_ARRAY(bool, n)};
}

static void
put_step(const GroupColumns *group, uint32 step, uint32 row, StepColumns *columns)
{
	columns->null[row] = step == NO_STEP;
	columns->no[row] = columns->null[row] ? 0 : group->step_no[step];
	columns->id[row] = columns->null[row] ? 0 : group->step_id[step];
}

static const Parameter failure_parameters[] = {ACTION_VALUE_PARAMETERS};

Datum
stepadv_failure_points(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[N_ACTION_VALUE_PARAMETERS];
	GroupColumns group;
	RolloutFacts facts;
	Failure    *failures;
	uint32		n;
	int64	   *rollout_id;
	int32	   *n_steps;
	double	   *distance;
	double	   *value_drop;
	StepColumns dead_end;
	StepColumns drop;
	StepColumns last_chance;

	read_parameters(fcinfo, 1, failure_parameters, lengthof(failure_parameters), parameters);
	if (PG_ARGISNULL(0))
		return return_no_rows(fcinfo);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	leave_out_defects(&group, DEFECT_COST, &facts);
	n = find_failures(&group, &facts, parameters, &failures);
	rollout_id = ALLOCATE_ARRAY(int64, n);
	n_steps = ALLOCATE_ARRAY(int32, n);
	distance = ALLOCATE_ARRAY(double, n);
	value_drop = ALLOCATE_ARRAY(double, n);
	dead_end = allocate_steps(n);
	drop = allocate_steps(n);
	last_chance = allocate_steps(n);
	for (uint32 f = 0; f < n; f++)
	{
		rollout_id[f] = group.rollout_id[failures[f].rollout];
		n_steps[f] = group.n_rollout_steps[failures[f].rollout];
		distance[f] = failures[f].distance;
		value_drop[f] = failures[f].value_drop;
		put_step(&group, failures[f].dead_end, f, &dead_end);
		put_step(&group, failures[f].drop, f, &drop);
		put_step(&group, failures[f].last_chance, f, &last_chance);
	}

	{
		ResultColumn columns[] = {
			{"rollout_id", COLUMN_INT8, rollout_id, NULL},
			{"n_steps", COLUMN_INT4, n_steps, NULL},
			{"distance", COLUMN_FLOAT8, distance, NULL},
			{"last_chance_step_no", COLUMN_INT4, last_chance.no, last_chance.null},
			{"last_chance_step_id", COLUMN_INT8, last_chance.id, last_chance.null},
			{"dead_end_step_no", COLUMN_INT4, dead_end.no, dead_end.null},
			{"dead_end_step_id", COLUMN_INT8, dead_end.id, dead_end.null},
			{"drop_step_no", COLUMN_INT4, drop.no, drop.null},
			{"drop_step_id", COLUMN_INT8, drop.id, drop.null},
			{"value_drop", COLUMN_FLOAT8, value_drop, NULL},
		};

		RETURN_COLUMNS(columns, n);
	}
}

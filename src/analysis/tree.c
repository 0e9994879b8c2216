/*
 * tree.c
 *		rtmc_tree: the rollout tree, one row per edge.
 *
 * An edge is an action taken in a state together with the state it led to; its
 * visits are rollouts, not steps.  q, v and advantage are those of rtmc with the
 * same parameters.  next_state is NULL where rollouts end.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/rtmc.h"
#include "group/facts.h"
#include "parameters.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_rtmc_tree);

/* The tree: rtmc's table with the edges between its states. */
typedef struct RolloutTree
{
	RtmcTable	table;
	Identities	edges;			/* (state, action, next state) */
	uint32	   *visits;			/* rollouts that took the edge */
	uint32	   *successes;		/* of these, how many succeeded */
} RolloutTree;

static void
build_tree(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *parameters, RolloutTree *tree)
{
	double		success_above = parameters[RTMC_SUCCESS_ABOVE].number;
	uint32	   *last_rollout;

	(void) rtmc_table_build(group, facts, parameters, false, &tree->table);
	number_edges(group, &tree->table.states, &tree->table.pairs, &tree->edges);
	tree->visits = ALLOCATE_ZEROED_ARRAY(uint32, tree->edges.n);
	tree->successes = ALLOCATE_ZEROED_ARRAY(uint32, tree->edges.n);
	last_rollout = ALLOCATE_ZEROED_ARRAY(uint32, tree->edges.n);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		bool		succeeded = rollout_succeeded(group, facts, r, success_above);

		if (!facts->judged[r])
			continue;
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			int32		edge = tree->edges.of_step[i];

			/* Infinite or not a number if Q or V is. */
			if (!isfinite(tree->table.pair_advantage[tree->table.pairs.of_step[i]]))
				refuse_overflow(group, r, i);
			if (last_rollout[edge] == r + 1)
				continue;
			last_rollout[edge] = r + 1;
			tree->visits[edge]++;
			tree->successes[edge] += succeeded;
		}
		CHECK_FOR_INTERRUPTS();
	}
	pfree(last_rollout);
}

/* The state an edge leads to, or NO_IDENTITY where rollouts end. */
static int32 *
edge_next_states(const GroupColumns *group, const RolloutTree *tree)
{
	int32	   *next = ALLOCATE_ARRAY(int32, tree->edges.n);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			if (tree->edges.of_step[i] != NO_IDENTITY)
				next[tree->edges.of_step[i]] = i + 1 == group->first_step[r + 1] ?
					NO_IDENTITY : tree->table.states.of_step[i + 1];
			CHECK_ONCE_IN_A_WHILE(i);
		}
	return next;
}

static const Parameter tree_parameters[] = {RTMC_PARAMETERS};

enum
{
	C_STATE, C_ACTION, C_NEXT_STATE, C_VISITS, C_SUCCESSES, C_Q, C_V, C_ADVANTAGE, C_STEP_ID,
	N_TREE_COLUMNS
};

Datum
stepadv_rtmc_tree(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[N_RTMC_PARAMETERS];
	ResultColumn results[N_TREE_COLUMNS];
	RolloutFacts facts;
	RolloutTree tree;
	GroupColumns group;
	int64	   *ids[N_TREE_COLUMNS] = {NULL};
	bool	   *nulls[N_TREE_COLUMNS] = {NULL};
	double	   *numbers[N_TREE_COLUMNS] = {NULL};
	int32	   *next;

	read_parameters(fcinfo, 1, tree_parameters, lengthof(tree_parameters), parameters);
	if (PG_ARGISNULL(0))
		return return_no_rows(fcinfo);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	build_tree(&group, &facts, parameters, &tree);
	next = edge_next_states(&group, &tree);

	for (int c = 0; c < N_TREE_COLUMNS; c++)
	{
		if (c == C_Q || c == C_V || c == C_ADVANTAGE)
			numbers[c] = ALLOCATE_ARRAY(double, tree.edges.n);
		else if (c != C_VISITS && c != C_SUCCESSES)
			ids[c] = ALLOCATE_ARRAY(int64, tree.edges.n);
		if (c == C_STATE || c == C_ACTION || c == C_NEXT_STATE)
			nulls[c] = ALLOCATE_ZEROED_ARRAY(bool, tree.edges.n);
	}
	for (uint32 e = 0; e < tree.edges.n; e++)
	{
		uint32		step = tree.edges.first_step[e];
		int32		pair = tree.table.pairs.of_step[step];

		ids[C_STATE][e] = group.state[step];
		nulls[C_STATE][e] = step_has_null(&group, step, NULL_STATE);
		ids[C_ACTION][e] = group.action[step];
		nulls[C_ACTION][e] = step_has_null(&group, step, NULL_ACTION);
		if (next[e] == NO_IDENTITY)
			nulls[C_NEXT_STATE][e] = true;
		else
		{
			uint32		next_step = tree.table.states.first_step[next[e]];

			ids[C_NEXT_STATE][e] = group.state[next_step];
			nulls[C_NEXT_STATE][e] = step_has_null(&group, next_step, NULL_STATE);
		}
		numbers[C_Q][e] = tree.table.pair_q[pair];
		numbers[C_V][e] = tree.table.state_v[tree.table.states.of_step[step]];
		numbers[C_ADVANTAGE][e] = tree.table.pair_advantage[pair];
		ids[C_STEP_ID][e] = group.step_id[step];
		CHECK_ONCE_IN_A_WHILE(e);
	}
	results[C_STATE] = (ResultColumn) {"state", COLUMN_INT8, ids[C_STATE], nulls[C_STATE]};
	results[C_ACTION] = (ResultColumn) {"action", COLUMN_INT8, ids[C_ACTION], nulls[C_ACTION]};
	results[C_NEXT_STATE] = (ResultColumn) {"next_state", COLUMN_INT8, ids[C_NEXT_STATE], nulls[C_NEXT_STATE]};
	results[C_VISITS] = (ResultColumn) {"visits", COLUMN_INT4, tree.visits, NULL};
	results[C_SUCCESSES] = (ResultColumn) {"successes", COLUMN_INT4, tree.successes, NULL};
	results[C_Q] = (ResultColumn) {"q", COLUMN_FLOAT8, numbers[C_Q], NULL};
	results[C_V] = (ResultColumn) {"v", COLUMN_FLOAT8, numbers[C_V], NULL};
	results[C_ADVANTAGE] = (ResultColumn) {"advantage", COLUMN_FLOAT8, numbers[C_ADVANTAGE], NULL};
	results[C_STEP_ID] = (ResultColumn) {"step_id", COLUMN_INT8, ids[C_STEP_ID], NULL};
	RETURN_COLUMNS(results, tree.edges.n);
}

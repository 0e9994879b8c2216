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

#include "analysis/identity_fields.h"
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
	uint32	   *first;

	(void) rtmc_table_build(group, facts, parameters, false, &tree->table);
	number_edges(group, &tree->table.states, &tree->table.pairs, &tree->edges);
	first = find_visits(group, &tree->edges, VISIT_FIRST);
	tree->visits = count_visits(group, &tree->edges, first);
	tree->successes = ALLOCATE_ZEROED_ARRAY(uint32, tree->edges.n);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		bool		succeeded = rollout_succeeded(group, facts, r, success_above);

		if (!facts->judged[r])
			continue;
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			/* Infinite or NaN if Q or V is. */
			if (!isfinite(tree->table.pair_advantage[tree->table.pairs.of_step[i]]))
				refuse_overflow(group, r, i);
			tree->successes[tree->edges.of_step[i]] += first[i] && succeeded;
		}
		CHECK_FOR_INTERRUPTS();
	}
	pfree(first);
}

/* The state to which each edge leads; NO_IDENTITY if rollouts end there. */
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

typedef struct TreeRow
{
	NullableInt8 state;
	NullableInt8 action;
	NullableInt8 next_state;
	double		q;
	double		v;
	double		advantage;
	int64		step_id;
} TreeRow;

static TreeRow *
describe_edges(const GroupColumns *group, const RolloutTree *tree)
{
	TreeRow    *rows = ALLOCATE_ARRAY(TreeRow, tree->edges.n);
	const int32 *next = edge_next_states(group, tree);
	const RtmcTable *table = &tree->table;

	for (uint32 e = 0; e < tree->edges.n; e++)
	{
		uint32		step = tree->edges.first_step[e];
		int32		pair = table->pairs.of_step[step];

		CHECK_ONCE_IN_A_WHILE(e);
		rows[e] = (TreeRow) {
			.state = state_field(group, step), .action = action_field(group, step),
			.next_state = next[e] == NO_IDENTITY ? (NullableInt8) {0, true} :
			state_field(group, table->states.first_step[next[e]]),
			.q = table->pair_q[pair], .v = table->state_v[table->states.of_step[step]],
			.advantage = table->pair_advantage[pair], .step_id = group->step_id[step]
		};
	}
	return rows;
}

Datum
stepadv_rtmc_tree(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[N_RTMC_PARAMETERS];
	RolloutFacts facts;
	RolloutTree tree;
	GroupColumns group;
	TreeRow    *rows;

	read_parameters(fcinfo, 1, tree_parameters, lengthof(tree_parameters), parameters);
	if (PG_ARGISNULL(0))
		return return_no_rows(fcinfo);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	build_tree(&group, &facts, parameters, &tree);
	rows = describe_edges(&group, &tree);

	{
		const ResultColumn columns[] = {
			NULLABLE_FIELD_COLUMN(rows, state),
			NULLABLE_FIELD_COLUMN(rows, action),
			NULLABLE_FIELD_COLUMN(rows, next_state),
			{"n_visits", COLUMN_INT4, tree.visits},
			{"n_successes", COLUMN_INT4, tree.successes},
			FIELD_COLUMN(rows, q),
			FIELD_COLUMN(rows, v),
			FIELD_COLUMN(rows, advantage),
			FIELD_COLUMN(rows, step_id),
		};

		RETURN_COLUMNS(columns, tree.edges.n);
	}
}

/*
 * summary.c
 *		group_summary: one row about a group as a whole.
 *
 * Over judged rollouts only: their number and steps, mean and standard
 * deviation (ddof 1) of the undiscounted return, success rate, whether all
 * returns are equal (group-relative methods learn nothing from such a group), and
 * how many states are shared: distinct states, states visited by two or more
 * rollouts, and the share of steps in such states.  That share also over all
 * rollouts, for use before rollouts are judged.
 *
 * lonely_steps: the steps in states that are not shared.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "arrays.h"
#include "analysis/summary.h"
#include "estimators/normalise.h"
#include "parameters.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_group_summary);
PG_FUNCTION_INFO_V1(stepadv_lonely_steps);

static const Parameter summary_parameters[] = {SUCCESS_ABOVE_PARAMETER};

/* How states are shared. */
typedef struct Meeting
{
	int32		n_states;
	int32		n_shared_states;
	uint32		n_rollouts;		/* with steps */
	uint32		n_steps;
	uint32		n_shared_steps;
	double		shared_step_share;
} Meeting;

/* The error names the rollout whose return is farthest from 0. */
static void
refuse_moments(const GroupColumns *group, const RolloutFacts *facts)
{
	uint32		farthest = 0;

	for (uint32 r = 1; r < group->n_rollouts; r++)
		if (facts->judged[r] && fabs(facts->total[r]) > fabs(facts->total[farthest]))
			farthest = r;
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("mean or standard deviation of returns is out of range for type double precision"),
			 errdetail("Rollout " INT64_FORMAT " has the return %g.", group->rollout_id[farthest], facts->total[farthest])));
}

static void
summarise_returns(const GroupColumns *group, const RolloutFacts *facts, double success_above, GroupSummary *summary)
{
	uint32	   *weight = ALLOCATE_ARRAY(uint32, group->n_rollouts);
	uint32		successes = 0;
	SetMoments *returns;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		weight[r] = facts->judged[r];
		if (facts->judged[r])
			successes += rollout_succeeded(group, facts, r, success_above);
	}
	returns = measure_sets(facts->total, weight, NULL, group->n_rollouts, 1);
	if ((returns->count > 0 && isnan(returns->mean)) || (returns->count > 1 && isnan(returns->sd)))
		refuse_moments(group, facts);
	summary->n_successes = successes;
	summary->mean_return = returns->mean;
	summary->sd_return = returns->sd;
	summary->uniform = returns->least == returns->most;
	summary->success_rate = facts->n_judged > 0 ? (double) successes / facts->n_judged : NAN;
}

/* The visits of a state, which is shared if two rollouts visited it. */
typedef struct StateVisits
{
	int64		state;
	uint32		visitor;		/* the first rollout there */
	uint32		n_steps;		/* in it, until it is shared */
	int32		least_step_no;
	bool		shared;
	char		status;
} StateVisits;

#define SH_PREFIX visits
#define SH_ELEMENT_TYPE StateVisits
#define SH_KEY_TYPE int64
#define SH_KEY state
#define SH_HASH_KEY(table, key) look_on_the_way((uint32) (((uint64) (key) ^ (uint64) (key) >> 32) * UINT64CONST(0x9E3779B97F4A7C15) >> 32))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "hash_table.h"

/* Steps whose state is NULL or was visited only by their own rollout. */
typedef struct Lonely
{
	int64		n;
	int32		least_step_no;
} Lonely;

static void
add_lonely(Lonely *lonely, uint32 n, int32 step_no)
{
	lonely->least_step_no = lonely->n == 0 ? step_no : Min(lonely->least_step_no, step_no);
	lonely->n += n;
}

static void
add_unshared(visits_hash *visits, Lonely *lonely)
{
	visits_iterator iterator;
	StateVisits *entry;

	visits_start_iterate(visits, &iterator);
	while ((entry = visits_iterate(visits, &iterator)) != NULL)
		if (!entry->shared)
			add_lonely(lonely, entry->n_steps, entry->least_step_no);
}

static inline void
visit_state(visits_hash *visits, int64 state, uint32 rollout, int32 step_no, Meeting *meeting)
{
	bool		found;
	StateVisits *entry = visits_insert(visits, state, &found);

	if (!found)
		*entry = (StateVisits) {
			.state = state, .visitor = rollout, .least_step_no = step_no, .status = entry->status
		};
	entry->n_steps++;
	entry->least_step_no = Min(entry->least_step_no, step_no);
	if (entry->shared)
		meeting->n_shared_steps++;
	else if (entry->visitor != rollout)
	{
		entry->shared = true;
		meeting->n_shared_states++;
		meeting->n_shared_steps += entry->n_steps;
	}
}

/*
 * One pass with one hash table, since dashboards read this for every group.  counts: which rollouts
 * count; NULL: all.  lonely: initially zeros; NULL: not needed.
 */
static Meeting
count_meetings(const GroupColumns *group, const bool *counts, Lonely *lonely)
{
	visits_hash *visits = visits_create(CurrentMemoryContext, 64, NULL);
	Meeting		meeting = {0};
	uint32		stateless = 0;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (counts != NULL && !counts[r])
			continue;
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			if (!step_has_null(group, i, NULL_STATE))
				visit_state(visits, group->state[i], r, group->step_no[i], &meeting);
			else
			{
				stateless++;
				if (lonely != NULL)
					add_lonely(lonely, 1, group->step_no[i]);
			}
		}
		meeting.n_steps += group->n_rollout_steps[r];
		meeting.n_rollouts += group->n_rollout_steps[r] > 0;
		CHECK_FOR_INTERRUPTS();
	}
	if (lonely != NULL)
		add_unshared(visits, lonely);
	meeting.n_states = visits->members + stateless;
	meeting.shared_step_share = meeting.n_steps > 0 ? (double) meeting.n_shared_steps / meeting.n_steps : NAN;
	visits_destroy(visits);
	return meeting;
}

static void
summarise_states(const GroupColumns *group, const RolloutFacts *facts, GroupSummary *summary)
{
	Meeting		judged = count_meetings(group, facts->judged, NULL);
	Meeting		all = facts->n_judged == group->n_rollouts ? judged : count_meetings(group, NULL, NULL);

	summary->n_judged_steps = judged.n_steps;
	summary->n_shared_steps = judged.n_shared_steps;
	summary->n_states = judged.n_states;
	summary->n_shared_states = judged.n_shared_states;
	summary->shared_step_share = judged.shared_step_share;
	summary->all_shared_step_share = all.shared_step_share;
	summary->no_shared_state = all.n_rollouts >= 2 && all.n_shared_states == 0;
}

void
summarise_group(const GroupColumns *group, const RolloutFacts *facts, double success_above, GroupSummary *summary)
{
	summary->n_rollouts = group->n_rollouts;
	summary->n_judged = facts->n_judged;
	summary->n_steps = group->n_steps;
	summarise_returns(group, facts, success_above, summary);
	summarise_states(group, facts, summary);
}

Datum
stepadv_group_summary(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(summary_parameters)];
	RolloutFacts facts;
	GroupSummary *summary = palloc0(sizeof(GroupSummary));
	GroupColumns group;

	read_parameters(fcinfo, 1, summary_parameters, lengthof(summary_parameters), parameters);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	summarise_group(&group, &facts, parameters[0].number, summary);

	{
		ResultColumn columns[] = {
			{"n_rollouts", COLUMN_INT4, &summary->n_rollouts, NULL},
			{"n_judged", COLUMN_INT4, &summary->n_judged, NULL},
			{"n_steps", COLUMN_INT4, &summary->n_steps, NULL},
			{"mean_return", COLUMN_FLOAT8, &summary->mean_return, NULL},
			{"sd_return", COLUMN_FLOAT8, &summary->sd_return, NULL},
			{"success_rate", COLUMN_FLOAT8, &summary->success_rate, NULL},
			{"uniform", COLUMN_BOOL, &summary->uniform, NULL},
			{"n_states", COLUMN_INT4, &summary->n_states, NULL},
			{"n_shared_states", COLUMN_INT4, &summary->n_shared_states, NULL},
			{"shared_step_share", COLUMN_FLOAT8, &summary->shared_step_share, NULL},
			{"all_shared_step_share", COLUMN_FLOAT8, &summary->all_shared_step_share, NULL},
			{"no_shared_state", COLUMN_BOOL, &summary->no_shared_state, NULL},
		};
		static const bool yes = true;

		/* uniform is NULL if no rollout is judged. */
		if (facts.n_judged == 0)
			columns[6].nulls = &yes;
		RETURN_COLUMNS(columns, 1);
	}
}

/*
 * lonely_steps(rollout_group): an array of two (n_rows, step_no), the first not NULL if all
 * steps are lonely, the second if some are; NULL if none are, or fewer than two rollouts
 * have steps.
 */
Datum
stepadv_lonely_steps(PG_FUNCTION_ARGS)
{
	Oid			type = get_element_type(get_func_rettype(fcinfo->flinfo->fn_oid));
	Lonely		lonely = {0};
	GroupColumns group;
	int			n = 2;
	int			lower = 1;
	Datum		values[2];
	bool		nulls[2] = {false};
	Datum		elements[2];
	TupleDesc	desc;

	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	if (count_meetings(&group, NULL, &lonely).n_rollouts < 2 || lonely.n == 0)
		PG_RETURN_NULL();
	desc = lookup_rowtype_tupdesc(type, -1);
	values[0] = Int64GetDatum(lonely.n);
	values[1] = Int32GetDatum(lonely.least_step_no);
	elements[0] = elements[1] = HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
	ReleaseTupleDesc(desc);
	nulls[lonely.n == group.n_steps ? 1 : 0] = true;
	PG_RETURN_DATUM(PointerGetDatum(construct_md_array(elements, nulls, 1, &n, &lower, type, -1, false,
													   TYPALIGN_DOUBLE)));
}

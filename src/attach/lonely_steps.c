/*
 * lonely_steps.c
 *		Which steps of a group no other rollout can be compared at: they are in
 *		states that only their own rollout was in, or in none.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "group/group.h"
#include "hash.h"

PG_FUNCTION_INFO_V1(stepadv_lonely_steps);

typedef struct Visited
{
	int64		state;
	uint32		visitor;		/* the first rollout there */
	uint32		n_steps;		/* in it */
	int32		least_step_no;
	bool		shared;
	char		status;
} Visited;

#define SH_PREFIX visited
#define SH_ELEMENT_TYPE Visited
#define SH_KEY_TYPE int64
#define SH_KEY state
#define SH_HASH_KEY(table, key) look_on_the_way((uint32) hash_bytes_64(&(key), sizeof(key)))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "hash_table.h"

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
visit(visited_hash *states, int64 state, uint32 rollout, int32 step_no)
{
	bool		found;
	Visited    *entry = visited_insert(states, state, &found);

	if (!found)
	{
		entry->visitor = rollout;
		entry->n_steps = 0;
		entry->least_step_no = step_no;
		entry->shared = false;
	}
	entry->shared |= entry->visitor != rollout;
	entry->least_step_no = Min(entry->least_step_no, step_no);
	entry->n_steps++;
}

static Lonely
find_lonely(const GroupColumns *group)
{
	visited_hash *states = visited_create(CurrentMemoryContext, 64, NULL);
	visited_iterator iterator;
	Visited    *entry;
	Lonely		lonely = {0};

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		CHECK_FOR_INTERRUPTS();
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			if (step_has_null(group, i, NULL_STATE))
				add_lonely(&lonely, 1, group->step_no[i]);
			else
				visit(states, group->state[i], r, group->step_no[i]);
		}
	}
	visited_start_iterate(states, &iterator);
	while ((entry = visited_iterate(states, &iterator)) != NULL)
		if (!entry->shared)
			add_lonely(&lonely, entry->n_steps, entry->least_step_no);
	visited_destroy(states);
	return lonely;
}

/*
 * lonely_steps(rollout_group): an array of two (n_rows, step_no), the first where all
 * steps are lonely, the second where some are; NULL where none is, and where no rollout
 * has another to meet.
 */
Datum
stepadv_lonely_steps(PG_FUNCTION_ARGS)
{
	GroupColumns group;
	uint32		n_with_steps = 0;
	int			n = 2;
	int			lower = 1;
	Oid			type = get_element_type(get_func_rettype(fcinfo->flinfo->fn_oid));
	Lonely		lonely;
	Datum		values[2];
	bool		nulls[2] = {false};
	Datum		elements[2];
	TupleDesc	desc;

	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	for (uint32 r = 0; r < group.n_rollouts; r++)
		n_with_steps += group.n_rollout_steps[r] > 0;
	if (n_with_steps < 2)
		PG_RETURN_NULL();
	lonely = find_lonely(&group);
	if (lonely.n == 0)
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

/*
 * signs.c
 *		The signs of the steps of kept groups, by all methods, and the distribution
 *		of their advantages; and the problems of their rows.
 *
 * To compute them takes every method of the changed group again, and only
 * panels about all groups read them.  So who changes a group does no more than
 * say so: its key is written into a list, and what is kept of it is not believed
 * any more; readers have the signs of these groups computed.  A refresh keeps them.
 *
 * A group's key is written by whoever has its row locked, in the same transaction
 * as its value, and a refresh locks the table of groups against writers: what is
 * taken out of the list is what all of them have committed.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "upkeep/fold.h"
#include "upkeep/signs.h"

typedef struct SomeSigns
{
	Kept	   *kept;
	SPITupleTable *groups;
	uint64		from;
	uint64		to;
} SomeSigns;

void
let_signs_wait(Kept *kept, SPITupleTable *groups)
{
	for (uint64 i = 0; OidIsValid(kept->waiting) && i < groups->numvals; i++)
		kept_execute(kept, KEPT_LET_WAIT, groups, i);
}

static void
sign_some(void *argument)
{
	SomeSigns  *some = argument;

	for (uint64 i = some->from; i < some->to; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (OidIsValid(some->kept->folded_signs))
		{
			kept_execute(some->kept, KEPT_CLEAR_SIGNS_ONE, some->groups, i);
			kept_execute(some->kept, KEPT_ADD_SIGNS_ONE, some->groups, i);
		}
		if (OidIsValid(some->kept->folded_bins))
		{
			kept_execute(some->kept, KEPT_CLEAR_BINS_ONE, some->groups, i);
			kept_execute(some->kept, KEPT_ADD_BINS_ONE, some->groups, i);
		}
		if (OidIsValid(some->kept->folded_problems))
		{
			kept_execute(some->kept, KEPT_CLEAR_PROBLEMS_ONE, some->groups, i);
			kept_execute(some->kept, KEPT_ADD_PROBLEMS_ONE, some->groups, i);
		}
	}
}

/*
 * A group that a method does not know what to do with goes on waiting, and is an
 * error of who asks.  Which of many it is, is found by halves.
 */
static void
sign_these(Kept *kept, SPITupleTable *groups, uint64 from, uint64 to)
{
	SomeSigns	some = {kept, groups, from, to};

	if (from == to || succeeds(sign_some, &some))
		return;
	if (to - from == 1)
		kept_execute(kept, KEPT_LET_WAIT, groups, from);
	else
	{
		uint64		middle = from + (to - from) / 2;

		sign_these(kept, groups, from, middle);
		sign_these(kept, groups, middle, to);
	}
}

static void
attempt_all_signs(void *argument)
{
	Kept	   *kept = argument;

	if (OidIsValid(kept->folded_signs))
		kept_execute_once(kept, KEPT_ALL_SIGNS);
	if (OidIsValid(kept->folded_bins))
		kept_execute_once(kept, KEPT_ALL_BINS);
}

void
sign_all(Kept *kept)
{
	if (!OidIsValid(kept->waiting))
		return;
	kept_execute_once(kept, KEPT_CLEAR_UNSIGNED);
	if (OidIsValid(kept->folded_signs))
		kept_execute_once(kept, KEPT_CLEAR_ALL_SIGNS);
	if (OidIsValid(kept->folded_bins))
		kept_execute_once(kept, KEPT_CLEAR_ALL_BINS);
	/* No method is asked, and groups have them that have no value: these are all found at once. */
	if (OidIsValid(kept->folded_problems))
	{
		kept_execute_once(kept, KEPT_CLEAR_ALL_PROBLEMS);
		kept_execute_once(kept, KEPT_ALL_PROBLEMS);
	}
	if (!succeeds(attempt_all_signs, kept))
	{
		SPITupleTable *groups;

		kept_execute_once(kept, KEPT_ALL_KEYS);
		groups = SPI_tuptable;
		allow_sequential_scans(kept, false);
		sign_these(kept, groups, 0, groups->numvals);
	}
	kept_execute(kept, KEPT_FORGET_ALL_SUMS, NULL, 0);
	kept_execute(kept, KEPT_ADD_SUMS, NULL, 0);
}

uint64
sign_waiting(Kept *kept)
{
	uint64		n;
	SPITupleTable *groups;

	if (!OidIsValid(kept->waiting))
		return 0;
	kept_execute(kept, KEPT_FORGET_SUMS, NULL, 0);
	n = kept_query(kept, KEPT_TAKE_UNSIGNED, NULL, 0);
	groups = SPI_tuptable;
	if (are_most(kept, n))
	{
		allow_sequential_scans(kept, true);
		sign_all(kept);
		allow_sequential_scans(kept, false);
	}
	else
	{
		sign_these(kept, groups, 0, n);
		kept_execute(kept, KEPT_ADD_SUMS, NULL, 0);
	}
	return n;
}

/*
 * whole.c
 *		Reading the tables as a whole, instead of group by group.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "utils/guc.h"
#include "utils/syscache.h"

#include "compat.h"
#include "long_work.h"
#include "upkeep/whole.h"

void
allow_sequential_scans(Kept *kept, bool allow)
{
	(void) set_config_option("enable_seqscan", allow || !kept->by_index ? "on" : "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

void
telling_rows(const Kept *kept, void (*fold) (void *argument), void *argument, const char *units, bool is_asked)
{
	LongWork	work;

	if (!is_asked)
	{
		fold(argument);
		return;
	}
	begin_long_work(&work, "read", units, kept_source(kept), "about ", 0);
	rows_read_for = &work;
	PG_TRY();
	{
		fold(argument);
	}
	PG_FINALLY();
	{
		rows_read_for = NULL;
	}
	PG_END_TRY();
}

double
number_of_groups(const Kept *kept)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(kept->folded));
	double		n = -1;

	if (HeapTupleIsValid(tuple))
	{
		n = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
		ReleaseSysCache(tuple);
	}
	return n;
}

bool
are_most(const Kept *kept, uint64 n)
{
	return n >= MANY_GROUPS && number_of_groups(kept) >= 0 && n >= LARGE_PART * number_of_groups(kept);
}

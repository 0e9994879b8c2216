/*
 * transactions.c
 *		When the oldest running transaction of this database began.
 *
 * A row with an earlier timestamp may be committed after one with a later timestamp.  A reader that rereads
 * every row since this time misses none.
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/backend_status.h"
#include "utils/timestamp.h"

#include "compat.h"

PG_FUNCTION_INFO_V1(stepadv_oldest_transaction);

/*
 * oldest_transaction(): the current time if none is running.  Sessions without track_activities and prepared
 * transactions are not seen.  Autovacuum is ignored: it writes no rows, and may take hours.
 */
Datum
stepadv_oldest_transaction(PG_FUNCTION_ARGS)
{
	TimestampTz oldest = GetCurrentTimestamp();
	int			n;

	/* The transaction caches what it reads of other sessions: read it anew, and leave nothing cached. */
	pgstat_clear_backend_activity_snapshot();
	n = pgstat_fetch_stat_numbackends();
	for (int i = 1; i <= n; i++)
	{
		LocalPgBackendStatus *local = local_backend_status(i);

		if (local != NULL && local->backendStatus.st_databaseid == MyDatabaseId &&
			local->backendStatus.st_backendType != B_AUTOVAC_WORKER &&
			local->backendStatus.st_xact_start_timestamp != 0)
			oldest = Min(oldest, local->backendStatus.st_xact_start_timestamp);
	}
	pgstat_clear_backend_activity_snapshot();
	PG_RETURN_TIMESTAMPTZ(oldest);
}

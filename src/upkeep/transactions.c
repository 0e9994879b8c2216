/*
 * transactions.c
 *		When the oldest transaction began that is still running here.
 *
 * A row that is stamped with the time may be committed later than rows with a later
 * time: none is missed by who looks at all that is no older than this.
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
 * oldest_transaction(): now, where none is running.  Sessions without track_activities
 * do not show, nor do transactions that are prepared.  Autovacuum writes no rows, and may
 * take hours.
 */
Datum
stepadv_oldest_transaction(PG_FUNCTION_ARGS)
{
	TimestampTz oldest = GetCurrentTimestamp();
	int			n;

	/* What a transaction has read and may see differently later. */
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

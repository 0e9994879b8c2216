/*
 * long_work.c
 *		Progress reports of long work.
 *
 * The time left is estimated from the mean speed so far.
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "access/xact.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "long_work.h"

LongWork   *rows_read_for = NULL;

static bool progress = true;
static int	progress_interval = 3000;

void
define_long_work_settings(void)
{
	DefineCustomBoolVariable("stepadv.progress",
							 "Long work says every few seconds how far it is.",
							 "A NOTICE of maintain and refresh.",
							 &progress, true, PGC_USERSET, 0, NULL, NULL, NULL);
	/* For tests. */
	DefineCustomIntVariable("stepadv.progress_interval",
							"The time between two notices of how far long work is.",
							NULL, &progress_interval, 3000, 0, INT_MAX, PGC_USERSET, GUC_UNIT_MS | GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
}

void
begin_long_work(LongWork *work, const char *done_verb, const char *units, const char *of, const char *total_is, double total)
{
	memset(work, 0, sizeof(LongWork));
	strlcpy(work->done_verb, done_verb, sizeof(work->done_verb));
	strlcpy(work->units, units, sizeof(work->units));
	strlcpy(work->of, of, sizeof(work->of));
	work->total_is = total_is;
	work->total = total;
	work->start = work->reported = GetCurrentTimestamp();
}

/* "14 s", "3 min" or "1.5 h" */
static char *
duration(double seconds)
{
	if (seconds < 100)
		return psprintf("%.0f s", ceil(seconds));
	if (seconds < 6000)
		return psprintf("%.0f min", ceil(seconds / 60));
	return psprintf("%.1f h", seconds / 3600);
}

static void
report_progress(const LongWork *work, TimestampTz now)
{
	StringInfoData report;

	initStringInfo(&report);
	appendStringInfo(&report, "%s %.0f ", work->done_verb, floor(work->done));
	/* Omit the total if it was underestimated. */
	if (work->total >= work->done)
		appendStringInfo(&report, "of %s%.0f ", work->total_is, work->total);
	appendStringInfoString(&report, work->units);
	if (work->of[0] != '\0')
		appendStringInfo(&report, " of %s", work->of);
	if (work->total > work->done)
		appendStringInfo(&report, ", %s%s left", work->total_is[0] != '\0' ? work->total_is : "about ",
						 duration((now - work->start) / 1e6 / work->done * (work->total - work->done)));
	ereport(NOTICE, (errmsg_internal("%s", report.data)));
	pfree(report.data);
}

void
advance_long_work(LongWork *work, double n, double look_every)
{
	TimestampTz now;

	/* The first rows may arrive only after other nodes have prepared them: start the clock then. */
	if (work->done == 0 && look_every > 1)
		work->start = GetCurrentTimestamp();
	work->done += n;
	work->unlooked += n;
	if (work->unlooked < look_every || !progress)
		return;
	work->unlooked = 0;
	now = GetCurrentTimestamp();
	if (!TimestampDifferenceExceeds(work->reported, now, progress_interval))
		return;
	work->reported = now;
	report_progress(work, now);
}

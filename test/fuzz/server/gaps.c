/*
 * gaps.c
 *		How long a backend goes without a check for interrupts.
 *
 * A timer of the backend's CPU time sets InterruptPending, and looks at every tick
 * whether CHECK_FOR_INTERRUPTS has cleared it.  This does not cancel the query, so
 * one run measures every moment of it, whatever else the machine does.  Code that
 * waits for QueryCancelPending (the regular expressions of servers up to 15) seems
 * not to check; cancel_after() really cancels.
 */
#include "postgres.h"

#include <execinfo.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(gaps_begin);
PG_FUNCTION_INFO_V1(gaps_end);
PG_FUNCTION_INFO_V1(cancel_after);
PG_FUNCTION_INFO_V1(cancelled_late);
PG_FUNCTION_INFO_V1(hold);
PG_FUNCTION_INFO_V1(held);

#define TICK_US 4000
#define MAX_PLACES 12
#define MAX_DEPTH 40

/* Where a gap became longer than the limit. */
typedef struct Place
{
	int			depth;
	void	   *frames[MAX_DEPTH];
} Place;

static volatile bool asked = false;
static volatile int64 asked_at;
static volatile int64 longest;
static volatile bool told;		/* the current gap is among the places */
static volatile int n_places;
static Place places[MAX_PLACES];
static int64 limit;
static volatile int64 ends_at;	/* CPU time at which the query is cancelled */

static int64
cpu_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (int64) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void
set_timer(int64 first, int64 every)
{
	struct itimerval timer;

	timer.it_value.tv_sec = first / 1000000;
	timer.it_value.tv_usec = first % 1000000;
	timer.it_interval.tv_sec = 0;
	timer.it_interval.tv_usec = every;
	if (setitimer(ITIMER_PROF, &timer, NULL) != 0)
		elog(ERROR, "setitimer: %m");
}

static void
look(SIGNAL_ARGS)
{
	int			save_errno = errno;
	int64		now = cpu_time();
	int64		gap = now - asked_at;

	if (!asked || !InterruptPending)
	{
		asked = true;
		InterruptPending = true;
		asked_at = now;
		told = false;
	}
	else
	{
		longest = Max(longest, gap);
		if (gap > limit && !told && n_places < MAX_PLACES)
		{
			places[n_places].depth = backtrace(places[n_places].frames, MAX_DEPTH);
			n_places++;
			told = true;
		}
	}
	if (now > ends_at)
	{
		ends_at = PG_INT64_MAX;
		QueryCancelPending = InterruptPending = true;
	}
	errno = save_errno;
}

/* gaps_begin(limit_ms integer, most_ms integer): cancels the query after most_ms of CPU time */
Datum
gaps_begin(PG_FUNCTION_ARGS)
{
	void	   *frame;

	backtrace(&frame, 1);		/* loads its library, which a signal handler must not do */
	limit = (int64) PG_GETARG_INT32(0) * 1000;
	ends_at = cpu_time() + (int64) PG_GETARG_INT32(1) * 1000;
	asked = false;
	longest = n_places = 0;
	pqsignal(SIGPROF, look);
	set_timer(TICK_US, TICK_US);
	PG_RETURN_VOID();
}

/* gaps_end() text: the longest gap in ms; a line for each place above the limit, innermost frame first */
Datum
gaps_end(PG_FUNCTION_ARGS)
{
	StringInfoData said;

	set_timer(0, 0);
	initStringInfo(&said);
	appendStringInfo(&said, "%.0f", longest / 1000.0);
	for (int i = 0; i < n_places; i++)
	{
		char	  **names = backtrace_symbols(places[i].frames, places[i].depth);

		appendStringInfoChar(&said, '\n');
		for (int f = 2; names != NULL && f < places[i].depth; f++)
		{
			const char *slash = strrchr(names[f], '/');

			appendStringInfo(&said, " %s", slash ? slash + 1 : names[f]);
		}
		free(names);
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(said.data, said.len));
}

/* ----------
 * Real cancels
 * ----------
 */

static volatile int64 cancelled_at = 0;

static void
cancel(SIGNAL_ARGS)
{
	int			save_errno = errno;

	cancelled_at = cpu_time();
	QueryCancelPending = true;
	InterruptPending = true;
	SetLatch(MyLatch);
	errno = save_errno;
}

/* cancel_after(microseconds integer): cancels after this much CPU time */
Datum
cancel_after(PG_FUNCTION_ARGS)
{
	cancelled_at = 0;
	pqsignal(SIGPROF, cancel);
	set_timer(PG_GETARG_INT32(0), 0);
	PG_RETURN_VOID();
}

/* cancelled_late(): the CPU time since the cancel in ms, including cleanup; NULL if the query ended before it */
Datum
cancelled_late(PG_FUNCTION_ARGS)
{
	set_timer(0, 0);
	if (cancelled_at == 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8((cpu_time() - cancelled_at) / 1000.0);
}

/* ----------
 * Large values that a session holds
 * ----------
 */

#define MAX_HELD 64

static struct
{
	char		name[NAMEDATALEN];
	struct varlena *value;
} holding[MAX_HELD];
static int	n_holding = 0;

/* hold(name text, value anyelement): keeps a value of variable length for this session */
Datum
hold(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_DETOAST_DATUM(PG_GETARG_DATUM(1));

	if (n_holding == MAX_HELD)
		elog(ERROR, "too many values are held");
	text_to_cstring_buffer(PG_GETARG_TEXT_PP(0), holding[n_holding].name, NAMEDATALEN);
	holding[n_holding].value = MemoryContextAllocHuge(TopMemoryContext, VARSIZE(value));
	memcpy(holding[n_holding++].value, value, VARSIZE(value));
	PG_RETURN_VOID();
}

/* held(name text, like anyelement) anyelement: the value itself, not a copy */
Datum
held(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));

	for (int i = 0; i < n_holding; i++)
		if (strcmp(holding[i].name, name) == 0)
			PG_RETURN_POINTER(holding[i].value);
	elog(ERROR, "\"%s\" is not held", name);
}

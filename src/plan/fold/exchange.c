#include "postgres.h"

#include "executor/executor.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "port/pg_bitutils.h"
#include "storage/barrier.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "plan/fold/exchange.h"
#include "plan/fold/files.h"

/*
 * The number of parts: enough per process that the last ones to be merged are small, and enough in all that a
 * part fits into a cache, as long as the blocks being written take at most a quarter of the memory.
 */
#define PARTS_A_PROCESS 8
#define MIN_PARTS		64
#define MAX_PARTS		512
#define PART_SIZE		((Size) 1024 * 1024)
#define PART_MEMORY		((Size) 32 * 1024)

/*
 * Groups whose hashes select the same claim are merged by the same process.  A claim holds the number of steps
 * that a process has of one group, and in the low bits the process number plus 1.
 */
#define CLAIMS_A_GROUP	8
#define MAX_CLAIMS		(1024 * 1024)
#define PROCESS_BITS	11
#define MAX_STEPS		((1 << (32 - PROCESS_BITS)) - 1)

/* Phases of the barrier. */
enum
{
	FOLDING,					/* folding rows and marking groups */
	SENDING,					/* sending groups that others have too */
	MERGING						/* merging parts, the last phase */
};

struct FoldExchange
{
	Barrier		barrier;
	dsm_handle	segment;
	SharedFileSet files;
	int			n_processes;
	int			n_parts;
	pg_atomic_uint32 next_part;
	int			expected_groups;
	int			n_claims;		/* a power of 2 */
	Size		marks;			/* offsets from here: the GroupMarks of all processes, */
	Size		claims;			/* the claims, */
	Size		sent;			/* SentBlocks by process and part */
	FoldUsage	usage[FLEXIBLE_ARRAY_MEMBER];	/* by process */
};

struct ExchangeAccess
{
	FoldExchange *exchange;
	int			process;
	bool		attached;		/* to the barrier */
	bool		has_owners;		/* no process has spilled groups, so claims are complete */
	BlockFiles *files;
};

/* ----------
 * Shared memory
 * ----------
 */

/* Each process sends to the parts and, for groups that others own, to every process. */
static Size
sent_size(const FoldExchange *exchange)
{
	return (Size) exchange->n_processes * (exchange->n_parts + exchange->n_processes) * sizeof(SentBlocks);
}

/* Compute the layout of the shared memory; returns its size. */
static Size
lay_out(int n_processes, int expected_groups, double bytes, FoldExchange *exchange)
{
	Size		size = MAXALIGN(offsetof(FoldExchange, usage) + n_processes * sizeof(FoldUsage));
	int			for_cache = Min(Max(Min(bytes / PART_SIZE, MAX_PARTS), MIN_PARTS), hash_memory_limit() / PART_MEMORY);

	exchange->n_processes = n_processes;
	exchange->n_parts = Max(n_processes * PARTS_A_PROCESS, for_cache);
	exchange->expected_groups = expected_groups;
	exchange->n_claims = pg_nextpower2_32(Min(Max(expected_groups, 1), MAX_CLAIMS / CLAIMS_A_GROUP) * CLAIMS_A_GROUP);
	exchange->marks = size;
	size += marks_size(expected_groups);
	exchange->claims = size;
	size += exchange->n_claims * sizeof(pg_atomic_uint32);
	exchange->sent = size;
	return size + sent_size(exchange);
}

Size
exchange_size(int n_processes, int expected_groups, double bytes)
{
	FoldExchange exchange;

	return lay_out(n_processes, expected_groups, bytes, &exchange);
}

static SentBlocks *
sent_of(FoldExchange *exchange)
{
	return (SentBlocks *) ((char *) exchange + exchange->sent);
}

static GroupMarks *
marks_of(FoldExchange *exchange)
{
	return (GroupMarks *) ((char *) exchange + exchange->marks);
}

static pg_atomic_uint32 *
claims_of(FoldExchange *exchange)
{
	return (pg_atomic_uint32 *) ((char *) exchange + exchange->claims);
}

static ExchangeAccess *
open_access(FoldExchange *exchange, int process)
{
	ExchangeAccess *access = palloc0(sizeof(ExchangeAccess));

	access->exchange = exchange;
	access->process = process;
	access->files = open_block_files(&exchange->files, sent_of(exchange), exchange->n_processes, n_sent_parts(access),
									 process);
	return access;
}

static void
detach(ExchangeAccess *access)
{
	if (access->attached)
		BarrierDetach(&access->exchange->barrier);
	access->attached = false;
}

/* Reset the exchange: no marks, no claims, nothing sent. */
static void
empty_exchange(FoldExchange *exchange)
{
	BarrierInit(&exchange->barrier, 0);
	pg_atomic_init_u32(&exchange->next_part, 0);
	begin_marks(marks_of(exchange), exchange->expected_groups);
	for (int c = 0; c < exchange->n_claims; c++)
		pg_atomic_init_u32(&claims_of(exchange)[c], 0);
	memset(exchange->usage, 0, exchange->n_processes * sizeof(FoldUsage));
	memset(sent_of(exchange), 0, sent_size(exchange));
}

ExchangeAccess *
create_exchange(FoldExchange *exchange, int n_processes, int expected_groups, double bytes, dsm_segment *segment)
{
	lay_out(n_processes, expected_groups, bytes, exchange);
	exchange->segment = dsm_segment_handle(segment);
	SharedFileSetInit(&exchange->files, segment);
	empty_exchange(exchange);
	return open_access(exchange, 0);
}

void
renew_exchange(ExchangeAccess *access)
{
	leave_exchange(access);
	access->has_owners = false;
	SharedFileSetDeleteAll(&access->exchange->files);
	empty_exchange(access->exchange);
}

ExchangeAccess *
find_exchange(FoldExchange *exchange)
{
	/* The worker has mapped the query's segment. */
	SharedFileSetAttach(&exchange->files, dsm_find_mapping(exchange->segment));
	return open_access(exchange, ParallelWorkerNumber + 1);
}

/* ----------
 * Marks and claims
 * ----------
 */

bool
join_exchange(ExchangeAccess *access)
{
	int			phase = BarrierAttach(&access->exchange->barrier);

	access->attached = true;
	if (phase == FOLDING)
		return true;
	if (phase == SENDING)
		await_values(access);
	else
		detach(access);
	return false;
}

GroupMarks *
exchange_marks(const ExchangeAccess *access)
{
	return marks_of(access->exchange);
}

/* Like marks, uses other bits than parts and buckets. */
static pg_atomic_uint32 *
claim_of_hash(const ExchangeAccess *access, uint32 hash)
{
	return &claims_of(access->exchange)[murmurhash32(hash) & (access->exchange->n_claims - 1)];
}

/* The largest claim wins. */
void
claim_group(ExchangeAccess *access, uint32 hash, uint64 n_steps)
{
	pg_atomic_uint32 *place = claim_of_hash(access, hash);
	uint32		claim = (uint32) Min(n_steps, MAX_STEPS) << PROCESS_BITS | (access->process + 1);
	uint32		before = pg_atomic_read_u32(place);

	while (before < claim && !pg_atomic_compare_exchange_u32(place, &before, claim))
		;
}

int
owner_of_group(const ExchangeAccess *access, uint32 hash)
{
	if (!access->has_owners)
		return -1;
	return (int) (pg_atomic_read_u32(claim_of_hash(access, hash)) & ((1 << PROCESS_BITS) - 1)) - 1;
}

bool
is_own_group(const ExchangeAccess *access, uint32 hash)
{
	return owner_of_group(access, hash) == access->process;
}

int
n_exchange_parts(const ExchangeAccess *access)
{
	return access->exchange->n_parts;
}

int
n_sent_parts(const ExchangeAccess *access)
{
	return access->exchange->n_parts + access->exchange->n_processes;
}

void
send_block(ExchangeAccess *access, int part, const void *block)
{
	put_block(access->files, part, block);
}

/* ----------
 * Waiting
 * ----------
 */

void
await_marks(ExchangeAccess *access)
{
	const FoldExchange *exchange = access->exchange;

	BarrierArriveAndWait(&access->exchange->barrier, PG_WAIT_EXTENSION);
	access->has_owners = true;
	for (int p = 0; p < exchange->n_processes; p++)
		access->has_owners &= exchange->usage[p].n_spilled == 0;
}

void
await_values(ExchangeAccess *access)
{
	end_blocks(access->files);
	BarrierArriveAndWait(&access->exchange->barrier, PG_WAIT_EXTENSION);
	detach(access);
}

void
leave_exchange(ExchangeAccess *access)
{
	close_block_files(access->files);
	detach(access);
}

/* ----------
 * Receiving blocks
 * ----------
 */

void
take_own_part(ExchangeAccess *access)
{
	begin_blocks(access->files, access->exchange->n_parts + access->process);
}

bool
take_part(ExchangeAccess *access)
{
	uint32		part = pg_atomic_fetch_add_u32(&access->exchange->next_part, 1);

	if (part >= access->exchange->n_parts)
	{
		close_block_files(access->files);
		return false;
	}
	begin_blocks(access->files, part);
	return true;
}

void *
receive_block(ExchangeAccess *access)
{
	CHECK_FOR_INTERRUPTS();
	return get_block(access->files);
}

/* ----------
 * Usage
 * ----------
 */

void
tell_usage(ExchangeAccess *access, const FoldUsage *usage)
{
	access->exchange->usage[access->process] = *usage;
}

double
rows_a_process(const ExchangeAccess *access)
{
	const FoldExchange *exchange = access->exchange;
	double		n_rows = 0;
	int			n = 0;

	for (const FoldUsage *usage = exchange->usage; usage < exchange->usage + exchange->n_processes; usage++)
	{
		n_rows += usage->n_rows;
		n += usage->took_part;
	}
	return n_rows / Max(n, 1);
}

FoldUsage *
usage_of_processes(const ExchangeAccess *access, int *n_processes)
{
	Size		size = access->exchange->n_processes * sizeof(FoldUsage);

	*n_processes = access->exchange->n_processes;
	return memcpy(palloc(size), access->exchange->usage, size);
}

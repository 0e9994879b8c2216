/*
 * group_fold_exchange.c
 *		What the processes that fold the rows of one query together give each other.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "port/pg_bitutils.h"
#include "storage/barrier.h"
#include "utils/sharedtuplestore.h"

#include "compat.h"
#include "plan/group_fold_exchange.h"

/* Bits for every group that is expected: how rarely two fall on one. */
#define BITS_A_GROUP 32
#define MIN_BITS ((uint32) 1 << 16)
#define MAX_BITS ((uint32) 1 << 29)

/*
 * Records are written in so many parts for every process, so that the last ones to
 * be merged are not much, and in so many for all, that a part fits a cache, if there
 * is memory for their buffers.
 */
#define PARTS_A_PROCESS 8
#define PARTS			64
#define PART_MEMORY		((Size) 128 * 1024)

/* Phases of the barrier. */
enum
{
	FOLDING,					/* rows into tables, marking what is there */
	SENDING,					/* what others have, too */
	MERGING						/* for good */
};

struct FoldExchange
{
	Barrier		barrier;
	dsm_handle	segment;
	SharedFileSet files;
	int			n_processes;
	int			n_parts;
	uint32		n_bits;			/* a power of 2 */
	pg_atomic_uint32 next_part;
	pg_atomic_uint32 everything;	/* 1: all groups are as if marked for sure */
	Size		marks;			/* offsets from here: n_bits whether a process has a group, and n_bits whether two */
	Size		parts;			/* shared tuplestores, of part_size bytes each */
	Size		part_size;
	FoldUsage	usage[FLEXIBLE_ARRAY_MEMBER];	/* by process */
};

struct ExchangeAccess
{
	FoldExchange *exchange;
	int			process;
	bool		attached;		/* to the barrier */
	SharedTuplestoreAccessor **part;
	SharedTuplestoreAccessor *taken;	/* NULL: none */
};

/* ----------
 * Shared memory
 * ----------
 */

/* With too few of them groups are exchanged that nobody shares; they take at most a quarter of a hash table's memory. */
static uint32
bits_for(int expected_groups)
{
	uint64		bits = (uint64) Max(expected_groups, 1) * BITS_A_GROUP;
	uint64		most = Min(hash_memory_limit(), MAX_BITS);

	if (Min(bits, most) <= MIN_BITS)
		return MIN_BITS;
	return bits < most ? pg_nextpower2_32((uint32) bits) : pg_prevpower2_32((uint32) most);
}

/* Where everything is; the result is how long it is. */
static Size
lay_out(int n_processes, int expected_groups, FoldExchange *exchange)
{
	Size		size = MAXALIGN(offsetof(FoldExchange, usage) + n_processes * sizeof(FoldUsage));

	exchange->n_processes = n_processes;
	exchange->n_parts = Max(n_processes * PARTS_A_PROCESS, Min(PARTS, hash_memory_limit() / PART_MEMORY));
	exchange->n_bits = bits_for(expected_groups);
	exchange->part_size = MAXALIGN(sts_estimate(n_processes));
	exchange->marks = size;
	size += MAXALIGN((Size) exchange->n_bits / 8) * 2;
	exchange->parts = size;
	return size + exchange->n_parts * exchange->part_size;
}

Size
exchange_size(int n_processes, int expected_groups)
{
	FoldExchange exchange;

	return lay_out(n_processes, expected_groups, &exchange);
}

static SharedTuplestore *
part_of(FoldExchange *exchange, int part)
{
	return (SharedTuplestore *) ((char *) exchange + exchange->parts + part * exchange->part_size);
}

static pg_atomic_uint32 *
marks_of(const FoldExchange *exchange, bool of_two, uint32 bit)
{
	return (pg_atomic_uint32 *) ((char *) exchange + exchange->marks) + (of_two ? exchange->n_bits / 32 : 0) + bit / 32;
}

static ExchangeAccess *
open_access(FoldExchange *exchange, int process)
{
	ExchangeAccess *access = palloc0(sizeof(ExchangeAccess));

	access->exchange = exchange;
	access->process = process;
	access->part = palloc0(exchange->n_parts * sizeof(SharedTuplestoreAccessor *));
	return access;
}

/* Nothing is marked, nothing sent. */
static void
empty_exchange(ExchangeAccess *access)
{
	FoldExchange *exchange = access->exchange;

	BarrierInit(&exchange->barrier, 0);
	pg_atomic_init_u32(&exchange->next_part, 0);
	pg_atomic_init_u32(&exchange->everything, 0);
	for (uint32 bit = 0; bit < exchange->n_bits; bit += 32)
	{
		pg_atomic_init_u32(marks_of(exchange, false, bit), 0);
		pg_atomic_init_u32(marks_of(exchange, true, bit), 0);
	}
	memset(exchange->usage, 0, exchange->n_processes * sizeof(FoldUsage));
	for (int p = 0; p < exchange->n_parts; p++)
	{
		char		name[32];

		/* Not every server forgets how much was written before. */
		memset(part_of(exchange, p), 0, exchange->part_size);
		snprintf(name, sizeof(name), "part%d", p);
		access->part[p] = sts_initialize(part_of(exchange, p), exchange->n_processes, 0, 0, SHARED_TUPLESTORE_SINGLE_PASS,
										 &exchange->files, name);
	}
}

ExchangeAccess *
create_exchange(FoldExchange *exchange, int n_processes, int expected_groups, dsm_segment *segment)
{
	ExchangeAccess *access;

	lay_out(n_processes, expected_groups, exchange);
	exchange->segment = dsm_segment_handle(segment);
	SharedFileSetInit(&exchange->files, segment);
	access = open_access(exchange, 0);
	empty_exchange(access);
	return access;
}

void
renew_exchange(ExchangeAccess *access)
{
	leave_exchange(access);
	SharedFileSetDeleteAll(&access->exchange->files);
	empty_exchange(access);
}

ExchangeAccess *
find_exchange(FoldExchange *exchange)
{
	ExchangeAccess *access = open_access(exchange, ParallelWorkerNumber + 1);

	/* The segment of the query, which a worker has mapped. */
	SharedFileSetAttach(&exchange->files, dsm_find_mapping(exchange->segment));
	for (int p = 0; p < exchange->n_parts; p++)
		access->part[p] = sts_attach(part_of(exchange, p), access->process, &exchange->files);
	return access;
}

/* ----------
 * Who has what
 * ----------
 */

/* Hash tables take buckets and parts by the same hash: what is near in one shall be far in the other. */
static uint32
bit_of(const FoldExchange *exchange, uint32 hash)
{
	return murmurhash32(hash) & (exchange->n_bits - 1);
}

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
		leave_exchange(access);
	return false;
}

void
mark_group(ExchangeAccess *access, uint32 hash, bool for_sure)
{
	FoldExchange *exchange = access->exchange;
	uint32		bit = bit_of(exchange, hash);
	uint32		mask = (uint32) 1 << (bit % 32);

	if ((pg_atomic_fetch_or_u32(marks_of(exchange, false, bit), mask) & mask) != 0 || for_sure)
		pg_atomic_fetch_or_u32(marks_of(exchange, true, bit), mask);
}

void
mark_everything(ExchangeAccess *access)
{
	pg_atomic_write_u32(&access->exchange->everything, 1);
}

bool
others_have_group(const ExchangeAccess *access, uint32 hash)
{
	uint32		bit = bit_of(access->exchange, hash);

	return pg_atomic_read_u32(&access->exchange->everything) != 0 ||
		(pg_atomic_read_u32(marks_of(access->exchange, true, bit)) & ((uint32) 1 << (bit % 32))) != 0;
}

int
n_exchange_parts(const ExchangeAccess *access)
{
	return access->exchange->n_parts;
}

void
send_block(ExchangeAccess *access, int part, MinimalTuple block)
{
	sts_puttuple(access->part[part], NULL, block);
}

/* ----------
 * Waiting
 * ----------
 */

void
await_marks(ExchangeAccess *access)
{
	BarrierArriveAndWait(&access->exchange->barrier, PG_WAIT_EXTENSION);
}

void
await_values(ExchangeAccess *access)
{
	for (int p = 0; p < access->exchange->n_parts; p++)
		sts_end_write(access->part[p]);
	BarrierArriveAndWait(&access->exchange->barrier, PG_WAIT_EXTENSION);
	leave_exchange(access);
}

void
leave_exchange(ExchangeAccess *access)
{
	if (access->taken != NULL)
		sts_end_parallel_scan(access->taken);
	access->taken = NULL;
	if (access->attached)
		BarrierDetach(&access->exchange->barrier);
	access->attached = false;
}

/* ----------
 * What others sent
 * ----------
 */

bool
take_part(ExchangeAccess *access)
{
	FoldExchange *exchange = access->exchange;
	uint32		part;

	if (access->taken != NULL)
		sts_end_parallel_scan(access->taken);
	access->taken = NULL;
	part = pg_atomic_fetch_add_u32(&exchange->next_part, 1);
	if (part >= exchange->n_parts)
		return false;
	access->taken = access->part[part];
	sts_begin_parallel_scan(access->taken);
	return true;
}

MinimalTuple
receive_block(ExchangeAccess *access)
{
	CHECK_FOR_INTERRUPTS();
	return sts_parallel_scan_next(access->taken, NULL);
}

/* ----------
 * What they did
 * ----------
 */

void
tell_usage(ExchangeAccess *access, const FoldUsage *usage)
{
	access->exchange->usage[access->process] = *usage;
}

FoldUsage *
usage_of_processes(const ExchangeAccess *access, int *n_processes)
{
	Size		size = access->exchange->n_processes * sizeof(FoldUsage);

	*n_processes = access->exchange->n_processes;
	return memcpy(palloc(size), access->exchange->usage, size);
}

/*
 * exchange.h
 *		Exchange of groups between the processes of a parallel fold.
 *
 * Every process folds its share of the rows into its own table, marks its groups and claims them.  When all
 * are done, each sends the values of the groups that others have too: to the process that has most steps of
 * the group, which adds them to its own, or, if any process ran out of memory, to the part of the keys' hash.
 * When all have sent, each returns its groups, then takes the next unmerged part and merges it, until no part
 * is left.  No process waits for another after it has returned a row: the reader of the rows may be one of
 * the processes it would wait for.
 */
#ifndef STEPADV_GROUP_FOLD_EXCHANGE_H
#define STEPADV_GROUP_FOLD_EXCHANGE_H

#include "access/parallel.h"
#include "nodes/execnodes.h"

#include "plan/fold/marks.h"

typedef struct FoldExchange FoldExchange;	/* in shared memory */
typedef struct ExchangeAccess ExchangeAccess;	/* access of one process */

/* What a process did, for EXPLAIN ANALYZE. */
typedef struct FoldUsage
{
	bool		took_part;
	Size		peak_memory;
	uint64		n_spilled;		/* groups that left the table, */
	uint64		n_exchanged;	/* of them sent to other processes */
	uint64		n_rows;			/* rows that it read in the last scan */
	uint64		n_scattered;	/* rows that were written to a part directly */
	int			n_parts;		/* 0: none besides those of the exchange */
	int			n_on_disk;		/* of them */
	int64		disk_kb;
} FoldUsage;

/* Shared memory: its size; created by the leader; emptied by it for a rescan, without workers; opened by a worker. */
extern Size exchange_size(int n_processes, int expected_groups, double bytes);
extern ExchangeAccess *create_exchange(FoldExchange *exchange, int n_processes, int expected_groups, double bytes, dsm_segment *segment);
extern void renew_exchange(ExchangeAccess *access);
extern ExchangeAccess *find_exchange(FoldExchange *exchange);

/* Join the exchange.  False: all rows are folded already, and only merging is left. */
extern bool join_exchange(ExchangeAccess *access);

/* Between join_exchange and await_marks, each process marks and claims its groups and reports its usage. */
extern GroupMarks *exchange_marks(const ExchangeAccess *access);
extern void claim_group(ExchangeAccess *access, uint32 hash, uint64 n_steps);

/*
 * Between join_exchange and await_values, each process sends blocks of records.  Parts up to n_exchange_parts
 * are parts of the hashes (parts.h) whose groups other processes may have too; each further part is for one
 * process.
 */
extern int	n_exchange_parts(const ExchangeAccess *access);
extern int	n_sent_parts(const ExchangeAccess *access);
extern void send_block(ExchangeAccess *access, int part, const void *block);

/* Wait until all processes have marked their groups. */
extern void await_marks(ExchangeAccess *access);

/* After that: the process that merges the groups with this hash, or -1 for any process that takes the part. */
extern int	owner_of_group(const ExchangeAccess *access, uint32 hash);
extern bool is_own_group(const ExchangeAccess *access, uint32 hash);

/* The average number of rows per process, of those read so far. */
extern double rows_a_process(const ExchangeAccess *access);

/* Wait until all processes have sent their blocks. */
extern void await_values(ExchangeAccess *access);

/* Take the blocks sent to this process, or the next part; then read its blocks until NULL. */
extern void take_own_part(ExchangeAccess *access);
extern bool take_part(ExchangeAccess *access);
extern void *receive_block(ExchangeAccess *access);

/* Call before the shared memory or the query ends. */
extern void leave_exchange(ExchangeAccess *access);

/* Report the usage of this process; a copy of every process's usage, the leader's first. */
extern void tell_usage(ExchangeAccess *access, const FoldUsage *usage);
extern FoldUsage *usage_of_processes(const ExchangeAccess *access, int *n_processes);

#endif							/* STEPADV_GROUP_FOLD_EXCHANGE_H */

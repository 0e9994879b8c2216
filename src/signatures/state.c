/*
 * state.c
 *		state_signature and state_hash: what an agent has done so far.
 *
 * The record of a history is a set of file operations and a set of flags with counts.  Both aggregates share
 * one state: a hash table of the record's atoms, and the sum (modulo 2^64) of the atoms' hashes, which is
 * updated as atoms are added.  A sum does not depend on the order, costs O(1) per step, and can be recomputed
 * in SQL:
 *
 *	  state_hash = signature_hash('||') + sum of signature_hash(atom)
 *
 * with atoms path:op for files, and |name=count (|name where flags are a set) for flags.  As window
 * aggregates with a frame that only grows, they take one transition per step; the final functions change
 * nothing.
 */
#include "postgres.h"

#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "aggregate.h"
#include "compat.h"
#include "hash.h"
#include "parameters.h"
#include "signatures/signature.h"

PG_FUNCTION_INFO_V1(stepadv_state_accum);
PG_FUNCTION_INFO_V1(stepadv_state_signature);
PG_FUNCTION_INFO_V1(stepadv_state_hash);

#define EMPTY_STATE "||"
#define MAX_SPLIT_BUCKETS 1000	/* of one view that is counted by bucket */

typedef struct Atom
{
	Span		key;			/* path:op, or |name */
	int32		path_length;	/* -1: a flag */
	int64		count;			/* of a flag */
	char		status;
} Atom;

static inline uint32
hash_key(Span key)
{
	return (uint32) hash_bytes_64(key.data, key.length);
}

#define SH_PREFIX atoms
#define SH_ELEMENT_TYPE Atom
#define SH_KEY_TYPE Span
#define SH_KEY key
#define SH_HASH_KEY(tb, key) look_on_the_way(hash_key(key))
#define SH_EQUAL(tb, a, b) span_equal(a, b)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "hash_table.h"

/* Which flags are kept, in the order of flag_modes. */
typedef enum FlagMode
{
	FLAGS_COUNT,				/* all, with their counts */
	FLAGS_SET,					/* all, by name only */
	FLAGS_PAPER					/* with counts, those of RTMC's equation 13 */
} FlagMode;

static const char *const flag_modes[] = {"count", "set", "paper", NULL};

typedef struct Record
{
	MemoryContext context;
	atoms_hash *atoms;
	uint64		sum;			/* of the atoms' hashes */
	FlagMode	flags;
	bool		views_by_bucket;
	StringInfoData path;
	StringInfoData op;
	StringInfoData key;
} Record;

static Record *
record_make(MemoryContext context, FlagMode flags, bool views_by_bucket)
{
	MemoryContext caller = MemoryContextSwitchTo(context);
	Record	   *record = palloc0(sizeof(Record));

	record->context = context;
	record->atoms = atoms_create(context, 16, NULL);
	record->flags = flags;
	record->views_by_bucket = views_by_bucket;
	initStringInfo(&record->path);
	initStringInfo(&record->op);
	initStringInfo(&record->key);
	MemoryContextSwitchTo(caller);
	return record;
}

static uint64
flag_hash(Record *record, const Atom *atom)
{
	char		number[32];
	int			length;

	if (record->flags == FLAGS_SET)
		return hash_of_text(atom->key.data, atom->key.length);
	length = snprintf(number, sizeof(number), "=" INT64_FORMAT, atom->count);
	resetStringInfo(&record->op);
	appendBinaryStringInfo(&record->op, atom->key.data, atom->key.length);
	appendBinaryStringInfo(&record->op, number, length);
	return hash_of_text(record->op.data, record->op.len);
}

/* Add a file operation, or increment a flag; the key is copied if it is new. */
static void
record_add(Record *record, Span key, int32 path_length)
{
	bool		found;
	Atom	   *atom = atoms_insert(record->atoms, key, &found);

	if (!found)
	{
		MemoryContext caller = MemoryContextSwitchTo(record->context);

		atom->key = span_keep(key);
		MemoryContextSwitchTo(caller);
		atom->path_length = path_length;
		atom->count = 1;
		record->sum += path_length >= 0 ? hash_of_text(atom->key.data, atom->key.length) : flag_hash(record, atom);
	}
	else if (path_length < 0)
	{
		record->sum -= flag_hash(record, atom);
		atom->count++;
		record->sum += flag_hash(record, atom);
	}
}

/* Add an operation on the file of record->path. */
static void
add_operation(Record *record, const char *op, int length)
{
	resetStringInfo(&record->key);
	appendBinaryStringInfo(&record->key, record->path.data, record->path.len);
	appendStringInfoChar(&record->key, ':');
	appendBinaryStringInfo(&record->key, op, length);
	record_add(record, span_make(record->key.data, record->key.len), record->path.len);
}

/* Add V[a-b] as V[a], …, V[b]; false if it is another operation, or has too many buckets. */
static bool
add_buckets(Record *record)
{
	Span		op = span_make(record->op.data, record->op.len);
	int64		first;
	int64		last;
	const char *dash;

	if (!span_starts(op, "V[") || (dash = memchr(op.data, '-', op.length)) == NULL)
		return false;
	first = span_number(span_from(op, 2));
	last = span_number(span_from(op, dash + 1 - op.data));
	if (first < 0 || last < first || last - first >= MAX_SPLIT_BUCKETS)
		return false;
	for (; first <= last; first++)
	{
		char		bucket[32];
		int			length = snprintf(bucket, sizeof(bucket), "V[" INT64_FORMAT "]", first);

		add_operation(record, bucket, length);
	}
	return true;
}

/* The record of the rows so far; all rows must have the same flags and views. */
static Record *
record_of_row(FunctionCallInfo fcinfo)
{
	MemoryContext context = aggregate_context(fcinfo);
	Record	   *record = PG_ARGISNULL(0) ? NULL : (Record *) PG_GETARG_POINTER(0);
	FlagMode	flags = FLAGS_COUNT;
	bool		views_by_bucket = false;

	if (PG_NARGS() > 2 && !PG_ARGISNULL(2))
		flags = choice_of_text("flags", flag_modes, PG_GETARG_DATUM(2));
	if (PG_NARGS() > 3 && !PG_ARGISNULL(3))
		views_by_bucket = choice_of_text("views", CHOICE_LIST("range", "bucket"), PG_GETARG_DATUM(3)) == 1;
	if (record == NULL)
		return record_make(context, flags, views_by_bucket);
	if (record->flags != flags || record->views_by_bucket != views_by_bucket)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("flags and views must be the same for all rows of a state")));
	return record;
}

/* Is it a thought or a test with its result?  The paper counts these beside files. */
static bool
is_flag_of_paper(Span name)
{
	return span_is(name, "think") || span_is(name, "test_ok") || span_is(name, "test_err");
}

/* Add one effect to the record. */
static void
record_effect(Record *record, Span signature)
{
	ParsedSignature parsed;

	parse_signature(signature, &parsed);
	switch (signature_trace(&parsed, &record->path, &record->op))
	{
		case TRACE_NONE:
			break;
		case TRACE_FILE:
			if (!record->views_by_bucket || !add_buckets(record))
				add_operation(record, record->op.data, record->op.len);
			break;
		case TRACE_FLAG:
			if (record->flags == FLAGS_PAPER && !is_flag_of_paper(span_make(record->op.data, record->op.len)))
				break;
			resetStringInfo(&record->key);
			appendStringInfoChar(&record->key, '|');
			appendBinaryStringInfo(&record->key, record->op.data, record->op.len);
			record_add(record, span_make(record->key.data, record->key.len), -1);
			break;
	}
}

/* state_accum(internal, action_signature text [, flags text, views text]) */
Datum
stepadv_state_accum(PG_FUNCTION_ARGS)
{
	Record	   *record = record_of_row(fcinfo);
	text	   *value;
	Span		rest;
	Span		effect;

	/* A step without an action changes nothing. */
	if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(record);

	value = PG_GETARG_TEXT_PP(1);
	rest = span_make(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
	while (next_signature(&rest, &effect))
	{
		CHECK_FOR_INTERRUPTS();
		record_effect(record, effect);
	}
	PG_RETURN_POINTER(record);
}

static int
compare_bytes(const char *a, int a_length, const char *b, int b_length)
{
	int			order = memcmp(a, b, Min(a_length, b_length));

	return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

/* Files before flags; files by path, then by operation. */
static int
compare_atoms(const void *left, const void *right)
{
	const Atom *a = *(Atom *const *) left;
	const Atom *b = *(Atom *const *) right;
	int			order;

	CHECK_FOR_INTERRUPTS();
	if ((a->path_length < 0) != (b->path_length < 0))
		return a->path_length < 0 ? 1 : -1;
	if (a->path_length < 0)
		return compare_bytes(a->key.data, a->key.length, b->key.data, b->key.length);
	order = compare_bytes(a->key.data, a->path_length, b->key.data, b->path_length);
	if (order != 0)
		return order;
	return compare_bytes(a->key.data + a->path_length, a->key.length - a->path_length,
						 b->key.data + b->path_length, b->key.length - b->path_length);
}

Datum
stepadv_state_signature(PG_FUNCTION_ARGS)
{
	Record	   *record;
	StringInfoData out;
	atoms_iterator iterator;
	Atom	  **sorted;
	Atom	   *atom;
	Atom	   *previous = NULL;
	uint32		n = 0;
	bool		in_flags = false;

	(void) aggregate_context(fcinfo);
	/* No rows: the root state, not NULL. */
	if (PG_ARGISNULL(0))
		PG_RETURN_TEXT_P(cstring_to_text(EMPTY_STATE));
	record = (Record *) PG_GETARG_POINTER(0);
	sorted = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Atom *) * (Size) (record->atoms->members + 1));
	atoms_start_iterate(record->atoms, &iterator);
	while ((atom = atoms_iterate(record->atoms, &iterator)) != NULL)
		sorted[n++] = atom;
	qsort(sorted, n, sizeof(Atom *), compare_atoms);

	initStringInfo(&out);
	for (uint32 i = 0; i < n; i++)
	{
		atom = sorted[i];
		CHECK_FOR_INTERRUPTS();
		if (atom->path_length < 0)
		{
			if (!in_flags)
				appendStringInfoString(&out, EMPTY_STATE);
			else
				appendStringInfoChar(&out, '+');
			in_flags = true;
			appendBinaryStringInfo(&out, atom->key.data + 1, atom->key.length - 1);
			if (record->flags != FLAGS_SET)
				appendStringInfo(&out, "=" INT64_FORMAT, atom->count);
			continue;
		}
		if (previous != NULL && previous->path_length == atom->path_length &&
			memcmp(previous->key.data, atom->key.data, atom->path_length) == 0)
		{
			appendStringInfoChar(&out, '+');
			appendBinaryStringInfo(&out, atom->key.data + atom->path_length + 1, atom->key.length - atom->path_length - 1);
		}
		else
		{
			if (previous != NULL)
				appendStringInfoChar(&out, '|');
			appendBinaryStringInfo(&out, atom->key.data, atom->key.length);
		}
		previous = atom;
	}
	if (!in_flags)
		appendStringInfoString(&out, EMPTY_STATE);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

Datum
stepadv_state_hash(PG_FUNCTION_ARGS)
{
	uint64		hash = (uint64) hash_bytes_64(EMPTY_STATE, strlen(EMPTY_STATE));

	(void) aggregate_context(fcinfo);
	if (!PG_ARGISNULL(0))
		hash += ((Record *) PG_GETARG_POINTER(0))->sum;
	PG_RETURN_INT64((int64) hash);
}

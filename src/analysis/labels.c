/*
 * labels.c
 *		labelled_calls: what is known of the calls of a group as one value, with which
 *		group_digest counts the group's steps by category and sums their tokens.
 *
 * The value is read within the query that makes it, and never stored: a LabelsHead,
 * the labels, the lengths of the categories and their bytes.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "aggregate.h"
#include "arrays.h"
#include "analysis/labels.h"
#include "compat.h"
#include "hash.h"
#include "ids.h"

PG_FUNCTION_INFO_V1(stepadv_labelled_calls_trans);
PG_FUNCTION_INFO_V1(stepadv_labelled_calls_final);

typedef struct LabelsHead
{
	int64		n;
	int64		n_categories;
} LabelsHead;

#define FEW_CATEGORIES 8

typedef struct LabelsState
{
	MemoryContext context;
	Labels		labels;
	int64		room;
	uint32		room_for_categories;
	ids_hash   *seen;			/* numbers of categories, by the hash of their bytes */
} LabelsState;

/* ----------
 * Collecting the calls
 * ----------
 */

static LabelsState *
begin_labels(MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	LabelsState *state = palloc0(sizeof(LabelsState));

	state->context = context;
	state->room = 64;
	state->labels.labels = palloc(sizeof(Label) * state->room);
	state->room_for_categories = FEW_CATEGORIES;
	state->labels.categories = palloc(sizeof(Category) * state->room_for_categories);
	state->seen = ids_create(context, FEW_CATEGORIES, NULL);
	MemoryContextSwitchTo(old);
	return state;
}

static uint32
add_category(LabelsState *state, const char *bytes, size_t length)
{
	Labels	   *labels = &state->labels;
	char	   *copy = MemoryContextAlloc(state->context, Max(length, 1));

	if (labels->n_categories == PG_UINT32_MAX >> N_CALL_FLAGS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a group has too many categories of calls")));
	if (labels->n_categories == state->room_for_categories)
	{
		state->room_for_categories *= 2;
		labels->categories = repalloc_huge(labels->categories, sizeof(Category) * state->room_for_categories);
	}
	memcpy(copy, bytes, length);
	labels->categories[labels->n_categories++] = (Category) {copy, length};
	return labels->n_categories;
}

/* The number of a category, from 1. */
static uint32
number_category(LabelsState *state, const char *bytes, size_t length)
{
	bool		found;
	IdEntry    *seen = ids_insert(state->seen, hash_bytes_64(bytes, length), &found);

	if (!found)
		seen->number = add_category(state, bytes, length);
	return seen->number;
}

/*
 * labelled_calls_trans(internal, key bigint, number integer, category text, ok boolean,
 * grounded boolean, n_tokens integer)
 */
Datum
stepadv_labelled_calls_trans(PG_FUNCTION_ARGS)
{
	LabelsState *state = PG_ARGISNULL(0) ? begin_labels(aggregate_context(fcinfo)) : (LabelsState *) PG_GETARG_POINTER(0);
	Labels	   *labels = &state->labels;
	Label	   *label;
	uint32		category = 0;
	uint32		flags = 0;

	/* No step has this key, or there is nothing to record. */
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2) || (PG_ARGISNULL(3) && PG_ARGISNULL(4) && PG_ARGISNULL(5) && PG_ARGISNULL(6)))
		PG_RETURN_POINTER(state);
	if (!PG_ARGISNULL(3))
	{
		const text *given = PG_GETARG_TEXT_PP(3);

		category = number_category(state, VARDATA_ANY(given), VARSIZE_ANY_EXHDR(given));
		if ((const void *) given != (const void *) PG_GETARG_POINTER(3))
			pfree((void *) given);
	}
	if (!PG_ARGISNULL(4))
		flags |= CALL_JUDGED | (PG_GETARG_BOOL(4) ? 0 : CALL_FAILED);
	if (!PG_ARGISNULL(5))
		flags |= CALL_LOOKED_AT | (PG_GETARG_BOOL(5) ? CALL_GROUNDED : 0);
	if (labels->n == state->room)
	{
		state->room *= 2;
		labels->labels = repalloc_huge(labels->labels, sizeof(Label) * state->room);
	}
	label = &labels->labels[labels->n++];
	label->key = PG_GETARG_INT64(1);
	label->number = PG_GETARG_INT32(2);
	label->code = category << N_CALL_FLAGS | flags;
	label->n_tokens = PG_ARGISNULL(6) ? -1 : PG_GETARG_INT32(6);
	PG_RETURN_POINTER(state);
}

/* ----------
 * The value
 * ----------
 */

static int
compare_bytes(const Category *a, const Category *b)
{
	int			result = memcmp(a->bytes, b->bytes, Min(a->length, b->length));

	return result != 0 ? result : (a->length > b->length) - (a->length < b->length);
}

static int
compare_categories(const void *a, const void *b, void *categories)
{
	return compare_bytes((const Category *) categories + *(const uint32 *) a, (const Category *) categories + *(const uint32 *) b);
}

static int
compare_labels(const void *a, const void *b)
{
	const Label *one = a;
	const Label *other = b;

	CHECK_FOR_INTERRUPTS();
	if (one->key != other->key)
		return one->key < other->key ? -1 : 1;
	if (one->number != other->number)
		return one->number < other->number ? -1 : 1;
	if (one->code != other->code)
		return one->code < other->code ? -1 : 1;
	return (one->n_tokens > other->n_tokens) - (one->n_tokens < other->n_tokens);
}

/* Sort categories by their bytes, and keep one label per step, so that the order of input does not matter. */
static Labels
in_order(const Labels *labels)
{
	Labels		sorted = {.n_categories = labels->n_categories};
	uint32	   *order = ALLOCATE_ARRAY(uint32, labels->n_categories);
	uint32	   *number = ALLOCATE_ARRAY(uint32, labels->n_categories + 1);
	bool		is_sorted = true;

	for (uint32 c = 0; c < labels->n_categories; c++)
		order[c] = c;
	qsort_arg(order, labels->n_categories, sizeof(uint32), compare_categories, labels->categories);
	sorted.categories = ALLOCATE_ARRAY(Category, labels->n_categories);
	number[0] = 0;
	for (uint32 c = 0; c < labels->n_categories; c++)
	{
		sorted.categories[c] = labels->categories[order[c]];
		number[order[c] + 1] = c + 1;
	}
	sorted.labels = ALLOCATE_ARRAY(Label, labels->n);
	for (int64 i = 0; i < labels->n; i++)
	{
		sorted.labels[i] = labels->labels[i];
		sorted.labels[i].code = number[labels->labels[i].code >> N_CALL_FLAGS] << N_CALL_FLAGS | (labels->labels[i].code & ((1 << N_CALL_FLAGS) - 1));
		is_sorted &= i == 0 || compare_labels(&sorted.labels[i - 1], &sorted.labels[i]) < 0;
	}
	CHECK_FOR_INTERRUPTS();
	if (!is_sorted)
		qsort(sorted.labels, labels->n, sizeof(Label), compare_labels);
	for (int64 i = 0; i < labels->n; i++)
	{
		if (sorted.n == 0 || sorted.labels[i].key != sorted.labels[sorted.n - 1].key || sorted.labels[i].number != sorted.labels[sorted.n - 1].number)
			sorted.labels[sorted.n++] = sorted.labels[i];
	}
	return sorted;
}

/* The value of type labelled_calls. */
Datum
stepadv_labelled_calls_final(PG_FUNCTION_ARGS)
{
	Labels		labels;
	LabelsHead	head;
	size_t		size;
	bytea	   *result;
	char	   *to;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	labels = in_order(&((LabelsState *) PG_GETARG_POINTER(0))->labels);
	head.n = labels.n;
	head.n_categories = labels.n_categories;
	size = VARHDRSZ + sizeof(LabelsHead) + sizeof(Label) * labels.n + sizeof(uint64) * labels.n_categories;
	for (uint32 c = 0; c < labels.n_categories; c++)
		size += labels.categories[c].length;
	if (!AllocSizeIsValid(size))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a group has too many calls to count them by category"),
				 errdetail("Of " INT64_FORMAT " calls the categories take more than 1 GB.", labels.n)));
	result = palloc(size);
	SET_VARSIZE(result, size);
	to = VARDATA(result);
	memcpy(to, &head, sizeof(head));
	to += sizeof(head);
	memcpy(to, labels.labels, sizeof(Label) * labels.n);
	to += sizeof(Label) * labels.n;
	for (uint32 c = 0; c < labels.n_categories; c++, to += sizeof(uint64))
		memcpy(to, &(uint64) {labels.categories[c].length}, sizeof(uint64));
	for (uint32 c = 0; c < labels.n_categories; to += labels.categories[c++].length)
		memcpy(to, labels.categories[c].bytes, labels.categories[c].length);
	PG_RETURN_BYTEA_P(result);
}

/* ----------
 * Reading the value
 * ----------
 */

static _Noreturn void
refuse_labels(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("labels of calls were not made by labelled_calls")));
}

Labels *
open_labels(struct varlena *given)
{
	Labels	   *labels = palloc0(sizeof(Labels));
	LabelsHead	head;
	struct varlena *bytes;
	const char *from;
	size_t		left;
	char	   *copy;

	if (given == NULL)
		return labels;
	bytes = pg_detoast_datum_packed(given);
	from = VARDATA_ANY(bytes);
	left = VARSIZE_ANY_EXHDR(bytes);
	if (left < sizeof(head))
		refuse_labels();
	memcpy(&head, from, sizeof(head));
	from += sizeof(head);
	left -= sizeof(head);
	if (head.n < 0 || head.n > (int64) (left / sizeof(Label)) || head.n_categories < 0 ||
		head.n_categories > (int64) ((left - sizeof(Label) * head.n) / sizeof(uint64)))
		refuse_labels();
	labels->n = head.n;
	labels->labels = ALLOCATE_ARRAY(Label, head.n);
	memcpy(labels->labels, from, sizeof(Label) * head.n);
	from += sizeof(Label) * head.n;
	left -= sizeof(Label) * head.n + sizeof(uint64) * head.n_categories;
	labels->n_categories = head.n_categories;
	labels->categories = ALLOCATE_ARRAY(Category, head.n_categories);
	copy = palloc(Max(left, 1));
	memcpy(copy, from + sizeof(uint64) * head.n_categories, left);
	for (uint32 c = 0; c < labels->n_categories; c++)
	{
		uint64		length;

		memcpy(&length, from + sizeof(uint64) * c, sizeof(uint64));
		if (length > left)
			refuse_labels();
		labels->categories[c] = (Category) {copy, length};
		copy += length;
		left -= length;
	}
	for (int64 i = 0; i < labels->n; i++)
	{
		if (labels->labels[i].code >> N_CALL_FLAGS > labels->n_categories)
			refuse_labels();
	}
	return labels;
}

const Label *
search_label(Labels *labels, int64 key, int32 number)
{
	static const Label none = {.n_tokens = -1};
	Label		wanted = {.key = key, .number = number, .n_tokens = -1};
	int64		from = 0;
	int64		to = labels->n;

	while (from < to)
	{
		int64		middle = from + (to - from) / 2;

		if (compare_labels(&labels->labels[middle], &wanted) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == labels->n || labels->labels[from].key != key || labels->labels[from].number != number)
		return &none;
	labels->next = from + 1;
	return &labels->labels[from];
}

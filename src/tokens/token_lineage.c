/*
 * token_lineage.c
 *		token_lineage: the tokens that the prompts and responses of a group's steps share;
 *		step_lineage(token_lineage): the same as rows.
 *
 * Each step's prompt || response is inserted into one trie of the group, in any order, and the
 * step records the node at its end.  The number of tokens that a step shares with the previous
 * step is the depth of their last common node.  A step's new tokens are on the path from its
 * node up to the first node that an earlier step of the rollout passed.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "aggregate.h"
#include "arrays.h"
#include "compat.h"
#include "rows.h"
#include "tokens/trie.h"

PG_FUNCTION_INFO_V1(stepadv_token_lineage_trans);
PG_FUNCTION_INFO_V1(stepadv_lenient_token_lineage_trans);
PG_FUNCTION_INFO_V1(stepadv_token_lineage_final);
PG_FUNCTION_INFO_V1(stepadv_step_lineage);

/* The arrays have an entry per step, by rollout_id and step_no; -1: unknown. */
enum
{
	LINEAGE_N_ROLLOUTS,
	LINEAGE_N_STEPS,
	LINEAGE_N_TOKENS,
	LINEAGE_N_UNIQUE_TOKENS,
	LINEAGE_STEP_IDS,
	LINEAGE_ROLLOUT_IDS,
	LINEAGE_STEP_NOS,
	LINEAGE_PROMPTS,			/* tokens of the prompt */
	LINEAGE_RESPONSES,			/* tokens of the response */
	LINEAGE_SHARED,				/* prefix of the prompt that the previous step has, too */
	LINEAGE_NEW_TOKENS,			/* that no earlier step of the rollout has */
	LINEAGE_RUNS,
	N_LINEAGE
};

/* With so many, the value has nearly 1 GB. */
#define MAX_STEPS (25 * 1000 * 1000)

#define NOT_GIVEN (-1)

typedef struct TokenStep
{
	int64		step_id;
	int64		rollout_id;
	int32		step_no;
	int32		prompt;			/* number of tokens; NOT_GIVEN: unknown */
	int32		response;
	uint32		node;
	bool		defect;			/* invalid, an error of token_lineage */
} TokenStep;

typedef struct Lineage
{
	TokenTrie	trie;
	TokenStep  *steps;
	uint32		n_steps;
	uint32		steps_room;
	bool		lenient;
	int32	   *narrowed;		/* room for bigint ids as integers */
	uint32		narrowed_room;
} Lineage;

static Lineage *
make_lineage(MemoryContext context, bool lenient)
{
	Lineage    *lineage = MemoryContextAllocZero(context, sizeof(Lineage));

	trie_init(&lineage->trie, context);
	lineage->steps_room = 16;
	lineage->steps = MemoryContextAlloc(context, lineage->steps_room * sizeof(TokenStep));
	lineage->lenient = lenient;
	return lineage;
}

static TokenStep *
add_step(Lineage *lineage)
{
	if (lineage->n_steps == lineage->steps_room)
	{
		if (lineage->n_steps >= MAX_STEPS)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("the tokens of more than %d steps cannot be compared at once", MAX_STEPS)));
		lineage->steps_room = Min(lineage->steps_room * 2, MAX_STEPS);
		lineage->steps = repalloc_huge(lineage->steps, lineage->steps_room * sizeof(TokenStep));
	}
	return &lineage->steps[lineage->n_steps++];
}

/* ----------
 * Reading arrays
 * ----------
 */

/* Raise the error for an invalid array of token ids; returns false in a lenient state. */
static bool
refuse_tokens(const Lineage *lineage, const TokenStep *step, const char *name, const char *what, int code)
{
	if (!lineage->lenient)
		ereport(ERROR,
				(errcode(code),
				 errmsg("%s of rollout " INT64_FORMAT ", step %d %s", name, step->rollout_id, step->step_no, what)));
	return false;
}

/* Convert bigint ids to integer, in lineage->narrowed; false if one is out of range. */
static bool
narrow(Lineage *lineage, const int64 *ids, uint32 n)
{
	if (n > lineage->narrowed_room)
	{
		if (lineage->narrowed != NULL)
			pfree(lineage->narrowed);
		lineage->narrowed = MemoryContextAllocHuge(lineage->trie.context, (Size) n * sizeof(int32));
		lineage->narrowed_room = n;
	}
	for (uint32 i = 0; i < n; i++)
	{
		if (ids[i] < PG_INT32_MIN || ids[i] > PG_INT32_MAX)
			return false;
		lineage->narrowed[i] = (int32) ids[i];
	}
	return true;
}

/* Insert the ids of a step's first or second array; false if they are invalid. */
static bool
insert_array(Lineage *lineage, const TokenStep *step, const char *name, ArrayType *array, bool first, TriePlace *place, int32 *length)
{
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	const int32 *ids = (const int32 *) ARR_DATA_PTR(array);

	if (ARR_ELEMTYPE(array) != INT4OID && ARR_ELEMTYPE(array) != INT8OID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s must be integer[] or bigint[], not %s[]", name, format_type_be(ARR_ELEMTYPE(array)))));
	if (ARR_NDIM(array) > 1)
		return refuse_tokens(lineage, step, name, "have more than one dimension", ERRCODE_ARRAY_SUBSCRIPT_ERROR);
	if (ARR_HASNULL(array) && array_contains_nulls(array))
		return refuse_tokens(lineage, step, name, "must not contain nulls", ERRCODE_NULL_VALUE_NOT_ALLOWED);
	if (ARR_ELEMTYPE(array) == INT8OID)
	{
		if (!narrow(lineage, (const int64 *) ARR_DATA_PTR(array), n))
			return refuse_tokens(lineage, step, name, "have an id that is no integer", ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE);
		ids = lineage->narrowed;
	}
	if (first)
		trie_begin_sequence(&lineage->trie, place, ids, n);
	else
		trie_continue_sequence(&lineage->trie, place, ids, n);
	*length = n;
	return true;
}

/* Arguments after the state. */
enum
{
	ARG_STEP_ID = 1,
	ARG_ROLLOUT_ID,
	ARG_STEP_NO,
	ARG_PROMPT,
	ARG_RESPONSE
};

/* Error for a step without rollout_id or step_id; not called for a lenient state. */
static void
check_ids(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(ARG_ROLLOUT_ID))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("rollout_id must not be null")));
	if (PG_ARGISNULL(ARG_STEP_ID))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("step_id of rollout " INT64_FORMAT ", step %d must not be null",
						PG_GETARG_INT64(ARG_ROLLOUT_ID), PG_GETARG_INT32(ARG_STEP_NO))));
}

/*
 * token_lineage(step_id, rollout_id, step_no, prompt_token_ids, response_token_ids):
 * rows without a step_no are ignored.
 */
static Datum
add_row(FunctionCallInfo fcinfo, bool lenient)
{
	MemoryContext context = aggregate_context(fcinfo);
	Lineage    *lineage = PG_ARGISNULL(0) ? NULL : (Lineage *) PG_GETARG_POINTER(0);
	TokenStep  *step;
	TriePlace	place;

	if (PG_ARGISNULL(ARG_STEP_NO) || (PG_ARGISNULL(ARG_ROLLOUT_ID) && lenient))
	{
		if (lineage == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(lineage);
	}
	if (!lenient)
		check_ids(fcinfo);
	if (lineage == NULL)
		lineage = make_lineage(context, lenient);
	step = add_step(lineage);
	*step = (TokenStep) {.rollout_id = PG_GETARG_INT64(ARG_ROLLOUT_ID), .step_no = PG_GETARG_INT32(ARG_STEP_NO), .prompt = NOT_GIVEN, .response = NOT_GIVEN};
	step->step_id = PG_ARGISNULL(ARG_STEP_ID) ? 0 : PG_GETARG_INT64(ARG_STEP_ID);
	step->defect = PG_ARGISNULL(ARG_STEP_ID);
	if (!PG_ARGISNULL(ARG_PROMPT) && !PG_ARGISNULL(ARG_RESPONSE))
	{
		if (insert_array(lineage, step, "prompt_token_ids", PG_GETARG_ARRAYTYPE_P(ARG_PROMPT), true, &place, &step->prompt))
		{
			step->defect |= !insert_array(lineage, step, "response_token_ids", PG_GETARG_ARRAYTYPE_P(ARG_RESPONSE), false, &place, &step->response);
			step->node = trie_end_sequence(&lineage->trie, &place);
		}
		else
			step->defect = true;
	}
	PG_RETURN_POINTER(lineage);
}

Datum
stepadv_token_lineage_trans(PG_FUNCTION_ARGS)
{
	return add_row(fcinfo, false);
}

Datum
stepadv_lenient_token_lineage_trans(PG_FUNCTION_ARGS)
{
	return add_row(fcinfo, true);
}

/* ----------
 * The value
 * ----------
 */

static int
compare_steps(const void *a, const void *b)
{
	const TokenStep *one = a;
	const TokenStep *other = b;

	CHECK_FOR_INTERRUPTS();
	if (one->rollout_id != other->rollout_id)
		return one->rollout_id < other->rollout_id ? -1 : 1;
	return (one->step_no > other->step_no) - (one->step_no < other->step_no);
}

/* By step, in the order of the value. */
typedef struct LineageColumns
{
	int64	   *step_id;
	int64	   *rollout_id;
	int32	   *step_no;
	int32	   *prompt;
	int32	   *response;
	int32	   *shared;
	int32	   *new_tokens;
	int32	   *run;
	int64		n_steps;		/* whose tokens are known */
	int64		n_rollouts;
	int64		n_tokens;
	int64		n_unique;
} LineageColumns;

/* Whether one of a rollout's steps is invalid; then none of them counts. */
static bool
has_defect(const Lineage *lineage, uint32 first, uint32 end)
{
	for (uint32 s = first; s < end; s++)
	{
		if (lineage->steps[s].defect)
			return true;
		if (s == first || lineage->steps[s].step_no != lineage->steps[s - 1].step_no)
			continue;
		if (!lineage->lenient)
			ereport(ERROR,
					(errcode(ERRCODE_CARDINALITY_VIOLATION),
					 errmsg("rollout " INT64_FORMAT " has two steps with step_no %d", lineage->steps[s].rollout_id, lineage->steps[s].step_no)));
		return true;
	}
	return false;
}

/* Mark the path up to a node of this rollout; returns its tokens, and adds those of unmarked nodes to *n_unique. */
static int32
mark_path(const Lineage *lineage, uint32 *marks, uint32 mark, uint32 node, int64 *n_unique)
{
	int32		n = 0;

	for (; node != TRIE_ROOT && marks[node] != mark; node = lineage->trie.nodes[node].parent)
	{
		uint32		length = edge_length(&lineage->trie, node);

		n += length;
		if (marks[node] == 0)
			*n_unique += length;
		marks[node] = mark;
	}
	return n;
}

static void
compare_rollout(const Lineage *lineage, uint32 first, uint32 end, uint32 *marks, uint32 mark, LineageColumns *columns)
{
	bool		defect = has_defect(lineage, first, end);
	int32		run = 0;
	bool		any = false;

	for (uint32 s = first; s < end; s++)
	{
		const TokenStep *step = &lineage->steps[s];
		const TokenStep *before = s > first ? step - 1 : NULL;
		bool		known = !defect && step->prompt != NOT_GIVEN;
		bool		comparable = known && before != NULL && before->prompt != NOT_GIVEN;

		CHECK_FOR_INTERRUPTS();
		columns->step_id[s] = step->step_id;
		columns->rollout_id[s] = step->rollout_id;
		columns->step_no[s] = step->step_no;
		columns->prompt[s] = known ? step->prompt : NOT_GIVEN;
		columns->response[s] = known ? step->response : NOT_GIVEN;
		columns->shared[s] = comparable ? Min((int32) trie_shared_depth(&lineage->trie, before->node, step->node), step->prompt) : NOT_GIVEN;
		columns->new_tokens[s] = known ? mark_path(lineage, marks, mark, step->node, &columns->n_unique) : NOT_GIVEN;
		if (known && !(comparable && columns->shared[s] == before->prompt + before->response))
			run++;
		columns->run[s] = known ? run : NOT_GIVEN;
		columns->n_steps += known;
		columns->n_tokens += known ? (int64) step->prompt + step->response : 0;
		any |= known;
	}
	columns->n_rollouts += any;
}

static void
compare_all(Lineage *lineage, LineageColumns *columns)
{
	uint32		n = lineage->n_steps;
	uint32	   *marks = ALLOCATE_ZEROED_ARRAY(uint32, lineage->trie.n_nodes);
	uint32		mark = 0;
	uint32		end;

	*columns = (LineageColumns) {
		.step_id = ALLOCATE_ARRAY(int64, n), .rollout_id = ALLOCATE_ARRAY(int64, n), .step_no = ALLOCATE_ARRAY(int32, n), .prompt = ALLOCATE_ARRAY(int32, n),
		.response = ALLOCATE_ARRAY(int32, n), .shared = ALLOCATE_ARRAY(int32, n), .new_tokens = ALLOCATE_ARRAY(int32, n), .run = ALLOCATE_ARRAY(int32, n)
	};
	qsort(lineage->steps, n, sizeof(TokenStep), compare_steps);
	for (uint32 first = 0; first < n; first = end)
	{
		for (end = first + 1; end < n && lineage->steps[end].rollout_id == lineage->steps[first].rollout_id; end++)
			;
		compare_rollout(lineage, first, end, marks, ++mark, columns);
	}
}

static Datum
array_of(const void *values, uint32 n, Oid type, Size width)
{
	ArrayType  *array = zeroed_vector(type, n, width);

	copy_large(ARR_DATA_PTR(array), values, n * width);
	return PointerGetDatum(array);
}

/* NULL without steps. */
Datum
stepadv_token_lineage_final(PG_FUNCTION_ARGS)
{
	Lineage    *lineage = PG_ARGISNULL(0) ? NULL : (Lineage *) PG_GETARG_POINTER(0);
	LineageColumns columns;
	TupleDesc	desc;
	Datum		values[N_LINEAGE];
	bool		nulls[N_LINEAGE] = {false};

	(void) aggregate_context(fcinfo);
	if (lineage == NULL)
		PG_RETURN_NULL();
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != N_LINEAGE)
		elog(ERROR, "token_lineage is not declared as its C code expects");
	compare_all(lineage, &columns);
	values[LINEAGE_N_ROLLOUTS] = Int64GetDatum(columns.n_rollouts);
	values[LINEAGE_N_STEPS] = Int64GetDatum(columns.n_steps);
	values[LINEAGE_N_TOKENS] = Int64GetDatum(columns.n_tokens);
	values[LINEAGE_N_UNIQUE_TOKENS] = Int64GetDatum(columns.n_unique);
	values[LINEAGE_STEP_IDS] = array_of(columns.step_id, lineage->n_steps, INT8OID, sizeof(int64));
	values[LINEAGE_ROLLOUT_IDS] = array_of(columns.rollout_id, lineage->n_steps, INT8OID, sizeof(int64));
	values[LINEAGE_STEP_NOS] = array_of(columns.step_no, lineage->n_steps, INT4OID, sizeof(int32));
	values[LINEAGE_PROMPTS] = array_of(columns.prompt, lineage->n_steps, INT4OID, sizeof(int32));
	values[LINEAGE_RESPONSES] = array_of(columns.response, lineage->n_steps, INT4OID, sizeof(int32));
	values[LINEAGE_SHARED] = array_of(columns.shared, lineage->n_steps, INT4OID, sizeof(int32));
	values[LINEAGE_NEW_TOKENS] = array_of(columns.new_tokens, lineage->n_steps, INT4OID, sizeof(int32));
	values[LINEAGE_RUNS] = array_of(columns.run, lineage->n_steps, INT4OID, sizeof(int32));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/* ----------
 * The value as rows
 * ----------
 */

/* The entries of an array of the value, one per step. */
static const void *
entries(Datum value, bool isnull, Oid type, uint64 *n_steps)
{
	ArrayType  *array = isnull ? NULL : DatumGetArrayTypeP(value);

	if (array == NULL || ARR_NDIM(array) > 1 || ARR_HASNULL(array) || ARR_ELEMTYPE(array) != type ||
		(*n_steps != PG_UINT64_MAX && *n_steps != (uint64) ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array))))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("lineage was not made by token_lineage"),
				 errdetail("Its arrays have one entry per step and no nulls.")));
	*n_steps = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return ARR_DATA_PTR(array);
}

static void
read_fields(HeapTupleHeader lineage, Datum *values, bool *nulls)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(lineage), HeapTupleHeaderGetTypMod(lineage));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(lineage), .t_data = lineage};

	if (desc->natts != N_LINEAGE)
		elog(ERROR, "token_lineage is not declared as its C code expects");
	heap_deform_tuple(&tuple, desc, values, nulls);
	ReleaseTupleDesc(desc);
}

/* step_lineage(lineage token_lineage) */
Datum
stepadv_step_lineage(PG_FUNCTION_ARGS)
{
	Datum		values[N_LINEAGE];
	bool		nulls[N_LINEAGE];
	const int32 *fields[N_LINEAGE];
	const void *step_id;
	const void *rollout_id;
	uint64		n = PG_UINT64_MAX;
	bool	   *unknown;
	bool	   *alone;
	bool	   *no_difference;
	bool	   *extends;
	int32	   *differs_at;

	read_fields(PG_GETARG_HEAPTUPLEHEADER(0), values, nulls);
	step_id = entries(values[LINEAGE_STEP_IDS], nulls[LINEAGE_STEP_IDS], INT8OID, &n);
	rollout_id = entries(values[LINEAGE_ROLLOUT_IDS], nulls[LINEAGE_ROLLOUT_IDS], INT8OID, &n);
	for (int f = LINEAGE_STEP_NOS; f < N_LINEAGE; f++)
		fields[f] = entries(values[f], nulls[f], INT4OID, &n);
	unknown = ALLOCATE_ARRAY(bool, n);
	alone = ALLOCATE_ARRAY(bool, n);
	no_difference = ALLOCATE_ARRAY(bool, n);
	extends = ALLOCATE_ARRAY(bool, n);
	differs_at = ALLOCATE_ARRAY(int32, n);
	for (uint64 s = 0; s < n; s++)
	{
		int32		shared = fields[LINEAGE_SHARED][s];

		unknown[s] = fields[LINEAGE_PROMPTS][s] < 0;
		alone[s] = unknown[s] || shared < 0 || s == 0;
		extends[s] = !alone[s] && (int64) shared == (int64) fields[LINEAGE_PROMPTS][s - 1] + fields[LINEAGE_RESPONSES][s - 1];
		no_difference[s] = alone[s] || extends[s];
		differs_at[s] = no_difference[s] ? 0 : shared + 1;
	}
	{
		const ResultColumn columns[] = {
			{"step_id", COLUMN_INT8, step_id},
			{"rollout_id", COLUMN_INT8, rollout_id},
			{"step_no", COLUMN_INT4, fields[LINEAGE_STEP_NOS]},
			{"n_prompt_tokens", COLUMN_INT4, fields[LINEAGE_PROMPTS], unknown},
			{"n_response_tokens", COLUMN_INT4, fields[LINEAGE_RESPONSES], unknown},
			{"n_new_tokens", COLUMN_INT4, fields[LINEAGE_NEW_TOKENS], unknown},
			{"extends_previous", COLUMN_BOOL, extends, alone},
			{"differs_at", COLUMN_INT4, differs_at, no_difference},
			{"segment_no", COLUMN_INT4, fields[LINEAGE_RUNS], unknown}
		};

		RETURN_COLUMNS(columns, n);
	}
}

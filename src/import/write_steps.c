/*
 * write_steps.c
 *		What a query gives into the canonical table of steps: the steps themselves, or
 *		rollouts in our words with a list of steps each.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "tcop/dest.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/plancache.h"

#include "arrays.h"
#include "compat.h"
#include "hash.h"
#include "import/json_array.h"
#include "import/json_read.h"
#include "import/row_writer.h"
#include "import/write_steps.h"
#include "jsonb_hash.h"

PG_FUNCTION_INFO_V1(stepadv_write_steps);

/* What a step in our words becomes, behind the columns of its rollout. */
typedef enum StepColumn
{
	STEP_NO,
	TURN,
	OBSERVATION,
	ACTION,
	TOOL,
	ARGS,
	OK,
	NEXT_OBSERVATION,
	STATE,
	ACTION_HASH,
	NEXT_STATE,
	REWARD,
	TURN_REWARD,
	VALUE,
	COST,
	PROMPT_TOKEN_IDS,
	RESPONSE_TOKEN_IDS,
	RESPONSE_MASK,
	ROLLOUT_LOGPROBS,
	METADATA,
	N_STEP_COLUMNS
} StepColumn;

static const struct
{
	const char *name;
	Oid			type;
}			step_columns[] = {
	{"step_no", INT4OID}, {"turn", INT4OID}, {"observation", TEXTOID}, {"action", TEXTOID}, {"tool", TEXTOID}, {"args", JSONBOID},
	{"ok", BOOLOID}, {"next_observation", TEXTOID}, {"state", INT8OID}, {"action_hash", INT8OID}, {"next_state", INT8OID},
	{"reward", FLOAT8OID}, {"turn_reward", FLOAT8OID}, {"value", FLOAT8OID}, {"cost", FLOAT8OID},
	{"prompt_token_ids", INT4ARRAYOID}, {"response_token_ids", INT4ARRAYOID}, {"response_mask", BOOLARRAYOID}, {"rollout_logprobs", FLOAT4ARRAYOID}, {"metadata", JSONBOID}
};

typedef struct StepSaid
{
	JsonbValue	json;
	int32		step_no;
	Words		observation;
} StepSaid;

/* Takes rows of the query. */
typedef struct StepReceiver
{
	DestReceiver receiver;
	SaidSteps	to;
	MemoryContext rollout;		/* as long as the rollout that it is about */
	Datum	   *of_rollout;		/* of the row before, of rows that come alone */
} StepReceiver;

/* ----------
 * Values of a step in our words: what import_problem let through
 * ----------
 */

/* The place of a value that is to be set. */
static Datum *
give(SaidSteps *to, StepColumn column)
{
	to->nulls[to->n_keys + column] = false;
	return &to->values[to->n_keys + column];
}

static void
give_words(SaidSteps *to, StepColumn column, Words words)
{
	if (words.s != NULL)
		*give(to, column) = PointerGetDatum(text_of_words(words));
}

static bool
number_of(const JsonbValue *step, StepColumn column, JsonbValue *number)
{
	if (!json_member(step, step_columns[column].name, number) || number->type == jbvNull)
		return false;
	if (number->type != jbvNumeric)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be a number", step_columns[column].name)));
	return true;
}

static void
give_number(SaidSteps *to, StepColumn column, const JsonbValue *step)
{
	JsonbValue	number;

	if (number_of(step, column, &number))
		*give(to, column) = DirectFunctionCall1(step_columns[column].type == INT4OID ? numeric_int4 : numeric_float8, NumericGetDatum(number.val.numeric));
}

static void
give_action(SaidSteps *to, const JsonbValue *step)
{
	Words		tool = json_member_words(step, "tool");
	Words		action = json_member_words(step, "action");
	JsonbValue	member;
	Jsonb	   *args = NULL;

	give_words(to, TOOL, tool);
	give_words(to, ACTION, action);
	if (json_member(step, "args", &member) && member.type != jbvNull)
	{
		args = jsonb_of(&member);
		*give(to, ARGS) = JsonbPGetDatum(args);
	}
	if (tool.s != NULL && (args != NULL || action.s == NULL))
		*give(to, ACTION_HASH) = Int64GetDatum(hash_of_tool_call(tool.s, tool.length, args));
	else if (action.s != NULL)
		*give(to, ACTION_HASH) = Int64GetDatum(hash_of_text(action.s, action.length));
	if (json_member(step, "ok", &member) && member.type == jbvBool)
		*give(to, OK) = BoolGetDatum(member.val.boolean);
}

/* What it saw, and what came of it where that is not what it saw next. */
static void
give_observations(SaidSteps *to, const StepSaid *step, const StepSaid *next, bool is_first)
{
	Words		result = json_member_words(&step->json, "next_observation");

	give_words(to, OBSERVATION, step->observation);
	if (step->observation.s != NULL)
		*give(to, STATE) = Int64GetDatum(hash_of_text(step->observation.s, step->observation.length));
	else if (is_first)
		/* Rollouts that begin without an observation begin in one state, which no text can have. */
		*give(to, STATE) = Int64GetDatum(hash_bytes_64("", 1));
	if (result.s == NULL)
		return;
	*give(to, NEXT_STATE) = Int64GetDatum(hash_of_text(result.s, result.length));
	if (next == NULL || !words_are_same(result, next->observation))
		give_words(to, NEXT_OBSERVATION, result);
}

static int
give_list(SaidSteps *to, StepColumn column, const JsonbValue *step)
{
	JsonbValue	list;
	Datum		array;

	if (!json_member(step, step_columns[column].name, &list) || list.type == jbvNull ||
		(json_is_array(&list) && JsonContainerSize(list.val.binary.data) == 0))
		return -1;
	if (!json_is_array(&list) || !json_array_datum(&list, get_element_type(step_columns[column].type), &array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be a list of numbers or truths", step_columns[column].name)));
	*give(to, column) = array;
	return JsonContainerSize(list.val.binary.data);
}

/* Token by token: what is said of each must be said of all. */
static void
give_tokens(SaidSteps *to, const JsonbValue *step)
{
	int			n;

	(void) give_list(to, PROMPT_TOKEN_IDS, step);
	n = give_list(to, RESPONSE_TOKEN_IDS, step);
	for (StepColumn c = RESPONSE_MASK; c <= ROLLOUT_LOGPROBS; c++)
	{
		int			length = give_list(to, c, step);

		if (n >= 0 && length >= 0 && length != n)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must be as long as response_token_ids", step_columns[c].name)));
	}
}

static void
give_metadata(SaidSteps *to, const JsonbValue *step, Jsonb *kept)
{
	JsonbValue	meta;
	Datum		object;

	if (!json_member(step, "meta", &meta) || meta.type == jbvNull)
	{
		if (kept != NULL)
			*give(to, METADATA) = JsonbPGetDatum(kept);
		return;
	}
	object = JsonbPGetDatum(jsonb_of(&meta));
	if (kept != NULL && !json_is_object(&meta))
	{
		JsonWriter state = {0};

		push_json(&state, WJB_BEGIN_OBJECT, NULL);
		push_value(&state, "meta", &meta);
		object = JsonbPGetDatum(JsonbValueToJsonb(end_json(&state, WJB_END_OBJECT)));
	}
	*give(to, METADATA) = kept == NULL ? object : DirectFunctionCall2(jsonb_concat, object, JsonbPGetDatum(kept));
}

/* ----------
 * Rows of the query
 * ----------
 */

static int
by_step_no(const void *a, const void *b)
{
	int32		x = ((const StepSaid *) a)->step_no;
	int32		y = ((const StepSaid *) b)->step_no;

	return x < y ? -1 : x > y;
}

static StepSaid *
read_steps(const JsonbValue *list, int *n)
{
	JsonbValue *elements = json_elements(list, n);
	StepSaid   *steps = ALLOCATE_ARRAY(StepSaid, *n);
	bool		any = false;

	for (int i = 0; i < *n; i++)
	{
		JsonbValue	number;

		CHECK_FOR_INTERRUPTS();
		steps[i].json = elements[i];
		steps[i].observation = json_member_words(&elements[i], "observation");
		steps[i].step_no = i;
		if (number_of(&elements[i], STEP_NO, &number))
		{
			any = true;
			steps[i].step_no = DatumGetInt32(DirectFunctionCall1(numeric_int4, NumericGetDatum(number.val.numeric)));
		}
	}
	if (any)
		qsort(steps, *n, sizeof(StepSaid), by_step_no);
	return steps;
}

void
write_said_steps(SaidSteps *to, const JsonbValue *list, Jsonb *kept, bool rollout_is_known)
{
	int			n;
	StepSaid   *steps = read_steps(list, &n);

	to->counts = (StepCounts) {0};
	for (int i = 0; i < n; i++)
	{
		memset(to->nulls + to->n_keys, true, N_STEP_COLUMNS * sizeof(bool));
		*give(to, STEP_NO) = Int32GetDatum(steps[i].step_no);
		give_number(to, TURN, &steps[i].json);
		give_observations(to, &steps[i], i + 1 < n ? &steps[i + 1] : NULL, i == 0);
		give_action(to, &steps[i].json);
		for (StepColumn c = REWARD; c <= COST; c++)
			give_number(to, c, &steps[i].json);
		give_tokens(to, &steps[i].json);
		give_metadata(to, &steps[i].json, kept);
		write_step_row(to->writer, to->values, to->nulls, rollout_is_known || i > 0);
		to->counts.actions += !to->nulls[to->n_keys + ACTION];
		to->counts.states += !to->nulls[to->n_keys + STATE];
		to->counts.tokens += !to->nulls[to->n_keys + RESPONSE_TOKEN_IDS];
	}
}

/* The rollout's columns, its steps, and what each step's metadata is to have besides. */
static bool
receive_rollout(TupleTableSlot *slot, DestReceiver *self)
{
	StepReceiver *receiver = (StepReceiver *) self;
	SaidSteps  *to = &receiver->to;
	MemoryContext caller = MemoryContextSwitchTo(receiver->rollout);

	slot_getallattrs(slot);
	memcpy(to->values, slot->tts_values, to->n_keys * sizeof(Datum));
	memcpy(to->nulls, slot->tts_isnull, to->n_keys * sizeof(bool));
	if (!slot->tts_isnull[to->n_keys])
	{
		JsonbValue	list = json_root(DatumGetJsonbP(slot->tts_values[to->n_keys]));

		write_said_steps(to, &list, slot->tts_isnull[to->n_keys + 1] ? NULL : DatumGetJsonbP(slot->tts_values[to->n_keys + 1]), false);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextReset(receiver->rollout);
	return true;
}

static bool
is_same_rollout(const StepReceiver *to, const TupleTableSlot *slot)
{
	for (int i = 0; i < to->to.n_keys; i++)
		if (to->of_rollout[i] == 0 || slot->tts_isnull[i] || !datumIsEqual(to->of_rollout[i], slot->tts_values[i], false, -1))
			return false;
	return true;
}

/* A step. */
static bool
receive_step(TupleTableSlot *slot, DestReceiver *self)
{
	StepReceiver *to = (StepReceiver *) self;
	bool		is_same;

	slot_getallattrs(slot);
	is_same = is_same_rollout(to, slot);
	if (!is_same)
	{
		MemoryContext caller = MemoryContextSwitchTo(to->rollout);

		MemoryContextReset(to->rollout);
		for (int i = 0; i < to->to.n_keys; i++)
			to->of_rollout[i] = slot->tts_isnull[i] ? 0 : datumCopy(slot->tts_values[i], false, -1);
		MemoryContextSwitchTo(caller);
	}
	write_step_row(to->to.writer, slot->tts_values, slot->tts_isnull, is_same);
	return true;
}

void
begin_receiving(DestReceiver *self, int operation, TupleDesc desc)
{
}

void
end_receiving(DestReceiver *self)
{
}

void
receive_query(const char *query, DestReceiver *receiver)
{
	SPIExecuteOptions options = {.dest = receiver};

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute_extended(query, &options) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_extended failed");
	SPI_finish();
}

/* ----------
 * The function
 * ----------
 */

void
begin_said_steps(SaidSteps *to, Oid steps, Oid rollouts, char **keys, int n_keys)
{
	int			n = n_keys + N_STEP_COLUMNS;
	char	  **columns = ALLOCATE_ARRAY(char *, n);
	Oid		   *types = ALLOCATE_ARRAY(Oid, n);

	for (int c = 0; c < n; c++)
	{
		columns[c] = c < n_keys ? keys[c] : (char *) step_columns[c - n_keys].name;
		types[c] = c < n_keys ? TEXTOID : step_columns[c - n_keys].type;
	}
	to->n_keys = n_keys;
	to->values = ALLOCATE_ARRAY(Datum, n);
	to->nulls = ALLOCATE_ARRAY(bool, n);
	to->writer = begin_step_rows(steps, rollouts, n, columns, types, n_keys);
}

/* Names and types of what is given: of rollouts, those of their steps too. */
static char **
column_names(ArrayType *array, bool whole, int *n)
{
	Datum	   *names;
	char	  **columns;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &names, NULL, n);
	columns = ALLOCATE_ARRAY(char *, *n + N_STEP_COLUMNS);
	for (int i = 0; i < *n; i++)
		columns[i] = TextDatumGetCString(names[i]);
	if (!whole)
		return columns;
	for (int c = 0; c < N_STEP_COLUMNS; c++)
		columns[(*n)++] = (char *) step_columns[c].name;
	return columns;
}

static Oid *
column_types(SPIPlanPtr plan, bool whole, int n, int n_keys)
{
	TupleDesc	desc = ((CachedPlanSource *) linitial(SPI_plan_get_plan_sources(plan)))->resultDesc;
	Oid		   *types = ALLOCATE_ARRAY(Oid, n);
	int			n_given = whole ? n - N_STEP_COLUMNS : n;

	if (desc == NULL || desc->natts != n_given + (whole ? 2 : 0) || n_keys < 1 || n_keys > n_given || (whole && n_keys < n_given))
		elog(ERROR, "the query does not give what was said");
	for (int i = 0; i < n; i++)
		types[i] = i < n_given ? TupleDescAttr(desc, i)->atttypid : step_columns[i - n_given].type;
	for (int i = 0; i < desc->natts; i++)
		if ((i < n_keys && types[i] != TEXTOID) || (i >= n_given && TupleDescAttr(desc, i)->atttypid != JSONBOID))
			elog(ERROR, "column %d of the query is of another type", i + 1);
	return types;
}

/*
 * write_steps(steps regclass, rollouts regclass, columns text[], n_keys integer,
 * whole boolean, query text): how many there were; NULL: an INSERT must do it
 */
Datum
stepadv_write_steps(PG_FUNCTION_ARGS)
{
	bool		whole = PG_GETARG_BOOL(4);
	StepReceiver to = {{whole ? receive_rollout : receive_step, begin_receiving, end_receiving, end_receiving, DestIntoRel}};
	SPIExecuteOptions options = {.dest = (DestReceiver *) &to};
	int			n_columns;
	char	  **columns = column_names(PG_GETARG_ARRAYTYPE_P(2), whole, &n_columns);
	SPIPlanPtr	plan;
	uint64		n_written;

	to.to.n_keys = PG_GETARG_INT32(3);
	to.to.values = ALLOCATE_ARRAY(Datum, n_columns);
	to.to.nulls = ALLOCATE_ARRAY(bool, n_columns);
	to.of_rollout = ALLOCATE_ZEROED_ARRAY(Datum, n_columns);
	to.rollout = AllocSetContextCreate(CurrentMemoryContext, "stepadv rollout", ALLOCSET_DEFAULT_SIZES);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	plan = SPI_prepare(text_to_cstring(PG_GETARG_TEXT_PP(5)), 0, NULL);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	to.to.writer = begin_step_rows(PG_GETARG_OID(0), PG_GETARG_OID(1), n_columns, columns, column_types(plan, whole, n_columns, to.to.n_keys), to.to.n_keys);
	if (to.to.writer == NULL)
	{
		SPI_finish();
		PG_RETURN_NULL();
	}
	if (SPI_execute_plan_extended(plan, &options) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_plan_extended failed");
	n_written = end_step_rows(to.to.writer);
	SPI_finish();
	PG_RETURN_INT64(n_written);
}

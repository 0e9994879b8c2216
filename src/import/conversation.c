/*
 * conversation.c
 *		A conversation as steps: each call of a turn is one, a turn without calls is
 *		one.
 *
 * Items are, in order,
 *	{"kind": "see", "text"}					from the environment or a user
 *	{"kind": "result", "id", "text", "ok"}	of a call; ok where the source says it
 *	{"kind": "say" | "think", "text"}		from the model
 *	{"kind": "call", "id", "tool", "args"}
 *	{"kind": "dropped", "text": what}		not ours to keep, only counted
 * An item of the model's with "new" begins a turn, else a turn is what the model
 * does until something comes back.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "common/jsonapi.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/jsonfuncs.h"

#include "arrays.h"
#include "compat.h"
#include "import/conversation.h"
#include "import/words.h"

PG_FUNCTION_INFO_V1(stepadv_import_steps);

static void
count_one(Counts *counts, Words what)
{
	int			i = 0;

	while (i < counts->n && !words_are_same(counts->what[i], what))
		i++;
	if (i == counts->n)
	{
		/* Types of items that nobody knows; nobody has so many. */
		if (i == MAX_COUNTS)
			return;
		counts->what[i] = what;
		counts->count[i] = 0;
		counts->n++;
	}
	counts->count[i]++;
}

static JsonbValue *
push_counts(JsonWriter *state, const Counts *counts)
{
	push_json(state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < counts->n; i++)
		push_integer(state, pnstrdup(counts->what[i].s, counts->what[i].length), counts->count[i]);
	return end_json(state, WJB_END_OBJECT);
}

void
note_dropped(Conversation *talk, Words what)
{
	count_one(&talk->dropped, what);
}

void
note_repaired(Conversation *talk, Words what)
{
	count_one(&talk->repaired, what);
}

/* ----------
 * Items and their turns
 * ----------
 */

static Kind
kind_of(Words kind)
{
	if (words_are(kind, "call"))
		return CALL;
	if (words_are(kind, "say"))
		return SAY;
	if (words_are(kind, "think"))
		return THINK;
	return words_are(kind, "result") ? RESULT : SEE;
}

TalkItem *
add_item(Conversation *talk, Kind kind, Words words, bool begins_turn)
{
	TalkItem   *item;

	if (talk->n == talk->n_allocated)
	{
		TalkItem   *items = ALLOCATE_ARRAY(TalkItem, talk->n_allocated = Max(64, 2 * talk->n));

		if (talk->n > 0)
		{
			memcpy(items, talk->items, talk->n * sizeof(TalkItem));
			pfree(talk->items);
		}
		talk->items = items;
	}
	item = &talk->items[talk->n];
	item->kind = kind;
	item->words = words;
	item->id = NO_WORDS;
	item->tool.type = jbvNull;
	item->args.type = jbvNull;
	item->ok.type = jbvNull;
	item->turn = talk->n == 0 ? 0 : item[-1].turn;
	if (kind >= SAY && (talk->n == 0 || item[-1].kind < SAY || begins_turn))
		item->turn++;
	talk->n++;
	return item;
}

static void
read_items(Conversation *talk, Jsonb *items)
{
	JsonbValue	root = json_root(items);
	int			n;
	JsonbValue *list = json_elements(&root, &n);

	for (int i = 0; i < n; i++)
	{
		TalkItem   *item;
		Words		kind = json_member_words(&list[i], "kind");
		Words		words = json_member_words(&list[i], "text");
		JsonbValue	member;

		CHECK_FOR_INTERRUPTS();
		if (kind.s == NULL)
			continue;
		if (words_are(kind, "dropped"))
		{
			if (words.s != NULL)
				note_dropped(talk, words);
			continue;
		}
		item = add_item(talk, kind_of(kind), words, json_member(&list[i], "new", &member));
		if (item->kind == CALL || item->kind == RESULT)
			item->id = json_member_words(&list[i], "id");
		if (item->kind == RESULT && json_member(&list[i], "ok", &member) && member.type == jbvBool)
			item->ok = member;
		if (item->kind == CALL && json_member(&list[i], "tool", &member))
			item->tool = member;
		if (item->kind == CALL && json_member(&list[i], "args", &member))
			item->args = member;
	}
}

/* ----------
 * Arguments
 * ----------
 */

typedef struct Arguments
{
	bool		is_given;
	JsonbValue	args;
	Words		words;			/* always JSON */
	Words		repaired;
} Arguments;

/* Does anything about these numbers ask for care: may they be out of range? */
static JSON_CALLBACK
look_at_scalar(void *state, char *token, JsonTokenType type)
{
	if (type == JSON_TOKEN_NUMBER && (strlen(token) > 1000 || strpbrk(token, "eE") != NULL))
		*(bool *) state = true;
	JSON_CALLBACK_RETURN;
}

/*
 * Is it JSON that jsonb can be made of without an error?  What is so deep, so
 * large or so strange that this is not sure is not.
 */
bool
is_plain_json(Words words)
{
	JsonLexContext *lexer;
	JsonSemAction actions = {0};
	bool		is_strange = false;
	int			n_open = 0;

	for (int i = 0; i < words.length; i++)
		n_open += words.s[i] == '[' || words.s[i] == '{';
	if (n_open > 1000 || words.length > 1024 * 1024)
		return false;
	actions.semstate = &is_strange;
	actions.scalar = look_at_scalar;
	lexer = make_json_lexer((text *) text_of_words(words), true);
	return pg_parse_json(lexer, &actions) == JSON_SUCCESS && !is_strange;
}

/* What is not plain is asked for in SQL, where an error can be caught. */
static Arguments
careful_arguments(JsonbValue *raw)
{
	Arguments	result = {0};
	Oid			types[] = {JSONBOID};
	Datum		values[] = {JsonbPGetDatum(JsonbValueToJsonb(raw))};
	MemoryContext caller = CurrentMemoryContext;
	bool		isnull;
	Datum		value;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute_with_args("SELECT a.args, a.words, a.repaired FROM stepadv_internal.import_arguments($1) a", 1, types, values, NULL, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_with_args failed");
	caller = MemoryContextSwitchTo(caller);
	value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	result.is_given = !isnull;
	if (!isnull)
		result.args = json_root(DatumGetJsonbPCopy(value));
	value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull);
	if (!isnull)
	{
		result.words.s = TextDatumGetCString(value);
		result.words.length = strlen(result.words.s);
	}
	value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 3, &isnull);
	if (!isnull)
	{
		result.repaired.s = TextDatumGetCString(value);
		result.repaired.length = strlen(result.repaired.s);
	}
	MemoryContextSwitchTo(caller);
	SPI_finish();
	return result;
}

/* Models write them as a string of JSON. */
static Arguments
arguments_of(const TalkItem *call)
{
	Arguments	result = {0};
	JsonbValue	raw = call->args;

	if (raw.type == jbvNull)
		return result;
	if (raw.type != jbvString)
	{
		result.is_given = true;
		result.args = raw;
		result.words = json_words(&raw);
		return result;
	}
	result.words = json_words(&raw);
	if (result.words.length == 0 || strspn(pnstrdup(result.words.s, result.words.length), " \t\r\n") == result.words.length || !is_plain_json(result.words))
		return careful_arguments(&raw);
	result.args = json_root(DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(pnstrdup(result.words.s, result.words.length)))));
	result.is_given = result.args.type != jbvNull;
	return result;
}

/* ----------
 * Steps
 * ----------
 */

static void
push_step(Conversation *talk, int turn, Words action, Words tool, Arguments *arguments, Words next, JsonbValue *ok, Words said, Words thought)
{
	JsonWriter *state = &talk->steps;
	JsonbValue	null = {.type = jbvNull};

	push_json(state, WJB_BEGIN_OBJECT, NULL);
	push_integer(state, "turn", turn - 1);
	push_words(state, "observation", talk->seen);
	push_words(state, "next_observation", next);
	push_words(state, "action", action);
	push_words(state, "tool", tool);
	push_value(state, "args", arguments != NULL && arguments->is_given ? &arguments->args : &null);
	if (ok != NULL && ok->type == jbvBool)
		push_value(state, "ok", ok);
	else if (arguments != NULL && next.s != NULL)
		push_boolean(state, "ok", reads_well(next));
	else
		push_value(state, "ok", &null);
	push_key(state, "meta");
	if (said.s == NULL && thought.s == NULL)
		push_json(state, WJB_VALUE, &null);
	else
	{
		push_json(state, WJB_BEGIN_OBJECT, NULL);
		if (said.s != NULL)
			push_words(state, "text", said);
		if (thought.s != NULL)
			push_words(state, "thought", thought);
		push_json(state, WJB_END_OBJECT, NULL);
	}
	push_json(state, WJB_END_OBJECT, NULL);
}

bool
parse_arguments(const JsonbValue *raw, JsonbValue *args)
{
	TalkItem	call = {.kind = CALL, .args = *raw};
	Arguments	arguments = arguments_of(&call);

	*args = arguments.args;
	return arguments.is_given;
}

/*
 * The results of a turn in their order, and where those are that have an id, by its
 * hash: open addressing, twice as many slots as results.
 */
typedef struct Results
{
	int			n;
	const TalkItem **items;
	int		   *slots;			/* the number of a result and 1; 0: none */
	uint32		mask;
} Results;

static uint32
first_slot(const Results *results, Words id)
{
	return DatumGetUInt32(hash_any((const unsigned char *) id.s, id.length)) & results->mask;
}

static Results
results_of_turn(const TalkItem *first, const TalkItem *end)
{
	Results		results = {0};
	uint32		n_slots = 4;

	for (const TalkItem *item = first; item < end; item++)
		results.n += item->kind == RESULT;
	if (results.n == 0)
		return results;
	while (n_slots < 2 * (uint32) results.n)
		n_slots *= 2;
	results.mask = n_slots - 1;
	results.items = ALLOCATE_ARRAY(const TalkItem *, results.n);
	results.slots = ALLOCATE_ARRAY(int, n_slots);
	memset(results.slots, 0, n_slots * sizeof(int));
	results.n = 0;
	for (const TalkItem *item = first; item < end; item++)
		if (item->kind == RESULT)
		{
			results.items[results.n++] = item;
			if (item->id.s != NULL)
			{
				uint32		slot = first_slot(&results, item->id);

				/* Of two with one id the first is found first. */
				while (results.slots[slot] != 0)
					slot = (slot + 1) & results.mask;
				results.slots[slot] = results.n;
			}
		}
	return results;
}

/*
 * By its id, which some scaffolds use anew in every turn, else in order: what came
 * back first of those that have this id, or stand at this place where one of the two
 * has none.
 */
static const TalkItem *
result_of(const Results *results, const TalkItem *call, int position)
{
	const TalkItem *in_order = position <= results->n ? results->items[position - 1] : NULL;

	if (results->n > 0 && call->id.s != NULL)
		for (uint32 slot = first_slot(results, call->id); results->slots[slot] != 0; slot = (slot + 1) & results->mask)
		{
			const TalkItem *item = results->items[results->slots[slot] - 1];

			if (words_are_same(call->id, item->id))
			{
				if (in_order != NULL && in_order->id.s == NULL && in_order < item)
					return in_order;
				return item;
			}
		}
	if (in_order != NULL && call->id.s != NULL && in_order->id.s != NULL)
		return NULL;
	return in_order;
}

static void
push_call_step(Conversation *talk, const Results *results, const TalkItem *call, int position, Words said, Words thought)
{
	StringInfoData action;
	Arguments	arguments = arguments_of(call);
	Words		name = NO_WORDS;
	const TalkItem *result = result_of(results, call, position);
	JsonbValue	ok = {.type = jbvNull};

	initStringInfo(&action);
	appendStringInfoString(&action, "{\"name\": ");
	if (call->tool.type != jbvNull)
	{
		name = json_words(&call->tool);
		if (call->tool.type == jbvString)
			escape_json(&action, pnstrdup(name.s, name.length));
		else
			appendBinaryStringInfo(&action, name.s, name.length);
	}
	else
		appendStringInfoString(&action, "null");
	appendStringInfoString(&action, ", \"arguments\": ");
	if (arguments.words.s != NULL)
		appendBinaryStringInfo(&action, arguments.words.s, arguments.words.length);
	else
		appendStringInfoString(&action, "null");
	appendStringInfoChar(&action, '}');
	if (arguments.repaired.s != NULL)
		count_one(&talk->repaired, arguments.repaired);
	if (name.s == NULL)
		count_one(&talk->repaired, WORDS("calls without a name"));
	if (result != NULL)
		ok = result->ok;
	if (result == NULL || result->words.s == NULL)
		count_one(&talk->repaired, WORDS("calls without a result"));
	push_step(talk, call->turn, (Words) {action.data, action.len}, name, &arguments, result != NULL ? result->words : NO_WORDS, &ok, said, thought);
}

/* The items of a turn: first those of the model, then what came back. */
static void
push_turn(Conversation *talk, const TalkItem *first, const TalkItem *end)
{
	StringInfoData lines[CALL];
	bool		any[CALL] = {false};
	Words		words[CALL];
	int			n_calls = 0;
	bool		says = false;

	for (int k = 0; k < CALL; k++)
		initStringInfo(&lines[k]);
	for (const TalkItem *item = first; item < end; item++)
	{
		/* Results are seen. */
		Kind		kind = item->kind == RESULT ? SEE : item->kind;

		if (kind == CALL)
			n_calls++;
		else
			add_line(&lines[kind], &any[kind], item->words);
		says |= kind == SAY;
	}
	for (int k = 0; k < CALL; k++)
		words[k] = any[k] ? (Words) {lines[k].data, lines[k].len} : NO_WORDS;
	if (first < end && first->turn > 0)
	{
		int			position = 0;
		Results		results = results_of_turn(first, end);

		for (const TalkItem *item = first; item < end; item++)
			if (item->kind == CALL)
			{
				position++;
				push_call_step(talk, &results, item, position, position == 1 ? words[SAY] : NO_WORDS, position == 1 ? words[THINK] : NO_WORDS);
			}
		if (n_calls == 0 && says)
			push_step(talk, first->turn, words[SAY], NO_WORDS, NULL, words[SEE], NULL, NO_WORDS, words[THINK]);
		if (n_calls == 0 && !says)
			count_one(&talk->dropped, WORDS("reasoning without an action"));
	}
	talk->seen = words[SEE];
}

/* ----------
 * The whole
 * ----------
 */

static JsonbValue *
push_steps(Conversation *talk)
{
	int			begin = 0;

	push_json(&talk->steps, WJB_BEGIN_ARRAY, NULL);
	for (int i = 1; i <= talk->n; i++)
		if (i == talk->n || talk->items[i].turn != talk->items[begin].turn)
		{
			CHECK_FOR_INTERRUPTS();
			push_turn(talk, &talk->items[begin], &talk->items[i]);
			begin = i;
		}
	return end_json(&talk->steps, WJB_END_ARRAY);
}

void
push_conversation_counts(JsonWriter *state, Conversation *talk)
{
	push_key(state, "dropped");
	push_counts(state, &talk->dropped);
	push_key(state, "repaired");
	push_counts(state, &talk->repaired);
}

void
push_conversation(JsonWriter *state, Conversation *talk)
{
	push_key(state, "steps");
	talk->steps = *state;
	push_steps(talk);
	*state = talk->steps;
	push_conversation_counts(state, talk);
}

Jsonb *
steps_of_conversation(Conversation *talk)
{
	return JsonbValueToJsonb(push_steps(talk));
}

Datum
conversation_to_row(FunctionCallInfo fcinfo, Conversation *talk)
{
	JsonWriter dropped = {0};
	JsonWriter repaired = {0};
	TupleDesc	desc;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = JsonbPGetDatum(JsonbValueToJsonb(push_steps(talk)));
	values[1] = JsonbPGetDatum(JsonbValueToJsonb(push_counts(&dropped, &talk->dropped)));
	values[2] = JsonbPGetDatum(JsonbValueToJsonb(push_counts(&repaired, &talk->repaired)));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/* import_steps(items jsonb, OUT steps jsonb, OUT dropped jsonb, OUT repaired jsonb) */
Datum
stepadv_import_steps(PG_FUNCTION_ARGS)
{
	Conversation talk = {0};

	read_items(&talk, PG_GETARG_JSONB_P(0));
	PG_RETURN_DATUM(conversation_to_row(fcinfo, &talk));
}

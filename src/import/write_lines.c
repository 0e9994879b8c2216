/*
 * write_lines.c
 *		Lines of JSON, one step each, straight into the canonical table of steps: the
 *		quick way of load_rollouts (see rollout_rows.c).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "arrays.h"
#include "compat.h"
#include "hash.h"
#include "import/rollout_rows.h"
#include "import/row_writer.h"
#include "import/step_line.h"
#include "import/write_steps.h"
#include "jsonb_hash.h"

PG_FUNCTION_INFO_V1(stepadv_write_lines);

/* What is held of one rollout; one that is longer is for those who sort on disk. */
#define MAX_HELD ((Size) 256 * 1024 * 1024)

/* What is no column of a line. */
#define MADE N_LINE_COLUMNS

enum
{
	STEP_STATE = 8,
	STEP_ACTION_HASH,
	STEP_NEXT_STATE,
	STEP_NEXT_OBSERVATION = 7
};

/* Columns of a step, behind those of its rollout. */
static const struct
{
	const char *name;
	Oid			type;
	LineColumn	from;
}			step_columns[] = {
	{"step_no", INT4OID, LINE_STEP_NO}, {"turn", INT4OID, LINE_TURN}, {"observation", TEXTOID, LINE_OBSERVATION}, {"action", TEXTOID, LINE_ACTION},
	{"tool", TEXTOID, LINE_TOOL}, {"args", JSONBOID, LINE_ARGS}, {"ok", BOOLOID, LINE_OK}, {"next_observation", TEXTOID, LINE_NEXT_OBSERVATION},
	{"state", INT8OID, MADE}, {"action_hash", INT8OID, MADE}, {"next_state", INT8OID, MADE},
	{"reward", FLOAT8OID, LINE_REWARD}, {"turn_reward", FLOAT8OID, LINE_TURN_REWARD}, {"value", FLOAT8OID, LINE_VALUE}, {"cost", FLOAT8OID, LINE_COST},
	{"prompt_token_ids", INT4ARRAYOID, LINE_PROMPT_TOKEN_IDS}, {"response_token_ids", INT4ARRAYOID, LINE_RESPONSE_TOKEN_IDS},
	{"response_mask", BOOLARRAYOID, LINE_RESPONSE_MASK}, {"rollout_logprobs", FLOAT4ARRAYOID, LINE_ROLLOUT_LOGPROBS}, {"metadata", JSONBOID, LINE_METADATA}
};

/* What a line says of its rollout, the last line that says it. */
static const struct
{
	LineColumn	from;
	RolloutColumn to;
}			of_rollout[] = {
	{LINE_ROLLOUT_ID, ROLLOUT_ID}, {LINE_TASK_ID, ROLLOUT_TASK_ID}, {LINE_GROUP_ID, ROLLOUT_GROUP_ID}, {LINE_RUN_ID, ROLLOUT_RUN_ID},
	{LINE_POLICY_VERSION, ROLLOUT_POLICY_VERSION}, {LINE_POLICY_STEP, ROLLOUT_POLICY_STEP}, {LINE_TAGS, ROLLOUT_TAGS}, {LINE_OUTCOME, ROLLOUT_OUTCOME},
	{LINE_SUCCESS, ROLLOUT_SUCCESS}, {LINE_TRUNCATED, ROLLOUT_TRUNCATED}, {LINE_MODEL, ROLLOUT_MODEL}, {LINE_CHANNEL, ROLLOUT_CHANNEL},
	{LINE_CURATION, ROLLOUT_CURATION}, {LINE_STARTED_AT, ROLLOUT_STARTED_AT}, {LINE_ENDED_AT, ROLLOUT_ENDED_AT}
};

typedef struct Line
{
	Datum		values[N_LINE_COLUMNS];
	bool		nulls[N_LINE_COLUMNS];
} Line;

typedef struct LineReceiver
{
	DestReceiver receiver;
	RolloutRows rollouts;
	RowWriter  *writer;
	LineReader *reader;
	bool		is_latin1;
	int64		last_n;
	Datum		keys[MAX_ROLLOUT_KEYS + 1]; /* of the rollout that is read */
	Line	   *lines;			/* of it */
	int			n;
	int			n_allocated;
	MemoryContext held;			/* its lines, all but the first */
	MemoryContext held_first;	/* the first, and the rollout before */
	Datum		values[MAX_ROLLOUT_KEYS + 1 + lengthof(step_columns)];
	bool		nulls[MAX_ROLLOUT_KEYS + 1 + lengthof(step_columns)];
} LineReceiver;

/* ----------
 * A rollout whose lines have come
 * ----------
 */

static bool
are_same_numbers(LineColumn column, Datum a, Datum b)
{
	return column == LINE_OUTCOME ? DatumGetFloat8(a) == DatumGetFloat8(b) : DatumGetBool(a) == DatumGetBool(b);
}

/* What a later line says counts, where two may say different things at all. */
static Datum
later(LineColumn column, Datum before, Datum now)
{
	switch (column)
	{
		case LINE_OUTCOME:
		case LINE_SUCCESS:
			if (!are_same_numbers(column, before, now))
				leave_it_to_others("lines of a rollout differ");
			return now;
		case LINE_TRUNCATED:
			return BoolGetDatum(DatumGetBool(before) || DatumGetBool(now));
		case LINE_STARTED_AT:
			return TimestampTzGetDatum(Min(DatumGetTimestampTz(before), DatumGetTimestampTz(now)));
		case LINE_ENDED_AT:
			return TimestampTzGetDatum(Max(DatumGetTimestampTz(before), DatumGetTimestampTz(now)));
		default:
			return now;
	}
}

static void
gather_rollout(LineReceiver *to)
{
	RolloutRows *rollout = &to->rollouts;
	int			n_steps = 0;

	clear_rollout(rollout);
	for (int i = 0; i < to->n; i++)
	{
		const Line *line = &to->lines[i];

		for (int c = 0; c < lengthof(of_rollout); c++)
			if (!line->nulls[of_rollout[c].from])
				set_rollout(rollout, of_rollout[c].to, rollout->nulls[of_rollout[c].to] ? line->values[of_rollout[c].from] :
							later(of_rollout[c].from, rollout->values[of_rollout[c].to], line->values[of_rollout[c].from]));
		/* A line without a step has nowhere else to leave its remarks. */
		if (!line->nulls[LINE_STEP_NO])
			n_steps++;
		else if (!line->nulls[LINE_METADATA] && line->nulls[LINE_ACTION])
			set_rollout(rollout, ROLLOUT_METADATA, line->values[LINE_METADATA]);
	}
	set_rollout(rollout, ROLLOUT_N_READ, Int64GetDatum(to->n));
	set_rollout(rollout, ROLLOUT_N_STEPS, Int64GetDatum(n_steps));
}

static int
by_step_no(const void *a, const void *b)
{
	const Line *x = a;
	const Line *y = b;

	if (x->nulls[LINE_STEP_NO] || y->nulls[LINE_STEP_NO])
		return x->nulls[LINE_STEP_NO] - y->nulls[LINE_STEP_NO];
	return DatumGetInt32(x->values[LINE_STEP_NO]) < DatumGetInt32(y->values[LINE_STEP_NO]) ? -1 :
		DatumGetInt32(x->values[LINE_STEP_NO]) > DatumGetInt32(y->values[LINE_STEP_NO]);
}

static Words
words_of(const Line *line, LineColumn column)
{
	text	   *words;

	if (line->nulls[column])
		return NO_WORDS;
	words = (text *) DatumGetPointer(line->values[column]);
	return (Words) {VARDATA_ANY(words), VARSIZE_ANY_EXHDR(words)};
}

static void
give_hash(LineReceiver *to, int column, int64 hash)
{
	to->values[to->rollouts.n_keys + 1 + column] = Int64GetDatum(hash);
	to->nulls[to->rollouts.n_keys + 1 + column] = false;
}

/* Identities, and what came of the step where that is not what it saw next. */
static void
give_identities(LineReceiver *to, const Line *line, const Line *next, bool is_first)
{
	Words		observation = words_of(line, LINE_OBSERVATION);
	Words		result = words_of(line, LINE_NEXT_OBSERVATION);
	Words		tool = words_of(line, LINE_TOOL);
	Words		action = words_of(line, LINE_ACTION);

	if (observation.s != NULL)
		give_hash(to, STEP_STATE, hash_of_text(observation.s, observation.length));
	else if (is_first)
		/* Rollouts that begin without an observation begin in one state, which no text can have. */
		give_hash(to, STEP_STATE, hash_bytes_64("", 1));
	if (tool.s != NULL && (!line->nulls[LINE_ARGS] || action.s == NULL))
		give_hash(to, STEP_ACTION_HASH, hash_of_tool_call(tool.s, tool.length, line->nulls[LINE_ARGS] ? NULL : DatumGetJsonbP(line->values[LINE_ARGS])));
	else if (action.s != NULL)
		give_hash(to, STEP_ACTION_HASH, hash_of_text(action.s, action.length));
	if (result.s == NULL)
		return;
	give_hash(to, STEP_NEXT_STATE, hash_of_text(result.s, result.length));
	if (next != NULL && words_are_same(result, words_of(next, LINE_OBSERVATION)))
		to->nulls[to->rollouts.n_keys + 1 + STEP_NEXT_OBSERVATION] = true;
}

static void
write_rollout(LineReceiver *to)
{
	int			n_keys = to->rollouts.n_keys + 1;
	int			n_steps;
	StepCounts	counts = {0};

	if (to->n == 0)
		return;
	if (to->rollouts.n_rollouts == 0 && has_rollout(to->writer, to->keys, n_keys))
		leave_it_to_others("the tables have the first rollout");
	gather_rollout(to);
	qsort(to->lines, to->n, sizeof(Line), by_step_no);
	n_steps = DatumGetInt64(to->rollouts.values[ROLLOUT_N_STEPS]);
	memcpy(to->values, to->keys, n_keys * sizeof(Datum));
	memset(to->nulls, false, n_keys * sizeof(bool));
	for (int i = 0; i < n_steps; i++)
	{
		Line	   *line = &to->lines[i];

		for (int c = 0; c < lengthof(step_columns); c++)
		{
			to->nulls[n_keys + c] = step_columns[c].from == MADE || line->nulls[step_columns[c].from];
			if (!to->nulls[n_keys + c])
				to->values[n_keys + c] = line->values[step_columns[c].from];
		}
		give_identities(to, line, i + 1 < n_steps ? line + 1 : NULL, i == 0);
		write_step_row(to->writer, to->values, to->nulls, true);
		counts.actions += !line->nulls[LINE_ACTION];
		counts.states += !to->nulls[n_keys + STEP_STATE];
		counts.tokens += !line->nulls[LINE_RESPONSE_TOKEN_IDS];
	}
	give_rollout(&to->rollouts, to->keys, counts);
}

/* ----------
 * Lines
 * ----------
 */

/* The line without what no JSON begins with; NULL: nothing is left. */
static text *
line_of(LineReceiver *to, text *line, bool is_first)
{
	static const char mark[] = "\xEF\xBB\xBF";
	static const char mark_as_latin1[] = "\xC3\xAF\xC2\xBB\xC2\xBF";
	Words		skipped = to->is_latin1 ? WORDS(mark_as_latin1) : WORDS(mark);
	Words		words;

	/* What was put elsewhere is long: it is not empty, and begins with no mark, or is no JSON. */
	if (VARATT_IS_EXTENDED(line) && !VARATT_IS_SHORT(line))
		return line;
	words = (Words) {VARDATA_ANY(line), VARSIZE_ANY_EXHDR(line)};
	if (is_first && words.length >= skipped.length && memcmp(words.s, skipped.s, skipped.length) == 0)
		return cstring_to_text_with_len(words.s + skipped.length, words.length - skipped.length);
	if (words.length > 0 && (unsigned char) words.s[0] > ' ')
		return line;
	for (int i = 0; i < words.length; i++)
		if (strchr(" \t\r\n", words.s[i]) == NULL || words.s[i] == '\0')
			return line;
	return NULL;
}

/* What the line says of its rollout's names. */
static void
keys_of_line(LineReceiver *to, const Line *line, Datum *keys)
{
	Datum		values[N_ROLLOUT_COLUMNS];
	bool		nulls[N_ROLLOUT_COLUMNS];

	for (int c = 0; c < lengthof(of_rollout); c++)
	{
		values[of_rollout[c].to] = line->values[of_rollout[c].from];
		nulls[of_rollout[c].to] = line->nulls[of_rollout[c].from];
	}
	keys_of_rollout(&to->rollouts, values, nulls, keys);
}

static bool
is_of_same_rollout(const LineReceiver *to, const Datum *keys)
{
	for (int i = 0; to->n > 0 && i <= to->rollouts.n_keys; i++)
	{
		text	   *a = DatumGetTextPP(keys[i]);
		text	   *b = DatumGetTextPP(to->keys[i]);

		if (VARSIZE_ANY_EXHDR(a) != VARSIZE_ANY_EXHDR(b) || memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) != 0)
			return false;
	}
	return to->n > 0;
}

static void
add_line(LineReceiver *to, const Line *line)
{
	if (to->n == to->n_allocated)
	{
		Line	   *lines = MemoryContextAllocHuge(GetMemoryChunkContext(to->lines), (Size) 2 * to->n * sizeof(Line));

		memcpy(lines, to->lines, to->n * sizeof(Line));
		pfree(to->lines);
		to->lines = lines;
		to->n_allocated = 2 * to->n;
	}
	to->lines[to->n++] = *line;
	if (to->n % 64 == 0 && MemoryContextMemAllocated(to->held, true) > MAX_HELD)
		leave_it_to_others("a rollout is too long");
}

/* A line, (n bigint, line text). */
static bool
receive_line(TupleTableSlot *slot, DestReceiver *self)
{
	LineReceiver *to = (LineReceiver *) self;
	MemoryContext caller = MemoryContextSwitchTo(to->held);
	Datum		keys[MAX_ROLLOUT_KEYS + 1];
	Datum	   *values;
	bool	   *nulls;
	text	   *words;
	Line		line;
	int64		n;

	CHECK_FOR_INTERRUPTS();
	slot_getallattrs(slot);
	n = DatumGetInt64(slot->tts_values[0]);
	if (slot->tts_isnull[0] || slot->tts_isnull[1] || n <= to->last_n)
		leave_it_to_others("lines are not in their order");
	words = line_of(to, (text *) DatumGetPointer(slot->tts_values[1]), to->last_n == PG_INT64_MIN);
	to->last_n = n;
	if (words != NULL)
	{
		if (!read_line(to->reader, PointerGetDatum(words), to->is_latin1, &values, &nulls))
			leave_it_to_others("a line that is not plain");
		memcpy(line.values, values, sizeof(line.values));
		memcpy(line.nulls, nulls, sizeof(line.nulls));
		keys_of_line(to, &line, keys);
		if (!is_of_same_rollout(to, keys))
		{
			MemoryContext held = to->held_first;

			write_rollout(to);
			MemoryContextReset(held);
			to->held_first = to->held;
			to->held = held;
			to->n = 0;
			memcpy(to->keys, keys, sizeof(keys));
		}
		add_line(to, &line);
	}
	MemoryContextSwitchTo(caller);
	return true;
}

static RowWriter *
begin_lines(const LineReceiver *to, Oid steps, Oid rollouts)
{
	int			n_keys = to->rollouts.n_keys + 1;
	int			n = n_keys + lengthof(step_columns);
	char	  **columns = ALLOCATE_ARRAY(char *, n);
	Oid		   *types = ALLOCATE_ARRAY(Oid, n);

	for (int c = 0; c < n; c++)
	{
		columns[c] = c < n_keys ? to->rollouts.key_names[c] : (char *) step_columns[c - n_keys].name;
		types[c] = c < n_keys ? TEXTOID : step_columns[c - n_keys].type;
	}
	return begin_step_rows(steps, rollouts, n, columns, types, n_keys);
}

/*
 * write_lines(steps regclass, rollouts regclass, keys text[], otherwise text[],
 * lacking text[], run_id text, policy_version text, policy_step bigint, is_latin1
 * boolean, query text)
 */
Datum
stepadv_write_lines(PG_FUNCTION_ARGS)
{
	LineReceiver *to = palloc0(sizeof(LineReceiver));

	to->receiver = (DestReceiver) {receive_line, begin_receiving, end_receiving, end_receiving, DestIntoRel};
	begin_rollouts(&to->rollouts, fcinfo);
	to->writer = begin_lines(to, PG_GETARG_OID(0), PG_GETARG_OID(1));
	if (to->writer == NULL)
		leave_it_to_others("an INSERT must do it");
	to->reader = begin_reading_lines();
	to->is_latin1 = PG_GETARG_BOOL(8);
	to->last_n = PG_INT64_MIN;
	to->n_allocated = 64;
	to->lines = ALLOCATE_ARRAY(Line, to->n_allocated);
	to->held = AllocSetContextCreate(CurrentMemoryContext, "stepadv lines", ALLOCSET_DEFAULT_SIZES);
	to->held_first = AllocSetContextCreate(CurrentMemoryContext, "stepadv lines", ALLOCSET_DEFAULT_SIZES);
	receive_query(text_to_cstring(PG_GETARG_TEXT_PP(9)), &to->receiver);
	write_rollout(to);
	end_step_rows(to->writer);
	return (Datum) 0;
}

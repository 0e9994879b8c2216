/*
 * io.c
 *		Text and binary form of rollout_group.
 *
 * Text: one JSON object whose members are the columns, arrays of equal length
 * by rollout or by step; a column that is NULL throughout may be left out.
 * Numbers are printed with the fewest digits that read back to the same value.
 *
 *	{"version": 1, "rollout_id": [7], "n_steps": [2], "success": [true],
 *	 "step_id": [1, 2], "step_no": [0, 1], "state": [10, null],
 *	 "action": [5, 6], "reward": [null, 1]}
 *
 * Binary: the bytes of the value after its length word, little-endian.
 *
 * Both are lossless.  Whatever does not describe a value that the aggregates
 * could have made is refused: 22P02 for text, 22P03 for binary.
 */
#include "postgres.h"

#include "common/jsonapi.h"
#include "common/shortest_dec.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonfuncs.h"
#include "utils/memutils.h"

#include "compat.h"
#include "group/io.h"

PG_FUNCTION_INFO_V1(stepadv_rollout_group_in);
PG_FUNCTION_INFO_V1(stepadv_rollout_group_out);
PG_FUNCTION_INFO_V1(stepadv_rollout_group_recv);
PG_FUNCTION_INFO_V1(stepadv_rollout_group_send);

/* ----------
 * Binary
 * ----------
 */

RolloutGroup *
group_from_bytes(const char *bytes, Size length)
{
	Size		header = sizeof(RolloutGroup) - VARHDRSZ;
	RolloutGroup *datum;
	GroupColumns group;

	if (length < header || !AllocSizeIsValid(length + VARHDRSZ))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid rollout_group"),
				 errdetail("%zu bytes cannot be one.", length)));
	datum = palloc(length + VARHDRSZ);
	SET_VARSIZE(datum, length + VARHDRSZ);
	memcpy((char *) datum + VARHDRSZ, bytes, length);
	group_open_input(datum, &group, ERRCODE_INVALID_BINARY_REPRESENTATION);
	group_check(&group, ERRCODE_INVALID_BINARY_REPRESENTATION);
	return datum;
}

Datum
stepadv_rollout_group_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buffer = (StringInfo) PG_GETARG_POINTER(0);
	int			length = buffer->len - buffer->cursor;

	PG_RETURN_POINTER(group_from_bytes(pq_getmsgbytes(buffer, length), length));
}

Datum
stepadv_rollout_group_send(PG_FUNCTION_ARGS)
{
	RolloutGroup *datum = (RolloutGroup *) PG_GETARG_VARLENA_P(0);
	StringInfoData buffer;

	pq_begintypsend(&buffer);
	pq_sendbytes(&buffer, (char *) datum + VARHDRSZ, VARSIZE(datum) - VARHDRSZ);
	PG_RETURN_BYTEA_P(pq_endtypsend(&buffer));
}

/* ----------
 * Text out
 * ----------
 */

static void
begin_column(StringInfo out, const char *name)
{
	appendStringInfo(out, ", \"%s\": [", name);
}

static void
separate(StringInfo out, uint32 i)
{
	if (i > 0)
		appendStringInfoString(out, ", ");
	if (i % 4096 == 0)
		CHECK_FOR_INTERRUPTS();
}

static void
append_int64(StringInfo out, int64 number)
{
	char		digits[MAXINT8LEN + 1];

	appendBinaryStringInfo(out, digits, pg_lltoa(number, digits));
}

/* nulls with bit NULL: which numbers are to be printed as null. */
static void
append_int64_column(StringInfo out, const char *name, const int64 *column, uint32 count,
					const uint8 *nulls, uint8 bit)
{
	if (column == NULL)
		return;
	begin_column(out, name);
	for (uint32 i = 0; i < count; i++)
	{
		separate(out, i);
		if (nulls != NULL && (nulls[i] & bit) != 0)
			appendStringInfoString(out, "null");
		else
			append_int64(out, column[i]);
	}
	appendStringInfoChar(out, ']');
}

static void
append_double_column(StringInfo out, const char *name, const double *column, uint32 count)
{
	if (column == NULL)
		return;
	begin_column(out, name);
	for (uint32 i = 0; i < count; i++)
	{
		char		digits[DOUBLE_SHORTEST_DECIMAL_LEN];

		separate(out, i);
		if (isnan(column[i]))
			appendStringInfoString(out, "null");
		else
			appendBinaryStringInfo(out, digits, double_to_shortest_decimal_bufn(column[i], digits));
	}
	appendStringInfoChar(out, ']');
}

Datum
stepadv_rollout_group_out(PG_FUNCTION_ARGS)
{
	static const char *const success_words[] = {"null", "false", "true"};
	GroupColumns group;
	StringInfoData out;

	group_open((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group);
	initStringInfo(&out);
	appendStringInfo(&out, "{\"version\": %d", GROUP_VERSION);
	append_int64_column(&out, "rollout_id", group.rollout_id, group.n_rollouts, NULL, 0);
	begin_column(&out, "n_steps");
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		separate(&out, r);
		append_int64(&out, group.n_rollout_steps[r]);
	}
	appendStringInfoChar(&out, ']');
	begin_column(&out, "success");
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		separate(&out, r);
		appendStringInfoString(&out, success_words[group.success[r]]);
	}
	appendStringInfoChar(&out, ']');
	append_double_column(&out, "outcome", group.outcome, group.n_rollouts);
	append_int64_column(&out, "step_id", group.step_id, group.n_steps, NULL, 0);
	begin_column(&out, "step_no");
	for (uint32 i = 0; i < group.n_steps; i++)
	{
		separate(&out, i);
		append_int64(&out, group.step_no[i]);
	}
	appendStringInfoChar(&out, ']');
	append_int64_column(&out, "state", group.state, group.n_steps, group.nulls, NULL_STATE);
	append_int64_column(&out, "action", group.action, group.n_steps, group.nulls, NULL_ACTION);
	append_double_column(&out, "reward", group.reward, group.n_steps);
	append_int64_column(&out, "next_state", group.next_state, group.n_steps, group.nulls, NULL_NEXT_STATE);
	append_double_column(&out, "value", group.value, group.n_steps);
	append_double_column(&out, "turn_reward", group.turn_reward, group.n_steps);
	append_double_column(&out, "cost", group.cost, group.n_steps);
	appendStringInfoChar(&out, '}');
	PG_RETURN_CSTRING(out.data);
}

/* ----------
 * Text in
 * ----------
 */

typedef enum MemberKind
{
	MEMBER_INT64,
	MEMBER_INT32,
	MEMBER_COUNT,				/* a non-negative int32 */
	MEMBER_DOUBLE,
	MEMBER_BOOL
} MemberKind;

typedef enum MemberIndex
{
	M_ROLLOUT_ID, M_N_STEPS, M_SUCCESS, M_OUTCOME,
	M_STEP_ID, M_STEP_NO, M_STATE, M_ACTION, M_REWARD,
	M_NEXT_STATE, M_VALUE, M_TURN_REWARD, M_COST,
	N_MEMBERS
} MemberIndex;

static const struct
{
	const char *name;
	MemberKind	kind;
	bool		by_step;		/* else by rollout */
	bool		nullable;
}			members[N_MEMBERS] = {
	{"rollout_id", MEMBER_INT64, false, false},
	{"n_steps", MEMBER_COUNT, false, false},
	{"success", MEMBER_BOOL, false, true},
	{"outcome", MEMBER_DOUBLE, false, true},
	{"step_id", MEMBER_INT64, true, false},
	{"step_no", MEMBER_INT32, true, false},
	{"state", MEMBER_INT64, true, true},
	{"action", MEMBER_INT64, true, true},
	{"reward", MEMBER_DOUBLE, true, true},
	{"next_state", MEMBER_INT64, true, true},
	{"value", MEMBER_DOUBLE, true, true},
	{"turn_reward", MEMBER_DOUBLE, true, true},
	{"cost", MEMBER_DOUBLE, true, true},
};

/* An array being read.  Numbers of every kind keep their bits in an int64. */
typedef struct Member
{
	bool		seen;
	int64	   *numbers;
	bool	   *nulls;
	uint64		count;
	uint64		capacity;
} Member;

typedef struct TextReader
{
	JsonLexContext *lexer;
	int			depth;			/* of objects and arrays around the token */
	int			current;		/* member being read, -1: version, -2: none */
	bool		has_version;
	Member		members[N_MEMBERS];
} TextReader;

#define CURRENT_VERSION (-1)
#define CURRENT_NONE (-2)

#define TEXT_INVALID(...) \
	ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), \
					errmsg("invalid input syntax for type %s", "rollout_group"), \
					errdetail(__VA_ARGS__)))

static JSON_CALLBACK
on_object_start(void *state)
{
	TextReader *reader = state;

	if (reader->depth++ > 0)
		TEXT_INVALID("An object inside the object has no meaning.");
	JSON_CALLBACK_RETURN;
}

static JSON_CALLBACK
on_object_end(void *state)
{
	((TextReader *) state)->depth--;
	JSON_CALLBACK_RETURN;
}

static JSON_CALLBACK
on_array_start(void *state)
{
	TextReader *reader = state;

	if (reader->depth != 1 || reader->current < 0)
		TEXT_INVALID("An array is allowed only as the value of a column.");
	reader->depth++;
	JSON_CALLBACK_RETURN;
}

static JSON_CALLBACK
on_array_end(void *state)
{
	((TextReader *) state)->depth--;
	JSON_CALLBACK_RETURN;
}

static JSON_CALLBACK
on_member_start(void *state, char *name, bool isnull)
{
	TextReader *reader = state;

	reader->current = CURRENT_NONE;
	if (strcmp(name, "version") == 0)
	{
		if (reader->has_version)
			TEXT_INVALID("The version is given twice.");
		reader->current = CURRENT_VERSION;
	}
	for (int m = 0; m < N_MEMBERS; m++)
		if (strcmp(name, members[m].name) == 0)
			reader->current = m;
	if (reader->current == CURRENT_NONE)
		TEXT_INVALID("There is no column \"%s\".", name);
	if (reader->current >= 0)
	{
		if (reader->members[reader->current].seen)
			TEXT_INVALID("Column \"%s\" is given twice.", name);
		reader->members[reader->current].seen = true;
	}
	JSON_CALLBACK_RETURN;
}

static int64
parse_integer(const char *token, int64 least, int64 most, const char *name)
{
	char	   *end;
	long long	number;

	errno = 0;
	number = strtoll(token, &end, 10);
	if (errno != 0 || *end != '\0' || end == token || number < least || number > most)
		TEXT_INVALID("Column \"%s\" cannot hold %s.", name, token);
	return (int64) number;
}

static void
append_number(Member *member, int64 number, bool isnull)
{
	if (member->count == member->capacity)
	{
		Size		capacity = Max(member->capacity * 2, 64);

		if (member->capacity == 0)
		{
			member->numbers = palloc(capacity * sizeof(int64));
			member->nulls = palloc(capacity * sizeof(bool));
		}
		else
		{
			member->numbers = repalloc_huge(member->numbers, capacity * sizeof(int64));
			member->nulls = repalloc_huge(member->nulls, capacity * sizeof(bool));
		}
		member->capacity = capacity;
		CHECK_FOR_INTERRUPTS();
	}
	member->numbers[member->count] = number;
	member->nulls[member->count] = isnull;
	member->count++;
}

static void
read_version(TextReader *reader, char *token, JsonTokenType type)
{
	if (type != JSON_TOKEN_NUMBER || strcmp(token, "1") != 0)
		TEXT_INVALID("The version is %s, this stepadv reads version %d.", token, GROUP_VERSION);
	reader->has_version = true;
}

static JSON_CALLBACK
on_scalar(void *state, char *token, JsonTokenType type)
{
	TextReader *reader = state;
	const char *name;
	int64		number = 0;

	if (reader->depth == 1 && reader->current == CURRENT_VERSION)
	{
		read_version(reader, token, type);
		JSON_CALLBACK_RETURN;
	}
	if (reader->depth != 2)
		TEXT_INVALID("\"%s\" stands where an object with an array for each column is expected.", token);
	name = members[reader->current].name;
	if (type == JSON_TOKEN_NULL)
	{
		if (!members[reader->current].nullable)
			TEXT_INVALID("Column \"%s\" must not be null.", name);
		append_number(&reader->members[reader->current], 0, true);
		JSON_CALLBACK_RETURN;
	}
	if (members[reader->current].kind == MEMBER_BOOL)
	{
		if (type != JSON_TOKEN_TRUE && type != JSON_TOKEN_FALSE)
			TEXT_INVALID("Column \"%s\" cannot hold %s.", name, token);
		number = type == JSON_TOKEN_TRUE;
	}
	else if (type != JSON_TOKEN_NUMBER)
		TEXT_INVALID("Column \"%s\" cannot hold %s.", name, token);
	else
		switch (members[reader->current].kind)
		{
			case MEMBER_INT64:
				number = parse_integer(token, PG_INT64_MIN, PG_INT64_MAX, name);
				break;
			case MEMBER_INT32:
				number = parse_integer(token, PG_INT32_MIN, PG_INT32_MAX, name);
				break;
			case MEMBER_COUNT:
				number = parse_integer(token, 0, PG_INT32_MAX, name);
				break;
			default:
				{
					double		real = DatumGetFloat8(DirectFunctionCall1(float8in, CStringGetDatum(token)));

					memcpy(&number, &real, sizeof(number));
				}
		}
	append_number(&reader->members[reader->current], number, false);
	JSON_CALLBACK_RETURN;
}

/* The count of a column, which all columns of its kind must share. */
static uint64
column_count(const TextReader *reader, bool by_step)
{
	int			key = by_step ? M_STEP_ID : M_ROLLOUT_ID;
	uint64		count = reader->members[key].count;

	for (int m = 0; m < N_MEMBERS; m++)
	{
		if (members[m].by_step != by_step)
			continue;
		if (!reader->members[m].seen)
		{
			if (members[m].nullable)
				continue;
			TEXT_INVALID("Column \"%s\" is missing.", members[m].name);
		}
		if (reader->members[m].count != count)
			TEXT_INVALID("Column \"%s\" has " UINT64_FORMAT " entries, \"%s\" has " UINT64_FORMAT ".",
						 members[m].name, reader->members[m].count, members[key].name, count);
	}
	return count;
}

static bool
has_entry(const Member *member, bool wanted_null)
{
	for (uint64 i = 0; i < member->count; i++)
		if (member->nulls[i] == wanted_null)
			return true;
	return false;
}

static void
fill_int64(const int64 *column, const Member *member)
{
	/* Of no entries there is no array. */
	if (column != NULL && member->count > 0)
		memcpy((int64 *) column, member->numbers, member->count * sizeof(int64));
}

static void
fill_double(const double *column, const Member *member, uint32 count)
{
	if (column == NULL)
		return;
	for (uint32 i = 0; i < count; i++)
	{
		if (!member->seen || member->nulls[i])
			((double *) column)[i] = NAN;
		else
			memcpy((double *) &column[i], &member->numbers[i], sizeof(double));
	}
}

/* What NULL_… bit a member's null stands for, in a value with these columns. */
static void
fill_nulls(const GroupColumns *group, const Member *member, uint8 bit)
{
	for (uint32 i = 0; i < group->n_steps; i++)
		if (!member->seen || member->nulls[i])
			((uint8 *) group->nulls)[i] |= bit;
}

static RolloutGroup *
assemble(const TextReader *reader)
{
	const Member *m = reader->members;
	uint64		n_rollouts = column_count(reader, false);
	uint64		n_steps = column_count(reader, true);
	GroupColumns group;
	RolloutGroup *datum;
	uint8		has = 0;

	has |= has_entry(&m[M_OUTCOME], false) ? HAS_OUTCOME : 0;
	has |= has_entry(&m[M_NEXT_STATE], false) ? HAS_NEXT_STATE : 0;
	has |= has_entry(&m[M_VALUE], false) ? HAS_VALUE : 0;
	has |= has_entry(&m[M_TURN_REWARD], false) ? HAS_TURN_REWARD : 0;
	has |= has_entry(&m[M_COST], false) ? HAS_COST : 0;
	if (n_steps > 0 &&
		(!m[M_STATE].seen || has_entry(&m[M_STATE], true) ||
		 !m[M_ACTION].seen || has_entry(&m[M_ACTION], true) ||
		 ((has & HAS_NEXT_STATE) && has_entry(&m[M_NEXT_STATE], true))))
		has |= HAS_NULLS;

	datum = group_allocate(n_rollouts, n_steps, has, &group);
	memset((char *) datum + sizeof(RolloutGroup), 0, VARSIZE(datum) - sizeof(RolloutGroup));
	fill_int64(group.rollout_id, &m[M_ROLLOUT_ID]);
	for (uint32 r = 0; r < n_rollouts; r++)
	{
		((uint32 *) group.n_rollout_steps)[r] = (uint32) m[M_N_STEPS].numbers[r];
		if (m[M_SUCCESS].seen && !m[M_SUCCESS].nulls[r])
			((uint8 *) group.success)[r] = m[M_SUCCESS].numbers[r] ? SUCCESS_TRUE : SUCCESS_FALSE;
	}
	fill_double(group.outcome, &m[M_OUTCOME], n_rollouts);
	fill_int64(group.step_id, &m[M_STEP_ID]);
	for (uint32 i = 0; i < n_steps; i++)
		((int32 *) group.step_no)[i] = (int32) m[M_STEP_NO].numbers[i];
	fill_int64(group.state, &m[M_STATE]);
	fill_int64(group.action, &m[M_ACTION]);
	fill_double(group.reward, &m[M_REWARD], n_steps);
	fill_int64(group.next_state, &m[M_NEXT_STATE]);
	fill_double(group.value, &m[M_VALUE], n_steps);
	fill_double(group.turn_reward, &m[M_TURN_REWARD], n_steps);
	fill_double(group.cost, &m[M_COST], n_steps);
	if (group.nulls)
	{
		fill_nulls(&group, &m[M_STATE], NULL_STATE);
		fill_nulls(&group, &m[M_ACTION], NULL_ACTION);
		if (group.next_state)
			fill_nulls(&group, &m[M_NEXT_STATE], NULL_NEXT_STATE);
	}
	group_seal(datum);
	return datum;
}

Datum
stepadv_rollout_group_in(PG_FUNCTION_ARGS)
{
	text	   *json = cstring_to_text(PG_GETARG_CSTRING(0));
	TextReader	reader;
	JsonSemAction actions;
	RolloutGroup *datum;
	GroupColumns group;
	uint64		total = 0;

	memset(&reader, 0, sizeof(reader));
	reader.current = CURRENT_NONE;
	reader.lexer = make_json_lexer(json, true);

	memset(&actions, 0, sizeof(actions));
	actions.semstate = &reader;
	actions.object_start = on_object_start;
	actions.object_end = on_object_end;
	actions.array_start = on_array_start;
	actions.array_end = on_array_end;
	actions.object_field_start = on_member_start;
	actions.scalar = on_scalar;
	pg_parse_json_or_ereport(reader.lexer, &actions);

	if (!reader.has_version)
		TEXT_INVALID("The version is missing.");
	datum = assemble(&reader);
	for (uint64 r = 0; r < reader.members[M_N_STEPS].count; r++)
		total += reader.members[M_N_STEPS].numbers[r];
	if (total != reader.members[M_STEP_ID].count)
		TEXT_INVALID("The entries of \"n_steps\" add up to " UINT64_FORMAT ", there are " UINT64_FORMAT " steps.",
					 total, reader.members[M_STEP_ID].count);
	group_open(datum, &group);
	group_check(&group, ERRCODE_INVALID_TEXT_REPRESENTATION);
	PG_RETURN_POINTER(datum);
}

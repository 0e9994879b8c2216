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
 * Reward components are arrays in an array, one by component.  Turns, components,
 * defects, the unit and whether a value is forgiving are version 2:
 *
 *	{"version": 2, …, "turn": [0, 0], "rewards": [[null, 1], [0.5, null]],
 *	 "outcome_rewards": [[null], [1]], "defects": [0], "unit": "turn",
 *	 "forgiving": true}
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
append_doubles(StringInfo out, const double *column, uint32 count)
{
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

static void
append_double_column(StringInfo out, const char *name, const double *column, uint32 count)
{
	if (column == NULL)
		return;
	begin_column(out, name);
	append_doubles(out, column, count);
}

/* An array by component. */
static void
append_components(StringInfo out, const char *name, const double *columns, uint32 n_columns, uint32 count)
{
	if (columns == NULL)
		return;
	begin_column(out, name);
	for (uint32 c = 0; c < n_columns; c++)
	{
		separate(out, c);
		appendStringInfoChar(out, '[');
		append_doubles(out, columns + (uint64) c * count, count);
	}
	appendStringInfoChar(out, ']');
}

static void
append_uint8_column(StringInfo out, const char *name, const uint8 *column, uint32 count)
{
	if (column == NULL)
		return;
	begin_column(out, name);
	for (uint32 i = 0; i < count; i++)
	{
		separate(out, i);
		append_int64(out, column[i]);
	}
	appendStringInfoChar(out, ']');
}

/* In the order of GroupUnit. */
static const char *const unit_words[] = {"step", "turn", "turn_set", NULL};

static void
append_version_2(StringInfo out, const GroupColumns *group)
{
	if (group->turn != NULL)
	{
		begin_column(out, "turn");
		for (uint32 i = 0; i < group->n_steps; i++)
		{
			separate(out, i);
			if (step_has_null(group, i, NULL_TURN))
				appendStringInfoString(out, "null");
			else
				append_int64(out, group->turn[i]);
		}
		appendStringInfoChar(out, ']');
	}
	append_components(out, "rewards", group->step_rewards, group->n_rewards, group->n_steps);
	append_components(out, "outcome_rewards", group->outcome_rewards, group->n_rewards, group->n_rollouts);
	append_uint8_column(out, "defects", group->defects, group->n_rollouts);
	if (group->unit != UNIT_STEP)
		appendStringInfo(out, ", \"unit\": \"%s\"", unit_words[group->unit]);
	if (group->forgiving)
		appendStringInfoString(out, ", \"forgiving\": true");
}

Datum
stepadv_rollout_group_out(PG_FUNCTION_ARGS)
{
	static const char *const success_words[] = {"null", "false", "true"};
	GroupColumns group;
	StringInfoData out;

	group_open((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group);
	initStringInfo(&out);
	appendStringInfo(&out, "{\"version\": %d", group_version(&group));
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
	append_version_2(&out, &group);
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
	MEMBER_BITS,				/* a uint8 */
	MEMBER_DOUBLE,
	MEMBER_BOOL
} MemberKind;

typedef enum MemberIndex
{
	M_ROLLOUT_ID, M_N_STEPS, M_SUCCESS, M_OUTCOME,
	M_STEP_ID, M_STEP_NO, M_STATE, M_ACTION, M_REWARD,
	M_NEXT_STATE, M_VALUE, M_TURN_REWARD, M_COST,
	M_TURN, M_REWARDS, M_OUTCOME_REWARDS, M_DEFECTS,
	N_MEMBERS
} MemberIndex;

static const struct
{
	const char *name;
	MemberKind	kind;
	bool		by_step;		/* else by rollout */
	bool		nullable;
	bool		nested;			/* arrays in an array, each as long as a column */
}			members[N_MEMBERS] = {
	{"rollout_id", MEMBER_INT64, false, false, false},
	{"n_steps", MEMBER_COUNT, false, false, false},
	{"success", MEMBER_BOOL, false, true, false},
	{"outcome", MEMBER_DOUBLE, false, true, false},
	{"step_id", MEMBER_INT64, true, false, false},
	{"step_no", MEMBER_INT32, true, false, false},
	{"state", MEMBER_INT64, true, true, false},
	{"action", MEMBER_INT64, true, true, false},
	{"reward", MEMBER_DOUBLE, true, true, false},
	{"next_state", MEMBER_INT64, true, true, false},
	{"value", MEMBER_DOUBLE, true, true, false},
	{"turn_reward", MEMBER_DOUBLE, true, true, false},
	{"cost", MEMBER_DOUBLE, true, true, false},
	{"turn", MEMBER_INT32, true, true, false},
	{"rewards", MEMBER_DOUBLE, true, true, true},
	{"outcome_rewards", MEMBER_DOUBLE, false, true, true},
	{"defects", MEMBER_BITS, false, false, false},
};

#define FIRST_MEMBER_OF_VERSION_2 M_TURN

/* An array being read.  Numbers of every kind keep their bits in an int64. */
typedef struct Member
{
	bool		seen;
	int64	   *numbers;
	bool	   *nulls;
	uint64		count;
	uint64		capacity;
	uint32		n_arrays;		/* of a nested one, */
	uint64		length;			/* all of this length */
} Member;

/* Members whose value is no array. */
typedef enum Setting
{
	SETTING_VERSION, SETTING_UNIT, SETTING_FORGIVING,
	N_SETTINGS
} Setting;

static const char *const settings[N_SETTINGS] = {"version", "unit", "forgiving"};

typedef struct TextReader
{
	JsonLexContext *lexer;
	int			depth;			/* of objects and arrays around the token */
	int			current;		/* member being read, or CURRENT_NONE, */
	int			setting;		/* or setting, or N_SETTINGS */
	bool		has_setting[N_SETTINGS];
	int			version;
	GroupUnit	unit;
	bool		forgiving;
	Member		members[N_MEMBERS];
} TextReader;

#define CURRENT_NONE (-1)

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

/* The depth of the entries of the member being read. */
static int
entry_depth(const TextReader *reader)
{
	return reader->current == CURRENT_NONE ? 0 : members[reader->current].nested ? 3 : 2;
}

static JSON_CALLBACK
on_array_start(void *state)
{
	TextReader *reader = state;

	if (reader->depth >= entry_depth(reader))
		TEXT_INVALID("An array is allowed only as the value of a column.");
	reader->depth++;
	JSON_CALLBACK_RETURN;
}

/* A component ends: it must be as long as the others. */
static void
end_component(const char *name, Member *member)
{
	uint64		length = member->count - member->n_arrays * member->length;

	if (member->n_arrays == MAX_REWARDS)
		TEXT_INVALID("Column \"%s\" has more than %d arrays.", name, MAX_REWARDS);
	if (member->n_arrays > 0 && length != member->length)
		TEXT_INVALID("An array of column \"%s\" has " UINT64_FORMAT " entries, another has " UINT64_FORMAT ".",
					 name, length, member->length);
	member->length = length;
	member->n_arrays++;
}

static JSON_CALLBACK
on_array_end(void *state)
{
	TextReader *reader = state;

	if (reader->depth-- == 3)
		end_component(members[reader->current].name, &reader->members[reader->current]);
	JSON_CALLBACK_RETURN;
}

static JSON_CALLBACK
on_member_start(void *state, char *name, bool isnull)
{
	TextReader *reader = state;

	reader->current = CURRENT_NONE;
	reader->setting = N_SETTINGS;
	for (int s = 0; s < N_SETTINGS; s++)
		if (strcmp(name, settings[s]) == 0)
			reader->setting = s;
	if (reader->setting < N_SETTINGS)
	{
		if (reader->has_setting[reader->setting])
			TEXT_INVALID("The %s is given twice.", name);
		reader->has_setting[reader->setting] = true;
		JSON_CALLBACK_RETURN;
	}
	for (int m = 0; m < N_MEMBERS; m++)
		if (strcmp(name, members[m].name) == 0)
			reader->current = m;
	if (reader->current == CURRENT_NONE)
		TEXT_INVALID("There is no column \"%s\".", name);
	if (reader->members[reader->current].seen)
		TEXT_INVALID("Column \"%s\" is given twice.", name);
	reader->members[reader->current].seen = true;
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
read_setting(TextReader *reader, char *token, JsonTokenType type)
{
	switch (reader->setting)
	{
		case SETTING_VERSION:
			if (type == JSON_TOKEN_NUMBER)
				reader->version = strcmp(token, "1") == 0 ? 1 : strcmp(token, "2") == 0 ? 2 : 0;
			if (reader->version == 0)
				TEXT_INVALID("The version is %s, this stepadv reads versions 1 to %d.", token, GROUP_VERSION);
			break;
		case SETTING_UNIT:
			for (int u = 0; type == JSON_TOKEN_STRING && unit_words[u] != NULL; u++)
				if (strcmp(token, unit_words[u]) == 0)
				{
					reader->unit = (GroupUnit) u;
					return;
				}
			TEXT_INVALID("The unit is %s, not \"step\", \"turn\" or \"turn_set\".", token);
			break;
		default:
			if (type != JSON_TOKEN_TRUE && type != JSON_TOKEN_FALSE)
				TEXT_INVALID("Whether it is forgiving is %s, not true or false.", token);
			reader->forgiving = type == JSON_TOKEN_TRUE;
	}
}

static JSON_CALLBACK
on_scalar(void *state, char *token, JsonTokenType type)
{
	TextReader *reader = state;
	const char *name;
	int64		number = 0;

	if (reader->depth == 1 && reader->setting < N_SETTINGS)
	{
		read_setting(reader, token, type);
		JSON_CALLBACK_RETURN;
	}
	if (reader->depth < 2 || reader->depth != entry_depth(reader))
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
			case MEMBER_BITS:
				number = parse_integer(token, 0, UINT8_MAX, name);
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
		const Member *member = &reader->members[m];
		uint64		length = members[m].nested ? member->length : member->count;

		if (members[m].by_step != by_step)
			continue;
		if (!member->seen)
		{
			if (members[m].nullable || m >= FIRST_MEMBER_OF_VERSION_2)
				continue;
			TEXT_INVALID("Column \"%s\" is missing.", members[m].name);
		}
		if (length != count && !(members[m].nested && member->n_arrays == 0))
			TEXT_INVALID("Column \"%s\" has " UINT64_FORMAT " entries, \"%s\" has " UINT64_FORMAT ".",
						 members[m].name, length, members[key].name, count);
	}
	return count;
}

static void
check_version(const TextReader *reader)
{
	if (!reader->has_setting[SETTING_VERSION])
		TEXT_INVALID("The version is missing.");
	for (int m = FIRST_MEMBER_OF_VERSION_2; m < N_MEMBERS && reader->version < 2; m++)
		if (reader->members[m].seen)
			TEXT_INVALID("Version %d has no column \"%s\".", reader->version, members[m].name);
	if (reader->version < 2 && (reader->has_setting[SETTING_UNIT] || reader->has_setting[SETTING_FORGIVING]))
		TEXT_INVALID("Version %d has no \"%s\".", reader->version,
					 settings[reader->has_setting[SETTING_UNIT] ? SETTING_UNIT : SETTING_FORGIVING]);
	if (reader->members[M_OUTCOME_REWARDS].n_arrays > 0 &&
		reader->members[M_OUTCOME_REWARDS].n_arrays != reader->members[M_REWARDS].n_arrays)
		TEXT_INVALID("Column \"outcome_rewards\" has %u arrays, \"rewards\" has %u.",
					 reader->members[M_OUTCOME_REWARDS].n_arrays, reader->members[M_REWARDS].n_arrays);
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
fill_double(const double *column, const Member *member, uint64 count)
{
	if (column == NULL)
		return;
	for (uint64 i = 0; i < count; i++)
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

/* Has a column of identities entries that are missing? */
static bool
lacks_entry(const Member *member)
{
	return !member->seen || has_entry(member, true);
}

static GroupShape
read_shape(const TextReader *reader)
{
	const Member *m = reader->members;
	GroupShape	shape = {
		column_count(reader, false), column_count(reader, true), 0, m[M_REWARDS].n_arrays,
		reader->unit, reader->forgiving
	};

	shape.has |= has_entry(&m[M_OUTCOME], false) ? HAS_OUTCOME : 0;
	shape.has |= has_entry(&m[M_NEXT_STATE], false) ? HAS_NEXT_STATE : 0;
	shape.has |= has_entry(&m[M_VALUE], false) ? HAS_VALUE : 0;
	shape.has |= has_entry(&m[M_TURN_REWARD], false) ? HAS_TURN_REWARD : 0;
	shape.has |= has_entry(&m[M_COST], false) ? HAS_COST : 0;
	shape.has |= has_entry(&m[M_TURN], false) ? HAS_TURN : 0;
	shape.has |= m[M_REWARDS].n_arrays > 0 ? HAS_REWARDS : 0;
	shape.has |= has_entry(&m[M_OUTCOME_REWARDS], false) ? HAS_OUTCOME_REWARDS : 0;
	shape.has |= m[M_DEFECTS].seen ? HAS_DEFECTS : 0;
	if (shape.n_steps > 0 &&
		(lacks_entry(&m[M_STATE]) || lacks_entry(&m[M_ACTION]) ||
		 ((shape.has & HAS_NEXT_STATE) && has_entry(&m[M_NEXT_STATE], true)) ||
		 ((shape.has & HAS_TURN) && has_entry(&m[M_TURN], true))))
		shape.has |= HAS_NULLS;
	return shape;
}

static void
fill_version_2(const GroupColumns *group, const Member *m)
{
	for (uint32 i = 0; group->turn && i < group->n_steps; i++)
		((int32 *) group->turn)[i] = (int32) m[M_TURN].numbers[i];
	for (uint32 r = 0; group->defects && r < group->n_rollouts; r++)
		((uint8 *) group->defects)[r] = (uint8) m[M_DEFECTS].numbers[r];
	fill_double(group->step_rewards, &m[M_REWARDS], group->n_step_rewards);
	fill_double(group->outcome_rewards, &m[M_OUTCOME_REWARDS], group->n_outcome_rewards);
}

static RolloutGroup *
assemble(const TextReader *reader)
{
	const Member *m = reader->members;
	GroupShape	shape = read_shape(reader);
	GroupColumns group;
	RolloutGroup *datum = group_allocate(&shape, &group);

	memset((char *) datum + sizeof(RolloutGroup), 0, VARSIZE(datum) - sizeof(RolloutGroup));
	fill_int64(group.rollout_id, &m[M_ROLLOUT_ID]);
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		((uint32 *) group.n_rollout_steps)[r] = (uint32) m[M_N_STEPS].numbers[r];
		if (m[M_SUCCESS].seen && !m[M_SUCCESS].nulls[r])
			((uint8 *) group.success)[r] = m[M_SUCCESS].numbers[r] ? SUCCESS_TRUE : SUCCESS_FALSE;
	}
	fill_double(group.outcome, &m[M_OUTCOME], group.n_rollouts);
	fill_int64(group.step_id, &m[M_STEP_ID]);
	for (uint32 i = 0; i < group.n_steps; i++)
		((int32 *) group.step_no)[i] = (int32) m[M_STEP_NO].numbers[i];
	fill_int64(group.state, &m[M_STATE]);
	fill_int64(group.action, &m[M_ACTION]);
	fill_double(group.reward, &m[M_REWARD], group.n_steps);
	fill_int64(group.next_state, &m[M_NEXT_STATE]);
	fill_double(group.value, &m[M_VALUE], group.n_steps);
	fill_double(group.turn_reward, &m[M_TURN_REWARD], group.n_steps);
	fill_double(group.cost, &m[M_COST], group.n_steps);
	fill_version_2(&group, m);
	if (group.nulls)
	{
		fill_nulls(&group, &m[M_STATE], NULL_STATE);
		fill_nulls(&group, &m[M_ACTION], NULL_ACTION);
		if (group.next_state)
			fill_nulls(&group, &m[M_NEXT_STATE], NULL_NEXT_STATE);
		if (group.turn)
			fill_nulls(&group, &m[M_TURN], NULL_TURN);
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
	reader.setting = N_SETTINGS;
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

	check_version(&reader);
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

/*
 * text_in.c
 *		A rollout_group from its text form, which is that of text_out.c.
 */
#include "postgres.h"

#include "fmgr.h"

#include "compat.h"
#include "group/io.h"
#include "group/text_reader.h"

PG_FUNCTION_INFO_V1(stepadv_rollout_group_in);

/* The count of a column, which all columns of its kind must share. */
static uint64
column_count(const TextReader *reader, bool by_step)
{
	int			key = by_step ? M_STEP_ID : M_ROLLOUT_ID;
	uint64		count = reader->members[key].count;

	for (int m = 0; m < N_MEMBERS; m++)
	{
		const Member *member = &reader->members[m];
		uint64		length = member_forms[m].nested ? member->length : member->count;

		if (member_forms[m].by_step != by_step)
			continue;
		if (!member->seen)
		{
			if (member_forms[m].nullable || m >= FIRST_MEMBER_OF_VERSION_2)
				continue;
			TEXT_INVALID("Column \"%s\" is missing.", member_forms[m].name);
		}
		if (length != count && !(member_forms[m].nested && member->n_arrays == 0))
			TEXT_INVALID("Column \"%s\" has " UINT64_FORMAT " entries, \"%s\" has " UINT64_FORMAT ".",
						 member_forms[m].name, length, member_forms[key].name, count);
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
			TEXT_INVALID("Version %d has no column \"%s\".", reader->version, member_forms[m].name);
	if (reader->version < 2 && (reader->has_setting[SETTING_UNIT] || reader->has_setting[SETTING_FORGIVING]))
		TEXT_INVALID("Version %d has no \"%s\".", reader->version,
					 setting_names[reader->has_setting[SETTING_UNIT] ? SETTING_UNIT : SETTING_FORGIVING]);
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

static int64
policy_step_at(const Member *member, uint64 i)
{
	return member->nulls[i] ? NO_POLICY_STEP : member->numbers[i];
}

static bool
has_policy_step(const Member *member)
{
	for (uint64 i = 0; i < member->count; i++)
		if (policy_step_at(member, i) != NO_POLICY_STEP)
			return true;
	return false;
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
	shape.has |= has_entry(&m[M_TRUNCATED], false) ? HAS_TRUNCATED : 0;
	shape.has |= has_policy_step(&m[M_POLICY_STEP]) ? HAS_POLICY_STEP : 0;
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
	for (uint32 r = 0; group->truncated && r < group->n_rollouts; r++)
		if (!m[M_TRUNCATED].nulls[r])
			((uint8 *) group->truncated)[r] = m[M_TRUNCATED].numbers[r] ? TRUNCATION_TRUE : TRUNCATION_FALSE;
	for (uint32 r = 0; group->policy_step && r < group->n_rollouts; r++)
		((int64 *) group->policy_step)[r] = policy_step_at(&m[M_POLICY_STEP], r);
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
	TextReader	reader;
	RolloutGroup *datum;
	GroupColumns group;
	uint64		total = 0;

	read_group_text(PG_GETARG_CSTRING(0), &reader);
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

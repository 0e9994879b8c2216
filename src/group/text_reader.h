/*
 * text_reader.h
 *		The text of a rollout_group as its members: arrays, and settings.
 */
#ifndef STEPADV_GROUP_TEXT_READER_H
#define STEPADV_GROUP_TEXT_READER_H

#include "common/jsonapi.h"

#include "group/group.h"

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
	M_TURN, M_REWARDS, M_OUTCOME_REWARDS, M_DEFECTS, M_TRUNCATED, M_POLICY_STEP,
	N_MEMBERS
} MemberIndex;

typedef struct MemberForm
{
	const char *name;
	MemberKind	kind;
	bool		by_step;		/* else by rollout */
	bool		nullable;
	bool		nested;			/* arrays in an array, each as long as a column */
} MemberForm;

extern const MemberForm member_forms[N_MEMBERS];

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

extern const char *const setting_names[N_SETTINGS];

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

/* Reads it all; errors are of what it says, not yet of how that fits together. */
extern void read_group_text(const char *text, TextReader *reader);

#define TEXT_INVALID(...) \
	ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), \
					errmsg("invalid input syntax for type %s", "rollout_group"), \
					errdetail(__VA_ARGS__)))

#endif							/* STEPADV_GROUP_TEXT_READER_H */

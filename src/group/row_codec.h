/*
 * row_codec.h
 *		A compact encoding of the rows of a group that is being built.
 *
 * An aggregate over a large table keeps the rows of all groups in memory.  Most rows follow the row before:
 * same rollout, next step_no, next step_id; and few have a reward.  So a row is a tag byte, followed by what
 * the tag cannot express relative to the row before, usually state and action.  Turns, defects, rewards and
 * columns of the rollout, which few groups have, take another byte and their values, as do coarse states and
 * log-probabilities.  Never stored or sent: native byte order.
 */
#ifndef STEPADV_GROUP_ROW_CODEC_H
#define STEPADV_GROUP_ROW_CODEC_H

#include "group/row.h"

#define TAG_SAME_ROLLOUT	0x01
#define TAG_NEXT_STEP_ID	0x02
#define TAG_NEXT_STEP_NO	0x04
#define TAG_NO_REWARD		0x08
#define TAG_ZERO_REWARD		0x10
#define TAG_SUCCESS_SHIFT	5	/* two bits */
#define TAG_MORE			0x80	/* a second byte follows */

/* The second byte: the null bits except that of coarse states, and */
#define MORE_NULLS			0x0F
#define MORE_IS_ROLLOUT		0x10
#define MORE_PARTS_SHIFT	5	/* three bits; with PART_EXTRA a third byte follows */

#define EXTRA_SAME_TURN		0x01	/* equal to the last one given */
#define EXTRA_NEXT_TURN		0x02
#define EXTRA_HAS_DEFECTS	0x04
#define EXTRA_HAS_REWARDS	0x08
#define EXTRA_TRUNCATED_SHIFT 4	/* two bits */
#define EXTRA_SAME_POLICY_STEP 0x40	/* equal to the last one given */
#define EXTRA_HAS_POLICY_STEP 0x80	/* a different one */

/* The maximum size of an encoded row, without rewards. */
#define MAX_ENCODED_STEP	80
#define MAX_ENCODED_EXTRA	16	/* further bytes with PART_EXTRA */
#define MAX_ENCODED_POLICY	17	/* further bytes with PART_POLICY */

static inline Size
encoded_size_limit(const StepRow *row)
{
	Size		limit = MAX_ENCODED_STEP;

	if (unlikely((row->parts & PART_EXTRA) != 0))
		limit += MAX_ENCODED_EXTRA + row->n_rewards * sizeof(double);
	if (unlikely((row->parts & PART_POLICY) != 0))
		limit += MAX_ENCODED_POLICY;
	return limit;
}

#define PUT(bytes, x) (memcpy(bytes, &(x), sizeof(x)), (bytes) += sizeof(x))
#define GET(bytes, x) (memcpy(&(x), bytes, sizeof(x)), (bytes) += sizeof(x))

/* Encode turn, defects, rewards, and columns of the rollout.  previous has the last turn and policy_step given. */
static inline char *
encode_extra(char *bytes, const StepRow *row, const StepRow *previous)
{
	uint8		extra = row->truncated << EXTRA_TRUNCATED_SHIFT;

	if ((row->nulls & NULL_TURN) == 0)
	{
		if (row->turn == previous->turn)
			extra |= EXTRA_SAME_TURN;
		else if (row->turn == (int32) ((uint32) previous->turn + 1))
			extra |= EXTRA_NEXT_TURN;
	}
	if (row->defects != 0)
		extra |= EXTRA_HAS_DEFECTS;
	if (row->rewards != NULL)
		extra |= EXTRA_HAS_REWARDS;
	if (row->has_policy_step)
		extra |= row->policy_step == previous->policy_step ? EXTRA_SAME_POLICY_STEP : EXTRA_HAS_POLICY_STEP;
	*bytes++ = extra;
	if ((row->nulls & NULL_TURN) == 0 && (extra & (EXTRA_SAME_TURN | EXTRA_NEXT_TURN)) == 0)
		PUT(bytes, row->turn);
	if (extra & EXTRA_HAS_DEFECTS)
		PUT(bytes, row->defects);
	if (extra & EXTRA_HAS_REWARDS)
	{
		PUT(bytes, row->n_rewards);
		memcpy(bytes, row->rewards, row->n_rewards * sizeof(double));
		bytes += row->n_rewards * sizeof(double);
	}
	if (extra & EXTRA_HAS_POLICY_STEP)
		PUT(bytes, row->policy_step);
	return bytes;
}

static inline const char *
decode_extra(const char *bytes, StepRow *row, const StepRow *previous)
{
	uint8		extra = *bytes++;

	row->turn = previous->turn;
	row->defects = 0;
	row->n_rewards = 0;
	row->rewards = NULL;
	row->truncated = (extra >> EXTRA_TRUNCATED_SHIFT) & 3;
	row->has_policy_step = (extra & (EXTRA_SAME_POLICY_STEP | EXTRA_HAS_POLICY_STEP)) != 0;
	row->policy_step = previous->policy_step;
	if (extra & EXTRA_NEXT_TURN)
		row->turn = (int32) ((uint32) row->turn + 1);
	else if ((row->nulls & NULL_TURN) == 0 && (extra & EXTRA_SAME_TURN) == 0)
		GET(bytes, row->turn);
	if (extra & EXTRA_HAS_DEFECTS)
		GET(bytes, row->defects);
	if (extra & EXTRA_HAS_REWARDS)
	{
		GET(bytes, row->n_rewards);
		row->rewards = bytes;
		bytes += row->n_rewards * sizeof(double);
	}
	if (extra & EXTRA_HAS_POLICY_STEP)
		GET(bytes, row->policy_step);
	return bytes;
}

static inline char *
encode_policy(char *bytes, const StepRow *row)
{
	uint8		is_null = row->nulls & NULL_COARSE_STATE;

	PUT(bytes, is_null);
	if (!is_null)
		PUT(bytes, row->coarse_state);
	PUT(bytes, row->logp);
	return bytes;
}

static inline const char *
decode_policy(const char *bytes, StepRow *row)
{
	uint8		is_null;

	GET(bytes, is_null);
	row->coarse_state = 0;
	if (!is_null)
	{
		GET(bytes, row->coarse_state);
		row->nulls &= ~NULL_COARSE_STATE;
	}
	GET(bytes, row->logp);
	return bytes;
}

/* The tag of row, which follows previous. */
static inline uint8
tag_of(const StepRow *row, const StepRow *previous)
{
	uint8		tag = row->success << TAG_SUCCESS_SHIFT;

	if (row->rollout_id == previous->rollout_id)
		tag |= TAG_SAME_ROLLOUT;
	if (row->step_id == (int64) ((uint64) previous->step_id + 1))
		tag |= TAG_NEXT_STEP_ID;
	if (row->step_no == (int32) ((uint32) previous->step_no + 1))
		tag |= TAG_NEXT_STEP_NO;
	if (isnan(row->reward))
		tag |= TAG_NO_REWARD;
	else if (row->reward == 0 && !signbit(row->reward))
		tag |= TAG_ZERO_REWARD;
	return tag;
}

/* Write what the tag does not express. */
static inline char *
put_beside_tag(char *bytes, uint8 tag, const StepRow *row)
{
	if (!(tag & TAG_SAME_ROLLOUT))
		PUT(bytes, row->rollout_id);
	if (!(tag & TAG_NEXT_STEP_ID))
		PUT(bytes, row->step_id);
	if (!(tag & TAG_NEXT_STEP_NO))
		PUT(bytes, row->step_no);
	if (!(tag & (TAG_NO_REWARD | TAG_ZERO_REWARD)))
		PUT(bytes, row->reward);
	return bytes;
}

static inline const char *
get_beside_tag(const char *bytes, uint8 tag, StepRow *row, const StepRow *previous)
{
	row->success = (tag >> TAG_SUCCESS_SHIFT) & 3;
	row->rollout_id = previous->rollout_id;
	row->step_id = (int64) ((uint64) previous->step_id + 1);
	row->step_no = (int32) ((uint32) previous->step_no + 1);
	row->reward = (tag & TAG_NO_REWARD) ? NAN : 0;
	if (!(tag & TAG_SAME_ROLLOUT))
		GET(bytes, row->rollout_id);
	if (!(tag & TAG_NEXT_STEP_ID))
		GET(bytes, row->step_id);
	if (!(tag & TAG_NEXT_STEP_NO))
		GET(bytes, row->step_no);
	if (!(tag & (TAG_NO_REWARD | TAG_ZERO_REWARD)))
		GET(bytes, row->reward);
	return bytes;
}

/* Is a row a step with state and action and no optional part? */
static inline bool
is_plain_step(const StepRow *row)
{
	return row->nulls == PLAIN_NULLS && !row->is_rollout && row->parts == 0;
}

/* The same encoding as encode_step and decode_step, for plain steps only, with fewer branches. */
static inline char *
encode_plain_step(char *bytes, const StepRow *row, const StepRow *previous)
{
	uint8		tag = tag_of(row, previous);

	*bytes++ = tag;
	bytes = put_beside_tag(bytes, tag, row);
	PUT(bytes, row->state);
	PUT(bytes, row->action);
	return bytes;
}

static inline const char *
decode_plain_step(const char *bytes, StepRow *row, const StepRow *previous)
{
	uint8		tag = *bytes++;

	bytes = get_beside_tag(bytes, tag, row, previous);
	GET(bytes, row->state);
	GET(bytes, row->action);
	return bytes;
}

/* Encode row, which follows previous; returns the end. */
static inline char *
encode_step(char *bytes, const StepRow *row, const StepRow *previous)
{
	uint8		tag = tag_of(row, previous);
	uint8		more = (row->nulls & MORE_NULLS) |
		(row->is_rollout ? MORE_IS_ROLLOUT : 0) | (row->parts << MORE_PARTS_SHIFT);

	if (more != (PLAIN_NULLS & MORE_NULLS))
		tag |= TAG_MORE;

	*bytes++ = tag;
	if (tag & TAG_MORE)
		*bytes++ = more;
	bytes = put_beside_tag(bytes, tag, row);
	if (!(row->nulls & NULL_STATE))
		PUT(bytes, row->state);
	if (!(row->nulls & NULL_ACTION))
		PUT(bytes, row->action);
	if (row->parts & PART_WIDE)
	{
		PUT(bytes, row->next_state);
		PUT(bytes, row->value);
		PUT(bytes, row->turn_reward);
		PUT(bytes, row->cost);
	}
	if (row->parts & PART_EXTRA)
		bytes = encode_extra(bytes, row, previous);
	if (row->parts & PART_POLICY)
		bytes = encode_policy(bytes, row);
	return bytes;
}

/* Decode the row that follows previous; returns the end. */
static inline const char *
decode_step(const char *bytes, StepRow *row, const StepRow *previous)
{
	uint8		tag = *bytes++;
	uint8		more = PLAIN_NULLS & MORE_NULLS;

	if (tag & TAG_MORE)
		more = *bytes++;
	row->nulls = (more & MORE_NULLS) | NULL_COARSE_STATE;
	row->is_rollout = (more & MORE_IS_ROLLOUT) != 0;
	row->parts = more >> MORE_PARTS_SHIFT;
	bytes = get_beside_tag(bytes, tag, row, previous);
	row->state = 0;
	row->action = 0;
	if (!(row->nulls & NULL_STATE))
		GET(bytes, row->state);
	if (!(row->nulls & NULL_ACTION))
		GET(bytes, row->action);
	if (row->parts & PART_WIDE)
	{
		GET(bytes, row->next_state);
		GET(bytes, row->value);
		GET(bytes, row->turn_reward);
		GET(bytes, row->cost);
	}
	if (row->parts & PART_EXTRA)
		bytes = decode_extra(bytes, row, previous);
	if (row->parts & PART_POLICY)
		bytes = decode_policy(bytes, row);
	return bytes;
}

#undef PUT
#undef GET

#endif							/* STEPADV_GROUP_ROW_CODEC_H */

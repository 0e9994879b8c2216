/*
 * recent.c
 *		The groups of the table that rows were of a short while ago.
 */
#include "postgres.h"

#include "plan/fold/recent.h"

/* At most so many have a place, each but one; a query of fewer turns does without. */
#define MAX_BITS		11
#define FIRST_TURNS		256

typedef struct RecentGroups
{
	int			bits;
	RecentGroup group[FLEXIBLE_ARRAY_MEMBER];	/* a power of 2 of them */
} RecentGroups;

/* In the memory of the table, of which it is to take but little: with it they are forgotten. */
static RecentGroups *
create_recent(const GroupFoldState *fold)
{
	Size		size = sizeof(RecentGroup) + fold->n_keys * (sizeof(Datum) + sizeof(bool));
	int			bits = MAX_BITS;
	RecentGroups *recent;
	Datum	   *values;
	bool	   *nulls;

	while (bits > 1 && (size << bits) > fold->limit / 32)
		bits--;
	recent = MemoryContextAllocZero(fold->table_memory, offsetof(RecentGroups, group) + (size << bits));
	values = (Datum *) (recent->group + ((Size) 1 << bits));
	nulls = (bool *) (values + ((Size) fold->n_keys << bits));
	recent->bits = bits;
	for (Size g = 0; g < (Size) 1 << bits; g++)
	{
		recent->group[g].values = values + g * fold->n_keys;
		recent->group[g].nulls = nulls + g * fold->n_keys;
	}
	return recent;
}

RecentGroup *
recent_group(GroupFoldState *fold)
{
	const TupleTableSlot *row = fold->keys;
	TupleDesc	desc = row->tts_tupleDescriptor;
	uint64		bits = 0;

	if (fold->recent == NULL)
	{
		if (fold->n_turns < FIRST_TURNS)
			return NULL;
		fold->recent = create_recent(fold);
	}
	for (int k = 0; k < fold->n_keys; k++)
	{
		Form_pg_attribute key = TupleDescAttr(desc, k);
		Datum		value = row->tts_values[k];

		bits *= UINT64CONST(0x9E3779B97F4A7C15);
		if (!row->tts_isnull[k])
			bits += key->attbyval ? value : datum_image_hash(value, false, key->attlen);
	}
	return &fold->recent->group[(bits * UINT64CONST(0x9E3779B97F4A7C15)) >> (64 - fold->recent->bits)];
}

void
remember_group(const GroupFoldState *fold, RecentGroup *recent)
{
	const TupleTableSlot *keys = fold->group_keys;

	recent->keys = ((MinimalTupleTableSlot *) keys)->mintuple;
	recent->builder = fold->builder;
	memcpy(recent->values, keys->tts_values, fold->n_keys * sizeof(Datum));
	memcpy(recent->nulls, keys->tts_isnull, fold->n_keys * sizeof(bool));
}

/*
 * resample.c
 *		resample(g, k, seed, replace): k rollouts of a group, drawn at random.
 *
 * With replacement it is a bootstrap draw: over many seeds, anything computed from the group gets a distribution.
 * Without replacement it is a smaller group.
 *
 * The draw depends only on the seed and the rollout ids, so it is the same on every machine, and can be
 * reproduced in SQL, where H is signature_hash:
 *
 *	without replacement		the k rollouts with the least H(seed, rollout_id), so that with one seed a smaller
 *							sample is part of a larger one
 *	with replacement		for d from 0 to k - 1 the rollout at position
 *							(H(stream, d) >> 32 & 0xFFFFFFFF) * n >> 32 in the order of ids, where stream is the
 *							hash of the concatenated seed and ids, so that draws from different groups are
 *							independent with the same seed
 *
 * A rollout that is drawn again is a separate rollout: its c-th occurrence has the id H(rollout_id, c), or, if
 * that is taken, the one for the next c.  Its steps keep their step_id.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"

#include "arrays.h"
#include "declaration.h"
#include "group/builder.h"
#include "hash.h"
#include "ids.h"

PG_FUNCTION_INFO_V1(stepadv_resample);

enum
{
	K, SEED, REPLACE, N_ARGUMENTS
};

static const Expected arguments[] = {{"k", INT4OID}, {"seed", INT4OID}, {"replace", BOOLOID}};

/* A rollout in the sample or, before that, in the draw. */
typedef struct Drawn
{
	int64		id;				/* the id it gets, or in the draw the sort key */
	uint32		rollout;
} Drawn;

#define ST_SORT sort_drawn
#define ST_ELEMENT_TYPE Drawn
#define ST_COMPARE(a, b) ((a)->id != (b)->id ? ((a)->id < (b)->id ? -1 : 1) : \
						  ((a)->rollout > (b)->rollout) - ((a)->rollout < (b)->rollout))
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static int64
stream_of_group(const GroupColumns *group, int64 seed)
{
	uint64	   *bytes = ALLOCATE_ARRAY(uint64, (Size) group->n_rollouts + 1);
	int64		stream;

	bytes[0] = pg_hton64((uint64) seed);
	for (uint32 r = 0; r < group->n_rollouts; r++)
		bytes[r + 1] = pg_hton64((uint64) group->rollout_id[r]);
	stream = hash_bytes_64(bytes, ((Size) group->n_rollouts + 1) * sizeof(uint64));
	pfree(bytes);
	return stream;
}

static void
draw_with_replacement(const GroupColumns *group, uint32 k, int64 seed, uint32 *times)
{
	int64		stream = stream_of_group(group, seed);

	for (uint32 d = 0; d < k; d++)
	{
		uint64		bits = (uint64) hash_of_pair(stream, d) >> 32;

		times[bits * group->n_rollouts >> 32]++;
		if (d % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

static void
draw_without_replacement(const GroupColumns *group, uint32 k, int64 seed, uint32 *times)
{
	Drawn	   *order = ALLOCATE_ARRAY(Drawn, group->n_rollouts);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		order[r] = (Drawn) {hash_of_pair(seed, group->rollout_id[r]), r};
	sort_drawn(order, group->n_rollouts);
	for (uint32 i = 0; i < k; i++)
		times[order[i].rollout] = 1;
	pfree(order);
}

/* The next unused id for a copy, after number *c.  If the group is itself a sample, it may have used some. */
static int64
next_copy_id(ids_hash *taken, int64 rollout_id, uint32 *c)
{
	bool		found;
	int64		id;

	do
	{
		id = hash_of_pair(rollout_id, ++(*c));
		ids_insert(taken, id, &found);
	} while (found);
	return id;
}

/* The k drawn rollouts, in the order of their new ids. */
static Drawn *
name_drawn(const GroupColumns *group, const uint32 *times, uint32 k)
{
	Drawn	   *drawn = ALLOCATE_ARRAY(Drawn, k);
	ids_hash   *taken = ids_create(CurrentMemoryContext, group->n_rollouts, NULL);
	bool		found;
	uint32		n = 0;

	for (uint32 r = 0; r < group->n_rollouts; r++)
		ids_insert(taken, group->rollout_id[r], &found);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		c = 1;

		for (uint32 t = 0; t < times[r]; t++)
			drawn[n++] = (Drawn) {t == 0 ? group->rollout_id[r] : next_copy_id(taken, group->rollout_id[r], &c), r};
		CHECK_FOR_INTERRUPTS();
	}
	ids_destroy(taken);
	sort_drawn(drawn, n);
	return drawn;
}

static RolloutGroup *
fold_drawn(const GroupColumns *group, const Drawn *drawn, uint32 k)
{
	GroupBuilder *builder = group_builder_create(CurrentMemoryContext);

	group_builder_take_shape(builder, group);
	for (uint32 i = 0; i < k; i++)
		group_builder_add_rollout(builder, group, drawn[i].rollout, drawn[i].id);
	return group_builder_finish(builder);
}

/* Assumes k of the shortest rollouts: fails early if no result can be within the limit of a value. */
static void
refuse_oversize(const GroupColumns *group, uint32 k)
{
	GroupShape	shape = {.n_rollouts = k};
	uint32		least = PG_UINT32_MAX;

	for (uint32 r = 0; r < group->n_rollouts; r++)
		least = Min(least, group->n_rollout_steps[r]);
	shape.n_steps = k > 0 ? (uint64) k * least : 0;
	(void) checked_group_size(&shape);
}

static uint32
check_sample_size(int32 k, const GroupColumns *group, bool replace)
{
	if (k < 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("k is %d, not a number of rollouts", k),
				 errhint("NULL, the default, draws as many as the group has.")));
	if (k > 0 && group->n_rollouts == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k is %d, and the group has no rollouts to draw from", k)));
	if (!replace && k > group->n_rollouts)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k is %d, and the group has %u rollouts", k, group->n_rollouts),
				 errhint("Use replace => true to draw more rollouts than the group has.")));
	refuse_oversize(group, k);
	return (uint32) k;
}

/* An argument that must not be NULL. */
static Datum
argument_of(FunctionCallInfo fcinfo, int which, const int16 *place)
{
	if (PG_ARGISNULL(place[which]))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", arguments[which].name)));
	return PG_GETARG_DATUM(place[which]);
}

/* resample(rollouts, k, seed, replace) */
Datum
stepadv_resample(PG_FUNCTION_ARGS)
{
	Declaration *declaration = declaration_of(fcinfo->flinfo);
	GroupColumns group;
	uint32	   *times;
	uint32		k;
	int64		seed;
	bool		replace;

	if (declaration->arguments == NULL)
		match_arguments(fcinfo->flinfo, 1, arguments, N_ARGUMENTS);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	seed = DatumGetInt32(argument_of(fcinfo, SEED, declaration->arguments));
	replace = DatumGetBool(argument_of(fcinfo, REPLACE, declaration->arguments));
	group_open((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group);
	k = PG_ARGISNULL(declaration->arguments[K]) ? group.n_rollouts :
		check_sample_size(PG_GETARG_INT32(declaration->arguments[K]), &group, replace);
	times = ALLOCATE_ZEROED_ARRAY(uint32, group.n_rollouts);
	if (replace)
		draw_with_replacement(&group, k, seed, times);
	else
		draw_without_replacement(&group, k, seed, times);
	PG_RETURN_POINTER(fold_drawn(&group, name_drawn(&group, times, k), k));
}

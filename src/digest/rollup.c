/*
 * rollup.c
 *		rollup(group_digest): adds digests.
 *
 * The state is a value of the type itself.  While it grows, it is an expanded object around a Digest; sent
 * between workers or servers, it is the digest so far.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "aggregate.h"
#include "compat.h"
#include "digest/bytes.h"

PG_FUNCTION_INFO_V1(stepadv_group_digest_rollup);

typedef struct DigestState
{
	ExpandedObjectHeader header;
	Digest		digest;
	GroupDigest *flat;			/* what get_flat_size measured, or NULL */
} DigestState;

static Size
state_flat_size(ExpandedObjectHeader *header)
{
	DigestState *state = (DigestState *) header;

	if (state->flat == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(header->eoh_context);

		state->flat = digest_write(&state->digest);
		MemoryContextSwitchTo(old);
	}
	return VARSIZE(state->flat);
}

static void
state_flatten_into(ExpandedObjectHeader *header, void *result, Size allocated_size)
{
	DigestState *state = (DigestState *) header;

	Assert(state->flat != NULL && VARSIZE(state->flat) == allocated_size);
	memcpy(result, state->flat, allocated_size);
}

static const ExpandedObjectMethods state_methods = {
	state_flat_size,
	state_flatten_into
};

static DigestState *
create_state(MemoryContext parent, int parts)
{
	MemoryContext context = AllocSetContextCreate(parent, "stepadv digest", ALLOCSET_START_SMALL_SIZES);
	DigestState *state = MemoryContextAllocZero(context, sizeof(DigestState));

	EOH_init_header(&state->header, &state_methods, context);
	digest_init(&state->digest, context, parts);
	return state;
}

/* The state in a datum that is an expanded object of ours; else NULL. */
static DigestState *
state_of(Datum datum)
{
	DigestState *state;

	if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
		return NULL;
	state = (DigestState *) DatumGetEOHP(datum);
	return state->header.eoh_methods == &state_methods ? state : NULL;
}

/* The same, if it may be modified, as the state of an aggregate may. */
static DigestState *
growing_state(Datum datum)
{
	return VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(datum)) ? state_of(datum) : NULL;
}

static void
add_value(Digest *digest, Datum value)
{
	GroupDigest *datum = (GroupDigest *) PG_DETOAST_DATUM(value);

	digest_add(digest, datum, ERRCODE_DATA_CORRUPTED);
	if ((Pointer) datum != DatumGetPointer(value))
		pfree(datum);
}

/* The part with that name, and the names and counts, which are always present. */
static int
parts_asked(const text *asked)
{
	static const char *const names[N_DIGEST_PARTS] = {NULL, "counts", "advantages", "histogram", "quadrants", "calls", "measures", "horizons"};
	char	   *name = text_to_cstring(asked);

	for (int i = PART_COUNTS; i < N_DIGEST_PARTS; i++)
	{
		if (strcmp(names[i], name) == 0)
		{
			pfree(name);
			return PARTS_ALWAYS | 1 << i;
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("a digest has no part \"%s\"", name),
			 errhint("Available parts: counts, advantages, histogram, quadrants, calls, measures, horizons.")));
	return 0;
}

/* rollup's transition and combine functions: (state, digest), (state, digest, part text). */
Datum
stepadv_group_digest_rollup(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	DigestState *state = PG_ARGISNULL(0) ? NULL : growing_state(PG_GETARG_DATUM(0));

	CHECK_FOR_INTERRUPTS();
	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	if (state == NULL)
	{
		state = create_state(context, PG_NARGS() > 2 && !PG_ARGISNULL(2) ? parts_asked(PG_GETARG_TEXT_PP(2)) : ALL_PARTS);
		if (!PG_ARGISNULL(0))
			add_value(&state->digest, PG_GETARG_DATUM(0));
	}
	/* The flat form, which may have been measured but not copied, is out of date. */
	if (state->flat != NULL)
	{
		pfree(state->flat);
		state->flat = NULL;
	}
	add_value(&state->digest, PG_GETARG_DATUM(1));
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->header));
}

/* Open the first argument for reading, without a copy if rollup made it; an error if it lacks these parts. */
const Digest *
digest_argument(FunctionCallInfo fcinfo, int parts)
{
	const DigestState *state = state_of(PG_GETARG_DATUM(0));
	GroupDigest *datum = state == NULL ? (GroupDigest *) PG_GETARG_VARLENA_P(0) : NULL;
	Digest	   *digest;

	if (((state == NULL ? datum->parts : state->digest.parts) & parts) != parts)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the digest has nothing of this in it"),
				 errhint("group_digest or rollup made it without that part.")));
	if (state != NULL)
		return &state->digest;
	digest = palloc(sizeof(Digest));
	digest_init(digest, CurrentMemoryContext, parts | PARTS_ALWAYS);
	digest_add(digest, datum, ERRCODE_DATA_CORRUPTED);
	return digest;
}

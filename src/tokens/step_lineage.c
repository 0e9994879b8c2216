/*
 * step_lineage.c
 *		The rows of a stepadv.token_lineage.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/array.h"
#include "utils/typcache.h"

#include "arrays.h"
#include "compat.h"
#include "rows.h"
#include "tokens/token_lineage.h"

PG_FUNCTION_INFO_V1(stepadv_step_lineage);

/* The entries of an array of the value, one per step. */
static const void *
entries(Datum value, bool isnull, Oid type, uint64 *n_steps)
{
	ArrayType  *array = isnull ? NULL : DatumGetArrayTypeP(value);

	if (array == NULL || ARR_NDIM(array) > 1 || ARR_HASNULL(array) || ARR_ELEMTYPE(array) != type ||
		(*n_steps != PG_UINT64_MAX && *n_steps != (uint64) ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array))))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("lineage is not what token_lineage made"),
				 errdetail("Its arrays have one entry per step and no nulls.")));
	*n_steps = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return ARR_DATA_PTR(array);
}

static void
read_fields(HeapTupleHeader lineage, Datum *values, bool *nulls)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(lineage), HeapTupleHeaderGetTypMod(lineage));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(lineage), .t_data = lineage};

	if (desc->natts != N_LINEAGE)
		elog(ERROR, "token_lineage is not declared as its C code expects");
	heap_deform_tuple(&tuple, desc, values, nulls);
	ReleaseTupleDesc(desc);
}

/* step_lineage(lineage token_lineage) */
Datum
stepadv_step_lineage(PG_FUNCTION_ARGS)
{
	Datum		values[N_LINEAGE];
	bool		nulls[N_LINEAGE];
	const int32 *fields[N_LINEAGE];
	const void *step_id;
	const void *rollout_id;
	uint64		n = PG_UINT64_MAX;
	bool	   *unknown;
	bool	   *alone;
	bool	   *no_difference;
	bool	   *extends;
	int32	   *differs_at;

	read_fields(PG_GETARG_HEAPTUPLEHEADER(0), values, nulls);
	step_id = entries(values[LINEAGE_STEP_IDS], nulls[LINEAGE_STEP_IDS], INT8OID, &n);
	rollout_id = entries(values[LINEAGE_ROLLOUT_IDS], nulls[LINEAGE_ROLLOUT_IDS], INT8OID, &n);
	for (int f = LINEAGE_STEP_NOS; f < N_LINEAGE; f++)
		fields[f] = entries(values[f], nulls[f], INT4OID, &n);
	unknown = ALLOCATE_ARRAY(bool, n);
	alone = ALLOCATE_ARRAY(bool, n);
	no_difference = ALLOCATE_ARRAY(bool, n);
	extends = ALLOCATE_ARRAY(bool, n);
	differs_at = ALLOCATE_ARRAY(int32, n);
	for (uint64 s = 0; s < n; s++)
	{
		int32		shared = fields[LINEAGE_SHARED][s];

		unknown[s] = fields[LINEAGE_PROMPTS][s] < 0;
		alone[s] = unknown[s] || shared < 0 || s == 0;
		extends[s] = !alone[s] && (int64) shared == (int64) fields[LINEAGE_PROMPTS][s - 1] + fields[LINEAGE_RESPONSES][s - 1];
		no_difference[s] = alone[s] || extends[s];
		differs_at[s] = no_difference[s] ? 0 : shared + 1;
	}
	{
		const ResultColumn columns[] = {
			{"step_id", COLUMN_INT8, step_id},
			{"rollout_id", COLUMN_INT8, rollout_id},
			{"step_no", COLUMN_INT4, fields[LINEAGE_STEP_NOS]},
			{"n_prompt_tokens", COLUMN_INT4, fields[LINEAGE_PROMPTS], unknown},
			{"n_response_tokens", COLUMN_INT4, fields[LINEAGE_RESPONSES], unknown},
			{"n_new_tokens", COLUMN_INT4, fields[LINEAGE_NEW_TOKENS], unknown},
			{"extends_previous", COLUMN_BOOL, extends, alone},
			{"differs_at", COLUMN_INT4, differs_at, no_difference},
			{"segment_no", COLUMN_INT4, fields[LINEAGE_RUNS], unknown}
		};

		RETURN_COLUMNS(columns, n);
	}
}

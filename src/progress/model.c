#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "arrays.h"
#include "compat.h"
#include "progress/model.h"

/* The columns of type progress_model. */
enum
{
	MODEL_LOSS, MODEL_LAMBDA, MODEL_INTERCEPT, MODEL_WEIGHTS, MODEL_PLACES, MODEL_N_ROLLOUTS, MODEL_N_STEPS,
	N_MODEL_COLUMNS
};

static Datum
array_of(Oid type, const void *elements, int n, Size width)
{
	ArrayType  *array = zeroed_vector(type, n, width);

	copy_large(ARR_DATA_PTR(array), elements, n * width);
	return PointerGetDatum(array);
}

Datum
progress_model_row(FunctionCallInfo fcinfo, const ProgressModel *model)
{
	TupleDesc	desc;
	Datum		values[N_MODEL_COLUMNS];
	bool		nulls[N_MODEL_COLUMNS] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != N_MODEL_COLUMNS)
		elog(ERROR, "progress_model is not declared as its C code expects");
	values[MODEL_LOSS] = CStringGetTextDatum(model->logistic ? "logistic" : "squared");
	values[MODEL_LAMBDA] = Float8GetDatum(model->lambda);
	values[MODEL_INTERCEPT] = Float8GetDatum(model->intercept);
	values[MODEL_WEIGHTS] = array_of(FLOAT8OID, model->weight, model->n, sizeof(double));
	values[MODEL_PLACES] = array_of(INT4OID, model->place, model->place == NULL ? 0 : model->n, sizeof(int32));
	values[MODEL_N_ROLLOUTS] = Int64GetDatum(model->n_rollouts);
	values[MODEL_N_STEPS] = Int64GetDatum(model->n_steps);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

static void
refuse_model(const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid progress_model"),
			 errdetail_internal("%s", problem),
			 errhint("progress_fit makes models.")));
}

static bool
is_logistic(text *loss)
{
	int			length = VARSIZE_ANY_EXHDR(loss);

	if (length == 8 && memcmp(VARDATA_ANY(loss), "logistic", 8) == 0)
		return true;
	if (length != 7 || memcmp(VARDATA_ANY(loss), "squared", 7) != 0)
		refuse_model("Its loss is neither squared nor logistic.");
	return false;
}

/* The elements of one of the arrays; NULL if it is empty. */
static const void *
elements_of(Datum datum, int *n)
{
	ArrayType  *array = DatumGetArrayTypeP(datum);

	if (ARR_NDIM(array) > 1 || array_contains_nulls(array))
		refuse_model("Weights and indices must have one dimension and no nulls.");
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return *n == 0 ? NULL : ARR_DATA_PTR(array);
}

static void
read_model(HeapTupleHeader row, TupleDesc desc, ProgressModel *model)
{
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row), .t_data = row};
	Datum		values[N_MODEL_COLUMNS];
	bool		nulls[N_MODEL_COLUMNS];
	int			n_places;

	if (desc->natts != N_MODEL_COLUMNS)
		elog(ERROR, "progress_model is not declared as its C code expects");
	heap_deform_tuple(&tuple, desc, values, nulls);
	if (nulls[MODEL_LOSS] || nulls[MODEL_INTERCEPT] || nulls[MODEL_WEIGHTS] || nulls[MODEL_PLACES])
		refuse_model("Its loss, intercept, weights or indices are null.");
	model->logistic = is_logistic(DatumGetTextPP(values[MODEL_LOSS]));
	model->intercept = DatumGetFloat8(values[MODEL_INTERCEPT]);
	model->weight = elements_of(values[MODEL_WEIGHTS], &model->n);
	model->place = elements_of(values[MODEL_PLACES], &n_places);
	if (model->weight == NULL || (model->place != NULL && n_places != model->n))
		refuse_model("It must have weights, and as many indices or none.");
}

typedef struct ModelCache
{
	TupleDesc	desc;
	ProgressModel model;
	struct varatt_external pointer; /* of the cached model, if stored out of line; zeros: none */
	MemoryContext context;
} ModelCache;

const ProgressModel *
progress_model_argument(FunctionCallInfo fcinfo)
{
	Datum		datum = PG_GETARG_DATUM(0);
	bool		is_stored = VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum));
	struct varatt_external pointer = {0};
	ModelCache *cache = fcinfo->flinfo->fn_extra;
	MemoryContext old = CurrentMemoryContext;
	HeapTupleHeader row;

	if (cache == NULL)
	{
		cache = fcinfo->flinfo->fn_extra = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(ModelCache));
		cache->context = AllocSetContextCreate(fcinfo->flinfo->fn_mcxt, "stepadv progress_model", ALLOCSET_SMALL_SIZES);
	}
	/* A toast pointer identifies its value for as long as the query can see it. */
	if (is_stored)
	{
		VARATT_EXTERNAL_GET_POINTER(pointer, DatumGetPointer(datum));
		if (memcmp(&cache->pointer, &pointer, sizeof(pointer)) == 0)
			return &cache->model;
		MemoryContextReset(cache->context);
		MemoryContextSwitchTo(cache->context);
	}
	/* Invalidate the cache first, in case of an error below. */
	memset(&cache->pointer, 0, sizeof(cache->pointer));
	row = DatumGetHeapTupleHeader(datum);
	if (cache->desc == NULL)
	{
		MemoryContext here = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);

		cache->desc = lookup_rowtype_tupdesc_copy(HeapTupleHeaderGetTypeId(row), HeapTupleHeaderGetTypMod(row));
		MemoryContextSwitchTo(here);
	}
	read_model(row, cache->desc, &cache->model);
	MemoryContextSwitchTo(old);
	cache->pointer = pointer;
	return &cache->model;
}

/*
 * rollout_arrays.c
 *		Columns with an entry per step as SQL arrays, one per rollout.
 *
 * Elements are copied as they are, a rollout at a time: no Datum is made of any.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "arrays.h"
#include "rollout_arrays.h"

/* What the elements of a column are. */
typedef struct ElementType
{
	Oid			type;
	Size		width;
	ColumnType	array;			/* a column of arrays of them */
} ElementType;

static ElementType
element_type(ColumnType type)
{
	switch (type)
	{
		case COLUMN_INT8:
			return (ElementType) {INT8OID, sizeof(int64), COLUMN_INT8_ARRAY};
		case COLUMN_INT4:
			return (ElementType) {INT4OID, sizeof(int32), COLUMN_INT4_ARRAY};
		case COLUMN_FLOAT8:
			return (ElementType) {FLOAT8OID, sizeof(double), COLUMN_FLOAT8_ARRAY};
		default:
			elog(ERROR, "no arrays are made of columns of type %d", (int) type);
	}
}

static ArrayType *
allocate_array(const ElementType *element, uint32 n, uint32 n_nulls)
{
	Size		header = n_nulls > 0 ? ARR_OVERHEAD_WITHNULLS(1, n) : ARR_OVERHEAD_NONULLS(1);
	Size		size = header + (Size) (n - n_nulls) * element->width;
	ArrayType  *array = palloc(size);

	/* Padding is part of what is stored and compared. */
	memset(array, 0, header);
	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->dataoffset = n_nulls > 0 ? (int32) header : 0;
	array->elemtype = element->type;
	ARR_DIMS(array)[0] = (int) n;
	ARR_LBOUND(array)[0] = 1;
	return array;
}

/* NaN in a column is NULL in SQL. */
static ArrayType *
array_of_numbers(const ElementType *element, const double *numbers, uint32 n)
{
	ArrayType  *array;
	uint8	   *present;
	double	   *next;
	uint32		n_nulls = 0;

	for (uint32 i = 0; i < n; i++)
		n_nulls += isnan(numbers[i]) != 0;
	array = allocate_array(element, n, n_nulls);
	next = (double *) ARR_DATA_PTR(array);
	if (n_nulls == 0)
	{
		memcpy(next, numbers, n * sizeof(double));
		return array;
	}
	present = ARR_NULLBITMAP(array);
	for (uint32 i = 0; i < n; i++)
		if (!isnan(numbers[i]))
		{
			present[i / 8] |= 1 << (i % 8);
			*next++ = numbers[i];
		}
	return array;
}

static ArrayType *
array_of_rollout(const ElementType *element, const void *values, uint32 first, uint32 n)
{
	const char *entries = (const char *) values + (Size) first * element->width;
	ArrayType  *array;

	if (element->type == FLOAT8OID)
		return array_of_numbers(element, (const double *) entries, n);
	array = allocate_array(element, n, 0);
	memcpy(ARR_DATA_PTR(array), entries, n * element->width);
	return array;
}

ResultColumn
column_of_arrays(const ResultColumn *by_step)
{
	return (ResultColumn) {by_step->name, element_type(by_step->type).array, NULL, NULL};
}

ResultColumn
arrays_by_rollout(const GroupColumns *group, const ResultColumn *by_step, const bool *unknown)
{
	ElementType element = element_type(by_step->type);
	ArrayType **arrays = ALLOCATE_ARRAY(ArrayType *, group->n_rollouts);
	ResultColumn column = column_of_arrays(by_step);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		first = group->first_step[r];
		uint32		n = group->first_step[r + 1] - first;

		if (n == 0)
			arrays[r] = construct_empty_array(element.type);
		else if (unknown != NULL && unknown[r])
			arrays[r] = allocate_array(&element, n, n);
		else
			arrays[r] = array_of_rollout(&element, by_step->values, first, n);
		CHECK_FOR_INTERRUPTS();
	}
	column.values = arrays;
	return column;
}

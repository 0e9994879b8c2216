/*
 * arrays.c
 *		Allocation, zeroing and copying of large arrays in pieces, as page faults would delay a cancel; SQL
 *		arrays.
 */
#include "postgres.h"

#include "arrays.h"

void *
allocate_zeroed(MemoryContext context, Size size)
{
	char	   *array;

	if (size < LARGE_PIECE)
		return MemoryContextAllocZero(context, size);
	CHECK_FOR_INTERRUPTS();
	array = MemoryContextAllocHuge(context, size);
	for (Size done = 0; done < size; done += LARGE_PIECE)
	{
		memset(array + done, 0, Min(LARGE_PIECE, size - done));
		CHECK_FOR_INTERRUPTS();
	}
	return array;
}

void
copy_large(void *to, const void *from, Size size)
{
	for (Size done = 0; done < size; done += LARGE_PIECE)
	{
		memcpy((char *) to + done, (const char *) from + done, Min(LARGE_PIECE, size - done));
		if (size > LARGE_PIECE)
			CHECK_FOR_INTERRUPTS();
	}
}

ArrayType *
zeroed_vector(Oid type, int n, Size width)
{
	uint64		size = ARR_OVERHEAD_NONULLS(1) + (uint64) n * width;
	ArrayType  *vector;

	if (n == 0)
		return construct_empty_array(type);
	if (size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("an array of %d elements is too large", n)));
	vector = palloc0(size);
	SET_VARSIZE(vector, size);
	vector->ndim = 1;
	vector->elemtype = type;
	ARR_DIMS(vector)[0] = n;
	ARR_LBOUND(vector)[0] = 1;
	return vector;
}

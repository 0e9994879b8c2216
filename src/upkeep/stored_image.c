/*
 * stored_image.c
 *		stored_image(value): the bytes of a value as they are stored.
 *
 * Whether an update changed a column is asked of every row of it.  Where a value is
 * outside its row, as the tokens of a step do, these bytes contain the place, and what was not
 * changed is at the same place: nothing of it is read.  Two that have the same bytes are
 * the same; two that have not may be.
 */
#include "postgres.h"

#include "fmgr.h"

#include "compat.h"

PG_FUNCTION_INFO_V1(stepadv_stored_image);

/* stored_image(value anyarray) */
Datum
stepadv_stored_image(PG_FUNCTION_ARGS)
{
	struct varlena *value = (struct varlena *) PG_GETARG_POINTER(0);
	Size		size;
	bytea	   *image;

	/* In memory alone: that is no place that another could not have later. */
	if (VARATT_IS_EXTERNAL(value) && !VARATT_IS_EXTERNAL_ONDISK(value))
		value = (struct varlena *) PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0));
	size = VARSIZE_ANY(value);
	image = palloc(VARHDRSZ + size);
	SET_VARSIZE(image, VARHDRSZ + size);
	memcpy(VARDATA(image), value, size);
	PG_RETURN_BYTEA_P(image);
}

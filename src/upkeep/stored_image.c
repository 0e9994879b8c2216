/*
 * stored_image.c
 *		stored_image(value): the bytes of a value as stored.
 *
 * They tell for each row of an update whether a column changed.  If a value is stored out of line, like the
 * tokens of a step, these bytes contain its location.  An unchanged value stays where it is, so nothing of it
 * is read.  Equal bytes mean equal values; different bytes prove nothing.
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

	/* A value in memory only has no lasting location: take its contents. */
	if (VARATT_IS_EXTERNAL(value) && !VARATT_IS_EXTERNAL_ONDISK(value))
		value = (struct varlena *) PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0));
	size = VARSIZE_ANY(value);
	image = palloc(VARHDRSZ + size);
	SET_VARSIZE(image, VARHDRSZ + size);
	memcpy(VARDATA(image), value, size);
	PG_RETURN_BYTEA_P(image);
}

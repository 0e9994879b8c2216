/*
 * group_forms.c
 *		Text and binary input and output of rollout_group: everything after the varlena length, little-endian,
 *		as hexadecimal digits or bytes.
 */
#include "postgres.h"

#include "fmgr.h"
#include "libpq/pqformat.h"

#include "group/group_forms.h"
#include "hex.h"

PG_FUNCTION_INFO_V1(stepadv_rollout_group_in);
PG_FUNCTION_INFO_V1(stepadv_rollout_group_out);
PG_FUNCTION_INFO_V1(stepadv_rollout_group_recv);

static RolloutGroup *
checked(struct varlena *value, int sqlerrcode)
{
	RolloutGroup *datum = (RolloutGroup *) value;
	GroupColumns group;

	group_open_input(datum, &group, sqlerrcode);
	group_check(&group, sqlerrcode);
	return datum;
}

RolloutGroup *
group_from_bytes(const char *bytes, Size length)
{
	return checked(varlena_of_bytes(bytes, length), ERRCODE_INVALID_BINARY_REPRESENTATION);
}

Datum
stepadv_rollout_group_in(PG_FUNCTION_ARGS)
{
	struct varlena *value = varlena_of_hex(PG_GETARG_CSTRING(0), "rollout_group");

	PG_RETURN_POINTER(checked(value, ERRCODE_INVALID_TEXT_REPRESENTATION));
}

Datum
stepadv_rollout_group_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(hex_of_varlena(PG_GETARG_VARLENA_P(0), "rollout_group"));
}

Datum
stepadv_rollout_group_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buffer = (StringInfo) PG_GETARG_POINTER(0);
	int			length = buffer->len - buffer->cursor;

	PG_RETURN_POINTER(group_from_bytes(pq_getmsgbytes(buffer, length), length));
}

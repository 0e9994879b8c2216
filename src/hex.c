#include "postgres.h"

#include "libpq/pqformat.h"
#include "utils/builtins.h"

#include "arrays.h"
#include "hex.h"

PG_FUNCTION_INFO_V1(stepadv_varlena_send);

char *
hex_of_varlena(const struct varlena *value, const char *type)
{
	Size		length = VARSIZE(value) - VARHDRSZ;
	char	   *text;

	if (length > (MaxAllocSize - 3) / 2)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%zu bytes of a %s are too many for its text form", length, type),
				 errhint("Read it in binary form, by COPY with FORMAT binary.")));
	text = allocate_large(2 * length + 3);
	text[0] = '\\';
	text[1] = 'x';
	for (Size done = 0; done < length; done += LARGE_PIECE)
	{
		(void) hex_encode((const char *) value + VARHDRSZ + done, Min(LARGE_PIECE, length - done), text + 2 + 2 * done);
		CHECK_FOR_INTERRUPTS();
	}
	text[2 * length + 2] = '\0';
	return text;
}

struct varlena *
varlena_of_hex(const char *text, const char *type)
{
	size_t		n = strlen(text);
	bool		valid = n >= 2 && n % 2 == 0 && text[0] == '\\' && text[1] == 'x';
	struct varlena *value = palloc(VARHDRSZ + n / 2);

	for (size_t done = 2; valid && done < n; done += 2 * LARGE_PIECE)
	{
		size_t		piece = Min(2 * LARGE_PIECE, n - done);

		for (size_t i = done; i < done + piece; i++)
			valid &= isxdigit((unsigned char) text[i]) != 0;
		if (valid)
			(void) hex_decode(text + done, piece, (char *) value + VARHDRSZ + (done - 2) / 2);
		CHECK_FOR_INTERRUPTS();
	}
	if (!valid)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type %s", type),
				 errhint("The text form is \\x followed by hexadecimal digits.")));
	SET_VARSIZE(value, VARHDRSZ + (n - 2) / 2);
	return value;
}

struct varlena *
varlena_of_bytes(const char *bytes, Size length)
{
	struct varlena *value = palloc(VARHDRSZ + length);

	SET_VARSIZE(value, VARHDRSZ + length);
	copy_large((char *) value + VARHDRSZ, bytes, length);
	return value;
}

/* The send function of these types. */
Datum
stepadv_varlena_send(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);
	StringInfoData buffer;

	pq_begintypsend(&buffer);
	pq_sendbytes(&buffer, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
	PG_RETURN_BYTEA_P(pq_endtypsend(&buffer));
}

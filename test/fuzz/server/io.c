/*
 * io.c
 *		Fuzzing of text and binary forms of types.
 *
 * An accepted value must be unchanged after output and input in both forms.  A refused
 * one must raise an error other than an internal error.  A crash is a finding too, for
 * which note_input() keeps the input.
 */
#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "io.h"
#include "pool.h"

PG_FUNCTION_INFO_V1(fuzz_type);

void
find_forms(Oid type, TypeForms *forms)
{
	Oid			function;
	bool		is_varlena;

	getTypeInputInfo(type, &function, &forms->in_parameter);
	fmgr_info(function, &forms->in);
	getTypeOutputInfo(type, &function, &is_varlena);
	fmgr_info(function, &forms->out);
	getTypeBinaryInputInfo(type, &function, &forms->receive_parameter);
	fmgr_info(function, &forms->receive);
	getTypeBinaryOutputInfo(type, &function, &is_varlena);
	fmgr_info(function, &forms->send);
}

static Datum
read_binary(TypeForms *forms, const char *bytes, int length)
{
	StringInfoData buffer;
	Datum		value;

	initStringInfo(&buffer);
	appendBinaryStringInfo(&buffer, bytes, length);
	value = ReceiveFunctionCall(&forms->receive, &buffer, forms->receive_parameter, -1);
	if (buffer.cursor != buffer.len)
		elog(ERROR, "%d bytes are left", buffer.len - buffer.cursor);
	return value;
}

Datum
as_it_comes(TypeForms *forms, Datum value)
{
	bytea	   *sent = SendFunctionCall(&forms->send, value);

	return read_binary(forms, VARDATA_ANY(sent), VARSIZE_ANY_EXHDR(sent));
}

static bool
same(bytea *a, bytea *b)
{
	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) && memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

const char *
round_trip(TypeForms *forms, Datum value)
{
	bytea	   *sent = SendFunctionCall(&forms->send, value);
	char	   *text = OutputFunctionCall(&forms->out, value);
	Datum		from_text = InputFunctionCall(&forms->in, text, forms->in_parameter, -1);
	Datum		from_binary = read_binary(forms, VARDATA_ANY(sent), VARSIZE_ANY_EXHDR(sent));

	if (strcmp(OutputFunctionCall(&forms->out, from_text), text) != 0)
		return "its text comes back as another text";
	if (!same(SendFunctionCall(&forms->send, from_text), sent))
		return "its text comes back as another value";
	if (!same(SendFunctionCall(&forms->send, from_binary), sent))
		return "its binary form comes back as another value";
	return NULL;
}

/* Returns whether the input was accepted. */
static bool
try_input(TypeForms *forms, bool binary, char *input, int length)
{
	MemoryContext caller = CurrentMemoryContext;
	volatile bool accepted = false;
	const char *volatile problem = NULL;

	PG_TRY();
	{
		Datum		value = binary ? read_binary(forms, input, length)
			: InputFunctionCall(&forms->in, input, forms->in_parameter, -1);

		accepted = true;
		problem = round_trip(forms, value);
	}
	PG_CATCH();
	{
		int			code = geterrcode();

		if (accepted || code == ERRCODE_INTERNAL_ERROR || code == ERRCODE_QUERY_CANCELED || code == ERRCODE_ADMIN_SHUTDOWN)
			PG_RE_THROW();
		MemoryContextSwitchTo(caller);
		FlushErrorState();
	}
	PG_END_TRY();
	if (problem != NULL)
	{
		StringInfoData hex;

		initStringInfo(&hex);
		for (int i = 0; i < length; i++)
			appendStringInfo(&hex, "%02x", (unsigned char) input[i]);
		ereport(ERROR, (errmsg_internal("%s", problem), errdetail_internal("Its bytes are %s.", hex.data)));
	}
	return accepted;
}

/* fuzz_type(type regtype, binary boolean, given bytea[], seconds float8, seed bigint) text */
Datum
fuzz_type(PG_FUNCTION_ARGS)
{
	Oid			type = PG_GETARG_OID(0);
	bool		binary = PG_GETARG_BOOL(1);
	Pool	   *pool = make_pool(PG_GETARG_ARRAYTYPE_P(2), PG_GETARG_INT64(4));
	TimestampTz end = GetCurrentTimestamp() + (int64) (PG_GETARG_FLOAT8(3) * 1e6);
	MemoryContext run = AllocSetContextCreate(CurrentMemoryContext, "fuzz run", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(run);
	char	   *input = MemoryContextAlloc(caller, MOST_BYTES + 1);
	char	   *what = MemoryContextStrdup(caller, psprintf("%s of type %s", binary ? "binary form" : "text", format_type_be(type)));
	int64		n = 0;
	int64		n_accepted = 0;
	TypeForms	forms;

	MemoryContextSwitchTo(caller);
	find_forms(type, &forms);
	MemoryContextSwitchTo(run);
	while (n % 256 != 0 || GetCurrentTimestamp() < end)
	{
		int			length = make_input(pool, input);

		CHECK_FOR_INTERRUPTS();
		if (!binary)
			make_valid_text(input, length);
		note_input(what, input, length);
		if (try_input(&forms, binary, input, length))
		{
			n_accepted++;
			keep_input(pool, input, length);
		}
		n++;
		MemoryContextReset(run);
	}
	MemoryContextSwitchTo(caller);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf(INT64_FORMAT " inputs, " INT64_FORMAT " accepted", n, n_accepted)));
}

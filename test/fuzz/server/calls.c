/*
 * calls.c
 *		Calls functions with random bytes as arguments.
 *
 * Bytes of value 1 separate the arguments of an input, which are read by type: text
 * as it is, jsonb and others by their input functions, elements of text[] between
 * bytes of value 2.  A missing argument is NULL.  Findings are internal errors,
 * crashes, and values of our types that differ after output and input of their text
 * or binary form.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "io.h"
#include "pool.h"

PG_FUNCTION_INFO_V1(fuzz_function);

#define MAX_ARGUMENTS 24

typedef struct Callee
{
	FmgrInfo	function;
	bool		strict;
	int			n;
	Oid			type[MAX_ARGUMENTS];
	FmgrInfo	in[MAX_ARGUMENTS];
	Oid			in_parameter[MAX_ARGUMENTS];
	bool		has_forms;		/* the result has one of our types */
	TypeForms	result;
} Callee;

static void
find_callee(Oid function, Callee *callee)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "no function %u", function);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	callee->n = form->pronargs;
	callee->strict = form->proisstrict;
	if (callee->n > MAX_ARGUMENTS || form->proretset || form->prokind != PROKIND_FUNCTION)
		elog(ERROR, "function %u is not one that is called here", function);
	for (int i = 0; i < callee->n; i++)
	{
		Oid			in;

		callee->type[i] = form->proargtypes.values[i];
		getTypeInputInfo(callee->type[i], &in, &callee->in_parameter[i]);
		fmgr_info(in, &callee->in[i]);
	}
	callee->has_forms = get_typtype(form->prorettype) == TYPTYPE_BASE && form->prorettype >= FirstNormalObjectId;
	if (callee->has_forms)
		find_forms(form->prorettype, &callee->result);
	ReleaseSysCache(tuple);
	fmgr_info(function, &callee->function);
}

/* The next piece, or NULL at the end. */
static char *
cut(char **rest, char mark)
{
	char	   *piece = *rest;
	char	   *end = piece == NULL ? NULL : strchr(piece, mark);

	*rest = end == NULL ? NULL : end + 1;
	if (end != NULL)
		*end = '\0';
	return piece;
}

static Datum
text_array(char *piece)
{
	Datum		elements[256];
	int			n = 0;
	char	   *element;

	while (n < 256 && (element = cut(&piece, '\2')) != NULL)
		elements[n++] = CStringGetTextDatum(element);
	return PointerGetDatum(construct_array(elements, n, TEXTOID, -1, false, TYPALIGN_INT));
}

static void
read_arguments(Callee *callee, char *input, NullableDatum *arguments)
{
	for (int i = 0; i < callee->n; i++)
	{
		char	   *piece = cut(&input, '\1');

		arguments[i].isnull = piece == NULL;
		if (piece == NULL)
			arguments[i].value = (Datum) 0;
		else if (callee->type[i] == TEXTOID)
			arguments[i].value = CStringGetTextDatum(piece);
		else if (callee->type[i] == TEXTARRAYOID)
			arguments[i].value = text_array(piece);
		else
			arguments[i].value = InputFunctionCall(&callee->in[i], piece, callee->in_parameter[i], -1);
	}
}

/* Returns whether the function returned a result. */
static bool
try_call(Callee *callee, char *input)
{
	MemoryContext caller = CurrentMemoryContext;
	volatile bool answered = false;
	const char *volatile problem = NULL;

	PG_TRY();
	{
		LOCAL_FCINFO(call, MAX_ARGUMENTS);
		bool		has_null = false;

		InitFunctionCallInfoData(*call, &callee->function, callee->n, DEFAULT_COLLATION_OID, NULL, NULL);
		read_arguments(callee, input, call->args);
		for (int i = 0; i < callee->n; i++)
			has_null = has_null || call->args[i].isnull;
		if (!callee->strict || !has_null)
		{
			Datum		result = FunctionCallInvoke(call);

			answered = true;
			if (callee->has_forms && !call->isnull)
				problem = round_trip(&callee->result, as_it_comes(&callee->result, result));
		}
	}
	PG_CATCH();
	{
		int			code = geterrcode();

		if (answered || code == ERRCODE_INTERNAL_ERROR || code == ERRCODE_QUERY_CANCELED || code == ERRCODE_ADMIN_SHUTDOWN)
			PG_RE_THROW();
		MemoryContextSwitchTo(caller);
		FlushErrorState();
	}
	PG_END_TRY();
	if (problem != NULL)
		elog(ERROR, "%s", problem);
	return answered;
}

/* fuzz_function(function regprocedure, given bytea[], seconds float8, seed bigint) text */
Datum
fuzz_function(PG_FUNCTION_ARGS)
{
	Oid			function = PG_GETARG_OID(0);
	Pool	   *pool = make_pool(PG_GETARG_ARRAYTYPE_P(1), PG_GETARG_INT64(3));
	TimestampTz end = GetCurrentTimestamp() + (int64) (PG_GETARG_FLOAT8(2) * 1e6);
	MemoryContext run = AllocSetContextCreate(CurrentMemoryContext, "fuzz run", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = CurrentMemoryContext;
	char	   *input = palloc(MOST_BYTES + 1);
	char	   *whole = palloc(MOST_BYTES + 1);
	char	   *what = get_func_name(function);
	int64		n = 0;
	int64		n_answered = 0;
	Callee		callee;

	find_callee(function, &callee);
	MemoryContextSwitchTo(run);
	while (n % 256 != 0 || GetCurrentTimestamp() < end)
	{
		int			length = make_input(pool, input);

		CHECK_FOR_INTERRUPTS();
		make_valid_text(input, length);
		memcpy(whole, input, length + 1);
		note_input(what, input, length);
		if (try_call(&callee, input))
		{
			n_answered++;
			keep_input(pool, whole, length);
		}
		n++;
		MemoryContextReset(run);
	}
	MemoryContextSwitchTo(caller);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf(INT64_FORMAT " inputs, " INT64_FORMAT " answered", n, n_answered)));
}

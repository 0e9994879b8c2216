/*
 * declaration.c
 *		Looking names and types of arguments and result columns up in pg_proc.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "compat.h"
#include "declaration.h"

Declaration *
make_declaration(FmgrInfo *function)
{
	function->fn_extra = MemoryContextAllocZero(function->fn_mcxt, sizeof(Declaration));
	return function->fn_extra;
}

/* Names of one kind, arguments or result columns, in the order declared. */
typedef struct Declared
{
	int			n;
	const char **names;			/* "" where there is none */
	Oid		   *types;
} Declared;

static bool
is_column(char mode)
{
	return mode == PROARGMODE_TABLE || mode == PROARGMODE_OUT;
}

/* What is declared, in the current memory context. */
static Declared
read_declared(Oid function, bool columns)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Declared	declared = {0};
	Oid		   *types;
	char	  **names;
	char	   *modes;
	int			n;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	n = get_func_arg_info(tuple, &types, &names, &modes);
	ReleaseSysCache(tuple);
	declared.names = palloc(Max(n, 1) * sizeof(char *));
	declared.types = palloc(Max(n, 1) * sizeof(Oid));
	for (int i = 0; i < n; i++)
	{
		if (columns != (modes != NULL && is_column(modes[i])))
			continue;
		declared.names[declared.n] = names ? names[i] : "";
		declared.types[declared.n++] = types[i];
	}
	return declared;
}

static _Noreturn pg_noinline void
refuse_declaration(Oid function, const char *lacks, const char *name, Oid type)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
			 errmsg("function %s is not declared as its C code expects", format_procedure(function)),
			 errdetail("It has no %s \"%s\" of type %s.", lacks, name, format_type_be(type))));
}

/* By what is expected: its number among what is declared from `first` on. */
static int16 *
match(FmgrInfo *function, bool columns, int first, const Expected *expected, int n)
{
	Declared	declared = read_declared(function->fn_oid, columns);
	int16	   *places = MemoryContextAlloc(function->fn_mcxt, Max(n, 1) * sizeof(int16));

	for (int e = 0; e < n; e++)
	{
		int			place = first;
		Oid			type = expected[e].type == TYPE_OF_FIRST_ARGUMENT ? declared.types[0] : expected[e].type;

		while (place < declared.n && strcmp(declared.names[place], expected[e].name) != 0)
			place++;
		if (place == declared.n || declared.types[place] != type)
			refuse_declaration(function->fn_oid, columns ? "result column" : "parameter", expected[e].name, type);
		places[e] = place;
	}
	/* Names differ, so what is left over is known to C by none. */
	if (declared.n != first + n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("function %s is not declared as its C code expects", format_procedure(function->fn_oid)),
				 errdetail("It has %d %s, not %d.", declared.n, columns ? "result columns" : "parameters", first + n)));
	return places;
}

void
match_arguments(FmgrInfo *function, int first, const Expected *expected, int n)
{
	declaration_of(function)->arguments = match(function, false, first, expected, n);
}

void
match_columns(FmgrInfo *function, const Expected *expected, int n)
{
	declaration_of(function)->columns = match(function, true, 0, expected, n);
}

void
require_group_argument(FmgrInfo *function)
{
	Declared	declared = read_declared(function->fn_oid, false);
	HeapTuple	type = declared.n > 0 ? SearchSysCache1(TYPEOID, ObjectIdGetDatum(declared.types[0])) : NULL;
	bool		is_group = HeapTupleIsValid(type) &&
		strcmp(NameStr(((Form_pg_type) GETSTRUCT(type))->typname), "rollout_group") == 0;

	if (HeapTupleIsValid(type))
		ReleaseSysCache(type);
	if (!is_group)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("function %s is not declared as its C code expects", format_procedure(function->fn_oid)),
				 errdetail("Its first parameter is not of type rollout_group.")));
}

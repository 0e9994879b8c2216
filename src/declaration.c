#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
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

/* Names and types of arguments or of result columns, as declared. */
typedef struct Declared
{
	int			n;
	const char **names;			/* "" if it has no name */
	Oid		   *types;
} Declared;

static bool
is_column(char mode)
{
	return mode == PROARGMODE_TABLE || mode == PROARGMODE_OUT;
}

/* Read the declaration, into the current memory context. */
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

/* For each expected name, its index among those declared from first on.  Allocated in context. */
static int16 *
find_places(MemoryContext context, Oid function, bool columns, int first, const Expected *expected, int n)
{
	Declared	declared = read_declared(function, columns);
	int16	   *places = MemoryContextAlloc(context, Max(n, 1) * sizeof(int16));

	for (int e = 0; e < n; e++)
	{
		int			place = first;
		Oid			type = expected[e].type == TYPE_OF_FIRST_ARGUMENT ? declared.types[0] : expected[e].type;

		while (place < declared.n && strcmp(declared.names[place], expected[e].name) != 0)
			place++;
		if (place == declared.n || declared.types[place] != type)
			refuse_declaration(function, columns ? "result column" : "parameter", expected[e].name, type);
		places[e] = place;
	}
	/* Expected names differ, so a surplus means that the C code does not know some of those declared. */
	if (declared.n != first + n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("function %s is not declared as its C code expects", format_procedure(function)),
				 errdetail("It has %d %s, not %d.", declared.n, columns ? "result columns" : "parameters", first + n)));
	return places;
}

/* ----------
 * Cache of results for the session, until any function is redeclared
 *
 * For a query over one group, the comparison would take longer than the computation.
 * ----------
 */

typedef enum Sought
{
	ARGUMENTS,
	COLUMNS,
	GROUP_ARGUMENT
} Sought;

typedef struct Found
{
	struct
	{
		Oid			function;
		Sought		sought;
	}			key;
	int			n;
	int16	   *places;
} Found;

static HTAB *all_found = NULL;
static MemoryContext found_context = NULL;
static uint64 n_declared = 0;	/* number of invalidations of functions */
static uint64 found_at = 0;		/* this number when the cache was created */

static void
forget_found(Datum argument, int cache, uint32 hash)
{
	n_declared++;
}

static void
begin_found(void)
{
	HASHCTL		control = {.keysize = sizeof(((Found *) NULL)->key), .entrysize = sizeof(Found)};

	if (found_context == NULL)
	{
		found_context = AllocSetContextCreate(CacheMemoryContext, "stepadv declarations", ALLOCSET_SMALL_SIZES);
		CacheRegisterSyscacheCallback(PROCOID, forget_found, (Datum) 0);
	}
	all_found = NULL;
	MemoryContextReset(found_context);
	control.hcxt = found_context;
	all_found = hash_create("stepadv declarations", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	found_at = n_declared;
}

static const Found *
find_found(Oid function, Sought sought)
{
	Found		wanted = {.key = {function, sought}};

	if (all_found == NULL || found_at != n_declared)
		begin_found();
	return hash_search(all_found, &wanted.key, HASH_FIND, NULL);
}

/* Unless the function has been invalidated meanwhile. */
static void
remember_found(const Found *found)
{
	if (found_at == n_declared)
		*(Found *) hash_search(all_found, &found->key, HASH_ENTER, NULL) = *found;
}

static int16 *
match(FmgrInfo *function, bool columns, int first, const Expected *expected, int n)
{
	Sought		sought = columns ? COLUMNS : ARGUMENTS;
	const Found *known = find_found(function->fn_oid, sought);
	Found		found = {.key = {function->fn_oid, sought}, .n = n};
	int16	   *places = MemoryContextAlloc(function->fn_mcxt, Max(n, 1) * sizeof(int16));

	if (known != NULL && known->n == n)
	{
		memcpy(places, known->places, n * sizeof(int16));
		return places;
	}
	found.places = find_places(found_context, function->fn_oid, columns, first, expected, n);
	memcpy(places, found.places, n * sizeof(int16));
	remember_found(&found);
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
	Found		found = {.key = {function->fn_oid, GROUP_ARGUMENT}};
	Declared	declared;
	HeapTuple	type;
	bool		is_group;

	if (find_found(function->fn_oid, GROUP_ARGUMENT) != NULL)
		return;
	declared = read_declared(function->fn_oid, false);
	type = declared.n > 0 ? SearchSysCache1(TYPEOID, ObjectIdGetDatum(declared.types[0])) : NULL;
	is_group = HeapTupleIsValid(type) &&
		strcmp(NameStr(((Form_pg_type) GETSTRUCT(type))->typname), "rollout_group") == 0;
	if (HeapTupleIsValid(type))
		ReleaseSysCache(type);
	if (!is_group)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("function %s is not declared as its C code expects", format_procedure(function->fn_oid)),
				 errdetail("Its first parameter is not of type rollout_group.")));
	remember_found(&found);
}

/*
 * as_owner.c
 *		Public functions that run as the owner of a relation.
 *
 * stepadv_as_owner is the body of public functions that may run code of the owner of their first argument, a
 * relation: views, triggers, casts, defaults.  It calls the function with the same name and argument types in
 * the internal schema.  A superuser, or anybody else with the owner's privileges, becomes the owner for the
 * call, as in REFRESH MATERIALIZED VIEW and CREATE INDEX, so that the owner's code runs with the owner's
 * privileges.
 *
 * If there is no such function, but one with (regclass, jsonb), it gets the further arguments as one object,
 * by name: {"min_t": 2, "sign": "any", ...}.
 *
 * Errors of the internal function are reported without the PL/pgSQL context, which does not help users.
 * stepadv_as_caller does only this.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "attach/names.h"
#include "attach/owner.h"
#include "compat.h"

PG_FUNCTION_INFO_V1(stepadv_as_caller);
PG_FUNCTION_INFO_V1(stepadv_as_owner);

/* Kept between the calls of a query. */
typedef struct Inner
{
	FmgrInfo	function;
	bool		takes_relation; /* as its first argument */
	TupleDesc	options;		/* the others, if they are passed as one object; else NULL */
} Inner;

static HeapTuple
procedure(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	return tuple;
}

/*
 * Is a function the counterpart of a public one: of the same extension, with the same result?  The owner of a
 * trusted extension need not be a superuser, and can add functions to it: those do not count.
 */
static bool
is_counterpart(Oid inner, Oid outer, Form_pg_proc outer_proc)
{
	Oid			extension = getExtensionOfObject(ProcedureRelationId, outer);
	HeapTuple	tuple;
	Form_pg_proc proc;
	bool		is;

	if (!OidIsValid(inner) || inner == outer || !OidIsValid(extension) ||
		getExtensionOfObject(ProcedureRelationId, inner) != extension)
		return false;
	tuple = procedure(inner);
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	is = proc->prokind == PROKIND_FUNCTION &&
		proc->prorettype == outer_proc->prorettype && proc->proretset == outer_proc->proretset &&
		(proc->proowner == outer_proc->proowner || superuser_arg(proc->proowner));
	ReleaseSysCache(tuple);
	return is;
}

/* All arguments but the first as columns of a row. */
static TupleDesc
describe_options(HeapTuple tuple)
{
	Oid		   *types;
	char	  **names;
	char	   *modes;
	int			n = ((Form_pg_proc) GETSTRUCT(tuple))->pronargs;
	TupleDesc	options = CreateTemplateTupleDesc(n - 1);

	(void) get_func_arg_info(tuple, &types, &names, &modes);
	for (int i = 1; i < n; i++)
		TupleDescInitEntry(options, (AttrNumber) i, names ? names[i] : "", types[i], -1, 0);
	finish_tuple_desc(options);
	return BlessTupleDesc(options);
}

/*
 * Find the counterpart of a public function by its exact name and types, so that functions of other users in
 * the schema are never called.  For a function of the internal schema itself, the name ends with _as_owner.
 */
static Oid
find_inner(Oid outer, Inner *found)
{
	HeapTuple	tuple = procedure(outer);
	Form_pg_proc proc = (Form_pg_proc) GETSTRUCT(tuple);
	Oid			internal = get_namespace_oid(INTERNAL_SCHEMA, false);
	Oid			with_options[] = {REGCLASSOID, JSONBOID};
	NameData	name = proc->proname;
	Oid			inner;

	if (proc->pronamespace == internal)
		namestrcpy(&name, psprintf("%s_as_owner", NameStr(proc->proname)));
	found->takes_relation = proc->pronargs > 0 && proc->proargtypes.values[0] == REGCLASSOID;
	inner = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
							NameGetDatum(&name), PointerGetDatum(&proc->proargtypes),
							ObjectIdGetDatum(internal));
	if (!OidIsValid(inner) && found->takes_relation && proc->pronargs > 1)
	{
		inner = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
								NameGetDatum(&name), PointerGetDatum(buildoidvector(with_options, lengthof(with_options))),
								ObjectIdGetDatum(internal));
		found->options = describe_options(tuple);
	}
	if (!is_counterpart(inner, outer, proc))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function \"%s\" has no counterpart of the same extension in schema \"%s\"",
						NameStr(proc->proname), INTERNAL_SCHEMA)));
	ReleaseSysCache(tuple);
	return inner;
}

static Inner *
look_up(FmgrInfo *outer)
{
	Inner	   *inner = outer->fn_extra;
	MemoryContext old;
	Oid			function;

	if (inner != NULL)
		return inner;
	old = MemoryContextSwitchTo(outer->fn_mcxt);
	inner = palloc0(sizeof(Inner));
	function = find_inner(outer->fn_oid, inner);
	MemoryContextSwitchTo(old);
	if (may_execute(function, GetUserId()) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, get_func_name(function));
	InvokeFunctionExecuteHook(function);
	fmgr_info_cxt(function, &inner->function, outer->fn_mcxt);
	fmgr_info_set_expr(outer->fn_expr, &inner->function);
	outer->fn_extra = inner;
	return inner;
}

/* The role to run as: the owner of the relation if the caller has their privileges, else the caller. */
static Oid
role_for(FunctionCallInfo fcinfo, const Inner *inner)
{
	Oid			caller = GetUserId();
	Oid			owner;

	if (!inner->takes_relation || PG_ARGISNULL(0))
		return caller;
	owner = relation_owner(PG_GETARG_OID(0));
	return may_become(owner) ? owner : caller;
}

static bool
is_strict_and_null(FunctionCallInfo fcinfo, const FmgrInfo *function)
{
	if (function->fn_strict)
		for (int i = 0; i < PG_NARGS(); i++)
			if (PG_ARGISNULL(i))
				return true;
	return false;
}

/* The arguments after the first as a jsonb object. */
static Datum
options_of(FunctionCallInfo fcinfo, TupleDesc options)
{
	Datum	   *values = palloc(options->natts * sizeof(Datum));
	bool	   *nulls = palloc(options->natts * sizeof(bool));
	Datum		json;

	for (int i = 0; i < options->natts; i++)
	{
		values[i] = fcinfo->args[i + 1].value;
		nulls[i] = fcinfo->args[i + 1].isnull;
	}
	json = DirectFunctionCall1(row_to_json, HeapTupleGetDatum(heap_form_tuple(options, values, nulls)));
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(TextDatumGetCString(json)));
}

/* Require a caller that accepts a set, as those in FROM and target lists do. */
static ReturnSetInfo *
set_of(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;

	if (set == NULL || !IsA(set, ReturnSetInfo) || (set->allowedModes & SFRM_Materialize) == 0 ||
		set->expectedDesc == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-valued function called in context that cannot accept a set")));
	return set;
}

/*
 * Call the function with the arguments and for the result of the outer one.  Sets must be materialized: rows
 * returned one by one would be computed when the role is the caller's again.  SQL functions materialize if
 * asked.
 */
static Datum
call(FunctionCallInfo fcinfo, Inner *inner)
{
	LOCAL_FCINFO(to, FUNC_MAX_ARGS);
	FmgrInfo   *function = &inner->function;
	ReturnSetInfo *set = function->fn_retset ? set_of(fcinfo) : NULL;
	int			modes = set != NULL ? set->allowedModes : 0;
	Datum		result;

	if (is_strict_and_null(fcinfo, function))
	{
		if (set != NULL)
			set->isDone = ExprEndResult;	/* no rows */
		PG_RETURN_NULL();
	}
	InitFunctionCallInfoData(*to, function, inner->options ? 2 : PG_NARGS(), PG_GET_COLLATION(), NULL,
							 fcinfo->resultinfo);
	memcpy(to->args, fcinfo->args, to->nargs * sizeof(NullableDatum));
	if (inner->options)
	{
		to->args[1].value = options_of(fcinfo, inner->options);
		to->args[1].isnull = false;
	}
	if (set != NULL)
		set->allowedModes |= SFRM_Materialize_Preferred;
	result = FunctionCallInvoke(to);
	if (set != NULL)
	{
		set->allowedModes = modes;
		if (set->returnMode == SFRM_ValuePerCall && set->isDone == ExprMultipleResult)
			elog(ERROR, "function %u gives its rows one by one", function->fn_oid);
	}
	fcinfo->isnull = to->isnull;
	return result;
}

/*
 * Is the error one of our messages?  It comes from RAISE, and the innermost line of its context is one of our
 * functions, or a nested call has removed the context.
 */
static bool
is_our_message(const ErrorData *error)
{
	const char *ours = "PL/pgSQL function stepadv";

	return error->funcname != NULL && strcmp(error->funcname, "exec_stmt_raise") == 0 &&
		(error->context == NULL || strncmp(error->context, ours, strlen(ours)) == 0);
}

/* Call the function; errors of ours keep only the context of the outermost caller. */
static Datum
call_plainly(FunctionCallInfo fcinfo, Inner *inner)
{
	static int	depth = 0;
	ErrorContextCallback *outer = error_context_stack;
	MemoryContext context = CurrentMemoryContext;
	volatile Datum result = (Datum) 0;

	error_context_stack = NULL;
	depth++;
	PG_TRY();
	{
		result = call(fcinfo, inner);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		depth--;
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		error_context_stack = outer;
		if (is_our_message(error))
		{
			error->context = NULL;
			if (depth > 0)
				ReThrowError(error);
		}
		ThrowErrorData(error);
	}
	PG_END_TRY();
	depth--;
	error_context_stack = outer;
	return result;
}

/* Runs as the caller. */
Datum
stepadv_as_caller(PG_FUNCTION_ARGS)
{
	return call_plainly(fcinfo, look_up(fcinfo->flinfo));
}

Datum
stepadv_as_owner(PG_FUNCTION_ARGS)
{
	Inner	   *inner = look_up(fcinfo->flinfo);
	Oid			role = role_for(fcinfo, inner);
	Oid			caller;
	int			context;
	int			settings;
	Datum		result;

	GetUserIdAndSecContext(&caller, &context);
	if (role == caller)
		return call_plainly(fcinfo, inner);

	/*
	 * Restrictions of the caller continue to apply.  Role, security context and settings are restored here on
	 * success; after an error, the end of the transaction or subtransaction that caught it restores them.
	 */
	SetUserIdAndSecContext(role, context | SECURITY_RESTRICTED_OPERATION);
	settings = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	result = call_plainly(fcinfo, inner);
	AtEOXact_GUC(false, settings);
	SetUserIdAndSecContext(caller, context);
	return result;
}

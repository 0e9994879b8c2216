/*
 * action_signature.c
 *		action_signature, call_effects, action_category and the vocabulary in SQL.
 *
 * All are IMMUTABLE, so that generated columns and indexes can use signatures.  They read the built-in
 * vocabulary and the jsonb argument `vocabulary`, never a table.  user_vocabulary() makes such a value from
 * the configuration table.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "parameters.h"
#include "rows.h"
#include "signatures/read_call.h"

PG_FUNCTION_INFO_V1(stepadv_action_signature);
PG_FUNCTION_INFO_V1(stepadv_action_category);
PG_FUNCTION_INFO_V1(stepadv_call_effects);
PG_FUNCTION_INFO_V1(stepadv_builtin_vocabulary);

/* In the order of ContentHash. */
static const char *const content_hashes[] = {"md5", "xxh3", "none", NULL};

/* The result of the call, from the argument `ok`. */
static CallResult
result_argument(FunctionCallInfo fcinfo, int argument)
{
	if (PG_ARGISNULL(argument))
		return RESULT_UNKNOWN;
	return PG_GETARG_BOOL(argument) ? RESULT_OK : RESULT_ERROR;
}

/* (tool, args, ok, content_hash, path, root, vocabulary) of action_signature and call_effects. */
static void
read_options(FunctionCallInfo fcinfo, SignatureOptions *options)
{
	memset(options, 0, sizeof(*options));
	options->content_hash = PG_ARGISNULL(3) ? CONTENT_NONE : choice_of_text("content_hash", content_hashes, PG_GETARG_DATUM(3));
	options->basename = !PG_ARGISNULL(4) &&
		choice_of_text("path", CHOICE_LIST("relative", "basename"), PG_GETARG_DATUM(4)) == 1;
	if (!PG_ARGISNULL(5))
	{
		text	   *root = PG_GETARG_TEXT_PP(5);

		options->root = span_make(VARDATA_ANY(root), VARSIZE_ANY_EXHDR(root));
	}
}

/*
 * action_signature(tool, args, ok, content_hash, path, root, vocabulary)
 *
 * Raises errors for invalid options only, never for tool, args or ok.
 */
Datum
stepadv_action_signature(PG_FUNCTION_ARGS)
{
	CallResult	result = result_argument(fcinfo, 2);
	SignatureOptions options;
	Effects		effects;
	StringInfoData out;

	read_options(fcinfo, &options);
	read_call(fcinfo, 6, result, &effects);
	initStringInfo(&out);
	render_call(&out, &effects, result, &options);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/* action_category(tool, args, vocabulary) */
Datum
stepadv_action_category(PG_FUNCTION_ARGS)
{
	Effects		effects;

	read_call(fcinfo, 2, RESULT_UNKNOWN, &effects);
	PG_RETURN_TEXT_P(cstring_to_text(category_name(strongest_category(&effects))));
}

/* A text column of an effect; NULL if it is empty. */
static Datum
text_or_null(StringInfo text, bool *isnull)
{
	*isnull = text->len == 0;
	return *isnull ? (Datum) 0 : PointerGetDatum(cstring_to_text_with_len(text->data, text->len));
}

/* call_effects(tool, args, ok, content_hash, path, root, vocabulary): a row per effect, in order. */
Datum
stepadv_call_effects(PG_FUNCTION_ARGS)
{
	CallResult	call = result_argument(fcinfo, 2);
	Tuplestorestate *rows = begin_rows(fcinfo, 5);
	TupleDesc	descriptor = ((ReturnSetInfo *) fcinfo->resultinfo)->expectedDesc;
	SignatureOptions options;
	Effects		effects;
	StringInfoData text;

	read_options(fcinfo, &options);
	read_call(fcinfo, 6, call, &effects);
	initStringInfo(&text);
	for (int i = 0; i < effects.n; i++)
	{
		const Effect *effect = &effects.items[i];
		CallResult	result = effect_result(effect, call);
		Datum		values[5];
		bool		nulls[5] = {false, false, false, false, false};

		values[0] = Int32GetDatum(i + 1);
		resetStringInfo(&text);
		render_effect(&text, effect, result, &options);
		values[1] = PointerGetDatum(cstring_to_text_with_len(text.data, text.len));
		values[2] = CStringGetTextDatum(category_name(effect->category));
		resetStringInfo(&text);
		render_target(&text, effect, &options);
		values[3] = text_or_null(&text, &nulls[3]);
		values[4] = BoolGetDatum(result == RESULT_OK);
		nulls[4] = result == RESULT_UNKNOWN;
		tuplestore_putvalues(rows, descriptor, values, nulls);
	}
	return (Datum) 0;
}

/* builtin_vocabulary(): the rows of vocabulary.c, for the install script. */
Datum
stepadv_builtin_vocabulary(PG_FUNCTION_ARGS)
{
	FuncCallContext *context;

	if (SRF_IS_FIRSTCALL())
	{
		TupleDesc	descriptor;
		MemoryContext caller;

		context = SRF_FIRSTCALL_INIT();
		caller = MemoryContextSwitchTo(context->multi_call_memory_ctx);
		if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "return type must be a row type");
		context->tuple_desc = BlessTupleDesc(descriptor);
		MemoryContextSwitchTo(caller);
	}
	context = SRF_PERCALL_SETUP();
	if (context->call_cntr < (uint64) n_builtin_tools)
	{
		const ToolEntry *entry = &builtin_tools[context->call_cntr];
		Datum		values[4];
		bool		nulls[4] = {false, false, false, false};

		values[0] = CStringGetTextDatum(entry->scaffold);
		values[1] = CStringGetTextDatum(entry->tool);
		values[2] = CStringGetTextDatum(entry->subcommand);
		values[3] = CStringGetTextDatum(meaning_name(entry->meaning));
		SRF_RETURN_NEXT(context, HeapTupleGetDatum(heap_form_tuple(context->tuple_desc, values, nulls)));
	}
	SRF_RETURN_DONE(context);
}

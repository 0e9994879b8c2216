/*
 * bonus.c
 *		validation_bonus(action_signature, bonus [, executions]) OVER (…)
 *
 * RTMC, equation 12: a test earns a bonus if something was changed before it, earlier in the rollout or in
 * the same call.  A window function over the steps of a rollout in their order; the frame makes no
 * difference.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "windowapi.h"

#include "compat.h"
#include "signatures/signature.h"

PG_FUNCTION_INFO_V1(stepadv_validation_bonus);

Datum
stepadv_validation_bonus(PG_FUNCTION_ARGS)
{
	WindowObject window = PG_WINDOW_OBJECT();
	bool	   *changed = WinGetPartitionLocalMemory(window, sizeof(bool));
	bool		signature_null;
	bool		bonus_null;
	bool		executions_null;
	Datum		signature = WinGetFuncArgCurrent(window, 0, &signature_null);
	Datum		bonus_value = WinGetFuncArgCurrent(window, 1, &bonus_null);
	bool		executions = DatumGetBool(WinGetFuncArgCurrent(window, 2, &executions_null));
	float8		bonus = bonus_null ? 0 : DatumGetFloat8(bonus_value);
	float8		result = 0;
	text	   *value;
	Span		rest;
	Span		effect;

	if (!isfinite(bonus))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bonus must be a finite number")));
	if (!signature_null)
	{
		value = DatumGetTextPP(signature);
		rest = span_make(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
		while (next_signature(&rest, &effect))
		{
			ParsedSignature parsed;

			CHECK_FOR_INTERRUPTS();
			parse_signature(effect, &parsed);
			if (*changed &&
				(span_is(parsed.category, "test") ||
				 (!executions_null && executions && span_is(parsed.category, "execute"))))
				result = bonus;
			if (is_change(&parsed))
				*changed = true;
		}
	}
	if (bonus_null)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(result);
}

/*
 * json_array.c
 *		Lists of numbers and truths in JSON as arrays, for importers.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "arrays.h"
#include "compat.h"
#include "import/json_array.h"

bool
is_whole_number(Words digits, int most)
{
	return digits.length <= most && strspn(digits.s, "-0123456789") == digits.length;
}

bool
json_array_datum(const JsonbValue *list, Oid type, Datum *array)
{
	int			n;
	JsonbValue *elements = json_elements(list, &n);
	Datum	   *values = ALLOCATE_ARRAY(Datum, n);

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (elements[i].type != (type == BOOLOID ? jbvBool : jbvNumeric))
			return false;
		if (type == BOOLOID)
			values[i] = BoolGetDatum(elements[i].val.boolean);
		else if (type == FLOAT4OID)
			values[i] = DirectFunctionCall1(numeric_float4, NumericGetDatum(elements[i].val.numeric));
		else
		{
			Words		digits = json_words(&elements[i]);

			if (!is_whole_number(digits, 9))
				return false;
			values[i] = Int32GetDatum(atoi(digits.s));
		}
	}
	*array = PointerGetDatum(construct_array(values, n, type, type == BOOLOID ? 1 : 4, true, type == BOOLOID ? TYPALIGN_CHAR : TYPALIGN_INT));
	return true;
}

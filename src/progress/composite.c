/*
 * composite.c
 *		Values of composite types, and arrays of them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "progress/composite.h"

TupleDesc
composite_result(FunctionCallInfo fcinfo)
{
	Oid			type = get_func_rettype(fcinfo->flinfo->fn_oid);
	Oid			element = get_element_type(type);

	return lookup_rowtype_tupdesc_copy(OidIsValid(element) ? element : type, -1);
}

TupleDesc
composite_column(TupleDesc desc, int column)
{
	return lookup_rowtype_tupdesc_copy(TupleDescAttr(desc, column)->atttypid, -1);
}

Datum
composite_value(TupleDesc desc, Datum *values, bool *nulls)
{
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

Datum
composite_array(TupleDesc desc, Datum *elements, int n)
{
	return PointerGetDatum(construct_array(elements, n, desc->tdtypeid, -1, false, TYPALIGN_DOUBLE));
}

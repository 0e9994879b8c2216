/*
 * composite.h
 *		Values of composite types, and arrays of them.
 */
#ifndef STEPADV_PROGRESS_COMPOSITE_H
#define STEPADV_PROGRESS_COMPOSITE_H

#include "access/tupdesc.h"
#include "fmgr.h"

/* The composite type that a function returns, alone or in an array. */
extern TupleDesc composite_result(FunctionCallInfo fcinfo);

/* That of a column. */
extern TupleDesc composite_column(TupleDesc desc, int column);

extern Datum composite_value(TupleDesc desc, Datum *values, bool *nulls);
extern Datum composite_array(TupleDesc desc, Datum *elements, int n);

#endif							/* STEPADV_PROGRESS_COMPOSITE_H */

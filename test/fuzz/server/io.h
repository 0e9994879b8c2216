/*
 * io.h
 *		Text and binary forms of a type.
 */
#ifndef PROBE_IO_H
#define PROBE_IO_H

#include "fmgr.h"

typedef struct TypeForms
{
	FmgrInfo	in;
	FmgrInfo	out;
	FmgrInfo	receive;
	FmgrInfo	send;
	Oid			in_parameter;
	Oid			receive_parameter;
} TypeForms;

extern void find_forms(Oid type, TypeForms *forms);

/* Returns how a value changes when it is written and read in both forms, or NULL; may raise an error. */
extern const char *round_trip(TypeForms *forms, Datum value);

/* The value read from its binary form, which may leave out parts that are never read. */
extern Datum as_it_comes(TypeForms *forms, Datum value);

#endif							/* PROBE_IO_H */

/*
 * read_call.h
 *		From the arguments of an SQL function to the effects of a call.
 */
#ifndef STEPADV_READ_CALL_H
#define STEPADV_READ_CALL_H

#include "fmgr.h"

#include "signatures/call.h"

extern void read_call(FunctionCallInfo fcinfo, int vocabulary_argument, CallResult result, Effects *effects);

#endif							/* STEPADV_READ_CALL_H */

/*
 * check.h
 *		What must hold for every signature of any input.
 */
#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include "postgres.h"

#include "signatures/call.h"
#include "signatures/signature.h"

/* Render the effects of a call in several ways; abort where a text breaks the grammar. */
extern void check_effects(const Effects *effects, CallResult result);

#endif							/* FUZZ_CHECK_H */

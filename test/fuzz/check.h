/*
 * check.h
 *		Properties that every signature has, whatever the input.
 */
#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include "postgres.h"

#include "signatures/call.h"
#include "signatures/signature.h"

/* Renders the effects of a call in several ways; aborts if a text breaks the grammar. */
extern void check_effects(const Effects *effects, CallResult result);

#endif							/* FUZZ_CHECK_H */

/*
 * check.h
 *		What must hold of every signature, whatever it was made of.
 */
#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include "postgres.h"

#include "signatures/call.h"
#include "signatures/signature.h"

/* Render the action in several ways; abort where the text breaks the grammar. */
extern void check_action(const Action *action);

#endif							/* FUZZ_CHECK_H */

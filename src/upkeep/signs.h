/*
 * signs.h
 *		The signs of the steps of kept groups.
 */
#ifndef STEPADV_SIGNS_H
#define STEPADV_SIGNS_H

#include "upkeep/kept.h"

/* What is kept of these groups is no longer theirs. */
extern void let_signs_wait(Kept *kept, SPITupleTable *groups);

/* Keep the signs of those that wait; how many there were.  Nobody else changes kept groups meanwhile. */
extern uint64 sign_waiting(Kept *kept);

/* Those of all groups; the same is true. */
extern void sign_all(Kept *kept);

#endif							/* STEPADV_SIGNS_H */

/*
 * lower_case.h
 *		Lower case as Python has it, whatever the locale.
 */
#ifndef STEPADV_LOWER_CASE_H
#define STEPADV_LOWER_CASE_H

#include "span.h"

/*
 * The text in lower case, ended by a zero byte: Unicode's mappings and its rule
 * of the final sigma.  In UTF-8 whatever the encoding of the database, to be
 * compared with others of its kind.
 */
extern char *lower_case(Span text);

#endif							/* STEPADV_LOWER_CASE_H */

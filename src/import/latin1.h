/*
 * latin1.h
 *		Bytes of a file that came in as LATIN1, one character each, as UTF-8.
 */
#ifndef STEPADV_LATIN1_H
#define STEPADV_LATIN1_H

#include "import/json_read.h"

/* The bytes themselves, with the NUL behind them that words had; an error where they are no UTF-8. */
extern Words utf8_of_latin1(Words words);

#endif							/* STEPADV_LATIN1_H */

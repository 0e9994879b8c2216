/*
 * json_array.h
 *		Lists of numbers and truths in JSON as arrays, for importers.
 */
#ifndef STEPADV_JSON_ARRAY_H
#define STEPADV_JSON_ARRAY_H

#include "import/json_read.h"

/* A whole number of at most so many characters. */
extern bool is_whole_number(Words digits, int most);

/*
 * What is in the list, which is not empty, as an array of integer, boolean or real;
 * false: something in it is none, or may be out of range.
 */
extern bool json_array_datum(const JsonbValue *list, Oid type, Datum *array);

#endif							/* STEPADV_JSON_ARRAY_H */

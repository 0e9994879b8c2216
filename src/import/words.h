/*
 * words.h
 *		What a message's content says, and whether that reads like a failure.
 */
#ifndef STEPADV_IMPORT_WORDS_H
#define STEPADV_IMPORT_WORDS_H

#include "import/json_read.h"

/* Text of a content: a string, a list of parts, or nothing. */
extern Words words_of_content(const JsonbValue *content);
extern Words words_of_part(const JsonbValue *part);

/* False where a tool's result begins like an error or has an exit status other than 0. */
extern bool reads_well(Words result);

/* One text below another; one that is NULL is none. */
extern void add_line(StringInfo lines, bool *any, Words words);

#endif							/* STEPADV_IMPORT_WORDS_H */

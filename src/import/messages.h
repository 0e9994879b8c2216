/*
 * messages.h
 *		What messages say.
 */
#ifndef STEPADV_MESSAGES_H
#define STEPADV_MESSAGES_H

#include "import/json_read.h"

/* Text of a content: a string, a list of parts, or nothing. */
extern Words words_of_content(const JsonbValue *content);

/* False where a tool's result begins like an error or has an exit status other than 0. */
extern bool reads_well(Words result);

/* One text below another; one that is NULL is none. */
extern void add_line(StringInfo lines, bool *any, Words words);

#endif							/* STEPADV_MESSAGES_H */

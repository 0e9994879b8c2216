/*
 * names.h
 *		Ids that importers make of files' names and of content.
 */
#ifndef STEPADV_NAMES_H
#define STEPADV_NAMES_H

#include "import/json_read.h"

/* The file's own name without endings; no words without a path. */
extern Words base_of_path(Words path);

/* An id made of the content, for what has none of its own: to_hex(signature_hash(value)). */
extern Words digest_of(JsonbValue *value);

#endif							/* STEPADV_NAMES_H */

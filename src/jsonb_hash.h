/*
 * jsonb_hash.h
 *		Hashes of tool calls, without building a jsonb value for each.
 */
#ifndef STEPADV_JSONB_HASH_H
#define STEPADV_JSONB_HASH_H

#include "utils/jsonb.h"

/* signature_hash(jsonb_build_array(tool, args)); args NULL stands for SQL's NULL. */
extern int64 hash_of_tool_call(const char *tool, int tool_length, Jsonb *args);

#endif							/* STEPADV_JSONB_HASH_H */

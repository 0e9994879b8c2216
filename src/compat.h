/*
 * compat.h
 *		What differs between PostgreSQL 14 and 18, in one place.
 */
#ifndef STEPADV_COMPAT_H
#define STEPADV_COMPAT_H

#if PG_VERSION_NUM < 140000
#error "stepadv needs PostgreSQL 14 or later"
#endif

/* 16 moved the varlena macros out of postgres.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/*
 * The JSON parser's callbacks return nothing up to 15 and a status from 16 on;
 * its lexer lives on the caller's stack from 17 on.
 */
#if PG_VERSION_NUM >= 160000
#define JSON_CALLBACK JsonParseErrorType
#define JSON_CALLBACK_RETURN return JSON_SUCCESS
#else
#define JSON_CALLBACK void
#define JSON_CALLBACK_RETURN return
#endif

#if PG_VERSION_NUM >= 170000
#define make_json_lexer(json, need_escapes) makeJsonLexContext(NULL, json, need_escapes)
#else
#define make_json_lexer(json, need_escapes) makeJsonLexContext(json, need_escapes)
#endif

/* 18 can leave room before a minimal tuple. */
#if PG_VERSION_NUM >= 180000
#define form_minimal_tuple(desc, values, nulls) heap_form_minimal_tuple(desc, values, nulls, 0)
#else
#define form_minimal_tuple(desc, values, nulls) heap_form_minimal_tuple(desc, values, nulls)
#endif

#endif							/* STEPADV_COMPAT_H */

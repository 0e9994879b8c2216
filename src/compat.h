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

#endif							/* STEPADV_COMPAT_H */

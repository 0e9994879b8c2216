/*
 * module.c
 *		A module for tests only, never installed.
 */
#include "postgres.h"

#include "fmgr.h"

PG_MODULE_MAGIC;

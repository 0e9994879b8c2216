/*
 * names.h
 *		The schemas of the extension, as its control file and install script have them.
 */
#ifndef STEPADV_NAMES_H
#define STEPADV_NAMES_H

#define PUBLIC_SCHEMA "stepadv"
#define INTERNAL_SCHEMA "stepadv_internal"

#endif							/* STEPADV_NAMES_H */

/*
 * hex.h
 *		The text form of opaque values: \x and hexadecimal digits, like bytea.
 */
#ifndef STEPADV_HEX_H
#define STEPADV_HEX_H

#include "fmgr.h"

/* The text form of a detoasted value of this type, without its length word. */
extern char *hex_of_varlena(const struct varlena *value, const char *type);

/* The inverse.  Checks only that the digits are valid. */
extern struct varlena *varlena_of_hex(const char *text, const char *type);

/* A value from its binary form. */
extern struct varlena *varlena_of_bytes(const char *bytes, Size length);

#endif							/* STEPADV_HEX_H */

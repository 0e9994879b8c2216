/*
 * hex.h
 *		The text form of values that are opaque bytes to readers: \x and
 *		hexadecimal digits, as that of bytea.
 */
#ifndef STEPADV_HEX_H
#define STEPADV_HEX_H

#include "fmgr.h"

/* Of all after the length word of a detoasted value of that type. */
extern char *hex_of_varlena(const struct varlena *value, const char *type);

/* The same back; nothing but the digits is checked. */
extern struct varlena *varlena_of_hex(const char *text, const char *type);

/* What came in binary form. */
extern struct varlena *varlena_of_bytes(const char *bytes, Size length);

#endif							/* STEPADV_HEX_H */

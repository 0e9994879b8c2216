/*
 * value_io.h
 *		What value.c and value_io.c share.
 */
#ifndef STEPADV_PROGRESS_VALUE_IO_H
#define STEPADV_PROGRESS_VALUE_IO_H

#include "progress/value.h"

/* Bytes of a value; 0: too many. */
extern Size progress_size(ProgressKind kind, int version, uint64 dimension);

/* progress_open with the error code for a header that is wrong. */
extern ProgressValue *progress_open_input(struct varlena *bytes, ProgressType type, int sqlstate);

/* The SQL name of a type. */
extern const char *progress_type_name(ProgressType type);

#endif							/* STEPADV_PROGRESS_VALUE_IO_H */

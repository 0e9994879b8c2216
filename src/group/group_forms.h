/*
 * group_forms.h
 *		Declarations that the input and output functions of rollout_group share.
 *
 * All forms are lossless.  Input that the aggregates could not have produced raises an error: 22P02 for text,
 * 22P03 for binary.
 */
#ifndef STEPADV_GROUP_FORMS_H
#define STEPADV_GROUP_FORMS_H

#include "group/group.h"

/* A checked value from its binary form (everything after the varlena length). */
extern RolloutGroup *group_from_bytes(const char *bytes, Size length);

#endif							/* STEPADV_GROUP_FORMS_H */

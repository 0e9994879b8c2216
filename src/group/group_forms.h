/*
 * group_forms.h
 *		What the forms of rollout_group share that go out and come in.
 *
 * All are lossless.  Input that does not describe a value that the aggregates could
 * have made is refused: 22P02 for text, 22P03 for binary.
 */
#ifndef STEPADV_GROUP_FORMS_H
#define STEPADV_GROUP_FORMS_H

#include "group/group.h"

/* A checked value from its binary form (all after the varlena length). */
extern RolloutGroup *group_from_bytes(const char *bytes, Size length);

#endif							/* STEPADV_GROUP_FORMS_H */

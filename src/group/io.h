/*
 * io.h
 *		rollout_group from bytes that come from outside.
 */
#ifndef STEPADV_GROUP_IO_H
#define STEPADV_GROUP_IO_H

#include "group/group.h"

/* A checked value from its binary form (all after the varlena length). */
extern RolloutGroup *group_from_bytes(const char *bytes, Size length);

#endif							/* STEPADV_GROUP_IO_H */

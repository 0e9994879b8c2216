/*
 * identity_fields.h
 *		The state and the action of a step as fields of a result row.
 */
#ifndef STEPADV_IDENTITY_FIELDS_H
#define STEPADV_IDENTITY_FIELDS_H

#include "group/group.h"
#include "rows.h"

static inline NullableInt8
state_field(const GroupColumns *group, uint32 step)
{
	return (NullableInt8) {group->state[step], step_has_null(group, step, NULL_STATE)};
}

static inline NullableInt8
action_field(const GroupColumns *group, uint32 step)
{
	return (NullableInt8) {group->action[step], step_has_null(group, step, NULL_ACTION)};
}

#endif							/* STEPADV_IDENTITY_FIELDS_H */

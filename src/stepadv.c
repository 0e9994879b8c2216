/*
 * stepadv.c
 *		The loadable module.
 *
 * Rollout analytics for PostgreSQL: a group of rollouts is a value
 * (group.h), estimators are functions of it (estimator.h).
 */
#include "postgres.h"

#include "fmgr.h"

#include "step_scan.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	install_step_scan();
}

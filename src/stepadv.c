/*
 * stepadv.c
 *		The loadable module.
 *
 * Rollout analytics for PostgreSQL: a group of rollouts is a value
 * (group/group.h), estimators are functions of it (estimators/estimator.h).
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/guc.h"

#include "compat.h"
#include "long_work.h"
#include "plan/fold/group_fold.h"
#include "plan/scan/step_scan.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	install_group_fold();
	install_step_scan();
	install_step_scan_join();
	define_long_work_settings();
	reserve_guc_prefix("stepadv");
}

/*
 * compression.c
 *		How what is loaded is compressed.
 *
 * Conversations are long texts: pglz takes more time for them than all else, lz4 a
 * tenth of it.
 */
#include "postgres.h"

#include "access/toast_compression.h"
#include "fmgr.h"
#include "utils/guc.h"

PG_FUNCTION_INFO_V1(stepadv_load_by_lz4);

/*
 * load_by_lz4(): where the server can, columns that say nothing else are compressed
 * by lz4 until the function ends that called it and has settings of its own.
 */
Datum
stepadv_load_by_lz4(PG_FUNCTION_ARGS)
{
#ifdef USE_LZ4
	set_config_option("default_toast_compression", "lz4", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
#endif
	PG_RETURN_VOID();
}

/*
 * fuzz_shell.c
 *		Any bytes as a shell script.
 */
#include "postgres.h"

#include "check.h"
#include "signatures/shell/script.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Action		action;
	char	   *script = palloc(size);	/* exactly as long, for the sanitizer */

	memcpy(script, data, size);
	classify_script(span_make(script, (int) size), &action);
	check_action(&action);
	host_reset();
	return 0;
}

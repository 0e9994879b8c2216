/*
 * memcheck.h
 *	  Passes a server's annotations for Valgrind on to AddressSanitizer.
 *
 * The server that test/harness/server.sh builds finds this before Valgrind's header.
 * A server asks malloc() for large blocks and divides them into chunks: without this,
 * a read or write past the end of one chunk into the next is not detected.
 *
 * AddressSanitizer does not check whether memory was initialized, so undefined memory
 * is accessible, and checks of definedness do nothing.  wipe_mem() makes freed chunks
 * inaccessible, so VALGRIND_MEMPOOL_FREE does nothing.
 */
#ifndef STEPADV_ADDRESS_MEMCHECK_H
#define STEPADV_ADDRESS_MEMCHECK_H

#include <sanitizer/asan_interface.h>

#define VALGRIND_MAKE_MEM_NOACCESS(addr, size)	ASAN_POISON_MEMORY_REGION(addr, size)
#define VALGRIND_MAKE_MEM_UNDEFINED(addr, size)	ASAN_UNPOISON_MEMORY_REGION(addr, size)
#define VALGRIND_MAKE_MEM_DEFINED(addr, size)	ASAN_UNPOISON_MEMORY_REGION(addr, size)

#define VALGRIND_MEMPOOL_ALLOC(pool, addr, size)	ASAN_UNPOISON_MEMORY_REGION(addr, size)
#define VALGRIND_MEMPOOL_CHANGE(pool, old, new, size)	ASAN_UNPOISON_MEMORY_REGION(new, size)
#define VALGRIND_MEMPOOL_FREE(pool, addr)	((void) 0)
#define VALGRIND_CREATE_MEMPOOL(pool, redzone, zeroed)	((void) 0)
#define VALGRIND_DESTROY_MEMPOOL(pool)	((void) 0)
#define VALGRIND_MOVE_MEMPOOL(old, new)	((void) 0)
#define VALGRIND_MEMPOOL_TRIM(pool, addr, size)	((void) 0)

#define VALGRIND_CHECK_MEM_IS_DEFINED(addr, size)	((void) 0)
#define VALGRIND_CHECK_MEM_IS_ADDRESSABLE(addr, size)	((void) 0)
#define VALGRIND_GET_VBITS(addr, bits, size)	0
#define VALGRIND_DISABLE_ERROR_REPORTING	((void) 0)
#define VALGRIND_ENABLE_ERROR_REPORTING	((void) 0)
#define VALGRIND_COUNT_ERRORS	0
#define VALGRIND_PRINTF(...)	((void) 0)
#define RUNNING_ON_VALGRIND	0

#endif							/* STEPADV_ADDRESS_MEMCHECK_H */

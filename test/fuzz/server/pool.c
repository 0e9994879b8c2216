/*
 * pool.c
 *		Inputs given by SQL, and a file with the current one.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"

#include "mutate.h"
#include "pool.h"

Pool *
make_pool(ArrayType *given, int64 seed)
{
	Pool	   *pool = palloc0(sizeof(Pool));
	Datum	   *elements;
	int			n;

	seed_random(pool, seed);
	deconstruct_array(given, BYTEAOID, -1, false, TYPALIGN_INT, &elements, NULL, &n);
	if (n < 1 || n > MAX_POOL / 2)
		elog(ERROR, "%d inputs are given", n);
	for (int i = 0; i < n; i++)
	{
		bytea	   *input = DatumGetByteaPP(elements[i]);

		set_input(pool, i, VARDATA_ANY(input), Min(VARSIZE_ANY_EXHDR(input), MOST_BYTES));
	}
	pool->n = pool->n_given = n;
	return pool;
}

#define NOTE_SIZE (MOST_BYTES + 256)

void
note_input(const char *what, const char *bytes, int length)
{
	static char *note = NULL;

	if (note == NULL)
	{
		char		name[64];
		int			file;

		snprintf(name, sizeof(name), "fuzz_input.%d", MyProcPid);
		file = open(name, O_RDWR | O_CREAT, 0600);
		if (file < 0 || ftruncate(file, NOTE_SIZE) != 0)
			elog(ERROR, "%s: %m", name);
		note = mmap(NULL, NOTE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (note == MAP_FAILED)
			elog(ERROR, "%s: %m", name);
		close(file);
	}
	snprintf(note, 248, "%s, %d bytes:\n", what, length);
	memcpy(note + 256, bytes, length);
}

/*
 * many.c
 *		Runs many mutations of files, without coverage, which takes most of libFuzzer's time.
 *
 * many SECONDS SEED FILE FOLDER...: prints the number of inputs.  After a crash FILE has
 * the input in its first MOST_BYTES bytes, and then its length as an int.
 */
#include "postgres.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "server/mutate.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Pool pool;
static char *under_way;
static char buffer[MOST_BYTES + 1];

/* If there are too many files, each is kept with the same probability. */
static void
read_folder(const char *folder, int *n_seen)
{
	DIR		   *dir = opendir(folder);
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
	{
		char		path[4096];
		FILE	   *file;
		int			place;

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] == '.' || (file = fopen(path, "rb")) == NULL)
			continue;
		place = pool.n < MAX_POOL ? pool.n++ : (int) random_below(&pool, (uint32) *n_seen + 1);
		if (place < MAX_POOL)
			set_input(&pool, place, buffer, (int) fread(buffer, 1, MOST_BYTES / 4, file));
		(*n_seen)++;
		fclose(file);
	}
	if (dir != NULL)
		closedir(dir);
}

/* Most inputs are short: they take much less time, and most bugs need few bytes. */
static int
shortened(char *input, int length)
{
	int			at = random_below(&pool, length);
	int			most = 1 + random_below(&pool, 8u << random_below(&pool, 5));

	if (random_below(&pool, 32) == 0)
		return length;
	length = Min(length - at, most);
	memmove(input, input + at, length);
	return length;
}

static void
open_under_way(const char *path)
{
	int			file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (file < 0 || ftruncate(file, MOST_BYTES + sizeof(int)) != 0)
		abort();
	under_way = mmap(NULL, MOST_BYTES + sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (under_way == MAP_FAILED)
		abort();
	close(file);
}

int
main(int argc, char **argv)
{
	time_t		end = time(NULL) + atol(argv[1]);
	int64		n = 0;
	int			n_seen = 0;

	seed_random(&pool, atol(argv[2]));
	for (int i = 4; i < argc; i++)
		read_folder(argv[i], &n_seen);
	open_under_way(argv[3]);
	while (n % 1024 != 0 || time(NULL) < end)
	{
		int			length = shortened(buffer, make_input(&pool, buffer));

		memcpy(under_way, buffer, length);
		memcpy(under_way + MOST_BYTES, &length, sizeof(int));
		LLVMFuzzerTestOneInput((const uint8_t *) buffer, (size_t) length);
		host_turn = ++n;
	}
	printf("%lld\n", (long long) n);
	return 0;
}

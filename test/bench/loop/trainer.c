/*
 * trainer.c
 *		A trainer's loop: one connection inserts a batch and reads its advantages.
 *
 *	trainer BATCH FIRST ROUNDS TABLE QUERY
 *
 * BATCH was written by COPY … TO … (FORMAT binary): step_id, group_id and
 * rollout_id (bigint, from 1 on), then other columns.  Every round sends it with
 * new ids, in new groups (FIRST is the number of the first round, from 0 on), and
 * runs QUERY with these groups as the array $1.  Results are binary.
 * Writing the ids is not timed: a trainer makes new rows anyway.
 *
 * Prints the sum of all float8 and float8[] columns of a round, which must be the
 * same in every round; then, for each round, "copy query client processor waiting" in
 * milliseconds: COPY until the server has answered, the query until its last row has
 * arrived, and adding up its rows; the processor time of both processes, and the time they
 * waited for a processor that others had.  The last two come from Linux, and are 0 elsewhere.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libpq-fe.h>

#define FLOAT8OID 701
#define FLOAT8ARRAYOID 1022
#define GROUPS_MAX 1024
/* Bytes that are passed to libpq at once. */
#define CHUNK 65536

/* Signature, flags and length of the extension. */
#define HEADER_SIZE 19

/* The first columns of a row, each after its length. */
enum
{
	STEP_ID,
	GROUP_ID,
	ROLLOUT_ID,
	N_IDS
};

typedef struct Batch
{
	char	   *bytes;
	size_t		size;
	int64_t		groups[GROUPS_MAX];
	int			n_groups;
	int64_t		last[N_IDS];	/* the largest of each */
} Batch;

/* Milliseconds in which a process ran on a processor, and waited for one, since it started. */
typedef struct Share
{
	double		running;
	double		waiting;
} Share;

typedef struct Times
{
	double		copy;
	double		query;
	double		client;
	Share		share;
} Times;

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "trainer: %s: %s\n", what, why);
	exit(2);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* Adds the share of a process; pid 0 is this one. */
static void
add_share(int pid, Share *share)
{
	char		path[64] = "/proc/self/schedstat";
	FILE	   *file;
	double		running;
	double		waiting;

	if (pid != 0)
		snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	file = fopen(path, "r");
	if (file == NULL)
		return;
	if (fscanf(file, "%lf %lf", &running, &waiting) == 2)
	{
		share->running += running / 1e6;
		share->waiting += waiting / 1e6;
	}
	fclose(file);
}

static Share
share_of_both(PGconn *connection)
{
	Share		share = {0, 0};

	add_share(0, &share);
	add_share(PQbackendPID(connection), &share);
	return share;
}

static int64_t
read_int8(const char *at)
{
	uint64_t	bits;

	memcpy(&bits, at, sizeof(bits));
	return (int64_t) be64toh(bits);
}

static void
write_int8(char *at, int64_t value)
{
	uint64_t	bits = htobe64((uint64_t) value);

	memcpy(at, &bits, sizeof(bits));
}

static int
read_int4(const char *at)
{
	uint32_t	bits;

	memcpy(&bits, at, sizeof(bits));
	return (int32_t) ntohl(bits);
}

/* The next row after this one, or NULL at the end. */
static char *
next_row(char *row)
{
	uint16_t	n_columns;
	char	   *at = row + sizeof(n_columns);

	memcpy(&n_columns, row, sizeof(n_columns));
	for (int i = 0; i < ntohs(n_columns); i++)
	{
		int			size = read_int4(at);

		at += 4 + (size > 0 ? size : 0);
	}
	/* A row of -1 columns ends the file. */
	return (signed char) at[0] < 0 ? NULL : at;
}

static char *
id_of(char *row, int which)
{
	return row + 2 + which * 12 + 4;
}

static void
read_batch(Batch *batch, const char *path)
{
	FILE	   *file = fopen(path, "rb");

	if (file == NULL || fseek(file, 0, SEEK_END) != 0)
		die(path, "cannot be read");
	batch->size = ftell(file);
	rewind(file);
	batch->bytes = malloc(batch->size);
	if (batch->bytes == NULL || fread(batch->bytes, 1, batch->size, file) != batch->size)
		die(path, "cannot be read");
	fclose(file);

	for (char *row = batch->bytes + HEADER_SIZE; row != NULL; row = next_row(row))
	{
		int64_t		group = read_int8(id_of(row, GROUP_ID));

		for (int i = 0; i < N_IDS; i++)
		{
			int64_t		id = read_int8(id_of(row, i));

			if (id > batch->last[i])
				batch->last[i] = id;
		}
		if (batch->n_groups > 0 && batch->groups[batch->n_groups - 1] == group)
			continue;
		if (batch->n_groups == GROUPS_MAX)
			die(path, "too many groups");
		batch->groups[batch->n_groups++] = group;
	}
}

/* Advances the ids by a number of rounds. */
static void
stamp(Batch *batch, int rounds)
{
	for (char *row = batch->bytes + HEADER_SIZE; row != NULL; row = next_row(row))
	{
		for (int i = 0; i < N_IDS; i++)
			write_int8(id_of(row, i), read_int8(id_of(row, i)) + rounds * batch->last[i]);
	}
	for (int i = 0; i < batch->n_groups; i++)
		batch->groups[i] += rounds * batch->last[GROUP_ID];
}

static void
copy_in(PGconn *connection, const char *table, const Batch *batch)
{
	char		command[256];
	PGresult   *result;

	snprintf(command, sizeof(command), "COPY %s FROM STDIN (FORMAT binary)", table);
	result = PQexec(connection, command);
	if (PQresultStatus(result) != PGRES_COPY_IN)
		die("COPY", PQerrorMessage(connection));
	PQclear(result);
	for (size_t sent = 0; sent < batch->size; sent += CHUNK)
	{
		size_t		left = batch->size - sent;

		if (PQputCopyData(connection, batch->bytes + sent, left < CHUNK ? left : CHUNK) != 1)
			die("COPY", PQerrorMessage(connection));
	}
	if (PQputCopyEnd(connection, NULL) != 1)
		die("COPY", PQerrorMessage(connection));
	while ((result = PQgetResult(connection)) != NULL)
	{
		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			die("COPY", PQerrorMessage(connection));
		PQclear(result);
	}
}

static PGresult *
ask(PGconn *connection, const Batch *batch)
{
	char		groups[GROUPS_MAX * 21 + 2];
	const char *parameter = groups;
	char	   *at = groups;
	PGresult   *result;

	for (int i = 0; i < batch->n_groups; i++)
		at += sprintf(at, "%c%lld", i == 0 ? '{' : ',', (long long) batch->groups[i]);
	strcpy(at, "}");
	result = PQexecPrepared(connection, "advantages", 1, &parameter, NULL, NULL, 1);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die("the query", PQerrorMessage(connection));
	return result;
}

static double
read_float8(const char *at)
{
	int64_t		bits = read_int8(at);
	double		number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

/* One dimension.  Binary form: dimensions, has NULLs, type, length, lower bound; then each element after its size. */
static double
add_up_array(const char *array)
{
	int			n = read_int4(array) > 0 ? read_int4(array + 12) : 0;
	const char *at = array + 20;
	double		sum = 0;

	for (int i = 0; i < n; i++)
	{
		int			size = read_int4(at);

		at += 4;
		if (size < 0)
			continue;
		sum += read_float8(at);
		at += size;
	}
	return sum;
}

/* The sum of all advantages, which a trainer would put into a tensor. */
static double
add_up(const PGresult *result)
{
	int			n_columns = PQnfields(result);
	int			n_rows = PQntuples(result);
	double		sum = 0;

	for (int column = 0; column < n_columns; column++)
	{
		Oid			type = PQftype(result, column);

		if (type != FLOAT8OID && type != FLOAT8ARRAYOID)
			continue;
		for (int row = 0; row < n_rows; row++)
		{
			const char *value = PQgetvalue(result, row, column);

			if (!PQgetisnull(result, row, column))
				sum += type == FLOAT8OID ? read_float8(value) : add_up_array(value);
		}
	}
	return sum;
}

static double
one_round(PGconn *connection, const char *table, const Batch *batch, Times *times)
{
	Share		before = share_of_both(connection);
	double		start = now();
	double		copied;
	double		asked;
	double		added;
	double		sum;
	Share		after;
	PGresult   *result;

	copy_in(connection, table, batch);
	copied = now();
	result = ask(connection, batch);
	asked = now();
	sum = add_up(result);
	if (PQntuples(result) == 0)
		die("the query", "returned no rows");
	PQclear(result);
	times->copy = copied - start;
	times->query = asked - copied;
	added = now();
	after = share_of_both(connection);
	times->client = added - asked;
	times->share = (Share) {after.running - before.running, after.waiting - before.waiting};
	return sum;
}

int
main(int argc, char **argv)
{
	Batch		batch = {0};
	PGconn	   *connection;
	PGresult   *result;
	double		expected = 0;
	int			rounds;

	if (argc != 6)
		die("usage", "trainer BATCH FIRST ROUNDS TABLE QUERY");
	rounds = atoi(argv[3]);
	read_batch(&batch, argv[1]);
	stamp(&batch, atoi(argv[2]));
	connection = PQconnectdb("");
	if (PQstatus(connection) != CONNECTION_OK)
		die("connection", PQerrorMessage(connection));
	result = PQprepare(connection, "advantages", argv[5], 0, NULL);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		die("the query", PQerrorMessage(connection));
	PQclear(result);

	for (int round = 0; round < rounds; round++)
	{
		Times		times;
		double		sum = one_round(connection, argv[4], &batch, &times);

		if (round == 0)
		{
			expected = sum;
			printf("%.17g\n", sum);
		}
		else if (fabs(sum - expected) > 1e-9 * fmax(1, fabs(expected)))
			die("the query", "the sum differs from that of the first round");
		printf("%.6f %.6f %.6f %.6f %.6f\n", times.copy, times.query, times.client, times.share.running, times.share.waiting);
		stamp(&batch, 1);
	}
	PQfinish(connection);
	return 0;
}

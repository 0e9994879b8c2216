/*
 * mutate.c
 *		Inputs derived from other inputs, the same ones for the same seed.
 */
#include "postgres.h"

#include "mutate.h"

void
seed_random(Pool *pool, int64 seed)
{
	pool->random = (uint64) seed * UINT64CONST(0x9E3779B97F4A7C15) + 1;
}

/* xorshift64* */
uint64
next_random(Pool *pool)
{
	pool->random ^= pool->random >> 12;
	pool->random ^= pool->random << 25;
	pool->random ^= pool->random >> 27;
	return pool->random * UINT64CONST(0x2545F4914F6CDD1D);
}

uint32
random_below(Pool *pool, uint32 n)
{
	return n == 0 ? 0 : (uint32) ((next_random(pool) >> 32) % n);
}

void
set_input(Pool *pool, int place, const char *bytes, int length)
{
	free(pool->inputs[place].bytes);
	pool->inputs[place].bytes = malloc(length + 1);
	if (pool->inputs[place].bytes == NULL)
		abort();
	memcpy(pool->inputs[place].bytes, bytes, length);
	pool->inputs[place].length = length;
}

void
keep_input(Pool *pool, const char *bytes, int length)
{
	int			place = pool->n;

	if (length > MOST_BYTES / 4 || random_below(pool, 16) > 0)
		return;
	if (pool->n < MAX_POOL)
		pool->n++;
	else
		place = pool->n_given + random_below(pool, MAX_POOL - pool->n_given);
	set_input(pool, place, bytes, length);
}

/* Replaces bytes at a place by others, as many as there is room for. */
static int
exchange(char *buffer, int length, int at, int removed, const char *added, int n_added)
{
	n_added = Min(n_added, MOST_BYTES - (length - removed));
	memmove(buffer + at + n_added, buffer + at + removed, length - at - removed);
	memcpy(buffer + at, added, n_added);
	return length - removed + n_added;
}

static const char *const tokens[] = {
	"0", "-1", "1", "2147483647", "-2147483648", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e308", "1e-320", "0.1", "-0", "1e400",
	"null", "true", "false", "[]", "{}", "[", "]", "{", "}", ",", ":", "\"", "\\", "\\u0000", "\\ud800", "\\u00e9", " ", "\n", "\t", "'", "$(", "`", "|", "&&", ";", ">", "<<E\n", "\nE\n",
	"<", "</", "<tool>", "</tool>", "\033[0m", "12:30:15", "0x7f00deadbeef", "/testbed/", "NaN", "Infinity"
};

static const int64 numbers[] = {0, 1, -1, 2, 255, 256, 65535, 2147483647, -2147483648LL, 4294967295LL, PG_INT64_MAX, PG_INT64_MIN, 0x7FF0000000000000LL, 0x7FF8000000000000LL};

static int
mutate_once(Pool *pool, char *buffer, int length)
{
	int			at = random_below(pool, length + 1);
	int			wanted = 1 + (int) random_below(pool, random_below(pool, 4) == 0 ? 256 : 8);
	int			span = Min(length - at, wanted);
	char		bytes[8];

	switch (random_below(pool, 9))
	{
		case 0:
			if (at < length)
				buffer[at] ^= 1 << random_below(pool, 8);
			return length;
		case 1:
			if (at < length)
				buffer[at] = (char) next_random(pool);
			return length;
		case 2:
			return exchange(buffer, length, at, span, "", 0);
		case 3:
			{
				char		copy[256];

				memcpy(copy, buffer + at, span);
				return exchange(buffer, length, at, 0, copy, span);
			}
		case 4:
			{
				const char *token = tokens[random_below(pool, lengthof(tokens))];

				return exchange(buffer, length, at, random_below(pool, 2) ? Min(span, (int) strlen(token)) : 0, token, strlen(token));
			}
		case 5:
		case 6:
			{
				const Input *other = &pool->inputs[random_below(pool, pool->n)];
				int			from = random_below(pool, other->length);
				int			most = 1 + (int) random_below(pool, 64);
				int			n = Min(other->length - from, most);

				return exchange(buffer, length, at, random_below(pool, 2) ? Min(n, length - at) : 0, other->bytes + from, n);
			}
		case 7:
			{
				/* A number of a binary form, aligned to its width. */
				uint64		number = (uint64) numbers[random_below(pool, lengthof(numbers))] + (random_below(pool, 4) == 0 ? random_below(pool, 8) : 0);
				int			width = 1 << random_below(pool, 4);

				memcpy(bytes, &number, 8);
				at -= at % width;
				return exchange(buffer, length, at, Min(width, length - at), bytes, Min(width, length - at));
			}
		default:
			/* replaces a digit by another */
			while (at < length && (buffer[at] < '0' || buffer[at] > '9'))
				at++;
			if (at < length)
				buffer[at] = '0' + random_below(pool, 10);
			return length;
	}
}

int
make_input(Pool *pool, char *buffer)
{
	const Input *from = &pool->inputs[random_below(pool, pool->n)];
	int			length = from->length;
	int			times = random_below(pool, 3) == 0 ? 1 + random_below(pool, 12) : 1;

	memcpy(buffer, from->bytes, length);
	while (times-- > 0)
		length = mutate_once(pool, buffer, length);
	buffer[length] = '\0';
	return length;
}

void
make_valid_text(char *buffer, int length)
{
	for (int i = 0; i < length; i++)
		if (buffer[i] == '\0')
			buffer[i] = ' ';
		else if ((unsigned char) buffer[i] >= 0x80)
		{
			/* a character of two bytes, if there is room */
			if (i + 1 < length)
			{
				buffer[i] = (char) 0xc3;
				i++;
				buffer[i] = (char) (0x80 | (buffer[i] & 0x3f));
			}
			else
				buffer[i] = '?';
		}
}

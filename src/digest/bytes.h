/*
 * bytes.h
 *		The bytes of a digest: appended to a buffer, and read by a reader that validates every byte.
 */
#ifndef STEPADV_DIGEST_BYTES_H
#define STEPADV_DIGEST_BYTES_H

#include "port/pg_bswap.h"

#include "digest/digest.h"

typedef struct DigestReader
{
	const char *at;
	const char *end;
	int			sqlerrcode;		/* of the error for invalid bytes */
} DigestReader;

extern _Noreturn void refuse_digest(const DigestReader *reader);

/* ----------
 * Writing
 * ----------
 */

static inline void
write_count(StringInfo bytes, uint64 number)
{
	for (; number >= 0x80; number >>= 7)
		appendStringInfoCharMacro(bytes, (char) (number | 0x80));
	appendStringInfoCharMacro(bytes, (char) number);
}

static inline void
write_signed(StringInfo bytes, int64 number)
{
	write_count(bytes, (uint64) number << 1 ^ (uint64) (number >> 63));
}

static inline void
write_number(StringInfo bytes, double number)
{
	uint64		bits;
	char		eight[8];

	memcpy(&bits, &number, sizeof(bits));
	for (int i = 0; i < 8; i++)
		eight[i] = (char) (bits >> 8 * i);
	appendBinaryStringInfo(bytes, eight, 8);
}

static inline void
write_name(StringInfo bytes, const Category *name)
{
	write_count(bytes, name->length);
	appendBinaryStringInfo(bytes, name->bytes, (int) name->length);
}

/* A sum and its rounding error, independent of the order of its terms. */
static inline void
write_sum(StringInfo bytes, const Sum *sum)
{
	double		value = sum_value(sum);
	double		rest = 0;

	if (isfinite(value))
	{
		double		added = value - sum->high;

		rest = (sum->high - (value - added)) + (sum->low - added);
	}
	/* Write negative zero as zero, so that equal digests have equal bytes. */
	write_number(bytes, value + 0.0);
	write_number(bytes, rest + 0.0);
}

/* ----------
 * Reading
 * ----------
 */

static inline uint64
read_bits(DigestReader *reader)
{
	uint64		number = 0;

	/* Most numbers have one byte. */
	if (likely(reader->at < reader->end && (uint8) *reader->at < 0x80))
		return (uint8) *reader->at++;
	for (int shift = 0; shift < 64; shift += 7)
	{
		uint8		byte;

		if (unlikely(reader->at == reader->end))
			break;
		byte = (uint8) *reader->at++;
		number |= (uint64) (byte & 0x7F) << shift;
		if (byte < 0x80)
			return number;
	}
	refuse_digest(reader);
}

static inline int64
read_count(DigestReader *reader)
{
	uint64		number = read_bits(reader);

	if (unlikely(number > PG_INT64_MAX))
		refuse_digest(reader);
	return (int64) number;
}

/* Read a number of at most `most`; read_n: of items that have at least one byte each. */
static inline int64
read_limited(DigestReader *reader, int64 most)
{
	int64		number = read_count(reader);

	if (unlikely(number > most))
		refuse_digest(reader);
	return number;
}

static inline int64
read_n(DigestReader *reader)
{
	return read_limited(reader, reader->end - reader->at);
}

static inline int64
read_signed(DigestReader *reader)
{
	uint64		zigzag = read_bits(reader);

	return (int64) (zigzag >> 1 ^ -(zigzag & 1));
}

static inline double
read_number(DigestReader *reader)
{
	uint64		bits;
	double		number;

	if (unlikely(reader->end - reader->at < 8))
		refuse_digest(reader);
	memcpy(&bits, reader->at, sizeof(bits));
#ifdef WORDS_BIGENDIAN
	bits = pg_bswap64(bits);
#endif
	reader->at += 8;
	memcpy(&number, &bits, sizeof(number));
	if (unlikely(isnan(number)))
		refuse_digest(reader);
	return number;
}

static inline Sum
read_sum(DigestReader *reader)
{
	Sum			sum;

	sum.high = read_number(reader);
	sum.low = read_number(reader);
	if (unlikely(isinf(sum.low)))
		refuse_digest(reader);
	return sum;
}

static inline Category
read_name(DigestReader *reader)
{
	Category	name;

	name.length = (size_t) read_n(reader);
	name.bytes = reader->at;
	reader->at += name.length;
	return name;
}

static inline void
require_end(const DigestReader *reader)
{
	if (reader->at != reader->end)
		refuse_digest(reader);
}

#endif							/* STEPADV_DIGEST_BYTES_H */

#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "port/pg_bitutils.h"

#include "compat.h"
#include "plan/fold/marks.h"

/* Bits per expected group: more bits, fewer collisions. */
#define BITS_A_GROUP 64
#define MIN_BITS ((uint32) 1 << 16)
#define MAX_BITS ((uint32) 1 << 29)

struct GroupMarks
{
	uint32		n_bits;			/* a power of 2 */
	pg_atomic_uint32 everything;	/* 1: every group counts as marked twice */
	pg_atomic_uint32 words[FLEXIBLE_ARRAY_MEMBER];	/* n_bits for "there is a group", and n_bits for "marked twice" */
};

/* With too few bits, whole groups are exchanged.  Both sets take at most a quarter of a hash table's memory. */
static uint32
bits_for(int expected_groups)
{
	uint64		bits = (uint64) Max(expected_groups, 1) * BITS_A_GROUP;
	uint64		most = Min(hash_memory_limit(), MAX_BITS);

	if (Min(bits, most) <= MIN_BITS)
		return MIN_BITS;
	return bits < most ? pg_nextpower2_32((uint32) bits) : pg_prevpower2_32((uint32) most);
}

Size
marks_size(int expected_groups)
{
	return MAXALIGN(offsetof(GroupMarks, words) + (Size) bits_for(expected_groups) / 8 * 2);
}

void
begin_marks(GroupMarks *marks, int expected_groups)
{
	marks->n_bits = bits_for(expected_groups);
	pg_atomic_init_u32(&marks->everything, 0);
	for (uint32 w = 0; w < marks->n_bits / 32 * 2; w++)
		pg_atomic_init_u32(&marks->words[w], 0);
}

/* Hash tables take buckets and parts from the same hash: neighbors there must not be neighbors here. */
static uint32
bit_of(const GroupMarks *marks, uint32 hash)
{
	return murmurhash32(hash) & (marks->n_bits - 1);
}

bool
mark_group(GroupMarks *marks, uint32 hash)
{
	uint32		bit = bit_of(marks, hash);
	uint32		mask = (uint32) 1 << (bit % 32);

	if ((pg_atomic_fetch_or_u32(&marks->words[bit / 32], mask) & mask) == 0)
		return true;
	pg_atomic_fetch_or_u32(&marks->words[(marks->n_bits + bit) / 32], mask);
	return false;
}

void
mark_everything(GroupMarks *marks)
{
	pg_atomic_write_u32(&marks->everything, 1);
}

bool
is_divided(const GroupMarks *marks, uint32 hash)
{
	GroupMarks *unchanged = unconstify(GroupMarks *, marks);
	uint32		bit = bit_of(marks, hash);

	return pg_atomic_read_u32(&unchanged->everything) != 0 ||
		(pg_atomic_read_u32(&unchanged->words[(marks->n_bits + bit) / 32]) & ((uint32) 1 << (bit % 32))) != 0;
}

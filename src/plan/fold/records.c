#include "postgres.h"

#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/fold/records.h"

#define NULLS_SIZE(fold) (((fold)->n_keys + 7) / 8)

/* Is this the equality of a common type, whose values are equal only if their images are? */
static bool
compares_images(Oid equal)
{
	switch (get_opcode(equal))
	{
		case F_BOOLEQ:
		case F_INT2EQ:
		case F_INT4EQ:
		case F_INT8EQ:
		case F_OIDEQ:
			return true;
		default:
			return false;
	}
}

void
prepare_records(GroupFoldState *fold)
{
	TupleDesc	desc = fold->keys->tts_tupleDescriptor;

	fold->keys_are_images = true;
	for (int k = 0; k < fold->n_keys; k++)
		fold->keys_are_images = fold->keys_are_images && TupleDescAttr(desc, k)->attbyval && compares_images(fold->equal[k]);
	fold->image_size = 0;
	for (int k = 0; k < fold->n_keys; k++)
	{
		int16		length = TupleDescAttr(desc, k)->attlen;

		if (length < 0)
		{
			fold->image_size = 0;
			return;
		}
		fold->image_size += length;
	}
}

/* The size of a key of variable length. */
static Size
key_size(Datum value, int16 length)
{
	return length == -1 ? VARSIZE_ANY(DatumGetPointer(value)) : strlen(DatumGetCString(value)) + 1;
}

Size
image_limit(const GroupFoldState *fold, TupleTableSlot *keys)
{
	Size		size = 1 + NULLS_SIZE(fold);

	if (fold->image_size > 0)
		return size + fold->image_size;
	for (int k = 0; k < fold->n_keys; k++)
	{
		int16		length = TupleDescAttr(keys->tts_tupleDescriptor, k)->attlen;

		if (keys->tts_isnull[k])
			continue;
		if (length == -1 && VARATT_IS_EXTERNAL(DatumGetPointer(keys->tts_values[k])) &&
			!VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(keys->tts_values[k])))
			keys->tts_values[k] = PointerGetDatum(PG_DETOAST_DATUM(keys->tts_values[k]));
		size += length >= 0 ? length : sizeof(uint32) + key_size(keys->tts_values[k], length);
	}
	return size;
}

/* With constant sizes, each copy compiles to a move. */
static inline char *
write_by_value(char *bytes, Datum value, int16 length)
{
	switch (length)
	{
		case sizeof(char):
			*bytes = DatumGetChar(value);
			break;
		case sizeof(int16):
			memcpy(bytes, &(int16) {DatumGetInt16(value)}, sizeof(int16));
			break;
		case sizeof(int32):
			memcpy(bytes, &(int32) {DatumGetInt32(value)}, sizeof(int32));
			break;
		default:
			memcpy(bytes, &value, sizeof(Datum));
	}
	return bytes + length;
}

static inline Datum
read_by_value(const char *bytes, int16 length)
{
	int16		of_2;
	int32		of_4;
	Datum		whole;

	switch (length)
	{
		case sizeof(char):
			return CharGetDatum(*bytes);
		case sizeof(int16):
			memcpy(&of_2, bytes, sizeof(int16));
			return Int16GetDatum(of_2);
		case sizeof(int32):
			memcpy(&of_4, bytes, sizeof(int32));
			return Int32GetDatum(of_4);
		default:
			memcpy(&whole, bytes, sizeof(Datum));
			return whole;
	}
}

char *
write_image(const GroupFoldState *fold, const TupleTableSlot *keys, char *kind)
{
	char	   *end = kind + 1;
	bool		has_nulls = false;

	for (int k = 0; k < fold->n_keys; k++)
		has_nulls |= keys->tts_isnull[k];
	if (has_nulls)
	{
		*kind |= RECORD_HAS_NULLS;
		memset(end, 0, NULLS_SIZE(fold));
		for (int k = 0; k < fold->n_keys; k++)
			end[k / 8] |= keys->tts_isnull[k] << (k % 8);
		end += NULLS_SIZE(fold);
	}
	for (int k = 0; k < fold->n_keys; k++)
	{
		Form_pg_attribute key = TupleDescAttr(keys->tts_tupleDescriptor, k);
		uint32		size;

		if (keys->tts_isnull[k])
			continue;
		if (key->attbyval)
		{
			end = write_by_value(end, keys->tts_values[k], key->attlen);
			continue;
		}
		size = key->attlen;
		if (key->attlen < 0)
		{
			size = key_size(keys->tts_values[k], key->attlen);
			memcpy(end, &size, sizeof(size));
			end += sizeof(size);
		}
		memcpy(end, DatumGetPointer(keys->tts_values[k]), size);
		end += size;
	}
	return end;
}

static inline bool
is_null_key(const Record *record, int k)
{
	return (record->kind & RECORD_HAS_NULLS) && (record->image[k / 8] & (1 << (k % 8)));
}

/* Where the next key begins. */
static inline const char *
skip_key(const char *bytes, int16 length)
{
	uint32		size;

	if (length >= 0)
		return bytes + length;
	memcpy(&size, bytes, sizeof(size));
	return bytes + sizeof(size) + size;
}

void
open_record(const GroupFoldState *fold, const char *bytes, Record *record)
{
	TupleDesc	desc = fold->keys->tts_tupleDescriptor;

	record->kind = *bytes;
	record->image = ++bytes;
	if (fold->image_size > 0 && (record->kind & RECORD_HAS_NULLS) == 0)
		bytes += fold->image_size;
	else
	{
		if (record->kind & RECORD_HAS_NULLS)
			bytes += NULLS_SIZE(fold);
		for (int k = 0; k < fold->n_keys; k++)
			if (!is_null_key(record, k))
				bytes = skip_key(bytes, TupleDescAttr(desc, k)->attlen);
	}
	record->image_size = bytes - record->image;
	record->content = bytes;
}

void
record_of_keys(GroupFoldState *fold, Record *record)
{
	MemoryContext old = MemoryContextSwitchTo(fold->comparing->ecxt_per_tuple_memory);
	Size		size = image_limit(fold, fold->keys);

	MemoryContextSwitchTo(old);
	if (size > fold->image_room)
	{
		if (fold->image != NULL)
			pfree(fold->image);
		fold->image = MemoryContextAllocHuge(fold->css.ss.ps.state->es_query_cxt, size);
		fold->image_room = size;
	}
	*fold->image = 0;
	(void) write_image(fold, fold->keys, fold->image);
	open_record(fold, fold->image, record);
}

void
show_image(GroupFoldState *fold, const Record *record)
{
	TupleTableSlot *keys = fold->keys;
	const char *bytes = record->image;

	ExecClearTuple(keys);
	if (record->kind & RECORD_HAS_NULLS)
		bytes += NULLS_SIZE(fold);
	for (int k = 0; k < fold->n_keys; k++)
	{
		Form_pg_attribute key = TupleDescAttr(keys->tts_tupleDescriptor, k);
		const char *next;
		const char *start;

		keys->tts_isnull[k] = is_null_key(record, k);
		if (keys->tts_isnull[k])
			continue;
		next = skip_key(bytes, key->attlen);
		if (key->attbyval)
			keys->tts_values[k] = read_by_value(bytes, key->attlen);
		else
		{
			start = bytes + (key->attlen < 0 ? sizeof(uint32) : 0);
			keys->tts_values[k] = PointerGetDatum(memcpy(palloc(next - start), start, next - start));
		}
		bytes = next;
	}
	ExecStoreVirtualTuple(keys);
}

/* ----------
 * Values
 * ----------
 */

char *
write_value(char *bytes, const struct varlena *value)
{
	uint32		size = VARSIZE(value);

	memcpy(bytes, &size, sizeof(size));
	memcpy(bytes + sizeof(size), value, size);
	return bytes + sizeof(size) + size;
}

struct varlena *
copy_value(const Record *record)
{
	uint32		size;

	memcpy(&size, record->content, sizeof(size));
	return memcpy(palloc(size), record->content + sizeof(size), size);
}

const char *
skip_value(const Record *record)
{
	return skip_key(record->content, -1);
}
